//! The sentences of comparisons. Each says what the numbers say and no more; each is a snapshot.

use crate::quantity::metric::noun;
use crate::quantity::units::show;
use crate::results::design::{Design, Order, Stopping};
use crate::results::findings::{Comparison, Kind, Verdict};
use crate::results::plan::Arm;

/// Why arms that ran one after the other get no verdict.
pub(super) const SEQUENTIAL: &str =
    "no verdict: the arms ran one after the other, so drift and difference cannot be told apart";

/// `depth=4,threads=2`; `baseline` where nothing varies.
pub(super) fn arm_words(arm: &Arm) -> String {
    let levels: Vec<String> =
        arm.iter().map(|(factor, level)| format!("{factor}={level}")).collect();
    levels.join(",")
}

/// An arm for a sentence: with one factor the level alone, else every factor.
pub(super) fn short_words(arm: &Arm, design: &Design) -> String {
    match (arm.len(), arm.iter().next()) {
        (1, Some((factor, level))) if speaks_for_itself(design, factor) => level.clone(),
        _ => arm_words(arm).replace(',', ", "),
    }
}

/// Levels that need no name of their factor: names, not numbers and not yes or no.
fn speaks_for_itself(design: &Design, factor: &str) -> bool {
    let factor = design.factors.iter().find(|one| one.name == factor);
    factor.is_some_and(|factor| {
        factor.levels.iter().all(|level| {
            let word = level.chars().next().is_some_and(|first| !first.is_ascii_digit());
            word && level != "true" && level != "false" && level.len() > 1
        })
    })
}

/// `1 replicate`, `6 replicates`.
pub(super) fn replicates(count: usize) -> String {
    counted(count, "replicate")
}

/// A number of things.
pub(super) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// A comparison in one sentence.
pub(super) fn comparison(found: &Comparison, within_margin: bool, design: &Design) -> String {
    let (arm, base) = (short_words(&found.arm, design), short_words(&found.baseline, design));
    let Some(amount) = amount(found) else {
        return format!("{arm} against {base}: no complete pair, no statement.");
    };
    let interval = interval(found, design);
    match found.verdict {
        _ if found.n < 3 => {
            let pairs = counted(found.n, "pair");
            format!("{arm} against {base}: {amount}; {pairs}: no statement.")
        }
        None => format!("{arm} has {amount} of {base}{interval}."),
        Some(Verdict::Inconclusive) if design.order == Order::Sequential => {
            format!("{arm} has {amount} of {base}{interval}; {SEQUENTIAL}.")
        }
        Some(verdict @ (Verdict::Better | Verdict::Worse)) => {
            let word = if verdict == Verdict::Better { "better" } else { "worse" };
            let small = if within_margin { small(found) } else { String::new() };
            format!("{arm} is {word} than {base}: {amount}{interval}{small}.")
        }
        Some(Verdict::Equivalent) => {
            let margin = found.margin.map(percent).unwrap_or_default();
            format!("{arm} and {base} are equivalent within {margin}: {amount}{interval}.")
        }
        Some(Verdict::Inconclusive) => {
            format!(
                "{arm} against {base}: the numbers do not tell; {amount}{interval}{}.",
                needed(found)
            )
        }
    }
}

/// `1.042 times the bandwidth`, or a difference in the metric's unit.
fn amount(found: &Comparison) -> Option<String> {
    match (&found.difference, found.ratio) {
        (Some(difference), _) => {
            Some(format!("{:+} in {}", rounded(difference.value), noun(&found.metric)))
        }
        (None, Some(ratio)) => {
            Some(format!("{} times the {}", show::ratio(ratio), noun(&found.metric)))
        }
        (None, None) => None,
    }
}

/// The interval that the verdict is read from.
fn interval(found: &Comparison, design: &Design) -> String {
    let pairs = replicates(found.n);
    let name = match design.stopping {
        Stopping::Fixed => "95 % interval",
        Stopping::Looks { .. } => "interval for all looks",
        Stopping::Open { .. } => "interval for open stopping",
    };
    let ends = match &found.difference {
        Some(difference) => difference
            .ci95_family
            .or(difference.ci95)
            .map(|ends| ends.map(|end| rounded(end).to_string())),
        None => found.ci95_family.or(found.ci95).map(|ends| ends.map(show::ratio)),
    };
    match ends {
        Some([low, high]) => format!(" ({name} {low} to {high}, {pairs})"),
        None => format!(" ({pairs}, no interval)"),
    }
}

fn small(found: &Comparison) -> String {
    let margin = found.margin.map(percent).unwrap_or_default();
    format!("; the difference is smaller than the margin of {margin}")
}

fn needed(found: &Comparison) -> String {
    let margin = found.margin.map(percent).unwrap_or_default();
    match found.replicates_needed {
        Some(count) => format!("; about {count} replicates would resolve a difference of {margin}"),
        None => String::new(),
    }
}

