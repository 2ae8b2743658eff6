//! Reads a parsed file by the key tables into JSON; reports errors and substitutes placeholders.

use std::ops::Range;

use assay_core::catalogue::keys::{Field, Fields, Form, Need};
use assay_machine::factors;
use assay_workloads::{command, metrics};
use serde_json::{Map, Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::fields::{LAW, PUBLISHED, QUESTION, STUDY, TARGET_FACTOR, tables};
use super::super::{search, simulated, words};
use super::mistakes::{Mistakes, ValuePlace, ValuePlaces};
use super::scalar::{self, Complaint};

pub struct Read {
    pub json: Value,
    pub places: ValuePlaces,
    pub mistakes: Mistakes,
}

pub fn read(root: &DeTable<'_>) -> Read {
    let mut reader =
        StudyReader { root, places: ValuePlaces::default(), mistakes: Mistakes::default() };
    let json = Value::Object(reader.table("", &STUDY, root));
    Read { json, places: reader.places, mistakes: reader.mistakes }
}

struct StudyReader<'a> {
    root: &'a DeTable<'a>,
    places: ValuePlaces,
    mistakes: Mistakes,
}

pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}/{key}") }
}

type Entry<'v> = &'v Spanned<DeValue<'v>>;

impl StudyReader<'_> {
    /// Reads a table by its rows; the result has every required key, with a placeholder for a missing or wrong one.
    fn table(&mut self, path: &str, fields: &Fields, table: &DeTable<'_>) -> Map<String, Value> {
        let mut out = Map::new();
        // The keys that unknown keys probably mean: they are not reported as missing, too.
        let mut meant = Vec::new();
        for (key, value) in table {
            let place = ValuePlace { key: key.span(), value: value.span() };
            let field = fields.find(key.get_ref()).or_else(|| {
                let (field, hint) = unknown_key(key.get_ref(), fields);
                let message = format!("{} has no key \"{}\"", fields.label, key.get_ref());
                self.say(&join(&join(path, key.get_ref()), "?"), key.span(), message, hint);
                meant.extend(field.map(|field| field.name));
                // Checks the value as one of the suggested key.
                field.filter(|field| !belongs_elsewhere(key.get_ref(), field))
            });
            // A suggested key that the table also has is read by its own entry.
            let Some(field) = field
                .filter(|field| *field.name == **key.get_ref() || !table.contains_key(field.name))
            else {
                continue;
            };
            let path = join(path, field.name);
            self.places.insert(&path, place);
            if let Some(value) = self.value(&path, field, value) {
                out.insert(field.name.to_owned(), value);
            }
        }
        for field in fields.rows {
            if !out.contains_key(field.name) {
                let is_given = table.contains_key(field.name) || meant.contains(&field.name);
                self.fill_missing(path, fields, field, is_given, &mut out);
            }
        }
        self.check_kind(path, fields, table, &meant, &mut out);
        out
    }

    /// Checks that exactly one of the alternative keys exists.
    fn check_kind(
        &mut self,
        path: &str,
        fields: &Fields,
        table: &DeTable<'_>,
        meant: &[&str],
        out: &mut Map<String, Value>,
    ) {
        let kinds = || fields.rows.iter().filter(|field| field.need == Need::OneOf);
        let Some(first) = kinds().next() else { return };
        let given: Vec<&Field> = kinds().filter(|field| table.contains_key(field.name)).collect();
        if given.is_empty() && !kinds().any(|field| meant.contains(&field.name)) {
            let place = self.places.find(path).key;
            let message = format!("{} requires a kind of work", fields.label);
            let hint = Some(format!("add {}", first.example));
            self.say(&join(path, first.name), place, message, hint);
        }
        for extra in given.iter().skip(1) {
            let place = self.places.find(&join(path, extra.name)).key;
            let message = format!("{} already has the kind {}", fields.label, given[0].name);
            self.say(&join(path, extra.name), place, message, Some("keep only one".to_owned()));
            out.remove(extra.name);
        }
        if !kinds().any(|field| out.contains_key(field.name)) {
            let kind = given.first().copied().unwrap_or(first);
            out.insert(kind.name.to_owned(), placeholder(kind));
        }
    }

    /// Fills in a missing key from a factor, or reports it and uses a placeholder.
    fn fill_missing(
        &mut self,
        path: &str,
        fields: &Fields,
        field: &'static Field,
        is_given: bool,
        out: &mut Map<String, Value>,
    ) {
        if matches!(field.need, Need::Never | Need::OneOf) {
            return;
        }
        let key = join(path, field.name);
        let level = self.first_level(field);
        if !is_given && (field.need == Need::Always || level.is_none()) {
            let hint = match (field.need, &field.form) {
                (Need::UnlessFactor, _) => {
                    format!("add {}, or make {} a factor", field.example, field.name)
                }
                (_, Form::Tables(inner)) => {
                    let keys = needed_names(inner);
                    let keys = keys.join(" and ");
                    format!("add a table {} with {keys}", field.example)
                }
                _ => format!("add {}", field.example),
            };
            let place = self.places.find(path).key;
            self.say(&key, place, format!("{} has no {}", fields.label, field.name), Some(hint));
        }
        let filled = level.filter(|level| accepted(field.name, level)).map(Value::String);
        out.insert(field.name.to_owned(), filled.unwrap_or_else(|| placeholder(field)));
    }

    /// The first level of the factor that supplies a key.
    fn first_level(&self, field: &Field) -> Option<String> {
        if field.need != Need::UnlessFactor {
            return None;
        }
        let levels_in = |table: &str| self.root.get(table)?.get_ref().as_table()?.get(field.name);
        let levels = levels_in("factors").or_else(|| levels_in("search"))?.get_ref();
        let first = match levels.as_array() {
            Some(levels) => levels.first().map(Spanned::get_ref),
            None => Some(levels),
        };
        let text = first.and_then(|first| level(first).ok()).unwrap_or_default();
        if !search::is_range(&text) {
            return Some(text);
        }
        let levels = search::levels(field.name, &text).unwrap_or_default();
        Some(levels.into_iter().next().unwrap_or_default())
    }

    /// Reads a value by the form of its key; reports mistakes.
    fn value(&mut self, path: &str, field: &'static Field, value: Entry<'_>) -> Option<Value> {
        let read = match &field.form {
            Form::Table(fields) => self.inner(path, field, fields, value),
            Form::Tables(fields) => return self.tables(path, field, fields, value),
            Form::OneOf(fields) => return self.one_of(path, field, fields, value),
            Form::Law(fields) => return self.read_law(path, field, fields, value),
            Form::Factors => return self.factors(path, field, value),
            Form::Space => return self.read_search(path, field, value),
            Form::Arm | Form::Texts => return self.arm(path, field, value),
            Form::Reads(fields) => return self.readings(path, field, fields, value),
            Form::Arms => return self.list(path, field, value, Self::arm),
            Form::Rising { .. } | Form::FactorNames | Form::Names(_) | Form::Words => {
                return self.list(path, field, value, |reader, path, field, item| {
                    reader.or_report(path, item.span(), entry(field, item.get_ref()))
                });
            }
            _ => scalar::read(field, value.get_ref()),
        };
        self.or_report(path, value.span(), read)
    }

    /// Returns a read value; reports the complaint instead, if there is one.
    fn or_report(
        &mut self,
        path: &str,
        span: Range<usize>,
        read: Result<Value, Complaint>,
    ) -> Option<Value> {
        read.map_err(|complaint| self.say(path, span, complaint.message, complaint.hint)).ok()
    }

    fn say(&mut self, path: &str, span: Range<usize>, message: String, hint: Option<String>) {
        self.mistakes.add(path, span, message, hint);
    }

    fn inner(
        &mut self,
        path: &str,
        field: &Field,
        fields: &Fields,
        value: Entry<'_>,
    ) -> Result<Value, Complaint> {
        match value.get_ref().as_table() {
            Some(table) => Ok(Value::Object(self.table(path, fields, table))),
            None => Err(scalar::wrong_type(field, "a table", value.get_ref())),
        }
    }

    fn tables(
        &mut self,
        path: &str,
        field: &'static Field,
        fields: &'static Fields,
        value: Entry<'_>,
    ) -> Option<Value> {
        if value.get_ref().is_table() {
            let message = format!("{} is a list of tables", field.name);
            let hint = format!("use double brackets: {}", field.example);
            self.say(path, value.span(), message, Some(hint));
            return None;
        }
        self.list(path, field, value, |reader, path, field, item| {
            let read = reader.inner(path, field, fields, item);
            reader.or_report(path, item.span(), read)
        })
    }

    /// Reads the entries of a list; placeholders preserve their indices.
    fn list(
        &mut self,
        path: &str,
        field: &'static Field,
        value: Entry<'_>,
        mut read: impl FnMut(&mut Self, &str, &'static Field, Entry<'_>) -> Option<Value>,
    ) -> Option<Value> {
        let Some(items) = value.get_ref().as_array() else {
            let complaint = scalar::wrong_type(field, "a list", value.get_ref());
            return self.or_report(path, value.span(), Err(complaint));
        };
        let mut out = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = join(path, &index.to_string());
            self.places.insert(&path, ValuePlace { key: item.span(), value: item.span() });
            out.push(
                read(self, &path, field, item).unwrap_or_else(|| entry_placeholder(&field.form)),
            );
        }
        Some(Value::Array(out))
    }

    /// Reads how to find metrics in the output of a command: one rule, or a list of rules.
    fn readings(
        &mut self,
        path: &str,
        field: &'static Field,
        fields: &'static Fields,
        value: Entry<'_>,
    ) -> Option<Value> {
        if value.get_ref().is_array() {
            return self.list(path, field, value, |reader, path, field, item| {
                reader.reading(path, field, fields, item)
            });
        }
        // Errors of a single value appear at the first entry.
        let first = join(path, "0");
        let place = self.places.find(path);
        self.places.insert(&first, place);
        self.reading(&first, field, fields, value).map(|reading| json!([reading]))
    }

    fn reading(
        &mut self,
        path: &str,
        field: &Field,
        fields: &Fields,
        value: Entry<'_>,
    ) -> Option<Value> {
        let read = match value.get_ref() {
            DeValue::Table(table) => return Some(Value::Object(self.table(path, fields, table))),
            DeValue::String(text) => match text.parse::<command::ParseSpec>() {
                Ok(reading) => Ok(json!(reading)),
                Err(error) => Err(Complaint::plain(scalar::quoted(&error))),
            },
            other => Err(scalar::wrong_type(field, "text or a table", other)),
        };
        self.or_report(path, value.span(), read)
    }

    /// `target`: a table with one key.
    fn one_of(
        &mut self,
        path: &str,
        field: &'static Field,
        fields: &Fields,
        value: Entry<'_>,
    ) -> Option<Value> {
        let keys = words::choice(&fields.names());
        let Some(table) = value.get_ref().as_table() else {
            let complaint = scalar::wrong_type(field, "a table", value.get_ref());
            let hint = match value.get_ref().as_str() {
                Some(text) if !text.contains('"') => format!("write {}", target(text)),
                _ => format!("example: {}", field.example),
            };
            let complaint = Complaint::new(complaint.message, hint);
            return self.or_report(path, value.span(), Err(complaint));
        };
        let read = self.table(path, fields, table);
        if table.len() == 1 {
            return (!read.is_empty()).then_some(Value::Object(read));
        }
        let place = self.places.find(path).key;
        let count = if table.is_empty() { "no" } else { "more than one" };
        let message =
            format!("{} contains {count} target keys; use exactly one of {keys}", field.name);
        self.say(path, place, message, Some(format!("example: {}", field.example)));
        None
    }

    /// Reads the law of a simulated drive as text, from a string or a table.
    fn read_law(
        &mut self,
        path: &str,
        field: &Field,
        fields: &Fields,
        value: Entry<'_>,
    ) -> Option<Value> {
        let text = match value.get_ref() {
            DeValue::Table(table) => {
                let read = self.table(path, fields, table);
                law_text(&read)
            }
            other => {
                let read = scalar::read(field, other);
                self.or_report(path, value.span(), read)?.as_str()?.to_owned()
            }
        };
        // The reader already reported an invalid key of this table.
        let is_wrong = LAW.names().iter().any(|key| self.mistakes.is_wrong(&join(path, key)));
        if let Some(message) = law_mistake(&text) {
            let place = self.places.find(path);
            let span = if value.get_ref().is_table() { place.key } else { place.value };
            let hint = format!("example: {}", field.example);
            if !is_wrong {
                self.say(path, span, message, Some(hint));
            }
            return None;
        }
        Some(Value::String(text))
    }

    /// Returns the table of a value, or reports that it is not a table.
    fn expect_table<'v>(
        &mut self,
        path: &str,
        field: &Field,
        value: Entry<'v>,
    ) -> Option<&'v DeTable<'v>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            let complaint = scalar::wrong_type(field, "a table", value.get_ref());
            self.say(path, value.span(), complaint.message, complaint.hint);
        }
        table
    }

    fn factors(&mut self, path: &str, field: &Field, value: Entry<'_>) -> Option<Value> {
        let table = self.expect_table(path, field, value)?;
        let mut out = Map::new();
        for (key, value) in table {
            let name: &str = key.get_ref();
            let path = join(path, name);
            self.places.insert(&path, ValuePlace { key: key.span(), value: value.span() });
            let levels = self.levels(&path, name, value);
            out.insert(name.to_owned(), Value::Array(levels));
        }
        Some(Value::Object(out))
    }

    /// Reads `[search]`: like `[factors]`, with ranges as levels.
    fn read_search(&mut self, path: &str, field: &Field, value: Entry<'_>) -> Option<Value> {
        let table = self.expect_table(path, field, value)?;
        let factors = self.root.get("factors").map(Spanned::get_ref);
        let factors = factors.and_then(DeValue::as_table);
        if factors.is_none() {
            let place = self.places.find(path);
            self.places.insert("factors", place);
        }
        let mut out = Map::new();
        for (key, value) in table {
            let name: &str = key.get_ref();
            let path = join("factors", name);
            if factors.is_some_and(|factors| factors.contains_key(name)) {
                let message = format!("{name} is also in [factors]");
                self.say(&path, key.span(), message, Some("keep only one".to_owned()));
                continue;
            }
            self.places.insert(&path, ValuePlace { key: key.span(), value: value.span() });
            let levels = self.search_levels(&path, name, value);
            out.insert(name.to_owned(), Value::Array(levels));
        }
        Some(Value::Object(out))
    }

    /// Reads the levels of a searched factor: a range, or a list of levels and ranges; empty after a mistake.
    fn search_levels(&mut self, path: &str, name: &str, value: Entry<'_>) -> Vec<Value> {
        let items = value.get_ref().as_array();
        let is_list = items.is_some();
        let mut levels = Vec::new();
        for item in items.map_or_else(|| vec![value], |items| items.iter().collect()) {
            let found = level(item.get_ref()).and_then(|text| {
                if search::is_range(&text) {
                    search::levels(name, &text)
                } else if is_list {
                    Ok(vec![text])
                } else {
                    Err(no_list(name, &text, item.get_ref()))
                }
            });
            let found = match found {
                Ok(found) => found,
                Err(complaint) => {
                    self.say(path, item.span(), complaint.message, complaint.hint);
                    return Vec::new();
                }
            };
            for level in found {
                let place = ValuePlace { key: item.span(), value: item.span() };
                self.places.insert(&join(path, &levels.len().to_string()), place);
                levels.push(Value::String(level));
            }
        }
        levels
    }

    /// Reads the levels of a factor; a wrong level becomes empty, to preserve the indices.
    fn levels(&mut self, path: &str, name: &str, value: Entry<'_>) -> Vec<Value> {
        let Some(items) = value.get_ref().as_array() else {
            let unknown = unknown_factor(name).filter(|_| !self.is_named_by_work(name));
            if let Some(hint) = unknown {
                let span = self.places.find(path).key;
                self.say(path, span, format!("unknown factor \"{name}\""), Some(hint));
                return Vec::new();
            }
            let kind = scalar::kind_of(value.get_ref());
            let message = format!("{name}: expected a list of levels, found {kind}");
            let hint = match level(value.get_ref()) {
                Ok(text) => list_hint(name, &text, value.get_ref()),
                Err(_) => format!("example: {name} = {}", example(name)),
            };
            self.say(path, value.span(), message, Some(hint));
            return Vec::new();
        };
        let mut levels = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = join(path, &index.to_string());
            self.places.insert(&path, ValuePlace { key: item.span(), value: item.span() });
            let read = level(item.get_ref()).map(Value::String);
            levels.push(self.or_report(&path, item.span(), read).unwrap_or_else(|| json!("")));
        }
        levels
    }

    fn is_named_by_work(&self, name: &str) -> bool {
        let work = self.root.get("workload");
        work.is_some_and(|work| contains_text(work.get_ref(), &format!("{{{name}}}")))
    }

    /// Reads a configuration: one level per factor.
    fn arm(&mut self, path: &str, field: &'static Field, value: Entry<'_>) -> Option<Value> {
        let table = self.expect_table(path, field, value)?;
        let mut out = Map::new();
        for (key, value) in table {
            let name: &str = key.get_ref();
            let path = join(path, name);
            self.places.insert(&path, ValuePlace { key: key.span(), value: value.span() });
            let read = level(value.get_ref()).map(Value::String);
            if let Some(level) = self.or_report(&path, value.span(), read) {
                out.insert(name.to_owned(), level);
            }
        }
        Some(Value::Object(out))
    }
}

