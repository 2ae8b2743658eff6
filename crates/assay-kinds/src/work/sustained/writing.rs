//! Slice after slice, until the time is over: the time rules, never the amount.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_base::quantity::Bytes;
use assay_base::quantity::units::show;
use assay_load::{Job, Mix, Pattern};

use super::{Detail, Planned, Retried, course};
use crate::work::io;
use crate::work::measured::{Claims, Count, Measured, Ran};
use crate::work::place::Run;

pub(super) const MIB: u64 = 1 << 20;
pub(super) const DEPTH: u32 = 8;
/// A slice lasts about so long at first: the start of its threads is little of that.
const SLICE_NS: u64 = 250_000_000;
/// The slice that shows how fast it is.
pub(super) const FIRST_BYTES: u64 = 16 * MIB;
const LARGEST_SLICE: u64 = 1 << 30;
/// The whole has so many slices at least: what falls to a hundredth of its rate still has some before and
/// after the fall.
const SLICES: u64 = 256;
/// In less the start of the threads would be seen.
const SMALLEST_SLICE: u64 = 8 * MIB;
/// What was measured is kept so often.
const KEEP_NS: u64 = 5_000_000_000;
/// A slice that the time cut off after so many times as long as the others take.
const HUNG: u64 = 4;
/// Shares of the time, in twentieths: where the rate fell, the rest of it shows why.
const TWENTIETHS: u64 = 20;
const WRITING: u64 = 17;
const AT_ONCE: u64 = 18;
const RESTED: u64 = 19;

/// Bytes of a slice of so many in all, at most.
pub(super) fn most_of_slice(room: u64) -> u64 {
    (room / SLICES / MIB * MIB).clamp(SMALLEST_SLICE, LARGEST_SLICE)
}

/// Writing under way.
struct Writing<'a> {
    planned: &'a Planned,
    run: &'a Run<'a>,
    began_ns: u64,
    limit_ns: u64,
    bytes: u64,
    elapsed_ns: u64,
    cpu_ns: u64,
    stopped: bool,
    /// When what was measured so far was last kept.
    kept_ns: u64,
    detail: Detail,
}

/// Writes until the time is over, or the user stops it.
pub(super) fn run(planned: &Planned, run: &Run<'_>) -> Result<Ran, String> {
    let room = run.medium.area.length / MIB * MIB;
    if room < FIRST_BYTES {
        return Err(format!("{} are too few: 16 MiB at least", Bytes(room)));
    }
    let mut own = Writing {
        planned,
        run,
        began_ns: run.system.monotonic_ns(),
        limit_ns: run.ramp_ns.saturating_add(run.time_ns),
        bytes: 0,
        elapsed_ns: 0,
        cpu_ns: 0,
        stopped: false,
        kept_ns: 0,
        detail: Detail { before_bytes: FIRST_BYTES, ..Detail::default() },
    };
    if let Some(file) = run.medium.file {
        // Room that is set aside is not looked for while it is written; without, it is.
        let area = run.medium.area;
        let _ = assay_load::set_aside(file.as_fd(), &(area.start..area.start + room));
    }
    if let Some(first_ns) = own.slice(FIRST_BYTES, 0)? {
        let wanted = FIRST_BYTES as f64 * SLICE_NS as f64 / first_ns as f64;
        own.detail.slice_bytes = (wanted as u64 / MIB * MIB).clamp(MIB, most_of_slice(room));
        own.laps(room)?;
    }
    Ok(own.ran())
}

