//! `assay list`: the entries of each registry, all of them or one.

use clap::{Args, ValueEnum};
use serde_json::json;

use super::registries::{self, RegistryEntry, described};
use super::{meant, output, resume, schemas};
use crate::store::{self, FORMATS_OF_FILES, parcel};
use assay_analysis::import::IMPORTERS;
use assay_core::catalogue::words::WORDS;
use assay_core::failure::{Failure, Outcome};
use assay_machine::system::{System, identity};
use assay_report::exporters::EXPORTERS;
use assay_report::figures::FIGURES;
use assay_report::{table, wrap};
use assay_study::file::words;
use assay_study::results::bundle::{self, Listed};
use assay_workloads::metrics;

/// List results, drives, presets, requirements, metrics, rules and the glossary
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay list                        results, latest first
  assay list --drive vda            only results of this drive
  assay list drives                 drives with health and IDs for --destroy
  assay list requirements           published requirements, bounds and sources
  assay list factors                settings that a study can vary
  assay list factors scheduler      levels and needs of one factor
  assay list rules                  rules that rate each number
  assay list glossary               terms of reports
  assay list schema findings        JSON Schema of assay show --json")]
pub struct ListArguments {
    /// Kind of list
    #[arg(value_enum, default_value_t = ListKind::Results)]
    kind: ListKind,
    /// Explain only this entry, e.g. the factor scheduler [default of schema: study]
    #[arg(id = "entry", value_name = "NAME")]
    name: Option<String>,
    /// List only results of this drive, filesystem or target (or part of the name)
    #[arg(long, value_name = "NAME")]
    drive: Option<String>,
    /// List only results of this preset
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ListKind {
    /// Stored results, latest first
    Results,
    /// Drives of this machine
    Drives,
    /// Studies that come with Assay
    Presets,
    /// Requirements for `assay check --for`
    Requirements,
    /// Workloads of `assay check`
    Workloads,
    /// Settings that a study can vary
    Factors,
    /// Metrics and their better directions
    Metrics,
    /// Counters that Assay reads around each trial
    Probes,
    /// Rules that rate the trust of each number
    Rules,
    /// Kinds of files that `assay import` reads
    Importers,
    /// Formats that `assay export` writes
    Exporters,
    /// Figures of reports
    Figures,
    /// Terms of reports
    Glossary,
    /// JSON Schema of study files, or of the JSON output of show or watch
    Schema,
}

impl ListKind {
    /// Headings of its table; a `>` in front puts a column to the right.
    fn columns(self) -> &'static [&'static str] {
        match self {
            // An ID begins with the date.
            Self::Results => &["ID", "TARGET", "TRUST", "RESULT"],
            Self::Drives => {
                &["DRIVE", ">SIZE", "MODEL", "LINK", "TURNS", "SCHEDULER", "HEALTH", "ID"]
            }
            Self::Presets => &["NAME", ">TIME", "ROOT", "WRITES", "QUESTION"],
            Self::Factors => &["FACTOR", "LEVELS", "DESCRIPTION"],
            Self::Metrics => &["METRIC", "BETTER", "DESCRIPTION"],
            Self::Probes => &["PROBE", "HERE", "DESCRIPTION"],
            _ => &["NAME", "DESCRIPTION"],
        }
    }

    pub(super) fn entries(self, system: &dyn System) -> Outcome<Vec<RegistryEntry>> {
        let formats = EXPORTERS.iter().map(|it| it.about).chain(FORMATS_OF_FILES);
        Ok(match self {
            Self::Results => results(system, &|_| true)?,
            Self::Drives => registries::drives(system),
            Self::Presets => registries::presets(system)?,
            Self::Requirements => registries::requirements()?,
            Self::Workloads => registries::workloads()?,
            Self::Factors => registries::factors()?,
            Self::Metrics => registries::metrics(),
            Self::Probes => registries::probes(system),
            Self::Rules => registries::rules(),
            Self::Importers => described(IMPORTERS.iter().map(|it| it.about), "assay import FILE"),
            Self::Exporters => described(formats, "assay export ID --format NAME"),
            Self::Figures => described(FIGURES.iter().map(|it| it.about()), "assay report ID"),
            Self::Glossary => described(WORDS.iter().map(|word| word.about), "assay show"),
            Self::Schema => schemas::entries(),
        })
    }
}

