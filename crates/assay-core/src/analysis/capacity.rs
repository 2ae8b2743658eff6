//! What looks at capacities say, in sentences.

use std::cmp::Reverse;

use assay_load::{CapacityOutcome, Seen, WrongBlock};

use super::rows::Row;
use crate::findings::capacity::CapacityFacts;
use crate::findings::said::{Said, Sentence};
use crate::findings::{Because, Cell, Findings, Trust};
use crate::quantity::units::show;
use crate::results::plan::Arm;
use crate::system::between::Between;
use crate::truth::Remark;
use crate::work::Measured;
use crate::work::capacity::{Detail, HELD, Limit, Planned, Told, Verdict, told};

/// What the trials of a row found: of several looks the gravest speaks, since sentences are not averaged.
pub(super) fn of_row(row: &Row<'_>) -> Option<CapacityFacts> {
    let own = row.counting().filter_map(|trial| look(row, trial.record.measured.as_ref()?));
    let mut looks: Vec<(&Detail, Told)> = own.collect();
    let held = held_of_several(&looks);
    let several = of_several(&looks, held);
    let (detail, mut found) = looks.swap_remove(gravest(&looks)?);
    let text = answer(detail, &found) + &several;
    if held.is_some_and(|[least, most]| least < most) {
        found.held_ci95_bytes = None;
    }
    let outcome = &detail.outcome;
    Some(CapacityFacts {
        workload: row.workload.name.clone(),
        arm: row.arm.clone(),
        verdict: found.verdict,
        claimed_bytes: outcome.claimed_bytes,
        held_bytes: found.held_bytes,
        looks_held_bytes: held,
        held_ci95_bytes: found.held_ci95_bytes,
        full: outcome.shape.full,
        in_free_space: detail.in_free_space,
        checked_blocks: outcome.first.all(),
        wrong_blocks: outcome.first.wrong(),
        rewritten_blocks: outcome.rewritten,
        again_blocks: [outcome.again.all(), outcome.again.wrong()],
        limit: found.limit,
        text,
        limit_text: limits(detail, &found),
        not_told: found.not_told,
    })
}

/// The place of the look that says most against the target; the last of those that say as much.
fn gravest(looks: &[(&Detail, Told)]) -> Option<usize> {
    let grave = |at: &usize| {
        let (_, found) = &looks[*at];
        (found.verdict.gravity(), Reverse(found.held_bytes.unwrap_or(u64::MAX)))
    };
    (0..looks.len()).max_by_key(grave)
}

/// The least and the most that several looks found.
fn held_of_several(looks: &[(&Detail, Told)]) -> Option<[u64; 2]> {
    let held = || looks.iter().filter_map(|(_, found)| found.held_bytes);
    let ends = [held().min()?, held().max()?];
    (looks.len() > 1).then_some(ends)
}

/// What is said of the other looks beside the one that is told.
fn of_several(looks: &[(&Detail, Told)], held: Option<[u64; 2]>) -> String {
    let Some(((_, first), others)) = looks.split_first().filter(|(_, others)| !others.is_empty())
    else {
        return String::new();
    };
    let count = looks.len();
    match held {
        Some([least, most]) if least < most => format!(
            " That is the gravest of {count} looks; they found that it holds {} to {}.",
            sold(least),
            sold(most)
        ),
        _ if others.iter().all(|(_, other)| other.verdict == first.verdict) => {
            format!(" All {count} looks say so.")
        }
        _ => format!(" That is the gravest of {count} looks."),
    }
}

/// Gives several looks the number of their row, so that there is one wherever it is told.
fn settle(cells: &[Cell], capacity: &mut [CapacityFacts]) {
    for facts in capacity.iter_mut().filter(|facts| facts.looks_held_bytes.is_some()) {
        let own = cells.iter().find(|cell| {
            cell.metric == HELD.name
                && cell.workload == facts.workload
                && cell.arm == facts.arm
                && !cell.control
        });
        facts.held_bytes = own.and_then(Cell::value).map(|bytes| bytes.round() as u64);
    }
}

/// What a look says, with what is known of who answered it.
fn look<'a>(row: &Row<'_>, measured: &'a Measured) -> Option<(&'a Detail, Told)> {
    let detail = Detail::of(measured)?;
    let planned = Planned::of(&row.workload.work)?;
    let answered = answered(row);
    Some((detail, told(detail, answered.as_ref().or(planned.between.as_ref()))))
}

