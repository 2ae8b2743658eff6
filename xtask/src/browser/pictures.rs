//! The picture of the README: a page of the result in docs/data/check.assay.

use std::fs;

use super::NAME;
use super::driver::{self, Browser};
use super::pages::Bench;
use crate::build;
use crate::lab::process::Assay;
use crate::lab::samples::words_of_page;
use crate::lab::{Done, Scratch, call};

const RESULT: &str = "docs/data/check.assay";
const PICTURE: &str = "docs/figures/page.png";
/// Width and height of the picture, pixels.
const SIZE: (u32, f64) = (1000, 1300.0);

/// Writes the picture and its words, which a test compares with the current page.
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
    let mut bench = Bench::new(&Assay::new(&build::assay(&[])?, &home), scratch.path());
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
