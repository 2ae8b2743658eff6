//! Facts and exhibits of long writes; a cause is only named with evidence.

use assay_core::exhibit::{Column, Exhibit, Levels, Row, Sentence, Subject, Table, Unit, Value};
use assay_core::presence::Presence;
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use super::{
    Again, RateLevel, Rated, Rests, SUSTAINED, SustainedDetail, SustainedPlan, WriteTimeline,
    course,
};
use crate::Measured;
use crate::tell::{NearLimit, OfRow, Resting, RowSource, RowView, Shows, Tells};

/// Facts of long writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SustainedFacts {
    pub workload: String,
    pub configuration: Levels,
    /// The course of the rate: of one trial, if there are several.
    pub timeline: WriteTimeline,
    /// The chosen trial, and totals of the others; `None` for a single trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub several: Option<Several>,
    /// The same in a sentence.
    pub text: String,
}

/// Several trials; the facts contain the course of one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Several {
    /// Its number among the counted trials, from 1.
    pub trial: usize,
    /// Number of counted trials.
    pub trials: usize,
    /// Number of trials in which the rate fell permanently.
    pub fell: usize,
    /// The lowest and the highest of their sustained rates.
    pub trials_bytes_per_s: [f64; 2],
    /// The number of their row.
    pub sustained_bytes_per_s: Option<f64>,
}

impl Tells for SustainedPlan {
    /// Of several trials, uses the worst, because courses cannot be averaged.
    fn facts(&self, seen: &RowView<'_>) -> Option<crate::WorkFacts> {
        let mut trials = judged_trials(seen);
        let worst = worst_trial(&trials)?;
        let several = summarize(&trials, trials[worst].at, seen.trials.len());
        let SustainedTrial { at, course, ended } = trials.swap_remove(worst);
        let throttled =
            seen.spoken.iter().find(|rule| rule.rule == THROTTLED).map(|rule| rule.text);
        let near_limit = seen.near_limits.get(at).and_then(Option::as_ref);
        let mut text = words(&course, ended);
        if let Some(heat) = throttling_words(throttled, near_limit, course.fell()) {
            text = format!("{text} {heat}");
        }
        let Subject { workload, arm } = seen.subject.clone();
        Some(
            SustainedFacts { workload, configuration: arm, timeline: course, several, text }.into(),
        )
    }
}

struct SustainedTrial<'a> {
    at: usize,
    course: WriteTimeline,
    ended: Option<&'a str>,
}

impl SustainedTrial<'_> {
    fn final_rate(&self) -> f64 {
        self.course.last().map_or(0.0, |level| level.rate_bytes_per_s)
    }
}

fn judged_trials<'a>(seen: &RowView<'a>) -> Vec<SustainedTrial<'a>> {
    let of = |(at, measured): (usize, Option<&'a Measured>)| {
        let detail = SustainedDetail::of(measured?)?;
        Some(SustainedTrial { at, course: course(detail)?, ended: detail.ended.as_deref() })
    };
    seen.trials.iter().copied().enumerate().filter_map(of).collect()
}

