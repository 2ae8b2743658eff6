//! Running and measuring programs: the results, and that no process remains.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use assay_core::presence::Presence;
use assay_machine::system::execute::{
    self, CpuCounts, Ending, KEPT_COMPLAINT_BYTES, PeakBy, PeakMemory,
};
use assay_machine::system::identity::Caller;

use super::*;

/// Longer than any test waits: such a test has failed.
const LONG: Duration = Duration::from_secs(60);

struct Run {
    words: Vec<String>,
    directory: PathBuf,
    passed: Vec<String>,
    environment: Vec<(String, String)>,
    caller: Option<Caller>,
    input: Option<PathBuf>,
    timeout: Option<Duration>,
    stop: AtomicBool,
    heard_bytes: u64,
    hashed: bool,
    counted: bool,
}

impl Run {
    fn new(words: &[&str]) -> Self {
        Self {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            directory: "/".into(),
            passed: execute::passed(&Real, &[]),
            environment: Vec::new(),
            caller: None,
            input: None,
            timeout: Some(LONG),
            stop: AtomicBool::new(false),
            heard_bytes: 0,
            hashed: false,
            counted: false,
        }
    }

    fn shell(script: &str) -> Self {
        Self::new(&["sh", "-c", script])
    }

    fn below(self, scratch: &Scratch) -> Self {
        Self { directory: scratch.0.clone(), ..self }
    }

    fn try_it(&self) -> io::Result<Executed> {
        let executed = self.execute();
        crate::real::leave();
        executed
    }

    /// The same, but leaves the control group for the next run.
    fn execute(&self) -> io::Result<Executed> {
        Real.execute(&self.execution())
    }

    fn execution(&self) -> Execution<'_> {
        Execution {
            words: &self.words,
            directory: &self.directory,
            passed: &self.passed,
            environment: &self.environment,
            caller: self.caller,
            input: self.input.as_deref(),
            timeout: self.timeout,
            stop: &self.stop,
            memory: None,
            heard_bytes: self.heard_bytes,
            hashed: self.hashed,
            counted: self.counted,
        }
    }

    fn done(&self) -> Executed {
        self.try_it().unwrap()
    }

    fn refused(&self) -> (io::ErrorKind, String) {
        let error = self.try_it().unwrap_err();
        (error.kind(), error.to_string())
    }
}

/// IDs that a program wrote to a file, one per line.
fn ids(path: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.trim().parse().unwrap()).collect()
}

fn are_gone(ids: &[u32]) -> bool {
    ids.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists())
}

fn children() -> String {
    let _turn = crate::real::execute::lock_turn();
    std::fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id()))
        .unwrap_or_default()
}

#[test]
fn an_exit_code_is_told() {
    assert_eq!(Run::new(&["true"]).done().ending, Ending::Exited(0));
    assert_eq!(Run::shell("exit 7").done().ending, Ending::Exited(7));
}

#[test]
fn a_signal_is_told() {
    assert_eq!(Run::shell("kill -SEGV $$").done().ending, Ending::Signalled(11));
    assert_eq!(Run::shell("kill -KILL $$").done().ending, Ending::Signalled(9));
}

#[test]
fn time_is_measured_from_start_to_end() {
    let before = Instant::now();
    let done = Run::new(&["sleep", "0.05"]).done();
    let all = before.elapsed().as_nanos() as u64;
    assert!((50_000_000..=all).contains(&done.wall_ns), "{done:?}");
}

#[test]
fn what_is_not_there_is_named() {
    let (kind, said) = Run::new(&["assay-no-such-program", "x"]).refused();
    assert_eq!(kind, io::ErrorKind::NotFound);
    assert!(said.starts_with("cannot start `assay-no-such-program`: no such"), "{said}");
    let (kind, said) = Run::new(&["./no-such"]).refused();
    assert_eq!(kind, io::ErrorKind::NotFound);
    assert!(said.contains("`./no-such`: no such file relative to /"), "{said}");
    assert_eq!(Run::new(&[]).refused().0, io::ErrorKind::InvalidInput);
    assert_eq!(Run::new(&[""]).refused().0, io::ErrorKind::InvalidInput);
    assert_eq!(Run::new(&["a\0b"]).refused().0, io::ErrorKind::InvalidInput);
}

