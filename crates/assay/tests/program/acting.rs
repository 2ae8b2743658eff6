//! Assay acts only on results that were measured on this machine and this drive, and that nobody else could have
//! written.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assay::store::acting;
use assay_core::failure::{Failure, Outcome};
use assay_machine::system::{Fake, Faulty, System, journal};
use assay_runner::run::{self, Acting, Consented, Event, Finished, Request};
use assay_study::file::text;
use assay_study::results::bundle;
use assay_study::results::vouch::{Purpose, vouch};
use assay_testkit::needs::count;

use crate::DRIVE;

const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Which scheduler?"
replicates = 2
seed       = 11
area       = { size = "16 MiB" }

[factors]
scheduler = ["mq-deadline", "none"]

[[workload]]
name = "read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "2 ms", engine = "psync" }
"#;
/// Two replicates of two arms, each with its warm-up.
const TRIALS: usize = 6;
const RESULTS: &str = "/store/results";
const PURPOSES: [Purpose; 2] = [Purpose::GoOn, Purpose::Apply];

fn machine() -> Fake {
    let fake = Fake::sata_ssd().unwrap();
    fake.set_user(0).set_variable("ASSAY_HOME", "/store");
    fake.put("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
    fake.add("dir /store/results").unwrap();
    fake
}

fn request(text: &str, target: &str) -> Request<'static> {
    Request {
        results: Some(PathBuf::from(RESULTS)),
        ..Request::bare(text::parse("test", text).unwrap(), vec![target.to_owned()])
    }
}

fn run(system: &dyn System, tell: &mut dyn FnMut(Event)) -> Outcome<Finished> {
    run::run(system, request(STUDY, "/home/me"), &AtomicBool::new(false), tell)
}

fn measured() -> (Fake, String) {
    let fake = machine();
    let finished = run(&fake, &mut |_| {}).unwrap();
    (fake, finished.id)
}

fn directory(id: &str) -> PathBuf {
    Path::new(RESULTS).join(id)
}

/// Returns why a result is refused; checks that nothing is written.
fn refusal(fake: &Fake, wanted: &str, purpose: Purpose) -> Failure {
    let before = fake.files();
    let refusal = acting::open(fake, Some(wanted), purpose).err();
    assert_eq!(fake.files(), before, "{wanted}");
    let refusal = refusal.unwrap_or_else(|| panic!("{wanted} was taken for {purpose:?}"));
    assert!([2, 3].contains(&refusal.kind.exit_code()), "{refusal}");
    assert!(!refusal.message.contains(char::is_control), "{refusal:?}");
    refusal
}

fn edit(fake: &Fake, path: &Path, from: &str, to: &str) {
    let text = fake.read_text(path).unwrap();
    let changed = text.replacen(from, to, 1);
    assert_ne!(text, changed, "{}", path.display());
    fake.put(path, changed);
}

fn copy(fake: &Fake, from: &Path, to: &Path) {
    for (path, text) in fake.files() {
        if let Ok(below) = path.strip_prefix(from) {
            fake.put(to.join(below), text);
        }
    }
}

#[test]
fn what_root_measured_here_is_acted_upon_as_it_was_measured() {
    let (fake, id) = measured();
    for purpose in PURPOSES {
        for word in [id.clone(), directory(&id).display().to_string()] {
            let acting = acting::open(&fake, Some(&word), purpose).unwrap();
            let read = bundle::read(&fake, &directory(&id)).unwrap();
            assert_eq!(acting.stored.plan, read.plan);
            assert_eq!(acting.stored.trials.len(), TRIALS);
            assert_eq!(acting.stored.ended, read.ended);
            acting::on_the_same_drives(&fake, &acting.stored, &[]).unwrap();
        }
    }
}

type Change = fn(&Fake, &Path);

