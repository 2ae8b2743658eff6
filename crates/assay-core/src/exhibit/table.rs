//! Tables: workloads and analysis return them, renderers print them.

use serde::{Deserialize, Serialize};

use super::{Subject, Unit};

pub const NONE: &str = "-";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Table {
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Column {
    pub title: String,
    /// Name next to a value outside of columns.
    pub name: String,
    /// Unit of its numbers; columns of [`Unit::Words`] are aligned left.
    pub unit: Unit,
    pub role: Role,
    /// Whether a table that is too wide may continue below from this column on.
    pub breaks: bool,
    /// Whether text for a phone omits the column.
    pub detail: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Value,
    /// A part of the row's name, like the first column of every table.
    Key,
    /// A verdict, on a separate line outside of columns.
    Verdict,
    /// Sentences, which wrap within a last column.
    Text,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Name outside of columns; an empty name stands for the key cells.
    pub name: String,
    /// Measured subject of the row; a renderer then adds name and trust rating.
    pub subject: Option<Subject>,
    /// One cell per column; no cells in an absent row.
    pub cells: Vec<Cell>,
    /// Lines below the row, such as the reason for its absence.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    pub value: Value,
    #[serde(default)]
    pub tone: Tone,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    Missing,
    Text(String),
    /// A number in the unit of the column.
    Number(f64),
    /// The lowest and the highest number.
    Range([f64; 2]),
    /// A number with its interval.
    Estimate(f64, [f64; 2]),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    #[default]
    Plain,
    Good,
    Doubtful,
    Bad,
}

impl Table {
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Appends a column with the cell of each item; the first column creates the rows.
    pub fn add<'a, T, C: Into<Cell>>(
        &mut self,
        column: Column,
        items: &'a [T],
        cell: impl Fn(&'a T) -> C,
    ) {
        self.columns.push(column);
        self.rows.resize_with(self.rows.len().max(items.len()), Row::default);
        for (row, item) in self.rows.iter_mut().zip(items) {
            row.cells.push(cell(item).into());
        }
    }

    /// Removes columns that `wanted` rejects by index and heading.
    pub fn retain(&mut self, wanted: impl Fn(usize, &Column) -> bool) {
        for at in (0..self.columns.len()).rev() {
            if !wanted(at, &self.columns[at]) {
                self.columns.remove(at);
                for row in self.rows.iter_mut().filter(|row| at < row.cells.len()) {
                    row.cells.remove(at);
                }
            }
        }
    }
    pub fn texts(&self, row: &Row) -> Vec<String> {
        self.columns.iter().zip(&row.cells).map(|(column, cell)| cell.text(column.unit)).collect()
    }

    pub fn has_missing(&self) -> bool {
        let mut cells = self.rows.iter().flat_map(|row| &row.cells);
        cells.any(|cell| cell.text(Unit::Words) == NONE)
    }
    /// The name of a row, else its first cell with those of the key columns.
    pub fn name_of(&self, row: &Row) -> String {
        if !row.name.is_empty() {
            return row.name.clone();
        }
        let is_key = |at: usize| at == 0 || self.columns[at].role == Role::Key;
        let texts = self.texts(row).into_iter().enumerate();
        let keys: Vec<String> = texts.filter(|(at, _)| is_key(*at)).map(|(_, text)| text).collect();
        keys.join(" ").trim_end().to_owned()
    }
}

impl Column {
    pub fn new(title: impl Into<String>, unit: Unit) -> Self {
        let title = title.into();
        Self { name: title.clone(), title, unit, role: Role::Value, breaks: false, detail: false }
    }

    pub fn left(title: impl Into<String>) -> Self {
        Self::new(title, Unit::Words)
    }

    pub fn right(title: impl Into<String>) -> Self {
        Self::new(title, Unit::Number)
    }

    pub fn key(title: impl Into<String>) -> Self {
        Self { role: Role::Key, ..Self::left(title) }
    }

    pub fn verdict(title: impl Into<String>) -> Self {
        Self { role: Role::Verdict, ..Self::left(title) }
    }

    pub fn sentences(title: impl Into<String>) -> Self {
        Self { role: Role::Text, ..Self::left(title) }
    }

    #[must_use]
    pub fn breaks(self) -> Self {
        Self { breaks: true, ..self }
    }

    #[must_use]
    pub fn detail(self) -> Self {
        Self { detail: true, ..self }
    }

    pub fn is_right(&self) -> bool {
        self.unit != Unit::Words
    }

    /// Returns whether cells of this role are on separate lines outside of columns.
    pub fn is_alone(&self) -> bool {
        matches!(self.role, Role::Verdict | Role::Text)
    }
}

impl Row {
    pub fn new<C: Into<Cell>>(cells: impl IntoIterator<Item = C>) -> Self {
        Self { cells: cells.into_iter().map(C::into).collect(), ..Self::default() }
    }

    pub fn about<C: Into<Cell>>(subject: Subject, cells: impl IntoIterator<Item = C>) -> Self {
        Self { subject: Some(subject), ..Self::new(cells) }
    }

    pub fn absent(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { name: name.into(), notes: vec![reason.into()], ..Self::default() }
    }

    #[must_use]
    pub fn toned(mut self, tone: Tone) -> Self {
        for cell in &mut self.cells {
            cell.tone = tone;
        }
        self
    }
}

impl Cell {
    pub fn toned(value: impl Into<Value>, tone: Tone) -> Self {
        Self { value: value.into(), tone }
    }

    /// Formats the cell: `-` without a value, and a range or interval as `low to high`.
    pub fn text(&self, unit: Unit) -> String {
        match &self.value {
            Value::Missing => NONE.to_owned(),
            Value::Text(text) => text.clone(),
            Value::Number(value) => unit.text(*value),
            Value::Range(ends) => {
                let [low, high] = ends.map(|end| unit.text(end));
                format!("{low} to {high}")
            }
            Value::Estimate(value, ends) => {
                let [value, low, high] = [*value, ends[0], ends[1]].map(|one| unit.text(one));
                format!("{value} ({low} to {high})")
            }
        }
    }
}

impl<T: Into<Value>> From<T> for Cell {
    fn from(value: T) -> Self {
        Self::toned(value, Tone::Plain)
    }
}

macro_rules! convert_to_value {
    ($($source:ty: $name:ident => $value:expr;)*) => {$(
        impl From<$source> for Value {
            fn from($name: $source) -> Self {
                $value
            }
        }
    )*};
}

convert_to_value! {
    String: text => Self::Text(text);
    &String: text => Self::Text(text.clone());
    &str: text => Self::Text(text.to_owned());
    f64: number => Self::Number(number);
    u64: number => Self::Number(number as f64);
    [f64; 2]: ends => Self::Range(ends);
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, T::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_is_printed_in_the_unit_of_its_column() {
        let text = |cell: Cell, unit| cell.text(unit);
        assert_eq!(text(1024.0.into(), Unit::Bytes), "1 KiB");
        assert_eq!(text(1024_u64.into(), Unit::Count), "1,024");
        assert_eq!(text(2_097_152.0.into(), Unit::BytesPerS), "2 MiB/s");
        assert_eq!(text(4e6.into(), Unit::BitsPerS), "4 Mbit/s");
        assert_eq!(text(Some(2e6).into(), Unit::Nanoseconds), "2 ms");
        assert_eq!(text(0.1.into(), Unit::Share), "10%");
        assert_eq!(text(None::<f64>.into(), Unit::Share), NONE);
        assert_eq!(text("A+".into(), Unit::Number), "A+");
        assert_eq!(text("every block".into(), Unit::Count), "every block");
        assert_eq!(text([1024.0, 2048.0].into(), Unit::Bytes), "1 KiB to 2 KiB");
        let mean = Value::Estimate(2.5, [0.25, 30.0]);
        assert_eq!(text(mean.into(), Unit::Seconds), "2.5 s (250 ms to 30 s)");
    }

    #[test]
    fn removed_column_takes_its_cells_and_keys_name_a_row() {
        let items = ["read", "write"];
        let mut table = Table::new("rates");
        table.add(Column::key("workload"), &items, |item| *item);
        table.add(Column::right("detail").detail(), &items, |_| "x");
        table.add(Column::key("setting"), &items, |_| "none");
        table.rows.push(Row::absent("trim", "not supported"));
        table.retain(|_, column| !column.detail);
        let names: Vec<String> = table.rows.iter().map(|row| table.name_of(row)).collect();
        assert_eq!(names, ["read none", "write none", "trim"]);
        assert!(table.rows[2].cells.is_empty() && table.rows[1].cells.len() == 2);
    }
}
