//! A QEMU machine: started, monitored, ended. Dropping it removes everything.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::vm::{Done, has};

pub const QEMU: &str = "qemu-system-x86_64";
const NEEDED: [(&str, &str); 4] = [
    (QEMU, "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("setpriv", "util-linux"),
    ("ldd", "libc-bin"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    Kvm,
    /// QEMU executes each instruction: the same on every machine, and many times slower.
    Tcg,
}

impl Accelerator {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "kvm" => Some(Self::Kvm),
            "tcg" => Some(Self::Tcg),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }

    /// Returns the accelerator to try first. `/dev/kvm` is not enough: the CPU must support it.
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

pub fn missing() -> Option<String> {
    if std::env::consts::ARCH != "x86_64" {
        return Some("virtual machines need x86_64".to_owned());
    }
    let (missing, package) = NEEDED.into_iter().find(|(program, _)| !has(program))?;
    Some(format!("{missing} is not installed; install the package {package}"))
}

#[derive(Clone, Debug)]
pub struct VmDrive {
    pub image: PathBuf,
    /// QEMU's cache mode (`none`, `writeback`, ...); `None` uses its default.
    pub cache: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Setup {
    pub accelerator: Accelerator,
    pub memory_bytes: u64,
    pub cpus: usize,
    pub kernel: PathBuf,
    pub first: PathBuf,
    pub append: String,
    pub drives: Vec<VmDrive>,
    pub console: PathBuf,
    pub ports: Vec<(&'static str, PathBuf)>,
    pub more: Vec<String>,
}

#[derive(Debug)]
pub struct QemuMachine {
    child: Child,
    started: Instant,
}

impl QemuMachine {
    pub fn start(setup: &Setup, complaint: &fs::File) -> Done<Self> {
        let complaint = complaint.try_clone().map_err(|error| error.to_string())?;
        Self::spawn(setup, [Stdio::null(), Stdio::null(), Stdio::from(complaint)])
    }

    pub fn driven(setup: &Setup, ends: [OwnedFd; 3]) -> Done<Self> {
        Self::spawn(setup, ends.map(Stdio::from))
    }

    fn spawn(setup: &Setup, ends: [Stdio; 3]) -> Done<Self> {
        let [input, output, error] = ends;
        // If this process is killed, the kernel ends it.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", QEMU]).args(qemu_arguments(setup));
        command.stdin(input).stdout(output).stderr(error);
        // A separate process group: a terminal interrupt only reaches this process, which ends it.
        command.process_group(0);
        let child = command.spawn().map_err(|error| format!("setpriv: {error}"))?;
        Ok(Self { child, started: Instant::now() })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the longest wait of a thread for a processor; zero if it is not reported.
    pub fn waited(&self) -> Duration {
        let threads =
            fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        let texts =
            threads.filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
        texts.map(|text| parse_waited(&text)).max().unwrap_or_default()
    }

    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    pub fn cut(&mut self) {
        // A child of this process: its ID cannot be reused before the wait.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for QemuMachine {
    fn drop(&mut self) {
        self.cut();
    }
}

/// The second number of `schedstat`: nanoseconds on a run queue (Documentation/scheduler/sched-stats.rst).
fn parse_waited(schedstat: &str) -> Duration {
    let waited = schedstat.split_whitespace().nth(1).and_then(|ns| ns.parse().ok());
    Duration::from_nanos(waited.unwrap_or_default())
}

fn qemu_arguments(setup: &Setup) -> Vec<String> {
    let mut words: Vec<String> = setup.accelerator.words().map(str::to_owned).to_vec();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|&word| word.to_owned()));
    add(&["-M", "q35", "-nodefaults", "-no-user-config", "-display", "none"]);
    add(&["-smp", &setup.cpus.to_string(), "-m", &format!("{}K", setup.memory_bytes >> 10)]);
    add(&["-chardev", &format!("file,id=console,append=on,path={}", quoted(&setup.console))]);
    add(&["-serial", "chardev:console"]);
    add(&["-device", "virtio-serial-pci,max_ports=16", "-device", "virtio-rng-pci"]);
    for (name, file) in &setup.ports {
        let file = quoted(file);
        add(&["-chardev", &format!("file,id={name},append=on,path={file}")]);
        add(&["-device", &format!("virtserialport,chardev={name},name={name}")]);
    }
    for (at, drive) in setup.drives.iter().enumerate() {
        let image = quoted(&drive.image);
        let cache = drive.cache.as_ref().map_or_else(String::new, |word| format!("cache={word},"));
        add(&[
            "-drive",
            // If the host has no space, the guest gets an I/O error: by default QEMU would pause.
            &format!(
                "if=none,id=drive{at},format=raw,discard=unmap,{cache}werror=report,rerror=report,file={image}"
            ),
            "-device",
            &format!("virtio-blk-pci,drive=drive{at},serial=virtual{at}"),
        ]);
    }
    add(&["-kernel", &setup.kernel.display().to_string(), "-append", &setup.append]);
    add(&["-initrd", &setup.first.display().to_string()]);
    words.extend(setup.more.iter().cloned());
    words
}

/// A path in comma-separated options: commas are doubled.
fn quoted(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waited_for_a_processor_is_told_by_the_kernel() {
        assert_eq!(parse_waited("1341833573 1134628249 1352"), Duration::from_nanos(1_134_628_249));
        assert_eq!((parse_waited(""), parse_waited("7")), (Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn each_drive_and_port_has_its_words_and_commas_are_doubled() {
        let setup = Setup {
            accelerator: Accelerator::Tcg,
            memory_bytes: 512 << 20,
            cpus: 2,
            kernel: "/k".into(),
            first: "/first".into(),
            append: "quiet".to_owned(),
            drives: vec![VmDrive { image: "/a,b".into(), cache: None }],
            console: "/run/console".into(),
            ports: vec![("out", "/run/out".into())],
            more: vec!["-no-reboot".to_owned()],
        };
        let words = qemu_arguments(&setup);
        let text = words.join(" ");
        for wanted in [
            "-accel tcg,thread=multi",
            "-m 524288K",
            "file=/a,,b -device virtio-blk-pci,drive=drive0,serial=virtual0",
            "-chardev file,id=out,append=on,path=/run/out -device virtserialport,chardev=out,name=out",
            "-kernel /k -append quiet -initrd /first -no-reboot",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
    }
}
