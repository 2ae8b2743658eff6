//! Knowledge of a session on the production workload: its baseline, and the levels that harmed it.

use std::time::Duration;

use super::event::{Context, Event};
use super::lookout::Post;
use super::places::Place;
use super::survey::Surveyed;
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::units::show;
use assay_load::Bystanders;
use assay_machine::probes::{Moment, ProbeRequest, Probes, Scene};
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{System, Watchdog};
use assay_study::plan::arms;
use assay_study::plan::design::Demands;
use assay_study::results::plan::{Arm, Plan, PlannedTrial, PlannedWorkload, arm_words};
use assay_study::results::record::Trial;
use assay_workloads::production::{HarmLimits, ProductionDetail, Second};
use assay_workloads::{Run, production};

/// Longest observation of the production workload before any change.
const FIRST_LOOK: Duration = Duration::from_secs(10);

/// Rejects a study under the production workload on targets whose workload Assay cannot observe.
pub fn check_observable(demands: &Demands, places: &[Place]) -> Outcome<()> {
    if !demands.watches() {
        return Ok(());
    }
    if demands.own_target().is_some() {
        return Err(Failure::mistake(
            "--scratch: a device created for a study has no production workload; remove --scratch, \
             and use a busy directory or device",
        ));
    }
    let [place] = places else {
        return Err(Failure::mistake(
            "cannot compare two targets, because their loads differ; give one target",
        ));
    };
    let site = &place.site;
    if site.kind == TargetKind::Simulated {
        return Err(Failure::mistake(
            "a simulated drive has no production workload; use a busy directory or device",
        ));
    }
    if !site.counted.is_empty() {
        return Ok(());
    }
    let why = site.backing_reason.as_deref().unwrap_or("no known block device below the target");
    Err(Failure::refused(format!(
        "{}: {why}, so Assay cannot observe it; use a directory or device that assay watch shows",
        site.target
    )))
}

/// Starts a watchdog process if the study changes settings under the production workload.
pub fn start_watchdog(
    system: &dyn System,
    demands: &Demands,
    id: &str,
) -> Outcome<Option<Box<dyn Watchdog>>> {
    if !demands.watches() || !demands.sets() {
        return Ok(None);
    }
    system.start_watchdog(id).map(Some).map_err(|error| {
        Failure::refused(format!(
            "cannot start the watchdog process, which restores settings if this process is killed: {error}"
        ))
    })
}

#[derive(Debug, Default)]
pub struct Others {
    /// Seconds of the original machine and of the baseline's periods; each entry has no gaps.
    baseline: Vec<Vec<Second>>,
    dropped: Vec<(Arm, String)>,
}

