use assay_core::quantity::{Bytes, Loss, Percent, Time};
use assay_workloads::io::{
    Apart, Arrivals, AskedEngine, Content, IoSpec, Mix, Pattern, Poll, WriteSync,
};
use assay_workloads::{KINDS, WorkloadSpec as _};
use proptest::prelude::*;

use super::*;
use crate::file::{
    Cache, Fresh, GateKeys, LeadIn, Order, Precondition, Stop, StopRule, Target, Workload, presets,
};

/// Loads that have every key of `io` among them.
fn loads() -> Vec<IoSpec> {
    let timed =
        IoSpec { runtime: Some(Time(3_000_000)), ramp_time: Some(Time(0)), ..IoSpec::default() };
    vec![
        IoSpec {
            engine: AskedEngine::IoUring,
            queue_depth: 4,
            batch_complete_min: Some(2),
            poll: Some(Poll::Sqpoll),
            pin: true,
            ..timed.clone()
        },
        IoSpec { direct: false, think_time: Some(Time(1_000_000)), ..timed.clone() },
        IoSpec {
            compressibility: Content::Zero,
            distribution: "zipf:1.1".parse().unwrap(),
            align: Some(Bytes(16 << 10)),
            ..timed.clone()
        },
        IoSpec {
            mix: "70/30".parse().unwrap(),
            rw_split: Apart::Halves,
            sync: WriteSync::EachWrite,
            ..timed.clone()
        },
        IoSpec {
            mix: Mix::WRITES,
            sync: WriteSync::EachNth(8),
            duplicates: "30%".parse().unwrap(),
            ..timed.clone()
        },
        IoSpec {
            mix: Mix::WRITES,
            verify: true,
            arrival_rate: "1000/s".parse().ok(),
            arrival_process: Arrivals::Poisson,
            ..timed.clone()
        },
        IoSpec { pattern: Pattern::Spaced, operations: Some(100), ..IoSpec::default() },
        IoSpec { mix: Mix::Rewrite, ..timed.clone() },
        IoSpec { pattern: Pattern::Stride, stride: Some(Bytes(2 << 20)), ..timed },
    ]
}

/// Every field has a value other than its default.
fn full() -> Study {
    let mut study = presets::check().unwrap();
    let level = |name: &str, level: &str| (name.to_owned(), level.to_owned());
    let levels = |name: &str, levels: &[&str]| {
        (name.to_owned(), levels.iter().map(|&level| level.to_owned()).collect())
    };
    study.confirms = Some("20261120-1031".to_owned());
    study.race_ratio = Some("1.09".to_owned());
    study.lead_figure = Some("surface".to_owned());
    study.requirements = Some("our queue".to_owned());
    study.replicates = 12;
    study.members = Some(4);
    study.margin = Some(Percent(2.5));
    study.primary_metric = Some("latency_p99_ns".to_owned());
    study.aa_control = Some(false);
    study.order = Order::Rcbd;
    study.warmup_trial = LeadIn::Full;
    study.budget = Some(Time(90_000_000_000));
    study.seed = Some(7);
    study.hard_to_change = vec!["block_size".to_owned()];
    study.repeat_disturbed = false;
    study.probes = vec!["block-latency".to_owned()];
    study.power_meter = Some("meter.csv".to_owned());
    study.target = Some(Target::Directory("/mnt/card \"2\"".to_owned()));
    study.area.size = Some(Bytes(64 << 20));
    study.area.offset = Some("50%".parse().unwrap());
    study.area.align = Some(Bytes(2 << 20));
    study.precondition = Some(Precondition { passes: 2, compressibility: Content::Zero });
    study.discard = true;
    study.page_cache = Some(Cache::Warm);
    study.wait_idle = Some(Time(2_000_000_000));
    study.recreate_per = Fresh::Study;
    study.stop.rule = StopRule::Interim;
    study.stop.interim_at = vec![6, 12];
    study.stop.ci_half_width = Some(Percent(3.0));
    study.gate = Some(GateKeys {
        max_regression: Loss::Share(Percent(120.0)),
        must_detect: Some(Percent(300.0)),
        metric: Some("latency_p99_ns".to_owned()),
        allow_inconclusive: true,
        exit_inconclusive: Some(125),
    });
    study.factors =
        [levels("block_size", &["4 KiB", "1 MiB"]), levels("direct", &["true", "false"])].into();
    study.baseline = [level("block_size", "4 KiB")].into();
    study.configurations = vec![
        [level("block_size", "4 KiB"), level("direct", "true")].into(),
        [level("block_size", "1 MiB"), level("direct", "false")].into(),
    ];
    study.exclude = vec!["block_size > 64 KiB and direct = true".to_owned()];
    study.unavailable = [level("read_ahead", "nothing is read ahead here")].into();
    let flash = presets::find("flash").unwrap().unwrap();
    study.question = flash.question;
    let ask = &mut study.question[0];
    ask.workloads = vec!["random-read-q1".to_owned()];
    (ask.factor, ask.at) = (Some("block_size".to_owned()), [level("direct", "true")].into());
    (ask.level, ask.versus) = (Some("4 KiB".to_owned()), Some("1 MiB".to_owned()));
    ask.between = vec!["4 KiB".to_owned(), "1 MiB".to_owned()];
    ask.max = "100 IOPS".parse().ok();
    ask.slo = Some("p99 < 2 ms".to_owned());
    study.question[1].workloads = vec!["random-write-q1".to_owned()];
    study.articles = vec!["Intel SSD 520 Goodness".to_owned()];
    study.published = vec![crate::file::Pointer {
        article: Some("Pegasus2 Impressions".to_owned()),
        table: "anchors.csv".to_owned(),
        row: vec!["read (AJA / BlackMagic)".to_owned()],
        column: "value".to_owned(),
        part: Some(2),
        unit: Some("MB/s".to_owned()),
        name: Some("{item}".to_owned()),
        workload: "random-read-q1".to_owned(),
        metric: "bandwidth_bytes_per_s".to_owned(),
        at: [level("direct", "true")].into(),
        ratio: Some("block_size".to_owned()),
    }];
    study.card = Some(crate::file::Card {
        rated: "95 MB/s".parse().ok(),
        price: "12.50 GBP".parse().ok(),
        capacity: Some(Bytes(16_000_000_000)),
    });
    study.hosts = crate::file::Hosts {
        on_failure: crate::file::OnFailure::Continue,
        barrier_timeout: Some(Time(30_000_000_000)),
        join_timeout: Some(Time(60_000_000_000)),
    };
    let all = loads();
    for more in study.workload.len()..all.len() {
        let last = study.workload.last().unwrap().clone();
        study.workload.push(Workload { name: format!("more-{more}"), ..last });
    }
    for (workload, io) in study.workload.iter_mut().zip(all) {
        workload.work = io.into();
        workload.optional = true;
    }
    let background = IoSpec { sync: WriteSync::EachWrite, ..IoSpec::default() };
    study.workload[0].background = Some(background);
    study
}

