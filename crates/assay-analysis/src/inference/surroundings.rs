//! Activity of the machine during the trials of each row, and the drives before and after.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::{presence::Presence, quantity::units::show};
use assay_machine::probes::{Evidence, is_not_recorded};
use assay_machine::probes::{drive_health::Health, energy::Energy, load::CpuTicks, plain::leaves};
use assay_study::findings::Check;
use assay_study::results::environment::Environment;
use assay_study::results::surroundings::facts::{
    Activity, DriveHealth, Hottest, ObservedField, WorkloadSurroundings,
};
use serde_json::Value;

use super::rows::RowTrials;

/// Counters that grow on every drive without wear.
const EVERYDAY: [&str; 2] = ["power_on_hours", "error_log_entries"];

/// Adds the activity in a row's trials. The A/A control and unmeasured rows can only add the energy source.
pub(super) fn add_row(activity: &mut Activity, row: &RowTrials<'_>) {
    if !row.workload.control && row.trust.is_some() {
        activity.workloads.extend(row_activity(row));
        activity.observed.extend(observed_fields(row));
    }
    if activity.energy_of.is_none() {
        let first = row.counting().find_map(|trial| trial.record.evidence.energy.value());
        activity.energy_of = first.map(|energy| format!("{}: {}", energy.source, energy.what));
    }
}

/// Adds the change in each drive's health and the idle power, both recorded once per study.
pub(super) fn add_drives_and_idle(activity: &mut Activity, environment: &Environment) {
    let recorded = &environment.surroundings;
    for (name, before) in &recorded.health_before {
        let after = recorded.health_after.get(name);
        activity.drives.extend(after.and_then(|after| health_change(name, before, after)));
    }
    activity.idle_w = recorded.idle.value().map(Energy::watts);
}

pub(super) fn drive_checks(surroundings: &Activity, environment: &Environment) -> Vec<Check> {
    let mut found = Vec::new();
    for drive in &surroundings.drives {
        found.extend(wear_words(drive, environment).map(|text| Check::new("wear", text)));
        if !drive.grown.is_empty() {
            let words = |(name, count): (&String, &u64)| {
                format!("{} {}", name.replace('_', " "), show::count(*count))
            };
            let grown: Vec<String> = drive.grown.iter().map(words).collect();
            let text = format!("{} counters increased: {}", drive.drive, grown.join(", "));
            found.push(Check::new("drive-health", text));
        }
    }
    found
}

pub(super) fn other_studies_check(environment: &Environment) -> Option<Check> {
    let seen = &environment.surroundings.studies;
    let which = match seen.len() {
        0 => return None,
        1 => "another study".to_owned(),
        count => format!("{count} other studies"),
    };
    let text = format!(
        "{which} ran on this machine at the same time: studies share at least the CPUs and can disturb each other; \
         Assay marks visibly disturbed trials. Run studies one at a time"
    );
    Some(Check::new("studies", text))
}

/// `nvme0n1 reports 4% of its rated endurance used (3% before), 12 GiB since the study began on 2026-07-30`.
fn wear_words(drive: &DriveHealth, environment: &Environment) -> Option<String> {
    let mut facts = Vec::new();
    if let Some([before, after]) = drive.used_percent {
        let rose = if before == after { String::new() } else { format!(" ({before}% before)") };
        facts.push(format!("{after}% of its rated endurance used{rose}"));
    }
    let after = environment.surroundings.health_after.get(&drive.drive).and_then(Presence::value);
    if let Some(bytes) = after.and_then(|after| after.written_bytes) {
        // Vendors rate drives in TB.
        facts.push(format!("{} TB written in total", show::three_digits(bytes as f64 / 1e12)));
    }
    let date = environment.started.chars().take(10).collect::<String>();
    let written = drive.written_bytes.map(show::bytes);
    facts.extend(written.map(|bytes| format!("{bytes} since the study began on {date}")));
    (!facts.is_empty()).then(|| format!("{} reports {}", drive.drive, facts.join(", ")))
}

/// The change in a drive's health over the study; `None` unless both records exist.
fn health_change(
    name: &str,
    before: &Presence<Health>,
    after: &Presence<Health>,
) -> Option<DriveHealth> {
    let (before, after) = (before.value()?, after.value()?);
    let grown = after.counters.iter().filter_map(|(counter, late)| {
        let early = before.counters.get(counter)?;
        let growth = late.checked_sub(*early).filter(|growth| *growth > 0)?;
        (!EVERYDAY.contains(&counter.as_str())).then(|| (counter.clone(), growth))
    });
    Some(DriveHealth {
        drive: name.to_owned(),
        written_bytes: before
            .written_bytes
            .zip(after.written_bytes)
            .map(|(early, late)| late.saturating_sub(early)),
        used_percent: before.used_percent.zip(after.used_percent).map(<[_; 2]>::from),
        temperature_c: before.temperature_c.zip(after.temperature_c).map(<[_; 2]>::from),
        grown: grown.collect(),
    })
}

