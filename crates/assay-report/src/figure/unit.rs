//! How values of an axis are written, and at which steps.

use crate::document::{NONE, numbers};
use assay_base::quantity::units::show;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Values of a metric, in the unit that its name carries.
    Metric(String),
    /// Differences of two values of a metric.
    Difference(String),
    /// One number over another.
    Ratio,
    /// Fractions, written as percent; quantiles too.
    Share,
    Percent,
    Seconds,
    Nanoseconds,
    Bytes,
    Number,
}

/// From how many nanoseconds on times are told in a unit, and its nanoseconds.
const TIMES: [(f64, f64); 5] =
    [(1e3, 1e3), (1e6, 1e6), (1e9, 1e9), (120e9, 60e9), (7200e9, 3600e9)];

impl Unit {
    pub fn metric(name: &str) -> Self {
        Self::Metric(name.to_owned())
    }

    pub fn text(&self, value: f64) -> String {
        match self {
            Self::Metric(name) => numbers::under_heading(name, value),
            Self::Difference(name) => numbers::signed(name, value),
            Self::Ratio => show::ratio(value),
            Self::Share => share(value),
            Self::Percent => format!("{}%", show::three_digits(value)),
            Self::Seconds if value == 0.0 => "0 s".to_owned(),
            Self::Seconds => show::duration(value * 1e9),
            Self::Nanoseconds => show::duration(value),
            Self::Bytes => show::bytes(value.max(0.0) as u64),
            Self::Number => show::per_second(value),
        }
    }

    /// A round value at an axis: no zeros that say nothing.
    pub fn tick(&self, value: f64) -> String {
        let text = self.text(value);
        match self {
            Self::Ratio if text.contains('.') => {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            _ => text,
        }
    }

    pub fn alone(&self, value: f64) -> String {
        match self {
            Self::Metric(name) => numbers::value(name, value),
            _ => self.text(value),
        }
    }

    /// A value and the ends of its interval in words; `-` where there is none.
    pub fn with_interval(&self, value: f64, interval: Option<[f64; 2]>) -> [String; 2] {
        match (self, interval) {
            (Self::Ratio, _) => numbers::ratio_and_interval(Some(value), interval),
            (_, Some([low, high])) => {
                [self.alone(value), format!("{} to {}", self.text(low), self.text(high))]
            }
            (_, None) => [self.alone(value), NONE.to_owned()],
        }
    }

    /// What round numbers near a value are multiples of.
    pub fn base(&self, value: f64) -> f64 {
        let value = value.abs();
        if self.is_binary() {
            return 1024_f64.powi((value.max(1.0).log2() / 10.0).floor() as i32);
        }
        let Some(unit) = self.nanoseconds() else { return 1.0 };
        let fitting = TIMES.iter().rev().find(|(from, _)| value * unit >= *from);
        fitting.map_or(1.0, |(_, size)| *size) / unit
    }

    /// Whether it goes by powers of 1024.
    pub fn is_binary(&self) -> bool {
        match self {
            Self::Bytes => true,
            Self::Metric(name) | Self::Difference(name) => {
                name.ends_with("_bytes") || name.ends_with("bytes_per_s")
            }
            _ => false,
        }
    }

    /// Nanoseconds of one, where it is a time.
    fn nanoseconds(&self) -> Option<f64> {
        match self {
            Self::Nanoseconds => Some(1.0),
            Self::Seconds => Some(1e9),
            Self::Metric(name) | Self::Difference(name) => match name.rsplit_once('_')? {
                (_, "ns") => Some(1.0),
                (_, "us") => Some(1e3),
                (_, "ms") => Some(1e6),
                (stem, "s") if !stem.ends_with("_per") => Some(1e9),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A fraction in percent with as many digits as tell it from one and from nothing: `99.99%`.
fn share(value: f64) -> String {
    let gap = value.min(1.0 - value).abs();
    if !gap.is_finite() || gap == 0.0 {
        return format!("{}%", show::three_digits(100.0 * value));
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
    fn shares_keep_their_nines() {
        let told = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.1, 0.0012, 1.0]
            .map(|value| Unit::Share.text(value));
        assert_eq!(told, ["0%", "50%", "90%", "99%", "99.9%", "99.99%", "10%", "0.12%", "100%"]);
    }

    #[test]
    fn round_numbers_go_by_the_unit() {
        assert_eq!(Unit::Metric("bandwidth_bytes_per_s".into()).base(3.5e6), 1_048_576.0);
        assert_eq!(Unit::Nanoseconds.base(2.5e6), 1e6);
        assert_eq!(Unit::Seconds.base(0.002), 1e-3);
        assert_eq!(Unit::Metric("iops".into()).base(12_000.0), 1.0);
    }
}
