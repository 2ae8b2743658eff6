//! Arrays of the md driver: several devices joined under the guard, stopped and forgotten by the journal.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::system::journal::{Mark, MemberMark, Undo};
use crate::system::{Act, System, devices, signatures, sysfs};
use assay_core::catalogue::About;
use assay_core::failure::{Failure, Outcome};
use assay_core::presence::Presence;
use assay_core::quantity::Bytes;

use super::{
    Base, ByHand, Commands, DEFAULTS, Device, Layer, Made, NONE, PAGE_BYTES, Recipe, Takes, Wish,
    devices_of, missing_program, too_few,
};
use crate::factors::guard::Builder;
use crate::factors::{Choice, Factor, has_module, is_same_amount};

const INTERNAL: &str = "internal";
const PROGRAM: &str = "mdadm";
/// Highest array number; the search for a free one starts here, as in `mdadm`.
const LAST_NUMBER: u32 = 127;
/// Minimum size of md's metadata per member.
const METADATA_BYTES: u64 = 1 << 20;
/// Entries of the stripe cache, as the kernel takes them.
const STRIPE_CACHE: std::ops::RangeInclusive<u32> = 17..=32_768;
/// Lowest resync rate: md's own minimum, rounded.
const LEAST_SYNC: u64 = 1_000_000;
const PAUSE: Duration = Duration::from_millis(50);
const MOST_CHECKS: usize = 40;
const ANY_ARRAY: &str = "/dev/mdN";
const NAME: &str = "NAME";

#[derive(Debug)]
struct RaidLevel {
    name: &'static str,
    module: &'static str,
    least: usize,
    /// Capacity in bytes, from number and size of the members.
    capacity: fn(u64, u64) -> u64,
}

static LEVELS: [RaidLevel; 5] = [
    RaidLevel { name: "raid5", module: "raid456", least: 3, capacity: |n, bytes| (n - 1) * bytes },
    RaidLevel { name: "raid6", module: "raid456", least: 4, capacity: |n, bytes| (n - 2) * bytes },
    RaidLevel { name: "raid10", module: "raid10", least: 4, capacity: |n, bytes| n * bytes / 2 },
    RaidLevel { name: "raid1", module: "raid1", least: 2, capacity: |_, bytes| bytes },
    RaidLevel { name: "raid0", module: "raid0", least: 2, capacity: |n, bytes| n * bytes },
];

fn raid_level(name: &str) -> Option<&'static RaidLevel> {
    LEVELS.iter().find(|level| level.name == name)
}

pub(super) struct RaidLayer;

const NOT_READABLE: &str = "read only from an existing array";

static LEVEL_FACTOR: Choice = Choice {
    about: About {
        name: "raid",
        summary: "RAID level",
        text: "`raid0`, `raid1`, `raid5`, `raid6` or `raid10`: an md array on all members, which destroys their data; \
               `none` uses only the first member. Assay runs mdadm with --assume-clean, so no initial resync disturbs \
               the measurement (raid_resync adds one). Assay verifies the level, chunk size and members in sysfs, and \
               that no member is missing or resyncing. Requires the study key members or a target with several \
               devices.",
    },
    example: "[\"raid5\", \"raid6\", \"raid10\", \"raid1\", \"raid0\", \"none\"]",
    judge: |level| {
        if level == NONE || raid_level(level).is_some() {
            return Ok(());
        }
        let names: Vec<&str> = LEVELS.iter().map(|known| known.name).collect();
        Err(format!("cannot create `{level}`; use one of {}, or {NONE}", names.join(", ")))
    },
    caution: |level| (level == "raid0").then_some("raid0 loses all data if one device fails"),
    observe: |view| {
        let top = view.site.layers.first();
        let array = top.filter(|top| top.name.starts_with("md")).map(|top| top.kind.clone());
        Presence::Present(array.unwrap_or_else(|| NONE.to_owned()))
    },
    ..Choice::PLAIN
};

/// Chunk size: consecutive bytes on one member before the next one.
static CHUNK_FACTOR: Choice = Choice {
    about: About {
        name: "raid_chunk",
        summary: "RAID chunk size: contiguous bytes per member",
        text: "A power of two of at least 4 KiB, such as `64 KiB`, or `defaults` (512 KiB). A full stripe is one chunk \
               on each member, minus the parity chunks. Requires the factor raid; raid1 has no chunks.",
    },
    example: "[\"32 KiB\", \"128 KiB\", \"1 MiB\"]",
    judge: |level| {
        if level == DEFAULTS {
            return Ok(());
        }
        let bytes: Bytes = level.parse()?;
        let is_valid = bytes.0.is_power_of_two() && bytes.0 >= PAGE_BYTES;
        let hint = "use a power of two of at least 4 KiB, such as 64 KiB";
        if is_valid { Ok(()) } else { Err(format!("`{level}` is not a chunk size: {hint}")) }
    },
    same: is_same_amount::<Bytes>,
    observe: |_| Presence::absent(NOT_READABLE),
    ..Choice::PLAIN
};

