//! Block sizes: a single one, or several with a share each, for reads and writes.

use std::fmt;
use std::str::FromStr;

use assay_core::quantity::Bytes;
use assay_load::{SizeShare, Sizes};
use serde::{Deserialize, Serialize};

pub(super) const LARGEST: Bytes = Bytes(1 << 30);
const MOST_SIZES: usize = 16;

/// A size, and its share of the operations in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SizeFraction {
    bytes: Bytes,
    percent: u8,
}

/// Block sizes: `4 KiB`, `4KiB/70:64KiB/30`, or `read 4 KiB; write 64 KiB`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Size {
    /// For all operations, or only for reads if writes differ. Never empty.
    reads: Vec<SizeFraction>,
    writes: Vec<SizeFraction>,
}

impl From<Bytes> for Size {
    fn from(bytes: Bytes) -> Self {
        Self { reads: vec![SizeFraction { bytes, percent: 100 }], writes: Vec::new() }
    }
}

pub fn is_mix(text: &str) -> bool {
    text.contains(['/', ';']) || text.trim_start().starts_with("read")
}

impl Size {
    /// Its syntax as a regular expression for editors.
    pub const LOOKS: &'static str = r"^\s*(([0-9]+\.?[0-9]*|\.[0-9]+)\s*[A-Za-z]+|[^/]+/[0-9]+(:[^/]+/[0-9]+)*|read\s.*;\s*write\s.*)\s*$";

    fn parts(&self) -> impl Iterator<Item = &SizeFraction> {
        self.reads.iter().chain(&self.writes)
    }

    /// The size of all operations, if there is only one.
    pub fn one(&self) -> Option<Bytes> {
        let first = self.largest();
        self.parts().all(|part| part.bytes == first).then_some(first)
    }

    pub fn largest(&self) -> Bytes {
        self.parts().map(|part| part.bytes).max().unwrap_or_default()
    }

    pub fn smallest(&self) -> Bytes {
        self.parts().map(|part| part.bytes).min().unwrap_or_default()
    }

    pub fn is_by_direction(&self) -> bool {
        !self.writes.is_empty()
    }

    pub(super) fn is_multiple_of(&self, unit: u64) -> bool {
        self.parts().all(|part| part.bytes.0.is_multiple_of(unit))
    }

    /// The sizes with their shares, as jobs need them; without own sizes, writes have those of reads.
    pub(super) fn sizes(&self) -> Sizes {
        if self.one().is_some() {
            return Sizes::ONE;
        }
        let share =
            |part: &SizeFraction| SizeShare { bytes: part.bytes.0 as u32, percent: part.percent };
        let shares = |parts: &[SizeFraction]| parts.iter().map(share).collect();
        let writes = if self.is_by_direction() { &self.writes } else { &self.reads };
        Sizes { reads: shares(&self.reads), writes: shares(writes) }
    }

    /// fio's option for it: `--bs=4k`, `--bs=4k,64k`, or `--bssplit=4k/70:64k/30`.
    pub(super) fn fio(&self, amount: fn(u64) -> String) -> String {
        let split = |parts: &[SizeFraction]| {
            let words = |part: &SizeFraction| format!("{}/{}", amount(part.bytes.0), part.percent);
            parts.iter().map(words).collect::<Vec<_>>().join(":")
        };
        match (self.reads.as_slice(), self.writes.as_slice()) {
            ([all], []) => format!("--bs={}", amount(all.bytes.0)),
            ([reads], [writes]) => {
                format!("--bs={},{}", amount(reads.bytes.0), amount(writes.bytes.0))
            }
            (all, []) => format!("--bssplit={}", split(all)),
            (reads, writes) => format!("--bssplit={},{}", split(reads), split(writes)),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |parts: &[SizeFraction]| match parts {
            [one] => one.bytes.to_string(),
            parts => {
                let part = |part: &SizeFraction| {
                    format!("{}/{}", part.bytes.to_string().replace(' ', ""), part.percent)
                };
                parts.iter().map(part).collect::<Vec<_>>().join(":")
            }
        };
        if self.is_by_direction() {
            let (reads, writes) = (words(&self.reads), words(&self.writes));
            write!(formatter, "read {reads}; write {writes}")
        } else {
            formatter.pad(&words(&self.reads))
        }
    }
}

impl FromStr for Size {
    type Err = String;

