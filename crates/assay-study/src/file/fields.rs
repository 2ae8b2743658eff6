//! The keys of a study file, one row per key, for the reader, the schema and the reference.

use assay_core::catalogue::keys::{Fields, Form, field, needed};
use assay_core::quantity::{Bytes, Time};
use assay_workloads::WORKLOAD;

use super::SMALLEST_AREA_BYTES;

pub const SMALLEST_BUDGET: Time = Time(2_000_000_000);
pub const MOST_REPLICATES: u64 = 10_000;
pub const SMALLEST_LOOK: u64 = 3;
pub const MOST_MEMBERS: u64 = 32;
const ONE_NS: Time = Time(1);

pub const TARGET_FACTOR: &str = "target";
pub const TARGET_SUMMARY: &str = "target of the workload";
pub const TARGET_EXAMPLE: &str = "[\"/mnt/card\", \"/mnt/drive\"]";

pub static STUDY: Fields = Fields {
    label: "a study",
    rows: &[
        needed(
            "format",
            Form::Word(|| vec![super::FORMAT]),
            "format and version of the file",
            "format = \"assay-study/1\"",
        ),
        needed(
            "title",
            Form::Text,
            "question that the study answers",
            "title = \"Which queue depth is best?\"",
        ),
        field("preset", Form::Text, "preset on which the study is based", "preset = \"check\""),
        field(
            "confirms",
            Form::Text,
            "ID of the result whose winner the study confirms",
            "confirms = \"20261120-1031-k3f9\"",
        ),
        field(
            "race_ratio",
            Form::Text,
            "ratio of the winner to the baseline as measured by the race",
            "race_ratio = \"1.09\"",
        ),
        field(
            "lead_figure",
            Form::Word(super::lead::names),
            "first figure on the result page, with its table; by default the figure with the answer",
            "lead_figure = \"surface\"",
        ),
        field(
            "requirements",
            Form::Text,
            "name of the requirements for the target; all questions must have kind = \"bound\"; exit code 0 if all \
             bounds are met (95% confidence), 1 if any bound fails, otherwise 5",
            "requirements = \"our queue\"",
        ),
        field(
            "target",
            Form::OneOf(&TARGET),
            "target of the study; targets on the command line override it",
            "target = { directory = \".\" }",
        ),
        field(
            "members",
            Form::Whole { least: 2, most: MOST_MEMBERS },
            "number of devices per target; --scratch creates that many, and several targets on the command line form \
             one array",
            "members = 4",
        ),
        field("area", Form::Table(&AREA), "test area", "area = { size = \"512 MiB\" }"),
        field(
            "replicates",
            Form::Whole { least: 1, most: MOST_REPLICATES },
            "complete passes over all configurations; 6 by default",
            "replicates = 6",
        ),
        field(
            "margin",
            Form::Share,
            "equivalence margin, fixed in advance; 5% by default",
            "margin = \"5%\"",
        ),
        field(
            "primary_metric",
            Form::Metric,
            "metric of the verdicts; by default bandwidth for large operations, otherwise IOPS",
            "primary_metric = \"iops\"",
        ),
        field(
            "baseline",
            Form::Arm,
            "baseline configuration; by default the first level of each factor",
            "baseline = { queue_depth = 1 }",
        ),
        field(
            "aa_control",
            Form::Flag,
            "A/A control: a second, identical baseline that measures the noise floor; true by default with three or \
             more configurations",
            "aa_control = true",
        ),
        field(
            "order",
            Form::Word(|| vec!["random", "chained", "rcbd", "crd", "sequential"]),
            "trial order; random by default",
            "order = \"random\"",
        ),
        field(
            "warmup_trial",
            Form::Word(|| vec!["half", "full", "none"]),
            "warm-up before each replicate, as a fraction of a trial, excluded from results; half by default",
            "warmup_trial = \"full\"",
        ),
        field(
            "budget",
            Form::Time { least: SMALLEST_BUDGET },
            "time budget per target, divided among trials without a runtime",
            "budget = \"60 s\"",
        ),
        field(
            "seed",
            Form::Whole { least: 0, most: u64::MAX },
            "seed of all random choices; random by default",
            "seed = 7",
        ),
        field(
            "hard_to_change",
            Form::FactorNames,
            "factors that change level only once per replicate, as the outer loop",
            "hard_to_change = [\"block_size\"]",
        ),
        field(
            "repeat_disturbed",
            Form::Flag,
            "repeat disturbed replicates; true by default",
            "repeat_disturbed = false",
        ),
        field(
            "probes",
            Form::Names(assay_machine::probes::names),
            "additional probes for each trial; probes without overhead always run",
            "probes = [\"block-latency\"]",
        ),
        field(
            "power_meter",
            Form::Text,
            "log file of an external power meter; each line contains a time and a power in watts",
            "power_meter = \"meter.csv\"",
        ),
        field(
            "precondition",
            Form::Table(&PRECONDITION),
            "precondition the whole device before the first trial; requires permission to overwrite the device",
            "precondition = { passes = 2 }",
        ),
        field(
            "discard",
            Form::Flag,
            "discard all blocks of the device before creating each filesystem; false by default",
            "discard = true",
        ),
        field(
            "page_cache",
            Form::Word(|| vec!["cold", "warm"]),
            "state of the page cache before trials with buffered reads; if set, Assay verifies the state",
            "page_cache = \"warm\"",
        ),
        field(
            "wait_idle",
            Form::Time { least: ONE_NS },
            "maximum time to wait for idle devices before each trial",
            "wait_idle = \"10 s\"",
        ),
        field(
            "recreate_per",
            Form::Word(|| vec!["replicate", "study"]),
            "how often to recreate the filesystem if filesystem is a factor; replicate by default",
            "recreate_per = \"replicate\"",
        ),
        field(
            "stop",
            Form::Table(&STOP),
            "when the study ends; by default after all replicates",
            "stop = { rule = \"interim\", interim_at = [6, 12, 24] }",
        ),
        field(
            "gate",
            Form::Table(&GATE),
            "maximum regression against the baseline; exit code 1 if exceeded",
            "gate = { max_regression = \"5%\" }",
        ),
        field(
            "factors",
            Form::Factors,
            "factors and their levels",
            "factors = { queue_depth = [1, 8, 32] }",
        ),
        field(
            "search",
            Form::Space,
            "search space: levels as a list, or as a range in doublings or steps of an amount; the study becomes a \
             race unless stop sets another rule",
            "search = { read_ahead = \"16 KiB .. 4 MiB in doublings\" }",
        ),
        field(
            "exclude",
            Form::Words,
            "meaningless combinations of levels to exclude; Assay always keeps the baseline",
            "exclude = [\"scheduler = none and nr_requests > 256\", \"queue_depth > nr_requests\"]",
        ),
        field(
            "unavailable",
            Form::Texts,
            "settings that were unavailable at the start of the study, with reasons; set by Assay",
            "unavailable = { wbt_latency = \"the kernel has none\" }",
        ),
        field(
            "configurations",
            Form::Arms,
            "list of configurations to use instead of all combinations",
            "configurations = [{ queue_depth = 1 }, { queue_depth = 32 }]",
        ),
        needed(
            "workload",
            Form::Tables(&WORKLOAD),
            "workloads, one table per workload",
            "[[workload]]",
        ),
        field(
            "question",
            Form::Tables(&QUESTION),
            "claims that the findings answer, one table per claim",
            "[[question]]",
        ),
        field(
            "articles",
            Form::Words,
            "titles of the articles that the study repeats, listed by `assay articles`",
            "articles = [\"Fixing BufferBloat\"]",
        ),
        field(
            "published",
            Form::Tables(&PUBLISHED),
            "published numbers to show next to the results, one table per number",
            "[[published]]",
        ),
        field(
            "card",
            Form::Table(&CARD),
            "claims and price of a card, for its row in the flash table",
            "card = { rated = \"95 MB/s\", price = \"12.50 GBP\" }",
        ),
        field(
            "hosts",
            Form::Table(&HOSTS),
            "handling of late and failed hosts in a multi-host study",
            "hosts = { on_failure = \"continue\" }",
        ),
    ],
};

