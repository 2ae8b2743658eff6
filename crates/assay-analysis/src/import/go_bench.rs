//! Output of Go benchmarks, as written by `go test -bench` and read by benchstat.

use std::collections::BTreeMap;

use assay_core::{catalogue::About, failure::Outcome, lines, quantity::Better};

use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "go-bench",
        summary: "Go benchmark lines (go test -bench, benchstat)",
        text: "Each line is a run (go test -count 10 writes ten lines). name=level after a slash \
               is a factor, as are goos, goarch and cpu. To compare two files, label each with \
               --set. Go runs the benchmarks in sequence, so drift could explain the differences.",
    },
    recognises: |start| lines::lines(start).any(|(_, line)| parse_line(line).is_some()),
    reads: Reads::Runs(read),
    unused: &[("iterations", "Go divides by them already")],
};

/// Line prefix written by `assay export`: `# assay NAME ORIGINAL` maps a name back; `# assay` alone marks the file.
pub const NAMES: &str = "# assay";
/// Assay's metrics with units that benchstat prints with a prefix.
pub const UNITS_OF_METRICS: [(&str, &str); 2] =
    [("bandwidth_bytes_per_s", "B/s"), ("duration_s", "sec/op")];

/// Properties of all runs of a file, as `key: value` lines above them.
const SHARED: [&str; 3] = ["goos", "goarch", "cpu"];
/// Units with their metric and the factor to it.
const UNITS: [(&str, &str, f64); 6] = [
    ("ns/op", "time_per_op_ns", 1.0),
    ("sec/op", "time_per_op_ns", 1e9),
    ("B/s", "bandwidth_bytes_per_s", 1.0),
    ("MB/s", "bandwidth_bytes_per_s", 1e6),
    ("B/op", "bytes_per_op", 1.0),
    ("allocs/op", "allocations_per_op", 1.0),
];

fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    // Original names by their Go names; `None` unless Assay exported the file.
    let own_names = assay_names(text);
    let mut directions: BTreeMap<&str, Better> = BTreeMap::new();
    let mut shared = ImportedRun::default();
    let mut runs = Vec::new();
    for (_, line) in lines::lines(text) {
        if let Some((key, value)) = line.split_once(": ").filter(|(key, _)| SHARED.contains(key)) {
            shared.set(key, value.trim());
            continue;
        }
        if let Some(package) = line.strip_prefix("pkg: ") {
            package.trim().clone_into(&mut shared.place);
            continue;
        }
        directions.extend(direction(line));
        let Some((benchmark, numbers)) = parse_line(line) else { continue };
        let mut run = shared.clone();
        // Go appends the number of CPUs (GOMAXPROCS): `Copy-8`; Assay's own exports have none.
        let with_cpus = benchmark.rsplit_once('-').filter(|(_, cpus)| cpus.parse::<u32>().is_ok());
        let bare = with_cpus.filter(|_| own_names.is_none()).map_or(benchmark, |(bare, _)| bare);
        let original = |plain: &str| -> String {
            let names = own_names.as_ref().and_then(|names| names.get(plain));
            (*names.unwrap_or(&plain)).to_owned()
        };
        let mut parts = bare.split('/');
        run.workload = original(parts.next().unwrap_or_default());
        for part in parts {
            match part.split_once('=') {
                Some((name, level)) if !name.is_empty() => {
                    run.set(&original(name), original(level));
                }
                _ => run.workload = format!("{}/{part}", run.workload),
            }
        }
        for (value, unit) in numbers {
            let (metric, factor) = metric_of_unit(unit, own_names.is_some());
            let direction = directions.get(unit).copied().unwrap_or(Better::Unknown);
            run.add_as(metric, direction, Some(value * factor));
        }
        runs.push(run);
    }
    ImportedRuns::in_order(runs).require(name, "contains no benchmark line")
}

/// Maps benchmark names back to Assay's; `None` if another tool wrote the file.
fn assay_names(text: &str) -> Option<BTreeMap<&str, &str>> {
    let mut own = text.lines().filter_map(|line| line.strip_prefix(NAMES)).peekable();
    own.peek()?;
    Some(own.filter_map(|line| line.strip_prefix(' ')?.split_once(' ')).collect())
}

/// The unit and the better direction of a line such as `Unit ns/op better=lower`.
fn direction(line: &str) -> Option<(&str, Better)> {
    let (unit, words) = line.strip_prefix("Unit ")?.split_once(' ')?;
    words.split_whitespace().find_map(|word| match word {
        "better=higher" => Some((unit, Better::Higher)),
        "better=lower" => Some((unit, Better::Lower)),
        _ => None,
    })
}

/// The metric of a unit and the factor to it; an unknown unit is its own metric.
fn metric_of_unit(unit: &str, is_own: bool) -> (&str, f64) {
    if let Some((metric, _)) = UNITS_OF_METRICS.iter().find(|(_, own)| is_own && *own == unit) {
        return (metric, 1.0);
    }
    let known = UNITS.iter().find(|(known, ..)| *known == unit);
    known.map_or((unit, 1.0), |(_, metric, factor)| (*metric, *factor))
}

/// Name and numbers with their units: `BenchmarkCopy/size=4k-8   100   1234 ns/op   3 B/op`.
fn parse_line(line: &str) -> Option<(&str, Vec<(f64, &str)>)> {
    let mut words = line.split_whitespace();
    let name = words.next()?.strip_prefix("Benchmark")?;
    // Go runs `BenchmarkCopy`, but not `Benchmarking`.
    if !name.starts_with(|first: char| !first.is_lowercase()) {
        return None;
    }
    let _iterations: u64 = words.next()?.parse().ok()?;
    let rest: Vec<&str> = words.collect();
    let pairs = rest.chunks_exact(2).map(|pair| Some((pair[0].parse::<f64>().ok()?, pair[1])));
    let pairs: Vec<(f64, &str)> = pairs.collect::<Option<_>>()?;
    (!pairs.is_empty()).then_some((name, pairs))
}
