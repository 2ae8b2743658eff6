//! A collection on disk: a folder of small files that git merges without conflicts.
//!
//! `collection.json` and `.gitattributes` are the same in every copy; each row is stored below `rows/` under its
//! content hash, and nobody changes another person's file.

use std::io;
use std::path::{Path, PathBuf};

use assay_analysis::collection::flat::Flat;
use assay_analysis::collection::{CollectionRow, file, published};
use assay_core::digest::{hexadecimal, sha256};
use assay_core::failure::{Failure, Outcome};
use assay_core::outside;
use assay_machine::system::{FileKind, System, identity};
use assay_study::results::cache::{self, Cache};

const ABOUT: &str = "collection.json";
const ABOUT_TEXT: &str = "{ \"format\": \"assay-collection/1\" }\n";
/// Names are content hashes: git must not convert line endings.
const ATTRIBUTES: &str = ".gitattributes";
const ATTRIBUTES_TEXT: &str = "rows/** -text\n";
const ROWS: &str = "rows";
/// Prefix of the places of published rows, which are part of this program and have no file.
const PUBLISHED: &str = "published row ";
const MOST_ROWS: usize = 1_000_000;
/// Maximum number of invalid files listed; further ones are only counted.
const MOST_NAMED: usize = 100;

/// All rows with one line each, published ones first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Index {
    pub rows: Vec<Flat>,
    /// Files that are not rows, as far as they are named, and why.
    pub refused: Vec<(String, String)>,
    pub refused_in_all: usize,
}

impl Index {
    fn refuse(&mut self, file: &str, why: String) {
        self.refused_in_all += 1;
        if self.refused.len() < MOST_NAMED {
            self.refused.push((outside::spelled(file).into_owned(), why));
        }
    }
}

/// Returns the named folder, or else the user's.
pub fn folder(system: &dyn System, named: Option<&Path>) -> Outcome<PathBuf> {
    named.map_or_else(|| default_folder(system), |folder| Ok(folder.to_owned()))
}

fn default_folder(system: &dyn System) -> Outcome<PathBuf> {
    let results = identity::results_directory(system)?;
    Ok(results.parent().unwrap_or(&results).join("collection"))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    refused!("cannot read {}: {error}", path.display())
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    refused!("cannot write {}: {error}", path.display())
}

fn write(system: &dyn System, path: &Path, text: &str) -> Outcome<()> {
    system.write_whole(path, text.as_bytes()).map_err(|error| unwritable(path, &error))
}

