//! Possible states after a power loss: the guaranteed one, and those since.

use std::collections::{BTreeMap, BTreeSet};

use super::script::{Call, CutMoment, FileName, FileScript};

/// A possible state of a name, and the call that led to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameState {
    pub file: Option<u32>,
    pub call: usize,
}

/// A file with a guaranteed name that was renamed later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenamedFile {
    pub file: u32,
    /// The call that gave the file its guaranteed name.
    pub call: usize,
    /// The guaranteed name first.
    pub names: Vec<FileName>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PossibleFiles {
    /// Possible states of each used name: the guaranteed one first, then the later ones.
    pub names: BTreeMap<FileName, Vec<NameState>>,
    /// The last call that guaranteed the names.
    pub names_promised: Option<usize>,
    /// Files with guaranteed content, and the call that guaranteed it.
    pub synced: BTreeMap<u32, usize>,
    /// Files that must exist under one of their names.
    pub moved: Vec<RenamedFile>,
    /// All names that any file has had.
    pub ever: BTreeSet<(FileName, u32)>,
}

impl PossibleFiles {
    /// Derives the possible states from the calls before a power loss. A call that did not return may have had an effect.
    pub fn after_cut(script: &FileScript, moment: CutMoment) -> Self {
        let mut possible = Self::default();
        let mut live: BTreeMap<FileName, u32> = BTreeMap::new();
        let begun = moment.begun.min(script.calls.len());
        for (at, call) in script.calls[..begun].iter().enumerate() {
            let is_promised = at < moment.returned && script.promises(at);
            match *call {
                Call::Create { name, file } => {
                    live.insert(name, file);
                    possible.add_state(name, NameState { file: Some(file), call: at });
                }
                Call::Rename { from, to } => {
                    let file = live.remove(&from);
                    possible.rename_moved(from, to);
                    possible.add_state(from, NameState { file: None, call: at });
                    if let Some(file) = file {
                        live.insert(to, file);
                        possible.add_state(to, NameState { file: Some(file), call: at });
                    }
                }
                Call::Remove { name } => {
                    live.remove(&name);
                    possible.forget_moved(name);
                    possible.add_state(name, NameState { file: None, call: at });
                }
                Call::Write { file } | Call::SyncFile { file } if is_promised => {
                    possible.synced.entry(file).or_insert(at);
                }
                Call::SyncNames if is_promised => possible.promise_names(at),
                Call::Write { .. } | Call::SyncFile { .. } | Call::SyncNames => {}
            }
        }
        possible.moved.retain(|moved| moved.names.len() > 1);
        possible
    }

    /// Adds a possible state to a name; before its first one, the name was free.
    fn add_state(&mut self, name: FileName, state: NameState) {
        self.names.entry(name).or_insert_with(|| vec![NameState::default()]).push(state);
        self.ever.extend(state.file.map(|file| (name, file)));
    }

    /// Adds the new name of a file; a file that it replaces need not exist any more.
    fn rename_moved(&mut self, from: FileName, to: FileName) {
        self.forget_moved(to);
        if let Some(moved) = self.moved.iter_mut().find(|moved| moved.names.last() == Some(&from)) {
            moved.names.push(to);
        }
    }

    /// The file with this name is removed: it need not exist any more.
    fn forget_moved(&mut self, name: FileName) {
        self.moved.retain(|moved| moved.names.last() != Some(&name));
    }

    /// The newest state of each name becomes the guaranteed one.
    fn promise_names(&mut self, at: usize) {
        self.names_promised = Some(at);
        self.moved.clear();
        for (name, states) in &mut self.names {
            // A name has at least one state; the newest is the last.
            states.drain(..states.len() - 1);
            if let Some(NameState { file: Some(file), call }) = states.first().copied() {
                self.moved.push(RenamedFile { file, call, names: vec![*name] });
            }
        }
    }

    pub fn is_synced(&self, file: u32) -> bool {
        self.synced.contains_key(&file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::sync::Sync;

    fn name(text: &str) -> FileName {
        FileName::find(text).unwrap()
    }

    /// A file is created, replaced, renamed and removed, each followed by a sync of the names.
    fn script() -> FileScript {
        let [own, beside, other] = ["file-00", "file-00.new", "file-01"].map(name);
        let calls = vec![
            Call::Create { name: own, file: 0 },
            Call::Write { file: 0 },
            Call::SyncFile { file: 0 },
            Call::SyncNames,
            Call::Create { name: beside, file: 1 },
            Call::Write { file: 1 },
            Call::SyncFile { file: 1 },
            Call::Rename { from: beside, to: own },
            Call::SyncNames,
            Call::Rename { from: own, to: other },
            Call::SyncNames,
            Call::Remove { name: other },
            Call::SyncNames,
        ];
        FileScript { sync: Sync::Fsync, calls, lengths: vec![100, 100], rounds: vec![4, 9, 11, 13] }
    }

    fn states(own: &PossibleFiles, of: &str) -> Vec<Option<u32>> {
        own.names.get(&name(of)).map_or(vec![], |all| all.iter().map(|own| own.file).collect())
    }

    fn after(returned: usize, begun: usize) -> PossibleFiles {
        PossibleFiles::after_cut(&script(), CutMoment { returned, begun })
    }

    #[test]
    fn until_a_sync_of_the_names_returns_a_name_may_be_as_before() {
        assert_eq!(states(&after(3, 3), "file-00"), [None, Some(0)]);
        assert_eq!(states(&after(3, 4), "file-00"), [None, Some(0)], "it did not return");
        assert_eq!(states(&after(4, 4), "file-00"), [Some(0)]);
        assert!(states(&after(4, 4), "file-01").is_empty(), "nobody used it");
    }

    #[test]
    fn a_name_that_is_replaced_stands_for_the_old_or_the_new_one_and_never_for_none() {
        for begun in [8, 9] {
            assert_eq!(states(&after(7, begun), "file-00"), [Some(0), Some(1)]);
            assert_eq!(states(&after(7, begun), "file-00.new"), [None, Some(1), None]);
        }
        assert_eq!(states(&after(9, 9), "file-00"), [Some(1)]);
        assert_eq!(states(&after(9, 9), "file-00.new"), [None]);
        assert!(after(9, 9).moved.is_empty(), "nothing of it is under way");
    }

    #[test]
    fn a_file_that_is_moved_is_under_one_of_its_names_until_it_is_removed() {
        let own = after(9, 10);
        let names = vec![name("file-00"), name("file-01")];
        assert_eq!(own.moved, [RenamedFile { file: 1, call: 7, names }]);
        assert_eq!(states(&own, "file-00"), [Some(1), None]);
        assert_eq!(states(&own, "file-01"), [None, Some(1)]);
        assert!(after(9, 12).moved.is_empty(), "it is being removed");
        assert!(after(11, 11).moved.is_empty());
        assert_eq!(states(&after(13, 13), "file-01"), [None]);
    }

    #[test]
    fn contents_are_promised_by_the_sync_of_the_file_that_returned() {
        assert!(!after(2, 3).is_synced(0) && after(3, 3).is_synced(0));
        let through = FileScript { sync: Sync::Dsync, ..script() };
        assert!(
            PossibleFiles::after_cut(&through, CutMoment { returned: 2, begun: 3 }).is_synced(0)
        );
        assert!(
            !PossibleFiles::after_cut(&through, CutMoment { returned: 1, begun: 3 }).is_synced(0)
        );
    }
}
