//! What of a command line is about gates, and how one ends a command.

use std::path::PathBuf;

use clap::Args;

use super::{export, output};
use assay_base::failure::{Failure, Kind, Outcome};
use assay_base::quantity::{Loss, Percent};
use assay_report::exporters::JUNIT;
use assay_study::findings::Findings;
use assay_study::findings::gate::{GateAnswer, GateEnd};
use assay_study::plan::recorded;
use assay_study::study::file::Typed;
use assay_study::study::{self, Study};
use assay_system::system::System;

/// What fails a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct Gating {
    /// Exit 1 if a row regresses by more (95% confidence)
    ///
    /// Exit code 5: no row regresses by more, but one is inconclusive. Assay judges each configuration of a study
    /// against its baseline; with --against, the later result against the earlier one.
    #[arg(long, value_name = "SHARE")]
    pub gate: Option<String>,
    /// Treat a row as inconclusive if it cannot detect this regression [default: 30%]
    ///
    /// For a gate above 5%, the default is as far beyond the gate.
    #[arg(long, value_name = "SHARE", requires = "gate")]
    pub must_detect: Option<String>,
    /// Count inconclusive rows as passing
    #[arg(long, requires = "gate")]
    pub allow_inconclusive: bool,
    /// Replace exit code 5 if inconclusive, e.g. 125 for git bisect
    ///
    /// A code above 127 aborts git bisect run.
    #[arg(long, value_name = "CODE", requires = "gate",
        value_parser = clap::value_parser!(u8).range(1..))]
    pub exit_inconclusive: Option<u8>,
}

/// What pages of CI are told of a gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct Junit {
    /// Write the gate as JUnit XML
    ///
    /// One test case per row: failed, or skipped if inconclusive. For a stored study: assay export --format junit.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

impl Junit {
    /// Refuses a file that could not be written, or would have nothing to say, before anything is measured.
    ///
    /// # Errors
    /// The user's mistake.
    pub fn check(&self, system: &dyn System, has_gate: bool) -> Outcome<()> {
        let Some(path) = &self.junit else { return Ok(()) };
        if !has_gate {
            return Err(Failure::mistake("--junit reports a gate; add --gate 5%"));
        }
        if path.as_os_str() == "-" {
            return Err(Failure::mistake(
                "--junit -: standard output is for the result; give a file name",
            ));
        }
        output::may_be_written(system, path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| system.status(folder).is_err()) {
            return Err(Failure::mistake(format!(
                "--junit {}: its directory does not exist; create it first",
                path.display()
            )));
        }
        Ok(())
    }

    /// Writes the gate of findings, where that is asked for.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, system: &dyn System, findings: &Findings) -> Outcome<()> {
        let Some(path) = &self.junit else { return Ok(()) };
        export::write(system, &JUNIT, findings, Some(path))
    }
}

/// The gate of a study.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct GateArguments {
    #[command(flatten)]
    gating: Gating,
    /// Choose the metric of the gate, e.g. peak_memory_bytes
    ///
    /// The default is the metric of the verdicts. A count that may be zero, such as major_faults, needs an amount:
    /// --gate +10 allows ten more.
    #[arg(long, value_name = "METRIC", requires = "gate")]
    gate_metric: Option<String>,
}

impl GateArguments {
    /// Gives the gate to the comparison with an earlier result: the study has none of its own then.
    ///
    /// # Errors
    /// The user's mistake where that comparison cannot do what is asked.
    pub fn give_away(&mut self) -> Outcome<Gating> {
        if let Some(name) = &self.gate_metric {
            return Err(Failure::mistake(format!(
                "--gate-metric {name}: --against judges the primary metric; leave one of the two out"
            )));
        }
        Ok(std::mem::take(&mut self.gating))
    }

    /// Puts it into a study, in the place of the study's own.
    ///
    /// # Errors
    /// The user's mistake.
    pub fn put(&self, study: &mut Study) -> Outcome<()> {
        let Some(text) = &self.gating.gate else { return Ok(()) };
        let sees = self.gating.must_detect.as_deref();
        study.gate = Some(study::Gate {
            max_regression: text
                .parse::<Loss>()
                .map_err(|error| Failure::mistake(format!("--gate: {error}")))?,
            must_detect: sees.map(|text| percent("--must-detect", text)).transpose()?,
            metric: self.gate_metric.clone(),
            allow_inconclusive: self.gating.allow_inconclusive,
            exit_inconclusive: self.gating.exit_inconclusive,
        });
        Ok(())
    }

