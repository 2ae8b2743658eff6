//! `cpu-starved`: the measuring threads waited for a processor.

use std::collections::BTreeSet;

use assay_core::{catalogue::About, quantity::units::show, stats::FEWEST_FOR_INTERVAL};
use assay_study::results::record::{Status, Trial};
use assay_workloads::{Measured, command};

use super::evidence::{in_trials, is_simulated, seconds};
use super::{Case, Rule, RuleCheck, RuleRemark};

/// Share of the time that threads may wait for a CPU: a tenth lowers the rate by a tenth, twice the default margin.
const MOST_WAITING: f64 = 0.1;
/// From this CPU use of other programs on, they are the cause of the waiting.
const FEWEST_OTHERS: f64 = 0.1;
/// Share of the time with CPU pressure if the threads' waits are unknown: any program may cause it, so it is large.
const MOST_PRESSURE: f64 = 0.5;
/// CPU use of the workload below which CPU pressure does not concern it: it sleeps or waits for a drive.
const FEWEST_OWN: f64 = 0.1;
/// Pressure that concerns every workload: a thread that always waits for a CPU hardly uses one.
const PRESSURE_OF_ALL: f64 = 0.9;
/// Runs shorter than this are not judged: ticks are 10 ms.
const SHORTEST_NS: u64 = 50_000_000;

pub static RULE: Rule = Rule {
    about: About {
        name: "cpu-starved",
        summary: "other programs used the CPUs while the measuring threads waited for them",
        text: "The kernel counts how long each ready thread waited for a CPU (/proc/PID/schedstat). If the wait \
               exceeds 10% of a trial's time while other programs use the CPUs, the number is suspect: it measures the \
               CPU queue and not the drive. Such a wait lowers the rate by about 10%, twice the usual margin of 5%. If \
               the tool's own threads wait for each other, the number also depends on the CPUs; Assay adds a note but \
               does not flag the number. For a command, Assay counts the waits of its processes, of the thread that \
               waits for its exit, and of the shell startup that Assay subtracts. This excludes the command's child \
               processes, so Assay also judges commands (and results without wait times) by CPU pressure \
               (/proc/pressure/cpu) while other programs are active. The limit is 50% of the time if the workload used \
               at least 10% of a CPU, because a sleeping workload does not wait for a CPU. Otherwise, the limit is \
               90%. A gate is inconclusive if its numbers are flagged. In a study with a gate, Assay therefore marks \
               such a trial as disturbed, repeats it, and excludes it if enough other trials remain.",
    },
    minds_others: true,
    check: RuleCheck::Custom(judge),
    blinds: Some(starvation_words),
    ..Rule::NONE
};

fn starvation_words(case: &Case<'_>, trial: &Trial) -> Option<String> {
    Some(describe_waits(&[wait_for_others(case, trial)?], None))
}

/// Waits for other programs are suspect, unless all their trials are excluded; waits without others are a note.
fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    if is_simulated(case) {
        return None;
    }
    let (mut waits_for_others, mut other_waits) = (Vec::new(), Vec::new());
    let mut all_disturbed = true;
    for trial in case.trials {
        let Some(wait) = WaitShare::new(case, trial).filter(WaitShare::is_long) else { continue };
        if wait.is_for_others() {
            all_disturbed &= trial.status == Status::Disturbed;
            waits_for_others.push(wait);
        } else {
            other_waits.push(wait);
        }
    }
    if waits_for_others.is_empty() {
        let waited = show::percent(100.0 * largest(&other_waits, |wait| wait.share)?);
        let text = format!("tool threads waited for a CPU for up to {waited} of the time");
        // Pressure alone may come from any program, not only from the tool.
        return other_waits.iter().any(|wait| wait.is_own).then(|| RuleRemark::note(text));
    }
    let text = describe_waits(&waits_for_others, Some(case));
    if all_disturbed && excludes_disturbed(case) {
        let which = if waits_for_others.len() == 1 { "the trial is" } else { "the trials are" };
        return Some(RuleRemark::note(format!("{text}; {which} excluded")));
    }
    Some(RuleRemark::suspect(text))
}

