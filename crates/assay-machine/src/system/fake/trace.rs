//! Counts of requests that a test has written down beforehand.

use std::collections::VecDeque;
use std::io;

use super::{BlockTracer, DeviceNumber, Fake, TraceMeans};
use crate::system::BlockTotals;

pub type Readings = Vec<Result<BlockTotals, String>>;

#[derive(Clone, Debug, Default)]
pub struct Traces {
    scripts: Vec<(TraceMeans, Result<Readings, String>)>,
    asked: Vec<(TraceMeans, Vec<DeviceNumber>)>,
}

impl Fake {
    /// Adds the behavior of the next tracer of these means: it fails to start, or returns these readings, the last one
    /// repeatedly. Without any, tracing by these means is unavailable.
    pub fn traces(&self, means: TraceMeans, script: Result<Readings, String>) -> &Self {
        self.lock().traces.scripts.push((means, script));
        self
    }

    pub fn traced(&self) -> Vec<(TraceMeans, Vec<DeviceNumber>)> {
        self.lock().traces.asked.clone()
    }
}

/// Begins a trace whose readings are those of the next script for these means (BPF or tracefs); the last one repeats.
pub fn begin(
    traces: &mut Traces,
    devices: &[DeviceNumber],
    means: TraceMeans,
) -> io::Result<Box<dyn BlockTracer>> {
    traces.asked.push((means, devices.to_vec()));
    let matching: Vec<usize> =
        (0..traces.scripts.len()).filter(|index| traces.scripts[*index].0 == means).collect();
    let script = match matching[..] {
        [] => return Err(io::Error::from(io::ErrorKind::Unsupported)),
        [only] => traces.scripts[only].1.clone(),
        [first, ..] => traces.scripts.remove(first).1,
    };
    Ok(Box::new(Scripted(script.map_err(io::Error::other)?.into())))
}

struct Scripted(VecDeque<Result<BlockTotals, String>>);

impl BlockTracer for Scripted {
    fn read(&mut self) -> io::Result<BlockTotals> {
        let next = if self.0.len() > 1 { self.0.pop_front() } else { self.0.front().cloned() };
        next.ok_or(io::ErrorKind::UnexpectedEof)?.map_err(io::Error::other)
    }
}
