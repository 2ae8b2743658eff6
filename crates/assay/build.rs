//! What `assay --version` tells of how it was built.

#![allow(clippy::disallowed_methods, reason = "a build script has no System")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ASSAY_COMMIT");
    let target = std::env::var("TARGET").unwrap_or_default();
    let built = match std::env::var("ASSAY_COMMIT") {
        Ok(commit) if !commit.is_empty() => format!("{commit}, {target}"),
        _ => target,
    };
    println!("cargo::rustc-env=ASSAY_BUILT={built}");
}
