//! The calls of a program with files, drawn by seed.

use std::collections::BTreeMap;

use assay_core::draws::Draws;
use serde::{Deserialize, Serialize};

use crate::durability::sync::Sync;

pub const NAMES: u32 = 16;
/// Suffix of a file that is to replace another.
const TEMPORARY: &str = ".new";
/// Maximum number of changed files per round.
const MOST_CHANGES: u64 = 3;
/// The shortest file that identifies itself.
pub const LEAST_BYTES: u64 = 64;

/// A name in the directory: a permanent one, or the temporary one of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileName(u32);

impl FileName {
    /// The name under which a replacement of this file is written.
    const fn temporary(self) -> Self {
        Self(self.0 + NAMES)
    }

    pub fn find(text: &str) -> Option<Self> {
        (0..2 * NAMES).map(Self).find(|name| name.to_string() == text)
    }
}

impl std::fmt::Display for FileName {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let suffix = if self.0 < NAMES { "" } else { TEMPORARY };
        write!(to, "file-{:02}{suffix}", self.0 % NAMES)
    }
}

/// `Create` opens an empty file under a free name, `Write` writes its whole content, and `Rename` may replace a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Create { name: FileName, file: u32 },
    Write { file: u32 },
    SyncFile { file: u32 },
    Rename { from: FileName, to: FileName },
    Remove { name: FileName },
    SyncNames,
}

impl Call {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Create { .. } => "creation",
            Self::Write { .. } => "write",
            Self::SyncFile { .. } => "sync of the file",
            Self::Rename { .. } => "rename",
            Self::Remove { .. } => "removal",
            Self::SyncNames => "fsync of the directory",
        }
    }
}

/// Number and size of operations with files, and how they are synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileShape {
    pub sync: Sync,
    pub rounds: u32,
    /// Maximum bytes of a file, at least [`LEAST_BYTES`].
    pub most_bytes: u64,
    pub seed: u64,
}

/// Time of the power loss in terms of the program's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutMoment {
    /// Returned calls, as reported outside the drive.
    pub returned: usize,
    /// Calls that may have started.
    pub begun: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileScript {
    pub sync: Sync,
    pub calls: Vec<Call>,
    pub lengths: Vec<u64>,
    /// Number of calls at the end of each round.
    pub rounds: Vec<usize>,
}

impl FileScript {
    /// Draws a script; the same shape results in the same script.
    pub fn from_shape(shape: &FileShape) -> Self {
        let script =
            Self { sync: shape.sync, calls: Vec::new(), lengths: Vec::new(), rounds: Vec::new() };
        let draws = Draws::new(shape.seed, "durability files");
        let most_bytes = shape.most_bytes.max(LEAST_BYTES);
        let mut writer = ScriptWriter { script, draws, live: BTreeMap::new(), most_bytes };
        for _ in 0..shape.rounds {
            writer.add_round();
        }
        writer.script
    }

    /// Whether the call guarantees something when it has returned.
    pub fn promises(&self, at: usize) -> bool {
        match self.calls.get(at) {
            Some(Call::SyncFile { .. } | Call::SyncNames) => true,
            Some(Call::Write { .. }) => self.sync == Sync::Dsync,
            _ => false,
        }
    }

    /// The numbers of returned calls after which the program reports.
    pub fn reports(&self) -> impl Iterator<Item = usize> {
        (1..=self.calls.len()).filter(|calls| self.reports_after(*calls))
    }

    /// Whether the program reports when this many calls have returned: each guarantee, and the end of each round.
    pub(super) fn reports_after(&self, calls: usize) -> bool {
        self.promises(calls - 1) || self.rounds.binary_search(&calls).is_ok()
    }

    /// A power loss after this many reported calls; the program went no further than its next report.
    pub fn cut_at(&self, returned: usize) -> CutMoment {
        let next = (returned + 1..=self.calls.len()).find(|calls| self.reports_after(*calls));
        CutMoment { returned, begun: next.unwrap_or(self.calls.len()) }
    }
}

struct ScriptWriter {
    script: FileScript,
    draws: Draws,
    live: BTreeMap<FileName, u32>,
    most_bytes: u64,
}

impl ScriptWriter {
    /// Creates, removes, moves or replaces some random files. Each name occurs once, so no file changes twice.
    fn add_round(&mut self) {
        let mut names: Vec<FileName> = (0..NAMES).map(FileName).collect();
        self.draws.shuffle(&mut names);
        for _ in 0..=self.draws.below(MOST_CHANGES) {
            let Some(name) = names.pop() else { break };
            // For an existing file: 0 removes it, 1 moves it to a free name, 2 and 3 replace it.
            let change = self.draws.below(4);
            if !self.live.contains_key(&name) {
                self.create(name);
                continue;
            }
            let free = names.iter().position(|candidate| !self.live.contains_key(candidate));
            match (change, free) {
                (0, _) => self.add_call(Call::Remove { name }),
                (1, Some(at)) => {
                    self.add_call(Call::Rename { from: name, to: names.swap_remove(at) });
                }
                _ => {
                    self.create(name.temporary());
                    self.add_call(Call::Rename { from: name.temporary(), to: name });
                }
            }
        }
        // One round in four ends without a guarantee for its names.
        if self.script.sync != Sync::None && self.draws.below(4) > 0 {
            self.add_call(Call::SyncNames);
        }
        self.script.rounds.push(self.script.calls.len());
    }

