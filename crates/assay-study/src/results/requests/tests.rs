use assay_machine::system::{BlockClass, Fake, RequestFlags};
use proptest::prelude::*;

use super::*;

fn header(devices: usize) -> Header {
    let device = |at: usize| RecordedDevice { name: format!("sd{at}"), bytes: 1 << 40 };
    Header {
        format: FORMAT.to_owned(),
        started: "2026-11-26T03:00:00Z".to_owned(),
        begun_ns: 1_000_000,
        devices: (0..devices).map(device).collect(),
    }
}

fn request(device: u16, ended_ns: u64) -> BlockRequest {
    BlockRequest {
        device,
        class: BlockClass::Write,
        arrived_ns: Some(ended_ns - 900),
        issued_ns: Some(ended_ns - 700),
        ended_ns,
        offset_bytes: 4096 * ended_ns,
        bytes: 4096,
        flags: RequestFlags(RequestFlags::SYNC),
    }
}

fn written(header: &Header, requests: &[BlockRequest]) -> Fake {
    let fake = Fake::new();
    fake.create_directory(Path::new("/results/one")).unwrap();
    let mut writer = Writer::create(&fake, Path::new("/results/one"), header).unwrap();
    for request in requests {
        writer.add(request).unwrap();
    }
    writer.finish().unwrap();
    assert!(writer.written_bytes() > 0 && writer.unwritten() == 0);
    fake
}

/// A user replays a recording of root.
#[test]
fn recordings_of_root_are_recalled_by_a_user() {
    let fake = Fake::new();
    fake.set_variable("HOME", "/home/me");
    let directory = Path::new("/var/lib/assay/results/one");
    fake.create_directory(directory).unwrap();
    let mut writer = Writer::create(&fake, directory, &header(1)).unwrap();
    writer.add(&request(0, 2_000_000)).unwrap();
    writer.finish().unwrap();
    let source = source(&fake, directory, None, None).unwrap();
    fake.set_user(1000);
    let count = || {
        let mut count = 0;
        recall(&fake, &source, &mut |_, _| count += 1).map(|()| count)
    };
    assert_eq!(count(), Ok(1));
    fake.remove("/var/lib/assay/results/one");
    assert!(count().is_err());
}

fn read(fake: &Fake) -> io::Result<Vec<BlockRequest>> {
    TraceReader::open(fake, Path::new("/results/one"))?.collect()
}

#[test]
fn what_was_recorded_comes_back_piece_by_piece() {
    let all: Vec<BlockRequest> =
        (0..150_000).map(|at| request((at % 2) as u16, 2_000_000 + 50_000 * at)).collect();
    let fake = written(&header(2), &all);
    let reader = TraceReader::open(&fake, Path::new("/results/one")).unwrap();
    assert_eq!(reader.header, header(2));
    assert_eq!(read(&fake).unwrap(), all);
}

#[test]
fn nothing_recorded_is_a_recording_without_requests() {
    assert_eq!(read(&written(&header(1), &[])).unwrap(), []);
}

#[test]
fn what_nobody_saw_has_no_place_and_moves_none() {
    let unseen = BlockRequest {
        arrived_ns: None,
        issued_ns: None,
        offset_bytes: 0,
        bytes: 0,
        ..request(0, 3_000_000)
    };
    let all = [request(0, 2_000_000), unseen, request(0, 2_999_999)];
    assert_eq!(read(&written(&header(1), &all)).unwrap(), all);
}

#[test]
fn a_request_of_a_device_that_is_none_is_not_written() {
    let all = [request(0, 2_000_000), request(7, 2_000_100)];
    assert_eq!(read(&written(&header(1), &all)).unwrap(), all[..1]);
}

#[test]
fn a_file_of_another_kind_or_another_version_is_refused() {
    let fake = Fake::new();
    assert!(read(&fake).is_err());
    let other = Header { format: "assay-requests/9".to_owned(), ..header(1) };
    let told = read(&written(&other, &[])).unwrap_err().to_string();
    assert!(told.contains("assay-requests/9"), "{told}");
    let none = Header { devices: Vec::new(), ..header(1) };
    assert!(read(&written(&none, &[])).unwrap_err().to_string().contains("devices (0)"));
}

#[test]
fn what_cannot_be_written_is_told_and_stands_in_the_file_where_it_can_later() {
    let fake = written(&header(1), &[]);
    let place = Path::new("/results/one");
    let mut writer = Writer::create(&fake, place, &header(1)).unwrap();
    writer.add(&request(0, 2_000_000)).unwrap();
    fake.remove_directory(place).unwrap();
    assert!(writer.finish().is_err());
    assert_eq!(writer.unwritten(), 1);
    fake.create_directory(place).unwrap();
    writer.finish().unwrap();
    assert_eq!(writer.unwritten(), 0);
    assert!(fake.read_bytes(&place.join(FILE)).is_ok_and(|bytes| !bytes.is_empty()));
}

#[test]
fn what_is_no_file_is_not_opened() {
    let fake = Fake::new();
    fake.create_directory(&Path::new("/results/one").join(FILE)).unwrap();
    assert!(read(&fake).unwrap_err().to_string().contains("not a regular file"));
}

#[test]
fn a_recording_that_ends_in_the_middle_says_so() {
    let all: Vec<BlockRequest> = (0..100).map(|at| request(0, 2_000_000 + 10 * at)).collect();
    let fake = written(&header(1), &all);
    let path = Path::new("/results/one").join(FILE);
    let bytes = fake.read_bytes(&path).unwrap();
    fake.put(&path, &bytes[..bytes.len() - 12]);
    assert!(read(&fake).is_err());
}

proptest! {
    /// Any content ends with requests or with an error.
    #[test]
    fn damaged_texts_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut coder = Coder::new(0, 3);
        let mut from = &bytes[..];
        let mut found = 0;
        while let Ok(Some(request)) = coder.decode(&mut from) {
            prop_assert!(request.device < 3);
            found += 1;
        }
        prop_assert!(found <= bytes.len());
    }

    #[test]
    fn any_request_comes_back(
        class in 0..6_usize,
        times in (0..1_u64 << 50, 0..1_u64 << 40, 0..1_u64 << 40),
        place in 0..1_u64 << 40,
        bytes in any::<u32>(),
        flags in any::<u8>(),
    ) {
        let (ended_ns, queued_ns, issued_ns) = times;
        let one = BlockRequest {
            device: 2,
            class: BlockClass::ALL[class],
            arrived_ns: ended_ns.checked_sub(queued_ns),
            issued_ns: ended_ns.checked_sub(issued_ns),
            ended_ns,
            offset_bytes: 512 * place,
            bytes,
            flags: RequestFlags(flags),
        };
        let one = if one.arrived_ns.or(one.issued_ns).is_some() {
            one
        } else {
            BlockRequest { offset_bytes: 0, ..one }
        };
        let mut written = Vec::new();
        Coder::new(77, 3).encode(&one, &mut written);
        let back = Coder::new(77, 3).decode(&mut &written[..]).unwrap();
        prop_assert_eq!(back, Some(one));
    }
}
