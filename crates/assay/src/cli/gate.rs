//! Gates on the command line, and the exit codes of gates.

use std::path::PathBuf;

use clap::Args;

use super::{export, output};
use assay_core::failure::{Failure, Kind, Outcome};
use assay_core::quantity::Loss;

use assay_machine::system::System;
use assay_report::exporters::JUNIT;
use assay_study::file::text::TypedWords;
use assay_study::file::{self, Study};
use assay_study::findings::Findings;
use assay_study::findings::gate::{GateAnswer, GateEnd};
use assay_study::plan::recorded;

/// Options of a gate for a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct Gating {
    /// Exit 1 if a row regresses by more (95% confidence)
    ///
    /// Exit code 5: no row regresses by more, but a row is inconclusive. Assay judges each configuration of a study
    /// against the baseline; with --against, the later result against the earlier result.
    #[arg(long, value_name = "SHARE")]
    pub gate: Option<String>,
    /// Treat a row as inconclusive if it cannot detect this regression [default: 30%]
    ///
    /// For a gate above 5%, the default rises with it: 34% for a gate of 10%.
    #[arg(long, value_name = "SHARE", requires = "gate")]
    pub must_detect: Option<String>,
    /// Gate this metric, such as p99 or iops [default: the metric of the verdicts]
    #[arg(long, value_name = "METRIC", requires = "gate")]
    pub metric: Option<String>,
    /// Treat inconclusive rows as passing
    #[arg(long, requires = "gate")]
    pub allow_inconclusive: bool,
    /// Exit with this code if inconclusive, e.g. 125 for git bisect
    ///
    /// An exit code above 127 aborts git bisect run.
    #[arg(long, value_name = "CODE", requires = "gate",
        value_parser = clap::value_parser!(u8).range(1..))]
    pub exit_inconclusive: Option<u8>,
}

/// Gate result for CI systems.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct Junit {
    /// Write the gate result as JUnit XML
    ///
    /// Each row is one test case: failed, or skipped if inconclusive. For a stored study: assay export --format junit.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

impl Junit {
    /// Fails before any trial if the file cannot be written or the gate is missing.
    pub fn check(&self, system: &dyn System, has_gate: bool) -> Outcome<()> {
        let Some(path) = &self.junit else { return Ok(()) };
        if !has_gate {
            return Err(mistake!("--junit reports a gate; add --gate 5%"));
        }
        if path.as_os_str() == "-" {
            return Err(mistake!(
                "--junit -: Assay prints the result to standard output; give a file name"
            ));
        }
        output::may_be_written(system, path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| system.status(folder).is_err()) {
            return Err(mistake!(
                "--junit {}: the directory does not exist; create the directory first",
                path.display()
            ));
        }
        Ok(())
    }

    pub fn write(&self, system: &dyn System, findings: &Findings) -> Outcome<()> {
        let Some(path) = &self.junit else { return Ok(()) };
        export::write(system, &JUNIT, findings, Some(path))
    }
}

/// Gate options of a study.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct GateArguments {
    /// Exit 1 if a row regresses by more (95% confidence)
    ///
    /// Exit code 5: no row regresses by more, but a row is inconclusive. Assay judges each configuration of a study
    /// against the baseline; with --against, the later result against the earlier result. For a count that may be zero,
    /// such as major_faults, give an amount: --gate +10 allows an increase of 10. --set gate.metric, gate.must_detect
    /// and gate.allow_inconclusive set the other keys of the gate.
    #[arg(long, value_name = "PERCENT")]
    gate: Option<String>,
    /// Exit with this code if inconclusive, e.g. 125 for git bisect
    ///
    /// An exit code above 127 aborts git bisect run.
    #[arg(long, value_name = "CODE", requires = "gate",
        value_parser = clap::value_parser!(u8).range(1..))]
    exit_inconclusive: Option<u8>,
}

const KEYS: &str = "gate.";

impl GateArguments {
    /// Moves the gate from the study to the comparison with an earlier result. Fails for options without support there.
    pub fn move_to_comparison(&mut self, set: &mut Vec<String>) -> Outcome<Gating> {
        let Self { gate, exit_inconclusive } = std::mem::take(self);
        let mut gating = Gating { gate, exit_inconclusive, ..Gating::default() };
        if gating.gate.is_none() {
            return Ok(gating);
        }
        for text in set.extract_if(.., |text| text.starts_with(KEYS)) {
            match text.trim_start_matches(KEYS).split_once('=') {
                Some(("metric", name)) => gating.metric = Some(name.to_owned()),
                Some(("must_detect", share)) => gating.must_detect = Some(share.to_owned()),
                Some(("allow_inconclusive", flag)) => gating.allow_inconclusive = flag == "true",
                _ => {
                    return Err(mistake!(
                        "--set {text}: a gate with --against has no such key; remove one of the two options"
                    ));
                }
            }
        }
        Ok(gating)
    }

