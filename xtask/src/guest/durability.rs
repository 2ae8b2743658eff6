//! Power cuts of virtual machines on drives with known behavior.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::lab::process::Assay;
use crate::lab::{Done, Scratch};
use crate::vm::kernel::Kernel;

/// Cuts of a faulty drive per study, until one study finds the fault.
const PIECE: u64 = 3;
const LIMIT: Duration = Duration::from_secs(60);

/// Power cuts of a drive with known behavior.
#[derive(Clone, Copy)]
pub struct CutTrial {
    pub method: &'static str,
    pub write_to: &'static str,
    pub drive: &'static str,
    pub cuts: u64,
}

impl CutTrial {
    fn study(&self, seed: u64) -> String {
        let Self { method, write_to, drive, cuts } = self;
        format!(
            "format = \"assay-study/1\"\ntitle = \"Power cuts\"\nreplicates = 1\nseed = {seed}\nwarmup_trial = \"none\"\n\
             [[workload]]\nname = \"cuts\"\ndurability = {{ method = \"{method}\", write_to = \"{write_to}\", writer = \"log\", \
             assumed_drive = \"{drive}\", crash_points = {cuts}, acknowledged_writes = 60 }}\n"
        )
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct CutCounts {
    pub cuts: u64,
    pub lost: u64,
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
        let kernel = folder.ok_or("the kernel is not from a package")?;
        Ok(Self { assay: Assay::new(program, scratch.path()), scratch, kernel })
    }

    /// Runs a trial. Lost writes are not an error.
    pub fn run(&self, trial: CutTrial) -> Done<CutCounts> {
        self.run_study(&trial.study(1), trial.cuts)
    }

    /// Cuts `gzip` with these options.
    pub fn run_gzip(&self, flags: &str, cuts: u64) -> Done<CutCounts> {
        let script = self.scratch.path().join("gzip.sh");
        std::fs::write(&script, include_str!("gzip.sh"))
            .and_then(|()| std::fs::set_permissions(&script, Permissions::from_mode(0o755)))
            .map_err(|error| error.to_string())?;
        let script = script.display();
        let study = format!(
            "format = \"assay-study/1\"\ntitle = \"gzip\"\nreplicates = 1\nseed = 1\nwarmup_trial = \"none\"\n\
             [[workload]]\nname = \"gzip\"\ndurability = {{ writer = \"command\", write_to = \"ext4\", \
             writer_command = \"gzip.sh fill {flags}\", check_command = \"gzip.sh check\", needs = [\"gzip\", \"{script}\"], \
             crash_points = {cuts} }}\n"
        );
        self.run_study(&study, cuts)
    }

    fn run_study(&self, text: &str, cuts: u64) -> Done<CutCounts> {
        let path = self.scratch.path().join("cuts.toml");
        std::fs::write(&path, text).map_err(|error| error.to_string())?;
        let [path, kernel] = [&path, &self.kernel].map(|own| own.display().to_string());
        let kernel = format!("vm_kernel={kernel}");
        let words = ["run", &path, "--set", &kernel, "--quiet", "--json"];
        let ended = self.assay.run(&words, LIMIT * (cuts as u32 + 2))?;
        let found =
            ended.json().map_err(|_| format!("exit code {}: {}", ended.code, ended.stderr))?;
        let row = &found["durability"][0];
        let number = |name: &str| row[name].as_u64().ok_or(format!("no {name} in {row}"));
        let counts = CutCounts { cuts: number("crash_points")?, lost: number("lost")? };
        if i32::from(counts.lost > 0) != ended.code {
            return Err(format!("{counts:?} and exit code {}: {}", ended.code, ended.stderr));
        }
        Ok(counts)
    }

    /// Cuts the power of a faulty drive until it loses data, or the cuts are used up.
    pub fn run_until_found(&self, trial: CutTrial) -> Done<CutCounts> {
        let mut all = CutCounts::default();
        while all.cuts < trial.cuts && all.lost == 0 {
            let piece = CutTrial { cuts: PIECE, ..trial };
            let own = self.run_study(&piece.study(1 + all.cuts), PIECE)?;
            all.cuts += own.cuts;
            all.lost += own.lost;
        }
        Ok(all)
    }
}
