//! `assay check`: benchmarks a place.

use clap::Args;

use super::check_options::{self, KindOptions};
use super::{fitness, running, study_arguments};
use assay_core::failure::Outcome;
use assay_core::quantity::Bytes;
use assay_machine::system::System;
use assay_runner::run::{self, Consented};
use assay_study::file::{SMALLEST_AREA_BYTES, Study, Workload};
use assay_study::plan::allocation::Quick;
use assay_workloads::io::{self, Mix};

const QUICK_BUDGET: &str = "15 s";
/// Trials per workload when comparing targets: with three pairs, the CI is too wide to show most differences.
const COMPARED: u32 = 6;

/// Benchmark a directory, file or block device (about 1 minute)
///
/// Assay fills a test file with random data, then runs seven read and write workloads three times
/// each (six times to compare targets) in random order. Assay assigns a trust rating to every
/// number. Needs no root. In a directory, Assay creates and removes its own file. Assay only reads
/// an existing file or a block device, unless --destroy names the device.
#[derive(Debug, Args)]
#[command(after_help = check_options::examples())]
pub struct CheckArguments {
    /// Directories, files or block devices to compare [default: .]
    ///
    /// A simulated drive shows what a result looks like: simulated:lognormal,mean=100us,p99=400us
    /// (other keys: docs/reference/study-file.md).
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Finish in about 15 s
    #[arg(long, conflicts_with = "budget")]
    quick: bool,
    /// Limit the time per target [default: 60s; --sustained: 5m]
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    #[command(flatten)]
    of_check: CheckOptions,
    /// Set the seed of order, offsets and data [default: random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Overwrite this device: ID and +NAMEs as printed by assay plan
    #[arg(long, value_name = "ID")]
    destroy: Vec<String>,
    #[command(flatten)]
    waiting: running::Waiting,
    #[command(flatten)]
    how: running::Printing,
}

/// Options that select the study, also for `assay plan check`.
#[derive(Debug, Args)]
pub(super) struct CheckOptions {
    /// Check published requirements, e.g. etcd (exit 0, 1 or 5)
    ///
    /// Compares published bounds (assay list requirements) with the measured CIs. Exit code 0: all bounds are met (95%
    /// confidence); 1: a bound is not met; 5: inconclusive. A study file with requirements = "..." and questions of
    /// kind bound also works, as does `assay run FILE`.
    #[arg(id = "for", long = "for", value_name = "USE", conflicts_with_all = ["budget", "mix"])]
    fit: Option<String>,
    #[command(flatten)]
    of_kinds: KindOptions,
    /// Add a mixed random workload, e.g. 70/30
    #[arg(long, value_name = "READ/WRITE")]
    mix: Option<String>,
    /// Set the test file size [default: 1GiB or 10% of free space]
    #[arg(long, value_name = "SIZE")]
    area: Option<String>,
}

impl CheckOptions {
    pub(super) fn typed(&self) -> Vec<String> {
        let named = [("--for", &self.fit), ("--mix", &self.mix), ("--area", &self.area)];
        let named =
            named.into_iter().filter_map(|(name, value)| value.as_ref().map(|_| name.to_owned()));
        let kinds = Some(self.of_kinds.typed()).filter(|text| !text.is_empty());
        kinds.into_iter().chain(named).collect()
    }

    pub(super) fn study(&self, system: &dyn System) -> Outcome<Study> {
        let mut study = match &self.fit {
            Some(word) => fitness::study(system, word)?,
            None => self.of_kinds.study()?,
        };
        if let Some(text) = &self.mix {
            study.workload.push(mixed(text)?);
        }
        if let Some(text) = &self.area {
            study.area.size = Some(area(text)?);
        }
        Ok(study)
    }
}

pub fn run(system: &dyn System, arguments: CheckArguments) -> Outcome<()> {
    if arguments.of_check.of_kinds.takes_all() && arguments.targets.is_empty() {
        let typed = arguments.of_check.of_kinds.typed();
        return Err(mistake!(
            "this test uses all free space of a directory, or a whole device; name the target: `assay check {typed} \
             /media/card`"
        ));
    }
    // A budget would end before the replicates that a bound needs; a pilot chooses shorter trials instead.
    let needs_pilot = arguments.quick && arguments.of_check.fit.is_some();
    let quick = needs_pilot.then_some(Quick { replicates: None });
    let study = study(system, &arguments)?;
    let targets =
        if arguments.targets.is_empty() { vec![".".to_owned()] } else { arguments.targets };
    let consented = Consented { destroy: arguments.destroy, ..Consented::default() };
    let request = run::Request {
        consented: arguments.waiting.with(consented),
        results: running::results_directory(system)?,
        quick,
        ..run::Request::bare(study, targets)
    };
    running::conclude(system, running::run(system, request, arguments.how.quiet)?, arguments.how)
}

