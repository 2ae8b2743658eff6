//! Cards that refuse I/O, fill up and stall: exact counts of a pass.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::disk::BlockDisk;
use super::simulated::SimulatedDisk;
use super::*;
use crate::LawShape;

const MS: u64 = 1_000_000;
const SIZE: u64 = 8 * MIB;

/// One request to a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Write { block: u64, count: u64, generation: u32 },
    Read { block: u64, count: u64 },
    Settle,
}

impl Step {
    fn reaches(self, blocks: Range<u64>) -> bool {
        match self {
            Self::Write { block, count, .. } | Self::Read { block, count } => {
                block < blocks.end && blocks.start < block + count
            }
            Self::Settle => false,
        }
    }

    fn writes(self, blocks: Range<u64>) -> bool {
        matches!(self, Self::Write { .. }) && self.reaches(blocks)
    }

    fn reads(self, blocks: Range<u64>) -> bool {
        matches!(self, Self::Read { .. }) && self.reaches(blocks)
    }
}

type Refuses<'a> = &'a dyn Fn(Step) -> Option<io::ErrorKind>;

/// A card with 1 ms per step; the test selects the failing steps.
struct Card<'a> {
    inner: SimulatedDisk,
    refuses: Refuses<'a>,
    settle_ns: u64,
    settled_ns: u64,
    is_file: bool,
    has_room: bool,
    steps: Vec<Step>,
    /// Distinguishes the pilot's writes from those of a pass.
    pass: u32,
}

impl<'a> Card<'a> {
    fn new(store: Option<Store>, bytes: u64, refuses: Refuses<'a>) -> Self {
        let law = Law::new(LawShape::Fixed { ns: MS }, 1).unwrap();
        let inner = SimulatedDisk::new(&Law { store, ..law }, bytes, 1).unwrap();
        let (settle_ns, settled_ns, steps) = (0, 0, Vec::new());
        Self {
            inner,
            refuses,
            settle_ns,
            settled_ns,
            is_file: false,
            has_room: true,
            steps,
            pass: 0,
        }
    }

    fn ask(&mut self, step: Step) -> io::Result<()> {
        self.steps.push(step);
        (self.refuses)(step).map_or(Ok(()), |kind| Err(kind.into()))
    }
}

impl BlockDisk for Card<'_> {
    fn write(&mut self, block: u64, count: u64, generation: u32) -> io::Result<()> {
        self.ask(Step::Write { block, count, generation })?;
        self.inner.write(block, count, generation | self.pass << 16)
    }

    fn read(
        &mut self,
        block: u64,
        count: u64,
        generation: u32,
        into: &mut Vec<Seen>,
    ) -> io::Result<()> {
        // Blocks read before the failure do not count.
        into.push(Seen::Zero);
        self.ask(Step::Read { block, count })?;
        into.pop();
        self.inner.read(block, count, generation | self.pass << 16, into)
    }

    fn settle(&mut self) -> io::Result<()> {
        self.settled_ns += self.settle_ns;
        self.ask(Step::Settle)
    }

    fn set_aside(&mut self) -> Result<(), String> {
        if self.has_room { Ok(()) } else { Err("not supported".to_owned()) }
    }

    fn now_ns(&self) -> u64 {
        self.inner.now_ns() + self.settled_ns
    }

    fn may_fill_up(&self) -> bool {
        self.is_file
    }
}

fn job(bytes: u64, full: bool, time: Duration) -> CapacityJob {
    // Other tests cover rewrites.
    let shape = CapacityShape { rewrites: 0, ..CapacityShape::new(bytes, full) };
    CapacityJob { area: 0..bytes, shape, time, seed: 3, run: 1 }
}

const LONG: Duration = Duration::from_secs(100_000);

fn pass(card: &mut Card<'_>, job: &CapacityJob) -> CapacityOutcome {
    probe::run(card, job, &AtomicBool::new(false)).unwrap()
}

fn refused(step: bool) -> Option<io::ErrorKind> {
    step.then_some(io::ErrorKind::PermissionDenied)
}

