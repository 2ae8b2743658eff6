//! A row as a file. The sender is not trusted: unknown content is refused with a reason.

use assay_core::digest::{hexadecimal, sha256};
use assay_core::outside;
use assay_study::file::Price;
use assay_study::file::printed::RatedClaim;
use assay_study::results::id;

use super::numbers::{self, ENERGY};
use super::row::{CollectionRow, FORMAT, RowValue};

pub const MOST_BYTES: u64 = 64 << 10;
const LONGEST: usize = 120;
/// Limits on claims per row, and on rules and quantiles per number.
const MOST_CLAIMS: usize = 16;
const MOST_TRIALS: usize = 200;
/// Upper bound for any current device: bytes or operations per second, joules per GiB.
const LARGEST: f64 = 1e12;
const LARGEST_CAPACITY: u64 = 1 << 60;
const HASH_LETTERS: usize = 32;

/// Returns a row as text, and its file name below the rows: a hash of the content.
pub fn write(row: &CollectionRow) -> Result<(String, String), String> {
    check(row)?;
    let text = serde_json::to_string_pretty(row).map_err(|error| error.to_string())? + "\n";
    Ok((name(&text), text))
}

/// The name of a file with this text: `3f/3f8a....json`.
pub fn name(text: &str) -> String {
    let hash = hexadecimal(&sha256(text));
    format!("{}/{}.json", &hash[..2], &hash[..HASH_LETTERS])
}

/// Read before all other fields, which depend on the format.
#[derive(serde::Deserialize)]
struct CollectionHead {
    #[serde(default)]
    format: String,
}

/// Parses and checks a row; fails for another format version and for a field outside its limits.
pub fn read(text: &str) -> Result<CollectionRow, String> {
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("the row has {} bytes; the limit is {MOST_BYTES}", text.len()));
    }
    let not_a_row = |error: serde_json::Error| format!("not a row: {error}");
    let head: CollectionHead = serde_json::from_str(text).map_err(not_a_row)?;
    if head.format != FORMAT {
        let format = outside::spelled(&head.format);
        return Err(format!("the format is `{format}`, but this version reads {FORMAT}"));
    }
    let mut row: CollectionRow = serde_json::from_str(text).map_err(not_a_row)?;
    clean(&mut row);
    check(&row)?;
    Ok(row)
}

/// Reads a file of a collection and checks that its name is the hash of its content.
pub fn read_named(path: &str, text: &str) -> Result<CollectionRow, String> {
    let row = read(text)?;
    // A checkout with CRLF line ends is the same row.
    if path == name(text) || path == name(&text.replace("\r\n", "\n")) {
        return Ok(row);
    }
    Err("the file name is not the hash of the content; the file was edited or moved".to_owned())
}

/// Removes characters that change the text direction: they make rows unreadable.
fn clean(row: &mut CollectionRow) {
    let mut texts = vec![&mut row.device, &mut row.machine, &mut row.filesystem, &mut row.assay];
    texts.extend(row.by.iter_mut().chain(&mut row.plan_sha256).chain(&mut row.price));
    texts.extend(&mut row.claimed);
    if let Some(published) = &mut row.published {
        texts.extend([&mut published.article, &mut published.title, &mut published.kind]);
    }
    if let Some(identity) = &mut row.identity {
        texts.extend(identity.serial.iter_mut().chain([&mut identity.target]));
    }
    for number in row.measured.values_mut() {
        texts.extend(number.because.iter_mut().chain([&mut number.how]));
    }
    for text in texts {
        text.retain(|letter| letter.is_control() || !outside::is_unseen(letter));
    }
}

