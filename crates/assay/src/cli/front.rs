//! The first help page: commands in groups, for new users.

use clap::Command;

/// Groups in reading order, and the commands of each in the order of use.
const GROUPS: &[(&str, &[&str])] = &[
    ("Measure", &["check", "watch", "doctor"]),
    ("Experiment", &["plan", "run", "advise"]),
    ("Results", &["list", "show", "compare", "report", "import", "export", "note", "remove"]),
    ("Recovery", &["resume", "restore"]),
];

/// Less common commands, which the page only names.
const OTHER: &[&str] =
    &["aa-test", "articles", "calc", "collection", "completions", "peer", "verify"];

/// Columns before a summary: indent, longest name and gap.
const INDENT: usize = 11;
/// Below this width, summaries start on a new line.
const NARROW: usize = 30;
pub(super) const CODES: &str = "Exit codes: 0 success; 1 regression, failed bound or corrupt data; 2 usage error; 3 not possible \
                                on this machine; 4 settings not restored; 5 inconclusive or trials lost; 130 interrupted.";

const GUIDE: &str = concat!("Guide: docs/SUMMARY.md in ", env!("CARGO_PKG_REPOSITORY"));

pub(super) fn page(definition: &Command, width: usize) -> String {
    let about = definition.get_about().map(ToString::to_string).unwrap_or_default();
    let mut lines = wrap("", about.split(' '), 0, width);
    lines.push(String::new());
    let usage = "assay COMMAND [OPTIONS] (assay COMMAND --help: options and examples)";
    lines.extend(wrap("Usage: ", usage.split(' '), 7, width));
    for (heading, names) in GROUPS {
        lines.extend([String::new(), format!("{heading}:")]);
        for command in names.iter().filter_map(|name| definition.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let first = format!("  {:<1$}", command.get_name(), INDENT - 2);
            let indent = if width < NARROW { 4 } else { INDENT };
            lines.extend(wrap(&first, about.split(' '), indent, width));
        }
    }
    lines.push(String::new());
    lines.extend(wrap("Other: ", OTHER.join(", ").split(' '), 2, width));
    lines.extend(wrap("", CODES.split(' '), 0, width));
    lines.extend(wrap("", GUIDE.split(' '), 0, width));
    lines.join("\n") + "\n"
}

/// Wraps a message; a command in backticks stays on one line.
pub(super) fn in_lines(text: &str, width: usize) -> String {
    const NO_BREAK_SPACE: &str = "\u{a0}";
    let mut parts: Vec<String> = text.split('`').map(str::to_owned).collect();
    // Every second part is between backticks.
    for part in parts.iter_mut().skip(1).step_by(2) {
        *part = part.replace(' ', NO_BREAK_SPACE);
    }
    let lines = wrap("", parts.join("`").split(' '), 0, width);
    lines.join("\n").replace(NO_BREAK_SPACE, " ")
}

/// Wraps words to lines of a width, the first line after `first`, the others after `indent` columns.
pub(super) fn wrap<'w>(
    first: &str,
    words: impl Iterator<Item = &'w str>,
    indent: usize,
    width: usize,
) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), first.to_owned());
    let mut has_word = false;
    for word in words {
        if has_word && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(line);
            line = " ".repeat(indent);
            has_word = false;
        }
        if has_word {
            line.push(' ');
        }
        line.push_str(word);
        has_word = true;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::definition;
    use super::*;

    #[test]
    fn every_command_stands_in_one_place() {
        let listed: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| *names).chain(OTHER).copied().collect();
        let once: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(once.len(), listed.len(), "one stands twice");
        let definition = definition();
        let there: BTreeSet<&str> = definition.get_subcommands().map(Command::get_name).collect();
        assert_eq!(there, once);
        assert!(listed.len() - OTHER.len() <= 16, "too many in sight");
    }

    #[test]
    fn it_fits_a_screen_and_a_phone() {
        let page = page(&definition(), 80);
        assert!(page.lines().count() <= 35, "{page}");
        for width in [40, 80] {
            let page = super::page(&definition(), width);
            let wide = page.lines().find(|line| line.chars().count() > width);
            assert_eq!(wide, None, "{page}");
        }
    }
}
