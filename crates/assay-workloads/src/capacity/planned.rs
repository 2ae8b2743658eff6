//! The plan of a capacity check.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_core::quantity::units::show;
use assay_load::{BLOCK_BYTES, CapacityJob, CapacityOutcome, CapacityShape, capacity};
use assay_machine::system::between::Between;
use serde::{Deserialize, Serialize};

use super::{CHECKED, CLAIMED, CapacityDetail, Finding, HELD, TOUCH, WRONG, judge_check};
use crate::measured::{Claims, Count, Measured, RunResult};
use crate::place::Run;
use crate::workload::{ManualCommand, ManualRun, PlannedWork, Touch};

/// Assumed costs without a pilot, for a good and a poor card: 1 MiB in one piece, and a block.
const SUPPOSED: [(&str, (u64, u64)); 2] = [
    ("80 MB/s and 1 ms per block", (13_107_200, 1_000_000)),
    ("10 MB/s and 10 ms per block", (104_857_600, 10_000_000)),
];
const MIB: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityPlan {
    pub full: bool,
    pub bytes: u64,
    /// A cache that may serve reads; not recorded by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
}

impl CapacityPlan {
    fn shape(&self) -> CapacityShape {
        CapacityShape::new(self.bytes, self.full)
    }

    pub fn judge_check(&self, detail: &CapacityDetail) -> Finding {
        judge_check(detail, self.between.as_ref())
    }
}

pub(super) fn capacity_job(run: &Run<'_>, shape: CapacityShape, time_ns: u64) -> CapacityJob {
    let area = run.medium.area;
    let end = area.start + super::whole_blocks(area.length);
    let time = Duration::from_nanos(time_ns);
    CapacityJob { area: area.start..end, shape, time, seed: run.seed, run: run.study_seed }
}

/// Nanoseconds of a whole check, from the times of 1 MiB and of a block.
pub(super) fn whole_ns(shape: &CapacityShape, piece_ns: u64, block_ns: u64) -> u64 {
    let (bytes, blocks) = shape.costs();
    (bytes / MIB).saturating_mul(piece_ns).saturating_add(blocks.saturating_mul(block_ns))
}

/// Pieces of 1 MiB and single blocks of a whole check.
pub(super) fn count_steps(shape: &CapacityShape) -> u64 {
    let (bytes, blocks) = shape.costs();
    (bytes / MIB + blocks).max(1)
}

/// Duration of checks over this many bytes on a good and a poor card.
fn duration_words(bytes: u64) -> String {
    let range = |full: bool| {
        let shape = CapacityShape::new(bytes, full);
        let times_ns =
            SUPPOSED.map(|(_, (piece_ns, block_ns))| whole_ns(&shape, piece_ns, block_ns));
        times_ns.map(|ns| show::duration(ns as f64)).join(" to ")
    };
    let [good, poor] = SUPPOSED.map(|(words, _)| words);
    if CapacityShape::new(bytes, false).full {
        return format!("about {} ({good}; {poor})", range(true));
    }
    format!("fast: about {}, full: about {} ({good}; {poor})", range(false), range(true))
}

impl PlannedWork for CapacityPlan {
    fn words(&self) -> String {
        let (shape, whole) = (self.shape(), show::bytes(self.bytes));
        let how = if shape.full {
            format!("writes every block of {whole}, then reads all blocks, some of them twice")
        } else {
            format!(
                "writes {} blocks of {whole} twice (one per stretch), then {} at the start, and then reads all blocks",
                show::count(shape.samples),
                show::bytes(shape.zone_bytes)
            )
        };
        format!("{how}; {}", duration_words(self.bytes))
    }

    fn touches(&self) -> Touch {
        TOUCH
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        let job = capacity_job(run, self.shape(), run.time_ns);
        let outcome = capacity(&job, &run.medium.target(), run.medium.law.as_ref(), run.stop)?;
        if outcome.first.all() == 0 && !outcome.stopped {
            return Err("the trial ended before Assay could read back a block".to_owned());
        }
        let in_free_space = run.medium.file.is_some() && !run.is_on_device();
        Ok(run_result(self, CapacityDetail { outcome, in_free_space }))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        HELD.name
    }

    fn most_bytes(&self, _: f64) -> f64 {
        let (bytes, blocks) = self.shape().costs();
        (bytes + blocks * BLOCK_BYTES) as f64
    }

    fn ends_by_time(&self) -> bool {
        false
    }

    fn expected_ns(&self, pilot_ns: u64) -> Option<u64> {
        let shape = self.shape();
        if pilot_ns > 0 {
            return Some(count_steps(&shape).saturating_mul(pilot_ns));
        }
        // Without a pilot, expect the poor card.
        let [_, (_, (piece_ns, block_ns))] = SUPPOSED;
        Some(whole_ns(&shape, piece_ns, block_ns))
    }

    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand {
        let words = if self.full {
            vec!["f3write", how.path]
        } else {
            vec!["f3probe", "--destructive", "--time-ops", how.path]
        };
        let remarks = [
            "f3probe needs a device and assumes that addresses wrap around at a power of two",
            "f3write fills a mounted filesystem; f3read then verifies it",
        ];
        ManualCommand::new(&words, &remarks)
    }
}

