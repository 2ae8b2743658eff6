//! The sentences of comparisons. Each states what the numbers show and no more; each is a snapshot.

mod answers;
mod factors;
pub(super) mod most_load;
mod notes;

pub(crate) use crate::import::words::listed;
pub(crate) use answers::SUSPECT;
pub(super) use answers::*;
pub(super) use factors::{factor, trend};
pub use notes::note;
pub(super) use notes::orders;
pub(crate) use notes::{load, no_direction};

use assay_core::exhibit::parts::distinct;
use assay_core::quantity::Better;
use assay_core::quantity::units::show::{self, share as percent};
use assay_core::stats::{FEWEST_FOR_INTERVAL, Sample};
use assay_study::findings::notes::Note;
use assay_study::findings::{
    Comparison, Effect, Interaction, Kind, Needed, NoiseFloor, Rank, RankRange, Verdict,
};
use assay_study::results::design::{Design, LeadIn, Order, Stopping};
use assay_study::results::plan::{Arm, arm_in_words, level_words};
use assay_workloads::metrics::{change, noun};

use crate::inference::{with_levels, without_factor};

/// Why a study gets no verdict: drift may explain a difference between its arms.
pub(super) fn no_verdict(order: Order) -> Option<&'static str> {
    match order {
        Order::Sequential => Some(
            "no verdict: the configurations ran in sequence, so drift could explain the difference",
        ),
        Order::Unknown => Some(
            "no verdict: the order of the trials is unknown, so drift could explain the difference",
        ),
        Order::Recorded => Some(
            "no verdict: the order was not randomized, so a simultaneous change could explain the difference",
        ),
        Order::Random | Order::Chained | Order::Rcbd | Order::Crd => None,
    }
}

pub(crate) const NO_VERDICT_EMULATED: &str =
    "no verdict: times and rates of an emulated machine do not describe hardware";

pub(super) fn short_words(arm: &Arm, design: &Design) -> String {
    arm_in_words(arm.iter().filter(|(factor, _)| design.tells(factor)))
}

/// The names of the two arms of a comparison, the baseline last.
fn names(found: &Comparison, design: &Design) -> [String; 2] {
    [&found.configuration, &found.baseline].map(|arm| short_words(arm, design))
}