fn contains_text(value: &DeValue<'_>, text: &str) -> bool {
    match value {
        DeValue::String(own) => own.contains(text),
        DeValue::Array(items) => items.iter().any(|item| contains_text(item.get_ref(), text)),
        DeValue::Table(table) => table.values().any(|item| contains_text(item.get_ref(), text)),
        _ => false,
    }
}

fn entry(field: &Field, item: &DeValue<'_>) -> Result<Value, Complaint> {
    match &field.form {
        Form::Rising { least, most } => scalar::whole(field, *least..=*most, item),
        Form::Names(choices) => scalar::word(field, &choices(), item),
        Form::FactorNames => match item.as_str() {
            Some(name) => Ok(json!(name)),
            None => Err(scalar::wrong_type(field, "names of factors", item)),
        },
        _ => level(item).map(Value::String),
    }
}

/// Reads a level as text: a string, a whole number or a flag.
fn level(value: &DeValue<'_>) -> Result<String, Complaint> {
    match value {
        DeValue::String(text) if text.chars().any(char::is_control) => {
            Err(Complaint::plain("a level cannot contain line breaks or control characters"))
        }
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) => Ok(scalar::decimal(number)),
        DeValue::Boolean(flag) => Ok(flag.to_string()),
        other => Err(Complaint::plain(format!(
            "a level must be text, a whole number, true or false, not {}",
            scalar::kind_of(other)
        ))),
    }
}

