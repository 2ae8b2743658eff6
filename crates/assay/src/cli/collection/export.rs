//! `assay collection export`: rows as tables for people and programs.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

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
    let index = collection::read_index(system, folder)?;
    super::print_refused(&index);
    let text = match arguments.format {
        TableFormat::Csv => flat::table(&index.rows),
        TableFormat::Markdown => pages::markdown(&index.rows.iter().collect::<Vec<_>>()),
        TableFormat::Json => {
            serde_json::to_string_pretty(&document(&index.rows)).unwrap_or_default() + "\n"
        }
    };
    output::page(system, output, &text)
}

/// The fields of each row by the names of their columns, without empty ones.
fn document(rows: &[Flat]) -> Value {
    let mut objects = Vec::new();
    for row in rows {
        let mut object = Map::new();
        for (column, field) in flat::columns().iter().zip(row.fields()) {
            if field.is_empty() {
                continue;
            }
            let value = if flat::is_number(column) {
                field.parse().map_or(Value::Null, |number: f64| json!(number))
            } else {
                json!(field)
            };
            object.insert((*column).to_owned(), value);
        }
        objects.push(Value::Object(object));
    }
    json!({ "format": "assay-collection-rows/1", "rows": objects })
}
