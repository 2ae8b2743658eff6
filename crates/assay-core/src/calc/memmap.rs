//! Memory map: the size of a frame buffer, and the memory that kernel words `mem=SIZE@START` leave, lose, assign twice.

use serde::Serialize;

use crate::calc::reading::pair;
use crate::failure::{Failure, Outcome};
use crate::quantity::Bytes;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FrameBuffer {
    pub width: u32,
    pub height: u32,
    pub bits_per_pixel: u32,
    pub bytes: u64,
}

/// A region of memory: its first byte and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    pub start_bytes: u64,
    pub length_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Memmap {
    pub frame_buffers: Vec<FrameBuffer>,
    pub frame_buffer_bytes: u64,
    pub regions: Vec<Region>,
    pub region_bytes: u64,
    /// Gaps between regions, and after the last one if the memory size is known.
    pub gaps: Vec<Region>,
    pub overlaps: Vec<Region>,
    /// How much more the regions have than there was before, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain_percent: Option<f64>,
    /// Whether all frame buffers fit into the largest gap; `None` without buffers or gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffers_fit: Option<bool>,
}

impl Region {
    /// The byte behind its last.
    pub const fn end(&self) -> u64 {
        self.start_bytes.saturating_add(self.length_bytes)
    }

    /// `448M@0M` as the kernel writes it.
    pub fn words(&self) -> String {
        format!("{}@{}", kernel_size(self.length_bytes), kernel_size(self.start_bytes))
    }
}

/// Formats bytes in the largest unit of the kernel that divides them: `448M`.
fn kernel_size(bytes: u64) -> String {
    for (shift, unit) in [(30, "G"), (20, "M"), (10, "K")] {
        if bytes != 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// Reads `1920x1080@32`.
pub fn frame_buffer(text: &str) -> Result<FrameBuffer, String> {
    const EXAMPLE: &str = "1920x1080@32";
    const MOST_BITS: u32 = 128;
    let wrong = || format!("`{text}` is not a frame buffer; use a value such as {EXAMPLE}");
    let (size, bits) = text.split_once('@').ok_or_else(wrong)?;
    let [width, height] = pair(size, "frame buffer", EXAMPLE)?;
    let bits: u32 = bits.trim().trim_end_matches("bpp").parse().map_err(|_| wrong())?;
    if bits == 0 || bits > MOST_BITS {
        return Err(format!("`{text}`: use 1 to {MOST_BITS} bits per pixel, such as {EXAMPLE}"));
    }
    let total_bits = u128::from(width) * u128::from(height) * u128::from(bits);
    let bytes = u64::try_from(total_bits.div_ceil(8)).map_err(|_| wrong())?;
    Ok(FrameBuffer { width, height, bits_per_pixel: bits, bytes })
}

/// Reads the regions of one argument: `mem=448M@0M`, also several with blanks between them.
pub fn regions(text: &str) -> Outcome<Vec<Region>> {
    text.split_whitespace().map(parse_region).collect()
}

/// Reads a region as on the kernel command line, `mem=448M@0M`; without `@`, it starts at 0.
fn parse_region(word: &str) -> Outcome<Region> {
    let wrong = |why: &str| {
        Failure::mistake(format!("`{word}` is not a region: {why}use a value such as mem=448M@0M"))
    };
    let bare = word.strip_prefix("mem=").unwrap_or(word);
    let (length, start) = bare.split_once('@').unwrap_or((bare, "0"));
    let read = |text: &str| parse_bytes(text).map_err(|why| wrong(&format!("{why}; ")));
    let region = Region { length_bytes: read(length)?, start_bytes: read(start)? };
    if region.length_bytes == 0 {
        return Err(wrong("it is empty; "));
    }
    if region.start_bytes.checked_add(region.length_bytes).is_none() {
        return Err(wrong("its end exceeds the address range; "));
    }
    Ok(region)
}

/// Parses an amount as the kernel does: `448M`, `0x1c000000`, plain bytes.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let hex = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    if let Some(bytes) = hex.or_else(|| text.parse().ok()) {
        return Ok(bytes);
    }
    text.parse().map(|Bytes(bytes)| bytes).map_err(|error| error.0)
}

