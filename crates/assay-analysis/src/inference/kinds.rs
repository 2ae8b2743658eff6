//! Facts that kinds of work extract from their rows, doubts about their numbers, and their sentences.

use assay_core::{exhibit::Subject, presence::Presence, quantity::units::show};
use assay_machine::probes::is_not_recorded;
use assay_machine::probes::temperature::{LEAST_LIMIT_MC, Temperature};
use assay_study::findings::{Because, Findings, Measurement, Sentence, SentenceRole, Trust};
use assay_study::results::plan::arm_in_words;
use assay_study::results::record::{Status, Trial};
use assay_workloads::production::ProductionDetail;
use assay_workloads::tell::{Failed, NearLimit, Resting, RowView, TriggeredRule};
use assay_workloads::{Measured, WorkFacts};

use super::rows::RowTrials;

/// Facts of a row's trials; none for the A/A control, which would repeat them under the same name.
pub(super) fn facts_of(row: &RowTrials<'_>) -> Option<WorkFacts> {
    let tells = row.workload.work.tells().filter(|_| !row.workload.control)?;
    let records = || row.counting().map(|trial| trial.record);
    let near_limits: Vec<Option<Presence<NearLimit>>> =
        records().map(|record| sensor_near_limit(&record.evidence.temperature)).collect();
    let trials: Vec<Option<&Measured>> = records().map(|record| record.measured.as_ref()).collect();
    let with_status = |status| row.trials.iter().filter(move |trial| trial.record.status == status);
    let warmups = with_status(Status::Warmup).filter_map(|trial| trial.record.measured.as_ref());
    let left_out: Vec<&Measured> = warmups.collect();
    let failed = with_status(Status::Failed).map(|trial| {
        let Trial { started, reason, .. } = trial.record;
        Failed { started, reason: reason.as_deref().unwrap_or_default() }
    });
    let failed: Vec<Failed<'_>> = failed.collect();
    let view = RowView {
        subject: &Subject { workload: row.workload.name.clone(), arm: row.arm.clone() },
        trials: &trials,
        left_out: &left_out,
        failed: &failed,
        spoken: &triggered_rules(row),
        near_limits: &near_limits,
    };
    tells.facts(&view)
}

/// A metric whose trust the rules may change; `None` for all others.
pub(super) fn as_judged(
    metric: &str,
    row: &RowTrials<'_>,
    measured: &Measured,
) -> Option<Result<f64, String>> {
    row.workload.work.tells()?.as_judged(metric, measured, &triggered_rules(row))
}

/// The remarks on a row in the form for kinds of work.
fn triggered_rules<'a>(row: &'a RowTrials<'_>) -> Vec<TriggeredRule<'a>> {
    let mut rules = Vec::new();
    for (rule, remark) in &row.remarks {
        let invalid = remark.trust == Trust::Invalid;
        rules.push(TriggeredRule { rule, invalid, text: &remark.text });
    }
    rules
}

/// The sensor closest to its throttling temperature; `None` if temperatures were not recorded.
fn sensor_near_limit(temperature: &Presence<Temperature>) -> Option<Presence<NearLimit>> {
    if is_not_recorded(temperature) {
        return None;
    }
    Some(match temperature {
        Presence::Present(temperature) => Presence::from_option(
            nearest_sensor(temperature),
            "no sensor reports a throttling temperature",
        ),
        Presence::Absent(reason) => Presence::absent(reason.clone()),
    })
}

fn nearest_sensor(temperature: &Temperature) -> Option<NearLimit> {
    let sensors = temperature.sensors.iter().filter_map(|(name, sensor)| {
        let limit_mc = sensor.limit_mc.filter(|mc| *mc > LEAST_LIMIT_MC)?;
        let most_mc = sensor.before_mc.max(sensor.after_mc);
        Some(NearLimit { name: name.clone(), most_mc, limit_mc })
    });
    sensors.min_by_key(|sensor| sensor.limit_mc.saturating_sub(sensor.most_mc))
}

