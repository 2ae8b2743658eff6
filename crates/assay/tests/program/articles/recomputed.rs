//! Every verdict from the files, by arithmetic of its own: nothing of the product but the texts.

use std::collections::BTreeMap;
use std::f64::consts::FRAC_PI_2;
use std::fs;
use std::path::Path;

use assay_claims::articles::Library;

/// A row by column.
type Row = BTreeMap<String, String>;

fn rows(file: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference").join(file);
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names = fields(lines.next().unwrap());
    lines.map(|line| names.iter().cloned().zip(fields(line)).collect()).collect()
}

fn fields(line: &str) -> Vec<String> {
    let (mut found, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => found.push(String::new()),
            _ => found.last_mut().unwrap().push(c),
        }
    }
    found
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

fn one<'a>(rows: &'a [Row], wanted: &[(&str, &str)]) -> &'a Row {
    let is = |row: &&Row| wanted.iter().all(|(column, word)| row[*column] == *word);
    rows.iter().find(is).unwrap_or_else(|| panic!("{wanted:?}"))
}

/// Two-sided p of Student's t by Simpson's rule: with x = tan(a) times the root of the degrees of
/// freedom, the density becomes a power of the cosine.
fn p_of_t(t: f64, freedom: f64) -> f64 {
    let area = |from: f64, to: f64| {
        let (steps, width) = (200_000, (to - from) / 200_000.0);
        let height = |index: i32| {
            let weight =
                if index == 0 || index == steps { 1.0 } else { 2.0 + 2.0 * f64::from(index % 2) };
            weight * (from + f64::from(index) * width).cos().powf(freedom - 1.0)
        };
        (0..=steps).map(height).sum::<f64>() * width / 3.0
    };
    area((t.abs() / freedom.sqrt()).atan(), FRAC_PI_2) / area(0.0, FRAC_PI_2)
}

/// Mean before and after, and p of Welch's test of an article's summaries.
fn welch(class: &str) -> (f64, f64, f64) {
    let rows = rows("zfs_summary.csv");
    let of = |level: &str| {
        let row = one(&rows, &[("async_write_max_active", level), ("class", class)]);
        let n = number(row, "count");
        (number(row, "avg_us"), number(row, "stddev_us").powi(2) / n, n)
    };
    let ((mean1, part1, n1), (mean2, part2, n2)) = (of("10"), of("3"));
    let total = part1 + part2;
    let freedom = total.powi(2) / (part1.powi(2) / (n1 - 1.0) + part2.powi(2) / (n2 - 1.0));
    (mean1, mean2, p_of_t((mean2 - mean1) / total.sqrt(), freedom))
}

/// A verdict with what its reasons must say.
type Expected = (&'static str, &'static str, Vec<String>);

fn virtualisation() -> Vec<Expected> {
    let rows = rows("virtualisation.csv");
    let bare = number(one(&rows, &[("place", "bare metal")]), "seconds");
    let others: Vec<&Row> = rows.iter().filter(|row| row["place"] != "bare metal").collect();
    let best = others.iter().map(|row| number(row, "seconds")).fold(f64::INFINITY, f64::min);
    let share = 100.0 * bare / best;
    let off = |row: &&Row| {
        (number(row, "published_percent") - 100.0 * bare / number(row, "seconds")).abs() > 0.005_001
    };
    let wrong: Vec<&Row> = rows.iter().filter(off).collect();
    let faster = 100.0 * (best / bare - 1.0);
    let follows = (26.32..26.33).contains(&faster);
    vec![
        (
            "every hypervisor costs at least a fifth of bare metal",
            if share >= 80.0 { "contradicted" } else { "not shown" },
            vec![format!("{share:.2} %"), format!("All {}", others.len())],
        ),
        (
            "the published percentages follow from the seconds",
            if wrong.is_empty() { "supported" } else { "contradicted" },
            wrong
                .iter()
                .flat_map(|row| {
                    let share = 100.0 * bare / number(row, "seconds");
                    [
                        row["place"].clone(),
                        format!("{share:.2} %"),
                        row["published_percent"].clone(),
                    ]
                })
                .collect(),
        ),
        (
            "bare metal is 26.32 % as fast again as the best hypervisor",
            if follows { "supported" } else { "contradicted" },
            vec![format!("{faster:.3} %"), format!("{faster:.2} %")],
        ),
        {
            let esxi = number(one(&rows, &[("place", "VMware ESXi 5.0.0")]), "seconds");
            let lower = 100.0 * (1.0 - bare / esxi);
            (
                "VMware ESXi is 24 % lower than bare metal",
                if (23.5..25.0).contains(&lower) { "supported" } else { "contradicted" },
                vec![format!("{lower:.2} %"), format!("{lower:.0} %")],
            )
        },
    ]
}

