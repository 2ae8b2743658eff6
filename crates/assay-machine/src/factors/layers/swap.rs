//! Swap next to the test area: a file in the directory below, with or without zswap, or a zram device.

use std::path::{Path, PathBuf};

use crate::system::journal::Undo;
use crate::system::{Act, MOST_SWAP_PRIORITY, System, devices, mounts, swaps, sysfs};
use assay_core::catalogue::About;
use assay_core::failure::{Failure, Outcome};
use assay_core::presence::Presence;
use assay_core::quantity::{Bytes, Percent};

use super::zram::{self, ALGORITHMS};
use super::{
    Base, ByHand, Commands, Gives, Layer, Levels, Made, NONE, PermanentLayer, Recipe, Wish,
    whole_mib,
};
use crate::factors::guard::Builder;
use crate::factors::{Choice, Factor, Setting, is_same_amount};

const FILE: &str = "file";
const ZRAM: &str = "zram";
const ZSWAP: &str = "zswap";
/// Default algorithm of zram, available in all versions that support swap.
const USUAL_ALGORITHM: &str = "lzo-rle";
const USUAL_SIZE: Bytes = Bytes(1 << 30);
const LEAST_SIZE: Bytes = Bytes(1 << 20);
const UNCHANGED: &str = "current";
const ALLOCATORS: [&str; 3] = ["zbud", "z3fold", "zsmalloc"];
const PARAMETERS: &str = "/sys/module/zswap/parameters";
const ALLOCATOR: &str = "zpool";
const GENERATOR: &str = "/etc/systemd/zram-generator.conf.d";
/// File systems on which the kernel accepts a swap file without preparation.
const SUPPORTED: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "f2fs", "vfat"];
/// File systems in memory: swap on them would consume the memory that it should provide.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];
/// Placeholder for the directory of the file.
const DIRECTORY: &str = "DIRECTORY";

pub(super) struct Swap;

#[derive(Clone, Debug, PartialEq, Eq)]
enum SwapType {
    File,
    Zram(String),
    Zswap(Option<String>),
}

/// Parses `TYPE` or `TYPE:ALGORITHM`; `None` for no swap.
fn parse_level(level: &str) -> Result<Option<SwapType>, String> {
    let (kind, algorithm) = match level.split_once(':') {
        Some((kind, algorithm)) => (kind, Some(algorithm)),
        None => (level, None),
    };
    let checked = |algorithm: &str| {
        if ALGORITHMS.contains(&algorithm) {
            return Ok(algorithm.to_owned());
        }
        Err(format!("unknown algorithm `{algorithm}`; use one of {}", ALGORITHMS.join(", ")))
    };
    match (kind, algorithm) {
        (NONE, None) => Ok(None),
        (FILE, None) => Ok(Some(SwapType::File)),
        (ZRAM, named) => Ok(Some(SwapType::Zram(checked(named.unwrap_or(USUAL_ALGORITHM))?))),
        (ZSWAP, named) => Ok(Some(SwapType::Zswap(named.map(checked).transpose()?))),
        _ => Err(format!(
            "unknown swap type `{level}`; use {NONE}, {FILE}, {ZRAM} or {ZSWAP}, optionally with an algorithm, such as \
             {ZRAM}:lz4"
        )),
    }
}

pub fn has_file(level: &str) -> bool {
    matches!(parse_level(level), Ok(Some(SwapType::File | SwapType::Zswap(_))))
}

pub const SWAP: &str = "swap";

static KIND_FACTOR: Choice = Choice {
    about: About {
        name: SWAP,
        summary: "swap type",
        text: "`none`: memory-limited workloads cannot swap, even if the machine has swap. `file`: a swap file in the \
               target's directory, which must be on a disk (not in memory, on btrfs or on a network). `zram`: a zram \
               device with lzo-rle or the named algorithm, such as `zram:lz4`. `zswap`: a swap file behind zswap, with \
               the current compressor or the named one, such as `zswap:lzo`. Each swap area has the highest priority, \
               so the kernel does not use the machine's own swap. Assay disables zswap for all other levels. Needs \
               root.",
    },
    example: "[\"none\", \"file\", \"zswap\", \"zram\"]",
    judge: |level| parse_level(level).map(drop),
    observe: |view| {
        let areas = swaps::read(view.system);
        let Ok(areas) = areas else { return Presence::absent("cannot read /proc/swaps") };
        let Some(first) = areas.into_iter().max_by_key(|area| area.priority) else {
            return Presence::Present(NONE.to_owned());
        };
        let name = devices::name_at(view.system, &first.path);
        if let Some(name) = name.filter(|name| name.starts_with(ZRAM)) {
            let text = sysfs::text(view.system, &sysfs::block(&name).join("comp_algorithm"));
            return sysfs::parsed(text, sysfs::chosen)
                .map(|algorithm| format!("{ZRAM}:{algorithm}"));
        }
        let parameter = |name| sysfs::text(view.system, &Path::new(PARAMETERS).join(name));
        let is_enabled = parameter("enabled").value().is_some_and(|enabled| enabled.trim() == "Y");
        match parameter("compressor") {
            Presence::Present(compressor) if is_enabled => {
                Presence::Present(format!("{ZSWAP}:{}", compressor.trim()))
            }
            _ => Presence::Present(FILE.to_owned()),
        }
    },
    ..Choice::PLAIN
};

