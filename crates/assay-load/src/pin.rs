//! Pins each thread of a run to a CPU.

use crate::{Job, LoadError};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// CPUs of the threads, in order; empty without pinning.
#[derive(Debug, Default)]
pub(crate) struct Pins(Vec<usize>);

impl Pins {
    /// The CPUs allowed for the calling thread, if a job pins its threads.
    pub(crate) fn new(job: &Job) -> Result<Self, LoadError> {
        if !job.pin {
            return Ok(Self::default());
        }
        let allowed = sched_getaffinity(None).map_err(failed)?;
        let all = 0..CpuSet::MAX_CPU;
        Ok(Self(all.filter(|processor| allowed.is_set(*processor)).collect()))
    }

    /// Pins the calling thread; surplus threads begin with the first processor again.
    pub(crate) fn pin(&self, thread: u32) -> Result<(), LoadError> {
        let Some(processor) = self.place(thread) else { return Ok(()) };
        let mut cpus = CpuSet::new();
        cpus.set(processor);
        sched_setaffinity(None, &cpus).map_err(failed)
    }

    fn place(&self, thread: u32) -> Option<usize> {
        let index = (thread as usize).checked_rem(self.0.len())?;
        self.0.get(index).copied()
    }

    /// Returns a note for the report; `None` without pinning.
    pub(crate) fn note(&self, threads: u32) -> Option<String> {
        let cpus = self.0.len();
        if cpus == 0 {
            return None;
        }
        Some(if threads as usize > cpus {
            format!("{threads} threads are pinned to {cpus} CPUs, so some threads share a CPU.")
        } else {
            format!("each thread is pinned to a separate CPU, starting with the first of {cpus}.")
        })
    }
}

fn failed(errno: Errno) -> LoadError {
    LoadError::Setup { what: "CPU pinning", source: errno.into() }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::check::tests::job;

    fn allowed() -> Vec<usize> {
        let set = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)).collect()
    }

    #[test]
    fn each_thread_has_its_own_and_takes_it_along_when_it_ends() {
        let before = allowed();
        let pins = Pins::new(&Job { pin: true, ..job() }).unwrap();
        assert_eq!(pins.0, before);
        for number in 0..=before.len() {
            let seen = thread::scope(|scope| {
                let body = || pins.pin(number as u32).map(|()| allowed());
                scope.spawn(body).join().unwrap().unwrap()
            });
            assert_eq!(seen, [before[number % before.len()]]);
        }
        assert_eq!(allowed(), before);
    }

    #[test]
    fn who_is_not_asked_to_pins_nobody_and_says_nothing() {
        let pins = Pins::new(&job()).unwrap();
        let seen = thread::scope(|scope| {
            scope.spawn(|| pins.pin(0).map(|()| allowed())).join().unwrap().unwrap()
        });
        assert_eq!(seen, allowed());
        assert_eq!(pins.note(8), None);
    }

    #[test]
    fn threads_that_share_a_processor_are_told() {
        let pins = Pins(vec![1, 3]);
        assert_eq!([0, 1, 2, 5].map(|thread| pins.place(thread)), [1, 3, 1, 3].map(Some));
        assert!(pins.note(2).unwrap().contains("a separate CPU"));
        assert!(pins.note(3).unwrap().contains("3 threads are pinned to 2 CPUs"));
    }
}
