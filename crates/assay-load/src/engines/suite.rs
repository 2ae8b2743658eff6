//! Tests of the engine trait that every engine with a file must pass. A new engine adds one `suite!` at the end.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::check::tests::job;
use crate::engine::{Completion, Engine, Move, Request, Setup};
use crate::{ENGINES, EngineKind, Job, Target, WriteSync};

const SIZE: u32 = 4096;
const DEPTH: u32 = 8;

/// A file that is removed on drop.
struct Scratch(PathBuf, File);

impl Scratch {
    fn new(bytes: u64) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-load-suite-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut options = File::options();
        let options = options.read(true).write(true).create_new(true);
        let file = options.open(&path).unwrap();
        file.set_len(bytes).unwrap();
        Self(path, file)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns whether an engine is available here; otherwise the skipped test prints the reason.
pub(crate) fn works(kind: &EngineKind) -> bool {
    let entry = ENGINES.iter().find(|entry| entry.name == kind.name());
    let Err(reason) = (entry.unwrap().available)() else {
        return true;
    };
    assay_testkit::needs::skip(&reason);
    false
}

fn request(way: Move, slot: u32) -> Request {
    let offset = u64::from(slot) * u64::from(SIZE);
    Request { way, synced: false, slot, offset, bytes: SIZE }
}

fn all(way: Move) -> Vec<Request> {
    (0..DEPTH).map(|slot| request(way, slot)).collect()
}

/// Writes: all of them synced, every second slot, or none.
fn writes(sync: WriteSync) -> Vec<Request> {
    let is_synced =
        |slot: u32| sync.call_every().is_some_and(|every| (slot + 1).is_multiple_of(every));
    let write = |slot| Request { synced: is_synced(slot), ..request(Move::Write, slot) };
    (0..DEPTH).map(write).collect()
}

/// Submits and waits for all; the completions by slot.
fn finish<'a>(engine: &mut impl Engine<'a>, requests: &[Request]) -> Vec<Completion> {
    let mut done = Vec::new();
    engine.submit(requests).unwrap();
    while done.len() < requests.len() {
        let before = done.len();
        engine.complete(1, &mut done).unwrap();
        assert!(done.len() > before, "complete(1) gives one at least");
    }
    done.sort_by_key(|completion| completion.slot);
    done
}

fn writes_are_read_back<'a>(mut engine: impl Engine<'a>, _: &File, sync: WriteSync) {
    for slot in 0..DEPTH {
        engine.slot_mut(slot).fill(b'a' + slot as u8);
    }
    for (slot, done) in finish(&mut engine, &writes(sync)).iter().enumerate() {
        assert_eq!((done.slot, done.result), (slot as u32, SIZE as i32));
    }
    for slot in 0..DEPTH {
        engine.slot_mut(slot).fill(0);
    }
    finish(&mut engine, &all(Move::Read));
    for slot in 0..DEPTH {
        assert_eq!(engine.slot_mut(slot), [b'a' + slot as u8; SIZE as usize]);
    }
}

fn operations_move_their_own_bytes<'a>(mut engine: impl Engine<'a>, file: &File, _: WriteSync) {
    use std::os::unix::fs::FileExt;
    for slot in 0..DEPTH {
        engine.slot_mut(slot).fill(b'a');
    }
    let requests: Vec<Request> = (0..DEPTH)
        .map(|slot| Request { bytes: 512 * (slot + 1), ..request(Move::Write, slot) })
        .collect();
    for (slot, done) in (0..).zip(finish(&mut engine, &requests)) {
        let bytes = 512 * (slot + 1);
        assert_eq!((done.slot, done.result), (slot, bytes as i32));
        let mut there = [0; SIZE as usize];
        file.read_exact_at(&mut there, u64::from(slot * SIZE)).unwrap();
        let (own, rest) = there.split_at(bytes as usize);
        assert!(
            own.iter().all(|byte| *byte == b'a') && rest.iter().all(|byte| *byte == 0),
            "{slot}"
        );
    }
}

