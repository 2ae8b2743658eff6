//! Reports that are opened from disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::driver::{Browser, address_of};
use super::{Check, need};
use crate::lab::Done;
use crate::lab::process::Assay;

const LIMIT: Duration = Duration::from_secs(300);
/// Limit of the page of a grid; each figure has a drawing for wide windows and one for narrow windows.
const MOST_BYTES: usize = 1_300_000;

/// A grid like in the article on filesystems: 5 x 8 settings, 4 workloads, 6 replicates.
const GRID: &str = r#"
format = "assay-study/1"
title = "A grid of 160 cells"
target = { simulated = { distribution = "lognormal", mean = "100 us", p99 = "400 us" } }
replicates = 6
margin = "5%"
seed = 11
[factors]
queue_depth = [1, 2, 4, 8, 16, 32, 64, 128]
block_size = ["4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB"]
[[workload]]
name = "sequential-read"
io = { pattern = "sequential", mix = "read", block_size = "4 KiB", runtime = "1 s" }
[[workload]]
name = "sequential-write"
io = { pattern = "sequential", mix = "write", block_size = "4 KiB", runtime = "1 s" }
[[workload]]
name = "random-read"
io = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "1 s" }
[[workload]]
name = "random-write"
io = { pattern = "random", mix = "write", block_size = "4 KiB", runtime = "1 s" }
"#;

pub struct Bench {
    pub assay: Assay,
    pub folder: PathBuf,
    pub grid: String,
    pub pages: Vec<(&'static str, PathBuf)>,
}

impl Bench {
    /// Creates a bench without results that writes pages to a folder.
    pub fn new(assay: &Assay, folder: &Path) -> Self {
        let (assay, folder) = (assay.clone(), folder.to_owned());
        Self { assay, folder, grid: String::new(), pages: Vec::new() }
    }

    pub fn page(&self, name: &str) -> Done<&Path> {
        let found = self.pages.iter().find(|(known, _)| *known == name);
        found.map(|(_, path)| path.as_path()).ok_or_else(|| format!("there is no page {name}"))
    }

    /// Runs the program and returns its output.
    pub fn run(&self, words: &[&str]) -> Done<String> {
        let ended = self.assay.run(words, LIMIT)?;
        need(ended.code == 0, || format!("assay {words:?}: {}: {}", ended.code, ended.stderr))?;
        Ok(ended.stdout)
    }

    fn newest(&self) -> Done<String> {
        let shown: Value = serde_json::from_str(&self.run(&["show", "--json"])?)
            .map_err(|error| format!("findings: {error}"))?;
        let id = shown["study"]["id"].as_str().map(str::to_owned);
        id.ok_or_else(|| "the newest result has no id".to_owned())
    }