fn prose() -> Vec<Expected> {
    let rows = rows("anchors.csv");
    let writes = |item: &str| one(&rows, &[("item", item), ("metric", "random write 4K")]);
    let share = number(writes("best SD card (part 1)"), "value")
        / number(writes("InnoDisk miniDOM-U"), "value");
    let measured = rows
        .iter()
        .filter(|row| row["metric"] == "random write 4K" && row["kind"] == "measured")
        .count();
    let delay = |item: &str| number(one(&rows, &[("item", item)]), "value");
    let (free, capped) =
        (delay("5 Mbit/s uplink unshaped"), delay("5 Mbit/s uplink capped 4 Mbit/s"));
    let stack =
        &one(&self::rows("memory.csv"), &[("item", "stack soft limit")])["recomputed"].clone();
    vec![
        (
            "19 write IOPS is two thirds of the vendor's 30",
            if (0.617..0.717).contains(&share) { "supported" } else { "contradicted" },
            vec![format!("{:.0} %", 100.0 * share), "2/3, 67 %".to_owned()],
        ),
        (
            "a 5400 rpm laptop disk does 90 random IOPS and most cards far fewer writes",
            if measured < 3 { "no data" } else { "supported" },
            vec![format!("{measured} module")],
        ),
        (
            "a cap of 4 on a 5 Mbit/s link brings 600 ms to 20 ms",
            if capped < free { "not shown" } else { "contradicted" },
            vec![format!("{:.0} times less", free / capped), "80 %".to_owned()],
        ),
        (
            "a 256 KB stack limit saves a rather substantial amount of memory",
            if stack.is_empty() { "no data" } else { "not shown" },
            vec!["256 KB".to_owned()],
        ),
    ]
}

/// Refresh of CVT reduced blanking version 2 at a nominal rate, by the standard's own words: 80
/// pixels and at least 460 us of blanking, a clock in steps of 1 kHz.
fn version_2(size: [f64; 2], rate: f64) -> (f64, f64) {
    let line_us = (1e6 / rate - 460.0) / size[1];
    let lines = size[1] + ((460.0 / line_us).floor() + 1.0).max(15.0);
    let clock_khz = (rate * lines * (size[0] + 80.0) / 1e3).floor();
    (clock_khz / (size[0] + 80.0), clock_khz * 1e3 / ((size[0] + 80.0) * lines))
}

