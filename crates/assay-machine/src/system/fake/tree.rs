//! Recorded trees: the files of another machine as text.
//!
//! One entry a line, `#` begins a comment line, a path ends at the first space (`\040` is a space):
//!
//! ```text
//! file /sys/block/sda/size 1000          content of one line
//! file /proc/swaps                       content of the lines that follow, each after "| "
//! | Filename Type Size Used Priority
//! bytes /sys/.../vpd_pg80 0080000441     content in hexadecimal
//! link /sys/block/sda ../devices/x       symbolic link
//! dir /sys/block/sda/holders             directory; parents need no line
//! block /dev/sda 8:0                     block device file
//! character /dev/null 1:3                character device file
//! other /run/socket                      socket or pipe
//! closed /root                           what nobody may look at or into
//! device /home 8:2                       device number of all that lies here and below
//! space /home 1000 2000                  bytes available and in all, then perhaps "ro"
//! owner /home/me 1000                    owner of all that lies here and below
//! mode /home/me 0775                  who may do what with this very file; 0755 without this line
//! variable HOME /home/me                 environment variable
//! user 1000                              user that runs the process; root without this line
//! health-log /dev/nvme0n1 004301...      health log of an NVMe drive, in hexadecimal
//! smartctl /dev/sda {"smartctl":...}     what smartctl prints of a drive
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::mem::discriminant;
use std::path::{Path, PathBuf};

use super::files::{FakeFiles, PathKey};
use crate::system::{DeviceNumber, Errno, FileKind, FileStatus, Space, mounts};

const MOST_LINKS: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Directory,
    /// What successive readings give; the last one stays.
    File(Vec<Vec<u8>>),
    Link(PathBuf),
    Block(DeviceNumber),
    Character(DeviceNumber),
    Other,
    Closed,
}

#[derive(Clone, Debug, Default)]
pub struct FakeTree {
    pub nodes: FakeFiles<Node>,
    pub devices: BTreeMap<PathBuf, DeviceNumber>,
    pub spaces: BTreeMap<PathBuf, Space>,
    pub owners: BTreeMap<PathBuf, u32>,
    pub modes: BTreeMap<PathBuf, u32>,
    pub variables: BTreeMap<String, String>,
    pub user: u32,
    pub health_logs: BTreeMap<PathBuf, Vec<u8>>,
    pub smartctl: BTreeMap<String, String>,
    /// Resolved paths, valid until a link appears, disappears or changes, because most lookups repeat.
    cache: RefCell<BTreeMap<PathKey, PathKey>>,
}