    /// Lets the program write a page, and stores its path by a name.
    pub fn add(&mut self, name: &'static str, words: &[&str]) -> Done<()> {
        let path = self.folder.join(format!("{name}.html"));
        let path_word = path.display().to_string();
        self.run(&[words, &["-o", &path_word]].concat())?;
        self.pages.push((name, path));
        Ok(())
    }
}

/// Creates the results of the tests.
pub fn make(assay: &Assay, folder: &Path) -> Done<Bench> {
    let mut bench = Bench::new(assay, folder);
    let study = folder.join("grid.toml");
    fs::write(&study, GRID).map_err(|error| error.to_string())?;
    bench.run(&["run", &study.display().to_string(), "--quiet"])?;
    bench.grid = bench.newest()?;
    let check = "simulated:lognormal,mean=100us,p99=400us";
    bench.run(&["check", check, "--quick", "--seed", "7", "--quiet"])?;
    let grid = bench.grid.clone();
    bench.add("check", &["report"])?;
    bench.add("grid", &["report", &grid])?;
    Ok(bench)
}

pub const CHECKS: [Check; 12] = [
    ("a page loads nothing and complains of nothing", alone),
    ("hover shows value and interval", hover),
    ("arrow keys walk over the values", arrows),
    ("a series hides by mouse and by keyboard", series),
    ("a table sorts", sorts),
    ("the copied text is that of the terminal", copies),
    ("data can be saved", saves),
    ("everything is there without script", bare),
    ("pages pass the audit, light and dark", audit),
    ("tab goes through the page in its order", tabs),
    ("a page prints", prints),
    ("a page of 160 cells stays below 1.3 MB", size),
];

fn alone(browser: &Browser, bench: &Bench) -> Done<()> {
    for (name, path) in &bench.pages {
        browser.open("about:blank")?;
        browser.requests()?;
        browser.complaints()?;
        browser.open_file(path)?;
        thread::sleep(Duration::from_millis(300));
        let asked = browser.requests()?;
        let own = address_of(path)?;
        let others: Vec<&String> = asked.iter().filter(|address| **address != own).collect();
        need(others.is_empty(), || format!("{name} asked for {others:?}"))?;
        let complaints = browser.complaints()?;
        need(complaints.is_empty(), || format!("{name}: {complaints:?}"))?;
        let resources = browser.number("return performance.getEntriesByType('resource').length")?;
        need(resources == 0.0, || format!("{name} loaded {resources} resources"))?;
    }
    Ok(())
}

/// Text of the tip; empty if it is hidden.
const TIP: &str =
    "const tip = document.getElementById('tip'); return tip.hidden ? '' : tip.textContent;";

fn hover(browser: &Browser, bench: &Bench) -> Done<()> {
    browser.open_file(bench.page("grid")?)?;
    let with_interval = r#".mark[data-t*=" to "]"#;
    let expected =
        browser.text(&format!("return document.querySelector({with_interval:?}).dataset.t"))?;
    browser.hover(with_interval)?;
    let is_there = "return !document.getElementById('tip').hidden";
    browser.until(is_there, Duration::from_secs(5))?;
    let shown = browser.text(TIP)?;
    need(shown == expected, || format!("`{shown}` is shown for `{expected}`"))?;
    browser.hover("h1")?;
    need(browser.text(TIP)?.is_empty(), || "the tip stays".to_owned())
}

fn arrows(browser: &Browser, bench: &Bench) -> Done<()> {
    browser.open_file(bench.page("check")?)?;
    browser.script("document.querySelector('.chart svg').focus(); return 0;")?;
    browser.key("ArrowRight")?;
    let first = browser.text(TIP)?;
    browser.key("ArrowRight")?;
    let second = browser.text(TIP)?;
    need(!first.is_empty() && first != second, || format!("`{first}`, then `{second}`"))
}

fn series(browser: &Browser, bench: &Bench) -> Done<()> {
    browser.open_file(bench.page("grid")?)?;
    // The first figure with a key.
    browser.script(
        "const key = document.querySelector('.chart svg .key[data-series]');
             const svg = key.closest('svg');
             svg.id ||= 'looked-at';
             key.id = 'the-key';
             svg.querySelectorAll(`.series[data-series=\"${key.dataset.series}\"]`)
                .forEach((one) => one.classList.add('looked-at'));
             key.scrollIntoView({block: 'center'});
             return 0;",
    )?;
    let shown = "return [...document.querySelectorAll('.looked-at')].every((one) => \
                 getComputedStyle(one).display !== 'none')";
    let state = "return document.getElementById('the-key').getAttribute('aria-checked')";
    let is = |told: Value, checked: String, wanted: bool| {
        need(told == json!(wanted) && checked == wanted.to_string(), || {
            format!("shown: {told}, checked: {checked}, wanted: {wanted}")
        })
    };
    is(browser.script(shown)?, browser.text(state)?, true)?;
    browser.click("#the-key")?;
    is(browser.script(shown)?, browser.text(state)?, false)?;
    browser.script("document.getElementById('the-key').focus(); return 0;")?;
    browser.key("Enter")?;
    is(browser.script(shown)?, browser.text(state)?, true)?;
    browser.key(" ")?;
    is(browser.script(shown)?, browser.text(state)?, false)
}

fn sorts(browser: &Browser, bench: &Bench) -> Done<()> {
    browser.open_file(bench.page("check")?)?;
    browser.script(
        "document.querySelectorAll('details').forEach((one) => { one.open = true; });
             const tables = [...document.querySelectorAll('#r0-numbers table')];
             tables.find((table) => table.tBodies[0].rows.length > 2).id = 'the-table'; return 0;",
    )?;
    let column = "const rows = [...document.querySelector('#the-table').tBodies[0].rows]; \
                  return rows.map((row) => row.cells[1].textContent.trim()).join('|')";
    let before = browser.text(column)?;
    browser.click("#the-table thead th:nth-child(2) button")?;
    let rising = browser.text(column)?;
    browser.click("#the-table thead th:nth-child(2) button")?;
    let falling = browser.text(column)?;
    let reversed: Vec<&str> = rising.split('|').rev().collect();
    need(rising != before || falling != before, || format!("nothing moved: {before}"))?;
    need(falling == reversed.join("|"), || format!("{rising} is not the reverse of {falling}"))?;
    let sort = browser.text(
        "return document.querySelector('#the-table [aria-sort]').getAttribute('aria-sort')",
    )?;
    need(sort == "descending", || format!("aria-sort is {sort}"))
}

fn copies(browser: &Browser, bench: &Bench) -> Done<()> {
    browser.open_file(bench.page("grid")?)?;
    let permissions = json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
    browser.protocol("Browser.grantPermissions", &permissions)?;
    browser.script(
        "document.querySelectorAll('details').forEach((one) => { one.open = true; });
             const buttons = [...document.querySelectorAll('button.act')];
             buttons.find((one) => one.textContent === 'Copy').id = 'the-copy'; return 0;",
    )?;
    browser.click("#the-copy")?;
    let said = "return document.getElementById('the-copy').textContent === 'Copied'";
    browser.until(said, Duration::from_secs(5))?;
    let copied = browser.text("return await navigator.clipboard.readText()")?;
    let mut command = bench.assay.command(&["show", "--forum", &bench.grid]);
    let terminal = crate::lab::process::run(&mut command, LIMIT)?.stdout;
    need(copied.trim_end() == terminal.trim_end(), || {
        let at = copied.lines().zip(terminal.lines()).find(|(left, right)| left != right);
        format!("the texts differ: {at:?}")
    })
}

fn saves(browser: &Browser, bench: &Bench) -> Done<()> {
    let folder = bench.folder.join("saved");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let place = json!({ "behavior": "allow", "downloadPath": folder });
    browser.protocol("Browser.setDownloadBehavior", &place)?;
    browser.open_file(bench.page("grid")?)?;
    let expected = browser
        .text("return document.querySelector('pre[data-name=\"every-trial.csv\"]').textContent")?;
    browser.script(
        "const pre = document.querySelector('pre[data-name=\"every-trial.csv\"]');
             document.querySelectorAll('details').forEach((one) => { one.open = true; });
             pre.previousElementSibling.id = 'the-save'; return 0;",
    )?;
    browser.click("#the-save")?;
    let path = folder.join("every-trial.csv");
    for _ in 0..100 {
        if fs::read_to_string(&path).is_ok_and(|text| text == expected) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err("what was saved is not what is shown".to_owned())
}

/// Formats a number like the data of the page: five digits.
fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    rounded.to_string()
}

fn bare(browser: &Browser, bench: &Bench) -> Done<()> {
    let off = |value: bool| json!({ "value": value });
    browser.protocol("Emulation.setScriptExecutionDisabled", &off(true))?;
    browser.open_file(bench.page("grid")?)?;
    let text = browser.text("return document.body.textContent");
    let buttons = browser.number("return document.querySelectorAll('button').length");
    let figures = browser
        .script(
            "return [...document.querySelectorAll('figure')].filter((one) =>
               one.querySelectorAll('.mark').length > 0 && one.querySelectorAll('tbody tr').length === 0
             ).map((one) => one.querySelector('svg').id).join(' ')",
        );
    browser.protocol("Emulation.setScriptExecutionDisabled", &off(false))?;
    let (text, buttons) = (text?, buttons?);
    need(buttons == 0.0, || "the script ran although it was switched off".to_owned())?;
    need(figures? == json!(""), || "figures without their table".to_owned())?;
    let words: std::collections::HashSet<&str> = text.split([',', '\n', ' ']).collect();
    let findings: Value = serde_json::from_str(&bench.run(&["show", "--json", &bench.grid])?)
        .map_err(|error| error.to_string())?;
    let cells = findings["measurements"].as_array().cloned().unwrap_or_default();
    let trials = cells.iter().flat_map(|cell| cell["trials"].as_array().into_iter().flatten());
    let values: Vec<f64> = trials.filter_map(|trial| trial["value"].as_f64()).collect();
    need(values.len() > 5_000, || format!("only {} values", values.len()))?;
    let lost: Vec<String> = values
        .iter()
        .map(|&value| short(value))
        .filter(|value| !words.contains(value.as_str()))
        .collect();
    need(lost.is_empty(), || {
        format!("{} values are not on the page: {:?}", lost.len(), &lost[..lost.len().min(5)])
    })
}

