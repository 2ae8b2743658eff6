//! Whether acknowledged writes survive a power loss: programs that write, the log of their writes and syncs, crash points,
//! drives as models, the judge of promises, and the bound. Bytes are moved by `assay-load`; virtual machines are started by
//! `assay_runner::real`. Nothing here opens a file except through the machine that it receives.

pub mod asked;
pub mod below;
pub mod bound;
pub mod command;
pub mod cut;
pub mod drive;
pub mod files;
pub mod grade;
pub mod guest;
pub mod image;
pub mod judge;
#[cfg(test)]
mod known_tests;
pub mod log;
#[cfg(test)]
mod log_files;
pub mod metrics;
pub mod outage;
pub mod pages;
pub mod pattern;
pub mod plug;
pub mod program;
pub mod reached;
pub mod served;
pub mod sync;
pub mod tally;
pub mod tell;
pub mod trial;

use std::os::fd::AsFd;

use assay_base::catalogue::About;
use assay_base::catalogue::keys::Fields;
use assay_base::exhibit::{Exhibit, Subject};
use assay_base::quantity::{Bytes, Metric, Time};
use assay_load::{OneByOne, Target, mix64};
use assay_machine::system::powered::Wanted;
use serde::{Deserialize, Serialize};

use super::io::{Content, Engine};
use super::kind::{
    Asks, ByHand, CommandLine, Complaints, InStudy, Judged, Kind, Needs, OwnParameter, Runs, Touch,
};
use super::measured::{Claims, Count, Counts, Measured, Ran};
use super::place::{ONLY_READ, Offer, Run};
use super::tell::{FactsFigure, OfRow, Rows, Seen, Shows, Tells};
use metrics::{LOST, METRICS, ROUNDS, values};
use plug::Ground;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Asked(pub asked::Asked);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Planned(pub asked::Planned);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Detail(pub trial::Detail);

/// What is told of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Facts(pub tell::Facts);

/// A parameter by its place among those of the crate.
const fn parameter(
    at: usize,
    is_work: bool,
    set: fn(&mut Asked, &str) -> Result<(), String>,
) -> OwnParameter<Asked> {
    let (words, example) = asked::FACTORS[at];
    OwnParameter::new(words, example, is_work, set)
}

impl Kind for Asked {
    const ABOUT: About = asked::ABOUT;
    const KEYS: &'static Fields = &asked::KEYS;
    const EXAMPLE: &'static str = "durability = { writer = \"log\", sync = \"fdatasync\" }";
    const PARAMETERS: &'static [OwnParameter<Self>] = &[
        parameter(0, true, |own, text| own.0.set("writer", text)),
        parameter(1, true, |own, text| own.0.set("sync", text)),
        parameter(2, false, |own, text| own.0.set("record_size", text)),
        parameter(3, true, |own, text| own.0.set("assumed_drive", text)),
        parameter(4, true, |own, text| own.0.set("atomic_write_unit", text)),
        parameter(5, true, |own, text| own.0.set("method", text)),
        parameter(6, true, |own, text| own.0.set("write_to", text)),
        parameter(7, true, |own, text| own.0.set("vm_mount_options", text)),
        parameter(8, true, |own, text| own.0.set("crash_points", text)),
        parameter(9, true, |own, text| own.0.set("peer", text)),
    ];
    const METRICS: &'static [&'static [Metric]] = &[METRICS];
    const JUDGED: &'static [Judged] = &[Judged::Machine];

    fn sample() -> Self {
        Self(asked::Asked::default())
    }
}

const TOUCH: Touch =
    Touch { reads: true, writes: Some(Content::Random), finds: None, clears: false, direct: false };

/// What it does to the target: in virtual machines nothing.
fn touch(is_in_machine: bool) -> Touch {
    if is_in_machine { Touch::default() } else { TOUCH }
}

impl Asks for Asked {
    fn words(&self) -> String {
        self.0.words()
    }

    fn needs(&self) -> Needs {
        if self.0.is_in_machine() { Needs::Nothing } else { Needs::Area }
    }

    fn touches(&self) -> Touch {
        touch(self.0.is_in_machine())
    }

    fn complain(&self, path: &str, _: &InStudy<'_>, to: &mut dyn Complaints) {
        if let Some((key, message)) = self.0.unfit() {
            to.value(&format!("{path}/{key}"), message, None);
        }
    }

    fn machines(&self) -> Option<Wanted> {
        self.0.is_in_machine().then(|| self.0.wanted())
    }

    fn outlives_cuts(&self) -> bool {
        self.0.is_plug()
    }

    fn move_to_lab(&mut self) -> bool {
        self.0.is_in_machine()
    }

    fn time(&self) -> Option<Time> {
        self.0.runtime
    }

    fn set_span(&mut self, time: Option<Time>, _: Option<Time>) {
        self.0.runtime = time;
    }

    fn settle(&mut self) {
        self.0.settle();
    }

    fn hurry(&mut self, _: Option<Bytes>) {
        self.0.hurry();
    }

    fn plan(&self, offer: &Offer<'_>) -> Result<(super::Planned, Option<String>), String> {
        if self.0.is_in_machine() {
            return Ok((Planned(self.0.planned(offer.area.length)?).into(), None));
        }
        if !offer.area.written {
            return Err(ONLY_READ.to_owned());
        }
        if offer.engine.name == Engine::Simulated {
            return Err("a simulated drive stores no data that could be lost".to_owned());
        }
        let planned = self.0.planned(offer.area.length)?;
        Ok((Planned(planned).into(), None))
    }
}

impl Runs for Planned {
    fn words(&self) -> String {
        self.0.words()
    }

