//! One to five sentences for the owner, chosen by rules. An invalid row only gets a sentence on its invalidity; a
//! suspect row is marked, and gets no advice. Each comparison with a yardstick includes the number.

mod owner;

const BLAMED: [(&str, &str); 5] = [
    ("foreign-io", "other programs used the drive"),
    ("cpu-starved", "other programs used the CPUs"),
    ("steal", "the hypervisor ran other VMs on the CPUs"),
    ("swap", "the machine swapped"),
    ("throttled", "the CPUs or the drive throttled"),
];

/// Waiting for a quiet machine is faster than running more replicates than this.
const MOST_ADVISED: u32 = 100;

/// One sentence if over half of the trials were disturbed, with advice: the number of replicates, if it may grow.
fn disturbance_sentence(rows: &[RowTrials<'_>], needed: Option<u32>) -> Option<Sentence> {
    let total: usize = rows.iter().map(|row| row.unquiet.of).sum();
    let disturbed: usize = rows.iter().map(|row| row.unquiet.trials).sum();
    if 2 * disturbed <= total {
        return None;
    }
    let is_flagged = |rule: &str| rows.iter().any(|row| row.unquiet.rules.contains(&rule));
    let causes = BLAMED.iter().filter(|(rule, _)| is_flagged(rule)).map(|(_, words)| words);
    let causes = listed(causes);
    let causes = if causes.is_empty() { "unknown cause" } else { &causes };
    let more = match needed {
        Some(count @ ..=MOST_ADVISED) => format!(", or run more replicates (--replicates {count})"),
        _ => String::new(),
    };
    let text = format!(
        "Interference: {causes}, in {disturbed} of {total} trials. Stop other load and measure again{more}."
    );
    Some(Sentence::new(SentenceRole::Disturbance, "background-load", text))
}

#[cfg(test)]
mod tests;

use assay_core::quantity::metric::{Nature, class};
use assay_core::quantity::units::show;
use assay_machine::system::site::{Backing, TargetKind};
use assay_study::findings::{
    AbsentCell, Comparison, Findings, Measurement, MetricRef, Needed, Sentence, SentenceRole,
    Trust, Verdict,
};
use assay_study::results::plan::{Plan, arm_in_words, without_target};
use assay_study::results::{design::Stopping, environment::Environment};
use assay_workloads::metrics::{change, nature, noun};

use super::rows::RowTrials;
use super::verdicts::words::listed;
use super::verdicts::{AdviceStage, words};
use super::{acknowledged, card, distinct, facts, with_levels};
use crate::{import::grouped, rules::WRONG_DATA};

const MOST: usize = 5;
const MOST_INVALID: usize = 2;

/// A simulated drive has no owner's sentences.
fn simulated_sentence() -> Sentence {
    let text = "Simulated: the numbers describe the simulated drive, not a real drive.";
    Sentence::new(SentenceRole::Warning, "simulated", text)
}

/// Topics that answer the study's question: they precede the caveats.
const LEADS: [&str; 2] = ["factor", "max-rate"];

/// Precedes all numbers of an emulated machine.
fn emulated_sentence(input: &SummaryInput<'_>) -> Option<Sentence> {
    let name = input.environment.machine.emulator()?;
    let text = format!(
        "Emulated: {name}, not a CPU, executed the instructions. Times and rates describe the emulator, not hardware."
    );
    Some(Sentence::new(SentenceRole::Caveat, "emulated", text))
}

pub(super) struct SummaryInput<'a> {
    pub plan: &'a Plan,
    pub environment: &'a Environment,
    pub rows: &'a [RowTrials<'a>],
    pub found: &'a Findings,
    /// Sentences on verdicts and facts, before the selection.
    pub facts: Vec<Sentence>,
}

