use super::*;

#[test]
fn how_a_job_ended_is_read_from_its_second_line() {
    assert_eq!(ending("up\n7 10240\n"), Some((7, 10_240)));
    assert_eq!(ending("up\n"), None);
    assert_eq!(ending("up\n300 5\n"), None);
    assert_eq!(ending(""), None);
}

#[test]
fn words_reach_the_job_as_they_are() {
    for word in ["a b", "it's", "$HOME", "", "*"] {
        let line = format!("printf %s {}", for_shell(word));
        assert_eq!(call("sh", &["-c", &line]).as_deref(), Ok(word));
    }
}

#[test]
fn the_first_process_is_a_shell_script_that_can_be_read() {
    let scratch = Scratch::new("init");
    let checked = scratch.and_then(|scratch| {
        let file = scratch.path().join("init");
        fs::write(&file, INIT).map_err(|error| error.to_string())?;
        call("sh", &["-n", &file.display().to_string()])
    });
    assert_eq!(checked, Ok(String::new()));
}

#[test]
fn orders_of_a_job_are_its_whole_lines() {
    let told = b"up\noff 2021-03-04T05:06:07\nup\ncut\nup\noff\nup\ncut";
    let clock = |text: &str| Some(text.to_owned());
    assert_eq!(
        orders(told),
        [
            Order { is_cut: false, clock: clock("2021-03-04T05:06:07") },
            Order { is_cut: true, clock: None },
            Order { is_cut: false, clock: None },
        ]
    );
    assert!(orders(b"up\n0 10240\n").is_empty());
    assert_eq!(ending("up\noff 2021-03-04\nup\n0 10240\n"), Some((0, 10_240)));
}

#[test]
fn what_the_unit_of_a_root_disk_runs_can_be_read() {
    let checked = Scratch::new("start").and_then(|scratch| {
        let file = scratch.path().join("start");
        fs::write(&file, root::START).map_err(|error| error.to_string())?;
        call("sh", &["-n", &file.display().to_string()])
    });
    assert_eq!(checked, Ok(String::new()));
}
