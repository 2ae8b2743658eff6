//! Requests that others recorded, from the text to the study that plays them.

use std::fmt::Write as _;

use crate::home;

const FAST: &str = "simulated:exponential,mean=100us";
const BLKPARSE: &str = include_str!("../importers/blkparse/trace.txt");

/// A log of fio: four reads, a write and, now and then, a flush, at even distances.
fn log() -> String {
    let mut text = "fio version 3 iolog\n0 /dev/sdz add\n0 /dev/sdz open\n".to_owned();
    for at in 0..1000_u64 {
        let (time, offset) = (1000 * (at + 1), at * 7907 % 4096 * 4096);
        let act = if at % 5 == 4 { "write" } else { "read" };
        writeln!(text, "{time} /dev/sdz {act} {offset} 4096").unwrap();
        if at % 20 == 19 {
            writeln!(text, "{time} /dev/sdz datasync 0 0").unwrap();
        }
    }
    text
}

#[test]
fn a_log_of_fio_is_shown_and_planned_to_be_played() {
    let home = home("recordings-fio");
    let file = home.file("busy.log", log());
    let ended = home.run(&["import", &file, "--title", "evening"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("1,050 requests of sdz"), "{}", ended.stdout);
    assert!(ended.stderr.contains("has no completion times"), "{}", ended.stderr);
    assert!(home.text(&["show", "evening"]).contains("recorded requests"));

    let study = "format = \"assay-study/1\"\ntitle = \"Again\"\nreplicates = 2\n\n[[workload]]\nname = \"a\"\n\
                 replay = { trace = \"evening\" }\n";
    let again = home.file("again.toml", study);
    assert!(home.text(&["plan", &again, FAST]).contains("recorded"));
    let paced = study.replace("\"evening\"", "\"evening\", timing = \"dependent\"");
    let told = home.run(&["plan", &home.file("paced.toml", paced), FAST]);
    let said = [told.stdout, told.stderr].join(" ");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("no completion times"), "{said}");
}

#[test]
fn the_text_of_blkparse_is_a_recording() {
    let home = home("recordings-blkparse");
    let file = home.file("trace.txt", BLKPARSE);
    let shown = home.text(&["import", &file, "--quiet"]);
    assert!(shown.contains("40 requests of 8_0"), "{shown}");
    let log = home.text(&["export", "--format", "fio-iolog"]);
    assert!(log.starts_with("fio version 3 iolog\n") && log.contains(" /dev/8_0 datasync 0 0"));
}

#[test]
fn a_text_with_a_mistake_is_told_with_its_line_and_keeps_nothing() {
    let home = home("recordings-wrong");
    let wrong = log().replace("500000 /dev/sdz", "500000 sdz jumps");
    let file = home.file("wrong.log", &wrong);
    let line = wrong.lines().position(|line| line.contains("jumps")).unwrap() + 1;
    let told = home.refused(2, &["import", &file]);
    assert!(told.contains(&format!("wrong.log:{line}:1: jumps is not a fio log action")), "{told}");
    assert!(home.refused(2, &["show"]).contains("no result"));
}
