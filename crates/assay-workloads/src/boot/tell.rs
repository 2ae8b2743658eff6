//! Facts and exhibits of boots: slow units and unfinished boots by group, and all boots in time order.

use std::collections::BTreeMap;

use assay_core::catalogue::About;
use assay_core::exhibit::figure::{Axis, AxisScale, Figure, StackedBar, short, stacked_bars};
use assay_core::exhibit::{Column, Exhibit, Levels, List, Sentence, Subject, Table, Unit, Value};
use assay_core::quantity::Metric;
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use super::{BootDetail, BootPlan, PHASES, UNTIL, USERSPACE, WHOLE};
use crate::tell::{FactsFigure, OfRow, RowNumber, RowSource, RowView, Shows, Tells};

const MOST_UNITS: usize = 10;
const MOST_SENTENCES: usize = 6;
const MOST_DRAWN: usize = 40;

/// The boots of one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootFacts {
    pub workload: String,
    /// The group.
    pub configuration: Levels,
    /// Finished boots.
    pub n: usize,
    /// The slowest units, the slowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<SlowUnit>,
    /// Unfinished boots: listed, but in no mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<UnfinishedBoot>,
    /// Notes on its boots, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A unit that took long to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowUnit {
    pub name: String,
    /// Boots with a start time of the unit.
    pub n: usize,
    /// Mean time from the message "Starting" to the message "Started" over those boots, seconds.
    pub mean_s: f64,
    /// Longest of these times, seconds.
    pub longest_s: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnfinishedBoot {
    /// Wall clock at its start, RFC 3339.
    pub started: String,
    /// Why it did not finish.
    pub reason: String,
}

impl Tells for BootPlan {
    /// A group without a finished boot has facts, too.
    fn facts(&self, seen: &RowView<'_>) -> Option<crate::WorkFacts> {
        let measured = seen.trials.iter().flatten();
        let details: Vec<&BootDetail> =
            measured.filter_map(|measured| BootDetail::of(measured)).collect();
        let unfinished = seen.failed.iter().map(|failed| UnfinishedBoot {
            started: failed.started.to_owned(),
            reason: failed.reason.to_owned(),
        });
        let mut notes: Vec<String> = Vec::new();
        for note in details.iter().flat_map(|detail| &detail.boot.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let Subject { workload, arm } = seen.subject.clone();
        let facts = BootFacts {
            workload,
            configuration: arm,
            n: details.len(),
            units: find_slow_units(&details),
            unfinished: unfinished.collect(),
            notes,
        };
        Some(facts.into())
    }
}

/// The units with the longest mean start time over the boots that have one.
fn find_slow_units(details: &[&BootDetail]) -> Vec<SlowUnit> {
    let mut times_us: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for unit in details.iter().flat_map(|detail| &detail.boot.units) {
        times_us.entry(&unit.name).or_default().push(unit.took_us);
    }
    let mut units = Vec::new();
    for (name, times_us) in times_us {
        let sum_s: f64 = times_us.iter().map(|us| *us as f64 / 1e6).sum();
        units.push(SlowUnit {
            name: name.to_owned(),
            n: times_us.len(),
            mean_s: sum_s / times_us.len().max(1) as f64,
            longest_s: times_us.iter().copied().max().unwrap_or(0) as f64 / 1e6,
        });
    }
    units.sort_by(|one, other| other.mean_s.total_cmp(&one.mean_s));
    units.truncate(MOST_UNITS);
    units
}

impl OfRow for BootFacts {}

const FIGURE: FactsFigure = FactsFigure {
    key: BootFacts::KEY,
    about: About {
        name: "boots",
        summary: "phases of each boot, in time order",
        text: "Each row is a boot, with the oldest on top. The segments are firmware, loader, kernel, initrd and \
               userspace, if recorded in the journal. An unfinished boot has no segments. A step between two boots can \
               have several causes; the figure does not show the cause.",
    },
    leads: true,
};

const RECORDED: &str =
    "These times come from systemd; Assay did not observe the boots and cannot verify them.";

impl Shows for BootFacts {
    const KEY: &'static str = "boots";
    const FIGURE: Option<&'static FactsFigure> = Some(&FIGURE);

