//! `cargo xtask bench`: runs the rows of `xtask/bench.toml`, and what other measurements have in common.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::build::{self, root};
use crate::lab::process;
use crate::lab::{Done, LoopDevice, Scratch, call, has, is_root};
use crate::options::Options;

const TABLE: &str = include_str!("../bench.toml");
const PAGE: &str = "target/measurements/bench.md";
const HEAD: &str = "# Benchmarks\n\n`cargo xtask bench --write` measures the rows of xtask/bench.toml with `assay run`: two commands \
                    per row, in random order.\nRatios are geometric means; the CI is simultaneous for all comparisons of a row.\n\n";
const COLUMNS: &str = "row | ratio of | ratio | 95% CI | verdict | n | date | machine";
/// Mebibytes of the loop device.
const DEVICE_SIZE: u64 = 512;
const LIMIT: Duration = Duration::from_secs(3600);

/// Measures all rows or one, and prints a table; with `--write` the page keeps the other rows.
pub fn run(options: &Options) -> Done<bool> {
    let table: Value = toml::from_str(TABLE).map_err(|error| format!("bench.toml: {error}"))?;
    let rows = table["row"].as_array().ok_or("bench.toml has no rows")?;
    let only = options.text("--only");
    let is_wanted = |row: &Value| only.is_none_or(|only| row["name"] == only);
    if !rows.iter().any(is_wanted) {
        return Err(format!("--only: no row `{}`", only.unwrap_or_default()));
    }
    let program = program(options)?;
    let program =
        fs::canonicalize(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    let before = fs::read_to_string(root().join(PAGE)).unwrap_or_default();
    let mut page = format!("{HEAD}{}", self::table(COLUMNS));
    let mut well = true;
    for row in rows {
        let name = text(row, "name");
        let start = format!("| {name} | ");
        let mut line = before.lines().find(|line| line.starts_with(&start)).map(str::to_owned);
        if is_wanted(row) {
            match missing(row) {
                Some(reason) => println!("bench: {name}: skipped: {reason}"),
                None => match measure(row, &program, options.has("--quick")) {
                    Ok(cells) => line = Some(format!("{start}{} | {cells} |", text(row, "what"))),
                    Err(error) => {
                        println!("bench: {name}: FAILED: {error}");
                        well = false;
                    }
                },
            }
        }
        if let Some(line) = line {
            println!("{line}");
            page.push_str(&line);
            page.push('\n');
        }
    }
    if options.has("--write") {
        build::write_page("bench.md", &page)?;
    }
    Ok(well)
}

fn text<'v>(row: &'v Value, key: &str) -> &'v str {
    row[key].as_str().unwrap_or_default()
}