const BLOCK: u64 = BLOCK_BYTES;

#[test]
fn a_file_holds_what_there_was_room_for_and_a_device_refuses() {
    for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
        let refuses = |step: Step| step.writes(1000..2048).then_some(kind);
        let mut card = Card::new(None, SIZE, &refuses);
        card.is_file = true;
        let found = pass(&mut card, &job(SIZE, true, LONG));
        assert_eq!((found.claimed_bytes, found.zone_bytes), (768 * BLOCK, 768 * BLOCK));
        assert_eq!((found.first.as_written, found.first.all(), found.samples), (768, 768, 0));
        assert_eq!((found.written, found.read), ((768 * BLOCK, 3), (768 * BLOCK, 3)));
        assert_eq!((found.between_bytes, found.widest_gap_bytes), (512 * BLOCK, 0));
        assert_eq!((found.cut_short, found.refused), (false, None));
        // Three pieces are written and three are read.
        assert_eq!((found.zone_write_ns, found.elapsed_ns, found.again_ns), (3 * MS, 6 * MS, 0));
        // The same error of a device is a failure: the pass continues.
        let mut card = Card::new(None, SIZE, &refuses);
        let found = pass(&mut card, &job(SIZE, true, LONG));
        assert_eq!((found.claimed_bytes, found.first.all()), (SIZE, 2048));
        assert_eq!((found.first.as_written, found.first.failed), (768, 1280));
    }
    // A target that is full before the first write is an error.
    let refuses = |step: Step| step.writes(0..2048).then_some(io::ErrorKind::StorageFull);
    let mut card = Card::new(None, SIZE, &refuses);
    card.is_file = true;
    let error = probe::run(&mut card, &job(SIZE, true, LONG), &AtomicBool::new(false));
    assert!(
        matches!(error, Err(LoadError::Operation { class: crate::Class::Write, offset: 0, .. })),
        "{error:?}"
    );
}

#[test]
fn a_write_that_was_refused_is_no_block_whatever_lies_there() {
    let refuses = |step: Step| refused(step.writes(256..512));
    let mut card = Card::new(None, SIZE, &refuses);
    let found = pass(&mut card, &job(SIZE, true, LONG));
    assert_eq!((found.first.as_written, found.first.failed), (1792, 256));
    assert_eq!((found.again.failed, found.again.all()), (32, 32));
    // The report contains the first eight.
    let told: Vec<u64> = found.wrong.iter().map(|own| own.at_bytes / BLOCK).collect();
    assert_eq!(told, (256..264).collect::<Vec<_>>());
    assert!(found.wrong.iter().all(|own| own.seen == Seen::Failed));
    assert_eq!((found.held_bytes, found.wraps_after_bytes), (Some(1792 * BLOCK), None));
    assert_eq!(found.refused.as_deref(), Some("permission denied"));
    // Seven pieces, and six of them after the retried blocks.
    assert_eq!(found.written, ((1792 + 1504) * BLOCK, 13));
    assert_eq!(found.read, ((2048 + 32) * BLOCK, 40));
    assert!(!found.cut_short && found.again_ns == (6 + 32) * MS, "{found:?}");
    assert_eq!(found.elapsed_ns, (13 + 40) * MS);
}

