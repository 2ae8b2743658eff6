//! Kernels that reject io_uring: the ring itself, or temporarily new operations. A seccomp filter simulates this for
//! the thread of the test and its children.
#![cfg(target_pointer_width = "64")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::ffi::{c_int, c_long};
use std::io;
use std::sync::atomic::AtomicBool;
use std::thread;

use assay_load::{ENGINES, EngineKind, Job, LoadError, Mix, Outcome, run};
use common::{Scratch, job};

const AREA_BYTES: u64 = 1 << 20;
/// Offsets in seccomp data: the call number, and the low half of the third argument.
const NUMBER: u32 = 0;
const THIRD: u32 = 16 + 2 * 8 + if cfg!(target_endian = "big") { 4 } else { 0 };
/// BPF instructions: load a word, jump if equal, return.
const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const END: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// A call that fails, always or only if its third argument is 0.
#[derive(Clone, Copy)]
struct Refusal {
    call: c_long,
    error: c_int,
    only_of_nothing: bool,
}

impl Refusal {
    /// Installs the filter for the calling thread, permanently.
    fn begin(self) -> io::Result<()> {
        let own = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
        let refused = libc::SECCOMP_RET_ERRNO | self.error as u32;
        let mut filter = vec![
            own(LOAD, 0, 0, NUMBER),
            own(EQUAL, 0, if self.only_of_nothing { 3 } else { 1 }, self.call as u32),
        ];
        if self.only_of_nothing {
            filter.extend([own(LOAD, 0, 0, THIRD), own(EQUAL, 0, 1, 0)]);
        }
        filter.extend([own(END, 0, 0, refused), own(END, 0, 0, libc::SECCOMP_RET_ALLOW)]);
        let program =
            libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_mut_ptr() };
        let [yes, no]: [libc::c_ulong; 2] = [1, 0];
        // SAFETY: four numbers.
        let bound = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, no, no, no) };
        // SAFETY: the program lives for the call, which copies it.
        let begun = unsafe {
            let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
            libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program)
        };
        if bound == 0 && begun == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Runs `act` under the filter; `None`, with a message, if filters are unavailable.
    fn during<T: Send>(self, act: impl FnOnce() -> T + Send) -> Option<T> {
        let body = || self.begin().map(|()| act());
        let done = thread::scope(|scope| scope.spawn(body).join().unwrap());
        match done {
            Ok(done) => Some(done),
            Err(error) => {
                assay_testkit::needs::skip(&format!("needs seccomp: {error}"));
                None
            }
        }
    }
}

/// Returns whether io_uring is available.
fn works() -> bool {
    let reason = available().err();
    if let Some(reason) = &reason {
        assay_testkit::needs::skip(reason);
    }
    reason.is_none()
}

fn available() -> Result<(), String> {
    let entry = ENGINES.iter().find(|entry| entry.name == EngineKind::IoUring.name());
    (entry.unwrap().available)()
}

fn ran(job: &Job, scratch: &Scratch) -> Result<Outcome, LoadError> {
    run(job, &EngineKind::IoUring, &scratch.target(), &AtomicBool::new(false))
}

fn mixed(depth: u32, operations: u64) -> Job {
    let mix = Mix::Shares { read_percent: 50 };
    Job { mix, depth, area: 0..AREA_BYTES, operations: Some(operations), ..job() }
}

#[test]
fn a_ring_that_is_refused_is_told_with_the_reason() {
    if !works() {
        return;
    }
    let scratch = Scratch::filled(AREA_BYTES, 1, false);
    let call = libc::SYS_io_uring_setup;
    for (error, why, words) in [
        (libc::EPERM, "check sysctl kernel.io_uring_disabled", "Operation not permitted"),
        (libc::ENOSYS, "this kernel was built without io_uring", "Function not implemented"),
        (libc::ENOMEM, "raise the limit for locked memory", "Cannot allocate memory"),
    ] {
        let refusal = Refusal { call, error, only_of_nothing: false };
        let told = || (available().unwrap_err(), ran(&mixed(8, 100), &scratch).unwrap_err());
        let Some((reason, error)) = refusal.during(told) else { return };
        assert!(reason.contains(why), "{reason}");
        let error = error.to_string();
        assert!(error.starts_with("cannot set up io_uring") && error.contains(words), "{error}");
    }
    // The thread that is refused is alone with it.
    assert_eq!(available(), Ok(()));
}

/// The kernel accepts no entries from a call that does not wait, and all from one that waits.
#[test]
fn what_finds_no_room_in_the_kernel_is_handed_over_again_and_said() {
    if !works() {
        return;
    }
    let scratch = Scratch::filled(AREA_BYTES, 1, false);
    let refusal =
        Refusal { call: libc::SYS_io_uring_enter, error: libc::EAGAIN, only_of_nothing: true };
    let is_short = |found: &Outcome| {
        let told = |note: &String| note.contains("rejected new operations");
        found.engine.notes.iter().any(told)
    };
    // With one in flight, each check of the queue fails; in a batch of eight, each portion except the last.
    for (depth, operations) in [(1, 500), (8, 8)] {
        let job = mixed(depth, operations);
        let Some(found) = refusal.during(|| ran(&job, &scratch)) else { return };
        let found = found.unwrap();
        let totals = found.totals;
        assert_eq!(totals.read_operations + totals.write_operations, operations);
        assert!(is_short(&found), "{:?}", found.engine.notes);
        assert!(!is_short(&ran(&job, &scratch).unwrap()));
    }
}

/// A kernel that never takes anything ends the run.
#[test]
fn a_kernel_that_never_has_room_ends_the_run_in_its_words() {
    if !works() {
        return;
    }
    let scratch = Scratch::filled(AREA_BYTES, 1, false);
    for error in [libc::EAGAIN, libc::EBUSY] {
        let refusal = Refusal { call: libc::SYS_io_uring_enter, error, only_of_nothing: false };
        let Some(told) = refusal.during(|| ran(&mixed(4, 100), &scratch)) else { return };
        let told = told.unwrap_err().to_string();
        assert!(
            told.starts_with("cannot ") && told.contains(&format!("(os error {error})")),
            "{told}"
        );
    }
}
