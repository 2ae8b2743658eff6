//! Requests by class: the tracing, by the best means that there is.

use std::io;

use super::Disk;
use assay_base::presence::Presence;
use assay_machine::probes::block_latency;
use assay_machine::probes::block_latency::counts::Means;
use assay_system::system::{BlockTotals, BlockTracer, DeviceNumber, System, TraceMeans, sysfs};

/// The tracing of some disks, or why there is none.
pub enum Tracing {
    /// It goes on.
    On {
        /// Who counts.
        tracer: Box<dyn BlockTracer>,
        means: Means,
        /// Why it is not the better means.
        instead: Option<String>,
    },
    /// There is none, because.
    Off(String),
}

impl Tracing {
    /// Begins it: by a program in the kernel, else by the kernel's trace.
    pub fn begin(system: &dyn System, disks: &[Disk]) -> Self {
        let unseen: Vec<&str> = disks.iter().filter_map(|disk| disk.unseen.as_deref()).collect();
        if !disks.is_empty() && unseen.len() == disks.len() {
            return Self::Off(unseen.join("; "));
        }
        let numbers: Vec<DeviceNumber> = disks.iter().map(|disk| disk.number).collect();
        let mut reasons = Vec::new();
        for (wanted, means) in
            [(TraceMeans::Bpf, Means::Bpf), (TraceMeans::Tracefs, Means::Tracefs)]
        {
            match system.trace_block(&numbers, wanted) {
                Ok(tracer) => {
                    let instead = block_latency::second_best(&reasons);
                    return Self::On { tracer, means, instead };
                }
                Err(error) => reasons.push(format!("{}: {}", name(means), reason(&error))),
            }
        }
        Self::Off(reasons.join("; "))
    }

    pub fn means(&self) -> Option<Means> {
        match self {
            Self::On { means, .. } => Some(*means),
            Self::Off(_) => None,
        }
    }

    /// What was counted since it began. Where that cannot be told any more it has ended.
    pub fn read(&mut self) -> Presence<BlockTotals> {
        match self {
            Self::Off(reason) => Presence::absent(reason.clone()),
            Self::On { tracer, instead, .. } => match tracer.read() {
                Ok(mut totals) => {
                    totals.notes.extend(instead.clone());
                    Presence::Present(totals)
                }
                Err(error) => {
                    let reason = format!("the tracing was lost: {}", reason(&error));
                    *self = Self::Off(reason.clone());
                    Presence::Absent(reason)
                }
            },
        }
    }
}

/// What an error says of itself, or what its number means.
fn reason(error: &io::Error) -> String {
    if error.get_ref().is_some() { error.to_string() } else { sysfs::reason(error) }
}

/// How people call it.
fn name(means: Means) -> &'static str {
    match means {
        Means::Bpf => "program in the kernel",
        Means::Tracefs => "kernel's trace",
    }
}
