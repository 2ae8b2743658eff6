//! Message framing on a connection: length, signature, text. Invalid frames close the connection.

use assay_core::digest::Digest;
use assay_machine::system::network::handshake::{same, sign};

/// Maximum length of a text, and of buffered data per connection.
pub const LONGEST: usize = 8 << 20;
const HEAD: usize = 4 + 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSide {
    Zero,
    Other,
}

impl FrameSide {
    const fn name(self) -> &'static [u8] {
        match self {
            Self::Zero => b"zero",
            Self::Other => b"other",
        }
    }
}

fn signature(key: &Digest, side: FrameSide, number: u64, text: &[u8]) -> Digest {
    sign(key, &[side.name(), &number.to_be_bytes(), text])
}

pub struct Sealer {
    key: Digest,
    side: FrameSide,
    number: u64,
}

impl Sealer {
    pub const fn new(key: Digest, side: FrameSide) -> Self {
        Self { key, side, number: 0 }
    }

    /// Returns the frame of the next message; its signature covers the sender and the number of the message.
    pub fn seal(&mut self, text: &[u8]) -> Result<Vec<u8>, String> {
        if text.len() > LONGEST {
            return Err(format!("a message of {} bytes is too long", text.len()));
        }
        let length = (text.len() as u32).to_be_bytes();
        let signature = signature(&self.key, self.side, self.number, text);
        self.number += 1;
        Ok([&length[..], &signature, text].concat())
    }
}

pub struct Opener {
    key: Digest,
    side: FrameSide,
    number: u64,
    rest: Vec<u8>,
}

impl Opener {
    pub const fn new(key: Digest, side: FrameSide) -> Self {
        Self { key, side, number: 0, rest: Vec::new() }
    }

    pub fn wanted_bytes(&self) -> usize {
        match self.length() {
            None => HEAD - self.rest.len(),
            Some(length) => (HEAD + length).saturating_sub(self.rest.len()),
        }
    }

    /// Length of the text; `None` before the head is complete.
    fn length(&self) -> Option<usize> {
        let length: [u8; 4] = self.rest.get(..4)?.try_into().ok()?;
        (self.rest.len() >= HEAD).then_some(u32::from_be_bytes(length) as usize)
    }

    /// Adds received bytes, at most `wanted_bytes`; returns the text, or `None` if its frame is incomplete.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
        if bytes.len() > self.wanted_bytes() {
            return Err("the host sent more than requested");
        }
        self.rest.extend_from_slice(bytes);
        let Some(length) = self.length() else { return Ok(None) };
        if length > LONGEST {
            return Err("the message is too long");
        }
        if self.rest.len() < HEAD + length {
            return Ok(None);
        }
        let frame = std::mem::take(&mut self.rest);
        let (head, text) = frame.split_at(HEAD); // the length in 4 bytes, and the signature
        if !same(&head[4..], &signature(&self.key, self.side, self.number, text)) {
            return Err("the message is not signed with the token");
        }
        self.number += 1;
        Ok(Some(text.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: Digest = [7; 32];

    /// Feeds bytes to an opener as it requests them; returns the texts.
    fn opened(opener: &mut Opener, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(opener.wanted_bytes().min(bytes.len()));
            found.extend(opener.receive(now)?);
            bytes = later;
        }
        Ok(found)
    }

    #[test]
    fn frames_come_out_as_they_went_in() {
        let mut sealer = Sealer::new(KEY, FrameSide::Other);
        let long = vec![9; 70_000];
        let texts: [&[u8]; 3] = [b"", b"{}", &long];
        let stream = texts.map(|text| sealer.seal(text).unwrap()).concat();
        let mut opener = Opener::new(KEY, FrameSide::Other);
        assert_eq!(opened(&mut opener, &stream).unwrap(), texts.map(<[u8]>::to_vec));
    }

    #[test]
    fn nothing_can_be_said_twice_in_another_order_or_back() {
        let mut sealer = Sealer::new(KEY, FrameSide::Other);
        let [first, second] = [b"one", b"two"].map(|text| sealer.seal(text).unwrap());
        let mut opener = Opener::new(KEY, FrameSide::Other);
        assert!(opened(&mut opener, &[first.clone(), first.clone()].concat()).is_err(), "twice");
        assert!(opened(&mut Opener::new(KEY, FrameSide::Other), &second).is_err(), "out of turn");
        assert!(opened(&mut Opener::new(KEY, FrameSide::Zero), &first).is_err(), "said back");
        assert!(
            opened(&mut Opener::new([8; 32], FrameSide::Other), &first).is_err(),
            "another key"
        );
    }

    #[test]
    fn what_is_too_long_is_refused_before_it_is_held() {
        assert!(Sealer::new(KEY, FrameSide::Zero).seal(&vec![0; LONGEST + 1]).is_err());
        let mut opener = Opener::new(KEY, FrameSide::Zero);
        let head = [(LONGEST as u32 + 1).to_be_bytes().to_vec(), vec![0; 32]].concat();
        assert_eq!(opener.receive(&head), Err("the message is too long"));
        let mut opener = Opener::new(KEY, FrameSide::Zero);
        assert_eq!(opener.receive(&[0; HEAD + 1]), Err("the host sent more than requested"));
    }

    proptest! {
        #[test]
        fn no_damage_goes_unnoticed(
            text in proptest::collection::vec(any::<u8>(), 0..300),
            at in 0_usize..400,
            with in 1_u8..,
        ) {
            let mut frame = Sealer::new(KEY, FrameSide::Zero).seal(&text).unwrap();
            let at = at % frame.len();
            frame[at] ^= with;
            let found = opened(&mut Opener::new(KEY, FrameSide::Zero), &frame);
            // A larger length leaves it waiting for data that never comes.
            prop_assert!(found.is_err() || found == Ok(Vec::new()));
        }

        #[test]
        fn garbage_ends_it_and_is_not_held(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
            let mut opener = Opener::new(KEY, FrameSide::Zero);
            let found = opened(&mut opener, &bytes);
            prop_assert!(found.is_err() || found == Ok(Vec::new()));
            prop_assert!(opener.rest.len() <= HEAD + LONGEST);
        }
    }
}
