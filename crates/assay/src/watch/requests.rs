//! Records all requests of the watched disks: reads them from the kernel, writes them to the bundle, and counts them.
//! Memory use does not grow with time.

mod beyond;

use assay_core::calc::requests::{Recorded, Request, RequestCounter};
use assay_core::failure::Outcome;
use assay_machine::system::{BlockClass, BlockRequest, RequestFlags, System, devices};
use assay_study::results::bundle::Bundle;
use assay_study::results::requests::{FORMAT, Header, RecordedDevice, Writer};

use super::record::{self, RecordWish};
use super::sampler::{Disk, Sampler};
use beyond::CountersBefore;

pub struct Recording<'s> {
    system: &'s dyn System,
    /// Its lock shows that the recording is running.
    _bundle: Bundle<'s>,
    begun_ns: u64,
    writer: Writer<'s>,
    counter: RequestCounter,
    before: CountersBefore,
    truncation: Option<Truncation>,
}

/// Why nothing more is written, and the number of requests since then.
struct Truncation {
    reason: String,
    missing: u64,
}

impl<'s> Recording<'s> {
    /// Starts a recording in a new bundle: commands can list, show and remove it even after a kill.
    pub fn begin(system: &'s dyn System, wish: &RecordWish, disks: &[Disk]) -> Outcome<Self> {
        let header = Header {
            format: FORMAT.to_owned(),
            started: system.now(),
            begun_ns: system.monotonic_ns(),
            devices: disks.iter().map(|disk| recorded_device(system, disk)).collect(),
        };
        let before = CountersBefore::read(system, disks);
        let names: Vec<String> = disks.iter().map(|disk| disk.name.clone()).collect();
        let site = record::site(system, &names)?;
        // The duration is not known yet.
        let bundle = record::create_bundle(system, wish, &header.started, site, 0)?;
        let writer = Writer::create(system, &wish.directory, &header);
        let writer = writer.map_err(|error| wish.write_failure(&error))?;
        let begun_ns = header.begun_ns;
        let sizes = header.devices.into_iter().map(|device| (device.name, device.bytes));
        let counter = RequestCounter::new(sizes);
        Ok(Self { system, _bundle: bundle, begun_ns, writer, counter, before, truncation: None })
    }

    /// Writes and counts the requests completed since the last call; after a failure, only counts them as missing.
    pub fn write_completed(&mut self, sampler: &mut Sampler<'_>) {
        let read = sampler.requests(&mut |request| {
            if let Some(truncation) = &mut self.truncation {
                truncation.missing += 1;
                return;
            }
            self.counter.add(&relative_request(&request, self.begun_ns));
            // The writer retains this request with earlier ones, and tries again at the end.
            if let Err(error) = self.writer.add(&request) {
                let reason = format!("cannot write the request: {error}");
                self.truncation = Some(Truncation { reason, missing: 0 });
            }
        });
        if let Err(error) = read
            && self.truncation.is_none()
        {
            let reason = format!("cannot read further requests: {error}");
            self.truncation = Some(Truncation { reason, missing: 0 });
        }
    }

    /// Ends the recording; returns its totals, and the first reason why it is incomplete, if it is.
    pub fn finish(mut self, sampler: &mut Sampler<'_>) -> (Recorded, Option<String>) {
        // Reads the counters before the last requests, to count requests in between as recorded, not missing.
        let increase = self.before.increase(self.system);
        self.write_completed(sampler);
        let span_ns = self.system.monotonic_ns().saturating_sub(self.begun_ns);
        let (mut after_truncation, mut reasons) = (0, Vec::new());
        if let Some(truncation) = self.truncation.take() {
            after_truncation = truncation.missing;
            reasons.push(truncation.reason);
        }
        if let Err(error) = self.writer.finish() {
            reasons.push(format!("cannot write the end of the trace: {error}"));
        }
        let totals = sampler.totals();
        if totals.lost_events > 0 {
            let lost = totals.lost_events;
            reasons.push(format!("the kernel lost {lost} events; any request may be affected"));
        }
        let untraced = increase.missing_requests(&totals.devices);
        let unwritten = self.writer.unwritten();
        let missing = [totals.unrecorded, untraced, after_truncation, unwritten];
        let missing = missing.into_iter().fold(0, u64::saturating_add);
        let mut recorded = self.counter.finish(span_ns, missing, self.writer.written_bytes());
        // The counter includes requests that the writer could not write.
        recorded.requests = recorded.requests.saturating_sub(unwritten);
        (recorded, reasons.into_iter().next())
    }
}

fn recorded_device(system: &dyn System, disk: &Disk) -> RecordedDevice {
    RecordedDevice { name: disk.name.clone(), bytes: devices::drive(system, &disk.name).size_bytes }
}

/// Returns a request with times since the start of the recording. The offset is unknown if its start was not traced.
pub fn relative_request(request: &BlockRequest, begun_ns: u64) -> Request {
    let is_start_traced = request.arrived_ns.or(request.issued_ns).is_some();
    let has_offset = is_start_traced && request.class != BlockClass::Flush;
    let has = |bits: u8| request.flags.has(bits);
    Request {
        device: usize::from(request.device),
        class: request.class.name(),
        arrived_ns: request.arrived_ns.map(|ns| ns.saturating_sub(begun_ns)),
        ended_ns: request.ended_ns.saturating_sub(begun_ns),
        offset_bytes: has_offset.then_some(request.offset_bytes),
        bytes: u64::from(request.bytes),
        sync: has(RequestFlags::SYNC),
        meta: has(RequestFlags::META),
        read_ahead: has(RequestFlags::READ_AHEAD),
        failed: has(RequestFlags::FAILED),
    }
}

#[cfg(test)]
mod tests;
