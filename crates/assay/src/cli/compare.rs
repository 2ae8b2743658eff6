//! `assay compare`: compares results of different days or machines.

use std::collections::BTreeSet;

use clap::Args;

use super::by_place::ByPlace;
use super::gate::{self as gates, Gating, Junit};
use super::study_arguments::StudyArguments;
use super::{output, running};
use crate::store;
use assay_analysis::inference::days::Days;
use assay_analysis::inference::gate::{self, GateRequest, Gated};
use assay_analysis::inference::names;
use assay_core::failure::Outcome;
use assay_core::quantity::Percent;
use assay_machine::system::System;
use assay_report::document::Detail;
use assay_study::file::{StopRule, Study};
use assay_study::findings::gate::GateAnswer;
use assay_study::findings::{Check, Findings};
use assay_workloads::metrics;

/// Compare results from different days or machines
///
/// The first result is the baseline.
///
/// Assay shows differences in the environment first. If both results have the same baseline, Assay compares ratios to
/// the baseline; otherwise it compares plain numbers, and a change of the machine, kernel or ambient conditions looks
/// like a difference. One result per side gets no verdict, only the detectable difference; --gate then decides by the
/// CI with an assumed day-to-day variation. Three or more results per side allow a verdict.
///
/// --by platform prints one table of many machines: each workload per platform, as a percentage of the baseline
/// platform. Platforms with fewer than three results, and emulated platforms, get numbers but no verdict. Assay
/// computes no mean over workloads, because no single number describes a platform.
#[derive(Debug, Default, Args)]
#[command(after_help = "\
Examples:
  assay compare OLD NEW                      compare two results
  assay compare OLD NEW --gate 5%            exit 1 on a regression
  assay compare OLD NEW --gate 10% --metric p99           the same for p99
  assay compare N1 N2 N3 --against O1 O2 O3 --margin 5%   one number per result
  assay compare --by platform BARE GUEST CONTAINER        percent of bare metal
  assay compare --by platform A B --platform B=KVM --published article-000")]
pub struct CompareArguments {
    #[arg(value_name = "ID", help = format!("{}; first: baseline", super::ID_OR_BUNDLE), num_args = 1.., required = true)]
    results: Vec<String>,
    /// Use these results as the baseline side
    ///
    /// With three or more results per side, Assay uses one number per result.
    #[arg(long, value_name = "BASE", num_args = 1..)]
    against: Vec<String>,
    #[command(flatten)]
    gating: Gating,
    #[command(flatten)]
    junit: Junit,
    #[command(flatten)]
    places: ByPlace,
    /// Set the equivalence margin
    ///
    /// For three or more results per side. The default is the margin of the gate or the studies.
    #[arg(long, value_name = "SHARE")]
    margin: Option<String>,
    /// Assume this day-to-day standard deviation [default: 3%]
    ///
    /// With five or more earlier results of this study, the default comes from these results.
    #[arg(long, value_name = "SHARE")]
    between_day_sd: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Gating {
    /// Returns the gate if one is requested, with the given day-to-day variation.
    fn gate(&self, days: Days) -> Outcome<Option<GateRequest>> {
        let Some(allowed) = read_share("--gate", self.gate.as_deref())? else { return Ok(None) };
        let metric = self.metric.as_deref().map(metrics::full);
        let gate = GateRequest { days, metric, ..GateRequest::new(allowed) };
        let must_detect = read_share("--must-detect", self.must_detect.as_deref())?;
        Ok(Some(GateRequest { must_detect: must_detect.unwrap_or(gate.must_detect), ..gate }))
    }

    fn check_metric<'a>(&self, results: impl Iterator<Item = &'a Findings>) -> Outcome<()> {
        let Some(name) = self.metric.as_deref().map(metrics::full) else { return Ok(()) };
        let cells = results.flat_map(|it| &it.measurements);
        let known: BTreeSet<&str> = cells.map(|cell| &*cell.metric).collect();
        if known.contains(&*name) {
            return Ok(());
        }
        let instead = metrics::instead(&name, &Vec::from_iter(known));
        Err(mistake!("--metric {name}: not in these results; {instead}"))
    }
}

/// Comparison of a new result with an earlier one, and its report to CI systems.
#[derive(Clone, Debug, Default, Args)]
pub struct Against {
    /// Also compare with an earlier result
    #[arg(id = "against", long = "against", value_name = "ID")]
    earlier: Option<String>,
    /// Gate of the command line: it applies to this comparison, not to the study.
    #[arg(skip)]
    gating: Gating,
    #[command(flatten)]
    junit: Junit,
}