/// Selects the sentences at the top of a page: the most important first, the overall trust last.
pub(super) fn summary(input: &SummaryInput<'_>) -> Vec<Sentence> {
    let is_simulated = input.environment.sites.iter().all(|one| one.kind == TargetKind::Simulated);
    let invalid = invalid_sentences(input);
    // If every row is invalid for the same reason, that sentence also covers the overall trust.
    let all_invalid = input.plan.absent.is_empty()
        && input.rows.len() > 1
        && invalid.iter().any(|(rows, _)| *rows == input.rows.len());
    let invalid = invalid.into_iter().take(MOST_INVALID).map(|(_, sentence)| sentence);
    let last = if is_simulated {
        simulated_sentence()
    } else {
        Sentence::new(SentenceRole::Trust, "trust", trust_words(input))
    };
    // Some kinds of work describe their outcome themselves: then their sentences replace the selection below.
    let of_kinds = super::kinds::sentences(input.found);
    if !of_kinds.is_empty() {
        // Production work did not run on the current machine, and no rule has evidence of it.
        let recorded = input.rows.iter().all(|row| row.workload.work.is_recorded());
        let mut summary = Vec::new();
        summary.extend(emulated_sentence(input).filter(|_| !recorded));
        summary.extend(of_kinds);
        summary.extend(input.facts.iter().cloned());
        summary.extend(invalid);
        if !recorded {
            summary.push(last);
        }
        return summary;
    }
    let has_verdicts = input.plan.design.margin.is_some();
    // The answer to the study's question comes first, with its trust.
    let is_lead = |one: &Sentence| LEADS.contains(&one.topic.as_str());
    let (leads, others): (Vec<_>, Vec<_>) = input.facts.iter().cloned().partition(is_lead);
    if is_simulated && !has_verdicts {
        let is_compared = input.environment.sites.len() > 1;
        let of_targets = if is_compared { check_sentences(input) } else { Vec::new() };
        return leads.into_iter().chain(of_targets).chain([simulated_sentence()]).collect();
    }
    // If too many replicates were needed, advise only a quiet machine. Studies with declared looks get no number.
    let can_grow = has_verdicts && input.plan.design.stopping == Stopping::Fixed;
    let needed = Needed::of_comparisons(&input.found.comparisons).and_then(Needed::for_all);
    let warnings =
        [wrong_data_sentence(input), emulated_sentence(input), missing_primary_sentence(input)];
    let mut summary: Vec<Sentence> = warnings.into_iter().flatten().collect();
    let disturbance = disturbance_sentence(input.rows, needed.filter(|_| can_grow));
    // Warnings and the disturbance do not count; the last place is for the trust.
    let most = MOST - 1 + summary.len() + usize::from(disturbance.is_some());
    summary.extend(leads);
    summary.extend(disturbance);
    summary.extend(invalid);
    if has_verdicts {
        summary.extend(others);
    } else {
        summary.extend(check_sentences(input));
        // Sentences on verdicts are already limited, and refer to the tables.
        summary.truncate(most);
    }
    if is_simulated || !all_invalid {
        summary.push(last);
    }
    summary
}

/// The sentences of a check for the owner: its workloads are comparable with the yardsticks.
fn check_sentences(input: &SummaryInput<'_>) -> Vec<Sentence> {
    // Emulated numbers are not comparable with a yardstick.
    if input.found.study.kind != "check" || input.environment.machine.emulator().is_some() {
        return Vec::new();
    }
    let is_class = |one: &&Sentence| one.topic == card::CLASS_TOPIC;
    let mut sentences: Vec<Sentence> = input.facts.iter().filter(is_class).cloned().collect();
    if input.environment.sites.len() > 1 {
        // The faster target comes first; each of several targets may have a sentence on syncs.
        let comparisons = input.found.comparisons.iter();
        let targets = distinct(comparisons.filter_map(|one| one.configuration.get("target")));
        sentences.extend(targets.iter().filter_map(|target| compare_target(input, target)));
        for row in input.rows {
            let Some(text) = acknowledged::sync_remark(row) else { continue };
            sentences.push(Sentence::finding("owner", format!("{}: {text}.", row_name(row))));
        }
        return sentences;
    }
    let noun = facts::noun(input.environment.sites.first());
    let owner = owner::sentences(input.rows, input.found, noun).into_iter();
    sentences.extend(owner.map(|text| Sentence::finding("owner", text)));
    sentences
}

