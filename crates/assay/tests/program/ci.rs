//! Tests `ci/gate.sh`, used by the GitHub action and the GitLab template: its files and its exit codes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use assay_core::digest::{hexadecimal, sha256};
use assay_testkit::home::Home;
use assay_testkit::needs::{Need, have};
use assay_testkit::process::{Ended, run};

use crate::gates::STUDY;
use crate::{DRIVE, git, home, printed_by};

const PROGRAM: &str = env!("CARGO_BIN_EXE_assay");
const CI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci");
const LIMIT: Duration = Duration::from_secs(100);

const KEPT: [&str; 3] = ["comment.md", "gate.xml", "result.assay"];

const READ: [&str; 12] = [
    "ASSAY_ARGS",
    "ASSAY_PROGRAM",
    "ASSAY_URL",
    "ASSAY_SHA256",
    "ASSAY_OUT",
    "ASSAY_HOME",
    "ASSAY_COMMENT",
    "GITHUB_ACTIONS",
    "GITHUB_REF",
    "GITHUB_REPOSITORY",
    "GITHUB_STEP_SUMMARY",
    "GITHUB_OUTPUT",
];

/// Runs the script in a folder, with these of its variables set.
fn gate(folder: &Path, set: &[(&str, &str)]) -> Ended {
    gate_of(&format!("{CI}/gate.sh"), folder, set)
}

/// Does the same with a copy of the script. Programs in `bin` of the folder come first.
fn gate_of(script: &str, folder: &Path, set: &[(&str, &str)]) -> Ended {
    let mut command = Command::new("sh");
    command.arg(script).current_dir(folder).env("TMPDIR", folder);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}/bin:{path}", folder.display()));
    for name in READ {
        command.env_remove(name);
    }
    run(command.envs(set.iter().copied()), LIMIT).unwrap()
}

fn kept(folder: &Path) -> Vec<&'static str> {
    let own = folder.join("assay-gate");
    KEPT.into_iter().filter(|name| own.join(name).exists()).collect()
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join("assay-gate").join(name)).unwrap()
}

fn homes(folder: &Path) -> usize {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("assay-gate.")).count()
}

/// Creates a program with this text. Uses another process: a file open for writing, including in the child of another
/// test, cannot be executed.
fn program(home: &Home, path: &str, text: &str) {
    home.file("assay.txt", text);
    printed_by(home.scratch.path(), "install", &["-D", "-m", "755", "assay.txt", path]);
}

fn quick_line(home: &Home) -> String {
    home.file("depth.toml", STUDY);
    format!("run depth.toml '{DRIVE}' --gate 20% --quiet --set queue_depth=4,8")
}

