//! A grade for the latency under load. Several scales exist: milliseconds come first, and each grade names its scale.

use std::fmt;

pub(super) const SCALE: &str =
    "scale of dslreports: A+ below 5 ms, A 30, B 60, C 200, D 400, else F";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    APlus,
    A,
    B,
    C,
    D,
    F,
}

/// Upper limit of each grade in milliseconds.
const STEPS: [(f64, Grade); 5] =
    [(5.0, Grade::APlus), (30.0, Grade::A), (60.0, Grade::B), (200.0, Grade::C), (400.0, Grade::D)];

impl Grade {
    pub(super) fn from_added_ns(added_ns: f64) -> Self {
        STEPS.iter().find(|(below, _)| added_ns / 1e6 < *below).map_or(Self::F, |(_, grade)| *grade)
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::APlus => "A+",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_article_goes_from_f_to_a() {
        let letters = [600.0, 399.9, 199.0, 59.0, 20.0, 4.9]
            .map(|ms| Grade::from_added_ns(ms * 1e6).to_string());
        assert_eq!(letters, ["F", "D", "C", "B", "A", "A+"]);
        assert!(SCALE.contains("30"));
    }
}
