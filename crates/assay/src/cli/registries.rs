//! Entries of `assay list` from each registry.

use serde_json::{Value, json};

use super::{explain, inventory};
use assay_analysis::{inference, rules};
use assay_core::catalogue::About;
use assay_core::failure::Outcome;
use assay_core::presence::Presence;
use assay_core::quantity::units;
use assay_core::quantity::{Better, Metric};
use assay_machine::factors;
use assay_machine::probes;
use assay_machine::system::{System, quoted};
use assay_report::preview;
use assay_study::file::{Study, Workload, fields, presets};
use assay_study::plan::arms;
use assay_study::plan::design::Demands;
use assay_workloads::metrics;

#[derive(Default)]
pub(super) struct RegistryEntry {
    pub(super) name: String,
    /// Heading above the first entry of a group; empty in registries without groups.
    pub(super) group: &'static str,
    pub(super) cells: Vec<String>,
    /// Labels and texts that `assay list KIND NAME` prints.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) item: Value,
}

impl RegistryEntry {
    pub(super) fn new(name: &str, summary: &str, text: &str) -> Self {
        let (name, cells) = (name.to_owned(), vec![summary.to_owned()]);
        let item = json!({ "name": name, "summary": summary, "text": text });
        Self { name, cells, item, ..Self::default() }.fact("", summary).fact("", text)
    }

    pub(super) fn fact(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.facts.push((label, text.into()));
        self
    }
}

/// Returns entries from their descriptions; NAME in the example is a placeholder.
pub(super) fn described(abouts: impl Iterator<Item = About>, example: &str) -> Vec<RegistryEntry> {
    let entry = |About { name, summary, text }| {
        RegistryEntry::new(name, summary, text).fact("Example", example.replace("NAME", name))
    };
    abouts.map(entry).collect()
}

const FOR_A_DATABASE: &str =
    "assay plan filesystems --scratch --set random-write.sync=fdatasync --set threads=1";

/// Settings of memory and swap hardly change the storage workloads of `tunable`.
const OF_MEMORY: &str = "assay plan small-memory --set tunable:/proc/sys/vm/swappiness=60,10";

/// Scheduler of a drive in use; `--scratch` sets that of a loop device.
const IN_USE: &str =
    "assay plan queue-depth TARGET --set queue_depth=16 --set scheduler=none,mq-deadline,bfq";

pub(super) fn presets(system: &dyn System) -> Outcome<Vec<RegistryEntry>> {
    let entry = |(name, study): (&str, Outcome<Study>)| {
        let study = study?;
        let (time, root, writes) = (time(system, &study), root(&study), writes(&study));
        let mut entry = RegistryEntry::new(name, &study.title, "").fact("Time", &time);
        entry = entry.fact("Root", root).fact("Writes", writes);
        for (factor, levels) in &study.factors {
            entry = entry.fact("Factor", format!("{factor} = {}", levels.join(",")));
        }
        for work in &study.workload {
            entry = entry.fact("Workload", format!("{}: {}", work.name, work.words()));
        }
        match name {
            "filesystems" => entry = entry.fact("Example", FOR_A_DATABASE),
            "schedulers" => entry = entry.fact("Without erasing", IN_USE),
            "tunable" => entry = entry.fact("Memory settings", OF_MEMORY),
            _ => {}
        }
        entry.group = presets::group(name).unwrap_or_default();
        entry.item = json!(study);
        for (key, text) in [("time", &*time), ("root", root), ("writes", writes)] {
            entry.item[key] = json!(text);
        }
        // Omits the preset's name, which the list already shows.
        let question = study.title.split_once(": ").map_or(&*study.title, |(_, question)| question);
        let (first, more) = question.split_at(1);
        let question = first.to_uppercase() + more;
        entry.cells = [&time, root, writes, &question].map(str::to_owned).to_vec();
        let scratch = if writes == "erases" { " --scratch" } else { "" };
        let entry = entry.fact("Example", format!("assay plan {name}{scratch}"));
        Ok(entry.fact("Example", format!("assay run {name} TARGET")))
    };
    presets::all().map(entry).collect()
}

/// Returns the expected duration: `~` marks a race, `\u{2264}` a study that may end early.
fn time(system: &dyn System, study: &Study) -> String {
    let study = study.clone().settled();
    // Recorded trials take no time.
    if study.workload.first().is_some_and(|first| first.work.kind().recording.is_some()) {
        return "1 s".to_owned();
    }
    let plan = explain::plan_of(system, &study, &[".".to_owned()]);
    let seen = preview::build(&study, &plan, &[], &[], Vec::new());
    if seen.open_ended {
        return "varies".to_owned();
    }
    let (seconds, bound) = match seen.expected {
        // The most is several times as long, and few races take it.
        Some(race) => (race.seconds, "~"),
        None if seen.may_end_early => (seen.trials_s, "\u{2264}"),
        None => (seen.trials_s, ""),
    };
    let minutes = (seconds / 60.0).round();
    if minutes < 2.0 {
        format!("{bound}{seconds:.0} s")
    } else if minutes < 120.0 {
        format!("{bound}{minutes:.0} min")
    } else {
        format!("{bound}{:.0} h", minutes / 60.0)
    }
}

