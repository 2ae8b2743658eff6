//! Inputs from which an importer lost a number or a difference, and similar inputs that were read correctly.

use assay_core::exhibit::parts::distinct;
use assay_study::findings::measurements::Series;
use assay_workloads::command::ImportEvidence;

use super::criterion::named_path;
use super::{Imported, ImportedFile, Options, of_bytes, read};

fn brought(name: &str, text: &str) -> ImportedFile {
    ImportedFile {
        name: name.to_owned(),
        bytes: text.as_bytes().to_vec(),
        ..ImportedFile::default()
    }
}

fn all(files: &[(&str, &str)]) -> Imported {
    let files: Vec<ImportedFile> = files.iter().map(|(name, text)| brought(name, text)).collect();
    let importer = of_bytes(&files[0].name, &files[0].bytes).unwrap();
    read(importer, &files, &Options::default()).unwrap()
}

fn one(text: &str) -> Imported {
    all(&[("f", text)])
}

/// The message with which the import of a file fails.
fn refusal(name: &str, text: &str) -> String {
    let file = brought(name, text);
    let importer = match of_bytes(name, &file.bytes) {
        Ok(importer) => importer,
        Err(failure) => return failure.message,
    };
    read(importer, &[file], &Options::default()).unwrap_err().message
}

/// `workload metric: values`, one line per row, without the arm.
fn rows(imported: &Imported) -> Vec<String> {
    let row = |series: &Series| {
        let value =
            |value: Option<f64>| value.map_or("none".to_owned(), |value| format!("{value}"));
        let values: Vec<String> = series.trials.iter().map(|trial| value(trial.value)).collect();
        format!("{} {}: {}", series.workload, series.metric, values.join(" "))
    };
    imported.measurements.series.iter().map(row).collect()
}

fn workloads(imported: &Imported) -> Vec<String> {
    distinct(imported.measurements.series.iter().map(|series| series.workload.clone()))
}

fn factors(imported: &Imported) -> Vec<&str> {
    imported.measurements.design.factors.iter().map(|factor| factor.name.as_str()).collect()
}

fn evidence(imported: &Imported, workload: &str) -> Vec<ImportEvidence> {
    let all = imported.measurements.series.iter().find(|series| series.workload == workload);
    all.unwrap().evidence.concat()
}

#[test]
fn equal_benchmarks_of_two_packages_differ() {
    let text = "pkg: a.org/cache\nBenchmarkPut-4 10 50 ns/op\nBenchmarkPut-4 10 51 ns/op\n\
                pkg: a.org/csrf\nBenchmarkPut-4 10 2 ns/op\nBenchmarkOnly-4 10 3 ns/op\n";
    let expected = [
        "a.org/cache Put time_per_op_ns: 50 51",
        "a.org/csrf Put time_per_op_ns: 2",
        "Only time_per_op_ns: 3",
    ];
    assert_eq!(rows(&one(text)), expected);
    let old = "pkg: a.org/v1\nBenchmarkPut-4 10 50 ns/op\n";
    let new = "pkg: a.org/v2\nBenchmarkPut-4 10 40 ns/op\n";
    assert_eq!(workloads(&all(&[("old", old), ("new", new)])), ["Put"], "one package per file");
}

#[test]
fn equal_tests_of_two_modules_differ() {
    let test = |fullname: &str, params: &str, mean: f64| {
        let (path, parameters) = fullname.split_at(fullname.find('[').unwrap_or(fullname.len()));
        let name = format!("{}{parameters}", path.rsplit("::").next().unwrap());
        format!(
            "{{\"name\": \"{name}\", \"fullname\": \"{fullname}\", \
             \"params\": {params}, \"stats\": {{\"mean\": {mean}}}}}"
        )
    };
    let file = |tests: &[String]| {
        format!("{{\"machine_info\": {{}}, \"benchmarks\": [{}]}}", tests.join(","))
    };
    let two = [test("a.py::test_io", "null", 1.0), test("b.py::test_io", "null", 2.0)];
    assert_eq!(workloads(&one(&file(&two))), ["a.py test_io", "b.py test_io"]);
    let classes = [test("a.py::A::test_io", "null", 1.0), test("a.py::B::test_io", "null", 2.0)];
    assert_eq!(workloads(&one(&file(&classes))), ["a.py::A test_io", "a.py::B test_io"]);
    let sizes = [
        test("a.py::test_io[a::b]", "{\"s\": \"a::b\"}", 1.0),
        test("a.py::test_io[c]", "{\"s\": \"c\"}", 2.0),
    ];
    let found = one(&file(&sizes));
    assert_eq!((workloads(&found), factors(&found)), (vec!["test_io".to_owned()], vec!["s"]));
}

