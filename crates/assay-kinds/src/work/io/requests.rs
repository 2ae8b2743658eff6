//! What a recording of requests tells, and how that is shown.

use std::collections::{BTreeMap, BTreeSet};

use assay_base::calc::requests::{OfClass, OfDevice, Recorded, sum};
use assay_base::catalogue::About;
use assay_base::exhibit::{
    Body, Cell, Column, Exhibit, Levels, Part, Row, Sentence, Subject, Table, Unit, Value, requests,
};
use assay_base::quantity::units::show;
use serde::{Deserialize, Serialize};

use super::{Detail, Planned};
use crate::work::tell::{FactsFigure, OfRow, Resting, Rows, Seen, Shows, Spoken, Tells};
use crate::work::{self, Measured};

/// Of so many classes of devices each has a line of sizes.
const MOST_LINES: usize = 40;

/// What a recording says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facts {
    pub workload: String,
    pub configuration: Levels,
    pub recorded: Recorded,
    /// It in a sentence.
    pub text: String,
}

impl Tells for Planned {
    /// Of what was watched with its requests recorded; of all other reads and writes nothing.
    fn facts(&self, seen: &Seen<'_>) -> Option<work::Facts> {
        let mut details = seen.trials.iter().filter_map(|trial| Detail::of((*trial)?));
        let recorded = details.find_map(|detail| detail.requests.clone())?;
        let Subject { workload, arm } = seen.subject.clone();
        let text = words(&recorded);
        Some(Facts { workload, configuration: arm, recorded: *recorded, text }.into())
    }

