//! `--set KEY=VALUE`: keys of a study, as the command line names them.

use assay_core::catalogue::keys::{Fields, Form};
use assay_core::failure::Outcome;
use assay_core::mistake;
use toml::{Table, Value};

use super::super::Study;
use super::super::fields::STUDY;
use super::typed::TypedWords;

/// A key with its value, such as `gate.must_detect=15%`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// A key of the study, `TABLE.KEY`, a key of a workload, or `WORKLOAD.KEY`.
    pub key: String,
    pub value: String,
}

struct KeyPath {
    path: Vec<String>,
    form: &'static Form,
}

impl KeyValue {
    /// Returns the option as it was typed with the path of each key that it sets.
    pub fn typed(&self, study: &Study) -> Vec<TypedWords> {
        let words = format!("--set {}={}", self.key, self.value);
        let paths = find_paths(study, &self.key);
        paths.iter().map(|key| TypedWords::new(words.clone(), key.path.join("/"))).collect()
    }

    /// Writes the value to each place of the study that the key names.
    fn write(&self, study: &Study, root: &mut Table) -> Outcome<()> {
        for place in find_paths(study, &self.key) {
            let value = parse_value(place.form, &self.value).ok_or_else(|| {
                let key = &self.key;
                mistake!(
                    "--set {key}: this key is a table; set one of its keys as {key}.KEY, or edit a study file")
            })?;
            let table = place
                .table(root)
                .ok_or_else(|| mistake!("--set {}: cannot set this key in the study", self.key))?;
            let last = place.path.last().cloned().unwrap_or_default();
            if last == "source" {
                // A copied tree replaces the generated one.
                table.remove("c_files");
            }
            table.insert(last, value);
        }
        Ok(())
    }
}

impl KeyPath {
    /// Returns the table of the key; creates it if necessary.
    fn table<'t>(&self, root: &'t mut Table) -> Option<&'t mut Table> {
        let (_, tables) = self.path.split_last()?;
        let mut table = root;
        let mut names = tables.iter();
        // A list takes two names: its key and an index.
        while let Some(name) = names.next() {
            let empty = || Value::Table(Table::new());
            table = match table.entry(name.as_str()).or_insert_with(empty) {
                Value::Table(table) => table,
                Value::Array(items) => {
                    items.get_mut(names.next()?.parse::<usize>().ok()?)?.as_table_mut()?
                }
                _ => return None,
            };
        }
        Some(table)
    }
}

/// Returns whether a name is a key of the study, one of its tables or one of its workloads.
pub fn is_key(study: &Study, name: &str) -> bool {
    !find_paths(study, name).is_empty()
}

/// Writes a study as TOML with changed keys.
pub(super) fn written(study: &Study, keys: &[KeyValue]) -> Outcome<String> {
    let failed =
        |error: &dyn std::fmt::Display| mistake!("cannot write the study as TOML: {error}");
    let mut root = Table::try_from(study).map_err(|error| failed(&error))?;
    for key in keys {
        key.write(study, &mut root)?;
    }
    toml::to_string(&root).map_err(|error| failed(&error))
}

/// Returns the paths that a key names: several if several workloads or questions have the key.
fn find_paths(study: &Study, key: &str) -> Vec<KeyPath> {
    if let Some((head, rest)) = key.split_once('.') {
        return find_dotted_paths(study, head, rest);
    }
    if let Some(field) = STUDY.find(key) {
        return vec![KeyPath { path: vec![key.to_owned()], form: &field.form }];
    }
    let workloads = study.workload.iter().enumerate();
    workloads
        .filter_map(|(index, workload)| in_workload(index, workload.work.kind(), key))
        .collect()
}

/// Returns the paths of `HEAD.REST`; the head is a workload, a table, the questions, or the metrics of commands.
fn find_dotted_paths(study: &Study, head: &str, rest: &str) -> Vec<KeyPath> {
    if let Some(index) = study.workload.iter().position(|workload| workload.name == head) {
        let kind = study.workload[index].work.kind();
        return in_workload(index, kind, rest).into_iter().collect();
    }
    match STUDY.find(head).map(|field| &field.form) {
        Some(Form::Table(fields)) => in_table(&[head], fields, rest).into_iter().collect(),
        Some(Form::Tables(fields)) if head == "question" => {
            let mut paths = Vec::new();
            for (index, ask) in study.question.iter().enumerate() {
                // Only questions that have the key: the others are of another kind.
                if Value::try_from(ask).is_ok_and(|asked| asked.get(rest).is_some()) {
                    paths.extend(in_table(&[head, &index.to_string()], fields, rest));
                }
            }
            paths
        }
        _ => in_readings(study, head, rest),
    }
}

