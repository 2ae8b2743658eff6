//! Reads the trials of a bundle by workload, because all of them may not fit into memory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use assay_core::failure::{Failure, Outcome};
use assay_machine::system::{Caching, FileKind, System};
use serde::Deserialize;

use super::bundle::{read_latencies, record};
use super::cut;
use super::plan::Plan;
use super::record::Trial;

/// Bytes read at once; a line may be longer.
const PART_BYTES: usize = 1 << 20;
/// Maximum length of a line, bytes; trials have some thousands.
const LONGEST_LINE: usize = 4 << 20;
/// Maximum size of a file to read; far above that of any study.
const LARGEST_FILE_BYTES: u64 = 1 << 30;

/// Position of a trial in the file, with its identity.
#[derive(Clone, Copy, Debug)]
struct TrialPlace {
    workload: usize,
    at: u64,
    bytes: usize,
    /// Number of its line, from 0.
    line: usize,
}

pub struct Trials<'a> {
    system: &'a dyn System,
    directory: &'a Path,
    file: Option<File>,
    places: Vec<TrialPlace>,
    /// Numbers of the places of each workload, in the order in which they ran.
    own: Vec<Vec<u32>>,
}

impl<'a> Trials<'a> {
    /// Indexes the trials of each workload. A truncated last line is ignored.
    pub fn open(system: &'a dyn System, directory: &'a Path, plan: &Plan) -> Outcome<Self> {
        let mut trials = Self::none(system, directory);
        trials.own.resize(plan.workloads.len(), Vec::new());
        let opened = trials.opened().map_err(|error| trials.unreadable(&error))?;
        if let Some((file, bytes)) = opened {
            trials.look(&file, bytes)?;
            trials.file = Some(file);
        }
        Ok(trials)
    }

    pub fn of(&self, workload: usize) -> Outcome<Vec<(usize, Trial)>> {
        let own = self.own.get(workload).into_iter().flatten();
        let places = own.filter_map(|place| self.places.get(*place as usize));
        places.map(|one| Ok((one.line, self.read(one)?))).collect()
    }

    /// Passes each record in order without its latencies, one at a time.
    pub fn each_record(&self, take: &mut dyn FnMut(Trial) -> Outcome<()>) -> Outcome<()> {
        self.places.iter().try_for_each(|place| take(self.record(place)?))
    }

    pub(super) fn all(&self) -> Outcome<Vec<Trial>> {
        self.places.iter().map(|place| self.read(place)).collect()
    }

    fn none(system: &'a dyn System, directory: &'a Path) -> Self {
        let (places, own) = (Vec::new(), Vec::new());
        Self { system, directory, file: None, places, own }
    }

    fn path(&self) -> PathBuf {
        self.directory.join("trials.jsonl")
    }

    /// The file and its bytes. A pipe, a device or a giant in its place is not waited for.
    fn opened(&self) -> io::Result<Option<(File, u64)>> {
        let path = self.path();
        let found = match self.system.status(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        if found.kind != FileKind::File || found.size_bytes > LARGEST_FILE_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a result file"));
        }
        let file = self.system.open_for_reading(&path, Caching::Buffered)?;
        Ok(Some((file, found.size_bytes)))
    }

    /// Finds all lines, a part of the file after the other.
    fn look(&mut self, file: &File, bytes: u64) -> Outcome<()> {
        let (mut rest, mut at, mut line) = (Vec::new(), 0_u64, 0);
        loop {
            let known = rest.len();
            let wanted = PART_BYTES.min((bytes - at - known as u64) as usize);
            rest.resize(known + wanted, 0);
            let read = filled(self.system, file, at + known as u64, &mut rest[known..]);
            let read = read.map_err(|error| self.unreadable(&error))?;
            rest.truncate(known + read);
            let is_end = read == 0;
            let mut begin = 0;
            while let Some(length) = rest[begin..].iter().position(|byte| *byte == b'\n') {
                self.add(&rest[begin..begin + length], at + begin as u64, line, true)?;
                (begin, line) = (begin + length + 1, line + 1);
            }
            rest.drain(..begin);
            at += begin as u64;
            if rest.len() > LONGEST_LINE {
                return Err(self.damaged(line, "the line is too long"));
            }
            if is_end {
                return if rest.is_empty() { Ok(()) } else { self.add(&rest, at, line, false) };
            }
        }
    }

    fn add(&mut self, bytes: &[u8], at: u64, line: usize, whole: bool) -> Outcome<()> {
        #[derive(Deserialize)]
        struct Head {
            workload: usize,
        }
        let workloads = self.own.len();
        match std::str::from_utf8(bytes).map(cut::json::<Head>) {
            Ok(Ok(head)) if head.workload < workloads => {
                self.own[head.workload].push(self.places.len() as u32);
                let bytes = bytes.len();
                self.places.push(TrialPlace { workload: head.workload, at, bytes, line });
                Ok(())
            }
            Ok(Ok(head)) => {
                let why = format!("workload {} is not in the plan", head.workload);
                Err(self.damaged(line, &why))
            }
            _ if !whole => Ok(()),
            Ok(Err(error)) => Err(self.damaged(line, &error.to_string())),
            Err(error) => Err(self.damaged(line, &error.to_string())),
        }
    }

    fn read(&self, place: &TrialPlace) -> Outcome<Trial> {
        let mut trial = self.record(place)?;
        read_latencies(self.system, self.directory, &mut trial)?;
        Ok(trial)
    }

    fn record(&self, place: &TrialPlace) -> Outcome<Trial> {
        let changed = || self.damaged(place.line, "the file changed while Assay read it");
        let file = self.file.as_ref().ok_or_else(changed)?;
        let mut bytes = vec![0; place.bytes];
        let read = filled(self.system, file, place.at, &mut bytes);
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

/// Counts the lines of the trials file in a directory, without parsing them.
pub(super) fn count(system: &dyn System, directory: &Path) -> io::Result<usize> {
    let Some((file, bytes)) = Trials::none(system, directory).opened()? else { return Ok(0) };
    let mut part = vec![0; PART_BYTES.min(bytes as usize)];
    let (mut at, mut lines, mut is_whole) = (0, 0, true);
    while at < bytes {
        let read = filled(system, &file, at, &mut part)?;
        let Some(last) = part[..read].last() else { break };
        is_whole = *last == b'\n';
        lines += part[..read].split(|byte| *byte == b'\n').count() - 1;
        at += read as u64;
    }
    Ok(lines + usize::from(!is_whole))
}

/// Reads until the bytes are full or the file ends; how many there were.
fn filled(system: &dyn System, file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
    let mut there = 0;
    while there < into.len() {
        match system.read_at(file, at + there as u64, &mut into[there..])? {
            0 => break,
            count => there += count,
        }
    }
    Ok(there)
}
