//! What trials stand on: the open targets, the file systems that are made on them, and the settings
//! of an arm. Whatever was changed is put back when the stage is struck, or dropped.

use std::collections::BTreeMap;

use super::area::{self, Fill, Ground};
use super::event::{Context, Event};
use super::places::{Place, hold_all, places};
use super::start::Consented;
use super::survey::{self, Surveyed};
use crate::factors::filesystem::Recipe;
use crate::factors::guard::{Mounted, Plot, SETTINGS, setters};
use crate::factors::{self, Guard, Role, Setting, View};
use crate::failure::{Failure, Kind, Outcome};
use crate::plan::arms;
use crate::quantity::Bytes;
use crate::results::plan::{Arm, Plan, PlannedTrial, Refusal, Survey};
use crate::seen::Seen;
use crate::study::{Content, Fresh, Prime, Study, Target};
use crate::system::journal::Report;
use crate::system::site::{Site, TargetKind};
use crate::system::{Caching, Consent, Hold, System, devices, identity, journal, resolve};

/// Part of an area that a file system needs for itself, at least.
const FILE_SYSTEMS_OWN: u64 = 10;

/// One place where trials can be run: a target, or a file system on it.
struct Stand<'a> {
    /// Index of its target.
    place: usize,
    /// What it stands on, as it was found last.
    site: Site,
    survey: Survey,
    beside: Beside,
    /// Open; a file system that is not mounted now is not.
    surveyed: Option<Surveyed<'a>>,
}

/// What the kernel sets beside a setting when a level of a factor is brought about (another
/// scheduler begins with a queue depth of its own), by factor and level: so that a level is the same
/// whichever one it follows.
type Beside = BTreeMap<(String, String), Vec<Setting>>;

/// The file system that is mounted now.
struct Up {
    stand: usize,
    replicate: u32,
    mounted: Mounted,
}

/// The places of a study and what changes them.
pub struct Stage<'a> {
    system: &'a dyn System,
    // Before the guard: open files go before what they lie on is unmounted.
    stands: Vec<Stand<'a>>,
    up: Option<Up>,
    guard: Option<Guard<'a>>,
    places: Vec<Place>,
    holds: Vec<Hold>,
    seed: u64,
}

/// Makes sure of what may be overwritten that it is what `assay plan` showed.
fn as_shown(system: &dyn System, places: Vec<Place>) -> Outcome<Vec<Place>> {
    for place in places.iter().filter(|place| place.consent.is_some()) {
        identity::as_shown(system, &place.site)?;
    }
    Ok(places)
}

impl<'a> Stage<'a> {
    /// Resolves and locks the targets of a study; a loop device of its own is made.
    ///
    /// # Errors
    /// A mistake or a refusal; what was changed by then is put back.
    pub fn set(
        system: &'a dyn System,
        study: &Study,
        targets: &[String],
        Consented { destroy, allowed }: Consented<'_>,
        (id, seed): (&str, u64),
    ) -> Outcome<Self> {
        super::changes::permitted(study, allowed)?;
        put_back_first(system)?;
        let mut guard = if changes(study) {
            needs_root(system, study)?;
            Some(Guard::begin(system, &identity::state_directory(system)?, id)?)
        } else {
            None
        };
        let made = match (&study.target, &mut guard) {
            (Some(Target::Loop(size)), Some(guard)) => Some(guard.make_loop(size.0)?),
            _ => None,
        };
        let places = match made {
            Some(device) => {
                let name = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let ids = [identity::device_id(system, &name)];
                places(system, &[device.display().to_string()], &ids)?
            }
            None => as_shown(system, places(system, targets, destroy)?)?,
        };
        let mut holds = hold_all(system, &places)?;
        if study.factors.keys().any(|name| factors::has_role(name, Role::Setting)) {
            holds.push(hold_settings(system)?);
        }
        let (stands, up) = (Vec::new(), None);
        Ok(Self { system, stands, up, guard, places, holds, seed })
    }

    /// The targets.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// What each survey was taken on, in their order.
    pub fn sites(&self) -> Vec<Site> {
        self.stands.iter().map(|stand| stand.site.clone()).collect()
    }

    /// The surveys.
    pub fn surveys(&self) -> Vec<Survey> {
        self.stands.iter().map(|stand| stand.survey.clone()).collect()
    }

    /// What a survey was taken on, and the target there; none where it is not up.
    pub fn at(&self, index: usize) -> Option<(&Site, &Surveyed<'a>)> {
        let stand = self.stands.get(index)?;
        Some((&stand.site, stand.surveyed.as_ref()?))
    }

