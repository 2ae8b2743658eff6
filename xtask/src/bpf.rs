//! `cargo xtask bpf`: builds the program that counts block requests inside the kernel. The object is
//! committed, so that nobody else needs a compiler; a test holds it against its source.

use std::fs;
use std::path::Path;

use crate::build;
use crate::lab::{Done, call};

/// What the object is built of.
const TEXTS: [&str; 2] = ["block_latency.bpf.c", "latency_bucket.h"];

/// Builds it and writes down with what.
pub fn run() -> Done<bool> {
    let folder = build::root().join("crates/assay-sys/src/bpf");
    let [source, object] = ["block_latency.bpf.c", "block_latency.bpf.o"]
        .map(|name| folder.join(name).display().to_string());
    // Instructions as Linux has them since 5.1; types, without which nothing is relocated.
    let flags = ["-O2", "-g", "-Wall", "-target", "bpf", "-mcpu=v3"];
    // The names of the texts stand in the types: without the folder of whoever built them.
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

/// Of the texts (FNV-1a), so that a change is noticed where there is no compiler.
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