fn modes() -> Vec<Expected> {
    let rows = rows("modelines.csv");
    let figures = |name: &str| {
        let row = one(&rows, &[("name", name)]);
        let h_khz = number(row, "clock_mhz") * 1e3 / number(row, "htotal");
        (row, h_khz, h_khz * 1e3 / number(row, "vtotal"))
    };
    let (row, h_khz, v_hz) = figures("3840x2400@17.1");
    let fits = |rate: f64| {
        let (khz, hz) = version_2([3840.0, 2400.0], rate);
        let clock = khz * 3920.0 / 1e3;
        let in_h = (number(row, "hmin_khz")..=number(row, "hmax_khz")).contains(&khz);
        in_h && hz <= number(row, "vmax_hz") && clock <= number(row, "clock_mhz")
    };
    let best =
        (120..=600).rev().map(|step| f64::from(step) / 10.0).find(|rate| fits(*rate)).unwrap();
    let (other, other_khz, other_hz) = figures("2880x1800C");
    let within = |value: f64, low: &str, high: &str| {
        (number(other, low)..=number(other, high)).contains(&value)
    };
    let both = within(other_khz, "hmin_khz", "hmax_khz") && within(other_hz, "vmin_hz", "vmax_hz");
    vec![
        (
            "17.1 Hz is the limit on one single link",
            // Whether the monitor takes what the standard computes is not known.
            if best > v_hz + 0.1 { "not shown" } else { "supported" },
            vec![format!("{h_khz:.3} kHz"), format!("{v_hz:.3} Hz"), format!("{best:.2} Hz")],
        ),
        (
            "the mode fits the driver's limits",
            if both { "supported" } else { "contradicted" },
            vec![format!("{other_khz:.3} kHz"), format!("{other_hz:.3} Hz"), "48.80 Hz".to_owned()],
        ),
    ]
}

fn raid() -> Vec<Expected> {
    let rows = rows("raid.csv");
    let moved = |model: &str, chunk: &str| {
        number(one(&rows, &[("model", model), ("chunk_kib", chunk)]), "kib_moved")
    };
    let number_of = |chunk: &str| chunk.parse::<f64>().unwrap();
    let differs = ["128", "1024"].iter().any(|chunk| {
        moved("published", chunk) != moved("as-listed", chunk)
            || (moved("published", chunk) - moved("md", chunk)).abs() > number_of(chunk) / 2.0
    });
    let times = |chunk: &str| moved("published", chunk) / moved("md", chunk);
    vec![(
        "a 2 KB change moves almost 1 MB at 128K and 7 MB at 1M stripes",
        if differs { "contradicted" } else { "supported" },
        vec![
            format!("{} and {} KiB", moved("published", "128"), moved("published", "1024")),
            format!("{} and {} KiB", moved("as-listed", "128"), moved("as-listed", "1024")),
            format!("{:.1} times less", times("128")),
            format!("{:.0} times less", times("1024")),
        ],
    )]
}

fn encryption() -> Vec<Expected> {
    let rows = rows("encryption.csv");
    let of = |state: &str, op: &str, column: &str| {
        number(one(&rows, &[("state", state), ("op", op)]), column)
    };
    let ratio = |op: &str, column: &str| of("on", op, column) / of("off", op, column);
    let time = ["read", "write"].map(|op| 100.0 * (ratio(op, "seconds") - 1.0));
    let rate = ["read", "write"].map(|op| 100.0 * (1.0 - ratio(op, "bytes_per_s")));
    let gives = |costs: [f64; 2]| (costs[0] - 5.5).abs() < 0.05 && (costs[1] - 8.1).abs() < 0.05;
    let cpu = ["read", "write"].map(|op| ratio(op, "cpu_s"));
    let sum = |state: &str| of(state, "read", "cpu_s") + of(state, "write", "cpu_s");
    vec![
        (
            "reads take a 5.5 % hit and writes 8.1 %",
            if gives(time) || gives(rate) { "not shown" } else { "contradicted" },
            [time[0], time[1], rate[0], rate[1]].map(|cost| format!("{cost:.2} %")).to_vec(),
        ),
        (
            "CPU was about the same with and without encryption",
            // One run each: neither the same nor different.
            "not shown",
            vec![
                format!("{:.1} % less", 100.0 * (1.0 - cpu[0])),
                format!("{:.0} % more", 100.0 * (cpu[1] - 1.0)),
                format!("{:.2} % less", 100.0 * (1.0 - sum("on") / sum("off"))),
            ],
        ),
    ]
}

