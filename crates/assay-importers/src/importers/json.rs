//! The first JSON document of a text, whatever stands before and after it.

use assay_base::failure::{Failure, Outcome};
use serde_json::Value;
use serde_json::error::Category;

/// Where the document begins: at the first line that begins as one, else at the first brace.
pub(super) fn start(text: &str) -> Option<usize> {
    // A message such as `[WARN] ...` is none.
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

pub(super) fn document(name: &str, text: &str) -> Outcome<Value> {
    let Some(start) = start(text) else {
        return Err(Failure::mistake(format!("{name}:1:1: there is no JSON in it")));
    };
    let before = text[..start].matches('\n').count();
    let mut documents = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    match documents.next() {
        Some(Ok(document)) => Ok(document),
        Some(Err(error)) => {
            let (line, column) = (before + error.line(), error.column());
            // Its own place is that within the document.
            let told = error.to_string();
            let told = told.split(" at line ").next().unwrap_or(&told);
            let what = if error.classify() == Category::Eof {
                "the file ends in the middle of its JSON: it is truncated, or the tool was ended \
                 before its end; run it again"
                    .to_owned()
            } else {
                format!("this is no JSON: {told}")
            };
            Err(Failure::mistake(format!("{name}:{line}:{column}: {what}")))
        }
        None => Err(Failure::mistake(format!("{name}:1:1: there is no JSON in it"))),
    }
}

/// A number below keys.
pub(super) fn number(value: &Value, keys: &[&str]) -> Option<f64> {
    at(value, keys)?.as_f64()
}

/// A whole number below keys.
pub(super) fn whole(value: &Value, keys: &[&str]) -> Option<u64> {
    at(value, keys)?.as_u64()
}

/// A text below keys.
pub(super) fn word<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    at(value, keys)?.as_str()
}

/// The entries of a list below keys; none where it is no list.
pub(super) fn list<'v>(value: &'v Value, keys: &[&str]) -> &'v [Value] {
    at(value, keys).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// What stands below keys.
pub(super) fn at<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| value.get(key))
}

/// A plain value as a word, as levels are told.
pub(super) fn level(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
