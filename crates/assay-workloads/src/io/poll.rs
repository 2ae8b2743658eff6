//! Polling instead of system calls and interrupts: for io_uring only.

use assay_core::quantity::units::show;
use assay_load::{Job, Poll};

use super::fits::{Unfit, unfit};
use super::{AskedEngine, Engine, IoSpec, WriteSync};
use crate::keys::parse_choice;
use crate::place::Offer;
use crate::workload::{Complaints, InStudy};

pub const NAME: &str = "poll";
pub(super) const CHOICES: &str = "none, sqpoll or iopoll";

impl IoSpec {
    pub fn polled(&self) -> Poll {
        self.poll.unwrap_or_default()
    }
}

pub(super) fn configure_job(io: &IoSpec, job: &mut Job) {
    job.poll = io.polled();
}

pub(super) fn describe(io: &IoSpec) -> Option<String> {
    match io.polled() {
        Poll::None => None,
        Poll::Sqpoll => Some("submission polled by the kernel (SQPOLL)".to_owned()),
        Poll::Iopoll => Some("polled completions (IOPOLL)".to_owned()),
    }
}

pub(super) fn fio(io: &IoSpec) -> Vec<String> {
    match io.polled() {
        Poll::None => Vec::new(),
        Poll::Sqpoll => vec!["--sqthread_poll=1".to_owned()],
        Poll::Iopoll => vec!["--hipri=1".to_owned()],
    }
}

/// Returns the first key that does not fit the polling, if any.
fn conflict(io: &IoSpec) -> Option<Unfit> {
    let poll = io.polled();
    if poll != Poll::None && io.engine == AskedEngine::Psync {
        let message = "poll requires engine io_uring, not psync";
        return Some(unfit("engine", message, Some("use engine = \"io_uring\"")));
    }
    if poll != Poll::Iopoll {
        return None;
    }
    if !io.direct {
        return Some(unfit("direct", "poll: iopoll needs direct I/O", Some("use direct = true")));
    }
    let message = "poll: iopoll supports only reads and writes, without sync, trim or zeroing";
    if io.sync != WriteSync::None {
        return Some(unfit("sync", message, Some("remove sync")));
    }
    io.mix.clears().then(|| unfit("mix", message, None))
}

/// Reports a conflict with the polling of the key, or of each level of its factor.
pub(super) fn complain(io: &IoSpec, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let key_path = format!("{path}/{NAME}");
    if to.is_wrong(&key_path) {
        return;
    }
    let at_level = |(index, level): (usize, &String)| {
        let poll = Some(parse_choice(level, CHOICES).ok()?);
        Some((format!("factors/{NAME}/{index}"), IoSpec { poll, ..io.clone() }))
    };
    let variants: Vec<(String, IoSpec)> = match study.factors.get(NAME) {
        Some(levels) => levels.iter().enumerate().filter_map(at_level).collect(),
        None => vec![(key_path, io.clone())],
    };
    for (path, io) in variants {
        let Some(Unfit { key, message, hint }) = conflict(&io) else { continue };
        // If a factor sets the key, planning checks it.
        if !study.factors.contains_key(key) && !to.is_wrong(&path) {
            to.value(&path, message, hint.map(str::to_owned));
        }
    }
}

/// Returns why this target does not support the requested polling.
pub(super) fn obstacle(io: &IoSpec, offer: &Offer<'_>) -> Option<String> {
    let poll = io.polled();
    if poll == Poll::None {
        return None;
    }
    if let Some(unfit) = conflict(io) {
        return Some(unfit.message);
    }
    match offer.engine.name {
        Engine::IoUring => {}
        Engine::Simulated => {
            return Some("poll: a simulated drive has no queues to poll".to_owned());
        }
        _ => {
            let why = offer.engine.note.as_deref().unwrap_or("io_uring is unavailable");
            return Some(format!("poll requires io_uring: {why}"));
        }
    }
    if poll != Poll::Iopoll {
        return None;
    }
    if let Some(why) = offer.direct.reason() {
        return Some(format!("iopoll needs direct I/O: {why}"));
    }
    offer.clears.no_polling.clone()
}

