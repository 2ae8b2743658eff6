//! A bundle of imported numbers: `import.json`, the original files, and `label.json`. Assay parses the files each time,
//! so newer rules apply to old bundles. A table of trials is `trials.csv`; files of other tools have numbers as names.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use assay_core::digest::{hexadecimal, sha256};
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::Better;
use assay_machine::system::System;
use serde::{Deserialize, Serialize};

use super::bundle::{self, Label, Listed};
use super::foreign;
use super::headline;
use super::plan::Arm;

pub const FORMAT: &str = "assay-import/1";
pub const FORMAT_OF_FILES: &str = "assay-import/2";
const ABOUT: &str = "import.json";
pub const SOURCE: &str = "trials.csv";
/// The cache of what `assay show` prints.
pub const SCREEN: &str = "screen.json";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Import {
    pub format: String,
    pub assay: String,
    pub importer: String,
    /// Name that the file had, without its directories.
    pub file: String,
    pub sha256: String,
    pub title: String,
    pub imported: String,
    /// Baseline levels; the importer chooses if empty.
    pub baseline: Arm,
    pub margin: Option<f64>,
    pub primary: Option<String>,
    pub trials: usize,
    /// Files of another tool, in the order of the command line; empty for a table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<SourceFile>,
    /// Whether the user declared the order of the rows to be the order of the trials.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub in_order: bool,
    /// Which direction of a metric is better, as the user stated it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub better: BTreeMap<String, Better>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceFile {
    pub file: String,
    pub sha256: String,
    #[serde(default, skip_serializing_if = "Arm::is_empty")]
    pub arm: Arm,
}

fn source(index: usize) -> String {
    format!("source-{:04}", index + 1)
}

pub fn is_source(name: &str) -> bool {
    let number = name.strip_prefix("source-").and_then(|digits| digits.parse::<usize>().ok());
    number.and_then(|number| number.checked_sub(1)).is_some_and(|index| source(index) == name)
}

pub fn hash_of_all(files: &[SourceFile]) -> String {
    let mut text = String::new();
    for file in files {
        text.push_str(&file.sha256);
        for (name, level) in &file.arm {
            let _ = write!(text, " {name:?}={level:?}");
        }
        text.push('\n');
    }
    hexadecimal(&sha256(&text))
}

#[derive(Clone, Debug, PartialEq)]
pub struct StoredImport {
    pub id: String,
    pub about: Import,
    pub contents: Vec<Vec<u8>>,
    pub label: Label,
}

impl StoredImport {
    pub fn title(&self) -> &str {
        self.label.title.as_deref().unwrap_or(&self.about.title)
    }
}

/// Writes the bundle. The file that identifies it is last, so a crash leaves no partial bundle.
pub fn write(
    system: &dyn System,
    directory: &Path,
    about: &Import,
    contents: &[Vec<u8>],
) -> io::Result<()> {
    system.create_directory(directory)?;
    for (at, bytes) in contents.iter().enumerate() {
        let name = if about.files.is_empty() { SOURCE.to_owned() } else { source(at) };
        system.write_whole(&directory.join(name), bytes)?;
    }
    system.write_whole(&directory.join(ABOUT), &bundle::json(about)?)
}

pub fn is_one(system: &dyn System, directory: &Path) -> bool {
    system.status(&directory.join(ABOUT)).is_ok()
}

pub fn read(system: &dyn System, directory: &Path) -> Outcome<StoredImport> {
    bundle::plain_id(&bundle::id_of(directory))?;
    let about = about(system, directory)?;
    let contents = if about.files.is_empty() {
        vec![read_unchanged(system, &directory.join(SOURCE), &about.sha256)?]
    } else {
        let mut contents = Vec::new();
        for (at, file) in about.files.iter().enumerate() {
            let path = directory.join(source(at));
            contents.push(read_unchanged(system, &path, &file.sha256)?);
        }
        contents
    };
    let label = bundle::label(system, directory);
    Ok(StoredImport { id: bundle::id_of(directory), about, contents, label })
}

