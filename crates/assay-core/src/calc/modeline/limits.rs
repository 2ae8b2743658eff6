//! Limits of a link and a display, and the figures of a mode.

use serde::Serialize;

use super::Figures;
use crate::calc::reading::number;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_max_mhz: Option<f64>,
    /// Lines per second in kHz, lowest and highest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub h_khz: Option<[f64; 2]>,
    /// Pictures per second, lowest and highest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v_hz: Option<[f64; 2]>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedLimit {
    /// Option that states the limit: `clock`, `h`, `v`.
    pub limit: &'static str,
    pub unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    pub most: f64,
    pub has: f64,
    pub fits: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Misfit {
    pub judged: CheckedLimit,
    /// Above the most; below the least otherwise.
    pub above: bool,
    /// Excess in the limit's unit.
    pub by: f64,
}

/// Tolerance for rounding of floats: one part in a billion.
const SLACK: f64 = 1e-9;

impl Limits {
    /// These limits, with missing ones from `others`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            clock_max_mhz: self.clock_max_mhz.or(others.clock_max_mhz),
            h_khz: self.h_khz.or(others.h_khz),
            v_hz: self.v_hz.or(others.v_hz),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
    /// Compares a mode with each stated limit, in the order clock, lines and pictures per second.
    pub fn judge(&self, figures: &Figures) -> Vec<CheckedLimit> {
        let check = |limit, unit, least: Option<f64>, most: f64, has: f64| {
            let is_low = least.is_some_and(|least| has < least * (1.0 - SLACK));
            let fits = !is_low && has <= most * (1.0 + SLACK);
            CheckedLimit { limit, unit, least, most, has, fits }
        };
        let clock = self.clock_max_mhz;
        let clock = clock.map(|most| check("clock", "MHz", None, most, figures.clock_mhz));
        let h = self.h_khz.map(|[low, high]| check("h", "kHz", Some(low), high, figures.h_khz));
        let v = self.v_hz.map(|[low, high]| check("v", "Hz", Some(low), high, figures.v_hz));
        [clock, h, v].into_iter().flatten().collect()
    }

    /// The limits that a mode breaks, the worst first.
    pub fn misfits(&self, figures: &Figures) -> Vec<Misfit> {
        let broken = self.judge(figures).into_iter().filter(|judged| !judged.fits);
        let mut misfits: Vec<Misfit> = broken.map(Misfit::from_judged).collect();
        misfits.sort_by(|one, other| other.share().total_cmp(&one.share()));
        misfits
    }
}

impl CheckedLimit {
    /// `31 to 105 kHz`, `up to 165 MHz`.
    pub fn allowed(&self) -> String {
        let most = shown(self.most);
        match self.least {
            Some(least) => format!("{} to {most} {}", shown(least), self.unit),
            None => format!("up to {most} {}", self.unit),
        }
    }

    /// `fits`, or by how much it does not.
    pub fn verdict(&self) -> String {
        if self.fits {
            return "fits".to_owned();
        }
        let misfit = Misfit::from_judged(self.clone());
        let way = if misfit.above { "above" } else { "below" };
        format!("{} {} {way}", shown(misfit.by), self.unit)
    }
}

impl Misfit {
    fn from_judged(judged: CheckedLimit) -> Self {
        let above = judged.has > judged.most;
        let bound = if above { judged.most } else { judged.least.unwrap_or_default() };
        Self { above, by: (judged.has - bound).abs(), judged }
    }

    /// Returns by how much a figure exceeds its limit, as a share of the limit.
    pub fn share(&self) -> f64 {
        self.by / self.judged.most
    }

    /// `111.1 kHz, 21.1 kHz more than --h allows`.
    pub fn text(&self) -> String {
        let CheckedLimit { limit, unit, has, .. } = &self.judged;
        let way = if self.above { "more" } else { "less" };
        format!("{} {unit}, {} {unit} {way} than --{limit} allows", shown(*has), shown(self.by))
    }
}

/// Formats a value with at most three decimals.
pub fn shown(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "0" && value > 0.0 { format!("{value:.0e}") } else { text.to_owned() }
}

/// Reads a range: `31-105`, `31-105 kHz`.
pub fn range(text: &str, unit: &str, example: &str) -> Result<[f64; 2], String> {
    let (low, high) = text.trim().split_once('-').ok_or_else(|| {
        format!(
            "`{text}` is not a range; give the lowest and highest value in {unit}, such as {example}"
        )
    })?;
    let [low, high] = [number(low, unit)?, number(high, unit)?];
    if low > high {
        return Err(format!("`{text}` is reversed; use {}-{}", shown(high), shown(low)));
    }
    Ok([low, high])
}
