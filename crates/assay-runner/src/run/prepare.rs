//! Puts a target into the state that a trial requires, and verifies it.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::event::Context;
use super::setting::TrialContext;
use assay_core::presence::Presence;
use assay_machine::probes::disk;
use assay_machine::system::System;
use assay_machine::system::site::Backing;
use assay_study::file::Cache;
use assay_study::results::plan::PlannedWorkload;

const INTERVAL: Duration = Duration::from_millis(250);
/// Bytes in that time that count as idle: a journal's periodic writes.
const IDLE_BYTES: u64 = 64 << 10;
const STEP: usize = 1 << 20;
/// Share of the area that may be in a cold cache, or missing from a warm one.
const TOLERATED: f64 = 0.02;

/// Writes the data for reads, waits until devices are idle, and empties or fills the page cache; else returns why.
pub(super) fn prepare(
    setting: &TrialContext<'_>,
    workload: &PlannedWorkload,
    seed: u64,
    stop: &AtomicBool,
) -> Result<(), String> {
    if workload.work.is_others() {
        return Ok(());
    }
    let (system, runs_as) = (setting.system, setting.runs_as);
    let mut context = Context { system, runs_as, stop, tell: &mut |_| {} };
    let filled = setting.surveyed.ensure_content(&mut context, setting.site, workload, seed);
    filled.map_err(|failure| failure.message)?;
    if let Some(limit) = setting.demands.wait_idle {
        wait_until_idle(setting.system, &setting.site.shared, limit.0);
    }
    let touch = workload.work.touches();
    if touch.direct || !touch.reads {
        return Ok(());
    }
    let wanted = setting.demands.page_cache;
    match wanted {
        Some(Cache::Warm) => fill_cache(setting)?,
        Some(Cache::Cold) | None => drop_area_cache(setting),
    }
    if wanted == Some(Cache::Cold) && !setting.site.followed.is_empty() {
        drop_whole_cache(setting)?;
    }
    wanted.map_or(Ok(()), |wanted| check_cache(wanted, setting))
}

/// Waits up to `limit_ns` until the devices are idle. Without readable counters, it does not wait.
fn wait_until_idle(system: &dyn System, devices: &[String], limit_ns: u64) {
    let began_ns = system.monotonic_ns();
    let mut before = disk::read(system, devices);
    while system.monotonic_ns() - began_ns < limit_ns {
        system.sleep(INTERVAL);
        let after = disk::read(system, devices);
        let moved_bytes = disk::between(&before, &after).map(|disks| {
            disks.values().map(|disk| disk.read_bytes + disk.write_bytes + disk.discard_bytes).sum()
        });
        match moved_bytes {
            Presence::Present(bytes) if bytes > IDLE_BYTES => before = after,
            Presence::Present::<u64>(_) | Presence::Absent(_) => return,
        }
    }
}

/// Fails if the wanted cache state was not reached; accepts it if the kernel does not report cached pages.
fn check_cache(wanted: Cache, setting: &TrialContext<'_>) -> Result<(), String> {
    let Presence::Present(pages) = setting.cached_pages() else { return Ok(()) };
    let share = pages.cached as f64 / pages.of.max(1) as f64;
    let (name, is_met) = match wanted {
        Cache::Cold => ("cold", share <= TOLERATED),
        Cache::Warm => ("warm", share >= 1.0 - TOLERATED),
    };
    if is_met {
        return Ok(());
    }
    let percent = 100.0 * share;
    Err(format!("a {name} cache was requested, but {percent:.0}% of the area is cached"))
}

/// Reads the whole area through the page cache.
fn fill_cache(setting: &TrialContext<'_>) -> Result<(), String> {
    let Some(file) = setting.surveyed.opened.file() else { return Ok(()) };
    let area = setting.range();
    let mut buffer = vec![0; STEP];
    let mut offset = area.start;
    while offset < area.end {
        let length = (area.end - offset).min(STEP as u64) as usize;
        match setting.system.read_at(file, offset, &mut buffer[..length]) {
            Ok(0) => return Ok(()),
            Ok(read) => offset += read as u64,
            Err(error) => return Err(format!("cannot fill the cache: {error}")),
        }
    }
    Ok(())
}

/// Drops the cache of all files: a stacked file system (gocryptfs, overlay) also reads through that of the one below.
fn drop_whole_cache(setting: &TrialContext<'_>) -> Result<(), String> {
    if setting.site.backing == Backing::Memory {
        return Ok(());
    }
    setting.system.forget_cache().map_err(|error| {
        let below = setting.site.followed.first().map_or("another", |mount| &mount.filesystem);
        format!(
            "a cold cache was requested, but Assay cannot drop the cache of {below}, which contains the files: {error}"
        )
    })
}

fn drop_area_cache(setting: &TrialContext<'_>) {
    if let Some(file) = setting.surveyed.opened.file() {
        // The later reading of cached pages shows the effect.
        let _ = setting.system.drop_cached(file, setting.range());
    }
}