#[test]
#[ignore = "nightly: 1 s"]
fn a_study_survives_writing_and_reading() {
    let mut studies: Vec<Study> = presets::all().map(|(_, study)| study.unwrap()).collect();
    studies.push(full());
    for (target, seed) in [
        (Target::File("disk.img".to_owned()), u64::from(u32::MAX)),
        (Target::Device("/dev/sdx".to_owned()), 0),
        (Target::Devices(vec!["/dev/sdx".to_owned(), "/dev/sdy".to_owned()]), 2),
        (Target::Simulated("lognormal,mean=100us,p99=400us,servers=1".to_owned()), 1),
    ] {
        studies.push(Study { target: Some(target), seed: Some(seed), ..full() });
    }
    for study in studies {
        let text = write(&study).unwrap();
        assert_eq!(parse("written", &text).unwrap(), study, "{text}");
        assert_eq!(stored("written", &text).unwrap(), study);
        assert_eq!(
            parse("settled", &write(&study.clone().settled()).unwrap()).unwrap(),
            study.settled()
        );
    }
}

/// One study per example of an `io` key that works with a plain load.
fn exampled() -> Vec<Study> {
    let fields = crate::file::fields::tables().find(|fields| fields.label == "io").unwrap();
    let study = |example: &str| {
        format!(
            "format = \"assay-study/1\"\ntitle = \"x\"\n[[workload]]\nname = \"w\"\n[workload.io]\n\
             pattern = \"random\"\nmix = \"read\"\nblock_size = \"4 KiB\"\n{example}\n"
        )
    };
    let fields = fields.rows.iter().filter(|field| !field.example.is_empty());
    fields.filter_map(|field| parse("example.toml", &study(field.example)).ok()).collect()
}

