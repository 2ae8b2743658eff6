//! The sentences on how much load there can be below a limit.

use assay_core::quantity::units::show;
use assay_study::file::limit::Limit;
use assay_study::file::limit::bracket::Standing;
use assay_study::findings::Trust;
use assay_study::findings::most_load::{MostLoad, Rate};
use assay_study::results::course;

use super::counted;

/// No answer: no rate was tested, with the reason if the study ended by itself.
pub(crate) fn nothing(stopped_by: Option<&str>) -> String {
    let reason = stopped_by.map_or_else(String::new, |ended| format!(": the study {ended}"));
    format!("No answer, because Assay tested no rate{reason}.")
}

pub(crate) const EMULATED: &str =
    "No verdict: times and rates of an emulated machine do not describe hardware.";

/// `p99 < 2 ms: passes at 41,000/s (p99 1.6 ms, 1.4 ms to 1.8 ms), fails at 48,000/s (...); the limit is between them`
pub(crate) fn outcome(found: &MostLoad, limit: Limit) -> String {
    let rate_text = |rate: &Rate| with_numbers(rate, limit);
    let [passing, failing] = [&found.max_passing_rate, &found.min_failing_rate]
        .map(|name| found.rate(name.as_deref()?).map(rate_text));
    let lowest = found.rates.first().map(rate_text).unwrap_or_default();
    let highest = found.rates.last().map(rate_text).unwrap_or_default();
    let outcome = match (passing, failing) {
        (Some(passing), Some(failing)) => {
            format!("passes at {passing}, fails at {failing}; the limit is between them")
        }
        (Some(passing), None) => {
            format!("passes at {passing}; no tested rate fails (highest: {highest})")
        }
        (None, Some(failing)) => {
            format!("fails at {failing}; no tested rate passes (lowest: {lowest})")
        }
        (None, None) => format!("inconclusive at all tested rates, from {lowest} to {highest}"),
    };
    format!("{limit}: {outcome}")
}

pub(crate) fn rate_words(own: &Rate, limit: Limit) -> String {
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
