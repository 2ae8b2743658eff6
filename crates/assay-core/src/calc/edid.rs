//! Limits of a monitor from its EDID: the range limits descriptor of the base block (VESA E-EDID 1.3, 1.4, tag 0xFD).

use serde::Serialize;

use super::modeline::Limits;
use crate::failure::{Failure, Outcome};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EdidMonitor {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Version and revision of the EDID: `1.4`.
    pub version: String,
    /// Stated limits; empty if none, or impossible ones.
    pub limits: Limits,
    /// Why its limits are none or may be wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

const BLOCK: usize = 128;
const MARK: [u8; 8] = [0, 255, 255, 255, 255, 255, 255, 0];
/// Offsets of the descriptors, 18 bytes each.
const DESCRIPTORS: [usize; 4] = [54, 72, 90, 108];
const DESCRIPTOR: usize = 18;
const NAME: u8 = 0xFC;
const RANGE: u8 = 0xFD;
/// First revision whose range limits have offsets and a finer clock.
const WITH_OFFSETS: u8 = 4;

/// Reads name and limits of a monitor; fails for bytes that are not an EDID and for a wrong checksum.
pub fn read(bytes: &[u8]) -> Outcome<EdidMonitor> {
    let wrong = |what: &str| Err(Failure::mistake(what));
    let Some(block) = bytes.get(..BLOCK).filter(|block| block.starts_with(&MARK)) else {
        return wrong(
            "not an EDID; use the `edid` file of a connector in /sys/class/drm, or a copy",
        );
    };
    if block.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) != 0 {
        return wrong(
            "the EDID has a wrong checksum, so its limits may be wrong; read it again, or use --clock, --h and --v",
        );
    }
    let revision = block[19];
    let version = format!("{}.{revision}", block[18]);
    let descriptor_with = |tag: u8| {
        let mut descriptors = DESCRIPTORS.iter().map(|at| &block[*at..*at + DESCRIPTOR]);
        descriptors.find(|bytes| bytes.starts_with(&[0, 0, 0]) && bytes[3] == tag)
    };
    let limits = descriptor_with(RANGE).map(|range| read_limits(range, revision >= WITH_OFFSETS));
    let (limits, doubt) = match limits {
        None => (Limits::default(), Some("the EDID has no range limits (tag 0xFD)".to_owned())),
        Some(limits) if !is_possible(&limits) => {
            (Limits::default(), Some("the EDID's range limits contradict themselves".to_owned()))
        }
        Some(limits) => (limits, describe_modes_beyond(block, &limits)),
    };
    Ok(EdidMonitor { name: descriptor_with(NAME).and_then(read_name), version, limits, doubt })
}

fn is_possible(limits: &Limits) -> bool {
    let mut ranges = [limits.h_khz, limits.v_hz].into_iter().flatten();
    ranges.all(|[low, high]| low > 0.0 && low <= high)
}

/// Names the monitor's own modes that exceed its stated limits; `None` if there are none.
fn describe_modes_beyond(block: &[u8], limits: &Limits) -> Option<String> {
    // Limits are whole kHz and Hz; modes are not.
    const ROUNDING: f64 = 1.0;
    let outside = |value: f64, range: Option<[f64; 2]>| {
        range.is_some_and(|[low, high]| value < low - ROUNDING || value > high + ROUNDING)
    };
    let mut modes = Vec::new();
    for offset in DESCRIPTORS {
        let Some(mode) = read_timing(&block[offset..offset + DESCRIPTOR]) else { continue };
        let [clock_mhz, h_khz, v_hz] = mode.rates;
        let is_fast = limits.clock_max_mhz.is_some_and(|most| clock_mhz > most);
        if is_fast || outside(h_khz, limits.h_khz) || outside(v_hz, limits.v_hz) {
            let [width, height] = mode.size;
            modes.push(format!(
                "{width}x{height} at {clock_mhz:.2} MHz, {h_khz:.1} kHz, {v_hz:.1} Hz"
            ));
        }
    }
    (!modes.is_empty())
        .then(|| format!("the EDID lists a mode outside its range limits ({})", modes.join("; ")))
}

