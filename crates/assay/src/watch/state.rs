//! Accumulated activity since the start or the last reset.

use std::collections::{BTreeMap, VecDeque};

use super::members::WatchedArray;
use super::sampler::{CpuShares, Disk, DiskSpan, Reading, Sampler, Span, User};

/// Stored readings: two minutes at one per second.
pub const HISTORY: usize = 120;
const MOST_USERS: usize = 200;

#[derive(Clone)]
pub struct State {
    pub disks: Vec<Disk>,
    /// Arrays with members among them.
    pub arrays: Vec<WatchedArray>,
    /// Since the start or the last reset.
    pub whole: Span,
    /// Since the previous reading.
    pub last: Span,
    /// Maximum mean queue of each disk between readings.
    pub deepest: Vec<f64>,
    /// Recent readings, oldest first.
    past: VecDeque<HistoryPoint>,
    users: BTreeMap<(u32, String), User>,
    first: Reading,
    latest: Reading,
}

#[derive(Clone, Debug, PartialEq)]
struct HistoryPoint {
    seconds: f64,
    /// Throughput of each disk in bytes per second, reads and writes.
    disks: Vec<f64>,
    processors: Vec<f64>,
}

impl HistoryPoint {
    fn new(span: &Span) -> Self {
        let rate = |disk: &DiskSpan| {
            let bytes = disk.counters.value().map(|disk| disk.read_bytes + disk.written_bytes);
            span.per_s(bytes.unwrap_or_default())
        };
        let processors = span.processors.value().into_iter().flatten();
        Self {
            seconds: span.seconds(),
            disks: span.disks.iter().map(rate).collect(),
            processors: processors.map(CpuShares::busy).collect(),
        }
    }
}

impl State {
    pub fn begin(sampler: &mut Sampler<'_>) -> Self {
        let first = sampler.read();
        let empty = sampler.between(&first, &first);
        Self {
            disks: sampler.disks.clone(),
            arrays: sampler.arrays.clone(),
            whole: empty.clone(),
            last: empty,
            deepest: vec![0.0; sampler.disks.len()],
            past: VecDeque::with_capacity(HISTORY),
            users: BTreeMap::new(),
            latest: first.clone(),
            first,
        }
    }

    /// Takes a reading, and adds the activity since the previous one.
    pub fn update(&mut self, sampler: &mut Sampler<'_>) {
        let now = sampler.read();
        self.last = sampler.between(&self.latest, &now);
        self.whole = sampler.between(&self.first, &now);
        self.latest = now;
        if self.past.len() == HISTORY {
            self.past.pop_front();
        }
        self.past.push_back(HistoryPoint::new(&self.last));
        for (deepest, disk) in self.deepest.iter_mut().zip(&self.last.disks) {
            if let Some(counters) = disk.counters.value() {
                *deepest = deepest.max(self.last.queue(counters));
            }
        }
        for user in &self.last.users.busiest {
            add_user(&mut self.users, user);
        }
    }

    pub fn reset(&mut self, sampler: &Sampler<'_>) {
        self.first = self.latest.clone();
        self.whole = sampler.between(&self.first, &self.latest);
        self.deepest.fill(0.0);
        self.users.clear();
    }

    /// Returns recent throughput of a disk in bytes per second, oldest first.
    pub fn past_of_disk(&self, disk: usize) -> Vec<f64> {
        self.past.iter().filter_map(|point| point.disks.get(disk).copied()).collect()
    }

    /// Returns recent load of a CPU, oldest first.
    pub fn past_of_processor(&self, processor: usize) -> Vec<f64> {
        self.past.iter().filter_map(|point| point.processors.get(processor).copied()).collect()
    }

    pub fn past_seconds(&self) -> f64 {
        self.past.iter().map(|point| point.seconds).sum()
    }

    pub fn started(&self) -> &str {
        &self.first.at
    }

    /// Returns programs by bytes since the start: those with open files on a watched disk, then the others, each the
    /// busiest first.
    pub fn users(&self) -> Vec<&User> {
        let mut users: Vec<&User> = self.users.values().collect();
        users.sort_by_key(|user| (user.on.is_empty(), std::cmp::Reverse(user.bytes()), user.pid));
        users
    }

    /// Returns the positions of shown disks: named ones and active ones, or else the first one.
    pub fn shown(&self) -> Vec<usize> {
        let is_shown = |i: &usize| self.disks[*i].named || self.whole.disks[*i].was_active();
        let shown: Vec<usize> = (0..self.disks.len()).filter(is_shown).collect();
        if shown.is_empty() { (0..self.disks.len().min(1)).collect() } else { shown }
    }

    /// Returns the positions of disks in the final summary: active ones, or else the shown ones.
    pub fn active(&self) -> Vec<usize> {
        let shown = self.shown();
        let active = shown.iter().copied().filter(|index| self.whole.disks[*index].was_active());
        let active: Vec<usize> = active.collect();
        if active.is_empty() { shown } else { active }
    }

    pub fn disk(&self, index: usize) -> &DiskSpan {
        &self.whole.disks[index]
    }
}

fn add_user(users: &mut BTreeMap<(u32, String), User>, user: &User) {
    let key = (user.pid, user.name.clone());
    if let Some(known) = users.get_mut(&key) {
        known.read_bytes = known.read_bytes.saturating_add(user.read_bytes);
        known.written_bytes = known.written_bytes.saturating_add(user.written_bytes);
        // Remembers the disks of files that are closed by now.
        if !user.on.is_empty() {
            known.on.clone_from(&user.on);
        }
    } else {
        users.insert(key, user.clone());
    }
    if users.len() > MOST_USERS
        && let Some((key, _)) = users.iter().min_by_key(|(_, user)| user.bytes())
    {
        let least_busy = key.clone();
        users.remove(&least_busy);
    }
}
