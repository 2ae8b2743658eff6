//! One job in a guest: boots the guest, passes on its output and reads its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::lab::Done;
use assay_runner::vm::files::Files;
use assay_runner::vm::machine::{Accelerator, QemuMachine};
use assay_runner::vm::{Asked, last_lines, setup};

const PAUSE: Duration = Duration::from_millis(25);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

#[derive(Debug)]
pub struct FinishedJob {
    pub code: u8,
    pub accelerator: Accelerator,
    /// From the start of QEMU to its end.
    pub time: Duration,
    /// From the start of QEMU until the job began.
    pub booted: Duration,
    /// Part of `time` in which other processes had the processors ([`QemuMachine::waited`]).
    pub waited: Duration,
    /// A tar archive of the files below `results`.
    pub results: Vec<u8>,
}

struct RunningJob<'a> {
    asked: &'a Asked,
    accelerator: Accelerator,
    files: Files,
    machine: QemuMachine,
    /// Output files, with the bytes that were passed on.
    outputs: [(Stream, &'static str, u64); 2],
    booted: Option<Duration>,
    /// Time in which the machine waited for a processor.
    waited: Duration,
}

/// Boots a guest, runs its job and passes on its output. `stop` ends it at once, without results.
pub fn run(
    asked: &Asked,
    stop: &AtomicBool,
    print: &mut dyn FnMut(Stream, &[u8]),
) -> Done<FinishedJob> {
    let mut running = RunningJob::start(asked)?;
    loop {
        let over = running.machine.has_ended();
        running.pass_on(print);
        if over {
            return running.finish();
        }
        if stop.load(Ordering::Relaxed) {
            return Err("interrupted".to_owned());
        }
        running.waited = running.machine.waited();
        running.check_limit()?;
        thread::sleep(PAUSE);
    }
}

impl<'a> RunningJob<'a> {
    fn start(asked: &'a Asked) -> Done<Self> {
        let accelerator = asked.accelerator.unwrap_or_else(Accelerator::likely);
        let mut files = Files::new(&asked.place);
        let setup = setup(asked, accelerator, &mut files)?;
        let path = files.make("qemu")?;
        let complaint = std::fs::File::options().append(true).open(&path);
        let complaint = complaint.map_err(|error| format!("{}: {error}", path.display()))?;
        let machine = QemuMachine::start(&setup, &complaint)?;
        let outputs = [(Stream::Out, "out", 0), (Stream::Err, "err", 0)];
        let (booted, waited) = (None, Duration::ZERO);
        Ok(Self { asked, accelerator, files, machine, outputs, booted, waited })
    }

    fn pass_on(&mut self, print: &mut dyn FnMut(Stream, &[u8])) {
        for (stream, name, done) in &mut self.outputs {
            let more = self.files.from(name, *done);
            if !more.is_empty() {
                print(*stream, &more);
                *done += more.len() as u64;
            }
        }
        if self.booted.is_none() && !self.files.from("end", 0).is_empty() {
            self.booted = Some(self.machine.age());
        }
    }

    fn check_limit(&self) -> Done<()> {
        // A machine that waits for processors does less in the same time.
        let own = self.machine.age().saturating_sub(self.waited);
        let Some(limit) = self.asked.limit.filter(|limit| own > *limit) else { return Ok(()) };
        Err(format!("still running after {} s:\n{}", limit.as_secs(), self.last_words()))
    }

    fn finish(self) -> Done<FinishedJob> {
        let end = self.files.from("end", 0);
        let (code, bytes) = parse_end(&String::from_utf8_lossy(&end)).ok_or_else(|| {
            format!("the virtual machine ended without a status:\n{}", self.last_words())
        })?;
        let results = self.files.from("files", 0);
        if results.len() as u64 != bytes {
            return Err(format!("received {} of {bytes} bytes of results", results.len()));
        }
        Ok(FinishedJob {
            code,
            accelerator: self.accelerator,
            time: self.machine.age(),
            booted: self.booted.unwrap_or_default(),
            waited: self.waited,
            results,
        })
    }

    /// Returns the last lines of the console and of the errors of QEMU.
    fn last_words(&self) -> String {
        last_lines(&["qemu", "console"].map(|name| self.files.from(name, 0)))
    }
}

/// Parses the exit code of the job and the bytes of its archive: `up`, then `0 10240`.
fn parse_end(text: &str) -> Option<(u8, u64)> {
    let numbers = |line: &str| {
        let (code, bytes) = line.split_once(' ')?;
        Some((code.parse().ok()?, bytes.parse().ok()?))
    };
    text.lines().find_map(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_job_ended_is_read_from_its_second_line() {
        assert_eq!(parse_end("up\n7 10240\n"), Some((7, 10_240)));
        assert_eq!(parse_end("up\n"), None);
        assert_eq!(parse_end("up\n300 5\n"), None);
        assert_eq!(parse_end(""), None);
    }
}
