//! Study files: TOML to [`Study`] and back.

use super::{FORMAT, Study};
use crate::failure::{Failure, Outcome};

/// Reads a study; `name` is what the message calls the file.
pub fn parse(name: &str, text: &str) -> Outcome<Study> {
    let study: Study = toml::from_str(text).map_err(|error| mistake(name, text, &error))?;
    if study.format != FORMAT {
        return Err(Failure::mistake(format!(
            "{name}: format `{}` is not known here; this version reads {FORMAT}",
            study.format
        )));
    }
    Ok(study)
}

/// Writes a study as it would be read again.
pub fn write(study: &Study) -> Outcome<String> {
    toml::to_string(study)
        .map_err(|error| Failure::mistake(format!("the study cannot be written as TOML: {error}")))
}

fn mistake(name: &str, text: &str, error: &toml::de::Error) -> Failure {
    let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count() + 1);
    Failure::mistake(format!("{name}:{line}: {}", error.message().replace('\n', " ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::presets;

    #[test]
    fn the_shipped_study_survives_writing_and_reading() {
        let study = presets::check().unwrap();
        let again = parse("written", &write(&study).unwrap()).unwrap();
        assert_eq!(study, again);
    }

    #[test]
    fn a_mistake_names_file_and_line() {
        let text =
            "format = \"assay-study/1\"\ntitle = \"x\"\nreplicates = \"three\"\nworkload = []\n";
        let failure = parse("mine.toml", text).unwrap_err();
        assert!(failure.message.starts_with("mine.toml:3: "), "{}", failure.message);
    }

    #[test]
    fn another_format_is_refused_with_its_name() {
        let text = "format = \"assay-study/9\"\ntitle = \"x\"\nreplicates = 3\nworkload = []\n";
        assert!(parse("mine.toml", text).unwrap_err().message.contains("assay-study/9"));
    }
}
