//! A barrier: each rank arrives, reports a failure, or is lost. The caller measures the time.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Barrier {
    missing: BTreeSet<u32>,
    unable: BTreeMap<u32, String>,
    lost: BTreeMap<u32, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Met {
    All,
    /// At least one rank failed or was lost; the first by rank.
    Not {
        rank: u32,
        why: String,
        lost: bool,
    },
}

impl Barrier {
    pub fn new(ranks: impl IntoIterator<Item = u32>) -> Self {
        Self { missing: ranks.into_iter().collect(), ..Self::default() }
    }

    /// Records that a rank reached the barrier or, with the reason, failed before it; fails on a second report.
    pub fn arrive(&mut self, rank: u32, how: Result<(), String>) -> Result<(), &'static str> {
        if !self.missing.remove(&rank) {
            return Err("the host reported twice");
        }
        if let Err(why) = how {
            self.unable.insert(rank, why);
        }
        Ok(())
    }

    pub fn lose(&mut self, rank: u32, why: &str) {
        self.missing.remove(&rank);
        self.lost.entry(rank).or_insert_with(|| why.to_owned());
    }

    pub fn missing(&self) -> impl Iterator<Item = u32> + '_ {
        self.missing.iter().copied()
    }

    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// The outcome so far: lost ranks take precedence over failed ones.
    pub fn outcome(&self) -> Met {
        let (first, lost) = match self.lost.first_key_value() {
            Some(first) => (Some(first), true),
            None => (self.unable.first_key_value(), false),
        };
        first.map_or(Met::All, |(rank, why)| Met::Not { rank: *rank, why: why.clone(), lost })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_is_complete_when_all_have_come() {
        let mut own = Barrier::new(0..3);
        for rank in [2, 0] {
            assert_eq!(own.arrive(rank, Ok(())), Ok(()));
            assert!(!own.is_complete());
        }
        assert_eq!(own.missing().collect::<Vec<_>>(), [1]);
        assert_eq!(own.arrive(0, Ok(())), Err("the host reported twice"));
        assert_eq!(own.arrive(7, Ok(())), Err("the host reported twice"));
        assert_eq!(own.arrive(1, Ok(())), Ok(()));
        assert!(own.is_complete());
        assert_eq!(own.outcome(), Met::All);
    }

    #[test]
    fn who_cannot_and_who_is_lost_are_named() {
        let mut own = Barrier::new(0..4);
        own.arrive(1, Err("no such scheduler".to_owned())).unwrap();
        let not = |rank, why: &str, lost| Met::Not { rank, why: why.to_owned(), lost };
        assert_eq!(own.outcome(), not(1, "no such scheduler", false));
        own.lose(3, "no response within 12 s");
        own.lose(3, "said twice");
        assert_eq!(own.outcome(), not(3, "no response within 12 s", true));
        assert!(!own.is_complete());
        assert!(own.arrive(3, Ok(())).is_err(), "who was lost is not waited for");
    }

    proptest! {
        /// Ranks arrive, fail, or are lost in any order: the outcome does not depend on it, and is complete exactly
        /// with the last rank.
        #[test]
        fn the_order_of_arrivals_changes_nothing(
            ways in proptest::collection::vec(0_u8..3, 1..40),
            seed in any::<u64>(),
        ) {
            let mut order: Vec<u32> = (0..ways.len() as u32).collect();
            let go = |order: &[u32]| {
                let mut own = Barrier::new(0..ways.len() as u32);
                for (at, rank) in order.iter().enumerate() {
                    assert_eq!(own.missing().count(), order.len() - at);
                    match ways[*rank as usize] {
                        0 => own.arrive(*rank, Ok(())).unwrap(),
                        1 => own.arrive(*rank, Err(format!("not {rank}"))).unwrap(),
                        _ => own.lose(*rank, "gone"),
                    }
                }
                assert!(own.is_complete());
                own.outcome()
            };
            let first = go(&order);
            let mut bits = seed;
            for at in (1..order.len()).rev() {
                bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                order.swap(at, (bits >> 33) as usize % (at + 1));
            }
            prop_assert_eq!(&go(&order), &first);
            prop_assert_eq!(first == Met::All, ways.iter().all(|way| *way == 0));
        }
    }
}
