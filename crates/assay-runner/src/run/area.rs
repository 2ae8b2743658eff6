//! The open target of a run and its area: created or opened, filled, and removed.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use super::event::{Context, Event};
use assay_core::failure::{Failure, Outcome};
use assay_core::presence::Presence;
use assay_core::quantity::Bytes;
use assay_load::{Bystanders, Job, LoadError};
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{AreaFile, Caching, Consent, System};
use assay_study::file::{SMALLEST_AREA_BYTES, presets};
use assay_study::plan::design::Uses;
use assay_study::results::plan::{Area, DirectUse};
use assay_workloads::TestMedium;
use assay_workloads::check_option;
use assay_workloads::io::{self, Content, Engine, Mix, Pattern};

pub(super) const MIB: u64 = 1 << 20;
pub(super) const USUAL_AREA_BYTES: u64 = 1 << 30;
/// Bytes written between checks of the clock and the stop flag.
const FILL_STEP_BYTES: u64 = 64 * MIB;
const FILL_DEPTH: u64 = 8;
/// Divisor: writes in flight must complete within this part of the time limit.
const DRAIN_DIVISOR: u64 = 4;

/// An open target. Dropping it removes Assay's own area file.
pub struct OpenTarget<'a> {
    system: &'a dyn System,
    held: HeldFile,
    start: u64,
    pub direct: Presence<DirectUse>,
    pub notes: Vec<String>,
}

enum HeldFile {
    Own(AreaFile),
    Others(File),
    Nothing,
}

impl Drop for OpenTarget<'_> {
    fn drop(&mut self) {
        if let HeldFile::Own(area) = &self.held {
            // A failure cannot be handled here; the next run finds the file and reports it.
            let _ = self.system.remove_area(area);
        }
    }
}

impl<'a> OpenTarget<'a> {
    /// Opens a target, for direct I/O if it supports that.
    pub fn open(system: &'a dyn System, site: &Site, consent: Option<&Consent>) -> Outcome<Self> {
        check_stores_files(site)?;
        let open = |caching| open_held(system, site, consent, caching);
        let (held, refusal) = match open(Caching::Direct) {
            Ok(held) => (held, None),
            Err(error) if refuses_direct(&error) => {
                let held =
                    open(Caching::Buffered).map_err(|error| open_failure(system, site, &error))?;
                (held, Some(format!("{} rejects direct I/O", site.filesystem())))
            }
            Err(error) => return Err(open_failure(system, site, &error)),
        };
        let direct = Presence::absent(""); // until the alignment of the open file is known
        let mut opened = Self { system, held, start: 0, direct, notes: Vec::new() };
        if let HeldFile::Own(AreaFile { note: Some(note), .. }) = &opened.held {
            opened.notes.push(note.clone());
        }
        opened.direct = match refusal {
            Some(reason) => Presence::Absent(reason),
            None => opened.alignment(site),
        };
        Ok(opened)
    }

    pub fn simulated(system: &'a dyn System) -> Self {
        let direct = Presence::Present(DirectUse { memory_alignment: 4096, offset_alignment: 1 });
        Self { system, held: HeldFile::Nothing, start: 0, direct, notes: Vec::new() }
    }

    /// Opens a target if the study needs an area on it.
    pub fn for_study(
        system: &'a dyn System,
        uses: Uses,
        site: &Site,
        consent: Option<&Consent>,
    ) -> Outcome<Self> {
        if uses.area {
            return Self::open(system, site, consent);
        }
        let direct = Presence::absent("no area was needed");
        Ok(Self { system, held: HeldFile::Nothing, start: 0, direct, notes: Vec::new() })
    }

    #[must_use]
    pub fn starting_at(mut self, start: u64) -> Self {
        self.start = start;
        self
    }

    pub fn file(&self) -> Option<&File> {
        match &self.held {
            HeldFile::Own(area) => Some(&area.file),
            HeldFile::Others(file) => Some(file),
            HeldFile::Nothing => None,
        }
    }

    /// Sets direct or buffered I/O. The target was opened for direct I/O if possible.
    pub fn set_direct(&self, direct: bool) -> std::io::Result<()> {
        let caching = if direct { Caching::Direct } else { Caching::Buffered };
        self.file().map_or(Ok(()), |file| self.system.set_caching(file, caching))
    }

