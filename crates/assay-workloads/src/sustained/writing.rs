//! Writes slices until the time is over: the time decides, never the amount.
//!
//! A drive that rests between slices can free cache space, and looks too fast. Therefore, a job of about 1 s writes
//! consecutive slices; the time between two jobs (creating threads and rings, storing results) counts as rest.

use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_core::quantity::Bytes;
use assay_core::quantity::units::show;
use assay_load::{Job, Mix, Pattern, Slices};

use super::{Retried, SustainedDetail, SustainedPlan, course};
use crate::measured::RunResult;
use crate::phases::{PhaseRecord, PhaseRunner};
use crate::place::Run;

pub(super) const MIB: u64 = 1 << 20;
pub(super) const DEPTH: u32 = 8;
/// Initial duration of a slice: long compared with the start of its threads.
const SLICE_NS: u64 = 250_000_000;
pub(super) const FIRST_BYTES: u64 = 16 * MIB;
const LARGEST_SLICE: u64 = 1 << 30;
/// After a drop to 1% of the rate, there are still slices on both sides.
const SLICES: u64 = 256;
/// All bytes in flight: with less, several slices would complete at once.
const SMALLEST_SLICE: u64 = DEPTH as u64 * MIB;
/// Duration of a job with consecutive slices: long compared with the time between jobs.
const JOB_NS: u64 = 1_000_000_000;
const MOST_IN_A_ROW: u64 = 4096;
const KEEP_NS: u64 = 5_000_000_000;
/// A slice that the time limit cut off counts as hung beyond this multiple of the mean duration.
const HUNG: u64 = 4;
/// Shares of the time, in twentieths: after a drop, the rest is for its cause.
const TWENTIETHS: u64 = 20;
const WRITING: u64 = 17;
const AT_ONCE: u64 = 18;
const RESTED: u64 = 19;

/// Maximum bytes of a slice for a total of this many bytes.
fn most_of_slice(room: u64) -> u64 {
    in_pieces(room / SLICES).clamp(SMALLEST_SLICE, LARGEST_SLICE)
}

/// Rounded down to the bytes in flight, or below that to whole operations.
fn in_pieces(bytes: u64) -> u64 {
    let piece = if bytes < SMALLEST_SLICE { MIB } else { SMALLEST_SLICE };
    bytes / piece * piece
}

/// Offsets of slices of `bytes` in a range of `room` bytes: one after the other, then from the beginning again.
struct SliceWalk {
    room: u64,
    bytes: u64,
    place: u64,
}

impl SliceWalk {
    /// Takes up to `wanted` consecutive slices, without moving past them; returns their range and number.
    fn next(&mut self, wanted: u64) -> (Range<u64>, u64) {
        if self.place + self.bytes > self.room {
            self.place = 0;
        }
        let left = self.slices_left();
        // From the beginning, a job may write the whole range several times.
        let slices = if self.place == 0 { wanted } else { wanted.min(left) };
        (self.place..self.place + slices.min(left) * self.bytes, slices)
    }

    fn slices_left(&self) -> u64 {
        ((self.room - self.place) / self.bytes).max(1)
    }

    /// Moves past the written slices; a job from the beginning may have written several passes.
    fn advance(&mut self, written: u64) {
        let after = if self.place == 0 { written % self.slices_left() } else { written };
        self.place += after * self.bytes;
    }
}

struct WrittenSlices {
    /// Nanoseconds of each complete slice.
    slices_ns: Vec<u64>,
    /// Nanoseconds since the end of the previous job without writes.
    rest_ns: u64,
}

fn durations(ends_ns: &[u64]) -> Vec<u64> {
    let begins = std::iter::once(0).chain(ends_ns.iter().copied());
    ends_ns.iter().zip(begins).map(|(end, begin)| (end - begin).max(1)).collect()
}

impl PhaseRecord for SustainedDetail {
    fn end_reason(&mut self) -> &mut Option<String> {
        &mut self.ended
    }
}

