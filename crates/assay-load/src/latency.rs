//! Records of one thread during the run: histograms, totals, rows per second.
//!
//! Two completions of the closed loop under full load bound the window: it opens with the first completion at or after
//! the end of the ramp and closes with the first one at or after the end of the time. Both are stopping times of the
//! measured process, so operations divided by window has no first-order bias (Wald), however slow the device is; and
//! the last operation in flight, which may be the slowest, counts.
//!
//! In an open loop, intended starts between the ends of ramp and time decide, which depend on the clock only. All of
//! these operations count, even if they end long after the window; earlier ones never count, however late. The rate is
//! their number divided by the requested time, or by the time until the last of them ended: an overloaded drive does
//! not have the requested rate. The backlog of the ramp is excluded from that time.

use std::time::Duration;

use crate::outcome::{LATENCY_BUCKETS, latency_bucket};
use crate::schedule::OVERTIME_PART;
use crate::{Class, ClassOutcome, Job, Pattern, SecondRow, Totals, new_histogram};
use hdrhistogram::Histogram;

const SECOND_NS: u64 = 1_000_000_000;

/// Spare rows for the drain; the series grows only if a device hangs longer.
const SPARE_SECONDS: u64 = 60;
/// The time of a fill may be unlimited, so at most a day of rows is reserved.
const MOST_SECONDS: u64 = 86_400;

/// Maximum number of individually stored samples of a spaced pattern.
const MOST_SAMPLES: u64 = 10_000;
/// Maximum number of random operations per trial with individually stored latencies.
const MOST_RANDOM_SAMPLES: u64 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The ramp: the next completion at or after its end opens the window.
    Ramp,
    Open,
    Closed,
    /// A job with an operation count: all operations count.
    Everything,
    /// An open loop: intended starts decide what counts.
    Intended,
}

struct ClassBook {
    class: Class,
    counted: Histogram<u64>,
    /// Ramp and drain: reported if the window has no operation.
    rest: Histogram<u64>,
    /// The same from intended starts, in an open loop.
    responses: Option<Responses>,
    row: SecondRow,
    operations: u64,
    /// Bytes of all operations, and of the counted ones.
    bytes: u64,
    counted_bytes: u64,
}

/// Response times; those outside of the window are reported if it has none.
struct Responses {
    counted: Histogram<u64>,
    rest: Histogram<u64>,
}

impl ClassBook {
    fn new(class: Class, used: bool, open: bool) -> Self {
        let responses =
            || Responses { counted: touched_histogram(used), rest: touched_histogram(used) };
        Self {
            class,
            responses: open.then(responses),
            counted: touched_histogram(used),
            rest: touched_histogram(used),
            row: empty_row(class),
            operations: 0,
            bytes: 0,
            counted_bytes: 0,
        }
    }

    /// Returns whether the window has a response time, even of an operation never issued.
    fn has_counted_response(&self) -> bool {
        self.responses.as_ref().is_some_and(|book| !book.counted.is_empty())
    }

    /// Returns the counted part, or the rest if no class of the thread has a counted one; `None` if it is empty.
    fn finish(self, has_counted: bool, has_responses: bool) -> Option<ClassOutcome> {
        let (latency_ns, bytes) =
            if has_counted { (self.counted, self.counted_bytes) } else { (self.rest, self.bytes) };
        let response_ns =
            self.responses.map(|all| if has_responses { all.counted } else { all.rest });
        let operations = latency_ns.len();
        // If no operation of a class was issued, it has response times only.
        let has_waited = response_ns.as_ref().is_some_and(|times| !times.is_empty());
        let class = self.class;
        let outcome = ClassOutcome { class, operations, bytes, latency_ns, response_ns };
        (operations > 0 || has_waited).then_some(outcome)
    }
}

fn empty_row(class: Class) -> SecondRow {
    SecondRow {
        second: 0,
        class,
        operations: 0,
        bytes: 0,
        latency_sum_ns: 0,
        latency_max_ns: 0,
        latency_buckets: [0; LATENCY_BUCKETS],
    }
}

/// Returns a histogram with touched pages, so that measurements have no page faults.
pub(crate) fn touched_histogram(used: bool) -> Histogram<u64> {
    let mut histogram = new_histogram();
    if used {
        histogram.reset();
    }
    histogram
}

