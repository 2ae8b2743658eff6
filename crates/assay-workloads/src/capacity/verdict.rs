//! Judges a capacity check: a pure function of its record.

use assay_core::stats::binomial_interval;
use assay_load::{BLOCK_BYTES, CapacityOutcome, Seen, SeenCounts};
use assay_machine::system::between::Between;
use serde::{Deserialize, Serialize};

use super::{CapacityDetail, DetectionLimit};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It has the claimed capacity, as far as checked.
    Genuine,
    /// Addresses wrap around: they return data written elsewhere.
    Wraps,
    /// It accepts writes and drops them.
    Drops,
    /// It accepts writes and returns zeros.
    Zeroes,
    /// It preserves the first write of a block and loses later ones.
    LosesRewrites,
    /// It rejects writes or reads.
    Refuses,
    /// Bits were flipped: it is worn or faulty.
    Damaged,
    /// Blocks were wrong once and correct on retry.
    Unstable,
    /// Nothing was wrong, but memory may have served the reads.
    Inconclusive,
}

impl Verdict {
    pub const fn is_short(self) -> bool {
        matches!(
            self,
            Self::Wraps | Self::Drops | Self::Zeroes | Self::LosesRewrites | Self::Refuses
        )
    }

    /// Severity of a verdict: of several checks, the worst counts.
    pub const fn gravity(self) -> u8 {
        match self {
            Self::Genuine => 0,
            Self::Inconclusive => 1,
            Self::Unstable => 2,
            Self::Damaged => 3,
            Self::Wraps | Self::Drops | Self::Zeroes | Self::LosesRewrites | Self::Refuses => 4,
        }
    }

