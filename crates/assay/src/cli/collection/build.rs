//! `assay collection build`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::super::output;
use crate::store::collection::{self, Index};
use assay_analysis::collection::flat::Flat;
use assay_analysis::collection::{CollectionRow, groups};
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_report::collection::{self as pages, Contents, MOST_TOLD};

/// Write the page of a collection
///
/// Writes one sortable, filterable HTML file without external resources. With a directory, Assay also writes one page
/// per device, and splits long pages.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay collection build -o cards.html   one page
  assay collection build -o site/        also one page per device")]
pub(super) struct CollectionBuildArguments {
    /// Write FILE.html (- for standard output), or pages into a directory
    #[arg(short, long, value_name = "FILE.html|FOLDER")]
    output: PathBuf,
}

pub(super) fn run(
    system: &dyn System,
    folder: &Path,
    arguments: &CollectionBuildArguments,
) -> Outcome<()> {
    let output = &arguments.output;
    let is_page = output.extension().is_some_and(|end| end == "html" || end == "htm")
        || output.as_path() == Path::new("-");
    if !is_page {
        output::may_be_folder(system, output)?;
    }
    let index = collection::read_index(system, folder)?;
    let read = |flat: &Flat| Some((flat.clone(), collection::full_row(system, folder, flat)?));
    // A page of more rows has no evidence.
    let shown = if index.rows.len() <= MOST_TOLD { index.rows.as_slice() } else { &[] };
    let whole: Vec<(Flat, CollectionRow)> = shown.iter().filter_map(read).collect();
    super::print_refused(&index);
    let contents = Contents {
        rows: &index.rows,
        whole: &whole,
        refused: &index.refused,
        refused_in_all: index.refused_in_all,
    };
    if is_page {
        return output::page(system, output, &pages::page(&contents));
    }
    // Writes the device pages before the index, which links to them: an interrupted build has no dead links.
    write_devices(system, folder, &index, output)?;
    for (name, page) in pages::listing(&contents) {
        output::page_below(system, output, &name, &page)?;
    }
    output::text(&output.join("index.html").display().to_string());
    Ok(())
}

/// Writes the device pages one by one, and keeps only one page's rows in memory.
fn write_devices(system: &dyn System, folder: &Path, index: &Index, output: &Path) -> Outcome<()> {
    for device in groups(&index.rows) {
        for (part, range) in pages::device_parts(device.rows.len()).into_iter().enumerate() {
            // Skips files removed since the index was built.
            let rows = device.rows[range].iter().filter_map(|flat| {
                Some(((*flat).clone(), collection::full_row(system, folder, flat)?))
            });
            let (name, page) = pages::device(&device, part, &rows.collect::<Vec<_>>());
            output::page_below(system, output, &name, &page)?;
        }
    }
    Ok(())
}