    /// Surveys every place that the study's arms want, and tries every setting once.
    pub fn survey(&mut self, context: &mut Context<'_>, study: &Study) -> Outcome<()> {
        let grounds = arms::grounds(study);
        for place in &self.places {
            let refused = super::changes::refused(self.system, study, place);
            hopeless(study, &refused)?;
            if arms::makes_grounds(study) {
                plot(self.system, study, &place.site)?;
            }
        }
        for place in 0..self.places.len() {
            if let Some(prime) = &study.prepare.prime {
                self.prime(context, study, place, prime)?;
            }
            let mut refused = Vec::new();
            for ground in &grounds {
                if context.is_stopped() {
                    return Err(Failure::interrupted("interrupted before the first trial"));
                }
                let stood = match Recipe::of(|name| ground.get(name).map(String::as_str)) {
                    None => self.stand_on_target(context, study, place),
                    Some(recipe) => self.stand_on_made(context, study, place, (ground, recipe)),
                };
                match stood {
                    Ok(()) => {}
                    Err(failure) if failure.kind == Kind::Refused && !ground.is_empty() => {
                        let reason = failure.message;
                        refused.push(Refusal { levels: ground.clone(), reason });
                    }
                    Err(failure) => return Err(failure),
                }
            }
            self.share(place, refused)?;
        }
        Ok(())
    }

    /// What cannot be had on one ground of a place is known at its others.
    fn share(&mut self, place: usize, refused: Vec<Refusal>) -> Outcome<()> {
        let mut stands = self.stands.iter_mut().filter(|stand| stand.place == place).peekable();
        if stands.peek().is_none() {
            let reasons: Vec<String> = refused.into_iter().map(|refusal| refusal.reason).collect();
            return Err(Failure::refused(reasons.join("; ")));
        }
        stands.for_each(|stand| stand.survey.refused.extend(refused.iter().cloned()));
        Ok(())
    }

    fn stand_on_target(
        &mut self,
        context: &mut Context<'_>,
        study: &Study,
        place: usize,
    ) -> Outcome<()> {
        let (system, seed) = (self.system, self.seed);
        let surveyed = survey::at_target(system, context, study, &self.places[place], seed)?;
        let site = self.places[place].site.clone();
        let mut survey = surveyed.survey.clone();
        let (refused, beside) = self.rehearse(study, &site)?;
        survey.refused = refused;
        self.stands.push(Stand { place, site, survey, beside, surveyed: Some(surveyed) });
        Ok(())
    }

