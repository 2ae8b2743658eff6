//! Virtual machines for durability studies: each has a file that identifies it.

use std::path::Path;

use super::System;

pub const FILE: &str = "etc/assay-vm";

pub fn is_one(system: &dyn System) -> bool {
    system.status(&Path::new("/").join(FILE)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    #[test]
    fn a_machine_is_one_by_its_file_alone() {
        let fake = Fake::new();
        assert!(!is_one(&fake));
        fake.create_directory(Path::new("/etc")).unwrap();
        fake.write_whole(&Path::new("/").join(FILE), b"").unwrap();
        assert!(is_one(&fake));
    }
}
