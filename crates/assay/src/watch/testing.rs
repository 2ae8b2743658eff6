//! A machine with a traced loop device for tests of this module.

use std::io;
use std::time::Duration;

use assay_sys::{BlockClass, latency_bucket};

use super::State;
use super::sampler::{Sampler, Tracing, disks};
use assay_machine::probes::block_latency::counts::Means;
use assay_machine::system::{BlockTotals, BlockTracer, Fake, System};

/// Returns one reading after the other, and repeats the last one.
pub struct Script(Vec<io::Result<BlockTotals>>);

impl BlockTracer for Script {
    fn read(&mut self) -> io::Result<BlockTotals> {
        if self.0.len() > 1 {
            return self.0.remove(0);
        }
        match &self.0[0] {
            Ok(totals) => Ok(totals.clone()),
            Err(error) => Err(io::Error::from(error.kind())),
        }
    }
}

pub fn tracing(readings: Vec<io::Result<BlockTotals>>) -> Tracing {
    Tracing::On { tracer: Box::new(Script(readings)), means: Means::Bpf, instead: None }
}

const LOOP_STAT: &str = "/sys/devices/virtual/block/loop3/stat";
const NVME_STAT: &str = "/sys/devices/pci0000:00/nvme/nvme0/nvme0n1/stat";

/// Returns two disks, `loop3` on `nvme0n1`, and some programs.
pub fn machine() -> Fake {
    let fake = Fake::new();
    fake.add(
        "dir /sys/block\n\
         link /sys/block/loop3 /sys/devices/virtual/block/loop3\n\
         link /sys/class/block/loop3 /sys/devices/virtual/block/loop3\n\
         link /sys/dev/block/7:3 /sys/devices/virtual/block/loop3\n\
         file /sys/devices/virtual/block/loop3/dev 7:3\n\
         file /sys/devices/virtual/block/loop3/size 1048576\n\
         block /dev/loop3 7:3\n\
         link /sys/block/nvme0n1 /sys/devices/pci0000:00/nvme/nvme0/nvme0n1\n\
         link /sys/class/block/nvme0n1 /sys/devices/pci0000:00/nvme/nvme0/nvme0n1\n\
         link /sys/dev/block/259:0 /sys/devices/pci0000:00/nvme/nvme0/nvme0n1\n\
         file /sys/devices/pci0000:00/nvme/nvme0/nvme0n1/dev 259:0\n\
         file /sys/devices/pci0000:00/nvme/nvme0/nvme0n1/size 1000215216\n\
         file /sys/devices/pci0000:00/nvme/nvme0/nvme0n1/device/model Example NVMe 500\n\
         block /dev/nvme0n1 259:0\n\
         dir /proc\n",
    )
    .unwrap();
    at_rest(&fake);
    fake
}

