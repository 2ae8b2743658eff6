//! System calls as Linux 4.18 has them (RHEL 8 and its kin until 2029): whatever came later is unknown, as it is
//! there, to a thread and all that it starts. What calls *do* is still the kernel's of today.

use seccompiler::{apply_filter, sock_filter};

use crate::lab::Done;

/// linux/audit.h: `AUDIT_ARCH_I386` and `AUDIT_ARCH_X86_64`, each with the highest number of 4.18 (`rseq` in both
/// tables).
const I386: (u32, u32) = (0x4000_0003, 386);
const X86_64: (u32, u32) = (0xC000_003E, 334);
/// linux/seccomp.h: where a filter finds the number of a call, and the processor that it is of.
const NUMBER: u32 = 0;
const PROCESSOR: u32 = 4;
/// linux/seccomp.h: `SECCOMP_RET_ALLOW`, and `SECCOMP_RET_ERRNO` with ENOSYS.
const ALLOWED: u32 = 0x7FFF_0000;
const UNKNOWN: u32 = 0x0005_0026;

/// Why there is no such thing here.
pub fn missing() -> Option<&'static str> {
    let is_known = cfg!(any(target_arch = "x86", target_arch = "x86_64"));
    (!is_known).then_some("numbers of the system calls of 4.18 are known for x86 alone")
}

/// From now on this thread, and all that it starts, has no newer ones.
pub fn keep_to() -> Done<()> {
    let program = [
        load(PROCESSOR),
        jump(EQUAL, I386.0, 0, 2),
        load(NUMBER),
        jump(GREATER, I386.1, 4, 3),
        jump(EQUAL, X86_64.0, 0, 2),
        load(NUMBER),
        jump(GREATER, X86_64.1, 1, 0),
        end(ALLOWED),
        end(UNKNOWN),
    ];
    apply_filter(&program).map_err(|error| format!("system calls of an old kernel: {error}"))
}

/// linux/bpf_common.h: `BPF_JMP` by a constant.
const EQUAL: u16 = 0x15;
const GREATER: u16 = 0x25;

/// A word of what is asked of the filter.
fn load(k: u32) -> sock_filter {
    sock_filter { code: 0x20, jt: 0, jf: 0, k }
}

/// So many instructions further on, where it is so and where not.
fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn end(k: u32) -> sock_filter {
    sock_filter { code: 0x06, jt: 0, jf: 0, k }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    use rustix::io::Errno;
    use rustix::process::{PidfdFlags, getpid, pidfd_open};

    use super::*;

    #[test]
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    fn newer_calls_are_unknown_to_one_thread_alone() {
        let newer = || pidfd_open(getpid(), PidfdFlags::empty()).map(drop);
        let older = || statx(CWD, "/", AtFlags::empty(), StatxFlags::BASIC_STATS).map(drop);
        let there = std::thread::spawn(move || {
            keep_to().unwrap();
            (newer(), older())
        });
        assert_eq!(there.join().unwrap(), (Err(Errno::NOSYS), Ok(())));
        assert_ne!(newer(), Err(Errno::NOSYS), "pidfd_open came with 5.3");
    }
}
