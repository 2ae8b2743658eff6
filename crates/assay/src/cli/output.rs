//! The two output streams: results on standard output, everything else on standard error. The program sets them; until
//! then, as in library tests, output is discarded.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use assay_core::failure::{Failure, Outcome};
use assay_core::outside;
use assay_machine::system::{FileKind, System};
use assay_report::document::Detail;
use assay_runner::real::mains;
use assay_study::findings::Findings;

const USUAL_COLUMNS: usize = 80;

type Sink = Mutex<Option<Box<dyn Write + Send>>>;

// Separate locks: a slow reader of results delays no messages.
static RESULTS: Sink = Mutex::new(None);
static MESSAGES: Sink = Mutex::new(None);
/// Whether the commands own the process, that is, its streams and signals.
static HANDED_OVER: AtomicBool = AtomicBool::new(false);

/// Gives the process to the commands: their streams, and the right to catch signals.
pub fn hand_over(results: impl Write + Send + 'static, messages: impl Write + Send + 'static) {
    *RESULTS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(results));
    *MESSAGES.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(messages));
    HANDED_OVER.store(true, Ordering::Relaxed);
    mains::be_heard_by(call);
}

pub fn is_handed_over() -> bool {
    HANDED_OVER.load(Ordering::Relaxed)
}

/// Writes parts to a stream if it is set.
fn write_parts(sink: &Sink, parts: &[&[u8]]) -> io::Result<()> {
    let mut stream = sink.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(stream) = stream.as_mut() else { return Ok(()) };
    parts.iter().try_for_each(|part| stream.write_all(part))?;
    stream.flush()
}

/// Writes a result; escapes control characters except newlines for the terminal. Ignores a closed pipe (`| head`).
pub fn text(text: &str) {
    raw(&outside::page(text));
}

pub fn result(system: &dyn System, findings: &Findings, detail: Detail) {
    painted(&screen(system, findings, detail));
}

pub fn screen(system: &dyn System, findings: &Findings, detail: Detail) -> String {
    assay_report::screen::screen(findings, detail, columns(system), colour(system))
}

pub fn painted(text: &str) {
    raw(&outside::painted(text));
}

pub fn document(text: &str) {
    raw(&outside::json(text));
}

fn raw(text: &str) {
    let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    write(&[text.as_bytes(), end]);
}

pub fn bytes(bytes: &[u8]) {
    write(&[bytes]);
}

/// Returns false if the reader has closed the pipe, or if the text is lost, for example because the disk is full.
fn write(parts: &[&[u8]]) -> bool {
    let written = write_parts(&RESULTS, parts);
    if written.as_ref().is_err_and(|error| error.kind() != ErrorKind::BrokenPipe) {
        LOST.store(true, Ordering::Relaxed);
    }
    written.is_ok()
}

/// Writes one of many lines; returns false if the reader has closed the pipe or the disk is full.
pub fn line(text: &str) -> bool {
    write(&[outside::page(text).as_bytes(), b"\n"])
}

/// Whether output was lost because standard output failed.
static LOST: AtomicBool = AtomicBool::new(false);

/// Fails if output was lost.
pub fn check_written() -> Outcome<()> {
    if LOST.load(Ordering::Relaxed) {
        return Err(refused!("cannot write to standard output; free disk space"));
    }
    Ok(())
}

pub fn json(value: &impl Serialize) {
    document(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// Writes a page to a file and prints its path, or to standard output for `-`.
pub fn page(system: &dyn System, path: &Path, page: &str) -> Outcome<()> {
    if path == Path::new("-") {
        // Writes the page unchanged, as to a file.
        raw(page);
        return Ok(());
    }
    file(system, path, page.as_bytes())?;
    text(&path.display().to_string());
    Ok(())
}

/// Refuses paths that are not regular files, because writing replaces the file.
pub fn may_be_written(system: &dyn System, path: &Path) -> Outcome<()> {
    let is_other = system.status(path).is_ok_and(|status| status.kind != FileKind::File);
    if is_other || path.file_name().is_none() {
        return Err(mistake!(
            "{} is not a regular file; give a file name, or - for standard output",
            path.display()
        ));
    }
    Ok(())
}

pub fn file(system: &dyn System, path: &Path, content: &[u8]) -> Outcome<()> {
    may_be_written(system, path)?;
    system
        .write_whole(path, content)
        .map_err(|error| refused!("cannot write {}: {error}", path.display()))
}

/// Refuses a path that exists and is not a directory.
pub fn may_be_folder(system: &dyn System, path: &Path) -> Outcome<()> {
    match system.status(path) {
        Ok(there) if there.kind != FileKind::Directory => {
            Err(mistake!("{} is not a directory; give a directory", path.display()))
        }
        _ => Ok(()),
    }
}

/// Writes one page of a folder, and creates the folder if necessary.
pub fn page_below(system: &dyn System, folder: &Path, name: &str, page: &str) -> Outcome<()> {
    let path = folder.join(name);
    let parent = path.parent().unwrap_or(folder);
    system
        .create_directory(parent)
        .map_err(|error| refused!("cannot create {}: {error}", parent.display()))?;
    file(system, &path, page.as_bytes())
}

/// Writes an important message on a separate line, also over a progress bar.
fn call(text: &str) {
    let _ = write_parts(&MESSAGES, &[format!("\nassay: {}\n", outside::message(text)).as_bytes()]);
}

pub fn message(text: &str) {
    let _ = write_parts(&MESSAGES, &[format!("assay: {}\n", outside::message(text)).as_bytes()]);
}

/// Writes text to copy to standard error, without the program's name.
pub fn aside(text: &str) {
    let _ = write_parts(&MESSAGES, &[format!("{}\n", outside::message(text)).as_bytes()]);
}

pub fn fail(failure: &Failure) -> ExitCode {
    ExitCode::from(exit_code(failure))
}

pub fn exit_code(failure: &Failure) -> u8 {
    message(&failure.message);
    failure.kind.exit_code()
}

/// Returns the width of output: `COLUMNS`, the terminal's width, or 80.
pub fn columns(system: &dyn System) -> usize {
    let variable = system.variable("COLUMNS").and_then(|text| text.parse().ok());
    variable.or_else(terminal_columns).unwrap_or(USUAL_COLUMNS)
}

fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Returns whether to use colors: on a terminal, without `NO_COLOR`.
pub fn colour(system: &dyn System) -> bool {
    is_terminal() && system.variable("NO_COLOR").is_none_or(|text| text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    struct Kept(Option<Arc<Mutex<Vec<u8>>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let Some(kept) = &self.0 else { return Err(ErrorKind::StorageFull.into()) };
            kept.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn sink(stream: Kept) -> Sink {
        Mutex::new(Some(Box::new(stream)))
    }

    #[test]
    fn a_stream_that_was_handed_in_gets_all_parts_in_order() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        write_parts(&sink(Kept(Some(Arc::clone(&kept)))), &[b"one", b" two", b"\n"]).unwrap();
        assert_eq!(*kept.lock().unwrap(), b"one two\n");
        let full = write_parts(&sink(Kept(None)), &[b"one"]).unwrap_err();
        assert_eq!(full.kind(), ErrorKind::StorageFull);
    }

    #[test]
    fn without_one_it_is_said_to_nobody() {
        write_parts(&Mutex::new(None), &[b"one"]).unwrap();
        assert!(!is_handed_over(), "tests share a process, which is nobody's");
        check_written().unwrap();
    }
}
