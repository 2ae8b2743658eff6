//! `assay calc` for users, and its CVT timings compared with the program `cvt`.

use std::collections::BTreeSet;

use assay_core::calc::modeline::{Mode, Sign, Timing};
use assay_testkit::needs::{Need, have};

use crate::home;

/// Output of `cvt`, recorded by `record.sh` in the same folder.
const RECORDED: &str = include_str!("../fixtures/cvt/modes.txt");

fn timing(kind: &str) -> Timing {
    match kind {
        "reduced" => Timing::CvtR,
        "standard" => Timing::Cvt,
        _ => panic!("{kind}"),
    }
}

fn sign(sign: Option<Sign>) -> char {
    sign.map_or('?', Sign::mark)
}

fn columns(mode: &Mode) -> String {
    let numbers: Vec<String> = mode.h.iter().chain(&mode.v).map(u32::to_string).collect();
    let figures = mode.figures();
    format!(
        "{} {} | {:.2} {:.2} | {}hsync {}vsync",
        mode.clock_text(),
        numbers.join(" "),
        figures.h_khz,
        figures.v_hz,
        sign(mode.hsync),
        sign(mode.vsync)
    )
}

#[test]
fn modes_are_those_of_cvt_to_its_printed_digits() {
    let mut kinds = BTreeSet::new();
    for line in RECORDED.lines() {
        let (asked, printed) = line.split_once(" | ").unwrap();
        let words: Vec<&str> = asked.split(' ').collect();
        let size = [words[0].parse().unwrap(), words[1].parse().unwrap()];
        let mode = timing(words[3]).mode(size, words[2].parse().unwrap()).unwrap();
        assert_eq!(columns(&mode), printed, "{asked}");
        kinds.insert(words[3]);
    }
    assert!(RECORDED.lines().count() >= 40 && kinds.len() == 2);
}

/// Returns the output of the installed `cvt`, in the same columns.
fn live(size: [u32; 2], rate: &str, reduced: bool) -> String {
    let [width, height] = size.map(|one| one.to_string());
    let flag: &[&str] = if reduced { &["-r"] } else { &[] };
    let text = assay_testkit::call("cvt", &[flag, &[&width, &height, rate]].concat()).unwrap();
    let between = |from: &str, to: &str| {
        let rest = text.split_once(from).unwrap().1;
        rest.split_once(to).unwrap().0.trim().to_owned()
    };
    let (hz, khz) = (between(&format!("{width}x{height} "), " Hz"), between("hsync: ", " kHz"));
    let line = text.lines().nth(1).unwrap().rsplit('"').next().unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    format!("{} | {khz} {hz} | {}", words[..9].join(" "), words[9..].join(" "))
}

#[test]
fn modes_are_those_of_the_cvt_that_is_installed() {
    if !have(&[Need::Program("cvt")]) {
        return;
    }
    // Widths are multiples of 8: cvt prints the rounded one, and turns 1360 into 1366.
    for (step, width) in (640..4000).step_by(168).enumerate() {
        let height = 480 + 97 * step as u32;
        for (rate, reduced) in
            [("60", true), ("120", true), ("24", false), ("59.94", false), ("85", false)]
        {
            let size = [width, height];
            let kind = if reduced { Timing::CvtR } else { Timing::Cvt };
            let mode = kind.mode(size, rate.parse().unwrap()).unwrap();
            assert_eq!(columns(&mode), live(size, rate, reduced), "{size:?} {rate} {reduced}");
        }
    }
}

#[test]
fn what_cannot_be_is_one_line_and_exit_2() {
    let home = home("calc-wrong");
    let refused = |words: &str| {
        home.refused(2, &[&["calc"][..], &words.split(' ').collect::<Vec<_>>()].concat())
    };
    for (words, advice) in [
        ("modeline 0x0 --clock 165", "1920x1080"),
        ("modeline 3840x2400 --clock 0", "60 MHz"),
        ("modeline 3840x2400 --v 60-12", "use 12-60"),
        ("modeline 3840x2400", "--clock, --h, --v"),
        ("modeline", "WIDTHxHEIGHT"),
        ("modeline 3840x2400 --clock 165 --v 40-60", "more than --clock allows"),
        ("modeline 3840x2400 --timing fixed --clock 165", "--blanking"),
        ("modeline 3840x2400 --blanking 2x2 --clock 165", "example: 160x20"),
        ("modeline --line 165", "too few"),
        ("modeline 1920x1080 --edid /missing", "/missing"),
        ("raid --level 7 --disks 4 --size 3TB", "0, 1, 4, 5, 6 or 10"),
        ("raid --level 5 --disks 2 --size 3TB", "--disks 3"),
        ("raid --level 5 --disks 4 --size 3", "3 KiB"),
        ("zram --memory 0", "--memory"),
        ("zram --memory 1GiB --ratio 0", "--ratio"),
        ("memmap", "mem=448M@0M"),
        ("memmap mem=448Q@0M", "448M@0M"),
        ("flash-time --iops 0", "60 IOPS"),
        ("flash-time", "--iops"),
        ("flash-time --iops 1 --budget 1s", "--budget"),
        ("", "modeline"),
    ] {
        let line = if words.is_empty() { home.refused(2, &["calc"]) } else { refused(words) };
        assert!(line.contains(advice), "{words}: {line}");
    }
}
