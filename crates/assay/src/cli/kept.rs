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
    /// After power cuts of virtual machines: is what --command promised there?
    ///
    /// Each line that the command prints is a promise. This line is run after each cut, with the lines that were
    /// printed in the file $ASSAY_PROMISED; exit code 0 says that all of it is there. --set write_to=xfs is another
    /// file system, --set method=kill takes the power of a machine for each cut. docs/howto/durability.md has the contract.
    #[arg(long, value_name = "LINE", requires = "lines")]
    check: Option<String>,
    /// Programs and files that --command and --check need there, such as sqlite3,./fill.sh
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
                "--check: the power of one --command goes, and nothing of it is timed: leave out the other \
                 commands and the options that time them",
            )));
        };
        let study = json!({
            "format": study::FORMAT,
            "title": format!("Is what this promises there after a power cut: {line}"),
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
        Some(
            study.map_err(|error| Failure::mistake(format!("the command makes no study: {error}"))),
        )
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
