//! Reads sources other than files: the kernel log, and programs that only print.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::act::program;
use assay_machine::system::{KernelLog, ProgramOutput};
use rustix::fs::OFlags;
use rustix::io::Errno;

const LONGEST_RECORD: usize = 8192;
/// Records per reading: a log that grows faster than this must not block it.
const MOST_RECORDS: usize = 10_000;
/// Time limit of a program: a hanging bridge must not block a study.
const LONGEST_LOOK: Duration = Duration::from_secs(3);
/// The same for a program that reads a device, which may have to wake up.
const LONGEST_READ: Duration = Duration::from_secs(30);
const LONGEST_ANSWER: u64 = 4 << 20;

pub fn follow_kernel_log() -> io::Result<KernelLog> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut file = File::options().read(true).custom_flags(flags).open("/dev/kmsg")?;
    file.seek(SeekFrom::End(0))?;
    Ok(KernelLog { file: Some(file), seen: 0 })
}

/// Reads the records since the last call: one per `read`. The kernel may have overwritten some of them.
pub fn new_in_kernel_log(log: &mut KernelLog) -> io::Result<Vec<String>> {
    let mut records = Vec::new();
    let Some(file) = &mut log.file else { return Ok(records) };
    let mut buffer = vec![0; LONGEST_RECORD];
    for _ in 0..MOST_RECORDS {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => records.push(String::from_utf8_lossy(&buffer[..length]).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if is_overtaken(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(records)
}

fn is_overtaken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
        || error.raw_os_error() == Some(Errno::PIPE.raw_os_error())
}

pub fn output_of(name: &str, arguments: &[&str]) -> io::Result<String> {
    Ok(run_in_time(name, arguments, Stdio::null(), LONGEST_LOOK, LONGEST_ANSWER)?.text)
}

/// The beginning of a long answer: a closed pipe ends a program that prints more.
pub fn answer_of(name: &str, arguments: &[&str], most_bytes: u64) -> io::Result<ProgramOutput> {
    run_in_time(name, arguments, Stdio::null(), LONGEST_READ, most_bytes)
}

/// Runs a program with an open file as its standard input; returns its exit status and output.
pub fn told_of(name: &str, arguments: &[&str], input: &File) -> io::Result<ProgramOutput> {
    run_in_time(name, arguments, input.try_clone()?.into(), LONGEST_READ, LONGEST_ANSWER)
}

/// Runs a program to its end or for `limit`; returns at most `most_bytes` of its output.
fn run_in_time(
    name: &str,
    arguments: &[&str],
    input: Stdio,
    limit: Duration,
    most_bytes: u64,
) -> io::Result<ProgramOutput> {
    let path = program(name).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("{name} is not installed"))
    })?;
    let mut command = Command::new(path);
    command.args(arguments).env("LC_ALL", "C");
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = assay_sys::end_with_parent(&mut command).spawn()?;
    let (answer, complaint) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let answer = scope.spawn(move || read_beginning(answer, most_bytes));
        let complaint = scope.spawn(move || read_beginning(complaint, LONGEST_ANSWER));
        let status = wait_in_time(&mut child, name, limit)?;
        let lost = |_| io::Error::other("the output of the program was lost");
        let text = answer.join().map_err(lost)??;
        let complaint = complaint.join().map_err(lost)??;
        Ok(ProgramOutput { code: status.code(), text, complaint })
    })
}

fn read_beginning(from: Option<impl Read>, most_bytes: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.map(|from| from.take(most_bytes).read_to_end(&mut bytes)).transpose()?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits for the end of a program; after `limit`, kills it and fails.
fn wait_in_time(child: &mut Child, name: &str, limit: Duration) -> io::Result<ExitStatus> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if began.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            let message = format!("{name} did not answer within {} s", limit.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_tells_whatever_its_exit_code() {
        assert_eq!(output_of("sh", &["-c", "echo told; exit 4"]).unwrap(), "told\n");
        let long = output_of("sh", &["-c", "head -c 300000 /dev/zero"]).unwrap();
        assert_eq!(long.len(), 300_000);
    }

    #[test]
    fn a_long_answer_is_cut_off_and_its_program_ended() {
        let told = answer_of("sh", &["-c", "exec yes"], 1000).unwrap();
        assert_eq!((told.text.len(), told.code), (1000, None));
    }

    #[test]
    fn a_program_that_is_missing_or_hangs_is_an_error() {
        let missing = output_of("assay-no-such-program", &[]).unwrap_err();
        assert_eq!(missing.to_string(), "assay-no-such-program is not installed");
        let slow = output_of("sh", &["-c", "exec sleep 60"]).unwrap_err();
        assert_eq!(slow.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn the_kernels_log_begins_at_its_end() {
        // Permission depends on the machine; without it, the error says so.
        match follow_kernel_log() {
            Ok(mut log) => {
                let first = new_in_kernel_log(&mut log).unwrap();
                assert!(first.len() < MOST_RECORDS);
            }
            Err(error) => assert!(
                matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound),
                "{error}"
            ),
        }
    }
}