fn audit(browser: &Browser, bench: &Bench) -> Done<()> {
    for (name, path) in &bench.pages {
        let mut pictures = Vec::new();
        for scheme in ["light", "dark"] {
            browser.media(scheme, "screen")?;
            browser.open_file(path)?;
            pictures.push(browser.protocol("Page.captureScreenshot", &json!({}))?);
            let wrong = browser.script(include_str!("audit.js"))?;
            need(wrong == json!([]), || format!("{name}, {scheme}: {wrong:#}"))?;
        }
        need(pictures[0] != pictures[1], || format!("{name} looks the same in light and dark"))?;
    }
    browser.media("light", "screen")
}

fn tabs(browser: &Browser, bench: &Bench) -> Done<()> {
    browser.open_file(bench.page("check")?)?;
    let at = "const all = [...document.querySelectorAll('*')]; \
              return all.indexOf(document.activeElement)";
    let mut before = -1.0;
    for _ in 0..25 {
        browser.key("Tab")?;
        let now = browser.number(at)?;
        need(now > before, || format!("from element {before} to {now}"))?;
        before = now;
        let seen = browser
            .script("return document.activeElement.matches(':focus-visible') && getComputedStyle(document.activeElement).outlineStyle !== 'none'")?;
        need(seen == json!(true), || format!("the focus on element {now} cannot be seen"))?;
    }
    Ok(())
}