#[test]
fn a_piece_that_is_refused_is_read_block_by_block() {
    let refuses = |step: Step| refused(step.reads(300..302));
    let mut card = Card::new(None, SIZE, &refuses);
    let found = pass(&mut card, &job(SIZE, true, LONG));
    assert_eq!((found.first.as_written, found.first.failed, found.first.all()), (2046, 2, 2048));
    assert_eq!((found.again.failed, found.again.all()), (2, 2));
    assert_eq!(found.read, (2046 * BLOCK, 8 + 256 + 2));
    assert_eq!(found.held_bytes, Some(2046 * BLOCK));
    let told: Vec<u64> = found.wrong.iter().map(|own| own.at_bytes / BLOCK).collect();
    assert_eq!(told, [300, 301]);
    // Both are written again, then as much behind them as there is.
    let again = |step: &&Step| matches!(step, Step::Write { generation: 2, .. });
    let again: Vec<Step> = card.steps.iter().filter(again).copied().collect();
    let write = |block, count| Step::Write { block, count, generation: 2 };
    assert_eq!(again[..3], [write(300, 1), write(301, 1), write(302, 256)]);
    assert_eq!((again.len(), again.last()), (9, Some(&write(1838, 210))));
    // All reads follow a flush of the writes.
    let settles = card.steps.iter().filter(|step| **step == Step::Settle).count();
    assert_eq!(settles, 3);
    let last = card.steps.iter().rposition(|step| *step == Step::Settle).unwrap();
    assert!(card.steps[last..].iter().skip(1).all(|step| step.reads(300..302)));
}

#[test]
fn a_pass_does_not_go_on_over_refusal_after_refusal() {
    let size = 96 * MIB;
    let refuses = |step: Step| refused(step.writes(256..size / BLOCK));
    let mut card = Card::new(None, size, &refuses);
    let found = pass(&mut card, &job(size, true, LONG));
    // The first piece, and the 64 that were refused.
    assert_eq!((found.zone_bytes, found.first.all()), (65 * MIB, 0));
    assert!(found.cut_short && found.again.all() == 0, "{found:?}");
    let refuses = |step: Step| refused(step.reads(256..2048));
    let mut card = Card::new(None, SIZE, &refuses);
    let found = pass(&mut card, &job(SIZE, true, LONG));
    // Every block of the second piece was tried, none of the third.
    assert_eq!((found.first.as_written, found.first.failed), (256, 256));
    assert_eq!((found.widest_gap_bytes, found.cut_short), (1536 * BLOCK, true));
    // With one failure fewer, the pass completes.
    let refuses = |step: Step| refused(step.reads(256..319));
    let mut card = Card::new(None, SIZE, &refuses);
    let found = pass(&mut card, &job(SIZE, true, LONG));
    assert_eq!((found.first.all(), found.first.failed, found.cut_short), (2048, 63, false));
    // A medium that does not settle has refused, too.
    let refuses = |step: Step| (step == Step::Settle).then_some(io::ErrorKind::TimedOut);
    let mut card = Card::new(None, SIZE, &refuses);
    let found = pass(&mut card, &job(SIZE, true, LONG));
    assert_eq!(found.refused.as_deref(), Some("timed out"));
    assert_eq!((found.first.wrong(), found.cut_short), (0, false));
}

/// Two fifths of the time for a sample, a fifth for the zone, the rest for reads.
#[test]
fn the_time_is_divided_between_writing_and_reading() {
    let size = 300 * MIB;
    let never = |_: Step| None;
    let of = |ms: u64| {
        let mut card = Card::new(None, size, &never);
        pass(&mut card, &job(size, false, Duration::from_millis(ms)))
    };
    let found = of(1000);
    assert_eq!((found.samples, found.zone_bytes), (400, 64 * MIB));
    assert_eq!((found.zone_write_ns, found.elapsed_ns), (64 * MS, 1000 * MS));
    assert_eq!((found.first.all(), found.first.wrong()), (536, 0));
    assert_eq!((found.between_bytes, found.cut_short), (32 * MIB, true));
    assert_eq!(found.written, (400 * BLOCK + 64 * MIB, 464));
    let found = of(100);
    assert_eq!((found.samples, found.zone_bytes), (40, 20 * MIB));
    assert_eq!((found.first.all(), found.between_bytes), (40, 10 * MIB));
    let found = of(100_000);
    assert_eq!((found.samples, found.first.all()), (2048, 2048 + 512));
    assert!(!found.cut_short && found.widest_gap_bytes <= found.zone_bytes, "{found:?}");
    // A full pass uses three fifths for writing.
    let mut card = Card::new(None, SIZE, &never);
    let found = pass(&mut card, &job(SIZE, true, Duration::from_millis(10)));
    assert_eq!((found.zone_bytes, found.first.all(), found.cut_short), (6 * MIB, 1024, true));
    // A file that the time cut off may have had more room.
    let mut card = Card::new(None, SIZE, &never);
    card.is_file = true;
    let found = pass(&mut card, &job(SIZE, true, Duration::from_millis(10)));
    assert_eq!((found.claimed_bytes, found.cut_short), (SIZE, true));
}

