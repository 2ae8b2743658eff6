//! A study of the command line's command whose power goes: whether what it promised is there.

use clap::Args;
use serde_json::json;

use assay_base::failure::{Failure, Outcome};
use assay_base::json::from_value;
use assay_study::study::file::Typed;
use assay_study::study::{self, Study};

use super::commands::CommandArguments;

/// How a command is judged after its power went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct KeptArguments {
    /// Check the acknowledged writes of --command after a VM power loss
    ///
    /// Each line that the command prints acknowledges a write. After each crash, Assay runs this line with the
    /// printed lines in $ASSAY_PROMISED; exit code 0 means that nothing is lost. --set write_to=xfs selects another
    /// filesystem, --set method=kill kills a machine per crash. docs/howto/durability.md has the contract.
    #[arg(long, value_name = "LINE", requires = "lines")]
    check: Option<String>,
    /// Programs and files for --command and --check, e.g. sqlite3,./fill.sh
    #[arg(long, value_name = "NAME,NAME", requires = "check", value_delimiter = ',')]
    needs: Vec<String>,
}

impl KeptArguments {
    /// The study of what a command promises, where the line asks for one.
    ///
    /// # Errors
    /// The user's mistake: several commands, or options of one that is timed.
    pub fn study(&self, commands: &CommandArguments) -> Option<Outcome<Study>> {
        let check = self.check.as_ref()?;
        let Some(line) = commands.alone() else {
            return Some(Err(Failure::mistake(
                "--check cuts the power of one --command and times nothing; leave out the other commands and the \
                 timing options",
            )));
        };
        let study = json!({
            "format": study::FORMAT,
            "title": format!("Do acknowledged writes survive a power loss: {line}"),
            "replicates": 1,
            "warmup_trial": "none",
            "workload": [{
                "name": "command",
                "durability": {
                    "writer": "command",
                    "method": "replay",
                    "write_to": "ext4",
                    "writer_command": line,
                    "check_command": check,
                    "needs": self.needs,
                },
            }],
        });
        let study = from_value(&study);
        Some(study.map_err(|error| {
            Failure::mistake(format!("cannot create a study from the command: {error}"))
        }))
    }

    /// The options that were typed, with the keys that they set; nothing where the command is timed.
    pub fn typed(&self, commands: &CommandArguments) -> Option<Vec<Typed>> {
        let check = self.check.as_ref()?;
        let key = |name: &str| format!("workload/*/durability/{name}");
        let mut typed = vec![Typed::new(format!("--check '{check}'"), key("check_command"))];
        let line = commands.alone();
        typed.extend(
            line.map(|line| Typed::new(format!("--command '{line}'"), key("writer_command"))),
        );
        if !self.needs.is_empty() {
            typed.push(Typed::new(format!("--needs {}", self.needs.join(",")), key("needs")));
        }
        Some(typed)
    }
}
