//! Stored results: finds one by the user's input, and opens it.

pub mod acting;
pub mod collection;
pub mod commands;
pub mod days;
mod evidence;
pub mod iolog;
pub mod parcel;
pub mod progress;

use std::path::{Path, PathBuf};

use assay_analysis::import::{self, Imported, ImportedFile};
use assay_analysis::inference;
use assay_analysis::inference::days::Days;
use assay_analysis::inference::places;
use assay_core::catalogue::About;
use assay_core::failure::{Failure, Outcome};
use assay_core::outside;
use assay_machine::system::{System, identity};
use assay_runner::run::Finished;
use assay_study::findings::Findings;
use assay_study::findings::facts::Unknown;
use assay_study::findings::{Check, EnvironmentFacts, StudyFacts};
use assay_study::results::bundle::{self, Stored};
use assay_study::results::environment::Environment;
use assay_study::results::foreign::{self, ImportMark};
use assay_study::results::headline;
use assay_study::results::imported::{self, Import, StoredImport};
use assay_study::results::plan::Plan;

pub use evidence::{every_trial, evidence_at};

/// Formats made of a result's files instead of its findings.
pub const FORMATS_OF_FILES: [About; 2] = [parcel::ENTRY, iolog::ENTRY];
/// Maximum number of results listed for one title.
const NAMED: usize = 5;

/// Returns the directory of a result by a path, an ID or the start of one, or of the newest.
pub fn find(system: &dyn System, wanted: Option<&str>) -> Outcome<PathBuf> {
    if let Some(path) = wanted.map(Path::new).filter(|path| bundle::is_bundle(system, path)) {
        return system.canonical(path).map_err(|error| refused!("{}: {error}", path.display()));
    }
    match wanted {
        Some(id) => match find_kept(system, id) {
            Ok(directory) => Ok(directory),
            Err(failure) => titled(system, id).unwrap_or(Err(failure)),
        },
        None => newest(system),
    }
}

/// Returns a result by the user's input, with the user's name for its platform.
///
/// # Errors
/// Fails like [`find`], and for invalid results.
pub fn brought(system: &dyn System, word: &str) -> Outcome<places::LabeledResult> {
    let directory = find(system, Some(word))?;
    let findings = findings_at(system, &directory)?;
    comparable(&findings)?;
    Ok(places::LabeledResult { findings, label: bundle::label(system, &directory).place })
}

/// Returns all result directories that this user sees, newest first, for equal IDs the user's own first.
pub fn kept(system: &dyn System) -> Outcome<Vec<PathBuf>> {
    let mut directories = Vec::new();
    for results in identity::results_directories(system)? {
        for id in bundle::ids(system, &results) {
            directories.push(results.join(id));
        }
    }
    directories.sort_by(|left, right| right.file_name().cmp(&left.file_name()));
    Ok(directories)
}

/// Returns the result with a title; `None` if there is none.
fn titled(system: &dyn System, wanted: &str) -> Option<Outcome<PathBuf>> {
    let has_title = |directory: &PathBuf| {
        bundle::listed(system, directory).is_ok_and(|listed| listed.title == wanted)
    };
    let matching: Vec<PathBuf> = kept(system).ok()?.into_iter().filter(has_title).collect();
    match ours_first(system, matching).as_slice() {
        [] => None,
        [directory] => Some(Ok(directory.clone())),
        several => {
            let ids: Vec<_> =
                several.iter().filter_map(|path| path.file_name()?.to_str()).take(NAMED).collect();
            Some(Err(mistake!(
                "`{wanted}` is the title of {} results; use an ID: {}",
                several.len(),
                ids.join(", ")
            )))
        }
    }
}

/// Returns only results measured here if one matches: an imported result hides none of them.
fn ours_first(system: &dyn System, matching: Vec<PathBuf>) -> Vec<PathBuf> {
    let (brought, ours): (Vec<_>, Vec<_>) =
        matching.into_iter().partition(|directory| foreign::is_one(system, directory));
    if ours.is_empty() { brought } else { ours }
}

fn newest(system: &dyn System) -> Outcome<PathBuf> {
    let kept = kept(system)?;
    let newest = kept.iter().find(|directory| !foreign::is_one(system, directory));
    let results = identity::results_directory(system)?;
    newest.cloned().ok_or_else(|| {
        let place = results.display();
        Failure::mistake(if kept.is_empty() {
            format!("no result in {place} yet; run assay check")
        } else {
            format!("{place} contains only foreign results; give a result ID (see assay list)")
        })
    })
}

