//! Lists the operations of a job's thread without executing them.

use crate::pattern::{Classes, Walk};
use crate::schedule::Starts;
use crate::{Class, Job};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rehearsed {
    /// Intended start, nanoseconds from the common start; 0 in a closed loop.
    pub at_ns: u64,
    pub class: Class,
    pub offset: u64,
    pub bytes: u32,
}

/// The operations of one thread from the same draws, up to the end of an open loop.
pub struct Rehearsal {
    classes: Classes,
    walk: Walk,
    starts: Option<Starts>,
}

impl Rehearsal {
    /// Lists a job whose area has at least one block per thread.
    pub fn new(job: &Job, thread: u32) -> Self {
        Self {
            classes: Classes::new(job, thread),
            walk: Walk::new(job, thread),
            starts: Starts::new(job, thread),
        }
    }
}

impl Iterator for Rehearsal {
    type Item = Rehearsed;

    fn next(&mut self) -> Option<Rehearsed> {
        let at_ns = match &mut self.starts {
            Some(starts) => {
                let at_ns = starts.next()?;
                starts.advance();
                at_ns
            }
            None => 0,
        };
        let class = self.classes.next();
        let place = self.walk.next(class);
        Some(Rehearsed { at_ns, class, offset: place.offset, bytes: place.bytes })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::check::tests::job;
    use crate::{Arrivals, Schedule, random_offsets};

    #[test]
    fn it_is_what_the_job_does() {
        let job = Job { area: 8192..8192 + (1 << 30), seed: 7, ..job() };
        let places = Rehearsal::new(&job, 0).map(|one| one.offset).take(100);
        assert!(places.eq(random_offsets(&job.area, 4096, 7).take(100)));
        assert!(Rehearsal::new(&job, 0).take(10).all(|one| one.at_ns == 0 && one.bytes == 4096));
    }

    #[test]
    fn an_open_loop_ends_with_its_time() {
        let schedule = Some(Schedule { rate_per_s: 1000, arrivals: Arrivals::Fixed });
        let job = Job { schedule, time: Duration::from_millis(10), ..job() };
        let times: Vec<u64> = Rehearsal::new(&job, 0).map(|one| one.at_ns).collect();
        assert_eq!(times, (0..10).map(|at| at * 1_000_000).collect::<Vec<_>>());
    }
}
