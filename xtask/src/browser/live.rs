//! Pages that are served, while a study runs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::driver::Browser;
use super::pages::Bench;
use super::{need, told};
use crate::lab::home::WAIT;
use crate::lab::process::Assay;
use crate::lab::{Done, Scratch};

/// Long enough to be watched, short enough to be waited for.
const STUDY: &str = r#"
format = "assay-study/1"
title = "A study that is watched"
target = { directory = "." }
area = { size = "16 MiB" }
replicates = 3
margin = "5 %"
[factors]
depth = [1, 4]
[[workload]]
name = "random-read"
io = { pattern = "random", mix = "read", size = "4 KiB", time = "2 s" }
"#;

/// A study of this length ends long before this.
const PATIENCE: Duration = Duration::from_secs(120);
/// A page hears of a change within seconds.
const SOON: Duration = Duration::from_secs(30);

/// A server; it ends with this.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts one on a port, or on any free one.
    fn start(assay: &Assay, listen: &str) -> Done<Self> {
        let mut command: Command = assay.command(&["serve", "--listen", listen]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("assay serve: {error}"))?;
        let mut address = String::new();
        if let Some(stdout) = child.stdout.take() {
            let _ = BufReader::new(stdout).read_line(&mut address);
        }
        let address = address.trim().trim_end_matches('/').to_owned();
        let server = Self { child, address };
        need(server.address.starts_with("http://"), || "the server named no address".to_owned())?;
        Ok(server)
    }

    fn listens(&self) -> &str {
        self.address.trim_start_matches("http://")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All tests of the served pages.
pub fn all(browser: &Browser, bench: &Bench) -> bool {
    let mut well = true;
    well &= told("the served list filters, compares and opens results", &list(browser, bench));
    let ended = watched(browser, bench);
    well &= told("a live page follows a study and survives the server's restart", &ended);
    well
}

fn list(browser: &Browser, bench: &Bench) -> Done<()> {
    let server = Server::start(&bench.assay, "127.0.0.1:0")?;
    browser.complaints()?;
    for scheme in ["light", "dark"] {
        browser.media(scheme, "screen")?;
        browser.open(&server.address)?;
        let wrong = browser.script(include_str!("audit.js"))?;
        need(wrong == json!([]), || format!("the list, {scheme}: {wrong:#}"))?;
    }
    browser.media("light", "screen")?;
    let shown = "return [...document.querySelectorAll('#results tbody tr')]\
                 .filter((row) => row.getClientRects().length).length";
    let before = browser.number(shown)?;
    browser.type_into("#q", "grid")?;
    let after = browser.number(shown)?;
    need(after >= 1.0 && after < before, || format!("{after} of {before} rows fit"))?;
    browser.click("#results tbody tr:not([hidden]) th a")?;
    let title = browser.text("return document.querySelector('h1').textContent")?;
    need(title == "A grid of 160 cells", || format!("the result is called {title}"))?;
    let complaints = browser.complaints()?;
    need(complaints.is_empty(), || format!("{complaints:?}"))
}

const DONE: &str = "Number(document.getElementById('live-done').textContent.split(' ')[0])";

fn watched(browser: &Browser, bench: &Bench) -> Done<()> {
    let file = bench.folder.join("watched.toml");
    fs::write(&file, STUDY).map_err(|error| error.to_string())?;
    // In memory, so that it waits for no other measurement of the drive; tests beside measure there for moments.
    let place = Scratch::new("watched")?;
    let target = place.path().display().to_string();
    let file = file.display().to_string();
    let mut study = bench.assay.start(&["run", &file, &target, "--quiet", WAIT])?;
    let results = bench.assay.home().join("results");
    let is_watched = |id: &String| {
        let study = fs::read_to_string(results.join(id).join("study.toml")).unwrap_or_default();
        study.contains("A study that is watched") && results.join(id).join("trials.jsonl").exists()
    };
    let mut id = None;
    study.until(PATIENCE, || {
        let names = fs::read_dir(&results).into_iter().flatten().flatten();
        id = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).find(is_watched);
        id.is_some()
    })?;
    let id = id.unwrap_or_default();
    let server = Server::start(&bench.assay, "127.0.0.1:0")?;
    let listens = server.listens().to_owned();
    browser.open(&format!("{}/live/{id}", server.address))?;
    let wrong = browser.script(include_str!("audit.js"))?;
    need(wrong == json!([]), || format!("the live page: {wrong:#}"))?;
    let first = browser.number(&format!("return {DONE}"))?;
    browser.until(&format!("return {DONE} > {first}"), SOON)?;
    drop(server);
    let lost = "return document.getElementById('live-link').textContent !== ''";
    browser.until(lost, SOON)?;
    let before = browser.number(&format!("return {DONE}"))?;
    let server = Server::start(&bench.assay, &listens)?;
    browser.until(&format!("return {DONE} > {before}"), SOON)?;
    let phase = "return document.querySelector('[data-phase]').dataset.phase === 'ended'";
    browser.until(phase, PATIENCE)?;
    let rows = browser.script(
        "const rows = [...document.querySelectorAll('#live-rows tr')];
             const names = new Set(rows.map((row) => row.cells[0].textContent));
             return [rows.length, names.size];",
    )?;
    let done = browser.number(&format!("return {DONE}"))?;
    need(rows == json!([done as u64, done as u64]), || format!("{rows} rows of {done} trials"))?;
    let link = "return document.querySelector('#live-result a').getClientRects().length > 0";
    need(browser.script(link)? == json!(true), || "no way to the result".to_owned())?;
    browser.click("#live-result a")?;
    let title = browser.text("return document.querySelector('h1').textContent")?;
    need(title == "A study that is watched", || format!("the result is called {title}"))?;
    drop(server);
    study.end(PATIENCE).map(drop)
}
