//! `printed-rate`: storage moved fewer bytes than a program's printed rate requires.

use assay_core::{catalogue::About, quantity::units::show};
use assay_study::results::record::Trial;
use assay_workloads::{Measured, command, metrics};

use super::evidence::{MovedShare, compression, counted_trials, in_trials, is_simulated, seconds};
use super::{Case, MOVED, Rule, RuleCheck, RuleRemark};

/// Share of the bytes that must have moved if the program prints its time: as in rule `cached`.
const LEAST_SHARE: f64 = 0.5;
/// The same if the rate may cover a part of the run, or bytes went through pipes and count twice.
const LEAST_SHARE_OF_RUN: f64 = 0.1;
/// Share of the program's bytes below which compression explains part of the rate: as in rule `compressed`.
const LEAST_COMPRESSED: f64 = 0.9;
const PRINTED_TIME: &str = "reported_duration_s";

pub static RULE: Rule = Rule {
    about: About {
        name: "printed-rate",
        summary: "storage moved fewer bytes than the printed rate requires",
        text: "Assay compares a byte rate that a command prints (`reads`) with the bytes that the kernel counted for \
               its processes and for the device. The number is suspect if the counted bytes are below 50% of rate \
               times printed time (10% of rate times run time if no time is printed): the page cache served the rest. \
               It is also suspect if the device moved the bytes after the runs, or compression is on and the device \
               moved less than 90% of them. If a command prints several rates, Assay uses the lowest rate. Assay \
               always judges storage tools (formats). For a number from a pattern or pointer, Assay expects at most \
               the bytes of the command's system calls, so compute rates stay trusted.",
    },
    changes: MOVED,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    if is_simulated(case) {
        return None;
    }
    let runs: Vec<PrintedRuns> =
        case.trials.iter().filter_map(|trial| PrintedRuns::new(case, trial)).collect();
    from_memory(case, &runs)
        .or_else(|| compressed(case, &runs))
        .or_else(|| late(case, &runs))
        .map(RuleRemark::suspect)
}

/// The rates that the runs of a trial print, and the bytes moved for them.
struct PrintedRuns {
    /// Bytes per second.
    rate: f64,
    /// Bytes that the rate requires.
    claimed: u64,
    /// Share of them that must have moved.
    least: f64,
    /// Storage bytes by the kernel's counters of the processes, or else of the device.
    moved: u64,
    /// Bytes of the device during the runs, and including those right after them.
    device: Option<[u64; 2]>,
}

impl PrintedRuns {
    /// Compares a trial's lowest printed rate with the moved bytes; `None` without a printed rate or without counters.
    fn new(case: &Case<'_>, trial: &Trial) -> Option<Self> {
        let planned = command::CommandPlan::of(&case.workload.work)?;
        let measured = trial.measured.as_ref()?;
        let detail = command::CommandDetail::of(measured)?;
        let rate = lowest_rate(measured)?;
        let is_storage_tool = planned.parse.iter().any(|reading| reading.format.is_some());
        // Another program's rate may be one of computing: it requires at most the bytes of its system calls.
        let most_per_run = if is_storage_tool { u64::MAX } else { detail.called_bytes? };
        let printed_s = measured.values.get(PRINTED_TIME).filter(|_| is_storage_tool);
        let run_s = seconds(measured.window_ns) / detail.runs.max(1) as f64;
        let required_per_run =
            ((rate * printed_s.copied().unwrap_or(run_s)) as u64).min(most_per_run);
        let only_trial = Case { trials: &[trial], ..*case };
        let device = counted_trials(&only_trial).first().map(|counted| {
            let in_runs = counted.device.run.read_bytes + counted.device.run.write_bytes;
            [in_runs, in_runs + counted.device.settle.write_bytes]
        });
        let value = |name: &str| measured.values.get(name).copied();
        let by_processes = value("read_bytes").zip(value("write_bytes"));
        let by_processes =
            by_processes.map(|(read, written)| ((read + written) * detail.runs as f64) as u64);
        Some(Self {
            rate,
            claimed: required_per_run.saturating_mul(detail.runs),
            least: if printed_s.is_some() { LEAST_SHARE } else { LEAST_SHARE_OF_RUN },
            moved: by_processes.or(device.map(|[_, all]| all))?,
            device,
        })
    }
}

fn lowest_rate(measured: &Measured) -> Option<f64> {
    let scaled = |(name, value): (&String, &f64)| Some(value * metrics::printed_bytes_per_s(name)?);
    measured.values.iter().filter_map(scaled).filter(|rate| *rate > 0.0).reduce(f64::min)
}

fn from_memory(case: &Case<'_>, runs: &[PrintedRuns]) -> Option<String> {
    let pairs = runs.iter().filter(|one| is_short(one.moved, one.claimed, one.least));
    let short = MovedShare::below(1.0, pairs.clone().map(|one| (one.moved, one.claimed)))?;
    let rate = pairs.map(|one| one.rate).fold(0.0, f64::max);
    Some(format!(
        "the command prints {}, but storage moved only {} of the required {}{}: memory served the rest",
        show::rate(rate),
        show::bytes(short.moved),
        show::bytes(short.claimed),
        in_trials(short.trials, case)
    ))
}

fn compressed(case: &Case<'_>, runs: &[PrintedRuns]) -> Option<String> {
    let compression = compression(case)?;
    let pairs = runs.iter().filter_map(|one| Some((one.device?[1], one.moved)));
    let short = MovedShare::below(LEAST_COMPRESSED, pairs)?;
    Some(format!(
        "{compression} is on and the device moved only {} of the bytes{}",
        show::percent(short.percent()),
        in_trials(short.trials, case)
    ))
}

