//! Published numbers that a study is shown beside, read from their tables. They are another machine's:
//! no verdict is made of them.

use crate::failure::Outcome;
use crate::findings::published::{Published, Unit};
use crate::reference::Library;
use crate::reference::sheet::{Printed, Row, Sheet};
use crate::results::design::{Design, Pointer};

/// The numbers that a design names; none of an emulator, whose own lie beside nobody's. What is no
/// longer there is left out: an old result may name a row that a newer version has dropped.
pub(super) fn beside(design: &Design, emulated: bool) -> Vec<Published> {
    if emulated || design.published.is_empty() {
        return Vec::new();
    }
    let library = Library::shipped();
    let of = |pointer: &Pointer| of_pointer(&library, pointer).unwrap_or_default();
    design.published.iter().flat_map(of).collect()
}

fn of_pointer(library: &Library, pointer: &Pointer) -> Outcome<Vec<Published>> {
    let sheet = library.sheet(&pointer.table)?;
    pointer.rows(&sheet)?.iter().map(|row| of_row(&sheet, pointer, row)).collect()
}

fn of_row(sheet: &Sheet, pointer: &Pointer, row: &Row<'_>) -> Outcome<Published> {
    let (digits, unit) = (pointer.digits(row)?, pointer.unit(row));
    let size = pointer.unit_size(unit);
    let number = value(digits);
    let value = match &pointer.ratio {
        Some(_) => number,
        None => number.zip(size).map(|(number, size)| number * size),
    };
    let spelled = if pointer.ratio.is_some() { "" } else { unit };
    let level = |(factor, level): (&String, &String)| {
        let level = row.text(level).map_or_else(|_| level.clone(), str::to_owned);
        (factor.clone(), level)
    };
    Ok(Published {
        article: pointer.article.clone().unwrap_or_default(),
        table: format!("{}:{}", pointer.table, row.line()),
        of: pointer.called(row),
        workload: pointer.workload.clone(),
        arm: pointer.at.iter().map(level).collect(),
        metric: pointer.metric.clone(),
        text: format!("{digits} {spelled}").trim().to_owned(),
        value,
        unit: size.map(|size| Unit { name: unit.to_owned(), size }),
        ratio: pointer.ratio.clone(),
        statistic: statistic(sheet, row),
        flags: row.flags(&pointer.column),
    })
}

/// A plain number, or a fraction of two of them.
fn value(digits: &str) -> Option<f64> {
    let number = |text: &str| Printed::parse(text.trim()).map(|printed| printed.value);
    let value = match digits.split_once('/') {
        Some((above, below)) => number(above)? / number(below)?,
        None => number(digits)?,
    };
    Some(value).filter(|value| value.is_finite())
}

/// What the row says of itself, else what stands above the table.
fn statistic(sheet: &Sheet, row: &Row<'_>) -> String {
    let own = row.text("kind").or_else(|_| row.text("statistic")).unwrap_or_default();
    if own.is_empty() { sheet.statistic() } else { own.to_owned() }
}
