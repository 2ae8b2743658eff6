//! A complete result as one file (`.assay`): a `tar` of known names, compressed by gzip. Foreign files are not trusted:
//! names must be those of a result's files, headers are read raw (no links, long names or sparse files), and the
//! unpacked size is limited. Each file is read twice with little memory, and written only after a complete check.

mod incoming;
mod limits;

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use serde::{Deserialize, Serialize};
use tar::{Archive, Builder, EntryType, Header};

use assay_core::digest::{Digest, Sum, hexadecimal};
use assay_core::failure::{Failure, Outcome};
use assay_core::json;
use assay_core::outside;
use assay_core::quantity::Bytes;
use assay_machine::system::stream::Stream;
use assay_machine::system::{Caching, FileKind, System, identity};
use assay_study::results::bundle;
use assay_study::results::foreign::{self, ImportMark, ImportPath};
use assay_study::results::imported::SCREEN;

pub use incoming::sweep;
use limits::{DIRECTORIES, MOST_FILES};

pub const ENTRY: assay_core::catalogue::About = assay_core::catalogue::About {
    name: "bundle",
    summary: "complete result with histograms, as a file (.assay) for assay import",
    text: "The file is a gzipped tar archive; histograms in trials.jsonl are HdrHistogram V2, deflated, in base64. The \
           bundle contains all records, including the host name and the serial numbers of the drives. assay import \
           marks the result as foreign: you can show, compare and collect it, but not apply, confirm or resume it.",
};
pub const ENDING: &str = "assay";
pub const FORMAT: &str = "assay-bundle/1";
const ABOUT: &str = "bundle.json";
const MOST_ABOUT_BYTES: u64 = 64 << 10;
/// Bytes that contain its first header.
const HEADS_BYTES: u64 = 4096;
const BUFFER_BYTES: usize = 1 << 16;
/// Additional unpacked bytes for the headers and padding of tar.
const TAR_BYTES: u64 = 1 << 20;
/// Either file marks a directory as a result, of a study or imported: both are written last.
const LAST: [&str; 2] = ["plan.json", "import.json"];
/// First file of another tool in an imported result.
const FIRST_SOURCE: &str = "source-0001";

#[derive(Debug, Serialize, Deserialize)]
struct ParcelAbout {
    format: String,
    /// ID of the result where it was measured.
    #[serde(default)]
    id: String,
    #[serde(default)]
    assay: String,
}

pub struct Packed {
    pub bytes: Vec<u8>,
    pub files: usize,
    pub unpacked_bytes: u64,
    /// Files in the directory that are not part of a result.
    pub left_out: Vec<String>,
}

/// Packs the result in a directory. Fails if a process uses the result, or if it is unreadable or too large for one
/// file.
pub fn pack(system: &dyn System, directory: &Path) -> Outcome<Packed> {
    let id = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if bundle::is_running(system, directory) {
        return Err(refused!("{id} is still running; export the bundle after the study has ended"));
    }
    // Fails here instead of at the recipient.
    super::findings_at(system, directory)?;
    let (names, left_out) = sorted_files(system, directory)?;
    let mut archive = Builder::new(GzBuilder::new().write(Vec::new(), Compression::default()));
    let about = ParcelAbout {
        format: FORMAT.to_owned(),
        id: foreign::mark(system, directory).map_or(id, |mark| mark.id),
        assay: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let pack_failure = |error: io::Error| refused!("cannot pack the bundle: {error}");
    let about = serde_json::to_vec_pretty(&about).unwrap_or_default();
    append(&mut archive, ABOUT, &about).map_err(pack_failure)?;
    let mut unpacked_bytes = 0;
    for name in &names {
        let path = directory.join(name);
        let bytes = system.read_bytes(&path);
        let bytes = bytes.map_err(|error| refused!("cannot read {}: {error}", path.display()))?;
        unpacked_bytes += bytes.len() as u64;
        limits::fits(name, bytes.len() as u64).map_err(|why| rejected(&why))?;
        append(&mut archive, name, &bytes).map_err(pack_failure)?;
    }
    let bytes = archive.into_inner().and_then(GzEncoder::finish).map_err(pack_failure)?;
    let most = limits::unpacked(bytes.len() as u64);
    if unpacked_bytes > most || names.len() > MOST_FILES {
        return Err(rejected(&format!("it has more than {} or {MOST_FILES} files", Bytes(most))));
    }
    Ok(Packed { bytes, files: names.len(), unpacked_bytes, left_out })
}

/// Returns the error for a result that recipients would refuse.
fn rejected(why: &str) -> Failure {
    refused!("assay import would reject the bundle: {why}")
}

fn append(archive: &mut Builder<GzEncoder<Vec<u8>>>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, name, bytes)
}

