//! The recording, and its properties needed before a replay.

use std::fmt;
use std::str::FromStr;

use assay_core::catalogue::keys::OwnForm;
use assay_core::outside;
use assay_load::{Act, MOST_STEPS, Moved, Step};
use assay_machine::system::{BlockClass, BlockRequest, System};
use serde::{Deserialize, Serialize};

const MIB: u64 = 1 << 20;
const FORMAT: &str = "assay-source/1";
const HASH_DIGITS: usize = 64;

/// Reads a recording; calls with its start and each request, in the order of completion.
pub type Recall =
    fn(&dyn System, &TraceSource, &mut dyn FnMut(u64, &BlockRequest)) -> Result<(), String>;

pub fn nothing(
    _: &dyn System,
    _: &TraceSource,
    _: &mut dyn FnMut(u64, &BlockRequest),
) -> Result<(), String> {
    Err("this command cannot read recordings".to_owned())
}

/// A part of a recording: its file, and its totals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceSource {
    pub id: String,
    pub sha256: String,
    /// The recorded device; several names are joined by `+`.
    pub device: String,
    /// Bytes of that device; for several, of their parts.
    pub device_bytes: u64,
    /// Used parts of several devices, in order.
    pub parts: Vec<DevicePart>,
    /// From the start of the recording to the first arrival, nanoseconds.
    pub first_ns: u64,
    /// From there to the last arrival, nanoseconds.
    pub length_ns: u64,
    pub from_bytes: u64,
    /// End of the used bytes.
    pub to_bytes: u64,
    /// Bytes of the largest request with data.
    pub largest_bytes: u64,
    /// Requests that cannot be replayed: without a known arrival, or outside the device.
    pub left_out: u64,
    /// Time from arrival to completion, summed, nanoseconds.
    pub queued_ns: u64,
    /// Requests that can be replayed, in the order of [`Act::ALL`].
    pub acts: [Moved; Act::ALL.len()],
}

/// The used part of one of several devices. Such parts are placed one after the other, in whole MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DevicePart {
    /// Start of the first used MiB.
    pub from_bytes: u64,
    /// End of the used bytes.
    pub to_bytes: u64,
}

impl DevicePart {
    fn length(self) -> u64 {
        self.to_bytes.saturating_sub(self.from_bytes).div_ceil(MIB).saturating_mul(MIB)
    }

    /// Offset of a request from the start of the part; `None` if the request is not inside.
    fn offset_of(self, request: &BlockRequest) -> Option<u64> {
        let end = request.offset_bytes.checked_add(u64::from(request.bytes))?;
        let offset = request.offset_bytes.checked_sub(self.from_bytes)?;
        (end <= self.to_bytes).then_some(offset)
    }

    fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        Some(Self { from_bytes: from.parse().ok()?, to_bytes: to.parse().ok()? })
    }
}

const AND: char = '+';

impl TraceSource {
    /// Moves a request of device `nth` behind the parts of the previous devices; to `u64::MAX` if outside of its part.
    pub fn place_request(&self, nth: usize, request: &BlockRequest) -> BlockRequest {
        if self.parts.is_empty() {
            return *request;
        }
        let parts_before = self.parts.iter().take(nth).copied().map(DevicePart::length);
        let base = parts_before.fold(0, u64::saturating_add);
        let part = self.parts.get(nth);
        let offset = part.and_then(|part| base.checked_add(part.offset_of(request)?));
        BlockRequest { offset_bytes: offset.unwrap_or(u64::MAX), ..*request }
    }

    pub fn requests(&self) -> u64 {
        self.acts.iter().fold(0, |sum, moved| sum.saturating_add(moved.operations))
    }

    pub fn has(&self, act: Act) -> bool {
        self.acts[act as usize].operations > 0
    }

    pub fn changes(&self) -> bool {
        Act::ALL.into_iter().any(|act| act.changes() && self.has(act))
    }

    /// Bytes of an area for all used bytes: whole MiB from the first one on.
    pub fn extent_bytes(&self) -> u64 {
        let from = self.from_bytes / MIB * MIB;
        self.to_bytes.saturating_sub(from).div_ceil(MIB).saturating_mul(MIB)
    }

