//! Loads that our own engine draws are found again.

use std::time::Duration;

use assay_kinds::work::Work;
use assay_kinds::work::io::Asked;
use assay_load::{
    Access, Apart, Arrivals, Class, Job, Mix, Pattern, Rehearsal, Schedule, SizeShare, Sizes,
};
use assay_study::results::requests::{FORMAT, Header, RecordedDevice, Writer};
use assay_study::study::Study;
use assay_system::system::{Fake, RequestFlags};

use super::*;

const PLACE: &str = "/results/one";
const BEGUN_NS: u64 = 7_000_000;
const AREA: u64 = 64 << 20;

/// A job on an area that begins anywhere on its device.
fn job(pattern: Pattern, mix: &str, arrivals: Arrivals) -> Job {
    let mix: Mix = mix.parse().unwrap();
    Job {
        schedule: Some(Schedule { rate_per_s: 2_000, arrivals }),
        time: Duration::from_secs(10),
        ..Job::base(pattern, mix, 4096, 3 << 20..(3 << 20) + AREA, 5)
    }
}

/// What a job would do as requests of a device; every so many-th write is synced.
fn requests(job: &Job, device: u16, sync_every: Option<u64>) -> Vec<BlockRequest> {
    let mut all = Vec::new();
    let mut writes = 0;
    for one in Rehearsal::new(job, 0) {
        let arrived_ns = BEGUN_NS + one.at_ns;
        let class = match one.class {
            Class::Read | Class::Rewrite => BlockClass::Read,
            Class::Write => BlockClass::Write,
            Class::Trim => BlockClass::Discard,
            Class::Zero => BlockClass::WriteZeroes,
            Class::Flush => BlockClass::Flush,
        };
        let request = BlockRequest {
            device,
            class,
            arrived_ns: Some(arrived_ns),
            issued_ns: None,
            ended_ns: arrived_ns + 120_000,
            offset_bytes: one.offset,
            bytes: one.bytes,
            flags: RequestFlags::default(),
        };
        all.push(request);
        writes += u64::from(class == BlockClass::Write);
        if class == BlockClass::Write && sync_every.is_some_and(|every| writes % every == 0) {
            all.push(BlockRequest {
                class: BlockClass::Flush,
                offset_bytes: 0,
                bytes: 0,
                ..request
            });
        }
    }
    all
}

fn kept(all: &[BlockRequest]) -> Fake {
    let fake = Fake::new();
    fake.create_directory(Path::new(PLACE)).unwrap();
    let device = |name: &str| RecordedDevice { name: name.to_owned(), bytes: 1 << 40 };
    let header = Header {
        format: FORMAT.to_owned(),
        started: String::new(),
        begun_ns: BEGUN_NS,
        devices: vec![device("sda"), device("sdb")],
    };
    let mut writer = Writer::create(&fake, Path::new(PLACE), &header).unwrap();
    for request in all {
        writer.add(request).unwrap();
    }
    writer.finish().unwrap();
    fake
}

fn made(all: &[BlockRequest]) -> Made {
    study(&kept(all), Path::new(PLACE), None).unwrap()
}

fn read(made: &Made) -> Study {
    file::parse("made", &made.file).unwrap()
}

/// Reads and writes of the only workload.
fn io(study: &Study) -> &Asked {
    let [workload] = study.workload.as_slice() else { panic!("one workload: {study:?}") };
    let Work::Io(io) = &workload.work else { panic!("reads and writes: {study:?}") };
    io
}

#[test]
fn a_mix_by_zipf_with_sizes_and_syncs_is_found_again() {
    for theta in [0.8_f64, 1.2] {
        let share = |bytes, percent| SizeShare { bytes, percent };
        let sizes = Sizes {
            reads: vec![share(4096, 70), share(16_384, 30)],
            writes: vec![share(8192, 100)],
        };
        let access: Access = format!("zipf {theta}").parse().unwrap();
        let job = Job {
            sizes,
            size_bytes: 16_384,
            access,
            ..job(Pattern::Random, "70/30", Arrivals::Poisson)
        };
        let made = made(&requests(&job, 0, Some(8)));
        let study = read(&made);
        let found = io(&study);
        let Access::Zipf(told) = found.access else { panic!("{}", made.file) };
        assert!((told.value() - theta).abs() < 0.05, "{theta}: {}", made.file);
        assert!(found.mix.percent(Class::Read).abs_diff(70) <= 1, "{}", made.file);
        assert_eq!(found.size.largest().0, 16_384, "{}", made.file);
        assert_eq!((found.sync.every(), found.pattern), (Some(8), Pattern::Random));
        assert!(found.rate.unwrap().per_s().abs_diff(2_000) < 50, "{}", made.file);
        assert_eq!(found.arrivals, Arrivals::Poisson, "{}", made.file);
        assert_eq!(study.area.size.unwrap().0, AREA, "{}", made.file);
        assert!(found.align.is_none() && !made.file.contains("background"), "{}", made.file);
    }
}