/// Changes refused in any place, with a word of the refusal.
const CHANGES: &[(&str, Change)] = &[
    ("was measured on another machine", |fake, _| {
        fake.put("/etc/machine-id", "ffffffffffffffffffffffffffffffff\n");
    }),
    ("was measured on another machine", |fake, _| {
        fake.put("/sys/class/dmi/id/product_uuid", "another board\n");
    }),
    ("was imported", |fake, bundle| {
        fake.put(bundle.join("import.json"), "{}");
    }),
    ("is a symbolic link", |fake, bundle| {
        fake.put("/elsewhere", fake.read_text(&bundle.join("trials.jsonl")).unwrap());
        fake.add(&format!("link {}/trials.jsonl /elsewhere", bundle.display())).unwrap();
    }),
    ("is a symbolic link", |fake, bundle| {
        copy(fake, &bundle.join("histograms"), Path::new("/elsewhere"));
        fake.remove(bundle.join("histograms"));
        fake.add(&format!("link {}/histograms /elsewhere", bundle.display())).unwrap();
    }),
    ("is a symbolic link", |fake, bundle| {
        copy(fake, bundle, Path::new("/elsewhere"));
        fake.remove(bundle);
        fake.add(&format!("link {} /elsewhere", bundle.display())).unwrap();
    }),
    ("names cannot contain control characters", |fake, bundle| {
        edit(fake, &bundle.join("study.toml"), "\"none\"", "\"none\\u001b[2J\"");
    }),
    ("names cannot contain control characters", |fake, bundle| {
        edit(fake, &bundle.join("plan.json"), "\"none\"", "\"none\\u001b[2J\"");
    }),
    ("names cannot contain control characters", |fake, bundle| {
        edit(fake, &bundle.join("trials.jsonl"), "\"none\"", "\"none\\nx\"");
    }),
];

#[test]
fn what_is_damaged_or_was_not_measured_here_is_refused() {
    let (whole, id) = measured();
    for (word, change) in CHANGES {
        for purpose in PURPOSES {
            let fake = whole.copy().unwrap();
            change(&fake, &directory(&id));
            let refusal = refusal(&fake, &id, purpose);
            assert!(refusal.message.contains(word), "{word}: {refusal}");
        }
    }
}

/// Edits that leave a result readable.
const EDITS: [Change; 8] = [
    |_, _| {},
    |fake, bundle| edit(fake, &bundle.join("study.toml"), "Which scheduler?", "Mine"),
    |fake, bundle| edit(fake, &bundle.join("plan.json"), "\"none\"", "\"bfq\""),
    |fake, bundle| edit(fake, &bundle.join("environment.json"), "6.1.0-18", "6.1.0-19"),
    |fake, bundle| edit(fake, &bundle.join("trials.jsonl"), "\"window_ns\":", "\"window_ns\":1"),
    |fake, bundle| {
        let path = bundle.join("trials.jsonl");
        let text = fake.read_text(&path).unwrap();
        fake.put(&path, text.split_inclusive('\n').skip(1).collect::<String>());
    },
    |fake, bundle| {
        let path = bundle.join("trials.jsonl");
        let text = fake.read_text(&path).unwrap();
        let last = text.lines().last().unwrap();
        fake.put(&path, format!("{text}{last}\n{last}\n"));
    },
    |fake, bundle| {
        let names = fake.list(&bundle.join("histograms")).unwrap();
        let [one, other] = [1, 2].map(|index| bundle.join("histograms").join(&names[index]));
        fake.put(&one, fake.read_text(&other).unwrap());
    },
];