/// Returns the directory of a stored result by its ID, or the start or end of one. Accepts no paths, which could name
/// something outside the results.
pub fn find_kept(system: &dyn System, wanted: &str) -> Outcome<PathBuf> {
    let kept = kept(system)?;
    if let Some(directory) = kept.iter().find(|directory| bundle::id_of(directory) == wanted) {
        return Ok(directory.clone());
    }
    let mut matching = kept;
    matching.retain(|directory| is_short_for(wanted, &bundle::id_of(directory)));
    let matching = ours_first(system, matching);
    match matching.as_slice() {
        [directory] if !wanted.is_empty() => Ok(directory.clone()),
        several @ [_, _, ..] => {
            Err(mistake!("`{wanted}` matches {} results; use more of the ID", several.len()))
        }
        _ => Err(mistake!(
            "no result named `{wanted}`; see `assay list`; `assay show` shows the latest"
        )),
    }
}

pub fn is_short_for(wanted: &str, id: &str) -> bool {
    id.starts_with(wanted) || id.ends_with(wanted)
}

pub fn findings_at(system: &dyn System, directory: &Path) -> Outcome<Findings> {
    let mut findings = judged_at(system, directory)?;
    findings.checks.extend(foreign::mark(system, directory).as_ref().map(brought_here));
    Ok(findings)
}

/// Stores what `assay list` shows of a result. A failure only removes one line from lists.
pub fn keep_headline(system: &dyn System, directory: &Path, findings: &Findings) {
    let _ = headline::keep(system, directory, &assay_report::document::headline(findings));
}

fn brought_here(mark: &ImportMark) -> Check {
    let [id, file] = [&mark.id, &mark.file].map(|text| outside::spelled(text));
    let text = format!(
        "foreign: measured on another machine as {id} and added from {file} on {}; the numbers are \
         unverified, and Assay does not apply the settings",
        mark.added.chars().take(10).collect::<String>()
    );
    Check::new("foreign", text)
}

fn judged_at(system: &dyn System, directory: &Path) -> Outcome<Findings> {
    if imported::is_one(system, directory) {
        let mut stored = imported::read(system, directory)?;
        let contents = std::mem::take(&mut stored.contents);
        let imported = read_import(&stored.about, contents, &stored.id)?;
        return Ok(findings_of_import(&stored, imported));
    }
    let stored = bundle::frame(system, directory)?;
    evidence::each_workload(system, directory, &stored, |_| Ok(()))
}

pub fn findings_of(stored: &Stored) -> Findings {
    inference::findings(facts_of(stored), &stored.plan, &stored.environment, &stored.trials)
}

fn facts_of(stored: &Stored) -> StudyFacts {
    let race_ratio = stored.study.race_ratio.as_ref().and_then(|text| text.parse().ok());
    StudyFacts {
        id: stored.id.clone(),
        title: stored.title().to_owned(),
        kind: stored.study.kind().to_owned(),
        notes: stored.label.notes.clone(),
        confirms: stored.study.confirms.clone(),
        race_ratio: race_ratio.filter(|ratio: &f64| ratio.is_finite() && *ratio > 0.0),
        lead_figure: stored.study.lead_figure.clone(),
        stopped_by: stored.ended.clone().filter(|why| !why.is_empty()),
        ..unnamed(&stored.plan, &stored.environment)
    }
}

pub fn unnamed(plan: &Plan, environment: &Environment) -> StudyFacts {
    StudyFacts {
        id: String::new(),
        title: String::new(),
        kind: "study".to_owned(),
        plan_sha256: plan.sha256.clone(),
        started: environment.started.clone(),
        seed: plan.seed,
        ..StudyFacts::default()
    }
}

pub fn findings_of_run(finished: Finished) -> Findings {
    findings_of(&Stored {
        id: finished.id,
        study: finished.study,
        plan: finished.plan,
        environment: finished.environment,
        trials: finished.trials,
        label: bundle::Label::default(),
        ended: finished.ended,
    })
}

