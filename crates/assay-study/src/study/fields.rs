//! What a study file may hold: one row a key. The reader, the JSON Schema and the reference page
//! are all made from these rows.

use assay_base::catalogue::keys::{Fields, Form, field, needed};
use assay_base::quantity::{Bytes, Time};
use assay_kinds::work::{self, WORKLOAD};

use super::SMALLEST_AREA_BYTES;

/// The shortest budget that leaves a trial something to measure.
pub const SMALLEST_BUDGET: Time = Time(2_000_000_000);
/// Replicates at most.
pub const MOST_REPLICATES: u64 = 10_000;
/// The smallest number of replicates that a look may come after.
pub const SMALLEST_LOOK: u64 = 3;
/// Devices that one place has, at most.
pub const MOST_MEMBERS: u64 = 32;
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
            Form::Word(|| vec![super::FORMAT]),
            "format and version of the file",
            "format = \"assay-study/1\"",
        ),
        needed(
            "title",
            Form::Text,
            "what the study asks",
            "title = \"Which queue depth is best?\"",
        ),
        field(
            "preset",
            Form::Text,
            "name of the preset that it was made from",
            "preset = \"check\"",
        ),
        field(
            "confirms",
            Form::Text,
            "id of the result whose winner it confirms",
            "confirms = \"20261120-1031-k3f9\"",
        ),
        field(
            "race_ratio",
            Form::Text,
            "what the winner of the race that it confirms was over the baseline then",
            "race_ratio = \"1.09\"",
        ),
        field(
            "lead_figure",
            Form::Word(super::lead::names),
            "the figure that its page shows first, with its table; by default what shows the answer",
            "lead_figure = \"surface\"",
        ),
        field(
            "requirements",
            Form::Text,
            "what the place is to be good enough for: all questions are of the kind bound, and the \
             exit code is 0 where each bound surely holds, 1 where one surely does not, else 5",
            "requirements = \"our queue\"",
        ),
        field(
            "target",
            Form::OneOf(&TARGET),
            "where it takes place; the command line's targets come first",
            "target = { directory = \".\" }",
        ),
        field(
            "members",
            Form::Whole { least: 2, most: MOST_MEMBERS },
            "devices of one place: --lab makes as many, and several targets are then one place",
            "members = 4",
        ),
        field(
            "area",
            Form::Table(&AREA),
            "the bytes that may be touched",
            "area = { size = \"512 MiB\" }",
        ),
        field(
            "replicates",
            Form::Whole { least: 1, most: MOST_REPLICATES },
            "complete passes over all settings; 6 by default",
            "replicates = 6",
        ),
        field(
            "margin",
            Form::Share,
            "what counts as equivalent, fixed beforehand; 5% by default",
            "margin = \"5%\"",
        ),
        field(
            "primary_metric",
            Form::Metric,
            "the metric that verdicts are about; by default bandwidth for large operations, else IOPS",
            "primary_metric = \"iops\"",
        ),
        field(
            "baseline",
            Form::Arm,
            "what other settings are compared with; by default the first level of each factor",
            "baseline = { queue_depth = 1 }",
        ),
        field(
            "aa_control",
            Form::Flag,
            "a second, identical baseline setting, to see the noise floor; by default from three settings",
            "aa_control = true",
        ),
        field(
            "order",
            Form::Word(|| vec!["random", "chained", "rcbd", "crd", "sequential"]),
            "how the order of trials is drawn; random by default",
            "order = \"random\"",
        ),
        field(
            "warmup_trial",
            Form::Word(|| vec!["half", "whole", "none"]),
            "how much of a trial runs before each replicate and is left out; half by default",
            "warmup_trial = \"whole\"",
        ),
        field(
            "budget",
            Form::Time { least: SMALLEST_BUDGET },
            "time for one target; trials without a time share it",
            "budget = \"60 s\"",
        ),
        field(
            "seed",
            Form::Whole { least: 0, most: u64::MAX },
            "seed of everything drawn; drawn itself where it is missing",
            "seed = 7",
        ),
        field(
            "hard_to_change",
            Form::FactorNames,
            "factors whose levels are changed once a replicate, with everything else inside",
            "hard_to_change = [\"block_size\"]",
        ),
        field(
            "repeat_disturbed",
            Form::Flag,
            "whether a replicate that something disturbed is run again; true by default",
            "repeat_disturbed = false",
        ),
        field(
            "probes",
            Form::Names(assay_machine::probes::names),
            "probes that watch each trial; those that cost nothing watch anyway",
            "probes = [\"block-latency\"]",
        ),
        field(
            "power_meter",
            Form::Text,
            "file of an external power meter, a time and watts in each line",
            "power_meter = \"meter.csv\"",
        ),
        field(
            "precondition",
            Form::Table(&PRECONDITION),
            "writes to the whole device, which may be overwritten, before the first trial",
            "precondition = { passes = 2 }",
        ),
        field(
            "discard",
            Form::Flag,
            "whether the device is discarded before each filesystem is created; false by default",
            "discard = true",
        ),
        field(
            "page_cache",
            Form::Word(|| vec!["cold", "warm"]),
            "state of the page cache before trials that read through it; verified if it is set",
            "page_cache = \"warm\"",
        ),
        field(
            "wait_idle",
            Form::Time { least: ONE_NS },
            "longest time to wait before each trial until the devices are idle",
            "wait_idle = \"10 s\"",
        ),
        field(
            "recreate_per",
            Form::Word(|| vec!["replicate", "study"]),
            "how often the file system of the factor filesystem is made anew; replicate by default",
            "recreate_per = \"replicate\"",
        ),
        field(
            "stop",
            Form::Table(&STOP),
            "when it ends; by default after its replicates",
            "stop = { rule = \"interim\", interim_at = [6, 12, 24] }",
        ),
        field(
            "gate",
            Form::Table(&GATE),
            "how much worse than the baseline any setting may be: exit code 1 beyond that",
            "gate = { max_regression = \"5%\" }",
        ),
        field(
            "factors",
            Form::Factors,
            "settings that vary, each with its levels",
            "factors = { queue_depth = [1, 8, 32] }",
        ),
        field(
            "search",
            Form::Space,
            "settings that vary, as a space to search: their levels as a list, or as a range in doublings or in \
             steps of an amount; the study is a race unless its rule is another one",
            "search = { read_ahead = \"16 KiB .. 4 MiB in doublings\" }",
        ),
        field(
            "exclude",
            Form::Words,
            "combinations of levels that make no sense and are left out; the baseline never is",
            "exclude = [\"scheduler = none and nr_requests > 256\", \"queue_depth > nr_requests\"]",
        ),
        field(
            "unavailable",
            Form::Texts,
            "settings that were not there when the study began, each with the reason; written by the program",
            "unavailable = { wbt_latency = \"the kernel has none\" }",
        ),
        field(
            "configurations",
            Form::Arms,
            "combinations of levels one by one, instead of all of them",
            "configurations = [{ queue_depth = 1 }, { queue_depth = 32 }]",
        ),
        needed(
            "workload",
            Form::Tables(&WORKLOAD),
            "the work, one table a workload",
            "[[workload]]",
        ),
        field(
            "question",
            Form::Tables(&QUESTION),
            "claims that the findings answer, one table a claim",
            "[[question]]",
        ),
        field(
            "articles",
            Form::Words,
            "titles of the texts that it does again: `assay articles` names it there",
            "articles = [\"Fixing BufferBloat\"]",
        ),
        field(
            "published",
            Form::Tables(&PUBLISHED),
            "published numbers to be shown beside its own, one table a pointer to them",
            "[[published]]",
        ),
        field(
            "card",
            Form::Table(&CARD),
            "what the card is sold as: the page has its row of the flash table",
            "card = { rated = \"95 MB/s\", price = \"12.50 GBP\" }",
        ),
    ],
};

