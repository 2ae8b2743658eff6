//! What trials stand on: the open targets, what is made on them for an arm, and the settings of an
//! arm. Whatever was changed is put back when the bed is torn down, or dropped.

use std::collections::BTreeMap;

use super::area::{self, Fill, OpenTarget};
use super::changes::seen_at;
use super::event::{Context, Event};
use super::places::{Place, places_of};
use super::start::Consented;
use super::survey::{self, Surveyed};
use super::{holds, marks};
use assay_core::factors::guard::setters;
use assay_core::factors::layers::{self, Base, Device, Extent, Levels, Raised, Stack, Wish};
use assay_core::factors::{self, Guard, Role, Setting, View};
use assay_core::failure::{Failure, Kind, Outcome};
use assay_core::plan::arms::{self, Layout};
use assay_core::quantity::Bytes;
use assay_core::results::plan::{Arm, Plan, PlannedTrial, Refusal, Survey};
use assay_core::study::{Fresh, Prime, Study, Target};
use assay_core::system::journal::{Mark, Report};
use assay_core::system::site::{Site, TargetKind};
use assay_core::system::{
    Caching, Consent, Hold, System, Watchdog, devices, identity, journal, resolve,
};

/// One place where trials can be run: a target, or what is made on it.
struct Slot<'a> {
    /// Index of its target.
    place: usize,
    /// What it stands on, as it was found last.
    site: Site,
    survey: Survey,
    companions: Companions,
    /// Open; what is not made now is not.
    surveyed: Option<Surveyed<'a>>,
}

/// What the kernel sets beside a setting when a level of a factor is brought about (another
/// scheduler begins with a queue depth of its own), by factor and level: so that a level is the same
/// whichever one it follows.
type Companions = BTreeMap<(String, String), Vec<Setting>>;

/// What is made now for an arm.
struct Up {
    slot: usize,
    replicate: u32,
    raised: Raised,
    /// What making it took, until somebody has heard of it.
    made_ns: Option<u64>,
}

/// The places of a study and what changes them.
pub struct TestBed<'a> {
    system: &'a dyn System,
    // Before the guard: open files go before what they lie on is taken down.
    slots: Vec<Slot<'a>>,
    up: Option<Up>,
    /// The devices of the target, where the tool made them.
    own: Vec<(Stack, Raised)>,
    guard: Option<Guard<'a>>,
    // After the guard: it is needed until everything was put back.
    watchdog: Option<Box<dyn Watchdog>>,
    places: Vec<Place>,
    /// The devices that they stand on.
    marks: Vec<Mark>,
    holds: Vec<Hold>,
    seed: u64,
}

/// Makes sure of what may be overwritten that it is what `assay plan` showed.
fn as_shown(system: &dyn System, places: Vec<Place>) -> Outcome<Vec<Place>> {
    let devices = places.iter().flat_map(Place::devices);
    for place in devices.filter(|place| place.consent.is_some()) {
        identity::as_shown(system, &place.site)?;
    }
    Ok(places)
}

impl<'a> TestBed<'a> {
    /// Resolves and locks the targets of a study; a loop device of its own is made.
    ///
    /// # Errors
    /// A mistake or a refusal; what was changed by then is put back.
    pub fn set_up(
        context: &mut Context<'a>,
        study: &Study,
        targets: &[String],
        Consented { destroy, allowed, wait, .. }: &Consented,
        (id, seed): (&str, u64),
    ) -> Outcome<Self> {
        let system = context.system;
        super::changes::permitted(study, allowed)?;
        super::links::named(study)?;
        put_back_first(system)?;
        if changes(study) {
            needs_root(system, study)?;
            super::links::may_be_shaped(system, study)?;
        }
        let makes_own = matches!(study.target, Some(Target::Loop(_)));
        let named = match study.target {
            Some(Target::Loop(_)) => Vec::new(),
            _ => as_shown(system, places_of(system, study, targets, destroy)?)?,
        };
        super::others::there(study, &named)?;
        let holds = holds::take(context, study, &named, *wait)?;
        // What stood there before it was waited for may have changed.
        let named = if wait.is_zero() || makes_own {
            named
        } else {
            as_shown(system, places_of(system, study, targets, destroy)?)?
        };
        let mut guard = if changes(study) {
            Some(Guard::begin(system, &identity::state_directory(system)?, id)?)
        } else {
            None
        };
        if let Some(guard) = guard.as_mut().filter(|_| study.makes_link()) {
            factors::network::make_lab(system, guard)?;
        }
        let watchdog = guard.as_ref().and(super::others::watched(system, study, id)?);
        let own = match (&study.target, &mut guard) {
            (Some(Target::Loop(size)), Some(guard)) => {
                let devices = (0..study.loop_devices()).map(|_| own_target(guard, size.0));
                devices.collect::<Outcome<Vec<_>>>()?
            }
            _ => Vec::new(),
        };
        let places = if own.is_empty() {
            named
        } else {
            let made = own.iter().map(|(_, raised)| Place::made(system, &raised.base));
            vec![Place::of_several(made.collect::<Outcome<_>>()?)?]
        };
        let marks = marks::of(system, &places);
        if let Some(guard) = &mut guard {
            guard.keep_to(marks.clone());
        }
        let (slots, up) = (Vec::new(), None);
        Ok(Self { system, slots, up, own, guard, watchdog, places, marks, holds, seed })
    }

