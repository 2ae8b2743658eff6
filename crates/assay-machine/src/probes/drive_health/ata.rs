//! The health of ATA drives, asked without a program in between: whether it sleeps, its own verdict,
//! its attributes (SMART READ DATA), and the device statistics log of newer ones (ACS-4, sections
//! 7.48 "SMART" and 9.5 "Device Statistics"). Numbers are little-endian.

use std::collections::BTreeMap;
use std::path::Path;

use assay_base::presence::Presence;
use assay_system::system::{AtaQuestion, System, sysfs};

use crate::probes::drive_health::Health;

/// Bytes of each page.
const PAGE_BYTES: usize = 512;
/// Attributes of a page, and the bytes of each.
const ATTRIBUTES: usize = 30;
const ATTRIBUTE_BYTES: usize = 12;
/// Where the first one stands.
const FIRST: usize = 2;

/// Attributes that mean the same with all makers, and how many bytes of their raw value are the
/// number: some makers put other things into the rest.
const COUNTERS: [(u8, &str, usize); 6] = [
    (5, "reallocated_sectors", 2),
    (9, "power_on_hours", 4),
    (187, "reported_uncorrectable", 2),
    (197, "pending_sectors", 4),
    (198, "offline_uncorrectable", 4),
    (199, "interface_crc_errors", 4),
];
/// Temperature of the drive, or of the air that it sees: the lowest byte is degrees Celsius.
const TEMPERATURES: [u8; 2] = [194, 190];

/// Registers after SMART RETURN STATUS: middle and high part of the address.
const PASSED: [u8; 2] = [0x4f, 0xc2];
const FAILING: [u8; 2] = [0xf4, 0x2c];

/// Asks a drive. One that sleeps is not woken.
pub fn read(system: &dyn System, device: &Path) -> Presence<Health> {
    let ask = |question| match system.ask_ata(device, question) {
        Ok(bytes) => Presence::Present(bytes),
        Err(error) => Presence::absent(sysfs::reason(&error)),
    };
    let mode = ask(AtaQuestion::PowerMode);
    if mode.value().is_some_and(|registers| is_asleep(registers)) {
        return Presence::absent("it sleeps, and is not woken to be asked");
    }
    let identity = ask(AtaQuestion::Identify);
    let features = match &identity {
        Presence::Present(page) => Features::of(page),
        Presence::Absent(reason) => return Presence::absent(reason.clone()),
    };
    let Some(features) = features else {
        return Presence::absent("it says of itself less than an ATA drive does");
    };
    if let Some(reason) = features.lacking() {
        return Presence::absent(reason);
    }
    let data = ask(AtaQuestion::SmartData);
    let table = match &data {
        Presence::Present(page) => attributes(page),
        Presence::Absent(reason) => return Presence::absent(format!("SMART: {reason}")),
    };
    let Some(table) = table else {
        return Presence::absent("its table of attributes is damaged");
    };
    let mut health = of_attributes(&table);
    health.passed = ask(AtaQuestion::SmartStatus).value().and_then(|told| verdict(told));
    for question in [AtaQuestion::GeneralStatistics, AtaQuestion::SolidStateStatistics] {
        if let Presence::Present(page) = ask(question) {
            add_statistics(&mut health, question, &page, features.logical_block_bytes);
        }
    }
    Presence::Present(health)
}

/// The count register after CHECK POWER MODE: standby, and its second kind.
fn is_asleep(registers: &[u8]) -> bool {
    // Some bridges give back nothing but zeros: a drive that answers says that it is ready.
    const READY: u8 = 0x40;
    let is_ready = registers.first().is_some_and(|status| status & READY != 0);
    is_ready && matches!(registers.get(2), Some(0x00 | 0x01))
}

fn verdict(registers: &[u8]) -> Option<bool> {
    let signature = [*registers.get(4)?, *registers.get(5)?];
    match signature {
        PASSED => Some(true),
        FAILING => Some(false),
        _ => None,
    }
}

/// What a drive says it can.
#[derive(Clone, Copy, Debug)]
struct Features {
    has_smart: bool,
    smart_is_on: bool,
    logical_block_bytes: u64,
}

impl Features {
    /// Of the page of IDENTIFY DEVICE: words 82 and 85, 106 and 117.
    fn of(page: &[u8]) -> Option<Self> {
        let word =
            |at: usize| Some(u16::from_le_bytes([*page.get(2 * at)?, *page.get(2 * at + 1)?]));
        word(PAGE_BYTES / 2 - 1)?;
        // Bits 15 and 14 say whether a word counts at all.
        let counts = |word: u16| word >> 14 == 1;
        let long = counts(word(106)?) && word(106)? & 1 << 12 != 0;
        let words = u64::from(word(118)?) << 16 | u64::from(word(117)?);
        Some(Self {
            has_smart: word(82)? & 1 != 0,
            smart_is_on: word(85)? & 1 != 0,
            logical_block_bytes: if long { 2 * words } else { 512 },
        })
    }

