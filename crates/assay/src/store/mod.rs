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
use assay_study::findings::facts::Unknown;
use assay_study::findings::{Check, EnvironmentFacts, Findings, StudyFacts};
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

/// Returns the directory of a result by a path, an ID, the start or end of one, or a title; by default the newest.
pub fn find(system: &dyn System, wanted: Option<&str>) -> Outcome<PathBuf> {
    let Some(wanted) = wanted else { return newest(system) };
    let path = Path::new(wanted);
    if bundle::is_bundle(system, path) {
        return system.canonical(path).map_err(|error| refused!("{}: {error}", path.display()));
    }
    let by_id = find_kept(system, wanted);
    if by_id.is_ok() {
        return by_id;
    }
    // If no title matches either, the error is about the ID.
    find_by_title(system, wanted).unwrap_or(by_id)
}

/// Returns a result by the user's input, with the user's name for its platform. Fails like [`find`], and for invalid
/// results.
pub fn find_labeled(system: &dyn System, word: &str) -> Outcome<places::LabeledResult> {
    let directory = find(system, Some(word))?;
    let findings = findings_at(system, &directory)?;
    check_comparable(&findings)?;
    Ok(places::LabeledResult { findings, label: bundle::label(system, &directory).place })
}

/// Returns all result directories that this user sees, newest first, for equal IDs the user's own first.
pub fn all_results(system: &dyn System) -> Outcome<Vec<PathBuf>> {
    let mut directories = Vec::new();
    for results in identity::results_directories(system)? {
        for id in bundle::ids(system, &results) {
            directories.push(results.join(id));
        }
    }
    // IDs begin with the date; the sort is stable.
    directories.sort_by(|left, right| right.file_name().cmp(&left.file_name()));
    Ok(directories)
}

