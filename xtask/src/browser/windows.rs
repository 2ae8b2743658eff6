//! Two results of `assay watch`, for which nobody has to be root: what the article on starvation counted in
//! a minute before and in a minute after, seen by the product's own sampler on a machine of text.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use assay::watch::State;
use assay::watch::record::{self, Rows, Wish};
use assay::watch::sampler::{Sampler, Tracing, disks};
use assay_core::failure::Outcome;
use assay_core::reference::Library;
use assay_machine::probes::block_latency::counts::Means;
use assay_machine::system::{BlockTotals, BlockTracer, Fake, System};
use assay_sys::{BlockClass, latency_bucket};

use crate::lab::Done;

/// The article's setting, before and after, with the names of the results.
const WINDOWS: [(&str, &str); 2] = [("before", "10"), ("after", "3")];
/// The setting: a column of the tables.
const SETTING: &str = "async_write_max_active";
const NS_PER_US: u64 = 1000;
/// How long each of them was watched.
const SECONDS: u64 = 60;
/// The script that counted for the article has 1024 bytes in what it prints as k.
const K: u64 = 1024;
/// Where results lie on the machine of text.
const RESULTS: &str = "/results";

/// One drive, and nobody who waits.
const MACHINE: &str = "\
dir /proc
file /proc/pressure/cpu
| some avg10=0.00 total=0
| full avg10=0.00 total=0
file /proc/pressure/io
| some avg10=0.00 total=0
| full avg10=0.00 total=0
file /proc/pressure/memory
| some avg10=0.00 total=0
| full avg10=0.00 total=0
dir /sys/block
link /sys/block/nvme0n1 /sys/devices/pci0000:00/nvme/nvme0/nvme0n1
link /sys/class/block/nvme0n1 /sys/devices/pci0000:00/nvme/nvme0/nvme0n1
link /sys/dev/block/259:0 /sys/devices/pci0000:00/nvme/nvme0/nvme0n1
file /sys/devices/pci0000:00/nvme/nvme0/nvme0n1/dev 259:0
file /sys/devices/pci0000:00/nvme/nvme0/nvme0n1/size 1000215216
file /sys/devices/pci0000:00/nvme/nvme0/nvme0n1/stat 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
file /sys/devices/pci0000:00/nvme/nvme0/nvme0n1/device/model The article's drive
block /dev/nvme0n1 259:0
";

/// Writes both into a folder; returns where they lie, before and after.
pub fn make(folder: &Path) -> Done<[String; 2]> {
    let fake = Fake::recorded(MACHINE)?;
    watch(&fake).map_err(|failure| failure.message)?;
    for (path, text) in fake.files() {
        let Ok(below) = path.strip_prefix(RESULTS) else { continue };
        let path = folder.join(below);
        let parent = path.parent().unwrap_or(folder);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(WINDOWS.map(|(name, _)| folder.join(name).display().to_string()))
}

/// Watches one window after the other.
fn watch(fake: &Fake) -> Outcome<()> {
    let library = Library::shipped();
    for (name, level) in WINDOWS {
        let tracer = Box::new(Counted { first: Some(nothing()), whole: totals(&library, level)? });
        let tracing = Tracing::On { tracer, means: Means::Bpf, instead: None };
        let mut sampler = Sampler::new(fake, disks::choose(fake, None)?, tracing);
        let mut state = State::begin(&mut sampler);
        fake.sleep(Duration::from_secs(SECONDS));
        state.look(&mut sampler);
        let directory = Path::new(RESULTS).join(name);
        let wish = Wish { directory, title: name.to_owned() };
        record::write(fake, &wish, &state, &Rows::default(), None)?;
    }
    Ok(())
}

/// Has counted nothing at the first look, and all of a window at those after it.
struct Counted {
    first: Option<BlockTotals>,
    whole: BlockTotals,
}

impl BlockTracer for Counted {
    fn read(&mut self) -> io::Result<BlockTotals> {
        Ok(self.first.take().unwrap_or_else(|| self.whole.clone()))
    }
}

fn nothing() -> BlockTotals {
    BlockTotals { devices: vec![Default::default()], ..BlockTotals::default() }
}

/// What the article prints of one level: requests in the middle of their buckets, bytes of its summary.
fn totals(library: &Library, level: &str) -> Outcome<BlockTotals> {
    let summary = library.sheet("zfs_summary.csv")?;
    let mut totals = nothing();
    for bucket in library.sheet("zfs_histograms.csv")?.rows() {
        if bucket.text(SETTING)? != level {
            continue;
        }
        let own = bucket.text("class")?;
        let class = if own == "delete" { "discard" } else { own };
        let Some(at) = BlockClass::ALL.iter().position(|one| one.name() == class) else { continue };
        let row = summary.one(&[(SETTING, level), ("class", own)])?;
        let counted = &mut totals.devices[0][at];
        counted.bytes = row.count("throughput_k_per_s")? * K * SECONDS;
        let count = bucket.count("count")?;
        let [from, to] = [bucket.count("from_us")?, bucket.count("to_us")?];
        let middle_ns = (NS_PER_US * from).midpoint(NS_PER_US * to);
        counted.requests += count;
        for latencies in [&mut counted.queued, &mut counted.issued] {
            latencies.sum_ns += middle_ns * count;
            latencies.buckets[latency_bucket(middle_ns)] += count;
        }
    }
    Ok(totals)
}
