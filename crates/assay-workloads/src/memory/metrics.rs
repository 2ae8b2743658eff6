//! Metrics of page accesses.

use crate::metrics::{higher, lower};
use assay_core::quantity::Metric;

pub const RATE: Metric =
    higher("accesses_per_s", "accesses per second", "page accesses per second, one at a time");
pub const P50: Metric =
    lower("access_p50_ns", "median access time", "median time of a page access");
pub const P99: Metric = lower("access_p99_ns", "p99 access time", "p99 time of a page access");
pub const LONGEST: Metric =
    lower("access_max_ns", "maximum access time", "maximum time of a page access");
pub const PROCESSOR: Metric = lower(
    "access_cpu_ns",
    "CPU time per access",
    "CPU time of the process per access, including page compression",
);
pub const FAULTS: Metric = lower(
    "major_faults_per_access",
    "major faults per access",
    "share of accesses that read a page from swap",
)
.traffic();
pub const SWAPPED_IN: Metric = lower(
    "swapped_in_bytes_per_s",
    "swap-in bytes per second",
    "bytes per second read from swap, for the whole machine, including zswap",
);
pub const SWAPPED_OUT: Metric = lower(
    "swapped_out_bytes_per_s",
    "swap-out bytes per second",
    "bytes per second written to swap, for the whole machine, including zswap",
);
pub const SOME: Metric = lower(
    "memory_pressure_some_share",
    "memory pressure (some)",
    "share of time in which at least one task on the machine waited for memory",
);
pub const FULL: Metric = lower(
    "memory_pressure_full_share",
    "memory pressure (full)",
    "share of time in which all runnable tasks waited for memory",
);
pub const REACHED: Metric = higher(
    "working_set_reached_bytes",
    "working set reached",
    "bytes of the working set that were filled: all, or fewer if the process was killed",
)
.amount();
pub const HELD: Metric = higher("working_set_per_memory", "working set per memory",
    "bytes of the working set per byte of memory used (resident, zram and zswap), or per byte of the limit for a \
     process killed without swap",
)
.amount();
pub const EXPECTED: Metric = higher("working_set_per_memory_expected", "expected working set per memory",
    "value expected by `assay calc zram` for the compressed part, with the ratio of 2 from the kernel documentation",
)
.amount();
pub const KILLED: Metric = lower(
    "oom_killed_share",
    "share of killed trials",
    "1 if the kernel killed the process because memory ran out, otherwise 0",
)
.amount();

pub(super) const METRICS: &[Metric] = &[
    RATE,
    P50,
    P99,
    LONGEST,
    PROCESSOR,
    FAULTS,
    SWAPPED_IN,
    SWAPPED_OUT,
    SOME,
    FULL,
    REACHED,
    HELD,
    EXPECTED,
    KILLED,
];
