//! Totals over the runs of one trial.

use std::collections::BTreeMap;
use std::mem;

use crate::command::readings::{ParsedNumber, ToolOutput};
use assay_core::presence::Presence;
use assay_machine::system::Executed;
use assay_machine::system::execute::{Ending, PeakBy, PeakMemory};

use super::detail::{CommandDetail, KEPT_RUNS, OutputTail};
use super::events::{self, Events, Sum};
use super::planned::CommandPlan;
use super::{DURATION, LONGEST, PEAK_MEMORY, READ, SHORTEST, SYSTEM, USER, WRITTEN};
use crate::measured::{KnownAndAbsent, Measured, OwnMetric, RunResult, known_and_absent};

/// Shorter runs are mostly the shell's start, if there is a shell.
const SHORT_NS: f64 = 5e6;
/// Smallest share of the shell's start at which a time is distinguishable from it.
const SMALLEST_SHARE: f64 = 0.1;

#[derive(Default)]
pub(super) struct StartSum {
    pub(super) count: u64,
    pub(super) sum_ns: u64,
    shortest_ns: Option<u64>,
    waited_ns: u64,
    user_ns: u64,
    system_ns: u64,
    events: Events,
}

impl StartSum {
    /// Adds a start of the bare shell.
    pub(super) fn add(&mut self, executed: &Executed) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(executed.wall_ns);
        if self.shortest_ns.is_none_or(|shortest_ns| executed.wall_ns < shortest_ns) {
            self.shortest_ns = Some(executed.wall_ns);
            self.waited_ns = executed.happened.waited_ns;
        }
        self.user_ns = self.user_ns.saturating_add(executed.user_ns);
        self.system_ns = self.system_ns.saturating_add(executed.system_ns);
        self.events.add(executed);
    }

    /// Nanoseconds per start, from a sum over all.
    fn mean_ns(&self, sum_ns: u64) -> f64 {
        sum_ns as f64 / self.count.max(1) as f64
    }
}

#[derive(Debug, Default)]
pub(super) struct RunOutput {
    pub(super) parsed: ToolOutput,
    pub(super) tails: Vec<OutputTail>,
    /// In hexadecimal, if all runs must produce the same.
    pub(super) hash: Option<String>,
}

struct OwnMetricSum {
    metric: OwnMetric,
    sum: f64,
    runs: u64,
}

#[derive(Default)]
pub(super) struct CommandTally {
    pub(super) shell: StartSum,
    pub(super) detail: CommandDetail,
    wall_ns: u64,
    waited_ns: u64,
    called_bytes: u64,
    user_ns: u64,
    system_ns: u64,
    aside_ns: u64,
    aside_left: bool,
    peak: Option<Presence<PeakMemory>>,
    read: Sum,
    written: Sum,
    events: Events,
    own: Vec<OwnMetricSum>,
}

impl CommandTally {
    pub(super) fn runs(&self) -> u64 {
        self.detail.runs
    }

    pub(super) fn wall_ns(&self) -> u64 {
        self.wall_ns
    }

    /// Adds the times, memory and events of a measured run.
    pub(super) fn add(&mut self, executed: &Executed) {
        let wall_ns = executed.wall_ns;
        let detail = &mut self.detail;
        if detail.wall_ns.len() < KEPT_RUNS {
            detail.wall_ns.push(wall_ns);
        }
        let [shortest, longest] = detail.span_ns;
        detail.span_ns = match detail.runs {
            0 => [wall_ns; 2],
            _ => [shortest.min(wall_ns), longest.max(wall_ns)],
        };
        detail.runs += 1;
        detail.left_running += u64::from(executed.left_running);
        *detail.endings.entry(ending_words(executed.ending)).or_default() += 1;
        if let Presence::Present(read) = executed.read_bytes {
            let [least, most] = detail.read_span_bytes.unwrap_or([read, read]);
            detail.read_span_bytes = Some([least.min(read), most.max(read)]);
        }
        self.wall_ns = self.wall_ns.saturating_add(wall_ns);
        self.waited_ns = self.waited_ns.saturating_add(executed.happened.waited_ns);
        self.called_bytes = self.called_bytes.saturating_add(executed.happened.called_bytes);
        self.user_ns = self.user_ns.saturating_add(executed.user_ns);
        self.system_ns = self.system_ns.saturating_add(executed.system_ns);
        events::add(&mut self.read, &executed.read_bytes);
        events::add(&mut self.written, &executed.write_bytes);
        self.events.add(executed);
        self.peak = Some(match &self.peak {
            Some(peak) => peak.both(&executed.peak_memory, |peak, of_run| larger(*peak, *of_run)),
            None => executed.peak_memory.clone(),
        });
    }

