//! Reference pages generated from the command-line definition and the registries; `cargo xtask pages` writes them, and
//! a test checks that they are current.

use std::fmt::Write;

use super::{PAGE_COLUMNS, definition, front};
use assay_analysis::import::{IMPORTERS, LARGEST_RUNS_BYTES};
use assay_analysis::inference::COMPARED;
use assay_analysis::rules;
use assay_core::catalogue::About;
use assay_core::catalogue::keys::{Fields, Need};
use assay_core::catalogue::words::{WORDS, Word};
use assay_core::failure::Outcome;
use assay_core::quantity::Bytes;
use assay_machine::factors;
use assay_machine::probes;
use assay_report::exporters::EXPORTERS;
use assay_report::figures::FIGURES;
use assay_study::file::fields::{TARGET_EXAMPLE, tables};
use assay_study::file::{fio_job, presets, schema, text};
use assay_workloads::metrics;

use crate::store::FORMATS_OF_FILES;

const MADE: &str = "<!-- made by `cargo xtask pages`; change the source, not this page -->\n\n";

/// Returns the file names below `docs/reference/` with their texts.
pub fn reference_pages() -> Outcome<Vec<(String, String)>> {
    Ok(vec![
        ("commands.md".to_owned(), commands()),
        ("rules.md".to_owned(), rules()),
        ("workloads.md".to_owned(), workloads()?),
        ("metrics.md".to_owned(), metrics()),
        ("probes.md".to_owned(), probes()),
        ("factors.md".to_owned(), factors()),
        ("figures.md".to_owned(), figures()),
        ("formats.md".to_owned(), formats()),
        ("glossary.md".to_owned(), words()),
        ("study-file.md".to_owned(), study_file()),
        ("study.schema.json".to_owned(), format!("{:#}\n", schema())),
    ])
}

fn commands() -> String {
    let mut definition = definition().term_width(PAGE_COLUMNS);
    definition.build();
    let overview = front::page(&definition, PAGE_COLUMNS);
    let mut page = format!("{MADE}# Commands\n\n```text\n{}\n```\n", overview.trim_end());
    page.push_str("\nEvery command has `--help`, and `-h` for a short form.\n");
    describe_below(&mut page, &definition, "##", "assay");
    page
}

/// Writes all commands below a command; `sign` is the Markdown prefix of their headings, such as `##`.
fn describe_below(page: &mut String, command: &clap::Command, sign: &str, path: &str) {
    let run = command.find_subcommand("run");
    for inner in command.get_subcommands() {
        if inner.is_hide_set() || inner.get_name() == "help" {
            continue;
        }
        let path = format!("{path} {}", inner.get_name());
        let same = if inner.get_name() == "plan" { run } else { None };
        describe(page, &format!("{sign} {path}"), inner, same);
        describe_below(page, inner, &format!("{sign}#"), &path);
    }
}

/// Writes a command's description, usage, options and examples. Omits options that `same` also has.
fn describe(page: &mut String, title: &str, command: &clap::Command, same: Option<&clap::Command>) {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").lines().map(str::trim).collect::<Vec<_>>();
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
    let paragraphs: Vec<String> = about.unwrap_or_default().split("\n\n").map(sentence).collect();
    let (about, usage) = (paragraphs.join("\n\n"), usage.join("\n"));
    let _ = write!(page, "\n{title}\n\n{about}\n\n```text\n{usage}\n```\n");
    if let Some(same) = same {
        page.push_str("\nOptions as for [`assay run`](#assay-run)");
        let missing = same.get_arguments().filter(|it| is_shown(it) && row(command, it).is_none());
        let missing: Vec<String> = missing.map(|arg| format!("`{}`", spelled(arg))).collect();
        if !missing.is_empty() {
            let _ = write!(page, ", without {}", missing.join(", "));
        }
        page.push_str(".\n");
    }
    let is_listed = |arg: &&clap::Arg| {
        is_shown(arg) && same.is_none_or(|same| row(same, arg) != row(command, arg))
    };
    let arguments: Vec<&clap::Arg> = command.get_arguments().filter(is_listed).collect();
    let mut groups = Vec::new();
    for arg in &arguments {
        if !groups.contains(&arg.get_help_heading()) {
            groups.push(arg.get_help_heading());
        }
    }
    for group in groups {
        if let Some(heading) = group {
            let _ = write!(page, "\n**{heading}**\n");
        }
        page.push_str("\n| option | what it does |\n|---|---|\n");
        for arg in arguments.iter().filter(|arg| arg.get_help_heading() == group) {
            page.push_str(&row(command, arg).unwrap_or_default());
        }
    }
    if let Some(examples) = command.get_after_help() {
        let examples = examples.to_string();
        let lines: Vec<&str> = examples.lines().map(str::trim_end).collect();
        let _ = write!(page, "\n```text\n{}\n```\n", lines.join("\n").trim());
    }
}