const SAMPLE: &str = "{\"sampling_mode\":\"Flat\",\"iters\":[1.0,1.0],\"times\":[100.0,120.0]}";

#[test]
fn paths_of_criterion_name_benchmarks() {
    let fast = "target/criterion/hash/fast/1024/new/sample.json";
    let found = all(&[(fast, SAMPLE), ("target/criterion/hash/slow/1024/new/sample.json", SAMPLE)]);
    assert_eq!(workloads(&found), ["hash/fast/1024", "hash/slow/1024"]);
    let found = all(&[
        ("criterion/hash/new/sample.json", SAMPLE),
        ("criterion/hash/base/sample.json", SAMPLE),
    ]);
    assert_eq!((workloads(&found), factors(&found)), (vec!["hash".to_owned()], vec!["saved as"]));
    let found = all(&[("run-1/sample.json", SAMPLE), ("run-2/sample.json", SAMPLE)]);
    assert_eq!(
        rows(&found),
        ["benchmark time_per_iteration_ns: 110 110"],
        "the format names nothing"
    );
    for path in [fast, "/home/me/target/criterion/a/b/new/raw.csv", "a/b/c/d/new/sample.json"] {
        let kept = named_path(path).unwrap();
        assert_eq!(named_path(&kept).as_ref(), Some(&kept), "{path}");
        assert!(!kept.contains("home"), "{kept}");
    }
    assert_eq!((named_path("results/sample.json"), named_path("a/new/fio.json")), (None, None));
}

#[test]
fn changes_of_criterion_are_no_times() {
    let point = "{\"point_estimate\":0.03,\"confidence_interval\":{},\"standard_error\":0.01}";
    let change = format!("{{\"mean\":{point},\"median\":{point}}}");
    assert!(refusal("estimates.json", &change).contains("not its time"));
    let times = format!("{{\"mean\":{point},\"median\":{point},\"slope\":null}}");
    assert_eq!(rows(&one(&times)), ["benchmark time_per_iteration_ns: 0.03"]);
}

#[test]
fn other_units_of_criterion_are_read_or_named() {
    let message = |id: &str, unit: &str| {
        format!(
            "{{\"reason\":\"benchmark-complete\",\"id\":\"{id}\",\"iteration_count\":[1],\"measured_values\":[1],\
             \"unit\":\"ns\",\"mean\":{{\"estimate\":2.5,\"unit\":\"{unit}\"}}}}\n"
        )
    };
    let found = one(&(message("a", "\u{b5}s") + &message("b", "cycles") + &message("c", "ps")));
    assert_eq!(rows(&found), ["a time_per_iteration_ns: 2500", "c time_per_iteration_ns: 0.0025"]);
    assert!(
        found.notes.iter().any(|note| note.contains("b (measured in `cycles`")),
        "{:?}",
        found.notes
    );
    assert!(refusal("f", &message("b", "cycles")).contains("measured in `cycles`"));
    let header = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\n";
    let raw = format!("{header}g,f,,,,4,ms,2\ng,h,,,,4,bytes,2\n");
    let found = one(&raw);
    assert_eq!(rows(&found), ["g/f time_per_iteration_ns: 2000000"]);
    assert!(
        found.notes.iter().any(|note| note.contains("g/h (measured in `bytes`")),
        "{:?}",
        found.notes
    );
}

fn phoronix(results: &str) -> String {
    format!("<PhoronixTestSuite>{results}</PhoronixTestSuite>")
}

fn result(arguments: &str, entries: &[(&str, &str)]) -> String {
    let entry = |(system, raw): &(&str, &str)| {
        format!(
            "<Entry><Identifier>{system}</Identifier><Value></Value><RawString>{raw}</RawString></Entry>"
        )
    };
    let entries = entries.iter().map(entry).collect::<Vec<String>>().concat();
    format!(
        "<Result><Identifier>pts/y-2.0</Identifier><Title>Y</Title><Arguments>{arguments}</Arguments>\
         <Scale>MB/s</Scale><Proportion>HIB</Proportion><Data>{entries}</Data></Result>"
    )
}