/// Fails at the first invalid field.
fn check(row: &CollectionRow) -> Result<(), String> {
    check_device_name(&row.device)?;
    check_text("machine", &row.machine)?;
    check_text("filesystem", &row.filesystem)?;
    check_text("assay", &row.assay)?;
    row.by.iter().try_for_each(|text| check_text("by", text))?;
    row.plan_sha256.iter().try_for_each(|text| check_text("plan_sha256", text))?;
    if let Some(published) = &row.published {
        let texts = [&published.article, &published.title, &published.kind];
        texts.into_iter().try_for_each(|text| check_text("published", text))?;
    }
    if let Some(identity) = &row.identity {
        let serial = identity.serial.iter();
        serial.chain([&identity.target]).try_for_each(|text| check_text("identity", text))?;
    }
    let is_id = row.result.as_ref().is_none_or(|id| id::is_one(id.trim_end_matches("-foreign")));
    require(is_id, "the result ID is invalid")?;
    let size_fits = row.capacity_bytes.is_none_or(|size| (1..=LARGEST_CAPACITY).contains(&size));
    require(size_fits, "capacity_bytes is not valid for a device")?;
    if row.claimed.len() > MOST_CLAIMS {
        return Err(format!("the row has too many claims ({})", row.claimed.len()));
    }
    row.claimed.iter().chain(&row.price).try_for_each(|text| check_text("claim or price", text))?;
    row.claimed.iter().try_for_each(|text| text.parse::<RatedClaim>().map(drop))?;
    row.price.iter().try_for_each(|text| text.parse::<Price>().map(drop))?;
    row.date.iter().try_for_each(|date| check_date(date))?;
    for (name, value) in &row.measured {
        if numbers::find(name).is_none() && name != ENERGY {
            return Err(format!("unknown number {}", outside::spelled(name)));
        }
        check_number(value).map_err(|how| format!("{name}: {how}"))?;
    }
    Ok(())
}

fn require(holds: bool, why: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}

/// Rejects a device name that a page, a path or a spreadsheet would misread.
fn check_device_name(name: &str) -> Result<(), String> {
    check_text("device", name)?;
    let name = name.trim_start();
    let shown = || outside::spelled(name);
    require(!name.is_empty(), "the device has no name")?;
    if name.contains(['<', '>', '\\'])
        || name.contains("..")
        || name.starts_with(['/', '.', '-', '=', '+', '@'])
    {
        return Err(format!("the device name `{}` is markup, a path or a formula", shown()));
    }
    Ok(())
}

fn check_text(what: &str, text: &str) -> Result<(), String> {
    outside::plain(&format!("its {what}"), text)?;
    let letters = text.chars().count();
    if letters > LONGEST {
        return Err(format!("the {what} has {letters} characters; the limit is {LONGEST}"));
    }
    Ok(())
}

/// Accepts `2026-11-24`, also for a day that its month does not have.
fn check_date(date: &str) -> Result<(), String> {
    let has_shape = date.len() == 10
        && date.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let number = |digits: std::ops::Range<usize>| date[digits].parse::<u8>().unwrap_or_default();
    if has_shape && (1..=12).contains(&number(5..7)) && (1..=31).contains(&number(8..10)) {
        return Ok(());
    }
    Err(format!("the date `{}` is invalid", outside::spelled(date)))
}

/// Whether a number is within the range of its trials, or has none.
pub(super) fn is_within_range(value: f64, trials: &[f64]) -> bool {
    let least = trials.iter().copied().fold(f64::INFINITY, f64::min);
    let most = trials.iter().copied().fold(0.0, f64::max);
    trials.is_empty() || value >= least * (1.0 - 1e-9) && value <= most * (1.0 + 1e-9)
}

fn check_number(number: &RowValue) -> Result<(), String> {
    let is_sound = |value: f64| value.is_finite() && value > 0.0 && value <= LARGEST;
    if !is_sound(number.value) {
        return Err(format!("{} is not valid for a device", number.value));
    }
    let contains_value = |ends: [f64; 2]| {
        ends.iter().all(|end| end.is_finite()) && (ends[0]..=ends[1]).contains(&number.value)
    };
    require(number.ci95.is_none_or(contains_value), "the CI does not contain the number")?;
    let trials_are_sound =
        number.trials.len() <= MOST_TRIALS && number.trials.iter().all(|value| is_sound(*value));
    require(trials_are_sound, "the trials are not valid for a device")?;
    let is_within = is_within_range(number.value, &number.trials);
    require(is_within, "the number is outside the range of the trials")?;
    let latencies_are_sound = number.latency_ns.len() <= MOST_CLAIMS
        && number.latency_ns.iter().all(|[share, ns]| (0.0..1.0).contains(share) && is_sound(*ns));
    require(latencies_are_sound, "the latencies are invalid")?;
    if number.because.len() > MOST_CLAIMS {
        return Err(format!("the number has too many trust rules ({})", number.because.len()));
    }
    number.because.iter().chain([&number.how]).try_for_each(|text| check_text("how", text))
}

