//! Surveys a test bed: creates and surveys each base, applies each level, and pairs of device settings.

use super::{BedSlot, Companions, TestBed, open_base, wait_until_released};
use crate::run::area::{self, Fill, OpenTarget, Terms};
use crate::run::changes::{check_observed, refusals};
use crate::run::event::{Context, Event};
use crate::run::places::{Place, usable_range};
use crate::run::survey;
use assay_core::exhibit::parts::distinct;
use assay_core::failure::{Failure, Kind, Outcome};
use assay_machine::factors::layers::{Base, Stack, Wish};
use assay_machine::factors::{Factor, Role, Setting, View};
use assay_machine::system::identity;
use assay_machine::system::site::Site;
use assay_study::file::Precondition;
use assay_study::plan::arms;
use assay_study::plan::design::{Demands, ResolvedDesign, Varied};
use assay_study::results::plan::{Arm, Plan, Refusal};

impl TestBed<'_> {
    /// Surveys each base (a set of layers, or none) on each place (target): a slot. An unavailable base is a refusal.
    pub fn survey(
        &mut self,
        context: &mut Context<'_>,
        design: &ResolvedDesign<'_>,
    ) -> Outcome<()> {
        let demands = design.demands;
        for place in &self.places {
            check_levels_available(demands, &refusals(self.system, design, place))?;
            if demands.made.on_device {
                for device in place.devices() {
                    usable_range(self.system, demands, &device.site, !place.others.is_empty())?;
                }
            }
        }
        for place in 0..self.places.len() {
            if let Some(precondition) = &demands.precondition {
                self.precondition(context, place, precondition)?;
            }
            let mut refused = Vec::new();
            for under in &design.layout.bases {
                if context.is_stopped() {
                    return Err(Failure::interrupted("interrupted before the first trial"));
                }
                let surveyed = if under.is_empty() {
                    self.survey_target(context, design, place)
                } else {
                    self.survey_made(context, design, place, under)
                };
                match surveyed {
                    Ok(()) => {}
                    Err(failure)
                        if matches!(failure.kind, Kind::Refused | Kind::Broken)
                            && !under.is_empty() =>
                    {
                        let reason = failure.message;
                        refused.push(Refusal { levels: under.clone(), reason });
                    }
                    Err(failure) => return Err(failure),
                }
            }
            self.share_refusals(place, refused)?;
        }
        Ok(())
    }

    /// Adds the refused bases of a place to all of its slots, which share them. Fails if the place has no slot.
    fn share_refusals(&mut self, place: usize, refused: Vec<Refusal>) -> Outcome<()> {
        if !self.slots.iter().any(|slot| slot.place == place) {
            let reasons = distinct(refused.into_iter().map(|refusal| refusal.reason));
            return Err(Failure::refused(reasons.join("; ")));
        }
        for slot in self.slots.iter_mut().filter(|slot| slot.place == place) {
            slot.survey.refused.extend(refused.iter().cloned());
        }
        Ok(())
    }

    /// Surveys a bare target and adds its slot.
    fn survey_target(
        &mut self,
        context: &mut Context<'_>,
        design: &ResolvedDesign<'_>,
        place: usize,
    ) -> Outcome<()> {
        let (system, seed) = (self.system, self.seed);
        let surveyed = survey::survey_place(system, context, design, &self.places[place], seed)?;
        let site = self.places[place].site.clone();
        let mut survey = surveyed.survey.clone();
        let (refused, companions) = self.rehearse_all(&site)?;
        survey.refused = refused;
        self.slots.push(BedSlot { place, site, survey, companions, surveyed: Some(surveyed) });
        Ok(())
    }

    /// Creates a stack of layers, surveys it, removes it, and adds its slot.
    fn survey_made(
        &mut self,
        context: &mut Context<'_>,
        design: &ResolvedDesign<'_>,
        place: usize,
        under: &Arm,
    ) -> Outcome<()> {
        let (system, seed) = (self.system, self.seed);
        let began_ns = system.monotonic_ns();
        let stack = Stack::new(&Wish::new(under)).map_err(Failure::refused)?;
        let (raised, site) = self.raise_stack(context, place, &stack)?;
        let made_ns = system.monotonic_ns() - began_ns;
        let terms = Terms { consented: matches!(raised.base, Base::Device(_)), law: None };
        let survey = open_base(system, design.demands, &site, &raised.base)
            .and_then(|opened| survey::survey_target(context, design, &site, opened, terms, seed))
            .map(|surveyed| surveyed.survey);
        let rehearsed = survey.and_then(|survey| Ok((survey, self.rehearse_all(&site)?)));
        self.lower(&raised)?;
        let (mut survey, (refused, companions)) = rehearsed?;
        (survey.under, survey.made_ns, survey.refused) = (under.clone(), made_ns, refused);
        self.slots.push(BedSlot { place, site, survey, companions, surveyed: None });
        Ok(())
    }

    /// Opens the targets of a resumed study, with their stored surveys.
    pub fn reopen(&mut self, context: &mut Context<'_>, plan: &Plan) -> Outcome<()> {
        // Judge the data after a power cut before doing anything else.
        let keeps_content = plan.workloads.iter().any(|workload| workload.work.outlives_cuts());
        // The surveys of a target are adjacent, in the order of the places.
        let mut place = 0;
        for (index, survey) in plan.surveys.iter().enumerate() {
            if index > 0 && survey.target != plan.surveys[index - 1].target {
                place += 1;
            }
            let target = &self.places[place.min(self.places.len() - 1)];
            let surveyed = if survey.under.is_empty() {
                let (system, demands, seed) = (self.system, self.demands, plan.seed);
                Some(survey::reopen(context, system, demands, target, survey, seed, keeps_content)?)
            } else {
                None
            };
            let (site, survey) = (target.site.clone(), survey.clone());
            let (_, companions) = self.rehearse(&site)?;
            self.slots.push(BedSlot { place, site, survey, companions, surveyed });
        }
        Ok(())
    }

    /// Applies every level once, to find unavailable ones and what the kernel changes with the others (companions).
    fn rehearse(&mut self, site: &Site) -> Outcome<(Vec<Refusal>, Companions)> {
        let (mut refused, mut companions) = (Vec::new(), Companions::new());
        let demands = self.demands;
        for Varied { name, levels, factor, .. } in demands.in_turn() {
            let Some(factor) = *factor else { continue };
            // The first level again: now it follows another one, as in the trials.
            for level in levels.iter().chain(levels.first().filter(|_| levels.len() > 1)) {
                let tried = match factor.role() {
                    Role::Setting => self.try_setting(factor, name, level, site)?,
                    Role::Observed => {
                        check_observed(factor, name, level, &View { system: self.system, site })
                            .map(|()| Vec::new())
                    }
                    Role::Layer => Ok(Vec::new()),
                };
                match tried {
                    Ok(changed) => {
                        companions.insert((name.clone(), level.clone()), changed);
                    }
                    Err(reason) => {
                        let levels = Arm::from([(name.clone(), level.clone())]);
                        if !refused.iter().any(|known: &Refusal| known.levels == levels) {
                            refused.push(Refusal { levels, reason });
                        }
                    }
                }
            }
        }
        if let Some(guard) = &self.guard {
            guard.restore_settings()?;
        }
        Ok((refused, companions))
    }

    /// Rehearses all levels alone, and device settings also in pairs: a scheduler restricts the queue.
    fn rehearse_all(&mut self, site: &Site) -> Outcome<(Vec<Refusal>, Companions)> {
        let (mut refused, companions) = self.rehearse(site)?;
        let mut settings = self.demands.in_turn();
        let is_of_device =
            |factor: &dyn Factor| factor.role() == Role::Setting && factor.is_of_device();
        settings.retain(|varied| varied.factor.is_some_and(is_of_device));
        for (index, first) in settings.iter().enumerate() {
            for second in &settings[index + 1..] {
                self.rehearse_pairs(first, second, site, &mut refused)?;
            }
        }
        if let Some(guard) = &self.guard {
            guard.restore_settings()?;
        }
        Ok((refused, companions))
    }

    /// Applies each pair of levels of two factors, and adds the pairs that are unavailable together.
    fn rehearse_pairs(
        &mut self,
        first: &Varied,
        second: &Varied,
        site: &Site,
        refused: &mut Vec<Refusal>,
    ) -> Outcome<()> {
        for level in &first.levels {
            for other_level in &second.levels {
                let pair = [(first, level), (second, other_level)];
                let levels: Arm =
                    pair.map(|(varied, level)| (varied.name.clone(), level.clone())).into();
                if refused.iter().any(|known| arms::matches(&levels, &known.levels)) {
                    continue;
                }
                for (varied, level) in pair {
                    let Some(factor) = varied.factor else { continue };
                    if let Err(reason) = self.try_setting(factor, &varied.name, level, site)? {
                        refused.push(Refusal { levels, reason });
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Sets one level; returns the settings that changed with it, or why it is unavailable.
    fn try_setting(
        &mut self,
        factor: &dyn Factor,
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
        Ok(Ok(wanted.iter().flat_map(|setting| guard.side_effects_of(setting)).collect()))
    }

    /// Fills the whole device as often as the study requires, unless the target is simulated (has a law).
    fn precondition(
        &mut self,
        context: &mut Context<'_>,
        place: usize,
        precondition: &Precondition,
    ) -> Outcome<()> {
        let Place { site, consent, law, others } = &self.places[place];
        if law.is_some() {
            return Ok(());
        }
        if consent.is_none() {
            identity::stake(self.system, site)?;
            return Err(Failure::mistake(format!(
                "cannot precondition {} without permission to destroy data: {}",
                site.target,
                identity::way_on("STUDY", &site.target)
            )));
        }
        let range = 0..usable_range(self.system, self.demands, site, !others.is_empty())?.range.end;
        let engine = survey::available_engine();
        // One handle for all passes: opening is exclusive.
        let opened =
            OpenTarget::open(self.system, site, consent.as_ref())?.starting_at(range.start);
        for pass in 1..=precondition.passes {
            let what =
                format!("{}, preconditioning pass {pass} of {}", site.target, precondition.passes);
            (context.tell)(Event::Making { what });
            let seed = self.seed.wrapping_add(u64::from(pass));
            let how = Fill::unlimited(engine.name, precondition.compressibility, seed);
            let length = (range.end - range.start) / area::MIB * area::MIB; // fills write whole MiB
            area::fill(context, &opened, site, length, &how)?;
        }
        drop(opened);
        if let Some(consent) = consent {
            wait_until_released(self.system, consent);
        }
        Ok(())
    }
}

/// Rejects a study with a factor without available levels, before anything is written.
fn check_levels_available(demands: &Demands, refused: &[Refusal]) -> Outcome<()> {
    for Varied { name, levels, .. } in &demands.varied {
        let refusal_of = |level: &String| {
            let is_alone = |arm: &Arm| arm.len() == 1 && arm.get(name) == Some(level);
            refused.iter().find(|refusal| is_alone(&refusal.levels))
        };
        // Some only if every level has a refusal.
        let refusals: Option<Vec<&Refusal>> = levels.iter().map(refusal_of).collect();
        if let Some([first, ..]) = refusals.as_deref() {
            return Err(Failure::refused(format!("{name}: {}", first.reason)));
        }
    }
    Ok(())
}
