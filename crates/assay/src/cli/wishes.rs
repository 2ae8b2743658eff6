//! A study and what the command line changes of it: shared by `run` and `plan`.

use std::collections::BTreeMap;

use clap::Args;

use super::studies;
use crate::failure::{Failure, Outcome};
use crate::plan::arms::TARGET;
use crate::quantity::{Bytes, Percent, Time};
use crate::study::{StopRule, Study, Target, fields::SMALLEST_BUDGET, file};
use crate::system::System;

/// A study with the command line's wishes.
#[derive(Debug, Args)]
pub struct Wishes {
    /// A study file, or the name of a shipped study
    #[arg(value_name = "STUDY")]
    study: String,
    /// Directories, files or block devices instead of the study's own; several are compared
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Levels of a factor, such as depth=1,4,16 (again for another factor)
    #[arg(long, value_name = "NAME=LEVEL,LEVEL")]
    set: Vec<String>,
    /// Complete passes over all arms
    #[arg(long, value_name = "N")]
    replicates: Option<u32>,
    /// Seed of order, offsets and content; drawn where it is not given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Time for each target, such as 10m: the study ends with the replicate that is nearest
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    /// Short trials: a first look, with every level
    #[arg(long, conflicts_with = "budget")]
    quick: bool,
    /// What arms are compared with, such as depth=1 (again for another factor)
    #[arg(long, value_name = "NAME=LEVEL")]
    baseline: Vec<String>,
    /// What counts as equivalent, such as 5%
    #[arg(long, value_name = "SHARE")]
    margin: Option<String>,
    /// The metric that verdicts are about (see: assay list metrics)
    #[arg(long, value_name = "METRIC")]
    primary: Option<String>,
    /// Overwrite the block device: its id and +NAME for all it carries (see: assay plan)
    #[arg(long, value_name = "ID")]
    pub destroy: Vec<String>,
    /// On a loop device of its own, made for the study and removed afterwards (as root)
    #[arg(long, conflicts_with_all = ["targets", "destroy"])]
    lab: bool,
}

/// Size of a laboratory's loop device where the study does not say.
const LAB: Bytes = Bytes(1 << 30);

impl Wishes {
    /// The study to run, and where.
    pub fn study(&self, system: &dyn System) -> Outcome<(Study, Vec<String>)> {
        let study = self.changed(self.placed(studies::load(system, &self.study)?)?)?;
        let study = if self.quick { study.quick() } else { study };
        // What the command line made of it is read like a file, so that both know the same rules.
        let study = file::parse("the study as changed", &file::write(&study.settled())?)?;
        let targets = self.targets_of(&study);
        Ok((study, targets))
    }

    fn changed(&self, mut study: Study) -> Outcome<Study> {
        for text in &self.set {
            let (name, levels) = assignment("--set", text, "depth=1,4,16")?;
            let levels = levels.split(',').map(|level| level.trim().to_owned()).collect();
            if name == TARGET {
                study.target = None;
            }
            study.factors.insert(name, levels);
            study.arms.clear();
        }
        if !self.baseline.is_empty() {
            let named = self.baseline.iter().map(|text| assignment("--baseline", text, "depth=1"));
            study.baseline = named.collect::<Outcome<BTreeMap<String, String>>>()?;
        }
        if let (Some(count), StopRule::Looks) = (self.replicates, study.stop.rule) {
            return Err(Failure::mistake(format!(
                "--replicates {count}: the looks of this study say how many there are"
            )));
        }
        study.replicates = self.replicates.unwrap_or(study.replicates);
        study.seed = self.seed.or(study.seed);
        study.primary = self.primary.clone().or(study.primary);
        if let Some(text) = &self.margin {
            let margin: Percent = read("--margin", text)?;
            study.margin = Some(margin);
        }
        if let Some(text) = &self.budget {
            study.budget = Some(budget(text)?);
        }
        Ok(study)
    }

    /// Targets of the command line: several are a factor of the study, one stands for its own.
    fn placed(&self, mut study: Study) -> Outcome<Study> {
        if self.lab {
            return in_lab(study);
        }
        if self.targets.is_empty() {
            return Ok(study);
        }
        if study.factors.contains_key(TARGET) {
            return Err(Failure::mistake(
                "the study compares targets of its own: leave TARGET out, or say --set target=A,B",
            ));
        }
        study.target = None;
        if self.targets.len() > 1 {
            study.factors.insert(TARGET.to_owned(), self.targets.clone());
        }
        Ok(study)
    }

    /// The targets: the factor's, the command line's, the study's own, or this directory.
    fn targets_of(&self, study: &Study) -> Vec<String> {
        let own = study.target.as_ref().map(crate::study::Target::word);
        match (study.factors.get(TARGET), self.targets.first()) {
            (Some(targets), _) => targets.clone(),
            (None, Some(target)) => vec![target.clone()],
            (None, None) => vec![own.unwrap_or_else(|| ".".to_owned())],
        }
    }
}

/// The same study on a loop device of its own.
fn in_lab(mut study: Study) -> Outcome<Study> {
    if study.factors.contains_key(TARGET) {
        return Err(Failure::mistake("--lab: the study compares targets of its own"));
    }
    if !matches!(study.target, Some(Target::Loop(_))) {
        study.target = Some(Target::Loop(LAB));
    }
    Ok(study)
}

/// `NAME=REST`.
fn assignment(option: &str, text: &str, example: &str) -> Outcome<(String, String)> {
    let parts = text.split_once('=').filter(|(name, rest)| !name.is_empty() && !rest.is_empty());
    let (name, rest) = parts.ok_or_else(|| {
        Failure::mistake(format!("{option} {text}: write it like {option} {example}"))
    })?;
    Ok((name.trim().to_owned(), rest.trim().to_owned()))
}

fn read<T: std::str::FromStr<Err: std::fmt::Display>>(option: &str, text: &str) -> Outcome<T> {
    text.parse().map_err(|error| Failure::mistake(format!("{option}: {error}")))
}

/// A budget that leaves something to measure in.
pub fn budget(text: &str) -> Outcome<Time> {
    let budget: Time = read("--budget", text)?;
    if budget < SMALLEST_BUDGET {
        return Err(Failure::mistake(format!(
            "--budget {text}: that is too short to measure anything; say at least 2 s"
        )));
    }
    Ok(budget)
}