#[cfg(test)]
mod tests {
    use super::super::row::{Identity, PublishedRow};
    use super::*;
    use std::collections::BTreeMap;

    fn row() -> CollectionRow {
        let number = RowValue {
            value: 19.3,
            ci95: Some([18.9, 19.7]),
            trials: vec![19.0, 19.6],
            ..RowValue::default()
        };
        CollectionRow {
            format: FORMAT.to_owned(),
            device: "SanDisk Extreme Pro (SDSQXCY)".to_owned(),
            capacity_bytes: Some(64_000_000_000),
            claimed: vec!["95 MB/s".to_owned(), "V30".to_owned()],
            price: Some("12.50 GBP".to_owned()),
            measured: BTreeMap::from([("write_iops".to_owned(), number)]),
            date: Some("2026-11-24".to_owned()),
            result: Some("20261124-103107-a3f9".to_owned()),
            ..CollectionRow::default()
        }
    }

    #[test]
    fn a_row_is_read_as_it_was_written_and_called_by_its_hash() {
        let (path, text) = write(&row()).unwrap();
        assert_eq!(read_named(&path, &text), Ok(row()));
        assert_eq!(read_named(&path, &text.replace('\n', "\r\n")), Ok(row()));
        let changed = text.replace("19.3", "19.5");
        assert!(read(&changed).is_ok());
        assert!(read_named(&path, &changed).unwrap_err().contains("was edited"));
    }

    #[test]
    fn what_is_no_row_is_told() {
        let (_, text) = write(&row()).unwrap();
        let cases: [(&str, String, &str); 14] = [
            ("script", text.replace("SanDisk", "<script>alert(1)</script>"), "markup, a path"),
            ("path", text.replace("SanDisk", "../../etc/passwd"), "markup, a path"),
            ("escape", text.replace("SanDisk", "\\u001b[2J"), "control characters"),
            ("long", text.replace("SanDisk", &"x".repeat(200)), "the limit is 120"),
            (
                "giant",
                text.replace("SanDisk", &"x".repeat(10_000_000)),
                "bytes; the limit is 65536",
            ),
            ("infinite", text.replace("19.3", "1e999"), "not a row"),
            ("negative", text.replace("19.3", "-5"), "not valid for a device"),
            ("zero", text.replace("19.3", "0"), "not valid for a device"),
            ("word", text.replace("19.3", "\"fast\""), "not a row"),
            ("outside", text.replace("19.3", "30"), "CI does not contain"),
            ("unknown", text.replace("write_iops", "speed"), "unknown number speed"),
            ("result", text.replace("20261124-103107-a3f9", "../../x"), "result ID is invalid"),
            (
                "newer",
                text.replace("assay-collection/1", "assay-collection/2"),
                "assay-collection/2",
            ),
            ("date", text.replace("2026-11-24", "2026-13-24"), "is invalid"),
        ];
        for (name, text, words) in cases {
            let told = read(&text).unwrap_err();
            assert!(told.contains(words), "{name}: {told}");
            assert!(told.len() < 600 && !told.contains('\u{1b}'), "{name}: {told}");
        }
        for text in ["", "[]", "null", "{", "\u{0}"] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }

    /// Reads a row with this change, as if a stranger had sent it.
    fn sent(change: impl FnOnce(&mut CollectionRow)) -> Result<CollectionRow, String> {
        let mut own = row();
        change(&mut own);
        read(&serde_json::to_string(&own).unwrap())
    }

    fn measured(row: &mut CollectionRow) -> &mut RowValue {
        row.measured.get_mut("write_iops").unwrap()
    }