    pub const fn words(self) -> &'static str {
        match self {
            Self::Genuine => "genuine",
            Self::Wraps => "wraps",
            Self::Drops => "loses writes",
            Self::Zeroes => "returns zeros",
            Self::LosesRewrites => "loses rewrites",
            Self::Refuses => "I/O errors",
            Self::Damaged => "flips bits",
            Self::Unstable => "unreliable",
            Self::Inconclusive => "inconclusive",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub verdict: Verdict,
    pub held_bytes: Option<u64>,
    /// Its 95% CI, if it comes from a sample.
    pub held_ci95_bytes: Option<[u64; 2]>,
    /// Why the result is inconclusive although nothing was wrong: what may have served the reads.
    pub why_inconclusive: Option<String>,
    /// Whether this is a share of the checked blocks, rather than a found boundary.
    pub is_share: bool,
    pub example: Option<assay_load::WrongBlock>,
    pub limit: DetectionLimit,
}

impl Finding {
    /// Returns the usable bytes, or why they are unknown.
    pub(super) fn usable(&self) -> Result<f64, String> {
        self.held_bytes.map(|bytes| bytes as f64).ok_or_else(|| match &self.why_inconclusive {
            Some(reason) => format!("memory may have served the reads: {reason}"),
            None => "the usable capacity was not measured; use --capacity=full".to_owned(),
        })
    }
}

/// Judges a check; `between` is what may have served its reads, `None` if an older version did not record it.
pub fn judge_check(detail: &CapacityDetail, between: Option<&Between>) -> Finding {
    let outcome = &detail.outcome;
    let mut verdict = judge_blocks(outcome);
    let mut why_inconclusive = None;
    // Memory can only hide wrong blocks: if Assay found some, it read the medium.
    if verdict == Verdict::Genuine {
        let unknown = "the Assay version that created this result did not record whether memory could serve the reads";
        why_inconclusive = between.map_or(Some(unknown), Between::reason).map(str::to_owned);
    }
    if why_inconclusive.is_some() {
        verdict = Verdict::Inconclusive;
    }
    let usable = usable_capacity(outcome, verdict, detail.in_free_space);
    let limit = DetectionLimit::from_outcome(outcome, detail.in_free_space);
    let is_share = usable.is_some_and(|(_, is_share)| is_share);
    Finding {
        verdict,
        held_ci95_bytes: match verdict {
            Verdict::Genuine => genuine_interval(outcome, &limit),
            _ if is_share => capacity_by_share(outcome, verdict).1,
            _ => None,
        },
        why_inconclusive,
        held_bytes: usable.map(|(bytes, _)| bytes),
        is_share,
        example: wrong_example(outcome, verdict),
        limit,
    }
}

/// The CI of a sample in which nothing was wrong; `None` for a full check.
fn genuine_interval(outcome: &CapacityOutcome, limit: &DetectionLimit) -> Option<[u64; 2]> {
    let claimed = outcome.claimed_bytes;
    let missed = limit.scattered_95_bytes;
    (missed > 0).then(|| [claimed.saturating_sub(missed), claimed])
}

/// The usable capacity from the share of correct blocks in the sample, with its interval.
fn capacity_by_share(outcome: &CapacityOutcome, verdict: Verdict) -> (u64, Option<[u64; 2]>) {
    let sampled = match outcome.sampled.all() {
        0 => &outcome.first,
        _ => &outcome.sampled,
    };
    let (correct, all) = match verdict {
        // Blocks written once are correct and do not count.
        Verdict::LosesRewrites if outcome.rewritten > 0 => {
            (outcome.rewritten.saturating_sub(outcome.first.older), outcome.rewritten)
        }
        _ => (sampled.as_written, sampled.all()),
    };
    let bytes =
        |share: f64| (share * outcome.claimed_bytes as f64) as u64 / BLOCK_BYTES * BLOCK_BYTES;
    let interval = binomial_interval(correct, all, 0.05).map(|ends| ends.map(bytes));
    (bytes(correct as f64 / all.max(1) as f64), interval)
}

/// Only blocks that were wrong twice count.
fn judge_blocks(outcome: &CapacityOutcome) -> Verdict {
    let SeenCounts { other, zero, foreign, older, flipped, failed, .. } = outcome.again;
    if outcome.first.wrong() == 0 {
        return Verdict::Genuine;
    }
    if outcome.again.wrong() == 0 {
        return Verdict::Unstable;
    }
    // Wrapping only shows if other data was written in between: one block is enough.
    if other > 0 {
        return Verdict::Wraps;
    }
    // The most frequent fault counts; of equally frequent ones, the last.
    let faults = [
        (flipped, Verdict::Damaged),
        (failed, Verdict::Refuses),
        (zero, Verdict::Zeroes),
        (foreign, Verdict::Drops),
        (older, Verdict::LosesRewrites),
    ];
    faults.into_iter().max_by_key(|(count, _)| *count).map_or(Verdict::Unstable, |(_, kind)| kind)
}

/// The usable bytes, and whether they are a share of the sample instead of a found boundary; `None` if unknown.
fn usable_capacity(
    outcome: &CapacityOutcome,
    verdict: Verdict,
    in_free_space: bool,
) -> Option<(u64, bool)> {
    let claimed = outcome.claimed_bytes;
    if verdict == Verdict::Genuine {
        return Some((claimed, false));
    }
    // Damaged or unstable targets, and inconclusive checks, do not show the size.
    if !verdict.is_short() {
        return None;
    }
    let correct_bytes = outcome.first.as_written.saturating_mul(BLOCK_BYTES);
    // In free space, the file system places the blocks, so wrapped offsets do not show the size.
    if verdict == Verdict::Wraps
        && !in_free_space
        && let Some(bytes) = outcome.wraps_after_bytes
    {
        // More correct blocks than one turn has: addresses do not wrap regularly, so the size is unknown.
        return (correct_bytes <= bytes).then_some((bytes.min(claimed), false));
    }
    // A failure from the first byte on is a defect during the test, or bad blocks: it is not a boundary.
    if verdict == Verdict::Refuses && outcome.held_bytes == Some(0) {
        return (correct_bytes > 0).then(|| (capacity_by_share(outcome, verdict).0, true));
    }
    if let Some(held) = outcome.held_bytes {
        return Some((held, false));
    }
    // Wrapping only shows in a few blocks, so their share is not useful.
    if verdict == Verdict::Wraps {
        return None;
    }
    Some((capacity_by_share(outcome, verdict).0, true))
}

/// A recorded block that shows the fault of the verdict, if there is one.
fn wrong_example(outcome: &CapacityOutcome, verdict: Verdict) -> Option<assay_load::WrongBlock> {
    let shows = |seen: Seen| match verdict {
        Verdict::Wraps => matches!(seen, Seen::Other { .. }),
        Verdict::Zeroes => seen == Seen::Zero,
        Verdict::Drops => seen == Seen::Foreign,
        Verdict::Refuses => seen == Seen::Failed,
        Verdict::LosesRewrites => seen == Seen::Older,
        Verdict::Damaged => matches!(seen, Seen::Flipped { .. }),
        Verdict::Genuine | Verdict::Unstable | Verdict::Inconclusive => false,
    };
    outcome.wrong.iter().find(|block| shows(block.seen)).copied()
}

#[cfg(test)]
mod tests {
    use assay_load::WrongBlock;