impl Against {
    /// Takes the gate of the command line if an earlier result is given; fails before any trial if that result does not
    /// exist.
    pub fn take_gate(&mut self, system: &dyn System, line: &mut StudyArguments) -> Outcome<()> {
        let Some(word) = &self.earlier else { return Ok(()) };
        self.gating = line.gate.move_to_comparison(&mut line.set)?;
        self.gating.gate(Days::default())?;
        store::find(system, Some(word)).map(drop)
    }

    /// Fails before any trial if JUnit output is requested without a gate.
    pub fn check_junit(&self, system: &dyn System, study: &Study) -> Outcome<()> {
        self.junit.check(system, self.gating.gate.is_some() || study.gate.is_some())
    }

    pub fn check_race(&self, study: &Study) -> Outcome<()> {
        if self.earlier.is_some() && study.stop.rule == StopRule::Best {
            return Err(mistake!(
                "--against: cannot compare a race; remove --against, and compare the fresh trials of the winner"
            ));
        }
        Ok(())
    }

    /// Returns the exit code that replaces 5, if given.
    pub fn inconclusive_code(&self) -> Option<u8> {
        self.gating.exit_inconclusive
    }

    /// Prints the findings and their comparison with the earlier result; `--json` prints only the comparison.
    pub fn print(
        self,
        system: &dyn System,
        findings: &Findings,
        is_stored: bool,
        how: running::Printing,
    ) -> Outcome<()> {
        let compares = self.earlier.is_some() && is_stored;
        if !(compares && how.json) {
            running::print_result(system, findings, is_stored, how);
        }
        let mut problems = Vec::new();
        // A gate of the command line belongs to the comparison, which reports it.
        if self.gating.gate.is_none() {
            problems.extend(self.junit.write(system, findings).err());
        }
        if compares {
            problems.extend(self.compare(system, findings.study.id.clone(), how.json).err());
        }
        running::report_problems(problems)
    }

    fn compare(self, system: &dyn System, id: String, json: bool) -> Outcome<()> {
        let Self { earlier, gating, junit } = self;
        let junit = if gating.gate.is_some() { junit } else { Junit::default() };
        let (results, against) = (vec![id], earlier.into_iter().collect());
        let rest = CompareArguments::default();
        run(system, &CompareArguments { results, against, gating, junit, json, ..rest })
    }
}

pub fn run(system: &dyn System, arguments: &CompareArguments) -> Outcome<()> {
    arguments.junit.check(system, arguments.gating.gate.is_some())?;
    let given =
        read_share("--between-day-sd", arguments.between_day_sd.as_deref())?.map(Days::asked);
    if arguments.places.is_asked() {
        return by_place(system, arguments, given);
    }
    // Refuses an invalid gate before reading any result.
    arguments.gating.gate(Days::default())?;
    let (mut earlier, mut later) = sides(system, arguments)?;
    arguments.gating.check_metric(earlier.iter().chain(&later))?;
    if let Some(name) = arguments.gating.metric.as_deref().map(metrics::full) {
        earlier.iter_mut().chain(&mut later).for_each(|it| show_metric(it, &name));
    }
    let is_earlier = |it: &&Findings| earlier.iter().any(|other| other.study.id == it.study.id);
    if let Some(twice) = later.iter().find(is_earlier) {
        return Err(mistake!("{} is given twice; give two different results", twice.study.id));
    }
    // Only a gate judges the later results of a side.
    earlier.iter().chain(&later).try_for_each(store::check_comparable)?;
    let days = match given {
        Some(days) => days,
        None => store::days::variation(system, &[&earlier[..], &later[..]].concat()),
    };
    let asked = arguments.gating.gate(days)?;
    let mut found = compare_sides(&earlier, &later, arguments, asked.as_ref(), days)?;
    if let Some(asked) = asked {
        add_gate(&mut found, asked, &earlier, &later, arguments);
    }
    show(system, &found, arguments.json);
    let ended = found.answers.gate.as_ref().map_or(Ok(()), gates::ended);
    let ended = ended.map_err(|failure| failure.blind_by(arguments.gating.exit_inconclusive));
    let written = arguments.junit.write(system, &found);
    running::report_problems([written, ended].into_iter().filter_map(Result::err).collect())
}

