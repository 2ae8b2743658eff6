//! Counters of rounds, in recorded form.

use assay_core::stats::SNIA_ROUNDS;
use serde::{Deserialize, Serialize};

use crate::measured::Counts;
use assay_core::calc::pts::{Measure, PtsPoint};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteadyStateDetail {
    pub prepared: Prepared,
    pub cells: Vec<PtsPoint>,
    pub cell_ns: u64,
    pub rounds: Vec<Round>,
    /// Why it ended before the steady state, unless the number of rounds ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    pub is_device: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_bytes: Option<u64>,
    /// Mode of its write cache by the kernel: `write back` or `write through`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// Why it was not purged; `None` if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_purged: Option<String>,
    pub range_bytes: u64,
    /// Requested bytes of that range.
    pub wanted_bytes: u64,
    /// Bytes written sequentially before the first round.
    pub filled_bytes: u64,
    pub fill_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    pub cells: Vec<CellResult>,
    /// Bytes written since the purge, up to its end.
    pub written_bytes: u64,
    /// Nanoseconds from the start of the first round to its end.
    pub ended_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellResult {
    pub operations: u64,
    pub bytes: u64,
    pub window_ns: u64,
    pub mean_ns: u64,
    pub most_ns: u64,
}

impl CellResult {
    /// Its measure; `None` without a window, or without operations for a time.
    pub fn value(&self, measure: Measure) -> Option<f64> {
        let seconds = self.window_ns as f64 / 1e9;
        let per_second = |amount: u64| (seconds > 0.0).then(|| amount as f64 / seconds);
        match measure {
            Measure::Iops => per_second(self.operations),
            Measure::Bandwidth => per_second(self.bytes),
            Measure::Latency => (self.operations > 0).then_some(self.mean_ns as f64),
        }
    }
}

impl SteadyStateDetail {
    pub fn place(&self, cell: PtsPoint) -> Option<usize> {
        self.cells.iter().position(|other| *other == cell)
    }

    /// The measure of a cell in each round; `None` if one of them has no number.
    pub fn course(&self, cell: PtsPoint, measure: Measure) -> Option<Vec<f64>> {
        let place = self.place(cell)?;
        self.rounds.iter().map(|round| round.cells.get(place)?.value(measure)).collect()
    }
}

impl Counts for SteadyStateDetail {
    fn operations(&self) -> u64 {
        let all = self.rounds.iter().flat_map(|round| &round.cells);
        all.map(|seen| seen.operations).fold(0, u64::saturating_add)
    }

    /// With fewer rounds there is no verdict: a resumed study starts over.
    fn keeps_what_it_has(&self) -> bool {
        self.rounds.len() >= SNIA_ROUNDS
    }
}
