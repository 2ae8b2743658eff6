//! S12: results of two days (R13d). Trials have noise, and each row of each day has its own deviation. Counts suggested
//! differences and failed gates between equal days, and detected losses.

use std::fmt::Write;

use assay_analysis::import::{Options, trials_csv};
use assay_analysis::inference;
use assay_analysis::inference::days::Days;
use assay_analysis::inference::gate::{self, Ended, GateRequest};
use assay_study::findings::{Findings, Verdict};
use assay_testkit::Done;

use super::chance::Chance;
use super::experiment::{Bound, Experiment, count};
use super::seam;
use super::world::TRIAL_SD;

const ROWS: usize = 7;
const REPLICATES: [usize; 3] = [3, 6, 10];
/// Standard deviations between days.
const SESSIONS: [f64; 3] = [0.0, 0.02, 0.03];
/// Standard deviations of a trial.
const SPREADS: [f64; 4] = [0.05, 0.1, 0.2, 0.4];
/// Loss of the first row.
const LOST: f64 = 0.2;
/// These studies are slow.
const ONE_IN: u32 = 4;

pub fn experiments() -> Vec<Experiment> {
    let settings = REPLICATES.iter().flat_map(|n| SESSIONS.map(|session| (*n, session)));
    let mut all: Vec<Experiment> = settings.map(|(n, session)| equal(n, session)).collect();
    all.extend([weeks(0.02), weeks(0.03), lost()]);
    all.extend(SPREADS.map(|sd| spread(sd, 0.0, Bound::at_most(5.0))));
    all.push(spread(0.03, LOST, Bound::at_least(95.0)));
    for one in &mut all {
        one.one_in = ONE_IN;
    }
    all
}

/// One result: each row has a deviation of the day, and the first row has lost a share.
fn result(
    name: &str,
    (trials, session, lost): (usize, f64, f64),
    sd: f64,
    chance: &mut Chance,
) -> Done<Findings> {
    let mut text = "replicate,order,workload,metric,value,status\n".to_owned();
    for row in 0..ROWS {
        let gone = if row == 0 { (1.0 - lost).ln() } else { 0.0 };
        let day = session * chance.normal() + gone;
        for replicate in 1..=trials {
            let value = 1000.0 * (day + sd * chance.normal()).exp();
            let order = (replicate - 1) * ROWS + row;
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{replicate},{order},w{row},iops,{value},ok");
        }
    }
    let options = Options::default();
    let read = trials_csv::read("simulated", &text, &options).map_err(|failure| failure.message)?;
    let mut found = seam::judge(read.measurements);
    name.clone_into(&mut found.study.id);
    Ok(found)
}

fn suggests(found: &Findings) -> bool {
    let says = |verdict| matches!(verdict, Verdict::Better | Verdict::Worse | Verdict::Equivalent);
    found.comparisons.iter().any(|one| one.verdict.is_some_and(says))
        || found.summary_texts().iter().any(|text| text.contains("suggests that"))
}

fn rows_are_there(found: &Findings) -> Done<()> {
    let rows = found.comparisons.iter().filter(|one| one.primary).count();
    if rows == ROWS { Ok(()) } else { Err(format!("compared {rows} rows")) }
}

fn equal(trials: usize, session: f64) -> Experiment {
    let percent = 100.0 * session;
    let counts = vec![
        count("any difference suggested", Bound::at_most(5.0)),
        count("gate of 5% fails", Bound::at_most(5.0)),
        count("gate of 5% inconclusive", Bound::at_most(5.0)),
    ];
    Experiment::new(
        "S12",
        format!("S12-n{trials}-s{percent:.0}"),
        format!("equal days, {ROWS} rows, n = {trials}, session sd {percent:.0}%"),
        counts,
        move |chance| {
            let law = (trials, session, 0.0);
            let days =
                [result("one", law, TRIAL_SD, chance)?, result("two", law, TRIAL_SD, chance)?];
            let found = inference::compare(&days[0], &days[1..], Days::default());
            rows_are_there(&found)?;
            let rows = gate::gate(&days[..1], &days[1..], &GateRequest::new(0.05), 1);
            let red = rows.iter().any(|row| row.outcome == Ended::Fail);
            let blind = rows.iter().any(|row| matches!(row.outcome, Ended::Inconclusive(_)));
            Ok(vec![suggests(&found), red, blind])
        },
    )
}

/// Three results per side.
fn weeks(session: f64) -> Experiment {
    let percent = 100.0 * session;
    Experiment::new(
        "S12",
        format!("S12-weeks-s{percent:.0}"),
        format!("equal days, {ROWS} rows, 3 results per side, session sd {percent:.0}%"),
        vec![count("better or worse suggested", Bound::at_most(7.2))],
        move |chance| {
            let mut side = |name: &str| -> Done<Vec<Findings>> {
                let one =
                    |at: u32| result(&format!("{name}{at}"), (3, session, 0.0), TRIAL_SD, chance);
                (0..3).map(one).collect()
            };
            let (earlier, later) = (side("old")?, side("new")?);
            let found =
                inference::compare_sides(&earlier, &later, None).ok_or("nothing compared")?;
            rows_are_there(&found)?;
            Ok(vec![found.comparisons.iter().any(seam::differs)])
        },
    )
}

/// A gate between two days; the first row of the second day lost a share.
fn gated(
    (purpose, setting): (String, String),
    (trials, session, lost): (usize, f64, f64),
    sd: f64,
    bound: Bound,
) -> Experiment {
    let counts = vec![count("gate of 5% fails", bound)];
    Experiment::new("S12", purpose, setting, counts, move |chance| {
        let earlier = [result("one", (trials, session, 0.0), sd, chance)?];
        let later = [result("two", (trials, session, lost), sd, chance)?];
        let rows = gate::gate(&earlier, &later, &GateRequest::new(0.05), 1);
        Ok(vec![rows.iter().any(|row| row.outcome == Ended::Fail)])
    })
}

fn lost() -> Experiment {
    let setting = format!("one of {ROWS} rows 20% slower, n = 6, session sd 2%");
    gated(("S12-lost".to_owned(), setting), (6, 0.02, LOST), TRIAL_SD, Bound::at_least(75.0))
}

/// Three noisy trials per day, whose standard deviation is uncertain (Satterthwaite).
fn spread(sd: f64, lost: f64, bound: Bound) -> Experiment {
    let [percent, gone] = [sd, lost].map(|share| 100.0 * share);
    let purpose = format!("S12-spread-{percent:.0}-lost-{gone:.0}");
    let setting =
        format!("one of {ROWS} rows {gone:.0}% slower, n = 3, trial sd {percent:.0}%, equal days");
    gated((purpose, setting), (3, 0.0, lost), sd, bound)
}
