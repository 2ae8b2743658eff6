//! Reads the trials of a bundle by workload, because all of them may not fit into memory.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use assay_core::failure::{Failure, Outcome};
use assay_machine::system::stream::Stream;
use assay_machine::system::{Caching, System};
use serde::Deserialize;

use super::bundle::{read_latencies, record, size_bytes};
use super::cut;
use super::plan::Plan;
use super::record::Trial;

/// Bytes read at once; a line may be longer.
const PART_BYTES: usize = 1 << 20;
/// Maximum length of a line, bytes; trials have some thousands.
const LONGEST_LINE: u64 = 4 << 20;

/// Position of a trial in the file, with its identity.
#[derive(Clone, Copy, Debug)]
struct TrialPlace {
    workload: usize,
    at: u64,
    bytes: usize,
    line: usize,
}

pub struct Trials<'a> {
    system: &'a dyn System,
    directory: &'a Path,
    file: Option<File>,
    places: Vec<TrialPlace>,
    /// Indices into the places, by workload, in the order in which they ran.
    by_workload: Vec<Vec<u32>>,
}

impl<'a> Trials<'a> {
    /// Indexes the trials of each workload. A truncated last line is ignored.
    pub fn open(system: &'a dyn System, directory: &'a Path, plan: &Plan) -> Outcome<Self> {
        let by_workload = vec![Vec::new(); plan.workloads.len()];
        let mut trials = Self { system, directory, file: None, places: Vec::new(), by_workload };
        let open_file = trials.open_file().map_err(|error| trials.unreadable(&error))?;
        if let Some((file, bytes)) = open_file {
            let reader = file.try_clone().map_err(|error| trials.unreadable(&error))?;
            trials.index_lines(reader, bytes)?;
            trials.file = Some(file);
        }
        Ok(trials)
    }

    pub fn read_workload(&self, workload: usize) -> Outcome<Vec<(usize, Trial)>> {
        let indices = self.by_workload.get(workload).into_iter().flatten();
        let places = indices.filter_map(|index| self.places.get(*index as usize));
        places.map(|place| Ok((place.line, self.read(place)?))).collect()
    }

    /// Passes each record in order without its latencies, one at a time.
    pub fn each_record(&self, take: &mut dyn FnMut(Trial) -> Outcome<()>) -> Outcome<()> {
        self.places.iter().try_for_each(|place| take(self.record(place)?))
    }

    pub(super) fn all(&self) -> Outcome<Vec<Trial>> {
        self.places.iter().map(|place| self.read(place)).collect()
    }

    fn path(&self) -> PathBuf {
        self.directory.join("trials.jsonl")
    }

    /// The open file and its size in bytes; `None` if no trial ran yet.
    fn open_file(&self) -> io::Result<Option<(File, u64)>> {
        let path = self.path();
        let bytes = match size_bytes(self.system, &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        Ok(Some((self.system.open_for_reading(&path, Caching::Buffered)?, bytes)))
    }

    /// Notes the place and the workload of each line.
    fn index_lines(&mut self, file: File, bytes: u64) -> Outcome<()> {
        let stream = Stream::new(self.system, file).take(bytes);
        let mut stream = BufReader::with_capacity(PART_BYTES, stream);
        let (mut at, mut text) = (0, Vec::new());
        for line in 0.. {
            text.clear();
            let read = stream.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut text);
            let count = read.map_err(|error| self.unreadable(&error))? as u64;
            if count == 0 {
                break;
            }
            match text.strip_suffix(b"\n") {
                Some(whole) => self.add(whole, at, line, true)?,
                None if count == LONGEST_LINE => {
                    return Err(self.damaged(line, "the line is too long"));
                }
                None => self.add(&text, at, line, false)?,
            }
            at += count;
        }
        Ok(())
    }

    /// Indexes a line; ignores a damaged one that is not whole.
    fn add(&mut self, bytes: &[u8], at: u64, line: usize, is_whole: bool) -> Outcome<()> {
        #[derive(Deserialize)]
        struct TrialHead {
            workload: usize,
        }
        let TrialHead { workload } = match std::str::from_utf8(bytes).map(cut::json) {
            Ok(Ok(head)) => head,
            _ if !is_whole => return Ok(()),
            Ok(Err(error)) => return Err(self.damaged(line, &error.to_string())),
            Err(error) => return Err(self.damaged(line, &error.to_string())),
        };
        let Some(indices) = self.by_workload.get_mut(workload) else {
            return Err(self.damaged(line, &format!("workload {workload} is not in the plan")));
        };
        indices.push(self.places.len() as u32);
        self.places.push(TrialPlace { workload, at, bytes: bytes.len(), line });
        Ok(())
    }

    fn read(&self, place: &TrialPlace) -> Outcome<Trial> {
        let mut trial = self.record(place)?;
        read_latencies(self.system, self.directory, &mut trial)?;
        Ok(trial)
    }

    /// Reads the trial of an indexed line; fails if the file changed since.
    fn record(&self, place: &TrialPlace) -> Outcome<Trial> {
        let changed = || self.damaged(place.line, "the file changed while Assay read it");
        let file = self.file.as_ref().ok_or_else(changed)?;
        let mut bytes = vec![0; place.bytes];
        let read = read_fully(self.system, file, place.at, &mut bytes);
        if read.map_err(|error| self.unreadable(&error))? < bytes.len() {
            return Err(changed());
        }
        let line = String::from_utf8(bytes).map_err(|_| changed())?;
        let record = record(&line).map_err(|error| self.damaged(place.line, &error))?;
        if record.workload != place.workload {
            return Err(changed());
        }
        Ok(record)
    }

    fn damaged(&self, line: usize, why: &str) -> Failure {
        let path = self.path();
        Failure::mistake(format!("{}:{}: {why}; the bundle is damaged", path.display(), line + 1))
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        Failure::refused(format!("cannot read {}: {error}", self.path().display()))
    }
}

/// Reads until the bytes are full or the file ends; returns how many it read.
fn read_fully(system: &dyn System, file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
    let mut total = 0;
    while total < into.len() {
        match system.read_at(file, at + total as u64, &mut into[total..])? {
            0 => break,
            count => total += count,
        }
    }
    Ok(total)
}
