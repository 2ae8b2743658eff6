//! Polled queues in job files.

use super::values::number;
use super::{Job, PortNotes, line_of};

/// Returns the polling mode of a study; `None` without polling. Only direct reads and writes poll for completions.
pub(super) fn polled(
    job: &Job,
    direct: bool,
    alone: bool,
    notes: &mut PortNotes,
) -> Option<&'static str> {
    let is_on = |key: &str, notes: &mut PortNotes| number(job, key, notes).is_some_and(|on| on > 0);
    let (submission, completion) = (is_on("sqthread_poll", notes), is_on("hipri", notes));
    let key = if completion { "hipri" } else { "sqthread_poll" };
    let engine = job.settings.get("ioengine").map_or("psync", |setting| setting.value.as_str());
    let why = match (submission, completion) {
        (false, false) => return None,
        _ if engine != "io_uring" => "Assay polls only io_uring",
        (true, true) => "sqthread_poll is also set; Assay supports only one of the two",
        (false, true) if !direct => "polled completions need direct I/O; use direct=1",
        (false, true) if !alone => {
            "polled completions support only reads and writes; remove syncs and trims"
        }
        (true, false) => return Some("sqpoll"),
        (false, true) => return Some("iopoll"),
    };
    notes.refuse_key(line_of(job, key), format!("{key}: {why}"));
    None
}
