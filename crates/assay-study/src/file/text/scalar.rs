//! One value of a study file: type, limits, and hints.

use std::ops::RangeInclusive;
use std::str::FromStr;

use assay_core::catalogue::keys::{Field, Form};
use assay_core::quantity::units::show;
use assay_core::quantity::{Bytes, Loss, Percent, Time, units::UnitError};
use assay_workloads::io::{Content, Mix, Size, size};
use assay_workloads::metrics;
use serde::Serialize;
use serde_json::{Value, json};
use toml::de::{DeInteger, DeValue};

use super::super::printed::Claimed;
use super::super::{Amount, Price, Start, words};

#[derive(Debug, PartialEq, Eq)]
pub struct Complaint {
    pub message: String,
    pub hint: Option<String>,
}

impl Complaint {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }

    pub fn plain(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }
}

/// Reads the value of a scalar key as JSON.
pub fn read(field: &Field, value: &DeValue<'_>) -> Result<Value, Complaint> {
    match &field.form {
        Form::Whole { least, most } => whole(field, *least..=*most, value),
        Form::Flag => flag(field, value),
        Form::FlagOrPath if value.as_bool().is_some() => flag(field, value),
        Form::Metric => metric(field, value),
        Form::Size { least, most } => amount(field, value, &(*least..=*most)),
        Form::Sizes { least, most } => match value.as_str().filter(|text| size::is_mix(text)) {
            Some(text) => text
                .parse::<Size>()
                .map(|size| json!(size))
                .map_err(|error| rejected(field, &error)),
            None => amount(field, value, &(*least..=*most)),
        },
        Form::Time { least } => amount(field, value, &(*least..=Time(u64::MAX))),
        Form::Share => share(field, value),
        Form::Loss => loss(field, value),
        Form::LossOrAmount => with_unit(field, value)?
            .parse::<Loss>()
            .map(|loss| json!(loss))
            .map_err(|error| rejected(field, &error.0)),
        Form::Word(choices) => word(field, &choices(), value),
        Form::Mix => text(field, value)?
            .parse::<Mix>()
            .map(|mix| json!(mix))
            .map_err(|error| Complaint::plain(quoted(&error))),
        Form::Content => parsed::<Content>(field, value),
        Form::Own(own) => {
            let text = match value.as_integer() {
                Some(number) if own.number.is_some() => decimal(number),
                _ => text(field, value)?.to_owned(),
            };
            (own.read)(&text).map(|text| json!(text)).map_err(|error| rejected(field, &error))
        }
        Form::Start => parsed::<Start>(field, value),
        Form::Amount => parsed::<Amount>(field, value),
        Form::Price => parsed::<Price>(field, value),
        Form::Claims => parsed::<Claimed>(field, value),
        Form::Name => name(field, text(field, value)?),
        _ => text(field, value).map(|text| json!(text)),
    }
}

fn parsed<T: FromStr<Err = String> + Serialize>(
    field: &Field,
    value: &DeValue<'_>,
) -> Result<Value, Complaint> {
    let read = text(field, value)?.parse::<T>().map_err(|error| rejected(field, &error))?;
    Ok(json!(read))
}

/// The complaint of a parser about the value of a key.
fn rejected(field: &Field, error: &str) -> Complaint {
    Complaint::plain(format!("{}: {}", field.name, quoted(error)))
}

pub fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(true) => "true",
        DeValue::Boolean(false) => "false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

pub fn wrong_type(field: &Field, wanted: &str, value: &DeValue<'_>) -> Complaint {
    Complaint::new(
        format!("{}: expected {wanted}, found {}", field.name, kind_of(value)),
        format!("example: {}", field.example),
    )
}

pub fn decimal(number: &DeInteger<'_>) -> String {
    i128::from_str_radix(number.as_str(), number.radix())
        .map_or_else(|_| number.as_str().to_owned(), |value| value.to_string())
}

/// Changes backquotes around the user's words to the double quotes of TOML.
pub fn quoted(message: &str) -> String {
    message.replace('`', "\"")
}

fn text<'v>(field: &Field, value: &'v DeValue<'_>) -> Result<&'v str, Complaint> {
    let text = value.as_str().ok_or_else(|| wrong_type(field, "text", value))?;
    if text.trim().is_empty() {
        return Err(Complaint::new(
            format!("{} is empty", field.name),
            format!("example: {}", field.example),
        ));
    }
    Ok(text)
}

fn name(field: &Field, text: &str) -> Result<Value, Complaint> {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.chars().all(is_allowed) {
        return Ok(json!(text));
    }
    let lower = text.trim().to_lowercase();
    let better: String = lower.chars().map(|c| if is_allowed(c) { c } else { '-' }).collect();
    Err(Complaint::new(
        format!("{} may contain only lower-case letters, digits and -, not \"{text}\"", field.name),
        format!("write {} = \"{better}\"", field.name),
    ))
}

/// Reads one of a few words; suggests the nearest, or all of them.
pub(super) fn word(
    field: &Field,
    choices: &[&str],
    value: &DeValue<'_>,
) -> Result<Value, Complaint> {
    let text = value.as_str().ok_or_else(|| wrong_type(field, "text", value))?;
    if choices.contains(&text) {
        return Ok(json!(text));
    }
    // A long list would hide the message, so it goes below, or only the nearest word.
    let near = words::did_you_mean(text, choices);
    if choices.len() > 5 {
        let hint = near.unwrap_or_else(|| format!("use one of {}", choices.join(", ")));
        return Err(Complaint::new(format!("{}: unknown value \"{text}\"", field.name), hint));
    }
    let message = format!("{} must be {}, not \"{text}\"", field.name, words::choice(choices));
    Err(Complaint { message, hint: near })
}