fn short_reads_are_passed_on<'a>(mut engine: impl Engine<'a>, file: &File, _: WriteSync) {
    file.set_len(u64::from(SIZE) + 100).unwrap();
    let done = finish(&mut engine, &all(Move::Read)[..3]);
    let results: Vec<_> = done.iter().map(|done| done.result).collect();
    assert_eq!(results, [SIZE as i32, 100, 0]);
}

fn the_first_batch_is_looked_at<'a>(mut engine: impl Engine<'a>, _: &File, sync: WriteSync) {
    engine.submit(&writes(sync)).unwrap();
    let facts = engine.queue();
    assert!((1..=u64::from(DEPTH)).contains(&facts.looked_at));
    assert!(facts.already_complete <= facts.looked_at);
    // Dropped with operations in flight: the file must not be written to after this.
}

fn complete_waits_for_as_many_as_asked<'a>(mut engine: impl Engine<'a>, _: &File, _: WriteSync) {
    let mut done = Vec::new();
    engine.submit(&all(Move::Read)).unwrap();
    engine.complete(DEPTH as usize, &mut done).unwrap();
    assert_eq!(done.len(), DEPTH as usize);
}

fn timed_wait_ends_on_time_with_completions<'a>(
    mut engine: impl Engine<'a>,
    _: &File,
    _: WriteSync,
) {
    let mut done = Vec::new();
    let stamp = engine.now_ns() + 300_000;
    engine.complete_by(stamp, &mut done).unwrap();
    assert!(engine.now_ns() >= stamp && done.is_empty());
    engine.submit(&all(Move::Read)).unwrap();
    while done.len() < DEPTH as usize {
        // Long enough for a file, and short enough if an engine waits in vain.
        let soon = engine.now_ns() + 100_000_000;
        engine.complete_by(soon, &mut done).unwrap();
    }
    let mut slots: Vec<u32> = done.iter().map(|done| done.slot).collect();
    slots.sort_unstable();
    assert_eq!(slots, (0..DEPTH).collect::<Vec<u32>>());
    // A deadline in the past neither waits nor skips the check.
    engine.complete_by(stamp, &mut done).unwrap();
    assert_eq!(done.len(), DEPTH as usize);
}

fn separate_sync_moves_no_bytes<'a>(mut engine: impl Engine<'a>, _: &File, sync: WriteSync) {
    let mut requests = writes(sync);
    requests.truncate(2);
    requests.push(Request { offset: 0, bytes: 0, ..request(Move::Sync, 5) });
    let done = finish(&mut engine, &requests);
    let found: Vec<_> = done.iter().map(|done| (done.slot, done.result)).collect();
    assert_eq!(found, [(0, SIZE as i32), (1, SIZE as i32), (5, 0)]);
}

/// Every second block is trimmed, then zeroed: those alone are zeros.
fn cleared_blocks_read_as_zeros<'a>(mut engine: impl Engine<'a>, _: &File, _: WriteSync) {
    for way in [Move::Trim, Move::Zero] {
        for slot in 0..DEPTH {
            engine.slot_mut(slot).fill(7);
        }
        finish(&mut engine, &all(Move::Write));
        let every_second = all(way).into_iter().step_by(2).collect::<Vec<_>>();
        let done = finish(&mut engine, &every_second);
        if done[0].result == -libc::EOPNOTSUPP {
            assay_testkit::needs::skip(&format!(
                "{way:?}: the file system of temporary files has none"
            ));
            continue;
        }
        assert!(done.iter().all(|done| done.result == SIZE as i32), "{way:?}: {done:?}");
        finish(&mut engine, &all(Move::Read));
        for slot in 0..DEPTH {
            let byte = if slot % 2 == 0 { 0 } else { 7 };
            assert_eq!(engine.slot_mut(slot), [byte; SIZE as usize], "{way:?}, slot {slot}");
        }
    }
    assert!(engine.notes().iter().any(|note| note.contains("PUNCH_HOLE")), "{:?}", engine.notes());
}

