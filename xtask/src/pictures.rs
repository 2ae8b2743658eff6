//! `cargo xtask pictures`: the figures of the documentation, from real runs on this machine.
//!
//! Runs the shipped studies on loop devices of their own, draws one figure of each kind in light
//! and dark, takes pictures of a page, and writes them with the page that shows them all. With
//! `--out` it takes pictures of the pages that the browser's tests look at instead.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use assay::store;
use assay_report::figure::Figure;
use assay_report::figures::FIGURES;
use assay_report::svg::{self, Theme};
use assay_runner::real::Real;
use assay_study::results::bundle;

use crate::lab::process::{Assay, run};
use crate::lab::{Done, Scratch, call, has, is_root};
use crate::options::Options;
use crate::{browser, build, facts};

const LIMIT: Duration = Duration::from_secs(1200);
const CHROMIUM: &str = "chromium";
/// Width of a picture of a figure, pixels.
const WIDTH: u32 = 800;
/// Width and height of a picture of a page, pixels.
const PAGE: [u32; 2] = [1000, 1300];

/// Studies that are run, with the kinds of figures that are taken from each.
const STUDIES: [(&[&str], &[&str]); 6] = [
    (&["run", "filesystems", "--lab", "--quick"], &["sweep", "grid"]),
    (&["run", "schedulers", "--lab", "--quick"], &["effects", "bars", "percentiles", "classes"]),
    (&["run", "surface", "--lab", "--quick"], &["surface"]),
    (&["run", "write-cache", "--lab"], &["series", "heat", "order"]),
    (&["check", "."], &[]),
    (&["run", "depth", "--lab", "--quick"], &[]),
];

/// Runs, draws, writes.
pub fn draw(options: &Options) -> Done<bool> {
    if let Some(out) = options.text("--out") {
        return browser::pictures::take(Path::new(out));
    }
    if !is_root() || !has(CHROMIUM) {
        return Err("needs root for loop devices of its own, and chromium".to_owned());
    }
    let binary = build::release_binary()?;
    let scratch = Scratch::new("pictures")?;
    let home = match options.text("--home") {
        Some(home) => PathBuf::from(home),
        None => scratch.folder("home", 0o755, None)?,
    };
    let assay = Assay::new(&binary, &home);
    let folder = build::root().join("docs/figures");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut drawn: BTreeMap<&str, Figure> = BTreeMap::new();
    for (words, kinds) in STUDIES {
        let page = scratch.path().join(format!("{}.html", words[1].trim_matches('.')));
        let title = result(&assay, words)?;
        run(&mut assay.command(&["report", &title, "-o", &page.display().to_string()]), LIMIT)?;
        drawn.extend(figures(&home, &title, kinds)?);
        if words[0] == "check" {
            pictures_of_page(&page, &folder)?;
        }
    }
    for (kind, figure) in &drawn {
        pictures_of_figure(kind, figure, scratch.path(), &folder)?;
    }
    let missing: Vec<&str> = FIGURES
        .iter()
        .map(|one| one.about().name)
        .filter(|name| !drawn.contains_key(name))
        .collect();
    write_page(&folder, &drawn)?;
    println!("written to docs/figures: {} figures", drawn.len());
    if !missing.is_empty() {
        println!("no run had what these need: {}", missing.join(", "));
    }
    Ok(missing.is_empty())
}

/// The id of the newest result of a shipped study; it is run where there is none yet.
fn result(assay: &Assay, words: &[&str]) -> Done<String> {
    let preset = if words[0] == "check" { "check" } else { words[1] };
    if let Some(id) = known(assay.home(), preset) {
        return Ok(id);
    }
    println!("pictures: assay {} ...", words.join(" "));
    let ended = run(&mut assay.command(&[words, &["--quiet"]].concat()), LIMIT)?;
    if ended.code != 0 {
        return Err(format!("assay {words:?}: exit {}: {}", ended.code, ended.stderr));
    }
    known(assay.home(), preset).ok_or_else(|| format!("assay {words:?} left no result"))
}

