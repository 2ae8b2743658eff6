//! Counters of memory pages besides those of all work.

use assay_core::presence::Presence;
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use crate::measured::Counts;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryDetail {
    pub set_bytes: u64,
    pub reached_bytes: u64,
    /// The stage at which the OOM killer killed the process, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed: Option<KillStage>,
    pub accesses: u64,
    pub fill_ns: u64,
    /// Memory and swap of the working set at the end; `None` if it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldMemory>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KillStage {
    Filling,
    Touching,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldMemory {
    /// Bytes in memory (RssAnon of the process).
    pub resident_bytes: Presence<u64>,
    /// Bytes in any swap (VmSwap of the process).
    pub swapped_bytes: Presence<u64>,
    /// Bytes of swap stored compressed in zram, minus those stored before.
    pub zram_original_bytes: u64,
    pub zram_used_bytes: u64,
    /// Bytes of swap stored compressed in zswap, minus those stored before.
    pub zswap_original_bytes: Presence<u64>,
    pub zswap_used_bytes: Presence<u64>,
    /// Change of swap used by others; for a single reading, swap in use.
    #[serde(default = "not_recorded")]
    pub others_moved_bytes: Presence<u64>,
    /// Bytes in swap that are also in memory; only known at a single reading.
    #[serde(skip)]
    pub swap_cached_bytes: u64,
}

fn not_recorded() -> Presence<u64> {
    Presence::absent("not recorded by the Assay version that ran the study")
}

/// Smaller amounts may be the header of a swap area, or belong to others.
const TRACE: u64 = 1 << 20;

impl HeldMemory {
    /// The same minus what other programs used before.
    #[must_use]
    pub fn since(self, before: &Self) -> Self {
        let growth = |now: &Presence<u64>, before: &Presence<u64>| {
            now.both(before, |now, before| now.saturating_sub(*before))
        };
        let swapped = self.swapped_bytes.value().copied().unwrap_or(0);
        // The swap cache contains pages with a copy in swap, and pages that were only read ahead.
        let cached = self.swap_cached_bytes.saturating_sub(before.swap_cached_bytes);
        // More swap than the set's own pages explain, or less: others moved pages to or from swap.
        let moved = |now: &u64, before: &u64| match now.checked_sub(before + swapped) {
            Some(more) => more.saturating_sub(cached),
            None => before + swapped - now,
        };
        Self {
            zram_original_bytes: self
                .zram_original_bytes
                .saturating_sub(before.zram_original_bytes),
            zram_used_bytes: self.zram_used_bytes.saturating_sub(before.zram_used_bytes),
            zswap_original_bytes: growth(&self.zswap_original_bytes, &before.zswap_original_bytes),
            zswap_used_bytes: growth(&self.zswap_used_bytes, &before.zswap_used_bytes),
            others_moved_bytes: self.others_moved_bytes.both(&before.others_moved_bytes, moved),
            ..self
        }
    }

    /// Memory of the working set, uncompressed and compressed.
    pub fn memory_bytes(&self) -> Presence<u64> {
        let zswap = self.zswap_used_bytes.value().copied().unwrap_or(0);
        let packed = self.zram_used_bytes.saturating_add(zswap);
        self.resident_bytes.clone().map(|resident| resident.saturating_add(packed))
    }

    /// Bytes stored compressed, and the memory that they use; `None` without compression.
    pub fn packed(&self) -> Option<[u64; 2]> {
        let zswap = |bytes: &Presence<u64>| bytes.value().copied().unwrap_or(0);
        let original = self.zram_original_bytes.saturating_add(zswap(&self.zswap_original_bytes));
        let used = self.zram_used_bytes.saturating_add(zswap(&self.zswap_used_bytes));
        (original >= TRACE && used > 0).then_some([original, used])
    }
}

impl MemoryDetail {
    /// Describes when the process ran out of memory, if it did.
    pub fn kill_words(&self) -> Option<String> {
        let reached = show::bytes(self.reached_bytes);
        self.killed.map(|stage| match stage {
            KillStage::Filling => {
                format!("ran out of memory with {reached} of {}", show::bytes(self.set_bytes))
            }
            KillStage::Touching => format!("ran out of memory after all {reached} were written"),
        })
    }
}

impl Counts for MemoryDetail {
    fn operations(&self) -> u64 {
        self.accesses
    }

    fn cut_short(&self) -> Option<String> {
        self.kill_words()
    }
}
