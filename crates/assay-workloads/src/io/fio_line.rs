//! A planned workload as an equivalent fio command line.

use assay_load::{Class, Zone};

use super::{
    Access, Apart, Arrivals, Content, Duplicates, Engine, IoPlan, IoSpec, Mix, Pattern, WriteSync,
    parameters, verify,
};
use crate::place::Area;
use crate::workload::{ManualCommand, ManualRun};

/// Direct I/O offsets are multiples of this on every system.
const PAGE: u64 = 4096;

pub const NOT_SAID: &[&str] = &[
    "one command line is one trial: fio has no trial order, replicates or CIs",
    "fio creates a missing file itself; Assay first writes random bytes to the whole area",
    "the seeds differ, so the offsets differ, too",
    "with io_uring, Assay registers buffers and files, as fio does with --fixedbufs --registerfiles",
];

/// The command for reads and writes; a file replaces the simulated drive.
pub(super) fn command(io: &IoPlan, how: &ManualRun<'_>) -> ManualCommand {
    let mut command =
        job_command(io, &ManualRun { area: how.area.measured(how.background.is_some()), ..*how });
    if let Some(background) = how.background {
        let background_run = ManualRun {
            name: "background",
            area: how.area.halves()[1],
            ramp_ns: 0,
            time_ns: how.ramp_ns.saturating_add(how.time_ns),
            note: background.note.as_deref(),
            ..*how
        };
        let other = job_command(&background.work, &background_run);
        // A second job of the same fio: without the program.
        command.words.extend(other.words.into_iter().skip(1));
        command.remarks.extend(other.remarks);
    }
    command
}

/// The line of one fio job, with remarks on differences from Assay.
fn job_command(io: &IoPlan, how: &ManualRun<'_>) -> ManualCommand {
    let engine = fio_engine(io);
    let area = &how.area;
    let mut words = vec![
        "fio".to_owned(),
        format!("--name={}", job_name(how.name)),
        format!("--filename={}", how.path.replace(':', "\\:")),
        format!("--rw={}{}", rw_value(io), gap_suffix(io, area)),
    ];
    if io.mix.reads() && io.mix.carries() {
        words.push(format!("--rwmixread={}", read_percent(io.mix)));
    }
    words.extend([
        io.block_size.fio(fio_size),
        format!("--iodepth={}", io.queue_depth),
        format!("--numjobs={}", io.threads),
    ]);
    if io.threads > 1 {
        words.push("--thread".to_owned());
    }
    words.extend([format!("--direct={}", u8::from(io.direct)), format!("--ioengine={engine}")]);
    words.extend(range_options(io, area));
    words.extend(end_options(io, how));
    words.extend(parameters::FIO.iter().flat_map(|option| option(io)));
    words.push("--group_reporting".to_owned());
    ManualCommand { words, remarks: remarks(io, engine, how.note) }
}

fn fio_engine(io: &IoPlan) -> Engine {
    match io.engine {
        Engine::Simulated if io.queue_depth > 1 => Engine::IoUring,
        Engine::Simulated => Engine::Psync,
        engine => engine,
    }
}

/// The name without spaces, and with `-` for other special characters.
fn job_name(name: &str) -> String {
    let plain = name.chars().filter(|c| !c.is_whitespace());
    plain.map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

/// The value of `--rw`, such as `randread`; zeroing counts as writing.
fn rw_value(io: &IoPlan) -> String {
    let random = if is_random(io) { "rand" } else { "" };
    let mix = match (io.mix.reads(), io.mix.carries()) {
        (true, true) => "rw",
        (true, false) => "read",
        (false, false) if io.mix.percent(Class::Trim) > 0 => "trim",
        (false, _) => "write",
    };
    format!("{random}{mix}")
}

/// Percentage of reads in fio's mix of reads and writes, which has no other operations.
fn read_percent(mix: Mix) -> u32 {
    let [reads, writes] = [Class::Read, Class::Write].map(|class| u32::from(mix.percent(class)));
    let both = reads + writes;
    if both == 0 {
        return u32::from(mix.read_percent());
    }
    // Rounded to the nearest percent.
    (100 * reads + both / 2) / both
}

/// The remark on trims and zeroing, which fio cannot mix with other operations.
fn mix_remark(mix: Mix) -> Option<&'static str> {
    let [trims, zeroes] = [Class::Trim, Class::Zero].map(|class| mix.percent(class));
    match (trims, zeroes) {
        (0, 0) => None,
        (100, 0) => Some("fio trims only block devices, not files"),
        (0, 100) => Some("fio does not support write-zeroes; this line writes zeros as data"),
        _ => Some(
            "fio cannot mix trims or write-zeroes with other operations; this line contains only the reads and writes, \
             or only the trims",
        ),
    }
}

