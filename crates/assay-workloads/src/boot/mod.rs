//! Boots, which happen without Assay: each trial is a past boot, read from the systemd journal.

pub mod journal;
pub mod labels;
mod planned;
#[cfg(test)]
mod recorded_tests;
mod recording;
mod source;
mod tell;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::Form;
use assay_core::quantity::{Metric, Time};
use serde::{Deserialize, Serialize};

use super::keys::{keys, names};
use super::place::Offer;
use super::recorded::RecordingNames;
use super::workload::{Basis, Complaints, InStudy, WorkloadKind, WorkloadSpec};
use crate::metrics::lower;

pub use journal::timeline::{Boot, BootEnd, StartedUnit};
pub use planned::{BootDetail, BootPlan, measured};
pub use tell::{BootFacts, SlowUnit, UnfinishedBoot};

const MOST_BOOTS: u64 = 1000;
/// A boot ends by itself: this time is an upper bound.
const BOUND: Time = Time(600_000_000_000);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BootGrouping {
    #[default]
    Kernel,
    RootDevice,
    Label,
}

// Each is a factor of the same name.
names!(BootGrouping: Kernel = "kernel", RootDevice = "root_device", Label = "label");

impl BootGrouping {
    pub fn group(self, boot: &Boot) -> String {
        let (name, if_missing) = match self {
            Self::Kernel => (boot.kernel.value(), "unknown kernel"),
            Self::RootDevice => (boot.root.value(), "unknown root device"),
            Self::Label => (boot.label.as_ref(), "no label"),
        };
        name.map_or(if_missing, String::as_str).to_owned()
    }
}

keys! {
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct BootSpec {
        group_by: BootGrouping = BootGrouping::Kernel => {
            words: "group boots by: kernel, root_device or label (see assay note boot)",
            form: Form::Word(BootGrouping::names),
            example: "group_by = \"kernel\"",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        until_unit: Option<String> = None => {
            words: "systemd unit whose start time Assay measures as well",
            form: Form::Text,
            example: "until_unit = \"ssh.service\"",
        }
        boots: u32 = 20 => {
            words: "number of most recent boots to read",
            form: Form::Whole { least: 1, most: MOST_BOOTS },
            example: "boots = 20",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        journal: Option<String> = None => {
            words: "journal to read instead of this machine's: a file from journalctl -o export or -o json, or a \
                    directory with a journal",
            form: Form::Text,
            example: "journal = \"boots.export\"",
        }
    }
}

pub const WHOLE: Metric = lower(
    "boot_s",
    "boot time",
    "total time of kernel, initrd and userspace; available on every machine",
);
pub const USERSPACE: Metric = lower(
    "boot_userspace_s",
    "userspace",
    "userspace time, from the start of init to the last startup job",
);

pub const PHASES: &[Metric] = &[
    lower("boot_firmware_s", "firmware", "firmware time, until the boot loader starts (UEFI)"),
    lower("boot_loader_s", "loader", "boot loader time, until the kernel starts (UEFI)"),
    lower("boot_kernel_s", "kernel", "kernel time, until the first program starts"),
    lower("boot_initrd_s", "initrd", "initrd time, until the switch to the root filesystem"),
    USERSPACE,
];

pub const UNTIL: Metric =
    lower("boot_unit_s", "time until the unit started", "time until the named unit has started");

impl WorkloadKind for BootSpec {
    const ABOUT: About = About {
        name: "boot",
        summary: "boot times of the machine, from the systemd journal",
        text: "Each trial is one boot. At the end of startup, systemd writes the time of each phase to the journal, \
               measured with the kernel's monotonic clock. According to the systemd manual, services may still be busy \
               at the end of startup, and a unit's start time may include waits for other units. Assay lists \
               unfinished boots but excludes them from all means.",
    };
    const EXAMPLE: &'static str = "boot = { group_by = \"kernel\" }";
    const METRICS: &'static [&'static [Metric]] = &[&[WHOLE], PHASES, &[UNTIL]];
    const JUDGED: &'static [Basis] = &[Basis::Machine];
    const RECORDING: Option<&'static RecordingNames> = Some(&recording::BOOTS);
}

impl WorkloadSpec for BootSpec {
    fn words(&self) -> String {
        let until = self.until_unit.as_ref().map(|unit| format!(", with the time until {unit}"));
        format!(
            "the latest {} boots by {}{}",
            self.boots,
            self.group_by.name(),
            until.unwrap_or_default()
        )
    }

    fn complain(&self, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
        if let Some(name) = study.factors.keys().find(|name| *name != self.group_by.name()) {
            to.key(
                path,
                format!(
                    "boots are grouped by {}, but Assay cannot set {name} before a boot",
                    self.group_by.name()
                ),
                Some(
                    "remove the factors, or use group_by = \"label\" and label the boots"
                        .to_owned(),
                ),
            );
        }
    }

    fn time(&self) -> Option<Time> {
        Some(BOUND)
    }

    fn plan(&self, _: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        Ok((BootPlan { until: self.until_unit.clone() }.into(), None))
    }
}
