//! `assay list`: what there is.

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};

use super::{inventory, output, schemas};
use crate::store::{FORMATS_OF_FILES, parcel};
use assay_base::catalogue::About;
use assay_base::catalogue::words::WORDS;
use assay_base::failure::{Failure, Outcome};
use assay_base::presence::Presence;
use assay_base::quantity::units;
use assay_importers::importers::IMPORTERS;
use assay_kinds::work::{self, metrics};
use assay_machine::factors;
use assay_machine::probes;
use assay_report::exporters::EXPORTERS;
use assay_report::figures::FIGURES;
use assay_report::table::{self, Column};
use assay_study::plan::arms;
use assay_study::results::bundle::{self, Listed};
use assay_study::study::{Study, fields, presets};
use assay_system::system::{System, identity};
use assay_verdict::truth;

/// List results, drives, presets, factors, metrics and rules
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay list                        results, latest first
  assay list --drive vda            only results of this drive
  assay list drives                 drives with health and IDs for --destroy
  assay list requirements           published requirements, bounds and sources
  assay list factors                settings that a study can vary
  assay list probes                 counters that Assay reads around each trial
  assay list rules                  rules that rate each number
  assay list glossary               terms of reports
  assay list schema findings        JSON Schema of assay show --json")]
pub struct Arguments {
    /// Kind of list
    #[arg(value_enum, default_value_t = Kind::Results)]
    kind: Kind,
    /// Document of the list schema [default: study]
    #[arg(value_enum, value_name = "DOCUMENT")]
    document: Option<schemas::Document>,
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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
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
    /// Metrics and their units
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

/// A list for programs.
#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    /// What is listed.
    kind: &'a str,
    /// Its items; what one is made of is that of the kind.
    items: &'a [Value],
}

/// A list as rows for people and as items for scripts.
struct Listing {
    name: &'static str,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    items: Vec<Value>,
    empty: String,
}

pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    if arguments.document.is_some() && !matches!(arguments.kind, Kind::Schema) {
        return Err(Failure::mistake("only assay list schema accepts a document name"));
    }
    let listing = match arguments.kind {
        Kind::Results => results(system, arguments)?,
        Kind::Drives => drives(system),
        Kind::Presets => presets_listed()?,
        Kind::Requirements => fitness()?,
        Kind::Importers => importers(),
        Kind::Exporters => exporters(),
        Kind::Figures => figures(),
        Kind::Workloads => workloads()?,
        Kind::Factors => factors(),
        Kind::Metrics => metrics(),
        Kind::Probes => probes(system),
        Kind::Rules => rules(),
        Kind::Glossary => {
            entries("glossary", ["term", "means"], WORDS.iter().map(|word| word.about))
        }
        Kind::Schema => {
            let document = arguments.document.unwrap_or(schemas::Document::Study);
            output::document(&schemas::schema(document));
            return Ok(());
        }
    };
    if arguments.json {
        let Listing { name: kind, items, .. } = &listing;
        output::json(&Document { format: "assay-list/1", kind, items });
    } else if listing.rows.is_empty() {
        output::message(&listing.empty);
    } else {
        output::text(&table::table(&listing.columns, &listing.rows, output::columns(system)));
    }
    Ok(())
}

/// Whether a result is wanted.
fn wanted(arguments: &Arguments) -> Outcome<impl Fn(&Listed) -> bool> {
    let title = match &arguments.preset {
        None => None,
        Some(name) => Some(super::studies::preset(name)?.title),
    };
    let drive = arguments.drive.clone();
    Ok(move |entry: &Listed| {
        let own = || entry.drives.iter().chain(&entry.targets);
        title.as_ref().is_none_or(|title| entry.title == *title)
            && drive.as_ref().is_none_or(|word| own().any(|name| name.contains(word.as_str())))
    })
}