fn boot() -> Vec<Expected> {
    let rows = rows("ssd520.csv");
    let row = one(&rows, &[("test", "boot")]);
    let (ssd, disk) = (number(row, "ssd"), number(row, "hdd"));
    // Five runs a side: even with a scatter of 26 % of each mean the two are told apart.
    let (part1, part2) = ((0.26 * ssd).powi(2) / 5.0, (0.26 * disk).powi(2) / 5.0);
    let freedom = (part1 + part2).powi(2) / (part1.powi(2) / 4.0 + part2.powi(2) / 4.0);
    let told_apart = p_of_t((disk - ssd) / (part1 + part2).sqrt(), freedom) < 0.05;
    let follows = disk / ssd >= 3.15 && disk / ssd < 3.3;
    let verdict = match (follows, told_apart) {
        (false, _) => "contradicted",
        (true, true) => "supported",
        (true, false) => "not shown",
    };
    let third_or_quarter = |row: &Row| {
        let (above, below) = row["energy_published"].split_once('/').unwrap();
        above.parse::<f64>().unwrap() / below.parse::<f64>().unwrap()
    };
    let jobs: Vec<(f64, f64)> = rows
        .iter()
        .filter(|row| !row["energy_published"].is_empty())
        .map(|row| (third_or_quarter(row), number(row, "ratio_published")))
        .collect();
    let draws_more = jobs.iter().any(|(energy, faster)| energy * faster > *energy);
    vec![
        ("boot improves by a factor of about 3.2", verdict, vec![format!("{:.2}", disk / ssd)]),
        (
            "a job took the SSD 1/3 to 1/4 of the power of the disk",
            if draws_more { "contradicted" } else { "not shown" },
            jobs.iter()
                .map(|(energy, faster)| {
                    let power = format!("{:.2}", energy * faster);
                    format!(" {}", power.trim_end_matches('0'))
                })
                .collect(),
        ),
    ]
}

fn single_numbers() -> Vec<Expected> {
    let rows = rows("prose.csv");
    let of = |item: &str, metric: &str| {
        number(one(&rows, &[("item", item), ("metric", metric)]), "value")
    };
    let bytes_per_s = |minutes: f64| of("initial encryption", "capacity") * 1e9 / (60.0 * minutes);
    let minutes = of("initial encryption", "time");
    let fastest = bytes_per_s(minutes - 5.0) / 1e6;
    let hours = of("initial sync of the array", "capacity of a disk") * 1e12
        / (of("initial sync of the array", "rate of a disk") * 1e6)
        / 3600.0;
    let writes =
        of("test of a card", "bytes written") * 1024.0 / of("test of a card", "bytes a write");
    let a_card = writes / of("test of a card", "rate") / 3600.0;
    let place = |by: &str| of("btrfs random reads", by);
    let is_told = |item: &str| {
        let row = rows.iter().find(|row| row["item"] == item).unwrap();
        if row["value"].is_empty() { "no data" } else { "not shown" }
    };
    vec![
        (
            "the initial encryption of 256 GB took 50 minutes at 95 to 120 MB/s",
            if fastest < of("initial encryption", "lowest rate") {
                "contradicted"
            } else {
                "not shown"
            },
            vec![format!("{:.1} MB/s", bytes_per_s(minutes) / 1e6), format!("{fastest:.1} MB/s")],
        ),
        (
            "the initial sync took 8 hours at 100 MB/s a disk",
            if hours.round() == of("initial sync of the array", "time") {
                "supported"
            } else {
                "contradicted"
            },
            vec![format!("{hours:.2} h")],
        ),
        (
            "a card of 1 IOPS takes over 24 hours to test",
            if a_card > of("test of a card", "time") { "supported" } else { "contradicted" },
            vec![format!("{a_card:.1} h")],
        ),
        (
            "btrfs has the lowest rate and the lowest latency of random reads at equal threads",
            if place("place by rate") == place("place by latency") {
                "not shown"
            } else {
                "contradicted"
            },
            vec!["Little's law".to_owned()],
        ),
        (
            "Midori takes half of the memory of other browsers",
            is_told("Midori"),
            vec!["approximately half".to_owned()],
        ),
        (
            "zswap makes 384 MB a full Web experience",
            is_told("zswap on 384 MB"),
            vec!["a full Web experience".to_owned()],
        ),
    ]
}