#[derive(Debug)]
pub(crate) struct ThreadLatencies {
    pub(crate) classes: Vec<ClassOutcome>,
    pub(crate) window_ns: u64,
    pub(crate) series: Vec<SecondRow>,
    /// Total traffic; the stamps below give its time.
    pub(crate) totals: Totals,
    pub(crate) samples: Vec<u64>,
    pub(crate) slice_ends_ns: Vec<u64>,
    /// Stamps of the first submission and the last completion.
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

/// The notes of one thread. Stamps are those of the engine's clock and never go back.
pub(crate) struct Book {
    start: u64,
    ramp_end: u64,
    end: u64,
    phase: Phase,
    counting: bool,
    opened: u64,
    closed: u64,
    first: u64,
    last: u64,
    /// Delay of the first operation in the window of an open loop, and whether one was never issued.
    first_behind: Option<u64>,
    has_unissued: bool,
    /// The current second and the stamp at which it ends.
    second: u32,
    second_end: u64,
    classes: [ClassBook; Class::ALL.len()],
    series: Vec<SecondRow>,
    /// Latencies of the first operations, in order.
    samples: Vec<u64>,
    samples_left: u64,
    /// Operations per slice; 0 without slices.
    slice: u64,
    /// No slice begins after this time.
    slices_end: u64,
    in_slice: u64,
    slice_ends_ns: Vec<u64>,
}

fn slice_count(job: &Job) -> u64 {
    job.operations.zip(job.slices).map_or(0, |(all, slices)| all / slices.operations.max(1))
}

/// Number of operations whose latencies are stored one by one.
fn sample_count(job: &Job) -> u64 {
    match job.pattern {
        Pattern::Spaced => job.operations.unwrap_or(0).min(MOST_SAMPLES),
        // With queue depth 1, operations end in the order drawn, so each latency has its place.
        Pattern::Random if job.threads == 1 && job.depth == 1 => {
            job.operations.filter(|all| *all <= MOST_RANDOM_SAMPLES).unwrap_or(0)
        }
        Pattern::Sequential | Pattern::Random | Pattern::Stride => 0,
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Book {
    /// Allocates everything that the run will need.
    pub(crate) fn new(job: &Job) -> Self {
        let ramp = nanoseconds(job.ramp);
        let seconds = ramp.saturating_add(nanoseconds(job.time)) / SECOND_NS;
        let used = Class::ALL.into_iter().filter(|class| job.has(*class)).count() as u64;
        let rows = used.max(2) * (seconds + SPARE_SECONDS).min(MOST_SECONDS);
        Self {
            start: 0,
            ramp_end: ramp,
            end: ramp.saturating_add(nanoseconds(job.time)),
            phase: match job.operations {
                Some(_) => Phase::Everything,
                None if job.is_open() => Phase::Intended,
                None if ramp == 0 => Phase::Open,
                None => Phase::Ramp,
            },
            counting: false,
            opened: 0,
            closed: 0,
            first: 0,
            last: 0,
            first_behind: None,
            has_unissued: false,
            second: 0,
            second_end: SECOND_NS,
            classes: Class::ALL.map(|class| ClassBook::new(class, job.has(class), job.is_open())),
            series: Vec::with_capacity(rows as usize),
            samples: Vec::with_capacity(sample_count(job) as usize),
            samples_left: sample_count(job),
            slice: job.slices.map_or(0, |slices| slices.operations),
            slices_end: job.slices.map_or(u64::MAX, |slices| nanoseconds(slices.begun_within)),
            in_slice: 0,
            slice_ends_ns: Vec::with_capacity(slice_count(job) as usize),
        }
    }

    /// Sets the start common to all threads and this thread's first submission.
    pub(crate) fn begin(&mut self, start: u64, first: u64) {
        self.start = start;
        self.ramp_end = self.ramp_end.saturating_add(start);
        self.end = self.end.saturating_add(start);
        self.slices_end = self.slices_end.saturating_add(first);
        self.second_end = start.saturating_add(SECOND_NS);
        (self.first, self.opened, self.closed, self.last) = (first, first, first, first);
        if self.phase == Phase::Intended {
            (self.opened, self.closed) = (self.ramp_end, self.ramp_end);
        }
    }

    #[inline]
    pub(crate) fn is_counting(&self) -> bool {
        self.counting
    }

    /// Returns whether an operation counts, by its intended start.
    #[inline]
    pub(crate) fn is_in_window(&self, intended: u64) -> bool {
        self.phase == Phase::Everything || (self.ramp_end..self.end).contains(&intended)
    }

    /// Open loop: sets the intended start of the next record.
    #[inline]
    pub(crate) fn set_intended(&mut self, intended: u64) {
        self.counting = self.is_in_window(intended);
        if self.counting {
            self.closed = self.closed.max(self.last);
        }
    }

    /// Open loop: records the delay of an issued operation in the window.
    #[inline]
    pub(crate) fn issue(&mut self, behind_ns: u64) {
        self.first_behind.get_or_insert(behind_ns);
    }

    /// Notes the response time of the operation that was chosen.
    #[inline]
    pub(crate) fn respond(&mut self, class: Class, response_ns: u64) {
        let counting = self.counting;
        if let Some(responses) = &mut self.classes[class as usize].responses {
            let to = if counting { &mut responses.counted } else { &mut responses.rest };
            to.saturating_record(response_ns);
        }
    }

    /// Notes that an operation which belongs to the window was never issued, and how long it had waited.
    pub(crate) fn respond_at_least(&mut self, class: Class, waited_ns: u64) {
        self.counting = true;
        self.has_unissued = true;
        self.respond(class, waited_ns);
    }

    /// Open loop: no operation is scheduled after this time.
    pub(crate) fn cut(&mut self, stamp: u64) {
        self.end = self.end.min(stamp);
    }

    #[inline]
    pub(crate) fn is_over(&self, stamp: u64) -> bool {
        stamp >= self.end
    }

    /// Returns whether a time is later than the end plus the overtime.
    pub(crate) fn is_long_over(&self, stamp: u64) -> bool {
        let whole = self.end.saturating_sub(self.start);
        stamp > self.end.saturating_add(whole / OVERTIME_PART)
    }

    /// Returns whether no slice begins after this time.
    #[inline]
    pub(crate) fn is_past_slices(&self, stamp: u64) -> bool {
        stamp >= self.slices_end
    }

    /// Operations missing from the last slice, after `begun` in total.
    #[cold]
    pub(crate) fn rest_of_slice(&self, begun: u64) -> u64 {
        begun.next_multiple_of(self.slice.max(1)) - begun
    }

    /// Advances to the stamp of the completions recorded next, and decides whether they count.
    #[inline]
    pub(crate) fn advance_to(&mut self, stamp: u64) {
        self.last = stamp;
        if stamp >= self.second_end {
            self.store_second(stamp);
        }
        match self.phase {
            Phase::Ramp => {
                if stamp >= self.ramp_end {
                    self.opened = stamp;
                    self.closed = stamp;
                    self.phase = self.phase_at(stamp);
                }
            }
            Phase::Open => {
                self.counting = true;
                self.closed = stamp;
                self.phase = self.phase_at(stamp);
            }
            Phase::Closed => self.counting = false,
            Phase::Intended => {}
            Phase::Everything => {
                self.counting = true;
                self.closed = stamp;
            }
        }
    }

    #[inline]
    fn phase_at(&self, stamp: u64) -> Phase {
        if self.is_over(stamp) { Phase::Closed } else { Phase::Open }
    }

    /// Records several operations of the same class, size and latency that ended at the last stamp.
    #[inline]
    pub(crate) fn record_alike(&mut self, class: Class, bytes: u32, latency_ns: u64, count: u32) {
        let book = &mut self.classes[class as usize];
        let operations = u64::from(count);
        let bytes = u64::from(bytes) * operations;
        if self.counting {
            book.counted.saturating_record_n(latency_ns, operations);
            book.counted_bytes += bytes;
        } else {
            book.rest.saturating_record_n(latency_ns, operations);
        }
        book.operations += operations;
        book.bytes += bytes;
        book.row.operations += operations;
        book.row.bytes += bytes;
        let latencies_ns = latency_ns.saturating_mul(operations);
        book.row.latency_sum_ns = book.row.latency_sum_ns.saturating_add(latencies_ns);
        book.row.latency_max_ns = book.row.latency_max_ns.max(latency_ns);
        book.row.latency_buckets[latency_bucket(latency_ns)] += count;
        if self.samples_left > 0 {
            let kept = self.samples_left.min(operations);
            self.samples_left -= kept;
            self.samples.extend(std::iter::repeat_n(latency_ns, kept as usize));
        }
        if self.slice > 0 {
            self.in_slice += operations;
            while self.in_slice >= self.slice {
                self.in_slice -= self.slice;
                self.slice_ends_ns.push(self.last - self.first);
            }
        }
    }

    /// Ends the window early: later completions are drain.
    pub(crate) fn close(&mut self) {
        if !matches!(self.phase, Phase::Everything | Phase::Intended) {
            self.phase = Phase::Closed;
        }
    }

    /// Stores the rows of the current second and advances to that of `stamp`.
    #[cold]
    fn store_second(&mut self, stamp: u64) {
        for book in &mut self.classes {
            if book.row.operations > 0 {
                book.row.second = self.second;
                self.series.push(book.row.clone());
                book.row = empty_row(book.class);
            }
        }
        let second = (stamp - self.start) / SECOND_NS;
        self.second = u32::try_from(second).unwrap_or(u32::MAX);
        self.second_end = self.start.saturating_add((second + 1).saturating_mul(SECOND_NS));
    }

    /// Time in which an open loop served the counted operations. A backlog of the ramp shortens it; without delay it is
    /// the requested time, even if the last operation ended earlier.
    fn open_loop_ns(&self, has_counted: bool) -> u64 {
        let (opened, closed, backlog_ns) = if has_counted {
            (self.opened, self.closed, self.first_behind.unwrap_or(0))
        } else {
            (self.first, self.last, 0)
        };
        let took = closed.saturating_sub(opened).saturating_sub(backlog_ns);
        if self.has_unissued { took } else { took.max(self.end.saturating_sub(opened)) }
    }

    /// Returns the counted operations, or all of them if the window has none.
    pub(crate) fn finish(mut self) -> ThreadLatencies {
        self.store_second(self.last);
        let has_counted = self.classes.iter().any(|book| !book.counted.is_empty());
        let has_responses = self.classes.iter().any(ClassBook::has_counted_response);
        let window_ns = if self.phase == Phase::Intended {
            self.open_loop_ns(has_counted)
        } else if has_counted {
            self.closed - self.opened
        } else {
            self.last - self.first
        };
        let totals = self.totals();
        let classes = self.classes.into_iter();
        ThreadLatencies {
            classes: classes.filter_map(|book| book.finish(has_counted, has_responses)).collect(),
            window_ns,
            series: self.series,
            totals,
            samples: self.samples,
            slice_ends_ns: self.slice_ends_ns,
            first_ns: self.first,
            last_ns: self.last,
        }
    }

    /// Total traffic; a rewrite is a read and a write.
    fn totals(&self) -> Totals {
        let [reads, writes, rewrites, trims, zeroings, flushes] =
            self.classes.each_ref().map(|book| (book.operations, book.bytes));
        Totals {
            read_operations: reads.0 + rewrites.0,
            read_bytes: reads.1 + rewrites.1,
            write_operations: writes.0 + rewrites.0,
            write_bytes: writes.1 + rewrites.1,
            trim_operations: trims.0,
            trim_bytes: trims.1,
            zero_operations: zeroings.0,
            zero_bytes: zeroings.1,
            flush_operations: flushes.0,
            ..Totals::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::job;
    use crate::{Arrivals, Mix, Schedule, Slices};

    impl Book {
        fn record(&mut self, class: Class, bytes: u32, latency_ns: u64) {
            self.record_alike(class, bytes, latency_ns, 1);
        }
    }

    fn timed(ramp_ns: u64, time_ns: u64) -> Job {
        Job { ramp: Duration::from_nanos(ramp_ns), time: Duration::from_nanos(time_ns), ..job() }
    }

    /// One read per stamp from a start at 1000; the driver's rule of draining is not at work here.
    fn found(job: &Job, stamps: &[u64]) -> ThreadLatencies {
        let mut book = Book::new(job);
        book.begin(1000, 1000);
        for stamp in stamps {
            book.advance_to(1000 + stamp);
            book.record(Class::Read, 4096, 7);
        }
        book.finish()
    }

    fn counted(found: &ThreadLatencies) -> u64 {
        found.classes.iter().map(|class| class.operations).sum()
    }

    #[test]
    fn window_lies_between_two_completions() {
        let found = found(&timed(100, 200), &[40, 90, 130, 180, 299, 310, 320]);
        // Opens at 130 (not counted), closes at 310 (counted).
        assert_eq!((counted(&found), found.window_ns), (3, 180));
        assert_eq!(found.totals.read_operations, 7);
        assert_eq!((found.first_ns, found.last_ns), (1000, 1320));
    }

    #[test]
    fn completions_with_the_opening_stamp_are_not_counted() {
        let mut book = Book::new(&timed(100, 200));
        book.begin(0, 0);
        for (stamp, operations) in [(150, 3), (200, 2), (300, 4), (310, 5)] {
            book.advance_to(stamp);
            (0..operations).for_each(|_| book.record(Class::Read, 4096, 7));
        }
        let found = book.finish();
        assert_eq!((counted(&found), found.window_ns), (6, 150));
    }

    #[test]
    fn without_a_ramp_the_window_opens_at_the_first_submission() {
        let found = found(&timed(0, 100), &[40, 90, 130, 140]);
        assert_eq!((counted(&found), found.window_ns), (3, 130));
    }

    #[test]
    fn a_device_slower_than_the_window_counts_everything() {
        let found = found(&timed(10, 10), &[500, 900]);
        assert_eq!((counted(&found), found.window_ns), (2, 900));
    }

    #[test]
    fn an_operation_count_counts_ramp_and_drain() {
        let job = Job { operations: Some(3), ..timed(100, 100) };
        let found = found(&job, &[50, 150, 250]);
        assert_eq!((counted(&found), found.window_ns), (3, 250));
    }

    #[test]
    fn an_early_end_leaves_the_drain_out() {
        let mut book = Book::new(&timed(0, 1000));
        book.begin(0, 0);
        for stamp in [100, 200] {
            book.advance_to(stamp);
            book.record(Class::Read, 4096, 7);
        }
        book.close();
        book.advance_to(300);
        book.record(Class::Read, 4096, 7);
        let found = book.finish();
        assert_eq!((counted(&found), found.window_ns), (2, 200));
    }

    /// An open loop of reads, each with its intended start and its end after a start at 1000.
    fn answered(job: &Job, operations: &[(u64, u64)]) -> ThreadLatencies {
        let schedule = Some(Schedule { rate_per_s: 1, arrivals: Arrivals::Fixed });
        let mut book = Book::new(&Job { schedule, ..job.clone() });
        book.begin(1000, 1000);
        for (intended, end) in operations {
            book.advance_to(1000 + end);
            book.set_intended(1000 + intended);
            book.respond(Class::Read, end - intended);
            book.record(Class::Read, 4096, 7);
        }
        book.finish()
    }

    #[test]
    fn an_open_loop_counts_by_intended_starts_and_all_of_them() {
        let all = [(0, 40), (99, 310), (100, 320), (299, 900), (300, 910)];
        let found = answered(&timed(100, 200), &all);
        // Intended starts from 100 to 300; the window lasts until the last of them ended.
        assert_eq!((counted(&found), found.window_ns), (2, 800));
        let responses = found.classes[0].response_ns.as_ref().unwrap();
        assert_eq!((responses.len(), responses.min(), responses.max()), (2, 220, 601));
        assert_eq!(found.totals.read_operations, 5);
        // A drive that reaches the rate has a window of the requested time.
        assert_eq!(answered(&timed(100, 200), &[(100, 120), (290, 295)]).window_ns, 200);
    }

    #[test]
    fn what_was_left_of_the_ramp_is_no_time_of_the_window() {
        let schedule = Some(Schedule { rate_per_s: 1, arrivals: Arrivals::Fixed });
        let late = |behind_ns, has_unissued| {
            let mut book = Book::new(&Job { schedule, ..timed(100, 200) });
            book.begin(1000, 1000);
            for (intended, end) in [(1100, 1440), (1200, 1500)] {
                book.issue(behind_ns);
                book.advance_to(end);
                book.set_intended(intended);
                book.record(Class::Read, 4096, 7);
            }
            if has_unissued {
                book.respond_at_least(Class::Read, 90);
            }
            book.finish().window_ns
        };
        // From 100 to 500, minus the delay of the first one.
        assert_eq!((late(0, false), late(150, false), late(150, true)), (400, 250, 250));
        // Without a backlog the window is the whole time; with one, the busy time.
        assert_eq!((late(300, false), late(300, true)), (200, 100));
    }

    #[test]
    fn where_nothing_of_the_window_was_issued_the_ramp_tells_the_rate() {
        let schedule = Some(Schedule { rate_per_s: 1, arrivals: Arrivals::Fixed });
        let mut book = Book::new(&Job { schedule, ..timed(100, 200) });
        book.begin(1000, 1000);
        for end in [1150, 1290] {
            book.advance_to(end);
            book.set_intended(1000);
            book.respond(Class::Read, end - 1000);
            book.record(Class::Read, 4096, 7);
        }
        book.respond_at_least(Class::Read, 190);
        let found = book.finish();
        assert_eq!((counted(&found), found.window_ns), (2, 290));
        // Response times are still those of the window.
        let responses = found.classes[0].response_ns.as_ref().unwrap();
        assert_eq!((responses.len(), responses.max()), (1, 190));
    }

    #[test]
    fn a_schedule_without_a_start_in_the_window_counts_everything() {
        let found = answered(&timed(100, 200), &[(0, 40), (50, 90)]);
        // By the whole schedule, because no more was requested.
        assert_eq!((counted(&found), found.window_ns), (2, 300));
        assert_eq!(found.classes[0].response_ns.as_ref().unwrap().len(), 2);
    }

    #[test]
    fn what_was_never_issued_stands_among_the_responses_and_is_no_operation() {
        let schedule = Some(Schedule { rate_per_s: 1, arrivals: Arrivals::Fixed });
        let mut book = Book::new(&Job { schedule, ..timed(0, 100) });
        book.begin(0, 0);
        book.advance_to(50);
        book.set_intended(10);
        book.respond(Class::Read, 40);
        book.record(Class::Read, 4096, 7);
        book.respond_at_least(Class::Read, 90);
        let found = book.finish();
        let class = &found.classes[0];
        assert_eq!((class.operations, class.latency_ns.len()), (1, 1));
        assert_eq!(class.response_ns.as_ref().unwrap().len(), 2);
    }

    #[test]
    fn a_closed_loop_has_no_response_times() {
        let found = found(&timed(0, 100), &[40, 90]);
        assert!(found.classes.iter().all(|class| class.response_ns.is_none()));
    }

    #[test]
    fn rows_hold_all_completions_by_second_and_class() {
        let job = Job { mix: Mix::Shares { read_percent: 50 }, ..timed(SECOND_NS, SECOND_NS) };
        let mut book = Book::new(&job);
        book.begin(50, 50);
        for (stamp, class, latency) in [
            (0, Class::Write, 5),
            (SECOND_NS - 1, Class::Read, 6),
            (SECOND_NS - 1, Class::Read, 8),
            (3 * SECOND_NS, Class::Write, 9),
        ] {
            book.advance_to(50 + stamp);
            book.record(class, 4096, latency);
        }
        let row = |second, class, operations, latency_sum_ns, latency_max_ns| SecondRow {
            second,
            class,
            operations,
            bytes: operations * 4096,
            latency_sum_ns,
            latency_max_ns,
            // Latencies below 256 ns, all of them.
            latency_buckets: std::array::from_fn(|bucket| match bucket {
                0 => operations as u32,
                _ => 0,
            }),
        };
        let expected = [
            row(0, Class::Read, 2, 14, 8),
            row(0, Class::Write, 1, 5, 5),
            row(3, Class::Write, 1, 9, 9),
        ];
        assert_eq!(book.finish().series, expected);
    }

    #[test]
    fn a_rewrite_counts_once_and_moves_its_block_twice() {
        let mut book = Book::new(&Job { mix: Mix::Rewrite, ..timed(0, 100) });
        book.begin(0, 0);
        for stamp in [60, 120] {
            book.advance_to(stamp);
            book.record(Class::Rewrite, 4096, 60);
        }
        let found = book.finish();
        assert_eq!((counted(&found), found.classes[0].bytes), (2, 2 * 4096));
        let totals = found.totals;
        assert_eq!((totals.read_bytes, totals.write_bytes), (2 * 4096, 2 * 4096));
        assert_eq!((totals.read_operations, totals.write_operations), (2, 2));
    }

    #[test]
    fn bytes_are_those_of_each_operation_in_window_rows_and_totals() {
        let mut book = Book::new(&timed(100, 200));
        book.begin(0, 0);
        for (stamp, bytes) in [(50, 512), (150, 4096), (200, 8192), (310, 65_536), (320, 1 << 20)] {
            book.advance_to(stamp);
            book.record(Class::Read, bytes, 7);
        }
        let found = book.finish();
        // Opens at 150 (not counted) and closes at 310 (counted).
        assert_eq!((counted(&found), found.classes[0].bytes), (2, 8192 + 65_536));
        let all = 512 + 4096 + 8192 + 65_536 + (1 << 20);
        assert_eq!((found.totals.read_bytes, found.series[0].bytes), (all, all));
    }

    #[test]
    fn trims_and_zeroing_are_counted_apart_and_move_nothing() {
        let mix = "read/20:trim/40:zero/40".parse().unwrap();
        let mut book = Book::new(&Job { mix, ..timed(0, 100) });
        book.begin(0, 0);
        for (stamp, class) in [(10, Class::Trim), (20, Class::Zero), (120, Class::Trim)] {
            book.advance_to(stamp);
            book.record(class, 4096, stamp);
        }
        let found = book.finish();
        let counts: Vec<_> =
            found.classes.iter().map(|own| (own.class, own.operations, own.bytes)).collect();
        assert_eq!(counts, [(Class::Trim, 2, 2 * 4096), (Class::Zero, 1, 4096)]);
        let totals = found.totals;
        assert_eq!((totals.trim_operations, totals.trim_bytes), (2, 2 * 4096));
        assert_eq!((totals.zero_operations, totals.zero_bytes), (1, 4096));
        assert_eq!((totals.read_bytes, totals.write_bytes), (0, 0));
    }

    #[test]
    fn the_end_of_each_slice_is_noted_and_of_what_has_none_nothing() {
        let ends = |slices| {
            let job = Job { slices, operations: Some(5), ..timed(0, 100) };
            found(&job, &[40, 90, 130, 130, 180]).slice_ends_ns
        };
        let of = |operations| Some(Slices { operations, begun_within: Duration::MAX });
        assert_eq!(ends(of(2)), [90, 130], "the last one is not whole");
        assert_eq!(ends(of(1)), [40, 90, 130, 130, 180]);
        assert!(ends(of(6)).is_empty() && ends(None).is_empty());
    }

    #[test]
    fn what_is_alike_is_noted_at_once_as_one_by_one() {
        let found = |parts: &[u32]| {
            let slices = Some(Slices { operations: 3, begun_within: Duration::MAX });
            let pattern = Pattern::Random;
            let mut book =
                Book::new(&Job { pattern, slices, operations: Some(10), ..timed(0, 100) });
            book.begin(0, 0);
            for stamp in [40, 90] {
                book.advance_to(stamp);
                for count in parts {
                    book.record_alike(Class::Read, 4096, 300 + stamp, *count);
                }
            }
            book.finish()
        };
        let (at_once, one_by_one) = (found(&[5]), found(&[1; 5]));
        assert_eq!(at_once.series, one_by_one.series);
        assert_eq!(at_once.series[0].latency_sum_ns, 5 * 340 + 5 * 390);
        assert_eq!(at_once.totals, one_by_one.totals);
        assert_eq!(at_once.samples, [340, 340, 340, 340, 340, 390, 390, 390, 390, 390]);
        assert_eq!(at_once.samples, one_by_one.samples);
        assert_eq!(at_once.slice_ends_ns, [40, 90, 90]);
        assert_eq!(at_once.slice_ends_ns, one_by_one.slice_ends_ns);
        let of = |found: &ThreadLatencies| {
            let own = &found.classes[0];
            (own.operations, own.bytes, own.latency_ns.clone())
        };
        assert_eq!(of(&at_once), of(&one_by_one));
        assert_eq!(counted(&at_once), 10);
    }

    #[test]
    fn samples_are_kept_where_each_has_its_place_and_no_more_than_the_most() {
        let kept = |pattern, operations| {
            let job = Job { pattern, operations: Some(operations), ..timed(0, 100) };
            found(&job, &vec![9; operations as usize]).samples
        };
        assert_eq!(kept(Pattern::Spaced, 3), [7, 7, 7]);
        assert_eq!(kept(Pattern::Spaced, MOST_SAMPLES + 5).len() as u64, MOST_SAMPLES);
        assert_eq!(kept(Pattern::Random, 3), [7, 7, 7]);
        assert!(kept(Pattern::Random, MOST_RANDOM_SAMPLES + 1).is_empty());
        let deep = Job { pattern: Pattern::Random, operations: Some(3), depth: 2, ..timed(0, 100) };
        assert!(found(&deep, &[9; 3]).samples.is_empty());
    }
}
