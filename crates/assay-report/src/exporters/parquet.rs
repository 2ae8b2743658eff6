//! The trials as a table in Parquet: version 1 of the format, one row group, a plain page a column,
//! nothing compressed, and the footer in thrift's compact protocol.
//! Source: <https://parquet.apache.org/docs/file-format/> and parquet.thrift there.

mod thrift;

use assay_base::catalogue::About;
use assay_base::quantity::{Better, Scale};
use assay_study::findings::Findings;

use super::trials::{Row, Trials};
use super::{Exporter, Writes, nothing};
use thrift::Struct;

pub const EXPORTER: Exporter = Exporter {
    about: About {
        name: "parquet",
        summary: "the table of trials in Parquet, for data frames and databases",
        text: "The rows of trials-csv with types: numbers are numbers, what is absent is null, \
               direction and scale of a metric are columns of their own, and so are the word of a \
               status and its reason. Levels of factors are texts. Not compressed; it goes to a file \
               or a pipe.",
    },
    write: Writes::Bytes(write),
    left_out: nothing,
};

/// How a file begins and ends.
const MAGIC: &[u8; 4] = b"PAR1";
/// Numbers of parquet.thrift.
const VERSION: i32 = 1;
const REQUIRED: i32 = 0;
const OPTIONAL: i32 = 1;
const UTF8: i32 = 0;
const DATA_PAGE: i32 = 0;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const UNCOMPRESSED: i32 = 0;

/// What a column holds; all values of it are one kind.
#[derive(Clone, Copy)]
enum Kind {
    Whole,
    Number,
    Text,
}

impl Kind {
    /// Its number in parquet.thrift.
    fn number(self) -> i32 {
        match self {
            Self::Whole => 1,
            Self::Number => 5,
            Self::Text => 6,
        }
    }
}

/// One value of a column.
enum Value<'f> {
    Absent,
    Whole(u32),
    Number(f64),
    Text(&'f str),
}

/// A column with its values.
struct Column<'f> {
    name: String,
    kind: Kind,
    may_be_absent: bool,
    values: Vec<Value<'f>>,
}

fn write(findings: &Findings) -> Option<Vec<u8>> {
    let trials = Trials::of(findings);
    if trials.rows.is_empty() {
        return None;
    }
    let mut file = MAGIC.to_vec();
    let columns = columns(&trials);
    let chunks: Vec<Struct> = columns.iter().map(|column| chunk(column, &mut file)).collect();
    let written = (file.len() - MAGIC.len()) as i64;
    let rows = trials.rows.len() as i64;
    let group = Struct::default().structs(1, chunks).i64(2, written).i64(3, rows);
    let root = Struct::default().text(4, "trials").i32(5, columns.len() as i32);
    let schema = std::iter::once(root).chain(columns.iter().map(element)).collect();
    let by = format!("assay version {}", findings.environment.assay);
    let footer = Struct::default()
        .i32(1, VERSION)
        .structs(2, schema)
        .i64(3, rows)
        .structs(4, vec![group])
        .text(6, &by)
        .end();
    file.extend_from_slice(&footer);
    file.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    file.extend_from_slice(MAGIC);
    Some(file)
}

fn columns<'f>(trials: &Trials<'f>) -> Vec<Column<'f>> {
    let column = |name: &str, kind, may_be_absent, value: &dyn Fn(&Row<'f>) -> Value<'f>| Column {
        name: name.to_owned(),
        kind,
        may_be_absent,
        values: trials.rows.iter().map(value).collect(),
    };
    let text = |found: Option<&'f str>| found.map_or(Value::Absent, Value::Text);
    let mut all = vec![
        column("replicate", Kind::Whole, false, &|row| Value::Whole(row.trial.replicate)),
        column("order", Kind::Whole, true, &|row| {
            row.trial.order.map_or(Value::Absent, Value::Whole)
        }),
        column("workload", Kind::Text, false, &|row| Value::Text(&row.cell.workload)),
        column("metric", Kind::Text, false, &|row| Value::Text(&row.cell.metric)),
        column("better", Kind::Text, false, &|row| {
            Value::Text(if row.cell.better == Better::Lower { "lower" } else { "higher" })
        }),
        column("scale", Kind::Text, false, &|row| {
            let differs = row.cell.scale == Scale::Difference;
            Value::Text(if differs { "difference" } else { "ratio" })
        }),
        column("value", Kind::Number, true, &|row| {
            row.trial.value.map_or(Value::Absent, Value::Number)
        }),
        column("status", Kind::Text, false, &|row| Value::Text(row.status())),
        column("reason", Kind::Text, true, &|row| text(row.reason())),
    ];
    for factor in &trials.factors {
        let name = format!("factor:{factor}");
        all.push(column(&name, Kind::Text, true, &|row| text(row.level(factor))));
    }
    all
}

/// What the schema says of a column.
fn element(column: &Column<'_>) -> Struct {
    let repetition = if column.may_be_absent { OPTIONAL } else { REQUIRED };
    let element =
        Struct::default().i32(1, column.kind.number()).i32(3, repetition).text(4, &column.name);
    match column.kind {
        Kind::Text => element.i32(6, UTF8),
        Kind::Whole | Kind::Number => element,
    }
}

/// Appends the one page of a column, and says where it is.
fn chunk(column: &Column<'_>, file: &mut Vec<u8>) -> Struct {
    let begins = file.len() as i64;
    let body = body(column);
    let count = column.values.len();
    let size = body.len() as i32;
    let page = Struct::default()
        .i32(1, count as i32)
        .i32(2, PLAIN)
        // Of both kinds of levels; where there is none it is not looked at.
        .i32(3, RLE)
        .i32(4, RLE);
    let head = Struct::default().i32(1, DATA_PAGE).i32(2, size).i32(3, size).inner(5, page).end();
    file.extend_from_slice(&head);
    file.extend_from_slice(&body);
    let written = file.len() as i64 - begins;
    let about = Struct::default()
        .i32(1, column.kind.number())
        .i32s(2, &[PLAIN, RLE])
        .texts(3, &[&column.name])
        .i32(4, UNCOMPRESSED)
        .i64(5, count as i64)
        .i64(6, written)
        .i64(7, written)
        .i64(9, begins);
    Struct::default().i64(2, begins).inner(3, about)
}

/// Which values there are, where some may be absent, and the values.
fn body(column: &Column<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    if column.may_be_absent {
        let levels = levels(&column.values);
        body.extend_from_slice(&(levels.len() as u32).to_le_bytes());
        body.extend_from_slice(&levels);
    }
    for value in &column.values {
        match value {
            Value::Absent => {}
            Value::Whole(number) => body.extend_from_slice(&number.to_le_bytes()),
            Value::Number(number) => body.extend_from_slice(&number.to_le_bytes()),
            Value::Text(text) => {
                body.extend_from_slice(&(text.len() as u32).to_le_bytes());
                body.extend_from_slice(text.as_bytes());
            }
        }
    }
    body
}

/// Runs of values that are there, and of those that are not: a length, then 1 or 0.
fn levels(values: &[Value<'_>]) -> Vec<u8> {
    let is_there = |value: &Value<'_>| !matches!(value, Value::Absent);
    let mut levels = Vec::new();
    for run in values.chunk_by(|one, next| is_there(one) == is_there(next)) {
        // The lowest bit says that it is a run, not packed bits.
        thrift::varint(&mut levels, (run.len() as u64) << 1);
        levels.push(u8::from(run.first().is_some_and(is_there)));
    }
    levels
}

#[cfg(test)]
mod tests;
