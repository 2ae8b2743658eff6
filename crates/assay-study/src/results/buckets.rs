//! Bucket limits of an HdrHistogram, and its V2 form read into non-empty buckets only.

use std::io::Read;

use flate2::read::ZlibDecoder;

use super::histogram::Settings;

/// Magic numbers of the compressed form and of the uncompressed data.
const DEFLATED: u32 = 0x1c84_9314;
const V2: u32 = 0x1c84_9313;
const HEAD_BYTES: usize = 40;
const LONGEST_COUNT: usize = 9;
const MOST_BYTES: usize = 4 << 20;
const MOST_DIGITS: u8 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BucketLayout {
    /// Log2 of the resolution.
    unit: u32,
    /// Half of the buckets of each doubling are new, as a power of two.
    half: u32,
    length: u32,
}

impl BucketLayout {
    /// Settings of all histograms of this version: 1 ns to 1 h, 3 digits.
    pub const OURS: Self = Self { unit: 0, half: 10, length: 33 << 10 };

    /// Layout of a histogram from `low` to `high`; `None` for settings that no histogram can have.
    pub fn new(settings: Settings) -> Option<Self> {
        let (low, high, digits) = settings;
        if low == 0 || low > u64::MAX / 2 || high < 2 * low || digits > MOST_DIGITS {
            return None;
        }
        // Values up to this have a bucket each, in units.
        let largest_single = 2 * 10_u32.pow(u32::from(digits));
        let (unit, half) = (low.ilog2(), largest_single.next_power_of_two().ilog2() - 1);
        if unit + half + 1 > 63 {
            return None;
        }
        // The first value that needs a bucket of twice the width.
        let beyond = 1_u64 << (half + 1 + unit);
        let doublings = if high < beyond { 1 } else { high.ilog2() - beyond.ilog2() + 2 };
        Some(Self { unit, half, length: (doublings + 1) << half })
    }

    /// The lowest value of a bucket, and how many values fall into it.
    fn lowest_and_width(self, index: u32) -> (u64, u64) {
        let half_length = 1_u32 << self.half;
        let within = index & (half_length - 1);
        let (doubling, step) = match index >> self.half {
            0 => (0, within),
            above => (above - 1, within + half_length),
        };
        let width = 1_u64 << (self.unit + doubling);
        (u64::from(step) * width, width)
    }

    pub fn highest(self, index: u32) -> u64 {
        let (lowest, width) = self.lowest_and_width(index);
        lowest + (width - 1)
    }

    pub fn middle(self, index: u32) -> u64 {
        let (lowest, width) = self.lowest_and_width(index);
        lowest + width / 2
    }

    /// Returns the bucket of a value; `None` beyond the last one.
    pub fn index(self, value: u64) -> Option<u32> {
        let mask = ((2_u64 << self.half) - 1) << self.unit;
        let doubling = (value | mask).ilog2() - mask.ilog2();
        let step = (value >> (doubling + self.unit)) as u32;
        let index = (doubling << self.half) + step;
        (index < self.length).then_some(index)
    }
}

/// Decodes a compressed histogram: its settings, and its non-empty buckets with their counts.
pub(super) fn unpacked(bytes: &[u8]) -> Result<(Settings, Vec<(u32, u64)>), String> {
    let [cookie, length] = [0, 4].map(|at| word(bytes, at));
    if cookie? != DEFLATED {
        return Err("invalid header".to_owned());
    }
    let packed = bytes.get(8..).unwrap_or_default();
    let packed = packed.get(..length? as usize).unwrap_or(packed);
    let mut reader = ZlibDecoder::new(packed);
    let mut head = [0; HEAD_BYTES];
    reader.read_exact(&mut head).map_err(|error| error.to_string())?;
    let (settings, length) = settings(&head)?;
    let layout = BucketLayout::new(settings).ok_or("invalid settings")?;
    if length > MOST_BYTES.min(layout.length as usize * LONGEST_COUNT) {
        return Err("more data than the settings allow".to_owned());
    }
    let mut counts = Vec::new();
    let read = reader.take(length as u64).read_to_end(&mut counts);
    if read.map_err(|error| error.to_string())? < length {
        return Err("truncated data".to_owned());
    }
    Ok((settings, read_counts(&counts, layout)?))
}

/// Reads the settings and the length of the counts in bytes of a V2 header; rejects index offsets and ratios.
fn settings(head: &[u8]) -> Result<(Settings, usize), String> {
    let long =
        |at| Ok::<_, String>(u64::from(word(head, at)?) << 32 | u64::from(word(head, at + 4)?));
    if word(head, 0)? != V2 || word(head, 8)? != 0 || long(32)? != 1.0_f64.to_bits() {
        return Err("unsupported encoding".to_owned());
    }
    let digits = u8::try_from(word(head, 12)?).map_err(|_| "too many digits".to_owned())?;
    Ok(((long(16)?, long(24)?, digits), word(head, 4)? as usize))
}

fn word(bytes: &[u8], at: usize) -> Result<u32, String> {
    let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    word.map(u32::from_be_bytes).ok_or_else(|| "truncated data".to_owned())
}

/// Reads the non-empty buckets with their counts; a negative count stands for as many empty buckets.
fn read_counts(counts: &[u8], layout: BucketLayout) -> Result<Vec<(u32, u64)>, String> {
    let beyond = || "more data than the settings allow".to_owned();
    let (mut at, mut index) = (0, 0_u32);
    let mut buckets = Vec::new();
    while at < counts.len() {
        let (count, bytes) = number(&counts[at..])?;
        at += bytes;
        let mut passed = 1;
        if count < 0 {
            passed = u32::try_from(count.unsigned_abs()).map_err(|_| beyond())?;
        } else if count > 0 {
            if index >= layout.length {
                return Err(beyond());
            }
            buckets.push((index, count as u64));
        }
        index = index.checked_add(passed).ok_or_else(beyond)?;
    }
    Ok(buckets)
}

