//! `assay check --for`: bounds on drives with known values, from the command line to every page.

use serde_json::Value;

use crate::home;

/// A drive with sync times of at most 2 ms in 99 of 100, and of at least 40 ms in 1 of 2.
const FAST: &str = "simulated:lognormal,mean=1ms,p99=2ms";
const SLOW: &str = "simulated:lognormal,mean=40ms,p99=60ms";
/// Its p99 equals the bound.
const ASTRIDE: &str = "simulated:lognormal,mean=4ms,p99=10ms";

fn cells<'f>(found: &'f Value, metric: &str) -> Vec<&'f Value> {
    let all = found["measurements"].as_array().unwrap().iter();
    all.filter(|cell| cell["metric"] == metric).collect()
}

#[test]
fn a_fast_drive_passes_a_slow_one_fails_and_of_one_at_the_bound_nobody_can_tell() {
    let home = home("fitness-etcd");
    for (name, drive, code, ended) in [
        ("etcd", FAST, 0, "pass"),
        ("etcd", SLOW, 1, "fail"),
        ("etcd", ASTRIDE, 5, "inconclusive"),
        ("U3", FAST, 0, "pass"),
        ("A2", SLOW, 1, "fail"),
        ("postgresql", FAST, 5, "inconclusive"),
    ] {
        let ran = home.run(&["check", "--for", name, drive, "--seed", "7", "--json"]);
        assert_eq!(ran.code, code, "{drive}: {}", ran.stderr);
        let found: Value = serde_json::from_str(&ran.stdout).unwrap();
        let fitness = &found["requirements"];
        assert_eq!(
            (&fitness["for"], &fitness["outcome"]),
            (&name.into(), &ended.into()),
            "{fitness}"
        );
        let says = ended.replace('-', " ");
        let first = found["summary"][0]["text"].as_str().unwrap();
        assert!(first.starts_with(&format!("Good enough for {name}: {says} (")), "{first}");
        assert_eq!(found["summary"][0]["topic"], "fitness");
        let said = format!("good enough for {name}: {says}\n");
        assert_eq!(ran.stderr.contains(&said), code != 0, "{}", ran.stderr);
    }
}

#[test]
fn the_row_is_of_the_sync_and_every_view_tells_the_bound_and_who_published_it() {
    let home = home("fitness-views");
    let found = home.json(&["check", "--for", "etcd", FAST, "--seed", "7", "--json"]);
    let [p99] = cells(&found, "fdatasync_p99_ns")[..] else { panic!("one row of the sync") };
    assert_eq!(p99["primary"], true, "it stands alone: {p99}");
    let value = p99["geometric_mean"].as_f64().unwrap();
    assert!((value / 2e6 - 1.0).abs() < 0.05, "{value}");
    let id = found["study"]["id"].as_str().unwrap();
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = ["Good enough for etcd: pass", "take at most 10 ms? PASS:", "etcd.io/docs/v3.5/faq"];
    let page = flat(home.text(&["show", id]));
    let missing = told.iter().find(|one| !page.contains(**one));
    assert!(missing.is_none(), "the text lacks {missing:?}: {page}");
    let comment = home.text(&["check", "--for", "etcd", FAST, "--seed", "7", "--markdown"]);
    assert!(flat(comment).contains(told[0]), "the comment does not say it");
    let file = home.scratch.path().join("page.html").display().to_string();
    home.text(&["report", id, "--output", &file]);
    let page = flat(std::fs::read_to_string(&file).unwrap());
    let told = [told[0], "take at most 10 ms?</th><td class=\"good\">pass", told[2]];
    let missing = told.iter().find(|one| !page.contains(**one));
    assert!(missing.is_none(), "the page lacks {missing:?}");
}

#[test]
fn a_file_of_ones_own_is_judged_alike_by_check_and_by_run() {
    let home = home("fitness-own");
    let study = |fit: &str, least: &str| {
        format!(
            "format = \"assay-study/1\"\ntitle = \"Mine\"\nseed = 3\n{fit}[[workload]]\nname = \"read\"\n\
             io = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"2 s\" }}\n[[question]]\n\
             kind = \"bound\"\nask = \"Is it enough?\"\nworkloads = [\"read\"]\nmetric = \"iops\"\nmin = \"{least}\"\n"
        )
    };
    let fit = "requirements = \"our queue\"\n";
    let enough = home.file("enough.toml", study(fit, "900 IOPS"));
    let not = home.file("not.toml", study(fit, "2000 IOPS"));
    for (file, code) in [(&enough, 0), (&not, 1)] {
        assert_eq!(home.run(&["check", "--for", file, FAST]).code, code, "{file}");
        assert_eq!(home.run(&["run", file, FAST]).code, code, "{file}");
    }
    // Without the key, answers are shown without affecting the exit code.
    let plain = home.file("plain.toml", study("", "2000 IOPS"));
    let found = home.json(&["run", &plain, FAST, "--json"]);
    assert_eq!(found["answers"][0]["verdict"], "contradicted");
    assert!(found.get("requirements").is_none());
    home.refused(2, &["check", "--for", &plain, FAST]);
    home.refused(2, &["check", "--for", "toaster", FAST]);
    // Such a study may only ask for bounds.
    let peak = study(fit, "900 IOPS").replace("kind = \"bound\"", "kind = \"flat\"");
    let peak = home.file("peak.toml", peak);
    assert!(home.told(2, &["run", &peak, FAST]).contains("question"));
}

#[test]
fn what_there_is_is_listed_with_its_source() {
    let home = home("fitness-list");
    let told = home.text(&["list", "requirements"]);
    for name in ["etcd", "video-4k", "boot-drive", "nas-client", "postgresql", "A2", "V90"] {
        assert!(told.contains(name), "{told}");
    }
    let listed = home.json(&["list", "requirements", "--json"]);
    assert_eq!(listed["kind"], "requirements");
    for study in listed["items"].as_array().unwrap() {
        for ask in study["question"].as_array().unwrap() {
            assert!(ask["published"].as_str().unwrap().contains("https://"), "{ask}");
        }
    }
}

/// Writes without sync have no sync times.
#[test]
fn only_what_is_synced_has_times_of_syncs() {
    let home = home("fitness-silent");
    let study = |sync: &str| {
        format!(
            "format = \"assay-study/1\"\ntitle = \"Mine\"\nseed = 3\n[[workload]]\nname = \"write\"\n\
             io = {{ pattern = \"random\", mix = \"write\", block_size = \"4 KiB\", runtime = \"2 s\"{sync} }}\n"
        )
    };
    let synced = home.file("synced.toml", study(", sync = \"fdatasync\""));
    let found = home.json(&["run", &synced, FAST, "--json"]);
    let of = |name: &str| cells(&found, name)[0]["geometric_mean"].as_f64().unwrap();
    // With one in flight, a write takes as long as its sync, and its metric is unchanged.
    assert!((of("latency_p50_ns") / of("fdatasync_p50_ns") - 1.0).abs() < 0.01);
    let plain = home.file("plain.toml", study(""));
    let found = home.json(&["run", &plain, FAST, "--json"]).to_string();
    assert!(!found.contains("fdatasync_"));
}