/// Adds the gate's answer and its lines, as checks, to the findings.
fn add_gate(
    found: &mut Findings,
    asked: GateRequest,
    earlier: &[Findings],
    later: &[Findings],
    arguments: &CompareArguments,
) {
    let rows = rows(earlier, later, !arguments.against.is_empty(), &asked);
    let allow_inconclusive = arguments.gating.allow_inconclusive;
    let answer = GateAnswer::new(asked.max_regression, asked.must_detect, allow_inconclusive, rows)
        .of_study(asked.metric, None, None);
    // The name of the check is already `gate`.
    let mut lines = vec![answer.head().replacen("gate ", "", 1)];
    let (before, after, first) = (earlier.len(), later.len(), &earlier[0].study.id);
    if before > 1 && !gate::are_sessions([before, after]) {
        lines.push(format!(
            "pools {before} earlier and {after} later results; the table compares only with {first}"
        ));
    }
    lines.extend(answer.lines());
    found.checks.extend(lines.into_iter().map(|line| Check::new("gate", line)));
    found.answers.gate = Some(answer);
}

fn by_place(system: &dyn System, arguments: &CompareArguments, days: Option<Days>) -> Outcome<()> {
    if !arguments.against.is_empty() || arguments.gating.gate.is_some() {
        return Err(mistake!(
            "--by platform does not support --against and --gate; remove both options (--baseline sets the platform \
             that is 100%)"
        ));
    }
    let margin = read_share("--margin", arguments.margin.as_deref())?;
    let found = arguments.places.findings(system, &arguments.results, margin, days)?;
    show(system, &found, arguments.json);
    Ok(())
}

pub(super) fn show(system: &dyn System, found: &Findings, json: bool) {
    if json {
        output::document(&assay_report::json(found));
    } else {
        output::result(system, found, Detail::Usual);
    }
}

/// Makes a metric the primary one of each workload that has it.
fn show_metric(found: &mut Findings, name: &str) {
    let measured = found.measurements.iter().filter(|cell| cell.metric == name && cell.n > 0);
    let workloads: BTreeSet<String> = measured.map(|cell| cell.workload.clone()).collect();
    for cell in found.measurements.iter_mut().filter(|cell| workloads.contains(&cell.workload)) {
        cell.primary = cell.metric == name;
    }
}

/// Compares the sides, as sessions if both have enough results.
fn compare_sides(
    earlier: &[Findings],
    later: &[Findings],
    arguments: &CompareArguments,
    asked: Option<&GateRequest>,
    days: Days,
) -> Outcome<Findings> {
    if gate::are_sessions([earlier.len(), later.len()]) && !arguments.against.is_empty() {
        let given = read_share("--margin", arguments.margin.as_deref())?;
        return store::compare_sides(earlier, later, given.or(asked.map(|it| it.max_regression)));
    }
    if earlier.len() > 1 && asked.is_none() {
        return Err(mistake!(
            "--against: several baseline results need three results per side, or a gate; add results, or --gate 5%"
        ));
    }
    if arguments.margin.is_some() {
        return Err(mistake!(
            "--margin needs at least three results per side, because equivalence requires an estimate of day-to-day \
             variation"
        ));
    }
    let baseline = earlier.first().cloned();
    let all: Vec<Findings> = baseline.into_iter().chain(later.iter().cloned()).collect();
    store::compare(&all, days)
}

/// Parses a percentage; `name` is its option.
fn read_share(name: &str, text: Option<&str>) -> Outcome<Option<f64>> {
    let Some(text) = text else { return Ok(None) };
    let percent: Percent = text.parse().map_err(|error| mistake!("{name}: {error}"))?;
    Ok(Some(percent.fraction()))
}

/// Returns the results of both sides: those of `--against`, or the first one, and the others.
fn sides(system: &dyn System, given: &CompareArguments) -> Outcome<(Vec<Findings>, Vec<Findings>)> {
    let read_one = |word: &String| store::findings_at(system, &store::find(system, Some(word))?);
    let read = |words: &[String]| words.iter().map(read_one).collect::<Outcome<Vec<Findings>>>();
    if !given.against.is_empty() {
        return Ok((read(&given.against)?, read(&given.results)?));
    }
    match given.results.as_slice() {
        [_] => Err(mistake!("compare needs two results; add a second ID or --against BASE")),
        [first, later @ ..] => Ok((read(std::slice::from_ref(first))?, read(later)?)),
        [] => Err(mistake!("no results given; add two IDs")),
    }
}

/// Returns the gate's rows, with the later results as one side or one by one.
fn rows(earlier: &[Findings], later: &[Findings], as_one: bool, asked: &GateRequest) -> Vec<Gated> {
    if as_one || later.len() == 1 {
        return gate::gate(earlier, later, asked, 1);
    }
    let results: Vec<&Findings> = earlier.iter().chain(later).collect();
    let names = names(&results).split_off(earlier.len());
    let mut all = Vec::new();
    for (result, name) in later.iter().zip(names) {
        for row in gate::gate(earlier, std::slice::from_ref(result), asked, later.len()) {
            all.push(Gated { name: format!("{} of {name}", row.name), ..row });
        }
    }
    all
}
