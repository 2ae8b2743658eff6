//! The summary that `watch` prints at its end.

use std::collections::BTreeMap;

use super::sampler::{DiskSpan, Span};
use super::words::{classes, clock, counted_means, depth, percent};
use super::{State, members};
use assay_core::exhibit::{Column, Row, Table, Unit, Value};
use assay_core::presence::Presence;
use assay_core::quantity::units::show;
use assay_machine::probes::block_latency::counts::{ClassSpan, Latencies, Means};
use assay_report::document::{Block, Document, Section};
use assay_report::text;

const WIDTH: usize = 80;
/// Columns of the bars of a histogram, as DTrace prints them.
const BAR_COLUMNS: usize = 40;
const MOST_USERS: usize = 8;
const LONGEST_NAME: usize = 17;

/// Returns everything since the beginning, at most 80 columns wide.
pub fn render(state: &State) -> String {
    let whole = &state.whole;
    let mut sections = Vec::new();
    let active = state.active();
    for disk in &active {
        sections.extend(device_sections(state, *disk));
    }
    let idle: Vec<&str> = (0..state.disks.len())
        .filter(|disk| !active.contains(disk))
        .map(|disk| state.disks[disk].name.as_str())
        .collect();
    if !idle.is_empty() {
        sections.push(sentence(format!("no activity on {}", idle.join(" "))));
    }
    sections.extend(members::sentences(state, whole).into_iter().map(sentence));
    sections.push(Section::new(Block::Facts(machine_facts(whole))));
    let mut notes = Vec::new();
    let users = users_table(state);
    if !users.rows.is_empty() {
        sections.push(users.into());
        notes.push(format!(
            "programs: the {MOST_USERS} busiest programs that did I/O in a sample; programs that started and ended \
             between two samples are missing"
        ));
    }
    let hidden = state.last.users.hidden;
    if hidden > 0 {
        notes.push(format!("{hidden} programs of other users are hidden; run as root to see all"));
    }
    notes.extend(tracing_notes(whole));
    sections.push(Section::new(Block::Text(notes)));
    text::render(&Document { title: String::new(), sections }, WIDTH, false)
}

fn sentence(text: String) -> Section {
    Section::new(Block::Text(vec![text]))
}

fn device_sections(state: &State, index: usize) -> Vec<Section> {
    let (whole, disk) = (&state.whole, state.disk(index));
    let watched = clock(whole.seconds().round() as u64);
    let heading = format!("{} ({}): {watched} watched", disk.name, state.disks[index].words);
    let load = match &disk.counters {
        Presence::Present(counters) => format!(
            "mean queue {}, maximum {}; busy {} of the time",
            depth(whole.queue(counters)),
            depth(state.deepest[index]),
            percent(whole.busy(counters))
        ),
        Presence::Absent(reason) => reason.clone(),
    };
    let mut sections = vec![Section::titled(heading, vec![Block::Text(vec![load])])];
    match &disk.classes {
        Presence::Present(classes) => sections.extend(traced_sections(whole, disk, classes)),
        Presence::Absent(reason) => sections.push(counter_section(whole, disk, reason)),
    }
    sections
}

/// Returns a histogram per class with completed requests, the names of the other classes, and a table of the numbers.
fn traced_sections(
    whole: &Span,
    disk: &DiskSpan,
    spans: &BTreeMap<String, ClassSpan>,
) -> Vec<Section> {
    if spans.is_empty() {
        return vec![sentence(format!("no request completed on {}", disk.name))];
    }
    let (mut sections, mut idle) = (Vec::new(), Vec::new());
    let (mut in_device, mut failed) = (Vec::new(), Vec::new());
    let times = ["avg", "stddev", "p50", "p99"].map(|title| Column::new(title, Unit::Nanoseconds));
    let mut table = Table::default();
    table.columns.extend([Column::key(""), Column::new("requests", Unit::Count)]);
    table.columns.extend(times);
    table.columns.extend(rate_columns());
    for class in classes(disk) {
        let Some(span) = spans.get(class) else {
            idle.push(class);
            continue;
        };
        sections.push(histogram(&format!("{}: {class}", disk.name), &span.queued).into());
        table.rows.push(Row::new([
            Value::from(class),
            span.requests.into(),
            span.queued.mean_ns().into(),
            span.queued.sd_ns().into(),
            span.queued.percentile_ns(0.5).into(),
            span.queued.percentile_ns(0.99).into(),
            whole.per_s(span.requests).into(),
            whole.per_s(span.bytes).round().into(),
        ]));
        if let Some(mean_ns) = span.issued.mean_ns() {
            in_device.push(format!("{class} {}", show::duration(mean_ns)));
        }
        if span.failed > 0 {
            failed.push(format!("{class} {}", show::count(span.failed)));
        }
    }
    if !idle.is_empty() {
        sections.push(sentence(format!("none completed: {}", idle.join(", "))));
    }
    if !in_device.is_empty() {
        table.notes.push(format!("avg in the device itself: {}", in_device.join(", ")));
    }
    if !failed.is_empty() {
        table.notes.push(format!("failed: {}", failed.join(", ")));
    }
    sections.push(table.into());
    sections
}

fn rate_columns() -> [Column; 2] {
    [Column::new("IOPS", Unit::Iops), Column::new("throughput", Unit::BytesPerS)]
}

