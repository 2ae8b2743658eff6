//! What a look at a capacity says, in sentences.

use assay_base::quantity::units::show;
use assay_load::{CapacityOutcome, Seen, WrongBlock};

use super::{Detail, Limit, Told, Verdict};

/// What to do where memory may have answered.
const WAY_ON: &str = "Test the drive on the computer it is plugged into, as a device, with direct I/O (this destroys \
                      its data).";

fn blocks(count: u64) -> String {
    if count == 1 { "1 block".to_owned() } else { format!("{} blocks", show::count(count)) }
}

/// A bound in percent, rounded up to two digits.
fn at_most(share: f64) -> String {
    let percent = (100.0 * share).max(1e-9);
    let unit = 10_f64.powi(percent.log10().floor() as i32 - 1);
    format!("{}%", show::three_digits((percent / unit).ceil() * unit))
}

fn size(bytes: u64) -> String {
    show::bytes(bytes)
}

/// What a device has, as it is sold and as it is counted: `64.0 GB (59.6 GiB)`.
fn sold(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB")];
    let own = units.into_iter().find(|(unit, _)| bytes as f64 >= *unit);
    own.map_or_else(
        || size(bytes),
        |(unit, name)| {
            format!("{} {name} ({})", show::three_digits(bytes as f64 / unit), size(bytes))
        },
    )
}

/// The answer, in a sentence.
pub(crate) fn answer(detail: &Detail, found: &Told) -> String {
    let outcome = &detail.outcome;
    let (claimed, first) = (sold(outcome.claimed_bytes), outcome.first);
    let whose = if detail.in_free_space { "The free space" } else { "The device" };
    let claims = if detail.in_free_space {
        format!("{claimed} are free")
    } else {
        format!("It claims {claimed}")
    };
    let looked_at = format!("{} of 4 KiB", blocks(first.all()));
    let (all, again) = (outcome.again.all(), outcome.again.wrong());
    match found.verdict {
        Verdict::Holds if outcome.shape.full && !outcome.cut_short => format!(
            "{whose} has its claimed capacity: Assay wrote all of {claimed} and read it back intact."
        ),
        Verdict::Holds => {
            let missed = found.limit.scattered_95_bytes;
            format!(
                "All of the {looked_at} tested, of {claimed}, were intact: at most {} of it ({}) is bad (95% \
                 confidence).",
                at_most(missed as f64 / outcome.claimed_bytes.max(1) as f64),
                size(missed)
            )
        }
        Verdict::NotTold => format!(
            "Inconclusive: memory may have answered ({}). All of the {looked_at} tested were intact, but the medium \
             may not have been read. {WAY_ON}",
            found.not_told.as_deref().unwrap_or("the source of the data is unknown")
        ),
        Verdict::Unsteady => format!(
            "{whose} is unreliable: of {looked_at}, {} were wrong, and intact when {} of them were rewritten; this \
             does not show a false size, but do not trust the device.",
            show::count(first.wrong()),
            show::count(all)
        ),
        Verdict::Damaged => format!(
            "{whose} flips bits: {} of {looked_at} had flipped bits, and {again} of {all} again after a rewrite; it \
             is worn or faulty, and this does not show a false size.",
            show::count(first.wrong())
        ),
        verdict => format!(
            "{whose} does not have its claimed capacity. {claims}, {}{}; {again} of {all} wrong blocks were wrong \
             again.",
            how_much(found, outcome),
            example(verdict, found.example, outcome.refused.as_deref())
        ),
    }
}

/// What is said of the other looks beside the one that is told; `held` is the least and the most that they found.
pub(super) fn of_several(looks: &[(&Detail, Told)], held: Option<[u64; 2]>) -> String {
    let Some(((_, first), others)) = looks.split_first().filter(|(_, others)| !others.is_empty())
    else {
        return String::new();
    };
    let count = looks.len();
    match held {
        Some([least, most]) if least < most => format!(
            " This is the worst of {count} passes; they found capacities of {} to {}.",
            sold(least),
            sold(most)
        ),
        _ if others.iter().all(|(_, other)| other.verdict == first.verdict) => {
            format!(" All {count} passes agree.")
        }
        _ => format!(" This is the worst of {count} passes."),
    }
}

