//! Traces requests by class with the best available method.

use std::io;

use super::Disk;
use assay_core::failure::Outcome;
use assay_core::presence::Presence;
use assay_machine::probes::block_latency;
use assay_machine::probes::block_latency::counts::Means;
use assay_machine::system::{
    BlockRequest, BlockTotals, BlockTracer, DeviceNumber, System, TraceMeans, sysfs,
};

/// The tracing of some disks, or why there is none.
pub enum Tracing {
    On {
        tracer: Box<dyn BlockTracer>,
        means: Means,
        /// Why it does not use the better method.
        instead: Option<String>,
    },
    Off(String),
}

impl Tracing {
    /// Starts tracing: with a BPF program, or else with the kernel's trace events.
    pub fn begin(system: &dyn System, disks: &[Disk]) -> Self {
        let untraced: Vec<&str> =
            disks.iter().filter_map(|disk| disk.untraced.as_deref()).collect();
        if !disks.is_empty() && untraced.len() == disks.len() {
            return Self::Off(untraced.join("; "));
        }
        let numbers: Vec<DeviceNumber> = disks.iter().map(|disk| disk.number).collect();
        let best_first = [(TraceMeans::Bpf, Means::Bpf), (TraceMeans::Tracefs, Means::Tracefs)];
        let mut failures = Vec::new();
        for (wanted, means) in best_first {
            match system.trace_block(&numbers, wanted) {
                Ok(tracer) => {
                    return Self::On {
                        tracer,
                        means,
                        instead: block_latency::second_best(&failures),
                    };
                }
                Err(error) => failures.push(format!("{}: {}", name(means), reason(&error))),
            }
        }
        Self::Off(failures.join("; "))
    }

    /// Starts tracing with the method that returns each request, for `--record-trace`.
    pub fn begin_recording(system: &dyn System, disks: &[Disk]) -> Outcome<Self> {
        if let Some(reason) = disks.iter().find_map(|disk| disk.untraced.as_deref()) {
            return Err(refused!("--record-trace: {reason}"));
        }
        let numbers: Vec<DeviceNumber> = disks.iter().map(|disk| disk.number).collect();
        match system.trace_block(&numbers, TraceMeans::BpfRequests) {
            Ok(tracer) => Ok(Self::On { tracer, means: Means::Bpf, instead: None }),
            Err(error) => Err(refused!(
                "--record-trace needs a BPF program in the kernel: {}",
                reason(&error)
            )),
        }
    }

    /// Calls a function with each request completed since the last call. Fails if [`Tracing::begin_recording`] did not
    /// start it, or if tracing ended.
    pub fn requests(&mut self, each: &mut dyn FnMut(BlockRequest)) -> io::Result<()> {
        match self {
            Self::On { tracer, .. } => tracer.requests(each),
            Self::Off(reason) => Err(io::Error::other(reason.clone())),
        }
    }

    pub fn means(&self) -> Option<Means> {
        match self {
            Self::On { means, .. } => Some(*means),
            Self::Off(_) => None,
        }
    }

    /// Returns the counts since the start. Ends tracing if they cannot be read.
    pub fn read(&mut self) -> Presence<BlockTotals> {
        match self {
            Self::Off(reason) => Presence::absent(reason.clone()),
            Self::On { tracer, instead, .. } => match tracer.read() {
                Ok(mut totals) => {
                    totals.notes.extend(instead.clone());
                    Presence::Present(totals)
                }
                Err(error) => {
                    let reason = format!("tracing stopped: {}", reason(&error));
                    *self = Self::Off(reason.clone());
                    Presence::Absent(reason)
                }
            },
        }
    }
}

/// Returns the message of an error, or the meaning of its number.
fn reason(error: &io::Error) -> String {
    if error.get_ref().is_some() { error.to_string() } else { sysfs::reason(error) }
}

fn name(means: Means) -> &'static str {
    match means {
        Means::Bpf => "BPF program",
        Means::Tracefs => "kernel tracing (tracefs)",
    }
}
