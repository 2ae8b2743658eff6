//! The index of all results, used by keyboard.

use serde_json::json;

use super::driver::Browser;
use super::pages::Bench;
use super::{Check, WIDTHS, need};
use crate::lab::Done;

/// Presses of the Tab key that reach every element before the rows of the index.
const MOST_TABS: usize = 20;
const TITLE_BUTTON: &str = "thead th:nth-child(2) button";
/// Titles of the visible rows in order.
const TITLES: &str = "const rows = [...document.querySelectorAll('tbody tr')];
  return rows.filter((row) => row.getClientRects().length).map((row) => row.cells[1].textContent);";

pub fn make(bench: &mut Bench) -> Done<()> {
    let folder = bench.folder.join("site");
    bench.run(&["report", "--all", "-o", &folder.display().to_string()])?;
    bench.pages.push(("site", folder.join("index.html")));
    Ok(())
}

pub const CHECKS: [Check; 2] = [
    ("an index filters and sorts by keyboard", keyboard),
    ("an index and its pages lead to each other", leads),
];

fn keyboard(browser: &Browser, bench: &Bench) -> Done<()> {
    for pixels in WIDTHS {
        browser.at_width(pixels)?;
        browser.open_file(bench.page("site")?)?;
        let before = titles(browser)?;
        tab_to(browser, ".filter input")?;
        browser.protocol("Input.insertText", &json!({ "text": "SIMULATED study" }))?;
        let fitting = titles(browser)?;
        need(fitting.len() > 2 && fitting.len() < before.len(), || {
            format!("of {before:?} fit {fitting:?}")
        })?;
        tab_to(browser, TITLE_BUTTON)?;
        browser.key("Enter")?;
        let rising = titles(browser)?;
        need(rising.is_sorted_by_key(|title| title.to_lowercase()), || format!("{rising:?}"))?;
        browser.key(" ")?;
        let falling = titles(browser)?;
        need(falling.iter().rev().eq(&rising), || format!("{rising:?}, then {falling:?}"))?;
        let sort = browser.text(
            "return document.activeElement.closest('th').getAttribute('aria-sort') ?? 'none'",
        )?;
        need(sort == "descending", || format!("aria-sort is {sort}"))?;
    }
    browser.at_own_width()
}

fn titles(browser: &Browser) -> Done<Vec<String>> {
    let titles = browser.script(TITLES)?;
    serde_json::from_value(titles).map_err(|error| error.to_string())
}

/// Presses Tab until an element has the focus.
fn tab_to(browser: &Browser, selector: &str) -> Done<()> {
    for _ in 0..MOST_TABS {
        browser.key("Tab")?;
        let there = format!("return document.activeElement.matches({selector:?})");
        if browser.script(&there)? == json!(true) {
            return Ok(());
        }
    }
    Err(format!("Tab does not reach {selector}"))
}

fn leads(browser: &Browser, bench: &Bench) -> Done<()> {
    browser.open_file(bench.page("site")?)?;
    browser.complaints()?;
    browser.type_into(".filter input", &bench.grid)?;
    browser.click("tbody tr:not([hidden]) th a")?;
    let title = browser.text("return document.querySelector('h1').textContent")?;
    need(title == "A grid of 160 cells", || format!("the result is called {title}"))?;
    browser.click("nav a[href$='index.html']")?;
    let title = browser.text("return document.querySelector('h1').textContent")?;
    need(title == "Results", || format!("the index is called {title}"))?;
    let complaints = browser.complaints()?;
    need(complaints.is_empty(), || format!("{complaints:?}"))
}
