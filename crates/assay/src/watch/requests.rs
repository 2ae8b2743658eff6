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
use beyond::Before;

pub struct Recording<'s> {
    system: &'s dyn System,
    /// Its lock shows that the recording is running.
    _bundle: Bundle<'s>,
    begun_ns: u64,
    writer: Writer<'s>,
    counter: RequestCounter,
    before: Before,
    /// Why nothing more is written, and the number of requests after that.
    cut: Option<(String, u64)>,
}

impl<'s> Recording<'s> {
    /// Starts a recording in a new bundle: commands can list, show and remove it even after a kill.
    pub fn begin(system: &'s dyn System, wish: &RecordWish, disks: &[Disk]) -> Outcome<Self> {
        let recorded = |disk: &Disk| RecordedDevice {
            name: disk.name.clone(),
            bytes: devices::drive(system, &disk.name).size_bytes,
        };
        let header = Header {
            format: FORMAT.to_owned(),
            started: system.now(),
            begun_ns: system.monotonic_ns(),
            devices: disks.iter().map(recorded).collect(),
        };
        let before = Before::read(system, disks);
        let names: Vec<String> = disks.iter().map(|disk| disk.name.clone()).collect();
        let site = record::site(system, &names)?;
        let bundle = record::begin(system, wish, &header.started, site, 0)?;
        let writer = Writer::create(system, &wish.directory, &header);
        let writer = writer.map_err(|error| wish.unwritten(&error))?;
        let begun_ns = header.begun_ns;
        let named = header.devices.into_iter().map(|device| (device.name, device.bytes));
        let counter = RequestCounter::new(named);
        Ok(Self { system, _bundle: bundle, begun_ns, writer, counter, before, cut: None })
    }

    pub fn take(&mut self, sampler: &mut Sampler<'_>) {
        let (begun_ns, writer, counter, cut) =
            (self.begun_ns, &mut self.writer, &mut self.counter, &mut self.cut);
        let taken = sampler.requests(&mut |request| {
            if let Some((_, missing)) = cut {
                *missing += 1;
                return;
            }
            counter.add(&counted(&request, begun_ns));
            // Buffers it with earlier ones, and tries again at the end.
            if let Err(error) = writer.add(&request) {
                *cut = Some((format!("cannot write the request: {error}"), 0));
            }
        });
        if let Err(error) = taken
            && self.cut.is_none()
        {
            self.cut = Some((format!("cannot read further requests: {error}"), 0));
        }
    }

    /// Ends the recording; returns its totals, and why it was truncated, if it was.
    pub fn finish(mut self, sampler: &mut Sampler<'_>) -> (Recorded, Option<String>) {
        // Reads the counters before the last requests, to count requests in between as recorded, not missing.
        let gained = self.before.gained(self.system);
        self.take(sampler);
        let span_ns = self.system.monotonic_ns().saturating_sub(self.begun_ns);
        let (mut why, after) = self.cut.take().map_or((None, 0), |(why, after)| (Some(why), after));
        if let Err(error) = self.writer.finish() {
            why.get_or_insert_with(|| format!("cannot write the end of the trace: {error}"));
        }
        let totals = sampler.totals();
        if totals.lost_events > 0 {
            let lost = totals.lost_events;
            why.get_or_insert_with(|| {
                format!("the kernel lost {lost} events; any request may be affected")
            });
        }
        let beyond = gained.missing_requests(&totals.devices);
        let (file_bytes, unwritten) = (self.writer.written_bytes(), self.writer.unwritten());
        let untraced = totals.unrecorded.saturating_add(beyond);
        let missing = untraced.saturating_add(after).saturating_add(unwritten);
        let mut recorded = self.counter.finish(span_ns, missing, file_bytes);
        // They were counted on arrival; unwritten ones are not in the file.
        recorded.requests = recorded.requests.saturating_sub(unwritten);
        (recorded, why)
    }
}

pub fn counted(request: &BlockRequest, begun_ns: u64) -> Request {
    let seen = request.arrived_ns.or(request.issued_ns).is_some();
    let has_place = seen && request.class != BlockClass::Flush;
    let has = |bits: u8| request.flags.has(bits);
    Request {
        device: usize::from(request.device),
        class: request.class.name(),
        arrived_ns: request.arrived_ns.map(|ns| ns.saturating_sub(begun_ns)),
        ended_ns: request.ended_ns.saturating_sub(begun_ns),
        offset_bytes: has_place.then_some(request.offset_bytes),
        bytes: u64::from(request.bytes),
        sync: has(RequestFlags::SYNC),
        meta: has(RequestFlags::META),
        read_ahead: has(RequestFlags::READ_AHEAD),
        failed: has(RequestFlags::FAILED),
    }
}

#[cfg(test)]
mod tests;
