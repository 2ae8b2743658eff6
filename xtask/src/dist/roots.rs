//! What is made for people, where nothing else is: in root file systems without Rust it is installed, used as
//! README shows it, and taken away. What is left then is what the program was asked to keep, and nothing
//! else. Each root is entered in a name space of mounts of its own, so that nothing stays mounted, whatever
//! happens. A copy of this machine's root does not have its journals: the program would undo there what a study of
//! this machine has set.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use assay_system::system::identity::ROOTS_OWN;
use flate2::read::GzDecoder;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::machines::Machine;
use super::{Release, debian, image, old_calls};
use crate::lab::browser::Browser;
use crate::lab::process::{Ended, Running, run};
use crate::lab::volume::{Filesystem, Volume};
use crate::lab::{Done, has, is_root};

/// Enters the root of a folder: where that has a place for changes it is a copy of this machine's.
const ENTER: &str = r#"
top="$0/top"
if [ -d "$0/changed" ]; then
    mount -t overlay overlay -o "lowerdir=/,upperdir=$0/changed,workdir=$0/work" "$top"
else
    mount --bind "$top" "$top"
fi
for place in dev proc sys; do
    mount --rbind "/$place" "$top/$place"
done
exec chroot "$top" "$@"
"#;
/// Programs that make and enter them.
const NEEDED: [&str; 6] = ["bash", "busybox", "chroot", "dpkg", "man", "unshare"];
/// What a root has room for: an unoptimised program, packed and unpacked, and a tenth of the rest to measure in.
const SIZE_MIB: u64 = 4096;
/// A program of an unoptimised build takes its time, and more beside others: only what hangs is ended.
const LIMIT: Duration = Duration::from_secs(600);
/// Where everything is measured and kept: the home of whoever tries it.
const HOME: &str = "/tried";
/// What stays when the program has gone: results, and what it knows of the machine (journals, the key of its
/// seals, locks).
const KEPT: [&str; 3] = ["tried/.local", "var/lib/assay", "run/assay"];
/// The page that is written, and removed here as its owner would.
const PAGE: &str = "/tried/page.html";
/// Where a compiler is that all users of a machine have: a copy of its root has it, too.
const RUST: &str = "/usr/bin/cargo";
/// What everybody does with it, as README and the guide have it.
const WORK: [&[&str]; 8] = [
    &["--version"],
    &["check", HOME, "--quick"],
    &["watch", "--for", "2s"],
    &["run", "depth", HOME, "--quick"],
    &["list"],
    &["report", "--output", PAGE],
    &["completions", "bash"],
    &["restore"],
];

