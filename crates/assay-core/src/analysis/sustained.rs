//! What writing for long says, in sentences: what was seen, and a cause only where something shows it.

use super::capacity::which;
use super::rows::Row;
use crate::findings::capacity::SustainedFacts;
use crate::presence::Presence;
use crate::probes::is_not_recorded;
use crate::probes::temperature::{LEAST_LIMIT_MC, Temperature};
use crate::quantity::units::show;
use crate::work::sustained::{Again, Course, Detail, Level, Rated, course};

/// What the last trial of a row wrote.
pub(super) fn of_row(row: &Row<'_>) -> Option<SustainedFacts> {
    let record = &row.counting().last()?.record;
    let detail = Detail::of(record.measured.as_ref()?)?;
    let course = course(detail)?;
    let throttled = row.remarks.iter().find(|(rule, _)| *rule == THROTTLED);
    let throttled = throttled.map(|(_, remark)| remark.text.as_str());
    let fell = course.fall().is_some() || course.sinks.is_some();
    let mut text = words(&course, detail.ended.as_deref());
    text += &which(row.counting().count());
    if let Some(heat) = heat(throttled, &record.evidence.temperature, fell) {
        text = format!("{text} {heat}");
    }
    Some(SustainedFacts { workload: row.workload.name.clone(), arm: row.arm.clone(), course, text })
}

/// The rule that speaks of heat.
const THROTTLED: &str = "throttled";

/// Whether heat slowed it down: what the rule says; where the rate fell without it, how near the hottest part
/// came to the temperature from which it slows down. A rate that did not fall needs no cause.
fn heat(throttled: Option<&str>, seen: &Presence<Temperature>, fell: bool) -> Option<String> {
    if let Some(text) = throttled {
        return Some(format!("It was throttled: {text}."));
    }
    if !fell || is_not_recorded(seen) {
        return None;
    }
    let unknown = |why: &str| format!("Whether heat slowed it does not show: {why}.");
    let temperature = match seen {
        Presence::Present(temperature) => temperature,
        Presence::Absent(reason) => return Some(unknown(reason)),
    };
    let nearest = temperature
        .sensors
        .iter()
        .filter_map(|(name, sensor)| {
            let limit = sensor.limit_mc.filter(|mc| *mc > LEAST_LIMIT_MC)?;
            Some((name, sensor.before_mc.max(sensor.after_mc), limit))
        })
        .min_by_key(|(_, most, limit)| limit.saturating_sub(*most));
    let degrees = |mc: i64| show::three_digits(mc as f64 / 1e3);
    Some(match nearest {
        Some((name, most, limit)) => format!(
            "Heat was not seen to slow it: {name} had {} \u{b0}C at its end, and slows down from {} \u{b0}C on.",
            degrees(most),
            degrees(limit)
        ),
        None => unknown("no sensor says from which temperature on its part slows down"),
    })
}

/// A rate with its interval, where it has one.
fn rate(bytes_per_s: f64, ends: Option<[f64; 2]>) -> String {
    let interval = ends.map(|ends| ends.map(show::rate));
    let interval = interval
        .map_or_else(String::new, |[low, high]| format!(" (95 % interval {low} to {high})"));
    format!("{}{interval}", show::rate(bytes_per_s))
}

fn of_level(level: &Level) -> String {
    rate(level.rate_bytes_per_s, level.rate_ci95)
}

fn of_rated(rated: &Rated) -> String {
    rate(rated.rate_bytes_per_s, rated.rate_ci95)
}

pub(super) fn words(course: &Course, ended: Option<&str>) -> String {
    let mut told = vec![seen(course)];
    if course.fall().is_some() {
        told.push(
            course
                .again
                .as_ref()
                .map_or_else(|| "Why it fell, this run does not tell.".to_owned(), cause),
        );
    }
    if let Some(ended) = ended {
        told.push(format!("Not all of its time: {ended}."));
    }
    told.join(" ")
}

/// What was seen of the rate.
fn seen(course: &Course) -> String {
    let written = show::bytes(course.written_bytes);
    if let Some([first, last]) = &course.sinks {
        return format!(
            "Its rate sinks little by little over {written}: {} in the first fifth of it, {} in the last.",
            of_rated(first),
            of_rated(last)
        );
    }
    let last = course.last().map_or_else(String::new, of_level);
    let (Some(first), Some(fall)) = (course.levels.first(), course.fall()) else {
        let changed = match course.levels.len() {
            0 | 1 => "",
            _ => " It changed meanwhile, but did not fall for good.",
        };
        let at_last = if changed.is_empty() { "" } else { " at last" };
        return format!(
            "It writes {last}{at_last}; no fall of the rate was seen in {written}.{changed}"
        );
    };
    let place = fall.from_ci95_bytes.map(|ends| ends.map(show::bytes));
    let place =
        place.map_or_else(String::new, |[low, high]| format!(" (95 % interval {low} to {high})"));
    let more =
        if course.last() == Some(fall) { String::new() } else { format!(" At last it is {last}.") };
    format!(
        "It writes {} at first and {} after {}{place}: the rate fell there, and did not come back in {written}.\
         {more}",
        of_level(first),
        of_level(fall),
        show::bytes(fall.from_bytes)
    )
}

