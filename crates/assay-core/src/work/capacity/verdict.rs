//! What a look says: a pure function of what was found.

use assay_load::{BLOCK_BYTES, CapacityOutcome, Seen, SeenCounts};
use serde::{Deserialize, Serialize};

use super::{Detail, Limit};

/// What is said of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds what it says, as far as was looked.
    Holds,
    /// It begins anew: addresses give what was written elsewhere.
    Wraps,
    /// It takes writes and forgets them.
    Drops,
    /// It takes writes and reads zeros.
    Zeroes,
    /// It refuses to write or to read.
    Refuses,
    /// Bits came back turned: it is worn or faulty, and does not lie about its size.
    Damaged,
    /// Blocks were wrong once and right when they were tried again.
    Unsteady,
}

impl Verdict {
    /// Whether it holds less than it says.
    pub const fn is_short(self) -> bool {
        matches!(self, Self::Wraps | Self::Drops | Self::Zeroes | Self::Refuses)
    }

    /// What stands in a table.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds what it says",
            Self::Wraps => "wraps",
            Self::Drops => "loses writes",
            Self::Zeroes => "returns zeros",
            Self::Refuses => "refuses",
            Self::Damaged => "turns bits",
            Self::Unsteady => "unsteady",
        }
    }
}

/// What is told of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// What is said of it.
    pub verdict: Verdict,
    /// What it holds, where that is known.
    pub held_bytes: Option<u64>,
    /// Whether that is a share of what was looked at, and no border that was found.
    pub is_share: bool,
    /// A block that shows it.
    pub example: Option<assay_load::WrongBlock>,
    /// What it would have missed, where nothing was found.
    pub limit: Limit,
}

/// What a look says.
pub fn told(detail: &Detail) -> Told {
    let outcome = &detail.outcome;
    let verdict = verdict(outcome);
    let held = held(outcome, verdict, detail.in_free_space);
    Told {
        verdict,
        held_bytes: held.map(|(bytes, _)| bytes),
        is_share: held.is_some_and(|(_, is_share)| is_share),
        example: example(outcome, verdict),
        limit: Limit::of(outcome, detail.in_free_space),
    }
}

/// Nothing counts that was not wrong twice.
fn verdict(outcome: &CapacityOutcome) -> Verdict {
    let SeenCounts { other, zero, foreign, flipped, failed, .. } = outcome.again;
    if outcome.first.wrong() == 0 {
        return Verdict::Holds;
    }
    if outcome.again.wrong() == 0 {
        return Verdict::Unsteady;
    }
    // A wrap shows itself only where something else was written meanwhile: one is enough.
    if other > 0 {
        return Verdict::Wraps;
    }
    let most = [
        (flipped, Verdict::Damaged),
        (failed, Verdict::Refuses),
        (zero, Verdict::Zeroes),
        (foreign, Verdict::Drops),
    ];
    most.into_iter().max_by_key(|(count, _)| *count).map_or(Verdict::Unsteady, |(_, own)| own)
}

/// What is held, and whether that is only a share.
fn held(outcome: &CapacityOutcome, verdict: Verdict, in_free_space: bool) -> Option<(u64, bool)> {
    let claimed = outcome.claimed_bytes;
    if !verdict.is_short() {
        return Some((claimed, false));
    }
    if verdict == Verdict::Wraps && !in_free_space && outcome.wraps_after_bytes.is_some() {
        return outcome.wraps_after_bytes.map(|bytes| (bytes.min(claimed), false));
    }
    if let Some(held) = outcome.held_bytes {
        return Some((held, false));
    }
    // A wrap is seen of a few blocks alone, so that their share tells nothing.
    if verdict == Verdict::Wraps {
        return None;
    }
    let share = outcome.first.as_written as f64 / outcome.first.all().max(1) as f64;
    let bytes = (share * claimed as f64) as u64 / BLOCK_BYTES * BLOCK_BYTES;
    Some((bytes, true))
}

/// The first block that shows what is said.
fn example(outcome: &CapacityOutcome, verdict: Verdict) -> Option<assay_load::WrongBlock> {
    let shows = |seen: Seen| match verdict {
        Verdict::Wraps => matches!(seen, Seen::Other { .. }),
        Verdict::Zeroes => seen == Seen::Zero,
        Verdict::Drops => seen == Seen::Foreign,
        Verdict::Refuses => seen == Seen::Failed,
        Verdict::Damaged => matches!(seen, Seen::Flipped { .. }),
        Verdict::Holds | Verdict::Unsteady => false,
    };
    outcome.wrong.iter().find(|own| shows(own.seen)).copied()
}

#[cfg(test)]
mod tests {
    use assay_load::{CapacityShape, WrongBlock};

    use super::*;

