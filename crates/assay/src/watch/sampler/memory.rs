//! Memory and swap (`/proc/meminfo`, `/proc/vmstat`).

use std::path::Path;

use serde::Serialize;

use crate::seen::Seen;
use crate::system::System;

/// Memory at one moment; what was swapped is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// All of it.
    pub total_bytes: u64,
    /// What programs could still have.
    pub available_bytes: u64,
    /// Written by programs, not by the devices yet.
    pub dirty_bytes: u64,
    /// On its way to the devices.
    pub writeback_bytes: u64,
    /// Swap.
    pub swap_bytes: u64,
    /// Swap in use.
    pub swap_used_bytes: u64,
    /// Brought back from swap.
    pub swapped_in_bytes: u64,
    /// Put into swap.
    pub swapped_out_bytes: u64,
}

impl Memory {
    /// The same with what was swapped since an earlier reading.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            swapped_in_bytes: self.swapped_in_bytes.saturating_sub(before.swapped_in_bytes),
            swapped_out_bytes: self.swapped_out_bytes.saturating_sub(before.swapped_out_bytes),
            ..*self
        }
    }

    /// Share that is in use, 0 to 1.
    pub fn used(&self) -> f64 {
        1.0 - self.available_bytes as f64 / (self.total_bytes as f64).max(1.0)
    }
}

/// Both files.
pub fn read(system: &dyn System) -> Seen<Memory> {
    let text = |path: &str| system.read_text(Path::new(path));
    let (levels, counts) = (text("/proc/meminfo"), text("/proc/vmstat"));
    match (levels, counts) {
        (Ok(levels), Ok(counts)) => Seen::from_option(
            parse(&levels, &counts, system.page_bytes()),
            "/proc/meminfo has an unknown form",
        ),
        (Err(error), _) => Seen::absent(format!("/proc/meminfo cannot be read: {error}")),
        (_, Err(error)) => Seen::absent(format!("/proc/vmstat cannot be read: {error}")),
    }
}

/// What `/proc/vmstat` counts are pages.
fn parse(levels: &str, counts: &str, page_bytes: u64) -> Option<Memory> {
    let level = |name: &str| {
        let line = levels.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse().ok()?;
        kib.checked_mul(1024)
    };
    let pages = |name: &str| {
        let line = counts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse::<u64>().ok()?.checked_mul(page_bytes)
    };
    let swap = level("SwapTotal")?;
    Some(Memory {
        total_bytes: level("MemTotal")?,
        available_bytes: level("MemAvailable")?,
        dirty_bytes: level("Dirty")?,
        writeback_bytes: level("Writeback")?,
        swap_bytes: swap,
        swap_used_bytes: swap.saturating_sub(level("SwapFree")?),
        // A kernel without swap does not count it.
        swapped_in_bytes: pages("pswpin").unwrap_or(0),
        swapped_out_bytes: pages("pswpout").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_stay_and_swapping_is_a_difference() {
        let levels = "MemTotal: 1000 kB\nMemAvailable: 250 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n\
                      Dirty: 8 kB\nWriteback: 4 kB\nWritebackTmp: 9 kB\n";
        let before = parse(levels, "pswpin 2\npswpout 3\n", 4096).unwrap();
        let after = parse(levels, "pswpin 2\npswpout 5\n", 4096).unwrap();
        let found = after.since(&before);
        assert_eq!((found.used(), found.swap_used_bytes), (0.75, 60 * 1024));
        assert_eq!((found.dirty_bytes, found.writeback_bytes), (8192, 4096));
        assert_eq!((found.swapped_in_bytes, found.swapped_out_bytes), (0, 8192));
        assert_eq!(parse("MemTotal: 1 kB\n", "", 4096), None);
    }

    #[test]
    fn pages_have_the_size_of_the_machine() {
        let fake = crate::watch::testing::machine();
        fake.put("/proc/vmstat", "pswpin 2\npswpout 3\n");
        let found = read(&fake).value().copied().unwrap();
        assert_eq!((found.swapped_in_bytes, found.swapped_out_bytes), (32_768, 49_152));
    }
}
