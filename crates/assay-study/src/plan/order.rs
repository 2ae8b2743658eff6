//! Order of arms (docs/explanation/method.md, R2, R2c): random replicates with warm-ups, and declared alternatives.
//!
//! Each replicate has a new random order and begins with a warm-up of its first arm. The carry-over from the previous
//! replicate then affects an uncounted trial, and periodic disturbances cannot align with the order.

use assay_core::draws::Draws;

use crate::file::{LeadIn, Order};

/// Number of random orders from which the most balanced chain is chosen.
const CANDIDATES: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub replicate: u32,
    pub item: usize,
    pub lead_in: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub order: Order,
    pub lead_in: LeadIn,
    /// Whether arms are compared; otherwise one warm-up is enough.
    pub compared: bool,
}

type Visit = Vec<usize>;

impl Rules {
    /// Number of warm-ups in a study with so many groups per replicate, as `turns` draws them.
    pub fn lead_ins(self, groups: usize, replicates: u64) -> u64 {
        match (self.lead_in, self.has_warmup_per_visit()) {
            (LeadIn::None, _) => 0,
            (_, true) => groups as u64 * replicates,
            (_, false) => 1,
        }
    }

    fn has_warmup_per_visit(self) -> bool {
        self.order == Order::Random && self.compared
    }
}

/// Orders the trials, for groups that share a costly change: the groups once per replicate in the chosen order, the
/// items of a group in a new random order. In a single group, the items are ordered.
pub fn turns(
    rules: Rules,
    groups: &[Vec<usize>],
    replicates: usize,
    draws: &mut Draws,
) -> Vec<Turn> {
    let turns = match (rules.order, groups) {
        (Order::Crd, _) => completely_random(&groups.concat(), replicates, draws),
        (Order::Sequential, _) => sequential(groups, replicates),
        (order, [items]) => {
            let rows = match (order, items.len()) {
                (Order::Random, 2) => balanced(replicates, draws),
                (order, count) => draw_rows(order, count, replicates, draws),
            };
            let only_visit =
                |row: Vec<usize>| vec![row.into_iter().map(|index| items[index]).collect()];
            row_turns(rules, rows.into_iter().map(only_visit))
        }
        (order, groups) => {
            let rows = draw_rows(order, groups.len(), replicates, draws);
            let mut visits = |row: Vec<usize>| -> Vec<Visit> {
                row.into_iter().map(|group| shuffled(&groups[group], draws)).collect()
            };
            let rows: Vec<Vec<Visit>> = rows.into_iter().map(&mut visits).collect();
            row_turns(rules, rows.into_iter())
        }
    };
    with_first_warmup(rules, turns)
}

/// Draws an order of the arms for each replicate.
fn draw_rows(order: Order, arms: usize, replicates: usize, draws: &mut Draws) -> Vec<Vec<usize>> {
    match order {
        Order::Chained => chained(arms, replicates, draws),
        _ => permutations(arms, replicates, draws),
    }
}

fn permutations(arms: usize, replicates: usize, draws: &mut Draws) -> Vec<Vec<usize>> {
    (0..replicates).map(|_| permutation(arms, draws)).collect()
}

/// Two arms, each first in a third to two thirds of the replicates (R2d), which allows a comparison of both orders.
/// Other draws are discarded whole, so all remaining orders are equally likely.
fn balanced(replicates: usize, draws: &mut Draws) -> Vec<Vec<usize>> {
    let wanted = replicates.div_ceil(3)..=2 * replicates / 3;
    loop {
        let rows = permutations(2, replicates, draws);
        let times_first = rows.iter().filter(|row| row[0] == 0).count();
        // A single replicate cannot be balanced.
        if wanted.is_empty() || wanted.contains(&times_first) {
            return rows;
        }
    }
}

fn shuffled(items: &[usize], draws: &mut Draws) -> Vec<usize> {
    let mut items = items.to_vec();
    draws.shuffle(&mut items);
    items
}

/// Makes a replicate of each row, with a warm-up before each visit if the rules want one.
fn row_turns(rules: Rules, rows: impl Iterator<Item = Vec<Visit>>) -> Vec<Turn> {
    let mut turns = Vec::new();
    for (visits, replicate) in rows.zip(1..) {
        for visit in visits {
            // The warm-up of a visit has the workload of its first trial.
            if let Some(first) = visit.first().filter(|_| rules.has_warmup_per_visit()) {
                turns.push(Turn { replicate, item: *first, lead_in: true });
            }
            turns.extend(visit.iter().map(|item| Turn { replicate, item: *item, lead_in: false }));
        }
    }
    turns
}

/// Adds a warm-up before the first trial if there is none; removes all if none is wanted.
fn with_first_warmup(rules: Rules, mut turns: Vec<Turn>) -> Vec<Turn> {
    if rules.lead_in == LeadIn::None {
        turns.retain(|turn| !turn.lead_in);
    } else if let Some(first) = turns.first().filter(|turn| !turn.lead_in).copied() {
        turns.insert(0, Turn { lead_in: true, ..first });
    }
    turns
}