/// Whether disturbed trials do not count, because enough replicates have an undisturbed one.
fn excludes_disturbed(case: &Case<'_>) -> bool {
    let undisturbed = case.trials.iter().filter(|trial| trial.status == Status::Ok);
    let replicate = |trial: &&Trial| trial.repeats.map_or(trial.replicate, |of| of.replicate);
    let replicates: BTreeSet<u32> = undisturbed.map(replicate).collect();
    replicates.len() >= FEWEST_FOR_INTERVAL
}

/// The time a trial waited for others, if it was too long.
fn wait_for_others(case: &Case<'_>, trial: &Trial) -> Option<WaitShare> {
    let wait = WaitShare::new(case, trial).filter(|_| !is_simulated(case));
    wait.filter(|wait| wait.is_long() && wait.is_for_others())
}

/// The message on trials that waited for others; with their `case`, it has maxima and counts the trials.
fn describe_waits(waits: &[WaitShare], case: Option<&Case<'_>>) -> String {
    let up_to = if case.is_some() { "up to " } else { "" };
    let share = |of: fn(&WaitShare) -> f64| largest(waits, of).unwrap_or_default();
    format!(
        "{} waited for a CPU for {up_to}{} of the time while other programs used {up_to}{} CPUs{}",
        if waits.iter().any(|wait| wait.is_own) { "the tool" } else { "programs" },
        show::percent(100.0 * share(|wait| wait.share)),
        show::three_digits(share(|wait| wait.others)),
        case.map_or_else(String::new, |case| in_trials(waits.len(), case))
    )
}

#[derive(Clone, Copy, Debug)]
struct WaitShare {
    share: f64,
    /// Whether the measuring threads waited, rather than any program.
    is_own: bool,
    /// Number of CPUs that others used during that time.
    others: f64,
}

impl WaitShare {
    /// By the waits of the trial's threads, else by the machine's CPU pressure; `None` for short and unobserved trials.
    fn new(case: &Case<'_>, trial: &Trial) -> Option<Self> {
        let measured = trial.measured.as_ref().filter(|one| one.elapsed_ns >= SHORTEST_NS)?;
        let others = cpus_of_others(trial, measured)?;
        let command = command::CommandDetail::of(measured);
        let span_ns = match command {
            Some(command) => command.judged_ns(measured.window_ns).max(1.0),
            None => measured.elapsed_ns as f64,
        };
        let threads = f64::from(case.workload.work.threads().max(1));
        let own_share = measured.waited_ns.map(|waited| waited as f64 / threads / span_ns);
        let used_cpus = seconds(trial.all_cpu_ns()) / seconds(measured.elapsed_ns);
        let concerns_workload = |share: &f64| used_cpus >= FEWEST_OWN || *share > PRESSURE_OF_ALL;
        // A command's own short waits prove nothing, because they do not include its children.
        let decisive = own_share.filter(|own| command.is_none() || *own > MOST_WAITING);
        let (share, is_own) = if let Some(own) = decisive {
            (own, true)
        } else if let Some(machine_pressure) = pressure(trial).filter(concerns_workload) {
            (machine_pressure, false)
        } else {
            (own_share?, true)
        };
        // Clocks read one after the other may differ.
        Some(Self { share: share.min(1.0), is_own, others })
    }

    fn is_long(&self) -> bool {
        self.share > if self.is_own { MOST_WAITING } else { MOST_PRESSURE }
    }

    fn is_for_others(&self) -> bool {
        self.others > FEWEST_OTHERS
    }
}

/// Share of the time in which some task waited for a processor.
fn pressure(trial: &Trial) -> Option<f64> {
    let pressure = trial.evidence.pressure.value()?.machine.value()?;
    let waited_ns = pressure.waited.get("cpu")?.some_ns;
    (pressure.span_ns > 0).then(|| waited_ns as f64 / pressure.span_ns as f64)
}

/// Number of CPUs used by neither this trial nor the kernel.
fn cpus_of_others(trial: &Trial, measured: &Measured) -> Option<f64> {
    let cpu = trial.evidence.cpu.value()?;
    let busy = *cpu.busy_ns.value()?;
    let kernel = cpu.kernel_threads_ns.value().copied().unwrap_or(0);
    let others = busy.saturating_sub(kernel).saturating_sub(trial.all_cpu_ns());
    // Results of older versions lack the span.
    let span_ns = cpu.span_ns.value().copied().filter(|span_ns| *span_ns > 0);
    Some(seconds(others) / seconds(span_ns.unwrap_or(measured.elapsed_ns)))
}

