//! The smallest difference that a study will detect with 80% power (R5, R6), from the spread of earlier trials.

use std::collections::BTreeSet;

use assay_core::quantity::units::show;
use assay_core::stats::{FEWEST_FOR_INTERVAL, Sample, replicates_for, smallest_detectable_shift};
use assay_study::file::words::choice;
use assay_study::findings::{Findings, Measurement};
use assay_study::plan::arms::matches;
use assay_study::results::{design::Stopping, plan::Plan};
use assay_workloads::metrics::noun;
use serde::Serialize;

use super::{days::POWER, verdicts::error_of_family};

const PILOT: &str = "pilot";
const EXAMPLE_SDS: [f64; 3] = [0.01, 0.02, 0.05];
/// A study that detects only larger differences is hardly useful.
const LARGEST_USEFUL: f64 = 0.5;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Foresight {
    pub workload: String,
    pub replicates: u32,
    pub comparisons: usize,
    /// SD of the within-replicate differences, and the minimum detectable difference (80% power).
    pub sd_and_min_detectable: Vec<(f64, f64)>,
    /// ID of the result with the spread, or `pilot`.
    pub sd_source: Option<String>,
    pub text: String,
    #[serde(skip)]
    pub sight: String,
}

/// What a plan can detect in each workload, given the spread of an `earlier` result or a pilot.
pub fn foresee(plan: &Plan, earlier: Option<&Findings>) -> Vec<Foresight> {
    let names: BTreeSet<&str> = plan.workloads.iter().map(|one| one.name.as_str()).collect();
    names.into_iter().filter_map(|name| foresee_workload(plan, name, earlier)).collect()
}

/// What the planned replicates can detect; `None` if nothing is compared or their number is open.
fn foresee_workload(plan: &Plan, workload: &str, earlier: Option<&Findings>) -> Option<Foresight> {
    let baseline = &plan.design.baseline;
    let arms = plan.workloads.iter().filter(|one| one.name == workload && !one.control);
    let comparisons = arms.filter(|one| !matches(&one.arm, baseline)).count();
    let margin = plan.design.margin.filter(|_| comparisons > 0)?;
    if matches!(plan.design.stopping, Stopping::Open { .. } | Stopping::Race { .. }) {
        // Without a fixed number of replicates, Assay cannot predict a difference.
        return None;
    }
    let alpha = error_of_family(&plan.design, comparisons);
    let shift = smallest_detectable_shift(plan.replicates as usize, alpha, POWER)?;
    let gate = plan.design.gate.as_ref().filter(|gate| gate.more.is_none());
    let metric = gate.and_then(|gate| gate.metric.as_deref());
    let earlier_sd = earlier.and_then(|found| earlier_sd(found, workload, metric));
    let (sds, sd_source) = match earlier_sd.zip(earlier) {
        Some((sd, found)) => (vec![sd], Some(found.study.id.clone())),
        // The pilot measures rates, so it predicts no other metric.
        None => match pilot_sd(plan, workload).filter(|_| metric.is_none()) {
            Some(sd) => (vec![sd], Some(PILOT.to_owned())),
            None => (EXAMPLE_SDS.to_vec(), None),
        },
    };
    let min_detectable = |sd: f64| (shift * sd.ln_1p()).exp_m1();
    let mut foresight = Foresight {
        workload: workload.to_owned(),
        replicates: plan.replicates,
        comparisons,
        sd_and_min_detectable: sds.into_iter().map(|sd| (sd, min_detectable(sd))).collect(),
        sd_source,
        text: String::new(),
        sight: String::new(),
    };
    foresight.sight = describe(&foresight, metric, margin, alpha);
    foresight.text = format!("{workload}: {}", foresight.sight);
    Some(foresight)
}

/// SD of the within-replicate differences that the pilot predicts, as a fraction: the largest of all targets.
fn pilot_sd(plan: &Plan, workload: &str) -> Option<f64> {
    let time_ns = plan.workloads.iter().find(|one| one.name == workload)?.time_ns;
    let scatters = plan.surveys.iter().filter_map(|survey| survey.pilot.scatter.get(workload));
    let sd = scatters.map(|scatter| scatter.sd_log(time_ns)).max_by(f64::total_cmp)?;
    Some((sd * std::f64::consts::SQRT_2).exp_m1())
}

