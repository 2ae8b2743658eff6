//! A zram device instead of the target, which does not change.

use std::path::{Path, PathBuf};

use crate::system::{ADD_ZRAM, Act, System, devices, machine, sysfs};
use assay_core::catalogue::About;
use assay_core::failure::Outcome;
use assay_core::presence::Presence;
use assay_core::quantity::Bytes;

use super::{Base, ByHand, Commands, Layer, Made, NONE, PAGE_BYTES, Recipe, Wish, whole_mib};
use crate::factors::guard::Builder;
use crate::factors::{Choice, Factor, is_same_amount};

/// The level of the size that equals the target's size.
const AS_BELOW: &str = "as-target";
pub(super) const ALGORITHMS: [&str; 7] =
    ["lzo-rle", "lzo", "lz4", "lz4hc", "zstd", "deflate", "842"];
const SMALLEST: Bytes = Bytes(1 << 20);
/// Reserved memory: one part in this many of the free memory.
const RESERVE_DIVISOR: u64 = 8;

pub(super) struct ZramLayer;

static ALGORITHM_FACTOR: Choice = Choice {
    about: About {
        name: "zram",
        summary: "compression algorithm of a zram device that replaces the target",
        text: "`none`: trials use the target. Otherwise, Assay creates a zram device for the trials or other layers \
               and does not touch the target. Algorithms, if the kernel supports them: `lzo-rle`, `lzo`, `lz4`, \
               `lz4hc`, `zstd`, `deflate` or `842`. Assay verifies that the kernel uses the algorithm. Incompressible \
               data can fill the full size in memory. Assay refuses a size above the free memory. The metric \
               `compression_ratio` comes from mm_stat. The rates measure memory and CPU, not a drive.",
    },
    example: "[\"none\", \"lzo-rle\", \"lz4\"]",
    judge: |level| {
        if level == NONE || ALGORITHMS.contains(&level) {
            return Ok(());
        }
        let known = ALGORITHMS.join(", ");
        Err(format!("unknown zram algorithm `{level}`; use {NONE}, or one of {known}"))
    },
    observe: |view| {
        let layers = view.site.layers.iter();
        match layers.map(|layer| &layer.name).find(|name| name.starts_with("zram")) {
            None => Presence::Present(NONE.to_owned()),
            Some(name) => sysfs::parsed(
                sysfs::text(view.system, &sysfs::block(name).join("comp_algorithm")),
                sysfs::chosen,
            ),
        }
    },
    ..Choice::PLAIN
};

static SIZE_FACTOR: Choice = Choice {
    about: About {
        name: "zram_size",
        summary: "size of the zram device",
        text: "The uncompressed size, such as `512 MiB`, or `as-target` (default): the size of the device below. \
               Requires the factor zram.",
    },
    example: "[\"as-target\", \"512 MiB\"]",
    judge: |level| {
        if level == AS_BELOW {
            return Ok(());
        }
        match level.parse::<Bytes>() {
            Err(error) => Err(format!("{error}; or use {AS_BELOW}")),
            Ok(size) if size < SMALLEST => {
                Err(format!("`{level}` is too small; use at least {SMALLEST}"))
            }
            Ok(size) if size.0 % PAGE_BYTES != 0 => Err(format!(
                "`{level}` is not a multiple of {}; the kernel would round it",
                Bytes(PAGE_BYTES)
            )),
            Ok(_) => Ok(()),
        }
    },
    same: is_same_amount::<Bytes>,
    observe: |_| Presence::absent("Assay reads the size only for zram devices that it created"),
    ..Choice::PLAIN
};

impl Layer for ZramLayer {
    fn noun(&self) -> &'static str {
        "zram device"
    }

    fn factors(&self) -> &'static [&'static dyn Factor] {
        const { &[&ALGORITHM_FACTOR, &SIZE_FACTOR] }
    }

    fn recipe(&self, wish: &Wish<'_>) -> Option<Box<dyn Recipe>> {
        let algorithm = wish.asked(&ALGORITHM_FACTOR).filter(|level| *level != NONE)?;
        let size = wish.asked(&SIZE_FACTOR).and_then(|level| level.parse().ok());
        Some(Box::new(ZramLevel { algorithm: algorithm.to_owned(), size }))
    }

    fn choices(&self) -> Vec<String> {
        ALGORITHMS.map(str::to_owned).to_vec()
    }
}