/// A zigzag number in the form "LEB128-64b9B", whose ninth byte has eight bits; and the number of its bytes.
fn number(bytes: &[u8]) -> Result<(i64, usize), String> {
    let mut value = 0_u64;
    for (place, byte) in bytes.iter().take(LONGEST_COUNT).enumerate() {
        let last = place + 1 == LONGEST_COUNT;
        let part = if last { *byte } else { byte & 0x7f };
        value |= u64::from(part) << (7 * place);
        if last || byte & 0x80 == 0 {
            return Ok(((value >> 1) as i64 ^ -((value & 1) as i64), place + 1));
        }
    }
    Err("truncated data".to_owned())
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
    use proptest::prelude::*;

    use super::super::histogram;
    use super::*;

    fn whole(low: u64, high: u64, digits: u8) -> Option<Histogram<u64>> {
        Histogram::new_with_bounds(low, high, digits).ok()
    }

    fn packed(histogram: &Histogram<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(histogram, &mut bytes).unwrap();
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn buckets_lie_where_the_library_has_them(
            low in prop_oneof![Just(1_u64), 1..5000_u64],
            high in prop_oneof![Just(3_600_000_000_000_u64), 2..u64::MAX, 2..100_000_u64],
            digits in 0..=4_u8,
            values in proptest::collection::vec(prop_oneof![0..u64::MAX, 0..100_000_u64], 1..50),
        ) {
            let layout = BucketLayout::new((low, high, digits));
            let Some(mut known) = whole(low, high, digits) else {
                prop_assert_eq!(layout, None);
                return Ok(());
            };
            let layout = layout.unwrap();
            prop_assert_eq!(layout.length as usize, known.distinct_values());
            for value in values {
                let index = layout.index(value);
                prop_assert_eq!(index.is_some(), known.record(value).is_ok(), "{}", value);
                if let Some(index) = index.filter(|_| value < 1 << 62) {
                    prop_assert_eq!(layout.highest(index), known.highest_equivalent(value));
                    prop_assert_eq!(layout.middle(index), known.median_equivalent(value));
                }
            }
        }

        #[test]
        #[ignore = "nightly: 1 s"]
        fn what_the_library_packs_is_unpacked(
            digits in 0..=4_u8,
            values in proptest::collection::vec((1..3_600_000_000_000_u64, 1..1_000_000_u64), 0..200),
        ) {
            let mut known = whole(1, 3_600_000_000_000, digits).unwrap();
            for (value, count) in values {
                known.record_n(value, count).unwrap();
            }
            let (settings, steps) = unpacked(&packed(&known)).unwrap();
            prop_assert_eq!(settings, (1, 3_600_000_000_000, digits));
            let layout = BucketLayout::new(settings).unwrap();
            let found: Vec<(u64, u64)> =
                steps.iter().map(|(index, count)| (layout.highest(*index), *count)).collect();
            let expected: Vec<(u64, u64)> =
                known.iter_recorded().map(|one| (one.value_iterated_to(), one.count_at_value())).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn nothing_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = unpacked(&bytes);
            let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut packed, &bytes).unwrap();
            let inner = packed.finish().unwrap();
            let mut whole = DEFLATED.to_be_bytes().to_vec();
            whole.extend((inner.len() as u32).to_be_bytes());
            whole.extend(inner);
            let _ = unpacked(&whole);
        }
    }

    fn claimed(length: u32, high: u64, counts: &[u8]) -> Vec<u8> {
        let mut inner = Vec::new();
        for part in [V2, length, 0, 3] {
            inner.extend(part.to_be_bytes());
        }
        for part in [1, high, 1.0_f64.to_bits()] {
            inner.extend(part.to_be_bytes());
        }
        inner.extend(counts);
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packer, &inner).unwrap();
        let packed = packer.finish().unwrap();
        let mut whole = DEFLATED.to_be_bytes().to_vec();
        whole.extend((packed.len() as u32).to_be_bytes());
        whole.extend(packed);
        whole
    }

    #[test]
    fn ours_are_those_of_our_settings() {
        let settings = histogram::settings_of(&histogram::empty().unwrap());
        assert_eq!(BucketLayout::new(settings), Some(BucketLayout::OURS));
    }

    #[test]
    fn lengths_are_not_believed() {
        let refused = |bytes: &[u8]| unpacked(bytes).unwrap_err();
        let hour = 3_600_000_000_000;
        assert!(unpacked(&claimed(2, hour, &[3, 4])).is_ok());
        assert!(refused(&claimed(u32::MAX, hour, &[3, 4])).contains("more data than"));
        assert!(refused(&claimed(200_000, hour, &[3, 4])).contains("truncated data"));
        assert!(refused(&claimed(1, 1, &[2])).contains("invalid settings"));
        // The maximum number of empty buckets, twice, and then a nonempty one.
        let far = [0xff, 0xff, 0xff, 0xff, 0x1f, 0xff, 0xff, 0xff, 0xff, 0x1f, 2];
        assert!(refused(&claimed(far.len() as u32, hour, &far)).contains("more data than"));
        assert!(refused(&claimed(1, hour, &[0x80])).contains("truncated data"));
        assert!(refused(b"").contains("truncated data"));
        assert!(refused(b"nonsense").contains("invalid header"));
    }
}