/// The minimum detectable differences from the pilot, in one sentence for all workloads.
pub fn foresee_from_pilot(plan: &Plan) -> Option<String> {
    let mut detectable: Vec<f64> = Vec::new();
    for workload in foresee(plan, None).iter().filter(|one| one.sd_source.is_some()) {
        detectable.extend(workload.sd_and_min_detectable.first().map(|(_, detectable)| detectable));
    }
    detectable.sort_by(f64::total_cmp);
    let least = *detectable.first()?;
    if least > LARGEST_USEFUL {
        let least = show::share(least);
        return Some(format!(
            "warning: this study can only detect differences above {least}, because trials vary as much in the pilot; \
             stop other load or run more replicates"
        ));
    }
    let [least, most] = [least, *detectable.last()?].map(show::share);
    let range = if least == most { most } else { format!("{least} to {most}") };
    Some(format!(
        "{} replicates: power 80% for a difference of {range}, if trials vary as in the pilot",
        plan.replicates
    ))
}

/// SD of the within-replicate differences of an earlier result, as a fraction; by default of the primary metric.
fn earlier_sd(found: &Findings, workload: &str, metric: Option<&str>) -> Option<f64> {
    let is_judged = |name: &str, primary: bool| metric.map_or(primary, |metric| metric == name);
    let comparisons = found.comparisons.iter().filter(|one| one.workload == workload);
    let judged = comparisons.filter(|one| is_judged(&one.metric, one.primary));
    let variances: Vec<f64> = judged.filter_map(|one| one.sd_log).map(|sd| sd * sd).collect();
    if !variances.is_empty() {
        return Some((variances.iter().sum::<f64>() / variances.len() as f64).sqrt().exp_m1());
    }
    // Otherwise by the trials of one cell. A requested rate hardly varies, and is not the compared metric.
    let facts = found.workloads.iter().filter(|facts| facts.name == workload);
    let asks_for_rate = facts.filter_map(|facts| facts.io).any(|io| io.rate_limited);
    let is_fit = |cell: &&Measurement| match metric {
        None if !asks_for_rate => ["iops", "bandwidth_bytes_per_s"].contains(&&*cell.metric),
        _ => is_judged(&cell.metric, cell.primary),
    };
    let cell = found.measurements.iter().filter(|cell| cell.workload == workload).find(is_fit)?;
    let values = cell.values().into_iter().filter(|value| *value > 0.0);
    let logs: Vec<f64> = values.map(f64::ln).collect();
    let sd = Sample::of(&logs)?.sd?;
    // The difference of two arms with equal spread has sqrt(2) times the spread of one.
    Some((sd * std::f64::consts::SQRT_2).exp_m1())
}

/// What the study detects at each spread, and the replicates to detect `margin`; `alpha` is the error of a comparison.
fn describe(foresight: &Foresight, metric: Option<&str>, margin: f64, alpha: f64) -> String {
    let replicates = foresight.replicates;
    if (replicates as usize) < FEWEST_FOR_INTERVAL {
        return format!(
            "{replicates} replicates are too few for a CI or a comparison; the minimum is {FEWEST_FOR_INTERVAL}"
        );
    }
    let list = |text: &dyn Fn(&(f64, f64)) -> String| -> String {
        let texts: Vec<String> = foresight.sd_and_min_detectable.iter().map(text).collect();
        choice(&texts.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let spreads = list(&|pair| show::share(pair.0));
    let differences = list(&|pair| show::share(pair.1));
    let needed = list(&|(spread, _)| {
        let count = replicates_for((margin.ln_1p() / spread.ln_1p()).min(1e6), alpha, POWER);
        count.map_or_else(|| "over 10,000".to_owned(), |count| count.to_string())
    });
    let metric = metric.map(|name| format!(" in {}", noun(name))).unwrap_or_default();
    let family = match foresight.comparisons {
        1 => String::new(),
        count => format!(", {count} simultaneous comparisons"),
    };
    let source = match &foresight.sd_source {
        Some(pilot) if pilot == PILOT => ", as in the pilot".to_owned(),
        Some(id) => format!(", as in result {id}"),
        None => " (assumed, because there is no earlier result)".to_owned(),
    };
    let margin = show::share(margin);
    format!(
        "{replicates} replicates{family}: smallest detectable difference{metric} {differences} (95% confidence, 80% \
         power) if the SD of paired differences is {spreads}{source}; for {margin}: {needed} replicates"
    )
}
