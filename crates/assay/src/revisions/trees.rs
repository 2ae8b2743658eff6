//! Trees of commits below Assay's directory: created and built once, stored for later studies, and limited in number.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assay_core::digest::{hexadecimal, sha256};
use assay_core::outside;
use assay_machine::factors::guard;
use assay_machine::system::{Executed, FileKind, Hold, HoldError, System};
use assay_workloads::command::tree_name;
use serde::{Deserialize, Serialize};

use super::git::{Hands, SHORT, complaint, ended};
use super::repository::{Commit, Repository};
use super::{Error, submodules};

const TREES: &str = "trees";
/// Maximum number of stored trees and of their bytes; the oldest are removed first.
const MOST_TREES: usize = 8;
const MOST_BYTES: u64 = 2 << 30;
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
const SIGNS_OF_SHELL: [char; 12] = ['$', '`', '{', '*', '?', '<', '>', '[', '~', '"', '\'', '\\'];
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
    hands: Hands<'s>,
    directory: PathBuf,
    repository: PathBuf,
    modules: Vec<PathBuf>,
    build: Option<String>,
    held: Mutex<BTreeMap<String, Hold>>,
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
            hands: repository.hands,
            directory: directory(home),
            repository: repository.path().to_owned(),
            modules: repository.modules.clone(),
            build: build.map(str::to_owned),
            held: Mutex::new(BTreeMap::new()),
        }
    }

    pub fn has(&self, commit: &Commit) -> bool {
        mark(self.hands.system, &self.place(commit)).is_some()
    }

    /// Returns the tree of a commit, and creates it if necessary.
    ///
    /// # Errors
    /// Fails if it cannot be created or built, or if the user interrupts.
    pub fn tree(&self, commit: &Commit) -> Result<CommitTree, Error> {
        self.hold(commit)?;
        let path = self.place(commit);
        match self.intact_mark(&path, commit)? {
            // Its modification time records the last use.
            Some(mark) => self.write_mark(&path, &mark)?,
            None => self.make(&path, commit)?,
        }
        Ok(CommitTree { path, commit: commit.clone() })
    }

    /// Returns whether lines run the same bytes in all of these trees: the first word is a built program, and neither a
    /// program of the trees nor a file on the lines differs.
    pub fn are_identical(&self, trees: &[CommitTree], lines: &[&str]) -> Result<bool, Error> {
        let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
        let is_plain = lines.iter().all(|line| !line.contains(SIGNS_OF_SHELL));
        let (Some(program), true) = (words.first(), is_plain) else { return Ok(false) };
        if self.build.is_none() || trees.len() < 2 {
            return Ok(false);
        }
        let mut first_hash = None;
        for tree in trees {
            // A tracked file is a source, which may read others.
            let tracked = self.hands.git(&tree.path, &["ls-files", "--", program], SHORT)?;
            let arguments: Vec<&str> =
                ["-c", PROGRAMS, "sh"].into_iter().chain(words.iter().copied()).collect();
            let hashes = self.shell(&tree.path, &arguments)?;
            let is_built = ended(&tracked).is_none() && tracked.heard.bytes == 0;
            let hash = hashes.heard.sha256.filter(|_| is_built && ended(&hashes).is_none());
            if hash.is_none() || *first_hash.get_or_insert(hash) != hash {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn name(&self, commit: &Commit) -> String {
        let repository = self.repository.display().to_string();
        tree_name(&repository, self.build.as_deref(), &commit.id)
    }

    fn place(&self, commit: &Commit) -> PathBuf {
        self.directory.join(self.name(commit))
    }

    /// Waits until no other process creates or uses it, and locks it.
    fn hold(&self, commit: &Commit) -> Result<(), Error> {
        let name = self.name(commit);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.contains_key(&name) {
            return Ok(());
        }
        let this_process = self.hands.system.user().process;
        loop {
            match self.hands.system.hold(&lock(&name)) {
                Ok(hold) => {
                    held.insert(name, hold);
                    return Ok(());
                }
                // Other trees of this process hold it, and keep it.
                Err(HoldError::Held { process: Some(process), .. }) if process == this_process => {
                    return Ok(());
                }
                Err(HoldError::Held { .. }) if self.hands.is_stopped() => {
                    return Err(Error::Stopped);
                }
                Err(HoldError::Held { .. }) => self.hands.system.sleep(PAUSE),
                Err(HoldError::Failed(error)) => {
                    return Err(Error::Refused(format!("cannot lock {name}: {error}")));
                }
            }
        }
    }

    /// Returns the mark of a tree if its files are as built: a command may have changed some.
    fn intact_mark(&self, path: &Path, commit: &Commit) -> Result<Option<TreeMark>, Error> {
        let Some(mark) = mark(self.hands.system, path) else { return Ok(None) };
        if mark.commit != commit.id {
            return Ok(None);
        }
        match self.state(path) {
            Ok(state) => Ok((state == mark.state).then_some(mark)),
            Err(Error::Stopped) => Err(Error::Stopped),
            // Creates the tree again if git cannot read it.
            Err(_) => Ok(None),
        }
    }

    /// Returns a hash of git's status of a tree: the paths of its files, and their differences from the commit.
    fn state(&self, path: &Path) -> Result<String, Error> {
        let head = self.hands.output(path, &["rev-parse", "HEAD"], SHORT)?;
        let ask = ["diff", "--no-ext-diff", "--no-textconv", "--binary", "HEAD"];
        let differs = self.hands.hash(path, &ask)?;
        Ok(hexadecimal(&sha256(head + &differs)))
    }

    fn make(&self, path: &Path, commit: &Commit) -> Result<(), Error> {
        let system = self.hands.system;
        remove_if_present(system, path)?;
        // Under sudo, the machine's home still belongs to root: only the trees belong to the caller.
        let home = self.directory.parent().unwrap_or(&self.directory);
        let made = system.create_own_directory(&guard::journals(home));
        made.and_then(|()| system.create_directory(&self.directory)).map_err(|error| {
            Error::Refused(format!("cannot create {}: {error}", self.directory.display()))
        })?;
        let made = self.fill(path, commit);
        if made.is_err() {
            // Reports the first error; the next run removes the rest.
            let _ = remove_if_present(system, path);
        } else {
            remove_oldest(system, &self.directory);
        }
        made
    }

    fn fill(&self, path: &Path, commit: &Commit) -> Result<(), Error> {
        let (from, to) = (self.repository.to_string_lossy(), path.to_string_lossy());
        let clone =
            ["clone", "--quiet", "--shared", "--no-checkout", "--template=", "--", &*from, &*to];
        self.hands.output(&self.directory, &clone, SHORT)?;
        self.hands.output(path, &["checkout", "--quiet", "--detach", &commit.id], SHORT)?;
        submodules::fetch(&self.hands, path, &self.modules)?;
        self.build(path, commit)?;
        self.shell(path, &["-c", SYNC])?;
        let mark = TreeMark {
            format: MARK_FORMAT.to_owned(),
            repository: from.into_owned(),
            build: self.build.clone(),
            commit: commit.id.clone(),
            state: self.state(path)?,
            bytes: self.bytes(path)?,
        };
        self.write_mark(path, &mark)
    }

    fn build(&self, path: &Path, commit: &Commit) -> Result<(), Error> {
        let Some(line) = &self.build else { return Ok(()) };
        let executed = self.shell(path, &["-c", BUILD, "sh", line])?;
        let Some(ending) = ended(&executed) else { return Ok(()) };
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
        self.hands.execute(path, &words, &[], &[], BUILD_BYTES)
    }

    fn bytes(&self, path: &Path) -> Result<u64, Error> {
        let executed = self.shell(path, &["-c", "du -sk ."])?;
        let text = executed.heard.text();
        let kib = text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        let kib = kib.ok_or_else(|| {
            Error::Refused(format!(
                "cannot determine the size of {}: {}",
                path.display(),
                complaint(&executed)
            ))
        })?;
        Ok(kib.saturating_mul(1024))
    }

    fn write_mark(&self, path: &Path, mark: &TreeMark) -> Result<(), Error> {
        let unwritten = |why: &dyn fmt::Display| {
            Error::Refused(format!("cannot mark {}: {why}", path.display()))
        };
        let text = serde_json::to_string_pretty(mark).map_err(|error| unwritten(&error))?;
        let written = self.hands.system.write_whole(&path.join(MARK), (text + "\n").as_bytes());
        written.map_err(|error| unwritten(&error))
    }
}

fn lock(name: &str) -> String {
    format!("tree-{name}")
}

/// Returns the mark of a complete tree. Commands may write there: ignores anything but a small file.
fn mark(system: &dyn System, path: &Path) -> Option<TreeMark> {
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

/// Returns the directories of trees, complete or not; others in that directory are not ours.
fn tree_paths(system: &dyn System, directory: &Path) -> Vec<(String, PathBuf)> {
    let is_ours =
        |name: &String| name.len() == DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let names = system.list(directory).unwrap_or_default().into_iter().filter(is_ours);
    names.map(|name| (name.clone(), directory.join(name))).collect()
}

/// Removes the least recently used trees until number and size are within the limits. Skips trees in use.
fn remove_oldest(system: &dyn System, directory: &Path) {
    let last_use = |(name, path): (String, PathBuf)| {
        let bytes = mark(system, &path)?.bytes;
        let when = system.status(&path.join(MARK)).ok()?.modified_ns;
        Some((when, bytes, name, path))
    };
    let mut trees: Vec<_> =
        tree_paths(system, directory).into_iter().filter_map(last_use).collect();
    trees.sort_unstable();
    let mut bytes: u64 = 0;
    for (index, (_, tree_bytes, name, path)) in trees.iter().rev().enumerate() {
        bytes = bytes.saturating_add(*tree_bytes);
        if index < MOST_TREES && bytes <= MOST_BYTES {
            continue;
        }
        if let Ok(_hold) = system.hold(&lock(name)) {
            // The next run tries again to remove it.
            let _ = remove_if_present(system, path);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lying {
    pub path: PathBuf,
    lock: String,
}

fn stored_trees(system: &dyn System, home: &Path, is_complete: bool) -> Vec<Lying> {
    let trees = tree_paths(system, &directory(home)).into_iter();
    let trees = trees.filter(|(_, path)| mark(system, path).is_some() == is_complete);
    trees.map(|(name, path)| Lying { path, lock: lock(&name) }).collect()
}

pub fn kept(system: &dyn System, home: &Path) -> Vec<Lying> {
    stored_trees(system, home, true)
}

pub fn unfinished(system: &dyn System, home: &Path) -> Vec<Lying> {
    stored_trees(system, home, false)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    Removed,
    InUse,
    Failed(String),
}

pub fn remove(system: &dyn System, tree: &Lying) -> Removal {
    match system.hold(&tree.lock) {
        Err(HoldError::Held { .. }) => Removal::InUse,
        Err(HoldError::Failed(error)) => Removal::Failed(error.to_string()),
        Ok(_hold) => match remove_if_present(system, &tree.path) {
            Ok(()) => Removal::Removed,
            Err(error) => Removal::Failed(error.to_string()),
        },
    }
}
