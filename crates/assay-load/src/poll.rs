//! Polling of submissions and completions.

use crate::{EngineKind, Job, LoadError, WriteSync};
use serde::{Deserialize, Serialize};

/// A queue has at most four times the entries: doubled for unreturned ones and for syncs.
const DEEPEST: u32 = 1 << 13;

/// What a thread polls for, instead of system calls or interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Poll {
    /// Nothing: a thread calls the kernel to submit, and sleeps until something is complete.
    #[default]
    None,
    /// Submissions, by a kernel thread (`IORING_SETUP_SQPOLL`).
    Sqpoll,
    /// The waiting thread polls the device (`IORING_SETUP_IOPOLL`) for direct reads and writes.
    Iopoll,
}

names!(Poll: None = "none", Sqpoll = "sqpoll", Iopoll = "iopoll");

/// Checks that the engine is io_uring and that the kernel can poll for these operations.
pub(crate) fn check(job: &Job, engine: &EngineKind) -> Result<(), LoadError> {
    let wrong = |text: String| Err(LoadError::Invalid(text));
    if job.poll == Poll::None {
        return Ok(());
    }
    if *engine != EngineKind::IoUring {
        return wrong(format!("engine {} does not support polling", engine.name()));
    }
    if job.poll == Poll::Sqpoll && job.depth > DEEPEST {
        return wrong(format!("with polled submission, the maximum queue depth is {DEEPEST}"));
    }
    let has_others = job.sync != WriteSync::None || job.mix.clears() || job.track.is_some();
    if job.poll == Poll::Iopoll && has_others {
        return wrong("polled completion supports only reads and writes".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::job;

    fn refusal(job: &Job, engine: &EngineKind) -> Option<String> {
        check(job, engine).err().map(|error| error.to_string())
    }

    #[test]
    fn names_are_what_is_written() {
        for poll in [Poll::None, Poll::Sqpoll, Poll::Iopoll] {
            let read: Poll = serde::Deserialize::deserialize(serde::de::value::StrDeserializer::<
                serde::de::value::Error,
            >::new(poll.name()))
            .unwrap();
            assert_eq!(read, poll);
        }
    }

    #[test]
    fn only_a_ring_is_polled() {
        for poll in [Poll::Sqpoll, Poll::Iopoll] {
            let polled = Job { poll, ..job() };
            assert_eq!(refusal(&polled, &EngineKind::IoUring), None);
            for other in [EngineKind::Null, EngineKind::Psync] {
                let told = refusal(&polled, &other).unwrap();
                assert!(told.contains(other.name()) && told.contains("not support"), "{told}");
                assert_eq!(refusal(&job(), &other), None);
            }
        }
    }

    #[test]
    fn what_the_kernel_does_not_poll_for_is_refused() {
        let ring = EngineKind::IoUring;
        let trims = "read/90:trim/10".parse().unwrap();
        let of = |poll| {
            [Job { poll, sync: WriteSync::EachWrite, ..job() }, Job { poll, mix: trims, ..job() }]
        };
        for job in of(Poll::Iopoll) {
            assert!(refusal(&job, &ring).unwrap().contains("only reads and writes"));
        }
        for job in of(Poll::Sqpoll) {
            assert_eq!(refusal(&job, &ring), None);
        }
        let deep = |poll| Job { poll, depth: DEEPEST + 1, ..job() };
        assert!(refusal(&deep(Poll::Sqpoll), &ring).unwrap().contains("depth is 8192"));
        assert_eq!(refusal(&deep(Poll::Iopoll), &ring), None);
    }
}