/// The activity during the trials of a row; `None` if no trial recorded any.
fn row_activity(row: &RowTrials<'_>) -> Option<WorkloadSurroundings> {
    let evidence: Vec<&Evidence> = row.counting().map(|trial| &trial.record.evidence).collect();
    let n = evidence.iter().filter(|evidence| has_activity(evidence)).count();
    if n == 0 {
        return None;
    }
    let cpus = ticks_by_cpu(&evidence);
    let sum = |ticks: fn(&CpuTicks) -> u64| cpus.values().map(ticks).fold(0, u64::saturating_add);
    let share = |part: u64, total: u64| (total > 0).then(|| part as f64 / total as f64);
    let busy_shares = cpus.values().filter_map(|cpu| share(cpu.busy, cpu.total));
    let memories = evidence.iter().filter_map(|evidence| evidence.memory.value()?.machine.value());
    let swapped =
        memories.map(|memory| memory.swapped_in_pages.saturating_add(memory.swapped_out_pages));
    let energies: Vec<_> = evidence.iter().filter_map(|evidence| evidence.energy.value()).collect();
    let joules: f64 = energies.iter().map(|energy| energy.joules).sum();
    let seconds: f64 = energies.iter().map(|energy| energy.span_ns as f64 / 1e9).sum();
    Some(WorkloadSurroundings {
        workload: row.workload.name.clone(),
        configuration: row.arm.clone(),
        n,
        busy_share: share(sum(|cpu| cpu.busy), sum(|cpu| cpu.total)),
        busiest_share: busy_shares.max_by(f64::total_cmp),
        steal_share: share(sum(|cpu| cpu.steal), sum(|cpu| cpu.total)),
        pressure_shares: pressure_shares(&evidence),
        swapped_pages: swapped.reduce(u64::saturating_add),
        hottest: hottest_sensor(&evidence),
        energy_j: (!energies.is_empty()).then(|| joules / energies.len() as f64),
        power_w: (seconds > 0.0).then(|| joules / seconds),
    })
}

fn has_activity(evidence: &Evidence) -> bool {
    !(is_not_recorded(&evidence.load)
        && is_not_recorded(&evidence.pressure)
        && is_not_recorded(&evidence.memory)
        && is_not_recorded(&evidence.temperature)
        && is_not_recorded(&evidence.power_supply)
        && is_not_recorded(&evidence.clock)
        && is_not_recorded(&evidence.kernel_log)
        && is_not_recorded(&evidence.energy))
}

/// The time of each CPU over all trials, by what it did.
fn ticks_by_cpu(evidence: &[&Evidence]) -> BTreeMap<u32, CpuTicks> {
    let mut cpus: BTreeMap<u32, CpuTicks> = BTreeMap::new();
    for ticks in evidence.iter().filter_map(|evidence| evidence.load.value()).flatten() {
        let sum = cpus.entry(ticks.cpu).or_default();
        sum.busy = sum.busy.saturating_add(ticks.busy);
        sum.steal = sum.steal.saturating_add(ticks.steal);
        sum.total = sum.total.saturating_add(ticks.total);
    }
    cpus
}

/// Share of all trials' time in which something waited for each resource.
fn pressure_shares(evidence: &[&Evidence]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for evidence in evidence {
        let Some(pressure) = evidence.pressure.value().and_then(|all| all.machine.value()) else {
            continue;
        };
        for (resource, waited) in &pressure.waited {
            let (some_ns, span_ns) = sums.entry(resource).or_default();
            *some_ns = some_ns.saturating_add(waited.some_ns);
            *span_ns = span_ns.saturating_add(pressure.span_ns);
        }
    }
    sums.retain(|_, (_, span_ns)| *span_ns > 0);
    // The kernel counts in steps, which may extend beyond the ends.
    let share = |(some_ns, span_ns): (u64, u64)| (some_ns as f64 / span_ns as f64).min(1.0);
    sums.into_iter().map(|(resource, sums)| (resource.to_owned(), share(sums))).collect()
}

