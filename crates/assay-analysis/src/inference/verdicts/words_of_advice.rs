//! The sentences of advice: what to use, to avoid, and to weigh.

use assay_core::quantity::units::show;
use assay_study::findings::{Comparison, Trust};
use assay_study::results::{design::Design, plan::arm_in_words};
use assay_workloads::metrics::change;

use super::advice::{AdviceStage, BadArm, Tied};
use super::contrasts::Contrast;
use super::words::{amount, evidence, short_words};

/// The advice to use the best arm; `end` is the end of the range that its level is at, if any.
pub(super) fn use_words(
    design: &Design,
    best: &Comparison,
    stage: AdviceStage,
    suspect: bool,
    end: Option<&str>,
    tied: &str,
) -> String {
    let end = end.map(|end| format!(", the {end} tried,")).unwrap_or_default();
    let [name, base] = [&best.configuration, &best.baseline].map(|arm| short_words(arm, design));
    let amount = amount(best).unwrap_or_default();
    let interval = evidence(best, design);
    let suspect = doubt(suspect);
    let workload = &best.workload;
    match stage {
        AdviceStage::Confirming => format!(
            "{workload}: {name} is also better than {base} in fresh trials: {amount}{interval}{suspect}."
        ),
        AdviceStage::Measured | AdviceStage::Imported | AdviceStage::Together => format!(
            "{workload}: use {name}{end} (candidate): {amount} compared with {base}{interval}{suspect}{tied}."
        ),
    }
}

/// The arm that a smaller one replaces, and the gain.
pub(super) fn tie_words(design: &Design, tied: &Tied<'_>) -> String {
    let best = short_words(tied.best, design);
    let tails = tied.tails.map(|tails| {
        let [tail, best_tail] = tails.map(show::duration);
        format!(", with a p99 of {tail} instead of {best_tail}")
    });
    format!("; the difference from {best} is within the margin{}", tails.unwrap_or_default())
}

/// Caveats: the candidate needs confirmation, and some levels were not measured.
pub(super) fn caveats(stage: AdviceStage, unmeasured: &[String]) -> String {
    let how = match stage {
        AdviceStage::Confirming => None,
        AdviceStage::Imported => Some("confirm it with fresh trials of both configurations"),
        AdviceStage::Together => {
            Some("confirm it with a second study of both configurations on the same hosts")
        }
        AdviceStage::Measured => Some("run assay advise confirm"),
    };
    let how =
        how.map_or_else(String::new, |how| format!(" The winner's gain is biased upward; {how}."));
    match unmeasured {
        [] => how,
        levels => format!("{how} Not measured: {}.", levels.join(", ")),
    }
}

pub(super) fn avoid_words(bad: &[BadArm<'_>]) -> String {
    let clauses: Vec<String> = bad.iter().map(bad_level_clause).collect();
    let level = match bad.first() {
        Some(BadArm::Level(one)) => arm_in_words(one.levels.iter()),
        Some(BadArm::Baseline(all)) => arm_in_words(all[0].baseline.iter()),
        None => String::new(),
    };
    format!("Avoid {level}: {}.", clauses.join("; "))
}

/// How much worse a level is; for a bad baseline, than the nearest better configuration.
fn bad_level_clause(bad: &BadArm<'_>) -> String {
    match bad {
        BadArm::Level(one) => format!(
            "{} compared with {} in {}{}",
            change_words(one),
            arm_in_words(one.baseline.iter()),
            one.workload,
            basis(one, one.suspect)
        ),
        BadArm::Baseline(contrasts) => {
            let distance = |one: &Contrast| one.ratio.ln().abs();
            let nearest =
                contrasts.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
            let Some(one) = nearest else { return String::new() };
            let what = arm_in_words(one.levels.iter());
            let head = match contrasts.len() {
                1 => format!("in {}, {what} is better", one.workload),
                count => format!(
                    "in {}, all {count} other configurations are better; {what}, the closest,",
                    one.workload
                ),
            };
            let joint = if contrasts.len() == 1 { " and" } else { "" };
            let suspect = contrasts.iter().any(|one| one.suspect);
            format!("{head}{joint} has {}{}", change_words(one), basis(one, suspect))
        }
    }
}

/// A level that is better in one workload and worse in another.
pub(super) fn trade_off_words(contrasts: &[&Contrast]) -> String {
    let clause = |one: &&Contrast| {
        format!("{} in {}{}", change_words(one), one.workload, basis(one, one.suspect))
    };
    let clauses: Vec<String> = contrasts.iter().map(clause).collect();
    let (what, than) = contrasts.first().map_or_else(Default::default, |one| {
        (arm_in_words(one.levels.iter()), arm_in_words(one.baseline.iter()))
    });
    format!(
        "{what} is a trade-off against {than}: {}; choose according to your most important workload.",
        clauses.join(", ")
    )
}

fn change_words(one: &Contrast) -> String {
    let [ratio, ..] = show::ratios(one.ratio, one.ends);
    change(&ratio, &one.metric)
}

/// The interval of a contrast, and whether suspect numbers are behind it.
fn basis(one: &Contrast, suspect: bool) -> String {
    let [ratio, low, high] = show::ratios(one.ratio, one.ends);
    let averaged = if one.averaged { "averaged over the other factors, " } else { "" };
    format!(" ({averaged}ratio {ratio}, 95% CI {low}-{high}{})", doubt(suspect))
}

const fn doubt(suspect: bool) -> &'static str {
    if suspect { Trust::Suspect.doubt() } else { "" }
}
