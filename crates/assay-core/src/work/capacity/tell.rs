//! What a look at a capacity tells beside its metrics: facts, and how they are shown.

use serde::{Deserialize, Serialize};

use super::words::{answer, limits};
use super::{Detail, HELD, Limit, Planned, Told, Verdict, told};
use crate::exhibit::{
    Cell, Column, Exhibit, Levels, Row, Sentence, Subject, Table, Tone, Unit, Value,
};
use crate::quantity::units::show;
use crate::system::between::Between;
use crate::work::tell::{Resting, Seen, Shows, Spoken, Tells, which};
use crate::work::{self, Measured};

/// What one look at what a target holds says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Workload.
    pub workload: String,
    /// Its arm.
    pub arm: Levels,
    /// What is said of the target.
    pub verdict: Verdict,
    /// What it says that it holds, or what a file system has free.
    pub claimed_bytes: u64,
    /// What it holds, where that is known.
    pub held_bytes: Option<u64>,
    /// Its bound, with 95 %, where that comes from a sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_ci95_bytes: Option<[u64; 2]>,
    /// Whether every block was looked at.
    pub full: bool,
    /// Whether it was looked at through a file in free space.
    pub in_free_space: bool,
    /// Blocks that were looked at.
    pub checked_blocks: u64,
    /// Those of them that were wrong before they were tried again.
    pub wrong_blocks: u64,
    /// Blocks that had been written twice.
    #[serde(default)]
    pub rewritten_blocks: u64,
    /// Those that were tried again, and those of them that were wrong again.
    pub again_blocks: [u64; 2],
    /// What a look that found nothing would have found.
    pub limit: Limit,
    /// The answer, in a sentence.
    pub text: String,
    /// What it would have missed, in sentences.
    pub limit_text: String,
    /// Why nothing is said where nothing was wrong: what may have answered for the medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_told: Option<String>,
}

impl Planned {
    /// What a look says, with what is known of who answered it.
    fn look<'a>(
        &self,
        measured: &'a Measured,
        spoken: &[Spoken<'_>],
    ) -> Option<(&'a Detail, Told)> {
        let detail = Detail::of(measured)?;
        let answered = answered(spoken);
        Some((detail, told(detail, answered.as_ref().or(self.between.as_ref()))))
    }
}

