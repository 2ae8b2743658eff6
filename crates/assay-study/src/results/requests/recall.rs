//! Reads a recording for work that plays it again: which one it is, and its requests.

use std::io::{self, BufRead as _};
use std::path::{Path, PathBuf};

use assay_base::digest::{self, Sum};
use assay_base::outside;
use assay_kinds::work::replay::{Scan, Source};
use assay_system::system::{BlockRequest, Caching, System, identity};

use super::{FILE, Header, Reader};

/// Bytes that are hashed at once.
const PIECE_BYTES: usize = 1 << 16;

/// What the recording of a result comes to: of the device that is named, or of its only one, and of what
/// arrived within so many nanoseconds of its beginning.
///
/// # Errors
/// There is none, it cannot be read to its end, or nothing of it can be played.
pub fn source(
    system: &dyn System,
    directory: &Path,
    device: Option<&str>,
    until_ns: Option<u64>,
) -> Result<Source, String> {
    let id = directory.file_name().map(|name| name.to_string_lossy().into_owned());
    let sha256 = hash(system, directory).map_err(|error| told(&error))?;
    let reader = Reader::open(system, directory).map_err(|error| told(&error))?;
    let begun_ns = reader.header.begun_ns;
    let (index, own) = chosen(&reader.header, device)?;
    let mut scan = Scan::new(&own.0, own.1, until_ns);
    for request in reader {
        let request = request.map_err(|error| told(&error))?;
        if request.device == index {
            scan.add(begun_ns, &request);
        }
    }
    scan.finish(&id.unwrap_or_default(), &sha256)
}

/// The requests of a recording that is kept here, of the device that its source names.
///
/// # Errors
/// It is gone, another one than it was, or cannot be read to its end.
pub fn recall(
    system: &dyn System,
    source: &Source,
    each: &mut dyn FnMut(u64, &BlockRequest),
) -> Result<(), String> {
    let directory = directory(system, source)?;
    let wrong = |why: String| format!("the recording {}: {why}", source.id);
    let sha256 = hash(system, &directory).map_err(|error| wrong(told(&error)))?;
    if sha256 != source.sha256 {
        return Err(wrong("it is another one than this study was planned with".to_owned()));
    }
    let reader = Reader::open(system, &directory).map_err(|error| wrong(told(&error)))?;
    let begun_ns = reader.header.begun_ns;
    let (index, _) = chosen(&reader.header, Some(&source.device)).map_err(&wrong)?;
    for request in reader {
        let request = request.map_err(|error| wrong(told(&error)))?;
        if request.device == index {
            each(begun_ns, &request);
        }
    }
    Ok(())
}

/// Where it is kept: always among the results of this user.
fn directory(system: &dyn System, source: &Source) -> Result<PathBuf, String> {
    let results = identity::results_directory(system).map_err(|failure| failure.to_string())?;
    Ok(results.join(&source.id))
}

/// Index, name and size of a device.
fn chosen(header: &Header, wanted: Option<&str>) -> Result<(u16, (String, u64)), String> {
    let all = || header.devices.iter().map(|own| outside::spelled(&own.name).into_owned());
    let at = match (wanted, header.devices.as_slice()) {
        (Some(name), devices) => devices.iter().position(|own| own.name == name),
        (None, [_]) => Some(0),
        (None, _) => {
            let names = all().collect::<Vec<_>>().join(", ");
            return Err(format!("several devices were recorded ({names}): say device = \"NAME\""));
        }
    };
    let found = at.and_then(|at| Some((u16::try_from(at).ok()?, header.devices.get(at)?)));
    found.map(|(at, own)| (at, (own.name.clone(), own.bytes))).ok_or_else(|| {
        format!("that device was not recorded, but {}", all().collect::<Vec<_>>().join(", "))
    })
}

/// SHA-256 of the file.
fn hash(system: &dyn System, directory: &Path) -> io::Result<String> {
    let file = system.open_for_reading(&directory.join(FILE), Caching::Buffered)?;
    let source = super::Source { system, file, at: 0 };
    let mut reader = io::BufReader::with_capacity(PIECE_BYTES, source);
    let mut sum = Sum::default();
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            return Ok(digest::hexadecimal(&sum.finish()));
        }
        sum.add(piece);
        let length = piece.len();
        reader.consume(length);
    }
}

fn told(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        return "the result has no recorded requests: assay watch DEVICE --record-requests NAME keeps some"
            .to_owned();
    }
    error.to_string()
}
