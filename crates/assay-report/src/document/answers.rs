//! What the numbers say of the study's questions, and a card's row of the flash table.

use super::{Block, Column, Role, Section, Table};
use assay_base::exhibit::Unit;
use assay_base::quantity::units::show;
use assay_study::findings::Findings;
use assay_study::findings::answers::{Answer, CardNumber, CardRow, Standing};
use assay_study::findings::fitness::FitBound;
use assay_study::findings::gate::GateAnswer;

/// Heading of the questions with their answers.
pub const QUESTIONS: &str = "questions";

/// The questions, one item each.
pub(super) fn questions(findings: &Findings) -> Option<Section> {
    if findings.answers.all.is_empty() {
        return None;
    }
    // Of a gate, which is asked first, there is no bound.
    let bounds = findings.answers.requirements.iter().flat_map(|fitness| &fitness.bounds);
    let bounds: Vec<&FitBound> = bounds.collect();
    let first = findings.answers.all.len().saturating_sub(bounds.len());
    let told = |(at, answer): (usize, &Answer)| match at
        .checked_sub(first)
        .and_then(|at| bounds.get(at))
    {
        Some(bound) => of_bound(bound),
        None => item(answer, findings.answers.gate.as_ref().filter(|_| at == 0)),
    };
    let items = findings.answers.all.iter().enumerate().map(told).collect();
    Some(Section::titled(QUESTIONS, vec![Block::List(items)]))
}

/// A bound, and whether it holds.
fn of_bound(bound: &FitBound) -> String {
    let FitBound { ask, outcome: ended, reasons: because, published, .. } = bound;
    let published =
        published.iter().map(|text| format!(" Published: {}.", text.trim_end_matches('.')));
    let because = because.iter().map(|text| format!(" {text}"));
    let rest: String = because.chain(published).collect();
    format!("{ask} {}:{rest}", ended.words().to_uppercase())
}

fn item(answer: &Answer, gate: Option<&GateAnswer>) -> String {
    let word = gate.map_or(answer.verdict.word(), |gate| gate.outcome.word());
    let published =
        answer.published.iter().map(|text| format!(" Published: {}.", text.trim_end_matches('.')));
    let because = answer.reasons.iter().map(|text| format!(" {text}"));
    let rest: String = because.chain(published).collect();
    if answer.max_rate.is_some() {
        // Not a claim that is shown or not: what there is, is told.
        return format!("{} {}{rest}", answer.ask, answer.answer);
    }
    format!("{} {}: {}{rest}", answer.ask, word.to_uppercase(), answer.answer)
}

/// The row of the flash table, last on the page.
pub(super) fn card(findings: &Findings) -> Option<Section> {
    let first = findings.cards.first()?;
    let told = |row: &CardRow| {
        let of = |text: &String| match row.target.as_str() {
            "" => text.clone(),
            target => format!("{target}: {text}"),
        };
        row.text.iter().map(of).collect::<Vec<_>>()
    };
    let mut table = table(first, &findings.cards);
    table.notes = findings.cards.iter().flat_map(told).collect();
    Some(Section::from(table).with_role(Role::Of("card")))
}

fn table(first: &CardRow, rows: &[CardRow]) -> Table {
    let per = first.price.as_ref().map_or("price", |price| price.currency.as_str());
    let mb = |own: &Option<CardNumber>| own.as_ref().map(|one| show::mb_per_s(one.value));
    let iops = |own: &Option<CardNumber>| own.as_ref().map(|one| show::per_second(one.value));
    let mut table = Table::new("flash table");
    table.add(Column::left("device"), rows, name);
    table.add(Column::right("read MB/s"), rows, |row| mb(&row.sequential_read));
    table.add(Column::right("write MB/s"), rows, |row| mb(&row.sequential_write));
    table.add(Column::right("read IOPS").breaks(), rows, |row| iops(&row.random_read));
    table.add(Column::right("write IOPS"), rows, |row| iops(&row.random_write));
    table.add(Column::right("claimed").breaks(), rows, |row| {
        row.rated_bytes_per_s.map(|rate| format!("{} MB/s", show::mb_per_s(rate)))
    });
    table.add(Column::new("of claim", Unit::Share), rows, |row| row.share_of_rating);
    table.add(Column::right("price"), rows, |row| row.price.as_ref().map(|price| &price.text));
    table.add(Column::right(format!("IOPS/{per}")), rows, |row| {
        row.iops_per_unit.map(show::per_second)
    });
    table.add(Column::left("90 IOPS").breaks(), rows, line);
    table
}

/// The device, and of several the target too: two cards of one kind are told apart by it.
fn name(row: &CardRow) -> String {
    match row.target.as_str() {
        "" => row.device.clone(),
        target => format!("{} ({target})", row.device),
    }
}

/// Where random writes lie against the article's line.
fn line(row: &CardRow) -> Option<&'static str> {
    let own = row.published.iter().find(|one| one.writes)?;
    Some(match own.place {
        Standing::Above => "above",
        Standing::Below => "below",
        Standing::Open => "cannot be determined",
    })
}
