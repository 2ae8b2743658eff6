//! Barrier of the threads of a run, which also reports failures of others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

pub(crate) struct Control<'a> {
    stop: &'a AtomicBool,
    failed: AtomicBool,
    missing: Mutex<u32>,
    changed: Condvar,
    start: OnceLock<u64>,
    process_start: OnceLock<u64>,
}

impl<'a> Control<'a> {
    pub(crate) fn new(threads: u32, stop: &'a AtomicBool) -> Self {
        Self {
            stop,
            failed: AtomicBool::new(false),
            missing: Mutex::new(threads),
            changed: Condvar::new(),
            start: OnceLock::new(),
            process_start: OnceLock::new(),
        }
    }

    /// Waits until every thread is ready; returns false if one failed.
    pub(crate) fn await_all(&self) -> bool {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        *missing -= 1;
        self.changed.notify_all();
        while *missing > 0 && !self.failed() {
            missing = self.changed.wait(missing).unwrap_or_else(PoisonError::into_inner);
        }
        !self.failed()
    }

    /// Start of the run for all threads: the first time passed here.
    pub(crate) fn start(&self, now: u64) -> u64 {
        *self.start.get_or_init(|| now)
    }

    /// The process's processor time when the run began: the first value that a thread gives.
    pub(crate) fn process_start(&self, now_ns: u64) -> u64 {
        *self.process_start.get_or_init(|| now_ns)
    }

    /// Ends the run for all threads, also for those that wait.
    pub(crate) fn fail(&self) {
        let _missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        self.failed.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    #[inline]
    pub(crate) fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn stop_asked(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Fails the run when its thread ends without [`RunGuard::disarm`]: by an error or a panic.
pub(crate) struct RunGuard<'a> {
    control: &'a Control<'a>,
    armed: bool,
}

impl<'a> RunGuard<'a> {
    pub(crate) fn new(control: &'a Control<'a>) -> Self {
        Self { control, armed: true }
    }

    pub(crate) fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.control.fail();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_frees_the_waiting() {
        let stop = AtomicBool::new(false);
        let control = Control::new(2, &stop);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| control.await_all());
            let panicking = scope.spawn(|| {
                let _guard = RunGuard::new(&control);
                panic!("on purpose");
            });
            assert!(panicking.join().is_err());
            assert!(!waiting.join().unwrap());
        });
    }

    #[test]
    fn all_ready_is_true_for_all() {
        let stop = AtomicBool::new(false);
        let control = Control::new(3, &stop);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| control.await_all())).collect();
            assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
        });
        assert_eq!((control.start(5), control.start(9)), (5, 5));
    }
}
