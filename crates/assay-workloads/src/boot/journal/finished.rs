//! systemd's message on a completed boot, whose text alone has the times of the firmware and the boot loader.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PreKernelTimes {
    pub firmware_us: Option<u64>,
    pub loader_us: Option<u64>,
}

/// Reads `Startup finished in 2.1s (firmware) + 512ms (loader) + 1.2s (kernel) + ... = 9s.`
pub(super) fn times_before_kernel(message: &str) -> Option<PreKernelTimes> {
    let (parts, _) = message.strip_prefix("Startup finished in ")?.split_once(" = ")?;
    let mut times = PreKernelTimes::default();
    for part in parts.split(" + ") {
        let (time, phase) = part.rsplit_once(" (")?;
        let time_us = timespan_us(time)?;
        match phase.strip_suffix(')')? {
            "firmware" => times.firmware_us = Some(time_us),
            "loader" => times.loader_us = Some(time_us),
            "kernel" | "initrd" | "userspace" => {}
            _ => return None,
        }
    }
    Some(times)
}

/// Microseconds of a duration in systemd's format: `1min 30.123s`, `815ms`, `2.5s`.
fn timespan_us(text: &str) -> Option<u64> {
    const UNITS: [(&str, f64); 9] = [
        ("month", 2_629_800e6),
        ("min", 60e6),
        ("ms", 1e3),
        ("us", 1.0),
        ("µs", 1.0),
        ("w", 604_800e6),
        ("d", 86_400e6),
        ("h", 3600e6),
        ("s", 1e6),
    ];
    let mut sum = 0.0;
    for word in text.split(' ') {
        let digits = word.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?;
        let (number, unit) = word.split_at(digits);
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum += number.parse::<f64>().ok()? * size;
    }
    // A boot cannot take 1e15 µs, 31 years.
    (sum.is_finite() && sum < 1e15).then_some(sum.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firmware_and_loader_are_told_where_they_are() {
        let message = "Startup finished in 6.512s (firmware) + 1min 2.5s (loader) + 815ms (kernel) + \
                       1.2s (initrd) + 3s (userspace) = 1min 14.027s.";
        let found = times_before_kernel(message).unwrap();
        assert_eq!((found.firmware_us, found.loader_us), (Some(6_512_000), Some(62_500_000)));
        let bios = "Startup finished in 815ms (kernel) + 3.001s (userspace) = 3.816s.";
        assert_eq!(times_before_kernel(bios), Some(PreKernelTimes::default()));
        for other in ["Startup finished in 295ms.", "", "Startup finished in x (firmware) = 1s."] {
            assert_eq!(times_before_kernel(other), None, "{other}");
        }
    }

    #[test]
    fn times_are_systemds() {
        let told = [
            "815ms",
            "2.5s",
            "1min 30.123s",
            "1h 2min 3s",
            "17us",
            "",
            "s",
            "1.2.3s",
            "-1s",
            "1e9s",
        ];
        let found = told.map(timespan_us);
        assert_eq!(
            found,
            [
                Some(815_000),
                Some(2_500_000),
                Some(90_123_000),
                Some(3_723_000_000),
                Some(17),
                None,
                None,
                None,
                None,
                None
            ]
        );
    }

    #[test]
    fn every_unit_of_systemd_is_a_time() {
        let told = ["1month", "1w", "1d", "1h", "1min", "1s", "1ms", "1us", "1\u{b5}s", "1y"];
        let day = 86_400_000_000;
        let found = told.map(timespan_us);
        let known =
            [2_629_800_000_000, 7 * day, day, 3_600_000_000, 60_000_000, 1_000_000, 1000, 1, 1];
        assert_eq!(found[..9], known.map(Some));
        assert_eq!(found[9], None);
        assert_eq!(timespan_us("0.0000006s"), Some(1), "rounded");
        assert_eq!(timespan_us("999999999s"), Some(999_999_999_000_000));
        assert_eq!(timespan_us("1000000000s"), None, "nobody waits so long");
    }
}
