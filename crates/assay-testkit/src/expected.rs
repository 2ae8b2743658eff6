//! Compares texts with files. `UPDATE_EXPECT=1` rewrites the files, and the test fails anyway, so that someone reads
//! the changes. If `CI` is set, nothing is written.

use std::fs;
use std::path::{Path, PathBuf};

const UPDATE: &str = "UPDATE_EXPECT";

/// Texts compared with files; on drop, fails with all differences.
#[derive(Debug)]
pub struct Expected {
    update: bool,
    wrong: Vec<String>,
}

impl Default for Expected {
    fn default() -> Self {
        let asked = |name: &str| std::env::var_os(name).is_some();
        Self::asked(asked(UPDATE), asked("CI"))
    }
}

impl Expected {
    fn asked(update: bool, is_ci: bool) -> Self {
        assert!(!(update && is_ci), "{UPDATE} writes nothing where CI is set: run it at your desk");
        Self { update, wrong: Vec::new() }
    }

    /// Compares a text with its file. Reports the first different line.
    pub fn hold(&mut self, path: impl AsRef<Path>, found: &str) {
        let path = path.as_ref();
        let expected = fs::read_to_string(path).unwrap_or_default();
        if expected != found {
            self.wrong.push(format!("{}{}", path.display(), difference(&expected, found)));
            if self.update
                && let Err(error) = write(path, found)
            {
                self.wrong.push(format!("{}: {error}", path.display()));
            }
        }
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        let all = self.wrong.join("\n");
        let next = if self.update {
            "written anew: read the difference"
        } else {
            "UPDATE_EXPECT=1 writes them anew"
        };
        // A second panic would hide the first.
        assert!(all.is_empty() || std::thread::panicking(), "{all}\n{next}");
    }
}

pub fn expect(path: impl AsRef<Path>, found: &str) {
    Expected::default().hold(path, found);
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(path.parent().map_or_else(PathBuf::new, Path::to_path_buf))?;
    fs::write(path, text)
}

/// Reformats JSON from `serde_json::to_string_pretty`: values that fit share a line, and objects in a list begin new
/// lines, so a fixture can be read row by row.
pub fn filled(pretty: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for line in pretty.lines() {
        if opens(line) {
            open.push(lines.len());
        }
        lines.push(line.to_owned());
        if closes(line)
            && let Some(from) = open.pop()
        {
            let block = lines.split_off(from);
            lines.extend(closed(block));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

const WIDEST: usize = 110;

fn opens(line: &str) -> bool {
    line.ends_with(['{', '['])
}

fn closes(line: &str) -> bool {
    line.trim_start().starts_with(['}', ']'])
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Lines of an object or list with formatted values.
fn closed(block: Vec<String>) -> Vec<String> {
    let whole = on_one_line(&block);
    if fits(&whole) {
        return vec![whole];
    }
    let inner = block.first().map_or(0, |line| indent(line)) + 2;
    let mut lines: Vec<String> = Vec::new();
    let mut may_follow = false;
    for line in block {
        let value = line.trim_start();
        let is_short = indent(&line) == inner && !opens(&line) && !closes(&line);
        let may_join = is_short && !value.starts_with('{');
        let joined = lines.last().filter(|_| may_follow && may_join);
        let joined = joined.map(|last| format!("{last} {value}")).filter(|joined| fits(joined));
        if let Some(joined) = joined {
            lines.pop();
            lines.push(joined);
        } else {
            lines.push(line);
        }
        may_follow = may_join;
    }
    lines
}

fn fits(line: &str) -> bool {
    line.chars().count() <= WIDEST
}

fn on_one_line(block: &[String]) -> String {
    let [first, values @ .., last] = block else { return block.concat() };
    let values: Vec<&str> = values.iter().map(|line| line.trim_start()).collect();
    format!("{first}{}{}", values.join(" "), last.trim_start())
}

/// Describes the first different line, or a missing one.
fn difference(expected: &str, found: &str) -> String {
    let mut pairs = expected.lines().zip(found.lines()).zip(1..);
    match pairs.find(|((wanted, own), _)| wanted != own) {
        Some(((wanted, own), line)) => format!(":{line}:\n  expected: {wanted}\n  found:    {own}"),
        None => {
            format!(
                ": {} lines expected, {} found",
                expected.lines().count(),
                found.lines().count()
            )
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::panic::catch_unwind;

    use super::*;
    use crate::Scratch;

    fn held(update: bool, path: &Path, found: &'static str) -> Result<(), String> {
        let path = path.to_path_buf();
        let held = catch_unwind(move || Expected::asked(update, false).hold(path, found));
        held.map_err(|told| told.downcast_ref::<String>().cloned().unwrap_or_default())
    }

    #[test]
    fn what_differs_fails_before_and_when_it_is_written_and_not_after() {
        let place = Scratch::new("expected").unwrap();
        let path = place.path().join("new/page.txt");
        let told = held(false, &path, "a\nb\n").unwrap_err();
        assert!(told.contains("0 lines expected, 2 found") && !path.exists(), "{told}");
        let told = held(true, &path, "a\nb\n").unwrap_err();
        assert!(told.ends_with("read the difference"), "{told}");
        assert_eq!(held(false, &path, "a\nb\n"), Ok(()));
        assert_eq!(held(true, &path, "a\nb\n"), Ok(()), "nothing to write");
        let told = held(false, &path, "a\nc\n").unwrap_err();
        assert!(told.contains("page.txt:2:") && told.contains("expected: b"), "{told}");
    }

    #[test]
    fn json_is_filled_and_says_the_same() {
        let row = |n: u32| {
            format!("    {{\n      \"n\": {n},\n      \"t\": \"{}\"\n    }}", "x".repeat(60))
        };
        let text = format!(
            "{{\n  \"a\": 1,\n  \"b\": [],\n  \"c\": \"[ {{\",\n  \"d\": [\n{},\n{}\n  ],\n  \"e\": {{\n    \
             \"f\": null\n  }}\n}}",
            row(1),
            row(2)
        );
        let x = "x".repeat(60);
        let expected = format!(
            "{{\n  \"a\": 1, \"b\": [], \"c\": \"[ {{\",\n  \"d\": [\n    {{\"n\": 1, \"t\": \"{x}\"}},\n    \
             {{\"n\": 2, \"t\": \"{x}\"}}\n  ],\n  \"e\": {{\"f\": null}}\n}}\n"
        );
        assert_eq!(filled(&text), expected);
        // In the format of the fixtures, so that rewriting changes nothing.
        assert_eq!(filled("[\n  1,\n  2\n]"), "[1, 2]\n");
        assert_eq!(filled("{}"), "{}\n");
    }

    #[test]
    fn where_ci_is_set_nothing_is_written() {
        assert!(catch_unwind(|| Expected::asked(true, true)).is_err());
        drop(Expected::asked(false, true));
    }
}
