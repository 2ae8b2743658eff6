//! `assay doctor`: shows what Assay can measure and change on this machine, and the hardware.

use clap::Args;
use serde::Serialize;

use super::inventory::Inventory;
use super::output;
use assay_core::presence::Presence;
use assay_machine::system::System;
use assay_report::document::Column;
use assay_report::table;
use assay_runner::run::abilities::{self, Ability};

/// Show what this machine can measure, and what is missing
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  assay doctor")]
pub struct DoctorArguments {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct DoctorDocument<'a> {
    format: &'static str,
    capabilities: &'a [Ability],
    inventory: &'a Inventory,
}

pub fn run(system: &dyn System, arguments: &DoctorArguments) {
    let abilities = abilities::all(system);
    let inventory = Inventory::new(system);
    if arguments.json {
        output::json(&DoctorDocument {
            format: "assay-doctor/1",
            capabilities: &abilities,
            inventory: &inventory,
        });
        return;
    }
    let rows: Vec<Vec<String>> = abilities.iter().map(row).collect();
    let columns = table::columns(&["ability", "here", "what and how"]);
    output::text(&table::table(&columns, &rows, output::columns(system)));
    let columns = [Column::left("hardware here"), Column::sentences("details")];
    let hardware = table::table(&columns, &inventory.rows(), output::columns(system));
    output::text(&format!("\n{hardware}"));
    let next = next_commands(&abilities).map(|words| words.map(str::to_owned).to_vec());
    let columns = table::columns(&["next command here", "what it does"]);
    output::text(&format!("\n{}", table::table(&columns, &next, output::columns(system))));
}

fn next_commands(abilities: &[Ability]) -> [[&'static str; 2]; 3] {
    let has = |name: &str| {
        let ability = abilities.iter().find(|ability| ability.name == name);
        ability.is_some_and(|ability| matches!(ability.state, Presence::Present(_)))
    };
    [
        if has("journal") {
            ["assay check --quick", "benchmark this directory"]
        } else {
            ["assay restore --dry-run", "list leftovers of killed runs"]
        },
        if has("block devices") && has("file systems") {
            ["assay run filesystems --scratch --quick", "compare filesystems on loop devices"]
        } else {
            ["assay run queue-depth --quick", "compare queue depths"]
        },
        if has("block latency") {
            ["assay watch", "show live disk activity"]
        } else {
            ["assay list presets", "list the included studies"]
        },
    ]
}

fn row(ability: &Ability) -> Vec<String> {
    let (word, detail) = match &ability.state {
        Presence::Present(how) => ("yes", format!("{how}: {}", ability.purpose)),
        Presence::Absent(reason) => {
            ("no", format!("{}: {reason}; {}", ability.purpose, ability.advice))
        }
    };
    vec![ability.name.clone(), word.to_owned(), detail]
}