#[test]
fn what_may_not_be_executed_is_named() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("data"), "x").unwrap();
    let (kind, said) = Run::new(&["./data"]).below(&scratch).refused();
    assert_eq!(kind, io::ErrorKind::PermissionDenied);
    assert!(said.starts_with("cannot start `./data`: ") && said.contains("chmod +x"), "{said}");
}

#[test]
fn a_script_whose_interpreter_is_missing_is_told_from_a_missing_script() {
    let scratch = Scratch::new();
    // Another process writes it, and closes it before the start.
    let script = "printf '#!/no/such/interpreter\\n' > script; chmod 755 script";
    assert_eq!(Run::shell(script).below(&scratch).done().ending, Ending::Exited(0));
    let (kind, said) = Run::new(&["./script"]).below(&scratch).refused();
    assert_eq!(kind, io::ErrorKind::NotFound);
    assert!(said.contains("first line"), "{said}");
}

#[test]
fn a_directory_that_is_missing_is_named() {
    let run = Run { directory: "/no/such".into(), ..Run::new(&["true"]) };
    let (kind, said) = run.refused();
    assert_eq!(kind, io::ErrorKind::NotFound);
    assert_eq!(said, "the directory /no/such does not exist; create the directory or use another");
    let (_, said) = Run { directory: "/etc/passwd".into(), ..Run::new(&["true"]) }.refused();
    assert!(said.starts_with("the directory /etc/passwd is inaccessible"), "{said}");
}

#[test]
fn it_runs_in_its_directory_and_reads_its_input() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("words"), "one two\n").unwrap();
    let run = Run::shell("read -r line; echo \"$line in $(pwd -P)\" >&2").below(&scratch);
    let done = Run { input: Some("words".into()), ..run }.done();
    let place = scratch.0.canonicalize().unwrap();
    assert_eq!(done.complaint, format!("one two in {}\n", place.display()));
    let absent = Run { input: Some("no-words".into()), ..Run::new(&["true"]).below(&scratch) };
    let (kind, said) = absent.refused();
    assert_eq!(kind, io::ErrorKind::NotFound);
    assert!(said.starts_with("no-words, the input of `true`, is inaccessible"), "{said}");
}

#[test]
fn who_reads_the_terminal_gets_nothing_at_once() {
    let done = Run::shell("cat; test -z \"$(cat)\" && ! cat < /dev/tty").done();
    assert_eq!(done.ending, Ending::Exited(0), "{}", done.complaint);
}

/// Runs the test above in a process with a terminal.
#[test]
fn the_terminal_of_this_process_is_not_the_programs() {
    if !have(&[Need::Program("script")]) {
        return;
    }
    let tests = std::env::current_exe().unwrap();
    let name = "real::tests::execute::who_reads_the_terminal_gets_nothing_at_once";
    let line = format!("'{}' --exact {name}", tests.display());
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).stdin(std::process::Stdio::null());
    let output = script.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_program_gets_the_variables_that_it_is_passed_and_no_others() {
    // Cargo sets it for every test; the study does not name it.
    let name = "CARGO_MANIFEST_DIR";
    assert!(std::env::var_os(name).is_some());
    let script = format!("echo ${{{name}-none}} ${{PATH-none}} >&2");
    let told = Run::shell(&script).done().complaint;
    let path = std::env::var("PATH").unwrap();
    assert_eq!(told.trim_end(), format!("none {path}"));
    let named = execute::passed(&Real, &[name.to_owned(), "ASSAY_NO_SUCH".to_owned()]);
    assert!(named.iter().any(|own| own == name) && !named.iter().any(|own| own == "ASSAY_NO_SUCH"));
    let told = Run { passed: named, ..Run::shell(&script) }.done().complaint;
    assert_eq!(told.trim_end(), format!("{} {path}", std::env::var(name).unwrap()));
}

#[test]
fn what_is_added_to_the_environment_is_the_programs_alone() {
    let name = "ASSAY_TEST_ADDED";
    let environment = vec![(name.to_owned(), "told".to_owned())];
    let run = Run { environment, ..Run::shell("echo $ASSAY_TEST_ADDED $PATH >&2") };
    let path = std::env::var("PATH").unwrap();
    assert_eq!(run.done().complaint, format!("told {path}\n"));
    assert!(std::env::var_os(name).is_none());
    let again = Run::shell("echo \"<$ASSAY_TEST_ADDED>\" >&2").done();
    assert_eq!(again.complaint, "<>\n");
}

