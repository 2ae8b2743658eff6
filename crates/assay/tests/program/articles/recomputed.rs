//! The verdict of every claim in `claims.csv`, computed from the published tables. Where a
//! difference is wanted, change the row of `claims.csv`; the failure tells what it should say.
//!
//! The rules, the same for all claims:
//!
//! 1. *Arithmetic* (one printed number follows from others): supported where the printed digits are
//!    the computed number rounded or cut off, else contradicted. A fraction in words
//!    (halves and thirds) holds within half a tenth, because words round to one digit: 19 of 30 may
//!    be called two thirds, 18 or 24 may not.
//! 2. *A difference between settings* is supported only where chance is a poor explanation of it:
//!    - a number that lies against the claim, in one of its rows: contradicted;
//!    - size, mean and standard deviation are printed: Welch's test at 5%, which then decides alone.
//!      Where single operations are the unit, the reason says so: the true p is larger;
//!    - a mean of n runs without spread: supported where the runs would have to scatter by more than
//!      is believed of any bench ([`BELIEVABLE_SCATTER`]) to hide the difference;
//!    - *X is best* (or worst) in several rows: the same, row by row, so that the smallest lead
//!      decides. A row with a doubted number (it stands in a second row, or the link cannot carry
//!      it) counts neither for nor against;
//!    - single readings, rows that share a reading, runs that nobody counted: not shown.
//! 3. *No difference*: contradicted where rule 2 shows a difference, else not shown: single readings
//!    show neither, and that two things are the same takes an interval, which nobody published.
//! 4. *A limit*: contradicted by one number beyond it. To keep a limit that arithmetic sets is
//!    support; not to break one that physics sets shows nothing.
//! 5. *A count of steps*: contradicted where the steps that are listed give another, or a measurement
//!    does: what was moved, in whole steps, rounded to the nearest.
//! 6. No number that could speak: no data.
//! 7. A premise that nobody knows (whether a monitor takes a blanking that it was never asked for):
//!    what would follow is told, and it is not shown.
//!
//! Supported means that the printed numbers carry the claim, not that it holds elsewhere.

use assay_core::calc::modeline::{self, Better, Check, Limits, TIMINGS};
use assay_core::presence::Presence;
use assay_core::reference::Library;
use assay_core::reference::sheet::{Printed, Sheet, SheetRow};
use assay_core::stats::{Sample, welch};

/// Scatter of repeats, as a fraction, that is still believed of a machine that nobody watched:
/// repeats of one program on bare metal of a shared machine were seen to differ by that much.
const BELIEVABLE_SCATTER: f64 = 0.26;

type Judged = (&'static str, &'static str);

#[test]
fn every_verdict_follows_from_the_tables() {
    let mut expected = Vec::new();
    for topic in [
        virtualisation,
        anchors,
        prose,
        modes,
        raid,
        encryption,
        ssd,
        schedulers,
        workload_starvation,
    ] {
        expected.extend(topic());
    }
    let claims = sheet("claims.csv");
    assert_eq!(claims.rows().count(), expected.len());
    for (claim, verdict) in expected {
        let row = claims.one(&[("claim", claim)]).unwrap();
        assert_eq!(row.text("verdict").unwrap(), verdict, "{claim}");
    }
}

fn sheet(name: &str) -> Sheet {
    Library::shipped().sheet(name).unwrap()
}

fn number(sheet: &Sheet, wanted: &[(&str, &str)], column: &str) -> f64 {
    sheet.one(wanted).unwrap().positive(column).unwrap()
}

fn text<'a>(row: SheetRow<'a>, column: &str) -> &'a str {
    row.text(column).unwrap()
}

fn says(printed: &str, amount: f64) -> bool {
    Printed::parse(printed).unwrap().says(amount)
}