fn how_much(found: &Told, outcome: &CapacityOutcome) -> String {
    let what = if found.verdict == Verdict::LosesRewrites { "stores rewrites in" } else { "holds" };
    match (found.held_bytes, found.held_ci95_bytes) {
        (Some(_), Some([low, high])) => format!(
            "and {what} between {} and {} of it (95% CI), with losses scattered over the device",
            sold(low),
            sold(high)
        ),
        (Some(bytes), None) => format!("and {what} about {}", sold(bytes)),
        (None, _) if found.verdict == Verdict::Refuses => format!(
            "and stopped answering after {} were written; its capacity is unknown",
            sold(outcome.written.0)
        ),
        (None, _) if outcome.shape.full && outcome.wraps_after_bytes.is_some() => {
            "and mixes up its addresses; its capacity is unknown".to_owned()
        }
        (None, _) => "and has less; run a full pass for the size".to_owned(),
    }
}

fn example(verdict: Verdict, example: Option<WrongBlock>, refused: Option<&str>) -> String {
    let Some(WrongBlock { at_bytes, seen }) = example else {
        return format!(" ({})", verdict.words());
    };
    let place = show::count(at_bytes);
    match seen {
        Seen::Other { at_bytes, of_bytes } => format!(
            ": byte {} returns what was written to byte {} (it wraps)",
            show::count(at_bytes),
            show::count(of_bytes)
        ),
        Seen::Zero => format!(": byte {place} returns zeros instead of what was written"),
        Seen::Foreign => {
            format!(": the write to byte {place} was lost, and the earlier data came back")
        }
        Seen::Older => format!(": byte {place} returns earlier data; a later write to it was lost"),
        Seen::Failed => {
            format!(": byte {place} is refused ({})", refused.unwrap_or("an error"))
        }
        Seen::Flipped { .. } | Seen::AsWritten => format!(" ({})", verdict.words()),
    }
}

/// What would have been found, and what would not.
pub(super) fn limits(detail: &Detail, found: &Told) -> String {
    let outcome = &detail.outcome;
    let claimed = outcome.claimed_bytes.max(1) as f64;
    let share = |bytes: u64| at_most(bytes as f64 / claimed);
    let mut told = Vec::new();
    if outcome.cut_short {
        told.push("The time ended before Assay tested all of it.".to_owned());
    }
    if found.not_told.is_some() {
        told.push("So the smallest detectable loss is unknown.".to_owned());
    } else {
        would_have_found(outcome, &found.limit, &share, &mut told);
    }
    if let Some(note) = &outcome.note {
        told.push(format!("Note: {note}."));
    }
    told.join(" ")
}

/// What would have been found where the medium answered.
fn would_have_found(
    outcome: &CapacityOutcome,
    limit: &Limit,
    share: &dyn Fn(u64) -> String,
    told: &mut Vec<String>,
) {
    if limit.scattered_95_bytes == 0 {
        told.push("Assay tested every block.".to_owned());
    } else {
        told.push(format!(
            "The pass detects a false capacity that hides {} ({}) or more with 95% probability, and {} ({}) with \
             99.9%; it always detects a single stretch of {} or more.",
            share(limit.scattered_95_bytes),
            size(limit.scattered_95_bytes),
            share(limit.scattered_999_bytes),
            size(limit.scattered_999_bytes),
            size(limit.stretch_bytes)
        ));
        let wraps = if limit.wraps {
            "It always detects a wrap onto the beginning."
        } else {
            "It detects a wrap by chance only."
        };
        told.push(wraps.to_owned());
        told.push(format!(
            "Only --capacity=full detects a device that fails after more than {} of writes.",
            size(limit.written_bytes)
        ));
    }
    told.push(match limit.rewrites_95_bytes {
        None => "No block was written twice, so the pass does not detect lost rewrites.".to_owned(),
        Some(0) => "Assay wrote every block twice.".to_owned(),
        Some(bytes) => format!(
            "{} were written twice: the pass detects lost rewrites in {} ({}) or more of it with 95% probability.",
            blocks(outcome.rewritten),
            share(bytes),
            size(bytes)
        ),
    });
    told.push(format!(
        "A cache of {} or more inside the drive could have answered.",
        size(limit.cache_bytes)
    ));
}