/// Fills facts with the numbers of their rows, and adds doubts about these numbers to their sentences.
pub(super) fn complete_facts(found: &mut Findings) {
    let Findings { measurements: cells, of_kinds, .. } = found;
    for facts in of_kinds.all_mut() {
        let subject = facts.subject();
        facts.settle(&|metric| row_number(cells, &subject, metric));
        let Some(because) = worst_remark(cells, &subject) else { continue };
        // The sentence that depends on the row's numbers, and its replacement for invalid rows.
        let Some(Resting { text, unsaid: replacement }) = facts.resting() else { continue };
        if let Some(instead) = replacement.filter(|_| because.trust == Trust::Invalid) {
            instead.clone_into(text);
        }
        let why = because.text.trim_end_matches('.');
        *text = format!("{text} The numbers are {}: {why}.", because.trust.word());
    }
}

fn row_number(cells: &[Measurement], subject: &Subject, metric: &str) -> Option<f64> {
    let cell = cells.iter().find(|cell| cell.metric == metric && is_of(cell, subject));
    cell.and_then(Measurement::value)
}

/// The remark with the lowest trust on a row's primary number.
fn worst_remark<'a>(cells: &'a [Measurement], subject: &Subject) -> Option<&'a Because> {
    let cells = cells.iter().filter(|cell| cell.primary && is_of(cell, subject));
    let because = cells.flat_map(|cell| &cell.reasons);
    because.filter(|one| one.trust != Trust::Trusted).max_by_key(|one| one.trust)
}

/// Whether a number belongs to the row itself, not to its A/A control.
fn is_of(cell: &Measurement, subject: &Subject) -> bool {
    cell.workload == subject.workload && cell.configuration == subject.arm && !cell.control
}

pub(super) fn sentences(found: &Findings) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for exhibit in found.kind_exhibits() {
        let leads = exhibit.leads && found.race.is_none();
        let role = if leads { SentenceRole::Answer } else { SentenceRole::Finding };
        for one in exhibit.sentences {
            let text = match one.about.arm.get("target") {
                Some(target) => format!("{target}: {}", one.text),
                None => one.text,
            };
            sentences.push(Sentence::new(role, &exhibit.topic, text));
        }
    }
    sentences
}

/// A sentence on the first trial in which Assay rolled back the level of a row.
pub(super) fn rollback(workload: &str, trials: &[&Trial]) -> Option<Sentence> {
    let first = trials.iter().copied().find_map(|record| {
        let measured = record.measured.as_ref()?;
        Some((record, measured.elapsed_ns, ProductionDetail::of(measured)?.harm.as_ref()?))
    });
    let (record, after_ns, breach): (&Trial, u64, _) = first?;
    let text = format!(
        "{workload}: Assay rolled back {} after {} (trial {}) because it harmed the production workload for three \
         seconds ({}). Assay did not retry it, so it has no ratio.",
        arm_in_words(record.arm.iter()),
        show::duration(after_ns as f64),
        record.order,
        breach.words()
    );
    Some(Sentence::new(SentenceRole::Warning, "rollback", text))
}

#[cfg(test)]
mod tests {
    use assay_core::exhibit::Levels;
    use assay_machine::probes::not_recorded;
    use assay_machine::probes::temperature::Sensor;
    use assay_workloads::sustained::{self, RateLevel, WriteTimeline};
    use assay_workloads::{WorkPlan, recorded};

    use super::super::rows::row_of;
    use super::super::tests::Bench;
    use super::*;

