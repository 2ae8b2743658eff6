//! The same by hand: two readings of the kernel's counters, and a tracer for the histograms.

use assay_core::quantity::units::show;
use assay_machine::system::quoted;

use crate::workload::{ManualCommand, ManualRun};

pub(super) const NOT_SAID: &[&str] = &[
    "Assay randomizes the order of the levels in each replicate; by hand, change levels often and at random, and \
     compare within each round",
    "Assay compares two periods only if their load was equal; by hand, compare requests and bytes per second first",
    "restore the original value afterwards; Assay does this from its journal even after a kill",
];

/// Prints the counters of the device before and after a period.
pub(super) fn command_line(how: &ManualRun<'_>) -> ManualCommand {
    let path = quoted(how.path);
    let device = format!(
        "[ -b {path} ] && s={path} || s=$(findmnt -no SOURCE -T {path}); d=$(basename \"$s\")"
    );
    let look = "cat /sys/class/block/$d/stat /proc/pressure/io";
    let [settle, time] = [how.ramp_ns, how.time_ns].map(|ns| ns.div_ceil(1_000_000_000));
    let script = format!("{device}; sleep {settle}; {look}; sleep {time}; {look}");
    let histograms = format!(
        "for histograms by class, run at the same time, for {}: bpftrace -e 'tracepoint:block:block_io_start {{ \
         @at[args.dev, args.sector] = nsecs }} tracepoint:block:block_io_done /@at[args.dev, args.sector]/ {{ \
         @ns[args.rwbs] = hist(nsecs - @at[args.dev, args.sector]); delete(@at, (args.dev, args.sector)) }}'",
        show::duration(how.time_ns as f64)
    );
    let subtract = "subtract the first reading from the second; (ms of reads) / (reads) is the mean read latency, and \
                    sectors are 512 bytes";
    ManualCommand::new(&["sh", "-c", &script], &[subtract, &histograms])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_readings_with_the_period_between_them() {
        let how = ManualRun {
            ramp_ns: 5_000_000_000,
            time_ns: 120_000_000_000,
            ..crate::testing::manual_run("live", "/srv/my data")
        };
        let line = command_line(&how);
        let script = &line.words[2];
        assert!(script.contains("findmnt -no SOURCE -T '/srv/my data'"), "{script}");
        let steps: Vec<&str> = script.split("; ").collect();
        assert_eq!([steps[2], steps[4]], ["sleep 5", "sleep 120"], "{script}");
        assert!(line.remarks.iter().any(|remark| remark.contains("bpftrace")));
    }
}