    /// Adds the numbers, the end and the hash of a run's output.
    pub(super) fn add_output(&mut self, output: RunOutput) {
        for ParsedNumber { name, better, value } in output.parsed.numbers {
            if let Some(known) = self.own.iter_mut().find(|known| known.metric.name == name) {
                known.sum += value;
                known.runs += 1;
            } else {
                let metric = OwnMetric { name, better };
                self.own.push(OwnMetricSum { metric, sum: value, runs: 1 });
            }
        }
        self.detail.evidence = output.parsed.evidence;
        self.detail.written = output.tails;
        if let Some(hash) = output.hash {
            self.detail.count_produced(hash);
        }
    }

    /// Adds a run that is not measured: its CPU time still belongs to the trial.
    pub(super) fn add_aside(&mut self, executed: &Executed) {
        let cpu_ns = executed.user_ns.saturating_add(executed.system_ns);
        self.aside_ns = self.aside_ns.saturating_add(cpu_ns);
        self.aside_left |= executed.left_running > 0;
    }

    /// Records the bytes of the page cache before and after a drop: the worst drop counts.
    pub(super) fn add_emptied(&mut self, cached: Option<[u64; 2]>) {
        let Some([before, after]) = cached else { return };
        if self.detail.emptied_bytes.is_none_or(|[_, most_left]| after > most_left) {
            self.detail.emptied_bytes = Some([before, after]);
        }
    }

    /// Returns the result of the trial: means per run, without the start of the shell.
    pub(super) fn into_result(
        mut self,
        planned: &CommandPlan,
        elapsed_ns: u64,
        stopped: bool,
    ) -> RunResult {
        let shell_start_ns = self.shell.shortest_ns.filter(|_| planned.shell);
        self.detail.shell_ns = shell_start_ns.map(|ns| ns as f64);
        self.detail.peak_by = self.peak.as_ref().and_then(|peak| Some(peak.value()?.by));
        self.detail.counting = self.events.how(&self.shell.events);
        let (mut values, mut absent) = self.values();
        self.add_own_metrics(&mut values, &mut absent);
        let cpu_ns = self.user_ns.saturating_add(self.system_ns).saturating_add(self.aside_ns);
        let notes = self.notes();
        let runs = self.detail.runs;
        let called_bytes = self.called_bytes / runs.max(1);
        self.detail.called_bytes =
            (called_bytes > 0 && !planned.parse.is_empty()).then_some(called_bytes);
        // If the subtracted start of the shell waited, this wait is missing in the time of each run.
        let shell_waited_ns = shell_start_ns.map_or(0, |_| self.shell.waited_ns);
        let waited_ns = self.waited_ns.max(shell_waited_ns.saturating_mul(runs));
        RunResult::new(
            Measured {
                window_ns: self.wall_ns,
                elapsed_ns,
                cpu_ns,
                waited_ns: (waited_ns > 0).then_some(waited_ns),
                values,
                absent,
                notes,
                ..Measured::from_detail(self.detail)
            },
            stopped,
        )
    }

    /// Adds the means of the metrics from the output, and declares these metrics.
    fn add_own_metrics(
        &mut self,
        values: &mut BTreeMap<String, f64>,
        absent: &mut BTreeMap<String, String>,
    ) {
        for OwnMetricSum { metric, sum, runs } in mem::take(&mut self.own) {
            let mean = sum / runs as f64;
            if runs != self.detail.runs {
                absent.insert(metric.name.clone(), "missing in some runs of a trial".to_owned());
            } else if mean.is_finite() {
                values.insert(metric.name.clone(), mean);
            } else {
                absent.insert(metric.name.clone(), "the mean is not finite".to_owned());
            }
            self.detail.told.push(metric);
        }
    }

    fn duration_ns(&self) -> f64 {
        self.without_shell(self.wall_ns as f64 / self.detail.runs.max(1) as f64)
    }

    fn without_shell(&self, wall_ns: f64) -> f64 {
        (wall_ns - self.shell_ns()).max(0.0)
    }

    /// Time subtracted per run: the shortest start of the shell, or 0 without one. On a busy machine, the mean start is
    /// longer than that of many runs, which would then be too short.
    fn shell_ns(&self) -> f64 {
        self.detail.shell_ns.unwrap_or(0.0)
    }