/// Latencies by powers of two, as DTrace prints them, each beginning with its unit.
fn histogram(name: &str, latencies: &Latencies) -> Table {
    let count = latencies.len();
    let mut table = Table::new(format!("{name}, {} requests", show::count(count)));
    let dashes = "-".repeat((BAR_COLUMNS - " Distribution ".len()) / 2);
    let bars = Column::left(format!(" {dashes} Distribution {dashes}"));
    table.columns = vec![Column::new("value", Unit::Nanoseconds), bars, Column::left("count")];
    let rows = latencies.by_doubling();
    // An empty row on each side, as DTrace prints; none below 1 ns.
    let below =
        rows.first().filter(|(from_ns, _)| *from_ns > 1).map(|(from_ns, _)| (from_ns / 2, 0));
    let above = rows.last().map(|(from_ns, _)| (from_ns.saturating_mul(2), 0));
    for (from_ns, requests) in below.into_iter().chain(rows).chain(above) {
        let bar = format!("|{}", bar(requests, count));
        table.rows.push(Row::new([Value::from(from_ns), bar.into(), requests.to_string().into()]));
    }
    table
}

fn bar(requests: u64, total: u64) -> String {
    let length = (requests as f64 / (total as f64).max(1.0) * BAR_COLUMNS as f64).round() as usize;
    "@".repeat(length.min(BAR_COLUMNS))
}

/// Returns why requests are not traced, and a table of the kernel's counters if the disk was active.
fn counter_section(whole: &Span, disk: &DiskSpan, reason: &str) -> Section {
    let mut section = sentence(format!("latency by class unavailable: {reason}"));
    let Some(counters) = disk.counters.value().filter(|_| disk.was_active()) else {
        return section;
    };
    let mut table = Table::default();
    let mean = Column::new("mean (kernel counters)", Unit::Nanoseconds);
    table.columns.extend([Column::key(""), Column::new("requests", Unit::Count), mean]);
    table.columns.extend(rate_columns());
    let bytes = [counters.read_bytes, counters.written_bytes, 0, counters.discarded_bytes];
    for ((class, requests, mean_ns), bytes) in counted_means(counters).into_iter().zip(bytes) {
        if requests > 0 {
            table.rows.push(Row::new([
                Value::from(class),
                requests.into(),
                mean_ns.into(),
                whole.per_s(requests).into(),
                whole.per_s(bytes).round().into(),
            ]));
        }
    }
    section.blocks.push(Block::Table(table));
    section
}

/// Explains dashes, and lists what distorts the histograms and tables or is missing there.
fn tracing_notes(whole: &Span) -> Vec<String> {
    let mut notes = Vec::new();
    let classes = whole.disks.iter().filter_map(|disk| disk.classes.value());
    if classes.flat_map(BTreeMap::values).any(|span| span.queued.percentile_ns(0.99).is_none()) {
        notes.push("\"-\": p50 needs 20 requests, p99 1,000".to_owned());
    }
    if whole.means == Some(Means::Tracefs) {
        notes.push("measured with kernel event tracing, which delays each request".to_owned());
    }
    notes.extend(whole.notes.iter().cloned());
    match whole.unseen_beginnings {
        0 => {}
        1 => notes.push(
            "Assay did not observe the start of 1 request, so the wait of that request is not counted".to_owned(),
        ),
        many => notes.push(format!(
            "Assay did not observe the start of {} requests, so their waits are not counted",
            show::count(many)
        )),
    }
    notes
}

fn machine_facts(whole: &Span) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut add = |name: &str, value: String| facts.push((name.to_owned(), value));
    match whole.load() {
        Some(load) => {
            let cpus = whole.processors.value().map_or(0, Vec::len);
            let [user, system, iowait, steal] =
                [load.user, load.system, load.iowait, load.steal].map(percent);
            add(
                "CPUs",
                format!("{cpus}: user {user}, system {system}, iowait {iowait}, steal {steal}"),
            );
        }
        None => add("CPUs", whole.processors.reason().unwrap_or_default().to_owned()),
    }
    match &whole.pressure {
        Presence::Present(pressure) => add(
            "pressure",
            format!(
                "io {} (all {}), cpu {}, memory {} (all {})",
                percent(pressure.io),
                percent(pressure.io_full),
                percent(pressure.cpu),
                percent(pressure.memory),
                percent(pressure.memory_full)
            ),
        ),
        Presence::Absent(reason) => add("pressure", reason.clone()),
    }
    if let Presence::Present(memory) = &whole.memory {
        let swapped = show::bytes(memory.swapped_in_bytes + memory.swapped_out_bytes);
        let (used, dirty) = (percent(memory.used()), show::bytes(memory.dirty_bytes));
        add("memory", format!("{used} used, {swapped} swapped, {dirty} dirty at the end"));
    }
    match &whole.sensors {
        Presence::Present(sensors) => {
            let words = sensors.iter().map(|it| format!("{} {:.0} C", it.name, it.celsius));
            add("temperature", words.collect::<Vec<_>>().join(", "));
        }
        Presence::Absent(reason) => add("temperature", reason.clone()),
    }
    if let Some(events) = whole.throttle_events.value().filter(|events| **events > 0) {
        add("throttling", format!("{} times (heat)", show::count(*events)));
    }
    facts
}

fn users_table(state: &State) -> Table {
    let columns = vec![
        Column::key("program"),
        Column::right("PID"),
        Column::new("read", Unit::Bytes),
        Column::new("written", Unit::Bytes),
        Column::left("files open on"),
    ];
    let mut table = Table { columns, ..Table::default() };
    for user in state.users().into_iter().take(MOST_USERS) {
        let name: String = user.name.chars().take(LONGEST_NAME).collect();
        let on = Some(user.on.join(" ")).filter(|on| !on.is_empty());
        table.rows.push(Row::new([
            Value::from(name),
            user.pid.to_string().into(),
            user.read_bytes.into(),
            user.written_bytes.into(),
            on.into(),
        ]));
    }
    table
}

#[cfg(test)]
mod tests;
