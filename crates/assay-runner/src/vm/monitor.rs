//! QEMU's machine protocol (QMP): one line of JSON per message, over its standard error.
//!
//! Source: "QEMU Machine Protocol Specification", docs/interop/qmp-spec.txt of QEMU; the commands
//! of docs/interop/qemu-qmp-ref.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::vm::Done;
use serde_json::{Value, json};

/// Timeout for an answer: it answers immediately, or hangs.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);
/// Bandwidth limit for saving a machine, in bytes per second: effectively none.
const NO_LIMIT: u64 = 1 << 40;

pub struct QemuMonitor {
    stream: UnixStream,
    rest: Vec<u8>,
    complaints: Vec<u8>,
    is_greeted: bool,
}

impl QemuMonitor {
    pub fn new(stream: UnixStream) -> Self {
        Self { stream, rest: Vec::new(), complaints: Vec::new(), is_greeted: false }
    }

    /// Saves the state of the machine to a file; the machine is paused afterwards.
    pub fn save(&mut self, path: &Path) -> Done<()> {
        let saved = self.migrate_to(path);
        if saved.is_err() {
            // An unfinished migration would pause the machine later; without one, the error does not matter.
            let _ = self.ask("migrate_cancel", &json!({}));
        }
        saved
    }

    fn migrate_to(&mut self, path: &Path) -> Done<()> {
        self.ask("migrate-set-parameters", &json!({ "max-bandwidth": NO_LIMIT }))?;
        let uri = format!("exec:cat >{}", path.display());
        self.ask("migrate", &json!({ "uri": uri }))?;
        self.wait("query-migrate", |status| match status {
            "completed" => Some(Ok(())),
            "failed" | "cancelled" => Some(Err("cannot suspend the machine".to_owned())),
            _ => None,
        })
    }

    pub fn resume(&mut self) -> Done<()> {
        self.ask("cont", &json!({})).map(drop)
    }

    pub fn wait_until_it_runs(&mut self) -> Done<()> {
        self.wait("query-status", |status| match status {
            "running" => Some(Ok(())),
            "inmigrate" | "prelaunch" => None,
            other => Some(Err(format!("the machine is in state {other}"))),
        })
    }

