//! The first JSON document of a text, ignoring any text around it.

use assay_core::failure::Outcome;
use serde_json::Value;
use serde_json::error::Category;

use super::mistake_in;

/// Offset of the document: the first line that looks like one, else the first brace.
pub(super) fn start(text: &str) -> Option<usize> {
    // A message such as `[WARN] ...` is not a document.
    let begins = |line: &str| {
        let after = line.trim_start().strip_prefix(['{', '[']).map(str::trim);
        after.is_some_and(|after| {
            after.is_empty()
                || after.starts_with(['"', '{', '[', '}', ']', '-'])
                || after.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if begins(line) {
            return Some(at + line.len() - line.trim_start().len());
        }
        at += line.len();
    }
    text.find('{')
}

/// Parses the only document of a text; fails without a document and if a second one follows.
pub(super) fn document(name: &str, text: &str) -> Outcome<Value> {
    let (document, end) = document_at(name, text, 0)?;
    if let Some(second) = next_document(text, end) {
        let line = text[..second].matches('\n').count() + 1;
        let text = "a second JSON document starts here; save each document as a file";
        return Err(mistake_in(&format!("{name}:{line}:1"), text));
    }
    Ok(document)
}

/// All documents of a text, at least one.
pub(super) fn documents(name: &str, text: &str) -> Outcome<Vec<Value>> {
    let (document, mut end) = document_at(name, text, 0)?;
    let mut all = vec![document];
    while let Some(second) = next_document(text, end) {
        let (document, next) = document_at(name, text, second)?;
        all.push(document);
        end = next;
    }
    Ok(all)
}

/// Offset of the next object after a document that ends at `end`: a line `{` or `{"...`, not a message of a tool.
fn next_document(text: &str, end: usize) -> Option<usize> {
    let mut line_start = end;
    for line in text[end..].split_inclusive('\n') {
        let trimmed = line.trim_start();
        let inner = trimmed.strip_prefix('{').map(str::trim_start);
        if inner.is_some_and(|inner| inner.is_empty() || inner.starts_with('"')) {
            return Some(line_start + line.len() - trimmed.len());
        }
        line_start += line.len();
    }
    None
}

/// Returns the first document at or after an offset, and its end.
fn document_at(name: &str, text: &str, from: usize) -> Outcome<(Value, usize)> {
    let none = || mistake_in(&format!("{name}:1:1"), "not JSON");
    let start = from + start(&text[from..]).ok_or_else(none)?;
    let before = text[..start].matches('\n').count();
    let mut documents = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    let error = match documents.next().ok_or_else(none)? {
        Ok(document) => return Ok((document, start + documents.byte_offset())),
        Err(error) => error,
    };
    let place = format!("{name}:{}:{}", before + error.line(), error.column());
    if error.classify() == Category::Eof {
        let text = "the JSON is truncated: the file is incomplete, or the tool was interrupted; run it again";
        return Err(mistake_in(&place, text));
    }
    // The position in the message is relative to the document.
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or(&message);
    Err(mistake_in(&place, &format!("not JSON: {message}")))
}

pub(super) fn number(value: &Value, keys: &[&str]) -> Option<f64> {
    at(value, keys)?.as_f64()
}

pub(super) fn whole(value: &Value, keys: &[&str]) -> Option<u64> {
    at(value, keys)?.as_u64()
}

pub(super) fn word<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    at(value, keys)?.as_str()
}

/// Entries of the list at a path of keys; empty if it is not a list.
pub(super) fn list<'v>(value: &'v Value, keys: &[&str]) -> &'v [Value] {
    at(value, keys).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn at<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| value.get(key))
}

/// The text of a scalar; `None` for null, a list and an object.
pub(super) fn level(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