/// What writing its beginning once more showed.
fn cause(again: &Again) -> String {
    let (at_once, rested) = (of_rated(&again.at_once), of_rated(&again.rested));
    let rest = show::duration(again.rest_ns as f64);
    match (again.slow_at_once, again.back_after_rest) {
        (true, true) => format!(
            "A fast cache was full: written once more, the places of the beginning took {at_once} at once, \
             and {rested} after a rest of {rest}."
        ),
        (true, false) => format!(
            "Written once more, the places of the beginning took {at_once} at once, and {rested} after a \
             rest of {rest}: why it fell does not show."
        ),
        (false, _) => format!(
            "Written once more, the places of the beginning took {at_once} at once: no cache is full that is \
             fast there."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn level(from_bytes: u64, rate: f64) -> Level {
        let place = (from_bytes > 0).then(|| [from_bytes - MIB, from_bytes + MIB]);
        let rate = rate * MIB as f64;
        Level {
            from_bytes,
            from_ci95_bytes: place,
            rate_bytes_per_s: rate,
            rate_ci95: Some([0.9 * rate, 1.1 * rate]),
        }
    }

    fn rated(rate: f64) -> Rated {
        Rated { rate_bytes_per_s: rate * MIB as f64, rate_ci95: None }
    }

    fn told(levels: &[(u64, f64)], again: Option<Again>) -> String {
        let levels = levels.iter().map(|(from, rate)| level(from * MIB, *rate)).collect();
        words(&Course { written_bytes: 900 * MIB, levels, sinks: None, again }, None)
    }

    const CACHE_WORDS: [&str; 3] = ["fast cache", "is full", "was full"];

    #[test]
    fn a_fall_is_told_as_it_was_seen_with_both_intervals() {
        let fell = told(&[(0, 400.0), (300, 50.0)], None);
        assert_eq!(
            fell,
            "It writes 400 MiB/s (95 % interval 360 MiB/s to 440 MiB/s) at first and 50 MiB/s (95 % interval \
             45 MiB/s to 55 MiB/s) after 300 MiB (95 % interval 299 MiB to 301 MiB): the rate fell there, and \
             did not come back in 900 MiB. Why it fell, this run does not tell."
        );
        let folds = told(&[(0, 400.0), (300, 50.0), (600, 100.0)], None);
        assert!(folds.contains("At last it is 100 MiB/s (95 % interval 90"), "{folds}");
        assert!(!CACHE_WORDS.iter().any(|word| folds.contains(word)), "{folds}");
    }

    #[test]
    fn what_did_not_fall_says_so() {
        assert_eq!(
            told(&[(0, 400.0)], None),
            "It writes 400 MiB/s (95 % interval 360 MiB/s to 440 MiB/s); no fall of the rate was seen in 900 \
             MiB."
        );
        let back = told(&[(0, 400.0), (300, 50.0), (600, 390.0)], None);
        assert!(back.ends_with("It changed meanwhile, but did not fall for good."), "{back}");
        assert!(
            back.starts_with("It writes 390 MiB/s") && back.contains(" at last; no fall"),
            "{back}"
        );
        let sinks = Some([rated(200.0), rated(100.0)]);
        let levels = vec![level(0, 150.0)];
        let disk = Course { written_bytes: 900 * MIB, levels, sinks, again: None };
        assert_eq!(
            words(&disk, Some("the user stopped it after 3 s")),
            "Its rate sinks little by little over 900 MiB: 200 MiB/s in the first fifth of it, 100 MiB/s in the \
             last. Not all of its time: the user stopped it after 3 s."
        );
    }

    #[test]
    fn a_cause_is_named_only_where_it_was_seen() {
        let again = |slow_at_once, back_after_rest| Again {
            at_once: rated(49.0),
            rest_ns: 15_000_000_000,
            rested: rated(390.0),
            slow_at_once,
            back_after_rest,
        };
        let of = |slow, back| told(&[(0, 400.0), (300, 50.0)], Some(again(slow, back)));
        let cache = of(true, true);
        assert!(
            cache.ends_with(
                "A fast cache was full: written once more, the places of the beginning took 49 MiB/s at once, \
                 and 390 MiB/s after a rest of 15 s."
            ),
            "{cache}"
        );
        for (slow, back) in [(true, false), (false, true), (false, false)] {
            let other = of(slow, back);
            assert!(!other.contains("A fast cache was full"), "{other}");
            assert!(other.contains("Written once more"), "{other}");
        }
        assert!(of(true, false).ends_with("why it fell does not show."));
        assert!(of(false, true).ends_with("no cache is full that is fast there."));
    }

    #[test]
    fn heat_is_told_where_it_was_seen_and_where_a_fall_wants_a_cause() {
        use crate::probes::temperature::Sensor;
        let at = |after_mc, limit_mc| {
            let sensor = Sensor { before_mc: 30_000, after_mc, limit_mc };
            let cool = Sensor { before_mc: 20_000, after_mc: 21_000, limit_mc: Some(90_000) };
            let sensors = [("nvme0 Composite".to_owned(), sensor), ("cpu".to_owned(), cool)];
            Presence::Present(Temperature { sensors: sensors.into(), slow_processors: None })
        };
        let said = heat(Some("the processor throttled once for heat"), &at(1, None), false);
        assert_eq!(
            said.as_deref(),
            Some("It was throttled: the processor throttled once for heat.")
        );
        assert_eq!(
            heat(None, &at(61_000, Some(82_000)), true).as_deref(),
            Some(
                "Heat was not seen to slow it: nvme0 Composite had 61 \u{b0}C at its end, and slows down \
                 from 82 \u{b0}C on."
            )
        );
        assert_eq!(heat(None, &at(61_000, Some(82_000)), false), None, "nothing fell");
        let none = Presence::absent("the kernel shows no temperature sensor here");
        let told = heat(None, &none, true).unwrap();
        assert!(told.ends_with("does not show: the kernel shows no temperature sensor here."));
    }
}