    /// Asks for a status until `is_over` returns the outcome, or fails after a time.
    fn wait(&mut self, asked: &str, is_over: impl Fn(&str) -> Option<Done<()>>) -> Done<()> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let answer = self.ask(asked, &json!({}))?;
            // A migration that has not begun has no state.
            if let Some(ended) = is_over(answer["status"].as_str().unwrap_or("inmigrate")) {
                return ended;
            }
            thread::sleep(PAUSE);
        }
        Err(format!("{asked} did not finish"))
    }

    /// Sends a command and returns its result; ignores events in between.
    fn ask(&mut self, command: &str, arguments: &Value) -> Done<Value> {
        if !self.is_greeted {
            self.is_greeted = true;
            self.ask("qmp_capabilities", &json!({}))?;
        }
        let line = json!({ "execute": command, "arguments": arguments });
        let sent = self.stream.write_all(format!("{line}\n").as_bytes());
        sent.map_err(|error| format!("{command}: {error}"))?;
        let until = Instant::now() + PATIENCE;
        loop {
            let mut answer =
                self.read_answer(until).ok_or_else(|| format!("{command}: no response"))?;
            if let Some(error) = answer.get("error") {
                return Err(format!("{command}: {}", error["desc"].as_str().unwrap_or("refused")));
            }
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
        }
    }

    /// Returns the next JSON object; stores other lines, the messages of QEMU. `None` on timeout.
    fn read_answer(&mut self, until: Instant) -> Option<Value> {
        loop {
            while let Some(line) = take_line(&mut self.rest) {
                match serde_json::from_str::<Value>(&line) {
                    Ok(value) if value.is_object() => return Some(value),
                    _ => self.complaints.extend(format!("{line}\n").as_bytes()),
                }
            }
            let left = until.checked_duration_since(Instant::now())?;
            self.read(left.max(Duration::from_millis(1)))?;
        }
    }

    /// Reads what is available within `wait`; `None` if nothing comes or the machine is gone.
    fn read(&mut self, wait: Duration) -> Option<()> {
        let mut bytes = [0; 4096];
        self.stream.set_read_timeout(Some(wait)).ok()?;
        match self.stream.read(&mut bytes) {
            Ok(count) if count > 0 => {
                self.rest.extend(&bytes[..count]);
                Some(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Some(()),
            _ => None,
        }
    }

    pub fn complaints(&mut self) -> &[u8] {
        while self.read_answer(Instant::now() + Duration::from_millis(1)).is_some() {}
        &self.complaints
    }
}

pub(crate) fn take_line(rest: &mut Vec<u8>) -> Option<String> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line: Vec<u8> = rest.drain(..=end).collect();
    Some(String::from_utf8_lossy(&line[..end]).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;

    #[test]
    fn lines_are_taken_whole_and_one_by_one() {
        let mut rest = b"one\ntwo\nthr".to_vec();
        assert_eq!(take_line(&mut rest).as_deref(), Some("one"));
        assert_eq!(take_line(&mut rest).as_deref(), Some("two"));
        assert_eq!((take_line(&mut rest), rest.as_slice()), (None, b"thr".as_slice()));
    }

    /// A monitor with a greeting and these answers, and the commands that it received.
    fn machine(answers: Vec<&'static str>) -> (QemuMonitor, thread::JoinHandle<Vec<String>>) {
        let (own, mut other) = UnixStream::pair().unwrap();
        let server = thread::spawn(move || {
            let mut heard = BufReader::new(other.try_clone().unwrap()).lines();
            other.write_all(b"{\"QMP\": {}}\n").unwrap();
            let mut told = Vec::new();
            for answer in answers {
                told.push(heard.next().unwrap().unwrap());
                other.write_all(answer.as_bytes()).unwrap();
            }
            told
        });
        (QemuMonitor::new(own), server)
    }

    const DONE: &str = "{\"return\": {}}\n";

    #[test]
    fn a_machine_is_kept_when_its_last_page_is_written() {
        let (mut monitor, server) = machine(vec![
            DONE,
            "{\"event\": \"SOMETHING\"}\n{\"return\": {}}\n",
            "qemu: a warning\n{\"return\": {}}\n",
            DONE,
            "{\"return\": {\"status\": \"active\"}}\n",
            "{\"return\": {\"status\": \"completed\"}}\n",
            DONE,
        ]);
        monitor.save(Path::new("/proc/1/fd/3")).unwrap();
        monitor.resume().unwrap();
        let told = server.join().unwrap();
        assert!(told[0].contains("qmp_capabilities") && told[6].contains("cont"), "{told:?}");
        assert!(told[2].contains("exec:cat >/proc/1/fd/3"), "{told:?}");
        assert_eq!(monitor.complaints(), b"qemu: a warning\n");
    }

    #[test]
    fn what_cannot_be_kept_or_does_not_run_is_said() {
        let failed = "{\"return\": {\"status\": \"failed\"}}\n";
        let (mut monitor, server) = machine(vec![DONE, DONE, DONE, failed, DONE]);
        assert!(monitor.save(Path::new("/x")).unwrap_err().contains("cannot suspend"));
        let told = server.join().unwrap();
        assert!(told[4].contains("migrate_cancel"), "{told:?}");
        let refused = "{\"error\": {\"class\": \"GenericError\", \"desc\": \"no such device\"}}\n";
        let (mut monitor, server) = machine(vec![DONE, refused]);
        assert!(monitor.resume().unwrap_err().contains("no such device"));
        server.join().unwrap();
        let shut = "{\"return\": {\"status\": \"shutdown\"}}\n";
        let (mut monitor, server) = machine(vec![DONE, shut]);
        assert!(monitor.wait_until_it_runs().unwrap_err().ends_with("state shutdown"));
        server.join().unwrap();
        assert!(monitor.resume().is_err(), "it has gone");
    }
}