/// Write-intent bitmap: records blocks that may differ after a power cut.
static BITMAP_FACTOR: Choice = Choice {
    about: About {
        name: "raid_bitmap",
        summary: "write-intent bitmap of the RAID array",
        text: "`internal` stores the bitmap on the members: extra writes, but a much shorter resync after a power \
               loss. `none` disables the bitmap. `defaults` is `none` for every size. Requires the factor raid; raid0 \
               has no bitmap.",
    },
    example: "[\"none\", \"internal\"]",
    judge: |level| {
        let is_valid = [DEFAULTS, NONE, INTERNAL].contains(&level);
        if is_valid { Ok(()) } else { Err(format!("`{level}`: use {NONE} or {INTERNAL}")) }
    },
    observe: |_| Presence::absent(NOT_READABLE),
    ..Choice::PLAIN
};

static STRIPE_CACHE_FACTOR: Choice = Choice {
    about: About {
        name: "raid_stripe_cache",
        summary: "stripe cache of an array with parity, in stripes",
        text: "A whole number of stripes from 17 to 32768, or `defaults` (256); each stripe takes one page per member. \
               Requires the factor raid, with raid5 or raid6.",
    },
    example: "[256, 4096]",
    judge: |level| {
        let number = level.parse().ok().filter(|number| STRIPE_CACHE.contains(number));
        if level == DEFAULTS || number.is_some() {
            return Ok(());
        }
        Err(format!("`{level}`: use a whole number from 17 to 32768, or {DEFAULTS}"))
    },
    same: is_same_amount::<u64>,
    observe: |_| Presence::absent(NOT_READABLE),
    ..Choice::PLAIN
};

static SYNC_FACTOR: Choice = Choice {
    about: About {
        name: "raid_resync",
        summary: "initial resync of a new array, and its maximum rate",
        text: "`none` or `defaults`: Assay assumes identical members. A rate such as `100 MB/s`: the initial resync \
               runs during the trials, at up to this rate per member (md/sync_speed_max). Other load slows the resync \
               down. A trial fails if the resync finishes early; use a lower rate or larger members. The probe \
               raid-resync reports the rate. Requires the factor raid; raid0 has no resync.",
    },
    example: "[\"none\", \"100 MB/s\"]",
    judge: |level| {
        let is_valid = [DEFAULTS, NONE].contains(&level) || parse_rate(level).is_some();
        let hint = "use none, or a rate of at least 1 MB/s, such as 100 MB/s";
        if is_valid { Ok(()) } else { Err(format!("`{level}`: {hint}")) }
    },
    same: |one, other| {
        one == other || parse_rate(one).is_some() && parse_rate(one) == parse_rate(other)
    },
    observe: |_| Presence::absent(NOT_READABLE),
    ..Choice::PLAIN
};

/// Bytes per second, in the KiB of the kernel.
fn parse_rate(level: &str) -> Option<u64> {
    let bytes: Bytes = level.strip_suffix("/s")?.parse().ok()?;
    (bytes.0 >= LEAST_SYNC).then_some(bytes.0 >> 10)
}

impl Layer for RaidLayer {
    fn noun(&self) -> &'static str {
        "array"
    }

    fn factors(&self) -> &'static [&'static dyn Factor] {
        const { &[&LEVEL_FACTOR, &CHUNK_FACTOR, &BITMAP_FACTOR, &STRIPE_CACHE_FACTOR, &SYNC_FACTOR] }
    }

    fn recipe(&self, wish: &Wish<'_>) -> Option<Box<dyn Recipe>> {
        Some(Box::new(RaidArray {
            level: raid_level(wish.asked(&LEVEL_FACTOR)?)?,
            chunk: wish.asked(&CHUNK_FACTOR).and_then(|level| level.parse().ok()),
            bitmap: wish.asked(&BITMAP_FACTOR) == Some(INTERNAL),
            stripe_cache: wish.asked(&STRIPE_CACHE_FACTOR).and_then(|level| level.parse().ok()),
            sync_kib_per_s: wish.asked(&SYNC_FACTOR).and_then(parse_rate),
        }))
    }

    fn ample(&self, bytes: u64) -> u64 {
        // raid1 has the least capacity of all levels: one member minus md's metadata.
        bytes.saturating_add(bytes / 16).saturating_add(16 << 20)
    }
}

