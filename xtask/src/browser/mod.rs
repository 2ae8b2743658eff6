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

/// A check of pages, by its name.
type Check = (&'static str, fn(&Browser, &pages::Bench) -> Done<()>);

const NAME: &str = "browser";
/// Window widths of a phone and of a desktop, pixels.
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
    let mut bench = pages::make(&Assay::new(&binary, &home), scratch.path())?;
    let browser = Browser::start(scratch.path())?;
    let mut checks = pages::CHECKS.to_vec();
    if !only_report {
        collection::make(&mut bench)?;
        leads::make(&mut bench)?;
        site::make(&mut bench)?;
        checks.extend(leads::CHECKS);
        checks.extend(collection::CHECKS);
        checks.extend(site::CHECKS);
    }
    let mut is_well = true;
    for (name, check) in checks {
        match check(&browser, &bench) {
            Ok(()) => println!("browser: {name} ... ok"),
            Err(error) => {
                println!("browser: {name} ... FAILED: {error}");
                is_well = false;
            }
        }
    }
    Ok(is_well)
}

/// An error with this text unless a condition holds.
fn need(holds: bool, text: impl FnOnce() -> String) -> Done<()> {
    if holds { Ok(()) } else { Err(text()) }
}
