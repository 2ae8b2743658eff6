//! `assay verify` and `verify = true` without a device.

use crate::{DEPTH, DRIVE, home};

const VERIFIED: &str = "
format     = \"assay-study/1\"
title      = \"Verified\"
replicates = 3
seed       = 7

[[workload]]
name = \"write\"
io   = { pattern = \"random\", mix = \"write\", block_size = \"4 KiB\", runtime = \"20 ms\", verify = true }

[[workload]]
name = \"read\"
io   = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"20 ms\" }
";

#[test]
fn of_a_file_without_stamps_nothing_is_said() {
    let home = home("verify-file");
    for (name, content) in
        [("zeros", vec![0; 1 << 20]), ("odd", vec![7; 1000]), ("empty", Vec::new())]
    {
        let file = home.file(name, content);
        let ended = home.run(&["verify", &file]);
        assert_eq!(ended.code, 5, "{name}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains("no data written with verify = true"), "{}", ended.stderr);
        let report: serde_json::Value =
            serde_json::from_str(&home.run(&["verify", &file, "--json"]).stdout).unwrap();
        assert_eq!(
            (&report["verified"]["intact"], &report["format"]),
            (&0.into(), &"assay-verify/1".into())
        );
    }
}

#[test]
fn a_result_without_stamps_says_how_to_have_them() {
    let home = home("verify-result");
    let study = home.file("depth.toml", DEPTH);
    assert_eq!(home.run(&["run", &study, DRIVE, "--quiet"]).code, 0);
    let ended = home.run(&["verify"]);
    assert_eq!(ended.code, 2, "{}{}", ended.stdout, ended.stderr);
    assert!(
        ended.stderr.contains("the result has no data written with verify = true"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_simulated_drive_keeps_nothing_and_says_so() {
    let home = home("verify-simulated");
    let study = home.file("verified.toml", VERIFIED);
    let plan = home.run(&["plan", &study, DRIVE, "--json"]);
    assert!(
        plan.stdout.contains("a simulated drive stores no data"),
        "{}{}",
        plan.stdout,
        plan.stderr
    );
}