/// Words of `target`.
pub static TARGET: Fields = Fields {
    label: "target",
    rows: &[
        field(
            "directory",
            Form::Text,
            "a directory; a file is made in it and removed",
            "target = { directory = \".\" }",
        ),
        field(
            "file",
            Form::Text,
            "an existing file; only read",
            "target = { file = \"disk.img\" }",
        ),
        field(
            "device",
            Form::Text,
            "a block device; only read unless --destroy names it",
            "target = { device = \"/dev/sdX\" }",
        ),
        field(
            "devices",
            Form::Words,
            "several block devices that are one place, for arrays; each is overwritten by --destroy",
            "target = { devices = [\"/dev/sdX\", \"/dev/sdY\"] }",
        ),
        field(
            "loop",
            Form::Size { least: Bytes(SMALLEST_AREA_BYTES), most: Bytes(u64::MAX) },
            "a loop device of this size, made for the study and removed afterwards; needs root",
            "target = { loop = \"2 GiB\" }",
        ),
        field(
            "simulated",
            Form::Law(&LAW),
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
            "distribution",
            Form::Word(|| vec!["lognormal", "exponential", "fixed"]),
            "how service times are spread",
            "distribution = \"lognormal\"",
        ),
        needed("mean", Form::Time { least: ONE_NS }, "mean service time", "mean = \"100 us\""),
        field(
            "p99",
            Form::Time { least: ONE_NS },
            "service time that 99% stay below; for lognormal",
            "p99 = \"400 us\"",
        ),
        field(
            "servers",
            Form::Whole { least: 1, most: 1024 },
            "operations served at the same time; 1 by default",
            "servers = 1",
        ),
        field(
            "announced_size",
            Form::Size { least: Bytes(64 << 10), most: Bytes(i64::MAX as u64) },
            "what it says that it holds, for capacity; 1 GiB by default",
            "announced_size = \"64 GB\"",
        ),
        field(
            "usable_size",
            Form::Size { least: Bytes(64 << 10), most: Bytes(i64::MAX as u64) },
            "what it holds; what it says by default",
            "usable_size = \"8 GB\"",
        ),
        field(
            "fault",
            Form::Word(|| vec!["wraps", "drops", "zeroes"]),
            "what it does beyond what it holds; wraps by default",
            "fault = \"drops\"",
        ),
    ],
};

