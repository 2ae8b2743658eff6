//! Facts and exhibits of a capacity check.

use std::cmp::Reverse;

use assay_core::exhibit::{
    Cell, Column, Exhibit, Levels, Row, Sentence, Subject, Table, Tone, Unit,
};
use assay_core::quantity::units::show;
use assay_machine::system::between::Between;
use serde::{Deserialize, Serialize};

use super::words::{limit_words, passes_words, verdict_words};
use super::{CapacityDetail, CapacityPlan, DetectionLimit, Finding, HELD, Verdict, judge_check};
use crate::Measured;
use crate::tell::{OfRow, Resting, RowSource, RowView, Shows, Tells, TriggeredRule};

/// Facts of capacity checks of a target: with several, of the worst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityFacts {
    pub workload: String,
    pub configuration: Levels,
    /// What is said of the target.
    pub verdict: Verdict,
    /// The claimed capacity, or the free space of a file system.
    pub announced_bytes: u64,
    /// The usable capacity if known: the number of the row.
    pub usable_bytes: Option<u64>,
    /// The smallest and the largest result of several checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable_range_bytes: Option<[u64; 2]>,
    /// Its 95% CI if it comes from a sample; `None` if several checks differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable_ci95_bytes: Option<[u64; 2]>,
    /// Whether every block was checked.
    pub full: bool,
    /// Whether it was checked through a file in free space.
    pub in_free_space: bool,
    pub checked_blocks: u64,
    /// Wrong blocks before the retries.
    pub wrong_blocks: u64,
    /// Blocks that were written twice.
    #[serde(default)]
    pub rewritten_blocks: u64,
    /// Retried blocks, and those that were wrong again.
    pub retried_blocks: [u64; 2],
    /// Detection limits of a check that found nothing wrong.
    pub limit: DetectionLimit,
    /// The answer, in a sentence.
    pub text: String,
    /// The detection limits in sentences.
    pub limit_text: String,
    /// Why the result is inconclusive although nothing was wrong: what may have served the reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inconclusive_reason: Option<String>,
}

impl CapacityPlan {
    /// Judges a check; a triggered rule on caches replaces what the plan knows of caches.
    fn judge_with_rules<'a>(
        &self,
        measured: &'a Measured,
        triggered: &[TriggeredRule<'_>],
    ) -> Option<(&'a CapacityDetail, Finding)> {
        let detail = CapacityDetail::of(measured)?;
        let proven_cache = cache_by_rule(triggered);
        Some((detail, judge_check(detail, proven_cache.as_ref().or(self.between.as_ref()))))
    }
}

