//! Files to test on, and the line that a test prints when it cannot run here.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// Says on standard error why a test did nothing.
pub fn skip(test: &str, reason: &str) {
    let line = format!("SKIP {test}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Whether tests may make loop devices here; says so when not.
pub fn may_make_devices(test: &str) -> bool {
    let asked = std::env::var("ASSAY_MACHINE_TESTS").is_ok_and(|value| value == "1");
    if !asked || !rustix::process::geteuid().is_root() {
        skip(test, "needs root and ASSAY_MACHINE_TESTS=1");
        return false;
    }
    true
}

/// A file that goes away when dropped.
pub struct Scratch {
    pub file: File,
    path: PathBuf,
}

impl Scratch {
    /// Makes one in the directory for temporary files.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("assay-sys-{}-{name}", std::process::id()));
        let file =
            File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        Self { file, path }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).unwrap();
    }
}
