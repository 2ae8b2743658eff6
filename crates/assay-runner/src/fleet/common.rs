//! Merges the surveys of all ranks into a common plan, and proves that all plans are equal.

use std::collections::BTreeMap;

use assay_core::digest::{hexadecimal, sha256};
use assay_study::plan::race;
use assay_study::results::course;
use assay_study::results::design::Stopping;
use assay_study::results::fleet::words;
use assay_study::results::plan::{Pilot, Plan, PlannedWorkload, Refusal, Scatter, Survey};
use assay_workloads::io;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Common {
    pub surveys: Vec<SharedSurvey>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedSurvey {
    pub length: u64,
    pub fill_ns: u64,
    pub pilot: Pilot,
    /// Nanoseconds that the slowest rank took to create its device stack.
    pub made_ns: u64,
    /// Levels that are unavailable on any rank: no rank runs them.
    pub refused: Vec<Refusal>,
}

pub struct OfRank<'a> {
    pub rank: u32,
    pub name: &'a str,
    pub surveys: &'a [Survey],
}

/// Merges the surveys of all ranks, target by target: the smallest area, the slowest times. Fails if targets differ.
pub fn merge(ranks: &[OfRank<'_>]) -> Result<Common, String> {
    let Some((first, others)) = ranks.split_first() else {
        return Ok(Common { surveys: Vec::new() });
    };
    for other in others {
        check_alike(first, other)?;
    }
    let merge_target = |target: usize| {
        let surveys = || ranks.iter().map(|rank| &rank.surveys[target]);
        SharedSurvey {
            length: surveys().map(|survey| survey.area.length).min().unwrap_or_default(),
            fill_ns: surveys().map(|survey| survey.area.fill_ns).max().unwrap_or_default(),
            pilot: merge_pilots(surveys().map(|survey| &survey.pilot)),
            made_ns: surveys().map(|survey| survey.made_ns).max().unwrap_or_default(),
            refused: merge_refusals(ranks, target),
        }
    };
    Ok(Common { surveys: (0..first.surveys.len()).map(merge_target).collect() })
}

/// Rejects a rank whose survey cannot lead to the same plan.
fn check_alike(first: &OfRank<'_>, other: &OfRank<'_>) -> Result<(), String> {
    let (name, zero) = (words(other.rank, other.name), words(first.rank, first.name));
    if first.surveys.len() != other.surveys.len() {
        return Err(format!(
            "{name} has {} targets, but {zero} has {}; use the same number of targets on each host",
            other.surveys.len(),
            first.surveys.len()
        ));
    }
    for (expected, found) in first.surveys.iter().zip(other.surveys) {
        let difference = if found.under != expected.under {
            "the targets have different layers"
        } else if found.kind != expected.kind {
            "the targets are of different kinds"
        } else if found.area.written != expected.area.written {
            "one target is read-only"
        } else if found.direct.value().is_some() != expected.direct.value().is_some() {
            "one target uses direct I/O, the other the page cache"
        } else if found.engine.name != expected.engine.name {
            "the kernels have different asynchronous I/O engines"
        } else {
            continue;
        };
        let (found, expected) = (&found.target, &expected.target);
        return Err(format!("{name}, {found}, does not match {zero}, {expected}: {difference}"));
    }
    Ok(())
}

/// Levels unavailable on at least one rank, each once, with the first such rank.
fn merge_refusals(ranks: &[OfRank<'_>], target: usize) -> Vec<Refusal> {
    let mut merged: Vec<Refusal> = Vec::new();
    for rank in ranks {
        for Refusal { levels, reason } in &rank.surveys[target].refused {
            if merged.iter().all(|known| known.levels != *levels) {
                let reason = format!("{}: {reason}", words(rank.rank, rank.name));
                merged.push(Refusal { levels: levels.clone(), reason });
            }
        }
    }
    merged
}

/// Merges pilots: for each workload the slowest operation, the greatest spread and the first refusal.
fn merge_pilots<'a>(pilots: impl Iterator<Item = &'a Pilot>) -> Pilot {
    let mut whole = Pilot::default();
    for pilot in pilots {
        merge_by(&mut whole.operation_ns, &pilot.operation_ns, |one, other| (*one).max(*other));
        merge_by(&mut whole.scatter, &pilot.scatter, |one, other| Scatter {
            between: one.between.max(other.between),
            within_s: one.within_s.max(other.within_s),
        });
        merge_by(&mut whole.refused, &pilot.refused, |one, _| one.clone());
    }
    whole
}

/// Adds the values of `from` to `into`; `merge` combines the values of a key that is in both.
fn merge_by<T: Clone>(
    into: &mut BTreeMap<String, T>,
    from: &BTreeMap<String, T>,
    merge: fn(&T, &T) -> T,
) {
    for (key, value) in from {
        let entry = into.entry(key.clone());
        entry.and_modify(|known| *known = merge(known, value)).or_insert_with(|| value.clone());
    }
}

impl SharedSurvey {
    /// Replaces the measured values of a survey by the common ones.
    pub fn apply_to(&self, survey: &mut Survey) {
        survey.area.length = survey.area.length.min(self.length);
        survey.area.fill_ns = self.fill_ns;
        survey.pilot = self.pilot.clone();
        survey.made_ns = self.made_ns;
        survey.refused.clone_from(&self.refused);
    }
}

/// Hashes of a plan without its targets, in parts to name a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    pub design: String,
    pub settings: String,
    /// Every trial in order, with its seed.
    pub order: String,
}

