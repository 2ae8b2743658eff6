//! Command lines: `{NAME}` is replaced by the level of a factor; splitting without a shell.

use std::collections::BTreeMap;

pub type Levels = BTreeMap<String, String>;

/// Whether a text contains `{name}`.
pub(super) fn names(text: &str, name: &str) -> bool {
    let word = format!("{{{name}}}");
    text.match_indices(word.as_str()).any(|(at, _)| !is_of_shell(&text[..at]))
}

/// Whether the following brace belongs to the shell, as in `${name}`; `$$` is a separate word.
fn is_of_shell(before: &str) -> bool {
    before.bytes().rev().take_while(|byte| *byte == b'$').count() % 2 == 1
}

/// Replaces each `{NAME}` of a factor by its level, once. Other braces remain, and so does `${NAME}` of the shell.
pub(super) fn fill(text: &str, levels: &Levels) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let end = from.find('}').filter(|_| !is_of_shell(before));
        let level = end.and_then(|end| levels.get(&from[1..end]));
        if let (Some(end), Some(level)) = (end, level) {
            out.push_str(level);
            rest = &from[end + 1..];
        } else {
            out.push('{');
            rest = &from[1..];
        }
    }
    out + rest
}

/// The program and its arguments: of the shell, or of the text itself, with shell quoting.
pub(super) fn words(text: &str, shell: bool) -> Result<Vec<String>, String> {
    if shell {
        return Ok(["sh", "-c", text].map(str::to_owned).to_vec());
    }
    let words = shell_words::split(text).map_err(|_| format!("`{text}` has an unmatched quote"))?;
    if words.is_empty() { Err("a command needs a program".to_owned()) } else { Ok(words) }
}

pub(super) fn is_variable(name: &str) -> bool {
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(sign) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_factors_are_replaced_once_and_nothing_else_is() {
        let levels = Levels::from([
            ("jobs".to_owned(), "8".to_owned()),
            ("all".to_owned(), "{jobs}".to_owned()),
        ]);
        for (text, wanted) in [
            ("make -j{jobs}", "make -j8"),
            ("{jobs}{jobs}", "88"),
            ("echo {all}", "echo {jobs}"),
            ("awk '{print $1}' {a,b} {", "awk '{print $1}' {a,b} {"),
            ("{{jobs}}", "{8}"),
            ("echo ${jobs} $$${jobs}", "echo ${jobs} $$${jobs}"),
            ("$${jobs} ${jobs}{jobs}", "$$8 ${jobs}8"),
            ("", ""),
        ] {
            assert_eq!(fill(text, &levels), wanted);
        }
        assert!(names("make -j{jobs}", "jobs") && !names("make -jobs", "jobs"));
        assert!(names("${jobs} {jobs}", "jobs") && !names("make -j${jobs}", "jobs"));
    }

    #[test]
    fn names_of_variables_are_those_of_a_shell() {
        assert!(["CARGO_HOME", "_", "x1"].iter().all(|name| is_variable(name)));
        assert!(!["", "1x", "A=B", "A B", "A-B", "\u{e9}"].iter().any(|name| is_variable(name)));
    }

    #[test]
    fn words_are_those_that_a_shell_would_see() {
        assert_eq!(words("a 'b c' d\\ e", false).unwrap(), ["a", "b c", "d e"]);
        assert_eq!(words("a | b", true).unwrap(), ["sh", "-c", "a | b"]);
        for text in ["a 'b", "   "] {
            assert!(words(text, false).is_err());
        }
    }
}