/// A root file system, and what is done there to something that is made for people.
struct Kind {
    name: &'static str,
    /// Where results go; a container has no home, and an image says where they go.
    home: (&'static str, &'static str),
    /// Where what is installed lies, for the commands that do so.
    given: &'static str,
    install: &'static [&'static [&'static str]],
    program: &'static str,
    /// What its thread, and so all that is done there, does without.
    begin: fn() -> Done<()>,
    /// What is true once it is installed.
    looks: &'static [&'static [&'static str]],
    remove: &'static [&'static [&'static str]],
}

/// The image alone: there is no shell, and it is taken away as a whole.
const IMAGE: Kind = Kind {
    name: "image",
    home: ("ASSAY_HOME", image::HOME),
    given: "",
    install: &[],
    program: "/usr/bin/assay",
    begin: nothing,
    looks: &[],
    remove: &[],
};
/// The archive and nothing else: unpacked from outside, and taken away as a whole.
const EMPTY: Kind = Kind {
    name: "empty",
    home: ("HOME", HOME),
    given: "",
    install: &[],
    program: "/tried/assay/assay",
    begin: nothing,
    looks: &[],
    remove: &[],
};
/// A shell and tools that are one static program, as in Alpine Linux, and no library at all.
const BUSYBOX: Kind = Kind {
    name: "busybox",
    home: ("HOME", HOME),
    given: "given.tar.gz",
    install: &[&["sh", "-euc", "cd /tried && tar xzf /given.tar.gz && mv assay-* assay"]],
    program: "/tried/assay/assay",
    begin: nothing,
    looks: &[
        &["grep", "-q", "assay check", "/tried/assay/README.md"],
        &["grep", "-q", "restore", "/tried/assay/man/man1/assay-restore.1"],
        &["test", "-s", "/tried/assay/completions/_assay"],
    ],
    remove: &[&["rm", "-r", "/tried/assay"]],
};
/// The same on an old distribution, as far as its kernel is one: no `io_uring`, nothing that came after 4.18.
const OLD: Kind = Kind {
    name: "busybox, system calls of 4.18",
    begin: old_calls::keep_to,
    looks: &[
        &["grep", "-q", "Seccomp:.2", "/proc/self/status"],
        &["test", "-s", "/tried/assay/completions/_assay"],
    ],
    ..BUSYBOX
};
/// The archive in a copy of this machine's own root, by its tools.
const ARCHIVE: Kind = Kind {
    name: "Debian, archive",
    home: ("HOME", HOME),
    given: "given.tar.gz",
    install: BUSYBOX.install,
    program: BUSYBOX.program,
    begin: nothing,
    looks: &[
        &["bash", "-c", "! command -v cargo"],
        &[
            "bash",
            "-o",
            "pipefail",
            "-c",
            "man -l /tried/assay/man/man1/assay-restore.1 | grep -c dry-run",
        ],
        &["bash", "-c", ". /tried/assay/completions/assay.bash && complete -p assay"],
    ],
    remove: BUSYBOX.remove,
};
/// A copy of this machine's own root, with its packages and its C library; a home of its own has no Rust.
const COPY: Kind = Kind {
    name: "Debian",
    home: ("HOME", HOME),
    given: "given.deb",
    install: &[&[
        "dpkg",
        // The program may be one of 32 bits.
        "--force-architecture",
        // Roots of containers leave out manual pages.
        "--path-include=/usr/share/*",
        "--install",
        "/given.deb",
    ]],
    program: "assay",
    begin: nothing,
    looks: &[
        &["bash", "-c", "! command -v cargo"],
        &["man", "--where", "assay-restore"],
        &["bash", "-c", ". /usr/share/bash-completion/completions/assay && complete -p assay"],
        &["test", "-f", "/usr/lib/systemd/system/assay-restore.service"],
        &["test", "!", "-e", "/etc/systemd/system/multi-user.target.wants/assay-restore.service"],
    ],
    remove: &[&["dpkg", "--purge", "assay"]],
};

/// Why it cannot be tried here.
pub fn untried() -> Option<String> {
    if !is_root() {
        return Some("roots of their own need root".to_owned());
    }
    if let Some(program) = NEEDED.iter().find(|program| !has(program)) {
        return Some(format!("needs the program {program}"));
    }
    if Path::new(RUST).exists() {
        return Some(format!("a copy of this machine's root has Rust, too: {RUST}"));
    }
    Filesystem::Overlay.missing().or_else(unentered)
}

/// Why some cannot be entered: mounts may not be allowed, the place for changes be of a kind that takes none, or
/// busybox need a library.
fn unentered() -> Option<String> {
    let entered = Root::of_this_machine(&COPY, b"")
        .and_then(|root| root.call(&["true"]))
        .and_then(|_| Root::of_busybox(&BUSYBOX, b""));
    let told = entered.err()?;
    let lines: Vec<&str> = told.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Some(format!("a root cannot be entered: {}", lines.join("; ")))
}

/// Signals that would end this program at once, while there are roots to take away.
struct Signals {
    came: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
}

impl Signals {
    fn hold() -> Done<Self> {
        let [came, is_over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            // Afterwards they do again what they do usually.
            flag::register_conditional_default(signal, Arc::clone(&is_over))
                .and_then(|_| flag::register(signal, Arc::clone(&came)))
                .map_err(|error| error.to_string())?;
        }
        Ok(Self { came, is_over })
    }

    /// An error once one of them came.
    fn go_on(&self) -> Done<()> {
        let came = self.came.load(Ordering::Relaxed);
        if came { Err("it was ended by a signal".to_owned()) } else { Ok(()) }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Whether what is made of a program does its work in all of them, at the same time: nothing is made of their
/// numbers.
pub fn check(release: &Release, machine: &Machine, program: &[u8]) -> Done<bool> {
    let signals = Signals::hold()?;
    let (_, image) = image::pack(release, machine, program)?;
    let (_, archive) = release.archive(machine, program)?;
    let (_, package) = debian::pack(release, machine, program)?;
    let mut roots = vec![
        Root::of_image(&image)?,
        Root::of_archive(&archive, &release.name(machine))?,
        Root::of_busybox(&BUSYBOX, &archive)?,
        Root::of_this_machine(&ARCHIVE, &archive)?,
        Root::of_this_machine(&COPY, &package)?,
    ];
    match old_calls::missing() {
        Some(reason) => println!("xtask: {}: {reason}", OLD.name),
        None => roots.push(Root::of_busybox(&OLD, &archive)?),
    }
    let told: Vec<Done<()>> = thread::scope(|scope| {
        let started: Vec<_> =
            roots.iter().map(|root| scope.spawn(|| root.tried(&signals))).collect();
        let ended = started.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.map(|told| told.unwrap_or_else(|_| Err("it panicked".to_owned()))).collect()
    });
    signals.go_on()?;
    let mut well = true;
    for (root, told) in roots.iter().zip(told) {
        if let Err(reason) = told {
            println!("xtask: {}: {reason}", root.kind.name);
            well = false;
        }
    }
    Ok(well)
}

/// A root on a file system of its own, as two studies of one file system wait for each other; it goes with it.
struct Root {
    kind: &'static Kind,
    volume: Volume,
    /// What was there before anything was installed.
    before: BTreeSet<PathBuf>,
}

impl Root {
    fn of_image(packed: &[u8]) -> Done<Self> {
        Self::new(&IMAGE, "top", |top| {
            bare(top)?;
            let starts = image::Image::read(packed)?.unpack(top)?;
            if starts != IMAGE.program {
                return Err(format!("the image starts {starts}"));
            }
            Ok(())
        })
    }

    /// Of an archive with one folder of this name.
    fn of_archive(packed: &[u8], name: &str) -> Done<Self> {
        Self::new(&EMPTY, "top", |top| {
            bare(top)?;
            let home = top.join(HOME.trim_start_matches('/'));
            let unpacked = tar::Archive::new(GzDecoder::new(packed)).unpack(&home);
            let placed = unpacked.and_then(|()| fs::rename(home.join(name), home.join("assay")));
            placed.map_err(|error| format!("{name}: {error}"))
        })
    }

    fn of_busybox(kind: &'static Kind, archive: &[u8]) -> Done<Self> {
        let mut root = Self::new(kind, "top", |top| {
            bare(top)?;
            let folders = std::env::var("PATH").unwrap_or_default();
            let places = folders.split(':').map(|folder| Path::new(folder).join("busybox"));
            let program = places.into_iter().find(|path| path.is_file());
            let program = program.ok_or("there is no busybox")?;
            let copied = make(&top.join("bin")).and_then(|()| {
                fs::copy(&program, top.join("bin/busybox")).map_err(|error| error.to_string())
            });
            copied.and_then(|_| write(&top.join(kind.given), archive))
        })?;
        root.call(&["/bin/busybox", "--install", "-s", "/bin"])?;
        root.before = root.entries()?;
        Ok(root)
    }

    fn of_this_machine(kind: &'static Kind, given: &[u8]) -> Done<Self> {
        let root = Self::new(kind, "changed", |top| {
            hide(&top.join(ROOTS_OWN.trim_start_matches('/')))?;
            write(&top.join(kind.given), given)
        })?;
        make(&root.volume.directory().join("work"))?;
        Ok(root)
    }

    /// Makes one by what it has to begin with; `written` is the folder that takes what is written there.
    fn new(
        kind: &'static Kind,
        written: &str,
        begin: impl FnOnce(&Path) -> Done<()>,
    ) -> Done<Self> {
        let volume = Volume::new(Filesystem::Tmpfs, SIZE_MIB)?;
        make(&volume.directory().join("top"))?;
        let written = volume.directory().join(written);
        make(&written.join(HOME.trim_start_matches('/')))?;
        begin(&written)?;
        let mut root = Self { kind, volume, before: BTreeSet::new() };
        root.before = root.entries()?;
        Ok(root)
    }

    /// Whether it is what is written to a copy, and not a whole.
    fn changed(&self) -> Option<PathBuf> {
        Some(self.volume.directory().join("changed")).filter(|changed| changed.is_dir())
    }

    /// Everything that is there, or was written to a copy.
    fn entries(&self) -> Done<BTreeSet<PathBuf>> {
        let top = self.changed().unwrap_or_else(|| self.volume.directory().join("top"));
        let (mut found, mut open) = (BTreeSet::new(), vec![top.clone()]);
        while let Some(folder) = open.pop() {
            let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
            for entry in fs::read_dir(&folder).map_err(fail)? {
                let entry = entry.map_err(fail)?;
                if entry.file_type().map_err(fail)?.is_dir() {
                    open.push(entry.path());
                }
                found
                    .insert(entry.path().strip_prefix(&top).map_err(|e| e.to_string())?.to_owned());
            }
        }
        Ok(found)
    }

    /// What was not there before, but for what is meant to stay.
    fn left(&self) -> Done<Vec<PathBuf>> {
        let below = |path: &Path| self.changed().is_some() && Path::new("/").join(path).exists();
        let kept = |path: &Path| {
            KEPT.iter().any(|kept| path.starts_with(kept) || Path::new(kept).starts_with(path))
        };
        let now = self.entries()?.into_iter();
        let new = now.filter(|path| !self.before.contains(path) && !kept(path) && !below(path));
        Ok(new.collect())
    }

    /// A command there.
    fn enter(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-euc", ENTER]);
        command.arg(self.volume.directory()).args(words).env_clear();
        command.envs([self.kind.home, ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("LC_ALL", "C")]);
        command
    }

    /// Runs a command there, and says so with the first line that it printed; one that does not end well is an error.
    fn call(&self, words: &[&str]) -> Done<Ended> {
        let ended = run(&mut self.enter(words), LIMIT)?;
        let (shown, time) = (words.join(" "), ended.time.as_secs_f64());
        let told = ended.stdout.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let (name, code) = (self.kind.name, ended.code);
        println!("xtask: {name}: {shown}: exit {code} after {time:.1} s: {}", told.trim());
        if ended.code == 0 {
            return Ok(ended);
        }
        Err(format!("{shown}: exit {}\n{}{}", ended.code, ended.stdout, ended.stderr))
    }

    fn tried(&self, signals: &Signals) -> Done<()> {
        (self.kind.begin)()?;
        for words in self.kind.install.iter().chain(self.kind.looks) {
            signals.go_on()?;
            self.call(words)?;
        }
        for words in WORK {
            signals.go_on()?;
            let ended = self.call(&[&[self.kind.program], words].concat())?;
            if ended.stdout.is_empty() {
                return Err(format!("{} printed nothing", words.join(" ")));
            }
        }
        self.serve()?;
        let page = self.changed().unwrap_or_else(|| self.volume.directory().join("top"));
        let page = page.join(PAGE.trim_start_matches('/'));
        let text = fs::read_to_string(&page).map_err(|error| format!("{PAGE}: {error}"))?;
        if !text.contains("</html>") {
            return Err(format!("{PAGE} is not whole"));
        }
        fs::remove_file(&page).map_err(|error| format!("{PAGE}: {error}"))?;
        for words in self.kind.remove {
            self.call(words)?;
        }
        let left = self.left()?;
        if left.is_empty() { Ok(()) } else { Err(format!("it left {left:?}")) }
    }

    /// Results are served, and the server ends when it is told to.
    fn serve(&self) -> Done<()> {
        let mut command = self.enter(&[self.kind.program, "serve", "--listen", "127.0.0.1:0"]);
        let (running, output) = Running::start_reading(&mut command)?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        let port = line.rsplit(':').next().and_then(|rest| rest.split('/').next()?.parse().ok());
        let port = port.ok_or_else(|| format!("serve told no address: {line:?}"))?;
        let answer = Browser::new(port).get("/");
        running.signal("INT")?;
        let code = running.end(LIMIT)?.code;
        println!(
            "xtask: {}: serve: {} {}, exit {code}",
            self.kind.name,
            line.trim(),
            answer.status
        );
        if (answer.status, code) == (200, 0) && answer.body.contains("depth") {
            return Ok(());
        }
        Err(format!("serve answered {}:\n{}", answer.status, answer.body))
    }
}

/// A kind whose commands have all that this kernel has.
#[expect(clippy::unnecessary_wraps, reason = "as others begin")]
fn nothing() -> Done<()> {
    Ok(())
}

/// What a container is given.
fn bare(top: &Path) -> Done<()> {
    ["dev", "proc", "sys"].into_iter().try_for_each(|place| make(&top.join(place)))
}

/// Hides a folder of this machine from its copy: such a device says in an overlay that there is none.
fn hide(place: &Path) -> Done<()> {
    place.parent().map_or(Ok(()), make)?;
    let made = mknodat(CWD, place, FileType::CharacterDevice, Mode::empty(), 0);
    made.map_err(|error| format!("{}: {error}", place.display()))
}

fn make(folder: &Path) -> Done<()> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Done<()> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::dist::machines::MACHINES;
    use crate::lab::needs::skip;

    const FAKE: &[u8] = b"#!/bin/sh\necho \"$HOME\"\n";

    #[test]
    #[ignore = "nightly: 7 s"]
    fn a_package_comes_and_goes_in_a_copy_and_what_it_forgets_is_found() {
        if let Some(reason) = untried() {
            return skip(&reason);
        }
        let (_, package) = debian::pack(&Release::of_none(), &MACHINES[0], FAKE).unwrap();
        let root = Root::of_this_machine(&COPY, &package).unwrap();
        for words in COPY.install.iter().chain(COPY.looks) {
            root.call(words).unwrap();
        }
        assert_eq!(root.call(&["assay"]).unwrap().stdout.trim(), HOME);
        assert!(root.left().unwrap().contains(&PathBuf::from("usr/bin/assay")));
        assert!(root.call(&["sh", "-c", "exit 3"]).unwrap_err().contains("exit 3"));
        for words in COPY.remove {
            root.call(words).unwrap();
        }
        assert_eq!(root.left().unwrap(), Vec::<PathBuf>::new());
        root.call(&["touch", "/usr/share/forgotten", "/tried/.local"]).unwrap();
        assert_eq!(root.left().unwrap(), [PathBuf::from("usr/share/forgotten")]);
        assert!(!Path::new("/usr/share/forgotten").exists());
    }

    #[test]
    fn an_archive_is_unpacked_and_removed_in_a_copy_and_lies_in_an_empty_root() {
        if let Some(reason) = untried() {
            return skip(&reason);
        }
        let release = Release::of_none();
        let (_, archive) = release.archive(&MACHINES[0], FAKE).unwrap();
        let root = Root::of_this_machine(&ARCHIVE, &archive).unwrap();
        for words in ARCHIVE.install.iter().chain(ARCHIVE.looks) {
            root.call(words).unwrap();
        }
        assert_eq!(root.call(&[ARCHIVE.program]).unwrap().stdout.trim(), HOME);
        assert!(root.left().unwrap().contains(&PathBuf::from("tried/assay/assay")));
        for words in ARCHIVE.remove {
            root.call(words).unwrap();
        }
        assert_eq!(root.left().unwrap(), Vec::<PathBuf>::new());
        let name = release.name(&MACHINES[0]);
        let empty = Root::of_archive(&archive, &name).unwrap();
        assert!(empty.volume.directory().join("top/tried/assay/assay").is_file());
        assert!(Root::of_archive(&archive, "assay-of-others").is_err());
    }

    #[test]
    fn a_copy_has_no_journals_of_this_machine_and_takes_new_ones() {
        if let Some(reason) = untried() {
            return skip(&reason);
        }
        let root = Root::of_this_machine(&COPY, b"").unwrap();
        root.call(&["test", "!", "-e", ROOTS_OWN]).unwrap();
        root.call(&["mkdir", ROOTS_OWN]).unwrap();
        // The same with a folder that every machine has.
        root.call(&["test", "-d", "/usr/share"]).unwrap();
        hide(&root.changed().unwrap().join("usr/share")).unwrap();
        root.call(&["test", "!", "-e", "/usr/share"]).unwrap();
        assert!(Path::new("/usr/share").is_dir());
    }

    #[test]
    fn a_signal_does_not_end_it_before_its_roots_are_taken_away() {
        let signals = Signals::hold().unwrap();
        assert_eq!(signals.go_on(), Ok(()));
        signal_hook::low_level::raise(SIGHUP).unwrap();
        assert!(signals.go_on().unwrap_err().contains("signal"));
    }
}