/// The scatter of single runs, as a fraction of each mean, from which on chance alone would explain
/// the difference of two means of five runs (Welch at 5%).
fn scatter_that_hides(first: f64, second: f64) -> f64 {
    let (mut low, mut high) = (0.0, 16.0);
    for _ in 0..60 {
        let scatter = f64::midpoint(low, high);
        let of = |mean| Sample { n: 5, mean, sd: Some(scatter * mean) };
        if welch(&of(first), &of(second)).unwrap().p >= 0.05 {
            high = scatter;
        } else {
            low = scatter;
        }
    }
    high
}

fn virtualisation() -> Vec<Judged> {
    let sheet = sheet("virtualisation.csv");
    let bare = number(&sheet, &[("place", "bare metal")], "seconds");
    let (mut least, mut follow) = (f64::INFINITY, true);
    for row in sheet.rows() {
        let seconds = row.positive("seconds").unwrap();
        if text(row, "place") != "bare metal" {
            least = least.min(seconds);
        }
        follow &= says(text(row, "published_percent"), 100.0 * bare / seconds);
    }
    let (share, again) = (100.0 * bare / least, 100.0 * (least / bare - 1.0));
    let esxi = 100.0 * bare / number(&sheet, &[("place", "VMware ESXi 5.0.0")], "seconds");
    let lower = 100.0 - esxi;
    vec![
        (
            "every hypervisor loses at least a fifth of the speed of bare metal",
            if share < 80.0 { "not shown" } else { "contradicted" },
        ),
        (
            "the published percentages follow from the seconds",
            if follow { "supported" } else { "contradicted" },
        ),
        (
            "bare metal is 26.32% faster than the best hypervisor",
            if says("26.32", again) { "supported" } else { "contradicted" },
        ),
        (
            "VMware ESXi is 24% slower than bare metal",
            if says("24", lower) { "supported" } else { "contradicted" },
        ),
    ]
}

fn anchors() -> Vec<Judged> {
    let sheet = sheet("anchors.csv");
    let writes = |item| sheet.one(&[("item", item), ("metric", "random write 4K")]).unwrap();
    let disk = writes("5400 rpm laptop disk");
    let line = disk.positive("value").unwrap();
    let (mut measured, mut below) = (0, 0);
    for row in sheet.rows() {
        if text(row, "metric") == "random write 4K" && text(row, "kind") == "measured" {
            measured += 1;
            below += usize::from(row.positive("value").unwrap() < line);
        }
    }
    let own = writes("best SD card (part 1)").positive("value").unwrap();
    let vendor = writes("InnoDisk miniDOM-U").positive("value").unwrap();
    let free = number(&sheet, &[("item", "5 Mbit/s uplink unshaped")], "value");
    let capped = number(&sheet, &[("item", "5 Mbit/s uplink capped 4 Mbit/s")], "value");
    let memory = self::sheet("memory.csv");
    let stack = memory.one(&[("item", "stack soft limit")]).unwrap();
    vec![
        (
            "a 5400 rpm laptop disk reaches 90 random IOPS, and most cards reach far fewer write IOPS",
            match measured {
                0..3 => "no data",
                _ if 2 * below > measured => "supported",
                _ => "contradicted",
            },
        ),
        (
            "19 write IOPS is two thirds of the vendor's 30 IOPS",
            if (own / vendor - 2.0 / 3.0).abs() <= 0.05 { "supported" } else { "contradicted" },
        ),
        (
            "a cap of 4 Mbit/s on a 5 Mbit/s link reduces latency from 600 ms to 20 ms",
            if free == 600.0 && capped == 20.0 { "not shown" } else { "contradicted" },
        ),
        (
            "a 256 KB stack limit saves a rather substantial amount of memory",
            if text(stack, "recomputed").is_empty() { "no data" } else { "not shown" },
        ),
    ]
}

/// A number of `prose.csv` in bytes, seconds or as it is.
fn amount(item: &str, metric: &str) -> f64 {
    let sheet = sheet("prose.csv");
    let row = sheet.one(&[("item", item), ("metric", metric)]).unwrap();
    let one = match text(row, "unit") {
        "TB" => 1e12,
        "GB" => 1e9,
        "MB/s" => 1e6,
        "MiB" => 1024.0 * 1024.0,
        "KiB" => 1024.0,
        "h" => 3600.0,
        "min" => 60.0,
        _ => 1.0,
    };
    one * row.positive("value").unwrap()
}

