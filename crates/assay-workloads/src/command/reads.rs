//! The keys of a table of `parse`.

use assay_core::catalogue::keys::{Fields, Form, field, one_of};

use crate::command::readings::{FORMATS, ParseSpec, compile, slug};
use assay_core::outside;

use crate::workload::Complaints;

pub static READS: Fields = Fields {
    label: "parse",
    rows: &[
        one_of(
            "format",
            Form::Word(|| FORMATS.to_vec()),
            "format of the whole output, as for assay import",
            "format = \"fio-json\"",
        ),
        one_of(
            "regex",
            Form::Text,
            "regular expression for an output line; its groups are the numbers, named groups name the metrics, and the \
             last match counts",
            "pattern = '(?<ops>[0-9.]+) ops/s'",
        ),
        one_of(
            "json_pointer",
            Form::Text,
            "JSON pointer to a number in the output; if several documents contain it, the last counts",
            "json_pointer = \"/result/p99\"",
        ),
        field(
            "name",
            Form::Text,
            "name of the metric; by default its group or key",
            "name = \"p99\"",
        ),
        field("unit", Form::Text, "unit; becomes part of the name", "unit = \"ops/s\""),
        field(
            "better",
            Form::Word(|| vec!["higher", "lower"]),
            "better direction; with format, only for metrics whose direction is unknown",
            "better = \"higher\"",
        ),
        field(
            "file",
            Form::Text,
            "file that the program writes during each run; standard output by default",
            "file = \"result.json\"",
        ),
    ],
};

/// Reports mistakes in an entry of `parse`; `path` is its path in the study file.
pub(super) fn complain(spec: &ParseSpec, path: &str, to: &mut dyn Complaints) {
    let mut report = |key: &str, message: String, hint: &str| {
        let path = format!("{path}/{key}");
        if !to.is_wrong(&path) {
            to.value(&path, message, Some(hint.to_owned()));
        }
    };
    if let Some(format) = spec.format.as_ref().filter(|format| !FORMATS.contains(&format.as_str()))
    {
        let message = format!("unknown format \"{}\"", outside::spelled(format));
        report("format", message, "see assay list importers; tables of trials are not supported");
    }
    if let Some(Err(error)) = spec.regex.as_deref().map(compile) {
        report("regex", error, "example: regex = '(?<ops>[0-9.]+) ops/s'");
    }
    if spec.json_pointer.as_ref().is_some_and(|json| !json.is_empty() && !json.starts_with('/')) {
        let message = "a JSON pointer must begin with /".to_owned();
        report("json_pointer", message, "write for example: json_pointer = \"/result/p99\"");
    }
    if spec.format.is_none() && spec.better.is_none() {
        let message = "no direction of the metric".to_owned();
        report("better", message, "add better = \"higher\" or better = \"lower\"");
    }
    let keys = [("name", spec.name.is_some()), ("unit", spec.unit.is_some())];
    if let Some((key, _)) = keys.iter().find(|(_, is_set)| *is_set && spec.format.is_some()) {
        report(key, format!("a format sets {key} itself"), &format!("remove {key}"));
    }
    if spec.name.as_ref().is_some_and(|name| slug(name).is_empty()) {
        report("name", "a name needs letters".to_owned(), "write for example: name = \"p99\"");
    }
    if spec.name.is_some() && spec.metrics().len() > 1 {
        let message = "name does not work with several groups".to_owned();
        report("name", message, "remove name, and name the groups in the pattern");
    }
    if spec.file.as_ref().is_some_and(|from| from.starts_with('-') || from.contains('\0')) {
        let message = "file must be the path of a file".to_owned();
        report("file", message, "write for example: file = \"result.json\"");
    }
}