/// The sensor with the highest temperature in any trial, and its range.
fn hottest_sensor(evidence: &[&Evidence]) -> Option<Hottest> {
    let mut sensors: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for temperature in evidence.iter().filter_map(|evidence| evidence.temperature.value()) {
        for (name, sensor) in &temperature.sensors {
            let (from, to) = sensors.entry(name).or_insert((i64::MAX, i64::MIN));
            *from = (*from).min(sensor.before_mc);
            *to = (*to).max(sensor.before_mc).max(sensor.after_mc);
        }
    }
    let (sensor, (from_mc, to_mc)) = sensors.into_iter().max_by_key(|(_, (_, to))| *to)?;
    let [from_c, to_c] = [from_mc, to_mc].map(|mc| mc as f64 / 1e3);
    Some(Hottest { sensor: sensor.to_owned(), from_c, to_c })
}

#[derive(Default)]
struct FieldSum {
    numbers: Vec<f64>,
    words: Vec<String>,
}

fn observed_fields(row: &RowTrials<'_>) -> Vec<ObservedField> {
    let observed = row.counting().flat_map(|trial| trial.record.evidence.plain());
    let by_probe = observed.map(|(entry, observed)| (entry.about.name, observed));
    let mut fields = summarize_fields(by_probe);
    for field in &mut fields {
        field.workload.clone_from(&row.workload.name);
        field.configuration.clone_from(&row.arm);
    }
    fields
}