/// What a target was found to hold, as the metric has it: the number that the facts have, whatever the version
/// that looked made of it.
pub(super) fn held(row: &Row<'_>, measured: &Measured) -> Option<Result<f64, String>> {
    let (_, found) = look(row, measured)?;
    let unknown = || match found.not_told {
        Some(reason) => format!("not told from memory: {reason}"),
        None => "what it holds was not measured: a full pass tells".to_owned(),
    };
    Some(found.held_bytes.map(|bytes| bytes as f64).ok_or_else(unknown))
}

/// What the counters of the devices say of who answered: a drive that delivered less than was read.
fn answered(row: &Row<'_>) -> Option<Between> {
    let of = |(rule, remark): &(&str, Remark)| {
        let tells = ["cached", "device-bytes"].contains(rule) && remark.trust == Trust::Invalid;
        tells.then(|| Between::Memory(remark.text.clone()))
    };
    row.remarks.iter().find_map(of)
}

/// What rests on numbers that are not trusted says so, once all rules have spoken.
pub(super) fn doubt(found: &mut Findings) {
    let Findings { cells, capacity, sustained, .. } = found;
    settle(cells, capacity);
    let worst = |workload: &str, arm: &Arm| {
        let own = |cell: &&Cell| cell.primary && cell.workload == workload && cell.arm == *arm;
        let because = cells.iter().filter(own).flat_map(|cell| &cell.because);
        because.filter(|one| one.trust != Trust::Trusted).max_by_key(|one| one.trust)
    };
    for facts in capacity.iter_mut() {
        let told = worst(&facts.workload, &facts.arm);
        facts.text += &told.map_or_else(String::new, doubt_words);
    }
    for facts in sustained.iter_mut() {
        match worst(&facts.workload, &facts.arm) {
            // Nothing is said from an invalid row but that it is invalid.
            Some(one) if one.trust == Trust::Invalid => {
                facts.text = format!("What it writes for long is not told.{}", doubt_words(one));
            }
            told => facts.text += &told.map_or_else(String::new, doubt_words),
        }
    }
}

fn doubt_words(because: &Because) -> String {
    let word = if because.trust == Trust::Invalid { "invalid" } else { "suspect" };
    format!(" Its numbers are {word}: {}.", because.text.trim_end_matches('.'))
}

/// Which of several trials a text is of.
pub(super) fn which(trials: usize) -> String {
    if trials > 1 { format!(" That is the last of {trials} trials.") } else { String::new() }
}

/// The sentences of a summary: the answer first, then what it would have missed.
pub(super) fn sentences(found: &Findings) -> Vec<Sentence> {
    let named = |arm: &Arm, text: &str| match arm.get("target") {
        Some(target) => format!("{target}: {text}"),
        None => text.to_owned(),
    };
    let mut told = Vec::new();
    for facts in &found.capacity {
        told.push(Sentence::new(Said::Capacity, named(&facts.arm, &facts.text)));
        told.push(Sentence::new(Said::Capacity, named(&facts.arm, &facts.limit_text)));
    }
    for facts in &found.sustained {
        told.push(Sentence::new(Said::Sustained, named(&facts.arm, &facts.text)));
    }
    told
}

/// What to do where memory may have answered.
const WAY_ON: &str = "It can be told where nothing stands between: on the drive itself, whose data are lost by it, \
                      on the computer that it is plugged into, with direct I/O.";

fn blocks(count: u64) -> String {
    if count == 1 { "1 block".to_owned() } else { format!("{} blocks", show::count(count)) }
}

/// A bound in percent, rounded up to two digits.
fn at_most(share: f64) -> String {
    let percent = (100.0 * share).max(1e-9);
    let unit = 10_f64.powi(percent.log10().floor() as i32 - 1);
    format!("{} %", show::three_digits((percent / unit).ceil() * unit))
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

pub(super) fn answer(detail: &Detail, found: &Told) -> String {
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
            "{whose} holds what it says: all of {claimed} was written and read again as it was written."
        ),
        Verdict::Holds => {
            let missed = found.limit.scattered_95_bytes;
            format!(
                "All of the {looked_at} that were looked at, of {claimed}, came back as they were written: \
                 with 95 % at most {} of it ({}) is bad.",
                at_most(missed as f64 / outcome.claimed_bytes.max(1) as f64),
                size(missed)
            )
        }
        Verdict::NotTold => format!(
            "Not told from memory: {}. All of the {looked_at} that were looked at came back as they were \
             written, and memory may have answered for the medium. {WAY_ON}",
            found.not_told.as_deref().unwrap_or("what answered is not known")
        ),
        Verdict::Unsteady => format!(
            "{whose} is unsteady: of {looked_at} {} came back wrong, and right when {} of them were \
             written once more; that says nothing of its size, and is no reason to trust it.",
            show::count(first.wrong()),
            show::count(all)
        ),
        Verdict::Damaged => format!(
            "{whose} turns bits: {} of {looked_at} came back with some bits turned, and {again} of {all} \
             did again; it is worn or faulty, and that says nothing of its size.",
            show::count(first.wrong())
        ),
        verdict => format!(
            "{whose} does not hold what it says. {claims}, {}{}; {again} of {all} blocks that were wrong \
             were wrong again.",
            how_much(found),
            example(verdict, found.example, outcome.refused.as_deref())
        ),
    }
}

