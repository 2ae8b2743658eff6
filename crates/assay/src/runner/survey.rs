//! What a target is like before anything is planned: its area, direct I/O, engine, pilot, and how
//! much of it is really stored.

use std::fs::File;

use super::area::{self, Fill, Ground};
use super::event::{Context, Event};
use super::pilot;
use super::places::Place;
use crate::failure::{Failure, Outcome};
use crate::plan::draws::Draws;
use crate::plan::{self, arms, budget};
use crate::results::plan::{Area, Arm, Coverage, EngineUse, Pilot, Survey};
use crate::seen::Seen;
use crate::study::{Study, Target, Workload};
use crate::system::site::{Site, TargetKind};
use crate::system::{DryRun, System, devices};
use crate::workloads::io::Medium;

/// Blocks that are looked at for zeros.
const SAMPLES: u32 = 64;
const SAMPLE_BYTES: u64 = 4096;
const MIB: u64 = 1 << 20;

/// A target, opened and surveyed.
pub struct Surveyed<'a> {
    /// The open target.
    pub ground: Ground<'a>,
    /// What was found.
    pub survey: Survey,
    /// The law of the simulated engine, where that is the target.
    pub law: Option<assay_load::Law>,
}

impl Surveyed<'_> {
    /// What the engines work on.
    pub fn medium(&self) -> Medium<'_> {
        Medium { law: self.law, ..self.ground.medium(self.survey.area) }
    }
}

/// Makes, fills and looks at the area of a target.
pub fn make<'a>(
    context: &mut Context<'_>,
    study: &Study,
    site: &Site,
    mut ground: Ground<'a>,
    (consented, law): (bool, Option<assay_load::Law>),
    seed: u64,
) -> Outcome<Surveyed<'a>> {
    let system = context.system;
    let asked = area::asked_bytes(system, site, &ground, consented, study.area.size)?;
    let engine = if law.is_some() { simulated_engine() } else { engine() };
    let whole = budget::whole_ns(study, 1);
    let mut area = Area {
        start: ground.first_byte(),
        length: asked,
        asked,
        written: law.is_some(),
        fill_ns: 0,
    };
    if site.kind == TargetKind::Directory || consented {
        let how = Fill {
            engine: &engine.name,
            content: fill_content(study),
            limit_ns: whole / budget::FILL_SHARE,
            seed,
        };
        area = area::fill(context, &ground, site, asked, &how)?;
        if let Some(text) = area::shortage(site, &area, how.limit_ns) {
            (context.tell)(Event::Warning(text.clone()));
            ground.notes.push(text);
        }
    }
    (context.tell)(Event::Pilot { target: site.target.clone() });
    let medium = Medium { law, ..ground.medium(area) };
    let pilot = pilot::run_all(study, &medium, seed, context.stop)
        .map_err(|error| unmeasured(site, &error))?;
    let mut survey = Survey {
        target: site.target.clone(),
        area,
        direct: ground.direct.clone(),
        engine,
        pilot,
        coverage: coverage(system, ground.file(), &area, seed),
        notes: std::mem::take(&mut ground.notes),
        under: Arm::new(),
        made_ns: 0,
        refused: Vec::new(),
    };
    if study.margin.is_some() && law.is_none() {
        let workloads = plan::under_baseline(study, &survey);
        let medium = ground.medium(area);
        let rest = |time| system.sleep(time);
        let found = pilot::scatter(&workloads, &survey.pilot, &medium, &rest, seed, context.stop);
        survey.pilot.scatter = found.map_err(|error| unmeasured(site, &error))?;
    }
    Ok(Surveyed { ground, survey, law })
}

fn unmeasured(site: &Site, error: &assay_load::LoadError) -> Failure {
    Failure::refused(format!("{} cannot be measured: {error}", site.target))
}

/// Opens a target and surveys it.
pub fn at_target<'a>(
    system: &'a dyn System,
    context: &mut Context<'_>,
    study: &Study,
    place: &Place,
    seed: u64,
) -> Outcome<Surveyed<'a>> {
    let site = &place.site;
    let told = match site.kind {
        TargetKind::Directory => clear_leftovers(context, site),
        _ => Vec::new(),
    };
    let mut ground = match place.law {
        Some(_) => Ground::simulated(system),
        None => Ground::open(system, site, place.consent.as_ref())?,
    };
    if study.area.start.is_some() && site.kind != TargetKind::Device {
        return Err(Failure::mistake(format!(
            "{}: the start of an area is for block devices: leave it out",
            site.target
        )));
    }
    if let Some(device) = site.counted.first().filter(|_| site.kind == TargetKind::Device) {
        ground = ground.starting_at(study.area.first_byte(devices::size_of(system, device)));
    }
    ground.notes.extend(told);
    ground.notes.extend(buffered_loops(system, site));
    let how = (place.consent.is_some(), place.law);
    make(context, study, site, ground, how, seed)
}

