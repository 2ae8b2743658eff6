//! What each processor did (`/proc/stat`).

use std::path::Path;

use serde::Serialize;

use crate::seen::Seen;
use crate::system::System;

/// Ticks of one processor since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    user: u64,
    system: u64,
    waiting: u64,
    stolen: u64,
    idle: u64,
}

/// Shares of a processor's time, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Load {
    /// Programs.
    pub user: f64,
    /// The kernel, interrupts included.
    pub system: f64,
    /// Nothing to do, while somebody waited for a device.
    pub waiting: f64,
    /// Given to others by the hypervisor.
    pub stolen: f64,
}

impl Load {
    /// At work.
    pub fn busy(&self) -> f64 {
        self.user + self.system
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
            waiting: self.waiting + other.waiting,
            stolen: self.stolen + other.stolen,
        }
    }

    /// Each share divided.
    #[must_use]
    pub fn divided_by(&self, number: f64) -> Self {
        Self {
            user: self.user / number,
            system: self.system / number,
            waiting: self.waiting / number,
            stolen: self.stolen / number,
        }
    }
}

impl Ticks {
    /// Shares of the time since an earlier reading.
    pub fn since(&self, before: &Self) -> Load {
        let grown = |pick: fn(&Self) -> u64| pick(self).saturating_sub(pick(before)) as f64;
        let load = Load {
            user: grown(|ticks| ticks.user),
            system: grown(|ticks| ticks.system),
            waiting: grown(|ticks| ticks.waiting),
            stolen: grown(|ticks| ticks.stolen),
        };
        let all = load.user + load.system + load.waiting + load.stolen;
        load.divided_by((all + grown(|ticks| ticks.idle)).max(1.0))
    }
}

/// Each processor that is online.
pub fn read(system: &dyn System) -> Seen<Vec<Ticks>> {
    match system.read_text(Path::new("/proc/stat")) {
        Ok(text) => {
            let all: Vec<Ticks> = text.lines().filter_map(parse).collect();
            Seen::from_option((!all.is_empty()).then_some(all), "/proc/stat has no processors")
        }
        Err(error) => Seen::absent(format!("/proc/stat cannot be read: {error}")),
    }
}

/// `cpu7 user nice system idle iowait irq softirq steal`; the line of all together is no processor.
fn parse(line: &str) -> Option<Ticks> {
    let (number, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
    number.parse::<u32>().ok()?;
    let fields: Vec<u64> =
        rest.split_whitespace().map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let [user, nice, system, idle, waiting, irq, soft, stolen, ..] = fields[..] else {
        return None;
    };
    Some(Ticks { user: user + nice, system: system + irq + soft, waiting, stolen, idle })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    #[test]
    fn shares_add_up_and_the_sum_of_all_is_no_processor() {
        let fake = Fake::new();
        fake.put("/proc/stat", "cpu  9 9 9 9 9 9 9 9\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 1\n");
        let before = read(&fake);
        fake.put("/proc/stat", "cpu  9 9 9 9 9 9 9 9\ncpu0 10 10 5 50 10 3 2 10 0 0\n");
        let after = read(&fake);
        let (before, after) = (before.value().unwrap(), after.value().unwrap());
        assert_eq!((before.len(), after.len()), (1, 1));
        let load = after[0].since(&before[0]);
        assert_eq!(load, Load { user: 0.2, system: 0.1, waiting: 0.1, stolen: 0.1 });
        assert_eq!(after[0].since(&after[0]), Load::default());
    }
}