struct ZramLevel {
    algorithm: String,
    /// `None` for the size of the target.
    size: Option<Bytes>,
}

impl ZramLevel {
    fn bytes(&self, below: &[u64]) -> u64 {
        let usual = below.first().copied().unwrap_or(0) / PAGE_BYTES * PAGE_BYTES;
        self.size.map_or(usual, |size| size.0)
    }

    fn acts(&self, number: &str, bytes: &str) -> Vec<Act> {
        let set = |file: &str, value: &str| Act::Set {
            path: Path::new("/sys/block").join(number).join(file),
            value: value.to_owned(),
        };
        vec![set("comp_algorithm", &self.algorithm), set("disksize", bytes)]
    }
}

impl Recipe for ZramLevel {
    fn words(&self) -> String {
        format!("zram ({})", self.algorithm)
    }

    fn room(&self, below: &[u64]) -> u64 {
        self.bytes(below)
    }

    fn missing(&self, system: &dyn System, below: &[u64]) -> Option<String> {
        if let Some(missing) = missing_algorithm(system, &self.algorithm) {
            return Some(missing);
        }
        let bytes = self.bytes(below);
        let free = *machine::memory(system, "MemAvailable").value()?;
        // `assay doctor` passes sizes near the maximum to ask for the kernel's support alone.
        if below.iter().all(|bytes| *bytes >= u64::MAX / 8)
            || bytes <= free - free / RESERVE_DIVISOR
        {
            return None;
        }
        Some(format!(
            "a zram device of {} may use that much memory, but only {} are free; use a smaller zram_size or area",
            Bytes(bytes),
            whole_mib(free)
        ))
    }

    fn make(&self, builder: &mut Builder<'_, '_>, below: &[Base]) -> Outcome<Base> {
        let bytes = |base: &Base| match base {
            Base::Device(device) => device.extent.range.end - device.extent.range.start,
            Base::Directory(_) => 0,
        };
        let below: Vec<u64> = below.iter().map(bytes).collect();
        let (device, undo) = builder.add_zram(&self.algorithm, self.bytes(&below))?;
        builder.made_device(&device, &undo, &[]).map(Base::Device)
    }

    fn check(&self, system: &dyn System, made: &Made) -> Result<(), String> {
        let Base::Device(device) = &made.base else { return Ok(()) };
        let name = &device.extent.device;
        if !made.undo.iter().any(|undo| undo.removes_device(system, name)) {
            return Err(format!("{} was removed", device.file().display()));
        }
        let file = sysfs::block(name).join("comp_algorithm");
        let bytes = devices::size_of(system, name);
        match sysfs::parsed(sysfs::text(system, &file), sysfs::chosen) {
            Presence::Present(now) if now != self.algorithm => {
                Err(format!("{name} compresses with {now}, not with {}", self.algorithm))
            }
            _ if bytes != device.extent.range.end => Err(format!("{name} has {}", Bytes(bytes))),
            Presence::Present(_) => Ok(()),
            Presence::Absent(reason) => Err(reason),
        }
    }

    fn commands(&self, _: &[PathBuf]) -> Commands {
        let bytes = self.size.map_or_else(|| "BYTES".to_owned(), |size| size.0.to_string());
        let mut acts = vec![add_act()];
        acts.extend(self.acts(ANY, &bytes));
        Commands { acts, out: devices::file_of(ANY) }
    }

    fn by_hand(&self, below: &[PathBuf]) -> ByHand {
        let size =
            self.size.map_or_else(|| "ram / 2".to_owned(), |size| (size.0 >> 20).to_string());
        let algorithm = &self.algorithm;
        let line = format!("[zram0] zram-size = {size} compression-algorithm = {algorithm}");
        ByHand {
            commands: self.commands(below),
            why: "assay creates zram devices only for measurements",
            lasting: Some((line, "for /etc/systemd/zram-generator.conf, one line each")),
        }
    }
}

/// Placeholder for the added device: any number may already be in use.
pub(super) const ANY: &str = "zramN";

