//! Surveys a target before the plan: area, direct I/O, engine, pilot, and stored blocks.

use std::cell::Cell;
use std::fs::File;

use super::area::{self, AreaRequest, Fill, MIB, OpenTarget, Terms};
use super::event::{Context, Event};
use super::pilot;
use super::places::Place;
use super::twice;
use assay_core::draws::Draws;
use assay_core::failure::{Failure, Outcome};
use assay_core::presence::Presence;
use assay_machine::probes::memory;
use assay_machine::system::between::Between;
use assay_machine::system::clears::Clears;
use assay_machine::system::site::{Mount, Site, TargetKind};
use assay_machine::system::{Extent, System, devices, encryption};
use assay_study::plan::budget;
use assay_study::plan::design::{Demands, ResolvedDesign};
use assay_study::results::plan::{Area, Coverage, Dirtied, EngineUse, PlannedWorkload, Survey};
use assay_workloads::io::{Content, Engine};
use assay_workloads::{TestMedium, Touch};

const ZERO_SAMPLES: u32 = 64;
const SAMPLE_BYTES: u64 = 4096;

pub struct Surveyed<'a> {
    pub opened: OpenTarget<'a>,
    pub survey: Survey,
    pub law: Option<assay_load::Law>,
    /// Content of the whole area, if it is uniform and known.
    pub content: Cell<Option<Content>>,
    pub seed: u64,
}

impl Surveyed<'_> {
    pub fn medium(&self) -> TestMedium<'_> {
        TestMedium { law: self.law, ..self.opened.medium(self.survey.area) }
    }

    /// Fills the area with the content that a workload must read, unless it already has it.
    pub fn ensure_content(
        &self,
        context: &mut Context<'_>,
        site: &Site,
        workload: &PlannedWorkload,
        seed: u64,
    ) -> Outcome<()> {
        let Some(wanted) = workload.touches().find_map(|touch| touch.finds) else { return Ok(()) };
        let is_own = self.survey.area.written && self.law.is_none();
        if !is_own || self.content.get() == Some(wanted) {
            return Ok(());
        }
        self.content.set(None);
        let how = Fill::unlimited(self.survey.engine.name, wanted, seed);
        let filled = area::fill(context, &self.opened, site, self.survey.area.length, &how)?;
        area::check_as_large(site, &self.survey.area, &filled)?;
        self.content.set(Some(wanted));
        Ok(())
    }

    /// Forgets the content of the area if a workload trims it or writes other content.
    pub fn note_writes(&self, workload: &PlannedWorkload) {
        let known = self.content.get();
        let changes_content = |touch: Touch| {
            touch.clears || touch.writes.is_some_and(|written| Some(written) != known)
        };
        if workload.touches().any(changes_content) {
            self.content.set(None);
        }
    }
}

/// Surveys an opened target: sizes and fills the area, runs the pilot, and reads what is stored.
pub fn survey_target<'a>(
    context: &mut Context<'_>,
    design: &ResolvedDesign<'_>,
    site: &Site,
    mut opened: OpenTarget<'a>,
    terms: Terms,
    seed: u64,
) -> Outcome<Surveyed<'a>> {
    let (system, demands) = (context.system, design.demands);
    let Terms { consented, law } = terms;
    let (whole, size) = (demands.uses.whole, demands.area.size);
    let asked = if whole {
        area::whole_bytes(system, site, &opened, terms, size)?
    } else if demands.uses.area {
        area::asked_bytes(system, site, &opened, consented, area_request(demands, false))?
    } else {
        0
    };
    let engine = if law.is_some() { simulated_engine() } else { available_engine() };
    let mut area = Area {
        start: opened.first_byte(),
        length: asked,
        asked,
        // Work on a whole device may write it, and finds no earlier data.
        written: law.is_some() || whole,
        fill_ns: 0,
    };
    let read_twice = match law {
        None => twice::read(system, site, seed),
        Some(_) => Presence::absent("a simulated target has no drive"),
    };
    let mut dirtied = cached_writes(system, site, &opened);
    if !whole && asked > 0 && (site.kind == TargetKind::Directory || consented) {
        let how = Fill {
            engine: engine.name,
            content: demands.filled.content,
            limit_ns: demands.budget_ns / budget::FILL_SHARE,
            seed,
        };
        area = fill_area(context, &mut opened, site, asked, &how, dirtied.as_mut())?;
    }
    // A pilot with trims removes data, which is restored before a trial that reads it.
    let before_trims = demands.filled.clears.then(|| coverage(system, opened.file(), &area, seed));
    (context.tell)(Event::Pilot { target: site.target.clone() });
    let medium = TestMedium { law, ..opened.medium(area) };
    let bench = pilot::Bench::new(context, medium, &site.path, seed);
    let pilot = pilot::run_all(design, &bench)
        .map_err(|failure| Failure { kind: failure.kind, ..unmeasured(site, &failure.message) })?;
    opened.notes.extend(pilot::versions(&demands.work, system));
    let mut survey = Survey {
        kind: Some(site.kind),
        area,
        direct: opened.direct.clone(),
        engine,
        pilot,
        coverage: before_trims.unwrap_or_else(|| coverage(system, opened.file(), &area, seed)),
        notes: std::mem::take(&mut opened.notes),
        between: Some(Between::find(system, site, opened.direct.reason())),
        clears: find_clears(system, site, demands),
        dirtied,
        read_twice,
        ..Survey::untaken(&site.target, "not checked")
    };
    if demands.has_margin && law.is_none() {
        let workloads = design.under_baseline(&survey);
        let bench = pilot::Bench::new(context, opened.medium(area), &site.path, seed);
        survey.pilot.scatter = pilot::scatter(&workloads, &survey.pilot, &bench)
            .map_err(|error| unmeasured(site, &error))?;
    }
    // The pilot writes the same content as the workloads.
    let is_known = survey.area.written && demands.filled.stays;
    let content = Cell::new(is_known.then_some(demands.filled.content));
    Ok(Surveyed { opened, survey, law, content, seed })
}