fn no_list(name: &str, text: &str, value: &DeValue<'_>) -> Complaint {
    let found = scalar::kind_of(value);
    Complaint::new(
        format!("{name}: expected a list of levels or a range, found {found}"),
        format!("{}, or a range such as \"1 .. 64 in doublings\"", list_hint(name, text, value)),
    )
}

/// Suggests a list in place of a single level.
fn list_hint(name: &str, text: &str, value: &DeValue<'_>) -> String {
    match range(text) {
        Some(levels) => format!("list the levels: {name} = [{levels}]"),
        None if value.is_str() => format!("write {name} = [\"{text}\"]"),
        None => format!("write {name} = [{text}]"),
    }
}

/// Returns the levels that a range such as `1..8` may mean: doublings from the first, and the last.
pub fn range(text: &str) -> Option<String> {
    let (first, last) = text.split_once("..").or_else(|| text.split_once('-'))?;
    let first: u64 = first.trim().parse().ok()?;
    let last: u64 = last.trim_start_matches(['.', '=']).trim().parse().ok()?;
    let mut levels = Vec::new();
    let mut next = first.max(1);
    while next < last && levels.len() < 8 {
        levels.push(next.to_string());
        next = next.saturating_mul(2);
    }
    levels.push(last.to_string());
    (first < last).then(|| levels.join(", "))
}