impl Others {
    pub fn from_records<'t>(plan: &Plan, records: impl IntoIterator<Item = &'t Trial>) -> Self {
        let mut others = Self::default();
        for record in records {
            others.learn(plan, record);
        }
        others
    }

    /// Learns from a trial: a rollback drops its arm (its levels), other trials of the baseline set the harm limits.
    pub fn learn(&mut self, plan: &Plan, record: &Trial) {
        let Some(detail) = record.measured.as_ref().and_then(ProductionDetail::of) else { return };
        match &detail.harm {
            Some(breach) if self.drop_reason(&record.arm).is_none() => {
                let reason = format!("rolled back in trial {}: {}", record.order, breach.words());
                self.dropped.push((record.arm.clone(), reason));
            }
            None if arms::matches(&record.arm, &plan.design.baseline) => {
                self.baseline.push(detail.counted().to_vec());
            }
            Some(_) | None => {}
        }
    }

    /// Returns why an arm is not tried again; `None` if it may be.
    pub fn drop_reason(&self, arm: &Arm) -> Option<&str> {
        let (_, reason) = self.dropped.iter().find(|(other, _)| other == arm)?;
        Some(reason.as_str())
    }

    /// Limits beyond which a trial's arm is rolled back, from all data on the baseline.
    pub fn limits(&self, plan: &Plan, planned: &PlannedTrial) -> Option<HarmLimits> {
        let factor = plan.workloads[planned.workload].work.harm()?;
        let stretches: Vec<&[Second]> = self.baseline.iter().map(Vec::as_slice).collect();
        HarmLimits::from_baseline(factor, &stretches)
    }

    /// Why no further trial makes sense; `None` while no level was rolled back, or one is left to compare.
    pub fn end_reason(&self, plan: &Plan) -> Option<String> {
        let (last, reason) = self.dropped.last()?;
        let baseline = &plan.design.baseline;
        let dropped_baseline = self.dropped.iter().find(|(arm, _)| arms::matches(arm, baseline));
        if let Some((arm, reason)) = dropped_baseline {
            return Some(format!(
                "the baseline {} harmed the production workload ({reason}); use another --baseline",
                arm_words(arm)
            ));
        }
        let is_left = |work: &PlannedWorkload| {
            !work.control
                && !arms::matches(&work.arm, baseline)
                && self.drop_reason(&work.arm).is_none()
        };
        if plan.workloads.iter().any(is_left) {
            return None;
        }
        Some(format!("no level is left to compare; {} was {reason}", arm_words(last)))
    }

    /// Observes the unchanged production workload briefly: the first data of the baseline, which sets the harm limits.
    pub fn first_look(
        &mut self,
        context: &mut Context<'_>,
        plan: &Plan,
        site: &Site,
        surveyed: &Surveyed<'_>,
        probes: &mut Probes,
    ) -> Result<(), String> {
        let Some(workload) = plan.workloads.first() else { return Ok(()) };
        let time_ns = workload.time_ns.min(FIRST_LOOK.as_nanos() as u64);
        let what = format!(
            "the harm limit: {} of the unchanged production workload",
            show::duration(time_ns as f64)
        );
        (context.tell)(Event::Making { what });
        let system: &dyn System = context.system;
        let asked = ProbeRequest { probes: &plan.probes, meter: None };
        let scene = Scene { system, site, file: None, asked };
        probes.look(Moment::Ready, &scene);
        let post = Post::new(scene, probes);
        let ran = workload.work.run(&Run {
            time_ns,
            study_seed: surveyed.seed,
            lookout: Some(&post),
            ..Run::new(system, surveyed.medium(), &site.path, &Bystanders::now(), context.stop)
        })?;
        let detail = production::ProductionDetail::of(&ran.measured);
        self.baseline.extend(detail.map(|detail| detail.seconds.clone()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use assay_study::file::text;
    use assay_study::results::record::Trial;
    use assay_workloads::production::{Breach, ClassRequests};

    use super::*;

    /// A study of three levels on a fake machine, with one trial.
    fn plan() -> Plan {
        let text = "format = \"assay-study/1\"\ntitle = \"Live\"\naa_control = false\n[factors]\n\
            aa_copy = [\"a\", \"b\", \"c\"]\n[[workload]]\nname = \"live\"\nproduction = {}\n";
        let study = text::parse("test", text).unwrap().settled();
        let fake = assay_machine::system::Fake::sata_ssd().unwrap();
        let targets = [".".to_owned()];
        let consented = super::super::Consented::default();
        super::super::preview(&fake, study, &targets, &consented, None).unwrap().plan
    }

    fn record(plan: &Plan, level: &str, mean_ms: u64, harm: bool) -> Trial {
        let trial = plan.trials.iter().find(|one| one.arm["aa_copy"] == level && !one.is_lead_in());
        let trial = trial.unwrap();
        let fake = assay_machine::system::Fake::new();
        let mut record = super::super::trial::not_run(&fake, trial, "");
        let served = ClassRequests {
            requests: 100,
            sum_ns: mean_ms * 100_000_000,
            ..ClassRequests::default()
        };
        let second = Second {
            span_ns: 1_000_000_000,
            classes: [("read".to_owned(), served)].into(),
            ..Second::default()
        };
        let breach =
            Breach { what: production::HarmKind::Age, class: String::new(), seen: 9e9, limit: 1e9 };
        let detail = ProductionDetail {
            seconds: vec![second; 4],
            harm: harm.then_some(breach),
            ..ProductionDetail::default()
        };
        record.measured = Some(assay_workloads::Measured {
            window_ns: 0,
            elapsed_ns: 0,
            cpu_ns: 0,
            waited_ns: None,
            claims: assay_workloads::Claims::default(),
            values: std::collections::BTreeMap::new(),
            absent: std::collections::BTreeMap::new(),
            notes: Vec::new(),
            detail: detail.into(),
        });
        record
    }

    #[test]
    fn only_the_baseline_says_what_hurts() {
        let plan = plan();
        let told = [record(&plan, "b", 40, false), record(&plan, "a", 5, false)];
        let others = Others::from_records(&plan, &told);
        let limits = others.limits(&plan, &plan.trials[0]).unwrap();
        assert_eq!(limits.classes["read"].mean_ns, Some(1e7));
        assert!(Others::default().limits(&plan, &plan.trials[0]).is_none());
    }

    #[test]
    fn a_level_that_hurt_is_dropped_and_the_study_goes_on_while_another_is_left() {
        let plan = plan();
        let level = |level: &str| Arm::from([("aa_copy".to_owned(), level.to_owned())]);
        let mut others = Others::from_records(&plan, &[record(&plan, "b", 5, true)]);
        let reason = others.drop_reason(&level("b")).unwrap();
        assert!(reason.contains("for at least 9 s"), "{reason}");
        assert_eq!((others.drop_reason(&level("c")), others.end_reason(&plan)), (None, None));
        others.learn(&plan, &record(&plan, "c", 5, true));
        let over = others.end_reason(&plan).unwrap();
        assert!(over.starts_with("no level is left to compare"), "{over}");
        let others = Others::from_records(&plan, &[record(&plan, "a", 5, true)]);
        assert!(others.end_reason(&plan).unwrap().contains("use another --baseline"));
    }
}
