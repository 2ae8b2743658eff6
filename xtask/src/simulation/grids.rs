//! S11: grids of factors (R5b). Counts studies that report a main effect, an interaction or a trend, without effects and
//! with one.

use std::fmt::Write;

use assay_analysis::import::{Options, trials_csv};
use assay_study::file::Order;
use assay_study::findings::{Effect, Findings, Shape, Verdict};
use assay_study::results::plan::Arm;
use assay_testkit::Done;

use super::chance::Chance;
use super::experiment::{Bound, Experiment, count};
use super::seam;
use super::world::{self, World};

const REPLICATES: usize = 6;
/// Relative effect of a level on the rate.
const EFFECT: f64 = 0.05;
/// These studies are slower than those of two configurations.
const ONE_IN: u32 = 4;

/// Levels of each factor, and workloads.
type Grid = (&'static [usize], usize);

const GRIDS: [Grid; 5] = [(&[2, 2], 1), (&[2, 4], 1), (&[3, 3], 1), (&[2, 3, 3], 1), (&[2, 4], 4)];

pub fn experiments() -> Vec<Experiment> {
    let mut all: Vec<Experiment> = GRIDS.map(null).into();
    all.extend(
        GRIDS
            .iter()
            .flat_map(|grid| grid.0.iter().enumerate().map(move |(at, _)| (grid, at)))
            .filter_map(|(grid, at)| effect(*grid, at)),
    );
    all.extend([curve("levels-off", &LEVELS_OFF, false), curve("line", &LINE, true)]);
    for one in &mut all {
        one.one_in = ONE_IN;
    }
    all
}

fn name((factors, workloads): Grid) -> [String; 2] {
    let levels: Vec<String> = factors.iter().map(usize::to_string).collect();
    let times = |sign: &str| levels.join(sign);
    let words = if workloads > 1 { format!(", {workloads} workloads") } else { String::new() };
    [format!("{}-w{workloads}", times("x")), format!("{}{words}", times("x"))]
}

/// Effect of the levels of a cell relative to the first cell, as a logarithm.
type Law<'a> = &'a dyn Fn(&[usize]) -> f64;

/// Simulates and judges one study of a grid.
fn study((factors, workloads): Grid, chance: &mut Chance, law: Law<'_>) -> Done<Findings> {
    let cells: usize = factors.iter().product();
    let world = World::null(cells * workloads, REPLICATES);
    let mut text = "replicate,order,workload,metric,value,status".to_owned();
    for factor in 0..factors.len() {
        // Writing to a String cannot fail.
        let _ = write!(text, ",factor_{}", factor_name(factor));
    }
    text.push('\n');
    for trial in world::run(&world, chance) {
        let levels = levels(factors, trial.arm % cells);
        let (value, work) = (trial.value * law(&levels).exp(), trial.arm / cells);
        let status = if trial.lead_in { "warmup" } else { "ok" };
        let _ = write!(text, "{},{},w{work},iops,{value},{status}", trial.replicate, trial.order);
        for level in levels {
            let _ = write!(text, ",{}", 1_u32 << level);
        }
        text.push('\n');
    }
    let baseline: Arm = (0..factors.len()).map(|at| (factor_name(at), "1".to_owned())).collect();
    let options = Options { baseline, margin: Some(0.05), ..Options::default() };
    let read = trials_csv::read("simulated", &text, &options);
    let measured = read.map_err(|failure| failure.message)?.measurements;
    if measured.design.order != Order::Random {
        return Err(format!("the importer read the order as {:?}", measured.design.order));
    }
    Ok(seam::judge(measured))
}

fn factor_name(at: usize) -> String {
    format!("f{at}")
}

fn levels(factors: &[usize], cell: usize) -> Vec<usize> {
    let mut rest = cell;
    let next = |count: &usize| {
        let level = rest % count;
        rest /= count;
        level
    };
    factors.iter().map(next).collect()
}

fn null(grid: Grid) -> Experiment {
    let [key, words] = name(grid);
    let counts = vec![
        count("any effect, interaction or trend", Bound::at_most(7.2)),
        count("any trend", Bound::at_most(1.0)),
    ];
    Experiment::new(
        "S11",
        format!("S11-null-{key}"),
        format!("null, grid {words}, n = {REPLICATES}"),
        counts,
        move |chance| {
            let found = study(grid, chance, &|_| 0.0)?;
            let effects = found.effects.main.iter().any(differs);
            let trends = !found.effects.trends.is_empty();
            Ok(vec![effects || trends || !found.effects.interactions.is_empty(), trends])
        },
    )
}

fn differs(effect: &Effect) -> bool {
    matches!(effect.verdict, Some(Verdict::Better | Verdict::Worse))
}

/// The last level of one factor is better in all workloads; counts detections in the first workload.
fn effect(grid: Grid, at: usize) -> Option<Experiment> {
    // One of several equal factors is enough.
    let (factors, _) = grid;
    if factors[..at].contains(&factors[at]) {
        return None;
    }
    let [key, words] = name(grid);
    let last = factors[at] - 1;
    let bound = Bound::at_least(85.0);
    let label = (1_u32 << last).to_string();
    let law = move |levels: &[usize]| if levels[at] == last { EFFECT.ln_1p() } else { 0.0 };
    Some(Experiment::new(
        "S11",
        format!("S11-effect{at}-{key}"),
        format!("+5% by 1 of {} levels, grid {words}, n = {REPLICATES}", factors[at]),
        vec![count("effect found", bound)],
        move |chance| {
            let found = study(grid, chance, &law)?;
            let own = |one: &&Effect| {
                one.workload == "w0" && one.factor == factor_name(at) && one.level == label
            };
            let effect = found.effects.main.iter().find(own).ok_or("no effect")?;
            Ok(vec![effect.verdict == Some(Verdict::Better)])
        },
    ))
}

/// Doubles up to the fourth level.
const LEVELS_OFF: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 8.0, 8.0];
/// Grows by 10% with each level.
const LINE: [f64; 6] = [1.0, 1.1, 1.21, 1.331, 1.4641, 1.610_51];

/// One factor of six levels: whether the study reports a slope.
fn curve(key: &str, law: &'static [f64; 6], is_line: bool) -> Experiment {
    let (words, slope, knee) = if is_line {
        ("reported as linear", Bound::at_least(85.0), Bound::at_most(0.0))
    } else {
        ("levels off", Bound::at_most(0.0), Bound::at_least(95.0))
    };
    Experiment::new(
        "S11",
        format!("S11-{key}"),
        format!("6 levels, a curve that {words}, n = {REPLICATES}"),
        vec![count("slope reported", slope), count("levels off at the fourth level", knee)],
        move |chance| {
            let found = study((&[6], 1), chance, &|levels| law[levels[0]].ln())?;
            let trend = found.effects.trends.first().ok_or("no trend")?;
            let has_knee = trend.shape == Shape::Saturates && trend.knee == Some(8.0);
            Ok(vec![trend.slope.is_some(), has_knee])
        },
    )
}
