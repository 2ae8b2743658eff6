//! What a kind of work shows of its own, as data: tables whose columns have units, how they are read, what is
//! drawn of them, and sentences with what they are about. The kind makes it of what it found; analysis and
//! report walk it and know no kind.

pub mod requests;
mod timeline;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::quantity::units::show;

pub use timeline::{DrawnAmount, Timeline, TimelineFigure, TimelinePhase};

/// Levels of the factors by name.
pub type Levels = BTreeMap<String, String>;

/// What is shown of all rows of one kind of work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exhibit {
    /// Its numbers; without rows where parts have them all.
    pub table: Table,
    pub remarks: Vec<String>,
    pub parts: Vec<Part>,
    pub charts: Vec<Chart>,
    /// The figure beside which it stands where a study says that this one leads.
    pub beside: Option<String>,
    /// What is said in the summary, in this order.
    pub sentences: Vec<Sentence>,
    /// Whether the first of them answers what the study asks.
    pub leads: bool,
    /// Of trials that others recorded: who says what they say, in the place of a trust that no rule could
    /// judge. They are shown as a study is, however few groups they have.
    pub recorded: Option<String>,
    /// The row that the table comes to, where it comes to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<BestRow>,
}

impl Exhibit {
    /// A table with nothing said of it.
    pub fn of_table(table: Table) -> Self {
        Self { table, ..Self::default() }
    }
}

/// The row that a table comes to, with what follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestRow {
    pub of: Subject,
    /// What is said of it, behind its name.
    pub text: String,
    /// Lines below that, such as commands to type.
    pub lines: Vec<String>,
}

/// A workload under one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub workload: String,
    pub arm: Levels,
}

/// A table; whoever shows it puts the name of the row before each row, and the trust in it behind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    pub title: String,
    pub unit: Unit,
    pub judges: bool,
}

impl Column {
    pub fn new(title: &str, unit: Unit) -> Self {
        Self { title: title.to_owned(), unit, judges: false }
    }