fn how_much(found: &Told) -> String {
    let what = if found.verdict == Verdict::LosesRewrites { "keeps rewrites in" } else { "holds" };
    match (found.held_bytes, found.held_ci95_bytes) {
        (Some(_), Some([low, high])) => format!(
            "and {what} between {} and {} of it (95 %), what is lost lying here and there",
            sold(low),
            sold(high)
        ),
        (Some(bytes), None) => format!("and {what} about {}", sold(bytes)),
        (None, _) => "and holds less; how much, a full pass tells".to_owned(),
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
        Seen::Foreign => format!(
            ": what was written to byte {place} was lost, and what was there before came back"
        ),
        Seen::Older => format!(
            ": byte {place} returns what was written there before; what was written to it later was lost"
        ),
        Seen::Failed => {
            format!(": byte {place} is refused ({})", refused.unwrap_or("an error"))
        }
        Seen::Flipped { .. } | Seen::AsWritten => format!(" ({})", verdict.words()),
    }
}

/// What would have been found, and what would not.
fn limits(detail: &Detail, found: &Told) -> String {
    let outcome = &detail.outcome;
    let claimed = outcome.claimed_bytes.max(1) as f64;
    let share = |bytes: u64| at_most(bytes as f64 / claimed);
    let mut told = Vec::new();
    if outcome.cut_short {
        told.push("The time ended it before all was looked at.".to_owned());
    }
    if found.not_told.is_some() {
        told.push("So how small a loss would have been found is not known.".to_owned());
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
        told.push("Every block was looked at.".to_owned());
    } else {
        told.push(format!(
            "A lie that hides {} ({}) or more, wherever, would have been found with a probability of 95 %, \
             {} ({}) with 99.9 %; one in a single stretch from {} on surely.",
            share(limit.scattered_95_bytes),
            size(limit.scattered_95_bytes),
            share(limit.scattered_999_bytes),
            size(limit.scattered_999_bytes),
            size(limit.stretch_bytes)
        ));
        let wraps = if limit.wraps {
            "One that wraps onto the beginning would surely have been found."
        } else {
            "One that wraps is found by chance here."
        };
        told.push(wraps.to_owned());
        told.push(format!(
            "One that shows itself only after more than {} were written is found by --capacity=full alone.",
            size(limit.written_bytes)
        ));
    }
    told.push(match limit.rewrites_95_bytes {
        None => "Nothing was written twice: a device that loses rewrites was not looked for.".to_owned(),
        Some(0) => "Every block was written twice.".to_owned(),
        Some(bytes) => format!(
            "{} were written twice: rewrites that are lost in {} ({}) or more of it would have been found \
             with 95 %.",
            blocks(outcome.rewritten),
            share(bytes),
            size(bytes)
        ),
    });
    told.push(format!(
        "A cache of {} or more inside the drive could have answered for it.",
        size(limit.cache_bytes)
    ));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_load::{CapacityShape, SeenCounts};

    use super::*;
    use crate::presence::Presence;
    use crate::results::plan::PlannedWorkload;
    use crate::truth::Unquiet;
    use crate::work::Claims;

    const NONE: SeenCounts = SeenCounts {
        as_written: 0,
        other: 0,
        zero: 0,
        foreign: 0,
        older: 0,
        flipped: 0,
        failed: 0,
    };

    fn outcome(first: SeenCounts, again: SeenCounts) -> CapacityOutcome {
        CapacityOutcome {
            claimed_bytes: 64 << 30,
            shape: CapacityShape::of(64 << 30, false),
            zone_bytes: 128 << 20,
            samples: first.all(),
            rewritten: 0,
            first,
            sampled: first,
            widest_gap_bytes: 60 << 20,
            between_bytes: 64 << 20,
            again,
            wrong: Vec::new(),
            wraps_after_bytes: None,
            held_bytes: None,
            written: (256 << 20, 100),
            read: (256 << 20, 100),
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

    fn said(detail: &Detail) -> String {
        answer(detail, &told(detail, Some(&Between::Nothing)))
    }

    #[test]
    fn what_rests_on_doubted_numbers_says_so_and_the_rest_says_nothing_of_it() {
        use super::super::tests::Bench;
        use crate::findings::capacity::SustainedFacts;
        use crate::work::sustained::{Course, Level};
        let told = |trust: Trust| {
            let bench = Bench::new(&["."]).row(0, "sustained-write", 4096, &[100; 3]);
            let mut found = bench.findings();
            let level = Level {
                from_bytes: 0,
                from_ci95_bytes: None,
                rate_bytes_per_s: 4e6,
                rate_ci95: None,
            };
            let course = Course { written_bytes: 1, levels: vec![level], sinks: None, again: None };
            found.sustained.push(SustainedFacts {
                workload: "sustained-write".to_owned(),
                arm: Arm::new(),
                course,
                text: "It writes 4 MB/s.".to_owned(),
            });
            for cell in &mut found.cells {
                let text = "the device delivered none of it".to_owned();
                cell.because = vec![Because { rule: "cached".to_owned(), trust, text }];
                cell.trust = Some(trust);
            }
            doubt(&mut found);
            found.sustained.remove(0).text
        };
        assert_eq!(told(Trust::Trusted), "It writes 4 MB/s.");
        assert_eq!(
            told(Trust::Suspect),
            "It writes 4 MB/s. Its numbers are suspect: the device delivered none of it."
        );
        assert_eq!(
            told(Trust::Invalid),
            "What it writes for long is not told. Its numbers are invalid: the device delivered none of it."
        );
        assert_eq!([which(1), which(3)], ["", " That is the last of 3 trials."]);
    }

    #[test]
    fn of_several_looks_the_gravest_speaks_and_the_number_is_that_of_their_row() {
        use super::super::tests::Bench;
        let own = detail(outcome(SeenCounts { as_written: 2560, ..NONE }, NONE));
        let look = |verdict, held: u64| {
            let found = told(&own, Some(&Between::Nothing));
            (&own, Told { verdict, held_bytes: Some(held), ..found })
        };
        let looks = [
            look(Verdict::Wraps, 8 << 30),
            look(Verdict::Wraps, 9 << 30),
            look(Verdict::Holds, 64 << 30),
        ];
        assert_eq!(gravest(&looks), Some(0));
        let held = held_of_several(&looks);
        assert_eq!(held, Some([8 << 30, 64 << 30]));
        assert_eq!(
            of_several(&looks, held),
            " That is the gravest of 3 looks; they found that it holds 8.59 GB (8 GiB) to 68.7 GB (64 GiB)."
        );
        // One look is told as it is, and so are looks that agree.
        assert_eq!(
            (held_of_several(&looks[..1]), of_several(&looks[..1], None)),
            (None, String::new())
        );
        let alike = [look(Verdict::Holds, 64 << 30), look(Verdict::Holds, 64 << 30)];
        let held = held_of_several(&alike);
        assert_eq!((gravest(&alike), held), (Some(1), Some([64 << 30; 2])));
        assert_eq!(of_several(&alike, held), " All 2 looks say so.");

        let mut found = Bench::new(&["."]).row(0, "capacity", 4096, &[7, 7, 7]).findings();
        for cell in &mut found.cells {
            HELD.name.clone_into(&mut cell.metric);
        }
        let number = found.cells[0].value().unwrap();
        let facts = |looks_held_bytes| {
            let mut facts = CapacityFacts {
                workload: "capacity".to_owned(),
                arm: found.cells[0].arm.clone(),
                verdict: Verdict::Wraps,
                claimed_bytes: 64 << 30,
                held_bytes: Some(8 << 30),
                looks_held_bytes,
                held_ci95_bytes: None,
                full: false,
                in_free_space: false,
                checked_blocks: 2560,
                wrong_blocks: 1,
                rewritten_blocks: 0,
                again_blocks: [1, 1],
                limit: told(&own, None).limit,
                text: String::new(),
                limit_text: String::new(),
                not_told: None,
            };
            settle(&found.cells, std::slice::from_mut(&mut facts));
            facts.held_bytes
        };
        assert_eq!(facts(None), Some(8 << 30), "one look is its row");
        assert_eq!(facts(Some([8 << 30, 64 << 30])), Some(number.round() as u64));
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
            "All of the 2,560 blocks of 4 KiB that were looked at, of 68.7 GB (64 GiB), came back as they were \
             written: with 95 % at most 0.12 % of it (76.6 MiB) is bad."
        );
        own.outcome.shape.full = true;
        let whole = "The device holds what it says: all of 68.7 GB (64 GiB) was written and read again as it \
                     was written.";
        assert_eq!(said(&own), whole);
        own.outcome.cut_short = true;
        assert!(said(&own).starts_with("All of the 2,560 blocks"), "{}", said(&own));
        let between = Between::Memory("loop0 goes through the page cache".to_owned());
        let memory = answer(&own, &told(&own, Some(&between)));
        assert!(memory.starts_with("Not told from memory: loop0 goes through"), "{memory}");
        assert!(memory.ends_with("with direct I/O.") && !memory.contains("holds"), "{memory}");
        own.outcome.cut_short = false;
        own.in_free_space = true;
        assert!(said(&own).starts_with("The free space holds"), "{}", said(&own));
    }

    #[test]
    fn what_does_not_hold_is_told_with_a_block_that_shows_it() {
        let first = SeenCounts { as_written: 1500, zero: 500, ..NONE };
        let of = |again: SeenCounts, seen: Option<Seen>| {
            let wrong = seen.map(|seen| WrongBlock { at_bytes: 8192, seen });
            let wrong = wrong.into_iter().collect();
            let refused = Some("I/O error".to_owned());
            said(&detail(CapacityOutcome { wrong, refused, ..outcome(first, again) }))
        };
        let zero = of(SeenCounts { zero: 30, as_written: 2, ..NONE }, Some(Seen::Zero));
        assert_eq!(
            zero,
            "The device does not hold what it says. It claims 68.7 GB (64 GiB), and holds between 50.2 GB (46.7 \
             GiB) and 52.8 GB (49.2 GiB) of it (95 %), what is lost lying here and there: byte 8,192 returns zeros instead of what was written; \
             30 of 32 blocks that were wrong were wrong again."
        );
        let other = Seen::Other { at_bytes: 8192, of_bytes: 4096 };
        let wraps = of(SeenCounts { other: 1, ..NONE }, Some(other));
        assert!(
            wraps.contains(
                "and holds less; how much, a full pass tells: byte 8,192 returns what was written to byte \
                 4,096 (it wraps); 1 of 1 blocks"
            ),
            "{wraps}"
        );
        let lost = of(SeenCounts { foreign: 1, ..NONE }, Some(Seen::Foreign));
        assert!(
            lost.contains(": what was written to byte 8,192 was lost, and what was there"),
            "{lost}"
        );
        let refused = of(SeenCounts { failed: 1, ..NONE }, Some(Seen::Failed));
        assert!(refused.contains(": byte 8,192 is refused (I/O error);"), "{refused}");
        let older = of(SeenCounts { older: 1, ..NONE }, Some(Seen::Older));
        assert!(older.contains("and keeps rewrites in between"), "{older}");
        assert!(older.contains(": byte 8,192 returns what was written there before;"), "{older}");
        let unshown = of(SeenCounts { failed: 1, ..NONE }, None);
        assert!(unshown.contains(" (refuses);"), "{unshown}");
        let turned = of(SeenCounts { flipped: 3, as_written: 1, ..NONE }, None);
        assert_eq!(
            turned,
            "The device turns bits: 500 of 2,000 blocks of 4 KiB came back with some bits turned, and 3 of 4 \
             did again; it is worn or faulty, and that says nothing of its size."
        );
        let unsteady = of(SeenCounts { as_written: 32, ..NONE }, None);
        assert!(
            unsteady.contains("of 2,000 blocks of 4 KiB 500 came back wrong, and right when 32")
        );
        // A border is no share, and free space claims nothing.
        let again = SeenCounts { zero: 1, ..NONE };
        let mut border =
            detail(CapacityOutcome { held_bytes: Some(1 << 30), ..outcome(first, again) });
        border.in_free_space = true;
        let border = said(&border);
        assert!(
            border.contains(
                "68.7 GB (64 GiB) are free, and holds about 1.07 GB (1 GiB) (returns zeros);"
            ),
            "{border}"
        );
    }

    #[test]
    fn what_would_have_been_missed_is_told() {
        let good = SeenCounts { as_written: 2995, ..NONE };
        let of = |change: &dyn Fn(&mut CapacityOutcome)| {
            let mut own = outcome(good, NONE);
            change(&mut own);
            let own = detail(own);
            limits(&own, &told(&own, Some(&Between::Nothing)))
        };
        let usual = of(&|_| ());
        assert_eq!(
            usual,
            "A lie that hides 0.1 % (65.5 MiB) or more, wherever, would have been found with a probability of \
             95 %, 0.24 % (151 MiB) with 99.9 %; one in a single stretch from 60 MiB on surely. One that wraps \
             onto the beginning would surely have been found. One that shows itself only after more than 256 \
             MiB were written is found by --capacity=full alone. Nothing was written twice: a device that loses \
             rewrites was not looked for. A cache of 64 MiB or more inside the drive \
             could have answered for it."
        );
        let chance = of(&|own| own.widest_gap_bytes = 1 << 30);
        assert!(chance.contains("One that wraps is found by chance here."), "{chance}");
        let cut = of(&|own| own.cut_short = true);
        assert!(cut.starts_with("The time ended it before all was looked at. A lie"), "{cut}");
        let whole = |own: &mut CapacityOutcome| {
            own.shape.full = true;
            own.first.as_written = 16 << 20;
            own.rewritten = 2048;
        };
        let whole = of(&whole);
        assert!(
            whole.starts_with("Every block was looked at. 2,048 blocks were written twice"),
            "{whole}"
        );
        assert!(!whole.contains("--capacity=full"), "{whole}");
        let twice = of(&|own| {
            own.shape.full = true;
            (own.first.as_written, own.rewritten) = (16 << 20, 16 << 20);
        });
        assert!(
            twice.starts_with("Every block was looked at. Every block was written twice."),
            "{twice}"
        );
        let own = detail(outcome(good, NONE));
        let memory = limits(&own, &told(&own, None));
        assert_eq!(memory, "So how small a loss would have been found is not known.");
        let noted = of(&|own| own.note = Some("a note".to_owned()));
        assert!(noted.ends_with("could have answered for it. Note: a note."), "{noted}");
    }

    fn measured(detail: Detail) -> Measured {
        Measured {
            window_ns: 1,
            elapsed_ns: 1,
            cpu_ns: 0,
            waited_ns: None,
            claims: Claims::default(),
            // As an older version left it.
            values: [("capacity_held_bytes".to_owned(), 7.0)].into(),
            absent: BTreeMap::new(),
            notes: Vec::new(),
            detail: detail.into(),
        }
    }

    /// What a row says that it holds, where rules said this and the target was seen like that.
    fn held_with(remarks: Vec<(&'static str, Remark)>, between: Option<Between>) -> String {
        let work = Planned { full: false, bytes: 64 << 30, between };
        let workload = PlannedWorkload {
            name: "capacity".to_owned(),
            arm: Arm::new(),
            control: false,
            target: 0,
            work: work.into(),
            ramp_ns: 0,
            time_ns: 1,
            note: None,
            background: None,
        };
        let idle = Presence::absent("not watched");
        let row = Row {
            workload: &workload,
            arm: Arm::new(),
            site: None,
            idle: &idle,
            trials: Vec::new(),
            remarks,
            unquiet: Unquiet::default(),
            trust: None,
        };
        let good = SeenCounts { as_written: 2048, ..NONE };
        let told = held(&row, &measured(detail(outcome(good, NONE)))).unwrap();
        told.map_or_else(|why| why, |bytes| bytes.to_string())
    }

    #[test]
    fn the_number_is_that_of_the_verdict_and_counters_have_a_say() {
        let remark = |trust| Remark {
            trust,
            text: "loop0 delivered none of it".to_owned(),
            side: crate::quantity::metric::Side::Both,
        };
        let clear = || Some(Between::Nothing);
        assert_eq!(held_with(Vec::new(), clear()), "68719476736");
        assert_eq!(held_with(vec![("cached", remark(Trust::Trusted))], clear()), "68719476736");
        assert_eq!(held_with(vec![("steal", remark(Trust::Invalid))], clear()), "68719476736");
        for rule in ["cached", "device-bytes"] {
            let told = held_with(vec![(rule, remark(Trust::Invalid))], clear());
            assert_eq!(told, "not told from memory: loop0 delivered none of it");
        }
        assert!(held_with(Vec::new(), None).contains("the version that ran it did not look"));
    }
}