static SIZE_FACTOR: Choice = Choice {
    about: About {
        name: "swap_size",
        summary: "swap size",
        text: "Before compression, such as `512 MiB`; 1 GiB by default. A swap file takes its whole size on disk \
               immediately; a zram device takes memory only for stored pages. Requires the factor swap.",
    },
    example: "[\"512 MiB\", \"1 GiB\"]",
    judge: |level| {
        let size: Bytes = level.parse()?;
        if size < LEAST_SIZE {
            return Err(format!("`{level}` is too small; use at least {LEAST_SIZE}"));
        }
        Ok(())
    },
    same: is_same_amount::<Bytes>,
    observe: |_| Presence::absent("Assay reads the size only for swap areas that it created"),
    ..Choice::PLAIN
};

static POOL_FACTOR: Choice = Choice {
    about: About {
        name: "zswap_max_pool",
        summary: "maximum share of memory for zswap",
        text: "Integer percentage, such as `20%`, or `current`; sets `max_pool_percent` of zswap. When the pool is \
               full, pages go to the swap file. Requires the factor swap.",
    },
    example: "[\"current\", \"20%\", \"50%\"]",
    judge: |level| {
        if level == UNCHANGED {
            return Ok(());
        }
        level.parse::<Percent>().map(drop).map_err(|error| format!("{error}; or use {UNCHANGED}"))
    },
    same: is_same_amount::<Percent>,
    observe: |view| {
        let text = sysfs::text(view.system, &Path::new(PARAMETERS).join("max_pool_percent"));
        text.map(|percent| format!("{}%", percent.trim()))
    },
    ..Choice::PLAIN
};

static ALLOCATOR_FACTOR: Choice = Choice {
    about: About {
        name: "zswap_allocator",
        summary: "memory allocator of zswap",
        text: "`zbud` stores up to two compressed pages per page, `z3fold` up to three, `zsmalloc` as many as fit; or \
               `current`. Sets `zpool` of zswap; Linux 6.18 and later always use zsmalloc and lack this setting. With \
               zbud, the default of many distributions, a page that compresses to slightly more than half takes a \
               whole page. Requires the factor swap.",
    },
    example: "[\"current\", \"zbud\", \"zsmalloc\"]",
    judge: |level| {
        if level == UNCHANGED || ALLOCATORS.contains(&level) {
            return Ok(());
        }
        Err(format!(
            "unknown allocator `{level}`; use one of {}, or {UNCHANGED}",
            ALLOCATORS.join(", ")
        ))
    },
    observe: |view| {
        let text = sysfs::text(view.system, &Path::new(PARAMETERS).join(ALLOCATOR));
        text.map(|name| name.trim().to_owned())
    },
    ..Choice::PLAIN
};

impl Layer for Swap {
    fn noun(&self) -> &'static str {
        "swap area"
    }

    fn factors(&self) -> &'static [&'static dyn Factor] {
        const { &[&KIND_FACTOR, &SIZE_FACTOR, &POOL_FACTOR, &ALLOCATOR_FACTOR] }
    }

    fn recipe(&self, wish: &Wish<'_>) -> Option<Box<dyn Recipe>> {
        let kind = wish.asked(&KIND_FACTOR).and_then(|level| parse_level(level).ok())??;
        let size = wish.asked(&SIZE_FACTOR).and_then(|level| level.parse().ok());
        let pool = wish.asked(&POOL_FACTOR).and_then(|level| level.parse::<Percent>().ok());
        let percent = pool.map(|share| (share.fraction() * 100.0).round() as u32);
        let allocator = wish.asked(&ALLOCATOR_FACTOR).filter(|level| *level != UNCHANGED);
        let allocator = allocator.map(str::to_owned);
        Some(Box::new(SwapDevice { kind, size: size.unwrap_or(USUAL_SIZE), percent, allocator }))
    }

    fn choices(&self) -> Vec<String> {
        [FILE, "zram:lz4", "zswap:lzo"].map(str::to_owned).to_vec()
    }

    fn ground(&self) -> Levels {
        Levels::from([("filesystem".to_owned(), "ext4".to_owned())])
    }

    fn needs_device(&self) -> bool {
        false
    }
}