    fn touches(&self) -> Touch {
        touch(self.0.is_in_machine())
    }

    fn run(&self, run: &Run<'_>) -> Result<Ran, String> {
        let own = &self.0;
        if own.is_in_machine() {
            return in_machines(own, run);
        }
        if own.is_plug() {
            return plugged(own, run);
        }
        let (area, file) = (run.medium.area, run.medium.file.map(AsFd::as_fd));
        let began_ns = run.system.monotonic_ns();
        // No other run left what could be taken for this one's.
        let keys = [run.seed, mix64(run.seed ^ run.system.wall_ns())];
        let course = own.course([area.start, area.length], run.time_ns, keys);
        let target = Target { file, memory_alignment: run.medium.memory_alignment };
        let mut medium =
            OneByOne::open(&target, own.record_bytes as u32).map_err(|e| e.to_string())?;
        let detail = course.run(&mut medium, run.stop)?;
        Ok(ran(detail, run.system.monotonic_ns().saturating_sub(began_ns)))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        // How fast a virtual machine is says nothing.
        if self.0.is_in_machine() || self.0.is_plug() { LOST.name } else { METRICS[0].name }
    }

    fn ends_by_time(&self) -> bool {
        false
    }

    fn expected_ns(&self, _: u64) -> Option<u64> {
        Some(self.0.expected_ns())
    }

    fn makes_machines(&self) -> bool {
        self.0.is_in_machine()
    }

    fn outlives_cuts(&self) -> bool {
        self.0.is_plug()
    }

    fn halved(&self) -> super::Planned {
        Self(self.0.halved()).into()
    }

    fn tells(&self) -> Option<&dyn Tells> {
        Some(self)
    }

    fn by_hand(&self, how: &ByHand<'_>) -> CommandLine {
        let (words, remark) = asked::by_hand(&self.0, how.name, how.path);
        CommandLine { words, remarks: vec![remark.to_owned()] }
    }
}

/// A trial in virtual machines of its own.
fn in_machines(own: &asked::Planned, run: &Run<'_>) -> Result<Ran, String> {
    let began_ns = run.system.monotonic_ns();
    let keys = [run.seed, mix64(run.seed ^ run.system.wall_ns())];
    let mut starts = run.system.machines(&own.wanted())?;
    let detail = own.in_machines(&mut *starts, keys, run.stop)?;
    let elapsed_ns = run.system.monotonic_ns().saturating_sub(began_ns);
    // Of the target nothing was touched, and nothing there was timed.
    let mut ran =
        untimed(detail, elapsed_ns, "the speed of a virtual machine is not representative");
    ran.measured.notes.extend(starts.told());
    Ok(ran)
}

/// A trial that ends with the power of this machine, or the judgement of one that did.
fn plugged(own: &asked::Planned, run: &Run<'_>) -> Result<Ran, String> {
    let began_ns = run.system.monotonic_ns();
    let (device, area, notes) = (run.medium.file, run.medium.area, run.programs.notes);
    let area = [area.start, area.length];
    let ground = Ground { system: run.system, path: run.path, device, area, notes, stop: run.stop };
    let detail = own.plugged(ground, run.time_ns, run.seed)?;
    let elapsed_ns = run.system.monotonic_ns().saturating_sub(began_ns);
    Ok(untimed(detail, elapsed_ns, "the power cut destroyed the timing data"))
}

/// A trial of which no time is told, nor what moved in it.
fn untimed(detail: trial::Detail, elapsed_ns: u64, why: &str) -> Ran {
    let mut ran = ran(trial::Detail { window_ns: elapsed_ns.max(1), ..detail }, elapsed_ns);
    ran.measured.claims = Claims::default();
    ran.measured.values.remove(ROUNDS.name);
    ran.measured.absent.insert(ROUNDS.name.to_owned(), why.to_owned());
    ran
}

fn ran(detail: trial::Detail, elapsed_ns: u64) -> Ran {
    let write = Count { operations: detail.writes, bytes: detail.written_bytes };
    let (values, stopped) = (values(&detail).into(), detail.stopped);
    Ran::of(
        Measured {
            window_ns: detail.window_ns,
            elapsed_ns,
            claims: Claims { write, ..Claims::default() },
            values,
            ..Measured::of(Detail(detail))
        },
        stopped,
    )
}

impl Counts for Detail {
    fn operations(&self) -> u64 {
        self.0.rounds
    }

    /// Cuts are drawn one by one: those that were made are as many as they are.
    fn keeps_what_it_has(&self) -> bool {
        self.0.tally.crash_points > 0
    }
}

fn details<'a>(of: impl Iterator<Item = &'a Measured>) -> Vec<&'a trial::Detail> {
    of.filter_map(Detail::of).map(|own| &own.0).collect()
}

impl Tells for Planned {
    fn facts(&self, seen: &Seen<'_>) -> Option<super::Facts> {
        let trials = details(seen.trials.iter().copied().flatten());
        let left_out = details(seen.left_out.iter().copied());
        tell::Facts::of(seen.subject, &self.0, &trials, &left_out).map(|own| Facts(own).into())
    }
}

impl Shows for Facts {
    const KEY: &'static str = "durability";
    const FIGURE: Option<&'static FactsFigure> =
        Some(&FactsFigure { key: Self::KEY, about: tell::FIGURE, leads: true });

    fn exhibit(all: &[&Self], rows: &dyn Rows) -> Exhibit {
        let own: Vec<&tell::Facts> = all.iter().map(|own| &own.0).collect();
        tell::exhibit(&own, &|of| rows.name(of))
    }
}

impl OfRow for Facts {
    fn subject(&self) -> Subject {
        self.0.subject()
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }
}