pub static TARGET: Fields = Fields {
    label: "target",
    rows: &[
        field(
            "directory",
            Form::Text,
            "directory, in which Assay creates and removes its own file",
            "target = { directory = \".\" }",
        ),
        field(
            "file",
            Form::Text,
            "existing file, which Assay only reads",
            "target = { file = \"disk.img\" }",
        ),
        field(
            "device",
            Form::Text,
            "block device, which Assay only reads unless --destroy names the device",
            "target = { device = \"/dev/sdX\" }",
        ),
        field(
            "devices",
            Form::Words,
            "block devices of one array; --destroy overwrites each",
            "target = { devices = [\"/dev/sdX\", \"/dev/sdY\"] }",
        ),
        field(
            "loop",
            Form::Size { least: Bytes(SMALLEST_AREA_BYTES), most: Bytes(u64::MAX) },
            "loop device of this size, created for the study and removed afterwards; needs root",
            "target = { loop = \"2 GiB\" }",
        ),
        field(
            "simulated",
            Form::Law(&LAW),
            "simulated drive, as a table or as text",
            "target = { simulated = \"lognormal,mean=100us,p99=400us,servers=1\" }",
        ),
    ],
};

pub static LAW: Fields = Fields {
    label: "simulated",
    rows: &[
        needed(
            "distribution",
            Form::Word(|| vec!["lognormal", "exponential", "fixed"]),
            "distribution of service times: lognormal, exponential or fixed",
            "distribution = \"lognormal\"",
        ),
        needed("mean", Form::Time { least: ONE_NS }, "mean service time", "mean = \"100 us\""),
        field(
            "p99",
            Form::Time { least: ONE_NS },
            "p99 of the service time, for lognormal only",
            "p99 = \"400 us\"",
        ),
        field(
            "servers",
            Form::Whole { least: 1, most: 1024 },
            "operations served in parallel; 1 by default",
            "servers = 1",
        ),
        field(
            "announced_size",
            Form::Size { least: Bytes(64 << 10), most: Bytes(i64::MAX as u64) },
            "announced capacity, for workloads of kind capacity; 1 GiB by default",
            "announced_size = \"64 GB\"",
        ),
        field(
            "usable_size",
            Form::Size { least: Bytes(64 << 10), most: Bytes(i64::MAX as u64) },
            "real capacity; by default the announced capacity",
            "usable_size = \"8 GB\"",
        ),
        field(
            "fault",
            Form::Word(|| vec!["wraps", "drops", "zeroes"]),
            "behavior beyond the real capacity; wraps by default",
            "fault = \"drops\"",
        ),
    ],
};