    /// A time of runs in seconds, if it is distinguishable from the shell's start.
    fn seconds(&self, ns: f64) -> Presence<f64> {
        if ns <= 0.0 || ns < SMALLEST_SHARE * self.shell_ns() {
            return Presence::absent(
                "a run takes no longer than the shell's startup; run the command without the shell (--set shell=false)",
            );
        }
        Presence::Present(ns / 1e9)
    }

    /// Means per run without the start of the shell, and for each missing one the reason.
    fn values(&self) -> KnownAndAbsent {
        let runs = self.detail.runs.max(1) as f64;
        let each = |sum: &Sum| {
            let sum = sum.clone().unwrap_or_else(|| Presence::absent("no run took place"));
            sum.map(|sum| sum as f64 / runs)
        };
        // CPU seconds per run without the shell's; both count in ticks, so the difference may be negative.
        let cpu_s = |sum_ns: u64, shell_ns: u64| {
            (sum_ns as f64 / runs - self.shell.mean_ns(shell_ns)).max(0.0) / 1e9
        };
        let [shortest, longest] = self.detail.span_ns.map(|ns| self.without_shell(ns as f64));
        let peak = self.peak.clone().unwrap_or_else(|| Presence::absent("no run took place"));
        let known = [
            (DURATION, self.seconds(self.duration_ns())),
            (SHORTEST, self.seconds(shortest)),
            (LONGEST, self.seconds(longest)),
            (USER, Presence::Present(cpu_s(self.user_ns, self.shell.user_ns))),
            (SYSTEM, Presence::Present(cpu_s(self.system_ns, self.shell.system_ns))),
            (PEAK_MEMORY, peak.map(|peak| peak.bytes as f64)),
            (READ, each(&self.read)),
            (WRITTEN, each(&self.written)),
        ];
        known_and_absent(known.into_iter().chain(self.events.per_run(&self.shell.events)))
    }

    /// Notes on the runs, identical in every trial.
    fn notes(&self) -> Vec<String> {
        let is_short = self.detail.shell_ns.is_some() && self.duration_ns() < SHORT_NS;
        let short = is_short.then_some(
            "shell startup is a large part of such a short run; for a more precise time, run without the shell (--set \
             shell=false)",
        );
        let left = (self.detail.left_running > 0)
            .then_some("the command left processes running, which Assay killed");
        let aside_left = self.aside_left.then_some(
            "a setup, prepare or cleanup line left processes running, which Assay killed; start background processes \
             in the command",
        );
        let peak = self.detail.peak_by.map(|by| match by {
            PeakBy::Cgroup => {
                "peak memory is that of the control group, which includes cached file pages"
            }
            PeakBy::Sampled => "peak memory was sampled, so short peaks may be missing",
            PeakBy::LargestProcess => {
                "peak memory is that of the largest process; the total is unavailable"
            }
        });
        let cut = self.detail.written.iter().filter_map(OutputTail::words);
        [short, left, aside_left, peak]
            .into_iter()
            .flatten()
            .chain(events::notes(self.detail.counting))
            .map(str::to_owned)
            .chain(cut)
            .collect()
    }
}

/// The larger of two peaks, with the weaker of both methods.
fn larger(first: PeakMemory, second: PeakMemory) -> PeakMemory {
    let rank = |by: PeakBy| by as u8;
    let by = if rank(first.by) >= rank(second.by) { first.by } else { second.by };
    PeakMemory { bytes: first.bytes.max(second.bytes), by }
}

