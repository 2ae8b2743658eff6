//! Pages of results whose study says what leads: that stands first and can be read without a click, and
//! nothing is wider than the window.

use std::fmt::{Display, Write};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::driver::Browser;
use super::pages::Bench;
use super::{WIDTHS, need, told, windows};
use crate::lab::Done;

const SIMULATED: &str = "simulated:lognormal,mean=100us,p99=400us";
/// Four times as slow: what it is compared with.
const SLOWER: &str = "simulated:lognormal,mean=400us,p99=1600us";
/// As slow as a card.
const CARD: &str = "simulated:lognormal,mean=5ms,p99=20ms";
/// One with a size, which long writes fill.
const SIZED: &str = "simulated:fixed,mean=1ms,announced_size=64GB";
/// What a simulated drive takes, whatever it does.
const WATTS: f64 = 2.0;

/// The shipped study of a card, and what stands before its workloads here: without what only a device has.
const FLASH: &str = include_str!("../../../studies/flash.toml");
const FLASH_ANYWHERE: &str = r#"
format = "assay-study/1"
title = "Flash: how does this card compare with a laptop disk?"
lead_figure = "card"
replicates = 6
card = { rated = "95 MB/s", price = "12.50 GBP" }
"#;

/// Names without an end, in the place of TITLE and NAME.
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
/// Letters of the title, none of which is a space.
const TITLE_LETTERS: usize = 120;
const NAME_LETTERS: usize = 60;

/// A page, the id of its first figure, and whether that leads because the study says so, with its table.
const LEADS: [(&str, &str, bool); 6] = [
    ("surface", "r0-surface-surface", true),
    ("flash", "r0-card-iops", true),
    ("energy", "r0-energy-energy-j", true),
    ("sustained", "r0-series-rate-sustained", true),
    ("windows", "r0-classes-watched-reads-latencies", true),
    ("check", "r0-bars-bandwidth-bytes-per-s", false),
];

/// Makes the results and their pages; none of them needs root.
pub fn make(bench: &mut Bench) -> Done<()> {
    bench.says(&["run", "surface", SIMULATED, "--seed", "7", "--quick", "--quiet"])?;
    bench.add("surface", &["report"])?;
    let (_, work) = FLASH.split_once("[[workload]]").ok_or("the study of a card has no work")?;
    let flash = study(bench, "flash.toml", &format!("{FLASH_ANYWHERE}\n[[workload]]{work}"))?;
    bench.says(&["run", &flash, CARD, "--seed", "7", "--quick", "--quiet"])?;
    bench.add("flash", &["report"])?;
    bench.says(&["run", "energy", SLOWER, SIMULATED, "--seed", "7", "--quick", "--quiet"])?;
    meter(&bench.assay.home().join("results").join(bench.newest()?))?;
    bench.add("energy", &["report"])?;
    bench.says(&["check", "--sustained", "--budget", "20s", SIZED, "--quiet"])?;
    bench.add("sustained", &["report"])?;
    let [before, after] = windows::make(&bench.folder.join("watched"))?;
    bench.add("windows", &["report", &before, &after])?;
    // Wide tables of an article, as they were published.
    bench.add("published", &["articles", "000"])?;
    let (title, name) = (letters(TITLE_LETTERS), letters(NAME_LETTERS));
    let text = LONG.replace("TITLE", &title).replace("NAME", &name);
    let long = study(bench, "long.toml", &text)?;
    bench.says(&["run", &long, "--quiet"])?;
    bench.add("long-names", &["report"])
}

/// Writes a study beside the pages; returns its path.
fn study(bench: &Bench, name: &str, text: &str) -> Done<String> {
    let path = bench.folder.join(name);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.display().to_string())
}

fn letters(count: usize) -> String {
    ('a'..='z').cycle().take(count).collect()
}

