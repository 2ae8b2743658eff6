//! Order of arms (statistics.md R2): chained randomised replicates, and the declared alternatives.
//!
//! Each replicate starts with the arm that ended the one before, so that an arm that leaves the
//! device slower for its successor does not bias the comparison; among many such orders the one
//! is taken in which every arm follows every other most evenly.

use super::draws::Draws;
use crate::study::Order;

/// Orders that are drawn before the most even one is taken.
const CANDIDATES: usize = 200;

/// Replicate (from 1) and item of each trial, for groups of items that share a costly change: the
/// groups are visited in the order that was asked for, once a replicate, and the items run inside
/// them in an order drawn anew. In one group the items themselves are what is ordered.
pub fn sequence(
    order: Order,
    groups: &[Vec<usize>],
    replicates: usize,
    draws: &mut Draws,
) -> Vec<(u32, usize)> {
    let rows = match (order, groups) {
        (Order::Crd, _) => return complete(&groups.concat(), replicates, draws),
        (Order::Sequential, _) => return lumps(groups, replicates),
        (_, [items]) => in_order(order, items.len(), replicates, draws)
            .into_iter()
            .map(|row| row.into_iter().map(|item| items[item]).collect())
            .collect(),
        (_, groups) => nested(order, groups, replicates, draws),
    };
    numbered(rows)
}

fn in_order(order: Order, arms: usize, replicates: usize, draws: &mut Draws) -> Vec<Vec<usize>> {
    match order {
        Order::Rcbd => (0..replicates).map(|_| permutation(arms, draws)).collect(),
        _ => chained(arms, replicates, draws),
    }
}

fn nested(
    order: Order,
    groups: &[Vec<usize>],
    replicates: usize,
    draws: &mut Draws,
) -> Vec<Vec<usize>> {
    in_order(order, groups.len(), replicates, draws)
        .into_iter()
        .map(|row| row.into_iter().flat_map(|group| shuffled(&groups[group], draws)).collect())
        .collect()
}

fn shuffled(items: &[usize], draws: &mut Draws) -> Vec<usize> {
    let mut items = items.to_vec();
    draws.shuffle(&mut items);
    items
}

fn numbered(rows: Vec<Vec<usize>>) -> Vec<(u32, usize)> {
    let number = |(row, replicate): (Vec<usize>, u32)| {
        row.into_iter().map(move |item| (replicate, item)).collect::<Vec<_>>()
    };
    rows.into_iter().zip(1..).flat_map(number).collect()
}

/// All trials in one random order; the n-th trial of an item belongs to replicate n.
fn complete(items: &[usize], replicates: usize, draws: &mut Draws) -> Vec<(u32, usize)> {
    let mut all: Vec<usize> = (0..replicates).flat_map(|_| items.iter().copied()).collect();
    draws.shuffle(&mut all);
    let mut seen = std::collections::BTreeMap::new();
    all.into_iter()
        .map(|item| {
            let replicate = seen.entry(item).or_insert(0);
            *replicate += 1;
            (*replicate, item)
        })
        .collect()
}

/// One item after the other, each with all its replicates.
fn lumps(groups: &[Vec<usize>], replicates: usize) -> Vec<(u32, usize)> {
    let replicates = replicates as u32;
    let all = |item: usize| (1..=replicates).map(move |replicate| (replicate, item));
    groups.iter().flatten().flat_map(|&item| all(item)).collect()
}

/// Order of `arms` arms in each of `replicates` replicates.
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

/// How unevenly arms follow each other: sum of squared deviations of the ordered-pair counts, self
/// pairs included, times the number of pairs squared to stay in whole numbers.
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

    fn drawn(order: Order, groups: &[Vec<usize>], replicates: usize) -> Vec<(u32, usize)> {
        sequence(order, groups, replicates, &mut Draws::new(42, "order"))
    }

    #[test]
    fn golden_sequences_for_seed_42() {
        let one = [vec![0, 1, 2]];
        let items = |order, groups: &[Vec<usize>]| -> Vec<usize> {
            drawn(order, groups, 2).into_iter().map(|(_, item)| item).collect()
        };
        let nested = [vec![0, 1, 2], vec![3, 4, 5]];
        let found = [
            items(Order::Chained, &one),
            items(Order::Rcbd, &one),
            items(Order::Crd, &one),
            items(Order::Sequential, &one),
            items(Order::Chained, &nested),
        ];
        assert_eq!(found.map(|items| format!("{items:?}")), GOLDEN_SEQUENCES);
    }

    const GOLDEN_SEQUENCES: [&str; 5] = [
        "[0, 2, 1, 1, 2, 0]",
        "[0, 2, 1, 1, 2, 0]",
        "[1, 0, 2, 0, 2, 1]",
        "[0, 0, 1, 1, 2, 2]",
        "[2, 1, 0, 3, 5, 4, 3, 5, 4, 0, 2, 1]",
    ];

    #[test]
    fn every_order_holds_every_item_once_a_replicate() {
        let groups = [vec![0, 1], vec![2], vec![3, 4, 5]];
        for order in [Order::Chained, Order::Rcbd, Order::Crd, Order::Sequential] {
            let mut trials = drawn(order, &groups, 5);
            assert_eq!(trials.len(), 30);
            trials.sort_unstable();
            trials.dedup();
            assert_eq!(trials.len(), 30, "{order:?}");
        }
    }

    #[test]
    fn a_costly_change_is_made_once_a_replicate_and_kept_over_the_chain() {
        let groups = [vec![0, 1], vec![2, 3], vec![4, 5]];
        let trials = drawn(Order::Chained, &groups, 6);
        let visited: Vec<usize> = trials.iter().map(|(_, item)| item / 2).collect();
        let mut changes = visited.clone();
        changes.dedup();
        // Three visits a replicate, the first of each but the first being the last one's group.
        assert_eq!(changes.len(), 3 * 6 - 5);
        for (row, next) in visited.chunks(6).zip(visited.chunks(6).skip(1)) {
            assert_eq!(row.last(), next.first());
        }
    }
}
