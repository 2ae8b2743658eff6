//! Values derived from files, stored to save time while files and program stay the same; a bad cache only costs time.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use assay_core::failure::Outcome;
use assay_machine::system::System;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The program: another build may derive other values.
const PROGRAM: &str = "/proc/self/exe";

/// Values by name, each with the stamp of its files.
type Values<T> = BTreeMap<String, (u64, T)>;

pub struct Cache<'a, T> {
    system: &'a dyn System,
    path: PathBuf,
    program: u64,
    before: Values<T>,
    now: Values<T>,
    is_changed: bool,
}

impl<'a, T: Serialize + DeserializeOwned> Cache<'a, T> {
    /// Opens a cache; empty if another build of the program wrote the file.
    pub fn open(system: &'a dyn System, path: &Path) -> Self {
        let program = stamp(system, [Path::new(PROGRAM)]);
        let stored = system.read_bytes(path).ok();
        let stored = stored.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let stored = stored.filter(|(by, _): &(u64, Values<T>)| *by == program);
        let before = stored.map(|(_, values)| values).unwrap_or_default();
        let (path, now) = (path.to_owned(), Values::new());
        Self { system, path, program, before, now, is_changed: false }
    }

    /// Adds the stored value of a name, or a derived one if its files changed.
    pub fn add(
        &mut self,
        name: String,
        stamp: u64,
        derive: impl FnOnce() -> Outcome<T>,
    ) -> Outcome<()> {
        let known = self.before.remove(&name).filter(|(old, _)| *old == stamp);
        self.is_changed |= known.is_none();
        let value = match known {
            Some(known) => known,
            None => (stamp, derive()?),
        };
        self.now.insert(name, value);
        Ok(())
    }

    /// Stores the added values, if any changed, and returns them in the order of their names.
    pub fn keep(self) -> impl DoubleEndedIterator<Item = T> {
        if self.is_changed || !self.before.is_empty() {
            let bytes = serde_json::to_vec(&(self.program, &self.now)).unwrap_or_default();
            let parent = self.path.parent().unwrap_or(&self.path);
            let made = self.system.create_directory(parent);
            let _ = made.and_then(|()| self.system.write_whole(&self.path, &bytes));
        }
        self.now.into_values().map(|(_, value)| value)
    }
}

/// Returns a number that changes with the path, size, time or inode of a file.
pub fn stamp(system: &dyn System, paths: impl IntoIterator<Item = impl AsRef<Path>>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for path in paths {
        let found = system.status(path.as_ref()).ok();
        let found = found.map(|status| (status.size_bytes, status.modified_ns, status.inode));
        (path.as_ref(), found).hash(&mut hasher);
    }
    hasher.finish()
}

/// The same of all files in a directory, except one.
pub fn stamp_below(system: &dyn System, directory: &Path, except: &str) -> u64 {
    let names = system.list(directory).unwrap_or_default();
    stamp(system, names.iter().filter(|name| *name != except).map(|name| directory.join(name)))
}

#[cfg(test)]
mod tests {
    use assay_machine::system::Fake;

    use super::*;

    fn added(fake: &Fake, derived: &str) -> Vec<String> {
        let mut cache = Cache::open(fake, Path::new("/cache"));
        let stamp = stamp_below(fake, Path::new("/files"), "x");
        cache.add("a".to_owned(), stamp, || Ok(derived.to_owned())).unwrap();
        cache.keep().collect()
    }

    #[test]
    fn value_lasts_until_a_file_changes_or_the_cache_is_damaged() {
        let fake = Fake::new();
        fake.put("/files/a", "one");
        assert_eq!(added(&fake, "first"), ["first"]);
        assert_eq!(added(&fake, "second"), ["first"]);
        fake.put("/files/a", "three");
        assert_eq!(added(&fake, "third"), ["third"]);
        fake.put("/cache", "{ \"program\": 1 ");
        assert_eq!(added(&fake, "fourth"), ["fourth"]);
    }
}
