//! Trees of commits below Assay's directory: created and built once, stored for later studies, and limited in number.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assay_core::digest::{Digest, hexadecimal, sha256};
use assay_core::outside;
use assay_machine::factors::guard;
use assay_machine::system::{Executed, FileKind, Hold, HoldError, System};
use assay_workloads::command::tree_name;
use serde::{Deserialize, Serialize};

use super::git::{ProgramRunner, SHORT, error_lines, failure_of, has_failed};
use super::repository::{Commit, Repository};
use super::{Error, submodules};

const TREES: &str = "trees";
/// Maximum number of stored trees and of their bytes; the oldest are removed first.
const MOST_TREES: usize = 8;
const MOST_BYTES: u64 = 2 << 30;
/// Length of a tree's name, hexadecimal digits.
const DIGITS: usize = 32;
/// Marks a complete tree. It is in git's directory, and therefore no file of the commit.
const MARK: &str = ".git/assay-tree.json";
const MARK_FORMAT: &str = "assay-tree/1";
const MOST_MARK_BYTES: u64 = 1 << 20;
/// Stored bytes of a build's output, and displayed lines.
const BUILD_BYTES: u64 = 64 << 10;
const LAST_LINES: usize = 20;
/// Merges standard error into standard output.
const BUILD: &str = "exec 2>&1; exec sh -c \"$1\"";
/// Flushes the built files to the drive before the mark and any measurement.
const SYNC: &str = "sync -f . 2> /dev/null || sync";
/// Prints a hash of each program of a tree and of each named file; fails unless the first name is a program.
const PROGRAMS: &str = r#"[ -f "$1" ] && [ -x "$1" ] || exit 1
find . -path ./.git -prune -o -type f -perm -100 -print | LC_ALL=C sort |
while IFS= read -r file; do printf '%s ' "$file"; sha256sum < "$file"; done
for file; do [ ! -f "$file" ] || sha256sum < "$file"; done"#;
/// Characters by which a shell generates names absent from the line.
const SHELL_CHARACTERS: [char; 12] = ['$', '`', '{', '*', '?', '<', '>', '[', '~', '"', '\'', '\\'];
/// Time between two checks whether another process has released a tree.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitTree {
    pub path: PathBuf,
    pub commit: Commit,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TreeMark {
    format: String,
    repository: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build: Option<String>,
    commit: String,
    /// Hash of git's status of its files.
    state: String,
    bytes: u64,
}

/// Trees of one repository, built with one command line. Protects the returned trees from removal by other processes.
pub struct Trees<'s> {
    runner: ProgramRunner<'s>,
    directory: PathBuf,
    repository: PathBuf,
    modules: Vec<PathBuf>,
    build: Option<String>,
    locks: Mutex<BTreeMap<String, Hold>>,
}

impl fmt::Debug for Trees<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Trees").field("directory", &self.directory).finish_non_exhaustive()
    }
}

pub fn directory(home: &Path) -> PathBuf {
    home.join(TREES)
}

impl<'s> Trees<'s> {
    /// Returns the trees below a home (an absolute path) with a shell command line for builds.
    pub fn below(home: &Path, repository: &Repository<'s>, build: Option<&str>) -> Self {
        Self {
            runner: repository.runner,
            directory: directory(home),
            repository: repository.path().to_owned(),
            modules: repository.modules.clone(),
            build: build.map(str::to_owned),
            locks: Mutex::new(BTreeMap::new()),
        }
    }

    pub fn has(&self, commit: &Commit) -> bool {
        read_mark(self.runner.system, &self.path_of(commit)).is_some()
    }

    /// Returns the tree of a commit, and creates a missing one. Fails if creation or build fail, and if interrupted.
    pub fn get_or_create(&self, commit: &Commit) -> Result<CommitTree, Error> {
        self.lock(commit)?;
        let path = self.path_of(commit);
        match self.intact_mark(&path, commit)? {
            // The modification time of the mark records the last use.
            Some(mark) => self.write_mark(&path, &mark)?,
            None => self.create(&path, commit)?,
        }
        Ok(CommitTree { path, commit: commit.clone() })
    }

    /// Returns whether command lines run the same bytes in all of these trees: the first word is a built program, and
    /// neither a program of the trees nor a file on the lines differs.
    pub fn are_identical(&self, trees: &[CommitTree], lines: &[&str]) -> Result<bool, Error> {
        let needs_shell = lines.iter().any(|line| line.contains(SHELL_CHARACTERS));
        if self.build.is_none() || trees.len() < 2 || needs_shell {
            return Ok(false);
        }
        let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
        let mut first_hash = None;
        for tree in trees {
            let Some(hash) = self.programs_hash(tree, &words)? else { return Ok(false) };
            if first_hash.is_some_and(|first| first != hash) {
                return Ok(false);
            }
            first_hash = Some(hash);
        }
        Ok(true)
    }

