//! The beginning of a text in an unknown format: what it resembles.

use assay_core::lines;

use super::{HEAD_BYTES, words::quoted};

const NAMED: usize = 4;

/// Recognizes human-readable output of tools that also have an importable format.
fn unsupported_output(head: &str) -> Option<&'static str> {
    if head.starts_with("\u{7}tae") || head.starts_with("eat\u{7}") {
        return Some(BLKTRACE);
    }
    let mut lines = include_str!("tools.txt").lines().filter_map(|line| line.split_once(" | "));
    let own = lines.find(|(marks, _)| marks.split(" && ").all(|mark| head.contains(mark)));
    own.map(|(_, what)| what)
}

const BLKTRACE: &str = "a binary blktrace file of one CPU; join the files of all CPUs (NAME.blktrace.0, \
                        NAME.blktrace.1, ...) with blkparse -i NAME -o trace.txt, and import trace.txt";

pub(super) fn beginning(text: &str) -> &str {
    let mut end = text.len().min(HEAD_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Whether a text starts with a JSON object with these keys, ignoring any text before it.
pub(super) fn has_keys(head: &str, keys: &[&str]) -> bool {
    super::json::start(head).is_some_and(|start| {
        let names = json_keys(&head[start..]);
        keys.iter().all(|key| names.contains(key))
    })
}

/// Quoted strings followed by a colon: the keys of a JSON object.
fn json_keys(json: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = json;
    while let Some((_, after)) = rest.split_once('"') {
        let Some(end) = closing_quote(after) else { break };
        let (name, behind) = after.split_at(end);
        rest = &behind[1..];
        if rest.trim_start().starts_with(':') {
            names.push(name);
        }
    }
    names
}

/// Offset of the first quotation mark that no backslash escapes.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// Describes a text of an unknown format and what is missing; `None` if it may be a table with a mistake.
pub(super) fn describe_unknown(head: &str) -> Option<String> {
    let known = "see assay list importers";
    let start = head.trim_start();
    let known_tool = unsupported_output(head).map(str::to_owned);
    if let Some(what) = known_tool.or_else(|| super::prometheus::p99_ranges(head)) {
        return Some(format!("this looks like {what}"));
    }
    if head.contains('\0') {
        return Some(format!("not a text file; {known}"));
    }
    if start.starts_with('<') {
        return Some(format!(
            "this looks like XML or a web page; the only supported XML format is the Phoronix \
             result (PhoronixTestSuite with Result); {known}"
        ));
    }
    if !start.starts_with(['{', '[']) {
        let line = lines::lines(start).next().map_or("", |(_, line)| line);
        let is_prose = line.contains(' ') && !line.contains([',', ';', '\t']);
        return is_prose.then(|| {
            format!(
                "this looks like plain text that starts with `{}`; a table starts with column \
                 names, such as replicate,workload,metric,value; {known}",
                quoted(line)
            )
        });
    }
    let mut keys = json_keys(start);
    keys.truncate(NAMED);
    let keys: Vec<String> = keys.into_iter().map(|key| format!("`{}`", quoted(key))).collect();
    let keys = match keys.as_slice() {
        [] => "without keys".to_owned(),
        keys => format!("that starts with the keys {}", keys.join(", ")),
    };
    Some(format!(
        "this looks like JSON {keys}, which no importer supports (fio JSON has `fio version` and \
         `jobs`, hyperfine JSON has `results` with `times`); {known}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_texts() {
        assert!(has_keys("note\n{\"a\\\"b\" : 1, \"c\": \"d\"}", &["a\\\"b", "c"]));
        assert!(!has_keys("{\"c\": \"d\"}", &["d"]));
    }

    #[test]
    fn what_is_unknown_is_described() {
        assert!(describe_unknown("{\"alpha\": 1}").unwrap().contains("`alpha`"));
        assert!(describe_unknown("<html>").unwrap().contains("web page"));
        assert!(describe_unknown("a\0b").unwrap().contains("not a text"));
        assert_eq!(describe_unknown("a,b,c"), None);
        assert_eq!(describe_unknown("value"), None);
        assert!(describe_unknown("hello world\n").unwrap().contains("`hello world`"));
        let fio = "a: (g=0): rw=read, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1\nfio-3.33\n";
        assert!(describe_unknown(fio).unwrap().contains("--output-format=json"));
    }
}
