use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, pipe};
use std::os::fd::AsFd;

use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::*;

fn texts(words: &[&str]) -> Vec<CString> {
    words.iter().map(|word| CString::new(*word).unwrap()).collect()
}

/// A launch with owned data.
struct Given {
    paths: Vec<CString>,
    words: Vec<CString>,
    environment: Vec<CString>,
    directory: CString,
    input: Option<CString>,
    null: File,
    terminal: Option<File>,
    hears: PipeReader,
    says: PipeWriter,
}

impl Given {
    fn new(paths: &[&str], words: &[&str]) -> Self {
        let (hears, says) = pipe().unwrap();
        Self {
            paths: texts(paths),
            words: texts(words),
            environment: texts(&["PATH=/usr/bin:/bin", "SAID=yes"]),
            directory: c"/".to_owned(),
            input: None,
            null: File::options().read(true).write(true).open("/dev/null").unwrap(),
            terminal: File::open("/dev/tty").ok(),
            hears,
            says,
        }
    }

    fn shell(script: &str) -> Self {
        Self::new(&["/bin/sh"], &["sh", "-c", script])
    }

    fn launch(&self) -> Launch<'_> {
        Launch {
            paths: &self.paths,
            words: &self.words,
            environment: &self.environment,
            directory: &self.directory,
            input: self.input.as_deref(),
            null: self.null.as_fd(),
            terminal: self.terminal.as_ref().map(File::as_fd),
            complaint: self.says.as_fd(),
            output: None,
            owner: None,
            group: None,
        }
    }

    fn start(&self) -> Result<Launched, NotStarted> {
        self.launch().start()
    }

    /// Runs it to its end; returns exit code and standard error.
    fn run(self) -> (Option<i32>, String) {
        let launched = self.start().unwrap();
        self.ended(&launched)
    }

    fn ended(self, launched: &Launched) -> (Option<i32>, String) {
        let Self { says, null, mut hears, .. } = self;
        drop((says, null));
        let mut said = String::new();
        hears.read_to_string(&mut said).unwrap();
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let ended = waitid(WaitId::PidFd(launched.handle.as_fd()), options).unwrap().unwrap();
        assert!(reap(launched.process).unwrap().is_some());
        (ended.exit_status(), said)
    }

    /// The same for a program that only prints.
    fn run_printing(mut self) -> (Option<i32>, String) {
        self.null = File::from(OwnedFd::from(self.says.try_clone().unwrap()));
        Self { input: Some(c"/dev/null".to_owned()), ..self }.run()
    }

    fn fails(&self) -> (Step, io::ErrorKind) {
        let failed = self.start().unwrap_err();
        (failed.step, failed.error.kind())
    }
}

#[test]
fn a_program_gets_its_words_its_environment_and_its_directory() {
    let given = Given::shell("echo \"$0 $1 $SAID $(pwd) $(env | wc -l)\" >&2; exit 3");
    let given = Given {
        words: texts(&["sh", "-c", "echo $0 $1 $SAID $PWD >&2; exit 3", "a", "b"]),
        ..given
    };
    assert_eq!(given.run(), (Some(3), "a b yes /\n".to_owned()));
}

#[test]
fn the_first_path_that_can_be_started_is() {
    let paths = ["/no/such/sh", "/etc/passwd/sh", "/etc/passwd", "/bin/sh"];
    assert_eq!(Given::new(&paths, &["sh", "-c", "exit 5"]).run().0, Some(5));
}

#[test]
fn each_step_that_fails_is_named() {
    let kind = io::ErrorKind::NotFound;
    assert_eq!(Given::new(&["/no/such"], &["such"]).fails(), (Step::Program, kind));
    let forbidden = (Step::Program, io::ErrorKind::PermissionDenied);
    assert_eq!(Given::new(&["/etc/passwd", "/no/such"], &["such"]).fails(), forbidden);
    let nowhere = Given { directory: c"/no/such".to_owned(), ..Given::shell("true") };
    assert_eq!(nowhere.fails(), (Step::Directory, kind));
    let unread = Given { input: Some(c"no-such-file".to_owned()), ..Given::shell("true") };
    assert_eq!(unread.fails(), (Step::Input, kind));
}

