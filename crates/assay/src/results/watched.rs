//! What the probes that look at the machine around the target saw during a trial, and around a study.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::seen::Seen;

/// What is said of what was not looked at: by an older version, or on a simulated target.
pub const NOT_WATCHED: &str = "not watched";

/// What was seen from right before a run until everything written was on the device. What a version
/// did not look at is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// Ticks of each processor.
    #[serde(default = "not_watched", skip_serializing_if = "is_not_watched")]
    pub load: Seen<Vec<CpuTicks>>,
    /// Time that work waited for something.
    #[serde(default = "not_watched", skip_serializing_if = "is_not_watched")]
    pub pressure: Seen<Pressure>,
    /// The same for this process's control group alone.
    #[serde(default = "not_watched", skip_serializing_if = "is_not_watched")]
    pub group_pressure: Seen<Pressure>,
    /// Swapping, stalls and kills for want of memory.
    #[serde(default = "not_watched", skip_serializing_if = "is_not_watched")]
    pub memory: Seen<Memory>,
    /// Resident memory of the tool and of what it started, at the end.
    #[serde(default = "not_watched", skip_serializing_if = "is_not_watched")]
    pub processes: Seen<ProcessMemory>,
    /// Temperatures by sensor.
    #[serde(default = "not_watched", skip_serializing_if = "is_not_watched")]
    pub temperature: Seen<Temperature>,
    /// Mains and batteries.
    #[serde(default = "not_watched", skip_serializing_if = "is_not_watched")]
    pub power_supply: Seen<PowerSupply>,
    /// How the clocks went.
    #[serde(default = "not_watched", skip_serializing_if = "is_not_watched")]
    pub clock: Seen<Clock>,
    /// Warnings and worse in the kernel's log.
    #[serde(default = "not_watched", skip_serializing_if = "is_not_watched")]
    pub kernel_log: Seen<Vec<KernelLine>>,
    /// Energy that was used, where something tells it.
    #[serde(default = "not_watched", skip_serializing_if = "is_not_watched")]
    pub energy: Seen<Energy>,
}

impl Default for Watched {
    fn default() -> Self {
        Self {
            load: not_watched(),
            pressure: not_watched(),
            group_pressure: not_watched(),
            memory: not_watched(),
            processes: not_watched(),
            temperature: not_watched(),
            power_supply: not_watched(),
            clock: not_watched(),
            kernel_log: not_watched(),
            energy: not_watched(),
        }
    }
}

impl Watched {
    /// Whether nothing was looked at.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Ticks of 10 ms that one processor spent. Stored as a list in the order of the fields: there are
/// many of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 5]", into = "[u64; 5]")]
pub struct CpuTicks {
    /// Its number.
    pub cpu: u32,
    /// With work.
    pub busy: u64,
    /// Idle while something waited for a device.
    pub iowait: u64,
    /// Ready, while the hypervisor ran something else.
    pub steal: u64,
    /// All of them.
    pub total: u64,
}

impl From<[u64; 5]> for CpuTicks {
    fn from([cpu, busy, iowait, steal, total]: [u64; 5]) -> Self {
        Self { cpu: cpu as u32, busy, iowait, steal, total }
    }
}

impl From<CpuTicks> for [u64; 5] {
    fn from(ticks: CpuTicks) -> Self {
        [u64::from(ticks.cpu), ticks.busy, ticks.iowait, ticks.steal, ticks.total]
    }
}

/// Time that work waited, by resource: `cpu`, `io`, `memory`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// Length of the span, nanoseconds.
    pub span_ns: u64,
    /// Nanoseconds by resource.
    pub waited: BTreeMap<String, Waited>,
}

/// Nanoseconds that work waited for one resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    /// While some task waited.
    pub some_ns: u64,
    /// While all tasks waited; the kernel does not tell it of every resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_ns: Option<u64>,
}

/// Memory of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Pages that came back from swap.
    pub swapped_in_pages: u64,
    /// Pages that went to swap.
    pub swapped_out_pages: u64,
    /// Processes that were killed for want of memory.
    pub oom_kills: u64,
    /// Times that a task had to free memory itself before it got some.
    pub stalls: u64,
    /// Bytes of a page; none in bundles of before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// Bytes of swap; 0 where there is none.
    pub swap_bytes: u64,
    /// Bytes of it in use, before and after.
    pub swap_used_bytes: [u64; 2],
    /// Bytes that wait to be written, before and after.
    pub dirty_bytes: [u64; 2],
    /// Bytes on their way to devices, before and after.
    pub writeback_bytes: [u64; 2],
    /// Pages that went into and came out of compressed swap in memory (zswap).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zswap_pages: Option<[u64; 2]>,
    /// Compressed memory devices at the end, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub zram: BTreeMap<String, Zram>,
}

/// What a compressed memory device holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zram {
    /// Bytes that were written to it.
    pub original_bytes: u64,
    /// Bytes of them when compressed.
    pub compressed_bytes: u64,
    /// Bytes of memory that it takes.
    pub used_bytes: u64,
}

/// Memory of a process with all that it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMemory {
    /// Processes.
    pub processes: u32,
    /// Resident bytes, shared ones counted in each.
    pub rss_bytes: u64,
    /// Resident bytes, shared ones divided among those that share them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_bytes: Option<u64>,
}