    /// The options that were typed, with the keys that they set.
    pub fn typed(&self) -> impl Iterator<Item = Typed> {
        let options = [
            ("--gate", &self.gating.gate, "gate/max_regression"),
            ("--must-detect", &self.gating.must_detect, "gate/must_detect"),
            ("--gate-metric", &self.gate_metric, "gate/metric"),
        ];
        let typed = |(option, text, path): (&str, &Option<String>, &str)| {
            Some(Typed::new(format!("{option} {}", text.as_ref()?), path))
        };
        options.into_iter().filter_map(typed)
    }
}

/// A share in percent.
///
/// # Errors
/// The user's mistake.
pub fn percent(name: &str, text: &str) -> Outcome<Percent> {
    let read = text.parse::<Percent>();
    read.map_err(|error| Failure::mistake(format!("{name}: {error}")))
}

/// Refuses a gate of a study in which nothing is compared.
///
/// # Errors
/// The user's mistake.
pub fn check(study: &Study, targets: &[String]) -> Outcome<()> {
    if study.gate.is_none() {
        return Ok(());
    }
    if let Some(asked) = recorded::asked(study) {
        return Err(Failure::mistake(format!(
            "a gate needs interleaved configurations, and {} were only observed; leave --gate out",
            asked.records.recording().many
        )));
    }
    let settings = match study.configurations.len() {
        0 => study.factors.values().any(|levels| levels.len() > 1),
        arms => arms > 1,
    };
    if settings || targets.len() > 1 {
        return Ok(());
    }
    Err(Failure::mistake(
        "a gate compares configurations with a baseline, and this study has only one; add one (--command again, or \
         --set with two levels), or an earlier result: --against ID",
    ))
}

/// What to do about a gate that could not see.
const WAY_ON: &str = "next: measure again on a quiet machine, with more replicates if trials are too few or too \
                      variable (--allow-inconclusive passes inconclusive rows)";

/// How a gate ends a command: 1 where a row failed, 5 where none did and one makes no statement.
///
/// # Errors
/// A gate that failed, or that could not see.
pub fn ended(gate: &GateAnswer) -> Outcome<()> {
    match gate.outcome {
        GateEnd::Pass => Ok(()),
        GateEnd::Fail => Err(Failure::gate(gate.text.clone())),
        // Where nothing is compared nothing is missing, either.
        GateEnd::Inconclusive if gate.rows.is_empty() => Err(Failure::partial(gate.text.clone())),
        GateEnd::Inconclusive => Err(Failure::partial(format!("{}; {WAY_ON}", gate.text))),
    }
}

