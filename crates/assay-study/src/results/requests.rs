//! Recorded requests of block devices (`requests.bin`, `assay-requests/1`).
//!
//! The file has gzip members, so Assay can append and any tool can decompress: a line of JSON, the [`Header`], then the
//! requests in order of completion, in the format of [`code`]: times, classes, offsets and sizes, no names or data.

pub mod code;
mod recall;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use assay_core::json;
use assay_machine::system::stream::Stream;
use assay_machine::system::{BlockRequest, Caching, FileKind, System};
use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use code::{CodeFault, Coder};
pub use recall::{recall, source};

pub const FORMAT: &str = "assay-requests/1";
pub const FILE: &str = "requests.bin";
/// Bytes compressed and appended at once: about 100,000 requests.
const PIECE_BYTES: usize = 1 << 20;
const LONGEST_HEADER_BYTES: u64 = 1 << 16;
/// Devices that a header may name.
const MOST_DEVICES: usize = assay_machine::system::MOST_TRACED;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub format: String,
    /// When the recording began, RFC 3339.
    pub started: String,
    /// The same moment, nanoseconds of the monotonic clock of that machine: times of requests count from it.
    pub begun_ns: u64,
    /// The devices, in the order in which requests name them.
    pub devices: Vec<RecordedDevice>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedDevice {
    pub name: String,
    pub bytes: u64,
}

/// Writes a recording in parts: everything except the last part is on disk.
pub struct Writer<'s> {
    system: &'s dyn System,
    path: PathBuf,
    coder: Coder,
    piece: Vec<u8>,
    unwritten: u64,
    written_bytes: u64,
}

impl<'s> Writer<'s> {
    pub fn create(system: &'s dyn System, directory: &Path, header: &Header) -> io::Result<Self> {
        let mut piece = serde_json::to_vec(header).map_err(io::Error::other)?;
        piece.push(b'\n');
        let coder = Coder::new(header.begun_ns, header.devices.len());
        let path = directory.join(FILE);
        let mut writer = Self { system, path, coder, piece, unwritten: 0, written_bytes: 0 };
        writer.append()?;
        Ok(writer)
    }

    /// Adds a request.
    ///
    /// # Errors
    /// Writing failed; the requests remain in memory, and `finish` tries again.
    pub fn add(&mut self, request: &BlockRequest) -> io::Result<()> {
        let before = self.piece.len();
        self.coder.encode(request, &mut self.piece);
        self.unwritten += u64::from(self.piece.len() > before);
        if self.piece.len() < PIECE_BYTES { Ok(()) } else { self.append() }
    }

    pub fn finish(&mut self) -> io::Result<()> {
        if self.piece.is_empty() { Ok(()) } else { self.append() }
    }

    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    pub fn unwritten(&self) -> u64 {
        self.unwritten
    }

    /// Compresses the collected piece separately and appends it, so a crash loses only the last piece.
    fn append(&mut self) -> io::Result<()> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(&self.piece)?;
        let packed = packer.finish()?;
        self.system.append(&self.path, &packed)?;
        self.written_bytes += packed.len() as u64;
        self.piece.clear();
        self.unwritten = 0;
        Ok(())
    }
}

/// Reads a recording; memory does not grow with its length.
pub struct TraceReader<'s> {
    pub header: Header,
    unpacked: BufReader<MultiGzDecoder<BufReader<Stream<'s>>>>,
    coder: Coder,
}

impl<'s> TraceReader<'s> {
    pub fn open(system: &'s dyn System, directory: &Path) -> io::Result<Self> {
        let path = directory.join(FILE);
        // A result may be anybody's: a pipe would be waited for.
        if system.status(&path)?.kind != FileKind::File {
            return Err(bad(&"not a regular file"));
        }
        let file = system.open_for_reading(&path, Caching::Buffered)?;
        let source = BufReader::with_capacity(1 << 16, Stream::new(system, file));
        let mut unpacked = BufReader::with_capacity(1 << 16, MultiGzDecoder::new(source));
        let mut line = Vec::new();
        (&mut unpacked).take(LONGEST_HEADER_BYTES).read_until(b'\n', &mut line)?;
        let header: Header = json::from_slice(&line).map_err(|error| bad(&error))?;
        if header.format != FORMAT {
            return Err(bad(&format!("the format is {:?}, not {FORMAT}", header.format)));
        }
        if header.devices.is_empty() || header.devices.len() > MOST_DEVICES {
            return Err(bad(&format!("invalid number of devices ({})", header.devices.len())));
        }
        let coder = Coder::new(header.begun_ns, header.devices.len());
        Ok(Self { header, unpacked, coder })
    }
}

impl Iterator for TraceReader<'_> {
    type Item = io::Result<BlockRequest>;

    /// Reads the next request; ends with an error at damaged data.
    fn next(&mut self) -> Option<Self::Item> {
        match self.coder.decode(&mut self.unpacked) {
            Ok(request) => request.map(Ok),
            Err(CodeFault::Read(error)) => Some(Err(error)),
            Err(CodeFault::Not(what)) => Some(Err(bad(&format!("invalid {what}")))),
        }
    }
}

fn bad(why: &dyn std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not a request recording: {why}"))
}

#[cfg(test)]
mod tests;