    pub fn first_byte(&self) -> u64 {
        match &self.held {
            HeldFile::Own(area) => area.first_byte,
            HeldFile::Others(_) | HeldFile::Nothing => self.start,
        }
    }

    pub fn memory_alignment(&self) -> usize {
        self.direct.value().map_or(4096, |direct| direct.memory_alignment.max(4096) as usize)
    }

    pub fn medium(&self, area: Area) -> TestMedium<'_> {
        TestMedium { file: self.file(), area, memory_alignment: self.memory_alignment(), law: None }
    }

    /// Returns the alignment of direct I/O: 4 KiB if the kernel does not report it.
    fn alignment(&self, site: &Site) -> Presence<DirectUse> {
        let file = self.file();
        match file.and_then(|file| self.system.direct_alignment(file).ok().flatten()) {
            Some(alignment) if alignment.offset_bytes == 0 => Presence::absent(format!(
                "{} does not support direct I/O for this file",
                site.filesystem()
            )),
            Some(alignment) => Presence::Present(DirectUse {
                memory_alignment: alignment.memory_bytes,
                offset_alignment: alignment.offset_bytes,
            }),
            None => Presence::Present(DirectUse { memory_alignment: 4096, offset_alignment: 4096 }),
        }
    }
}

/// Opens what an area is on: a new file, a device that may be overwritten, or a target to read.
fn open_held(
    system: &dyn System,
    site: &Site,
    consent: Option<&Consent>,
    caching: Caching,
) -> std::io::Result<HeldFile> {
    match (site.kind, consent) {
        (TargetKind::Directory, _) => system.create_area(&site.path, caching).map(HeldFile::Own),
        (TargetKind::Device, Some(consent)) => {
            system.open_device_for_writing(consent, caching).map(HeldFile::Others)
        }
        _ => system.open_for_reading(&site.path, caching).map(HeldFile::Others),
    }
}

const PSEUDO_FILESYSTEMS: &str = "proc sysfs devpts cgroup cgroup2 debugfs tracefs securityfs pstore bpf configfs \
     efivarfs fusectl binfmt_misc";

/// Rejects virtual filesystems such as /proc.
pub fn check_stores_files(site: &Site) -> Outcome<()> {
    let filesystem = site.filesystem();
    let is_pseudo = PSEUDO_FILESYSTEMS.split(' ').any(|name| name == filesystem);
    if site.kind != TargetKind::Directory || !is_pseudo {
        return Ok(());
    }
    Err(Failure::mistake(format!(
        "{} is {filesystem}, a virtual filesystem that does not store data; use a directory on a \
         drive, as in `assay check --quick /mnt/card`",
        site.target
    )))
}

/// `O_DIRECT` on a file system without it answers EINVAL.
fn refuses_direct(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::InvalidInput
}

/// Explains why a target cannot be opened, and what to do.
fn open_failure(system: &dyn System, site: &Site, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind;
    let target = &site.target;
    let advice = match (error.kind(), site.kind) {
        (ErrorKind::PermissionDenied, TargetKind::Directory) => {
            "use a directory that you may write to".to_owned()
        }
        (ErrorKind::PermissionDenied, TargetKind::Device) if system.user().id == 0 => {
            "a container or security module denies access; run outside the container, or use a directory"
                .to_owned()
        }
        (ErrorKind::PermissionDenied, TargetKind::Device) => {
            "run as root, or use a directory on the device".to_owned()
        }
        (ErrorKind::ReadOnlyFilesystem, _) => {
            "the filesystem is read-only; to measure reads, give an existing file".to_owned()
        }
        (ErrorKind::ResourceBusy, _) => {
            "it is in use; unmount it or stop the program that uses it".to_owned()
        }
        (ErrorKind::StorageFull, _) => "free space on the target first".to_owned(),
        _ => "use another target".to_owned(),
    };
    Failure::refused(format!("cannot use {target}: {error}; {advice}"))
}

#[derive(Clone, Copy, Default)]
pub struct AreaRequest<'s> {
    pub size: Option<Bytes>,
    pub preset: Option<&'s str>,
    pub planned: bool,
}

impl AreaRequest<'_> {
    /// Returns the user's command again, with another size of the area.
    fn command_with_area(self, target: &str, area: Bytes) -> String {
        let study = self.preset.unwrap_or("STUDY");
        let is_check = self.preset.is_some_and(presets::is_of_check);
        let size = area.to_string().replace(' ', "");
        if is_check && !self.planned {
            return format!("assay check {target} --area {size}");
        }
        let command = if self.planned { "plan" } else { "run" };
        format!("assay {command} {study} {target} --set area.size={size}")
    }
}