pub static AREA: Fields = Fields {
    label: "area",
    rows: &[
        field(
            "size",
            Form::Size { least: Bytes(SMALLEST_AREA_BYTES), most: Bytes(u64::MAX) },
            "size; by default 1 GiB or 10% of the free space",
            "area = { size = \"512 MiB\" }",
        ),
        field(
            "offset",
            Form::Start,
            "offset of the area, or of the filesystem, on a block device; by default the start of the device",
            "area = { offset = \"50%\", size = \"512 MiB\" }",
        ),
        field(
            "align",
            Form::Size { least: Bytes(512), most: Bytes(1 << 40) },
            "alignment of the offset, rounded up; 1 MiB by default",
            "area = { offset = \"50%\", align = \"2 MiB\" }",
        ),
    ],
};

pub static PRECONDITION: Fields = Fields {
    label: "precondition",
    rows: &[
        field(
            "passes",
            Form::Whole { least: 1, most: 100 },
            "number of passes over the whole device; 1 by default",
            "precondition = { passes = 2 }",
        ),
        field(
            "compressibility",
            Form::Content,
            "compressible share of the data; 0% (random data) by default",
            "precondition = { compressibility = \"0%\" }",
        ),
    ],
};

pub static STOP: Fields = Fields {
    label: "stop",
    rows: &[
        field(
            "rule",
            Form::Word(|| vec!["fixed", "interim", "decided", "gate", "best"]),
            "end after all replicates, after a declared interim analysis, after any replicate, when the gate is \
             decided, or when one configuration of a race is left",
            "rule = \"interim\"",
        ),
        field(
            "interim_at",
            Form::Rising { least: SMALLEST_LOOK, most: MOST_REPLICATES },
            "numbers of replicates after which to run an interim analysis, for rule interim",
            "interim_at = [6, 12, 24]",
        ),
        field(
            "ci_half_width",
            Form::Share,
            "half-width of the CIs at which the study ends, for rules interim and decided",
            "ci_half_width = \"3%\"",
        ),
        field(
            "indifference_zone",
            Form::Share,
            "maximum acceptable loss of a race's winner against the best configuration; by default the margin",
            "indifference_zone = \"2%\"",
        ),
        field(
            "screen",
            Form::Flag,
            "drop levels from a grid of more than 40 configurations before the race, by main effects only, ignoring \
             interactions",
            "screen = true",
        ),
        field(
            "confirm",
            Form::Flag,
            "confirm the winner with fresh trials right after the race",
            "confirm = true",
        ),
    ],
};