struct RaidArray {
    level: &'static RaidLevel,
    chunk: Option<Bytes>,
    bitmap: bool,
    stripe_cache: Option<u32>,
    /// Maximum resync rate; `None` assumes that members are equal.
    sync_kib_per_s: Option<u64>,
}

impl RaidArray {
    /// Returns an error for options that do not fit the level.
    fn fault(&self) -> Option<String> {
        let name = self.level.name;
        let lacks = |what: &str, setting: &str| {
            Some(format!("{name} has no {what}; to include {name}, use --set {setting}"))
        };
        if self.chunk.is_some() && name == "raid1" {
            return lacks("chunks", "raid_chunk=defaults");
        }
        if self.bitmap && name == "raid0" {
            return lacks("bitmap", "raid_bitmap=none");
        }
        if self.stripe_cache.is_some() && self.level.module != "raid456" {
            return lacks("stripe cache", "raid_stripe_cache=defaults");
        }
        if self.sync_kib_per_s.is_some() && name == "raid0" {
            return lacks("resync", "raid_resync=none");
        }
        None
    }

    /// Returns the call of mdadm that creates the array. Without `resyncs`, mdadm takes the members for equal: existing
    /// data is discarded, and a resync would cause traffic during trials.
    fn create(&self, array: &Path, name: &str, members: &[PathBuf], resyncs: bool) -> Act {
        let mut words: Vec<String> = vec!["--create".into(), array.display().to_string()];
        words.extend(["--run", "--quiet", "--metadata=1.2", "--homehost=any"].map(str::to_owned));
        words.push(format!("--name={name}"));
        words.push(format!("--level={}", self.level.name));
        words.extend(self.chunk.map(|chunk| format!("--chunk={}K", chunk.0 >> 10)));
        if self.level.name != "raid0" {
            let bitmap = if self.bitmap { INTERNAL } else { NONE };
            words.push(format!("--bitmap={bitmap}"));
            words.extend((!resyncs).then(|| "--assume-clean".to_owned()));
        }
        words.push(format!("--raid-devices={}", members.len()));
        words.extend(members.iter().map(|member| member.display().to_string()));
        Act::Run { program: PROGRAM.to_owned(), arguments: words }
    }

    fn create_commands(&self, below: &[PathBuf], resyncs: bool) -> Commands {
        let mut acts = vec![self.create(Path::new(ANY_ARRAY), NAME, below, resyncs)];
        acts.extend(self.settings("mdN"));
        Commands { acts, out: ANY_ARRAY.into() }
    }

    /// Steps that set the requested resync rate and stripe cache of an array in sysfs.
    fn settings(&self, array: &str) -> Vec<Act> {
        let set = |file: &str, value: u64| Act::Set {
            path: sysfs::block(array).join("md").join(file),
            value: value.to_string(),
        };
        let cache = self.stripe_cache.map(|entries| set("stripe_cache_size", entries.into()));
        let speed = self.sync_kib_per_s.map(|kib_per_s| set("sync_speed_max", kib_per_s));
        speed.into_iter().chain(cache).collect()
    }

    /// Checks that a requested resync still runs, or that there is none; `now` reads a file of the array in sysfs.
    fn check_sync(&self, now: &dyn Fn(&str) -> Result<String, String>) -> Result<(), String> {
        let action = now("sync_action")?;
        let Some(wanted) = self.sync_kib_per_s else {
            let degraded = now("degraded")?;
            if action == "idle" && degraded == "0" {
                return Ok(());
            }
            return Err(format!(
                "its members are not in sync: sync_action {action}, degraded {degraded}"
            ));
        };
        let speed = now("sync_speed_max")?;
        if speed.split_whitespace().next() != Some(wanted.to_string().as_str()) {
            return Err(format!("sync_speed_max {wanted} requested, the array uses {speed}"));
        }
        // Parity is computed onto the last member as onto a replaced one.
        if ["resync", "recover"].contains(&action.as_str()) {
            return Ok(());
        }
        Err(format!(
            "its resync has finished (sync_action {action}); use a lower rate or larger members"
        ))
    }

