//! Runs the user's command and check (see `assay_workloads::durability::command`) and cleans up.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use assay_workloads::durability::command::{
    CommandLines, EndedLine, ExitKind, KEPT_BYTES, PrintedLines, environment, file_of,
};
use rustix::process::{Pid, Signal, kill_process_group};

/// Longest wait for the output of an ended program.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Runs the command in a directory. Each line that it prints acknowledges a write, and goes to `promised`.
pub fn run(
    own: &CommandLines,
    directory: &Path,
    promised: &mut dyn FnMut(String) -> Result<(), String>,
) -> Result<EndedLine, String> {
    let variables = environment(&directory.display().to_string(), None);
    let mut started = Started::new(&own.command, directory, &variables, own.command_ms)?;
    let mut printed = PrintedLines::default();
    started.read(&mut |bytes| printed.lines(bytes)?.into_iter().try_for_each(&mut *promised))?;
    started.end()
}

/// Runs the check in a directory. It reads the acknowledged `lines` from a file in `outside`, not on the drive.
pub fn check(
    own: &CommandLines,
    directory: &Path,
    lines: &[String],
    outside: &Path,
) -> Result<EndedLine, String> {
    let file = outside.join("promised");
    fs::write(&file, file_of(lines)).map_err(|error| format!("{}: {error}", file.display()))?;
    let (directory_text, file_text) = (directory.display().to_string(), file.display().to_string());
    let variables = environment(&directory_text, Some((&file_text, lines.len())));
    let mut started = Started::new(&own.check, directory, &variables, own.check_ms)?;
    let said = Arc::clone(&started.said.kept);
    started.read(&mut |bytes| {
        append_tail(&said, bytes);
        Ok(())
    })?;
    started.end()
}

struct Started {
    child: Child,
    group: Option<Pid>,
    said: GuestTail,
    /// Dropped at its end; the receiver reports whether its time was over.
    timer: Option<Sender<()>>,
    limit: Receiver<bool>,
}

impl Started {
    /// Starts a shell line in its own process group, which is killed after `most_ms`.
    fn new(
        line: &str,
        directory: &Path,
        variables: &[(String, String)],
        most_ms: u64,
    ) -> Result<Self, String> {
        let mut child = Command::new("sh")
            .args(["-c", line])
            .current_dir(directory)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("cannot start the shell: {error}"))?;
        let said = GuestTail::start(child.stderr.take());
        let group = Pid::from_raw(child.id().cast_signed());
        let (timer, limit) = start_timer(group, Duration::from_millis(most_ms));
        Ok(Self { child, group, said, timer: Some(timer), limit })
    }

    fn read(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<(), String>) -> Result<(), String> {
        let Some(mut output) = self.child.stdout.take() else { return Ok(()) };
        let mut bytes = [0; 8192];
        loop {
            match output.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(count) => each(&bytes[..count])?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("cannot read its output: {error}")),
            }
        }
    }

    /// Waits for the shell line, kills what it left, and returns how it ended.
    fn end(mut self) -> Result<EndedLine, String> {
        let status = self.child.wait().map_err(|error| format!("cannot wait for it: {error}"))?;
        self.timer = None; // dropping the sender stops the timer
        let is_late = self.limit.recv().unwrap_or_default();
        // Kill its remaining processes now; later the ID may be reused.
        kill(self.group.take());
        Ok(EndedLine {
            how: if is_late { ExitKind::TimedOut } else { exit_kind(status) },
            said: self.said.text(),
        })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        kill(self.group);
        let _ = self.child.wait();
    }
}

fn exit_kind(status: ExitStatus) -> ExitKind {
    match status.code() {
        Some(code) => ExitKind::Exited(code),
        None => ExitKind::Signalled(status.signal().unwrap_or_default()),
    }
}

fn kill(group: Option<Pid>) {
    let _ = group.map(|own| kill_process_group(own, Signal::KILL));
}

/// Kills a group after a time, unless the sender is dropped first; the receiver reports which.
fn start_timer(group: Option<Pid>, time: Duration) -> (Sender<()>, Receiver<bool>) {
    let (finish, finished) = channel::<()>();
    let (report, reported) = channel();
    thread::spawn(move || {
        let is_late = finished.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        if is_late {
            kill(group);
        }
        // The caller may be gone.
        let _ = report.send(is_late);
    });
    (finish, reported)
}

struct GuestTail {
    kept: Arc<Mutex<Vec<u8>>>,
    over: Receiver<()>,
}

impl GuestTail {
    /// Reads a stream in a thread, and stores its last bytes.
    fn start(stream: Option<impl Read + Send + 'static>) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        // No message is sent: `over` ends with the thread, which drops the sender.
        let (running, over) = channel::<()>();
        let tail = Arc::clone(&kept);
        thread::spawn(move || {
            let Some(mut stream) = stream else { return };
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                append_tail(&tail, &bytes[..count]);
            }
            drop(running);
        });
        Self { kept, over }
    }

    /// Its output; if another process has the stream open, the output so far.
    fn text(&self) -> String {
        let _ = self.over.recv_timeout(LAST_WORDS);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }
}