#[test]
fn a_program_that_did_not_start_leaves_no_child() {
    let failed = Given::new(&["/no/such"], &["such"]).start();
    assert!(failed.is_err());
    let own = format!("/proc/self/task/{}/children", rustix::thread::gettid());
    let Ok(children) = std::fs::read_to_string(own) else { return };
    assert_eq!(children, "");
}

#[test]
fn it_leads_a_group_without_a_terminal_and_reads_nothing() {
    let script = "read -r line; test $? = 1 && test ! -t 0 && ! (: </dev/tty) 2>/dev/null \
                  && set -- $(cat /proc/$$/stat) && test \"$5\" = $$ && ulimit -c >&2";
    assert_eq!(Given::shell(script).run(), (Some(0), "0\n".to_owned()));
}

#[test]
fn it_reads_its_input_from_its_directory() {
    let given = Given::shell("head -c 5 >&2");
    let given = Given { directory: c"/etc".to_owned(), input: Some(c"passwd".to_owned()), ..given };
    let expected = std::fs::read_to_string("/etc/passwd").unwrap()[..5].to_owned();
    assert_eq!(given.run(), (Some(0), expected));
}

#[test]
fn no_signal_is_ignored_caught_or_held_back() {
    // Rust ignores SIGPIPE in every process.
    assert!(unusual_signals().contains(&libc::SIGPIPE));
    let (code, said) = Given::new(&["/bin/cat"], &["cat", "/proc/self/status"]).run_printing();
    assert_eq!(code, Some(0));
    let mask = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    let own = |signal: c_int| 1_u64 << (signal - 1);
    // The C library's own signals may have been ignored before this process began.
    let others = !(own(32) | own(33) | own(34));
    assert_eq!(["SigBlk:", "SigIgn:", "SigCgt:"].map(|name| mask(name) & others), [0; 3], "{said}");
}

#[test]
fn signals_of_this_thread_are_as_before() {
    let mask = || {
        let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        text.lines().find(|line| line.starts_with("SigBlk")).unwrap().to_owned()
    };
    let before = mask();
    Given::shell("true").run();
    assert_eq!(mask(), before);
}

#[test]
fn it_ends_with_the_thread_that_started_it() {
    let launched = std::thread::spawn(|| Given::shell("exec sleep 60").start().unwrap());
    let launched = launched.join().unwrap();
    let ended =
        waitid(WaitId::PidFd(launched.handle.as_fd()), WaitIdOptions::EXITED).unwrap().unwrap();
    assert_eq!(ended.terminating_signal(), Some(libc::SIGKILL));
}

#[test]
fn what_runs_is_not_reaped_and_what_ended_tells_what_it_used() {
    let given =
        Given::shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; read x; exec sleep 60");
    let launched = given.start().unwrap();
    assert_eq!(reap(launched.process).unwrap(), None);
    rustix::process::pidfd_send_signal(&launched.handle, Signal::KILL).unwrap();
    let usage = reap_when_ended(launched.process).unwrap().unwrap();
    assert!(usage.largest_bytes > 0, "{usage:?}");
    assert!(reap(launched.process).is_err(), "it is gone");
}

/// Resource usage of a script, including its waited-for children.
fn used(script: &str) -> Usage {
    let launched = Given::shell(script).start().unwrap();
    reap_when_ended(launched.process).unwrap().unwrap()
}

#[test]
fn faults_and_switches_of_what_was_waited_for_are_counted() {
    let (one, many) = (used(":"), used(&"/bin/true; ".repeat(40)));
    assert!(one.minor_faults > 0, "{one:?}");
    // A new program touches new pages, and waiting for it gives up the CPU.
    assert!(many.minor_faults > 3 * one.minor_faults, "{one:?} {many:?}");
    let waits = |usage: Usage| usage.voluntary_switches + usage.involuntary_switches;
    assert!(waits(many) >= waits(one) + 20, "{one:?} {many:?}");
}

