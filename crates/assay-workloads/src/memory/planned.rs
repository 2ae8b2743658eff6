//! The plan of page accesses.

use assay_core::calc::zram::{Question, ZramSize, compute};
use assay_core::quantity::Bytes;
use assay_machine::system::execute::MemoryLimit;
use serde::{Deserialize, Serialize};

use super::{Content, EXPECTED, HELD, MemoryDetail, RATE, Skew, run};
use crate::measured::{Measured, RunResult};
use crate::place::Run;
use crate::workload::{ManualCommand, ManualRun, PlannedWork};

const NOT_SAID: &[&str] = &[
    "stress-ng does not report individual access times and chooses the page content itself",
    "stress-ng does not report the zram and zswap memory outside the limit",
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryPlan {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<MemoryLimit>,
    pub set_bytes: u64,
    pub content: Content,
    pub skew: Skew,
    pub writes_percent: u8,
}

impl MemoryPlan {
    /// `96 MiB of pages, zeros, under a limit of 64 MiB`; ends in a comma without a limit.
    pub(super) fn set_words(&self) -> String {
        let limit = self.limit.map_or_else(String::new, |limit| {
            let swap = if limit.may_swap { "" } else { ", without swap" };
            format!(" under a limit of {}{swap}", Bytes(limit.bytes))
        });
        let content = match self.content {
            Content::Random => "incompressible".to_owned(),
            Content::Zero => "zeros".to_owned(),
            Content::Partly(_) => format!("{} compressible", self.content),
        };
        format!("{} of pages, {content},{limit}", Bytes(self.set_bytes))
    }
}

/// Bytes of the set per byte of a process that was killed at its limit.
fn ratio_at_kill(detail: &MemoryDetail, limit: MemoryLimit) -> Option<f64> {
    let within = detail.killed.is_some() && (1..=limit.bytes).contains(&detail.reached_bytes);
    within.then(|| detail.reached_bytes as f64 / limit.bytes as f64)
}

/// Compression ratio of zram that the kernel's documentation expects.
const USUAL_RATIO: f64 = 2.0;

/// Bytes of the set per byte of memory, if the compressed pages take the memory that `assay calc zram` computes.
fn expected_ratio(detail: &MemoryDetail) -> Result<f64, String> {
    let no_pages = || "no compressed pages in memory".to_owned();
    let held = detail.held.as_ref();
    let held = held.ok_or_else(|| detail.kill_words().unwrap_or_else(no_pages))?;
    let [original, _] = held.packed().ok_or_else(no_pages)?;
    let resident = held.resident_bytes.value().copied().ok_or_else(no_pages)?;
    let question = Question {
        memory_bytes: detail.set_bytes,
        ratio: USUAL_RATIO,
        wanted: ZramSize::Size(original),
        algorithm: String::new(),
        device: 0,
    };
    let answer = compute(&question).map_err(|failure| failure.message)?;
    let memory = resident.saturating_add(answer.cost_bytes).max(1);
    Ok(detail.set_bytes as f64 / memory as f64)
}

impl PlannedWork for MemoryPlan {
    fn words(&self) -> String {
        let skew = match self.skew {
            Skew::Uniform => "uniformly".to_owned(),
            Skew::Zipf(exponent) => format!("with Zipf's law, exponent {exponent}"),
        };
        format!(
            "{}, one access at a time, {skew}, {}% writes",
            self.set_words().trim_end_matches(','),
            self.writes_percent
        )
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        run::run(self, run)
    }

    fn value(&self, metric: &str, measured: &Measured) -> Option<Result<f64, String>> {
        let detail = MemoryDetail::of(measured)?;
        if metric == EXPECTED.name {
            return Some(expected_ratio(detail));
        }
        if metric == HELD.name
            && let Some(limit) = self.limit
            && let Some(ratio) = ratio_at_kill(detail, limit)
        {
            return Some(Ok(ratio));
        }
        measured.value(metric)
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        RATE.name
    }

    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand {
        let seconds = how.seconds();
        let stress = format!(
            "stress-ng --vm 1 --vm-bytes {} --vm-keep --vm-method rand-set --timeout {seconds}s \
             --metrics-brief",
            self.set_bytes
        );
        let words = match self.limit {
            Some(MemoryLimit { bytes, may_swap }) => {
                let swap = if may_swap { "" } else { " -p MemorySwapMax=0" };
                format!("systemd-run --scope -p MemoryMax={bytes}{swap} {stress}")
            }
            None => stress,
        };
        let remarks = vec!["as root; for cgroup version 1, use mkdir and echo instead".to_owned()];
        ManualCommand { words: words.split(' ').map(str::to_owned).collect(), remarks }
    }

    fn not_said(&self) -> &'static [&'static str] {
        NOT_SAID
    }
}