pub fn example(name: &str) -> &'static str {
    let parameter = assay_workloads::parameter(name).map(|parameter| parameter.example);
    let other = || factors::find(name).map(factors::Factor::example);
    parameter.or_else(other).unwrap_or(super::super::fields::TARGET_EXAMPLE)
}

pub fn factor_names() -> Vec<&'static str> {
    let parameters = assay_workloads::parameters().iter().map(|parameter| parameter.about.name);
    let others = factors::all().map(|factor| factor.about().name);
    parameters.chain(others).chain([TARGET_FACTOR]).collect()
}

/// Suggests a replacement for an unknown factor; `None` if the factor exists.
pub fn unknown_factor(name: &str) -> Option<String> {
    let known = factor_names();
    if known.contains(&name) || factors::find(name).is_some() {
        return None;
    }
    if let Some(field) = STUDY.find(name) {
        return Some(format!(
            "{name} is a key of the study; move it above the first [table] ({})",
            field.example
        ));
    }
    let kinds = assay_workloads::KINDS.iter().filter(|kind| kind.keys.find(name).is_some());
    let kinds: Vec<&str> = kinds.map(|kind| kind.about.name).collect();
    if !kinds.is_empty() {
        return Some(format!("{name} is a key of workloads of kind {}", kinds.join(", ")));
    }
    if name.starts_with("tunable:") {
        return Some("use tunable:/sys/... or tunable:/proc/sys/... without ..".to_owned());
    }
    let hint = words::did_you_mean(name, &known);
    Some(hint.unwrap_or_else(|| "see assay list factors".to_owned()))
}

