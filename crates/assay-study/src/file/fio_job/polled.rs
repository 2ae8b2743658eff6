//! Polled queues in job files.

use super::values::number;
use super::{Job, PortNotes, line_of};

/// Returns the polling mode of a study; `None` without polling. Only direct reads and writes poll for completions.
pub(super) fn polled(
    job: &Job,
    direct: bool,
    is_plain: bool,
    notes: &mut PortNotes,
) -> Option<&'static str> {
    let is_on = |key: &str, notes: &mut PortNotes| number(job, key, notes).is_some_and(|on| on > 0);
    let polls_submission = is_on("sqthread_poll", notes);
    let polls_completion = is_on("hipri", notes);
    if !polls_submission && !polls_completion {
        return None;
    }
    let key = if polls_completion { "hipri" } else { "sqthread_poll" };
    let engine = job.settings.get("ioengine").map_or("psync", |setting| setting.value.as_str());
    let why = if engine != "io_uring" {
        "Assay polls only io_uring"
    } else if !polls_completion {
        return Some("sqpoll");
    } else if polls_submission {
        "sqthread_poll is also set; Assay supports only one of the two"
    } else if !direct {
        "polled completions need direct I/O; use direct=1"
    } else if is_plain {
        return Some("iopoll");
    } else {
        "polled completions support only reads and writes; remove syncs and trims"
    };
    notes.refuse_key(line_of(job, key), format!("{key}: {why}"));
    None
}
