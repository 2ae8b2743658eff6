//! Gates (R13c): whether the later side is worse than the earlier one by more than allowed. A row fails if its
//! one-sided bound, adjusted for all rows, is beyond the limit. With three or more results per side, sessions are the
//! unit; with fewer, the error includes a given spread between days (R13d).

use std::collections::BTreeMap;

use assay_core::quantity::{Better, Scale};
use assay_core::stats::{FEWEST_FOR_INTERVAL, Sample, t_quantile, welch};
pub use assay_study::findings::gate::{Ended, Gated};
use assay_study::findings::{Findings, Measurement, Trust, gate::percent};
use assay_study::plan::arms::settable;
use assay_study::results::plan::arm_words;

use super::across::{Key, RatioBase, ResultIndex, key};
use super::days::{Days, POWER};
use super::{verdicts::words, with_levels};

/// Error rate of the whole gate, shared by its rows.
const ALPHA: f64 = 0.05;
/// Default limit, and the loss that a gate must detect: three trials suffice at a spread of 3%, rarely at 10% (R13c).
const USUAL_ALLOWED: f64 = 0.05;
const USUAL_DETECTED: f64 = 0.3;
const INCONCLUSIVE_RULES: [&str; 2] = ["cpu-starved", "unstable"];

#[derive(Clone, Debug)]
pub struct GateRequest {
    pub max_regression: f64,
    /// A row that could not detect a loss of this size is inconclusive.
    pub must_detect: f64,
    /// The metric to judge; by default the primary metric of each workload.
    pub metric: Option<String>,
    pub days: Days,
}

impl GateRequest {
    /// A gate that must detect a loss of 30%; with a limit above 5%, of correspondingly more.
    pub fn new(max_regression: f64) -> Self {
        // What remains after a loss that must be detected, relative to what remains at the limit.
        let remaining = (1.0 - USUAL_DETECTED) / (1.0 - USUAL_ALLOWED);
        let must_detect = USUAL_DETECTED.max(1.0 - (1.0 - max_regression) * remaining);
        Self { max_regression, must_detect, metric: None, days: Days::default() }
    }
}

/// Whether each result counts as one number: then the variation between days is known.
pub fn are_sessions(sides: [usize; 2]) -> bool {
    sides.iter().all(|results| *results >= FEWEST_FOR_INTERVAL)
}

/// Judges every row (workload, metric, arm) of either side. The rows of all `gates` of one answer share its error.
pub fn gate(
    earlier: &[Findings],
    later: &[Findings],
    request: &GateRequest,
    gates: usize,
) -> Vec<Gated> {
    let mut keys: BTreeMap<Key, Better> = BTreeMap::new();
    let cells = earlier.iter().chain(later).flat_map(|one| &one.measurements);
    let is_judged = |cell: &Measurement| match &request.metric {
        Some(metric) => *metric == cell.metric,
        None => cell.primary,
    };
    for cell in cells.filter(|cell| is_judged(cell) && !cell.control) {
        keys.insert(key(cell), cell.better);
    }
    let sharing = keys.len() * gates.max(1);
    let [earlier, later] =
        [earlier, later].map(|side| side.iter().map(ResultIndex::new).collect::<Vec<_>>());
    let rows = keys.iter();
    rows.map(|(key, better)| judge_row(key, *better, [&earlier, &later], sharing, request))
        .collect()
}