pub static HOSTS: Fields = Fields {
    label: "hosts",
    rows: &[
        field(
            "on_failure",
            Form::Word(|| vec!["stop", "continue"]),
            "what to do if a host fails: stop the study or continue without the host; stop by default",
            "on_failure = \"continue\"",
        ),
        field(
            "barrier_timeout",
            Form::Time { least: ONE_NS },
            "extra time to wait for a late host at a barrier, after twice the expected time; 10 s by default",
            "barrier_timeout = \"30 s\"",
        ),
        field(
            "join_timeout",
            Form::Time { least: ONE_NS },
            "maximum time to wait for all hosts to join; 10 min by default",
            "join_timeout = \"1 h\"",
        ),
    ],
};

pub static GATE: Fields = Fields {
    label: "gate",
    rows: &[
        needed(
            "max_regression",
            Form::LossOrAmount,
            "maximum regression: a percentage, or an absolute increase for a count that may be zero",
            "max_regression = \"5%\"",
        ),
        field(
            "must_detect",
            Form::Loss,
            "regression that a row must be able to detect, or the row is inconclusive; 30% by default, higher for a \
             gate above 5%",
            "must_detect = \"15%\"",
        ),
        field(
            "metric",
            Form::Metric,
            "metric of the gate, such as p99 or iops; by default the metric of the verdicts",
            "metric = \"peak_memory_bytes\"",
        ),
        field(
            "allow_inconclusive",
            Form::Flag,
            "treat inconclusive rows as passing; false by default",
            "allow_inconclusive = true",
        ),
        field(
            "exit_inconclusive",
            Form::Whole { least: 1, most: 255 },
            "exit code for an inconclusive gate (default: 5)",
            "exit_inconclusive = 125",
        ),
    ],
};

pub static QUESTION: Fields = Fields {
    label: "a question",
    rows: &[
        needed(
            "kind",
            Form::Word(|| super::AskKind::WORDS.to_vec()),
            "type of claim: peak of the metric, change with a factor, rank of a level, comparison or ratio of two \
             levels, bound, sufficient level (as good as the best within the margin), or maximum load below a limit",
            "kind = \"peak\"",
        ),
        needed(
            "ask",
            Form::Text,
            "the question in words",
            "ask = \"Is the rate highest at 32 to 64 threads?\"",
        ),
        field(
            "published",
            Form::Text,
            "published statement, with its figures",
            "published = \"throughput peaks at 32-64 threads\"",
        ),
        needed(
            "workloads",
            Form::Words,
            "workloads of the claim; the claim must hold for each of these workloads",
            "workloads = [\"random-read\"]",
        ),
        field(
            "metric",
            Form::Metric,
            "metric; by default the metric of the verdicts",
            "metric = \"latency_mean_ns\"",
        ),
        field("factor", Form::Text, "factor of the claim", "factor = \"threads\""),
        field(
            "at",
            Form::Arm,
            "fixed levels of other factors; by default all levels",
            "at = { filesystem = \"ext4\" }",
        ),
        field(
            "level",
            Form::Text,
            "level of the claim; without level and `versus`, the second level of the varied factor against the first \
             (beats and equal: without factor)",
            "level = \"none\"",
        ),
        field("versus", Form::Text, "level to compare with", "versus = \"bfq\""),
        field(
            "between",
            Form::Words,
            "lowest and highest level of a claimed peak",
            "between = [\"32\", \"64\"]",
        ),
        field("min", Form::Amount, "minimum; for kind ratio, such as 1/3", "min = \"90 IOPS\""),
        field("max", Form::Amount, "maximum", "max = \"100 us\""),
        field(
            "slo",
            Form::Text,
            "response-time limit for max-rate, measured from the intended start of an operation: p50, p90, p99, \
             p99.9 or p99.99, and a time",
            "slo = \"p99 < 2 ms\"",
        ),
    ],
};