#[test]
fn without_room_set_aside_all_is_written_and_told() {
    let size = 300 * MIB;
    let never = |_: Step| None;
    let mut card = Card::new(None, size, &never);
    (card.has_room, card.is_file) = (false, true);
    let found = pass(&mut card, &job(size, false, LONG));
    assert!(found.shape.full && found.first.all() == size / BLOCK, "{found:?}");
    assert!(found.note.unwrap().ends_with("the filesystem cannot reserve space (not supported)"));
    // A full pass needs none.
    let mut card = Card::new(None, SIZE, &never);
    card.has_room = false;
    assert_eq!(pass(&mut card, &job(SIZE, true, LONG)).note, None);
    let mut card = Card::new(None, size, &never);
    let found = pass(&mut card, &job(size, false, LONG));
    assert_eq!((found.note, found.shape.full), (None, false));
}

#[test]
fn a_stop_ends_each_part_and_nothing_is_tried_again() {
    for (at, read) in [(3, 0), (8, 0), (12, 3)] {
        let stop = AtomicBool::new(false);
        let asked = std::cell::Cell::new(0);
        let refuses = |_: Step| {
            asked.set(asked.get() + 1);
            stop.store(asked.get() >= at, Ordering::Relaxed);
            None
        };
        let store = Store { claimed_bytes: SIZE, held_bytes: SIZE / 2, lie: Lie::Drops };
        let mut card = Card::new(Some(store), SIZE, &refuses);
        let found = probe::run(&mut card, &job(SIZE, true, LONG), &stop).unwrap();
        assert!(found.stopped && found.cut_short && found.again.all() == 0, "{found:?}");
        assert_eq!(found.first.all(), read * 256, "{at}");
        assert!(found.written.1 <= at && asked.get() <= at + 1, "{found:?}");
    }
}

/// Half of a card drops writes: the search finds the border between the last good and the first wrong block.
#[test]
fn what_is_tried_again_is_the_first_of_what_was_wrong_and_written_over_elsewhere() {
    let size = 300 * MIB;
    let store = Store { claimed_bytes: size, held_bytes: 40_000 * BLOCK, lie: Lie::Drops };
    let never = |_: Step| None;
    let mut card = Card::new(Some(store), size, &never);
    let found = pass(&mut card, &job(size, false, LONG));
    assert_eq!(found.held_bytes, Some(40_000 * BLOCK));
    assert_eq!((found.again.foreign, found.again.all(), found.wrong.len()), (32, 32, 8));
    let of = |own: u32| -> Vec<(u64, u64)> {
        let pieces = card.steps.iter().filter_map(move |step| match *step {
            Step::Write { block, count, generation } if generation == own => Some((block, count)),
            _ => None,
        });
        pieces.collect()
    };
    let again = of(2);
    assert!(again[..32].iter().all(|(block, count)| *block >= 40_000 && *count == 1));
    assert!(again[..32].is_sorted(), "{again:?}");
    // The blocks are beyond the zone, so the spacer is the whole zone, from its beginning.
    let spacer: Vec<(u64, u64)> = (0..64).map(|at| (at * 256, 256)).collect();
    assert_eq!(again[32..], spacer);
    // A round tries 64 places at most, after which 16 MiB are written.
    let round = of(3);
    let tried = round.iter().filter(|(_, count)| *count == 1).count();
    assert!((1..=64).contains(&tried), "{round:?}");
    assert_eq!(round[tried..], spacer[..16]);
    // Wrapped blocks are also rewritten at their real address, unless it is one of the retried blocks.
    let store = Store { lie: Lie::Wraps, ..store };
    let mut card = Card::new(Some(store), size, &never);
    let found = pass(&mut card, &job(size, false, LONG));
    assert_eq!((found.wraps_after_bytes, found.held_bytes), (Some(40_000 * BLOCK), None));
    assert!(found.again.other > 0);
}

