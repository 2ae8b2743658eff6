//! Facts and exhibits of a recording of requests.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::calc::requests::{OfClass, Recorded, sum};
use assay_core::catalogue::About;
use assay_core::exhibit::{Column, Exhibit, Levels, Sentence, Subject, Table, Unit, requests};
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use super::{IoDetail, IoPlan};
use crate::tell::{FactsFigure, OfRow, RowSource, RowView, Shows, Tells};

/// Limit on classes of devices with a line of sizes.
const MOST_LINES: usize = 40;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceFacts {
    pub workload: String,
    pub configuration: Levels,
    pub recorded: Recorded,
    /// The same in a sentence.
    pub text: String,
}

impl Tells for IoPlan {
    /// For observed work with recorded requests; `None` for other reads and writes.
    fn facts(&self, seen: &RowView<'_>) -> Option<crate::WorkFacts> {
        let mut details = seen.trials.iter().filter_map(|trial| IoDetail::of((*trial)?));
        let recorded = details.find_map(|detail| detail.requests.clone())?;
        let Subject { workload, arm } = seen.subject.clone();
        let text = words(&recorded);
        Some(TraceFacts { workload, configuration: arm, recorded: *recorded, text }.into())
    }
}

/// `123,456 requests of sda in 60 s: 80% reads, 12% of them in order; 3.1 GiB were touched.`
fn words(recorded: &Recorded) -> String {
    let names: Vec<&str> = recorded.devices.keys().map(String::as_str).collect();
    let span = match recorded.span_ns {
        0 => "without times".to_owned(),
        ns => format!("in {}", show::duration(ns as f64)),
    };
    let count = show::count(recorded.requests);
    let classes = sum_by_class(recorded);
    let all = classes.iter().fold(0_u64, |all, (_, class)| all.saturating_add(class.requests));
    let mut class_texts = String::new();
    for (index, (name, class)) in classes.iter().enumerate() {
        class_texts += if index == 0 { ": " } else { "; " };
        class_texts += &class_words(name, class, all);
    }
    let missing = match recorded.dropped {
        0 => String::new(),
        lost => format!(
            " The recording lacks another {} requests ({}), which arrived faster than Assay could read them or appear \
             only in the kernel's counters.",
            show::count(lost),
            show::share(recorded.missing())
        ),
    };
    format!("Recorded {count} requests of {} {span}{class_texts}.{missing}", names.join(" "))
}

/// Classes over all devices, the one with the most requests first.
fn sum_by_class(recorded: &Recorded) -> Vec<(&str, OfClass)> {
    let mut sums: Vec<(&str, OfClass)> = Vec::new();
    for (name, class) in recorded.devices.values().flat_map(|device| &device.classes) {
        let name = name.as_str();
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => add_to(sum, class),
            None => sums.push((name, class.clone())),
        }
    }
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.requests));
    sums
}

/// Adds the counts of a class that [`class_words`] needs.
fn add_to(sum: &mut OfClass, class: &OfClass) {
    sum.requests = sum.requests.saturating_add(class.requests);
    sum.bytes = sum.bytes.saturating_add(class.bytes);
    sum.in_order = sum.in_order.saturating_add(class.in_order);
    sum.touched_bytes = sum.touched_bytes.saturating_add(class.touched_bytes);
    for (size, requests) in &class.sizes {
        let sum = sum.sizes.entry(*size).or_default();
        *sum = sum.saturating_add(*requests);
    }
}

/// Describes a class, for example `80% reads, 4 KiB each, 12% sequential, working set 3 GiB`.
fn class_words(name: &str, class: &OfClass, all_requests: u64) -> String {
    let share = show::share(class.requests as f64 / all_requests.max(1) as f64);
    if class.bytes == 0 {
        return format!("{share} {name}");
    }
    // Sizes are counted in powers of two.
    let median = |size: u64| format!(", median below {}", show::bytes(size.saturating_mul(2)));
    let size = match class.sizes.len() {
        1 => format!(", {} each", show::bytes(class.bytes / class.requests.max(1))),
        _ => class.median_size().map_or_else(String::new, median),
    };
    let order = show::share(class.in_order as f64 / class.requests.max(1) as f64);
    format!(
        "{share} {name}{size}, {order} sequential, working set {}",
        show::bytes(class.touched_bytes)
    )
}

