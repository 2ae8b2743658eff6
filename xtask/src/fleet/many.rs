//! What a trial of many ranks costs beside its work: with a simulated drive, whose work takes no time, all that passes
//! between two trials is plan, barriers and merging.

use std::fmt::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::{Measured, ended, ranks};
use crate::bench;
use crate::lab::fleet::{Ranks, trials};
use crate::lab::process::Running;
use crate::lab::{Done, Scratch};
use crate::options::Options;

const DRIVE: &str = "simulated:fixed,mean=100us";
const REPLICATES: usize = 20;
/// How often it is looked how many trials are kept.
const LOOK: Duration = Duration::from_millis(2);
/// Only what hangs takes longer.
const LIMIT: Duration = Duration::from_secs(400);
/// Seconds that a trial may cost, the median of all.
const MOST_S: f64 = 2.0;

pub fn measure(program: &Path, options: &Options) -> Done<Measured> {
    let count = options.number("--ranks");
    let scratch = Scratch::new("fleet-ranks")?;
    let ranks = ranks(program, &scratch, &study(REPLICATES), &vec![DRIVE.to_owned(); count])?;
    let started = Instant::now();
    let mut running = ranks.start(&[])?;
    let ends = kept_at(&ranks, &mut running)?;
    ended(running)?;
    let times: Vec<f64> = ends.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    let (Some(first), false) = (ends.first(), times.is_empty()) else {
        return Err("there are not two trials".to_owned());
    };
    let (median, worst) = (bench::middle(&times), times.iter().copied().fold(0.0, f64::max));
    let mut text = format!(
        "{count} ranks as processes of one machine, a simulated drive: its work takes no time, so that all of a trial \
         is the cost of plan, barriers and merging.\n\n"
    );
    text.push_str(&bench::table(
        "ranks | trials | from one trial to the next, median | worst | from the start of all to the first trial kept",
    ));
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "| {count} | {} | {median:.2} s | {worst:.2} s | {:.1} s |",
        ends.len(),
        (*first - started).as_secs_f64()
    );
    Ok(Measured { heading: "## Many ranks", text, holds: median < MOST_S })
}

/// Two depths, and so many replicates.
pub fn study(replicates: usize) -> String {
    format!(
        "format = \"assay-study/1\"\ntitle = \"Many ranks\"\nreplicates = {replicates}\nlead_in = \"none\"\n\
         control = false\nrepeat_disturbed = false\n\n[factors]\ndepth = [\"1\", \"4\"]\n\n[[workload]]\nname = \
         \"read\"\nio = {{ pattern = \"random\", mix = \"read\", size = \"4 KiB\", time = \"50 ms\" }}\n"
    )
}

/// When each trial of all hosts was kept.
fn kept_at(ranks: &Ranks, running: &mut [Running]) -> Done<Vec<Instant>> {
    let (mut ends, until) = (Vec::new(), Instant::now() + LIMIT);
    loop {
        let has_ended = running[0].has_ended();
        let lines = ranks.whole().map_or(0, |whole| trials(&whole).matches('\n').count());
        ends.resize_with(lines.max(ends.len()), Instant::now);
        if has_ended {
            return Ok(ends);
        }
        if Instant::now() > until {
            return Err(format!("after {LIMIT:?} there are {} trials", ends.len()));
        }
        thread::sleep(LOOK);
    }
}