pub fn run(system: &dyn System, arguments: &ListArguments) -> Outcome<()> {
    let kind = arguments.kind;
    let entries = match kind {
        ListKind::Results => results(system, &result_filter(arguments)?)?,
        _ => kind.entries(system)?,
    };
    // Without a name, prints the most useful schema instead of a list.
    let default = (kind == ListKind::Schema).then_some("study");
    if let Some(name) = arguments.name.as_deref().or(default) {
        return print_entry(system, arguments, &entries, name);
    }
    if arguments.json {
        let items: Vec<_> = entries.iter().map(|entry| &entry.item).collect();
        let kind = format!("{kind:?}").to_lowercase();
        output::json(&json!({ "format": "assay-list/1", "kind": kind, "items": items }));
    } else if !entries.is_empty() {
        output::text(&rows(system, kind, &entries));
        if entries.iter().any(|entry| entry.item["interrupted"] == true)
            && let Some(hint) = resume::hint(system)
        {
            output::message(&hint);
        }
    } else if kind == ListKind::Drives {
        output::message("no drive found");
    } else if arguments.drive.is_some() || arguments.preset.is_some() {
        output::message("no result for this drive and preset; assay list shows all");
    } else {
        let place = identity::results_directory(system)?;
        output::message(&format!("no result in {} yet; assay check creates one", place.display()));
    }
    Ok(())
}

fn print_entry(
    system: &dyn System,
    arguments: &ListArguments,
    entries: &[RegistryEntry],
    name: &str,
) -> Outcome<()> {
    let kind = arguments.kind;
    let found = match kind {
        ListKind::Results => store::find_kept(system, name)
            .and_then(|directory| find(kind, entries, &bundle::id_of(&directory))),
        _ => find(kind, entries, name),
    };
    let entry = found.map_err(|failure| elsewhere(system, name, failure))?;
    if arguments.json || kind == ListKind::Schema {
        output::json(&entry.item);
    } else {
        output::text(&explained(entry, output::columns(system)));
    }
    Ok(())
}

/// Returns the entry with a name in one of its accepted forms, or else the only entry that contains the name.
fn find<'e>(kind: ListKind, known: &'e [RegistryEntry], name: &str) -> Outcome<&'e RegistryEntry> {
    let is_named = |entry: &&RegistryEntry| match kind {
        ListKind::Schema => entry.name == name.trim_start_matches("assay-").trim_end_matches("/1"),
        ListKind::Glossary => {
            let mut forms = WORDS.iter().filter(|word| word.about.name == entry.name);
            forms.any(|word| word.all().any(|form| form.eq_ignore_ascii_case(name)))
        }
        ListKind::Metrics => entry.name == metrics::full(name),
        _ => entry.name.eq_ignore_ascii_case(name),
    };
    known.iter().find(is_named).or_else(|| only_with(kind, known, name)).ok_or_else(|| {
        let kind = format!("{kind:?}").to_lowercase();
        let names: Vec<&str> = known.iter().map(|entry| entry.name.as_str()).collect();
        let advice = meant::first_answer(name).filter(|_| kind == "presets");
        let advice = advice.or_else(|| words::did_you_mean(name, &names));
        let advice = advice.unwrap_or_else(|| format!("assay list {kind} lists all"));
        mistake!("no entry of {kind} is named `{name}`: {advice}")
    })
}

/// Returns the only entry whose name contains a word, such as `SLC cache` for `slc`; `None` for results and schemas.
fn only_with<'e>(
    kind: ListKind,
    entries: &'e [RegistryEntry],
    word: &str,
) -> Option<&'e RegistryEntry> {
    if matches!(kind, ListKind::Results | ListKind::Schema) {
        return None;
    }
    let word = word.to_lowercase();
    let mut candidates = entries.iter().filter(|entry| entry.name.to_lowercase().contains(&word));
    let first = candidates.next()?;
    candidates.next().is_none().then_some(first)
}