/// Returns the bytes of the area: as requested, or the usual size; without consent to overwrite the target, all of it.
pub fn asked_bytes(
    system: &dyn System,
    site: &Site,
    opened: &OpenTarget<'_>,
    consented: bool,
    wanted: AreaRequest<'_>,
) -> Outcome<u64> {
    let size = wanted.size;
    match site.kind {
        TargetKind::Simulated => Ok(size.map_or(USUAL_AREA_BYTES, |size| size.0)),
        TargetKind::Directory => {
            directory_bytes(system, &site.path, &site.target, opened.first_byte(), wanted)
        }
        TargetKind::File | TargetKind::Device => {
            let length = opened.file().map_or(Ok(0), |file| system.length(file));
            let length = length.map_err(|error| open_failure(system, site, &error))?;
            let usable = length.saturating_sub(opened.first_byte()) / 4096 * 4096;
            if usable == 0 {
                return Err(Failure::mistake(format!(
                    "{} has only {length} bytes; a target needs at least 4 KiB",
                    site.target
                )));
            }
            if consented {
                let asked = size.map_or(USUAL_AREA_BYTES, |size| size.0);
                return Ok((asked.min(usable) / MIB * MIB).max(MIB));
            }
            Ok(size.map_or(usable, |size| size.0.min(usable)))
        }
    }
}

#[derive(Clone, Copy)]
pub struct Terms {
    pub consented: bool,
    /// The model of the simulated engine, if that is the target.
    pub law: Option<assay_load::Law>,
}

/// Returns the usable bytes of a whole target; fails without consent, for existing files or without space.
pub fn whole_bytes(
    system: &dyn System,
    site: &Site,
    opened: &OpenTarget<'_>,
    Terms { consented, law }: Terms,
    size: Option<Bytes>,
) -> Outcome<u64> {
    let most_bytes = size.map_or(u64::MAX, |size| size.0);
    let usable_bytes = match site.kind {
        TargetKind::Simulated => {
            law.and_then(|law| law.store).map_or(USUAL_AREA_BYTES, |store| store.claimed_bytes)
        }
        TargetKind::Directory => free_bytes(system, site, opened.first_byte())?,
        TargetKind::Device if !consented => return Err(needs_consent(system, site)),
        TargetKind::File => {
            return Err(Failure::mistake(format!(
                "{} is an existing file, which Assay never overwrites; use a directory, or a device with --destroy",
                site.target
            )));
        }
        TargetKind::Device => {
            let wanted = AreaRequest { size: Some(Bytes(most_bytes)), ..AreaRequest::default() };
            return Ok(asked_bytes(system, site, opened, false, wanted)? / 4096 * 4096);
        }
    };
    Ok(usable_bytes.min(most_bytes) / 4096 * 4096)
}

/// Free bytes in a directory, minus a reserve for others.
fn free_bytes(system: &dyn System, site: &Site, first_byte: u64) -> Outcome<u64> {
    if ["tmpfs", "ramfs"].contains(&site.filesystem().as_str()) {
        return Err(Failure::mistake(format!(
            "{} is in memory; use a directory on a card or drive",
            site.target
        )));
    }
    let space = system.space(&site.path).map_err(|error| {
        Failure::refused(format!(
            "{}: cannot determine the free space: {error}; use another directory",
            site.target
        ))
    })?;
    // Only for its errors: a read-only mount, or less free space than the smallest area.
    directory_bytes(system, &site.path, &site.target, first_byte, AreaRequest::default())?;
    let free = space.available_bytes.saturating_sub(first_byte);
    let reserve = (free / RESERVE_DIVISOR).clamp(LEAST_RESERVE_BYTES, MOST_RESERVE_BYTES);
    Ok(free.saturating_sub(reserve))
}

/// Divisor: this share of the free space remains for others, within bounds.
const RESERVE_DIVISOR: u64 = 50;
const LEAST_RESERVE_BYTES: u64 = 4 * MIB;
const MOST_RESERVE_BYTES: u64 = 1 << 30;