#[test]
fn programs_are_looked_for_along_the_path_that_they_get() {
    let scratch = Scratch::new();
    let script = "printf '#!/bin/sh\\nexit 9\\n' > mine; chmod 755 mine";
    assert_eq!(Run::shell(script).below(&scratch).done().ending, Ending::Exited(0));
    let path = ("PATH".to_owned(), format!("/bin:{}", scratch.0.display()));
    let run = Run { environment: vec![path], ..Run::new(&["mine"]) };
    assert_eq!(run.done().ending, Ending::Exited(9));
}

#[test]
fn of_a_flood_of_complaints_the_end_is_kept() {
    let done = Run::shell("head -c 100M /dev/zero | tr '\\0' x >&2; echo the end >&2").done();
    assert_eq!(done.ending, Ending::Exited(0));
    assert_eq!(done.complaint.len(), KEPT_COMPLAINT_BYTES);
    assert!(done.complaint.starts_with("xxx") && done.complaint.ends_with("xthe end\n"));
}

/// Requested output is complete, or its end if it is long; other output is not stored.
#[test]
fn what_is_printed_is_heard_where_somebody_asks_for_it() {
    let lines = "echo one; echo two >&2; printf three";
    let heard = |heard_bytes, hashed| Run { heard_bytes, hashed, ..Run::shell(lines) }.done().heard;
    let whole = heard(1 << 20, true);
    assert_eq!((&*whole.text(), whole.bytes), ("one\nthree", 9));
    assert_eq!(whole.sha256, Some(assay_core::digest::sha256("one\nthree")));
    let end = heard(4, false);
    assert_eq!((&*end.text(), end.bytes, end.sha256), ("hree", 9, None));
    let summed = heard(0, true);
    assert_eq!((summed.end, summed.sha256), (Vec::new(), whole.sha256));
    assert_eq!(heard(0, false), execute::HeardOutput::default());
    // More than any pipe buffers and than Assay stores, without a line end.
    let flood = "head -c 30000000 /dev/zero | tr '\\0' x; printf end";
    let heard = Run { heard_bytes: 1000, ..Run::shell(flood) }.done().heard;
    assert_eq!((heard.end.len(), heard.bytes), (1000, 30_000_003));
    assert!(heard.text().ends_with("xxxend"));
}

#[test]
fn who_holds_the_pipe_of_a_program_that_has_ended_is_not_waited_for() {
    let heard = |script: &str| Run { heard_bytes: 1 << 20, hashed: true, ..Run::shell(script) };
    let done = heard("echo one; sleep 600 &").done();
    assert_eq!((done.ending, &*done.heard.text()), (Ending::Exited(0), "one\n"));
    assert_eq!((done.heard.bytes, done.left_running), (4, 1));
    // Nor does a flood of output delay the timeout.
    let flood = Run { timeout: Some(Duration::from_millis(300)), ..heard("yes") }.done();
    assert_eq!(flood.ending, Ending::TimedOut);
    let kept = flood.heard.end.len() as u64;
    assert!(kept > 0 && kept == flood.heard.bytes.min(1 << 20), "{kept}");
    // A program that closes its output continues, and its earlier output is stored.
    let closed = heard("echo two; exec >&-; sleep 0.05; exit 3").done();
    assert_eq!((closed.ending, &*closed.heard.text()), (Ending::Exited(3), "two\n"));
}

#[test]
fn a_flood_of_output_goes_nowhere() {
    let done = Run::new(&["head", "-c", "1G", "/dev/zero"]).done();
    assert_eq!((done.ending, done.complaint.as_str()), (Ending::Exited(0), ""));
    assert_eq!(done.write_bytes, Presence::Present(0));
}

/// Writes the IDs of itself, a child, and a grandchild in a separate session whose parent has ended; all ignore
/// SIGTERM.
const STUBBORN: &str = "trap '' TERM; echo $$ >> ids; \
    sh -c 'echo $$ >> ids; while :; do sleep 60; done' & \
    setsid sh -c '(sh -c \"echo \\$\\$ >> ids; while :; do sleep 60; done\") & exit' ; \
    while test $(wc -l < ids) -lt 3; do sleep 0.01; done; echo ready >&2; ";

