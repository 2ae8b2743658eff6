//! When a write counts as done.

use std::fmt;
use std::str::FromStr;

use crate::Job;
use crate::latency::touched_histogram;
use hdrhistogram::Histogram;
use rustix::io::ReadWriteFlags;
use serde::{Deserialize, Serialize};

const MOST_WRITES: u32 = 1_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum WriteSync {
    #[default]
    None,
    /// The completion of an `fdatasync` that follows each write; latency covers both.
    EachWrite,
    /// Every n-th write of a thread; the others complete without a sync.
    EachNth(u32),
    /// Like the two above, with `fsync`: also writes metadata that reads do not need. 1 means each write.
    Fsync(u32),
    /// The write's own, as of a file that was opened with `O_DSYNC`: with its data on the medium.
    DataSynced,
    /// The same with `O_SYNC`: with all metadata, too.
    Synced,
}

impl WriteSync {
    /// Number of writes per sync of a thread; `None` without syncs.
    pub const fn every(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::EachWrite | Self::DataSynced | Self::Synced => Some(1),
            Self::EachNth(every) | Self::Fsync(every) => Some(every),
        }
    }

    /// Every which write of a thread is followed by a call that syncs it.
    pub(crate) const fn call_every(self) -> Option<u32> {
        match self {
            Self::DataSynced | Self::Synced => None,
            other => other.every(),
        }
    }

    pub(crate) const fn flags(self) -> ReadWriteFlags {
        match self {
            Self::DataSynced => ReadWriteFlags::DSYNC,
            Self::Synced => ReadWriteFlags::SYNC,
            _ => ReadWriteFlags::empty(),
        }
    }
}

impl fmt::Display for WriteSync {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("none"),
            Self::EachWrite => formatter.write_str("fdatasync"),
            Self::EachNth(every) => write!(formatter, "fdatasync:{every}"),
            Self::Fsync(1) => formatter.write_str("fsync"),
            Self::Fsync(every) => write!(formatter, "fsync:{every}"),
            Self::DataSynced => formatter.write_str("o_dsync"),
            Self::Synced => formatter.write_str("o_sync"),
        }
    }
}

impl FromStr for WriteSync {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (call, every) = text.split_once(':').unwrap_or((text, "1"));
        let Ok(every @ 1..=MOST_WRITES) = every.parse::<u32>() else {
            return Err(format!("`{text}`: the number of writes must be 1 to {MOST_WRITES}"));
        };
        match (call, every) {
            ("none", 1) => Ok(Self::None),
            ("o_dsync", 1) => Ok(Self::DataSynced),
            ("o_sync", 1) => Ok(Self::Synced),
            ("fdatasync", 1) => Ok(Self::EachWrite),
            ("fdatasync", every) => Ok(Self::EachNth(every)),
            ("fsync", every) => Ok(Self::Fsync(every)),
            _ => Err(format!(
                "unknown sync `{text}`; use none, fdatasync, fsync, o_dsync or o_sync, or a suffix for one call per N \
                 writes of a thread, such as fdatasync:8"
            )),
        }
    }
}

as_text!(WriteSync);

pub(crate) struct Syncs {
    /// 0 without syncs.
    every: u32,
    /// Writes until the next synced one, including it.
    left: u32,
}

impl Syncs {
    pub(crate) fn new(job: &Job) -> Self {
        let every = job.sync.call_every().unwrap_or(0);
        Self { every, left: every }
    }

    /// Returns whether the next write is synced.
    #[inline]
    pub(crate) fn next(&mut self) -> bool {
        if self.every == 0 {
            return false;
        }
        self.left -= 1;
        let is_synced = self.left == 0;
        if is_synced {
            self.left = self.every;
        }
        is_synced
    }
}

/// How long the syncs behind the writes of one thread took, each by itself.
pub(crate) struct SyncTimes {
    counted: Histogram<u64>,
    /// Ramp and drain: reported if the window has no sync.
    rest: Histogram<u64>,
}

