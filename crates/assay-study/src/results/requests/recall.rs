//! Reads a recording for a replay: its summary, and its requests.

use std::io::{self, BufRead as _};
use std::path::{Path, PathBuf};

use assay_core::digest::{self, Sum};
use assay_core::outside;
use assay_machine::system::{BlockRequest, Caching, System, identity};
use assay_workloads::replay::{Scan, TraceSource};

use super::{FILE, Header, TraceReader};

const PIECE_BYTES: usize = 1 << 16;

/// Summarizes a recording up to `until_ns` for replay: of the named devices (`a`, `a+b`), or of the only one.
pub fn source(
    system: &dyn System,
    directory: &Path,
    device: Option<&str>,
    until_ns: Option<u64>,
) -> Result<TraceSource, String> {
    let id = directory.file_name().map(|name| name.to_string_lossy().into_owned());
    let sha256 = hash(system, directory).map_err(|error| open_error(&error))?;
    let reader = TraceReader::open(system, directory).map_err(|error| open_error(&error))?;
    let begun_ns = reader.header.begun_ns;
    let devices = chosen_devices(&reader.header, device)?;
    let scan = |recalled: &RecalledDevice| Scan::new(&recalled.name, recalled.bytes, until_ns);
    let mut scans: Vec<Scan> = devices.iter().map(scan).collect();
    for request in reader {
        let request = request.map_err(|error| open_error(&error))?;
        if let Some(nth) = position(&devices, &request) {
            scans[nth].add(begun_ns, &request);
        }
    }
    let scan = if scans.len() > 1 { Scan::join(scans) } else { scans.swap_remove(0) };
    scan.finish(&id.unwrap_or_default(), &sha256)
}

/// Reads the requests of the devices of a source; fails if the recording is gone or changed.
pub fn recall(
    system: &dyn System,
    source: &TraceSource,
    each: &mut dyn FnMut(u64, &BlockRequest),
) -> Result<(), String> {
    let directory = directory(system, source)?;
    let wrong = |why: String| format!("recording {}: {why}", source.id);
    let sha256 = hash(system, &directory).map_err(|error| wrong(open_error(&error)))?;
    if sha256 != source.sha256 {
        return Err(wrong("it changed since the study was planned".to_owned()));
    }
    let reader =
        TraceReader::open(system, &directory).map_err(|error| wrong(open_error(&error)))?;
    let begun_ns = reader.header.begun_ns;
    let devices = chosen_devices(&reader.header, Some(&source.device)).map_err(&wrong)?;
    for request in reader {
        let request = request.map_err(|error| wrong(open_error(&error)))?;
        if let Some(nth) = position(&devices, &request) {
            each(begun_ns, &source.place_request(nth, &request));
        }
    }
    Ok(())
}

fn directory(system: &dyn System, source: &TraceSource) -> Result<PathBuf, String> {
    let results = identity::results_directories(system).map_err(|failure| failure.to_string())?;
    let mut kept = results.iter().map(|results| results.join(&source.id));
    kept.find(|directory| system.status(directory).is_ok()).ok_or_else(|| {
        format!("recording {} does not exist; create another with --record-trace", source.id)
    })
}

struct RecalledDevice {
    index: u16,
    name: String,
    bytes: u64,
}

fn position(devices: &[RecalledDevice], request: &BlockRequest) -> Option<usize> {
    devices.iter().position(|device| device.index == request.device)
}

/// Finds the named devices of a recording (`a+b`), or its only device.
fn chosen_devices(header: &Header, wanted: Option<&str>) -> Result<Vec<RecalledDevice>, String> {
    let names = header.devices.iter().map(|device| outside::spelled(&device.name).into_owned());
    let recorded = names.collect::<Vec<_>>().join(", ");
    let find = |name: &str| {
        let mut devices = (0..=u16::MAX).zip(&header.devices);
        match devices.find(|(_, device)| device.name == name) {
            Some((index, device)) => {
                Ok(RecalledDevice { index, name: device.name.clone(), bytes: device.bytes })
            }
            None => Err(format!("device not recorded; recorded devices: {recorded}")),
        }
    };
    match (wanted, header.devices.as_slice()) {
        (Some(names), _) => names.split('+').map(find).collect(),
        (None, [only]) => Ok(vec![find(&only.name)?]),
        (None, _) => Err(format!(
            "the recording has several devices ({recorded}); set device = \"NAME\", or join several with +"
        )),
    }
}