fn only_told(claim: &'static str, item: &str) -> Judged {
    let sheet = sheet("prose.csv");
    let row = sheet.one(&[("item", item)]).unwrap();
    let verdict = if text(row, "value").is_empty() { "no data" } else { "not shown" };
    (claim, verdict)
}

fn prose() -> Vec<Judged> {
    let card = |metric| amount("test of a card", metric);
    let [all, each] = ["bytes written", "bytes a write"].map(card);
    let [iops, limit] = ["rate", "time"].map(card);
    let seconds = all / each / iops;

    let sync = |metric| amount("initial sync of the array", metric);
    let [disk, rate] = ["capacity of a disk", "rate of a disk"].map(sync);
    let took = sync("time");

    let first = |metric| amount("initial encryption", metric);
    let [capacity, time] = ["capacity", "time"].map(first);
    let [lowest, highest] = ["lowest rate", "highest rate"].map(first);
    // 50 minutes stand for 45 to 55.
    let (fast, slow) = (capacity / (time - 300.0), capacity / (time + 300.0));

    let place = |by| amount("btrfs random reads", by);
    let [by_rate, by_latency] = ["place by rate", "place by latency"].map(place);
    vec![
        (
            "a card with 1 IOPS takes over 24 hours to test",
            if seconds > limit { "supported" } else { "contradicted" },
        ),
        (
            "the initial sync took 8 hours at 100 MB/s per disk",
            if (disk / rate - took).abs() <= 1800.0 { "supported" } else { "contradicted" },
        ),
        (
            "the initial encryption of 256 GB took 50 minutes at 95 to 120 MB/s",
            if fast >= lowest && slow <= highest { "not shown" } else { "contradicted" },
        ),
        (
            // By Little's law the lowest rate at equal threads is the longest latency.
            "btrfs has the lowest rate and the lowest latency of random reads at equal threads",
            if by_rate == by_latency { "not shown" } else { "contradicted" },
        ),
        only_told("Midori uses half of the memory of other browsers", "Midori"),
        only_told("zswap allows a full Web experience with 384 MB of memory", "zswap on 384 MB"),
    ]
}

/// A published mode, checked against its limits; its own clock is the most that is known to work.
fn checked(name: &str) -> Check {
    let sheet = sheet("modelines.csv");
    let row = sheet.one(&[("name", name)]).unwrap();
    let value = |column| row.positive(column).unwrap();
    let limits = Limits {
        clock_max_mhz: Some(value("clock_mhz")),
        h_khz: Some([value("hmin_khz"), value("hmax_khz")]),
        v_hz: Some([value("vmin_hz"), value("vmax_hz")]),
    };
    // The columns from the clock to vtotal are in the order in which programs write them.
    modeline::check(modeline::parse(&row.cells()[1..10].join(" ")).unwrap(), limits, &TIMINGS)
}

fn modes() -> Vec<Judged> {
    let (monitor, guest) = (checked("3840x2400@17.1"), checked("2880x1800C"));
    let Presence::Present(Better { is_better, .. }) = &monitor.better else {
        panic!("no formula gives a mode");
    };
    vec![
        (
            "17.1 Hz is the limit of a single link",
            if *is_better { "not shown" } else { "supported" },
        ),
        (
            "the mode fits the driver's limits",
            if guest.limits.iter().all(|limit| limit.fits) { "supported" } else { "contradicted" },
        ),
    ]
}

fn raid() -> Vec<Judged> {
    let sheet = sheet("raid.csv");
    let of = |model: &str, chunk: &str, column: &str| {
        number(&sheet, &[("model", model), ("chunk_kib", chunk)], column)
    };
    let stripes =
        |model: &str| of(model, "128", "reads_stripes") + of(model, "128", "writes_stripes");
    let (said, listed) = (stripes("published"), stripes("as-listed"));
    let mut agrees = said == listed;
    for chunk in ["128", "1024"] {
        let [published, steps, md] =
            ["published", "as-listed", "md"].map(|model| of(model, chunk, "kib_moved"));
        let kib: f64 = chunk.parse().unwrap();
        assert_eq!([published, steps], [kib * said, kib * listed]);
        agrees &= (md / kib).round() == said;
    }
    vec![(
        "a 2 KB change moves almost 1 MB with 128K stripes and 7 MB with 1M stripes",
        if agrees { "supported" } else { "contradicted" },
    )]
}