/// Words of `area`.
pub static AREA: Fields = Fields {
    label: "area",
    rows: &[
        field(
            "size",
            Form::Size { least: Bytes(SMALLEST_AREA_BYTES), most: Bytes(u64::MAX) },
            "how many bytes; by default 1 GiB or a tenth of the free space",
            "area = { size = \"512 MiB\" }",
        ),
        field(
            "offset",
            Form::Start,
            "where it, or the file system, begins on a block device; by default at its start",
            "area = { offset = \"50%\", size = \"512 MiB\" }",
        ),
        field(
            "align",
            Form::Size { least: Bytes(512), most: Bytes(1 << 40) },
            "what the start is rounded up to; 1 MiB by default",
            "area = { offset = \"50%\", align = \"2 MiB\" }",
        ),
    ],
};

/// Keys of `precondition`.
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
            "data that is written; random by default",
            "precondition = { compressibility = \"random\" }",
        ),
    ],
};

/// Words of `stop`.
pub static STOP: Fields = Fields {
    label: "stop",
    rows: &[
        field(
            "rule",
            Form::Word(|| vec!["fixed", "interim", "decided", "gate", "best"]),
            "after its replicates, after one of the declared looks, after any replicate, as soon as its \
             gate is decided, or as a race with one setting left",
            "rule = \"interim\"",
        ),
        field(
            "interim_at",
            Form::Rising { least: SMALLEST_LOOK, most: MOST_REPLICATES },
            "replicates after which it may end, for the rule interim",
            "interim_at = [6, 12, 24]",
        ),
        field(
            "ci_half_width",
            Form::Share,
            "half-width of the intervals that is enough, for the rules interim and decided",
            "ci_half_width = \"3%\"",
        ),
        field(
            "indifference_zone",
            Form::Share,
            "how near to the best the winner of a race has to be; as near as the margin by default",
            "indifference_zone = \"2%\"",
        ),
        field(
            "screen",
            Form::Flag,
            "whether levels leave a grid of more than 40 settings before its race, by their main effects: \
             interactions are not looked at",
            "screen = true",
        ),
    ],
};

/// Words of `gate`.
pub static GATE: Fields = Fields {
    label: "gate",
    rows: &[
        needed(
            "max_regression",
            Form::LossOrAmount,
            "a loss up to this is allowed: a share, or of a count that may be zero so many more",
            "max_regression = \"5%\"",
        ),
        field(
            "must_detect",
            Form::Loss,
            "a row that would not have found a loss of this makes no statement; 30 % by default, and as \
             far beyond a gate above 5 %",
            "must_detect = \"15%\"",
        ),
        field(
            "metric",
            Form::Text,
            "the metric that is judged; by default the one that verdicts are about",
            "metric = \"peak_memory_bytes\"",
        ),
        field(
            "allow_inconclusive",
            Form::Flag,
            "whether rows that make no statement are taken for green; false by default",
            "allow_inconclusive = true",
        ),
        field(
            "exit_inconclusive",
            Form::Whole { least: 1, most: 255 },
            "exit code where nothing can be said, in the place of 5",
            "exit_inconclusive = 125",
        ),
    ],
};

