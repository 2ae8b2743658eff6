//! Parameters of a workload that a study may vary: one row each.

#![allow(clippy::unit_arg, reason = "a row sets one field or says why not, in one line")]

use super::Io;
use crate::catalogue::About;

/// A parameter of a workload of kind `io`.
pub struct Parameter {
    /// What it says of itself.
    pub about: About,
    /// Levels as an example.
    pub example: &'static str,
    /// Sets it from a level's text; else says in one line what to write instead.
    pub set: fn(&mut Io, &str) -> Result<(), String>,
}

const fn about(name: &'static str, summary: &'static str, text: &'static str) -> About {
    About { name, summary, text }
}

/// Parameters that say what is asked for. Nobody chooses them to be faster: writing is no bad setting
/// of reading.
const WORK: [&str; 4] = ["pattern", "mix", "content", "sync"];

/// Whether levels of a factor are different work, and not a choice for the same work.
pub fn is_work(name: &str) -> bool {
    WORK.contains(&name)
}

/// All parameters. `copy` changes nothing: its levels are identical arms.
pub static PARAMETERS: &[Parameter] = &[
    Parameter {
        about: about(
            "pattern",
            "order of the offsets",
            "`sequential`, `random`, or `spread`: as many evenly spaced blocks as `operations` \
             says, in rising order.",
        ),
        example: "[\"sequential\", \"random\"]",
        set: |io, text| Ok(io.pattern = word(text, "sequential, random or spread")?),
    },
    Parameter {
        about: about(
            "mix",
            "share of reads and writes, or rewrite",
            "`read`, `write`, two percentages that add up to 100 (`70/30`), or `rewrite`: each \
             block is read, changed and written back, and counts once.",
        ),
        example: "[\"read\", \"write\", \"70/30\"]",
        set: |io, text| Ok(io.mix = text.parse()?),
    },
    Parameter {
        about: about("size", "bytes of one operation", "An amount with its unit: `4 KiB`."),
        example: "[\"4 KiB\", \"64 KiB\", \"1 MiB\"]",
        set: |io, text| Ok(io.size = text.parse()?),
    },
    Parameter {
        about: about("depth", "operations in flight per thread", "A whole number from 1 to 4096."),
        example: "[1, 2, 4, 8, 16, 32]",
        set: |io, text| Ok(io.depth = whole(text, MOST_DEPTH)?),
    },
    Parameter {
        about: about(
            "threads",
            "threads, each with its own queue",
            "A whole number from 1 to 1024.",
        ),
        example: "[1, 2, 4, 8]",
        set: |io, text| Ok(io.threads = whole(text, MOST_THREADS)?),
    },
    Parameter {
        about: about(
            "direct",
            "past the page cache or through it",
            "`true` goes past the page cache, `false` through it.",
        ),
        example: "[true, false]",
        set: |io, text| Ok(io.direct = word(text, "true or false")?),
    },
    Parameter {
        about: about("content", "which bytes are written", "`random` or `zero`."),
        example: "[\"random\", \"zero\"]",
        set: |io, text| Ok(io.content = word(text, "random or zero")?),
    },
    Parameter {
        about: about(
            "sync",
            "when a write counts as done",
            "`none`: when the kernel says it is written; `each-write`: after an fdatasync of its own.",
        ),
        example: "[\"none\", \"each-write\"]",
        set: |io, text| Ok(io.sync = word(text, "none or each-write")?),
    },
    Parameter {
        about: about("engine", "who carries the operations out", "`auto`, `psync` or `io_uring`."),
        example: "[\"psync\", \"io_uring\"]",
        set: |io, text| Ok(io.engine = word(text, "auto, psync or io_uring")?),
    },
    Parameter {
        about: about(
            "copy",
            "identical arms, to see the bench's own noise",
            "Changes nothing: whatever differs between its levels is noise.",
        ),
        example: "[\"a\", \"b\", \"c\"]",
        set: |_, _| Ok(()),
    },
];

/// Operations in flight per thread at most.
pub(super) const MOST_DEPTH: u32 = 4096;
/// Threads at most.
pub(super) const MOST_THREADS: u32 = 1024;

/// The parameter with a name.
pub fn find(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.about.name == name)
}

/// A value of a closed set, by the name that study files use.
fn word<T: serde::de::DeserializeOwned>(text: &str, choices: &str) -> Result<T, String> {
    let value = match text {
        "true" => serde_json::Value::Bool(true),
        "false" => serde_json::Value::Bool(false),
        other => serde_json::Value::String(other.to_owned()),
    };
    serde_json::from_value(value).map_err(|_| format!("`{text}` is not known: say {choices}"))
}

fn whole(text: &str, most: u32) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|number| (1..=most).contains(number))
        .ok_or_else(|| format!("`{text}` is not a whole number from 1 to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::presets;

    fn io() -> Io {
        presets::check().unwrap().workload.remove(0).io
    }

    #[test]
    fn every_example_is_taken() {
        for parameter in PARAMETERS {
            let levels: Vec<serde_json::Value> = serde_json::from_str(parameter.example).unwrap();
            assert!(levels.len() > 1);
            for level in levels {
                let text = level.as_str().map_or_else(|| level.to_string(), str::to_owned);
                (parameter.set)(&mut io(), &text).unwrap();
            }
        }
    }

    #[test]
    fn what_is_work_is_a_parameter() {
        assert!(WORK.iter().all(|name| find(name).is_some()));
        assert!(!is_work("depth") && !is_work("filesystem"));
    }

    #[test]
    fn a_level_that_is_none_says_what_to_write() {
        for (name, text) in [
            ("pattern", "zigzag"),
            ("mix", "70/40"),
            ("size", "4 XB"),
            ("depth", "0"),
            ("threads", "many"),
            ("direct", "maybe"),
            ("engine", "libaio"),
        ] {
            let message = (find(name).unwrap().set)(&mut io(), text).unwrap_err();
            assert!(!message.is_empty() && !message.contains('\n'), "{message}");
        }
    }
}