/// Returns whether a study needs root.
fn root(study: &Study) -> &'static str {
    let demands = Demands::from_study(study);
    if demands.made.any || demands.network.changes || arms::gives_up_data(study) {
        return "yes";
    }
    match study.factors.keys().filter(|name| factors::changes(name)).count() {
        0 => "no",
        count if count == study.factors.len() => "yes",
        _ => "some levels",
    }
}

/// Returns what a study writes to its target.
fn writes(study: &Study) -> &'static str {
    if arms::gives_up_data(study) {
        "erases"
    } else if study.needs_whole() {
        "fills"
    } else if study.works_in_directory() {
        "files"
    } else {
        "none"
    }
}

pub(super) fn requirements() -> Outcome<Vec<RegistryEntry>> {
    let entry = |(name, study): (&str, Outcome<Study>)| {
        let study = study?;
        let mut entry = RegistryEntry::new(name, &study.title, "");
        let mut source = String::new();
        for ask in &study.question {
            entry = entry.fact("Bound", &ask.ask);
            source += if source.is_empty() { "" } else { "; " };
            source += ask.published.as_deref().unwrap_or_default();
        }
        // Prints addresses on separate lines.
        let (source, addresses) = without_addresses(&source);
        entry = entry.fact("Source", source);
        for address in addresses {
            entry = entry.fact("", address);
        }
        entry.cells = vec![bounds(&study)];
        entry.item = json!(study);
        Ok(entry.fact("Example", format!("assay check --for {name} DIRECTORY")))
    };
    presets::fitness().map(entry).collect()
}

const ADDRESS: &str = "https://";

/// Removes the addresses from a text, with the comma or parentheses around each, and returns them in order.
pub(super) fn without_addresses(text: &str) -> (String, Vec<String>) {
    let mut left = String::new();
    let mut addresses = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(ADDRESS) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|letter: char| letter.is_whitespace() || letter == ')');
        let (address, after) = from.split_at(end.unwrap_or(from.len()));
        let is_enclosed = before.ends_with(" (") && after.starts_with(')');
        let before = if is_enclosed { &before[..before.len() - 2] } else { before };
        left.push_str(before.strip_suffix(", ").unwrap_or(before));
        rest = if is_enclosed { &after[1..] } else { after };
        if !addresses.iter().any(|known| known == address) {
            addresses.push(address.to_owned());
        }
    }
    (left + rest, addresses)
}

/// Returns the requirements' bounds in short form; the title if no limit is published.
fn bounds(study: &Study) -> String {
    let mut texts: Vec<String> = Vec::new();
    for ask in &study.question {
        let Some(limit) = ask.min.as_ref().or(ask.max.as_ref()) else { continue };
        let subject = match ask.metric.as_deref().and_then(metrics::find) {
            Some(metric) if metric.better == Better::Lower => metric.noun,
            _ if ask.workloads.iter().any(|name| name.ends_with("read")) => "reads",
            _ => "writes",
        };
        let direction = if ask.min.is_some() { "at least " } else { "at most " };
        // Only the first bound states its direction, to keep the cell short.
        let direction = if texts.is_empty() { direction } else { "" };
        texts.push(format!("{subject} {direction}{}", limit.text));
    }
    if texts.is_empty() { format!("{} (no limit)", study.title) } else { texts.join(", ") }
}

pub(super) fn workloads() -> Outcome<Vec<RegistryEntry>> {
    let entry = |work: &Workload| {
        let example = format!("assay plan check --set {}.runtime=10s", work.name);
        let entry = RegistryEntry::new(&work.name, &work.words(), "").fact("Example", example);
        RegistryEntry { item: json!(work), ..entry }
    };
    Ok(presets::check()?.workload.iter().map(entry).collect())
}

/// Returns the description and example levels of each factor, workload factors first.
pub(super) fn factors_described() -> Vec<(About, &'static str)> {
    let parameters = assay_workloads::parameters().iter().map(|it| (it.about, it.example));
    let (name, summary) = (fields::TARGET_FACTOR, fields::TARGET_SUMMARY);
    let target = (About { name, summary, text: "" }, fields::TARGET_EXAMPLE);
    let others = factors::all().map(|it| (*it.about(), it.example()));
    parameters.chain([target]).chain(others).collect()
}