#[test]
fn who_ignores_sigterm_and_hides_is_ended_when_the_time_is_over() {
    let scratch = Scratch::new();
    let run = Run::shell(&format!("{STUBBORN} while :; do sleep 60; done")).below(&scratch);
    let done = Run { timeout: Some(Duration::from_secs(2)), ..run }.done();
    assert_eq!((done.ending, done.complaint.as_str()), (Ending::TimedOut, "ready\n"));
    assert!(done.wall_ns >= 2_000_000_000);
    let ids = ids(&scratch.join("ids"));
    assert_eq!(ids.len(), 3);
    assert!(are_gone(&ids), "{ids:?}");
}

#[test]
fn what_is_left_running_is_counted_and_ended() {
    let scratch = Scratch::new();
    let before = Instant::now();
    let done = Run::shell(&format!("{STUBBORN} exit 4")).below(&scratch).done();
    let after_its_end = before.elapsed().saturating_sub(Duration::from_nanos(done.wall_ns));
    assert_eq!(done.ending, Ending::Exited(4));
    assert!(after_its_end >= Duration::from_secs(2), "who does not hear was waited for: {done:?}");
    let ids = ids(&scratch.join("ids"));
    assert!(are_gone(&ids), "{ids:?}");
    // Each of the two has a child `sleep`.
    assert!((2..=4).contains(&done.left_running), "{done:?}");
}

#[test]
fn who_hears_sigterm_may_say_a_last_word() {
    let script =
        "trap 'echo ending >&2; exit 0' TERM; echo ready >&2; while :; do sleep 0.01; done";
    let done = Run { timeout: Some(Duration::from_secs(1)), ..Run::shell(script) }.done();
    assert_eq!(done.ending, Ending::TimedOut);
    assert!(done.complaint.ends_with("ending\n"), "{}", done.complaint);
}

#[test]
fn who_was_stopped_is_ended_too() {
    let run = Run { timeout: Some(Duration::from_millis(200)), ..Run::shell("kill -STOP $$") };
    assert_eq!(run.done().ending, Ending::TimedOut);
}

#[test]
fn the_wish_to_stop_ends_it() {
    let run = Run { timeout: None, ..Run::shell("sleep 60 & sleep 60") };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            run.stop.store(true, Ordering::SeqCst);
        });
        let done = run.done();
        assert_eq!((done.ending, done.left_running), (Ending::Stopped, 0));
        assert!(done.wall_ns < 60_000_000_000);
    });
}

#[test]
fn a_program_that_is_not_wished_any_more_is_not_started() {
    let scratch = Scratch::new();
    let run = Run::shell("echo > file").below(&scratch);
    run.stop.store(true, Ordering::SeqCst);
    assert_eq!((run.done().ending, scratch.names().len()), (Ending::Stopped, 0));
}

#[test]
fn who_ends_with_the_program_was_not_left_running() {
    // On a busy machine it may occasionally take longer.
    let is_let_go = |_| Run::shell("sleep 0.01 & exit 3").done().left_running == 0;
    assert!((0..20).any(is_let_go));
}

#[test]
#[ignore = "nightly: 3 s"]
fn who_is_reborn_under_another_number_all_the_time_is_ended() {
    let scratch = Scratch::new();
    let script =
        "trap '' TERM; echo $1 > left; test $1 -gt 0 && setsid sh reborn $(($1 - 1)) & exit";
    std::fs::write(scratch.join("reborn"), script).unwrap();
    let done = Run::new(&["sh", "reborn", "20000"]).below(&scratch).done();
    assert_eq!((done.ending, done.left_running > 0), (Ending::Exited(0), true), "{done:?}");
    let left = || std::fs::read_to_string(scratch.join("left")).unwrap();
    let last = left();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(left(), last);
    assert_ne!(last, "0\n", "it came to its own end");
}