/// Returns the files of a result in writing order, and unknown files. `not_exported` are in neither list.
fn sorted_files(system: &dyn System, directory: &Path) -> Outcome<(Vec<String>, Vec<String>)> {
    let names_in = |path: &Path| {
        system.list(path).map_err(|error| refused!("cannot read {}: {error}", path.display()))
    };
    let not_exported = [foreign::FILE, "headline.json", SCREEN];
    let (mut names, mut left_out) = (Vec::new(), Vec::new());
    for name in names_in(directory)? {
        if DIRECTORIES.iter().any(|(known, _)| *known == name) {
            let files = names_in(&directory.join(&name))?;
            names.extend(files.into_iter().map(|file| format!("{name}/{file}")));
        } else if !not_exported.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.retain(|name| {
        let is_exported = limits::limit(name).is_some() && is_file(system, &directory.join(name));
        if !is_exported {
            left_out.push(name.clone());
        }
        is_exported
    });
    names.sort_by_key(|name| (LAST.contains(&name.as_str()), name.clone()));
    Ok((names, left_out))
}

fn is_file(system: &dyn System, path: &Path) -> bool {
    system.read_link(path).is_err()
        && system.status(path).is_ok_and(|status| status.kind == FileKind::File)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    pub id: String,
    pub was_there: bool,
}

/// Adds the result in a file, marked as foreign. Fails, and stores nothing, if the file is no bundle, is damaged, has
/// unknown contents, or has a newer format.
pub fn add(system: &dyn System, path: &Path) -> Outcome<Added> {
    let results = identity::results_directory(system)?;
    sweep(system, &results);
    // The first pass only checks the bundle.
    let checked = read_through(system, path, &mut |_, _| Ok(()))?;
    let added = |directory: &Path, was_there| Added {
        id: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        was_there,
    };
    let directory = match foreign::place(system, &results, &checked.about.id, &checked.sha256)? {
        ImportPath::There(directory) => return Ok(added(&directory, true)),
        ImportPath::Free(directory) => directory,
    };
    let mark = ImportMark {
        format: foreign::FORMAT.to_owned(),
        id: outside::spelled(&checked.about.id).into_owned(),
        file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        sha256: checked.sha256.clone(),
        added: system.now(),
    };
    let stored = incoming::store_incoming(system, &directory, &mark, &mut |incoming| {
        let unpacked = read_through(system, path, &mut |name, content| {
            let file = incoming.join(name);
            let written = system.write_stream(&file, content).map(drop);
            written.map_err(|error| refused!("cannot write {}: {error}", file.display()))
        })?;
        if unpacked.sha256 != checked.sha256 {
            return Err(Failure::mistake("the bundle changed during reading".to_owned()));
        }
        Ok(())
    });
    // Messages name the user's file instead of the temporary one.
    stored.map_err(|failure| Failure {
        message: format!("{}: {}; nothing was added", path.display(), failure.message),
        ..failure
    })?;
    Ok(added(&directory, false))
}

/// A completely read bundle, with a hash of its files.
struct CheckedParcel {
    about: ParcelAbout,
    sha256: String,
}

/// Returns whether a file is a bundle, by its name or its first bytes.
pub fn is_one(system: &dyn System, path: &Path) -> bool {
    if path.extension().is_some_and(|ending| ending == ENDING) {
        return true;
    }
    if !system.status(path).is_ok_and(|status| status.kind == FileKind::File) {
        return false;
    }
    let Ok(file) = system.open_for_reading(path, Caching::Buffered) else { return false };
    let unpacked =
        LimitedReader { from: GzDecoder::new(Stream::new(system, file)), left: HEADS_BYTES };
    let mut archive = Archive::new(unpacked);
    let first = archive.entries().ok().and_then(|entries| entries.raw(true).next());
    first.and_then(Result::ok).is_some_and(|entry| *entry.path_bytes() == *ABOUT.as_bytes())
}

fn rejection(path: &Path, why: &str) -> Failure {
    mistake!("{}: {why}; nothing was added", path.display())
}

/// Reads and checks a bundle completely, and calls `receive` with the name and content of each file of its result.
fn read_through(
    system: &dyn System,
    path: &Path,
    receive: &mut dyn FnMut(&str, &mut dyn Read) -> Outcome<()>,
) -> Outcome<CheckedParcel> {
    let status = system.status(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => mistake!("there is no file {}", path.display()),
        _ => refused!("cannot read {}: {error}", path.display()),
    })?;
    if status.kind != FileKind::File {
        return Err(rejection(path, "not an assay export bundle"));
    }
    let file = system
        .open_for_reading(path, Caching::Buffered)
        .map_err(|error| refused!("cannot read {}: {error}", path.display()))?;
    let source = io::BufReader::with_capacity(BUFFER_BYTES, Stream::new(system, file));
    let limit = limits::unpacked(status.size_bytes);
    let unpacked = LimitedReader { from: GzDecoder::new(source), left: limit + TAR_BYTES };
    let mut archive = Archive::new(unpacked);
    let unreadable = |error: &io::Error| {
        if error.kind() == io::ErrorKind::QuotaExceeded {
            return too_large(path, limit);
        }
        rejection(path, &format!("damaged, or not an assay export bundle ({error})"))
    };
    let mut parcel = ParcelReader::default();
    // Raw: refuses archives with links, long names or sparse files.
    for entry in archive.entries().map_err(|error| unreadable(&error))?.raw(true) {
        let mut entry = entry.map_err(|error| unreadable(&error))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if entry.header().entry_type() != EntryType::Regular {
            let why =
                format!("it contains {}, which is not a regular file", outside::spelled(&name));
            return Err(rejection(path, &why));
        }
        let size = entry.header().entry_size().map_err(|error| unreadable(&error))?;
        if name == ABOUT && parcel.about.is_none() && parcel.names.is_empty() {
            parcel.about = Some(read_about(path, &mut entry, size)?);
            continue;
        }
        parcel.admit(path, limit, &name, size)?;
        let mut summed = Summed { from: &mut entry, sum: Sum::default(), bytes: 0 };
        receive(&name, &mut summed)?;
        // Hashes the rest, too, if `receive` did not read all.
        io::copy(&mut summed, &mut io::sink()).map_err(|error| unreadable(&error))?;
        if summed.bytes != size {
            return Err(rejection(path, "the bundle is truncated"));
        }
        parcel.add_hash(&name, size, &summed.sum.finish());
    }
    // Reads to the end, where gzip stores its checksum.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(|error| unreadable(&error))?;
    parcel.finish(path)
}

