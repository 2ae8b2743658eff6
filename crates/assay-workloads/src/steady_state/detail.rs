//! What rounds count, as it is recorded.

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
    /// Why it ended before it was steady, where something else than the number of rounds ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    pub is_device: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_bytes: Option<u64>,
    /// What the kernel says of its write cache: `write back` or `write through`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// Why it was not purged; it was where nothing stands here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_purged: Option<String>,
    /// Bytes that the rounds go to.
    pub range_bytes: u64,
    /// Bytes that they were to go to.
    pub wanted_bytes: u64,
    /// Bytes that were written in one piece before the first round.
    pub filled_bytes: u64,
    pub fill_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    pub cells: Vec<Seen>,
    /// Bytes that were written since the purge, up to its end.
    pub written_bytes: u64,
    /// Nanoseconds from the beginning of the first round to its end.
    pub ended_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub operations: u64,
    pub bytes: u64,
    pub window_ns: u64,
    pub mean_ns: u64,
    pub most_ns: u64,
}

impl Seen {
    /// What it is known by; none of a window without a length, and no time of no operation.
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
        self.cells.iter().position(|own| *own == cell)
    }

    /// What a cell was known by in each round; none where one of them has no number.
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

    /// Of fewer rounds nothing is judged: who goes on with the study begins anew.
    fn keeps_what_it_has(&self) -> bool {
        self.rounds.len() >= SNIA_ROUNDS
    }
}
