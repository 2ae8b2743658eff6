//! Arms against their baseline: ratio, intervals, verdict (R3 to R6).

use assay_core::quantity::{Better, Scale};
use assay_core::stats::{
    self, FEWEST_FOR_INTERVAL, Judgement, Sample, holm, judge, leave_one_out,
    replicates_to_resolve, sign_flip, welch,
};
use assay_study::findings::{Comparison, Difference, Kind, Trust, Verdict, notes::Note};
use assay_study::results::design::{Design, Stopping};
use assay_workloads::metrics::is_of_speed;

use super::arms::{Question, Runs, Sides};
use super::bound::{ErrorBound, exp};
use super::pairs::{Pairs, pairs};
use super::{load::add_note, notes, words};

/// Largest number of pairs that the exact sign-flip test can enumerate.
const MOST_FOR_SIGN_FLIP: usize = 20;

/// Compares each arm with its baseline, for one workload and metric; these comparisons share one error.
pub(super) fn comparisons(design: &Design, question: &Question<'_>) -> Vec<Comparison> {
    let mut pairs: Vec<Sides<'_, '_>> = Vec::new();
    for arm in &question.arms {
        let baseline = question.baseline_of(design, arm.arm);
        pairs.extend(baseline.map(|baseline| Sides { baseline, arm }));
    }
    let family = if question.primary { pairs.len() * question.sharing } else { 1 };
    let bounds = IntervalBounds::new(design, family, question.better);
    let mut comparisons: Vec<Comparison> =
        pairs.iter().map(|sides| compare_sides(design, question, *sides, &bounds)).collect();
    if question.primary {
        apply_holm(comparisons.iter_mut());
        // The other questions of the family cannot be in Holm's order, so each counts in full.
        for p in comparisons.iter_mut().filter_map(|one| one.p_holm.as_mut()) {
            *p = (*p * question.sharing as f64).min(1.0);
        }
    }
    comparisons
}

pub(super) struct IntervalBounds {
    single: ErrorBound,
    family: ErrorBound,
    equivalence: ErrorBound,
    margin: f64,
    higher_is_better: bool,
}

impl IntervalBounds {
    pub fn new(design: &Design, comparisons: usize, better: Better) -> Self {
        Self::with(design, ErrorBound::new(design, comparisons), better)
    }

    pub fn with(design: &Design, family: ErrorBound, better: Better) -> Self {
        Self {
            single: ErrorBound::new(design, 1),
            equivalence: family.equivalence(),
            family,
            margin: design.margin.unwrap_or(0.0),
            higher_is_better: better == Better::Higher,
        }
    }

    /// The single and the family interval of a mean difference, on the scale of comparison.
    pub fn intervals(&self, sample: &Sample) -> [Option<[f64; 2]>; 2] {
        [self.single.interval(sample), self.family.interval(sample)]
    }

    /// Judges a mean difference; `None` without a CI. A metric compared by difference has no margin.
    pub fn verdict(&self, sample: &Sample, scale: Scale) -> Option<Judgement> {
        let family = self.family.interval(sample)?;
        let equivalence = match scale {
            Scale::Ratio => self.equivalence.interval(sample)?,
            // Never within the margin.
            Scale::Difference => [f64::MIN, f64::MAX],
        };
        Some(judge(family, equivalence, self.margin, self.higher_is_better))
    }
}

pub(crate) fn verdict_of_stats(verdict: stats::StatVerdict) -> Verdict {
    match verdict {
        stats::StatVerdict::Better => Verdict::Better,
        stats::StatVerdict::Worse => Verdict::Worse,
        stats::StatVerdict::Equivalent => Verdict::Equivalent,
        stats::StatVerdict::Inconclusive => Verdict::Inconclusive,
    }
}

