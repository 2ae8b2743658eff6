//! Numbers printed by commands: read, compared, exported, or refused if invalid.

use std::fs;

use assay_testkit::needs::{Need, count, have};
use serde_json::Value;

use crate::commands::Bench;

const SHORT: [&str; 4] = ["--replicates", "3", "--set", "runs_per_trial=2"];
const RATE: &str = "([0-9.]+) ops/s:ops/s:higher";

fn cell<'a>(found: &'a Value, metric: &str, command: Option<&str>) -> &'a Value {
    let mut cells = found["measurements"].as_array().unwrap().iter();
    let own = |cell: &&Value| {
        let of = command.is_none_or(|line| cell["configuration"]["command"] == line);
        cell["metric"] == metric && cell["control"] == false && of
    };
    cells.find(own).unwrap_or_else(|| panic!("{metric}: {found:#}"))
}

/// Returns the number of all trials, which is the same: disturbed ones were repeated.
fn value(found: &Value, metric: &str, command: Option<&str>) -> f64 {
    let trials = cell(found, metric, command)["trials"].as_array().unwrap().iter();
    let told: Vec<f64> = trials.filter_map(|one| one["value"].as_f64()).collect();
    assert!(told.len() >= 2 && told.iter().all(|one| *one == told[0]), "{metric}: {told:?}");
    told[0]
}

fn comparison<'a>(found: &'a Value, metric: &str) -> &'a Value {
    let mut all = found["comparisons"].as_array().unwrap().iter();
    all.find(|one| one["metric"] == metric).unwrap_or_else(|| panic!("{metric}: {found:#}"))
}

#[test]
fn the_number_is_the_one_that_is_printed_and_verdicts_are_about_it() {
    let bench = Bench::new("own-numbers");
    let slow = "echo 'ran: 12.5 ops/s'; sleep 0.02";
    let fast = "echo 'ran: 25 ops/s'; sleep 0.02";
    let words = ["--command", slow, "--command", fast, "-n", "old", "-n", "new", "--parse", RATE];
    let found = bench.json(&[&words[..], &SHORT].concat());
    let metric = "reported_ops_per_s";
    assert_eq!(value(&found, metric, Some("old")), 12.5);
    assert_eq!(value(&found, metric, Some("new")), 25.0);
    let own = comparison(&found, metric);
    assert_eq!((&own["primary"], &own["better"]), (&true.into(), &"higher".into()));
    // Fewer than three undisturbed pairs have no ratio.
    let few = own["n"].as_u64() < Some(3);
    assert!(own["ratio"].as_f64().map_or(few, |ratio| (ratio - 2.0).abs() < 1e-9), "{own:#}");
    assert!(few || own["verdict"] == "better", "{own:#}");
    // The time is also measured, but is not the metric of verdicts.
    assert_eq!(comparison(&found, "duration_s")["primary"], false);
    let id = found["study"]["id"].as_str().unwrap();
    let page = bench.home.text(&["show", id]);
    assert!(page.contains("ops_per_s") && page.contains("12.5"), "{page}");
    let table = bench.home.text(&["export", id, "--format", "trials-csv"]);
    assert!(table.contains("reported_ops_per_s:higher,12.5,ok,true,,geometric,old"), "{table}");
    // The parsed text is stored.
    let result = bench.home.assay.home().join("results").join(id);
    let kept = fs::read_to_string(result.join("trials.jsonl")).unwrap();
    assert!(kept.contains("ran: 12.5 ops/s"), "{kept}");
}

#[test]
fn what_verdicts_are_about_can_be_said_and_several_numbers_are_read() {
    let bench = Bench::new("own-numbers-several");
    let line = "printf '\\033[1mmin/max 1.5/2.5 ms\\033[0m\\n{\"result\": {\"p99\": 7}}\\n'";
    let words = [
        "--command",
        line,
        "--parse",
        "(?<min>[0-9.]+)/(?<max>[0-9.]+) ms:ms:lower",
        "--parse",
        "/result/p99:us:lower",
        "--set",
        "primary_metric=reported_p99_us",
    ];
    let found = bench.json(&[&words[..], &SHORT].concat());
    for (metric, told) in
        [("reported_min_ms", 1.5), ("reported_max_ms", 2.5), ("reported_p99_us", 7.0)]
    {
        assert_eq!(value(&found, metric, None), told, "{metric}");
    }
    let cells = found["measurements"].as_array().unwrap().iter();
    let primary: Vec<&Value> =
        cells.filter(|cell| cell["primary"] == true).map(|cell| &cell["metric"]).collect();
    assert_eq!(primary, ["reported_p99_us"]);
    let words = [&words[..4], &["--set", "primary_metric=reported_p98"]].concat();
    let told = bench.home.told(2, &bench.words(&words));
    assert!(told.contains("no command of this study reports reported_p98"), "{told}");
}

