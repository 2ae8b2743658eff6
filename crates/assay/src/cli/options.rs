//! Options of `run` and `plan` in one table: heading, presence in the short help, and applicable studies. It determines
//! the order of the general help and of a study's help.

use clap::{Arg, ArgAction, Command};

use super::VERSION;
use assay_machine::factors::{self, Role};
use assay_study::file::Study;
use assay_study::plan;
use assay_workloads::check_option::by_option;
use assay_workloads::{Needs, Work};

/// Subject of a command line: the study, and whether commands on the line define it.
pub(super) struct LineSubject {
    pub study: Study,
    pub of_commands: bool,
    pub word: String,
}

impl LineSubject {
    fn works(&self) -> impl Iterator<Item = &Work> {
        self.study.workload.iter().map(|workload| &workload.work)
    }
}

#[derive(Clone, Copy)]
struct OptionRow {
    name: &'static str,
    shown: HelpShown,
    fits: fn(&LineSubject) -> bool,
}

/// Whether the short help shows an option; the long help shows all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HelpShown {
    Always,
    WithStudy,
    Never,
}

const fn always(name: &'static str, fits: fn(&LineSubject) -> bool) -> OptionRow {
    OptionRow { name, shown: HelpShown::Always, fits }
}

const fn with_study(name: &'static str, fits: fn(&LineSubject) -> bool) -> OptionRow {
    OptionRow { name, shown: HelpShown::WithStudy, fits }
}

const fn never(name: &'static str, fits: fn(&LineSubject) -> bool) -> OptionRow {
    OptionRow { name, shown: HelpShown::Never, fits }
}

/// Row for all options of kinds of work.
const OF_KINDS: &str = "";

/// Options by heading, in page order.
type Table = &'static [(&'static str, &'static [OptionRow])];

const ALL: Table = &[
    (
        "Configurations",
        &[
            always("set", every),
            always("baseline", every),
            always("replicates", trials),
            never("seed", trials),
            always("quick", trials),
            always("budget", trials),
            always("until", trials),
            always("against", trials),
        ],
    ),
    (
        "Target",
        &[
            always("scratch", trials),
            always("destroy", storage),
            never("wait", trials),
            never("allow-tunable", trials),
            with_study("as-root", programs),
            never("coordinator", trials),
            with_study("reboots", recorded_trials),
            with_study("yes", recorded_trials),
        ],
    ),
    (
        "Check",
        &[never("for", every), never(OF_KINDS, every), never("mix", every), never("area", every)],
    ),
    (
        "Timed commands",
        &[
            always("command", commands),
            with_study("command-name", commands),
            always("parameter-list", commands),
            always("rev", commands),
            with_study("build", commands),
            with_study("setup", commands),
            always("prepare", commands),
            with_study("conclude", commands),
            with_study("parse", commands),
        ],
    ),
    (
        "Output",
        &[
            always("gate", trials),
            never("exit-inconclusive", trials),
            never("junit", trials),
            always("commands", trials),
            always("order", trials),
            always("watch", trials),
            always("json", every),
            never("markdown", every),
            always("quiet", every),
            always("help", every),
            never("version", every),
        ],
    ),
];

fn every(_: &LineSubject) -> bool {
    true
}

/// Returns whether Assay runs the trials; recorded trials come from earlier events or reboots.
pub(super) fn trials(of: &LineSubject) -> bool {
    plan::recorded::asked(&of.study).is_none()
}

fn recorded_trials(of: &LineSubject) -> bool {
    !trials(of)
}

fn commands(of: &LineSubject) -> bool {
    of.of_commands
}

fn storage(of: &LineSubject) -> bool {
    let is_layer = |name: &String| factors::has_role(name, Role::Layer);
    of.works().any(|work| work.needs() != Needs::Nothing) || of.study.factors.keys().any(is_layer)
}

fn programs(of: &LineSubject) -> bool {
    of.works().any(|work| work.kind().runs_programs)
}

fn all() -> impl Iterator<Item = (&'static str, OptionRow)> {
    ALL.iter().flat_map(|(heading, rows)| rows.iter().map(move |row| (*heading, *row)))
}

/// Returns heading, position and row of an option.
fn find(option: &Arg) -> Option<(&'static str, usize, OptionRow)> {
    let long = option.get_long()?;
    let is_of_kind = by_option().any(|(kind, _)| kind.about.name == long);
    let name = if is_of_kind { OF_KINDS } else { long };
    let mut rows = all().enumerate().map(|(index, (heading, row))| (heading, index, row));
    rows.find(|(_, _, row)| row.name == name)
}