const NOT_CONFIRMED: &str =
    "Not confirmed: the configuration is not better in fresh trials (95% confidence).";

const MORE: &str = "See the tables below for more workloads.";

/// Sentences on comparisons: the A/A control, each factor of a grid, then the best arm of each workload.
pub(super) fn verdict_sentences(
    found: &Findings,
    factors: &[(String, String)],
    stage: AdviceStage,
) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    if let Some(floor) = found.effects.noise_floor.as_ref().filter(|floor| floor.different) {
        sentences.push(Sentence {
            about: vec![MetricRef::new(&floor.workload, &floor.metric)],
            interval: true,
            ..Sentence::new(SentenceRole::Warning, "noise-floor", &*floor.text)
        });
    }
    if found.effects.ranks.is_empty() {
        sentences.extend(comparison_sentences(&found.comparisons));
    } else {
        sentences.extend(rank_sentences(found));
    }
    if stage == AdviceStage::Confirming && found.advice.is_empty() {
        sentences.push(Sentence::new(SentenceRole::Warning, "not-confirmed", NOT_CONFIRMED));
    }
    if sentences.len() > MOST {
        sentences.truncate(MOST - 1);
        sentences.push(Sentence::finding("more", MORE));
    }
    // The sentence on undecided comparisons already covers this case.
    let judged = found.comparisons.iter().filter(|found| found.verdict.is_some()).count();
    if !found.effects.ranks.is_empty() || open_comparisons(&found.comparisons).len() != judged {
        let counts = verdict_counts(&found.comparisons);
        sentences.extend(counts.map(|text| Sentence::finding("counts", text)));
    }
    let max_rates = found.answers.all.iter().filter(|answer| answer.max_rate.is_some());
    let max_rates =
        max_rates.map(|one| Sentence::new(SentenceRole::Answer, "max-rate", &*one.answer));
    let factors = factors.iter().map(|(factor, text)| factor_sentence(found, factor, text));
    max_rates.chain(factors).chain(sentences).collect()
}

fn factor_sentence(found: &Findings, factor: &str, text: &str) -> Sentence {
    let effects = found.effects.main.iter().filter(|effect| effect.factor == factor);
    Sentence {
        about: effects.map(|own| MetricRef::new(&own.workload, &own.metric)).collect(),
        ..Sentence::new(SentenceRole::Conclusion, "factor", text)
    }
}

fn comparison_sentence(found: &Comparison) -> Sentence {
    Sentence::of_comparison(found, format!("{}: {}", found.workload, found.text))
}

/// One sentence per judged comparison; those that need more replicates share one.
fn comparison_sentences(comparisons: &[Comparison]) -> Vec<Sentence> {
    let undecided = open_comparisons(comparisons);
    let is_decided = |found: &&Comparison| undecided.iter().all(|one| one.id != found.id);
    let primary = comparisons.iter().filter(|found| found.primary && found.verdict.is_some());
    let mut sentences: Vec<Sentence> =
        primary.clone().filter(is_decided).map(comparison_sentence).collect();
    if let Some(text) = words::undecided(&undecided, primary.count()) {
        let comparisons = undecided.iter().map(|found| found.id.clone()).collect();
        sentences.push(Sentence { comparisons, ..Sentence::finding("inconclusive", text) });
    }
    sentences
}

/// The best arm of each workload, with the comparison behind the advice.
fn rank_sentences(found: &Findings) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    let evidence: Vec<&String> = found.advice.iter().flat_map(|advice| &advice.evidence).collect();
    for rank in &found.effects.ranks {
        sentences.push(Sentence {
            about: vec![MetricRef::new(&rank.workload, &rank.metric)],
            ..Sentence::finding("rank", &*rank.text)
        });
        let mut advised = evidence.iter().filter_map(|id| found.comparison(id));
        let best = advised.find(|found| found.workload == rank.workload);
        sentences.extend(best.map(comparison_sentence));
    }
    // If the load differed between some arms, there are no ranks: report only significant comparisons.
    for one in found.comparisons.iter().filter(|one| one.primary) {
        let is_sure = matches!(one.verdict, Some(Verdict::Better | Verdict::Worse));
        if is_sure && found.effects.ranks.iter().all(|rank| rank.workload != one.workload) {
            sentences.push(comparison_sentence(one));
        }
    }
    sentences
}