#[test]
fn numbers_stand_in_a_file_that_each_run_writes() {
    let bench = Bench::new("own-numbers-file");
    let line = "echo '{\"a\": 3}' > out-{trial}.json";
    let words =
        ["--command", line, "--parse", "/a::higher", "--set", "parse.file=out-{trial}.json"];
    let found = bench.json(&[&words[..], &["--conclude", "rm out-{trial}.json"], &SHORT].concat());
    assert_eq!(value(&found, "reported_a", None), 3.0);
    // Output of another run is not used for this one.
    let line = "echo x >> n; test $(wc -l < n) -eq 3 || echo '{\"a\": 3}' > stale.json; sleep 0.05";
    let words = ["--command", line, "--parse", "/a::higher", "--set", "parse.file=stale.json"];
    let few = ["--replicates", "4", "--set", "runs_per_trial=1"];
    let ended = bench.home.run(&bench.words(&[&words[..], &few].concat()));
    assert_eq!(ended.code, 5, "{}{}", ended.stdout, ended.stderr);
    let kept = bench.home.json(&["show", "--json"]);
    assert!(kept.to_string().contains("stale.json"), "{kept:#}");
    let words =
        ["--command", "true", "--parse", "/a::higher", "--set", "parse.file=not-there.json"];
    let told = bench.refused(3, &[&words[..], &SHORT].concat());
    assert!(told.contains("not-there.json"), "{told}");
}

/// As in a study file.
#[test]
fn a_format_is_read_as_import_reads_it() {
    let bench = Bench::new("own-numbers-format");
    let whole = "BenchmarkCopy \t 100\t 12.5 ns/op\t 3 B/op\n";
    fs::write(bench.path("printed"), whole).unwrap();
    let study = "format = \"assay-study/1\"\ntitle = \"t\"\nreplicates = 3\n[[workload]]\nname = \"a\"\n\
                 command = { run = \"cat printed\", runs_per_trial = 1, parse = [\"go-bench\"] }\n";
    let file = bench.home.file("format.toml", study);
    let place = bench.home.scratch.path().to_str().unwrap().to_owned();
    let found = bench.home.json(&["run", &file, &place, "--quiet", "--json"]);
    assert_eq!(value(&found, "reported_time_per_op_ns", None), 12.5);
    assert_eq!(value(&found, "reported_bytes_per_op", None), 3.0);
    let cells = found["measurements"].as_array().unwrap();
    let first = cells.iter().find(|cell| cell["primary"] == true).unwrap();
    assert_eq!(
        (&first["metric"], &first["better"]),
        (&"reported_time_per_op_ns".into(), &"lower".into())
    );
}

#[test]
fn numbers_of_fio_are_those_that_it_prints() {
    if !have(&[Need::Program("fio")]) {
        return;
    }
    let bench = Bench::new("own-numbers-fio");
    let line = "fio --name=a --filename=data --size=1M --rw=read --bs=4k --output-format=json";
    let found = bench.json(&[
        "--command",
        line,
        "--parse",
        "fio-json",
        "--replicates",
        "2",
        "--set",
        "runs_per_trial=1",
    ]);
    let id = found["study"]["id"].as_str().unwrap();
    let result = bench.home.assay.home().join("results").join(id);
    let trials = fs::read_to_string(result.join("trials.jsonl")).unwrap();
    let mut seen = 0;
    for line in trials.lines() {
        let trial: Value = serde_json::from_str(line).unwrap();
        let measured = &trial["measured"];
        let printed = measured["detail"]["command"]["written"][0]["text"].as_str().unwrap();
        let own: Value = serde_json::from_str(&printed[printed.find('{').unwrap()..]).unwrap();
        let (told, jobs) = (&measured["values"], &own["jobs"][0]["read"]);
        assert!(jobs["iops"].as_f64().is_some_and(|iops| iops > 0.0), "{jobs:#}");
        assert_eq!(told["reported_iops"].as_f64(), jobs["iops"].as_f64());
        assert_eq!(told["reported_latency_max_ns"].as_f64(), jobs["clat_ns"]["max"].as_f64());
        seen += 1;
    }
    assert!(seen >= 2);
}

