//! What every engine with a file must do, tested below `run`: at the trait itself. A new engine
//! adds one `suite!` at the end.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::check::tests::job;
use crate::engine::{Completion, Engine, Move, Request, Setup};
use crate::{ENGINES, EngineKind, Job, Target, WriteSync};

const SIZE: u32 = 4096;
const DEPTH: u32 = 8;

/// A file that goes away by itself.
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

/// Whether an engine can work here; where it cannot, the test that skips it says why.
pub(crate) fn works(kind: &EngineKind) -> bool {
    let entry = ENGINES.iter().find(|entry| entry.name == kind.name());
    let Err(reason) = (entry.unwrap().available)() else {
        return true;
    };
    assay_lab::needs::skip(&reason);
    false
}

fn request(way: Move, slot: u32) -> Request {
    Request { way, slot, offset: u64::from(slot) * u64::from(SIZE) }
}

fn all(way: Move) -> Vec<Request> {
    (0..DEPTH).map(|slot| request(way, slot)).collect()
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

fn what_is_written_is_read_back<'a>(mut engine: impl Engine<'a>, _: &File) {
    for slot in 0..DEPTH {
        engine.slot_mut(slot).fill(b'a' + slot as u8);
    }
    for (slot, done) in finish(&mut engine, &all(Move::Write)).iter().enumerate() {
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

fn short_reads_are_passed_on<'a>(mut engine: impl Engine<'a>, file: &File) {
    file.set_len(u64::from(SIZE) + 100).unwrap();
    let done = finish(&mut engine, &all(Move::Read)[..3]);
    let results: Vec<_> = done.iter().map(|done| done.result).collect();
    assert_eq!(results, [SIZE as i32, 100, 0]);
}

fn the_first_batch_is_looked_at<'a>(mut engine: impl Engine<'a>, _: &File) {
    engine.submit(&all(Move::Write)).unwrap();
    let facts = engine.queue();
    assert!((1..=u64::from(DEPTH)).contains(&facts.looked_at));
    assert!(facts.already_complete <= facts.looked_at);
    // Dropped with operations in flight: the file must not be written to after this.
}

fn complete_waits_for_as_many_as_asked<'a>(mut engine: impl Engine<'a>, _: &File) {
    let mut done = Vec::new();
    engine.submit(&all(Move::Read)).unwrap();
    engine.complete(DEPTH as usize, &mut done).unwrap();
    assert_eq!(done.len(), DEPTH as usize);
}

#[cfg(target_pointer_width = "64")]
fn a_slot_in_flight_is_neither_lent_nor_reused<'a>(mut engine: impl Engine<'a>, _: &File) {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    // Past the first batch nothing is collected before `complete`.
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
            for sync in [WriteSync::None, WriteSync::EachWrite] {
                let scratch = Scratch::new(u64::from(DEPTH * SIZE));
                let target = Target {
                    file: Some(scratch.1.as_fd()),
                    memory_alignment: 4096,
                };
                let job = Job { size_bytes: SIZE, depth: DEPTH, sync, ..job() };
                let setup = Setup { job: &job, kind: &$kind, target: &target, thread: 0 };
                super::$check(<$engine>::open(&setup).unwrap(), &scratch.1);
            }
        }
    )*};
    ($kind:expr, $engine:ty) => {
        suite!($kind, $engine:
            what_is_written_is_read_back
            short_reads_are_passed_on
            the_first_batch_is_looked_at
            complete_waits_for_as_many_as_asked
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
    suite!(EngineKind::IoUring, IoUring<'_>: a_slot_in_flight_is_neither_lent_nor_reused);
}