/// A field of the types without a row would be reported as unknown here.
#[test]
fn a_full_study_uses_every_key() {
    fn keys(value: &serde_json::Value, out: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(map) => {
                for (key, value) in map {
                    out.push(key.clone());
                    keys(value, out);
                }
            }
            serde_json::Value::Array(list) => list.iter().for_each(|value| keys(value, out)),
            _ => {}
        }
    }
    let mut used = Vec::new();
    keys(&serde_json::to_value(full()).unwrap(), &mut used);
    // What one row adds to reads and writes comes back of its example.
    for study in exampled() {
        keys(&serde_json::to_value(study).unwrap(), &mut used);
    }
    // No other rule has a use for it.
    let closeness = Some(Percent(2.0));
    let raced = Stop {
        rule: StopRule::Best,
        indifference_zone: closeness,
        screen: true,
        confirm: true,
        ..Stop::default()
    };
    keys(&serde_json::to_value(raced).unwrap(), &mut used);
    // It becomes factors as it is read.
    used.push("search".to_owned());
    for fields in crate::file::fields::tables() {
        // Other workloads than `io`, and output of commands, cannot be combined with it.
        let is_other =
            |name: &str| name != "io" && KINDS.iter().any(|kind| kind.about.name == name);
        if ["target", "simulated", "parse"].contains(&fields.label) || is_other(fields.label) {
            continue;
        }
        for name in fields.names().into_iter().filter(|name| !is_other(name)) {
            assert!(used.iter().any(|key| key == name), "{name} of {}", fields.label);
        }
    }
}

#[test]
fn another_format_is_refused_with_its_name() {
    let text = "format = \"assay-study/9\"\ntitle = \"x\"\nnew_key = 3\nworkload = []\n";
    let message = parse("mine.toml", text).unwrap_err().message;
    assert!(message.contains("assay-study/9") && !message.contains("new_key"), "{message}");
    assert!(stored("mine.toml", text).is_err());
}

#[test]
fn levels_of_the_baseline_become_the_words_of_the_factor() {
    let text = "format = \"assay-study/1\"\ntitle = \"x\"\nbaseline = { block_size = 4096, queue_depth = \"8\" }\n\
                factors = { block_size = [\"1 MiB\", \"4 KiB\"], queue_depth = [1, 8] }\n\
                [[workload]]\nname = \"a\"\nio = { pattern = \"random\", mix = \"read\" }\n";
    let study = parse("mine.toml", text).unwrap();
    assert_eq!(study.baseline["block_size"], "4 KiB");
    assert_eq!(study.baseline["queue_depth"], "8");
    let io = assay_workloads::io::IoSpec::of(&study.workload[0].work).unwrap();
    assert_eq!(io.block_size.one(), Some(Bytes(1 << 20)), "the first level fills what is missing");
}

#[test]
fn what_is_verified_is_written_in_whole_sectors_of_random_bytes() {
    let text = |factors: &str, io: &str| {
        format!(
            "format = \"assay-study/1\"\ntitle = \"t\"\nreplicates = 3\n{factors}\n[[workload]]\n\
             name = \"w\"\nio = {{ pattern = \"random\", {io}, verify = true }}\n"
        )
    };
    let told = |factors: &str, io: &str| parse("f", &text(factors, io)).unwrap_err().message;
    let (mixes, sizes) = (
        "[factors]\nmix = [\"read\", \"write\"]",
        "[factors]\nblock_size = [\"4 KiB\", \"700 B\"]",
    );
    for (factors, io, part) in [
        ("", "mix = \"read\", block_size = \"4 KiB\"", "verify: the workload writes nothing"),
        (
            "",
            "mix = \"write\", block_size = \"4 KiB\", compressibility = \"100%\"",
            "verify: verification requires random",
        ),
        ("", "mix = \"write\", block_size = \"1000 B\"", "whole sectors of 512 B"),
        (sizes, "mix = \"write\"", "but block_size is 700 B"),
        ("", "mix = \"write\", block_size = \"4KiB/50:8KiB/50\"", "a single block size"),
        ("", "mix = \"write/50:trim/50\", block_size = \"4 KiB\"", "does not support trims"),
        (
            "",
            "mix = \"write\", block_size = \"4 KiB\", duplicates = \"30%\"",
            "does not support duplicate",
        ),
        ("", "mix = \"write\", block_size = \"4 KiB\", align = \"512 B\"", "do not overlap"),
    ] {
        let told = told(factors, io);
        assert!(told.contains(part), "{io}: {told}");
    }
    // No error if some level writes, or without the key.
    for (factors, io) in
        [(mixes, "block_size = \"4 KiB\""), ("", "mix = \"rewrite\", block_size = \"512 B\"")]
    {
        parse("f", &text(factors, io)).unwrap();
    }
    let without =
        text("", "mix = \"read\", block_size = \"1000 B\"").replace(", verify = true", "");
    let study = parse("f", &without).unwrap();
    assert!(!write(&study).unwrap().contains("verify"));
}

const SEEDS: [&str; 3] = [
    include_str!("../../../../../studies/check.toml"),
    EXAMPLE,
    include_str!("../../../../assay/tests/studies/invalid/many.toml"),
];

