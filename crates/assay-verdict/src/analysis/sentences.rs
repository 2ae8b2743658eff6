//! What the numbers mean to an owner: one to five sentences, chosen by rules.
//!
//! Nothing is said from an invalid row but that it is invalid; a suspect row says so at its number, and
//! nothing is advised from it. Each yardstick is named with its number.

mod owner;
#[cfg(test)]
mod tests;
mod unquiet;
mod usual;

use assay_base::quantity::metric::Nature;
use assay_base::quantity::units::show;
use assay_kinds::work::metrics::{change, nature};
use assay_study::findings::notes::Note;
use assay_study::findings::said::{Said, Sentence};
use assay_study::findings::{Cell, Comparison, Findings, Needed, Rank, Trust, Verdict};
use assay_study::results::environment::Environment;
use assay_study::results::plan::{Arm, arm_in_words, without_target};
use assay_system::system::site::{Backing, TargetKind};

use super::rows::Row;
use super::verdicts::words::listed;
use super::verdicts::{Stage, Verdicts, words};
use super::{acknowledged, facts};
use crate::truth::WRONG_DATA;

use usual::{Usual, usual};

/// Sentences at most.
const MOST: usize = 5;

/// Sentences about invalid rows at most.
const MOST_INVALID: usize = 2;

/// Comparisons of targets that come before what their syncs rest on.
const FIRST_COMPARED: usize = 2;

/// Of a drive that is none there is nothing to tell its owner.
const SIMULATED: &str = "Simulated: the numbers describe the simulated drive, not a real drive.";

/// What comes before all numbers of a machine that a program makes up.
fn emulated(story: &Story<'_>) -> Option<Sentence> {
    let name = story.environment.machine.emulator()?;
    let text = format!(
        "Emulated: {name}, not a CPU, executed the instructions. Times and rates describe the emulator, not hardware."
    );
    Some(Sentence::new(Said::Emulated, text))
}

pub(super) struct Story<'a> {
    pub rows: &'a [Row<'a>],
    /// Rows that the plan left out.
    pub absent: usize,
    pub found: &'a Findings,
    pub told: Vec<Sentence>,
    /// Whether verdicts were asked for.
    pub judged: bool,
    /// Whether it may be run with more replicates: not where its looks are declared.
    pub more_help: bool,
    pub environment: &'a Environment,
}

/// The sentences, the most important first, the trust of the whole last.
pub(super) fn summary(story: &Story<'_>) -> Vec<Sentence> {
    let simulated = story.environment.sites.iter().all(|site| site.kind == TargetKind::Simulated);
    let of_kinds = super::kinds::sentences(story.found);
    if !of_kinds.is_empty() {
        let last = if simulated {
            Sentence::new(Said::Simulated, SIMULATED)
        } else {
            Sentence::new(Said::Trust, trust(story))
        };
        // What others recorded did not run as the machine is now, and no rule of trust has evidence of it.
        let recorded = story.rows.iter().all(|row| row.workload.work.is_recorded());
        let emulated = emulated(story).filter(|_| !recorded);
        let invalid = invalid(story).into_iter().take(MOST_INVALID);
        let invalid = invalid.map(|(_, text)| Sentence::new(Said::Invalid, text));
        let last = Some(last).filter(|_| !recorded);
        let told = emulated.into_iter().chain(of_kinds).chain(story.told.iter().cloned());
        return told.chain(invalid).chain(last).collect();
    }
    // What a study was run for leads, with its trust in it.
    let is_lead = |one: &&Sentence| matches!(one.said, Said::Factor { .. } | Said::MostLoad);
    if simulated && !story.judged {
        let lead = story.told.iter().filter(is_lead).cloned();
        return lead.chain([Sentence::new(Said::Simulated, SIMULATED)]).collect();
    }
    let invalid = invalid(story);
    // Where every row is invalid for one reason, that says how far the whole can be trusted.
    let said = story.absent == 0
        && story.rows.len() > 1
        && invalid.iter().any(|(rows, _)| *rows == story.rows.len());
    let invalid = invalid.into_iter().take(MOST_INVALID);
    let mut told: Vec<Sentence> =
        invalid.map(|(_, text)| Sentence::new(Said::Invalid, text)).collect();
    // Where more than is told by its number would be needed, a quiet machine is all there is to ask for.
    let needed = Needed::of_comparisons(&story.found.comparisons).and_then(Needed::for_all);
    let unquiet = unquiet::sentence(story.rows, needed.filter(|_| story.more_help));
    let unquiet = unquiet.map(|text| Sentence::new(Said::NotAlone, text));
    told.splice(0..0, unquiet.iter().cloned());
    told.splice(0..0, story.told.iter().filter(is_lead).cloned());
    let emulated = emulated(story);
    told.splice(0..0, emulated.iter().cloned());
    let wrong_data = wrong_data(story);
    told.splice(0..0, wrong_data.iter().cloned());
    if story.judged {
        told.extend(story.told.iter().filter(|one| !is_lead(one)).cloned());
        if simulated {
            told.push(Sentence::new(Said::Simulated, SIMULATED));
            return told;
        }
    } else {
        told.extend(of_a_check(story));
    }
    if !story.judged {
        // Those of verdicts are few already, and say where there is more.
        let first = [&unquiet, &emulated, &wrong_data].into_iter().flatten().count();
        told.truncate(MOST - 1 + first);
    }
    if !said {
        told.push(Sentence::new(Said::Trust, trust(story)));
    }
    told
}

