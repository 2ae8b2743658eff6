//! Files to test on.

use std::fs::File;

/// A file that is removed on drop.
pub struct Scratch {
    pub file: File,
    _folder: assay_testkit::Scratch,
}

impl Scratch {
    /// Creates a file on the drive of the temporary directory, for tests of files in general.
    pub fn new(name: &str) -> Self {
        Self::within(assay_testkit::Scratch::on_drive(name).unwrap())
    }

    /// Makes one in memory, to be a device.
    pub fn for_a_device(name: &str) -> Self {
        Self::within(assay_testkit::Scratch::new(name).unwrap())
    }

    fn within(folder: assay_testkit::Scratch) -> Self {
        let path = folder.path().join("file");
        let file =
            File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap();
        Self { file, _folder: folder }
    }
}