/// Summarizes what probes observed in some trials field by field; each observation has the name of its probe.
fn summarize_fields(
    observed: impl Iterator<Item = (&'static str, Presence<Value>)>,
) -> Vec<ObservedField> {
    let mut sums: BTreeMap<(&str, String), FieldSum> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, String> = BTreeMap::new();
    for (probe, observed) in observed {
        match observed {
            Presence::Present(observed) => {
                for (path, leaf) in leaves(&observed) {
                    add_leaf(sums.entry((probe, path)).or_default(), leaf);
                }
            }
            Presence::Absent(reason) => _ = reasons.entry(probe).or_insert(reason),
        }
    }
    // A probe that worked in any trial is not reported as absent.
    reasons.retain(|probe, _| !sums.keys().any(|(present, _)| present == probe));
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
    let present = sums.into_iter().map(|((probe, path), sum)| ObservedField {
        probe: probe.to_owned(),
        field: Some(path),
        n: sum.numbers.len().max(sum.words.len()),
        mean: (!sum.numbers.is_empty()).then(|| mean(&sum.numbers)),
        min: sum.numbers.iter().copied().reduce(f64::min),
        max: sum.numbers.iter().copied().reduce(f64::max),
        words: sum.words.into_iter().collect::<BTreeSet<_>>().into_iter().collect(),
        ..ObservedField::default()
    });
    let absent = reasons.into_iter().map(|(probe, reason)| ObservedField {
        probe: probe.to_owned(),
        reason: Some(reason),
        ..ObservedField::default()
    });
    present.chain(absent).collect()
}

fn add_leaf(sum: &mut FieldSum, leaf: &Value) {
    match leaf {
        Value::String(word) => sum.words.push(word.clone()),
        Value::Bool(flag) => sum.words.push(if *flag { "yes" } else { "no" }.to_owned()),
        _ => sum.numbers.extend(leaf.as_f64()),
    }
}

/// Warns if two targets are on the same drive: then their comparison does not compare drives.
pub(super) fn shared_drive_check(environment: &Environment) -> Option<Check> {
    let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for site in &environment.sites {
        for drive in &site.drives {
            users.entry(&drive.name).or_default().insert(&site.target);
        }
    }
    let (drive, targets) = users.into_iter().find(|(_, targets)| targets.len() > 1)?;
    let text = format!(
        "{} are on the same drive ({drive}): a difference is due to filesystem, directory or position, not to drives",
        Vec::from_iter(targets).join(" and ")
    );
    Some(Check::new("shared-drive", text))
}

#[cfg(test)]
mod tests {
    use assay_machine::probes::memory::Memory;
    use assay_machine::probes::not_recorded;
    use assay_machine::probes::pressure::{Pressure, WaitTime};
    use assay_machine::probes::temperature::{Sensor, Temperature};

    use serde_json::json;

    use super::super::tests::Bench;
    use super::*;

    /// Three one-second trials on a machine with two processors.
    fn watched() -> Bench {
        Bench::new(&["."]).row(0, "sync-write", 4096, &[1024; 3]).each(|trial| {
            let cpu = |cpu, busy| CpuTicks { cpu, busy, iowait: 0, steal: 2, total: 100 };
            let io = WaitTime { some_ns: 400_000_000, full_ns: None };
            let sensor = |before_mc, after_mc| Sensor { before_mc, after_mc, limit_mc: None };
            let hot = trial_number(trial.replicate);
            trial.evidence = Evidence {
                load: Presence::Present(vec![cpu(0, 80), cpu(1, 20)]),
                pressure: Presence::Present(
                    Pressure { span_ns: 1_000_000_000, waited: [("io".to_owned(), io)].into() }
                        .into(),
                ),
                memory: Presence::Present(
                    Memory { swapped_in_pages: 2, ..Memory::default() }.into(),
                ),
                temperature: Presence::Present(Temperature {
                    sensors: [
                        ("drive".to_owned(), sensor(30_000, 31_000 + 1_000 * hot)),
                        ("board".to_owned(), sensor(29_000, 29_500)),
                    ]
                    .into(),
                    slow_processors: None,
                }),
                energy: Presence::Present(Energy {
                    source: "powercap".to_owned(),
                    what: "packages".to_owned(),
                    span_ns: 2_000_000_000,
                    joules: 10.0 * (hot + 1) as f64,
                    parts: BTreeMap::new(),
                }),
                ..trial.evidence.clone()
            };
        })
    }

    fn trial_number(replicate: u32) -> i64 {
        i64::from(replicate)
    }

    #[test]
    fn a_row_is_told_over_all_its_trials() {
        let found = watched().findings().environment.activity;
        let row = &found.workloads[0];
        assert_eq!((row.workload.as_str(), row.n), ("sync-write", 3));
        assert_eq!((row.busy_share, row.busiest_share), (Some(0.5), Some(0.8)));
        assert_eq!((row.steal_share, row.swapped_pages), (Some(0.02), Some(6)));
        assert_eq!(row.pressure_shares["io"], 0.4);
        let hottest = Hottest { sensor: "drive".to_owned(), from_c: 30.0, to_c: 34.0 };
        assert_eq!(row.hottest, Some(hottest));
        assert_eq!((row.energy_j, row.power_w), (Some(30.0), Some(15.0)));
        assert_eq!(found.energy_of.as_deref(), Some("powercap: packages"));
    }

    #[test]
    fn counters_beyond_all_numbers_do_no_harm() {
        let bench = watched().each(|trial| {
            let most = u64::MAX;
            let cpu = |cpu| CpuTicks { cpu, busy: most, iowait: 0, steal: most, total: most };
            let io = WaitTime { some_ns: most, full_ns: None };
            trial.evidence.load = Presence::Present(vec![cpu(0), cpu(1)]);
            let waited = [("io".to_owned(), io)].into();
            trial.evidence.pressure = Presence::Present(Pressure { span_ns: most, waited }.into());
            let memory =
                Memory { swapped_in_pages: most, swapped_out_pages: most, ..Memory::default() };
            trial.evidence.memory = Presence::Present(memory.into());
            if let Presence::Present(devices) = &mut trial.evidence.disk {
                for device in devices.values_mut() {
                    device.run.busy_ms = most / 8;
                }
            }
        });
        let row = &bench.findings().environment.activity.workloads[0];
        assert_eq!((row.busy_share, row.swapped_pages), (Some(1.0), Some(u64::MAX)));
    }

    #[test]
    fn what_was_not_watched_is_not_told() {
        let bench = Bench::new(&["."]).row(0, "sync-write", 4096, &[1024; 3]);
        assert!(bench.findings().environment.activity.is_empty());
    }

    #[test]
    fn energy_becomes_metrics_and_the_idle_machine_is_left_out() {
        let mut bench = watched();
        let value = |bench: &Bench, metric: &str| {
            let cells = bench.findings().measurements;
            let cell = cells.into_iter().find(|cell| cell.metric == metric);
            cell.map(|cell| cell.trials.iter().filter_map(|trial| trial.value).sum::<f64>() / 3.0)
        };
        assert_eq!(value(&bench, "energy_j"), Some(30.0));
        assert_eq!(value(&bench, "power_w"), Some(15.0));
        // 1024 operations of 4 KiB are 4 MiB.
        assert_eq!(value(&bench, "energy_j_per_gib"), Some(30.0 * 256.0));
        assert_eq!(value(&bench, "energy_above_idle_j"), None);
        let idle = |source: &str, joules| Energy {
            source: source.to_owned(),
            what: "packages".to_owned(),
            span_ns: 10_000_000_000,
            joules,
            parts: BTreeMap::new(),
        };
        bench.environment.surroundings.idle = Presence::Present(idle("powercap", 40.0));
        assert_eq!(value(&bench, "energy_above_idle_j"), Some(22.0));
        assert_eq!(bench.findings().environment.activity.idle_w, Some(4.0));
        bench.environment.surroundings.idle = Presence::Present(idle("meter", 40.0));
        assert_eq!(value(&bench, "energy_above_idle_j"), None);
    }

    #[test]
    fn energy_that_nobody_tells_is_not_missed() {
        let missed = |energy: Presence<Energy>| {
            let bench = Bench::new(&["."]).row(0, "sync-write", 4096, &[1024; 3]);
            let bench = bench.each(|trial| trial.evidence.energy = energy.clone());
            let absent = bench.findings().absent;
            absent.iter().filter(|entry| entry.metric.as_deref() == Some("energy_j")).count()
        };
        assert_eq!(missed(not_recorded()), 0);
        assert_eq!(missed(Presence::absent("the counters are root's")), 1);
    }

    #[test]
    fn what_a_study_did_to_a_drive_is_a_sentence() {
        const BEFORE: u64 = 41_000_000_000_000;
        let health = |written_bytes, used, errors| {
            Presence::Present(Health {
                source: "nvme".to_owned(),
                temperature_c: Some(40),
                used_percent: Some(used),
                written_bytes: Some(written_bytes),
                counters: [
                    ("media_errors".to_owned(), errors),
                    ("power_on_hours".to_owned(), errors),
                ]
                .into(),
                ..Health::default()
            })
        };
        let told = |after: Presence<Health>| {
            let mut bench = watched();
            let found = &mut bench.environment.surroundings;
            found.health_before.insert("nvme0n1".to_owned(), health(BEFORE, 3, 0));
            found.health_after.insert("nvme0n1".to_owned(), after);
            drive_checks(&bench.findings().environment.activity, &bench.environment)
                .into_iter()
                .map(|check| format!("{}: {}", check.name, check.text))
                .collect::<Vec<_>>()
        };
        let wear = |used: &str| {
            format!(
                "wear: nvme0n1 reports {used}, 41 TB written in total, 2 GiB since the study began on 2026-07-30"
            )
        };
        let late = BEFORE + (2 << 30);
        let rose = "4% of its rated endurance used (3% before)";
        assert_eq!(told(health(late, 4, 0)), [wear(rose)]);
        let worse = told(health(late, 3, 2));
        let errors = "drive-health: nvme0n1 counters increased: media errors 2".to_owned();
        assert_eq!(worse, [wear("3% of its rated endurance used"), errors]);
        assert!(told(Presence::absent("gone")).is_empty());
    }

    #[test]
    fn who_looked_on_is_told_with_the_result() {
        let mut bench = watched();
        let told = |bench: &Bench| {
            let checks = bench.findings().checks;
            checks.into_iter().find(|check| check.name == "observer").map(|check| check.text)
        };
        assert_eq!(told(&bench), None);
        bench.environment.observer = Some("a page was drawn".to_owned());
        assert_eq!(told(&bench).as_deref(), Some("a page was drawn"));
    }

    #[test]
    fn studies_that_ran_meanwhile_are_told_with_the_result() {
        let mut bench = watched();
        let told = |bench: &Bench| {
            let checks = bench.findings().checks;
            checks.into_iter().find(|check| check.name == "studies").map(|check| check.text)
        };
        assert_eq!(told(&bench), None);
        bench.environment.surroundings.studies = [4711].into();
        let one = told(&bench).unwrap();
        assert!(one.starts_with("another study ran on this machine"), "{one}");
        bench.environment.surroundings.studies = [4711, 12].into();
        assert!(told(&bench).unwrap().starts_with("2 other studies ran"));
    }

    #[test]
    fn numbers_have_a_mean_words_stand_once_and_what_is_absent_has_its_reason() {
        let told = |open: u64, mode: &str| Presence::Present(json!({ "open": open, "mode": mode }));
        let observed = [
            ("files", told(2, "fast")),
            ("files", told(4, "fast")),
            ("files", Presence::absent("not in one trial")),
            ("fans", Presence::absent("there are none")),
        ];
        let found = summarize_fields(observed.into_iter());
        let fields: Vec<_> =
            found.iter().map(|one| (one.probe.as_str(), one.field.as_deref(), one.n)).collect();
        let known = [("files", Some("mode"), 2), ("files", Some("open"), 2), ("fans", None, 0)];
        assert_eq!(fields, known);
        assert_eq!(found[0].words, ["fast"]);
        assert_eq!((found[1].mean, found[1].min, found[1].max), (Some(3.0), Some(2.0), Some(4.0)));
        assert_eq!(found[2].reason.as_deref(), Some("there are none"));
    }
}
