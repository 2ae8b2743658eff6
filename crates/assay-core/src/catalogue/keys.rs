//! Keys of a table in a study file, one row per key, for the reader, the JSON Schema and the reference page.

use crate::quantity::{Bytes, Time};

pub struct Fields {
    pub label: &'static str,
    pub rows: &'static [Field],
}

pub struct Field {
    pub name: &'static str,
    pub form: Form,
    pub need: Need,
    pub summary: &'static str,
    /// The key with a value, as in a study file.
    pub example: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Always,
    /// Exactly one of the keys of this group.
    OneOf,
    /// Required unless a factor has the same name.
    UnlessFactor,
    /// Never: there is a default.
    Never,
}

pub enum Form {
    Text,
    /// Lower-case letters, digits and `-`.
    Name,
    Word(fn() -> Vec<&'static str>),
    Whole {
        least: u64,
        most: u64,
    },
    Flag,
    /// `true` or `false`, or a path.
    FlagOrPath,
    /// The name of a metric: of Assay, or of a number in a program's output.
    Metric,
    Size {
        least: Bytes,
        most: Bytes,
    },
    /// Bytes with their unit, or sizes of operations with the share that each has.
    Sizes {
        least: Bytes,
        most: Bytes,
    },
    Time {
        least: Time,
    },
    /// Percent, above 0 and below 100.
    Share,
    /// Percent of loss, above 100% too: a time may double.
    Loss,
    /// A loss in percent, or an amount for metrics that may be zero: `+10`.
    LossOrAmount,
    /// A place on a device: percent of its size, or bytes with their unit.
    Start,
    Mix,
    Content,
    /// A text that the owner of the key reads.
    Own(&'static OwnForm),
    /// The law of a simulated drive, as text or as a table of these keys.
    Law(&'static Fields),
    /// A list of whole numbers, each above the one before.
    Rising {
        least: u64,
        most: u64,
    },
    FactorNames,
    /// A list of words: names of workloads, or levels.
    Words,
    Names(fn() -> Vec<&'static str>),
    /// A number with the unit of the counted thing.
    Amount,
    Price,
    /// Claims printed on a device: speeds, operations per second, classes.
    Claims,
    Table(&'static Fields),
    Tables(&'static Fields),
    /// A table with exactly one of these keys.
    OneOf(&'static Fields),
    Factors,
    /// Factors with their levels; ranges are allowed.
    Space,
    Arm,
    Arms,
    Texts,
    /// Source of a program's numbers: a text, a table of these keys, or a list of such tables.
    Reads(&'static Fields),
}

/// A form that only one key has; the owner of the key parses the text.
pub struct OwnForm {
    /// Returns the normalized text; otherwise an error that says what to write, with input in backquotes.
    pub read: fn(&str) -> Result<String, String>,
    pub pattern: &'static str,
    pub example: &'static str,
    /// Smallest and largest bare integer, if the key accepts one.
    pub number: Option<[u64; 2]>,
}

impl Fields {
    pub fn find(&self, name: &str) -> Option<&'static Field> {
        self.rows.iter().find(|field| field.name == name)
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.rows.iter().map(|field| field.name).collect()
    }
}

type Text = &'static str;

pub const fn field(name: Text, form: Form, summary: Text, example: Text) -> Field {
    Field { name, form, need: Need::Never, summary, example }
}

pub const fn needed(name: Text, form: Form, summary: Text, example: Text) -> Field {
    Field { name, form, need: Need::Always, summary, example }
}

/// A key of a group; exactly one key of the group is required.
pub const fn one_of(name: Text, form: Form, summary: Text, example: Text) -> Field {
    Field { name, form, need: Need::OneOf, summary, example }
}
