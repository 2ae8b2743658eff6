//! What is watched around a trial. Each probe reads a few small files before and after, and what
//! it cannot read is absent with its reason.

pub mod disk_stats;
pub mod own_traffic;
pub mod page_cache;
pub mod processors;
