//! Hostile results: reports of them must be harmless, and rejections must name the reason.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Text that would do something on a page that did not escape it.
pub const SCRIPT: &str = "</title></pre><script>alert(1)</script><img src=x onerror=alert(1)>\"'&";
/// Markup that must never appear on a page.
pub const ALIVE: [&str; 2] = ["<script>alert", "<img src=x"];
/// Bytes of a label that is too long.
pub const LONG: usize = 10 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Shown,
    /// Assay refuses it, with this word in the reason.
    Refused(&'static str),
}

#[derive(Clone, Debug)]
pub struct Hostile {
    pub id: String,
    pub what: &'static str,
    pub expect: Expect,
}

type Change = fn(&Path);

/// All cases: name, expected outcome, and change of a good result.
const CASES: &[(&str, Expect, Change)] = &[
    ("a script in the title and the notes", Expect::Shown, |bundle| {
        let label = serde_json::json!({ "title": SCRIPT, "notes": [SCRIPT, SCRIPT] });
        write(bundle, "label.json", &label.to_string());
    }),
    ("a script in every level, reason and fact", Expect::Shown, |bundle| {
        let level = SCRIPT.replace('"', "");
        edit(bundle, "plan.json", |text| {
            text.replace("\"queue_depth\": \"4\"", &format!("\"queue_depth\": \"{level}\""))
        });
        edit(bundle, "trials.jsonl", |text| {
            let failed = format!("\"status\":\"failed\",\"reason\":\"{level}\"");
            let text = text.replacen("\"status\":\"ok\",\"reason\":null", &failed, 1);
            text.replace("\"queue_depth\":\"4\"", &format!("\"queue_depth\":\"{level}\""))
        });
        edit(bundle, "environment.json", |text| {
            let kernel = text.replace("\"target\": \"", &format!("\"target\": \"{level}"));
            kernel.replace("\"present\": \"", &format!("\"present\": \"{level}"))
        });
    }),
    ("a title of ten megabytes", Expect::Shown, |bundle| {
        let label = serde_json::json!({ "title": "x".repeat(LONG), "notes": ["y".repeat(LONG)] });
        write(bundle, "label.json", &label.to_string());
    }),
    ("a hundred thousand notes", Expect::Shown, |bundle| {
        let label = serde_json::json!({ "notes": vec!["a note of a hundred thousand"; 100_000] });
        write(bundle, "label.json", &label.to_string());
    }),
    ("a study title of ten megabytes", Expect::Shown, |bundle| {
        edit(bundle, "study.toml", |text| text.replace("Which depth?", &"x".repeat(LONG)));
    }),
    ("names of ten megabytes", Expect::Shown, |bundle| {
        let long = "w".repeat(LONG);
        edit(bundle, "plan.json", |text| {
            text.replace("\"name\": \"read\"", &format!("\"name\": \"{long}\""))
        });
    }),
    ("a label that is no label", Expect::Shown, |bundle| write(bundle, "label.json", "[[[[")),
    ("a label that is a pipe", Expect::Shown, |bundle| {
        crate::call("mkfifo", &[&bundle.join("label.json").display().to_string()]).unwrap();
    }),
    ("a plan that is a pipe", Expect::Refused("not a result file"), |bundle| {
        fs::remove_file(bundle.join("plan.json")).unwrap();
        crate::call("mkfifo", &[&bundle.join("plan.json").display().to_string()]).unwrap();
    }),
    ("trials that never end", Expect::Refused("not a result file"), |bundle| {
        fs::remove_file(bundle.join("trials.jsonl")).unwrap();
        symlink("/dev/zero", bundle.join("trials.jsonl")).unwrap();
    }),
    ("a log that is somebody's file", Expect::Shown, |bundle| {
        fs::remove_file(bundle.join("log.jsonl")).unwrap();
        symlink("/etc/passwd", bundle.join("log.jsonl")).unwrap();
    }),
    ("fields that nobody knows", Expect::Shown, |bundle| {
        for name in ["plan.json", "environment.json"] {
            edit(bundle, name, |text| text.replacen('{', "{ \"surprise\": {\"deep\": [1]},", 1));
        }
        edit(bundle, "trials.jsonl", |text| {
            text.replace("{\"order\"", "{\"surprise\":[null],\"order\"")
        });
        write(bundle, "label.json", "{\"surprise\": 1}");
    }),
    ("a key of the study that nobody knows", Expect::Refused("surprise"), |bundle| {
        edit(bundle, "study.toml", |text| format!("surprise = 1\n{text}"));
    }),
    ("a number that is none in the plan", Expect::Refused("damaged"), |bundle| {
        edit(bundle, "plan.json", |text| {
            text.replacen("\"gap_ns\": ", "\"gap_ns\": NaN, \"x\": ", 1)
        });
    }),
    ("a number that is none in a trial", Expect::Refused("damaged"), |bundle| {
        edit(bundle, "trials.jsonl", |text| {
            text.replacen("\"window_ns\":", "\"window_ns\":NaN,\"x\":", 1)
        });
    }),
    ("a count beyond all counts", Expect::Refused("a number is too large"), |bundle| {
        edit(bundle, "trials.jsonl", |text| {
            text.replacen("\"window_ns\":", "\"window_ns\":18446744073709551615,\"x\":", 1)
        });
    }),
    ("a number that is too large", Expect::Refused("damaged"), |bundle| {
        edit(bundle, "plan.json", |text| {
            text.replacen("\"margin\": ", "\"margin\": 1e999, \"x\": ", 1)
        });
    }),
    ("no study", Expect::Refused("cannot read"), |bundle| remove(bundle, "study.toml")),
    ("no environment", Expect::Refused("cannot read"), |bundle| {
        remove(bundle, "environment.json");
    }),
    ("no trials", Expect::Shown, |bundle| remove(bundle, "trials.jsonl")),
    ("no log", Expect::Shown, |bundle| remove(bundle, "log.jsonl")),
    ("no histograms", Expect::Refused("cannot read"), |bundle| {
        fs::remove_dir_all(bundle.join("histograms")).unwrap();
    }),
    ("a newer plan", Expect::Refused("assay-plan/9"), |bundle| {
        write(bundle, "plan.json", "{\"format\": \"assay-plan/9\", \"other\": true}");
    }),
    ("a newer environment", Expect::Refused("assay-environment/9"), |bundle| {
        write(bundle, "environment.json", "{\"format\": \"assay-environment/9\"}");
    }),
    ("a newer study", Expect::Refused("assay-study/9"), |bundle| {
        edit(bundle, "study.toml", |text| text.replace("assay-study/1", "assay-study/9"));
    }),
    ("a newer import", Expect::Refused("assay-import/9"), |bundle| {
        write(bundle, "import.json", "{\"format\": \"assay-import/9\"}");
    }),
    ("half a last line", Expect::Shown, |bundle| {
        edit(bundle, "trials.jsonl", |text| text[..text.len() - 40].to_owned());
    }),
    ("half a line in the middle", Expect::Refused("damaged"), |bundle| {
        edit(bundle, "trials.jsonl", |text| text.replacen("}\n", "\n", 1));
    }),
    ("half a plan", Expect::Refused("damaged"), |bundle| {
        edit(bundle, "plan.json", |text| text[..text.len() / 2].to_owned());
    }),
    ("an empty plan", Expect::Refused("damaged"), |bundle| write(bundle, "plan.json", "")),
    ("bytes that are no text", Expect::Refused("damaged"), |bundle| {
        fs::write(bundle.join("environment.json"), [0xff, 0, 0x1b, b'[', b'2', b'J']).unwrap();
    }),
    ("brackets without end", Expect::Refused("damaged"), |bundle| {
        write(bundle, "plan.json", &"[".repeat(1_000_000));
    }),
    ("a workload that is not there", Expect::Refused("damaged"), |bundle| {
        edit(bundle, "plan.json", |text| text.replace("\"workload\": 1,", "\"workload\": 999999,"));
    }),
    ("a target that is not there", Expect::Refused("damaged"), |bundle| {
        edit(bundle, "plan.json", |text| text.replace("\"target\": 0,", "\"target\": 7,"));
    }),
    ("a histogram of somebody else", Expect::Refused("outside the bundle"), |bundle| {
        edit(bundle, "trials.jsonl", |text| {
            text.replacen("histograms/0001-read.json", "../../../../../../etc/passwd", 1)
        });
    }),
    ("a series of somebody else", Expect::Shown, |bundle| {
        edit(bundle, "trials.jsonl", |text| {
            text.replacen("\"series/0001.json\"", "\"/etc/passwd\"", 1)
        });
    }),
];