fn append_tail(kept: &Mutex<Vec<u8>>, bytes: &[u8]) {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    kept.extend_from_slice(bytes);
    let too_much = kept.len().saturating_sub(KEPT_BYTES);
    kept.drain(..too_much);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use assay_testkit::Scratch;

    use super::*;

    /// A command that writes its work to a file, and a check for each promised line.
    fn lines(command: &str) -> CommandLines {
        CommandLines {
            command: command.to_owned(),
            check: "while read -r line; do grep -qx \"$line\" data || { echo \"$line is missing\"; exit 3; }; done \
                    <\"$ASSAY_ACKNOWLEDGED\""
                .to_owned(),
            command_ms: 60_000,
            check_ms: 60_000,
        }
    }

    const NOTES: &str =
        "for n in 1 2 3; do echo $n >>data && sync data && echo $n; done; echo done >&2";

    struct Tried {
        place: Scratch,
        beside: Scratch,
    }

    impl Tried {
        fn new() -> Self {
            let [place, beside] = ["place", "beside"].map(|name| Scratch::new(name).unwrap());
            Self { place, beside }
        }

        fn run(&self, own: &CommandLines) -> (Result<EndedLine, String>, Vec<String>) {
            let mut heard = Vec::new();
            let mut hear = |line| {
                heard.push(line);
                Ok(())
            };
            let ended = run(own, self.place.path(), &mut hear);
            (ended, heard)
        }

        fn check(&self, own: &CommandLines, promised: &[String]) -> EndedLine {
            check(own, self.place.path(), promised, self.beside.path()).unwrap()
        }
    }

    #[test]
    fn each_line_is_a_promise_and_the_check_finds_what_is_there_and_misses_what_is_not() {
        let (tried, own) = (Tried::new(), lines(NOTES));
        let (ended, heard) = tried.run(&own);
        assert_eq!(ended.unwrap(), EndedLine { how: ExitKind::Exited(0), said: "done".to_owned() });
        assert_eq!(heard, ["1", "2", "3"]);
        assert_eq!(tried.check(&own, &heard).found_all(), Ok(true));
        fs::write(tried.place.path().join("data"), "1\n3\n").unwrap();
        let lost = tried.check(&own, &heard);
        assert_eq!(lost, EndedLine { how: ExitKind::Exited(3), said: "2 is missing".to_owned() });
        assert_eq!(lost.found_all(), Ok(false));
        assert_eq!(tried.check(&own, &heard[..1]).found_all(), Ok(true), "no more was promised");
    }

    #[test]
    fn both_run_in_the_directory_and_read_nothing() {
        let tried = Tried::new();
        let own = CommandLines {
            check: "test \"$ASSAY_PROMISES\" = 2 && test \"$PWD\" = \"$ASSAY_DIRECTORY\" && ! test -e promised".to_owned(),
            ..lines("read -r line || echo nothing; test \"$PWD\" = \"$ASSAY_DIRECTORY\" && echo there")
        };
        let (ended, heard) = tried.run(&own);
        assert!(ended.unwrap().require_normal_end().is_ok());
        assert_eq!(heard, ["nothing", "there"]);
        assert_eq!(tried.check(&own, &heard).found_all(), Ok(true));
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_that_it_started() {
        let tried = Tried::new();
        let own = CommandLines {
            command_ms: 300,
            check_ms: 300,
            ..lines("echo 1; sleep 1000 & sleep 1000")
        };
        let (ended, heard) = tried.run(&own);
        assert_eq!((ended.unwrap().how, heard), (ExitKind::TimedOut, vec!["1".to_owned()]));
        let slow = CommandLines { check: "echo recovering; sleep 1000".to_owned(), ..own };
        let ended = tried.check(&slow, &[]);
        assert_eq!(ended, EndedLine { how: ExitKind::TimedOut, said: "recovering".to_owned() });
    }

    #[test]
    fn a_process_that_is_left_running_keeps_nobody_waiting() {
        let tried = Tried::new();
        let own = lines("sleep 1000 >/dev/null 2>&1 & echo 1");
        let (ended, heard) = tried.run(&own);
        assert_eq!((ended.unwrap().how, heard), (ExitKind::Exited(0), vec!["1".to_owned()]));
    }

    #[test]
    fn what_is_no_line_and_what_cannot_be_run_is_told() {
        let tried = Tried::new();
        let (ended, _) = tried.run(&lines("head -c 5000 /dev/zero"));
        assert!(ended.unwrap_err().contains("a line of more than"));
        let (ended, _) = tried.run(&lines("no-such-database --serve"));
        let told = ended.unwrap().require_normal_end().unwrap_err();
        assert!(told.contains("exit code 127") && told.contains("no-such-database"), "{told}");
        let none = CommandLines { check: "no-such-database --verify".to_owned(), ..lines(NOTES) };
        assert!(tried.check(&none, &[]).found_all().unwrap_err().contains("cannot run the check"));
        let (ended, _) = tried.run(&lines("kill -SEGV $$"));
        assert_eq!(ended.unwrap().how, ExitKind::Signalled(11));
    }
}