/// Reads the numbers of imported files; messages call a table `name`.
fn read_import(about: &Import, contents: Vec<Vec<u8>>, name: &str) -> Outcome<Imported> {
    let importer = import::find(&about.importer).ok_or_else(|| {
        mistake!(
            "{name}: this version of assay has no importer {}; use the version that imported the data, or a newer one",
            about.importer
        )
    })?;
    let imported_file = |(index, bytes): (usize, Vec<u8>)| {
        let file = about.files.get(index);
        ImportedFile {
            name: file.map_or_else(|| name.to_owned(), |file| file.file.clone()),
            arm: file.map(|file| file.arm.clone()).unwrap_or_default(),
            bytes,
        }
    };
    let files: Vec<ImportedFile> = contents.into_iter().enumerate().map(imported_file).collect();
    import::read(importer, &files, &import::Options::of(about))
}

/// Returns the findings of imported numbers. They include the importer's assumptions.
pub fn findings_of_import(stored: &StoredImport, imported: Imported) -> Findings {
    let study = StudyFacts {
        id: stored.id.clone(),
        title: stored.title().to_owned(),
        kind: "import".to_owned(),
        plan_sha256: stored.about.sha256.clone(),
        started: stored.about.imported.clone(),
        seed: 0,
        notes: stored.label.notes.clone(),
        ..StudyFacts::default()
    };
    let unknown = || "not recorded".to_owned();
    let environment = EnvironmentFacts {
        assay: stored.about.assay.clone(),
        kernel: unknown(),
        cpu: unknown(),
        virtualization: unknown(),
        unknown: Unknown::ALL.to_vec(),
        ..EnvironmentFacts::default()
    };
    let mut findings = inference::judge(study, environment, imported.measurements);
    let notes = imported.notes.into_iter();
    findings.checks.extend(notes.map(|text| Check::new("import", text)));
    findings
}

/// Compares later results with the first one, with the given day-to-day variation.
pub fn compared(results: &[Findings], days: Days) -> Outcome<Findings> {
    let Some((first, later)) = results.split_first() else {
        return Err(mistake!("nothing to compare; give two results"));
    };
    if let Some(same) = later.iter().find(|other| other.study.id == first.study.id) {
        return Err(mistake!(
            "cannot compare {} with itself; give two different results",
            same.study.id
        ));
    }
    results.iter().try_for_each(comparable)?;
    not_empty(inference::compare(first, later, days), later.first().map(|other| (first, other)))
}

/// Refuses a race: selection favors lucky settings, and a comparison across days would not show it.
pub fn comparable(found: &Findings) -> Outcome<()> {
    if found.race.is_none() {
        return Ok(());
    }
    let id = &found.study.id;
    Err(mistake!(
        "cannot compare {id}, because it is a race; run assay advise confirm {id} and compare the \
         fresh trials of the winner"
    ))
}

/// Compares several results per side; `margin` is a share.
pub fn compared_sides(
    earlier: &[Findings],
    later: &[Findings],
    margin: Option<f64>,
) -> Outcome<Findings> {
    earlier.iter().chain(later).try_for_each(comparable)?;
    let findings = inference::compare_sides(earlier, later, margin);
    let findings = findings.ok_or_else(|| mistake!("nothing to compare"))?;
    not_empty(findings, earlier.first().zip(later.first()))
}

fn not_empty(findings: Findings, sides: Option<(&Findings, &Findings)>) -> Outcome<Findings> {
    if findings.comparisons.is_empty() {
        let apart = sides.and_then(|(one, other)| first_difference(one, other)).unwrap_or_default();
        return Err(mistake!(
            "nothing to compare: the results have no common workload with the same settings{apart}"
        ));
    }
    Ok(findings)
}

/// Returns the first setting in which a common workload of two results differs, or else a workload that only one has.
fn first_difference(first: &Findings, second: &Findings) -> Option<String> {
    for cell in first.measurements.iter().filter(|cell| cell.primary) {
        let name = &cell.workload;
        let mut primary = second.measurements.iter().filter(|cell| cell.primary);
        let Some(later) = primary.find(|later| later.workload == *name) else {
            return Some(format!("; only {} has {name}", first.study.id));
        };
        let [left, right] = [cell, later].map(|cell| &cell.configuration);
        for setting in left.keys().chain(right.keys()) {
            let [was, is] = [left, right].map(|arm| arm.get(setting).map_or("unset", |set| set));
            if was != is {
                return Some(format!("; {name}: {setting} is {was} and {is}"));
            }
        }
    }
    None
}