#[test]
fn uniform_hot_and_zoned_places_are_found_again() {
    for access in ["uniform", "hot 20 % 80 %", "zones 5 % 50 %, 15 % 30 %, 80 % 20 %"] {
        let asked: Access = access.parse().unwrap();
        let job = Job { access: asked, ..job(Pattern::Random, "read", Arrivals::Fixed) };
        let made = made(&requests(&job, 0, None));
        let study = read(&made);
        let found = io(&study);
        let near = match (asked, found.access) {
            (Access::Uniform, Access::Uniform) => true,
            (Access::Zones(asked), Access::Zones(found)) => {
                let mut pairs = asked.all().iter().zip(found.all());
                let is_near = |(one, other): (&assay_load::Zone, &assay_load::Zone)| {
                    one.area_percent.abs_diff(other.area_percent) <= 1
                        && one.operations_percent.abs_diff(other.operations_percent) <= 1
                };
                asked.all().len() == found.all().len() && pairs.all(is_near)
            }
            _ => false,
        };
        assert!(near, "{access}: {}", made.file);
        assert_eq!((found.arrivals, found.rate.unwrap().per_s()), (Arrivals::Fixed, 2_000));
        assert_eq!(found.sync.every(), None);
    }
}

#[test]
fn rows_of_both_directions_are_found_with_their_positions() {
    for apart in [Apart::Nothing, Apart::Positions] {
        let job = Job { apart, ..job(Pattern::Sequential, "60/40", Arrivals::Fixed) };
        let made = made(&requests(&job, 0, None));
        let study = read(&made);
        let found = io(&study);
        assert_eq!((found.pattern, found.apart), (Pattern::Sequential, apart), "{}", made.file);
        assert!(found.mix.percent(Class::Write).abs_diff(40) <= 2, "{}", made.file);
    }
}

#[test]
fn rows_beside_scattered_requests_become_its_background() {
    let rows = Job {
        size_bytes: 65_536,
        area: 1 << 30..(1 << 30) + AREA,
        ..job(Pattern::Sequential, "write", Arrivals::Fixed)
    };
    let mut all = requests(&job(Pattern::Random, "read", Arrivals::Poisson), 0, None);
    all.extend(requests(&rows, 0, None));
    all.sort_by_key(|request| request.ended_ns);
    let made = made(&all);
    let study = read(&made);
    assert_eq!(io(&study).pattern, Pattern::Random);
    let background = study.workload[0].background.as_ref().expect("a background");
    assert_eq!(background.pattern, Pattern::Sequential, "{}", made.file);
    assert_eq!(background.size.one().map(|bytes| bytes.0), Some(65_536));
}

#[test]
fn of_several_devices_it_is_the_busiest_or_the_one_that_is_named() {
    let short =
        Job { time: Duration::from_secs(1), ..job(Pattern::Sequential, "write", Arrivals::Fixed) };
    let mut all = requests(&job(Pattern::Random, "read", Arrivals::Fixed), 0, None);
    all.extend(requests(&short, 1, None));
    let fake = kept(&all);
    let of = |device| study(&fake, Path::new(PLACE), device);
    let busiest = of(None).unwrap();
    assert!(busiest.file.contains("requests of sda in") && busiest.file.contains("random"));
    assert!(busiest.file.contains("2,000 requests of sdb"), "{}", busiest.file);
    let named = of(Some("sdb")).unwrap();
    assert!(named.file.contains("requests of sdb in") && named.file.contains("sequential"));
    let told = of(Some("sdc")).map(|_| ()).unwrap_err().message;
    assert!(told.contains("was not recorded") && told.contains("sda, sdb"), "{told}");
}

#[test]
fn every_number_has_its_source_and_its_distance_in_the_file_and_beside_it() {
    let made = made(&requests(&job(Pattern::Random, "70/30", Arrivals::Poisson), 0, Some(1)));
    let comments: String = made.file.lines().filter(|line| line.starts_with('#')).collect();
    for word in
        ["mix:", "size:", "access:", "rate and arrivals:", "depth:", "sync:", "area:", "not said:"]
    {
        assert!(comments.contains(word), "{word}: {}", made.file);
        assert!(made.told.iter().any(|line| line.contains(word)), "{word}: {:?}", made.told);
    }
    let told = made.told.join("\n");
    assert!(told.contains("Kolmogorov's distance") && told.contains("working set"), "{told}");
    assert!(made.file.lines().filter(|line| line.starts_with('#')).all(|line| line.len() < 120));
    assert!(made.file.contains("sync = \"each-write\""), "{}", made.file);
}

#[test]
fn a_result_without_a_recording_or_with_a_short_one_says_so() {
    let bare = Fake::new();
    bare.create_directory(Path::new(PLACE)).unwrap();
    let told = study(&bare, Path::new(PLACE), None).map(|_| ()).unwrap_err().message;
    assert!(told.contains("--record-requests"), "{told}");
    let all = requests(&job(Pattern::Random, "read", Arrivals::Fixed), 0, None);
    let told = study(&kept(&all[..50]), Path::new(PLACE), None).map(|_| ()).unwrap_err().message;
    assert!(told.contains("50 requests"), "{told}");
}