/// Returns a note on the share of kernel threads in the CPU time, with SQPOLL.
pub(super) fn cpu_words(share: f64) -> String {
    /// A polling thread always uses more, if the kernel counts its time.
    const LEAST_IF_COUNTED: f64 = 0.001;
    if share < LEAST_IF_COUNTED {
        return "CPU time excludes the kernel's submission threads, which this kernel does not attribute to the process \
                (Linux 5.12 and later do)"
            .to_owned();
    }
    format!(
        "kernel threads, including submission threads, used {} of the reported CPU time",
        show::percent(100.0 * share)
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_core::presence::Presence;
    use assay_machine::system::clears::Clears;

    use super::*;
    use crate::io::planned::plan;
    use crate::io::told::Told;
    use crate::place::{DirectUse, EngineUse};

    fn polls(poll: Poll) -> IoSpec {
        IoSpec { poll: Some(poll), ..IoSpec::default() }
    }

    fn complaints(io: &IoSpec, factors: &[(&str, &[&str])]) -> Vec<(String, String)> {
        let texts = |levels: &[&str]| levels.iter().map(|level| (*level).to_owned()).collect();
        let factors: BTreeMap<String, Vec<String>> =
            factors.iter().map(|(name, levels)| ((*name).to_owned(), texts(levels))).collect();
        let mut told = Told::default();
        complain(io, "io", &InStudy::new(&factors), &mut told);
        told.0
    }

    #[test]
    fn what_fits_is_not_told() {
        for poll in [Poll::None, Poll::Sqpoll, Poll::Iopoll] {
            assert!(complaints(&polls(poll), &[]).is_empty());
            assert!(
                complaints(&IoSpec { engine: AskedEngine::IoUring, ..polls(poll) }, &[]).is_empty()
            );
        }
        let synced = IoSpec { sync: WriteSync::EachWrite, direct: false, ..polls(Poll::Sqpoll) };
        assert!(complaints(&synced, &[]).is_empty());
        let all: &[&str] = &["none", "sqpoll", "iopoll"];
        assert!(complaints(&IoSpec::default(), &[("poll", all)]).is_empty());
        assert!(
            complaints(&IoSpec { engine: AskedEngine::Psync, ..IoSpec::default() }, &[]).is_empty()
        );
        // Other factors are planned per arm.
        let engines: (&str, &[&str]) = ("engine", &["psync", "io_uring"]);
        let psync = IoSpec { engine: AskedEngine::Psync, ..polls(Poll::Sqpoll) };
        assert!(complaints(&psync, &[engines]).is_empty());
    }

    #[test]
    fn what_does_not_fit_is_told_where_it_stands() {
        let one = |io: &IoSpec, factors: &[(&str, &[&str])], path: &str, text: &str| {
            let told = complaints(io, factors);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].0 == path && told[0].1.contains(text), "{told:?}");
        };
        let psync = IoSpec { engine: AskedEngine::Psync, ..polls(Poll::Sqpoll) };
        one(&psync, &[], "io/poll", "not psync");
        one(&psync, &[("poll", &["none", "sqpoll"])], "factors/poll/1", "not psync");
        one(&IoSpec { direct: false, ..polls(Poll::Iopoll) }, &[], "io/poll", "needs direct I/O");
        let synced = IoSpec { sync: WriteSync::EachWrite, ..polls(Poll::Iopoll) };
        one(&synced, &[], "io/poll", "without sync");
        let trims = IoSpec { mix: "trim".parse().unwrap(), ..polls(Poll::Iopoll) };
        one(&trims, &[], "io/poll", "without sync");
    }

    fn planned(
        io: &IoSpec,
        name: Engine,
        direct: &Presence<DirectUse>,
        no_polling: Option<&str>,
    ) -> Result<(Engine, Option<String>), String> {
        let area = crate::testing::area(1 << 30, true);
        let engine = EngineUse { name, note: Some("io_uring is refused: on purpose".to_owned()) };
        let clears = Clears { no_polling: no_polling.map(str::to_owned), ..Clears::default() };
        let offer = Offer { area, direct, engine: &engine, between: None, clears: &clears };
        plan(io, &offer).map(|(planned, note)| (planned.engine, note))
    }

    #[test]
    fn who_cannot_be_polled_says_so_before_anything_runs() {
        let direct = Presence::Present(DirectUse { memory_alignment: 512, offset_alignment: 512 });
        let cached = Presence::absent("the file system has none");
        let (ring, loops) = (Engine::IoUring, Some("loop7 cannot"));
        let of = |poll, name, no_polling| {
            planned(&polls(poll), name, &direct, no_polling).map(|(engine, _)| engine)
        };
        assert_eq!(of(Poll::Iopoll, ring, None), Ok(ring));
        assert_eq!(of(Poll::Iopoll, ring, loops), Err("loop7 cannot".to_owned()));
        assert_eq!(of(Poll::Sqpoll, ring, loops), Ok(ring));
        let through = planned(&polls(Poll::Iopoll), ring, &cached, None).unwrap_err();
        assert!(through.ends_with("direct I/O: the file system has none"), "{through}");
        for poll in [Poll::Sqpoll, Poll::Iopoll] {
            assert!(of(poll, Engine::Simulated, None).unwrap_err().contains("simulated drive"));
            assert!(of(poll, Engine::Psync, None).unwrap_err().contains("on purpose"));
        }
        assert_eq!(of(Poll::None, Engine::Simulated, loops), Ok(Engine::Simulated));
        assert_eq!(of(Poll::None, Engine::Psync, loops), Ok(Engine::Psync));
    }

    /// A polled ring is compared with a ring without polling.
    #[test]
    fn no_polling_is_a_level_of_the_ring() {
        let direct = Presence::Present(DirectUse { memory_alignment: 512, offset_alignment: 512 });
        let alone = IoSpec { queue_depth: 1, ..IoSpec::default() };
        assert_eq!(planned(&alone, Engine::IoUring, &direct, None), Ok((Engine::Psync, None)));
        assert_eq!(planned(&alone, Engine::Psync, &direct, None), Ok((Engine::Psync, None)));
        let said = IoSpec { poll: Some(Poll::None), ..alone };
        assert_eq!(planned(&said, Engine::IoUring, &direct, None), Ok((Engine::IoUring, None)));
        let (engine, note) = planned(&said, Engine::Psync, &direct, None).unwrap();
        assert!(engine == Engine::Psync && note.unwrap().contains("on purpose"));
    }

    #[test]
    fn engines_and_fio_and_readers_are_told() {
        let job = |io: &IoSpec| {
            let mut job = Job::base(io.pattern, io.mix, 4096, 0..1 << 20, 1);
            configure_job(io, &mut job);
            job.poll
        };
        for (poll, word) in [(Poll::Sqpoll, "--sqthread_poll=1"), (Poll::Iopoll, "--hipri=1")] {
            assert_eq!((job(&polls(poll)), fio(&polls(poll))), (poll, vec![word.to_owned()]));
            assert!(describe(&polls(poll)).unwrap().contains("polled"));
        }
        for none in [IoSpec::default(), polls(Poll::None)] {
            assert!(job(&none) == Poll::None && fio(&none).is_empty() && describe(&none).is_none());
        }
        assert!(cpu_words(0.42).contains("42") && cpu_words(0.0).contains("CPU time excludes"));
    }
}
