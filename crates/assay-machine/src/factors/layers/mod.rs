//! Layers: what is built under the guard for an arm to stand on, devices and file systems, one on top
//! of the other. Each says what it takes from below and what it gives, and is made, seen and taken
//! down in steps that the journal knows; what stands in which order is [`LAYERS`].

mod encryption;
mod fill;
mod own_loop;
mod raid;
mod stack;
mod swap;
mod zram;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::system::journal::Undo;
use crate::system::{Act, Consent, System, devices};
use assay_core::failure::{Failure, Outcome};

use super::guard::Builder;
use super::{Factor, Setting, example_levels, filesystem};

pub use encryption::CONVERSION;
pub(super) use encryption::{ENCRYPTION_FACTOR, FSCRYPT};
pub use stack::{Raised, Stack};
pub use swap::{SWAP, has_file as swaps_to_file};

/// Every layer, in the order in which they stand on each other, the lowest first.
pub static LAYERS: &[&dyn Layer] = &[
    // What comes in between stands here, a line each.
    &own_loop::OwnLoop,
    &zram::Zram,
    &encryption::EncryptedDevices,
    &raid::Arrays,
    &filesystem::FileSystems,
    &swap::Swap,
    &fill::Fill,
    &encryption::EncryptedDirectories,
];

pub type Levels = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    pub device: String,
    /// Its bytes that may be had.
    pub range: Range<u64>,
    pub whole: bool,
}

#[derive(Clone, Debug)]
pub struct Device {
    /// It, or the part of it that may be had.
    pub extent: Extent,
    /// Whether it is told, before something is made on it, that it holds nothing.
    pub discard: bool,
    pub consent: Consent,
}

impl Device {
    pub fn whole(
        system: &dyn System,
        file: &Path,
        discard: bool,
        consent: Consent,
    ) -> Outcome<Self> {
        let device = devices::name_at(system, file).ok_or_else(|| {
            Failure::refused(format!("{} is not a device in sysfs", file.display()))
        })?;
        let range = 0..devices::size_of(system, &device);
        Ok(Self { extent: Extent { device, range, whole: true }, discard, consent })
    }

    /// File of the device; of a part, that of the whole one.
    pub fn file(&self) -> PathBuf {
        devices::file_of(&self.extent.device)
    }
}

/// What a layer stands on, and what it gives to the next one.
#[derive(Clone, Debug)]
pub enum Base {
    Device(Device),
    Directory(PathBuf),
}

impl Base {
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Device(device) => device.file(),
            Self::Directory(point) => point.clone(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: it stands on a file of the tool's own.
    Nothing,
    /// One; of several, one of it is made on each.
    One,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    Device,
    /// A directory, in which the tool makes its own file.
    Directory,
}

/// What is asked for, of which each layer reads its own.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    pub levels: &'a Levels,
    /// Bytes of a target that the tool makes itself, where that is the target.
    pub own_target: Option<u64>,
}

impl<'a> Wish<'a> {
    pub const fn new(levels: &'a Levels) -> Self {
        Self { levels, own_target: None }
    }

    pub fn level(&self, name: &str) -> Option<&'a str> {
        self.levels.get(name).map(String::as_str)
    }

    /// The level of a factor, unless it asks for nothing special.
    pub fn asked(&self, factor: &dyn Factor) -> Option<&'a str> {
        self.level(factor.about().name).filter(|level| *level != DEFAULTS)
    }
}

const NONE: &str = "none";
/// The level of an option that asks for nothing special.
pub(super) const DEFAULTS: &str = "defaults";

/// A kind of thing that is made for trials to stand on.
pub trait Layer: Sync {
    /// What it makes, in the singular: `file system`.
    fn noun(&self) -> &'static str;

    /// Its factors: the choosing one first, then its options. None if the target asks for it.
    fn factors(&self) -> &'static [&'static dyn Factor];

    /// What is to be made of it; none where nothing of it is asked for.
    fn recipe(&self, wish: &Wish<'_>) -> Option<Box<dyn Recipe>>;

    /// The factor that chooses: its first one, or that of another layer where one factor chooses of both.
    fn chooser(&self) -> Option<&'static dyn Factor> {
        self.factors().first().copied()
    }

    /// Levels of the factor that chooses which make something of this layer: all that there are.
    fn choices(&self) -> Vec<String> {
        self.chooser().map(example_levels).unwrap_or_default()
    }

    /// Levels of other layers without which there is nothing to make it on, as an example.
    fn ground(&self) -> Levels {
        Levels::new()
    }

    /// Whether it stands on a device, whose data are lost: else beside a directory that stays as it is.
    fn needs_device(&self) -> bool {
        true
    }

    /// Bytes that it must have at the least to hold so many.
    fn least(&self, bytes: u64) -> u64 {
        bytes
    }

    /// Bytes on which it holds so many whatever is chosen.
    fn ample(&self, bytes: u64) -> u64 {
        bytes
    }
}

/// How one thing of a layer is made, from the levels of an arm.
pub trait Recipe {
    fn words(&self) -> String;