/// The three policies for an inconclusive gate, the files, and one comment per pull request, also if `gh` fails.
#[test]
fn inconclusive_gate_fails_warns_or_repeats() {
    let home = home("ci-policies");
    let folder = home.scratch.path();
    home.file("depth.toml", STUDY);
    let gh = "#!/bin/sh\necho \"$*\" >>gh.log\n[ \"$2\" != --paginate ] || cat ids\n";
    program(&home, "bin/gh", gh);
    for (code, policy, ended, counts, asked) in [
        (1, "--until gate --budget 40s", "failed", [1, 0], "api --paginate "),
        (
            5,
            "--replicates \\\n  2",
            "inconclusive",
            [0, 1],
            "api --silent repos/o/r/issues/12/comments ",
        ),
        (
            0,
            "--replicates 2 --set gate.allow_inconclusive=true",
            "passed",
            [0, 1],
            "api --silent --method PATCH repos/o/r/issues/comments/7 ",
        ),
    ] {
        let [summary, output] = ["summary.md", "output.txt"].map(|name| home.file(name, ""));
        let line =
            format!("assay run depth.toml '{DRIVE}' --gate 20% -q --set queue_depth=1,4 {policy}");
        let set = [
            ("ASSAY_PROGRAM", PROGRAM),
            ("ASSAY_ARGS", line.as_str()),
            ("ASSAY_COMMENT", "gate-0"),
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_REF", "refs/pull/12/merge"),
            ("GITHUB_REPOSITORY", "o/r"),
            ("GITHUB_STEP_SUMMARY", summary.as_str()),
            ("GITHUB_OUTPUT", output.as_str()),
        ];
        let ran = gate(folder, &set);
        assert_eq!(ran.code, code, "{policy}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(kept(folder), KEPT);
        let comment = read(folder, "comment.md");
        assert!(comment.contains(&format!("Gate {ended}")), "{comment}");
        assert_eq!(fs::read_to_string(&summary).unwrap(), comment);
        assert_eq!(fs::read_to_string(&output).unwrap(), format!("code={code}\n"));
        let counts = format!("failures=\"{}\" errors=\"0\" skipped=\"{}\"", counts[0], counts[1]);
        assert!(read(folder, "gate.xml").contains(&counts), "{}", read(folder, "gate.xml"));
        let warned = ran.stdout.contains("::warning title=assay::the gate is inconclusive");
        assert_eq!(warned, code == 0, "{policy}: {}", ran.stdout);
        let log = fs::read_to_string(folder.join("gh.log")).unwrap();
        assert!(log.lines().next_back().unwrap().starts_with(asked), "{policy}: {log}");
        assert_eq!(ran.stderr.contains("cannot comment"), code == 1, "{}", ran.stderr);
        // Comments that `gh` finds in the next run.
        home.file("ids", if code == 1 { "" } else { "7\n8\n" });
    }
    assert!(read(folder, "body.md").starts_with("<!-- assay gate-0 -->\n\n"));
    let whole = folder.join("assay-gate/result.assay").display().to_string();
    let id = home.text(&["import", &whole]);
    assert_eq!(home.json(&["show", id.trim(), "--json"])["gate"]["outcome"], "pass");
    assert_eq!(homes(folder), 0, "homes of results that are kept");
}

#[test]
fn program_is_built_from_the_checkout() {
    let home = home("ci-build");
    let folder = home.scratch.path();
    release(&home);
    let line = quick_line(&home);
    let script = folder.join("own/ci/gate.sh").display().to_string();
    printed_by(folder, "install", &["-D", &format!("{CI}/gate.sh"), &script]);
    let built = "[ \"$1\" = build ] && install -D release/assay own/target/release/assay\n";
    program(&home, "bin/cargo", &format!("#!/bin/sh\n{built}"));
    let ended = || gate_of(&script, folder, &[("ASSAY_ARGS", line.as_str())]);
    let ran = ended();
    assert_eq!((ran.code, ran.stderr.contains("no program: set")), (2, true), "{}", ran.stderr);
    printed_by(folder, "install", &["-D", "depth.toml", "own/crates/assay/Cargo.toml"]);
    let ran = ended();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(folder.join("ran").exists());
}

#[test]
#[ignore = "nightly: 2 s"]
fn both_sides_of_a_change_are_measured_in_a_checkout() {
    let _turn = crate::turn();
    let home = home("ci-checkout");
    let repository = home.scratch.path().join("repository");
    fs::create_dir(&repository).unwrap();
    let commit = |text: &str| {
        fs::write(repository.join("work.sh"), text).unwrap();
        git(&repository, &["add", "work.sh"]);
        git(&repository, &["commit", "-qm", text]);
    };
    git(&repository, &["init", "-q", "-b", "main"]);
    commit("sleep 0.02");
    git(&repository, &["worktree", "add", "-q", "--detach", "../base", "main"]);
    let ended = || {
        let line = "run --command 'sh ../base/work.sh' --command 'sh ./work.sh' --gate 5% --quiet \
                    --replicates 5 --set runs_per_trial=2";
        let ran = gate(&repository, &[("ASSAY_PROGRAM", PROGRAM), ("ASSAY_ARGS", line)]);
        assert_eq!(kept(&repository), KEPT, "{}{}", ran.stdout, ran.stderr);
        let counts = match ran.code {
            0 => "failures=\"0\" errors=\"0\" skipped=\"0\"",
            1 => "failures=\"1\" errors=\"0\" skipped=\"0\"",
            _ => "failures=\"0\" errors=\"0\" skipped=\"1\"",
        };
        let told = read(&repository, "gate.xml");
        assert!(told.contains(counts), "{}: {told}", ran.code);
        assert!(told.contains("name=\"command (sh ./work.sh): duration_s\">"), "{told}");
        ran.code
    };
    // With busy CPUs, it may be inconclusive.
    assert!([0, 5].contains(&ended()));
    commit("sleep 0.05");
    assert!([1, 5].contains(&ended()));
    assert_eq!(git(&repository, &["status", "--porcelain"]), "?? assay-gate/\n");
}

/// Returns a program that prints a line and then runs assay, in a release folder; small, for a fast checksum. Also
/// returns its SHA-256.
fn release(home: &Home) -> (String, String) {
    let text = format!("#!/bin/sh\necho ran >>ran\nexec '{PROGRAM}' \"$@\"\n");
    program(home, "release/assay", &text);
    ("release/assay".to_owned(), hexadecimal(&sha256(text.as_bytes())))
}

fn archive(home: &Home) -> (String, String) {
    release(home);
    let folder = home.scratch.path();
    printed_by(folder, "tar", &["-czf", "release.tar.gz", "release"]);
    let bytes = fs::read(folder.join("release.tar.gz")).unwrap();
    ("release.tar.gz".to_owned(), hexadecimal(&sha256(&bytes)))
}

#[test]
fn what_cannot_be_run_is_told_and_leaves_nothing() {
    let home = home("ci-refused");
    let folder = home.scratch.path();
    let (program, _) = release(&home);
    let (line, wrong) = (quick_line(&home), "0".repeat(64));
    let line = ("ASSAY_ARGS", line.as_str());
    let own = ("ASSAY_PROGRAM", program.as_str());
    fs::create_dir(folder.join("assay-gate")).unwrap();
    for (code, set, told) in [
        (2, vec![line, ("ASSAY_PROGRAM", "nowhere/assay")], "there is no file nowhere/assay"),
        (2, vec![line, ("ASSAY_PROGRAM", "depth.toml")], "it cannot be executed"),
        (2, vec![line, own, ("ASSAY_URL", "https://example.org/assay")], "say one of them"),
        (2, vec![line, ("ASSAY_URL", "https://example.org/assay")], "needs ASSAY_SHA256"),
        (2, vec![own], "ASSAY_ARGS is empty"),
        (2, vec![own, ("ASSAY_ARGS", "compare A B --gate 5%")], "is a line of assay run"),
        (3, vec![line, own, ("ASSAY_SHA256", wrong.as_str())], "it is not run"),
    ] {
        // Output of an earlier job is not used.
        home.file("assay-gate/gate.xml", "<testsuites/>");
        let ran = gate(folder, &set);
        assert_eq!(ran.code, code, "{set:?}: {}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stderr.starts_with("assay-gate: ") && ran.stderr.contains(told),
            "{}",
            ran.stderr
        );
        assert_eq!((kept(folder), ran.stdout.as_str()), (Vec::new(), ""), "{set:?}");
        assert!(!folder.join("ran").exists(), "{set:?}");
    }
    // The script refuses what the program refuses.
    let none = format!("run depth.toml '{DRIVE}' --quiet");
    let ran = gate(folder, &[own, ("ASSAY_ARGS", none.as_str())]);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("add --gate 5%") && kept(folder).is_empty(), "{}", ran.stderr);
}

