//! Layers: devices and file systems, one on top of the other, that the guard creates for an arm. Each layer declares
//! its input and output, and is created, checked and removed in steps recorded in the journal; [`LAYERS`] defines their
//! order.

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
use assay_core::quantity::Bytes;

use super::guard::Builder;
use super::{Factor, Setting, example_levels, filesystem};

pub use encryption::CONVERSION;
pub(super) use encryption::{ENCRYPTION_FACTOR, FSCRYPT};
pub use stack::{RaisedStack, Stack};
pub use swap::{SWAP, has_file as swaps_to_file};

/// Unit of devices in memory and of fill files; also the smallest chunk of md.
const PAGE_BYTES: u64 = 4096;

/// Rounds down to whole MiB, for messages.
pub(super) const fn whole_mib(bytes: u64) -> Bytes {
    Bytes(bytes >> 20 << 20)
}

/// All layers in stacking order, the lowest first.
pub static LAYERS: &[&dyn Layer] = &[
    // Add a layer here, one line each.
    &own_loop::OwnLoop,
    &zram::ZramLayer,
    &encryption::EncryptedDevices,
    &raid::RaidLayer,
    &filesystem::FileSystems,
    &swap::Swap,
    &fill::FillLayer,
    &encryption::EncryptedDirectories,
];

pub type Levels = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceRange {
    pub device: String,
    /// Its bytes that may be had.
    pub range: Range<u64>,
    pub whole: bool,
}

#[derive(Clone, Debug)]
pub struct Device {
    /// The whole device, or the part that Assay may use.
    pub extent: DeviceRange,
    /// Whether Assay discards the device before creating something on it.
    pub discard: bool,
    pub consent: Consent,
}

impl Device {
    /// Returns the whole device with this file; fails if sysfs does not list it.
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
        Ok(Self { extent: DeviceRange { device, range, whole: true }, discard, consent })
    }

    /// File of the device; for a part, the file of the whole device.
    pub fn file(&self) -> PathBuf {
        devices::file_of(&self.extent.device)
    }
}

/// Input of a layer, and output for the next one.
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
    /// Nothing: the layer uses Assay's own file.
    Nothing,
    /// One device; with several, one layer on each.
    One,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    Device,
    /// A directory, in which Assay creates its own file.
    Directory,
}

/// Requested levels; each layer reads its own.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    pub levels: &'a Levels,
    /// Size of the target if Assay creates it, bytes.
    pub own_target: Option<u64>,
}

impl<'a> Wish<'a> {
    pub const fn new(levels: &'a Levels) -> Self {
        Self { levels, own_target: None }
    }

    pub fn level(&self, name: &str) -> Option<&'a str> {
        self.levels.get(name).map(String::as_str)
    }

    /// Returns the level of a factor, unless it is the default.
    pub fn asked(&self, factor: &dyn Factor) -> Option<&'a str> {
        self.level(factor.about().name).filter(|level| *level != DEFAULTS)
    }
}

const NONE: &str = "none";
/// The level of an option without options.
pub(super) const DEFAULTS: &str = "defaults";

/// A kind of layer that Assay creates for trials.
pub trait Layer: Sync {
    /// Its name in the singular: `file system`.
    fn noun(&self) -> &'static str;

    /// Its factors: the choosing one first, then its options. Empty if the target implies the layer.
    fn factors(&self) -> &'static [&'static dyn Factor];

    /// Returns the recipe for the requested levels; `None` if they do not request this layer.
    fn recipe(&self, wish: &Wish<'_>) -> Option<Box<dyn Recipe>>;

    /// The factor that chooses the layer: its first one, or that of another layer if one factor chooses for both.
    fn chooser(&self) -> Option<&'static dyn Factor> {
        self.factors().first().copied()
    }

    /// Levels of the factor that chooses which make something of this layer: all that there are.
    fn choices(&self) -> Vec<String> {
        self.chooser().map(example_levels).unwrap_or_default()
    }

    /// Example levels of other layers that this one needs below it.
    fn ground(&self) -> Levels {
        Levels::new()
    }

    /// Returns whether the layer overwrites a device; otherwise it is next to an unchanged directory.
    fn needs_device(&self) -> bool {
        true
    }

    /// Minimum bytes of device so that the layer can contain `bytes`.
    fn least(&self, bytes: u64) -> u64 {
        bytes
    }

    /// Bytes of device that are enough to contain `bytes`, for any options.
    fn ample(&self, bytes: u64) -> u64 {
        bytes
    }
}

/// How Assay creates one layer from the levels of an arm.
pub trait Recipe {
    fn words(&self) -> String;