/// Returns `run` or `plan` with its options under headings, the rare ones only in the long help.
pub(super) fn arrange(command: Command) -> Command {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help);
    let version = Arg::new("version").short('V').long("version").action(ArgAction::Version);
    let command = command.version(VERSION).disable_help_flag(true).disable_version_flag(true);
    let command = command
        .arg(help.help("Print this help; --help prints more"))
        .arg(version.help("Print the version"));
    command.mut_args(|arg| match find(&arg) {
        Some((heading, index, row)) => arg
            .help_heading(heading)
            .display_order(index)
            .hide_short_help(row.shown != HelpShown::Always),
        None => arg,
    })
}

/// Shows only the options of one study; the short help includes those of its kind.
pub(super) fn show_fitting(command: Command, of: &LineSubject) -> Command {
    command.mut_args(|arg| match find(&arg) {
        Some((_, _, row)) if !(row.fits)(of) => arg.hide(true),
        Some((_, _, row)) => arg.hide_short_help(row.shown == HelpShown::Never),
        None => arg,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{PAGE_COLUMNS, full_definition};
    use super::*;
    use assay_study::file::presets;

    fn commands() -> Vec<Command> {
        let mut whole = full_definition(PAGE_COLUMNS);
        whole.build();
        ["run", "plan"].map(|name| whole.find_subcommand(name).unwrap().clone()).into()
    }

    fn options(command: &Command) -> impl Iterator<Item = &Arg> {
        command.get_arguments().filter(|arg| !arg.is_positional())
    }

    fn of(name: &str) -> BTreeSet<String> {
        let study = presets::find(name).unwrap().unwrap();
        let subject = LineSubject { study, of_commands: false, word: name.to_owned() };
        let show_fitting = show_fitting(commands().remove(0), &subject);
        let shown = options(&show_fitting).filter(|arg| !arg.is_hide_set());
        shown.filter_map(|arg| arg.get_long().map(str::to_owned)).collect()
    }

    #[test]
    fn every_option_stands_under_its_heading() {
        let mut seen = BTreeSet::new();
        for command in commands() {
            for arg in options(&command) {
                let name = arg.get_long().unwrap();
                let (heading, _, row) = find(arg).unwrap_or_else(|| panic!("--{name} has no row"));
                assert_eq!(arg.get_help_heading(), Some(heading), "--{name}");
                seen.insert(row.name);
            }
        }
        let rows = all().map(|(_, row)| row.name);
        assert_eq!(rows.collect::<BTreeSet<_>>(), seen, "a row without an option");
        // Headings of flattened structs do not apply to options after them.
        for (name, heading) in [
            ("scratch", "Target"),
            ("watch", "Output"),
            ("gate", "Output"),
            ("quiet", "Output"),
            ("reboots", "Target"),
        ] {
            let run = &commands()[0];
            let arg = options(run).find(|arg| arg.get_long() == Some(name)).unwrap();
            assert_eq!(arg.get_help_heading(), Some(heading), "--{name}");
        }
    }

    #[test]
    fn the_short_help_fits_a_screen() {
        for mut command in commands() {
            let page = command.render_help().to_string();
            assert!(page.lines().count() <= 40, "{page}");
            assert!(page.lines().all(|line| line.chars().count() <= PAGE_COLUMNS), "{page}");
        }
    }

    #[test]
    #[ignore = "nightly: 1 s"]
    fn a_study_has_its_own_options_and_no_others() {
        for (option, study, other) in
            [("as-root", "compile", "queue-depth"), ("destroy", "queue-depth", "stack-size")]
        {
            assert!(of(study).contains(option), "--{option} is missing in {study}");
            assert!(!of(other).contains(option), "--{option} is in {other}");
        }
        for (name, study) in presets::all() {
            let own = of(name);
            let is_recorded = plan::recorded::asked(&study.unwrap()).is_some();
            assert_eq!(own.contains("reboots"), is_recorded, "{name}");
            assert_ne!(own.contains("replicates"), is_recorded, "{name}");
            assert!(["set", "json", "help"].iter().all(|one| own.contains(*one)), "{name}");
            assert!(!own.contains("command") && !own.contains("prepare"), "{name}");
        }
    }
}