struct SustainedWriter<'a> {
    planned: &'a SustainedPlan,
    phases: PhaseRunner<'a>,
    ended_ns: u64,
    mib_ns: u64,
    /// Time of the last stored intermediate result.
    kept_ns: u64,
    detail: SustainedDetail,
}

/// Writes until the time is over, or the user stops.
pub(super) fn run(planned: &SustainedPlan, run: &Run<'_>) -> Result<RunResult, String> {
    let room = run.medium.area.length / MIB * MIB;
    if room < FIRST_BYTES {
        return Err(format!("{} is too small; the minimum is 16 MiB", Bytes(room)));
    }
    let mut writer = SustainedWriter {
        planned,
        phases: PhaseRunner::new(run, planned.engine),
        ended_ns: run.system.monotonic_ns(),
        mib_ns: 0,
        kept_ns: 0,
        detail: SustainedDetail {
            before_bytes: FIRST_BYTES,
            rests_ns: Some(0),
            ..SustainedDetail::default()
        },
    };
    if let Some(file) = run.medium.file {
        // Preallocation avoids block allocation during writes; it is optional.
        let area = run.medium.area;
        let _ = assay_load::set_aside(file.as_fd(), &(area.start..area.start + room));
    }
    let first = writer.run_job(0..FIRST_BYTES, FIRST_BYTES, 1, JOB_NS)?;
    if let Some(first_ns) = first.slices_ns.first() {
        // At the rate of this first job, a slice should take SLICE_NS.
        let wanted = FIRST_BYTES as f64 * SLICE_NS as f64 / *first_ns as f64;
        writer.detail.slice_bytes = in_pieces(wanted as u64).clamp(MIB, most_of_slice(room));
        writer.write_and_retry(room)?;
    }
    Ok(writer.phases.finish(writer.detail))
}

