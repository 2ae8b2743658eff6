//! Times of a commit as packages write them, in UTC.

use jiff::Timestamp;

/// Git has none that jiff cannot tell; one that it could not would be told as 1970.
fn at(seconds: u64) -> Timestamp {
    let seconds = i64::try_from(seconds).ok();
    seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).unwrap_or_default()
}

/// `2020-02-29T12:34:56Z`.
pub fn rfc3339(seconds: u64) -> String {
    at(seconds).to_string()
}

/// `Sat Feb 29 2020`, as the list of changes of an rpm has it.
pub fn of_changes(seconds: u64) -> String {
    at(seconds).strftime("%a %b %d %Y").to_string()
}

/// `Sat, 29 Feb 2020 12:34:56 +0000`, as mails and lists of changes of Debian have it.
pub fn of_mail(seconds: u64) -> String {
    at(seconds).strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, day, time) in [
            (0, "Thu Jan 01 1970", "1970-01-01T00:00:00Z"),
            (951_782_399, "Mon Feb 28 2000", "2000-02-28T23:59:59Z"),
            (951_782_400, "Tue Feb 29 2000", "2000-02-29T00:00:00Z"),
            (1_582_979_696, "Sat Feb 29 2020", "2020-02-29T12:34:56Z"),
            (1_583_020_800, "Sun Mar 01 2020", "2020-03-01T00:00:00Z"),
            (1_700_000_000, "Tue Nov 14 2023", "2023-11-14T22:13:20Z"),
            (4_102_444_799, "Thu Dec 31 2099", "2099-12-31T23:59:59Z"),
        ] {
            assert_eq!((&*of_changes(seconds), &*rfc3339(seconds)), (day, time));
        }
    }

    #[test]
    fn a_mail_has_the_same_day() {
        assert_eq!(of_mail(1_582_979_696), "Sat, 29 Feb 2020 12:34:56 +0000");
        assert_eq!(of_mail(951_782_399), "Mon, 28 Feb 2000 23:59:59 +0000");
    }
}