    fn exhibit(all: &[&Self], rows: &dyn RowSource) -> Exhibit {
        let groups: Vec<BootGroup<'_>> =
            all.iter().map(|facts| BootGroup::new(facts, rows)).collect();
        let mut tables = vec![phase_table(&groups)];
        tables.extend(groups.iter().filter(|group| !group.facts.units.is_empty()).map(unit_table));
        // One note explains all tables of units, which follow the table of phases.
        if let Some(last) = tables[1..].last_mut() {
            last.notes.push(MEANT.to_owned());
        }
        let by_workload = groups.chunk_by(|one, next| one.facts.workload == next.facts.workload);
        Exhibit {
            tables,
            lists: [list_unfinished(&groups), list_notes(&groups)].into_iter().flatten().collect(),
            figures: by_workload.filter_map(figure).collect(),
            sentences: groups.iter().take(MOST_SENTENCES).map(BootGroup::sentence).collect(),
            recorded: Some(RECORDED.to_owned()),
            ..Exhibit::default()
        }
    }
}

struct BootGroup<'a> {
    facts: &'a BootFacts,
    name: String,
    numbers: Vec<RowNumber<'a>>,
}

impl<'a> BootGroup<'a> {
    fn new(facts: &'a BootFacts, rows: &'a dyn RowSource) -> Self {
        let subject = facts.subject();
        Self { facts, name: rows.name(&subject), numbers: rows.numbers(&subject) }
    }

    fn number(&self, metric: &Metric) -> Option<&RowNumber<'a>> {
        self.numbers.iter().find(|number| number.metric == metric.name)
    }

    fn mean(&self, metric: &Metric) -> Value {
        match self.number(metric).and_then(|number| Some((number.mean?, number.ci95))) {
            Some((mean, Some(ends))) => Value::Estimate(mean, ends),
            Some((mean, None)) => Value::Number(mean),
            None => Value::Missing,
        }
    }

    fn sentence(&self) -> Sentence {
        let measured = |metric| self.number(metric).filter(|number| number.n > 0);
        // A container has no kernel start.
        let whole = measured(&WHOLE).map(|number| (number, "from kernel start"));
        let time = whole.or_else(|| measured(&USERSPACE).map(|number| (number, "in userspace")));
        let unfinished = match self.facts.unfinished.len() {
            0 => String::new(),
            1 => "; 1 more did not finish".to_owned(),
            more => format!("; {more} more did not finish"),
        };
        let name = &self.name;
        let text = match time {
            None => format!("{name}: no boot finished{unfinished}."),
            Some((number, span)) => {
                let boots = match number.n {
                    1 => "1 boot".to_owned(),
                    several => format!("{several} boots"),
                };
                let mean = seconds(number.mean.unwrap_or(0.0));
                format!("{name}: {mean} {span} ({boots}{}){unfinished}.", interval(number.ci95))
            }
        };
        Sentence { about: self.facts.subject(), text }
    }
}

fn interval(ends: Option<[f64; 2]>) -> String {
    let ends = ends.map(|ends| ends.map(seconds));
    ends.map_or_else(String::new, |[low, high]| format!(", 95% CI {low} to {high}"))
}

fn seconds(value: f64) -> String {
    show::duration(value * 1e9)
}

