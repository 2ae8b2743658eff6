//! The machine that QEMU makes: started, watched, ended. Nothing of it is left when it is dropped.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Done, has};

/// The program.
pub const QEMU: &str = "qemu-system-x86_64";

/// What carries out the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor itself, through `/dev/kvm`.
    Kvm,
    /// QEMU, one by one: the same on every machine, and many times slower.
    Tcg,
}

impl Accelerator {
    /// By the name that QEMU gives it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "kvm" => Some(Self::Kvm),
            "tcg" => Some(Self::Tcg),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }

    /// The one to begin with. A device `/dev/kvm` alone says little: where the processor itself tells
    /// nothing of virtual machines, it is served by software that boots no ordinary kernel.
    pub fn likely() -> Self {
        let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let mut words = flags.split_whitespace();
        let able = words.any(|word| word == "vmx" || word == "svm");
        let opens = || fs::OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok();
        if able && opens() { Self::Kvm } else { Self::Tcg }
    }

    fn words(self) -> [&'static str; 4] {
        match self {
            Self::Kvm => ["-accel", "kvm", "-cpu", "host"],
            Self::Tcg => ["-accel", "tcg,thread=multi", "-cpu", "max"],
        }
    }
}

/// Why there can be no guest here.
pub fn missing() -> Option<String> {
    if std::env::consts::ARCH != "x86_64" {
        return Some("guests are made on x86_64 alone".to_owned());
    }
    let needed = [QEMU, "busybox", "depmod", "dpkg-deb", "ldd", "setpriv"];
    let missing = needed.into_iter().find(|program| !has(program))?;
    Some(format!("needs the program {missing}"))
}

/// How a drive is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// `/dev/vda`, by a module.
    Virtio,
    /// `/dev/nvme0n1`: kernels have it built in, so that it can hold the root.
    Nvme,
}

/// A drive, whose bytes lie in a file.
#[derive(Clone, Debug)]
pub struct Drive {
    /// The file.
    pub image: PathBuf,
    /// How it is attached.
    pub bus: Bus,
}

/// What is started.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What carries it out.
    pub accelerator: Accelerator,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Processors.
    pub cpus: usize,
    /// The kernel's file.
    pub kernel: PathBuf,
    /// What it unpacks first, if anything.
    pub first: Option<PathBuf>,
    /// What it is told.
    pub append: String,
    /// Drives, in the order of their names.
    pub drives: Vec<Drive>,
    /// Names of ports, and the files that what the guest writes there ends in.
    pub ports: Vec<&'static str>,
    /// The time in its clock when it starts, as QEMU takes it; the time that it is, where none is named.
    pub clock: Option<String>,
    /// More words for QEMU.
    pub more: Vec<String>,
}

/// A running machine; it is ended when this is dropped.
#[derive(Debug)]
pub struct Machine {
    child: Child,
    folder: PathBuf,
    started: Instant,
}

impl Machine {
    /// Starts one whose ports are files in a folder.
    pub fn start(setup: &Setup, folder: &Path) -> Done<Self> {
        let complaint = fs::File::create(folder.join("qemu"));
        let complaint = complaint.map_err(|error| format!("{}: {error}", folder.display()))?;
        // Should we be killed, the kernel ends it: nobody else would.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", QEMU]).args(words(setup, folder));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        // Of a group of its own: an interrupt of the terminal reaches us alone, and we end it.
        command.stderr(complaint).process_group(0);
        let child = command.spawn().map_err(|error| format!("setpriv: {error}"))?;
        Ok(Self { child, folder: folder.to_owned(), started: Instant::now() })
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Since it was started.
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Whether it has turned itself off, or was never one.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// What came out of a port so far.
    pub fn port(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.join(name)).unwrap_or_default()
    }

    /// Starts it again after it has ended; its age goes on.
    pub fn again(mut self, setup: &Setup) -> Done<Self> {
        self.cut();
        let mut machine = Self::start(setup, &self.folder)?;
        machine.started = self.started;
        Ok(machine)
    }

