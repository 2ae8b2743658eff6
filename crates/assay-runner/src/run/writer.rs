//! Stores the trials of a run.

use std::path::Path;

use super::event::Event;
use assay_machine::system::System;
use assay_study::results::bundle::{Bundle, Histograms};
use assay_study::results::log::LogEntry;
use assay_study::results::record::Trial;
use assay_study::results::series::SeriesRow;

/// Stores trials until a write fails; later trials remain in memory only.
#[derive(Default)]
pub struct ResultWriter<'a> {
    bundle: Option<Bundle<'a>>,
    unkept: Option<Unkept>,
}

impl<'a> ResultWriter<'a> {
    pub fn new(bundle: Bundle<'a>) -> Self {
        Self { bundle: Some(bundle), unkept: None }
    }

    pub fn failed(unkept: Unkept) -> Self {
        Self { bundle: None, unkept: Some(unkept) }
    }

    pub fn log(&self, system: &dyn System, event: &str, text: &str) {
        if let Some(bundle) = &self.bundle {
            let _ = bundle.log(&LogEntry::new(system, event, text));
        }
    }

    pub fn bundle(&self) -> Option<&Bundle<'a>> {
        self.bundle.as_ref()
    }

    pub fn into_parts(self) -> (Option<Bundle<'a>>, Option<Unkept>) {
        (self.bundle, self.unkept)
    }

    /// Stores a trial after `stored` others. Returns the loss if that fails for the first time.
    pub fn append(
        &mut self,
        trial: &mut Trial,
        histograms: &Histograms,
        series: &[SeriesRow],
        stored: usize,
    ) -> Option<&Unkept> {
        let bundle = self.bundle.as_ref()?;
        let error = bundle.append(trial, histograms, series).err()?;
        self.unkept = Some(Unkept::after(stored, bundle.directory(), &error));
        self.bundle = None;
        self.unkept.as_ref()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unkept {
    /// Number of stored trials; 0 also if storing could not begin.
    pub trials: usize,
    /// Its path, and the kernel's error.
    pub why: String,
}

impl Unkept {
    pub fn after(trials: usize, directory: &Path, error: &std::io::Error) -> Self {
        Self { trials, why: format!("cannot write {}: {error}", directory.display()) }
    }

    pub fn warning(&self) -> Event {
        let subject = if self.trials == 0 { "the result is" } else { "the following trials are" };
        Event::Warning(format!("{subject} not stored, only shown at the end: {}", self.why))
    }
}