struct SwapDevice {
    kind: SwapType,
    size: Bytes,
    percent: Option<u32>,
    allocator: Option<String>,
}

impl SwapDevice {
    /// The zswap parameters to set: on with the requested options for zswap, otherwise off.
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let SwapType::Zswap(compressor) = &self.kind else {
            return vec![("enabled", "N".to_owned())];
        };
        let mut parameters = Vec::new();
        parameters.extend(compressor.clone().map(|name| ("compressor", name)));
        parameters.extend(self.allocator.clone().map(|name| (ALLOCATOR, name)));
        parameters.extend(self.percent.map(|percent| ("max_pool_percent", percent.to_string())));
        parameters.push(("enabled", "Y".to_owned()));
        parameters
    }

    fn set_zswap(&self, builder: &mut Builder<'_, '_>) -> Outcome<()> {
        for (name, value) in self.parameters() {
            let path = Path::new(PARAMETERS).join(name);
            // Without zswap, there is nothing to disable.
            let now = sysfs::if_exists(builder.system().read_text(&path));
            if !matches!(self.kind, SwapType::Zswap(_)) && matches!(now, Ok(None)) {
                continue;
            }
            builder.set(&Setting { path, value, device: None })?;
        }
        Ok(())
    }

    /// Allocates the swap file in a directory; refused if the file system is unsuitable or has too little space.
    fn allocate_file(&self, builder: &mut Builder<'_, '_>, directory: &Path) -> Outcome<PathBuf> {
        let system = builder.system();
        let directory = system
            .canonical(directory)
            .map_err(|error| Failure::refused(format!("{}: {error}", directory.display())))?;
        check_can_hold_swap(system, &directory).map_err(Failure::refused)?;
        if let Ok(space) = system.space(&directory)
            && space.available_bytes < self.size.0
        {
            return Err(Failure::refused(format!(
                "{} has {} free, but the swap file needs {}; free some space, use another directory, or use a smaller \
                 swap_size",
                directory.display(),
                whole_mib(space.available_bytes),
                self.size
            )));
        }
        let path = directory.join(format!(".assay-{}", builder.name("swap")));
        let allocate = Act::AllocateFile { path: path.clone(), bytes: self.size.0 };
        builder.act(Undo::File { path: path.clone() }, &allocate)?;
        Ok(path)
    }
}

/// Fails if a swap file in the directory, or a disk below it that is a file, would be in memory or is not supported.
fn check_can_hold_swap(system: &dyn System, directory: &Path) -> Result<(), String> {
    let table = mounts::read(system).unwrap_or_default();
    let device = system.status(directory).ok().map(|found| found.device);
    let Some(entry) = mounts::find(&table, directory, device) else { return Ok(()) };
    let (filesystem, shown) = (entry.mount.filesystem.as_str(), directory.display());
    if IN_MEMORY.contains(&filesystem) {
        return Err(format!(
            "{shown} is in memory ({filesystem}), so swapping to it would free no memory; use a directory on a disk"
        ));
    }
    if !SUPPORTED.contains(&filesystem) {
        return Err(format!(
            "cannot create a swap file on {filesystem} ({shown}); use a directory on ext4 or xfs"
        ));
    }
    // Devices below a loop device's file count as well.
    let name = devices::name_at(system, Path::new(&entry.mount.source));
    let below = name.and_then(|name| devices::backing_file(system, &name));
    match below.as_deref().and_then(Path::parent) {
        Some(below) => check_can_hold_swap(system, below),
        None => Ok(()),
    }
}

impl Recipe for SwapDevice {
    fn words(&self) -> String {
        match &self.kind {
            SwapType::File => format!("a swap file of {}", self.size),
            SwapType::Zram(algorithm) => format!("{} of swap on zram ({algorithm})", self.size),
            SwapType::Zswap(Some(compressor)) => {
                format!("zswap ({compressor}) with a swap file of {}", self.size)
            }
            SwapType::Zswap(None) => format!("zswap with a swap file of {}", self.size),
        }
    }

