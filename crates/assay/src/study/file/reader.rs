//! Walks a parsed file along the tables of keys: what is good becomes JSON, what is not becomes a
//! mistake and, where a study cannot be without it, a stand-in, so that the rest is judged too.

use std::ops::Range;

use serde_json::{Map, Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::fields::{
    Field, Fields, Kind, LAW, Need, QUESTION, STUDY, TABLES, TARGET_FACTOR,
};
use super::super::{parameters, simulated, words};
use super::mistakes::{Mistakes, Place, Places};
use super::scalar::{self, Complaint};
use crate::factors;

/// A file as it was read.
pub struct Read {
    /// What is good, in the shape of a study.
    pub json: Value,
    /// Where everything stands.
    pub places: Places,
    /// What is not good.
    pub mistakes: Mistakes,
}

/// Reads a whole file.
pub fn read(root: &DeTable<'_>) -> Read {
    let mut reader = Reader { root, places: Places::default(), mistakes: Mistakes::default() };
    let json = Value::Object(reader.table("", &STUDY, root));
    Read { json, places: reader.places, mistakes: reader.mistakes }
}

struct Reader<'a> {
    root: &'a DeTable<'a>,
    places: Places,
    mistakes: Mistakes,
}

/// The path of a key below another one.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}/{key}") }
}

type Entry<'v> = &'v Spanned<DeValue<'v>>;

