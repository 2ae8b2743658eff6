//! "Setting up a Small Desktop RAID System": what a small change moves.

use super::judges::{Judge, Topic};
use super::published::{Book, Place, place};
use super::rules::Ruling;
use super::sheet::Sheet;
use super::words::list;
use super::{Claim, Library};
use crate::failure::Outcome;
use crate::quantity::units::show;

const DATA: &str = "raid.csv";
/// The author's own total, the steps that he lists, and Linux md as measured.
const PUBLISHED: &str = "published";
const LISTED: &str = "as-listed";
const MD: &str = "md";
const KIB: f64 = 1024.0;

pub(super) const TOPIC: Topic = Topic {
    article: "002",
    data: &[DATA],
    judges: &[Judge {
        claim: "a 2 KB change moves almost 1 MB at 128K and 7 MB at 1M stripes",
        judge: moved,
    }],
    numbers,
};

/// What one model says of one size of stripe.
struct Model {
    chunk: f64,
    stripes: u64,
    /// What they hold.
    kib: f64,
    /// What is said to be moved.
    said: f64,
}

/// The rows of a counting model, with what its stripes come to.
fn counted(sheet: &Sheet, name: &str) -> Outcome<Vec<Model>> {
    let mut found = Vec::new();
    for row in sheet.rows() {
        if row.text("model")? == name {
            let chunk = row.positive("chunk_kib")?;
            let stripes = row.count("reads_stripes")? + row.count("writes_stripes")?;
            let (kib, said) = (chunk * stripes as f64, row.positive("kib_moved")?);
            found.push(Model { chunk, stripes, kib, said });
        }
    }
    if found.is_empty() {
        return Err(crate::failure::Failure::mistake(format!("{DATA}: no row of model `{name}`")));
    }
    Ok(found)
}

fn measured(sheet: &Sheet, chunk: f64) -> Outcome<Option<f64>> {
    for row in sheet.rows() {
        if row.text("model")? == MD && row.positive("chunk_kib")? == chunk {
            return Ok(Some(row.positive("kib_moved")?));
        }
    }
    Ok(None)
}

fn kib(values: &[f64]) -> String {
    let shown: Vec<String> = values.iter().map(|value| show::three_digits(*value)).collect();
    list(&shown)
}

/// How far a measurement lies below or above what was said: `445 times less`.
fn times_less(said: f64, measured: f64) -> String {
    if said == measured {
        "as much".to_owned()
    } else if said > measured {
        format!("{} times less", show::times(said / measured))
    } else {
        format!("{} times as much", show::times(measured / said))
    }
}

fn moved(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let (published, listed) = (counted(&sheet, PUBLISHED)?, counted(&sheet, LISTED)?);
    let mut md = Vec::new();
    for model in &published {
        md.extend(measured(&sheet, model.chunk)?.map(|moved| (moved, model)));
    }
    if let Some(wrong) = published.iter().find(|model| model.kib != model.said) {
        let Model { chunk, stripes, kib, said } = wrong;
        return Ok(Ruling::contradicted(format!(
            "{stripes} stripes of {chunk} KiB are {kib} KiB, not {said}."
        )));
    }
    let all = |models: &[Model]| kib(&models.iter().map(|model| model.kib).collect::<Vec<_>>());
    let stripes = |models: &[Model]| models.first().map_or(0, |model| model.stripes);
    let (said, steps) = (stripes(&published), stripes(&listed));
    let told = if said == steps {
        format!(
            "{said} stripes as counted are {} KiB, and so are the steps listed",
            all(&published)
        )
    } else {
        format!(
            "{said} stripes as counted are {} KiB, but the steps that the article lists move \
             {steps}, which are {} KiB",
            all(&published),
            all(&listed)
        )
    };
    // A count is of whole stripes: a measurement gives another where it is nearest to another.
    let other =
        |(moved, model): &(f64, &Model)| (moved / model.chunk).round() != model.stripes as f64;
    let beyond = md.iter().any(other);
    let linux = if md.is_empty() {
        String::new()
    } else {
        let moved = kib(&md.iter().map(|(moved, _)| *moved).collect::<Vec<_>>());
        let times: Vec<String> =
            md.iter().map(|(moved, model)| times_less(model.kib, *moved)).collect();
        format!(
            " Linux md was measured to move {moved} KiB, {}; the controller of the \
             article was never measured.",
            list(&times)
        )
    };
    Ok(if said != steps || beyond {
        Ruling::contradicted(format!("{told}.{linux}"))
    } else if md.is_empty() {
        return Err(claim.broken(&format!("{DATA} has no measured row to hold it against")));
    } else {
        Ruling::supported(format!("{told}.{linux}"))
    })
}

fn at(model: &str, chunk: f64) -> Place {
    let chunk = format!("{chunk} KiB");
    place("change-of-2-kib", &[("chunk", &chunk), ("model", model)], "moved_bytes")
}

fn numbers(library: &Library, book: &mut Book) -> Outcome<()> {
    let sheet = library.sheet(DATA)?;
    for row in sheet.rows() {
        let (model, chunk) = (row.text("model")?, row.positive("chunk_kib")?);
        let statistic = match model {
            MD => "measured on Linux md, mean of 20 writes",
            _ => "arithmetic, not measured",
        };
        book.number(&at(model, chunk), row.positive("kib_moved")? * KIB, statistic);
        book.printed(&at(model, chunk), &format!("{} KiB", row.text("kib_moved")?));
        if model != PUBLISHED {
            book.compare(&at(PUBLISHED, chunk), &at(model, chunk));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::times_less;

    #[test]
    fn a_measurement_lies_below_or_above() {
        assert_eq!(times_less(896.0, 16.1), "55.7 times less");
        assert_eq!(times_less(900.0, 1500.0), "1.67 times as much");
        assert_eq!(times_less(896.0, 896.0), "as much");
    }
}