/// Checks that a folder is a collection of this format. Accepts the user's default folder before it exists, because
/// published rows are always included. Fails if there is no collection, or one of another format.
pub fn check_format(system: &dyn System, folder: &Path) -> Outcome<()> {
    let path = folder.join(ABOUT);
    match system.read_text(&path) {
        Ok(text) if text.split_whitespace().eq(ABOUT_TEXT.split_whitespace()) => Ok(()),
        Ok(_) => Err(mistake!(
            "{} is not in format assay-collection/1; use the version that wrote it, or a newer one",
            path.display()
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if folder == default_folder(system)? {
                return Ok(());
            }
            Err(mistake!("{} is not a collection yet; run assay collection add", folder.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(not_a_directory(folder)),
        Err(error) => Err(unreadable(&path, &error)),
    }
}

fn not_a_directory(path: &Path) -> Failure {
    mistake!("{} is not a directory; use a directory", path.display())
}

/// Adds rows to a collection, and creates it if necessary; returns the file of each row, and whether it existed.
pub fn add(
    system: &dyn System,
    folder: &Path,
    rows: &[CollectionRow],
) -> Outcome<Vec<(String, bool)>> {
    if system.status(folder).is_ok_and(|status| status.kind != FileKind::Directory) {
        return Err(not_a_directory(folder));
    }
    if system.status(&folder.join(ABOUT)).is_err() {
        system.create_directory(folder).map_err(|error| unwritable(folder, &error))?;
        // The file that marks a collection comes last.
        write(system, &folder.join(ATTRIBUTES), ATTRIBUTES_TEXT)?;
        write(system, &folder.join(ABOUT), ABOUT_TEXT)?;
    }
    check_format(system, folder)?;
    let mut added = Vec::new();
    for row in rows {
        let (name, text) = file::write(row).map_err(Failure::mistake)?;
        let path = folder.join(ROWS).join(&name);
        let was_there = system.status(&path).is_ok();
        if !was_there {
            let directory = path.parent().unwrap_or(folder);
            system.create_directory(directory).map_err(|error| unwritable(directory, &error))?;
            write(system, &path, &text)?;
        }
        added.push((format!("{ROWS}/{name}"), was_there));
    }
    Ok(added)
}

/// Returns the names of the directories with rows; empty before the first row.
fn row_directories(system: &dyn System, folder: &Path) -> Outcome<Vec<String>> {
    let path = folder.join(ROWS);
    match system.list(&path) {
        Ok(names) => Ok(names),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unreadable(&path, &error)),
    }
}

fn row_files(system: &dyn System, directory: &Path) -> Result<Vec<String>, String> {
    if system.read_link(directory).is_ok() {
        return Err("it is a symbolic link".to_owned());
    }
    let files = system.list(directory);
    files.map_err(|_| "not a row: the file is outside the rows directory".to_owned())
}

/// Reads the row in a file of the collection, whose name must be its hash.
fn read_row(system: &dyn System, path: &Path, name: &str) -> Result<CollectionRow, String> {
    if system.read_link(path).is_ok() {
        return Err("it is a symbolic link".to_owned());
    }
    file::read_named(name, &read_limited(system, path)?)
}

/// Reads a regular file that is not larger than any row.
fn read_limited(system: &dyn System, path: &Path) -> Result<String, String> {
    let status = system.status(path).map_err(|error| error.to_string())?;
    if status.kind != FileKind::File {
        return Err("it is not a regular file".to_owned());
    }
    if status.size_bytes > file::MOST_BYTES {
        let most = file::MOST_BYTES;
        return Err(format!("the row has {} bytes; the limit is {most}", status.size_bytes));
    }
    system.read_text(path).map_err(|error| error.to_string())
}

/// Reads the row in a received file, with any name.
pub fn read_received(system: &dyn System, path: &Path) -> Outcome<CollectionRow> {
    let read = read_limited(system, path).and_then(|text| file::read(&text));
    read.map_err(|why| mistake!("{}: {why}", path.display()))
}

/// Returns the index of every file. Does not read files that have not changed since the last index.
pub fn read_index(system: &dyn System, folder: &Path) -> Outcome<Index> {
    check_format(system, folder)?;
    let mut cache = Cache::open(system, &cache_path(system, folder).unwrap_or_default());
    let mut index = Index::default();
    let mut count = 0_usize;
    for directory in row_directories(system, folder)? {
        let files = match row_files(system, &folder.join(ROWS).join(&directory)) {
            Ok(files) => files,
            Err(why) => {
                index.refuse(&format!("{ROWS}/{directory}"), why);
                continue;
            }
        };
        for file in files {
            let name = format!("{directory}/{file}");
            let place = format!("{ROWS}/{name}");
            let path = folder.join(&place);
            let read = || {
                Ok(Flat::new(&place, &read_row(system, &path, &name).map_err(Failure::mistake)?))
            };
            if let Err(failure) = cache.add(name.clone(), cache::stamp(system, [&path]), read) {
                index.refuse(&place, failure.message);
            }
            count += 1;
            if count > MOST_ROWS {
                return Err(refused!("{} has more than {MOST_ROWS} files", folder.display()));
            }
        }
    }
    index.rows.extend(published_rows().map(|(file, row)| Flat::new(&file, &row)));
    index.rows.extend(cache.keep());
    Ok(index)
}

/// Returns where the index of a folder is stored: not in the folder, which may be under version control.
fn cache_path(system: &dyn System, folder: &Path) -> Option<PathBuf> {
    let hash = sha256(system.canonical(folder).ok()?.as_os_str().as_encoded_bytes());
    let name = format!("collection-{}.json", &hexadecimal(&hash)[..16]);
    Some(identity::results_directory(system).ok()?.with_file_name(name))
}

/// Returns the published rows, each with a numbered name in place of a file.
fn published_rows() -> impl Iterator<Item = (String, CollectionRow)> {
    (1..).zip(published::rows()).map(|(number, row)| (format!("{PUBLISHED}{number}"), row))
}

/// Returns the complete row of an index line; `None` if its file is gone or was changed.
pub fn full_row(system: &dyn System, folder: &Path, flat: &Flat) -> Option<CollectionRow> {
    if let Some((_, row)) = published_rows().find(|(file, _)| *file == flat.file) {
        return Some(row);
    }
    let name = flat.file.strip_prefix(ROWS)?.strip_prefix('/')?;
    read_row(system, &folder.join(&flat.file), name).ok()
}
