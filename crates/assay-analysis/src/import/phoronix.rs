//! Phoronix Test Suite's `composite.xml`: results with the values of all their runs.

use assay_core::{catalogue::About, failure::Outcome, quantity::Better};

use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "phoronix-xml",
        summary: "composite.xml of the Phoronix Test Suite",
        text: "Each value of a result is a run, and Assay compares the systems. The suite runs all repetitions on one \
               system before the next system, in an unknown order, so Assay gives ratios without verdicts.",
    },
    recognises: |start| start.contains("<PhoronixTestSuite>"),
    reads: Reads::Runs(read),
    unused: &[("<Value>", "the mean of the runs")],
};

const ENTITIES: [(&str, &str); 5] =
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];

/// One run per value of a system in a result; a failed run for a system without values.
fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let mut runs = Vec::new();
    for result in elements(text, "Result") {
        let (title, about) = (element_text(result, "Title"), element_text(result, "Description"));
        let workload = [title, about].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let parts = [element_text(result, "Identifier"), element_text(result, "Arguments")];
        let place = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let unit = element_text(result, "Scale").unwrap_or_else(|| "value".to_owned());
        let better = match element_text(result, "Proportion").as_deref() {
            Some("LIB") => Better::Lower,
            Some("HIB") => Better::Higher,
            _ => Better::Unknown,
        };
        for entry in elements(result, "Entry") {
            let system = element_text(entry, "Identifier").unwrap_or_else(|| "system".to_owned());
            let raw = element_text(entry, "RawString").filter(|raw| !raw.is_empty());
            let text = raw.or_else(|| element_text(entry, "Value")).unwrap_or_default();
            let mut shared =
                ImportedRun { place: place.clone(), ..ImportedRun::new(workload.clone()) };
            shared.set("system", system.clone());
            let values: Vec<_> = text.split(':').filter(|value| !value.trim().is_empty()).collect();
            if values.is_empty() {
                shared.add_as(&unit, better, None);
                shared.failed = Some("the suite recorded no result: all runs failed".to_owned());
                runs.push(shared.clone());
            }
            for value in values {
                let mut run = shared.clone();
                run.add_as(&unit, better, value.trim().parse().ok());
                runs.push(run);
            }
        }
    }
    let missing = "contains no Result with an Entry and a Value; the file may be truncated";
    ImportedRuns { runs, ..ImportedRuns::default() }.require(name, missing)
}

/// The contents of all outermost elements with a name.
fn elements<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&open)?;
        let (inside, behind) = after.split_once(&close)?;
        rest = behind;
        Some(inside)
    })
}

fn element_text(text: &str, name: &str) -> Option<String> {
    let inside = elements(text, name).next()?;
    let plain =
        ENTITIES.iter().fold(inside.to_owned(), |text, (code, sign)| text.replace(code, sign));
    Some(plain.trim().to_owned())
}
