//! The first message to a virtual machine: machines restored from a snapshot need time and entropy.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{ClockId, Timespec, clock_settime};

const NOW: &str = "now ";
const SALT_BYTES: usize = size_of::<u128>();

/// The time in nanoseconds since 1970, and a random number.
pub fn wake_line() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut salt = [0; SALT_BYTES];
    // Without it, machines have equal random numbers: results do not depend on it.
    let _ = getrandom(&mut salt, GetRandomFlags::NONBLOCK);
    format!("{NOW}{} {:032x}", now.as_nanos(), u128::from_ne_bytes(salt))
}

/// In the machine: sets the clock and seeds the random numbers; false if the line is another message.
pub fn handle_wake_line(line: &str) -> bool {
    let Some((now, salt)) = parse(line) else { return false };
    let time = Timespec { tv_sec: now.as_secs() as i64, tv_nsec: now.subsec_nanos().into() };
    // If this fails, the clock remains as it was, as in a machine without a battery.
    let _ = clock_settime(ClockId::Realtime, time);
    let pool = OpenOptions::new().write(true).open("/dev/urandom");
    let _ = pool.and_then(|mut pool| pool.write_all(salt.as_bytes()));
    true
}

fn parse(line: &str) -> Option<(Duration, &str)> {
    let (now, salt) = line.strip_prefix(NOW)?.split_once(' ')?;
    Some((Duration::from_nanos(now.parse().ok()?), salt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood_and_nothing_else() {
        let told = wake_line();
        let (now, salt) = parse(&told).unwrap_or_default();
        assert!(now.as_secs() > 1_700_000_000 && salt.len() == 2 * SALT_BYTES, "{told}");
        assert_ne!(told, wake_line());
        for other in ["\"go-on\"", "current", "now 5", "now x 00", ""] {
            assert!(!handle_wake_line(other), "{other}");
        }
    }
}