    /// The targets.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// What each survey was taken on, in their order.
    pub fn sites(&self) -> Vec<Site> {
        self.slots.iter().map(|slot| slot.site.clone()).collect()
    }

    /// The surveys.
    pub fn surveys(&self) -> Vec<Survey> {
        self.slots.iter().map(|slot| slot.survey.clone()).collect()
    }

    /// What a survey was taken on, and the target there; none where it is not up.
    pub fn at(&self, index: usize) -> Option<(&Site, &Surveyed<'a>)> {
        let slot = self.slots.get(index)?;
        Some((&slot.site, slot.surveyed.as_ref()?))
    }

    /// Surveys every place that the study's arms want, and tries every setting once.
    pub fn survey(
        &mut self,
        context: &mut Context<'_>,
        study: &Study,
        layout: &Layout,
    ) -> Outcome<()> {
        for place in &self.places {
            let refused = super::changes::refused(self.system, (study, layout), place);
            hopeless(study, &refused)?;
            if arms::makes_on_device(study) {
                for device in place.devices() {
                    extent(self.system, study, &device.site, !place.others.is_empty())?;
                }
            }
        }
        for place in 0..self.places.len() {
            if let Some(prime) = &study.prepare.prime {
                self.prime(context, study, place, prime)?;
            }
            let mut refused = Vec::new();
            for under in &layout.bases {
                if context.is_stopped() {
                    return Err(Failure::interrupted("interrupted before the first trial"));
                }
                let stood = if under.is_empty() {
                    self.survey_target(context, (study, layout), place)
                } else {
                    self.survey_made(context, (study, layout), place, under)
                };
                match stood {
                    Ok(()) => {}
                    Err(failure) if failure.kind == Kind::Refused && !under.is_empty() => {
                        let reason = failure.message;
                        refused.push(Refusal { levels: under.clone(), reason });
                    }
                    Err(failure) => return Err(failure),
                }
            }
            self.share(study, place, refused)?;
        }
        Ok(())
    }

    /// What cannot be had in one slot of a place is known in its others.
    fn share(&mut self, study: &Study, place: usize, refused: Vec<Refusal>) -> Outcome<()> {
        let mut slots = self.slots.iter_mut().filter(|slot| slot.place == place).peekable();
        if slots.peek().is_none() {
            let mut reasons: Vec<String> =
                refused.into_iter().map(|refusal| refusal.reason).collect();
            reasons.dedup();
            let way_on = super::changes::way_on(self.system, study);
            return Err(Failure::refused(format!("{}{way_on}", reasons.join("; "))));
        }
        slots.for_each(|slot| slot.survey.refused.extend(refused.iter().cloned()));
        Ok(())
    }

    fn survey_target(
        &mut self,
        context: &mut Context<'_>,
        (study, layout): (&Study, &Layout),
        place: usize,
    ) -> Outcome<()> {
        let (system, seed) = (self.system, self.seed);
        let surveyed =
            survey::at_target(system, context, (study, layout), &self.places[place], seed)?;
        let site = self.places[place].site.clone();
        let mut survey = surveyed.survey.clone();
        let (refused, companions) = self.rehearse(study, &site)?;
        survey.refused = refused;
        self.slots.push(Slot { place, site, survey, companions, surveyed: Some(surveyed) });
        Ok(())
    }

