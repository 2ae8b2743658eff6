//! The preview of a study, before it runs.

mod traffic;

use std::collections::BTreeSet;

use serde::Serialize;

use super::document::{Block, Document, Section};
use assay_analysis::inference::Foresight;
use assay_core::exhibit::{Column, Table};
use assay_core::failure::Outcome;
use assay_core::json::is_default;
use assay_core::quantity::units::show;
use assay_machine::factors::layers::{SWAP, Stack, Wish, plural, swaps_to_file};
use assay_machine::system::identity::{DataLoss, Stake};
use assay_machine::system::site::{NEW_LOOP_DEVICE, Site, TargetKind};
use assay_study::file::{Order, Study};
use assay_study::findings::gate::{FEWEST_TO_END, allowance};
use assay_study::plan::budget::FILL_SHARE;
use assay_study::plan::design::Demands;
use assay_study::plan::race::{FIRST_LOOK, usual_replicates};
use assay_study::results::design::Stopping;
use assay_study::results::fleet::words;
use assay_study::results::plan::{
    AbsentWorkload, Plan, PlannedTrial, PlannedWorkload, Survey, arm_words,
};
use assay_workloads::io;
use assay_workloads::metrics::noun;

use traffic::moved;
pub use traffic::{PlannedTraffic, RateSource, traffic};

pub const FORMAT: &str = "assay-preview/1";

/// Name of a file system among created things.
const FILE_SYSTEM: &str = "file system";

const MOST_RUNS: usize = 3;

