//! `cargo xtask bench-import`: how long `assay import` takes for 10,000 trials, from the file to the
//! last verdict. A benchmark, not a test: other work on the machine moves the times.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assay_base::draws::Draws;

use crate::lab::{Done, Scratch};
use crate::options::Options;
use crate::{bench, build, facts};

/// Shapes of a table of about 10,000 trials: arms of each factor, workloads, replicates.
const SHAPES: &[(&str, &[u32], u32, u32)] = &[
    ("2 arms", &[2], 1, 5000),
    ("100 arms", &[100], 1, 100),
    ("1,000 arms", &[1000], 1, 10),
    ("8 x 8 arms, 2 workloads", &[8, 8], 2, 78),
    ("5 x 8 x 4 arms, 2 workloads", &[5, 8, 4], 2, 31),
];

pub fn run(options: &Options) -> Done<bool> {
    let rounds = options.number("--rounds");
    let binary = build::release_binary()?;
    let scratch = Scratch::new("bench-import")?;
    let files: Vec<(String, usize)> = SHAPES
        .iter()
        .enumerate()
        .map(|(index, shape)| table(&scratch.path().join(format!("{index}.csv")), shape))
        .collect::<Done<_>>()?;
    let mut times = vec![Vec::new(); files.len()];
    // Round by round, so that a slow minute of the machine hits all shapes alike.
    for _ in 0..rounds {
        for ((file, _), own) in files.iter().zip(&mut times) {
            own.push(once(&binary, scratch.path(), file)?);
        }
    }
    let mut page = format!(
        "# Import of 10,000 trials\n\n`cargo xtask bench-import --rounds {rounds}`, release build, \
         from the start of the program to its end.\n\n{}\n\n{}",
        facts::lines().join("\n"),
        bench::table("table | trials | median | slowest | wanted")
    );
    for (((name, ..), (_, trials)), own) in SHAPES.iter().zip(&files).zip(&times) {
        let [middle, slowest] = bench::middle_and_slowest(own).map(|seconds| seconds * 1e3);
        // Writing to a String cannot fail.
        let _ =
            writeln!(page, "| {name} | {trials} | {middle:.0} ms | {slowest:.0} ms | under 1 s |");
    }
    page.push_str(&large(&binary, scratch.path())?);
    bench::keep(options, "import.md", &page)?;
    Ok(true)
}

/// Writes a table and returns its path and its trials.
fn table(path: &Path, shape: &(&str, &[u32], u32, u32)) -> Done<(String, usize)> {
    let (_, levels, workloads, replicates) = *shape;
    let mut arms: Vec<Vec<u32>> = vec![Vec::new()];
    for count in levels {
        arms = arms
            .iter()
            .flat_map(|arm| (0..*count).map(|level| [arm.as_slice(), &[level]].concat()))
            .collect();
    }
    let mut draws = Draws::new(20_261_120, "bench-import");
    let mut text = "replicate,order,workload,metric,value".to_owned();
    for factor in 0..levels.len() {
        let _ = write!(text, ",factor:f{factor}");
    }
    text.push('\n');
    let mut order = 0;
    for replicate in 1..=replicates {
        let mut trials: Vec<(u32, &Vec<u32>)> =
            (0..workloads).flat_map(|work| arms.iter().map(move |arm| (work, arm))).collect();
        draws.shuffle(&mut trials);
        for (work, arm) in trials {
            order += 1;
            let value = 1000.0 + draws.below(40_000) as f64 / 1000.0;
            let _ = write!(text, "{replicate},{order},w{work},iops,{value}");
            for level in arm {
                let _ = write!(text, ",l{level}");
            }
            text.push('\n');
        }
    }
    std::fs::write(path, text).map_err(|error| error.to_string())?;
    Ok((path.display().to_string(), order))
}

/// A table of a million trials: what its page costs, and how large it is.
const LARGE: (&str, &[u32], u32, u32) = ("2 arms", &[2], 1, 500_000);

/// The line of the large table: processor time by the shell's own account of its children.
fn large(binary: &Path, home: &Path) -> Done<String> {
    let (file, trials) = table(&home.join("large.csv"), &LARGE)?;
    once(binary, home, &file)?;
    let page = home.join("large.html");
    let script = "\"$0\" report -o \"$1\" >&2 || exit 1; times";
    let ended = Command::new("sh")
        .args(["-c", script])
        .args([binary, &page])
        .env("ASSAY_HOME", home)
        .stderr(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    let children = text.lines().nth(1).filter(|_| ended.status.success());
    let spent = children.ok_or_else(|| format!("assay report: {}", ended.status))?;
    let bytes = std::fs::metadata(&page).map_err(|error| error.to_string())?.len();
    Ok(format!(
        "\nThe page of a table of {trials} trials: {bytes} bytes (wanted: below 2,000,000), processor time \
         in the program and in the kernel: {} (wanted: below 3 s together).\n",
        spent.trim()
    ))
}

fn once(binary: &Path, home: &Path, file: &str) -> Done<Duration> {
    let start = Instant::now();
    let status = Command::new(binary)
        .args(["import", file, "--quiet"])
        .env("ASSAY_HOME", home)
        .stdout(Stdio::null())
        .status()
        .map_err(|error| error.to_string())?;
    let time = start.elapsed();
    if status.success() { Ok(time) } else { Err(format!("assay import: {status}")) }
}
