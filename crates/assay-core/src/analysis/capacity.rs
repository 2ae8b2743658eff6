//! What looks at capacities say, and what writing for long says, in sentences.

use assay_load::{Seen, WrongBlock};

use super::rows::Row;
use crate::findings::Findings;
use crate::findings::capacity::{CapacityFacts, SustainedFacts};
use crate::findings::said::{Said, Sentence};
use crate::quantity::units::show;
use crate::results::plan::{Arm, Plan};
use crate::work::capacity::{Detail, Limit, Told, Verdict, told};
use crate::work::sustained::{self, Course, course};

/// What the last trial of a row found; looks are not averaged.
pub(super) fn of_row(plan: &Plan, row: &Row<'_>) -> Option<CapacityFacts> {
    let measured = row.counting().last()?.record.measured.as_ref()?;
    let detail = Detail::of(measured)?;
    let found = told(detail);
    let outcome = &detail.outcome;
    let survey = plan.surveys.get(row.workload.target);
    let direct = survey.is_none_or(|survey| survey.direct.value().is_some());
    Some(CapacityFacts {
        workload: row.workload.name.clone(),
        arm: row.arm.clone(),
        verdict: found.verdict,
        claimed_bytes: outcome.claimed_bytes,
        held_bytes: found.held_bytes,
        full: outcome.shape.full,
        in_free_space: detail.in_free_space,
        checked_blocks: outcome.first.all(),
        wrong_blocks: outcome.first.wrong(),
        again_blocks: [outcome.again.all(), outcome.again.wrong()],
        limit: found.limit,
        text: answer(detail, &found),
        limit_text: limits(detail, &found.limit, direct),
    })
}

/// What the last trial of a row wrote.
pub(super) fn sustained_of_row(row: &Row<'_>) -> Option<SustainedFacts> {
    let measured = row.counting().last()?.record.measured.as_ref()?;
    let course = course(sustained::Detail::of(measured)?)?;
    let text = sustained_words(&course);
    Some(SustainedFacts { workload: row.workload.name.clone(), arm: row.arm.clone(), course, text })
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

fn answer(detail: &Detail, found: &Told) -> String {
    let outcome = &detail.outcome;
    let (claimed, first) = (sold(outcome.claimed_bytes), outcome.first);
    let whose = if detail.in_free_space { "The free space" } else { "The device" };
    let claims = if detail.in_free_space {
        format!("{claimed} are free")
    } else {
        format!("It claims {claimed}")
    };
    let looked_at = format!("{} blocks of 4 KiB", show::count(first.all()));
    let (all, again) = (outcome.again.all(), outcome.again.wrong());
    match found.verdict {
        Verdict::Holds if outcome.shape.full && !outcome.cut_short => format!(
            "{whose} holds what it says: all of {claimed} was written and read again as it was written."
        ),
        Verdict::Holds => format!(
            "{whose} holds what it says, as far as {looked_at} of {claimed} show: all of them came back \
             as they were written."
        ),
        Verdict::Unsteady => format!(
            "{whose} is unsteady: of {looked_at} {} came back wrong, and right when {} of them were \
             written once more; that is no lie about its size, and no reason to trust it.",
            show::count(first.wrong()),
            show::count(all)
        ),
        Verdict::Damaged => format!(
            "{whose} turns bits: {} of {looked_at} came back with some bits turned, and {again} of {all} \
             did again; it is worn or faulty, and does not lie about its size.",
            show::count(first.wrong())
        ),
        verdict => format!(
            "{whose} does not hold what it says. {claims}, {}{}; {again} of {all} blocks that were wrong \
             were wrong again.",
            held(found),
            example(verdict, found.example, outcome.refused.as_deref())
        ),
    }
}

fn held(found: &Told) -> String {
    match (found.held_bytes, found.is_share) {
        (Some(bytes), false) => format!("and holds about {}", sold(bytes)),
        (Some(bytes), true) => {
            format!("and holds about {}, what is lost lying here and there", sold(bytes))
        }
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
        Seen::Failed => {
            format!(": byte {place} is refused ({})", refused.unwrap_or("an error"))
        }
        Seen::Flipped { .. } | Seen::AsWritten => format!(" ({})", verdict.words()),
    }
}

/// What would have been found, and what would not.
fn limits(detail: &Detail, limit: &Limit, direct: bool) -> String {
    let outcome = &detail.outcome;
    let claimed = outcome.claimed_bytes.max(1) as f64;
    let share = |bytes: u64| show::brief_percent(100.0 * bytes as f64 / claimed);
    let mut told = Vec::new();
    if outcome.cut_short {
        told.push("The time ended it before all was looked at.".to_owned());
    }
    if limit.scattered_95_bytes == 0 {
        told.push(
            "Every block was looked at: no lie of any size can have been missed but by a cache."
                .to_owned(),
        );
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
    told.push(format!(
        "A cache of {} or more inside the drive could have answered for it.",
        size(limit.cache_bytes)
    ));
    if let Some(note) = &outcome.note {
        told.push(format!("Note: {note}."));
    }
    if !direct {
        told.push(
            "Direct I/O was refused: what was read went through the memory of this computer, which was \
             asked to forget it before."
                .to_owned(),
        );
    }
    told.join(" ")
}

fn sustained_words(course: &Course) -> String {
    let written = size(course.written_bytes);
    let last = course.last();
    let rate = last.map_or_else(String::new, |level| {
        let ends = level.rate_ci95.map(|ends| ends.map(show::rate));
        let interval = ends
            .map_or_else(String::new, |[low, high]| format!(" (95 % interval {low} to {high})"));
        format!("{}{interval}", show::rate(level.rate_bytes_per_s))
    });
    let Some(fall) = course.fall() else {
        let held_up = match course.levels.len() {
            0 | 1 => "",
            _ => {
                " The rate changed meanwhile, but did not stay below the first: that was something else."
            }
        };
        return format!(
            "It writes {rate}, for as long as {written} last: no end of a fast cache was seen in them.{held_up}"
        );
    };
    let burst = course.levels.first().map_or(0.0, |level| level.rate_bytes_per_s);
    let place = fall.from_ci95_bytes.map(|ends| ends.map(size));
    let interval =
        place.map_or_else(String::new, |[low, high]| format!(", 95 % interval {low} to {high}"));
    format!(
        "It writes {} at first; after {}{interval}, its fast cache is full. What is left then is {rate}, over \
         {written} in all.",
        show::rate(burst),
        size(fall.from_bytes)
    )
}
