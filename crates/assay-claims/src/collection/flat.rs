//! A row as one line of a table: what lists, queries, exports and the index have of it.

use std::fmt::{self, Display, Formatter};

use assay_base::lines::{self, Splitter};
use assay_study::findings::Trust;
use assay_study::findings::answers::{CardClaim, CardNumber, Standing};
use assay_study::study::printed::Claim;
use assay_verdict::analysis::claims::{self, Numbers};

use super::numbers::{ENERGY, NUMBERS};
use super::row::Row;

/// A row in one line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flat {
    /// The file that it is of, below the rows; of a published row its article.
    pub file: String,
    /// Model.
    pub device: String,
    /// Gigabytes of 10^9 bytes.
    pub capacity_gb: Option<f64>,
    /// What is printed on it.
    pub claimed: String,
    /// Claims that are reached, and those that are not.
    pub reached: String,
    /// In the order and the units of [`NUMBERS`].
    pub numbers: [Option<f64>; NUMBERS.len()],
    /// Joules per GiB of linear writing.
    pub energy_j_per_gib: Option<f64>,
    /// Price of a gigabyte.
    pub price_per_gb: Option<f64>,
    pub currency: String,
    /// `trusted`, `suspect`, `invalid`, `published`; `foreign` before it where somebody else measured it.
    pub trust: String,
    /// Day.
    pub date: String,
    /// Kernel, processor and place.
    pub machine: String,
    /// File system.
    pub filesystem: String,
    /// Who contributed it.
    pub by: String,
}

/// What [`Flat::trust`] says of published rows.
pub const PUBLISHED: &str = "published";
const INVALID: &str = "invalid";

/// The columns before the numbers, and after them.
const BEFORE: [&str; 5] = ["file", "device", "capacity_gb", "claimed", "reached"];
const AFTER: [&str; 8] =
    [ENERGY, "price_per_gb", "currency", "trust", "date", "machine", "filesystem", "by"];

const COLUMNS: usize = BEFORE.len() + NUMBERS.len() + AFTER.len();

/// What a row has in a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nothing was said.
    Nothing,
    /// In the unit of its column.
    Number(f64),
    /// Words that are not empty.
    Text(&'a str),
}

impl<'a> Value<'a> {
    fn of_text(text: &'a str) -> Self {
        if text.is_empty() { Self::Nothing } else { Self::Text(text) }
    }

    fn of_number(number: Option<f64>) -> Self {
        number.map_or(Self::Nothing, Self::Number)
    }
}

impl Display for Value<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

/// The names of all columns.
pub fn columns() -> Vec<&'static str> {
    let numbers = NUMBERS.iter().map(|kind| kind.name);
    BEFORE.into_iter().chain(numbers).chain(AFTER).collect()
}

/// Whether the values of a column are numbers.
pub fn is_number(column: &str) -> bool {
    let others = ["capacity_gb", ENERGY, "price_per_gb"];
    others.contains(&column) || NUMBERS.iter().any(|kind| kind.name == column)
}

impl Flat {
    /// The line of a row.
    pub fn of(file: &str, row: &Row) -> Self {
        let shown =
            |name: &str, unit: f64| row.measured.get(name).map(|number| number.value / unit);
        let mut numbers = [None; NUMBERS.len()];
        for (at, kind) in numbers.iter_mut().zip(&NUMBERS) {
            *at = shown(kind.name, kind.unit);
        }
        let (price_per_gb, currency) = row.price_per_gb().unzip();
        Self {
            file: file.to_owned(),
            device: row.device.clone(),
            capacity_gb: row.capacity_bytes.map(|bytes| bytes as f64 / 1e9),
            claimed: row.claimed.join(", "),
            reached: reached(row),
            numbers,
            energy_j_per_gib: shown(ENERGY, 1.0),
            price_per_gb,
            currency: currency.unwrap_or_default(),
            trust: trust(row),
            date: row.date.clone().unwrap_or_default(),
            machine: row.machine.clone(),
            filesystem: row.filesystem.clone(),
            by: row.by.clone().unwrap_or_default(),
        }
    }

    /// Whether its numbers are none.
    pub fn is_invalid(&self) -> bool {
        self.trust.ends_with(INVALID)
    }