/// Fills the area; warns if space ran out. Records in `dirtied` how much went through the page cache.
fn fill_area(
    context: &mut Context<'_>,
    opened: &mut OpenTarget<'_>,
    site: &Site,
    asked: u64,
    how: &Fill,
    dirtied: Option<&mut Dirtied>,
) -> Outcome<Area> {
    let before = memory::dirtied_bytes(context.system);
    let area = area::fill(context, opened, site, asked, how)?;
    let grown = before.zip(memory::dirtied_bytes(context.system));
    if let (Some(dirtied), Some((before, after))) = (dirtied, grown) {
        dirtied.written_bytes = area.length;
        dirtied.dirtied_bytes = after.saturating_sub(before);
    }
    if let Some(text) = area::shortage(site, &area, how.limit_ns) {
        (context.tell)(Event::Warning(text.clone()));
        opened.notes.push(text);
    }
    Ok(area)
}

fn unmeasured(site: &Site, error: &str) -> Failure {
    Failure::refused(format!("cannot measure {}: {error}", site.target))
}

/// Clears leftovers of killed runs, opens a target, and surveys it.
pub fn survey_place<'a>(
    system: &'a dyn System,
    context: &mut Context<'_>,
    design: &ResolvedDesign<'_>,
    place: &Place,
    seed: u64,
) -> Outcome<Surveyed<'a>> {
    let (site, demands) = (&place.site, design.demands);
    let removals = match site.kind {
        TargetKind::Directory if demands.uses.directory => clear_leftovers(context, site),
        _ => Vec::new(),
    };
    let mut opened = match place.law {
        Some(_) => OpenTarget::simulated(system),
        None => OpenTarget::for_study(system, demands.uses, site, place.consent.as_ref())?,
    };
    if demands.area.offset.is_some() && site.kind != TargetKind::Device {
        return Err(Failure::mistake(format!(
            "{}: area.offset is only for block devices; remove it",
            site.target
        )));
    }
    if let Some(device) = site.counted.first().filter(|_| site.kind == TargetKind::Device) {
        opened = opened.starting_at(demands.area.first_byte(devices::size_of(system, device)));
    }
    opened.notes.extend(removals);
    opened.notes.extend(buffered_loops(system, site));
    if !site.encryption.is_empty() {
        opened.notes.extend(encryption::software_aes(system));
    }
    let terms = Terms { consented: place.consent.is_some(), law: place.law };
    survey_target(context, design, site, opened, terms, seed)
}

/// Opens a target again with an area like the surveyed one; fills it unless its content still exists.
pub fn reopen<'a>(
    context: &mut Context<'_>,
    system: &'a dyn System,
    demands: &Demands,
    place: &Place,
    survey: &Survey,
    seed: u64,
    keeps_content: bool,
) -> Outcome<Surveyed<'a>> {
    let site = &place.site;
    if site.kind == TargetKind::Directory {
        clear_leftovers(context, site);
    }
    let mut opened = match place.law {
        Some(_) => OpenTarget::simulated(system),
        None => OpenTarget::for_study(system, demands.uses, site, place.consent.as_ref())?,
    };
    if site.kind == TargetKind::Device {
        opened = opened.starting_at(survey.area.start);
    }
    let changed = opened.direct.value() != survey.direct.value();
    if changed || (place.law.is_none() && opened.first_byte() != survey.area.start) {
        return Err(Failure::refused(format!(
            "{} now opens with different settings than before; start a new study",
            site.target
        )));
    }
    let fills = survey.area.written && !demands.uses.whole && !keeps_content;
    if fills && survey.area.length > 0 && place.law.is_none() {
        let how = Fill::unlimited(survey.engine.name, demands.filled.content, seed);
        let filled = area::fill(context, &opened, site, survey.area.length, &how)?;
        area::check_as_large(site, &survey.area, &filled)?;
    }
    let is_known = survey.area.written && !keeps_content;
    let content = Cell::new(is_known.then_some(demands.filled.content));
    Ok(Surveyed { opened, survey: survey.clone(), law: place.law, content, seed })
}

