use super::*;

const DEVICE: (u32, u32) = (7, 0);

/// A matcher of one disk with a partition.
fn matcher(bio_based: bool) -> Matcher {
    Matcher::new(&[TracedNumbers { numbers: vec![DEVICE, (259, 3)], bio_based }])
}

/// Counts of events a microsecond apart; each is `name: text`.
fn taken(bio_based: bool, events: &[&str]) -> BlockTotals {
    let mut matcher = matcher(bio_based);
    for (index, event) in events.iter().enumerate() {
        let line = format!("  my (odd) pr-77  [001] d..1.  100.0000{:02}: {event}", index + 10);
        matcher.read_line(&line);
    }
    matcher.totals()
}

fn of(totals: &BlockTotals, class: BlockClass) -> &ClassTotals {
    &totals.devices[0][class as usize]
}

#[test]
fn letters_name_the_class() {
    let class = |text| parse_flags(text).map(|flags| flags.class);
    for (text, expected) in [
        ("R", BlockClass::Read),
        ("RAM", BlockClass::Read),
        ("WS", BlockClass::Write),
        ("WFS", BlockClass::Fua),
        ("FWS", BlockClass::Write),
        ("FWFSM", BlockClass::Fua),
        ("FF", BlockClass::Flush),
        ("F", BlockClass::Flush),
        ("DS", BlockClass::Discard),
        ("DE", BlockClass::Discard),
        ("NS", BlockClass::WriteZeroes),
    ] {
        assert_eq!(class(text), Some(expected), "{text}");
    }
    assert_eq!((class(""), class("?")), (None, None));
}

#[test]
fn a_request_of_linux_6_18_is_counted() {
    let totals = taken(
        false,
        &[
            "block_bio_queue: 7,0 WS 8 + 8 [fio]",
            "block_rq_issue: 7,0 WS 4096 () 8 + 8 none,0,0 [fio]",
            "block_rq_complete: 7,0 WS () 8 + 8 none,0,0 [0]",
        ],
    );
    let write = of(&totals, BlockClass::Write);
    assert_eq!((write.requests, write.failed, write.bytes), (1, 0, 4096));
    assert_eq!((write.queued.sum_ns, write.issued.sum_ns), (2_000, 1_000));
    assert_eq!((totals.unseen_beginnings, totals.lost_events), (0, 0));
}

#[test]
fn a_request_of_linux_5_10_is_counted_and_its_error_seen() {
    let totals = taken(
        false,
        &[
            "block_bio_queue: 7,0 R 8 + 8 [a b]",
            "block_rq_issue: 7,0 R 4096 () 8 + 8 [a b]",
            "block_rq_complete: 7,0 R () 8 + 8 [-5]",
        ],
    );
    let read = of(&totals, BlockClass::Read);
    assert_eq!((read.requests, read.failed), (1, 1));
}

#[test]
fn what_comes_from_a_partition_counts_from_before_it_was_held_back() {
    let totals = taken(
        false,
        &[
            "block_bio_remap: 259,3 R 2056 + 8 <- (259,3) 8",
            "block_bio_queue: 7,0 R 16 + 8 [other]",
            "block_bio_queue: 259,3 R 2056 + 8 [fio]",
            "block_rq_issue: 7,0 R 4096 () 2056 + 8 none,0,0 [fio]",
            "block_rq_complete: 7,0 R () 2056 + 8 none,0,0 [0]",
        ],
    );
    let read = of(&totals, BlockClass::Read);
    assert_eq!((read.requests, read.queued.sum_ns), (1, 4_000));
}

#[test]
fn parts_and_merged_bios_find_their_arrivals() {
    let totals = taken(
        false,
        &[
            "block_bio_queue: 7,0 R 0 + 24 [fio]",
            "block_split: 7,0 R 0 / 16 [fio]",
            "block_bio_queue: 7,0 R 24 + 8 [fio]",
            "block_rq_issue: 7,0 R 8192 () 0 + 16 none,0,0 [fio]",
            // The rest was merged with the next bio.
            "block_rq_issue: 7,0 R 8192 () 16 + 16 none,0,0 [fio]",
            "block_rq_complete: 7,0 R () 0 + 16 none,0,0 [0]",
            "block_rq_complete: 7,0 R () 16 + 16 none,0,0 [0]",
        ],
    );
    let read = of(&totals, BlockClass::Read);
    assert_eq!((read.requests, read.bytes, read.queued.sum_ns), (2, 16384, 11_000));
    assert_eq!(totals.unseen_beginnings, 0);
}

#[test]
fn a_request_that_ends_in_parts_counts_once() {
    let totals = taken(
        false,
        &[
            "block_bio_queue: 7,0 R 0 + 16 [fio]",
            "block_rq_issue: 7,0 R 8192 () 0 + 16 none,0,0 [fio]",
            "block_rq_complete: 7,0 R () 0 + 8 none,0,0 [0]",
            "block_rq_complete: 7,0 R () 8 + 8 none,0,0 [0]",
        ],
    );
    let read = of(&totals, BlockClass::Read);
    assert_eq!((read.requests, read.bytes, read.issued.sum_ns), (1, 8192, 2_000));
}