    /// What it has in a column of this number, in the order of [`columns`].
    pub fn value(&self, column: usize) -> Value<'_> {
        let Some(after_before) = column.checked_sub(BEFORE.len()) else {
            return match column {
                0 => Value::of_text(&self.file),
                1 => Value::of_text(&self.device),
                2 => Value::of_number(self.capacity_gb),
                3 => Value::of_text(&self.claimed),
                _ => Value::of_text(&self.reached),
            };
        };
        if let Some(&number) = self.numbers.get(after_before) {
            return Value::of_number(number);
        }
        match after_before - NUMBERS.len() {
            0 => Value::of_number(self.energy_j_per_gib),
            1 => Value::of_number(self.price_per_gb),
            2 => Value::of_text(&self.currency),
            3 => Value::of_text(&self.trust),
            4 => Value::of_text(&self.date),
            5 => Value::of_text(&self.machine),
            6 => Value::of_text(&self.filesystem),
            _ => Value::of_text(&self.by),
        }
    }

    /// Its fields as they are written, in the order of [`columns`]; empty where there is none.
    pub fn fields(&self) -> Vec<String> {
        (0..COLUMNS).map(|column| self.value(column).to_string()).collect()
    }

    /// As a line of a table, without its end, with this between its fields.
    pub fn line(&self, between: char) -> String {
        line(&self.fields(), between)
    }

    /// Reads the fields of a line; none where it is not one.
    fn read<'f>(mut fields: impl Iterator<Item = &'f str>) -> Option<Self> {
        // One that is missing is found by the field after the last one, which then is none, too.
        let mut count = 0;
        let mut field = || {
            let field = fields.next();
            count += usize::from(field.is_some());
            field.unwrap_or_default()
        };
        let number = |text: &str| match text {
            "" => Some(None),
            text => text.parse().ok().map(Some),
        };
        let (file, device) = (field().to_owned(), field().to_owned());
        let capacity_gb = number(field())?;
        let (claimed, reached) = (field().to_owned(), field().to_owned());
        let mut numbers = [None; NUMBERS.len()];
        for at in &mut numbers {
            *at = number(field())?;
        }
        // As they stand in a line.
        let flat = Self {
            file,
            device,
            capacity_gb,
            claimed,
            reached,
            numbers,
            energy_j_per_gib: number(field())?,
            price_per_gb: number(field())?,
            currency: field().to_owned(),
            trust: field().to_owned(),
            date: field().to_owned(),
            machine: field().to_owned(),
            filesystem: field().to_owned(),
            by: field().to_owned(),
        };
        (count == COLUMNS && fields.next().is_none()).then_some(flat)
    }
}

/// Between fields where programs read them: texts hardly ever have it, so hardly ever need quotation marks.
pub const TAB: char = '\t';

/// Names of the columns, as the first line of a table.
pub fn head(between: char) -> String {
    columns().join(&between.to_string())
}

/// Reads a whole table with its head and tabs between the fields; none where a line of it is none.
pub fn table(text: &str) -> Option<Vec<Flat>> {
    let rest = text.strip_prefix(&head(TAB))?.strip_prefix('\n')?;
    let mut splitter = Splitter::between(TAB as u8);
    let read = |line: &str| {
        if !line.contains('"') {
            return Flat::read(line.split(TAB));
        }
        splitter.split(line).ok()?;
        Flat::read((0..splitter.count()).map(|at| splitter.field(at)))
    };
    rest.lines().map(read).collect()
}

/// Fields as a line of a table: between commas it goes into spreadsheets, between anything else to programs.
fn line(fields: &[String], between: char) -> String {
    let written = fields.iter().map(|text| match between {
        ',' => lines::field(text),
        other => lines::quoted(text, other).into_owned(),
    });
    written.collect::<Vec<_>>().join(&between.to_string())
}

fn trust(row: &Row) -> String {
    if row.published.is_some() {
        return PUBLISHED.to_owned();
    }
    let own = match row.trust() {
        Some(Trust::Trusted) => "trusted",
        Some(Trust::Suspect) => "suspect",
        Some(Trust::Invalid) => INVALID,
        None => "not judged",
    };
    if row.foreign { format!("foreign, {own}") } else { own.to_owned() }
}

/// The claims of a row, held against its numbers.
pub fn held(row: &Row) -> Vec<CardClaim> {
    let parsed: Vec<(&str, Claim)> =
        row.claimed.iter().filter_map(|text| Some((text.as_str(), text.parse().ok()?))).collect();
    let numbers: Numbers = NUMBERS
        .iter()
        .filter_map(|kind| {
            let number = row.measured.get(kind.name)?;
            let one = CardNumber { value: number.value, ci95: number.ci95, trust: number.trust };
            Some((kind.name, one))
        })
        .collect();
    claims::held(parsed.iter().map(|(text, claim)| (*text, claim)), &numbers)
}

/// How the claims of a row went, in few words; nothing where nothing was measured.
fn reached(row: &Row) -> String {
    if row.measured.is_empty() {
        return String::new();
    }
    let told = held(row).into_iter().map(|one| {
        let word = match one.standing {
            Standing::Above => "reached",
            Standing::Below => "not reached",
            Standing::Open => "cannot be determined",
        };
        format!("{} {word}", one.claim)
    });
    told.collect::<Vec<_>>().join(", ")
}
