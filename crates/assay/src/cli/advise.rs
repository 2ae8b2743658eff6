//! `assay advise`: prints recommendations with their evidence, and how to confirm them and make them permanent.

use std::fmt::Write as _;

use clap::{Args, Subcommand};

use super::{advised, apply as applying, confirm, output, undo};
use crate::store;
use assay_core::failure::{Failure, Outcome};
use assay_machine::system::System;
use assay_report::document::no_advice;
use assay_runner::run::apply::{self, Proposal};
use assay_study::file::words;
use assay_study::findings::Findings;
use assay_study::findings::shown::Rating;
use assay_study::findings::{
    Advice, AdviceKind, AdviceStatus, Comparison, Effect, Measurement, SentenceRole, Trust, Verdict,
};
use assay_study::results::bundle::{self, Stored};
use assay_study::results::imported;

/// Recommend settings; confirm, apply and undo them
///
/// Shows each recommendation with the comparisons, CIs and trust behind it. Changes nothing.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  assay advise                          advice from the latest result
  assay advise 20261120-1031 --json     for scripts
  assay advise confirm 20261120-1031    run fresh trials of the best setting
  assay advise apply 20261120-1204      show the changes (--yes applies them)
  assay advise undo                     undo the last applied changes"
)]
pub struct AdviseArguments {
    #[command(subcommand)]
    step: Option<AdviseCommand>,
    #[arg(value_name = "ID", help = format!("{}{}", super::ID, super::LATEST))]
    result: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum AdviseCommand {
    Confirm(confirm::ConfirmArguments),
    Apply(applying::ApplyArguments),
    Undo(undo::UndoArguments),
}

pub fn run(system: &dyn System, arguments: &AdviseArguments) -> Outcome<()> {
    match &arguments.step {
        Some(AdviseCommand::Confirm(own)) => confirm::run(system, own),
        Some(AdviseCommand::Apply(own)) => applying::run(system, own),
        Some(AdviseCommand::Undo(own)) => undo::run(system, own),
        None => advise(system, arguments),
    }
}

/// Adds a suggestion if the word resembles a subcommand.
fn with_suggestion(failure: Failure, word: Option<&str>) -> Failure {
    match word.and_then(|word| words::did_you_mean(word, &["confirm", "apply", "undo"])) {
        Some(hint) => Failure { message: format!("{}; {hint}", failure.message), ..failure },
        None => failure,
    }
}

fn advise(system: &dyn System, arguments: &AdviseArguments) -> Outcome<()> {
    let directory = store::find(system, arguments.result.as_deref())
        .map_err(|failure| with_suggestion(failure, arguments.result.as_deref()))?;
    let findings = store::findings_at(system, &directory)?;
    let is_import = imported::is_one(system, &directory);
    let stored = (!is_import).then(|| bundle::read(system, &directory)).transpose()?;
    let advice = findings.advice.iter();
    let entries: Vec<AdviceEntry<'_>> =
        advice.map(|advice| entry(system, stored.as_ref(), &findings, advice)).collect();
    if arguments.json {
        output::json(&advised::AdviceDocument {
            format: "assay-advice/1",
            id: &findings.study.id,
            confirms: findings.study.confirms.as_deref(),
            advice: entries.iter().map(AdviceEntry::advised).collect(),
        });
        return Ok(());
    }
    let mut text = String::new();
    for entry in &entries {
        entry.write_to(&mut text, &findings);
    }
    if let Some(race) = &findings.race
        && text.is_empty()
    {
        text = format!("{}\n", race.text);
    }
    if text.is_empty() {
        let id = &findings.study.id;
        let reason = no_advice(&findings);
        text = format!(
            "no advice from {id}: {reason}; see all comparisons with assay show --full {id}\n"
        );
        // Answers the questions of a grid, too.
        let conclusions = findings.summary.iter().filter(|it| it.role == SentenceRole::Conclusion);
        text.extend(conclusions.map(|sentence| format!("{}\n", sentence.text)));
    }
    output::text(&text);
    Ok(())
}

struct AdviceEntry<'a> {
    advice: &'a Advice,
    comparisons: Vec<(&'a Comparison, PairTrust)>,
    effects: Vec<&'a Effect>,
    /// Permanent form, or why there is none; `None` if the arm is not recommended.
    permanent: Option<Outcome<Proposal>>,
}

/// Collects the evidence of an advice; a better configuration also gets a proposal for permanent settings.
fn entry<'a>(
    system: &dyn System,
    stored: Option<&Stored>,
    findings: &'a Findings,
    advice: &'a Advice,
) -> AdviceEntry<'a> {
    let is_evidence = |id: &str| advice.evidence.iter().any(|known| known == id);
    let comparisons = findings.comparisons.iter().filter(|it| is_evidence(&it.id));
    let comparisons: Vec<_> = comparisons.map(|it| (it, PairTrust::new(findings, it))).collect();
    let effects = findings.effects.main.iter().filter(|it| is_evidence(&it.id())).collect();
    let better = comparisons.iter().find(|(one, _)| one.verdict == Some(Verdict::Better));
    let permanent = match (stored, better, advice.kind) {
        (Some(stored), Some((best, _)), AdviceKind::Use) => Some(propose(system, stored, best)),
        _ => None,
    };
    AdviceEntry { advice, comparisons, effects, permanent }
}