/// What a result was about, and what it says.
fn says(entry: &Listed) -> String {
    let is_check = entry.kind == "check";
    let mut told = vec![if is_check { entry.kind.clone() } else { entry.title.clone() }];
    told.extend(entry.foreign.then(|| "foreign".to_owned()));
    told.extend((!entry.drives.is_empty()).then(|| entry.drives.join(" and ")));
    let missing = entry.trials < entry.planned;
    let why = if entry.interrupted { "interrupted, " } else { "" };
    told.extend(missing.then(|| format!("{why}{} of {} trials", entry.trials, entry.planned)));
    let mut text = told.join("; ");
    if let Some(headline) = &entry.headline {
        let trust = (!headline.trust.is_empty()).then(|| format!(" ({})", headline.trust));
        text = format!("{text}: {}{}", headline.text, trust.unwrap_or_default());
    }
    text
}

fn results(system: &dyn System, arguments: &Arguments) -> Outcome<Listing> {
    let directory = identity::results_directory(system)?;
    let wanted = wanted(arguments)?;
    parcel::sweep(system, &directory);
    let mut listed = Vec::new();
    for results in identity::results_directories(system)? {
        let (found, warnings) = bundle::list(system, &results);
        listed.extend(found);
        for warning in warnings {
            output::message(&warning);
        }
    }
    listed.sort_by(|one, other| other.id.cmp(&one.id));
    listed.retain(wanted);
    Ok(Listing {
        name: "results",
        columns: table::columns(&["id", "started", ">size", "finding"]),
        rows: listed
            .iter()
            .map(|entry| {
                let size = format!("{} KiB", entry.bytes.div_ceil(1024));
                let started = entry.started.replace('T', " ").chars().take(16).collect();
                vec![entry.id.clone(), started, size, says(entry)]
            })
            .collect(),
        items: listed.iter().map(|entry| json!(entry)).collect(),
        empty: if arguments.drive.is_some() || arguments.preset.is_some() {
            "no result for this drive and preset; assay list shows all".to_owned()
        } else {
            format!("no result in {} yet; assay check creates one", directory.display())
        },
    })
}

fn drives(system: &dyn System) -> Listing {
    let drives = inventory::drives(system);
    let columns = ["drive", ">size", "model", "link", "turns", "scheduler", "health", "id"];
    Listing {
        name: "drives",
        columns: table::columns(&columns),
        rows: drives.iter().map(drive_row).collect(),
        items: drives.iter().map(|drive| json!(drive)).collect(),
        empty: "no drive found".to_owned(),
    }
}

fn drive_row(asked: &inventory::Asked) -> Vec<String> {
    let drive = &asked.drive;
    let shown = |seen: &Presence<String>| seen.value().cloned().unwrap_or_else(|| "-".to_owned());
    let link = drive.link.value().map(|link| link.name.clone());
    vec![
        drive.name.clone(),
        units::size(drive.size_bytes),
        shown(&drive.model),
        link.unwrap_or_else(|| shown(&drive.bus)),
        inventory::turns_cell(drive),
        shown(&drive.scheduler),
        inventory::health_cell(asked),
        drive.id.clone(),
    ]
}

fn presets_listed() -> Outcome<Listing> {
    let studies: Vec<(&str, Study)> =
        presets::all().map(|(name, study)| Ok((name, study?))).collect::<Outcome<_>>()?;
    let factors = |study: &Study| {
        let named = study.factors.iter().map(|(name, levels)| format!("{name} ({})", levels.len()));
        named.collect::<Vec<_>>().join(", ")
    };
    let asks = |study: &Study| {
        let lost = if arms::gives_up_data(study) { " (erases the device)" } else { "" };
        format!("{}{lost}", study.title)
    };
    Ok(Listing {
        name: "presets",
        columns: table::columns(&["preset", "factors", "question"]),
        rows: studies
            .iter()
            .map(|(name, study)| vec![(*name).to_owned(), factors(study), asks(study)])
            .collect(),
        items: studies.iter().map(|(_, study)| json!(study)).collect(),
        empty: String::new(),
    })
}

/// What a place can be good enough for: a row a bound, with who published it.
fn fitness() -> Outcome<Listing> {
    let studies: Vec<(&str, Study)> =
        presets::fitness().map(|(name, study)| Ok((name, study?))).collect::<Outcome<_>>()?;
    let rows = studies.iter().flat_map(|(name, study)| {
        study.question.iter().map(move |ask| {
            let published = ask.published.clone().unwrap_or_default();
            vec![(*name).to_owned(), ask.ask.clone(), published]
        })
    });
    Ok(Listing {
        name: "requirements",
        columns: table::columns(&["for", "requirement", "published"]),
        rows: rows.collect(),
        items: studies.iter().map(|(_, study)| json!(study)).collect(),
        empty: String::new(),
    })
}