    /// Returns a hash of a tree's programs and the files among the words; `None` unless the first is a built program.
    fn programs_hash(&self, tree: &CommitTree, words: &[&str]) -> Result<Option<Digest>, Error> {
        let Some(program) = words.first() else { return Ok(None) };
        // A tracked file is a source, which may read others.
        let tracked = self.runner.git(&tree.path, &["ls-files", "--", program], SHORT)?;
        if has_failed(&tracked) || tracked.heard.bytes > 0 {
            return Ok(None);
        }
        let hashes = self.shell(&tree.path, &[&["-c", PROGRAMS, "sh"][..], words].concat())?;
        Ok(if has_failed(&hashes) { None } else { hashes.heard.sha256 })
    }

    fn name(&self, commit: &Commit) -> String {
        tree_name(&self.repository.display().to_string(), self.build.as_deref(), &commit.id)
    }

    fn path_of(&self, commit: &Commit) -> PathBuf {
        self.directory.join(self.name(commit))
    }

    /// Waits until no other process creates or uses the tree of a commit, and locks it.
    fn lock(&self, commit: &Commit) -> Result<(), Error> {
        let name = self.name(commit);
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if locks.contains_key(&name) {
            return Ok(());
        }
        let this_process = self.runner.system.user().process;
        loop {
            match self.runner.system.hold(&lock_name(&name)) {
                Ok(hold) => {
                    locks.insert(name, hold);
                    return Ok(());
                }
                // Another value of this type in this process has the lock.
                Err(HoldError::Held { process: Some(process), .. }) if process == this_process => {
                    return Ok(());
                }
                Err(HoldError::Held { .. }) if self.runner.is_stopped() => {
                    return Err(Error::Stopped);
                }
                Err(HoldError::Held { .. }) => self.runner.system.sleep(PAUSE),
                Err(HoldError::Failed(error)) => {
                    return Err(Error::Refused(format!("cannot lock {name}: {error}")));
                }
            }
        }
    }

    /// Returns the mark of a complete tree; `None` if a command has changed its files, or if there is no such tree.
    fn intact_mark(&self, path: &Path, commit: &Commit) -> Result<Option<TreeMark>, Error> {
        let Some(mark) = read_mark(self.runner.system, path) else { return Ok(None) };
        if mark.commit != commit.id {
            return Ok(None);
        }
        match self.state_hash(path) {
            Ok(state) => Ok((state == mark.state).then_some(mark)),
            Err(Error::Stopped) => Err(Error::Stopped),
            // Creates the tree again if git cannot read it.
            Err(_) => Ok(None),
        }
    }

    /// Returns a hash of a tree's commit and of the differences of tracked files from that commit.
    fn state_hash(&self, path: &Path) -> Result<String, Error> {
        let head = self.runner.git_output(path, &["rev-parse", "HEAD"], SHORT)?;
        let diff = ["diff", "--no-ext-diff", "--no-textconv", "--binary", "HEAD"];
        let differences = self.runner.git_output_hash(path, &diff)?;
        Ok(hexadecimal(&sha256(head + &differences)))
    }

    /// Creates the tree of a commit in place of an earlier one, and removes it again on failure.
    fn create(&self, path: &Path, commit: &Commit) -> Result<(), Error> {
        let system = self.runner.system;
        remove_if_present(system, path)?;
        // Under sudo, the machine's home still belongs to root: only the trees belong to the caller.
        let home = self.directory.parent().unwrap_or(&self.directory);
        let created = system.create_own_directory(&guard::journals(home));
        created.and_then(|()| system.create_directory(&self.directory)).map_err(|error| {
            Error::Refused(format!("cannot create {}: {error}", self.directory.display()))
        })?;
        let built = self.clone_and_build(path, commit);
        if built.is_err() {
            // Reports the first error; the next run removes the rest.
            let _ = remove_if_present(system, path);
        } else {
            remove_oldest(system, &self.directory);
        }
        built
    }

    /// Clones and builds a commit; the mark, which declares the tree complete, comes last.
    fn clone_and_build(&self, path: &Path, commit: &Commit) -> Result<(), Error> {
        let (from, to) = (self.repository.to_string_lossy(), path.to_string_lossy());
        let clone =
            ["clone", "--quiet", "--shared", "--no-checkout", "--template=", "--", &*from, &*to];
        self.runner.git_output(&self.directory, &clone, SHORT)?;
        self.runner.git_output(path, &["checkout", "--quiet", "--detach", &commit.id], SHORT)?;
        submodules::fetch(&self.runner, path, &self.modules)?;
        self.build(path, commit)?;
        self.shell(path, &["-c", SYNC])?;
        let mark = TreeMark {
            format: MARK_FORMAT.to_owned(),
            repository: from.into_owned(),
            build: self.build.clone(),
            commit: commit.id.clone(),
            state: self.state_hash(path)?,
            bytes: self.disk_usage(path)?,
        };
        self.write_mark(path, &mark)
    }