pub static PUBLISHED: Fields = Fields {
    label: "a published number",
    rows: &[
        field(
            "article",
            Form::Text,
            "title of the article with the number; by default the study's first article",
            "article = \"Fixing BufferBloat\"",
        ),
        needed("table", Form::Text, "bundled table with the number", "table = \"schedulers.csv\""),
        needed(
            "row",
            Form::Words,
            "words that select the rows; each word must match a whole cell",
            "row = [\"ext4\", \"write\"]",
        ),
        needed("column", Form::Text, "column of the numbers", "column = \"noop\""),
        field(
            "part",
            Form::Whole { least: 1, most: 9 },
            "position of the number in a cell with several numbers, separated by /",
            "part = 1",
        ),
        field(
            "unit",
            Form::Text,
            "unit of the published number; by default from the table's column `unit`",
            "unit = \"K/s\"",
        ),
        field(
            "name",
            Form::Text,
            "label; {column} in the label inserts that cell of the row; by default the words of `row`",
            "name = \"noop on {fs}\"",
        ),
        needed(
            "workload",
            Form::Text,
            "workload next to which to show the number",
            "workload = \"sequential-write\"",
        ),
        needed(
            "metric",
            Form::Metric,
            "metric of the number",
            "metric = \"bandwidth_bytes_per_s\"",
        ),
        field(
            "at",
            Form::Arm,
            "levels of the configurations next to which to show the number; a column name inserts that cell of the row",
            "at = { filesystem = \"fs\", scheduler = \"none\" }",
        ),
        field(
            "ratio",
            Form::Text,
            "factor whose first level is the denominator of the ratio",
            "ratio = \"target\"",
        ),
    ],
};

pub static CARD: Fields = Fields {
    label: "card",
    rows: &[
        field(
            "rated",
            Form::Claims,
            "printed ratings: speeds, IOPS, SD card classes",
            "card = { rated = \"95 MB/s, V30, A1\" }",
        ),
        field("price", Form::Price, "price", "card = { price = \"12.50 GBP\" }"),
        field(
            "capacity",
            Form::Size { least: Bytes(1), most: Bytes(u64::MAX) },
            "printed capacity; by default the capacity of the drive",
            "card = { capacity = \"16 GB\" }",
        ),
    ],
};

pub fn tables() -> impl Iterator<Item = &'static Fields> {
    let kinds = assay_workloads::KINDS.iter().map(|kind| kind.keys);
    let first = [&STUDY, &WORKLOAD].into_iter();
    first
        .chain(kinds)
        .chain([&assay_workloads::io::BACKGROUND])
        .chain([&STOP, &AREA, &PRECONDITION, &TARGET, &LAW, &QUESTION, &PUBLISHED, &CARD])
        .chain([&GATE, &HOSTS, &assay_workloads::command::READS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::simulated;

    fn all() -> impl Iterator<Item = &'static assay_core::catalogue::keys::Field> {
        tables().flat_map(|fields| fields.rows)
    }

    #[test]
    fn every_key_says_what_it_is() {
        for field in all() {
            assert!(!field.summary.is_empty(), "{}", field.name);
            assert!(!field.summary.ends_with('.'), "{}", field.name);
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
    fn every_parameter_is_a_key_of_its_kind_and_takes_the_same_words() {
        for kind in assay_workloads::KINDS {
            for parameter in (kind.parameters)() {
                let name = parameter.about.name;
                // Programs have the key `run` and the factor `command`.
                if let Some(Form::Word(words)) = kind.keys.find(name).map(|key| &key.form) {
                    for word in words() {
                        (kind.sample)().set(name, word).unwrap().unwrap();
                    }
                }
            }
        }
    }

    #[test]
    fn a_law_is_spelled_as_the_command_line_spells_it() {
        let Form::Word(words) = LAW.rows[0].form else { panic!("the law is a word") };
        for word in words() {
            let p99 = if word == "lognormal" { ",p99=4us" } else { "" };
            simulated::law(&format!("{word},mean=1us{p99},servers=1024")).unwrap();
        }
    }
}