/// What the counters of the devices say of who answered: a drive that delivered less than was read.
fn answered(spoken: &[Spoken<'_>]) -> Option<Between> {
    let tells = |own: &&Spoken<'_>| own.invalid && ["cached", "device-bytes"].contains(&own.rule);
    spoken.iter().find(tells).map(|own| Between::Memory(own.text.to_owned()))
}

impl Tells for Planned {
    /// Looks are not averaged.
    fn facts(&self, seen: &Seen<'_>) -> Option<work::Facts> {
        let (detail, found) = self.look(seen.measured, seen.spoken)?;
        let outcome = &detail.outcome;
        let Subject { workload, arm } = seen.subject.clone();
        let facts = Facts {
            workload,
            arm,
            verdict: found.verdict,
            claimed_bytes: outcome.claimed_bytes,
            held_bytes: found.held_bytes,
            held_ci95_bytes: found.held_ci95_bytes,
            full: outcome.shape.full,
            in_free_space: detail.in_free_space,
            checked_blocks: outcome.first.all(),
            wrong_blocks: outcome.first.wrong(),
            rewritten_blocks: outcome.rewritten,
            again_blocks: [outcome.again.all(), outcome.again.wrong()],
            limit: found.limit,
            text: answer(detail, &found) + &which(seen.trials),
            limit_text: limits(detail, &found),
            not_told: found.not_told,
        };
        Some(facts.into())
    }

    /// What it holds is the number that the facts have, whatever the version that looked made of it.
    fn as_judged(
        &self,
        metric: &str,
        measured: &Measured,
        spoken: &[Spoken<'_>],
    ) -> Option<Result<f64, String>> {
        if metric != HELD.name {
            return None;
        }
        let Some((_, found)) = self.look(measured, spoken) else {
            return Some(Err("it was not looked at".to_owned()));
        };
        let unknown = || match found.not_told {
            Some(reason) => format!("not told from memory: {reason}"),
            None => "what it holds was not measured: a full pass tells".to_owned(),
        };
        Some(found.held_bytes.map(|bytes| bytes as f64).ok_or_else(unknown))
    }
}

const LEGEND: &str = "Claims: what the device says, or what a file system has free but a fiftieth; wrong: blocks \
                      of 4 KiB that did not come back as they were written, before they were tried again; holds, \
                      of a sample: with 95 %.";

impl Shows for Facts {
    fn subject(&self) -> Subject {
        Subject { workload: self.workload.clone(), arm: self.arm.clone() }
    }

    fn exhibit(&self) -> Exhibit {
        let columns = vec![
            Column::new("claims", Unit::Bytes),
            Column::new("holds", Unit::Bytes),
            Column::verdicts("verdict"),
            Column::new("looked at", Unit::Count),
            Column::new("wrong", Unit::Count),
        ];
        // The answer first, then what it would have missed.
        let sentences = [&self.text, &self.limit_text];
        Exhibit {
            table: Table {
                title: "capacity".to_owned(),
                columns,
                rows: vec![Row { of: self.subject(), cells: self.cells().to_vec() }],
            },
            remarks: vec![LEGEND.to_owned()],
            beside: None,
            sentences: sentences
                .map(|text| Sentence { about: self.subject(), text: text.clone() })
                .to_vec(),
            leads: true,
        }
    }

    fn resting(&mut self) -> Resting<'_> {
        Resting { text: &mut self.text, unsaid: None }
    }
}

impl Facts {
    fn cells(&self) -> [Cell; 5] {
        let number = |amount: u64| Value::Number(amount as f64);
        let held = match self.held_ci95_bytes {
            Some(ends) => Value::Between(ends.map(|end| end as f64)),
            None => self.held_bytes.map_or(Value::Nothing, number),
        };
        let looked_at = if self.full {
            "every block".to_owned()
        } else {
            format!("{} blocks", show::count(self.checked_blocks))
        };
        let rest = [Value::Words(looked_at), number(self.wrong_blocks)];
        let [looked_at, wrong] = rest.map(Cell::from);
        [number(self.claimed_bytes).into(), held.into(), self.judgement(), looked_at, wrong]
    }

    fn judgement(&self) -> Cell {
        let tone = match self.verdict {
            Verdict::Holds => Tone::Good,
            Verdict::Damaged | Verdict::Unsteady | Verdict::NotTold => Tone::Doubtful,
            _ => Tone::Bad,
        };
        let words = match self.verdict {
            Verdict::Holds if self.held_ci95_bytes.is_some() => "nothing wrong in the sample",
            verdict => verdict.words(),
        };
        Cell { value: Value::Words(words.to_owned()), tone }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_load::SeenCounts;

    use super::super::testing::{NONE, detail, outcome};
    use super::*;
    use crate::work::Claims;

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

    fn good() -> Measured {
        measured(detail(outcome(SeenCounts { as_written: 2048, ..NONE }, NONE)))
    }

    fn planned(between: Option<Between>) -> Planned {
        Planned { full: false, bytes: 64 << 30, between }
    }

    /// What a row says that it holds, where rules said this and the target was seen like that.
    fn held_with(spoken: &[Spoken<'_>], between: Option<Between>) -> String {
        let told = planned(between).as_judged(HELD.name, &good(), spoken).unwrap();
        told.map_or_else(|why| why, |bytes| bytes.to_string())
    }

    #[test]
    fn the_number_is_that_of_the_verdict_and_counters_have_a_say() {
        let says = |rule, invalid| [Spoken { rule, invalid, text: "loop0 delivered none of it" }];
        let clear = || Some(Between::Nothing);
        assert_eq!(held_with(&[], clear()), "68719476736");
        assert_eq!(held_with(&says("cached", false), clear()), "68719476736");
        assert_eq!(held_with(&says("steal", true), clear()), "68719476736");
        for rule in ["cached", "device-bytes"] {
            let told = held_with(&says(rule, true), clear());
            assert_eq!(told, "not told from memory: loop0 delivered none of it");
        }
        assert!(held_with(&[], None).contains("the version that ran it did not look"));
        let other = planned(clear()).as_judged("capacity_wrong_blocks", &good(), &[]);
        assert_eq!(other, None, "no rule changes what was counted");
    }

    fn facts(measured: &Measured, trials: usize) -> Facts {
        let arm = [("target".to_owned(), "/dev/x".to_owned())].into();
        let subject = Subject { workload: "capacity".to_owned(), arm };
        let seen = Seen { subject: &subject, measured, trials, spoken: &[], near_limit: None };
        let told = planned(Some(Between::Nothing)).facts(&seen).unwrap();
        Facts::of(&told).unwrap().clone()
    }

    /// The words of the cells, each with its tone.
    fn row(facts: &Facts) -> Vec<(String, Tone)> {
        let Exhibit { table, .. } = facts.exhibit();
        let cells = table.rows[0].cells.iter().zip(&table.columns);
        let text = |(cell, column): (&Cell, &Column)| {
            (cell.value.text(column.unit).unwrap_or("-".to_owned()), cell.tone)
        };
        cells.map(text).collect()
    }

    #[test]
    fn a_look_is_shown_with_its_bound_and_its_judgement() {
        let plain = |text: &str| (text.to_owned(), Tone::Plain);
        let sample = facts(&good(), 1);
        let verdict = ("nothing wrong in the sample".to_owned(), Tone::Good);
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
        let short = facts(&measured(detail(full)), 1);
        let verdict = ("returns zeros".to_owned(), Tone::Bad);
        assert_eq!(
            row(&short),
            [plain("64 GiB"), plain("1 GiB"), verdict, plain("every block"), plain("500")]
        );
        let unsteady = outcome(first, SeenCounts { as_written: 32, ..NONE });
        let unsteady = row(&facts(&measured(detail(unsteady)), 1));
        assert_eq!(unsteady[1..3], [plain("-"), ("unsteady".to_owned(), Tone::Doubtful)]);
    }

    #[test]
    fn the_answer_is_said_first_and_rests_on_the_numbers() {
        let mut last = facts(&good(), 3);
        assert!(last.text.ends_with(" That is the last of 3 trials."), "{}", last.text);
        let Exhibit { sentences, leads, .. } = last.exhibit();
        let said: Vec<&String> = sentences.iter().map(|one| &one.text).collect();
        assert_eq!((said, leads), (vec![&last.text, &last.limit_text], true));
        assert!(sentences.iter().all(|one| one.about == last.subject()));
        let text = last.text.clone();
        let resting = last.resting();
        assert_eq!((&*resting.text, resting.unsaid), (&text, None));
    }
}
