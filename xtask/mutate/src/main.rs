//! Reads the names of source files, one a line, and tells as JSON, one a line, which small changes of
//! them could be tried. A change is text before a piece of the source and text after it, so that the
//! original and all changes stand in one program; `{ON}` stands for the question whether it is on.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

mod changes;
mod places;
#[cfg(test)]
mod tests;

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

fn main() -> ExitCode {
    let Some(root) = std::env::args().nth(1) else {
        eprintln!("assay-mutate ROOT < NAMES");
        return ExitCode::from(2);
    };
    match tell(Path::new(&root)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("assay-mutate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn tell(root: &Path) -> Result<(), String> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for name in std::io::stdin().lock().lines() {
        let name = name.map_err(|error| error.to_string())?;
        let text = std::fs::read_to_string(root.join(&name));
        let text = text.map_err(|error| format!("{name}: {error}"))?;
        for place in places::of(&text).map_err(|error| format!("{name}: {error}"))? {
            let line = json!({
                "file": name,
                "line": place.line,
                "function": place.function,
                "start": place.start,
                "end": place.end,
                "what": place.what,
                "before": place.before,
                "after": place.after,
            });
            writeln!(out, "{line}").map_err(|error| error.to_string())?;
        }
    }
    out.flush().map_err(|error| error.to_string())
}