fn largest(waits: &[WaitShare], of: impl Fn(&WaitShare) -> f64) -> Option<f64> {
    waits.iter().map(of).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_machine::probes::pressure::{Pressure, WaitTime};
    use assay_machine::system::site::TargetKind;
    use assay_study::findings::Trust;
    use assay_study::results::record::Repeats;

    use super::super::disturbance;
    use super::super::testing::{Bench, cpu, measured};
    use super::*;

    const MS: u64 = 1_000_000;

    /// One-second trials, in which others used the CPU for `busy_ms` and the thread waited for `waited_ms`.
    fn bench(busy_ms: u64, waited_ms: Option<u64>) -> Bench {
        Bench::read().first(2, move |trial| {
            cpu(trial).busy_ns = Presence::Present(busy_ms * MS);
            measured(trial).waited_ns = waited_ms.map(|ms| ms * MS);
        })
    }

    #[test]
    fn speaks_when_others_had_the_processors() {
        let remark = bench(1_950, Some(790)).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        let said = "the tool waited for a CPU for up to 79% of the time while other programs used up to 1.85 CPUs";
        assert_eq!(remark.text, format!("{said}, in 2 of 3 trials"));
        let read_late = bench(1_950, Some(790))
            .each(|trial| cpu(trial).span_ns = Presence::Present(2_000 * MS));
        let remark = read_late.judge(&RULE).unwrap();
        assert!(remark.text.contains("used up to 0.93 CPUs"), "{}", remark.text);
    }

    #[test]
    fn its_own_threads_waiting_for_each_other_are_a_note() {
        let remark = bench(150, Some(400)).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Trusted);
        assert_eq!(remark.text, "tool threads waited for a CPU for up to 40% of the time");
        let of_four = bench(1_950, Some(390)).io(|io| io.threads = 4);
        assert_eq!(of_four.judge(&RULE), None);
    }

    #[test]
    fn pressure_speaks_where_the_waiting_was_not_recorded() {
        let pressed = |some_ms: u64, busy_ms| {
            bench(busy_ms, None).each(move |trial| {
                let waited = WaitTime { some_ns: some_ms * MS, full_ns: None };
                let waited = [("cpu".to_owned(), waited)].into();
                let pressure = Pressure { span_ns: 1_000 * MS, waited };
                trial.evidence.pressure = Presence::Present(pressure.into());
                measured(trial).waited_ns = None;
            })
        };
        assert_eq!(
            pressed(996, 1_950).judge(&RULE).unwrap().text,
            "programs waited for a CPU for up to 100% of the time while other programs used up to 1.85 CPUs, \
             in 2 of 3 trials"
        );
        assert_eq!(pressed(400, 1_950).judge(&RULE), None);
        assert_eq!(pressed(996, 150).judge(&RULE), None);
    }

    /// Runs of a command, `wall_ms` per one-second trial with `cpu_ms`; the program waited for `waited_ms`, any task
    /// for `pressed_ms`, and others used two CPUs.
    fn command(wall_ms: u64, cpu_ms: u64, waited_ms: u64, pressed_ms: u64) -> Option<RuleRemark> {
        let bench = Bench::command().each(move |trial| {
            cpu(trial).busy_ns = Presence::Present(1_950 * MS);
            let waited = WaitTime { some_ns: pressed_ms * MS, full_ns: None };
            let pressure =
                Pressure { span_ns: 1_000 * MS, waited: [("cpu".to_owned(), waited)].into() };
            trial.evidence.pressure = Presence::Present(pressure.into());
            let measured = measured(trial);
            (measured.window_ns, measured.cpu_ns) = (wall_ms * MS, cpu_ms * MS);
            measured.waited_ns = Some(waited_ms * MS);
            let detail = command::CommandDetail::of_mut(measured).unwrap();
            (detail.runs, detail.shell_ns) = (10, Some(1e6));
        });
        bench.judge(&RULE)
    }

    #[test]
    fn command_that_waited_itself_is_suspect() {
        // Ten runs of 82 ms with 10 ms of sleep: almost no CPU time.
        let sleep = command(820, 5, 700, 600).unwrap();
        assert_eq!(sleep.trust, Trust::Suspect);
        assert!(sleep.text.contains("up to 86% of the time"), "{}", sleep.text);
        // A tenth of the time without the shell's starts.
        assert!(command(820, 5, 82, 0).is_some());
        assert_eq!(command(820, 5, 80, 0), None);
        // For runs hardly longer than the shell's start, a tenth of that start.
        assert!(command(11, 5, 2, 0).is_some());
        assert_eq!(command(11, 5, 1, 0), None);
    }

    #[test]
    fn nothing_is_trusted_where_somebody_always_waits() {
        // The waits of children are invisible; gzip had 0.16 s of 6.04 s.
        assert!(command(1_000, 27, 0, 990).unwrap().text.contains("programs waited"));
        assert!(command(1_000, 5, 0, 901).is_some());
        assert_eq!(command(1_000, 5, 0, 899), None);
        assert!(command(1_000, 101, 0, 501).is_some());
        assert_eq!(command(1_000, 101, 0, 499), None);
    }

    /// The disturbance of the first trial, with a gate on a metric if given.
    fn disturbed(bench: &Bench, gated: Option<&str>) -> Option<String> {
        bench.with_case(|case| disturbance(case, case.trials[0], gated))
    }

    #[test]
    fn in_a_study_with_a_gate_it_disturbs_the_trial() {
        let bench = bench(1_950, Some(790));
        assert_eq!(bench.disturbances(&RULE), [None, None, None]);
        assert_eq!(disturbed(&bench, None), None);
        let told = disturbed(&bench, Some("iops")).unwrap();
        let said =
            "the tool waited for a CPU for 79% of the time while other programs used 1.85 CPUs";
        assert_eq!(told, said);
        // Memory use and bytes written do not depend on CPU waits.
        assert_eq!(disturbed(&bench, Some("peak_memory_bytes")), None);
        let quiet = bench.each(|trial| measured(trial).waited_ns = Some(100 * MS));
        assert_eq!(disturbed(&quiet, Some("iops")), None);
    }

    #[test]
    fn what_is_left_out_takes_nothing_from_the_number() {
        // Its first trial was disturbed, and ran again at the end.
        let spoilt = |count: usize| {
            Bench::read()
                .each(|trial| cpu(trial).busy_ns = Presence::Present(1_950 * MS))
                .each(|trial| measured(trial).waited_ns = Some(10 * MS))
                .first(count, |trial| measured(trial).waited_ns = Some(790 * MS))
                .first(count, |trial| trial.status = Status::Disturbed)
        };
        let few = spoilt(1);
        assert_eq!(few.judge(&RULE).unwrap().trust, Trust::Suspect, "two are too few");
        let mut repeated = spoilt(1);
        let mut again = repeated.trials[1].clone();
        (again.replicate, again.repeats) = (4, Some(Repeats { replicate: 1, order: 0 }));
        repeated.trials.push(again);
        let note = repeated.judge(&RULE).unwrap();
        assert_eq!(note.trust, Trust::Trusted);
        assert!(note.text.ends_with(", in 1 of 4 trials; the trial is excluded"), "{}", note.text);
        // A single disturbed trial that counts is one too many.
        repeated.trials[1].status = Status::Ok;
        measured(&mut repeated.trials[1]).waited_ns = Some(500 * MS);
        assert_eq!(repeated.judge(&RULE).unwrap().trust, Trust::Suspect);
    }

    #[test]
    fn silent_at_a_tenth_in_short_runs_and_without_evidence() {
        assert_eq!(bench(1_950, Some(100)).judge(&RULE), None);
        let short = bench(1_950, Some(790)).each(|trial| measured(trial).elapsed_ns = 49 * MS);
        assert_eq!(short.judge(&RULE), None);
        let unknown = bench(1_950, Some(790)).each(|trial| {
            cpu(trial).busy_ns = Presence::absent("unreadable");
        });
        assert_eq!(unknown.judge(&RULE), None);
        let simulated = bench(1_950, Some(790)).site(|site| site.kind = TargetKind::Simulated);
        assert_eq!(simulated.judge(&RULE), None);
    }
}