/// Returns the paths of `parse.KEY`: one per metric of a command's output.
fn in_readings(study: &Study, head: &str, rest: &str) -> Vec<KeyPath> {
    let mut found = Vec::new();
    for (index, workload) in study.workload.iter().enumerate() {
        let kind = workload.work.kind();
        let Some(Form::Reads(fields)) = kind.keys.find(head).map(|field| &field.form) else {
            continue;
        };
        let table = Value::try_from(workload).ok();
        let list = table.as_ref().and_then(|keys| keys.get(kind.about.name)?.get(head)?.as_array());
        for item in 0..list.map_or(0, Vec::len) {
            let path = ["workload", &index.to_string(), kind.about.name, head, &item.to_string()];
            found.extend(in_table(&path, fields, rest));
        }
    }
    found
}

fn in_workload(index: usize, kind: &assay_workloads::KindEntry, key: &str) -> Option<KeyPath> {
    in_table(&["workload", &index.to_string(), kind.about.name], kind.keys, key)
}

fn in_table(path: &[&str], fields: &'static Fields, key: &str) -> Option<KeyPath> {
    let field = fields.find(key)?;
    let path = path.iter().chain([&key]).map(|part| (*part).to_owned()).collect();
    Some(KeyPath { path, form: &field.form })
}

/// Converts a text to the TOML value of a form; `None` for tables. Checks nothing: the study is read again.
fn parse_value(form: &Form, text: &str) -> Option<Value> {
    let as_text = || Value::String(text.to_owned());
    let number = |text: &str| text.parse().map(Value::Integer).ok();
    let items = || text.split(',').map(str::trim).filter(|item| !item.is_empty());
    Some(match form {
        Form::Table(_)
        | Form::Tables(_)
        | Form::OneOf(_)
        | Form::Factors
        | Form::Space
        | Form::Arm
        | Form::Arms
        | Form::Texts => return None,
        Form::Whole { .. } | Form::Own(_) => number(text).unwrap_or_else(as_text),
        Form::Flag | Form::FlagOrPath => text.parse().map_or_else(|_| as_text(), Value::Boolean),
        Form::Rising { .. } => {
            Value::Array(items().map(|item| number(item).unwrap_or_else(|| item.into())).collect())
        }
        Form::FactorNames | Form::Words | Form::Names(_) => {
            Value::Array(items().map(Value::from).collect())
        }
        _ => as_text(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{changed, write};
    use super::*;
    use crate::file::presets;

    fn set(preset: &str, pairs: &[(&str, &str)]) -> Outcome<Study> {
        let study = presets::find(preset).unwrap()?;
        let pair = |(key, value): &(&str, &str)| KeyValue {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        let keys: Vec<KeyValue> = pairs.iter().map(pair).collect();
        let typed: Vec<TypedWords> = keys.iter().flat_map(|key| key.typed(&study)).collect();
        changed(preset, &study, &keys, &typed)
    }

    #[test]
    fn a_key_is_set_wherever_the_study_has_it() {
        let text = |preset, pairs: &[(&str, &str)]| write(&set(preset, pairs).unwrap()).unwrap();
        for (preset, key, value, written) in [
            ("queue-depth", "margin", "3%", "margin = \"3%\""),
            ("queue-depth", "repeat_disturbed", "false", "repeat_disturbed = false"),
            ("queue-depth", "area.size", "64 MiB", "size = \"64 MiB\""),
            ("queue-depth", "probes", "block-latency", "probes = [\"block-latency\"]"),
            ("queue-depth", "runtime", "3 s", "runtime = \"3 s\""),
            ("max-rate", "question.slo", "p99 < 9 ms", "slo = \"p99 < 9 ms\""),
            ("compile", "source", "/usr/src/linux", "source = \"/usr/src/linux\""),
        ] {
            let text = text(preset, &[(key, value)]);
            assert!(text.contains(written), "{key}: {text}");
        }
        let all = text("check", &[("runtime", "7 s")]);
        assert_eq!(all.matches("runtime = \"7 s\"").count(), 7, "{all}");
        let one = text("check", &[("random-read-q1.runtime", "7 s")]);
        assert_eq!(one.matches("runtime = \"7 s\"").count(), 1, "{one}");
    }

    #[test]
    fn a_mistake_names_the_option_as_it_was_typed() {
        for (key, value, start) in [
            ("margin", "much", "--set margin=much: "),
            ("runtime", "0 s", "--set runtime=0 s: "),
            ("area.size", "1 KiB", "--set area.size=1 KiB: "),
            ("gate", "5%", "--set gate: this key is a table; set one of its keys as gate.KEY"),
        ] {
            let message = set("queue-depth", &[(key, value)]).unwrap_err().message;
            assert!(message.starts_with(start), "{key}: {message}");
        }
    }

    #[test]
    fn a_name_that_no_table_has_is_not_a_key() {
        let study = presets::find("queue-depth").unwrap().unwrap();
        for name in ["depht", "gate.depht", "random-read.depht", "scheduler", "question.slo"] {
            assert!(!is_key(&study, name), "{name}");
        }
        assert!(
            ["margin", "gate.metric", "block_size", "hosts.on_failure"]
                .iter()
                .all(|name| is_key(&study, name))
        );
    }
}
