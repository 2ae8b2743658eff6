//! Verdicts: arms against their baseline, and further results of a grid (rules R3 to R8, R10, R11).

mod advice;
mod answers;
mod arms;
mod bound;
mod checks;
mod comparisons;
mod contrasts;
mod effects;
mod factors;
mod load;
mod most_load;
#[cfg(test)]
mod most_load_tests;
mod noise;
mod notes;
mod orders;
mod outliers;
mod pairs;
mod ranks;
mod trends;
mod unknowable;
pub(super) mod words;
mod words_of_advice;

pub(super) use advice::AdviceStage;
pub(super) use answers::explain;
pub(super) use comparisons::{apply_holm, verdict_of_stats};
pub(super) use load::{add_note, judge_across};
pub(super) use outliers::mark_outliers;
pub(super) use unknowable::why_undecidable;
pub(super) use words::across as across_words;
pub use words::note as note_words;

use assay_core::catalogue::About;
use assay_study::findings::measurements::Measurements;
use assay_study::findings::{Comparison, Effects, Findings, Trust, Verdict};
use assay_study::plan::most_load::asked as asked_load;
use assay_study::results::{design::Design, plan::level_words};
use assay_workloads::metrics::is_of_speed;

use arms::Question;

pub static COMPARED: &[&About] = &[&load::ABOUT, &super::windows::ABOUT];

/// The verdict across days, which is never *equivalent*.
pub(super) fn verdict_of_ends(ends: [f64; 2], higher_is_better: bool) -> Verdict {
    let [is_above, is_below] = [ends[0] > 1.0, ends[1] < 1.0];
    if !is_above && !is_below {
        Verdict::Inconclusive
    } else if is_above == higher_is_better {
        Verdict::Better
    } else {
        Verdict::Worse
    }
}

pub(super) fn error_of_family(design: &Design, comparisons: usize) -> f64 {
    bound::ErrorBound::new(design, comparisons).alpha
}

/// Compares all arms; stores comparisons, effects, advice, answers and checks, and returns a sentence per factor.
pub(super) fn compare(
    found: &mut Findings,
    measured: &Measurements,
    stage: AdviceStage,
) -> Vec<(String, String)> {
    let emulated = found.environment.is_emulated();
    let design = &measured.design;
    let mut questions: Vec<Question<'_>> = arms::questions(&measured.series, &measured.live);
    let has_margin = design.margin.is_some();
    // Without a margin, compare only primary metrics, by ratio.
    let compared = questions.iter().filter(|question| {
        has_margin || question.primary || is_gated(design, question.metric, question.primary)
    });
    let mut comparisons: Vec<Comparison> =
        compared.flat_map(|question| comparisons::comparisons(design, question)).collect();
    load::withdraw_for_load(design, &questions, &measured.live, &mut comparisons);
    orders::judge(design, &questions, &mut comparisons);
    unknowable::judge(design, &questions, &mut comparisons);
    // Secondary metrics need nothing more, and may have 250,000 runs.
    questions.retain(|question| question.primary);
    let primary: Vec<&Question<'_>> = questions.iter().collect();
    let noise_floor = noise::largest_floor(design, &primary);
    let mut checks = checks::verdict_checks(design, &primary, noise_floor.as_ref());
    let valid = measured.series.iter().filter(|series| series.trust != Some(Trust::Invalid));
    let mut valid: Vec<Question<'_>> = arms::questions(valid, &measured.live);
    valid.retain(|question| question.better.is_known());
    let has_verdicts = has_margin && !measured.unfinished;
    let input = answers::AnswerInput {
        questions: &valid,
        series: &measured.series,
        comparisons: &comparisons,
    };
    let answers = match asked_load(design) {
        // Before the end of the study, this would be an undeclared look.
        Some((ask, limit)) if !measured.unfinished => {
            let stopped_by = found.study.stopped_by.as_deref();
            vec![most_load::max_rate_answer(ask, limit, &measured.series, emulated, stopped_by)]
        }
        None if has_verdicts => answers::answers(design, &input, emulated),
        _ => Vec::new(),
    };
    let knees = answers::knees(design, &input);
    let is_incomparable = |one: &&Comparison| {
        load::is_unequal(one)
            || one.primary && one.note_facts.iter().any(|note| why_undecidable(note).is_some())
    };
    let incomparable: Vec<String> =
        comparisons.iter().filter(is_incomparable).map(|one| one.workload.clone()).collect();
    checks.extend(load::load_checks(&comparisons));
    if measured.unfinished {
        comparisons::withhold(design, &mut comparisons);
    }
    if emulated {
        comparisons::remove_emulated_verdicts(design, &mut comparisons);
    }
    let mut grid: Vec<&Question<'_>> = Vec::new();
    if has_verdicts {
        grid = valid.iter().filter(|question| question.primary).collect();
    }
    if !grid.is_empty() {
        checks.extend(checks::invalid_arms_check(&primary, &grid));
    }
    // With a different load, arms have no ranks or effects.
    grid.retain(|question| {
        let is_real = !emulated || !is_of_speed(question.metric);
        is_real && !incomparable.iter().any(|name| name == question.workload)
    });
    let grid = grid.as_slice();
    // With one varied factor, its main effects repeat the comparison of arms.
    let crossed = if design.varied().count() > 1 { grid } else { &[] };
    let rank = |question: &&Question<'_>| ranks::rank(design, question, &primary, &comparisons);
    let mut effects = effects::factor_effects(design, crossed);
    let factors = factors::factor_sentences(design, crossed, &effects);
    effects.noise_floor = noise_floor;
    effects.trends = grid.iter().flat_map(|question| trends::trends(design, question)).collect();
    effects.ranks = grid.iter().filter_map(rank).collect();
    let evidence = advice::AdviceInput {
        design,
        questions: grid,
        all: &valid,
        comparisons: &comparisons,
        effects: &effects.main,
        ranks: &effects.ranks,
        knees: &knees,
        unmeasured: &unmeasured_levels(measured),
    };
    let advice = advice::advice(&evidence, stage);
    found.comparisons = comparisons;
    found.effects = effects;
    found.advice = advice;
    found.answers.all = answers;
    found.checks = checks;
    mark_suspect_texts(grid, found);
    factors
}

