//! One question: a workload and a metric with its arms, each as a short table of runs.

use std::collections::BTreeMap;

use assay_core::quantity::{Better, Scale};
use assay_study::findings::{TrialValue, Trust, measurements::Series};
use assay_study::plan::arms::matches;
use assay_study::results::{design::Design, plan::Arm, record::Status};

/// What the study compares: its arms (combinations of levels) in one workload by one metric.
pub(super) struct Question<'a> {
    pub workload: &'a str,
    pub metric: &'a str,
    pub better: Better,
    pub scale: Scale,
    pub primary: bool,
    /// The workload, if these are requests of one of its classes.
    pub class_of: Option<&'a str>,
    /// Number of questions that share this error: those on the workload's classes, or on all live work (R5b).
    pub sharing: usize,
    /// Arms in the order of the study, without the A/A control.
    pub arms: Vec<Runs<'a>>,
    pub control: Option<Runs<'a>>,
    indexes: BTreeMap<&'a Arm, usize>,
}

/// One arm of a question: its trials by replicate, on the scale of comparison.
pub(super) struct Runs<'a> {
    pub arm: &'a Arm,
    pub trust: Option<Trust>,
    pub trials: &'a [TrialValue],
    pub first: Replicates,
    /// By first replicate: its repeats, each with its own replicate.
    pub repeats: BTreeMap<u32, Vec<(u32, ArmTrial)>>,
}

#[derive(Clone, Copy)]
pub(super) struct Sides<'q, 'a> {
    pub baseline: &'q Runs<'a>,
    pub arm: &'q Runs<'a>,
}

/// Runs by replicate, each once.
pub(super) struct Replicates(Vec<(u32, ArmTrial)>);

impl Replicates {
    /// Of duplicate replicates, the last counts.
    fn new(mut runs: Vec<(u32, ArmTrial)>) -> Self {
        runs.reverse();
        runs.sort_by_key(|(replicate, _)| *replicate);
        runs.dedup_by_key(|(replicate, _)| *replicate);
        Self(runs)
    }

    pub fn get(&self, replicate: u32) -> Option<&ArmTrial> {
        // Usually no replicate is missing, so this index avoids a search.
        let index = replicate.checked_sub(self.0.first()?.0)? as usize;
        let found = self.0.get(index).filter(|(own, _)| *own == replicate);
        let search = || self.0.binary_search_by_key(&replicate, |(own, _)| *own);
        found.or_else(|| self.0.get(search().ok()?)).map(|(_, run)| run)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&u32, &ArmTrial)> {
        self.0.iter().map(|(replicate, run)| (replicate, run))
    }

    pub fn keys(&self) -> impl Iterator<Item = &u32> {
        self.iter().map(|(replicate, _)| replicate)
    }

    pub fn values(&self) -> impl Iterator<Item = &ArmTrial> {
        self.iter().map(|(_, run)| run)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ArmTrial {
    /// The logarithm of the value, or the value itself for metrics compared by difference.
    pub level: f64,
    pub order: Option<u32>,
    pub disturbed: bool,
    pub outlier: bool,
}

/// Groups series by workload and metric, in their order; `live` are the names of production workloads.
pub(super) fn questions<'a>(
    all: impl IntoIterator<Item = &'a Series>,
    live: &[String],
) -> Vec<Question<'a>> {
    let mut questions: Vec<Question<'a>> = Vec::new();
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for series in all {
        let key = (series.workload.as_str(), series.metric.as_str());
        let index = *known.entry(key).or_insert(questions.len());
        if index == questions.len() {
            questions.push(Question::new(series));
        }
        questions[index].add(series);
    }
    let classes: Vec<&str> =
        questions.iter().filter(|one| one.primary).filter_map(|one| one.class_of).collect();
    let is_live = |of: &str| live.iter().any(|name| name == of);
    for question in questions.iter_mut().filter(|one| one.primary) {
        let Some(workload) = question.class_of else { continue };
        // The classes of a workload share its error, and so do those of all production workloads.
        let shares = |of: &&&str| **of == workload || is_live(workload) && is_live(of);
        question.sharing = classes.iter().filter(shares).count();
    }
    questions
}

impl<'a> Question<'a> {
    fn new(series: &'a Series) -> Self {
        Self {
            workload: &series.workload,
            metric: &series.metric,
            better: series.better,
            scale: series.scale,
            primary: series.primary,
            class_of: series.class_of.as_deref(),
            sharing: 1,
            arms: Vec::new(),
            control: None,
            indexes: BTreeMap::new(),
        }
    }

    fn add(&mut self, series: &'a Series) {
        let runs = Runs::new(series);
        if series.control {
            self.control = Some(runs);
        } else {
            self.indexes.insert(runs.arm, self.arms.len());
            self.arms.push(runs);
        }
    }

    pub fn find(&self, arm: &Arm) -> Option<&Runs<'a>> {
        self.indexes.get(arm).map(|index| &self.arms[*index])
    }

    pub fn is_suspect(&self, arm: &Arm) -> bool {
        self.find(arm).is_some_and(|runs| runs.trust == Some(Trust::Suspect))
    }

    /// The baseline of an arm; `None` for a baseline, and if the baseline was not measured.
    pub fn baseline_of(&self, design: &Design, arm: &Arm) -> Option<&Runs<'a>> {
        let baseline = crate::inference::baseline_arm(design, arm);
        if baseline == *arm { None } else { self.find(&baseline) }
    }

    pub fn baselines(&self, design: &Design) -> impl Iterator<Item = &Runs<'a>> {
        self.arms.iter().filter(|runs| matches(runs.arm, &design.baseline))
    }
}

impl<'a> Runs<'a> {
    fn new(series: &'a Series) -> Self {
        let (mut first, mut repeats) = (Vec::new(), BTreeMap::<u32, Vec<_>>::new());
        for trial in &series.trials {
            let Some(run) = arm_trial(trial, series.scale) else { continue };
            match trial.repeats {
                None => first.push((trial.replicate, run)),
                Some(of) => repeats.entry(of.replicate).or_default().push((trial.replicate, run)),
            }
        }
        let first = Replicates::new(first);
        Self { arm: &series.arm, trust: series.trust, trials: &series.trials, first, repeats }
    }

    /// The run of a replicate: the first one, or an undisturbed repeat if it was disturbed.
    pub fn undisturbed_run(&self, replicate: u32) -> Option<ArmTrial> {
        let first = self.first.get(replicate)?;
        if !first.disturbed {
            return Some(*first);
        }
        let repeats = self.repeats.get(&replicate)?;
        repeats.iter().map(|(_, run)| *run).find(|run| !run.disturbed)
    }

    /// Numbers of started trials (without warm-ups) and of failed ones.
    pub fn started_and_failed(&self) -> (u64, u64) {
        let started = self.trials.iter().filter(|trial| trial.status != Status::Warmup);
        let failed = started.clone().filter(|trial| trial.status == Status::Failed);
        (started.count() as u64, failed.count() as u64)
    }
}

/// A trial on the scale of comparison; `None` for a failed trial, a warm-up, or a value without a ratio.
pub(super) fn arm_trial(trial: &TrialValue, scale: Scale) -> Option<ArmTrial> {
    let disturbed = match trial.status {
        Status::Ok => false,
        Status::Disturbed => true,
        Status::Failed | Status::Warmup => return None,
    };
    let value = trial.value?;
    let level = match scale {
        Scale::Ratio => (value > 0.0).then(|| value.ln())?,
        Scale::Difference => value,
    };
    let run = ArmTrial { level, order: trial.order, disturbed, outlier: trial.outlier };
    level.is_finite().then_some(run)
}
