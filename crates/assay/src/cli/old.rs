//! Names that commands had before. They go on working, and say the new one.

use clap::Subcommand;

use super::{add, apply, bundle, confirm, explain, label, output, resume, undo};
use assay_base::failure::Outcome;
use assay_system::system::System;

/// The commands by those names.
#[derive(Debug, Subcommand)]
pub(super) enum Old {
    #[command(hide = true)]
    Add(add::Arguments),
    #[command(hide = true)]
    Apply(apply::Arguments),
    #[command(hide = true)]
    Bundle(bundle::Arguments),
    #[command(hide = true)]
    Confirm(confirm::Arguments),
    #[command(hide = true)]
    Explain(explain::Arguments),
    #[command(hide = true)]
    Rename(label::RenameArguments),
    #[command(hide = true)]
    Resume(resume::Arguments),
    #[command(hide = true)]
    Undo(undo::Arguments),
}

/// The old name, and what is typed now.
pub(super) const RENAMED: &[(&str, &str)] = &[
    ("add FILE", "import FILE"),
    ("apply ID", "advise apply ID"),
    ("bundle ID", "export ID --format bundle"),
    ("confirm ID", "advise confirm ID"),
    ("explain STUDY", "plan STUDY --commands"),
    ("rename ID TITLE", "note ID --title TITLE"),
    ("resume ID", "restore resume ID"),
    ("undo ID", "restore undo ID"),
];

impl Old {
    /// Says the new name on standard error, and does what that does.
    pub(super) fn run(self, system: &dyn System) -> Outcome<()> {
        if let Some((old, new)) = self.renamed().filter(|_| !self.is_quiet()) {
            output::message(&format!("assay {old} is called assay {new} now"));
        }
        match self {
            Self::Add(arguments) => add::run(system, &arguments),
            Self::Apply(arguments) => apply::run(system, &arguments),
            Self::Bundle(arguments) => bundle::run(system, &arguments),
            Self::Confirm(arguments) => confirm::run(system, &arguments),
            Self::Explain(arguments) => explain::run(system, &arguments),
            Self::Rename(arguments) => label::rename(system, arguments),
            Self::Resume(arguments) => resume::run(system, &arguments),
            Self::Undo(arguments) => undo::run(system, &arguments),
        }
    }

    fn renamed(&self) -> Option<&'static (&'static str, &'static str)> {
        let name = match self {
            Self::Add(_) => "add",
            Self::Apply(_) => "apply",
            Self::Bundle(_) => "bundle",
            Self::Confirm(_) => "confirm",
            Self::Explain(_) => "explain",
            Self::Rename(_) => "rename",
            Self::Resume(_) => "resume",
            Self::Undo(_) => "undo",
        };
        RENAMED.iter().find(|(old, _)| old.split(' ').next() == Some(name))
    }

    /// Whether the user asked for nothing but the result, where a command has a word for that.
    const fn is_quiet(&self) -> bool {
        match self {
            Self::Confirm(own) => own.how.quiet,
            Self::Resume(own) => own.how.quiet,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::{PAGE_COLUMNS, definition, read};
    use super::*;

    #[test]
    fn each_old_name_has_a_new_one_that_is_shown() {
        let definition = definition();
        for (old, new) in RENAMED {
            let words = format!("assay {old}");
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            assert!(read(&words, PAGE_COLUMNS).is_ok(), "{old}");
            let words = format!("assay {new}");
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            assert!(read(&words, PAGE_COLUMNS).is_ok(), "{new}");
            let first = |text: &str| text.split(' ').next().map(str::to_owned).unwrap();
            assert!(definition.find_subcommand(first(new)).is_some(), "{new}");
            assert!(definition.find_subcommand(first(old)).is_none(), "{old} is in sight");
        }
    }
}
