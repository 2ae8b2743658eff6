//! Running the built program: with a deadline, as another user, to be signalled.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{Done, call, certain, schema};

/// A user without any rights, on every Linux.
pub const NOBODY: u32 = 65_534;

#[derive(Clone, Debug)]
pub struct Ended {
    /// Exit code; 128 + the signal if a signal ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub time: Duration,
}

impl Ended {
    /// Standard output as one JSON document, checked against its schema.
    pub fn json(&self) -> Done<serde_json::Value> {
        let document = serde_json::from_str(&self.stdout)
            .map_err(|error| format!("no JSON ({error}); exit {}; {}", self.code, self.stderr))?;
        schema::fits(&document)?;
        Ok(document)
    }
}

/// A running program; killed on drop.
#[derive(Debug)]
pub struct Running {
    child: Child,
    started: Instant,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Running {
    pub fn start(command: &mut Command) -> Done<Self> {
        let (mut running, output) = Self::start_reading(command)?;
        running.stdout = Some(gather(output));
        Ok(running)
    }

    /// Starts a command, with its standard output for reading while it runs.
    pub fn start_reading(command: &mut Command) -> Done<(Self, ChildStdout)> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let output = child.stdout.take().ok_or("it has no standard output")?;
        let stderr = child.stderr.take().map(gather);
        Ok((Self { child, started: Instant::now(), stdout: None, stderr }, output))
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The most memory that it had so far, bytes.
    pub fn most_memory(&self) -> Done<u64> {
        let path = format!("/proc/{}/status", self.id());
        let status = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.map(|kib| kib << 10).ok_or_else(|| format!("{path} does not tell its memory"))
    }

    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Waits for a time, or until the program ends, and returns whether it still runs.
    pub fn outlasts(&mut self, time: Duration) -> bool {
        let start = Instant::now();
        while start.elapsed() < time && !self.has_ended() {
            thread::sleep(Duration::from_millis(1));
        }
        !self.has_ended()
    }

    pub fn signal(&self, name: &str) -> Done<()> {
        crate::call("kill", &["-s", name, &self.id().to_string()]).map(drop)
    }

    /// Waits until a condition holds; fails if the program ends or the limit passes first.
    pub fn until(&mut self, limit: Duration, mut condition: impl FnMut() -> bool) -> Done<()> {
        while self.started.elapsed() < limit {
            if condition() {
                return Ok(());
            }
            if self.has_ended() {
                return Err("the program ended before what was waited for happened".to_owned());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err(format!("what was waited for did not happen in {limit:?}"))
    }

    /// Waits for its end; kills the program at the limit and fails.
    pub fn end(mut self, limit: Duration) -> Done<Ended> {
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if self.started.elapsed() > limit => {
                    return Err(format!("still running after {limit:?}"));
                }
                Ok(None) => thread::sleep(Duration::from_millis(10)),
                Err(error) => return Err(error.to_string()),
            }
        };
        let time = self.started.elapsed();
        let text = |from: Option<JoinHandle<String>>| {
            from.and_then(|reader| reader.join().ok()).unwrap_or_default()
        };
        let (stdout, stderr) = (text(self.stdout.take()), text(self.stderr.take()));
        // No output may be more certain than its numbers.
        certain::all_of(&stdout)?;
        Ok(Ended { code: code(status), stdout, stderr, time })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended() {
            // Our own child: the ID is not reused before the wait.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

pub fn run(command: &mut Command, limit: Duration) -> Done<Ended> {
    let shown = format!("{command:?}");
    Running::start(command)?.end(limit).map_err(|error| format!("{shown}: {error}"))
}

fn gather(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // Output before an error is still useful.
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// How to start the program under test: user, home and path.
#[derive(Clone, Debug)]
pub struct Assay {
    program: PathBuf,
    home: PathBuf,
    user: Option<u32>,
    around: Vec<String>,
}

impl Assay {
    pub fn new(program: &Path, home: &Path) -> Self {
        let (program, home) = (program.to_owned(), home.to_owned());
        Self { program, home, user: None, around: Vec::new() }
    }

    /// As an ordinary user: a readable copy of the program, and a home of that user.
    pub fn as_nobody(&self, folder: &Path) -> Done<Self> {
        self.as_user(folder, NOBODY)
    }

    /// The same with a separate user ID: memory locked by all processes of one user counts together.
    pub fn as_user(&self, folder: &Path, user: u32) -> Done<Self> {
        let program = folder.join("assay");
        if !program.exists() {
            // In a child process: a thread's child would inherit a file open for writing (ETXTBSY).
            let [from, to] = [&self.program, &program].map(|path| path.display().to_string());
            call("cp", &[&from, &to])?;
        }
        let home = folder.join("home-of-user");
        fs::create_dir_all(&home).map_err(|error| error.to_string())?;
        std::os::unix::fs::chown(&home, Some(user), Some(user))
            .map_err(|error| error.to_string())?;
        Ok(Self { program, home, user: Some(user), around: Vec::new() })
    }

    /// Started by another program: `unshare --net`, for example.
    #[must_use]
    pub fn through(&self, words: &[&str]) -> Self {
        let around = words.iter().map(|&word| word.to_owned()).collect();
        Self { around, ..self.clone() }
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The command with arguments, in a minimal environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut words: Vec<String> = self.around.clone();
        if let Some(user) = self.user {
            let user = user.to_string();
            let setpriv = ["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups"];
            words.extend(setpriv.map(str::to_owned));
        }
        words.push(self.program.display().to_string());
        words.extend(arguments.iter().map(|&word| word.to_owned()));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("ASSAY_HOME", &self.home).env("NO_COLOR", "1");
        for name in ["SUDO_UID", "SUDO_GID", "SUDO_USER", "XDG_DATA_HOME", "COLUMNS"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs it to its end. Checks that its page is not more certain than its numbers.
    pub fn run(&self, arguments: &[&str], limit: Duration) -> Done<Ended> {
        let ended = run(&mut self.command(arguments), limit)?;
        let into = arguments.iter().position(|&word| word == "-o");
        let file = into.and_then(|at| fs::read_to_string(arguments.get(at + 1)?).ok());
        if let Some(page) = file {
            certain::all_of(&page)
                .map_err(|error| format!("assay {}: {error}", arguments.join(" ")))?;
        }
        Ok(ended)
    }

    pub fn start(&self, arguments: &[&str]) -> Done<Running> {
        Running::start(&mut self.command(arguments))
    }
}
