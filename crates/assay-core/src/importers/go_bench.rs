//! Lines of Go's benchmarks, as `go test -bench` writes them and benchstat reads them.

use super::run::{Run, Runs};
use super::{Importer, Reads};
use crate::catalogue::About;
use crate::failure::{Failure, Outcome};
use crate::lines;
use crate::quantity::Better;

/// The importer.
pub const IMPORTER: Importer = Importer {
    about: About {
        name: "go-bench",
        summary: "lines of Go's benchmarks (go test -bench, benchstat)",
        text: "Each line is a run (go test -count 10 makes ten); what stands as name=level behind a \
               slash is a setting, and so are goos, goarch and cpu. Two files with --arm are old and \
               new; Go runs one benchmark after the other, so their order is known and bad.",
    },
    recognises: |start| lines::lines(start).any(|(_, line)| line_of(line).is_some()),
    reads: Reads::Runs(read),
};

/// What runs of one file share, as lines `key: value` above them.
const SHARED: [&str; 3] = ["goos", "goarch", "cpu"];
/// Units with their metric, what makes it of the unit, and the direction.
const UNITS: [(&str, &str, f64, Better); 5] = [
    ("ns/op", "time_per_op_ns", 1.0, Better::Lower),
    ("sec/op", "time_per_op_ns", 1e9, Better::Lower),
    ("MB/s", "bandwidth_bytes_per_s", 1e6, Better::Higher),
    ("B/op", "bytes_per_op", 1.0, Better::Lower),
    ("allocs/op", "allocations_per_op", 1.0, Better::Lower),
];

fn read(name: &str, text: &str) -> Outcome<Runs> {
    let mut shared = Run::default();
    let mut runs = Vec::new();
    for (_, line) in lines::lines(text) {
        let key = line.split_once(": ").filter(|(key, _)| SHARED.contains(key));
        if let Some((key, value)) = key {
            shared.set(key, value.trim());
            continue;
        }
        let Some((benchmark, numbers)) = line_of(line) else { continue };
        let mut run = shared.clone();
        let mut parts = benchmark.split('/');
        parts.next().unwrap_or_default().clone_into(&mut run.workload);
        for part in parts {
            match part.split_once('=') {
                Some((name, level)) if !name.is_empty() => run.set(name, level),
                _ => run.workload = format!("{}/{part}", run.workload),
            }
        }
        for (value, unit) in numbers {
            match UNITS.iter().find(|(known, ..)| *known == unit) {
                Some((_, metric, factor, better)) => {
                    run.tell_as(metric, *better, Some(value * factor));
                }
                None if unit.ends_with("/s") => run.tell_as(unit, Better::Higher, Some(value)),
                None => run.tell_as(unit, Better::Lower, Some(value)),
            }
        }
        runs.push(run);
    }
    if runs.is_empty() {
        return Err(Failure::mistake(format!("{name}: no line is of a benchmark")));
    }
    Ok(Runs::in_order(runs))
}

/// Name and numbers with their units: `BenchmarkCopy/size=4k-8   100   1234 ns/op   3 B/op`.
fn line_of(line: &str) -> Option<(&str, Vec<(f64, &str)>)> {
    let mut words = line.split_whitespace();
    let name = words.next()?.strip_prefix("Benchmark")?;
    let starts = name.chars().next().is_some_and(|first| !first.is_lowercase());
    words.next()?.parse::<u64>().ok().filter(|_| starts)?;
    let rest: Vec<&str> = words.collect();
    let pairs = rest.chunks_exact(2).map(|pair| Some((pair[0].parse::<f64>().ok()?, pair[1])));
    let pairs: Vec<(f64, &str)> = pairs.collect::<Option<_>>()?;
    // The number of processors behind the last hyphen is no part of the name.
    let bare = name.rsplit_once('-').filter(|(_, count)| count.parse::<u32>().is_ok());
    (!pairs.is_empty()).then(|| (bare.map_or(name, |(bare, _)| bare), pairs))
}
