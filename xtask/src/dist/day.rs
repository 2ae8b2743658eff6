//! Times of a commit as packages write them, in UTC.

const DAY_S: u64 = 24 * 60 * 60;
/// The first of them was a Thursday.
const WEEK: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Year, month from 1 and day of so many days since 1970 (Hinnant's `civil_from_days`: years begin in March, so that
/// the odd day is the last one).
fn civil(days: u64) -> (u64, u64, u64) {
    let since = days + 719_468;
    let (era, of_era) = (since / 146_097, since % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

/// `2020-02-29T12:34:56Z`.
pub fn rfc3339(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / DAY_S);
    let of_day = seconds % DAY_S;
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// `Sat Feb 29 2020`, as the list of changes of an rpm has it.
pub fn of_changes(seconds: u64) -> String {
    let days = seconds / DAY_S;
    let (year, month, day) = civil(days);
    let (of_week, of_year) = (WEEK[(days % 7) as usize], MONTHS[(month - 1) as usize]);
    format!("{of_week} {of_year} {day:02} {year:04}")
}

/// `Sat, 29 Feb 2020 12:34:56 +0000`, as mails and lists of changes of Debian have it.
pub fn of_mail(seconds: u64) -> String {
    let days = seconds / DAY_S;
    let (year, month, day) = civil(days);
    let (of_week, of_year) = (WEEK[(days % 7) as usize], MONTHS[(month - 1) as usize]);
    let of_day = seconds % DAY_S;
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{of_week}, {day:02} {of_year} {year:04} {hour:02}:{minute:02}:{second:02} +0000")
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
