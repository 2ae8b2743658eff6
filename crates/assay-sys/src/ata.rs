//! Questions to an ATA drive, passed through SCSI (`SG_IO`, ATA PASS-THROUGH (16) of SAT): what it is,
//! how it is, whether it sleeps. Nothing here changes a drive, and none is woken by [`AtaQuestion::PowerMode`].

use std::io;
use std::os::fd::BorrowedFd;

use rustix::ioctl::{self, Opcode};

/// `SG_IO`.
const SG_IO: Opcode = 0x2285;
/// Milliseconds that the drive may take: one that turns its platters up first takes seconds.
const PATIENCE_MS: u32 = 15_000;
/// Bytes of every page that is asked for.
const PAGE_BYTES: usize = 512;
/// Bytes of the sense data; the drive's registers need 22.
const SENSE_BYTES: usize = 64;
/// What the SMART commands carry in the middle and the high part of their address.
const SMART_SIGNATURE: [u8; 2] = [0x4f, 0xc2];

/// What a drive can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AtaQuestion {
    /// CHECK POWER MODE: the count register tells; 0 is a drive that sleeps.
    PowerMode,
    /// IDENTIFY DEVICE.
    Identify,
    /// SMART READ DATA: the attributes.
    SmartData,
    /// SMART RETURN STATUS: middle and high address are f4 2c for a drive that expects to fail.
    SmartStatus,
    /// The general page of the device statistics log (READ LOG EXT, log 4, page 1).
    GeneralStatistics,
    /// Its page of solid-state devices (page 7).
    SolidStateStatistics,
}

/// How a command is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carries {
    /// Only registers come back.
    Nothing,
    /// A page comes back.
    Page,
}

/// A command as the drive's registers hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Registers {
    command: u8,
    feature: u8,
    count: u8,
    address: [u8; 3],
    /// A command with registers of 16 bits.
    extended: bool,
}

impl AtaQuestion {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Self; 6] = [
        Self::PowerMode,
        Self::Identify,
        Self::SmartStatus,
        Self::SmartData,
        Self::GeneralStatistics,
        Self::SolidStateStatistics,
    ];

    /// What it is called in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PowerMode => "power-mode",
            Self::Identify => "identify",
            Self::SmartData => "smart-data",
            Self::SmartStatus => "smart-status",
            Self::GeneralStatistics => "general-statistics",
            Self::SolidStateStatistics => "solid-state-statistics",
        }
    }

    const fn carries(self) -> Carries {
        match self {
            Self::PowerMode | Self::SmartStatus => Carries::Nothing,
            _ => Carries::Page,
        }
    }

    fn registers(self) -> Registers {
        let [middle, high] = SMART_SIGNATURE;
        let smart = |feature, count| Registers {
            command: 0xb0,
            feature,
            count,
            address: [0, middle, high],
            extended: false,
        };
        let statistics = |page| Registers {
            command: 0x2f,
            count: 1,
            address: [4, page, 0],
            extended: true,
            ..Registers::default()
        };
        match self {
            Self::PowerMode => Registers { command: 0xe5, ..Registers::default() },
            Self::Identify => Registers { command: 0xec, count: 1, ..Registers::default() },
            Self::SmartData => smart(0xd0, 1),
            Self::SmartStatus => smart(0xda, 0),
            Self::GeneralStatistics => statistics(1),
            Self::SolidStateStatistics => statistics(7),
        }
    }
}

/// The command block of ATA PASS-THROUGH (16).
fn command_block(question: AtaQuestion) -> [u8; 16] {
    /// PIO data-in, of one block, its number in the count register.
    const READS_ONE_BLOCK: (u8, u8) = (4 << 1, 0x0e);
    /// No data; the registers come back as sense data.
    const TELLS_REGISTERS: (u8, u8) = (3 << 1, 0x20);
    let registers = question.registers();
    let (protocol, flags) = match question.carries() {
        Carries::Nothing => TELLS_REGISTERS,
        Carries::Page => READS_ONE_BLOCK,
    };
    let mut block = [0; 16];
    block[0] = 0x85;
    block[1] = protocol | u8::from(registers.extended);
    block[2] = flags;
    block[4] = registers.feature;
    block[6] = registers.count;
    block[8] = registers.address[0];
    block[10] = registers.address[1];
    block[12] = registers.address[2];
    block[14] = registers.command;
    block
}

/// `struct sg_io_hdr`.
#[repr(C)]
struct Header {
    interface: i32,
    direction: i32,
    command_length: u8,
    sense_length: u8,
    vectors: u16,
    data_length: u32,
    data: *mut u8,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack: i32,
    user: *const u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_written: u8,
    host_status: u16,
    driver_status: u16,
    left: i32,
    duration_ms: u32,
    info: u32,
}

