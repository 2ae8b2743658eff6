//! Known machines, studies and fleets for the tests of this crate and of crates above. Not shipped.

#![allow(clippy::unwrap_used, reason = "what is known is sound; tests alone call it")]

pub mod fleet;

use std::path::Path;

use assay_machine::system::{Fake, System};
use assay_study::file::Study;
use assay_workloads::{Needs, Work};

pub const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Two short rows"
replicates = 3
seed       = 11
area       = { size = "16 MiB" }

[[workload]]
name = "random-read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "2 ms", engine = "psync" }

[[workload]]
name = "random-write"
io   = { pattern = "random", mix = "write", block_size = "4 KiB", runtime = "2 ms", engine = "psync" }
"#;

pub fn machine() -> Fake {
    let fake = Fake::sata_ssd().unwrap();
    fake.set_user(0);
    fake
}

pub fn able() -> Fake {
    let fake = machine();
    fake.with_file_systems().with_encryption().with_arrays();
    let disk = fake.canonical(Path::new("/sys/class/block/sda")).unwrap();
    fake.put(disk.join("queue/wbt_lat_usec"), "75000\n");
    fake
}

/// Places a preset where it can run: production work stays, and a device has no working directory.
pub fn placed(study: Study) -> Study {
    let stays = |work: &Work| work.is_others() || work.needs() == Needs::Directory;
    let made = study.factors.contains_key("filesystem");
    // Swap is next to a directory.
    let beside = study.factors.contains_key("swap");
    let stays = beside || !made && study.workload.iter().any(|own| stays(&own.work));
    if stays { study } else { study.in_lab() }
}