/// Creates all hostile results from a good one: `depth.toml`, workload `read`, factor `queue_depth`.
pub fn make(results: &Path, good: &Path) -> Vec<Hostile> {
    let one = |(index, (what, expect, change)): (usize, &(&'static str, Expect, Change))| {
        let id = format!("20250101-000000-{index:04}");
        let bundle = results.join(&id);
        copy(good, &bundle);
        change(&bundle);
        Hostile { id, what, expect: *expect }
    };
    CASES.iter().enumerate().map(one).collect()
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let there: PathBuf = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &there);
        } else {
            fs::copy(&path, &there).unwrap();
        }
    }
}

/// Copies of a document with one number replaced by an implausible one, with a description.
pub fn odd_numbers(document: &Value) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    numbers(document, &mut String::new(), &mut places);
    let odd = [Value::from(0), Value::from(1), Value::from(u64::MAX), Value::from(u32::MAX)];
    let odd = odd.into_iter().chain([Value::from(-1), Value::from(1e308)]);
    let odd: Vec<Value> = odd.collect();
    let changed = places.iter().flat_map(|place| {
        odd.iter().map(move |odd| {
            let mut other = document.clone();
            *other.pointer_mut(place).unwrap() = odd.clone();
            (format!("{place} = {odd}"), other)
        })
    });
    changed.collect()
}

fn numbers(value: &Value, place: &mut String, found: &mut Vec<String>) {
    let mut within = |step: String, value: &Value| {
        let length = place.len();
        place.push_str(&step);
        numbers(value, place, found);
        place.truncate(length);
    };
    match value {
        Value::Number(_) => found.push(place.clone()),
        // The first ones of a list stand for all.
        Value::Array(list) => {
            for (index, value) in list.iter().take(2).enumerate() {
                within(format!("/{index}"), value);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                within(format!("/{}", name.replace('~', "~0").replace('/', "~1")), value);
            }
        }
        _ => {}
    }
}

fn write(bundle: &Path, name: &str, text: &str) {
    fs::write(bundle.join(name), text).unwrap();
}

fn remove(bundle: &Path, name: &str) {
    fs::remove_file(bundle.join(name)).unwrap();
}

fn edit(bundle: &Path, name: &str, change: impl FnOnce(&str) -> String) {
    let text = fs::read_to_string(bundle.join(name)).unwrap();
    let changed = change(&text);
    assert_ne!(text, changed, "{name} of {} stayed as it was", bundle.display());
    write(bundle, name, &changed);
}