/// The same failure, unless another kind has an entry of the name.
fn elsewhere(system: &dyn System, name: &str, failure: Failure) -> Failure {
    let mut others = ListKind::value_variants().iter().skip_while(|it| **it != ListKind::Presets);
    let has = |kind: ListKind| kind.entries(system).is_ok_and(|it| find(kind, &it, name).is_ok());
    let Some(kind) = others.find(|kind| has(**kind)) else { return failure };
    let kind = format!("{kind:?}").to_lowercase();
    mistake!("`{name}` is in the {kind}: assay list {kind} {name}")
}

pub(super) fn explained(entry: &RegistryEntry, width: usize) -> String {
    let mut lines = vec![entry.name.clone()];
    for (label, text) in entry.facts.iter().filter(|(_, text)| !text.is_empty()) {
        lines.extend(match *label {
            "" => wrap(text, "  ", 2, width),
            _ => wrap(&format!("{label}: {text}"), "  ", 4, width),
        });
    }
    lines.join("\n")
}

/// One row per entry, cut to the columns of a terminal; in a pipe to more of them.
fn rows(system: &dyn System, kind: ListKind, entries: &[RegistryEntry]) -> String {
    let is_known = output::is_terminal() || system.variable("COLUMNS").is_some();
    let width = if is_known { output::columns(system) } else { PIPE_COLUMNS };
    let (mut rows, mut group) = (Vec::new(), "");
    for entry in entries {
        if entry.group != group {
            group = entry.group;
            rows.push(vec![group.to_owned()]);
        }
        let mut row = [&[entry.name.clone()][..], &entry.cells].concat();
        match (kind, row.as_mut_slice()) {
            (ListKind::Factors, [_, levels, ..]) => *levels = table::cut(levels, MOST_LEVELS),
            (ListKind::Results, [_, target, trust, ..]) => {
                *target = table::cut(target, MOST_TARGET);
                // Of several ratings, shows only the worst, which is the last.
                if let Some((_, worst)) = trust.rsplit_once(", ") {
                    *trust = worst.to_owned();
                }
            }
            _ => {}
        }
        rows.push(row);
    }
    let columns = table::columns(kind.columns());
    match kind {
        // Nobody can use half of an ID.
        ListKind::Drives => table::table(&columns, &rows, output::columns(system)),
        _ => table::one_line_each(&columns, rows, width),
    }
}

/// Columns of a row that another program reads; --json has whole values.
const PIPE_COLUMNS: usize = 120;
/// Columns of the levels of a factor.
const MOST_LEVELS: usize = 24;
/// Columns of the target of a result.
const MOST_TARGET: usize = 12;

fn result_filter(arguments: &ListArguments) -> Outcome<impl Fn(&Listed) -> bool> {
    let preset = arguments.preset.as_deref().map(super::studies::preset).transpose()?;
    let title = preset.map(|study| study.title);
    let drive = arguments.drive.clone();
    Ok(move |entry: &Listed| {
        let places = || entry.drives.iter().chain(&entry.targets);
        title.as_ref().is_none_or(|title| entry.title == *title)
            && drive.as_ref().is_none_or(|word| places().any(|name| name.contains(word.as_str())))
    })
}

fn results(system: &dyn System, wanted: &dyn Fn(&Listed) -> bool) -> Outcome<Vec<RegistryEntry>> {
    parcel::sweep(system, &identity::results_directory(system)?);
    let mut listed = Vec::new();
    for results in identity::results_directories(system)? {
        let (entries, warnings) = bundle::list(system, &results);
        listed.extend(entries);
        for warning in warnings {
            output::message(&warning);
        }
    }
    listed.sort_by(|left, right| right.id.cmp(&left.id));
    Ok(listed.iter().filter(|entry| wanted(entry)).map(result_entry).collect())
}