#[test]
fn results_of_phoronix_with_other_arguments_differ() {
    let both = [("A", "10:11"), ("B", "20:21")];
    let found = one(&phoronix(&(result("-t 1", &both) + &result("-t 8", &both))));
    assert_eq!(workloads(&found), ["pts/y-2.0 -t 1 Y", "pts/y-2.0 -t 8 Y"]);
    assert_eq!(workloads(&one(&phoronix(&result("-t 1", &both)))), ["Y"]);
}

#[test]
fn failed_systems_of_phoronix_are_lost_and_not_absent() {
    let found = one(&phoronix(&result("", &[("A", ""), ("B", "20:21")])));
    assert_eq!(rows(&found), ["Y MB/s: none", "Y MB/s: 20 21"]);
    let reason = found.measurements.series[0].trials[0].reason.clone().unwrap();
    assert!(reason.contains("all runs failed"), "{reason}");
    let found = one(&phoronix(&result("", &[("A", ":"), ("B", "")])));
    assert_eq!(rows(&found), ["Y MB/s: none", "Y MB/s: none"], "all systems failed");
}

fn sysstat(hosts: &[(&str, &str)]) -> String {
    let hosts: Vec<String> = hosts
        .iter()
        .map(|(name, disks)| {
            format!("{{\"nodename\": \"{name}\", \"statistics\": [{{\"disk\": [{disks}]}}]}}")
        })
        .collect();
    format!("{{\"sysstat\": {{\"hosts\": [{}]}}}}", hosts.join(","))
}

#[test]
fn equal_disks_of_two_hosts_differ() {
    let disk = "{\"disk_device\": \"sda\", \"tps\": 5.0}";
    assert_eq!(workloads(&one(&sysstat(&[("h1", disk), ("h2", disk)]))), ["h1 sda", "h2 sda"]);
    assert_eq!(workloads(&one(&sysstat(&[("h1", disk)]))), ["sda"]);
}

#[test]
fn each_unit_of_iostat_is_read() {
    let rows_of = |fields: &str| {
        rows(&one(&sysstat(&[("h", &format!("{{\"disk_device\": \"sda\", {fields}}}"))])))
    };
    let found = rows_of("\"r/s\": 250.0, \"rMB/s\": 31.25, \"w/s\": 100.0, \"wMB/s\": 0.390625");
    assert!(found.contains(&"sda read_bytes_per_s: 32768000".to_owned()), "{found:?}");
    assert!(found.contains(&"sda written_bytes_per_s: 409600".to_owned()), "{found:?}");
    assert_eq!(rows_of("\"tps\": 7.0, \"MB/s\": 2.0")[1], "sda moved_bytes_per_s: 2097152");
    assert_eq!(rows_of("\"tps\": 7.0, \"MB_read/s\": 2.0")[1], "sda read_bytes_per_s: 2097152");
    assert_eq!(rows_of("\"tps\": 7.0, \"Blk_wrtn/s\": 8.0")[1], "sda written_bytes_per_s: 4096");
    assert_eq!(rows_of("\"tps\": 7.0, \"kB_dscd/s\": 4.0")[1], "sda discarded_bytes_per_s: 4096");
    assert_eq!(
        rows_of("\"tps\": 7.0, \"rd_sec\": 2.0, \"avgqu-sz\": 3.0")[2],
        "sda queue_length: 3"
    );
    let unknown =
        one(&sysstat(&[("h", "{\"disk_device\": \"sda\", \"tps\": 7.0, \"zz/s\": 2.0}")]));
    assert!(unknown.notes.iter().any(|note| note.contains("zz/s")), "{:?}", unknown.notes);
}

#[test]
fn groups_and_idle_disks_of_iostat_are_rows() {
    let disk = |name: &str, rate: f64| {
        format!(
            "{{\"disk_device\": \"{name}\", \"r/s\": {rate}, \"w/s\": 0.0, \"r_await\": 0.0, \"rkB/s\": 0.0}}"
        )
    };
    let text =
        sysstat(&[("h", &[disk("sda", 4.0), disk("sdb", 0.0), disk(" grp", 4.0)].join(","))]);
    assert_eq!(workloads(&one(&text)), ["grp", "sda", "sdb"]);
    let idle = rows(&one(&text)).into_iter().filter(|row| row.starts_with("sdb")).count();
    assert_eq!(idle, 3, "requests and bytes per second; no wait, since nothing waited");
}