    /// Makes a file system, looks at it, and takes it down again.
    fn stand_on_made(
        &mut self,
        context: &mut Context<'_>,
        study: &Study,
        place: usize,
        (ground, recipe): (&Arm, Recipe<'_>),
    ) -> Outcome<()> {
        let (system, seed) = (self.system, self.seed);
        let began_ns = system.monotonic_ns();
        let (mounted, site) = self.make(context, study, place, &recipe)?;
        let made_ns = system.monotonic_ns() - began_ns;
        let looked = Ground::open(system, &site, None)
            .and_then(|ground| survey::make(context, study, &site, ground, (false, None), seed))
            .map(|surveyed| surveyed.survey);
        let rehearsed = looked.and_then(|survey| Ok((survey, self.rehearse(study, &site)?)));
        if let Some(guard) = &mut self.guard {
            guard.take_down(&mounted)?;
        }
        let (mut survey, (refused, beside)) = rehearsed?;
        (survey.under, survey.made_ns, survey.refused) = (ground.clone(), made_ns, refused);
        self.stands.push(Stand { place, site, survey, beside, surveyed: None });
        Ok(())
    }

    /// A file system on the device of a place, mounted.
    fn make(
        &mut self,
        context: &mut Context<'_>,
        study: &Study,
        place: usize,
        recipe: &Recipe<'_>,
    ) -> Outcome<(Mounted, Site)> {
        let Place { site, consent, .. } = &self.places[place];
        let plot = plot(self.system, study, site)?;
        let Some(consent) = consent else {
            let text = identity::stake(self.system, site)?.text();
            return Err(Failure::mistake(format!(
                "a file system can be made only where data may be lost: look at assay plan, then give --destroy {text:?}"
            )));
        };
        if let Some(missing) = recipe.missing(self.system, plot.range.end - plot.range.start) {
            return Err(Failure::refused(missing));
        }
        let what = format!("{} on {}", recipe.kind.name, site.target);
        (context.tell)(Event::Making { what });
        let target = site.target.clone();
        let Some(guard) = &mut self.guard else {
            return Err(Failure::refused("nothing may be changed without a journal"));
        };
        let mounted = guard.make_file_system(&plot, recipe, consent, study.prepare.discard)?;
        match resolve(self.system, &mounted.point.to_string_lossy()) {
            Ok(found) => Ok((mounted, Site { target, ..found })),
            Err(failure) => Err(guard.take_down(&mounted).err().unwrap_or(failure)),
        }
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
            let (_, beside) = self.rehearse(study, &site)?;
            self.stands.push(Stand { place, site, survey, beside, surveyed });
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
        if !self.stands[index].survey.under.is_empty() {
            self.stand_up(context, study, index, planned.replicate.max(1))
                .map_err(|failure| failure.message)?;
        }
        let wanted = self.wanted(index, &planned.arm)?;
        let Some(guard) = &mut self.guard else { return Ok(()) };
        wanted.iter().try_for_each(|setting| guard.set(setting).map_err(|f| f.message))
    }

    /// What of a trial's arm does not hold any more, if anything.
    pub fn strayed(&self, plan: &Plan, planned: &PlannedTrial) -> Option<String> {
        let index = plan.workloads[planned.workload].target;
        if let (Some(up), Some(guard)) = (&self.up, &self.guard)
            && up.stand == index
            && let Err(how) = guard.see_mounted(&up.mounted)
        {
            return Some(format!("after the trial: {how}"));
        }
        let wanted = match self.wanted(index, &planned.arm) {
            Ok(wanted) => wanted,
            Err(reason) => return Some(format!("its settings cannot be told any more: {reason}")),
        };
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

    fn wanted(&self, index: usize, arm: &Arm) -> Result<Vec<Setting>, String> {
        let stand = &self.stands[index];
        let view = View { system: self.system, site: &stand.site };
        let (mut said, mut beside) = (Vec::new(), Vec::new());
        for (name, level) in setters(arm) {
            if let Some(factor) = factors::find(name) {
                said.extend(factor.settings(name, level, &view)?);
            }
            beside.extend(
                stand.beside.get(&(name.to_owned(), level.to_owned())).into_iter().flatten(),
            );
        }
        // What the arm says itself counts; the rest is as the level alone would have it. Of several
        // that set one file beside their own, the first in rank brings the others along.
        let mut wanted: Vec<Setting> = Vec::new();
        for setting in said.into_iter().chain(beside.into_iter().cloned()) {
            let setting = factors::located(self.system, setting)?;
            if !wanted.iter().any(|known| known.path == setting.path) {
                wanted.push(setting);
            }
        }
        Ok(wanted)
    }

    /// Makes the file system of a stand, unless it is up and fresh enough.
    fn stand_up(
        &mut self,
        context: &mut Context<'_>,
        study: &Study,
        index: usize,
        replicate: u32,
    ) -> Outcome<()> {
        let fresh = |up: &Up| study.fresh == Fresh::Study || up.replicate == replicate;
        if self.up.as_ref().is_some_and(|up| up.stand == index && fresh(up)) {
            return Ok(());
        }
        self.take_down()?;
        let (place, survey) = (self.stands[index].place, self.stands[index].survey.clone());
        let under = survey.under.clone();
        let recipe = Recipe::of(|name| under.get(name).map(String::as_str))
            .ok_or_else(|| Failure::refused("this version cannot make that file system"))?;
        let (mounted, site) = self.make(context, study, place, &recipe)?;
        let filled = self.fill(context, study, &site, (&survey, replicate));
        self.up = Some(Up { stand: index, replicate, mounted });
        match filled {
            Ok(ground) => {
                let surveyed = Surveyed { ground, survey, law: None };
                (self.stands[index].site, self.stands[index].surveyed) = (site, Some(surveyed));
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
        site: &Site,
        (survey, replicate): (&Survey, u32),
    ) -> Outcome<Ground<'a>> {
        let ground = Ground::open(self.system, site, None)?;
        let how = Fill {
            engine: &survey.engine.name,
            content: survey::fill_content(study),
            limit_ns: u64::MAX / 4,
            seed: self.seed ^ u64::from(replicate),
        };
        let area = area::fill(context, &ground, site, survey.area.length, &how)?;
        if area.length == survey.area.length && area.start == survey.area.start {
            return Ok(ground);
        }
        Err(Failure::refused(format!(
            "{} has room for another area than when it was surveyed",
            site.target
        )))
    }

    fn take_down(&mut self) -> Outcome<()> {
        let Some(up) = &self.up else { return Ok(()) };
        self.stands[up.stand].surveyed = None;
        if let Some(guard) = &mut self.guard {
            guard.take_down(&up.mounted)?;
        }
        self.up = None;
        Ok(())
    }

    /// Brings every level about once, so that those that cannot be had are known beforehand, and
    /// what the kernel sets beside them.
    fn rehearse(&mut self, study: &Study, site: &Site) -> Outcome<(Vec<Refusal>, Beside)> {
        let (mut refused, mut beside) = (Vec::new(), Beside::new());
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
                    Role::Ground => Ok(Vec::new()),
                };
                match tried {
                    Ok(found) => drop(beside.insert((name.clone(), level.clone()), found)),
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
        Ok((refused, beside))
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
        let beside = wanted.iter().flat_map(|setting| {
            let value = |path: &std::path::PathBuf| {
                let text = self.system.read_text(path).ok()?;
                let (value, device) = (journal::setting_value(&text), setting.device.clone());
                Some(Setting { path: path.clone(), value, device, also: Vec::new() })
            };
            setting.also.iter().filter_map(value).collect::<Vec<_>>()
        });
        Ok(Ok(beside.collect()))
    }

    /// Writes all of a device.
    fn prime(
        &mut self,
        context: &mut Context<'_>,
        study: &Study,
        place: usize,
        prime: &Prime,
    ) -> Outcome<()> {
        let Place { site, consent, law } = &self.places[place];
        if law.is_some() {
            return Ok(());
        }
        if consent.is_none() {
            let text = identity::stake(self.system, site)?.text();
            return Err(Failure::mistake(format!(
                "{} can be primed only where data may be lost: look at assay plan, then give --destroy {text:?}",
                site.target
            )));
        }
        let range = 0..plot(self.system, study, site)?.range.end;
        let engine = survey::engine();
        // One handle for all passes: each holds the device alone.
        let ground = Ground::open(self.system, site, consent.as_ref())?.starting_at(range.start);
        for pass in 1..=prime.passes {
            let what = format!("{}, primed: pass {pass} of {}", site.target, prime.passes);
            (context.tell)(Event::Making { what });
            let how = Fill {
                engine: &engine.name,
                content: match prime.content {
                    Content::Random => assay_load::Content::Random,
                    Content::Zero => assay_load::Content::Zero,
                },
                limit_ns: u64::MAX / 4,
                seed: self.seed.wrapping_add(u64::from(pass)),
            };
            let length = (range.end - range.start) / (1 << 20) * (1 << 20);
            area::fill(context, &ground, site, length, &how)?;
        }
        drop(ground);
        if let Some(consent) = consent {
            released(self.system, consent);
        }
        Ok(())
    }

    /// Closes everything and puts the machine back.
    ///
    /// # Errors
    /// Not restored: what could not be put back.
    pub fn strike(mut self) -> Outcome<Report> {
        self.stands.clear();
        let report = self.guard.take().map_or_else(|| Ok(Report::default()), Guard::finish);
        // Not before: another run must not take what is changed now for the original.
        self.holds.clear();
        report
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
    let changing = |name: &String| {
        factors::has_role(name, Role::Setting) || factors::has_role(name, Role::Ground)
    };
    matches!(study.target, Some(Target::Loop(_))) || study.factors.keys().any(changing)
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

/// Two runs that change settings would take each other's for the originals.
fn hold_settings(system: &dyn System) -> Outcome<Hold> {
    system.hold(SETTINGS).map_err(|_| {
        Failure::refused(
            "another assay changes settings of this machine: wait until it has finished",
        )
    })
}

/// Loop devices and file systems are root's; of settings the kernel decides one by one.
fn needs_root(system: &dyn System, study: &Study) -> Outcome<()> {
    let makes = matches!(study.target, Some(Target::Loop(_)));
    let makes = makes || arms::makes_grounds(study);
    if makes && system.user().id != 0 {
        return Err(Failure::refused(
            "making loop devices and file systems needs root: run it with sudo",
        ));
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

/// The part of a target's device that a file system may have.
pub(super) fn plot(system: &dyn System, study: &Study, site: &Site) -> Outcome<Plot> {
    let device = site.counted.first().filter(|_| site.kind == TargetKind::Device);
    let device = device.ok_or_else(|| {
        Failure::mistake(format!(
            "{}: a file system is made on a block device: name one, or try it with --lab",
            site.target
        ))
    })?;
    let bytes = devices::size_of(system, device);
    let start = study.area.first_byte(bytes);
    if start >= bytes {
        return Err(Failure::mistake(format!("the area begins beyond the end of {}", site.target)));
    }
    let made = arms::makes_grounds(study);
    if let Some(size) = study.area.size.filter(|_| made)
        && size.0 + size.0 / FILE_SYSTEMS_OWN > bytes - start
    {
        return Err(Failure::mistake(format!(
            "{}: an area of {size} and the file system around it do not fit into {}: make the area smaller in the study",
            site.target,
            Bytes((bytes - start) >> 20 << 20)
        )));
    }
    Ok(Plot { device: device.clone(), range: start..bytes, whole: start == 0 })
}

/// Whether the machine is at a level that nobody but its operator can bring about.
pub(super) fn seen_at(
    factor: &dyn factors::Factor,
    name: &str,
    level: &str,
    view: &View<'_>,
) -> Result<(), String> {
    match factor.observe(name, view) {
        Seen::Present(now) if factor.same(&now, level) => Ok(()),
        Seen::Present(now) => Err(format!(
            "{name} is {now} here: run the study where it is {level}, then compare the two results"
        )),
        Seen::Absent(reason) => Err(format!("{name} cannot be told: {reason}")),
    }
}
