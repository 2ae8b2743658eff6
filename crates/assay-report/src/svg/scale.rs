//! Maps values to pixels, and places ticks.

use assay_core::exhibit::Unit;
use assay_core::exhibit::figure::{Axis, AxisScale};

#[derive(Clone, Debug)]
pub(super) struct Ruler<'a> {
    pub axis: &'a Axis,
    /// First and last displayed value, as [`position`] returns them.
    domain: [f64; 2],
    /// Pixels of the first and the last value.
    pub px: [f64; 2],
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub px: f64,
    pub text: String,
    /// Index of the value, from 0.
    pub index: usize,
}

impl<'a> Ruler<'a> {
    pub fn new(axis: &'a Axis, extent: Option<[f64; 2]>, px: [f64; 2]) -> Self {
        let [low, high] = extent.unwrap_or([1.0, 1.0]);
        Self { axis, domain: domain(axis, low, high), px }
    }

    /// The same ruler between other pixels.
    pub fn over(&self, px: [f64; 2]) -> Self {
        Self { px, ..self.clone() }
    }

    /// Pixel position of a value, limited to the axis.
    pub fn at(&self, value: f64) -> f64 {
        let [low, high] = self.domain;
        let share = ((position(&self.axis.scale, value) - low) / (high - low)).clamp(0.0, 1.0);
        let share = if share.is_nan() { 0.0 } else { share };
        self.px[0] + share * (self.px[1] - self.px[0])
    }

    pub fn shows(&self, value: f64) -> bool {
        let place = position(&self.axis.scale, value);
        let slack = 1e-9 * (self.domain[1] - self.domain[0]);
        place >= self.domain[0] - slack && place <= self.domain[1] + slack
    }

    /// Pixel position of the bars' start: zero, or the start of the axis.
    pub fn origin(&self) -> f64 {
        if self.axis.from_zero { self.at(0.0) } else { self.px[0] }
    }

    /// Pixels between two adjacent whole numbers: of a name.
    pub fn slot(&self) -> f64 {
        (self.px[1] - self.px[0]).abs() / (self.domain[1] - self.domain[0])
    }

    pub fn is_heading(&self, tick: &Tick) -> bool {
        let AxisScale::Category(slots) = &self.axis.scale else { return false };
        slots.get(tick.index).is_some_and(|slot| slot.heading)
    }

    /// About `wanted` ticks at round values, in ascending order.
    pub fn ticks(&self, wanted: f64) -> Vec<Tick> {
        let values = match &self.axis.scale {
            AxisScale::Category(slots) => (0..slots.len()).map(|index| index as f64).collect(),
            AxisScale::Percentile => percentiles(self.domain[1]),
            AxisScale::Linear | AxisScale::Time => {
                self.linear_ticks(self.domain[0], self.domain[1], wanted)
            }
            AxisScale::Log2 => self.power_ticks(2.0, wanted),
            AxisScale::Log10 => self.log10_ticks(wanted),
        };
        let mut ticks = Vec::new();
        for value in values.into_iter().filter(|value| self.shows(*value)) {
            let text = match self.axis.scale {
                AxisScale::Category(_) => self.axis.text(value),
                _ => self.axis.unit.tick(value),
            };
            ticks.push(Tick { px: self.at(value), text, index: ticks.len() });
        }
        ticks
    }