    /// Checks a new array; repeats a failed check for a while, because md starts a resync shortly after the request.
    fn check_new(&self, system: &dyn System, name: &str, members: usize) -> Result<(), String> {
        let mut repeats = if self.sync_kib_per_s.is_some() { MOST_CHECKS } else { 0 };
        loop {
            let checked = self.check_array(system, name, members);
            if checked.is_ok() || repeats == 0 {
                return checked;
            }
            repeats -= 1;
            system.sleep(PAUSE);
        }
    }

    /// Checks in sysfs that an array matches the request; the error describes the array.
    fn check_array(&self, system: &dyn System, name: &str, members: usize) -> Result<(), String> {
        let place = sysfs::block(name).join("md");
        let now = |file: &str| {
            let text = system.read_text(&place.join(file));
            text.map(|text| text.trim().to_owned())
                .map_err(|error| format!("cannot read {file} of {name}: {}", sysfs::reason(&error)))
        };
        let check_file = |file: &str, wanted: &str| match now(file)? {
            value if value == wanted => Ok(()),
            value => Err(format!("{file} {wanted} requested, the array uses {value}")),
        };
        check_file("level", self.level.name)?;
        check_file("raid_disks", &members.to_string())?;
        if let Some(chunk) = self.chunk {
            check_file("chunk_size", &chunk.0.to_string())?;
        }
        if let Some(entries) = self.stripe_cache {
            check_file("stripe_cache_size", &entries.to_string())?;
        }
        if self.level.name != "raid0" {
            self.check_sync(&now)?;
            let bitmap = now("bitmap/location")?;
            if (bitmap != NONE) != self.bitmap {
                let asked = if self.bitmap { INTERNAL } else { NONE };
                return Err(format!("bitmap {asked} requested, the array uses {bitmap}"));
            }
        }
        let state = now("array_state")?;
        if ["clear", "inactive", "suspended", "readonly", "broken"].contains(&state.as_str()) {
            return Err(format!("the array is {state}"));
        }
        Ok(())
    }
}

impl Recipe for RaidArray {
    fn words(&self) -> String {
        self.level.name.to_owned()
    }

    fn takes(&self) -> Takes {
        Takes::All
    }

    fn least(&self) -> usize {
        self.level.least
    }

    fn missing(&self, system: &dyn System, below: &[u64]) -> Option<String> {
        if let Some(fault) = self.fault() {
            return Some(fault);
        }
        let RaidLevel { name, least, .. } = self.level;
        if below.len() < *least {
            return Some(too_few(name, *least, below.len()));
        }
        let programs = missing_program(system, PROGRAM, PROGRAM);
        if let Some(missing) = programs.or_else(|| signatures::missing(system)) {
            return Some(missing);
        }
        let smallest = below.iter().copied().min().unwrap_or(0);
        let needed = self.chunk.map_or(PAGE_BYTES, |chunk| chunk.0) + METADATA_BYTES;
        if smallest < needed {
            let (needed, smallest) = (Bytes(needed), Bytes(smallest));
            return Some(format!("{name} needs members of {needed}, but one has {smallest}"));
        }
        kernel_lacks(system, name, self.level.module).then(|| {
            format!("this kernel has no {name} (md); without a device: assay calc raid --help")
        })
    }

    fn room(&self, below: &[u64]) -> u64 {
        let smallest = below.iter().copied().min().unwrap_or(0).saturating_sub(METADATA_BYTES);
        let members = below.len() as u64;
        if below.len() < self.level.least { 0 } else { (self.level.capacity)(members, smallest) }
    }

    fn make(&self, builder: &mut Builder<'_, '_>, below: &[Base]) -> Outcome<Base> {
        if let Some(fault) = self.fault() {
            return Err(Failure::refused(fault));
        }
        let devices = members_of(below, self.level.name, self.level.least)?;
        let system = builder.system();
        let files = builder.files_of(&devices)?;
        let array = free_name(system)?;
        let name = builder.label();
        let member = |device: &&Device| MemberMark {
            disk: Mark::now(system, &device.extent.device),
            start: device.extent.range.start,
        };
        let members = devices.iter().map(member).collect();
        let undo = Undo::Array { device: array.clone(), name: name.clone(), members };
        for (device, file) in devices.iter().zip(&files) {
            builder.discard(device, file, undo.clone())?;
        }
        let file = devices::file_of(&array);
        let resyncs = self.sync_kib_per_s.is_some();
        builder.act_on_all(&devices, undo.clone(), &self.create(&file, &name, &files, resyncs))?;
        for setting in self.settings(&array) {
            builder.act(undo.clone(), &setting)?;
        }
        self.check_new(system, &array, devices.len())
            .map_err(|what| Failure::refused(format!("{}: {what}", self.level.name)))?;
        builder.made_device(&file, &undo, &devices).map(Base::Device)
    }