/// Asks an open block device (`/dev/sda`). A page has 512 bytes; of questions without a page the
/// registers come back: status, error, count, and the three parts of the address from the low one on.
///
/// Fails with `ENOTTY` or `EINVAL` on what takes no SCSI commands, `EPERM` or `EACCES` without the
/// right to ask (root), and with words where the drive or what lies between refuses.
pub fn ask_ata(device: BorrowedFd<'_>, question: AtaQuestion) -> io::Result<Vec<u8>> {
    let command = command_block(question);
    let mut page = [0_u8; PAGE_BYTES];
    let mut sense = [0_u8; SENSE_BYTES];
    let (direction, data_length) = match question.carries() {
        Carries::Nothing => (-1, 0),
        Carries::Page => (-3, PAGE_BYTES as u32),
    };
    let mut header = Header {
        interface: i32::from(b'S'),
        direction,
        command_length: command.len() as u8,
        sense_length: SENSE_BYTES as u8,
        vectors: 0,
        data_length,
        data: page.as_mut_ptr(),
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: PATIENCE_MS,
        flags: 0,
        pack: 0,
        user: std::ptr::null(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_written: 0,
        host_status: 0,
        driver_status: 0,
        left: 0,
        duration_ms: 0,
        info: 0,
    };
    // SAFETY: the request is SG_IO, whose argument is this struct; the kernel reads 16 bytes of
    // `command`, writes at most 512 to `page` and 64 to `sense`, and all three outlive the call.
    unsafe { ioctl::ioctl(device, Sends(&mut header))? };
    let written = usize::from(header.sense_written).min(SENSE_BYTES);
    let told = Told {
        host_status: header.host_status,
        sense: &sense[..written],
        missing: usize::try_from(header.left).unwrap_or(0),
    };
    answer(question, &told, &page)
}

/// What came back beside the page.
struct Told<'a> {
    host_status: u16,
    sense: &'a [u8],
    /// Bytes of the page that were not sent.
    missing: usize,
}

fn answer(question: AtaQuestion, told: &Told<'_>, page: &[u8]) -> io::Result<Vec<u8>> {
    const STATUS_ERROR: u8 = 0x01;
    if told.host_status != 0 {
        let text = format!("no answer on the way to the drive (host status {})", told.host_status);
        return Err(io::Error::other(text));
    }
    let registers = registers_of(told.sense);
    if registers.is_some_and(|registers| registers[0] & STATUS_ERROR != 0) {
        return Err(io::Error::other("the drive does not know the command"));
    }
    match (question.carries(), registers) {
        (Carries::Nothing, Some(registers)) => Ok(registers.to_vec()),
        (Carries::Nothing, None) => Err(io::Error::other(refusal(told.sense))),
        (Carries::Page, None) if !told.sense.is_empty() => {
            Err(io::Error::other(refusal(told.sense)))
        }
        (Carries::Page, _) if told.missing > 0 => {
            Err(io::Error::other("the drive sent less than a page"))
        }
        (Carries::Page, _) => Ok(page.to_vec()),
    }
}

/// Why no registers came back.
fn refusal(sense: &[u8]) -> String {
    let (key, code) = match sense.first().map(|first| first & 0x7f) {
        Some(0x72 | 0x73) if sense.len() >= 4 => (sense[1] & 0x0f, [sense[2], sense[3]]),
        Some(0x70 | 0x71) if sense.len() >= 14 => (sense[2] & 0x0f, [sense[12], sense[13]]),
        _ => return "what lies between does not pass the drive's registers on".to_owned(),
    };
    match (key, code) {
        (5, _) => "it takes no ATA commands".to_owned(),
        // Aborted: what libata says of a command that the drive refused.
        (0x0b, [0, 0]) => "the drive does not know the command".to_owned(),
        (_, [code, more]) => format!("refused with sense {key:x}/{code:02x}/{more:02x}"),
    }
}

/// Status, error, count and the three parts of the address, from sense data of either form.
fn registers_of(sense: &[u8]) -> Option<[u8; 6]> {
    /// ATA status return descriptor.
    const DESCRIPTOR: [u8; 2] = [0x09, 0x0c];
    /// "ATA pass-through information available".
    const INFORMATION: [u8; 2] = [0x00, 0x1d];
    match sense.first()? & 0x7f {
        0x72 | 0x73 => {
            let own = sense.get(8..)?;
            if own.len() < 14 || own[..2] != DESCRIPTOR {
                return None;
            }
            Some([own[13], own[3], own[5], own[7], own[9], own[11]])
        }
        0x70 | 0x71 => {
            let code = sense.get(12..14)?;
            let own = sense.get(3..12)?;
            (code == INFORMATION).then(|| [own[1], own[0], own[3], own[6], own[7], own[8]])
        }
        _ => None,
    }
}

/// The call.
struct Sends<'a>(&'a mut Header);