#[test]
fn a_release_is_downloaded_and_run_where_its_checksum_is_right() {
    if !have(&[Need::Program("curl")]) {
        return;
    }
    let home = home("ci-download");
    let folder = home.scratch.path();
    let (file, sum) = archive(&home);
    let (line, wrong) = (quick_line(&home), "0".repeat(64));
    let address = |file: &str| format!("file://{}/{file}", folder.display());
    for (code, url, sum, told) in [
        (3, address("nothing.tar.gz"), &sum, "could not be downloaded"),
        (3, address(&file), &wrong, "it is not run"),
        (0, address(&file), &sum, ""),
    ] {
        let set = [
            ("ASSAY_ARGS", line.as_str()),
            ("ASSAY_URL", url.as_str()),
            ("ASSAY_SHA256", sum.as_str()),
        ];
        let ran = gate(folder, &set);
        assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
        assert_eq!(folder.join("ran").exists(), code == 0);
    }
    assert_eq!(kept(folder), KEPT);
}

#[test]
fn results_stay_beside_a_journal_of_what_is_not_put_back() {
    let home = home("ci-left");
    let folder = home.scratch.path();
    for (place, left) in [("other", 0), ("journal", 1)] {
        let own = format!("\"$ASSAY_HOME\"/{place}");
        let text = format!("#!/bin/sh\nmkdir {own} && : >{own}/a.jsonl && kill -KILL $$\n");
        program(&home, place, &text);
        let ran = gate(folder, &[("ASSAY_PROGRAM", place), ("ASSAY_ARGS", "run depth --gate 5%")]);
        assert_eq!(ran.code, 137, "{place}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(homes(folder), left, "{place}");
        assert_eq!(ran.stderr.contains("assay restore"), left > 0, "{place}: {}", ran.stderr);
    }
}

#[test]
fn the_action_and_the_template_have_no_shell_but_the_script() {
    let text = |name: &str| fs::read_to_string(format!("{CI}/{name}")).unwrap();
    let [script, action, template] = ["gate.sh", "github/action.yml", "gitlab/assay.yml"].map(text);
    let run =
        |line: &str| line.trim().trim_start_matches("- ").strip_prefix("run:").map(str::to_owned);
    let steps: Vec<String> = action.lines().filter_map(run).collect();
    assert_eq!(steps, [" sh \"$GITHUB_ACTION_PATH/../gate.sh\""]);
    assert_eq!(template.matches("script:\n").count(), 1, "before and after it, too");
    let (_, rest) = template.split_once("  script:\n").unwrap();
    let steps: Vec<&str> = rest.lines().map_while(|line| line.trim().strip_prefix("- ")).collect();
    assert_eq!(steps, ["sh \"$ASSAY_GATE\""]);
    // Each variable passed to the script is read, and comes from an existing input.
    let mut handed = 0;
    for (name, value) in action.lines().filter_map(|line| line.trim().split_once(": ${{ inputs.")) {
        let input = value.split(' ').next().unwrap();
        assert!(action.contains(&format!("\n  {input}:\n")), "{input}");
        if name.starts_with("ASSAY_") {
            handed += 1;
            assert!(READ.contains(&name) && script.contains(&format!("${{{name}:-")), "{name}");
        }
    }
    assert_eq!(handed, 6);
    // Jobs of a matrix have different names.
    assert_eq!(action.matches("'assay-gate-{0}-{1}', github.job, strategy.job-index").count(), 2);
    for name in KEPT {
        assert!(action.contains(&format!("}}/{name}\n")), "{name}");
        assert!(template.contains(&format!("- assay-gate/{name}\n")), "{name}");
    }
    let bits = fs::metadata(format!("{CI}/gate.sh")).unwrap().permissions().mode();
    assert_eq!(bits & 0o111, 0o111, "{bits:o}");
}