/// What a check tells its owner: its workloads are known to be comparable with those yardsticks.
fn of_a_check(story: &Story<'_>) -> Vec<Sentence> {
    // Of an emulator's numbers there is nothing to tell an owner: no yardstick is held against them.
    if story.found.study.kind != "check" || story.environment.machine.emulator().is_some() {
        return Vec::new();
    }
    let is_class = |one: &&Sentence| matches!(one.said, Said::CardClass { .. });
    let mut told: Vec<Sentence> = story.told.iter().filter(is_class).cloned().collect();
    if story.environment.sites.len() > 1 {
        // Which target is faster comes first, and of several each may have its own to say of syncs.
        let mut compared = compared(story);
        let rest = compared.split_off(compared.len().min(FIRST_COMPARED));
        told.extend(compared);
        told.extend(story.rows.iter().filter_map(acknowledged_on));
        told.extend(rest);
        return told;
    }
    let noun = facts::noun(story.environment.sites.first());
    let owner = owner::sentences(story.rows, &story.found.measurements, noun).into_iter();
    told.extend(owner.map(|text| Sentence::new(Said::Owner, text)));
    told
}

/// What stands where fresh trials do not show what the first ones did.
const NOT_CONFIRMED: &str =
    "Not confirmed: the configuration is not better in fresh trials (95% confidence).";

/// Where there is more to say than fits above the tables.
const MORE: &str = "See the tables below for more workloads.";