/// One row per group, one column per phase of any group.
fn phase_table(groups: &[BootGroup<'_>]) -> Table {
    let has = |metric: &Metric| groups.iter().any(|group| group.mean(metric) != Value::Missing);
    let mut table = Table::new("phases");
    table.add(Column::left("boots"), groups, |group| &group.name);
    table.add(Column::new("n", Unit::Count), groups, |group| group.facts.n as u64);
    for metric in PHASES.iter().chain([&WHOLE, &UNTIL]).filter(|metric| has(metric)) {
        let title = if metric.name == WHOLE.name { "total from kernel start" } else { metric.noun };
        table.add(Column::new(title, Unit::Seconds), groups, |group| group.mean(metric));
    }
    table.notes.push(
        "Geometric means of the finished boots, with 95% CIs for at least 3 boots. Because the means are geometric, \
         the phases do not add up to the total."
            .to_owned(),
    );
    if has(&USERSPACE) && !has(&WHOLE) {
        let container = "A container has no separate kernel, so Assay times only userspace.";
        table.notes.push(container.to_owned());
    }
    table
}

const MEANT: &str = "Time between the starting and started messages of a unit, including waits for other units and the \
                     disk. Units start in parallel. A service counts as started when systemd has spawned it or it \
                     reports ready. Units that started before the journal appear shorter.";

fn unit_table(group: &BootGroup<'_>) -> Table {
    let units = &group.facts.units;
    let mut table = Table::new(format!("{}: slowest units", group.name));
    table.add(Column::left("unit"), units, |unit| &unit.name);
    table.add(Column::new("mean", Unit::Seconds), units, |unit| unit.mean_s);
    table.add(Column::new("longest", Unit::Seconds), units, |unit| unit.longest_s);
    table.add(Column::new("n", Unit::Count), units, |unit| unit.n as u64);
    table
}

fn list_unfinished(groups: &[BootGroup<'_>]) -> Option<List> {
    let each = groups.iter().flat_map(|group| {
        let boots = group.facts.unfinished.iter();
        boots.map(|boot| format!("{} ({}): {}.", boot.started, group.name, boot.reason))
    });
    list_if_any("unfinished boots, excluded from the means", each.collect())
}

fn list_notes(groups: &[BootGroup<'_>]) -> Option<List> {
    let each = groups
        .iter()
        .flat_map(|group| group.facts.notes.iter().map(|note| format!("{}: {note}.", group.name)));
    list_if_any("notes on individual boots", each.collect())
}

fn list_if_any(title: &str, items: Vec<String>) -> Option<List> {
    (!items.is_empty()).then(|| List { title: title.to_owned(), items })
}

/// The boots of a workload in time order, each with its phases stacked.
fn figure(groups: &[BootGroup<'_>]) -> Option<Figure> {
    let workload = &groups.first()?.facts.workload;
    let mut boots: Vec<(u32, StackedBar)> = Vec::new();
    for group in groups {
        boots.extend(group.bars(groups.len() > 1));
    }
    boots.sort_by_key(|(order, _)| *order);
    let omitted = boots.len().saturating_sub(MOST_DRAWN);
    let bars: Vec<StackedBar> = boots.into_iter().skip(omitted).map(|(_, bar)| bar).collect();
    let value = Axis::new("time since the first recorded phase", AxisScale::Linear, Unit::Seconds);
    let phases: Vec<&str> = PHASES.iter().map(|phase| phase.noun).collect();
    let figure = stacked_bars("time", &phases, value.from_zero(), &bars)?;
    let mut figure = figure.of_workload(
        FIGURE.about.name,
        workload,
        "phases of each boot, in time order",
        "Each row is a boot, with the oldest on top and its phases in time order.",
    );
    if omitted > 0 {
        figure.notes.push(format!("{omitted} older boots are omitted."));
    }
    Some(figure)
}

impl BootGroup<'_> {
    /// A bar per boot, with the position of the boot in time (from 0); a boot without numbers did not finish.
    fn bars(&self, names_group: bool) -> Vec<(u32, StackedBar)> {
        // By position in time, whether any metric of the boot has a value.
        let mut is_finished: BTreeMap<u32, bool> = BTreeMap::new();
        for (order, value) in self.numbers.iter().flat_map(|number| &number.trials) {
            *is_finished.entry(*order).or_default() |= value.is_some();
        }
        let mut bars = Vec::new();
        for (order, is_finished) in is_finished {
            let number = order.saturating_add(1);
            let mut name = format!("boot {number}");
            if names_group {
                name = format!("{number}: {}", short(&self.name));
            }
            if !is_finished {
                name += ", did not finish";
            }
            let segments = PHASES.iter().map(|phase| self.phase_s(phase, order)).collect();
            bars.push((order, StackedBar { name, segments }));
        }
        bars
    }

    /// Seconds of a phase in one boot; `None` if not recorded.
    fn phase_s(&self, phase: &Metric, order: u32) -> Option<f64> {
        let mut trials = self.number(phase)?.trials.iter();
        let (_, value) = trials.find(|(number, _)| *number == order)?;
        value.filter(|value| value.is_finite() && *value >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::measured;
    use super::*;
    use crate::Measured;
    use crate::boot::journal::entry;
    use crate::boot::journal::timeline::{Boot, boots};
    use crate::tell::{Bare, Failed};

    const CUT_OFF: &[u8] = include_bytes!("../../tests/fixtures/boots/cut-off.json");
    const CLOCK_JUMP: &[u8] = include_bytes!("../../tests/fixtures/boots/clock-jump.json");

    /// Facts of the boots in a journal, finished and unfinished.
    fn told(journal: &[u8], wanted: impl Fn(&Boot) -> bool) -> BootFacts {
        let read = boots(&entry::read(journal).entries, None);
        let ends: Vec<Result<Measured, String>> =
            read.into_iter().filter(wanted).map(measured).collect();
        let trials: Vec<Option<&Measured>> =
            ends.iter().filter_map(|end| end.as_ref().ok()).map(Some).collect();
        let failed = ends.iter().filter_map(|end| end.as_ref().err());
        let failed: Vec<Failed<'_>> =
            failed.map(|reason| Failed { started: "2026-11-23", reason }).collect();
        let subject = subject("6.1");
        let seen = RowView { failed: &failed, ..RowView::bare(&subject, &trials) };
        let facts = BootPlan { until: None }.facts(&seen).unwrap();
        BootFacts::of(&facts).unwrap().clone()
    }

    fn subject(kernel: &str) -> Subject {
        let arm = [("kernel".to_owned(), kernel.to_owned())].into();
        Subject { workload: "boot".to_owned(), arm }
    }

    fn group(kernel: &str, unfinished: usize) -> BootFacts {
        let Subject { workload, arm } = subject(kernel);
        let cut_off = UnfinishedBoot { started: "t".to_owned(), reason: "cut off".to_owned() };
        let unfinished = vec![cut_off; unfinished];
        BootFacts {
            workload,
            configuration: arm,
            n: 2,
            units: Vec::new(),
            unfinished,
            notes: Vec::new(),
        }
    }

    struct Known(Vec<(&'static str, Vec<RowNumber<'static>>)>);

    impl RowSource for Known {
        fn name(&self, of: &Subject) -> String {
            of.arm["kernel"].clone()
        }

        fn numbers(&self, of: &Subject) -> Vec<RowNumber<'_>> {
            let own = self.0.iter().filter(|(kernel, _)| *kernel == of.arm["kernel"]);
            own.flat_map(|(_, numbers)| numbers.clone()).collect()
        }
    }

    fn number(metric: Metric, mean: f64, trials: &[(u32, Option<f64>)]) -> RowNumber<'static> {
        let n = trials.iter().filter(|(_, value)| value.is_some()).count();
        let (mean, ci95) = ((n > 0).then_some(mean), (n > 2).then_some([mean / 2.0, mean * 2.0]));
        RowNumber { metric: metric.name, n, mean, ci95, trials: trials.to_vec() }
    }

    #[test]
    fn a_group_tells_its_slowest_units_and_what_did_not_finish() {
        let facts = told(CUT_OFF, |_| true);
        assert_eq!((facts.n, facts.unfinished.len(), facts.units.len()), (2, 1, MOST_UNITS));
        assert!(facts.unfinished[0].reason.contains("was interrupted"), "{:?}", facts.unfinished);
        assert!(facts.units.is_sorted_by(|one, next| one.mean_s >= next.mean_s));
        let first = &facts.units[0];
        assert_eq!((&*first.name, first.n), ("e2scrub_reap.service", 2));
        assert!(first.longest_s > first.mean_s && first.longest_s < 10.0, "{first:?}");
        assert!(facts.notes.is_empty());
        let notes = told(CLOCK_JUMP, |_| true).notes;
        assert!(notes[0].starts_with("the wall clock was set forward"), "{notes:?}");
    }

    #[test]
    fn a_group_of_which_no_boot_finished_says_so() {
        let none = told(CUT_OFF, |boot| measured(boot.clone()).is_err());
        assert_eq!((none.n, none.unfinished.len(), none.units.len()), (0, 1, 0));
        let Exhibit { sentences, tables, lists, figures, .. } = BootFacts::exhibit(&[&none], &Bare);
        assert_eq!(sentences[0].text, "boot: no boot finished; 1 more did not finish.");
        assert_eq!(sentences[0].about, none.subject());
        assert_eq!((tables.len(), tables[0].title.as_str()), (1, "phases"));
        assert_eq!(lists[0].title, "unfinished boots, excluded from the means");
        assert!(figures.is_empty(), "of its boots no place in time is known");
    }

    #[test]
    fn a_sentence_tells_the_whole_where_it_is_known_and_else_userspace() {
        let trials = [(0, Some(8.0)), (1, None), (2, Some(8.0)), (3, Some(8.0))];
        let whole = vec![number(USERSPACE, 4.0, &trials), number(WHOLE, 8.0, &trials)];
        let rows = Known(vec![
            ("host", whole),
            ("container", vec![number(USERSPACE, 2.0, &trials[..1])]),
            ("none", vec![number(WHOLE, 1.0, &trials[1..2])]),
        ]);
        let groups = [group("host", 1), group("container", 0), group("none", 2)];
        let groups: Vec<&BootFacts> = groups.iter().collect();
        let Exhibit { sentences, .. } = BootFacts::exhibit(&groups, &rows);
        let texts: Vec<&str> = sentences.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "host: 8 s from kernel start (3 boots, 95% CI 4 s to 16 s); 1 more did not finish.",
                "container: 2 s in userspace (1 boot).",
                "none: no boot finished; 2 more did not finish.",
            ]
        );
        let many: Vec<&BootFacts> = groups.iter().copied().cycle().take(9).collect();
        assert_eq!(BootFacts::exhibit(&many, &rows).sentences.len(), MOST_SENTENCES);
    }

    fn phases_of(groups: &[&BootFacts], rows: &Known) -> (Vec<String>, Vec<String>, usize) {
        let Exhibit { tables, .. } = BootFacts::exhibit(groups, rows);
        let table = &tables[0];
        let titles = table.columns.iter().map(|column| column.title.clone()).collect();
        let texts = table.rows.iter().flat_map(|row| table.texts(row)).collect();
        (titles, texts, table.notes.len())
    }

    #[test]
    fn phases_that_no_group_tells_have_no_column_and_a_container_says_what_it_has() {
        let trials = [(0, Some(8.0)), (1, Some(8.0)), (2, Some(8.0))];
        let rows = Known(vec![
            ("host", vec![number(WHOLE, 8.0, &trials), number(USERSPACE, 4.0, &trials[..1])]),
            ("container", vec![number(USERSPACE, 2.0, &trials[..2])]),
        ]);
        let (host, container) = (group("host", 0), group("container", 0));
        let (titles, cells, remarks) = phases_of(&[&host, &container], &rows);
        assert_eq!(titles, ["boots", "n", "userspace", "total from kernel start"]);
        let [first, second] =
            [["host", "2", "4 s", "8 s (4 s to 16 s)"], ["container", "2", "2 s", "-"]];
        assert_eq!(cells, [first, second].concat());
        assert_eq!(remarks, 1);
        let (titles, _, remarks) = phases_of(&[&container], &rows);
        assert_eq!((titles.len(), remarks), (3, 2));
    }

    #[test]
    fn boots_are_drawn_in_the_order_of_time_the_newest_of_them() {
        let kernel = PHASES[2];
        let of = |orders: [u32; 2]| {
            vec![
                number(WHOLE, 9.0, &[(orders[0], Some(9.0)), (orders[1], None)]),
                number(kernel, 3.0, &[(orders[0], Some(3.0)), (orders[1], None)]),
            ]
        };
        let rows = Known(vec![("old", of([0, 3])), ("new", of([2, 1]))]);
        let (old, new) = (group("old", 1), group("new", 1));
        let drawn = |groups: &[&BootFacts], rows: &Known| {
            let [figure] = &BootFacts::exhibit(groups, rows).figures[..] else { panic!("one") };
            figure.clone()
        };
        let names = |figure: &Figure| -> Vec<String> {
            let AxisScale::Category(slots) = &figure.along.scale else { panic!("{figure:?}") };
            slots.iter().map(|slot| slot.name.clone()).collect()
        };
        let figure = drawn(&[&old, &new], &rows);
        assert_eq!((figure.id.as_str(), figure.notes.len()), ("boots-boot", 0));
        assert_eq!(
            names(&figure),
            ["1: old", "2: new, did not finish", "3: new", "4: old, did not finish"]
        );
        let [series] = &figure.series[..] else { panic!("{:?}", figure.series) };
        let texts: Vec<&str> = series.points.iter().map(|point| point.text.as_str()).collect();
        assert_eq!(
            (series.name.as_str(), &*texts),
            ("kernel", &["1: old, kernel: 3 s", "3: new, kernel: 3 s"][..])
        );
        let many: Vec<(u32, Option<f64>)> = (0..45).map(|order| (order, Some(1.0))).collect();
        let figure = drawn(&[&old], &Known(vec![("old", vec![number(kernel, 1.0, &many)])]));
        assert_eq!((names(&figure).len(), &*names(&figure)[0]), (MOST_DRAWN, "boot 6"));
        assert_eq!(figure.notes, ["5 older boots are omitted."]);
    }
}