/// Temperatures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Temperature {
    /// By the name of the sensor, thousandths of a degree Celsius.
    pub sensors: BTreeMap<String, Sensor>,
    /// Processors that ran below their highest allowed clock at the end: rest or heat, nobody tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_processors: Option<u32>,
}

/// One sensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sensor {
    /// Before, thousandths of a degree Celsius.
    pub before_mc: i64,
    /// After.
    pub after_mc: i64,
    /// From where on the hardware slows down, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_mc: Option<i64>,
}

/// Where the machine's power came from, before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerSupply {
    /// Before.
    pub before: Supply,
    /// After.
    pub after: Supply,
}

/// Where the machine's power comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supply {
    /// Whether it is plugged in; none where no supply says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mains: Option<bool>,
    /// Batteries by name: what they do (`Charging`, `Discharging`, `Full`, ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub batteries: BTreeMap<String, String>,
}

/// How the clocks went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Nanoseconds that the wall clock went further than the monotonic one: it was set.
    pub stepped_ns: i64,
    /// Nanoseconds that the machine slept.
    pub suspended_ns: u64,
}

/// What a line says, in small letters, when it is about hardware or the machine as a whole.
const TELLING: [&str; 24] = [
    "i/o error",
    "medium error",
    "critical target error",
    "failed command",
    "timeout, aborting",
    "timeout, reset controller",
    "resetting",
    "hard reset",
    "soft reset",
    "reset high-speed usb",
    "reset superspeed",
    "limiting sata link speed",
    "sata link down",
    "ext4-fs error",
    "btrfs error",
    "aer: ",
    "blocked for more than",
    "soft lockup",
    "hard lockup",
    "rcu: info: rcu",
    "mce: ",
    "hardware error",
    "temperature above threshold",
    "clocksource: marking clocksource",
];
/// What hardware puts right by itself; some boards log it all the time.
const ALLOWED: [&str; 3] = ["correctable error", "corrected error", "severity=correct"];

/// One line of the kernel's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLine {
    /// How bad: 0 (the system is unusable) to 4 (warning).
    pub level: u8,
    /// What it says.
    pub text: String,
}

impl KernelLine {
    /// Whether it tells of trouble with hardware or of tasks that hung, rather than of what boards
    /// and drivers log all the time.
    pub fn is_telling(&self) -> bool {
        let text = self.text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
        says(&TELLING) && (!says(&ALLOWED) || text.contains("uncorrect"))
    }
}

/// Energy that was used between two moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Who tells: `meter`, `powercap`, `battery`, `hwmon`.
    pub source: String,
    /// What the number is of.
    pub what: String,
    /// Length of the span, nanoseconds.
    pub span_ns: u64,
    /// Joules in all.
    pub joules: f64,
    /// Joules by part, where it has several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, f64>,
}

impl Energy {
    /// Mean power, watts.
    pub fn watts(&self) -> f64 {
        self.joules / (self.span_ns as f64 / 1e9)
    }
}

/// What was looked at once before and once after a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Health of each drive before the first trial, by its kernel name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub health_before: BTreeMap<String, Seen<Health>>,
    /// The same after the last one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub health_after: BTreeMap<String, Seen<Health>>,
    /// Energy while nothing was done, before the first trial.
    #[serde(default = "not_watched", skip_serializing_if = "is_not_watched")]
    pub idle: Seen<Energy>,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self { health_before: BTreeMap::new(), health_after: BTreeMap::new(), idle: not_watched() }
    }
}

impl Surroundings {
    /// Whether nothing was looked at.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a drive says of itself. What its kind does not count is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Who was asked: `nvme`, `smartctl`.
    pub source: String,
    /// Degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<i64>,
    /// Wear in percent of what it was made for; may pass 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_percent: Option<u64>,
    /// Bytes that were ever written to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Counters by name, such as `media_errors`, `unsafe_shutdowns`, `reallocated_sectors`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
}

fn not_watched<T>() -> Seen<T> {
    Seen::absent(NOT_WATCHED)
}

/// Whether something was not looked at.
pub fn is_not_watched<T>(seen: &Seen<T>) -> bool {
    seen.reason() == Some(NOT_WATCHED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_watched_is_not_written() {
        assert_eq!(serde_json::to_string(&Watched::default()).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<Watched>("{}").unwrap(), Watched::default());
        assert_eq!(serde_json::to_string(&Surroundings::default()).unwrap(), "{}");
        assert!(serde_json::from_str::<Surroundings>("{}").unwrap().is_empty());
    }

    #[test]
    fn what_was_watched_is_kept_with_its_reasons() {
        let some = Watched {
            pressure: Seen::absent("no PSI"),
            load: Seen::Present(vec![CpuTicks { cpu: 1, busy: 2, iowait: 3, steal: 4, total: 9 }]),
            energy: Seen::Present(Energy {
                joules: 3.0,
                span_ns: 2_000_000_000,
                ..Energy::default()
            }),
            ..Watched::default()
        };
        let text = serde_json::to_string(&some).unwrap();
        assert!(text.starts_with(r#"{"load":{"present":[[1,2,3,4,9]]},"#), "{text}");
        assert_eq!(serde_json::from_str::<Watched>(&text).unwrap(), some);
        assert_eq!(some.energy.value().map(Energy::watts), Some(1.5));
        assert!(!some.is_empty());
    }
}