    /// One of words that judge.
    pub fn verdicts(title: &str) -> Self {
        Self { judges: true, ..Self::new(title, Unit::Words) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    Words,
    /// There are none, but words that stand for a number.
    Grade,
    Count,
    /// Bytes.
    Bytes,
    BytesPerS,
    BitsPerS,
    Seconds,
    Nanoseconds,
    /// A part of one.
    Share,
}

impl Unit {
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Words | Self::Grade => show::three_digits(value),
            Self::Count => show::count(value as u64),
            Self::Bytes => show::bytes(value as u64),
            Self::BytesPerS => show::rate(value),
            Self::BitsPerS => show::bit_rate(value),
            Self::Seconds => show::duration(value * 1e9),
            Self::Nanoseconds => show::duration(value),
            Self::Share => show::share(value),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub of: Subject,
    /// One a column.
    pub cells: Vec<Cell>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub value: Value,
    #[serde(default)]
    pub tone: Tone,
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        Self { value, tone: Tone::Plain }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    Nothing,
    /// Words, whatever the column's numbers are.
    Words(String),
    /// A number in the unit of the column.
    Number(f64),
    /// Two of them, with all between.
    Between([f64; 2]),
    Estimate(f64, [f64; 2]),
}

impl Value {
    pub fn number(number: Option<f64>) -> Self {
        number.map_or(Self::Nothing, Self::Number)
    }

    /// An interval, where there is one.
    pub fn between(ends: Option<[f64; 2]>) -> Self {
        ends.map_or(Self::Nothing, Self::Between)
    }

    /// As it is written in a column of this unit; none where there is nothing.
    pub fn text(&self, unit: Unit) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Words(text) => Some(text.clone()),
            Self::Number(value) => Some(unit.text(*value)),
            Self::Between(ends) => {
                let [low, high] = ends.map(|end| unit.text(end));
                Some(format!("{low} to {high}"))
            }
            Self::Estimate(value, ends) => {
                let [value, low, high] = [*value, ends[0], ends[1]].map(|one| unit.text(one));
                Some(format!("{value} ({low} to {high})"))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Neither good nor bad.
    #[default]
    Plain,
    Good,
    /// To be read with care.
    Doubtful,
    Bad,
}

/// A part with a heading of its own, shown as it is: nothing is put before its rows and behind them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub title: String,
    pub body: Body,
    pub remarks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// Rows of which the first cell is the name.
    Table {
        columns: Vec<Column>,
        /// Rows, a cell a column.
        rows: Vec<Vec<Cell>>,
    },
    /// Sentences, each an item.
    List(Vec<String>),
}

/// What is drawn of a workload: marks, and what each of them says. Whoever draws it knows no kind of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// The figure of its kind of work, by its name.
    pub figure: String,
    pub workload: String,
    pub title: String,
    pub description: String,
    pub axis: String,
    /// The metric in whose unit they are.
    pub metric: String,
    pub marks: Marks,
    /// What was left out, a sentence each.
    pub notes: Vec<String>,
}

/// What marks look like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Marks {
    /// A bar below the other, each of parts that follow each other.
    Stacks {
        /// What a bar is: `boot`.
        one: String,
        /// What a part is of the whole, as a heading: `time`.
        what: String,
        /// What the parts are called, in their order.
        parts: Vec<String>,
        /// The bars, the first on top.
        stacks: Vec<Stack>,
    },
    /// Lines over steps that are counted from 1 on.
    Lines {
        /// What a step is: `round`.
        one: String,
        lines: Vec<Line>,
        /// Steps that are marked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stretch: Option<Stretch>,
        /// Values that they are held against.
        guides: Vec<Guide>,
    },
    OverTime {
        /// Seconds of a step; a value is of its whole step.
        step_s: f64,
        lines: Vec<Line>,
    },
    /// Bars that lie, of each name one of each group.
    Bars {
        what: String,
        names: Vec<String>,
        /// A value a name, in their order; of zero there is no bar.
        groups: Vec<Line>,
    },
}

/// A line with a value a step, or bars with one a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub name: String,
    /// Its values in the order of the steps, or of the names.
    pub values: Vec<f64>,
}

/// Steps that follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// The first, from 1 on.
    pub first: usize,
    pub last: usize,
    pub text: String,
}

/// A value that lines are held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guide {
    pub name: String,
    /// In the unit of the lines.
    pub value: f64,
}

