//! Machines that are built for, and what each kind of package calls them.

use crate::lab::has;

/// A machine: its target, its names, and what runs its programs on a machine of another kind.
pub struct Machine {
    pub target: &'static str,
    /// In archives: what `cargo binstall` calls it.
    pub name: &'static str,
    /// `std::env::consts::ARCH` of programs for it.
    pub arch: &'static str,
    pub debian: &'static str,
    pub rpm: &'static str,
    /// `CARCH` of Arch Linux.
    pub pacman: &'static str,
    /// Of Nix, without `-linux`.
    pub nix: &'static str,
    /// Architecture and variant in an image.
    pub image: (&'static str, Option<&'static str>),
    pub emulator: &'static str,
    /// Not every toolchain has it: a release without it says so and goes on.
    pub is_rare: bool,
}

pub static MACHINES: [Machine; 5] = [
    Machine {
        target: "x86_64-unknown-linux-musl",
        name: "x86_64",
        arch: "x86_64",
        debian: "amd64",
        rpm: "x86_64",
        pacman: "x86_64",
        nix: "x86_64",
        image: ("amd64", None),
        emulator: "qemu-x86_64-static",
        is_rare: false,
    },
    Machine {
        target: "i686-unknown-linux-musl",
        name: "i686",
        arch: "x86",
        debian: "i386",
        rpm: "i686",
        pacman: "i686",
        nix: "i686",
        image: ("386", None),
        emulator: "qemu-i386-static",
        is_rare: false,
    },
    Machine {
        target: "aarch64-unknown-linux-musl",
        name: "aarch64",
        arch: "aarch64",
        debian: "arm64",
        rpm: "aarch64",
        pacman: "aarch64",
        nix: "aarch64",
        image: ("arm64", Some("v8")),
        emulator: "qemu-aarch64-static",
        is_rare: false,
    },
    Machine {
        target: "armv7-unknown-linux-musleabihf",
        name: "armv7",
        arch: "arm",
        debian: "armhf",
        rpm: "armv7hl",
        pacman: "armv7h",
        nix: "armv7l",
        image: ("arm", Some("v7")),
        emulator: "qemu-arm-static",
        is_rare: true,
    },
    Machine {
        target: "riscv64gc-unknown-linux-musl",
        name: "riscv64gc",
        arch: "riscv64",
        debian: "riscv64",
        rpm: "riscv64",
        pacman: "riscv64",
        nix: "riscv64",
        image: ("riscv64", None),
        emulator: "qemu-riscv64-static",
        is_rare: true,
    },
];

impl Machine {
    pub fn of_target(target: &str) -> Option<&'static Self> {
        MACHINES.iter().find(|machine| machine.target == target)
    }

    /// The one whose programs are of the same kind as this one.
    pub fn own() -> Option<&'static Self> {
        MACHINES.iter().find(|machine| machine.arch == std::env::consts::ARCH)
    }

    /// Whether its programs run here without an emulator.
    pub fn is_own(&self) -> bool {
        let here = std::env::consts::ARCH;
        self.arch == here || (self.arch == "x86" && here == "x86_64")
    }

    /// Why its programs cannot be run here, by themselves or by an emulator.
    pub fn untried(&self) -> Option<String> {
        let runs = self.is_own() || has(self.emulator);
        (!runs).then(|| format!("{} is not installed", self.emulator))
    }
}
