//! Requests to a block device, from the kernel's trace of issued requests.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// Attempts to remove a trace: another thread's new child process, or a program reading tracefs, holds it for a moment.
const REMOVALS: u32 = 50;
const REST: Duration = Duration::from_millis(20);

const SECTOR: u64 = 512;

/// A private trace of one device's requests, removed on drop.
pub struct Trace(PathBuf);

impl Trace {
    /// Starts a trace of the device `MAJOR:MINOR`, below a mounted tracefs.
    pub fn begin(tracing: &Path, number: &str) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (major, minor) = number.split_once(':').unwrap();
        // A trace that could not be removed does no harm.
        let own = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-requests-{}-{own}", std::process::id());
        let folder = tracing.join("instances").join(name);
        fs::create_dir(&folder)?;
        let trace = Self(folder);
        let [major, minor] = [major, minor].map(|part| part.parse::<u64>().unwrap());
        let event = trace.0.join("events/block/block_rq_issue");
        fs::write(trace.0.join("buffer_size_kb"), "4096")?;
        fs::write(event.join("filter"), format!("dev == {}", major << 20 | minor))?;
        fs::write(event.join("enable"), "1")?;
        Ok(trace)
    }

    /// Returns offset and size of the requests of a kind so far, in order: `R` for reads, `W` for writes, `D` for
    /// discards.
    pub fn requests(&self, kind: char) -> Vec<(u64, u64)> {
        let text = fs::read_to_string(self.0.join("trace")).unwrap();
        text.lines().filter_map(|line| request(line, kind)).collect()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        for _ in 0..REMOVALS {
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            thread::sleep(REST);
        }
    }
}

/// Parses `... block_rq_issue: 7,0 R 4096 () 1234 + 8 [load-0]`, possibly with more at the end in newer kernels.
fn request(line: &str, kind: char) -> Option<(u64, u64)> {
    let (_, event) = line.split_once("block_rq_issue: ")?;
    let mut words = event.split_whitespace().skip(1);
    if !words.next()?.starts_with(kind) {
        return None;
    }
    let mut numbers = words.skip_while(|word| *word != "()").skip(1);
    let sector: u64 = numbers.next()?.parse().ok()?;
    let sectors: u64 = numbers.nth(1)?.parse().ok()?;
    Some((sector * SECTOR, sectors * SECTOR))
}
