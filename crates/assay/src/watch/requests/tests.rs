use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;

use super::*;
use crate::store;
use crate::watch::State;
use crate::watch::record::{self, RecordWish, Rows};
use crate::watch::sampler::{Tracing, disks};
use crate::watch::testing::{article, machine, nothing, ten_seconds, tracing};
use assay_machine::probes::block_latency::counts::Means;
use assay_machine::system::{BlockTotals, BlockTracer, TraceMeans};
use assay_study::results::bundle;
use assay_study::results::requests::TraceReader;
use assay_workloads::WorkDetail;

/// Returns some requests on each call, and reports dropped ones.
struct Each {
    requests: VecDeque<Vec<BlockRequest>>,
    unrecorded: u64,
    lost_events: u64,
}

impl BlockTracer for Each {
    fn read(&mut self) -> io::Result<BlockTotals> {
        let (unrecorded, lost_events) = (self.unrecorded, self.lost_events);
        Ok(BlockTotals { unrecorded, lost_events, ..article() })
    }

    fn requests(&mut self, each: &mut dyn FnMut(BlockRequest)) -> io::Result<()> {
        self.requests.pop_front().unwrap_or_default().into_iter().for_each(each);
        Ok(())
    }
}

fn request(at: u64) -> BlockRequest {
    BlockRequest {
        device: 0,
        class: if at.is_multiple_of(4) { BlockClass::Write } else { BlockClass::Read },
        arrived_ns: Some(1_000_000 * at + 1),
        issued_ns: Some(1_000_000 * at + 2),
        ended_ns: 1_000_000 * at + 400_000,
        offset_bytes: 4096 * at,
        bytes: 4096,
        flags: RequestFlags(RequestFlags::SYNC),
    }
}

fn told_each(requests: Vec<Vec<BlockRequest>>, unrecorded: u64) -> Each {
    Each { requests: requests.into(), unrecorded, lost_events: 0 }
}

fn told(requests: Vec<Vec<BlockRequest>>, unrecorded: u64) -> Tracing {
    let tracer = Box::new(told_each(requests, unrecorded));
    Tracing::On { tracer, means: Means::Bpf, instead: None }
}

fn place() -> PathBuf {
    PathBuf::from("/results/one")
}

fn wish() -> RecordWish {
    RecordWish { directory: place(), title: "busy".to_owned() }
}

#[test]
fn every_request_is_kept_and_what_they_come_to_is_shown() {
    let fake = machine();
    let disks = disks::choose(&fake, Some("loop3")).unwrap();
    let all: Vec<BlockRequest> = (1..101).map(request).collect();
    let (first, last) = all.split_at(60);
    let tracing = told(vec![first.to_vec(), last.to_vec()], 7);
    let mut recording = Recording::begin(&fake, &wish(), &disks).unwrap();
    let mut sampler = Sampler::new(&fake, disks, tracing);
    let mut state = State::begin(&mut sampler);
    ten_seconds(&fake);
    state.update(&mut sampler);
    recording.write_completed(&mut sampler);
    let (recorded, cut) = recording.finish(&mut sampler);
    assert_eq!((recorded.requests, recorded.dropped, cut), (100, 7, None));
    assert_eq!(recorded.devices["loop3"].classes["write"].requests, 25);

    record::write(&fake, &wish(), &state, &Rows::default(), Some(recorded.clone())).unwrap();
    let kept: Vec<BlockRequest> =
        TraceReader::open(&fake, &place()).unwrap().collect::<io::Result<_>>().unwrap();
    assert_eq!(kept, all);
    let stored = bundle::read(&fake, &place()).unwrap();
    let measured = stored.trials[0].measured.as_ref().unwrap();
    let WorkDetail::Io(detail) = &measured.detail else { panic!("it is of reads and writes") };
    assert_eq!(detail.requests.as_deref(), Some(&recorded));
    let findings = store::findings_at(&fake, &place()).unwrap();
    let text = serde_json::to_string(&findings).unwrap();
    assert!(text.contains("Recorded 100 requests of loop3"), "{text}");
}

/// Dropped without its end, as by `kill -9`.
#[test]
fn cut_recording_is_listed_and_shown_as_cut() {
    let fake = machine();
    let disks = disks::choose(&fake, Some("loop3")).unwrap();
    let many: Vec<BlockRequest> = (1..300_000).map(request).collect();
    let mut sampler = Sampler::new(&fake, disks.clone(), told(vec![many], 0));
    let mut recording = Recording::begin(&fake, &wish(), &disks).unwrap();
    recording.write_completed(&mut sampler);
    drop(recording);
    let listed = bundle::listed(&fake, &place()).unwrap();
    assert_eq!((listed.title.as_str(), listed.trials, listed.planned), ("busy", 0, 1));
    assert!(listed.interrupted && listed.bytes > 0);
    let findings = store::findings_at(&fake, &place()).unwrap();
    let text = serde_json::to_string(&findings.checks).unwrap();
    assert!(text.contains("the recording is truncated"), "{text}");
    store::evidence_at(&fake, &place()).unwrap();
    let kept: Vec<BlockRequest> =
        TraceReader::open(&fake, &place()).unwrap().collect::<io::Result<_>>().unwrap();
    assert!(!kept.is_empty() && kept.len() < 299_999);
}