const MOST_LISTED: usize = 32;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the document")]
pub struct Preview {
    pub format: String,
    pub title: String,
    pub seed: u64,
    pub replicates: u32,
    /// Passes of the screen before a race; its trials precede the first replicate and count as replicates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screen: Option<u32>,
    /// Arms, including the A/A control.
    pub configurations: usize,
    pub trial_count: usize,
    /// Whether the pilot chooses how many replicates, and how long their trials are.
    #[serde(skip_serializing_if = "is_default")]
    pub by_pilot: bool,
    /// Seconds of all trials; an upper limit if operations are counted.
    pub trials_s: f64,
    /// Whether trials end when their operations are done, and so sooner.
    #[serde(skip_serializing_if = "is_default")]
    pub may_end_early: bool,
    /// Bytes written before trials to fill areas.
    pub area_bytes: u64,
    /// Number of file systems created during the trials.
    pub filesystem_creations: usize,
    /// Everything created during the trials, the lowest layer first, with counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub creations: Vec<PreviewMade>,
    /// Seconds of trials that write at full speed.
    pub writing_s: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<String>,
    /// Engines of workloads that are compared at several depths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub engines: Vec<String>,
    #[serde(skip)]
    pub creates_files: bool,
    /// Whether all of it is done in virtual machines, whose drives lie in memory.
    #[serde(skip_serializing_if = "is_default")]
    pub in_vm: bool,
    /// Whether runs of them are counted, however long they take.
    #[serde(skip_serializing_if = "is_default")]
    pub open_ended: bool,
    /// Changes and how Assay reverts them; with several hosts, the changes common to all.
    pub changes: Vec<String>,
    /// The work of each of several hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<PreviewHost>,
    /// Data loss per device that is overwritten, or would be with --destroy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_at_risk: Vec<PreviewStake>,
    /// Requested items that are unavailable, and the consequences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<String>,
    pub absent: Vec<String>,
    /// The same; configurations of one workload with one reason share a line.
    #[serde(skip)]
    pub absent_by_reason: Vec<String>,
    pub power_analysis: Vec<Foresight>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// Course of the race, if it is one, with the maximum number of trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub race: Option<String>,
    /// Expected course of the race, if it is one, with fewer trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    pub trials: Vec<PreviewTrial>,
    #[serde(skip)]
    pub targets: Vec<String>,
    #[serde(skip)]
    pub needs_root: bool,
    /// Maximum seconds to fill the areas.
    #[serde(skip)]
    pub fill_s: f64,
    #[serde(skip)]
    pub traffic: [PlannedTraffic; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Expected {
    pub trials: usize,
    pub seconds: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PreviewHost {
    pub rank: u32,
    pub name: String,
    pub actions: Vec<String>,
}

impl PreviewHost {
    pub fn new(rank: u32, name: &str, surveys: &[Survey]) -> Self {
        let does = surveys.iter().filter_map(|own| change(&own.target, own.kind?, own));
        Self { rank, name: name.to_owned(), actions: does.collect() }
    }

    fn line(&self) -> String {
        let does = match self.actions.as_slice() {
            [] => "only files that Assay creates".to_owned(),
            does => does.join("; "),
        };
        format!("{}: {does}", words(self.rank, &self.name))
    }
}

impl Preview {
    /// Adds the work of each host, and removes it from the changes common to all hosts.
    #[must_use]
    pub fn with_hosts(mut self, hosts: Vec<PreviewHost>) -> Self {
        self.changes.retain(|text| !hosts.iter().any(|host| host.actions.contains(text)));
        Self { hosts, ..self }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PreviewTrial {
    pub order: u32,
    pub replicate: u32,
    /// Run first, and left out of the analysis.
    #[serde(skip_serializing_if = "is_default")]
    pub warmup: bool,
    pub workload: String,
    pub configuration: assay_study::results::plan::Arm,
    pub control: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PreviewMade {
    /// Name in the singular: `file system`.
    pub what: &'static str,
    pub times: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PreviewStake {
    pub target: String,
    /// Whether the study will overwrite it: --destroy had the correct text.
    pub overwritten: bool,
    pub lost: Vec<String>,
    /// Required value of --destroy; `None` if the device cannot be overwritten.
    pub destroy: Option<String>,
    pub refused: Option<String>,
}

impl PreviewStake {
    pub fn new(target: &str, stake: Outcome<Stake>) -> Self {
        let (target, overwritten) = (target.to_owned(), false);
        match stake {
            Ok(stake) => {
                let lost = stake.losses.iter().map(DataLoss::words).collect();
                let destroy = Some(stake.text());
                Self { target, overwritten, lost, destroy, refused: None }
            }
            Err(failure) => {
                let refused = Some(failure.message);
                Self { target, overwritten, lost: Vec::new(), destroy: None, refused }
            }
        }
    }

    fn line(&self) -> String {
        let Self { target, lost, .. } = self;
        let nothing = "no known data".to_owned();
        let lost = if lost.is_empty() { nothing } else { lost.join("; ") };
        match (&self.destroy, &self.refused) {
            (_, Some(reason)) => format!("{target} cannot be overwritten: {reason}"),
            _ if self.overwritten => format!("{target}, all data: {lost}"),
            (text, None) => {
                let text = text.as_deref().unwrap_or_default();
                format!("{target}: nothing; --destroy {text:?} would overwrite {lost}")
            }
        }
    }
}

/// Returns the preview of a plan made from estimates; `stakes` belong to the block devices among the targets.
pub fn make(
    study: &Study,
    plan: &Plan,
    sites: &[Site],
    changes: &[String],
    stakes: Vec<PreviewStake>,
) -> Preview {
    let open_ended = plan.workloads.iter().any(is_open_ended);
    let all_ns: u64 = plan.trials.iter().map(|trial| time_ns(plan, trial) + plan.gap_ns).sum();
    let traffic = traffic(plan, sites, None);
    let mut arms: Vec<_> = plan.workloads.iter().map(|one| (&one.arm, one.control)).collect();
    arms.sort();
    arms.dedup();
    let surveys = sites.iter().zip(&plan.surveys);
    let made = surveys
        .clone()
        .filter(|(site, survey)| survey.area.written && site.kind != TargetKind::Simulated)
        // Work on a whole device finds it empty.
        .filter(|_| !study.needs_whole() && !plan.trials.is_empty());
    let standings: Vec<&Survey> = (0..plan.trials.len())
        .filter(|index| plan.is_remade_before(*index))
        .map(|index| &plan.surveys[plan.workloads[plan.trials[index].workload].target])
        .collect();
    let makes = makes(&standings);
    let remade: u64 = standings.iter().map(|survey| survey.area.length).sum();
    let expected = expected(plan, all_ns);
    let demands = Demands::from_study(study);
    let fills = made.clone().count() + standings.len();
    let mut targets: Vec<String> = sites.iter().map(place).collect();
    targets.dedup();
    Preview {
        fill_s: (demands.budget_ns / FILL_SHARE) as f64 * fills as f64 / 1e9,
        needs_root: demands.needs_root()
            || sites.iter().any(|site| site.kind == TargetKind::Device && !plan.is_in_machines()),
        targets,
        traffic,
        format: FORMAT.to_owned(),
        title: study.title.clone(),
        seed: plan.seed,
        replicates: plan.replicates.saturating_sub(plan.design.stopping.passes()),
        screen: Some(plan.design.stopping.passes()).filter(|passes| *passes > 0),
        configurations: arms.len(),
        trial_count: plan.trials.len(),
        trials_s: all_ns as f64 / 1e9,
        by_pilot: false,
        may_end_early: !open_ended
            && plan.workloads.iter().any(|workload| workload.work.operations().is_some()),
        runs: programs(plan),
        engines: engines(plan),
        creates_files: plan.workloads.iter().any(|own| own.work.kind().about.name == "files"),
        in_vm: plan.is_in_machines(),
        open_ended,
        area_bytes: made.map(|(_, survey)| survey.area.length).sum::<u64>()
            + remade
            + refilled(plan, sites),
        filesystem_creations: makes
            .iter()
            .filter(|one| one.what == FILE_SYSTEM)
            .map(|one| one.times)
            .sum(),
        creations: makes,
        writing_s: traffic[1].seconds,
        changes: changes
            .iter()
            .cloned()
            .chain(surveys.filter_map(|(site, survey)| change(&site.target, site.kind, survey)))
            .collect(),
        hosts: Vec::new(),
        data_at_risk: stakes
            .into_iter()
            .map(|stake| {
                let of_it = |survey: &&Survey| survey.target == stake.target && survey.area.written;
                let overwritten = plan.surveys.iter().any(|survey| of_it(&survey));
                PreviewStake { overwritten, ..stake }
            })
            .collect(),
        unavailable: Vec::new(),
        absent: plan
            .absent
            .iter()
            .map(|absent| {
                format!("{}{}: {}", absent.name, levels(&absent.configuration), absent.reason)
            })
            .collect(),
        absent_by_reason: absent_by_reason(plan),
        power_analysis: Vec::new(),
        gate: gate(plan),
        race: race(plan, expected.as_ref()),
        expected,
        trials: plan
            .trials
            .iter()
            .map(|trial| PreviewTrial {
                order: trial.order,
                replicate: trial.replicate,
                warmup: trial.is_lead_in(),
                workload: plan.workloads[trial.workload].name.clone(),
                configuration: trial.arm.clone(),
                control: plan.workloads[trial.workload].control,
            })
            .collect(),
    }
}

/// Nanoseconds until a trial's time or work is over; only the ramp if nothing else is known.
fn time_ns(plan: &Plan, trial: &PlannedTrial) -> u64 {
    let workload = plan.work_of(trial);
    let pilot_ns =
        plan.surveys.get(workload.target).map_or(0, |own| own.pilot.operation_ns(&workload));
    let bound = if is_open_ended(&workload) {
        0
    } else {
        workload.expected_ns(pilot_ns, workload.time_ns).unwrap_or(workload.time_ns)
    };
    workload.ramp_ns + bound
}

/// Layers that these levels create each time; a level such as `none` creates nothing.
fn makes(standings: &[&Survey]) -> Vec<PreviewMade> {
    let mut found: Vec<PreviewMade> = Vec::new();
    for survey in standings {
        let Ok(stack) = Stack::new(&Wish::new(&survey.under)) else { continue };
        for what in stack.nouns() {
            match found.iter_mut().find(|one| one.what == what) {
                Some(one) => one.times += 1,
                None => found.push(PreviewMade { what, times: 1 }),
            }
        }
    }
    found
}

fn levels(arm: &assay_study::results::plan::Arm) -> String {
    if arm.is_empty() {
        return String::new();
    }
    format!(" ({})", arm_words(arm))
}

fn place(site: &Site) -> String {
    let drives: Vec<&str> = site.drives.iter().map(|drive| drive.name.as_str()).collect();
    match (site.path.as_os_str().is_empty(), drives.is_empty()) {
        (true, _) => site.target.clone(),
        (_, true) => site.path.display().to_string(),
        _ => format!("{} on {}", site.path.display(), drives.join(", ")),
    }
}

/// The change of a target, and how Assay reverts it; a created file system is removed with its content.
fn change(target: &str, kind: TargetKind, survey: &Survey) -> Option<String> {
    if !survey.under.is_empty() || survey.area.length == 0 {
        return None;
    }
    let size = show::bytes(survey.area.length);
    Some(match (kind, survey.area.written) {
        (TargetKind::Simulated, _) => format!("{target}: nothing (simulated)"),
        (TargetKind::Directory, is_filled) => {
            let verb = if is_filled { "writes" } else { "creates" };
            format!("{target}: Assay {verb} a file of {size} and removes it at the end")
        }
        (TargetKind::Device, _) if target == NEW_LOOP_DEVICE => {
            format!("{target}: Assay uses {size} of the device and deletes the device afterwards")
        }
        (TargetKind::Device, true) if survey.area.start == 0 => {
            format!("{target}: overwrites the first {size}; this cannot be undone")
        }
        (TargetKind::Device, true) => format!(
            "{target}: overwrites {size} starting at {}; this cannot be undone",
            show::bytes(survey.area.start)
        ),
        _ => format!("{target}: nothing (read only)"),
    })
}

fn absent_by_reason(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, absent) in plan.absent.iter().enumerate() {
        let is_same =
            |other: &&AbsentWorkload| other.name == absent.name && other.reason == absent.reason;
        if plan.absent[..index].iter().any(|earlier| is_same(&earlier)) {
            continue;
        }
        let configurations = match plan.absent.iter().filter(is_same).count() {
            1 => levels(&absent.configuration),
            count => format!(" ({count} configurations)"),
        };
        lines.push(format!("{}{configurations}: {}", absent.name, absent.reason));
    }
    lines
}

/// Bytes rewritten before trials because trims, zeroing or copies removed data for later reads.
fn refilled(plan: &Plan, sites: &[Site]) -> u64 {
    let clears = |one: &PlannedWorkload| one.touches().any(|touch| touch.clears);
    if !plan.workloads.iter().any(clears) {
        return 0;
    }
    let (mut whole, mut bytes) = (BTreeSet::new(), 0_u64);
    for (index, trial) in plan.trials.iter().enumerate() {
        let workload = &plan.workloads[trial.workload];
        let target = workload.target;
        let is_simulated = sites.get(target).is_some_and(|site| site.kind == TargetKind::Simulated);
        let own = plan.surveys.get(target).filter(|survey| survey.area.written && !is_simulated);
        if plan.is_remade_before(index) {
            whole.insert(target);
        }
        let finds = workload.touches().any(|touch| touch.finds.is_some());
        if finds && whole.insert(target) {
            bytes = bytes.saturating_add(own.map_or(0, |survey| survey.area.length));
        }
        if clears(workload) {
            whole.remove(&target);
        }
    }
    bytes
}

/// Whether only the number of runs ends a trial.
fn is_open_ended(workload: &PlannedWorkload) -> bool {
    workload.work.kind().runs_programs && workload.work.operations().is_some()
}

/// How programs are run, and what neither a time nor a count of operations ends, each once.
fn programs(plan: &Plan) -> Vec<String> {
    let has_phases = |one: &PlannedWorkload| {
        (one.writes() || one.work.makes_machines())
            && !one.work.ends_by_time()
            && one.work.operations().is_none()
    };
    let told = |one: &&PlannedWorkload| one.work.kind().runs_programs || has_phases(one);
    let own = plan.workloads.iter().filter(told);
    let mut words: Vec<String> = own.map(|one| one.work.words()).collect();
    let mut known = BTreeSet::new();
    words.retain(|one| known.insert(one.clone()));
    words
}

/// The engine of each workload that is compared at several depths: `auto` chose it for all of them.
fn engines(plan: &Plan) -> Vec<String> {
    let mut found = Vec::new();
    for one in &plan.workloads {
        let Some(io) = io::IoPlan::of(&one.work) else { continue };
        let differs = |other: &PlannedWorkload| {
            other.name == one.name && other.work.in_flight() != one.work.in_flight()
        };
        let words = format!("{}: {} at every queue depth", one.name, io.engine);
        if plan.workloads.iter().any(differs) && !found.contains(&words) {
            found.push(words);
        }
    }
    found
}

fn gate(plan: &Plan) -> Option<String> {
    let own = plan.design.gate.as_ref()?;
    let metric = own.metric.as_deref().map(|name| format!(" in {}", noun(name)));
    let ends = own.until_decided.then(|| {
        format!(
            "; the study ends as soon as the gate is decided, after at least {FEWEST_TO_END} replicates"
        )
    });
    Some(format!(
        "exit code 1 if a configuration is worse (95% confidence) than the baseline by more than {}{}{}",
        allowance(own.max_regression, own.more),
        metric.unwrap_or_default(),
        ends.unwrap_or_default()
    ))
}

fn race(plan: &Plan, expected: Option<&Expected>) -> Option<String> {
    let Stopping::Race { closeness, screen } = plan.design.stopping else { return None };
    let usual = expected.map_or_else(String::new, |expected| {
        format!(
            ", about {} trials expected, {}",
            show::count(expected.trials as u64),
            show::duration(expected.seconds * 1e9)
        )
    });
    Some(format!(
        "at most these trials{usual}. {}From replicate {FIRST_LOOK}, Assay eliminates configurations that are behind \
         (95% confidence). The race ends when one is left or no other can be more than {} ahead of the leader",
        screened(plan, screen),
        show::share(closeness)
    ))
}

fn screened(plan: &Plan, passes: u32) -> String {
    if passes == 0 {
        return String::new();
    }
    let of_screen = |trial: &&PlannedTrial| trial.replicate <= passes && !trial.is_lead_in();
    format!(
        "A screen of {} trials first eliminates levels that are behind (95% confidence), with all their \
         configurations; it ignores interactions. ",
        plan.trials.iter().filter(of_screen).count()
    )
}

/// Expected course of a race: in simulations a setting gets three to ten trials, depending on the differences; after a
/// screen, most get none.
fn expected(plan: &Plan, all_ns: u64) -> Option<Expected> {
    let Stopping::Race { screen, .. } = plan.design.stopping else { return None };
    let usual = plan.replicates.saturating_sub(screen).min(usual_replicates(screen > 0));
    let last = plan.trials.iter().filter(|trial| trial.replicate == plan.replicates).count();
    let trials = last.saturating_mul(usual as usize);
    let share = trials as f64 / plan.trials.len().max(1) as f64;
    Some(Expected { trials, seconds: all_ns as f64 * share / 1e9 })
}

/// Returns the preview as a document: details first, with the cost on the last screen.
pub fn document(preview: &Preview, order: Order) -> Document {
    let mut lost: Vec<String> = preview.data_at_risk.iter().map(PreviewStake::line).collect();
    if lost.is_empty() {
        lost.push("none".to_owned());
    }
    let one = |text: &str| vec![text.to_owned()];
    let named = [
        ("host", preview.hosts.iter().map(PreviewHost::line).collect()),
        ("runs", preview.runs.clone()),
        ("engine", preview.engines.clone()),
        ("lacks", preview.unavailable.clone()),
        ("absent", preview.absent_by_reason.clone()),
        ("changes", preview.changes.clone()),
        ("target", one(&preview.targets.join(", "))),
        ("trials", vec![trials(preview, order)]),
        ("time", vec![time(preview)]),
        ("writes", vec![writes(preview)]),
        ("reads", vec![moved(preview.traffic[0])]),
        ("root", one(if preview.needs_root { "yes" } else { "no" })),
        ("data loss", lost),
        ("detects", detectable(&preview.power_analysis)),
        ("gate", preview.gate.iter().cloned().collect()),
        ("race", preview.race.iter().cloned().collect()),
        ("more", one("--order: trials in order; --commands: fio commands; --json: all")),
    ];
    let mut facts = Vec::new();
    for (name, mut texts) in named {
        // One of many programs is an example for the others.
        let is_many = name == "runs" && texts.len() > MOST_RUNS;
        let most = if is_many { 1 } else { MOST_LISTED };
        if texts.len() > most {
            let more = format!("... and {} more (--json lists all)", texts.len() - most);
            texts.truncate(most);
            texts.push(more);
        }
        facts.extend(texts.into_iter().map(|text| (name.to_owned(), text)));
    }
    titled(preview, Block::Facts(facts))
}

fn titled(preview: &Preview, block: Block) -> Document {
    let heading = format!("assay plan: {}", preview.title);
    Document { title: String::new(), sections: vec![Section::titled(heading, vec![block])] }
}

/// Returns the detectable differences; workloads with the same one share a line.
fn detectable(foresight: &[Foresight]) -> Vec<String> {
    let mut shared: Vec<(String, &str)> = Vec::new();
    for Foresight { workload, sight, .. } in foresight {
        match shared.iter_mut().find(|(_, known)| known == sight) {
            Some((names, _)) => names.extend([", ", workload]),
            None => shared.push((workload.clone(), sight)),
        }
    }
    shared.iter().map(|(names, sight)| format!("{names}: {sight}")).collect()
}

fn trials(preview: &Preview, order: Order) -> String {
    let plural = |count: usize, thing: &str| {
        if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
    };
    let lead_ins = preview.trials.iter().filter(|trial| trial.warmup).count();
    let chosen = if preview.by_pilot {
        "; the pilot may choose more replicates and shorter trials"
    } else {
        ""
    };
    format!(
        "{}: {}, {}, {}; {} order, seed {}{chosen}",
        preview.trial_count,
        plural(preview.configurations, "configuration"),
        plural(preview.replicates as usize, "replicate"),
        plural(lead_ins, "warm-up"),
        order.name(),
        preview.seed
    )
}

fn time(preview: &Preview) -> String {
    let (trials, area) = (show::duration(preview.trials_s * 1e9), show::bytes(preview.area_bytes));
    let ends = if preview.may_end_early { " (each ends after its last operation)" } else { "" };
    let trials = match (preview.open_ended, preview.may_end_early || preview.race.is_some()) {
        (true, _) => "the duration of the counted runs, known after the first run".to_owned(),
        _ if preview.trials_s == 0.0 => "none: the trials are recorded".to_owned(),
        (_, true) => format!("at most {trials} of trials{ends}"),
        (_, false) => format!("about {trials} of trials"),
    };
    if preview.area_bytes == 0 {
        return trials;
    }
    if preview.creations.is_empty() && !preview.open_ended {
        let most = show::duration((preview.trials_s + preview.fill_s) * 1e9);
        let fill = show::duration(preview.fill_s * 1e9);
        return format!("at most {most}: {trials}, at most {fill} to write {area}");
    }
    let made = preview.creations.iter().map(|one| match one.times {
        1 => format!("to create 1 {} and ", one.what),
        count => format!("to create {count} {} and ", plural(one.what)),
    });
    format!("{trials}, plus the time {}to write {area}", made.collect::<String>())
}

fn writes(preview: &Preview) -> String {
    let (area, trials) = (show::bytes(preview.area_bytes), moved(preview.traffic[1]));
    let written = match (preview.area_bytes, preview.writing_s > 0.0) {
        (0, false) if preview.in_vm => "nothing; the VM's drives are in memory".to_owned(),
        (0, false) if !preview.runs.is_empty() => "as much as the commands write".to_owned(),
        (0, false) if preview.creates_files => "small files, removed in each trial".to_owned(),
        (0, false) if swaps(preview) => "pages that do not fit in memory (swap file)".to_owned(),
        (0, _) => trials,
        (_, false) => format!("{area} (test area)"),
        (_, true) => format!("{area} (test area); trials: {trials}"),
    };
    match preview.hosts.len() {
        0 => written,
        hosts => format!("{written}, on each of the {hosts} hosts"),
    }
}

fn swaps(preview: &Preview) -> bool {
    let level =
        |trial: &PreviewTrial| trial.configuration.get(SWAP).map(|level| swaps_to_file(level));
    preview.trials.iter().filter_map(level).any(|own| own)
}

/// Returns the trials in order, one row each.
pub fn order_document(preview: &Preview) -> Document {
    let passes = preview.screen.unwrap_or(0);
    let replicate = |trial: &PreviewTrial| match trial.replicate {
        0 => "warm-up".to_owned(),
        pass if pass <= passes => format!("screen {pass}"),
        replicate => (replicate - passes).to_string(),
    };
    let mut table = Table::default();
    table.add(Column::right("trial"), &preview.trials, |trial| trial.order.to_string());
    table.add(Column::right("replicate"), &preview.trials, replicate);
    table.add(Column::left("workload"), &preview.trials, name);
    titled(preview, Block::Table(table))
}

fn name(trial: &PreviewTrial) -> String {
    let lead_in = if trial.warmup { "warm-up " } else { "" };
    let again = if trial.control { " (control)" } else { "" };
    format!("{lead_in}{}{}{again}", trial.workload, levels(&trial.configuration))
}