    fn takes(&self) -> Takes {
        Takes::One
    }

    /// How many of what lies below it needs at the least.
    fn least(&self) -> usize {
        1
    }

    fn gives(&self) -> Gives {
        Gives::Device
    }

    /// What is missing here to make it on things of so many bytes, or may not be asked of it.
    fn missing(&self, system: &dyn System, below: &[u64]) -> Option<String>;

    /// What is missing to make it beside a directory that is there, as far as can be told beforehand.
    fn missing_beside(&self, _system: &dyn System, _directory: &Path) -> Option<String> {
        None
    }

    /// Bytes of what it gives, made on things of so many.
    fn room(&self, below: &[u64]) -> u64 {
        below.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Makes it and checks that it is as asked. After a failure the caller takes back what was done.
    fn make(&self, builder: &mut Builder<'_, '_>, below: &[Base]) -> Outcome<Base>;

    fn see(&self, _: &dyn System, _: &Made) -> Result<(), String> {
        Ok(())
    }

    /// The lines with which it is made, on the files of what lies below.
    fn typed(&self, below: &[PathBuf]) -> Typed;

    fn by_hand(&self, below: &[PathBuf]) -> ByHand;

    /// What of it the tool can make last: settings, and files that only it writes, named after the id.
    fn kept(&self, _id: &str) -> Kept {
        Kept::default()
    }
}

/// What the tool can make last of something that it makes for measuring alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub settings: Vec<Setting>,
    pub files: Vec<(PathBuf, String)>,
}

#[derive(Clone, Debug)]
pub struct Made {
    pub base: Base,
    /// How it is taken down, in this order.
    pub undo: Vec<Undo>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    pub acts: Vec<Act>,
    pub out: PathBuf,
}

/// What is left to the operator, where something is to stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByHand {
    pub typed: Typed,
    pub why: &'static str,
    /// The line that brings it back at each start, and where that belongs.
    pub lasting: Option<(String, &'static str)>,
}

pub fn of_factor(name: &str) -> Option<&'static dyn Layer> {
    let own = |layer: &&&dyn Layer| layer.factors().iter().any(|one| one.about().name == name);
    LAYERS.iter().find(own).copied()
}

/// Name of the factor that one requires; none where it means something by itself.
pub fn goes_with(name: &str) -> Option<&'static str> {
    let first = of_factor(name)?.factors().first()?.about().name;
    (first != name).then_some(first)
}

/// The layers that a study chooses something of, by its factors, the lowest first.
pub fn chosen<'n>(
    names: impl IntoIterator<Item = &'n String>,
) -> impl DoubleEndedIterator<Item = &'static dyn Layer> {
    let names: Vec<&String> = names.into_iter().collect();
    let is_chosen = move |layer: &&dyn Layer| {
        let first = layer.factors().first().map(|factor| factor.about().name);
        first.is_some_and(|first| names.iter().any(|name| *name == first))
    };
    LAYERS.iter().copied().filter(is_chosen)
}

/// Whether trials of any arm stand on a directory that is made for them.
pub fn give_directory<'l>(arms: impl IntoIterator<Item = &'l Levels>) -> bool {
    let given = |levels| Stack::new(&Wish::new(levels)).ok()?.gives();
    arms.into_iter().any(|levels| given(levels) == Some(Gives::Directory))
}

/// What stands uppermost of what a study makes, in words: `file system`.
pub fn noun<'n>(names: impl IntoIterator<Item = &'n String>) -> &'static str {
    chosen(names).next_back().map_or("device", Layer::noun)
}

/// All that can be made, in words: `loop devices and file systems`.
pub fn nouns() -> String {
    let nouns: Vec<String> = LAYERS.iter().map(|layer| several(layer.noun())).collect();
    match nouns.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => nouns.concat(),
    }
}

pub fn several(noun: &str) -> String {
    let vowels = ["ay", "ey", "oy"];
    match noun.strip_suffix('y').filter(|_| !vowels.iter().any(|end| noun.ends_with(end))) {
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    }
}

pub fn one(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// The devices below, unless one of the bases is a directory.
pub(in crate::factors) fn devices_of(below: &[Base]) -> Option<Vec<&Device>> {
    let mut devices = Vec::new();
    for base in below {
        let Base::Device(device) = base else { return None };
        devices.push(device);
    }
    Some(devices)
}

pub(in crate::factors) fn missing_program(
    system: &dyn System,
    program: &str,
    package: &str,
) -> Option<String> {
    let is_missing = system.program(program).is_none();
    is_missing.then(|| format!("{program} is not installed; install the package {package}"))
}

/// That there are too few devices for what joins them.
pub(in crate::factors) fn too_few(name: &str, least: usize, here: usize) -> String {
    let devices = if here == 1 { "is only one".to_owned() } else { format!("are only {here}") };
    format!(
        "{name} needs {least} devices, but there {devices}; set members = {least} in the study, or give {least} devices"
    )
}
