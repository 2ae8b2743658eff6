//! `cargo xtask browser`: pages in a real browser, as people use them.

mod collection;
mod driver;
mod leads;
mod pages;
pub mod pictures;
mod site;
mod webdriver;

use driver::Browser;

use crate::build;
use crate::lab::process::Assay;
use crate::lab::{Done, Scratch};

/// What stands before every skip.
const NAME: &str = "browser";
/// Pixels of a phone and of a desk.
const WIDTHS: [u32; 2] = [390, 1280];

/// Tests the report page (`--report`) or all pages, also after one failed.
pub fn run(only_report: bool) -> Done<bool> {
    if let Some(reason) = driver::missing() {
        eprintln!("SKIP {NAME}: {reason}");
        return Ok(true);
    }
    let binary = build::assay(&[])?;
    let scratch = Scratch::new(NAME)?;
    let home = scratch.folder("home", 0o755, None)?;
    let mut bench = pages::bench(&Assay::new(&binary, &home), scratch.path())?;
    let browser = Browser::start(scratch.path())?;
    if only_report {
        return Ok(pages::all(&browser, &bench));
    }
    collection::make(&mut bench)?;
    leads::make(&mut bench)?;
    site::make(&mut bench)?;
    let mut well = pages::all(&browser, &bench);
    well &= leads::all(&browser, &bench);
    well &= collection::all(&browser, &bench);
    well &= site::all(&browser, &bench);
    Ok(well)
}

/// Tells how a test ended, and whether well.
fn told(name: &str, ended: &Done<()>) -> bool {
    match ended {
        Ok(()) => println!("browser: {name} ... ok"),
        Err(error) => println!("browser: {name} ... FAILED: {error}"),
    }
    ended.is_ok()
}

/// An error with this text unless a condition holds.
fn need(holds: bool, text: impl FnOnce() -> String) -> Done<()> {
    if holds { Ok(()) } else { Err(text()) }
}
