//! Figures of recorded requests: alone, and with those of a replay.

use std::collections::{BTreeMap, BTreeSet};

use super::Unit;
use super::figure::{Axis, AxisScale, Figure, NamedValues, grouped_bars, lines_over_time};
use crate::calc::requests::{MOST_STEPS, OfClass, OverTime, Recorded, TracePair, TraceSide, sum};
use crate::quantity::units::show;

/// Maximum number of classes with a line each; more are indistinguishable.
const MOST_CLASSES: usize = 6;
/// Maximum number of replayed request kinds drawn: those with the most requests.
const MOST_KINDS: usize = 3;

const SIZES: &str = "Each bar is the share of requests from this size up to twice this size.";
const DISTANCES: &str = "Each bar is the share of requests by distance from the end of the previous request, \
                         in either direction (from this distance to twice this distance); 0 B: sequential.";
struct TraceFigures<'a> {
    kind: &'a str,
    workload: &'a str,
    notes: Vec<String>,
    drawn: Vec<Figure>,
}

impl TraceFigures<'_> {
    fn add(&mut self, title: &str, description: &str, figure: Option<Figure>) {
        let Some(figure) = figure else { return };
        let mut figure = figure.of_workload(self.kind, self.workload, title, description);
        figure.notes.extend(self.notes.iter().cloned());
        self.drawn.push(figure);
    }
}

fn value_axis(title: &str, unit: Unit) -> Axis {
    Axis::new(title, AxisScale::Linear, unit).from_zero()
}

type Named<'a> = (String, &'a OfClass);

/// Figures of a recording by class of request, from arrival rates to bursts.
pub fn of_recording(kind: &str, workload: &str, recording: &Recorded) -> Vec<Figure> {
    let (classes, omitted) = busiest_classes(recording);
    let mut notes = Vec::new();
    if omitted > 0 {
        let class_count = classes.len() + omitted;
        notes.push(format!(
            "The figure shows the {MOST_CLASSES} of {class_count} classes with the most requests."
        ));
    }
    let mut figures = TraceFigures { kind, workload, notes, drawn: Vec::new() };
    let text =
        "Each point is the mean arrival rate in one time step; the last step may be shorter.";
    figures.add("rates by class", text, rate_lines(&classes));
    let text = "Distinct bytes of the device that requests of the class have accessed so far; flat \
                where they access the same bytes again, or where no requests arrive.";
    figures.add("working set by class", text, working_set_lines(&classes));
    figures.add("sizes", SIZES, class_share_bars(&classes, |class| &class.sizes));
    let title = "distances between consecutive requests";
    figures.add(title, DISTANCES, class_share_bars(&classes, |class| &class.distances));
    let text = "Sequential: requests that begin where one of the last 64 requests of their class \
                ended; all others are random. Accessed before: bytes that requests of the class \
                had accessed earlier. Synchronous: requests that the kernel marks as sync.";
    figures.add("order and reuse by class", text, order_bars(&classes));
    let text = "Variance divided by mean of the arrivals per 100 ms: 1 for independent arrivals, \
                higher for bursts.";
    figures.add("bursts by class", text, burst_bars(&classes));
    figures.drawn
}

/// The classes with the most requests, named with their devices if there are several; and the number of the others.
fn busiest_classes(recording: &Recorded) -> (Vec<Named<'_>>, usize) {
    let has_one_device = recording.devices.len() == 1;
    let mut named: Vec<Named<'_>> = Vec::new();
    for (device, requests) in &recording.devices {
        for (name, class) in &requests.classes {
            let name = if has_one_device { name.clone() } else { format!("{device} {name}") };
            named.push((name, class));
        }
    }
    named.sort_by_key(|(_, class)| std::cmp::Reverse(class.requests));
    let omitted = named.len().saturating_sub(MOST_CLASSES);
    named.truncate(MOST_CLASSES);
    (named, omitted)
}

