//! Boot time of a machine without a systemd journal: when its kernel started the first program.

use super::System;
use assay_core::presence::Presence;

/// Microseconds from the kernel's start to its first program, from the kernel log.
pub fn until_init_us(system: &dyn System) -> Presence<u64> {
    let text = match system.output_of("dmesg", &[]) {
        Ok(text) => text,
        Err(error) => return Presence::absent(format!("cannot read the kernel log: {error}")),
    };
    let found = text.lines().find_map(of_line);
    Presence::from_option(
        found,
        "the kernel log does not contain the start of init (overwritten, or readable only by root)",
    )
}

/// `[    0.467173] Run /sbin/init as init process`; `/init` is the initrd's first program.
fn of_line(line: &str) -> Option<u64> {
    let (time, rest) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    rest.trim_start().strip_prefix("Run ")?.trim_end().strip_suffix(" as init process")?;
    let (seconds, fraction) = time.trim().split_once('.')?;
    let fraction = fraction.get(..6)?.parse::<u64>().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction)
}

pub fn words(system: &dyn System) -> String {
    match until_init_us(system) {
        Presence::Present(us) => format!(
            "only the kernel phase is available: {:.3} s until the start of init (kernel log)",
            us as f64 / 1e6
        ),
        Presence::Absent(reason) => format!("the kernel phase is not available either: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Fake;

    use super::*;

    #[test]
    fn the_kernel_tells_when_it_ran_its_first_program() {
        let fake = Fake::new();
        assert!(words(&fake).contains("is not available either"), "{}", words(&fake));
        fake.put_output(
            "dmesg",
            "[    0.000000] Linux version 6.1\n[    0.467173] Run /sbin/init as init process\n",
        );
        assert_eq!(until_init_us(&fake), Presence::Present(467_173));
        assert!(words(&fake).contains("0.467 s"), "{}", words(&fake));
        for other in [
            "[x] Run a as init process",
            "[ 1.5] Run a as init process",
            "Run a as init process",
            "[ 1.000000] Run it",
        ] {
            assert_eq!(of_line(other), None, "{other}");
        }
    }

    #[test]
    fn a_line_of_the_log_is_read_to_the_microsecond() {
        assert_eq!(of_line("  [   12.000045] Run /init as init process "), Some(12_000_045));
        assert_eq!(of_line("[12.1234567] Run /init as init process"), Some(12_123_456));
        assert_eq!(of_line("[12.000045] Ran /init as init process"), None);
        assert_eq!(of_line("[12.000045] Run /init as process"), None);
    }
}
