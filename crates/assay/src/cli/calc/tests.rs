//! The help's examples run, and their output fits the terminal.

use clap::Parser;
use proptest::prelude::*;

use super::super::{Command, CommandLine, definition};
use super::page::{bytes, decimal};
use super::*;
use assay_machine::system::Fake;

/// Splits a line into words; text in single quotes is one word.
fn words(line: &str) -> Vec<String> {
    let part = |(index, part): (usize, &str)| match index % 2 {
        1 => vec![part.to_owned()],
        _ => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
    };
    line.split('\'').enumerate().flat_map(part).collect()
}

fn parsed(words: &[String]) -> Calculation {
    let parsed = CommandLine::try_parse_from(words);
    match parsed.unwrap_or_else(|error| panic!("{words:?}: {error}")).command {
        Some(Command::Calc(arguments)) => arguments.calculation,
        _ => panic!("{words:?}"),
    }
}

fn at_width(line: &[String], columns: usize) -> String {
    let system = Fake::new();
    system.set_variable("COLUMNS", &columns.to_string());
    output_text(&system, &parsed(line)).unwrap_or_else(|failure| panic!("{line:?}: {failure}"))
}

/// Returns the lines of the help that run a calculation, except the one that reads a file.
fn examples() -> Vec<Vec<String>> {
    let mut all = definition();
    let calc = all.find_subcommand_mut("calc").unwrap();
    let mut found = Vec::new();
    for calculation in calc.get_subcommands_mut().filter(|one| one.get_name() != "help") {
        let name = calculation.get_name().to_owned();
        let help = calculation.render_long_help().to_string();
        let start = format!("assay calc {name} ");
        let lines = help.lines().map(str::trim).filter(|line| line.starts_with(&start));
        let lines: Vec<&str> = lines.collect();
        assert!(lines.iter().all(|line| line.len() < 80), "the page would break {lines:?}");
        let lines: Vec<Vec<String>> = lines.into_iter().map(words).collect();
        assert!(lines.len() > 2, "{name}: {help}");
        found.extend(lines.into_iter().filter(|line| !line.contains(&"--edid".to_owned())));
    }
    found
}

/// The output of each example contains each piece of the help's result.
#[test]
fn the_examples_give_what_the_help_says() {
    let shown = [
        ("--clock 165 --h 31-105 --v 12-60", "17.3 Hz with rb2: 164.114 MHz"),
        ("2880x1800 --h", "48.8 Hz with rb1: 273.25 MHz"),
        ("--line", "41.168 kHz, 17.110 Hz. No limits"),
        ("--timing cvt", "173.00  1920 2048 2248 2576  1080 1083 1088 1120 -hsync +vsync"),
        ("--blanking 168x6", "17.1"),
        ("--chunk 128KiB --write 2KiB", "as listed 384 256 640"),
        ("--chunk 128KiB --write 2KiB", "8.19 TiB (9 TB), 75%"),
        ("--write 384KiB", "1536"),
        ("--level 5,6,10", "6 21.8 TiB (24 TB) any 2 disks 7.41 h 24"),
        ("zram --memory 512MiB", "zram of 511 MiB"),
        ("--size 1GiB --ratio 1.8", "would use all memory"),
        ("--share 25%", "25% of memory"),
        ("--before 448M", "496 MiB, a change of +10.71%"),
        ("1280x720@32", "11700"),
        ("mem=62M@450M", "fit into the largest gap"),
        ("--iops 1,19,90", "36.4 h"),
        ("--iops 1,19,90", "115 min"),
        ("--rate 20MB/s", "57.3 min"),
        ("--budget 30min", "30 in 30 min"),
    ];
    let told: Vec<(String, String)> =
        examples().iter().map(|line| (line.join(" "), at_width(line, 80))).collect();
    for (part, piece) in shown {
        let mut pages = told.iter().filter(|(line, _)| line.contains(part));
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = pages.any(|(_, page)| squeezed(page).contains(&squeezed(piece)));
        assert!(found, "{part}: {piece}");
    }
}

#[test]
fn nothing_but_what_is_copied_is_wider_than_the_terminal() {
    for line in examples() {
        for columns in [80, 40] {
            let page = at_width(&line, columns);
            let document = page.split("\n# ").next().unwrap();
            for line in document.lines().filter(|line| line.contains(' ')) {
                assert!(line.chars().count() <= columns, "{columns}: {line}\n{page}");
            }
        }
    }
}

#[test]
fn json_is_one_document_with_its_format() {
    for line in examples() {
        let line: Vec<String> = line.into_iter().chain(["--json".to_owned()]).collect();
        let json: serde_json::Value = serde_json::from_str(&at_width(&line, 80)).unwrap();
        assert_eq!(json["format"], "assay-calc/1", "{line:?}");
        assert_eq!(json["calculation"].as_str(), Some(line[2].as_str()));
    }
}