/// The cache that the device counters prove: a drive that delivered fewer bytes than were read.
fn cache_by_rule(spoken: &[TriggeredRule<'_>]) -> Option<Between> {
    let tells =
        |rule: &&TriggeredRule<'_>| rule.invalid && ["cached", "device-bytes"].contains(&rule.rule);
    spoken.iter().find(tells).map(|rule| Between::Memory(rule.text.to_owned()))
}

impl Tells for CapacityPlan {
    /// Of several checks the worst counts, because verdicts cannot be averaged.
    fn facts(&self, seen: &RowView<'_>) -> Option<crate::WorkFacts> {
        let measured = seen.trials.iter().flatten();
        let mut checks: Vec<(&CapacityDetail, Finding)> =
            measured.filter_map(|measured| self.judge_with_rules(measured, seen.spoken)).collect();
        let held = usable_range(&checks);
        let passes = passes_words(&checks, held);
        let (detail, mut found) = checks.swap_remove(worst_check(&checks)?);
        let text = verdict_words(detail, &found) + &passes;
        // The interval is that of one check, so it does not cover different results.
        if held.is_some_and(|[least, most]| least < most) {
            found.held_ci95_bytes = None;
        }
        let outcome = &detail.outcome;
        let Subject { workload, arm } = seen.subject.clone();
        let facts = CapacityFacts {
            workload,
            configuration: arm,
            verdict: found.verdict,
            announced_bytes: outcome.claimed_bytes,
            usable_bytes: found.held_bytes,
            usable_range_bytes: held,
            usable_ci95_bytes: found.held_ci95_bytes,
            full: outcome.shape.full && !outcome.cut_short,
            in_free_space: detail.in_free_space,
            checked_blocks: outcome.first.all(),
            wrong_blocks: outcome.first.wrong(),
            rewritten_blocks: outcome.rewritten,
            retried_blocks: [outcome.again.all(), outcome.again.wrong()],
            limit: found.limit,
            text,
            limit_text: limit_words(detail, &found),
            inconclusive_reason: found.why_inconclusive,
        };
        Some(facts.into())
    }

    /// The usable capacity is that of the facts, for records of any version.
    fn as_judged(
        &self,
        metric: &str,
        measured: &Measured,
        spoken: &[TriggeredRule<'_>],
    ) -> Option<Result<f64, String>> {
        if metric != HELD.name {
            return None;
        }
        let Some((_, found)) = self.judge_with_rules(measured, spoken) else {
            return Some(Err("not tested".to_owned()));
        };
        Some(found.usable())
    }
}

/// Index of the worst check; of equal ones, the last.
fn worst_check(checks: &[(&CapacityDetail, Finding)]) -> Option<usize> {
    (0..checks.len()).max_by_key(|index| {
        let (_, found) = &checks[*index];
        (found.verdict.gravity(), Reverse(found.held_bytes.unwrap_or(u64::MAX)))
    })
}

/// The smallest and the largest result of several checks.
fn usable_range(checks: &[(&CapacityDetail, Finding)]) -> Option<[u64; 2]> {
    let held = || checks.iter().filter_map(|(_, found)| found.held_bytes);
    (checks.len() > 1).then_some([held().min()?, held().max()?])
}

const LEGEND: &str = "Claimed: the reported size of the device, or 98% of the free space of a filesystem. Wrong: \
                      number of 4 KiB blocks with wrong data before any retry. Usable: the 95% CI if Assay tested a \
                      sample, or the range if the passes differ. The row shows the worst of several passes.";

impl Shows for CapacityFacts {
    const KEY: &'static str = "capacity";

    fn exhibit(all: &[&Self], _: &dyn RowSource) -> Exhibit {
        let table = Table {
            title: "capacity".to_owned(),
            columns: vec![
                Column::new("claimed", Unit::Bytes),
                Column::new("usable", Unit::Bytes),
                Column::verdict("verdict"),
                Column::new("tested", Unit::Count),
                Column::new("wrong", Unit::Count),
            ],
            rows: all.iter().map(|row| Row::about(row.subject(), row.cells())).collect(),
            notes: vec![LEGEND.to_owned()],
        };
        Exhibit {
            tables: vec![table],
            sentences: all.iter().flat_map(|row| row.sentences()).collect(),
            leads: true,
            ..Exhibit::default()
        }
    }
}

impl OfRow for CapacityFacts {
    /// Several checks have the number of their row, which is the same everywhere.
    fn settle(&mut self, number: &dyn Fn(&str) -> Option<f64>) {
        if self.usable_range_bytes.is_some() {
            self.usable_bytes = number(HELD.name).map(|bytes| bytes.round() as u64);
        }
    }

    fn resting(&mut self) -> Option<Resting<'_>> {
        Some(Resting { text: &mut self.text, unsaid: None })
    }
}

impl CapacityFacts {
    fn sentences(&self) -> [Sentence; 2] {
        let texts = [&self.text, &self.limit_text];
        texts.map(|text| Sentence { about: self.subject(), text: text.clone() })
    }

    fn cells(&self) -> [Cell; 5] {
        let unequal = self.usable_range_bytes.filter(|[least, most]| least < most);
        let usable: Cell = match unequal.or(self.usable_ci95_bytes) {
            Some(ends) => ends.map(|end| end as f64).into(),
            None => self.usable_bytes.into(),
        };
        let tested = if self.full {
            "every block".to_owned()
        } else {
            format!("{} blocks", show::count(self.checked_blocks))
        };
        [
            self.announced_bytes.into(),
            usable,
            self.judgement(),
            tested.into(),
            self.wrong_blocks.into(),
        ]
    }

    fn judgement(&self) -> Cell {
        let tone = match self.verdict {
            Verdict::Genuine => Tone::Good,
            Verdict::Damaged | Verdict::Unstable | Verdict::Inconclusive => Tone::Doubtful,
            _ => Tone::Bad,
        };
        let words = match self.verdict {
            Verdict::Genuine if self.limit.scattered_95_bytes > 0 => "sample intact",
            verdict => verdict.words(),
        };
        Cell::toned(words, tone)
    }
}

#[cfg(test)]
mod tests {

    use assay_load::SeenCounts;

    use super::super::testing::{NONE, detail, outcome};
    use super::*;

    use crate::tell::Bare;

    fn measured(detail: CapacityDetail) -> Measured {
        Measured {
            window_ns: 1,
            elapsed_ns: 1,
            // As stored by an older version.
            values: [("capacity_usable_bytes".to_owned(), 7.0)].into(),
            ..Measured::from_detail(detail)
        }
    }

    fn good() -> Measured {
        measured(detail(outcome(SeenCounts { as_written: 2048, ..NONE }, NONE)))
    }

    fn planned(between: Option<Between>) -> CapacityPlan {
        CapacityPlan { full: false, bytes: 64 << 30, between }
    }

    /// The usable capacity of a row with these remarks and this cache.
    fn held_with(spoken: &[TriggeredRule<'_>], between: Option<Between>) -> String {
        let told = planned(between).as_judged(HELD.name, &good(), spoken).unwrap();
        told.map_or_else(|why| why, |bytes| bytes.to_string())
    }

    #[test]
    fn the_number_is_that_of_the_verdict_and_counters_have_a_say() {
        let says =
            |rule, invalid| [TriggeredRule { rule, invalid, text: "loop0 delivered none of it" }];
        let clear = || Some(Between::Nothing);
        assert_eq!(held_with(&[], clear()), "68719476736");
        assert_eq!(held_with(&says("cached", false), clear()), "68719476736");
        assert_eq!(held_with(&says("steal", true), clear()), "68719476736");
        for rule in ["cached", "device-bytes"] {
            let told = held_with(&says(rule, true), clear());
            assert_eq!(told, "memory may have served the reads: loop0 delivered none of it");
        }
        assert!(held_with(&[], None).contains("created this result did not record"));
        let other = planned(clear()).as_judged("capacity_wrong_blocks", &good(), &[]);
        assert_eq!(other, None, "no rule changes what was counted");
    }

    fn facts(checks: &[&Measured]) -> CapacityFacts {
        let arm = [("target".to_owned(), "/dev/x".to_owned())].into();
        let subject = Subject { workload: "capacity".to_owned(), arm };
        let trials: Vec<Option<&Measured>> = checks.iter().copied().map(Some).collect();
        let seen = RowView::bare(&subject, &trials);
        let told = planned(Some(Between::Nothing)).facts(&seen).unwrap();
        CapacityFacts::of(&told).unwrap().clone()
    }

    fn row(facts: &CapacityFacts) -> Vec<(String, Tone)> {
        let table = &CapacityFacts::exhibit(&[facts], &Bare).tables[0];
        let cells = table.rows[0].cells.iter().zip(&table.columns);
        cells.map(|(cell, column)| (cell.text(column.unit), cell.tone)).collect()
    }

    #[test]
    fn a_look_is_shown_with_its_bound_and_its_judgement() {
        let plain = |text: &str| (text.to_owned(), Tone::Plain);
        let sample = facts(&[&good()]);
        let verdict = ("sample intact".to_owned(), Tone::Good);
        assert_eq!(
            row(&sample),
            [
                plain("64 GiB"),
                plain("63.9 GiB to 64 GiB"),
                verdict,
                plain("2,048 blocks"),
                plain("0")
            ]
        );
        let first = SeenCounts { as_written: 1500, zero: 500, ..NONE };
        let mut full = outcome(first, SeenCounts { zero: 30, ..NONE });
        (full.shape.full, full.held_bytes) = (true, Some(1 << 30));
        let short = facts(&[&measured(detail(full))]);
        let verdict = ("returns zeros".to_owned(), Tone::Bad);
        assert_eq!(
            row(&short),
            [plain("64 GiB"), plain("1 GiB"), verdict, plain("every block"), plain("500")]
        );
        let unsteady = outcome(first, SeenCounts { as_written: 32, ..NONE });
        let unsteady = row(&facts(&[&measured(detail(unsteady))]));
        assert_eq!(unsteady[1..3], [plain("-"), ("unreliable".to_owned(), Tone::Doubtful)]);
    }

    #[test]
    fn the_answer_is_said_first_and_rests_on_the_numbers() {
        let mut last = facts(&[&good(), &good(), &good()]);
        assert!(last.text.ends_with(" All 3 passes agree."), "{}", last.text);
        let Exhibit { sentences, leads, .. } = CapacityFacts::exhibit(&[&last], &Bare);
        let said: Vec<&String> = sentences.iter().map(|one| &one.text).collect();
        assert_eq!((said, leads), (vec![&last.text, &last.limit_text], true));
        assert!(sentences.iter().all(|one| one.about == last.subject()));
        let text = last.text.clone();
        let resting = last.resting().unwrap();
        assert_eq!((&*resting.text, resting.unsaid), (&text, None));
    }

    #[test]
    fn of_several_looks_the_gravest_speaks_and_the_number_is_that_of_their_row() {
        let own = detail(outcome(SeenCounts { as_written: 2560, ..NONE }, NONE));
        let look = |verdict, held: u64| {
            let found = judge_check(&own, Some(&Between::Nothing));
            (&own, Finding { verdict, held_bytes: Some(held), ..found })
        };
        let checks = [
            look(Verdict::Wraps, 8 << 30),
            look(Verdict::Wraps, 9 << 30),
            look(Verdict::Genuine, 64 << 30),
        ];
        assert_eq!(worst_check(&checks), Some(0));
        let held = usable_range(&checks);
        assert_eq!(held, Some([8 << 30, 64 << 30]));
        assert_eq!(
            passes_words(&checks, held),
            " This is the worst of 3 passes, which found capacities of 8.59 GB (8 GiB) to 68.7 GB (64 GiB)."
        );
        // A single check is reported as it is, and so are equal ones.
        assert_eq!(
            (usable_range(&checks[..1]), passes_words(&checks[..1], None)),
            (None, String::new())
        );
        let alike = [look(Verdict::Genuine, 64 << 30), look(Verdict::Genuine, 64 << 30)];
        let held = usable_range(&alike);
        assert_eq!((worst_check(&alike), held), (Some(1), Some([64 << 30; 2])));
        assert_eq!(passes_words(&alike, held), " All 2 passes agree.");

        let first = SeenCounts { as_written: 1500, zero: 500, ..NONE };
        let mut short = outcome(first, SeenCounts { zero: 30, ..NONE });
        short.held_bytes = Some(8 << 30);
        let settled = |mut facts: CapacityFacts| {
            facts.settle(&|metric| (metric == HELD.name).then_some(7e9));
            facts
        };
        let both = settled(facts(&[&measured(detail(short)), &good()]));
        assert_eq!((both.verdict, both.usable_bytes), (Verdict::Zeroes, Some(7_000_000_000)));
        assert_eq!(both.usable_ci95_bytes, None);
        assert_eq!(row(&both)[1].0, "8 GiB to 64 GiB");
        assert_eq!(settled(facts(&[&good()])).usable_bytes, Some(64 << 30), "one look is its row");
    }
}