/// Removes files that killed runs left in a directory; returns what was removed or could not be.
fn clear_leftovers(context: &mut Context<'_>, site: &Site) -> Vec<String> {
    let mut messages = Vec::new();
    for leftover in context.system.leftovers(&site.path).unwrap_or_default() {
        let path = leftover.path.display();
        let text = match context.system.remove_leftover(&leftover) {
            Ok(()) => format!("removed {path}, left by a killed run"),
            Err(error) => format!("cannot remove {path}, left by a killed run: {error}"),
        };
        (context.tell)(Event::Warning(text.clone()));
        messages.push(text);
    }
    messages
}

/// Returns an empty record if direct writes may use the page cache: on btrfs with checksums, also below a loop device.
fn cached_writes(system: &dyn System, site: &Site, opened: &OpenTarget<'_>) -> Option<Dirtied> {
    let mut mounts = site.mount.value().into_iter().chain(&site.followed);
    let has_checksums = |mount: &Mount| {
        let is_off = |option: &String| ["nodatasum", "nodatacow"].contains(&option.as_str());
        mount.filesystem == "btrfs" && !mount.options.iter().any(is_off)
    };
    let is_in_place = opened.file().is_some_and(|file| system.is_written_in_place(file));
    let is_file = site.kind == TargetKind::Directory && opened.direct.value().is_some();
    if !is_file || is_in_place || !mounts.any(has_checksums) {
        return None;
    }
    let layers = site.layers.iter();
    let loops = layers.filter(|layer| devices::is_buffered_loop(system, &layer.name)).count();
    Some(Dirtied { written_bytes: 0, dirtied_bytes: 0, caches_below: u32::try_from(loops).ok()? })
}

/// Loop devices with buffered I/O: their counters do not show the drive.
fn buffered_loops(system: &dyn System, site: &Site) -> Vec<String> {
    let layers = site.layers.iter().map(|layer| &layer.name);
    layers
        .filter(|name| devices::is_buffered_loop(system, name))
        .map(|name| {
            format!(
                "{name} uses the page cache of its file, so reads may come from memory (to bypass \
                 it, use losetup --direct-io=on {name})"
            )
        })
        .collect()
}

/// Describes a target without opening or writing anything: real sizes, no pilot.
pub fn predict(system: &dyn System, design: &ResolvedDesign<'_>, place: &Place) -> Outcome<Survey> {
    let (site, demands) = (&place.site, design.demands);
    if demands.uses.area {
        area::check_stores_files(site)?;
    }
    let own_target = demands.own_target();
    // A loop device that the study creates does not exist yet.
    let will_be_created = own_target.is_some();
    let exists = place.law.is_none() && site.kind != TargetKind::Directory && !will_be_created;
    // Without a consent, Assay opens a device only for reading.
    let opened =
        if exists { OpenTarget::open(system, site, None)? } else { OpenTarget::simulated(system) };
    // Layers next to a directory do not move the area.
    let makes_directory = design.makes_directory();
    // Work that needs consent is planned as if it had it.
    let destroys_data = demands.gives_up_data() && site.kind == TargetKind::Device;
    let consented = place.consent.is_some() || will_be_created || destroys_data;
    let existing = site.counted.first().filter(|_| consented);
    let device_bytes = match own_target {
        Some(size) => size.0,
        None => existing.map_or(0, |device| devices::size_of(system, device)),
    };
    let start = demands.area.first_byte(device_bytes);
    let most_bytes = device_bytes.saturating_sub(start);
    let asked = match demands.area.size {
        Some(size) if makes_directory || will_be_created => size.0.min(most_bytes) / MIB * MIB,
        // A tenth of the free space of the file system, as in any directory.
        None if makes_directory => area::usual_bytes(most_bytes),
        None if will_be_created => most_bytes.min(area::USUAL_AREA_BYTES) / MIB * MIB,
        size if demands.uses.whole => {
            let terms = Terms { consented, law: place.law };
            area::whole_bytes(system, site, &opened, terms, size)?
        }
        _ => area::asked_bytes(system, site, &opened, consented, area_request(demands, true))?,
    };
    let asked = if demands.uses.area { asked } else { 0 };
    let written = site.kind == TargetKind::Directory || consented || place.law.is_some();
    Ok(Survey {
        kind: Some(site.kind),
        area: Area { start, length: asked, asked, written, fill_ns: 0 },
        direct: opened.direct.clone(),
        engine: if place.law.is_some() { simulated_engine() } else { available_engine() },
        clears: find_clears(system, site, demands),
        // Direct I/O has not been tried without opening the target.
        ..Survey::untaken(&site.target, "not checked")
    })
}

