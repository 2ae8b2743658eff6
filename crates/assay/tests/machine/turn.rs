//! Serializes tests, and skips those that the machine cannot run.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use assay_testkit::call;
use assay_testkit::needs::have;
pub use assay_testkit::needs::{Need, skip};
use assay_testkit::process::Assay;
use assay_testkit::volume::Volume;

/// Far above the time of any check; only a hanging one reaches it.
pub const LIMIT: Duration = Duration::from_secs(150);

/// The turn of a test that changes the machine, among all tests on this machine.
pub struct Turn {
    _machine: File,
}

/// Waits for a turn to change settings of the machine; returns `None`, with a message, if the test cannot run here.
pub fn require(needs: &[Need]) -> Option<Turn> {
    has(needs).then(|| Turn { _machine: assay_testkit::turn().unwrap() })
}

/// Returns whether a test that uses only its devices and directories, and tolerates other load, can run here; prints
/// the reason if not.
pub fn has(needs: &[Need]) -> bool {
    have(&[&[Need::Root], needs].concat())
}

pub fn assay(volume: &Volume) -> Assay {
    let home = volume.scratch().home().unwrap();
    Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home)
}

/// Returns the same as an unprivileged user.
pub fn assay_of_nobody(volume: &Volume) -> Assay {
    let folder = volume.scratch().folder("nobody", 0o755, None).unwrap();
    assay(volume).as_nobody(&folder).unwrap()
}

pub fn word(path: &Path) -> String {
    path.display().to_string()
}

/// Checks that nothing is left on a volume. Names disappear with the process; the kernel frees the space a moment
/// later, after removing the rings that used the file (and after the cleanup of btrfs).
pub fn is_as_before(volume: &Volume, used_bytes: u64) {
    // More than the metadata of an empty filesystem (btrfs), and less than any test area checked here.
    const SLACK: u64 = 14 << 20;
    assert!(volume.names().unwrap().is_empty(), "left: {:?}", volume.names());
    let left = || {
        call("sync", &["--file-system", &word(volume.directory())]).unwrap();
        volume.used_bytes().unwrap().saturating_sub(used_bytes)
    };
    for _ in 0..200 {
        if left() < SLACK {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{} bytes are still used", left());
}