/// A target opened again, with an area like the one that was surveyed.
pub fn again<'a>(
    context: &mut Context<'_>,
    system: &'a dyn System,
    study: &Study,
    place: &Place,
    survey: &Survey,
    seed: u64,
) -> Outcome<Surveyed<'a>> {
    let site = &place.site;
    if site.kind == TargetKind::Directory {
        clear_leftovers(context, site);
    }
    let ground = match place.law {
        Some(_) => Ground::simulated(system),
        None => Ground::open(system, site, place.consent.as_ref())?,
    };
    let ground = match site.kind {
        TargetKind::Device => ground.starting_at(survey.area.start),
        _ => ground,
    };
    let changed = ground.direct.value() != survey.direct.value();
    if changed || (place.law.is_none() && ground.first_byte() != survey.area.start) {
        return Err(Failure::refused(format!(
            "{} cannot be opened as before: start a new study instead",
            site.target
        )));
    }
    if survey.area.written && place.law.is_none() {
        let how = Fill {
            engine: &survey.engine.name,
            content: fill_content(study),
            limit_ns: u64::MAX / 4,
            seed,
        };
        let found = area::fill(context, &ground, site, survey.area.length, &how)?;
        area::is_as_large(site, &survey.area, &found)?;
    }
    Ok(Surveyed { ground, survey: survey.clone(), law: place.law })
}

/// Removes area files of runs that were killed, and says so.
fn clear_leftovers(context: &mut Context<'_>, site: &Site) -> Vec<String> {
    let mut told = Vec::new();
    for leftover in context.system.leftovers(&site.path).unwrap_or_default() {
        let path = leftover.path.display();
        let text = match context.system.remove_leftover(&leftover) {
            Ok(()) => format!("removed {path}, left behind by a run that was killed"),
            Err(error) => format!(
                "{path} was left behind by a run that was killed and cannot be removed: {error}"
            ),
        };
        (context.tell)(Event::Warning(text.clone()));
        told.push(text);
    }
    told
}

/// Loop devices that answer from memory: their own counters cannot tell.
fn buffered_loops(system: &dyn System, site: &Site) -> Vec<String> {
    let layers = site.layers.iter().map(|layer| &layer.name);
    layers
        .filter(|name| devices::is_buffered_loop(system, name))
        .map(|name| {
            format!(
                "{name} goes through the page cache of its file: what it reads may come from \
                 memory (losetup --direct-io=on {name} goes past it)"
            )
        })
        .collect()
}

/// What can be said of a target without opening or writing anything: sizes are real, direct I/O and
/// the cost of an operation are not tried.
pub fn estimate(system: &dyn System, study: &Study, place: &Place) -> Outcome<Survey> {
    let site = &place.site;
    let would = DryRun::new(system);
    let ground = match (place.law, site.kind) {
        (Some(_), _) | (None, TargetKind::Directory) => Ground::simulated(&would),
        _ if matches!(study.target, Some(Target::Loop(_))) => Ground::simulated(&would),
        _ => Ground::open(&would, site, place.consent.as_ref())?,
    };
    let makes = arms::makes_grounds(study);
    // What cannot run without a consent is planned as with it.
    let gives_up = arms::gives_up_data(study) && site.kind == TargetKind::Device;
    let to_be = matches!(study.target, Some(Target::Loop(_)));
    let consented = place.consent.is_some() || to_be || gives_up;
    let bytes = match (&study.target, site.counted.first()) {
        (Some(Target::Loop(size)), _) => size.0,
        (_, Some(device)) if consented => devices::size_of(system, device),
        _ => 0,
    };
    let start = study.area.first_byte(bytes);
    let most = bytes.saturating_sub(start);
    let asked = match study.area.size {
        Some(size) if makes || to_be => size.0.min(most) / MIB * MIB,
        // A tenth of what the file system leaves free, as in any directory.
        None if makes => area::usual_bytes(most),
        None if to_be => most.min(area::USUAL_AREA_BYTES) / MIB * MIB,
        size => area::asked_bytes(&would, site, &ground, consented, size)?,
    };
    let written = site.kind == TargetKind::Directory || consented || place.law.is_some();
    Ok(Survey {
        target: site.target.clone(),
        area: Area { start, length: asked, asked, written, fill_ns: 0 },
        direct: ground.direct.clone(),
        engine: if place.law.is_some() { simulated_engine() } else { engine() },
        pilot: Pilot::default(),
        coverage: Seen::absent("not looked at"),
        notes: Vec::new(),
        under: Arm::new(),
        made_ns: 0,
        refused: Vec::new(),
    })
}

