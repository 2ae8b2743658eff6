//! Sizes and offsets of operations, checked on a loop device by the kernel's trace of block requests.

use std::fs;
use std::path::Path;

use assay_testkit::process::Assay;
use assay_testkit::{LoopDevice, Mounted, Scratch};
use serde_json::Value;

use crate::trace::Trace;
use crate::turn::{LIMIT, has, skip, word};

const AREA_BYTES: u64 = 64 << 20;
const OPERATIONS: u64 = 4000;
/// Reads in two replicates; a warm-up is half a trial.
const READS: u64 = 2 * OPERATIONS;
/// Maximum number of reads of pilot and survey at any offset.
const OTHERS: u64 = 300;

struct Bench {
    disk: LoopDevice,
    tracing: Mounted,
    scratch: Scratch,
}

/// Requests of a study with one workload to a device, and the start of its area.
struct Seen {
    reads: Vec<(u64, u64)>,
    start: u64,
}

impl Seen {
    fn of(bench: &Bench, name: &str, io: &str) -> std::io::Result<Self> {
        let home = bench.scratch.folder(&format!("home-{name}"), 0o755, None).unwrap();
        let study = bench.scratch.path().join("study.toml");
        fs::write(
            &study,
            format!(
                "format = \"assay-study/1\"\ntitle = \"Places\"\nreplicates = 2\n\
                 repeat_disturbed = false\narea = {{ size = \"64 MiB\" }}\n\
                 [[workload]]\nname = \"read\"\nio = {{ mix = \"read\", engine = \"psync\", \
                 operations = {OPERATIONS}, runtime = \"60 s\", {io} }}\n"
            ),
        )
        .unwrap();
        let trace = Trace::begin(bench.tracing.point(), &bench.disk.number().unwrap())?;
        let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
        let words = ["run", &word(&study), bench.disk.device(), "--json"];
        let ended = assay.run(&words, LIMIT).unwrap();
        let plan = plan(&home).unwrap_or_else(|| panic!("no plan: {}", ended.stderr));
        let start = plan["surveys"][0]["area"]["start"].as_u64().unwrap();
        let inside = |(at, bytes): &(u64, u64)| {
            (start..start + AREA_BYTES).contains(at) && [4096, 65_536].contains(bytes)
        };
        let reads: Vec<(u64, u64)> = trace.requests('R').into_iter().filter(inside).collect();
        let count = reads.len() as u64;
        assert!(
            (READS..READS + OPERATIONS + OTHERS).contains(&count),
            "{io}: {count}: {}",
            ended.stderr
        );
        Ok(Self { reads, start })
    }

    fn share(&self, is_such: impl Fn(u64, u64) -> bool) -> f64 {
        let such = self.reads.iter().filter(|(at, bytes)| is_such(at - self.start, *bytes));
        such.count() as f64 / self.reads.len() as f64
    }
}

fn plan(home: &Path) -> Option<Value> {
    let folders = [home.to_owned(), home.join("results")];
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let path = entries.map(|entry| entry.path().join("plan.json")).find(|path| path.exists())?;
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Returns whether a share is within the variation of some ten thousand draws, and of up to a thousand random reads of
/// pilot, survey and shortened warm-ups.
fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 0.07
}

/// The trials have different most frequent blocks: takes the most frequent of each.
fn most(seen: &Seen) -> f64 {
    let mut counts = std::collections::BTreeMap::new();
    for (at, _) in &seen.reads {
        *counts.entry(*at).or_insert(0_u64) += 1;
    }
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    counts[..2].iter().sum::<u64>() as f64 / READS as f64
}

#[test]
fn sizes_and_places_reach_the_device_as_they_were_asked_for() {
    if !has(&[]) {
        return;
    }
    let scratch = Scratch::new("places").unwrap();
    let point = scratch.folder("tracing", 0o755, None).unwrap();
    let tracing = match Mounted::new(&["-t", "tracefs", "none"], &point) {
        Ok(tracing) => tracing,
        Err(error) => return skip(&format!("needs tracefs: {error}")),
    };
    let image = scratch.path().join("image");
    fs::write(&image, vec![1; 96 << 20]).unwrap();
    let bench = Bench { disk: LoopDevice::over(image).unwrap(), tracing, scratch };
    let fifth = AREA_BYTES / 5;
    let in_first = |at: u64, _: u64| at < fifth;
    let random = "pattern = \"random\", block_size = \"4 KiB\"";
    let uniform = match Seen::of(&bench, "uniform", random) {
        Ok(seen) => seen,
        Err(error) => return skip(&format!("no trace of block requests: {error}")),
    };
    let seen = |name: &str, io: &str| Seen::of(&bench, name, io).unwrap();
    // Uniform offsets have no properties of the other distributions.
    assert!(is_near(uniform.share(in_first), 0.2), "{}", uniform.share(in_first));
    assert!(most(&uniform) < 0.01, "{}", most(&uniform));
    let hot = seen("hot", &format!("{random}, distribution = \"zoned:80/20:20/80\""));
    assert!(is_near(hot.share(in_first), 0.8), "{}", hot.share(in_first));
    let zipf = seen("zipf", &format!("{random}, distribution = \"zipf:1.2\""));
    let blocks = AREA_BYTES / 4096;
    let sum: f64 = (1..=blocks).map(|rank| (rank as f64).powf(-1.2)).sum();
    assert!(is_near(most(&zipf), 1.0 / sum), "{} of {}", most(&zipf), 1.0 / sum);
    let mixed = seen("mixed", "pattern = \"random\", block_size = \"4KiB/70:64KiB/30\"");
    let large = mixed.share(|_, bytes| bytes == 65_536);
    assert!(is_near(large, 0.3), "{large}");
    let stride =
        seen("stride", "pattern = \"stride\", stride = \"64 KiB\", block_size = \"4 KiB\"");
    let steps = stride.reads.windows(2).filter(|pair| pair[1].0.wrapping_sub(pair[0].0) == 65_536);
    let share = steps.count() as f64 / stride.reads.len() as f64;
    assert!(share > 0.95, "{share}");
}