fn rate_lines(classes: &[Named<'_>]) -> Option<Figure> {
    let arrivals =
        classes.iter().filter_map(|(name, class)| Some((name.clone(), class.arrivals.as_ref()?)));
    per_second(arrivals.collect())
}

/// Lines of the distinct bytes accessed so far, from the bytes first touched in each time step.
fn working_set_lines(classes: &[Named<'_>]) -> Option<Figure> {
    let touches = classes
        .iter()
        .filter_map(|(name, class)| Some((name.clone(), class.first_touch.as_ref()?)));
    let (step_ns, mut lines) = with_equal_steps(touches.collect(), OverTime::sums_of);
    for line in &mut lines {
        let mut so_far = 0.0;
        for value in &mut line.values {
            so_far += *value;
            *value = so_far;
        }
    }
    lines_over_time(seconds(step_ns), value_axis("bytes accessed", Unit::Bytes), &lines)
}

fn order_bars(classes: &[Named<'_>]) -> Option<Figure> {
    let classes: Vec<&Named<'_>> = classes.iter().filter(|(_, class)| class.bytes > 0).collect();
    let names: Vec<String> = classes.iter().map(|(name, _)| name.clone()).collect();
    let group = |name: &str, share_of: fn(&OfClass) -> f64| NamedValues {
        name: name.to_owned(),
        values: classes.iter().map(|(_, class)| share_of(class)).collect(),
    };
    let groups = [
        group("sequential", |class| share(class.in_order, class.requests)),
        group("accessed before", |class| share(class.reused_bytes, class.bytes)),
        group("synchronous", |class| share(class.sync, class.requests)),
    ];
    grouped_bars("class", &names, value_axis("share", Unit::Share), &groups)
}

fn burst_bars(classes: &[Named<'_>]) -> Option<Figure> {
    let mut names = Vec::new();
    let mut group = NamedValues { name: String::new(), values: Vec::new() };
    for (name, class) in classes {
        if let Some(dispersion) = class.dispersion {
            names.push(name.clone());
            group.values.push(dispersion);
        }
    }
    grouped_bars("class", &names, value_axis("variance / mean", Unit::Number), &[group])
}

/// Figures of replayed next to recorded requests, by kind of request.
pub fn of_play(
    kind: &str,
    workload: &str,
    by_kind: &BTreeMap<String, TracePair>,
    notes: Vec<String>,
) -> Vec<Figure> {
    let mut figures = TraceFigures { kind, workload, notes, drawn: Vec::new() };
    let mut pairs: Vec<(&String, &TracePair)> = by_kind.iter().collect();
    pairs.sort_by_key(|(_, pair)| std::cmp::Reverse(pair.recorded.starts.sum()));
    pairs.truncate(MOST_KINDS);
    let text = "Each point is the mean rate of starts in one time step, counted from the first \
                request; the last step may be shorter.";
    for (name, pair) in &pairs {
        let starts = both_sides(pair, |side| &side.starts);
        figures.add(&format!("starts ({name}), recorded and replayed"), text, per_second(starts));
    }
    let text = "Each point is the largest delay after the intended start in one time step.";
    figures.add("behind the schedule", text, delay_lines(&pairs));
    for (name, pair) in &pairs {
        let title = format!("sizes ({name}), recorded and replayed");
        figures.add(&title, SIZES, share_bars(&both_sides(pair, |side| &side.sizes)));
    }
    for (name, pair) in &pairs {
        let title = format!("distances ({name}), recorded and replayed");
        figures.add(&title, DISTANCES, share_bars(&both_sides(pair, |side| &side.distances)));
    }
    figures.drawn
}

fn delay_lines(pairs: &[(&String, &TracePair)]) -> Option<Figure> {
    let delays =
        pairs.iter().filter_map(|(name, pair)| Some(((*name).clone(), pair.delays_ns.as_ref()?)));
    let (step_ns, lines) = with_equal_steps(delays.collect(), OverTime::mosts_of);
    lines_over_time(seconds(step_ns), value_axis("behind", Unit::Nanoseconds), &lines)
}

fn both_sides<T>(pair: &TracePair, part: fn(&TraceSide) -> &T) -> Vec<(String, &T)> {
    let sides = [("recorded", &pair.recorded), ("replayed", &pair.replayed)];
    sides.map(|(name, side)| (name.to_owned(), part(side))).into()
}

/// Lines of the rate in each time step.
fn per_second(lines_in: Vec<(String, &OverTime)>) -> Option<Figure> {
    let (step_ns, mut lines) = with_equal_steps(lines_in, OverTime::sums_of);
    let step_s = seconds(step_ns);
    for value in lines.iter_mut().flat_map(|line| &mut line.values) {
        *value /= step_s;
    }
    lines_over_time(step_s, value_axis("requests per second", Unit::Number), &lines)
}

/// Widens all lines to the longest step, and pads them with zeros to the longest line; returns the step and the lines.
fn with_equal_steps(
    lines: Vec<(String, &OverTime)>,
    widen: fn(OverTime, u64) -> OverTime,
) -> (u64, Vec<NamedValues>) {
    let step_ns = lines.iter().map(|(_, line)| line.step_ns).max().unwrap_or_default();
    let widened = lines.into_iter().map(|(name, line)| (name, widen(line.clone(), step_ns)));
    let widened: Vec<(String, OverTime)> = widened.collect();
    let steps = widened.iter().map(|(_, line)| line.amounts.len()).max().unwrap_or_default();
    let values = |(name, line): (String, OverTime)| {
        let amounts = line.amounts.into_iter().chain(std::iter::repeat(0));
        let values = amounts.take(steps.min(MOST_STEPS)).map(|amount| amount as f64);
        NamedValues { name, values: values.collect() }
    };
    (step_ns, widened.into_iter().map(values).collect())
}

fn seconds(step_ns: u64) -> f64 {
    step_ns.max(1) as f64 / 1e9
}

/// Bars of the share of each size or distance in the requests of a class.
fn class_share_bars(
    classes: &[Named<'_>],
    counts: fn(&OfClass) -> &BTreeMap<u64, u64>,
) -> Option<Figure> {
    let classes = classes.iter().filter(|(_, class)| class.bytes > 0);
    let groups: Vec<(String, &BTreeMap<u64, u64>)> =
        classes.map(|(name, class)| (name.clone(), counts(class))).collect();
    share_bars(&groups)
}

/// Rows per power of two, including empty ones between; a bar is a share of its group.
fn share_bars(groups: &[(String, &BTreeMap<u64, u64>)]) -> Option<Figure> {
    let rows = power_rows(groups.iter().flat_map(|(_, counts)| counts.keys().copied()));
    let group = |(name, counts): &(String, &BTreeMap<u64, u64>)| {
        let total = sum(counts);
        let share_of = |row: &u64| share(counts.get(row).copied().unwrap_or_default(), total);
        NamedValues { name: name.clone(), values: rows.iter().map(share_of).collect() }
    };
    let names: Vec<String> = rows.iter().map(|row| show::bytes(*row)).collect();
    let groups: Vec<NamedValues> = groups.iter().map(group).collect();
    grouped_bars("from", &names, value_axis("share of requests", Unit::Share), &groups)
}

/// All powers of two from the smallest to the largest key, and 0 if it occurs.
fn power_rows(keys: impl Iterator<Item = u64>) -> Vec<u64> {
    let known: BTreeSet<u64> = keys.filter(|key| key.is_power_of_two() || *key == 0).collect();
    let mut rows = Vec::new();
    if known.contains(&0) {
        rows.push(0);
    }
    let powers = || known.iter().filter_map(|key| key.checked_ilog2());
    if let (Some(least), Some(most)) = (powers().min(), powers().max()) {
        rows.extend((least..=most).map(|bit| 1_u64 << bit));
    }
    rows
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calc::requests::{GatheredSides, OfDevice, Request, RequestCounter};

    const MS: u64 = 1_000_000;

    fn recorded(devices: &[&str]) -> Recorded {
        let named = devices.iter().map(|name| ((*name).to_owned(), 1 << 30));
        let mut counter = RequestCounter::new(named);
        for at in 0..2000_u64 {
            counter.add(&Request {
                device: (at as usize / 3) % devices.len(),
                class: ["read", "write", "flush"][(at % 3) as usize],
                arrived_ns: Some(at * MS),
                ended_ns: at * MS + MS / 2,
                offset_bytes: (at % 3 < 2).then_some(at / 2 % 300 * 8192),
                bytes: if at % 3 < 2 { 4096 << (at % 2 * 2) } else { 0 },
                sync: at % 3 == 0,
                meta: false,
                read_ahead: false,
                failed: false,
            });
        }
        counter.finish(2000 * MS, 0, 1)
    }

    /// Titles of the figures of a workload, without its name.
    fn titles(figures: &[Figure]) -> Vec<&str> {
        figures.iter().map(|figure| figure.title.split_once(": ").unwrap().1).collect()
    }

    fn lines(figure: &Figure) -> Vec<NamedValues> {
        let series = figure.series.iter().map(|one| NamedValues {
            name: one.name.clone(),
            values: one.points.iter().map(|point| point.value).collect(),
        });
        series.collect()
    }

    #[test]
    fn a_recording_has_its_rates_its_working_set_its_sizes_and_how_random_it_is() {
        let figures = of_recording("requests", "watched", &recorded(&["sda"]));
        assert_eq!(
            titles(&figures),
            [
                "rates by class",
                "working set by class",
                "sizes",
                "distances between consecutive requests",
                "order and reuse by class",
                "bursts by class",
            ]
        );
        let rates = lines(&figures[0]);
        assert_eq!(rates.len(), 3);
        for line in &rates {
            let mean = line.values.iter().sum::<f64>() / line.values.len() as f64;
            assert!((300.0..350.0).contains(&mean), "{line:?}");
            assert_eq!(line.values.len(), rates[0].values.len());
        }
        // A working set never shrinks.
        let touched = lines(&figures[1]);
        assert_eq!(touched.len(), 2, "a flush touches nothing");
        for line in touched {
            assert!(line.values.windows(2).all(|two| two[0] <= two[1]), "{line:?}");
        }
        for at in [2, 3] {
            for group in lines(&figures[at]) {
                let all: f64 = group.values.iter().sum();
                assert!((all - 1.0).abs() < 1e-9, "{group:?}");
            }
        }
        assert!(figures.iter().all(|figure| figure.notes.is_empty()));
    }

    #[test]
    fn of_many_classes_those_with_the_most_requests_are_drawn_and_that_is_told() {
        let figures = of_recording("requests", "watched", &recorded(&["sda", "sdb", "sdc"]));
        let rates = lines(&figures[0]);
        assert_eq!(rates.len(), 6);
        assert!(rates.iter().any(|line| line.name == "sdb read"), "{rates:?}");
        assert!(figures[0].notes[0].contains("shows the 6 of 9 classes"), "{:?}", figures[0].notes);
    }

    #[test]
    fn what_an_older_version_kept_or_nothing_is_drawn_as_far_as_it_goes() {
        let mut old = recorded(&["sda"]);
        for class in old.devices.values_mut().flat_map(|device| device.classes.values_mut()) {
            (class.arrivals, class.first_touch) = (None, None);
        }
        let figures = of_recording("requests", "watched", &old);
        assert_eq!(titles(&figures)[0], "sizes");
        assert!(of_recording("requests", "watched", &Recorded::default()).is_empty());
    }

    /// Bundles are untrusted.
    #[test]
    fn hostile_numbers_are_drawn_or_not_and_never_more_than_fit() {
        let most = |keys: &[u64]| keys.iter().map(|key| (*key, u64::MAX)).collect();
        let class = OfClass {
            requests: u64::MAX,
            bytes: u64::MAX,
            sizes: most(&[0, 1, 3, 1 << 63, u64::MAX]),
            distances: most(&[7]),
            arrivals: Some(OverTime { step_ns: 0, amounts: vec![u64::MAX; 5000] }),
            first_touch: Some(OverTime { step_ns: u64::MAX, amounts: vec![u64::MAX; 3] }),
            ..OfClass::default()
        };
        let classes = [("read".to_owned(), class)].into();
        let device = OfDevice { classes, ..OfDevice::default() };
        let of = Recorded { devices: [("sda".to_owned(), device)].into(), ..Recorded::default() };
        let figures = of_recording("requests", "watched", &of);
        assert_eq!(titles(&figures), ["rates by class", "working set by class", "sizes"]);
        for figure in &figures {
            let mut values = figure.points().map(|point| point.value);
            assert!(values.all(f64::is_finite) && figure.marks() <= 80);
        }
    }

    #[test]
    fn a_play_stands_beside_its_recording_by_kind() {
        let mut recorded = GatheredSides::default();
        let mut played = GatheredSides::default();
        for at in 0..400 {
            let kind = if at % 4 == 0 { "write" } else { "read" };
            recorded.add(kind, at * MS, Some((at * 4096, 4096)));
            played.add(kind, at * MS + MS / 5, Some((at * 4096, 4096)));
            played.behind(kind, at * MS, MS / 5);
        }
        recorded.add("flush", 0, None);
        let figures = of_play("played", "evening", &recorded.beside(played), Vec::new());
        assert_eq!(
            titles(&figures),
            [
                "starts (read), recorded and replayed",
                "starts (write), recorded and replayed",
                "starts (flush), recorded and replayed",
                "behind the schedule",
                "sizes (read), recorded and replayed",
                "sizes (write), recorded and replayed",
                "distances (read), recorded and replayed",
                "distances (write), recorded and replayed",
            ]
        );
        let reads = lines(&figures[0]);
        assert_eq!((reads[0].name.as_str(), reads[1].name.as_str()), ("recorded", "replayed"));
        assert_eq!(reads[0].values, reads[1].values);
        let behind = lines(&figures[3]);
        assert!(behind.iter().all(|line| line.values.iter().all(|own| *own == 200_000.0)));
        assert!(of_play("played", "evening", &BTreeMap::new(), Vec::new()).is_empty());
    }
}