fn simulated_engine() -> EngineUse {
    EngineUse { name: "simulated".to_owned(), note: None }
}

/// `io_uring` where the kernel allows it, threads otherwise.
pub(super) fn engine() -> EngineUse {
    let wanted = "io_uring";
    let refusal = assay_load::ENGINES
        .iter()
        .find(|entry| entry.name == wanted)
        .map_or_else(|| Err("not part of this build".to_owned()), |entry| (entry.available)());
    match refusal {
        Ok(()) => EngineUse { name: wanted.to_owned(), note: None },
        Err(reason) => EngineUse {
            name: "psync".to_owned(),
            note: Some(format!(
                "threads keep the operations in flight, because io_uring is refused: {reason}"
            )),
        },
    }
}

/// The area holds what the study writes: zeros only where every workload writes zeros.
pub fn fill_content(study: &Study) -> assay_load::Content {
    let mut writes = study.workload.iter().filter(|work| work.writes()).peekable();
    let zeros = writes.peek().is_some() && writes.all(Workload::writes_zeros);
    if zeros { assay_load::Content::Zero } else { assay_load::Content::Random }
}

/// How much of the area is stored: extents where the file system tells them, and a sample of
/// blocks that are read, where the tool did not write the area itself.
fn coverage(system: &dyn System, file: Option<&File>, area: &Area, seed: u64) -> Seen<Coverage> {
    let Some(file) = file else { return Seen::absent("simulated") };
    let end = area.start + area.length;
    let extents = system.extents(file, area.start..end);
    let (sampled_blocks, zero_blocks) =
        if area.written { (0, 0) } else { zero_sample(system, file, area, seed) };
    let Ok(extents) = extents else {
        return if sampled_blocks == 0 {
            Seen::absent("the file system does not tell its extents")
        } else {
            Seen::Present(Coverage {
                hole_bytes: 0,
                unwritten_bytes: 0,
                encoded_bytes: 0,
                sampled_blocks,
                zero_blocks,
            })
        };
    };
    let inside = |extent: &crate::system::Extent| {
        (extent.start + extent.length).min(end).saturating_sub(extent.start.max(area.start))
    };
    let sum = |which: &dyn Fn(&crate::system::Extent) -> bool| -> u64 {
        extents.iter().filter(|extent| which(extent)).map(inside).sum()
    };
    Seen::Present(Coverage {
        hole_bytes: area.length.saturating_sub(sum(&|_| true)),
        unwritten_bytes: sum(&|extent| extent.unwritten),
        encoded_bytes: sum(&|extent| extent.encoded),
        sampled_blocks,
        zero_blocks,
    })
}

/// Blocks read at random places, and how many of them held only zeros.
fn zero_sample(system: &dyn System, file: &File, area: &Area, seed: u64) -> (u32, u32) {
    let blocks = area.length / SAMPLE_BYTES;
    if blocks == 0 {
        return (0, 0);
    }
    let mut draws = Draws::new(seed, "zeros");
    // Direct I/O wants memory that is aligned like the block.
    let mut room = vec![0_u8; 2 * SAMPLE_BYTES as usize];
    let start = room.as_ptr().align_offset(SAMPLE_BYTES as usize);
    let buffer = &mut room[start..start + SAMPLE_BYTES as usize];
    let (mut read, mut zero) = (0, 0);
    for _ in 0..SAMPLES {
        let offset = area.start + draws.below(blocks) * SAMPLE_BYTES;
        if system.read_at(file, offset, buffer).is_ok_and(|bytes| bytes == buffer.len()) {
            read += 1;
            zero += u32::from(buffer.iter().all(|&byte| byte == 0));
        }
    }
    (read, zero)
}
