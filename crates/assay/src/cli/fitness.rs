//! Fitness for a purpose: requirements, and the exit code.

use std::path::Path;

use super::studies;
use assay_core::failure::{Failure, Outcome};
use assay_machine::system::System;
use assay_study::file::{Study, presets, words};
use assay_study::findings::fitness::{Fit, Fitness};

/// Returns the study that states the requirements: a bundled one by name, or a file.
pub(super) fn study(system: &dyn System, word: &str) -> Outcome<Study> {
    let path = Path::new(word);
    let is_a_file = path.extension().is_some_and(|it| it == "toml") || system.status(path).is_ok();
    let study = match studies::quietly(system, word) {
        Err(failure) if !is_a_file && presets::find(word).is_none() => {
            let message = format!("no published requirements for `{word}`; {}", advice(word));
            return Err(Failure { message, ..failure });
        }
        other => other?,
    };
    if study.requirements.is_none() && presets::find(word).is_some() {
        let advice = advice(word);
        return Err(mistake!("{word} has no requirements to check; {advice}"));
    }
    if study.requirements.is_none() {
        return Err(mistake!(
            "{word} has no requirements to check; add requirements = \"...\" and questions of kind bound, or use: \
             assay run {word}"
        ));
    }
    Ok(study.settled())
}

/// Suggests the name for forms such as `sd-a2` or `class10`, or the list of names.
fn advice(word: &str) -> String {
    let names: Vec<&str> = presets::fitness().map(|(name, _)| name).collect();
    let bare = word.to_lowercase().trim_start_matches("sd-").replace("class", "c");
    words::did_you_mean(&bare, &names).unwrap_or_else(|| {
        "see `assay list requirements`; for bounds of your own, see docs/howto/drive.md".to_owned()
    })
}

/// Returns how a command ends by the outcome of the bounds. Fails if a bound is not met (exit code 1) or is
/// inconclusive (5).
pub(super) fn ended(fitness: &Fitness) -> Outcome<()> {
    // The findings contain the reasons.
    let text = format!("good enough for {}: {}", fitness.purpose, fitness.outcome.words());
    match fitness.outcome {
        Fit::Pass => Ok(()),
        Fit::Fail => Err(Failure::gate(text)),
        Fit::Inconclusive => Err(Failure::partial(text)),
    }
}

#[cfg(test)]
mod tests {
    use assay_core::failure::Kind;
    use assay_machine::system::Fake;

    use super::*;

    #[test]
    fn a_name_and_a_file_are_taken_and_what_has_no_bounds_is_not() {
        let fake = Fake::new();
        assert_eq!(study(&fake, "etcd").unwrap().requirements.as_deref(), Some("etcd"));
        let file = |more: &str| {
            format!(
                "format = \"assay-study/1\"\ntitle = \"mine\"\n{more}[[workload]]\nname = \"a\"\n\
                 io = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }}\n[[question]]\n\
                 kind = \"bound\"\nask = \"Is it?\"\nworkloads = [\"a\"]\nmin = \"90 IOPS\"\n"
            )
        };
        fake.write_whole(Path::new("/mine.toml"), file("requirements = \"mine\"\n").as_bytes())
            .unwrap();
        assert_eq!(study(&fake, "/mine.toml").unwrap().requirements.as_deref(), Some("mine"));
        fake.write_whole(Path::new("/other.toml"), file("").as_bytes()).unwrap();
        for (word, told) in [
            ("/other.toml", "/other.toml has no requirements to check"),
            ("compile", "compile has no requirements to check; see `assay list requirements`"),
            ("postgres", "no published requirements for `postgres`; did you mean \"postgresql\"?"),
            ("sd-a2", "no published requirements for `sd-a2`; did you mean \"A2\"?"),
            ("class10", "no published requirements for `class10`; did you mean \"C10\"?"),
            ("toaster", "no published requirements for `toaster`; see `assay list requirements`"),
            ("700MB/s", "no published requirements for `700MB/s`; see `assay list requirements`"),
            ("/no/such.toml", "there is no file `/no/such.toml`"),
        ] {
            let failure = study(&fake, word).unwrap_err();
            assert!(failure.message.starts_with(told), "{failure}");
            assert_eq!(failure.kind, Kind::Mistake);
        }
    }

    #[test]
    fn each_end_has_its_exit_code() {
        let code = |ended: Fit| {
            let told = Fitness { outcome: ended, ..Fitness::new("it".to_owned(), Vec::new()) };
            super::ended(&told).map_or_else(|failure| failure.kind.exit_code(), |()| 0)
        };
        assert_eq!([Fit::Pass, Fit::Fail, Fit::Inconclusive].map(code), [0, 1, 5]);
    }
}