    /// The numbers by name, to print and to parse them.
    fn numbers(&mut self) -> [(&'static str, &mut u64); 8] {
        [
            ("device-bytes", &mut self.device_bytes),
            ("first-ns", &mut self.first_ns),
            ("length-ns", &mut self.length_ns),
            ("from", &mut self.from_bytes),
            ("to", &mut self.to_bytes),
            ("largest", &mut self.largest_bytes),
            ("left-out", &mut self.left_out),
            ("queued-ns", &mut self.queued_ns),
        ]
    }

    /// Why the recording is invalid, in a few words.
    fn fault(&self) -> Option<&'static str> {
        let is_plain = |text: &str| {
            let is_allowed = |sign: char| sign.is_ascii_alphanumeric() || "-_.!".contains(sign);
            !text.is_empty() && text.chars().all(is_allowed) && !text.starts_with('.')
        };
        let names: Vec<&str> = self.device.split(AND).collect();
        let is_twice = names.iter().enumerate().any(|(at, name)| names[..at].contains(name));
        if !is_plain(&self.id) || !names.iter().all(|name| is_plain(name)) {
            return Some("it contains an invalid name");
        }
        // A single device has no parts.
        let expected_parts = if names.len() > 1 { names.len() } else { 0 };
        if self.parts.len() != expected_parts || is_twice {
            return Some("its devices do not match its parts");
        }
        let is_hash = self.sha256.len() == HASH_DIGITS
            && self.sha256.bytes().all(|sign| sign.is_ascii_hexdigit());
        (!is_hash).then_some("its hash is invalid")
    }
}

impl fmt::Display for TraceSource {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `numbers` borrows the fields mutably, for parsing.
        let mut shown = self.clone();
        write!(to, "{FORMAT} id={} sha256={} device={}", self.id, self.sha256, self.device)?;
        for (name, number) in shown.numbers() {
            write!(to, " {name}={number}")?;
        }
        for (act, moved) in Act::ALL.into_iter().zip(self.acts) {
            if moved.operations > 0 {
                write!(to, " {}={}/{}", act.name(), moved.operations, moved.bytes)?;
            }
        }
        for (at, part) in self.parts.iter().enumerate() {
            let before = if at == 0 { " parts=" } else { "+" };
            write!(to, "{before}{}-{}", part.from_bytes, part.to_bytes)?;
        }
        Ok(())
    }
}

impl FromStr for TraceSource {
    type Err = String;

    /// Parses the text that `Display` writes: names and values, separated by spaces.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{}` is not a recording: {why}", outside::spelled(text));
        let mut words = text.split_ascii_whitespace();
        if words.next() != Some(FORMAT) {
            return Err(wrong("remove source; Assay sets it when it resolves the study"));
        }
        let mut source = Self::default();
        for word in words {
            let (name, value) = word.split_once('=').ok_or_else(|| wrong("a value is missing"))?;
            if !source.set_field(name, value) {
                return Err(wrong("a value is invalid"));
            }
        }
        match source.fault() {
            Some(fault) => Err(wrong(fault)),
            None => Ok(source),
        }
    }
}

impl TraceSource {
    /// Sets a field by name; returns whether it was valid.
    fn set_field(&mut self, name: &str, value: &str) -> bool {
        let field = match name {
            "id" => &mut self.id,
            "sha256" => &mut self.sha256,
            "device" => &mut self.device,
            "parts" => {
                let parts: Option<Vec<DevicePart>> =
                    value.split(AND).map(DevicePart::parse).collect();
                let is_valid = parts.is_some();
                self.parts = parts.unwrap_or_default();
                return is_valid;
            }
            _ => return self.set_number(name, value).is_some(),
        };
        value.clone_into(field);
        true
    }

    /// Sets a number, or the counts of a kind of request; `None` if the name or value is invalid.
    fn set_number(&mut self, name: &str, value: &str) -> Option<()> {
        if let Some(act) = Act::find(name) {
            let (operations, bytes) = value.split_once('/')?;
            let (operations, bytes) = (operations.parse().ok()?, bytes.parse().ok()?);
            self.acts[act as usize] = Moved { operations, bytes };
            return Some(());
        }
        let (_, number) = self.numbers().into_iter().find(|(key, _)| *key == name)?;
        *number = value.parse().ok()?;
        Some(())
    }
}

assay_core::as_text!(TraceSource);

pub static FORM: OwnForm = OwnForm {
    read: |text| text.parse::<TraceSource>().map(String::from),
    pattern: "^assay-source/1 ",
    example: EXAMPLE,
    number: None,
};

const EXAMPLE: &str = "\
    assay-source/1 id=evening \
    sha256=0000000000000000000000000000000000000000000000000000000000000000 device=sda \
    device-bytes=1073741824 first-ns=0 length-ns=60000000000 from=0 to=1048576 \
    largest=4096 left-out=0 queued-ns=900000 read=2/8192 write=1/4096";

pub const KEY_EXAMPLE: &str = "\
    source = \"assay-source/1 id=evening \
    sha256=0000000000000000000000000000000000000000000000000000000000000000 device=sda \
    device-bytes=1073741824 first-ns=0 length-ns=60000000000 from=0 to=1048576 \
    largest=4096 left-out=0 queued-ns=900000 read=2/8192 write=1/4096\"";

