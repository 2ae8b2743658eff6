//! Sentences on a capacity check.

use assay_core::quantity::units::show;
use assay_load::{CapacityOutcome, Seen, WrongBlock};

use super::{CapacityDetail, DetectionLimit, Finding, Verdict};

const ADVICE: &str = "Test the drive as a device, with direct I/O, on the computer to which the drive is attached \
                      (this destroys the data on the drive).";

fn blocks(count: u64) -> String {
    if count == 1 { "1 block".to_owned() } else { format!("{} blocks", show::count(count)) }
}

/// A bound in percent, rounded up to two digits.
fn bound_words(share: f64) -> String {
    let percent = (100.0 * share).max(1e-9);
    let unit = 10_f64.powi(percent.log10().floor() as i32 - 1);
    format!("{}%", show::three_digits((percent / unit).ceil() * unit))
}

/// A capacity in decimal and binary units: `64.0 GB (59.6 GiB)`.
fn capacity_words(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB")];
    let binary = show::bytes(bytes);
    for (unit, name) in units {
        if bytes as f64 >= unit {
            return format!("{} {name} ({binary})", show::three_digits(bytes as f64 / unit));
        }
    }
    binary
}

/// Describes the verdict on a check, in sentences.
pub(crate) fn verdict_words(detail: &CapacityDetail, found: &Finding) -> String {
    let outcome = &detail.outcome;
    let (claimed, first) = (capacity_words(outcome.claimed_bytes), outcome.first);
    let whose = if detail.in_free_space { "The free space" } else { "The device" };
    let claims = if detail.in_free_space {
        format!("The filesystem reports {claimed} free")
    } else {
        format!("It claims {claimed}")
    };
    let tested = format!("{} of 4 KiB", blocks(first.all()));
    let (all, again) = (outcome.again.all(), outcome.again.wrong());
    match found.verdict {
        Verdict::Genuine if outcome.shape.full && !outcome.cut_short => format!(
            "{whose} has the claimed capacity: Assay wrote all of {claimed} and read the data back intact."
        ),
        Verdict::Genuine => {
            let missed = found.limit.scattered_95_bytes;
            format!(
                "All {tested} tested (of {claimed}) were intact: at most {} of the capacity ({}) is bad (95% \
                 confidence).",
                bound_words(missed as f64 / outcome.claimed_bytes.max(1) as f64),
                show::bytes(missed)
            )
        }
        Verdict::Inconclusive => format!(
            "Inconclusive: memory may have served the reads ({}). All {tested} tested were intact, but Assay may \
             not have read the medium. {ADVICE}",
            found.why_inconclusive.as_deref().unwrap_or("the source of the data is unknown")
        ),
        Verdict::Unstable => format!(
            "{whose} is unreliable: {} of {tested} were wrong, but intact after Assay rewrote {}. This does \
             not indicate a fake capacity, but do not trust the device.",
            show::count(first.wrong()),
            show::count(all)
        ),
        Verdict::Damaged => format!(
            "{whose} flips bits: {} of {tested} had flipped bits, and {again} of {all} had flipped bits again \
             after a rewrite. The device is worn or faulty; this does not indicate a fake capacity.",
            show::count(first.wrong())
        ),
        verdict => format!(
            "{whose} does not have the claimed capacity. {claims}, {}{}; {again} of {all} wrong blocks were wrong \
             again after a rewrite.",
            usable_words(found, outcome),
            example_words(verdict, found.example, outcome.refused.as_deref())
        ),
    }
}

/// Text on further checks besides the reported one; `held` is their smallest and largest result.
pub(super) fn passes_words(
    checks: &[(&CapacityDetail, Finding)],
    held: Option<[u64; 2]>,
) -> String {
    let [(_, first), _, ..] = checks else { return String::new() };
    let count = checks.len();
    match held {
        Some([least, most]) if least < most => format!(
            " This is the worst of {count} passes, which found capacities of {} to {}.",
            capacity_words(least),
            capacity_words(most)
        ),
        _ if checks.iter().all(|(_, found)| found.verdict == first.verdict) => {
            format!(" All {count} passes agree.")
        }
        _ => format!(" This is the worst of {count} passes."),
    }
}