impl Reader<'_> {
    fn table(&mut self, path: &str, fields: &Fields, table: &DeTable<'_>) -> Map<String, Value> {
        let mut out = Map::new();
        let mut meant = Vec::new();
        for (key, value) in table {
            let place = Place { key: key.span(), value: value.span() };
            let field = fields.find(key.get_ref()).or_else(|| {
                let (field, hint) = unknown_key(key.get_ref(), fields);
                let message = format!("{} has no key \"{}\"", fields.label, key.get_ref());
                self.say(&join(&join(path, key.get_ref()), "?"), key.span(), message, hint);
                meant.extend(field.map(|field| field.name));
                // What was meant is judged in its place.
                field.filter(|field| !belongs_elsewhere(key.get_ref(), field))
            });
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
                let told = table.contains_key(field.name) || meant.contains(&field.name);
                self.missing(path, fields, field, told, &mut out);
            }
        }
        out
    }

    /// Fills in what is not there: from a factor, or a stand-in after saying so.
    fn missing(
        &mut self,
        path: &str,
        fields: &Fields,
        field: &'static Field,
        told: bool,
        out: &mut Map<String, Value>,
    ) {
        if field.need == Need::Never {
            return;
        }
        let own = join(path, field.name);
        let level = self.first_level(field);
        if !told && (field.need == Need::Always || level.is_none()) {
            let hint = match (field.need, &field.kind) {
                (Need::UnlessFactor, _) => {
                    format!("add {}, or make {} a factor", field.example, field.name)
                }
                (_, Kind::Tables(inner)) => {
                    let needed = inner.rows.iter().filter(|row| row.need == Need::Always);
                    let keys: Vec<&str> = needed.map(|row| row.name).collect();
                    let keys = keys.join(" and ");
                    format!("add a table {} with {keys}", field.example)
                }
                _ => format!("add {}", field.example),
            };
            let place = self.places.of(path).key;
            self.say(&own, place, format!("{} has no {}", fields.label, field.name), Some(hint));
        }
        let filled = level.filter(|level| accepted(field.name, level)).map(Value::String);
        out.insert(field.name.to_owned(), filled.unwrap_or_else(|| stand_in(field)));
    }

    /// The first level of the factor that supplies a key.
    fn first_level(&self, field: &Field) -> Option<String> {
        if field.need != Need::UnlessFactor {
            return None;
        }
        let factors = self.root.get("factors")?.get_ref().as_table()?;
        let levels = factors.get(field.name)?.get_ref().as_array();
        let first = levels.and_then(|levels| level(levels.first()?.get_ref()).ok());
        Some(first.unwrap_or_default())
    }

    fn value(&mut self, path: &str, field: &'static Field, value: Entry<'_>) -> Option<Value> {
        let read = match &field.kind {
            Kind::Table(fields) => self.inner(path, field, fields, value),
            Kind::Tables(fields) => return self.tables(path, field, fields, value),
            Kind::OneOf(fields) => return self.one_of(path, field, fields, value),
            Kind::Law(fields) => return self.law(path, field, fields, value),
            Kind::Factors => return self.factors(path, field, value),
            Kind::Arm => return self.arm(path, field, value),
            Kind::Arms => return self.list(path, field, value, Self::arm),
            Kind::Rising { least, most } => {
                return self.list(path, field, value, |reader, path, field, item| {
                    let read = scalar::whole(field, *least..=*most, item.get_ref());
                    reader.kept(path, item.span(), read)
                });
            }
            Kind::FactorNames => {
                return self.list(path, field, value, |reader, path, field, item| {
                    let wrong = || scalar::wrong_type(field, "names of factors", item.get_ref());
                    let read = item.get_ref().as_str().map(|text| json!(text)).ok_or_else(wrong);
                    reader.kept(path, item.span(), read)
                });
            }
            Kind::Names(choices) => {
                return self.list(path, field, value, |reader, path, field, item| {
                    let read = scalar::word(field, &choices(), item.get_ref());
                    reader.kept(path, item.span(), read)
                });
            }
            Kind::Words => {
                return self.list(path, field, value, |reader, path, _, item| {
                    let read = level(item.get_ref()).map(Value::String);
                    reader.kept(path, item.span(), read)
                });
            }
            _ => scalar::read(field, value.get_ref()),
        };
        self.kept(path, value.span(), read)
    }

    /// What was read, or nothing after saying why.
    fn kept(
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

    /// `[[workload]]`.
    fn tables(
        &mut self,
        path: &str,
        field: &'static Field,
        fields: &'static Fields,
        value: Entry<'_>,
    ) -> Option<Value> {
        if value.get_ref().is_table() {
            let message = format!("{} is a list of tables", field.name);
            let hint = format!("write it with two brackets: {}", field.example);
            self.say(path, value.span(), message, Some(hint));
            return None;
        }
        self.list(path, field, value, |reader, path, field, item| {
            let read = reader.inner(path, field, fields, item);
            reader.kept(path, item.span(), read)
        })
    }

    /// A list whose entries are read one by one; stand-ins keep the others where they are.
    fn list(
        &mut self,
        path: &str,
        field: &'static Field,
        value: Entry<'_>,
        mut read: impl FnMut(&mut Self, &str, &'static Field, Entry<'_>) -> Option<Value>,
    ) -> Option<Value> {
        let Some(items) = value.get_ref().as_array() else {
            let complaint = scalar::wrong_type(field, "a list", value.get_ref());
            return self.kept(path, value.span(), Err(complaint));
        };
        let mut out = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = join(path, &index.to_string());
            self.places.insert(&path, Place { key: item.span(), value: item.span() });
            out.push(read(self, &path, field, item).unwrap_or_else(|| entry_stand_in(&field.kind)));
        }
        Some(Value::Array(out))
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
                _ => format!("write for example: {}", field.example),
            };
            let complaint = Complaint::new(complaint.message, hint);
            return self.kept(path, value.span(), Err(complaint));
        };
        let read = self.table(path, fields, table);
        if table.len() == 1 {
            return (!read.is_empty()).then_some(Value::Object(read));
        }
        let place = self.places.of(path).key;
        let count = if table.is_empty() { "no" } else { "more than one" };
        let message = format!("{} names {count} place: it takes one of {keys}", field.name);
        self.say(path, place, message, Some(format!("write for example: {}", field.example)));
        None
    }

    /// The law of a simulated drive, as text whichever way it was written.
    fn law(
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
                self.kept(path, value.span(), read)?.as_str()?.to_owned()
            }
        };
        // A key of the table that is wrong by itself has been told already.
        let told = LAW.names().iter().any(|key| self.mistakes.is_wrong(&join(path, key)));
        if let Some(message) = law_mistake(&text) {
            let place = self.places.of(path);
            let span = if value.get_ref().is_table() { place.key } else { place.value };
            let hint = format!("write for example: {}", field.example);
            if !told {
                self.say(path, span, message, Some(hint));
            }
            return None;
        }
        Some(Value::String(text))
    }

    fn factors(&mut self, path: &str, field: &Field, value: Entry<'_>) -> Option<Value> {
        let Some(table) = value.get_ref().as_table() else {
            let complaint = scalar::wrong_type(field, "a table", value.get_ref());
            return self.kept(path, value.span(), Err(complaint));
        };
        let mut out = Map::new();
        for (key, value) in table {
            let name: &str = key.get_ref();
            let path = join(path, name);
            self.places.insert(&path, Place { key: key.span(), value: value.span() });
            let levels = self.levels(&path, name, value);
            out.insert(name.to_owned(), Value::Array(levels));
        }
        Some(Value::Object(out))
    }

    fn levels(&mut self, path: &str, name: &str, value: Entry<'_>) -> Vec<Value> {
        let Some(items) = value.get_ref().as_array() else {
            let found = scalar::kind_of(value.get_ref());
            let message = format!("{name}: expected a list of levels, found {found}");
            let known = unknown_factor(name).is_none();
            let hint = match level(value.get_ref()) {
                _ if !known => unknown_factor(name),
                Ok(text) => Some(listed(name, &text, value.get_ref())),
                Err(_) => Some(format!("write for example: {name} = {}", example(name))),
            };
            let (span, message) = if known {
                (value.span(), message)
            } else {
                (self.places.of(path).key, format!("there is no factor \"{name}\""))
            };
            self.say(path, span, message, hint);
            return Vec::new();
        };
        let mut levels = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = join(path, &index.to_string());
            self.places.insert(&path, Place { key: item.span(), value: item.span() });
            let read = level(item.get_ref()).map(Value::String);
            levels.push(self.kept(&path, item.span(), read).unwrap_or_else(|| json!("")));
        }
        levels
    }

    fn arm(&mut self, path: &str, field: &'static Field, value: Entry<'_>) -> Option<Value> {
        let Some(table) = value.get_ref().as_table() else {
            let complaint = scalar::wrong_type(field, "a table", value.get_ref());
            return self.kept(path, value.span(), Err(complaint));
        };
        let mut out = Map::new();
        for (key, value) in table {
            let name: &str = key.get_ref();
            let path = join(path, name);
            self.places.insert(&path, Place { key: key.span(), value: value.span() });
            let read = level(value.get_ref()).map(Value::String);
            if let Some(level) = self.kept(&path, value.span(), read) {
                out.insert(name.to_owned(), level);
            }
        }
        Some(Value::Object(out))
    }
}

