//! Detects caches before a drive: reads pieces of it twice, past the page cache.

use std::path::Path;

use assay_analysis::rules::hides_its_cache;
use assay_core::draws::Draws;
use assay_core::presence::Presence;
use assay_core::quantity::units::show;
use assay_machine::system::site::{Drive, Site};
use assay_machine::system::{Caching, System};
use assay_study::results::plan::ReadTwice;

const PIECES: u64 = 3;
const PIECE_BYTES: u64 = 8 << 20;
const STEP: usize = 1 << 20;
/// No further piece starts after this: a slow drive must not delay the study.
const LIMIT_NS: u64 = 2_000_000_000;
/// Of buffers for direct I/O.
const ALIGNMENT: usize = 4096;

/// Reads pieces twice from the first drive whose cache is invisible: a faster second read shows it. Else absent.
pub fn read(system: &dyn System, site: &Site, seed: u64) -> Presence<ReadTwice> {
    let Some(drive) = site.drives.iter().find(|drive| hides_its_cache(drive)) else {
        return Presence::absent("the caches of all drives below the target are visible");
    };
    match read_pieces(system, drive, seed) {
        Ok(times) => Presence::Present(times),
        Err(reason) => Presence::absent(format!("{}: {reason}", drive.name)),
    }
}

/// Times two direct reads of each piece, until the time limit; fails if the first piece is unreadable.
fn read_pieces(system: &dyn System, drive: &Drive, seed: u64) -> Result<ReadTwice, String> {
    let part = drive.size_bytes / PIECES;
    if part < 2 * PIECE_BYTES {
        return Err(format!(
            "{} is too small to read pieces of {}",
            show::bytes(drive.size_bytes),
            show::bytes(PIECE_BYTES)
        ));
    }
    let path = Path::new("/dev").join(&drive.name);
    let file = system.open_for_reading(&path, Caching::Direct);
    let file = file.map_err(|error| format!("cannot read the drive with direct I/O: {error}"))?;
    let mut memory = vec![0_u8; STEP + ALIGNMENT];
    let start = memory.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut memory[start..start + STEP];
    let mut time_piece = |offset: u64| -> Result<u64, String> {
        let began_ns = system.monotonic_ns();
        for at in (offset..offset + PIECE_BYTES).step_by(STEP) {
            match system.read_at(&file, at, buffer) {
                Ok(read) if read == STEP => {}
                Ok(read) => return Err(format!("read only {read} of {STEP} bytes at byte {at}")),
                Err(error) => return Err(format!("cannot read byte {at}: {error}")),
            }
        }
        Ok(system.monotonic_ns().saturating_sub(began_ns))
    };
    let began_ns = system.monotonic_ns();
    let is_in_time = |_: &u64| system.monotonic_ns().saturating_sub(began_ns) < LIMIT_NS;
    let mut piece_ns: Vec<[u64; 2]> = Vec::new();
    for offset in offsets(drive, seed).into_iter().take_while(is_in_time) {
        match time_piece(offset).and_then(|first_ns| Ok([first_ns, time_piece(offset)?])) {
            Ok(pair_ns) => piece_ns.push(pair_ns),
            // The earlier pieces are enough.
            Err(reason) if piece_ns.is_empty() => return Err(reason),
            Err(_) => break,
        }
    }
    Ok(ReadTwice { drive: drive.name.clone(), piece_bytes: PIECE_BYTES, piece_ns })
}

/// A random offset in each part of a drive: different for each study.
fn offsets(drive: &Drive, seed: u64) -> Vec<u64> {
    let step = STEP as u64;
    let part_steps = drive.size_bytes / PIECES / step;
    let start_steps = part_steps - PIECE_BYTES / step;
    let mut draws = Draws::new(seed, "pieces read twice");
    (0..PIECES).map(|index| (index * part_steps + draws.below(start_steps)) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_machine::system::{DeviceNumber, Fake};

    /// On a virtual drive of this size.
    fn lent(size_bytes: u64) -> Site {
        fn unknown<T>() -> Presence<T> {
            Presence::absent("not checked")
        }
        let drive = Drive {
            name: "vdz".to_owned(),
            number: DeviceNumber { major: 252, minor: 0 },
            id: "vdz".to_owned(),
            model: unknown(),
            firmware: unknown(),
            serial: unknown(),
            size_bytes,
            rotational: unknown(),
            rpm: unknown(),
            removable: unknown(),
            bus: Presence::Present("virtio".to_owned()),
            ports: Vec::new(),
            link: unknown(),
            usb_version: unknown(),
            card: unknown(),
            scheduler: unknown(),
            write_cache: unknown(),
            discard: unknown(),
            logical_block_bytes: unknown(),
            physical_block_bytes: unknown(),
            queue_requests: unknown(),
            read_ahead_bytes: unknown(),
        };
        Site { drives: vec![drive], ..Site::loop_to_be(size_bytes) }
    }

    /// A missing reading has a reason: it does not mean that the host caches nothing.
    #[test]
    fn what_is_not_read_twice_says_why() {
        let fake = Fake::new();
        let told = |site: &Site| read(&fake, site, 1).reason().map(str::to_owned).unwrap();
        assert!(told(&Site::simulated("simulated")).starts_with("the caches of all drives below"));
        let small = told(&lent(1 << 20));
        assert_eq!(small, "vdz: 1 MiB is too small to read pieces of 8 MiB");
        let gone = told(&lent(1 << 30));
        assert!(gone.starts_with("vdz: cannot read the drive with direct I/O"), "{gone}");
        fake.put("/dev/vdz", [7; 4096]);
        let short = told(&lent(1 << 30));
        assert!(short.starts_with("vdz: read only 0 of 1048576 bytes"), "{short}");
    }
}
