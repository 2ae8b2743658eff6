//! A git repository in a folder, with a fixed author.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Done, call};

/// Options that override the machine's settings.
const SET: &str = "-c user.name=Name -c user.email=name@example.org -c commit.gpgsign=false \
                   -c init.defaultBranch=main -c protocol.file.allow=always -c core.hooksPath=/dev/null";

#[derive(Debug)]
pub struct Repository {
    path: PathBuf,
}

impl Repository {
    pub fn new(path: &Path) -> Done<Self> {
        fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let made = Self { path: path.to_owned() };
        made.git(&["init", "--quiet"])?;
        Ok(made)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn git(&self, words: &[&str]) -> Done<String> {
        let path = self.path.display().to_string();
        let mut all = vec!["-C", path.as_str()];
        all.extend(SET.split(' ').chain(words.iter().copied()));
        call("git", &all)
    }

    pub fn commit(&self, name: &str, text: &str) -> Done<String> {
        fs::write(self.path.join(name), text).map_err(|error| format!("{name}: {error}"))?;
        self.git(&["add", "--", name])?;
        self.git(&["commit", "--quiet", "--message", &format!("{name}: {}", text.trim())])?;
        Ok(self.git(&["rev-parse", "HEAD"])?.trim().to_owned())
    }

    /// Every file in it, those of git among them, with its bytes and the time at which it was changed last.
    pub fn everything(&self) -> Done<BTreeMap<PathBuf, (Vec<u8>, u64)>> {
        let mut found = BTreeMap::new();
        gather(&self.path, &mut found).map_err(|error| error.to_string())?;
        Ok(found)
    }
}

fn gather(folder: &Path, found: &mut BTreeMap<PathBuf, (Vec<u8>, u64)>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let status = fs::symlink_metadata(&path)?;
        if status.is_dir() {
            gather(&path, found)?;
        } else {
            let changed = status.modified()?.duration_since(std::time::UNIX_EPOCH);
            let changed = changed.map_or(0, |since| since.as_nanos() as u64);
            found.insert(path.clone(), (fs::read(&path)?, changed));
        }
    }
    Ok(())
}
