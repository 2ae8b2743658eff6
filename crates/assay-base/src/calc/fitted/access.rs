//! By which law blocks are met: each alike, by Zipf's law with the ranks scattered, or in zones.
//!
//! All three are held against the same: how often each block of the area was met. Under a law a block that is met at
//! the rate `r` is met `c` times with the probability of Poisson; for Zipf's law the rank of a block is drawn, as
//! `assay-load` scatters them, so that its probability is the mean over all ranks. The law with the highest likelihood
//! is taken, less half the logarithm of the requests for each number that it has (Schwarz 1978).

use std::fmt;

use super::places::{CELLS, Counts};
use super::shares::percents;

/// Ranks that are taken one by one; behind them as many together as make a step of the next.
const SINGLE_RANKS: u64 = 64;
const STEP: f64 = 1.05;
/// Exponents that are tried, in thousandths: all of them first, then those near the best one.
const COARSE: usize = 50;
const FINE: usize = 5;
const STEEPEST: u64 = 3_950;
/// Zones of an area at most, and blocks of one with zones at least.
const MOST_ZONES: usize = 6;
const FEWEST_BLOCKS: u64 = 4 * CELLS as u64;
/// A summand that is so much smaller than the largest one counts for nothing.
const NOTHING: f64 = 40.0;

/// How often random operations go to each block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// To each alike.
    Uniform,
    /// By Zipf's law with this exponent, thousandths.
    Zipf(u64),
    /// Percent of the area, and percent of the operations, one zone after the other.
    Zones(Vec<(u8, u8)>),
}

impl fmt::Display for Access {
    /// As a study file writes it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = |(area, operations): &(u8, u8)| format!("{area} % {operations} %");
        match self {
            Self::Uniform => out.write_str("uniform"),
            Self::Zipf(thousandths) => {
                let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
                write!(out, "zipf {}", text.trim_end_matches('0').trim_end_matches('.'))
            }
            Self::Zones(zones) => match zones.as_slice() {
                [first, _] => write!(out, "hot {}", zone(first)),
                all => {
                    let all: Vec<String> = all.iter().map(zone).collect();
                    write!(out, "zones {}", all.join(", "))
                }
            },
        }
    }
}

/// A law with what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The law.
    pub access: Access,
    /// Blocks that so many requests by it meet.
    pub places: f64,
    /// The largest difference of shares of requests below a place of the area.
    pub distance: f64,
}

/// A law, and the logarithm of its likelihood, less what its numbers cost.
type Tried = (Access, f64);

/// The law of blocks that were met.
pub(super) fn of(counts: &Counts) -> Fitted {
    let cost = (counts.requests as f64).ln() / 2.0;
    let uniform = (Access::Uniform, uniform(counts));
    let ranks = Ranks::of(counts.blocks);
    let zipf = zipf(counts, &ranks, cost);
    let tried = zones(counts, cost).into_iter().chain([zipf]);
    let (access, _) =
        tried.fold(uniform, |best, other| if other.1 > best.1 { other } else { best });
    let places = places(counts.requests, counts.blocks, &access);
    let distance = distance(counts, &access);
    Fitted { access, places, distance }
}

/// Without what depends on the counts alone, as all of them.
fn uniform(counts: &Counts) -> f64 {
    let (requests, blocks) = (counts.requests as f64, counts.blocks as f64);
    requests * (requests / blocks).ln() - requests
}

/// Ranks, in steps.
struct Ranks {
    steps: Vec<Step>,
    blocks: f64,
}

/// Some ranks that follow each other.
struct Step {
    many: f64,
    many_ln: f64,
    /// The logarithm of the middle one.
    rank_ln: f64,
}

/// How often a block is met, and its logarithm.
#[derive(Clone, Copy)]
struct Rate {
    value: f64,
    ln: f64,
}

impl Ranks {
    fn of(blocks: u64) -> Self {
        let step = |many: u64, rank_ln: f64| {
            let many = many as f64;
            Step { many, many_ln: many.ln(), rank_ln }
        };
        let single = (1..=blocks.min(SINGLE_RANKS)).map(|rank| step(1, (rank as f64).ln()));
        let mut steps: Vec<Step> = single.collect();
        let mut from = SINGLE_RANKS + 1;
        while from <= blocks {
            let to = ((from as f64 * STEP) as u64).clamp(from, blocks);
            let middle = f64::midpoint((from as f64).ln(), (to as f64).ln());
            steps.push(step(to - from + 1, middle));
            from = to + 1;
        }
        Self { steps, blocks: blocks as f64 }
    }

    /// By step how often a block is met, of so many requests and by this exponent.
    fn rates(&self, requests: u64, exponent: f64) -> Vec<Rate> {
        let weight = |step: &Step| step.many * (-exponent * step.rank_ln).exp();
        let first = (requests as f64).ln() - self.steps.iter().map(weight).sum::<f64>().ln();
        let rate = |step: &Step| {
            let ln = first - exponent * step.rank_ln;
            Rate { value: ln.exp(), ln }
        };
        self.steps.iter().map(rate).collect()
    }
}