#[test]
fn usage_is_as_large_as_the_kernels() {
    assert_eq!(size_of::<RawUsage>(), 18 * size_of::<c_long>());
}

#[test]
fn a_script_without_a_first_line_is_the_shells() {
    let scratch = assay_testkit::Scratch::new("launch").unwrap();
    let path = scratch.path().join("script");
    // Another process writes the file, because a file open for writing cannot be started.
    let made = format!("echo 'echo \"$1\" >&2' > {0} && chmod 755 {0}", path.display());
    assert_eq!(Given::shell(&made).run().0, Some(0));
    let path = path.to_str().unwrap();
    assert_eq!(Given::new(&[path], &["name", "told"]).run(), (Some(0), "told\n".to_owned()));
}

#[test]
fn groups_of_a_user_hold_the_given_one() {
    assert!(groups_of(c"root", 0).contains(&0));
    assert!(groups_of(c"no-such-user-here", 4242).contains(&4242));
}

#[test]
fn root_hands_a_program_over_and_stays_root() {
    if !assay_testkit::needs::have(&[assay_testkit::needs::Need::Root]) {
        return;
    }
    let given = Given::shell("grep -E '^(Uid|Gid|Groups|CapEff)' /proc/self/status >&2");
    let owner = ProgramOwner { user: 12345, group: 12346, groups: &[12346, 12347] };
    let launch = Launch { owner: Some(owner), ..given.launch() };
    let launched = launch.start().unwrap();
    let said = given.ended(&launched).1;
    let words: Vec<&str> = said.split_whitespace().collect();
    let four = |id| [id; 4];
    assert_eq!(words[1..5], four("12345"));
    assert_eq!(words[6..10], four("12346"));
    assert_eq!(words[11..13], ["12346", "12347"]);
    assert_eq!(words.last(), Some(&"0000000000000000"));
    assert!(rustix::process::geteuid().is_root());
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::Dumpable);
}

/// A control group of version 2; removed on drop.
struct Group(std::path::PathBuf);

impl Group {
    fn new() -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
        let name = format!("assay-sys-test-{}", std::process::id());
        let path = std::path::Path::new(mount.split(' ').nth(4)?).join(name);
        std::fs::create_dir(&path).ok()?;
        Some(Self(path))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Who was in it may be on the way out.
        for _ in 0..1000 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

#[test]
fn a_program_is_born_in_a_control_group_of_version_2() {
    use assay_testkit::needs::{Need, have, skip};
    if !have(&[Need::Root]) {
        return;
    }
    if cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64"))) {
        return skip("programs are not born in such groups on this architecture");
    }
    let Some(group) = Group::new() else { return skip("no version 2 control group here") };
    let directory = File::open(&group.0).unwrap();
    let entry = Some(GroupEntry::Directory(directory.as_fd()));
    for _ in 0..20 {
        let given = Given::shell("grep ^0:: /proc/self/cgroup >&2; exit 6");
        let launched = Launch { group: entry, ..given.launch() }.start().unwrap();
        let (code, said) = given.ended(&launched);
        assert_eq!(code, Some(6));
        assert!(said.trim().ends_with(group.0.file_name().unwrap().to_str().unwrap()), "{said}");
        let missing = Given::new(&["/no/such"], &["such"]);
        let failed = Launch { group: entry, ..missing.launch() }.start().unwrap_err();
        assert_eq!((failed.step, failed.error.kind()), (Step::Program, io::ErrorKind::NotFound));
    }
    let other = Given::shell("true");
    let stderr = std::io::stderr();
    let entry = Some(GroupEntry::Directory(stderr.as_fd()));
    let failed = Launch { group: entry, ..other.launch() }.start().unwrap_err();
    assert_eq!(failed.step, Step::Group, "{:?}", failed.error);
}
