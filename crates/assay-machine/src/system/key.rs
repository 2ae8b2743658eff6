//! Keys created for a study: never printed, never stored, never part of a command line.

use std::{fmt, io};

use super::System;

const BYTES: usize = 64;

/// Random bytes, only for the kernel or a program's standard input.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; BYTES]);

impl Key {
    pub fn new(system: &dyn System) -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        for half in bytes.chunks_exact_mut(BYTES / 2) {
            half.copy_from_slice(&system.random()?);
        }
        Ok(Self(bytes))
    }

    pub const fn placeholder() -> Self {
        Self([0; BYTES])
    }

    pub const fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// As a passphrase: letters in one line, without its end.
    pub fn passphrase(&self) -> Vec<u8> {
        let digit = |number: u8| char::from_digit(u32::from(number), 16).unwrap_or('0') as u8;
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key")
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0 = [0; BYTES];
        // Nobody reads it any more: without this the store would be left out.
        std::hint::black_box(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    #[test]
    fn a_key_is_a_line_of_its_own_and_is_not_shown() {
        let key = Key::new(&Fake::new()).unwrap();
        let passphrase = key.passphrase();
        assert_eq!(passphrase.len(), 2 * BYTES);
        assert!(passphrase.iter().all(u8::is_ascii_hexdigit));
        assert_eq!(format!("{key:?}"), "Key");
        assert_ne!(Key([1; BYTES]), Key([2; BYTES]));
    }
}