fn too_large(path: &Path, most: u64) -> Failure {
    rejection(path, &format!("the bundle contains more than {} or {MOST_FILES} files", Bytes(most)))
}

fn read_about(path: &Path, entry: &mut dyn Read, size: u64) -> Outcome<ParcelAbout> {
    let reject = |why: &str| rejection(path, why);
    let mut bytes = Vec::new();
    let read = entry.take(MOST_ABOUT_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| reject(&format!("cannot read {ABOUT} in the bundle: {error}")))?;
    if bytes.len() as u64 != size {
        return Err(reject(&format!("{ABOUT} in the bundle is truncated or too long")));
    }
    let about: ParcelAbout = json::from_slice(&bytes)
        .map_err(|error| reject(&format!("cannot read {ABOUT} in the bundle: {error}")))?;
    if about.format != FORMAT {
        let [written, version] = [&about.format, &about.assay].map(|text| outside::spelled(text));
        return Err(reject(&format!(
            "the bundle has format {written} of assay {version}, but this version reads {FORMAT}; use \
             the version that wrote the bundle, or a newer one"
        )));
    }
    Ok(about)
}

/// What was read of a bundle so far.
#[derive(Default)]
struct ParcelReader {
    about: Option<ParcelAbout>,
    names: BTreeSet<String>,
    bytes: u64,
    /// Hash of name, length and hash of each file.
    hashes: Sum,
}

impl ParcelReader {
    /// Checks name and size of a file before it is read.
    fn admit(&mut self, path: &Path, limit: u64, name: &str, size: u64) -> Outcome<()> {
        limits::fits(name, size).map_err(|why| rejection(path, &why))?;
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > limit || self.names.len() >= MOST_FILES {
            return Err(too_large(path, limit));
        }
        if self.about.is_none() {
            return Err(rejection(path, "not an assay export bundle: it has no format"));
        }
        if !self.names.insert(name.to_owned()) {
            return Err(rejection(path, &format!("the bundle contains {name} twice")));
        }
        Ok(())
    }

    fn add_hash(&mut self, name: &str, bytes: u64, hash: &Digest) {
        self.hashes.add(format!("{name} {bytes} {}\n", hexadecimal(hash)));
    }