pub(crate) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// `2 better, 1 worse`, without counts of zero.
pub(crate) fn count_words(counts: &[(usize, &str)]) -> String {
    let known = counts.iter().filter(|(count, _)| *count > 0);
    known.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// The comparison of an arm with its baseline in one sentence, with its evidence and the replicates that it needs.
pub(super) fn comparison(found: &Comparison, design: &Design) -> String {
    let [name, base] = names(found, design);
    let Some(amount) = amount(found) else {
        let (values, pairs) = (counted(found.n, "value"), counted(found.n, "pair"));
        let why = match found.n {
            _ if found.kind == Kind::Unpaired => {
                format!("too few trials ({values} on one side; a comparison needs 3)")
            }
            0 => "inconclusive (no complete, undisturbed pair)".to_owned(),
            _ => format!("inconclusive ({pairs}; a CI needs 3)"),
        };
        return format!("{name} and {base}: {why}.");
    };
    let interval = evidence(found, design);
    let margin = found.margin.map(percent).unwrap_or_default();
    let plain = match found.difference {
        None if found.cannot_tell() => format!("{name} and {base}: the CI is too wide"),
        _ => format!("{name} against {base}: {amount}"),
    };
    match found.verdict {
        None => format!("{plain}{interval}."),
        Some(Verdict::Inconclusive) if !design.order.tells_arms_from_time() => {
            let why = no_verdict(design.order).unwrap_or_default();
            format!("{plain}{interval}; {why}.")
        }
        Some(verdict @ (Verdict::Better | Verdict::Worse)) => {
            let small = format!("; the difference is smaller than the margin of {margin}");
            let small = if found.within_margin { small.as_str() } else { "" };
            let word = verdict_word(verdict);
            format!("{name} is {word} than {base}: {amount}{interval}{small}.")
        }
        Some(Verdict::Equivalent) => {
            let evidence = equivalence_evidence(found).unwrap_or(interval);
            format!("{name} is equivalent to {base} within {margin}: {amount}{evidence}.")
        }
        Some(Verdict::Inconclusive) => {
            let needed =
                Needed::from_counts(found.replicates_needed, found.margin.unwrap_or_default());
            let needed = needed.map(|needed| format!("; {}", needed.words())).unwrap_or_default();
            format!("{plain}{interval}: inconclusive{needed}.")
        }
    }
}

/// `4.2% more bandwidth`, or a difference in the metric's unit.
pub(super) fn amount(found: &Comparison) -> Option<String> {
    match (&found.difference, found.ratio) {
        (Some(difference), _) => {
            Some(format!("{:+} in {}", rounded(difference.value), noun(&found.metric)))
        }
        (None, ratio) => Some(change(&ratio_text(found, ratio?), &found.metric)),
    }
}

/// The ends of the interval behind the verdict.
fn ends(found: &Comparison) -> Option<[String; 2]> {
    match (&found.difference, found.ratio) {
        (Some(difference), _) => {
            let ends = difference.ci95_simultaneous.or(difference.ci95)?;
            Some(ends.map(|end| format!("{:+}", rounded(end))))
        }
        (None, ratio) => {
            let [_, low, high] = show::ratios(ratio?, found.ci95_simultaneous.or(found.ci95)?);
            Some([low, high])
        }
    }
}

/// Returns the evidence of a comparison in brackets: ` (ratio 1.68, 95% CI 1.41-1.99, n = 6)`.
pub(super) fn evidence(found: &Comparison, design: &Design) -> String {
    let unpaired = if found.kind == Kind::Unpaired { ", unpaired" } else { "" };
    let name = match design.stopping {
        Stopping::Fixed | Stopping::Race { .. } => "95% CI",
        Stopping::Looks { .. } => "95% CI adjusted for interim analyses",
        Stopping::Open { .. } => "95% CI valid at any stop",
    };
    let n = found.n;
    match (ends(found), found.ratio) {
        (Some([low, high]), Some(ratio)) if found.difference.is_none() => {
            let ratio = ratio_text(found, ratio);
            format!(" (ratio {ratio}, {name} {low}-{high}, n = {n}{unpaired})")
        }
        (Some([low, high]), _) => format!(" ({name} {low} to {high}, n = {n}{unpaired})"),
        (None, _) => format!(" (n = {n}{unpaired}, too few trials for a CI)"),
    }
}

/// Returns a ratio with the digits that its interval supports.
fn ratio_text(found: &Comparison, ratio: f64) -> String {
    match found.ci95_simultaneous.or(found.ci95) {
        Some(ends) => show::ratios(ratio, ends)[0].clone(),
        None => show::ratio(ratio),
    }
}

/// The interval behind *equivalent*, which is narrower than the others.
fn equivalence_evidence(found: &Comparison) -> Option<String> {
    let ends = found.ci_equivalence?;
    let [ratio, low, high] = show::ratios(found.ratio?, ends);
    Some(format!(" (ratio {ratio}, TOST, 90% CI {low}-{high}, n = {})", found.n))
}

/// Most workloads to name in the sentence on undecided ones.
const MOST_WORKLOADS: usize = 4;

/// One sentence on the undecided comparisons; `None` if there are none.
pub(crate) fn undecided(inconclusive: &[&Comparison], total: usize) -> Option<String> {
    let needed = Needed::of_comparisons(inconclusive.iter().copied())?;
    let mut workloads = distinct(inconclusive.iter().map(|one| one.workload.as_str()));
    let more = workloads.len().saturating_sub(MOST_WORKLOADS);
    workloads.truncate(MOST_WORKLOADS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "{} of {total} comparisons are inconclusive ({}{more}): {}.",
        inconclusive.len(),
        workloads.join("; "),
        needed.words()
    ))
}

/// Rounds to three significant digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    // The place value of the third digit.
    let unit = 10_f64.powi(value.abs().log10().floor() as i32 - 2);
    let digits = (value / unit).round();
    // Multiplying by a negative power of ten leaves a tail of digits; dividing does not.
    if unit < 1.0 { digits / (1.0 / unit).round() } else { digits * unit }
}

pub(super) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
    }
}

pub(super) const SEQUENTIAL_STUDY: &str =
    "the configurations ran in sequence, so drift could explain the difference; no verdicts";

pub(super) const UNORDERED_STUDY: &str =
    "the order of the trials is unknown, so drift could explain the difference; no verdicts";

pub(super) const RECORDED_STUDY: &str = "the data are observational, in time order: a difference between groups does \
                                         not show a cause, so Assay gives no verdict";

