//! Small virtual machines of QEMU: a distribution's kernel, and an initramfs with the program. A guest has no network
//! except a link to another guest, if requested. Nothing remains afterwards: the files of a guest have no names, and
//! QEMU ends with this process. On most machines QEMU executes every instruction, so measurements say nothing about
//! hardware, and the program in the guest reports that (rule `emulated`).
//!
//! `real::guest` runs guests with a drive of this program; xtask runs jobs in guests. This module prints nothing.
//!
//! Main types: [`Asked`] (parameters of a guest), [`kernel::Kernel`], [`machine::Machine`], [`files::Files`] (output of
//! a guest), [`driven::GuestTemplate`] (guests with a drive of this program), [`nbd`] (such a drive).

#![allow(clippy::disallowed_methods, reason = "virtual machines are files and processes")]

pub mod cpio;
pub mod driven;
pub mod files;
mod host;
pub mod kernel;
pub mod machine;
mod monitor;
pub mod nbd;
pub mod tree;

use std::path::{Path, PathBuf};
use std::time::Duration;

use files::Files;
use kernel::Kernel;
use machine::{Accelerator, Setup, VmDrive};
use tree::CpioTree;

pub use host::{Done, found};
use host::{call, has};
pub use machine::missing;

const INIT: &str = include_str!("init.sh");

/// Modules of every guest: its drives, its ports, and common needs of studies.
pub const MODULES: [&str; 7] =
    ["virtio_pci", "virtio_blk", "virtio_console", "virtio_rng", "loop", "zram", "ext4"];

/// Modules that the kernel loads on demand: ciphers, checksums, character sets.
const AT_HAND: [&str; 4] = ["crypto", "arch/x86/crypto", "lib", "fs/nls"];

/// Host programs for every guest; `busybox` provides the rest, but not all module formats.
const PROGRAMS: [&str; 6] = ["mkfs.ext4", "lsblk", "losetup", "kmod", "wipefs", "blkid"];
const OF_KMOD: [&str; 4] = ["sbin/modprobe", "sbin/insmod", "sbin/rmmod", "sbin/depmod"];
const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n";
const PORTS: [&str; 4] = ["out", "err", "end", "files"];

/// Kernel command line. `no_timer_check` avoids a panic on busy hosts.
const APPEND: &str = "console=ttyS0 panic=-1 quiet psi=1 no_timer_check";

/// A guest without output for this long under KVM does not boot.
pub const SIGN_OF_LIFE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(25);

#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub kernel: Kernel,
    pub assay: PathBuf,
    pub accelerator: Option<Accelerator>,
    pub memory_bytes: u64,
    pub cpus: usize,
    /// Bytes of each virtio drive.
    pub drives: Vec<u64>,
    /// Additional virtio drives: existing images, each with QEMU's cache mode.
    pub lent: Vec<(PathBuf, String)>,
    /// Whether results and created files are on the first drive instead of in memory.
    pub home_on_drive: bool,
    pub append: String,
    pub modules: Vec<String>,
    pub programs: Vec<PathBuf>,
    /// A network link to another guest; `eth0` on this side (module `virtio_net`).
    pub link: Option<Link>,
    pub files: Vec<(String, Vec<u8>)>,
    /// A shell script as the job; the words are its arguments. Without one, the words are the command.
    pub script: Option<Vec<u8>>,
    pub words: Vec<String>,
    pub place: PathBuf,
    pub limit: Option<Duration>,
}

/// One end of a network link between two guests, over a loopback connection of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Listens(u16),
    /// It connects to the other end, which must already listen.
    Dials(u16),
}

impl Link {
    /// QEMU arguments for a network link between two guests, one at each end of a local socket.
    fn words(self) -> [String; 4] {
        let (how, port, last_digit) = match self {
            Self::Listens(port) => ("listen", port, 1),
            Self::Dials(port) => ("connect", port, 2),
        };
        [
            "-netdev".to_owned(),
            format!("socket,id=link,{how}=127.0.0.1:{port}"),
            "-device".to_owned(),
            // Without an option ROM, it needs no package for network boot.
            format!("virtio-net-pci,netdev=link,romfile=,mac=52:54:00:83:09:0{last_digit}"),
        ]
    }
}

/// Joins the last twelve lines of each text; `no output` if all are empty.
pub fn last_lines<B: AsRef<[u8]>>(texts: &[B]) -> String {
    let tail = |bytes: &B| {
        let text = String::from_utf8_lossy(bytes.as_ref()).replace('\r', "");
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    };
    let tails: Vec<String> = texts.iter().map(tail).filter(|text| !text.is_empty()).collect();
    if tails.is_empty() { "no output".to_owned() } else { tails.join("\n") }
}