fn late(case: &Case<'_>, runs: &[PrintedRuns]) -> Option<String> {
    // Bytes that never moved are a matter of `from_memory`, so only the moved ones are due.
    let short_pair = |one: &PrintedRuns| {
        let (due, [in_runs, _]) = (one.claimed.min(one.moved), one.device?);
        is_short(in_runs, due, one.least).then_some((in_runs, due))
    };
    let short = MovedShare::below(1.0, runs.iter().filter_map(short_pair))?;
    Some(format!(
        "the device moved only {} of the bytes before the runs ended{}: the rest was still in memory",
        show::percent(short.percent()),
        in_trials(short.trials, case)
    ))
}

fn is_short(moved: u64, claimed: u64, least: f64) -> bool {
    (moved as f64) < least * claimed as f64
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_study::findings::Trust;

    use super::super::testing::{Bench, device, measured};
    use super::*;

    const MIB: u64 = 1 << 20;

    /// One 100 ms run per trial, which moves this many bytes for the program and for the device, and prints these
    /// numbers.
    fn bench(reads: &str, moved: u64, printed: &[(&str, f64)]) -> Bench {
        let printed: Vec<(String, f64)> =
            printed.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let mut bench = Bench::command();
        command::CommandPlan::of_mut(&mut bench.workload.work).unwrap().parse =
            vec![reads.parse().unwrap()];
        bench.each(move |trial| {
            device(trial).run.read_bytes = 0;
            device(trial).run.write_bytes = moved;
            let measured = measured(trial);
            measured.window_ns = 100_000_000;
            measured.values.extend(printed.iter().cloned());
            measured.values.insert("read_bytes".to_owned(), 0.0);
            measured.values.insert("write_bytes".to_owned(), moved as f64);
            let detail = command::CommandDetail::of_mut(measured).unwrap();
            (detail.runs, detail.called_bytes) = (1, Some(256 * MIB));
        })
    }

    /// dd's output for 256 MiB in 50 ms.
    const DD: &[(&str, f64)] =
        &[("reported_bandwidth_bytes_per_s", 5.368_709e9), ("reported_duration_s", 0.05)];

    #[test]
    fn rate_of_page_cache_is_suspect() {
        let remark = bench("dd", 0, DD).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(
            remark.text,
            "the command prints 5 GiB/s, but storage moved only 0 B of the required 768 MiB: memory served the rest"
        );
        assert!(bench("dd", 120 * MIB, DD).judge(&RULE).is_some());
        assert_eq!(bench("dd", 136 * MIB, DD).judge(&RULE), None);
    }

    #[test]
    fn rate_of_a_whole_run_needs_a_tenth() {
        // 1,000 MB/s for 100 ms are 95 MiB.
        let fio: &[(&str, f64)] =
            &[("reported_read_bytes_per_s", 1e9), ("reported_write_bytes_per_s", 9e9)];
        assert!(bench("fio-json", 9 * MIB, fio).judge(&RULE).is_some());
        assert_eq!(bench("fio-json", 10 * MIB, fio).judge(&RULE), None);
        let pattern = "([0-9.]+) MB/s:MB/s:higher";
        let printed: &[(&str, f64)] = &[("reported_mb_per_s", 1_000.0)];
        assert!(bench(pattern, 9 * MIB, printed).judge(&RULE).is_some());
        assert_eq!(bench(pattern, 10 * MIB, printed).judge(&RULE), None);
    }

    #[test]
    fn rate_of_computing_is_trusted() {
        let called = |bytes: Option<u64>| {
            let printed: &[(&str, f64)] = &[("reported_gib_per_s", 5.0)];
            let bench = bench("([0-9.]+) GiB/s:GiB/s:higher", 0, printed);
            bench.each(move |trial| {
                command::CommandDetail::of_mut(measured(trial)).unwrap().called_bytes = bytes;
            })
        };
        assert_eq!(called(Some(20_000)).judge(&RULE), None);
        assert_eq!(called(None).judge(&RULE), None);
        assert!(called(Some(512 * MIB)).judge(&RULE).is_some());
        let operations: &[(&str, f64)] = &[("reported_ops_per_s", 5e9)];
        assert_eq!(bench("dd", 0, operations).judge(&RULE), None);
        assert_eq!(Bench::command().judge(&RULE), None);
    }

    #[test]
    fn zeros_below_compression_are_suspect() {
        let zeros = |arrived: u64| {
            bench("dd", 256 * MIB, DD)
                .site(|site| site.compression = Presence::Present("zstd".to_owned()))
                .each(move |trial| device(trial).run.write_bytes = arrived)
        };
        assert_eq!(
            zeros(8 * MIB).judge(&RULE).unwrap().text,
            "compression (zstd) is on and the device moved only 3% of the bytes"
        );
        assert_eq!(zeros(250 * MIB).judge(&RULE), None);
    }

    #[test]
    fn writes_that_arrive_after_the_runs_are_suspect() {
        let late = |in_time: u64| {
            bench("dd", 256 * MIB, DD).first(2, move |trial| {
                device(trial).run.write_bytes = in_time;
                device(trial).settle.write_bytes = 256 * MIB - in_time;
            })
        };
        assert_eq!(
            late(MIB).judge(&RULE).unwrap().text,
            "the device moved only 0.4% of the bytes before the runs ended, in 2 of 3 trials: the rest was still in \
             memory"
        );
        assert_eq!(late(130 * MIB).judge(&RULE), None);
    }

    #[test]
    fn without_counts_of_the_program_those_of_the_device_count() {
        let unseen = |moved| {
            bench("dd", moved, DD).each(|trial| {
                measured(trial).values.remove("read_bytes");
            })
        };
        assert!(unseen(0).judge(&RULE).is_some());
        assert_eq!(unseen(256 * MIB).judge(&RULE), None);
    }
}
