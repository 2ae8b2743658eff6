//! `cargo xtask bpf`: builds the program that counts block requests in the kernel. The object is committed, so that
//! nobody else needs a compiler; a test compares it with its source.

use std::fs;
use std::path::Path;

use crate::build;
use crate::lab::{Done, call};

const TEXTS: [&str; 2] = ["block_latency.bpf.c", "latency_bucket.h"];

/// Builds the object and records the compiler.
pub fn run() -> Done<bool> {
    let folder = build::root().join("crates/assay-sys/src/bpf");
    let [source, object] = ["block_latency.bpf.c", "block_latency.bpf.o"]
        .map(|name| folder.join(name).display().to_string());
    // Instructions since Linux 5.1, and types, which relocations need.
    let flags = ["-O2", "-g", "-Wall", "-target", "bpf", "-mcpu=v3"];
    // The types contain the names of the sources, without the directory of the build.
    let prefix = format!("-ffile-prefix-map={}=.", folder.display());
    let place = [&prefix, "-fdebug-compilation-dir=.", "-c", "-o", &object, &source];
    call("clang", &[flags.as_slice(), &place].concat())?;
    call("llvm-strip", &["--strip-debug", &object])?;
    let version = call("clang", &["--version"])?;
    let version = version.lines().next().unwrap_or_default();
    let path = folder.join("block_latency.built-with.txt");
    fs::write(&path, format!("{version}\n{}\n", hash(&folder)?))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!("built with {version}");
    Ok(true)
}

/// Hashes the sources (FNV-1a), so that a test without a compiler notices changes.
fn hash(folder: &Path) -> Done<String> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for name in TEXTS {
        let bytes = fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        for byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok(format!("{hash:016x}"))
}
