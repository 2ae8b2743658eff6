//! A boot as a trial: what its record says by metric.

use assay_core::{presence::Presence, quantity::Metric};
use serde::{Deserialize, Serialize};

use super::{PHASES, UNTIL, WHOLE, source};
use crate::boot::journal::timeline::{Boot, BootEnd};
use crate::measured::{Counts, Measured, RunResult, known_and_absent};
use crate::place::Run;
use crate::workload::{ManualCommand, ManualRun, PlannedWork};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootPlan {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl PlannedWork for BootPlan {
    fn words(&self) -> String {
        let until = self.until.as_ref().map(|unit| format!(", with the time until {unit} started"));
        format!("boots recorded in the systemd journal{}", until.unwrap_or_default())
    }

    /// Reads the current boot, because Assay cannot boot the machine here.
    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        let boot = source::current_boot(run.system, self.until.as_deref());
        let measured = measured(boot.map_err(|failure| failure.message)?)?;
        Ok(RunResult::new(measured, false))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        WHOLE.name
    }

    fn ends_by_time(&self) -> bool {
        false
    }

    fn by_hand(&self, _: &ManualRun<'_>) -> ManualCommand {
        let words = ["journalctl", "MESSAGE_ID=b07a249cd024414a82dd00cd181378ff"];
        ManualCommand::new(&words, &["for units of the last boot, run systemd-analyze blame"])
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootDetail {
    pub boot: Boot,
}

impl Counts for BootDetail {
    fn operations(&self) -> u64 {
        1
    }
}

/// The times of a boot by metric; an error if the boot did not finish.
pub fn measured(boot: Boot) -> Result<Measured, String> {
    if let BootEnd::Unfinished(why) = &boot.end {
        return Err(why.clone());
    }
    let seconds = |us: &Presence<u64>| us.clone().map(|us| us as f64 / 1e6);
    let phases = &boot.phases;
    let times = [
        &phases.firmware_us,
        &phases.loader_us,
        &phases.kernel_us,
        &phases.initrd_us,
        &phases.userspace_us,
    ];
    let whole_us = phases.from_kernel_us();
    // A container has only the time in userspace.
    let elapsed_us = whole_us.value().or_else(|| phases.userspace_us.value()).copied().unwrap_or(0);
    let mut metrics: Vec<(Metric, Presence<f64>)> = vec![(WHOLE, seconds(&whole_us))];
    metrics.extend(PHASES.iter().copied().zip(times.map(seconds)));
    metrics.extend(boot.until.as_ref().map(|until| (UNTIL, seconds(until))));
    let (values, absent) = known_and_absent(metrics);
    let elapsed_ns = elapsed_us.saturating_mul(1000);
    Ok(Measured {
        window_ns: elapsed_ns,
        elapsed_ns,
        values,
        absent,
        notes: boot.notes.clone(),
        ..Measured::from_detail(BootDetail { boot })
    })
}
