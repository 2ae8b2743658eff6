//! Whose turn it is, and no test that the machine cannot carry.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use assay_testkit::call;
use assay_testkit::needs::have;
pub use assay_testkit::needs::{Need, skip};
use assay_testkit::process::Assay;
use assay_testkit::volume::Volume;

/// Far above what any check may take: only a hanging one reaches it.
pub const LIMIT: Duration = Duration::from_secs(150);

/// The turn of a test below `alone`, in this run of the tests and among all that run on this machine.
pub struct Turn {
    _machine: File,
}

/// Waits for a turn alone, for what changes settings of the machine; nothing where the test cannot run here,
/// after saying why.
pub fn require(needs: &[Need]) -> Option<Turn> {
    has(needs).then(|| Turn { _machine: assay_testkit::turn().unwrap() })
}

/// Whether what stays on devices and directories of its own, and holds with work beside it, can run here; says
/// why not.
pub fn has(needs: &[Need]) -> bool {
    have(&[&[Need::Root], needs].concat())
}

pub fn assay(volume: &Volume) -> Assay {
    let home = volume.scratch().home().unwrap();
    Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home)
}

/// The same as a user without rights.
pub fn assay_of_nobody(volume: &Volume) -> Assay {
    let folder = volume.scratch().folder("nobody", 0o755, None).unwrap();
    assay(volume).as_nobody(&folder).unwrap()
}

pub fn word(path: &Path) -> String {
    path.display().to_string()
}

/// Nothing is left on a volume. The names are gone with the process; the kernel gives the room
/// back when it has taken down the rings that held the file open (and btrfs cleans up), a moment
/// later.
pub fn is_as_before(volume: &Volume, used_bytes: u64) {
    // More than a file system (btrfs) needs to write down that it is empty again, and less than
    // any area that is looked for here.
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