#[test]
fn what_a_step_costs_is_that_of_a_piece_and_of_a_block() {
    let never = |_: Step| None;
    let mut card = Card::new(None, SIZE, &never);
    assert_eq!(probe::costs(&mut card, SIZE).unwrap(), (MS, MS));
    let mut card = Card::new(None, SIZE, &never);
    card.settle_ns = 8 * MS;
    // Eight pieces and settling; sixteen writes, settling, and sixteen reads.
    assert_eq!(probe::costs(&mut card, SIZE).unwrap(), (2 * MS, 40 * MS / 32));
    let writes: Vec<u64> = card
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Write { count, .. } => Some(*count),
            _ => None,
        })
        .collect();
    assert_eq!(writes, [[256; 8].as_slice(), &[1; 16]].concat());
    // All four of four blocks are tried.
    let mut card = Card::new(None, 4 * BLOCK, &never);
    assert_eq!(probe::costs(&mut card, 4 * BLOCK).unwrap(), (MS, MS));
    assert_eq!(card.steps[0], Step::Write { block: 0, count: 4, generation: 1 });
    assert_eq!(card.steps.len(), 1 + 1 + 4 + 1 + 4);
}

#[test]
fn the_shape_is_that_of_the_size() {
    let of = |bytes| CapacityShape::new(bytes, false);
    let shape = |zone_bytes, samples| CapacityShape {
        full: false,
        zone_bytes,
        samples,
        zone_samples: 512,
        rewrites: samples,
    };
    let whole = |bytes| CapacityShape {
        full: true,
        zone_bytes: bytes,
        samples: 0,
        zone_samples: bytes / BLOCK,
        rewrites: if bytes <= 256 * MIB { 512 } else { 2048 },
    };
    assert_eq!(of(256 * MIB), whole(256 * MIB));
    assert_eq!(of(256 * MIB + BLOCK), shape(64 * MIB, 2048));
    assert_eq!(of(64 << 30), shape(128 * MIB, 2048));
    assert_eq!(of(4 << 40), shape(1 << 30, 2 * 4095));
    assert_eq!(of(16 << 40), shape(1 << 30, 2 * 16_383));
    assert_eq!(CapacityShape::new(64 << 30, true), whole(64 << 30));
    assert_eq!(of(64 << 30).costs(), (128 * MIB, 3 * 2048 + 512));
    assert_eq!(CapacityShape::new(64 << 30, true).costs(), ((128 << 30) + 512 * MIB, 2 * 2048));
}

#[test]
fn an_area_is_four_whole_blocks_at_least() {
    let law = Law::new(LawShape::Fixed { ns: MS }, 1).unwrap();
    let target = Target { file: None, memory_alignment: 4096 };
    let look = |area: Range<u64>| {
        let shape = CapacityShape::new(area.end.saturating_sub(area.start), true);
        let job = CapacityJob { area, shape, time: LONG, seed: 1, run: 1 };
        capacity(&job, &target, Some(&law), &AtomicBool::new(false))
    };
    assert_eq!(look(BLOCK..5 * BLOCK).unwrap().first.as_written, 4);
    for area in [0..3 * BLOCK, 0..4 * BLOCK + 512, 0..0, Range { start: BLOCK, end: 0 }] {
        let told = look(area.clone()).unwrap_err().to_string();
        assert!(told.contains("not a multiple of 4096"), "{area:?}: {told}");
    }
    let none =
        Law { store: Some(Store { claimed_bytes: SIZE, held_bytes: 0, lie: Lie::Drops }), ..law };
    let job = job(SIZE, true, LONG);
    let told = capacity(&job, &target, Some(&none), &AtomicBool::new(false)).unwrap_err();
    assert!(told.to_string().contains("at least one block"), "{told}");
    let told = capacity(&job, &target, None, &AtomicBool::new(false)).unwrap_err();
    assert!(told.to_string().contains("a file or a device"), "{told}");
}