/// How a study ends that could not begin: its gate makes no statement on what does not build, or fails at once.
pub fn unmeasured(failure: Failure, gate: Option<&study::Gate>) -> Failure {
    match gate {
        Some(gate) if failure.kind == Kind::Broken => {
            Failure::partial(failure.message).blind_by(gate.exit_inconclusive)
        }
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use assay_study::findings::gate::{Ended, Gated};
    use assay_study::study::presets;
    use assay_system::system::Fake;

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
        let words = ["--gate", "2.5%", "--must-detect", "150%", "--gate-metric", "iops"];
        let more = ["--allow-inconclusive", "--exit-inconclusive", "125"];
        let mut study = depth();
        line(&[&words[..], &more].concat()).unwrap().put(&mut study).unwrap();
        let gate = study.gate.unwrap();
        assert_eq!(
            (gate.max_regression, gate.must_detect),
            (Loss::Share(Percent(2.5)), Some(Percent(150.0)))
        );
        assert_eq!((gate.metric.as_deref(), gate.exit_inconclusive), (Some("iops"), Some(125)));
        assert!(gate.allow_inconclusive);
        let mut study = depth();
        line(&[]).unwrap().put(&mut study).unwrap();
        assert_eq!(study.gate, None);
    }

    #[test]
    fn what_is_no_gate_is_refused() {
        for words in [
            &["--gate", "5%", "--exit-inconclusive", "0"][..],
            &["--gate", "5%", "--exit-inconclusive", "256"],
            &["--exit-inconclusive", "125"],
            &["--gate-metric", "iops"],
            &["--allow-inconclusive"],
        ] {
            assert!(line(words).is_err(), "{words:?}");
        }
        let mut counted = depth();
        line(&["--gate", "+10"]).unwrap().put(&mut counted).unwrap();
        assert_eq!(counted.gate.unwrap().max_regression, Loss::Amount(10.0));
        let told = line(&["--gate", "+much"]).unwrap().put(&mut depth()).unwrap_err();
        assert!(told.message.starts_with("--gate: `+much` is not an increase"), "{told}");
        let told = line(&["--gate", "much"]).unwrap().put(&mut depth()).unwrap_err();
        assert!(told.message.starts_with("--gate: "), "{told}");
    }

    #[test]
    fn with_an_earlier_result_the_study_has_none() {
        let mut given = line(&["--gate", "5%"]).unwrap();
        assert_eq!(given.give_away().unwrap().gate.as_deref(), Some("5%"));
        let mut study = depth();
        given.put(&mut study).unwrap();
        assert_eq!((study.gate, given), (None, GateArguments::default()));
        let told = line(&["--gate", "5%", "--gate-metric", "iops"]).unwrap().give_away();
        assert!(told.unwrap_err().message.contains("--against"));
    }

    #[test]
    fn one_setting_has_nothing_to_be_compared_with() {
        let here = [".".to_owned()];
        let mut study = depth();
        line(&["--gate", "5%"]).unwrap().put(&mut study).unwrap();
        assert_eq!(check(&study, &here), Ok(()));
        study.factors.clear();
        assert!(check(&study, &here).unwrap_err().message.contains("--against"));
        assert_eq!(check(&study, &[here[0].clone(), "/mnt".to_owned()]), Ok(()));
        study.gate = None;
        assert_eq!(check(&study, &here), Ok(()));
        if let Some((entry, recording)) = assay_kinds::work::recorded::kind() {
            let mut recorded = presets::find(entry.about.name).unwrap().unwrap();
            line(&["--gate", "5%"]).unwrap().put(&mut recorded).unwrap();
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
        assert!(told("-", true).unwrap_err().starts_with("--junit -: standard output"));
        assert!(told("/here", true).unwrap_err().contains("/here"));
        assert!(
            told("/nowhere/new.xml", true).unwrap_err().contains("its directory does not exist")
        );
        assert_eq!(told("new.xml", true), Ok(()));
        assert_eq!(Junit::default().check(&fake, false), Ok(()));
    }

    #[test]
    fn gate_is_inconclusive_on_what_is_broken_alone() {
        let gate = |words: &[&str]| {
            let mut study = depth();
            line(words).unwrap().put(&mut study).unwrap();
            study.gate
        };
        let plain = gate(&["--gate", "5%"]);
        let blind = gate(&["--gate", "5%", "--exit-inconclusive", "125"]);
        let code = |failure: Failure, gate: Option<&study::Gate>| {
            unmeasured(failure, gate).kind.exit_code()
        };
        let broken = || Failure::broken("it does not build");
        assert_eq!(code(broken(), plain.as_ref()), 5);
        assert_eq!(code(broken(), blind.as_ref()), 125);
        assert_eq!(code(broken(), None), 3);
        for gate in [plain.as_ref(), blind.as_ref(), None] {
            assert_eq!(code(Failure::refused("busy"), gate), 3);
            assert_eq!(code(Failure::mistake("no"), gate), 2);
        }
    }

    #[test]
    fn a_gate_ends_by_what_became_of_it() {
        let code = |row: Gated| {
            let gate = GateAnswer::of((0.05, 0.3), false, vec![row]);
            ended(&gate).map_or_else(|failure| failure.kind.exit_code(), |()| 0)
        };
        assert_eq!(code(Gated::bare("a".to_owned(), Ended::Pass)), 0);
        assert_eq!(code(Gated::bare("a".to_owned(), Ended::Fail)), 1);
        assert_eq!(code(Gated::silent("a".to_owned(), "few".to_owned())), 5);
        let told = |rows: Vec<Gated>| {
            let gate = GateAnswer::of((0.05, 0.3), false, rows);
            ended(&gate).unwrap_err().message
        };
        let blind = told(vec![Gated::silent("a".to_owned(), "few".to_owned())]);
        assert!(blind.contains(": few; next: measure again"), "{blind}");
        assert!(told(Vec::new()).ends_with("nothing to compare"), "{}", told(Vec::new()));
        let failed = told(vec![Gated::bare("a".to_owned(), Ended::Fail)]);
        assert!(!failed.contains("next"), "{failed}");
    }
}