pub(super) fn add_act() -> Act {
    Act::run("cat", &[ADD_ZRAM])
}

/// Returns why the kernel lacks zram or the algorithm, if an existing device shows that.
pub(super) fn missing_algorithm(system: &dyn System, algorithm: &str) -> Option<String> {
    if sysfs::if_exists(system.status(Path::new(ADD_ZRAM))).is_ok_and(|found| found.is_none()) {
        return Some("this kernel has no zram, or has not loaded it; try modprobe zram".to_owned());
    }
    let known = algorithms(system)?;
    if known.iter().any(|name| name == algorithm) {
        return None;
    }
    let known = known.join(", ");
    Some(format!("this kernel's zram does not support {algorithm}; use one of {known}"))
}

fn algorithms(system: &dyn System) -> Option<Vec<String>> {
    let names = system.list(Path::new("/sys/block")).unwrap_or_default();
    let device = names.into_iter().find(|name| name.starts_with("zram"))?;
    let text = system.read_text(&sysfs::block(&device).join("comp_algorithm")).ok()?;
    Some(text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    fn missing(fake: &Fake, algorithm: &str, bytes: u64) -> Option<String> {
        let wanted = ZramLevel { algorithm: algorithm.to_owned(), size: None };
        wanted.missing(fake, &[bytes])
    }

    #[test]
    fn what_is_missing_for_a_device_is_said() {
        let fake = Fake::new();
        assert!(missing(&fake, "lz4", 1 << 30).unwrap().ends_with("try modprobe zram"));
        fake.put(ADD_ZRAM, "");
        assert_eq!(missing(&fake, "zstd", 1 << 30), None, "not known until there is one");
        fake.add("dir /sys/block/zram0\ndir /sys/class/block").unwrap();
        fake.put("/sys/class/block/zram0/comp_algorithm", "[lzo-rle] lzo lz4 \n");
        assert_eq!(
            missing(&fake, "zstd", 1 << 30).unwrap(),
            "this kernel's zram does not support zstd; use one of lzo-rle, lzo, lz4"
        );
        fake.put("/proc/meminfo", "MemTotal: 4000000 kB\nMemAvailable: 1048576 kB\n");
        assert_eq!(missing(&fake, "lz4", 800 << 20), None);
        assert_eq!(
            missing(&fake, "lz4", 1 << 30).unwrap(),
            "a zram device of 1 GiB may use that much memory, but only 1 GiB are free; use a smaller zram_size or area"
        );
    }

    #[test]
    fn levels_say_what_to_write() {
        assert!(ALGORITHM_FACTOR.judge("none").is_ok() && ALGORITHM_FACTOR.judge("lz4").is_ok());
        assert!(ALGORITHM_FACTOR.judge("gzip").unwrap_err().contains("lzo-rle, lzo, lz4"));
        assert!(SIZE_FACTOR.judge("512 MiB").is_ok() && SIZE_FACTOR.judge("as-target").is_ok());
        for wrong in ["512", "4 KiB", "1048577 B", "large"] {
            assert!(SIZE_FACTOR.judge(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_eighth_of_the_memory_is_left() {
        let fake = Fake::new();
        fake.put(ADD_ZRAM, "");
        fake.put("/proc/meminfo", "MemAvailable: 1048576 kB\n");
        let of = |bytes| missing(&fake, "lz4", bytes);
        assert_eq!(of(896 << 20), None, "seven eighths of a gibibyte");
        assert!(of((896 << 20) + PAGE_BYTES).is_some());
        assert_eq!(of(u64::MAX / 8), None, "asked of no size in particular");
        let wanted =
            |size: Option<u64>| ZramLevel { algorithm: "lz4".to_owned(), size: size.map(Bytes) };
        assert_eq!(wanted(None).room(&[10_000, 99_999]), 8192, "whole pages of the first");
        assert_eq!((wanted(None).room(&[]), wanted(Some(5 << 20)).room(&[1])), (0, 5 << 20));
        assert_eq!(wanted(None).words(), "zram (lz4)");
        assert!(SIZE_FACTOR.judge("1 MiB").is_ok() && SIZE_FACTOR.judge("1044480 B").is_err());
    }
}
