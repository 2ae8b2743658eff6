//! How values of tables and figures are written, and which steps of an axis are round.

use serde::{Deserialize, Serialize};

use crate::quantity::units::show;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    Words,
    /// A number without a unit, in three digits, or a word instead of it.
    Number,
    /// A whole number with all its digits.
    Count,
    Iops,
    OperationsPerS,
    FilesPerS,
    Bytes,
    BytesPerS,
    BitsPerS,
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
    /// A part of one, in percent.
    Share,
    /// A part of one, in percent with all its nines: `99.99%`.
    Quantile,
    Percent,
    Ratio,
    Joules,
    Watts,
    SecondsPerGib,
    JoulesPerGib,
}

/// Ends of the names of metrics with their units; the first that fits counts.
const ENDINGS: [(&str, Unit); 13] = [
    ("bytes_per_s", Unit::BytesPerS),
    ("_bits_per_s", Unit::BitsPerS),
    ("_s_per_gib", Unit::SecondsPerGib),
    ("_j_per_gib", Unit::JoulesPerGib),
    ("_per_s", Unit::Number),
    ("_ns", Unit::Nanoseconds),
    ("_us", Unit::Microseconds),
    ("_ms", Unit::Milliseconds),
    ("_s", Unit::Seconds),
    ("_bytes", Unit::Bytes),
    ("_share", Unit::Share),
    ("_j", Unit::Joules),
    ("_w", Unit::Watts),
];

/// Smallest value in nanoseconds that uses a unit of time, and the length of the unit.
const TIMES: [(f64, f64); 5] =
    [(1e3, 1e3), (1e6, 1e6), (1e9, 1e9), (120e9, 60e9), (7200e9, 3600e9)];

impl Unit {
    /// Returns the unit that the name of a metric carries.
    pub fn of_metric(name: &str) -> Self {
        if name == "iops" {
            return Self::Iops;
        }
        let ending = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        ending.map_or(Self::Number, |(_, unit)| *unit)
    }

    /// Formats a value below a heading that names the unit.
    pub fn text(self, value: f64) -> String {
        let number = show::per_second;
        match self {
            Self::Words | Self::Number | Self::Iops | Self::OperationsPerS | Self::FilesPerS => {
                number(value)
            }
            Self::Count => show::count(value as u64),
            Self::Bytes => show::bytes(value as u64),
            Self::BytesPerS => show::rate(value),
            Self::BitsPerS => show::bit_rate(value),
            Self::Seconds if value == 0.0 => "0 s".to_owned(),
            Self::Seconds => show::duration(value * 1e9),
            Self::Milliseconds => show::duration(value * 1e6),
            Self::Microseconds => show::duration(value * 1e3),
            Self::Nanoseconds => show::duration(value),
            Self::Share => show::share(value),
            Self::Quantile => quantile(value),
            Self::Percent => format!("{}%", show::three_digits(value)),
            Self::Ratio => show::ratio(value),
            Self::Joules => format!("{} J", number(value)),
            Self::Watts => format!("{} W", number(value)),
            Self::SecondsPerGib => format!("{} s/GiB", number(value)),
            Self::JoulesPerGib => format!("{} J/GiB", number(value)),
        }
    }

    /// Formats a value without a heading: adds the name of the unit where [`Self::text`] omits it.
    pub fn alone(self, value: f64) -> String {
        let text = self.text(value);
        match self {
            Self::Iops => format!("{text} IOPS"),
            Self::OperationsPerS => format!("{text} operations/s"),
            Self::FilesPerS => format!("{text} files/s"),
            _ => text,
        }
    }

    /// Formats a round value at an axis, without zeros at the end.
    pub fn tick(self, value: f64) -> String {
        // The prefix of the other ticks is not known here.
        if value == 0.0 && (self.is_binary() || matches!(self, Self::BitsPerS | Self::Nanoseconds))
        {
            return "0".to_owned();
        }
        let text = self.text(value);
        if self == Self::Ratio && text.contains('.') {
            return text.trim_end_matches('0').trim_end_matches('.').to_owned();
        }
        text
    }

    /// Formats a value and the ends of its interval: `-` without one.
    pub fn with_interval(self, value: f64, interval: Option<[f64; 2]>) -> [String; 2] {
        match interval {
            None => [self.alone(value), "-".to_owned()],
            Some(ends) if self == Self::Ratio => {
                let [value, low, high] = show::ratios(value, ends);
                [value, format!("{low} to {high}")]
            }
            Some([low, high]) => {
                [self.alone(value), format!("{} to {}", self.text(low), self.text(high))]
            }
        }
    }

    /// Returns the number whose multiples print round near a value: 60 for 150 seconds, 1024 for 2,000 bytes.
    pub fn base(self, value: f64) -> f64 {
        let value = value.abs();
        if self.is_binary() {
            return 1024_f64.powi((value.max(1.0).log2() / 10.0).floor() as i32);
        }
        let nanoseconds = match self {
            Self::Seconds => 1e9,
            Self::Milliseconds => 1e6,
            Self::Microseconds => 1e3,
            Self::Nanoseconds => 1.0,
            _ => return 1.0,
        };
        let fitting = TIMES.iter().rev().find(|(from, _)| value * nanoseconds >= *from);
        fitting.map_or(1.0, |(_, size)| *size) / nanoseconds
    }

    /// Returns whether its prefixes are powers of 1024.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::Bytes | Self::BytesPerS)
    }
}

/// Formats a share in percent, with enough digits to differ from 0% and 100%.
fn quantile(value: f64) -> String {
    let gap = value.min(1.0 - value).abs();
    if !gap.is_finite() || gap == 0.0 {
        return show::share(value);
    }
    let digits = (-gap.log10()).ceil().clamp(1.0, 12.0) as usize - 1;
    let text = format!("{:.digits$}", 100.0 * value);
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}%")
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
            assert_eq!(Unit::of_metric(metric).text(amount), text, "{metric}");
        }
        assert_eq!(Unit::Iops.alone(950.0), "950 IOPS");
    }

    #[test]
    fn quantiles_keep_their_nines() {
        let told = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.1, 0.0012, 1.0]
            .map(|value| Unit::Quantile.text(value));
        assert_eq!(told, ["0%", "50%", "90%", "99%", "99.9%", "99.99%", "10%", "0.12%", "100%"]);
    }

    #[test]
    fn round_numbers_go_by_the_unit() {
        assert_eq!(Unit::BytesPerS.base(3.5e6), 1_048_576.0);
        assert_eq!(Unit::Nanoseconds.base(2.5e6), 1e6);
        assert_eq!(Unit::Seconds.base(0.002), 1e-3);
        assert_eq!(Unit::Iops.base(12_000.0), 1.0);
    }
}