fn known(home: &Path, preset: &str) -> Option<String> {
    let (system, results) = (Real::new(), home.join("results"));
    bundle::ids(&system, &results).into_iter().find(|id| {
        let stored = bundle::read(&system, &results.join(id));
        stored.is_ok_and(|stored| stored.study.preset.as_deref() == Some(preset))
    })
}

/// The first figure of each wanted kind.
fn figures<'k>(home: &Path, id: &str, kinds: &[&'k str]) -> Done<Vec<(&'k str, Figure)>> {
    let system = Real::new();
    let directory = home.join("results").join(id);
    let evidence =
        store::evidence_at(&system, &directory).map_err(|failure| failure.message.clone())?;
    let of = |kind: &&'k str| {
        let drawer = FIGURES.iter().find(|one| one.about().name == *kind)?;
        drawer.draw(&evidence).into_iter().next().map(|figure| (*kind, figure))
    };
    Ok(kinds.iter().filter_map(of).collect())
}

fn pictures_of_figure(kind: &str, figure: &Figure, scratch: &Path, folder: &Path) -> Done<()> {
    for (name, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
        let drawn = svg::file(figure, theme);
        let height = height(&drawn).ok_or_else(|| format!("{kind}: no height"))?;
        let source = scratch.join(format!("{kind}-{name}.svg"));
        fs::write(&source, &drawn).map_err(|error| error.to_string())?;
        let target = folder.join(format!("{kind}-{name}.png"));
        picture(&source, &target, [WIDTH, height], name)?;
    }
    Ok(())
}

/// Height of a figure at the width of the pictures.
fn height(drawn: &str) -> Option<u32> {
    let sizes = drawn.split("viewBox=\"").nth(1)?.split('"').next()?;
    let mut sizes = sizes.split(' ').skip(2).map(|size| size.parse::<f64>().ok());
    let (width, height) = (sizes.next()??, sizes.next()??);
    Some((height * f64::from(WIDTH) / width).ceil() as u32)
}

fn pictures_of_page(page: &Path, folder: &Path) -> Done<()> {
    for theme in ["light", "dark"] {
        picture(page, &folder.join(format!("page-{theme}.png")), PAGE, theme)?;
    }
    Ok(())
}

fn picture(source: &Path, target: &Path, size: [u32; 2], theme: &str) -> Done<()> {
    // 0 is dark, 1 is light.
    let scheme = u8::from(theme == "light");
    let words = [
        "--headless=new".to_owned(),
        "--no-sandbox".to_owned(),
        "--disable-gpu".to_owned(),
        "--hide-scrollbars".to_owned(),
        format!("--blink-settings=preferredColorScheme={scheme}"),
        format!("--window-size={},{}", size[0], size[1]),
        format!("--screenshot={}", target.display()),
        format!("file://{}", source.display()),
    ];
    let mut command = Command::new(CHROMIUM);
    command.args(&words);
    run(&mut command, Duration::from_secs(60))?;
    if has("pngquant") {
        let path = target.display().to_string();
        call("pngquant", &["--force", "--skip-if-larger", "--output", &path, &path])?;
    }
    target.is_file().then_some(()).ok_or_else(|| format!("{} was not drawn", target.display()))
}

fn write_page(folder: &Path, drawn: &BTreeMap<&str, Figure>) -> Done<()> {
    let mut page = format!(
        "<!-- made by `cargo xtask pictures`; change the source, not this page -->\n\n\
         # Figures\n\nFrom real runs, on loop devices of their own.\n\n{}\n\n",
        facts::lines().join("\n")
    );
    page.push_str("A page (`assay report`):\n\n![A page, light](page-light.png)\n");
    page.push_str("![A page, dark](page-dark.png)\n");
    for about in FIGURES.iter().map(|one| one.about()) {
        let Some(figure) = drawn.get(about.name) else { continue };
        // Writing to a String cannot fail.
        let _ = write!(
            page,
            "\n## {}\n\n{}\n\n{}\n\n![{}, light]({}-light.png)\n![The same, dark]({}-dark.png)\n",
            about.name, about.summary, figure.description, figure.title, about.name, about.name
        );
    }
    fs::write(folder.join("README.md"), page).map_err(|error| error.to_string())
}
