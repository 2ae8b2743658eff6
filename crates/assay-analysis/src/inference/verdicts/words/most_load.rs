//! The sentences on how much load there can be below a limit.

use assay_core::quantity::units::show;
use assay_study::file::limit::Limit;
use assay_study::file::limit::bracket::Standing;
use assay_study::findings::Trust;
use assay_study::findings::most_load::{MostLoad, Rate};
use assay_study::results::course;

use super::{SUSPECT, counted};

/// No answer: no rate was tested, with the reason if the study ended by itself.
pub(crate) fn nothing(stopped_by: Option<&str>) -> String {
    let reason = stopped_by.map_or_else(String::new, |ended| format!(": the study {ended}"));
    format!("No answer, because Assay tested no rate{reason}.")
}

pub(crate) const EMULATED: &str =
    "No verdict: times and rates of an emulated machine do not describe hardware.";

/// `p99 < 2 ms: passes at 41,000/s (p99 1.6 ms, 1.4 ms to 1.8 ms), fails at 48,000/s (...); the limit is between them`
pub(crate) fn answer(found: &MostLoad, limit: Limit) -> String {
    format!("{}.", head(found, limit))
}

pub(crate) fn suspect(found: &MostLoad, limit: Limit) -> String {
    format!("{}, {SUSPECT}.", head(found, limit))
}

fn head(found: &MostLoad, limit: Limit) -> String {
    let [holds, fails] =
        [&found.max_passing_rate, &found.min_failing_rate].map(|name| found.rate(name.as_deref()?));
    let at = |own: Option<&Rate>| own.map(|own| with_numbers(own, limit)).unwrap_or_default();
    let lowest = at(found.rates.first());
    let highest = at(found.rates.last());
    let told = match (holds, fails) {
        (Some(_), Some(_)) => {
            format!("passes at {}, fails at {}; the limit is between them", at(holds), at(fails))
        }
        (Some(_), None) => {
            format!("passes at {}; no tested rate fails (highest: {highest})", at(holds))
        }
        (None, Some(_)) => {
            format!("fails at {}; no tested rate passes (lowest: {lowest})", at(fails))
        }
        (None, None) => format!("inconclusive at all tested rates, from {lowest} to {highest}"),
    };
    format!("{limit}: {told}")
}

pub(crate) fn rate(own: &Rate, limit: Limit) -> String {
    let standing = match own.outcome {
        Standing::Within => "passes",
        Standing::Exceeds => "fails",
        Standing::Inconclusive if own.trust == Some(Trust::Invalid) => "has invalid numbers",
        Standing::Inconclusive => "is inconclusive",
    };
    format!("{} {standing}, {}.", with_numbers(own, limit), counted(own.trials, "trial"))
}

/// `41,000/s (p99 1.6 ms, 1.4 ms to 1.8 ms)`.
fn with_numbers(own: &Rate, limit: Limit) -> String {
    let per_s = course::per_s(&own.rate).map_or_else(|| own.rate.clone(), show::per_second);
    let time = |ns: u64| show::duration(ns as f64);
    let numbers = match (own.mean_ns, own.bounds_ns) {
        (Some(middle), Some([low, high])) => {
            format!("{} {}, {} to {}", limit.percentile(), time(middle), time(low), time(high))
        }
        (Some(middle), None) => format!("{} {}, no CI", limit.percentile(), time(middle)),
        (None, _) => format!("no {}", limit.percentile()),
    };
    match own.late {
        0 => format!("{per_s}/s ({numbers})"),
        late => format!(
            "{per_s}/s ({numbers}; {late} of {} issued operations too late)",
            counted(own.trials, "trial")
        ),
    }
}
