//! The parameters of reads and writes: a unit each.

#![allow(clippy::unit_arg, reason = "a factor sets one field or says why not, in one line")]

use assay_base::catalogue::keys::{Field, Form, Need, field};
use assay_base::quantity::units::show;
use assay_base::quantity::{Bytes, Time};
use assay_load::Job;
use serde::{Deserialize, Serialize};

use super::table::is_usual;
use super::{AskedEngine, Content, Engine, Mix, Pattern, Planned, WriteSync, fio_line};
use crate::work::kind::OwnParameter;
use crate::work::table::{Factor, asked, choice, whole, word, work};

/// Bytes of one operation at most.
const LARGEST_OPERATION: Bytes = Bytes(1 << 30);
/// Operations of a trial at most, where they are counted.
const MOST_OPERATIONS: u64 = 1_000_000_000;
/// Places of the pattern `spread` at most: the service time of each is kept.
pub(super) const MOST_SAMPLES: u64 = 10_000;
/// Operations in flight per thread at most.
const MOST_DEPTH: u32 = 4096;
/// Threads at most.
const MOST_THREADS: u32 = 1024;

parameters! {
    /// Order of the offsets.
    pattern: Pattern = Pattern::Random => {
        words: "order of the offsets",
        form: Form::Word(|| vec!["sequential", "random", "spread"]),
        need: Need::UnlessFactor,
        example: "pattern = \"random\"",
        background: {
            need: Need::Always,
            form: Form::Word(|| vec!["sequential", "random"]),
            summary: "order of the blocks",
        },
        factor: work(
            "`sequential`, `random`, or `spread`: as many evenly spaced blocks as `operations` \
             says, in rising order.",
            "[\"sequential\", \"random\"]",
            |io, text| Ok(io.pattern = word(text, "sequential, random or spread")?),
        ),
        fio: fio_line::random,
    }

    /// `read`, `write`, reads and writes in percent (`70/30`), or `rewrite`.
    mix: Mix = Mix::READS => {
        words: "share of reads and writes, or rewrite",
        form: Form::Mix,
        need: Need::UnlessFactor,
        example: "mix = \"70/30\"",
        background: {
            need: Need::Always,
            summary: "what operations do to their blocks",
            example: "mix = \"write\"",
        },
        factor: work(
            "`read`, `write`, two percentages that add up to 100 (`70/30`), or `rewrite`: each \
             block is read, changed and written back, and counts once.",
            "[\"read\", \"write\", \"70/30\"]",
            |io, text| Ok(io.mix = text.parse()?),
        ),
    }

    /// Bytes of one operation.
    size: Bytes = Bytes(4096) => {
        words: "bytes of one operation",
        form: Form::Size { least: Bytes(1), most: LARGEST_OPERATION },
        need: Need::UnlessFactor,
        example: "size = \"4 KiB\"",
        background: { need: Need::Always, example: "size = \"1 MiB\"", },
        factor: choice(
            "An amount with its unit: `4 KiB`.",
            "[\"4 KiB\", \"64 KiB\", \"1 MiB\"]",
            |io, text| Ok(io.size = text.parse()?),
        ),
    }

    /// Operations in flight per thread.
    #[serde(default = "one")]
    depth: u32 = 1 => {
        words: "operations in flight per thread",
        form: Form::Whole { least: 1, most: MOST_DEPTH as u64 },
        example: "depth = 8",
        background: {},
        factor: choice(
            "A whole number from 1 to 4096.",
            "[1, 2, 4, 8, 16, 32]",
            |io, text| Ok(io.depth = whole(text, MOST_DEPTH)?),
        ),
        job: |io, job| job.depth = io.depth,
    }

    /// Threads.
    #[serde(default = "one")]
    threads: u32 = 1 => {
        words: "threads, each with its own queue",
        form: Form::Whole { least: 1, most: MOST_THREADS as u64 },
        example: "threads = 4",
        background: {},
        factor: choice(
            "A whole number from 1 to 1024.",
            "[1, 2, 4, 8]",
            |io, text| Ok(io.threads = whole(text, MOST_THREADS)?),
        ),
        job: |io, job| job.threads = io.threads,
    }

    /// Past the page cache.
    #[serde(default = "yes")]
    direct: bool = true => {
        words: "past the page cache or through it",
        form: Form::Flag,
        example: "direct = true",
        background: { example: "direct = false", },
        factor: choice(
            "`true` goes past the page cache, `false` through it.",
            "[true, false]",
            |io, text| Ok(io.direct = word(text, "true or false")?),
        ),
    }

    /// Which bytes are written.
    #[serde(default)]
    content: Content = Content::Random => {
        words: "which bytes are written, and how much of them compresses",
        form: Form::Content,
        example: "content = \"50 %\"",
        background: { example: "content = \"random\"", },
        factor: work(
            "`random`: nothing of them compresses; `zero`: all of them; or the share of each block that \
             compresses, such as `50 %`: of every 4 KiB the last half is zeros and the rest random. \
             Reads find such bytes: the area is written with them, and again where another \
             workload wrote others in between.",
            "[\"random\", \"50 %\", \"zero\"]",
            |io, text| Ok(io.content = text.parse()?),
        ),
        job: |io, job| job.content = io.content,
        fio: fio_line::content,
    }

    /// When a write counts as done.
    #[serde(default)]
    sync: WriteSync = WriteSync::None => {
        words: "when a write counts as done",
        form: Form::Word(|| vec!["none", "each-write"]),
        example: "sync = \"each-write\"",
        background: {},
        factor: work(
            "`none`: when the kernel says it is written; `each-write`: after an fdatasync of its own.",
            "[\"none\", \"each-write\"]",
            |io, text| Ok(io.sync = word(text, "none or each-write")?),
        ),
        job: |io, job| job.sync = io.sync,
        fio: fio_line::sync,
    }

    /// Who carries it out.
    #[serde(default)]
    engine: AskedEngine = AskedEngine::Auto => {
        words: "who carries the operations out",
        form: Form::Word(|| vec!["auto", "psync", "io_uring"]),
        example: "engine = \"psync\"",
        background: {},
        factor: choice(
            "`auto`, `psync` or `io_uring`.",
            "[\"psync\", \"io_uring\"]",
            |io, text| Ok(io.engine = word(text, "auto, psync or io_uring")?),
        ),
    }

    /// Time that is counted; a share of the budget where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<Time> = None => {
        words: "time of a trial that is counted; a share of the budget where it is missing",
        form: Form::Time { least: Time(1) },
        example: "time = \"10 s\"",
    }

    /// Time before it that is run but not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ramp: Option<Time> = None => {
        words: "time before it that is run but not counted",
        form: Form::Time { least: Time(0) },
        example: "ramp = \"2 s\"",
    }

    /// Operations after which a trial ends, over all threads, even if time is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operations: Option<u64> = None => {
        words: "operations after which a trial ends, even if time is left; needed for pattern spread",
        form: Form::Whole { least: 1, most: MOST_OPERATIONS },
        example: "operations = 100",
        job: |io, job| job.operations = io.operations,
        told: |io| io.operations.map(|count| format!("{} operations", show::count(count))),
        kept: operations,
    }

    /// Whether what was written is read again and compared.
    #[serde(default, skip_serializing_if = "is_usual")]
    verify: bool = false => {
        words: "after each trial, outside of its time, all that it wrote is read again and compared",
        form: Form::Flag,
        example: "verify = true",
        told: |io| (io.verify && io.mix.writes()).then(|| "verified".to_owned()),
        fio: fio_line::verified,
        kept: verify,
    }
}

