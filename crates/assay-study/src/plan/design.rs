//! The requirements and the comparison of a study, derived once and passed to each step. Pure.

use std::collections::BTreeMap;

use assay_core::quantity::{Bytes, Time};
use assay_machine::factors::layers::{self, Layer};
use assay_machine::factors::{self, Factor, Role};
use assay_workloads::io::{self, Content, Mix, Poll, poll};
use assay_workloads::{LinkNeeds, Needs, Touch, Work};

use super::arms::{self, ArmLayout, PlannedArm};
use super::{budget, planned_workloads};
use crate::file::{AreaKeys, Cache, Fresh, Precondition, Study, Target, Workload};
use crate::results::plan::{Arm, PlannedWorkload, Survey, pilot_key};

const CONTENT: &str = "compressibility";
const MIX: &str = "mix";

/// Requirements of a study on the machine and its targets, before Assay resolves them.
#[derive(Clone)]
pub struct Demands {
    /// Name of the shipped study, if it is one.
    pub preset: Option<String>,
    /// Names of all factors that its arms, its baseline and its levels name, in that order.
    pub named: Vec<String>,
    pub varied: Vec<Varied>,
    pub ground: TargetGround,
    pub made: MadeLayers,
    pub area: AreaKeys,
    pub uses: Uses,
    pub filled: Filled,
    pub polls: bool,
    pub precondition: Option<Precondition>,
    pub discard: bool,
    pub page_cache: Option<Cache>,
    pub wait_idle: Option<Time>,
    pub fresh: Fresh,
    pub network: Network,
    pub kept: PermanentChanges,
    pub work: Vec<Workload>,
    pub has_margin: bool,
    pub budget_ns: u64,
    pub probes: Vec<String>,
    pub meter: Option<String>,
}

#[derive(Clone)]
pub struct Varied {
    pub name: String,
    pub levels: Vec<String>,
    /// The factor; `None` for a factor of the workload.
    pub factor: Option<&'static dyn Factor>,
    rank: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetGround {
    Named,
    /// On several block devices that form one place.
    Together(Vec<String>),
    Own {
        size: Bytes,
        members: u32,
    },
}

#[derive(Clone)]
pub struct MadeLayers {
    pub any: bool,
    /// Whether the layers are on a device, not on a directory.
    pub on_device: bool,
    /// Name of the uppermost layer: `file system`.
    pub noun: &'static str,
    /// Layers that the study chooses, the lowest first.
    layers: Vec<&'static dyn Layer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uses {
    pub area: bool,
    /// The whole device, or all free space of a directory.
    pub whole: bool,
    pub directory: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Initial content: data for the first read, or of the writes.
    pub content: Content,
    pub stays: bool,
    /// Whether any workload trims, zeroes or duplicates data in it.
    pub clears: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Whether Assay creates network namespaces with a slow link.
    pub makes_link: bool,
    pub changes: bool,
    /// Error hint for a link load without a peer.
    pub to_nobody: Option<String>,
    /// Whether a peer on another machine is needed, which accepts only the token shared with it.
    pub needs_token: bool,
    pub shaped: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermanentChanges {
    /// Settings that the whole machine has once.
    pub settings: bool,
    /// The drives below its targets; drives below created devices stay shared.
    pub drives: bool,
}

impl Demands {
    /// Collects what a study needs from the machine.
    pub fn from_study(study: &Study) -> Self {
        let ground = TargetGround::from_study(study);
        let links = Network::from_links(study.links());
        let network = Network { needs_token: study.needs_token(), ..links };
        let varied: Vec<Varied> =
            study.factors.iter().map(|(name, levels)| Varied::new(name, levels)).collect();
        Self {
            preset: study.preset.clone(),
            named: named(study),
            kept: PermanentChanges::from_study(study, &ground, &network),
            made: MadeLayers::from_study(study),
            uses: Uses {
                area: study.needs_area(),
                whole: study.needs_whole(),
                directory: study.works_in_directory(),
            },
            filled: Filled::from_study(study),
            polls: polls(study),
            varied,
            ground,
            network,
            area: study.area.clone(),
            precondition: study.precondition.clone(),
            discard: study.discard,
            page_cache: study.page_cache,
            wait_idle: study.wait_idle,
            fresh: study.recreate_per,
            work: study.workload.clone(),
            has_margin: study.margin.is_some(),
            budget_ns: budget::whole_ns(study, 1),
            probes: study.probes.clone(),
            meter: study.power_meter.clone(),
        }
    }