    fn takes(&self) -> Takes {
        Takes::One
    }

    fn least(&self) -> usize {
        1
    }

    fn gives(&self) -> Gives {
        Gives::Device
    }

    /// Returns what is missing or forbidden for creating it on devices of these sizes; `None` if nothing.
    fn missing(&self, system: &dyn System, below: &[u64]) -> Option<String>;

    /// Returns what is missing for creating it next to an existing directory, if known in advance.
    fn missing_beside(&self, _system: &dyn System, _directory: &Path) -> Option<String> {
        None
    }

    /// Bytes of the output, on inputs of these sizes.
    fn room(&self, below: &[u64]) -> u64 {
        below.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Creates the layer and checks it. After a failure the caller reverts the finished steps.
    fn make(&self, builder: &mut Builder<'_, '_>, below: &[Base]) -> Outcome<Base>;

    fn check(&self, _: &dyn System, _: &Made) -> Result<(), String> {
        Ok(())
    }

    /// Commands that create it on the files of its inputs.
    fn commands(&self, below: &[PathBuf]) -> Commands;

    fn by_hand(&self, below: &[PathBuf]) -> ByHand;

    /// Parts that Assay can apply permanently: settings, and Assay's own files, named after the ID.
    fn kept(&self, _id: &str) -> PermanentLayer {
        PermanentLayer::default()
    }
}

/// Parts of a temporary layer that Assay can apply permanently.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermanentLayer {
    pub settings: Vec<Setting>,
    pub files: Vec<(PathBuf, String)>,
}

#[derive(Clone, Debug)]
pub struct Made {
    pub base: Base,
    /// Undo entries, in this order.
    pub undo: Vec<Undo>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    pub acts: Vec<Act>,
    pub out: PathBuf,
}

/// Steps for the operator to apply something permanently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByHand {
    pub commands: Commands,
    pub why: &'static str,
    /// Configuration line that restores it at each boot, and its file.
    pub lasting: Option<(String, &'static str)>,
}

pub fn of_factor(name: &str) -> Option<&'static dyn Layer> {
    let has_factor =
        |layer: &&&dyn Layer| layer.factors().iter().any(|factor| factor.about().name == name);
    LAYERS.iter().find(has_factor).copied()
}

/// Returns the factor that this one requires; `None` if it is independent.
pub fn goes_with(name: &str) -> Option<&'static str> {
    let first = of_factor(name)?.factors().first()?.about().name;
    (first != name).then_some(first)
}

/// Layers whose choosing factor, their first one, is among these names; the lowest first.
pub fn chosen<'n>(
    names: impl IntoIterator<Item = &'n String>,
) -> impl DoubleEndedIterator<Item = &'static dyn Layer> {
    let names: Vec<&String> = names.into_iter().collect();
    let is_chosen = move |layer: &&dyn Layer| {
        let chooser = layer.factors().first().map(|factor| factor.about().name);
        chooser.is_some_and(|chooser| names.iter().any(|name| *name == chooser))
    };
    LAYERS.iter().copied().filter(is_chosen)
}

/// Returns whether any arm's layers provide a directory for trials.
pub fn give_directory<'l>(arms: impl IntoIterator<Item = &'l Levels>) -> bool {
    let output_of = |levels| Stack::new(&Wish::new(levels)).ok()?.gives();
    arms.into_iter().any(|levels| output_of(levels) == Some(Gives::Directory))
}

/// Name of the uppermost layer of a study: `file system`.
pub fn noun<'n>(names: impl IntoIterator<Item = &'n String>) -> &'static str {
    chosen(names).next_back().map_or("device", Layer::noun)
}

/// All that can be made, in words: `loop devices and file systems`.
pub fn nouns() -> String {
    let nouns: Vec<String> = LAYERS.iter().map(|layer| plural(layer.noun())).collect();
    match nouns.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => nouns.concat(),
    }
}

pub fn plural(noun: &str) -> String {
    let keeps_y = ["ay", "ey", "oy"].iter().any(|end| noun.ends_with(end));
    match noun.strip_suffix('y') {
        Some(stem) if !keeps_y => format!("{stem}ies"),
        _ => format!("{noun}s"),
    }
}

pub fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// The devices below; `None` if one of the bases is a directory.
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

pub(in crate::factors) fn too_few(name: &str, least: usize, here: usize) -> String {
    let devices = if here == 1 { "is only one".to_owned() } else { format!("are only {here}") };
    format!(
        "{name} needs {least} devices, but there {devices}; add `--set members={least}`, or give {least} devices"
    )
}
