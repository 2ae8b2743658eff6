//! Kernel warnings during a trial (`/dev/kmsg`).

use std::collections::BTreeSet;

use crate::system::{KernelLog, System, sysfs};
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Moment, Presentation, Probe, Scene, Unit, field, not_recorded};

pub static PROBE: Entry = Entry {
    about: About {
        name: "kernel-log",
        summary: "kernel warnings and errors during the run",
        text: "Reads /dev/kmsg from just before the run until write-back completes, and stores kernel messages of \
               level warning or worse. Rule `kernel-log` decides which messages mark a trial as disturbed: I/O errors, \
               resets, link speed changes, hung tasks, machine checks. Cost: one open call before the run and one read \
               call per message after the run. Needs access to the kernel log: root, or kernel.dmesg_restrict = 0.",
    },
    fields: &[
        field("*.level", Unit::Count, "log level of the kernel message, 0 to 4"),
        field("*.text", Unit::Word, "text of the kernel message"),
    ],
    rules: &["kernel-log"],
    presentation: Presentation::Tailored,
    here: Some(|system| follow(system).map(|_| "works".to_owned())),
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLine {
    pub level: u8,
    pub text: String,
}

impl KernelLine {
    /// Returns whether the line reports hardware trouble or hung tasks.
    pub fn is_telling(&self) -> bool {
        let text = self.text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
        says(&TELLING) && (!says(&ALLOWED) || text.contains("uncorrect"))
    }
}

/// Lower-case text in lines about hardware or the whole machine.
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

const WARNING: u32 = 4;
const MOST_LINES: usize = 20;

/// The log, followed from the first reading on.
#[derive(Default)]
pub struct KernelLogProbe {
    log: Option<Presence<KernelLog>>,
    lines: Option<Presence<Vec<KernelLine>>>,
}

impl Probe for KernelLogProbe {
    type Observed = Vec<KernelLine>;
    const MOMENTS: &'static [Moment] = &[Moment::BeforeRun, Moment::Settled];

    fn look(&mut self, moment: Moment, scene: &Scene<'_>) {
        if scene.is_simulated() {
            return;
        }
        if moment == Moment::BeforeRun {
            self.log = Some(follow(scene.system));
        } else {
            self.lines = self.log.as_mut().map(|log| new_lines(scene.system, log));
        }
    }

    fn observed(&mut self, _scene: &Scene<'_>) -> Presence<Vec<KernelLine>> {
        self.log = None;
        self.lines.take().unwrap_or_else(not_recorded)
    }
}

fn follow(system: &dyn System) -> Presence<KernelLog> {
    match system.follow_kernel_log() {
        Ok(log) => Presence::Present(log),
        Err(error) => Presence::absent(format!("/dev/kmsg: {}", sysfs::reason(&error))),
    }
}

/// Returns the lines logged since the last call, or since the start.
fn new_lines(system: &dyn System, log: &mut Presence<KernelLog>) -> Presence<Vec<KernelLine>> {
    let log = match log {
        Presence::Present(log) => log,
        Presence::Absent(reason) => return Presence::absent(reason.clone()),
    };
    match system.new_in_kernel_log(log) {
        Ok(records) => Presence::Present(warnings(&records)),
        Err(error) => Presence::absent(format!("/dev/kmsg: {}", sysfs::reason(&error))),
    }
}

/// Returns the kernel's records at level warning or worse, each text once and in their order: the first lines on
/// hardware trouble, and the first others as far as these leave room.
fn warnings(records: &[String]) -> Vec<KernelLine> {
    let mut seen = BTreeSet::new();
    let mut lines: Vec<KernelLine> = records.iter().filter_map(|record| warning(record)).collect();
    lines.retain(|line| seen.insert((line.level, line.text.clone())));
    let trouble = lines.iter().filter(|line| line.is_telling()).count().min(MOST_LINES);
    let (mut trouble_room, mut other_room) = (trouble, MOST_LINES - trouble);
    lines.retain(|line| {
        let room = if line.is_telling() { &mut trouble_room } else { &mut other_room };
        let fits = *room > 0;
        *room = room.saturating_sub(1);
        fits
    });
    lines
}

/// Parses `PRIORITY,SEQUENCE,TIME,FLAGS[,...];TEXT`; `None` unless the kernel (facility 0) logged a warning or worse.
fn warning(record: &str) -> Option<KernelLine> {
    let (head, text) = record.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    (priority <= WARNING).then(|| KernelLine {
        level: priority as u8,
        text: text.lines().next().unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    const LOG: &str = "6,1,0,-;Linux version 6.18\n4,2,9,-;an old warning\n";

    #[test]
    fn only_new_warnings_of_the_kernel_are_kept() {
        let fake = Fake::new();
        fake.put("/dev/kmsg", LOG);
        let mut log = follow(&fake);
        let new = "3,3,11,-;I/O error, dev sdb, sector 8 op 0x0:(READ)\n\
                   6,4,12,-;EXT4-fs (loop0): mounted\n\
                   12,5,13,-;systemd[1]: a program's warning\n\
                   3,6,14,-;I/O error, dev sdb, sector 8 op 0x0:(READ)\n\
                   4,7,15,-,caller=T1;nvme nvme0: I/O 12 QID 3 timeout, aborting\n";
        fake.put("/dev/kmsg", format!("{LOG}{new}"));
        let found = new_lines(&fake, &mut log);
        let told: Vec<(u8, &str)> =
            found.value().unwrap().iter().map(|line| (line.level, line.text.as_str())).collect();
        let known = [
            (3, "I/O error, dev sdb, sector 8 op 0x0:(READ)"),
            (4, "nvme nvme0: I/O 12 QID 3 timeout, aborting"),
        ];
        assert_eq!(told, known);
        assert_eq!(new_lines(&fake, &mut log), Presence::Present(Vec::new()));
    }

    #[test]
    fn what_tells_is_kept_although_much_else_was_logged_before() {
        let noise = |number: u32| format!("4,{number},9,-;noise {number}");
        let mut records: Vec<String> = (0..40).map(noise).collect();
        records.push("3,41,9,-;I/O error, dev sda, sector 8".to_owned());
        let found = warnings(&records);
        assert_eq!(found.len(), MOST_LINES);
        assert_eq!(found[0].text, "noise 0");
        assert_eq!(found[MOST_LINES - 1].text, "I/O error, dev sda, sector 8");
    }

    #[test]
    fn absent_where_it_may_not_be_read() {
        let fake = Fake::recorded("closed /dev/kmsg\n").unwrap();
        let mut log = follow(&fake);
        let reason = new_lines(&fake, &mut log);
        assert_eq!(reason.reason(), Some("/dev/kmsg: not permitted"));
    }
}
