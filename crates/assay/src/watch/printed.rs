//! The printed form: what stands in the terminal when the watching has ended.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::State;
use super::members;
use super::sampler::{DiskSpan, Span};
use super::words::{classes, clock, counted_means, percent, rate};
use assay_core::presence::Presence;
use assay_core::quantity::units::show;
use assay_machine::probes::block_latency::counts::{ClassSpan, Latencies, Means};

/// Columns of the bars of a histogram, as DTrace prints them.
const BAR: usize = 40;
const MOST_USERS: usize = 8;

/// Everything since the beginning, at most 80 columns wide.
pub fn printed(state: &State) -> String {
    let whole = &state.whole;
    let mut text = String::new();
    let shown = state.active();
    for at in &shown {
        device(&mut text, state, *at);
    }
    let idle: Vec<&str> = (0..state.disks.len())
        .filter(|at| !shown.contains(at))
        .map(|at| state.disks[at].name.as_str())
        .collect();
    if !idle.is_empty() {
        wrapped(&mut text, "no activity on ", &idle.join(" "));
        text.push('\n');
    }
    for sentence in members::sentences(state, whole) {
        wrapped(&mut text, "", &sentence);
        text.push('\n');
    }
    machine(&mut text, whole);
    users(&mut text, state);
    notes(&mut text, whole);
    text
}

fn device(text: &mut String, state: &State, at: usize) {
    let (whole, disk) = (&state.whole, state.disk(at));
    let _ = writeln!(
        text,
        "{} ({}): {} watched",
        disk.name,
        state.disks[at].words,
        clock(whole.seconds().round() as u64)
    );
    match &disk.counters {
        Presence::Present(counters) => {
            let _ = writeln!(
                text,
                "mean queue {}, maximum {}; busy {} of the time",
                super::words::depth(whole.queue(counters)),
                super::words::depth(state.deepest[at]),
                percent(whole.busy(counters))
            );
        }
        Presence::Absent(reason) => wrapped(text, "", reason),
    }
    text.push('\n');
    match &disk.classes {
        Presence::Present(all) => traced(text, whole, disk, all.len()),
        Presence::Absent(reason) => counted(text, whole, disk, reason),
    }
}

/// Histograms and the table of a device that was traced.
fn traced(text: &mut String, whole: &Span, disk: &DiskSpan, ended: usize) {
    let known = disk.classes.value();
    let all = classes(disk);
    let of = |class: &str| known.and_then(|all| all.get(class));
    let mut none = Vec::new();
    for class in &all {
        match of(class) {
            Some(span) => histogram(text, &format!("{}: {class}", disk.name), &span.queued),
            None => none.push(*class),
        }
    }
    if ended == 0 {
        wrapped(text, "", &format!("no request completed on {}", disk.name));
        text.push('\n');
        return;
    }
    if !none.is_empty() {
        wrapped(text, "none completed: ", &none.join(", "));
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "{:<12}{:>10}{:>10}{:>9}{:>9}{:>9}{:>8}{:>13}",
        "", "requests", "avg", "stddev", "p50", "p99", "IOPS", "throughput"
    );
    for class in all {
        if let Some(span) = of(class) {
            row(text, whole, class, span);
        }
    }
    in_device(text, disk);
    failed(text, disk);
    text.push('\n');
}

/// What is to be known of all histograms and tables.
fn notes(text: &mut String, whole: &Span) {
    let traced = || whole.disks.iter().filter_map(|disk| disk.classes.value());
    let spans = || traced().flat_map(BTreeMap::values);
    if spans().any(|span| span.queued.percentile_ns(0.99).is_none()) {
        wrapped(text, "", "\"-\": p50 needs 20 requests, p99 1,000");
    }
    if whole.means == Some(Means::Tracefs) {
        wrapped(text, "", "measured with kernel event tracing, which delays each request");
    }
    for note in &whole.notes {
        wrapped(text, "", note);
    }
    let unseen = match whole.unseen_beginnings {
        0 => return,
        1 => "Assay did not observe the start of 1 request, so the wait of that request is not counted".to_owned(),
        many => format!(
            "Assay did not observe the start of {} requests, so their waits are not counted",
            show::count(many)
        ),
    };
    wrapped(text, "", &unseen);
}

/// Eight columns of numbers for a class.
fn row(text: &mut String, whole: &Span, class: &str, span: &ClassSpan) {
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), show::duration);
    let _ = writeln!(
        text,
        "{class:<12}{:>10}{:>10}{:>9}{:>9}{:>9}{:>8}{:>13}",
        show::count(span.requests),
        time(span.queued.mean_ns()),
        time(span.queued.sd_ns()),
        time(span.queued.percentile_ns(0.5)),
        time(span.queued.percentile_ns(0.99)),
        show::per_second(whole.per_s(span.requests)),
        rate(whole.per_s(span.bytes)),
    );
}

/// How much of the mean was spent in the device itself.
fn in_device(text: &mut String, disk: &DiskSpan) {
    let mean = |class: &str| disk.classes.value()?.get(class)?.issued.mean_ns();
    let told: Vec<String> = classes(disk)
        .into_iter()
        .filter_map(|class| Some(format!("{class} {}", show::duration(mean(class)?))))
        .collect();
    if !told.is_empty() {
        wrapped(text, "avg in the device itself: ", &told.join(", "));
    }
}