/// Judges one row by the samples of both sides; `sharing` rows share the error.
fn judge_row(
    key: &Key,
    better: Better,
    sides: [&[ResultIndex<'_>]; 2],
    sharing: usize,
    request: &GateRequest,
) -> Gated {
    let results = sides.map(<[ResultIndex<'_>]>::len);
    let few_results = (!are_sessions(results)).then_some(results);
    let (workload, metric, arm) = key;
    let name = with_levels(workload, &arm_words(arm));
    let row = match side_samples(key, sides) {
        Err(reason) => Gated::silent(name, reason),
        Ok([earlier, later]) => {
            judge(name, [&earlier, &later], few_results, better, sharing, request)
        }
    };
    Gated { metric: Some(metric.clone()), ..row }
}

/// Each side's values (one per result if these are enough, else per trial), or why the row is inconclusive.
fn side_samples(key: &Key, sides: [&[ResultIndex<'_>]; 2]) -> Result<[Sample; 2], String> {
    // Relative to a baseline only if every result has one.
    let mut base = RatioBase::ToItsBaseline;
    for result in sides.into_iter().flatten() {
        if result.values(gated_cell(result, key)?, RatioBase::ToItsBaseline).is_none() {
            base = RatioBase::Plain;
        }
    }
    let are_sessions = are_sessions(sides.map(<[ResultIndex<'_>]>::len));
    let sample = |side: &[ResultIndex<'_>]| -> Result<Sample, String> {
        let mut data = Vec::new();
        for result in side {
            let values = result.values(gated_cell(result, key)?, base).unwrap_or_default();
            if are_sessions {
                let mean = Sample::of(&values).map(|sample| sample.mean);
                data.push(mean.ok_or_else(|| too_few(&values, &result.findings.study.id))?);
            } else {
                data.extend(values);
            }
        }
        let id = side.first().map_or("", |result| &*result.findings.study.id);
        let sample = Sample::of(&data).filter(|sample| sample.n >= FEWEST_FOR_INTERVAL);
        sample.ok_or_else(|| too_few(&data, id))
    };
    let [earlier, later] = sides.map(sample);
    Ok([earlier?, later?])
}

fn too_few(values: &[f64], id: &str) -> String {
    format!("{id} has only {} valid trials; the gate needs {FEWEST_FOR_INTERVAL}", values.len())
}

/// The number of a result for a row, or why it cannot be gated.
fn gated_cell<'a>(result: &ResultIndex<'a>, key: &Key) -> Result<&'a Measurement, String> {
    let id = &result.findings.study.id;
    let Some(found) = result.cell(key) else {
        let (workload, _, arm) = key;
        let mut absent = result.findings.absent.iter();
        let absent =
            absent.find(|one| one.workload == *workload && settable(&one.configuration) == *arm);
        let reason = absent.map_or("not measured", |absent| &absent.reason);
        return Err(format!("{id} has no number: {reason}"));
    };
    if found.scale == Scale::Difference {
        return Err("Assay does not compare metrics that can be zero across days".to_owned());
    }
    if !found.better.is_known() {
        return Err(words::no_direction(&found.metric));
    }
    distrust(found, id).map_or(Ok(found), Err)
}

/// Why the trust in a number makes its row inconclusive; `whose` number it is.
pub(super) fn distrust(cell: &Measurement, whose: &str) -> Option<String> {
    if cell.trust == Some(Trust::Invalid) {
        return Some(format!("the number of {whose} is invalid"));
    }
    let flagged = cell.reasons.iter().find(|because| INCONCLUSIVE_RULES.contains(&&*because.rule));
    let because = flagged.filter(|because| because.trust != Trust::Trusted)?;
    Some(format!("rule {} flags {whose}: {}", because.rule, because.text))
}

/// How far beyond the limit (a logarithm) a loss is significant, and is detected with 80% power. `sharing` rows share
/// the error; `few_results`: the number of results per side, if too few to count as one value each.
fn needed_distances(
    pair: [&Sample; 2],
    few_results: Option<[usize; 2]>,
    sharing: usize,
    days: Days,
) -> Option<[f64; 2]> {
    let alpha = ALPHA / sharing.max(1) as f64;
    // The trials of few results do not show the spread between days.
    if let Some(results) = few_results {
        let between = days.between(pair, results)?;
        return Some([between.reach(alpha)?, between.found(alpha, POWER)?]);
    }
    // Without spread on either side there is no error.
    let Some(test) = welch(pair[0], pair[1]) else { return Some([0.0; 2]) };
    let quantile = |p: f64| t_quantile(p, test.degrees_of_freedom);
    let significant = quantile(1.0 - alpha)? * test.standard_error;
    Some([significant, significant + quantile(POWER)? * test.standard_error])
}

/// Judges two samples; `few_results` as for [`needed_distances`].
fn judge(
    name: String,
    sides: [&Sample; 2],
    few_results: Option<[usize; 2]>,
    better: Better,
    sharing: usize,
    request: &GateRequest,
) -> Gated {
    let Some(distances) = needed_distances(sides, few_results, sharing, request.days) else {
        return Gated::silent(name, NO_INTERVAL.to_owned());
    };
    let allowed = AllowedChange::new(better, request.max_regression);
    let difference = sides[1].mean - sides[0].mean;
    allowed.judge(name, difference, distances, PassIf::Detects(request.must_detect))
}

/// Reason of an inconclusive row with too few trials, or with values that have no logarithm.
pub(super) const NO_INTERVAL: &str = "too few trials for a confidence interval";
/// Reason of an inconclusive row whose interval contains the limit.
pub(super) const UNDECIDED: &str = "its 95% CI contains the limit";

/// The limit of a gate for a metric, as a logarithm; larger is worse.
pub(super) struct AllowedChange {
    better: Better,
    max_log_loss: f64,
}

/// Condition for a row to pass if it did not fail.
#[derive(Clone, Copy, Debug)]
pub(super) enum PassIf {
    /// It would have detected a loss of this fraction.
    Detects(f64),
    Within,
}

impl AllowedChange {
    pub fn new(better: Better, share: f64) -> Self {
        let max_log_loss = match better {
            // A rate cannot fall by more than 100%.
            Better::Higher | Better::Unknown => -(1.0 - share).max(0.0).ln(),
            Better::Lower => share.ln_1p(),
        };
        Self { better, max_log_loss }
    }

    /// How much worse a difference of logarithms (later minus earlier) is.
    pub fn log_loss(&self, difference: f64) -> f64 {
        -self.better.sign() * difference
    }

    pub fn is_exceeded_by(&self, difference: f64) -> bool {
        self.log_loss(difference) > self.max_log_loss
    }

    /// Converts a logarithmic loss to a fraction of the earlier value.
    pub fn loss_fraction(&self, log_loss: f64) -> f64 {
        match self.better {
            Better::Higher | Better::Unknown => 1.0 - (-log_loss).exp(),
            Better::Lower => log_loss.exp() - 1.0,
        }
    }

    /// Judges a difference of logarithms; `distances`: how far beyond the limit a loss is significant, and is detected.
    pub fn judge(&self, name: String, difference: f64, distances: [f64; 2], rule: PassIf) -> Gated {
        let [bound, detectable] = distances;
        let loss = self.log_loss(difference);
        let detectable = self.loss_fraction(self.max_log_loss + detectable);
        let outcome = match rule {
            _ if loss - bound > self.max_log_loss => Ended::Fail,
            PassIf::Within if loss + bound < self.max_log_loss => Ended::Pass,
            PassIf::Within => Ended::Inconclusive(UNDECIDED.to_owned()),
            PassIf::Detects(must_detect) if detectable > must_detect => {
                Ended::Inconclusive(not_detectable(detectable, must_detect))
            }
            PassIf::Detects(_) => Ended::Pass,
        };
        let min_detectable = matches!(rule, PassIf::Detects(_)).then_some(detectable);
        Gated { loss: Some(self.loss_fraction(loss)), min_detectable, ..Gated::bare(name, outcome) }
    }
}

fn not_detectable(detectable: f64, must_detect: f64) -> String {
    let [detectable, must_detect] = [detectable, must_detect].map(percent);
    // Both may look equal after rounding.
    let more = if detectable == must_detect { "slightly more than " } else { "" };
    format!(
        "smallest detectable regression {more}{detectable} (one-sided), must_detect is {must_detect}"
    )
}

#[cfg(test)]
mod tests {
    use assay_core::draws::Draws;

    use super::*;

    const ROWS: usize = 7;
    const STUDIES: u64 = 1000;
    fn five() -> GateRequest {
        GateRequest::new(0.05)
    }

    /// One result per side.
    const ONE: Option<[usize; 2]> = Some([1, 1]);

    /// Normal draws by the Box-Muller transform.
    struct Normal(Draws);

    impl Normal {
        fn next(&mut self, sd: f64) -> f64 {
            let mut uniform = || (self.0.bits() >> 11) as f64 / (1_u64 << 53) as f64;
            let (radius, turn) = ((-2.0 * (1.0 - uniform()).ln()).sqrt(), uniform());
            sd * radius * (std::f64::consts::TAU * turn).cos()
        }

        fn side(&mut self, trials: usize, sd: f64, session: f64, shift: f64) -> Sample {
            let day = self.next(session) + shift;
            let logs: Vec<f64> = (0..trials).map(|_| day + self.next(sd)).collect();
            Sample::of(&logs).unwrap()
        }
    }

    /// The rows of two checks; the first row lost a fraction.
    fn pair(draws: &mut Normal, trials: usize, [sd, session]: [f64; 2], lost: f64) -> Vec<Ended> {
        let row = |index: usize| {
            let shift = if index == 0 { (1.0_f64 - lost).ln() } else { 0.0 };
            let sides =
                [draws.side(trials, sd, session, 0.0), draws.side(trials, sd, session, shift)];
            let [earlier, later] = &sides;
            judge(String::new(), [earlier, later], ONE, Better::Higher, ROWS, &five()).outcome
        };
        (0..ROWS).map(row).collect()
    }

    fn share_of(seed: u64, hit: impl Fn(&mut Normal) -> bool) -> f64 {
        let mut draws = Normal(Draws::new(seed, "gate"));
        (0..STUDIES).filter(|_| hit(&mut draws)).count() as f64 / STUDIES as f64
    }

    #[test]
    fn equal_days_fail_in_at_most_one_of_twenty() {
        for (trials, sd) in [(3, 0.03), (3, 0.05), (6, 0.03), (10, 0.03)] {
            for session in [0.0, 0.02, 0.03] {
                let fails = |draws: &mut Normal| {
                    pair(draws, trials, [sd, session], 0.0).contains(&Ended::Fail)
                };
                let share = share_of(1, fails);
                assert!(share <= 0.05, "{trials} trials, sd {sd}, session {session}: {share}");
            }
        }
    }

    #[test]
    fn a_true_loss_is_found() {
        for (lost, least) in [(0.3, 0.95), (0.2, 0.7)] {
            let found = |draws: &mut Normal| pair(draws, 3, [0.03, 0.0], lost)[0] == Ended::Fail;
            let share = share_of(2, found);
            assert!(share >= least, "a loss of {lost}: {share}");
        }
    }

    #[test]
    fn the_loss_that_it_says_it_sees_is_found_in_four_of_five() {
        // At the loss that an average row with this spread reports.
        let mut draws = Normal(Draws::new(3, "gate"));
        let seen = |draws: &mut Normal| {
            let sides = [draws.side(6, 0.05, 0.03, 0.0), draws.side(6, 0.05, 0.03, 0.0)];
            let [earlier, later] = &sides;
            judge(String::new(), [earlier, later], ONE, Better::Higher, ROWS, &five())
                .min_detectable
                .unwrap()
        };
        let mean = (0..STUDIES).map(|_| seen(&mut draws)).sum::<f64>() / STUDIES as f64;
        let found = |draws: &mut Normal| pair(draws, 6, [0.05, 0.03], mean)[0] == Ended::Fail;
        let share = share_of(4, found);
        assert!((0.72..=0.9).contains(&share), "a loss of {mean}: {share}");
    }

    fn side(values: &[f64]) -> Sample {
        Sample::of(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).unwrap()
    }

    fn told_of(few: Option<[usize; 2]>, better: Better, sides: [&[f64]; 2]) -> Gated {
        let sides = sides.map(side);
        judge("it".to_owned(), [&sides[0], &sides[1]], few, better, 1, &five())
    }

    /// One result per side.
    fn told(better: Better, earlier: &[f64], later: &[f64]) -> Gated {
        told_of(ONE, better, [earlier, later])
    }

    #[test]
    fn each_way_of_ending_is_said() {
        let quiet = [1000.0, 1010.0, 990.0];
        let pass = told(Better::Higher, &quiet, &quiet);
        assert_eq!(pass.outcome, Ended::Pass);
        assert!(
            pass.text().starts_with("it passes (0% worse); smallest detectable regression 15%"),
            "{}",
            pass.text()
        );
        let slower = quiet.map(|value| value / 2.0);
        assert_eq!(told(Better::Higher, &quiet, &slower).outcome, Ended::Fail);
        assert_eq!(told(Better::Lower, &slower, &quiet).outcome, Ended::Fail);
        assert_eq!(told(Better::Higher, &slower, &quiet).outcome, Ended::Pass);
        let wild = told(Better::Higher, &[1000.0, 1500.0, 700.0], &[900.0, 1400.0, 800.0]);
        let Ended::Inconclusive(reason) = wild.outcome else { panic!("{wild:?}") };
        assert!(reason.contains("must_detect is 30%"), "{reason}");
    }

    #[test]
    fn a_wide_gate_must_see_as_far_beyond_itself() {
        for (allowed, sees) in [(0.02, 0.3), (0.05, 0.3), (0.5, 0.6316)] {
            assert!((GateRequest::new(allowed).must_detect - sees).abs() < 1e-4, "{allowed}");
        }
    }

    #[test]
    fn what_does_not_scatter_is_judged_as_it_stands() {
        let same = [500.0; 3];
        // Between sessions; one session per side does not show the variation between days.
        let ended = |few, later: f64| told_of(few, Better::Higher, [&same, &[later; 3]]).outcome;
        assert_eq!(ended(None, 500.0), Ended::Pass);
        assert_eq!(ended(None, 470.0), Ended::Fail);
        assert_eq!(ended(None, 480.0), Ended::Pass);
        assert_eq!(ended(ONE, 470.0), Ended::Pass);
        assert_eq!(ended(ONE, 400.0), Ended::Fail);
    }
}
