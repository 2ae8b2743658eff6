//! Options of `check` that replace the speed study by the bundled study of a kind of work. The kinds define the
//! options.

use std::cmp::Reverse;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::{running, studies};
use assay_core::exhibit::parts::distinct;
use assay_core::failure::{Failure, Outcome};
use assay_study::file::{Order, Study, presets};
use assay_study::findings::OfKinds;
use assay_workloads::KindEntry;
use assay_workloads::check_option::{self, CheckOption, OptionExample, Values, by_option};

/// Options that apply only to the speed study.
const OF_SPEED: [&str; 3] = ["quick", "mix", "for"];
/// Width of the command column in the help's examples.
const LINE_COLUMNS: usize = 35;
const MARGIN: &str = "  ";
const FIRST: &[OptionExample] = &[
    OptionExample { line: "assay check", does: "check this directory" },
    OptionExample { line: "assay check --quick /media/card", does: "check a card in about 15 s" },
    OptionExample {
        line: "assay check /mnt/a /mnt/b",
        does: "compare (databases: see sync-write)",
    },
    OptionExample { line: "assay check --mix 70/30", does: "add a row of mixed reads and writes" },
    OptionExample {
        line: "assay check --for etcd /var/lib",
        does: "check requirements; exit 0, 1 or 5",
    },
    OptionExample { line: "assay check /dev/sdX", does: "read a drive (root)" },
    OptionExample {
        line: "assay check /dev/sdX --destroy ID",
        does: "overwrite a drive; assay plan prints the ID",
    },
];
const LAST: OptionExample =
    OptionExample { line: "assay check --json | jq .measurements", does: "for scripts" };

/// Returns the examples at the end of the help: those of the kinds before the last one.
pub(super) fn examples() -> String {
    let of_kinds = by_option().flat_map(|(_, option)| option.examples);
    let all = FIRST.iter().chain(of_kinds).chain([&LAST]);
    let lines = std::iter::once("Examples:".to_owned()).chain(all.map(example_lines));
    lines.collect::<Vec<_>>().join("\n")
}

/// Formats an example; a long command puts its description on the next line.
fn example_lines(OptionExample { line, does }: &OptionExample) -> String {
    if line.len() < LINE_COLUMNS {
        return format!("{MARGIN}{line:LINE_COLUMNS$}{does}");
    }
    format!("{MARGIN}{line}\n{MARGIN}{:LINE_COLUMNS$}{does}", "")
}

/// Given options, in the order of the kinds.
#[derive(Debug)]
pub(super) struct KindOptions(Vec<GivenOption>);

#[derive(Debug)]
struct GivenOption {
    kind: &'static KindEntry,
    option: &'static CheckOption,
    value: Option<String>,
}