const SCHEDULERS: [&str; 3] = ["cfq", "noop", "deadline"];

/// Rows in which a scheduler comes first, and all of them.
fn firsts(of: &str, rows: &[&Row], lowest: bool) -> (usize, usize) {
    let is_first = |row: &&&Row| {
        let others = SCHEDULERS.iter().filter(|name| **name != of);
        others.clone().all(|other| {
            let (own, other) = (number(row, of), number(row, other));
            if lowest { own < other } else { own > other }
        })
    };
    (rows.iter().filter(is_first).count(), rows.len())
}

fn schedulers() -> Vec<Expected> {
    let rows = rows("schedulers.csv");
    let cells: Vec<f64> =
        rows.iter().flat_map(|row| SCHEDULERS.map(|name| number(row, name))).collect();
    let twice = |row: &Row| {
        SCHEDULERS
            .iter()
            .any(|name| cells.iter().filter(|cell| **cell == number(row, name)).count() > 1)
    };
    let above_link = |row: &Row| SCHEDULERS.iter().any(|name| number(row, name) > 606e6 / 1024.0);
    let is_sound = |row: &&&Row| !twice(row) && !above_link(row);
    // Five runs a side and no spread: a lead of some percent is less than their scatter may be.
    let judged = |of: &str, rows: &[&Row], lowest: bool| {
        let rows: Vec<&Row> = rows.iter().filter(is_sound).copied().collect();
        let (first, all) = firsts(of, &rows, lowest);
        let leads = rows.iter().map(|row| {
            let others = SCHEDULERS.iter().filter(|name| **name != of);
            let ratio = |name: &&str| (number(row, of) / number(row, name)).ln().abs();
            others.map(ratio).fold(f64::INFINITY, f64::min)
        });
        match (first == all, all > 0 && leads.fold(f64::INFINITY, f64::min) > 0.26) {
            (false, _) => "contradicted",
            (true, true) => "supported",
            (true, false) => "not shown",
        }
    };
    let on = |fs: &str| rows.iter().filter(|row| row["fs"] == fs).collect::<Vec<_>>();
    let writes: Vec<&Row> = on("btrfs").into_iter().filter(|row| row["op"] != "read").collect();
    let every: Vec<&Row> = rows.iter().collect();
    let sound: Vec<&Row> = every.iter().filter(is_sound).copied().collect();
    let (lowest, all) = firsts("cfq", &sound, true);
    let btrfs = one(&rows, &[("fs", "btrfs"), ("op", "write")]);
    let ahead = 100.0 * (number(btrfs, "cfq") / number(btrfs, "noop") - 1.0);
    let megabytes: Vec<f64> = cells.iter().map(|cell| cell * 1024.0 / 1e6).collect();
    let above = megabytes.iter().filter(|rate| **rate > 606.0).count();
    let most = megabytes.iter().copied().fold(0.0, f64::max);
    let lead =
        |row: &Row, of: &str, next: &str| 100.0 * (number(row, of) / number(row, next) - 1.0);
    let (xfs, ext4) = (on("xfs"), on("ext4"));
    vec![
        (
            "noop is a clear winner for ext4",
            judged("noop", &on("ext4"), false),
            vec![
                "all 3 rows".to_owned(),
                format!("a lead of {:.2} %", lead(ext4[0], "noop", "deadline")),
            ],
        ),
        (
            "deadline performs best for xfs",
            judged("deadline", &xfs, false),
            vec![
                format!("a lead of {:.3} %", lead(xfs[0], "deadline", "noop")),
                format!("{:.2} %", lead(xfs[2], "deadline", "noop")),
                "252210".to_owned(),
            ],
        ),
        (
            "noop is marginally better for btrfs writes and re-writes",
            judged("noop", &writes, false),
            vec![format!("{ahead:.1} % more")],
        ),
        (
            "deadline is best for btrfs reads",
            // Its one row is above the link.
            judged(
                "deadline",
                &on("btrfs").into_iter().filter(|row| row["op"] == "read").collect::<Vec<_>>(),
                false,
            ),
            vec!["faster than the link".to_owned()],
        ),
        (
            "CFQ is the least optimal choice",
            judged("cfq", &every, true),
            vec![format!("{lowest} of {all} sound rows")],
        ),
        (
            "the rates are the drive's",
            if above > 0 { "contradicted" } else { "not shown" },
            vec![format!("{above} rates of {}", cells.len()), format!("{most:.0} MB/s")],
        ),
    ]
}

