//! The keys of `files`, and what of it may vary.

#![allow(clippy::unit_arg, reason = "a row sets one field or says why not, in one line")]

use assay_base::catalogue::About;
use assay_base::catalogue::keys::{Field, Fields, Form, field};
use assay_base::quantity::{Bytes, Time};

use super::Asked;
use crate::work::kind::{OwnParameter, Parameter};

const MOST_FILES: u32 = 1_000_000;
const MOST_LEVELS: u32 = 16;
const MOST_THREADS: u32 = 1024;
/// Larger ones are the business of `io`.
const LARGEST: Bytes = Bytes(64 << 20);

const fn whole(most: u32) -> Form {
    Form::Whole { least: 1, most: most as u64 }
}

/// Words of `files`.
pub static KEYS: Fields = Fields {
    label: "files",
    rows: &[
        of(&FILES, whole(MOST_FILES), "files = 10000"),
        of(&DIRECTORIES, whole(MOST_FILES), "directories = 100"),
        of(&LEVELS, whole(MOST_LEVELS), "levels = 2"),
        of(&FILE_SIZE, Form::Size { least: Bytes(0), most: LARGEST }, "file-size = \"4 KiB\""),
        of(&PATTERN, Form::Word(|| vec!["sequential", "random"]), "pattern = \"random\""),
        of(&THREADS, whole(MOST_THREADS), "threads = 4"),
        of(&FSYNC, Form::Word(|| vec!["none", "each-phase", "each-file"]), "fsync = \"each-file\""),
        of(&COLD, Form::Flag, "cold = true"),
        field(
            "time",
            Form::Time { least: Time(1) },
            "time of a trial at most: where the tree does not fit into it, it is made smaller",
            "time = \"20 s\"",
        ),
    ],
};

/// The key of a parameter that may be a factor too.
const fn of(parameter: &OwnParameter<Asked>, form: Form, example: &'static str) -> Field {
    let about = parameter.about.about;
    field(about.name, form, about.summary, example)
}

type Set = fn(&mut Asked, &str) -> Result<(), String>;

const fn row(
    [name, summary, text]: [&'static str; 3],
    example: &'static str,
    is_work: bool,
    set: Set,
) -> OwnParameter<Asked> {
    let about = About { name, summary, text };
    OwnParameter { about: Parameter { about, example, is_work }, set }
}

const FILES: OwnParameter<Asked> = row(
    ["files", "files in all", "A whole number from 1 to 1,000,000."],
    "[1000, 10000]",
    true,
    |own, text| Ok(own.files = number(text, MOST_FILES)?),
);

const DIRECTORIES: OwnParameter<Asked> = row(
    [
        "directories",
        "directories that hold the files, as many in each",
        "A whole number from 1 to that of the files.",
    ],
    "[1, 100]",
    false,
    |own, text| Ok(own.directories = number(text, MOST_FILES)?),
);

const LEVELS: OwnParameter<Asked> = row(
    [
        "levels",
        "levels of directories, the lowest of which holds the files",
        "A whole number from 1 to 16; those above have as few directories as they can.",
    ],
    "[1, 4]",
    false,
    |own, text| Ok(own.levels = number(text, MOST_LEVELS)?),
);

const FILE_SIZE: OwnParameter<Asked> = row(
    [
        "file-size",
        "bytes of a file",
        "An amount with its unit: `4 KiB`, up to 64 MiB; `0` is empty.",
    ],
    "[\"0\", \"4 KiB\", \"64 KiB\"]",
    true,
    |own, text| {
        let size: Bytes = text.parse()?;
        if size > LARGEST {
            return Err(format!("a small file has at most {LARGEST}, not {size}"));
        }
        Ok(own.file_size = size)
    },
);

const PATTERN: OwnParameter<Asked> = row(
    [
        "pattern",
        "order in which files are looked at, read, renamed and deleted: as they were created, or drawn",
        "`sequential` or `random`.",
    ],
    "[\"sequential\", \"random\"]",
    true,
    |own, text| Ok(own.pattern = word(text, "sequential or random")?),
);

const THREADS: OwnParameter<Asked> = row(
    ["threads", "threads, each with files of its own", "A whole number from 1 to 1024."],
    "[1, 2, 4]",
    false,
    |own, text| Ok(own.threads = number(text, MOST_THREADS)?),
);

const FSYNC: OwnParameter<Asked> = row(
    [
        "fsync",
        "when a change counts as done: at once, when the file system was synced after its phase, or \
         when besides each file was synced after it was written",
        "`none`, `each-phase` or `each-file`.",
    ],
    "[\"each-phase\", \"each-file\"]",
    true,
    |own, text| Ok(own.fsync = word(text, "none, each-phase or each-file")?),
);

const COLD: OwnParameter<Asked> = row(
    [
        "cold",
        "an empty page cache before each phase but the first (as root)",
        "`true` writes back what is dirty and makes the kernel forget clean pages and names of files; \
         `false` leaves the cache as the phase before left it.",
    ],
    "[false, true]",
    true,
    |own, text| Ok(own.cold = word(text, "true or false")?),
);

/// Those of a study's factors that are parameters of small files.
pub(super) const PARAMETERS: &[OwnParameter<Asked>] =
    &[FILES, DIRECTORIES, LEVELS, FILE_SIZE, PATTERN, THREADS, FSYNC, COLD];

/// A value of a closed set, by the name that study files use.
fn word<T: serde::de::DeserializeOwned>(text: &str, choices: &str) -> Result<T, String> {
    let value =
        text.parse().map_or_else(|_| serde_json::Value::from(text), serde_json::Value::Bool);
    serde_json::from_value(value).map_err(|_| format!("`{text}` is not known: say {choices}"))
}

fn number(text: &str, most: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a whole number from 1 to {most}"))
}