#[test]
fn a_number_that_cannot_be_read_fails_its_run_and_is_told_with_its_line() {
    let bench = Bench::new("own-numbers-unread");
    let reads = ["--parse", RATE];
    for (line, told) in [
        ("echo 'error: no room'", "the last line is `error: no room`"),
        ("true", "the output is empty"),
        ("echo '1.2.3 ops/s'", "`1.2.3` is not a number in the line `1.2.3 ops/s`"),
    ] {
        let said = bench.refused(3, &[&["--command", line], &reads[..], &SHORT].concat());
        assert!(said.contains("run 1 of ") && said.contains(told), "{said}");
    }
    let word = ["--parse", "(?<a>[A-Za-z0-9-]+) ops/s::higher"];
    for (line, told) in [
        ("echo 'NaN ops/s'", "`NaN` is not a number"),
        ("echo 'inf ops/s'", "`inf` is not a number"),
        ("echo '-7 ops/s'", "must not be negative"),
    ] {
        let said = bench.refused(3, &[&["--command", line], &word[..], &SHORT].concat());
        assert!(said.contains(told), "{said}");
    }
    // The pilot is the first run; the third is in a trial, whose number is missing while the others count.
    let line =
        "echo x >> count; test $(wc -l < count) -eq 3 && echo 'none today' || echo '5 ops/s'";
    let words =
        ["--command", line, "--parse", RATE, "--replicates", "5", "--set", "runs_per_trial=1"];
    let ended = bench.home.run(&bench.words(&words));
    assert_eq!(ended.code, 5, "{}{}", ended.stdout, ended.stderr);
    let kept = bench.home.json(&["show", "--json"]);
    assert_eq!(cell(&kept, "reported_ops_per_s", None)["n"], 4);
    assert_eq!(value(&kept, "reported_ops_per_s", None), 5.0);
    assert!(kept.to_string().contains("the last line is `none today`"), "{kept:#}");
}

#[test]
fn a_specification_that_says_nothing_is_refused_before_anything_runs() {
    let bench = Bench::new("own-numbers-mistakes");
    for (spec, told) in [
        ("fio-jsn", "--parse: `fio-jsn` is not a format"),
        ("([0-9]+) ops/s", "does not end in :UNIT:higher"),
        ("([0-9+:ops/s:higher", "invalid regular expression"),
        ("trials-csv", "is not a format"),
    ] {
        let said = bench.home.told(2, &bench.words(&["--command", "touch ran", "--parse", spec]));
        assert!(said.contains(told), "{spec}: {said}");
    }
    let twice =
        ["--command", "touch ran", "--parse", "a([0-9]):x:higher", "--parse", "b([0-9]):x:lower"];
    let said = bench.home.told(2, &bench.words(&twice));
    assert!(said.contains("two metrics have the name reported_x"), "{said}");
    assert!(!fs::exists(bench.path("ran")).unwrap());
}

/// Large output, without newlines, with escape sequences, or not text: each run ends, and the stored part is limited.
#[test]
#[ignore = "nightly: 5 s"]
fn hostile_output_is_bounded() {
    let bench = Bench::new("own-numbers-hostile");
    let (bytes, lines) = (count(20_000_000, 100_000_000), count(200_000, 1_000_000));
    let flood = format!("head -c {bytes} /dev/zero | tr '\\0' x; echo; echo '12.5 ops/s'");
    let line = "head -c 9000000 /dev/zero | tr '\\0' x; printf ' 12.5 ops/s'";
    let matches = format!("yes '1 ops/s' | head -n {lines}; echo '12.5 ops/s'");
    let escapes = "printf '\\033]0;title\\007\\033[31m12.\\033[0m5 ops/s\\377\\n'";
    for command in [&flood, line, &matches, escapes] {
        let words = [
            "--command",
            command,
            "--parse",
            RATE,
            "--replicates",
            "2",
            "--set",
            "runs_per_trial=1",
        ];
        let found = bench.json(&words);
        assert_eq!(value(&found, "reported_ops_per_s", None), 12.5, "{command}");
        let id = found["study"]["id"].as_str().unwrap();
        let result = bench.home.assay.home().join("results").join(id);
        let kept = fs::read(result.join("trials.jsonl")).unwrap();
        assert!(kept.len() < 1 << 20, "{command}: {} bytes", kept.len());
        let says_so = String::from_utf8(kept).unwrap().contains("only the last 64 KiB");
        assert_eq!(says_so, command != escapes, "{command}");
    }
    let large = "echo '{\"a\": 1}'; head -c 9000000 /dev/zero | tr '\\0' ' '";
    let said = bench
        .refused(3, &["--command", large, "--parse", "/a::higher", "--set", "runs_per_trial=1"]);
    assert!(said.contains("at most 8 MiB"), "{said}");
}