/// Continues the sentence on the claimed capacity: what the device stores instead.
fn usable_words(found: &Finding, outcome: &CapacityOutcome) -> String {
    let what = if found.verdict == Verdict::LosesRewrites { "stores rewrites in" } else { "holds" };
    let Some(bytes) = found.held_bytes else {
        if found.verdict == Verdict::Refuses {
            let written = capacity_words(outcome.written.0);
            return format!(
                "but stopped responding after {written} of writes; the usable capacity is unknown"
            );
        }
        if outcome.shape.full && outcome.wraps_after_bytes.is_some() {
            return "but maps addresses to wrong blocks; the usable capacity is unknown".to_owned();
        }
        return "but has less; use --capacity=full to measure the usable capacity".to_owned();
    };
    let Some([low, high]) = found.held_ci95_bytes.map(|ends| ends.map(capacity_words)) else {
        return format!("but {what} about {}", capacity_words(bytes));
    };
    format!("but {what} {low} to {high} (95% CI), with losses scattered over the device")
}

/// Continues the same sentence with a wrong block, or with the verdict if none was recorded.
fn example_words(verdict: Verdict, example: Option<WrongBlock>, refused: Option<&str>) -> String {
    let Some(WrongBlock { at_bytes, seen }) = example else {
        return format!(" ({})", verdict.words());
    };
    let place = show::count(at_bytes);
    match seen {
        Seen::Other { at_bytes, of_bytes } => format!(
            ": byte {} returns the data written to byte {} (a wraparound)",
            show::count(at_bytes),
            show::count(of_bytes)
        ),
        Seen::Zero => format!(": byte {place} returns zeros instead of the written data"),
        Seen::Foreign => {
            format!(": the write to byte {place} was lost, and a read returned the earlier data")
        }
        Seen::Older => format!(": byte {place} returns earlier data; a later write to it was lost"),
        Seen::Failed => {
            format!(": access to byte {place} failed ({})", refused.unwrap_or("I/O error"))
        }
        Seen::Flipped { .. } | Seen::AsWritten => format!(" ({})", verdict.words()),
    }
}

/// Describes what the check could have missed, in sentences.
pub(super) fn limit_words(detail: &CapacityDetail, found: &Finding) -> String {
    let outcome = &detail.outcome;
    let claimed = outcome.claimed_bytes.max(1) as f64;
    let share = |bytes: u64| bound_words(bytes as f64 / claimed);
    let mut limits = Vec::new();
    if outcome.cut_short {
        limits.push("The trial ended before Assay had tested all blocks.".to_owned());
    }
    if found.why_inconclusive.is_some() {
        limits.push("The smallest detectable loss is therefore unknown.".to_owned());
    } else {
        add_detection_limits(outcome, &found.limit, &share, &mut limits);
    }
    if let Some(note) = &outcome.note {
        limits.push(format!("Note: {note}."));
    }
    limits.join(" ")
}