    #[test]
    fn what_rests_on_doubted_numbers_says_so_and_the_rest_says_nothing_of_it() {
        let told = |trust: Trust| {
            let bench = Bench::new(&["."]).row(0, "sustained-write", 4096, &[100; 3]);
            let mut found = bench.findings();
            let level = RateLevel {
                from_bytes: 0,
                from_ci95_bytes: None,
                rate_bytes_per_s: 4e6,
                rate_ci95: None,
            };
            let course = WriteTimeline {
                written_bytes: 1,
                levels: vec![level],
                declines: None,
                rests: None,
                again: None,
            };
            let facts = sustained::SustainedFacts {
                workload: "sustained-write".to_owned(),
                configuration: Levels::new(),
                timeline: course,
                several: None,
                text: "It writes 4 MB/s.".to_owned(),
            };
            found.of_kinds = vec![WorkFacts::from(facts)].into();
            for cell in &mut found.measurements {
                let text = "the device delivered none of it".to_owned();
                cell.reasons = vec![Because { rule: "cached".to_owned(), trust, text }];
                cell.trust = Some(trust);
            }
            complete_facts(&mut found);
            let own = Subject { workload: "sustained-write".to_owned(), arm: Levels::new() };
            let primary = found.measurements.iter().find(|cell| cell.primary).unwrap();
            assert_eq!(row_number(&found.measurements, &own, &primary.metric), primary.value());
            assert_eq!(row_number(&found.measurements, &own, "capacity_usable_bytes"), None);
            let said = sentences(&found).remove(0);
            assert_eq!(said.topic, "sustained");
            said.text
        };
        assert_eq!(told(Trust::Trusted), "It writes 4 MB/s.");
        assert_eq!(
            told(Trust::Suspect),
            "It writes 4 MB/s. The numbers are suspect: the device delivered none of it."
        );
        assert_eq!(
            told(Trust::Invalid),
            "The sustained rate is unknown. The numbers are invalid: the device delivered none of it."
        );
    }

    /// A planned workload of the kind whose trials are recorded.
    fn recorded_work() -> Option<WorkPlan> {
        let (entry, _) = recorded::kind()?;
        let work = (entry.sample)();
        Some(work.records()?.planned())
    }

    #[test]
    fn a_second_copy_of_the_baseline_tells_nothing() {
        let Some(work) = recorded_work() else { return };
        let mut bench = Bench::new(&["."]).row(0, "own", 4096, &[100; 3]);
        bench.plan.workloads[0].work = work;
        let tells = |bench: &Bench| {
            let trials: Vec<&Trial> = bench.trials.iter().collect();
            facts_of(&row_of(&bench.plan.workloads[0], &bench.plan, &bench.environment, &trials))
                .is_some()
        };
        assert!(tells(&bench));
        bench.plan.workloads[0].control = true;
        assert!(!tells(&bench));
    }

    #[test]
    fn a_second_copy_of_the_baseline_speaks_against_itself_alone() {
        let bench = Bench::new(&["."]).row(0, "sustained-write", 4096, &[100; 3]);
        let mut cells = bench.findings().measurements;
        for cell in &mut cells {
            let (rule, text) = ("cached".to_owned(), "memory answered".to_owned());
            cell.reasons = vec![Because { rule, trust: Trust::Suspect, text }];
        }
        let own = Subject { workload: "sustained-write".to_owned(), arm: Levels::new() };
        assert!(worst_remark(&cells, &own).is_some());
        for cell in &mut cells {
            cell.control = true;
        }
        assert!(worst_remark(&cells, &own).is_none());
    }

    #[test]
    fn what_was_nearest_to_its_limit_is_handed_on_and_what_nobody_looked_at_is_not() {
        let at = |after_mc, limit_mc| {
            let sensor = Sensor { before_mc: 30_000, after_mc, limit_mc };
            let cool = Sensor { before_mc: 20_000, after_mc: 21_000, limit_mc: Some(90_000) };
            let sensors = [("nvme0 Composite".to_owned(), sensor), ("cpu".to_owned(), cool)];
            Presence::Present(Temperature { sensors: sensors.into(), slow_processors: None })
        };
        let name = |seen: &Presence<Temperature>| {
            let near = sensor_near_limit(seen)?;
            Some(near.map(|own| (own.name, own.most_mc, own.limit_mc)))
        };
        let hot = ("nvme0 Composite".to_owned(), 61_000, 82_000);
        assert_eq!(name(&at(61_000, Some(82_000))), Some(Presence::Present(hot)));
        let cool = ("cpu".to_owned(), 21_000, 90_000);
        assert_eq!(name(&at(61_000, None)), Some(Presence::Present(cool)));
        let empty = Temperature::default();
        let untold = sensor_near_limit(&Presence::Present(empty)).unwrap();
        assert!(untold.reason().unwrap().starts_with("no sensor reports"));
        let none = Presence::absent("the kernel shows none");
        assert_eq!(sensor_near_limit(&none), Some(Presence::absent("the kernel shows none")));
        assert_eq!(sensor_near_limit(&not_recorded()), None);
    }

