//! The raw kernel calls that rustix lacks, each as one safe function with a test.
//!
//! Errors are the kernel's, unchanged. Sizes and offsets are in bytes.
//!
//! This crate contains calls that need `unsafe`, and their results. `assay_runner::real` and the layers above decide
//! when to call and how to use the results.
//!
//! Main types: [`BlockTrace`] and its [`BlockTotals`], [`Launch`] (a program to start), [`Counter`] (of such programs),
//! [`LoopOptions`], [`MappedExtent`].

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod block;
mod block_latency;
mod child;
mod counter;
mod cpuid;
mod file_map;
mod fscrypt;
mod launch;
mod loops;
mod memory_file;
mod nvme;
mod page_cache;
mod partition;
mod swap;

#[cfg(test)]
mod test_support;

pub use block::{block_device_bytes, discard};
pub use block_latency::{
    BlockClass, BlockRequest, BlockTotals, BlockTrace, ClassTotals, DeviceTotals, LATENCY_BUCKETS,
    LatencyTotals, MOST_TRACED, RequestFlags, TraceMeans, latency_bucket, latency_bucket_from_ns,
};
pub use child::{end_with_parent, in_own_session};
pub use counter::{CountedEvent, Counter, CounterReading};
pub use cpuid::hypervisor_signatures;
pub use file_map::{MappedExtent, file_extents};
pub use fscrypt::{
    DirectoryPolicy, FSCRYPT_KEY_BYTES, KeyIdentifier, directory_policy, encrypt_directory,
    forget_key,
};
pub use launch::{
    GroupEntry, Launch, Launched, NotStarted, ProgramOwner, Step, Usage, groups_of, reap,
};
pub use loops::{LoopOptions, attach_loop, detach_loop, free_loop};
pub use memory_file::{memory_copy, memory_file};
pub use nvme::nvme_health_log;
pub use page_cache::{CacheCount, cache_count, resident_pages};
pub use partition::{add_partition, remove_partition};
pub use swap::{MOST_SWAP_PRIORITY, swap_off, swap_on};