    /// Makes what an arm stands on, looks at it, and takes it down again.
    fn survey_made(
        &mut self,
        context: &mut Context<'_>,
        (study, layout): (&Study, &Layout),
        place: usize,
        under: &Arm,
    ) -> Outcome<()> {
        let (system, seed) = (self.system, self.seed);
        let began_ns = system.monotonic_ns();
        let stack = Stack::of(&Wish::of(under)).map_err(Failure::refused)?;
        let (raised, site) = self.make(context, study, place, &stack)?;
        let made_ns = system.monotonic_ns() - began_ns;
        let how = (matches!(raised.base, Base::Device(_)), None);
        let looked = open(system, study, &site, &raised.base)
            .and_then(|opened| survey::make(context, (study, layout), &site, opened, how, seed))
            .map(|surveyed| surveyed.survey);
        let rehearsed = looked.and_then(|survey| Ok((survey, self.rehearse(study, &site)?)));
        self.lower(&raised)?;
        let (mut survey, (refused, companions)) = rehearsed?;
        (survey.under, survey.made_ns, survey.refused) = (under.clone(), made_ns, refused);
        self.slots.push(Slot { place, site, survey, companions, surveyed: None });
        Ok(())
    }

    /// What an arm stands on, made on the device of a place.
    fn make(
        &mut self,
        context: &mut Context<'_>,
        study: &Study,
        place: usize,
        stack: &Stack,
    ) -> Outcome<(Raised, Site)> {
        let place = &self.places[place];
        let site = &place.site;
        let mut below = Vec::new();
        let beside = !arms::makes_on_device(study);
        if beside && site.kind != TargetKind::Directory {
            return Err(Failure::mistake(format!(
                "{}: {} is made beside a directory: name one, on a disk",
                site.target,
                layers::one(layers::noun(study.factors.keys()))
            )));
        }
        let directory = beside.then(|| Base::Directory(site.path.clone()));
        for device in place.devices().filter(|_| !beside) {
            let extent = extent(self.system, study, &device.site, !place.others.is_empty())?;
            let Some(consent) = device.consent.clone() else {
                // What must not be overwritten at all is refused with its own reason.
                identity::stake(self.system, &device.site)?;
                let what = layers::one(layers::noun(study.factors.keys()));
                return Err(Failure::mistake(format!(
                    "{what} can be made only where data may be lost: {}",
                    identity::way_on("STUDY", &device.site.target)
                )));
            };
            below.push(Device { extent, discard: study.prepare.discard, consent });
        }
        let size = |device: &Device| device.extent.range.end - device.extent.range.start;
        let sizes: Vec<u64> = below.iter().map(size).collect();
        if let Some(missing) = stack.missing(self.system, &sizes) {
            return Err(Failure::refused(missing));
        }
        if !stack.is_empty() {
            let what = format!("{} on {}", stack.words(), site.target);
            (context.tell)(Event::Making { what });
        }
        let target = site.target.clone();
        let Some(guard) = &mut self.guard else {
            return Err(Failure::refused("nothing may be changed without a journal"));
        };
        let below = below.into_iter().map(Base::Device).chain(directory).collect();
        let raised = stack.make(guard, below)?;
        match resolve(self.system, &raised.base.path().to_string_lossy()) {
            Ok(found) => Ok((raised, Site { target, ..found })),
            Err(failure) => Err(self.lower(&raised).err().unwrap_or(failure)),
        }
    }

    /// Takes down what was made for an arm; nothing of it is open any more.
    fn lower(&mut self, raised: &Raised) -> Outcome<()> {
        if let Base::Device(device) = &raised.base {
            released(self.system, &device.consent);
        }
        self.guard.as_mut().map_or(Ok(()), |guard| guard.lower(raised))
    }

    /// Takes what a stored plan rests on, and opens the targets that are there now.
    pub fn reopen(&mut self, context: &mut Context<'_>, study: &Study, plan: &Plan) -> Outcome<()> {
        let mut place = 0;
        for (index, survey) in plan.surveys.iter().enumerate() {
            if index > 0 && survey.target != plan.surveys[index - 1].target {
                place += 1;
            }
            let own = &self.places[place.min(self.places.len() - 1)];
            let surveyed = if survey.under.is_empty() {
                Some(survey::again(context, self.system, study, own, survey, plan.seed)?)
            } else {
                None
            };
            let (site, survey) = (own.site.clone(), survey.clone());
            let (_, companions) = self.rehearse(study, &site)?;
            self.slots.push(Slot { place, site, survey, companions, surveyed });
        }
        Ok(())
    }