/// One gigabyte without a newline, ten in full tests.
#[test]
#[ignore = "nightly: 5 s"]
fn gigabytes_are_read_to_their_end_and_not_kept() {
    let bench = Bench::new("own-numbers-gigabytes");
    let gigabytes = count(1, 10);
    let line = format!("head -c {gigabytes}000000000 /dev/zero; echo; echo '12.5 ops/s'");
    let words =
        ["--command", &line, "--parse", RATE, "--replicates", "2", "--set", "runs_per_trial=1"];
    let found = bench.json(&words);
    assert_eq!(value(&found, "reported_ops_per_s", None), 12.5);
    let id = found["study"]["id"].as_str().unwrap();
    let result = bench.home.assay.home().join("results").join(id);
    let kept = fs::read_to_string(result.join("trials.jsonl")).unwrap();
    assert!(kept.len() < 4 << 20, "{} bytes", kept.len());
    assert!(kept.contains("only the last 64 KiB"), "{}", kept.len());
}

#[test]
fn a_trial_is_set_up_and_its_lines_know_which_it_is() {
    let bench = Bench::new("own-numbers-setup");
    let line = "echo \"$(cat ready) $THREADS\" >> seen; echo \"$THREADS ops/s\"";
    let words = [
        "--command",
        line,
        "--parse",
        RATE,
        "--set",
        "env:THREADS=1,4",
        "--set",
        "trial_setup=echo {replicate}/{trial} > ready",
        "--setup",
        "echo once >> once",
    ];
    let found = bench.json(&[&words[..], &SHORT].concat());
    for (level, value) in [("1", 1.0), ("4", 4.0)] {
        let cells = found["measurements"].as_array().unwrap();
        let own = |cell: &&Value| {
            cell["metric"] == "reported_ops_per_s" && cell["configuration"]["env:THREADS"] == level
        };
        let cell = cells.iter().find(own).unwrap();
        assert_eq!(cell["median"].as_f64(), Some(value), "{cell:#}");
    }
    let seen = fs::read_to_string(bench.path("seen")).unwrap();
    // The pilot is not a trial; each trial has two runs after its setup.
    assert!(seen.lines().any(|line| line.starts_with("0/0 ")), "{seen}");
    assert!(seen.lines().any(|line| line.starts_with("3/")), "{seen}");
    // Once per command, before its pilot run.
    assert_eq!(fs::read_to_string(bench.path("once")).unwrap(), "once\nonce\n");
    for (words, told) in [
        (&["--set", "env:THREADS"][..], "--set env:THREADS"),
        (&["--set", "env:1X=1,2"], "such as env:THREADS"),
        (&["-n", "a"], "a single command needs no name"),
        (&["--command", "b", "-n", "a", "-n", "a"], "two commands have this name"),
    ] {
        let words = [&["--command", "touch ran"], words].concat();
        let said = bench.home.told(2, &bench.words(&words));
        assert!(said.contains(told), "{words:?}: {said}");
    }
}

#[test]
fn number_of_one_command_is_in_its_first_table() {
    let bench = Bench::new("own-numbers-alone");
    let words = ["--command", "echo 'ran: 12.5 ops/s'", "--parse", RATE];
    let page = bench.text(&[&words[..], &SHORT].concat());
    let row = page.lines().find(|line| line.contains("ops_per_s") && line.contains("12.5"));
    assert!(row.is_some() && page.contains("printed number"), "{page}");
    // Without printed numbers, the table is unchanged.
    let page = bench.text(&[&["--command", "sleep 0.02"][..], &SHORT].concat());
    assert!(page.contains("mean") && !page.contains("printed number"), "{page}");
}

#[test]
fn rate_of_a_warm_file_is_suspect() {
    let bench = Bench::new("own-numbers-warm");
    fs::write(bench.path("warm"), vec![7; 32 << 20]).unwrap();
    let line = "dd if=warm of=/dev/null bs=1M 2>&1";
    let found = bench.json(&[&["--command", line, "--parse", "dd"][..], &SHORT].concat());
    let rate = cell(&found, "reported_bandwidth_bytes_per_s", None);
    assert_eq!(rate["trust"], "suspect", "{rate:#}");
    assert!(rate["reasons"].to_string().contains("memory served the rest"), "{rate:#}");
}
