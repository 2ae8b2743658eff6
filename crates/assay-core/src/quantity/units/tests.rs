use proptest::prelude::*;

use super::show;
use super::*;

fn bytes(text: &str) -> Result<u64, String> {
    text.parse::<Bytes>().map(|bytes| bytes.0).map_err(|error| error.0)
}

fn time(text: &str) -> Result<u64, String> {
    text.parse::<Time>().map(|time| time.0).map_err(|error| error.0)
}

fn percent(text: &str) -> Result<f64, String> {
    text.parse::<Percent>().map(|percent| percent.0).map_err(|error| error.0)
}

#[test]
fn a_loss_is_a_share_or_an_amount() {
    let read = |text: &str| text.parse::<Loss>().map_err(|error| error.0);
    assert_eq!(read("5%"), Ok(Loss::Share(Percent(5.0))));
    for (text, amount) in [("+10", 10.0), (" +0 ", 0.0), ("+.5", 0.5), ("+2.", 2.0)] {
        assert_eq!(read(text), Ok(Loss::Amount(amount)), "{text}");
    }
    for wrong in ["+", "+-1", "+1e3", "+inf", "+nan", "+10%", "+ 1", "10", "-10", "+1.2.3"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    for loss in [Loss::Share(Percent(2.5)), Loss::Amount(12.0)] {
        assert_eq!(read(&loss.to_string()), Ok(loss));
        let text = serde_json::to_string(&loss).unwrap();
        assert_eq!(serde_json::from_str::<Loss>(&text).unwrap(), loss);
    }
}

#[test]
fn sizes_are_read_as_people_write_them() {
    for (text, expected) in [
        ("4k", 4096),
        ("4K", 4096),
        ("4 KiB", 4096),
        ("4kib", 4096),
        ("4 kB", 4000),
        ("4KB", 4000),
        ("512 MiB", 512 << 20),
        ("1GiB", 1 << 30),
        ("1g", 1 << 30),
        ("2 TB", 2_000_000_000_000),
        ("1.5 KiB", 1536),
        (".5 MiB", 1 << 19),
        ("  16 MiB ", 16 << 20),
        ("512 B", 512),
        ("3 bytes", 3),
        ("0", 0),
        ("15 EiB", 15 << 60),
    ] {
        assert_eq!(bytes(text), Ok(expected), "{text}");
    }
}

#[test]
fn times_are_read_as_people_write_them() {
    for (text, expected) in [
        ("100 us", 100_000),
        ("100 \u{b5}s", 100_000),
        ("10 s", 10_000_000_000),
        ("10sec", 10_000_000_000),
        ("5m", 300_000_000_000),
        ("2 min", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        ("0.5 ms", 500_000),
        ("7 ns", 7),
        ("0", 0),
    ] {
        assert_eq!(time(text), Ok(expected), "{text}");
    }
    assert_eq!(percent("25%"), Ok(25.0));
    assert_eq!(percent("0.5%"), Ok(0.5));
}

#[test]
fn amounts_are_written_exactly() {
    for (amount, expected) in [
        (0, "0 B"),
        (1, "1 B"),
        (4096, "4 KiB"),
        (1000, "1 kB"),
        (1_024_000, "1000 KiB"),
        (512 << 20, "512 MiB"),
        (2_000_000_000_000, "2 TB"),
        (u64::MAX, "18446744073709551615 B"),
    ] {
        assert_eq!(Bytes(amount).to_string(), expected);
    }
    assert_eq!(Time(90_000_000_000).to_string(), "90 s");
    assert_eq!(Time(120_000_000_000).to_string(), "2 min");
    assert_eq!(Time(0).to_string(), "0 s");
    assert_eq!(Percent(25.0).to_string(), "25%");
    assert_eq!(format!("{:>8}", Bytes(4096)), "   4 KiB");
}

#[test]
fn files_keep_amounts_as_text() {
    let text = serde_json::to_string(&(Bytes(4096), Time(1_000), Percent(2.5))).unwrap();
    assert_eq!(text, r#"["4 KiB","1 us","2.5%"]"#);
    let back: (Bytes, Time, Percent) = serde_json::from_str(&text).unwrap();
    assert_eq!(back, (Bytes(4096), Time(1_000), Percent(2.5)));
    let refused = serde_json::from_str::<Bytes>("\"3\"").unwrap_err().to_string();
    assert!(refused.contains("has no unit"), "{refused}");
}

#[test]
fn tables_show_three_digits() {
    assert_eq!(show::bytes(16 << 20), "16 MiB");
    assert_eq!(show::bytes(1_600_000_000_000), "1.46 TiB");
    assert_eq!(show::bytes(1023), "1023 B");
    assert_eq!(show::rate(851_443_712.0), "812 MiB/s");
    assert_eq!(show::rate(77_824.0), "76 KiB/s");
    assert_eq!(show::count(36_887), "36,887");
    assert_eq!(show::count(999), "999");
    for (rate, expected) in [
        (0.0, "0"),
        (0.25, "0.25"),
        (0.0123, "0.012"),
        (19.0, "19"),
        (19.04, "19"),
        (99.96, "100"),
        (999.6, "1,000"),
        (64_123.0, "64,100"),
        (577_012.0, "577,000"),
        (1_234_567.0, "1,230,000"),
    ] {
        assert_eq!(show::per_second(rate), expected);
    }
    for (ns, expected) in [
        (85_000.0, "85 us"),
        (9_100_000.0, "9.1 ms"),
        (999.7, "1 us"),
        (850.0, "850 ns"),
        (119e9, "119 s"),
        (120e9, "2 min"),
        (7200e9, "2 h"),
    ] {
        assert_eq!(show::duration(ns), expected);
    }
    assert_eq!(show::percent(0.42), "0.4%");
    assert_eq!(show::percent(0.97), "1%");
    assert_eq!(show::percent(33.3), "33%");
    assert_eq!(show::percent(0.0), "0%");
    assert_eq!(show::percent(0.01), "under 0.1%");
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(amount in any::<u64>(), step in 0_u32..60, share in 0.0..1e9_f64) {
        for amount in [amount, amount >> step, (amount >> step) << step, amount / 1000 * 1000] {
            prop_assert_eq!(Bytes(amount).to_string().parse(), Ok(Bytes(amount)));
            prop_assert_eq!(Time(amount).to_string().parse(), Ok(Time(amount)));
        }
        prop_assert_eq!(Percent(share).to_string().parse(), Ok(Percent(share)));
    }

    #[test]
    fn nothing_that_is_typed_breaks_the_reader(text in "\\PC{0,24}") {
        let _ = bytes(&text);
        let _ = time(&text);
        let _ = percent(&text);
    }

    #[test]
    fn tables_keep_their_widths(amount in any::<u64>(), step in 0_u32..60, events in 0.0..999_000.0_f64, ns in 0.0..3.6e15_f64) {
        let amount = amount >> step;
        prop_assert!(show::bytes(amount).len() <= 8, "{}", show::bytes(amount));
        prop_assert!(show::rate(amount as f64).len() <= 10);
        prop_assert!(show::per_second(events).len() <= 7, "{}", show::per_second(events));
        prop_assert!(show::duration(ns).len() <= 8, "{}", show::duration(ns));
    }
}

#[test]
fn a_ratio_and_its_interval_have_the_same_decimals() {
    let told = |value, ends| show::ratios(value, ends).join(" ");
    assert_eq!(told(1.042_079, [1.028_950, 1.055_375]), "1.042 1.029 1.055");
    assert_eq!(told(0.617, [0.6126, 0.6214]), "0.617 0.613 0.621");
    assert_eq!(told(1.3, [1.16, 1.4512]), "1.30 1.16 1.45");
    assert_eq!(told(11.3, [10.5, 12.1]), "11.3 10.5 12.1");
    assert_eq!(told(1_204.0, [1_100.0, 1_300.0]), "1,200 1,100 1,300");
    // The ends show whether 1 is between them.
    assert_eq!(told(1.02, [1.0004, 1.04]), "1.0200 1.0004 1.0400");
    assert_eq!(told(2.4, [2.4, 2.4]), "2.4 2.4 2.4");
}

#[test]
fn per_cent_has_the_decimals_that_its_interval_is_worth() {
    let told = |value, ends| show::percents(value, ends).join(" ");
    assert_eq!(told(61.6197, None).trim_end(), "61.62");
    assert_eq!(told(61.6197, Some([54.2, 86.4])), "62 54 86");
    assert_eq!(told(61.6197, Some([61.0, 62.3])), "61.6 61.0 62.3");
    assert_eq!(told(61.6197, Some([61.61, 61.62])), "61.62 61.61 61.62");
    // An end near 100 is printed with enough digits to differ from 100.
    assert_eq!(told(68.0, Some([46.0, 100.4])), "68.0 46.0 100.4");
}

#[test]
fn estimates_that_are_told_alike_are_told_once() {
    for (least, most, text) in [
        (14, 20, "about 14 to 20"),
        (14, 2000, "about 14 to more than 1,000"),
        (2000, 9000, "more than 1,000"),
        (14, 14, "about 14"),
    ] {
        assert_eq!(show::about_between(least, most), text);
    }
}

#[test]
fn a_level_is_a_number_where_it_counts_something_that_ends() {
    for (text, expected) in [
        ("8", 8.0),
        ("0.5", 0.5),
        ("-1", -1.0),
        ("1e3", 1000.0),
        ("4 KiB", 4096.0),
        ("5000/s", 5e3),
    ] {
        assert_eq!(level_number(text), Some(expected), "{text}");
    }
    for text in ["", "none", "inf", "nan", "1e999", "80%", "10 ms", "4 KiB/s", "4 Kb"] {
        assert_eq!(level_number(text), None, "{text}");
    }
}
