//! OpenMetrics for a textfile collector: means, intervals and counts as gauges.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_core::catalogue::About;
use assay_core::exhibit::parts::distinct;
use assay_study::findings::{Findings, Measurement, TargetFacts};
use assay_workloads::metrics;

use super::custom_is_better::UNITS;
use super::{Exporter, nothing};

pub const EXPORTER: Exporter = Exporter {
    about: About {
        name: "openmetrics",
        summary: "OpenMetrics text with means and CIs, for dashboards",
        text: "One gauge per metric, with gauges for the bounds of its 95% CI and the number of trials. A mean of \
               fewer than three trials has no CI. Labels: study, workload, factor_NAME, trust, device (the drive \
               without its serial number) and host (the platform, which assay note --platform can name; never the \
               host name).",
    },
    write,
    left_out: nothing,
};

fn write(findings: &Findings) -> Option<String> {
    let mut families: BTreeMap<String, Vec<&Measurement>> = BTreeMap::new();
    for cell in findings.measurements.iter().filter(|cell| !cell.control && cell.value().is_some())
    {
        families.entry(name(&cell.metric)).or_default().push(cell);
    }
    if families.is_empty() {
        return None;
    }
    let mut text = String::new();
    for (metric, cells) in families {
        let summary = metrics::find(&metric).map_or(metric.as_str(), |known| known.summary);
        let samples = |value: &dyn Fn(&Measurement) -> Option<f64>| {
            let sample = |cell: &&Measurement| Some((labels(findings, cell), value(cell)?));
            cells.iter().filter_map(sample).collect::<Vec<_>>()
        };
        write_gauge(&mut text, &metric, summary, &samples(&Measurement::value));
        for (end, name, bound) in [(0, "low", "Lower"), (1, "high", "Upper")] {
            let name = format!("ci95_{name}_{metric}");
            let help = format!("{bound} bound of the 95% CI: {summary}");
            write_gauge(&mut text, &name, &help, &samples(&|cell| Some(cell.ci95?[end])));
        }
        let help = format!("Number of trials: {summary}");
        let trials = samples(&|cell| Some(cell.n as f64));
        write_gauge(&mut text, &format!("{metric}_trials"), &help, &trials);
    }
    text.push_str("# EOF\n");
    Some(text)
}

/// Writes a gauge with its samples, each a row's labels and value; writes nothing without samples.
fn write_gauge(text: &mut String, name: &str, help: &str, samples: &[(String, f64)]) {
    if samples.is_empty() {
        return;
    }
    let _ = writeln!(text, "# TYPE assay_{name} gauge");
    if let Some(unit) = unit(name) {
        let _ = writeln!(text, "# UNIT assay_{name} {unit}");
    }
    let _ = writeln!(text, "# HELP assay_{name} {}", escaped(help));
    for (labels, value) in samples {
        let _ = writeln!(text, "assay_{name}{{{labels}}} {value}");
    }
}

/// Labels of a sample; empty ones are left out.
fn labels(findings: &Findings, cell: &Measurement) -> String {
    let environment = &findings.environment;
    let host = environment.platform.as_ref().map_or("", |platform| &platform.name);
    let target = cell.configuration.get("target");
    let is_its = |facts: &&TargetFacts| target.is_none_or(|name| *name == facts.name);
    let targets = environment.targets.iter().filter(is_its);
    let drives = distinct(targets.map(|facts| facts.drive.as_str()));
    let trust = cell.trust.map(|trust| format!("{trust:?}").to_lowercase()).unwrap_or_default();
    let mut labels = vec![
        ("study".to_owned(), findings.study.id.clone()),
        ("host".to_owned(), host.to_owned()),
        ("device".to_owned(), drives.join("; ")),
        ("workload".to_owned(), cell.workload.clone()),
        ("trust".to_owned(), trust),
    ];
    for (factor, level) in &cell.configuration {
        labels.push((format!("factor_{}", name(factor)), level.clone()));
    }
    labels.retain(|(_, value)| !value.is_empty());
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    labels.join(",")
}

fn unit(metric: &str) -> Option<&str> {
    match metric.split_once("_per_") {
        _ if metric.ends_with("_trials") => None,
        Some((stem, _)) => metric.get(stem.rfind('_').map_or(0, |at| at + 1)..),
        None => metric.rsplit('_').next().filter(|last| UNITS.contains(last)),
    }
}

fn name(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