fn is_random(io: &IoSpec) -> bool {
    io.pattern == Pattern::Random
}

/// Suffix of `--rw`: the gap between two blocks of a stride, or of evenly spaced ones in whole pages.
fn gap_suffix(io: &IoPlan, area: &Area) -> String {
    let step = match io.operations {
        Some(operations) if io.pattern == Pattern::Spaced => {
            area.length / operations.max(1) / PAGE * PAGE
        }
        _ => io.strides().unwrap_or_default().0,
    };
    let gap = step.saturating_sub(io.block_size.largest().0);
    if gap == 0 { String::new() } else { format!(":{}", fio_size(gap)) }
}

/// When a trial ends: by time, or by its operations if they are done before.
fn end_options(io: &IoPlan, how: &ManualRun<'_>) -> Vec<String> {
    let runtime = format!("--runtime={}", fio_time(how.time_ns));
    let ramp = format!("--ramp_time={}", fio_time(how.ramp_ns));
    match io.operations {
        None => vec![runtime, "--time_based".to_owned(), ramp],
        Some(operations) => {
            let each = operations.div_ceil(u64::from(io.threads).max(1));
            let end = match io.block_size.one() {
                Some(one_size) => {
                    format!("--io_size={}", fio_size(each.saturating_mul(one_size.0)))
                }
                None => format!("--number_ios={each}"),
            };
            vec![runtime, end]
        }
    }
}

/// The offset range. Each sequential thread has a slice.
fn range_options(io: &IoPlan, area: &Area) -> Vec<String> {
    let mut words = Vec::new();
    if area.start > 0 {
        words.push(format!("--offset={}", fio_size(area.start)));
    }
    let block = io.block_size.largest().0.max(1);
    let threads = u64::from(io.threads).max(1);
    if matches!(io.pattern, Pattern::Sequential | Pattern::Stride) && threads > 1 {
        let slice = area.length / block / threads * block;
        words.push(format!("--size={}", fio_size(slice)));
        words.push(format!("--offset_increment={}", fio_size(slice)));
    } else {
        words.push(format!("--size={}", fio_size(area.length / block * block)));
    }
    words
}

pub(super) fn random(io: &IoSpec) -> Vec<String> {
    let drawn: &[&str] = if is_random(io) { &["--norandommap", "--randrepeat=0"] } else { &[] };
    drawn.iter().copied().map(str::to_owned).collect()
}

/// The option for the distribution of random offsets; none if it is uniform.
pub(super) fn access(io: &IoSpec) -> Vec<String> {
    let law = match io.distribution {
        Access::Uniform => return Vec::new(),
        Access::Zipf(theta) => format!("zipf:{theta}"),
        Access::Pareto(share) => format!("pareto:{share}"),
        Access::Zones(zones) => {
            let zone = |zone: &Zone| format!("{}/{}", zone.operations_percent, zone.area_percent);
            format!("zoned:{}", zones.all().iter().map(zone).collect::<Vec<_>>().join(":"))
        }
    };
    vec![format!("--random_distribution={law}")]
}

pub(super) fn align(io: &IoSpec) -> Vec<String> {
    io.aligned().map(|bytes| format!("--blockalign={}", fio_size(bytes.0))).into_iter().collect()
}

