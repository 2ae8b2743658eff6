//! What trials run on: open targets, layers and settings. Dropping a bed restores everything.

mod surveys;

use std::collections::BTreeMap;

use super::area::{self, Fill, OpenTarget};
use super::event::{Context, Event};
use super::marks;
use super::places::{Place, usable_range};
use super::resolve::Resolved;
use super::survey::Surveyed;
use crate::fleet::common::Common;
use assay_core::failure::{Failure, Outcome};
use assay_machine::factors::guard::setters;
use assay_machine::factors::layers::{self, Base, Device, RaisedStack, Stack, Wish};
use assay_machine::factors::{self, Guard, Setting, View};
use assay_machine::system::journal::{Mark, Report};
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{
    Caching, Consent, Hold, System, Watchdog, identity, journal, resolve, sysfs,
};
use assay_study::file::Fresh;
use assay_study::plan::design::Demands;
use assay_study::results::plan::{Arm, Plan, PlannedTrial, Survey};

struct BedSlot<'a> {
    place: usize,
    site: Site,
    survey: Survey,
    companions: Companions,
    surveyed: Option<Surveyed<'a>>,
}

/// Settings that the kernel changes together with a level (a new scheduler resets the queue depth), by factor and
/// level: a level is then the same after any other.
type Companions = BTreeMap<(String, String), Vec<Setting>>;

/// Returns whether a setting has a file now; a read error does not count as missing.
fn has_file(system: &dyn System, setting: &Setting) -> bool {
    !matches!(sysfs::if_exists(system.read_text(&setting.path)), Ok(None))
}

struct CurrentStack {
    slot: usize,
    replicate: u32,
    raised: RaisedStack,
    /// Creation time, until it is read.
    made_ns: Option<u64>,
}

pub struct TestBed<'a> {
    system: &'a dyn System,
    demands: &'a Demands,
    // Before the guard: files must be closed before their device stack is removed.
    slots: Vec<BedSlot<'a>>,
    current: Option<CurrentStack>,
    /// The target, if Assay created it.
    loops: Vec<(Stack, RaisedStack)>,
    guard: Option<Guard<'a>>,
    // After the guard: needed until everything is restored.
    watchdog: Option<Box<dyn Watchdog>>,
    places: Vec<Place>,
    marks: Vec<Mark>,
    holds: Vec<Hold>,
    seed: u64,
}

