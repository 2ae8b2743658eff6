//! `assay collection export`: rows as tables for people and programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::super::output;
use crate::store::collection;
use assay_analysis::collection::flat::{self, Flat};
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_report::collection as pages;

/// Export rows for other programs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay collection export -o cards.csv
  duckdb -c \"FROM 'cards.csv' WHERE write_iops >= 90 ORDER BY write_iops DESC\"
  assay collection export --format markdown -o cards.md")]
pub(super) struct CollectionExportArguments {
    /// Choose the format
    #[arg(long, value_enum, default_value_t = TableFormat::Csv)]
    format: TableFormat,
    /// File to write; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TableFormat {
    /// Comma-separated values
    Csv,
    /// Table for wikis and forums
    Markdown,
    /// One JSON document
    Json,
}

pub(super) fn run(
    system: &dyn System,
    folder: &Path,
    arguments: &CollectionExportArguments,
) -> Outcome<()> {
    let output = &arguments.output;
    if output.as_path() != Path::new("-") {
        output::may_be_written(system, output)?;
    }
    let index = collection::build(system, folder, &mut |_, _| ())?;
    super::tell_refused(&index);
    let text = match arguments.format {
        TableFormat::Csv => flat::table(&index.rows),
        TableFormat::Markdown => pages::markdown(&index.rows.iter().collect::<Vec<_>>()),
        TableFormat::Json => {
            serde_json::to_string_pretty(&document(&index.rows)).unwrap_or_default() + "\n"
        }
    };
    output::page(system, output, &text)
}

#[derive(Serialize)]
struct CollectionDocument {
    format: &'static str,
    /// Fields of each row by column name; absent fields are omitted.
    rows: Vec<BTreeMap<String, Field>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Field {
    /// Value in a numeric column; null if it is not a number.
    Number(Option<f64>),
    Text(String),
}

fn document(rows: &[Flat]) -> CollectionDocument {
    let columns = flat::columns();
    let item = |row: &Flat| {
        let fields = columns.iter().zip(row.fields()).filter(|(_, field)| !field.is_empty());
        let told = fields.map(|(column, field)| {
            let is_number = flat::is_number(column);
            let told =
                if is_number { Field::Number(field.parse().ok()) } else { Field::Text(field) };
            ((*column).to_owned(), told)
        });
        told.collect()
    };
    CollectionDocument { format: "assay-collection-rows/1", rows: rows.iter().map(item).collect() }
}