/// Reads the name of a metric; names of numbers from programs are not known in advance.
fn metric(field: &Field, value: &DeValue<'_>) -> Result<Value, Complaint> {
    let name = metrics::full(text(field, value)?);
    if metrics::is_told(&name) || metrics::is_known(&name) {
        return Ok(json!(name));
    }
    let message = format!("{}: unknown metric \"{name}\"", field.name);
    Err(Complaint::new(message, metrics::instead(&name, &metrics::names())))
}

/// Reads a whole number within limits: the value of a key, or an entry of a list.
pub fn whole(
    field: &Field,
    limits: RangeInclusive<u64>,
    value: &DeValue<'_>,
) -> Result<Value, Complaint> {
    let name = field.name;
    let (least, most) = (*limits.start(), *limits.end());
    let Some(number) = value.as_integer() else {
        let mut complaint = wrong_type(field, "a whole number", value);
        let in_quotes = value.as_str().and_then(|text| text.trim().parse().ok());
        if let Some(number) = in_quotes.filter(|number| limits.contains(number)) {
            // An entry of a list has no key.
            let is_entry = matches!(field.form, Form::Rising { .. });
            let key = if is_entry { String::new() } else { format!("{name} = ") };
            complaint.hint = Some(format!("remove the quotes: {key}{number}"));
        }
        return Err(complaint);
    };
    let parsed = u64::from_str_radix(number.as_str(), number.radix()).ok();
    if let Some(number) = parsed.filter(|number| limits.contains(number)) {
        return Ok(json!(number));
    }
    let shown = decimal(number);
    Err(Complaint::plain(if most == u64::MAX {
        format!("{name}: {shown} is not a whole number from 0 to 2^64 - 1")
    } else {
        format!("{name}: {shown} is outside {} to {}", show::count(least), show::count(most))
    }))
}

/// Reads a flag; other values that mean a flag are mistakes with a hint.
fn flag(field: &Field, value: &DeValue<'_>) -> Result<Value, Complaint> {
    if let Some(flag) = value.as_bool() {
        return Ok(json!(flag));
    }
    let word = match value {
        DeValue::String(text) => text.to_lowercase(),
        DeValue::Integer(number) => decimal(number),
        _ => String::new(),
    };
    let complaint = wrong_type(field, "true or false", value);
    let flag = match word.as_str() {
        "true" | "yes" | "on" | "1" => true,
        "false" | "no" | "off" | "0" => false,
        _ => return Err(complaint),
    };
    Err(Complaint::new(complaint.message, format!("write {} = {flag}", field.name)))
}

/// Reads an amount with a unit, within limits.
fn amount<T>(
    field: &Field,
    value: &DeValue<'_>,
    limits: &RangeInclusive<T>,
) -> Result<Value, Complaint>
where
    T: FromStr<Err = UnitError> + std::fmt::Display + PartialOrd + Default + Serialize,
{
    let (name, least, most) = (field.name, limits.start(), limits.end());
    let text = with_unit(field, value)?;
    let amount: T = text.parse().map_err(|error: UnitError| rejected(field, &error.0))?;
    if amount < *least && amount == T::default() {
        let message = format!("{name} must be above zero, not \"{text}\"");
        return Err(Complaint::new(message, format!("example: {}", field.example)));
    }
    if amount < *least {
        return Err(Complaint::plain(format!(
            "{name}: \"{text}\" is too small; the minimum is {least}"
        )));
    }
    if amount > *most {
        return Err(Complaint::plain(format!(
            "{name}: \"{text}\" is too large; the maximum is {most}"
        )));
    }
    Ok(json!(amount))
}

fn share(field: &Field, value: &DeValue<'_>) -> Result<Value, Complaint> {
    let (share, text) = percent(field, value)?;
    if share.0 > 0.0 && share.0 < 100.0 {
        return Ok(json!(share));
    }
    Err(Complaint::new(
        format!("{} must be above 0% and below 100%, not \"{text}\"", field.name),
        format!("example: {}", field.example),
    ))
}

fn loss(field: &Field, value: &DeValue<'_>) -> Result<Value, Complaint> {
    percent(field, value).map(|(loss, _)| json!(loss))
}

fn percent<'v>(field: &Field, value: &'v DeValue<'_>) -> Result<(Percent, &'v str), Complaint> {
    let text = with_unit(field, value)?;
    let percent = text.parse().map_err(|error: UnitError| rejected(field, &error.0))?;
    Ok((percent, text))
}

/// Returns the text of an amount; fails for a bare number, with a hint that adds a unit.
fn with_unit<'v>(field: &Field, value: &'v DeValue<'_>) -> Result<&'v str, Complaint> {
    let bare = match value {
        DeValue::Integer(number) => decimal(number),
        DeValue::Float(number) => number.as_str().to_owned(),
        _ => return text(field, value),
    };
    let (name, message) = (field.name, format!("{} has no unit", field.name));
    Err(match (&field.form, bare.parse::<u64>()) {
        // 4096 without a unit means bytes.
        (Form::Size { .. } | Form::Sizes { .. }, Ok(bytes)) if bytes >= 512 => {
            Complaint::new(message, format!("for bytes, use {name} = \"{}\"", Bytes(bytes)))
        }
        (_, Ok(number)) if number > 0 => {
            // The unit of the example is the usual one for this key.
            let example = field.example.trim_end_matches(['}', ' ', '"']);
            let unit = example.rsplit(' ').next().unwrap_or_default();
            Complaint::new(message, format!("example: {name} = \"{number} {unit}\""))
        }
        _ => Complaint::new(message, format!("example: {}", field.example)),
    })
}
