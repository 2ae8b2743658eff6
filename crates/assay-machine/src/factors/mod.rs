//! Factors: settings and layers of the machine that a study may change. Each factor defines the syntax of its levels,
//! its requirements, and the check that it took effect. The [`guard`] makes the changes and undoes them.
//!
//! A factor knows nothing of studies: it receives a level and the device stack of the target.

pub mod filesystem;
pub mod guard;
mod knobs;
pub mod layers;
pub mod lines;
pub mod network;
mod observed;
pub mod permanent;
mod tunable;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod told_tests;

use std::path::{Path, PathBuf};

use crate::system::site::Site;
use crate::system::{System, devices};
use assay_core::{catalogue::About, presence::Presence};

pub use guard::Guard;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Settings of the kernel, written back afterwards.
    Setting,
    /// Part of the device stack: a [layer](layers::Layer) creates and removes it.
    Layer,
    /// Nothing: the operator sets it, the tool looks and records.
    Observed,
}

impl Role {
    pub const fn undone(self) -> &'static str {
        match self {
            Self::Setting => "Assay restores the value",
            Self::Layer => "Assay removes the layer; the device's data are lost",
            Self::Observed => "nothing to undo: you set it, and Assay records it",
        }
    }

    /// Returns whether the factor changes anything that must be restored.
    pub const fn changes(self) -> bool {
        matches!(self, Self::Setting | Self::Layer)
    }
}

/// Returns whether the running kernel has a module, as a file or built in.
fn has_module(system: &dyn System, module: &str) -> bool {
    let read = |path: &str| system.read_text(Path::new(path)).unwrap_or_default();
    let release = read("/proc/sys/kernel/osrelease");
    let file = format!("/{module}.ko");
    ["modules.dep", "modules.builtin"].iter().any(|list| {
        let list = read(&format!("/lib/modules/{}/{list}", release.trim()));
        // The modules after the colon are dependencies.
        list.lines().any(|line| line.split(':').next().is_some_and(|path| path.contains(&file)))
    })
}

#[derive(Clone, Copy)]
pub struct View<'a> {
    pub system: &'a dyn System,
    pub site: &'a Site,
}

/// One setting of the kernel, as a level wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub path: PathBuf,
    pub value: String,
    /// Kernel name of the device that it belongs to, if any.
    pub device: Option<String>,
}

/// Returns the setting with the canonical name of its file and its device, because files below /sys have many names.
/// Fails if the file does not exist: under another name it would be restored wrongly.
pub fn locate(system: &dyn System, setting: Setting) -> Result<Setting, String> {
    let named = &setting.path;
    let path = system.canonical(named).map_err(|error| format!("{}: {error}", named.display()))?;
    let device = setting.device.or_else(|| {
        let mut parts = path.iter().skip_while(|part| *part != "block").skip(1);
        let name = parts.next()?.to_string_lossy().into_owned();
        devices::number_of(system, &name).map(|_| name)
    });
    Ok(Setting { path, device, value: setting.value })
}

/// Returns whether two levels are the same amount in any spelling.
fn is_same_amount<T: std::str::FromStr + PartialEq>(one: &str, other: &str) -> bool {
    let amounts = one.parse::<T>().ok().zip(other.parse::<T>().ok());
    one == other || amounts.is_some_and(|(one, other)| one == other)
}

pub trait Factor: Sync {
    fn about(&self) -> &About;

    /// Levels as an example, as a study file writes them.
    fn example(&self) -> &'static str;

    fn role(&self) -> Role {
        Role::Layer
    }

    /// Checks a level; the error is one line with the valid ones.
    fn judge(&self, level: &str) -> Result<(), String>;

    fn same(&self, one: &str, other: &str) -> bool {
        one == other
    }

    /// Settings of a level; an error if they are unavailable here.
    fn settings(&self, _name: &str, _level: &str, _: &View<'_>) -> Result<Vec<Setting>, String> {
        Ok(Vec::new())
    }

    /// Commands for a level, with `DEVICE` for a drive without a persistent name.
    fn commands(&self, _name: &str, _level: &str, _site: &Site) -> Vec<String> {
        Vec::new()
    }

    /// What a level may cost that no number of a study shows: data after a power cut.
    fn caution(&self, _level: &str) -> Option<&'static str> {
        None
    }

    /// Returns why its levels may lose data of a mounted device in production, and an alternative; `None` if safe.
    fn not_live(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Returns whether its settings belong to the devices of the target, so that locking the devices is enough.
    fn is_of_device(&self) -> bool {
        self.role() == Role::Layer
    }

    /// The level that the machine is at, as far as it can be seen.
    fn observe(&self, name: &str, view: &View<'_>) -> Presence<String>;
}

/// A factor with options of a layer.
pub(in crate::factors) struct Choice {
    about: About,
    example: &'static str,
    judge: fn(&str) -> Result<(), String>,
    same: fn(&str, &str) -> bool,
    caution: fn(&str) -> Option<&'static str>,
    not_live: &'static str,
    observe: fn(&View<'_>) -> Presence<String>,
}

impl Choice {
    const PLAIN: Self = Self {
        about: About { name: "", summary: "", text: "" },
        example: "",
        judge: |_| Ok(()),
        same: |one, other| one == other,
        caution: |_| None,
        not_live: "Assay would recreate the layer and destroy all data on the device; compare the levels with a \
                   generated load, on another device or with --scratch",
        observe: |_| Presence::absent(""),
    };
}

impl Factor for Choice {
    fn about(&self) -> &About {
        &self.about
    }

    fn example(&self) -> &'static str {
        self.example
    }

    fn judge(&self, level: &str) -> Result<(), String> {
        (self.judge)(level)
    }

    fn same(&self, one: &str, other: &str) -> bool {
        (self.same)(one, other)
    }

    fn caution(&self, level: &str) -> Option<&'static str> {
        (self.caution)(level)
    }

    fn not_live(&self, _: &str) -> Option<&'static str> {
        Some(self.not_live)
    }

    fn observe(&self, _: &str, view: &View<'_>) -> Presence<String> {
        (self.observe)(view)
    }
}