/// Describes a stored result; marks foreign results and missing trials in its text.
fn result_entry(entry: &Listed) -> RegistryEntry {
    let places = if entry.drives.is_empty() { &entry.targets } else { &entry.drives };
    let missing = entry.trials < entry.planned;
    let reason = if entry.interrupted { "interrupted, " } else { "" };
    let marks = [
        entry.foreign.then(|| "foreign".to_owned()),
        missing.then(|| format!("{reason}{} of {} trials", entry.trials, entry.planned)),
    ];
    let text = entry.headline.as_ref().map_or(&entry.title, |headline| &headline.text);
    let text = marks.into_iter().flatten().chain([text.clone()]).collect::<Vec<_>>().join("; ");
    let trust = entry.headline.as_ref().map_or("", |headline| &headline.trust);
    let place = places.join(" and ");
    let row = RegistryEntry::new(&entry.id, &entry.title, "").fact("Started", &entry.started);
    let row = row.fact("Target", &place).fact("Trust", trust).fact("Result", &text);
    let cells = vec![place, trust.to_owned(), text];
    let row = row.fact("Example", format!("assay show {}", entry.id));
    RegistryEntry { cells, item: json!(entry), ..row }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use assay_machine::system::Fake;

    use super::*;

    #[test]
    fn addresses_are_separated_from_the_text_around_them() {
        let source = "RFC (https://a/b); NVMe, https://a/b/c";
        let (text, addresses) = registries::without_addresses(source);
        assert_eq!(text, "RFC; NVMe");
        assert_eq!(addresses, ["https://a/b", "https://a/b/c"]);
    }

    #[test]
    fn every_entry_has_a_row_and_a_page_of_80_columns() {
        let fake = Fake::new();
        fake.set_variable("COLUMNS", "80").set_variable("ASSAY_HOME", "/home");
        let mut command = super::super::full_definition(80);
        for kind in ListKind::value_variants().iter().copied() {
            let entries = kind.entries(&fake).unwrap();
            let table = rows(&fake, kind, &entries);
            let mut groups: Vec<&str> = entries.iter().map(|entry| entry.group).collect();
            groups.dedup();
            groups.retain(|group| !group.is_empty());
            assert_eq!(table.lines().count(), 1 + entries.len() + groups.len(), "{table}");
            assert!(kind != ListKind::Presets || table.lines().count() <= 45, "{table}");
            let fits = |line: &str| line.chars().count() <= PIPE_COLUMNS || output::is_terminal();
            assert!(rows(&Fake::new(), kind, &entries).lines().all(fits));
            let is_wide = |line: &&str| line.chars().count() > 80 && line.trim().contains(' ');
            assert_eq!(table.lines().find(is_wide), None);
            for entry in &entries {
                assert_eq!(find(kind, &entries, &entry.name).unwrap().name, entry.name);
                let text = explained(entry, 80);
                assert_eq!((text.lines().find(is_wide), entry.facts.len() > 1), (None, true));
                let effects = ["invalid", "suspect", "disturbed", "trusted", "verdict"];
                let says_effect = effects.iter().any(|effect| text.contains(effect));
                assert!(kind != ListKind::Rules || says_effect, "{text}");
                for (_, line) in entry.facts.iter().filter(|(label, _)| *label == "Example") {
                    let words = shell_words::split(line).unwrap().into_iter().map(OsString::from);
                    assert!(command.try_get_matches_from_mut(words).is_ok(), "{line}");
                }
            }
        }
        let rules = ListKind::Rules.entries(&fake).unwrap();
        let told = elsewhere(&fake, "suspect", mistake!(""));
        assert_eq!(told.message, "`suspect` is in the glossary: assay list glossary suspect");
        let known = find(ListKind::Rules, &rules, "link").map(|entry| entry.name.as_str());
        assert_eq!(known.ok(), Some("link-ceiling"));
        assert!(find(ListKind::Rules, &rules, "c").is_err());
        let told = find(ListKind::Rules, &rules, "host-cahce").err().unwrap();
        assert!(told.message.ends_with("did you mean \"host-cache\"?"), "{told:?}");
    }
}
