//! Snapshots of the texts and plans of each workload kind: for the shipped studies, and for a sample of each kind at
//! the levels of each parameter.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};

use assay_core::presence::Presence;
use assay_core::quantity::{Bytes, Time};
use assay_machine::system::clears::Clears;
use assay_workloads::io::Engine;
use assay_workloads::{
    Area, Complaints, DirectUse, EngineUse, InStudy, KINDS, KindEntry, ManualRun, Offer, Work,
    WorkPlan, at_level,
};
use serde_json::{Value, to_value};

use super::presets;
use super::text::reader::factor_names;
use assay_testkit::expected::Expected;
use assay_testkit::kinds::kept;

const SECOND: u64 = 1_000_000_000;
const GIB: u64 = 1 << 30;

/// Kinds with parameters covered by other tests; only one shipped workload per shape is in the snapshot, which would
/// otherwise have thousands of lines.
const LONG: [&str; 2] = ["io", "files"];

/// Distinct workloads of a kind.
fn works(kind: &KindEntry) -> Vec<Work> {
    let mut found = vec![(kind.sample)()];
    let is_short = !LONG.contains(&kind.about.name);
    for parameter in (kind.parameters)().into_iter().filter(|_| is_short) {
        let levels: Vec<Value> = serde_json::from_str(parameter.example).unwrap_or_default();
        for level in levels {
            let text = level.as_str().map_or_else(|| level.to_string(), str::to_owned);
            found.extend(at_level(kind, parameter.about.name, &text).and_then(Result::ok));
        }
    }
    let shipped = presets::all().flat_map(|(_, study)| study.unwrap().workload);
    found.extend(
        shipped.map(|one| one.work).filter(|work| work.kind().about.name == kind.about.name),
    );
    found.extend(rare(kind.about.name));
    let mut once: Vec<Work> = Vec::new();
    for work in found {
        let is_alike = |known: &Work| *known == work || (!is_short && shape(known) == shape(&work));
        if !once.iter().any(is_alike) {
            once.push(work);
        }
    }
    once
}

/// Workloads of no shipped study: rare keys, and invalid ones.
fn rare(kind: &str) -> Vec<Work> {
    let kept = kept("rare.json").unwrap();
    let text = kept.get(kind).map_or("[]", String::as_str);
    let works: Vec<Work> = serde_json::from_str(text).unwrap_or_else(|e| panic!("{kind}: {e}"));
    assert!(works.iter().all(|work| work.kind().about.name == kind), "{kind}: work of another");
    works
}

/// The shape of a workload: its JSON without numbers and units, but one differs from several.
fn shape(work: &Work) -> String {
    let text = to_value(work).unwrap().to_string().replace(":1,", ":one,");
    let plain: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
    let units = ["ms", "s", "KiB", "MiB"];
    units.iter().fold(plain, |text, unit| text.replace(&format!("\" {unit}\""), "\""))
}

#[derive(Default)]
struct Heard(Vec<String>);

impl Complaints for Heard {
    fn value(&mut self, path: &str, message: String, hint: Option<String>) {
        self.0.push(format!("value {path}: {message} ({})", hint.unwrap_or_default()));
    }

    fn key(&mut self, path: &str, message: String, hint: Option<String>) {
        self.0.push(format!("key {path}: {message} ({})", hint.unwrap_or_default()));
    }

    fn is_wrong(&self, _: &str) -> bool {
        false
    }
}

struct Page(String);

impl Page {
    fn tell(&mut self, what: &str, told: impl AsRef<str>) {
        writeln!(self.0, "    {what}: {}", told.as_ref()).unwrap();
    }

    fn debug(&mut self, what: &str, told: impl Debug) {
        self.tell(what, format!("{told:?}"));
    }

    /// Prints a changed state.
    fn becomes(&mut self, what: &str, before: &Value, after: &Value) {
        if before != after {
            self.tell(what, after.to_string());
        }
    }
}

fn asked(work: &Work, page: &mut Page) {
    let before = to_value(work).unwrap();
    writeln!(page.0, "{before}").unwrap();
    page.tell("words", work.words());
    page.debug("needs", work.needs());
    page.debug("touches", work.touches());
    page.debug("time, ramp", (work.time(), work.ramp(), work.ends_by_time()));
    if !work.programs().is_empty() {
        page.debug("programs", work.programs());
    }
    let changed = |change: &dyn Fn(&mut Work)| {
        let mut other = work.clone();
        change(&mut other);
        to_value(&other).unwrap()
    };
    page.becomes("settled", &before, &changed(&|own| own.settle()));
    page.becomes("hurried", &before, &changed(&|own| own.make_quick(Some(Bytes(GIB)))));
    let span = |own: &mut Work| own.set_span(Some(Time(60 * SECOND)), Some(Time(6 * SECOND)));
    page.becomes("with a span", &before, &changed(&span));
    let mut like: Vec<&str> = Vec::new();
    like.extend(
        KINDS.iter().filter(|kind| work.costs_like(&(kind.sample)())).map(|kind| kind.about.name),
    );
    page.debug("others' work, costs like", (work.is_others(), like));
    complaints(work, page);
}

