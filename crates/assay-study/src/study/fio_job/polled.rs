//! What a job file says of queues that are polled.

use super::values::number;
use super::{Job, Told, line_of};

/// What a study polls for; none where nothing is polled for. Completions are of direct reads and writes alone.
pub(super) fn polled(
    job: &Job,
    (direct, alone): (bool, bool),
    told: &mut Told,
) -> Option<&'static str> {
    let is_on = |key: &str, told: &mut Told| number(job, key, told).is_some_and(|on| on > 0);
    let (submission, completion) = (is_on("sqthread_poll", told), is_on("hipri", told));
    let key = if completion { "hipri" } else { "sqthread_poll" };
    let engine = job.settings.get("ioengine").map_or("psync", |setting| setting.value.as_str());
    let why = match (submission, completion) {
        (false, false) => return None,
        _ if engine != "io_uring" => "only the queues of io_uring are polled here",
        (true, true) => "sqthread_poll stands beside it; only one of them can be done here",
        (false, true) if !direct => {
            "completions are polled for of direct operations alone; say direct=1"
        }
        (false, true) if !alone => {
            "completions are polled for of reads and writes alone; leave syncs and trims out"
        }
        (true, false) => return Some("sqpoll"),
        (false, true) => return Some("iopoll"),
    };
    told.refuse_key(line_of(job, key), format!("{key}: {why}"));
    None
}