/// Returns the result of a check, with the usable capacity or why it is unknown.
fn run_result(planned: &CapacityPlan, detail: CapacityDetail) -> RunResult {
    let outcome = &detail.outcome;
    let finding = planned.judge_check(&detail);
    let (mut values, mut absent) = (BTreeMap::new(), BTreeMap::new());
    values.insert(CLAIMED.name.to_owned(), outcome.claimed_bytes as f64);
    values.insert(CHECKED.name.to_owned(), outcome.first.all() as f64);
    values.insert(WRONG.name.to_owned(), outcome.first.wrong() as f64);
    match finding.usable() {
        Ok(bytes) => drop(values.insert(HELD.name.to_owned(), bytes)),
        Err(reason) => drop(absent.insert(HELD.name.to_owned(), reason)),
    }
    let count = |(bytes, operations): (u64, u64)| Count { operations, bytes };
    let CapacityOutcome { written, read, elapsed_ns, stopped, .. } = *outcome;
    RunResult::new(
        Measured {
            window_ns: elapsed_ns,
            elapsed_ns,
            claims: Claims { read: count(read), write: count(written), ..Claims::default() },
            values,
            absent,
            notes: outcome.note.iter().cloned().collect(),
            ..Measured::from_detail(detail)
        },
        stopped,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Area;

    fn planned(full: bool, bytes: u64) -> CapacityPlan {
        CapacityPlan { full, bytes, between: Some(Between::Nothing) }
    }

    #[test]
    fn a_terabyte_is_minutes_fast_and_hours_in_full() {
        let words = planned(false, 1_000_000_000_000).words();
        let fast = words.split("fast: about ").nth(1).unwrap().split(',').next().unwrap();
        assert!(fast.contains("min") && !fast.contains(" h"), "{words}");
        let full = words.split("full: about ").nth(1).unwrap();
        assert!(full.contains(" h") || full.contains(" d"), "{words}");
    }

    #[test]
    fn what_is_small_is_written_whole() {
        let words = planned(false, 64 << 20).words();
        assert!(words.starts_with("writes every block of 64 MiB"), "{words}");
    }

    use assay_core::quantity::Time;
    use assay_load::{Law, LawShape, Lie, Store};
    use assay_machine::system::Fake;

    use super::super::{CapacityMode, CapacitySpec, FAST_BOUND, FULL_BOUND};
    use crate::testing::{self, area};
    use crate::workload::WorkloadSpec as _;

    const GIB: u64 = 1 << 30;

    fn on<T>(area: Area, law: &Law, stop: bool, with: impl FnOnce(&Run<'_>) -> T) -> T {
        let fake = Fake::new();
        let on = testing::run_on(&fake, area, Some(*law));
        with(&Run { time_ns: 1000 * 1_000_000_000, stop: testing::stop(stop), ..on })
    }

    fn law(ns: u64, held_bytes: Option<u64>) -> Law {
        let store = held_bytes.map(|held_bytes| Store {
            claimed_bytes: 8 << 20,
            held_bytes,
            lie: Lie::Drops,
        });
        Law { store, ..Law::new(LawShape::Fixed { ns }, 1).unwrap() }
    }

    #[test]
    fn a_pass_takes_what_its_pieces_and_its_blocks_take() {
        let full = planned(true, 64 << 20);
        // 64 MiB are written and read, and written again around blocks that are written twice: 0.1 s each on a poor
        // card.
        assert_eq!(full.expected_ns(0), Some(192 * 104_857_600 + 2 * 512 * 10_000_000));
        assert_eq!(full.expected_ns(5), Some((192 + 2 * 512) * 5));
        let fast = planned(false, 64 * GIB);
        let blocks = 3 * 2048 + 512;
        assert_eq!(fast.expected_ns(0), Some(128 * 104_857_600 + blocks * 10_000_000));
        assert_eq!(fast.expected_ns(7), Some((128 + blocks) * 7));
        assert_eq!(whole_ns(&CapacityShape::new(64 * GIB, false), 3, 2), 128 * 3 + blocks * 2);
        assert_eq!(count_steps(&CapacityShape::new(0, true)), 1, "none is a step");
        assert_eq!(count_steps(&CapacityShape::new(64 * GIB, false)), 128 + blocks);
        assert!(!fast.ends_by_time() && fast.primary(&|_| true) == HELD.name);
        assert!(!crate::WorkPlan::from(fast).is_of_speed());
    }

    #[test]
    fn a_look_is_a_trial_with_what_it_counted() {
        let planned = planned(true, 8 << 20);
        let ran =
            on(area((8 << 20) + 77, true), &law(1_000_000, None), false, |run| planned.run(run));
        let ran = ran.unwrap();
        let value = |name: &str| ran.measured.values.get(name).copied();
        assert_eq!(value("capacity_announced_bytes"), Some(8_388_608.0));
        assert_eq!(value("capacity_usable_bytes"), Some(8_388_608.0));
        assert_eq!(value("capacity_checked_blocks"), Some(2048.0));
        assert_eq!(value("capacity_wrong_blocks"), Some(0.0));
        let claims = &ran.measured.claims;
        // All of it, 512 blocks again, and all of it in between.
        let (own, blocks) = (8 << 20, 512 * 4096);
        assert_eq!((claims.write.operations, claims.write.bytes), (16 + 512, 2 * own + blocks));
        assert_eq!((claims.read.operations, claims.read.bytes), (8 + 512, own + blocks));
        let steps = (16 + 8 + 2 * 512) * 1_000_000;
        assert_eq!((ran.measured.elapsed_ns, ran.measured.window_ns), (steps, steps));
        assert_eq!(ran.measured.operations(), 2048);
        assert!(!ran.stopped && ran.measured.absent.is_empty());
        let lies =
            on(area(8 << 20, true), &law(1_000_000, Some(2 << 20)), false, |run| planned.run(run));
        let lies = lies.unwrap().measured.values;
        assert_eq!(lies["capacity_usable_bytes"], 2_097_152.0);
        assert_eq!(lies["capacity_wrong_blocks"], 1536.0);
        let stopped = on(area(8 << 20, true), &law(1, None), true, |run| planned.run(run)).unwrap();
        assert!(stopped.stopped);
        // A block that takes longer than the whole time gives no result.
        let slow = on(area(8 << 20, true), &law(u64::MAX / 4, None), false, |run| planned.run(run));
        assert!(slow.unwrap_err().contains("before Assay could read back a block"));
    }

    #[test]
    fn a_pilot_tells_what_a_step_takes() {
        let asked = |full| CapacitySpec {
            mode: if full { CapacityMode::Full } else { CapacityMode::Fast },
            runtime: None,
        };
        let pilot = |ns, full, written| {
            on(area(64 << 20, written), &law(ns, None), false, |run| asked(full).pilot(run))
        };
        assert_eq!(pilot(1_000_000, true, true), Ok(Some(1_000_000)));
        assert_eq!(pilot(1, false, true), Ok(Some(1)), "never nothing");
        assert_eq!(pilot(1_000_000, true, false), Ok(None), "nothing may be written");
    }

    #[test]
    fn a_look_has_its_time_and_a_quick_one_is_fast() {
        let settled = |probe, time| {
            let mut own = CapacitySpec { mode: probe, runtime: time };
            own.settle();
            own.runtime
        };
        assert_eq!(settled(CapacityMode::Fast, None), Some(Time(600_000_000_000)));
        assert_eq!(settled(CapacityMode::Full, None), Some(Time(30 * 24 * 3600 * 1_000_000_000)));
        assert_eq!(settled(CapacityMode::Full, Some(Time(5))), Some(Time(5)));
        let hurried = |time| {
            let mut own = CapacitySpec { mode: CapacityMode::Full, runtime: time };
            own.make_quick(None);
            (own.mode, own.runtime)
        };
        assert_eq!(hurried(None), (CapacityMode::Fast, Some(FAST_BOUND)));
        assert_eq!(hurried(Some(Time(5))), (CapacityMode::Fast, Some(Time(5))));
        assert_eq!(hurried(Some(FULL_BOUND)), (CapacityMode::Fast, Some(FAST_BOUND)));
        assert_eq!(CapacityMode::find("full"), Some(CapacityMode::Full));
        assert_eq!((CapacityMode::find("half"), CapacityMode::Fast.name()), (None, "fast"));
    }

    #[test]
    fn costs_are_those_of_the_same_probe() {
        let work = |probe| crate::Work::from(CapacitySpec { mode: probe, runtime: None });
        let own = CapacitySpec { mode: CapacityMode::Fast, runtime: Some(Time(1)) };
        assert!(
            own.costs_like(&work(CapacityMode::Fast)) && !own.costs_like(&work(CapacityMode::Full))
        );
        assert!(
            own.words().starts_with("writes a sample")
                && CapacitySpec { mode: CapacityMode::Full, runtime: None }
                    .words()
                    .starts_with("writes every")
        );
        assert_eq!(super::super::whole_blocks(4096 * 3 + 4095), 4096 * 3);
        assert_eq!(super::super::whole_blocks(4095), 0);
    }

    #[test]
    fn by_hand_it_is_f3() {
        let line = |full| {
            let planned = planned(full, GIB);
            let how = testing::manual_run("capacity", "/dev/x");
            planned.by_hand(&ManualRun { area: area(GIB, true), ..how })
        };
        assert_eq!(line(true).words, ["f3write", "/dev/x"]);
        assert_eq!(line(false).words, ["f3probe", "--destructive", "--time-ops", "/dev/x"]);
        assert_eq!(line(true).remarks.len(), 2);
    }
}
