//! Study files: TOML to [`Study`] and back.
//!
//! Reading reports all errors of its first failing step: TOML syntax; each key ([`super::fields`]); rules between keys.

pub(super) mod mistakes;
pub(super) mod reader;
pub(super) mod scalar;
mod set;
mod typed;

use assay_core::failure::{Failure, Outcome};
use assay_core::json::from_value;
use assay_core::mistake;
use assay_core::outside;
use toml::de::DeTable;
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use super::{FORMAT, Study, check, search, words};
use mistakes::Mistakes;
pub use set::{KeyValue, is_key};
pub use typed::TypedWords;

pub const EXAMPLE: &str = include_str!("example.toml");

const FAMILY: &str = "assay-study/";

/// Reads a study; `name` is used in messages. Reports all mistakes with place and hint.
pub fn parse(name: &str, text: &str) -> Outcome<Study> {
    read(text).map_err(|mistakes| Failure::mistake(mistakes.render(name, text)))
}

/// Applies command-line options to a study, and checks it; reports all mistakes with the options that caused them.
pub fn changed(
    name: &str,
    study: &Study,
    keys: &[KeyValue],
    typed: &[TypedWords],
) -> Outcome<Study> {
    let text = set::written(study, keys)?;
    read(&text).map_err(|mistakes| Failure::mistake(mistakes.by_option(name, typed)))
}

