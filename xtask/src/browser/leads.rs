//! Pages of results whose study sets `lead_figure`: this figure is first and visible without a click. No page is wider
//! than the window.

use std::fs;

use serde_json::json;

use super::driver::Browser;
use super::pages::Bench;
use super::{Check, WIDTHS, need};
use crate::lab::Done;

const SIMULATED: &str = "simulated:lognormal,mean=100us,p99=400us";
/// A drive as slow as a card.
const CARD: &str = "simulated:lognormal,mean=5ms,p99=20ms";
/// A drive with a size, which long writes fill.
const SIZED: &str = "simulated:fixed,mean=1ms,announced_size=64GB";

/// The shipped study of a card; the tests replace its head by one that needs no device.
const FLASH: &str = include_str!("../../../studies/flash.toml");
const FLASH_ANYWHERE: &str = r#"
format = "assay-study/1"
title = "Flash: how does this card compare with a laptop disk?"
lead_figure = "card"
replicates = 6
card = { rated = "95 MB/s", price = "12.50 GBP" }
"#;

/// A study with long names instead of TITLE and NAME.
const LONG: &str = r#"
format = "assay-study/1"
title = "TITLE"
target = { simulated = { distribution = "lognormal", mean = "100 us", p99 = "400 us" } }
replicates = 3
margin = "5%"
seed = 11
[factors]
queue_depth = [1, 4]
[[workload]]
name = "NAME"
io = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "1 s" }
"#;
/// Letters of the title, without spaces.
const TITLE_LETTERS: usize = 120;
const NAME_LETTERS: usize = 60;

/// A page, the ID of its first figure, and whether the study sets this figure, with its table.
const LEADS: [(&str, &str, bool); 4] = [
    ("surface", "r0-surface-surface", true),
    ("flash", "r0-card-iops", true),
    ("sustained", "r0-series-rate-sustained", true),
    ("check", "r0-bars-bandwidth-bytes-per-s", false),
];

/// Creates the results and their pages; none needs root.
pub fn make(bench: &mut Bench) -> Done<()> {
    bench.run(&["run", "surface", SIMULATED, "--seed", "7", "--quick", "--quiet"])?;
    bench.add("surface", &["report"])?;
    let (_, work) = FLASH.split_once("[[workload]]").ok_or("the study of a card has no work")?;
    let flash = study(bench, "flash.toml", &format!("{FLASH_ANYWHERE}\n[[workload]]{work}"))?;
    bench.run(&["run", &flash, CARD, "--seed", "7", "--quick", "--quiet"])?;
    bench.add("flash", &["report"])?;
    bench.run(&["check", "--sustained", "--budget", "20s", SIZED, "--quiet"])?;
    bench.add("sustained", &["report"])?;
    // An article with wide tables.
    bench.add("published", &["articles", "000"])?;
    let (title, name) = (letters(TITLE_LETTERS), letters(NAME_LETTERS));
    let text = LONG.replace("TITLE", &title).replace("NAME", &name);
    let long = study(bench, "long.toml", &text)?;
    bench.run(&["run", &long, "--quiet"])?;
    bench.add("long-names", &["report"])
}

/// Writes a study next to the pages and returns its path.
fn study(bench: &Bench, name: &str, text: &str) -> Done<String> {
    let path = bench.folder.join(name);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.display().to_string())
}

fn letters(count: usize) -> String {
    ('a'..='z').cycle().take(count).collect()
}

pub const CHECKS: [Check; 2] = [
    ("what a study says leads stands first, its table open", leads),
    ("no page is wider than its window", fits),
];

/// ID of the first figure if it is on the first screen; whether this screen has tables, and whether all are visible.
const FIRST: &str = "
const figure = document.querySelector('header.first figure');
const tables = [...document.querySelectorAll('header.first > section.part table')];
return [
  figure && figure === document.querySelector('figure') ? figure.querySelector('svg').id : '',
  tables.length > 0,
  tables.every((one) => one.checkVisibility() && one.getClientRects().length > 0),
];";

fn leads(browser: &Browser, bench: &Bench) -> Done<()> {
    for pixels in WIDTHS {
        browser.at_width(pixels)?;
        for (page, figure, said) in LEADS {
            browser.open_file(bench.page(page)?)?;
            let found = browser.script(FIRST)?;
            need(found == json!([figure, said, true]), || format!("{page} at {pixels}: {found}"))?;
        }
    }
    browser.at_own_width()
}

/// Elements that exceed MOST pixels, with folds closed and open, and figures with letters below 12 pixels.
const BEYOND: &str = "
const beyond = (when) => {
  const wide = document.documentElement.scrollWidth;
  if (wide <= MOST) return [];
  const free = (one) => !one.parentElement.closest('.chart, .scroll, pre');
  const out = (one) => free(one) && one.getBoundingClientRect().right > MOST + 0.5;
  const all = [...document.querySelectorAll('body *')].filter(out).slice(0, 3);
  return [`${wide} px ${when}`, ...all.map((one) => one.outerHTML.slice(0, 150))];
};
const closed = beyond('as it opens');
document.querySelectorAll('details').forEach((one) => { one.open = true; });
const figures = [...document.querySelectorAll('.chart svg')].filter((one) => one.checkVisibility());
const small = figures.filter((one) => one.clientWidth < one.viewBox.baseVal.width - 1);
return [...closed, ...beyond('unfolded'), ...small.map((one) => `${one.id} is small`)].join('; ');";

fn fits(browser: &Browser, bench: &Bench) -> Done<()> {
    let mut wrong = Vec::new();
    for pixels in WIDTHS {
        browser.at_width(pixels)?;
        let script = BEYOND.replace("MOST", &pixels.to_string());
        for (name, path) in &bench.pages {
            browser.open_file(path)?;
            let beyond = browser.text(&script)?;
            if !beyond.is_empty() {
                wrong.push(format!("{name} at {pixels}: {beyond}"));
            }
        }
    }
    browser.at_own_width()?;
    need(wrong.is_empty(), || wrong.join("\n"))
}