impl Args for KindOptions {
    fn augment_args(command: Command) -> Command {
        command.args(by_option().map(|(kind, option)| clap_argument(kind, option)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn clap_argument(kind: &KindEntry, option: &CheckOption) -> Arg {
    let name = kind.about.name;
    let arg = Arg::new(name).long(name).help(option.help).conflicts_with_all(OF_SPEED);
    match &option.values {
        None => arg.action(ArgAction::SetTrue),
        Some(values) => arg
            .action(ArgAction::Set)
            .value_name(values.names)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(values.usual()),
    }
}

impl FromArgMatches for KindOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = by_option().filter_map(|(kind, option)| given_option(kind, option, matches));
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns an option with its value; `None` if the line does not contain it.
fn given_option(
    kind: &'static KindEntry,
    option: &'static CheckOption,
    matches: &ArgMatches,
) -> Option<GivenOption> {
    let name = kind.about.name;
    if option.values.is_some() {
        let value = Some(matches.get_one::<String>(name)?.clone());
        return Some(GivenOption { kind, option, value });
    }
    matches.get_flag(name).then_some(GivenOption { kind, option, value: None })
}

impl KindOptions {
    pub(super) fn takes_all(&self) -> bool {
        self.0.iter().any(|given| check_option::takes_all(given.kind))
    }

    pub(super) fn typed(&self) -> String {
        self.0.iter().map(GivenOption::typed).collect::<Vec<_>>().join(" ")
    }

    /// Returns the bundled study: for speed, for one option, or the combined studies of several options.
    pub(super) fn study(&self) -> Outcome<Study> {
        let Some((first, others)) = self.0.split_first() else { return presets::check() };
        let mut study = first.study()?;
        for other in others {
            let at = if other.option.goes_first { 0 } else { study.workload.len() };
            study.workload.splice(at..at, other.study()?.workload);
            study.order = Order::Sequential;
        }
        Ok(study)
    }
}

impl GivenOption {
    /// Returns the option as typed, without a default value.
    fn typed(&self) -> String {
        let name = self.kind.about.name;
        let usual = self.option.values.as_ref().map(Values::usual);
        match self.value.as_deref().filter(|value| Some(*value) != usual) {
            Some(value) => format!("--{name}={value}"),
            None => format!("--{name}"),
        }
    }

    fn study(&self) -> Outcome<Study> {
        let name = self.kind.about.name;
        let mut study = studies::preset(name)?;
        if let (Some(values), Some(value)) = (&self.option.values, &self.value) {
            apply_value(values, value, &mut study)
                .map_err(|valid| mistake!("--{name}={value}: use {valid}"))?;
        }
        Ok(study)
    }
}

/// Applies a value to the study; fails with the list of valid values.
fn apply_value(values: &Values, value: &str, study: &mut Study) -> Result<(), String> {
    if !values.all().any(|known| known == value) {
        return Err(values.all().collect::<Vec<_>>().join(" or "));
    }
    study.workload.iter_mut().for_each(|workload| (values.set)(&mut workload.work, value));
    Ok(())
}

/// Returns the most severe failure among the findings. `only` is the target if just one was given.
pub(super) fn gate(work: &OfKinds, only: &str) -> Option<Failure> {
    let mut failures = Vec::new();
    for gate in by_option().flat_map(|(_, option)| option.gates) {
        let met = work.all().filter(|facts| (gate.is_met)(facts));
        let targets = met.map(|facts| facts.subject().arm.get("target").cloned());
        let targets = distinct(targets.map(|target| target.unwrap_or_else(|| only.to_owned())));
        if !targets.is_empty() {
            failures.push((gate.failure)(&targets.join(", ")));
        }
    }
    // The first of equally severe ones.
    failures.into_iter().min_by_key(|failure| Reverse(running::severity(failure.kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> KindOptions {
        let others = OF_SPEED.map(|name| Arg::new(name).long(name).action(ArgAction::SetTrue));
        let command = KindOptions::augment_args(Command::new("check").args(others));
        let line = std::iter::once("check").chain(words.iter().copied());
        let matches = command.try_get_matches_from(line).unwrap();
        KindOptions::from_arg_matches(&matches).unwrap()
    }

    fn kinds(study: &Study) -> Vec<&'static str> {
        study.workload.iter().map(|own| own.work.kind().about.name).collect()
    }

    #[test]
    fn each_option_runs_the_study_of_its_kind_and_without_one_it_is_that_of_speed() {
        assert_eq!(asked(&[]).study().unwrap(), presets::check().unwrap());
        assert!(!asked(&[]).takes_all());
        for (kind, option) in by_option() {
            let name = kind.about.name;
            let alone = asked(&[&format!("--{name}")]);
            let study = alone.study().unwrap();
            assert_eq!(
                study,
                presets::find(name).unwrap().unwrap(),
                "the usual value changes nothing"
            );
            assert_eq!(alone.takes_all(), study.needs_whole(), "{name}");
            for value in option.values.iter().flat_map(Values::all) {
                let study = asked(&[&format!("--{name}={value}")]).study().unwrap();
                let mut work = (kind.sample)();
                (option.values.as_ref().unwrap().set)(&mut work, value);
                assert!(study.workload.iter().all(|own| own.work == work), "{name}={value}");
            }
        }
    }

    #[test]
    fn options_are_told_as_they_were_typed_and_no_other() {
        for (kind, option) in by_option() {
            let bare = format!("--{}", kind.about.name);
            assert_eq!(asked(&[&bare]).typed(), bare);
            let Some(values) = &option.values else { continue };
            for value in values.all().filter(|value| *value != values.usual()) {
                let own = format!("{bare}={value}");
                assert_eq!(asked(&[&own]).typed(), own);
            }
        }
        assert_eq!(asked(&[]).typed(), "");
    }

    #[test]
    fn several_options_make_one_study_in_which_that_comes_first_which_has_to() {
        let names: Vec<String> =
            by_option().map(|(kind, _)| format!("--{}", kind.about.name)).collect();
        if names.len() < 2 {
            return;
        }
        let study = asked(&names.iter().map(String::as_str).collect::<Vec<_>>()).study().unwrap();
        assert_eq!(study.order, Order::Sequential);
        let goes_first = |name: &&str| {
            by_option().any(|(kind, option)| kind.about.name == *name && option.goes_first)
        };
        let kinds = kinds(&study);
        assert!(by_option().all(|(kind, _)| kinds.contains(&kind.about.name)), "{kinds:?}");
        assert!(kinds.iter().is_sorted_by_key(|name| Reverse(goes_first(name))), "{kinds:?}");
    }

    #[test]
    fn a_value_that_is_none_is_a_mistake_that_names_those_there_are() {
        for (kind, option) in by_option() {
            let Some(values) = &option.values else { continue };
            let name = kind.about.name;
            let failure = asked(&[&format!("--{name}=slow")]).study().unwrap_err();
            assert!(failure.message.starts_with(&format!("--{name}=slow: use ")), "{failure}");
            assert!(values.all().all(|value| failure.message.contains(value)), "{failure}");
        }
    }

    #[test]
    fn silent_where_no_kind_tells_anything() {
        assert_eq!(gate(&OfKinds::default(), "/media/card"), None);
    }

    #[test]
    fn examples_stand_in_two_columns_and_the_last_is_for_scripts() {
        let text = examples();
        assert!(
            text.starts_with(
                "Examples:\n  assay check                        check this directory\n"
            )
        );
        assert!(text.ends_with("for scripts"));
        for line in text.lines().skip(1) {
            assert!(line.starts_with(MARGIN) && !line.ends_with(' '), "{line:?}");
        }
        for (_, option) in by_option() {
            assert!(option.examples.iter().all(|one| text.contains(&example_lines(one))));
        }
    }
}
