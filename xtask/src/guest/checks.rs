//! Checks that need kernel features of a guest: layers, failing, slow and full devices, memory limits of control groups
//! (version 2), links shaped by cake and fq_codel. One script per subject, each with its own home, in two guests at the
//! same time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::run_checked;
use crate::lab::{Done, Scratch};
use crate::lab_guest;
use crate::vm::kernel::Kernel;
use crate::vm::machine::Accelerator;
use crate::vm::{Asked, found};

const PRELUDE: &str = include_str!("checks/prelude.sh");

type Check = (&'static str, &'static str);

const ALL: [Check; 5] = [
    ("stacks", include_str!("checks/stacks.sh")),
    ("errors", include_str!("checks/errors.sh")),
    ("memory", include_str!("checks/memory.sh")),
    ("links", include_str!("checks/links.sh")),
    (BURST, include_str!("checks/burst.sh")),
];

/// The subject that needs a drive with burst credits and one without.
const BURST: &str = "burst";
/// Cache mode and throttling of the drive with burst credits: 200 operations per second, and 800 for at most 20 s. The
/// script contains the same numbers.
const BUCKET: &str = "unsafe,throttling.iops-total=200,throttling.iops-total-max=800,\
                      throttling.iops-total-max-length=20";
/// Cache mode and throttling of the drive with one rate.
const EVEN: &str = "unsafe,throttling.iops-total=300";
const BUCKET_BYTES: u64 = 256 << 20;

const MODULES: [&str; 18] = [
    "dm_crypt",
    // dm-crypt loads them when it opens a volume.
    "xts",
    "aes_generic",
    "dm_delay",
    "dm_flakey",
    "dm_thin_pool",
    "raid456",
    "f2fs",
    "exfat",
    "vfat",
    // vfat loads them when it is mounted.
    "nls_cp437",
    "nls_ascii",
    "zram",
    "veth",
    "sch_cake",
    "sch_fq_codel",
    "sch_htb",
    "sch_tbf",
];

/// Programs of this machine that the scripts and layers use.
const PROGRAMS: [&str; 8] =
    ["cryptsetup", "mdadm", "dmsetup", "mkfs.f2fs", "mkfs.exfat", "mkfs.vfat", "ip", "tc"];

/// Bytes of the drive with the homes and of the measured drive.
const DRIVES: [u64; 2] = [2 << 30, 256 << 20];
const LIMIT: Duration = Duration::from_secs(900);

/// Returns a kernel with all modules, and all programs.
fn requirements() -> Done<(Kernel, Vec<PathBuf>)> {
    let kernel = lab_guest::kernel(&MODULES)?;
    let lacks = kernel.lacks(&MODULES);
    if !lacks.is_empty() {
        return Err(format!("{} has no {}", kernel.release, lacks.join(", ")));
    }
    let find = |name: &&str| found(name).ok_or_else(|| format!("needs the program {name}"));
    let programs: Done<Vec<PathBuf>> = PROGRAMS.iter().map(find).collect();
    Ok((kernel, programs?))
}

/// Runs all scripts and prints their output.
pub fn run(program: &Path) -> Done<bool> {
    let (kernel, programs) = match requirements() {
        Ok(requirements) => requirements,
        Err(reason) => {
            println!("SKIP lab: checks: {reason}");
            return Ok(true);
        }
    };
    let scratch = Scratch::new("throttled")?;
    let throttled = [("bucket", BUCKET), ("even", EVEN)]
        .map(|(name, how)| (scratch.path().join(name), how.to_owned()));
    for (image, _) in &throttled {
        let made = File::create(image).and_then(|file| file.set_len(BUCKET_BYTES));
        made.map_err(|error| format!("{}: {error}", image.display()))?;
    }
    let asked = |checks: &[Check]| Asked {
        accelerator: Some(Accelerator::Tcg),
        drives: DRIVES.to_vec(),
        // Only one guest can use them.
        lent: if checks.iter().any(|(name, _)| *name == BURST) {
            throttled.to_vec()
        } else {
            Vec::new()
        },
        home_on_drive: true,
        modules: MODULES.map(str::to_owned).to_vec(),
        programs: programs.clone(),
        script: Some(job(checks).into_bytes()),
        limit: Some(LIMIT),
        ..lab_guest::usual(program.to_owned(), kernel.clone())
    };
    // The first script takes as long as the others together.
    let (first, others) = ALL.split_at(1);
    let asked = [asked(first), asked(others)];
    thread::scope(|scope| {
        let guests = asked.each_ref().map(|asked| scope.spawn(|| run_guest(asked)));
        let mut is_well = true;
        for guest in guests {
            is_well &= guest.join().map_err(|_| "a guest thread panicked".to_owned())??;
        }
        Ok(is_well)
    })
}

fn run_guest(asked: &Asked) -> Done<bool> {
    run_checked(asked, &|ended, printed| {
        println!("xtask: lab: checks: {}\n{}", lab_guest::describe(ended), printed.trim_end());
        Ok(ended.code == 0)
    })
}

/// Joins scripts: each runs in its own shell and reports its leftovers and its duration.
fn job(checks: &[Check]) -> String {
    let scripts = checks.iter().map(|(name, script)| {
        format!(
            "(\n{PRELUDE}\n\
             ASSAY_HOME=$place/{name}; export ASSAY_HOME; mkdir -p $ASSAY_HOME; cd $ASSAY_HOME\n\
             left >before; begun=$(date +%s)\n{script}\n\
             left >after; cmp -s before after || wrong 'it left something' after\n\
             echo \"lab: {name}: $faults faults, $(($(date +%s) - begun)) s\"\n\
             exit $faults\n) || code=1\n"
        )
    });
    format!("place=$ASSAY_HOME; code=0\n{}exit $code\n", scripts.collect::<String>())
}
