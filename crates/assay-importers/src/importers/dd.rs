//! The line that dd ends with: bytes, seconds, and a rate that is computed anew from both.

use assay_base::catalogue::About;
use assay_base::failure::{Failure, Outcome};
use assay_base::lines;

use super::run::{Run, Runs};
use super::{Importer, Reads};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "dd",
        summary: "what dd tells at its end (GNU, busybox, BSD)",
        text: "Each line with bytes and seconds is a run; other lines are passed over. The rate is \
               computed from both: dd itself tells two or three digits of it. Whether dd read or \
               wrote, and whether it waited for the drive, the line does not say.",
    },
    recognises: |start| lines::lines(start).take(LINES).any(|(_, line)| copied(line).is_some()),
    reads: Reads::Runs(read),
};

/// Lines among which one must be dd's.
const LINES: usize = 50;

fn read(name: &str, text: &str) -> Outcome<Runs> {
    let mut runs = Vec::new();
    for (bytes, seconds) in lines::lines(text).filter_map(|(_, line)| copied(line)) {
        let mut run = Run::of("copy");
        run.set("bytes", (bytes as u64).to_string());
        run.tell("bandwidth_bytes_per_s", (seconds > 0.0).then(|| bytes / seconds));
        run.tell("duration_s", Some(seconds));
        runs.push(run);
    }
    if runs.is_empty() {
        return Err(Failure::mistake(format!("{name}: no line says how much dd copied")));
    }
    let notes = vec!["lines of dd stand in the order in which they were written".to_owned()];
    Ok(Runs { notes, ..Runs::in_order(runs) })
}

/// Bytes and seconds of a line: `8388608 bytes (8.4 MB, 8.0 MiB) copied, 0.043 s, 195 MB/s`.
fn copied(line: &str) -> Option<(f64, f64)> {
    let (bytes, rest) = line.trim().split_once(" bytes ")?;
    let bytes = bytes.parse::<u64>().ok()? as f64;
    let marks = ["copied, ", "copied in ", "transferred in "];
    let after = marks.iter().find_map(|mark| Some(rest.split_once(mark)?.1))?;
    let mut words = after.split([' ', ',']);
    let seconds = words.next()?.parse::<f64>().ok()?;
    let unit = words.next()?;
    let told = ["s", "sec", "secs", "seconds"].contains(&unit) && seconds.is_finite();
    told.then_some((bytes, seconds))
}
