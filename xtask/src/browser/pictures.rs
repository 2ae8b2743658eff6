//! `cargo xtask pictures --out DIRECTORY`: pages that tests look at as PNGs, as wide as a phone and as a
//! desk, to be looked at.

use std::fs;
use std::path::Path;

use super::driver::{self, Browser};
use super::pages::Bench;
use super::{NAME, WIDTHS, leads};
use crate::build;
use crate::lab::process::Assay;
use crate::lab::{Done, Scratch, is_root};

/// Makes them from simulated and published numbers, and as root one from a study of this machine.
pub fn take(out: &Path) -> Done<bool> {
    if let Some(reason) = driver::missing() {
        return Err(reason);
    }
    let binary = build::release_binary()?;
    let scratch = Scratch::new(NAME)?;
    let home = scratch.folder("home", 0o755, None)?;
    let mut bench = Bench::new(&Assay::new(&binary, &home), scratch.path());
    leads::make(&mut bench)?;
    if is_root()
        && let Err(error) = measured(&mut bench)
    {
        println!("pictures: no starvation of this machine: {error}");
    }
    fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let browser = Browser::start(scratch.path())?;
    for pixels in WIDTHS {
        browser.at_width(pixels)?;
        for (name, page) in &bench.pages {
            browser.open_file(page)?;
            let path = out.join(format!("{name}-{pixels}.png"));
            fs::write(&path, browser.whole_page(pixels)?)
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    println!("written to {}: {} pages at {WIDTHS:?} pixels", out.display(), bench.pages.len());
    Ok(true)
}

/// The shipped study on a loop device of its own: to see the classes of requests takes root.
fn measured(bench: &mut Bench) -> Done<()> {
    bench.says(&["run", "starvation", "--lab", "--quick", "--quiet"])?;
    bench.add("starvation-measured", &["report"])
}
