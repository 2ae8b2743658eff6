//! Finds studies by a preset's name or the path of a study file.

use std::io::ErrorKind;
use std::path::Path;

use super::output;
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::Bytes;
use assay_machine::system::System;
use assay_study::file::fio_job::PortOptions;
use assay_study::file::{Study, fio_job, presets, text, words};

/// Returns the study for a word: a preset, or else a file. Reports how a fio job file was translated.
pub fn load(system: &dyn System, word: &str) -> Outcome<Study> {
    find_study(system, word, false, &mut |line| output::aside(line))
}

pub fn load_partly(system: &dyn System, word: &str) -> Outcome<Study> {
    if !is_fio_job(word) {
        return Err(mistake!(
            "ignore_unsupported: `{word}` is not a fio job file (FILE.fio); remove the option"
        ));
    }
    find_study(system, word, true, &mut |line| output::aside(line))
}

pub fn quietly(system: &dyn System, word: &str) -> Outcome<Study> {
    find_study(system, word, false, &mut |_| {})
}

fn find_study(
    system: &dyn System,
    word: &str,
    partly: bool,
    report: &mut dyn FnMut(&str),
) -> Outcome<Study> {
    if let Some(study) = presets::find(word) {
        return study;
    }
    let status = system.status(Path::new(word));
    if status.is_ok_and(|status| status.size_bytes > LARGEST_STUDY) {
        let limit = Bytes(LARGEST_STUDY);
        return Err(mistake!("`{word}` is not a study file: larger than {limit}"));
    }
    let text = system.read_text(Path::new(word)).map_err(|error| match error.kind() {
        ErrorKind::NotFound => unknown_study(word),
        ErrorKind::IsADirectory => mistake!("`{word}` is a directory; give a study file"),
        ErrorKind::InvalidData => not_text_failure(system, word),
        ErrorKind::InvalidInput | ErrorKind::FileTooLarge => {
            mistake!("`{word}` is not a study file: {error}")
        }
        _ => refused!("{word}: {error}"),
    })?;
    // U+FFFD replaces invalid bytes.
    if text.contains(['\0', char::REPLACEMENT_CHARACTER]) {
        return Err(not_text_failure(system, word));
    }
    if is_fio_job(word) {
        let options = PortOptions { partly, variable: &|name| system.variable(name) };
        return translate_fio_job(word, &text, options, report);
    }
    if is_json(&text) {
        return Err(mistake!("`{word}` contains results, not a study; use assay import {word}"));
    }
    text::parse(word, &text)
}

/// Maximum size of a study file or fio job file, in bytes.
const LARGEST_STUDY: u64 = 1 << 20;

/// Execute permission for anybody.
const ANY_MAY_RUN: u32 = 0o111;

/// Returns the error for a file that is not text; for a program, it shows how to time it.
fn not_text_failure(system: &dyn System, word: &str) -> Failure {
    let status = system.status(Path::new(word));
    Failure::mistake(if status.is_ok_and(|status| status.mode & ANY_MAY_RUN != 0) {
        format!("`{word}` is a program, not a study; to time it: `assay run --command {word}`")
    } else {
        format!("`{word}` is not a study file: it is binary; see `assay list presets`")
    })
}

fn is_fio_job(word: &str) -> bool {
    let extension = Path::new(word).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["fio", "ini", "job"].contains(&extension))
}

/// Translates a fio job file to a study, and reports the differences.
fn translate_fio_job(
    word: &str,
    text: &str,
    options: PortOptions<'_>,
    report: &mut dyn FnMut(&str),
) -> Outcome<Study> {
    let translated = fio_job::translate(word, text, options).map_err(|failure| {
        if options.partly {
            return failure;
        }
        let advice = "--set ignore_unsupported=true skips the unsupported parts";
        Failure { message: format!("{}\n{advice}", failure.message), ..failure }
    })?;
    for line in translated.study.lines().filter(|line| !line.is_empty()) {
        report(line);
    }
    for remark in &translated.remarks {
        report(&format!("# {remark}"));
    }
    text::parse(word, &translated.study)
}

/// Returns whether a text is JSON or JSON lines, which no study file is.
fn is_json(text: &str) -> bool {
    let values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    text.trim_start().starts_with(['{', '[']) && values.into_iter().all(|value| value.is_ok())
}

const SEE_PRESETS: &str = "see `assay list presets`";

pub fn preset(word: &str) -> Outcome<Study> {
    presets::find(word).unwrap_or_else(|| Err(unknown_study(word)))
}

fn unknown_study(word: &str) -> Failure {
    if word.contains(char::is_whitespace) {
        return mistake!("no study named `{word}`; to time it: `assay run --command '{word}'`");
    }
    if word.contains(['/', '.']) {
        return mistake!("there is no file `{word}` in this directory; {SEE_PRESETS}");
    }
    let names: Vec<&str> = presets::names().collect();
    let advice = words::did_you_mean(word, &names).unwrap_or_else(|| SEE_PRESETS.to_owned());
    mistake!("no preset or file named `{word}`: {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_machine::system::Fake;

    #[test]
    fn a_preset_comes_first_and_a_file_after_it() {
        let fake = Fake::new();
        assert_eq!(load(&fake, "check").unwrap(), presets::check().unwrap());
        let text = "format = \"assay-study/1\"\ntitle = \"mine\"\n[[workload]]\nname = \"a\"\n\
                    io = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }\n";
        fake.write_whole(Path::new("/mine.toml"), text.as_bytes()).unwrap();
        assert_eq!(load(&fake, "/mine.toml").unwrap().title, "mine");
    }

    #[test]
    fn a_word_that_is_neither_is_told_the_nearest() {
        let fake = Fake::new();
        let near = load(&fake, "chek").unwrap_err().message;
        assert!(near.contains("did you mean \"check\"?"), "{near}");
        let far = load(&fake, "xyzzy").unwrap_err().message;
        assert!(far.ends_with("named `xyzzy`: see `assay list presets`"), "{far}");
        for file in ["/no/such.toml", "jobs.fio"] {
            let gone = load(&fake, file).unwrap_err().message;
            assert!(gone.starts_with(&format!("there is no file `{file}`")), "{gone}");
        }
    }

    #[test]
    fn a_program_is_no_study_and_its_bytes_are_not_shown() {
        let fake = Fake::new();
        fake.put("/bin/tool", b"\x7fELF\0\x01\xff[workload]").add("mode /bin/tool 755").unwrap();
        let told = load(&fake, "/bin/tool").unwrap_err().message;
        assert!(told.ends_with("`assay run --command /bin/tool`"), "{told}");
        fake.put("/data.bin", b"a\0b").add("mode /data.bin 644").unwrap();
        let told = load(&fake, "/data.bin").unwrap_err().message;
        assert!(told.contains("it is binary") && !told.contains('\0'), "{told}");
    }
}