    /// Brings everything to a trial's arm; else why that could not be done.
    pub fn bring(
        &mut self,
        context: &mut Context<'_>,
        study: &Study,
        plan: &Plan,
        planned: &PlannedTrial,
    ) -> Result<(), String> {
        let index = plan.workloads[planned.workload].target;
        if !self.slots[index].survey.under.is_empty() {
            self.raise(context, study, index, planned.replicate.max(1))
                .map_err(|failure| failure.message)?;
        }
        self.see(index)?;
        let wanted = self.wanted(index, &planned.arm)?;
        let Some(guard) = &mut self.guard else { return Ok(()) };
        if let Some(shaped) = plan.workloads[planned.workload].work.shaped() {
            factors::network::shape(self.system, guard, &shaped).map_err(|f| f.message)?;
        }
        wanted.iter().try_for_each(|setting| guard.set(setting).map_err(|f| f.message))
    }

    /// What making took of what stands now, told once.
    pub fn made_ns(&mut self) -> Option<u64> {
        self.up.as_mut()?.made_ns.take()
    }

    /// Whether every setting is as it was found.
    pub fn is_as_found(&self) -> bool {
        self.guard.as_ref().is_none_or(Guard::is_as_found)
    }

    /// Puts every setting back, for now.
    ///
    /// # Errors
    /// Not restored: what could not be put back.
    pub fn settings_back(&self) -> Outcome<()> {
        self.guard.as_ref().map_or(Ok(()), Guard::settings_back)
    }

    /// What of a trial's arm does not hold any more, if anything.
    pub fn strayed(&self, plan: &Plan, planned: &PlannedTrial) -> Option<String> {
        let index = plan.workloads[planned.workload].target;
        if let Err(how) = self.see(index) {
            return Some(format!("after the trial: {how}"));
        }
        let wanted = match self.wanted(index, &planned.arm) {
            Ok(wanted) => wanted,
            Err(reason) => return Some(format!("its settings cannot be read any more: {reason}")),
        };
        let shaped = plan.workloads[planned.workload].work.shaped();
        let shaped = shaped.filter(|_| self.guard.is_some());
        if let Some(Err(how)) = shaped.map(|own| factors::network::seen(self.system, &own)) {
            return Some(format!("after the trial: {how}"));
        }
        wanted.into_iter().find_map(|setting| {
            let path = setting.path.display();
            match self.system.read_text(&setting.path) {
                Ok(now) if journal::setting_value(&now) == setting.value => None,
                Ok(now) => {
                    let now = journal::setting_value(&now);
                    Some(format!(
                        "{path} was {} before the trial and {now} after it",
                        setting.value
                    ))
                }
                Err(error) => Some(format!("{path} cannot be read after the trial: {error}")),
            }
        })
    }

    /// What became of a device that the study began on and that is not there any more.
    pub fn gone(&self) -> Option<String> {
        marks::gone(self.system, &self.marks)
    }

    /// Sees that what a slot stands on is still as it was made.
    fn see(&self, index: usize) -> Result<(), String> {
        self.gone().map_or(Ok(()), Err)?;
        self.own.iter().try_for_each(|(stack, raised)| stack.see(self.system, raised))?;
        match &self.up {
            Some(up) if up.slot == index => {
                let under = &self.slots[index].survey.under;
                Stack::of(&Wish::of(under))?.see(self.system, &up.raised)
            }
            _ => Ok(()),
        }
    }

    fn wanted(&self, index: usize, arm: &Arm) -> Result<Vec<Setting>, String> {
        let slot = &self.slots[index];
        let view = View { system: self.system, site: &slot.site };
        let (mut said, mut companions) = (Vec::new(), Vec::new());
        for (name, level) in setters(arm) {
            if let Some(factor) = factors::find(name) {
                said.extend(factor.settings(name, level, &view)?);
            }
            companions.extend(
                slot.companions.get(&(name.to_owned(), level.to_owned())).into_iter().flatten(),
            );
        }
        // What the arm says itself counts; the rest is as the level alone would have it. Of several
        // that set one file beside their own, the first in rank brings the others along.
        let mut wanted: Vec<Setting> = Vec::new();
        for setting in said.into_iter().chain(companions.into_iter().cloned()) {
            let setting = factors::located(self.system, setting)?;
            if !wanted.iter().any(|known| known.path == setting.path) {
                wanted.push(setting);
            }
        }
        Ok(wanted)
    }