/// Trust of a comparison: the lower of its two numbers, with the reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairTrust {
    pub trust: Trust,
    /// Whether the drive is virtual: the trust then covers only this virtual device.
    pub is_lent: bool,
    pub reasons: Vec<String>,
}

impl PairTrust {
    /// Returns the worse trust of the two compared configurations, and why it is low.
    pub fn new(findings: &Findings, one: &Comparison) -> Self {
        let is_compared = |cell: &&Measurement| {
            cell.workload == one.workload
                && cell.metric == one.metric
                && (cell.configuration == one.configuration || cell.configuration == one.baseline)
        };
        let cells: Vec<&Measurement> = findings.measurements.iter().filter(is_compared).collect();
        let trust = cells.iter().filter_map(|cell| cell.trust).max().unwrap_or(Trust::Trusted);
        let mut reasons: Vec<String> = Vec::new();
        for reason in cells.iter().flat_map(|cell| &cell.reasons) {
            if reason.trust > Trust::Trusted && !reasons.contains(&reason.text) {
                reasons.push(reason.text.clone());
            }
        }
        let is_lent = cells.iter().any(|cell| cell.is_lent()) && trust == Trust::Trusted;
        Self { trust, is_lent, reasons }
    }

    /// Returns the trust as in pages and lists: `trusted for this virtual device`.
    fn word(&self) -> &'static str {
        Rating { trust: self.trust, is_lent: self.is_lent }.words()
    }

    /// Returns the trust and its reasons: `suspect: others wrote meanwhile`.
    pub fn words(&self) -> String {
        match self.reasons.as_slice() {
            [] => self.word().to_owned(),
            reasons => format!("{}: {}", self.word(), reasons.join("; ")),
        }
    }
}

/// Returns how to make the best arm permanent on the target as it is now. Fails for results of several hosts, and if
/// the target is unknown or has changed.
pub fn propose(system: &dyn System, stored: &Stored, best: &Comparison) -> Outcome<Proposal> {
    if stored.environment.fleet.is_some() {
        return Err(refused!(
            "several hosts measured this configuration; change the settings on each host by hand"
        ));
    }
    let no_target = || refused!("the result does not contain the name of the target");
    let planned = stored.plan.workloads.iter().find(|work| work.arm == best.configuration);
    let index = planned.map(|work| work.target).ok_or_else(no_target)?;
    let before = stored.environment.sites.get(index).ok_or_else(no_target)?;
    let is_created = stored.plan.surveys.get(index).is_some_and(|survey| !survey.under.is_empty());
    let site = apply::site_now(system, stored.study.target.as_ref(), before, is_created)?;
    let unmeasured = apply::unmeasured(system, &stored.study.factors, &best.configuration, &site);
    let mut proposal = apply::propose(system, &stored.id, &best.configuration, &site);
    proposal.unmeasured = unmeasured;
    Ok(proposal)
}

