//! Catches and counts signals that end this process.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};

const ASKING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
/// Signals of resource limits, sent for every write: they stop the study, but do not count as a repeated request.
const STOPPING: [i32; 1] = [SIGXFSZ];

/// Catches signals: the first raises the returned flag. `asked` receives the count; an exit code ends the process.
pub fn catch(
    mut asked: impl FnMut(u32) -> Option<u8> + Send + 'static,
) -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let (mut reader, writer) = UnixStream::pair()?;
    let count_signals = move || {
        for times in 1.. {
            if reader.read_exact(&mut [0]).is_err() {
                return;
            }
            if let Some(code) = asked(times) {
                low_level::exit(code.into());
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(count_signals)?;
    for signal in ASKING.into_iter().chain(STOPPING) {
        // The flag does not depend on that thread's scheduling.
        flag::register(signal, Arc::clone(&stop))?;
    }
    for signal in ASKING {
        low_level::pipe::register(signal, writer.try_clone()?)?;
    }
    Ok(stop)
}

/// Requests the end of this process: for Ctrl-C on a terminal without signals.
pub fn ask() {
    // A valid signal cannot fail.
    let _ = low_level::raise(SIGINT);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_asking_is_counted_and_a_write_that_went_too_far_only_stops() {
        let (tell, told) = mpsc::channel();
        let stop = catch(move |times| {
            // A later interrupt of the tests has no receiver.
            tell.send(times).err().map(|_| 130)
        })
        .unwrap();
        assert!(!stop.load(Ordering::SeqCst));
        low_level::raise(SIGXFSZ).unwrap();
        assert!(stop.swap(false, Ordering::SeqCst));
        ask();
        assert!(stop.load(Ordering::SeqCst));
        for signal in ASKING {
            low_level::raise(signal).unwrap();
        }
        for times in 1..=5 {
            assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(times));
        }
    }
}
