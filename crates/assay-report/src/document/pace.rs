//! Scheduled work: deviations from the schedule, and the meaning of its times.

use assay_core::quantity::metric::{RESPONSE, RESPONSE_P99};
use assay_core::quantity::played::{LatencyPoint, PlayedClass, PlayedMetric};
use assay_core::quantity::units::show;
use assay_study::{findings::Findings, results::plan::Arm};

pub(super) const LEGEND: &str = "Response: time from the intended start of an operation to its completion. Service \
     (p99 unless stated otherwise): time from submission to completion.";

/// Headings and metrics of quantiles to print with `metric`. Response times include queueing, service times do not.
pub(super) fn quantiles(metric: &str) -> Vec<(&'static str, &'static str)> {
    const ALL: [(&str, &str); 3] = [
        ("response p50", "response_p50_ns"),
        ("response p99", RESPONSE_P99),
        ("service p99", "latency_p99_ns"),
    ];
    ALL.into_iter().filter(|(_, name)| *name != metric).collect()
}

/// Headings and metrics of the quantiles to print with `metric` of a class of a replayed load.
pub(super) fn of_class(class: &PlayedClass, metric: &str) -> Vec<(&'static str, &'static str)> {
    const ALL: [(&str, PlayedMetric); 3] = [
        ("response p50", PlayedMetric::Response(LatencyPoint::P50)),
        ("response p99", PlayedMetric::Response(LatencyPoint::P99)),
        ("service p99", PlayedMetric::Service(LatencyPoint::P99)),
    ];
    let named = |(heading, quantile)| Some((heading, class.metric(quantile)?.name));
    ALL.into_iter().filter_map(named).filter(|(_, name)| *name != metric).collect()
}

pub(super) fn has_responses(findings: &Findings) -> bool {
    findings.measurements.iter().any(|cell| is_response(&cell.metric))
}

pub(super) fn is_response(metric: &str) -> bool {
    RESPONSE.iter().any(|known| known.name == metric)
}

/// How many operations were issued, and how many late; `None` without a schedule.
pub(super) fn note(findings: &Findings, workload: &str, arm: &Arm) -> Option<String> {
    let pace = findings.workload(workload, arm)?.pace?;
    let share = |part: u64| {
        let percent = 100.0 * part as f64 / pace.scheduled.max(1) as f64;
        format!("{} ({})", show::count(part), show::percent(percent))
    };
    let issued = match pace.unissued() {
        0 => "all issued".to_owned(),
        missing => format!("{} never issued", share(missing)),
    };
    let late = match pace.late {
        0 => "none late".to_owned(),
        late => {
            format!("{} late by up to {}", share(late), show::duration(pace.max_delay_ns as f64))
        }
    };
    Some(format!("{} operations scheduled: {issued}, {late}", show::count(pace.scheduled)))
}

#[cfg(test)]
mod tests {
    use assay_core::quantity::played;

    use super::*;

    #[test]
    fn beside_a_class_stand_its_own_quantiles() {
        let (writes, _) = played::find("write_response_mean_ns").unwrap();
        let all = [
            ("response p50", "write_response_p50_ns"),
            ("response p99", "write_response_p99_ns"),
            ("service p99", "write_latency_p99_ns"),
        ];
        assert_eq!(of_class(writes, "write_response_mean_ns"), all);
        assert_eq!(of_class(writes, "write_latency_p99_ns"), all[..2]);
        assert!(quantiles("iops").iter().all(|(_, own)| !own.starts_with("write")));
    }
}
