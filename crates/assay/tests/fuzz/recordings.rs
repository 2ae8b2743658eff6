//! Damaged recordings of requests: read, shown with all charts, exported as fio logs, planned, and replayed within a
//! test area; or refused.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use assay::store;
use assay::store::iolog::Iolog;
use assay::watch::requests::relative_request;
use assay_core::calc::requests::{Recorded, RequestCounter};
use assay_core::presence::Presence;
use assay_load::{Bystanders, Law, LawShape};
use assay_machine::system::clears::Clears;
use assay_machine::system::{BlockClass, BlockRequest, Fake, RequestFlags, System as _};
use assay_report::evidence::Evidence;
use assay_report::{document, figures, svg, text};
use assay_runner::run::{self, Request};
use assay_study::file;
use assay_study::findings::Findings;
use assay_study::results::requests::code::Coder;
use assay_study::results::requests::{self, FILE, FORMAT, Header, RecordedDevice, TraceReader};
use assay_workloads::io::Engine;
use assay_workloads::replay::{Clock, ReplaySpec, TraceSource};
use assay_workloads::{
    Area, DirectUse, EngineUse, Offer, Programs, Run, TestMedium, WorkloadSpec as _,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

const HOME: &str = "/home/me";
const PLACE: &str = "/home/me/results/evening";
const GZIP: [u8; 2] = [0x1f, 0x8b];
const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;
const HOUR_NS: u64 = 3_600_000 * MS;
const BEGUN_NS: u64 = 7 * MS;
/// Longer recordings are only planned: waiting polls ten times a second.
const LONGEST_PLAY_NS: u64 = 100_000 * MS;

/// Recordings of one and three devices, compressed and raw: checksums reject a damaged compressed one.
pub fn seeds() -> Vec<Vec<u8>> {
    let plain = [recording(1, 240), recording(3, 90), recording(1, 0)];
    plain.iter().map(|own| pack(own)).chain(plain.iter().cloned()).collect()
}

fn recording(devices: u16, count: u64) -> Vec<u8> {
    let device = |at: u16| RecordedDevice { name: format!("sd{at}"), bytes: 64 * MIB };
    let header = Header {
        format: FORMAT.to_owned(),
        started: "2026-11-26T03:00:00Z".to_owned(),
        begun_ns: BEGUN_NS,
        devices: (0..devices).map(device).collect(),
    };
    let mut bytes = serde_json::to_vec(&header).unwrap();
    bytes.push(b'\n');
    let mut coder = Coder::new(BEGUN_NS, header.devices.len());
    for at in 0..count {
        let device = (at % u64::from(devices)) as u16;
        coder.encode(&request(at, device), &mut bytes);
    }
    bytes
}

fn request(at: u64, device: u16) -> BlockRequest {
    let class = BlockClass::ALL[(at / 3 % 6) as usize];
    let is_flush = class == BlockClass::Flush;
    let arrived_ns = BEGUN_NS + at * MS;
    BlockRequest {
        device,
        class,
        arrived_ns: (!at.is_multiple_of(11)).then_some(arrived_ns),
        issued_ns: Some(arrived_ns + MS / 10),
        ended_ns: arrived_ns + MS / 2,
        offset_bytes: if is_flush { 0 } else { at * 7919 % 8192 * 4096 },
        bytes: if is_flush { 0 } else { 4096 << (at % 4) },
        flags: RequestFlags((at % 64) as u8),
    }
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

pub fn read(bytes: &[u8]) -> bool {
    let fake = Fake::new();
    fake.set_variable("ASSAY_HOME", HOME);
    fake.create_directory(Path::new(PLACE)).unwrap();
    let packed = if bytes.starts_with(&GZIP) { bytes.to_vec() } else { pack(bytes) };
    fake.put(Path::new(PLACE).join(FILE), &packed);
    let Some(recorded) = counted_of(&fake) else { return false };
    // One in four is rendered, the slowest part.
    if bytes.len().is_multiple_of(4) {
        show(&recorded);
    }
    if let Ok(mut log) = Iolog::open(&fake, Path::new(PLACE)) {
        // Damage ends it with an error.
        let _ = io::copy(&mut log, &mut io::sink());
    }
    let devices = recorded.devices.keys().take(3).map(String::as_str);
    let sources = devices.map(|name| requests::source(&fake, Path::new(PLACE), Some(name), None));
    let sources: Vec<TraceSource> = sources.flatten().collect();
    for source in &sources {
        play(&fake, source, bytes.len() as u64);
    }
    !sources.is_empty()
}

/// Returns totals up to the damage, for the first hour only, as each 0.1 s costs memory.
fn counted_of(fake: &Fake) -> Option<Recorded> {
    let reader = TraceReader::open(fake, Path::new(PLACE)).ok()?;
    let begun_ns = reader.header.begun_ns;
    let named = reader.header.devices.iter().map(|own| (own.name.clone(), own.bytes));
    let mut counter = RequestCounter::new(named.collect::<Vec<_>>());
    let mut last_ns = 0;
    for request in reader.map_while(Result::ok) {
        let ended_ns = request.ended_ns.saturating_sub(begun_ns);
        if ended_ns < HOUR_NS {
            last_ns = ended_ns.max(last_ns);
            counter.add(&relative_request(&request, begun_ns));
        }
    }
    Some(counter.finish(last_ns, 1, 1))
}

fn base() -> &'static Findings {
    static BASE: OnceLock<Findings> = OnceLock::new();
    BASE.get_or_init(|| {
        let fake = Fake::sata_ssd().unwrap();
        let study = file::text::parse("seed", super::STUDY).unwrap();
        let request = Request::bare(study, vec![super::DRIVE.to_owned()]);
        let ran = run::run(&fake, request, &AtomicBool::new(false), &mut |_| {});
        store::findings_of_run(ran.unwrap())
    })
}

fn show(recorded: &Recorded) {
    let told = json!({ "workload": "watched", "configuration": {}, "recorded": recorded, "text": "It was." });
    let of_kinds = serde_json::from_value(json!({ "trace": [told] })).unwrap();
    let findings = Findings { of_kinds, ..base().clone() };
    let shown = text::render(&document::usual(&findings), 80, false);
    assert!(shown.contains("recorded requests"), "{shown}");
    for figure in figures::all(&Evidence::bare(findings)) {
        assert!(figure.points().all(|point| point.value.is_finite()), "{}", figure.id);
        assert!(svg::inline(&figure).ends_with("</svg>\n"), "{}", figure.id);
    }
}

/// Plans and replays it, in a test area that may be too small.
fn play(fake: &Fake, source: &TraceSource, number: u64) {
    assert!(source.from_bytes <= source.to_bytes && source.to_bytes <= source.device_bytes);
    // Uses other digits of the number than the area size.
    let clock = [Clock::Open, Clock::Dependent, Clock::Closed][(number / 9 % 3) as usize];
    let asked = ReplaySpec {
        source: Some(source.clone()),
        timing: clock,
        queue_depth: 4,
        ..ReplaySpec::default()
    };
    let length = number % 9 * 8 * MIB + number % 3 * 4096;
    let area = Area { start: MIB, length, asked: length, written: true, fill_ns: 0 };
    let direct = DirectUse { memory_alignment: 512, offset_alignment: 512 };
    let direct = Presence::Present(direct);
    let engine = EngineUse { name: Engine::Simulated, note: None };
    let clears = Clears::default();
    let offer = Offer { area, direct: &direct, engine: &engine, between: None, clears: &clears };
    let Ok((planned, _)) = asked.plan(&offer) else { return };
    assert!(!planned.words().is_empty());
    if source.length_ns > LONGEST_PLAY_NS {
        return;
    }
    let law = Law::new(LawShape::Fixed { ns: MS / 10 }, 4).unwrap();
    let ran = planned.run(&Run {
        system: fake,
        medium: TestMedium { file: None, area, memory_alignment: 4096, law: Some(law) },
        path: Path::new("/x"),
        ramp_ns: 0,
        time_ns: LONGEST_PLAY_NS,
        seed: 1,
        study_seed: 1,
        caller: None,
        bystanders: &Bystanders::now(),
        stop: &AtomicBool::new(false),
        lookout: None,
        keep: None,
        limits: None,
        programs: Programs { recall: requests::recall, ..Programs::NONE },
    });
    // The engine refuses requests outside the area at the start, and none may get that far.
    if let Err(why) = ran {
        assert!(!why.contains("is outside the area"), "{why}");
    }
}