    pub fn in_turn(&self) -> Vec<&Varied> {
        let mut varied: Vec<&Varied> = self.varied.iter().collect();
        varied.sort_by_key(|factor| factor.rank);
        varied
    }

    /// Size of the device that Assay creates as target; `None` for an existing target.
    pub fn own_target(&self) -> Option<Bytes> {
        match self.ground {
            TargetGround::Own { size, .. } => Some(size),
            TargetGround::Named | TargetGround::Together(_) => None,
        }
    }

    pub fn needs_root(&self) -> bool {
        let changes_setting =
            |factor: &Varied| factor.role().is_some_and(|role| role != Role::Observed);
        self.own_target().is_some()
            || self.made.any
            || self.network.changes
            || self.drops_caches()
            || self.varied.iter().any(changes_setting)
    }

    /// Returns whether any trial drops the page cache, by a key or a level.
    fn drops_caches(&self) -> bool {
        let mut arms = vec![Arm::new()];
        for Varied { name, levels, .. } in &self.varied {
            arms.extend(levels.iter().map(|level| Arm::from([(name.clone(), level.clone())])));
        }
        let mut works = self.work.iter().flat_map(|work| arms.iter().map(|arm| work.under(arm)));
        works.any(|work| work.is_ok_and(|work| work.work.drops_caches()))
    }

    pub fn watches(&self) -> bool {
        self.work.iter().any(|workload| workload.work.is_others())
    }

    pub fn runs_programs(&self) -> bool {
        self.work.iter().any(|workload| workload.work.kind().runs_programs)
    }

    pub fn sets(&self) -> bool {
        self.varied.iter().any(Varied::changes)
    }

    pub fn changes(&self) -> bool {
        self.own_target().is_some() || self.network.changes || self.sets()
    }

    pub fn gives_up_data(&self) -> bool {
        self.precondition.is_some() || self.made.on_device || self.uses.whole
    }
}

/// Returns whether any workload polls for completions, by its key or a level.
fn polls(study: &Study) -> bool {
    let asks = |workload: &Workload| {
        io::IoSpec::of(&workload.work).is_some_and(|io| io.polled() == Poll::Iopoll)
    };
    let levels = study.factors.get(poll::NAME);
    levels.is_some_and(|levels| levels.iter().any(|level| level == Poll::Iopoll.name()))
        || study.workload.iter().any(asks)
}

fn named(study: &Study) -> Vec<String> {
    let arms = study.configurations.iter().chain([&study.baseline]).flat_map(Arm::keys);
    arms.chain(study.factors.keys()).cloned().collect()
}

impl Varied {
    fn new(name: &str, levels: &[String]) -> Self {
        Self {
            name: name.to_owned(),
            levels: levels.to_vec(),
            factor: factors::find(name),
            rank: factors::rank(name),
        }
    }

    /// Kind of change; `None` for a factor of the workload.
    pub fn role(&self) -> Option<Role> {
        self.factor.map(Factor::role)
    }

    pub fn changes(&self) -> bool {
        self.role().is_some_and(Role::changes)
    }
}

impl TargetGround {
    fn from_study(study: &Study) -> Self {
        match &study.target {
            Some(Target::Loop(size)) => Self::Own { size: *size, members: study.loop_devices() },
            Some(Target::Devices(paths)) => Self::Together(paths.clone()),
            _ => Self::Named,
        }
    }
}

impl MadeLayers {
    fn from_study(study: &Study) -> Self {
        Self {
            any: arms::makes_layers(study),
            on_device: arms::makes_on_device(study),
            noun: layers::noun(study.factors.keys()),
            layers: layers::chosen(study.factors.keys()).collect(),
        }
    }