/// Latencies by powers of two, as DTrace prints them, each beginning with its unit.
pub fn histogram(text: &mut String, title: &str, latencies: &Latencies) {
    let count = latencies.len();
    let _ = writeln!(text, "{title}, {} requests", show::count(count));
    let _ = writeln!(text, "{:>12}  ------------- Distribution ------------- count", "value");
    let rows = latencies.by_doubling();
    let low = rows.first().and_then(|(from, _)| (*from > 1).then_some((from / 2, 0)));
    let high = rows.last().map(|(from, _)| (from.saturating_mul(2), 0));
    for (from_ns, many) in low.into_iter().chain(rows).chain(high) {
        let bar = bar(many, count);
        let _ = writeln!(text, "{:>12} |{bar:<BAR$} {many}", show::duration(from_ns as f64));
    }
    text.push('\n');
}

fn bar(many: u64, of: u64) -> String {
    let length = (many as f64 / (of as f64).max(1.0) * BAR as f64).round() as usize;
    "@".repeat(length.min(BAR))
}

fn failed(text: &mut String, disk: &DiskSpan) {
    let all = disk.classes.value().into_iter().flatten();
    let some = all.filter(|(_, span)| span.failed > 0);
    let told: Vec<String> =
        some.map(|(class, span)| format!("{class} {}", show::count(span.failed))).collect();
    if !told.is_empty() {
        wrapped(text, "failed: ", &told.join(", "));
    }
}

/// A device that was not traced: what the kernel's own counters tell.
fn counted(text: &mut String, whole: &Span, disk: &DiskSpan, reason: &str) {
    wrapped(text, "latency by class unavailable: ", reason);
    let Some(counters) = disk.counters.value().filter(|_| disk.did_something()) else {
        text.push('\n');
        return;
    };
    let _ = writeln!(
        text,
        "{:<12}{:>10}{:>24}{:>10}{:>13}",
        "", "requests", "mean (kernel counters)", "IOPS", "throughput"
    );
    let bytes = [counters.read_bytes, counters.written_bytes, 0, counters.discarded_bytes];
    for ((class, requests, mean_ns), bytes) in counted_means(counters).into_iter().zip(bytes) {
        if requests == 0 {
            continue;
        }
        let _ = writeln!(
            text,
            "{class:<12}{:>10}{:>24}{:>10}{:>13}",
            show::count(requests),
            mean_ns.map_or_else(|| "-".to_owned(), show::duration),
            show::per_second(whole.per_s(requests)),
            rate(whole.per_s(bytes)),
        );
    }
    text.push('\n');
}

fn machine(text: &mut String, whole: &Span) {
    match whole.load() {
        Some(load) => {
            let many = whole.processors.value().map_or(0, Vec::len);
            let _ = writeln!(
                text,
                "CPUs         {many}: user {}, system {}, iowait {}, steal {}",
                percent(load.user),
                percent(load.system),
                percent(load.iowait),
                percent(load.steal)
            );
        }
        None => wrapped(text, "CPUs         ", whole.processors.reason().unwrap_or_default()),
    }
    match &whole.pressure {
        Presence::Present(pressure) => {
            let _ = writeln!(
                text,
                "pressure     io {} (all {}), cpu {}, memory {} (all {})",
                percent(pressure.io),
                percent(pressure.io_full),
                percent(pressure.cpu),
                percent(pressure.memory),
                percent(pressure.memory_full)
            );
        }
        Presence::Absent(reason) => wrapped(text, "pressure     ", reason),
    }
    if let Presence::Present(memory) = &whole.memory {
        let swapped = memory.swapped_in_bytes + memory.swapped_out_bytes;
        let _ = writeln!(
            text,
            "memory       {} used, {} swapped, {} dirty at the end",
            percent(memory.used()),
            show::bytes(swapped),
            show::bytes(memory.dirty_bytes)
        );
    }
    match &whole.sensors {
        Presence::Present(all) => {
            let told: Vec<String> =
                all.iter().map(|one| format!("{} {:.0} C", one.name, one.celsius)).collect();
            wrapped(text, "temperature  ", &told.join(", "));
        }
        Presence::Absent(reason) => wrapped(text, "temperature  ", reason),
    }
    if let Some(events) = whole.throttle_events.value().filter(|events| **events > 0) {
        let _ = writeln!(text, "throttling   {} times (heat)", show::count(*events));
    }
}

fn users(text: &mut String, state: &State) {
    let users = state.users();
    let are_there = !users.is_empty();
    if are_there {
        let _ = writeln!(
            text,
            "\n{:<18}{:>9}{:>13}{:>13}  files open on",
            "program", "PID", "read", "written"
        );
    }
    for user in users.into_iter().take(MOST_USERS) {
        let name: String = user.name.chars().take(17).collect();
        let on = if user.on.is_empty() { "-".to_owned() } else { user.on.join(" ") };
        let line = format!(
            "{name:<18}{:>9}{:>13}{:>13}  {on}",
            user.pid,
            show::bytes(user.read_bytes),
            show::bytes(user.written_bytes),
        );
        let _ = writeln!(text, "{}", line.chars().take(80).collect::<String>());
    }
    if are_there {
        wrapped(
            text,
            "",
            &format!(
                "programs: the {MOST_USERS} busiest programs that did I/O in a sample; programs that started and \
                 ended between two samples are missing"
            ),
        );
    }
    if state.last.users.hidden > 0 {
        let hidden = state.last.users.hidden;
        wrapped(
            text,
            "",
            &format!("{hidden} programs of other users are hidden; run as root to see all"),
        );
    }
}

/// Words after a heading, broken at 80 columns; further lines stand below the first word.
fn wrapped(text: &mut String, heading: &str, words: &str) {
    const WIDTH: usize = 80;
    let mut line = heading.to_owned();
    let mut is_first = true;
    for word in words.split_whitespace() {
        if !is_first && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            line.replace_range(.., "  ");
            is_first = true;
        }
        if !is_first {
            line.push(' ');
        }
        line.push_str(word);
        is_first = false;
    }
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests;