/// Compares an arm with its baseline by pairs, and also as groups where the order cannot tell arms from time.
fn compare_sides(
    design: &Design,
    question: &Question<'_>,
    sides: Sides<'_, '_>,
    bounds: &IntervalBounds,
) -> Comparison {
    let Sides { baseline, arm } = sides;
    let pairs = pairs(baseline, arm);
    let differences = pairs.differences();
    let sample = Sample::of(&differences);
    let [ci95, simultaneous] = sample.as_ref().map_or([None; 2], |sample| bounds.intervals(sample));
    let is_ratio = question.scale == Scale::Ratio;
    // A mean of one or two pairs is chance, but looks like a finding.
    let shown = sample.filter(|sample| sample.n >= FEWEST_FOR_INTERVAL);
    let judged = sample.as_ref().and_then(|sample| bounds.verdict(sample, question.scale));
    let verdict = verdict(design, question, sides, judged.as_ref());
    // Interim analyses share their error; an uncorrected p would be too small.
    let has_fixed_size = design.stopping == Stopping::Fixed;
    let mut found = Comparison {
        class_of: question.class_of.map(str::to_owned),
        primary: question.primary,
        n: differences.len(),
        means: shown.map(|_| pairs.means().map(|mean| if is_ratio { mean.exp() } else { mean })),
        ratio: shown.filter(|_| is_ratio).map(|sample| sample.mean.exp()).filter(|r| r.is_finite()),
        ci95: ci95.filter(|_| is_ratio).and_then(exp),
        ci95_simultaneous: simultaneous.filter(|_| is_ratio && question.primary).and_then(exp),
        ci_equivalence: sample
            .filter(|_| is_ratio && question.primary && design.margin.is_some())
            .and_then(|sample| exp(bounds.equivalence.interval(&sample)?)),
        difference: shown.filter(|_| !is_ratio).map(|sample| Difference {
            value: sample.mean,
            ci95,
            ci95_simultaneous: simultaneous.filter(|_| question.primary),
            sd: sample.sd,
        }),
        sd_log: sample.filter(|_| is_ratio).and_then(|sample| sample.sd),
        p_holm: sample.as_ref().and_then(|sample| sample.p_value(0.0)).filter(|_| has_fixed_size),
        p_sign_flip: sign_flip_p(&differences, question.primary).filter(|_| has_fixed_size),
        verdict,
        within_margin: verdict.is_some() && judged.is_some_and(|judged| judged.within_margin),
        margin: design.margin,
        ..Comparison::bare(
            Kind::Paired,
            question.workload,
            question.metric,
            question.better,
            [baseline.arm.clone(), arm.arm.clone()],
        )
    };
    if verdict == Some(Verdict::Inconclusive) && is_ratio {
        found.replicates_needed =
            sample.as_ref().and_then(|sample| replicates_needed(design, sample, bounds));
    }
    if !design.order.tells_arms_from_time() {
        let alphas = [bounds.single.alpha, bounds.family.alpha];
        compare_groups(&mut found, sides, &alphas, question.scale);
    }
    let mut notes = notes::notes(design, question, sides, &pairs, &found);
    if let Some(judged) = judged.filter(|_| verdict.is_some()) {
        notes.extend(fragility(&pairs, judged, bounds, question.scale));
    }
    let names = [baseline, arm].map(|runs| words::short_words(runs.arm, design));
    for note in notes {
        let words = words::note(&note, [&names[0], &names[1]]);
        found.add(note, words);
    }
    found.text = words::comparison(&found, design);
    found
}

/// Removes the verdicts: trials are pending, and this look was not declared.
pub(super) fn withhold(design: &Design, found: &mut [Comparison]) {
    for one in found.iter_mut().filter(|one| one.verdict.is_some()) {
        withdraw(one);
        one.withheld = true;
        one.text = words::unfinished(one, design);
    }
}

/// Makes a verdict inconclusive, and drops the remarks on the verdict.
pub(super) fn withdraw(one: &mut Comparison) {
    one.verdict = one.verdict.map(|_| Verdict::Inconclusive);
    one.within_margin = false;
    one.replicates_needed = None;
    one.keep_notes(|note| !note.is_of_the_verdict());
}

/// Removes the verdicts on times and rates: the machine is emulated.
pub(super) fn remove_emulated_verdicts(design: &Design, found: &mut [Comparison]) {
    for one in found.iter_mut().filter(|one| is_of_speed(&one.metric)) {
        let had_verdict = one.verdict.take().is_some();
        withdraw(one);
        one.withheld = false;
        if had_verdict {
            one.text = words::emulated(one, design);
            add_note(one, Note::Emulated);
        }
    }
}

/// The verdict; `None` for secondary metrics and invalid numbers.
fn verdict(
    design: &Design,
    question: &Question<'_>,
    Sides { baseline, arm }: Sides<'_, '_>,
    judged: Option<&Judgement>,
) -> Option<Verdict> {
    design.margin?;
    let invalid = [baseline, arm].iter().any(|runs| runs.trust == Some(Trust::Invalid));
    if !question.primary || invalid {
        return None;
    }
    if !design.order.tells_arms_from_time() {
        return Some(Verdict::Inconclusive);
    }
    Some(judged.map_or(Verdict::Inconclusive, |judged| verdict_of_stats(judged.verdict)))
}

fn sign_flip_p(differences: &[f64], primary: bool) -> Option<f64> {
    let is_tested = primary && (3..=MOST_FOR_SIGN_FLIP).contains(&differences.len());
    if is_tested { sign_flip(differences) } else { None }
}

