use super::*;
use crate::draws::Draws;

/// A request of a class at a time and a place.
fn request(class: &'static str, at_us: u64, offset: u64, bytes: u64) -> Request {
    Request {
        device: 0,
        class,
        arrived_ns: Some(at_us * 1000),
        ended_ns: at_us * 1000 + 90_000,
        offset_bytes: (class != "flush").then_some(offset),
        bytes,
        sync: false,
        meta: false,
        read_ahead: false,
        failed: false,
    }
}

fn fitted(all: impl IntoIterator<Item = Request>) -> Load {
    let mut sample = Sample::default();
    for one in all {
        sample.add(&one);
    }
    sample.fit().unwrap()
}

fn scattered(draws: &mut Draws) -> u64 {
    draws.below(4096) * 4096
}

#[test]
fn scattered_reads_and_writes_with_flushes_are_one_workload() {
    let mut draws = Draws::new(1, "places");
    let mut all = Vec::new();
    for at in 0..20_000_u64 {
        let class = if at % 10 < 7 { "read" } else { "write" };
        all.push(request(class, at * 500, scattered(&mut draws), 4096));
        if at % 20 == 9 {
            all.push(request("flush", at * 500 + 1, 0, 0));
        }
    }
    let load = fitted(all);
    let [part] = load.parts.as_slice() else { panic!("{load:?}") };
    assert_eq!((part.mix.as_slice(), part.rows, part.align), (&[70, 30, 0, 0][..], None, None));
    assert_eq!(part.access.as_ref().map(|(law, _)| &law.access), Some(&Access::Uniform));
    assert_eq!((load.sync_every, load.area_bytes), (Some(6), 16 << 20));
    let keys = "io = { pattern = \"random\", mix = \"70 % read, 30 % write\", size = \"4 KiB\", rate = \"2000/s\", \
                arrivals = \"fixed\", depth = 1, sync = \"each-6-writes\" }\n";
    assert!(load.tables().ends_with(keys), "{}", load.tables());
    assert_eq!(load.unsaid().len(), 1, "{:?}", load.unsaid());
}

#[test]
fn rows_beside_scattered_requests_are_its_background() {
    let mut draws = Draws::new(2, "places");
    let all: Vec<Request> = (0..12_000_u64)
        .map(|at| match at % 3 {
            0 => request("write", at * 1000, (1 << 30) + at / 3 * 65_536, 65_536),
            _ => request("read", at * 1000, scattered(&mut draws), 4096),
        })
        .collect();
    let load = fitted(all);
    let [first, second] = load.parts.as_slice() else { panic!("{load:?}") };
    assert_eq!((first.rows, second.rows), (None, Some(false)));
    assert_eq!((first.mix_words(), second.mix_words()), ("read".to_owned(), "write".to_owned()));
    assert_eq!((first.requests, second.requests), (8_000, 4_000));
    let text = load.tables();
    let row = "background = { pattern = \"sequential\", mix = \"write\", size = \"64 KiB\", rate = \"333/s\"";
    assert!(text.contains(row), "{text}");
    assert_eq!(load.area_bytes, 2 * second.area_bytes);
    // Half of it is more than the scattered ones had, which is said and counted with.
    let (law, met) = first.access.as_ref().unwrap();
    assert!(law.places > 1.5 * *met as f64, "{law:?} {met}");
    let told = load.unsaid().join("\n");
    assert!(told.contains("scattered requests kept to 16 MiB") && !told.contains("rows kept"));
}

#[test]
fn what_has_no_share_of_the_mix_shapes_nothing() {
    let mut draws = Draws::new(4, "places");
    let mut all: Vec<Request> =
        (0..1000_u64).map(|at| request("read", at * 1000, scattered(&mut draws), 65_536)).collect();
    all.push(request("write", 500_000, 0, 4096));
    all.push(request("flush", 500_001, 0, 0));
    let load = fitted(all);
    let text = load.tables();
    let keys = "mix = \"read\", size = \"64 KiB\", align = \"4 KiB\"";
    assert!(text.contains(keys) && !text.contains("sync"), "{text}");
    let told = [load.sources(), load.unsaid()].concat().join("\n");
    assert!(told.contains("1 flushes and forced writes") && !told.contains("sync: "), "{told}");
}

#[test]
fn what_is_in_flight_has_room_in_memory() {
    const LARGE: u64 = 16 << 20;
    let all = (0..200_u64).map(|at| Request {
        ended_ns: 1 << 40,
        ..request("read", at, at * 7919 % 200 * LARGE, LARGE)
    });
    let load = fitted(all);
    assert_eq!(load.parts.iter().map(|part| part.depth).collect::<Vec<_>>(), [64]);
    assert!(load.sources().join("\n").contains("depth: of the 200"));
}

#[test]
fn a_row_of_both_directions_is_told_from_two_rows() {
    let act = |at: u64| if at.is_multiple_of(2) { "read" } else { "write" };
    let one = fitted((0..1000).map(|at| request(act(at), at, at * 4096, 4096)));
    assert_eq!(one.parts.iter().map(|part| part.rows).collect::<Vec<_>>(), [Some(false)]);
    let place = |at: u64| at % 2 * (1 << 30) + at / 2 * 4096;
    let two = fitted((0..1000).map(|at| request(act(at), at, place(at), 4096)));
    assert_eq!(two.parts.iter().map(|part| part.rows).collect::<Vec<_>>(), [Some(true)]);
}

#[test]
fn what_no_study_says_is_named() {
    let mut draws = Draws::new(3, "places");
    let mut all: Vec<Request> = (0..1000_u64)
        .map(|at| {
            let class = ["write", "discard"][(at % 2) as usize];
            request(class, at / 100 * 1_000_000, scattered(&mut draws), 4096)
        })
        .collect();
    all.push(Request { arrived_ns: None, ..request("read", 1, 0, 4096) });
    all.push(request("discard", 2, 0, 4 << 30));
    let told = fitted(all).unsaid().join("\n");
    for words in
        ["bursts and pauses", "trims and zeroing", "1 requests without", "1 requests larger"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn too_few_requests_are_nothing() {
    let mut sample = Sample::default();
    for at in 0..99 {
        sample.add(&request("read", at, at * 4096, 4096));
    }
    assert!(sample.clone().fit().unwrap_err().contains("99 requests"));
    sample.add(&request("read", 100, 0, 4096));
    assert!(sample.fit().is_ok());
}

#[test]
fn what_others_wrote_ends_whatever_it_is() {
    let places = [0, 1 << 59, (1 << 60) - 512, u64::MAX];
    let all = (0..400_u64).map(|at| Request {
        ended_ns: at,
        ..request(
            "write",
            at % 3 * (u64::MAX / 4000),
            places[(at % 4) as usize],
            u64::MAX >> (at % 64),
        )
    });
    let load = fitted(all);
    assert!(load.area_bytes > 0 && load.tables().contains("rate"));
    let same = fitted((0..200).map(|_| request("read", 7, 0, 512)));
    assert!(same.parts[0].arrivals.is_none() && !same.tables().contains("rate"));
}