struct DetailedTiming {
    size: [u32; 2],
    /// Pixel clock in MHz, lines in kHz and fields in Hz.
    rates: [f64; 3],
}

/// The detailed timing of a descriptor; `None` for other descriptors.
fn read_timing(bytes: &[u8]) -> Option<DetailedTiming> {
    const INTERLACED: u8 = 0x80;
    let tens_khz = u32::from(u16::from_le_bytes([bytes[0], bytes[1]]));
    // Active and blank part, 12 bits each: two low bytes, then a byte with the upper four bits of both.
    let active_and_blank = |low: usize| {
        let high = u32::from(bytes[low + 2]);
        [u32::from(bytes[low]) | (high >> 4) << 8, u32::from(bytes[low + 1]) | (high & 15) << 8]
    };
    let [width, h_blank] = active_and_blank(2);
    let [lines, v_blank] = active_and_blank(5);
    if tens_khz == 0 || width == 0 || lines == 0 {
        return None;
    }
    let clock_mhz = f64::from(tens_khz) / 100.0;
    let h_khz = clock_mhz * 1000.0 / f64::from(width + h_blank);
    let is_interlaced = bytes[17] & INTERLACED != 0;
    let height = if is_interlaced { 2 * lines } else { lines };
    let rates = [clock_mhz, h_khz, h_khz * 1000.0 / f64::from(lines + v_blank)];
    Some(DetailedTiming { size: [width, height], rates })
}

/// Reads a range limits descriptor; `has_offsets` if its flags may add 255 to a rate.
fn read_limits(range: &[u8], has_offsets: bool) -> Limits {
    let flags = if has_offsets { range[4] } else { 0 };
    // Two bits each: 2 adds to the highest, 3 to both.
    let rates = |flags: u8, low: u8, high: u8| {
        let add = |is_set: bool| if is_set { 255.0 } else { 0.0 };
        [f64::from(low) + add(flags == 3), f64::from(high) + add(flags >= 2)]
    };
    Limits {
        clock_max_mhz: read_max_clock_mhz(range, has_offsets),
        h_khz: Some(rates(flags >> 2 & 3, range[7], range[8])),
        v_hz: Some(rates(flags & 3, range[5], range[6])),
    }
}

/// Reads the highest pixel clock, stored in tens of MHz; a CVT descriptor subtracts quarters of 1 MHz.
fn read_max_clock_mhz(range: &[u8], has_quarters: bool) -> Option<f64> {
    const CVT: u8 = 4;
    let tens = range[9];
    let is_finer = has_quarters && range[10] == CVT;
    let subtracted = if is_finer { f64::from(range[12] >> 2) / 4.0 } else { 0.0 };
    (tens != 0).then(|| 10.0 * f64::from(tens) - subtracted)
}

