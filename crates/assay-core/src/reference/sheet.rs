//! A published table: CSV with remarks above it. Errors name the line.

use crate::failure::{Failure, Outcome};
use crate::lines::{OpenQuote, Splitter, lines};
use crate::quantity::printed;

/// Larger numbers are a mistake, and ratios of such numbers would not be finite.
const LARGEST: f64 = 1e15;
/// The same for numbers with more decimals.
const MOST_DECIMALS: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sheet {
    name: String,
    remark: String,
    columns: Vec<String>,
    rows: Vec<(usize, Vec<String>)>,
}

#[derive(Clone, Copy, Debug)]
pub struct SheetRow<'a> {
    sheet: &'a Sheet,
    line: usize,
    fields: &'a [String],
}

/// A number as it was printed, with its decimals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundedNumber {
    pub value: f64,
    pub decimals: usize,
}

impl Sheet {
    /// Reads a table; messages call it by its name. A failure for a text without header or rows,
    /// an open quotation mark, a column named twice and a row of another length.
    pub fn read(name: &str, text: &str) -> Outcome<Self> {
        let broken = |line: usize, what: &str| Failure::mistake(format!("{name}:{line}: {what}"));
        let mut splitter = Splitter::new();
        let mut rows: Vec<(usize, Vec<String>)> = Vec::new();
        for (line, text) in lines(text) {
            splitter.split(text).map_err(|OpenQuote(_)| {
                broken(line, "unclosed quotation mark; add the closing mark")
            })?;
            let fields = (0..splitter.count()).map(|index| splitter.field(index).to_owned());
            rows.push((line, fields.collect()));
        }
        if rows.is_empty() {
            return Err(broken(1, "the table is empty; restore its header and rows"));
        }
        let (head, columns) = rows.remove(0);
        for (index, column) in columns.iter().enumerate() {
            if columns[..index].contains(column) {
                let what = format!("column `{column}` appears twice; rename one");
                return Err(broken(head, &what));
            }
        }
        if rows.is_empty() {
            return Err(broken(head, "no rows below the header; restore the rows"));
        }
        if let Some((line, fields)) = rows.iter().find(|(_, row)| row.len() != columns.len()) {
            let (found, wanted) = (fields.len(), columns.len());
            return Err(broken(*line, &format!("{found} fields, but the header has {wanted}")));
        }
        let remark = text.lines().filter_map(|line| line.strip_prefix('#'));
        let remark = remark.map(str::trim).collect::<Vec<_>>().join(" ");
        Ok(Self { name: name.to_owned(), remark, columns, rows })
    }

    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Remarks above the table: source, unit, statistic.
    pub fn remark(&self) -> &str {
        &self.remark
    }

    /// Statistic of the numbers according to the remark: `mean of 5`, `best of 3`, `one run`.
    pub fn statistic(&self) -> String {
        for phrase in ["mean of ", "best of "] {
            if let Some(runs) = self.number_after(phrase) {
                return format!("{phrase}{runs} runs, spread not published");
            }
        }
        let one = self.remark.contains("one run");
        if one { "one run" } else { "published number, number of runs not stated" }.to_owned()
    }

    fn number_after(&self, phrase: &str) -> Option<&str> {
        let (_, rest) = self.remark.split_once(phrase)?;
        rest.split(|c: char| !c.is_ascii_digit()).next().filter(|digits| !digits.is_empty())
    }

    pub fn rows(&self) -> impl Iterator<Item = SheetRow<'_>> + Clone {
        self.rows.iter().map(|(line, fields)| SheetRow { sheet: self, line: *line, fields })
    }

    /// Returns the only row that has these words in these columns; fails if there is none or a second one.
    pub fn one(&self, wanted: &[(&str, &str)]) -> Outcome<SheetRow<'_>> {
        for (column, _) in wanted {
            self.column(column)?;
        }
        let is_wanted = |row: &SheetRow<'_>| {
            wanted.iter().all(|(column, word)| row.text(column).is_ok_and(|text| text == *word))
        };
        let words = || {
            let words: Vec<String> =
                wanted.iter().map(|(column, word)| format!("{column} `{word}`")).collect();
            words.join(" and ")
        };
        let mut found = self.rows().filter(is_wanted);
        let (row, other) = (found.next(), found.next());
        match (row, other) {
            (Some(row), None) => Ok(row),
            (Some(_), Some(other)) => Err(other.broken(&format!("a second row with {}", words()))),
            (None, _) => Err(Failure::mistake(format!("{}: no row with {}", self.name, words()))),
        }
    }

    pub fn broken(&self, what: &str) -> Failure {
        Failure::mistake(format!("{}: {what}", self.name))
    }

    fn column(&self, name: &str) -> Outcome<usize> {
        self.columns.iter().position(|column| column == name).ok_or_else(|| {
            let have = self.columns.join(", ");
            Failure::mistake(format!("{}: no column `{name}`; the columns are {have}", self.name))
        })
    }
}

