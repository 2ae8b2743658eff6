//! SHA-256, and how a file shows it.

use sha2::{Digest as _, Sha256};

/// A SHA-256 hash, or an HMAC made with it.
pub type Digest = [u8; 32];

pub fn sha256(bytes: impl AsRef<[u8]>) -> Digest {
    Sha256::digest(bytes).into()
}

/// A SHA-256 of data that arrives in parts.
#[derive(Clone, Default)]
pub struct Sum(Sha256);

impl Sum {
    pub fn add(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    pub fn finish(self) -> Digest {
        self.0.finalize().into()
    }
}

/// A hash in small hexadecimal digits.
pub fn hexadecimal(digest: &Digest) -> String {
    digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_hash_of_the_whole() {
        let mut sum = Sum::default();
        for part in ["a", "", "bc"] {
            sum.add(part);
        }
        assert_eq!(sum.finish(), sha256("abc"));
    }
}
