//! The keys of `io`, and of the background load.

use super::{Asked, parameters};
use crate::catalogue::keys::{Field, Fields, Form, Need, field, needed};
use crate::quantity::{Bytes, Time};
use crate::work::kind::OwnParameter;

/// Bytes of one operation at most.
pub const LARGEST_OPERATION: Bytes = Bytes(1 << 30);
/// Operations of a trial at most, where they are counted.
const MOST_OPERATIONS: u64 = 1_000_000_000;
/// Places of the pattern `spread` at most: the service time of each is kept.
pub(super) const MOST_SAMPLES: u64 = 10_000;
/// Operations in flight per thread at most.
pub(super) const MOST_DEPTH: u32 = 4096;
/// Threads at most.
pub(super) const MOST_THREADS: u32 = 1024;

const ONE_NS: Time = Time(1);

const OPERATION_SIZE: Form = Form::Size { least: Bytes(1), most: LARGEST_OPERATION };
const DEPTH: Form = Form::Whole { least: 1, most: MOST_DEPTH as u64 };
const THREADS: Form = Form::Whole { least: 1, most: MOST_THREADS as u64 };
const SYNC: Form = Form::Word(|| vec!["none", "each-write"]);
const ENGINE: Form = Form::Word(|| vec!["auto", "psync", "io_uring"]);

/// Words of `io`. What may also be a factor says what it is in `parameters`.
pub static KEYS: Fields = Fields {
    label: "io",
    rows: &[
        Field {
            need: Need::UnlessFactor,
            ..of(
                &parameters::PATTERN,
                Form::Word(|| vec!["sequential", "random", "spread"]),
                "pattern = \"random\"",
            )
        },
        Field { need: Need::UnlessFactor, ..of(&parameters::MIX, Form::Mix, "mix = \"70/30\"") },
        Field {
            need: Need::UnlessFactor,
            ..of(&parameters::SIZE, OPERATION_SIZE, "size = \"4 KiB\"")
        },
        of(&parameters::DEPTH, DEPTH, "depth = 8"),
        of(&parameters::THREADS, THREADS, "threads = 4"),
        of(&parameters::DIRECT, Form::Flag, "direct = true"),
        of(&parameters::CONTENT, Form::Content, "content = \"50 %\""),
        of(&parameters::SYNC, SYNC, "sync = \"each-write\""),
        of(&parameters::ENGINE, ENGINE, "engine = \"psync\""),
        field(
            "time",
            Form::Time { least: ONE_NS },
            "time of a trial that is counted; a share of the budget where it is missing",
            "time = \"10 s\"",
        ),
        field(
            "ramp",
            Form::Time { least: Time(0) },
            "time before it that is run but not counted",
            "ramp = \"2 s\"",
        ),
        field(
            "operations",
            Form::Whole { least: 1, most: MOST_OPERATIONS },
            "operations after which a trial ends, even if time is left; needed for pattern spread",
            "operations = 100",
        ),
    ],
};

/// Words of `background`: those of `io` without an end of its own.
pub static BACKGROUND: Fields = Fields {
    label: "background",
    rows: &[
        needed(
            "pattern",
            Form::Word(|| vec!["sequential", "random"]),
            "order of the blocks",
            "pattern = \"random\"",
        ),
        needed("mix", Form::Mix, "what operations do to their blocks", "mix = \"write\""),
        needed("size", OPERATION_SIZE, "bytes of one operation", "size = \"1 MiB\""),
        of(&parameters::DEPTH, DEPTH, "depth = 8"),
        of(&parameters::THREADS, THREADS, "threads = 4"),
        of(&parameters::DIRECT, Form::Flag, "direct = false"),
        of(&parameters::CONTENT, Form::Content, "content = \"random\""),
        of(&parameters::SYNC, SYNC, "sync = \"each-write\""),
        of(&parameters::ENGINE, ENGINE, "engine = \"psync\""),
    ],
};

/// The key of a parameter that may be a factor too.
const fn of(parameter: &OwnParameter<Asked>, form: Form, example: &'static str) -> Field {
    let about = parameter.about.about;
    field(about.name, form, about.summary, example)
}
