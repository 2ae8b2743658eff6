//! CPU ticks (`/proc/stat`), shared by several probes.

/// Ticks of 10 ms since the start of the machine. Time of guests is part of the user's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    pub user: u64,
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    /// Nothing to do, while something waited for a device. The kernel lets this one go back.
    pub iowait: u64,
    pub irq: u64,
    pub softirq: u64,
    pub steal: u64,
}

impl Ticks {
    pub fn busy(&self) -> u64 {
        self.user + self.nice + self.system + self.irq + self.softirq
    }

    pub fn total(&self) -> u64 {
        self.busy() + self.idle + self.iowait + self.steal
    }
}

/// All processors together: the first line.
pub fn of_all(text: &str) -> Option<Ticks> {
    parse_ticks(text.lines().next()?.strip_prefix("cpu ")?)
}

/// Ticks of each online CPU, with its number; `None` if a line has another format.
pub fn of_each(text: &str) -> Option<Vec<(u32, Ticks)>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("cpu"));
    let cpus = lines.filter(|line| line.starts_with(|sign: char| sign.is_ascii_digit()));
    let numbered_ticks = |line: &str| {
        let (number, rest) = line.split_once(' ')?;
        Some((number.parse().ok()?, parse_ticks(rest)?))
    };
    let ticks: Vec<(u32, Ticks)> = cpus.map(numbered_ticks).collect::<Option<_>>()?;
    (!ticks.is_empty()).then_some(ticks)
}

/// `user nice system idle iowait irq softirq steal guest guest_nice`.
fn parse_ticks(line: &str) -> Option<Ticks> {
    let words = line.split_whitespace().take(8);
    let ticks: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks[..] else { return None };
    Some(Ticks { user, nice, system, idle, iowait, irq, softirq, steal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guest_time_is_not_counted_twice() {
        let text = "cpu  10 1 5 100 2 0 1 7 4 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        let all = of_all(text).unwrap();
        assert_eq!((all.total(), all.busy(), all.steal), (126, 17, 7));
        assert_eq!(of_all("cpu 1 2 3\n"), None);
    }

    #[test]
    fn processors_have_their_numbers_and_the_sum_of_all_is_none_of_them() {
        let text = "cpu  1 1 1 1 1 1 1 1\ncpu3 1 2 3 4 5 6 7 8 9 9\nintr 1 2\n";
        let each = of_each(text).unwrap();
        assert_eq!((each.len(), each[0].0, each[0].1.total()), (1, 3, 36));
        assert_eq!(of_each("cpu  1 2 3\n"), None);
        assert_eq!(of_each("cpu0 1 2 3\n"), None);
    }
}
