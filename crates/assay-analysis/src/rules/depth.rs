//! `low-queue-depth`: fewer operations were in flight than requested.

use assay_core::{catalogue::About, quantity::units::show};
use assay_machine::system::site::TargetKind;
use assay_workloads::command::ImportEvidence;
use assay_workloads::{Basis, io};

use super::evidence::{counted_devices, in_trials, is_simulated};
use super::{Case, Rule, RuleCheck, RuleRemark, emptied, imported::first_objection};

/// Lowest mean share of the requested depth at the device.
const LEAST_SHARE: f64 = 0.5;
/// Runs shorter than this are not judged: the kernel counts whole milliseconds.
const SHORTEST_NS: u64 = 50_000_000;
/// Fewest checks of completed operations for their share to be meaningful.
const FEWEST_CHECKS: u64 = 8;

pub static RULE: Rule = Rule {
    about: About {
        name: "low-queue-depth",
        summary: "the device had far fewer operations in flight than requested",
        text: "The kernel sums the time that requests spend at the device. This sum divided by the run time is the \
               mean queue depth. If it is below half of the requested depth, the number is suspect because it \
               describes a lower queue depth. The same applies if most operations complete before their submission \
               returns. The I/O engine's own count is not evidence. The threshold is 50% because a fast device \
               completes part of its queue immediately. Assay judges all trials together, because CPU delays in one \
               trial can hide the true queue depth. For numbers imported from fio, Assay uses iodepth_level.",
    },
    looks_at: Basis::Operations,
    check: RuleCheck::Custom(judge),
    judge_import,
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let asked = expected_depth(case);
    // On a schedule or with pauses, the depth is only a limit.
    let is_only_a_limit = case.io().is_some_and(|io| io.is_held_back());
    if asked <= 1 || is_only_a_limit || is_simulated(case) {
        return None;
    }
    too_shallow(case, asked).or_else(|| completed_at_submission(case, asked))
}

fn judge_import(runs: &[Vec<ImportEvidence>]) -> Option<RuleRemark> {
    let text = first_objection(runs, |own| match *own {
        ImportEvidence::Depth { requested, reached } => too_shallow_import(requested, reached),
        _ => None,
    });
    text.map(RuleRemark::suspect)
}

/// Why a queue of another tool was not as deep as requested.
fn too_shallow_import(requested: f64, reached: f64) -> Option<String> {
    let [requested_words, reached_words] = [requested, reached].map(show::three_digits);
    if requested <= 1.0 {
        return None;
    }
    let depth = if reached <= 1.0 {
        "1".to_owned()
    } else if reached < LEAST_SHARE * requested {
        format!("at most {reached_words} on average")
    } else {
        return None;
    };
    Some(format!("queue depth was {depth}, {requested_words} requested"))
}

/// The expected queue depth: the requested one, or the smaller one that the plan used.
fn expected_depth(case: &Case<'_>) -> u32 {
    let (asked, used) = (case.workload.work.asked_in_flight(), case.workload.work.in_flight());
    if case.workload.note.is_some() && used < asked { used } else { asked }
}

/// Mean queue depth over all trials: single trials are short, and CPU delays can hide the depth.
fn too_shallow(case: &Case<'_>, asked: u32) -> Option<RuleRemark> {
    // The device's queue includes work of others, and a file system trims and zeroes without a device.
    let is_cleared_by_filesystem = emptied::clears(case) && case.site.kind != TargetKind::Device;
    if case.workload.background.is_some() || is_cleared_by_filesystem {
        return None;
    }
    let (mut weighted_ms, mut submitting_ms) = (0.0, 0.0);
    for trial in case.trials {
        let Some(counted) = trial.measured.as_ref().and_then(io::IoDetail::of) else { continue };
        let Some(device) = counted_devices(case, trial) else { continue };
        if counted.submitting_ns >= SHORTEST_NS {
            weighted_ms += device.run.weighted_ms as f64;
            submitting_ms += counted.submitting_ns as f64 / 1e6;
        }
    }
    // NaN without a trial of sufficient length, which fails the comparison below.
    let in_flight = weighted_ms / submitting_ms;
    let measured = show::three_digits(in_flight);
    let text = format!("queue depth {asked} requested, {measured} measured");
    (in_flight < LEAST_SHARE * f64::from(asked)).then(|| RuleRemark::suspect(text))
}

