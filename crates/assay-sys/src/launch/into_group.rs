//! Starts a child in a control group of version 2 (`clone3`, Linux 5.7), for which the C library has no call.

use std::ffi::c_void;
use std::io;

/// `CLONE_INTO_CGROUP`.
pub const FLAG: u64 = 0x2_0000_0000;

/// `struct clone_args`.
#[repr(C)]
#[derive(Debug, Default)]
pub struct CloneArguments {
    pub flags: u64,
    /// Address for the descriptor of the child.
    pub handle: u64,
    pub child_id: u64,
    pub parent_id: u64,
    pub exit_signal: u64,
    pub stack: u64,
    pub stack_bytes: u64,
    pub thread_storage: u64,
    pub ids: u64,
    pub ids_length: u64,
    pub group: u64,
}

/// Creates a child that calls `super::child`; returns its ID, in the parent only.
///
/// # Safety
/// As for `clone`: only the child uses the stack, the data behind the argument lives until exec, and the flags block
/// this thread until then.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub unsafe fn clone(wanted: &CloneArguments, argument: *mut c_void) -> io::Result<i32> {
    let wanted_bytes = size_of::<CloneArguments>();
    let wanted: *const CloneArguments = wanted;
    let result: isize;
    // SAFETY: the child gets all registers except the result and the stack pointer. It calls a function that never
    // returns, with an empty stack; the parent skips that call.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, {argument}",
            "call {child}",
            "ud2",
            "2:",
            argument = in(reg) argument,
            child = sym super::child,
            inlateout("rax") libc::SYS_clone3 as isize => result,
            in("rdi") wanted,
            in("rsi") wanted_bytes,
            out("rcx") _,
            out("r11") _,
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "svc #0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, {argument}",
            "bl {child}",
            "brk #1",
            "2:",
            argument = in(reg) argument,
            child = sym super::child,
            in("x8") libc::SYS_clone3 as isize,
            inlateout("x0") wanted => result,
            in("x1") wanted_bytes,
        );
    }
    if result < 0 { Err(io::Error::from_raw_os_error(-result as i32)) } else { Ok(result as i32) }
}

/// Other architectures do not support this.
///
/// # Safety
/// There are no requirements.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub unsafe fn clone(_: &CloneArguments, _: *mut c_void) -> io::Result<i32> {
    Err(io::ErrorKind::Unsupported.into())
}