/// Comparisons that need more replicates: two or more share one sentence; the table has their numbers.
fn open_comparisons(comparisons: &[Comparison]) -> Vec<&Comparison> {
    let open = comparisons.iter().filter(|found| found.is_open());
    let found: Vec<&Comparison> = open.filter(|one| one.replicates_needed.is_some()).collect();
    if found.len() > 1 { found } else { Vec::new() }
}

/// Counts of verdicts, if there are more than two comparisons.
fn verdict_counts(comparisons: &[Comparison]) -> Option<String> {
    let count = |verdict| comparisons.iter().filter(|one| one.verdict == Some(verdict)).count();
    let counts = [
        (count(Verdict::Better), "better"),
        (count(Verdict::Worse), "worse"),
        (count(Verdict::Equivalent), "equivalent"),
        (count(Verdict::Inconclusive), "inconclusive"),
    ];
    let total: usize = counts.iter().map(|(count, _)| count).sum();
    let counts = words::count_words(&counts);
    (total > 2).then(|| format!("{total} comparisons with the baseline: {counts}."))
}

/// Precedes all numbers: data was lost or corrupted.
fn wrong_data_sentence(input: &SummaryInput<'_>) -> Option<Sentence> {
    let rows: Vec<&RowTrials<'_>> = input.rows.iter().filter(|row| has_wrong_data(row)).collect();
    (!rows.is_empty()).then(|| invalid_sentence(WRONG_DATA, &rows, input.rows.len()))
}

/// Why there are no verdicts: no row has a value of the metric that the study chose.
fn missing_primary_sentence(input: &SummaryInput<'_>) -> Option<Sentence> {
    let chosen = input.plan.design.primary.as_deref()?;
    if input.found.measurements.iter().any(|cell| cell.metric == chosen) {
        return None;
    }
    let is_chosen = |cell: &&AbsentCell| cell.metric.as_deref() == Some(chosen);
    let AbsentCell { workload, reason, .. } = input.found.absent.iter().find(is_chosen)?;
    let text = format!("No verdict: {workload} has no {}: {reason}.", noun(chosen));
    Some(Sentence::new(SentenceRole::Caveat, "primary-metric", text))
}

fn has_wrong_data(row: &RowTrials<'_>) -> bool {
    let mut remarks = row.remarks.iter();
    remarks.any(|(rule, remark)| *rule == WRONG_DATA && remark.trust == Trust::Invalid)
}