fn ending_words(ending: Ending) -> String {
    match ending {
        Ending::Exited(code) => format!("exit code {code}"),
        Ending::Signalled(signal) => format!("signal {signal}"),
        Ending::TimedOut => "timeout".to_owned(),
        Ending::Stopped => "stopped".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use assay_core::quantity::Better;
    use assay_machine::system::execute::Happened;

    use super::*;

    const MS: u64 = 1_000_000;

    fn executed(wall_ms: u64, user_ms: u64, system_ms: u64) -> Executed {
        let peak = PeakMemory { bytes: wall_ms, by: PeakBy::Cgroup };
        Executed {
            user_ns: user_ms * MS,
            system_ns: system_ms * MS,
            peak_memory: Presence::Present(peak),
            read_bytes: Presence::Present(wall_ms * 10),
            write_bytes: Presence::Present(wall_ms * 100),
            happened: Happened { minor_faults: wall_ms, ..Happened::default() },
            ..crate::testing::executed(Ending::Exited(0), wall_ms * MS)
        }
    }

    fn planned(shell: bool) -> CommandPlan {
        let mut planned: CommandPlan = serde_json::from_value(serde_json::json!({
            "run": "work", "drop_caches": false, "shell": true, "ignore_failure": false
        }))
        .unwrap();
        planned.shell = shell;
        planned
    }

    /// Values rounded to the nanosecond.
    fn told(ran: &RunResult) -> Vec<(&str, f64)> {
        let round = |value: f64| (value * 1e9).round() / 1e9;
        ran.measured.values.iter().map(|(name, value)| (name.as_str(), round(*value))).collect()
    }

    #[test]
    fn means_are_over_runs_and_without_the_shell() {
        let mut tally = CommandTally::default();
        for start in [executed(2, 1, 1), executed(4, 2, 1)] {
            tally.shell.add(&start);
        }
        for run in [executed(13, 6, 2), executed(23, 9, 4)] {
            tally.add(&run);
        }
        tally.add_aside(&executed(50, 20, 5));
        assert_eq!((tally.runs(), tally.wall_ns()), (2, 36 * MS));
        let ran = tally.into_result(&planned(true), 77, false);
        // The shortest start takes 2 ms; on average, 1.5 ms are user and 1 ms is system time.
        let expected = [
            ("duration_max_s", 0.021),
            ("duration_min_s", 0.011),
            ("duration_s", 0.016),
            ("involuntary_switches", 0.0),
            ("major_faults", 0.0),
            ("minor_faults", 15.0),
            ("peak_memory_bytes", 23.0),
            ("read_bytes", 180.0),
            ("system_s", 0.002),
            ("user_s", 0.006),
            ("voluntary_switches", 0.0),
            ("write_bytes", 1800.0),
        ];
        assert_eq!(told(&ran), expected);
        assert_eq!(ran.measured.cpu_ns, 46 * MS);
        assert_eq!(
            (ran.measured.window_ns, ran.measured.elapsed_ns, ran.stopped),
            (36 * MS, 77, false)
        );
        let detail = CommandDetail::of(&ran.measured).unwrap();
        assert_eq!(detail.read_span_bytes, Some([130, 230]));
        assert_eq!(detail.span_ns, [13 * MS, 23 * MS]);
        assert_eq!(ran.measured.absent["cache_misses"], "no counters");
        assert_eq!(detail.counting, None);
        assert_eq!(ran.measured.notes.len(), 1, "{:?}", ran.measured.notes);
        assert!(ran.measured.notes[0].contains("the control group"));
    }

    #[test]
    fn times_that_the_shell_covers_are_never_negative() {
        let mut tally = CommandTally::default();
        tally.shell.add(&executed(10, 8, 8));
        tally.add(&Executed { left_running: 3, ..executed(11, 1, 1) });
        let ran = tally.into_result(&planned(true), 0, true);
        assert_eq!(
            told(&ran)[0..3],
            [("duration_max_s", 0.001), ("duration_min_s", 0.001), ("duration_s", 0.001)]
        );
        assert_eq!((ran.measured.values["user_s"], ran.measured.values["system_s"]), (0.0, 0.0));
        let notes = ran.measured.notes.join("; ");
        assert!(notes.contains("a short") && notes.contains("left processes running"), "{notes}");
        assert!(!notes.contains("a setup, prepare or cleanup line"), "{notes}");
    }

    #[test]
    fn a_line_beside_the_runs_that_leaves_a_server_is_told() {
        let mut tally = CommandTally::default();
        tally.add_aside(&Executed { left_running: 1, ..executed(5, 0, 0) });
        tally.add_aside(&executed(5, 0, 0));
        tally.add(&executed(20, 0, 0));
        let ran = tally.into_result(&planned(false), 0, false);
        assert!(ran.measured.notes[0].starts_with("a setup, prepare or cleanup line"), "{ran:?}");
        assert_eq!(CommandDetail::of(&ran.measured).unwrap().left_running, 0);
    }

    #[test]
    fn no_run_is_told_as_shorter_than_it_was_where_starts_of_the_shell_scatter() {
        let mut tally = CommandTally::default();
        // `sleep 0.1` next to busy programs: a start takes 1 ms, or 40 ms.
        for wall_ms in [40, 1, 38, 2, 45] {
            tally.shell.add(&executed(wall_ms, 0, 0));
        }
        for wall_ms in [101, 140, 102] {
            tally.add(&executed(wall_ms, 0, 0));
        }
        let ran = tally.into_result(&planned(true), 0, false);
        let of = |name: &str| ran.measured.values[name];
        let [least, mean, most] = ["duration_min_s", "duration_s", "duration_max_s"].map(of);
        assert!(0.1 <= least && least <= mean && mean <= most, "{least} {mean} {most}");
        let single: Vec<f64> = CommandDetail::of(&ran.measured).unwrap().alone_ns().collect();
        assert!(single.iter().all(|ns| (least..=most).contains(&(ns / 1e9))), "{single:?}");
    }

    #[test]
    fn a_run_that_the_shell_covers_has_no_shortest_time() {
        let mut tally = CommandTally::default();
        tally.shell.add(&executed(10, 0, 0));
        for wall_ms in [9, 30] {
            tally.add(&executed(wall_ms, 0, 0));
        }
        let ran = tally.into_result(&planned(true), 0, false);
        assert_eq!(ran.measured.values.get("duration_min_s"), None);
        assert!(ran.measured.absent["duration_min_s"].contains("without the shell"));
        assert!(ran.measured.values["duration_s"] > 0.0);
    }

    #[test]
    fn without_a_shell_nothing_is_taken_off_and_a_short_run_is_no_news() {
        let mut tally = CommandTally::default();
        tally.add(&executed(2, 1, 1));
        tally.add_emptied(Some([100, 5]));
        tally.add_emptied(Some([90, 7]));
        tally.add_emptied(Some([200, 6]));
        tally.add_emptied(None);
        let ran = tally.into_result(&planned(false), 0, false);
        assert_eq!(ran.measured.values["duration_s"], 0.002);
        let detail = CommandDetail::of(&ran.measured).unwrap();
        assert_eq!((detail.shell_ns, detail.emptied_bytes), (None, Some([90, 7])));
        assert!(!ran.measured.notes.join("; ").contains("a short"), "{:?}", ran.measured.notes);
    }

    /// Means over runs; a number missing in one of them is absent, with the reason.
    #[test]
    fn numbers_of_a_program_are_means_of_its_runs() {
        let number = |name: &str, value| ParsedNumber {
            name: name.to_owned(),
            better: Better::Higher,
            value,
        };
        let taken = |numbers: Vec<ParsedNumber>, sum: &str| RunOutput {
            parsed: ToolOutput { numbers, evidence: Vec::new() },
            tails: vec![OutputTail::new(None, "text", 4, 100)],
            hash: Some(sum.to_owned()),
        };
        let mut tally = CommandTally::default();
        for (own, sum) in [
            (vec![number("reported_b", 10.0), number("reported_a", 1.0)], "aa"),
            (vec![number("reported_b", 20.0)], "bb"),
        ] {
            tally.add(&executed(20, 0, 0));
            tally.add_output(taken(own, sum));
        }
        let ran = tally.into_result(&planned(false), 0, false);
        assert_eq!(ran.measured.values["reported_b"], 15.0);
        assert!(ran.measured.absent["reported_a"].contains("missing in some runs"));
        let detail = CommandDetail::of(&ran.measured).unwrap();
        let names: Vec<&str> = detail.told.iter().map(|own| own.name.as_str()).collect();
        assert_eq!(names, ["reported_b", "reported_a"]);
        assert_eq!(detail.produced, [("aa".to_owned(), 1), ("bb".to_owned(), 1)].into());
        assert_eq!(detail.written.len(), 1);
        assert!(!ran.measured.notes.join("; ").contains("kept"), "{:?}", ran.measured.notes);
    }

    #[test]
    fn of_what_was_written_the_end_is_kept_and_that_is_said() {
        let long = "\u{e9}".repeat(100);
        let cut = OutputTail::new(Some("out".to_owned()), &long, 200, 11);
        assert_eq!((cut.text.as_str(), cut.is_cut), (&*"\u{e9}".repeat(5), true));
        let said = cut.words().unwrap();
        assert!(said.contains("only the last 64 KiB of out"), "{said}");
        let whole = OutputTail::new(None, &long, 200, 200);
        assert_eq!((whole.text.as_str(), whole.words()), (long.as_str(), None));
    }

    #[test]
    fn a_run_is_told_from_the_shell_from_a_tenth_of_it_on() {
        let of = |wall_ms: u64| {
            let mut tally = CommandTally::default();
            tally.shell.add(&executed(100, 0, 0));
            tally.add(&executed(wall_ms, 0, 0));
            let ran = tally.into_result(&planned(true), 0, false);
            ran.measured.values.get("duration_s").copied()
        };
        assert_eq!(of(110), Some(0.01));
        assert_eq!(of(109), None);
    }
}