    /// Sets the gate of a study if the line has one.
    pub fn apply_to(&self, study: &mut Study) -> Outcome<()> {
        let Some(text) = &self.gate else { return Ok(()) };
        study.gate = Some(file::GateKeys {
            max_regression: text.parse::<Loss>().map_err(|error| mistake!("--gate: {error}"))?,
            must_detect: None,
            metric: None,
            allow_inconclusive: false,
            exit_inconclusive: self.exit_inconclusive,
        });
        Ok(())
    }

    pub fn typed(&self) -> Option<TypedWords> {
        let text = self.gate.as_ref()?;
        Some(TypedWords::new(format!("--gate {text}"), "gate/max_regression"))
    }
}

/// Refuses a gate for a study without comparisons.
pub fn check(study: &Study, targets: &[String]) -> Outcome<()> {
    if study.gate.is_none() {
        return Ok(());
    }
    if let Some(asked) = recorded::asked(study) {
        return Err(mistake!(
            "a gate needs interleaved configurations, but {} were only observed; remove --gate",
            asked.records.recording().many
        ));
    }
    let has_settings = match study.configurations.len() {
        0 => study.factors.values().any(|levels| levels.len() > 1),
        arms => arms > 1,
    };
    if has_settings || targets.len() > 1 {
        return Ok(());
    }
    Err(mistake!(
        "a gate compares configurations with a baseline, but this study has only one configuration; add another \
         (--command, or --set with two levels), or an earlier result (--against ID)"
    ))
}

const NEXT_STEP: &str = "next: measure again on a quiet machine, with more replicates if trials are too few or too \
                      variable (gate.allow_inconclusive passes inconclusive rows)";

/// Returns how a gate ends a command: with 1 if a row failed, otherwise with 5 if a row is inconclusive.
pub fn ended(gate: &GateAnswer) -> Outcome<()> {
    match gate.outcome {
        GateEnd::Pass => Ok(()),
        GateEnd::Fail => Err(Failure::gate(gate.text.clone())),
        // Without comparisons, nothing is missing either.
        GateEnd::Inconclusive if gate.rows.is_empty() => Err(Failure::partial(gate.text.clone())),
        GateEnd::Inconclusive => Err(Failure::partial(format!("{}; {NEXT_STEP}", gate.text))),
    }
}