    /// Ticks at multiples of a round step: 1, 2 or 5 times a power of ten in the unit of the labels.
    fn linear_ticks(&self, low: f64, high: f64, wanted: f64) -> Vec<f64> {
        let (unit, largest) = (self.axis.unit, low.abs().max(high.abs()));
        // Labels are multiples of this number, such as 1e6 for milliseconds.
        let base = unit.base(largest);
        // Labels have three digits and counts no fraction, so finer steps would repeat a label.
        let third_digit = 10_f64.powf((largest / base).log10().floor() - 2.0);
        let finest = if unit == Unit::Count { 1.0 } else { third_digit };
        let least = ((high - low) / base / wanted).max(finest);
        let power = 10_f64.powf(least.log10().floor());
        let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= least);
        // Fractions of a binary unit are halves, which are round in the next smaller unit.
        let halves = unit.is_binary() && least < 1.0;
        let round = if halves { least.log2().ceil().exp2() } else { digit.unwrap_or(10.0) * power };
        let step = round * base;
        if !step.is_finite() || step <= 0.0 {
            return vec![low];
        }
        // Rounding errors must not lose a tick at an end. The limit of 50 bounds the loop.
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        (first..=last.min(first + 50)).map(|index| index as f64 * step).collect()
    }

    /// Ticks of a logarithmic axis: the fewer decades it spans, the more digits have a tick.
    fn log10_ticks(&self, wanted: f64) -> Vec<f64> {
        let [low, high] = self.domain;
        let per_decade = |digits: &[f64]| -> Vec<f64> {
            let decades = low.floor() as i32..=high.ceil() as i32;
            decades.flat_map(|n| digits.iter().map(move |digit| digit * 10_f64.powi(n))).collect()
        };
        match high - low {
            span if span < 0.5 => self.linear_ticks(10_f64.powf(low), 10_f64.powf(high), wanted),
            _ if self.axis.unit.is_binary() => self.power_ticks(4.0, wanted),
            span if span < 1.0 => per_decade(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]),
            span if span < 2.5 => per_decade(&[1.0, 2.0, 5.0]),
            _ => self.power_ticks(10.0, wanted),
        }
    }

    /// Powers of a base; if there are too many, every second, third and so on.
    fn power_ticks(&self, base: f64, wanted: f64) -> Vec<f64> {
        let log_base = if self.axis.scale == AxisScale::Log2 { base.log2() } else { base.log10() };
        let first = (self.domain[0] / log_base - 1e-9).ceil() as i32;
        let last = (self.domain[1] / log_base + 1e-9).floor() as i32;
        let stride = (f64::from(last - first) / wanted).ceil().max(1.0) as usize;
        (first..=last).step_by(stride).map(|power| base.powi(power)).collect()
    }
}

/// A value in the coordinates of its scale, in which equal steps have equal widths.
fn position(scale: &AxisScale, value: f64) -> f64 {
    match scale {
        AxisScale::Linear | AxisScale::Time | AxisScale::Category(_) => value,
        AxisScale::Log10 => value.max(f64::MIN_POSITIVE).log10(),
        AxisScale::Log2 => value.max(f64::MIN_POSITIVE).log2(),
        AxisScale::Percentile => -(1.0 - value).max(1e-15).log10(),
    }
}

/// Displayed range for values from `low` to `high`, as [`position`] returns them, with space at the ends.
fn domain(axis: &Axis, low: f64, high: f64) -> [f64; 2] {
    if let AxisScale::Category(slots) = &axis.scale {
        return [-0.5, slots.len().max(1) as f64 - 0.5];
    }
    let (low, high) = if axis.from_zero { (low.min(0.0), high.max(0.0)) } else { (low, high) };
    let (low, high) = (position(&axis.scale, low), position(&axis.scale, high));
    let span = high - low;
    // Below this span, the values count as a single one with space around it.
    let least = match axis.scale {
        AxisScale::Log10 => 0.04,
        AxisScale::Log2 | AxisScale::Time | AxisScale::Percentile => 1.0,
        _ => 1e-2 * low.abs().max(high.abs()).max(1e-12),
    };
    let room = if span < least { least } else { 0.05 * span };
    match axis.scale {
        AxisScale::Percentile => [0.0, high],
        AxisScale::Time if span >= least => [low, high],
        _ if axis.from_zero && low >= 0.0 => [0.0, high + room],
        _ => [low - room, high + room],
    }
}

/// 0, one half, and as many nines as fit below the highest position.
fn percentiles(highest: f64) -> Vec<f64> {
    let mut shares = vec![0.0, 0.5];
    let nines = (highest + 1e-9).floor() as i32;
    shares.extend((1..=nines).map(|n| 1.0 - 10_f64.powi(-n)));
    shares
}
