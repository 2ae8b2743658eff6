//! `assay watch` on a loop device: its page in a real terminal (tmux), its lines through a pipe, its document, and the
//! stored result.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use assay_testkit::needs::is_crowded;
use assay_testkit::process::{Assay, Running};
use assay_testkit::volume::{Filesystem, Volume};
use assay_testkit::{LoopDevice, Scratch, call};
use serde_json::Value;

use crate::turn::{LIMIT, Need, has, skip, word};

const LOSETUP: Need = Need::Program("losetup");
const TMUX: Need = Need::Program("tmux");

struct Bench {
    device: LoopDevice,
    assay: Assay,
    scratch: Scratch,
}

impl Bench {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name).unwrap();
        let device = LoopDevice::new(scratch.path().join("image"), 64).unwrap();
        let home = scratch.folder("home", 0o755, None).unwrap();
        let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
        Self { device, assay, scratch }
    }

    fn name(&self) -> &str {
        self.device.name()
    }

    fn busy(&self) -> Running {
        let device = self.device.device();
        let script = format!(
            "while :; do dd if=/dev/zero of={device} bs=4k count=200 oflag=direct conv=fsync,notrunc; \
             dd if={device} of=/dev/null bs=4k count=200 iflag=direct; done 2>/dev/null"
        );
        Running::start(Command::new("sh").args(["-c", &script])).unwrap()
    }
}

struct Terminal {
    socket: String,
}

impl Terminal {
    fn new(columns: u16, lines: u16, home: &Path) -> Self {
        // A server that just ended may still own its socket.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let socket = format!("assay-watch-{}-{count}", std::process::id());
        let (columns, lines) = (columns.to_string(), lines.to_string());
        let home = format!("ASSAY_HOME={}", home.display());
        let terminal = Self { socket };
        terminal.tmux(&[
            "-f",
            "/dev/null",
            "-u",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &lines,
            "env",
            "LC_ALL=C.UTF-8",
            &home,
            "PS1=ready$ ",
            "sh",
            "-i",
        ]);
        terminal.until("ready$");
        terminal
    }

    fn tmux(&self, words: &[&str]) -> String {
        call("tmux", &[&["-L", &self.socket], words].concat()).unwrap()
    }

    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    fn types(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.tmux(&["send-keys", "Enter"]);
    }