/// Moves a result to a place where another user could have edited it; returns its name.
type Situation = fn(&Fake, &Path) -> String;
const SITUATIONS: [(&str, Situation); 9] = [
    ("is not in root's results directory /store/results", |fake, bundle| {
        let users =
            Path::new("/home/me/.local/share/assay/results").join(bundle.file_name().unwrap());
        copy(fake, bundle, &users);
        fake.remove(bundle).add("owner /home/me 1000").unwrap();
        users.display().to_string()
    }),
    ("other users can write to it", |fake, bundle| {
        fake.add("mode /store 1777").unwrap();
        word(bundle)
    }),
    ("other users can write to it", |fake, bundle| {
        fake.add("mode /store/results 0775").unwrap();
        word(bundle)
    }),
    ("it belongs to user 1000", |fake, bundle| {
        fake.add("owner /store 1000\nowner /store/results 0").unwrap();
        word(bundle)
    }),
    ("it is a symbolic link", |fake, bundle| {
        copy(fake, Path::new("/store"), Path::new("/moved"));
        fake.remove("/store").add("link /store /moved").unwrap();
        word(bundle)
    }),
    ("is not in root's results directory /store/results", |fake, bundle| {
        copy(fake, bundle, &Path::new("/other").join(word(bundle)));
        fake.add("link /short /other").unwrap();
        format!("/short/{}", word(bundle))
    }),
    ("was measured elsewhere and added here", |fake, bundle| {
        let foreign = format!("{}-foreign", word(bundle));
        copy(fake, bundle, &Path::new(RESULTS).join(&foreign));
        foreign
    }),
    ("trials.jsonl: it belongs to user 1000", |fake, bundle| {
        fake.add(&format!("owner {}/trials.jsonl 1000", bundle.display())).unwrap();
        word(bundle)
    }),
    ("histograms: other users can write to it", |fake, bundle| {
        fake.add(&format!("mode {}/histograms 0775", bundle.display())).unwrap();
        word(bundle)
    }),
];