fn is_suspect(grid: &[&Question<'_>], workload: &str) -> bool {
    let questions = grid.iter().filter(|question| question.workload == workload);
    questions.flat_map(|question| &question.arms).any(|runs| runs.trust == Some(Trust::Suspect))
}

/// Marks results over several arms if some of the numbers are suspect.
fn mark_suspect_texts(grid: &[&Question<'_>], found: &mut Findings) {
    let Effects { ranks, main, interactions, trends, .. } = &mut found.effects;
    let ranks = ranks.iter_mut().map(|rank| (&rank.workload, &mut rank.text));
    let main = main.iter_mut().map(|effect| (&effect.workload, &mut effect.text));
    let interactions = interactions.iter_mut().map(|both| (&both.workload, &mut both.text));
    let trends = trends.iter_mut().map(|trend| (&trend.workload, &mut trend.text));
    for (workload, text) in ranks.chain(main).chain(interactions).chain(trends) {
        if is_suspect(grid, workload) {
            *text = words::from_suspect_numbers(text);
        }
    }
}

fn is_gated(design: &Design, metric: &str, primary: bool) -> bool {
    design.gate.as_ref().is_some_and(|gate| gate.is_about(metric, primary))
}

/// The levels without a number, as `factor=level`.
fn unmeasured_levels(measured: &Measurements) -> Vec<String> {
    let mut unmeasured = Vec::new();
    for factor in &measured.design.factors {
        for level in &factor.levels {
            let series = measured.series.iter();
            let at_level = series.filter(|one| one.arm.get(&factor.name) == Some(level));
            if !at_level.flat_map(|one| &one.trials).any(|trial| trial.value.is_some()) {
                unmeasured.push(level_words(&factor.name, level));
            }
        }
    }
    unmeasured
}

#[cfg(test)]
mod advice_tests;
#[cfg(test)]
mod answers_tests;
#[cfg(test)]
mod imported_tests;
#[cfg(test)]
mod sentences_tests;
#[cfg(test)]
pub(super) mod tests;
#[cfg(test)]
mod trends_tests;