impl SyncTimes {
    /// For jobs with an `fdatasync` after writes; replays have no separate times.
    pub(crate) fn new(job: &Job) -> Option<Self> {
        let has_calls = matches!(job.sync, WriteSync::EachWrite | WriteSync::EachNth(_));
        has_calls.then(|| Self { counted: touched_histogram(true), rest: touched_histogram(true) })
    }

    #[inline]
    pub(crate) fn note(&mut self, sync_ns: u64, is_counting: bool) {
        let to = if is_counting { &mut self.counted } else { &mut self.rest };
        to.saturating_record(sync_ns);
    }

    /// All syncs; `None` if the engine timed none.
    pub(crate) fn finish(self) -> Option<Histogram<u64>> {
        let latencies = if self.counted.is_empty() { self.rest } else { self.counted };
        (!latencies.is_empty()).then_some(latencies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::job;

    #[test]
    fn syncs_of_the_window_count_and_those_around_it_only_where_it_caught_none() {
        let each = Job { sync: WriteSync::EachWrite, ..job() };
        let told = |notes: &[(u64, bool)]| {
            let mut times = SyncTimes::new(&each).unwrap();
            for (sync_ns, is_counting) in notes {
                times.note(*sync_ns, *is_counting);
            }
            times.finish().map(|own| (own.len(), own.max()))
        };
        assert_eq!(told(&[(50, false), (10, true), (12, true), (60, false)]), Some((2, 12)));
        assert_eq!(told(&[(50, false)]), Some((1, 50)));
        assert_eq!(told(&[]), None);
        assert!(SyncTimes::new(&job()).is_none(), "nothing is synced");
    }

    #[test]
    fn a_sync_is_written_as_it_is_read() {
        for (text, every) in [
            ("none", None),
            ("fdatasync", Some(1)),
            ("fdatasync:2", Some(2)),
            ("fdatasync:1000000", Some(1_000_000)),
            ("fsync", Some(1)),
            ("fsync:8", Some(8)),
            ("o_dsync", Some(1)),
            ("o_sync", Some(1)),
        ] {
            let sync: WriteSync = text.parse().unwrap();
            assert_eq!((String::from(sync), sync.every()), (text.to_owned(), every));
        }
        for (text, told) in [
            ("fdatasync:0", "1 to 1000000"),
            ("fdatasync:1000001", "1 to 1000000"),
            ("each-8-writes", "fdatasync:8"),
            ("", "fdatasync:8"),
            ("o_sync:2", "o_dsync or o_sync"),
            ("fsync:1000001", "1 to 1000000"),
            ("syncfs", "o_dsync or o_sync"),
        ] {
            let error = text.parse::<WriteSync>().unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn every_nth_write_is_synced_and_no_other() {
        let of = |sync| {
            let mut syncs = Syncs::new(&Job { sync, ..job() });
            (1..=9).filter(|_| syncs.next()).collect::<Vec<u32>>()
        };
        assert_eq!(of(WriteSync::EachNth(3)), [3, 6, 9]);
        assert!(of(WriteSync::EachNth(10)).is_empty());
        assert_eq!(of(WriteSync::EachWrite).len(), 9);
        assert!(of(WriteSync::None).is_empty());
        assert_eq!(of(WriteSync::Fsync(3)), [3, 6, 9]);
        assert!(of(WriteSync::DataSynced).is_empty(), "the writes themselves are");
        let timed = |sync| SyncTimes::new(&Job { sync, ..job() }).is_some();
        assert!(timed(WriteSync::EachNth(3)));
        // An fsync is not an fdatasync, and a write flag causes no separate call.
        for sync in [WriteSync::Fsync(1), WriteSync::DataSynced, WriteSync::Synced] {
            assert!(!timed(sync), "{sync}");
        }
    }
}