/// A level as text.
fn level(value: &DeValue<'_>) -> Result<String, Complaint> {
    match value {
        DeValue::String(text) if text.chars().any(char::is_control) => {
            Err(Complaint::plain("a level has no line ends and no other control characters"))
        }
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) => Ok(scalar::decimal(number)),
        DeValue::Boolean(flag) => Ok(flag.to_string()),
        other => Err(Complaint::plain(format!(
            "a level is text, a whole number, true or false, not {}",
            scalar::kind_of(other)
        ))),
    }
}

/// How to write one level, or a range, as a list.
fn listed(name: &str, text: &str, value: &DeValue<'_>) -> String {
    match range(text) {
        Some(levels) => format!("list the levels: {name} = [{levels}]"),
        None if value.is_str() => format!("write {name} = [\"{text}\"]"),
        None => format!("write {name} = [{text}]"),
    }
}

/// The levels that a range such as `1..8` may mean: each twice the one before.
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

/// Levels of a factor as an example.
pub fn example(name: &str) -> &'static str {
    let parameter = parameters::find(name).map(|parameter| parameter.example);
    let other = || factors::find(name).map(factors::Factor::example);
    parameter.or_else(other).unwrap_or(super::super::fields::TARGET_EXAMPLE)
}

/// Names of all factors.
pub fn factor_names() -> Vec<&'static str> {
    let parameters = parameters::PARAMETERS.iter().map(|parameter| parameter.about.name);
    let others = factors::FACTORS.iter().map(|factor| factor.about().name);
    parameters.chain(others).chain([TARGET_FACTOR]).collect()
}

/// What to write instead of a factor that there is not; nothing where there is one.
pub fn unknown_factor(name: &str) -> Option<String> {
    let known = factor_names();
    if known.contains(&name) || factors::find(name).is_some() {
        return None;
    }
    if let Some(field) = STUDY.find(name) {
        return Some(format!(
            "{name} belongs to the study itself: move it above the first line in [ ] ({})",
            field.example
        ));
    }
    if name.starts_with("tunable:") {
        return Some(
            "write tunable:/sys/... or tunable:/proc/sys/..., a path without ..".to_owned(),
        );
    }
    let all = || "assay list factors names them all".to_owned();
    Some(words::did_you_mean(name, &known).unwrap_or_else(all))
}