/// Number of replicates to detect a difference as large as the margin, if the study has a fixed number.
pub(super) fn replicates_needed(
    design: &Design,
    sample: &Sample,
    bounds: &IntervalBounds,
) -> Option<u32> {
    if matches!(design.stopping, Stopping::Open { .. }) {
        return None;
    }
    let needed = replicates_to_resolve(sample.sd?, sample.n, bounds.margin, bounds.family.alpha)?;
    u32::try_from(needed.max(sample.n + 1)).ok()
}

/// Dependence of the verdict on single replicates and on disturbed trials (R11).
fn fragility(pairs: &Pairs, judged: Judgement, bounds: &IntervalBounds, scale: Scale) -> Vec<Note> {
    let mut notes = Vec::new();
    let other_verdict = |sample: &Sample| {
        let verdict = bounds.verdict(sample, scale)?.verdict;
        (verdict != judged.verdict).then_some(verdict)
    };
    if judged.verdict != stats::StatVerdict::Inconclusive {
        let without_one = leave_one_out(&pairs.differences());
        let decisive = pairs.undisturbed.iter().zip(&without_one);
        let decisive = decisive.filter(|(_, sample)| other_verdict(sample).is_some());
        let replicates: Vec<u32> = decisive.map(|(pair, _)| pair.replicate).collect();
        notes.extend((!replicates.is_empty()).then_some(Note::Fragile { replicates }));
    }
    if pairs.all.len() > pairs.undisturbed.len() {
        let with_disturbed = Sample::of(&pairs.all).as_ref().and_then(other_verdict);
        let verdict = with_disturbed.map(verdict_of_stats);
        notes.extend(verdict.map(|verdict| Note::Disturbed { verdict }));
    }
    notes
}

/// Replaces the p values of a family by those of Holm's method.
pub(crate) fn apply_holm<'a>(family: impl Iterator<Item = &'a mut Comparison>) {
    let mut tested: Vec<&mut Comparison> = family.filter(|one| one.p_holm.is_some()).collect();
    let p: Vec<f64> = tested.iter().filter_map(|one| one.p_holm).collect();
    for (one, p) in tested.iter_mut().zip(holm(&p)) {
        one.p_holm = Some(p);
    }
}

/// Replaces the paired difference by that of two groups; `alphas` are those of the single and the simultaneous CI.
fn compare_groups(
    found: &mut Comparison,
    Sides { baseline, arm }: Sides<'_, '_>,
    alphas: &[f64; 2],
    scale: Scale,
) {
    let levels = |runs: &Runs<'_>| -> Vec<f64> {
        let undisturbed = runs.first.values().filter(|run| !run.disturbed);
        let mut levels: Vec<f64> = undisturbed.map(|run| run.level).collect();
        // Floating-point sums depend on the order, so sort the values.
        levels.sort_unstable_by(f64::total_cmp);
        levels
    };
    let sides = [levels(baseline), levels(arm)];
    found.kind = Kind::Unpaired;
    found.n = sides[0].len().min(sides[1].len());
    // Nothing of the paired comparison remains.
    (found.means, found.ratio, found.difference) = (None, None, None);
    (found.ci95, found.ci95_simultaneous, found.ci_equivalence) = (None, None, None);
    (found.sd_log, found.p_holm, found.p_sign_flip) = (None, None, None);
    (found.within_margin, found.replicates_needed) = (false, None);
    let samples = [Sample::of(&sides[0]), Sample::of(&sides[1])];
    let [Some(first), Some(second)] = samples else { return };
    // A ratio of one or two values is chance, but looks like a finding. A count of zero is reported as it is.
    if found.n < FEWEST_FOR_INTERVAL && scale == Scale::Ratio {
        return;
    }
    // Groups without variation have no interval.
    let test = welch(&first, &second).filter(|_| found.n >= FEWEST_FOR_INTERVAL);
    let [single, family] = alphas.map(|alpha| test.and_then(|test| test.interval(alpha)));
    let family = family.filter(|_| found.primary);
    found.p_holm = test.map(|test| test.p);
    let value = second.mean - first.mean;
    if scale == Scale::Ratio {
        found.means = Some([second.mean.exp(), first.mean.exp()]);
        found.ratio = Some(value.exp()).filter(|ratio| ratio.is_finite());
        (found.ci95, found.ci95_simultaneous) = (single.and_then(exp), family.and_then(exp));
    } else {
        found.means = Some([second.mean, first.mean]);
        found.difference =
            Some(Difference { value, ci95: single, ci95_simultaneous: family, sd: None });
    }
}
