//! Infers the dependencies between requests of a recording. The recording does not contain them: one rule infers them,
//! and without a match, the time between two starts is preserved.
//!
//! - There are two lanes: reads, and modifications (writes, flushes, discards, zeroing). A request never depends on the
//!   other lane.
//! - It depended on the latest completed request of its lane at its arrival that has no other dependent, and that
//!   completed at most [`MOST_GAP_NS`] before: each completion releases one request, which preserves the parallelism.
//! - Without dependencies: read-ahead, and writeback without the sync flag.
//! - A request without a dependency starts as long after the previous start as it was recorded.

use assay_load::{Act, Step, Wait};
use assay_machine::system::{BlockRequest, RequestFlags};

use super::{TimeScale, step_of};

/// A request that started later than this after a completion did not depend on it.
pub const MOST_GAP_NS: u64 = 100_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub step: Step,
    pub ended_ns: u64,
    pub is_background: bool,
}

impl Arrival {
    /// A request of a device of this size, with times from the beginning; `None` if it cannot be replayed.
    pub fn from_request(request: &BlockRequest, begun_ns: u64, device_bytes: u64) -> Option<Self> {
        let step = step_of(request, begun_ns, device_bytes)?;
        let flags = request.flags;
        let is_background = match step.act {
            Act::Read => flags.has(RequestFlags::READ_AHEAD),
            Act::Write | Act::Discard | Act::WriteZeroes => !flags.has(RequestFlags::SYNC),
            Act::Fua | Act::Flush => false,
        };
        let ended_ns = request.ended_ns.saturating_sub(begun_ns).max(step.at_ns);
        Some(Self { step, ended_ns, is_background })
    }

    /// With times relative to a later start.
    pub fn since(self, ns: u64) -> Option<Self> {
        let at_ns = self.step.at_ns.checked_sub(ns)?;
        let ended_ns = self.ended_ns.saturating_sub(ns);
        Some(Self { step: Step { at_ns, ..self.step }, ended_ns, ..self })
    }

    fn lane(&self) -> usize {
        usize::from(self.step.act != Act::Read)
    }
}

/// Infers the dependency of each request in a replay of this scale; requests are in the order of arrival.
pub fn infer_waits(requests: &[Arrival], scale: TimeScale) -> Vec<Wait> {
    let mut by_end: Vec<u32> = (0_u32..).zip(requests).map(|(index, _)| index).collect();
    by_end.sort_by_key(|index| (requests[*index as usize].ended_ns, *index));
    let mut completions = by_end.into_iter().peekable();
    // By lane (reads, or changes), the completed requests that no other waits for, the latest completion last.
    let mut unclaimed = [Vec::<u32>::new(), Vec::new()];
    let mut previous_start_ns = 0;
    let mut waits = Vec::with_capacity(requests.len());
    for (index, request) in (0_u32..).zip(requests) {
        let at_ns = request.step.at_ns;
        let has_ended = |other: &u32| *other < index && requests[*other as usize].ended_ns <= at_ns;
        while let Some(other) = completions.next_if(has_ended) {
            let done = &requests[other as usize];
            if !done.is_background {
                unclaimed[done.lane()].push(other);
            }
        }
        let since_end_ns = |other: u32| at_ns.saturating_sub(requests[other as usize].ended_ns);
        let mut end_of = None;
        if !request.is_background {
            let lane = &mut unclaimed[request.lane()];
            end_of = lane.pop_if(|latest| since_end_ns(*latest) <= MOST_GAP_NS);
            if end_of.is_none() {
                // The latest is too old, so all others are, too.
                lane.clear();
            }
        }
        let gap_ns = match end_of {
            Some(other) => since_end_ns(other),
            None => at_ns.saturating_sub(previous_start_ns),
        };
        waits.push(Wait { end_of, gap_ns: scale.time_ns(gap_ns) });
        previous_start_ns = at_ns;
    }
    waits
}

#[cfg(test)]
mod tests {
    use assay_machine::system::BlockClass;

    use super::*;

    const US: u64 = 1000;

    fn arrived(act: Act, at_ns: u64, ended_ns: u64) -> Arrival {
        let bytes = if act == Act::Flush { 0 } else { 4096 };
        Arrival { step: Step { at_ns, offset: 0, bytes, act }, ended_ns, is_background: false }
    }

    fn read(at_us: u64, ended_us: u64) -> Arrival {
        arrived(Act::Read, at_us * US, ended_us * US)
    }

    /// By request, the one it depends on, and the microseconds after its completion.
    fn told(requests: &[Arrival]) -> Vec<(Option<u32>, u64)> {
        let waits = infer_waits(requests, TimeScale::ONE);
        waits.iter().map(|wait| (wait.end_of, wait.gap_ns / US)).collect()
    }