    /// Makes what a slot stands on, unless it is up and fresh enough.
    fn raise(
        &mut self,
        context: &mut Context<'_>,
        study: &Study,
        index: usize,
        replicate: u32,
    ) -> Outcome<()> {
        let fresh = |up: &Up| study.fresh == Fresh::Study || up.replicate == replicate;
        if self.up.as_ref().is_some_and(|up| up.slot == index && fresh(up)) {
            return Ok(());
        }
        self.take_down()?;
        let (place, survey) = (self.slots[index].place, self.slots[index].survey.clone());
        let under = survey.under.clone();
        let stack = Stack::of(&Wish::of(&under)).map_err(Failure::refused)?;
        let began_ns = self.system.monotonic_ns();
        let (raised, site) = self.make(context, study, place, &stack)?;
        let made_ns = Some(self.system.monotonic_ns().saturating_sub(began_ns));
        let filled = self.fill(context, study, (&site, &raised.base), (&survey, replicate));
        self.up = Some(Up { slot: index, replicate, raised, made_ns });
        match filled {
            Ok(opened) => {
                let holds = std::cell::Cell::new(Some(survey::fill_content(study)));
                let seed = self.seed;
                let surveyed = Surveyed { opened, survey, law: None, holds, seed };
                (self.slots[index].site, self.slots[index].surveyed) = (site, Some(surveyed));
                Ok(())
            }
            Err(failure) => Err(self.take_down().err().unwrap_or(failure)),
        }
    }

