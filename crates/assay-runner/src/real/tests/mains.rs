//! Files that outlive a cut of power.

use super::*;
use assay_machine::system::mains::Mains;

const NAME: &str = ".assay-plug-0123456789abcdef";

#[test]
fn a_file_that_outlives_its_process_is_found_read_and_removed() {
    let scratch = Scratch::new();
    let made = Real.create_kept(&scratch.0, NAME).unwrap();
    made.file.write_all_at(b"kept", made.first_byte).unwrap();
    assert!(Real.create_kept(&scratch.0, NAME).is_err(), "it is there already");
    drop(made);
    assert!(Real.leftovers(&scratch.0).unwrap().is_empty(), "no run takes it for its own");
    let found = Real.open_kept(&scratch.0, NAME).unwrap();
    let mut bytes = [0; 8];
    assert_eq!(Real.read_at(&found.file, found.first_byte, &mut bytes).unwrap(), 4);
    assert_eq!(&bytes[..4], b"kept");
    assert!(found.file.write_all_at(b"x", 0).is_err(), "it is only read");
    Real.remove_area(&found).unwrap();
    assert!(scratch.names().is_empty());
    let gone = Real.open_kept(&scratch.0, NAME).unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    Real.settle(&scratch.0).unwrap();
}

#[test]
fn what_is_no_such_file_is_not_opened() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("mine"), "mine").unwrap();
    for name in ["mine", "../mine", ".assay-plug-"] {
        assert!(Real.open_kept(&scratch.0, name).is_err(), "{name}");
        assert!(Real.create_kept(&scratch.0, name).is_err(), "{name}");
    }
    symlink(scratch.join("mine"), scratch.join(NAME)).unwrap();
    assert!(
        Real.open_kept(&scratch.0, NAME).is_err() && Real.create_kept(&scratch.0, NAME).is_err()
    );
    std::fs::remove_file(scratch.join(NAME)).unwrap();
    std::fs::create_dir(scratch.join(NAME)).unwrap();
    assert!(Real.open_kept(&scratch.0, NAME).is_err());
}
