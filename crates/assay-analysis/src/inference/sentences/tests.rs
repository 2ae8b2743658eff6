use assay_core::presence::Presence;
use assay_machine::system::site::Backing;
use assay_study::findings::Findings;

use super::super::tests::Bench;
use crate::rules::testing;

const TRUSTED_ONE: &str = "The row is trusted: no trust rule was triggered.";

fn one(name: &str, size: u32, rate: u64) -> Vec<String> {
    Bench::new(&["."]).row(0, name, size, &[rate, rate, rate]).findings().summary_texts()
}

fn card(mut bench: Bench) -> Findings {
    let drive = &mut bench.environment.sites[0].drives[0];
    drive.bus = Presence::Present("mmc".to_owned());
    drive.removable = Presence::Present(true);
    bench.findings()
}

#[test]
fn one_trial_has_no_spread_and_amounts_need_none() {
    let of = |rates: &[u64]| Bench::new(&["."]).row(0, "random-write-q1", 4096, rates).findings();
    let single =
        "No trust rule was triggered, but each number is from a single trial without a spread.";
    assert_eq!(of(&[95]).summary_texts().last().unwrap(), single);
    assert_eq!(of(&[95, 95]).summary_texts().last().unwrap(), TRUSTED_ONE);
    let mut counted = of(&[95]);
    for cell in &mut counted.measurements {
        cell.metric = "durability_failures".to_owned();
    }
    assert!(!super::are_of_one_trial(&counted));
}

#[test]
fn advice_about_a_card_calls_it_a_card() {
    let found = card(Bench::new(&["."]).row(0, "random-write-q1", 4096, &[19, 19, 19]));
    assert!(
        found.summary_texts()[0].ends_with("system from this card."),
        "{:?}",
        found.summary_texts()
    );
}

/// Each word needs both ends of the 95% CI on its side of the yardstick.
#[test]
fn yardsticks_need_the_whole_interval() {
    let one = |name: &str, size: u32, trials: [u64; 3]| {
        Bench::new(&["."]).row(0, name, size, &trials).findings().summary_texts()[0].clone()
    };
    let plain = "; a 5400 rpm laptop disk reaches 90.";
    for (trials, expected) in [
        ([41, 42, 43], "Do not run an operating system from this drive."),
        ([42, 43, 46], "An operating system will feel slow on this drive."),
        ([68, 69, 70], "An operating system will feel slow on this drive."),
        ([68, 69, 72], plain),
        ([78, 80, 82], "about as many as a 5400 rpm laptop disk (90)."),
        ([95, 110, 120], plain),
        ([130, 135, 140], "1.5 times as many as a 5400 rpm laptop disk (90)."),
        ([1500, 2000, 2500], "11.5 to 41.1 times as many as a 5400 rpm laptop disk (90)."),
        ([1950, 2000, 2050], "at queue depth 1; a 5400 rpm laptop disk reaches 90."),
        ([1, 3000, 90_000], plain),
    ] {
        let found = one("random-write-q1", 4096, trials);
        assert!(found.ends_with(expected), "{trials:?}: {found}");
    }
    for (trials, expected) in [
        (
            [121, 122, 123],
            "more than gigabit Ethernet carries (119 MiB/s) and less than SATA 6 Gbit/s carries (572 MiB/s).",
        ),
        (
            [119, 122, 125],
            "more than USB 2.0 carries (57.2 MiB/s) and less than SATA 6 Gbit/s carries (572 MiB/s).",
        ),
        (
            [110, 112, 114],
            "more than USB 2.0 carries (57.2 MiB/s) and less than gigabit Ethernet carries (119 MiB/s).",
        ),
        ([4, 50, 500], ")."),
    ] {
        let found = one("sequential-read", 1 << 20, trials);
        assert!(found.ends_with(expected), "{trials:?}: {found}");
        assert!(!expected.starts_with(')') || !found.contains("carries"), "{found}");
    }
}

#[test]
fn an_sd_card_is_told_which_classes_it_reaches() {
    let bench = Bench::new(&["."])
        .row(0, "sequential-write", 1 << 20, &[33, 33, 33])
        .row(0, "random-read-q1", 4096, &[1800, 1800, 1800])
        .row(0, "random-write-q1", 4096, &[19, 19, 19]);
    let found = card(bench);
    assert_eq!(
        found.summary_texts()[0],
        "By these numbers, this card reaches C10 (at least 10 MB/s of sequential writes); reaches U3 (at least 30 \
         MB/s of sequential writes); reaches V30 (at least 30 MB/s of sequential writes); does not reach A1 (at least \
         1,500 random read IOPS and 500 random write IOPS, and 10 MB/s of sequential writes)."
    );
    let drive = Bench::new(&["."]).row(0, "sequential-write", 1 << 20, &[33, 33, 33]).findings();
    assert!(!drive.summary_texts().concat().contains("V30"), "{:?}", drive.summary_texts());
}