/// Reads a file; fails if its hash differs.
fn read_unchanged(system: &dyn System, path: &Path, hash: &str) -> Outcome<Vec<u8>> {
    let bytes = system
        .read_bytes(path)
        .map_err(|error| Failure::mistake(format!("cannot read {}: {error}", path.display())))?;
    if hexadecimal(&sha256(&bytes)) != hash {
        return Err(Failure::mistake(format!(
            "{} differs from the imported file; the bundle is damaged; import the file again",
            path.display()
        )));
    }
    Ok(bytes)
}

fn about(system: &dyn System, directory: &Path) -> Outcome<Import> {
    let path = directory.join(ABOUT);
    // If neither format fits, the error is about the newer one.
    let newer = bundle::versioned(system, &path, FORMAT_OF_FILES);
    newer.or_else(|failure| bundle::versioned(system, &path, FORMAT).map_err(|_| failure))
}

pub(super) fn listed(system: &dyn System, directory: &Path, id: String) -> Outcome<Listed> {
    let about = about(system, directory)?;
    Ok(Listed {
        id,
        title: bundle::label(system, directory).title.unwrap_or(about.title),
        kind: "import".to_owned(),
        started: about.imported,
        bytes: bundle::bytes_below(system, directory),
        trials: about.trials,
        planned: about.trials,
        headline: headline::read(system, directory),
        foreign: foreign::is_one(system, directory),
        ..Listed::default()
    })
}

#[cfg(test)]
mod tests {
    use assay_machine::system::Fake;

    use super::*;

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
            files: Vec::new(),
            in_order: false,
            better: BTreeMap::new(),
        }
    }

    fn written() -> (Fake, &'static Path) {
        let (fake, directory) = (Fake::new(), Path::new("/results/20261120-100000-0001"));
        write(&fake, directory, &import(), &[TEXT.as_bytes().to_vec()]).unwrap();
        (fake, directory)
    }

    #[test]
    fn a_bundle_is_read_as_it_was_written() {
        let (fake, directory) = written();
        let stored = read(&fake, directory).unwrap();
        let contents = vec![TEXT.as_bytes().to_vec()];
        assert_eq!((stored.about.clone(), stored.contents.clone()), (import(), contents));
        assert_eq!((stored.id.as_str(), stored.title()), ("20261120-100000-0001", "mine.csv"));
        let (listed, warnings) = bundle::list(&fake, Path::new("/results"));
        assert_eq!((listed[0].id.as_str(), listed[0].trials), ("20261120-100000-0001", 1));
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn files_of_another_tool_are_numbered_and_read_again() {
        let (fake, directory) = (Fake::new(), Path::new("/results/20261124-100000-0001"));
        let contents = [b"{\"a\": 1}".to_vec(), vec![0x1f, 0x8b, 0xff]];
        let file = |bytes: &Vec<u8>| SourceFile {
            file: "run.json".to_owned(),
            sha256: hexadecimal(&sha256(bytes)),
            arm: Arm::from([("scheduler".to_owned(), "bfq".to_owned())]),
        };
        let files: Vec<SourceFile> = contents.iter().map(file).collect();
        let about = Import {
            format: FORMAT_OF_FILES.to_owned(),
            sha256: hash_of_all(&files),
            files,
            in_order: true,
            better: BTreeMap::new(),
            ..import()
        };
        write(&fake, directory, &about, &contents).unwrap();
        let stored = read(&fake, directory).unwrap();
        assert_eq!((stored.about, stored.contents), (about, contents.to_vec()));
        fake.put(directory.join("source-0002"), "other");
        assert!(read(&fake, directory).unwrap_err().message.contains("source-0002 differs from"));
        assert!([0, 1, 9_998, 9_999, 70_000].into_iter().all(|at| is_source(&source(at))));
        let others = ["source-0000", "source-1", "source-00001", "source-+001", "source-", "0001"];
        assert!(!others.into_iter().any(is_source));
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
