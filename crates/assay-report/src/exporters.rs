//! Findings in the formats of other tools. A format omits findings that it cannot express; each exporter lists them.

mod benchstat;
mod custom_is_better;
mod fio_json;
mod hyperfine_json;
mod junit;
mod openmetrics;
mod trials_csv;

use assay_core::catalogue::About;
use assay_study::findings::{Findings, Measurement, TrialValue};

use crate::{markdown, text};

pub use self::junit::EXPORTER as JUNIT;

#[derive(Clone, Copy, Debug)]
pub struct Exporter {
    pub about: About,
    /// Writes the findings; `None` if they contain nothing that the format can express.
    pub write: fn(&Findings) -> Option<String>,
    /// Sentences on findings that it omits although the format could express them.
    pub left_out: fn(&Findings) -> Vec<String>,
}

/// All exporters, the default first.
pub static EXPORTERS: &[Exporter] = &[
    trials_csv::EXPORTER,
    fio_json::EXPORTER,
    hyperfine_json::EXPORTER,
    benchstat::EXPORTER,
    openmetrics::EXPORTER,
    custom_is_better::SMALLER,
    custom_is_better::BIGGER,
    junit::EXPORTER,
    Exporter {
        about: About {
            name: "markdown",
            summary: "findings and tables in Markdown, for a wiki, an issue or a pull request",
            text: "Same output as assay run --markdown.",
        },
        write: |findings| Some(markdown::comment(findings)),
        left_out: nothing,
    },
    Exporter {
        about: About {
            name: "forum",
            summary: "narrow text block, findings first",
            text: "Findings first, then the numbers and test conditions; paste the text into a code block.",
        },
        write: |findings| Some(text::forum(findings)),
        left_out: nothing,
    },
];

pub fn find(name: &str) -> Option<&'static Exporter> {
    EXPORTERS.iter().find(|exporter| exporter.about.name == name)
}

fn nothing(_: &Findings) -> Vec<String> {
    Vec::new()
}

/// The trials behind the mean of a cell in the order they ran, with their values.
fn counting_values(cell: &Measurement) -> Vec<(&TrialValue, f64)> {
    let trials = cell.counting().into_iter();
    let mut values: Vec<_> = trials.filter_map(|trial| Some((trial, trial.value?))).collect();
    values.sort_by_key(|(trial, _)| (trial.order, trial.replicate));
    values
}

/// The configuration of a cell: `scheduler=bfq depth=8`; empty if no factor varies.
fn arm_words(cell: &Measurement) -> String {
    let words: Vec<String> =
        cell.configuration.iter().map(|(name, level)| format!("{name}={level}")).collect();
    words.join(" ")
}

/// A number with four significant digits, without trailing zeros.
fn brief(value: f64) -> String {
    let rounded = format!("{value:.3e}");
    rounded.parse::<f64>().map_or(rounded, |value| value.to_string())
}

#[cfg(test)]
mod tests;
