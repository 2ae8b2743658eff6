//! A look at a capacity as it will be done.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::time::Duration;

use assay_load::{CapacityJob, CapacityOutcome, CapacityShape, capacity};
use serde::{Deserialize, Serialize};

use super::{CHECKED, CLAIMED, Detail, HELD, TOUCH, WRONG, told};
use crate::quantity::Bytes;
use crate::quantity::units::show;
use crate::work::kind::{ByHand, CommandLine, Runs, Touch};
use crate::work::measured::{Claims, Count, Measured, Ran};
use crate::work::place::{Area, Run};
use crate::work::{self};

/// What is supposed of a target that was not tried: a MiB in one piece, and a single block. A good card,
/// and a poor one.
const SUPPOSED: [(&str, (u64, u64)); 2] = [
    ("80 MB/s and 1 ms a block", (13_107_200, 1_000_000)),
    ("10 MB/s and 10 ms a block", (104_857_600, 10_000_000)),
];
const MIB: u64 = 1 << 20;

/// A look at what a target holds, as it will be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Whether every block is written and read.
    pub full: bool,
    /// Bytes of the whole.
    pub bytes: u64,
}

impl Planned {
    fn shape(&self) -> CapacityShape {
        CapacityShape::of(self.bytes, self.full)
    }
}

/// The job of a pass.
pub(super) fn job(area: &Area, shape: CapacityShape, time_ns: u64, seed: u64) -> CapacityJob {
    let end = area.start + super::whole_blocks(area.length);
    CapacityJob { area: area.start..end, shape, time: Duration::from_nanos(time_ns), seed }
}

/// The open target.
pub(super) fn target<'a>(run: &'a Run<'_>) -> assay_load::Target<'a> {
    assay_load::Target {
        file: run.medium.file.map(AsFd::as_fd),
        memory_alignment: run.medium.memory_alignment,
    }
}

/// Nanoseconds of a whole pass, by what a MiB and a block take.
pub(super) fn whole_ns(shape: &CapacityShape, (piece_ns, block_ns): (u64, u64)) -> u64 {
    let (bytes, blocks) = shape.costs();
    (bytes / MIB).saturating_mul(piece_ns).saturating_add(blocks.saturating_mul(block_ns))
}

/// Pieces of a MiB and single blocks of a whole pass.
pub(super) fn steps(shape: &CapacityShape) -> u64 {
    let (bytes, blocks) = shape.costs();
    (bytes / MIB + blocks).max(1)
}

/// What passes over so many bytes take on a good card and on a poor one.
fn times(bytes: u64) -> String {
    let of = |full: bool| {
        let own = SUPPOSED.map(|(_, costs)| whole_ns(&CapacityShape::of(bytes, full), costs));
        own.map(|ns| show::duration(ns as f64)).join(" to ")
    };
    let [good, poor] = SUPPOSED.map(|(words, _)| words);
    if CapacityShape::of(bytes, false).full {
        return format!("about {} ({good}; {poor})", of(true));
    }
    format!("fast about {}, full about {} ({good}; {poor})", of(false), of(true))
}

impl Runs for Planned {
    fn words(&self) -> String {
        let (shape, whole) = (self.shape(), Bytes(self.bytes));
        let how = if shape.full {
            format!("every block of {whole} is written, then read again")
        } else {
            format!(
                "{} blocks of {whole}, one a stretch, then {} at the beginning are written, then read \
                 again",
                show::count(shape.samples),
                Bytes(shape.zone_bytes)
            )
        };
        format!("{how}; {}", times(self.bytes))
    }

    fn touches(&self) -> Touch {
        TOUCH
    }

    fn run(&self, run: &Run<'_>) -> Result<Ran, String> {
        let job = job(&run.medium.area, self.shape(), run.time_ns, run.seed);
        let outcome = capacity(&job, &target(run), run.medium.law.as_ref(), run.stop);
        let outcome = outcome.map_err(|error| error.to_string())?;
        if outcome.first.all() == 0 && !outcome.stopped {
            return Err("the time was over before a block could be read again".to_owned());
        }
        let in_free_space = run.medium.file.is_some() && !is_device(run);
        Ok(ran(Detail { outcome, in_free_space }))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        HELD.name
    }

    fn ends_by_time(&self) -> bool {
        false
    }

    fn is_of_speed(&self) -> bool {
        false
    }

    fn expected_ns(&self, pilot_ns: u64) -> Option<u64> {
        let [_, (_, poor)] = SUPPOSED;
        let shape = self.shape();
        let told = pilot_ns > 0;
        Some(if told { steps(&shape).saturating_mul(pilot_ns) } else { whole_ns(&shape, poor) })
    }

    fn halved(&self) -> work::Planned {
        self.clone().into()
    }

    fn by_hand(&self, how: &ByHand<'_>) -> CommandLine {
        let name = if self.full { "f3write" } else { "f3probe" };
        let words = match name {
            "f3probe" => vec![name, "--destructive", "--time-ops", how.path],
            _ => vec![name, how.path],
        };
        let remarks = [
            "f3probe takes a device and supposes that it wraps at a power of two",
            "f3write fills a mounted file system; f3read then reads it",
        ];
        CommandLine {
            words: words.into_iter().map(str::to_owned).collect(),
            remarks: remarks.map(str::to_owned).to_vec(),
        }
    }
}

/// Whether the target is a block device.
fn is_device(run: &Run<'_>) -> bool {
    run.system.status(run.path).is_ok_and(|status| status.own_device.is_some())
}

/// The trial that a look makes.
fn ran(detail: Detail) -> Ran {
    let outcome = &detail.outcome;
    let found = told(&detail);
    let (mut values, mut absent) = (BTreeMap::new(), BTreeMap::new());
    values.insert(CLAIMED.name.to_owned(), outcome.claimed_bytes as f64);
    values.insert(CHECKED.name.to_owned(), outcome.first.all() as f64);
    values.insert(WRONG.name.to_owned(), outcome.first.wrong() as f64);
    if let Some(held) = found.held_bytes {
        values.insert(HELD.name.to_owned(), held as f64);
    } else {
        let reason = "what it holds was not measured: a full pass tells".to_owned();
        absent.insert(HELD.name.to_owned(), reason);
    }
    let count = |(bytes, operations): (u64, u64)| Count { operations, bytes };
    let CapacityOutcome { written, read, elapsed_ns, stopped, .. } = *outcome;
    Ran {
        measured: Measured {
            window_ns: elapsed_ns,
            elapsed_ns,
            cpu_ns: 0,
            waited_ns: None,
            claims: Claims { read: count(read), write: count(written) },
            values,
            absent,
            notes: outcome.note.iter().cloned().collect(),
            detail: detail.into(),
        },
        histograms: BTreeMap::new(),
        series: Vec::new(),
        threads_cpu_ns: 0,
        stopped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terabyte_is_minutes_fast_and_hours_in_full() {
        let words = Planned { full: false, bytes: 1_000_000_000_000 }.words();
        let fast = words.split("fast about ").nth(1).unwrap().split(',').next().unwrap();
        assert!(fast.contains("min") && !fast.contains(" h"), "{words}");
        let full = words.split("full about ").nth(1).unwrap();
        assert!(full.contains(" h") || full.contains(" d"), "{words}");
    }

    #[test]
    fn what_is_small_is_written_whole() {
        let words = Planned { full: false, bytes: 64 << 20 }.words();
        assert!(words.starts_with("every block of 64 MiB"), "{words}");
    }
}