fn encryption() -> Vec<Judged> {
    let sheet = sheet("encryption.csv");
    let of = |state: &str, op: &str, column: &str| {
        number(&sheet, &[("state", state), ("op", op)], column)
    };
    let ratio = |op: &str, column: &str| of("on", op, column) / of("off", op, column);
    let time = ["read", "write"].map(|op| 100.0 * (ratio(op, "seconds") - 1.0));
    vec![
        (
            "encryption costs 5.5% for reads and 8.1% for writes",
            if says("5.5", time[0]) && says("8.1", time[1]) { "not shown" } else { "contradicted" },
        ),
        (
            "CPU usage was about the same with and without encryption",
            // Of one run each there is no scatter to hold a difference against.
            if sheet.statistic() == "one run" { "not shown" } else { "contradicted" },
        ),
    ]
}

fn ssd() -> Vec<Judged> {
    let sheet = sheet("ssd520.csv");
    let boot = [("test", "boot")];
    let (ssd, disk) = (number(&sheet, &boot, "ssd"), number(&sheet, &boot, "hdd"));
    let (ratio, scatter) = (disk / ssd, scatter_that_hides(ssd, disk));
    // The energy of a job times how much faster it was done is its mean power.
    let jobs = sheet.rows().filter(|row| text(*row, "energy_published").contains('/'));
    let more = jobs.into_iter().any(|row| row.positive("ratio_published").unwrap() > 1.0);
    vec![
        (
            "boot improves by a factor of about 3.2",
            match says("3.2", ratio) {
                false => "contradicted",
                true if scatter > BELIEVABLE_SCATTER => "supported",
                true => "not shown",
            },
        ),
        (
            "for the same job, the SSD uses 1/3 to 1/4 of the power of the disk",
            if more { "contradicted" } else { "not shown" },
        ),
    ]
}

/// What SATA 6.0 Gbit/s, the link of the drive, can carry: bytes per second.
const LINK: f64 = 600e6;
/// A clock may be off by so much.
const LINK_TOLERANCE: f64 = 1.01;
const SCHEDULERS: [&str; 3] = ["cfq", "noop", "deadline"];

/// Bytes per second of a rate: Bonnie++ counts in 1024 bytes what it prints as K.
fn rate(row: SheetRow<'_>, scheduler: &str) -> f64 {
    1024.0 * row.positive(scheduler).unwrap()
}

/// A claim that a scheduler comes first, or last, in all rows of a file system and of operations.
fn ranking(claim: &'static str, fs: &str, ops: &[&str], scheduler: &str, lowest: bool) -> Judged {
    let sheet = sheet("schedulers.csv");
    let mut all = Vec::new();
    for row in sheet.rows() {
        all.extend(SCHEDULERS.map(|name| rate(row, name)));
    }
    // Of each row without a doubted number how far the scheduler leads, and the scatter that would hide it.
    let mut leads: Vec<(f64, f64)> = Vec::new();
    for row in sheet.rows().filter(|row| fs.is_empty() || text(*row, "fs") == fs) {
        let rates = SCHEDULERS.map(|name| rate(row, name));
        let is_copied = |rate: &f64| all.iter().filter(|other| *other == rate).count() > 1;
        let is_doubted = rates.iter().any(|rate| is_copied(rate) || *rate > LINK * LINK_TOLERANCE);
        if !ops.contains(&text(row, "op")) || is_doubted {
            continue;
        }
        let sign = if lowest { -1.0 } else { 1.0 };
        let others = SCHEDULERS.into_iter().filter(|other| *other != scheduler);
        let next = others.max_by(|a, b| (sign * rate(row, a)).total_cmp(&(sign * rate(row, b))));
        let [own, rival] = [scheduler, next.unwrap()].map(|name| row.positive(name).unwrap());
        leads.push((sign * (own / rival).ln(), scatter_that_hides(own, rival)));
    }
    match leads.iter().min_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((lead, _)) if *lead < 0.0 => (claim, "contradicted"),
        Some((_, scatter)) if *scatter > BELIEVABLE_SCATTER => (claim, "supported"),
        _ => (claim, "not shown"),
    }
}