/// Computes the map. `memory_bytes` is the memory of the machine, `before_bytes` what the system had before.
pub fn compute(
    frame_buffers: Vec<FrameBuffer>,
    mut regions: Vec<Region>,
    memory_bytes: Option<u64>,
    before_bytes: Option<u64>,
) -> Outcome<Memmap> {
    if frame_buffers.is_empty() && regions.is_empty() {
        return Err(Failure::mistake(
            "nothing to compute; give regions (such as mem=448M@0M) or --frame-buffer 1920x1080@32",
        ));
    }
    regions.sort_by_key(|region| (region.start_bytes, region.length_bytes));
    let end = regions.iter().map(Region::end).max().unwrap_or(0);
    if let Some(memory) = memory_bytes.filter(|memory| *memory < end) {
        let all = kernel_size(memory);
        return Err(Failure::mistake(format!(
            "the regions end at {}, {} above --memory {all}; shorten the last region",
            kernel_size(end),
            kernel_size(end - memory)
        )));
    }
    if before_bytes == Some(0) {
        return Err(Failure::mistake("--before is 0; give the previous size, such as 448M"));
    }
    let Coverage { gaps, overlaps, covered_bytes: region_bytes } =
        find_gaps_and_overlaps(&regions, memory_bytes);
    let total = frame_buffers.iter().fold(0_u64, |sum, buffer| sum.saturating_add(buffer.bytes));
    let gain_percent = |before: u64| 100.0 * (region_bytes as f64 / before as f64 - 1.0);
    let largest_gap = gaps.iter().map(|gap| gap.length_bytes).max();
    Ok(Memmap {
        frame_buffer_bytes: total,
        buffers_fit: largest_gap.filter(|_| !frame_buffers.is_empty()).map(|gap| total <= gap),
        gain_percent: before_bytes.filter(|_| !regions.is_empty()).map(gain_percent),
        region_bytes,
        gaps,
        overlaps,
        frame_buffers,
        regions,
    })
}

struct Coverage {
    gaps: Vec<Region>,
    overlaps: Vec<Region>,
    covered_bytes: u64,
}

/// Compares regions in ascending order of their starts.
fn find_gaps_and_overlaps(regions: &[Region], memory_bytes: Option<u64>) -> Coverage {
    let mut coverage = Coverage { gaps: Vec::new(), overlaps: Vec::new(), covered_bytes: 0 };
    // The highest end of the previous regions.
    let mut reached = 0;
    for region in regions {
        let (start, end) = (region.start_bytes, region.end());
        if start > reached {
            coverage.gaps.push(Region { start_bytes: reached, length_bytes: start - reached });
        }
        add_overlap(&mut coverage.overlaps, start, end.min(reached));
        coverage.covered_bytes += end.saturating_sub(start.max(reached));
        reached = reached.max(end);
    }
    let last_gap = memory_bytes.unwrap_or(0).saturating_sub(reached);
    if last_gap > 0 {
        coverage.gaps.push(Region { start_bytes: reached, length_bytes: last_gap });
    }
    coverage
}