/// The exponent of the highest likelihood.
fn zipf(counts: &Counts, ranks: &Ranks, cost: f64) -> Tried {
    let never = counts.blocks.saturating_sub(counts.places());
    let likelihood = |thousandths: u64| {
        let rates = ranks.rates(counts.requests, thousandths as f64 / 1000.0);
        let often = counts.met.iter().map(|(often, blocks)| (*often, *blocks));
        let each = often.chain([(0, never)]).filter(|(_, blocks)| *blocks > 0);
        each.map(|(often, blocks)| blocks as f64 * mixed(ranks, &rates, often as f64)).sum::<f64>()
    };
    let best = |all: &mut dyn Iterator<Item = u64>| {
        let tried = all.map(|thousandths| (thousandths, likelihood(thousandths)));
        tried.fold((1, f64::NEG_INFINITY), |best, own| if own.1 > best.1 { own } else { best })
    };
    let near = |middle: u64, width: u64| {
        middle.saturating_sub(width).max(1)..=middle.saturating_add(width).min(STEEPEST)
    };
    let (coarse, _) = best(&mut (COARSE as u64..=STEEPEST).step_by(COARSE));
    let (fine, _) = best(&mut near(coarse, COARSE as u64).step_by(FINE));
    let (exponent, likelihood) = best(&mut near(fine, FINE as u64));
    (Access::Zipf(exponent), likelihood - cost)
}

/// The logarithm of the probability that a block of any rank is met so often, without the factorial.
fn mixed(ranks: &Ranks, rates: &[Rate], often: f64) -> f64 {
    let each = || {
        let steps = ranks.steps.iter().zip(rates);
        steps.map(|(step, rate)| step.many_ln + often * rate.ln - rate.value)
    };
    let most = each().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = each().filter(|one| most - one < NOTHING).map(|one| (one - most).exp()).sum();
    most + sum.ln() - ranks.blocks.ln()
}

/// The best zones of each number of them, two at least.
fn zones(counts: &Counts, cost: f64) -> Vec<Tried> {
    if counts.blocks < FEWEST_BLOCKS {
        return Vec::new();
    }
    let mut below = vec![0_u64; CELLS + 1];
    for (at, requests) in counts.cells.iter().enumerate() {
        below[at + 1] = below[at] + requests;
    }
    // What the cells from one to before another one are worth as a zone; nothing where it cannot be said in percent.
    let worth = |from: usize, to: usize| {
        let own = below[to] - below[from];
        let blocks = (counts.before(to) - counts.before(from)) as f64;
        let is_said = own.saturating_mul(100) >= counts.requests;
        if is_said { own as f64 * (own as f64 / blocks).ln() } else { f64::NEG_INFINITY }
    };
    // By number of zones and end of the last one: the best worth, and where the last one begins.
    let mut best: Vec<Vec<(f64, usize)>> = vec![(0..=CELLS).map(|to| (worth(0, to), 0)).collect()];
    for _ in 1..MOST_ZONES {
        let Some(fewer) = best.last() else { break };
        let at = |to: usize| {
            let each = (1..to).map(|from| (fewer[from].0 + worth(from, to), from));
            each.fold((f64::NEG_INFINITY, 0), |best, own| if own.0 > best.0 { own } else { best })
        };
        let next = (0..=CELLS).map(at).collect();
        best.push(next);
    }
    let all = best.iter().enumerate().skip(1);
    all.filter_map(|(last, ends)| {
        let likelihood = ends[CELLS].0 - counts.requests as f64;
        if !likelihood.is_finite() {
            return None;
        }
        let mut borders = vec![CELLS];
        for step in best[1..=last].iter().rev() {
            borders.push(step[*borders.last()?].1);
        }
        borders.push(0);
        borders.reverse();
        let pairs = || borders.windows(2).map(|pair| (pair[0], pair[1]));
        let requests: Vec<u64> = pairs().map(|(from, to)| below[to] - below[from]).collect();
        let zones: Vec<(u8, u8)> =
            pairs().map(|(from, to)| (to - from) as u8).zip(percents(&requests)).collect();
        let is_whole = zones.iter().all(|(area, operations)| *area > 0 && *operations > 0);
        is_whole.then_some((Access::Zones(zones), likelihood - 2.0 * last as f64 * cost))
    })
    .collect()
}

/// Blocks that so many requests meet by a law, of so many that there are.
pub(super) fn places(requests: u64, blocks: u64, access: &Access) -> f64 {
    let met = |blocks: f64, rate: f64| -blocks * (-rate).exp_m1();
    let (all, there) = (requests as f64, blocks as f64);
    match access {
        Access::Uniform => met(there, all / there),
        Access::Zipf(thousandths) => {
            let ranks = Ranks::of(blocks);
            let rates = ranks.rates(requests, *thousandths as f64 / 1000.0);
            let steps = ranks.steps.iter().zip(&rates);
            steps.map(|(step, rate)| met(step.many, rate.value)).sum()
        }
        Access::Zones(zones) => zones
            .iter()
            .map(|(area, operations)| {
                let (own, share) = (there * f64::from(*area), f64::from(*operations));
                met(own / 100.0, all * share / own)
            })
            .sum(),
    }
}

