//! The virtual machine that the tool itself made to run a study in: who made it says so in a file of its
//! first file system.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::System;

/// The file, from the root of such a machine.
pub const FILE: &str = "etc/assay-vm.json";

/// Bytes of what says so at most.
const MOST: usize = 4096;

/// A virtual machine that the tool made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VirtualMachine {
    /// The machine that it was made on: a hash ([`super::machine::identity`]).
    pub of: String,
    /// What carries out its instructions: `kvm`, `tcg`.
    pub accelerator: String,
    /// Its processors.
    pub cpus: u64,
    /// Bytes of its memory.
    pub memory_bytes: u64,
}

/// The one that this system is, if it is one.
pub fn own(system: &dyn System) -> Option<VirtualMachine> {
    let text = system.read_text(&Path::new("/").join(FILE)).ok()?;
    let text = Some(text).filter(|text| text.len() <= MOST)?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    #[test]
    fn a_machine_is_one_by_its_file_alone() {
        assert_eq!(own(&Fake::new()), None);
        let made = VirtualMachine {
            of: "abc".to_owned(),
            accelerator: "tcg".to_owned(),
            cpus: 2,
            memory_bytes: 1 << 30,
        };
        let fake = Fake::new();
        fake.create_directory(Path::new("/etc")).unwrap();
        fake.write_whole(&Path::new("/").join(FILE), &serde_json::to_vec(&made).unwrap()).unwrap();
        assert_eq!(own(&fake), Some(made));
        fake.write_whole(&Path::new("/").join(FILE), b"{}").unwrap();
        assert_eq!(own(&fake), None);
    }
}