    fn check(&self, system: &dyn System, made: &Made) -> Result<(), String> {
        let Base::Device(device) = &made.base else { return Ok(()) };
        let members = made.undo.iter().find_map(|undo| match undo {
            Undo::Array { members, .. } => Some(members.len()),
            _ => None,
        });
        self.check_array(system, &device.extent.device, members.unwrap_or(0))
    }

    fn commands(&self, below: &[PathBuf]) -> Commands {
        self.create_commands(below, self.sync_kib_per_s.is_some())
    }

    fn by_hand(&self, below: &[PathBuf]) -> ByHand {
        ByHand {
            commands: self.create_commands(below, true),
            why: "assay creates arrays only for measurements; resync a permanent array first",
            lasting: Some((
                "mdadm --detail --scan >> /etc/mdadm/mdadm.conf".to_owned(),
                "the line that identifies the array at boot",
            )),
        }
    }
}

fn members_of<'b>(below: &'b [Base], name: &str, least: usize) -> Outcome<Vec<&'b Device>> {
    let no_devices = || Failure::refused(format!("{name} needs block devices"));
    let devices = devices_of(below).ok_or_else(no_devices)?;
    if devices.len() < least {
        return Err(Failure::refused(too_few(name, least, devices.len())));
    }
    Ok(devices)
}

fn free_name(system: &dyn System) -> Outcome<String> {
    let mut names = (0..=LAST_NUMBER).rev().map(|number| format!("md{number}"));
    let is_free = |name: &String| devices::number_of(system, name).is_none();
    names.find(is_free).ok_or_else(|| {
        Failure::refused("all names from md0 to md127 are in use; stop an array first")
    })
}

