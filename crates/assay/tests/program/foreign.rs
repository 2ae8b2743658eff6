//! Other benchmarks whose own number becomes a study's metric: as in the guide, with recorded output and, where
//! installed, for real.
//!
//! The outputs of `sqlite3` and fio are recordings. The others follow by hand the form of each program in Debian 12;
//! pgbench's is from its manual, and speedtest1, part of SQLite's source but not of Debian, is only tested with text.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_testkit::needs::{Need, have, skip};
use assay_testkit::process::{NOBODY, Running};
use assay_testkit::{call, is_root};
use serde_json::Value;

use crate::commands::Bench;

const GUIDE: &str = include_str!("../../../../docs/howto/commands-and-ci.md");

struct Foreign {
    line: &'static str,
    reads: &'static str,
    metric: &'static str,
    /// A file below `tests`, and the number in it.
    printed: &'static str,
    number: f64,
}

const PGBENCH: Foreign = Foreign {
    line: "pgbench -T 10 bench",
    reads: "tps = ([0-9.]+):tps:higher",
    metric: "reported_tps",
    printed: "foreign/pgbench.txt",
    number: 896.967_014,
};
const SYSBENCH: Foreign = Foreign {
    line: "sysbench cpu --time=5 run",
    reads: "events per second: +([0-9.]+):events/s:higher",
    metric: "reported_events_per_s",
    printed: "foreign/sysbench.txt",
    number: 1037.42,
};
const SPEEDTEST1: Foreign = Foreign {
    line: "./speedtest1 --memdb",
    reads: "TOTAL[. ]+([0-9.]+)s:s:lower",
    metric: "reported_s",
    printed: "foreign/speedtest1.txt",
    number: 5.309,
};
/// The last of several statements counts.
const SQLITE3: Foreign = Foreign {
    line: "sqlite3 bench.db < timed.sql",
    reads: "real ([0-9.]+):s:lower",
    metric: "reported_s",
    printed: "foreign/sqlite3.txt",
    number: 0.552,
};
const IPERF3: Foreign = Foreign {
    line: "iperf3 -c host -t 5 -J",
    reads: "/end/sum_received/bits_per_second:bits/s:higher",
    metric: "reported_bits_per_s",
    printed: "foreign/iperf3.json",
    number: 35_009_808_525.561_02,
};
const FIO: Foreign = Foreign {
    line: "fio --name=a --size=64M --rw=randread --output-format=json",
    reads: "fio-json",
    metric: "reported_iops",
    printed: "importers/fio-json/randread-d4-1.json",
    number: 10_605.660_377,
};

const ALL: [&Foreign; 6] = [&PGBENCH, &SYSBENCH, &SPEEDTEST1, &SQLITE3, &IPERF3, &FIO];

fn measured(bench: &Bench, line: &str, own: &Foreign) -> Vec<(f64, String)> {
    let words =
        ["--command", line, "--parse", own.reads, "--replicates", "2", "--set", "runs_per_trial=1"];
    let found = bench.json(&words);
    let id = found["study"]["id"].as_str().unwrap();
    let result = bench.home.assay.home().join("results").join(id);
    let trials = fs::read_to_string(result.join("trials.jsonl")).unwrap();
    let read = |line: &str| {
        let trial: Value = serde_json::from_str(line).unwrap();
        let measured = &trial["measured"];
        let text = measured["detail"]["command"]["written"][0]["text"].as_str().unwrap().to_owned();
        (measured["values"][own.metric].as_f64().unwrap_or_else(|| panic!("{trial:#}")), text)
    };
    let told: Vec<(f64, String)> = trials.lines().map(read).collect();
    assert!(told.len() >= 2, "{trials}");
    told
}

/// Runs a line, and compares the metric with the number between two texts of its output.
fn hold(bench: &Bench, line: &str, own: &Foreign, [before, after]: [&str; 2]) {
    for (told, text) in measured(bench, line, own) {
        let (_, rest) = text.rsplit_once(before).unwrap_or_else(|| panic!("{text}"));
        let (number, _) = rest.split_once(after).unwrap_or_else(|| panic!("{text}"));
        let number: f64 = number.trim().parse().unwrap_or_else(|_| panic!("{number}"));
        assert_eq!(told, number, "{text}");
    }
}

#[test]
#[ignore = "nightly: 1 s"]
fn numbers_of_benchmarks_are_those_that_they_print_and_the_guide_shows_how() {
    let bench = Bench::new("foreign");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for own in ALL {
        let line = format!("cat {}", tests.join(own.printed).display());
        for (told, text) in measured(&bench, &line, own) {
            assert_eq!(told, own.number, "{}: {text}", own.line);
        }
    }
    for own in ALL {
        let shown = GUIDE.lines().find(|line| line.contains(own.line));
        let shown = shown.unwrap_or_else(|| panic!("the guide does not show {}", own.line));
        assert!(shown.contains(own.reads), "{shown}");
    }
}

