//! A guest of QEMU: a distribution's kernel, a first file system of our own making with the program under
//! test in it, one job, and what the job left. It has no network and no root disk, and nothing of it is
//! left afterwards. On most machines every instruction is carried out by QEMU: what it measures says
//! nothing of hardware, and the program under test says so (rule `emulated`).

pub mod cpio;
pub mod kernel;
pub mod machine;
pub mod root;
pub mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::{Done, Scratch, call};
use kernel::Kernel;
use machine::{Accelerator, Bus, Drive, Machine, Setup};
use tree::{Tree, found, stripped};

pub use machine::missing;

/// The first process.
const INIT: &str = include_str!("init.sh");

/// Modules that every guest has: its drives, its ports, and what a study may want without asking.
pub const MODULES: [&str; 6] =
    ["virtio_pci", "virtio_blk", "virtio_console", "virtio_rng", "loop", "zram"];

/// Programs of this machine that every guest has where they are there; `busybox` does the rest.
pub const PROGRAMS: [&str; 3] = ["mkfs.ext4", "lsblk", "losetup"];

/// What the guest writes to: outputs of the job, how it ended, an archive of its results.
const PORTS: [&str; 4] = ["out", "err", "end", "files"];

/// What the kernel is told.
const APPEND: &str = "console=ttyS0 panic=-1 quiet psi=1";

/// A guest that says nothing for so long under KVM is one that KVM does not boot.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);

/// How often is looked at what came.
const PAUSE: Duration = Duration::from_millis(25);

/// A guest, as it is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The kernel.
    pub kernel: Kernel,
    /// The program under test: it is `/usr/bin/assay` there.
    pub assay: PathBuf,
    /// What carries it out; the likeliest one that works, where none is named.
    pub accelerator: Option<Accelerator>,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Processors.
    pub cpus: usize,
    /// Bytes of each virtio drive.
    pub drives: Vec<u64>,
    /// More for the kernel.
    pub append: String,
    /// More modules.
    pub modules: Vec<String>,
    /// More programs of this machine.
    pub programs: Vec<PathBuf>,
    /// A shell script that is the job; the words are its arguments. Without one they are the command.
    pub script: Option<Vec<u8>>,
    /// Words of the job.
    pub words: Vec<String>,
    /// A root disk with systemd to be copied, which then runs the job again after each boot; without one
    /// the root lies in memory and has no systemd.
    pub root: Option<PathBuf>,
    /// Until when it has to have ended.
    pub limit: Duration,
}

/// Which output of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// How a job ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code of its shell.
    pub code: u8,
    /// What carried the guest out.
    pub accelerator: Accelerator,
    /// From the start of QEMU to its end.
    pub time: Duration,
    /// From the start of QEMU until the job began.
    pub booted: Duration,
    /// Its results, as an archive of directories below `results`; none where it left none.
    pub results: Option<PathBuf>,
    /// Keeps the archive.
    _scratch: Scratch,
}

impl Ended {
    /// Unpacks the results into a directory that may be there, and tells their names.
    pub fn unpack(&self, into: &Path) -> Done<Vec<String>> {
        let Some(archive) = &self.results else { return Ok(Vec::new()) };
        fs::create_dir_all(into).map_err(|error| format!("{}: {error}", into.display()))?;
        let [from, to] = [archive.as_path(), into].map(|path| path.display().to_string());
        call("tar", &["-x", "--no-same-owner", "-f", &from, "-C", &to])?;
        let listed = call("tar", &["-t", "-f", &from])?;
        let plan = |line: &str| {
            let bundle = line.strip_suffix("/plan.json")?;
            Some(bundle.rsplit('/').next().unwrap_or(bundle).to_owned())
        };
        Ok(listed.lines().filter_map(plan).collect())
    }
}

/// Boots a guest, runs its job, tells what it prints as it comes, and turns it off. `stop` ends it early.
pub fn run(asked: &Asked, stop: &AtomicBool, tell: &mut dyn FnMut(Stream, &[u8])) -> Done<Ended> {
    let first = asked.accelerator.unwrap_or_else(Accelerator::likely);
    match attempt(asked, first, stop, tell) {
        Err(Failed::NoLife(_)) if first == Accelerator::Kvm && asked.accelerator.is_none() => {
            attempt(asked, Accelerator::Tcg, stop, tell).map_err(Failed::told)
        }
        ended => ended.map_err(Failed::told),
    }
}

/// Why there is no job that ended.
enum Failed {
    /// The guest never said that it is up.
    NoLife(String),
    /// Something else.
    Otherwise(String),
}