    /// None of its metrics is changed by what rules say.
    fn as_judged(&self, _: &str, _: &Measured, _: &[Spoken<'_>]) -> Option<Result<f64, String>> {
        None
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
    let classes = by_class(recorded);
    let all = classes.iter().fold(0_u64, |all, (_, of)| all.saturating_add(of.requests));
    let classes: Vec<String> =
        classes.iter().map(|(name, of)| class_words(name, of, all)).collect();
    let classes =
        if classes.is_empty() { String::new() } else { format!(": {}", classes.join("; ")) };
    let missing = match recorded.dropped {
        0 => String::new(),
        lost => format!(
            " The recording lacks another {} requests ({}), which arrived faster than Assay could read them or appear \
             only in the kernel's counters.",
            show::count(lost),
            show::share(recorded.missing())
        ),
    };
    format!("Recorded {count} requests of {} {span}{classes}.{missing}", names.join(" "))
}

/// Classes over all devices, in the order of their names.
fn by_class(recorded: &Recorded) -> Vec<(&str, OfClass)> {
    let mut found: Vec<(&str, OfClass)> = Vec::new();
    for (name, of) in recorded.devices.values().flat_map(|device| &device.classes) {
        let name = name.as_str();
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => add(all, of),
            None => found.push((name, of.clone())),
        }
    }
    found.sort_by_key(|(_, of)| std::cmp::Reverse(of.requests));
    found
}

fn add(sum: &mut OfClass, of: &OfClass) {
    sum.requests = sum.requests.saturating_add(of.requests);
    sum.bytes = sum.bytes.saturating_add(of.bytes);
    sum.in_order = sum.in_order.saturating_add(of.in_order);
    sum.touched_bytes = sum.touched_bytes.saturating_add(of.touched_bytes);
    for (size, many) in &of.sizes {
        let all = sum.sizes.entry(*size).or_default();
        *all = all.saturating_add(*many);
    }
}

fn class_words(name: &str, of: &OfClass, all: u64) -> String {
    let share = show::share(of.requests as f64 / all.max(1) as f64);
    if of.bytes == 0 {
        return format!("{share} {name}");
    }
    let half = |size: u64| format!(", median below {}", show::bytes(size.saturating_mul(2)));
    let size = match of.sizes.len() {
        1 => format!(", {} each", show::bytes(of.bytes / of.requests.max(1))),
        _ => of.median_size().map_or_else(String::new, half),
    };
    let order = show::share(of.in_order as f64 / of.requests.max(1) as f64);
    format!(
        "{share} {name}{size}, {order} sequential, working set {}",
        show::bytes(of.touched_bytes)
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
    about: About {
        name: "trace",
        summary: "recorded requests by class: rates, working set, sizes, distances, sequential share, reuse, bursts",
        text: "For a result of `assay watch --record-trace`: arrivals and working set over time, sizes and distances \
               in powers of two, sequential requests, reuse within a class, and bursts of arrivals. The figure shows \
               the six classes with the most requests.",
    },
    leads: true,
};

impl Shows for Facts {
    const KEY: &'static str = "trace";
    const FIGURE: Option<&'static FactsFigure> = Some(&FIGURE);

    fn exhibit(all: &[&Self], _: &dyn Rows) -> Exhibit {
        let columns = vec![
            Column::new("requests", Unit::Count),
            Column::new("not recorded", Unit::Count),
            Column::new("time", Unit::Nanoseconds),
            Column::new("recording", Unit::Bytes),
        ];
        let row = |own: &&Self| {
            let Recorded { requests, dropped: unrecorded, span_ns, file_bytes, .. } = own.recorded;
            let cells = [
                Some(requests),
                Some(unrecorded),
                (span_ns > 0).then_some(span_ns),
                Some(file_bytes),
            ];
            let cell =
                |number: Option<u64>| Cell::from(Value::number(number.map(|number| number as f64)));
            let cells = cells.map(cell).to_vec();
            Row { of: own.subject(), cells }
        };
        let sentence = |own: &&Self| Sentence { about: own.subject(), text: own.text.clone() };
        Exhibit {
            remarks: LEGEND.map(str::to_owned).to_vec(),
            parts: all
                .iter()
                .flat_map(|own| [own.classes(), own.sizes(), own.distances()])
                .collect(),
            charts: all
                .iter()
                .flat_map(|own| {
                    requests::of_recording(FIGURE.about.name, &own.workload, &own.recorded)
                })
                .collect(),
            sentences: all.iter().map(sentence).collect(),
            ..Exhibit::of_table(Table {
                title: "recorded requests".to_owned(),
                columns,
                rows: all.iter().map(row).collect(),
            })
        }
    }
}

impl OfRow for Facts {
    fn subject(&self) -> Subject {
        Subject { workload: self.workload.clone(), arm: self.configuration.clone() }
    }

    /// What was recorded is counted, and no number of a row.
    fn settle(&mut self, _: &dyn Fn(&str) -> Option<f64>) {}

    fn resting(&mut self) -> Option<Resting<'_>> {
        None
    }
}

impl Facts {
    fn lines(&self) -> impl Iterator<Item = (String, &OfDevice, &OfClass)> {
        self.recorded.devices.iter().flat_map(|(name, device)| {
            device.classes.iter().map(move |(class, of)| (format!("{name} {class}"), device, of))
        })
    }

    fn classes(&self) -> Part {
        let columns = vec![
            Column::new("class", Unit::Words),
            Column::new("requests", Unit::Count),
            Column::new("per second", Unit::Grade),
            Column::new("bytes", Unit::Bytes),
            Column::new("mean size", Unit::Bytes),
            Column::new("sequential", Unit::Share),
            Column::new("working set", Unit::Bytes),
            Column::new("reused", Unit::Share),
            Column::new("in flight", Unit::Grade),
            Column::new("bursts", Unit::Grade),
            Column::new("sync", Unit::Share),
            Column::new("ahead", Unit::Share),
            Column::new("failed", Unit::Count),
        ];
        let seconds = self.recorded.span_ns as f64 / 1e9;
        let row = |(name, _, of): (String, &OfDevice, &OfClass)| {
            let all = of.requests.max(1) as f64;
            let has_bytes = of.bytes > 0;
            let where_bytes = |number: f64| Value::number(has_bytes.then_some(number));
            let cells = [
                Value::Words(name),
                Value::Number(of.requests as f64),
                if seconds > 0.0 {
                    Value::Words(show::per_second(of.requests as f64 / seconds))
                } else {
                    Value::Nothing
                },
                where_bytes(of.bytes as f64),
                where_bytes(of.bytes as f64 / all),
                where_bytes(of.in_order as f64 / all),
                where_bytes(of.touched_bytes as f64),
                where_bytes(of.reused_bytes as f64 / of.bytes.max(1) as f64),
                // Nothing where nobody said when they ended.
                Value::number((of.queued_ns > 0).then(|| of.mean_in_flight(self.recorded.span_ns))),
                Value::number(of.dispersion),
                Value::Number(of.sync as f64 / all),
                Value::Number(of.read_ahead as f64 / all),
                Value::Number(of.failed as f64),
            ];
            cells.map(Cell::from).to_vec()
        };
        let rows = self.lines().map(row).collect();
        part("by class", Body::Table { columns, rows })
    }

