//! What a study file may hold: one row a key. The reader, the JSON Schema and the reference page
//! are all made from these rows.

use super::{SMALLEST_AREA_BYTES, parameters};
use crate::quantity::{Bytes, Time, all_metrics};

/// The keys of one TOML table.
pub struct Fields {
    /// What messages call the table.
    pub label: &'static str,
    /// Its keys.
    pub rows: &'static [Field],
}

/// One key.
pub struct Field {
    /// As files write it.
    pub name: &'static str,
    /// How its value is read.
    pub kind: Kind,
    /// Whether it must be there.
    pub need: Need,
    /// One line.
    pub summary: &'static str,
    /// The key with a value, as it would stand in a file.
    pub example: &'static str,
}

/// Whether a key must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Always.
    Always,
    /// Unless a factor of the same name supplies it.
    UnlessFactor,
    /// Never: there is a default.
    Never,
}

/// How a value is read.
pub enum Kind {
    /// Text that is not empty.
    Text,
    /// Lower-case letters, digits and `-`.
    Name,
    /// One word of a closed set.
    Word(fn() -> Vec<&'static str>),
    /// A whole number.
    Whole {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// `true` or `false`.
    Flag,
    /// Bytes with their unit.
    Size {
        /// The smallest.
        least: Bytes,
        /// The largest.
        most: Bytes,
    },
    /// A time with its unit.
    Time {
        /// The shortest.
        least: Time,
    },
    /// Percent, above 0 and below 100.
    Share,
    /// A place on a device: percent of its size, or bytes with their unit.
    Start,
    /// Share of reads.
    Mix,
    /// The law of a simulated drive, as text or as a table of these keys.
    Law(&'static Fields),
    /// A list of whole numbers, each above the one before.
    Rising {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A list of names of factors.
    FactorNames,
    /// A list of words: names of workloads, or levels.
    Words,
    /// A list of these words.
    Names(fn() -> Vec<&'static str>),
    /// A number with the unit of what it counts.
    Amount,
    /// An amount of money.
    Price,
    /// A table.
    Table(&'static Fields),
    /// A list of tables.
    Tables(&'static Fields),
    /// A table with exactly one of these keys.
    OneOf(&'static Fields),
    /// Factors with their levels.
    Factors,
    /// One level of some factors.
    Arm,
    /// A list of arms.
    Arms,
}

/// The shortest budget that leaves a trial something to measure.
pub const SMALLEST_BUDGET: Time = Time(2_000_000_000);
/// Replicates at most.
pub const MOST_REPLICATES: u64 = 10_000;
/// The smallest number of replicates that a look may come after.
pub const SMALLEST_LOOK: u64 = 3;
/// Bytes of one operation at most.
pub const LARGEST_OPERATION: Bytes = Bytes(1 << 30);

/// Operations of a trial at most, where they are counted.
pub const MOST_OPERATIONS: u64 = 1_000_000_000;
/// Places of the pattern `spread` at most: the service time of each is kept.
pub const MOST_SAMPLES: u64 = 10_000;

const ONE_NS: Time = Time(1);

/// Name of the factor that chooses among targets.
pub const TARGET_FACTOR: &str = "target";
/// What the factor `target` is about.
pub const TARGET_SUMMARY: &str = "where the work is done";
/// Levels of the factor `target` as an example.
pub const TARGET_EXAMPLE: &str = "[\"/mnt/card\", \"/mnt/drive\"]";

/// Words of the study's own table.
pub static STUDY: Fields = Fields {
    label: "a study",
    rows: &[
        needed(
            "format",
            Kind::Word(|| vec![super::FORMAT]),
            "format and version of the file",
            "format = \"assay-study/1\"",
        ),
        needed(
            "title",
            Kind::Text,
            "what the study asks",
            "title = \"Which queue depth is best?\"",
        ),
        field(
            "preset",
            Kind::Text,
            "name of the preset that it was made from",
            "preset = \"check\"",
        ),
        field(
            "confirms",
            Kind::Text,
            "id of the result whose winner it confirms",
            "confirms = \"20261120-1031-k3f9\"",
        ),
        field(
            "target",
            Kind::OneOf(&TARGET),
            "where it takes place; the command line's targets come first",
            "target = { directory = \".\" }",
        ),
        field(
            "area",
            Kind::Table(&AREA),
            "the bytes that may be touched",
            "area = { size = \"512 MiB\" }",
        ),
        field(
            "replicates",
            Kind::Whole { least: 1, most: MOST_REPLICATES },
            "complete passes over all arms; 6 by default",
            "replicates = 6",
        ),
        field(
            "margin",
            Kind::Share,
            "what counts as equivalent, fixed beforehand; 5 % by default",
            "margin = \"5 %\"",
        ),
        field(
            "primary",
            Kind::Word(|| all_metrics().map(|metric| metric.name).collect()),
            "the metric that verdicts are about; by default bandwidth for large operations, else IOPS",
            "primary = \"iops\"",
        ),
        field(
            "baseline",
            Kind::Arm,
            "what arms are compared with; by default the first level of each factor",
            "baseline = { depth = 1 }",
        ),
        field(
            "control",
            Kind::Flag,
            "a second, identical baseline arm, to see the noise floor; by default from three arms",
            "control = true",
        ),
        field(
            "order",
            Kind::Word(|| vec!["random", "chained", "rcbd", "crd", "sequential"]),
            "how the order of trials is drawn; random by default",
            "order = \"random\"",
        ),
        field(
            "lead_in",
            Kind::Word(|| vec!["half", "whole", "none"]),
            "how much of a trial runs before each replicate and is left out; half by default",
            "lead_in = \"whole\"",
        ),
        field(
            "budget",
            Kind::Time { least: SMALLEST_BUDGET },
            "time for one target; trials without a time share it",
            "budget = \"60 s\"",
        ),
        field(
            "seed",
            Kind::Whole { least: 0, most: u64::MAX },
            "seed of everything drawn; drawn itself where it is missing",
            "seed = 7",
        ),
        field(
            "costly",
            Kind::FactorNames,
            "factors whose levels are changed once a replicate, with everything else inside",
            "costly = [\"size\"]",
        ),
        field(
            "repeat_disturbed",
            Kind::Flag,
            "whether a replicate that something disturbed is run again; true by default",
            "repeat_disturbed = false",
        ),
        field(
            "probes",
            Kind::Names(super::probes::names),
            "probes that watch each trial; those that cost nothing watch anyway",
            "probes = [\"block-latency\"]",
        ),
        field(
            "meter",
            Kind::Text,
            "file of an external power meter, a time and watts in each line",
            "meter = \"meter.csv\"",
        ),
        field(
            "prepare",
            Kind::Table(&PREPARE),
            "how the target is brought into a known state",
            "prepare = { prime = { passes = 2 }, settle = \"10 s\" }",
        ),
        field(
            "fresh",
            Kind::Word(|| vec!["replicate", "study"]),
            "how often the file system of the factor filesystem is made anew; replicate by default",
            "fresh = \"replicate\"",
        ),
        field(
            "stop",
            Kind::Table(&STOP),
            "when it ends; by default after its replicates",
            "stop = { rule = \"looks\", looks = [6, 12, 24] }",
        ),
        field(
            "factors",
            Kind::Factors,
            "settings that vary, each with its levels",
            "factors = { depth = [1, 8, 32] }",
        ),
        field(
            "arms",
            Kind::Arms,
            "arms one by one, instead of every combination of the levels",
            "arms = [{ depth = 1 }, { depth = 32 }]",
        ),
        needed(
            "workload",
            Kind::Tables(&WORKLOAD),
            "the work, one table a workload",
            "[[workload]]",
        ),
        field(
            "question",
            Kind::Tables(&QUESTION),
            "claims that the findings answer, one table a claim",
            "[[question]]",
        ),
        field(
            "card",
            Kind::Table(&CARD),
            "what the card is sold as: the page ends with its row of the flash table",
            "card = { claimed = \"95 MB/s\", price = \"12.50 GBP\" }",
        ),
    ],
};

/// Words of `target`.
pub static TARGET: Fields = Fields {
    label: "target",
    rows: &[
        field(
            "directory",
            Kind::Text,
            "a directory; a file is made in it and removed",
            "target = { directory = \".\" }",
        ),
        field(
            "file",
            Kind::Text,
            "an existing file; only read",
            "target = { file = \"disk.img\" }",
        ),
        field(
            "device",
            Kind::Text,
            "a block device; only read unless --destroy names it",
            "target = { device = \"/dev/sdX\" }",
        ),
        field(
            "loop",
            Kind::Size { least: Bytes(SMALLEST_AREA_BYTES), most: Bytes(u64::MAX) },
            "a loop device of this size, made for the study and removed afterwards; needs root",
            "target = { loop = \"2 GiB\" }",
        ),
        field(
            "simulated",
            Kind::Law(&LAW),
            "the simulated drive, as a table or as text",
            "target = { simulated = \"lognormal,mean=100us,p99=400us,servers=1\" }",
        ),
    ],
};

/// Words of a simulated drive's law.
pub static LAW: Fields = Fields {
    label: "simulated",
    rows: &[
        needed(
            "law",
            Kind::Word(|| vec!["lognormal", "fixed"]),
            "how service times are spread",
            "law = \"lognormal\"",
        ),
        needed("mean", Kind::Time { least: ONE_NS }, "mean service time", "mean = \"100 us\""),
        field(
            "p99",
            Kind::Time { least: ONE_NS },
            "service time that 99 % stay below; for lognormal",
            "p99 = \"400 us\"",
        ),
        field(
            "servers",
            Kind::Whole { least: 1, most: 1024 },
            "operations served at the same time; 1 by default",
            "servers = 1",
        ),
    ],
};

/// Words of `area`.
pub static AREA: Fields = Fields {
    label: "area",
    rows: &[
        field(
            "size",
            Kind::Size { least: Bytes(SMALLEST_AREA_BYTES), most: Bytes(u64::MAX) },
            "how many bytes; by default 1 GiB or a tenth of the free space",
            "area = { size = \"512 MiB\" }",
        ),
        field(
            "start",
            Kind::Start,
            "where it, or the file system, begins on a block device; by default at its start",
            "area = { start = \"50 %\", size = \"512 MiB\" }",
        ),
        field(
            "align",
            Kind::Size { least: Bytes(512), most: Bytes(1 << 40) },
            "what the start is rounded up to; 1 MiB by default",
            "area = { start = \"50 %\", align = \"2 MiB\" }",
        ),
    ],
};

/// Words of `prepare`.
pub static PREPARE: Fields = Fields {
    label: "prepare",
    rows: &[
        field(
            "prime",
            Kind::Table(&PRIME),
            "writes all of a device that may be overwritten before anything is measured",
            "prepare = { prime = { passes = 2, content = \"random\" } }",
        ),
        field(
            "discard",
            Kind::Flag,
            "tells the device that it holds nothing, before each file system is made; false by default",
            "prepare = { discard = true }",
        ),
        field(
            "cache",
            Kind::Word(|| vec!["cold", "warm"]),
            "what the page cache holds before trials that read through it, and is seen to hold",
            "prepare = { cache = \"warm\" }",
        ),
        field(
            "settle",
            Kind::Time { least: ONE_NS },
            "waits before each trial until the devices are idle, at most this long",
            "prepare = { settle = \"10 s\" }",
        ),
    ],
};

/// Words of `prime`.
pub static PRIME: Fields = Fields {
    label: "prime",
    rows: &[
        field(
            "passes",
            Kind::Whole { least: 1, most: 100 },
            "how often all of it is written; 1 by default",
            "prime = { passes = 2 }",
        ),
        field(
            "content",
            Kind::Word(|| vec!["random", "zero"]),
            "what is written; random by default",
            "prime = { content = \"random\" }",
        ),
    ],
};

/// Words of `stop`.
pub static STOP: Fields = Fields {
    label: "stop",
    rows: &[
        field(
            "rule",
            Kind::Word(|| vec!["fixed", "looks", "open"]),
            "after its replicates, after one of the declared looks, or after any replicate",
            "rule = \"looks\"",
        ),
        field(
            "looks",
            Kind::Rising { least: SMALLEST_LOOK, most: MOST_REPLICATES },
            "replicates after which it may end, for the rule looks",
            "looks = [6, 12, 24]",
        ),
        field(
            "half_width",
            Kind::Share,
            "half-width of the intervals that is enough, for the rules looks and open",
            "half_width = \"3 %\"",
        ),
    ],
};

/// Words of a workload.
pub static WORKLOAD: Fields = Fields {
    label: "a workload",
    rows: &[
        needed(
            "name",
            Kind::Name,
            "its name, unique in the study: lower-case letters, digits and -",
            "name = \"random-read\"",
        ),
        needed(
            "io",
            Kind::Table(&IO),
            "reads and writes of blocks",
            "io = { pattern = \"random\", mix = \"read\", size = \"4 KiB\" }",
        ),
        field(
            "beside",
            Kind::Table(&BESIDE),
            "others' work that goes on meanwhile in the other half of the area; counted, not compared",
            "beside = { pattern = \"random\", mix = \"write\", size = \"1 MiB\", direct = false }",
        ),
    ],
};

/// Words of `beside`: those of `io` without an end of its own.
pub static BESIDE: Fields = Fields {
    label: "beside",
    rows: &[
        needed(
            "pattern",
            Kind::Word(|| vec!["sequential", "random"]),
            "order of the blocks",
            "pattern = \"random\"",
        ),
        needed("mix", Kind::Mix, "what operations do to their blocks", "mix = \"write\""),
        needed("size", OPERATION_SIZE, "bytes of one operation", "size = \"1 MiB\""),
        parameter("depth", DEPTH, "depth = 8"),
        parameter("threads", THREADS, "threads = 4"),
        parameter("direct", Kind::Flag, "direct = false"),
        parameter("content", CONTENT, "content = \"random\""),
        parameter("sync", SYNC, "sync = \"each-write\""),
        parameter("engine", ENGINE, "engine = \"psync\""),
    ],
};

const OPERATION_SIZE: Kind = Kind::Size { least: Bytes(1), most: LARGEST_OPERATION };
const DEPTH: Kind = Kind::Whole { least: 1, most: parameters::MOST_DEPTH as u64 };
const THREADS: Kind = Kind::Whole { least: 1, most: parameters::MOST_THREADS as u64 };
const CONTENT: Kind = Kind::Word(|| vec!["random", "zero"]);
const SYNC: Kind = Kind::Word(|| vec!["none", "each-write"]);
const ENGINE: Kind = Kind::Word(|| vec!["auto", "psync", "io_uring"]);

/// Words of a claim.
pub static QUESTION: Fields = Fields {
    label: "a question",
    rows: &[
        needed(
            "kind",
            Kind::Word(|| super::AskKind::WORDS.to_vec()),
            "what is claimed: where the metric peaks, how it changes with a factor, which level is \
             first, last, better than or equal to another, or how much is reached",
            "kind = \"peak\"",
        ),
        needed(
            "ask",
            Kind::Text,
            "the question in words",
            "ask = \"Is the rate highest at 32 to 64 threads?\"",
        ),
        field(
            "published",
            Kind::Text,
            "what was published, with its figures",
            "published = \"throughput peaks at 32-64 threads\"",
        ),
        needed(
            "workloads",
            Kind::Words,
            "workloads that the claim is about: it is for each of them",
            "workloads = [\"random-read\"]",
        ),
        field(
            "metric",
            Kind::Word(|| all_metrics().map(|metric| metric.name).collect()),
            "metric; by default the one that verdicts are about",
            "metric = \"latency_mean_ns\"",
        ),
        field("factor", Kind::Text, "factor over whose levels it goes", "factor = \"threads\""),
        field(
            "at",
            Kind::Arm,
            "levels of other factors that it is about; all where none is named",
            "at = { filesystem = \"ext4\" }",
        ),
        field("level", Kind::Text, "level that the claim is made of", "level = \"none\""),
        field("over", Kind::Text, "level that it is held against", "over = \"bfq\""),
        field(
            "between",
            Kind::Words,
            "lowest and highest level of a claimed peak",
            "between = [\"32\", \"64\"]",
        ),
        field("least", Kind::Amount, "at least so much", "least = \"90 IOPS\""),
        field("most", Kind::Amount, "at most so much", "most = \"100 us\""),
    ],
};

/// Words of `card`.
pub static CARD: Fields = Fields {
    label: "card",
    rows: &[
        field(
            "claimed",
            Kind::Amount,
            "the speed that is printed on it",
            "card = { claimed = \"95 MB/s\" }",
        ),
        field("price", Kind::Price, "what it costs", "card = { price = \"12.50 GBP\" }"),
        field(
            "capacity",
            Kind::Size { least: Bytes(1), most: Bytes(u64::MAX) },
            "the capacity that is printed on it; by default the drive's",
            "card = { capacity = \"16 GB\" }",
        ),
    ],
};

/// Words of `io`. What may also be a factor says what it is in [`parameters::PARAMETERS`].
pub static IO: Fields = Fields {
    label: "io",
    rows: &[
        Field {
            need: Need::UnlessFactor,
            ..parameter(
                "pattern",
                Kind::Word(|| vec!["sequential", "random", "spread"]),
                "pattern = \"random\"",
            )
        },
        Field { need: Need::UnlessFactor, ..parameter("mix", Kind::Mix, "mix = \"70/30\"") },
        Field { need: Need::UnlessFactor, ..parameter("size", OPERATION_SIZE, "size = \"4 KiB\"") },
        parameter("depth", DEPTH, "depth = 8"),
        parameter("threads", THREADS, "threads = 4"),
        parameter("direct", Kind::Flag, "direct = true"),
        parameter("content", CONTENT, "content = \"random\""),
        parameter("sync", SYNC, "sync = \"each-write\""),
        parameter("engine", ENGINE, "engine = \"psync\""),
        field(
            "time",
            Kind::Time { least: ONE_NS },
            "time of a trial that is counted; a share of the budget where it is missing",
            "time = \"10 s\"",
        ),
        field(
            "ramp",
            Kind::Time { least: Time(0) },
            "time before it that is run but not counted",
            "ramp = \"2 s\"",
        ),
        field(
            "operations",
            Kind::Whole { least: 1, most: MOST_OPERATIONS },
            "operations after which a trial ends, even if time is left; needed for pattern spread",
            "operations = 100",
        ),
    ],
};

/// Every table, for finding where a key belongs.
pub static TABLES: &[&Fields] = &[
    &STUDY, &WORKLOAD, &IO, &BESIDE, &STOP, &AREA, &PREPARE, &PRIME, &TARGET, &LAW, &QUESTION,
    &CARD,
];

impl Fields {
    /// The row with a name.
    pub fn find(&self, name: &str) -> Option<&'static Field> {
        self.rows.iter().find(|field| field.name == name)
    }

    /// All names.
    pub fn names(&self) -> Vec<&'static str> {
        self.rows.iter().map(|field| field.name).collect()
    }
}

impl Field {
    /// One line about it.
    pub fn summary(&self) -> &'static str {
        match parameters::find(self.name) {
            Some(parameter) if self.summary.is_empty() => parameter.about.summary,
            _ => self.summary,
        }
    }
}

const fn field(
    name: &'static str,
    kind: Kind,
    summary: &'static str,
    example: &'static str,
) -> Field {
    Field { name, kind, need: Need::Never, summary, example }
}

const fn needed(
    name: &'static str,
    kind: Kind,
    summary: &'static str,
    example: &'static str,
) -> Field {
    Field { name, kind, need: Need::Always, summary, example }
}

const fn parameter(name: &'static str, kind: Kind, example: &'static str) -> Field {
    field(name, kind, "", example)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{presets, simulated};

    fn all() -> impl Iterator<Item = &'static Field> {
        TABLES.iter().flat_map(|fields| fields.rows)
    }

    #[test]
    fn every_key_says_what_it_is() {
        for field in all() {
            assert!(!field.summary().is_empty(), "{}", field.name);
            assert!(!field.summary().ends_with('.'), "{}", field.name);
        }
    }

    #[test]
    fn every_example_is_toml() {
        for field in all() {
            let table: toml::Table = toml::from_str(field.example).unwrap();
            assert_eq!(table.len(), 1, "{}", field.name);
        }
    }

    #[test]
    fn every_parameter_but_copy_is_a_key_of_io_and_takes_the_same_words() {
        let mut io = presets::check().unwrap().workload.remove(0).io;
        for parameter in parameters::PARAMETERS.iter().filter(|one| one.about.name != "copy") {
            let field = IO.find(parameter.about.name).unwrap();
            if let Kind::Word(words) = field.kind {
                for word in words() {
                    (parameter.set)(&mut io, word).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_law_is_spelled_as_the_command_line_spells_it() {
        let Kind::Word(words) = LAW.rows[0].kind else { panic!("the law is a word") };
        for word in words() {
            let p99 = if word == "fixed" { "" } else { ",p99=4us" };
            simulated::law(&format!("{word},mean=1us{p99},servers=1024")).unwrap();
        }
    }
}