pub(super) fn set_replicates(study: &mut Study, targets: usize) {
    if targets > 1 && !study.needs_whole() && study.requirements.is_none() {
        study.replicates = COMPARED;
    }
}

fn study(system: &dyn System, arguments: &CheckArguments) -> Outcome<Study> {
    let mut study = arguments.of_check.study(system)?;
    let has_bounds = arguments.of_check.fit.is_some();
    if arguments.quick && has_bounds {
        study = study.quick();
    }
    let quick_budget = (arguments.quick && !has_bounds).then_some(QUICK_BUDGET);
    if let Some(text) = arguments.budget.as_deref().or(quick_budget) {
        study.budget = Some(study_arguments::budget(text)?);
    }
    set_replicates(&mut study, arguments.targets.len());
    study.seed = arguments.seed.or(study.seed);
    if study.needs_whole() && study.budget.is_none() {
        // Work that covers a complete target sets its duration itself.
        study.workload.iter_mut().for_each(|workload| workload.work.settle());
    }
    Ok(study)
}

fn mixed(text: &str) -> Outcome<Workload> {
    let mix: Mix = text.parse().map_err(|error| mistake!("--mix: {error}"))?;
    let io = io::IoSpec { mix, queue_depth: 32, ..io::IoSpec::default() };
    let name = "random-mixed-q32".to_owned();
    Ok(Workload { name, work: io.into(), background: None, optional: false })
}

fn area(text: &str) -> Outcome<Bytes> {
    let size: Bytes = text.parse().map_err(|error| mistake!("--area: {error}"))?;
    if size.0 < SMALLEST_AREA_BYTES {
        return Err(mistake!("--area {text}: the smallest area is {}", Bytes(SMALLEST_AREA_BYTES)));
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use assay_machine::system::Fake;
    use assay_workloads::check_option;
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    fn of(words: &[&str]) -> Study {
        let command = CheckArguments::augment_args(clap::Command::new("check"));
        let line = std::iter::once("check").chain(words.iter().copied());
        let matches = command.try_get_matches_from(line).unwrap();
        study(&Fake::new(), &CheckArguments::from_arg_matches(&matches).unwrap()).unwrap()
    }

    #[test]
    fn what_a_place_is_to_be_good_enough_for_is_a_study_of_its_own() {
        let study = of(&["--for", "etcd", "--area", "64MiB", "/mnt/a"]);
        assert_eq!((study.requirements.as_deref(), study.replicates), (Some("etcd"), 6));
        assert_eq!(study.area.size.map(|size| size.0), Some(64 << 20));
        assert!(study.margin.is_some(), "without one nothing is answered");
        assert_eq!(of(&[]).requirements, None);
        let quick = of(&["--for", "etcd", "--quick", "/mnt/a"]);
        assert!(quick.budget.is_none());
        assert!(quick.workload[0].work.time() < study.workload[0].work.time());
        let command = CheckArguments::augment_args(clap::Command::new("check"));
        for other in ["--budget=20s", "--mix=70/30", "--sustained"] {
            let line = ["check", "--for", "etcd", other];
            assert!(command.clone().try_get_matches_from(line).is_err(), "{other}");
        }
    }

    #[test]
    fn targets_that_are_compared_have_six_trials_each() {
        assert_eq!(of(&["/mnt/a", "/mnt/b"]).replicates, 6);
        assert_eq!(of(&["--quick", "/mnt/a", "/mnt/b"]).replicates, 6);
        assert_eq!((of(&[]).replicates, of(&["/mnt/a"]).replicates), (3, 3));
        // Work that covers a complete drive runs once.
        let all = check_option::by_option().filter(|(kind, _)| check_option::takes_all(kind));
        let options: Vec<String> = all.map(|(kind, _)| format!("--{}", kind.about.name)).collect();
        assert!(!options.is_empty());
        for option in &options {
            assert_eq!(of(&[option, "/mnt/a", "/mnt/b"]).replicates, 1, "{option}");
        }
    }
}