#[cfg(test)]
mod tests {
    use assay_load::SeenCounts;
    use assay_system::system::between::Between;

    use super::super::testing::{NONE, detail, outcome};
    use super::super::told;
    use super::*;

    fn said(detail: &Detail) -> String {
        answer(detail, &told(detail, Some(&Between::Nothing)))
    }

    #[test]
    fn sizes_are_told_as_they_are_sold_and_as_they_are_counted() {
        assert_eq!(sold(64_000_000_000), "64 GB (59.6 GiB)");
        assert_eq!(sold(1_000_000_000_000), "1 TB (931 GiB)");
        assert_eq!(sold(999_999_999_999), "1000 GB (931 GiB)");
        assert_eq!(sold(1_000_000), "1 MB (977 KiB)");
        assert_eq!(sold(999_999), "977 KiB");
        assert_eq!(sold(1_000_000_000), "1 GB (954 MiB)");
    }

    #[test]
    fn what_holds_is_told_by_how_much_was_looked_at() {
        let good = SeenCounts { as_written: 2560, ..NONE };
        let mut own = detail(outcome(good, NONE));
        assert_eq!(
            said(&own),
            "All of the 2,560 blocks of 4 KiB tested, of 68.7 GB (64 GiB), were intact: at most 0.12% of it (76.6 \
             MiB) is bad (95% confidence)."
        );
        own.outcome.shape.full = true;
        let whole = "The device has its claimed capacity: Assay wrote all of 68.7 GB (64 GiB) and read it back intact.";
        assert_eq!(said(&own), whole);
        own.outcome.cut_short = true;
        assert!(said(&own).starts_with("All of the 2,560 blocks"), "{}", said(&own));
        let between = Between::Memory("loop0 goes through the page cache".to_owned());
        let memory = answer(&own, &told(&own, Some(&between)));
        assert!(
            memory.starts_with("Inconclusive: memory may have answered (loop0 goes through"),
            "{memory}"
        );
        assert!(!memory.contains("holds"), "{memory}");
        own.outcome.cut_short = false;
        own.in_free_space = true;
        assert!(said(&own).starts_with("The free space has its claimed"), "{}", said(&own));
    }

    #[test]
    fn drives_that_die_and_mixed_addresses_have_no_size() {
        let of = |first: SeenCounts,
                  again: SeenCounts,
                  seen: Seen,
                  change: &dyn Fn(&mut CapacityOutcome)| {
            let wrong = vec![WrongBlock { at_bytes: 0, seen }];
            let mut own = CapacityOutcome { wrong, ..outcome(first, again) };
            own.shape.full = true;
            change(&mut own);
            let own = detail(own);
            (told(&own, Some(&Between::Nothing)).held_bytes, said(&own))
        };
        let failed = SeenCounts { failed: 32, ..NONE };
        let (held, text) = of(failed, failed, Seen::Failed, &|own| own.held_bytes = Some(0));
        assert_eq!(held, None);
        assert!(
            text.contains("and stopped answering after 268 MB (256 MiB) were written"),
            "{text}"
        );
        // A bad block at the beginning of what works otherwise, and a border behind what works.
        let partly = SeenCounts { as_written: 1500, failed: 500, ..NONE };
        let (held, text) = of(partly, failed, Seen::Failed, &|own| own.held_bytes = Some(0));
        assert_eq!(held, Some(48 << 30), "{text}");
        let (held, _) = of(partly, failed, Seen::Failed, &|own| own.held_bytes = Some(4096));
        assert_eq!(held, Some(4096));
        let other = Seen::Other { at_bytes: 0, of_bytes: 1 << 20 };
        for (right, size) in [(256, Some(1 << 20)), (257, None)] {
            let first = SeenCounts { as_written: right, other: 9000, ..NONE };
            let again = SeenCounts { other: 32, ..NONE };
            let (held, text) =
                of(first, again, other, &|own| own.wraps_after_bytes = Some(1 << 20));
            assert_eq!(held, size);
            assert_eq!(text.contains("mixes up its addresses"), size.is_none(), "{text}");
        }
    }
}