    /// Takes the power away: what was not written is lost, as it would be.
    pub fn cut(&mut self) {
        // Ours alone: the id cannot have been given away before it is waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The last lines of its console and of what QEMU complained of.
    pub fn last_words(&self) -> String {
        let tail = |name: &str| {
            let text = String::from_utf8_lossy(&self.port(name)).replace('\r', "");
            let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            lines[lines.len().saturating_sub(12)..].join("\n")
        };
        let both = [tail("qemu"), tail("console")];
        let told: Vec<&str> = both.iter().map(String::as_str).filter(|t| !t.is_empty()).collect();
        if told.is_empty() { "it said nothing".to_owned() } else { told.join("\n") }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.cut();
    }
}

/// The words after `qemu-system-x86_64`.
fn words(setup: &Setup, folder: &Path) -> Vec<String> {
    let mut words: Vec<String> = setup.accelerator.words().map(str::to_owned).to_vec();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|&word| word.to_owned()));
    let file = |name: &str| quoted(&folder.join(name));
    add(&["-M", "q35", "-nodefaults", "-no-user-config", "-display", "none"]);
    add(&["-smp", &setup.cpus.to_string(), "-m", &format!("{}K", setup.memory_bytes >> 10)]);
    add(&["-chardev", &format!("file,id=console,path={}", file("console"))]);
    add(&["-serial", "chardev:console"]);
    add(&["-device", "virtio-serial-pci,max_ports=16", "-device", "virtio-rng-pci"]);
    for name in &setup.ports {
        add(&["-chardev", &format!("file,id={name},append=on,path={}", file(name))]);
        add(&["-device", &format!("virtserialport,chardev={name},name={name}")]);
    }
    for (at, drive) in setup.drives.iter().enumerate() {
        let image = quoted(&drive.image);
        add(&[
            "-drive",
            &format!("if=none,id=drive{at},format=raw,discard=unmap,file={image}"),
            "-device",
            &match drive.bus {
                Bus::Virtio => format!("virtio-blk-pci,drive=drive{at}"),
                Bus::Nvme => format!("nvme,drive=drive{at},serial=lab{at}"),
            },
        ]);
    }
    add(&["-kernel", &setup.kernel.display().to_string(), "-append", &setup.append]);
    if let Some(first) = &setup.first {
        add(&["-initrd", &first.display().to_string()]);
    }
    if let Some(clock) = &setup.clock {
        add(&["-rtc", &format!("base={clock}")]);
    }
    words.extend(setup.more.iter().cloned());
    words
}

/// A path among options that commas part: one of its own is doubled.
fn quoted(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_drive_and_port_has_its_words_and_commas_are_doubled() {
        let setup = Setup {
            accelerator: Accelerator::Tcg,
            memory_bytes: 512 << 20,
            cpus: 2,
            kernel: "/k".into(),
            first: None,
            append: "quiet".to_owned(),
            drives: vec![Drive { image: "/a,b".into(), bus: Bus::Virtio }],
            ports: vec!["out"],
            clock: None,
            more: vec!["-no-reboot".to_owned()],
        };
        let words = words(&setup, Path::new("/run/lab"));
        let text = words.join(" ");
        for wanted in [
            "-accel tcg,thread=multi",
            "-m 524288K",
            "file=/a,,b -device virtio-blk-pci,drive=drive0",
            "-chardev file,id=out,append=on,path=/run/lab/out -device virtserialport,chardev=out,name=out",
            "-kernel /k -append quiet -no-reboot",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        assert!(!text.contains("-initrd"));
    }

    #[test]
    fn accelerators_have_the_names_of_qemu() {
        for name in ["kvm", "tcg"] {
            assert_eq!(Accelerator::named(name).map(Accelerator::name), Some(name));
        }
        assert_eq!(Accelerator::named("hvf"), None);
    }
}
