//! Queues that are polled, on a device that has none for it.

use std::fs;
use std::path::Path;

use assay_load::ENGINES;
use assay_testkit::process::Assay;
use assay_testkit::{LoopDevice, Scratch};

use crate::findings::{of, rate};
use crate::turn::{LIMIT, has, skip, word};

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Polled"
replicates = 2
area       = { size = "16 MiB" }

[[workload]]
name = "plain"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", queue_depth = 8, runtime = "100 ms" }

[[workload]]
name = "submission"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", queue_depth = 8, pin = true, poll = "sqpoll", runtime = "90 ms" }

[[workload]]
name = "completion"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", queue_depth = 8, poll = "iopoll", runtime = "100 ms" }
"#;

#[test]
fn completions_of_a_loop_device_are_not_polled_for_and_all_else_is_measured() {
    if !has(&[]) {
        return;
    }
    let ring = ENGINES.iter().find(|entry| entry.name == "io_uring").unwrap();
    if let Err(reason) = (ring.available)() {
        return skip(&reason);
    }
    let scratch = Scratch::new("polled").unwrap();
    let image = scratch.path().join("image");
    fs::write(&image, vec![7_u8; 32 << 20]).unwrap();
    let device = LoopDevice::over(image).unwrap();
    let study = scratch.path().join("study.toml");
    fs::write(&study, STUDY).unwrap();
    let home = scratch.folder("home", 0o755, None).unwrap();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
    for command in ["plan", "run"] {
        let words = [command, &word(&study), device.device(), "--json"];
        let document = of(&assay.run(&words, LIMIT).unwrap());
        let told = document["absent"].to_string();
        let reason = format!("cannot poll for completions of {}", device.name());
        assert!(told.contains(&reason), "{command}: {document}");
        if command == "run" {
            assert!(rate(&document, "plain").is_some(), "{document}");
            assert!(rate(&document, "submission").is_some(), "{document}");
            assert!(rate(&document, "completion").is_none(), "{document}");
        }
    }
}
