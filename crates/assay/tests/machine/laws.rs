//! Distributions of offsets, sizes, mixes and content, checked on a device: requests by chi-square, the image by
//! duplicate blocks and a compressor.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_load::{EngineKind, Job, Mix, Pattern, SizeShare, Sizes, Target};
use assay_testkit::goodness::off;
use assay_testkit::{LoopDevice, Mounted, Scratch, call, has as has_program};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::trace::Trace;
use crate::turn::{has, skip};

const BLOCK: u64 = 4096;
/// Divisible by 20.
const BLOCKS: u64 = 1000;
const OPERATIONS: u64 = 20_000;
/// Limit in standard deviations of chi-square; the test is deterministic, with the same streams in each run.
const MOST_OFF: f64 = 4.5;
/// Permitted difference between a compressor's result and the requested share, for the complete image, and for blocks
/// compressed separately, with separate tables.
const NEAR: f64 = 0.02;
const NEAR_ALONE: f64 = 0.07;

/// A device over a file in memory, and the trace of its requests.
struct Bench {
    file: File,
    disk: LoopDevice,
    tracing: Mounted,
    _scratch: Scratch,
}

impl Bench {
    /// Fails with the reason if requests cannot be traced here.
    fn new() -> Result<Self, String> {
        let scratch = Scratch::new("laws")?;
        let point = scratch.folder("tracing", 0o755, None)?;
        let tracing = Mounted::new(&["-t", "tracefs", "none"], &point)
            .map_err(|error| format!("needs tracefs: {error}"))?;
        let image = scratch.path().join("image");
        fs::write(&image, vec![1; 64 << 20]).unwrap();
        let disk = LoopDevice::over(image)?;
        let mut options = File::options();
        options.read(true).write(true).custom_flags(rustix::fs::OFlags::DIRECT.bits() as i32);
        let file = options.open(disk.device()).unwrap();
        if has_program("udevadm") {
            // udev reads each new device, which the trace would contain.
            call("udevadm", &["settle"])?;
        }
        let bench = Self { file, disk, tracing, _scratch: scratch };
        bench.trace().map_err(|error| format!("no trace of block requests: {error}"))?;
        Ok(bench)
    }

    fn trace(&self) -> std::io::Result<Trace> {
        Trace::begin(self.tracing.point(), &self.disk.number().unwrap())
    }

    /// Runs a job with one operation in flight to prevent merged requests.
    fn run(&self, job: &Job) {
        let target = Target { file: Some(self.file.as_fd()), memory_alignment: 4096 };
        assay_load::run(job, &EngineKind::Psync, &target, &AtomicBool::new(false)).unwrap();
    }

    /// Returns a job's reads, writes and discards.
    fn requests(&self, job: &Job) -> [Vec<(u64, u64)>; 3] {
        let trace = self.trace().unwrap();
        self.run(job);
        let seen = ['R', 'W', 'D'].map(|kind| trace.requests(kind));
        assert_eq!(seen.iter().map(Vec::len).sum::<usize>() as u64, OPERATIONS, "{job:?}");
        seen
    }

    fn counts(&self, law: &str) -> Vec<u64> {
        let [reads, ..] = self.requests(&Job { access: law.parse().unwrap(), ..job(Mix::READS) });
        let mut counts = vec![0; BLOCKS as usize];
        for (at, bytes) in reads {
            assert_eq!((at % BLOCK, bytes), (0, BLOCK), "{law}");
            counts[(at / BLOCK) as usize] += 1;
        }
        counts
    }

    /// Reads the device, bypassing caches.
    fn image(&self) -> Vec<u8> {
        self.file.sync_all().unwrap();
        fs::read(&self.disk.image).unwrap()
    }
}

fn job(mix: Mix) -> Job {
    Job {
        time: Duration::from_secs(3600),
        operations: Some(OPERATIONS),
        ..Job::base(Pattern::Random, mix, BLOCK as u32, 0..BLOCKS * BLOCK, 41)
    }
}

fn twentieths(counts: &[u64]) -> Vec<u64> {
    counts.chunks(counts.len() / 20).map(|part| part.iter().sum()).collect()
}

/// Returns the counts of the most frequent blocks and of all others; the rank of each block is random.
fn ranks(counts: &[u64], first: usize) -> Vec<u64> {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable_by(|one, other| other.cmp(one));
    let rest = sorted.split_off(first).iter().sum();
    sorted.push(rest);
    sorted
}

/// Returns the probabilities of the first ranks and of the rest, from a cumulative distribution.
fn of_ranks(up_to: impl Fn(u64) -> f64, first: usize) -> Vec<f64> {
    let all = up_to(BLOCKS);
    let own = |rank: u64| (up_to(rank) - up_to(rank - 1)) / all;
    let rest = 1.0 - up_to(first as u64) / all;
    (1..=first as u64).map(own).chain([rest]).collect()
}

fn zipf(theta: f64) -> impl Fn(u64) -> f64 {
    move |rank| (1..=rank).map(|rank| (rank as f64).powf(-theta)).sum()
}

/// fio's distribution: the share `x` of the blocks has `x^(ln(1-h)/ln h)` of the operations.
fn pareto(share: f64) -> impl Fn(u64) -> f64 {
    move |rank| (rank as f64 / BLOCKS as f64).powf((1.0 - share).ln() / share.ln())
}

/// Returns the probability of each twentieth, from zones with a number of twentieths and a share of operations.
fn of_zones(zones: &[(usize, f64)]) -> Vec<f64> {
    zones.iter().flat_map(|(count, share)| vec![share / *count as f64; *count]).collect()
}

