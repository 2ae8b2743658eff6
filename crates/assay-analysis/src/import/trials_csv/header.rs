//! The header: the role of each column.

use assay_core::lines::{OpenQuote, Splitter};

use crate::import::mistakes::{Field, Mistakes};
use crate::import::words::{nearest, quoted};

pub(super) const FACTOR: &str = "factor_";
const REQUIRED: [&str; 4] = ["replicate", "workload", "metric", "value"];
const OPTIONAL: [&str; 5] = ["order", "status", "reason", "counted", "mean_kind"];

/// The role of each column; columns count from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub line: usize,
    pub names: Vec<String>,
    pub replicate: Option<usize>,
    pub order: Option<usize>,
    pub workload: Option<usize>,
    pub metric: Option<usize>,
    pub value: Option<usize>,
    pub status: Option<usize>,
    pub reason: Option<usize>,
    pub factors: Vec<usize>,
}

impl Header {
    /// Reads the first line; `None` if it is not a header.
    pub(super) fn read(
        line: usize,
        text: &str,
        splitter: &mut Splitter,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<Self> {
        if let Err(OpenQuote(column)) = splitter.split(text) {
            mistakes.at(&Field { line, column, name: "", text }, OPEN_QUOTE);
            return None;
        }
        let names: Vec<String> =
            (0..splitter.count()).map(|index| splitter.field(index).to_owned()).collect();
        if let Some(advice) = advice_without_header(&names) {
            mistakes.on(line, &advice);
            return None;
        }
        let mut header = Self { line, names, ..Self::default() };
        let meant: Vec<&str> =
            (0..header.names.len()).filter_map(|column| header.assign(column, mistakes)).collect();
        for name in REQUIRED {
            if !header.names.iter().any(|written| written == name) && !meant.contains(&name) {
                mistakes.on(line, &missing(name));
            }
        }
        Some(header)
    }

    /// Assigns a role to a column; for an unknown one, returns the name that was probably meant.
    fn assign(&mut self, column: usize, mistakes: &mut Mistakes<'_>) -> Option<&'static str> {
        let name = self.names[column].clone();
        let cell = Field { line: self.line, column: column + 1, name: &name, text: &name };
        if let Some(first) = self.names[..column].iter().position(|earlier| *earlier == name)
            && !name.is_empty()
        {
            let text = format!("column {} has the same name; remove or rename a column", first + 1);
            mistakes.at(&cell, &text);
            return None;
        }
        let place = match name.as_str() {
            "replicate" => &mut self.replicate,
            "order" => &mut self.order,
            "workload" => &mut self.workload,
            "metric" => &mut self.metric,
            "value" => &mut self.value,
            "status" => &mut self.status,
            "reason" => &mut self.reason,
            // Other columns imply these two.
            "counted" | "mean_kind" => return None,
            other => match other.strip_prefix(FACTOR).map(str::trim) {
                Some("") => {
                    mistakes.at(&cell, "the factor has no name; write `factor_NAME`");
                    return None;
                }
                Some(_) => {
                    self.factors.push(column);
                    return None;
                }
                None => return report_unknown(&cell, mistakes),
            },
        };
        *place = Some(column);
        None
    }

    pub(super) fn factor(&self, column: usize) -> &str {
        self.names[column].strip_prefix(FACTOR).unwrap_or_default().trim()
    }

    pub(super) fn cell<'a>(&'a self, line: usize, column: usize, text: &'a str) -> Field<'a> {
        let name = self.names.get(column).map_or("", String::as_str);
        Field { line, column: column + 1, name, text }
    }
}

pub(super) const OPEN_QUOTE: &str = "unclosed quotation mark on this line; close or remove it";

/// Advice for a first line that names none of the columns.
fn advice_without_header(names: &[String]) -> Option<String> {
    let known = REQUIRED.into_iter().chain(OPTIONAL);
    if names.iter().any(|name| name.starts_with(FACTOR) || known.clone().any(|own| own == name)) {
        return None;
    }
    let single = names.first().filter(|_| names.len() == 1);
    let separator = single.and_then(|name| name.chars().find(|sign| [';', '\t'].contains(sign)));
    if let Some(separator) = separator {
        let separator = if separator == ';' { "semicolons" } else { "tabs" };
        return Some(format!("the fields are separated by {separator}; use commas"));
    }
    let near = |name: &String| nearest(name, REQUIRED).is_some();
    (!names.iter().any(near)).then(|| {
        "the first line is not a header; start the file with the column names, such as \
         replicate,workload,metric,value; see assay list importers for other formats"
            .to_owned()
    })
}

fn missing(name: &str) -> String {
    let what = match name {
        "replicate" => "the replicate number of each trial (1, 2, 3, ...)",
        "workload" => "the name of the workload",
        "metric" => "the name of the metric",
        _ => "the numbers",
    };
    format!("no column `{name}`; add one with {what}")
}

/// Reports an unknown column; returns the name that was probably meant.
fn report_unknown(cell: &Field<'_>, mistakes: &mut Mistakes<'_>) -> Option<&'static str> {
    if cell.text.is_empty() {
        mistakes.at(cell, "the column has no name; add a name, or remove the column and its comma");
        return None;
    }
    let meant = nearest(cell.text, REQUIRED.into_iter().chain(OPTIONAL));
    let advice = match meant {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            format!("rename it to `factor_{}` if it is a factor, or remove it", quoted(cell.text))
        }
    };
    mistakes.at(cell, &format!("unknown column; {advice}"));
    meant
}
