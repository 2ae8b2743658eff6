//! `assay collection query` and `export`: rows that fit, as a table for people or for programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::super::output;
use crate::store::collection::{self, Index};
use assay_base::failure::{Failure, Outcome};
use assay_claims::collection::flat::{self, Flat};
use assay_claims::collection::query::Query;
use assay_report::{collection as pages, table};
use assay_system::system::System;

/// The program that SQL and Parquet are left to.
const DUCKDB: &str = "duckdb";
/// Bytes of an answer of DuckDB at most.
const MOST_ANSWER_BYTES: u64 = 64 << 20;
/// Rows that are shown unless more are asked for.
const USUAL_ROWS: usize = 50;

/// Rows that fit: by conditions, or by SQL where DuckDB's program is there
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay collection query 'write_iops>=90' 'device~sandisk' --sort -write_iops
  assay collection query 'trust=published'
  assay collection query \"SELECT max(write_iops) FROM rows\"

Conditions are COLUMN with >= <= > < = != or ~ (holds) and a value; all of them
have to hold. What begins with SELECT is handed to the program duckdb.")]
pub(super) struct QueryArguments {
    /// Conditions, or one question in SQL
    #[arg(value_name = "CONDITION|SQL")]
    asked: Vec<String>,
    #[command(flatten)]
    order: Order,
    /// One JSON document instead of the table
    #[arg(long)]
    json: bool,
}

/// How rows are put in order and how many.
#[derive(Debug, Args)]
struct Order {
    /// Column to sort by; -COLUMN for the largest first
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Rows at most
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Order {
    fn most(&self) -> usize {
        self.limit.unwrap_or(usize::MAX)
    }
}

/// Rows as a file for other programs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay collection export -o cards.csv
  assay collection export 'trust!=published' --format markdown -o cards.md")]
pub(super) struct ExportArguments {
    /// Conditions as in assay collection query
    #[arg(value_name = "CONDITION")]
    asked: Vec<String>,
    #[command(flatten)]
    order: Order,
    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    /// File to write; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Comma-separated values
    Csv,
    /// A table for wikis and forums
    Markdown,
    /// One JSON document
    Json,
    /// For programs that read columns; written by the program duckdb
    Parquet,
}

/// Runs `query`.
pub(super) fn query(system: &dyn System, folder: &Path, arguments: &QueryArguments) -> Outcome<()> {
    if let [sql] = arguments.asked.as_slice()
        && is_sql(sql)
    {
        return by_duckdb(system, folder, sql, arguments.json);
    }
    let index = collection::index(system, folder)?;
    super::tell_refused(&index);
    let mut found = fitting(&index, &arguments.asked, &arguments.order)?;
    let all = found.len();
    if arguments.json {
        found.truncate(arguments.order.most());
        output::json(&document(&found));
        return Ok(());
    }
    found.truncate(arguments.order.limit.unwrap_or(USUAL_ROWS));
    if all == 0 {
        output::message(&format!("none of {} rows fits", index.rows.len()));
        return Ok(());
    }
    if !found.is_empty() {
        let (columns, rows) = pages::brief(&found);
        output::text(&table::table(&columns, &rows, output::columns(system)));
    }
    output::message(&match all - found.len() {
        0 => format!("{all} of {} rows", index.rows.len()),
        more => format!("{more} more rows fit: --limit {all} shows them"),
    });
    Ok(())
}

fn is_sql(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    ["select", "with"].contains(&first.to_lowercase().as_str())
}

fn fitting<'a>(index: &'a Index, asked: &[String], order: &Order) -> Outcome<Vec<&'a Flat>> {
    let query = Query::parse(asked, order.sort.as_deref()).map_err(Failure::mistake)?;
    Ok(query.of(&index.rows))
}

/// The answer of DuckDB's own program, which reads the table of the index.
fn by_duckdb(system: &dyn System, folder: &Path, sql: &str, json: bool) -> Outcome<()> {
    let otherwise = "ask with conditions, such as 'write_iops>=90'";
    let table = |system| collection::table(system, folder);
    let form = if json { "-json" } else { "-box" };
    let answer = duckdb(system, "SQL", otherwise, form, &|| {
        Ok(format!("CREATE VIEW rows AS SELECT * FROM {}; {sql}", of_table(&table(system)?)))
    })?;
    output::text(&answer);
    Ok(())
}

