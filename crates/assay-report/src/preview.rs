//! The preview of a study, before it runs.

mod traffic;

use std::collections::BTreeSet;

use serde::Serialize;

use super::document::{Block, Document, Section};
use assay_analysis::inference::Foresight;
use assay_core::exhibit::parts::distinct;
use assay_core::exhibit::{Column, Table};
use assay_core::failure::Outcome;
use assay_core::json::is_default;
use assay_core::quantity::units::show;
use assay_machine::factors::layers::{SWAP, Stack, Wish, plural, swaps_to_file};
use assay_machine::system::identity::{DataLoss, Stake};
use assay_machine::system::site::{NEW_LOOP_DEVICE, Site, TargetKind};
use assay_study::file::{Order, Study};
use assay_study::findings::gate::{FEWEST_TO_END, allowance};
use assay_study::plan::race::{FIRST_LOOK, usual_replicates};
use assay_study::plan::{budget::FILL_SHARE, design::Demands};
use assay_study::results::plan::{
    AbsentWorkload, Arm, Plan, PlannedTrial, PlannedWorkload, Survey, arm_words,
};
use assay_study::results::{design::Stopping, fleet::words};
use assay_workloads::{io, metrics::noun};

use traffic::traffic_text;
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
        let changes = surveys.iter().filter_map(|it| change(&it.target, it.kind?, it));
        Self { rank, name: name.to_owned(), actions: changes.collect() }
    }

    fn line(&self) -> String {
        let actions = match self.actions.as_slice() {
            [] => "only files that Assay creates".to_owned(),
            actions => actions.join("; "),
        };
        format!("{}: {actions}", words(self.rank, &self.name))
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
    pub configuration: Arm,
    pub control: bool,
}