// SAFETY: the opcode reads and writes the struct that the pointer leads to; nothing is made of what
// the call returns.
unsafe impl ioctl::Ioctl for Sends<'_> {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        SG_IO
    }

    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        std::ptr::from_mut(self.0).cast()
    }

    unsafe fn output_from_ptr(
        _: ioctl::IoctlOutput,
        _: *mut std::ffi::c_void,
    ) -> rustix::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::test_support::Scratch;

    /// Descriptor sense data after CHECK POWER MODE of a drive that is awake.
    const AWAKE: [u8; 22] =
        [0x72, 1, 0, 0x1d, 0, 0, 0, 14, 9, 0x0c, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0x40, 0x50];

    fn told(sense: &[u8]) -> Told<'_> {
        Told { host_status: 0, sense, missing: 0 }
    }

    fn words(question: AtaQuestion, told: &Told<'_>) -> String {
        answer(question, told, &[0; PAGE_BYTES]).unwrap_err().to_string()
    }

    #[test]
    fn a_regular_file_is_no_drive() {
        let scratch = Scratch::new("ata");
        for question in AtaQuestion::ALL {
            let error = ask_ata(scratch.file.as_fd(), question).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
        }
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_layout_is_the_kernels() {
        assert_eq!(size_of::<Header>(), 88);
        assert_eq!(std::mem::offset_of!(Header, data), 16);
        assert_eq!(std::mem::offset_of!(Header, timeout_ms), 40);
        assert_eq!(std::mem::offset_of!(Header, status), 64);
        assert_eq!(std::mem::offset_of!(Header, left), 72);
    }

    #[test]
    fn commands_are_those_of_the_standards() {
        // SAT, ATA PASS-THROUGH (16); ACS, SMART READ DATA and CHECK POWER MODE.
        let smart = command_block(AtaQuestion::SmartData);
        assert_eq!(smart, [0x85, 8, 0x0e, 0, 0xd0, 0, 1, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0]);
        let mode = command_block(AtaQuestion::PowerMode);
        assert_eq!(mode, [0x85, 6, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe5, 0]);
        let log = command_block(AtaQuestion::SolidStateStatistics);
        assert_eq!(log, [0x85, 9, 0x0e, 0, 0, 0, 1, 0, 4, 0, 7, 0, 0, 0, 0x2f, 0]);
    }

    #[test]
    fn no_question_changes_a_drive() {
        // SMART: data, status; then CHECK POWER MODE, IDENTIFY DEVICE, READ LOG EXT.
        for question in AtaQuestion::ALL {
            let block = command_block(question);
            let reads =
                matches!((block[14], block[4]), (0xb0, 0xd0 | 0xda) | (0xe5 | 0xec | 0x2f, 0));
            assert!(reads, "{question:?}");
        }
    }

    #[test]
    fn registers_come_back_in_either_form() {
        let found = answer(AtaQuestion::PowerMode, &told(&AWAKE), &[]).unwrap();
        assert_eq!(found, [0x50, 0, 0xff, 0, 0, 0]);
        // Fixed form: error, status, device, count; then flags and the address.
        let fixed = [0x70, 0, 1, 0, 0x50, 0x40, 0, 10, 0, 0, 0xf4, 0x2c, 0x00, 0x1d, 0, 0, 0, 0];
        let found = answer(AtaQuestion::SmartStatus, &told(&fixed), &[]).unwrap();
        assert_eq!(found, [0x50, 0, 0, 0, 0xf4, 0x2c]);
    }

    #[test]
    fn what_is_refused_says_why() {
        let mut aborted = AWAKE;
        (aborted[11], aborted[21]) = (0x04, 0x51);
        let unknown = words(AtaQuestion::SolidStateStatistics, &told(&aborted));
        assert_eq!(unknown, "the drive does not know the command");
        // Invalid command operation code.
        let invalid = [0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0];
        assert_eq!(words(AtaQuestion::Identify, &told(&invalid)), "it takes no ATA commands");
        let aborted = [0x72, 0x0b, 0, 0, 0, 0, 0, 0];
        let unknown = words(AtaQuestion::GeneralStatistics, &told(&aborted));
        assert_eq!(unknown, "the drive does not know the command");
        let medium = [0x72, 3, 0x11, 0x04];
        assert_eq!(words(AtaQuestion::Identify, &told(&medium)), "refused with sense 3/11/04");
        let silent = words(AtaQuestion::PowerMode, &told(&[]));
        assert!(silent.contains("does not pass the drive's registers on"), "{silent}");
        let lost = Told { host_status: 3, sense: &[], missing: 0 };
        assert!(words(AtaQuestion::Identify, &lost).contains("host status 3"));
        let short = Told { host_status: 0, sense: &[], missing: 512 };
        assert!(words(AtaQuestion::Identify, &short).contains("less than a page"));
    }

    #[test]
    fn damaged_sense_data_is_refused_whatever_its_length() {
        for length in 0..AWAKE.len() {
            assert!(registers_of(&AWAKE[..length]).is_none(), "{length}");
            assert!(!refusal(&AWAKE[..length]).is_empty());
        }
    }
}