/// Finds the key that an unknown key may mean, in this or another table, and a hint.
fn unknown_key(name: &str, fields: &Fields) -> (Option<&'static Field>, Option<String>) {
    // Keys of a question are common words: who writes one elsewhere means something else.
    let common = [QUESTION.label, PUBLISHED.label];
    let has_key = |other: &&Fields| {
        other.label != fields.label && !common.contains(&other.label) && other.find(name).is_some()
    };
    let Some(home) = tables().find(has_key) else {
        let known = fields.names();
        let near = words::nearest(name, &known).and_then(|near| fields.find(near));
        let hint = words::did_you_mean(name, &known);
        return (near, Some(hint.unwrap_or_else(|| format!("use one of {}", known.join(", ")))));
    };
    let example = home.find(name).map_or("", |field| field.example);
    let hint = match home.label {
        "a study" => {
            format!("{name} is a key of the study; move it above the first [table]")
        }
        "a workload" => format!("{name} is a key of a workload; move it below [[workload]]"),
        label if example.starts_with(label) => format!("write {example}"),
        label => format!("{name} is a key of {label}: {label} = {{ {example}, ... }}"),
    };
    (fields.find(home.label), Some(hint))
}

/// Returns whether an unknown key is a key of the table that the field names.
fn belongs_elsewhere(name: &str, field: &Field) -> bool {
    tables().any(|fields| fields.label == field.name && fields.find(name).is_some())
}