/// Runs DuckDB with what is to be done, which is made only where the program is there.
fn duckdb(
    system: &dyn System,
    what: &str,
    otherwise: &str,
    form: &str,
    script: &dyn Fn() -> Outcome<String>,
) -> Outcome<String> {
    if system.program(DUCKDB).is_none() {
        return Err(Failure::refused(format!(
            "{what} needs the program {DUCKDB}, which is not installed (duckdb.org): {otherwise}"
        )));
    }
    let answer = system
        .answer_of(DUCKDB, &[form, "-c", &script()?], MOST_ANSWER_BYTES)
        .map_err(|error| Failure::refused(format!("{DUCKDB} cannot be run: {error}")))?;
    if answer.code != Some(0) {
        return Err(Failure::mistake(format!("{DUCKDB}: {}", answer.complaint.trim())));
    }
    Ok(answer.text)
}

/// A table for DuckDB, with the type of each column: an empty one tells none.
fn of_table(path: &Path) -> String {
    let typed = |column: &&str| {
        let kind = if flat::is_number(column) { "DOUBLE" } else { "VARCHAR" };
        format!("'{column}': '{kind}'")
    };
    let columns: Vec<String> = flat::columns().iter().map(typed).collect();
    format!(
        "read_csv({}, delim = '\\t', header = true, columns = {{{}}})",
        quoted(path),
        columns.join(", ")
    )
}

/// A path in a statement.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "''"))
}

/// Runs `export`.
pub(super) fn export(
    system: &dyn System,
    folder: &Path,
    arguments: &ExportArguments,
) -> Outcome<()> {
    let output = &arguments.output;
    let piped = output.as_path() == Path::new("-");
    if arguments.format == Format::Parquet && piped {
        return Err(Failure::mistake(
            "--format parquet: name a file with -o, such as cards.parquet",
        ));
    }
    if !piped {
        output::may_be_written(system, output)?;
    }
    let index = collection::index(system, folder)?;
    super::tell_refused(&index);
    let mut found = fitting(&index, &arguments.asked, &arguments.order)?;
    found.truncate(arguments.order.most());
    let text = match arguments.format {
        Format::Csv => collection::table_of(found, ','),
        Format::Markdown => pages::markdown(&found),
        Format::Json => serde_json::to_string_pretty(&document(&found)).unwrap_or_default() + "\n",
        Format::Parquet => {
            return parquet(system, folder, output, &collection::table_of(found, flat::TAB));
        }
    };
    output::page(system, output, &text)
}

/// Has DuckDB write a table, by way of a file beside the index.
fn parquet(system: &dyn System, folder: &Path, output: &Path, rows: &str) -> Outcome<()> {
    let beside = collection::scratch(system, folder)?;
    let written = duckdb(system, "Parquet", "--format csv needs nothing", "-csv", &|| {
        system.create_directory(&beside).map_err(|error| {
            Failure::refused(format!("{} cannot be made: {error}", beside.display()))
        })?;
        let table = beside.join("rows.tsv");
        output::file(system, &table, rows.as_bytes())?;
        let table = of_table(&table);
        Ok(format!("COPY (SELECT * FROM {table}) TO {} (FORMAT parquet)", quoted(output)))
    });
    // Nothing was written where the program is not there.
    let _ = system.remove_directory(&beside);
    written?;
    output::text(&output.display().to_string());
    Ok(())
}

/// Rows of a collection.
#[derive(Serialize)]
struct Document {
    format: &'static str,
    /// Fields of each row by the names of their columns; what is absent is not there.
    rows: Vec<BTreeMap<String, Field>>,
}

/// A field of a row.
#[derive(Serialize)]
#[serde(untagged)]
enum Field {
    /// Of a column of numbers; null where it is none.
    Number(Option<f64>),
    Text(String),
}

/// Rows for programs.
fn document(rows: &[&Flat]) -> Document {
    let columns = flat::columns();
    let item = |row: &&Flat| {
        let fields = columns.iter().zip(row.fields()).filter(|(_, field)| !field.is_empty());
        let told = fields.map(|(column, field)| {
            let is_number = flat::is_number(column);
            let told =
                if is_number { Field::Number(field.parse().ok()) } else { Field::Text(field) };
            ((*column).to_owned(), told)
        });
        told.collect()
    };
    Document { format: "assay-collection-rows/1", rows: rows.iter().map(item).collect() }
}