/// Words of a claim.
pub static QUESTION: Fields = Fields {
    label: "a question",
    rows: &[
        needed(
            "kind",
            Form::Word(|| super::AskKind::WORDS.to_vec()),
            "what is claimed: where the metric peaks, how it changes with a factor, which level is \
             first, last, better than, equal to or so many times another, how much is reached, \
             whether a level is enough: as good as the best within the margin, or how much load there can be \
             below a limit",
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
            "what was published, with its figures",
            "published = \"throughput peaks at 32-64 threads\"",
        ),
        needed(
            "workloads",
            Form::Words,
            "workloads that the claim is about: it is for each of them",
            "workloads = [\"random-read\"]",
        ),
        field(
            "metric",
            Form::Metric,
            "metric; by default the one that verdicts are about",
            "metric = \"latency_mean_ns\"",
        ),
        field("factor", Form::Text, "factor over whose levels it goes", "factor = \"threads\""),
        field(
            "at",
            Form::Arm,
            "levels of other factors that it is about; all where none is named",
            "at = { filesystem = \"ext4\" }",
        ),
        field(
            "level",
            Form::Text,
            "level that the claim is made of; without it and `versus`, the second level of what varies \
             over the first (beats and equal: where no factor is named)",
            "level = \"none\"",
        ),
        field("versus", Form::Text, "level that it is compared with", "versus = \"bfq\""),
        field(
            "between",
            Form::Words,
            "lowest and highest level of a claimed peak",
            "between = [\"32\", \"64\"]",
        ),
        field(
            "min",
            Form::Amount,
            "at least so much; of a ratio so many times, as in 1/3",
            "min = \"90 IOPS\"",
        ),
        field("max", Form::Amount, "at most so much", "max = \"100 us\""),
        field(
            "slo",
            Form::Text,
            "of a maximum rate (max-rate): what the response stays below, from the intended start of an \
             operation; p50, p90, p99 or p99.9 and a time",
            "slo = \"p99 < 2 ms\"",
        ),
    ],
};

/// Words of a pointer to published numbers.
pub static PUBLISHED: Fields = Fields {
    label: "a published number",
    rows: &[
        field(
            "article",
            Form::Text,
            "title of the text that prints it; by default the first of the study's articles",
            "article = \"Fixing BufferBloat\"",
        ),
        needed(
            "table",
            Form::Text,
            "the shipped table that holds it",
            "table = \"schedulers.csv\"",
        ),
        needed(
            "row",
            Form::Words,
            "words that stand in the rows that are meant, each a whole cell",
            "row = [\"ext4\", \"write\"]",
        ),
        needed("column", Form::Text, "the column of the numbers", "column = \"noop\""),
        field(
            "part",
            Form::Whole { least: 1, most: 9 },
            "which number of a cell that has several, with / between them",
            "part = 1",
        ),
        field(
            "unit",
            Form::Text,
            "the author's unit; by default that of the table's column `unit`",
            "unit = \"K/s\"",
        ),
        field(
            "name",
            Form::Text,
            "what it is of, with {column} for what the row has there; by default the words of the row",
            "name = \"noop on {fs}\"",
        ),
        needed(
            "workload",
            Form::Text,
            "the workload that it is shown beside",
            "workload = \"sequential-write\"",
        ),
        needed(
            "metric",
            Form::Metric,
            "the metric that it is of",
            "metric = \"bandwidth_bytes_per_s\"",
        ),
        field(
            "at",
            Form::Arm,
            "levels of the settings that it is shown beside; the name of a column stands for what the \
             row has there",
            "at = { filesystem = \"fs\", scheduler = \"none\" }",
        ),
        field(
            "ratio",
            Form::Text,
            "the factor over whose first level the number is a ratio",
            "ratio = \"target\"",
        ),
    ],
};

/// Words of `card`.
pub static CARD: Fields = Fields {
    label: "card",
    rows: &[
        field(
            "rated",
            Form::Claims,
            "what is printed on it: a speed, operations per second, classes of SD cards",
            "card = { rated = \"95 MB/s, V30, A1\" }",
        ),
        field("price", Form::Price, "what it costs", "card = { price = \"12.50 GBP\" }"),
        field(
            "capacity",
            Form::Size { least: Bytes(1), most: Bytes(u64::MAX) },
            "the capacity that is printed on it; by default the drive's",
            "card = { capacity = \"16 GB\" }",
        ),
    ],
};

/// Every table, for finding where a key belongs.
pub fn tables() -> impl Iterator<Item = &'static Fields> {
    let kinds = work::KINDS.iter().map(|kind| kind.keys);
    let first = [&STUDY, &WORKLOAD].into_iter();
    first
        .chain(kinds)
        .chain([&work::io::keys::BACKGROUND])
        .chain([&STOP, &AREA, &PRECONDITION, &TARGET, &LAW, &QUESTION, &PUBLISHED, &CARD])
        .chain([&GATE, &work::command::READS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::simulated;

    fn all() -> impl Iterator<Item = &'static assay_base::catalogue::keys::Field> {
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
        for kind in work::KINDS {
            for parameter in (kind.parameters)() {
                let name = parameter.about.name;
                // What is run is a key called `run`, and the factor `command` beside others' factors.
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
