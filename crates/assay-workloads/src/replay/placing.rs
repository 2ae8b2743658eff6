//! Maps recorded requests to the area of a target, with the necessary changes.

use std::collections::BTreeMap;

use assay_core::quantity::Bytes;
use assay_load::{Act, Step};
use serde::{Deserialize, Serialize};

use super::{TimeScale, TraceSource};

/// Unit of folding and shifting: adjacent bytes remain adjacent.
const REGION_BYTES: u64 = 1 << 20;
/// Maximum bytes of a request with data: each slot has a buffer in memory.
const MOST_CARRIED: u64 = 8 << 20;
const MOST_CLEARED: u64 = 1 << 30;

/// Mapping of offsets to the area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Placing {
    /// Unchanged: the area is as large as the recorded device.
    Kept,
    /// The used parts of several devices, one after the other: the area has space for all.
    Joined,
    /// Minus this many bytes: distances are unchanged.
    Shifted { by: u64 },
    /// Modulo this many bytes, in whole MiB: each MiB remains contiguous, and several of the device share one.
    Folded { to: u64 },
}

impl Placing {
    /// The placing in an area of `length` bytes that changes the offsets least; the area must hold the largest request.
    pub fn new(source: &TraceSource, length: u64, unit: u64) -> Result<Self, String> {
        if length >= source.device_bytes {
            return Ok(if source.parts.is_empty() { Self::Kept } else { Self::Joined });
        }
        let by = source.from_bytes / REGION_BYTES * REGION_BYTES;
        if source.to_bytes.saturating_sub(by) <= length / unit * unit {
            return Ok(Self::Shifted { by });
        }
        let to = length / REGION_BYTES * REGION_BYTES;
        if to >= slot_bytes(source, unit).max(REGION_BYTES) {
            return Ok(Self::Folded { to });
        }
        Err(format!(
            "the area of {} is too small to replay requests of up to {}; set a larger area.size",
            Bytes(length),
            Bytes(source.largest_bytes)
        ))
    }

    pub fn words(self) -> String {
        match self {
            Self::Kept => "offsets as recorded".to_owned(),
            Self::Joined => "the accessed parts of the devices, concatenated".to_owned(),
            Self::Shifted { by } => format!("offsets minus {}", Bytes(by)),
            Self::Folded { to } => format!("offsets folded into {}", Bytes(to)),
        }
    }

    /// The available space, and an offset in it.
    fn space_at(self, offset: u64, length: u64) -> (u64, u64) {
        match self {
            Self::Kept | Self::Joined => (offset, length),
            Self::Shifted { by } => (offset.saturating_sub(by), length),
            Self::Folded { to } => (offset % to.max(1), to),
        }
    }
}

/// Bytes of a slot in memory: direct I/O may need padding on both sides.
pub fn slot_bytes(source: &TraceSource, unit: u64) -> u64 {
    source.largest_bytes.clamp(1, MOST_CARRIED).next_multiple_of(unit) + unit
}

#[derive(Clone, Copy, Debug)]
pub struct ReplayFit {
    pub start: u64,
    pub length: u64,
    /// Alignment of offsets and sizes.
    pub unit: u64,
    pub placing: Placing,
}

/// Changes of requests to fit the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fitted {
    /// Requests rounded to the alignment of direct I/O.
    pub rounded: u64,
    /// Requests longer than the limit, and their omitted bytes.
    pub clipped: u64,
    pub clipped_bytes: u64,
    /// Requests beyond the end of the area, which end there.
    pub moved: u64,
    /// Share of steps between requests whose length changed, as powers of two.
    pub distances_changed: f64,
}