/// A bar of parts, of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    pub arm: Levels,
    /// Its number in the order of time, from 1.
    pub number: u32,
    /// What is said behind its name.
    pub remark: Option<String>,
    /// How long each part is; none where nothing tells.
    pub parts: Vec<Option<f64>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    pub about: Subject,
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_in_the_unit_of_its_column() {
        let written = |value: Value, unit| value.text(unit);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(written(Value::Number(1024.0), Unit::Bytes), some("1 KiB"));
        assert_eq!(written(Value::Number(1024.0), Unit::Count), some("1,024"));
        assert_eq!(written(Value::Number(2_097_152.0), Unit::BytesPerS), some("2 MiB/s"));
        assert_eq!(written(Value::Number(4e6), Unit::BitsPerS), some("4 Mbit/s"));
        assert_eq!(written(Value::number(Some(2e6)), Unit::Nanoseconds), some("2 ms"));
        assert_eq!(written(Value::number(Some(0.1)), Unit::Share), some("10%"));
        assert_eq!(written(Value::number(None), Unit::Share), None);
        assert_eq!(written(Value::Words("A+".to_owned()), Unit::Grade), some("A+"));
        assert_eq!(
            written(Value::Words("every block".to_owned()), Unit::Count),
            some("every block")
        );
        let span = Value::between(Some([1024.0, 2048.0]));
        assert_eq!(written(span, Unit::Bytes), some("1 KiB to 2 KiB"));
        assert_eq!(written(Value::between(None), Unit::Bytes), None);
        let mean = Value::Estimate(2.5, [0.25, 30.0]);
        assert_eq!(written(mean, Unit::Seconds), some("2.5 s (250 ms to 30 s)"));
    }

    #[test]
    fn an_exhibit_is_data_that_reads_back() {
        let arm: Levels = [("target".to_owned(), "a".to_owned())].into();
        let about = Subject { workload: "own".to_owned(), arm: arm.clone() };
        let bad = Cell { value: Value::Words("bad".to_owned()), tone: Tone::Bad };
        let columns = vec![Column::new("holds", Unit::Bytes), Column::verdicts("verdict")];
        let cells = vec![Value::Number(1.0).into(), bad];
        let stack = Stack {
            arm,
            number: 1,
            remark: Some("cut off".to_owned()),
            parts: vec![Some(1.0), None],
        };
        let own = Exhibit {
            table: Table {
                title: "own".to_owned(),
                columns: columns.clone(),
                rows: vec![Row { of: about.clone(), cells: cells.clone() }],
            },
            remarks: vec!["Holds: what it holds.".to_owned()],
            parts: vec![
                Part {
                    title: "more".to_owned(),
                    body: Body::Table { columns, rows: vec![cells] },
                    remarks: Vec::new(),
                },
                Part {
                    title: "most".to_owned(),
                    body: Body::List(vec!["It is.".to_owned()]),
                    remarks: Vec::new(),
                },
            ],
            charts: vec![Chart {
                figure: "owns".to_owned(),
                workload: "own".to_owned(),
                title: "it".to_owned(),
                description: "A row is one.".to_owned(),
                axis: "time".to_owned(),
                metric: "own_s".to_owned(),
                marks: Marks::Stacks {
                    one: "it".to_owned(),
                    what: "time".to_owned(),
                    parts: vec!["first".to_owned(), "second".to_owned()],
                    stacks: vec![stack],
                },
                notes: Vec::new(),
            }],
            beside: None,
            sentences: vec![Sentence { about: about.clone(), text: "It holds it.".to_owned() }],
            leads: true,
            recorded: None,
            best: Some(BestRow {
                of: about,
                text: "holds most. Say:".to_owned(),
                lines: vec!["hold".to_owned()],
            }),
        };
        let text = serde_json::to_string(&own).unwrap();
        assert_eq!(serde_json::from_str::<Exhibit>(&text).unwrap(), own);
        let plain = Exhibit { best: None, ..own };
        let text = serde_json::to_string(&plain).unwrap();
        assert!(!text.contains("best"), "{text}");
        assert_eq!(serde_json::from_str::<Exhibit>(&text).unwrap(), plain);
        let lines = Marks::Lines {
            one: "round".to_owned(),
            lines: vec![Line { name: "own".to_owned(), values: vec![1.5, 2.5] }],
            stretch: Some(Stretch { first: 1, last: 2, text: "steady".to_owned() }),
            guides: vec![Guide { name: "mean".to_owned(), value: 2.0 }],
        };
        let text = serde_json::to_string(&lines).unwrap();
        assert_eq!(serde_json::from_str::<Marks>(&text).unwrap(), lines);
        let own = || vec![Line { name: "own".to_owned(), values: vec![1.5, 0.0] }];
        let names = ["4 KiB", "8 KiB"].map(str::to_owned).to_vec();
        for marks in [
            Marks::OverTime { step_s: 0.5, lines: own() },
            Marks::Bars { what: "size".to_owned(), names, groups: own() },
        ] {
            let text = serde_json::to_string(&marks).unwrap();
            assert_eq!(serde_json::from_str::<Marks>(&text).unwrap(), marks);
        }
        assert!(Exhibit::default().table.rows.is_empty(), "nothing is shown of itself");
    }
}