/// Adds bytes that two regions claim, each byte only once. Starts never decrease from call to call.
fn add_overlap(overlaps: &mut Vec<Region>, start: u64, end: u64) {
    let known_end = overlaps.last().map_or(0, Region::end);
    let from = start.max(known_end);
    if from >= end {
        return;
    }
    match overlaps.last_mut() {
        Some(last) if known_end == from => last.length_bytes = end - last.start_bytes,
        _ => overlaps.push(Region { start_bytes: from, length_bytes: end - from }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn of(words: &str) -> Memmap {
        compute(Vec::new(), regions(words).unwrap(), None, Some(448 * MIB)).unwrap()
    }

    #[test]
    fn the_articles_frame_buffers() {
        let buffers = ["1920x1080@32", "1280x720@32"].map(|text| frame_buffer(text).unwrap());
        assert_eq!(buffers.map(|buffer| buffer.bytes), [8100 << 10, 3600 << 10]);
        let answer = compute(buffers.to_vec(), Vec::new(), None, None).unwrap();
        assert_eq!(answer.frame_buffer_bytes, 11_700 << 10);
        assert_eq!(answer.buffers_fit, None);
    }

    #[test]
    fn the_articles_regions() {
        let first = of("mem=448M@0M mem=48M@464M");
        assert_eq!(first.region_bytes, 496 * MIB);
        assert_eq!(format!("{:.2}", first.gain_percent.unwrap()), "10.71");
        assert_eq!(first.gaps, [Region { start_bytes: 448 * MIB, length_bytes: 16 * MIB }]);
        let second = of("mem=448M@0M mem=62M@450M");
        assert_eq!(second.region_bytes, 510 * MIB);
        assert_eq!(second.gaps[0].words(), "2M@448M");
    }

    #[test]
    fn the_shipped_table_says_the_same() {
        let table = include_str!("../../../../reference/memory.csv");
        for (item, value) in [("mem=448M@0M mem=48M@464M", "496,MB"), ("both", "11700,KB")] {
            assert!(
                table.lines().any(|line| line.starts_with(&format!("{item},{value}"))),
                "{item}"
            );
        }
    }

    #[test]
    fn frame_buffers_are_held_against_the_largest_gap() {
        let both = ["1920x1080@32", "1280x720@32"].map(|text| frame_buffer(text).unwrap()).to_vec();
        let panel = vec![frame_buffer("1280x720@16bpp").unwrap()];
        let fit = |buffers: &[FrameBuffer], words: &str| {
            compute(buffers.to_vec(), regions(words).unwrap(), Some(512 * MIB), None)
                .unwrap()
                .buffers_fit
        };
        assert_eq!(fit(&both, "448M@0 48M@464M"), Some(true));
        assert_eq!(fit(&both, "448M@0 62M@450M"), Some(false));
        assert_eq!(fit(&panel, "448M@0 62M@450M"), Some(true));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for wrong in ["0x0@32", "1920x1080", "1920x1080@0", "1920@32", "1x1@999"] {
            assert!(frame_buffer(wrong).unwrap_err().contains("1920x1080@32"), "{wrong}");
        }
        for wrong in
            ["mem=", "mem=0@0", "root=/dev/sda", "48Q@1M", "16E@1", "18446744073709551615@1"]
        {
            let told = regions(wrong).unwrap_err().message;
            assert!(told.contains("mem=448M@0M"), "{wrong}: {told}");
        }
        assert!(compute(Vec::new(), Vec::new(), None, None).is_err());
        let beyond = compute(Vec::new(), regions("513M").unwrap(), Some(512 * MIB), None);
        assert!(beyond.unwrap_err().message.contains("1M above"));
        assert!(compute(Vec::new(), regions("5M").unwrap(), None, Some(0)).is_err());
    }

    #[test]
    fn words_are_read_back() {
        for words in ["448M@0M", "0x1000@4096", "1G@1G", "5@3"] {
            let region = regions(words).unwrap()[0];
            assert_eq!(regions(&region.words()).unwrap(), [region], "{words}");
        }
    }

    proptest! {
        #[test]
        fn each_byte_is_counted_for_what_it_is(
            parts in proptest::collection::vec((0_u64..60, 1_u64..30), 1..8),
            memory in 90_u64..120,
        ) {
            let regions: Vec<Region> = parts
                .iter()
                .map(|(start, length)| Region { start_bytes: *start, length_bytes: *length })
                .collect();
            let answer = compute(Vec::new(), regions.clone(), Some(memory), None).unwrap();
            let claims = |byte: u64| {
                let has = |region: &&Region| region.start_bytes <= byte && byte < region.end();
                regions.iter().filter(has).count()
            };
            let inside = |all: &[Region], byte: u64| {
                all.iter().filter(|region| region.start_bytes <= byte && byte < region.end()).count()
            };
            for byte in 0..memory {
                prop_assert_eq!(inside(&answer.gaps, byte), usize::from(claims(byte) == 0));
                prop_assert_eq!(inside(&answer.overlaps, byte), usize::from(claims(byte) > 1));
            }
            let covered = (0..memory).filter(|byte| claims(*byte) > 0).count() as u64;
            prop_assert_eq!(answer.region_bytes, covered);
        }
    }
}
