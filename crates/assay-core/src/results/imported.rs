//! A bundle of numbers that were measured elsewhere: `import.json`, `trials.csv` as it was brought
//! along, and `label.json` as in any other bundle. The numbers are read again whenever they are
//! shown, so an old bundle can be judged by a newer rule.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::bundle::{self, Label, Listed};
use super::foreign;
use super::headline;
use super::plan::Arm;
use crate::digest::{hexadecimal, sha256};
use crate::failure::{Failure, Outcome};
use crate::system::System;

/// Format of `import.json`.
pub const FORMAT: &str = "assay-import/1";
/// What was asked for.
const ABOUT: &str = "import.json";
/// What was brought along, whatever its name was.
pub const SOURCE: &str = "trials.csv";

/// What was imported, and how (`import.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Import {
    /// Format and version.
    pub format: String,
    /// Version of the tool that imported.
    pub assay: String,
    /// Name of the importer.
    pub importer: String,
    /// Name that the file had, without its directories.
    pub file: String,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// Title.
    pub title: String,
    /// When it was imported, RFC 3339.
    pub imported: String,
    /// Levels that arms are compared with; the importer's choice where there are none.
    pub baseline: Arm,
    /// What counts as equivalent, as a fraction.
    pub margin: Option<f64>,
    /// The metric that verdicts are about.
    pub primary: Option<String>,
    /// Trials in the file.
    pub trials: usize,
}

/// A bundle as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredImport {
    /// Its id: the name of its directory.
    pub id: String,
    /// What was imported.
    pub about: Import,
    /// The text of the file.
    pub text: String,
    /// What the user added.
    pub label: Label,
}

impl StoredImport {
    /// The user's title, or that of the import.
    pub fn title(&self) -> &str {
        self.label.title.as_deref().unwrap_or(&self.about.title)
    }
}

/// Makes the directory and writes the bundle. What makes it one comes last, so that a crash leaves
/// no half of one.
pub fn write(system: &dyn System, directory: &Path, about: &Import, text: &str) -> io::Result<()> {
    system.create_directory(directory)?;
    system.write_whole(&directory.join(SOURCE), text.as_bytes())?;
    system.write_whole(&directory.join(ABOUT), &bundle::json(about)?)
}

/// Whether a directory is such a bundle.
pub fn is_one(system: &dyn System, directory: &Path) -> bool {
    system.status(&directory.join(ABOUT)).is_ok()
}

/// Reads a bundle.
pub fn read(system: &dyn System, directory: &Path) -> Outcome<StoredImport> {
    bundle::plain_id(&bundle::id_of(directory))?;
    let about = about(system, directory)?;
    let text = bundle::text(system, &directory.join(SOURCE))?;
    if hexadecimal(&sha256(&text)) != about.sha256 {
        return Err(Failure::mistake(format!(
            "{} is not what was imported; the bundle is damaged: import the file again",
            directory.join(SOURCE).display()
        )));
    }
    let label = bundle::label(system, directory);
    Ok(StoredImport { id: bundle::id_of(directory), about, text, label })
}

fn about(system: &dyn System, directory: &Path) -> Outcome<Import> {
    let path = directory.join(ABOUT);
    bundle::versioned(system, &path, FORMAT)
}

/// The bundle in a list.
pub(super) fn listed(system: &dyn System, directory: &Path, id: String) -> Outcome<Listed> {
    let about = about(system, directory)?;
    Ok(Listed {
        id,
        title: bundle::label(system, directory).title.unwrap_or(about.title),
        kind: "import".to_owned(),
        targets: Vec::new(),
        started: about.imported,
        bytes: bundle::bytes_below(system, directory),
        trials: about.trials,
        planned: about.trials,
        drives: Vec::new(),
        headline: headline::of(system, directory),
        foreign: foreign::is_one(system, directory),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    const TEXT: &str = "replicate,workload,metric,value\r\n1,build,duration_s,12\r\n";

    fn import() -> Import {
        Import {
            format: FORMAT.to_owned(),
            assay: "0.1.0".to_owned(),
            importer: "trials-csv".to_owned(),
            file: "mine.csv".to_owned(),
            sha256: hexadecimal(&sha256(TEXT)),
            title: "mine.csv".to_owned(),
            imported: "2026-11-20T10:00:00+01:00".to_owned(),
            baseline: Arm::new(),
            margin: None,
            primary: None,
            trials: 1,
        }
    }

    fn written() -> (Fake, &'static Path) {
        let (fake, directory) = (Fake::new(), Path::new("/results/20261120-100000-0001"));
        write(&fake, directory, &import(), TEXT).unwrap();
        (fake, directory)
    }

    #[test]
    fn a_bundle_is_read_as_it_was_written() {
        let (fake, directory) = written();
        let stored = read(&fake, directory).unwrap();
        assert_eq!((stored.about.clone(), stored.text.as_str()), (import(), TEXT));
        assert_eq!((stored.id.as_str(), stored.title()), ("20261120-100000-0001", "mine.csv"));
        let (listed, warnings) = bundle::list(&fake, Path::new("/results"));
        assert_eq!((listed[0].id.as_str(), listed[0].trials), ("20261120-100000-0001", 1));
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn a_changed_file_is_seen() {
        let (fake, directory) = written();
        fake.put(directory.join(SOURCE), "replicate,workload,metric,value\n1,build,duration_s,1\n");
        assert!(read(&fake, directory).unwrap_err().message.contains("damaged"));
    }

    #[test]
    fn another_format_is_refused_with_its_name() {
        let (fake, directory) = written();
        fake.put(directory.join(ABOUT), "{ \"format\": \"assay-import/9\" }");
        assert!(read(&fake, directory).unwrap_err().message.contains("assay-import/9"));
        let (listed, warnings) = bundle::list(&fake, Path::new("/results"));
        assert_eq!((listed.len(), warnings.len()), (0, 1));
    }
}
