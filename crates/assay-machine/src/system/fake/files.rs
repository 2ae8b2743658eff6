//! Files by path, in path order: the files below a directory follow it.
//!
//! A map of `PathBuf` compares paths by component, and walks over crashes do a million lookups. Here a key is the bytes
//! of a path with 0 instead of `/`: byte comparison is fast and has the same order.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Replaces `/`; no name contains it.
const BETWEEN: u8 = 0;

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathKey(Vec<u8>);

impl PathKey {
    /// Key of a path: `/a/b`, `/a//b` and `/a/./b/` are equal.
    pub fn new(path: &Path) -> Self {
        let mut key = Vec::with_capacity(path.as_os_str().len());
        for part in path.as_os_str().as_bytes().split(|byte| *byte == b'/') {
            if !part.is_empty() && part != b"." {
                key.push(BETWEEN);
                key.extend_from_slice(part);
            }
        }
        Self(key)
    }

    /// Splits a key into parent and name; `None` for `/`.
    pub fn split(&self) -> Option<(Self, &[u8])> {
        let at = self.0.iter().rposition(|byte| *byte == BETWEEN)?;
        Some((Self(self.0[..at].to_vec()), &self.0[at + 1..]))
    }

    pub fn join(&self, below: &Self) -> Self {
        Self([&self.0[..], &below.0[..]].concat())
    }

    pub fn with(&self, part: &[u8]) -> Self {
        Self([&self.0[..], &[BETWEEN], part].concat())
    }

    /// Relative path of a key below this one; `None` for this key and others.
    fn rest<'a>(&self, other: &'a Self) -> Option<&'a [u8]> {
        other.0.strip_prefix(&self.0[..])?.strip_prefix(&[BETWEEN])
    }
}

#[derive(Clone, Debug)]
pub struct FakeFiles<T>(BTreeMap<PathKey, (PathBuf, T)>);

impl<T> Default for FakeFiles<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> FakeFiles<T> {
    pub fn get(&self, path: &Path) -> Option<&T> {
        self.at(&PathKey::new(path)).map(|(_, file)| file)
    }

    pub fn get_mut(&mut self, path: &Path) -> Option<&mut T> {
        self.0.get_mut(&PathKey::new(path)).map(|(_, file)| file)
    }

    pub fn contains_key(&self, path: &Path) -> bool {
        self.0.contains_key(&PathKey::new(path))
    }

    pub fn at(&self, key: &PathKey) -> Option<&(PathBuf, T)> {
        self.0.get(key)
    }

    pub fn insert(&mut self, path: PathBuf, file: T) {
        self.0.insert(PathKey::new(&path), (path, file));
    }

    pub fn iter(&self) -> impl Iterator<Item = (&PathBuf, &T)> {
        self.0.values().map(|(path, file)| (path, file))
    }

    pub fn keys(&self) -> impl Iterator<Item = &PathBuf> {
        self.iter().map(|(path, _)| path)
    }

    pub fn below(&self, directory: &Path) -> impl Iterator<Item = &PathBuf> + use<'_, T> {
        self.entries(PathKey::new(directory)).map(|(_, path)| path)
    }

    pub fn inside(&self, directory: &Path) -> impl Iterator<Item = &PathBuf> + use<'_, T> {
        let all = self.entries(PathKey::new(directory));
        all.filter(|(rest, _)| !rest.contains(&BETWEEN)).map(|(_, path)| path)
    }

    /// Files below a directory, by relative path.
    fn entries(&self, directory: PathKey) -> impl Iterator<Item = (&[u8], &PathBuf)> + use<'_, T> {
        let own = directory.clone();
        let all = self.0.range(directory.clone()..).skip_while(move |(key, _)| **key == own);
        all.map_while(move |(key, (path, _))| Some((directory.rest(key)?, path)))
    }

    /// Removes a file and the files below it; returns them.
    pub fn remove(&mut self, path: &Path) -> Vec<T> {
        let own = PathKey::new(path);
        let all = self.0.range(own.clone()..).map(|(key, _)| key);
        let gone: Vec<PathKey> =
            all.take_while(|key| **key == own || own.rest(key).is_some()).cloned().collect();
        gone.iter().filter_map(|key| self.0.remove(key)).map(|(_, file)| file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the order of a map of paths, with names that sort before and after `/`.
    #[test]
    fn what_is_below_a_directory_follows_it_and_its_neighbours_do_not_count() {
        let names =
            ["/", "/a", "/a/b", "/a/b/c", "/a/bb", "/a-", "/a!/x", "/b", "/\u{1}", "/a/\u{1}"];
        let mut files = FakeFiles::default();
        let mut paths = BTreeMap::new();
        for name in names {
            files.insert(name.into(), name);
            paths.insert(PathBuf::from(name), name);
        }
        let (own, known) = (files.keys().collect::<Vec<_>>(), paths.keys().collect::<Vec<_>>());
        assert_eq!(own, known);
        for name in names {
            let directory = Path::new(name);
            let is_below =
                |path: &&PathBuf| path.starts_with(directory) && path.as_path() != directory;
            let below: Vec<&PathBuf> = paths.keys().filter(is_below).collect();
            assert_eq!(files.below(directory).collect::<Vec<_>>(), below, "{name}");
            let inside = below.into_iter().filter(|path| path.parent() == Some(directory));
            let found: Vec<&PathBuf> = files.inside(directory).collect();
            assert_eq!(found, inside.collect::<Vec<_>>(), "{name}");
        }
        assert_eq!(files.remove(Path::new("/a")).len(), 5);
        assert_eq!(
            files.iter().map(|(_, name)| *name).collect::<Vec<_>>(),
            ["/", "/\u{1}", "/a!/x", "/a-", "/b"]
        );
    }

    #[test]
    fn a_path_has_one_key_however_it_is_written() {
        let mut files = FakeFiles::default();
        files.insert("/a/b".into(), 1);
        for same in ["/a/b", "/a//b", "/a/./b", "/a/b/"] {
            assert_eq!(files.get(Path::new(same)), Some(&1), "{same}");
        }
        for other in ["/a", "/a/bb", "/a/b/c", "/"] {
            assert!(!files.contains_key(Path::new(other)), "{other}");
        }
        let own = PathKey::new(Path::new("/a/b"));
        let (above, name) = own.split().unwrap();
        assert_eq!(
            (above.with(name), above.join(&PathKey::new(Path::new("b")))),
            (own.clone(), own)
        );
        assert_eq!(above.split(), Some((PathKey::new(Path::new("/")), &b"a"[..])));
        assert_eq!(PathKey::default().split(), None);
    }
}