/// A share as percent, without needless digits.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", show::three_digits(100.0 * share))
}

/// Three significant digits, as a number.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let unit = 10_f64.powi(value.abs().log10().floor() as i32 - 2);
    let digits = (value / unit).round();
    // Multiplying by a negative power of ten leaves a tail of digits; dividing does not.
    if unit < 1.0 { digits / (1.0 / unit).round() } else { digits * unit }
}

/// Replicates whose absence would change the verdict.
pub(super) fn fragile(replicates: &[u32]) -> Option<String> {
    match replicates {
        [] => None,
        [one] => Some(format!("fragile: without replicate {one} the verdict would change")),
        several => Some(format!(
            "fragile: without any one of {} replicates the verdict would change",
            several.len()
        )),
    }
}

/// The verdict that the disturbed trials would give.
pub(super) fn disturbed(with: Verdict) -> String {
    format!("depends on disturbed trials: with them it would be {}", verdict_word(with))
}

/// The word for a verdict.
pub(super) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// What to make of the best arm.
pub(super) fn advice(best: &Comparison, confirmed: bool) -> String {
    let (arm, base) = (arm_words(&best.arm), arm_words(&best.baseline));
    let ratio = best.ratio.map(show::ratio).unwrap_or_default();
    let what = noun(&best.metric);
    if confirmed {
        return format!(
            "{}: {arm} is better than {base} in fresh trials as well ({ratio} times the {what}).",
            best.workload
        );
    }
    format!(
        "{}: {arm} is the candidate ({ratio} times the {what} of {base}); the best of several looks better than it is: assay confirm runs fresh trials.",
        best.workload
    )
}

/// What stands over a study whose arms ran one after the other.
pub(super) const SEQUENTIAL_STUDY: &str = "the arms ran one after the other: whatever changed in \
     the meantime looks like a difference between them, so nothing is called better or worse";

/// Where no order was recorded.
pub(super) const NO_ORDER: &str =
    "no order was recorded: drift and carry-over between trials could not be looked for";

/// Where nothing was seen.
pub(super) const NO_DRIFT: &str = "neither drift nor carry-over between trials was seen";

/// A change of the baseline over the study.
pub(super) fn drift(
    workload: &str,
    metric: &str,
    change: Option<f64>,
    p: f64,
    order: Order,
) -> String {
    let what = noun(metric);
    let how = match change {
        Some(change) => {
            let way = if change < 0.0 { "fell" } else { "rose" };
            format!("{way} by {}", percent(change.abs()))
        }
        None => "changed".to_owned(),
    };
    let end = match order {
        Order::Sequential => "the differences between arms may be nothing else",
        _ => "comparisons within replicates are not touched by it",
    };
    format!(
        "{workload}: the {what} of the baseline {how} over the study (p = {}); {end}",
        p_words(p)
    )
}

/// An arm that changes what its successor measures.
pub(super) fn carry_over(workload: &str, p: f64) -> String {
    format!(
        "{workload}: what ran before a trial changes its result (p = {}); longer rests or fresh \
         conditions before each trial would help",
        p_words(p)
    )
}

/// A probability in few digits.
fn p_words(p: f64) -> String {
    if p < 0.0001 { "under 0.0001".to_owned() } else { format!("{}", rounded(p)) }
}

/// What two identical arms looked like.
pub(super) fn noise_floor(floor: &crate::results::findings::NoiseFloor) -> String {
    let Some([low, high]) = floor.ci95 else {
        return format!(
            "Two identical arms: {} times the {} in {} ({}); too few pairs for an interval.",
            show::ratio(floor.ratio),
            noun(&floor.metric),
            floor.workload,
            replicates(floor.n)
        );
    };
    let span = format!(
        "{} times the {} in {} (95 % interval {} to {})",
        show::ratio(floor.ratio),
        noun(&floor.metric),
        floor.workload,
        show::ratio(low),
        show::ratio(high)
    );
    if floor.different {
        let most = (low.ln().abs()).max(high.ln().abs()).exp() - 1.0;
        return format!(
            "This bench cannot be trusted for differences below {}: two identical arms had {span}.",
            percent(most)
        );
    }
    format!("Two identical arms could not be told apart: {span}.")
}

/// A main effect in one sentence.
pub(super) fn effect(effect: &crate::results::findings::Effect) -> String {
    let what = format!(
        "{}: {}={} has {} times the {} of {}",
        effect.workload,
        effect.factor,
        effect.level,
        show::ratio(effect.ratio),
        noun(&effect.metric),
        effect.baseline
    );
    match effect.ci95_family.or(effect.ci95) {
        Some([low, high]) => format!(
            "{what} over all other levels (95 % interval {} to {}).",
            show::ratio(low),
            show::ratio(high)
        ),
        None => format!("{what} over all other levels ({}: no interval).", replicates(effect.n)),
    }
}