/// Gives each trial of a result its energy: simulated time passes in no time, so that no meter sees it, and
/// the power of the drive is simulated like it.
fn meter(result: &Path) -> Done<()> {
    let path = result.join("trials.jsonl");
    let failed = |error: &dyn Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| failed(&error))?;
    let mut lines = String::new();
    for line in text.lines() {
        let mut record: Value = serde_json::from_str(line).map_err(|error| failed(&error))?;
        let span_ns = record["measured"]["elapsed_ns"].as_u64();
        let span_ns = span_ns.ok_or_else(|| failed(&"a trial without its time"))?;
        record["evidence"]["energy"] = json!({ "present": {
            "source": "meter",
            "what": format!("a drive that takes {WATTS} W whatever it does, simulated"),
            "span_ns": span_ns,
            "joules": WATTS * span_ns as f64 / 1e9,
        }});
        // Writing to a String cannot fail.
        let _ = writeln!(lines, "{record}");
    }
    fs::write(&path, lines).map_err(|error| failed(&error))
}

pub fn all(browser: &Browser, bench: &Bench) -> bool {
    let ended = leads(browser, bench);
    let mut well = told("what a study says leads stands first, its table open", &ended);
    well &= told("no page is wider than its window", &fits(browser, bench));
    well &= told("two watches stand side by side on one axis", &beside(browser, bench));
    well
}

/// Id of the first figure of the first screen, where no figure stands before it; whether tables stand there,
/// and whether all of them are to be seen.
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

/// What reaches beyond MOST pixels, with all folds as they open, and with all of them open, and figures whose letters
/// are smaller than 12 pixels; nothing as a rule.
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

/// What is wrong with the histograms of two windows: reads and writes lead, every bar begins at one line and
/// is as long as its share by one scale, and what both have of a bucket lies beside each other.
const BESIDE: &str = r"
const wrong = [];
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const led = all('header.first figure svg.wide').map((svg) => svg.id).join(' ');
if (!led.startsWith('r0-classes-watched-reads-latencies r0-classes-watched-writes-latencies')) wrong.push(`first: ${led}`);
const number = (text) => Number(text.replaceAll(',', ''));
const bar = (mark) => {
  const told = /^(.+?), (.+): ([\d,]+) of ([\d,]+) /;
  const [, side, bucket, count, total] = told.exec(mark.dataset.t);
  return { side, bucket, share: number(count) / number(total), box: mark.getBBox() };
};
const spread = (values) => Math.max(...values) - Math.min(...values);
for (const svg of all('svg.wide[id^=r0-classes-]')) {
  const need = (holds, text) => { if (!holds) wrong.push(`${svg.id}: ${text}`); };
  const names = all('.key[data-series] text', svg).map((one) => one.textContent).join(' ');
  need(names === 'before after', names);
  const bars = all('.series .mark', svg).map(bar);
  const begins = bars.map((one) => one.box.x);
  need(spread(begins) < 0.5, `bars begin at ${begins}`);
  const scales = bars.filter((one) => one.share > 0.05).map((one) => one.box.width / one.share);
  need(scales.length > 2 && spread(scales) < 0.02 * Math.max(...scales), `pixels of a share: ${scales}`);
  const after = new Map(bars.filter((one) => one.side === 'after').map((one) => [one.bucket, one.box]));
  const pairs = bars.filter((one) => one.side === 'before' && after.has(one.bucket))
    .map((one) => [one.box, after.get(one.bucket)]);
  const gap = ([a, b]) => Math.max(a.y, b.y) - Math.min(a.y + a.height, b.y + b.height);
  need(pairs.length > 0 && pairs.every((pair) => Math.abs(gap(pair)) < 2), `apart: ${pairs.map(gap)}`);
}
return wrong.join('; ');";

fn beside(browser: &Browser, bench: &Bench) -> Done<()> {
    browser.open_file(bench.page("windows")?)?;
    let wrong = browser.text(BESIDE)?;
    need(wrong.is_empty(), || wrong)?;
    let title = browser.text("return document.querySelector('h1').textContent")?;
    need(title.ends_with(": after against before"), || format!("the page is called {title}"))
}