impl AdviceEntry<'_> {
    fn advised(&self) -> advised::Advised<'_> {
        let mut comparisons = Vec::new();
        for (comparison, PairTrust { trust, is_lent, reasons }) in &self.comparisons {
            let (trust, virtual_device) = (*trust, *is_lent);
            comparisons.push(advised::Compared { trust, virtual_device, reasons, comparison });
        }
        advised::Advised {
            kind: self.advice.kind,
            status: self.advice.status,
            text: &self.advice.text,
            lines: &self.advice.lines,
            comparisons,
            effects: &self.effects,
            permanent: self.permanent.as_ref().map(|proposal| match proposal {
                Ok(proposal) => advised::PermanentAdvice::Possible(advised::proposed(proposal)),
                Err(failure) => advised::PermanentAdvice::Impossible { reason: &failure.message },
            }),
        }
    }

    fn write_to(&self, text: &mut String, findings: &Findings) {
        let _ = writeln!(text, "{}", self.advice.text);
        for (pair, pair_trust) in &self.comparisons {
            let _ = writeln!(text, "  {}, {}: {}", pair.workload, pair_trust.word(), pair.text);
            for reason in &pair_trust.reasons {
                let _ = writeln!(text, "    {reason}");
            }
            for note in &pair.notes {
                let _ = writeln!(text, "    {note}");
            }
        }
        for effect in &self.effects {
            let _ = writeln!(text, "  {}", effect.text);
        }
        match &self.permanent {
            Some(Ok(proposal)) => {
                text.push_str(&proposal_text(proposal));
                if proposal.settings.is_empty() && proposal.files.is_empty() {
                    return;
                }
                let id = &findings.study.id;
                let next = match self.advice.status {
                    AdviceStatus::Confirmed => {
                        format!("to apply permanently: assay advise apply {id}")
                    }
                    AdviceStatus::Candidate => format!(
                        "next: assay advise confirm {id}, then assay advise apply with the new result ID"
                    ),
                };
                let _ = writeln!(text, "  {next}");
            }
            Some(Err(failure)) => {
                let _ = writeln!(text, "  cannot apply permanently here: {}", failure.message);
            }
            None => {}
        }
    }
}

/// Prints a proposal: each file as it would be written, each setting as a command line.
pub fn proposal_text(proposal: &Proposal) -> String {
    let mut text = String::new();
    for (path, content) in &proposal.files {
        let _ = writeln!(text, "  file {}:", path.display());
        for line in content.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    for (setting, now) in &proposal.settings {
        let (path, value) = (setting.path.display(), &setting.value);
        let _ = writeln!(text, "  set {path} to {value} (now {now})");
    }
    for (line, why) in &proposal.by_hand {
        let _ = writeln!(text, "  by hand: {line} ({why})");
    }
    for note in &proposal.unmeasured {
        let _ = writeln!(text, "  note: {note}");
    }
    text
}

/// Returns the confirmed comparison to make permanent. Fails if nothing is confirmed, or if workloads disagree.
pub fn confirmed<'a>(findings: &'a Findings, workload: Option<&str>) -> Outcome<&'a Comparison> {
    let id = &findings.study.id;
    if findings.study.confirms.is_none() {
        return Err(mistake!(
            "{id} is not confirmed, and the measured gain of the best of many configurations is biased upward; run \
             assay advise confirm {id}, then apply the new result"
        ));
    }
    // A trade-off needs the user's choice of a workload.
    let is_wanted = |advice: &&Advice| match advice.kind {
        AdviceKind::Use => true,
        AdviceKind::TradeOff => workload.is_some(),
        AdviceKind::Avoid => false,
    };
    let confirmed = findings.advice.iter().filter(|it| it.status == AdviceStatus::Confirmed);
    let ids = confirmed.clone().filter(is_wanted).flat_map(|advice| &advice.evidence);
    let by_id = |id: &String| findings.comparisons.iter().find(|it| it.id == *id);
    let is_better = |it: &&Comparison| {
        it.verdict == Some(Verdict::Better) && workload.is_none_or(|name| it.workload == name)
    };
    if let Some(best) = ids.filter_map(by_id).find(is_better) {
        return Ok(best);
    }
    let trade_off = confirmed.clone().find(|advice| advice.kind == AdviceKind::TradeOff);
    Err(Failure::mistake(match trade_off {
        Some(advice) => format!("{} Choose the workload with --workload", advice.text),
        None => {
            format!("{id}: fresh trials did not confirm a better configuration; nothing to apply")
        }
    }))
}
