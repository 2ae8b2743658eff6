//! Which bytes a write carries.

use std::fmt;
use std::str::FromStr;

use crate::fresh::FreshContent;
use crate::random::{Purpose, generator};
use crate::{Class, Job, Mix};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Content of writes; a rewrite writes the read data with small changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Content {
    /// Fresh random bytes for each write, duplicated only for [`Duplicates`](crate::Duplicates).
    #[default]
    Random,
    /// This percentage of every [`PIECE`] is zeros, at its end; the rest is random.
    Partly(Compressible),
    Zero,
}

/// Percent of each piece that compresses: 1 to 99.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressible(u8);

/// Bytes that compress alike: no compressor works on smaller blocks than a page.
pub const PIECE: usize = 4096;

impl Content {
    pub const fn compressible_percent(self) -> u8 {
        match self {
            Self::Random => 0,
            Self::Partly(Compressible(percent)) => percent,
            Self::Zero => 100,
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}%", self.compressible_percent())
    }
}

impl FromStr for Content {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_suffix('%').and_then(|percent| percent.trim_end().parse().ok()) {
            Some(0) => Ok(Self::Random),
            Some(percent @ 1..=99) => Ok(Self::Partly(Compressible(percent))),
            Some(100) => Ok(Self::Zero),
            _ => Err(format!(
                "unknown compressibility `{text}`; use 0% (random data) to 100% (zeros)"
            )),
        }
    }
}

as_text!(Content);

/// A rewrite changes each sector once, so no sector stays the same.
const SECTOR: usize = 512;

/// Fills the buffers of one thread, each time before they are written.
pub(crate) enum Filler {
    /// Buffers are zero from the start and never change.
    Nothing,
    /// Reads share the buffers, so zeros must be rewritten.
    Zero,
    /// Fresh pseudo-random bytes, in each piece as many as do not compress.
    Fresh(FreshContent),
    /// The read data, with a few bytes of each sector changed.
    Change(Xoshiro256PlusPlus),
}

impl Filler {
    /// Selects the cheapest filler that a job permits.
    pub(crate) fn new(job: &Job, thread: u32) -> Self {
        if job.mix == Mix::Rewrite {
            return Self::Change(generator(job.seed, thread, Purpose::Content));
        }
        if !job.has(Class::Write) {
            return Self::Nothing;
        }
        match job.content {
            // Without reads, the buffers remain zero.
            Content::Zero if !job.has(Class::Read) => Self::Nothing,
            Content::Zero => Self::Zero,
            Content::Random | Content::Partly(_) => Self::Fresh(FreshContent::new(job, thread)),
        }
    }

    #[inline]
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        match self {
            Self::Nothing => {}
            Self::Zero => bytes.fill(0),
            Self::Fresh(fresh) => fresh.fill(bytes),
            Self::Change(rng) => change_sectors(rng, bytes),
        }
    }
}

/// Fills a zeroed piece; its compressible part stays zero.
pub(crate) fn fill_piece(content: Content, rng: &mut Xoshiro256PlusPlus, piece: &mut [u8]) {
    let random = piece.len() - piece.len() * usize::from(content.compressible_percent()) / 100;
    fill_random(rng, &mut piece[..random]);
}

pub(crate) fn fill_random(rng: &mut Xoshiro256PlusPlus, bytes: &mut [u8]) {
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = rng.next_u64().to_le_bytes();
    }
    let last = rng.next_u64().to_le_bytes();
    rest.copy_from_slice(&last[..rest.len()]);
}

