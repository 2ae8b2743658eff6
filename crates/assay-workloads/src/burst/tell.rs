//! Facts and exhibits of burst credits: numbers with intervals, and from two block sizes the unit of the credits.

use assay_core::exhibit::{Column, Exhibit, Levels, Row, Sentence, Table, Unit, Value};
use assay_core::quantity::Bytes;
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use super::{Bucket, BurstDetail, BurstDirection, BurstPlan, Course, Estimate};
use crate::tell::{OfRow, Resting, RowSource, RowView, Shows, Tells};

/// Facts of a load that uses up burst credits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BurstFacts {
    pub workload: String,
    pub configuration: Levels,
    pub mix: BurstDirection,
    /// Block size in bytes.
    pub size_bytes: u64,
    pub timeline: Course,
    /// Index of the trial and number of trials, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<[usize; 2]>,
    /// The same in sentences.
    pub text: String,
}

impl Tells for BurstPlan {
    /// With several trials, uses the first: later ones may begin with fewer credits.
    fn facts(&self, seen: &RowView<'_>) -> Option<crate::WorkFacts> {
        let mut trials = seen.trials.iter().copied().enumerate();
        let (at, course, ended) = trials.find_map(|(at, measured)| {
            let detail = BurstDetail::of(measured?)?;
            Some((at, detail.course()?, detail.ended.as_deref()))
        })?;
        let trial = (seen.trials.len() > 1).then(|| [at + 1, seen.trials.len()]);
        let text = words(self, &course, ended, trial);
        let facts = BurstFacts {
            workload: seen.subject.workload.clone(),
            configuration: seen.subject.arm.clone(),
            mix: self.mix,
            size_bytes: self.size_bytes,
            timeline: course,
            trial,
            text,
        };
        Some(facts.into())
    }
}

/// A number with its interval: `42 s (95% CI 41 s to 44 s)`.
fn estimate_words(estimate: &Estimate, format_value: impl Fn(f64) -> String) -> String {
    let [low, high] = estimate.ci95.map(&format_value);
    format!("{} (95% CI {low} to {high})", format_value(estimate.value))
}

fn rate(per_s: f64) -> String {
    format!("{}/s", show::per_second(per_s))
}

fn seconds(seconds: f64) -> String {
    show::duration(seconds * 1e9)
}

fn words(
    planned: &BurstPlan,
    course: &Course,
    ended: Option<&str>,
    trial: Option<[usize; 2]>,
) -> String {
    let direction = if planned.mix == BurstDirection::Read { "Reads" } else { "Writes" };
    let load = format!("{direction} of {}", Bytes(planned.size_bytes));
    let mut sentences = match course {
        Course::Held { per_s, seconds: held } => vec![format!(
            "{load}: the rate of {} lasted for the entire load period ({}); the burst credits did not run out.",
            estimate_words(per_s, rate),
            seconds(*held)
        )],
        Course::Fell(bucket) => vec![fall_words(bucket, &load), refill_words(bucket, ended)],
    };
    if matches!(course, Course::Held { .. }) {
        sentences.extend(ended.map(|ended| format!("The trial ended early: {ended}.")));
    }
    if let Some([trial, trials]) = trial {
        sentences.push(format!("This is trial {trial} of {trials}."));
    }
    sentences.join(" ")
}

fn fall_words(bucket: &Bucket, load: &str) -> String {
    format!(
        "{load}: the burst rate of {} lasted for {}; after that, the baseline rate was {}. The burst credits were {} \
         above the baseline rate.",
        estimate_words(&bucket.burst_per_s, rate),
        estimate_words(&bucket.burst_s, seconds),
        estimate_words(&bucket.baseline_per_s, rate),
        estimate_words(&bucket.credits, show::per_second)
    )
}

fn refill_words(bucket: &Bucket, ended: Option<&str>) -> String {
    let (Some(refill), Some(full_refill)) = (&bucket.refill_per_s, &bucket.refill_s) else {
        let why = ended.unwrap_or("no refill was measured");
        return format!("The refill time is unknown: {why}.");
    };
    format!(
        "Idle time refills {}; a full refill takes {}.",
        estimate_words(refill, rate),
        estimate_words(full_refill, seconds)
    )
}