/// The options for the content of written blocks.
pub(super) fn content(io: &IoSpec) -> Vec<String> {
    if io.mix.percent(Class::Zero) == 100 {
        return vec!["--zero_buffers".to_owned()];
    }
    if !io.mix.carries() {
        return Vec::new();
    }
    match io.compressibility {
        Content::Zero => vec!["--zero_buffers".to_owned()],
        Content::Random => vec!["--refill_buffers".to_owned()],
        Content::Partly(_) => vec![
            "--refill_buffers".to_owned(),
            format!("--buffer_compress_percentage={}", io.compressibility.compressible_percent()),
            format!("--buffer_compress_chunk={PAGE}"),
        ],
    }
}

pub(super) fn sync(io: &IoSpec) -> Vec<String> {
    if !io.mix.carries() {
        return Vec::new();
    }
    let option = match io.sync {
        WriteSync::None => return Vec::new(),
        WriteSync::EachWrite => "--fdatasync=1".to_owned(),
        WriteSync::EachNth(every) => format!("--fdatasync={every}"),
        WriteSync::Fsync(every) => format!("--fsync={every}"),
        WriteSync::DataSynced => "--sync=o_dsync".to_owned(),
        WriteSync::Synced => "--sync=sync".to_owned(),
    };
    vec![option]
}

pub(super) fn duplicates(io: &IoSpec) -> Vec<String> {
    let has_some = io.mix.carries() && io.duplicates != Duplicates::NONE;
    let share = has_some.then(|| format!("--dedupe_percentage={}", io.duplicates.percent()));
    share.into_iter().collect()
}

/// The options for an arrival rate, which fio sets per thread and, in a mix, per direction.
pub(super) fn rate(io: &IoSpec) -> Vec<String> {
    let Some(rate) = io.arrival_rate else { return Vec::new() };
    let per_thread = rate.per_s().div_ceil(u64::from(io.threads).max(1));
    let number = if io.mix.reads() && io.mix.writes() {
        let reads = (per_thread * u64::from(io.mix.read_percent())).div_ceil(100).max(1);
        format!("{reads},{}", per_thread.saturating_sub(reads).max(1))
    } else {
        per_thread.to_string()
    };
    let law = match io.arrival_process {
        Arrivals::Fixed => "linear",
        Arrivals::Poisson => "poisson",
    };
    vec![format!("--rate_iops={number}"), format!("--rate_process={law}")]
}

pub(super) fn think(io: &IoSpec) -> Vec<String> {
    let pause = io.think_time.map(|think| format!("--thinktime={}us", think.0.div_ceil(1000)));
    pause.into_iter().collect()
}

pub(super) fn verified(io: &IoSpec) -> Vec<String> {
    let options: &[&str] = if verify::stamps(io) { &["--verify=crc32c"] } else { &[] };
    options.iter().copied().map(str::to_owned).collect()
}

/// Remarks on what fio does differently from Assay with this line.
fn remarks(io: &IoPlan, engine: Engine, note: Option<&str>) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut add = |applies: bool, text: &str| {
        if applies {
            remarks.push(text.to_owned());
        }
    };
    add(io.engine == Engine::Simulated, "fio has no simulated drive; replace FILE by a real drive");
    add(
        engine == Engine::Psync && io.queue_depth > 1,
        "psync ignores --iodepth: each thread has one operation in flight",
    );
    add(
        io.mix == Mix::Rewrite,
        "fio has no rewrite; this line reads and writes equal shares of blocks, but does not write back the blocks \
         that it read",
    );
    add(io.pin, "to pin threads, add --cpus_allowed=LIST --cpus_allowed_policy=split");
    add(
        io.pattern == Pattern::Spaced,
        "fio uses a fixed step; Assay rounds each offset down to a block",
    );
    add(
        io.pattern == Pattern::Stride,
        "fio repeats the same blocks in each pass; Assay starts each pass one block further",
    );
    add(
        matches!(io.distribution, Access::Zipf(_) | Access::Pareto(_)),
        "fio scatters ranks with a hash, so some blocks have several ranks and others none; in Assay, each block has \
         one rank",
    );
    add(
        io.rw_split == Apart::Halves,
        "one fio job reads and writes the whole file; to use halves, run two jobs with different offsets",
    );
    add(
        io.mix.carries() && matches!(io.sync, WriteSync::EachWrite | WriteSync::EachNth(_)),
        "Assay includes the fdatasync in the latency of its write; fio reports it separately",
    );
    add(
        io.mix.carries() && matches!(io.sync, WriteSync::Fsync(_)),
        "Assay includes the fsync in the latency of its write; fio reports it separately",
    );
    add(
        io.arrival_rate.is_some(),
        "fio measures latency from submission, like Assay's service time, so it excludes the wait for a free slot",
    );
    add(
        io.arrival_rate
            .is_some_and(|rate| !rate.per_s().is_multiple_of(u64::from(io.threads).max(1))),
        "fio's rate is per thread, in whole operations, so the total rate is slightly higher",
    );
    add(
        io.think_time.is_some() && io.queue_depth > 1,
        "fio pauses the whole thread after each operation; Assay pauses only one slot of the queue",
    );
    add(
        io.mix.carries() && io.duplicates != Duplicates::NONE,
        "fio repeats a previously written buffer; Assay copies 4 KiB pieces from 256 blocks",
    );
    add(
        verify::stamps(io),
        "fio writes its own header into each block; if two writes overlapped in flight, Assay accepts either",
    );
    remarks.extend(mix_remark(io.mix).map(str::to_owned));
    remarks.extend(note.map(str::to_owned));
    remarks
}

