//! Health of soldered memory cards (eMMC), which the kernel reads from their extended registers and makes
//! world-readable: `life_time` and `pre_eol_info` (JESD84-B51, sections 7.4.41 to 7.4.43). SD cards have no such
//! registers.

use crate::system::{System, sysfs};
use assay_core::presence::Presence;

use crate::probes::drive_health::Health;

/// Steps of wear are tenths of the rated life of a card; the highest step is beyond it.
const STEP_PERCENT: u64 = 10;
const BEYOND: u64 = 0x0b;
/// Spare blocks are normal; 2 is a warning (80% used), 3 is urgent.
const SPARE_NORMAL: u64 = 1;
const SPARE_URGENT: u64 = 3;

/// Reads wear and spare blocks of a card, which does not pass if its rated life is over or its spare blocks run out.
pub fn read(system: &dyn System, name: &str) -> Presence<Health> {
    let device = sysfs::block(name).join("device");
    let life_time = sysfs::text(system, &device.join("life_time"));
    let spare = sysfs::text(system, &device.join("pre_eol_info"));
    let used = life_time.value().and_then(|text| used_percent(text));
    let spare = spare.value().and_then(|text| hexadecimal(text)).filter(|level| *level > 0);
    if used.is_none() && spare.is_none() {
        return Presence::absent("SD cards and old MMC devices do not report their health");
    }
    let is_failing = spare.is_some_and(|level| level >= SPARE_URGENT)
        || used.is_some_and(|percent| percent > 100);
    Presence::Present(Health {
        source: "mmc".to_owned(),
        used_percent: used,
        passed: Some(!is_failing),
        counters: spare
            .filter(|level| *level > SPARE_NORMAL)
            .map(|level| ("spare_blocks_warning".to_owned(), level))
            .into_iter()
            .collect(),
        ..Health::default()
    })
}

/// `0x01 0x03`: of the SLC and the MLC area; the more worn one counts, by the end of its step.
fn used_percent(text: &str) -> Option<u64> {
    let steps = text.split_whitespace().filter_map(hexadecimal);
    Some(steps.filter(|step| (1..=BEYOND).contains(step)).max()? * STEP_PERCENT)
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    fn card(life: &str, spare: &str) -> Presence<Health> {
        let device = "/sys/class/block/mmcblk0/device";
        let text = format!("file {device}/life_time {life}\nfile {device}/pre_eol_info {spare}\n");
        read(&Fake::recorded(&text).unwrap(), "mmcblk0")
    }

    #[test]
    fn the_more_worn_part_counts_by_the_end_of_its_step() {
        let found = card("0x01 0x03", "0x01");
        let found = found.value().unwrap();
        assert_eq!((found.used_percent, found.passed), (Some(30), Some(true)));
        assert!(found.counters.is_empty());
    }

    #[test]
    fn a_card_at_its_end_does_not_pass() {
        let worn = card("0x0b 0x02", "0x01");
        assert_eq!(
            worn.value().map(|one| (one.used_percent, one.passed)),
            Some((Some(110), Some(false)))
        );
        let spent = card("0x05 0x05", "0x03");
        let spent = spent.value().unwrap();
        assert_eq!((spent.passed, spent.counters["spare_blocks_warning"]), (Some(false), 3));
    }

    #[test]
    fn what_a_card_leaves_undefined_is_not_told() {
        assert!(card("0x00 0x00", "0x00").reason().unwrap().contains("do not report"));
        assert!(read(&Fake::new(), "mmcblk0").reason().is_some());
        assert_eq!(card("0x00 0x02", "0x00").value().unwrap().used_percent, Some(20));
    }
}