const fn one() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::place::Area;

    fn find(name: &str) -> &'static OwnParameter<Asked> {
        FACTORS.iter().find(|own| own.about.about.name == name).unwrap()
    }

    #[test]
    fn every_example_is_taken() {
        for parameter in FACTORS {
            assert!(at_levels(parameter).len() > 1);
        }
    }

    /// Reads and writes at each level of a parameter's example.
    fn at_levels(parameter: &OwnParameter<Asked>) -> Vec<Planned> {
        let levels: Vec<serde_json::Value> = serde_json::from_str(parameter.about.example).unwrap();
        let at = |level: &serde_json::Value| {
            let text = level.as_str().map_or_else(|| level.to_string(), str::to_owned);
            let mut asked = Asked::some();
            (parameter.set)(&mut asked, &text).unwrap();
            Planned::new(asked, Engine::Psync)
        };
        levels.iter().map(at).collect()
    }

    /// Factors of which two levels are the same to what looks at them.
    fn all_the_same(look: impl Fn(&Planned) -> String) -> Vec<&'static str> {
        let same = |parameter: &&OwnParameter<Asked>| {
            let seen: Vec<String> = at_levels(parameter).iter().map(&look).collect();
            seen.iter().enumerate().any(|(index, one)| seen[..index].contains(one))
        };
        FACTORS.iter().filter(same).map(|parameter| parameter.about.about.name).collect()
    }

    #[test]
    fn an_engine_is_told_of_every_level() {
        let area = Area { start: 0, length: 1 << 30, asked: 1 << 30, written: true, fill_ns: 0 };
        let jobs = all_the_same(|planned| format!("{:?}", planned.job(&area, (1, 2), 3)));
        // How the file is opened, and the engine itself.
        assert_eq!(jobs, ["direct", "engine"]);
    }

    #[test]
    fn plans_keep_every_level() {
        let kept = all_the_same(|planned| serde_json::to_string(planned).unwrap());
        // What is kept is the engine that was found for it.
        assert_eq!(kept, ["engine"]);
    }

    #[test]
    fn a_background_load_has_no_end_of_its_own_and_is_not_verified() {
        let names = |fields: &[Field]| fields.iter().map(|one| one.name).collect::<Vec<_>>();
        let ends = ["time", "ramp", "operations", "verify"];
        let without: Vec<&str> =
            names(KEYS).into_iter().filter(|name| !ends.contains(name)).collect();
        assert_eq!(names(BACKGROUND), without);
        assert!(BACKGROUND.iter().all(|field| field.need != Need::UnlessFactor));
    }

    #[test]
    fn a_level_that_is_none_says_what_to_write() {
        for (name, text) in [
            ("pattern", "zigzag"),
            ("mix", "70/40"),
            ("size", "4 XB"),
            ("depth", "0"),
            ("threads", "many"),
            ("direct", "maybe"),
            ("engine", "libaio"),
            ("content", "text"),
        ] {
            let mut asked = Asked::some();
            let message = (find(name).set)(&mut asked, text).unwrap_err();
            assert!(!message.is_empty() && !message.contains('\n'), "{message}");
        }
    }

    const TEXT: &str = "{\"engine\":\"io_uring\",\"pattern\":\"spread\",\"mix\":\"70/30\",\
         \"size_bytes\":8192,\"depth\":16,\"threads\":2,\"asked_depth\":64,\"sync\":\"each-write\",\
         \"content\":\"50 %\",\"direct\":false,\"operations\":100}";

    fn read(text: &str) -> Planned {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_a_plan_keeps_is_written_as_it_was_read() {
        let without = TEXT.replace(",\"operations\":100", "");
        for text in [TEXT, without.as_str()] {
            assert_eq!(serde_json::to_string(&read(text)).unwrap(), text);
        }
        let planned = read(TEXT);
        assert_eq!((planned.engine, planned.asked_depth), (Engine::IoUring, 64));
        assert_eq!((planned.size, planned.size_bytes()), (Bytes(8192), 8192));
    }

    #[test]
    fn what_was_planned_is_what_is_read_back() {
        let asked = Asked {
            depth: 8,
            engine: AskedEngine::IoUring,
            time: Some(Time(5)),
            ramp: Some(Time(1)),
            ..Asked::some()
        };
        let planned = Planned::new(asked, Engine::IoUring);
        assert_eq!(read(&serde_json::to_string(&planned).unwrap()), planned);
    }

    #[test]
    fn what_is_missing_of_a_stranger_is_told() {
        let error =
            serde_json::from_str::<Planned>(&TEXT.replace("\"depth\":16,", "")).unwrap_err();
        assert!(error.to_string().contains("missing field `depth`"), "{error}");
    }
}