    /// Includes a warm-up and a disturbed trial: data lost without a power cut counts in any trial.
    #[test]
    fn what_a_trial_that_is_left_out_has_lost_is_told() {
        let work = r#"{"durability": {"writer": "log", "synced_by": "fdatasync", "record_bytes": 4096, "acknowledged_writes": 9,
            "crash_points": 1, "assumed_drive": "honors-flushes", "assumed_atomic_bytes": 4096}}"#;
        let detail = r#"{"durability": {"writes": 9, "written_bytes": 9, "syncs": 9, "rounds": 9, "acknowledged_writes": 9,
            "window_ns": 9, "crash_points": 0, "lost": 0, "outcomes": {}, "read_again": [8, 8],
            "unacknowledged_writes": {"present": 0, "missing": 0, "torn": 0, "out_of_order": 0}, "lost_without_crash": {"write": 1, "at_bytes": 0,
            "bytes": 4096, "written_step": 1, "acknowledged_step": 3, "found": "nothing"}}}"#;
        let failure = |status: Status, detail: &str| {
            let change = |record: &mut Trial| {
                record.status = status;
                if let Some(measured) = &mut record.measured {
                    measured.detail = serde_json::from_str(detail).unwrap();
                }
            };
            let mut bench = Bench::new(&["."]).row(0, "own", 4096, &[100; 3]).each(change);
            bench.plan.workloads[0].work = serde_json::from_str(work).unwrap();
            let trials: Vec<&Trial> = bench.trials.iter().collect();
            facts_of(&row_of(&bench.plan.workloads[0], &bench.plan, &bench.environment, &trials))
                .and_then(|facts| facts.failure())
        };
        for status in [Status::Ok, Status::Disturbed, Status::Warmup] {
            let told = failure(status, detail);
            assert!(told.is_some_and(|own| own.contains("lost on the target")), "{status:?}");
        }
        let kept = detail.replace("lost_without_crash", "something_else");
        assert_eq!(failure(Status::Warmup, &kept), None);
    }

    /// They ran elsewhere, and no rule judged them.
    #[test]
    fn of_what_others_recorded_failures_are_told_and_no_trust_and_no_emulator() {
        let failed = |record: &mut Trial| {
            (record.status, record.measured) = (Status::Failed, None);
            record.reason = Some("it was cut off".to_owned());
        };
        let Some(work) = recorded_work() else { return };
        let mut bench = Bench::new(&["."]).row(0, "own", 4096, &[100; 3]).each(failed).emulated();
        bench.plan.workloads[0].work = work;
        let found = bench.findings();
        let told: Vec<&WorkFacts> = found.of_kinds.all().collect();
        let [told] = told[..] else { panic!("{told:?}") };
        // The kind gets all three and writes one sentence; nothing else mentions them.
        let [sentence] = &found.summary[..] else { panic!("{:?}", found.summary) };
        assert_eq!(sentence.topic, told.key());
        assert!(sentence.text.starts_with("own: ") && sentence.text.contains('3'));
        assert_eq!(format!("{told:?}").matches("it was cut off").count(), 3);
    }

    /// Work without facts is unchanged.
    #[test]
    fn rows_of_other_kinds_tell_nothing() {
        let found = Bench::new(&["."]).row(0, "random-read", 4096, &[100; 3]).findings();
        assert!(found.of_kinds.is_empty() && sentences(&found).is_empty());
    }
}
