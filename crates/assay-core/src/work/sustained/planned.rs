//! Writing for long as it will be done.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_load::{Job, Mix, Pattern, WriteSync};
use serde::{Deserialize, Serialize};

use super::{BURST, CACHE, Detail, SUSTAINED, TOUCH, course};
use crate::quantity::Bytes;
use crate::work::io::{self, Content, Engine};
use crate::work::kind::{ByHand, CommandLine, Runs, Touch};
use crate::work::measured::{Claims, Count, Measured, Ran};
use crate::work::place::Run;
use crate::work::{self};

const MIB: u64 = 1 << 20;
const DEPTH: u32 = 8;
/// A slice lasts about so long at first: the start of its threads is little of that.
const SLICE_NS: u64 = 250_000_000;
/// The slice that shows how fast it is.
const FIRST_BYTES: u64 = 16 * MIB;
const LARGEST_SLICE: u64 = 1 << 30;
/// The whole has so many slices at least: what falls to a hundredth of its rate still has some before and
/// after the fall.
const SLICES: u64 = 256;
/// In less the start of the threads would be seen.
const SMALLEST_SLICE: u64 = 8 * MIB;

/// Writing for long, as it will be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Engine.
    pub engine: Engine,
    /// Bytes of the whole.
    pub bytes: u64,
}

/// What was written so far.
#[derive(Default)]
struct Written {
    bytes: u64,
    elapsed_ns: u64,
    cpu_ns: u64,
    stopped: bool,
}

/// Bytes of a slice of so many in all, at most.
fn most_of_slice(room: u64) -> u64 {
    (room / SLICES / MIB * MIB).clamp(SMALLEST_SLICE, LARGEST_SLICE)
}

impl Planned {
    /// Writes a slice at the place that is next; its nanoseconds.
    fn slice(
        &self,
        run: &Run<'_>,
        bytes: u64,
        place: u64,
        so_far: &mut Written,
    ) -> Result<u64, String> {
        let start = run.medium.area.start + place;
        let job = Job {
            pattern: Pattern::Sequential,
            mix: Mix::WRITES,
            size_bytes: MIB as u32,
            depth: DEPTH,
            threads: 1,
            sync: WriteSync::None,
            content: Content::Random,
            area: start..start + bytes,
            ramp: Duration::ZERO,
            // A slice that lasts for minutes is one that hangs.
            time: Duration::from_nanos(run.time_ns),
            operations: Some(bytes / MIB),
            seed: run.seed ^ so_far.bytes,
        };
        let outcome = io::run_job(self.engine, &job, &run.medium, run.bystanders, run.stop);
        let outcome = outcome.map_err(|error| error.to_string())?;
        so_far.bytes += outcome.totals.write_bytes;
        so_far.elapsed_ns += outcome.totals.elapsed_ns;
        so_far.cpu_ns += outcome.process_cpu_ns;
        so_far.stopped |= outcome.stopped || run.stop.load(Ordering::Relaxed);
        Ok(outcome.totals.elapsed_ns.max(1))
    }
}

impl Runs for Planned {
    fn words(&self) -> String {
        format!(
            "random data written to {} in one piece, 1 MiB at a time, {DEPTH} in flight, {}, direct",
            Bytes(self.bytes),
            self.engine
        )
    }

    fn touches(&self) -> Touch {
        TOUCH
    }

    fn run(&self, run: &Run<'_>) -> Result<Ran, String> {
        let room = run.medium.area.length / MIB * MIB;
        if room < FIRST_BYTES {
            return Err(format!("{} are too few: 16 MiB at least", Bytes(room)));
        }
        if let Some(file) = run.medium.file {
            // Room that is set aside is not looked for while it is written; without, it is.
            let area = run.medium.area;
            let _ = assay_load::set_aside(file.as_fd(), &(area.start..area.start + room));
        }
        let mut so_far = Written::default();
        let first_ns = self.slice(run, FIRST_BYTES, 0, &mut so_far)?;
        let wanted = FIRST_BYTES as f64 * SLICE_NS as f64 / first_ns as f64;
        let slice_bytes = (wanted as u64 / MIB * MIB).clamp(MIB, most_of_slice(room));
        let (mut slices_ns, mut place) = (Vec::new(), FIRST_BYTES);
        let limit_ns = run.ramp_ns.saturating_add(run.time_ns);
        while so_far.elapsed_ns < limit_ns && !so_far.stopped {
            if place + slice_bytes > room {
                place = 0;
            }
            let slice_ns = self.slice(run, slice_bytes, place, &mut so_far)?;
            if !so_far.stopped {
                slices_ns.push(slice_ns);
            }
            place += slice_bytes;
        }
        Ok(ran(&so_far, Detail { before_bytes: FIRST_BYTES, slice_bytes, slices_ns }))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        SUSTAINED.name
    }

    fn halved(&self) -> work::Planned {
        self.clone().into()
    }

    fn asked_in_flight(&self) -> u32 {
        DEPTH
    }

    fn in_flight(&self) -> u32 {
        DEPTH
    }

    fn by_hand(&self, how: &ByHand<'_>) -> CommandLine {
        let words = [
            "fio".to_owned(),
            format!("--name={}", how.name),
            format!("--filename={}", how.path),
            "--rw=write".to_owned(),
            "--bs=1M".to_owned(),
            format!("--iodepth={DEPTH}"),
            "--ioengine=io_uring".to_owned(),
            "--direct=1".to_owned(),
            "--time_based".to_owned(),
            format!("--runtime={}", how.time_ns.div_ceil(1_000_000_000).max(1)),
            format!("--size={}", self.bytes),
            "--write_bw_log=rate".to_owned(),
            "--log_avg_msec=250".to_owned(),
        ];
        let remarks = vec!["where the rate falls is to be seen in the log".to_owned()];
        CommandLine { words: words.to_vec(), remarks }
    }
}

/// The trial that slices make.
fn ran(so_far: &Written, detail: Detail) -> Ran {
    let (mut values, mut absent) = (BTreeMap::new(), BTreeMap::new());
    if let Some(course) = course(&detail) {
        let rates = [(SUSTAINED, course.levels.last()), (BURST, course.levels.first())];
        for (metric, level) in rates {
            values.extend(level.map(|own| (metric.name.to_owned(), own.rate_bytes_per_s)));
        }
        if let Some(fall) = course.fall() {
            values.insert(CACHE.name.to_owned(), fall.from_bytes as f64);
        } else {
            let text = format!("the rate did not fall in {}", Bytes(course.written_bytes));
            absent.insert(CACHE.name.to_owned(), text);
        }
    } else {
        for metric in [SUSTAINED, BURST, CACHE] {
            let reason = "the time was over before a slice was written".to_owned();
            absent.insert(metric.name.to_owned(), reason);
        }
    }
    let write = Count { operations: so_far.bytes / MIB, bytes: so_far.bytes };
    Ran {
        measured: Measured {
            window_ns: so_far.elapsed_ns,
            elapsed_ns: so_far.elapsed_ns,
            cpu_ns: so_far.cpu_ns,
            waited_ns: None,
            claims: Claims { read: Count::default(), write },
            values,
            absent,
            notes: Vec::new(),
            detail: detail.into(),
        },
        histograms: BTreeMap::new(),
        series: Vec::new(),
        threads_cpu_ns: so_far.cpu_ns,
        stopped: so_far.stopped,
    }
}
