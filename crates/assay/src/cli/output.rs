//! The two streams: results on standard output, everything else on standard error.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use assay_base::failure::{Failure, Outcome};
use assay_base::outside;
use assay_system::system::{FileKind, System};

/// Columns where nothing tells how many there are.
const USUAL_COLUMNS: usize = 80;

/// Writes a result, in which nothing but its lines is obeyed by a terminal. A reader that has gone
/// away (`| head`) is no failure.
pub fn text(text: &str) {
    raw(&outside::page(text));
}

/// Writes a result that may be painted.
pub fn painted(text: &str) {
    raw(&outside::painted(text));
}

/// Writes what is already JSON.
pub fn document(text: &str) {
    raw(&outside::json(text));
}

fn raw(text: &str) {
    let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    write(&[text.as_bytes(), end]);
}

/// Writes what is no text, for a file or a pipe.
pub fn bytes(bytes: &[u8]) {
    write(&[bytes]);
}

fn write(parts: &[&[u8]]) {
    // Tests of the library are told what a command says; what it prints would hide their own words.
    if cfg!(test) {
        return;
    }
    let mut stream = std::io::stdout().lock();
    let written =
        parts.iter().try_for_each(|part| stream.write_all(part)).and_then(|()| stream.flush());
    if written.is_err_and(|error| error.kind() != ErrorKind::BrokenPipe) {
        LOST.store(true, Ordering::Relaxed);
    }
}

/// Writes a line of many; false where the reader has gone away or the disk is full.
pub fn line(text: &str) -> bool {
    let mut stream = std::io::stdout().lock();
    let written = writeln!(stream, "{}", outside::page(text)).and_then(|()| stream.flush());
    match written {
        Ok(()) => true,
        Err(error) => {
            if error.kind() != ErrorKind::BrokenPipe {
                LOST.store(true, Ordering::Relaxed);
            }
            false
        }
    }
}

/// Whether a result was lost because standard output took no more.
static LOST: AtomicBool = AtomicBool::new(false);

/// Refuses to call a command done whose result nobody got.
pub fn kept() -> Outcome<()> {
    if LOST.load(Ordering::Relaxed) {
        return Err(Failure::refused("standard output could not be written: is its disk full?"));
    }
    Ok(())
}

/// Writes one JSON document.
pub fn json(value: &impl Serialize) {
    document(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// Writes a page to a file and says where, or to standard output for `-`.
pub fn page(system: &dyn System, path: &Path, page: &str) -> Outcome<()> {
    if path == Path::new("-") {
        // What is piped elsewhere is the page itself, as it would stand in a file.
        raw(page);
        return Ok(());
    }
    file(system, path, page.as_bytes())?;
    text(&path.display().to_string());
    Ok(())
}

/// Refuses what is no file: a file takes the place of what was there.
pub fn may_be_written(system: &dyn System, path: &Path) -> Outcome<()> {
    let other = system.status(path).is_ok_and(|there| there.kind != FileKind::File);
    if other || path.file_name().is_none() {
        return Err(Failure::mistake(format!(
            "{} is no file: name one, or - for standard output",
            path.display()
        )));
    }
    Ok(())
}

/// Writes a file that a command was asked for.
pub fn file(system: &dyn System, path: &Path, content: &[u8]) -> Outcome<()> {
    may_be_written(system, path)?;
    system
        .write_whole(path, content)
        .map_err(|error| Failure::refused(format!("{} cannot be written: {error}", path.display())))
}

/// Writes a message.
pub fn message(text: &str) {
    if cfg!(test) {
        return;
    }
    let _ = writeln!(std::io::stderr().lock(), "assay: {}", outside::message(text));
}

/// Passes on what this program has said elsewhere, in which nothing but its lines is obeyed.
pub fn passed_on(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = std::io::stderr().lock().write_all(outside::page(&text).as_bytes());
}

/// Tells a failure and returns its exit code.
pub fn fail(failure: &Failure) -> ExitCode {
    ExitCode::from(told(failure))
}

/// The same as a number, for a process that ends from within.
pub fn told(failure: &Failure) -> u8 {
    message(&failure.message);
    failure.kind.exit_code()
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

/// Whether a result is shown on a terminal.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether colours are wanted: a terminal, and no `NO_COLOR`.
pub fn colour(system: &dyn System) -> bool {
    is_terminal() && system.variable("NO_COLOR").is_none_or(|text| text.is_empty())
}
