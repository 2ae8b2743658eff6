//! Workloads: what a study can measure.
//!
//! It contains everything that only one kind knows, in one folder: its keys in study files, its parameters, its
//! planning, running and measuring, its metrics and its words. Common parts are in `assay-core`, conclusions from
//! numbers in `assay-analysis`. `assay-load` transfers and times data.
//!
//! Main types: [`Work`] (as requested by a study), [`WorkPlan`] (its plan), [`Measured`] (its result), [`Parameter`]
//! (possible settings of a level), [`Claims`] (ratings of a device).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod background;
pub mod check_option;
mod emptied;
mod keys;
pub mod measured;
pub mod metrics;
mod phases;
pub mod place;
pub mod recorded;
pub mod tell;
#[cfg(test)]
mod testing;
mod workload;

#[macro_use]
mod registry;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::{Field, Fields, Form, field, needed, one_of};
use assay_core::exhibit::{Exhibit, Subject};
use assay_core::quantity::played::PlayedClass;
use assay_machine::system::powered::VmNeeds;

pub use background::Background;
pub use measured::{Claims, Count, Counts, Histograms, Measured, OwnMetric, RunResult, SeriesRow};
pub use place::{Area, DirectUse, EngineUse, Offer, Programs, Run, TestMedium};
pub use workload::{
    Basis, Complaints, InStudy, KindEntry, LinkNeeds, ManualCommand, ManualRun, Needs,
    OwnParameter, Parameter, PlannedWork, Touch, WorkloadKind, WorkloadSpec,
};

kinds! {
    io = Io(IoSpec, IoPlan, IoDetail) tells TraceFacts,
    command = Command(CommandSpec, CommandPlan, CommandDetail),
    production = Production(ProductionSpec, ProductionPlan, ProductionDetail),
    stacks = Stacks(StacksSpec, StacksPlan, StacksDetail),
    micro = Micro(MicroSpec, MicroPlan, MicroDetail),
    boot = Boot(BootSpec, BootPlan, BootDetail) tells BootFacts,
    files = Files(FilesSpec, FilesPlan, FilesDetail),
    memory = Memory(MemorySpec, MemoryPlan, MemoryDetail),
    network = Network(NetworkSpec, NetworkPlan, NetworkDetail),
    capacity = Capacity(CapacitySpec, CapacityPlan, CapacityDetail) tells CapacityFacts,
    sustained = Sustained(SustainedSpec, SustainedPlan, SustainedDetail) tells SustainedFacts,
    steady_state = SteadyState(SteadyStateSpec, SteadyStatePlan, SteadyStateDetail) tells SteadyStateFacts,
    burst = Burst(BurstSpec, BurstPlan, BurstDetail) tells BurstFacts,
    replay = Replay(ReplaySpec, ReplayPlan, ReplayDetail) tells ReplayFacts,
    durability = Durability(DurabilitySpec, DurabilityPlan, DurabilityDetail) tells DurabilityFacts,
}

const NAME: Field = needed(
    "name",
    Form::Name,
    "unique name: lower-case letters, digits and -",
    "name = \"random-read\"",
);

const BACKGROUND: Field = field(
    "background",
    Form::Table(&io::BACKGROUND),
    "background load in the other half of the area; measured but not compared",
    "background = { pattern = \"random\", mix = \"write\", block_size = \"1 MiB\", direct = false }",
);

const OPTIONAL: Field = field(
    "optional",
    Form::Flag,
    "skip the workload and report the reason if it cannot run, such as a missing program; false by default",
    "optional = true",
);

pub static COPY: Parameter = Parameter {
    about: About {
        name: "aa_copy",
        summary: "identical settings (A/A control), to measure the noise floor",
        text: "Has no effect; any difference between its levels is noise.",
    },
    example: "[\"a\", \"b\", \"c\"]",
    is_work: false,
    written: None,
};

impl Work {
    pub fn programs(&self) -> Vec<&str> {
        let Self::Command(command) = self else { return Vec::new() };
        command.needs.iter().map(String::as_str).collect()
    }

    /// Returns whether a command line of the work names a factor: then each level is different work.
    pub fn names_factor(&self, factor: &str, study: &InStudy<'_>) -> bool {
        matches!(self, Self::Command(own) if own.names_factor(factor, study))
    }

    /// Returns whether the programs of the work may report a metric of this name.
    pub fn may_report(&self, metric: &str) -> bool {
        matches!(self, Self::Command(own) if own.may_report(metric))
    }

    /// Returns what the work requires of the network, or `None` if it loads no link.
    pub fn link_needs(&self, study: &InStudy<'_>) -> Option<LinkNeeds> {
        if let Self::Network(network) = self { Some(network.link_needs(study)) } else { None }
    }

