//! Numbers of metrics with their units, and what a comparison says in cells.

use super::{Cell, NONE, Tone};
use assay_base::quantity::units::show;
use assay_kinds::work::files;
use assay_kinds::work::metrics::noun;
use assay_study::findings::{Comparison, Kind, Verdict};

/// Heading of a column that holds a metric.
pub(crate) fn heading(metric: &str) -> &str {
    if metric == "iops" { "IOPS" } else { noun(metric) }
}

/// A value below the heading of its metric. The unit is read from the name: names carry it.
pub(crate) fn under_heading(metric: &str, value: f64) -> String {
    let ns = |unit: f64| show::duration(value * unit);
    let of = |unit: &str| format!("{} {unit}", show::per_second(value));
    let (stem, unit) = metric.rsplit_once('_').unwrap_or((metric, ""));
    match unit {
        "ns" => ns(1.0),
        "us" => ns(1e3),
        "ms" => ns(1e6),
        "s" if metric == "bandwidth_bytes_per_s" || stem.ends_with("bytes_per") => {
            show::rate(value)
        }
        "s" if stem.ends_with("_bits_per") => show::bit_rate(value),
        "s" if !stem.ends_with("_per") => ns(1e9),
        "bytes" => show::bytes(value as u64),
        "share" => show::share(value),
        "j" => of("J"),
        "w" => of("W"),
        "gib" if stem.ends_with("_s_per") => of("s/GiB"),
        "gib" if stem.ends_with("_j_per") => of("J/GiB"),
        _ => show::per_second(value),
    }
}

/// A value that stands alone.
pub(crate) fn value(metric: &str, value: f64) -> String {
    let told = under_heading(metric, value);
    match metric {
        "iops" => format!("{told} IOPS"),
        super::micro::RATE => format!("{told} operations/s"),
        _ if is_of_files(metric) => format!("{told} files/s"),
        _ => told,
    }
}

/// Whether a metric counts files.
fn is_of_files(metric: &str) -> bool {
    metric == files::FILES.name || files::rate(metric).is_some()
}

/// Arm over baseline, or arm minus baseline where a ratio makes no sense.
pub(super) fn ratio(found: &Comparison) -> String {
    match &found.difference {
        Some(difference) => signed(&found.metric, difference.value),
        None if found.cannot_tell() => "unknown".to_owned(),
        None => ratio_and_interval(found.ratio, found.ci95_simultaneous.or(found.ci95))[0].clone(),
    }
}

/// The interval that the verdict is read from.
pub(super) fn interval(found: &Comparison) -> String {
    match &found.difference {
        Some(difference) => {
            let ends = difference.ci95_simultaneous.or(difference.ci95);
            let [low, high] = match ends {
                Some(ends) => ends.map(|end| signed(&found.metric, end)),
                None => return NONE.to_owned(),
            };
            format!("{low} to {high}")
        }
        None => ratio_and_interval(found.ratio, found.ci95_simultaneous.or(found.ci95))[1].clone(),
    }
}

/// `1.042` and `1.029 to 1.055`: with as many decimals as the interval is worth.
pub(crate) fn ratio_and_interval(ratio: Option<f64>, ends: Option<[f64; 2]>) -> [String; 2] {
    match (ratio, ends) {
        (None, _) => [NONE, NONE].map(str::to_owned),
        (Some(ratio), None) => [show::ratio(ratio), NONE.to_owned()],
        (Some(ratio), Some(ends)) => {
            let [ratio, low, high] = show::ratios(ratio, ends);
            [ratio, format!("{low} to {high}")]
        }
    }
}

pub(crate) fn signed(metric: &str, value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "+" };
    format!("{sign}{}", under_heading(metric, value.abs()))
}

/// The verdict of a comparison as its sentence has it: across days numbers only suggest.
pub(crate) fn judged(found: &Comparison, without_verdicts: bool) -> Cell {
    let paired = found.kind == Kind::Paired;
    match found.verdict {
        Some(_) if without_verdicts => Cell::plain("no verdict"),
        Some(Verdict::Better | Verdict::Worse) if !paired => {
            let cell = verdict(found.verdict);
            Cell { text: format!("suggests {}", cell.text), ..cell }
        }
        _ => {
            let mark = small(found).map(|margin| format!(", {}", below(margin)));
            let cell = verdict(found.verdict);
            Cell { text: cell.text + &mark.unwrap_or_default(), ..cell }
        }
    }
}

/// The word of a verdict in its tone.
pub(crate) fn verdict(verdict: Option<Verdict>) -> Cell {
    let (word, tone) = match verdict {
        Some(Verdict::Better) => ("better", Tone::Good),
        Some(Verdict::Worse) => ("worse", Tone::Bad),
        Some(Verdict::Equivalent) => ("equivalent", Tone::Plain),
        Some(Verdict::Inconclusive) => ("inconclusive", Tone::Plain),
        None => ("no verdict", Tone::Plain),
    };
    Cell { text: word.to_owned(), tone }
}

/// `<5%`.
pub(super) fn below(margin: f64) -> String {
    format!("<{}", show::share(margin))
}

/// The margin of a comparison that is clear but certainly smaller than it.
pub(super) fn small(found: &Comparison) -> Option<f64> {
    found.margin.filter(|_| found.within_margin)
}

/// A probability.
pub(super) fn p(value: Option<f64>) -> String {
    match value {
        None => NONE.to_owned(),
        Some(p) if p < 0.0001 => "<0.0001".to_owned(),
        Some(p) => format!("{p:.4}"),
    }
}

/// `73.8 to 80.9 ms`.
pub(super) fn span(metric: &str, ends: Option<[f64; 2]>) -> String {
    let Some(ends) = ends else { return NONE.to_owned() };
    let [low, high] = ends.map(|end| under_heading(metric, end));
    let shared =
        low.split_once(' ').zip(high.split_once(' ')).filter(|(low, high)| low.1 == high.1);
    let low = shared.map_or(low.as_str(), |((number, _), _)| number);
    format!("{low} to {high}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_from_names() {
        let told = [
            ("iops", 12_345.0, "12,300"),
            ("bandwidth_bytes_per_s", 1_048_576.0, "1 MiB/s"),
            ("rate_mbits_per_s", 4.77, "4.77"),
            ("latency_p99_ns", 84_000.0, "84 us"),
            ("duration_s", 2.5, "2.5 s"),
            ("ping_p50_ms", 3.0, "3 ms"),
            ("cpu_s_per_gib", 0.25, "0.25 s/GiB"),
            ("energy_j", 12.0, "12 J"),
            ("power_w", 4.5, "4.5 W"),
            ("energy_j_per_gib", 12.0, "12 J/GiB"),
            ("peak_rss_bytes", 2048.0, "2 KiB"),
            ("requests_per_s", 1200.0, "1,200"),
            ("reported_bits_per_s", 4.77e6, "4.77 Mbit/s"),
            ("reported_tps", 896.967, "897"),
            ("write_amplification", 1.5, "1.5"),
        ];
        for (metric, amount, text) in told {
            assert_eq!(under_heading(metric, amount), text, "{metric}");
        }
        assert_eq!(value("iops", 950.0), "950 IOPS");
    }
}
