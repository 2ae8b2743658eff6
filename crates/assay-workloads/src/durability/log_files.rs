//! A small file system for tests: each call is a record behind the one before it, a sync writes those that were not
//! written yet and flushes; what is there is what the records up to the first broken one say.

use std::collections::BTreeMap;

use assay_load::mix64;
use serde::{Deserialize, Serialize};

use crate::durability::command::{CommandLines, EndedLine, ExitKind};
use crate::durability::files::Directory;
use crate::durability::guest::MountedStorage;
use crate::durability::trial::Medium;

const SECTOR: usize = 512;
/// Length and sum of a record.
const HEAD: usize = 16;

#[derive(Clone, Serialize, Deserialize)]
enum Record {
    Create(String),
    Write(Vec<u8>),
    Rename(String, String),
    Remove(String),
}

pub struct LogFiles<'a> {
    medium: &'a mut dyn Medium,
    end: u64,
    through: bool,
    files: Vec<Vec<u8>>,
    names: BTreeMap<String, usize>,
    pending: Vec<u8>,
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(7, |sum, byte| mix64(sum ^ u64::from(*byte)))
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

impl<'a> LogFiles<'a> {
    /// Opens the files whose changes are in the log on a medium.
    pub fn open(medium: &'a mut dyn Medium) -> Self {
        let (files, names, pending) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut files_in_log = Self { medium, end: 0, through: false, files, names, pending };
        while let Some((record, bytes)) = files_in_log.record() {
            files_in_log.apply(record);
            files_in_log.end += bytes;
        }
        files_in_log
    }

    /// The record at the current end of the log with its length on the medium; `None` if there is no valid one.
    fn record(&mut self) -> Option<(Record, u64)> {
        let mut head = [0; SECTOR];
        self.medium.read(self.end, &mut head).ok()?;
        let length = word(&head, 0) as usize;
        let whole = (HEAD + length).next_multiple_of(SECTOR);
        if length == 0 || whole > 1 << 20 {
            return None;
        }
        let mut all = vec![0; whole];
        self.medium.read(self.end, &mut all).ok()?;
        let body = &all[HEAD..HEAD + length];
        (sum(body) == word(&all, 8))
            .then(|| Some((serde_json::from_slice(body).ok()?, whole as u64)))?
    }

    fn apply(&mut self, record: Record) {
        match record {
            Record::Create(name) => {
                self.names.insert(name, self.files.len());
                self.files.push(Vec::new());
            }
            Record::Write(bytes) => self.files.last_mut().unwrap().extend(bytes),
            Record::Rename(from, to) => {
                let file = self.names.remove(&from).unwrap();
                self.names.insert(to, file);
            }
            Record::Remove(name) => {
                self.names.remove(&name);
            }
        }
    }

    /// Appends a record to those that the next sync writes: its length, its checksum and its text.
    fn note(&mut self, record: Record) {
        let body = serde_json::to_vec(&record).unwrap();
        let from = self.pending.len();
        self.pending.extend((body.len() as u64).to_le_bytes());
        self.pending.extend(sum(&body).to_le_bytes());
        self.pending.extend(body);
        let whole = from + (self.pending.len() - from).next_multiple_of(SECTOR);
        self.pending.resize(whole, 0);
        self.apply(record);
    }

    fn sync(&mut self) -> Result<(), String> {
        for piece in self.pending.chunks(8 * SECTOR) {
            self.medium.write(self.end, piece, false)?;
            self.end += piece.len() as u64;
        }
        self.pending.clear();
        self.medium.sync(true)
    }
}

impl Directory for LogFiles<'_> {
    fn create(&mut self, name: &str, through: bool) -> Result<(), String> {
        self.through = through;
        self.note(Record::Create(name.to_owned()));
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.note(Record::Write(bytes.to_vec()));
        if self.through { self.sync() } else { Ok(()) }
    }

    fn sync_file(&mut self, _: bool) -> Result<(), String> {
        self.sync()
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), String> {
        self.note(Record::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), String> {
        self.note(Record::Remove(name.to_owned()));
        Ok(())
    }

    fn sync_names(&mut self) -> Result<(), String> {
        self.sync()
    }

    fn names(&mut self) -> Result<Vec<String>, String> {
        Ok(self.names.keys().cloned().collect())
    }

    fn read(&mut self, name: &str, _: u64) -> Result<Vec<u8>, String> {
        Ok(self.files[self.names[name]].clone())
    }
}

impl MountedStorage for LogFiles<'_> {
    fn files(&mut self) -> Box<dyn Directory + '_> {
        Box::new(LogFiles {
            medium: &mut *self.medium,
            end: self.end,
            through: false,
            files: self.files.clone(),
            names: self.names.clone(),
            pending: Vec::new(),
        })
    }

    /// Makes so many files as the command says, and promises each; `silent 5` says nothing of them.
    fn command(
        &mut self,
        own: &CommandLines,
        promised: &mut dyn FnMut(String) -> Result<(), String>,
    ) -> Result<EndedLine, String> {
        let words: Vec<&str> = own.command.split(' ').collect();
        let [what, count] = words[..] else { return Ok(ended(127)) };
        for number in 0..count.parse::<u32>().unwrap() {
            self.create(&number.to_string(), false)?;
            self.sync_names()?;
            if what == "tell" {
                promised(number.to_string())?;
            }
        }
        Ok(ended(0))
    }

    /// `lines`: looks for each that was promised; `order`: for all before one that is there; `blind`: for none.
    fn check(&mut self, command: &CommandLines, lines: &[String]) -> Result<EndedLine, String> {
        let is_there = |name: &String| self.names.contains_key(name);
        let last = self.names.keys().filter_map(|name| name.parse::<u32>().ok()).max();
        Ok(match command.check.as_str() {
            "lines" => ended(i32::from(!lines.iter().all(is_there))),
            "order" => ended(i32::from(
                !(0..last.unwrap_or(0)).all(|number| is_there(&number.to_string())),
            )),
            "blind" => ended(0),
            "wrong" => ended(1),
            _ => ended(127),
        })
    }
}

fn ended(code: i32) -> EndedLine {
    EndedLine { how: ExitKind::Exited(code), said: format!("{code}") }
}