/// Bytes in fio's format: exact, in powers of 1024.
fn fio_size(bytes: u64) -> String {
    let units = [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    let unit = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, name)| format!("{}{name}", bytes / unit))
}

/// A time in fio's format, in whole microseconds; from 100 ms on in whole milliseconds, which are shorter.
fn fio_time(ns: u64) -> String {
    let step_ns = if ns < 100_000_000 { 1000 } else { 1_000_000 };
    let us = ns.div_ceil(step_ns) * (step_ns / 1000);
    let units = [(1_000_000, "s"), (1000, "ms"), (1, "us")];
    let (unit, name) =
        units.into_iter().find(|(unit, _)| us.is_multiple_of(*unit)).unwrap_or((1, "us"));
    format!("{}{name}", us / unit)
}

#[cfg(test)]
mod tests {
    use assay_core::quantity::Bytes;

    use super::*;

    /// Random 4 KiB reads, queue depth 32, with these changes.
    fn io(change: impl FnOnce(&mut IoPlan)) -> IoPlan {
        let asked = IoSpec { queue_depth: 32, ..IoSpec::default() };
        let mut planned = IoPlan::new(asked, Engine::IoUring);
        change(&mut planned);
        planned
    }

    fn reads() -> IoPlan {
        io(|_| {})
    }

    const AREA: Area =
        Area { start: 0, length: 64 << 20, asked: 64 << 20, written: true, fill_ns: 0 };

