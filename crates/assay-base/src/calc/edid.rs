//! Limits of a monitor from its EDID: the range limits descriptor of the base block (VESA E-EDID
//! 1.3 and 1.4, tag 0xFD).

use serde::Serialize;

use super::modeline::Limits;
use crate::failure::{Failure, Outcome};

/// What an EDID tells of a monitor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Monitor {
    /// Its name, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Version and revision of the EDID: `1.4`.
    pub version: String,
    pub limits: Limits,
}

/// Bytes of the base block.
const BLOCK: usize = 128;
/// How an EDID begins.
const MARK: [u8; 8] = [0, 255, 255, 255, 255, 255, 255, 0];
/// Where descriptors begin, each 18 bytes long.
const DESCRIPTORS: [usize; 4] = [54, 72, 90, 108];
const DESCRIPTOR: usize = 18;
/// Tag of the monitor's name.
const NAME: u8 = 0xFC;
/// Tag of the range limits.
const RANGE: u8 = 0xFD;
/// First revision whose range limits have offsets and a finer clock.
const WITH_OFFSETS: u8 = 4;

/// Reads the base block of an EDID.
pub fn read(bytes: &[u8]) -> Outcome<Monitor> {
    let wrong = |what: &str| Err(Failure::mistake(what));
    let Some(block) = bytes.get(..BLOCK).filter(|block| block.starts_with(&MARK)) else {
        return wrong(
            "this is no EDID: give the file `edid` of a connector in /sys/class/drm, or its copy",
        );
    };
    if block.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) != 0 {
        return wrong(
            "the EDID's checksum is wrong, so its limits may be too: read it again, or give --clock, \
             --h and --v",
        );
    }
    let (version, revision) = (block[18], block[19]);
    let tagged = |tag: u8| {
        let all = DESCRIPTORS.iter().map(|at| &block[*at..*at + DESCRIPTOR]);
        all.into_iter().find(|one| one.starts_with(&[0, 0, 0]) && one[3] == tag)
    };
    let Some(range) = tagged(RANGE) else {
        return wrong("the EDID has no range limits (tag 0xFD): give --clock, --h and --v");
    };
    let limits = limits(range, revision >= WITH_OFFSETS);
    let ranges = [limits.h_khz, limits.v_hz];
    if ranges.into_iter().flatten().any(|[low, high]| low <= 0.0 || low > high) {
        return wrong("the EDID's range limits contradict themselves: give --clock, --h and --v");
    }
    Ok(Monitor {
        name: tagged(NAME).and_then(name),
        version: format!("{version}.{revision}"),
        limits,
    })
}

/// Limits of a descriptor; `offsets` where its flags may add 255 to a rate.
fn limits(range: &[u8], offsets: bool) -> Limits {
    let flags = if offsets { range[4] } else { 0 };
    // Two bits each: 2 adds to the highest, 3 to both.
    let rates = |flags: u8, low: u8, high: u8| {
        let add = |is_set: bool| if is_set { 255.0 } else { 0.0 };
        [f64::from(low) + add(flags == 3), f64::from(high) + add(flags >= 2)]
    };
    Limits {
        clock_max_mhz: clock_mhz(range, offsets),
        h_khz: Some(rates(flags >> 2 & 3, range[7], range[8])),
        v_hz: Some(rates(flags & 3, range[5], range[6])),
    }
}

/// Highest pixel clock in tens of MHz, less quarters where the descriptor is of the CVT kind.
fn clock_mhz(range: &[u8], quarters: bool) -> Option<f64> {
    const CVT: u8 = 4;
    let tens = range[9];
    let less = if quarters && range[10] == CVT { f64::from(range[12] >> 2) / 4.0 } else { 0.0 };
    (tens != 0).then(|| 10.0 * f64::from(tens) - less)
}

/// A name: up to 13 letters, ended by a line feed.
fn name(descriptor: &[u8]) -> Option<String> {
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
        // Not of the CVT kind: the byte means something else. No clock told: none.
        let limits = read(&edid(4, [0, 48, 144, 30, 200, 0, 1, 0, 0xFF])).unwrap().limits;
        assert_eq!(limits.v_hz, Some([48.0, 144.0]));
        assert_eq!(limits.clock_max_mhz, None);
    }

    #[test]
    fn what_is_none_is_refused_with_what_to_do() {
        let good = edid(4, [0, 48, 144, 30, 200, 60, 1, 0, 0]);
        let told = |bytes: &[u8]| read(bytes).unwrap_err().message;
        assert!(told(&[]).contains("/sys/class/drm"));
        assert!(told(&good[..127]).contains("no EDID"));
        let mut damaged = good.clone();
        damaged[60] ^= 1;
        assert!(told(&damaged).contains("checksum"));
        let mut without = good.clone();
        without[75] = 0x10;
        assert!(told(&sealed(without)).contains("no range limits"));
        let mut reversed = good;
        reversed[77] = 200;
        assert!(told(&sealed(reversed)).contains("contradict"));
    }
}