impl PreviewTrial {
    fn new(plan: &Plan, trial: &PlannedTrial) -> Self {
        let workload = &plan.workloads[trial.workload];
        Self {
            order: trial.order,
            replicate: trial.replicate,
            warmup: trial.is_lead_in(),
            workload: workload.name.clone(),
            configuration: trial.arm.clone(),
            control: workload.control,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PreviewMade {
    /// Name in the singular: `file system`.
    pub what: &'static str,
    pub times: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
        let mut preview = Self { target: target.to_owned(), ..Self::default() };
        match stake {
            Ok(stake) => {
                preview.lost = stake.losses.iter().map(DataLoss::words).collect();
                preview.destroy = Some(stake.text());
            }
            Err(failure) => preview.refused = Some(failure.message),
        }
        preview
    }

    fn line(&self) -> String {
        let Self { target, lost, .. } = self;
        if let Some(reason) = &self.refused {
            return format!("{target} cannot be overwritten: {reason}");
        }
        let lost = if lost.is_empty() { "no known data".to_owned() } else { lost.join("; ") };
        if self.overwritten {
            return format!("{target}, all data: {lost}");
        }
        let text = self.destroy.as_deref().unwrap_or_default();
        format!("{target}: nothing; --destroy {text:?} would overwrite {lost}")
    }
}

/// Builds the preview of a plan. `sites` are the targets, `stakes` the data at risk on those that are block devices.
pub fn build(
    study: &Study,
    plan: &Plan,
    sites: &[Site],
    changes: &[String],
    mut stakes: Vec<PreviewStake>,
) -> Preview {
    let open_ended = plan.workloads.iter().any(is_open_ended);
    let all_ns: u64 = plan.trials.iter().map(|trial| time_ns(plan, trial) + plan.gap_ns).sum();
    let traffic = traffic(plan, sites, None);
    let mut arms: Vec<_> = plan.workloads.iter().map(|one| (&one.arm, one.control)).collect();
    arms.sort();
    arms.dedup();
    // Test areas to fill with data before the first trial; work on a whole device expects it to be empty.
    let mut filled: Vec<&Survey> = Vec::new();
    let mut changes = changes.to_vec();
    for (site, survey) in sites.iter().zip(&plan.surveys) {
        let is_filled = survey.area.written && site.kind != TargetKind::Simulated;
        if is_filled && !study.needs_whole() && !plan.trials.is_empty() {
            filled.push(survey);
        }
        changes.extend(change(&site.target, site.kind, survey));
    }
    // Layers, such as file systems, to create again before a trial, and their areas to fill again.
    let remade: Vec<&Survey> = (0..plan.trials.len())
        .filter(|index| plan.is_remade_before(*index))
        .map(|index| &plan.surveys[plan.workloads[plan.trials[index].workload].target])
        .collect();
    let creations = creations(&remade);
    let fills = filled.len() + remade.len();
    let fill_bytes: u64 = filled.iter().chain(&remade).map(|survey| survey.area.length).sum();
    for stake in &mut stakes {
        let is_its = |survey: &Survey| survey.target == stake.target && survey.area.written;
        stake.overwritten = plan.surveys.iter().any(is_its);
    }
    let expected = expected(plan, all_ns);
    let demands = Demands::from_study(study);
    let targets = distinct(sites.iter().map(place));
    let filesystems = creations.iter().filter(|one| one.what == FILE_SYSTEM);
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
        area_bytes: fill_bytes + refilled_bytes(plan, sites),
        filesystem_creations: filesystems.map(|one| one.times).sum(),
        creations,
        writing_s: traffic[1].seconds,
        changes,
        hosts: Vec::new(),
        data_at_risk: stakes,
        unavailable: Vec::new(),
        absent: plan
            .absent
            .iter()
            .map(|it| format!("{}{}: {}", it.name, levels(&it.configuration), it.reason))
            .collect(),
        absent_by_reason: absent_by_reason(plan),
        power_analysis: Vec::new(),
        gate: gate(plan),
        race: race(plan, expected.as_ref()),
        expected,
        trials: plan.trials.iter().map(|trial| PreviewTrial::new(plan, trial)).collect(),
    }
}

/// Expected nanoseconds of a trial with its ramp (uncounted start); only the ramp if the end is unknown.
fn time_ns(plan: &Plan, trial: &PlannedTrial) -> u64 {
    let workload = plan.work_of(trial);
    if is_open_ended(&workload) {
        return workload.ramp_ns;
    }
    let survey = plan.surveys.get(workload.target);
    let operation_ns = survey.map_or(0, |survey| survey.pilot.operation_ns(&workload));
    let expected_ns = workload.expected_ns(operation_ns, workload.time_ns);
    workload.ramp_ns + expected_ns.unwrap_or(workload.time_ns)
}

/// Counts the layers to create, by kind; a level such as `none` creates nothing.
fn creations(remade: &[&Survey]) -> Vec<PreviewMade> {
    let mut creations: Vec<PreviewMade> = Vec::new();
    for survey in remade {
        let Ok(stack) = Stack::new(&Wish::new(&survey.under)) else { continue };
        for what in stack.nouns() {
            match creations.iter_mut().find(|one| one.what == what) {
                Some(one) => one.times += 1,
                None => creations.push(PreviewMade { what, times: 1 }),
            }
        }
    }
    creations
}

fn levels(arm: &Arm) -> String {
    if arm.is_empty() {
        return String::new();
    }
    format!(" ({})", arm_words(arm))
}

fn place(site: &Site) -> String {
    if site.path.as_os_str().is_empty() {
        return site.target.clone();
    }
    if site.drives.is_empty() {
        return site.path.display().to_string();
    }
    let drives: Vec<&str> = site.drives.iter().map(|drive| drive.name.as_str()).collect();
    format!("{} on {}", site.path.display(), drives.join(", "))
}

/// What Assay changes on a target and reverts; `None` without a test area, or if Assay creates the layers below it.
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

/// The workloads that cannot be measured, once per reason with the number of configurations.
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
fn refilled_bytes(plan: &Plan, sites: &[Site]) -> u64 {
    let clears = |one: &PlannedWorkload| one.touches().any(|touch| touch.clears);
    if !plan.workloads.iter().any(clears) {
        return 0;
    }
    // Go through the trials in order; these targets currently have all data in their area.
    let mut complete: BTreeSet<usize> = BTreeSet::new();
    let mut bytes = 0_u64;
    for (index, trial) in plan.trials.iter().enumerate() {
        let workload = &plan.workloads[trial.workload];
        let target = workload.target;
        let is_simulated = sites.get(target).is_some_and(|site| site.kind == TargetKind::Simulated);
        let filled = plan.surveys.get(target).filter(|it| it.area.written && !is_simulated);
        // Assay fills the area whenever it creates the layers below it again.
        if plan.is_remade_before(index) {
            complete.insert(target);
        }
        let needs_data = workload.touches().any(|touch| touch.finds.is_some());
        if needs_data && complete.insert(target) {
            bytes = bytes.saturating_add(filled.map_or(0, |survey| survey.area.length));
        }
        if clears(workload) {
            complete.remove(&target);
        }
    }
    bytes
}

/// Whether only the number of runs ends a trial.
fn is_open_ended(workload: &PlannedWorkload) -> bool {
    workload.work.kind().runs_programs && workload.work.operations().is_some()
}

/// Descriptions of workloads that run programs, or whose end depends on neither time nor operations; each once.
fn programs(plan: &Plan) -> Vec<String> {
    let has_phases = |one: &PlannedWorkload| {
        (one.writes() || one.work.makes_machines())
            && !one.work.ends_by_time()
            && one.work.operations().is_none()
    };
    let is_described = |one: &&PlannedWorkload| one.work.kind().runs_programs || has_phases(one);
    distinct(plan.workloads.iter().filter(is_described).map(|one| one.work.words()))
}

/// The I/O engine of each workload with several queue depths, which all use the same engine.
fn engines(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for one in &plan.workloads {
        let Some(io) = io::IoPlan::of(&one.work) else { continue };
        let has_other_depth = |other: &PlannedWorkload| {
            other.name == one.name && other.work.in_flight() != one.work.in_flight()
        };
        if plan.workloads.iter().any(has_other_depth) {
            lines.push(format!("{}: {} at every queue depth", one.name, io.engine));
        }
    }
    distinct(lines)
}

fn gate(plan: &Plan) -> Option<String> {
    let gate = plan.design.gate.as_ref()?;
    let metric = gate.metric.as_deref().map(|name| format!(" in {}", noun(name)));
    let ends = gate.until_decided.then(|| {
        format!(
            "; the study ends as soon as the gate is decided, after at least {FEWEST_TO_END} replicates"
        )
    });
    Some(format!(
        "exit code 1 if a configuration is worse (95% confidence) than the baseline by more than {}{}{}",
        allowance(gate.max_regression, gate.more),
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
        screen_text(plan, screen),
        show::share(closeness)
    ))
}

fn screen_text(plan: &Plan, passes: u32) -> String {
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

/// Expected trials and seconds of a race, which eliminates most configurations early; `None` for other studies.
fn expected(plan: &Plan, all_ns: u64) -> Option<Expected> {
    let Stopping::Race { screen, .. } = plan.design.stopping else { return None };
    let replicates = plan.replicates.saturating_sub(screen).min(usual_replicates(screen > 0));
    let per_replicate = plan.trials.iter().filter(|it| it.replicate == plan.replicates).count();
    let trials = per_replicate.saturating_mul(replicates as usize);
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
        ("trials", vec![trials_text(preview, order)]),
        ("time", vec![time_text(preview)]),
        ("writes", vec![writes_text(preview)]),
        ("reads", vec![traffic_text(preview.traffic[0])]),
        ("root", one(if preview.needs_root { "yes" } else { "no" })),
        ("data loss", lost),
        ("detects", detectable_differences(&preview.power_analysis)),
        ("gate", preview.gate.iter().cloned().collect()),
        ("race", preview.race.iter().cloned().collect()),
        ("more", one("--order: trials in order; --commands: fio commands; --json: all")),
    ];
    let mut facts = Vec::new();
    for (name, mut texts) in named {
        // If there are many programs, one is an example for all.
        let is_many = name == "runs" && texts.len() > MOST_RUNS;
        let most = if is_many { 1 } else { MOST_LISTED };
        if texts.len() > most {
            let more = format!("... and {} more (--json lists all)", texts.len() - most);
            texts.truncate(most);
            texts.push(more);
        }
        facts.extend(texts.into_iter().map(|text| (name.to_owned(), text)));
    }
    document_of(preview, Block::Facts(facts))
}

fn document_of(preview: &Preview, block: Block) -> Document {
    let heading = format!("assay plan: {}", preview.title);
    Document { title: String::new(), sections: vec![Section::titled(heading, vec![block])] }
}

/// The differences that the study can detect; workloads with the same one share a line.
fn detectable_differences(analyses: &[Foresight]) -> Vec<String> {
    let mut shared: Vec<(String, &str)> = Vec::new();
    for Foresight { workload, sight, .. } in analyses {
        match shared.iter_mut().find(|(_, known)| known == sight) {
            Some((names, _)) => names.extend([", ", workload]),
            None => shared.push((workload.clone(), sight)),
        }
    }
    shared.iter().map(|(names, sight)| format!("{names}: {sight}")).collect()
}

fn trials_text(preview: &Preview, order: Order) -> String {
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

/// How long the trials take, and the time to create and fill the test areas before them.
fn time_text(preview: &Preview) -> String {
    let (trials, area) = (show::duration(preview.trials_s * 1e9), show::bytes(preview.area_bytes));
    let ends = if preview.may_end_early { " (each ends after its last operation)" } else { "" };
    let trials = if preview.open_ended {
        "the duration of the counted runs, known after the first run".to_owned()
    } else if preview.trials_s == 0.0 {
        "none: the trials are recorded".to_owned()
    } else if preview.may_end_early || preview.race.is_some() {
        format!("at most {trials} of trials{ends}")
    } else {
        format!("about {trials} of trials")
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

fn writes_text(preview: &Preview) -> String {
    let (area, trials) = (show::bytes(preview.area_bytes), traffic_text(preview.traffic[1]));
    let trials_write = preview.writing_s > 0.0;
    let written = match preview.area_bytes {
        0 if trials_write => trials,
        0 if preview.in_vm => "nothing; the VM's drives are in memory".to_owned(),
        0 if !preview.runs.is_empty() => "as much as the commands write".to_owned(),
        0 if preview.creates_files => "small files, removed in each trial".to_owned(),
        0 if swaps(preview) => "pages that do not fit in memory (swap file)".to_owned(),
        0 => trials,
        _ if trials_write => format!("{area} (test area); trials: {trials}"),
        _ => format!("{area} (test area)"),
    };
    match preview.hosts.len() {
        0 => written,
        hosts => format!("{written}, on each of the {hosts} hosts"),
    }
}

fn swaps(preview: &Preview) -> bool {
    let mut levels = preview.trials.iter().filter_map(|trial| trial.configuration.get(SWAP));
    levels.any(|level| swaps_to_file(level))
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
    table.add(Column::left("workload"), &preview.trials, trial_name);
    document_of(preview, Block::Table(table))
}

fn trial_name(trial: &PreviewTrial) -> String {
    let warmup = if trial.warmup { "warm-up " } else { "" };
    let control = if trial.control { " (control)" } else { "" };
    format!("{warmup}{}{}{control}", trial.workload, levels(&trial.configuration))
}
