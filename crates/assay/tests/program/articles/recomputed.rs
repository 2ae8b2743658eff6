//! Verdict and reason of every claim in `claims.csv`, computed from the published tables. Where a
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
use assay_core::quantity::units::show;
use assay_core::reference::Library;
use assay_core::reference::sheet::{Printed, Sheet, SheetRow};
use assay_core::stats::{Sample, welch};

/// Scatter of repeats, as a fraction, that is still believed of a machine that nobody watched:
/// repeats of one program on bare metal of a shared machine were seen to differ by that much.
const BELIEVABLE_SCATTER: f64 = 0.26;

type Judged = (&'static str, &'static str, String);

#[test]
fn every_verdict_and_reason_follows_from_the_tables() {
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
    for (claim, verdict, reason) in expected {
        let row = claims.one(&[("claim", claim)]).unwrap();
        assert_eq!(row.text("verdict").unwrap(), verdict, "{claim}");
        assert_eq!(row.text("reason").unwrap(), reason, "{claim}");
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

/// How much more or less than one: 1.84 is `84% more`.
fn change(ratio: f64, more: &str, less: &str) -> String {
    format!("{} {}", show::share((ratio - 1.0).abs()), if ratio < 1.0 { less } else { more })
}

/// `a, b and c`.
fn list(items: &[String]) -> String {
    match items {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => items.concat(),
    }
}

/// A number with at least that many significant digits: 0.0585 with two is `0.059`.
fn digits(value: f64, least: i32) -> String {
    let places = (least - 1 - value.abs().log10().floor() as i32).max(0) as usize;
    format!("{value:.places$}")
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
    let (mut best, mut least) = ("", f64::INFINITY);
    let (mut others, mut right, mut wrong) = (0, 0, Vec::new());
    for row in sheet.rows() {
        let (place, seconds) = (text(row, "place"), row.positive("seconds").unwrap());
        let (printed, share) = (text(row, "published_percent"), 100.0 * bare / seconds);
        if place != "bare metal" {
            others += 1;
            if seconds < least {
                (best, least) = (place, seconds);
            }
        }
        if says(printed, share) {
            right += 1;
        } else {
            let meant = 100.0 * bare / row.positive("published_percent").unwrap();
            wrong.push(format!(
                "{place} is published with {printed}%, but {bare} of {seconds} s is {share:.2}%; {printed}% \
                 would be {meant:.0} s"
            ));
        }
    }
    let (share, again) = (100.0 * bare / least, 100.0 * (least / bare - 1.0));
    let esxi = 100.0 * bare / number(&sheet, &[("place", "VMware ESXi 5.0.0")], "seconds");
    let lower = 100.0 - esxi;
    vec![
        (
            "every hypervisor loses at least a fifth of the speed of bare metal",
            if share < 80.0 { "not shown" } else { "contradicted" },
            format!(
                "All {others} stay below 80% of bare metal; {best} is closest with {share:.2}%. But the article has \
                 only one bare metal time ({}). If that time were {} longer, {best} would reach 80%.",
                sheet.statistic(),
                show::share(80.0 / share - 1.0)
            ),
        ),
        (
            "the published percentages follow from the seconds",
            if wrong.is_empty() { "supported" } else { "contradicted" },
            format!("{}. The other {right} agree with the published digits.", list(&wrong)),
        ),
        (
            "bare metal is 26.32% faster than the best hypervisor",
            if says("26.32", again) { "supported" } else { "contradicted" },
            format!(
                "The times of {best} and bare metal give {again:.3}%. Rounded, this is {again:.2}%; the article \
                 truncates the number. The claim is arithmetic only: no spread was published."
            ),
        ),
        (
            "VMware ESXi is 24% slower than bare metal",
            if says("24", lower) { "supported" } else { "contradicted" },
            format!(
                "VMware ESXi 5.0.0 reaches {esxi:.2}% of the speed of bare metal, so it is {lower:.2}% slower: \
                 {lower:.0}%, not 24%."
            ),
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
    let (_, since) = text(stack, "flag").split_once("measured: ").unwrap();
    vec![
        (
            "a 5400 rpm laptop disk reaches 90 random IOPS, and most cards reach far fewer write IOPS",
            match measured {
                0..3 => "no data",
                _ if 2 * below > measured => "supported",
                _ => "contradicted",
            },
            format!(
                "The article contains measured random writes for {measured} card, too few for a claim about most \
                 cards. It does not contain the table of cards. Source of the {line} IOPS of the disk: {}.",
                text(disk, "kind")
            ),
        ),
        (
            "19 write IOPS is two thirds of the vendor's 30 IOPS",
            if (own / vendor - 2.0 / 3.0).abs() <= 0.05 { "supported" } else { "contradicted" },
            format!(
                "{own} of {vendor} is {:.0}%, within 5 percentage points of two thirds (67%). The claim compares \
                 one reading of a card with one vendor figure.",
                100.0 * own / vendor
            ),
        ),
        (
            "a cap of 4 Mbit/s on a 5 Mbit/s link reduces latency from 600 ms to 20 ms",
            if free == 600.0 && capped == 20.0 { "not shown" } else { "contradicted" },
            format!(
                "Latency: {free} ms without the cap, {capped} ms with the cap, {} times less. But each number is a \
                 single reading of a web test, so other changes on the link could explain the difference.",
                show::times(free / capped)
            ),
        ),
        (
            "a 256 KB stack limit saves a rather substantial amount of memory",
            if text(stack, "recomputed").is_empty() { "no data" } else { "not shown" },
            format!(
                "The article states the limit ({} {}), but not how much memory it saves. Our measurement: {since}.",
                text(stack, "value"),
                text(stack, "unit")
            ),
        ),
    ]
}

/// A number of `prose.csv` in bytes, seconds or as it is, and as printed.
fn amount(item: &str, metric: &str) -> (f64, String) {
    let sheet = sheet("prose.csv");
    let row = sheet.one(&[("item", item), ("metric", metric)]).unwrap();
    let unit = text(row, "unit");
    let one = match unit {
        "TB" => 1e12,
        "GB" => 1e9,
        "MB/s" => 1e6,
        "MiB" => 1024.0 * 1024.0,
        "KiB" => 1024.0,
        "h" => 3600.0,
        "min" => 60.0,
        _ => 1.0,
    };
    (one * row.positive("value").unwrap(), format!("{} {unit}", text(row, "value")))
}

fn only_told(claim: &'static str, item: &str) -> Judged {
    let sheet = sheet("prose.csv");
    let row = sheet.one(&[("item", item)]).unwrap();
    let verdict = if text(row, "value").is_empty() { "no data" } else { "not shown" };
    let words = text(row, "printed");
    (
        claim,
        verdict,
        format!("The article says \"{words}\", but does not contain any measured numbers."),
    )
}

fn prose() -> Vec<Judged> {
    let card = |metric| amount("test of a card", metric);
    let [(all, all_text), (each, each_text)] = ["bytes written", "bytes a write"].map(card);
    let [(iops, iops_text), (limit, _)] = ["rate", "time"].map(card);
    let seconds = all / each / iops;

    let sync = |metric| amount("initial sync of the array", metric);
    let [(disk, disk_text), (rate, rate_text)] = ["capacity of a disk", "rate of a disk"].map(sync);
    let (took, took_text) = sync("time");

    let first = |metric| amount("initial encryption", metric);
    let [(capacity, capacity_text), (time, time_text)] = ["capacity", "time"].map(first);
    let [(lowest, _), (highest, highest_text)] = ["lowest rate", "highest rate"].map(first);
    // 50 minutes stand for 45 to 55.
    let (fast, slow) = (capacity / (time - 300.0), capacity / (time + 300.0));

    let place = |by| amount("btrfs random reads", by);
    let [(by_rate, rate_place), (by_latency, latency_place)] =
        ["place by rate", "place by latency"].map(place);
    vec![
        (
            "a card with 1 IOPS takes over 24 hours to test",
            if seconds > limit { "supported" } else { "contradicted" },
            format!(
                "{all_text} in {each_text} writes are {} writes, which take {} h at {iops_text} (random writes only). \
                 The claim is arithmetic only; a time-limited test yields the same IOPS in minutes.",
                show::count((all / each) as u64),
                digits(seconds / 3600.0, 3)
            ),
        ),
        (
            "the initial sync took 8 hours at 100 MB/s per disk",
            if (disk / rate - took).abs() <= 1800.0 { "supported" } else { "contradicted" },
            format!(
                "{disk_text} at {rate_text} take {} h, which rounds to the published {took_text}. The claim is \
                 arithmetic only, and based on one reading.",
                digits(disk / rate / 3600.0, 3)
            ),
        ),
        (
            "the initial encryption of 256 GB took 50 minutes at 95 to 120 MB/s",
            if fast >= lowest && slow <= highest { "not shown" } else { "contradicted" },
            format!(
                "{capacity_text} in {time_text} is {:.1} MB/s, or {:.1} MB/s to {:.1} MB/s if the published time is \
                 rounded. Both are outside the published range of {} to {highest_text}.",
                capacity / time / 1e6,
                slow / 1e6,
                fast / 1e6,
                lowest / 1e6
            ),
        ),
        (
            // By Little's law the lowest rate at equal threads is the longest latency.
            "btrfs has the lowest rate and the lowest latency of random reads at equal threads",
            if by_rate == by_latency { "not shown" } else { "contradicted" },
            format!(
                "btrfs is in place {rate_place} by rate and in place {latency_place} by latency. By Little's law \
                 (threads = rate x latency), both places must be equal at equal threads. One of the two charts \
                 was misread, or the threads also waited for something other than their reads."
            ),
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

fn figures(check: &Check) -> String {
    let [h, v] = [check.figures.h_khz, check.figures.v_hz].map(|rate| digits(rate, 5));
    format!("The mode has a line rate of {h} kHz and a refresh rate of {v} Hz")
}

fn better(check: &Check) -> (bool, String) {
    let Presence::Present(Better { title, found, is_better, .. }) = &check.better else {
        panic!("no formula gives a mode");
    };
    let (hz, clock) = (digits(found.figures.v_hz, 4), found.mode.clock_text());
    let [h, v] = [found.mode.h[3], found.mode.v[3]];
    (*is_better, format!("{title} reaches {hz} Hz at {clock} MHz ({h} x {v} in total)"))
}

fn modes() -> Vec<Judged> {
    let (monitor, guest) = (checked("3840x2400@17.1"), checked("2880x1800C"));
    let (is_better, more) = better(&monitor);
    vec![
        (
            "17.1 Hz is the limit of a single link",
            if is_better { "not shown" } else { "supported" },
            format!(
                "{}. Within the same limits, {more}. If the monitor accepts this blanking, which is unknown, the \
                 published mode is not the limit.",
                figures(&monitor)
            ),
        ),
        (
            "the mode fits the driver's limits",
            if guest.limits.iter().all(|limit| limit.fits) { "supported" } else { "contradicted" },
            format!(
                "{}, both within the limits; {:.1}% of the mode is visible. Within the same limits, {}.",
                figures(&guest),
                guest.figures.active_percent,
                better(&guest).1
            ),
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
    let mut cells = [const { Vec::new() }; 4];
    for chunk in ["128", "1024"] {
        let [published, steps, md] =
            ["published", "as-listed", "md"].map(|model| of(model, chunk, "kib_moved"));
        let kib: f64 = chunk.parse().unwrap();
        assert_eq!([published, steps], [kib * said, kib * listed]);
        agrees &= (md / kib).round() == said;
        let times = format!("{} times less", show::times(published / md));
        let [published, steps, md] = [published, steps, md].map(show::three_digits);
        for (cell, text) in cells.iter_mut().zip([published, steps, md, times]) {
            cell.push(text);
        }
    }
    let [all, others, md, times] = cells.map(|cell| list(&cell));
    vec![(
        "a 2 KB change moves almost 1 MB with 128K stripes and 7 MB with 1M stripes",
        if agrees { "supported" } else { "contradicted" },
        format!(
            "The author counts {said} stripes ({all} KiB), but the steps in the article move {listed} stripes \
             ({others} KiB). In our measurement, Linux md moved {md} KiB, which is {times}. The controller of \
             the article was not measured."
        ),
    )]
}

fn encryption() -> Vec<Judged> {
    let sheet = sheet("encryption.csv");
    let of = |state: &str, op: &str, column: &str| {
        number(&sheet, &[("state", state), ("op", op)], column)
    };
    let ratio = |op: &str, column: &str| of("on", op, column) / of("off", op, column);
    let time = ["read", "write"].map(|op| 100.0 * (ratio(op, "seconds") - 1.0));
    let rate = ["read", "write"].map(|op| 100.0 * (1.0 - ratio(op, "bytes_per_s")));
    let both = |state: &str| of(state, "read", "cpu_s") + of(state, "write", "cpu_s");
    let [reads, writes, sum] =
        [ratio("read", "cpu_s"), ratio("write", "cpu_s"), both("on") / both("off")]
            .map(|ratio| change(ratio, "more", "less"));
    vec![
        (
            "encryption costs 5.5% for reads and 8.1% for writes",
            if says("5.5", time[0]) && says("8.1", time[1]) { "not shown" } else { "contradicted" },
            format!(
                "5.5% and 8.1% are costs in time, not in bandwidth: reads and writes took {:.2}% and {:.2}% more time \
                 and lost {:.2}% and {:.2}% of the bandwidth. Each number is from one run, so the article does \
                 not show a difference.",
                time[0], time[1], rate[0], rate[1]
            ),
        ),
        (
            "CPU usage was about the same with and without encryption",
            // Of one run each there is no scatter to hold a difference against.
            if sheet.statistic() == "one run" { "not shown" } else { "contradicted" },
            format!(
                "CPU time with encryption: reads {reads}, writes {writes}, total {sum}. Each number is from one run, \
                 which shows neither equality nor a difference."
            ),
        ),
    ]
}

fn ssd() -> Vec<Judged> {
    let sheet = sheet("ssd520.csv");
    let boot = [("test", "boot")];
    let (ssd, disk) = (number(&sheet, &boot, "ssd"), number(&sheet, &boot, "hdd"));
    let (ratio, scatter) = (disk / ssd, scatter_that_hides(ssd, disk));
    let (mut jobs, mut powers, mut more) = (Vec::new(), Vec::new(), false);
    for row in sheet.rows() {
        if let Some((above, below)) = text(row, "energy_published").split_once('/') {
            let faster = row.positive("ratio_published").unwrap();
            let energy = above.parse::<f64>().unwrap() / below.parse::<f64>().unwrap();
            // The energy of a job times how much faster it was done is its mean power.
            jobs.push(format!("{above}/{below} at {faster} times the speed"));
            powers.push(show::ratio(energy * faster));
            more |= faster > 1.0;
        }
    }
    vec![
        (
            "boot improves by a factor of about 3.2",
            match says("3.2", ratio) {
                false => "contradicted",
                true if scatter > BELIEVABLE_SCATTER => "supported",
                true => "not shown",
            },
            format!(
                "{disk} s divided by {ssd} s is {ratio:.2}, which the article truncates. Each time is a {}. Only a \
                 scatter of {:.0}% between runs would hide the difference; up to {:.0}% is plausible.",
                sheet.statistic(),
                100.0 * scatter,
                100.0 * BELIEVABLE_SCATTER
            ),
        ),
        (
            "for the same job, the SSD uses 1/3 to 1/4 of the power of the disk",
            if more { "contradicted" } else { "not shown" },
            format!(
                "The article computes the energy of a job, not the power. Energy relative to the disk: {}. The \
                 mean power was {} times that of the disk; the SSD draws more power, but finishes sooner. The \
                 article gives no voltage, so Assay cannot compute watts or joules.",
                list(&jobs),
                list(&powers)
            ),
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
    // Of each row without a doubted number how far the scheduler leads, and what comes next to it.
    let (mut leads, mut doubts) = (Vec::new(), Vec::new());
    for row in sheet.rows().filter(|row| fs.is_empty() || text(*row, "fs") == fs) {
        let op = text(row, "op");
        if !ops.contains(&op) {
            continue;
        }
        let name = format!("{} {op}", text(row, "fs"));
        let rates = SCHEDULERS.map(|name| rate(row, name));
        let copied = rates.iter().find(|rate| all.iter().filter(|other| other == rate).count() > 1);
        if let Some(copied) = copied {
            doubts.push(format!("{name} shares the value {} with another row", copied / 1024.0));
        } else if rates.iter().any(|rate| *rate > LINK * LINK_TOLERANCE) {
            doubts.push(format!("{name} exceeds the link rate"));
        } else {
            let sign = if lowest { -1.0 } else { 1.0 };
            let others = SCHEDULERS.into_iter().filter(|other| *other != scheduler);
            let next =
                others.max_by(|a, b| (sign * rate(row, a)).total_cmp(&(sign * rate(row, b))));
            let (own, next) = (row.positive(scheduler).unwrap(), next.unwrap());
            let rival = row.positive(next).unwrap();
            leads.push((sign * (own / rival).ln(), own, rival, next, name));
        }
    }
    let left_out =
        if doubts.is_empty() { String::new() } else { format!(" (excluded: {})", list(&doubts)) };
    let extreme = if lowest { "lowest" } else { "highest" };
    let sound = if doubts.is_empty() { "row" } else { "valid row" };
    let rows = format!("{} {sound}{}", leads.len(), if leads.len() == 1 { "" } else { "s" });
    let least = leads.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((lead, own, rival, next, name)) = least else {
        let reason =
            format!("No valid row remains to show whether {scheduler} is {extreme}{left_out}.");
        return (claim, "not shown", reason);
    };
    if *lead < 0.0 {
        let first = leads.iter().filter(|lead| lead.0 > 0.0).count();
        let reason = format!(
            "{scheduler} is {extreme} in {first} of {rows}{left_out}. In {name}, {next} is {} than \
             {scheduler} ({rival} and {own} K/s).",
            change(rival / own, "faster", "slower")
        );
        return (claim, "contradicted", reason);
    }
    let shares = leads.iter().map(|lead| show::share((lead.1 / lead.2 - 1.0).abs()));
    let (smallest, scatter) =
        (show::share((own / rival - 1.0).abs()), scatter_that_hides(*own, *rival));
    let reason = format!(
        "{scheduler} is {extreme} in all {rows}, by {}{left_out}. No spread was published, so the lead of \
         {smallest} could be chance: a scatter of {}% between runs would explain the lead.",
        list(&shares.collect::<Vec<_>>()),
        digits(100.0 * scatter, 1)
    );
    (claim, if scatter > BELIEVABLE_SCATTER { "supported" } else { "not shown" }, reason)
}

fn schedulers() -> Vec<Judged> {
    let sheet = sheet("schedulers.csv");
    let (mut count, mut above, mut most) = (0, 0, (0.0, String::new()));
    for row in sheet.rows() {
        for name in SCHEDULERS {
            let rate = rate(row, name);
            count += 1;
            above += usize::from(rate > LINK * LINK_TOLERANCE);
            if rate > most.0 {
                most = (rate, format!("{} {}, {name}", text(row, "fs"), text(row, "op")));
            }
        }
    }
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
            if above > 0 { "contradicted" } else { "not shown" },
            format!(
                "{above} of {count} rates exceed {:.0} MB/s, the limit of SATA 6.0 Gbit/s; the highest is {:.0} MB/s \
                 ({}). Memory served these reads, or the data was compressed on the way.",
                LINK / 1e6,
                most.0 / 1e6,
                most.1
            ),
        ),
    ]
}

/// One class of operations under one setting: the row of the summary, and its histogram.
struct Side {
    n: f64,
    mean_us: f64,
    sd_us: f64,
    iops: f64,
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
        let [n, mean_us, sd_us, iops] =
            ["count", "avg_us", "stddev_us", "iops"].map(|column| value(row, column));
        Self { n, mean_us, sd_us, iops, buckets }
    }

    /// The histogram holds as many operations as the summary says, and allows their mean.
    fn agrees(&self) -> bool {
        let sum = |of: fn(&[f64; 3]) -> f64| self.buckets.iter().map(of).sum::<f64>();
        let least = sum(|[from, _, count]| from * count) / self.n;
        let most = sum(|[_, to, count]| to * count) / self.n;
        sum(|[.., count]| *count) == self.n && (least..=most).contains(&self.mean_us)
    }

    fn percentile(&self, share: f64) -> f64 {
        let mut below = 0.0;
        for [_, to, count] in &self.buckets {
            below += count;
            if below >= share * self.n {
                return *to;
            }
        }
        panic!("an empty histogram");
    }
}

/// What became of a class: the claim is that it became faster.
fn became(class: &str) -> ([Side; 2], &'static str, String) {
    let [before, after] = ["10", "3"].map(|level| Side::read(class, level));
    let of = |side: &Side| Sample { n: side.n as usize, mean: side.mean_us, sd: Some(side.sd_us) };
    let test = welch(&of(&before), &of(&after)).unwrap();
    let verdict = match () {
        () if test.p >= 0.05 => "not shown",
        () if after.mean_us < before.mean_us => "supported",
        () => "contradicted",
    };
    let p =
        if test.p < 1e-4 { "p < 0.0001".to_owned() } else { format!("p = {}", digits(test.p, 2)) };
    let [first, second] = [&before, &after].map(|side| show::duration(1000.0 * side.mean_us));
    let reason = format!(
        "The mean {class} latency is {} ({first} before, {second} after). With {} and {} single I/Os as the unit, \
         {p}; the true p is larger, because I/Os are not independent.",
        change(after.mean_us / before.mean_us, "higher", "lower"),
        show::count(before.n as u64),
        show::count(after.n as u64)
    );
    ([before, after], verdict, reason)
}

fn workload_starvation() -> Vec<Judged> {
    let (_, verdict, flush) = became("flush");
    let ([before, after], of_reads, read) = became("read");
    let doubled = [0.5, 0.9, 0.99]
        .iter()
        .all(|share| after.percentile(*share) >= 2.0 * before.percentile(*share));
    assert!(doubled, "the reason says so");
    vec![
        (
            "flush latency dropped considerably",
            verdict,
            format!("{flush} Because p exceeds 0.05, the article does not show a difference."),
        ),
        (
            "starvation of reads is partially ameliorated",
            of_reads,
            format!(
                "{read} The read rate is {}, and the histogram buckets that contain p50, p90 and p99 doubled.",
                change(after.iops / before.iops, "higher", "lower")
            ),
        ),
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
