//! A table of places as articles print it: a row a place, a column a metric. `compare --by place`
//! tells it in per cent.

use std::collections::BTreeMap;

use assay_base::catalogue::About;
use assay_base::failure::{Failure, Outcome};
use assay_base::lines::{self, OpenQuote, Splitter};
use assay_base::quantity::Better;
use assay_kinds::work::metrics;
use assay_study::findings::CellTrial;
use assay_study::findings::measurements::{Measurements, Series};
use assay_study::findings::places::{PLACE, PUBLISHED_PERCENT};
use assay_study::results::design::{Design, Factor, Stopping};
use assay_study::results::plan::Arm;
use assay_study::results::record::Status;
use assay_study::study::{DEFAULT_MARGIN, Order};

use super::mistakes::{Cell, Mistakes};
use super::words::quoted;
use super::{Imported, Importer, Options, Reads};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "places-csv",
        summary: "CSV with a row for each place, as articles print it",
        text: "Columns place and seconds, or instead of seconds a metric such as iops or \
               latency:lower; optionally workload, replicate, and published_percent: per cent as \
               somebody printed them, which compare --by place holds against the numbers. A place \
               with several rows has several trials. Other columns are passed over, and named. \
               Lines that begin with # are comments.",
    },
    recognises: |head| fits(lines::lines(head).next().map_or("", |(_, line)| line)),
    reads: Reads::Table(read),
};

/// What places are compared with where the table has it and nothing else was said.
const BARE_METAL: &str = "bare metal";
/// The workload of a table that does not name it.
const WORKLOAD: &str = "work";
/// The column of seconds, and the metric that it holds.
const SECONDS: [&str; 2] = ["seconds", "duration_s"];