    fn gives(&self) -> Gives {
        Gives::Directory
    }

    fn missing(&self, system: &dyn System, _: &[u64]) -> Option<String> {
        let lacks =
            |path: &str| matches!(sysfs::if_exists(system.status(Path::new(path))), Ok(None));
        if lacks(swaps::TABLE) {
            return Some("this kernel has no swap (CONFIG_SWAP)".to_owned());
        }
        match &self.kind {
            SwapType::Zram(algorithm) => zram::missing_algorithm(system, algorithm),
            SwapType::Zswap(_) if lacks(PARAMETERS) => {
                Some("this kernel has no zswap (CONFIG_ZSWAP)".to_owned())
            }
            SwapType::Zswap(_)
                if self.allocator.is_some() && lacks(&format!("{PARAMETERS}/{ALLOCATOR}")) =>
            {
                Some("zswap has only the allocator zsmalloc since Linux 6.18".to_owned())
            }
            _ => None,
        }
    }

    fn make(&self, builder: &mut Builder<'_, '_>, below: &[Base]) -> Outcome<Base> {
        let [Base::Directory(directory)] = below else {
            return Err(Failure::refused("swap needs a directory on a disk as the target"));
        };
        self.set_zswap(builder)?;
        let area = match &self.kind {
            SwapType::Zram(algorithm) => {
                let (device, undo) = builder.add_zram(algorithm, self.size.0)?;
                let made = builder.made_device(&device, &undo, &[])?;
                builder.act_on(&made, undo, &Act::MakeSwap { path: device.clone() })?;
                device
            }
            SwapType::File | SwapType::Zswap(_) => {
                let path = self.allocate_file(builder, directory)?;
                let undo = Undo::File { path: path.clone() };
                builder.act(undo, &Act::MakeSwap { path: path.clone() })?;
                path
            }
        };
        let on = Act::SwapOn { path: area.clone(), priority: MOST_SWAP_PRIORITY };
        builder.act(Undo::Swap { path: area.clone() }, &on)?;
        if !swaps::has(builder.system(), &area).unwrap_or(false) {
            return Err(Failure::refused(format!("{on}: the swap area is not in /proc/swaps")));
        }
        Ok(Base::Directory(directory.clone()))
    }

    fn check(&self, system: &dyn System, made: &Made) -> Result<(), String> {
        for undo in &made.undo {
            let Undo::Swap { path } = undo else { continue };
            match swaps::has(system, path) {
                Ok(true) => {}
                Ok(false) => return Err(format!("{} is no longer in use as swap", path.display())),
                Err(error) => return Err(format!("{}: {error}", swaps::TABLE)),
            }
        }
        for (name, value) in self.parameters() {
            let path = Path::new(PARAMETERS).join(name);
            if let Presence::Present(now) = sysfs::text(system, &path)
                && now != value
            {
                return Err(format!("{} is {now}", path.display()));
            }
        }
        Ok(())
    }

    fn commands(&self, below: &[PathBuf]) -> Commands {
        let out = below.first().cloned().unwrap_or_else(|| DIRECTORY.into());
        let set = |path: PathBuf, value: String| Act::Set { path, value };
        let parameters = self.parameters().into_iter();
        let mut acts: Vec<Act> =
            parameters.map(|(name, value)| set(Path::new(PARAMETERS).join(name), value)).collect();
        let path = match &self.kind {
            SwapType::Zram(algorithm) => {
                let place = sysfs::block(zram::ANY);
                acts.push(zram::add_act());
                acts.push(set(place.join("comp_algorithm"), algorithm.clone()));
                acts.push(set(place.join("disksize"), self.size.0.to_string()));
                devices::file_of(zram::ANY)
            }
            SwapType::File | SwapType::Zswap(_) => {
                let path = out.join("swapfile");
                acts.push(Act::AllocateFile { path: path.clone(), bytes: self.size.0 });
                path
            }
        };
        acts.push(Act::MakeSwap { path: path.clone() });
        acts.push(Act::SwapOn { path, priority: MOST_SWAP_PRIORITY });
        Commands { acts, out }
    }