/// All trials in one random order; the n-th trial of an item belongs to replicate n.
fn completely_random(items: &[usize], replicates: usize, draws: &mut Draws) -> Vec<Turn> {
    let mut all: Vec<usize> = (0..replicates).flat_map(|_| items.iter().copied()).collect();
    draws.shuffle(&mut all);
    let mut counts = std::collections::BTreeMap::new();
    let mut turns = Vec::new();
    for item in all {
        let replicate = counts.entry(item).or_insert(0);
        *replicate += 1;
        turns.push(Turn { replicate: *replicate, item, lead_in: false });
    }
    turns
}

/// All trials of an item, then those of the next.
fn sequential(groups: &[Vec<usize>], replicates: usize) -> Vec<Turn> {
    let mut turns = Vec::new();
    for &item in groups.iter().flatten() {
        let replicates = 1..=replicates as u32;
        turns.extend(replicates.map(|replicate| Turn { replicate, item, lead_in: false }));
    }
    turns
}

/// Returns the rows of the most balanced of many candidates.
pub fn chained(arms: usize, replicates: usize, draws: &mut Draws) -> Vec<Vec<usize>> {
    let mut best = candidate(arms, replicates, draws);
    let mut best_score = unevenness(&best, arms);
    for _ in 1..CANDIDATES {
        let next = candidate(arms, replicates, draws);
        let score = unevenness(&next, arms);
        if score < best_score {
            (best, best_score) = (next, score);
        }
    }
    best
}

fn permutation(items: usize, draws: &mut Draws) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items).collect();
    draws.shuffle(&mut order);
    order
}

/// Draws random rows, each beginning with the last arm of the previous one.
fn candidate(arms: usize, replicates: usize, draws: &mut Draws) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::with_capacity(replicates);
    for _ in 0..replicates {
        let mut row = permutation(arms, draws);
        if let Some(last) = rows.last().and_then(|row| row.last().copied()) {
            row.retain(|&arm| arm != last);
            row.insert(0, last);
        }
        rows.push(row);
    }
    rows
}