pub(super) const NO_DRIFT_SEQUENTIAL: &str =
    "drift and carry-over are not detectable, because each configuration ran in a separate period";

pub(super) fn left_out(arms: usize) -> String {
    let verb = if arms == 1 { "is" } else { "are" };
    format!(
        "{} {verb} invalid and excluded from effects, trends and platforms",
        counted(arms, "configuration")
    )
}

pub(super) fn unfinished(found: &Comparison, design: &Design) -> String {
    let ([name, base], n) = (names(found, design), found.n);
    let head = match amount(found) {
        Some(amount) => format!("{name} against {base} so far: {amount} (n = {n});"),
        None => format!("{name} and {base}:"),
    };
    format!("{head} no verdict before the study ends.")
}

pub(super) fn emulated(found: &Comparison, design: &Design) -> String {
    let plain = comparison(found, design);
    format!("{}; {NO_VERDICT_EMULATED}.", plain.trim_end_matches('.'))
}

/// A comparison with its numbers, and why it has no verdict.
pub(super) fn without_verdict(found: &Comparison, design: &Design, why: &str) -> String {
    let [name, base] = names(found, design);
    let head = match amount(found) {
        None => format!("{name} and {base}"),
        Some(amount) => format!("{name} against {base}: {amount}"),
    };
    format!("{head}{}; no verdict: {why}.", evidence(found, design))
}

pub(super) fn carried_between(workload: &str, p: f64) -> String {
    format!(
        "{workload}: the difference depends on the order of the two configurations ({}), so one affects the other, and \
         Assay gives no verdict; longer rests or recreating conditions before each trial may help",
        p_words(p)
    )
}

pub(super) const NO_ORDER: &str =
    "no order was recorded: Assay could not check for drift and carry-over between trials";

pub(super) const NO_DRIFT: &str = "no drift or carry-over detected";
pub(super) const NO_CARRY_OVER: &str = "no carry-over detected";
/// A tenfold effect: a larger one is reported as undetectable at any size.
const LARGEST_EFFECT: f64 = 9.0;

/// The largest effect that may be undetected (a fraction), and advice; `what` kind of carry-over it is.
pub(super) fn missed_carry_over(design: &Design, effect: f64, what: &str) -> String {
    let advice = if design.order == Order::Random && design.lead_in == LeadIn::Half {
        "set warmup_trial = \"full\" for longer warm-ups"
    } else {
        "use longer rests or recreate conditions before each trial"
    };
    let size = if effect < LARGEST_EFFECT {
        format!("{what} below {}", percent(effect))
    } else {
        format!("{what} of any size")
    };
    format!("; {size} was not detectable (80% power). To reduce carry-over, {advice}")
}

pub(super) const TWO_CHAINED: &str = "no significant drift; with two configurations in chained order, Assay cannot \
    check for carry-over, but carry-over does not bias the comparison";

pub(super) const TWO_RANDOM: &str = "no significant drift; with two configurations and so few replicates, a \
     carry-over effect is indistinguishable from the difference between the configurations";

/// Too few trials, or an order that cannot show carry-over.
pub(super) const NO_DRIFT_ALONE: &str =
    "no significant trend (5% level); Assay could not check for carry-over between trials";

pub(super) const NO_CARRY_OVER_ALONE: &str =
    "no carry-over detected; Assay could not check for drift";

pub(super) const TOO_FEW: &str = "too few trials to check for drift or carry-over";

/// How the baseline changed over the study (`change` is a fraction), and what such drift does to comparisons.
pub(super) fn drift(name: &str, metric: &str, change: Option<f64>, p: f64, order: Order) -> String {
    let what = noun(metric);
    let how = match change {
        Some(change) => {
            let way = if change < 0.0 { "fell" } else { "rose" };
            format!("{way} by {}", percent(change.abs()))
        }
        None => "changed".to_owned(),
    };
    let end = match order {
        Order::Sequential => "drift alone could explain the differences between configurations",
        Order::Crd => "the random order turns drift into noise, which widens the CIs",
        Order::Unknown => "the effect on comparisons is unknown, because the order is unknown",
        Order::Recorded => "drift can bias the differences between groups",
        Order::Random | Order::Chained | Order::Rcbd => "pairing within replicates cancels drift",
    };
    format!("{name}: the {what} of the baseline {how} over the study ({}); {end}", p_words(p))
}