    /// Minimum size of a device so that its layers can contain `bytes`.
    pub fn least(&self, bytes: u64) -> u64 {
        self.layers.iter().rev().fold(bytes, |bytes, layer| layer.least(bytes))
    }
}

impl Filled {
    /// Determines the first content of the area, and whether all trials leave it unchanged.
    fn from_study(study: &Study) -> Self {
        let touches = || study.workload.iter().flat_map(Workload::touches);
        let for_reads = touches().find_map(|touch| touch.finds);
        let written = || touches().find_map(|touch| touch.writes);
        // Reads need certain data; without reads, the area gets what the writes write.
        let content = for_reads.or_else(written).unwrap_or_default();
        let leaves_content = |touch: Touch| touch.writes.is_none_or(|written| written == content);
        let is_clearing = |level: &String| level.parse::<Mix>().is_ok_and(Mix::clears);
        let clears = touches().any(|touch| touch.clears)
            || study.factors.get(MIX).is_some_and(|levels| levels.iter().any(is_clearing));
        let varies = clears || study.factors.contains_key(CONTENT);
        let stays = !varies && touches().all(leaves_content);
        Self { content, stays, clears }
    }
}

impl Network {
    /// Combines the needs of all links; lists their interfaces only if a link is shaped.
    fn from_links(links: impl Iterator<Item = LinkNeeds>) -> Self {
        let (mut found, mut is_shaped) = (Self::default(), false);
        for link in links {
            found.makes_link |= link.in_lab;
            found.changes |= link.changes;
            found.to_nobody = found.to_nobody.or(link.to_nobody);
            found.shaped.extend(link.interfaces);
            is_shaped |= link.shaped;
        }
        if !is_shaped {
            found.shaped.clear();
        }
        found.shaped.sort_unstable();
        found.shaped.dedup();
        found
    }
}

impl PermanentChanges {
    /// Determines whether a study must lock the settings of the machine, and the drives of its targets.
    fn from_study(study: &Study, ground: &TargetGround, network: &Network) -> Self {
        let names = || study.factors.keys().map(String::as_str);
        let uses_target = study.workload.iter().any(|workload| {
            let has_area =
                workload.work.needs() != Needs::Nothing && !workload.work.kind().runs_programs;
            has_area || workload.background.is_some() || workload.work.is_others()
        });
        let uses_drives =
            uses_target || names().any(factors::is_of_device) || study.precondition.is_some();
        let is_own = matches!(ground, TargetGround::Own { .. });
        Self {
            settings: network.changes && !network.makes_link || names().any(factors::is_of_machine),
            drives: !is_own && uses_drives,
        }
    }
}

pub struct ResolvedDesign<'d> {
    pub demands: &'d Demands,
    pub layout: ArmLayout,
}

impl<'d> ResolvedDesign<'d> {
    pub fn new(study: &Study, demands: &'d Demands, targets: &[String]) -> Self {
        Self { demands, layout: ArmLayout::new(study, targets) }
    }

    pub fn makes_directory(&self) -> bool {
        self.demands.made.on_device && layers::give_directory(&self.layout.bases)
    }

    /// Every workload under every arm, on any target, by its key, and whether it is optional.
    pub fn all_work(&self) -> BTreeMap<String, (Work, bool)> {
        let mut all = BTreeMap::new();
        for arm in &self.layout.arms {
            for workload in &self.demands.work {
                if let Ok(changed) = workload.under(arm) {
                    let key = pilot_key(&workload.name, arm);
                    all.insert(key, (changed.work, changed.optional));
                }
            }
        }
        all
    }