/// Creates the files of a guest and describes the QEMU machine that boots it.
pub fn setup(asked: &Asked, accelerator: Accelerator, files: &mut Files) -> Done<Setup> {
    let mut drives = Vec::new();
    let first = files.filled("first", &initramfs(asked)?.pack()?)?;
    let mut more = vec!["-no-reboot".to_owned()];
    more.extend(asked.link.into_iter().flat_map(Link::words));
    for (at, bytes) in asked.drives.iter().enumerate() {
        let image = files.sparse(&format!("drive{at}"), *bytes)?;
        drives.push(VmDrive { image, cache: None });
    }
    let lent = asked.lent.iter().cloned();
    drives.extend(lent.map(|(image, cache)| VmDrive { image, cache: Some(cache) }));
    let ports = PORTS.into_iter().map(|name| Ok((name, files.make(name)?)));
    let ports = ports.collect::<Done<_>>()?;
    Ok(Setup {
        accelerator,
        memory_bytes: asked.memory_bytes,
        cpus: asked.cpus,
        kernel: asked.kernel.image.clone(),
        first,
        append: format!("{APPEND} {}", asked.append).trim_end().to_owned(),
        drives,
        console: files.make("console")?,
        ports,
        more,
    })
}

/// Maximum bytes of its files, if all drives are written: required free space.
pub fn bytes_of(asked: &Asked) -> Done<u64> {
    Ok(initramfs(asked)?.bytes()? + asked.drives.iter().sum::<u64>())
}

/// Collects the files of the guest: programs, modules, and the job.
fn initramfs(asked: &Asked) -> Done<CpioTree> {
    let mut tree =
        CpioTree::with(&["proc", "sys", "dev", "run", "tmp", "root", "home/lab/results", "etc"]);
    tree.file("init", 0o755, INIT);
    tree.device("dev/console", 5, 1);
    tree.file("etc/passwd", 0o644, PASSWD);
    tree.file("etc/group", 0o644, "root:x:0:\nnogroup:x:65534:\n");
    tree.file("etc/os-release", 0o644, "PRETTY_NAME=\"Assay lab\"\nID=assay-lab\n");
    tree.file("lab/home", 0o644, if asked.home_on_drive { "/dev/vda\n" } else { "" });
    tree.copy("usr/bin/assay", &asked.assay)?;
    tree.libraries(&asked.assay)?;
    for program in PROGRAMS.iter().filter_map(|name| found(name)).chain(asked.programs.clone()) {
        tree.program(&program)?;
    }
    if tree.has("usr/bin/kmod") {
        for name in OF_KMOD {
            tree.link(name, "/usr/bin/kmod");
        }
    }
    // busybox's shell prefers its own applets over PATH: a script that calls gzip would not run the copied gzip.
    if let Some(shell) = found("sh") {
        tree.program(&shell)?;
        tree.link("bin/sh", "/usr/bin/sh");
    }
    tree.busybox()?;
    add_modules(&mut tree, asked)?;
    for (path, bytes) in &asked.files {
        tree.file(path, 0o644, bytes.clone());
    }
    if let Some(script) = &asked.script {
        tree.file("lab/script", 0o755, script.as_slice());
    }
    tree.file("lab/job", 0o644, asked.line());
    Ok(tree)
}

/// Adds the requested modules, those that programs may load later, and the lists of the kernel.
fn add_modules(tree: &mut CpioTree, asked: &Asked) -> Done<()> {
    let kernel = &asked.kernel;
    let more = asked.modules.iter().map(String::as_str);
    let names: Vec<&str> = MODULES.into_iter().chain(more).collect();
    let files = kernel.files_of(&names)?;
    let below = format!("lib/modules/{}", kernel.release);
    for file in files.iter().chain(kernel.files_below(&AT_HAND)) {
        tree.copy(&format!("{below}/{file}"), &kernel.modules.join(file))?;
    }
    for list in kernel.lists() {
        let name = list.file_name().unwrap_or_default().to_string_lossy().into_owned();
        tree.copy(&format!("{below}/{name}"), &list)?;
    }
    tree.file(&format!("{below}/lab.list"), 0o644, files.join("\n") + "\n");
    Ok(())
}

impl Asked {
    pub fn line(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| for_shell(word)).collect();
        let script = if self.script.is_some() { "/lab/script " } else { "" };
        format!("exec {script}{}\n", words.join(" "))
    }

    pub fn usual(assay: PathBuf, kernel: Kernel, place: &Path) -> Self {
        Self {
            kernel,
            assay,
            memory_bytes: 1 << 30,
            cpus: 2,
            drives: vec![1 << 30],
            place: place.to_owned(),
            ..Self::default()
        }
    }
}

fn for_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