fn words<'v>(row: &'v Value, key: &str) -> Vec<&'v str> {
    row[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Why a row cannot run here.
fn missing(row: &Value) -> Option<String> {
    let is_absent = |need: &&str| if *need == "root" { !is_root() } else { !has(need) };
    words(row, "needs").into_iter().find(is_absent).map(|need| format!("needs {need}"))
}

/// Runs the study of a row; the cells of the table after its name.
fn measure(row: &Value, program: &Path, quick: bool) -> Done<String> {
    let scratch = Scratch::on_drive("bench")?;
    let bin = scratch.folder("bin", 0o755, None)?;
    symlink(program, bin.join("assay")).map_err(|error| error.to_string())?;
    let folder = scratch.folder("work", 0o755, None)?;
    let memory = Scratch::new("bench-device")?;
    // Declared after the scratch folder, so that the device goes before its file.
    let needs_root = words(row, "needs").contains(&"root");
    let device = if needs_root { Some(device(memory.path())?) } else { None };
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let command = |program: &str| {
        let mut command = Command::new(program);
        command.current_dir(&folder).env("PATH", &path);
        command
    };
    // Assay hands only a few variables on to the commands of a study, so the text itself has the values.
    let inner = folder.join("inner").display().to_string();
    let device = device.as_ref().map_or("", |device| device.device());
    let filled = |text: &str| text.replace("$INNER", &inner).replace("$DEVICE", device);
    let setup = filled(&format!("set -e\n{}", text(row, "setup")));
    let ended = process::run(command("sh").args(["-c", &setup]), LIMIT)?;
    if ended.code != 0 {
        return Err(format!("setup: exit code {}: {}", ended.code, ended.stderr));
    }
    let mut study = command("assay");
    study.env("ASSAY_HOME", scratch.path().join("home")).args(["run", "--quiet", "--json"]);
    let [a, b] = ["a", "b"].map(|side| filled(text(row, side)));
    study.args(["--command", &b, "-n", "b", "--command", &a, "-n", "a"]);
    study.args(words(row, "options").into_iter().map(filled));
    if let Some(reads) = row["reads"].as_str() {
        study.args(["--parse", reads]);
    }
    study.args(if quick { &["--quick", "--replicates", "3"][..] } else { &["--replicates", "20"] });
    let ended = process::run(&mut study, LIMIT)?;
    if ended.code != 0 {
        return Err(format!("assay run: exit code {}: {}", ended.code, ended.stderr));
    }
    cells(&ended.json()?)
}

/// A loop device over a file of random bytes: blocks that were never written are read from memory.
fn device(folder: &Path) -> Done<LoopDevice> {
    let image = folder.join("image");
    let script = format!("head --bytes {DEVICE_SIZE}M /dev/urandom > {}", image.display());
    call("sh", &["-c", &script])?;
    LoopDevice::over(image)
}

/// What the findings say of the comparison that the study is about.
fn cells(findings: &Value) -> Done<String> {
    let mut all = findings["comparisons"].as_array().into_iter().flatten();
    let found = all.find(|one| one["primary"] == true || one["configuration"]["command"] == "a");
    let found = found.ok_or("the study compared nothing")?;
    let number = |value: &Value| value.as_f64().map_or("-".to_owned(), |it| format!("{it:.3}"));
    let date = call("date", &["--utc", "+%Y-%m-%d"])?;
    let machine = crate::facts::lines()[1].replace("- machine: ", "");
    Ok(format!(
        "{} | {}–{} | {} | {} | {} | {machine}",
        number(&found["ratio"]),
        number(&found["ci95_simultaneous"][0]),
        number(&found["ci95_simultaneous"][1]),
        found["verdict"].as_str().unwrap_or("-"),
        found["n"],
        date.trim(),
    ))
}

/// The program of `--program`, or a release build.
pub fn program(options: &Options) -> Done<PathBuf> {
    options.text("--program").map_or_else(build::release_binary, |path| Ok(PathBuf::from(path)))
}

/// Prints a page, and keeps it under target/measurements where that was asked for.
pub fn keep(options: &Options, name: &str, page: &str) -> Done<()> {
    println!("{page}");
    if options.has("--write") { build::write_page(name, page) } else { Ok(()) }
}

/// The first lines of a table with these columns, which have bars between them.
pub fn table(columns: &str) -> String {
    format!("| {columns} |\n|{}\n", "---|".repeat(columns.split(" | ").count()))
}

pub fn counts(rows: &[(&str, u32)]) -> String {
    rows.iter().fold(table("what | count"), |mut text, (what, count)| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {what} | {count} |");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_name_and_two_commands() -> Done<()> {
        let table: Value = toml::from_str(TABLE).map_err(|error| error.to_string())?;
        for row in table["row"].as_array().into_iter().flatten() {
            let keys = ["name", "what", "a", "b"];
            assert!(keys.iter().all(|key| !text(row, key).is_empty()), "{row}");
        }
        Ok(())
    }

    #[test]
    fn tables_have_a_rule_as_wide_as_their_head() {
        assert_eq!(table("a | b, c | d"), "| a | b, c | d |\n|---|---|---|\n");
        assert_eq!(counts(&[("x", 2)]), "| what | count |\n|---|---|\n| x | 2 |\n");
    }
}
