//! The platforms, and the results measured on each.

use assay_core::failure::{Failure, Outcome};
use assay_study::findings::facts::{PlaceSort, Unknown};
use assay_study::findings::places::{NameSource, PLACE, Placed, PlacedResult};
use assay_study::findings::{EnvironmentFacts, Findings, Measurement};
use assay_study::results::plan::{Arm, arm_words};
use assay_study::results::surroundings::facts::Activity;

use super::super::verdicts::words::listed;
use super::{LabeledResult, words};
use crate::inference::distinct;

pub(super) struct Platform {
    pub placed: Placed,
    /// One entry per result; arms do not include the platform.
    pub results: Vec<Findings>,
    /// Whether an imported table compares its other platforms with this one.
    pub is_table_baseline: bool,
}

impl Platform {
    pub fn workloads(&self) -> Vec<&str> {
        distinct(self.measured().map(|cell| cell.workload.as_str()))
    }

    /// Configurations of its workloads in words, if a factor varies.
    pub fn configurations(&self) -> Vec<String> {
        let words = self.measured().map(|cell| arm_words(&cell.configuration));
        distinct(words.filter(|words| !words.is_empty()))
    }

    fn measured(&self) -> impl Iterator<Item = &Measurement> {
        let cells = self.results.iter().flat_map(|one| &one.measurements);
        cells.filter(|cell| cell.n > 0 && cell.primary)
    }
}

/// Groups results by platform; an error if a result is given twice, or its platform is unknown.
pub(super) fn collect_platforms(results: &[LabeledResult]) -> Outcome<Vec<Platform>> {
    let ids: Vec<&String> = results.iter().map(|result| &result.findings.study.id).collect();
    if let Some((_, id)) = ids.iter().enumerate().find(|(index, id)| ids[..*index].contains(id)) {
        return Err(Failure::mistake(format!("{id} was given twice; give each result once")));
    }
    let mut platforms: Vec<Platform> = Vec::new();
    for result in results {
        for platform in platforms_of(result)? {
            add_platform(&mut platforms, platform);
        }
    }
    make_names_unique(&mut platforms);
    Ok(platforms)
}

/// The platforms of one result: the levels of its factor `place`, else the platform that it ran on.
fn platforms_of(result: &LabeledResult) -> Outcome<Vec<Platform>> {
    let findings = &result.findings;
    let levels = place_levels(findings);
    if levels.is_empty() {
        return Ok(vec![platform_of_run(result)?]);
    }
    if let Some(label) = &result.label {
        return Err(Failure::mistake(format!(
            "{} already contains platform names ({}); remove the label {label}",
            findings.study.id,
            listed(levels.iter().map(String::as_str))
        )));
    }
    let baseline = findings.comparisons.iter().find_map(|found| found.baseline.get(PLACE));
    let platforms = levels.iter().map(|level| Platform {
        placed: describe_place(findings, level.clone(), NameSource::Table, None),
        results: vec![at_level(findings, level)],
        is_table_baseline: baseline == Some(level),
    });
    Ok(platforms.collect())
}

/// Describes a platform; `found` are the name and kind in its records.
fn describe_place(
    findings: &Findings,
    name: String,
    named: NameSource,
    found: Option<(String, PlaceSort)>,
) -> Placed {
    let study = &findings.study;
    let (found, kind) = found.unzip();
    Placed {
        name,
        named,
        kind,
        found,
        machine: EnvironmentFacts {
            targets: Vec::new(),
            activity: Activity::default(),
            ..findings.environment.clone()
        },
        results: vec![PlacedResult { id: study.id.clone(), started: study.started.clone() }],
    }
}

fn place_levels(findings: &Findings) -> Vec<String> {
    if let Some(factor) = findings.study.factors.iter().find(|factor| factor.name == PLACE) {
        return factor.levels.clone();
    }
    let cells = findings.measurements.iter();
    distinct(cells.filter_map(|cell| cell.configuration.get(PLACE)).cloned())
}