/// Explains how to permit a study to overwrite a whole device, or why nobody can permit this.
fn needs_consent(system: &dyn System, site: &Site) -> Failure {
    use assay_machine::system::identity;
    // The plan shows the data loss for any kind of work.
    let study = check_option::taking_all().unwrap_or("STUDY");
    match identity::stake(system, site) {
        Ok(_) => Failure::mistake(format!(
            "the study overwrites all of {} and destroys all of its data: {}; or use a directory on \
             the device, which uses only free space",
            site.target,
            identity::way_on(study, &site.target)
        )),
        Err(failure) => failure,
    }
}

/// Returns the size of an area in a directory; fails without space.
pub fn directory_bytes(
    system: &dyn System,
    path: &Path,
    target: &str,
    first_byte: u64,
    wanted: AreaRequest<'_>,
) -> Outcome<u64> {
    let space = system.space(path).map_err(|error| {
        Failure::refused(format!(
            "{target}: cannot determine the free space: {error}; use another directory"
        ))
    })?;
    if space.read_only {
        return Err(Failure::refused(format!(
            "{target} is mounted read-only; to measure reads, give an existing file"
        )));
    }
    let free = space.available_bytes.saturating_sub(first_byte);
    if free < SMALLEST_AREA_BYTES {
        return Err(Failure::refused(format!(
            "{target} has {} free, but the smallest area is {}; free space or use another directory",
            Bytes(free / 1024 * 1024),
            Bytes(SMALLEST_AREA_BYTES)
        )));
    }
    let half_of_free = Bytes((free / 2 / MIB * MIB).max(SMALLEST_AREA_BYTES));
    match wanted.size {
        Some(size) if size.0 > free => Err(Failure::refused(format!(
            "{target} has {free} free, less than the area of {size}; free space, or use a smaller area, as in \
             `{again}`",
            again = wanted.command_with_area(target, half_of_free),
            free = Bytes(free / MIB * MIB),
        ))),
        Some(size) => Ok(size.0 / MIB * MIB),
        None => Ok(usual_bytes(free)),
    }
}

pub fn usual_bytes(free: u64) -> u64 {
    (free / 10).clamp(SMALLEST_AREA_BYTES, USUAL_AREA_BYTES) / MIB * MIB
}

pub struct Fill {
    pub engine: Engine,
    pub content: Content,
    /// Time after which filling ends, and the area is what was written.
    pub limit_ns: u64,
    pub seed: u64,
}

impl Fill {
    pub fn unlimited(engine: Engine, content: Content, seed: u64) -> Self {
        // Not `u64::MAX`: deadlines are sums with it.
        Self { engine, content, limit_ns: u64::MAX / 4, seed }
    }
}

/// Writes and syncs the area, or the part for which time and filesystem space suffice; a full device is an error.
pub fn fill(
    context: &mut Context<'_>,
    opened: &OpenTarget<'_>,
    site: &Site,
    asked: u64,
    how: &Fill,
) -> Outcome<Area> {
    let system = context.system;
    let start_ns = system.monotonic_ns();
    let spent_ns = || system.monotonic_ns() - start_ns;
    let mut area = Area { start: opened.first_byte(), length: 0, asked, written: true, fill_ns: 0 };
    let (mut depth, mut largest_step) = (1, FILL_STEP_BYTES); // depth 1 only for the first MiB
    while area.length < asked && spent_ns() < how.limit_ns && !context.is_stopped() {
        let step = if depth == 1 { MIB } else { largest_step.min(asked - area.length) };
        let job = fill_job(&area, step, depth, how.limit_ns - spent_ns(), how);
        let began_ns = spent_ns();
        let medium = opened.medium(area);
        match io::run_job(how.engine, &job, &medium, &Bystanders::now(), context.stop) {
            Ok(outcome) => area.length += outcome.totals.write_bytes,
            // Use the rest of a filesystem in small steps, until even one MiB does not fit.
            Err(error) if may_be_full_filesystem(site, &error) && step > MIB => largest_step = MIB,
            Err(error) if is_full_filesystem(system, site, &error, asked - area.length) => break,
            Err(error) => return Err(unwritable(site, &error)),
        }
        // The first MiB shows the queue depth that still drains in time.
        if depth == 1 {
            let first_mib_ns = (spent_ns() - began_ns).max(1);
            let drained_in_time = how.limit_ns / DRAIN_DIVISOR / first_mib_ns;
            depth = drained_in_time.clamp(1, FILL_DEPTH) as u32;
        }
        (context.tell)(Event::Filling {
            target: site.target.clone(),
            done_bytes: area.length,
            of_bytes: asked,
            remaining_ns: (spent_ns() as f64 * (asked - area.length) as f64
                / area.length.max(1) as f64) as u64,
        });
    }
    if let Some(file) = opened.file() {
        system.sync_data(file).map_err(|error| {
            let full = error.kind() == std::io::ErrorKind::StorageFull;
            let advice = if full { format!("; {NO_ROOM_BELOW}") } else { String::new() };
            Failure::refused(format!("cannot sync {}: {error}{advice}", site.target))
        })?;
    }
    area.fill_ns = spent_ns();
    check_filled(context, site, &area, how.limit_ns)?;
    Ok(area)
}