#[test]
fn limits_of_a_monitor_are_taken_where_none_are_given() {
    let mut edid = vec![0; 128];
    edid[..8].copy_from_slice(&[0, 255, 255, 255, 255, 255, 255, 0]);
    (edid[18], edid[19]) = (1, 3);
    edid[57] = 0xFD;
    edid[59..64].copy_from_slice(&[12, 60, 31, 105, 17]);
    edid[127] = 0_u8.wrapping_sub(edid.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
    let system = Fake::new();
    system.put("/edid.bin", &edid).put("/other", b"no EDID");
    let of = |words: &str| {
        output_text(
            &system,
            &parsed(&self::words(&format!("assay calc modeline 3840x2400 {words}"))),
        )
    };
    let page = of("--edid /edid.bin --clock 165").unwrap();
    assert!(page.contains("clock up to 165 MHz, 31 to 105 kHz, 12 to 60 Hz"), "{page}");
    assert!(page.contains("17.3 Hz with rb2"), "{page}");
    assert!(of("--edid /edid.bin").unwrap().contains("clock up to 170 MHz"));
    for wrong in ["/other", "/missing", "/"] {
        let failure = of(&format!("--edid {wrong}")).unwrap_err();
        assert_eq!(failure.kind.exit_code(), 2, "{failure}");
    }
}

/// Tests a monitor whose preferred mode is 1920x1080 at 60 Hz, and that states up to 50 Hz or no limits.
#[test]
fn doubtful_edids_are_named_or_asked_for() {
    let system = Fake::new();
    for (name, tag) in [("/beyond", 0xFD), ("/none", 0x10)] {
        let mut edid = vec![0; 128];
        edid[..8].copy_from_slice(&[0, 255, 255, 255, 255, 255, 255, 0]);
        (edid[18], edid[19], edid[75]) = (1, 3, tag);
        edid[54..62].copy_from_slice(&[2, 0x3A, 128, 24, 0x71, 56, 45, 0x40]);
        edid[77..82].copy_from_slice(&[48, 50, 30, 83, 17]);
        edid[127] = 0_u8.wrapping_sub(edid.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
        system.put(name, &edid);
    }
    let of = |options: &str| {
        let line = format!("assay calc modeline 1920x1080 --edid {options}");
        output_text(&system, &parsed(&self::words(&line))).map_err(|failure| failure.message)
    };
    let plain = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let beyond = plain(of("/beyond").unwrap());
    assert!(beyond.contains("outside its range limits (1920x1080"), "{beyond}");
    let unfit = plain(of("/beyond --v 9000-9999").unwrap_err());
    assert!(unfit.contains("outside its range limits"), "{unfit}");
    let asked = of("/none").unwrap_err();
    assert!(asked.contains("no range limits (tag 0xFD); give --clock, --h and --v"), "{asked}");
    assert!(of("/none --clock 165 --h 31-105").is_err());
    assert!(of("/none --clock 165 --h 31-105 --v 50-75").is_ok());
}

#[test]
fn numbers_of_the_page() {
    assert_eq!((decimal(100.0, 0).as_str(), decimal(17.30, 3).as_str()), ("100", "17.3"));
    assert_eq!(bytes(3_000_000_000_000), "2.73 TiB (3 TB)");
    assert_eq!(bytes(512 << 20), "512 MiB");
}

proptest! {
    #[test]
    fn wrong_words_are_refused_and_never_panic(
        name in "(modeline|raid|zram|memmap|flash-time)",
        words in proptest::collection::vec(word(), 0..8),
    ) {
        let line = ["assay".to_owned(), "calc".to_owned(), name].into_iter().chain(words);
        if let Ok(arguments) = CommandLine::try_parse_from(line)
            && let Some(Command::Calc(arguments)) = arguments.command
            && let Err(failure) = output_text(&Fake::new(), &arguments.calculation)
        {
            prop_assert_eq!(failure.kind.exit_code(), 2);
            prop_assert!(!failure.message.contains('\n'));
        }
    }
}

fn word() -> impl Strategy<Value = String> {
    let option = "(clock|h|v|refresh|timing|blanking|line|level|disks|size|chunk|write|rate|memory|\
                  share|ratio|frame-buffer|before|iops|area|block|trial|budget)";
    prop_oneof![
        option.prop_map(|name| format!("--{name}")),
        "[0-9]{1,20}",
        "[0-9]{1,9}(MiB|TB|%|s|x[0-9]{1,5})",
        "[0-9]{1,4}-[0-9]{1,4}",
        "[0-9]{1,5}x[0-9]{1,5}@[0-9]{1,3}",
    ]
}
