//! The picture of the README, a page of the result in docs/data/check.assay, and `cargo xtask pictures --out
//! DIRECTORY`: pages as PNGs, as wide as a phone and as a desk, to be looked at.

use std::fs;
use std::path::Path;

use super::driver::{self, Browser, MAX_HEIGHT};
use super::pages::Bench;
use super::{NAME, WIDTHS, leads};
use crate::build;
use crate::lab::process::Assay;
use crate::lab::samples::words_of_page;
use crate::lab::{Done, Scratch, call, is_root};
use crate::options::Options;

const RESULT: &str = "docs/data/check.assay";
const PICTURE: &str = "docs/figures/page.png";
/// Width and height of the picture, pixels.
const SIZE: (u32, f64) = (1000, 1300.0);

pub fn draw(options: &Options) -> Done<bool> {
    let out = options.text("--out").ok_or("--out is missing: name a directory")?;
    driver::missing().map_or_else(|| take(Path::new(out)), Err)
}

/// Writes the picture, and its words, which a test compares with the page of today.
pub fn draw_for_readme() -> Done<bool> {
    if let Some(reason) = driver::missing() {
        println!("{PICTURE} is not drawn: {reason}");
        return Ok(true);
    }
    let scratch = Scratch::new(NAME)?;
    let home = scratch.folder("home", 0o755, None)?;
    // Unpacked, not imported: the page of an imported result says that it is from elsewhere.
    let result = home.join("results/check");
    fs::create_dir_all(&result).map_err(|error| error.to_string())?;
    let archive = build::root().join(RESULT).display().to_string();
    call("tar", &["-xzf", &archive, "-C", &result.display().to_string()])?;
    let mut bench = Bench::new(&Assay::new(&build::built_binary(&[])?, &home), scratch.path());
    bench.add("check", &["report"])?;
    let browser = Browser::start(scratch.path())?;
    browser.at_width(SIZE.0)?;
    browser.open_file(bench.page("check")?)?;
    let picture = build::root().join(PICTURE);
    fs::create_dir_all(picture.parent().unwrap_or(&picture)).map_err(|error| error.to_string())?;
    fs::write(&picture, browser.page(SIZE.0, SIZE.1)?).map_err(|error| error.to_string())?;
    let page = fs::read_to_string(bench.page("check")?).map_err(|error| error.to_string())?;
    fs::write(picture.with_extension("txt"), words_of_page(&page))
        .map_err(|error| error.to_string())?;
    println!("{PICTURE} shows {RESULT}");
    Ok(true)
}

/// Makes them from simulated and published numbers, and as root one from a study of this machine.
fn take(out: &Path) -> Done<bool> {
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
            fs::write(&path, browser.page(pixels, MAX_HEIGHT)?)
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    println!("written to {}: {} pages at {WIDTHS:?} pixels", out.display(), bench.pages.len());
    Ok(true)
}

/// The shipped study on a loop device of its own: to see the classes of requests takes root.
fn measured(bench: &mut Bench) -> Done<()> {
    bench.says(&["run", "starvation", "--scratch", "--quick", "--quiet"])?;
    bench.add("starvation-measured", &["report"])
}