/// Most operations completed before their submission returned, so the depth was 1. At depth 1, this is normal.
fn completed_at_submission(case: &Case<'_>, asked: u32) -> Option<RuleRemark> {
    if case.io().is_none_or(|io| io.queue_depth <= 1) {
        return None;
    }
    let is_mostly_complete = |detail: &&io::IoDetail| {
        detail.looked_at >= FEWEST_CHECKS && 2 * detail.already_complete > detail.looked_at
    };
    let trials = case.measured().filter_map(io::IoDetail::of).filter(is_mostly_complete).count();
    (trials > 0).then(|| {
        RuleRemark::suspect(format!(
            "queue depth {asked} requested, but operations completed before their submission returned{}: queue depth \
             was 1",
            in_trials(trials, case)
        ))
    })
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_study::findings::Trust;
    use assay_workloads::Background;

    use super::super::testing::{Bench, counted, device};
    use super::*;

    fn weighted(ms: u64) -> Bench {
        Bench::write().each(move |trial| device(trial).run.weighted_ms = ms)
    }

    #[test]
    fn does_not_count_others_work_for_its_own() {
        let bench = weighted(500);
        let work = io::IoPlan::of(&bench.workload.work).unwrap().clone();
        let other = Some(Background { work, note: None });
        let bench = bench.workload(|workload| workload.background = other);
        assert_eq!(bench.judge(&RULE), None);
    }

    #[test]
    fn what_a_file_system_does_without_a_device_is_not_held_against_its_queue() {
        let trims = |kind| {
            let bench = weighted(500).site(move |site| site.kind = kind);
            bench.io(|io| io.mix = "write/50:trim/50".parse().unwrap()).judge(&RULE)
        };
        assert_eq!(trims(TargetKind::Directory), None);
        assert!(trims(TargetKind::Device).is_some());
    }

    #[test]
    fn speaks_when_the_device_had_less_than_half() {
        let remark = weighted(500).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(remark.text, "queue depth 32 requested, 0.5 measured");
    }

    #[test]
    fn speaks_when_completions_are_there_at_once() {
        let bench = Bench::write()
            .each(|trial| trial.evidence.disk = Presence::absent("NFS"))
            .first(1, |trial| counted(trial).already_complete = 900);
        assert_eq!(
            bench.judge(&RULE).unwrap().text,
            "queue depth 32 requested, but operations completed before their submission returned, in 1 of 3 trials: \
             queue depth was 1"
        );
        let few = Bench::write().each(|trial| {
            counted(trial).looked_at = 7;
            counted(trial).already_complete = 7;
        });
        assert_eq!(few.judge(&RULE), None);
    }

    #[test]
    fn threads_with_one_operation_each_overlap() {
        let threads = Bench::write()
            .io(|io| (io.threads, io.queue_depth) = (32, 1))
            .each(|trial| counted(trial).already_complete = counted(trial).looked_at);
        assert_eq!(threads.judge(&RULE), None);
    }

    #[test]
    fn silent_at_half_the_depth_at_depth_one_and_in_short_runs() {
        assert_eq!(weighted(16_000).judge(&RULE), None);
        let one = weighted(500).io(|io| {
            io.queue_depth = 1;
            io.asked_depth = 1;
        });
        assert_eq!(one.judge(&RULE), None);
        let short = weighted(5).each(|trial| counted(trial).submitting_ns = 49_000_000);
        assert_eq!(short.judge(&RULE), None);
        let paced = weighted(5).io(|io| io.arrival_rate = Some("500/s".parse().unwrap()));
        assert_eq!(paced.judge(&RULE), None);
        let simulated = weighted(0).site(|site| site.kind = TargetKind::Simulated);
        assert_eq!(simulated.judge(&RULE), None);
    }

    #[test]
    fn a_depth_that_the_plan_lowered_counts_as_lowered() {
        let lowered = |note: Option<&str>| {
            let note = note.map(str::to_owned);
            weighted(3_000).io(|io| io.queue_depth = 4).workload(|workload| workload.note = note)
        };
        assert_eq!(lowered(Some("depth 4: draining would take too long")).judge(&RULE), None);
        assert!(lowered(None).judge(&RULE).is_some());
    }
}
