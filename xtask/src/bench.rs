//! `cargo xtask bench`: runs the rows of `xtask/bench.toml`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use crate::build;
use crate::lab::process;
use crate::lab::{Done, LoopDevice, Scratch, call, has, is_root};

const TABLE: &str = include_str!("../bench.toml");
/// The ratio is a geometric mean; the CI is simultaneous for all comparisons of a row.
const HEAD: &str = "| row | ratio of | ratio | 95% CI | verdict | n |\n|---|---|---|---|---|---|";
/// Mebibytes of the loop device.
const DEVICE_SIZE: u64 = 512;
const LIMIT: Duration = Duration::from_secs(3600);

#[derive(Args)]
pub struct BenchOptions {
    /// Measure only this row
    #[arg(long, value_name = "ROW")]
    only: Option<String>,
    /// Run 3 short replicates instead of 20
    #[arg(long)]
    quick: bool,
    /// Program to measure [default: a release build]
    #[arg(long)]
    program: Option<PathBuf>,
}

/// Measures all rows or one, and prints a table; skips rows whose programs are missing.
pub fn run(options: &BenchOptions) -> Done<bool> {
    let table: Value = toml::from_str(TABLE).map_err(|error| format!("bench.toml: {error}"))?;
    let rows = table["row"].as_array().ok_or("bench.toml has no rows")?;
    let is_wanted = |row: &&Value| options.only.as_ref().is_none_or(|only| row["name"] == **only);
    let rows: Vec<&Value> = rows.iter().filter(is_wanted).collect();
    if rows.is_empty() {
        return Err("--only: no such row in bench.toml".to_owned());
    }
    let program = build::program(options.program.as_deref())?;
    let program =
        fs::canonicalize(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    crate::print_machine();
    println!("{HEAD}");
    let mut is_well = true;
    for row in rows {
        let name = text(row, "name");
        if let Some(reason) = missing(row) {
            println!("bench: {name}: skipped: {reason}");
            continue;
        }
        match measure(row, &program, options.quick) {
            Ok(cells) => println!("| {name} | {} | {cells} |", text(row, "what")),
            Err(error) => {
                println!("bench: {name}: FAILED: {error}");
                is_well = false;
            }
        }
    }
    Ok(is_well)
}

fn text<'v>(row: &'v Value, key: &str) -> &'v str {
    row[key].as_str().unwrap_or_default()
}

fn words<'v>(row: &'v Value, key: &str) -> Vec<&'v str> {
    row[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns why a row cannot run here.
fn missing(row: &Value) -> Option<String> {
    let is_absent = |need: &&str| if *need == "root" { !is_root() } else { !has(need) };
    words(row, "needs").into_iter().find(is_absent).map(|need| format!("needs {need}"))
}

/// Runs the study of a row and returns the last cells of its line.
fn measure(row: &Value, program: &Path, quick: bool) -> Done<String> {
    let scratch = Scratch::on_drive("bench")?;
    let bin = scratch.folder("bin", 0o755, None)?;
    symlink(program, bin.join("assay")).map_err(|error| error.to_string())?;
    let folder = scratch.folder("work", 0o755, None)?;
    let memory = Scratch::new("bench-device")?;
    // Declared after the scratch folder, so that the device is dropped before its file.
    let needs_root = words(row, "needs").contains(&"root");
    let device = if needs_root { Some(device(memory.path())?) } else { None };
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let command = |program: &str| {
        let mut command = Command::new(program);
        command.current_dir(&folder).env("PATH", &path);
        command
    };
    // Assay passes only a few variables to the commands of a study, so their text contains the values.
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

/// Creates a loop device on a file of random bytes: blocks that were never written would be read from memory.
fn device(folder: &Path) -> Done<LoopDevice> {
    let image = folder.join("image");
    let script = format!("head --bytes {DEVICE_SIZE}M /dev/urandom > {}", image.display());
    call("sh", &["-c", &script])?;
    LoopDevice::over(image)
}

/// Formats the primary comparison.
fn cells(findings: &Value) -> Done<String> {
    let mut all = findings["comparisons"].as_array().into_iter().flatten();
    let found = all.find(|one| one["primary"] == true || one["configuration"]["command"] == "a");
    let found = found.ok_or("the study compared nothing")?;
    let number = |value: &Value| value.as_f64().map_or("-".to_owned(), |it| format!("{it:.3}"));
    Ok(format!(
        "{} | {}–{} | {} | {}",
        number(&found["ratio"]),
        number(&found["ci95_simultaneous"][0]),
        number(&found["ci95_simultaneous"][1]),
        found["verdict"].as_str().unwrap_or("-"),
        found["n"],
    ))
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
}
