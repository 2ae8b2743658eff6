//! What is measured of pages.

use assay_base::quantity::metric::metric;
use assay_base::quantity::{Better, Metric};

pub const RATE: Metric = metric(
    "accesses_per_s",
    Better::Higher,
    "accesses per second",
    "page accesses per second, one after the other",
);

pub const P50: Metric =
    metric("access_p50_ns", Better::Lower, "median access", "median time of a page access");

pub const P99: Metric =
    metric("access_p99_ns", Better::Lower, "p99 of an access", "p99 time of a page access");

pub const LONGEST: Metric =
    metric("access_max_ns", Better::Lower, "longest access", "longest page access");

pub const PROCESSOR: Metric = metric(
    "access_cpu_ns",
    Better::Lower,
    "processor time of an access",
    "CPU time of the process per access, page compression included",
);

pub const FAULTS: Metric = metric(
    "major_faults_per_access",
    Better::Lower,
    "major faults per access",
    "share of the accesses with a page read from swap",
)
.traffic();

pub const SWAPPED_IN: Metric = metric(
    "swapped_in_bytes_per_s",
    Better::Lower,
    "bytes from swap per second",
    "bytes per second from swap, for the whole machine and zswap",
);

pub const SWAPPED_OUT: Metric = metric(
    "swapped_out_bytes_per_s",
    Better::Lower,
    "bytes to swap per second",
    "bytes per second to swap, for the whole machine and zswap",
);

pub const SOME: Metric = metric(
    "memory_pressure_some_share",
    Better::Lower,
    "time waiting for memory",
    "share of the time in which some task of the machine waited for memory",
);

pub const FULL: Metric = metric(
    "memory_pressure_full_share",
    Better::Lower,
    "time standing still for memory",
    "share of the time in which all tasks that wanted to run waited for memory",
);

pub const REACHED: Metric = metric(
    "working_set_reached_bytes",
    Better::Higher,
    "size that fitted",
    "bytes of the set with content: all of it, or less if the process was killed",
)
.amount();

pub const HELD: Metric = metric(
    "working_set_per_memory",
    Better::Higher,
    "set per memory",
    "bytes of the set per byte of memory used: resident, zram and zswap; for a process killed without swap, per byte \
     of its limit",
)
.amount();

pub const EXPECTED: Metric = metric(
    "working_set_per_memory_expected",
    Better::Higher,
    "expected set per memory",
    "the value that `assay calc zram` expects for the compressed part, at the ratio of 2 in the kernel's documentation",
)
.amount();

pub const KILLED: Metric = metric(
    "oom_killed_share",
    Better::Lower,
    "share of the trials that were killed",
    "1 if the kernel killed the process because memory ran out, else 0",
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
