//! How far apart the windows of four ranks begin, and how many trials they leave each other undisturbed: on a loop
//! device and an ext4 each, with processors that have time, and with a loop on each that never ends.

use std::fmt::Write as _;
use std::path::Path;
use std::thread;

use serde_json::Value;

use super::{Measured, ended, ranks, records};
use crate::bench;
use crate::lab::slow::Neighbour;
use crate::lab::volume::{Filesystem, Volume};
use crate::lab::{Done, Scratch, is_root, turn};
use crate::options::Options;

const RANKS: usize = 4;
const MEBIBYTES: u64 = 192;
/// What windows share of the longest one where ranks did not disturb each other's trial, as rule `skew` has it.
const SHARED: f64 = 0.95;
/// Share of quiet trials that are to be so.
const UNDISTURBED: f64 = 0.95;

/// What the trials of one run say.
#[derive(Debug, PartialEq)]
struct Spread {
    trials: usize,
    /// Between the first and the last begin of a window, microseconds: the median trial and the worst.
    apart_us: [f64; 2],
    /// Trials whose windows share enough, and that no host calls disturbed.
    shared: usize,
    undisturbed: usize,
}

pub fn measure(program: &Path, options: &Options) -> Done<Measured> {
    if !is_root() {
        return Err("needs root (for four loop devices of its own)".to_owned());
    }
    let _turn = turn()?;
    let trials = options.number("--trials");
    let mut text = format!(
        "Four ranks as processes of one machine, each on a loop device and an ext4 of its own: 50 random reads of 4 KiB \
         a second each, trials of 0.2 s, {trials} of them. What is told is how far windows begin apart, each by the \
         release that its host heard; a trial is left undisturbed where the windows share 95 % of the longest one \
         and no host calls it disturbed.\n\n"
    );
    text.push_str(&bench::table(
        "processors | trials | starts apart, median | worst | windows share 95 % | undisturbed",
    ));
    let quiet = spread(&run(program, trials)?)?;
    let busy = {
        let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let _busy = Neighbour::computing(processors);
        spread(&run(program, trials)?)?
    };
    for (name, own) in [("quiet", &quiet), ("a busy loop on each", &busy)] {
        let share = |count: usize| 100.0 * count as f64 / own.trials.max(1) as f64;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {} | {:.0} us | {:.1} ms | {:.1} % | {:.1} % |",
            own.trials,
            own.apart_us[0],
            own.apart_us[1] / 1e3,
            share(own.shared),
            share(own.undisturbed),
        );
    }
    let holds = quiet.shared as f64 >= UNDISTURBED * quiet.trials as f64;
    Ok(Measured { heading: "## Barriers of four ranks", text, holds })
}

/// The records of all hosts.
fn run(program: &Path, trials: usize) -> Done<Vec<Value>> {
    let volumes =
        (0..RANKS).map(|_| Volume::new(Filesystem::Ext4, MEBIBYTES)).collect::<Done<Vec<_>>>()?;
    let targets: Vec<String> =
        volumes.iter().map(|volume| volume.directory().display().to_string()).collect();
    let scratch = Scratch::new("fleet-barrier")?;
    let ranks = ranks(program, &scratch, &study(trials), &targets)?;
    ended(ranks.start(&[])?)?;
    records(&ranks)
}

/// Two depths: half as many replicates as trials.
fn study(trials: usize) -> String {
    let replicates = trials.div_ceil(2);
    format!(
        "format = \"assay-study/1\"\ntitle = \"A barrier\"\nreplicates = {replicates}\nlead_in = \"none\"\n\
         control = false\nrepeat_disturbed = false\narea = {{ size = \"32 MiB\" }}\n\n[factors]\ndepth = [2, 4]\n\n\
         [[workload]]\nname = \"read\"\nio = {{ pattern = \"random\", mix = \"read\", size = \"4 KiB\", \
         rate = \"50/s\", time = \"200 ms\" }}\n"
    )
}

fn spread(records: &[Value]) -> Done<Spread> {
    let mut apart_us = Vec::new();
    let (mut shared, mut undisturbed) = (0, 0);
    for record in records {
        let Some(hosts) = record["together"]["hosts"].as_array() else { continue };
        let number = |host: &Value, key: &str| host[key].as_u64().unwrap_or_default();
        let begins = || hosts.iter().map(|host| number(host, "since_go_ns"));
        let ends =
            || hosts.iter().map(|host| number(host, "since_go_ns") + number(host, "window_ns"));
        let longest = hosts.iter().map(|host| number(host, "window_ns")).max().unwrap_or_default();
        let (Some(first), Some(last)) = (begins().min(), begins().max()) else { continue };
        let common = ends().min().unwrap_or_default().saturating_sub(last);
        apart_us.push((last - first) as f64 / 1e3);
        if common as f64 >= SHARED * longest as f64 {
            shared += 1;
            undisturbed += usize::from(record["status"] == "ok");
        }
    }
    let worst = apart_us.iter().copied().fold(0.0, f64::max);
    if apart_us.is_empty() {
        return Err("no trial has windows of several hosts".to_owned());
    }
    Ok(Spread {
        trials: records.len(),
        apart_us: [bench::middle(&apart_us), worst],
        shared,
        undisturbed,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn starts_are_apart_by_the_last_one_and_windows_are_shared_or_not() {
        let trial = |late_ns: u64, status: &str| {
            json!({ "status": status, "together": { "hosts": [
                { "since_go_ns": 1000, "window_ns": 100_000_000 },
                { "since_go_ns": 1000 + late_ns, "window_ns": 100_000_000 },
            ] } })
        };
        let failed = json!({ "status": "failed" });
        let all =
            [trial(0, "ok"), trial(20_000, "disturbed"), trial(9_000_000, "ok"), failed.clone()];
        let expected = Spread { trials: 4, apart_us: [20.0, 9000.0], shared: 2, undisturbed: 1 };
        assert_eq!(spread(&all), Ok(expected));
        assert!(spread(&[failed]).is_err());
    }
}