    use super::super::testing::{NONE, detail, outcome};
    use super::*;

    fn counts(as_written: u64, rest: SeenCounts) -> SeenCounts {
        SeenCounts { as_written, ..rest }
    }

    const CLEAR: Option<&Between> = Some(&Between::Nothing);

    #[test]
    fn nothing_is_said_of_what_was_wrong_once() {
        let first = counts(2000, SeenCounts { zero: 3, ..NONE });
        let found = judge_check(&detail(outcome(first, counts(3, NONE))), CLEAR);
        assert_eq!((found.verdict, found.held_bytes), (Verdict::Unstable, None));
        assert!(!found.verdict.is_short());
    }

    #[test]
    fn turned_bits_are_damage_and_no_lie() {
        let wrong = SeenCounts { flipped: 5, ..NONE };
        let found = judge_check(&detail(outcome(counts(2000, wrong), wrong)), CLEAR);
        assert_eq!((found.verdict, found.held_bytes), (Verdict::Damaged, None));
    }

    #[test]
    fn one_block_of_elsewhere_is_a_wrap() {
        let first = counts(2000, SeenCounts { other: 2, ..NONE });
        let again = counts(1, SeenCounts { other: 1, ..NONE });
        let (at_bytes, of_bytes) = (9 << 30, 1 << 30);
        let wrong = WrongBlock { at_bytes, seen: Seen::Other { at_bytes, of_bytes } };
        let outcome = CapacityOutcome {
            wraps_after_bytes: Some(8 << 30),
            wrong: vec![wrong],
            ..outcome(first, again)
        };
        let found = judge_check(&detail(outcome.clone()), CLEAR);
        assert_eq!((found.verdict, found.held_bytes), (Verdict::Wraps, Some(8 << 30)));
        assert_eq!(found.example, Some(wrong));
        // In a file, distances are those of the file, not of the card.
        let found = judge_check(&CapacityDetail { in_free_space: true, ..detail(outcome) }, CLEAR);
        assert_eq!((found.verdict, found.held_bytes), (Verdict::Wraps, None));
    }

    #[test]
    fn blocks_that_are_lost_here_and_there_are_a_share() {
        let first = counts(1500, SeenCounts { foreign: 500, ..NONE });
        let again = SeenCounts { foreign: 32, ..NONE };
        let found = judge_check(&detail(outcome(first, again)), CLEAR);
        assert_eq!((found.verdict, found.held_bytes), (Verdict::Drops, Some(48 << 30)));
        assert!(found.is_share);
    }

    #[test]
    fn the_limit_is_that_of_the_sample() {
        let limit = judge_check(&detail(outcome(counts(2995, NONE), NONE)), CLEAR).limit;
        // 1 - 0.05^(1/2995) is about 0.001 (the rule of three).
        let share = limit.scattered_95_bytes as f64 / (64_u64 << 30) as f64;
        assert!((share - 0.001).abs() < 1e-5, "{share}");
        let share = limit.scattered_999_bytes as f64 / (64_u64 << 30) as f64;
        assert!((share - 0.002_304).abs() < 1e-5, "{share}");
        assert!(limit.wraps && limit.stretch_bytes == (60 << 20) + 4096);
    }

