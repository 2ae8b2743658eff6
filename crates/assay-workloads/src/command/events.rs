//! Counters of runs besides their times: page faults, context switches, and CPU counters.

use crate::metrics::lower;
use assay_core::{presence::Presence, quantity::Metric};
use assay_machine::system::Executed;
use assay_machine::system::execute::{Counting, Happened};

/// From this share of the time on, a count is considered complete.
const COMPLETE_SHARE: f64 = 0.99;

// Reads from storage depend on caches, not on clock rates.
const MINOR_FAULTS: Metric = lower("minor_faults", "minor page faults",
    "page faults without storage reads of a run and its children, mean of a trial's runs, excluding the shell",
)
.traffic();
const MAJOR_FAULTS: Metric = lower("major_faults", "major page faults",
    "page faults with storage reads of a run and its children, mean of a trial's runs, excluding the shell",
)
.traffic()
.may_be_zero();

// Context switches depend on speeds and on other programs; so do cycles and cache misses.
const VOLUNTARY: Metric = lower("voluntary_switches", "voluntary switches",
    "voluntary context switches of a run and its children, mean of a trial's runs, excluding the shell",
)
.may_be_zero();
const INVOLUNTARY: Metric = lower("involuntary_switches", "involuntary switches",
    "involuntary context switches of a run and its children, mean of a trial's runs, excluding the shell",
)
.may_be_zero();
const INSTRUCTIONS: Metric = lower(
    "instructions",
    "instructions",
    "instructions of a run and its children, mean of a trial's runs, excluding the shell",
)
.traffic();
const CYCLES: Metric = lower(
    "cycles",
    "CPU cycles",
    "CPU cycles of a run and its children, mean of a trial's runs, excluding the shell",
);
const CACHE_MISSES: Metric = lower(
    "cache_misses",
    "cache misses",
    "CPU cache misses (usually last-level) of a run and its children, mean of a trial's runs, excluding the shell",
);

pub(super) const METRICS: &[Metric] =
    &[MINOR_FAULTS, MAJOR_FAULTS, VOLUNTARY, INVOLUNTARY, INSTRUCTIONS, CYCLES, CACHE_MISSES];

/// Why trials of older versions lack a metric.
pub(super) fn missing_in_old_result(metric: &str) -> Option<String> {
    let is_event = METRICS.iter().any(|known| known.name == metric);
    is_event.then(|| "not counted by the Assay version that ran the trial".to_owned())
}

/// The sum of an amount over all runs; absent if a run lacks it.
pub(super) type Sum = Option<Presence<u64>>;

pub(super) fn add(sum: &mut Sum, amount: &Presence<u64>) {
    let so_far = sum.take().unwrap_or(Presence::Present(0));
    *sum = Some(so_far.both(amount, |sum, amount| sum.saturating_add(*amount)));
}

#[derive(Default)]
pub(super) struct Events {
    runs: u64,
    happened: Happened,
    instructions: Sum,
    cycles: Sum,
    cache_misses: Sum,
    how: Option<Counting>,
}

impl Events {
    pub(super) fn add(&mut self, executed: &Executed) {
        self.runs += 1;
        self.happened = self.happened.plus(executed.happened);
        let counted = &executed.counted;
        add(&mut self.instructions, &counted.instructions);
        add(&mut self.cycles, &counted.cycles);
        add(&mut self.cache_misses, &counted.cache_misses);
        self.how = worse_counting(self.how, counted.how);
    }

    /// Means per run, without those of the shell alone.
    pub(super) fn per_run(&self, shell: &Self) -> [(Metric, Presence<f64>); 7] {
        // The means come from different runs, so their difference may be negative.
        let without_shell = |run_sum: u64, shell_sum: u64| {
            let run_mean = run_sum as f64 / self.runs.max(1) as f64;
            (run_mean - shell_sum as f64 / shell.runs.max(1) as f64).max(0.0)
        };
        let happened = |pick: fn(&Happened) -> u64| {
            Presence::Present(without_shell(pick(&self.happened), pick(&shell.happened)))
        };
        let counted = |runs: &Sum, shell: &Sum| {
            let runs = runs.clone().unwrap_or_else(|| Presence::absent("no run took place"));
            let shell = shell.clone().unwrap_or(Presence::Present(0));
            runs.both(&shell, |runs, shell| without_shell(*runs, *shell))
        };
        [
            (MINOR_FAULTS, happened(|events| events.minor_faults)),
            (MAJOR_FAULTS, happened(|events| events.major_faults)),
            (VOLUNTARY, happened(|events| events.voluntary_switches)),
            (INVOLUNTARY, happened(|events| events.involuntary_switches)),
            (INSTRUCTIONS, counted(&self.instructions, &shell.instructions)),
            (CYCLES, counted(&self.cycles, &shell.cycles)),
            (CACHE_MISSES, counted(&self.cache_misses, &shell.cache_misses)),
        ]
    }

