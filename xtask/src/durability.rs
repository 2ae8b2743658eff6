//! `cargo xtask bench-durability`: the grades of durability that are made in virtual machines, by what is known of drives:
//! each liar is found within so many cuts, and an honest one is accused in none.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::lab::guest::kernel::Kernel;
use crate::lab::process::Assay;
use crate::lab::{Done, Scratch, guest};
use crate::options::Options;
use crate::{build, facts, lab_guest, plug};

/// Modules that the machines want.
pub const MODULES: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// Liars, each with a way of writing that shows it.
pub const LIARS: [(&str, &str); 6] = [
    ("drops-flushes", "log"),
    ("acknowledges-early", "log"),
    ("tears", "in-place"),
    ("reorders", "log"),
    ("loses-last", "log"),
    ("shows-older", "in-place"),
];
/// It writes beside what it has, so that what tears is never what was promised; all that its superblock changes at a
/// sync lies in its first sector.
const UNHURT: (&str, &str) = ("btrfs", "tears");
/// Ways of writing that an honest drive is asked in, each with its share of the cuts.
const HONEST: [&str; 4] = ["log", "in-place", "transaction", "files"];
/// What is written to.
const PLACES: [&str; 4] = ["drive", "ext4", "xfs", "btrfs"];
/// Cuts of a liar at once: one that is found is not asked further.
const PIECE: u64 = 3;
/// Cuts of an honest drive in one study, of power and replayed: each study has logs of its own, and what came of it
/// stays when the bench is ended.
const HONEST_PIECES: [u64; 2] = [125, 500];
/// A machine and what it does take no longer.
const LIMIT: Duration = Duration::from_secs(60);

/// A trial, as it is asked for.
#[derive(Clone, Copy)]
pub struct Trial<'a> {
    pub grade: &'a str,
    pub on: &'a str,
    pub mounted: &'a str,
    pub writer: &'a str,
    pub drive: &'a str,
    pub cuts: u64,
    pub seed: u64,
}

impl Trial<'_> {
    fn study(&self) -> String {
        let Self { grade, on, mounted, writer, drive, cuts, seed } = self;
        let mounted = if mounted.is_empty() {
            String::new()
        } else {
            format!(", mounted-with = \"{mounted}\"")
        };
        format!(
            "format = \"assay-study/1\"\ntitle = \"Power cuts\"\nreplicates = 1\nseed = {seed}\nlead_in = \"none\"\n\
             [[workload]]\nname = \"cuts\"\ndurability = {{ grade = \"{grade}\", on = \"{on}\", writer = \"{writer}\", \
             assumed-drive = \"{drive}\", cuts = {cuts}, promises = 60{mounted} }}\n"
        )
    }
}

/// What came of one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Came {
    pub cuts: u64,
    pub lost: u64,
    pub took: Duration,
}

/// The program with a kernel for its machines.
pub struct Bench {
    assay: Assay,
    scratch: Scratch,
    kernel: PathBuf,
}

impl Bench {
    pub fn new(program: &Path, kernel: &Kernel) -> Done<Self> {
        let scratch = Scratch::new("durability")?;
        let folder = kernel.image.parent().and_then(Path::parent).map(Path::to_owned);
        let kernel = folder.ok_or("the kernel lies in no package")?;
        Ok(Self { assay: Assay::new(program, scratch.path()), scratch, kernel })
    }

    /// Runs a trial; that a promise was lost is no error of it.
    pub fn run(&self, trial: Trial<'_>) -> Done<Came> {
        let path = self.scratch.path().join("cuts.toml");
        std::fs::write(&path, trial.study()).map_err(|error| error.to_string())?;
        let [path, kernel] = [&path, &self.kernel].map(|own| own.display().to_string());
        let began = Instant::now();
        let words = ["run", &path, "--vm", "--vm-kernel", &kernel, "--quiet", "--json"];
        let ended = self.assay.run(&words, LIMIT * (trial.cuts as u32 + 2))?;
        let found =
            ended.json().map_err(|_| format!("exit code {}: {}", ended.code, ended.stderr))?;
        let row = &found["durability"][0];
        let number = |name: &str| row[name].as_u64().ok_or(format!("no {name} in {row}"));
        let came = Came { cuts: number("cuts")?, lost: number("lost")?, took: began.elapsed() };
        if i32::from(came.lost > 0) != ended.code {
            return Err(format!("{came:?} and exit code {}: {}", ended.code, ended.stderr));
        }
        Ok(came)
    }

    /// Cuts a liar until it is found, or so often; the cuts that were made.
    pub fn until_found(&self, trial: Trial<'_>, most: u64) -> Done<Came> {
        let mut all = Came::default();
        while all.cuts < most && all.lost == 0 {
            let own = self.run(Trial { seed: trial.seed + all.cuts, cuts: PIECE, ..trial })?;
            all.cuts += own.cuts;
            all.lost += own.lost;
            all.took += own.took;
        }
        Ok(all)
    }
}