    /// Parses one size, a mix `4KiB/70:64KiB/30`, or both directions: `read 4KiB; write 64KiB`.
    fn from_str(text: &str) -> Result<Self, String> {
        if !is_mix(text) {
            return Ok(text.parse::<Bytes>()?.into());
        }
        let Some((reads, writes)) = text.split_once(';') else {
            return Ok(Self { reads: parse_shares(text)?, writes: Vec::new() });
        };
        let advice = || format!("`{text}`: use a form such as read 4 KiB; write 64 KiB");
        let reads = reads.trim().strip_prefix("read ").ok_or_else(advice)?;
        let writes = writes.trim().strip_prefix("write ").ok_or_else(advice)?;
        let (reads, mut writes) = (parse_shares(reads)?, parse_shares(writes)?);
        if reads == writes {
            // Equal sizes of both are stored once.
            writes.clear();
        }
        Ok(Self { reads, writes })
    }
}

/// `4KiB/70:64KiB/30`, or a single size.
fn parse_shares(text: &str) -> Result<Vec<SizeFraction>, String> {
    if !text.contains('/') {
        return Ok(vec![SizeFraction { bytes: parse_size(text)?, percent: 100 }]);
    }
    let parts: Vec<SizeFraction> = text.split(':').map(parse_share).collect::<Result<_, _>>()?;
    let sum: u32 = parts.iter().map(|part| u32::from(part.percent)).sum();
    if sum != 100 {
        return Err(format!("`{text}`: the shares add up to {sum}%, not to 100%"));
    }
    if parts.len() > MOST_SIZES {
        return Err(format!("`{text}`: {} sizes; the maximum is {MOST_SIZES}", parts.len()));
    }
    let mut sorted: Vec<Bytes> = parts.iter().map(|part| part.bytes).collect();
    sorted.sort_unstable();
    if let Some([size, ..]) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("`{text}`: duplicate size {size}"));
    }
    Ok(parts)
}

fn parse_share(text: &str) -> Result<SizeFraction, String> {
    let advice = || format!("`{text}` is not a size with a share; example: 4KiB/70:64KiB/30");
    let (bytes, percent) = text.split_once('/').ok_or_else(advice)?;
    let percent = percent.trim().parse::<u8>().ok().filter(|percent| (1..=100).contains(percent));
    Ok(SizeFraction { bytes: parse_size(bytes)?, percent: percent.ok_or_else(advice)? })
}

fn parse_size(text: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text.trim().parse()?;
    if (Bytes(1)..=LARGEST).contains(&bytes) {
        return Ok(bytes);
    }
    Err(format!("block_size must be {} to {LARGEST}, not {bytes}", Bytes(1)))
}

assay_core::as_text!(Size);

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> Size {
        text.parse().unwrap()
    }

    #[test]
    fn a_size_is_written_as_it_is_read() {
        for text in [
            "4 KiB",
            "4KiB/70:64KiB/30",
            "512B/1:4KiB/98:1MiB/1",
            "read 4 KiB; write 64 KiB",
            "read 4KiB/50:8KiB/50; write 1 MiB",
        ] {
            assert_eq!(size(text).to_string(), text);
            assert_eq!(Size::try_from(String::from(size(text))), Ok(size(text)));
        }
        assert_eq!(size("4 KiB/70: 65536 B /30").to_string(), "4KiB/70:64KiB/30");
        assert_eq!(size("read 4 KiB; write 4 KiB"), Size::from(Bytes(4096)));
        assert_eq!(size("4 KiB/100"), Size::from(Bytes(4096)));
    }

    #[test]
    fn what_is_no_size_says_what_to_write() {
        for (text, told) in [
            ("4KiB/70:64KiB/20", "add up to 90%"),
            ("4KiB/70:4096B/30", "duplicate size 4 KiB"),
            ("4 KiB, 8 KiB", ""),
            ("70%", "not a unit"),
            ("4KiB/0:8KiB/100", "is not a size with a share"),
            ("4KiB/50:2GiB/50", "1 B to 1 GiB, not 2 GiB"),
            ("4KiB/50.5:8KiB/49.5", "is not a size with a share"),
            ("read 4 KiB", ""),
            ("read 4 KiB; 8 KiB", "read 4 KiB; write 64 KiB"),
            ("4 XB", ""),
        ] {
            let found = text.parse::<Size>().unwrap_err();
            assert!(found.replace('`', "").contains(told), "{text}: {found}");
            assert!(!found.contains('\n'), "{found}");
        }
    }

    #[test]
    fn engines_are_told_of_more_than_one_size_only() {
        assert_eq!(size("4 KiB").sizes(), Sizes::ONE);
        assert_eq!(size("4 KiB").one(), Some(Bytes(4096)));
        let mixed = size("4KiB/70:64KiB/30");
        let shares =
            [(4096, 70), (65_536, 30)].map(|(bytes, percent)| SizeShare { bytes, percent });
        assert_eq!(mixed.sizes(), Sizes { reads: shares.to_vec(), writes: shares.to_vec() });
        assert_eq!(
            (mixed.one(), mixed.largest(), mixed.smallest()),
            (None, Bytes(65_536), Bytes(4096))
        );
        let apart = size("read 4 KiB; write 64 KiB").sizes();
        assert_eq!((apart.reads[0].bytes, apart.writes[0].bytes), (4096, 65_536));
        assert!(mixed.is_multiple_of(4096) && !mixed.is_multiple_of(8192));
    }

    #[test]
    fn fio_has_two_keys_for_it() {
        let fio = |text: &str| size(text).fio(|bytes| bytes.to_string());
        assert_eq!(fio("4 KiB"), "--bs=4096");
        assert_eq!(fio("read 4 KiB; write 8 KiB"), "--bs=4096,8192");
        assert_eq!(fio("4KiB/70:8KiB/30"), "--bssplit=4096/70:8192/30");
        assert_eq!(fio("read 4KiB/70:8KiB/30; write 512 B"), "--bssplit=4096/70:8192/30,512/100");
    }
}
