//! What is printed and kept.

use std::fmt::Write;

use super::experiment::Row;

/// Head of the printed table.
pub fn head() -> String {
    format!("{:4}  {:57}  {:33} {:>7} {:>8}  bounds", "", "setting", "counted", "studies", "rate %")
}

/// The scenario that is no simulation.
pub const KNOWN_ANSWERS: &str =
    "S9: the known answers are tests of assay-stats (crates/assay-stats/tests/reference)";

/// A line of the printed table.
pub fn line(row: &Row) -> String {
    format!(
        "{:4}  {:57}  {:33} {:7} {:8.2}  {:16} {}",
        row.scenario,
        row.setting,
        row.count.what,
        row.studies,
        row.rate(),
        row.count.bound.words(),
        row.count.bound.word(row.rate()),
    )
}

/// The page of measurements.
pub fn page(command: &str, head: &[String], rows: &[Row], told: &[String]) -> String {
    let mut page = format!("# Simulated studies\n\n{ABOUT}\n\n`{command}`, release build.\n\n");
    for line in head {
        let _ = writeln!(page, "{line}");
    }
    page.push_str("\n| | setting | counted | studies | rate % | bounds | |\n");
    page.push_str("|---|---|---|---:|---:|---|---|\n");
    for row in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {:.2} | {} | {} |",
            row.scenario,
            row.setting,
            row.count.what,
            row.studies,
            row.rate(),
            row.count.bound.words(),
            row.count.bound.word(row.rate()),
        );
    }
    page.push('\n');
    for line in told {
        let _ = writeln!(page, "- {line}");
    }
    page
}

const ABOUT: &str = "\
Studies whose truth is known, judged by the product: trials are simulated in the order that a plan
would give them, lead-in included, written as a table, read by the importer and judged. A trial
scatters by 2 % (normal on the logarithmic scale), so that a difference of two has an sd of 2.83 %
(`sd of d`). Rows without bounds are told for information; a rate in parentheses is what the design
of the statistics found in simulations of its own.";