    pub(super) fn how(&self, shell: &Self) -> Option<Counting> {
        worse_counting(self.how, shell.how)
    }
}

fn worse_counting(first: Option<Counting>, second: Option<Counting>) -> Option<Counting> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.worse(second)),
        (first, second) => first.or(second),
    }
}

/// Notes on how processors counted, identical in every trial.
pub(super) fn notes(how: Option<Counting>) -> impl Iterator<Item = &'static str> {
    let outside = how.is_some_and(|how| !how.in_kernel).then_some(
        "instructions, cycles and cache misses exclude the kernel; to include it, run as root or set \
         kernel.perf_event_paranoid to 1 or lower",
    );
    let scaled = how.is_some_and(|how| how.share < COMPLETE_SHARE).then_some(
        "instructions, cycles or cache misses were counted for part of the time and scaled up, because other programs \
         use the counters or only some CPUs have them",
    );
    [outside, scaled].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use assay_machine::system::execute::{CpuCounts, Ending};

    use super::*;

    const ALL: Counting = Counting { in_kernel: true, share: 1.0 };

    fn run(faults: u64, instructions: u64, how: Option<Counting>) -> Executed {
        let counted = |count| match how {
            Some(_) => Presence::Present(count),
            None => Presence::absent("no counters"),
        };
        Executed {
            happened: Happened {
                minor_faults: faults,
                major_faults: 1,
                voluntary_switches: 2 * faults,
                ..Happened::default()
            },
            counted: CpuCounts {
                instructions: counted(instructions),
                cycles: counted(2 * instructions),
                cache_misses: counted(3),
                how,
            },
            ..crate::testing::executed(Ending::Exited(0), 1)
        }
    }

    fn sum(runs: &[Executed]) -> Events {
        let mut events = Events::default();
        for run in runs {
            events.add(run);
        }
        events
    }

    fn values(events: &Events, shell: &Events) -> [Option<f64>; 7] {
        events.per_run(shell).map(|(_, value)| value.value().copied())
    }

    #[test]
    fn they_are_means_without_the_shells() {
        let own = sum(&[run(110, 1000, Some(ALL)), run(210, 2000, Some(ALL))]);
        let shell =
            sum(&[run(50, 100, Some(ALL)), run(70, 300, Some(ALL)), run(60, 200, Some(ALL))]);
        let expected = [100.0, 0.0, 200.0, 0.0, 1300.0, 2600.0, 0.0].map(Some);
        assert_eq!(values(&own, &shell), expected);
        // Without a shell nothing is subtracted.
        let expected = [160.0, 1.0, 320.0, 0.0, 1500.0, 3000.0, 3.0].map(Some);
        assert_eq!(values(&own, &Events::default()), expected);
        assert_eq!(notes(own.how(&shell)).count(), 0);
        // Nor are there negative values.
        let expected = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0].map(Some);
        assert_eq!(values(&shell, &own), expected);
    }

    #[test]
    fn what_one_run_does_not_tell_is_absent_and_faults_are_not() {
        let (told, untold) = (run(110, 1000, Some(ALL)), run(110, 1000, None));
        for (own, shell) in [
            (sum(&[told.clone(), untold.clone()]), Events::default()),
            (sum(std::slice::from_ref(&told)), sum(std::slice::from_ref(&untold))),
        ] {
            let all = own.per_run(&shell);
            assert!(all[..4].iter().all(|(_, value)| value.value().is_some()));
            assert!(all[4..].iter().all(|(_, value)| value.reason() == Some("no counters")));
        }
        let nothing = values(&Events::default(), &Events::default());
        assert_eq!(nothing[4..], [None; 3]);
    }

    #[test]
    fn how_they_were_counted_is_told_where_that_is_not_all() {
        let outside = Counting { in_kernel: false, share: 1.0 };
        let part = Counting { in_kernel: true, share: 0.6 };
        let told = |runs: &[Counting], shell: &Events| {
            let runs: Vec<Executed> = runs.iter().map(|how| run(1, 1, Some(*how))).collect();
            notes(sum(&runs).how(shell)).collect::<Vec<_>>().join("; ")
        };
        let none = Events::default();
        assert_eq!(told(&[ALL, ALL], &none), "");
        assert!(told(&[ALL, outside], &none).contains("exclude the kernel"));
        assert!(!told(&[ALL, outside], &none).contains("scaled up"));
        assert!(told(&[part, ALL], &none).contains("scaled up"));
        assert!(told(&[ALL], &sum(&[run(1, 1, Some(outside))])).contains("exclude the kernel"));
        assert_eq!(notes(None).count(), 0);
    }

    #[test]
    fn of_older_results_it_is_told_why_there_are_none() {
        assert!(METRICS.iter().all(|own| missing_in_old_result(own.name).is_some()));
        assert_eq!(missing_in_old_result("read_bytes"), None);
    }
}
