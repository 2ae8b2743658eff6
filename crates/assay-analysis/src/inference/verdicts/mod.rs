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
pub(super) use comparisons::{correct, word as verdict_word};
pub(super) use load::{add as add_note, judge_across};
pub(super) use outliers::mark;
pub(super) use unknowable::unknowable;
pub(super) use words::across as across_words;
pub use words::note as note_words;

use assay_core::catalogue::About;
use assay_study::findings::measurements::Measurements;
use assay_study::findings::{Comparison, Findings, Trust, Verdict};
use assay_study::plan::most_load::asked as asked_load;
use assay_study::results::design::Design;
use assay_study::results::plan::level_words;
use assay_workloads::metrics::is_of_speed;

use arms::Question;

/// Rules on two arms, or on two windows.
pub static COMPARED: &[&About] = &[&load::ABOUT, &super::windows::ABOUT];

/// The verdict across days, which is never *equivalent*.
pub(super) fn verdict_of_ends(ends: [f64; 2], higher_is_better: bool) -> Verdict {
    match (ends[0] > 1.0, ends[1] < 1.0) {
        (true, _) if higher_is_better => Verdict::Better,
        (_, true) if !higher_is_better => Verdict::Better,
        (false, false) => Verdict::Inconclusive,
        _ => Verdict::Worse,
    }
}

pub(super) fn error_of_family(design: &Design, comparisons: usize) -> f64 {
    bound::ErrorBound::new(design, comparisons).alpha
}

/// Compares all arms of all workloads, and returns a sentence per factor of a grid. An emulated machine gets no verdict
/// on times and rates.
pub(super) fn compare(
    found: &mut Findings,
    measured: &Measurements,
    stage: AdviceStage,
) -> Vec<(String, String)> {
    let emulated = found.environment.is_emulated();
    let design = &measured.design;
    let mut questions: Vec<Question<'_>> = arms::questions(&measured.series, &measured.live);
    let judged = design.margin.is_some();
    // Without a margin, compare only primary metrics, by ratio.
    let asked = questions.iter().filter(|question| {
        judged || question.primary || is_gated(design, question.metric, question.primary)
    });
    let mut comparisons: Vec<Comparison> =
        asked.flat_map(|question| comparisons::comparisons(design, question)).collect();
    load::judge(design, &questions, &measured.live, &mut comparisons);
    orders::judge(design, &questions, &mut comparisons);
    unknowable::judge(design, &questions, &mut comparisons);
    // Secondary metrics need nothing more, and may have 250,000 runs.
    questions.retain(|question| question.primary);
    let primary: Vec<&Question<'_>> = questions.iter().collect();
    let noise_floor = noise::floor(design, &primary);
    let mut checks = checks::checks(design, &primary, noise_floor.as_ref());
    // Exclude invalid numbers.
    let sound = measured.series.iter().filter(|one| one.trust != Some(Trust::Invalid));
    let mut sound: Vec<Question<'_>> = arms::questions(sound, &measured.live);
    sound.retain(|question| question.better.is_known());
    let told = judged && !measured.unfinished;
    let own = answers::AnswerInput {
        questions: &sound,
        series: &measured.series,
        comparisons: &comparisons,
    };
    let answers = match asked_load(design) {
        // Before the end of the study, this would be an undeclared look.
        Some((ask, limit)) if !measured.unfinished => {
            let stopped_by = found.study.stopped_by.as_deref();
            vec![most_load::answer(ask, limit, &measured.series, emulated, stopped_by)]
        }
        None if told => answers::answers(design, &own, emulated),
        _ => Vec::new(),
    };
    let knees = answers::knees(design, &own);
    let tells_nothing = |one: &&Comparison| {
        load::is_unequal(one)
            || one.primary && one.note_facts.iter().any(|note| unknowable(note).is_some())
    };
    let unequal: Vec<String> =
        comparisons.iter().filter(tells_nothing).map(|one| one.workload.clone()).collect();
    let all = &sound;
    let sound: Vec<&Question<'_>> = sound.iter().filter(|question| question.primary).collect();
    checks.extend(load::checks(&comparisons));
    if measured.unfinished {
        comparisons::withhold(design, &mut comparisons);
    }
    if emulated {
        comparisons::of_an_emulator(design, &mut comparisons);
    }
    let grid = if judged && !measured.unfinished { sound } else { Vec::new() };
    if !grid.is_empty() {
        checks.extend(checks::left_out(&primary, &grid));
    }
    // With a different load, arms have no ranks or effects.
    let stands = |question: &&Question<'_>| {
        let speaks = !emulated || !is_of_speed(question.metric);
        speaks && !unequal.iter().any(|name| name == question.workload)
    };
    let grid: Vec<&Question<'_>> = grid.into_iter().filter(stands).collect();
    let grid = grid.as_slice();
    // With one varied factor, its main effects repeat the comparison of arms.
    let several = if design.varied().count() > 1 { grid } else { &[] };
    let rank = |question: &&Question<'_>| ranks::rank(design, question, &primary, &comparisons);
    let mut effects = effects::grid(design, several);
    let factors = factors::factor_sentences(design, several, &effects);
    effects.noise_floor = noise_floor;
    effects.trends = grid.iter().flat_map(|question| trends::trends(design, question)).collect();
    effects.ranks = grid.iter().filter_map(rank).collect();
    let evidence = advice::AdviceInput {
        design,
        questions: grid,
        all,
        comparisons: &comparisons,
        effects: &effects.main,
        ranks: &effects.ranks,
        knees: &knees,
        unmeasured: &unmeasured(measured),
    };
    let advice = advice::advice(&evidence, stage);
    found.comparisons = comparisons;
    found.effects = effects;
    found.advice = advice;
    found.answers.all = answers;
    found.checks = checks;
    doubt(grid, found);
    factors
}

/// Whether any number of a workload is suspect.
fn is_suspect(grid: &[&Question<'_>], workload: &str) -> bool {
    let own = grid.iter().filter(|question| question.workload == workload);
    own.flat_map(|question| &question.arms).any(|runs| runs.trust == Some(Trust::Suspect))
}

/// Marks results over several arms if some of the numbers are suspect.
fn doubt(grid: &[&Question<'_>], found: &mut Findings) {
    let ranks = found.effects.ranks.iter_mut().map(|one| (&one.workload, &mut one.text));
    let effects = found.effects.main.iter_mut().map(|one| (&one.workload, &mut one.text));
    let both = found.effects.interactions.iter_mut().map(|one| (&one.workload, &mut one.text));
    let trends = found.effects.trends.iter_mut().map(|one| (&one.workload, &mut one.text));
    for (name, text) in ranks.chain(effects).chain(both).chain(trends) {
        if is_suspect(grid, name) {
            *text = words::from_suspect_numbers(text);
        }
    }
}

fn is_gated(design: &Design, metric: &str, primary: bool) -> bool {
    design.gate.as_ref().is_some_and(|gate| gate.is_about(metric, primary))
}

fn unmeasured(measured: &Measurements) -> Vec<String> {
    let there = |name: &str, level: &String| {
        let own = measured.series.iter().filter(|one| one.arm.get(name) == Some(level));
        own.flat_map(|one| &one.trials).any(|trial| trial.value.is_some())
    };
    let levels = measured.design.factors.iter().flat_map(|factor| {
        let absent = factor.levels.iter().filter(|level| !there(&factor.name, level));
        absent.map(|level| level_words(&factor.name, level))
    });
    levels.collect()
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