/// Overwriting part of a piece preserves the rest.
#[test]
fn a_piece_is_cut_by_what_is_written_over_it() {
    let seen = |writes: &[(u64, u64, u32)], blocks: Range<u64>, generation| {
        let law = Law::new(LawShape::Fixed { ns: MS }, 1).unwrap();
        let mut own = SimulatedDisk::new(&law, SIZE, 1).unwrap();
        for (block, count, generation) in writes {
            own.write(*block, *count, *generation).unwrap();
        }
        let mut seen = Vec::new();
        own.read(blocks.start, blocks.end - blocks.start, generation, &mut seen).unwrap();
        let good = seen.iter().map(|seen| if *seen == Seen::AsWritten { 'x' } else { '.' });
        good.collect::<String>()
    };
    assert_eq!(seen(&[(2, 6, 1), (4, 2, 2)], 0..10, 1), "..xx..xx..");
    assert_eq!(seen(&[(2, 6, 1), (4, 2, 2)], 0..10, 2), "....xx....");
    assert_eq!(seen(&[(2, 6, 1), (0, 4, 2)], 0..10, 1), "....xxxx..");
    assert_eq!(seen(&[(2, 6, 1), (6, 4, 2)], 0..10, 1), "..xxxx....");
    assert_eq!(seen(&[(2, 2, 1), (4, 2, 1), (0, 10, 2)], 0..10, 1), "..........");
    assert_eq!(seen(&[(2, 2, 1), (4, 2, 2)], 0..10, 1), "..xx......");
}