const LEGEND: [&str; 4] = [
    "Sequential: requests that start where one of the last 64 requests of the class ended. Working set: bytes of all \
     device units (at least 4 KiB) that the class accessed. Reused: share of the bytes in requests that start in a \
     previously accessed unit.",
    "In flight: the mean over the recording (Little's law). Bursts: variance divided by mean of the arrivals per 0.1 \
     s; 1 for independent arrivals, higher for bursty arrivals.",
    "Sync: requests that the kernel marks as synchronous (REQ_SYNC). Ahead: read-ahead requests.",
    "The recording contains times, classes, offsets and sizes, but no file names or data.",
];

const FIGURE: FactsFigure = FactsFigure {
    key: TraceFacts::KEY,
    about: About {
        name: "trace",
        summary: "recorded requests by class: rates, working set, sizes, distances, sequential share, reuse, bursts",
        text: "For a result of `assay watch --record-trace`: arrivals and working set over time, sizes and distances \
               in powers of two, sequential requests, reuse within a class, and bursts of arrivals. The figure shows \
               the six classes with the most requests.",
    },
    leads: true,
};

impl Shows for TraceFacts {
    const KEY: &'static str = "trace";
    const FIGURE: Option<&'static FactsFigure> = Some(&FIGURE);

    fn exhibit(all: &[&Self], _: &dyn RowSource) -> Exhibit {
        let count = |title| Column::new(title, Unit::Count);
        let mut table = Table::new("recorded requests");
        table.add(count("requests"), all, |facts| facts.recorded.requests);
        table.add(count("not recorded"), all, |facts| facts.recorded.dropped);
        table.add(Column::new("time", Unit::Nanoseconds), all, |facts| {
            Some(facts.recorded.span_ns).filter(|span| *span > 0)
        });
        table.add(Column::new("recording", Unit::Bytes), all, |facts| facts.recorded.file_bytes);
        for (row, facts) in table.rows.iter_mut().zip(all) {
            row.subject = Some(facts.subject());
        }
        table.notes = LEGEND.map(str::to_owned).to_vec();
        let mut tables = vec![table];
        for facts in all {
            let sizes = facts.share_table("sizes", |class| &class.sizes);
            tables.extend([facts.class_table(), sizes, facts.distance_table()]);
        }
        let figures = all.iter().flat_map(|facts| {
            requests::of_recording(FIGURE.about.name, &facts.workload, &facts.recorded)
        });
        let sentence =
            |facts: &&Self| Sentence { about: facts.subject(), text: facts.text.clone() };
        Exhibit {
            tables,
            figures: figures.collect(),
            sentences: all.iter().map(sentence).collect(),
            ..Exhibit::default()
        }
    }
}

impl OfRow for TraceFacts {}

impl TraceFacts {
    fn class_lines(&self) -> impl Iterator<Item = (String, &OfClass)> {
        self.recorded.devices.iter().flat_map(|(name, device)| {
            device.classes.iter().map(move |(class, of)| (format!("{name} {class}"), of))
        })
    }

    fn class_table(&self) -> Table {
        let lines: Vec<(String, &OfClass)> = self.class_lines().collect();
        let span_ns = self.recorded.span_ns;
        let seconds = span_ns as f64 / 1e9;
        // Requests without bytes, such as flushes, have no offset either.
        let if_bytes = |class: &OfClass, number: f64| (class.bytes > 0).then_some(number);
        let per_request = |class: &OfClass, part: u64| part as f64 / class.requests.max(1) as f64;
        let bytes = |title| Column::new(title, Unit::Bytes);
        let shares = |title| Column::new(title, Unit::Share);
        let count = |title| Column::new(title, Unit::Count);
        let mut table = Table::new("by class");
        table.add(Column::left("class"), &lines, |(name, _)| name);
        table.add(count("requests"), &lines, |(_, class)| class.requests);
        table.add(Column::right("per second"), &lines, |(_, class)| {
            (seconds > 0.0).then(|| show::per_second(class.requests as f64 / seconds))
        });
        table.add(bytes("bytes"), &lines, |(_, class)| if_bytes(class, class.bytes as f64));
        table.add(bytes("mean size"), &lines, |(_, class)| {
            if_bytes(class, per_request(class, class.bytes))
        });
        table.add(shares("sequential"), &lines, |(_, class)| {
            if_bytes(class, per_request(class, class.in_order))
        });
        table.add(bytes("working set"), &lines, |(_, class)| {
            if_bytes(class, class.touched_bytes as f64)
        });
        table.add(shares("reused"), &lines, |(_, class)| {
            if_bytes(class, class.reused_bytes as f64 / class.bytes.max(1) as f64)
        });
        // Empty if completion times are unknown.
        table.add(Column::right("in flight"), &lines, |(_, class)| {
            (class.queued_ns > 0).then(|| class.mean_in_flight(span_ns))
        });
        table.add(Column::right("bursts"), &lines, |(_, class)| class.dispersion);
        table.add(shares("sync"), &lines, |(_, class)| per_request(class, class.sync));
        table.add(shares("ahead"), &lines, |(_, class)| per_request(class, class.read_ahead));
        table.add(count("failed"), &lines, |(_, class)| class.failed);
        table
    }

