//! What the numbers say of the study's questions, and a card's row of the flash table.

use super::{Block, Cell, NONE, Row, Section, Table};
use crate::table::columns;
use assay_core::findings::Findings;
use assay_core::findings::answers::{Answer, CardNumber, CardRow, Claim, Standing};
use assay_core::quantity::units::show;

/// The questions, one item each.
pub(super) fn questions(findings: &Findings) -> Option<Section> {
    if findings.answers.is_empty() {
        return None;
    }
    let items = findings.answers.iter().map(item).collect();
    Some(Section::titled("questions", vec![Block::List(items)]))
}

fn item(answer: &Answer) -> String {
    let word = match answer.verdict {
        Claim::Supported => "supported",
        Claim::Contradicted => "contradicted",
        Claim::NotShown => "not shown",
        Claim::NoData => "no data",
    };
    let published =
        answer.published.iter().map(|text| format!(" Published: {}.", text.trim_end_matches('.')));
    let because = answer.because.iter().map(|text| format!(" {text}"));
    let rest: String = because.chain(published).collect();
    format!("{} {}: {}{rest}", answer.ask, word.to_uppercase(), answer.answer)
}

/// The row of the flash table, last on the page.
pub(super) fn card(findings: &Findings) -> Option<Section> {
    let row = findings.card.as_ref()?;
    let blocks = vec![Block::Table(table(row)), Block::Text(row.text.clone())];
    Some(Section::titled("flash table", blocks))
}

fn table(row: &CardRow) -> Table {
    let per = row.price.as_ref().map_or("price", |price| price.currency.as_str());
    let titles = [
        "device",
        ">read MB/s",
        ">write MB/s",
        ">read IOPS",
        ">write IOPS",
        ">claimed",
        ">of claim",
        ">price",
        &format!(">IOPS/{per}"),
        "90 IOPS",
    ];
    let mut columns = columns(&titles);
    for index in [3, 5, 9] {
        columns[index].breaks = true;
    }
    let mega = |value: f64| show::three_digits(value / 1e6);
    let told = |number: &Option<CardNumber>, show: &dyn Fn(f64) -> String| {
        Cell::plain(number.as_ref().map_or_else(|| NONE.to_owned(), |one| show(one.value)))
    };
    let plain = |text: Option<String>| Cell::plain(text.unwrap_or_else(|| NONE.to_owned()));
    let cells = vec![
        Cell::plain(row.device.clone()),
        told(&row.linear_read, &mega),
        told(&row.linear_write, &mega),
        told(&row.random_read, &show::per_second),
        told(&row.random_write, &show::per_second),
        plain(row.claimed_bytes_per_s.map(|rate| format!("{} MB/s", mega(rate)))),
        plain(row.share_of_claim.map(show::share)),
        plain(row.price.as_ref().map(|price| price.text.clone())),
        plain(row.iops_per_unit.map(show::per_second)),
        plain(line(row)),
    ];
    let notes = Vec::new();
    Table { columns, rows: vec![Row { name: row.device.clone(), cells, notes }] }
}

/// Where random writes lie against the article's line.
fn line(row: &CardRow) -> Option<String> {
    let own = row.beside.iter().find(|one| one.writes)?;
    Some(
        match own.place {
            Standing::Above => "above",
            Standing::Below => "below",
            Standing::Open => "cannot be told",
        }
        .to_owned(),
    )
}