    /// An area like the one that was surveyed.
    fn fill(
        &self,
        context: &mut Context<'_>,
        study: &Study,
        (site, base): (&Site, &Base),
        (survey, replicate): (&Survey, u32),
    ) -> Outcome<OpenTarget<'a>> {
        let opened = open(self.system, study, site, base)?;
        if survey.area.length == 0 {
            return Ok(opened);
        }
        let how = Fill {
            engine: survey.engine.name,
            content: survey::fill_content(study),
            limit_ns: u64::MAX / 4,
            seed: self.seed ^ u64::from(replicate),
        };
        let area = area::fill(context, &opened, site, survey.area.length, &how)?;
        if area.length == survey.area.length && area.start == survey.area.start {
            return Ok(opened);
        }
        Err(Failure::refused(format!(
            "{} has room for another area than when it was surveyed",
            site.target
        )))
    }

    fn take_down(&mut self) -> Outcome<()> {
        let Some(up) = self.up.take() else { return Ok(()) };
        self.slots[up.slot].surveyed = None;
        let lowered = self.lower(&up.raised);
        if lowered.is_err() {
            // It may be tried again.
            self.up = Some(up);
        }
        lowered
    }

    /// Brings every level about once, so that those that cannot be had are known beforehand, and
    /// what the kernel sets beside them.
    fn rehearse(&mut self, study: &Study, site: &Site) -> Outcome<(Vec<Refusal>, Companions)> {
        let (mut refused, mut companions) = (Vec::new(), Companions::new());
        let mut factors: Vec<(&String, &Vec<String>)> = study.factors.iter().collect();
        factors.sort_by_key(|(name, _)| factors::rank(name));
        for (name, levels) in factors {
            let Some(factor) = factors::find(name) else { continue };
            // The first once more: by then it follows another one, as it will in the trials.
            for level in levels.iter().chain(levels.first().filter(|_| levels.len() > 1)) {
                let tried = match factor.role() {
                    Role::Setting => self.try_setting(factor, name, level, site)?,
                    Role::Observed => {
                        seen_at(factor, name, level, &View { system: self.system, site })
                            .map(|()| Vec::new())
                    }
                    Role::Layer => Ok(Vec::new()),
                };
                match tried {
                    Ok(found) => drop(companions.insert((name.clone(), level.clone()), found)),
                    Err(reason) => {
                        let levels = Arm::from([(name.clone(), level.clone())]);
                        let known = refused.iter().any(|one: &Refusal| one.levels == levels);
                        refused.extend((!known).then_some(Refusal { levels, reason }));
                    }
                }
            }
        }
        if let Some(guard) = &self.guard {
            guard.settings_back()?;
        }
        Ok((refused, companions))
    }

    /// Brings one level about; gives what is set beside it then, or why it cannot be had.
    fn try_setting(
        &mut self,
        factor: &dyn factors::Factor,
        name: &str,
        level: &str,
        site: &Site,
    ) -> Outcome<Result<Vec<Setting>, String>> {
        let wanted = match factor.settings(name, level, &View { system: self.system, site }) {
            Ok(wanted) => wanted,
            Err(reason) => return Ok(Err(reason)),
        };
        let Some(guard) = &mut self.guard else { return Ok(Ok(Vec::new())) };
        for setting in &wanted {
            match guard.set(setting) {
                Err(failure) if failure.kind == Kind::Refused => return Ok(Err(failure.message)),
                other => other?,
            }
        }
        let companions = wanted.iter().flat_map(|setting| {
            let value = |path: &std::path::PathBuf| {
                let text = self.system.read_text(path).ok()?;
                let (value, device) = (journal::setting_value(&text), setting.device.clone());
                Some(Setting { path: path.clone(), value, device, also: Vec::new() })
            };
            setting.also.iter().filter_map(value).collect::<Vec<_>>()
        });
        Ok(Ok(companions.collect()))
    }

    /// Writes all of a device.
    fn prime(
        &mut self,
        context: &mut Context<'_>,
        study: &Study,
        place: usize,
        prime: &Prime,
    ) -> Outcome<()> {
        let Place { site, consent, law, others } = &self.places[place];
        if law.is_some() {
            return Ok(());
        }
        if consent.is_none() {
            identity::stake(self.system, site)?;
            return Err(Failure::mistake(format!(
                "{} can be primed only where data may be lost: {}",
                site.target,
                identity::way_on("STUDY", &site.target)
            )));
        }
        let range = 0..extent(self.system, study, site, !others.is_empty())?.range.end;
        let engine = survey::engine();
        // One handle for all passes: each holds the device alone.
        let opened =
            OpenTarget::open(self.system, site, consent.as_ref())?.starting_at(range.start);
        for pass in 1..=prime.passes {
            let what = format!("{}, primed: pass {pass} of {}", site.target, prime.passes);
            (context.tell)(Event::Making { what });
            let how = Fill {
                engine: engine.name,
                content: prime.content,
                limit_ns: u64::MAX / 4,
                seed: self.seed.wrapping_add(u64::from(pass)),
            };
            let length = (range.end - range.start) / (1 << 20) * (1 << 20);
            area::fill(context, &opened, site, length, &how)?;
        }
        drop(opened);
        if let Some(consent) = consent {
            released(self.system, consent);
        }
        Ok(())
    }

    /// Closes everything and puts the machine back.
    ///
    /// # Errors
    /// Not restored: what could not be put back.
    pub fn tear_down(mut self) -> Outcome<Report> {
        self.slots.clear();
        let report = self.guard.take().map_or_else(|| Ok(Report::default()), Guard::finish);
        drop(self.watchdog.take());
        // Not before: another run must not take what is changed now for the original.
        self.holds.clear();
        report
    }
}

/// The target of a laboratory.
fn own_target(guard: &mut Guard<'_>, bytes: u64) -> Outcome<(Stack, Raised)> {
    let none = Levels::new();
    let wish = Wish { own_target: Some(bytes), ..Wish::of(&none) };
    let stack = Stack::of(&wish).map_err(Failure::refused)?;
    let raised = stack.make(guard, Vec::new())?;
    Ok((stack, raised))
}

/// Opens what was made for an arm.
fn open<'a>(
    system: &'a dyn System,
    study: &Study,
    site: &Site,
    base: &Base,
) -> Outcome<OpenTarget<'a>> {
    match base {
        Base::Directory(_) => OpenTarget::of(system, study, site, None),
        Base::Device(device) => {
            let opened = OpenTarget::of(system, study, site, Some(&device.consent))?;
            Ok(opened.starting_at(device.extent.range.start))
        }
    }
}

