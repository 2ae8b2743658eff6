//! A whole result as one file: `assay export --format bundle`.

use std::path::Path;

use super::export::ExportArguments;
use super::output;
use crate::store::{self, parcel};
use assay_core::failure::Outcome;
use assay_core::quantity::units::show;
use assay_machine::system::System;

pub fn run(system: &dyn System, arguments: &ExportArguments) -> Outcome<()> {
    let directory = store::find(system, arguments.result.as_deref())?;
    let path = arguments.output.clone().unwrap_or_else(|| parcel::usual_name(&directory));
    let is_piped = path == Path::new("-");
    if is_piped && output::is_terminal() {
        return Err(mistake!("a bundle is binary; write it to a file with -o FILE.assay"));
    }
    if !is_piped {
        output::may_be_written(system, &path)?;
    }
    let packed = parcel::pack(system, &directory)?;
    if is_piped {
        output::bytes(&packed.bytes);
    } else {
        output::file(system, &path, &packed.bytes)?;
    }
    for name in &packed.left_out {
        output::message(&format!("skipped {name}: not part of a result"));
    }
    if !is_piped {
        output::text(&path.display().to_string());
    }
    output::message(&format!(
        "{} files, {} in {}; the bundle contains machine names and serial numbers",
        packed.files,
        show::bytes(packed.unpacked_bytes),
        show::bytes(packed.bytes.len() as u64)
    ));
    Ok(())
}