/// Reads a name: up to 13 letters, ended by a line feed.
fn read_name(descriptor: &[u8]) -> Option<String> {
    let letters = descriptor[5..].iter().take_while(|byte| **byte != b'\n');
    let text: String =
        letters.filter(|byte| (b' '..=b'~').contains(byte)).map(|b| *b as char).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An EDID with a range descriptor (from its fifth byte on) and a name.
    fn edid(revision: u8, range: [u8; 9]) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK];
        bytes[..8].copy_from_slice(&MARK);
        (bytes[18], bytes[19]) = (1, revision);
        bytes[72 + 3] = RANGE;
        bytes[72 + 4..72 + 13].copy_from_slice(&range);
        bytes[90 + 3] = NAME;
        bytes[90 + 5..90 + 11].copy_from_slice(b"T221\n ");
        sealed(bytes)
    }

    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes[BLOCK - 1] = 0;
        let sum = bytes[..BLOCK].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        bytes[BLOCK - 1] = 0_u8.wrapping_sub(sum);
        bytes
    }

    #[test]
    fn limits_of_an_old_monitor() {
        // Flags have no meaning before 1.4.
        let monitor = read(&edid(3, [0x0F, 12, 60, 31, 105, 17, 4, 0, 0xFC])).unwrap();
        assert_eq!(monitor.name.as_deref(), Some("T221"));
        assert_eq!(monitor.version, "1.3");
        assert_eq!(monitor.limits.clock_max_mhz, Some(170.0));
        assert_eq!(monitor.limits.h_khz, Some([31.0, 105.0]));
        assert_eq!(monitor.limits.v_hz, Some([12.0, 60.0]));
    }

    #[test]
    fn offsets_and_quarters_of_version_1_4() {
        // Vertical: both higher; horizontal: only the highest.
        let limits = read(&edid(4, [0b1011, 1, 105, 30, 22, 60, 4, 0, 3 << 2])).unwrap().limits;
        assert_eq!(limits.v_hz, Some([256.0, 360.0]));
        assert_eq!(limits.h_khz, Some([30.0, 277.0]));
        assert_eq!(limits.clock_max_mhz, Some(599.25));
        // Not a CVT descriptor: the byte has another meaning. No stated clock: no limit.
        let limits = read(&edid(4, [0, 48, 144, 30, 200, 0, 1, 0, 0xFF])).unwrap().limits;
        assert_eq!(limits.v_hz, Some([48.0, 144.0]));
        assert_eq!(limits.clock_max_mhz, None);
    }

    #[test]
    fn what_is_none_is_refused_with_what_to_do() {
        let good = edid(4, [0, 48, 144, 30, 200, 60, 1, 0, 0]);
        let told = |bytes: &[u8]| read(bytes).unwrap_err().message;
        assert!(told(&[]).contains("/sys/class/drm"));
        assert!(told(&good[..127]).contains("not an EDID"));
        let mut damaged = good.clone();
        damaged[60] ^= 1;
        assert!(told(&damaged).contains("checksum"));
    }

    #[test]
    fn limits_that_are_none_or_cannot_be_are_doubted() {
        let good = edid(4, [0, 48, 144, 30, 200, 60, 1, 0, 0]);
        assert_eq!(read(&good).unwrap().doubt, None);
        let doubted = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            let monitor = read(&sealed(bytes)).unwrap();
            assert!(monitor.limits.is_empty());
            monitor.doubt.unwrap()
        };
        assert!(doubted(75, 0x10).contains("no range limits"));
        assert!(doubted(77, 200).contains("contradict themselves"));
        assert!(doubted(79, 0).contains("contradict themselves"));
    }

    /// 1920x1080 at 148.5 MHz, 67.5 kHz and 60 Hz, as most televisions state it.
    const FULL_HD: [u8; 18] =
        [2, 0x3A, 128, 24, 0x71, 56, 45, 0x40, 88, 44, 69, 0, 0xC4, 0x8E, 0x21, 0, 0, 0x1E];

    #[test]
    fn own_modes_beyond_the_limits_are_named() {
        let doubt = |range: [u8; 9], mode: [u8; 18]| {
            let mut bytes = edid(3, range);
            bytes[54..72].copy_from_slice(&mode);
            read(&sealed(bytes)).unwrap().doubt
        };
        // Vertical, horizontal, clock in tens of MHz.
        let range = |v: [u8; 2], h: [u8; 2], clock| [0, v[0], v[1], h[0], h[1], clock, 0, 0, 0];
        assert_eq!(doubt(range([50, 75], [30, 83], 15), FULL_HD), None);
        assert_eq!(doubt(range([61, 75], [68, 83], 15), FULL_HD), None, "limits are whole numbers");
        for odd in [
            range([62, 75], [30, 83], 15),
            range([50, 58], [30, 83], 15),
            range([50, 75], [69, 83], 15),
            range([50, 75], [30, 66], 15),
            range([50, 75], [30, 83], 14),
        ] {
            let told = doubt(odd, FULL_HD).unwrap();
            assert!(told.contains("1920x1080 at 148.50 MHz, 67.5 kHz, 60.0 Hz"), "{told}");
        }
        // In an interlaced mode each field is a refresh: 540 lines of 1080.
        let mut interlaced = FULL_HD;
        (interlaced[1], interlaced[0]) = (0x1D, 1);
        (interlaced[5], interlaced[6], interlaced[7]) = (0x1C, 22, 0x20);
        interlaced[17] |= 0x80;
        assert_eq!(doubt(range([50, 75], [30, 83], 15), interlaced), None);
    }
}