    fn sizes(&self) -> Part {
        part("sizes", self.shares("from", |of| &of.sizes))
    }

    fn distances(&self) -> Part {
        let mut part = part("distances", self.shares("from", |of| &of.distances));
        part.remarks = vec![
            "Distance from the end of the previous completed request of the class to the start of the request, in \
             either direction; 0 B: sequential."
                .to_owned(),
        ];
        part
    }

    /// A column a class, a row a power of two: the share of its requests.
    fn shares(&self, heading: &str, of: impl Fn(&OfClass) -> &BTreeMap<u64, u64>) -> Body {
        let lines: Vec<(String, &OfClass)> = self
            .lines()
            .map(|(name, _, class)| (name, class))
            .filter(|(_, class)| class.bytes > 0)
            .take(MOST_LINES)
            .collect();
        let mut columns = vec![Column::new(heading, Unit::Bytes)];
        columns.extend(lines.iter().map(|(name, _)| Column::new(name, Unit::Share)));
        let all: BTreeSet<u64> =
            lines.iter().flat_map(|(_, class)| of(class).keys().copied()).collect();
        let row = |power: u64| {
            let share = |class: &OfClass| {
                let known = of(class);
                let all = sum(known).max(1);
                let many = known.get(&power).copied();
                Cell::from(Value::number(many.map(|many| many as f64 / all as f64)))
            };
            let first = Cell::from(Value::Number(power as f64));
            [first].into_iter().chain(lines.iter().map(|own| share(own.1))).collect()
        };
        Body::Table { columns, rows: all.into_iter().map(row).collect() }
    }
}

fn part(title: &str, body: Body) -> Part {
    Part { title: title.to_owned(), body, remarks: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::tell::Bare;
    use assay_base::calc::requests::{Counter, Request};

    fn recorded(unrecorded: u64) -> Recorded {
        let mut counter = Counter::new([("sda".to_owned(), 1 << 30)]);
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

    fn facts(unrecorded: u64) -> Facts {
        let recorded = recorded(unrecorded);
        let text = words(&recorded);
        Facts { workload: "watched".to_owned(), configuration: Levels::new(), recorded, text }
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
        let shown = Facts::exhibit(&[&own], &Bare);
        assert_eq!(shown.parts.len(), 3);
        let rows = |at: usize| match &shown.parts[at].body {
            Body::Table { columns, rows } => {
                assert!(rows.iter().all(|row| row.len() == columns.len()));
                rows.clone()
            }
            Body::List(_) => panic!("it is a table"),
        };
        let names: Vec<Option<String>> =
            rows(0).iter().map(|row| row[0].value.text(Unit::Words)).collect();
        assert_eq!(names, ["sda flush", "sda read", "sda write"].map(|name| Some(name.to_owned())));
        assert_eq!(shown.charts.len(), 6);
        assert!(shown.charts.iter().all(|chart| chart.figure == FIGURE.about.name));
        // A flush has no size, and no column of sizes.
        assert_eq!((rows(1).len(), rows(1)[0].len()), (1, 3));
    }
}
