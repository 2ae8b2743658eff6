//! The keys of `files`, and what of it may vary.

#![allow(clippy::unit_arg, reason = "a row sets one field or says why not, in one line")]

use assay_base::catalogue::keys::{Fields, Form, field};
use assay_base::quantity::{Bytes, Time};

use super::Asked;
use crate::work::kind::OwnParameter;

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
        FILES.key(whole(MOST_FILES), "files = 10000"),
        DIRECTORIES.key(whole(MOST_FILES), "directories = 100"),
        LEVELS.key(whole(MOST_LEVELS), "levels = 2"),
        FILE_SIZE.key(Form::Size { least: Bytes(0), most: LARGEST }, "file-size = \"4 KiB\""),
        PATTERN.key(Form::Word(|| vec!["sequential", "random"]), "pattern = \"random\""),
        THREADS.key(whole(MOST_THREADS), "threads = 4"),
        FSYNC.key(Form::Word(|| vec!["none", "each-phase", "each-file"]), "fsync = \"each-file\""),
        COLD.key(Form::Flag, "cold = true"),
        field(
            "time",
            Form::Time { least: Time(1) },
            "time of a trial at most: where the tree does not fit into it, it is made smaller",
            "time = \"20 s\"",
        ),
    ],
};

type Row = OwnParameter<Asked>;

const FILES: Row = Row::new(
    ["files", "files in all", "A whole number from 1 to 1,000,000."],
    "[1000, 10000]",
    true,
    |own, text| Ok(own.files = number(text, MOST_FILES)?),
);

const DIRECTORIES: Row = Row::new(
    [
        "directories",
        "directories that hold the files, as many in each",
        "A whole number from 1 to that of the files.",
    ],
    "[1, 100]",
    false,
    |own, text| Ok(own.directories = number(text, MOST_FILES)?),
);

const LEVELS: Row = Row::new(
    [
        "levels",
        "levels of directories, the lowest of which holds the files",
        "A whole number from 1 to 16; those above have as few directories as they can.",
    ],
    "[1, 4]",
    false,
    |own, text| Ok(own.levels = number(text, MOST_LEVELS)?),
);

const FILE_SIZE: Row = Row::new(
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

const PATTERN: Row = Row::new(
    [
        "pattern",
        "order in which files are looked at, read, renamed and deleted: as they were created, or drawn",
        "`sequential` or `random`.",
    ],
    "[\"sequential\", \"random\"]",
    true,
    |own, text| Ok(own.pattern = word(text, "sequential or random")?),
);

const THREADS: Row = Row::new(
    ["threads", "threads, each with files of its own", "A whole number from 1 to 1024."],
    "[1, 2, 4]",
    false,
    |own, text| Ok(own.threads = number(text, MOST_THREADS)?),
);

const FSYNC: Row = Row::new(
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

const COLD: Row = Row::new(
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