    fn key(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    fn until(&self, text: &str) -> String {
        let began = Instant::now();
        loop {
            let shown = self.shown();
            if shown.contains(text) {
                return shown;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "no `{text}` in:\n{shown}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn state(&self) -> (bool, bool) {
        let told = self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
        let told: Vec<&str> = told.split_whitespace().collect();
        (told[0] == "1", told[1] == "1")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may already have ended.
        let _ = call("tmux", &["-L", &self.socket, "kill-server"]);
    }
}

fn ends_clean(end: impl Fn(&Terminal)) {
    if !has(&[LOSETUP, TMUX]) {
        return;
    }
    let bench = Bench::new("watch");
    let _busy = bench.busy();
    let terminal = Terminal::new(80, 24, bench.assay.home());
    let note = |name: &str| word(&bench.scratch.path().join(name));
    let program = env!("CARGO_BIN_EXE_assay");
    terminal.types(&format!("stty -a > {}; {program} watch {}", note("before"), bench.name()));
    terminal.until("pressure");
    // The first page has no rates yet.
    let page = terminal.until("dd  ");
    for part in [bench.name(), "latency of", "cpu ", "programs", "q quit", "r/s", "queue"] {
        assert!(page.contains(part), "no `{part}` in:\n{page}");
    }
    assert!(page.lines().count() <= 24, "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert_eq!(terminal.state(), (true, false), "the other screen, without a cursor");
    end(&terminal);
    // The final output is on the normal screen.
    let left = terminal.until("temperature  ");
    assert!(left.contains("pressure  "), "no result:\n{left}");
    assert_eq!(terminal.state(), (false, true), "the usual screen, with a cursor");
    terminal.types(&format!("echo code $?; stty -a > {}", note("after")));
    terminal.until("code 0");
    terminal.types("echo stty''-ended");
    terminal.until("stty-ended");
    let read = |name: &str| fs::read_to_string(bench.scratch.path().join(name)).unwrap();
    assert_eq!(read("before"), read("after"), "the terminal's settings");
}

#[test]
fn ctrl_c_leaves_the_terminal_as_it_was() {
    ends_clean(|terminal| terminal.key("C-c"));
}

#[test]
fn q_leaves_the_terminal_as_it_was() {
    ends_clean(|terminal| {
        for key in ["c", "p", "?", "x", "r", "d", "q"] {
            terminal.key(key);
        }
    });
}

#[test]
#[ignore = "nightly: 4 s"]
fn sigterm_leaves_the_terminal_as_it_was() {
    ends_clean(|terminal| {
        let shell = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let children = format!("/proc/{0}/task/{0}/children", shell.trim());
        let watch = fs::read_to_string(children).unwrap();
        call("kill", &["-s", "TERM", watch.trim()]).unwrap();
    });
}

#[test]
fn the_page_beside_a_study_ends_with_it() {
    if !has(&[TMUX, Need::Volume(Filesystem::Tmpfs)]) {
        return;
    }
    // A separate device, unlike those of other tests in memory.
    let volume = Volume::new(Filesystem::Tmpfs, 64).unwrap();
    let scratch = volume.scratch();
    let home = scratch.folder("home", 0o755, None).unwrap();
    let terminal = Terminal::new(80, 24, &home);
    let program = env!("CARGO_BIN_EXE_assay");
    let target = word(volume.directory());
    let file = scratch.path().join("study.toml");
    fs::write(
        &file,
        "format = \"assay-study/1\"\ntitle = \"Which depth?\"\nreplicates = 6\n\
         area = { size = \"16 MiB\" }\n[factors]\nqueue_depth = [1, 2]\n[[workload]]\nname = \"read\"\n\
         io = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"300 ms\" }\n",
    )
    .unwrap();
    terminal.types(&format!("{program} run {} {target} --watch", word(&file)));
    // The last line shows that the page is complete.
    let page = terminal.until("Ctrl-C end the study");
    assert!(page.contains("study  Which depth?"), "{page}");
    let page = terminal.until("of 18,");
    assert!(page.contains("read, trial") && page.contains("queue"), "{page}");
    let end = terminal.until("stored as");
    assert_eq!(terminal.state(), (false, true), "{end}");
    terminal.types("echo code $?");
    terminal.until("code 0");
}

/// If an early run fails, the page closes, and the study ends as without a page.
#[test]
fn a_study_beside_its_page_ends_like_any_other_where_trials_fail() {
    if !has(&[TMUX, Need::Volume(Filesystem::Tmpfs)]) {
        return;
    }
    let volume = Volume::new(Filesystem::Tmpfs, 64).unwrap();
    let scratch = volume.scratch();
    let home = scratch.folder("home", 0o755, None).unwrap();
    let program = env!("CARGO_BIN_EXE_assay");
    let target = word(volume.directory());
    let (runs, script) = (scratch.path().join("runs"), scratch.path().join("work.sh"));
    // A command that succeeds this many times; returns the terminal at the end.
    let ended = |good: usize| {
        let runs = word(&runs);
        let text = format!("echo x >> {runs}\nsleep 0.05\ntest $(wc -l < {runs}) -le {good}\n");
        fs::write(&script, text).unwrap();
        let _ = fs::remove_file(&runs);
        let terminal = Terminal::new(120, 40, &home);
        terminal.types(&format!(
            "{program} run --watch --as-root --seed 1 --replicates 3 --set runs_per_trial=1 --command 'sh {}' --command \
             'sleep 0.05' {target}; echo co''de=$?",
            word(&script)
        ));
        let shown = terminal.until("code=");
        assert_eq!(terminal.state(), (false, true), "{shown}");
        let code = shown.split("code=").nth(1).and_then(|rest| rest.chars().next());
        (code.unwrap_or('?'), shown)
    };
    let (code, shown) = ended(1000);
    assert_eq!(code, '0', "{shown}");
    let all = fs::read_to_string(&runs).unwrap().lines().count();
    assert!(all >= 4, "{all}");
    // The first runs only: the number of later ones depends on the load of the machine.
    for good in 0..4 {
        let (code, shown) = ended(good);
        // Before the first trial, there is nothing to store.
        let early = code == '3' && good < 2;
        assert!(early || code == '5', "{good} of {all}: {shown}");
        assert_eq!(shown.contains("stored as"), code == '5', "{good} of {all}: {shown}");
    }
}

#[test]
fn a_pipe_gets_lines_and_the_printed_form() {
    if !has(&[LOSETUP]) {
        return;
    }
    let bench = Bench::new("pipe");
    let _busy = bench.busy();
    let mut command = bench.assay.command(&["watch", bench.name(), "--interval", "200ms"]);
    let (running, output) = Running::start_reading(&mut command).unwrap();
    let mut lines = BufReader::new(output).lines();
    let heading = lines.next().unwrap().unwrap();
    assert!(heading.starts_with("device") && heading.contains("writes/s"), "{heading}");
    for _ in 0..3 {
        let line = lines.next().unwrap().unwrap();
        assert!(line.starts_with(bench.name()) && line.contains("iB/s"), "{line}");
    }
    running.signal("INT").unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let ended = running.end(LIMIT).unwrap();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "Ctrl-C is how it ends");
    let text = rest.join("\n");
    assert!(text.contains("throughput") && text.contains("pressure"), "{text}");
    assert!(rest.iter().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    if !has(&[LOSETUP]) {
        return;
    }
    let bench = Bench::new("gone");
    let program = env!("CARGO_BIN_EXE_assay");
    for more in ["--interval 100ms", "--duration 300ms", "--duration 300ms --json"] {
        let script = format!("({program} watch {} {more}; echo code $? >&2) | true", bench.name());
        let output =
            Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "code 0\n", "{more}");
    }
}

#[test]
#[ignore = "nightly: 3 s"]
fn the_document_is_one_and_the_result_is_read_by_others() {
    if !has(&[LOSETUP]) {
        return;
    }
    let bench = Bench::new("kept");
    let _busy = bench.busy();
    let kept = word(&bench.scratch.path().join("kept/one"));
    let mut words = vec!["watch", bench.name(), "--duration", "1s", "--json", "--record", "before"];
    let first = bench.assay.run(&words, LIMIT).unwrap();
    let document = first.json().unwrap();
    assert_eq!((first.code, &document["format"]), (0, &Value::from("assay-watch/1")));
    let device = &document["devices"][0];
    assert_eq!(device["device"], bench.name());
    assert!(device["counters"]["writes"].as_u64().unwrap() > 0, "{device}");
    for class in ["read", "write", "flush", "discard"] {
        let seen = device["classes"][class]["count"].is_u64();
        assert!(seen != device["absent"][class].is_string(), "{class}: {device}");
    }
    words[6] = &kept;
    let second = bench.assay.run(&words, LIMIT).unwrap();
    assert_eq!(second.code, 0, "{}", second.stderr);
    let again = bench.assay.run(&words, LIMIT).unwrap();
    assert!(again.code == 2 && again.stderr.contains("already exists"), "{}", again.stderr);
    let list = bench.assay.run(&["list", "results", "--json"], LIMIT).unwrap().json().unwrap();
    assert_eq!(list["items"][0]["title"], "before");
    let id = list["items"][0]["id"].as_str().unwrap();
    let markdown = word(&bench.scratch.path().join("both.md"));
    for words in [
        vec!["show", id],
        vec!["show", &kept, "--full"],
        vec!["compare", id, &kept],
        vec!["report", id, "-o", "-"],
        vec!["report", id, &kept, "-o", &markdown, "--format", "markdown"],
    ] {
        let ended = bench.assay.run(&words, LIMIT).unwrap();
        assert_eq!(ended.code, 0, "{words:?}: {}", ended.stderr);
        assert!(!ended.stdout.is_empty(), "{words:?}");
    }
    let explained = bench.assay.run(&["plan", id, "--commands"], LIMIT).unwrap();
    assert!(explained.code == 2 && explained.stderr.contains("observed"), "{}", explained.stderr);
}

/// Number of 4 KiB blocks written and read during a watch.
const WRITTEN: u64 = 23;
const READ: u64 = 41;

/// Returns counts of a device whose blocks are written and read some time after the watch starts.
fn counted(bench: &Bench, wait: Duration) -> Value {
    let mut command =
        bench.assay.command(&["watch", bench.name(), "--interval", "200ms", "--json"]);
    let mut running = Running::start(&mut command).unwrap();
    std::thread::sleep(wait);
    assert!(!running.has_ended());
    let device = bench.device.device();
    let (to, from) = (format!("of={device}"), format!("if={device}"));
    let (written, read) = (format!("count={WRITTEN}"), format!("count={READ}"));
    call("dd", &["if=/dev/zero", &to, "bs=4k", &written, "oflag=direct", "conv=notrunc"]).unwrap();
    call("dd", &[&from, "of=/dev/null", "bs=4k", &read, "iflag=direct"]).unwrap();
    running.signal("INT").unwrap();
    let mut document = running.end(LIMIT).unwrap().json().unwrap();
    document["devices"][0].take()
}

/// With tracing, the counts are exact.
#[test]
fn what_was_written_is_what_was_watched() {
    if !has(&[LOSETUP]) {
        return;
    }
    let bench = Bench::new("counted");
    let has_all = |device: &Value| {
        let least = |class: &str, least| device["counters"][class].as_u64().unwrap() >= least;
        least("writes", WRITTEN) && least("reads", READ)
    };
    // It does not print when it has started, which takes long with busy CPUs.
    let waits = [2, 10, 60].map(Duration::from_secs);
    let device = waits.into_iter().map(|wait| counted(&bench, wait)).find(has_all);
    let device = device.expect("a watch that counts what was done a minute after its start");
    let counters = &device["counters"];
    if device["classes"]["write"].is_null() {
        skip(device["absent"]["write"].as_str().unwrap());
        return;
    }
    for (class, least) in [("write", WRITTEN), ("read", READ)] {
        let count = device["classes"][class]["count"].as_u64().unwrap();
        let bytes = device["classes"][class]["bytes"].as_u64().unwrap();
        assert!(count >= least && bytes >= least * 4096, "{class}: {device}");
    }
    assert_eq!(counters["writes"], device["classes"]["write"]["count"]);
}

/// The log for fio contains every recorded request, and the totals are shown; without a recording, there is neither.
#[test]
#[ignore = "nightly: 4 s"]
fn requests_are_recorded_one_by_one_and_fio_plays_them() {
    if !has(&[LOSETUP]) {
        return;
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return skip("this kernel has no BTF");
    }
    let bench = Bench::new("requests");
    let busy = bench.busy();
    let words =
        ["watch", bench.name(), "--duration", "2s", "--json", "--record-trace", "every one"];
    let seen = bench.assay.run(&words, LIMIT).unwrap();
    assert_eq!(seen.code, 0, "{}", seen.stderr);
    drop(busy);
    let counts = &seen.json().unwrap()["devices"][0]["classes"];
    let count = |class: &str| counts[class]["count"].as_u64().unwrap();
    let shown = bench.assay.run(&["show", "every one", "--json"], LIMIT).unwrap().json().unwrap();
    let recorded = &shown["trace"][0]["recorded"];
    // With busy CPUs, some may be dropped, and are counted.
    let unrecorded = recorded["dropped"].as_u64().unwrap();
    assert!(unrecorded == 0 || is_crowded(), "{recorded}");
    let classes = &recorded["devices"][bench.name()]["classes"];
    // The page's last reading is slightly earlier than the recording's.
    for class in ["read", "write"] {
        let kept = classes[class]["requests"].as_u64().unwrap();
        assert!(kept + unrecorded >= count(class), "{class}: {kept} of {}", count(class));
        assert_eq!(classes[class]["sizes"]["4096"].as_u64(), Some(kept), "{class}: {classes}");
    }
    let order = |class: &str| {
        let of = |key: &str| classes[class][key].as_f64().unwrap();
        of("in_order") / of("requests")
    };
    assert!(order("read") > 0.9 && order("write") > 0.9, "{classes}");
    let text = bench.assay.run(&["show", "every one"], LIMIT).unwrap().stdout;
    assert!(text.contains("requests of") && text.contains("sequential"), "{text}");

    let log = bench.scratch.path().join("log");
    let export = ["export", "every one", "--format", "fio-iolog", "-o", &word(&log)];
    assert_eq!(bench.assay.run(&export, LIMIT).unwrap().code, 0);
    let lines = fs::read_to_string(&log).unwrap();
    let reads = lines.lines().filter(|line| line.contains(" read ")).count() as u64;
    assert_eq!(Some(reads), classes["read"]["requests"].as_u64());
    if has(&[Need::Program("fio")]) {
        let image = bench.scratch.path().join("copy");
        fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let words = [
            "--name=again",
            &format!("--read_iolog={}", log.display()),
            &format!("--replay_redirect={}", image.display()),
            "--replay_no_stall=1",
            "--output-format=json",
        ];
        let told: Value = serde_json::from_str(&call("fio", &words).unwrap()).unwrap();
        assert_eq!(told["jobs"][0]["read"]["total_ios"].as_u64(), Some(reads), "{told}");
    }

    let plain = ["watch", bench.name(), "--duration", "300ms", "--quiet", "--record", "plain"];
    assert_eq!(bench.assay.run(&plain, LIMIT).unwrap().code, 0);
    let shown = bench.assay.run(&["show", "plain", "--json"], LIMIT).unwrap().json().unwrap();
    assert!(shown.get("trace").is_none(), "{shown}");
    let export = bench.assay.run(&["export", "plain", "--format", "fio-iolog"], LIMIT).unwrap();
    assert!(export.code == 2 && export.stderr.contains("--record-trace"), "{}", export.stderr);
    let none = bench.assay.run(&["watch", "--record-trace", "all"], LIMIT).unwrap();
    assert_eq!(none.code, 2, "{}", none.stderr);
}

/// `list`, `show`, `restore` and `remove` handle a killed recording.
#[test]
#[ignore = "nightly: 4 s"]
fn killed_recording_is_a_result_that_was_cut() {
    if !has(&[LOSETUP]) {
        return;
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return skip("this kernel has no BTF");
    }
    let bench = Bench::new("cut");
    let _busy = bench.busy();
    // Root resumes only results that nobody else can write.
    let home = bench.scratch.home().unwrap();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home);
    let run = |words: &[&str]| assay.run(words, LIMIT).unwrap();
    let list = || run(&["list", "--json"]).json().unwrap()["items"].clone();
    let words = ["watch", bench.name(), "--quiet", "--record-trace", "cut one"];
    let mut running = assay.start(&words).unwrap();
    running.until(LIMIT, || list()[0]["title"] == "cut one").unwrap();
    assert_eq!(list()[0]["interrupted"], false);
    let resumed = run(&["resume"]);
    assert!(resumed.code != 0 && resumed.stderr.contains("is running"), "{}", resumed.stderr);
    running.signal("KILL").unwrap();
    assert_eq!(running.end(LIMIT).unwrap().code, 137);

    let listed = list();
    assert_eq!((&listed[0]["interrupted"], &listed[0]["trials"]), (&true.into(), &0.into()));
    let id = listed[0]["id"].as_str().unwrap();
    assert!(run(&["list"]).stdout.contains("interrupted,"), "{}", run(&["list"]).stdout);
    let shown = run(&["show", "cut one"]);
    assert!(shown.code == 0 && shown.stdout.contains("the recording is truncated"), "{shown:?}");
    let restored = run(&["restore"]);
    assert!(
        restored.code == 0 && restored.stdout.contains("everything is restored"),
        "{restored:?}"
    );
    let resumed = run(&["resume", id]);
    let remove = format!("assay remove {id}");
    assert!(resumed.code == 3 && resumed.stderr.contains(&remove), "{resumed:?}");
    let log = bench.scratch.path().join("log");
    let export = run(&["export", id, "--format", "fio-iolog", "-o", &word(&log)]);
    assert_eq!(export.code, 0, "{}", export.stderr);
    assert_eq!(run(&["remove", id]).code, 0);
    assert_eq!(list(), Value::Array(Vec::new()));
}
