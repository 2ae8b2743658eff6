//! The keys of `pages`, and what of it may vary.

#![allow(clippy::unit_arg, reason = "a row sets one field or says why not, in one line")]

use assay_base::catalogue::About;
use assay_base::catalogue::keys::{Field, Fields, Form, Need, field};
use assay_base::quantity::{Bytes, Time};

use super::{Asked, LEAST};
use crate::work::kind::{OwnParameter, Parameter};

const MOST: Bytes = Bytes(1 << 40);

/// Words of `pages`.
pub static KEYS: Fields = Fields {
    label: "pages",
    rows: &[
        of(&MEMORY_LIMIT, Form::Size { least: LEAST, most: MOST }, "memory-limit = \"384 MiB\""),
        Field { need: Need::UnlessFactor, ..of(&SET, Form::Text, "set = \"150 %\"") },
        of(&CONTENT, Form::Content, "content = \"50 %\""),
        of(&SKEW, Form::Text, "skew = \"zipf:0.9\""),
        of(&WRITES, Form::Whole { least: 0, most: 100 }, "writes = 30"),
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

/// The key of a parameter that may be a factor too.
const fn of(parameter: &OwnParameter<Asked>, form: Form, example: &'static str) -> Field {
    let about = parameter.about.about;
    field(about.name, form, about.summary, example)
}

type Set = fn(&mut Asked, &str) -> Result<(), String>;

const fn row(
    [name, summary, text]: [&'static str; 3],
    example: &'static str,
    set: Set,
) -> OwnParameter<Asked> {
    let about = About { name, summary, text };
    OwnParameter { about: Parameter { about, example, is_work: true }, set }
}

const MEMORY_LIMIT: OwnParameter<Asked> = row(
    [
        "memory-limit",
        "memory that the process may have, by a control group; more must lie in swap",
        "An amount with its unit: `384 MiB`, from 16 MiB on.",
    ],
    "[\"384 MiB\", \"512 MiB\"]",
    |own, text| {
        let limit: Bytes = text.parse()?;
        if limit < LEAST {
            return Err(format!("`{text}` is too small: say {LEAST} at least"));
        }
        Ok(own.memory_limit = Some(limit))
    },
);

const SET: OwnParameter<Asked> = row(
    [
        "set",
        "bytes of the pages that are accessed, or their share of memory-limit",
        "An amount with its unit, such as `512 MiB`, or percent of memory-limit, such as `150 %`.",
    ],
    "[\"75 %\", \"150 %\", \"250 %\"]",
    |own, text| Ok(own.set = text.parse()?),
);

const CONTENT: OwnParameter<Asked> = row(
    [
        "content",
        "what the pages hold",
        "`random`, `zero`, or the share of each page that compresses, such as `50 %`.",
    ],
    "[\"random\", \"50 %\"]",
    |own, text| Ok(own.content = text.parse()?),
);

const SKEW: OwnParameter<Asked> = row(
    [
        "skew",
        "which pages are accessed more often than others",
        "`uniform`, or Zipf's law with its exponent, such as `zipf:0.9`; the ranks lie anywhere.",
    ],
    "[\"uniform\", \"zipf:0.9\"]",
    |own, text| Ok(own.skew = text.parse()?),
);

const WRITES: OwnParameter<Asked> = row(
    [
        "writes",
        "percent of the accesses that write",
        "A whole number from 0 to 100; 30 by default.",
    ],
    "[0, 30]",
    |own, text| {
        let percent = text.parse().ok().filter(|percent| *percent <= 100);
        let wrong = || format!("`{text}` is not a whole number from 0 to 100");
        Ok(own.writes = percent.ok_or_else(wrong)?)
    },
);

/// Those of a study's factors that are parameters of pages.
pub(super) const PARAMETERS: &[OwnParameter<Asked>] = &[MEMORY_LIMIT, SET, CONTENT, SKEW, WRITES];