const ELBENCHO: &str = "ISO date,threads,path type,block size,file size,direct IO,operation,time ms [last],\
                        IOPS [last],MiB/s [last],IO lat us [avg],rwmix read IOPS [last],rwmix read MiB/s [last],\
                        rwmix read IO lat us [avg]\n";

#[test]
fn both_directions_of_an_elbencho_mix_are_read() {
    let found = one(&format!(
        "{ELBENCHO}2026-01-05T10:00:00,1,file,4096,1G,1,WRITE,60000,3000,11,100,7000,27,200\n"
    ));
    let found = rows(&found);
    assert!(found.contains(&"write, writes iops: 3000".to_owned()), "{found:?}");
    assert!(found.contains(&"write, reads iops: 7000".to_owned()), "{found:?}");
    assert!(found.contains(&"write, reads latency_mean_ns: 200000".to_owned()), "{found:?}");
    let plain = one(&format!(
        "{ELBENCHO}2026-01-05T10:00:00,1,file,4096,1G,1,WRITE,60000,3000,11,100,,,\n"
    ));
    assert_eq!(workloads(&plain), ["write"]);
}

#[test]
fn dd_is_read_in_each_language() {
    let rows_of = |line: &str| rows(&one(&format!("1+0 a\n1+0 b\n{line}\n")));
    let expected = rows_of("536870912 bytes (537 MB, 512 MiB) copied, 0.4 s, 1.3 GB/s");
    assert_eq!(expected, ["copy bandwidth_bytes_per_s: 1342177280", "copy duration_s: 0.4"]);
    for line in [
        "536870912 Bytes (537 MB, 512 MiB) kopiert, 0,4 s, 1,3 GB/s",
        "536870912 octets (537 MB, 512 MiB) copi\u{e9}s, 0,4 s, 1,3 GB/s",
        "536870912 bytes (537 MB, 512 MiB) copied, 0,4 s, 1,3 GB/s",
        "536870912 \u{431}\u{430}\u{439}\u{442} (537 MB, 512 MiB) \u{441}, 0,4 s, 1,3 GB/s",
        "536870912\u{5b57}\u{8282} (537 MB, 512 MiB) \u{590d}\u{5236}\u{ff0c}0.4 s\u{ff0c}1.3 GB/s",
    ] {
        assert_eq!(rows_of(line), expected, "{line}");
    }
    let progress =
        "99 bytes copied, 1 s, 99 B/s\r536870912 bytes (537 MB, 512 MiB) copied, 0.4 s, 1.3 GB/s";
    assert_eq!(rows_of(progress), expected, "status=progress");
    let wrong = "536870912 Bytes (537 MB, 512 MiB) kopiert, 0,4 s, 9,3 GB/s\n";
    assert!(of_bytes("d", wrong.as_bytes()).map_or(true, |own| own.about.name != "dd"));
}

/// A line of bonnie++ 1.98 with a rate and a latency of the writes by block.
fn bonnie(rate: &str, latency: &str) -> String {
    let mut fields = vec![""; 50];
    (fields[0], fields[1], fields[2], fields[5]) = ("1.98", "1.98", "host", "1G");
    (fields[11], fields[39]) = (rate, latency);
    fields.join(",")
}

#[test]
fn too_fast_for_bonnie_is_named() {
    let text = format!("{}\n{}\n", bonnie("2048", "7us"), bonnie("+++++", "9us"));
    assert_eq!(
        rows(&one(&text)),
        [
            "write by block bandwidth_bytes_per_s: 2097152 none",
            "write by block latency_max_ns: 7000 9000"
        ]
    );
    let only = one(&format!("{}\n", bonnie("+++++", "9us")));
    assert_eq!(rows(&only), ["write by block latency_max_ns: 9000"]);
    let note = "no bandwidth for write by block: too fast to measure (+++++)";
    assert!(only.notes.iter().any(|own| own == note), "{:?}", only.notes);
    assert!(rows(&one(&format!("{}\n", bonnie("2048", "")))).len() == 1, "nothing is too fast");
}