/// The largest difference of the shares of requests below a place, as they are and by a law.
fn distance(counts: &Counts, access: &Access) -> f64 {
    let zones = match access {
        Access::Zones(zones) => zones.clone(),
        Access::Uniform | Access::Zipf(_) => vec![(CELLS as u8, 100)],
    };
    let each = zones.into_iter().flat_map(|(area, operations)| {
        let share = f64::from(operations) / 100.0 / f64::from(area);
        std::iter::repeat_n(share, usize::from(area))
    });
    let (mut law, mut seen, mut most) = (0.0_f64, 0.0, 0.0_f64);
    for (share, requests) in each.zip(counts.cells) {
        law += share;
        seen += requests as f64 / counts.requests.max(1) as f64;
        most = most.max((law - seen).abs());
    }
    most
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::draws::Draws;

    /// Requests drawn by Zipf's law, with the ranks scattered.
    fn drawn(blocks: u64, exponent: f64, requests: u64) -> Counts {
        let mut sum = 0.0;
        let weights = (1..=blocks).map(|rank| (rank as f64).powf(-exponent));
        let below: Vec<f64> = weights
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        let (mut draws, mut often) = (Draws::new(7, "zipf"), vec![0_u64; blocks as usize]);
        for _ in 0..requests {
            let share = (draws.bits() >> 11) as f64 / (1_u64 << 53) as f64;
            let rank = below.partition_point(|below| *below < share * sum);
            often[rank.min(below.len() - 1)] += 1;
        }
        let (mut met, mut cells) = (BTreeMap::new(), [0; CELLS]);
        for (rank, count) in often.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            *met.entry(count).or_default() += 1;
            cells[rank * 61 % CELLS] += count;
        }
        Counts { blocks, requests, met, cells }
    }

    #[test]
    fn a_law_is_written_as_a_study_writes_it() {
        let words = |access: Access| access.to_string();
        assert_eq!(words(Access::Uniform), "uniform");
        assert_eq!(words(Access::Zipf(1200)), "zipf 1.2");
        assert_eq!(words(Access::Zipf(2000)), "zipf 2");
        assert_eq!(words(Access::Zipf(7)), "zipf 0.007");
        assert_eq!(words(Access::Zones(vec![(20, 80), (80, 20)])), "hot 20 % 80 %");
        let three = Access::Zones(vec![(5, 50), (15, 30), (80, 20)]);
        assert_eq!(words(three), "zones 5 % 50 %, 15 % 30 %, 80 % 20 %");
    }

    #[test]
    #[ignore = "nightly: 2 s"]
    fn draws_by_zipf_give_their_exponent_back() {
        for (exponent, requests) in [(0.6, 20_000), (0.99, 20_000), (1.2, 20_000), (1.2, 1_000_000)]
        {
            let found = of(&drawn(16_384, exponent, requests));
            let Access::Zipf(told) = found.access else { panic!("{exponent}: {found:?}") };
            assert!((told as f64 / 1000.0 - exponent).abs() < 0.05, "{exponent}: {told}");
        }
    }

    #[test]
    fn zones_are_found_with_their_borders() {
        let mut cells = [25; CELLS];
        cells[..20].fill(400);
        // Of each cell's hundred blocks all are met alike.
        let met = BTreeMap::from([(1, 2_000), (4, 2_000)]);
        let counts = Counts { blocks: 10_000, requests: 10_000, met, cells };
        let found = of(&counts);
        assert_eq!(found.access, Access::Zones(vec![(20, 80), (80, 20)]));
        assert!(found.distance < 0.001, "{}", found.distance);
    }

    #[test]
    fn what_is_met_as_chance_has_it_is_uniform() {
        // Poisson of rate 1: how many of 10,000 blocks are met once, twice and so on.
        let met =
            BTreeMap::from([(1, 3679), (2, 1839), (3, 613), (4, 153), (5, 31), (6, 5), (7, 1)]);
        let requests = met.iter().map(|(often, blocks)| often * blocks).sum::<u64>();
        let counts = Counts { blocks: 10_000, requests, met, cells: [requests / 100; CELLS] };
        let found = of(&counts);
        assert_eq!(found.access, Access::Uniform);
        assert!((found.places - 6321.0).abs() < 10.0, "{}", found.places);
    }

    #[test]
    fn one_block_and_one_request_are_something() {
        let counts = |blocks, requests| {
            let mut cells = [0; CELLS];
            cells[0] = requests;
            Counts { blocks, requests, met: BTreeMap::from([(requests, 1)]), cells }
        };
        for (blocks, requests) in [(1, 1), (1, 1000), (1 << 50, 1), (1 << 50, 1_000_000)] {
            let found = of(&counts(blocks, requests));
            assert!(found.places.is_finite() && found.distance.is_finite(), "{found:?}");
        }
    }
}