#[test]
fn without_a_recording_nothing_is_told_of_one() {
    let fake = machine();
    let mut sampler = Sampler::new(
        &fake,
        disks::choose(&fake, Some("loop3")).unwrap(),
        tracing(vec![Ok(nothing()), Ok(article())]),
    );
    let mut state = State::begin(&mut sampler);
    ten_seconds(&fake);
    state.update(&mut sampler);
    record::write(&fake, &wish(), &state, &Rows::default(), None).unwrap();
    let text = serde_json::to_string(&store::findings_at(&fake, &place()).unwrap()).unwrap();
    assert!(!text.contains("Recorded ") && TraceReader::open(&fake, &place()).is_err());
    // Its tracer returns no requests: the recording is truncated and states why.
    let disks = disks::choose(&fake, Some("loop3")).unwrap();
    let two = RecordWish { directory: PathBuf::from("/results/two"), ..wish() };
    let mut recording = Recording::begin(&fake, &two, &disks).unwrap();
    recording.write_completed(&mut sampler);
    let (recorded, cut) = recording.finish(&mut sampler);
    assert_eq!(recorded.requests, 0);
    assert!(cut.unwrap().starts_with("cannot read further requests"));
}

#[test]
fn what_cannot_be_written_is_counted_and_said() {
    let fake = machine();
    let disks = disks::choose(&fake, Some("loop3")).unwrap();
    // Enough to fill a piece, with no further appends possible.
    let many: Vec<BlockRequest> = (1..300_000).map(request).collect();
    let mut sampler = Sampler::new(&fake, disks.clone(), told(vec![many], 0));
    let mut recording = Recording::begin(&fake, &wish(), &disks).unwrap();
    fake.remove_directory(&place()).unwrap();
    recording.write_completed(&mut sampler);
    let (recorded, cut) = recording.finish(&mut sampler);
    let why = cut.unwrap();
    assert!(why.contains("cannot write the request"), "{why}");
    assert_eq!(recorded.requests + recorded.dropped, 299_999);
    assert!(recorded.dropped > 0);
}

#[test]
fn a_machine_that_tells_no_requests_refuses_and_leaves_nothing() {
    let fake = machine();
    let disks = disks::choose(&fake, Some("loop3")).unwrap();
    fake.traces(TraceMeans::BpfRequests, Err("this kernel has no BTF".to_owned()));
    let refusal = Tracing::begin_recording(&fake, &disks).map(|_| ()).unwrap_err();
    assert!(refusal.message.contains("this kernel has no BTF"), "{}", refusal.message);
    // A counting tracer returns no requests.
    let counting = machine();
    counting.traces(TraceMeans::Bpf, Ok(vec![Ok(nothing())]));
    assert!(Tracing::begin_recording(&counting, &disks).is_err());
    counting.traces(TraceMeans::BpfRequests, Ok(vec![Ok(nothing())]));
    assert!(Tracing::begin_recording(&counting, &disks).is_ok());
}

#[test]
fn that_the_kernel_lost_events_is_said() {
    let fake = machine();
    let disks = disks::choose(&fake, Some("loop3")).unwrap();
    let lost = Each { lost_events: 3, ..told_each(vec![vec![request(1)]], 0) };
    let tracing = Tracing::On { tracer: Box::new(lost), means: Means::Bpf, instead: None };
    let mut recording = Recording::begin(&fake, &wish(), &disks).unwrap();
    let mut sampler = Sampler::new(&fake, disks, tracing);
    recording.write_completed(&mut sampler);
    let (recorded, cut) = recording.finish(&mut sampler);
    assert_eq!(recorded.requests, 1);
    assert!(cut.unwrap().contains("the kernel lost 3 events"));
}

/// Records the article's requests while the kernel's counters increase by the given bytes, read and written.
fn finished_beside(gained_bytes: [u64; 2], makes_requests: bool) -> Recorded {
    const PLACE: &str = "/sys/devices/virtual/block/loop3";
    let fake = machine();
    if makes_requests {
        fake.add(&format!("dir {PLACE}/mq\n")).unwrap();
    }
    let disks = disks::choose(&fake, Some("loop3")).unwrap();
    let mut sampler = Sampler::new(&fake, disks.clone(), told(vec![], 0));
    let recording = Recording::begin(&fake, &wish(), &disks).unwrap();
    let [read, written] = gained_bytes.map(|bytes| bytes / 512);
    let stat = format!("9 0 {read} 0 9 0 {written} 0 0 0 0 0 0 0 0 0 0\n");
    fake.put(format!("{PLACE}/stat"), stat);
    let (recorded, cut) = recording.finish(&mut sampler);
    assert_eq!(cut, None);
    recorded
}

#[test]
fn what_only_the_counters_of_the_kernel_have_is_missing() {
    let bytes_of = |class: BlockClass| {
        let at = BlockClass::ALL.iter().position(|one| *one == class).unwrap();
        article().devices[0][at].bytes
    };
    let all = [bytes_of(BlockClass::Read), bytes_of(BlockClass::Write)];
    // Each request of the article has 8 KiB.
    let more = [all[0] + 3 * 8192, all[1] + 8192];
    assert_eq!(finished_beside(all, true).dropped, 0);
    assert_eq!(finished_beside([0, 0], true).dropped, 0, "they ended before it began");
    assert_eq!(finished_beside(more, true).dropped, 4);
    assert_eq!(finished_beside(more, false).dropped, 0, "its counters are of bios");
}