/// Writes stay within the area, and a file that is too short yields no blocks.
#[test]
fn a_file_is_written_inside_of_its_area_alone() {
    use std::os::fd::AsFd;
    let file = rustix::fs::memfd_create("capacity", rustix::fs::MemfdFlags::empty()).unwrap();
    rustix::fs::ftruncate(&file, 4 * MIB).unwrap();
    let area = MIB..3 * MIB;
    let shape = CapacityShape { rewrites: 0, ..CapacityShape::new(2 * MIB, true) };
    let job = CapacityJob { area, shape, time: LONG, seed: 5, run: 1 };
    let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
    let found = capacity(&job, &target, None, &AtomicBool::new(false)).unwrap();
    assert_eq!((found.first.as_written, found.first.all()), (512, 512));
    assert!(found.zone_write_ns > 0 && found.elapsed_ns > found.zone_write_ns);
    let mut bytes = vec![0; 4 << 20];
    assert_eq!(rustix::io::pread(&file, &mut bytes, 0).unwrap(), 4 << 20);
    let is_zero =
        |from: u64, to: u64| bytes[from as usize..to as usize].iter().all(|own| *own == 0);
    assert!(is_zero(0, MIB) && is_zero(3 * MIB, 4 * MIB));
    for at in (MIB..3 * MIB).step_by(512) {
        assert!(bytes[at as usize..].starts_with(b"ASSAYCAP"), "{at}");
    }
    // The addresses in the blocks are those from the area on.
    assert_eq!(bytes[MIB as usize + 4096 + 24..][..8], 4096_u64.to_le_bytes());
    let mut disk = disk::RealDisk::open(&target, &job).unwrap();
    let mut seen = Vec::new();
    disk.read(3, 2, 1, &mut seen).unwrap();
    assert_eq!(seen, [Seen::AsWritten; 2]);
    seen.clear();
    disk.read(3, 1, 2, &mut seen).unwrap();
    assert_eq!(seen, [Seen::Older], "of another time");
    rustix::fs::ftruncate(&file, MIB + 4096).unwrap();
    assert_eq!(disk.read(0, 2, 1, &mut seen).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert!(disk.may_fill_up());
    disk.set_aside().unwrap();
    assert_eq!(rustix::fs::fstat(&file).unwrap().st_size, 3 << 20);
}

/// Both passes find a card that retains only the first write to a block, and its border.
#[test]
fn a_card_that_loses_rewrites_is_found_and_an_honest_one_is_written_twice() {
    let never = |_: Step| None;
    for (size, full) in [(8 * MIB, true), (300 * MIB, true), (300 * MIB, false)] {
        let held_bytes = size / 5 * 3 / BLOCK * BLOCK;
        let store = Store { claimed_bytes: size, held_bytes, lie: Lie::Keeps };
        let job = CapacityJob { shape: CapacityShape::new(size, full), ..job(size, full, LONG) };
        let mut card = Card::new(Some(store), size, &never);
        let found = pass(&mut card, &job);
        assert!(found.first.older > 0 && found.first.wrong() == found.first.older, "{found:?}");
        assert_eq!(found.again.older, found.again.all(), "{found:?}");
        assert_eq!(found.held_bytes, Some(held_bytes), "{found:?}");
        let mut card = Card::new(None, size, &never);
        let found = pass(&mut card, &job);
        assert_eq!((found.first.wrong(), found.again.all()), (0, 0), "{found:?}");
        assert_eq!(found.rewritten, job.shape.rewrites, "{found:?}");
        assert!(!found.cut_short);
    }
}

/// Such a card retains the pilot's writes too: the first look finds them, and the rewrites determine the border.
#[test]
fn what_the_pilot_left_is_lost_rewrites_and_no_share() {
    let never = |_: Step| None;
    for (size, held_bytes, full) in [
        (33 * MIB, 20 * MIB, true),
        (20 * MIB, 5 * MIB, true),
        (48 * MIB, 48 * MIB - BLOCK, true),
        (300 * MIB, 101 * MIB, false),
        (300 * MIB, 5 * MIB, false),
    ] {
        let store = Store { claimed_bytes: size, held_bytes, lie: Lie::Keeps };
        let job = CapacityJob { shape: CapacityShape::new(size, full), ..job(size, full, LONG) };
        let mut card = Card::new(Some(store), size, &never);
        card.pass = 1;
        probe::costs(&mut card, size).unwrap();
        card.pass = 2;
        let found = pass(&mut card, &job);
        let first = found.first;
        assert!(first.older > 0 && first.wrong() == first.older, "{found:?}");
        assert_eq!(found.again.older, found.again.all(), "{found:?}");
        assert_eq!(found.held_bytes, Some(held_bytes), "{found:?}");
        assert!(found.rewritten > 0, "{found:?}");
        // A card that drops writes drops the pilot's, too.
        let drops = Store { lie: Lie::Drops, ..store };
        let mut card = Card::new(Some(drops), size, &never);
        card.pass = 1;
        probe::costs(&mut card, size).unwrap();
        card.pass = 2;
        let found = pass(&mut card, &job);
        assert_eq!((found.first.older, found.again.older), (0, 0), "{found:?}");
        assert!(found.first.foreign > 0 && found.held_bytes.is_some(), "{found:?}");
    }
}

#[test]
fn what_there_is_no_time_to_write_twice_is_told() {
    let never = |_: Step| None;
    let size = 300 * MIB;
    let shape = CapacityShape::new(size, false);
    let mut card = Card::new(None, size, &never);
    let found = pass(&mut card, &CapacityJob { shape, ..job(size, false, Duration::from_secs(1)) });
    // A fifth of the time for the first writes of a millisecond, and one more for the second.
    assert_eq!((found.rewritten, found.samples), (200, 200), "{found:?}");
    assert!(found.cut_short);
    let mut card = Card::new(None, SIZE, &never);
    let shape = CapacityShape::new(SIZE, true);
    let found =
        pass(&mut card, &CapacityJob { shape, ..job(SIZE, true, Duration::from_millis(14)) });
    assert!(found.rewritten == 0 && found.first.all() > 0, "{found:?}");
}