impl SustainedWriter<'_> {
    fn has_time(&self, twentieths: u64) -> bool {
        !self.phases.stopped && self.phases.spent_ns() < self.phases.end_ns(twentieths)
    }

    /// Writes for most of the time; then, after a permanent drop, writes the beginning again to find the cause.
    fn write_and_retry(&mut self, room: u64) -> Result<(), String> {
        let place = self.write_until(room, FIRST_BYTES, WRITING)?;
        // A simulated drive cannot rest.
        let course = course(&self.detail).filter(|_| self.phases.run.medium.law.is_none());
        if let Some(course) = course
            && let (Some(first), Some(fall)) = (course.levels.first(), course.fall())
        {
            let share = fall.rate_bytes_per_s / first.rate_bytes_per_s;
            return self.retry(fall.from_bytes.min(room), share);
        }
        self.write_until(room, place, TWENTIETHS).map(drop)
    }

    /// Writes slices from offset `from`, until this many twentieths of the time; returns the next offset.
    fn write_until(&mut self, room: u64, from: u64, twentieths: u64) -> Result<u64, String> {
        let mut walk = SliceWalk { room, bytes: self.detail.slice_bytes, place: from };
        while self.has_time(twentieths) {
            let until_ns = self.phases.end_ns(twentieths).min(self.kept_ns.saturating_add(KEEP_NS));
            let written = self.write_slices(&mut walk, until_ns)?;
            if !written.slices_ns.is_empty() {
                self.detail.rests_ns = Some(self.detail.rests_ns.unwrap_or(0) + written.rest_ns);
                self.detail.slices_ns.extend(written.slices_ns);
                self.checkpoint();
            }
        }
        Ok(walk.place)
    }

    /// Stores the slices so far, in case of an abort; not after each one, because storing writes, too.
    fn checkpoint(&mut self) {
        let spent_ns = self.phases.spent_ns();
        if spent_ns.saturating_sub(self.kept_ns) < KEEP_NS {
            return;
        }
        self.kept_ns = spent_ns;
        self.phases.checkpoint(&self.detail, " or slightly later");
    }

    /// Writes the beginning again, immediately and after a rest; slices shrink to `share`, the part of the rate left.
    fn retry(&mut self, room: u64, share: f64) -> Result<(), String> {
        let wanted = in_pieces((self.detail.slice_bytes as f64 * share) as u64);
        let slice_bytes = wanted.clamp(MIB, room.max(MIB));
        let mut walk = SliceWalk { room, bytes: slice_bytes, place: 0 };
        let at_once_ns = self.rewrite(&mut walk, AT_ONCE)?;
        let mut retried = Retried { slice_bytes, at_once_ns, ..Retried::default() };
        let rest_ns = self.phases.end_ns(RESTED).saturating_sub(self.phases.spent_ns());
        if !self.phases.stopped && rest_ns > 0 {
            retried.rest_ns = self.phases.idle(rest_ns);
            retried.rested_ns = self.rewrite(&mut walk, TWENTIETHS)?;
        }
        self.detail.retried = Some(retried);
        Ok(())
    }

    /// Rewrites slices until this share of the time has passed; returns the nanoseconds of each.
    fn rewrite(&mut self, walk: &mut SliceWalk, twentieths: u64) -> Result<Vec<u64>, String> {
        let mut slices_ns = Vec::new();
        while self.has_time(twentieths) {
            slices_ns.extend(self.write_slices(walk, self.phases.end_ns(twentieths))?.slices_ns);
        }
        Ok(slices_ns)
    }

    /// Writes consecutive slices until about that time, as many as one job takes.
    fn write_slices(
        &mut self,
        walk: &mut SliceWalk,
        until_ns: u64,
    ) -> Result<WrittenSlices, String> {
        let within_ns = until_ns.saturating_sub(self.phases.spent_ns()).min(JOB_NS);
        let (part, slices) = walk.next(self.slices_per_job(walk.bytes, within_ns));
        let written = self.run_job(part, walk.bytes, slices, within_ns)?;
        walk.advance(written.slices_ns.len() as u64);
        Ok(written)
    }

    /// Slices per job: one if each is synced or several are in flight.
    fn slices_per_job(&self, bytes: u64, within_ns: u64) -> u64 {
        if self.planned.synced || bytes < SMALLEST_SLICE {
            return 1;
        }
        let slice_ns = self.mib_ns.saturating_mul(bytes / MIB).max(1);
        within_ns.div_ceil(slice_ns).clamp(1, MOST_IN_A_ROW)
    }

    /// Writes up to `slices` slices of `bytes` in `part`; none starts after `within_ns`. Returns the complete ones.
    fn run_job(
        &mut self,
        part: Range<u64>,
        bytes: u64,
        slices: u64,
        within_ns: u64,
    ) -> Result<WrittenSlices, String> {
        let run = self.phases.run;
        let operations_per_slice = bytes / MIB;
        let start = run.medium.area.start;
        let area = start + part.start..start + part.end;
        // Each job starts after more bytes, so no two jobs write the same data.
        let seed = run.seed ^ self.phases.claims.write.bytes;
        let job = Job {
            depth: DEPTH,
            // Not only `within_ns`: an incomplete slice does not show its rate.
            time: Duration::from_nanos(self.phases.left_ns().max(1)),
            operations: Some(slices * operations_per_slice),
            slices: Some(Slices {
                operations: operations_per_slice,
                begun_within: Duration::from_nanos(within_ns),
            }),
            ..Job::base(Pattern::Sequential, Mix::WRITES, MIB as u32, area, seed)
        };
        let outcome = self.phases.run_job(&job)?;
        let sync_ns = self.sync()?;
        let busy_ns = (outcome.totals.elapsed_ns + sync_ns).max(1);
        let mut slices_ns = durations(&outcome.slice_ends_ns);
        if let Some(last_ns) = slices_ns.last_mut() {
            *last_ns += sync_ns;
        }
        let written = outcome.totals.write_bytes;
        self.phases.elapsed_ns += busy_ns - outcome.totals.elapsed_ns;
        self.phases.window_ns = self.phases.elapsed_ns;
        self.phases.stopped |= run.stop.load(Ordering::Relaxed);
        self.mib_ns = busy_ns / (written / MIB).max(1);
        let now_ns = run.system.monotonic_ns();
        // A simulated drive has no time between jobs.
        let is_simulated = run.medium.law.is_some();
        let passed_ns = if is_simulated { 0 } else { now_ns.saturating_sub(self.ended_ns) };
        self.ended_ns = now_ns;
        let cut_bytes = written - slices_ns.len() as u64 * bytes;
        if cut_bytes > 0 && !self.phases.stopped {
            let cut_ns = busy_ns - slices_ns.iter().sum::<u64>().min(busy_ns);
            self.note_hung_slice(cut_bytes, bytes, cut_ns, &slices_ns);
        }
        Ok(WrittenSlices { slices_ns, rest_ns: passed_ns.saturating_sub(busy_ns) })
    }

    /// Syncs the writes if they use the page cache; returns nanoseconds.
    fn sync(&self) -> Result<u64, String> {
        let run = self.phases.run;
        let Some(file) = run.medium.file.filter(|_| self.planned.synced) else { return Ok(0) };
        let began_ns = run.system.monotonic_ns();
        run.system.sync_data(file).map_err(|error| format!("cannot sync a slice: {error}"))?;
        Ok(run.system.monotonic_ns().saturating_sub(began_ns))
    }

    /// Notes that the trial ended within a slice, after `cut_ns`, if this hung, compared with all complete slices.
    fn note_hung_slice(&mut self, written: u64, bytes: u64, cut_ns: u64, of_job_ns: &[u64]) {
        let complete_ns = [self.detail.slices_ns.as_slice(), of_job_ns].concat();
        let mean_ns = complete_ns.iter().sum::<u64>() / (complete_ns.len() as u64).max(1);
        if cut_ns > HUNG * mean_ns {
            self.detail.ended = Some(format!(
                "the trial ended within the last slice: {} of {} were written in {}",
                Bytes(written),
                Bytes(bytes),
                show::duration(cut_ns as f64)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_load::{Law, LawShape};
    use assay_machine::system::Fake;

    use super::*;
    use crate::io::Engine;
    use crate::measured::Measured;
    use crate::{Counts as _, testing};

    const SECOND: u64 = 1_000_000_000;

    /// A 64 MiB drive with this time per MiB, written for some seconds.
    fn written(ns: u64, seconds: u64, stop: bool) -> RunResult {
        kept(ns, seconds, stop, None)
    }

    fn kept(
        ns: u64,
        seconds: u64,
        stop: bool,
        keep: Option<&(dyn Fn(&Measured) + Sync)>,
    ) -> RunResult {
        let law = Law::new(LawShape::Fixed { ns }, 1).ok();
        let planned = SustainedPlan { engine: Engine::Simulated, bytes: 64 * MIB, synced: false };
        let time_ns = seconds * SECOND;
        let fake = Fake::new();
        let on = testing::run_on(&fake, testing::area(64 * MIB, true), law);
        run(&planned, &Run { time_ns, stop: testing::stop(stop), keep, ..on }).unwrap()
    }

    fn detail(ran: &RunResult) -> &SustainedDetail {
        SustainedDetail::of(&ran.measured).unwrap()
    }

    #[test]
    fn the_time_ends_it_and_all_slices_are_kept() {
        let ran = written(20_000_000, 10, false);
        let own = detail(&ran);
        assert!(ran.measured.elapsed_ns < 11 * SECOND, "{}", ran.measured.elapsed_ns);
        assert!(own.slices_ns.len() > 10 && own.keeps_what_it_has(), "{own:?}");
        let whole = FIRST_BYTES + own.slices_ns.len() as u64 * own.slice_bytes;
        let bytes = ran.measured.claims.write.bytes;
        assert!((whole..whole + own.slice_bytes).contains(&bytes), "{bytes}, {own:?}");
        assert_eq!((own.ended.as_deref(), &own.retried, ran.stopped), (None, &None, false));
    }

    #[test]
    fn a_drive_slower_than_the_time_has_no_slice_and_ends_with_it() {
        let ran = written(2 * SECOND, 3, false);
        assert!(detail(&ran).slices_ns.is_empty() && !detail(&ran).keeps_what_it_has());
        assert!(ran.measured.elapsed_ns <= (3 + 8 * 2) * SECOND, "{}", ran.measured.elapsed_ns);
        assert_eq!(course(detail(&ran)), None);
    }

    #[test]
    fn what_was_measured_is_kept_as_it_comes() {
        let seen = std::sync::Mutex::new(Vec::new());
        let keep = |measured: &Measured| {
            let own = SustainedDetail::of(measured).unwrap();
            assert!(own.ended.as_ref().unwrap().starts_with("Assay was killed after"));
            seen.lock().unwrap().push((own.slices_ns.clone(), measured.claims.write.bytes));
        };
        let ran = kept(20_000_000, 22, false, Some(&keep));
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.len(), 4, "each five seconds");
        let whole = &detail(&ran).slices_ns;
        assert!(seen.iter().all(|(slices, _)| whole.starts_with(slices)), "{seen:?}");
        assert!(seen.windows(2).all(|pair| pair[0].0.len() < pair[1].0.len()));
    }

    #[test]
    fn a_stop_is_told() {
        let ran = written(20_000_000, 10, true);
        assert!(ran.stopped && ran.measured.elapsed_ns < SECOND);
        assert!(detail(&ran).ended.as_ref().unwrap().starts_with("the user stopped the trial"));
    }

    #[test]
    fn slices_follow_each_other_in_one_job_and_go_round() {
        let mut walk = SliceWalk { room: 100, bytes: 8, place: 16 };
        // Ten fit after the offset, and the rest at the end is not a slice.
        let mut next = |wanted: u64, written: u64| {
            let found = walk.next(wanted);
            walk.advance(written);
            found
        };
        assert_eq!(next(4, 4), (16..48, 4));
        // It became slow: four of six were written.
        assert_eq!(next(99, 4), (48..96, 6));
        assert_eq!(next(99, 2), (80..96, 2));
        // Twelve fit in total: two passes and one more.
        assert_eq!(next(25, 25), (0..96, 25));
        assert_eq!(next(1, 1), (8..16, 1));
        assert_eq!(walk.place, 16);
        let mut whole = SliceWalk { room: 96, bytes: 8, place: 96 };
        assert_eq!(whole.next(24), (0..96, 24));
        whole.advance(24);
        assert_eq!((whole.next(3), whole.place), ((0..24, 3), 0));
        whole.advance(3);
        assert_eq!(whole.place, 24);
        assert_eq!(durations(&[5, 9, 9]), [5, 4, 1]);
        assert!(durations(&[]).is_empty());
    }

    #[test]
    fn no_rest_is_told_of_a_simulated_drive() {
        let ran = written(20_000_000, 10, false);
        assert_eq!(detail(&ran).rests_ns, Some(0));
    }

    #[test]
    fn a_slice_is_a_small_part_of_the_whole_and_none_of_a_moment() {
        assert_eq!(most_of_slice(64 * MIB), SMALLEST_SLICE);
        assert_eq!(most_of_slice(16 << 30), 64 * MIB);
        assert_eq!(most_of_slice(4 << 40), LARGEST_SLICE);
        assert_eq!([7 * MIB + 5, 8 * MIB, 31 * MIB].map(in_pieces), [7 * MIB, 8 * MIB, 24 * MIB]);
    }
}
