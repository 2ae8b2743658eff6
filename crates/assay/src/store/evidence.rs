//! Data for a page about a result.

use std::path::Path;

use super::{commands, facts_of, findings_at};
use assay_analysis::inference::Analysis;
use assay_core::failure::Outcome;
use assay_machine::system::site::Site;
use assay_machine::system::{System, quoted};
use assay_report::evidence::{self, Commands, Evidence, RowLatencies, TrialEvidence};
use assay_study::findings::Findings;
use assay_study::results::bundle::{self, Stored};
use assay_study::results::record::Trial;
use assay_study::results::trials::Trials;
use assay_study::results::{cut, foreign, imported, series};

/// Files of a bundle that document the run, in reading order.
const FILES: [&str; 2] = ["study.toml", "environment.json"];

/// Returns the findings of a stored result or import with the records behind them.
pub fn evidence_at(system: &dyn System, directory: &Path) -> Outcome<Evidence> {
    if imported::is_one(system, directory) {
        let findings = findings_at(system, directory)?;
        let table = directory.join(imported::SOURCE);
        let table = system.status(&table).is_ok().then_some(table);
        return Ok(Evidence { table, ..Evidence::bare(findings) });
    }
    let mut stored = bundle::frame(system, directory)?;
    // The trial records contain the arms; clearing those of the plan saves memory.
    stored.plan.trials.iter_mut().for_each(|trial| trial.arm.clear());
    let mut records = Records::default();
    let mut findings = each_workload(system, directory, &stored, |trials| {
        records.add(system, directory, &stored, trials)
    })?;
    findings.checks.extend(foreign::mark(system, directory).as_ref().map(super::foreign_check));
    // The analysis read them by workload, not in their order.
    records.trials.sort_by_key(|(line, _)| *line);
    let files = FILES.iter().filter_map(|&name| {
        let text = system.read_text(&directory.join(name)).ok()?;
        Some((name.to_owned(), cut::lines(&text).into_owned()))
    });
    Ok(Evidence {
        findings,
        trials: records.trials.into_iter().map(|(_, trial)| trial).collect(),
        latencies: records.latencies,
        commands: command_lines(system, &stored),
        files: files.collect(),
        table: None,
    })
}

/// Returns the values of every trial as a table: the imported one, or a new one.
pub fn every_trial(system: &dyn System, evidence: &Evidence) -> Outcome<String> {
    let Some(table) = &evidence.table else {
        return Ok(assay_report::html::every_trial(&evidence.findings));
    };
    system.read_text(table).map_err(|error| refused!("cannot read {}: {error}", table.display()))
}

/// Returns the findings of a stored study, reading the trials of one workload at a time to save memory; `receive` gets
/// the trials of each with their line numbers.
pub(super) fn each_workload(
    system: &dyn System,
    directory: &Path,
    stored: &Stored,
    mut receive: impl FnMut(&[(usize, Trial)]) -> Outcome<()>,
) -> Outcome<Findings> {
    let workloads = stored.plan.workloads.len();
    let trials = Trials::open(system, directory, &stored.plan)?;
    let mut analysis = Analysis::new(facts_of(stored), &stored.plan, &stored.environment);
    for workload in 0..workloads {
        let records = trials.read_workload(workload)?;
        analysis.add(&records.iter().map(|(_, trial)| trial).collect::<Vec<_>>());
        receive(&records)?;
    }
    Ok(analysis.findings())
}

#[derive(Default)]
struct Records {
    /// With their line numbers.
    trials: Vec<(usize, TrialEvidence)>,
    latencies: Vec<RowLatencies>,
}

impl Records {
    fn add(
        &mut self,
        system: &dyn System,
        directory: &Path,
        stored: &Stored,
        records: &[(usize, Trial)],
    ) -> Outcome<()> {
        let Some((_, first)) = records.first() else { return Ok(()) };
        let planned = &stored.plan.workloads[first.workload];
        let trials: Vec<&Trial> = records.iter().map(|(_, trial)| trial).collect();
        let series = trials.iter().map(|trial| series::read(system, directory, trial));
        let series = series.collect::<Outcome<Vec<_>>>()?;
        let evidence = evidence::trial_evidence(planned, &trials, series);
        self.trials.extend(records.iter().map(|(line, _)| *line).zip(evidence));
        self.latencies.extend(evidence::latencies(&stored.plan, &stored.environment, &trials));
        Ok(())
    }
}

fn command_lines(system: &dyn System, stored: &Stored) -> Vec<Commands> {
    let (study, plan) = (&stored.study, &stored.plan);
    let sites: Vec<Option<Site>> = stored.environment.sites.iter().cloned().map(Some).collect();
    let mut all = Vec::new();
    for command in commands::for_plan(system, study, plan, &sites, commands::NameForm::Stored) {
        let words: Vec<String> = command.command.iter().map(|word| quoted(word)).collect();
        let mut lines = command.setup;
        lines.push(words.join(" "));
        all.push(Commands {
            workload: command.workload,
            arm: command.configuration,
            words: command.description,
            lines,
            remarks: command.notes,
        });
    }
    all
}