pub fn accepted(name: &str, level: &str) -> bool {
    assay_workloads::KINDS
        .iter()
        .filter_map(|kind| assay_workloads::at_level(kind, name, level))
        .any(|set| set.is_ok())
}

/// Checks the law of a simulated drive; returns the message for a file, without the form of the command line.
pub fn law_mistake(text: &str) -> Option<String> {
    let message = scalar::quoted(&simulated::law(text).err()?.message);
    let message = message.split("; use the form").next().unwrap_or_default();
    let start = scalar::quoted(&format!("{}{text}: ", simulated::PREFIX));
    Some(format!("simulated: {}", message.strip_prefix(&start).unwrap_or(message)))
}

fn target(text: &str) -> String {
    match text.strip_prefix(simulated::PREFIX) {
        Some(law) => format!("target = {{ simulated = \"{law}\" }}"),
        None if text.starts_with("/dev/") => format!("target = {{ device = \"{text}\" }}"),
        None => format!("target = {{ directory = \"{text}\" }}"),
    }
}

/// Writes the keys of a law's table as text: `lognormal,mean=100us,servers=1`.
fn law_text(read: &Map<String, Value>) -> String {
    let bare = |key: &str| read.get(key).and_then(Value::as_str).map(|text| text.replace(' ', ""));
    let pair = |key: &str| Some(format!("{key}={}", bare(key)?));
    let servers = read.get("servers").and_then(Value::as_u64).unwrap_or(1);
    let mut parts: Vec<String> = bare("distribution").into_iter().collect();
    parts.extend(["mean", "p99"].into_iter().filter_map(pair));
    parts.push(format!("servers={servers}"));
    parts.extend(["announced_size", "usable_size", "fault"].into_iter().filter_map(pair));
    parts.join(",")
}

