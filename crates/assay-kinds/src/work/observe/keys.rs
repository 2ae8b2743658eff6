//! The keys of `observe`.

use assay_base::catalogue::keys::{Field, Fields, Form, field};
use assay_base::quantity::Time;

use super::harm;

/// The shortest period: a second is the shortest look at it.
const SHORTEST: Time = Time(3_000_000_000);

const TIME: Field = field(
    "runtime",
    Form::Time { least: SHORTEST },
    "time under a level that is counted, 2 min where it is missing",
    "runtime = \"2 min\"",
);
const SETTLE: Field = field(
    "settle_time",
    Form::Time { least: Time(0) },
    "time after a change that is left out, 5 s where it is missing",
    "settle_time = \"5 s\"",
);
const HARM: Field = field(
    "rollback_threshold",
    Form::Word(harm::words),
    "times the baseline's worst from which on, three seconds in a row, a level is rolled back; or off",
    "rollback_threshold = \"2x\"",
);

/// Words of `observe`.
pub static KEYS: Fields = Fields { label: "observe", rows: &[TIME, SETTLE, HARM] };
