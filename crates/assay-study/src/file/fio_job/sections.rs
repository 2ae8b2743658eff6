//! The text of a job file: sections, settings, comments and variables.

use assay_core::outside;

use super::{FioSetting, Job, PortNotes, PortOptions, Settings, keys};

/// Reads the jobs of a file, with the settings of `[global]` above; reports lines that it cannot read.
pub(super) fn jobs(text: &str, way: PortOptions<'_>, notes: &mut PortNotes) -> Vec<Job> {
    let mut global = Settings::new();
    let mut jobs: Vec<Job> = Vec::new();
    let mut in_global = false;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, line_text) in text.lines().enumerate() {
        let (line, setting_text) = (index + 1, without_comment(line_text));
        if setting_text.is_empty() {
            continue;
        }
        if let Some(inner) = setting_text.strip_prefix('[') {
            let Some((name, _)) = inner.split_once(']') else {
                notes.refuse(line, "a section has no closing bracket");
                continue;
            };
            in_global = name == "global";
            if !in_global {
                let (name, settings) = (name.to_owned(), global.clone());
                jobs.push(Job { name, line, settings, alone: false });
            }
            continue;
        }
        if setting_text.split_whitespace().next() == Some("include") {
            notes
                .refuse_key(line, "include: not supported; copy the included lines into this file");
            continue;
        }
        let (written, value) = setting_text.split_once('=').unwrap_or((setting_text, ""));
        let written = written.trim().to_lowercase();
        let key = keys::usual(&written).to_owned();
        let (value, unknown) = match with_variables(value.trim(), way.variable) {
            Ok(value) => (value, None),
            // A job cannot run without these keys, so Assay skips jobs that use the value.
            Err(why) if notes.partly && keys::TRANSLATED.contains(&key.as_str()) => {
                (String::new(), Some(format!("{written}: {why}")))
            }
            Err(why) => {
                notes.refuse_key(line, format!("{written}: {why}"));
                continue;
            }
        };
        let waits = value != "0";
        let setting = FioSetting { value, line, written, unknown };
        let job = if in_global { None } else { jobs.last_mut() };
        match (job, in_global) {
            (Some(job), _) if keys::WAITS.contains(&key.as_str()) => job.alone = waits,
            (Some(job), _) => drop(job.settings.insert(key, setting)),
            // A key of the global section applies to each job below.
            (None, true) => drop(global.insert(key, setting)),
            (None, false) => notes.refuse(line, format!("{key}: no section before this key")),
        }
    }
    for job in &mut jobs {
        // These came from the global section.
        for wait in keys::WAITS {
            if let Some(setting) = job.settings.remove(wait) {
                job.alone |= setting.value != "0";
            }
        }
        check_keys(&job.settings, notes);
    }
    jobs
}

/// A line without its comment, which begins anywhere in it, as in fio.
fn without_comment(line: &str) -> &str {
    line.split(['#', ';']).next().unwrap_or_default().trim()
}

/// Replaces variables in a value; never executes anything.
fn with_variables(
    value: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    if value.contains("$(") || value.contains('`') {
        return Err("the value is a program's output; use the value itself".to_owned());
    }
    let (mut out, mut rest) = (String::new(), value);
    while let Some((before, from)) = rest.split_once("${") {
        let Some((name, after)) = from.split_once('}') else {
            return Err("a variable has no closing brace".to_owned());
        };
        let text = variable(name).filter(|text| !text.chars().any(char::is_control));
        let Some(text) = text else {
            let name = outside::spelled(name);
            return Err(format!(
                "the variable {name} is not set; set it ({name}=VALUE assay ...), or use its value"
            ));
        };
        out.push_str(before);
        out.push_str(&text);
        rest = after;
    }
    Ok(out + rest)
}

/// Reports settings that Assay does not translate; those that affect only fio's report as remarks.
fn check_keys(settings: &Settings, notes: &mut PortNotes) {
    for (key, setting) in settings {
        let is_supported = keys::TRANSLATED.contains(&key.as_str())
            || keys::ALWAYS_ACTIVE.contains(&key.as_str())
            || keys::is_usual(key, &setting.value);
        if is_supported {
            continue;
        }
        if keys::REPORT_ONLY.contains(&key.as_str()) {
            notes.remark(format!("{key} only affects fio's report; Assay ignores the key"));
            continue;
        }
        let meaning = keys::MEANINGS.iter().find(|(name, _)| *name == key.as_str());
        let meaning = meaning.map_or("unknown key", |(_, meaning)| meaning);
        let written = &setting.written;
        notes.refuse_key(setting.line, format!("{written}: {meaning}; not supported"));
    }
}
