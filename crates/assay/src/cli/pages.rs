//! Reference pages made from the command line's definition and the registries; `cargo xtask pages`
//! writes them, and a test sees that they are fresh.

use std::fmt::Write;

use super::{definition, list};
use crate::failure::Outcome;
use crate::quantity::metric::METRICS;
use crate::study::presets;
use crate::truth;

const MADE: &str = "<!-- made by `cargo xtask pages`; change the source, not this page -->\n\n";

/// File names below `docs/reference/` with their texts.
pub fn reference_pages() -> Outcome<Vec<(String, String)>> {
    Ok(vec![
        ("commands.md".to_owned(), commands()),
        ("rules.md".to_owned(), rules()),
        ("workloads.md".to_owned(), workloads()?),
        ("metrics.md".to_owned(), metrics()),
    ])
}

fn commands() -> String {
    let mut page = format!("{MADE}# Commands\n");
    let mut definition = definition().term_width(80);
    definition.build();
    for command in definition.get_subcommands_mut().filter(|command| command.get_name() != "help") {
        let help = command.render_long_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let _ = write!(
            page,
            "\n## assay {}\n\n```text\n{}\n```\n",
            command.get_name(),
            help.join("\n").trim_end()
        );
    }
    page
}

fn rules() -> String {
    let mut page = format!(
        "{MADE}# Rules of trust\n\nEach number is trusted, suspect or invalid; these rules say why.\n"
    );
    for about in truth::RULES.iter().map(|rule| rule.about()) {
        let _ = write!(
            page,
            "\n## {}\n\nSpeaks when {}.\n\n{}\n",
            about.name, about.summary, about.text
        );
    }
    page
}

fn workloads() -> Outcome<String> {
    let mut page =
        format!("{MADE}# Workloads of `assay check`\n\n| workload | what it does |\n|---|---|\n");
    for workload in presets::check()?.workload {
        let _ = writeln!(page, "| `{}` | {} |", workload.name, list::describe(&workload.io));
    }
    Ok(page)
}

fn metrics() -> String {
    let mut page = format!("{MADE}# Metrics\n\n| metric | better | what it is |\n|---|---|---|\n");
    for metric in METRICS {
        let better = format!("{:?}", metric.better).to_lowercase();
        let _ = writeln!(page, "| `{}` | {better} | {} |", metric.name, metric.summary);
    }
    page
}