/// Two factors that depend on each other; `low` and `high` are the first factor's effects at the
/// second one's baseline and at its other level.
pub(super) fn interaction(
    found: &crate::results::findings::Interaction,
    corner: [&str; 2],
    [low, high]: [assay_stats::Sample; 2],
) -> String {
    let ([first, second], [level1, level2]) = (&found.factors, &found.levels);
    format!(
        "{}: the effect of {first} depends on {second}: {level1} has {} times the {} of {} at \
         {second}={}, and {} times at {second}={level2}.",
        found.workload,
        show::ratio(low.mean.exp()),
        noun(&found.metric),
        corner[0],
        corner[1],
        show::ratio(high.mean.exp()),
    )
}

/// A trend in one sentence.
pub(super) fn trend(
    trend: &crate::results::findings::Trend,
    better: crate::quantity::Better,
    factor: &crate::results::design::Factor,
) -> String {
    let name = |level: f64| {
        let named = |text: &&String| {
            let bytes = text.parse::<crate::quantity::Bytes>().map(|bytes| bytes.0 as f64);
            text.parse::<f64>().ok() == Some(level) || bytes.ok() == Some(level)
        };
        factor.levels.iter().find(named).cloned().unwrap_or_else(|| level.to_string())
    };
    let place = if trend.arm.is_empty() {
        String::new()
    } else {
        format!(" ({})", arm_words(&trend.arm).replace(',', ", "))
    };
    let best = match better {
        crate::quantity::Better::Higher => "highest",
        crate::quantity::Better::Lower => "lowest",
    };
    let [from, to] = trend.peak_range;
    let peak = if from == to {
        format!("at {}", name(trend.peak))
    } else {
        format!("at {}; {} to {} cannot be told from it", name(trend.peak), name(from), name(to))
    };
    let slope = match trend.ci95 {
        Some([low, high]) => format!(
            "twice the {} goes with {} times (95 % interval {} to {})",
            trend.factor,
            show::ratio(trend.slope.exp2()),
            show::ratio(low.exp2()),
            show::ratio(high.exp2())
        ),
        None => format!("{}: no interval for its slope", replicates(trend.n)),
    };
    format!("{}{place}: the {} is {best} {peak}; {slope}.", trend.workload, noun(&trend.metric))
}

/// Who ranks first, and who cannot be told from it.
pub(super) fn rank(rank: &crate::results::findings::Rank, design: &Design) -> String {
    let Some((first, others)) = rank.places.split_first() else { return String::new() };
    let name = |place: &crate::results::findings::Place| short_words(&place.arm, design);
    let tied: Vec<String> = others.iter().filter(|place| place.from_to[0] == 1).map(name).collect();
    let (count, what) = (rank.places.len(), noun(&rank.metric));
    let head = format!("{}: {} ranks first of {count} by {what}", rank.workload, name(first));
    // Arms that the first one does not clearly beat, named where they are the ones in front.
    let near = first.from_to[1] - 1;
    match tied.as_slice() {
        _ if near == 0 => format!("{head}, clearly."),
        many if many.len() == count - 1 => format!("{head}, but none can be told from another."),
        many if many.len() != near || near > 4 => {
            format!("{head}; {} cannot be told from it.", counted(near, "other"))
        }
        [one] => format!("{head}; {one} cannot be told from it."),
        [before @ .., last] => {
            format!("{head}; {} and {last} cannot be told from it.", before.join(", "))
        }
        [] => format!("{head}."),
    }
}

/// Two results of different days or machines: what the numbers suggest.
pub(in crate::analysis) fn across(found: &Comparison) -> String {
    let result = |arm: &Arm| arm.get("result").cloned().unwrap_or_default();
    let mut levels = found.arm.clone();
    levels.remove("result");
    let what = if levels.is_empty() {
        found.workload.clone()
    } else {
        format!("{} ({})", found.workload, arm_words(&levels).replace(',', ", "))
    };
    let (later, earlier) = (result(&found.arm), result(&found.baseline));
    let Some((ratio, [low, high])) = found.ratio.zip(found.ci95_family.or(found.ci95)) else {
        return format!("{what}: {later} against {earlier}: too few trials for a statement.");
    };
    let numbers = format!(
        "{} times the {} (95 % interval {} to {})",
        show::ratio(ratio),
        noun(&found.metric),
        show::ratio(low),
        show::ratio(high)
    );
    let against = match found.kind {
        Kind::RerunBaseline => ", each against its own baseline",
        _ => "; another day or machine",
    };
    let says = match found.verdict {
        Some(Verdict::Better) => format!("which suggests that {later} is better"),
        Some(Verdict::Worse) => format!("which suggests that {later} is worse"),
        _ => "which does not tell them apart".to_owned(),
    };
    format!("{what}: {later} has {numbers} of {earlier}{against}, {says}.")
}
