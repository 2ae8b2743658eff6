//! The measured path allocates nothing: ten times the operations need the same allocations.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use assay_load::{ENGINES, Job, Pattern, Work};
use common::{Scratch, engines_with_a_file, job, outcome};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator; only calls are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `alloc` is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// The only test here: another one at the same time would allocate as well.
#[test]
fn allocations_do_not_grow_with_operations() {
    let scratch = Scratch::filled(1 << 20, 1, false);
    let refused = engines_with_a_file();
    let usable = ENGINES.iter().filter(|entry| {
        !entry.needs_file || refused.iter().any(|(engine, _)| engine.name() == entry.name)
    });
    for entry in usable {
        let mixed = Job { work: Work::Mix { read_percent: 50 }, ..job() };
        let deep = Job { depth: 16, ..mixed.clone() };
        let rewrites = Job { work: Work::Rewrite, ..job() };
        let deep_rewrites = Job { depth: 16, ..rewrites.clone() };
        // As many places as there are operations: the larger number needs smaller ones.
        let spread = Job { pattern: Pattern::Spread, size_bytes: 64, ..job() };
        for kind in [mixed, deep, rewrites, deep_rewrites, spread] {
            let depth = kind.depth;
            let allocations = |operations| {
                let some = Job { operations: Some(operations), ..kind.clone() };
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                outcome(&some, &entry.standard, &scratch);
                ALLOCATIONS.load(Ordering::Relaxed) - before
            };
            allocations(100); // what is made once per process is made here
            let (few, many) = (allocations(1_000), allocations(10_000));
            // The rest may differ by a row of the series more, never by one per operation.
            assert!(
                many <= few + 20,
                "{}, {:?} {:?} at depth {depth}: {few} allocations, then {many}",
                entry.name,
                kind.pattern,
                kind.work
            );
        }
    }
}
