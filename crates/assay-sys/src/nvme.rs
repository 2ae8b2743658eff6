//! The health log of an NVMe device (log page 2), available only by ioctl.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::ioctl::{self, Opcode, opcode};

const ADMIN_COMMAND: Opcode = opcode::read_write::<AdminCommand>(b'N', 0x41);
const GET_LOG_PAGE: u8 = 0x02;
/// The page with the health information.
const HEALTH: u32 = 0x02;
/// Every namespace: the log is the controller's.
const ALL_NAMESPACES: u32 = 0xffff_ffff;
/// Milliseconds that the device may take.
const PATIENCE_MS: u32 = 2_000;
const PAGE_BYTES: usize = 512;

/// `struct nvme_admin_cmd`.
#[repr(C)]
#[derive(Default)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_and_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_length: u32,
    data_length: u32,
    words_10_to_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// Reads the health log of an open NVMe device (`/dev/nvme0` or `/dev/nvme0n1`). Fails with `ENOTTY` on other devices
/// and `EACCES` without privileges (root); a status of the device becomes an error with its name.
pub fn nvme_health_log(device: BorrowedFd<'_>) -> io::Result<[u8; PAGE_BYTES]> {
    let mut page = [0_u8; PAGE_BYTES];
    let mut command = AdminCommand {
        opcode: GET_LOG_PAGE,
        namespace: ALL_NAMESPACES,
        address: page.as_mut_ptr() as u64,
        data_length: PAGE_BYTES as u32,
        timeout_ms: PATIENCE_MS,
        ..AdminCommand::default()
    };
    // Words to read, less one, above the number of the page.
    command.words_10_to_15[0] = HEALTH | ((PAGE_BYTES as u32 / 4 - 1) << 16);
    // SAFETY: the request is NVME_IOCTL_ADMIN_CMD, whose argument is this struct; a read command with 512 bytes of data
    // fills only `page`, which lives until the call returns.
    let status = unsafe { ioctl::ioctl(device, AdminCall(&mut command))? };
    if status == 0 {
        return Ok(page);
    }
    Err(io::Error::other(format!("the device returned status {status:#x}")))
}

/// The call with its result: the device's status.
struct AdminCall<'a>(&'a mut AdminCommand);

// SAFETY: the opcode reads and writes the struct behind the pointer, and the output is the plain number returned by the
// call.
unsafe impl ioctl::Ioctl for AdminCall<'_> {
    type Output = i32;
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        ADMIN_COMMAND
    }

    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        std::ptr::from_mut(self.0).cast()
    }

    unsafe fn output_from_ptr(
        result: ioctl::IoctlOutput,
        _: *mut std::ffi::c_void,
    ) -> rustix::io::Result<i32> {
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::test_support::Scratch;

    #[test]
    fn a_regular_file_has_no_health() {
        let scratch = Scratch::new("nvme");
        let error = nvme_health_log(scratch.file.as_fd()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    }

    #[test]
    fn the_layout_and_the_number_are_the_kernels() {
        assert_eq!(size_of::<AdminCommand>(), 72);
        assert_eq!(std::mem::offset_of!(AdminCommand, address), 24);
        assert_eq!(std::mem::offset_of!(AdminCommand, words_10_to_15), 40);
        assert_eq!(ADMIN_COMMAND, 0xc048_4e41);
    }
}
