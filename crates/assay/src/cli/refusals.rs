//! Tests that refusals name a valid next command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

use super::{PAGE_COLUMNS, dispatch, read};
use assay_core::failure::Outcome;
use assay_machine::system::{Fake, System};
use assay_runner::run::known;

fn machine() -> Fake {
    let fake = known::machine();
    let more = "dir /small\nspace /small 100000000 200000000\ndir /proc/sys\n";
    fake.set_variable("ASSAY_HOME", "/assay").add(more).unwrap();
    fake.put("/bin/tool", b"\x7fELF\0\x01\xff").add("mode /bin/tool 755").unwrap();
    fake
}

fn named(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|text| text.starts_with("assay ")).map(str::to_owned).collect()
}

/// Returns whether a line is a command of the program, ignoring placeholders.
pub(super) fn is_command(line: &str) -> bool {
    let Ok(words) = shell_words::split(line) else { return false };
    let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    let Err(error) = read(&words, PAGE_COLUMNS) else { return true };
    let open = [
        ErrorKind::MissingRequiredArgument,
        ErrorKind::InvalidValue,
        ErrorKind::ValueValidation,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ];
    !error.use_stderr() || open.contains(&error.kind())
}

/// Refused lines, each with its message and the next command.
const REFUSED: [(&str, &str, &str); 13] = [
    ("check /proc", "a virtual filesystem", "assay check --quick /mnt/card"),
    ("plan queue-depth /proc", "a virtual filesystem", "assay check --quick /mnt/card"),
    ("run /bin/tool", "is a program, not a study", "assay run --command /bin/tool"),
    ("plan jobs.fio", "there is no file `jobs.fio` in this directory", "assay list presets"),
    ("plan queue-depth --capacity", "--capacity: use", "assay plan check --capacity"),
    ("run xyzzy", "no preset or file named `xyzzy`", "assay list presets"),
    (
        "run large-files /small",
        "/small has 95 MiB free, less than the area of",
        "assay run large-files /small --set area.size=47MiB",
    ),
    (
        "check /small --area 1GiB",
        "/small has 95 MiB free, less than the area of",
        "assay check /small --area 47MiB",
    ),
    ("check --sustained", "uses all free space", "assay check --sustained /media/card"),
    ("check --capacity=full", "uses all free space", "assay check --capacity=full /media/card"),
    (
        "plan schedulers /home/me",
        "to compare only scheduler",
        "assay run production /home/me --set scheduler=none,mq-deadline,kyber,bfq",
    ),
    (
        "plan schedulers /home/me",
        "give a device, or try --scratch",
        "assay run queue-depth /home/me --set queue_depth=8 --set scheduler=none,mq-deadline,kyber,bfq",
    ),
    ("run 'sleep 1'", "to time it", "assay run --command 'sleep 1'"),
];

/// Runs a line without the program's name.
fn dispatched(system: &dyn System, line: &str) -> Outcome<()> {
    let words = shell_words::split(&format!("assay {line}")).unwrap();
    let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    dispatch(system, read(&words, PAGE_COLUMNS).unwrap().command.unwrap())
}

#[test]
fn each_refusal_names_the_next_command() {
    for (line, said, next) in REFUSED {
        let told = dispatched(&machine(), line).expect_err(line).message;
        assert!(told.contains(said), "{line}: {told}");
        assert!(!told.contains("os error") && told.len() < 500, "{line}: {told}");
        assert!(named(&told).contains(&next.to_owned()), "{line}: {told}");
        assert!(named(&told).iter().all(|command| is_command(command)), "{line}: {told}");
    }
}

#[test]
fn a_target_under_two_names_is_refused() {
    let fake = machine();
    fake.add("link /again /small\nlink /dev/again sda\n").unwrap();
    for (line, said) in [
        ("check /small /small", "is listed twice"),
        ("check /small /again", "are the same target"),
        ("check /dev/sda /dev/again", "are the same target"),
    ] {
        let told = dispatched(&fake, line).expect_err(line).message;
        assert!(told.contains(said), "{line}: {told}");
    }
}

#[test]
fn the_smaller_area_that_a_refusal_names_is_planned() {
    const PLAN: &str = "plan large-files /small";
    let fake = machine();
    for (free, area) in [(100_000_000, "47MiB"), (20 << 20, "16MiB")] {
        fake.add(&format!("space /small {free} 200000000\n")).unwrap();
        let told = dispatched(&fake, PLAN).unwrap_err().message;
        let next = format!("{PLAN} --set area.size={area}");
        assert!(named(&told).contains(&format!("assay {next}")), "{told}");
        dispatched(&fake, &next).unwrap_or_else(|failure| panic!("{next}: {}", failure.message));
    }
    // With enough space, the same study is planned unchanged.
    fake.add("space /small 4294967296 4294967296\n").unwrap();
    dispatched(&fake, PLAN).unwrap();
}

#[allow(clippy::disallowed_methods, reason = "reads the sources of these crates")]
fn sources(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Returns a source without comments, its strings joined and placeholders replaced by a word.
fn told_by(source: &str) -> String {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n");
    let mut told = String::new();
    for part in code.split("\\\n") {
        told.push_str(if told.is_empty() { part } else { part.trim_start() });
    }
    let mut filled = String::new();
    let mut rest = told.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (inside, behind) = after.split_once('}').unwrap_or(("", after));
        let is_placeholder = inside.len() < 40 && !inside.contains(['\n', '`', ' ', '"']);
        if is_placeholder {
            filled.push('x');
            rest = behind;
        } else {
            filled.push('{');
            rest = after;
        }
    }
    filled.push_str(rest);
    filled
}

#[test]
fn every_command_in_backquotes_that_a_source_tells_is_one() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    let deciding =
        ["assay-core", "assay-workloads", "assay-machine", "assay-study", "assay-analysis"];
    for name in deciding.into_iter().chain(["assay", "assay-report"]) {
        sources(&here.join("..").join(name).join("src"), &mut all);
    }
    let mut seen = 0;
    for (path, source) in all.iter().filter(|(path, _)| !path.ends_with("cli/refusals.rs")) {
        for line in told_by(source).split('\n').flat_map(named) {
            // Ignores the name alone (a placeholder) and an ellipsis.
            if line == "assay x" || line.contains('…') {
                continue;
            }
            assert!(
                is_command(&line.replace("...", "")),
                "{}: `{line}` is no command",
                path.display()
            );
            seen += 1;
        }
    }
    assert!(seen > 25, "{seen}");
    assert!(!is_command("assay run queue-depth --areal 1GiB") && !is_command("assay chekc"));
}
