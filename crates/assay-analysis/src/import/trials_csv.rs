//! Tidy trials: one row per trial and metric, one column per setting. All mistakes of a file are reported at once.

mod build;
mod cells;
mod checks;
mod header;
mod metrics;
mod table;

use assay_core::catalogue::About;
use assay_core::failure::{Failure, Outcome};
use assay_core::lines::{self, Splitter};

use super::{Imported, Importer, Options, Reads, mistakes::Mistakes};

use header::Header;
use table::TrialTable;

/// Limit on the length of a line: pages repeat its words.
const LONGEST_LINE: usize = 16 * 1024;
pub const IMPORTER: Importer = Importer {
    about: About {
        name: "trials-csv",
        summary: "tidy CSV: one row per trial and metric",
        text: "The columns are replicate, workload, metric and value, one factor_NAME per factor, and optionally \
               order, status and reason. Write a metric as latency:lower, iops:higher or errors:lower:difference \
               (compared by differences, which allows zeros). The status is ok, failed, disturbed, superseded or \
               warmup. Lines that begin with # are comments.",
    },
    // The default for texts without another format's header: it reports the mistakes.
    recognises: |_| false,
    reads: Reads::Table(read),
    unused: &[],
};

/// Reads a table of trials. Reports all mistakes together, but lines that are too long first.
pub fn read(name: &str, text: &str, options: &Options) -> Outcome<Imported> {
    let mut mistakes = Mistakes::new(name);
    for (number, line) in lines::lines(text).filter(|(_, line)| line.len() > LONGEST_LINE) {
        let text = format!("the line has {} bytes, too long for a table of trials", line.len());
        mistakes.on(number, &text);
    }
    mistakes.outcome()?;
    let mut mistakes = Mistakes::new(name);
    let mut lines = lines::lines(text);
    let mut splitter = Splitter::new();
    let header = lines
        .next()
        .and_then(|(number, first)| Header::read(number, first, &mut splitter, &mut mistakes));
    let Some(header) = header else {
        mistakes.outcome()?;
        return Err(Failure::mistake(no_rows_message(name, text)));
    };
    let mut table = TrialTable::new(&header);
    for (number, line) in lines {
        if !table.read_row(&header, number, line, &mut splitter, &mut mistakes) {
            break;
        }
    }
    checks::check(&header, &table, options, &mut mistakes);
    mistakes.outcome()?;
    Ok(build::build(table, options))
}

fn no_rows_message(name: &str, text: &str) -> String {
    let what = if text.trim().is_empty() { "is empty" } else { "contains only comments" };
    format!(
        "{name}:1:1: the file {what}; write a header and a row for each trial and metric (example: \
         assay import --help)"
    )
}

#[cfg(test)]
mod tests {
    use assay_core::failure::Outcome;
    use assay_study::results::plan::Arm;

    use super::super::{Imported, ImportedFile, Options, of_bytes, read};

    /// Imports two arms that differ in both factors.
    fn of_two(baseline: &[(&str, &str)]) -> Outcome<Imported> {
        let rows = (1..=3).flat_map(|replicate| {
            [(1, 1), (2, 2)].map(|(a, b)| format!("{replicate},build,duration_s,{a}.5,{a},{b}\n"))
        });
        let text = format!(
            "replicate,workload,metric,value,factor_a,factor_b\n{}",
            rows.collect::<String>()
        );
        let (name, bytes) = ("t.csv".to_owned(), text.as_bytes().to_vec());
        let named = baseline.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned()));
        let options = Options { baseline: named.collect::<Arm>(), ..Options::default() };
        read(
            of_bytes("", text.as_bytes()).unwrap(),
            &[ImportedFile { name, bytes, ..ImportedFile::default() }],
            &options,
        )
    }

    #[test]
    fn levels_of_a_baseline_stand_in_one_row() {
        for arm in [&[("a", "1"), ("b", "1")], &[("a", "2"), ("b", "2")]] {
            assert_eq!(of_two(arm).unwrap().measurements.design.baseline["a"], arm[0].1);
        }
        let told = of_two(&[("a", "1"), ("b", "2")]).unwrap_err().message;
        assert!(told.contains("no row has this combination of levels"), "{told}");
    }

    #[test]
    fn without_a_baseline_it_is_the_first_arm_and_nothing_is_repeated() {
        let design = of_two(&[]).unwrap().measurements.design;
        assert_eq!((design.baseline["a"].as_str(), design.baseline["b"].as_str()), ("1", "1"));
        assert_eq!(design.repeats, 0);
    }
}