impl Bench {
    /// Cuts an honest drive so often, by studies of so many cuts with a seed each; its row grows.
    fn honest(&self, page: &mut Page, trial: Trial<'_>, piece: u64) -> Done<()> {
        let mut all = Came::default();
        let mut seed = trial.seed;
        while all.cuts < trial.cuts {
            let own = self.run(Trial { seed, cuts: piece.min(trial.cuts - all.cuts), ..trial })?;
            if all.cuts > 0 {
                page.lines.pop();
            }
            all.cuts += own.cuts;
            all.lost += own.lost;
            all.took += own.took;
            seed += 1;
            page.add(trial, all, false)?;
        }
        Ok(())
    }
}

/// Runs all of it; whether everything is as it must be.
pub fn run(options: &Options) -> Done<bool> {
    if let Some(reason) = guest::missing() {
        return Err(reason);
    }
    let program = match options.text("--program") {
        Some(program) => PathBuf::from(program),
        None => build::built_binary(&[])?,
    };
    if options.has("--plug") {
        return plug::run(&program, &plug::ALL);
    }
    let kernel = match options.text("--kernel") {
        Some(folder) => Kernel::unpacked(Path::new(folder))?,
        None => lab_guest::kernel(&MODULES)?,
    };
    let bench = Bench::new(&program, &kernel)?;
    let [most, honest, replayed] =
        ["--liars", "--honest", "--replayed"].map(|name| options.number(name) as u64);
    let (release, writes) = (kernel.release.clone(), options.has("--write"));
    let mut page = Page { lines: Vec::new(), well: true, release, writes };
    let base = Trial {
        grade: "kill",
        on: "drive",
        mounted: "",
        writer: "log",
        drive: "honest",
        cuts: 0,
        seed: 1,
    };
    let asked =
        |on: &str| options.text("--on").is_none_or(|all| all.split(',').any(|one| one == on));
    for on in PLACES.into_iter().filter(|on| asked(on)) {
        for (drive, writer) in LIARS {
            if most == 0 || (on, drive) == UNHURT {
                continue;
            }
            let trial = Trial { on, writer, drive, ..base };
            page.add(trial, bench.until_found(trial, most)?, true)?;
        }
        // A drive without a file system has no files.
        let ways = HONEST.into_iter().filter(|writer| (on, *writer) != ("drive", "files"));
        let ways: Vec<&str> = ways.collect();
        for (at, writer) in ways.iter().enumerate() {
            let trial = Trial { on, writer, ..base };
            let share = |all| share(all, ways.len() as u64, at as u64);
            let [kills, replays] = HONEST_PIECES;
            bench.honest(&mut page, Trial { cuts: share(honest), ..trial }, kills)?;
            let cuts = share(replayed);
            bench.honest(&mut page, Trial { grade: "replay", cuts, ..trial }, replays)?;
        }
    }
    if most > 0 && asked("ext4") {
        let trial = Trial { on: "ext4", mounted: "nobarrier", ..base };
        page.add(trial, bench.until_found(trial, most)?, true)?;
    }
    Ok(page.well)
}

/// Cuts of one way of writing, of so many that all of them share.
fn share(all: u64, ways: u64, at: u64) -> u64 {
    all / ways + u64::from(at < all % ways)
}

struct Page {
    lines: Vec<String>,
    well: bool,
    /// Of the kernel.
    release: String,
    /// Whether it is written, row by row: hours may go by, and what came is kept.
    writes: bool,
}

impl Page {
    fn add(&mut self, trial: Trial<'_>, came: Came, is_liar: bool) -> Done<()> {
        let Trial { grade, on, mounted, writer, drive, .. } = trial;
        let well = (came.lost > 0) == is_liar;
        let place = if mounted.is_empty() { on.to_owned() } else { format!("{on}, {mounted}") };
        let wanted = if is_liar { "found" } else { "not accused" };
        let line = format!(
            "| {grade} | {place} | {drive} | {writer} | {} | {} | {wanted} | {} | {:.0} |",
            came.cuts,
            came.lost,
            if well { "yes" } else { "NO" },
            came.took.as_secs_f64()
        );
        println!("{line}");
        self.lines.push(line);
        self.well &= well;
        if self.writes {
            build::write_page("durability.md", &self.text())?;
        }
        Ok(())
    }

    fn text(&self) -> String {
        let (release, [kills, replays]) = (&self.release, HONEST_PIECES);
        format!(
            "# Power cuts in virtual machines\n\n{}\n\n`cargo xtask bench-durability`: programs that write in guests of QEMU \
             (Linux {release}) whose drive is this program's, cut as docs/decisions/2026-11-26-power-cuts.md describes. A liar is cut \
             {PIECE} times and again until it is found; an honest drive so often as the row says, {kills} cuts of power or {replays} replayed ones a study, \
             with 60 promises a trial. A drive that tears is not asked below btrfs, which writes beside what was promised.\n\n| grade | on | assumed drive | writer | cuts | that lost | must be | is it? | s \
             |\n|---|---|---|---|---|---|---|---|---|\n{}\n",
            facts::lines().join("\n"),
            self.lines.join("\n")
        )
    }
}