/// Adds sentences on what the check would have detected; `share` formats bytes as a share of the capacity.
fn add_detection_limits(
    outcome: &CapacityOutcome,
    limit: &DetectionLimit,
    share: &dyn Fn(u64) -> String,
    limits: &mut Vec<String>,
) {
    if limit.scattered_95_bytes == 0 {
        limits.push("Assay tested every block.".to_owned());
    } else {
        limits.push(format!(
            "The test detects a missing capacity of {} ({}) with 95% probability, {} ({}) with 99.9%, and any \
             contiguous stretch of {} with certainty.",
            share(limit.scattered_95_bytes),
            show::bytes(limit.scattered_95_bytes),
            share(limit.scattered_999_bytes),
            show::bytes(limit.scattered_999_bytes),
            show::bytes(limit.stretch_bytes)
        ));
        let wraps = if limit.wraps {
            "The test always detects a wraparound to the start of the device."
        } else {
            "The test may miss a wraparound."
        };
        limits.push(wraps.to_owned());
        limits.push(format!(
            "Only --capacity=full detects a device that fails after more than {} of writes.",
            show::bytes(limit.written_bytes)
        ));
    }
    limits.push(match limit.rewrites_95_bytes {
        None => "Assay did not write any block twice, so the test does not detect lost rewrites.".to_owned(),
        Some(0) => "Assay wrote every block twice.".to_owned(),
        Some(bytes) => format!(
            "Assay wrote {} twice: the test detects lost rewrites in {} ({}) of the capacity with 95% probability.",
            blocks(outcome.rewritten),
            share(bytes),
            show::bytes(bytes)
        ),
    });
    limits.push(format!(
        "A drive cache of {} or more could have served the reads.",
        show::bytes(limit.cache_bytes)
    ));
}

#[cfg(test)]
mod tests {
    use assay_load::SeenCounts;
    use assay_machine::system::between::Between;

    use super::super::judge_check;
    use super::super::testing::{NONE, detail, outcome};
    use super::*;

    fn said(detail: &CapacityDetail) -> String {
        verdict_words(detail, &judge_check(detail, Some(&Between::Nothing)))
    }

    #[test]
    fn sizes_are_told_as_they_are_sold_and_as_they_are_counted() {
        assert_eq!(capacity_words(64_000_000_000), "64 GB (59.6 GiB)");
        assert_eq!(capacity_words(1_000_000_000_000), "1 TB (931 GiB)");
        assert_eq!(capacity_words(999_999_999_999), "1000 GB (931 GiB)");
        assert_eq!(capacity_words(1_000_000), "1 MB (977 KiB)");
        assert_eq!(capacity_words(999_999), "977 KiB");
        assert_eq!(capacity_words(1_000_000_000), "1 GB (954 MiB)");
    }

    #[test]
    fn what_holds_is_told_by_how_much_was_looked_at() {
        let good = SeenCounts { as_written: 2560, ..NONE };
        let mut own = detail(outcome(good, NONE));
        assert_eq!(
            said(&own),
            "All 2,560 blocks of 4 KiB tested (of 68.7 GB (64 GiB)) were intact: at most 0.12% of the capacity (76.6 \
             MiB) is bad (95% confidence)."
        );
        own.outcome.shape.full = true;
        let whole = "The device has the claimed capacity: Assay wrote all of 68.7 GB (64 GiB) and read the data back \
                     intact.";
        assert_eq!(said(&own), whole);
        own.outcome.cut_short = true;
        assert!(said(&own).starts_with("All 2,560 blocks"), "{}", said(&own));
        let between = Between::Memory("loop0 goes through the page cache".to_owned());
        let memory = verdict_words(&own, &judge_check(&own, Some(&between)));
        assert!(
            memory.starts_with("Inconclusive: memory may have served the reads (loop0 goes"),
            "{memory}"
        );
        assert!(!memory.contains("holds"), "{memory}");
        own.outcome.cut_short = false;
        own.in_free_space = true;
        assert!(said(&own).starts_with("The free space has the claimed"), "{}", said(&own));
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
            (judge_check(&own, Some(&Between::Nothing)).held_bytes, said(&own))
        };
        let failed = SeenCounts { failed: 32, ..NONE };
        let (held, text) = of(failed, failed, Seen::Failed, &|own| own.held_bytes = Some(0));
        assert_eq!(held, None);
        assert!(text.contains("but stopped responding after 268 MB (256 MiB) of writes"), "{text}");
        // A bad block at the beginning of an otherwise working target, and a boundary after the working part.
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
            assert_eq!(text.contains("maps addresses to wrong blocks"), size.is_none(), "{text}");
        }
    }
}