    /// Adds the calls that create and write a new file, and sync it if the script syncs files.
    fn create(&mut self, name: FileName) {
        let file = self.script.lengths.len() as u32;
        // Half of the files have the largest size.
        let random_bytes = LEAST_BYTES + self.draws.below(self.most_bytes - LEAST_BYTES + 1);
        let has_most = self.draws.below(2) == 0;
        self.script.lengths.push(if has_most { self.most_bytes } else { random_bytes });
        self.add_call(Call::Create { name, file });
        self.add_call(Call::Write { file });
        if matches!(self.script.sync, Sync::Fsync | Sync::Fdatasync) {
            self.add_call(Call::SyncFile { file });
        }
    }

    /// Adds a call, and tracks which names exist after it.
    fn add_call(&mut self, call: Call) {
        match call {
            Call::Create { name, file } => {
                self.live.insert(name, file);
            }
            Call::Rename { from, to } => {
                if let Some(file) = self.live.remove(&from) {
                    self.live.insert(to, file);
                }
            }
            Call::Remove { name } => {
                self.live.remove(&name);
            }
            Call::Write { .. } | Call::SyncFile { .. } | Call::SyncNames => {}
        }
        self.script.calls.push(call);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn script(sync: Sync) -> FileScript {
        FileScript::from_shape(&FileShape { sync, rounds: 400, most_bytes: 8192, seed: 3 })
    }

    #[test]
    fn names_are_found_by_their_texts() {
        let all: BTreeSet<String> = (0..2 * NAMES).map(|own| FileName(own).to_string()).collect();
        assert_eq!(all.len(), 2 * NAMES as usize);
        for text in &all {
            assert_eq!(FileName::find(text).unwrap().to_string(), *text);
        }
        assert_eq!(
            [FileName(3).to_string(), FileName(3).temporary().to_string()],
            ["file-03", "file-03.new"]
        );
        for text in ["file-16", "file-3", "lost+found", ""] {
            assert_eq!(FileName::find(text), None, "{text}");
        }
    }

    #[test]
    fn each_call_can_be_made_and_each_file_is_synced_before_it_replaces_another() {
        let own = script(Sync::Fsync);
        let (mut live, mut synced) = (BTreeMap::new(), BTreeSet::new());
        let mut seen = [0_u32; 6];
        for call in &own.calls {
            let kind = match *call {
                Call::Create { name, file } => {
                    assert_eq!(live.insert(name, file), None, "it is free");
                    0
                }
                Call::Write { .. } => 1,
                Call::SyncFile { file } => {
                    synced.insert(file);
                    2
                }
                Call::Rename { from, to } => {
                    let file = live.remove(&from).unwrap();
                    assert!(synced.contains(&file));
                    live.insert(to, file);
                    3
                }
                Call::Remove { name } => {
                    assert!(live.remove(&name).is_some());
                    4
                }
                Call::SyncNames => 5,
            };
            seen[kind] += 1;
        }
        assert!(seen.iter().all(|count| *count > 30), "{seen:?}");
        assert!((150..400).contains(&seen[5]), "some rounds promise no names: {seen:?}");
        assert!(own.lengths.iter().all(|bytes| (64..=8192).contains(bytes)));
        assert_eq!((own.rounds.len(), own.rounds.last()), (400, Some(&own.calls.len())));
    }

    #[test]
    fn what_promises_follows_from_how_it_is_synced() {
        let promises = |sync| {
            let own = script(sync);
            let all = (0..own.calls.len()).filter(|at| own.promises(*at));
            let words: BTreeSet<&str> = all.map(|at| own.calls[at].words()).collect();
            words.into_iter().collect::<Vec<_>>()
        };
        let names = Call::SyncNames.words();
        let file = Call::SyncFile { file: 0 }.words();
        assert_eq!(promises(Sync::Fsync), [names, file]);
        assert_eq!(promises(Sync::Fdatasync), [names, file]);
        assert_eq!(promises(Sync::Dsync), [names, "write"]);
        assert_eq!(promises(Sync::None), Vec::<&str>::new());
    }

    #[test]
    fn a_program_is_not_further_than_to_what_it_tells_next() {
        for sync in [Sync::Fdatasync, Sync::None] {
            let own = script(sync);
            let told: Vec<usize> = own.reports().collect();
            assert!(own.rounds.iter().all(|end| told.contains(end)));
            assert_eq!(told.len() > own.rounds.len(), sync != Sync::None);
            for (returned, next) in [0].iter().chain(&told).zip(&told) {
                assert_eq!(own.cut_at(*returned), CutMoment { returned: *returned, begun: *next });
                assert!((*returned..next - 1).all(|at| !own.promises(at)));
            }
            let all = own.calls.len();
            assert_eq!(own.cut_at(all), CutMoment { returned: all, begun: all });
        }
    }
}