#[test]
fn templates_of_hyperfine_are_no_replicates() {
    let import = |commands: &[(&str, u32)]| {
        let results: Vec<String> = commands
            .iter()
            .map(|(command, n)| {
                format!("{{\"command\": \"{command}\", \"times\": [1.0, 2.0], \"parameters\": {{\"n\": \"{n}\"}}}}")
            })
            .collect();
        one(&format!("{{\"results\": [{}]}}", results.join(",")))
    };
    let found = import(&[("cat 1", 1), ("tac 1", 1), ("cat 2", 2), ("tac 2", 2)]);
    assert_eq!(factors(&found), ["command", "n"]);
    assert_eq!(found.measurements.design.factors[0].levels, ["cat {n}", "tac {n}"]);
    assert_eq!(factors(&import(&[("cat 1", 1), ("cat 2", 2)])), ["n"]);
}

#[test]
fn jobs_with_logs_of_their_own_differ() {
    let log = "1, 100, 0, 4096\n2, 200, 0, 4096\n";
    let found = all(&[("a_lat.1.log", log), ("a_lat.2.log", log)]);
    assert_eq!(factors(&found), ["job"]);
    assert!(factors(&all(&[("x/a_lat.1.log", log), ("y/a_lat.1.log", log)])).is_empty());
}

#[test]
fn percentiles_of_few_log_lines_are_not_shown() {
    let log = |count: u64| {
        (1..=count).fold(String::new(), |text, at| text + &format!("{at}, {at}, 0, 4096\n"))
    };
    let metrics = |count: u64| {
        let found = all(&[("a_lat.1.log", &log(count))]);
        let names = found.measurements.series.iter().map(|series| series.metric.clone());
        let note = found.notes.iter().any(|note| note.contains("operations per run, but"));
        (names.filter(|name| name.contains("_p")).collect::<Vec<_>>(), note)
    };
    assert_eq!(metrics(2), (Vec::new(), true));
    assert_eq!(metrics(19).0.len(), 0);
    assert_eq!(metrics(20).0, ["latency_p50_ns"]);
    assert_eq!(metrics(999).0.len(), 2);
    assert_eq!(metrics(1000).0.len(), 3);
    assert_eq!(
        metrics(10_000),
        (["p50", "p90", "p99", "p999"].map(|p| format!("latency_{p}_ns")).to_vec(), false)
    );
}

#[test]
fn unread_tools_are_named_with_what_is_read() {
    for (text, words) in [
        ("4 KiB <<< /srv (xfs /dev/sdb1): request=1 time=90.1 us\n", ["ioping", "fio"]),
        (
            "--- /srv (xfs /dev/sdb1) ioping statistics ---\n9 requests completed\n",
            ["ioping", "fio"],
        ),
        (
            "5 seconds per test\n  fdatasync   900.1 ops/sec   1111 usecs/op\n",
            ["pg_test_fsync", "fio"],
        ),
        ("sysbench 1.0.20 (x)\n\nThroughput:\n    read, MiB/s: 12.00\n", ["sysbench", "--parse"]),
        ("sysbench 1.0.20 (x)\nSQL statistics:\n    queries performed:\n", ["sysbench", "--parse"]),
        (
            "/dev/sdb:\n Timing buffered disk reads: 90 MB in  3.00 seconds =  30.00 MB/sec\n",
            ["hdparm", "fio"],
        ),
        (
            "transaction type: <builtin: TPC-B>\ntps = 85.1 (without initial)\n",
            ["pgbench", "--parse"],
        ),
        (
            "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.008\"} 17852494\n\
             etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.016\"} 1.8745663e+07\n\
             etcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 18823948\n",
            ["between 0.008 and 0.016 s", "less than 0.01 s: inconclusive"],
        ),
        ("\u{7}tae\u{1}\0\0\0\u{3}\0", ["blkparse -i", "CPUs"]),
        ("eat\u{7}\0\0\0\0", ["blkparse -i", "CPUs"]),
    ] {
        let message = refusal("f.blktrace.0", text);
        assert!(words.iter().all(|word| message.contains(word)), "{text}: {message}");
    }
}

#[test]
fn a_second_json_document_is_not_passed_over() {
    let times = "{\"results\": [{\"command\": \"a\", \"times\": [1.0, 2.0]}]}\n";
    assert!(
        refusal("h.json", &(times.to_owned() + times))
            .starts_with("h.json:2:1: a second JSON document")
    );
    assert_eq!(
        rows(&one(&format!("{times}done {{1}}\n"))),
        ["command duration_s: 1 2"],
        "a message"
    );
    let sysstat = sysstat(&[("h", "{\"disk_device\": \"sda\", \"tps\": 5.0}")]);
    assert!(refusal("s.json", &format!("{sysstat}\n{sysstat}")).contains("second"));
    assert!(refusal("c.json", &format!("{SAMPLE}\n{SAMPLE}")).contains("second"));
}