#[test]
fn places_sizes_and_mixes_of_requests_follow_their_laws() {
    if !has(&[]) {
        return;
    }
    let bench = match Bench::new() {
        Ok(bench) => bench,
        Err(reason) => return skip(&reason),
    };
    let even = of_zones(&[(20, 1.0)]);
    let uniform = bench.counts("uniform");
    let found = off(&twentieths(&uniform), &even);
    assert!(found < MOST_OFF, "uniform: {found}");
    for (law, zones) in [
        ("zoned:80/20:20/80", &[(4, 0.8), (16, 0.2)][..]),
        ("zoned:50/5:30/15:20/80", &[(1, 0.5), (3, 0.3), (16, 0.2)][..]),
    ] {
        let parts = twentieths(&bench.counts(law));
        let found = off(&parts, &of_zones(zones));
        assert!(found < MOST_OFF, "{law}: {found}: {parts:?}");
        assert!(off(&parts, &even) > 10.0, "{law} is no other law");
    }
    // The number of ranks that this number of draws can distinguish.
    for (law, first, expected) in [
        ("zipf:1.2", 4, of_ranks(zipf(1.2), 4)),
        ("zipf:0.9", 3, of_ranks(zipf(0.9), 3)),
        ("pareto:0.2", 3, of_ranks(pareto(0.2), 3)),
    ] {
        let most = ranks(&bench.counts(law), first);
        let found = off(&most, &expected);
        assert!(found < MOST_OFF, "{law}: {found}: {most:?} for {expected:?}");
        assert!(off(&ranks(&uniform, first), &expected) > 10.0, "{law} is no other law");
    }
    let share = |bytes, percent| SizeShare { bytes, percent };
    let reads = vec![share(4096, 70), share(65_536, 30)];
    let sizes = Sizes { writes: reads.clone(), reads };
    let [reads, ..] = bench.requests(&Job { size_bytes: 65_536, sizes, ..job(Mix::READS) });
    let large = reads.iter().filter(|(_, bytes)| *bytes == 65_536).count() as u64;
    assert!(reads.iter().all(|(_, bytes)| [4096, 65_536].contains(bytes)));
    let found = off(&[OPERATIONS - large, large], &[0.7, 0.3]);
    assert!(found < MOST_OFF, "sizes: {large} of {OPERATIONS} are large");
    let path = format!("/sys/block/{}/queue/discard_max_bytes", bench.disk.name());
    let takes_discards = fs::read_to_string(path).unwrap().trim() != "0";
    for (mix, shares, needs_discards) in
        [("60/40", [0.6, 0.4, 0.0], false), ("read/60:write/30:trim/10", [0.6, 0.3, 0.1], true)]
    {
        if needs_discards && !takes_discards {
            skip("loop devices over files of this file system take no discards");
            continue;
        }
        let seen = bench.requests(&job(mix.parse().unwrap())).map(|own| own.len() as u64);
        let found = off(&seen, &shares);
        assert!(found < MOST_OFF, "{mix}: {seen:?}");
    }
}

fn written(bench: &Bench, bytes: u64, change: impl FnOnce(Job) -> Job) -> Vec<u8> {
    let all = Job {
        pattern: Pattern::Sequential,
        size_bytes: 64 << 10,
        area: 0..bytes,
        operations: Some(bytes >> 16),
        ..job(Mix::WRITES)
    };
    bench.run(&change(all));
    let mut image = bench.image();
    image.truncate(bytes as usize);
    image
}

fn compressed(bytes: &[u8]) -> f64 {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len() as f64 / bytes.len() as f64
}

#[test]
fn copies_and_what_compresses_reach_a_device_in_their_shares() {
    if !has(&[]) {
        return;
    }
    let bench = match Bench::new() {
        Ok(bench) => bench,
        Err(reason) => return skip(&reason),
    };
    for (content, left) in [("0%", 1.0), ("25%", 0.75), ("50%", 0.5), ("90%", 0.1), ("100%", 0.0)] {
        let bytes =
            written(&bench, 8 << 20, |all| Job { content: content.parse().unwrap(), ..all });
        let found = compressed(&bytes);
        assert!((found - left).abs() < NEAR, "{content}: {found} of it is left");
        // A device that compresses by block saves as much.
        let blocks = bytes.chunks(BLOCK as usize).step_by(16);
        let each: Vec<f64> = blocks.map(compressed).collect();
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        assert!((mean - left).abs() < NEAR_ALONE, "{content}: {mean} of a block is left");
    }
    for percent in [0, 30, 100] {
        let share = f64::from(percent) / 100.0;
        let duplicates = format!("{percent}%").parse().unwrap();
        let bytes = written(&bench, 64 << 20, |all| Job { duplicates, ..all });
        let mut met: BTreeMap<&[u8], u64> = BTreeMap::new();
        for block in bytes.chunks(BLOCK as usize) {
            *met.entry(block).or_default() += 1;
        }
        let copies: Vec<u64> = met.into_values().filter(|count| *count > 1).collect();
        let (copied, all) = (copies.iter().sum::<u64>(), (bytes.len() as u64) / BLOCK);
        if percent % 100 == 0 {
            assert_eq!(copied, if percent == 0 { 0 } else { all }, "{percent}%");
        } else {
            let found = off(&[copied, all - copied], &[share, 1.0 - share]);
            assert!(found < MOST_OFF, "{percent}%: {copied} of {all} are copies");
        }
        // Out of 256 blocks, all equally frequent.
        if percent > 0 {
            assert_eq!(copies.len(), 256, "{percent}%");
            let found = off(&copies, &[1.0 / 256.0; 256]);
            assert!(found < MOST_OFF, "{percent}%: {found}: {copies:?}");
        }
    }
}
