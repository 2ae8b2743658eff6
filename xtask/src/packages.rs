//! Debian packages that tests need: installed where that is allowed, named where it is not.

use std::process::Command;

use crate::lab::{Done, has, is_root};

/// Package, and a program by which it is recognised, or what dpkg keeps of one that has none.
const NEEDED: [(&str, &str); 44] = [
    ("bonnie++", "bonnie++"),
    ("btrfs-progs", "mkfs.btrfs"),
    ("busybox-static", "busybox"),
    ("chromium", "chromium"),
    ("chromium-driver", "chromedriver"),
    ("clang", "clang"),
    ("cpio", "cpio"),
    ("cryptsetup-bin", "cryptsetup"),
    ("curl", "curl"),
    ("dosfstools", "mkfs.vfat"),
    ("e2fsprogs", "mkfs.ext4"),
    ("exfatprogs", "mkfs.exfat"),
    ("f2fs-tools", "mkfs.f2fs"),
    ("fio", "fio"),
    ("fio-examples", "/var/lib/dpkg/info/fio-examples.list"),
    ("flent", "flent"),
    ("fuse3", "fusermount3"),
    ("gocryptfs", "gocryptfs"),
    ("hyperfine", "hyperfine"),
    ("iperf3", "iperf3"),
    ("jq", "jq"),
    ("kmod", "depmod"),
    ("llvm", "llvm-strip"),
    ("man-db", "man"),
    ("mdadm", "mdadm"),
    ("nix-bin", "nix-instantiate"),
    ("ntfs-3g", "mkfs.ntfs"),
    ("openssh-client", "ssh-keygen"),
    ("python3", "python3"),
    ("qemu-system-x86", "qemu-system-x86_64"),
    ("qemu-user-static", "qemu-aarch64-static"),
    ("rpm", "rpmbuild"),
    ("rpmlint", "rpmlint"),
    ("sqlite3", "sqlite3"),
    ("strace", "strace"),
    ("sysbench", "sysbench"),
    ("sysstat", "sar"),
    ("systemd", "systemd-analyze"),
    ("tmux", "tmux"),
    ("umoci", "umoci"),
    ("util-linux", "losetup"),
    ("valgrind", "valgrind"),
    ("xcvt", "cvt"),
    ("xfsprogs", "mkfs.xfs"),
];

/// Installs what is missing, or says what is. Never an error: tests that lack something skip.
pub fn install() {
    let missing = missing();
    if missing.is_empty() {
        println!("xtask: packages: all there");
        return;
    }
    if !is_root() || !has("apt-get") {
        println!("xtask: packages: missing {}; tests that need them skip", missing.join(" "));
        return;
    }
    println!("xtask: packages: apt-get installs {}", missing.join(" "));
    // The lists may be absent or old; an error then shows in the installation.
    let _ = apt(&["update"]);
    let words = [&["install", "--yes", "--no-install-recommends"], missing.as_slice()].concat();
    if let Err(error) = apt(&words) {
        println!("xtask: packages: {error}; tests that need them skip");
    }
}

fn missing() -> Vec<&'static str> {
    NEEDED.iter().filter(|(_, program)| !has(program)).map(|(package, _)| *package).collect()
}

fn apt(arguments: &[&str]) -> Done<()> {
    let status = Command::new("apt-get")
        .arg("--quiet=2")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .map_err(|error| format!("apt-get: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("apt-get {}: {status}", arguments[0])) }
}
