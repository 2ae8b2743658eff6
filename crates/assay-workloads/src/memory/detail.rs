//! What is counted of pages beside what all work measures.

use assay_core::presence::Presence;
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use crate::measured::Counts;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryDetail {
    pub set_bytes: u64,
    pub reached_bytes: u64,
    /// Where the kernel killed the process for want of memory, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed: Option<Stage>,
    pub accesses: u64,
    pub fill_ns: u64,
    /// What held the set at the end; none where it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    Filling,
    Touching,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Bytes of them in memory as they are (RssAnon of the process).
    pub resident_bytes: Presence<u64>,
    /// Bytes of them in swap of any kind (VmSwap of the process).
    pub swapped_bytes: Presence<u64>,
    /// Bytes of swap that zram devices hold packed; those of others that lay there before are subtracted.
    pub zram_original_bytes: u64,
    pub zram_used_bytes: u64,
    /// Bytes of swap that zswap holds packed; those of others that lay there before are subtracted.
    pub zswap_original_bytes: Presence<u64>,
    pub zswap_used_bytes: Presence<u64>,
    /// Change of swap used by others; at a single moment, swap in use.
    #[serde(default = "not_recorded")]
    pub others_moved_bytes: Presence<u64>,
    /// Bytes in use in swap that are also in memory; known at a single moment alone.
    #[serde(skip)]
    pub swap_cached_bytes: u64,
}

fn not_recorded() -> Presence<u64> {
    Presence::absent("not recorded by the Assay version that ran the study")
}

/// Less than this may be the mark of an area, or somebody else's.
const TRACE: u64 = 1 << 20;

impl Held {
    /// What holds the set, where so much was held before there was one: by other programs.
    #[must_use]
    pub fn since(self, before: &Self) -> Self {
        let grown = |now: &Presence<u64>, before: &Presence<u64>| {
            now.both(before, |now, before| now.saturating_sub(*before))
        };
        let own = self.swapped_bytes.value().copied().unwrap_or(0);
        // A page that came back may keep its place in swap, and one that is only read ahead is no page of the set
        // in memory yet: both are in the swap cache.
        let cached = self.swap_cached_bytes.saturating_sub(before.swap_cached_bytes);
        let moved = |now: &u64, before: &u64| match now.checked_sub(before + own) {
            Some(more) => more.saturating_sub(cached),
            None => before + own - now,
        };
        Self {
            zram_original_bytes: self
                .zram_original_bytes
                .saturating_sub(before.zram_original_bytes),
            zram_used_bytes: self.zram_used_bytes.saturating_sub(before.zram_used_bytes),
            zswap_original_bytes: grown(&self.zswap_original_bytes, &before.zswap_original_bytes),
            zswap_used_bytes: grown(&self.zswap_used_bytes, &before.zswap_used_bytes),
            others_moved_bytes: self.others_moved_bytes.both(&before.others_moved_bytes, moved),
            ..self
        }
    }

    /// Memory that the set took: as it is, and packed.
    pub fn memory_bytes(&self) -> Presence<u64> {
        let zswap = self.zswap_used_bytes.value().copied().unwrap_or(0);
        let packed = self.zram_used_bytes.saturating_add(zswap);
        self.resident_bytes.clone().map(|own| own.saturating_add(packed))
    }

    /// Bytes that lie packed, and the memory that they take; none where nothing is packed.
    pub fn packed(&self) -> Option<[u64; 2]> {
        let zswap = |own: &Presence<u64>| own.value().copied().unwrap_or(0);
        let original = self.zram_original_bytes.saturating_add(zswap(&self.zswap_original_bytes));
        let used = self.zram_used_bytes.saturating_add(zswap(&self.zswap_used_bytes));
        (original >= TRACE && used > 0).then_some([original, used])
    }
}

impl MemoryDetail {
    pub fn kill_words(&self) -> Option<String> {
        let reached = show::bytes(self.reached_bytes);
        self.killed.map(|stage| match stage {
            Stage::Filling => {
                format!("ran out of memory with {reached} of {}", show::bytes(self.set_bytes))
            }
            Stage::Touching => format!("ran out of memory after all {reached} were written"),
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