/// Returns how a study ends that could not start: its gate is inconclusive if a build or the first run fails.
pub fn inconclusive_if_broken(failure: Failure, gate: Option<&file::GateKeys>) -> Failure {
    let Some(gate) = gate.filter(|_| failure.kind == Kind::Broken) else { return failure };
    Failure::partial(failure.message).blind_by(gate.exit_inconclusive)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use assay_core::quantity::Percent;
    use assay_machine::system::Fake;
    use assay_study::file::presets;
    use assay_study::findings::gate::{Ended, Gated};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        gate: GateArguments,
    }

    fn line(words: &[&str]) -> Result<GateArguments, clap::Error> {
        Line::try_parse_from(["assay"].iter().chain(words)).map(|line| line.gate)
    }

    fn depth() -> Study {
        presets::find("queue-depth").unwrap().unwrap()
    }

    #[test]
    fn the_line_is_the_gate_of_the_study() {
        let words = ["--gate", "2.5%", "--exit-inconclusive", "125"];
        let mut study = depth();
        line(&words).unwrap().apply_to(&mut study).unwrap();
        let gate = study.gate.unwrap();
        assert_eq!(gate.max_regression, Loss::Share(Percent(2.5)));
        assert_eq!(gate.exit_inconclusive, Some(125));
        let mut study = depth();
        line(&[]).unwrap().apply_to(&mut study).unwrap();
        assert_eq!(study.gate, None);
    }

    #[test]
    fn what_is_no_gate_is_refused() {
        for words in [
            &["--gate", "5%", "--exit-inconclusive", "0"][..],
            &["--gate", "5%", "--exit-inconclusive", "256"],
            &["--exit-inconclusive", "125"],
        ] {
            assert!(line(words).is_err(), "{words:?}");
        }
        let mut counted = depth();
        line(&["--gate", "+10"]).unwrap().apply_to(&mut counted).unwrap();
        assert_eq!(counted.gate.unwrap().max_regression, Loss::Amount(10.0));
        let told = line(&["--gate", "+much"]).unwrap().apply_to(&mut depth()).unwrap_err();
        assert!(told.message.starts_with("--gate: `+much` is not an increase"), "{told}");
        let told = line(&["--gate", "much"]).unwrap().apply_to(&mut depth()).unwrap_err();
        assert!(told.message.starts_with("--gate: "), "{told}");
    }

    #[test]
    fn with_an_earlier_result_the_study_has_none() {
        let mut given = line(&["--gate", "5%"]).unwrap();
        let mut set = vec!["queue_depth=1".to_owned(), "gate.must_detect=9%".to_owned()];
        let gating = given.move_to_comparison(&mut set).unwrap();
        assert_eq!(
            (gating.gate.as_deref(), gating.must_detect.as_deref()),
            (Some("5%"), Some("9%"))
        );
        assert_eq!(set, ["queue_depth=1"]);
        let mut study = depth();
        given.apply_to(&mut study).unwrap();
        assert_eq!((study.gate, given), (None, GateArguments::default()));
        let mut set = vec!["gate.metrik=iops".to_owned()];
        let told = line(&["--gate", "5%"]).unwrap().move_to_comparison(&mut set);
        assert!(told.unwrap_err().message.contains("--against"));
    }

    #[test]
    fn one_setting_has_nothing_to_be_compared_with() {
        let here = [".".to_owned()];
        let mut study = depth();
        line(&["--gate", "5%"]).unwrap().apply_to(&mut study).unwrap();
        assert_eq!(check(&study, &here), Ok(()));
        study.factors.clear();
        assert!(check(&study, &here).unwrap_err().message.contains("--against"));
        assert_eq!(check(&study, &[here[0].clone(), "/mnt".to_owned()]), Ok(()));
        study.gate = None;
        assert_eq!(check(&study, &here), Ok(()));
        if let Some((entry, recording)) = assay_workloads::recorded::kind() {
            let mut recorded = presets::find(entry.about.name).unwrap().unwrap();
            line(&["--gate", "5%"]).unwrap().apply_to(&mut recorded).unwrap();
            assert!(check(&recorded, &here).unwrap_err().message.contains(recording.many));
        }
    }

    #[test]
    fn what_cannot_be_told_to_ci_is_refused_beforehand() {
        let fake = Fake::new();
        fake.put("/here/old.xml", "<testsuites/>");
        let told = |path: &str, has_gate| {
            let junit = Junit { junit: Some(path.into()) };
            junit.check(&fake, has_gate).map_err(|failure| failure.message)
        };
        assert_eq!(told("/here/new.xml", true), Ok(()));
        assert_eq!(told("/here/old.xml", true), Ok(()));
        assert!(told("/here/new.xml", false).unwrap_err().contains("add --gate 5%"));
        assert!(told("-", true).unwrap_err().starts_with("--junit -: Assay prints the result"));
        assert!(told("/here", true).unwrap_err().contains("/here"));
        assert!(
            told("/nowhere/new.xml", true).unwrap_err().contains("the directory does not exist")
        );
        assert_eq!(told("new.xml", true), Ok(()));
        assert_eq!(Junit::default().check(&fake, false), Ok(()));
    }

    #[test]
    fn gate_is_inconclusive_on_what_is_broken_alone() {
        let gate = |words: &[&str]| {
            let mut study = depth();
            line(words).unwrap().apply_to(&mut study).unwrap();
            study.gate
        };
        let plain = gate(&["--gate", "5%"]);
        let blind = gate(&["--gate", "5%", "--exit-inconclusive", "125"]);
        let code = |failure: Failure, gate: Option<&file::GateKeys>| {
            inconclusive_if_broken(failure, gate).kind.exit_code()
        };
        let broken = || Failure::broken("it does not build");
        assert_eq!(code(broken(), plain.as_ref()), 5);
        assert_eq!(code(broken(), blind.as_ref()), 125);
        assert_eq!(code(broken(), None), 3);
        for gate in [plain.as_ref(), blind.as_ref(), None] {
            assert_eq!(code(refused!("busy"), gate), 3);
            assert_eq!(code(mistake!("no"), gate), 2);
        }
    }

    #[test]
    fn a_gate_ends_by_what_became_of_it() {
        let code = |row: Gated| {
            let gate = GateAnswer::new(0.05, 0.3, false, vec![row]);
            ended(&gate).map_or_else(|failure| failure.kind.exit_code(), |()| 0)
        };
        assert_eq!(code(Gated::bare("a".to_owned(), Ended::Pass)), 0);
        assert_eq!(code(Gated::bare("a".to_owned(), Ended::Fail)), 1);
        assert_eq!(code(Gated::silent("a".to_owned(), "few".to_owned())), 5);
        let told = |rows: Vec<Gated>| {
            let gate = GateAnswer::new(0.05, 0.3, false, rows);
            ended(&gate).unwrap_err().message
        };
        let blind = told(vec![Gated::silent("a".to_owned(), "few".to_owned())]);
        assert!(blind.contains(": few; next: measure again"), "{blind}");
        assert!(told(Vec::new()).ends_with("nothing to compare"), "{}", told(Vec::new()));
        let failed = told(vec![Gated::bare("a".to_owned(), Ended::Fail)]);
        assert!(!failed.contains("next"), "{failed}");
    }
}