/// Whether the target supports the trims, zeroing and polling of a study; empty for other studies.
fn find_clears(system: &dyn System, site: &Site, demands: &Demands) -> Clears {
    let clears = if demands.filled.clears { Clears::find(system, site) } else { Clears::default() };
    if demands.polls { clears.and_polling(system, site) } else { clears }
}

fn area_request(demands: &Demands, planned: bool) -> AreaRequest<'_> {
    AreaRequest { size: demands.area.size, preset: demands.preset.as_deref(), planned }
}

fn simulated_engine() -> EngineUse {
    EngineUse { name: Engine::Simulated, note: None }
}

/// `io_uring` if the kernel allows it, threads otherwise.
pub(super) fn available_engine() -> EngineUse {
    let wanted = Engine::IoUring;
    let entry = assay_load::ENGINES.iter().find(|entry| entry.name == wanted.name());
    let missing = || Err("not part of this build".to_owned());
    match entry.map_or_else(missing, |entry| (entry.available)()) {
        Ok(()) => EngineUse { name: wanted, note: None },
        Err(reason) => EngineUse {
            name: Engine::Psync,
            note: Some(format!(
                "threads provide the queue depth, because io_uring is unavailable: {reason}"
            )),
        },
    }
}

/// How much of the area is stored: extents, and a sample of blocks if Assay did not write the area.
fn coverage(
    system: &dyn System,
    file: Option<&File>,
    area: &Area,
    seed: u64,
) -> Presence<Coverage> {
    let Some(file) = file else { return Presence::absent("no file was opened") };
    let end = area.start + area.length;
    let extents = system.extents(file, area.start..end);
    let (sampled_blocks, zero_blocks) =
        if area.written { (0, 0) } else { zero_sample(system, file, area, seed) };
    let sampled = Coverage {
        hole_bytes: 0,
        unwritten_bytes: 0,
        encoded_bytes: 0,
        sampled_blocks,
        zero_blocks,
    };
    let extents = match extents {
        Ok(extents) => extents,
        Err(_) if sampled_blocks > 0 => return Presence::Present(sampled),
        Err(_) => return Presence::absent("the filesystem does not report extents"),
    };
    let bytes_in_area = |extent: &Extent| {
        (extent.start + extent.length).min(end).saturating_sub(extent.start.max(area.start))
    };
    let sum_bytes = |is_counted: fn(&Extent) -> bool| -> u64 {
        extents.iter().filter(|extent| is_counted(extent)).map(bytes_in_area).sum()
    };
    Presence::Present(Coverage {
        hole_bytes: area.length.saturating_sub(sum_bytes(|_| true)),
        unwritten_bytes: sum_bytes(|extent| extent.unwritten),
        encoded_bytes: sum_bytes(|extent| extent.encoded),
        ..sampled
    })
}

/// Reads random blocks of the area; returns how many were read, and how many of those contain only zeros.
fn zero_sample(system: &dyn System, file: &File, area: &Area, seed: u64) -> (u32, u32) {
    let blocks = area.length / SAMPLE_BYTES;
    if blocks == 0 {
        return (0, 0);
    }
    let mut draws = Draws::new(seed, "zeros");
    // Direct I/O requires buffers aligned to the block size.
    let mut room = vec![0_u8; 2 * SAMPLE_BYTES as usize];
    let start = room.as_ptr().align_offset(SAMPLE_BYTES as usize);
    let buffer = &mut room[start..start + SAMPLE_BYTES as usize];
    let (mut read, mut zero) = (0, 0);
    for _ in 0..ZERO_SAMPLES {
        let offset = area.start + draws.below(blocks) * SAMPLE_BYTES;
        if system.read_at(file, offset, buffer).is_ok_and(|bytes| bytes == buffer.len()) {
            read += 1;
            zero += u32::from(buffer.iter().all(|&byte| byte == 0));
        }
    }
    (read, zero)
}