/// Flips random bits in the first 8 bytes of each sector; the set lowest bit always changes the first byte.
fn change_sectors(rng: &mut Xoshiro256PlusPlus, bytes: &mut [u8]) {
    for sector in bytes.chunks_mut(SECTOR) {
        let difference = (rng.next_u64() | 1).to_le_bytes();
        for (byte, difference) in sector.iter_mut().zip(difference) {
            *byte ^= difference;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::job;

    #[test]
    fn random_fills_all_bytes_and_never_repeats() {
        let job = Job { mix: Mix::WRITES, content: Content::Random, ..job() };
        let mut filler = Filler::new(&job, 0);
        let (mut first, mut second) = ([0_u8; 509], [0_u8; 509]);
        filler.fill(&mut first);
        filler.fill(&mut second);
        assert_ne!(first, second);
        let mut seen = [false; 256];
        for byte in first {
            seen[usize::from(byte)] = true;
        }
        let values = seen.iter().filter(|seen| **seen).count();
        assert!(values > 180, "{values} byte values, about 221 expected");
    }

    #[test]
    fn zeros_are_put_back_only_where_reads_share_the_buffer() {
        let zero = |read_percent| {
            let mut bytes = [7_u8; 16];
            let job = Job { mix: Mix::Shares { read_percent }, content: Content::Zero, ..job() };
            Filler::new(&job, 0).fill(&mut bytes);
            bytes
        };
        assert_eq!(zero(50), [0; 16]);
        assert_eq!(zero(0), [7; 16]);
    }

    fn partly(percent: &str, mix: Mix, bytes: &mut [u8]) -> Filler {
        let job = Job { mix, content: percent.parse().unwrap(), ..job() };
        let mut filler = Filler::new(&job, 0);
        filler.fill(bytes);
        filler
    }

    #[test]
    fn of_every_piece_the_stated_share_compresses() {
        for (percent, random) in [("50%", 2048), ("25%", 3072), ("99%", 41), ("1%", 4056)] {
            let mut bytes = vec![0_u8; 3 * PIECE];
            partly(percent, Mix::WRITES, &mut bytes);
            for piece in bytes.chunks(PIECE) {
                assert!(piece[random..].iter().all(|byte| *byte == 0), "{percent}");
                let zeros: usize = piece[..random].iter().map(|byte| usize::from(*byte == 0)).sum();
                assert!(zeros <= random / 50 + 3, "{percent}: {zeros} of {random}");
            }
        }
        let mut short = [0_u8; 512];
        partly("50%", Mix::WRITES, &mut short);
        assert!(short[256..] == [0; 256] && short[..256] != [0; 256]);
    }

    #[test]
    fn random_shares_are_fresh_in_every_write_and_zeros_put_back_where_reads_share_the_buffer() {
        let mut bytes = vec![0_u8; PIECE];
        let mut filler = partly("50%", Mix::WRITES, &mut bytes);
        let before = bytes.clone();
        filler.fill(&mut bytes);
        let same = before[..2048].iter().zip(&bytes).filter(|(one, other)| one == other).count();
        assert!(same < 40, "{same}");
        let mut read = vec![7_u8; PIECE];
        partly("50%", Mix::Shares { read_percent: 70 }, &mut read);
        assert_eq!(read[2048..], [0; 2048]);
    }

    #[test]
    fn a_content_is_written_as_it_is_read() {
        for text in ["0%", "100%", "50%", "1%", "99%"] {
            let content: Content = text.parse().unwrap();
            assert_eq!(content.to_string(), text);
            assert_eq!(Content::try_from(String::from(content)), Ok(content));
        }
        let told = |text: &str| text.parse::<Content>().unwrap_err();
        for text in ["", "%", "50", "-1%", "101%", "zero", "2.5%"] {
            assert!(told(text).contains("0% (random data) to 100%"), "{text}");
        }
        let percents = ["0%", "30%", "100%"].map(|text| text.parse::<Content>().unwrap());
        assert_eq!(percents.map(Content::compressible_percent), [0, 30, 100]);
    }

    #[test]
    fn what_trims_and_zeroing_stand_beside_is_filled_as_without_them() {
        let filled = |mix: &str, content| {
            let mut bytes = [7_u8; 16];
            let job = Job { mix: mix.parse().unwrap(), content, ..job() };
            Filler::new(&job, 0).fill(&mut bytes);
            bytes
        };
        for mix in ["trim", "zero", "read/50:trim/50"] {
            assert_eq!(filled(mix, Content::Random), [7; 16], "{mix}: nothing is written");
        }
        assert_ne!(filled("write/50:trim/50", Content::Random), [7; 16]);
        assert_eq!(filled("write/50:zero/50", Content::Zero), [7; 16]);
        assert_eq!(filled("read/50:write/40:trim/10", Content::Zero), [0; 16]);
    }

    #[test]
    fn a_rewrite_changes_every_sector_each_time_and_little_of_it() {
        let job = Job { mix: Mix::Rewrite, ..job() };
        let mut filler = Filler::new(&job, 0);
        let mut bytes = [7_u8; 3 * SECTOR + 5];
        for _ in 0..100 {
            let before = bytes;
            filler.fill(&mut bytes);
            for (old, new) in before.chunks(SECTOR).zip(bytes.chunks(SECTOR)) {
                let changed = old.iter().zip(new).filter(|(old, new)| old != new).count();
                assert!((1..=8).contains(&changed), "{changed}");
            }
        }
    }
}
