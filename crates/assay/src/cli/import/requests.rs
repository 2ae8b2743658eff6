//! Requests recorded by other tools, imported as a recording like that of `assay watch --record-trace`.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::{ImportArguments, add_failure, compare, file_name, numbers_option, output};
use crate::store;
use crate::watch::record::{self, RecordWish};
use assay_analysis::import::requests::{self, Begin, TraceDevice, TraceInfo};
use assay_analysis::import::{self, HEAD_BYTES, Reads};
use assay_core::calc::requests::{Recorded, Request, RequestCounter};
use assay_core::failure::{Failure, Outcome};
use assay_core::presence::Presence;
use assay_machine::probes::block_latency::counts::{BlockLatency, ClassSpan, Means};
use assay_machine::system::stream::Stream;
use assay_machine::system::{
    BlockClass, BlockRequest, Caching, FileKind, RequestFlags, System, identity,
};
use assay_study::results::id;
use assay_study::results::requests::{FORMAT, Header, RecordedDevice, Writer};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const PIECE_BYTES: usize = 1 << 16;

pub(super) struct Text {
    file: String,
    begin: Begin,
}

/// Returns the files if they contain single requests; `None` if they contain other data. Fails if only some of them do,
/// or if an option applies only to numbers.
pub(super) fn find(system: &dyn System, arguments: &ImportArguments) -> Outcome<Option<Vec<Text>>> {
    let (mut texts, mut other) = (Vec::new(), None);
    for (file, _) in &arguments.named.files {
        match begin_of(system, file) {
            Some(begin) => texts.push(Text { file: file.clone(), begin }),
            None => other = Some(file),
        }
    }
    let Some(first) = texts.first() else { return Ok(None) };
    if let Some(other) = other {
        return Err(mistake!(
            "{} contains individual requests and {other} does not; import the files separately",
            first.file
        ));
    }
    let several = texts.len() > 1;
    let titled = (arguments.title.is_some() && several).then_some("--title of several files");
    match numbers_option(arguments, several).or(titled) {
        Some(option) => Err(mistake!(
            "{} contains individual requests, and each such file becomes a separate trace; remove {option}",
            first.file
        )),
        None => Ok(Some(texts)),
    }
}

/// Returns how to read a file with single requests; `None` for other files.
fn begin_of(system: &dyn System, file: &str) -> Option<Begin> {
    let path = Path::new(file);
    if system.status(path).ok()?.kind != FileKind::File {
        return None;
    }
    let opened = system.open_for_reading(path, Caching::Buffered).ok()?;
    let mut head = vec![0; HEAD_BYTES];
    let count = system.read_at(&opened, 0, &mut head).ok()?;
    head.truncate(count);
    match import::of_bytes(file, &head).ok()?.reads {
        Reads::Requests(begin) => Some(begin),
        Reads::Table(_) | Reads::Runs(_) => None,
    }
}

pub(super) fn import_files(
    system: &dyn System,
    arguments: &ImportArguments,
    texts: &[Text],
) -> Outcome<()> {
    let mut failed = None;
    for text in texts {
        if let Err(failure) = import_file(system, arguments, text) {
            add_failure(&mut failed, failure);
        }
    }
    failed.map_or(Ok(()), Err)
}

fn import_file(system: &dyn System, arguments: &ImportArguments, text: &Text) -> Outcome<()> {
    // The first pass checks the complete file, and collects the devices, which come first in a recording.
    let info = read(system, text, &mut |_| {})?;
    let results = identity::results_directory(system)?;
    let started = system.now();
    let directory = results.join(id::unused_id(system, &results, &started));
    let title = arguments.title.clone().unwrap_or_else(|| file_name(&text.file));
    let wish = RecordWish { directory, title };
    write_recording(system, text, &info, &wish, &started).inspect_err(|_| {
        // Reports the first error only.
        let _ = system.remove_directory(&wish.directory);
    })?;
    let findings = store::findings_at(system, &wish.directory)?;
    store::keep_headline(system, &wish.directory, &findings);
    compare::show(system, &findings, arguments.json);
    if !arguments.quiet {
        for note in &info.notes {
            output::message(&format!("{}: {note}", text.file));
        }
        output::message(&format!("stored as {}", findings.study.id));
    }
    Ok(())
}

fn read(system: &dyn System, text: &Text, each: &mut dyn FnMut(Request)) -> Outcome<TraceInfo> {
    let refused = |error: io::Error| refused!("cannot read {}: {error}", text.file);
    let path = PathBuf::from(&text.file);
    let file = system.open_for_reading(&path, Caching::Buffered).map_err(refused)?;
    let mut plain = BufReader::with_capacity(PIECE_BYTES, Stream::new(system, file));
    if plain.fill_buf().map_err(refused)?.starts_with(&GZIP) {
        let mut unpacked = BufReader::with_capacity(PIECE_BYTES, MultiGzDecoder::new(plain));
        return requests::read(&text.file, text.begin, &mut unpacked, each);
    }
    requests::read(&text.file, text.begin, &mut plain, each)
}