    /// Checks that a change at the limit passes and one beyond it fails with `words`.
    fn limit(what: &str, words: &str, change: impl Fn(&mut CollectionRow, bool)) {
        let within = sent(|row| change(row, false));
        assert!(within.is_ok(), "{what}: {within:?}");
        let told = sent(|row| change(row, true)).expect_err(what);
        assert!(told.contains(words), "{what}: {told}");
    }

    type Put = fn(&mut CollectionRow, String);

    #[test]
    fn every_text_of_a_row_may_have_120_letters_and_no_more() {
        let texts: [(&str, Put); 9] = [
            ("device", |row, text| row.device = text),
            ("machine", |row, text| row.machine = text),
            ("filesystem", |row, text| row.filesystem = text),
            ("assay", |row, text| row.assay = text),
            ("by", |row, text| row.by = Some(text)),
            ("plan_sha256", |row, text| row.plan_sha256 = Some(text)),
            ("serial", |row, text| {
                row.identity = Some(Identity { serial: Some(text), target: "x".to_owned() });
            }),
            ("target", |row, text| {
                row.identity = Some(Identity { serial: None, target: text });
            }),
            ("how", |row, text| measured(row).how = text),
        ];
        for (what, put) in texts {
            // Letters, not bytes.
            limit(what, "the limit is 120", |row, beyond| {
                put(row, "\u{e9}".repeat(LONGEST + usize::from(beyond)));
            });
            limit(what, "control characters", |row, beyond| {
                put(row, if beyond { "a\u{7}b" } else { "a b" }.to_owned());
            });
        }
        for at in 0..3 {
            limit("published", "the limit is 120", |row, beyond| {
                let mut texts = ["000", "Title", "measured"].map(str::to_owned);
                texts[at] = "x".repeat(LONGEST + usize::from(beyond));
                let [article, title, kind] = texts;
                row.published = Some(PublishedRow { article, title, kind });
            });
        }
        limit("rule", "the limit is 120", |row, beyond| {
            measured(row).because = vec!["x".repeat(LONGEST + usize::from(beyond))];
        });
    }

    #[test]
    fn a_device_is_called_by_a_name() {
        for name in
            ["/dev/sda", ".hidden", "-rf", "=1+1", "+1", "@all", "a<b", "a>b", "a\\b", "a..b"]
        {
            let told = sent(|row| row.device = name.to_owned()).expect_err(name);
            assert!(told.contains("markup, a path or a formula"), "{name}: {told}");
        }
        for name in ["\u{202e}=1+1", " =1+1", "\u{2066}@all"] {
            let told = sent(|row| row.device = name.to_owned()).expect_err(name);
            assert!(told.contains("markup, a path or a formula"), "{name}: {told}");
        }
        for name in ["", "  "] {
            assert!(sent(|row| row.device = name.to_owned()).unwrap_err().contains("no name"));
        }
        for name in ["A/B-C = 1 + 1 @ home.", "x", "SD \u{201e}Pro\u{201c} 3.0"] {
            assert!(sent(|row| row.device = name.to_owned()).is_ok(), "{name}");
        }
    }

    #[test]
    fn what_turns_the_direction_is_taken_out_of_every_text_when_a_row_is_read() {
        let (path, text) = write(&row()).unwrap();
        let turned =
            text.replace("SanDisk", "San\u{202e}Di\u{2069}sk").replace("95 MB", "95\u{200f} MB");
        assert_eq!(read(&turned), Ok(row()));
        assert_eq!(read_named(&name(&turned), &turned), Ok(row()), "by the hash of what it is");
        assert!(read_named(&path, &turned).is_err());
        let by = sent(|row| row.by = Some("\u{202e}me".to_owned())).unwrap();
        assert_eq!(by.by.as_deref(), Some("me"));
        let how = sent(|row| measured(row).how = "a\u{61c}b \u{e9}".to_owned()).unwrap();
        assert_eq!(how.measured["write_iops"].how, "ab \u{e9}");
    }