    fn outcome(first: SeenCounts, again: SeenCounts) -> CapacityOutcome {
        CapacityOutcome {
            claimed_bytes: 64 << 30,
            shape: CapacityShape::of(64 << 30, false),
            zone_bytes: 128 << 20,
            samples: 2048,
            first,
            widest_gap_bytes: 60 << 20,
            between_bytes: 64 << 20,
            again,
            wrong: Vec::new(),
            wraps_after_bytes: None,
            held_bytes: None,
            written: (1 << 28, 100),
            read: (1 << 28, 100),
            zone_write_ns: 1,
            elapsed_ns: 1,
            again_ns: 0,
            cut_short: false,
            note: None,
            refused: None,
            stopped: false,
        }
    }

    fn detail(outcome: CapacityOutcome) -> Detail {
        Detail { outcome, in_free_space: false }
    }

    fn counts(as_written: u64, rest: SeenCounts) -> SeenCounts {
        SeenCounts { as_written, ..rest }
    }

    const NONE: SeenCounts =
        SeenCounts { as_written: 0, other: 0, zero: 0, foreign: 0, flipped: 0, failed: 0 };

    #[test]
    fn nothing_is_said_of_what_was_wrong_once() {
        let first = counts(2000, SeenCounts { zero: 3, ..NONE });
        let found = told(&detail(outcome(first, counts(3, NONE))));
        assert_eq!((found.verdict, found.held_bytes), (Verdict::Unsteady, Some(64 << 30)));
        assert!(!found.verdict.is_short());
    }

    #[test]
    fn turned_bits_are_damage_and_no_lie() {
        let wrong = SeenCounts { flipped: 5, ..NONE };
        let found = told(&detail(outcome(counts(2000, wrong), wrong)));
        assert_eq!((found.verdict, found.held_bytes), (Verdict::Damaged, Some(64 << 30)));
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
        let found = told(&detail(outcome.clone()));
        assert_eq!((found.verdict, found.held_bytes), (Verdict::Wraps, Some(8 << 30)));
        assert_eq!(found.example, Some(wrong));
        // In a file, distances are those of the file and say nothing of the card.
        let found = told(&Detail { in_free_space: true, ..detail(outcome) });
        assert_eq!((found.verdict, found.held_bytes), (Verdict::Wraps, None));
    }

    #[test]
    fn blocks_that_are_lost_here_and_there_are_a_share() {
        let first = counts(1500, SeenCounts { foreign: 500, ..NONE });
        let again = SeenCounts { foreign: 32, ..NONE };
        let found = told(&detail(outcome(first, again)));
        assert_eq!((found.verdict, found.held_bytes), (Verdict::Drops, Some(48 << 30)));
        assert!(found.is_share);
    }

    #[test]
    fn the_limit_is_that_of_the_sample() {
        let limit = told(&detail(outcome(counts(2995, NONE), NONE))).limit;
        // 1 - 0.05^(1/2995) is a thousandth, all but a little (the rule of three).
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
        ];
        let wrong = seen.map(|seen| WrongBlock { at_bytes: 7, seen });
        for (again, verdict, is_short, shown) in [
            (NONE, Verdict::Unsteady, false, None),
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
        ] {
            let first = counts(1500, SeenCounts { zero: 500, ..NONE });
            let outcome = CapacityOutcome { wrong: wrong.to_vec(), ..outcome(first, again) };
            let found = told(&detail(outcome.clone()));
            assert_eq!((found.verdict, verdict.is_short()), (verdict, is_short));
            assert_eq!(found.example, shown.map(|at| wrong[at]), "{verdict:?}");
            let share = is_short && verdict != Verdict::Wraps;
            let held =
                (verdict != Verdict::Wraps).then_some(if share { 48 << 30 } else { 64 << 30 });
            assert_eq!((found.held_bytes, found.is_share), (held, share), "{verdict:?}");
            // A border that was found is no share.
            let border = CapacityOutcome { held_bytes: Some(5 << 30), ..outcome };
            let found = told(&detail(border));
            let held = if is_short { 5 << 30 } else { 64 << 30 };
            assert_eq!((found.held_bytes, found.is_share), (Some(held), false), "{verdict:?}");
        }
        // Whatever was tried again, what was right at first holds.
        let found = told(&detail(outcome(counts(2000, NONE), SeenCounts { zero: 9, ..NONE })));
        assert_eq!(found.verdict, Verdict::Holds);
        assert_eq!((found.held_bytes, found.example), (Some(64 << 30), None));
        // A wrap is no larger than what is claimed.
        let first = counts(1, SeenCounts { other: 1, ..NONE });
        let far = CapacityOutcome { wraps_after_bytes: Some(99 << 30), ..outcome(first, first) };
        assert_eq!(told(&detail(far)).held_bytes, Some(64 << 30));
    }

    #[test]
    fn what_would_have_been_missed_depends_on_how_it_was_looked() {
        let limit = |change: &dyn Fn(&mut CapacityOutcome), in_free_space| {
            let mut outcome = outcome(counts(2048, NONE), NONE);
            change(&mut outcome);
            Limit::of(&outcome, in_free_space)
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
}