impl Proof {
    /// Hashes the parts of a plan that must be equal on all ranks.
    pub fn new(plan: &Plan) -> Self {
        let hash =
            |json: serde_json::Result<Vec<u8>>| hexadecimal(&sha256(json.unwrap_or_default()));
        // Notes describe a single host, so they may differ.
        let drop_note = |own: &PlannedWorkload| PlannedWorkload { note: None, ..own.clone() };
        let workloads: Vec<PlannedWorkload> = plan.workloads.iter().map(drop_note).collect();
        let times = (plan.idle_ns, plan.gap_ns, plan.budget_ns, plan.deadline_ns);
        Self {
            design: hash(serde_json::to_vec(&(
                &plan.format,
                &plan.design,
                plan.replicates,
                &plan.probes,
            ))),
            settings: hash(serde_json::to_vec(&(&workloads, times))),
            order: hash(serde_json::to_vec(&(plan.seed, &plan.trials))),
        }
    }

    pub fn sha256(&self) -> String {
        hexadecimal(&sha256(format!("{} {} {}", self.design, self.settings, self.order)))
    }

    /// Returns how a plan differs; `None` if both are equal.
    pub fn differs(&self, other: &Self) -> Option<&'static str> {
        if self == other {
            None
        } else if self.design != other.design {
            Some(
                "the comparisons or rules differ; use the same study file and options on all hosts",
            )
        } else if self.settings != other.settings {
            Some(
                "the configurations differ: a level is unavailable on that host, or the target on that host does not \
                 support the level",
            )
        } else {
            Some("the trial order differs")
        }
    }
}