/// How unevenly arms follow each other: squared deviations of pair counts from their mean, scaled up to integers.
fn unevenness(rows: &[Vec<usize>], arms: usize) -> u64 {
    let sequence: Vec<usize> = rows.iter().flatten().copied().collect();
    let mut counts = vec![0_u64; arms * arms];
    for pair in sequence.windows(2) {
        counts[pair[0] * arms + pair[1]] += 1;
    }
    let cells = counts.len() as u64;
    let total: u64 = counts.iter().sum();
    counts.iter().map(|&count| (count * cells).abs_diff(total).pow(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_order_for_seed_42() {
        let rows = chained(3, 4, &mut Draws::new(42, "order"));
        assert_eq!(rows, GOLDEN);
    }

    const GOLDEN: [[usize; 3]; 4] = [[2, 0, 1], [1, 0, 2], [2, 1, 0], [0, 1, 2]];

    #[test]
    fn every_replicate_holds_every_arm_once_and_chains() {
        for (arms, replicates, seed) in [(1, 3, 0), (2, 6, 1), (7, 3, 2), (8, 5, 3)] {
            let rows = chained(arms, replicates, &mut Draws::new(seed, "order"));
            assert_eq!(rows.len(), replicates);
            for row in &rows {
                let mut sorted = row.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..arms).collect::<Vec<_>>());
            }
            assert!(rows.windows(2).all(|pair| pair[0].last() == pair[1].first()));
        }
    }

    #[test]
    fn two_arms_alternate_in_pairs() {
        let rows = chained(2, 4, &mut Draws::new(9, "order"));
        let first = rows[0][0];
        let expected: Vec<usize> = [0, 1, 1, 0, 0, 1, 1, 0].iter().map(|arm| arm ^ first).collect();
        assert_eq!(rows.concat(), expected);
    }

    fn rules(order: Order) -> Rules {
        Rules { order, lead_in: LeadIn::Half, compared: true }
    }

    fn drawn(order: Order, groups: &[Vec<usize>], replicates: usize) -> Vec<Turn> {
        turns(rules(order), groups, replicates, &mut Draws::new(42, "order"))
    }

    /// The items in order, lead-ins in brackets.
    fn text(turns: &[Turn]) -> String {
        let one = |turn: &Turn| {
            if turn.lead_in { format!("({})", turn.item) } else { turn.item.to_string() }
        };
        turns.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn golden_sequences_for_seed_42() {
        let one = [vec![0, 1, 2]];
        let nested = [vec![0, 1, 2], vec![3, 4, 5]];
        let found = [
            drawn(Order::Random, &one, 2),
            drawn(Order::Chained, &one, 2),
            drawn(Order::Rcbd, &one, 2),
            drawn(Order::Crd, &one, 2),
            drawn(Order::Sequential, &one, 2),
            drawn(Order::Random, &nested, 2),
            drawn(Order::Chained, &nested, 2),
        ];
        assert_eq!(found.map(|turns| text(&turns)), GOLDEN_SEQUENCES);
    }

    const GOLDEN_SEQUENCES: [&str; 7] = [
        "(0) 0 2 1 (1) 1 2 0",
        "(0) 0 2 1 1 2 0",
        "(0) 0 2 1 1 2 0",
        "(1) 1 0 2 0 2 1",
        "(0) 0 0 1 1 2 2",
        "(1) 1 2 0 (4) 4 5 3 (2) 2 0 1 (4) 4 5 3",
        "(2) 2 1 0 3 5 4 3 5 4 0 2 1",
    ];

    const ALL: [Order; 5] =
        [Order::Random, Order::Chained, Order::Rcbd, Order::Crd, Order::Sequential];

    #[test]
    fn every_order_holds_every_item_once_a_replicate() {
        let groups = [vec![0, 1], vec![2], vec![3, 4, 5]];
        for order in ALL {
            let mut trials: Vec<(u32, usize)> = drawn(order, &groups, 5)
                .into_iter()
                .filter(|turn| !turn.lead_in)
                .map(|turn| (turn.replicate, turn.item))
                .collect();
            assert_eq!(trials.len(), 30);
            trials.sort_unstable();
            trials.dedup();
            assert_eq!(trials.len(), 30, "{order:?}");
        }
    }

    #[test]
    fn a_lead_in_is_the_trial_after_it_and_there_are_as_many_as_is_said() {
        let groups = [vec![0, 1], vec![2], vec![3, 4, 5]];
        for order in ALL {
            for lead_in in [LeadIn::Half, LeadIn::Full, LeadIn::None] {
                for compared in [true, false] {
                    let rules = Rules { order, lead_in, compared };
                    let found = turns(rules, &groups, 5, &mut Draws::new(7, "order"));
                    for pair in found.windows(2).filter(|pair| pair[0].lead_in) {
                        assert_eq!(Turn { lead_in: false, ..pair[0] }, pair[1]);
                    }
                    let count = found.iter().filter(|turn| turn.lead_in).count() as u64;
                    assert_eq!(count, rules.lead_ins(groups.len(), 5), "{rules:?}");
                }
            }
        }
    }

    #[test]
    fn the_coin_is_tossed_anew_in_each_replicate() {
        // Chained, one toss decides the order of all replicates; here each replicate has its own.
        let firsts: Vec<usize> = drawn(Order::Random, &[vec![0, 1]], 64)
            .iter()
            .filter(|turn| turn.lead_in)
            .map(|turn| turn.item)
            .collect();
        assert_eq!(firsts.len(), 64);
        let ones = firsts.iter().sum::<usize>();
        assert!((20..=44).contains(&ones), "{ones} of 64");
        let same = firsts.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((20..=44).contains(&same), "{same} of 63");
    }

    #[test]
    fn of_two_arms_each_is_first_in_a_third_of_the_replicates() {
        let count = |replicates: usize, seed: u64| {
            let draws = &mut Draws::new(seed, "order");
            let turns = turns(rules(Order::Random), &[vec![0, 1]], replicates, draws);
            turns.iter().filter(|turn| turn.lead_in && turn.item == 0).count()
        };
        for replicates in 2..=12 {
            let counts: Vec<usize> = (0..200).map(|seed| count(replicates, seed)).collect();
            let least = *counts.iter().min().unwrap();
            let most = *counts.iter().max().unwrap();
            assert!(3 * least >= replicates && 3 * most <= 2 * replicates, "{replicates}");
            // Not more balanced than that: the order must be unpredictable.
            assert_eq!([least, most], [replicates.div_ceil(3), 2 * replicates / 3], "{replicates}");
        }
        assert!((0..20).map(|seed| count(1, seed)).any(|first| first == 0));
        assert!((0..20).map(|seed| count(1, seed)).any(|first| first == 1));
    }

    #[test]
    fn a_costly_change_is_made_once_a_replicate_and_kept_over_the_chain() {
        let groups = [vec![0, 1], vec![2, 3], vec![4, 5]];
        let trials = drawn(Order::Chained, &groups, 6);
        let visited: Vec<usize> = trials[1..].iter().map(|turn| turn.item / 2).collect();
        let mut changes = visited.clone();
        changes.dedup();
        // Three visits per replicate; except for the very first, the first one is in the group of the last one.
        assert_eq!(changes.len(), 3 * 6 - 5);
        for (row, next) in visited.chunks(6).zip(visited.chunks(6).skip(1)) {
            assert_eq!(row.last(), next.first());
        }
        // In random order each visit has a warm-up.
        let random = drawn(Order::Random, &groups, 6);
        for visit in random.chunks(3) {
            assert!(visit[0].lead_in && visit[1..].iter().all(|turn| !turn.lead_in));
            assert!(visit.iter().all(|turn| turn.item / 2 == visit[0].item / 2));
        }
    }
}