fn zfs() -> Vec<Expected> {
    let judged = |class: &str| {
        let (before, after, p) = welch(class);
        match (p < 0.05, after < before) {
            (false, _) => "not shown",
            (true, true) => "supported",
            (true, false) => "contradicted",
        }
    };
    let (_, _, p) = welch("flush");
    let (before, after, _) = welch("read");
    vec![
        ("flush latency dropped considerably", judged("flush"), vec![format!("p = {p:.3}")]),
        (
            "starvation of reads is partially ameliorated",
            judged("read"),
            vec![format!("{:.0} % slower", 100.0 * (after / before - 1.0)), "p50".to_owned()],
        ),
    ]
}

#[test]
fn every_verdict_follows_from_the_files() {
    let told = super::told(&Library::shipped());
    let topics = [
        virtualisation(),
        prose(),
        modes(),
        raid(),
        encryption(),
        boot(),
        schedulers(),
        zfs(),
        single_numbers(),
    ];
    let expected: Vec<Expected> = topics.into_iter().flatten().collect();
    for (claim, verdict, words) in &expected {
        let (found, because) = told.get(*claim).unwrap_or_else(|| panic!("{claim}"));
        assert_eq!(found, verdict, "{claim}: {because}");
        for word in words {
            assert!(because.contains(word.as_str()), "{claim}: no `{word}` in: {because}");
        }
    }
    assert_eq!(expected.len(), told.len());
    assert_eq!(rows("claims.csv").len(), told.len());
}

/// The headline numbers, so that a change of the files or of the arithmetic here is seen.
#[test]
fn the_headlines_are_these() {
    let told = super::told(&Library::shipped());
    let says = |claim: &str, words: &[&str]| {
        let because = &told[claim].1;
        assert!(words.iter().all(|word| because.contains(word)), "{because}");
    };
    says("flush latency dropped considerably", &["p = 0.059", "single I/Os as the unit", "larger"]);
    says("starvation of reads is partially ameliorated", &["84 % slower", "42.2 % fewer"]);
    says("the published percentages follow from the seconds", &["19.06 %", "11.74 %", "5470 s"]);
    says("reads take a 5.5 % hit and writes 8.1 %", &["5.49 %", "8.12 %", "5.20 %", "7.51 %"]);
    says(
        "CPU was about the same with and without encryption",
        &["20.5 % less", "13 % more", "1.27 % less"],
    );
    says("17.1 Hz is the limit on one single link", &["17.30 Hz", "164.114 MHz"]);
    says("the rates are the drive's", &["3 rates of 27", "600 MB/s", "SATA 6.0 Gbit/s"]);
}

/// The histograms hold as many operations as the summaries say.
#[test]
fn histograms_and_summaries_are_of_the_same_operations() {
    let summaries = rows("zfs_summary.csv");
    let histograms = assay_claims::articles::histograms(&Library::shipped()).unwrap();
    let mut sums: BTreeMap<(String, String), f64> = BTreeMap::new();
    for row in rows("zfs_histograms.csv") {
        let key = (row["async_write_max_active"].clone(), row["class"].clone());
        *sums.entry(key).or_default() += number(&row, "count");
    }
    assert_eq!(histograms.len(), sums.len());
    for shape in &histograms {
        let key = (shape.level.clone(), shape.class.clone());
        let wanted = [("async_write_max_active", shape.level.as_str()), ("class", &shape.class)];
        assert_eq!(shape.total() as f64, sums[&key]);
        assert_eq!(sums[&key], number(one(&summaries, &wanted), "count"));
    }
}
