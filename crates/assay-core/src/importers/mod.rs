//! Numbers that were measured elsewhere, brought into the one form that verdicts are made from.
//! An importer reads a text and nothing else; it touches no file and judges nothing.

pub(crate) mod lines;
mod mistakes;
mod order;
pub mod places_csv;
pub mod trials_csv;
mod words;

use crate::catalogue::About;
use crate::failure::{Failure, Outcome};
use crate::findings::Measurements;
use crate::results::plan::Arm;

/// What the user says about the numbers beside the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Levels that arms are compared with; the arm of the first levels where there are none.
    pub baseline: Arm,
    /// What counts as equivalent, as a fraction.
    pub margin: Option<f64>,
    /// The metric that verdicts are about.
    pub primary: Option<String>,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The numbers.
    pub measurements: Measurements,
    /// What was taken for granted, one sentence each.
    pub notes: Vec<String>,
    /// Trials, each counted once however many metrics it has.
    pub trials: usize,
}

/// One way to read a file.
#[derive(Clone, Copy, Debug)]
pub struct Importer {
    /// What it says of itself.
    pub about: About,
    /// Whether the first line of a text is of its format alone.
    pub fits: fn(header: &str) -> bool,
    /// Reads a text; messages call it by the name given first.
    pub read: fn(name: &str, text: &str, options: &Options) -> Outcome<Imported>,
}

/// All importers, the usual one first.
pub static IMPORTERS: &[Importer] = &[trials_csv::IMPORTER, places_csv::IMPORTER];

/// The importer that a text is for: the one whose header it has, else the usual one, which tells what
/// is wrong with it.
pub fn of_text(text: &str) -> &'static Importer {
    let header = lines::lines(text).next().map_or("", |(_, line)| line);
    let fitting = IMPORTERS.iter().find(|importer| (importer.fits)(header));
    fitting.unwrap_or(&IMPORTERS[0])
}

/// The importer with a name.
pub fn find(name: &str) -> Option<&'static Importer> {
    IMPORTERS.iter().find(|importer| importer.about.name == name)
}

/// The bytes of a file as text.
pub fn text(name: &str, bytes: Vec<u8>) -> Outcome<String> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Failure::mistake(format!(
            "{name}:1:1: the text is UTF-16; save the file as UTF-8"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..good].split(|&byte| byte == b'\n').count();
        Failure::mistake(format!("{name}:{line}:1: the text is not UTF-8; save the file as UTF-8"))
    })
}