/// Waits, five seconds at most, until the kernel has let go of a device: rings that wrote to it hold
/// it for a moment after they are closed, and a file system is not made on what is held.
fn released(system: &dyn System, consent: &Consent) {
    const TRIES: u32 = 500;
    for _ in 0..TRIES {
        if system.open_device_for_writing(consent, Caching::Buffered).is_ok() {
            return;
        }
        system.sleep(std::time::Duration::from_millis(10));
    }
}

/// Whether a study changes anything that must be put back.
fn changes(study: &Study) -> bool {
    matches!(study.target, Some(Target::Loop(_)))
        || study.changes_network()
        || study.factors.keys().any(|name| factors::changes(name))
}

/// Refuses, before anything is written, a study of whose factors one has no level that can be had.
fn hopeless(study: &Study, refused: &[Refusal]) -> Outcome<()> {
    for (name, levels) in &study.factors {
        let reason = |level: &String| {
            let one = refused.iter().find(|refusal| {
                refusal.levels.len() == 1 && refusal.levels.get(name) == Some(level)
            });
            one.map(|refusal| refusal.reason.clone())
        };
        let reasons: Option<Vec<String>> = levels.iter().map(reason).collect();
        if let Some([first, ..]) = reasons.as_deref() {
            return Err(Failure::refused(format!("{name}: {first}")));
        }
    }
    Ok(())
}

/// What is made is root's; of settings the kernel decides one by one.
fn needs_root(system: &dyn System, study: &Study) -> Outcome<()> {
    let makes = matches!(study.target, Some(Target::Loop(_)));
    let makes = makes || arms::makes_layers(study);
    if study.changes_network() && system.user().id != 0 {
        let what = if study.makes_link() { "a laboratory of name spaces" } else { "shaping" };
        return Err(Failure::refused(format!("{what} needs root: run it with sudo")));
    }
    if makes && system.user().id != 0 {
        let what = layers::nouns();
        return Err(Failure::refused(format!("making {what} needs root: run it with sudo")));
    }
    Ok(())
}

/// Refuses to measure on a machine that another run left changed.
pub fn put_back_first(system: &dyn System) -> Outcome<()> {
    let home = identity::state_directory(system)?;
    let left = journal::unfinished(system, &factors::guard::journals(&home))?;
    let Some(first) = left.first() else { return Ok(()) };
    let fault = first.faults.first().map_or_else(String::new, |fault| format!(" ({fault})"));
    Err(Failure::refused(format!(
        "{} ended without putting the machine back{fault}: run assay restore first",
        first.id
    )))
}

/// The part of a target's device that may be had for what is made.
/// Of several members none alone holds the area.
pub(super) fn extent(
    system: &dyn System,
    study: &Study,
    site: &Site,
    is_member: bool,
) -> Outcome<Extent> {
    let device = site.counted.first().filter(|_| site.kind == TargetKind::Device);
    let noun = layers::noun(study.factors.keys());
    let device = device.ok_or_else(|| {
        Failure::mistake(format!(
            "{}: {} is made on a block device: name one, or try it with --lab{}",
            site.target,
            layers::one(noun),
            beside(study, &site.target)
        ))
    })?;
    let bytes = devices::size_of(system, device);
    let start = study.area.first_byte(bytes);
    if start >= bytes {
        return Err(Failure::mistake(format!("the area begins beyond the end of {}", site.target)));
    }
    let least =
        |bytes| layers::chosen(study.factors.keys()).rev().fold(bytes, |b, one| one.least(b));
    if let Some(size) = study.area.size.filter(|_| arms::makes_on_device(study) && !is_member)
        && least(size.0) > bytes - start
    {
        return Err(Failure::mistake(format!(
            "{}: an area of {size} and the {noun} around it do not fit into {}: measure in less with --area, which run and plan take",
            site.target,
            Bytes((bytes - start) >> 20 << 20)
        )));
    }
    Ok(Extent { device: device.clone(), range: start..bytes, whole: start == 0 })
}

/// How what a study varies beside what it makes can be compared on what is there already.
fn beside(study: &Study, target: &str) -> String {
    let setting = |name: &str| factors::has_role(name, factors::Role::Setting);
    let Some((name, levels)) = study.factors.iter().find(|(name, _)| setting(name)) else {
        return String::new();
    };
    let set = format!("--set {name}={}", levels.join(","));
    format!(
        "; {name} alone is compared where it is: `assay run depth {target} --set depth=8 {set}` with work of its \
         own, `assay run live {target} {set}` under the work that goes on there"
    )
}
