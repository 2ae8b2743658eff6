//! Fits rounds into a short time: first shortens the cells, then drops cells, but never the tracking cell.

use super::SteadyStatePlan;
use assay_core::calc::pts::PtsPoint;

/// Rounds that must fit into the time: five are judged, and the first ones are rarely steady.
const ROUNDS: u64 = 7;
/// Shortest time of a cell while there are several.
const SHORTEST_NS: u64 = 1_000_000_000;
/// Minimum time of the only remaining cell.
const LEAST_NS: u64 = 10_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundSchedule {
    pub cells: Vec<PtsPoint>,
    pub cell_ns: u64,
}

impl RoundSchedule {
    /// As many cells as fit into a round, each for the planned time or an equal share of a shorter round.
    pub fn new(planned: &SteadyStatePlan, left_ns: u64) -> Self {
        let round_ns = left_ns / ROUNDS;
        let shortest_ns = SHORTEST_NS.min(planned.cell_ns).max(1);
        let count = ((round_ns / shortest_ns) as usize).clamp(1, planned.cells.len().max(1));
        let share_ns = round_ns / count as u64;
        let cell_ns = share_ns.clamp(LEAST_NS.min(planned.cell_ns), planned.cell_ns);
        Self { cells: choose_evenly(&planned.cells, count, planned.tracked()), cell_ns }
    }
}

/// The tracking cell and `count - 1` evenly spaced ones of the others, in the order of `all`.
fn choose_evenly(all: &[PtsPoint], count: usize, tracked: PtsPoint) -> Vec<PtsPoint> {
    if count >= all.len() {
        return all.to_vec();
    }
    let others: Vec<PtsPoint> = all.iter().copied().filter(|cell| *cell != tracked).collect();
    let wanted = count.saturating_sub(1);
    let mut chosen = vec![tracked];
    for index in 0..wanted {
        chosen.push(others[index * others.len() / wanted]);
    }
    all.iter().copied().filter(|cell| chosen.contains(cell)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Test;
    use super::super::tests::planned;
    use super::*;

    const MINUTE: u64 = 60_000_000_000;

    #[test]
    fn where_the_time_is_enough_all_is_as_it_was_asked_for() {
        let own = planned(Test::Iops);
        let found = RoundSchedule::new(&own, 7 * 56 * MINUTE);
        assert_eq!((&found.cells, found.cell_ns), (&own.cells, MINUTE));
        assert_eq!(RoundSchedule::new(&own, u64::MAX), found);
    }

    #[test]
    fn cells_are_shorter_first_and_then_fewer_and_the_tracked_one_stays() {
        let own = planned(Test::Iops);
        let hour = RoundSchedule::new(&own, 60 * MINUTE);
        assert_eq!((hour.cells.len(), hour.cell_ns), (56, 60 * MINUTE / (7 * 56)));
        let minute = RoundSchedule::new(&own, MINUTE);
        assert_eq!((minute.cells.len(), minute.cell_ns), (8, MINUTE / 56));
        let mixes: std::collections::BTreeSet<u8> =
            minute.cells.iter().map(|cell| cell.read_percent).collect();
        assert!(mixes.len() > 5, "they are spread over the mixes: {minute:?}");
        for left_ns in [0, 1, 1_000_000_000, 10_000_000_000, MINUTE, 60 * MINUTE] {
            let found = RoundSchedule::new(&own, left_ns);
            assert!(found.cells.contains(&own.tracked()), "{left_ns}");
            assert!(found.cell_ns >= LEAST_NS, "{left_ns}: {found:?}");
        }
        assert_eq!(RoundSchedule::new(&own, 0).cells, [own.tracked()]);
    }

    #[test]
    fn cells_that_were_to_be_short_are_not_longer() {
        let own = SteadyStatePlan { cell_ns: 5_000_000, ..planned(Test::WriteSaturation) };
        assert_eq!(RoundSchedule::new(&own, MINUTE).cell_ns, 5_000_000);
        assert_eq!(RoundSchedule::new(&own, 0).cell_ns, 5_000_000);
    }
}