    fn build(&self, path: &Path, commit: &Commit) -> Result<(), Error> {
        let Some(line) = &self.build else { return Ok(()) };
        let executed = self.shell(path, &["-c", BUILD, "sh", line])?;
        let Some(ending) = failure_of(&executed) else { return Ok(()) };
        let text = executed.heard.text();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
        Err(Error::DoesNotBuild {
            commit: commit.clone(),
            build: line.clone(),
            ending,
            lines: last.iter().map(|line| outside::spelled(line).into_owned()).collect(),
        })
    }

    fn shell(&self, path: &Path, words: &[&str]) -> Result<Executed, Error> {
        let words: Vec<String> = ["sh"].iter().chain(words).map(|&word| word.to_owned()).collect();
        self.runner.execute(path, &words, &[], &[], BUILD_BYTES)
    }

    /// Returns the size of a tree in bytes.
    fn disk_usage(&self, path: &Path) -> Result<u64, Error> {
        let executed = self.shell(path, &["-c", "du -sk ."])?;
        let text = executed.heard.text();
        let kib = text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        let kib = kib.ok_or_else(|| {
            Error::Refused(format!(
                "cannot determine the size of {}: {}",
                path.display(),
                error_lines(&executed)
            ))
        })?;
        Ok(kib.saturating_mul(1024))
    }

    fn write_mark(&self, path: &Path, mark: &TreeMark) -> Result<(), Error> {
        let unwritten = |why: &dyn fmt::Display| {
            Error::Refused(format!("cannot mark {}: {why}", path.display()))
        };
        let text = serde_json::to_string_pretty(mark).map_err(|error| unwritten(&error))?;
        let written = self.runner.system.write_whole(&path.join(MARK), (text + "\n").as_bytes());
        written.map_err(|error| unwritten(&error))
    }
}

fn lock_name(name: &str) -> String {
    format!("tree-{name}")
}

/// Returns the mark of a complete tree. Commands may write there: ignores anything but a small file.
fn read_mark(system: &dyn System, path: &Path) -> Option<TreeMark> {
    let path = path.join(MARK);
    let status = system.status(&path).ok()?;
    if status.kind != FileKind::File || status.size_bytes > MOST_MARK_BYTES {
        return None;
    }
    let text = system.read_text(&path).ok()?;
    serde_json::from_str(&text).ok().filter(|mark: &TreeMark| mark.format == MARK_FORMAT)
}

fn remove_if_present(system: &dyn System, path: &Path) -> Result<(), Error> {
    if system.status(path).is_err() {
        return Ok(());
    }
    system
        .remove_directory(path)
        .map_err(|error| Error::Refused(format!("cannot remove {}: {error}", path.display())))
}

/// Returns the names of trees in a directory, complete or not. Assay created no directory with another name there.
fn tree_names(system: &dyn System, directory: &Path) -> Vec<String> {
    let mut names = system.list(directory).unwrap_or_default();
    names.retain(|name| name.len() == DIGITS && name.bytes().all(|it| it.is_ascii_hexdigit()));
    names
}

/// Removes the least recently used trees until number and size are within the limits. Skips trees in use.
fn remove_oldest(system: &dyn System, directory: &Path) {
    let mut trees = Vec::new();
    for name in tree_names(system, directory) {
        let path = directory.join(&name);
        let Some(mark) = read_mark(system, &path) else { continue };
        let Ok(status) = system.status(&path.join(MARK)) else { continue };
        trees.push((status.modified_ns, mark.bytes, name, path));
    }
    // By the time of the last use, the oldest first.
    trees.sort_unstable();
    let mut bytes_so_far: u64 = 0;
    for (index, (_, bytes, name, path)) in trees.iter().rev().enumerate() {
        bytes_so_far = bytes_so_far.saturating_add(*bytes);
        if index < MOST_TREES && bytes_so_far <= MOST_BYTES {
            continue;
        }
        if let Ok(_hold) = system.hold(&lock_name(name)) {
            // If the removal fails, the next run tries again.
            let _ = remove_if_present(system, path);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTree {
    pub path: PathBuf,
    lock: String,
}

fn stored_trees(system: &dyn System, home: &Path, want_complete: bool) -> Vec<StoredTree> {
    let directory = directory(home);
    let names = tree_names(system, &directory).into_iter();
    let trees =
        names.map(|name| StoredTree { path: directory.join(&name), lock: lock_name(&name) });
    trees.filter(|tree| read_mark(system, &tree.path).is_some() == want_complete).collect()
}

pub fn complete_trees(system: &dyn System, home: &Path) -> Vec<StoredTree> {
    stored_trees(system, home, true)
}

pub fn incomplete_trees(system: &dyn System, home: &Path) -> Vec<StoredTree> {
    stored_trees(system, home, false)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    Removed,
    InUse,
    Failed(String),
}

pub fn remove(system: &dyn System, tree: &StoredTree) -> Removal {
    match system.hold(&tree.lock) {
        Err(HoldError::Held { .. }) => Removal::InUse,
        Err(HoldError::Failed(error)) => Removal::Failed(error.to_string()),
        Ok(_hold) => match remove_if_present(system, &tree.path) {
            Ok(()) => Removal::Removed,
            Err(error) => Removal::Failed(error.to_string()),
        },
    }
}