#[cfg(target_pointer_width = "64")]
fn slot_in_flight_is_refused<'a>(mut engine: impl Engine<'a>, _: &File, _: WriteSync) {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    // After the first batch, only `complete` collects.
    finish(&mut engine, &all(Move::Read));
    engine.submit(&all(Move::Read)).unwrap();
    let refused = |f: &mut dyn FnMut()| catch_unwind(AssertUnwindSafe(f)).is_err();
    assert!(refused(&mut || engine.slot_mut(0).fill(0)));
    assert!(refused(&mut || {
        let _ = engine.submit(&[request(Move::Read, 0)]);
    }));
}

macro_rules! suite {
    ($kind:expr, $engine:ty: $($check:ident)*) => {$(
        #[test]
        fn $check() {
            if !works(&$kind) {
                return;
            }
            for sync in [
                WriteSync::None,
                WriteSync::EachWrite,
                WriteSync::EachNth(2),
                WriteSync::Fsync(2),
                WriteSync::DataSynced,
                WriteSync::Synced,
            ] {
                let scratch = Scratch::new(u64::from(DEPTH * SIZE));
                let target = Target {
                    file: Some(scratch.1.as_fd()),
                    memory_alignment: 4096,
                };
                let mix = "read/40:write/40:trim/10:zero/10".parse().unwrap();
                let job = Job { mix, size_bytes: SIZE, depth: DEPTH, sync, ..job() };
                let setup = Setup { job: &job, kind: &$kind, target: &target, thread: 0 };
                super::$check(<$engine>::open(&setup).unwrap(), &scratch.1, sync);
            }
        }
    )*};
    ($kind:expr, $engine:ty) => {
        suite!($kind, $engine:
            writes_are_read_back
            operations_move_their_own_bytes
            short_reads_are_passed_on
            the_first_batch_is_looked_at
            complete_waits_for_as_many_as_asked
            timed_wait_ends_on_time_with_completions
            cleared_blocks_read_as_zeros
            separate_sync_moves_no_bytes
        );
    };
}

mod psync {
    use super::*;
    suite!(EngineKind::Psync, crate::engines::psync::Psync<'_>);
}

#[cfg(target_pointer_width = "64")]
mod io_uring {
    use super::*;

    type IoUring<'a> = crate::engines::io_uring::IoUring<'a>;

    suite!(EngineKind::IoUring, IoUring<'_>);
    suite!(EngineKind::IoUring, IoUring<'_>: slot_in_flight_is_refused);

    /// The kernel refuses a lease for reading while anybody has the file open for writing.
    #[test]
    fn dropped_engine_closes_its_file() {
        use std::os::fd::AsRawFd;
        if !works(&EngineKind::IoUring) {
            return;
        }
        let mut scratch = Scratch::new(u64::from(DEPTH * SIZE));
        scratch.1 = File::open(&scratch.0).unwrap();
        // SAFETY: both calls use an open descriptor and no memory.
        let leased =
            |lease: i32| unsafe { libc::fcntl(scratch.1.as_raw_fd(), libc::F_SETLEASE, lease) };
        for turn in 0..50 {
            let file = File::options().read(true).write(true).open(&scratch.0).unwrap();
            let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
            let job = Job { mix: crate::Mix::WRITES, size_bytes: SIZE, depth: DEPTH, ..job() };
            let setup = Setup { job: &job, kind: &EngineKind::IoUring, target: &target, thread: 0 };
            let mut engine = IoUring::open(&setup).unwrap();
            finish(&mut engine, &all(Move::Write));
            assert_eq!(leased(libc::F_RDLCK), -1);
            drop(engine);
            drop(file);
            assert_eq!(leased(libc::F_RDLCK), 0, "turn {turn}");
            assert_eq!(leased(libc::F_UNLCK), 0);
        }
    }
}
