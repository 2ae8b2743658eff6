//! Whether something between this machine and a drive keeps what was read: pieces of the drive that are not
//! ours are read twice, past the page cache, before anything is written.

use std::path::Path;

use assay_core::draws::Draws;
use assay_core::results::plan::ReadTwice;
use assay_core::system::site::{Drive, Site};
use assay_core::system::{Caching, System};
use assay_core::truth::hides_its_cache;

/// Pieces, one in each equal part of the drive.
const PIECES: u64 = 3;
const PIECE_BYTES: u64 = 8 << 20;
/// Bytes of one reading.
const STEP: usize = 1 << 20;
/// No piece is begun after that: a slow drive waits for nobody.
const LIMIT_NS: u64 = 2_000_000_000;
/// Direct I/O wants memory that is aligned like the block.
const ALIGNMENT: usize = 4096;

/// Reads pieces of the first drive whose cache cannot be seen; none where there is no such drive, where it is
/// too small, and where it may not be opened.
pub fn read(system: &dyn System, site: &Site, seed: u64) -> Option<ReadTwice> {
    let drive = site.drives.iter().find(|drive| hides_its_cache(drive))?;
    let part = drive.size_bytes / PIECES;
    if part < 2 * PIECE_BYTES {
        return None;
    }
    let path = Path::new("/dev").join(&drive.name);
    let file = system.open_for_reading(&path, Caching::Direct).ok()?;
    let mut room = vec![0_u8; STEP + ALIGNMENT];
    let start = room.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut room[start..start + STEP];
    let mut piece = |offset: u64| -> Option<u64> {
        let began_ns = system.monotonic_ns();
        for at in (offset..offset + PIECE_BYTES).step_by(STEP) {
            let read = system.read_at(&file, at, buffer).ok()?;
            (read == buffer.len()).then_some(())?;
        }
        Some(system.monotonic_ns().saturating_sub(began_ns))
    };
    let began_ns = system.monotonic_ns();
    let in_time = |_: &u64| system.monotonic_ns().saturating_sub(began_ns) < LIMIT_NS;
    let pieces = offsets(drive, seed).into_iter().take_while(in_time);
    let piece_ns: Vec<[u64; 2]> =
        pieces.map_while(|offset| Some([piece(offset)?, piece(offset)?])).collect();
    let told = ReadTwice { drive: drive.name.clone(), piece_bytes: PIECE_BYTES, piece_ns };
    (!told.piece_ns.is_empty()).then_some(told)
}

/// A place in each part of a drive, drawn, so that no two studies read the same.
fn offsets(drive: &Drive, seed: u64) -> Vec<u64> {
    let step = STEP as u64;
    let part = drive.size_bytes / PIECES / step;
    let mut draws = Draws::new(seed, "pieces read twice");
    let room = part - PIECE_BYTES / step;
    (0..PIECES).map(|index| (index * part + draws.below(room)) * step).collect()
}