/// What comparing arms says: each factor of a grid first, the bench, then who ranks first in each workload.
pub(super) fn of_verdicts(told: &Verdicts) -> Vec<Sentence> {
    let bench = told.noise_floor.iter().filter(|floor| floor.different);
    let bench = bench.map(|floor| {
        let (workload, metric) = (floor.workload.clone(), floor.metric.clone());
        Sentence::new(Said::Bench { workload, metric }, &*floor.text)
    });
    let mut sentences: Vec<Sentence> = bench.collect();
    let of_comparison = |found: &Comparison| {
        let said = Said::Comparison { id: found.id.clone() };
        Sentence::new(said, format!("{}: {}", found.workload, found.text))
    };
    if told.ranks.is_empty() {
        let undecided = undecided(&told.comparisons);
        let is_told = |found: &&Comparison| undecided.iter().all(|one| one.id != found.id);
        let primary =
            told.comparisons.iter().filter(|found| found.primary && found.verdict.is_some());
        sentences.extend(primary.clone().filter(is_told).map(of_comparison));
        let ids = undecided.iter().map(|found| found.id.clone()).collect();
        let text = words::undecided(&undecided, primary.count());
        sentences.extend(text.map(|text| Sentence::new(Said::Undecided { ids }, text)));
    } else {
        let best = |workload: &str| {
            let of_rank = |found: &&Comparison| found.workload == workload;
            let advised = told.advice.iter().flat_map(|advice| &advice.evidence);
            let mut named =
                advised.filter_map(|id| told.comparisons.iter().find(|found| found.id == *id));
            named.find(of_rank).map(of_comparison)
        };
        let of_rank = |rank: &Rank| {
            let (workload, metric) = (rank.workload.clone(), rank.metric.clone());
            Sentence::new(Said::Rank { workload, metric }, &*rank.text)
        };
        let ranks = told.ranks.iter();
        let each =
            ranks.flat_map(|rank| std::iter::once(of_rank(rank)).chain(best(&rank.workload)));
        sentences.extend(each);
        // Where the load differed between some arms, there are no places: what is sure is told alone.
        let ranked = |found: &&Comparison| told.ranks.iter().any(|r| r.workload == found.workload);
        let sure = |found: &&Comparison| {
            found.primary && matches!(found.verdict, Some(Verdict::Better | Verdict::Worse))
        };
        let rest = told.comparisons.iter().filter(sure).filter(|found| !ranked(found));
        sentences.extend(rest.map(of_comparison));
    }
    if told.stage == Stage::Confirming && told.advice.is_empty() {
        sentences.push(Sentence::new(Said::NotConfirmed, NOT_CONFIRMED));
    }
    if sentences.len() > MOST {
        sentences.truncate(MOST - 1);
        sentences.push(Sentence::new(Said::More, MORE));
    }
    // That none of them tells anything has been said.
    let judged = told.comparisons.iter().filter(|found| found.verdict.is_some()).count();
    let none = told.ranks.is_empty() && undecided(&told.comparisons).len() == judged;
    let counts = counted(&told.comparisons).filter(|_| !none);
    sentences.extend(counts.map(|text| Sentence::new(Said::Counts, text)));
    let factor = |(factor, text): &(String, String)| {
        Sentence::new(Said::Factor { factor: factor.clone() }, text.as_str())
    };
    let load = told.answers.iter().filter(|answer| answer.max_rate.is_some());
    let load = load.map(|answer| Sentence::new(Said::MostLoad, answer.answer.as_str()));
    load.chain(told.factors.iter().map(factor)).chain(sentences).collect()
}

/// Comparisons of which each would say that more replicates are needed: from two on one sentence says it
/// for all, and the table has their numbers.
fn undecided(comparisons: &[Comparison]) -> Vec<&Comparison> {
    let is_open = |found: &&Comparison| {
        found.primary
            && found.verdict == Some(Verdict::Inconclusive)
            && found.replicates_needed.is_some()
            && !found.withheld
            && !found.note_facts.iter().any(|note| matches!(note, Note::NoOrder { .. }))
    };
    let found: Vec<&Comparison> = comparisons.iter().filter(is_open).collect();
    if found.len() > 1 { found } else { Vec::new() }
}

/// How many comparisons ended how, where there are more than two.
fn counted(comparisons: &[Comparison]) -> Option<String> {
    let of = |verdict| comparisons.iter().filter(|found| found.verdict == Some(verdict)).count();
    let counts = [
        (of(Verdict::Better), "better"),
        (of(Verdict::Worse), "worse"),
        (of(Verdict::Equivalent), "equivalent"),
        (of(Verdict::Inconclusive), "inconclusive"),
    ];
    let all: usize = counts.iter().map(|(count, _)| count).sum();
    let told: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    (all > 2).then(|| format!("{all} comparisons with the baseline: {}.", told.join(", ")))
}

/// What comes before all numbers: that data were lost or changed.
fn wrong_data(story: &Story<'_>) -> Option<Sentence> {
    let rows: Vec<&Row<'_>> = story.rows.iter().filter(|row| has_wrong_data(row)).collect();
    let text = || invalid_sentence(WRONG_DATA, &rows, story.rows.len());
    (!rows.is_empty()).then(|| Sentence::new(Said::Invalid, text()))
}

fn has_wrong_data(row: &Row<'_>) -> bool {
    let says = |rule: &str, trust| rule == WRONG_DATA && trust == Trust::Invalid;
    row.remarks.iter().any(|(rule, remark)| says(rule, remark.trust))
}