    #[test]
    fn numbers_of_a_row_have_their_limits() {
        limit("least capacity", "capacity_bytes", |row, beyond| {
            row.capacity_bytes = Some(u64::from(!beyond));
        });
        limit("largest capacity", "capacity_bytes", |row, beyond| {
            row.capacity_bytes = Some(LARGEST_CAPACITY + u64::from(beyond));
        });
        limit("claims", "too many claims (17)", |row, beyond| {
            row.claimed = vec!["V30".to_owned(); MOST_CLAIMS + usize::from(beyond)];
        });
        limit("claim", "V31", |row, beyond| {
            row.claimed = vec![if beyond { "V31" } else { "V30" }.to_owned()];
        });
        limit("price", "is not a price", |row, beyond| {
            row.price = Some(if beyond { "12.50" } else { "12.50 EUR" }.to_owned());
        });
        limit("value", "not valid for a device", |row, beyond| {
            let value = LARGEST * if beyond { 1.001 } else { 1.0 };
            *measured(row) = RowValue { value, ..RowValue::default() };
        });
        limit("trial", "the trials are not valid", |row, beyond| {
            measured(row).trials = vec![if beyond { 0.0 } else { 0.1 }, 30.0];
        });
        limit("trials", "the trials are not valid", |row, beyond| {
            measured(row).trials = vec![19.3; MOST_TRIALS + usize::from(beyond)];
        });
        limit("latencies", "the latencies are invalid", |row, beyond| {
            measured(row).latency_ns = vec![[0.5, 1e6]; MOST_CLAIMS + usize::from(beyond)];
        });
        for share in [-0.01, 1.0] {
            limit("share", "the latencies are invalid", |row, beyond| {
                measured(row).latency_ns = vec![[if beyond { share } else { 0.0 }, 1e6]];
            });
        }
        limit("latency", "the latencies are invalid", |row, beyond| {
            measured(row).latency_ns = vec![[0.99, if beyond { 0.0 } else { 1.0 }]];
        });
        limit("rules", "too many trust rules (17)", |row, beyond| {
            measured(row).because = vec!["x".to_owned(); MOST_CLAIMS + usize::from(beyond)];
        });
    }

    #[test]
    fn a_number_lies_in_its_interval_and_among_its_trials() {
        for ends in [[19.31, 19.7], [18.9, 19.29], [19.7, 18.9]] {
            limit("interval", "CI does not contain", |row, beyond| {
                measured(row).ci95 = Some(if beyond { ends } else { [19.3, 19.3] });
            });
        }
        for trials in [[19.4, 20.0], [18.0, 19.2]] {
            limit("trials", "outside the range of the trials", |row, beyond| {
                measured(row).trials = if beyond { trials } else { [19.3, 19.3] }.to_vec();
            });
        }
        // A number may come without trials.
        assert!(sent(|row| measured(row).trials.clear()).is_ok());
    }

    #[test]
    fn a_file_may_have_64_kib_and_no_more() {
        let (_, text) = write(&row()).unwrap();
        let padded = |bytes: u64| text.clone() + &" ".repeat(bytes as usize - text.len());
        assert_eq!(read(&padded(MOST_BYTES)), Ok(row()));
        assert!(read(&padded(MOST_BYTES + 1)).unwrap_err().contains("65536"));
    }

    #[test]
    fn a_day_is_one_of_a_year_and_a_result_has_the_id_of_one() {
        for date in ["2026-01-01", "2026-12-31"] {
            assert!(sent(|row| row.date = Some(date.to_owned())).is_ok(), "{date}");
        }
        let wrong = [
            "2026-00-10",
            "2026-13-10",
            "2026-10-00",
            "2026-10-32",
            "2026/10/10",
            "2026-10/10",
            "2026-1-100",
            "x026-10-10",
            "2026-x0-10",
            "2026-10-x0",
            "2026-10-100",
            "",
        ];
        for date in wrong {
            let told = sent(|row| row.date = Some(date.to_owned())).expect_err(date);
            assert!(told.contains("is invalid"), "{date}: {told}");
        }
        let result = |id: &str| sent(|row| row.result = Some(id.to_owned()));
        assert!(result("20261124-103107-a3f9-foreign").is_ok());
        for id in ["", "20261124", "20261124-103107-a3f9/..", "foreign"] {
            assert!(result(id).unwrap_err().contains("result ID is invalid"), "{id}");
        }
    }
}