fn importers() -> Listing {
    let abouts = IMPORTERS.iter().map(|importer| importer.about);
    entries("importers", ["importer", "input"], abouts)
}

fn exporters() -> Listing {
    let abouts = EXPORTERS.iter().map(|exporter| exporter.about).chain(FORMATS_OF_FILES);
    entries("exporters", ["exporter", "output"], abouts)
}

fn figures() -> Listing {
    entries("figures", ["figure", "content"], FIGURES.iter().map(|kind| kind.about()))
}

/// What the entries of a registry say of themselves.
fn entries(
    name: &'static str,
    titles: [&str; 2],
    abouts: impl Iterator<Item = About> + Clone,
) -> Listing {
    let row = |about: About| vec![about.name.to_owned(), about.summary.to_owned()];
    let item =
        |about: About| json!({ "name": about.name, "summary": about.summary, "text": about.text });
    Listing {
        name,
        columns: table::columns(&titles),
        rows: abouts.clone().map(row).collect(),
        items: abouts.map(item).collect(),
        empty: String::new(),
    }
}

fn workloads() -> Outcome<Listing> {
    let study = presets::check()?;
    Ok(Listing {
        name: "workloads",
        columns: table::columns(&["workload", "description"]),
        rows: study
            .workload
            .iter()
            .map(|workload| vec![workload.name.clone(), workload.words()])
            .collect(),
        items: study.workload.iter().map(|workload| json!(workload)).collect(),
        empty: String::new(),
    })
}

/// Name, summary and example of each factor.
pub fn factor_rows() -> Vec<[&'static str; 3]> {
    let parameters = work::parameters()
        .iter()
        .map(|parameter| [parameter.about.name, parameter.about.summary, parameter.example]);
    let target = [fields::TARGET_FACTOR, fields::TARGET_SUMMARY, fields::TARGET_EXAMPLE];
    let others = factors::all().map(|factor| {
        let about = factor.about();
        [about.name, about.summary, factor.example()]
    });
    parameters.chain([target]).chain(others).collect()
}

fn factors() -> Listing {
    let rows = factor_rows();
    Listing {
        name: "factors",
        columns: table::columns(&["factor", "description", "example levels"]),
        rows: rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect(),
        items: rows
            .iter()
            .map(|[name, summary, example]| {
                json!({ "name": name, "summary": summary, "example": example })
            })
            .collect(),
        empty: String::new(),
    }
}

fn metrics() -> Listing {
    Listing {
        name: "metrics",
        columns: table::columns(&["metric", "better", "description"]),
        rows: metrics::all()
            .map(|metric| {
                let better = format!("{:?}", metric.better).to_lowercase();
                vec![metric.name.to_owned(), better, metric.summary.to_owned()]
            })
            .collect(),
        items: metrics::all()
            .map(|metric| json!({ "name": metric.name, "better": metric.better, "summary": metric.summary }))
            .collect(),
        empty: String::new(),
    }
}

/// Probes, with what each of them finds here.
fn probes(system: &dyn System) -> Listing {
    let all = probes::by_name();
    let mut listing =
        entries("probes", ["probe", "what it observes"], all.iter().map(|probe| probe.about));
    listing.columns.push(Column::left("here"));
    let rows = listing.rows.iter_mut().zip(&mut listing.items);
    for ((row, item), probe) in rows.zip(all.iter()) {
        item["metrics"] = json!(probe.metrics());
        let here = probe.here.map(|look| look(system));
        row.push(match &here {
            Some(Presence::Present(_)) => "yes".to_owned(),
            Some(Presence::Absent(reason)) => format!("no: {reason}"),
            None => "if the target supports it".to_owned(),
        });
        if let Some(here) = here {
            item["here"] = json!(here);
        }
    }
    listing
}

fn rules() -> Listing {
    entries("rules", ["rule", "triggered when"], truth::RULES.iter().map(|rule| *rule.about()))
}