/// The key that was meant by one that there is not (of this table, or the table that it belongs
/// into), and what to write instead.
fn unknown_key(name: &str, fields: &Fields) -> (Option<&'static Field>, Option<String>) {
    // Keys of a question are common words: who writes one elsewhere means something else.
    let other = |other: &&&Fields| {
        other.label != fields.label && other.label != QUESTION.label && other.find(name).is_some()
    };
    let Some(home) = TABLES.iter().find(other) else {
        let known = fields.names();
        let near = words::nearest(name, &known);
        let hint = words::did_you_mean(name, &known);
        let all = || format!("known here: {}", known.join(", "));
        return (near.and_then(|near| fields.find(near)), Some(hint.unwrap_or_else(all)));
    };
    let example = home.find(name).map_or("", |field| field.example);
    let hint = match home.label {
        "a study" => {
            format!("{name} belongs to the study itself: move it above the first line in [ ]")
        }
        "a workload" => format!("{name} belongs to a workload: write it below [[workload]]"),
        label if example.starts_with(label) => format!("write {example}"),
        label => format!("{name} belongs into {label}: {label} = {{ {example}, ... }}"),
    };
    (fields.find(home.label), Some(hint))
}

/// Whether a key is one of the table that `field` stands for.
fn belongs_elsewhere(name: &str, field: &Field) -> bool {
    TABLES.iter().any(|fields| fields.label == field.name && fields.find(name).is_some())
}

/// Whether a parameter takes a level.
pub fn accepted(name: &str, level: &str) -> bool {
    let mut io = super::super::check::any_io();
    parameters::find(name).is_some_and(|parameter| (parameter.set)(&mut io, level).is_ok())
}

/// What is wrong with the law of a simulated drive.
pub fn law_mistake(text: &str) -> Option<String> {
    let message = scalar::quoted(&simulated::law(text).err()?.message);
    let message = message.split("; write it like").next().unwrap_or_default();
    let start = scalar::quoted(&format!("{}{text}: ", simulated::PREFIX));
    Some(format!("simulated: {}", message.strip_prefix(&start).unwrap_or(message)))
}

/// A target that was written as one word.
fn target(text: &str) -> String {
    match text.strip_prefix(simulated::PREFIX) {
        Some(law) => format!("target = {{ simulated = \"{law}\" }}"),
        None if text.starts_with("/dev/") => format!("target = {{ device = \"{text}\" }}"),
        None => format!("target = {{ directory = \"{text}\" }}"),
    }
}

fn law_text(read: &Map<String, Value>) -> String {
    let bare = |key: &str| read.get(key).and_then(Value::as_str).map(|text| text.replace(' ', ""));
    let times = ["mean", "p99"].into_iter().filter_map(|key| Some(format!("{key}={}", bare(key)?)));
    let servers = read.get("servers").and_then(Value::as_u64).unwrap_or(1);
    let parts = bare("law").into_iter().chain(times).chain([format!("servers={servers}")]);
    parts.collect::<Vec<_>>().join(",")
}

/// A good value for what is missing or wrong.
fn stand_in(field: &Field) -> Value {
    match &field.kind {
        Kind::Word(choices) => json!(choices().first()),
        Kind::Whole { least, .. } => json!(least),
        Kind::Flag => json!(true),
        Kind::Size { .. } => json!("4 KiB"),
        Kind::Time { .. } => json!("10 s"),
        Kind::Share | Kind::Start => json!("5 %"),
        Kind::Mix => json!("read"),
        Kind::Table(fields) => table_stand_in(fields),
        Kind::Amount => json!("90 IOPS"),
        Kind::Price => json!("1 EUR"),
        Kind::Tables(_)
        | Kind::Arms
        | Kind::Rising { .. }
        | Kind::FactorNames
        | Kind::Names(_)
        | Kind::Words => {
            json!([])
        }
        Kind::OneOf(_) | Kind::Factors | Kind::Arm => json!({}),
        Kind::Text | Kind::Name | Kind::Law(_) => json!("-"),
    }
}

/// The same for one entry of a list.
fn entry_stand_in(kind: &Kind) -> Value {
    match kind {
        Kind::Tables(fields) => table_stand_in(fields),
        Kind::Rising { least, .. } => json!(least),
        Kind::Arms => json!({}),
        _ => json!(""),
    }
}

fn table_stand_in(fields: &Fields) -> Value {
    let needed = fields.rows.iter().filter(|field| field.need != Need::Never);
    Value::Object(needed.map(|field| (field.name.to_owned(), stand_in(field))).collect())
}