#[test]
fn what_is_no_output_of_theirs_has_no_number() {
    let bench = Bench::new("foreign-silent");
    for own in ALL.into_iter().filter(|own| own.reads != FIO.reads) {
        // Output of a program that failed to start.
        let line = "echo 'error: connection to server failed: Connection refused'";
        let words = [
            "--command",
            line,
            "--parse",
            own.reads,
            "--replicates",
            "2",
            "--set",
            "runs_per_trial=1",
        ];
        let told = bench.refused(3, &words);
        assert!(told.contains("Connection refused"), "{}: {told}", own.line);
    }
}

#[test]
#[ignore = "nightly: 4 s"]
fn sysbench_here_tells_what_it_prints() {
    if !have(&[Need::Program("sysbench")]) {
        return;
    }
    let bench = Bench::new("foreign-sysbench");
    hold(&bench, "sysbench cpu --time=1 run", &SYSBENCH, ["events per second:", "\n"]);
}

#[test]
fn sqlite3_here_tells_what_it_prints() {
    if !have(&[Need::Program("sqlite3")]) {
        return;
    }
    let bench = Bench::new("foreign-sqlite3");
    let numbers =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 200000)";
    let script =
        format!(".timer on\n{numbers} SELECT sum(x) FROM c;\n{numbers} SELECT max(x) FROM c;\n");
    fs::write(bench.path("timed.sql"), script).unwrap();
    hold(&bench, "sqlite3 bench.db < timed.sql", &SQLITE3, ["real ", " user"]);
}

#[test]
#[ignore = "nightly: 4 s"]
fn iperf3_here_tells_what_it_prints() {
    if !have(&[Need::Program("iperf3")]) {
        return;
    }
    let bench = Bench::new("foreign-iperf3");
    // A free port; another process may take it before the server does.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let mut command = Command::new("iperf3");
    command.args(["-s", "--forceflush", "--bind", "127.0.0.1", "--port", &free]);
    // Ends on drop; its output stays open until then.
    let (_server, output) = Running::start_reading(&mut command).unwrap();
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("Server listening")), "port {free}");
    let line = format!("iperf3 -c 127.0.0.1 -p {free} -t 1 -J");
    for (told, text) in measured(&bench, &line, &IPERF3) {
        let own: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
        let printed = own.pointer("/end/sum_received/bits_per_second").unwrap().as_f64().unwrap();
        assert!(printed > 0.0 && told == printed, "{text}");
    }
}

struct Server {
    folder: PathBuf,
    programs: PathBuf,
}

impl Server {
    /// Starts a server with an empty database `bench`; `None`, with a message, if its programs are not installed.
    fn start(folder: PathBuf) -> Option<Self> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let programs = versions.map(|version| version.path().join("bin"));
        let programs = programs.filter(|folder| folder.join("initdb").exists()).max();
        let Some(programs) = programs else {
            skip("needs a server of PostgreSQL that a user can start (/usr/lib/postgresql)");
            return None;
        };
        let server = Self { folder, programs };
        let [data, log] = [server.path("data"), server.path("log")];
        server.run(
            "initdb",
            &["-D", &data, "-A", "trust", "-U", "tester", "--no-locale", "--no-sync"],
        );
        let place = server.folder.display();
        let options = format!("-k {place} -c listen_addresses='' -c fsync=off");
        server.run("pg_ctl", &["-D", &data, "-l", &log, "-o", &options, "-w", "start"]);
        server.run("createdb", &["-h", &place.to_string(), "-U", "tester", "bench"]);
        Some(server)
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Runs one of its programs as a user, because it refuses to run as root.
    fn run(&self, program: &str, words: &[&str]) {
        self.ran(program, words).unwrap_or_else(|why| panic!("{program}: {why}"));
    }

    fn ran(&self, program: &str, words: &[&str]) -> Result<String, String> {
        let program = self.programs.join(program).display().to_string();
        if !is_root() {
            return call(&program, words);
        }
        let user = NOBODY.to_string();
        let as_user = ["--reuid", &user, "--regid", &user, "--clear-groups"];
        // It returns to its start directory, which the user may be unable to access.
        let there = ["sh", "-c", "cd / && exec \"$@\"", "sh", &program];
        call("setpriv", &[&as_user[..], &there, words].concat())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Removes its folder in any case.
        let _ = self.ran("pg_ctl", &["-D", &self.path("data"), "-m", "immediate", "-w", "stop"]);
    }
}

#[test]
#[ignore = "nightly: 3 s"]
fn pgbench_here_tells_what_it_prints() {
    if !have(&[Need::Program("pgbench"), Need::Program("setpriv")]) {
        return;
    }
    let bench = Bench::new("foreign-pgbench");
    let owner = is_root().then_some(NOBODY);
    let folder = bench.home.scratch.folder("server", 0o755, owner).unwrap();
    let Some(server) = Server::start(folder) else { return };
    let place = server.folder.display().to_string();
    call("pgbench", &["-h", &place, "-U", "tester", "-i", "-q", "bench"]).unwrap();
    let line = format!("pgbench -h {place} -U tester -T 1 bench");
    hold(&bench, &line, &PGBENCH, ["tps = ", " ("]);
}