impl Failed {
    fn told(self) -> String {
        match self {
            Self::NoLife(text) | Self::Otherwise(text) => text,
        }
    }
}

impl From<String> for Failed {
    fn from(text: String) -> Self {
        Self::Otherwise(text)
    }
}

fn attempt(
    asked: &Asked,
    accelerator: Accelerator,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Stream, &[u8]),
) -> Result<Ended, Failed> {
    let scratch = Scratch::new("guest")?;
    let folder = scratch.path();
    let mut setup = match &asked.root {
        Some(image) => on_disk(asked, accelerator, folder, image)?,
        None => setup(asked, accelerator, folder)?,
    };
    let mut machine = Machine::start(&setup, folder)?;
    let mut again = 0;
    let mut told = [(Stream::Out, "out", 0_usize), (Stream::Err, "err", 0)];
    let mut booted = None;
    loop {
        let over = machine.has_ended();
        for (stream, name, done) in &mut told {
            let all = machine.port(name);
            if all.len() > *done {
                tell(*stream, &all[*done..]);
                *done = all.len();
            }
        }
        if booted.is_none() && !machine.port("end").is_empty() {
            booted = Some(machine.age());
        }
        let order = orders(&machine.port("end")).get(again).cloned();
        if let Some(order) = order.filter(|order| order.is_cut || over) {
            if order.is_cut {
                machine.cut();
            }
            again += 1;
            setup.clock = order.clock;
            machine = machine.again(&setup)?;
            continue;
        }
        if over {
            break;
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Failed::Otherwise("interrupted".to_owned()));
        }
        let is_dead = booted.is_none() && machine.age() > SIGN_OF_LIFE;
        if is_dead && accelerator == Accelerator::Kvm {
            let last = machine.last_words();
            return Err(Failed::NoLife(format!("KVM does not boot the guest:\n{last}")));
        }
        if machine.age() > asked.limit {
            let last = machine.last_words();
            let limit = asked.limit.as_secs();
            return Err(Failed::Otherwise(format!("still running after {limit} s:\n{last}")));
        }
        thread::sleep(PAUSE);
    }
    let time = machine.age();
    let Some((code, bytes)) = ending(&String::from_utf8_lossy(&machine.port("end"))) else {
        let text = format!("the guest ended without saying how:\n{}", machine.last_words());
        return Err(if booted.is_none() { Failed::NoLife(text) } else { text.into() });
    };
    let archive = folder.join("files");
    let came = fs::metadata(&archive).map_or(0, |seen| seen.len());
    if came != bytes {
        return Err(Failed::Otherwise(format!("of {bytes} bytes of results {came} came")));
    }
    let booted = booted.unwrap_or_default();
    drop(machine);
    Ok(Ended { code, accelerator, time, booted, results: Some(archive), _scratch: scratch })
}

/// The exit code of the job and the bytes of its archive: `up`, then `0 10240`.
fn ending(text: &str) -> Option<(u8, u64)> {
    let numbers = |line: &str| {
        let (code, bytes) = line.split_once(' ')?;
        Some((code.parse().ok()?, bytes.parse().ok()?))
    };
    text.lines().find_map(numbers)
}

/// What a job asks of the host: to start the machine again.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Order {
    /// At once, as by a power cut; otherwise when it has turned itself off.
    is_cut: bool,
    /// With this time in its clock; the time that it is, where none is named.
    clock: Option<String>,
}

/// The orders so far, in whole lines: `cut`, `off 2020-01-01`.
fn orders(told: &[u8]) -> Vec<Order> {
    let text = String::from_utf8_lossy(told);
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let order = |line: &str| {
        let (word, clock) = line.split_once(' ').unwrap_or((line, ""));
        let clock = Some(clock.trim().to_owned()).filter(|clock| !clock.is_empty());
        ["cut", "off"].contains(&word).then(|| Order { is_cut: word == "cut", clock })
    };
    whole.lines().filter_map(order).collect()
}

/// The machine of a guest, with its first file system and its drives in a folder.
fn setup(asked: &Asked, accelerator: Accelerator, folder: &Path) -> Done<Setup> {
    let first = folder.join("first.cpio");
    let fail = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::write(&first, tree(asked, folder)?.pack()?).map_err(|error| fail(&first, error))?;
    let append = format!("{APPEND} {}", asked.append);
    Ok(Setup {
        first: Some(first),
        append: append.trim_end().to_owned(),
        drives: drives(asked, folder)?,
        more: vec!["-no-reboot".to_owned()],
        ..bare(asked, accelerator)
    })
}

