//! `assay collection add`.

use std::path::Path;

use clap::Args;

use super::super::output;
use crate::store::{self, collection, parcel};
use assay_analysis::collection::{CollectionRow, Extra, rows};
use assay_core::failure::Outcome;
use assay_machine::system::{FileKind, System};
use assay_study::file::Price;
use assay_study::file::printed::Claimed;
use assay_study::results::foreign;

/// Add rows from results, bundles or other collections
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay collection add 20261120-1031           add a check, or a run of flash
  assay collection add 20261120-1031 --rated \"V30, A2\" --price \"12.50 GBP\"
  assay collection add card.assay              add a bundle from assay export
  assay collection add row.json                add a row of another collection")]
pub(super) struct CollectionAddArguments {
    /// Result IDs, files of assay export --format bundle, or rows
    #[arg(value_name = "RESULT|FILE", required = true)]
    sources: Vec<String>,
    /// Name the device [default: its model]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Ratings printed on the device, e.g. "95 MB/s, V30, A1"
    #[arg(long, value_name = "RATINGS")]
    rated: Option<String>,
    /// Set the price, e.g. "12.50 GBP"
    #[arg(long, value_name = "PRICE")]
    price: Option<String>,
    /// Your name
    #[arg(long, value_name = "NAME")]
    contributor: Option<String>,
    /// Keep serial number and target
    #[arg(long)]
    with_identity: bool,
}

/// Runs the command: nothing is added unless everything can be.
pub(super) fn run(
    system: &dyn System,
    folder: &Path,
    arguments: &CollectionAddArguments,
) -> Outcome<()> {
    let extra = stated_facts(arguments)?;
    let found = arguments.sources.iter().map(|source| rows_of(system, source, &extra));
    let rows: Vec<_> = found.collect::<Outcome<Vec<_>>>()?.into_iter().flatten().collect();
    let added = collection::add(system, folder, &rows)?;
    for ((file, was_there), row) in added.iter().zip(&rows) {
        output::text(file);
        let how = if *was_there { "already existed in" } else { "added to" };
        output::message(&format!("{}: {how} {}", row.device, folder.display()));
    }
    Ok(())
}

fn stated_facts(arguments: &CollectionAddArguments) -> Outcome<Extra> {
    let mut claimed = Vec::new();
    if let Some(text) = &arguments.rated {
        let rated: Claimed = text.parse().map_err(|error| mistake!("--rated: {error}"))?;
        claimed.extend(rated.claims.into_iter().map(|(text, _)| text));
    }
    if let Some(price) = &arguments.price {
        price.parse::<Price>().map_err(|error| mistake!("--price: {error}"))?;
    }
    Ok(Extra {
        device: arguments.device.clone(),
        claimed,
        price: arguments.price.clone(),
        by: arguments.contributor.clone(),
        identity: arguments.with_identity,
        foreign: false,
    })
}

fn rows_of(system: &dyn System, source: &str, extra: &Extra) -> Outcome<Vec<CollectionRow>> {
    let path = Path::new(source);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("assay") => of_result(system, &parcel::add(system, path)?.id, extra),
        Some("json") => collection::read_received(system, path).map(|row| vec![row]),
        _ if system.status(path).is_ok_and(|status| status.kind != FileKind::Directory) => {
            Err(mistake!("{source} is not a result, a bundle (.assay) or a row (.json)"))
        }
        _ => of_result(system, source, extra),
    }
}

fn of_result(system: &dyn System, id: &str, extra: &Extra) -> Outcome<Vec<CollectionRow>> {
    let directory = store::find(system, Some(id))?;
    let findings = store::findings_at(system, &directory)?;
    if findings.environment.hosts.is_some() {
        return Err(mistake!(
            "{}: several hosts measured this result, but a row describes one drive; add the result of one host",
            findings.study.id
        ));
    }
    let extra = Extra { foreign: foreign::is_one(system, &directory), ..extra.clone() };
    rows(&findings, &extra).map_err(|why| mistake!("{}: {why}", findings.study.id))
}