/// Parses and checks a study; returns all mistakes found.
fn read(text: &str) -> Result<Study, Mistakes> {
    let mut mistakes = Mistakes::default();
    if let Some((at, kind)) = find_too_deep(text) {
        let message = match kind {
            TokenKind::Dot => {
                format!("this key has more than {MOST_OPEN} parts, more than any study key")
            }
            _ => format!("{MOST_OPEN} brackets are unclosed here; close some"),
        };
        mistakes.add("brackets", at..at + 1, message, None);
        return Err(mistakes);
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    for (index, error) in errors.iter().enumerate() {
        let span = error.span().unwrap_or_default();
        let found = text.get(span.clone()).unwrap_or_default();
        let (message, hint) = reword_syntax_error(error.message(), found);
        mistakes.add(&format!("syntax {index}"), span, message, hint);
    }
    let root = root.get_ref();
    if mistakes.is_empty() {
        check_format(root, &mut mistakes);
    } else if !errors.iter().all(|error| error.message() == REPEATED) {
        // Errors after broken TOML would be guesses.
        return Err(mistakes);
    }
    // A file of another version: its keys are unknown.
    if !mistakes.is_empty() && errors.is_empty() {
        return Err(mistakes);
    }
    let read = reader::read(root);
    let (places, mut json) = (read.places, read.json);
    search::dissolve(&mut json);
    mistakes.append(read.mistakes);
    match from_value::<Study>(&json) {
        Ok(mut study) => {
            check::check(&mut study, &places, &mut mistakes);
            if mistakes.is_empty() {
                return Ok(study);
            }
        }
        // Tests check that rows and types agree, so this is a last resort.
        Err(error) => mistakes.add("", 0..0, error.to_string(), None),
    }
    Err(mistakes)
}

/// Maximum nesting of brackets: the TOML library recovers by recursion on a limited stack.
const MOST_OPEN: usize = 100;

/// Finds brackets or dotted keys nested deeper than in any study, by the library's own tokens.
fn find_too_deep(text: &str) -> Option<(usize, TokenKind)> {
    // The closing token of each open bracket, and the dots of the current key.
    let mut open = Vec::new();
    let mut dots = 0;
    for token in Source::new(text).lex() {
        let kind = token.kind();
        match kind {
            TokenKind::LeftSquareBracket => open.push(TokenKind::RightSquareBracket),
            TokenKind::LeftCurlyBracket => open.push(TokenKind::RightCurlyBracket),
            _ if open.last() == Some(&kind) => drop(open.pop()),
            _ => {}
        }
        dots = match kind {
            TokenKind::Dot => dots + 1,
            TokenKind::Whitespace
            | TokenKind::Atom
            | TokenKind::LiteralString
            | TokenKind::BasicString => dots,
            _ => 0,
        };
        if open.len().max(dots) > MOST_OPEN {
            return Some((token.span().start(), kind));
        }
    }
    None
}

/// Reads a stored study without judging it: later rules must not make an old result unreadable.
pub fn stored(name: &str, text: &str) -> Outcome<Study> {
    let wrong = |error: &str| mistake!("{name}: {}", error.replace('\n', " "));
    let json: serde_json::Value = toml::from_str(text).map_err(|error| wrong(error.message()))?;
    let study: Study = from_value(&json).map_err(|error| wrong(&error.to_string()))?;
    if study.format == FORMAT {
        check_names(&study).map_err(|how| mistake!("{name}: {how}; the study is damaged"))?;
        return Ok(study);
    }
    Err(mistake!("{name}: {}; {READS}", unknown_format(&study.format)))
}

/// Rejects names with control characters, because factors and levels appear in files of the machine.
fn check_names(study: &Study) -> Result<(), String> {
    for (factor, levels) in &study.factors {
        outside::plain("a factor", factor)?;
        levels.iter().try_for_each(|level| outside::plain("a level", level))?;
    }
    for (factor, level) in study.configurations.iter().flatten().chain(&study.baseline) {
        outside::plain("a factor", factor)?;
        outside::plain("a level", level)?;
    }
    let texts = study.unavailable.iter().flat_map(|(name, reason)| [name, reason]);
    texts.chain(&study.exclude).try_for_each(|text| outside::plain("an exclusion", text))?;
    study.workload.iter().try_for_each(|workload| outside::plain("a workload", &workload.name))?;
    study.confirms.iter().try_for_each(|id| outside::plain("a result", id))?;
    study.race_ratio.iter().try_for_each(|ratio| outside::plain("a ratio", ratio))?;
    study.requirements.iter().try_for_each(|purpose| outside::plain("a requirement", purpose))
}

pub fn write(study: &Study) -> Outcome<String> {
    toml::to_string(study).map_err(|error| mistake!("cannot write the study as TOML: {error}"))
}

const READS: &str = "this version reads assay-study/1";

fn unknown_format(format: &str) -> String {
    format!("unknown format \"{format}\"")
}

/// Adds a mistake for a file of another version; only that version can check its keys.
fn check_format(root: &DeTable<'_>, mistakes: &mut Mistakes) {
    let Some(value) = root.get("format") else { return };
    if let Some(format) = value.get_ref().as_str()
        && format.starts_with(FAMILY)
        && format != FORMAT
    {
        mistakes.add("format", value.span(), unknown_format(format), Some(READS.to_owned()));
    }
}

const REPEATED: &str = "duplicate key";

/// Rewords a message of the parser for users; `found` is the text that it refers to. Returns message and hint.
fn reword_syntax_error(message: &str, found: &str) -> (String, Option<String>) {
    let word = found.trim();
    let is_bare = word.starts_with(char::is_alphabetic) && !word.contains(['"', '\n']);
    let (reworded, hint) = match message {
        REPEATED => ("duplicate key", None),
        _ if message.starts_with("string values must be quoted") && word.is_empty() => {
            ("the value is missing", None)
        }
        _ if is_bare
            && (message.starts_with("string values") || message.starts_with("invalid ")) =>
        {
            match words::did_you_mean(word, &["true", "false"]) {
                Some(flag) => ("this text is not a value", Some(flag.replace('"', ""))),
                None => ("text needs quotes", Some(format!("write \"{word}\""))),
            }
        }
        "invalid basic string, expected `\"`" => ("this text has no closing quote", None),
        other => (other, None),
    };
    (reworded.to_owned(), hint)
}

#[cfg(test)]
mod tests;