    /// Whether it needs a peer on another machine, which accepts only the token shared with it.
    pub fn needs_token(&self) -> bool {
        match self {
            Self::Network(network) => network.has_remote_peer(),
            // The peer remembers what this machine had written when its power was cut.
            Self::Durability(durability) => durability.is_plug() && durability.peer.is_some(),
            _ => false,
        }
    }

    /// Returns what the virtual machines of the work need, or `None` if it starts none.
    pub fn vm_needs(&self) -> Option<VmNeeds> {
        match self {
            Self::Durability(durability) if durability.is_in_machine() => {
                Some(durability.vm_needs())
            }
            _ => None,
        }
    }

    pub fn makes_machines(&self) -> bool {
        self.vm_needs().is_some()
    }

    /// Returns the work if its trials are recorded by others and not run.
    pub fn records(&self) -> Option<&recorded::RecordedWork> {
        boot::BootSpec::of(self)
    }

    /// Whether its trials continue after a restart of the machine.
    pub fn outlives_cuts(&self) -> bool {
        matches!(self, Self::Durability(own) if own.is_plug())
    }

    /// Whether it is production work, which is observed and never generated.
    pub fn is_others(&self) -> bool {
        matches!(self, Self::Production(_))
    }

    /// Whether it drops the page cache, which needs root.
    pub fn drops_caches(&self) -> bool {
        match self {
            Self::Command(own) => own.drop_caches,
            Self::Files(own) => own.drop_caches,
            _ => false,
        }
    }
}

impl WorkPlan {
    #[must_use]
    pub fn halved(&self) -> Self {
        self.half().unwrap_or_else(|| self.clone())
    }

    pub fn makes_machines(&self) -> bool {
        matches!(self, Self::Durability(own) if own.is_in_machine())
    }

    pub fn outlives_cuts(&self) -> bool {
        matches!(self, Self::Durability(own) if own.is_plug())
    }

    /// Returns why the work has no operations of a class, if it lists its classes.
    pub fn missing_class(&self, class: &PlayedClass) -> Option<String> {
        if let Self::Replay(replay) = self { replay.missing_class(class) } else { None }
    }

    /// Returns whether short pieces of the work vary like whole trials.
    pub fn can_be_cut(&self) -> bool {
        matches!(self, Self::Io(own) if own.can_be_cut())
    }

    pub fn is_others(&self) -> bool {
        matches!(self, Self::Production(_))
    }

    pub fn is_of_speed(&self) -> bool {
        !matches!(self, Self::Capacity(_))
    }

    /// Factor over the baseline's worst at which a level is rolled back, if it is.
    pub fn harm(&self) -> Option<f64> {
        if let Self::Production(production) = self { production.harm.factor() } else { None }
    }

    /// Whether it uses more memory than its limit: swapping and OOM kills are its result.
    pub fn wants_memory(&self) -> bool {
        matches!(self, Self::Memory(_))
    }

    /// Whether nothing ran: other programs' work was observed.
    pub fn is_only_watched(&self) -> bool {
        matches!(self, Self::Io(own) if own.is_only_watched())
    }

    /// Whether others recorded its trials: then no trust rule applies to them.
    pub fn is_recorded(&self) -> bool {
        self.kind().recording.is_some()
    }
}

pub fn figures() -> impl Iterator<Item = &'static tell::FactsFigure> {
    FIGURES.iter().copied().flatten()
}

/// Figures of seconds of single kinds of work.
pub fn own_figures() -> impl Iterator<Item = &'static tell::OwnFigure> {
    KINDS.iter().filter_map(|kind| kind.shown?.figure)
}

/// Parameters of all kinds of work that a study may vary, each name once.
pub fn parameters() -> &'static [Parameter] {
    // Used for each arm of each comparison.
    static ALL: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
        let all = KINDS.iter().flat_map(|kind| (kind.parameters)()).chain([COPY]);
        let mut seen = BTreeSet::new();
        all.filter(|parameter| seen.insert(parameter.about.name)).collect()
    });
    &ALL
}

pub fn parameter(name: &str) -> Option<&'static Parameter> {
    parameters().iter().find(|parameter| parameter.about.name == name)
}

/// Whether levels of a factor are different work, and not a choice for the same work.
pub fn is_work(name: &str) -> bool {
    parameter(name).is_some_and(|parameter| parameter.is_work)
}

/// The key of a parameter in the table of the first kind that has it.
pub fn key(parameter: &str) -> Option<&'static Field> {
    KINDS.iter().find_map(|kind| kind.keys.find(parameter))
}