fn diskmark(version: &str, write: &str) -> String {
    format!(
        "KDiskMark ({version}): https://example.org\n[Read]\nSEQ 1 MiB (Q= 8, T= 1): 5000.0 MB/s \
         [ 1.0 IOPS] < 5.0 us>\n\
         RND 4 KiB (Q= 32, T= 4): 90.0 MB/s [ 1.0 IOPS] < 5.0 us>\n[Write]\nSEQ 1 MiB (Q= 8, T= 1): {write} MB/s\n\
         RND 4 KiB (Q= 32, T= 4): 0.5 MB/s\n   Test: 1 GiB (x5)\n"
    )
}

#[test]
fn tests_of_diskmark_carry_their_evidence() {
    let faults = |version: &str| {
        let found = one(&diskmark(version, "2500.0"));
        let has = |workload: &str| {
            evidence(&found, workload).iter().any(|own| matches!(own, ImportEvidence::Fault(_)))
        };
        (has("read SEQ 1 MiB (Q= 8, T= 1)"), has("read RND 4 KiB (Q= 32, T= 4)"))
    };
    assert_eq!([faults("3.2.0"), faults("2.0.1"), faults("3.1.4")], [(false, true); 3]);
    assert_eq!([faults("3.3.0"), faults("4.0.0")], [(false, false); 2]);
    let found = one(&diskmark("3.3.0", "10.0"));
    let expected = ImportEvidence::Directions { read: 5e9, written: 1e7 };
    assert_eq!(evidence(&found, "read SEQ 1 MiB (Q= 8, T= 1)"), [expected]);
    assert!(evidence(&found, "write SEQ 1 MiB (Q= 8, T= 1)").is_empty());
    let other = diskmark("3.3.0", "10.0").replace("1 GiB (x5)", "16 MiB (x5)");
    let two = all(&[("a", &diskmark("3.3.0", "10.0")), ("b", &other)]);
    assert_eq!(factors(&two), ["test"], "another size of the test file");
    let fuller = diskmark("3.3.0", "10.0").replace("(x5)", "(x5) [C: 41% (98/238 GiB)]");
    assert!(factors(&all(&[("a", &diskmark("3.3.0", "10.0")), ("b", &fuller)])).is_empty());
}

#[test]
fn what_may_be_cached_carries_its_evidence() {
    let buffered = |found: &Imported, workload: &str| {
        evidence(found, workload).iter().any(|own| matches!(own, ImportEvidence::Buffered { .. }))
    };
    assert!(buffered(&one("1000000000 bytes (1 GB, 954 MiB) copied, 0.5 s, 2.0 GB/s\n"), "copy"));
    let line = |direct: &str| {
        format!("{ELBENCHO}2026-01-05T10:00:00,1,file,4096,1073741824,{direct},READ,6,30,11,1,,,\n")
    };
    assert!(buffered(&one(&line("0")), "read") && !buffered(&one(&line("1")), "read"));
    let iozone = "Iozone: x\n   Output is in kBytes/sec\n       kB  reclen   write rewrite\n\
                  \x20    1024       4  900000  900000\n";
    assert!(buffered(&one(iozone), "write"));
}

#[test]
fn directions_with_other_settings_are_not_compared() {
    let job = |rw: &str, part: &str, fsync: &str| {
        format!(
            "{{\"jobname\": \"{rw}\", \"groupid\": 0, \"job options\": {{\"rw\": \"{rw}\", \"fsync\": \"{fsync}\"}}, \
             \"{part}\": {{\"total_ios\": 100, \"iops\": 1.0, \"bw_bytes\": 1000, \"runtime\": 10}}}}"
        )
    };
    let compared = |fsync: &str| {
        let jobs = [job("read", "read", "0"), job("write", "write", fsync)].join(",");
        let found = one(&format!("{{\"fio version\": \"3\", \"jobs\": [{jobs}]}}"));
        evidence(&found, "read 4k")
            .iter()
            .any(|own| matches!(own, ImportEvidence::Directions { .. }))
    };
    assert_eq!([compared("0"), compared("1")], [true, false]);
}
