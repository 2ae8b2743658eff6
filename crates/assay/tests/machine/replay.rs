//! A load on a loop device is recorded and played again on it.

use std::fs;
use std::path::Path;
use std::process::Command;

use assay_lab::process::{Assay, Running};
use assay_lab::{LoopDevice, Scratch};
use serde_json::Value;

use crate::turn::{LIMIT, Need, has, skip, word};

const STUDY: &str = "format = \"assay-study/1\"\ntitle = \"Again\"\nreplicates = 3\nseed = 3\n\n\
                     [[workload]]\nname = \"again\"\nreplay = { recording = \"busy\" }\n";

#[test]
#[ignore = "needs root: cargo xtask test"]
fn what_is_recorded_on_a_device_is_played_on_it_as_the_same_work() {
    if !has(&[Need::Program("losetup")]) {
        return;
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return skip("this kernel has no BTF");
    }
    let scratch = Scratch::new("replay").unwrap();
    let device = LoopDevice::new(scratch.path().join("image"), 64).unwrap();
    let home = scratch.folder("home", 0o755, None).unwrap();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
    let (name, path) = (device.name().to_owned(), device.device().to_owned());
    let script = format!(
        "while :; do dd if=/dev/zero of={path} bs=4k count=50 oflag=direct conv=fsync,notrunc; \
         dd if={path} of=/dev/null bs=16k count=50 iflag=direct; sleep 0.05; done 2>/dev/null"
    );
    let busy = Running::start(Command::new("sh").args(["-c", &script])).unwrap();
    let words = ["watch", &name, "--for", "3s", "--quiet", "--record-requests", "busy"];
    let seen = assay.run(&words, LIMIT).unwrap();
    assert_eq!(seen.code, 0, "{}", seen.stderr);
    drop(busy);

    let file = scratch.path().join("again.toml");
    fs::write(&file, STUDY).unwrap();
    let file = word(&file);
    let id = format!("{name}:64MiB");
    let refused = assay.run(&["run", &file, &path, "--quiet"], LIMIT).unwrap();
    assert_ne!(refused.code, 0, "it writes only with consent");
    let words = ["run", &file, &path, "--destroy", &id, "--json", "--quiet"];
    let found = assay.run(&words, LIMIT).unwrap();
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    let told = &found["replay"][0]["fidelity"];
    assert_eq!(told["placing"], "kept", "{told}");
    for act in ["read", "write", "flush"] {
        let own = &told["acts"][act];
        assert!(own["recorded"]["operations"].as_u64().unwrap() > 10, "{act}: {told}");
        assert_eq!(own["recorded"], own["played"], "{act}: {told}");
    }
    let [recorded, played] = ["recorded_ns", "played_ns"].map(|key| told[key].as_f64().unwrap());
    let [distance, late] =
        ["arrival_distance", "late_share"].map(|key| told[key].as_f64().unwrap());
    // Where others have the processors, starts are late, and the rule says so.
    let is_faithful = distance <= 0.02 && late <= 0.05 && (played / recorded - 1.0).abs() <= 0.005;
    assert_eq!(!found.to_string().contains("\"unfaithful\""), is_faithful, "{told}");

    // At the speed of the target: what waited for what is played, however long that took.
    let file = scratch.path().join("paced.toml");
    fs::write(&file, STUDY.replace("\"busy\"", "\"busy\", clock = \"paced\"")).unwrap();
    let file = word(&file);
    let words = ["run", &file, &path, "--destroy", &id, "--json", "--quiet"];
    let found = assay.run(&words, LIMIT).unwrap();
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    let told = &found["replay"][0]["fidelity"];
    for act in ["read", "write", "flush"] {
        assert_eq!(told["acts"][act]["recorded"], told["acts"][act]["played"], "{act}: {told}");
    }
    assert!(told["paced"]["after_end"].as_u64().unwrap() > 50, "{told}");
    let late = told["late_share"].as_f64().unwrap();
    let added = told["paced"]["added_share"].as_f64().unwrap();
    let is_faithful = late <= 0.05 && added <= 0.05;
    assert_eq!(!found.to_string().contains("\"unfaithful\""), is_faithful, "{told}");
}
