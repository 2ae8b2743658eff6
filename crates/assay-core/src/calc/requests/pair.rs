//! Requests of one kind as they were recorded and as they were played, as far as they are drawn.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{OverTime, floor_power, read_by_power};

/// Requests of one kind on one side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceSide {
    /// How many started over the time.
    pub starts: OverTime,
    /// Number of requests by size, rounded down to a power of two.
    #[serde(deserialize_with = "read_by_power")]
    pub sizes: BTreeMap<u64, u64>,
    /// Distances from the end of the previous request to the start of this one, in powers of two; 0 for adjacent ones.
    #[serde(deserialize_with = "read_by_power")]
    pub distances: BTreeMap<u64, u64>,
}

/// Both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracePair {
    pub recorded: TraceSide,
    pub replayed: TraceSide,
    /// For open loops: delays of starts in nanoseconds, the maximum per step of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delays_ns: Option<OverTime>,
}

#[derive(Clone, Debug, Default)]
pub struct GatheredSides {
    kinds: BTreeMap<&'static str, Gathered>,
}

#[derive(Clone, Debug, Default)]
struct Gathered {
    side: TraceSide,
    /// End of the latest request, bytes.
    end: Option<u64>,
    delays: Option<OverTime>,
}

impl GatheredSides {
    /// Adds a request that starts at a moment; `place` is its offset and size in bytes.
    pub fn add(&mut self, kind: &'static str, at_ns: u64, place: Option<(u64, u64)>) {
        let gathered = self.kinds.entry(kind).or_default();
        gathered.side.starts.add(at_ns, 1);
        let Some((offset, bytes)) = place else { return };
        *gathered.side.sizes.entry(floor_power(bytes)).or_default() += 1;
        if let Some(end) = gathered.end {
            *gathered.side.distances.entry(floor_power(end.abs_diff(offset))).or_default() += 1;
        }
        gathered.end = Some(offset.saturating_add(bytes));
    }

    /// Records the delay of a request with this intended start.
    pub fn behind(&mut self, kind: &'static str, at_ns: u64, behind_ns: u64) {
        let gathered = self.kinds.entry(kind).or_default();
        gathered.delays.get_or_insert_default().keep_most(at_ns, behind_ns);
    }

    /// Pairs these recorded requests with the replayed ones, by kind; drops replayed kinds that were not recorded.
    pub fn beside(self, mut replay: Self) -> BTreeMap<String, TracePair> {
        let mut pairs = BTreeMap::new();
        for (kind, Gathered { side: recorded, .. }) in self.kinds {
            let Gathered { side: replayed, delays, .. } =
                replay.kinds.remove(kind).unwrap_or_default();
            pairs.insert(kind.to_owned(), TracePair { recorded, replayed, delays_ns: delays });
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_side_has_starts_sizes_and_distances_of_each_kind() {
        let mut recorded = GatheredSides::default();
        for at in 0..10 {
            recorded.add("read", at * MS, Some((at * 8192, 4096)));
        }
        recorded.add("flush", 0, None);
        let mut played = GatheredSides::default();
        played.add("read", MS, Some((0, 5000)));
        played.behind("read", 0, MS);
        let found = recorded.beside(played);
        let read = &found["read"];
        assert_eq!((read.recorded.starts.sum(), read.replayed.starts.sum()), (10, 1));
        assert_eq!(read.recorded.sizes, BTreeMap::from([(4096, 10)]));
        assert_eq!(read.recorded.distances, BTreeMap::from([(4096, 9)]));
        assert_eq!(read.delays_ns.as_ref().map(|own| own.amounts.clone()), Some(vec![MS]));
        let flush = &found["flush"];
        assert!(flush.recorded.sizes.is_empty() && flush.delays_ns.is_none());
        assert_eq!(flush.replayed, TraceSide::default());
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<BTreeMap<String, TracePair>>(&text).unwrap(), found);
    }
}