fn schedulers() -> Vec<Judged> {
    let sheet = sheet("schedulers.csv");
    let is_beyond =
        |row: SheetRow<'_>| SCHEDULERS.iter().any(|name| rate(row, name) > LINK * LINK_TOLERANCE);
    let mut rows = sheet.rows();
    let is_any_beyond = rows.any(is_beyond);
    let all = ["write", "rewrite", "read"];
    vec![
        ranking("noop is a clear winner for ext4", "ext4", &all, "noop", false),
        ranking("deadline performs best for xfs", "xfs", &all, "deadline", false),
        ranking(
            "noop is marginally better for btrfs writes and re-writes",
            "btrfs",
            &["write", "rewrite"],
            "noop",
            false,
        ),
        ranking("deadline is best for btrfs reads", "btrfs", &["read"], "deadline", false),
        ranking("CFQ is the least optimal choice", "", &all, "cfq", true),
        (
            "the published rates are rates of the drive",
            if is_any_beyond { "contradicted" } else { "not shown" },
        ),
    ]
}

/// One class of operations under one setting: the row of the summary, and its histogram.
struct Side {
    n: f64,
    mean_us: f64,
    sd_us: f64,
    /// From, to (microseconds) and how many.
    buckets: Vec<[f64; 3]>,
}

impl Side {
    fn read(class: &str, level: &str) -> Self {
        let (summary, histograms) = (sheet("zfs_summary.csv"), sheet("zfs_histograms.csv"));
        let wanted = [("async_write_max_active", level), ("class", class)];
        let row = summary.one(&wanted).unwrap();
        let value = |row: SheetRow<'_>, column| row.printed(column).unwrap().value;
        let mut buckets = Vec::new();
        for row in histograms.rows() {
            if wanted.iter().all(|(column, word)| text(row, column) == *word) {
                buckets.push(["from_us", "to_us", "count"].map(|column| value(row, column)));
            }
        }
        let [n, mean_us, sd_us] = ["count", "avg_us", "stddev_us"].map(|column| value(row, column));
        Self { n, mean_us, sd_us, buckets }
    }

    /// The histogram holds as many operations as the summary says, and allows their mean.
    fn agrees(&self) -> bool {
        let sum = |of: fn(&[f64; 3]) -> f64| self.buckets.iter().map(of).sum::<f64>();
        let least = sum(|[from, _, count]| from * count) / self.n;
        let most = sum(|[_, to, count]| to * count) / self.n;
        sum(|[.., count]| *count) == self.n && (least..=most).contains(&self.mean_us)
    }
}

/// What became of a class: the claim is that it became faster.
fn became(class: &str) -> &'static str {
    let [before, after] = ["10", "3"].map(|level| Side::read(class, level));
    let of = |side: &Side| Sample { n: side.n as usize, mean: side.mean_us, sd: Some(side.sd_us) };
    match welch(&of(&before), &of(&after)).unwrap().p {
        0.05.. => "not shown",
        _ if after.mean_us < before.mean_us => "supported",
        _ => "contradicted",
    }
}

fn workload_starvation() -> Vec<Judged> {
    vec![
        ("flush latency dropped considerably", became("flush")),
        ("starvation of reads is partially ameliorated", became("read")),
    ]
}

#[test]
fn histograms_and_summaries_are_of_the_same_operations() {
    for class in ["delete", "flush", "write", "read"] {
        for level in ["10", "3"] {
            assert!(Side::read(class, level).agrees(), "{class} at {level}");
        }
    }
}
