//! Groups that share no replicates: runs that came one group after the other, in an order that nobody knows, or by
//! themselves have no pairs. All runs of both groups count, whatever their place (R13's two-sample interval, Welch's).

use assay_core::quantity::Scale;
use assay_core::stats::{FEWEST_FOR_INTERVAL, Sample, welch};
use assay_study::findings::{Comparison, Difference, Kind};

use super::arms::{Runs, Sides};
use super::bound::exp;

/// Puts the difference of two groups in the place of that of their pairs.
pub(super) fn put(
    found: &mut Comparison,
    Sides { baseline, arm }: Sides<'_, '_>,
    alphas: &[f64; 2],
    scale: Scale,
) {
    let levels = |runs: &Runs<'_>| -> Vec<f64> {
        let undisturbed = runs.first.values().filter(|run| !run.disturbed);
        let mut levels: Vec<f64> = undisturbed.map(|run| run.level).collect();
        // A sum of rounded numbers depends on their order, and nothing else may.
        levels.sort_unstable_by(f64::total_cmp);
        levels
    };
    let sides = [levels(baseline), levels(arm)];
    found.kind = Kind::Unpaired;
    found.n = sides[0].len().min(sides[1].len());
    (found.means, found.ratio, found.difference) = (None, None, None);
    (found.ci95, found.ci95_simultaneous, found.ci_equivalence) = (None, None, None);
    (found.sd_log, found.p_holm, found.p_sign_flip) = (None, None, None);
    (found.within_margin, found.replicates_needed) = (false, None);
    let samples = [Sample::of(&sides[0]), Sample::of(&sides[1])];
    let [Some(first), Some(second)] = samples else { return };
    // A ratio of one or two is chance, and looks like a finding. A count of nothing is told as it is.
    if found.n < FEWEST_FOR_INTERVAL && scale == Scale::Ratio {
        return;
    }
    // Groups that do not scatter have no interval.
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