impl ReplayFit {
    /// The requests in the area, at their times in a replay of this scale.
    pub fn place<'a>(
        &self,
        recorded: impl IntoIterator<Item = &'a Step>,
        scale: TimeScale,
    ) -> (Vec<Step>, Fitted) {
        let mut fitted = Fitted::default();
        let [mut recorded_jumps, mut placed_jumps] = [Jumps::default(), Jumps::default()];
        let recorded = recorded.into_iter();
        let mut steps = Vec::with_capacity(recorded.size_hint().0);
        for step in recorded {
            let Some(mut placed) = self.place_step(step, &mut fitted) else { continue };
            if step.act != Act::Flush {
                recorded_jumps.add(step);
                placed_jumps.add(&placed);
            }
            placed.at_ns = scale.time_ns(step.at_ns);
            steps.push(placed);
        }
        fitted.distances_changed = recorded_jumps.differing_share(&placed_jumps);
        (steps, fitted)
    }

    pub fn has_place(&self, step: &Step) -> bool {
        self.place_step(step, &mut Fitted::default()).is_some()
    }

    /// Places a request in whole units and counts its changes in `fitted`; `None` if it does not fit into the area.
    fn place_step(&self, step: &Step, fitted: &mut Fitted) -> Option<Step> {
        if step.act == Act::Flush {
            return Some(*step);
        }
        let unit = self.unit.max(1);
        let (at, space) = self.placing.space_at(step.offset, self.length);
        let space = space.min(self.length) / unit * unit;
        let recorded = u64::from(step.bytes);
        let clipped = recorded.min(if step.act.carries() { MOST_CARRIED } else { MOST_CLEARED });
        // Rounded outwards, and moved back if it would exceed the space.
        let from = at / unit * unit;
        let size = at.checked_add(clipped)?.checked_next_multiple_of(unit)? - from;
        let offset = from.min(space.checked_sub(size)?);
        fitted.rounded += u64::from(from != at || size != clipped);
        fitted.clipped += u64::from(clipped != recorded);
        fitted.clipped_bytes += recorded - clipped;
        fitted.moved += u64::from(offset != from);
        let offset = self.start.checked_add(offset)?;
        Some(Step { offset, bytes: u32::try_from(size).ok()?, ..*step })
    }
}

/// Distances from the end of a request to the next start: signed powers of two, with counts.
#[derive(Debug, Default)]
struct Jumps {
    end: Option<u64>,
    counts: BTreeMap<i32, u64>,
}

impl Jumps {
    /// Counts the distance from the end of the previous request by its number of bits, negative if backwards.
    fn add(&mut self, step: &Step) {
        if let Some(end) = self.end {
            let bits = (u64::BITS - step.offset.abs_diff(end).leading_zeros()) as i32;
            let sign = if step.offset < end { -1 } else { 1 };
            *self.counts.entry(sign * bits).or_default() += 1;
        }
        self.end = Some(step.offset.saturating_add(u64::from(step.bytes)));
    }