impl Writing<'_> {
    /// Nanoseconds that are over: of the clock, or of a simulated drive, whose time passes in none.
    fn spent_ns(&self) -> u64 {
        let passed = self.run.system.monotonic_ns().saturating_sub(self.began_ns);
        passed.max(self.elapsed_ns)
    }

    fn may_go_on(&self, twentieths: u64) -> bool {
        !self.stopped && self.spent_ns() < self.limit_ns / TWENTIETHS * twentieths
    }

    /// Writes lap after lap, and, where the rate fell for good, the beginning once more.
    fn laps(&mut self, room: u64) -> Result<(), String> {
        let place = self.write(room, FIRST_BYTES, WRITING)?;
        let fall = course(&self.detail).and_then(|course| {
            let fall = course.fall()?;
            let (after, first) = (fall.rate_bytes_per_s, course.levels.first()?.rate_bytes_per_s);
            Some((fall.from_bytes, after / first))
        });
        match fall {
            Some((from_bytes, share)) if self.run.medium.law.is_none() => {
                self.retry(from_bytes.min(room), share)
            }
            _ => self.write(room, place, TWENTIETHS).map(drop),
        }
    }

    /// Writes slices up to a share of the time; the place that is next.
    fn write(&mut self, room: u64, from: u64, twentieths: u64) -> Result<u64, String> {
        let (bytes, mut place) = (self.detail.slice_bytes, from);
        while self.may_go_on(twentieths) {
            if place + bytes > room {
                place = 0;
            }
            if let Some(slice_ns) = self.slice(bytes, place)? {
                self.detail.slices_ns.push(slice_ns);
                self.keep();
            }
            place += bytes;
        }
        Ok(place)
    }

    /// Keeps the slices so far, should the program be killed; not after each, as that is written, too.
    fn keep(&mut self) {
        let Some(keep) = self.run.keep else { return };
        let spent_ns = self.spent_ns();
        if spent_ns.saturating_sub(self.kept_ns) < KEEP_NS {
            return;
        }
        self.kept_ns = spent_ns;
        let after = show::duration(spent_ns as f64);
        let ended = Some(format!("the program was ended after {after}, or a little later"));
        keep(&self.measured(Detail { ended, ..self.detail.clone() }));
    }

    /// Writes the places of the beginning once more, at once and after a rest, in slices that take as long
    /// as the first ones did.
    fn retry(&mut self, room: u64, share: f64) -> Result<(), String> {
        let wanted = (self.detail.slice_bytes as f64 * share) as u64 / MIB * MIB;
        let slice_bytes = wanted.clamp(MIB, room.max(MIB));
        let mut retried = Retried { slice_bytes, ..Retried::default() };
        let place = self.retry_until(AT_ONCE, (room, 0), slice_bytes, &mut retried.at_once_ns)?;
        let rest_ns = (self.limit_ns / TWENTIETHS * RESTED).saturating_sub(self.spent_ns());
        if !self.stopped && rest_ns > 0 {
            retried.rest_ns = self.rest(rest_ns);
            let after = &mut retried.rested_ns;
            self.retry_until(TWENTIETHS, (room, place), slice_bytes, after)?;
        }
        self.detail.retried = Some(retried);
        Ok(())
    }

    fn retry_until(
        &mut self,
        twentieths: u64,
        (room, from): (u64, u64),
        bytes: u64,
        into: &mut Vec<u64>,
    ) -> Result<u64, String> {
        let mut place = from;
        while self.may_go_on(twentieths) {
            if place + bytes > room {
                place = 0;
            }
            into.extend(self.slice(bytes, place)?);
            place += bytes;
        }
        Ok(place)
    }

    /// Waits, and looks now and then whether the user stops it; nanoseconds.
    fn rest(&mut self, rest_ns: u64) -> u64 {
        const LOOK_NS: u64 = 200_000_000;
        let began_ns = self.run.system.monotonic_ns();
        let mut passed_ns = 0;
        while passed_ns < rest_ns && !self.stopped {
            self.run.system.sleep(Duration::from_nanos(LOOK_NS.min(rest_ns - passed_ns)));
            self.stopped |= self.run.stop.load(Ordering::Relaxed);
            passed_ns = self.run.system.monotonic_ns().saturating_sub(began_ns);
        }
        passed_ns
    }

    /// Writes a slice at a place; its nanoseconds, or none where it was cut off.
    fn slice(&mut self, bytes: u64, place: u64) -> Result<Option<u64>, String> {
        let run = self.run;
        let start = run.medium.area.start + place;
        let left_ns = self.limit_ns.saturating_sub(self.spent_ns());
        let (area, seed) = (start..start + bytes, run.seed ^ self.bytes);
        let job = Job {
            depth: DEPTH,
            // What is not whole by then says nothing of its rate.
            time: Duration::from_nanos(left_ns.max(1)),
            operations: Some(bytes / MIB),
            ..Job::base(Pattern::Sequential, Mix::WRITES, MIB as u32, area, seed)
        };
        let engine = self.planned.engine;
        let outcome = io::run_job(engine, &job, &run.medium, run.bystanders, run.stop);
        let outcome = outcome.map_err(|error| error.to_string())?;
        let mut slice_ns = outcome.totals.elapsed_ns.max(1);
        if let Some(file) = run.medium.file.filter(|_| self.planned.synced) {
            let began_ns = run.system.monotonic_ns();
            run.system
                .sync_data(file)
                .map_err(|error| format!("a slice cannot be synced: {error}"))?;
            slice_ns += run.system.monotonic_ns().saturating_sub(began_ns);
        }
        self.bytes += outcome.totals.write_bytes;
        self.elapsed_ns += slice_ns;
        self.cpu_ns += outcome.process_cpu_ns;
        self.stopped |= outcome.stopped || run.stop.load(Ordering::Relaxed);
        let is_whole = !outcome.stopped && outcome.totals.write_bytes == bytes;
        let slices = &self.detail.slices_ns;
        let usual_ns = slices.iter().sum::<u64>() / (slices.len() as u64).max(1);
        // The time ends in the middle of a slice; only of one that hung, that is worth telling.
        if !is_whole && !self.stopped && slice_ns > HUNG * usual_ns {
            self.detail.ended = Some(format!(
                "the time cut its last slice off: {} of {} were written in {}",
                Bytes(outcome.totals.write_bytes),
                Bytes(bytes),
                show::duration(slice_ns as f64)
            ));
        }
        Ok(is_whole.then_some(slice_ns))
    }

    fn measured(&self, detail: Detail) -> Measured {
        let write = Count { operations: self.bytes / MIB, bytes: self.bytes };
        Measured {
            window_ns: self.elapsed_ns,
            elapsed_ns: self.elapsed_ns,
            cpu_ns: self.cpu_ns,
            waited_ns: None,
            claims: Claims { read: Count::default(), write },
            values: BTreeMap::new(),
            absent: BTreeMap::new(),
            notes: detail.ended.iter().cloned().collect(),
            detail: detail.into(),
        }
    }

    /// The trial that slices make.
    fn ran(mut self) -> Ran {
        if self.stopped {
            let after = show::duration(self.spent_ns() as f64);
            self.detail.ended = Some(format!("the user stopped it after {after}"));
        }
        Ran {
            measured: self.measured(self.detail.clone()),
            histograms: BTreeMap::new(),
            series: Vec::new(),
            threads_cpu_ns: self.cpu_ns,
            stopped: self.stopped,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    use assay_load::{Bystanders, Law, LawShape};
    use assay_system::system::Fake;

    use super::*;
    use crate::work::Counts as _;
    use crate::work::io::Engine;
    use crate::work::place::{Area, Medium, Programs};

    const SECOND: u64 = 1_000_000_000;

    /// A drive of 64 MiB that takes so long for each MiB, written for some seconds.
    fn written(ns: u64, seconds: u64, stop: bool) -> Ran {
        kept(ns, seconds, stop, None)
    }

    fn kept(ns: u64, seconds: u64, stop: bool, keep: Option<&(dyn Fn(&Measured) + Sync)>) -> Ran {
        let area = Area { start: 0, length: 64 * MIB, asked: 64 * MIB, written: true, fill_ns: 0 };
        let law = Law::new(LawShape::Fixed { ns }, 1).unwrap();
        let medium = Medium { file: None, area, memory_alignment: 4096, law: Some(law) };
        let planned = Planned { engine: Engine::Simulated, bytes: 64 * MIB, synced: false };
        run(
            &planned,
            &Run {
                system: &Fake::new(),
                medium,
                path: Path::new("/dev/x"),
                ramp_ns: 0,
                time_ns: seconds * SECOND,
                seed: 1,
                study_seed: 1,
                caller: None,
                bystanders: &Bystanders::now(),
                stop: &AtomicBool::new(stop),
                lookout: None,
                keep,
                limits: None,
                programs: Programs::NONE,
            },
        )
        .unwrap()
    }

    fn detail(ran: &Ran) -> &Detail {
        Detail::of(&ran.measured).unwrap()
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
            let own = Detail::of(measured).unwrap();
            assert!(own.ended.as_ref().unwrap().starts_with("the program was ended after"));
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
        assert!(detail(&ran).ended.as_ref().unwrap().starts_with("the user stopped it after"));
    }

    #[test]
    fn a_slice_is_a_small_part_of_the_whole_and_none_of_a_moment() {
        assert_eq!(most_of_slice(64 * MIB), SMALLEST_SLICE);
        assert_eq!(most_of_slice(16 << 30), 64 * MIB);
        assert_eq!(most_of_slice(4 << 40), LARGEST_SLICE);
    }
}
