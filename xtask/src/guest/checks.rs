//! What the kernel of this machine lacks, in a guest: layers are measured and taken down, devices fail,
//! wait and fill up, groups of version 2 limit memory, cake and fq_codel shape links. A script a subject,
//! each in a home of its own, in two guests at the same time where there are several.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::run_checked;
use crate::lab::{Done, Scratch};
use crate::lab_guest;
use crate::vm::machine::Accelerator;
use crate::vm::{Asked, found};

const PRELUDE: &str = include_str!("checks/prelude.sh");

type Check = (&'static str, &'static str);

/// What there is to look at.
const ALL: [Check; 5] = [
    ("stacks", include_str!("checks/stacks.sh")),
    ("errors", include_str!("checks/errors.sh")),
    ("memory", include_str!("checks/memory.sh")),
    ("links", include_str!("checks/links.sh")),
    (BURST, include_str!("checks/burst.sh")),
];

/// The subject that wants a drive with a bucket, and one with none.
const BURST: &str = "burst";
/// What QEMU is told of that drive, behind its word for the cache of this machine: 200 operations a second, and
/// 800 for as long as 20 s of them last. The script has the same numbers.
const BUCKET: &str = "unsafe,throttling.iops-total=200,throttling.iops-total-max=800,\
                      throttling.iops-total-max-length=20";
/// The same of a drive that has one rate, whatever else the machine does.
const EVEN: &str = "unsafe,throttling.iops-total=300";
const BUCKET_BYTES: u64 = 256 << 20;

const MODULES: [&str; 18] = [
    "dm_crypt",
    // What dm-crypt asks for when a volume is opened.
    "xts",
    "aes_generic",
    "dm_delay",
    "dm_flakey",
    "dm_thin_pool",
    "raid456",
    "f2fs",
    "exfat",
    "vfat",
    // How vfat writes names, which it asks for when it is mounted.
    "nls_cp437",
    "nls_ascii",
    "zram",
    "veth",
    "sch_cake",
    "sch_fq_codel",
    "sch_htb",
    "sch_tbf",
];

/// Programs of this machine that the scripts and layers run there.
const PROGRAMS: [&str; 8] =
    ["cryptsetup", "mdadm", "dmsetup", "mkfs.f2fs", "mkfs.exfat", "mkfs.vfat", "ip", "tc"];

/// Bytes of the drive with the homes, and of the one that is measured.
const DRIVES: [u64; 2] = [2 << 30, 256 << 20];
const LIMIT: Duration = Duration::from_secs(900);

/// Runs scripts; tells what went wrong.
pub fn run(program: &Path) -> Done<bool> {
    let kernel = match lab_guest::kernel(&MODULES) {
        Ok(kernel) if kernel.lacks(&MODULES).is_empty() => kernel,
        Ok(kernel) => {
            let lacks = kernel.lacks(&MODULES).join(", ");
            println!("SKIP lab: checks: {} has no {lacks}", kernel.release);
            return Ok(true);
        }
        Err(reason) => {
            println!("SKIP lab: checks: {reason}");
            return Ok(true);
        }
    };
    let programs = PROGRAMS.iter().map(|name| found(name).ok_or(*name));
    let programs = match programs.collect::<Result<Vec<PathBuf>, &str>>() {
        Ok(programs) => programs,
        Err(name) => {
            println!("SKIP lab: checks: needs the program {name}");
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
        // Two guests cannot have them at the same time.
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
    // The first one takes as long as the others together.
    let (first, others) = ALL.split_at(1);
    let asked = [asked(first), asked(others)];
    thread::scope(|scope| {
        let guests: Vec<_> = asked.iter().map(|asked| scope.spawn(|| in_a_guest(asked))).collect();
        let ended = guests.into_iter().map(thread::ScopedJoinHandle::join);
        ended.into_iter().try_fold(true, |well, ended| {
            Ok(well & ended.map_err(|_| "its thread failed".to_owned())??)
        })
    })
}

fn in_a_guest(asked: &Asked) -> Done<bool> {
    run_checked(asked, &|ended, printed| {
        println!("xtask: lab: checks: {}\n{}", lab_guest::describe(ended), printed.trim_end());
        Ok(ended.code == 0)
    })
}

/// One script of all: each in a shell of its own, with what it has left and how long it took.
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