const PIECES: [&str; 14] = [
    "\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    "\n",
    ",",
    ".",
    "-1",
    "[[workload]]\n",
    "\u{20ac}",
    "'''",
    "0x",
];

proptest! {
    #[test]
    fn no_file_makes_it_panic(
        seed in 0..SEEDS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, any::<u8>()), 1..6),
    ) {
        let mut bytes = SEEDS[seed].as_bytes().to_vec();
        for (at, what, with) in changes {
            let at = at.index(bytes.len().max(1)).min(bytes.len());
            match what {
                0 if at < bytes.len() => bytes[at] = with,
                1 if at < bytes.len() => drop(bytes.remove(at)),
                2 => drop(bytes.splice(at..at, PIECES[usize::from(with) % PIECES.len()].bytes())),
                _ => bytes.truncate(at.max(bytes.len() / 3)),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        match parse("f", &text) {
            Ok(study) => prop_assert_eq!(parse("g", &write(&study).unwrap()).unwrap(), study),
            Err(failure) => prop_assert!(failure.message.starts_with("f:")),
        }
    }
}

/// Found by `cargo xtask fuzz`: the stack of a thread was not enough, and that ends the whole program.
#[test]
fn brackets_that_thousands_leave_open_are_a_mistake_and_not_the_end() {
    let line = "[[workload]]\nname = \"read\"\nio   = { pattern = \"ran10 ns\"]\n";
    let text = format!("format = \"assay-study/1\"\ntitle = \"t\"\n{}", line.repeat(20_000));
    let failure = parse("deep", &text).unwrap_err();
    assert!(failure.message.contains("100 brackets are unclosed"), "{}", failure.message);
    assert!(failure.message.starts_with("deep:"), "{}", failure.message);
    // A quotation mark inside of an unclosed string does not close it.
    let line = "[[workload]]\nname = \"ramp\"\nio   = { pattern = \"r0000 }\n\n";
    let text = format!("format = \"assay-study/1\"\ntitle = \"t\"\n{}", line.repeat(5_000));
    let failure = parse("deep", &text).unwrap_err();
    assert!(failure.message.contains("100 brackets are unclosed"), "{}", failure.message);
}

/// The same with the parts of a key.
#[test]
fn keys_of_thousands_of_parts_are_a_mistake_and_not_the_end() {
    for text in ["a.b.c.".repeat(20_000), format!("[{}x]\n", "a . b . ".repeat(20_000))] {
        let text = format!("format = \"assay-study/1\"\ntitle = \"t\"\n{text} = 1\n");
        let failure = parse("deep", &text).unwrap_err();
        assert!(failure.message.contains("more than 100 parts"), "{}", failure.message);
        let failure = stored("deep", &text).unwrap_err();
        assert!(failure.message.starts_with("deep: "), "{}", failure.message);
    }
}

/// Found by `cargo xtask fuzz` in a stored study with unchecked numbers.
#[test]
fn operations_in_flight_never_overflow() {
    let io = IoSpec { queue_depth: u32::MAX, threads: 3, ..IoSpec::default() };
    assert_eq!(io.in_flight(), u32::MAX);
    assert!(io.words().contains("4294967295 in flight"), "{}", io.words());
}

const LEAD: &str = "format = \"assay-study/1\"\ntitle = \"x\"\nlead_figure = \"surface\"\n[[workload]]\nname = \"a\"\n\
                    io = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }\n";

#[test]
fn what_leads_is_one_of_the_figures_and_may_be_left_out() {
    let lead = |text: &str| parse("mine.toml", text).map(|study| study.lead_figure);
    assert_eq!(lead(LEAD).unwrap().as_deref(), Some("surface"));
    let without = LEAD.replace("lead_figure = \"surface\"\n", "");
    assert_eq!(lead(&without).unwrap(), None);
    assert_eq!(stored("mine.toml", &without).unwrap().lead_figure, None);
    let message = lead(&LEAD.replace("surface", "surfaces")).unwrap_err().message;
    assert!(message.contains("did you mean \"surface\"?"), "{message}");
    let message = lead(&LEAD.replace("surface", "the nicest")).unwrap_err().message;
    for name in crate::file::lead::names() {
        assert!(message.contains(name), "{name}: {message}");
    }
}

#[test]
fn what_a_later_version_let_lead_is_read_from_a_stored_study() {
    let text = LEAD.replace("surface", "of a later version");
    assert_eq!(
        stored("mine.toml", &text).unwrap().lead_figure.as_deref(),
        Some("of a later version")
    );
}
