//! Everything that a page about a result is made of.

use std::path::Path;

use super::{commands, findings_at, findings_of};
use crate::failure::Outcome;
use crate::report::evidence::{self, Commands, Evidence};
use crate::results::bundle::{self, Kept, Stored};
use crate::results::{cut, series};
use crate::system::site::Site;
use crate::system::{System, quoted};

/// Files of a bundle that say what was done, in the order of reading.
const FILES: [&str; 2] = ["study.toml", "environment.json"];

/// The findings of the result in a directory with the records behind them.
pub fn evidence_at(system: &dyn System, directory: &Path) -> Outcome<Evidence> {
    match bundle::open(system, directory)? {
        Kept::Study(stored) => evidence_of(system, directory, &stored),
        Kept::Import(_) => findings_at(system, directory).map(Evidence::bare),
    }
}

fn evidence_of(system: &dyn System, directory: &Path, stored: &Stored) -> Outcome<Evidence> {
    let series = stored.trials.iter().map(|trial| series::read(system, directory, &trial.record));
    let series = series.collect::<Outcome<Vec<_>>>()?;
    let files = FILES.iter().filter_map(|&name| {
        let text = system.read_text(&directory.join(name)).ok()?;
        Some((name.to_owned(), cut::lines(&text).into_owned()))
    });
    Ok(Evidence {
        findings: findings_of(stored),
        trials: evidence::ran(&stored.plan, &stored.trials, series),
        latencies: evidence::latencies(&stored.plan, &stored.environment, &stored.trials),
        commands: typed(system, stored),
        files: files.collect(),
    })
}

fn typed(system: &dyn System, stored: &Stored) -> Vec<Commands> {
    let recorded: Vec<Option<Site>> = stored.environment.sites.iter().cloned().map(Some).collect();
    let commands = commands::of(system, &stored.study, &stored.plan, &recorded);
    let typed = commands.into_iter().map(|command| {
        let words: Vec<String> = command.fio.words.iter().map(|word| quoted(word)).collect();
        let mut lines = command.before;
        lines.push(words.join(" "));
        Commands {
            workload: command.workload,
            arm: command.arm,
            words: command.words,
            lines,
            remarks: command.fio.remarks,
        }
    });
    typed.collect()
}