    fn lacking(self) -> Option<&'static str> {
        match (self.has_smart, self.smart_is_on) {
            (false, _) => Some("the drive has no SMART"),
            (true, false) => Some("SMART is switched off in the drive"),
            (true, true) => None,
        }
    }
}

/// An attribute: its normalised value, and the bytes of the raw one.
#[derive(Clone, Copy, Debug)]
struct Attribute {
    raw: [u8; 6],
}

/// Attributes by their number; none where the sum of the page's bytes is not 0.
fn attributes(page: &[u8]) -> Option<BTreeMap<u8, Attribute>> {
    let sum = page.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    if page.len() < PAGE_BYTES || sum != 0 || page.iter().all(|byte| *byte == 0) {
        return None;
    }
    let rows = page[FIRST..].chunks_exact(ATTRIBUTE_BYTES).take(ATTRIBUTES);
    let used = rows.filter(|row| row[0] != 0);
    Some(
        used.map(|row| {
            let mut raw = [0; 6];
            raw.copy_from_slice(&row[5..11]);
            (row[0], Attribute { raw })
        })
        .collect(),
    )
}

fn of_attributes(table: &BTreeMap<u8, Attribute>) -> Health {
    let number = |(id, name, bytes): (u8, &str, usize)| {
        Some((name.to_owned(), little_endian(&table.get(&id)?.raw[..bytes])))
    };
    let celsius = |id: &u8| {
        let degrees = i64::from(table.get(id)?.raw[0] as i8);
        (degrees != 0).then_some(degrees)
    };
    Health {
        source: "ata".to_owned(),
        temperature_c: TEMPERATURES.iter().find_map(celsius),
        counters: COUNTERS.into_iter().filter_map(number).collect(),
        ..Health::default()
    }
}

/// What the pages of the device statistics log tell: they have a unit, as attributes do not.
fn add_statistics(health: &mut Health, page: AtaQuestion, bytes: &[u8], block_bytes: u64) {
    match page {
        AtaQuestion::GeneralStatistics => {
            let written = statistic(bytes, 1, 24, 6);
            health.written_bytes = written.and_then(|blocks| blocks.checked_mul(block_bytes));
            if let Some(hours) = statistic(bytes, 1, 16, 4) {
                health.counters.insert("power_on_hours".to_owned(), hours);
            }
        }
        _ => health.used_percent = statistic(bytes, 7, 8, 1),
    }
}