/// One sentence a rule that made rows invalid, with how many: what those rows measure instead.
fn invalid(story: &Story<'_>) -> Vec<(usize, String)> {
    let mut by_rule: Vec<(&str, Vec<&Row<'_>>)> = Vec::new();
    for row in story.rows.iter().filter(|row| !has_wrong_data(row)) {
        let speaking = row.remarks.iter().find(|(_, remark)| remark.trust == Trust::Invalid);
        let Some((rule, _)) = speaking else { continue };
        match by_rule.iter_mut().find(|(known, _)| known == rule) {
            Some((_, rows)) => rows.push(row),
            None => by_rule.push((rule, vec![row])),
        }
    }
    let all = story.rows.len();
    let told = by_rule.iter();
    told.map(|(rule, rows)| (rows.len(), invalid_sentence(rule, rows, all))).collect()
}

fn invalid_sentence(rule: &str, rows: &[&Row<'_>], all: usize) -> String {
    let (who, many) = if rows.len() == all && all > 1 {
        (every(all), true)
    } else {
        (listed(&rows.iter().map(|row| row_name(row)).collect::<Vec<_>>()), rows.len() > 1)
    };
    let memory =
        rows.iter().all(|row| row.site.is_some_and(|site| site.backing == Backing::Memory));
    let what = match (rule, many) {
        ("cached", true) if memory => "they measure memory, not a drive",
        ("cached", false) if memory => "it measures memory, not a drive",
        ("cached", true) => "they measure memory, not the drive",
        ("cached", false) => "it measures memory, not the drive",
        ("unwritten", true) => "they measure reads of blocks that were never written",
        ("unwritten", false) => "it measures reads of blocks that were never written",
        (WRONG_DATA, _) => "written data was lost or changed",
        ("device-bytes", _) => "the device did not move all of the bytes during the trial",
        ("link-ceiling", true) => "they are faster than the link to the drive",
        ("link-ceiling", false) => "it is faster than the link to the drive",
        ("io-limit", true) => "they measure a limit of a control group, not the drive",
        ("io-limit", false) => "it measures a limit of a control group, not the drive",
        ("clock", _) => "the trace has no times, so rates and latencies are unknown",
        (_, true) => "they do not measure what they claim",
        (_, false) => "it does not measure what it claims",
    };
    format!("{who} {} invalid: {what}.", if many { "are" } else { "is" })
}

/// `random-write-q1`, with its target where there are several.
fn row_name(row: &Row<'_>) -> String {
    let name = match arm_in_words(without_target(&row.arm).iter()).as_str() {
        "" => row.workload.name.clone(),
        levels => format!("{} ({levels})", row.workload.name),
    };
    match row.arm.get("target") {
        Some(target) => format!("{name} on {target}"),
        None => name,
    }
}

/// Workloads whose comparison says most, the first one first.
const TELLING: [Usual; 4] =
    [Usual::RandomWrite, Usual::Commit, Usual::RandomRead, Usual::SequentialRead];

/// Targets against the first one; nothing from invalid rows.
fn compared(story: &Story<'_>) -> Vec<Sentence> {
    let is = |found: &Comparison, wanted: Usual| {
        let own = story.rows.iter().find(|row| row.workload.name == found.workload);
        own.and_then(usual) == Some(wanted)
    };
    let found = TELLING.iter().flat_map(|wanted| {
        let own = story.found.comparisons.iter().filter(move |found| is(found, *wanted));
        own.map(move |found| (found, *wanted))
    });
    found
        .filter_map(|(found, usual)| {
            let said = Said::Comparison { id: found.id.clone() };
            Some(Sentence::new(said, comparison(story, found, usual)?))
        })
        .collect()
}

/// What the syncs of a row rest on, with its target.
fn acknowledged_on(row: &Row<'_>) -> Option<Sentence> {
    let text = acknowledged::of_row(row)?;
    Some(Sentence::new(Said::Owner, format!("{}: {text}.", row_name(row))))
}

/// What a comparison is of, by the name of its workload: of synced writes also who waits for them, where a
/// sync is known to reach the medium.
fn subject(story: &Story<'_>, found: &Comparison, usual: Usual) -> String {
    let name = &found.workload;
    if usual == Usual::Commit && !story.rows.iter().any(Row::is_borrowed) {
        return format!("{name} (as in database commits)");
    }
    name.clone()
}

fn comparison(story: &Story<'_>, found: &Comparison, usual: Usual) -> Option<String> {
    let trust_of = |arm: &Arm| {
        let own = |cell: &&Cell| {
            (&cell.workload, &cell.metric, &cell.configuration)
                == (&found.workload, &found.metric, arm)
        };
        story.found.measurements.iter().find(own).and_then(|cell| cell.trust)
    };
    let worst = trust_of(&found.configuration)?.max(trust_of(&found.baseline)?);
    let about = about(worst)?;
    let ends = found.ci95?;
    let ([low, high], doubt) = (ends.map(show::times), worst.doubt());
    let open = if ends[0] <= 1.0 && ends[1] >= 1.0 { "; no significant difference" } else { "" };
    let ratio = show::times(found.ratio?);
    Some(format!(
        "{}: {about}{} on {} compared with {} (ratio {ratio}, 95% CI {low}-{high}{open}{doubt}).",
        subject(story, found, usual),
        change(&ratio, &found.metric),
        found.configuration.get("target")?,
        found.baseline.get("target")?,
    ))
}

/// The word before a number: nothing, or `about ` where something speaks against it. None for an
/// invalid number: nothing is said from it.
fn about(trust: Trust) -> Option<&'static str> {
    match trust {
        Trust::Trusted => Some(""),
        Trust::Suspect => Some("about "),
        Trust::Invalid => None,
    }
}

/// How a row stands and whether as given, by the number that pages count it by: that of the metric that
/// matters, or else the first that was judged.
fn stands(found: &Findings, row: &Row<'_>) -> Option<(Trust, bool)> {
    let trust = row.trust?;
    let is_own = |cell: &&Cell| {
        (&cell.workload, &cell.configuration, cell.control)
            == (&row.workload.name, &row.arm, row.workload.control)
            && cell.trust.is_some()
    };
    let own = || found.measurements.iter().filter(is_own);
    let cell = own().find(|cell| cell.primary).or_else(|| own().next());
    Some(cell.map_or((trust, false), |cell| (cell.trust.unwrap_or(trust), cell.is_lent())))
}

/// Whether all numbers are of one trial. Amounts, such as a capacity or lost cuts, are counted once by nature.
fn are_of_one_trial(found: &Findings) -> bool {
    let is_rate = |cell: &&Cell| cell.primary && nature(&cell.metric) != Nature::Amount;
    let mut rates = found.measurements.iter().filter(is_rate).peekable();
    rates.peek().is_some() && rates.all(|cell| cell.n < 2)
}

/// How far the whole can be trusted.
fn trust(story: &Story<'_>) -> String {
    let all = story.rows.len() + story.absent;
    let stands: Vec<Option<(Trust, bool)>> =
        story.rows.iter().map(|row| stands(story.found, row)).collect();
    let of = |trust: Trust| stands.iter().flatten().filter(|(own, _)| *own == trust).count();
    let trusted = of(Trust::Trusted);
    let given = stands.iter().flatten().filter(|(_, is_lent)| *is_lent).count();
    let absent = story.absent + stands.iter().filter(|own| own.is_none()).count();
    if all == absent {
        return "Nothing was measured.".to_owned();
    }
    if trusted == all {
        let rows = if all == 1 { "The row is".to_owned() } else { format!("{} are", every(all)) };
        if given == all {
            return format!(
                "{rows} trusted for this virtual device: no trust rule was triggered; the \
                 host's cache is invisible to this guest."
            );
        }
        if given == 0 && are_of_one_trial(story.found) {
            return "No trust rule was triggered, but each number is from a single trial without a spread."
                .to_owned();
        }
        if given == 0 {
            return format!("{rows} trusted: no trust rule was triggered.");
        }
    }
    let counts = [
        (trusted - given, "trusted"),
        (given, "trusted for this virtual device"),
        (of(Trust::Suspect), "suspect"),
        (of(Trust::Invalid), "invalid"),
        (absent, "absent"),
    ];
    let told: Vec<(usize, &str)> = counts.into_iter().filter(|(count, _)| *count > 0).collect();
    match (all, told.as_slice()) {
        (1, [(_, word)]) => format!("The row is {word}."),
        (_, [(_, word)]) => format!("{} are {word}.", every(all)),
        _ => {
            let told: Vec<String> =
                told.iter().map(|(count, word)| format!("{count} {word}")).collect();
            format!("Of {all} rows: {}.", told.join(", "))
        }
    }
}

/// All rows, more than one.
fn every(all: usize) -> String {
    if all == 2 { "Both rows".to_owned() } else { format!("All {all} rows") }
}