/// The machine of a guest with a root disk, which is copied, and may be rebooted.
fn on_disk(asked: &Asked, accelerator: Accelerator, folder: &Path, image: &Path) -> Done<Setup> {
    let assay = stripped(&asked.assay, folder)?;
    let job = folder.join("job");
    let script = asked.script.as_deref();
    let text = script.map_or_else(|| line(asked).into_bytes(), <[u8]>::to_vec);
    fs::write(&job, text).map_err(|error| format!("{}: {error}", job.display()))?;
    let files = [("/usr/bin/assay", "0100755", assay.as_path()), ("/lab/job", "0100644", &job)];
    let root = Drive { image: root::copied(image, folder, &files)?, bus: Bus::Nvme };
    Ok(Setup {
        append: format!("{APPEND} root=/dev/nvme0n1 rw {}", asked.append).trim_end().to_owned(),
        drives: [vec![root], drives(asked, folder)?].concat(),
        ..bare(asked, accelerator)
    })
}

/// What all guests have in common.
fn bare(asked: &Asked, accelerator: Accelerator) -> Setup {
    Setup {
        accelerator,
        memory_bytes: asked.memory_bytes,
        cpus: asked.cpus,
        kernel: asked.kernel.image.clone(),
        first: None,
        append: String::new(),
        drives: Vec::new(),
        ports: PORTS.to_vec(),
        clock: None,
        more: Vec::new(),
    }
}

/// The virtio drives of a guest, empty.
fn drives(asked: &Asked, folder: &Path) -> Done<Vec<Drive>> {
    let fail = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let mut drives = Vec::new();
    for (at, bytes) in asked.drives.iter().enumerate() {
        let image = folder.join(format!("drive{at}"));
        let file = fs::File::create(&image).map_err(|error| fail(&image, error))?;
        file.set_len(*bytes).map_err(|error| fail(&image, error))?;
        drives.push(Drive { image, bus: Bus::Virtio });
    }
    Ok(drives)
}

/// The first file system of a guest.
fn tree(asked: &Asked, folder: &Path) -> Done<Tree> {
    let mut tree =
        Tree::with(&["proc", "sys", "dev", "run", "tmp", "root", "home/lab/results", "etc"]);
    tree.file("init", 0o755, INIT);
    tree.device("dev/console", [5, 1]);
    tree.file(
        "etc/passwd",
        0o644,
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n",
    );
    tree.file("etc/group", 0o644, "root:x:0:\nnogroup:x:65534:\n");
    tree.file("etc/os-release", 0o644, "PRETTY_NAME=\"Assay lab\"\nID=assay-lab\n");
    tree.copy("usr/bin/assay", &stripped(&asked.assay, folder)?)?;
    tree.libraries(&asked.assay)?;
    for program in PROGRAMS.iter().filter_map(|name| found(name)).chain(asked.programs.clone()) {
        tree.program(&program)?;
    }
    tree.busybox()?;
    modules(&mut tree, asked)?;
    job(&mut tree, asked);
    Ok(tree)
}

/// The modules of a guest, the list of those that it loads at once, and what `modprobe` reads.
fn modules(tree: &mut Tree, asked: &Asked) -> Done<()> {
    let kernel = &asked.kernel;
    let more = asked.modules.iter().map(String::as_str);
    let names: Vec<&str> = MODULES.into_iter().chain(more).collect();
    let files = kernel.files_of(&names)?;
    let below = format!("lib/modules/{}", kernel.release);
    for file in &files {
        tree.copy(&format!("{below}/{file}"), &kernel.modules.join(file))?;
    }
    for list in kernel.lists() {
        let name = list.file_name().unwrap_or_default().to_string_lossy().into_owned();
        tree.copy(&format!("{below}/{name}"), &list)?;
    }
    tree.file(&format!("{below}/lab.list"), 0o644, files.join("\n") + "\n");
    Ok(())
}

fn job(tree: &mut Tree, asked: &Asked) {
    if let Some(script) = &asked.script {
        tree.file("lab/script", 0o755, script.as_slice());
    }
    tree.file("lab/job", 0o644, line(asked));
}

/// The line that runs the job.
fn line(asked: &Asked) -> String {
    let words: Vec<String> = asked.words.iter().map(|word| for_shell(word)).collect();
    let script = if asked.script.is_some() { "/lab/script " } else { "" };
    format!("exec {script}{}\n", words.join(" "))
}

/// A word as a shell takes it back.
fn for_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
