//! Every bundled study, ended by Ctrl-C and by `kill -9` at random times. The printed command completes the study like
//! an uninterrupted one, or its refusal prints a command that does.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use assay_core::draws::Draws;
use assay_study::file::presets;
use assay_testkit::process::{self, Assay, Ended};
use assay_testkit::volume::{Filesystem, Volume};
use assay_testkit::{Done, LoopDevice};
use serde_json::Value;

use crate::turn::{Need, assay, has, require, word};

/// Maximum duration of a run, including on a loaded machine.
const LIMIT: Duration = Duration::from_secs(600);
const DEVICE_MIB: u64 = 1024;
/// Seed of the random times, combined with the names of study and signal.
const SEED: u64 = 20_261_133;
/// Signals that end a study: Ctrl-C, and one that cannot be caught.
const SIGNALS: [&str; 2] = ["INT", "KILL"];
/// Options to shorten a study: the first whose trials take `SECONDS`, otherwise the last.
const SHORTER: [&[&str]; 4] = [
    &["--replicates", "2", "--set", "runtime=200ms"],
    &["--replicates", "1", "--set", "runtime=200ms"],
    &["--replicates", "3", "--set", "runtime=200ms"],
    &["--set", "runtime=3s"],
];
const SECONDS: std::ops::Range<f64> = 2.0..60.0;
/// Fewer levels for factors of bundled studies, to save time.
const NARROWED: [&str; 3] = ["shaper=none,80%", "threads=1,8", "scheduler=none,mq-deadline"];
/// Exit codes of a completed study: as expected, failed by a finding, or with failed trials.
const ENDS: [i32; 3] = [0, 1, 5];
/// Exit codes that require `assay restore` first: incomplete restoration, or a killed study.
const UNRESTORED: [i32; 2] = [4, 128 + 9];

#[test]
#[ignore = "nightly: an hour"]
fn every_shipped_study_goes_on_by_the_printed_line() {
    let fitness = presets::fitness().map(|(name, _)| name);
    go_on(presets::all().map(|(name, _)| name).chain(fitness));
}

/// A study whose device is written only by the survey.
#[test]
fn a_shipped_study_goes_on_by_the_printed_line() {
    go_on(["surface"].into_iter());
}

