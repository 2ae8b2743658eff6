//! CPU time of a run, and its waiting time for CPUs.
//!
//! The kernel may pass io_uring operations to workers (`iou-wrk-*`): threads of this process that the program does not
//! control. Therefore the CPU time is that of the process minus the threads that do not work for the run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::clock;

/// The threads of this process that do not work for a run: those that were there before it.
#[derive(Clone, Debug, Default)]
pub struct Bystanders(Vec<PathBuf>);

impl Bystanders {
    /// The current threads; empty if the kernel does not list them.
    pub fn now() -> Self {
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        Self(tasks.map(|task| task.path().join("schedstat")).collect())
    }

    /// CPU time of each thread in nanoseconds; `None` if it has ended.
    pub(crate) fn ran_ns(&self) -> Vec<Option<u64>> {
        self.0.iter().map(|path| schedstat(path).map(|[ran, _]| ran)).collect()
    }
}

/// Nanoseconds that bystanders ran between two readings.
pub(crate) fn ran_between(before: &[Option<u64>], after: &[Option<u64>]) -> u64 {
    let pairs = before.iter().zip(after).filter_map(|(before, after)| before.zip(*after));
    pairs.map(|(before, after)| after.saturating_sub(before)).sum()
}

/// Time of a thread and of its process so far, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "units stand in names")]
pub(crate) struct Spent {
    pub(crate) thread_ns: u64,
    /// On a processor, all threads of the process, ended ones included.
    pub(crate) process_ns: u64,
    /// Time this thread was ready but not running; `None` if the kernel does not count it.
    pub(crate) waited_ns: Option<u64>,
}

impl Spent {
    pub(crate) fn now() -> Self {
        Self {
            thread_ns: clock::thread_cpu_ns(),
            process_ns: clock::process_cpu_ns(),
            waited_ns: waited_ns("thread-self"),
        }
    }

    pub(crate) fn since(&self, before: &Self) -> Self {
        let waited = self.waited_ns.zip(before.waited_ns);
        Self {
            thread_ns: self.thread_ns.saturating_sub(before.thread_ns),
            process_ns: self.process_ns.saturating_sub(before.process_ns),
            waited_ns: waited.map(|(after, before)| after.saturating_sub(before)),
        }
    }
}

/// Nanoseconds that the first thread of a process, running or ended, waited for a processor.
pub fn waited_ns(process: &str) -> Option<u64> {
    schedstat(&Path::new("/proc").join(process).join("schedstat")).map(|[_, waited]| waited)
}

/// Nanoseconds on a processor and nanoseconds waiting for one.
fn schedstat(path: &Path) -> Option<[u64; 2]> {
    parse_schedstat(&fs::read_to_string(path).ok()?)
}

/// Parses running time, waiting time, and the number of runs, which is 0 if the kernel does not collect statistics.
fn parse_schedstat(text: &str) -> Option<[u64; 2]> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let [ran, waited, runs] = [numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?];
    (runs > 0).then_some([ran, waited])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_is_read() {
        assert_eq!(parse_schedstat("60211644 68252810 2604\n"), Some([60_211_644, 68_252_810]));
        for unknown in ["0 0 0\n", "1 2\n", "", "a b c\n"] {
            assert_eq!(parse_schedstat(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn who_ended_or_began_meanwhile_is_left_out() {
        assert_eq!(ran_between(&[Some(5), Some(7), None], &[Some(9), None, Some(4)]), 4);
        assert_eq!(ran_between(&[], &[]), 0);
    }

    #[test]
    fn a_thread_is_told_from_the_process() {
        let spent = std::thread::spawn(|| {
            let start = Spent::now();
            while Spent::now().since(&start).thread_ns < 20_000_000 {}
            Spent::now().since(&start)
        });
        let spent = spent.join().unwrap();
        // The two clocks are read one after the other.
        assert!(spent.process_ns + 1_000_000 >= spent.thread_ns, "{spent:?}");
        assert!(Bystanders::now().ran_ns().iter().any(Option::is_some));
    }
}