/// One sentence per rule that invalidated rows, with their number: what those rows measure instead.
fn invalid_sentences(input: &SummaryInput<'_>) -> Vec<(usize, Sentence)> {
    let rows = input.rows.iter().filter(|row| !has_wrong_data(row));
    let invalid = rows.filter_map(|row| {
        let (rule, _) = row.remarks.iter().find(|(_, remark)| remark.trust == Trust::Invalid)?;
        Some((*rule, row))
    });
    let mut sentences = Vec::new();
    for group in grouped(invalid, |one, other| one.0 == other.0) {
        let (rules, rows): (Vec<&str>, Vec<&RowTrials<'_>>) = group.into_iter().unzip();
        sentences.push((rows.len(), invalid_sentence(rules[0], &rows, input.rows.len())));
    }
    sentences
}

/// What the rows measured instead, by the rule that invalidated them; `all` is the number of rows of the study.
fn invalid_sentence(rule: &str, rows: &[&RowTrials<'_>], all: usize) -> Sentence {
    let many = rows.len() > 1;
    let subject = if many && rows.len() == all {
        all_rows(all)
    } else {
        listed(rows.iter().map(|row| row_name(row)))
    };
    let memory = rows.iter().all(|row| row.site.is_some_and(|one| one.backing == Backing::Memory));
    let (verb, measures) = if many { ("are", "they measure") } else { ("is", "it measures") };
    let faster = if many { "they are faster" } else { "it is faster" };
    let meaning = match rule {
        "cached" if memory => format!("{measures} memory, not a drive"),
        "cached" => format!("{measures} memory, not the drive"),
        "unwritten" => format!("{measures} reads of blocks that were never written"),
        WRONG_DATA => "written data was lost or changed".to_owned(),
        "device-bytes" => "the device did not move all of the bytes during the trial".to_owned(),
        "link-ceiling" => format!("{faster} than the link to the drive"),
        "io-limit" => format!("{measures} a limit of a control group, not the drive"),
        "clock" => "the trace has no times, so rates and latencies are unknown".to_owned(),
        _ if many => "they do not measure what they claim".to_owned(),
        _ => "it does not measure what it claims".to_owned(),
    };
    let text = format!("{subject} {verb} invalid: {meaning}.");
    Sentence::new(SentenceRole::Warning, "invalid", text)
}

/// `random-write-q1`, with its target if there are several.
fn row_name(row: &RowTrials<'_>) -> String {
    let levels = arm_in_words(without_target(&row.arm).iter());
    let name = with_levels(&row.workload.name, &levels);
    match row.arm.get("target") {
        Some(target) => format!("{name} on {target}"),
        None => name,
    }
}

/// In how many workloads a target is faster than the first, and the largest difference; `None` without valid numbers.
fn compare_target(input: &SummaryInput<'_>, target: &String) -> Option<Sentence> {
    let mut ratios: Vec<(&Comparison, f64)> = Vec::new();
    for found in &input.found.comparisons {
        if found.configuration.get("target") == Some(target) {
            ratios.extend(valid_ratio(input, found).map(|(ratio, _)| (found, ratio)));
        }
    }
    // Significant differences first, then the largest. The sorts are stable: if ratios are equal, the first counts.
    ratios.sort_by(|(_, one), (_, other)| other.ln().abs().total_cmp(&one.ln().abs()));
    ratios.sort_by_key(|(found, _)| !is_significant(found));
    let largest = ratios.first()?.0;
    let (ratio, trust) = valid_ratio(input, largest)?;
    let (first, ratio) = (largest.baseline.get("target")?, show::times(ratio));
    let change = format!("{}{}", number_prefix(trust)?, change(&ratio, &largest.metric));
    let significant: Vec<_> = ratios.iter().filter(|(found, _)| is_significant(found)).collect();
    let is_faster = |(one, ratio): &&&(&Comparison, f64)| (ratio - 1.0) * one.better.sign() > 0.0;
    let faster = significant.iter().filter(is_faster).count();
    let (total, different) = (ratios.len(), significant.len());
    let counts = [
        (faster, "faster"),
        (different - faster, "slower"),
        (total - different, "not significantly different"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> =
        counts.map(|(count, word)| format!("{word} in {count} of {total} workloads")).collect();
    let (counts, workload) = (counts.join(", "), &largest.workload);
    let next = format!("for verdicts, run `assay run check {first} {target} --set replicates=20`");
    let text = match largest.ci95 {
        None => format!("{change} at {workload}, from too few replicates for a 95% CI; {next}"),
        Some(_) if different == 0 => format!("{counts} (95% CIs); {next}"),
        Some(ends) => {
            let ([low, high], doubt) = (ends.map(show::times), trust.doubt());
            format!(
                "{counts}; most at {workload}: {change} (ratio {ratio}, 95% CI {low}-{high}{doubt})"
            )
        }
    };
    let text = format!("{target} compared with {first}: {text}.");
    Some(Sentence { interval: different > 0, ..Sentence::of_comparison(largest, text) })
}

/// The ratio of a comparison (of the means, for few replicates), and the lower trust of its sides.
fn valid_ratio(input: &SummaryInput<'_>, found: &Comparison) -> Option<(f64, Trust)> {
    let cell = |arm| input.found.cell(&found.workload, arm, &found.metric);
    let [target, first] = [cell(&found.configuration)?, cell(&found.baseline)?];
    let ratio = found.ratio.or_else(|| Some(target.value()? / first.value()?))?;
    let worst = target.trust?.max(first.trust?);
    (worst != Trust::Invalid && ratio.is_finite() && ratio > 0.0).then_some((ratio, worst))
}

/// Whether the CI of a comparison excludes 1.
fn is_significant(found: &Comparison) -> bool {
    found.ci95.is_some_and(|[low, high]| low > 1.0 || high < 1.0)
}

/// Prefix of a number: `about ` if it is suspect; `None` if it is invalid.
fn number_prefix(trust: Trust) -> Option<&'static str> {
    match trust {
        Trust::Trusted => Some(""),
        Trust::Suspect => Some("about "),
        Trust::Invalid => None,
    }
}

/// The trust in a row's primary number, or else in its first judged one, and whether the drive is virtual.
fn row_trust(found: &Findings, row: &RowTrials<'_>) -> Option<(Trust, bool)> {
    let trust = row.trust?;
    let row_key = (&row.workload.name, &row.arm, row.workload.control);
    let is_judged = |cell: &&Measurement| {
        (&cell.workload, &cell.configuration, cell.control) == row_key && cell.trust.is_some()
    };
    let cells = || found.measurements.iter().filter(is_judged);
    let cell = cells().find(|cell| cell.primary).or_else(|| cells().next());
    Some(cell.map_or((trust, false), |cell| (cell.trust.unwrap_or(trust), cell.is_lent())))
}

/// Whether each number comes from a single trial. Amounts, such as a capacity, do not count.
fn are_of_one_trial(found: &Findings) -> bool {
    let is_rate = |cell: &&Measurement| cell.primary && nature(&cell.metric) != Nature::Amount;
    let mut rates = found.measurements.iter().filter(is_rate).peekable();
    rates.peek().is_some() && rates.all(|cell| cell.n < 2)
}

/// How many rows are trusted, suspect, invalid and absent.
fn trust_words(input: &SummaryInput<'_>) -> String {
    // Each class of requests counts as a row, as on pages and in warnings.
    let is_class = |cell: &&Measurement| cell.primary && class(&cell.metric).is_some();
    let classes = input.found.measurements.iter().filter(is_class);
    let classes = classes.map(|cell| Some((cell.trust?, cell.is_lent())));
    let trusts: Vec<Option<(Trust, bool)>> =
        input.rows.iter().map(|row| row_trust(input.found, row)).chain(classes).collect();
    let all = trusts.len() + input.plan.absent.len();
    let count = |level: Trust| trusts.iter().flatten().filter(|(trust, _)| *trust == level).count();
    let trusted = count(Trust::Trusted);
    let virtual_count = trusts.iter().flatten().filter(|(_, is_virtual)| *is_virtual).count();
    let absent = input.plan.absent.len() + trusts.iter().filter(|trust| trust.is_none()).count();
    if all == absent {
        return "Nothing was measured.".to_owned();
    }
    let rows = if all == 1 { "The row is".to_owned() } else { format!("{} are", all_rows(all)) };
    if trusted == all && virtual_count == all {
        return format!(
            "{rows} trusted for this virtual device: no trust rule was triggered; the host's cache is invisible to \
             this guest."
        );
    }
    if trusted == all && virtual_count == 0 {
        if are_of_one_trial(input.found) {
            return "No trust rule was triggered, but each number is from a single trial without a spread."
                .to_owned();
        }
        return format!("{rows} trusted: no trust rule was triggered.");
    }
    let counts = [
        (trusted - virtual_count, "trusted"),
        (virtual_count, "trusted for this virtual device"),
        (count(Trust::Suspect), "suspect"),
        (count(Trust::Invalid), "invalid"),
        (absent, "absent"),
    ];
    match counts.iter().find(|(count, _)| *count == all) {
        Some((_, word)) => format!("{rows} {word}."),
        None => format!("Of {all} rows: {}.", words::count_words(&counts)),
    }
}

fn all_rows(count: usize) -> String {
    if count == 2 { "Both rows".to_owned() } else { format!("All {count} rows") }
}