#[test]
fn flushes_count_and_the_empty_ends_around_them_do_not() {
    let totals = taken(
        false,
        &[
            "block_bio_queue: 7,0 FWS 0 + 0 [fio]",
            "block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [kworker/0:1H]",
            "block_rq_complete: 7,0 FF () 18446744073709551615 + 0 none,0,0 [0]",
            "block_rq_complete: 7,0 WS () 0 + 0 none,0,0 [0]",
        ],
    );
    let flush = of(&totals, BlockClass::Flush);
    assert_eq!((flush.requests, flush.issued.sum_ns), (1, 1_000));
    assert_eq!(of(&totals, BlockClass::Write).requests, 0);
    assert_eq!(totals.unseen_beginnings, 0);
}

#[test]
fn a_write_at_sector_0_does_not_take_the_beginning_of_an_empty_flush() {
    let totals = taken(
        false,
        &[
            "block_bio_queue: 7,0 FWS 0 + 0 [fio]",
            "block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [kworker/0:1H]",
            "block_rq_complete: 7,0 FF () 18446744073709551615 + 0 none,0,0 [0]",
            "block_rq_complete: 7,0 WS () 0 + 0 none,0,0 [0]",
            "block_bio_queue: 7,0 WS 0 + 8 [fio]",
            "block_rq_issue: 7,0 WS 4096 () 0 + 8 none,0,0 [fio]",
            "block_rq_complete: 7,0 WS () 0 + 8 none,0,0 [0]",
        ],
    );
    let write = of(&totals, BlockClass::Write);
    assert_eq!((write.requests, write.queued.sum_ns, write.issued.sum_ns), (1, 2_000, 1_000));
}

#[test]
fn a_flush_of_a_device_without_requests_keeps_its_beginning() {
    let totals = taken(
        true,
        &["block_bio_queue: 7,0 FWS 0 + 0 [fio]", "block_bio_complete: 7,0 FWS 0 + 0 [0]"],
    );
    let flush = of(&totals, BlockClass::Flush);
    assert_eq!((flush.requests, flush.queued.sum_ns), (1, 1_000));
}

#[test]
#[ignore = "nightly: 4 s"]
fn beginnings_that_nobody_takes_are_few_even_at_one_sector() {
    let mut matcher = matcher(false);
    for _ in 0..=MOST_ARRIVALS {
        matcher.read_line("fio-7 [001] d..1. 100.000010: block_bio_queue: 7,0 W 8 + 8 [fio]");
    }
    let arrivals = &matcher.arrivals[&(0, b'W')];
    let kept: usize = arrivals.by_sector.values().map(VecDeque::len).sum();
    assert_eq!((kept, arrivals.count), (1, 1));
}

#[test]
fn what_began_before_is_counted_as_unseen() {
    let totals = taken(false, &["block_rq_complete: 7,0 R () 8 + 8 none,0,0 [0]"]);
    let read = of(&totals, BlockClass::Read);
    assert_eq!((read.requests, totals.unseen_beginnings), (1, 1));
    assert!(read.queued.buckets.iter().all(|count| *count == 0));
}

#[test]
fn bios_count_themselves_where_a_device_makes_no_requests() {
    let events = [
        "block_bio_queue: 7,0 W 8 + 8 [fio]",
        "block_bio_queue: 7,0 W 64 + 8 [fio]",
        "block_bio_complete: 7,0 W 8 + 8 [0]",
        // Used up: the rest begins after it.
        "block_bio_complete: 7,0 W 72 + 0 [0]",
    ];
    let write = |bio_based| of(&taken(bio_based, &events), BlockClass::Write).clone();
    let seen = write(true);
    assert_eq!((seen.requests, seen.bytes, seen.queued.sum_ns), (2, 8192, 4_000));
    assert_eq!(seen.issued.sum_ns, 0);
    assert_eq!(write(false).requests, 0);
}

#[test]
fn what_was_lost_is_told_by_the_trace_and_by_the_rings() {
    let mut matcher = matcher(false);
    matcher.read_line("CPU:1 [LOST 123 EVENTS]");
    matcher.read_line("<...>-9  [001] ..... 5.000001: tracing_mark_write: assay-mark 4");
    assert_eq!((matcher.totals().lost_events, matcher.marks()), (123, 4));
    let stats = "entries: 7\noverrun: 40\ncommit overrun: 2\nbytes: 100\n\
                 oldest event ts:     1.0\nnow ts:     2.0\ndropped events: 1\nread events: 9\n";
    assert_eq!(parse_lost(stats), 43);
}

#[test]
fn other_lines_and_devices_change_nothing() {
    let lines = ["", "x", "block_rq_issue", "a: block_rq_issue: ", "sleep-1 [0] 1.0: block_x: y"];
    let totals = taken(false, &lines);
    assert_eq!(totals.devices[0], DeviceTotals::default());
    let other = taken(false, &["block_rq_complete: 8,0 R () 8 + 8 none,0,0 [0]"]);
    assert_eq!(other.devices[0], DeviceTotals::default());
}
