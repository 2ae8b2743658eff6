//! The two streams: results on standard output, everything else on standard error.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::system::{FileKind, System};

/// Columns where nothing tells how many there are.
const USUAL_COLUMNS: usize = 80;

/// Writes a result. A reader that has gone away (`| head`) is no failure.
pub fn text(text: &str) {
    let mut stream = std::io::stdout().lock();
    let _ = stream.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = stream.write_all(b"\n");
    }
    let _ = stream.flush();
}

/// Writes one JSON document.
pub fn json(value: &impl Serialize) {
    text(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// Writes a page to a file and says where, or to standard output for `-`.
pub fn page(system: &dyn System, path: &Path, page: &str) -> Outcome<()> {
    if path == Path::new("-") {
        text(page);
        return Ok(());
    }
    file(system, path, page)?;
    text(&path.display().to_string());
    Ok(())
}

/// Writes a file that a command was asked for.
pub fn file(system: &dyn System, path: &Path, text: &str) -> Outcome<()> {
    // A file takes the place of what was there: nothing else may be there.
    if system.status(path).is_ok_and(|there| there.kind != FileKind::File) {
        return Err(Failure::mistake(format!(
            "{} is no file: name one, or - for standard output",
            path.display()
        )));
    }
    system
        .write_whole(path, text.as_bytes())
        .map_err(|error| Failure::refused(format!("{} cannot be written: {error}", path.display())))
}

/// Writes a message.
pub fn message(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "assay: {text}");
}

/// Tells a failure and returns its exit code.
pub fn fail(failure: &Failure) -> ExitCode {
    message(&failure.message);
    ExitCode::from(failure.kind.exit_code())
}

/// Columns to write in: `COLUMNS`, the terminal's own, or 80.
pub fn columns(system: &dyn System) -> usize {
    let told = system.variable("COLUMNS").and_then(|text| text.parse().ok());
    told.or_else(terminal_columns).unwrap_or(USUAL_COLUMNS)
}

fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Whether colours are wanted: a terminal, and no `NO_COLOR`.
pub fn colour(system: &dyn System) -> bool {
    std::io::stdout().is_terminal()
        && system.variable("NO_COLOR").is_none_or(|text| text.is_empty())
}