/// A statistic: 7 bytes and a byte of flags, of which the highest two say that it is there and valid.
fn statistic(page: &[u8], number: u8, at: usize, bytes: usize) -> Option<u64> {
    const THERE_AND_VALID: u8 = 0xc0;
    let own = page.get(at..at + 8)?;
    let is_page = page.get(2) == Some(&number);
    (is_page && own[7] & THERE_AND_VALID == THERE_AND_VALID).then(|| little_endian(&own[..bytes]))
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use assay_system::system::Fake;

    use super::*;

    const DEVICE: &str = "/dev/sda";

    /// A page of attributes after ACS-4, 7.48: id, flags, value, worst, raw, nothing.
    fn smart_data(rows: &[(u8, [u8; 6])]) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES];
        page[0] = 16;
        for (at, (id, raw)) in rows.iter().enumerate() {
            let row = &mut page[FIRST + at * ATTRIBUTE_BYTES..][..ATTRIBUTE_BYTES];
            (row[0], row[3], row[4]) = (*id, 100, 100);
            row[5..11].copy_from_slice(raw);
        }
        let sum = page.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        page[PAGE_BYTES - 1] = 0_u8.wrapping_sub(sum);
        page
    }

    fn identity(words: &[(usize, u16)]) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES];
        for (at, word) in words {
            page[2 * at..2 * at + 2].copy_from_slice(&word.to_le_bytes());
        }
        page
    }

    /// A page of the device statistics log: its number, then statistics with their flags.
    fn statistics(number: u8, told: &[(usize, u64)]) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES];
        page[2] = number;
        for (at, value) in told {
            page[*at..at + 8].copy_from_slice(&(value | 0xc0 << 56).to_le_bytes());
        }
        page
    }

    fn registers(count: u8, middle: u8, high: u8) -> [u8; 6] {
        [0x50, 0, count, 0, middle, high]
    }

    /// An awake drive with SMART on and one attribute.
    fn machine() -> Fake {
        let fake = Fake::new();
        fake.put_ata(DEVICE, AtaQuestion::PowerMode, &registers(0xff, 0, 0));
        fake.put_ata(DEVICE, AtaQuestion::Identify, &identity(&[(82, 1), (85, 1)]));
        fake.put_ata(DEVICE, AtaQuestion::SmartData, &smart_data(&[(5, [0; 6])]));
        fake
    }

    fn reason(fake: &Fake) -> String {
        read(fake, Path::new(DEVICE)).reason().unwrap().to_owned()
    }

    #[test]
    fn a_dying_disk_is_told_as_it_tells_itself() {
        let fake = machine();
        let data = smart_data(&[
            // The upper bytes are the maker's.
            (5, [0x2a, 0, 7, 7, 0, 0]),
            (9, [0x10, 0x27, 0, 0, 0x55, 0x55]),
            (194, [41, 0, 18, 0, 60, 0]),
            (197, [3, 0, 0, 0, 0, 0]),
            (199, [0xff, 1, 0, 0, 0, 0]),
            (200, [9, 9, 9, 9, 9, 9]),
        ]);
        fake.put_ata(DEVICE, AtaQuestion::SmartData, &data);
        fake.put_ata(DEVICE, AtaQuestion::SmartStatus, &registers(0, 0xf4, 0x2c));
        let found = read(&fake, Path::new(DEVICE));
        let found = found.value().unwrap();
        assert_eq!((found.passed, found.temperature_c), (Some(false), Some(41)));
        let counters: Vec<(&str, u64)> =
            found.counters.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        let known = [
            ("interface_crc_errors", 511),
            ("pending_sectors", 3),
            ("power_on_hours", 10_000),
            ("reallocated_sectors", 42),
        ];
        assert_eq!(counters, known);
        assert_eq!((found.used_percent, found.written_bytes), (None, None));
    }

    #[test]
    fn the_log_of_statistics_tells_wear_and_bytes() {
        let fake = machine();
        fake.put_ata(DEVICE, AtaQuestion::SmartStatus, &registers(0, 0x4f, 0xc2));
        let general = statistics(1, &[(16, 77), (24, 1_000_000)]);
        fake.put_ata(DEVICE, AtaQuestion::GeneralStatistics, &general);
        fake.put_ata(DEVICE, AtaQuestion::SolidStateStatistics, &statistics(7, &[(8, 12)]));
        let found = read(&fake, Path::new(DEVICE));
        let found = found.value().unwrap();
        assert_eq!((found.passed, found.used_percent), (Some(true), Some(12)));
        assert_eq!(found.written_bytes, Some(512_000_000));
        assert_eq!(found.counters["power_on_hours"], 77);
        // Blocks of 4096 bytes: word 106 says so, words 117 and 118 count words of 16 bits.
        let large = identity(&[(82, 1), (85, 1), (106, 0x5000), (117, 2048)]);
        fake.put_ata(DEVICE, AtaQuestion::Identify, &large);
        let found = read(&fake, Path::new(DEVICE));
        assert_eq!(found.value().unwrap().written_bytes, Some(4_096_000_000));
        // A statistic that is there and not valid counts for nothing.
        let mut stale = statistics(7, &[(8, 12)]);
        stale[15] = 0x80;
        fake.put_ata(DEVICE, AtaQuestion::SolidStateStatistics, &stale);
        assert_eq!(read(&fake, Path::new(DEVICE)).value().unwrap().used_percent, None);
    }

    #[test]
    fn a_drive_that_sleeps_is_left_alone() {
        let fake = machine();
        fake.put_ata(DEVICE, AtaQuestion::PowerMode, &registers(0, 0, 0));
        assert_eq!(reason(&fake), "it sleeps, and is not woken to be asked");
    }

    #[test]
    fn what_cannot_be_told_says_why() {
        assert!(!reason(&Fake::new()).is_empty());
        let fake = machine();
        fake.put_ata(DEVICE, AtaQuestion::Identify, &identity(&[]));
        assert_eq!(reason(&fake), "the drive has no SMART");
        fake.put_ata(DEVICE, AtaQuestion::Identify, &identity(&[(82, 1)]));
        assert_eq!(reason(&fake), "SMART is switched off in the drive");
        fake.put_ata(DEVICE, AtaQuestion::Identify, &[0; 100]);
        assert!(reason(&fake).contains("less than an ATA drive"));
        let fake = machine();
        let mut torn = smart_data(&[(5, [1; 6])]);
        torn[400] = 1;
        fake.put_ata(DEVICE, AtaQuestion::SmartData, &torn);
        assert_eq!(reason(&fake), "its table of attributes is damaged");
    }
}