pub(super) fn carry_over(workload: &str, p: f64) -> String {
    format!(
        "{workload}: the configuration that ran before a trial affects the trial's result ({}); longer rests or \
         recreating conditions before each trial may help",
        p_words(p)
    )
}

pub(super) fn through_the_lead_in(workload: &str, lead_in: LeadIn, p: f64) -> String {
    let p = p_words(p);
    let why = match lead_in {
        LeadIn::Half => {
            ": the carry-over effect outlasts warm-ups of half a trial; set warmup_trial = \"full\""
        }
        LeadIn::Full => {
            ": the carry-over effect outlasts even whole warm-ups; longer trials or recreating conditions may help"
        }
        LeadIn::None => ", and no warm-up ran in between; remove warmup_trial",
    };
    format!(
        "{workload}: the first trial of a replicate depends on the last configuration of the previous replicate \
         ({p}){why}"
    )
}

pub(super) const UNGUARDED: &str = "nothing reduces carry-over: no warm-up ran before the replicates (warmup_trial = \
                                    \"none\")";

fn p_words(p: f64) -> String {
    if p < 0.0001 { "p < 0.0001".to_owned() } else { format!("p = {}", rounded(p)) }
}

/// The difference between two identical configurations, and the size up to which differences may be noise.
pub(super) fn noise_floor(floor: &NoiseFloor, ends: [f64; 2]) -> String {
    let [low, high] = ends;
    let [ratio, from, to] = show::ratios(floor.ratio, ends);
    let most = percent((low.ln().abs()).max(high.ln().abs()).exp() - 1.0);
    let head = if floor.different {
        format!("do not trust differences below {most} on this machine")
    } else if low > 1.0 || high < 1.0 {
        // The verdict uses 1% and the interval 5%: if they disagree, the text says so.
        "significant at p = 0.05 but not at p = 0.01".to_owned()
    } else {
        "no significant difference".to_owned()
    };
    format!(
        "A/A control: {head}; {} in the second copy of {} (ratio {ratio}, 95% CI {from}-{to}, n = {}).",
        change(&ratio, &floor.metric),
        floor.workload,
        floor.n
    )
}

pub(super) fn effect(effect: &Effect) -> String {
    let [ratio, basis] =
        with_interval(effect.ratio, effect.ci95_simultaneous.or(effect.ci95), effect.n);
    format!(
        "{}: {} against {}, averaged over the other factors: {} ({basis}).",
        effect.workload,
        level_words(&effect.factor, &effect.level),
        level_words(&effect.factor, &effect.baseline),
        change(&ratio, &effect.metric)
    )
}

/// A ratio, and its interval with the number of replicates.
fn with_interval(ratio: f64, ends: Option<[f64; 2]>, n: usize) -> [String; 2] {
    match ends {
        Some(ends) => {
            let [ratio, low, high] = show::ratios(ratio, ends);
            let basis = format!("ratio {ratio}, 95% CI {low}-{high}, n = {n}");
            [ratio, basis]
        }
        None => [show::ratio(ratio), format!("n = {n}, too few trials for a CI")],
    }
}

/// An interaction; `effects` are the first factor's effects at the second one's baseline and other level.
pub(super) fn interaction(found: &Interaction, corner: [&str; 2], effects: [Sample; 2]) -> String {
    let [low, high] = effects.map(|effect| change(&show::ratio(effect.mean.exp()), &found.metric));
    let ([first, second], [level1, level2]) = (&found.factors, &found.levels);
    let [_, basis] = with_interval(found.ratio, Some(found.ci95_simultaneous), found.n);
    format!(
        "{}: the effect of {first} depends on {second}; {level1} against {}: {low} at {}, {high} at {} (interaction \
         {basis}).",
        found.workload,
        corner[0],
        level_words(second, corner[1]),
        level_words(second, level2),
    )
}

/// Marks a sentence on several arms, some of whose numbers are suspect.
pub(super) fn from_suspect_numbers(text: &str) -> String {
    format!("{} (from suspect numbers).", text.trim_end_matches('.'))
}