/// Rejects an area that was not filled, because the user interrupted or the space ended.
fn check_filled(context: &Context<'_>, site: &Site, area: &Area, limit_ns: u64) -> Outcome<()> {
    if context.is_stopped() {
        return Err(Failure::interrupted("interrupted while writing the area; no files remain"));
    }
    let full = ran_out_of_space(area, limit_ns);
    if area.length == 0 || (full && area.length < SMALLEST_AREA_BYTES) {
        return Err(Failure::refused(format!(
            "{} is full after {} of an area of {}; the smallest area is {}; free space or use another directory",
            site.target,
            Bytes(area.length),
            Bytes(area.asked),
            Bytes(SMALLEST_AREA_BYTES)
        )));
    }
    Ok(())
}

/// Rejects an area smaller than that of the interrupted study, whose plan it does not fit.
pub fn check_as_large(site: &Site, before: &Area, found: &Area) -> Outcome<()> {
    if found.length >= before.length {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "{} now has space for {}, but the study began with an area of {}; free space, then resume",
        site.target,
        Bytes(found.length),
        Bytes(before.length)
    )))
}

/// Whether space was missing. An area cut short by the time limit has used all of its time.
fn ran_out_of_space(area: &Area, limit_ns: u64) -> bool {
    area.length < area.asked && area.fill_ns < limit_ns
}

/// Notes that an area is smaller than requested because space ran out.
pub fn shortage(site: &Site, area: &Area, limit_ns: u64) -> Option<String> {
    ran_out_of_space(area, limit_ns).then(|| {
        format!(
            "{} was full after {} of an area of {}, so the area is smaller; for a larger area, free space",
            site.target,
            Bytes(area.length),
            Bytes(area.asked)
        )
    })
}

/// Writes the next `step` bytes of the area in sequence, each MiB in one request.
fn fill_job(area: &Area, step: u64, depth: u32, time_ns: u64, how: &Fill) -> Job {
    let start = area.start + area.length;
    let (area, seed) = (start..start + step, how.seed ^ start);
    Job {
        depth,
        content: how.content,
        time: Duration::from_nanos(time_ns),
        operations: Some(step / MIB),
        ..Job::base(Pattern::Sequential, Mix::WRITES, MIB as u32, area, seed)
    }
}

fn is_out_of_space(error: &LoadError) -> bool {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    match error {
        LoadError::Operation { source, .. } => matches!(source.kind(), StorageFull | QuotaExceeded),
        // The last free block cut off the write.
        LoadError::Short { .. } => true,
        _ => false,
    }
}

/// Whether an error may mean that a file system is full.
fn may_be_full_filesystem(site: &Site, error: &LoadError) -> bool {
    site.kind == TargetKind::Directory && is_out_of_space(error)
}

/// Whether the filesystem is full. If it has space left, its device accepts no more data.
fn is_full_filesystem(system: &dyn System, site: &Site, error: &LoadError, left: u64) -> bool {
    let is_over_quota = matches!(error, LoadError::Operation { source, .. }
        if source.kind() == std::io::ErrorKind::QuotaExceeded);
    let has_space = || system.space(&site.path).is_ok_and(|space| space.available_bytes > left);
    may_be_full_filesystem(site, error) && (is_over_quota || !has_space())
}

/// Advice if a file system has space, but the storage below it does not.
const NO_ROOM_BELOW: &str = "the storage below the target is full (a thin pool, or the filesystem \
                             below a loop device); free space on that storage";

