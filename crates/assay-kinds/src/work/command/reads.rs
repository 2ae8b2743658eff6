//! The keys of a table of `parse`.

use assay_base::catalogue::keys::{Fields, Form, field, one_of};

use assay_base::outside;
use assay_texts::readings::{FORMATS, Reading, compiled, slug};

use crate::work::kind::Complaints;

/// Words of a number that a program tells of itself.
pub static READS: Fields = Fields {
    label: "parse",
    rows: &[
        one_of(
            "format",
            Form::Word(|| FORMATS.to_vec()),
            "the whole output is in this format, which assay import reads as well",
            "format = \"fio-json\"",
        ),
        one_of(
            "regex",
            Form::Text,
            "a regular expression that a line of the output matches; its groups are the numbers, and their \
             names those of the metrics; of several matches the last one counts",
            "pattern = '(?<ops>[0-9.]+) ops/s'",
        ),
        one_of(
            "json_pointer",
            Form::Text,
            "a JSON pointer to a number in the output; of several documents the last that has it counts",
            "json_pointer = \"/result/p99\"",
        ),
        field(
            "name",
            Form::Text,
            "what the number is called; by default as its group or its key",
            "name = \"p99\"",
        ),
        field("unit", Form::Text, "its unit, which becomes a part of the name", "unit = \"ops/s\""),
        field(
            "better",
            Form::Word(|| vec!["higher", "lower"]),
            "which direction is better; of a format, that of numbers whose names do not tell it",
            "better = \"higher\"",
        ),
        field(
            "file",
            Form::Text,
            "a file that the program writes it to, anew in each run; by default its standard output",
            "file = \"result.json\"",
        ),
    ],
};

/// Tells what must hold of it and does not.
pub(super) fn complain(own: &Reading, path: &str, to: &mut dyn Complaints) {
    let mut value = |key: &str, message: String, hint: &str| {
        let path = format!("{path}/{key}");
        if !to.is_wrong(&path) {
            to.value(&path, message, Some(hint.to_owned()));
        }
    };
    if let Some(format) = own.format.as_ref().filter(|format| !FORMATS.contains(&format.as_str())) {
        let message = format!("there is no format \"{}\" to read", outside::spelled(format));
        value("format", message, "assay list importers names them; a table of trials is none");
    }
    if let Some(Err(error)) = own.regex.as_deref().map(compiled) {
        value("regex", error, "write for example: regex = '(?<ops>[0-9.]+) ops/s'");
    }
    if own.json_pointer.as_ref().is_some_and(|json| !json.is_empty() && !json.starts_with('/')) {
        let message = "a JSON pointer begins with /".to_owned();
        value("json_pointer", message, "write for example: json_pointer = \"/result/p99\"");
    }
    if own.format.is_none() && own.better.is_none() {
        let message = "which direction is better is not said".to_owned();
        value("better", message, "add better = \"higher\" or better = \"lower\"");
    }
    let told = [("name", own.name.is_some()), ("unit", own.unit.is_some())];
    if let Some((key, _)) = told.iter().find(|(_, is_there)| *is_there && own.format.is_some()) {
        value(key, format!("a format says itself what its {key} is"), &format!("leave {key} out"));
    }
    if own.name.as_ref().is_some_and(|name| slug(name).is_empty()) {
        value("name", "a name has letters".to_owned(), "write for example: name = \"p99\"");
    }
    if own.name.is_some() && own.metrics().len() > 1 {
        let message = "one name stands for several groups".to_owned();
        value("name", message, "leave name out: the groups have names");
    }
    if own.file.as_ref().is_some_and(|from| from.starts_with('-') || from.contains('\0')) {
        let message = "from is the path of a file".to_owned();
        value("file", message, "write for example: file = \"result.json\"");
    }
}