/// Rejects a plan whose trials cannot be summed over hosts.
pub fn check_mergeable(plan: &Plan) -> Result<(), String> {
    let refuse = |how: &str| Err(format!("--coordinator does not support this study yet: {how}"));
    if race::is_one(plan) || course::is_of(plan) || plan.design.stopping != Stopping::Fixed {
        return refuse(
            "the number of trials depends on results; use --replicates, without --until",
        );
    }
    for workload in &plan.workloads {
        let Some(io) = io::IoPlan::of(&workload.work) else {
            return refuse(&format!("workload {} does more than read and write", workload.name));
        };
        if workload.background.is_some() || workload.work.is_others() {
            return refuse(&format!("{} runs with a background load", workload.name));
        }
        if io.verify {
            return refuse(&format!("{} uses verification", workload.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_study::file::text;
    use assay_study::plan;
    use assay_study::results::plan::{Area, Arm, DirectUse, EngineUse};
    use assay_workloads::io::Engine;

    use super::*;

    const STUDY: &str = r#"
format = "assay-study/1"
title = "t"
replicates = 3
margin = "5%"
[factors]
queue_depth = [1, 8]
[[workload]]
name = "read"
io = { pattern = "random", mix = "read", block_size = "4 KiB" }
"#;

    fn survey(target: &str, length: u64, operation_ns: u64) -> Survey {
        let operation_ns =
            ["read queue_depth=1", "read queue_depth=8"].map(|key| (key.to_owned(), operation_ns));
        Survey {
            area: Area { start: 0, length, asked: 1 << 30, written: true, fill_ns: length },
            direct: Presence::Present(DirectUse { memory_alignment: 512, offset_alignment: 512 }),
            engine: EngineUse { name: Engine::IoUring, note: None },
            pilot: Pilot { operation_ns: operation_ns.into(), ..Pilot::default() },
            ..Survey::untaken(target, "a test")
        }
    }

    /// The plans of all ranks, each from the rank's survey and the common data.
    fn plans(surveys: Vec<Vec<Survey>>) -> Result<Vec<Plan>, String> {
        let ranks: Vec<OfRank<'_>> = (0..)
            .zip(&surveys)
            .map(|(rank, surveys)| OfRank { rank, name: "n", surveys })
            .collect();
        let common = merge(&ranks)?;
        let study = text::parse("test", STUDY).unwrap();
        let plan = |mut own: Vec<Survey>| {
            own.iter_mut().zip(&common.surveys).for_each(|(own, shared)| shared.apply_to(own));
            plan::make(&study, own, 7)
        };
        Ok(surveys.into_iter().map(plan).collect())
    }

    #[test]
    fn all_ranks_make_one_plan_of_the_smallest_area_and_the_slowest_pilot() {
        let found = plans(vec![
            vec![survey("/a", 1 << 30, 80_000)],
            vec![survey("/b", 1 << 28, 90_000)],
            vec![survey("/c", 1 << 29, 2_000_000)],
        ])
        .unwrap();
        for plan in &found {
            assert_eq!(plan.surveys[0].area.length, 1 << 28);
            assert_eq!(plan.surveys[0].pilot.operation_ns["read queue_depth=1"], 2_000_000);
            assert_eq!(Proof::new(plan), Proof::new(&found[0]));
        }
        assert_ne!(found[0].sha256, found[1].sha256, "the whole plan names its target");
        assert_eq!(found[0].trials, found[2].trials);
    }

    #[test]
    fn a_level_that_one_of_them_cannot_have_is_left_out_on_all_by_name() {
        let mut lacking = survey("/b", 1 << 30, 1000);
        let levels = Arm::from([("queue_depth".to_owned(), "8".to_owned())]);
        lacking.refused.push(Refusal { levels, reason: "it has no such depth".to_owned() });
        let found = plans(vec![vec![survey("/a", 1 << 30, 1000)], vec![lacking]]).unwrap();
        for plan in found {
            assert!(plan.trials.iter().all(|trial| trial.arm["queue_depth"] == "1"));
            assert_eq!(plan.absent[0].reason, "rank 1 (n): it has no such depth");
        }
    }

    #[test]
    fn a_rank_that_is_too_different_is_named() {
        let refused = |change: &dyn Fn(&mut Survey)| {
            let mut other = survey("/b", 1 << 30, 1000);
            change(&mut other);
            plans(vec![vec![survey("/a", 1 << 30, 1000)], vec![other]]).unwrap_err()
        };
        assert!(refused(&|own| own.area.written = false).contains("rank 1 (n), /b"));
        assert!(refused(&|own| own.direct = Presence::absent("no")).contains("page cache"));
        assert!(
            refused(&|own| own.engine.name = Engine::Psync).contains("asynchronous I/O engines")
        );
        let more = plans(vec![vec![survey("/a", 1 << 30, 1)], Vec::new()]).unwrap_err();
        assert!(more.contains("rank 1 (n) has 0 targets"), "{more}");
    }

    #[test]
    fn the_part_that_differs_is_told() {
        let plan = |text: &str, seed| {
            let study = text::parse("test", text).unwrap();
            Proof::new(&plan::make(&study, vec![survey("/a", 1 << 30, 1000)], seed))
        };
        let own = plan(STUDY, 7);
        assert_eq!(own.differs(&plan(STUDY, 7)), None);
        assert_eq!(own.sha256(), plan(STUDY, 7).sha256());
        assert!(own.differs(&plan(STUDY, 8)).unwrap().contains("order"));
        assert!(own.differs(&plan(&STUDY.replace("4 KiB", "8 KiB"), 7)).is_some());
        assert!(own.differs(&plan(&STUDY.replace("5%", "6%"), 7)).unwrap().contains("rules"));
    }

    #[test]
    fn a_study_whose_trials_have_no_sum_is_refused_by_name() {
        let plan = |text: &str| {
            let study = text::parse("test", text).unwrap();
            check_mergeable(&plan::make(&study, vec![survey("/a", 1 << 30, 1000)], 7))
        };
        assert_eq!(plan(STUDY), Ok(()));
        let other = STUDY.replace(
            "io = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }",
            "command = { run = \"true\" }",
        );
        let other = other.replace("queue_depth = [1, 8]", "");
        assert!(
            plan(&other).unwrap_err().contains("does more than read and write"),
            "{:?}",
            plan(&other)
        );
        let looks = STUDY.replace(
            "replicates = 3",
            "replicates = 12\nstop = { rule = \"interim\", interim_at = [6, 12] }",
        );
        assert!(plan(&looks).unwrap_err().contains("--replicates"));
    }
}