/// Errors of a workload in a study, without factors and with each factor.
fn complaints(work: &Work, page: &mut Page) {
    let heard = |study: &InStudy<'_>| {
        let mut heard = Heard::default();
        work.complain("work", study, &mut heard);
        heard.0
    };
    let nothing = BTreeMap::new();
    let alone = heard(&InStudy::new(&nothing));
    for line in &alone {
        page.tell("wrong", line);
    }
    let others = [
        ("with a budget", InStudy { has_budget: true, ..InStudy::new(&nothing) }),
        ("in 16 MiB", InStudy { area: Some(Bytes(16 << 20)), ..InStudy::new(&nothing) }),
    ];
    for (when, study) in others {
        for line in heard(&study).iter().filter(|line| !alone.contains(line)) {
            page.tell(when, line);
        }
    }
    let mut by_line: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in factor_names() {
        let factors = [(name.to_owned(), vec!["a".to_owned(), "b".to_owned()])].into();
        for line in heard(&InStudy::new(&factors)) {
            if !alone.contains(&line) {
                let line = line.replace(&format!(" {name} "), " NAME ");
                by_line.entry(line).or_default().push(name);
            }
        }
    }
    for (line, names) in by_line {
        let shown = if names.len() > 6 { "most factors".to_owned() } else { names.join(", ") };
        page.tell(&format!("with {shown}"), line);
    }
}

fn offered(work: &Work, page: &mut Page) {
    let area = Area { start: GIB, length: 4 * GIB, asked: 4 * GIB, written: true, fill_ns: 0 };
    let direct = DirectUse { memory_alignment: 512, offset_alignment: 4096 };
    let direct = Presence::Present(direct);
    let cached = Presence::Absent("the file system has none".to_owned());
    let mut known: Option<Value> = None;
    for (name, direct, engine) in [
        ("planned", &direct, Engine::IoUring),
        ("planned through the cache", &cached, Engine::IoUring),
        ("planned by threads", &direct, Engine::Psync),
        ("planned on a simulation", &direct, Engine::Simulated),
    ] {
        let engine = EngineUse { name: engine, note: None };
        let clears = &Clears::default();
        match work.plan(&Offer { area, direct, engine: &engine, between: None, clears }) {
            Err(why) => page.tell(&format!("not {name}"), why),
            Ok((planned, note)) => {
                let written = to_value(&planned).unwrap();
                if known.as_ref() == Some(&written) {
                    continue;
                }
                page.tell(name, written.to_string());
                if let Some(note) = note {
                    page.tell("  but", note);
                }
                runs(&planned, area, page);
                known = Some(written);
            }
        }
    }
}

fn runs(planned: &WorkPlan, area: Area, page: &mut Page) {
    let before = to_value(planned).unwrap();
    page.tell("  words", planned.words());
    page.debug("  touches", planned.touches());
    page.debug("  primary", [planned.primary(&|_| false), planned.primary(&|_| true)]);
    page.debug("  operations, ends by time", (planned.operations(), planned.ends_by_time()));
    page.debug("  expected", [0, 1000, SECOND].map(|pilot| planned.expected_ns(pilot)));
    page.becomes("  halved", &before, &to_value(planned.halved()).unwrap());
    page.debug(
        "  in flight, threads",
        (planned.asked_in_flight(), planned.in_flight(), planned.threads()),
    );
    for (what, is_level) in [("  drained", false), ("  drained at a level", true)] {
        let mut slow = planned.clone();
        let told = slow.drain_within(SECOND / 10, SECOND, &|_| is_level);
        page.becomes(what, &before, &to_value(&slow).unwrap());
        if let Some(told) = told {
            page.tell(what, told);
        }
        if !slow.permanent_commands().is_empty() {
            page.debug("  lasting", slow.permanent_commands());
        }
    }
    page.debug("  shaped", planned.shaping());
    page.debug(
        "  cut, others', of speed, memory, watched, recorded",
        (
            planned.can_be_cut(),
            planned.is_others(),
            planned.is_of_speed(),
            planned.wants_memory(),
            planned.is_only_watched(),
            planned.is_recorded(),
        ),
    );
    page.debug("  harm", planned.harm());
    let how = ManualRun {
        name: "work",
        area,
        path: "/srv/my data",
        ramp_ns: 2 * SECOND,
        time_ns: 10 * SECOND,
        note: Some("a note"),
        background: None,
    };
    let line = planned.by_hand(&how);
    page.debug("  by hand", line.words);
    for remark in line.remarks {
        page.tell("  remark", remark);
    }
    page.debug("  not said", planned.not_said().len());
}

/// Texts of the workloads of a kind: all of the first, then only differences.
fn of_kind(kind: &KindEntry) -> String {
    let mut whole = String::new();
    for work in works(kind) {
        let mut page = Page(String::new());
        asked(&work, &mut page);
        offered(&work, &mut page);
        let first = whole.split("\n\n").next().unwrap_or_default().to_owned();
        let known: Vec<&str> = first.lines().collect();
        for line in page.0.lines().filter(|line| !known.contains(line)) {
            whole.push_str(line);
            whole.push('\n');
        }
        whole.push('\n');
    }
    whole
}

/// `UPDATE_EXPECT=1` rewrites the files: read the difference.
#[test]
#[allow(clippy::disallowed_methods, reason = "fixtures of a test")]
fn what_work_says_of_itself_is_what_it_said() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/work");
    let mut files = Expected::default();
    for kind in KINDS {
        let page = of_kind(kind);
        let path = format!("{folder}/{}.txt", kind.about.name);
        files.hold(path, &page);
    }
}