/// The factors without layers, in the order in which they are set, because some settings change others.
static FACTORS: &[&dyn Factor] = &[
    &knobs::SCHEDULER,
    &knobs::QUEUE_DEPTH,
    &knobs::READ_AHEAD,
    &knobs::WRITE_CACHE,
    &knobs::WRITEBACK_THROTTLE,
    &knobs::MERGES,
    &knobs::MAX_SECTORS,
    &knobs::DIRTY_RATIO,
    &knobs::DIRTY_BACKGROUND_RATIO,
    &knobs::DIRTY_EXPIRE,
    &knobs::SWAPPINESS,
    &knobs::PAGE_CLUSTER,
    &knobs::CACHE_PRESSURE,
    &knobs::GOVERNOR,
    &knobs::TURBO,
    &tunable::Tunable,
    &observed::PLATFORM,
    &observed::DRIVE_KIND,
    &observed::ENCRYPTION,
    &observed::KERNEL,
    &observed::ROOT_DEVICE,
    &observed::LABEL,
];

/// All factors, in the order in which they are applied: layers first.
pub fn all() -> impl Iterator<Item = &'static dyn Factor> {
    let of_layers = layers::LAYERS.iter().flat_map(|layer| layer.factors());
    of_layers.chain(FACTORS).copied()
}

pub fn example_levels(factor: &dyn Factor) -> Vec<String> {
    levels_of(factor.example())
}

/// Levels of an example, a list as a study file writes it, as text.
pub fn levels_of(example: &str) -> Vec<String> {
    let levels: Vec<serde_json::Value> = serde_json::from_str(example).unwrap_or_default();
    levels.iter().map(|l| l.as_str().map_or_else(|| l.to_string(), str::to_owned)).collect()
}

/// The factor with a name; `tunable:/sys/...` and `tunable:/proc/sys/...` name any other setting.
pub fn find(name: &str) -> Option<&'static dyn Factor> {
    let tunable = || tunable::path_of(name).map(|_| &tunable::Tunable as &dyn Factor);
    all().find(|factor| factor.about().name == name).or_else(tunable)
}

/// Rejects settings that are neither listed for studies nor explicitly allowed.
pub fn check_permitted<'n>(
    names: impl IntoIterator<Item = &'n str>,
    allowed: &[PathBuf],
) -> Result<(), String> {
    let paths = names.into_iter().filter_map(tunable::path_of);
    let mut foreign = paths.filter(|path| !tunable::is_listed(path) && !allowed.contains(path));
    match foreign.next() {
        None => Ok(()),
        Some(path) => Err(format!(
            "{} is not a standard setting (vm, block device queues, zswap, zram, control group limits); see `assay \
             run --help` for how to allow it",
            path.display()
        )),
    }
}

/// Rejects factors that are unsafe for a mounted device in production; allowed settings are accepted.
pub fn check_live<'n>(
    names: impl IntoIterator<Item = &'n str>,
    allowed: &[PathBuf],
) -> Result<(), String> {
    let is_allowed =
        |name: &str| tunable::path_of(name).is_some_and(|path| allowed.contains(&path));
    for name in names.into_iter().filter(|name| !is_allowed(name)) {
        if let Some(why) = find(name).and_then(|factor| factor.not_live(name)) {
            return Err(format!("cannot change {name} of a mounted device in use: {why}"));
        }
    }
    Ok(())
}

/// Path of a setting allowed on the command line; `None` if there is none.
pub fn setting_path(text: &str) -> Option<PathBuf> {
    tunable::path_of(&format!("{}{text}", tunable::PREFIX)).or_else(|| tunable::path_of(text))
}

pub fn has_role(name: &str, role: Role) -> bool {
    find(name).is_some_and(|factor| factor.role() == role)
}

pub fn changes(name: &str) -> bool {
    find(name).is_some_and(|factor| factor.role().changes())
}

/// Returns whether a factor changes the devices of the target.
pub fn is_of_device(name: &str) -> bool {
    find(name).is_some_and(|factor| factor.role().changes() && factor.is_of_device())
}

/// Returns whether a factor changes a global setting of the machine.
pub fn is_of_machine(name: &str) -> bool {
    let needs_no_device = layers::of_factor(name).is_some_and(|layer| !layer.needs_device());
    find(name).is_some_and(|factor| {
        factor.role().changes() && (needs_no_device || !factor.is_of_device())
    })
}

/// Cautions: costs of an arm that no metric shows, without repetitions.
pub fn cautions<'l>(arm: impl IntoIterator<Item = (&'l String, &'l String)>) -> Vec<&'static str> {
    let caution = |(name, level): (&String, &String)| find(name)?.caution(level);
    let mut cautions: Vec<&'static str> = arm.into_iter().filter_map(caution).collect();
    cautions.sort_unstable();
    cautions.dedup();
    cautions
}

/// Position of a factor in the order of application.
pub fn rank(name: &str) -> usize {
    let known = find(name).map(|factor| factor.about().name);
    let position = all().position(|factor| Some(factor.about().name) == known);
    position.unwrap_or_else(|| all().count())
}