fn word(bundle: &Path) -> String {
    bundle.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn results_within_reach_of_others_are_refused() {
    let (whole, id) = measured();
    for edit in EDITS {
        for (what, situation) in SITUATIONS {
            for purpose in PURPOSES {
                let fake = whole.copy().unwrap();
                edit(&fake, &directory(&id));
                let wanted = situation(&fake, &directory(&id));
                let refusal = refusal(&fake, &wanted, purpose);
                assert!(refusal.message.contains(what), "{what}: {refusal}");
            }
        }
    }
}

#[test]
fn what_was_brought_from_another_store_or_has_another_name_is_refused() {
    for purpose in PURPOSES {
        let (fake, id) = measured();
        let brought = Path::new("/other/results").join(&id);
        copy(&fake, &directory(&id), &brought);
        let told = refusal(&fake, &brought.display().to_string(), purpose);
        assert!(told.message.contains("is not in root's results directory"), "{told}");
        copy(&fake, &directory(&id), &directory("mine"));
        let told = refusal(&fake, "mine", purpose);
        assert!(told.message.contains("is not a valid result ID"), "{told}");
        fake.add(&format!("link /tmp/mine {}", directory(&id).display())).unwrap();
        for path in ["/tmp/mine", "/tmp/mine/"] {
            let told = refusal(&fake, path, purpose);
            assert!(told.message.contains("is a symbolic link"), "{told}");
        }
    }
}

#[test]
fn a_name_with_a_line_end_is_refused_by_whoever_reads_it() {
    let name = "a\nkernel.domainname = x\nb";
    let (fake, id) = measured();
    copy(&fake, &directory(&id), &directory(name));
    for purpose in PURPOSES {
        assert!(refusal(&fake, name, purpose).message.contains("a\\nkernel"));
    }
    let failure = bundle::read(&fake, &directory(name)).unwrap_err();
    assert!(!failure.message.contains('\n'), "{failure}");
    let (listed, warnings) = bundle::list(&fake, Path::new(RESULTS));
    assert_eq!((listed.len(), warnings.len()), (1, 1), "{warnings:?}");
    assert!(!warnings[0].contains('\n'), "{warnings:?}");
}

#[test]
fn on_another_drive_a_result_says_nothing() {
    let (fake, id) = measured();
    let stored = acting::open(&fake, Some(&id), Purpose::GoOn).unwrap().stored;
    let device = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0";
    fake.remove(format!("{device}/vpd_pg80")).put(format!("{device}/wwid"), "naa.5002538d");
    let told = acting::on_the_same_drives(&fake, &stored, &[]).unwrap_err();
    assert!(told.message.contains("the result does not apply"), "{told}");
    let told = acting::on_the_same_drives(&fake, &stored, &["/another".to_owned()]).unwrap_err();
    assert!(told.message.contains("run the study again"), "{told}");
}

fn resumed(fake: &Fake, id: &str) -> Outcome<Finished> {
    let (stored, voucher) = vouch(fake, &directory(id), Purpose::GoOn)?;
    let acting = Acting { stored, voucher, directory: directory(id) };
    run::resume(
        fake,
        acting,
        &Consented::default(),
        run::Looks::default(),
        &AtomicBool::new(false),
        &mut |_| {},
    )
}

/// Wherever a run is killed, its result can be resumed.
#[test]
fn a_run_that_is_killed_goes_on() {
    let step = count(3, 1);
    let (mut resumed_runs, mut change) = (0, 1);
    loop {
        let fake = machine();
        let dying = Faulty::dying(&fake, change);
        let _ = run(&dying, &mut |_| {});
        let alive = !dying.has_failed();
        for left in journal::unfinished(&fake, Path::new("/store/journal")).unwrap() {
            assert_eq!(journal::restore(&fake, &left).unwrap().failed, Vec::<String>::new());
        }
        if let Some(id) = bundle::ids(&fake, Path::new(RESULTS)).first() {
            let finished =
                resumed(&fake, id).unwrap_or_else(|why| panic!("killed at {change}: {why}"));
            assert_eq!(finished.trials.len(), TRIALS, "killed at {change}");
            vouch(&fake, &directory(id), Purpose::Apply).unwrap();
            resumed_runs += 1;
        }
        if alive {
            break;
        }
        change += u64::from(step);
    }
    assert!(resumed_runs > count(6, 20), "{resumed_runs}");
}

#[test]
fn what_others_measured_is_shown_and_gone_on_with_by_them_alone() {
    let fake = machine();
    fake.set_user(1000);
    let text = STUDY.replace("scheduler = [\"mq-deadline\", \"none\"]", "queue_depth = [1, 2]");
    let stop = AtomicBool::new(false);
    let finished = run::run(&fake, request(&text, "/home/me"), &stop, &mut |_| {}).unwrap();
    acting::open(&fake, Some(&finished.id), Purpose::GoOn).unwrap();
    fake.set_user(0);
    for purpose in PURPOSES {
        let told = refusal(&fake, &finished.id, purpose);
        assert!(told.message.contains("it belongs to user 1000"), "{told}");
    }
}

fn simulated(fake: &Fake) -> String {
    let text = STUDY.replace("scheduler = [\"mq-deadline\", \"none\"]", "queue_depth = [1, 2]");
    let stop = AtomicBool::new(false);
    run::run(fake, request(&text, DRIVE), &stop, &mut |_| {}).unwrap().id
}

#[test]
fn what_was_simulated_is_gone_on_with_only_where_the_machine_has_no_part_in_it() {
    const SETTING: &str = "\"tunable:/proc/sys/kernel/core_pattern\" = [\"core\", \"|/tmp/x\"]";
    let changes: [Change; 5] = [
        |fake, bundle| {
            let path = bundle.join("study.toml");
            edit(fake, &path, "[factors]", &format!("[factors]\n{SETTING}"));
        },
        |fake, bundle| {
            let path = bundle.join("study.toml");
            edit(fake, &path, "[factors]", "[factors]\nscheduler = [\"none\", \"bfq\"]");
        },
        |fake, bundle| {
            let level =
                "\"tunable:/proc/sys/kernel/core_pattern\": \"|/tmp/x\", \"queue_depth\": \"2\"";
            edit(fake, &bundle.join("plan.json"), "\"queue_depth\": \"2\"", level);
        },
        |fake, bundle| {
            edit(fake, &bundle.join("environment.json"), DRIVE, "/dev/sda");
        },
        |fake, bundle| {
            edit(fake, &bundle.join("study.toml"), "seed", "power_meter = \"/etc/shadow\"\nseed");
        },
    ];
    let fake = machine();
    let id = simulated(&fake);
    acting::open(&fake, Some(&id), Purpose::GoOn).unwrap();
    assert!(refusal(&fake, &id, Purpose::Apply).message.contains("was simulated"));
    for change in changes {
        for purpose in PURPOSES {
            let fake = machine();
            let id = simulated(&fake);
            change(&fake, &directory(&id));
            let told = refusal(&fake, &id, purpose);
            assert!(told.message.contains("was simulated"), "{told}");
        }
    }
}
