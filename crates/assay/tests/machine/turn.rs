//! One test after the other, and none that the machine cannot carry.

use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::lab::process::Assay;
use crate::lab::volume::{Filesystem, Volume};
use crate::lab::{call, has, is_root};

/// Far above what any check may take: only a hanging one reaches it.
pub const LIMIT: Duration = Duration::from_secs(150);

/// What a test needs.
#[derive(Clone, Copy)]
pub enum Need {
    /// A file system that can be made here.
    Volume(Filesystem),
    /// A program.
    Program(&'static str),
}

/// This test's turn; the next one starts when it is dropped.
pub type Turn = MutexGuard<'static, ()>;

/// Waits for this test's turn; nothing where it cannot run here, after saying why.
pub fn require(test: &str, needs: &[Need]) -> Option<Turn> {
    static TURN: Mutex<()> = Mutex::new(());
    if let Some(reason) = missing(needs) {
        skip(test, &reason);
        return None;
    }
    // A test that failed while it had its turn has cleaned up all the same.
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

fn missing(needs: &[Need]) -> Option<String> {
    if std::env::var("ASSAY_MACHINE_TESTS").as_deref() != Ok("1") {
        return Some("ASSAY_MACHINE_TESTS=1 is not set".to_owned());
    }
    if !is_root() {
        return Some("needs root".to_owned());
    }
    needs.iter().find_map(|need| match need {
        Need::Volume(kind) => kind.missing(),
        Need::Program(name) => (!has(name)).then(|| format!("needs the program {name}")),
    })
}

/// Says that a test does nothing here, past the capture of the test harness.
pub fn skip(test: &str, reason: &str) {
    std::io::stderr().write_all(format!("SKIP {test}: {reason}\n").as_bytes()).unwrap();
    if let Some(list) = std::env::var_os("ASSAY_SKIPS") {
        let mut list = std::fs::OpenOptions::new().append(true).create(true).open(list).unwrap();
        list.write_all(format!("{test}: {reason}\n").as_bytes()).unwrap();
    }
}

/// The program under test, as root, with a home beside the volume.
pub fn assay(volume: &Volume) -> Assay {
    let home = volume.scratch().folder("home", 0o755, None).unwrap();
    Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home)
}

/// The same as a user without rights.
pub fn assay_of_nobody(volume: &Volume) -> Assay {
    let folder = volume.scratch().folder("nobody", 0o755, None).unwrap();
    assay(volume).as_nobody(&folder).unwrap()
}

/// A path as an argument.
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
