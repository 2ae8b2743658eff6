//! Probe values of the machine during `watch`: shares of the time and current levels.

use serde::Serialize;

use assay_core::presence::Presence;
use assay_core::quantity::units::show;
use assay_machine::probes::memory::{Levels, MachineMemory};
use assay_machine::probes::pressure::{Resources, WaitTime};
use assay_machine::probes::ticks::Ticks;
use assay_machine::probes::{load, temperature};
use assay_machine::system::System;

/// Shares of a CPU's time, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuShares {
    pub user: f64,
    /// In the kernel, including interrupts.
    pub system: f64,
    /// Idle while a task waited for a device.
    pub iowait: f64,
    /// Stolen by the hypervisor.
    pub steal: f64,
}

impl CpuShares {
    /// Returns the shares of the time between two readings.
    fn between(before: &Ticks, after: &Ticks) -> Self {
        let increase = |pick: fn(&Ticks) -> u64| pick(after).saturating_sub(pick(before)) as f64;
        let ticks = Self {
            user: increase(|ticks| ticks.user + ticks.nice),
            system: increase(|ticks| ticks.system + ticks.irq + ticks.softirq),
            iowait: increase(|ticks| ticks.iowait),
            steal: increase(|ticks| ticks.steal),
        };
        let used = ticks.user + ticks.system + ticks.iowait + ticks.steal;
        ticks.divided_by((used + increase(|ticks| ticks.idle)).max(1.0))
    }

    pub fn busy(&self) -> f64 {
        self.user + self.system
    }

    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
            iowait: self.iowait + other.iowait,
            steal: self.steal + other.steal,
        }
    }

    #[must_use]
    pub fn divided_by(&self, number: f64) -> Self {
        Self {
            user: self.user / number,
            system: self.system / number,
            iowait: self.iowait / number,
            steal: self.steal / number,
        }
    }
}

type EachTicks = Presence<Vec<(u32, Ticks)>>;

/// Returns the load of each CPU between two readings of the probe `load`.
pub fn loads(before: &EachTicks, after: &EachTicks) -> Presence<Vec<CpuShares>> {
    before.both(after, |before, after| {
        load::pairs(before, after).map(|(_, early, late)| CpuShares::between(early, late)).collect()
    })
}

/// Shares of the time, 0 to 1, in which tasks waited.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PressureShares {
    /// Some tasks waited for a CPU.
    pub cpu: f64,
    /// Some tasks waited for a device.
    pub io: f64,
    /// All non-idle tasks waited for devices.
    pub io_full: f64,
    /// Some tasks waited for memory.
    pub memory: f64,
    /// All non-idle tasks waited for memory.
    pub memory_full: f64,
}

/// Returns the pressure between two readings of the probe `pressure`, only if all values are known.
pub fn pressure(before: &Resources, after: &Resources, span_ns: u64) -> Presence<PressureShares> {
    if let Some(reason) = after.values().chain(before.values()).find_map(Presence::reason) {
        let advice = "some kernels require the boot option psi=1";
        return Presence::absent(format!("/proc/pressure: {reason}; {advice}"));
    }
    let shares = pressure_shares(before, after, span_ns);
    Presence::from_option(shares, "/proc/pressure has an unknown form")
}

fn pressure_shares(before: &Resources, after: &Resources, span_ns: u64) -> Option<PressureShares> {
    let waited = |name: &str| -> Option<WaitTime> {
        Some(after.get(name)?.value()?.since(before.get(name)?.value()?))
    };
    let share = |ns: u64| (ns as f64 / (span_ns as f64).max(1.0)).min(1.0);
    let (cpu, io, memory) = (waited("cpu")?, waited("io")?, waited("memory")?);
    Some(PressureShares {
        cpu: share(cpu.some_ns),
        io: share(io.some_ns),
        io_full: share(io.full_ns?),
        memory: share(memory.some_ns),
        memory_full: share(memory.full_ns?),
    })
}

/// One temperature.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SensorValue {
    /// Driver and label: `nvme Composite`.
    pub name: String,
    pub celsius: f64,
}

/// Returns the sensors of the probe `temperature`, or else the thermal zones; sensors of drives only if `ask_drives`.
pub fn sensors(system: &dyn System, ask_drives: bool) -> Presence<Vec<SensorValue>> {
    let mut values = Vec::new();
    let mut add = |name: &str, now_mc: i64| {
        values.push(SensorValue { name: show::clean(name), celsius: now_mc as f64 / 1e3 });
    };
    let monitors = temperature::monitors(system, ask_drives);
    for monitor in &monitors {
        let kind = monitor.kind.as_deref().unwrap_or("sensor");
        add(&format!("{kind} {}", monitor.label), monitor.now_mc);
    }
    if monitors.is_empty() {
        for zone in temperature::zones(system) {
            add(zone.kind.as_deref().unwrap_or("zone"), zone.now_mc);
        }
    }
    if values.is_empty() {
        return Presence::absent("no sensor reports a temperature");
    }
    Presence::Present(values)
}

/// Current memory, and swapping since an earlier reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryState {
    pub total_bytes: u64,
    /// Memory available to programs.
    pub available_bytes: u64,
    /// Written by programs, but not yet to devices.
    pub dirty_bytes: u64,
    /// Being written to the devices.
    pub writeback_bytes: u64,
    pub swap_bytes: u64,
    pub swap_used_bytes: u64,
    /// Read from swap.
    pub swapped_in_bytes: u64,
    /// Written to swap.
    pub swapped_out_bytes: u64,
}

impl MemoryState {
    /// Returns the used share, 0 to 1.
    pub fn used(&self) -> f64 {
        1.0 - self.available_bytes as f64 / (self.total_bytes as f64).max(1.0)
    }
}

/// Returns memory from two readings of the probe `memory`.
pub fn memory(before: &MachineMemory, after: &MachineMemory) -> Presence<MemoryState> {
    let bytes = |pages: u64| pages.saturating_mul(after.page_bytes);
    let swapped_bytes = before.counters.both(&after.counters, |before, after| {
        [
            bytes(after.swapped_in.saturating_sub(before.swapped_in)),
            bytes(after.swapped_out.saturating_sub(before.swapped_out)),
        ]
    });
    match after.levels.both(&swapped_bytes, memory_state) {
        Presence::Present(state) => {
            Presence::from_option(state, "/proc/meminfo has an unknown form")
        }
        Presence::Absent(reason) => Presence::Absent(reason),
    }
}

/// Returns memory from current levels, and bytes swapped in and out; `None` without the total or available memory.
fn memory_state(levels: &Levels, swapped_bytes: &[u64; 2]) -> Option<MemoryState> {
    let (total, available) = levels.total_and_available?;
    Some(MemoryState {
        total_bytes: total,
        available_bytes: available,
        dirty_bytes: levels.dirty,
        writeback_bytes: levels.writeback,
        swap_bytes: levels.swap,
        swap_used_bytes: levels.swap_used,
        swapped_in_bytes: swapped_bytes[0],
        swapped_out_bytes: swapped_bytes[1],
    })
}

#[cfg(test)]
mod tests;
