//! Computes the verdict of every claim in `claims.csv` from the published tables. A failure prints the row that
//! `claims.csv` should have.
//!
//! The rules, the same for all claims:
//!
//! 1. *Arithmetic* (a printed number follows from others): supported if the printed digits are the computed number,
//!    rounded or truncated; otherwise contradicted. Fractions in words (halves and thirds) may differ by half a tenth,
//!    because words round to one digit: two thirds may mean 19 of 30, but not 18 or 24.
//! 2. *A difference between settings* is supported only if chance is an implausible explanation:
//!    - a number contradicts the claim in one of its rows: contradicted;
//!    - with size, mean and standard deviation, Welch's test at 5% decides alone. If single operations are the unit,
//!      the reason states that the true p is larger;
//!    - a mean of n runs without standard deviation: supported if only an implausible scatter of the runs
//!      ([`BELIEVABLE_SCATTER`]) could explain it;
//!    - *X is best* (or worst) in several rows: the same per row; the smallest lead decides. Rows with a doubted number
//!      (copied from another row, or above the link's maximum) do not count;
//!    - single readings, rows that share a reading, an unknown number of runs: not shown.
//! 3. *No difference*: contradicted if rule 2 shows a difference, otherwise not shown: single readings show neither,
//!    and equivalence needs a CI, which nobody published.
//! 4. *A limit*: contradicted by one number beyond it. Staying within an arithmetic limit supports the claim; staying
//!    within a physical limit shows nothing.
//! 5. *A count of steps*: contradicted if the listed steps, or the measured amount in steps (rounded), differ.
//! 6. No relevant number: no data.
//! 7. An unknown premise (whether a monitor accepts an untried blanking): states the consequence, not shown.
//!
//! Supported means that the printed numbers agree with the claim, not that it is true elsewhere.

use assay_core::calc::modeline::{self, BetterMode, Limits, ModeCheck, TIMINGS};
use assay_core::presence::Presence;
use assay_core::reference::Library;
use assay_core::reference::sheet::{RoundedNumber, Sheet, SheetRow};
use assay_core::stats::{Sample, welch};

/// Maximum plausible scatter of repeats on an unobserved machine, as a fraction: measured for repeats of one program on
/// bare metal of a shared machine.
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
    RoundedNumber::parse(printed).unwrap().says(amount)
}

/// Returns the scatter of single runs, as a fraction of each mean, above which the difference of two means of five runs
/// is not significant (Welch at 5%).
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

/// Returns a number of `prose.csv` in bytes, seconds or unchanged.
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
    // 50 minutes mean 45 to 55.
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
            // By Little's law, the lowest rate with equal threads has the highest latency.
            "btrfs has the lowest rate and the lowest latency of random reads at equal threads",
            if by_rate == by_latency { "not shown" } else { "contradicted" },
        ),
        only_told("Midori uses half of the memory of other browsers", "Midori"),
        only_told("zswap allows a full Web experience with 384 MB of memory", "zswap on 384 MB"),
    ]
}

/// Checks a published mode against its limits; its pixel clock is the highest known to work.
fn checked(name: &str) -> ModeCheck {
    let sheet = sheet("modelines.csv");
    let row = sheet.one(&[("name", name)]).unwrap();
    let value = |column| row.positive(column).unwrap();
    let limits = Limits {
        clock_max_mhz: Some(value("clock_mhz")),
        h_khz: Some([value("hmin_khz"), value("hmax_khz")]),
        v_hz: Some([value("vmin_hz"), value("vmax_hz")]),
    };
    // The columns from the clock to vtotal have the order of a modeline.
    modeline::check(modeline::parse(&row.cells()[1..10].join(" ")).unwrap(), limits, &TIMINGS)
}

fn modes() -> Vec<Judged> {
    let (monitor, guest) = (checked("3840x2400@17.1"), checked("2880x1800C"));
    let Presence::Present(BetterMode { is_better, .. }) = &monitor.better else {
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
            // Single runs have no scatter to compare a difference with.
            if sheet.statistic() == "one run" { "not shown" } else { "contradicted" },
        ),
    ]
}

fn ssd() -> Vec<Judged> {
    let sheet = sheet("ssd520.csv");
    let boot = [("test", "boot")];
    let (ssd, disk) = (number(&sheet, &boot, "ssd"), number(&sheet, &boot, "hdd"));
    let (ratio, scatter) = (disk / ssd, scatter_that_hides(ssd, disk));
    // Energy per job times the speedup is the mean power.
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

/// Maximum of the drive's link, SATA 6.0 Gbit/s, in bytes per second.
const LINK: f64 = 600e6;
/// Permitted error of a clock.
const LINK_TOLERANCE: f64 = 1.01;
const SCHEDULERS: [&str; 3] = ["cfq", "noop", "deadline"];

/// Returns bytes per second of a rate: Bonnie++ prints units of 1024 bytes as K.
fn rate(row: SheetRow<'_>, scheduler: &str) -> f64 {
    1024.0 * row.positive(scheduler).unwrap()
}

/// Judges a claim that a scheduler is first or last in all rows of a filesystem and of operations.
fn ranking(claim: &'static str, fs: &str, ops: &[&str], scheduler: &str, lowest: bool) -> Judged {
    let sheet = sheet("schedulers.csv");
    let mut all = Vec::new();
    for row in sheet.rows() {
        all.extend(SCHEDULERS.map(|name| rate(row, name)));
    }
    // Returns the scheduler's lead in each row without a doubted number, and the scatter that would hide it.
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

/// One class of operations with one setting: the row of the summary, and its histogram.
struct Side {
    n: f64,
    mean_us: f64,
    sd_us: f64,
    /// Lower and upper bound in microseconds, and count.
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

    /// Returns whether the histogram has as many operations as the summary, and is consistent with the mean.
    fn agrees(&self) -> bool {
        let sum = |of: fn(&[f64; 3]) -> f64| self.buckets.iter().map(of).sum::<f64>();
        let least = sum(|[from, _, count]| from * count) / self.n;
        let most = sum(|[_, to, count]| to * count) / self.n;
        sum(|[.., count]| *count) == self.n && (least..=most).contains(&self.mean_us)
    }
}

/// Returns whether a class became faster, as claimed.
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
