//! Parameters of reads and writes that a study may vary: one row each.

#![allow(clippy::unit_arg, reason = "a row sets one field or says why not, in one line")]

use super::Asked;
use super::keys::{MOST_DEPTH, MOST_THREADS};
use crate::catalogue::About;
use crate::work::kind::{OwnParameter, Parameter};

type Set = fn(&mut Asked, &str) -> Result<(), String>;

const fn about(name: &'static str, summary: &'static str, text: &'static str) -> About {
    About { name, summary, text }
}

/// A parameter that says what is asked for.
const fn work(about: About, example: &'static str, set: Set) -> OwnParameter<Asked> {
    OwnParameter { about: Parameter { about, example, is_work: true }, set }
}

/// A parameter that is a choice for the same work.
const fn choice(about: About, example: &'static str, set: Set) -> OwnParameter<Asked> {
    OwnParameter { about: Parameter { about, example, is_work: false }, set }
}

/// `pattern`.
pub(super) const PATTERN: OwnParameter<Asked> = work(
    about(
        "pattern",
        "order of the offsets",
        "`sequential`, `random`, or `spread`: as many evenly spaced blocks as `operations` \
             says, in rising order.",
    ),
    "[\"sequential\", \"random\"]",
    |io, text| Ok(io.pattern = word(text, "sequential, random or spread")?),
);

/// `mix`.
pub(super) const MIX: OwnParameter<Asked> = work(
    about(
        "mix",
        "share of reads and writes, or rewrite",
        "`read`, `write`, two percentages that add up to 100 (`70/30`), or `rewrite`: each \
             block is read, changed and written back, and counts once.",
    ),
    "[\"read\", \"write\", \"70/30\"]",
    |io, text| Ok(io.mix = text.parse()?),
);

/// `size`.
pub(super) const SIZE: OwnParameter<Asked> = choice(
    about("size", "bytes of one operation", "An amount with its unit: `4 KiB`."),
    "[\"4 KiB\", \"64 KiB\", \"1 MiB\"]",
    |io, text| Ok(io.size = text.parse()?),
);

/// `depth`.
pub(super) const DEPTH: OwnParameter<Asked> = choice(
    about("depth", "operations in flight per thread", "A whole number from 1 to 4096."),
    "[1, 2, 4, 8, 16, 32]",
    |io, text| Ok(io.depth = whole(text, MOST_DEPTH)?),
);

/// `threads`.
pub(super) const THREADS: OwnParameter<Asked> = choice(
    about("threads", "threads, each with its own queue", "A whole number from 1 to 1024."),
    "[1, 2, 4, 8]",
    |io, text| Ok(io.threads = whole(text, MOST_THREADS)?),
);

/// `direct`.
pub(super) const DIRECT: OwnParameter<Asked> = choice(
    about(
        "direct",
        "past the page cache or through it",
        "`true` goes past the page cache, `false` through it.",
    ),
    "[true, false]",
    |io, text| Ok(io.direct = word(text, "true or false")?),
);

/// `content`.
pub(super) const CONTENT: OwnParameter<Asked> = work(
    about(
        "content",
        "which bytes are written, and how much of them compresses",
        "`random`: nothing of them compresses; `zero`: all of them; or the share of each block that \
             compresses, such as `50 %`: of every 4 KiB the last half is zeros and the rest random. \
             Reads find such bytes: the area is written with them, and again where another \
             workload wrote others in between.",
    ),
    "[\"random\", \"50 %\", \"zero\"]",
    |io, text| Ok(io.content = text.parse()?),
);

/// `sync`.
pub(super) const SYNC: OwnParameter<Asked> = work(
    about(
        "sync",
        "when a write counts as done",
        "`none`: when the kernel says it is written; `each-write`: after an fdatasync of its own.",
    ),
    "[\"none\", \"each-write\"]",
    |io, text| Ok(io.sync = word(text, "none or each-write")?),
);

/// `engine`.
pub(super) const ENGINE: OwnParameter<Asked> = choice(
    about("engine", "who carries the operations out", "`auto`, `psync` or `io_uring`."),
    "[\"psync\", \"io_uring\"]",
    |io, text| Ok(io.engine = word(text, "auto, psync or io_uring")?),
);

/// Those of a study's factors that are parameters of reads and writes.
pub(super) const PARAMETERS: &[OwnParameter<Asked>] =
    &[PATTERN, MIX, SIZE, DEPTH, THREADS, DIRECT, CONTENT, SYNC, ENGINE];

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
    use crate::work::Kind as _;

    fn find(name: &str) -> &'static OwnParameter<Asked> {
        PARAMETERS.iter().find(|own| own.about.about.name == name).unwrap()
    }

    #[test]
    fn every_example_is_taken() {
        for parameter in PARAMETERS {
            let levels: Vec<serde_json::Value> =
                serde_json::from_str(parameter.about.example).unwrap();
            assert!(levels.len() > 1);
            for level in levels {
                let text = level.as_str().map_or_else(|| level.to_string(), str::to_owned);
                (parameter.set)(&mut Asked::sample(), &text).unwrap();
            }
        }
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
            ("content", "text"),
        ] {
            let message = (find(name).set)(&mut Asked::sample(), text).unwrap_err();
            assert!(!message.is_empty() && !message.contains('\n'), "{message}");
        }
    }
}