    /// Checks that the files of a result, of a study or imported, are complete.
    fn finish(self, path: &Path) -> Outcome<CheckedParcel> {
        let has = |name: &str| self.names.contains(name);
        let Some(about) = self.about else {
            return Err(rejection(path, "not an assay export bundle: it is empty"));
        };
        let [is_study, is_import] = LAST.map(has);
        let is_complete = if is_study {
            !is_import && has("study.toml") && has("environment.json")
        } else {
            // An import contains either one table, or numbered files.
            is_import && has("trials.csv") != has(FIRST_SOURCE)
        };
        if !is_complete {
            return Err(rejection(path, "a file of the result is missing"));
        }
        Ok(CheckedParcel { about, sha256: hexadecimal(&self.hashes.finish()) })
    }
}

/// A stream that counts and hashes its bytes.
struct Summed<'r> {
    from: &'r mut dyn Read,
    sum: Sum,
    bytes: u64,
}

impl Read for Summed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.sum.add(&into[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}

struct LimitedReader<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::from(io::ErrorKind::QuotaExceeded))?;
        Ok(count)
    }
}

pub fn usual_name(directory: &Path) -> PathBuf {
    let id = directory.file_name().unwrap_or_default().to_string_lossy();
    PathBuf::from(format!("{id}.assay"))
}

#[cfg(test)]
mod tests {
    use assay_core::digest::sha256;

    use super::*;

    #[test]
    fn a_stream_is_refused_beyond_its_limit() {
        let read = |left: u64| {
            let mut own = LimitedReader { from: [7_u8; 10].as_slice(), left };
            let mut bytes = Vec::new();
            own.read_to_end(&mut bytes).map(|_| bytes.len()).map_err(|error| error.kind())
        };
        assert_eq!(read(10), Ok(10));
        assert_eq!(read(9), Err(io::ErrorKind::QuotaExceeded));
    }

    #[test]
    fn a_result_is_whole_with_all_files_of_one_kind() {
        let whole = |names: &[&str]| {
            let about =
                ParcelAbout { format: FORMAT.to_owned(), id: String::new(), assay: String::new() };
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let reading = ParcelReader { about: Some(about), names, ..ParcelReader::default() };
            reading.finish(Path::new("x.assay")).is_ok()
        };
        assert!(whole(&["plan.json", "study.toml", "environment.json"]));
        assert!(whole(&["import.json", "trials.csv"]));
        assert!(whole(&["import.json", "source-0001", "source-0002"]));
        assert!(!whole(&["import.json", "trials.csv", "source-0001"]), "of which kind?");
        assert!(!whole(&["import.json", "source-0002"]));
        assert!(!whole(&["plan.json", "study.toml"]) && !whole(&["plan.json", "environment.json"]));
        assert!(!whole(&["import.json"]) && !whole(&["trials.csv"]) && !whole(&[]));
        let both = ["plan.json", "study.toml", "environment.json", "import.json", "trials.csv"];
        assert!(!whole(&both), "of which kind?");
        let nothing = ParcelReader::default().finish(Path::new("x.assay")).err().unwrap();
        assert!(nothing.message.contains("it is empty"), "{}", nothing.message);
    }

    #[test]
    fn the_hash_is_that_of_names_lengths_and_contents() {
        let hash = |files: &[(&str, &[u8])]| {
            let mut own = ParcelReader::default();
            for (name, bytes) in files {
                let (mut from, sum) = (*bytes, Sum::default());
                let mut summed = Summed { from: &mut from, sum, bytes: 0 };
                io::copy(&mut summed, &mut io::sink()).unwrap();
                assert_eq!(summed.bytes, bytes.len() as u64);
                own.add_hash(name, summed.bytes, &summed.sum.finish());
            }
            own.hashes.finish()
        };
        let one = format!("a 1 {}\n", hexadecimal(&sha256("x")));
        assert_eq!(hash(&[("a", b"x")]), sha256(&one));
        let two = format!("{one}b 0 {}\n", hexadecimal(&sha256("")));
        assert_eq!(hash(&[("a", b"x"), ("b", b"")]), sha256(two));
        assert_ne!(hash(&[("a", b"y")]), hash(&[("a", b"x")]));
        assert_ne!(hash(&[("b", b"x")]), hash(&[("a", b"x")]));
    }

    #[test]
    fn a_file_is_usually_called_after_its_result() {
        let name = usual_name(Path::new("/home/a/results/20261120-1031"));
        assert_eq!(name, Path::new("20261120-1031.assay"));
    }
}