fn go_on(names: impl Iterator<Item = &'static str>) {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    println!("the moments are drawn from {SEED}");
    let mut failures = Vec::new();
    for name in names {
        for signal in SIGNALS {
            // Other tests also change settings of the machine.
            let Some(_turn) = require(&[]) else { return };
            match Site::new().and_then(|site| site.takes(name, signal)) {
                Ok(told) => println!("{name}, {signal}: {told}"),
                Err(error) => failures.push(format!("{name}, {signal}: {error}")),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

struct Site {
    assay: Assay,
    device: LoopDevice,
    volume: Volume,
}

impl Site {
    fn new() -> Done<Self> {
        let volume = Volume::new(Filesystem::Ext4, DEVICE_MIB)?;
        let device = LoopDevice::new(volume.scratch().path().join("other"), DEVICE_MIB)?;
        Ok(Self { assay: assay(&volume), device, volume })
    }

    /// Interrupts a study on the first target where it runs, and continues it; returns a message if it runs nowhere.
    fn takes(&self, name: &str, signal: &str) -> Done<String> {
        let (device, folder) = (self.device.device(), word(self.volume.directory()));
        let plan = self.run(&["plan", "queue-depth", device, "--json"])?.json()?;
        let consent = plan["data_at_risk"][0]["destroy"].as_str().ok_or("no consent")?.to_owned();
        let places: [&[&str]; 4] =
            [&[device, "--destroy", &consent], &[&folder], &["--scratch"], &[]];
        let mut reasons = Vec::new();
        for place in places {
            let shortened = self.shortened(name, place);
            let words = match &shortened {
                Ok(words) => words.iter().map(String::as_str).collect::<Vec<_>>(),
                Err(reason) => {
                    reasons.push(reason.clone());
                    continue;
                }
            };
            let (shown, ended) = (words[2..].join(" "), self.interrupt(&words, signal)?);
            // The program refuses before any trial.
            if [2, 3].contains(&ended.code) {
                reasons.push(ended.stderr.trim().to_owned());
                continue;
            }
            let told = self.went_on(&words, &ended).map_err(|error| format!("{shown}: {error}"));
            return told.map(|told| format!("{shown}: {told}"));
        }
        Ok(format!("does not run here: {}", reasons.join("; ")))
    }

    fn run(&self, words: &[&str]) -> Done<Ended> {
        self.assay.run(words, LIMIT)
    }

    /// Returns arguments that run a study on a target in a short time, or why it cannot run there.
    fn shortened(&self, name: &str, place: &[&str]) -> Done<Vec<String>> {
        let study = presets::find(name).ok_or("no such study")?.map_err(|own| own.message)?;
        let varies =
            |set: &&&str| study.factors.keys().any(|own| set.starts_with(&format!("{own}=")));
        let narrowed = NARROWED.iter().filter(varies).flat_map(|&set| ["--set", set]);
        let narrowed: Vec<&str> = narrowed.collect();
        let mut shortest = (f64::INFINITY, Err(String::new()));
        for shorter in SHORTER {
            let words = [&[name], place, &narrowed, shorter].concat();
            let ended = self.run(&[&["plan"], &words[..], &["--json"]].concat())?;
            if ended.code != 0 {
                shortest.1 = shortest.1.or(Err(ended.stderr.trim().to_owned()));
                continue;
            }
            let takes = ended.json()?["trials_s"].as_f64().unwrap_or(f64::MAX);
            let fits = SECONDS.contains(&takes);
            if fits || takes < shortest.0 {
                let words = ["run"].into_iter().chain(words).map(str::to_owned);
                shortest = (takes, Ok(words.collect()));
            }
            if fits {
                break;
            }
        }
        shortest.1
    }

    /// Starts a study and sends a signal at a random time: in its first two seconds, or up to half a second after a
    /// random trial.
    fn interrupt(&self, words: &[&str], signal: &str) -> Done<Ended> {
        let mut draws = Draws::new(SEED, &format!("{} {signal}", words[1]));
        let is_early = draws.below(4) == 0;
        let (part, after) = (draws.below(100), draws.below(if is_early { 2000 } else { 500 }));
        let mut running = self.assay.start(&[words, &["--quiet"]].concat())?;
        let is_there = |planned| self.finished().len() as u64 >= planned * part / 100;
        let has_come = || is_early || self.planned_trials().is_some_and(is_there);
        // A study that ends earlier is checked, too.
        let _ = running.until(LIMIT, has_come);
        sleep(Duration::from_millis(after));
        if !running.has_ended() {
            running.signal(signal)?;
        }
        running.end(LIMIT)
    }

    /// Runs the printed command, and then the one that its refusal prints; checks the result.
    fn went_on(&self, words: &[&str], ended: &Ended) -> Done<String> {
        let (mut code, mut printed) = (ended.code, ended.stderr.clone());
        if UNRESTORED.contains(&code) {
            printed = self.restored()?.stderr;
        }
        let mut told = vec![format!("exit {code} after {} trials", self.finished().len())];
        while let Some(line) = line_in(&printed).filter(|_| told.len() < 3 && !ENDS.contains(&code))
        {
            let ended = self.typed(&line)?;
            (code, printed) = (ended.code, ended.stderr);
            told.push(format!("`{line}` exit {code}"));
        }
        let (typed, told) = (told.len() - 1, told.join(", "));
        self.is_whole(words, code, typed).map_err(|error| format!("{told}: {error}; {printed}"))?;
        Ok(told)
    }

    /// Checks that the result equals that of an uninterrupted study, and that nothing else is left.
    fn is_whole(&self, words: &[&str], code: i32, typed: usize) -> Done<()> {
        let left = self.restored()?.stdout;
        if !left.starts_with("everything is restored") {
            return Err(format!("left: {left}"));
        }
        let Some(planned) = self.planned_trials() else {
            return if typed == 0 { Ok(()) } else { Err("the result is gone".to_owned()) };
        };
        let mut orders = self.finished();
        let all = orders.len();
        orders.sort_unstable();
        orders.dedup();
        let shown = self.run(&["show", "--json"])?.json()?["checks"].to_string();
        if orders.len() != all || shown.contains("\"incomplete\"") {
            return Err(format!("{all} trials of {planned}, {} different: {shown}", orders.len()));
        }
        // A study with all trials at the time of the signal has nothing to continue.
        if code == 0 || typed == 0 {
            return Ok(());
        }
        let whole = self.run(&[words, &["--quiet"]].concat())?;
        if whole.code == code { Ok(()) } else { Err(format!("uninterrupted: exit {}", whole.code)) }
    }

    /// Runs a line in a shell in which `assay` is the program under test.
    fn typed(&self, line: &str) -> Done<Ended> {
        let shell = ["sh", "-c", "PATH=${0%/*}:$PATH; eval \"$1\""];
        process::run(&mut self.assay.through(&shell).command(&[line]), LIMIT)
    }

    /// Restores as soon as the killed process and its watchdog have released the journal.
    fn restored(&self) -> Done<Ended> {
        for _ in 0..20 {
            let ended = self.run(&["restore"])?;
            if ended.code == 0 {
                return Ok(ended);
            }
            sleep(Duration::from_millis(500));
        }
        Err(format!("restore: {}", self.run(&["restore"])?.stdout))
    }

    fn stored(&self, name: &str) -> Option<String> {
        let mut results = fs::read_dir(self.assay.home().join("results")).ok()?.flatten();
        results.find_map(|entry| fs::read_to_string(entry.path().join(name)).ok())
    }

    /// Returns the trials in the plan; `None` before it is stored.
    fn planned_trials(&self) -> Option<u64> {
        let plan: Value = serde_json::from_str(&self.stored("plan.json")?).ok()?;
        Some(plan["trials"].as_array()?.len() as u64)
    }

    /// Returns the order number of each stored trial; the last line may be truncated.
    fn finished(&self) -> Vec<u64> {
        let text = self.stored("trials.jsonl").unwrap_or_default();
        let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        records.filter_map(|record| record["order"].as_u64()).collect()
    }
}

fn line_in(text: &str) -> Option<String> {
    let at = text.rfind("assay resume ")?;
    text[at..].lines().next().map(str::to_owned)
}