    /// The share of these distances that `other` lacks: 0 if both have equal counts.
    fn differing_share(&self, other: &Self) -> f64 {
        let all: u64 = self.counts.values().sum();
        let mut differing = 0;
        for (signed_bits, count) in &self.counts {
            let other_count = other.counts.get(signed_bits).copied().unwrap_or_default();
            differing += count.saturating_sub(other_count);
        }
        differing as f64 / all.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::DevicePart;
    use super::*;

    const MIB: u64 = 1 << 20;

    fn source(device: u64, from: u64, to: u64) -> TraceSource {
        TraceSource {
            device_bytes: device,
            from_bytes: from,
            to_bytes: to,
            largest_bytes: 65_536,
            ..TraceSource::default()
        }
    }

    fn fit(length: u64, unit: u64, placing: Placing) -> ReplayFit {
        ReplayFit { start: 8 * MIB, length, unit, placing }
    }

    fn step(offset: u64, bytes: u32) -> Step {
        Step { at_ns: 0, offset, bytes, act: Act::Write }
    }

    fn one(fit: &ReplayFit, own: Step) -> (Option<(u64, u32)>, Fitted) {
        let mut fitted = Fitted::default();
        let found = fit.place_step(&own, &mut fitted);
        (found.map(|step| (step.offset, step.bytes)), fitted)
    }

    #[test]
    fn offsets_are_kept_where_there_is_room_then_shifted_then_folded_and_else_refused() {
        let own = source(1 << 40, 100 * MIB + 512, 140 * MIB);
        assert_eq!(Placing::new(&own, 1 << 40, 4096), Ok(Placing::Kept));
        assert_eq!(Placing::new(&own, 40 * MIB, 4096), Ok(Placing::Shifted { by: 100 * MIB }));
        assert_eq!(Placing::new(&own, 40 * MIB - 1, 4096), Ok(Placing::Folded { to: 39 * MIB }));
        assert!(Placing::new(&own, MIB - 1, 4096).unwrap_err().contains("too small"));
        // With several devices, no offset is unchanged.
        let part = DevicePart { from_bytes: 7 * MIB, to_bytes: 9 * MIB };
        let both = TraceSource { parts: vec![part, part], ..source(4 * MIB, 0, 4 * MIB) };
        assert_eq!(Placing::new(&both, 4 * MIB, 4096), Ok(Placing::Joined));
        assert_eq!(Placing::new(&both, 3 * MIB, 4096), Ok(Placing::Folded { to: 3 * MIB }));
    }

    #[test]
    fn what_lies_in_one_mib_stays_there_when_it_is_folded() {
        let fit = fit(3 * MIB + 5, 512, Placing::Folded { to: 3 * MIB });
        let at = |offset: u64| one(&fit, step(offset, 512)).0.unwrap().0 - fit.start;
        assert_eq!(at(7 * MIB + 1024), MIB + 1024);
        assert_eq!(at(7 * MIB + 1536) - at(7 * MIB + 1024), 512);
        assert_eq!(at(3 * MIB - 512), 3 * MIB - 512);
        let (over, fitted) = one(&fit, step(3 * MIB - 512, 4096));
        assert_eq!((over.unwrap().0 - fit.start, fitted.moved), (3 * MIB - 4096, 1));
    }

    #[test]
    fn what_direct_io_needs_is_rounded_outwards_and_counted() {
        let fit = fit(64 * MIB, 4096, Placing::Kept);
        let (found, fitted) = one(&fit, step(4096 + 512, 4096));
        assert_eq!(found, Some((fit.start + 4096, 8192)));
        assert_eq!((fitted.rounded, fitted.clipped, fitted.moved), (1, 0, 0));
        let (found, fitted) = one(&fit, step(8192, 4096));
        assert_eq!((found, fitted), (Some((fit.start + 8192, 4096)), Fitted::default()));
        let (found, fitted) = one(&fit, step(0, 9 << 20));
        assert_eq!((found.unwrap().1, fitted.clipped_bytes), (8 << 20, MIB));
    }

    /// For any recording, every request is within the area.
    #[test]
    fn nothing_lies_outside_of_the_area_whatever_is_recorded() {
        let mut state = 7_u64;
        let mut draw = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> (state >> 58)
        };
        for _ in 0..100_000 {
            let length = draw() % (64 * MIB);
            let placing = match draw() % 3 {
                0 => Placing::Kept,
                1 => Placing::Shifted { by: draw() },
                _ => Placing::Folded { to: draw() },
            };
            let fit = fit(length, [1, 512, 4096][(draw() % 3) as usize], placing);
            let act = Act::ALL[(draw() % 6) as usize];
            let own = Step { act, ..step(draw(), draw() as u32) };
            let (Some((offset, bytes)), _) = one(&fit, own) else { continue };
            let end = offset + u64::from(bytes);
            let inside = offset >= fit.start && end <= fit.start + length;
            assert!(inside || act == Act::Flush, "{fit:?} {own:?}");
        }
    }

    #[test]
    fn folding_is_seen_in_the_steps_from_one_request_to_the_next() {
        let recorded: Vec<Step> = (0..100).map(|at| step(at % 2 * 1000 * MIB, 4096)).collect();
        let same = fit(2000 * MIB, 512, Placing::Kept).place(&recorded, TimeScale::ONE);
        assert_eq!((same.0.len(), same.1.distances_changed), (100, 0.0));
        let folded =
            fit(64 * MIB, 512, Placing::Folded { to: 64 * MIB }).place(&recorded, TimeScale::ONE);
        assert!(folded.1.distances_changed > 0.9, "{:?}", folded.1);
    }
}