/// Work of a kind with one parameter at a level; `None` without this parameter.
pub fn at_level(kind: &KindEntry, parameter: &str, level: &str) -> Option<Result<Work, String>> {
    let mut work = (kind.sample)();
    Some(work.set(parameter, level)?.map(|()| work))
}

fn set<K: WorkloadKind>(spec: &mut K, name: &str, level: &str) -> Option<Result<(), String>> {
    if name == COPY.about.name {
        return Some(Ok(()));
    }
    let parameter = K::FACTORS.iter().find(|known| known.about.about.name == name)?;
    Some((parameter.set)(spec, level).and_then(|()| spec.check_factor(name)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::command::REVISION;
    use super::*;

    #[test]
    fn every_kind_introduces_itself() {
        let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.about.name).collect();
        assert_eq!(names.len(), KINDS.len(), "a name stands twice");
        for kind in KINDS {
            let About { name, summary, text } = kind.about;
            assert!(name.bytes().all(|sign| matches!(sign, b'a'..=b'z' | b'_')), "{name}");
            assert!(!summary.is_empty() && !summary.ends_with('.'), "{name}");
            assert!(text.ends_with('.'), "{name}");
            assert_eq!(kind.keys.label, name);
            assert!(kind.judged.contains(&Basis::Machine), "{name}: a machine is always there");
            assert!(!kind.metrics.is_empty(), "{name} measures nothing");
            assert_eq!((kind.sample)().kind().about.name, name);
        }
    }

    #[test]
    fn work_is_written_below_the_name_of_its_kind() {
        for kind in KINDS {
            let work = (kind.sample)();
            let written = serde_json::to_value(&work).unwrap();
            let keys: Vec<&String> = written.as_object().unwrap().keys().collect();
            assert_eq!(keys, [kind.about.name]);
            assert_eq!(serde_json::from_value::<Work>(written).unwrap(), work);
        }
    }

    #[test]
    fn every_word_of_a_key_is_read() {
        for kind in KINDS {
            for field in kind.keys.rows {
                let Form::Word(words) = field.form else { continue };
                for word in words() {
                    let mut written = serde_json::to_value((kind.sample)()).unwrap();
                    written[kind.about.name][field.name] = word.into();
                    let read: Work = serde_json::from_value(written.clone()).unwrap();
                    let again = serde_json::to_value(&read).unwrap();
                    let kept = again[kind.about.name].get(field.name);
                    assert!(kept.is_none_or(|kept| *kept == word), "{} = {word}", field.name);
                }
            }
        }
    }

    #[test]
    fn every_example_level_is_accepted_and_errors_fit_on_a_line() {
        for kind in KINDS {
            for parameter in (kind.parameters)() {
                let name = parameter.about.name;
                let levels: Vec<serde_json::Value> =
                    serde_json::from_str(parameter.example).unwrap();
                assert!(!levels.is_empty(), "{name}");
                for level in levels {
                    let text = level.as_str().map_or_else(|| level.to_string(), str::to_owned);
                    at_level(kind, name, &text).unwrap().unwrap();
                }
                if let Err(told) = at_level(kind, name, "no such / thing").unwrap() {
                    assert!(!told.is_empty() && !told.contains('\n'), "{name}: {told}");
                } else {
                    let any = ["command", "prepare", REVISION, "env:NAME"];
                    assert!(any.contains(&name), "{}: {name}", kind.about.name);
                }
            }
        }
    }

    /// A page finds the rows of a kind by that metric alone.
    #[test]
    fn what_rows_of_a_kind_are_known_by_no_other_kind_has() {
        let has = |kind: &&&KindEntry, name: &str| {
            kind.metrics.iter().copied().flatten().any(|metric| metric.name == name)
        };
        let who = |metric: &str| -> Vec<&str> {
            KINDS.iter().filter(|kind| has(kind, metric)).map(|kind| kind.about.name).collect()
        };
        for kind in KINDS {
            let Some(shown) = kind.shown else { continue };
            assert_eq!(who(shown.known_by), [kind.about.name]);
            assert!(shown.figure.is_none_or(|figure| figure.known_by == shown.known_by));
        }
        let first = KINDS[0];
        assert!(first.shown.is_none() && who(first.metrics[0][0].name).contains(&first.about.name));
    }

    #[test]
    fn a_parameter_has_the_same_words_in_all_kinds() {
        let all = KINDS.iter().flat_map(|kind| (kind.parameters)());
        for one in all {
            let known = parameter(one.about.name).unwrap();
            assert_eq!(known.is_work, one.is_work, "{}", one.about.name);
            assert!(!one.about.summary.is_empty() && one.about.text.ends_with('.'));
        }
        assert!(is_work("pattern") && !is_work("queue_depth") && !is_work("filesystem"));
    }
}
