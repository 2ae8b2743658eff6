//! The ranks of a fleet as local processes, each with a separate home.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::Done;
use crate::process::{Assay, Running};

const TOKEN: &str = "a token of sixteen letters and more";
/// Variables of launchers: a test inside of a launcher must not become one of its ranks.
const LAUNCHERS: [&str; 5] =
    ["SLURM_PROCID", "SLURM_NTASKS", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"];

#[derive(Clone, Debug)]
pub struct Rank {
    pub assay: Assay,
    pub target: String,
}

#[derive(Clone, Debug)]
pub struct Ranks {
    study: String,
    /// Address of rank 0; a free local port by default.
    address: Option<String>,
    all: Vec<Rank>,
}

pub fn free_address() -> Done<String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|own| own.local_addr());
    listener.map(|own| own.to_string()).map_err(|error| error.to_string())
}

/// Some number below another one, another one each time.
pub fn below(most: u32) -> u32 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.subsec_micros() % most.max(1))
}

/// Some time below another one.
pub fn below_ms(most: u32) -> Duration {
    Duration::from_millis(below(most).into())
}

pub fn results(home: &Path) -> Vec<PathBuf> {
    let below = fs::read_dir(home.join("results")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
    found.retain(|path| path.join("plan.json").exists());
    found.sort();
    found
}

impl Ranks {
    pub fn new(study: &Path, all: Vec<Rank>) -> Self {
        Self { study: study.display().to_string(), address: None, all }
    }

    /// The same, with an address for rank 0.
    #[must_use]
    pub fn at(self, address: &str) -> Self {
        Self { address: Some(address.to_owned()), ..self }
    }

    pub fn start(&self, more: &[&str]) -> Done<Vec<Running>> {
        let address = self.address.clone().map_or_else(free_address, Ok)?;
        (0..self.all.len())
            .map(|rank| Running::start(&mut self.command(rank, &address, more)))
            .collect()
    }

    fn command(&self, rank: usize, address: &str, more: &[&str]) -> Command {
        let place = format!("{rank}/{}", self.all.len());
        let Rank { assay, target } = &self.all[rank];
        let words = ["run", &self.study, target, "--json", "--quiet", "--coordinator", address];
        let mut command = assay.command(&[&words, more].concat());
        command.env("ASSAY_COORDINATOR_TOKEN", TOKEN);
        for name in LAUNCHERS {
            command.env_remove(name);
        }
        command.env("ASSAY_RANK", &place);
        command
    }

    pub fn home(&self, rank: usize) -> &Path {
        self.all[rank].assay.home()
    }

    pub fn own(&self, rank: usize) -> Option<PathBuf> {
        results(self.home(rank)).into_iter().find(|path| is_of_one(path) == Some(true))
    }

    /// Merged result of rank 0.
    pub fn whole(&self) -> Option<PathBuf> {
        results(self.home(0)).into_iter().find(|path| is_of_one(path) == Some(false))
    }

    /// Number of complete trial lines of a rank.
    pub fn kept(&self, rank: usize) -> usize {
        self.own(rank).map_or(0, |path| trials(&path).matches('\n').count())
    }
}

pub fn trials(result: &Path) -> String {
    fs::read_to_string(result.join("trials.jsonl")).unwrap_or_default()
}

/// Returns whether a result is of one rank (true) or of all; `None` for others, and if not written yet.
fn is_of_one(result: &Path) -> Option<bool> {
    let text = fs::read_to_string(result.join("environment.json")).ok()?;
    let environment: Value = serde_json::from_str(&text).ok()?;
    environment["fleet"].is_object().then(|| environment["fleet"]["rank"].is_u64())
}