#[test]
fn reads_stand_in_where_nothing_may_be_written() {
    assert_eq!(
        one("random-read-q1", 4096, 1440)[0],
        "Random 4 KiB reads: 1,440 IOPS, 16 times as many as a 5400 rpm laptop disk (90)."
    );
}

#[test]
fn sequential_rates_against_links() {
    assert_eq!(
        one("sequential-read", 1 << 20, 20)[0],
        "Sequential reads: 20 MiB/s, less than USB 2.0 carries (57.2 MiB/s)."
    );
    let near = one("sequential-read", 1 << 20, 500)[0].clone();
    let words =
        "near the limit of the link (SATA 6.0 Gbit/s, at most 572 MiB/s); try a faster port.";
    assert!(near.ends_with(words), "{near}");
    assert!(!one("sequential-read", 1 << 20, 480)[0].contains("near"));
    let mut nvme = Bench::new(&["."]).row(0, "sequential-read", 1 << 20, &[3000, 3000, 3000]);
    nvme.environment.sites[0].drives[0].link = Presence::absent("not told");
    assert_eq!(
        nvme.findings().summary_texts()[0],
        "Sequential reads: 2.93 GiB/s, more than SATA 6 Gbit/s carries (572 MiB/s)."
    );
}

#[test]
fn reads_and_writes_far_apart() {
    let both = |reads, writes| {
        Bench::new(&["."])
            .row(0, "random-read-q1", 4096, &[reads; 3])
            .row(0, "random-write-q1", 4096, &[writes; 3])
            .findings()
            .summary_texts()
    };
    assert_eq!(both(1440, 19)[1], "Random reads are 76 times as fast as random writes.");
    assert_eq!(both(3000, 18_000)[1], "Random writes are 6 times as fast as random reads.");
    assert_eq!(both(200, 100).len(), 2);
    let reads = |reads: [u64; 3]| {
        let bench = Bench::new(&["."]).row(0, "random-read-q1", 4096, &reads);
        bench.row(0, "random-write-q1", 4096, &[1000; 3]).findings().summary_texts().concat()
    };
    assert!(reads([3200, 3250, 3300]).contains("times as fast"));
    assert!(!reads([2900, 3250, 3600]).contains("times as fast"));
}

#[test]
fn an_emulated_machine_is_told_first_and_held_against_nothing() {
    let bench = Bench::new(&["."])
        .row(0, "random-write-q1", 4096, &[9000; 3])
        .row(0, "sequential-read", 1 << 20, &[500; 3])
        .emulated();
    assert_eq!(
        bench.findings().summary_texts(),
        [
            "Emulated: QEMU TCG, not a CPU, executed the instructions. Times and rates describe the emulator, not \
             hardware.",
            "Both rows are suspect."
        ]
    );
}

#[test]
fn nothing_is_advised_from_a_suspect_number_and_a_wide_interval_stands_beside_its_number() {
    let slow = |trials: &[u64]| Bench::new(&["."]).row(0, "random-write-q1", 4096, trials);
    let told = |bench: Bench| bench.findings().summary_texts()[0].clone();
    assert_eq!(
        told(slow(&[20, 20, 20])),
        "Random 4 KiB writes: 20 IOPS; a 5400 rpm laptop disk reaches 90. Do not run an operating system from this \
         drive."
    );
    assert_eq!(
        slow(&[20, 20, 20])
            .each(|trial| testing::processors(trial).steal = 50)
            .findings()
            .summary_texts()[1],
        "Random 4 KiB writes: about 20 IOPS (suspect); a 5400 rpm laptop disk reaches 90."
    );
    let wide = told(slow(&[10, 20, 28]));
    assert!(wide.starts_with("Random 4 KiB writes: 17.8 IOPS (95% CI 4."), "{wide}");
    // A sentence includes the interval if the page calls it wide.
    let found = slow(&[17, 20, 23]).findings();
    assert!(found.summary_texts()[0].contains(" (95% CI 13.6 "), "{:?}", found.summary_texts());
    let row = |found: &Findings| {
        found.measurements.iter().find(|cell| cell.metric == "iops").unwrap().wide
    };
    assert!(row(&found) && !row(&slow(&[19, 20, 21]).findings()));
}

