//! Report content as data: tables, figures and sentences. Workloads and the report create it; renderers print it.

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
    /// Topic; the name of its kind of figure if it has figures.
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
    /// Sentences for the summary, in this order.
    #[serde(skip)]
    pub sentences: Vec<Sentence>,
    /// Whether the first sentence answers the question of the study.
    #[serde(skip)]
    pub leads: bool,
    /// For imported trials: their source, in place of a trust rating. Assay shows them like a study, however few groups
    /// they have.
    #[serde(skip)]
    pub recorded: Option<String>,
    /// The best row of the tables, if there is one.
    #[serde(skip)]
    pub best: Option<BestRow>,
}

/// Sentences below a title, each an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    pub title: String,
    pub items: Vec<String>,
}

/// The best row of a table, and the advice that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BestRow {
    pub of: Subject,
    /// Text after the name of the row.
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
        table.rows.push(Row::about(about.clone(), [Cell::from(1.0), bad]));
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