    #[test]
    fn the_kind_that_most_blocks_show_is_the_verdict_with_its_own_example() {
        let seen = [
            Seen::AsWritten,
            Seen::Flipped { bits: 3 },
            Seen::Failed,
            Seen::Zero,
            Seen::Foreign,
            Seen::Other { at_bytes: 1, of_bytes: 2 },
            Seen::Older,
        ];
        let wrong = seen.map(|seen| WrongBlock { at_bytes: 7, seen });
        for (again, verdict, is_short, shown) in [
            (NONE, Verdict::Unstable, false, None),
            (SeenCounts { flipped: 2, failed: 1, ..NONE }, Verdict::Damaged, false, Some(1)),
            (
                SeenCounts { failed: 2, zero: 1, flipped: 1, ..NONE },
                Verdict::Refuses,
                true,
                Some(2),
            ),
            (SeenCounts { zero: 2, failed: 1, foreign: 1, ..NONE }, Verdict::Zeroes, true, Some(3)),
            (SeenCounts { foreign: 2, zero: 1, ..NONE }, Verdict::Drops, true, Some(4)),
            (SeenCounts { other: 1, foreign: 90, ..NONE }, Verdict::Wraps, true, Some(5)),
            (SeenCounts { older: 2, zero: 1, ..NONE }, Verdict::LosesRewrites, true, Some(6)),
        ] {
            let first = counts(1500, SeenCounts { zero: 500, ..NONE });
            let outcome = CapacityOutcome { wrong: wrong.to_vec(), ..outcome(first, again) };
            let found = judge_check(&detail(outcome.clone()), CLEAR);
            assert_eq!((found.verdict, verdict.is_short()), (verdict, is_short));
            assert_eq!(found.example, shown.map(|at| wrong[at]), "{verdict:?}");
            let share = is_short && verdict != Verdict::Wraps;
            let held = share.then_some(48 << 30);
            assert_eq!((found.held_bytes, found.is_share), (held, share), "{verdict:?}");
            // A found boundary is not a share.
            let border = CapacityOutcome { held_bytes: Some(5 << 30), ..outcome };
            let found = judge_check(&detail(border), CLEAR);
            let held = is_short.then_some(5 << 30);
            assert_eq!((found.held_bytes, found.is_share), (held, false), "{verdict:?}");
        }
        // Regardless of retries, initially correct blocks count.
        let again = SeenCounts { zero: 9, ..NONE };
        let found = judge_check(&detail(outcome(counts(2000, NONE), again)), CLEAR);
        assert_eq!(found.verdict, Verdict::Genuine);
        assert_eq!((found.held_bytes, found.example), (Some(64 << 30), None));
        // A wrap is not larger than the claimed capacity.
        let first = counts(1, SeenCounts { other: 1, ..NONE });
        let far = CapacityOutcome { wraps_after_bytes: Some(99 << 30), ..outcome(first, first) };
        assert_eq!(judge_check(&detail(far), CLEAR).held_bytes, Some(64 << 30));
    }