    fn distance_table(&self) -> Table {
        let mut table = self.share_table("distances", |of| &of.distances);
        table.notes.push(
            "Distance from the end of the previous completed request of the class to the start of the request, in \
             either direction; 0 B: sequential."
                .to_owned(),
        );
        table
    }

    /// One column per class, one row per power of two: the share of its requests.
    fn share_table(
        &self,
        title: &str,
        sizes_of: impl Fn(&OfClass) -> &BTreeMap<u64, u64>,
    ) -> Table {
        let lines: Vec<(String, &OfClass)> =
            self.class_lines().filter(|(_, class)| class.bytes > 0).take(MOST_LINES).collect();
        let powers: BTreeSet<u64> =
            lines.iter().flat_map(|(_, class)| sizes_of(class).keys().copied()).collect();
        let powers: Vec<u64> = powers.into_iter().collect();
        let mut table = Table::new(title);
        table.add(Column::new("from", Unit::Bytes), &powers, |power| *power);
        for (name, class) in &lines {
            let counts = sizes_of(class);
            let total = sum(counts).max(1) as f64;
            table.add(Column::new(name, Unit::Share), &powers, |power| {
                counts.get(power).map(|count| *count as f64 / total)
            });
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tell::Bare;
    use assay_core::calc::requests::{Request, RequestCounter};

    fn recorded(unrecorded: u64) -> Recorded {
        let mut counter = RequestCounter::new([("sda".to_owned(), 1 << 30)]);
        for at in 0..80_u64 {
            let class = if at % 4 == 0 { "write" } else { "read" };
            counter.add(&Request {
                device: 0,
                class,
                arrived_ns: Some(1_000_000 * at),
                ended_ns: 1_000_000 * at + 500_000,
                offset_bytes: Some(4096 * at),
                bytes: 4096,
                sync: class == "read",
                meta: false,
                read_ahead: false,
                failed: false,
            });
        }
        let flush = Request {
            device: 0,
            class: "flush",
            arrived_ns: Some(0),
            ended_ns: 9,
            offset_bytes: None,
            bytes: 0,
            sync: true,
            meta: false,
            read_ahead: false,
            failed: false,
        };
        counter.add(&flush);
        counter.finish(2_000_000_000, unrecorded, 1000)
    }

    fn facts(unrecorded: u64) -> TraceFacts {
        let recorded = recorded(unrecorded);
        let text = words(&recorded);
        TraceFacts { workload: "watched".to_owned(), configuration: Levels::new(), recorded, text }
    }

    #[test]
    fn a_recording_says_what_it_is_of() {
        let text = facts(0).text;
        assert!(
            text.starts_with("Recorded 81 requests of sda in 2 s: 74.1% read, 4 KiB each"),
            "{text}"
        );
        assert!(text.contains("24.7% write, 4 KiB each, 0% sequential"), "{text}");
        assert!(text.contains("1.23% flush") && !text.contains("The recording lacks"), "{text}");
        let lost = facts(19).text;
        assert!(lost.contains("The recording lacks another 19 requests (19%)"), "{lost}");
    }

    #[test]
    fn every_class_has_its_line_and_every_size_its_share() {
        let own = facts(0);
        let shown = TraceFacts::exhibit(&[&own], &Bare);
        let [_, classes, sizes, distances] = &shown.tables[..] else { panic!("{shown:?}") };
        for table in [classes, sizes, distances] {
            assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()));
        }
        let names: Vec<String> = classes.rows.iter().map(|row| classes.name_of(row)).collect();
        assert_eq!(names, ["sda flush", "sda read", "sda write"]);
        assert_eq!(shown.figures.len(), 6);
        assert!(shown.figures.iter().all(|figure| figure.id.starts_with(FIGURE.about.name)));
        // A flush has no size, and no column of sizes.
        assert_eq!((sizes.rows.len(), sizes.columns.len()), (1, 3));
    }
}
