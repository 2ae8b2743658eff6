//! The parameters of reads and writes, one entry each.

use std::time::Duration;

use assay_core::catalogue::keys::{Field, Form, Need, field};
use assay_core::quantity::units::show;
use assay_core::quantity::{Bytes, Time};
use assay_load::Job;
use serde::{Deserialize, Serialize};

use super::rate::{self, ArrivalRate};
use super::{
    Access, Apart, Arrivals, AskedEngine, Content, Duplicates, Engine, IoPlan, Mix, Pattern, Poll,
    Size, WriteSync, fio_line, forms, operations, poll, size, verify, wait,
};
use crate::keys::{choice, keys, parse_choice, parse_whole, work};

const MOST_OPERATIONS: u64 = 1_000_000_000;
/// Maximum number of offsets of the pattern `spaced`: each service time is stored.
pub(super) const MOST_SAMPLES: u64 = 10_000;
const MOST_DEPTH: u32 = 4096;
const MOST_THREADS: u32 = 1024;

parameters! {
    pattern: Pattern = Pattern::Random => {
        words: "access pattern: the order of the offsets",
        form: Form::Word(|| vec!["sequential", "random", "stride", "spaced"]),
        need: Need::UnlessFactor,
        example: "pattern = \"random\"",
        background: {
            need: Need::Always,
            form: Form::Word(|| vec!["sequential", "random", "stride"]),
            summary: "access pattern: the order of the offsets",
        },
        factor: work(
            "`sequential`; `random`, with the distribution set by `distribution`; `stride`: sequential with gaps; the \
             key `stride` sets the distance between block starts. At the end of the area, the pattern restarts one \
             block further to reach every block. `spaced`: `operations` evenly spaced blocks in order.",
            "[\"sequential\", \"random\"]",
            |io, text| Ok(io.pattern = parse_choice(text, "sequential, random, stride or spaced")?),
        ),
        fio: fio_line::random,
    }
    /// `read`, `write`, reads and writes in percent (`70/30`), `rewrite`, `trim`, `zero`, or shares of reads, writes,
    /// trims and zeroing.
    mix: Mix = Mix::READS => {
        words: "read/write mix: shares of reads, writes, trims and write-zeroes, or rewrite",
        form: Form::Mix,
        need: Need::UnlessFactor,
        example: "mix = \"70/30\"",
        background: {
            need: Need::Always,
            summary: "read/write mix of the operations",
            example: "mix = \"write\"",
        },
        factor: work(
            "`read`, `write`, two percentages that add up to 100 (`70/30`), or `rewrite`: read, change and write back \
             each block, counted as one operation. `trim` discards blocks of a device or punches holes in a file; \
             `zero` zeroes blocks without transferring data (write-zeroes). Both destroy data and need the same \
             consent as writes; Assay rewrites the area before each such trial. `read/60:write/30:trim/10` mixes \
             operations: Assay draws each operation at random with these shares.",
            "[\"read\", \"write\", \"70/30\"]",
            |io, text| Ok(io.mix = text.parse()?),
        ),
    }
    /// Block size in bytes, or several sizes with their shares.
    block_size: Size = Bytes(4096).into() => {
        words: "block size, or several sizes with their shares of the operations",
        form: Form::Sizes { least: Bytes(1), most: size::LARGEST },
        need: Need::UnlessFactor,
        example: "block_size = \"4 KiB\"",
        background: { need: Need::Always, example: "block_size = \"1 MiB\"", },
        factor: choice::<IoSpec>(
            "An amount with its unit: `4 KiB`; sizes with their shares of the operations: `4 KiB 70%, 64 KiB 30%`; or \
             sizes per direction: `read 4 KiB; write 64 KiB`. With several sizes, random offsets are multiples of the \
             smallest size, latencies cover all sizes, and bandwidth counts the bytes of each operation.",
            "[\"4 KiB\", \"64 KiB\", \"1 MiB\"]",
            |io, text| Ok(io.block_size = text.parse()?),
        )
        .written(|text| text.parse::<Size>().ok().map(String::from)),
        job: |io, job| job.sizes = io.block_size.sizes(),
    }
    #[serde(default = "one")]
    queue_depth: u32 = 1 => {
        words: "queue depth per thread",
        form: Form::Whole { least: 1, most: MOST_DEPTH as u64 },
        example: "queue_depth = 8",
        background: {},
        factor: choice(
            "A whole number from 1 to 4096.",
            "[1, 2, 4, 8, 16, 32]",
            |io, text| Ok(io.queue_depth = parse_whole(text, MOST_DEPTH)?),
        ),
        job: |io, job| job.depth = io.queue_depth,
    }
    #[serde(default = "one")]
    threads: u32 = 1 => {
        words: "threads, each with its own queue",
        form: Form::Whole { least: 1, most: MOST_THREADS as u64 },
        example: "threads = 4",
        background: {},
        factor: choice(
            "A whole number from 1 to 1024.",
            "[1, 2, 4, 8]",
            |io, text| Ok(io.threads = parse_whole(text, MOST_THREADS)?),
        ),
        job: |io, job| job.threads = io.threads,
    }
    #[serde(default = "yes")]
    direct: bool = true => {
        words: "direct I/O or buffered I/O",
        form: Form::Flag,
        example: "direct = true",
        background: { example: "direct = false", },
        factor: choice(
            "`true` bypasses the page cache; `false` uses it.",
            "[true, false]",
            |io, text| Ok(io.direct = parse_choice(text, "true or false")?),
        ),
    }
    #[serde(default)]
    compressibility: Content = Content::Random => {
        words: "compressible share of the written data, or like:DIR",
        form: Form::Content,
        example: "compressibility = \"50%\"",
        background: { example: "compressibility = \"0%\"", },
        factor: work(
            "`0%`: random data; `100%`: zeros; at `50%`, the second half of every 4 KiB is zeros, the first half random. \
             With --set, like:DIR measures the compressibility of the files below DIR. For reads, Assay fills the area \
             with the same kind of data, and refills the area after a workload with other data.",
            "[\"0%\", \"50%\", \"100%\"]",
            |io, text| Ok(io.compressibility = text.parse()?),
        ),
        job: |io, job| job.content = io.compressibility,
        fio: fio_line::content,
    }
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    duplicates: Duplicates = Duplicates::NONE => {
        words: "share of duplicate blocks in the written data",
        form: Form::Own(&forms::DUPLICATES),
        example: "duplicates = \"30%\"",
        background: {},
        factor: work(
            "Integer percentage: the probability that a written 4 KiB block is a copy of one of 256 blocks, each \
             equally likely. All threads of a trial share these blocks; each trial uses different blocks. All other \
             blocks are unique. Compressibility applies to duplicates, too. Data for reads has no duplicates.",
            "[\"0%\", \"30%\"]",
            |io, text| Ok(io.duplicates = text.parse()?),
        ),
        job: |io, job| job.duplicates = io.duplicates,
        told: operations::describe,
        fio: fio_line::duplicates,
        kept: duplicates,
    }
    #[serde(default)]
    sync: WriteSync = WriteSync::None => {
        words: "when a write counts as complete",
        form: Form::Own(&forms::SYNC),
        example: "sync = \"fdatasync\"",
        background: {},
        factor: work(
            "`none`: when the kernel completes it; `fdatasync`: after an fdatasync per write; `fdatasync:8`: an \
             fdatasync after every eighth write of a thread, included in the latency of that write (2 to 1000000). At \
             a higher queue depth, the fdatasync covers its own write and all completed writes. `fsync` and `fsync:8`: \
             the same with fsync, which also writes all metadata. `o_dsync` and `o_sync`: each write completes when \
             its data (`o_sync`: and all metadata) is on the medium, as with the open(2) flags.",
            "[\"none\", \"fdatasync\", \"fdatasync:8\", \"fsync\", \"o_dsync\", \"o_sync\"]",
            |io, text| Ok(io.sync = text.parse()?),
        ),
        job: |io, job| job.sync = io.sync,
        fio: fio_line::sync,
    }
    #[serde(default)]
    engine: AskedEngine = AskedEngine::Auto => {
        words: "I/O engine",
        form: Form::Word(|| vec!["auto", "psync", "io_uring"]),
        example: "engine = \"psync\"",
        background: {},
        factor: choice(
            "`auto`, `psync` or `io_uring`.",
            "[\"psync\", \"io_uring\"]",
            |io, text| Ok(io.engine = parse_choice(text, "auto, psync or io_uring")?),
        ),
    }
    /// Arrival rate over all threads in operations per second; `None` in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arrival_rate: Option<ArrivalRate> = None => {
        words: "arrival rate over all threads (open loop)",
        form: Form::Own(&rate::FORM),
        example: "arrival_rate = \"5000/s\"",
        background: {},
        factor: work(
            "Operations start at this rate even if earlier ones have not completed; `queue_depth` limits each thread. \
             Assay reports two times: *response* time from the intended start, as a user sees it, and *service* time \
             from submission (the `latency` metrics). After the trial, Assay issues overdue operations for at most a \
             quarter of the trial duration. The rest count as never issued, with their wait up to that point. A thread \
             sleeps until shortly before a start and then busy-waits, at most 50 us: as long as a wake-up takes here.",
            "[\"1000/s\", \"2000/s\", \"4000/s\"]",
            rate::set,
        )
        .written(rate::written),
        job: rate::configure_job,
        told: rate::describe,
        fio: fio_line::rate,
        kept: arrival_rate,
    }
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    arrival_process: Arrivals = Arrivals::Fixed => {
        words: "arrival process of the operations; fixed by default",
        form: Form::Word(|| vec!["fixed", "poisson"]),
        example: "arrival_process = \"poisson\"",
        background: {},
        factor: work(
            "`fixed`: equal intervals; `poisson`: random intervals, like many independent users. Requires \
             `arrival_rate`.",
            "[\"fixed\", \"poisson\"]",
            |io, text| Ok(io.arrival_process = parse_choice(text, "fixed or poisson")?),
        ),
        kept: arrival_process,
    }
    #[serde(default, skip_serializing_if = "Option::is_none")]
    think_time: Option<Time> = None => {
        words: "think time between an operation's completion and the next operation of its queue slot",
        form: Form::Time { least: Time(1000) },
        example: "think_time = \"1 ms\"",
        background: {},
        factor: work(
            "A time with its unit. Each queue slot pauses this long after an operation. Latency excludes think time.",
            "[\"100 us\", \"1 ms\"]",
            |io, text| Ok(io.think_time = Some(text.parse()?)),
        ),
        job: |io, job| job.think = Duration::from_nanos(io.think_time.map_or(0, |think| think.0)),
        told: |io| io.think_time.map(|think| format!("{think} after each")),
        fio: fio_line::think,
        kept: think_time,
    }
    /// Number of completions to wait for at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch_complete_min: Option<u32> = None => {
        words: "minimum completions per wait; values above 1 save CPU time but increase latency; 1 by default",
        form: Form::Whole { least: 1, most: MOST_DEPTH as u64 },
        example: "batch_complete_min = 32",
        job: wait::configure_job,
        told: wait::describe,
        fio: wait::fio,
        kept: batch_complete_min,
    }
    #[serde(default, skip_serializing_if = "Option::is_none")]
    poll: Option<Poll> = None => {
        words: "io_uring polling, instead of system calls and interrupts",
        form: Form::Word(|| vec!["none", "sqpoll", "iopoll"]),
        example: "poll = \"sqpoll\"",
        factor: choice(
            "`none`: a thread submits with system calls and sleeps until a completion; `sqpoll`: a kernel thread per \
             queue polls for submissions (SQPOLL) and sleeps after an idle second; Assay reports its CPU time; \
             `iopoll`: the waiting thread polls the device (IOPOLL), which requires direct I/O and a device with poll \
             queues. Any of these levels, including `none`, selects `io_uring` unless you set the engine.",
            "[\"none\", \"sqpoll\", \"iopoll\"]",
            |io, text| Ok(io.poll = Some(parse_choice(text, poll::CHOICES)?)),
        ),
        job: poll::configure_job,
        told: poll::describe,
        fio: poll::fio,
        kept: poll,
    }
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pin: bool = false => {
        words: "pinning of each thread to one CPU",
        form: Form::Flag,
        example: "pin = true",
        factor: choice(
            "`true`: Assay pins the first thread to the first CPU that this process may use, the second to the second, \
             and so on. If there are more threads than CPUs, the assignment wraps around, and the trial notes report \
             this. `false`: the kernel places the threads.",
            "[false, true]",
            |io, text| Ok(io.pin = parse_choice(text, "true or false")?),
        ),
        job: |io, job| job.pin = io.pin,
        told: |io| io.pin.then(|| "threads pinned to CPUs".to_owned()),
        kept: pin,
    }
    /// Measured time; a share of the budget if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runtime: Option<Time> = None => {
        words: "measurement window of a trial; by default, a share of the budget",
        form: Form::Time { least: Time(1) },
        example: "runtime = \"10 s\"",
    }
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ramp_time: Option<Time> = None => {
        words: "warm-up time before the measurement window",
        form: Form::Time { least: Time(0) },
        example: "ramp_time = \"2 s\"",
    }
    /// Operations after which a trial ends, over all threads, even if time is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operations: Option<u64> = None => {
        words: "number of operations after which a trial ends early; required for pattern spaced",
        form: Form::Whole { least: 1, most: MOST_OPERATIONS },
        example: "operations = 100",
        job: |io, job| job.operations = io.operations,
        told: |io| io.operations.map(|count| format!("{} operations", show::count(count))),
        kept: operations,
    }
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    distribution: Access = Access::Uniform => {
        words: "distribution of random offsets",
        form: Form::Own(&forms::ACCESS),
        example: "distribution = \"zipf:1.2\"",
        background: {},
        factor: work::<IoSpec>(
            "`uniform`: all blocks equally likely; `zipf:1.2`: the block of rank k with a probability proportional to \
             1/k^1.2; `pareto:0.2`: 80% of the operations on 20% of the blocks, recursively, as in fio; \
             `zoned:80/20:20/80`: 80% of the operations on the first 20% of the area, uniform within each zone; \
             `zoned:50/5:30/15:20/80`: several consecutive zones. With zipf and pareto, Assay scatters the ranks over \
             all blocks of the area, differently in each trial.",
            "[\"uniform\", \"zipf:1.2\", \"zoned:80/20:20/80\"]",
            |io, text| Ok(io.distribution = text.parse()?),
        )
        .written(|text| text.parse::<Access>().ok().map(String::from)),
        job: |io, job| job.access = io.distribution,
        told: |io| io.distribution.words(),
        fio: fio_line::access,
        kept: distribution,
    }
    #[serde(default, skip_serializing_if = "Option::is_none")]
    align: Option<Bytes> = None => {
        words: "alignment of random offsets; the smallest block size by default",
        form: Form::Size { least: Bytes(1), most: size::LARGEST },
        example: "align = \"4 KiB\"",
        background: {},
        factor: work(
            "An amount with its unit: `4 KiB`, counted from the start of the area.",
            "[\"4 KiB\", \"64 KiB\"]",
            |io, text| Ok(io.align = Some(text.parse()?)),
        ),
        job: |io, job| job.align_bytes = io.align.unwrap_or_default().0,
        told: |io| io.aligned().map(|bytes| format!("aligned to {bytes}")),
        fio: fio_line::align,
        kept: align,
    }
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stride: Option<Bytes> = None => {
        words: "distance between block starts; required for pattern stride",
        form: Form::Size { least: Bytes(1), most: Bytes(1 << 40) },
        example: "stride = \"1 MiB\"",
        background: {},
        factor: work(
            "An amount with its unit, at least the block size: `1 MiB`.",
            "[\"128 KiB\", \"1 MiB\"]",
            |io, text| Ok(io.stride = Some(text.parse()?)),
        ),
        job: |io, job| job.stride_bytes = io.stride.unwrap_or_default().0,
        told: |io| io.strides().map(|bytes| format!("one block per {bytes}")),
        kept: stride,
    }
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    rw_split: Apart = Apart::None => {
        words: "separation of reads and writes in a mixed workload",
        form: Form::Word(|| vec!["none", "positions", "halves"]),
        example: "rw_split = \"halves\"",
        background: {},
        factor: work(
            "`none`: reads and writes share one position; `positions`: reads and writes have separate positions in the \
             same area, as in fio; `halves`: reads use the first half of the area and writes the second.",
            "[\"none\", \"halves\"]",
            |io, text| Ok(io.rw_split = parse_choice(text, "none, positions or halves")?),
        ),
        job: |io, job| job.apart = io.rw_split,
        told: |io| match io.rw_split {
            Apart::None => None,
            Apart::Positions => Some("separate positions for reads and writes".to_owned()),
            Apart::Halves => Some("reads in the first half of the area, writes in the second".to_owned()),
        },
        kept: rw_split,
    }
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    verify: bool = false => {
        words: "read back and verify all written data after each trial, outside the measured time",
        form: Form::Flag,
        example: "verify = true",
        told: |io| verify::stamps(io).then(|| "verified".to_owned()),
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
    use crate::place::Area;
    use crate::workload::{DeclaredKeys as _, OwnParameter, WorkloadSpec as _};

    fn find(name: &str) -> &'static OwnParameter<IoSpec> {
        IoSpec::FACTORS.iter().find(|own| own.about.about.name == name).unwrap()
    }

    /// Reads and writes at each level of a parameter's example.
    fn at_levels(parameter: &OwnParameter<IoSpec>) -> Vec<IoPlan> {
        let levels: Vec<serde_json::Value> = serde_json::from_str(parameter.about.example).unwrap();
        let at = |level: &serde_json::Value| {
            let text = level.as_str().map_or_else(|| level.to_string(), str::to_owned);
            let mut asked = IoSpec::default();
            (parameter.set)(&mut asked, &text).unwrap();
            IoPlan::new(asked, Engine::Psync)
        };
        levels.iter().map(at).collect()
    }

    /// Factors with two levels that look the same to `look`.
    fn all_the_same(look: impl Fn(&IoPlan) -> String) -> Vec<&'static str> {
        let same = |parameter: &&OwnParameter<IoSpec>| {
            let seen: Vec<String> = at_levels(parameter).iter().map(&look).collect();
            seen.iter().enumerate().any(|(index, one)| seen[..index].contains(one))
        };
        IoSpec::FACTORS.iter().filter(same).map(|parameter| parameter.about.about.name).collect()
    }

    #[test]
    fn an_engine_is_told_of_every_level() {
        let area = Area { start: 0, length: 1 << 30, asked: 1 << 30, written: true, fill_ns: 0 };
        let jobs = all_the_same(|planned| format!("{:?}", planned.job(&area, 1, 2, 3)));
        // How the file is opened, the engine itself, and the arrival process without a rate.
        assert_eq!(jobs, ["direct", "engine", "arrival_process"]);
    }

    #[test]
    fn plans_keep_every_level() {
        let kept = all_the_same(|planned| serde_json::to_string(planned).unwrap());
        // The plan stores the selected engine.
        assert_eq!(kept, ["engine"]);
    }

    #[test]
    fn a_background_load_has_no_end_of_its_own_and_neither_is_verified_nor_waits_for_several() {
        let names = |fields: &[Field]| fields.iter().map(|one| one.name).collect::<Vec<_>>();
        let lacks =
            ["runtime", "ramp_time", "operations", "verify", "batch_complete_min", "poll", "pin"];
        let without: Vec<&str> =
            names(IoSpec::KEYS).into_iter().filter(|name| !lacks.contains(name)).collect();
        assert_eq!(names(BACKGROUND), without);
        assert!(BACKGROUND.iter().all(|field| field.need != Need::UnlessFactor));
    }

    #[test]
    fn a_level_that_is_none_says_what_to_write() {
        for (name, text) in [
            ("pattern", "zigzag"),
            ("mix", "70/40"),
            ("block_size", "4 XB"),
            ("block_size", "4KiB/70:8KiB/20"),
            ("distribution", "zipf"),
            ("stride", "far"),
            ("align", "near"),
            ("rw_split", "true"),
            ("queue_depth", "0"),
            ("threads", "many"),
            ("direct", "maybe"),
            ("engine", "libaio"),
            ("poll", "fast"),
            ("pin", "maybe"),
            ("compressibility", "text"),
            ("arrival_rate", "fast"),
            ("arrival_process", "bursts"),
            ("think_time", "5"),
            ("duplicates", "130%"),
            ("sync", "fdatasync:0"),
            ("mix", "read/60:trim/30"),
        ] {
            let mut asked = IoSpec::default();
            let message = (find(name).set)(&mut asked, text).unwrap_err();
            assert!(!message.is_empty() && !message.contains('\n'), "{message}");
        }
    }

    const TEXT: &str = "{\"engine\":\"io_uring\",\"pattern\":\"spaced\",\"mix\":\"70/30\",\
         \"size_bytes\":8192,\"depth\":16,\"threads\":2,\"asked_depth\":64,\"sync\":\"fdatasync\",\
         \"content\":\"50%\",\"direct\":false,\"operations\":100}";

    #[test]
    fn what_older_plans_do_not_have_is_kept_behind_what_they_have() {
        let mix = "read/60:write/30:trim/10";
        let newer = TEXT
            .replace("70/30", mix)
            .replace("fdatasync", "fdatasync:8")
            .replace("\"operations\":100", "\"duplicates\":\"30%\",\"operations\":100");
        let planned = read(&newer);
        assert_eq!(serde_json::to_string(&planned).unwrap(), newer);
        assert_eq!((planned.mix, planned.sync), (mix.parse().unwrap(), WriteSync::EachNth(8)));
        assert_eq!(planned.duplicates.percent(), 30);
        assert_eq!(read(TEXT).duplicates, Duplicates::NONE);
    }

    fn read(text: &str) -> IoPlan {
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
        assert_eq!((planned.block_size.one(), planned.size_bytes()), (Some(Bytes(8192)), 8192));
    }

    #[test]
    fn what_a_pattern_has_no_use_for_is_not_told() {
        let both = (Some(Bytes(8192)), Some(Bytes(65_536)));
        let of = |pattern| IoSpec { pattern, align: both.0, stride: both.1, ..IoSpec::default() };
        for (pattern, multiples, gaps) in [
            (Pattern::Random, true, false),
            (Pattern::Stride, false, true),
            (Pattern::Sequential, false, false),
        ] {
            let words = of(pattern).words();
            assert_eq!(words.contains("aligned to 8 KiB"), multiples, "{words}");
            assert_eq!(words.contains("one block per 64 KiB"), gaps, "{words}");
            assert_eq!(of(pattern).is_shaped(), multiples || gaps, "{words}");
        }
    }

    #[test]
    fn what_newer_keys_say_stands_behind_what_plans_always_had() {
        let newer = ",\"operations\":100,\"distribution\":\"zipf:1.2\",\"stride\":\"64 KiB\",\
             \"rw_split\":\"halves\",\"sizes\":\"4KiB/70:8KiB/30\"}";
        let text = TEXT.replace(",\"operations\":100}", newer);
        let planned = read(&text);
        assert_eq!(serde_json::to_string(&planned).unwrap(), text);
        assert_eq!((planned.block_size.one(), planned.size_bytes()), (None, 8192));
    }

    #[test]
    fn what_was_planned_is_what_is_read_back() {
        let asked = IoSpec {
            queue_depth: 8,
            engine: AskedEngine::IoUring,
            runtime: Some(Time(5)),
            ramp_time: Some(Time(1)),
            ..IoSpec::default()
        };
        let planned = IoPlan::new(asked, Engine::IoUring);
        assert_eq!(read(&serde_json::to_string(&planned).unwrap()), planned);
    }

    #[test]
    fn what_is_missing_of_a_stranger_is_told() {
        let error = serde_json::from_str::<IoPlan>(&TEXT.replace("\"depth\":16,", "")).unwrap_err();
        assert!(error.to_string().contains("missing field `depth`"), "{error}");
    }
}