    #[test]
    fn what_would_have_been_missed_depends_on_how_it_was_looked() {
        let limit = |change: &dyn Fn(&mut CapacityOutcome), in_free_space| {
            let mut outcome = outcome(counts(2048, NONE), NONE);
            change(&mut outcome);
            DetectionLimit::from_outcome(&outcome, in_free_space)
        };
        let usual = limit(&|_| {}, false);
        assert_eq!(
            (usual.cache_bytes, usual.written_bytes, usual.wraps),
            (64 << 20, 1 << 28, true)
        );
        assert!(!limit(&|_| {}, true).wraps, "a file may lie anywhere");
        assert!(!limit(&|own| own.cut_short = true, false).wraps);
        assert!(!limit(&|own| own.widest_gap_bytes = own.zone_bytes + 1, false).wraps);
        assert!(limit(&|own| own.widest_gap_bytes = own.zone_bytes, false).wraps);
        let whole = |own: &mut CapacityOutcome| {
            own.shape.full = true;
            own.first.as_written = own.claimed_bytes / BLOCK_BYTES;
            own.cut_short = true;
        };
        let all = limit(&whole, true);
        assert_eq!((all.scattered_95_bytes, all.scattered_999_bytes), (0, 0));
        assert_eq!((all.stretch_bytes, all.wraps), (BLOCK_BYTES, true));
        let nearly = |own: &mut CapacityOutcome| {
            whole(own);
            own.first.as_written -= 1;
        };
        let most = limit(&nearly, true);
        assert!(most.scattered_95_bytes > 0 && !most.wraps && most.stretch_bytes > BLOCK_BYTES);
    }

    #[test]
    fn nothing_wrong_is_not_told_where_memory_may_have_answered() {
        let right = detail(outcome(counts(2048, NONE), NONE));
        let found = judge_check(&right, CLEAR);
        assert_eq!((found.verdict, found.why_inconclusive), (Verdict::Genuine, None));
        let [low, high] = found.held_ci95_bytes.unwrap();
        assert!(low < 64 << 30 && high == 64 << 30 && low + found.limit.scattered_95_bytes == high);
        let memory = Between::Memory("loop0 goes through it".to_owned());
        let unseen = Between::Unseen("a host serves it".to_owned());
        for between in [Some(&memory), Some(&unseen), None] {
            let found = judge_check(&right, between);
            assert_eq!((found.verdict, found.held_bytes), (Verdict::Inconclusive, None));
            assert!(found.why_inconclusive.is_some() && !found.verdict.is_short());
            // A block that was wrong twice is wrong, whatever served it.
            let wrong = SeenCounts { zero: 9, ..NONE };
            let lies = judge_check(&detail(outcome(counts(2000, wrong), wrong)), between);
            assert_eq!((lies.verdict, lies.why_inconclusive), (Verdict::Zeroes, None));
        }
    }

    #[test]
    fn a_share_has_its_interval_and_that_of_rewrites_is_of_what_was_written_twice() {
        let first = counts(1500, SeenCounts { foreign: 500, ..NONE });
        let again = SeenCounts { foreign: 32, ..NONE };
        let found = judge_check(&detail(outcome(first, again)), CLEAR);
        let [low, high] = found.held_ci95_bytes.unwrap();
        let held = found.held_bytes.unwrap();
        assert!(low < held && held < high && high - low < 4 << 30, "{found:?}");
        let first = counts(2400, SeenCounts { older: 100, ..NONE });
        let rewrites =
            CapacityOutcome { rewritten: 200, ..outcome(first, SeenCounts { older: 32, ..NONE }) };
        let found = judge_check(&detail(rewrites), CLEAR);
        assert_eq!((found.verdict, found.held_bytes), (Verdict::LosesRewrites, Some(32 << 30)));
        let [low, high] = found.held_ci95_bytes.unwrap();
        assert!(low < 32 << 30 && high > 32 << 30, "{found:?}");
    }

    #[test]
    fn the_bound_is_that_of_the_sample_beyond_the_zone() {
        let of = |sampled: u64, rewritten: u64| {
            let own = CapacityOutcome {
                sampled: counts(sampled, NONE),
                rewritten,
                ..outcome(counts(2560, NONE), NONE)
            };
            DetectionLimit::from_outcome(&own, false)
        };
        assert!(of(2048, 0).scattered_95_bytes > of(2560, 0).scattered_95_bytes);
        assert_eq!(of(2048, 0).rewrites_95_bytes, None);
        assert_eq!(of(2048, 2048).rewrites_95_bytes, Some(of(2048, 0).scattered_95_bytes));
        assert!(of(2048, 100).rewrites_95_bytes > Some(of(2048, 0).scattered_95_bytes));
    }
}
