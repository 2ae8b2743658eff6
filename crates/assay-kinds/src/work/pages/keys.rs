//! The keys of `pages`, and what of it may vary.

#![allow(clippy::unit_arg, reason = "a row sets one field or says why not, in one line")]

use assay_base::catalogue::keys::{Field, Fields, Form, Need, field};
use assay_base::quantity::{Bytes, Time};

use super::{Asked, LEAST};
use crate::work::kind::OwnParameter;

const MOST: Bytes = Bytes(1 << 40);

/// Words of `pages`.
pub static KEYS: Fields = Fields {
    label: "pages",
    rows: &[
        MEMORY_LIMIT.key(Form::Size { least: LEAST, most: MOST }, "memory-limit = \"384 MiB\""),
        Field { need: Need::UnlessFactor, ..SET.key(Form::Text, "set = \"150 %\"") },
        CONTENT.key(Form::Content, "content = \"50 %\""),
        SKEW.key(Form::Text, "skew = \"zipf:0.9\""),
        WRITES.key(Form::Whole { least: 0, most: 100 }, "writes = 30"),
        field(
            "time",
            Form::Time { least: Time(1) },
            "time of a trial that is counted",
            "time = \"3 s\"",
        ),
        field(
            "ramp",
            Form::Time { least: Time(0) },
            "time before it that is run but not counted; a fifth of it by default",
            "ramp = \"1 s\"",
        ),
    ],
};

type Row = OwnParameter<Asked>;

const MEMORY_LIMIT: Row = Row::new(
    [
        "memory-limit",
        "memory that the process may have, by a control group; more must lie in swap",
        "An amount with its unit: `384 MiB`, from 16 MiB on.",
    ],
    "[\"384 MiB\", \"512 MiB\"]",
    true,
    |own, text| {
        let limit: Bytes = text.parse()?;
        if limit < LEAST {
            return Err(format!("`{text}` is too small: say {LEAST} at least"));
        }
        Ok(own.memory_limit = Some(limit))
    },
);

const SET: Row = Row::new(
    [
        "set",
        "bytes of the pages that are accessed, or their share of memory-limit",
        "An amount with its unit, such as `512 MiB`, or percent of memory-limit, such as `150 %`.",
    ],
    "[\"75 %\", \"150 %\", \"250 %\"]",
    true,
    |own, text| Ok(own.set = text.parse()?),
);

const CONTENT: Row = Row::new(
    [
        "content",
        "what the pages hold",
        "`random`, `zero`, or the share of each page that compresses, such as `50 %`.",
    ],
    "[\"random\", \"50 %\"]",
    true,
    |own, text| Ok(own.content = text.parse()?),
);

const SKEW: Row = Row::new(
    [
        "skew",
        "which pages are accessed more often than others",
        "`uniform`, or Zipf's law with its exponent, such as `zipf:0.9`; the ranks lie anywhere.",
    ],
    "[\"uniform\", \"zipf:0.9\"]",
    true,
    |own, text| Ok(own.skew = text.parse()?),
);

const WRITES: Row = Row::new(
    [
        "writes",
        "percent of the accesses that write",
        "A whole number from 0 to 100; 30 by default.",
    ],
    "[0, 30]",
    true,
    |own, text| {
        let percent = text.parse().ok().filter(|percent| *percent <= 100);
        let wrong = || format!("`{text}` is not a whole number from 0 to 100");
        Ok(own.writes = percent.ok_or_else(wrong)?)
    },
);

/// Those of a study's factors that are parameters of pages.
pub(super) const PARAMETERS: &[OwnParameter<Asked>] = &[MEMORY_LIMIT, SET, CONTENT, SKEW, WRITES];