fn write_recording(
    system: &dyn System,
    text: &Text,
    info: &TraceInfo,
    wish: &RecordWish,
    started: &str,
) -> Outcome<()> {
    let refused = |error: io::Error| {
        refused!(
            "cannot write {}: {error}; set ASSAY_HOME to a directory that you own",
            wish.directory.display()
        )
    };
    system.create_directory(&wish.directory).map_err(refused)?;
    let device = |it: &TraceDevice| RecordedDevice { name: it.name.clone(), bytes: it.bytes };
    let header = Header {
        format: FORMAT.to_owned(),
        started: started.to_owned(),
        begun_ns: 0,
        devices: info.devices.iter().map(device).collect(),
    };
    let mut writer = Writer::create(system, &wish.directory, &header).map_err(refused)?;
    let mut latencies = LatenciesByClass::new();
    let recorded = write_requests(system, text, info, &mut latencies, &mut writer, &refused)?;
    let latencies = block_latency(latencies, recorded.span_ns);
    record::write_imported(system, wish, started, recorded, latencies, &info.notes)
}

fn write_requests(
    system: &dyn System,
    text: &Text,
    info: &TraceInfo,
    latencies: &mut LatenciesByClass,
    writer: &mut Writer<'_>,
    refused: &dyn Fn(io::Error) -> Failure,
) -> Outcome<Recorded> {
    let devices = info.devices.iter().map(|device| (device.name.clone(), device.bytes));
    let mut counter = RequestCounter::new(devices);
    let (mut span_ns, mut failed) = (0, None);
    let second_info = read(system, text, &mut |request| {
        if failed.is_none() {
            span_ns = request.ended_ns.max(span_ns);
            counter.add(&request);
            count_latency(latencies, &info.devices, &request);
            failed = writer.add(&recorded_request(&request)).err();
        }
    })?;
    if let Some(error) = failed {
        return Err(refused(error));
    }
    if second_info != *info {
        return Err(refused!("{} changed during the import; import the file again", text.file));
    }
    writer.finish().map_err(refused)?;
    Ok(counter.finish(span_ns, 0, writer.written_bytes()))
}

type LatenciesByClass = BTreeMap<String, BTreeMap<String, ClassSpan>>;

fn count_latency(latencies: &mut LatenciesByClass, devices: &[TraceDevice], request: &Request) {
    let Some((device, arrived_ns)) = devices.get(request.device).zip(request.arrived_ns) else {
        // Requests without a time of arrival have no latency.
        return;
    };
    let by_class = latencies.entry(device.name.clone()).or_default();
    let queued_ns = request.ended_ns.saturating_sub(arrived_ns);
    let span = by_class.entry(request.class.to_owned()).or_default();
    span.count(request.bytes, request.failed, queued_ns);
}

/// Returns latencies by class; absent if the text has no completion times.
fn block_latency(latencies: LatenciesByClass, span_ns: u64) -> Presence<BlockLatency> {
    if latencies.values().flatten().all(|(_, span)| span.queued.sum_ns == 0) {
        return Presence::absent("the text has no completion times");
    }
    let devices = latencies.into_iter().map(|(name, spans)| (name, Presence::Present(spans)));
    Presence::Present(BlockLatency {
        means: Means::Tracefs,
        span_ns,
        devices: devices.collect(),
        unseen_beginnings: 0,
        notes: Vec::new(),
    })
}

fn recorded_request(request: &Request) -> BlockRequest {
    let class = BlockClass::ALL.into_iter().find(|class| class.name() == request.class);
    let flags = [
        (request.sync, RequestFlags::SYNC),
        (request.meta, RequestFlags::META),
        (request.read_ahead, RequestFlags::READ_AHEAD),
        (request.failed, RequestFlags::FAILED),
    ];
    let set = flags.into_iter().filter(|(is_set, _)| *is_set);
    BlockRequest {
        device: u16::try_from(request.device).unwrap_or(u16::MAX),
        class: class.unwrap_or(BlockClass::Read),
        arrived_ns: request.arrived_ns,
        issued_ns: None,
        ended_ns: request.ended_ns,
        offset_bytes: request.offset_bytes.unwrap_or_default(),
        bytes: u32::try_from(request.bytes).unwrap_or(u32::MAX),
        flags: RequestFlags(set.fold(0, |bits, (_, bit)| bits | bit)),
    }
}

#[cfg(test)]
mod tests;
