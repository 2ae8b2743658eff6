//! What `assay --version` tells of how it was built.

#![allow(clippy::disallowed_methods, reason = "a build script has no System")]

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ASSAY_COMMIT");
    let target = std::env::var("TARGET").unwrap_or_default();
    let built = match std::env::var("ASSAY_COMMIT") {
        Ok(commit) if !commit.is_empty() => format!("{commit}, {target}"),
        _ => target,
    };
    println!("cargo::rustc-env=ASSAY_BUILT={built}");
    if loader_reads_relr() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns whether the program is built for this machine and its loader reads relocations in the compact form RELR (glibc
/// 2.36 or newer), which makes the program 2 MB smaller.
fn loader_reads_relr() -> bool {
    if std::env::var("HOST") != std::env::var("TARGET") {
        return false;
    }
    // Prints `glibc 2.36`; other C libraries have no such variable.
    let Ok(printed) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else {
        return false;
    };
    let version = String::from_utf8_lossy(&printed.stdout);
    match version.trim().strip_prefix("glibc 2.").map(str::parse::<u32>) {
        Some(Ok(minor)) => minor >= 36,
        _ => false,
    }
}