/// The part of a result at one level of the factor `place`, without that factor.
fn at_level(findings: &Findings, level: &String) -> Findings {
    let is_at_level = |arm: &Arm| arm.get(PLACE).is_none_or(|place| place == level);
    let mut part = findings.clone();
    part.measurements.retain(|cell| is_at_level(&cell.configuration));
    part.absent.retain(|absent| is_at_level(&absent.configuration));
    part.measurements.iter_mut().for_each(|cell| drop(cell.configuration.remove(PLACE)));
    part.absent.iter_mut().for_each(|absent| drop(absent.configuration.remove(PLACE)));
    part.comparisons.clear();
    part
}

/// The platform that a result ran on; an error if neither the user nor the result names it.
fn platform_of_run(result: &LabeledResult) -> Outcome<Platform> {
    let findings = &result.findings;
    let found = recorded_platform(&findings.environment);
    let named = if result.label.is_some() { NameSource::Given } else { NameSource::Found };
    let name = result.label.clone().or_else(|| Some(found.as_ref()?.0.clone()));
    let name = name.ok_or_else(|| {
        let id = &findings.study.id;
        Failure::mistake(format!(
            "{id} does not record its platform; use --platform {id}=NAME, or store the name with assay note {id} \
             --platform NAME"
        ))
    })?;
    let placed = describe_place(findings, name, named, found);
    Ok(Platform { placed, results: vec![findings.clone()], is_table_baseline: false })
}

/// Name and kind of a platform from its records. Versions before places recorded less.
fn recorded_platform(environment: &EnvironmentFacts) -> Option<(String, PlaceSort)> {
    if let Some(place) = &environment.platform {
        return Some((place.name.clone(), place.kind));
    }
    if environment.unknown.contains(&Unknown::Virtualisation) {
        return None;
    }
    Some(match environment.virtualization.as_str() {
        NO_GUEST => ("bare metal".to_owned(), PlaceSort::BareMetal),
        guest => (guest.to_owned(), PlaceSort::Hypervisor),
    })
}

/// Value for bare metal before Assay recorded platforms.
const NO_GUEST: &str = "none";

/// Adds a platform, or its results to the same platform. A found name is unique to a machine, a given one is not.
fn add_platform(platforms: &mut Vec<Platform>, platform: Platform) {
    let is_same = |known: &&mut Platform| {
        let (one, other) = (&known.placed, &platform.placed);
        let both_found = [one.named, other.named].iter().all(|named| *named == NameSource::Found);
        one.name == other.name && (!both_found || is_same_machine(&one.machine, &other.machine))
    };
    let Some(known) = platforms.iter_mut().find(is_same) else {
        platforms.push(platform);
        return;
    };
    known.results.extend(platform.results);
    known.placed.results.extend(platform.placed.results);
}

/// Tolerance for equal memory: the kernel reserves some, depending on its version.
const SAME_MEMORY: f64 = 0.1;

/// Whether two results come from similar machines.
pub(super) fn is_same_machine(one: &EnvironmentFacts, other: &EnvironmentFacts) -> bool {
    let has_other_memory = one.memory_bytes.zip(other.memory_bytes).is_some_and(|(one, other)| {
        let (one, other) = (one as f64, other as f64);
        (one - other).abs() > SAME_MEMORY * one.max(other)
    });
    one.cpu == other.cpu && one.cpus == other.cpus && !has_other_memory
}

/// Appends to the names of platforms with the same name the first fact that differs between all of them.
fn make_names_unique(platforms: &mut [Platform]) {
    let facts: [fn(&Platform) -> String; 4] = [
        |platform| words::processors(platform.placed.machine.cpus),
        |platform| platform.placed.machine.cpu.clone(),
        |platform| words::memory(platform.placed.machine.memory_bytes),
        |platform| platform.placed.results.first().map(|one| one.id.clone()).unwrap_or_default(),
    ];
    let names: Vec<String> =
        platforms.iter().map(|platform| platform.placed.name.clone()).collect();
    for name in &names {
        let same: Vec<usize> =
            (0..platforms.len()).filter(|index| names[*index] == *name).collect();
        if same.len() < 2 {
            continue;
        }
        for fact in facts {
            let texts: Vec<String> = same.iter().map(|index| fact(&platforms[*index])).collect();
            if distinct(texts.iter()).len() == same.len() {
                for (index, text) in same.iter().zip(texts) {
                    platforms[*index].placed.name = format!("{name} ({text})");
                }
                break;
            }
        }
    }
}