/// Returns whether the kernel has neither the md level nor a loadable module.
fn kernel_lacks(system: &dyn System, level: &str, module: &str) -> bool {
    let loaded = system.read_text(Path::new("/proc/mdstat")).unwrap_or_default();
    !loaded.contains(&format!("[{level}]")) && !has_module(system, module)
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;
    use crate::factors::layers::{Levels, Stack};

    fn missing(levels: &[(&str, &str)], below: &[u64], fake: &Fake) -> Option<String> {
        let named = levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned()));
        let levels: Levels = named.collect();
        Stack::new(&Wish::new(&levels)).unwrap().missing(fake, below)
    }

    #[test]
    fn what_is_missing_for_an_array_is_said() {
        let bare = Fake::recorded("file /proc/sys/kernel/osrelease 6.18.0\n").unwrap();
        let four = [1 << 30; 4];
        let told = |levels: &[(&str, &str)], below: &[u64]| missing(levels, below, &bare).unwrap();
        assert_eq!(
            told(&[("raid", "raid6")], &four[..3]),
            "raid6 needs 4 devices, but there are only 3; add `--set members=4`, or give 4 devices"
        );
        assert!(told(&[("raid", "raid5")], &four[..1]).contains("there is only one"));
        assert_eq!(
            told(&[("raid", "raid5")], &four),
            "mdadm is not installed; install the package mdadm"
        );
        bare.install("mdadm");
        assert_eq!(
            told(&[("raid", "raid5")], &four),
            "this kernel has no raid5 (md); without a device: assay calc raid --help"
        );
        bare.put(
            "/proc/mdstat",
            "Personalities : [raid6] [raid5] [raid4] \nunused devices: <none>\n",
        );
        assert_eq!(missing(&[("raid", "raid5")], &four, &bare), None);
        assert_eq!(
            told(&[("raid", "raid5"), ("raid_chunk", "1 MiB")], &[1 << 30, 1 << 20, 1 << 30]),
            "raid5 needs members of 2 MiB, but one has 1 MiB"
        );
        for (level, option, value, what) in [
            ("raid1", "raid_chunk", "64 KiB", "raid1 has no chunks"),
            ("raid0", "raid_bitmap", "internal", "raid0 has no bitmap"),
            ("raid10", "raid_stripe_cache", "4096", "raid10 has no stripe cache"),
            ("raid0", "raid_resync", "100 MB/s", "raid0 has no resync"),
        ] {
            let found = told(&[("raid", level), (option, value)], &four);
            assert!(found.starts_with(what), "{found}");
        }
    }

    #[test]
    fn an_array_holds_what_its_level_leaves() {
        let array = |name| RaidArray {
            level: raid_level(name).unwrap(),
            chunk: None,
            bitmap: false,
            stripe_cache: None,
            sync_kib_per_s: None,
        };
        let mib = |name| (array(name).room(&[65 << 20; 4])) >> 20;
        let held = ["raid0", "raid1", "raid5", "raid6", "raid10"].map(mib);
        assert_eq!(held, [256, 64, 192, 128, 128]);
        assert_eq!(array("raid6").room(&[65 << 20; 3]), 0);
    }

    #[test]
    fn levels_and_options_say_what_to_write_instead() {
        for (factor, level) in [
            (&LEVEL_FACTOR as &dyn Factor, "raid7"),
            (&CHUNK_FACTOR, "48 KiB"),
            (&CHUNK_FACTOR, "2 KiB"),
            (&BITMAP_FACTOR, "external"),
            (&STRIPE_CACHE_FACTOR, "16"),
            (&SYNC_FACTOR, "running"),
            (&SYNC_FACTOR, "9 kB/s"),
        ] {
            let told = factor.judge(level).unwrap_err();
            assert!(told.contains("use "), "{told}");
        }
        assert!(CHUNK_FACTOR.same("1 MiB", "1024 KiB") && !CHUNK_FACTOR.same("1 MiB", "defaults"));
    }

    #[test]
    fn options_have_their_limits() {
        let taken = |factor: &dyn Factor, levels: &[&str]| {
            levels.iter().map(|level| factor.judge(level).is_ok()).collect::<Vec<_>>()
        };
        assert_eq!(
            taken(&CHUNK_FACTOR, &["4 KiB", "64 KiB", "defaults", "2 KiB", "12 KiB"]),
            [true, true, true, false, false]
        );
        assert_eq!(
            taken(&STRIPE_CACHE_FACTOR, &["17", "32768", "16", "32769", "x"]),
            [true, true, false, false, false]
        );
        assert_eq!(
            taken(&SYNC_FACTOR, &["1 MB/s", "999 KB/s", "1 MB", "none", "defaults"]),
            [true, false, false, true, true]
        );
        assert_eq!(parse_rate("1 MB/s"), Some(976), "in whole KiB");
        assert!(SYNC_FACTOR.same("1 MB/s", "1000 KB/s") && !SYNC_FACTOR.same("none", "defaults"));
        assert!(!SYNC_FACTOR.same("1 MB/s", "2 MB/s") && !CHUNK_FACTOR.same("none", "other"));
        assert!(LEVEL_FACTOR.caution("raid0").is_some() && LEVEL_FACTOR.caution("raid1").is_none());
    }

    #[test]
    fn a_member_has_room_for_a_chunk_and_for_md_itself() {
        let fake = Fake::recorded("file /proc/sys/kernel/osrelease 6.18.0\n").unwrap();
        fake.install("mdadm").put("/proc/mdstat", "Personalities : [raid1]\n");
        let own = |bytes: u64| missing(&[("raid", "raid1")], &[1 << 30, bytes], &fake);
        assert_eq!(own(METADATA_BYTES + 4096), None);
        let small = own(METADATA_BYTES + 4095).unwrap();
        assert!(small.starts_with("raid1 needs members of"), "{small}");
        // The module of another level does not count.
        assert_eq!(
            missing(&[("raid", "raid10")], &[1 << 30; 4], &fake).unwrap(),
            "this kernel has no raid10 (md); without a device: assay calc raid --help"
        );
        fake.put("/lib/modules/6.18.0/modules.builtin", "kernel/drivers/md/raid10.ko\n");
        assert_eq!(missing(&[("raid", "raid10")], &[1 << 30; 4], &fake), None);
        let told = RaidLayer.ample(16 << 20);
        assert_eq!(told, (16 << 20) + (1 << 20) + (16 << 20));
    }

    #[test]
    fn the_last_free_name_is_taken() {
        let fake = Fake::new();
        assert_eq!(free_name(&fake).unwrap(), "md127");
        fake.put("/sys/class/block/md127/dev", "9:127\n");
        assert_eq!(free_name(&fake).unwrap(), "md126");
        for number in 0..127 {
            fake.put(format!("/sys/class/block/md{number}/dev"), format!("9:{number}\n"));
        }
        let message = free_name(&fake).unwrap_err().message;
        assert!(message.contains("all names from md0 to md127 are in use"));
    }
}