/// A request of a replay; `None` if it cannot be replayed.
pub fn step_of(request: &BlockRequest, begun_ns: u64, device_bytes: u64) -> Option<Step> {
    let act = match request.class {
        BlockClass::Read => Act::Read,
        BlockClass::Write => Act::Write,
        BlockClass::Flush => Act::Flush,
        BlockClass::Discard => Act::Discard,
        BlockClass::WriteZeroes => Act::WriteZeroes,
        BlockClass::Fua => Act::Fua,
    };
    let at_ns = request.arrived_ns.or(request.issued_ns)?.checked_sub(begun_ns)?;
    if act == Act::Flush {
        return Some(Step { at_ns, offset: 0, bytes: 0, act });
    }
    let end = request.offset_bytes.checked_add(u64::from(request.bytes))?;
    let is_on_device = request.bytes > 0 && end <= device_bytes;
    is_on_device.then_some(Step { at_ns, offset: request.offset_bytes, bytes: request.bytes, act })
}

/// Totals of a recording, counted request by request.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    source: TraceSource,
    /// Nanoseconds from its start after which requests are ignored.
    until_ns: Option<u64>,
    last_ns: u64,
}

impl Scan {
    /// Begins to sum up the requests of a device that arrive before `until_ns`.
    pub fn new(device: &str, device_bytes: u64, until_ns: Option<u64>) -> Self {
        let source = TraceSource {
            device: device.to_owned(),
            device_bytes,
            first_ns: u64::MAX,
            from_bytes: u64::MAX,
            ..TraceSource::default()
        };
        Self { source, until_ns, last_ns: 0 }
    }

    /// Adds a request to the totals; one that cannot be replayed only counts as left out.
    pub fn add(&mut self, begun_ns: u64, request: &BlockRequest) {
        let source = &mut self.source;
        let Some(step) = step_of(request, begun_ns, source.device_bytes) else {
            source.left_out += 1;
            return;
        };
        if self.until_ns.is_some_and(|until| step.at_ns >= until) {
            return;
        }
        source.acts[step.act as usize].add(u64::from(step.bytes));
        source.first_ns = source.first_ns.min(step.at_ns);
        self.last_ns = self.last_ns.max(step.at_ns);
        let waited = request.ended_ns.saturating_sub(begun_ns).saturating_sub(step.at_ns);
        source.queued_ns = source.queued_ns.saturating_add(waited);
        if step.act != Act::Flush {
            source.from_bytes = source.from_bytes.min(step.offset);
            source.to_bytes = source.to_bytes.max(step.offset + u64::from(step.bytes));
        }
        if step.act.carries() {
            source.largest_bytes = source.largest_bytes.max(u64::from(step.bytes));
        }
    }

    /// Joins several devices: the used part of each follows that of the previous one.
    pub fn join(scans: Vec<Self>) -> Self {
        let mut all = Self::new("", 0, None);
        let joined = &mut all.source;
        for Self { source, last_ns, .. } in scans {
            let part = DevicePart {
                from_bytes: source.from_bytes.min(source.to_bytes) / MIB * MIB,
                to_bytes: source.to_bytes,
            };
            let base = joined.device_bytes;
            if part.to_bytes > 0 {
                let from = base.saturating_add(source.from_bytes - part.from_bytes);
                joined.from_bytes = joined.from_bytes.min(from);
                joined.to_bytes = base.saturating_add(part.to_bytes - part.from_bytes);
            }
            joined.device_bytes = base.saturating_add(part.length());
            if !joined.parts.is_empty() {
                joined.device.push(AND);
            }
            joined.device.push_str(&source.device);
            joined.parts.push(part);
            for (sum, moved) in joined.acts.iter_mut().zip(source.acts) {
                sum.operations = sum.operations.saturating_add(moved.operations);
                sum.bytes = sum.bytes.saturating_add(moved.bytes);
            }
            joined.first_ns = joined.first_ns.min(source.first_ns);
            joined.largest_bytes = joined.largest_bytes.max(source.largest_bytes);
            joined.left_out = joined.left_out.saturating_add(source.left_out);
            joined.queued_ns = joined.queued_ns.saturating_add(source.queued_ns);
            all.last_ns = all.last_ns.max(last_ns);
        }
        all
    }

    /// The totals, as the recording of a result with this hash.
    pub fn finish(self, id: &str, sha256: &str) -> Result<TraceSource, String> {
        let Self { mut source, last_ns, .. } = self;
        let count = source.requests();
        if count == 0 {
            return Err(format!("none of its requests to {} can be replayed", source.device));
        }
        if count > MOST_STEPS as u64 {
            return Err(format!(
                "it has {count} requests, and the limit is {MOST_STEPS}; replay a part with trace_length = \"60 s\""
            ));
        }
        source.length_ns = last_ns - source.first_ns;
        source.from_bytes = source.from_bytes.min(source.to_bytes);
        id.clone_into(&mut source.id);
        sha256.clone_into(&mut source.sha256);
        match source.fault() {
            Some(fault) => Err(fault.to_owned()),
            None => Ok(source),
        }
    }
}