const LEGEND: &str = "Duration: credits divided by the difference between the two rates. Credits: operations above \
                      the baseline rate until the rate dropped. Refill: operations above the baseline rate after an \
                      idle period, per idle second. Intervals are 95% CIs.";

impl Shows for BurstFacts {
    const KEY: &'static str = "burst";

    fn exhibit(all: &[&Self], _: &dyn RowSource) -> Exhibit {
        let sentence = |row: &&Self| Sentence { about: row.subject(), text: row.text.clone() };
        let unit = credit_unit(all).map(|text| Sentence { about: all[0].subject(), text });
        let table = Table {
            title: "bucket".to_owned(),
            columns: vec![
                Column::new("size", Unit::Bytes),
                Column::new("burst, /s", Unit::Count),
                Column::new("duration", Unit::Seconds),
                Column::new("baseline, /s", Unit::Count),
                Column::new("credits", Unit::Count),
                Column::new("refill, /s", Unit::Count),
                Column::new("full refill", Unit::Seconds),
            ],
            rows: all.iter().map(|row| row.row()).collect(),
            notes: vec![LEGEND.to_owned()],
        };
        Exhibit {
            tables: vec![table],
            beside: Some("series"),
            sentences: all.iter().map(sentence).chain(unit).collect(),
            leads: true,
            ..Exhibit::default()
        }
    }
}

impl OfRow for BurstFacts {
    fn resting(&mut self) -> Option<Resting<'_>> {
        Some(Resting { text: &mut self.text, unsaid: Some("The burst duration is unknown.") })
    }
}

impl BurstFacts {
    fn row(&self) -> Row {
        let value = |estimate: Estimate| Value::Estimate(estimate.value, estimate.ci95);
        let size = Value::from(self.size_bytes);
        let cells = match &self.timeline {
            Course::Held { per_s, seconds: held } => [
                size,
                value(*per_s),
                format!("at least {}", seconds(*held)).into(),
                Value::Missing,
                Value::Missing,
                Value::Missing,
                Value::Missing,
            ],
            Course::Fell(bucket) => [
                size,
                value(bucket.burst_per_s),
                value(bucket.burst_s),
                value(bucket.baseline_per_s),
                value(bucket.credits),
                bucket.refill_per_s.map(value).into(),
                bucket.refill_s.map(value).into(),
            ],
        };
        Row::about(self.subject(), cells)
    }

    /// 95% CI of the credits in operations; `None` if they did not run out.
    fn credits_ci95(&self) -> Option<[f64; 2]> {
        match &self.timeline {
            Course::Fell(bucket) => Some(bucket.credits.ci95),
            Course::Held { .. } => None,
        }
    }
}

/// The unit of the credits, from two block sizes: operations or bytes; `None` if both or neither fit.
fn credit_unit(all: &[&BurstFacts]) -> Option<String> {
    let (first, later) = all.split_first()?;
    let other =
        later.iter().find(|row| row.mix == first.mix && row.size_bytes != first.size_bytes)?;
    let [operations, other_operations] = [first.credits_ci95()?, other.credits_ci95()?];
    let bytes = operations.map(|end| end * first.size_bytes as f64);
    let other_bytes = other_operations.map(|end| end * other.size_bytes as f64);
    let overlap = |one: [f64; 2], other: [f64; 2]| one[0] <= other[1] && other[0] <= one[1];
    let fits_operations = overlap(operations, other_operations);
    if fits_operations == overlap(bytes, other_bytes) {
        return None;
    }
    let [unit, in_unit] = if fits_operations { ["operations", ""] } else { ["bytes", " in bytes"] };
    Some(format!(
        "The volume counts {unit}: the burst credits{in_unit} for sizes of {} and {} are equal within their 95% CIs.",
        Bytes(first.size_bytes),
        Bytes(other.size_bytes)
    ))
}