impl FakeTree {
    /// Adds files from a recorded text; the error names the line.
    pub fn read(&mut self, text: &str) -> Result<(), String> {
        let mut open: Option<PathBuf> = None;
        for (index, line) in text.lines().enumerate() {
            let wrong = || format!("line {}: not understood: {line}", index + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(more) = line.strip_prefix('|') {
                let path = open.as_ref().ok_or_else(wrong)?;
                self.add_line(path, more.strip_prefix(' ').unwrap_or(more));
                continue;
            }
            open = self.parse_entry(line).ok_or_else(wrong)?;
        }
        Ok(())
    }

    /// Parses one entry; returns the path if its content follows.
    #[expect(clippy::option_option, reason = "outer: understood or not; inner: lines may follow")]
    fn parse_entry(&mut self, line: &str) -> Option<Option<PathBuf>> {
        let (word, rest) = line.split_once(' ')?;
        let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
        let path = PathBuf::from(mounts::unescape(name));
        let node = match word {
            "file" if value.is_empty() => {
                self.put(&path, Node::File(vec![Vec::new()]));
                return Some(Some(path));
            }
            "file" => Node::File(vec![format!("{value}\n").into_bytes()]),
            "bytes" => Node::File(vec![from_hexadecimal(value)?]),
            "link" => Node::Link(mounts::unescape(value).into()),
            "dir" => Node::Directory,
            "block" => Node::Block(mounts::parse_number(value)?),
            "character" => Node::Character(mounts::parse_number(value)?),
            "other" => Node::Other,
            "closed" => Node::Closed,
            _ => return self.parse_fact(word, name, path, value).map(|()| None),
        };
        self.put(&path, node);
        Some(None)
    }

    /// Parses an entry that is not a file, such as an owner or a variable; `None` for unknown ones.
    fn parse_fact(&mut self, word: &str, name: &str, path: PathBuf, value: &str) -> Option<()> {
        match word {
            "device" => drop(self.devices.insert(path, mounts::parse_number(value)?)),
            "owner" => drop(self.owners.insert(path, value.parse().ok()?)),
            "mode" => drop(self.modes.insert(path, u32::from_str_radix(value, 8).ok()?)),
            "space" => drop(self.spaces.insert(path, parse_space(value)?)),
            "variable" => drop(self.variables.insert(name.to_owned(), value.to_owned())),
            "user" => self.user = name.parse().ok()?,
            "smartctl" => {
                let line = format!("smartctl --json -n standby -b exit -i -H -A -l devstat {name}");
                self.smartctl.insert(line, value.to_owned());
            }
            "health-log" => drop(self.health_logs.insert(path, from_hexadecimal(value)?)),
            _ => return None,
        }
        Some(())
    }

    fn add_line(&mut self, path: &Path, line: &str) {
        if let Some(Node::File(readings)) = self.nodes.get_mut(path)
            && let Some(content) = readings.last_mut()
        {
            content.extend_from_slice(line.as_bytes());
            content.push(b'\n');
        }
    }

    /// Adds or replaces a file; its parents become directories.
    pub fn put(&mut self, path: &Path, node: Node) {
        // A link or an unreadable directory may replace part of a cached path.
        let changes_paths = matches!(node, Node::Link(_) | Node::Closed);
        let is_other_kind = |old: &Node| discriminant(old) != discriminant(&node);
        if changes_paths || self.nodes.get(path).is_some_and(is_other_kind) {
            self.cache.get_mut().clear();
        }
        // Existing files have parents.
        for parent in path.ancestors().skip(1) {
            if self.nodes.contains_key(parent) {
                break;
            }
            self.nodes.insert(parent.to_path_buf(), Node::Directory);
        }
        self.nodes.insert(path.to_path_buf(), node);
    }

    /// Makes the user the owner of a new file.
    pub fn set_owner(&mut self, path: &Path) {
        if self.user != 0 && !self.nodes.contains_key(path) {
            self.owners.insert(path.to_path_buf(), self.user);
        }
    }

    pub fn remove(&mut self, path: &Path) {
        if self.nodes.remove(path).iter().any(|node| matches!(node, Node::Link(_))) {
            self.cache.get_mut().clear();
        }
    }

    pub fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let (path, node) = self.find(directory)?;
        if *node != Node::Directory {
            return Err(Errno::NOTDIR.into());
        }
        let names = self.nodes.inside(&path).filter_map(|path| path.file_name());
        Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    /// Returns the absolute path without links, and its node.
    pub fn find(&self, path: &Path) -> io::Result<(PathBuf, &Node)> {
        let (_, (path, node)) = self.resolve(PathKey::new(path), &mut 0)?;
        Ok((path.clone(), node))
    }

    /// Resolves a path, component by component from the top, with a cache; `links` counts the links on the way.
    fn resolve(&self, path: PathKey, links: &mut usize) -> io::Result<(PathKey, &(PathBuf, Node))> {
        let cached = self.cache.borrow().get(&path).cloned();
        if let Some((at, found)) = cached.and_then(|at| Some((at.clone(), self.nodes.at(&at)?))) {
            return Ok((at, found));
        }
        let node_at = |at: PathKey| self.nodes.at(&at).map(|found| (at, found)).ok_or(Errno::NOENT);
        let Some((above, part)) = path.split() else { return Ok(node_at(path)?) };
        let (directory, (_, node)) = self.resolve(above, links)?;
        if *node != Node::Directory {
            return Err(Errno::NOTDIR.into());
        }
        let next = match part {
            b".." => directory.split().map(|(above, _)| above).unwrap_or_default(),
            name => directory.with(name),
        };
        let (at, found) = node_at(next)?;
        let end = match &found.1 {
            Node::Closed => return Err(Errno::ACCESS.into()),
            Node::Link(target) => {
                *links += 1;
                if *links > MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                let below = PathKey::new(target);
                let next = if target.is_absolute() { below } else { directory.join(&below) };
                self.resolve(next, links)?
            }
            _ => (at, found),
        };
        self.cache.borrow_mut().insert(path, end.0.clone());
        Ok(end)
    }

    pub fn number_of(&self, path: &Path) -> io::Result<DeviceNumber> {
        Ok(self.status(path)?.own_device.ok_or(Errno::NOTBLK)?)
    }

    pub fn status(&self, path: &Path) -> io::Result<FileStatus> {
        let (path, node) = self.find(path)?;
        let (kind, own_device) = match node {
            Node::Directory => (FileKind::Directory, None),
            Node::File(_) | Node::Link(_) => (FileKind::File, None),
            Node::Block(number) => (FileKind::BlockDevice, Some(*number)),
            Node::Character(number) => (FileKind::CharacterDevice, Some(*number)),
            Node::Other | Node::Closed => (FileKind::Other, None),
        };
        let size_bytes = match node {
            Node::File(readings) => readings.first().map_or(0, |content| content.len() as u64),
            _ => 0,
        };
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        let inode = hasher.finish();
        let unknown = DeviceNumber { major: 0, minor: 0 };
        let device = nearest(&self.devices, &path).copied().unwrap_or(unknown);
        let user = nearest(&self.owners, &path).copied().unwrap_or(0);
        let mode = self.modes.get(&path).copied().unwrap_or(0o755);
        Ok(FileStatus { kind, size_bytes, device, own_device, inode, user, mode, modified_ns: 0 })
    }
}

pub fn nearest<'a, T>(table: &'a BTreeMap<PathBuf, T>, path: &Path) -> Option<&'a T> {
    path.ancestors().find_map(|part| table.get(part))
}

fn parse_space(text: &str) -> Option<Space> {
    let mut words = text.split_whitespace();
    Some(Space {
        available_bytes: words.next()?.parse().ok()?,
        usable_bytes: words.next()?.parse().ok()?,
        read_only: words.next() == Some("ro"),
    })
}

fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()).collect()
}