    fn how(path: &str) -> ManualRun<'_> {
        ManualRun {
            name: "read-size-4 KiB",
            area: AREA,
            path,
            ramp_ns: 250_000_000,
            time_ns: 10_000_000_000,
            note: None,
            background: None,
        }
    }

    fn text(io: &IoPlan) -> String {
        command(io, &how("dir/area")).words.join(" ")
    }

    #[test]
    fn a_random_read() {
        assert_eq!(
            text(&reads()),
            "fio --name=read-size-4KiB --filename=dir/area --rw=randread --bs=4k --iodepth=32 \
             --numjobs=1 --direct=1 --ioengine=io_uring --size=64m --runtime=10s --time_based \
             --ramp_time=250ms --norandommap --randrepeat=0 --group_reporting"
        );
    }

    #[test]
    fn sequential_writers_have_a_slice_each() {
        let writers = io(|io| {
            io.pattern = Pattern::Sequential;
            io.mix = Mix::Shares { read_percent: 30 };
            io.block_size = Bytes(1 << 20).into();
            (io.threads, io.queue_depth) = (3, 1);
            io.engine = Engine::Psync;
            io.sync = WriteSync::EachWrite;
            io.compressibility = Content::Zero;
            io.direct = false;
        });
        let text = text(&writers);
        for part in [
            "--rw=rw --rwmixread=30 --bs=1m",
            "--numjobs=3 --thread --direct=0",
            "--size=21m --offset_increment=21m",
            "--zero_buffers --fdatasync=1",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("randommap"), "{text}");
    }

    #[test]
    fn what_fio_does_not_have_is_told_with_the_nearest() {
        let rewrites = io(|io| (io.pattern, io.mix) = (Pattern::Sequential, Mix::Rewrite));
        let found = command(&rewrites, &how("a"));
        assert!(found.words.join(" ").contains("--rw=rw --rwmixread=50"), "{:?}", found.words);
        assert!(found.remarks[0].contains("fio has no rewrite"), "{:?}", found.remarks);
        let spread = io(|io| {
            (io.pattern, io.block_size, io.operations) =
                (Pattern::Spaced, Bytes(1 << 20).into(), Some(16));
        });
        let found = command(&spread, &how("a"));
        let text = found.words.join(" ");
        assert!(text.contains("--rw=read:3m "), "{text}");
        assert!(text.contains("--size=64m --runtime=10s --io_size=16m --group"), "{text}");
        assert!(found.remarks[0].contains("a fixed step"), "{:?}", found.remarks);
    }

    #[test]
    fn a_rate_is_that_of_a_thread_and_of_a_direction() {
        let rate = |threads: u32, mix: Mix, arrivals: Arrivals| {
            command(
                &io(|io| {
                    io.arrival_rate = Some("5000/s".parse().unwrap());
                    (io.threads, io.mix, io.arrival_process) = (threads, mix, arrivals);
                }),
                &how("a"),
            )
        };
        let found = rate(2, Mix::READS, Arrivals::Fixed);
        let text = found.words.join(" ");
        assert!(text.contains("--rate_iops=2500 --rate_process=linear"), "{text}");
        assert_eq!(found.remarks.len(), 1, "{:?}", found.remarks);
        assert!(found.remarks[0].contains("from submission"));
        let found = rate(3, Mix::Shares { read_percent: 70 }, Arrivals::Poisson);
        let text = found.words.join(" ");
        assert!(text.contains("--rate_iops=1167,500 --rate_process=poisson"), "{text}");
        assert!(found.remarks[1].contains("slightly higher"), "{:?}", found.remarks);
        let rests = io(|io| {
            (io.queue_depth, io.think_time) = (1, Some(assay_core::quantity::Time(1_500_000)));
        });
        let found = command(&rests, &how("a"));
        assert!(found.words.contains(&"--thinktime=1500us".to_owned()) && found.remarks.is_empty());
        let plain = command(&reads(), &how("a")).words.join(" ");
        assert!(!plain.contains("rate_iops") && !plain.contains("think"), "{plain}");
    }

    #[test]
    fn trims_and_copies_and_every_nth_sync_have_their_words() {
        let line_of = |mix: &str| {
            let own = io(|io| {
                (io.mix, io.sync) = (mix.parse().unwrap(), WriteSync::EachNth(8));
                io.duplicates = "30%".parse().unwrap();
            });
            let found = command(&own, &how("/dev/sdx"));
            (found.words.join(" "), found.remarks.join("; "))
        };
        let (words, remarks) = line_of("write");
        assert!(words.contains("--refill_buffers --dedupe_percentage=30 --fdatasync=8"), "{words}");
        assert!(remarks.contains("256 blocks") && remarks.contains("fdatasync"), "{remarks}");
        let (words, remarks) = line_of("trim");
        assert!(
            words.contains("--rw=randtrim ") && remarks.contains("only block devices"),
            "{words}"
        );
        assert!(!words.contains("fdatasync") && !words.contains("buffers"), "{words}");
        let (words, remarks) = line_of("zero");
        assert!(words.contains("--rw=randwrite ") && words.contains("--zero_buffers"), "{words}");
        assert!(remarks.contains("support write-zeroes"), "{remarks}");
        let (words, remarks) = line_of("read/60:write/30:trim/10");
        assert!(words.contains("--rw=randrw --rwmixread=67 "), "{words}");
        assert!(remarks.contains("cannot mix trims"), "{remarks}");
        assert!(!remarks_of_reads().contains("trims"));
    }

    #[test]
    fn each_kind_of_sync_has_its_word_in_fio() {
        for (sync, word) in [
            ("fsync", "--fsync=1"),
            ("fsync:8", "--fsync=8"),
            ("o_dsync", "--sync=o_dsync"),
            ("o_sync", "--sync=sync"),
        ] {
            let written = |mix: &str| {
                let own = io(|io| {
                    (io.mix, io.sync) = (mix.parse().unwrap(), sync.parse().unwrap());
                });
                command(&own, &how("/dev/sdx")).words.join(" ")
            };
            assert!(written("write").contains(word), "{sync}");
            assert!(!written("read").contains("sync="), "{sync}");
        }
    }

    fn remarks_of_reads() -> String {
        command(&reads(), &how("a")).remarks.join("; ")
    }

    #[test]
    fn what_fio_does_otherwise_is_said() {
        let odd = io(|io| io.engine = Engine::Psync);
        let told = command(&odd, &ManualRun { note: Some("depth 32 of 64"), ..how("a") }).remarks;
        assert_eq!(told.len(), 2);
        assert!(told[0].contains("one operation in flight") && told[1].contains("32 of 64"));
        let simulated = io(|io| io.engine = Engine::Simulated);
        assert!(command(&simulated, &how("FILE")).remarks[0].contains("no simulated drive"));
    }

    #[test]
    fn sizes_laws_and_strides_are_told_in_the_words_of_fio() {
        let mixed = io(|io| {
            io.block_size = "4KiB/70:64KiB/30".parse().unwrap();
            io.distribution = "zipf:1.2".parse().unwrap();
            (io.align, io.operations) = (Some(Bytes(8192)), Some(1000));
        });
        let found = command(&mixed, &how("a"));
        let words = found.words.join(" ");
        for part in [
            "--bssplit=4k/70:64k/30",
            "--random_distribution=zipf:1.2",
            "--number_ios=1000",
            "--blockalign=8k",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert!(
            found.remarks.iter().any(|remark| remark.contains("with a hash")),
            "{:?}",
            found.remarks
        );
        let hot = io(|io| io.distribution = "zoned:80/20:20/80".parse().unwrap());
        assert!(text(&hot).contains("--random_distribution=zoned:80/20:20/80"));
        let stride = io(|io| {
            (io.pattern, io.stride, io.threads) = (Pattern::Stride, Some(Bytes(64 << 10)), 2);
        });
        let found = command(&stride, &how("a"));
        let words = found.words.join(" ");
        assert!(words.contains("--rw=read:60k "), "{words}");
        assert!(words.contains("--size=32m --offset_increment=32m"), "{words}");
        assert!(found.remarks.iter().any(|remark| remark.contains("one block further")));
        let apart = io(|io| {
            io.block_size = "read 4 KiB; write 8 KiB".parse().unwrap();
            (io.mix, io.rw_split) = (Mix::Shares { read_percent: 50 }, Apart::Halves);
        });
        let found = command(&apart, &how("a"));
        assert!(found.words.contains(&"--bs=4k,8k".to_owned()), "{:?}", found.words);
        assert!(found.remarks.iter().any(|remark| remark.contains("to use halves")));
        // Without any of it, there is no remark.
        assert!(command(&reads(), &how("a")).remarks.is_empty());
    }

    #[test]
    fn amounts_are_exact_in_the_units_of_fio() {
        assert_eq!([0, 512, 4096, 3 << 19].map(fio_size), ["0", "512", "4k", "1536k"]);
        assert_eq!(
            [0, 1, 1_500_000, 2_220_114_286, 2_000_000_000].map(fio_time),
            ["0s", "1us", "1500us", "2221ms", "2s"]
        );
    }

    #[test]
    fn a_colon_in_a_path_is_no_second_file() {
        let area = Area { start: 4096, ..AREA };
        let words = command(&reads(), &ManualRun { area, ..how("/dev/pci-0:1") }).words;
        assert_eq!(words[2], "--filename=/dev/pci-0\\:1");
        assert!(words.contains(&"--offset=4k".to_owned()));
    }
}