fn unwritable(site: &Site, error: &LoadError) -> Failure {
    let advice = if is_out_of_space(error) { NO_ROOM_BELOW } else { "use another target" };
    Failure::refused(format!("cannot write {}: {error}; {advice}", site.target))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "a device that is always full")]

    use std::sync::atomic::AtomicBool;

    use super::*;
    use assay_machine::system::Fake;

    #[test]
    fn an_area_that_became_smaller_is_not_gone_on_with() {
        let area = |length| Area { start: 0, length, asked: 64 << 20, written: true, fill_ns: 1 };
        let site = Site::simulated("card");
        assert!(check_as_large(&site, &area(64 << 20), &area(64 << 20)).is_ok());
        let refused = check_as_large(&site, &area(64 << 20), &area(48 << 20)).unwrap_err();
        assert_eq!(
            refused.message,
            "card now has space for 48 MiB, but the study began with an area of 64 MiB; free \
             space, then resume"
        );
    }

    /// The area of a directory with this much space and this requested size.
    fn had(free: u64, size: Option<u64>) -> Outcome<u64> {
        let fake = Fake::new();
        fake.add(&format!("dir /small\nspace /small {free} {free}")).unwrap();
        let wanted = AreaRequest { size: size.map(Bytes), ..AreaRequest::default() };
        directory_bytes(&fake, Path::new("/small"), "/small", 0, wanted)
    }

    #[test]
    fn the_command_that_was_typed_is_the_one_that_is_named() {
        let again = |preset, planned| {
            let wanted = AreaRequest { preset, planned, size: None };
            wanted.command_with_area("/small", Bytes(47 * MIB))
        };
        let check = again(Some("check"), false);
        assert_eq!(check, "assay check /small --area 47MiB");
        assert_eq!(
            again(Some("large-files"), false),
            "assay run large-files /small --set area.size=47MiB"
        );
        assert_eq!(again(Some("check"), true), "assay plan check /small --set area.size=47MiB");
        // A user's study has an unknown name.
        assert_eq!(again(None, false), "assay run STUDY /small --set area.size=47MiB");
    }

    #[test]
    fn too_little_room_is_told_with_an_area_that_can_be_had() {
        for (free, told, smaller) in [
            (622 * MIB, "/small has 622 MiB free, less than the area of 2 GiB", 311),
            // Half of it would be less than the smallest area.
            (20 * MIB, "/small has 20 MiB free, less than the area of 2 GiB", 16),
        ] {
            let refused = had(free, Some(2 << 30)).unwrap_err().message;
            assert!(refused.starts_with(told), "{refused}");
            let next = format!("`assay run STUDY /small --set area.size={smaller}MiB`");
            assert!(refused.contains(&next), "{refused}");
            assert_eq!(had(free, Some(smaller * MIB)).unwrap(), smaller * MIB);
        }
        // Enough space: no message.
        assert_eq!(had(2 << 30, Some(2 << 30)).unwrap(), 2 << 30);
        assert_eq!(had(20 * MIB, None).unwrap(), SMALLEST_AREA_BYTES);
    }

    /// Fills an area on a full target, and returns why that ended.
    fn filled(kind: TargetKind, space: &str) -> String {
        let fake = Fake::new();
        fake.add(&format!("dir /full\nspace /full {space}")).unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let held = HeldFile::Others(full);
        let direct = Presence::absent("a test");
        let opened = OpenTarget { system: &fake, held, start: 0, direct, notes: Vec::new() };
        let site = Site { kind, path: "/full".into(), ..Site::simulated("full") };
        let stop = AtomicBool::new(false);
        let mut context = Context { system: &fake, runs_as: None, stop: &stop, tell: &mut |_| {} };
        let how = Fill::unlimited(Engine::Psync, Content::Zero, 1);
        fill(&mut context, &opened, &site, 64 * MIB, &how).unwrap_err().message
    }

    #[test]
    fn a_device_without_room_is_an_error_in_the_kernels_words() {
        let told = filled(TargetKind::Device, "0 1000");
        assert!(told.contains("No space left on device") && told.contains("thin pool"), "{told}");
    }

    #[test]
    fn a_device_without_room_below_a_file_system_with_room_is_one_too() {
        let told = filled(TargetKind::Directory, "1000000000 1000000000");
        assert!(told.contains("No space left on device") && told.contains("thin pool"), "{told}");
    }

    #[test]
    fn a_full_file_system_has_the_area_that_it_took() {
        let told = filled(TargetKind::Directory, "4096 1000000000");
        assert!(told.starts_with("full is full after 0"), "{told}");
    }
}