#[test]
fn invalid_numbers_are_told_to_be_invalid_and_nothing_else() {
    let found = Bench::new(&["."])
        .row(0, "random-read-q1", 4096, &[500_000; 3])
        .each(|trial| testing::device(trial).run.read_bytes = 0)
        .row(0, "sequential-read", 1 << 20, &[400; 3])
        .each(|trial| testing::device(trial).run.read_bytes = 0)
        .row(0, "sync-write", 4096, &[200; 3])
        .findings();
    assert_eq!(
        found.summary_texts(),
        [
            "random-read-q1 and sequential-read are invalid: they measure memory, not the drive.",
            "A database or mail server that syncs every commit waits 5 ms per commit on average: 200 commits per second \
             at queue depth 1.",
            "Of 3 rows: 1 trusted, 2 invalid.",
        ]
    );
}

#[test]
fn memory_is_said_to_be_memory() {
    let mut bench = Bench::new(&["."]).row(0, "random-write-q1", 4096, &[500_000; 3]).row(
        0,
        "random-read-q1",
        4096,
        &[500_000; 3],
    );
    bench.environment.sites[0].backing = Backing::Memory;
    assert_eq!(
        bench.findings().summary_texts(),
        ["Both rows are invalid: they measure memory, not a drive."]
    );
}

#[test]
fn never_more_than_five() {
    let found = Bench::new(&["."])
        .row(0, "random-read-q1", 4096, &[1440; 3])
        .row(0, "random-write-q1", 4096, &[19; 3])
        .row(0, "sync-write", 4096, &[10; 3])
        .row(0, "sequential-read", 1 << 20, &[90; 3])
        .findings();
    assert_eq!(found.summary_texts().len(), 5);
    assert!(found.summary_texts()[4].starts_with("All 4 rows are trusted"));
}

#[test]
fn others_work_during_most_trials_stands_first() {
    let bench = |hit: u32| {
        Bench::new(&["."]).row(0, "random-read-q1", 4096, &[2000, 2000, 2000]).each(move |trial| {
            if trial.replicate <= hit {
                testing::device(trial).gap.read_bytes = 80 << 20;
                testing::cpu(trial).busy_ns = Presence::Present(2_000_000_000);
                testing::measured(trial).waited_ns = Some(500_000_000);
            }
        })
    };
    assert_eq!(
        bench(2).findings().summary_texts()[0],
        "Interference: other programs used the drive and other programs used the CPUs, in 2 of 3 trials. Stop other \
         load and measure again."
    );
    let told = bench(1).findings().summary_texts();
    assert!(!told.iter().any(|sentence| sentence.contains("Interference")), "{told:?}");
}

/// Two targets with activity of others in every trial, compared.
fn compared(after: [u64; 6]) -> Findings {
    let mut bench = Bench::new(&["/mnt/a", "/mnt/b"])
        .row(0, "random-read-q1", 4096, &[2000, 2100, 1900, 2050, 1950, 2000])
        .each(|trial| testing::processors(trial).steal = 50)
        .row(1, "random-read-q1", 4096, &after)
        .each(|trial| testing::processors(trial).steal = 50);
    bench.plan.design.margin = Some(0.05);
    bench.findings()
}

#[test]
fn as_many_replicates_are_advised_as_are_said_to_tell() {
    let found = compared([2010, 1890, 2080, 1960, 2040, 1930]);
    let needed = found.comparisons.iter().filter_map(|one| one.replicates_needed).max().unwrap();
    let told = &found.summary_texts()[0];
    let wanted = format!("measure again, or run more replicates (--replicates {needed}).");
    assert!(told.starts_with("Interference") && told.ends_with(&wanted), "{told}");
    let said = format!("about {needed} replicates would detect 5%");
    assert!(
        found.summary_texts().iter().any(|text| text.contains(&said)),
        "{:?}",
        found.summary_texts()
    );
}

#[test]
fn no_replicates_are_advised_where_more_than_anybody_runs_would_be_needed_or_none() {
    let quiet = "Stop other load and measure again.";
    // More than 1,000; a decided comparison needs none.
    for (after, open) in [([3300, 1210, 3300, 1210, 3300, 1210], true), ([9000; 6], false)] {
        let found = compared(after);
        let needed = found.comparisons.iter().filter_map(|one| one.replicates_needed).max();
        assert_eq!(needed.is_some_and(|count| count > 1000), open, "{needed:?}");
        assert!(found.summary_texts()[0].ends_with(quiet), "{:?}", found.summary_texts());
    }
}