fn hash(system: &dyn System, directory: &Path) -> io::Result<String> {
    let file = system.open_for_reading(&directory.join(FILE), Caching::Buffered)?;
    let source = super::Stream::new(system, file);
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

fn open_error(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        return "the result has no recorded requests; use assay watch DEVICE --record-trace NAME"
            .to_owned();
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use assay_machine::system::{BlockClass, Fake, RequestFlags};
    use proptest::prelude::*;

    use super::*;
    use crate::results::requests::{FORMAT, RecordedDevice, Writer};

    const BEGUN_NS: u64 = 1_000_000;
    const DEVICE_BYTES: u64 = 1 << 30;
    const HOME: &str = "/home/me";
    const PLACE: &str = "/home/me/results/evening";

    /// A recording of `count` reads, one per millisecond, alternating between the devices.
    fn recorded(names: &[&str], count: u64) -> Fake {
        let fake = Fake::new();
        fake.set_variable("ASSAY_HOME", HOME);
        fake.create_directory(Path::new(PLACE)).unwrap();
        let device = |name: &&str| RecordedDevice { name: (*name).to_owned(), bytes: DEVICE_BYTES };
        let header = Header {
            format: FORMAT.to_owned(),
            started: "2026-11-26T03:00:00Z".to_owned(),
            begun_ns: BEGUN_NS,
            devices: names.iter().map(device).collect(),
        };
        let mut writer = Writer::create(&fake, Path::new(PLACE), &header).unwrap();
        for at in 0..count {
            let arrived_ns = BEGUN_NS + at * 1_000_000;
            let request = BlockRequest {
                device: (at % names.len() as u64) as u16,
                class: BlockClass::Read,
                arrived_ns: Some(arrived_ns),
                issued_ns: Some(arrived_ns + 500),
                ended_ns: arrived_ns + 90_000,
                offset_bytes: at * 4096,
                bytes: 4096,
                flags: RequestFlags::default(),
            };
            writer.add(&request).unwrap();
        }
        writer.finish().unwrap();
        fake
    }

    fn source_of(fake: &Fake, device: Option<&str>) -> Result<TraceSource, String> {
        source(fake, Path::new(PLACE), device, None)
    }

    fn recalled(fake: &Fake, source: &TraceSource) -> Result<u64, String> {
        let mut count = 0;
        recall(fake, source, &mut |begun_ns, _| {
            assert_eq!(begun_ns, BEGUN_NS);
            count += 1;
        })?;
        Ok(count)
    }

    #[test]
    fn a_recording_is_known_by_its_hash_and_read_again() {
        let fake = recorded(&["sda"], 100);
        let own = source_of(&fake, None).unwrap();
        assert_eq!((own.id.as_str(), own.requests(), own.to_bytes), ("evening", 100, 100 * 4096));
        assert_eq!(recalled(&fake, &own), Ok(100));
        let other = recorded(&["sda"], 101);
        assert!(recalled(&other, &own).unwrap_err().contains("it changed since"));
        let part = source(&fake, Path::new(PLACE), None, Some(10_000_000)).unwrap();
        assert_eq!((part.requests(), part.length_ns), (10, 9_000_000));
        let gone = Fake::new();
        gone.set_variable("ASSAY_HOME", HOME);
        assert!(recalled(&gone, &own).unwrap_err().contains("--record-trace"));
    }

    #[test]
    fn of_several_devices_one_is_named() {
        let fake = recorded(&["sda", "sdb"], 100);
        let told = source_of(&fake, None).unwrap_err();
        assert!(told.contains("sda, sdb") && told.contains("device ="), "{told}");
        assert!(source_of(&fake, Some("sdc")).unwrap_err().contains("device not recorded"));
        let own = source_of(&fake, Some("sdb")).unwrap();
        assert_eq!((own.device.as_str(), own.requests()), ("sdb", 50));
        assert_eq!(recalled(&fake, &own), Ok(50));
    }

    #[test]
    fn several_devices_are_played_by_one_clock_one_behind_the_other() {
        let fake = recorded(&["sda", "sdb"], 100);
        let own = source_of(&fake, Some("sda+sdb")).unwrap();
        // The last request of sda begins at 98 * 4096, within the first MiB.
        assert_eq!((own.requests(), own.parts.len(), own.device_bytes), (100, 2, 2 << 20));
        assert_eq!((own.first_ns, own.length_ns, own.left_out), (0, 99_000_000, 0));
        assert_eq!((own.from_bytes, own.to_bytes), (0, (1 << 20) + 100 * 4096));
        assert_eq!(own.to_string().parse(), Ok(own.clone()));
        let mut places = Vec::new();
        recall(&fake, &own, &mut |_, request| places.push(request.offset_bytes)).unwrap();
        assert_eq!(places[..4], [0, (1 << 20) + 4096, 2 * 4096, (1 << 20) + 3 * 4096]);
        // Each of them alone is unchanged, and none is used twice.
        assert!(source_of(&fake, Some("sda")).unwrap().parts.is_empty());
        assert!(source_of(&fake, Some("sda+sda")).is_err());
        assert!(source_of(&fake, Some("sda+sdc")).unwrap_err().contains("device not recorded"));
        assert!(own.to_string().replace("+sdb", "").parse::<TraceSource>().is_err());
    }

    #[test]
    fn names_that_are_paths_or_more_than_a_word_are_refused() {
        for name in ["", "a b", "../sda", "sda=1", "a\nb"] {
            assert!(source_of(&recorded(&[name], 3), None).is_err(), "{name:?}");
        }
    }

    proptest! {
        /// Any damage ends the reading, and offsets stay within the device.
        #[test]
        fn damaged_recordings_end(at in any::<prop::sample::Index>(), bit in 0..8_u32, cut in 0..40_usize) {
            let fake = recorded(&["sda"], 40);
            let path = Path::new(PLACE).join(FILE);
            let mut bytes = fake.read_bytes(&path).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            bytes.truncate(bytes.len() - cut);
            fake.put(&path, &bytes);
            if let Ok(own) = source_of(&fake, None) {
                prop_assert!(own.to_bytes <= own.device_bytes && own.requests() > 0);
                prop_assert_eq!(own.to_string().parse(), Ok(own));
            }
        }
    }
}