#[test]
fn children_of_this_process_are_let_be() {
    let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    Run::shell("setsid sleep 60 & exit 0").done();
    assert!(other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(!children().split_whitespace().any(|id| id == other.id().to_string()));
}

const COMPUTES: &str = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";

#[test]
#[ignore = "nightly: 1 s"]
fn processor_time_of_all_below_is_counted() {
    let alone = Run::shell(COMPUTES).done();
    let waited_for = Run::shell(&format!("sh -c '{COMPUTES}' & wait")).done();
    // It ended before the program, and only this process reaped it.
    let orphan = format!(
        "(setsid sh -c '{COMPUTES}; echo > over' &) ; until test -e over; do sleep 0.02; done"
    );
    let scratch = Scratch::new();
    let orphan = Run::shell(&orphan).below(&scratch).done();
    for done in [&waited_for, &orphan] {
        assert!(done.user_ns * 4 > alone.user_ns && alone.user_ns > 0, "{alone:?} {done:?}");
        assert_eq!(done.ending, Ending::Exited(0));
    }
}

#[test]
fn faults_and_switches_of_all_below_are_counted() {
    let one = Run::new(&["true"]).done().happened;
    let script = "i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i+1)); done";
    let many = Run::shell(script).done().happened;
    // It ended before the program, and only this process reaped it.
    let orphan =
        format!("(setsid sh -c '{script}; echo > over' &) ; until test -e over; do :; done");
    let scratch = Scratch::new();
    let orphan = Run::shell(&orphan).below(&scratch).done().happened;
    assert!(one.minor_faults > 0, "{one:?}");
    for all in [many, orphan] {
        assert!(all.minor_faults > 3 * one.minor_faults, "{one:?} {all:?}");
        assert!(all.voluntary_switches + all.involuntary_switches >= 20, "{one:?} {all:?}");
    }
}

#[test]
fn what_processors_count_is_there_or_says_why() {
    let run = Run { counted: true, ..Run::shell(COMPUTES) };
    let counted = run.done().counted;
    let all = [&counted.instructions, &counted.cycles, &counted.cache_misses];
    assert_eq!(counted.how.is_some(), all.iter().any(|one| one.value().is_some()), "{counted:?}");
    match &counted.instructions {
        Presence::Present(count) => assert!(*count > 1_000_000, "{counted:?}"),
        Presence::Absent(why) => {
            assert!(!why.contains("not requested"), "{why}");
            assay_testkit::needs::skip(&format!("instructions are not counted here: {why}"));
        }
    }
    let not = Run::new(&["true"]).done().counted;
    assert_eq!(not, CpuCounts::absent("not requested"));
}

#[test]
fn bytes_that_go_to_storage_are_counted() {
    let folder = assay_testkit::Scratch::on_drive("execute").unwrap();
    let script = "sh -c 'dd if=/dev/zero of=file bs=64k count=16 conv=fsync 2>/dev/null'; true";
    let run = Run { directory: folder.path().to_owned(), ..Run::shell(script) };
    let done = run.done();
    let site = assay_machine::system::resolve(&Real, &folder.path().to_string_lossy()).unwrap();
    if site.counted.is_empty() {
        return assay_testkit::needs::skip("no drive below the folder for temporary files");
    }
    let Presence::Present(bytes) = done.write_bytes else { panic!("{done:?}") };
    assert!(bytes >= 1 << 20, "{bytes}");
}

#[test]
fn memory_of_a_tree_is_seen() {
    let script = "sh -c 'head -c 64M /dev/zero | tail -c 64M | { sleep 0.3; cat; }'";
    let done = Run::shell(script).done();
    let Presence::Present(peak) = done.peak_memory else { panic!("{done:?}") };
    assert!(peak.bytes > 60 << 20, "{peak:?}");
    assert_ne!(peak.by, PeakBy::LargestProcess);
}

#[test]
#[ignore = "nightly: 1 s"]
fn without_a_control_group_memory_is_sampled_or_the_largest_process_is_told() {
    let without = |run: &Run| {
        let _turn = crate::real::execute::lock_turn();
        crate::real::execute::measure(&run.execution(), None).unwrap()
    };
    let large = Run::shell("head -c 300M /dev/zero | tail -c 300M | { sleep 0.3; cat; }");
    let Presence::Present(peak) = without(&large).peak_memory else { panic!("it took longer") };
    assert_eq!(peak.by, PeakBy::Sampled);
    assert!(peak.bytes > 290 << 20, "{peak:?}");
    // This process has more, and the kernel only reports the larger one.
    match without(&Run::new(&["true"])).peak_memory {
        Presence::Absent(why) => assert!(why.contains("control group"), "{why}"),
        Presence::Present(peak) => assert!(peak.by != PeakBy::Cgroup, "{peak:?}"),
    }
}

#[test]
fn who_hides_without_a_control_group_is_ended_too() {
    let scratch = Scratch::new();
    let run = Run::shell(&format!("{STUBBORN} exit 4")).below(&scratch);
    let turn = crate::real::execute::lock_turn();
    let done = crate::real::execute::measure(&run.execution(), None).unwrap();
    drop(turn);
    assert_eq!(done.ending, Ending::Exited(4));
    assert!(are_gone(&ids(&scratch.join("ids"))));
}

#[test]
fn nothing_is_left_open_of_a_run() {
    let open = || {
        let _turn = crate::real::execute::lock_turn();
        std::fs::read_dir("/proc/self/fd").unwrap().count()
    };
    Run::new(&["true"]).done();
    let before = open();
    for _ in 0..50 {
        Run { counted: true, ..Run::new(&["true"]) }.done();
        Run::new(&["./no-such"]).refused();
    }
    // Other tests open files at the same time.
    assert!(open() < before + 50);
}

#[test]
fn under_sudo_a_program_is_the_callers() {
    if !have(&[Need::Root]) {
        return;
    }
    let scratch = Scratch::new();
    std::os::unix::fs::chown(&scratch.0, Some(12345), Some(12346)).unwrap();
    std::fs::write(scratch.join("secret"), "x").unwrap();
    std::fs::set_permissions(scratch.join("secret"), PermissionsExt::from_mode(0o600)).unwrap();
    let caller = Some(Caller { user: 12345, group: 12346 });
    let script = "id -u; id -g; id -G; echo \"<$HOME$USER$SUDO_UID>\"; exec 3< secret";
    let run = Run::shell(&format!("exec >&2; {script}")).below(&scratch);
    let done = Run { caller, ..run }.done();
    assert_ne!(done.ending, Ending::Exited(0), "it reads what is root's alone");
    let said: Vec<&str> = done.complaint.lines().take(4).collect();
    assert_eq!(said, ["12345", "12346", "12346", "<>"], "{}", done.complaint);
    assert!(matches!(done.write_bytes, Presence::Present(_)), "{done:?}");
    let run = Run { input: Some("secret".into()), ..Run::new(&["cat"]).below(&scratch) };
    let (kind, said) = Run { caller, ..run }.refused();
    assert_eq!(kind, io::ErrorKind::PermissionDenied);
    assert!(said.contains("inaccessible to user 12345"), "{said}");
}

#[test]
fn a_caller_has_all_groups_and_the_own_home() {
    if !have(&[Need::Root]) {
        return;
    }
    let passwords = std::fs::read_to_string("/etc/passwd").unwrap();
    let Some(line) = passwords.lines().find(|line| line.starts_with("daemon:")) else {
        return assay_testkit::needs::skip("there is no user `daemon`");
    };
    let fields: Vec<&str> = line.split(':').collect();
    let caller = Caller { user: fields[2].parse().unwrap(), group: fields[3].parse().unwrap() };
    let script = "echo \"$HOME $USER $LOGNAME\" >&2; id -G >&2; id -G daemon >&2";
    let done = Run { caller: Some(caller), ..Run::shell(script) }.done();
    let said: Vec<&str> = done.complaint.lines().collect();
    assert_eq!(said[0], format!("{} daemon daemon", fields[5]));
    assert_eq!(said[1], said[2]);
}

/// Bytes of memory that the programs of these tests ask for.
const MUCH: u64 = 64 << 20;

#[test]
fn the_peak_of_a_control_group_begins_anew_with_each_program() {
    if !have(&[Need::Root]) {
        return;
    }
    let peak = |run: Run| match run.execute().unwrap().peak_memory {
        Presence::Present(PeakMemory { bytes, by: PeakBy::Cgroup }) => Some(bytes),
        other => {
            assay_testkit::needs::skip(&format!("no control group for memory here: {other:?}"));
            None
        }
    };
    let large = || Run::shell(&format!("head -c {MUCH} /dev/zero | tail -c {MUCH} | cat"));
    let Some(first) = peak(large()) else { return };
    assert!((MUCH..MUCH * 2).contains(&first), "{first}");
    let small = peak(Run::new(&["true"])).unwrap();
    assert!(small < MUCH / 8, "{small}");
    let scratch = Scratch::new();
    let writes = format!("head -c {MUCH} /dev/zero > file");
    let written = peak(Run::shell(&writes).below(&scratch)).unwrap();
    assert!(written >= MUCH, "what it left in the page cache is its own: {written}");
    let after = peak(Run::new(&["true"])).unwrap();
    assert!(after < MUCH / 8, "and not the next one's: {after}");
    crate::real::leave();
}