fn is_shown(arg: &clap::Arg) -> bool {
    !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
}

fn spelled(arg: &clap::Arg) -> String {
    let long = arg.to_string();
    match arg.get_short() {
        Some(short) if arg.get_long().is_some() => format!("-{short}, {long}"),
        _ => long,
    }
}

/// Returns the row of an argument; `None` if the command does not have it.
fn row(command: &clap::Command, arg: &clap::Arg) -> Option<String> {
    let full = command.get_arguments().find(|full| full.get_id() == arg.get_id())?;
    let help =
        full.get_long_help().or(full.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = help.split("\n\n").map(sentence).collect::<Vec<_>>().join(" ");
    let defaults: Vec<_> =
        full.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && full.get_action().takes_values() {
        let _ = write!(text, " [default: {}]", defaults.join(" "));
    }
    let values = full.get_possible_values();
    let values: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
    if !values.is_empty() && full.get_action().takes_values() {
        let _ = write!(text, " [values: {}]", values.join(", "));
    }
    Some(format!("| `{}` | {} |\n", spelled(full).replace('|', "\\|"), text.replace('|', "\\|")))
}

fn sentence(paragraph: &str) -> String {
    let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.ends_with(['.', ']', ':']) { text } else { format!("{text}.") }
}

fn formats() -> String {
    let mut page = format!(
        "{MADE}# Formats of other tools\n\n## In: `assay import FILE...`\n\nAssay detects the format from the start of \
         a file, and reads gzip and UTF-16. All files of one tool form one study: Assay compares the options that \
         differ between the runs of a workload, treats equal runs as replicates, and orders the runs by time. If the \
         runs are in blocks, or in an unknown order, Assay reports ratios but no verdicts; `--in-order` declares that \
         you list the files in the order of measurement. `--set FACTOR=VALUE` and `--filename-pattern PATTERN` add \
         information that is missing in the files. A file of another tool may be at most {}.\n",
        Bytes(LARGEST_RUNS_BYTES)
    );
    let entries = |page: &mut String, does: &str, abouts: &mut dyn Iterator<Item = About>| {
        for About { name, summary, text } in abouts {
            let _ = write!(page, "\n### {name}\n\n{does} {summary}. {text}\n");
        }
    };
    entries(&mut page, "Reads", &mut IMPORTERS.iter().map(|importer| importer.about));
    page.push_str("\n## Out: `assay export ID --format FORMAT`\n");
    let exporters = EXPORTERS.iter().map(|exporter| exporter.about);
    entries(&mut page, "Writes", &mut exporters.chain(FORMATS_OF_FILES));
    page.push_str(
        "\n## Job files of fio: `assay run JOBS.fio`\n\nAssay shows the study that results from a job file, and all \
         differences from fio. If a key is unsupported, Assay reports the line and the meaning of the key, and runs \
         nothing. `assay plan JOBS.fio --commands` converts the study back to fio commands. Assay executes nothing \
         from a job file; it does not touch the named files, and creates its own files next to them. Devices need the \
         same consent as in any study. Two concurrent jobs become a workload with a background load. If more jobs run \
         concurrently, Assay merges equal jobs, and refuses more than two different jobs. With `--set \
         ignore_unsupported=true`, Assay skips unsupported keys and jobs, and reports each with its line.\n",
    );
    let keys = |page: &mut String, title: &str, keys: &[&str]| {
        let _ = write!(page, "\n{title}: `{}`.\n", keys.join("`, `"));
    };
    keys(&mut page, "Translated", &fio_job::TRANSLATED);
    keys(&mut page, "Always active in Assay", &fio_job::ALWAYS_ACTIVE);
    keys(&mut page, "Ignored, with a note", &fio_job::REPORT_ONLY);
    page
}

fn words() -> String {
    let mut page = format!("{MADE}# Words\n\nTerms of reports and their meanings.\n");
    for Word { about, .. } in WORDS {
        let _ = write!(page, "\n## {}\n\n{}. {}\n", about.name, about.summary, about.text);
    }
    page
}

fn rules() -> String {
    let mut page = format!(
        "{MADE}# Trust rules\n\nAssay uses these rules to rate each number as trusted, suspect or invalid.\n"
    );
    let section = |About { name, summary, text }: &About| {
        format!("\n## {name}\n\nTriggered when {summary}.\n{text}\n")
    };
    page.extend(rules::RULES.iter().map(|rule| section(&rule.about)));
    page.push_str("\n# Rules of comparisons\n\nThese rules withhold comparison verdicts.\n");
    page.extend(COMPARED.iter().map(|about| section(about)));
    page
}

fn workloads() -> Outcome<String> {
    let mut page = format!(
        "{MADE}# Workloads\n\n## Kinds of work\n\nEach workload has one kind, and the key in the study file is the \
         name of the kind.\n"
    );
    for kind in assay_workloads::KINDS {
        let About { name, summary, text } = kind.about;
        let metrics = kind.metrics.iter().copied().flatten().map(|metric| metric.name);
        let (summary, metrics) = (capitalized(summary), metrics.collect::<Vec<_>>().join("`, `"));
        let _ = write!(page, "\n### {name}\n\n{summary}. {text}\nMetrics: `{metrics}`.\n");
    }
    page.push_str("\n## Presets\n\n| preset | question |\n|---|---|\n");
    let mut rows = String::new();
    for (name, study) in presets::all() {
        let study = study?;
        let _ = writeln!(page, "| `{name}` | {} |", study.title);
        for workload in study.workload {
            let _ = writeln!(rows, "| `{name}` | `{}` | {} |", workload.name, workload.words());
        }
    }
    let _ = write!(
        page,
        "\n## Workloads of the presets\n\n| preset | workload | what it does |\n|---|---|---|\n{rows}"
    );
    Ok(page)
}

fn metrics() -> String {
    let mut page = format!("{MADE}# Metrics\n\n| metric | better | what it is |\n|---|---|---|\n");
    for metric in metrics::all() {
        let better = format!("{:?}", metric.better).to_lowercase();
        let _ = writeln!(page, "| `{}` | {better} | {} |", metric.name, metric.summary);
    }
    page
}

fn probes() -> String {
    let mut page = format!(
        "{MADE}# Probes\n\nAll probes observe each trial on a real target; `drive-health` reads the drives before and \
         after the\nstudy. Probes read before and after a trial, never during the measured time; `assay show --full` \
         prints\nthe cost of each probe. Records store the values of a probe under the names in the table; `*` stands \
         for a device name, another name or an index.\n"
    );
    for probe in probes::by_name() {
        let about = probe.about;
        let _ = write!(page, "\n## {}\n\nReports {}.\n{}\n", about.name, about.summary, about.text);
        page.push_str("\n| stored | unit | what |\n|---|---|---|\n");
        for field in probe.fields {
            let (path, unit) = (field.path, field.unit.name());
            let _ = writeln!(page, "| `{path}` | {unit} | {} |", field.summary);
        }
        let metrics = probe.metrics();
        if !metrics.is_empty() {
            let _ = write!(page, "\nMetrics: `{}`.\n", metrics.join("`, `"));
        }
        if !probe.rules.is_empty() {
            let _ = write!(page, "\nRules: `{}`.\n", probe.rules.join("`, `"));
        }
    }
    page
}

fn figures() -> String {
    let mut page = format!(
        "{MADE}# Figures\n\nReports show these figures in this order, if the result has the data. A table below each \
         figure\ncontains the same numbers.\n"
    );
    for About { name, summary, text } in FIGURES.iter().map(|kind| kind.about()) {
        let _ = write!(page, "\n## {name}\n\nShows {summary}.\n{text}\n");
    }
    page
}

fn factors() -> String {
    let mut page = format!(
        "{MADE}# Factors\n\nA factor is a key of `factors` in a study file, or `--set NAME=LEVEL,LEVEL`, with the \
         levels to compare.\nAssay records each change in a journal first, and restores the original value when the \
         study ends; after\n`kill -9` or a power loss, run `assay restore`.\n\n## Factors of the workload\n"
    );
    for parameter in assay_workloads::parameters() {
        factor_entry(&mut page, &parameter.about, parameter.example, None);
    }
    let _ = write!(
        page,
        "\n### target\n\nWhere the workload runs.\nExample levels: `{TARGET_EXAMPLE}`.\n"
    );
    page.push_str("\n## Factors of the machine\n");
    for factor in factors::all() {
        factor_entry(&mut page, factor.about(), factor.example(), Some(factor.role().undone()));
        let name = factor.about().name;
        let live = match factor.not_live(name) {
            _ if name.contains(':') => {
                "block device queues, writeback (`vm.dirty_*`), reclaim, and cgroup limits for devices; other files \
                with `--allow-tunable`"
                    .to_owned()
            }
            None => "yes".to_owned(),
            Some(why) => format!("no, {why}"),
        };
        let _ = writeln!(page, "Under a production workload (`production`): {live}.");
    }
    page
}

fn factor_entry(page: &mut String, about: &About, example: &str, undone: Option<&str>) {
    let About { name, summary, text } = about;
    let summary = capitalized(summary);
    let _ = write!(page, "\n### {name}\n\n{summary}. {text}\nExample levels: `{example}`.\n");
    if let Some(undone) = undone {
        let _ = writeln!(page, "After the study: {undone}.");
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

fn study_file() -> String {
    let mut page = format!(
        "{MADE}# Study file\n\nA study is a TOML file: a target, workloads and factors. `assay plan FILE` reads the \
         file and\nreports all mistakes at once; `assay list schema` prints a JSON Schema for \
         editors.\n\n```toml\n{}```\n\nAmounts are strings with a unit: `\"4 KiB\"`, `\"10 s\"`, `\"5%\"`.\n",
        text::EXAMPLE
    );
    for fields in tables() {
        keys(&mut page, fields);
    }
    page.push_str(
        "\n## Factors\n\nEach key of `factors` is one of the [factors](factors.md), with a list of levels: strings, \
         integers, `true` or `false`.\n",
    );
    page
}

fn keys(page: &mut String, fields: &Fields) {
    let title = match fields.label {
        "a study" => "Keys of a study".to_owned(),
        "a workload" => "Keys of `[[workload]]`".to_owned(),
        label => format!("Keys of `{label}`"),
    };
    let _ = write!(
        page,
        "\n## {title}\n\n| key | needed | what it is | example |\n|---|---|---|---|\n"
    );
    for field in fields.rows {
        let need = match field.need {
            Need::Always => "yes",
            Need::OneOf => "one of these",
            Need::UnlessFactor => "unless it is a factor",
            Need::Never => "",
        };
        let (name, summary, example) = (field.name, field.summary, field.example);
        let _ = writeln!(page, "| `{name}` | {need} | {summary} | `{example}` |");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo xtask pages` writes the pages and reports stale ones.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "the pages as they lie in the tree")]
    fn the_reference_is_what_the_program_says() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
        let pages = reference_pages().unwrap();
        assert!(pages.len() > 5);
        for (name, text) in pages {
            let known = std::fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
            let differs = text.lines().zip(known.lines()).find(|(own, known)| own != known);
            assert!(text == known, "{name} is stale: cargo xtask pages ({differs:?})");
        }
    }
}
