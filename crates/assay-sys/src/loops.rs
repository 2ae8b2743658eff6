//! Loop devices: a file as a block device.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::ioctl::{self, Ioctl, IoctlOutput, NoArg, Opcode, Setter};

const LOOP_CLR_FD: Opcode = 0x4C01;
const LOOP_CONFIGURE: Opcode = 0x4C0A;
const LOOP_CTL_GET_FREE: Opcode = 0x4C82;

const AUTOCLEAR: u32 = 4;
const PARTITIONS: u32 = 8;
const DIRECT_IO: u32 = 16;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Default)]
struct Info {
    device: u64,
    inode: u64,
    own_device: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    /// Names of the file and of the cipher, a key, and two numbers, which Assay leaves empty.
    rest: [u64; 22],
}

/// `struct loop_config`.
#[repr(C)]
struct Config {
    file: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopOptions {
    /// Past the page cache of the file below.
    pub direct_io: bool,
    /// Goes away with its last user.
    pub autoclear: bool,
    pub partitions: bool,
    /// Bytes of a logical block; 0 for the kernel's choice.
    pub block_bytes: u32,
}

impl LoopOptions {
    fn flags(self) -> u32 {
        [(self.direct_io, DIRECT_IO), (self.autoclear, AUTOCLEAR), (self.partitions, PARTITIONS)]
            .iter()
            .filter(|(wanted, _)| *wanted)
            .fold(0, |flags, (_, flag)| flags | flag)
    }
}

/// `LOOP_CTL_GET_FREE`: the answer is the return value, for which rustix has no pattern.
struct GetFree;

// SAFETY: the request takes no argument, and the kernel touches no memory for it.
unsafe impl Ioctl for GetFree {
    type Output = u32;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        LOOP_CTL_GET_FREE
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(output: IoctlOutput, _: *mut c_void) -> rustix::io::Result<u32> {
        Ok(output.unsigned_abs())
    }
}

/// Number of a free loop device, made with `/dev/loop-control`; another process may take it first.
pub fn free_loop(control: BorrowedFd<'_>) -> io::Result<u32> {
    // SAFETY: see `GetFree`.
    Ok(unsafe { ioctl::ioctl(control, GetFree) }?)
}

/// Attaches a file to an open loop device (`LOOP_CONFIGURE`, Linux 5.8).
pub fn attach_loop(
    device: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    options: LoopOptions,
) -> io::Result<()> {
    let config = Config {
        file: file.as_raw_fd().unsigned_abs(),
        block_size: options.block_bytes,
        info: Info { flags: options.flags(), ..Info::default() },
        reserved: [0; 8],
    };
    // SAFETY: the request is LOOP_CONFIGURE, whose argument is this struct, only read.
    unsafe { ioctl::ioctl(device, Setter::<LOOP_CONFIGURE, Config>::new(config))? };
    Ok(())
}

/// Detaches the file of an open loop device: at once, or when its last user closes the device.
pub fn detach_loop(device: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the request takes no argument.
    unsafe {
        ioctl::ioctl(device, NoArg::<LOOP_CLR_FD>::new())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use assay_testkit::needs::{Need, have};

    use super::*;
    use crate::block_device_bytes;
    use crate::test_support::Scratch;

    fn open(path: &str) -> File {
        File::options().read(true).write(true).open(path).unwrap()
    }

    /// A free device may be taken by another test between the two calls.
    fn attach_some(scratch: &Scratch, options: LoopOptions) -> File {
        for _ in 0..20 {
            let number = free_loop(open("/dev/loop-control").as_fd()).unwrap();
            let device = open(&format!("/dev/loop{number}"));
            match attach_loop(device.as_fd(), scratch.file.as_fd(), options) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                result => {
                    result.unwrap();
                    return device;
                }
            }
        }
        panic!("no free loop device");
    }

    #[test]
    fn a_file_becomes_a_device_and_goes_away_again() {
        if !have(&[Need::Root]) {
            return;
        }
        let scratch = Scratch::for_a_device("loop");
        scratch.file.set_len(8 << 20).unwrap();
        for direct_io in [false, true] {
            let options = LoopOptions { direct_io, ..LoopOptions::default() };
            let device = attach_some(&scratch, options);
            let bytes = block_device_bytes(device.as_fd());
            detach_loop(device.as_fd()).unwrap();
            assert_eq!(bytes.unwrap(), 8 << 20);
        }
    }

    #[test]
    fn a_file_is_no_loop_device() {
        let scratch = Scratch::new("no-loop");
        let file = scratch.file.as_fd();
        let options = LoopOptions::default();
        assert_eq!(
            attach_loop(file, file, options).unwrap_err().raw_os_error(),
            Some(libc::ENOTTY)
        );
        assert_eq!(detach_loop(file).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
        assert!(free_loop(file).is_err());
    }

    #[test]
    fn layouts_are_the_kernels() {
        assert_eq!(size_of::<Info>(), 232);
        assert_eq!(size_of::<Config>(), 304);
    }
}