/// The best arm, and the arms that do not differ from it significantly over all pairs of arms.
pub(super) fn rank(rank: &Rank, design: &Design, compared: &[Comparison]) -> String {
    let Some((first, others)) = rank.ranks.split_first() else { return String::new() };
    let name = |place: &RankRange| short_words(&place.configuration, design);
    let tied: Vec<String> = others.iter().filter(|one| one.rank_range[0] == 1).map(name).collect();
    let (count, what, workload) = (rank.ranks.len(), noun(&rank.metric), &rank.workload);
    let best = name(first);
    let head = format!("{workload}: {best} is the best of {count} configurations in {what}");
    let basis = if comparisons_contradict_ties(rank, compared) { ALL_PAIRS } else { "" };
    let from = format!("{head}; no significant difference from");
    // Number of arms that the first one does not beat significantly; list them if they are next in rank.
    let unbeaten = first.rank_range[1] - 1;
    if unbeaten == 0 {
        return format!("{head}, significantly better than each of the others (95% confidence).");
    }
    if tied.len() == count - 1 {
        return format!(
            "{workload}: the {count} configurations do not differ significantly in {what}{basis}; {best} has the best \
             mean."
        );
    }
    if tied.len() == unbeaten && unbeaten <= MOST_TIED {
        return format!("{from} {}{basis}.", listed(&tied));
    }
    format!("{from} {}{basis}.", counted(unbeaten, "other"))
}

/// Explains "cannot be distinguished" if a comparison with the baseline shows a difference.
const ALL_PAIRS: &str = " (all pairs, simultaneous 95% CIs)";
/// Most configurations that a sentence names; it counts more of them.
const MOST_TIED: usize = 4;

/// Whether a comparison shows a difference between two arms that the sentence on ranks calls indistinguishable.
fn comparisons_contradict_ties(rank: &Rank, compared: &[Comparison]) -> bool {
    let Some((first, others)) = rank.ranks.split_first() else { return false };
    let is_clear = |one: &&Comparison| {
        let of_these = (&one.workload, &one.metric) == (&rank.workload, &rank.metric);
        of_these && one.primary && matches!(one.verdict, Some(Verdict::Better | Verdict::Worse))
    };
    let clear: Vec<&Comparison> = compared.iter().filter(is_clear).collect();
    let differs_from_first = |place: &&RankRange| {
        let [arm, best] = [&place.configuration, &first.configuration];
        let pairs = clear.iter().map(|one| [&one.configuration, &one.baseline]);
        pairs.into_iter().any(|pair| pair == [arm, best] || pair == [best, arm])
    };
    let is_tied = |place: &RankRange| place.rank_range[0] == 1;
    if others.iter().all(is_tied) {
        let is_placed = |arm: &Arm| rank.ranks.iter().any(|place| place.configuration == *arm);
        return clear.iter().any(|one| is_placed(&one.configuration) && is_placed(&one.baseline));
    }
    // Only the number of arms that the first one beats is stored.
    let beaten = rank.ranks.len() - first.rank_range[1];
    others.iter().filter(differs_from_first).count() > beaten
        || others.iter().any(|place| is_tied(place) && differs_from_first(&place))
}

/// The sentence on a row of two results from different days or machines: what its numbers suggest.
pub(crate) fn across(found: &Comparison) -> String {
    let levels = without_factor(&found.configuration, "result");
    let what = with_levels(&found.workload, &arm_in_words(levels.iter()));
    let [later, earlier] = result_names(found);
    let Some((ratio, [low, high])) = found.ratio.zip(found.ci95_simultaneous.or(found.ci95)) else {
        let why = if found.n < FEWEST_FOR_INTERVAL {
            "have too few trials for a comparison"
        } else {
            "have no spread, so there is no CI"
        };
        return format!("{what}: {later} and {earlier} {why}.");
    };
    // If both have a baseline, the comparison is between ratios.
    let basis = match found.kind {
        Kind::RerunBaseline => ", each relative to its own baseline",
        _ => "",
    };
    let [ratio, low, high] = show::ratios(ratio, [low, high]);
    let says = match found.verdict {
        Some(Verdict::Better) => format!("this suggests that {later} is better"),
        Some(Verdict::Worse) => format!("this suggests that {later} is worse"),
        Some(Verdict::Equivalent) => {
            let margin = show::percent(100.0 * found.margin.unwrap_or_default());
            format!("this suggests equivalence within {margin}")
        }
        Some(Verdict::Inconclusive) => match found.min_detectable_ratios {
            Some(detectable) => {
                return one_result_per_side(found, &what, basis, [&later, &earlier], detectable);
            }
            None => "the difference is inconclusive".to_owned(),
        },
        None if found.note_facts.contains(&Note::Emulated) => NO_VERDICT_EMULATED.to_owned(),
        None => "there is no verdict".to_owned(),
    };
    format!(
        "{what}: {} in {later} compared with {earlier}{basis} (ratio {ratio}, 95% CI {low}-{high}). Across days or \
         machines, {says}.",
        change(&ratio, &found.metric)
    )
}