pub(super) fn factors() -> Outcome<Vec<RegistryEntry>> {
    let studies = presets::all().map(|(name, study)| Ok((name, study?)));
    let studies: Vec<(&str, Study)> = studies.collect::<Outcome<_>>()?;
    let entry = |(About { name, summary, text }, example): (About, &str)| {
        let levels = factors::levels_of(example).join(",");
        let mut entry = RegistryEntry::new(name, summary, text).fact("Levels", &levels);
        if let Some(factor) = factors::find(name) {
            let needs = if factor.role().changes() { "root" } else { "" };
            entry = entry.fact("Needs", needs).fact("Afterwards", factor.role().undone());
        }
        let with_factor: Vec<&(&str, Study)> =
            studies.iter().filter(|(_, study)| study.factors.contains_key(name)).collect();
        let names: Vec<&str> = with_factor.iter().map(|(preset, _)| *preset).collect();
        let few: Vec<&str> = levels.split(',').take(3).collect();
        let set = quoted(&format!("{name}={}", few.join(",")));
        entry.item["example"] = json!(example);
        entry.cells.insert(0, levels);
        let (preset, scratch) = match with_factor.first() {
            Some((preset, study)) if arms::gives_up_data(study) => (*preset, " --scratch"),
            Some((preset, _)) => (*preset, ""),
            None => ("STUDY", ""),
        };
        let line = format!("assay plan {preset}{scratch} --set {set}");
        entry.fact("Presets", names.join(", ")).fact("Example", line)
    };
    Ok(factors_described().into_iter().map(entry).collect())
}

const UNITS: &str = "bytes_per_s bits_per_s s_per_gib j_per_gib per_s ns s bytes share j w iops";

pub(super) fn metrics() -> Vec<RegistryEntry> {
    let entry = |metric: &'static Metric| {
        let name = metric.name;
        let has_metric = |kind: &&'static assay_workloads::KindEntry| {
            metrics::of_kind(kind).any(|other| other.name == name)
        };
        let kinds = assay_workloads::KINDS.iter().copied().filter(has_metric);
        let kinds: Vec<&'static str> = kinds.map(|kind| kind.about.name).collect();
        let fits = |unit: &&str| {
            name.strip_suffix(*unit).is_some_and(|stem| stem.is_empty() || stem.ends_with('_'))
        };
        let unit =
            UNITS.split(' ').find(fits).map_or("number".to_owned(), |unit| unit.replace('_', " "));
        let mut entry =
            RegistryEntry::new(name, metric.summary, "").fact("Better", metric.better.words());
        entry.cells.insert(0, format!("{:?}", metric.better).to_lowercase());
        entry.item["better"] = json!(metric.better);
        entry.group = match (metric.by, kinds.as_slice()) {
            (Some(probe), _) => probe,
            (None, [kind]) => kind,
            (None, _) => "",
        };
        let entry = entry.fact("Unit", unit).fact("Workloads", kinds.join(", "));
        let entry = entry.fact("Probe", metric.by.unwrap_or_default());
        entry.fact("Example", format!("assay plan STUDY --set primary_metric={name}"))
    };
    let mut entries: Vec<RegistryEntry> = metrics::all().map(entry).collect();
    // Metrics of several workloads have no group and come first.
    entries.sort_by_key(|entry| entry.group);
    entries
}

pub(super) fn probes(system: &dyn System) -> Vec<RegistryEntry> {
    let entry = |probe: &probes::Entry| {
        let here = probe.here.map(|look| look(system));
        let (cell, found) = match &here {
            Some(Presence::Present(_)) => ("yes", "yes".to_owned()),
            Some(Presence::Absent(reason)) => ("no", format!("no: {reason}")),
            None => ("target", "if the target supports it".to_owned()),
        };
        let About { name, summary, text } = probe.about;
        let mut entry = RegistryEntry::new(name, summary, text).fact("Here", found);
        entry.cells.insert(0, cell.to_owned());
        entry.item["metrics"] = json!(probe.metrics());
        if let Some(here) = here {
            entry.item["here"] = json!(here);
        }
        let entry = entry.fact("Metrics", probe.metrics().join(", "));
        entry.fact("Rules", probe.rules.join(", ")).fact("Example", "assay show --full")
    };
    probes::by_name().into_iter().map(entry).collect()
}

pub(super) fn rules() -> Vec<RegistryEntry> {
    let abouts = rules::RULES.iter().map(|rule| rule.about);
    let mut entries = described(
        abouts.chain(inference::COMPARED.iter().map(|about| **about)),
        "assay show --full",
    );
    for entry in &mut entries {
        // The first two facts are the summary, here a condition, and the text.
        entry.facts[0].0 = "Triggered when";
        entry.facts.insert(2, ("Next step", rules::next_step(&entry.name).to_owned()));
    }
    entries
}

pub(super) fn drives(system: &dyn System) -> Vec<RegistryEntry> {
    let entry = |asked: inventory::DriveReport| {
        let drive = &asked.drive;
        let shown = |it: &Presence<String>| it.value().cloned().unwrap_or_else(|| "-".to_owned());
        let link = drive.link.value().map(|link| link.name.clone());
        let mut facts = vec![
            ("Size", units::size(drive.size_bytes)),
            ("Model", shown(&drive.model)),
            ("Link", link.unwrap_or_else(|| shown(&drive.bus))),
            ("Turns", inventory::turns_cell(drive)),
            ("Scheduler", shown(&drive.scheduler)),
            ("Health", inventory::health_cell(&asked)),
            ("ID", drive.id.clone()),
        ];
        let cells = facts.iter().map(|(_, text)| text.clone()).collect();
        facts.push(("Example", format!("assay plan check /dev/{}", drive.name)));
        RegistryEntry { name: drive.name.clone(), group: "", cells, facts, item: json!(asked) }
    };
    inventory::drives(system).into_iter().map(entry).collect()
}