fn at_rest(fake: &Fake) {
    fake.put(LOOP_STAT, "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    fake.put(NVME_STAT, "9 0 72 1 9 0 72 1 0 1 2 0 0 0 0 0 0\n");
    fake.put("/proc/stat", "cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n");
    for name in ["cpu", "io", "memory"] {
        let text = "some avg10=0.00 total=0\nfull avg10=0.00 total=0\n";
        fake.put(format!("/proc/pressure/{name}"), text);
    }
    fake.put(
        "/proc/meminfo",
        "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\nDirty: 20480 kB\nWriteback: 0 kB\n\
         SwapTotal: 0 kB\nSwapFree: 0 kB\n",
    );
    fake.put("/proc/vmstat", "pswpin 0\npswpout 0\n");
    fake.put("/sys/class/hwmon/hwmon0/name", "nvme");
    fake.put("/sys/class/hwmon/hwmon0/temp1_input", "41850");
    fake.put("/sys/class/hwmon/hwmon0/temp1_label", "Composite");
    program(fake, 4123, "fio", 0, 0);
    program(fake, 77, "rsync", 0, 0);
    fake.add("link /proc/4123/fd/3 /dev/loop3\n").unwrap();
}

pub fn program(fake: &Fake, process: u32, name: &str, read: u64, written: u64) {
    fake.put(format!("/proc/{process}/comm"), name);
    let text = format!("read_bytes: {read}\nwrite_bytes: {written}\ncancelled_write_bytes: 0\n");
    fake.put(format!("/proc/{process}/task/{process}/io"), text);
}

pub fn ten_seconds(fake: &Fake) {
    fake.sleep(Duration::from_secs(10));
    let stat = "6123 0 348616 47440 18160 0 686000 34358 3 9100 83000 29 0 700 66 37 1581\n";
    fake.put(LOOP_STAT, stat);
    fake.put(
        "/proc/stat",
        "cpu  0 0 0 0 0 0 0 0\ncpu0 300 0 100 500 100 0 0 0\ncpu1 10 0 10 900 0 0 0 80\n",
    );
    fake.put("/proc/pressure/io", "some avg10=0.00 total=5600000\nfull avg10=0.00 total=1200000\n");
    program(fake, 4123, "fio", 178_491_392, 351_232_000);
    program(fake, 77, "rsync", 0, 4096);
}

/// Histograms of the article, in microseconds and counts.
const ARTICLE: [(BlockClass, &[(u64, u64)]); 4] = [
    (BlockClass::Discard, &[(800, 2), (1500, 3), (3000, 24)]),
    (
        BlockClass::Flush,
        &[(1500, 4), (3000, 1), (6000, 4), (12_000, 4), (24_000, 3), (48_000, 14), (96_000, 7)],
    ),
    (
        BlockClass::Write,
        &[
            (48, 96),
            (96, 531),
            (192, 735),
            (384, 1067),
            (768, 11_639),
            (1536, 1573),
            (3072, 878),
            (6144, 785),
            (12_288, 612),
            (24_576, 183),
            (49_152, 25),
            (98_304, 16),
            (196_608, 13),
            (393_216, 3),
        ],
    ),
    (
        BlockClass::Read,
        &[
            (96, 12),
            (192, 48),
            (384, 124),
            (768, 2046),
            (1536, 906),
            (3072, 1244),
            (6144, 1523),
            (12_288, 1228),
            (24_576, 774),
            (49_152, 173),
            (98_304, 26),
            (196_608, 22),
            (393_216, 5),
        ],
    ),
];

/// Returns a tracer's counts of two devices, the second one idle.
pub fn article() -> BlockTotals {
    let mut totals = BlockTotals { devices: vec![Default::default(); 2], ..BlockTotals::default() };
    for (class, latencies) in ARTICLE {
        let at = BlockClass::ALL.iter().position(|one| *one == class).unwrap();
        let counted = &mut totals.devices[0][at];
        for (us, count) in latencies {
            counted.requests += count;
            counted.bytes += if class == BlockClass::Flush { 0 } else { count * 8192 };
            counted.queued.sum_ns += us * 1000 * count;
            counted.queued.buckets[latency_bucket(us * 1000)] += count;
            counted.issued.sum_ns += us * 500 * count;
            counted.issued.buckets[latency_bucket(us * 500)] += count;
        }
    }
    totals
}

pub fn nothing() -> BlockTotals {
    BlockTotals { devices: vec![Default::default(); 2], ..BlockTotals::default() }
}

pub fn state_after(fake: &Fake, tracing: Tracing) -> State {
    let disks = disks::choose(fake, None).unwrap();
    let mut sampler = Sampler::new(fake, disks, tracing);
    let mut state = State::begin(&mut sampler);
    ten_seconds(fake);
    state.update(&mut sampler);
    state
}

pub fn state() -> State {
    state_after(&machine(), tracing(vec![Ok(nothing()), Ok(article())]))
}

/// Returns the same machine without tracing.
pub fn state_untraced() -> State {
    let reason = "program in the kernel: not permitted; kernel's trace: not permitted";
    state_after(&machine(), Tracing::Off(reason.to_owned()))
}

/// Compares a text with its expected file; `UPDATE_EXPECT=1` rewrites the file.
#[allow(clippy::disallowed_methods, reason = "fixtures of a test")]
pub fn expect(name: &str, text: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/watch/expected");
    assay_testkit::expected::expect(format!("{folder}/{name}.txt"), text);
}
