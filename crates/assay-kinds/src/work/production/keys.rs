//! The keys of `production`.

use assay_base::catalogue::keys::{Field, Fields, Form, field};
use assay_base::quantity::Time;

use super::harm;

/// The shortest period: a second is the shortest look at it.
const SHORTEST: Time = Time(3_000_000_000);

const TIME: Field = field(
    "runtime",
    Form::Time { least: SHORTEST },
    "measurement window per level; 2 min by default",
    "runtime = \"2 min\"",
);
const SETTLE: Field = field(
    "settle_time",
    Form::Time { least: Time(0) },
    "settling time after a change; 5 s by default",
    "settle_time = \"5 s\"",
);
const HARM: Field = field(
    "rollback_threshold",
    Form::Word(harm::words),
    "roll a level back if it exceeds the baseline's worst value by this factor for three seconds in a row; or off",
    "rollback_threshold = \"2x\"",
);

pub static KEYS: Fields = Fields { label: "production", rows: &[TIME, SETTLE, HARM] };