fn result_names(found: &Comparison) -> [String; 2] {
    let arms = [&found.configuration, &found.baseline];
    arms.map(|arm| arm.get("result").cloned().unwrap_or_default())
}

/// One result per side: its trials do not show the variation between days, so no direction is suggested.
fn one_result_per_side(
    found: &Comparison,
    row: &str,
    basis: &str,
    later_and_earlier: [&str; 2],
    detectable: [f64; 2],
) -> String {
    let [later, earlier] = later_and_earlier;
    let amount = found.ratio.zip(found.ci95_simultaneous).map(|(ratio, ends)| {
        let [ratio, low, high] = show::ratios(ratio, ends);
        let ci = format!("ratio {ratio}, 95% CI {low}-{high}, including day-to-day variation");
        (ratio, ci)
    });
    let (ratio, ci) = amount.unwrap_or_default();
    let [down, up] = [1.0 - detectable[0], detectable[1] - 1.0].map(percent);
    let [loss, gain] = if found.better == Better::Lower { [up, down] } else { [down, up] };
    let change = change(&ratio, &found.metric);
    format!(
        "{row}: {change} in {later} compared with {earlier}{basis} ({ci}). Inconclusive: one result per side; \
         smallest detectable loss {loss}, gain {gain} (80% power)."
    )
}

/// From this number of comparisons on, one sentence replaces the single ones.
const MANY: usize = 3;

/// One sentence for rows of two results with the same verdict; `None` if they differ.
pub(crate) fn agreement(found: &[&Comparison]) -> Option<String> {
    let (first, others) = found.split_first()?;
    if found.iter().all(|one| one.n < 2) {
        return Some("n = 1 each: no interval, differences cannot be judged.".to_owned());
    }
    let is_like_first = |one: &&&Comparison| {
        one.verdict == first.verdict
            && one.better == first.better
            && one.configuration.get("result") == first.configuration.get("result")
    };
    if found.len() < MANY || !others.iter().all(|one| is_like_first(&one)) {
        return None;
    }
    let ratios: Option<Vec<f64>> = found.iter().map(|one| one.ratio).collect();
    let [low, high] = extremes(&ratios?)?;
    let [later, earlier] = result_names(first);
    // The CIs include the variation between days.
    let is_beyond_days = |one: &&Comparison| {
        let contains_one =
            one.ci95_simultaneous.is_some_and(|[low, high]| low <= 1.0 && high >= 1.0);
        one.min_detectable_ratios.is_some() && !contains_one
    };
    let says = match first.verdict? {
        Verdict::Better => format!("this suggests that {later} is better"),
        Verdict::Worse => format!("this suggests that {later} is worse"),
        Verdict::Equivalent => "this suggests equivalence".to_owned(),
        // If days cannot explain the difference, each row has a sentence.
        Verdict::Inconclusive if found.iter().any(is_beyond_days) => return None,
        Verdict::Inconclusive => return Some(no_difference(found, &later, &earlier)),
    };
    let all = found.len();
    Some(format!(
        "All {all} rows agree: {later} has {low} to {high} times the value of {earlier}. Across days or machines, \
         {says}."
    ))
}

fn extremes(ratios: &[f64]) -> Option<[String; 2]> {
    let [low, high] = [f64::min, f64::max].map(|pick| ratios.iter().copied().reduce(pick));
    Some([low?, high?].map(show::ratio))
}

/// Rows without a significant difference; an unknown ratio is left out.
fn no_difference(comparisons: &[&Comparison], later: &str, earlier: &str) -> String {
    let ratios = comparisons.iter().filter(|one| !one.cannot_tell()).filter_map(|one| one.ratio);
    let ratios: Vec<f64> = ratios.collect();
    let head = format!("None of {} rows differs significantly", comparisons.len());
    let Some([low, high]) = extremes(&ratios) else {
        return format!("{head}: the CIs are too wide for a ratio.");
    };
    let unknown = match comparisons.len() - ratios.len() {
        0 => String::new(),
        count => format!("; no ratio for {count} of them"),
    };
    format!("{head}: {later} has {low} to {high} times the value of {earlier}{unknown}.")
}
