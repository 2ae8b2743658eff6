//! What is shown, as data: tables, figures, and sentences with their subjects. Kinds of work and the report make
//! them; renderers print them and know neither kinds nor topics.

pub mod figure;
pub mod parts;
pub mod requests;
mod table;
mod unit;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use figure::Figure;
pub use table::{Cell, Column, NONE, Role, Row, Table, Tone, Value};
pub use unit::Unit;

pub type Levels = BTreeMap<String, String>;

/// What is shown of all rows of one kind of work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exhibit {
    /// What it is about; the name of its kind of figure if it has figures.
    #[serde(default)]
    pub topic: String,
    /// Heading above all tables; without it, each table has its own section.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Sentences above the tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub tables: Vec<Table>,
    pub figures: Vec<Figure>,
    /// Sections of sentences. This and the following fields belong to kinds of work, which compute them from their
    /// facts; they are not stored.
    #[serde(skip)]
    pub lists: Vec<List>,
    /// The general kind of figure that the tables of subjects accompany if that figure leads.
    #[serde(skip)]
    pub beside: Option<&'static str>,
    /// What is said in the summary, in this order.
    #[serde(skip)]
    pub sentences: Vec<Sentence>,
    /// Whether the first of them answers what the study asks.
    #[serde(skip)]
    pub leads: bool,
    /// Of trials that others recorded: who says what they say, in the place of a trust that no rule could
    /// judge. They are shown as a study is, however few groups they have.
    #[serde(skip)]
    pub recorded: Option<String>,
    /// The row that the tables of subjects come to, where they come to one.
    #[serde(skip)]
    pub best: Option<BestRow>,
}

/// Sentences below a title, each an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    pub title: String,
    pub items: Vec<String>,
}

/// The row that a table comes to, with what follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BestRow {
    pub of: Subject,
    /// What is said of it, behind its name.
    pub text: String,
    /// Lines below that, such as commands to type.
    pub lines: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subject {
    pub workload: String,
    pub arm: Levels,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    pub about: Subject,
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exhibit_is_data_that_reads_back() {
        let arm: Levels = [("target".to_owned(), "a".to_owned())].into();
        let about = Subject { workload: "own".to_owned(), arm };
        let mut table = Table::new("own");
        table.columns = vec![Column::new("holds", Unit::Bytes), Column::verdict("verdict")];
        let bad = Cell::toned("bad", Tone::Bad);
        table.rows.push(Row::of(about.clone(), [Cell::from(1.0), bad]));
        table.notes.push("Holds: what it holds.".to_owned());
        let bars = figure::NamedValues { name: "own".to_owned(), values: vec![1.5, 0.0] };
        let names = ["4 KiB", "8 KiB"].map(str::to_owned);
        let value = figure::Axis::new("time", figure::AxisScale::Linear, Unit::Seconds);
        let stored = Exhibit {
            topic: "own".to_owned(),
            tables: vec![table],
            figures: figure::grouped_bars("size", &names, value, &[bars]).into_iter().collect(),
            ..Exhibit::default()
        };
        let sentences = vec![Sentence { about, text: "It holds it.".to_owned() }];
        let own = Exhibit { sentences, leads: true, ..stored.clone() };
        let text = serde_json::to_string(&own).unwrap();
        assert_eq!(serde_json::from_str::<Exhibit>(&text).unwrap(), stored);
        assert!(Exhibit::default().tables.is_empty(), "nothing is shown of itself");
    }
}