/// Whether a header is that of such a table: places, and no trials.
fn fits(header: &str) -> bool {
    let mut splitter = Splitter::new();
    if splitter.split(header).is_err() {
        return false;
    }
    let names: Vec<&str> = (0..splitter.count()).map(|index| splitter.field(index)).collect();
    names.contains(&PLACE) && !names.contains(&"metric") && !names.contains(&"value")
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Holds {
    Place,
    Workload,
    Replicate,
    Metric { name: String, better: Better, primary: bool },
    Nothing,
}

/// Reads a file; `name` is what messages call it.
fn read(name: &str, text: &str, options: &Options) -> Outcome<Imported> {
    let mut mistakes = Mistakes::of(name);
    let mut splitter = Splitter::new();
    let mut lines = lines::lines(text);
    let Some((number, header)) = lines.next() else {
        return Err(Failure::mistake(format!("{name}:1:1: the file has no header")));
    };
    let columns = header_of(number, header, options, &mut splitter, &mut mistakes);
    mistakes.outcome()?;
    let mut mistakes = Mistakes::of(name);
    let mut table = Table::default();
    for (number, line) in lines {
        table.add(number, line, &columns, &mut splitter, &mut mistakes);
    }
    if table.places.is_empty() {
        mistakes.on(number, "there is no row below the header; add one for each place");
    }
    let baseline = table.baseline(options, number, &mut mistakes);
    mistakes.outcome()?;
    Ok(table.imported(baseline.as_deref(), &columns, options))
}

/// The columns; what is wrong with them is told.
fn header_of(
    line: usize,
    text: &str,
    options: &Options,
    splitter: &mut Splitter,
    mistakes: &mut Mistakes<'_>,
) -> Vec<(String, Holds)> {
    if let Err(OpenQuote(column)) = splitter.split(text) {
        mistakes.at(&Cell { line, column, name: "", text }, "a quotation mark is left open");
        return Vec::new();
    }
    let names: Vec<String> =
        (0..splitter.count()).map(|index| splitter.field(index).to_owned()).collect();
    let mut columns: Vec<(String, Holds)> = Vec::new();
    for name in names {
        let cell = Cell { line, column: columns.len() + 1, name: &name, text: &name };
        if columns.iter().any(|(known, _)| *known == name) {
            mistakes.at(&cell, "a column before has this name, too; remove or rename one");
        }
        let primary = !columns.iter().any(|(_, holds)| holds.is_primary());
        columns.push((name.clone(), holds(&name, primary)));
    }
    let mut primary = None;
    for (at, (_, holds)) in columns.iter().enumerate() {
        if matches!(holds, Holds::Metric { name, .. } if options.primary.as_ref() == Some(name)) {
            primary = Some(at);
        }
    }
    for (at, (_, holds)) in columns.iter_mut().enumerate() {
        if let (Holds::Metric { primary: own, .. }, Some(wanted)) = (holds, primary) {
            *own = at == wanted;
        }
    }
    if !columns.iter().any(|(_, holds)| holds.is_primary()) {
        mistakes.on(
            line,
            "no column holds numbers; add `seconds`, or a metric such as `iops` or `latency:lower`",
        );
    }
    if let Some(wanted) = options.primary.as_ref().filter(|_| primary.is_none()) {
        mistakes.on(line, &format!("--primary {wanted}: no column has this metric"));
    }
    columns
}

impl Holds {
    fn is_primary(&self) -> bool {
        matches!(self, Self::Metric { primary: true, .. })
    }
}

/// What a column with this name holds.
fn holds(column: &str, primary: bool) -> Holds {
    let metric = |name: &str, better| Holds::Metric { name: name.to_owned(), better, primary };
    match column {
        PLACE => Holds::Place,
        "workload" => Holds::Workload,
        "replicate" => Holds::Replicate,
        PUBLISHED_PERCENT => Holds::Metric {
            name: PUBLISHED_PERCENT.to_owned(),
            better: Better::Higher,
            primary: false,
        },
        _ if column == SECONDS[0] => metric(SECONDS[1], Better::Lower),
        _ => match (column.rsplit_once(':'), metrics::find(column)) {
            (Some((name, "lower")), _) if !name.is_empty() => metric(name, Better::Lower),
            (Some((name, "higher")), _) if !name.is_empty() => metric(name, Better::Higher),
            (_, Some(known)) => metric(column, known.better),
            _ => Holds::Nothing,
        },
    }
}

/// A trial of a place: the workload, the place, the replicate and its numbers by column.
struct Row {
    workload: usize,
    place: usize,
    replicate: u32,
    values: Vec<(usize, Option<f64>)>,
}

/// The rows of a table.
#[derive(Default)]
struct Table {
    places: Vec<String>,
    workloads: Vec<String>,
    rows: Vec<Row>,
}

fn place_in(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

impl Table {
    /// Reads a row; what is wrong with it is told.
    fn add(
        &mut self,
        line: usize,
        text: &str,
        columns: &[(String, Holds)],
        splitter: &mut Splitter,
        mistakes: &mut Mistakes<'_>,
    ) {
        if let Err(OpenQuote(column)) = splitter.split(text) {
            mistakes.at(&Cell { line, column, name: "", text }, "a quotation mark is left open");
            return;
        }
        if splitter.count() != columns.len() {
            let (found, wanted) = (splitter.count(), columns.len());
            mistakes.on(line, &format!("the line has {found} fields, the header {wanted}"));
            return;
        }
        let (mut place, mut workload, mut replicate) = ("", WORKLOAD, None);
        let mut values = Vec::new();
        for (at, (name, holds)) in columns.iter().enumerate() {
            let field = splitter.field(at);
            let cell = Cell { line, column: at + 1, name, text: field };
            match holds {
                Holds::Place => place = field,
                Holds::Workload => workload = field,
                Holds::Replicate => replicate = count(&cell, mistakes),
                Holds::Metric { .. } if field.is_empty() => values.push((at, None)),
                Holds::Metric { .. } => {
                    values.extend(number(&cell, mistakes).map(|value| (at, Some(value))));
                }
                Holds::Nothing => {}
            }
        }
        for (name, word) in [(PLACE, place), ("workload", workload)] {
            if word.is_empty() {
                mistakes.on(line, &format!("the {name} has no name; write one"));
                return;
            }
        }
        let (workload, place) =
            (place_in(&mut self.workloads, workload), place_in(&mut self.places, place));
        let own = self.rows.iter().filter(|row| row.workload == workload && row.place == place);
        let last = own.clone().map(|row| row.replicate).max().unwrap_or_default();
        let replicate = replicate.unwrap_or(last + 1);
        if own.into_iter().any(|row| row.replicate == replicate) {
            let text = format!("replicate {replicate} of this place stands in a line above, too");
            mistakes.on(line, &text);
            return;
        }
        self.rows.push(Row { workload, place, replicate, values });
    }

    /// The place that the others are compared with.
    fn baseline(
        &self,
        options: &Options,
        line: usize,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<String> {
        let has = |wanted: &str| self.places.iter().find(|place| *place == wanted).cloned();
        if let Some((name, level)) = options.baseline.iter().next() {
            let found = has(level).filter(|_| name == PLACE && options.baseline.len() == 1);
            if found.is_none() {
                let text = format!(
                    "--baseline {name}={level}: the table has no such place; say place=NAME"
                );
                mistakes.on(line, &text);
            }
            return found;
        }
        has(BARE_METAL).or_else(|| self.places.first().cloned())
    }

    fn imported(
        self,
        baseline: Option<&str>,
        columns: &[(String, Holds)],
        options: &Options,
    ) -> Imported {
        let notes = notes(&self, baseline, columns, options);
        let trials = self.rows.len();
        let arm = |place: &str| Arm::from([(PLACE.to_owned(), place.to_owned())]);
        let design = Design {
            factors: vec![Factor { name: PLACE.to_owned(), levels: self.places.clone() }],
            baseline: baseline.map(arm).unwrap_or_default(),
            margin: options.margin.or(Some(DEFAULT_MARGIN.fraction())),
            primary: options.primary.clone(),
            order: Order::Unknown,
            stopping: Stopping::Fixed,
            repeats: 0,
            ..Design::default()
        };
        let mut found: BTreeMap<(usize, usize, usize), Vec<CellTrial>> = BTreeMap::new();
        for row in &self.rows {
            for (column, value) in &row.values {
                let key = (row.workload, row.place, *column);
                found.entry(key).or_default().push(trial(row.replicate, *value));
            }
        }
        let series = found.into_iter().filter_map(|((workload, place, column), trials)| {
            let Holds::Metric { name, better, primary } = &columns[column].1 else { return None };
            Some(Series {
                primary: *primary,
                trials,
                ..Series::bare(&self.workloads[workload], arm(&self.places[place]), name, *better)
            })
        });
        let series = series.collect();
        Imported {
            measurements: Measurements { design, series, unfinished: false, live: Vec::new() },
            notes,
            trials,
        }
    }
}

fn trial(replicate: u32, value: Option<f64>) -> CellTrial {
    if value.is_some() {
        return CellTrial::bare(replicate, None, value, Status::Ok);
    }
    let reason = Some("the table has no number".to_owned());
    CellTrial { reason, ..CellTrial::bare(replicate, None, None, Status::Failed) }
}

/// What was taken for granted.
fn notes(
    table: &Table,
    baseline: Option<&str>,
    columns: &[(String, Holds)],
    options: &Options,
) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(baseline) = baseline.filter(|_| options.baseline.is_empty()) {
        notes.push(format!("the baseline is {baseline}; --baseline place=NAME names another"));
    }
    if !columns.iter().any(|(_, holds)| *holds == Holds::Workload) {
        notes.push(format!("the table names no workload, so it is called {}", table.workloads[0]));
    }
    let passed = columns.iter().filter(|(_, holds)| *holds == Holds::Nothing);
    let passed: Vec<String> = passed.map(|(name, _)| quoted(name)).collect();
    if !passed.is_empty() {
        notes.push(format!("columns that hold no metric are passed over: {}", passed.join(", ")));
    }
    notes.push("assay compare --by place tells it in per cent of the baseline".to_owned());
    notes
}

/// Numbers above this are a mistake, and their ratios would not be finite.
const LARGEST: f64 = 1e15;

/// A number above zero.
fn number(cell: &Cell<'_>, mistakes: &mut Mistakes<'_>) -> Option<f64> {
    let plain = cell.text.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    let value = cell.text.parse::<f64>().ok().filter(|_| plain);
    let value = value.filter(|value| *value > 0.0 && *value <= LARGEST);
    if value.is_none() {
        let text = format!(
            "`{}` is no plain number above zero; write it like 1042.523, without unit and without \
             commas between digits",
            quoted(cell.text)
        );
        mistakes.at(cell, &text);
    }
    value
}

/// A replicate, from 1.
fn count(cell: &Cell<'_>, mistakes: &mut Mistakes<'_>) -> Option<u32> {
    let value = cell.text.parse::<u32>().ok().filter(|value| *value > 0);
    if value.is_none() {
        mistakes.at(cell, &format!("`{}` is no whole number from 1 on", quoted(cell.text)));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# somewhere\nplace,seconds,published_percent,flag\nguest,20,50,\n\
                         bare metal,10,100,x\nguest,22,,\n";

    fn imported(text: &str) -> Imported {
        read("t.csv", text, &Options::default()).unwrap()
    }

    #[test]
    fn rows_become_trials_of_their_places_in_the_order_of_the_table() {
        let found = imported(TABLE);
        let design = &found.measurements.design;
        assert_eq!(design.factors[0].levels, ["guest", "bare metal"]);
        assert_eq!(design.baseline[PLACE], "bare metal");
        assert_eq!(found.trials, 3);
        let seconds: Vec<_> = found.measurements.series.iter().filter(|one| one.primary).collect();
        let values = |at: usize| -> Vec<Option<f64>> {
            seconds[at].trials.iter().map(|trial| trial.value).collect()
        };
        assert_eq!((values(0), values(1)), (vec![Some(20.0), Some(22.0)], vec![Some(10.0)]));
        assert_eq!((seconds[0].metric.as_str(), seconds[0].better), ("duration_s", Better::Lower));
        assert_eq!(
            found.notes,
            [
                "the baseline is bare metal; --baseline place=NAME names another",
                "the table names no workload, so it is called work",
                "columns that hold no metric are passed over: flag",
                "assay compare --by place tells it in per cent of the baseline",
            ]
        );
    }

    #[test]
    fn other_metrics_say_which_way_is_better() {
        let found = imported("place,workload,iops,lag:lower\na,w,5,2\nb,w,6,\n");
        let told: Vec<_> = found
            .measurements
            .series
            .iter()
            .map(|one| (one.metric.as_str(), one.better, one.primary, one.trials[0].status))
            .collect();
        assert_eq!(
            told,
            [
                ("iops", Better::Higher, true, Status::Ok),
                ("lag", Better::Lower, false, Status::Ok),
                ("iops", Better::Higher, true, Status::Ok),
                ("lag", Better::Lower, false, Status::Failed),
            ]
        );
    }

    #[test]
    fn mistakes_are_told_with_their_places() {
        let told = |text: &str| read("t.csv", text, &Options::default()).unwrap_err().message;
        assert!(told("place,flag\na,b\n").starts_with("t.csv:1:1: no column holds numbers"));
        assert!(told("place,seconds\na,1\nb,1,2\n").starts_with("t.csv:3:1: the line has 3"));
        assert!(told("place,seconds\na,\"1,042.5\"\n").contains("t.csv:2:2 (seconds): `1,042.5`"));
        assert!(told("place,seconds\na,0\n").contains("above zero"));
        assert!(told("place,seconds\na,-1\nb,nan\n").contains("t.csv:3:2"));
        assert!(told("place,seconds\n,1\n").contains("the place has no name"));
        assert!(told("place,seconds\n").contains("there is no row"));
        assert!(told("place,seconds,seconds\na,1,1\n").contains("has this name, too"));
        assert!(told("place,replicate,seconds\na,1,1\na,1,2\n").contains("replicate 1 of this"));
        let baseline = Arm::from([(PLACE.to_owned(), "c".to_owned())]);
        let options = Options { baseline, ..Options::default() };
        let failed = read("t.csv", "place,seconds\na,1\n", &options).unwrap_err();
        assert!(failed.message.contains("--baseline place=c: the table has no such place"));
    }

    #[test]
    fn a_table_of_trials_is_another_format() {
        assert!(fits("place,seconds") && fits("workload,place,iops"));
        assert!(!fits("replicate,workload,metric,value,factor:place"));
        assert!(!fits("replicate,place,workload,metric,value") && !fits("a,\"b"));
    }
}