    #[test]
    fn one_after_the_other_each_waits_for_the_end_of_the_last() {
        let all = [read(0, 80), read(100, 180), read(200, 290)];
        assert_eq!(told(&all), [(None, 0), (Some(0), 20), (Some(1), 20)]);
        let twice = infer_waits(&all, "2x".parse().unwrap());
        assert_eq!(twice[2], Wait { end_of: Some(1), gap_ns: 10 * US });
    }

    #[test]
    fn as_many_go_on_beside_each_other_as_there_were() {
        // Two that start together, each followed by one at its completion.
        let all = [read(0, 100), read(1, 300), read(110, 200), read(210, 400), read(310, 500)];
        let expected = [(None, 0), (None, 1), (Some(0), 10), (Some(2), 10), (Some(1), 10)];
        assert_eq!(told(&all), expected);
    }

    #[test]
    fn an_end_lets_one_go_and_who_comes_with_it_keeps_its_distance_to_that() {
        let all = [read(0, 50), read(60, 100), read(61, 100), read(63, 100)];
        assert_eq!(told(&all), [(None, 0), (Some(0), 10), (None, 1), (None, 2)]);
    }

    #[test]
    fn who_comes_long_after_waited_for_nobody() {
        let bound = MOST_GAP_NS / US;
        assert_eq!(told(&[read(0, 50), read(50 + bound, 99_999_999)])[1], (Some(0), bound));
        assert_eq!(told(&[read(0, 50), read(51 + bound, 99_999_999)])[1], (None, 51 + bound));
        // No later request depends on an earlier completion either.
        let all =
            [read(0, 10), read(1, 50), read(51 + bound, 52 + bound), read(60 + bound, 70 + bound)];
        assert_eq!(told(&all)[3], (Some(2), 8));
    }

    #[test]
    fn reads_wait_for_no_writes_and_a_flush_waits_for_the_write_before_it() {
        let all = [
            arrived(Act::Write, 0, 100 * US),
            read(10, 50),
            arrived(Act::Flush, 105 * US, 200 * US),
            read(120, 150),
            arrived(Act::Fua, 201 * US, 300 * US),
        ];
        let expected = [(None, 0), (None, 10), (Some(0), 5), (Some(1), 70), (Some(2), 1)];
        assert_eq!(told(&all), expected);
    }

    #[test]
    fn nobody_waits_for_what_is_read_ahead_or_written_back() {
        let ahead = |own| Arrival { is_background: true, ..own };
        let all = [read(0, 50), ahead(read(10, 60)), read(70, 90), ahead(read(95, 99))];
        assert_eq!(told(&all), [(None, 0), (None, 10), (Some(0), 20), (None, 25)]);
        let request = |class, flags| BlockRequest {
            device: 0,
            class,
            arrived_ns: Some(0),
            issued_ns: None,
            ended_ns: 10,
            offset_bytes: 0,
            bytes: 4096,
            flags: RequestFlags(flags),
        };
        for (class, flags, expected) in [
            (BlockClass::Read, RequestFlags::READ_AHEAD, true),
            (BlockClass::Read, 0, false),
            (BlockClass::Write, 0, true),
            (BlockClass::Write, RequestFlags::SYNC, false),
            (BlockClass::Fua, 0, false),
            (BlockClass::Flush, 0, false),
        ] {
            let own = Arrival::from_request(&request(class, flags), 0, 8192).unwrap();
            assert_eq!(own.is_background, expected, "{class:?} {flags}");
        }
    }

    /// For any recording, no request depends on a later one, and no two on the same one.
    #[test]
    fn hostile_times_make_no_circle() {
        let mut state = 5_u64;
        let mut draw = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 40
        };
        for round in 0..300 {
            let wide = round % 7 + 1;
            let mut all: Vec<Arrival> = (0..100)
                .map(|_| {
                    let at_ns = draw() % (40 * wide);
                    let act = Act::ALL[(draw() % 6) as usize];
                    let own = arrived(act, at_ns, at_ns + draw() % (3 * wide));
                    Arrival { is_background: draw() % 9 == 0, ..own }
                })
                .collect();
            all.sort_by_key(|own| own.step.at_ns);
            let mut taken = vec![false; all.len()];
            for (index, wait) in infer_waits(&all, TimeScale::ONE).iter().enumerate() {
                let Some(other) = wait.end_of.map(|other| other as usize) else { continue };
                assert!(other < index && !taken[other]);
                assert!(all[other].ended_ns <= all[index].step.at_ns);
                taken[other] = true;
            }
        }
    }
}
