//! The parameters of small files, one entry each.

use assay_core::catalogue::keys::Form;
use assay_core::quantity::{Bytes, Time};
use serde::{Deserialize, Serialize};

use super::{FileSync, Pattern};
use crate::keys::{choice, keys, parse_choice, parse_whole, work};

const MOST_FILES: u32 = 1_000_000;
const MOST_LEVELS: u32 = 16;
const MOST_THREADS: u32 = 1024;
const LARGEST: Bytes = Bytes(64 << 20);

keys! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "snake_case")]
    pub struct FilesSpec {
        files: u32 = 10_000 => {
            words: "total number of files",
            form: numbers_to(MOST_FILES),
            example: "files = 10000",
            factor: work(
                "A whole number from 1 to 1,000,000.",
                "[1000, 10000]",
                |own, text| Ok(own.files = parse_whole(text, MOST_FILES)?),
            ),
        }
        directories: u32 = 100 => {
            words: "number of directories; each contains the same number of files",
            form: numbers_to(MOST_FILES),
            example: "directories = 100",
            factor: choice(
                "A whole number from 1 to the number of files.",
                "[1, 100]",
                |own, text| Ok(own.directories = parse_whole(text, MOST_FILES)?),
            ),
        }
        /// Levels of directories; the lowest contains the files.
        tree_depth: u32 = 1 => {
            words: "depth of the directory tree, whose lowest level contains the files",
            form: numbers_to(MOST_LEVELS),
            example: "tree_depth = 2",
            factor: choice(
                "A whole number from 1 to 16; higher levels have as few directories as possible.",
                "[1, 4]",
                |own, text| Ok(own.tree_depth = parse_whole(text, MOST_LEVELS)?),
            ),
        }
        file_size: Bytes = Bytes(4 << 10) => {
            words: "file size",
            form: Form::Size { least: Bytes(0), most: LARGEST },
            example: "file_size = \"4 KiB\"",
            factor: work(
                "An amount with its unit: `4 KiB`, up to 64 MiB; `0` is empty.",
                "[\"0\", \"4 KiB\", \"64 KiB\"]",
                set_file_size,
            ),
        }
        /// Order of accesses after the creation.
        pattern: Pattern = Pattern::Random => {
            words: "order of stat, read, rename and delete: creation order or random",
            form: Form::Word(|| vec!["sequential", "random"]),
            example: "pattern = \"random\"",
            factor: work(
                "`sequential` or `random`.",
                "[\"sequential\", \"random\"]",
                |own, text| Ok(own.pattern = parse_choice(text, "sequential or random")?),
            ),
        }
        threads: u32 = 1 => {
            words: "threads, each with separate files",
            form: numbers_to(MOST_THREADS),
            example: "threads = 4",
            factor: choice(
                "A whole number from 1 to 1024.",
                "[1, 2, 4]",
                |own, text| Ok(own.threads = parse_whole(text, MOST_THREADS)?),
            ),
        }
        fsync: FileSync = FileSync::EachPhase => {
            words: "when a change counts as complete: immediately, after a filesystem sync per phase, or also after a \
                    sync per written file",
            form: Form::Word(|| vec!["none", "each-phase", "each-file"]),
            example: "fsync = \"each-file\"",
            factor: work(
                "`none`, `each-phase` or `each-file`.",
                "[\"each-phase\", \"each-file\"]",
                |own, text| Ok(own.fsync = parse_choice(text, "none, each-phase or each-file")?),
            ),
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        drop_caches: bool = false => {
            words: "drop the page cache before each phase except the first (as root)",
            form: Form::Flag,
            example: "drop_caches = true",
            factor: work(
                "`true` writes back dirty data and drops clean pages, dentries and inodes; `false` keeps the cache.",
                "[false, true]",
                |own, text| Ok(own.drop_caches = parse_choice(text, "true or false")?),
            ),
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        runtime: Option<Time> = None => {
            words: "maximum duration of a trial; Assay shrinks a tree that would take longer",
            form: Form::Time { least: Time(1) },
            example: "runtime = \"20 s\"",
        }
    }
}

const fn numbers_to(most: u32) -> Form {
    Form::Whole { least: 1, most: most as u64 }
}

fn set_file_size(spec: &mut FilesSpec, text: &str) -> Result<(), String> {
    let size: Bytes = text.parse()?;
    if size > LARGEST {
        return Err(format!("a file size must be at most {LARGEST}, not {size}"));
    }
    spec.file_size = size;
    Ok(())
}