impl<'a> TestBed<'a> {
    /// The test bed of a study on its resolved targets.
    pub fn new(
        system: &'a dyn System,
        demands: &'a Demands,
        resolved: Resolved<'a>,
        seed: u64,
    ) -> Self {
        let Resolved { places, loops, guard, watchdog, marks, holds } = resolved;
        let slots = Vec::new();
        let current = None;
        Self { system, demands, slots, current, loops, guard, watchdog, places, marks, holds, seed }
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub fn places(&self) -> &[Place] {
        &self.places
    }

    pub fn sites(&self) -> Vec<Site> {
        self.slots.iter().map(|slot| slot.site.clone()).collect()
    }

    pub fn surveys(&self) -> Vec<Survey> {
        self.slots.iter().map(|slot| slot.survey.clone()).collect()
    }

    /// Replaces what this rank measured by what is common to all ranks of the fleet.
    pub fn limit_to(&mut self, common: &Common) {
        for (slot, shared) in self.slots.iter_mut().zip(&common.surveys) {
            shared.apply_to(&mut slot.survey);
            if let Some(surveyed) = &mut slot.surveyed {
                surveyed.survey.area = slot.survey.area;
            }
        }
    }

    /// The site of a survey, and the open target on it; `None` if it does not exist now.
    pub fn surveyed(&self, index: usize) -> Option<(&Site, &Surveyed<'a>)> {
        let slot = self.slots.get(index)?;
        Some((&slot.site, slot.surveyed.as_ref()?))
    }

    /// Creates a stack of layers on a place (a target); returns it with the site (device or directory) that trials use.
    fn raise_stack(
        &mut self,
        context: &mut Context<'_>,
        place: usize,
        stack: &Stack,
    ) -> Outcome<(RaisedStack, Site)> {
        let below = self.bases_of(&self.places[place])?;
        let device_size = |base: &Base| match base {
            Base::Device(device) => Some(device.extent.range.end - device.extent.range.start),
            Base::Directory(_) => None,
        };
        let sizes: Vec<u64> = below.iter().filter_map(device_size).collect();
        let site = &self.places[place].site;
        if let Some(missing) = stack.missing(self.system, &sizes) {
            return Err(Failure::refused(missing));
        }
        if !stack.is_empty() {
            let what = format!("{} on {}", stack.words(), site.target);
            (context.tell)(Event::Making { what });
        }
        let target = site.target.clone();
        let Some(guard) = &mut self.guard else {
            return Err(Failure::refused("cannot change settings without a journal"));
        };
        let raised = stack.make(guard, below)?;
        match resolve(self.system, &raised.base.path().to_string_lossy()) {
            Ok(site) => Ok((raised, Site { target, ..site })),
            Err(failure) => Err(self.lower(&raised).err().unwrap_or(failure)),
        }
    }

    /// Returns what the stack of a place is created on: its devices, or its directory if the stack is next to that.
    fn bases_of(&self, place: &Place) -> Outcome<Vec<Base>> {
        let (site, demands) = (&place.site, self.demands);
        let layer = layers::with_article(demands.made.noun);
        if !demands.made.on_device {
            if site.kind != TargetKind::Directory {
                return Err(Failure::mistake(format!(
                    "{}: Assay creates {layer} next to a directory; give a directory on a disk",
                    site.target
                )));
            }
            return Ok(vec![Base::Directory(site.path.clone())]);
        }
        let mut bases = Vec::new();
        for device in place.devices() {
            let extent =
                usable_range(self.system, demands, &device.site, !place.others.is_empty())?;
            let Some(consent) = device.consent.clone() else {
                // A protected device is refused with a separate reason.
                identity::stake(self.system, &device.site)?;
                return Err(Failure::mistake(format!(
                    "cannot create {layer} without permission to destroy data: {}",
                    identity::way_on("STUDY", &device.site.target)
                )));
            };
            bases.push(Base::Device(Device { extent, discard: demands.discard, consent }));
        }
        Ok(bases)
    }

    /// Removes the stack of an arm; none of its files is open any more.
    fn lower(&mut self, raised: &RaisedStack) -> Outcome<()> {
        if let Base::Device(device) = &raised.base {
            wait_until_released(self.system, &device.consent);
        }
        self.guard.as_mut().map_or(Ok(()), |guard| guard.lower(raised))
    }

    /// Brings the machine to the configuration of a trial: its stack of layers, its network and its settings.
    pub fn apply_arm(
        &mut self,
        context: &mut Context<'_>,
        plan: &Plan,
        planned: &PlannedTrial,
    ) -> Result<(), String> {
        let index = plan.workloads[planned.workload].target;
        if !self.slots[index].survey.under.is_empty() {
            self.replace_stack(context, index, planned.replicate.max(1))
                .map_err(|failure| failure.message)?;
        }
        self.check_stacks(index)?;
        let (settings, companions) = self.settings_of(index, &planned.arm)?;
        let Some(guard) = &mut self.guard else { return Ok(()) };
        if let Some(shaping) = plan.workloads[planned.workload].work.shaping() {
            factors::network::shape(self.system, guard, &shaping)
                .map_err(|failure| failure.message)?;
        }
        let companions = companions.iter().filter(|setting| has_file(self.system, setting));
        for setting in settings.iter().chain(companions) {
            guard.set(setting).map_err(|failure| failure.message)?;
        }
        Ok(())
    }

    /// Returns the creation time of the current stack, once.
    pub fn take_made_ns(&mut self) -> Option<u64> {
        self.current.as_mut()?.made_ns.take()
    }

    pub fn is_as_found(&self) -> bool {
        self.guard.as_ref().is_none_or(Guard::is_as_found)
    }

    pub fn restore_settings(&self) -> Outcome<()> {
        self.guard.as_ref().map_or(Ok(()), Guard::restore_settings)
    }

    /// Returns how the devices or settings of a trial changed while it ran; `None` if they did not.
    pub fn find_change(&self, plan: &Plan, planned: &PlannedTrial) -> Option<String> {
        let index = plan.workloads[planned.workload].target;
        if let Err(how) = self.check_stacks(index) {
            return Some(format!("after the trial: {how}"));
        }
        let (settings, companions) = match self.settings_of(index, &planned.arm) {
            Ok(expected) => expected,
            Err(reason) => return Some(format!("cannot read settings after the trial: {reason}")),
        };
        if let Some(shaping) = plan.workloads[planned.workload].work.shaping()
            && self.guard.is_some()
            && let Err(how) = factors::network::check_shaped(self.system, &shaping)
        {
            return Some(format!("after the trial: {how}"));
        }
        let companions = companions.into_iter().filter(|setting| has_file(self.system, setting));
        settings.into_iter().chain(companions).find_map(|setting| {
            let path = setting.path.display();
            match self.system.read_text(&setting.path) {
                Ok(now) if journal::setting_value(&now) == setting.value => None,
                Ok(now) => {
                    let now = journal::setting_value(&now);
                    Some(format!(
                        "{path} was {} before the trial and {now} after the trial",
                        setting.value
                    ))
                }
                Err(error) => Some(format!("cannot read {path} after the trial: {error}")),
            }
        })
    }

    pub fn gone_device(&self) -> Option<String> {
        marks::find_gone(self.system, &self.marks)
    }

    /// Returns why the devices, stacks or Assay's own targets are not as they were set up.
    fn check_stacks(&self, index: usize) -> Result<(), String> {
        self.gone_device().map_or(Ok(()), Err)?;
        self.loops.iter().try_for_each(|(stack, raised)| stack.check(self.system, raised))?;
        match &self.current {
            Some(current) if current.slot == index => {
                let under = &self.slots[index].survey.under;
                Stack::new(&Wish::new(under))?.check(self.system, &current.raised)
            }
            _ => Ok(()),
        }
    }

    /// Returns the settings of an arm (levels by factor) on a slot, and the companions that the kernel sets with them.
    fn settings_of(&self, index: usize, arm: &Arm) -> Result<(Vec<Setting>, Vec<Setting>), String> {
        let slot = &self.slots[index];
        let view = View { system: self.system, site: &slot.site };
        let (mut of_arm, mut companions) = (Vec::new(), Vec::new());
        for (name, level) in setters(arm) {
            if let Some(factor) = factors::find(name) {
                of_arm.extend(factor.settings(name, level, &view)?);
            }
            companions.extend(
                slot.companions.get(&(name.to_owned(), level.to_owned())).into_iter().flatten(),
            );
        }
        // Settings of the arm take precedence; the others are as after the level alone. If several levels change the
        // same file, the first in rank determines it.
        let (mut settings, mut others): (Vec<Setting>, Vec<Setting>) = (Vec::new(), Vec::new());
        for setting in of_arm {
            let setting = factors::locate(self.system, setting)?;
            if !settings.iter().any(|known| known.path == setting.path) {
                settings.push(setting);
            }
        }
        for setting in companions {
            if !settings.iter().chain(&others).any(|known| known.path == setting.path) {
                others.push(setting.clone());
            }
        }
        Ok((settings, others))
    }

    /// Replaces the current stack by that of a slot, filled; does nothing if the current one may be used again.
    fn replace_stack(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        replicate: u32,
    ) -> Outcome<()> {
        let demands = self.demands;
        let is_usable = |current: &CurrentStack| {
            current.slot == index
                && (demands.fresh == Fresh::Study || current.replicate == replicate)
        };
        if self.current.as_ref().is_some_and(is_usable) {
            return Ok(());
        }
        self.lower_current()?;
        let (place, survey) = (self.slots[index].place, self.slots[index].survey.clone());
        let under = survey.under.clone();
        let stack = Stack::new(&Wish::new(&under)).map_err(Failure::refused)?;
        let began_ns = self.system.monotonic_ns();
        let (raised, site) = self.raise_stack(context, place, &stack)?;
        let made_ns = Some(self.system.monotonic_ns().saturating_sub(began_ns));
        let filled = self.fill(context, &site, &raised.base, &survey, replicate);
        self.current = Some(CurrentStack { slot: index, replicate, raised, made_ns });
        match filled {
            Ok(opened) => {
                let content = std::cell::Cell::new(Some(demands.filled.content));
                let surveyed = Surveyed { opened, survey, law: None, content, seed: self.seed };
                let slot = &mut self.slots[index];
                slot.site = site;
                slot.surveyed = Some(surveyed);
                Ok(())
            }
            Err(failure) => Err(self.lower_current().err().unwrap_or(failure)),
        }
    }

    /// Opens a new stack and fills its area, which must be the area that the survey found.
    fn fill(
        &self,
        context: &mut Context<'_>,
        site: &Site,
        base: &Base,
        survey: &Survey,
        replicate: u32,
    ) -> Outcome<OpenTarget<'a>> {
        let opened = open_base(self.system, self.demands, site, base)?;
        if survey.area.length == 0 {
            return Ok(opened);
        }
        let seed = self.seed ^ u64::from(replicate);
        let how = Fill::unlimited(survey.engine.name, self.demands.filled.content, seed);
        let area = area::fill(context, &opened, site, survey.area.length, &how)?;
        if area.length == survey.area.length && area.start == survey.area.start {
            return Ok(opened);
        }
        Err(Failure::refused(format!("the free space on {} changed since the survey", site.target)))
    }

