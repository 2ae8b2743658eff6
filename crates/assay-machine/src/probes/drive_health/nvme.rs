//! The health log of NVMe devices: 512 bytes, numbers little-endian (NVM Express Base
//! Specification 2.0, section 5.16.1.3, SMART / Health Information).

use std::collections::BTreeMap;

use assay_core::presence::Presence;

use crate::probes::drive_health::Health;

const PAGE_BYTES: usize = 512;
const UNIT_BYTES: u64 = 512_000;
/// 0 degrees Celsius in kelvin, as the drives' makers round it.
const ZERO_C: i64 = 273;

/// Counters by name, with offset and length in bytes.
const COUNTERS: [(&str, usize, usize); 11] = [
    ("critical_warning", 0, 1),
    ("power_on_hours", 128, 16),
    ("unsafe_shutdowns", 144, 16),
    ("media_errors", 160, 16),
    ("error_log_entries", 176, 16),
    ("warning_temperature_minutes", 192, 4),
    ("critical_temperature_minutes", 196, 4),
    ("thermal_management_1_count", 216, 4),
    ("thermal_management_2_count", 220, 4),
    ("thermal_management_1_s", 224, 4),
    ("thermal_management_2_s", 228, 4),
];

/// Parses the SMART / Health Information log (NVMe Base Specification, log page 02h), whose numbers are little-endian.
pub fn health(page: &[u8]) -> Presence<Health> {
    if page.len() < PAGE_BYTES || page.iter().all(|byte| *byte == 0) {
        return Presence::absent("the health log is empty");
    }
    let kelvin = number(page, 1, 2) as i64;
    let counters: BTreeMap<String, u64> =
        COUNTERS.map(|(name, at, bytes)| (name.to_owned(), number(page, at, bytes))).into();
    Presence::Present(Health {
        source: "nvme".to_owned(),
        temperature_c: (kelvin > 0).then_some(kelvin - ZERO_C),
        used_percent: Some(number(page, 5, 1)),
        spare_percent: Some(number(page, 3, 1)),
        passed: Some(page[0] == 0),
        written_bytes: Some(number(page, 48, 16).saturating_mul(UNIT_BYTES)),
        counters,
    })
}

/// Reads an integer of up to 16 bytes; saturates at 8 bytes.
fn number(page: &[u8], at: usize, bytes: usize) -> u64 {
    let (low, high) = page[at..at + bytes].split_at(bytes.min(8));
    if high.iter().any(|byte| *byte != 0) {
        return u64::MAX;
    }
    low.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_by_its_layout() {
        let mut page = vec![0_u8; 512];
        page[1..3].copy_from_slice(&311_u16.to_le_bytes());
        (page[3], page[5]) = (100, 104);
        page[48..52].copy_from_slice(&2_000_000_u32.to_le_bytes());
        page[160] = 7;
        page[184] = 0;
        page[192..196].copy_from_slice(&61_u32.to_le_bytes());
        page[216..220].copy_from_slice(&12_u32.to_le_bytes());
        let found = health(&page);
        let found = found.value().unwrap();
        assert_eq!((found.temperature_c, found.used_percent), (Some(38), Some(104)));
        assert_eq!(found.written_bytes, Some(1_024_000_000_000));
        assert_eq!(found.counters["media_errors"], 7);
        assert_eq!(found.counters["warning_temperature_minutes"], 61);
        assert_eq!(found.counters["thermal_management_1_count"], 12);
        assert_eq!((found.spare_percent, found.passed), (Some(100), Some(true)));
        page[0] = 0x04;
        assert_eq!(health(&page).value().unwrap().passed, Some(false), "it warns");
        page[170] = 1;
        assert_eq!(health(&page).value().unwrap().counters["media_errors"], u64::MAX);
    }

    #[test]
    fn an_empty_log_says_nothing() {
        assert!(health(&[0; 512]).reason().is_some());
        assert!(health(&[1; 100]).reason().is_some());
    }
}