    pub fn under_baseline(&self, survey: &Survey) -> Vec<PlannedWorkload> {
        let surveys = std::slice::from_ref(survey);
        let baseline = &self.layout.design.baseline;
        let is_baseline = |arm: &PlannedArm| arms::matches(&arm.levels, baseline);
        let placed = self.layout.placed(surveys).into_iter().find(is_baseline);
        planned_workloads(&self.demands.work, placed.as_slice(), surveys).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::presets;

    fn preset(name: &str) -> Study {
        presets::find(name).unwrap().unwrap()
    }

    #[test]
    fn what_is_made_needs_root_a_journal_and_a_device() {
        let demands = Demands::from_study(&preset("filesystems"));
        assert!(demands.made.any && demands.made.on_device && demands.changes());
        assert!(demands.gives_up_data() && demands.kept.drives);
        assert_eq!(demands.made.noun, "file system");
        assert!(demands.made.least(1 << 30) >= 1 << 30);
        let in_lab = Demands::from_study(&preset("filesystems").in_lab());
        assert!(matches!(in_lab.ground, TargetGround::Own { members: 1, .. }));
        assert!(!in_lab.kept.drives, "what it makes is its own");
        let mut files = preset("small-files");
        assert!(!Demands::from_study(&files).needs_root());
        files.factors = [("drop_caches".to_owned(), vec!["true".to_owned()])].into();
        assert!(Demands::from_study(&files).needs_root());
    }

    #[test]
    fn silent_where_work_alone_varies() {
        let demands = Demands::from_study(&preset("queue-depth"));
        assert!(!demands.changes() && !demands.made.any && !demands.gives_up_data());
        assert!(!demands.watches() && !demands.runs_programs() && !demands.kept.settings);
        assert_eq!(demands.network, Network::default());
        assert_eq!((&demands.ground, demands.uses.area), (&TargetGround::Named, true));
        assert!(demands.varied.iter().all(|own| own.role().is_none()));
    }

    #[test]
    fn others_work_is_watched() {
        let live = Demands::from_study(&preset("production"));
        assert!(live.watches() && live.sets() && live.kept.drives && !live.uses.directory);
    }

    fn link(interface: &str) -> LinkNeeds {
        LinkNeeds { changes: true, interfaces: vec![interface.to_owned()], ..LinkNeeds::default() }
    }

    #[test]
    fn what_links_ask_is_asked_together_and_each_interface_once() {
        let nobody = LinkNeeds { to_nobody: Some("name one".to_owned()), ..link("eth1") };
        let shaped = LinkNeeds { shaped: true, ..link("eth0") };
        let found = Network::from_links([nobody, shaped, link("eth1")].into_iter());
        assert_eq!(found.shaped, ["eth0", "eth1"]);
        assert_eq!(found.to_nobody.as_deref(), Some("name one"));
        assert!(found.changes && !found.makes_link);
        let plain = Network::from_links([link("eth0")].into_iter());
        let expected = Network { changes: true, ..Network::default() };
        assert_eq!(plain, expected, "nothing is shaped");
        assert_eq!(Network::from_links(std::iter::empty()), Network::default());
    }

    /// A created link cannot disturb others; the host's interface can.
    #[test]
    fn a_link_of_this_machine_keeps_others_off_its_settings() {
        let depth = preset("queue-depth");
        let kept = |own: LinkNeeds| {
            PermanentChanges::from_study(
                &depth,
                &TargetGround::Named,
                &Network::from_links([own].into_iter()),
            )
            .settings
        };
        assert!(kept(link("eth0")));
        assert!(!kept(LinkNeeds { in_lab: true, ..link("eth0") }) && !kept(LinkNeeds::default()));
    }

    #[test]
    fn what_is_made_comes_before_what_is_set_on_it() {
        let mut study = preset("filesystems");
        study.factors.insert("scheduler".to_owned(), vec!["none".to_owned()]);
        study.factors.insert("dirty_ratio".to_owned(), vec!["5".to_owned()]);
        let demands = Demands::from_study(&study);
        let names: Vec<&str> = demands.in_turn().iter().map(|own| own.name.as_str()).collect();
        assert_eq!(names, ["filesystem", "scheduler", "dirty_ratio", "threads"]);
        assert_eq!(demands.varied[0].name, "dirty_ratio", "by name");
    }

    #[test]
    fn an_area_stays_as_it_is_where_all_work_writes_the_same() {
        let check = preset("check");
        let filled = Demands::from_study(&check).filled;
        assert!(filled.stays);
        let mut varied = check;
        varied.factors.insert(CONTENT.to_owned(), vec!["100%".to_owned()]);
        assert_eq!(Demands::from_study(&varied).filled, Filled { stays: false, ..filled });
        let mut trimmed = preset("check");
        trimmed.factors.insert(MIX.to_owned(), vec!["read".to_owned(), "trim".to_owned()]);
        let found = Demands::from_study(&trimmed).filled;
        assert_eq!(found, Filled { stays: false, clears: true, ..filled });
    }

    #[test]
    fn each_workload_is_tried_under_each_arm_and_planned_under_the_baseline() {
        let study = preset("filesystems").settled();
        let demands = Demands::from_study(&study);
        let design = ResolvedDesign::new(&study, &demands, &["a".to_owned()]);
        assert!(design.makes_directory());
        assert_eq!(design.all_work().len(), study.cells());
        let survey = crate::plan::tests::survey("a", 50_000);
        let planned = design.under_baseline(&survey);
        assert_eq!(planned.len(), study.workload.len());
        assert!(planned.iter().all(|own| own.arm["threads"] == "1"), "{planned:?}");
    }
}