/// Limits of the page of a check with its initial sections.
const MOST_SHEETS: f64 = 6.0;
const MOST_PIXELS: f64 = 3_000.0;

fn prints(browser: &Browser, bench: &Bench) -> Done<()> {
    browser.open_file(bench.page("check")?)?;
    let printed = browser.protocol("Page.printToPDF", &json!({ "printBackground": true }))?;
    let data = printed["data"].as_str().unwrap_or_default();
    need(data.len() > 10_000, || "the print is empty".to_owned())?;
    let sheets = browser
        .number(&format!("return atob({data:?}).split(/\\/Type \\/Page[^s]/).length - 1"))?;
    need((1.0..=MOST_SHEETS).contains(&sheets), || format!("{sheets} sheets are printed"))?;
    let height = browser.number("return document.documentElement.scrollHeight")?;
    need(height <= MOST_PIXELS, || format!("the page of a check is {height} pixels high"))?;
    browser.media("dark", "print")?;
    let nav = browser.text("return getComputedStyle(document.querySelector('nav')).display")?;
    let paper = browser.text("return getComputedStyle(document.body).backgroundColor")?;
    browser.media("light", "screen")?;
    need(nav == "none", || "the contents are printed, too".to_owned())?;
    need(paper == "rgb(255, 255, 255)", || format!("printed on {paper}"))
}

/// Load time of the page in milliseconds.
const LOADED: &str = "const [entry] = performance.getEntriesByType('navigation'); \
                      return entry.loadEventEnd - entry.startTime";

fn size(browser: &Browser, bench: &Bench) -> Done<()> {
    let path = bench.page("grid")?;
    let bytes = fs::metadata(path).map_err(|error| error.to_string())?.len() as usize;
    browser.open_file(path)?;
    let loaded = browser.number(LOADED)?;
    println!("browser: grid: {bytes} bytes, loaded in {loaded:.0} ms");
    need(bytes < MOST_BYTES, || format!("{bytes} bytes"))
}
