//! The keys of a table of `reads`.

use assay_base::catalogue::keys::{Fields, Form, field, one_of};

use super::FORMATS;

/// Words of a number that a program tells of itself.
pub static READS: Fields = Fields {
    label: "reads",
    rows: &[
        one_of(
            "format",
            Form::Word(|| FORMATS.to_vec()),
            "the whole output is in this format, which assay import reads as well",
            "format = \"fio-json\"",
        ),
        one_of(
            "pattern",
            Form::Text,
            "a regular expression that a line of the output matches; its groups are the numbers, and their \
             names those of the metrics; of several matches the last one counts",
            "pattern = '(?<ops>[0-9.]+) ops/s'",
        ),
        one_of(
            "json",
            Form::Text,
            "a JSON pointer to a number in the output; of several documents the last that has it counts",
            "json = \"/result/p99\"",
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
            "which direction is better; a format says so itself",
            "better = \"higher\"",
        ),
        field(
            "from",
            Form::Text,
            "a file that the program writes it to, anew in each run; by default its standard output",
            "from = \"result.json\"",
        ),
    ],
};
