//! "Setting up a Small Desktop RAID System": what a small change moves.

use assay_base::failure::Outcome;
use assay_base::quantity::units::show;
use assay_study::findings::answers::Claim::Supported;

use super::Library;
use super::judges::{Case, Judge};
use super::published::{Book, place};
use super::rules::{Ruling, held};
use super::sheet::Sheet;
use super::words::list;

/// The author's own total, the steps that he lists, and Linux md as measured.
const PUBLISHED: &str = "published";
const LISTED: &str = "as-listed";
const MD: &str = "md";
const KIB: f64 = 1024.0;

pub(super) const JUDGES: &[Judge] =
    &[("a 2 KB change moves almost 1 MB at 128K and 7 MB at 1M stripes", moved)];

/// What one model says of one size of stripe.
struct Model {
    chunk: f64,
    stripes: u64,
    /// What they hold.
    kib: f64,
    /// What is said to be moved.
    said: f64,
    /// What Linux md was measured to move.
    md: f64,
}

/// The rows of a counting model, with what its stripes come to.
fn counted(sheet: &Sheet, name: &str) -> Outcome<Vec<Model>> {
    let mut found = Vec::new();
    for row in sheet.rows() {
        if row.text("model")? == name {
            let chunk = row.positive("chunk_kib")?;
            let stripes = row.count("reads_stripes")? + row.count("writes_stripes")?;
            let (kib, said) = (chunk * stripes as f64, row.positive("kib_moved")?);
            let md = [("model", MD), ("chunk_kib", row.text("chunk_kib")?)];
            let md = sheet.one(&md)?.positive("kib_moved")?;
            found.push(Model { chunk, stripes, kib, said, md });
        }
    }
    if found.is_empty() {
        return Err(sheet.broken(&format!("no row of model `{name}`")));
    }
    Ok(found)
}

fn each(models: &[Model], words: fn(&Model) -> String) -> String {
    list(&models.iter().map(words).collect::<Vec<_>>())
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

fn moved(of: &Case<'_>) -> Outcome<Ruling> {
    let (published, listed) = (counted(&of.sheet, PUBLISHED)?, counted(&of.sheet, LISTED)?);
    if let Some(wrong) = published.iter().find(|model| model.kib != model.said) {
        let Model { chunk, stripes, kib, said, .. } = wrong;
        return Ok(Ruling::contradicted(format!(
            "{stripes} stripes of {chunk} KiB are {kib} KiB, not {said}."
        )));
    }
    let [all, others] =
        [&published, &listed].map(|models| each(models, |model| show::three_digits(model.kib)));
    let [said, steps] = [&published, &listed].map(|models| models[0].stripes);
    let listed = if said == steps {
        ", and so are the steps listed".to_owned()
    } else {
        format!(", but the steps that the article lists move {steps}, which are {others} KiB")
    };
    let md = each(&published, |model| show::three_digits(model.md));
    let times = each(&published, |model| times_less(model.kib, model.md));
    // A count is of whole stripes: a measurement gives another where it is nearest to another.
    let is_other = |model: &Model| (model.md / model.chunk).round() != model.stripes as f64;
    let told = format!(
        "{said} stripes as counted are {all} KiB{listed}. Linux md was measured to move {md} KiB, \
         {times}; the controller of the article was never measured."
    );
    Ok(held(said == steps && !published.iter().any(is_other), &told, Supported, "", ""))
}

pub(super) fn numbers(_: &Library, sheet: &Sheet, book: &mut Book) -> Outcome<()> {
    for row in sheet.rows() {
        let (model, chunk) = (row.text("model")?, row.positive("chunk_kib")?);
        let size = format!("{chunk} KiB");
        let at = |model: &str| {
            place("change-of-2-kib", &[("chunk", &size), ("model", model)], "moved_bytes")
        };
        let statistic = match model {
            MD => "measured on Linux md, mean of 20 writes",
            _ => "arithmetic, not measured",
        };
        let printed = format!("{} KiB", row.text("kib_moved")?);
        book.number(&at(model), row.positive("kib_moved")? * KIB, statistic, &printed);
        if model != PUBLISHED {
            book.compare(&at(PUBLISHED), &at(model));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Library, times_less};

    #[test]
    fn a_measurement_lies_below_or_above() {
        assert_eq!(times_less(896.0, 16.1), "55.7 times less");
        assert_eq!(times_less(900.0, 1500.0), "1.67 times as much");
        assert_eq!(times_less(896.0, 896.0), "as much");
    }

    #[test]
    fn a_count_that_nothing_was_measured_for_is_refused() {
        let text = Library::shipped().text("raid.csv").unwrap().replace("md,128,", "md,64,");
        let failure = crate::articles::judge(&Library::shipped().with("raid.csv", text));
        let told = failure.unwrap_err().message;
        assert_eq!(told, "raid.csv: no row with model `md` and chunk_kib `128`");
    }
}