    /// Closes and removes the current stack, if any.
    fn lower_current(&mut self) -> Outcome<()> {
        let Some(current) = self.current.take() else { return Ok(()) };
        self.slots[current.slot].surveyed = None;
        let lowered = self.lower(&current.raised);
        if lowered.is_err() {
            // Allows another attempt.
            self.current = Some(current);
        }
        lowered
    }

    /// Closes all files, restores the machine, and releases the locks.
    pub fn tear_down(&mut self) -> Outcome<Report> {
        self.slots.clear();
        let report = self.guard.take().map_or_else(|| Ok(Report::default()), Guard::finish);
        drop(self.watchdog.take());
        // Not earlier: another run must not read changed values as originals.
        self.holds.clear();
        report
    }
}

/// Opens what trials use: a directory, or the part of a device that they may overwrite.
fn open_base<'a>(
    system: &'a dyn System,
    demands: &Demands,
    site: &Site,
    base: &Base,
) -> Outcome<OpenTarget<'a>> {
    match base {
        Base::Directory(_) => OpenTarget::for_study(system, demands.uses, site, None),
        Base::Device(device) => {
            let opened = OpenTarget::for_study(system, demands.uses, site, Some(&device.consent))?;
            Ok(opened.starting_at(device.extent.range.start))
        }
    }
}

/// Waits up to five seconds until the kernel has released a device: closed rings hold it briefly.
fn wait_until_released(system: &dyn System, consent: &Consent) {
    const TRIES: u32 = 500;
    for _ in 0..TRIES {
        if system.open_device_for_writing(consent, Caching::Buffered).is_ok() {
            return;
        }
        system.sleep(std::time::Duration::from_millis(10));
    }
}
