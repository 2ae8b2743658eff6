//! A small in-memory file system that loses its power, correct or defective.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use assay_core::draws::Draws;

use super::contents::Listing;
use super::run::{Directory, read_back};
use super::script::FileScript;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Documented guarantees only; everything else is random.
    Honest,
    /// A sync of a file does nothing.
    NoContents,
    /// A sync of the directory does nothing.
    NoNames,
    /// A rename removes the target name before it renames the file.
    RenameInTwo,
    /// A rename removes the old name before it adds the new one.
    MoveInTwo,
    /// A removed file comes back.
    ComesBack,
    /// A reassigned name refers to its previous file.
    ShowsOlder,
    /// Synced contents miss their end.
    Tears,
}

impl Keeps {
    pub const LIARS: [Self; 7] = [
        Self::NoContents,
        Self::NoNames,
        Self::RenameInTwo,
        Self::MoveInTwo,
        Self::ComesBack,
        Self::ShowsOlder,
        Self::Tears,
    ];
}

#[derive(Clone, Debug)]
enum Change {
    Create { name: String, file: usize },
    Rename { from: String, to: String, file: usize },
    Remove { name: String },
}

impl Change {
    fn names(&self) -> Vec<&String> {
        match self {
            Self::Create { name, .. } | Self::Remove { name } => vec![name],
            Self::Rename { from, to, .. } => vec![from, to],
        }
    }
}

type Names = BTreeMap<String, usize>;

#[derive(Clone, Default)]
pub struct Model {
    files: Vec<Vec<u8>>,
    synced: Vec<bool>,
    through: bool,
    names: Names,
    /// The names on the medium, those before the last sync of the directory, and later changes.
    kept: Names,
    older: Names,
    pending: Vec<Change>,
}

impl Directory for Model {
    fn create(&mut self, name: &str, through: bool) -> Result<(), String> {
        let file = self.files.len();
        if self.names.insert(name.to_owned(), file).is_some() {
            return Err(format!("{name} exists"));
        }
        self.files.push(Vec::new());
        self.synced.push(false);
        self.through = through;
        self.pending.push(Change::Create { name: name.to_owned(), file });
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.files.last_mut().ok_or("no file is open")?.extend_from_slice(bytes);
        if self.through { self.sync_file(false) } else { Ok(()) }
    }

    fn sync_file(&mut self, _: bool) -> Result<(), String> {
        *self.synced.last_mut().ok_or("no file is open")? = true;
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), String> {
        let file = self.names.remove(from).ok_or(format!("{from} does not exist"))?;
        self.names.insert(to.to_owned(), file);
        self.pending.push(Change::Rename { from: from.to_owned(), to: to.to_owned(), file });
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), String> {
        self.names.remove(name).ok_or(format!("{name} does not exist"))?;
        self.pending.push(Change::Remove { name: name.to_owned() });
        Ok(())
    }

    fn sync_names(&mut self) -> Result<(), String> {
        self.older = std::mem::replace(&mut self.kept, self.names.clone());
        self.pending.clear();
        Ok(())
    }

    fn names(&mut self) -> Result<Vec<String>, String> {
        Ok(self.names.keys().cloned().collect())
    }

    fn read(&mut self, name: &str, _: u64) -> Result<Vec<u8>, String> {
        let file = self.names.get(name).ok_or(format!("{name} does not exist"))?;
        Ok(self.files[*file].clone())
    }
}

impl Model {
    pub fn after(script: &FileScript, run: u64, calls: usize) -> Self {
        let begun = FileScript { calls: script.calls[..calls].to_vec(), ..script.clone() };
        let mut model = Self::default();
        begun.run(run, &mut model, &mut |_| Ok(ControlFlow::Continue(()))).unwrap();
        model
    }

    /// The directory after a power loss with the kind of behavior `keeps`; changes without a sync survive randomly.
    pub fn cut(&self, keeps: Keeps, draws: &mut Draws) -> Self {
        let mut model = self.clone();
        model.names = match keeps {
            Keeps::NoNames => self.older.clone(),
            _ => self.kept.clone(),
        };
        if keeps == Keeps::ShowsOlder {
            for (name, file) in &self.older {
                if draws.below(4) == 0 && model.names.contains_key(name) {
                    model.names.insert(name.clone(), *file);
                }
            }
        }
        if keeps == Keeps::ComesBack {
            for (name, file) in &self.older {
                model.names.entry(name.clone()).or_insert(*file);
            }
        }
        model.apply(keeps, draws);
        for (file, is_synced) in self.synced.iter().enumerate() {
            let bytes = &mut model.files[file];
            if !is_synced || keeps == Keeps::NoContents {
                lose(bytes, draws);
            } else if keeps == Keeps::Tears && draws.below(8) == 0 {
                bytes.pop();
            }
        }
        model
    }

    /// Applies each unsynced change randomly, if earlier changes of the same names are applied.
    fn apply(&mut self, keeps: Keeps, draws: &mut Draws) {
        let mut missing: Vec<&String> = Vec::new();
        let pending = std::mem::take(&mut self.pending);
        for change in &pending {
            let names = change.names();
            if draws.below(2) == 0 || names.iter().any(|entry| missing.contains(entry)) {
                missing.extend(names);
                continue;
            }
            match change {
                Change::Create { name, file } => {
                    self.names.insert(name.clone(), *file);
                }
                Change::Rename { from, to, file } => {
                    let is_over = self.names.contains_key(to);
                    self.names.remove(from);
                    let is_left_out = match keeps {
                        Keeps::RenameInTwo => is_over,
                        Keeps::MoveInTwo => !is_over,
                        _ => false,
                    };
                    if is_left_out {
                        self.names.remove(to);
                    } else {
                        self.names.insert(to.clone(), *file);
                    }
                }
                Change::Remove { name } => {
                    self.names.remove(name);
                }
            }
        }
    }

    pub fn listing(&mut self, script: &FileScript, run: u64) -> Listing {
        read_back(script, run, self).unwrap()
    }
}

/// Unsynced content: complete, empty, truncated, zeros, or with a hole.
fn lose(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let at = draws.below(bytes.len() as u64 + 1) as usize;
    match draws.below(5) {
        0 => {}
        1 => bytes.clear(),
        2 => bytes.truncate(at),
        3 => bytes.fill(0),
        _ => bytes[..at].fill(0),
    }
}