    /// Permanent parts: for zram a file of zram-generator, for zswap settings. The operator creates a swap file.
    fn kept(&self, id: &str) -> PermanentLayer {
        match &self.kind {
            SwapType::File => PermanentLayer::default(),
            SwapType::Zram(algorithm) => {
                let text = format!(
                    "# Written by assay advise apply {id}; assay advise undo {id} removes it.\n[zram0]\nzram-size = \
                     {}\ncompression-algorithm = {algorithm}\n",
                    self.size.0 >> 20
                );
                let path = Path::new(GENERATOR).join(format!("61-assay-{id}.conf"));
                PermanentLayer { settings: Vec::new(), files: vec![(path, text)] }
            }
            SwapType::Zswap(_) => {
                let setting = |(name, value)| Setting {
                    path: Path::new(PARAMETERS).join(name),
                    value,
                    device: None,
                };
                let settings = self.parameters().into_iter().map(setting).collect();
                PermanentLayer { settings, files: Vec::new() }
            }
        }
    }

    fn by_hand(&self, below: &[PathBuf]) -> ByHand {
        let lasting = match &self.kind {
            SwapType::File => ("/swapfile none swap defaults 0 0".to_owned(), "for /etc/fstab"),
            SwapType::Zram(algorithm) => (
                format!(
                    "[zram0] zram-size = {} compression-algorithm = {algorithm}",
                    self.size.0 >> 20
                ),
                "for /etc/systemd/zram-generator.conf, one line each",
            ),
            SwapType::Zswap(compressor) => {
                let mut line = "zswap.enabled=1".to_owned();
                line.extend(compressor.iter().map(|name| format!(" zswap.compressor={name}")));
                line.extend(self.allocator.iter().map(|name| format!(" zswap.{ALLOCATOR}={name}")));
                line.extend(self.percent.map(|share| format!(" zswap.max_pool_percent={share}")));
                (line, "for the kernel command line, with a swap file in /etc/fstab")
            }
        };
        ByHand {
            commands: self.commands(below),
            why: "assay adds swap only for measurements",
            lasting: Some(lasting),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::system::{ADD_ZRAM, Fake};

    use super::*;
    use crate::factors::View;

    #[test]
    fn levels_say_what_to_write() {
        for level in ["none", "file", "zram", "zram:lz4", "zswap", "zswap:lzo"] {
            assert_eq!(KIND_FACTOR.judge(level), Ok(()), "{level}");
        }
        for level in ["disk", "zram:gzip", "file:lz4", "none:lz4", "zswap:"] {
            let told = KIND_FACTOR.judge(level).unwrap_err();
            assert!(told.contains("use"), "{told}");
        }
        assert!(SIZE_FACTOR.judge("512").is_err() && SIZE_FACTOR.judge("1 KiB").is_err());
        assert!(POOL_FACTOR.judge("20%").is_ok() && POOL_FACTOR.judge("current").is_ok());
        assert!(POOL_FACTOR.judge("much").is_err());
        assert!(
            ALLOCATOR_FACTOR.judge("zbud").is_ok() && ALLOCATOR_FACTOR.judge("current").is_ok()
        );
        assert!(ALLOCATOR_FACTOR.judge("slab").unwrap_err().contains("use one of zbud"));
    }

    #[test]
    fn a_file_lies_on_a_disk_and_not_in_memory() {
        let fake = Fake::new();
        fake.put(
            "/proc/self/mountinfo",
            "27 1 254:0 / / rw - ext4 /dev/vda rw\n\
             28 27 0:25 / /tmp rw - tmpfs none rw\n\
             29 27 0:26 / /data rw - btrfs /dev/vdb rw\n",
        );
        assert_eq!(check_can_hold_swap(&fake, Path::new("/home")), Ok(()));
        let told = check_can_hold_swap(&fake, Path::new("/tmp/here")).unwrap_err();
        assert!(told.starts_with("/tmp/here is in memory (tmpfs)"), "{told}");
        let told = check_can_hold_swap(&fake, Path::new("/data")).unwrap_err();
        assert!(told.contains("on btrfs (/data)"), "{told}");
    }

    #[test]
    fn an_algorithm_that_the_kernel_has_not_is_known_beforehand() {
        let fake = Fake::new();
        for path in [swaps::TABLE, ADD_ZRAM] {
            fake.put(path, "");
        }
        fake.put("/sys/block/zram0/size", "0\n");
        fake.put("/sys/class/block/zram0/comp_algorithm", "lzo [lz4] \n");
        let missing = |level: &str| {
            let levels = Levels::from([("swap".to_owned(), level.to_owned())]);
            Swap.recipe(&Wish::new(&levels)).unwrap().missing(&fake, &[])
        };
        assert_eq!(missing("zram:lz4"), None);
        let told = "this kernel's zram does not support zstd; use one of lzo, lz4";
        assert_eq!(missing("zram:zstd").as_deref(), Some(told));
    }

    #[test]
    fn an_allocator_is_asked_of_kernels_that_have_a_choice() {
        let fake = Fake::new();
        for path in [swaps::TABLE, "/sys/module/zswap/parameters/enabled"] {
            fake.put(path, "");
        }
        let missing = |allocator: &str| {
            let level = |(name, level): (&str, &str)| (name.to_owned(), level.to_owned());
            let levels = [("swap", "zswap"), ("zswap_allocator", allocator)].map(level);
            Swap.recipe(&Wish::new(&Levels::from(levels))).unwrap().missing(&fake, &[])
        };
        assert_eq!(missing("current"), None);
        assert!(missing("zbud").unwrap().contains("has only the allocator"));
        fake.put("/sys/module/zswap/parameters/zpool", "zbud\n");
        assert_eq!(missing("zbud"), None);
    }

    #[test]
    fn what_the_machine_has_is_told_as_a_level() {
        let fake = Fake::new();
        let site = crate::system::site::Site::loop_to_be(1 << 20);
        let view = View { system: &fake, site: &site };
        let head = "Filename Type Size Used Priority\n";
        fake.put(swaps::TABLE, head);
        assert_eq!(KIND_FACTOR.observe("swap", &view), Presence::Present("none".to_owned()));
        fake.put(swaps::TABLE, format!("{head}/swapfile file 1024 0 -2\n"));
        assert_eq!(KIND_FACTOR.observe("swap", &view), Presence::Present("file".to_owned()));
        fake.put("/sys/module/zswap/parameters/enabled", "Y\n");
        fake.put("/sys/module/zswap/parameters/compressor", "lzo\n");
        assert_eq!(KIND_FACTOR.observe("swap", &view), Presence::Present("zswap:lzo".to_owned()));
    }

    #[test]
    fn what_is_missing_for_swap_is_said_where_it_is() {
        let fake = Fake::new();
        let missing = |level: &str| {
            let levels = Levels::from([("swap".to_owned(), level.to_owned())]);
            Swap.recipe(&Wish::new(&levels)).unwrap().missing(&fake, &[])
        };
        assert!(missing("file").unwrap().contains("CONFIG_SWAP"));
        fake.put(swaps::TABLE, "");
        assert_eq!(missing("file"), None);
        assert!(missing("zram").unwrap().contains("try modprobe zram"));
        assert!(missing("zswap").unwrap().contains("CONFIG_ZSWAP"));
        fake.put(ADD_ZRAM, "").put("/sys/module/zswap/parameters/enabled", "N\n");
        assert_eq!((missing("zram"), missing("zswap")), (None, None));
        let none = Levels::from([("swap".to_owned(), "none".to_owned())]);
        assert!(Swap.recipe(&Wish::new(&none)).is_none());
    }

    #[test]
    fn sizes_begin_at_a_mebibyte() {
        assert!(SIZE_FACTOR.judge("1 MiB").is_ok());
        assert!(SIZE_FACTOR.judge("1048575 B").unwrap_err().contains("use at least 1 MiB"));
        assert!(POOL_FACTOR.judge("100%").is_ok());
    }

    #[test]
    fn the_swap_that_is_used_first_is_what_the_machine_has() {
        let fake = Fake::new();
        let site = crate::system::site::Site::loop_to_be(1 << 20);
        let view = View { system: &fake, site: &site };
        let head = "Filename Type Size Used Priority\n";
        assert!(KIND_FACTOR.observe("swap", &view).value().is_none(), "no table");
        fake.add("block /dev/zram3 252:3\n").unwrap();
        fake.put("/sys/dev/block/252:3/dev", "252:3\n")
            .put("/sys/class/block/zram3/dev", "252:3\n");
        fake.put("/sys/class/block/zram3/comp_algorithm", "lzo [lz4]\n");
        let table = |zram: i32| {
            fake.put(
                swaps::TABLE,
                format!("{head}/swapfile file 1 0 5\n/dev/zram3 partition 1 0 {zram}\n"),
            );
            KIND_FACTOR.observe("swap", &view).value().cloned()
        };
        assert_eq!(table(4).as_deref(), Some("file"));
        fake.put("/sys/module/zswap/parameters/enabled", "N\n");
        fake.put("/sys/module/zswap/parameters/compressor", "lzo\n");
        assert_eq!(table(4).as_deref(), Some("file"), "zswap is off");
    }
}