impl<'a> SheetRow<'a> {
    pub fn text(&self, column: &str) -> Outcome<&'a str> {
        let fields: &'a [String] = self.fields;
        Ok(fields.get(self.sheet.column(column)?).map_or("", String::as_str))
    }

    pub fn cells(&self) -> &'a [String] {
        self.fields
    }

    pub fn columns(&self) -> &'a [String] {
        &self.sheet.columns
    }

    /// Line number in the file, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns the flags of a column in this row: of the entries of the column `flag`, separated by `;`, those that
    /// begin with the column's name and `: ` (removed here), and those without a column, which concern the whole row.
    pub fn flags(&self, column: &str) -> Vec<String> {
        let mut flags = Vec::new();
        for entry in self.text("flag").unwrap_or_default().split(';').map(str::trim) {
            let text = match entry.split_once(": ") {
                Some((name, text)) if name == column => text,
                Some((name, _)) if self.sheet.columns.iter().any(|known| known == name) => continue,
                _ => entry,
            };
            if !text.is_empty() {
                flags.push(text.to_owned());
            }
        }
        flags
    }

    pub fn printed(&self, column: &str) -> Outcome<RoundedNumber> {
        let text = self.text(column)?;
        RoundedNumber::parse(text).ok_or_else(|| {
            self.broken(&format!("{column} is `{text}`; write a number such as 12.5"))
        })
    }

    /// Parses a positive number, such as a time, rate or divisor.
    pub fn positive(&self, column: &str) -> Outcome<f64> {
        let value = self.printed(column)?.value;
        if value > 0.0 {
            return Ok(value);
        }
        Err(self.broken(&format!("{column} is {value}; write a number above zero")))
    }
    pub fn count(&self, column: &str) -> Outcome<u64> {
        let value = self.printed(column)?.value;
        if value.fract() != 0.0 || value < 0.0 {
            return Err(self.broken(&format!("{column} is {value}; write a whole number")));
        }
        Ok(value as u64)
    }

    pub fn broken(&self, what: &str) -> Failure {
        Failure::mistake(format!("{}:{}: {what}", self.sheet.name, self.line))
    }
}

impl RoundedNumber {
    /// Parses a plain number; `None` for anything else, including `NaN` and `inf`.
    pub fn parse(text: &str) -> Option<Self> {
        if !text.chars().all(|sign| sign.is_ascii_digit() || sign == '.' || sign == '-') {
            return None;
        }
        let value: f64 = text.parse().ok()?;
        let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let is_plausible = value.abs() <= LARGEST && decimals <= MOST_DECIMALS;
        is_plausible.then_some(Self { value, decimals })
    }

    /// Returns whether an amount rounds, or is truncated, to the printed digits: published numbers are both.
    pub fn says(self, amount: f64) -> bool {
        printed::says(self.value, self.decimals, amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# source: somewhere; mean of 5\nop,rate\nread,1.50\nwrite,\n";

    #[test]
    fn rows_are_found_and_numbers_keep_their_decimals() {
        let sheet = Sheet::read("t.csv", TEXT).unwrap();
        assert_eq!(sheet.statistic(), "mean of 5 runs, spread not published");
        let row = sheet.one(&[("op", "read")]).unwrap();
        assert_eq!(row.printed("rate").unwrap(), RoundedNumber { value: 1.5, decimals: 2 });
        assert!(sheet.one(&[("op", "write")]).unwrap().printed("rate").is_err());
    }

    #[test]
    fn what_is_broken_is_told_with_its_line() {
        let told = |text: &str| Sheet::read("t.csv", text).unwrap_err().message;
        assert!(told("").starts_with("t.csv:1: the table is empty"));
        assert!(told("a,b\n").starts_with("t.csv:1: "));
        assert!(told("a,a\n1,2\n").contains("column `a` appears twice"));
        assert!(told("a,b\n1\n").starts_with("t.csv:2: 1 fields"));
        assert!(told("a,b\n1,\"2\n").contains("t.csv:2: "));
        let sheet = Sheet::read("t.csv", "a,b\n1,NaN\n2,inf\n3,-1\n3,0.5\n").unwrap();
        let rows: Vec<SheetRow<'_>> = sheet.rows().collect();
        assert!(rows[0].printed("b").unwrap_err().message.contains("t.csv:2: b is `NaN`"));
        assert!(rows[1].printed("b").is_err());
        assert!(rows[2].positive("b").unwrap_err().message.contains("above zero"));
        assert!(rows[3].count("b").unwrap_err().message.contains("whole number"));
        assert!(rows[0].text("c").unwrap_err().message.contains("no column `c`"));
        assert!(sheet.one(&[("a", "3")]).unwrap_err().message.contains("a second row"));
        assert!(sheet.one(&[("a", "4")]).unwrap_err().message.contains("no row with a `4`"));
    }

    #[test]
    fn printed_digits_are_rounded_or_cut_off() {
        let printed = RoundedNumber::parse("26.32").unwrap();
        assert!(printed.says(26.327) && printed.says(26.318));
        assert!(!printed.says(26.33) && !printed.says(26.314));
        assert!(RoundedNumber::parse("0.3").unwrap().says(0.1 + 0.2));
    }
}