/// Names of required keys; for alternatives only the first.
fn needed_names(fields: &Fields) -> Vec<&'static str> {
    let alternative = fields.rows.iter().find(|row| row.need == Need::OneOf).map(|row| row.name);
    let always = fields.rows.iter().filter(|row| row.need == Need::Always).map(|row| row.name);
    always.chain(alternative).collect()
}

/// Returns a valid value for a missing or wrong key, so that the rest of the study can be checked.
fn placeholder(field: &Field) -> Value {
    match &field.form {
        Form::Word(choices) => json!(choices().first()),
        Form::Whole { least, .. } => json!(least),
        Form::Flag | Form::FlagOrPath => json!(true),
        Form::Metric => json!(metrics::names().first()),
        Form::Size { .. } | Form::Sizes { .. } => json!("4 KiB"),
        Form::Time { .. } => json!("10 s"),
        Form::Share | Form::Loss | Form::LossOrAmount | Form::Start => json!("5%"),
        Form::Mix => json!("read"),
        Form::Content => json!("0%"),
        Form::Own(own) => json!(own.example),
        Form::Table(fields) => table_placeholder(fields),
        Form::Amount => json!("90 IOPS"),
        Form::Price => json!("1 EUR"),
        Form::Claims => json!("95 MB/s"),
        Form::Tables(_)
        | Form::Reads(_)
        | Form::Arms
        | Form::Rising { .. }
        | Form::FactorNames
        | Form::Names(_)
        | Form::Words => {
            json!([])
        }
        Form::OneOf(_) | Form::Factors | Form::Space | Form::Arm | Form::Texts => json!({}),
        Form::Text | Form::Name | Form::Law(_) => json!("-"),
    }
}

fn entry_placeholder(form: &Form) -> Value {
    match form {
        Form::Tables(fields) | Form::Reads(fields) => table_placeholder(fields),
        Form::Rising { least, .. } => json!(least),
        Form::Arms => json!({}),
        _ => json!(""),
    }
}

fn table_placeholder(fields: &Fields) -> Value {
    let needed = |field: &&Field| matches!(field.need, Need::Always | Need::UnlessFactor);
    let row = fields.rows.iter().find(|field| field.need == Need::OneOf);
    let all = fields.rows.iter().filter(needed).chain(row);
    Value::Object(all.map(|field| (field.name.to_owned(), placeholder(field))).collect())
}