/// Returns the result with a title, or an error if several have this title; `None` if there is none.
fn find_by_title(system: &dyn System, wanted: &str) -> Option<Outcome<PathBuf>> {
    let mut matching = all_results(system).ok()?;
    matching.retain(|directory| {
        bundle::listed(system, directory).is_ok_and(|listed| listed.title == wanted)
    });
    match prefer_local(system, matching).as_slice() {
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

/// Returns the results measured here, or else all: an imported result does not make the name of a local one ambiguous.
fn prefer_local(system: &dyn System, matching: Vec<PathBuf>) -> Vec<PathBuf> {
    let (imported, local): (Vec<_>, Vec<_>) =
        matching.into_iter().partition(|directory| foreign::is_one(system, directory));
    if local.is_empty() { imported } else { local }
}

/// Returns the newest result that was measured here.
fn newest(system: &dyn System) -> Outcome<PathBuf> {
    let results = all_results(system)?;
    if let Some(newest) = results.iter().find(|directory| !foreign::is_one(system, directory)) {
        return Ok(newest.clone());
    }
    let place = identity::results_directory(system)?;
    let place = place.display();
    Err(Failure::mistake(if results.is_empty() {
        format!("no result in {place} yet; run assay check")
    } else {
        format!("{place} contains only foreign results; give a result ID (see assay list)")
    }))
}

/// Returns the directory of a stored result by its ID, or the start or end of one; never by a path.
pub fn find_kept(system: &dyn System, wanted: &str) -> Outcome<PathBuf> {
    let mut results = all_results(system)?;
    if let Some(directory) = results.iter().find(|directory| bundle::id_of(directory) == wanted) {
        return Ok(directory.clone());
    }
    results.retain(|directory| is_short_for(wanted, &bundle::id_of(directory)));
    match prefer_local(system, results).as_slice() {
        // An empty name matches each result.
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

/// Analyzes a stored result or import; adds a check to foreign ones.
pub fn findings_at(system: &dyn System, directory: &Path) -> Outcome<Findings> {
    let mut findings = if imported::is_one(system, directory) {
        let mut stored = imported::read(system, directory)?;
        let contents = std::mem::take(&mut stored.contents);
        findings_of_import(&stored, read_import(&stored.about, contents, &stored.id)?)
    } else {
        let stored = bundle::frame(system, directory)?;
        evidence::each_workload(system, directory, &stored, |_| Ok(()))?
    };
    findings.checks.extend(foreign::mark(system, directory).as_ref().map(foreign_check));
    Ok(findings)
}

/// Stores what `assay list` shows of a result. A failure only removes one line from lists.
pub fn keep_headline(system: &dyn System, directory: &Path, findings: &Findings) {
    let _ = headline::keep(system, directory, &assay_report::document::headline(findings));
}

/// Stores what `assay list` shows of a result that can be read.
pub fn update_headline(system: &dyn System, directory: &Path) {
    if let Ok(findings) = findings_at(system, directory) {
        keep_headline(system, directory, &findings);
    }
}

/// Returns the check that marks the findings of a foreign result.
fn foreign_check(mark: &ImportMark) -> Check {
    let [id, file] = [&mark.id, &mark.file].map(|text| outside::spelled(text));
    let text = format!(
        "foreign: measured on another machine as {id} and added from {file} on {}; the numbers are \
         unverified, and Assay does not apply the settings",
        // The date of an RFC 3339 time.
        mark.added.chars().take(10).collect::<String>()
    );
    Check::new("foreign", text)
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
        ..unnamed_facts(&stored.plan, &stored.environment)
    }
}

/// Returns the facts of a study without a stored result.
pub fn unnamed_facts(plan: &Plan, environment: &Environment) -> StudyFacts {
    StudyFacts {
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

/// Reads the numbers of imported files; `name` is that of a file without a recorded name.
fn read_import(about: &Import, contents: Vec<Vec<u8>>, name: &str) -> Outcome<Imported> {
    let importer = import::find(&about.importer).ok_or_else(|| {
        mistake!(
            "{name}: this version of assay has no importer {}; use the version that imported the data, or a newer one",
            about.importer
        )
    })?;
    let mut files = Vec::new();
    for (index, bytes) in contents.into_iter().enumerate() {
        let recorded = about.files.get(index);
        files.push(ImportedFile {
            name: recorded.map_or_else(|| name.to_owned(), |file| file.file.clone()),
            arm: recorded.map(|file| file.arm.clone()).unwrap_or_default(),
            bytes,
        });
    }
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
    findings.checks.extend(imported.notes.into_iter().map(|text| Check::new("import", text)));
    findings
}

/// Compares later results with the first one, with the given day-to-day variation.
pub fn compare(results: &[Findings], days: Days) -> Outcome<Findings> {
    let Some((first, later)) = results.split_first() else {
        return Err(mistake!("nothing to compare; give two results"));
    };
    if let Some(same) = later.iter().find(|other| other.study.id == first.study.id) {
        return Err(mistake!(
            "cannot compare {} with itself; give two different results",
            same.study.id
        ));
    }
    results.iter().try_for_each(check_comparable)?;
    let findings = inference::compare(first, later, days);
    check_comparisons(&findings, Some(first), later.first())?;
    Ok(findings)
}

/// Refuses a race: selection favors lucky settings, and a comparison across days would not show it.
pub fn check_comparable(findings: &Findings) -> Outcome<()> {
    if findings.race.is_none() {
        return Ok(());
    }
    let id = &findings.study.id;
    Err(mistake!(
        "cannot compare {id}, because it is a race; run assay advise confirm {id} and compare the \
         fresh trials of the winner"
    ))
}

/// Compares several results per side; `margin` is a share.
pub fn compare_sides(
    earlier: &[Findings],
    later: &[Findings],
    margin: Option<f64>,
) -> Outcome<Findings> {
    earlier.iter().chain(later).try_for_each(check_comparable)?;
    let findings = inference::compare_sides(earlier, later, margin);
    let findings = findings.ok_or_else(|| mistake!("nothing to compare"))?;
    check_comparisons(&findings, earlier.first(), later.first())?;
    Ok(findings)
}

/// Fails without comparisons; the message names a difference of two compared results.
fn check_comparisons(
    findings: &Findings,
    first: Option<&Findings>,
    second: Option<&Findings>,
) -> Outcome<()> {
    if !findings.comparisons.is_empty() {
        return Ok(());
    }
    let difference = first.zip(second).and_then(|(first, second)| first_difference(first, second));
    Err(mistake!(
        "nothing to compare: the results have no common workload with the same settings{}",
        difference.unwrap_or_default()
    ))
}

/// Returns the first difference of two results: a workload that only the first has, or a setting of a common workload.
fn first_difference(first: &Findings, second: &Findings) -> Option<String> {
    for measured in first.measurements.iter().filter(|cell| cell.primary) {
        let name = &measured.workload;
        let mut candidates = second.measurements.iter().filter(|cell| cell.primary);
        let Some(other) = candidates.find(|cell| cell.workload == *name) else {
            return Some(format!("; only {} has {name}", first.study.id));
        };
        for setting in measured.configuration.keys().chain(other.configuration.keys()) {
            let [left, right] = [measured, other]
                .map(|cell| cell.configuration.get(setting).map_or("unset", |level| level));
            if left != right {
                return Some(format!("; {name}: {setting} is {left} and {right}"));
            }
        }
    }
    None
}
