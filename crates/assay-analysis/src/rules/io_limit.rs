//! `io-limit`: the number shows a control group's limit, not the drive.

use assay_core::{catalogue::About, quantity::units::show};
use assay_machine::system::io_limits::{Counted, IoLimit};
use assay_study::results::record::{Traffic, Trial};
use assay_workloads::Basis;

use super::evidence::{in_trials, seconds};
use super::{Case, MOVED, Rule, RuleCheck, RuleRemark};

/// From this share of a limit on, the limit determines the rate.
const NEAR: f64 = 0.8;

pub static RULE: Rule = Rule {
    about: About {
        name: "io-limit",
        summary: "the workload reached an I/O limit of a control group",
        text: "Control groups can limit bytes and requests per second of a device: `io.max` (version 2, also set by \
               containers and systemd) and `blkio.throttle.*` (version 1). If a device of the target reached at least \
               80% of such a limit in a trial, the row is invalid because it measures the limit. Assay reports the \
               limit and its file. The threshold is 80% because the kernel applies limits in time slices.",
    },
    looks_at: Basis::Medium,
    changes: MOVED,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    for limit in &case.site.limits {
        let is_of_row = match limit.counted {
            Counted::ReadBytes | Counted::Reads => case.workload.reads(),
            Counted::WrittenBytes | Counted::Writes => case.workload.writes(),
        };
        let rates = case.trials.iter().filter_map(|trial| rate_of_limited_device(limit, trial));
        let hit = rates.filter(|rate| *rate >= NEAR * limit.per_s as f64).count();
        if is_of_row && hit > 0 {
            return Some(RuleRemark::invalid(format!(
                "the row measures a limit, not the drive: {} allows {} for {}{}",
                limit.place.display(),
                limit_words(limit),
                limit.device,
                in_trials(hit, case)
            )));
        }
    }
    None
}

fn limit_words(limit: &IoLimit) -> String {
    let rate = show::rate(limit.per_s as f64);
    let count = show::count(limit.per_s);
    match limit.counted {
        Counted::ReadBytes => format!("reads of {rate}"),
        Counted::WrittenBytes => format!("writes of {rate}"),
        Counted::Reads => format!("{count} reads per second"),
        Counted::Writes => format!("{count} writes per second"),
    }
}

/// The rate of the limited device in a trial, in the unit of the limit; without counters, by the trial's claims.
fn rate_of_limited_device(limit: &IoLimit, trial: &Trial) -> Option<f64> {
    let top = trial.evidence.disk.value().and_then(|all| all.get(&limit.device));
    let below = trial.evidence.members.value().and_then(|all| all.get(&limit.device));
    let (elapsed_ns, claims) = (trial.measured.as_ref()?.elapsed_ns, trial.claims());
    let claimed = Traffic {
        span_ns: elapsed_ns,
        reads: claims.read.operations,
        read_bytes: claims.read.bytes,
        writes: claims.write.operations,
        write_bytes: claims.write.bytes,
        ..Traffic::default()
    };
    let run = top.or(below).map_or(claimed, |device| device.run);
    let moved = match limit.counted {
        Counted::ReadBytes => run.read_bytes,
        Counted::WrittenBytes => run.write_bytes,
        Counted::Reads => run.reads,
        Counted::Writes => run.writes,
    };
    (run.span_ns > 0).then(|| moved as f64 / seconds(run.span_ns))
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_study::findings::Trust;

    use super::super::testing::{Bench, MOVED, device};
    use super::*;

    fn limited(bench: Bench, counted: Counted, per_s: u64) -> Bench {
        bench.site(|site| {
            let place = "/sys/fs/cgroup/box/io.max".into();
            site.limits = vec![IoLimit { device: "sda".to_owned(), counted, per_s, place }];
        })
    }

    /// The bench's trials move this many bytes per second.
    #[test]
    fn a_reached_limit_is_named_with_its_place() {
        let bench = limited(Bench::write(), Counted::WrittenBytes, MOVED);
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Invalid);
        assert_eq!(
            remark.text,
            "the row measures a limit, not the drive: /sys/fs/cgroup/box/io.max allows writes of 64 MiB/s for sda"
        );
    }

    #[test]
    fn requests_are_limited_as_well() {
        let bench = Bench::read().first(1, |trial| device(trial).run.reads = 95);
        let remark = limited(bench, Counted::Reads, 100).judge(&RULE).unwrap();
        assert!(remark.text.ends_with("allows 100 reads per second for sda, in 1 of 3 trials"));
    }

    #[test]
    fn limits_that_are_not_reached_are_silent() {
        let wide = |bench| limited(bench, Counted::ReadBytes, MOVED * 100 / 79).judge(&RULE);
        assert_eq!(wide(Bench::read()), None);
        let near = limited(Bench::read(), Counted::ReadBytes, MOVED * 100 / 81);
        assert!(near.judge(&RULE).is_some());
        assert_eq!(Bench::read().judge(&RULE), None);
    }

    #[test]
    fn limits_of_the_other_direction_are_silent() {
        let read = limited(Bench::read(), Counted::WrittenBytes, 1);
        assert_eq!(read.judge(&RULE), None);
        assert!(limited(Bench::mixed(), Counted::WrittenBytes, MOVED).judge(&RULE).is_some());
    }

    #[test]
    fn claims_count_where_the_device_has_no_counters() {
        let untold = Bench::read().each(|trial| trial.evidence.disk = Presence::absent("a test"));
        assert!(limited(untold, Counted::ReadBytes, MOVED).judge(&RULE).is_some());
    }
}
