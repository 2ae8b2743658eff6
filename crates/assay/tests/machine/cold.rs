//! A command with an empty page cache: everybody's is emptied.

use std::fs;

use assay_testkit::volume::{Filesystem, Volume};

use crate::commands::{SHORT, cells};
use crate::turn::{LIMIT, Need, assay, require, word};

#[test]
#[ignore = "nightly: 8 s"]
fn a_cold_run_reads_from_storage_and_a_warm_one_does_not() {
    let Some(_turn) = require(&[Need::Volume(Filesystem::Ext4)]) else { return };
    let volume = Volume::new(Filesystem::Ext4, 64).unwrap();
    fs::write(volume.directory().join("file"), vec![7_u8; 8 << 20]).unwrap();
    let place = word(volume.directory());
    let read = |more: &[&str]| {
        let words = ["run", &place, "--command", "cat file", "--set", "shell=false"];
        let ended = assay(&volume).run(&[&words[..], more, &SHORT].concat(), LIMIT).unwrap();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let found = ended.json().unwrap();
        cells(&found, "read_bytes")[0]["median"].as_f64().unwrap()
    };
    assert!(read(&["--set", "drop_caches=true"]) >= f64::from(8 << 20));
    assert!(read(&[]) < f64::from(1 << 20));
}
