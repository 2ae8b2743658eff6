//! Content of a guest's initramfs: files, links, programs with their libraries.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cpio::{Archive, CpioKind};
use crate::vm::{Done, call, found};

#[derive(Debug)]
enum CpioContent {
    Directory,
    Bytes(Vec<u8>, u32),
    Copy(PathBuf, u32),
    Link(String),
    Device(u32, u32),
}

/// Paths without a leading slash, and their content.
#[derive(Debug, Default)]
pub struct CpioTree {
    entries: BTreeMap<String, CpioContent>,
}

impl CpioTree {
    pub fn with(directories: &[&str]) -> Self {
        let mut tree = Self::default();
        for path in directories {
            tree.directory(path);
        }
        tree
    }

    fn directory(&mut self, path: &str) {
        self.add_parents(path);
        self.entries.entry(path.to_owned()).or_insert(CpioContent::Directory);
    }

    fn add_parents(&mut self, path: &str) {
        for (at, _) in path.match_indices('/') {
            self.entries.entry(path[..at].to_owned()).or_insert(CpioContent::Directory);
        }
    }

    fn put(&mut self, path: &str, content: CpioContent) {
        let path = path.trim_start_matches('/');
        self.add_parents(path);
        self.entries.insert(path.to_owned(), content);
    }

    pub fn has(&self, path: &str) -> bool {
        self.entries.contains_key(path.trim_start_matches('/'))
    }

    pub fn file(&mut self, path: &str, permissions: u32, bytes: impl Into<Vec<u8>>) {
        self.put(path, CpioContent::Bytes(bytes.into(), permissions));
    }

    /// Adds a file of this machine, which `pack` reads later.
    pub fn copy(&mut self, path: &str, from: &Path) -> Done<()> {
        let seen = fs::metadata(from).map_err(|error| format!("{}: {error}", from.display()))?;
        if !seen.is_file() {
            return Err(format!("{} is not a regular file", from.display()));
        }
        let permissions = seen.permissions().mode() & 0o755;
        self.put(path, CpioContent::Copy(from.to_owned(), permissions));
        Ok(())
    }

    /// Adds a link, unless the path exists.
    pub fn link(&mut self, path: &str, to: &str) {
        if !self.has(path) {
            self.put(path, CpioContent::Link(to.to_owned()));
        }
    }

    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.put(path, CpioContent::Device(major, minor));
    }

    /// Copies a program of this machine to `/usr/bin`, with its libraries where its loader searches.
    pub fn program(&mut self, from: &Path) -> Done<()> {
        let name = from.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| format!("{} is not a program", from.display()))?;
        self.copy(&format!("usr/bin/{name}"), from)?;
        self.libraries(from)
    }

    pub fn libraries(&mut self, of: &Path) -> Done<()> {
        for library in libraries(of)? {
            self.copy(&library, Path::new(&library))?;
        }
        Ok(())
    }

    /// Adds `busybox`, and links to it for all applets that do not exist yet.
    pub fn busybox(&mut self) -> Done<()> {
        let own = found("busybox").ok_or("busybox is missing (package busybox-static)")?;
        if !libraries(&own)?.is_empty() {
            return Err(format!(
                "{} is dynamically linked; install the package busybox-static",
                own.display()
            ));
        }
        self.copy("bin/busybox", &own)?;
        for path in call("busybox", &["--list-full"])?.lines() {
            let name = path.rsplit('/').next().unwrap_or(path);
            let there = ["bin", "sbin", "usr/bin", "usr/sbin"];
            if !there.iter().any(|folder| self.has(&format!("{folder}/{name}"))) {
                self.link(path, "/bin/busybox");
            }
        }
        Ok(())
    }

    pub fn bytes(&self) -> Done<u64> {
        let of = |content: &CpioContent| match content {
            CpioContent::Bytes(bytes, _) => Ok(bytes.len() as u64),
            CpioContent::Copy(from, _) => {
                let seen = fs::metadata(from);
                seen.map(|seen| seen.len()).map_err(|error| format!("{}: {error}", from.display()))
            }
            CpioContent::Directory | CpioContent::Link(_) | CpioContent::Device(..) => Ok(0),
        };
        self.entries.values().map(of).sum()
    }

    /// Returns the archive of all entries; directories precede their content.
    pub fn pack(&self) -> Done<Vec<u8>> {
        let mut archive = Archive::default();
        for (path, content) in &self.entries {
            match content {
                CpioContent::Directory => archive.add(path, CpioKind::Directory, 0o755, &[]),
                CpioContent::Bytes(bytes, permissions) => {
                    archive.add(path, CpioKind::File, *permissions, bytes);
                }
                CpioContent::Copy(from, permissions) => {
                    let bytes = fs::read(from);
                    let bytes = bytes.map_err(|error| format!("{}: {error}", from.display()))?;
                    archive.add(path, CpioKind::File, *permissions, &bytes);
                }
                CpioContent::Link(to) => archive.add(path, CpioKind::Link, 0o777, to.as_bytes()),
                CpioContent::Device(major, minor) => {
                    archive.add(path, CpioKind::Device(*major, *minor), 0o600, &[]);
                }
            }
        }
        Ok(archive.end())
    }
}

/// Libraries of a program, from its loader's output; empty for a static one.
fn libraries(program: &Path) -> Done<Vec<String>> {
    // Other languages have other messages; the exit code shows the failure.
    let told = Command::new("ldd").arg(program).stdin(Stdio::null()).output();
    let told = told.map_err(|error| format!("ldd: {error}"))?;
    let text = String::from_utf8_lossy(&told.stdout);
    if let Some(line) = text.lines().find(|line| line.trim_end().ends_with("=> not found")) {
        return Err(format!("{}: {}", program.display(), line.trim()));
    }
    Ok(paths(&text))
}

/// Absolute paths in what `ldd` printed: `libc.so.6 => /lib/libc.so.6 (0x...)`.
fn paths(told: &str) -> Vec<String> {
    let path = |line: &str| {
        let mut words = line.split_whitespace();
        words.find(|word| word.starts_with('/')).map(str::to_owned)
    };
    told.lines().filter_map(path).filter(|path| !path.ends_with(':')).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_comes_first_and_links_give_way() {
        let mut tree = CpioTree::with(&["proc"]);
        tree.file("/usr/bin/tool", 0o755, "#!/bin/sh\n");
        tree.link("usr/bin/tool", "/bin/busybox");
        tree.link("usr/bin/other", "/bin/busybox");
        let paths: Vec<&str> = tree.entries.keys().map(String::as_str).collect();
        assert_eq!(paths, ["proc", "usr", "usr/bin", "usr/bin/other", "usr/bin/tool"]);
        assert!(matches!(tree.entries["usr/bin/tool"], CpioContent::Bytes(..)));
        let packed = tree.pack().unwrap();
        assert!(packed.windows(10).any(|bytes| bytes == b"TRAILER!!!"));
    }

    #[test]
    fn libraries_are_the_paths_that_the_loader_names() {
        let told = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                    \tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(paths(told), ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"]);
        assert!(paths("\tstatically linked\n").is_empty());
    }

    #[test]
    fn this_test_needs_libraries_that_are_there_or_none() {
        let own = std::env::current_exe().unwrap();
        if crate::vm::has("ldd") {
            assert!(libraries(&own).unwrap().iter().all(|path| Path::new(path).is_file()));
        }
    }
}