/// The index of the trial with the worst result, then with the lowest final rate.
fn worst_trial(trials: &[SustainedTrial<'_>]) -> Option<usize> {
    (0..trials.len()).max_by(|one, other| {
        let [one, other] = [one, other].map(|at| &trials[*at]);
        let slower = other.final_rate().total_cmp(&one.final_rate());
        one.course.fell().cmp(&other.course.fell()).then(slower)
    })
}

/// Totals over the trials next to the one at index `at`; `None` if `all`, the number of counted trials, is 1.
fn summarize(trials: &[SustainedTrial<'_>], at: usize, all: usize) -> Option<Several> {
    let rates = || trials.iter().map(SustainedTrial::final_rate);
    let ends = [rates().reduce(f64::min)?, rates().reduce(f64::max)?];
    (all > 1).then(|| Several {
        trial: at + 1,
        trials: all,
        fell: trials.iter().filter(|trial| trial.course.fell()).count(),
        trials_bytes_per_s: ends,
        sustained_bytes_per_s: None,
    })
}

impl Several {
    /// Describes the other trials, in sentences.
    fn words(&self) -> String {
        let Self { trial, trials, fell, .. } = self;
        let why = if *fell == 0 { "the slowest trial at the end" } else { "the worst" };
        let fell_in = if *fell == 0 { "no trial".to_owned() } else { format!("{fell} trials") };
        let [least, most] = self.trials_bytes_per_s.map(show::rate);
        let single_trials = match self.sustained_bytes_per_s.map(show::rate) {
            Some(rate) => format!("The sustained rate over all trials is {rate}; single trials"),
            None => "Single trials".to_owned(),
        };
        format!(
            " This is trial {trial} of {trials}, {why}; the rate dropped permanently in {fell_in}. {single_trials} \
             wrote {least} to {most} at the end."
        )
    }
}

const LEGEND: &str = "From: bytes written before the change to this rate; the CI covers all change points that \
                      explain the series nearly as well. Rate: bytes divided by time, with a CI from ten batches. If \
                      there are several trials, the table shows the worst: a trial with a drop, or else the slowest \
                      trial at the end.";

const RESTS_LEGEND: &str = "With gaps: all bytes divided by the time of slices and gaps, shown if gaps took more than 5% \
                        of the time. With such gaps, the rate may drop later or not at all. The figure omits gaps.";

impl Shows for SustainedFacts {
    const KEY: &'static str = "sustained";

    fn exhibit(all: &[&Self], _: &dyn RowSource) -> Exhibit {
        let sentence = |row: &&Self| Sentence { about: row.subject(), text: row.text.clone() };
        let rested = all.iter().any(|row| row.timeline.rests.is_some());
        let notes = [LEGEND].into_iter().chain(rested.then_some(RESTS_LEGEND));
        let table = Table {
            title: "sustained writes".to_owned(),
            columns: vec![
                Column::new("from", Unit::Bytes),
                Column::new("95% CI", Unit::Bytes),
                Column::new("rate", Unit::BytesPerS),
                Column::new("95% CI of the rate", Unit::BytesPerS),
            ],
            rows: all.iter().flat_map(|row| row.rows()).collect(),
            notes: notes.map(str::to_owned).collect(),
        };
        Exhibit {
            tables: vec![table],
            beside: Some("series"),
            sentences: all.iter().map(sentence).collect(),
            ..Default::default()
        }
    }
}

impl OfRow for SustainedFacts {
    /// With several trials, adds the number of the row.
    fn settle(&mut self, number: &dyn Fn(&str) -> Option<f64>) {
        if let Some(several) = &mut self.several {
            several.sustained_bytes_per_s = number(SUSTAINED.name);
            self.text += &several.words();
        }
    }

    fn resting(&mut self) -> Option<Resting<'_>> {
        Some(Resting { text: &mut self.text, unsaid: Some("The sustained rate is unknown.") })
    }
}

impl SustainedFacts {
    /// A row per level, for the whole time if the drive rested, and for all trials.
    fn rows(&self) -> Vec<Row> {
        let row = |level: &RateLevel| {
            let from = level.from_ci95_bytes.map(|ends| ends.map(|end| end as f64));
            let cells = [
                Value::from(level.from_bytes),
                from.into(),
                level.rate_bytes_per_s.into(),
                level.rate_ci95.into(),
            ];
            Row::about(self.subject(), cells)
        };
        let mut rows: Vec<Row> = self.timeline.levels.iter().map(row).collect();
        let mut add_total = |what: String, rate: Value| {
            let cells = [what.into(), Value::Missing, rate, Value::Missing];
            rows.push(Row::about(self.subject(), cells));
        };
        if let Some(rests) = self.timeline.rests {
            let what = format!("with gaps, {} of the time", rests.percent());
            add_total(what, rests.whole_bytes_per_s.into());
        }
        if let Some(several) = self.several {
            let what = format!("all {} trials, at the end", several.trials);
            add_total(what, several.sustained_bytes_per_s.into());
        }
        rows
    }
}

const THROTTLED: &str = "throttled";

/// The rule's text on throttling; without it, how far a drive whose rate fell was from its throttling temperature.
fn throttling_words(
    throttled: Option<&str>,
    near_limit: Option<&Presence<NearLimit>>,
    fell: bool,
) -> Option<String> {
    if let Some(text) = throttled {
        return Some(format!("Thermal throttling: {text}."));
    }
    let degrees = |mc: i64| show::three_digits(mc as f64 / 1e3);
    Some(match near_limit.filter(|_| fell)? {
        Presence::Present(NearLimit { name, most_mc, limit_mc }) => format!(
            "No thermal throttling detected: {name} reached {} \u{b0}C at the end and throttles at {} \u{b0}C.",
            degrees(*most_mc),
            degrees(*limit_mc)
        ),
        Presence::Absent(why) => format!("Thermal throttling is unknown: {why}."),
    })
}

fn rate_words(bytes_per_s: f64, ends: Option<[f64; 2]>) -> String {
    let interval = ends.map(|ends| ends.map(show::rate));
    let interval =
        interval.map_or_else(String::new, |[low, high]| format!(" (95% CI {low} to {high})"));
    format!("{}{interval}", show::rate(bytes_per_s))
}

fn level_words(level: &RateLevel) -> String {
    rate_words(level.rate_bytes_per_s, level.rate_ci95)
}

fn rated_words(rated: &Rated) -> String {
    rate_words(rated.rate_bytes_per_s, rated.rate_ci95)
}

/// Describes the rates over time, the cause of a drop and an early end.
pub(crate) fn words(course: &WriteTimeline, ended: Option<&str>) -> String {
    let mut sentences = vec![course_words(course)];
    sentences.extend(course.rests.as_ref().map(|rests| rests_words(course, rests)));
    if course.fall().is_some() {
        sentences.push(match &course.again {
            Some(again) => cause_words(again),
            None => "The reason for the drop is unknown.".to_owned(),
        });
    }
    if let Some(ended) = ended {
        sentences.push(format!("The trial ended early: {ended}."));
    }
    sentences.join(" ")
}

/// Describes the rates over the written bytes: gradual decline, permanent drop or neither.
fn course_words(course: &WriteTimeline) -> String {
    let written = show::bytes(course.written_bytes);
    if let Some([first, last]) = &course.declines {
        return format!(
            "The write rate decreases gradually over {written}: from {} in the first fifth to {} in the last fifth.",
            rated_words(first),
            rated_words(last)
        );
    }
    let last = course.last().map_or_else(String::new, level_words);
    let (Some(first), Some(fall)) = (course.levels.first(), course.fall()) else {
        let extent = match course.rests {
            Some(_) => ", excluding idle gaps.".to_owned(),
            None => format!("; the rate did not drop within {written}."),
        };
        if course.levels.len() <= 1 {
            return format!("The write rate is {last}{extent}");
        }
        return format!(
            "The write rate is {last} at the end{extent} The rate changed, but did not drop permanently."
        );
    };
    let place = fall.from_ci95_bytes.map(|ends| ends.map(show::bytes));
    let place = place.map_or_else(String::new, |[low, high]| format!(" (95% CI {low} to {high})"));
    let more = if course.last() == Some(fall) {
        String::new()
    } else {
        format!(" At the end, the rate is {last}.")
    };
    format!(
        "The write rate is {} at first and dropped to {} after {}{place}; it did not recover within {written}.{more}",
        level_words(first),
        level_words(fall),
        show::bytes(fall.from_bytes)
    )
}

/// Effect of rests between slices on the result.
fn rests_words(course: &WriteTimeline, rests: &Rests) -> String {
    let percent = rests.percent();
    let written = show::bytes(course.written_bytes);
    let fall = if course.fell() {
        "so the rate may drop sooner under a continuous write".to_owned()
    } else {
        format!("so the rate may drop after more than {written}, or not at all")
    };
    let whole = show::rate(rests.whole_bytes_per_s);
    format!(
        "The drive was idle between slices for {percent} of the time, {fall}; including the gaps, the rate was {whole}."
    )
}

/// Explains a drop by the retry: a full cache is slow at once, and fast again after a rest.
fn cause_words(again: &Again) -> String {
    let at_once = rated_words(&again.at_once);
    let rewrites = format!("rewrites of the first positions ran at {at_once} immediately");
    if !again.slow_at_once {
        return format!("No fast cache had filled up: {rewrites}.");
    }
    let cause = if again.back_after_rest {
        "A fast cache had filled up"
    } else {
        "The reason for the drop is unknown"
    };
    let (rested, rest) = (rated_words(&again.rested), show::duration(again.rest_ns as f64));
    format!("{cause}: {rewrites}, and at {rested} after {rest} of idle time.")
}

#[cfg(test)]
mod tests {
    use super::super::tests::measured_of;
    use super::*;
    use crate::tell::Bare;

    const MIB: u64 = 1 << 20;

    fn level(from_bytes: u64, rate: f64) -> RateLevel {
        let place = (from_bytes > 0).then(|| [from_bytes - MIB, from_bytes + MIB]);
        let rate = rate * MIB as f64;
        RateLevel {
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
        words(
            &WriteTimeline { written_bytes: 900 * MIB, levels, declines: None, rests: None, again },
            None,
        )
    }

    const CACHE_WORDS: [&str; 3] = ["fast cache", "is full", "was full"];

    #[test]
    fn a_fall_is_told_as_it_was_seen_with_both_intervals() {
        let fell = told(&[(0, 400.0), (300, 50.0)], None);
        assert_eq!(
            fell,
            "The write rate is 400 MiB/s (95% CI 360 MiB/s to 440 MiB/s) at first and dropped to 50 MiB/s (95% CI 45 \
             MiB/s to 55 MiB/s) after 300 MiB (95% CI 299 MiB to 301 MiB); it did not recover within 900 MiB. The \
             reason for the drop is unknown."
        );
        let folds = told(&[(0, 400.0), (300, 50.0), (600, 100.0)], None);
        assert!(folds.contains("At the end, the rate is 100 MiB/s (95% CI 90"), "{folds}");
        assert!(!CACHE_WORDS.iter().any(|word| folds.contains(word)), "{folds}");
    }

    #[test]
    fn what_did_not_fall_says_so() {
        assert_eq!(
            told(&[(0, 400.0)], None),
            "The write rate is 400 MiB/s (95% CI 360 MiB/s to 440 MiB/s); the rate did not drop within 900 MiB."
        );
        let back = told(&[(0, 400.0), (300, 50.0), (600, 390.0)], None);
        assert!(back.ends_with("The rate changed, but did not drop permanently."), "{back}");
        assert!(
            back.starts_with("The write rate is 390 MiB/s")
                && back.contains(" at the end; the rate did not drop"),
            "{back}"
        );
        let sinks = Some([rated(200.0), rated(100.0)]);
        let levels = vec![level(0, 150.0)];
        let disk = WriteTimeline {
            written_bytes: 900 * MIB,
            levels,
            declines: sinks,
            rests: None,
            again: None,
        };
        assert_eq!(
            words(&disk, Some("the user stopped the trial after 3 s")),
            "The write rate decreases gradually over 900 MiB: from 200 MiB/s in the first fifth to 100 MiB/s in \
             the last fifth. The trial ended early: the user stopped the trial after 3 s."
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
                "A fast cache had filled up: rewrites of the first positions ran at 49 MiB/s immediately, and at 390 \
                 MiB/s after 15 s of idle time."
            ),
            "{cache}"
        );
        for (slow, back) in [(true, false), (false, true), (false, false)] {
            let other = of(slow, back);
            assert!(!other.contains("A fast cache had filled up"), "{other}");
            assert!(other.contains("rewrites of the first positions"), "{other}");
        }
        assert!(of(true, false).contains("The reason for the drop is unknown:"));
        assert!(of(false, true).contains("No fast cache had filled up:"));
    }

    #[test]
    fn heat_is_told_where_it_was_seen_and_where_a_fall_wants_a_cause() {
        let near =
            NearLimit { name: "nvme0 Composite".to_owned(), most_mc: 61_000, limit_mc: 82_000 };
        let near = Presence::Present(near);
        let said = throttling_words(Some("the CPU throttled once for heat"), Some(&near), false);
        assert_eq!(said.as_deref(), Some("Thermal throttling: the CPU throttled once for heat."));
        assert_eq!(
            throttling_words(None, Some(&near), true).as_deref(),
            Some(
                "No thermal throttling detected: nvme0 Composite reached 61 \u{b0}C at the end and throttles at 82 \
                 \u{b0}C."
            )
        );
        assert_eq!(throttling_words(None, Some(&near), false), None, "nothing fell");
        assert_eq!(throttling_words(None, None, true), None, "nobody looked");
        let none = Presence::absent("the kernel reports no temperature sensor");
        let told = throttling_words(None, Some(&none), true).unwrap();
        assert!(told.ends_with("is unknown: the kernel reports no temperature sensor."));
    }

    #[test]
    fn every_level_is_a_row_and_nothing_is_told_of_invalid_numbers() {
        let levels = vec![level(0, 400.0), level(300 * MIB, 50.0)];
        let written_bytes = 900 * MIB;
        let course =
            WriteTimeline { written_bytes, levels, declines: None, rests: None, again: None };
        let text = "It was written to.".to_owned();
        let (workload, arm) = ("long".to_owned(), Levels::new());
        let mut facts =
            SustainedFacts { workload, configuration: arm, timeline: course, several: None, text };
        let Exhibit { tables, sentences, leads, .. } = SustainedFacts::exhibit(&[&facts], &Bare);
        let table = &tables[0];
        let written = |row: &Row| table.texts(row);
        assert_eq!(written(&table.rows[0]), ["0 B", "-", "400 MiB/s", "360 MiB/s to 440 MiB/s"]);
        assert_eq!(
            written(&table.rows[1]),
            ["300 MiB", "299 MiB to 301 MiB", "50 MiB/s", "45 MiB/s to 55 MiB/s"]
        );
        assert_eq!(table.rows.len(), 2);
        assert!(table.rows.iter().all(|row| row.subject.as_ref() == Some(&facts.subject())));
        assert_eq!((sentences.len(), &*sentences[0].text, leads), (1, "It was written to.", false));
        assert_eq!(facts.resting().unwrap().unsaid, Some("The sustained rate is unknown."));
    }

    /// Writes at these rates in MiB per second, a hundred slices per rate, with slight variation.
    fn measured(rates: &[u64]) -> Measured {
        let slice = |rate: u64, at: u64| {
            let whole = 64_000_000_000 / rate;
            whole - whole / 25 + whole / 50 * ((7 * at + 3) % 5)
        };
        let slices = |rate: &u64| {
            let rate = *rate;
            (0..100).map(move |at| slice(rate, at))
        };
        let slices_ns: Vec<u64> = rates.iter().flat_map(slices).collect();
        measured_of(SustainedDetail { slice_bytes: 64 * MIB, slices_ns, ..Default::default() })
    }

    /// The same, with this share of the time between slices.
    fn with_rests(rates: &[u64], share: f64) -> Measured {
        let measured = measured(rates);
        let mut detail = SustainedDetail::of(&measured).unwrap().clone();
        let slices_ns = detail.slices_ns.iter().sum::<u64>() as f64;
        detail.rests_ns = Some((slices_ns * share / (1.0 - share)) as u64);
        measured_of(detail)
    }

    #[test]
    fn where_it_hardly_rested_nothing_is_said_of_it() {
        let [quiet, older] =
            [with_rests(&[400], 0.02), measured(&[400])].map(|one| facts(&[&one], &[]));
        assert!(quiet.text.contains("the rate did not drop within 6.25 GiB."), "{}", quiet.text);
        assert_eq!((&quiet.text, &quiet.timeline), (&older.text, &older.timeline));
        let table = &SustainedFacts::exhibit(&[&quiet], &Bare).tables[0];
        assert_eq!((table.rows.len(), table.notes.len()), (1, 1));
    }

    /// Facts of trials, with 300 MiB/s as the number of their row.
    fn facts(trials: &[&Measured], near_limits: &[Option<Presence<NearLimit>>]) -> SustainedFacts {
        let planned =
            SustainedPlan { engine: crate::io::Engine::IoUring, bytes: 1 << 40, synced: false };
        let subject = Subject { workload: "long".to_owned(), arm: Levels::new() };
        let trials: Vec<Option<&Measured>> = trials.iter().copied().map(Some).collect();
        let seen = RowView { near_limits, ..RowView::bare(&subject, &trials) };
        let mut facts = SustainedFacts::of(&planned.facts(&seen).unwrap()).unwrap().clone();
        facts.settle(&|metric| (metric == SUSTAINED.name).then_some(300.0 * MIB as f64));
        facts
    }

    /// A single trial is its row: no text on others, and no row for all trials.
    #[test]
    fn one_trial_is_told_as_it_is() {
        let one = facts(&[&measured(&[400, 200])], &[]);
        assert_eq!(one.several, None);
        assert!(!one.text.contains("trial"), "{}", one.text);
        assert_eq!(SustainedFacts::exhibit(&[&one], &Bare).tables[0].rows.len(), 2);
    }

    #[test]
    fn heat_is_that_of_the_trial_that_is_told() {
        let near = |most_mc| {
            let name = "nvme0 Composite".to_owned();
            Some(Presence::Present(NearLimit { name, most_mc, limit_mc: 82_000 }))
        };
        let (even, fell) = (measured(&[400]), measured(&[400, 200]));
        let told = facts(&[&fell, &even], &[near(61_000), near(50_000)]).text;
        assert!(told.contains("reached 61 \u{b0}C at the end"), "{told}");
    }
}
