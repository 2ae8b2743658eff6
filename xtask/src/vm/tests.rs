use super::*;

#[test]
fn what_the_unit_of_a_root_disk_runs_can_be_read() {
    let checked = Scratch::new("start").and_then(|scratch| {
        let file = scratch.path().join("start");
        fs::write(&file, root::START).map_err(|error| error.to_string())?;
        call("sh", &["-n", &file.display().to_string()])
    });
    assert_eq!(checked, Ok(String::new()));
}
