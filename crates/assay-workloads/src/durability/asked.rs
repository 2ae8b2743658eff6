//! The request of a study, and the resulting plan.

mod keys;

use assay_core::catalogue::About;
use assay_core::quantity::{Bytes, Time};
use assay_load::{OneByOne, mix64};
use assay_machine::system::powered::{VmConfig, VmNeeds};
use serde::{Deserialize, Serialize};

use crate::durability::below::On;
use crate::durability::bound;
use crate::durability::command::CommandLines;
use crate::durability::drive::Drive;
use crate::durability::grade::Method;
use crate::durability::log::SECTOR_BYTES;
use crate::durability::outage::AREA_BYTES;
use crate::durability::pattern::{Pattern, RecordLayout};
use crate::durability::sync::Sync;
use crate::durability::trial::DurabilityTrial;
use crate::io::Engine;
use crate::keys::runtime;
use crate::measured::RunResult;
use crate::place::{ONLY_READ, Offer, Run};
use crate::workload::{
    Complaints, InStudy, ManualCommand, ManualRun, Needs, PlannedWork, Touch, WorkloadSpec,
};

use super::metrics::{LOST, METRICS};
use super::{counted, run_in_machines, run_plug, run_result, touch};

pub use keys::DurabilitySpec;
use keys::USUAL_CUTS;

pub const ABOUT: About = About {
    name: "durability",
    summary: "whether acknowledged data survives a power loss, with a confidence bound",
    text: "Assay writes to the target like an application (log, in-place records or transactions) and records all \
           writes and syncs in a log. Each completed sync acknowledges the preceding writes. Assay cuts the log at \
           random crash points, reconstructs what a drive with a volatile cache may contain, and checks whether it \
           contains all acknowledged writes. Only a missing acknowledged write is a failure (exit code 1). \
           Unacknowledged writes may be in any state, and Assay reports them separately. With n crash points and no \
           loss, at most about 3/n of such crashes lose data (95% confidence; Assay reports the exact bound). Method \
           replay assumes a drive model: it tests the order of writes and syncs and the speed, but not the real drive. \
           Method plug tests the real drive: a second machine records acknowledged writes while you cut the power. \
           Assay overwrites a block device (requires --destroy); in a directory, it uses a temporary file.",
};

const PLUG_BY_HAND: &str = "run diskchecker.pl -l on the second machine; after the power cut, repeat the command with verify";

const BY_HAND: &str = "replace SECTORS and LOG (a device for the log), and for a directory the device \
                       below it; replay-log (from log-writes) then rebuilds the device flush by flush";

pub const USUAL_TIME: Time = Time(10_000_000_000);
const USUAL_WAIT: Time = Time(300_000_000_000);
/// Expected time for the user and for the judgment, nanoseconds.
const PULL_AND_JUDGE_NS: u64 = 60_000_000_000;
/// The same for a quick check: three trials with its acknowledged writes and crash points bound a loss to 0.34%.
const QUICK: Time = Time(2_000_000_000);
const QUICK_PROMISES: u32 = 500;
const QUICK_CUTS: u64 = 300;
const QUICK_KILLS: u64 = 20;
const QUICK_READS: u64 = 200;
const USUAL_CHECK: Time = Time(60_000_000_000);
const LONGEST_LINE: Time = Time(240_000_000_000);
const MOST_CUTS: u64 = 1_000_000;
const LARGEST: Bytes = Bytes(1 << 20);
const LARGEST_UNIT: Bytes = Bytes(64 << 10);
/// Assumed time per acknowledged write, and per such write of a crash point's log, nanoseconds.
const PROMISE_NS: u64 = 2_000_000;
const CUT_PROMISE_NS: u64 = 200;
/// Expected times of virtual machines: the first start, a power cut with a restart, and a read of the files.
const FIRST_START_NS: u64 = 8_000_000_000;
const CUT_NS: u64 = 1_200_000_000;
const READ_NS: u64 = 120_000_000;

/// Whether a text is a list of mount options. No shell reads the text, but messages contain it.
fn is_mount_options(text: &str) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-=.,:/".contains(letter);
    text.len() <= LONGEST_OPTIONS && text.chars().all(is_allowed)
}

const LONGEST_OPTIONS: usize = 200;

impl DurabilitySpec {
    /// Returns the first invalid key and the reason, or `None` if all keys fit together.
    pub fn find_error(&self) -> Option<(&'static str, String)> {
        if !is_mount_options(&self.vm_mount_options) {
            let message = format!("`{}` is not a list of mount options", self.vm_mount_options);
            return Some(("vm_mount_options", message));
        }
        if let Some(error) = self.find_command_error().or_else(|| self.find_plug_error()) {
            return Some(error);
        }
        for (key, size, most) in [
            ("record_size", self.record_size, LARGEST),
            ("atomic_write_unit", self.atomic_write_unit, LARGEST_UNIT),
        ] {
            if size.0 == 0 || size > most || !size.0.is_multiple_of(SECTOR_BYTES) {
                let message =
                    format!("{key} must be a multiple of 512 bytes up to {most}, not {size}");
                return Some((key, message));
            }
        }
        None
    }

    /// Returns the first key that is invalid for method plug, or an invalid peer, with the reason.
    fn find_plug_error(&self) -> Option<(&'static str, String)> {
        let is_peer = |text: &str| {
            text.rsplit_once(':').is_some_and(|(host, port)| {
                !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
            })
        };
        if let Some(peer) = self.peer.as_deref().filter(|peer| !is_peer(peer)) {
            return Some((
                "peer",
                format!("`{peer}` is not a peer address; use HOST:PORT, such as 192.168.1.2:7710"),
            ));
        }
        if self.method != Method::Plug {
            return None;
        }
        let refuse = |key, rule: &str| Some((key, format!("method plug {rule}")));
        if !Pattern::OF_PLACES.contains(&self.writer) {
            return refuse("writer", "requires writer log, in-place or transaction");
        }
        if self.write_to != On::Target {
            return refuse("write_to", "requires write_to = \"target\"");
        }
        if self.assumed_drive != Drive::HonorsFlushes {
            return refuse("assumed_drive", "does not use assumed_drive");
        }
        // The default counts as not set.
        if ![1, USUAL_CUTS].contains(&self.crash_points) {
            return refuse("crash_points", "has one crash per trial; increase replicates instead");
        }
        None
    }

    /// Returns the first invalid key of a user's command, or a key that only such a command may have.
    fn find_command_error(&self) -> Option<(&'static str, String)> {
        let is_set = |line: &Option<String>| line.as_ref().is_some_and(|it| !it.trim().is_empty());
        let lines = [
            ("writer_command", is_set(&self.writer_command)),
            ("check_command", is_set(&self.check_command)),
        ];
        if self.writer != Pattern::Command {
            let has_timeout = ("check_timeout", self.check_timeout.is_some());
            let has_needs = ("needs", !self.needs.is_empty());
            let mut keys = lines.into_iter().chain([has_timeout, has_needs]);
            let (key, _) = keys.find(|(_, is_set)| *is_set)?;
            return Some((key, format!("{key} requires writer = \"command\"")));
        }
        if let Some((key, _)) = lines.into_iter().find(|(_, is_set)| !is_set) {
            return Some((key, format!("writer `command` needs {key}")));
        }
        // A machine that is silent for longer counts as dead.
        for (key, time) in [("runtime", self.runtime), ("check_timeout", self.check_timeout)] {
            if time.is_some_and(|time| time > LONGEST_LINE) {
                return Some((key, format!("{key} of a command must be at most {LONGEST_LINE}")));
            }
        }
        None
    }

    /// The command and its check, with timeouts of at least 1 ms; `None` if one of them is not set.
    fn command_lines(&self) -> Option<CommandLines> {
        let ms = |time: Time| (time.0 / 1_000_000).max(1);
        Some(CommandLines {
            command: self.writer_command.clone()?,
            check: self.check_command.clone()?,
            command_ms: ms(self.runtime.unwrap_or(USUAL_TIME)),
            check_ms: ms(self.check_timeout.unwrap_or(USUAL_CHECK)),
        })
    }

    pub fn is_in_machine(&self) -> bool {
        self.method == Method::Kill || self.write_to != On::Target
    }

    pub fn vm_needs(&self) -> VmNeeds {
        VmNeeds { needs: self.needs.clone(), config: self.vm_config(), ..self.write_to.vm_needs() }
    }

    fn vm_config(&self) -> VmConfig {
        VmConfig {
            memory_bytes: self.vm_memory.map(|size| size.0),
            cpus: self.vm_cpus,
            kernel: self.vm_kernel.clone(),
        }
    }

    /// Whether the machines or the user, not `runtime`, determine how long a trial takes.
    fn has_own_duration(&self) -> bool {
        self.is_in_machine() || self.is_plug()
    }

    pub fn is_plug(&self) -> bool {
        self.method == Method::Plug
    }

    /// Plans the work in an area of this size; fails if the keys do not fit together.
    pub fn planned(&self, area_bytes: u64) -> Result<DurabilityPlan, String> {
        if let Some((_, message)) = self.find_error() {
            return Err(message);
        }
        let is_in_machine = self.is_in_machine();
        // Only writes to fixed offsets, or to a raw drive, need space.
        if Pattern::OF_PLACES.contains(&self.writer) || !self.write_to.has_files() {
            let room_bytes = if is_in_machine { AREA_BYTES } else { area_bytes };
            RecordLayout::new(self.writer, self.record_size.0, room_bytes)?;
        }
        // The target stays powered when a virtual machine dies, so the machine writes to its drive.
        let on =
            if is_in_machine && self.write_to == On::Target { On::Drive } else { self.write_to };
        if !self.vm_mount_options.is_empty() && !on.has_files() {
            return Err(format!(
                "vm_mount_options {}: write_to has no filesystem to mount",
                self.vm_mount_options
            ));
        }
        if self.is_plug() && self.peer.is_none() {
            return Err(NO_PEER.to_owned());
        }
        Ok(DurabilityPlan {
            method: self.method,
            peer: self.peer.clone().filter(|_| self.is_plug()),
            write_to: on,
            mounted: self.vm_mount_options.clone(),
            own: self.command_lines(),
            needs: self.needs.clone(),
            vm: self.vm_config(),
            pattern: self.writer,
            sync: self.sync,
            record_bytes: self.record_size.0,
            acknowledged_writes: self.acknowledged_writes,
            crash_points: if self.is_plug() { 1 } else { self.crash_points },
            assumed_drive: self.assumed_drive,
            assumed_atomic_bytes: self.atomic_write_unit.0,
        })
    }
}

impl WorkloadSpec for DurabilitySpec {
    fn words(&self) -> String {
        let on = match self.write_to {
            On::Target => String::new(),
            on => format!(" on {}", on.words(&self.vm_mount_options, self.writer.has_directory())),
        };
        let cuts = counted(self.crash_points, "crash point");
        let (writes, synced) = (self.writer.words(self.record_size), synced(self.sync));
        let cut_object = match self.method {
            Method::Replay => "the log",
            Method::Kill => "the virtual machine",
            Method::Plug => return format!("{writes}, {synced}; {PLUG}"),
        };
        if let Some(command) = self.command_lines() {
            return format!("{}{on}; {cuts} in {cut_object}", command.words());
        }
        let acknowledged = counted(u64::from(self.acknowledged_writes), "acknowledged write");
        format!("{writes}{on}, {synced}, {acknowledged}; {cuts} in {cut_object}")
    }

    /// Also adjusts the runtime to the changed factor.
    fn check_factor(&mut self, name: &str) -> Result<(), String> {
        // The quick runtime was set before this factor gave the trial another duration.
        if self.has_own_duration() && self.runtime == Some(QUICK) {
            self.make_quick(None);
            self.settle();
        } else if self.runtime == Some(USUAL_TIME) {
            self.settle();
        }
        match self.find_error() {
            Some((key, message)) if key == name => Err(message),
            _ => Ok(()),
        }
    }

    fn needs(&self) -> Needs {
        if self.is_in_machine() { Needs::Nothing } else { Needs::Area }
    }

    fn touches(&self) -> Touch {
        touch(self.is_in_machine())
    }

    fn complain(&self, path: &str, _: &InStudy<'_>, to: &mut dyn Complaints) {
        if let Some((key, message)) = self.find_error() {
            to.value(&format!("{path}/{key}"), message, None);
        }
    }

    fn move_to_lab(&mut self) -> bool {
        self.is_in_machine()
    }

    runtime!();

    /// Sets the default runtime if the user set none. In virtual machines, the runtime limits only a command.
    fn settle(&mut self) {
        let default = if self.is_plug() { USUAL_WAIT } else { USUAL_TIME };
        // A factor may have turned a trial with the other default into a plug test.
        if self.runtime.is_none() || self.is_plug() && self.runtime == Some(USUAL_TIME) {
            self.runtime = Some(default);
        }
    }

    fn make_quick(&mut self, _: Option<Bytes>) {
        // The method may determine the duration of a trial.
        let quick = self.runtime.map_or(QUICK, |time| time.min(QUICK));
        self.runtime = if self.has_own_duration() { None } else { Some(quick) };
        self.acknowledged_writes = self.acknowledged_writes.min(QUICK_PROMISES);
        self.crash_points = self.crash_points.min(match self.method {
            Method::Kill => QUICK_KILLS,
            Method::Replay if self.write_to.has_files() => QUICK_READS,
            Method::Replay => QUICK_CUTS,
            Method::Plug => 1,
        });
    }

    fn plan(&self, offer: &Offer<'_>) -> Result<(crate::WorkPlan, Option<String>), String> {
        if !self.is_in_machine() && !offer.area.written {
            return Err(ONLY_READ.to_owned());
        }
        if !self.is_in_machine() && offer.engine.name == Engine::Simulated {
            return Err("a simulated drive stores no data that could be lost".to_owned());
        }
        Ok((self.planned(offer.area.length)?.into(), None))
    }
}

const PLUG: &str = "one manual power cut of this machine per trial, when Assay asks for the cut";
const NO_PEER: &str = "no peer records acknowledged writes while this machine is off; start `assay peer --listen \
                       ADDRESS:7710` on another machine and use --set peer=ADDRESS:7710";

fn synced(sync: Sync) -> String {
    match sync {
        Sync::None => "never synced".to_owned(),
        Sync::Dsync => "each written with O_DSYNC".to_owned(),
        Sync::Fsync | Sync::Fdatasync => format!("synced by {}", sync.name()),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurabilityPlan {
    #[serde(rename = "writer")]
    pub pattern: Pattern,
    #[serde(rename = "synced_by")]
    pub sync: Sync,
    pub record_bytes: u64,
    pub acknowledged_writes: u32,
    pub crash_points: u64,
    pub assumed_drive: Drive,
    /// Assumed atomic write unit of the drive in bytes.
    pub assumed_atomic_bytes: u64,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub method: Method,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub write_to: On,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mounted: String,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub own: Option<CommandLines>,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub needs: Vec<String>,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub vm: VmConfig,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub peer: Option<String>,
}

impl DurabilityPlan {
    pub fn is_in_machine(&self) -> bool {
        self.write_to != On::Target
    }

    pub fn vm_needs(&self) -> VmNeeds {
        VmNeeds { needs: self.needs.clone(), config: self.vm.clone(), ..self.write_to.vm_needs() }
    }

    pub fn is_plug(&self) -> bool {
        self.method == Method::Plug
    }

    /// The course of a trial in an area (start and length).
    pub fn course(&self, area: [u64; 2], time_ns: u64, seed: u64, run: u64) -> DurabilityTrial {
        DurabilityTrial {
            pattern: self.pattern,
            sync: self.sync,
            record_bytes: self.record_bytes,
            promises: self.acknowledged_writes,
            time_ns,
            cuts: self.crash_points,
            drive: self.assumed_drive,
            atomic_bytes: self.assumed_atomic_bytes,
            area,
            seed,
            run,
        }
    }
}

impl PlannedWork for DurabilityPlan {
    fn words(&self) -> String {
        let bound = match self.sync {
            Sync::None if self.own.is_none() => {
                "no write is acknowledged, so no acknowledged write can be lost".to_owned()
            }
            _ => bound::describe(self.crash_points),
        };
        let drive = self.assumed_drive.assumed(self.assumed_atomic_bytes);
        let cuts = counted(self.crash_points, "crash point");
        if let Some(peer) = &self.peer {
            let size = Bytes(self.record_bytes);
            let how = format!("{}, {}", self.pattern.words(size), synced(self.sync));
            return format!(
                "{how}, through the page cache; {PLUG} (method plug), acknowledged writes recorded by {peer}; {bound}"
            );
        }
        let cut = match self.method {
            Method::Replay if !self.is_in_machine() => {
                format!("{cuts} in the log (method replay) on {drive}")
            }
            Method::Replay => format!("{cuts} in the log of the drive (method replay), {drive}"),
            Method::Kill | Method::Plug => {
                format!("{cuts} in the virtual machine (method kill) on {drive}")
            }
        };
        let on = match self.write_to {
            On::Target => String::new(),
            on => format!(" on {}", on.words(&self.mounted, self.pattern.has_directory())),
        };
        if let Some(command) = &self.own {
            return format!("{}{on}; {cut}; {bound}", command.words());
        }
        format!(
            "{}{on}, {}, through the page cache, at most {}; {cut}; {bound}",
            self.pattern.words(Bytes(self.record_bytes)),
            synced(self.sync),
            counted(u64::from(self.acknowledged_writes), "acknowledged write"),
        )
    }

    fn touches(&self) -> Touch {
        touch(self.is_in_machine())
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        if self.is_in_machine() {
            return run_in_machines(self, run);
        }
        if self.is_plug() {
            return run_plug(self, run);
        }
        let area = run.medium.area;
        let began_ns = run.system.monotonic_ns();
        // Differs between runs, so data of an earlier run is not mistaken for data of this run.
        let key = mix64(run.seed ^ run.system.wall_ns());
        let course = self.course([area.start, area.length], run.time_ns, run.seed, key);
        let mut medium = OneByOne::open(&run.medium.target(), self.record_bytes as u32)?;
        let detail = course.run(&mut medium, run.stop)?;
        Ok(run_result(detail, run.system.monotonic_ns().saturating_sub(began_ns)))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        // The speed of a virtual machine is not meaningful.
        if self.is_in_machine() || self.is_plug() { LOST.name } else { METRICS[0].name }
    }

    fn ends_by_time(&self) -> bool {
        false
    }

    fn most_bytes(&self, _: f64) -> f64 {
        let Some(writes_per_round) = self.pattern.most_writes() else { return f64::INFINITY };
        let writes = writes_per_round * u64::from(self.acknowledged_writes);
        writes as f64 * self.record_bytes as f64
    }

    fn expected_ns(&self, _: u64) -> Option<u64> {
        let promises = u64::from(self.acknowledged_writes);
        if self.is_in_machine() {
            let cut_ns = match self.method {
                Method::Kill => CUT_NS,
                Method::Replay if self.write_to.has_files() => READ_NS,
                Method::Replay | Method::Plug => CUT_PROMISE_NS.saturating_mul(promises),
            };
            return Some(FIRST_START_NS.saturating_add(self.crash_points.saturating_mul(cut_ns)));
        }
        if self.is_plug() {
            return Some(if self.acknowledged_writes > 0 { PULL_AND_JUDGE_NS } else { 0 });
        }
        let writing_ns = promises.saturating_mul(PROMISE_NS).min(USUAL_TIME.0);
        let cutting_ns = self.crash_points.saturating_mul(promises).saturating_mul(CUT_PROMISE_NS);
        Some(writing_ns.saturating_add(cutting_ns))
    }

    fn half(&self) -> Option<crate::WorkPlan> {
        // A warm-up must not ask the user to cut the power.
        let promises = if self.is_plug() { 0 } else { self.acknowledged_writes };
        Some(Self { acknowledged_writes: promises, ..self.clone() }.into())
    }

    /// A command that logs the requests to a device or writes until the power loss, and the remaining steps.
    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand {
        if let Some(peer) = &self.peer {
            let file = format!("{}/FILE", how.path);
            let words = ["diskchecker.pl", "-s", peer, "create", &file, "64"];
            return ManualCommand::new(&words, &[PLUG_BY_HAND]);
        }
        let table = format!("0 SECTORS log-writes {} LOG", how.path);
        ManualCommand::new(&["dmsetup", "create", how.name, "--table", &table], &[BY_HAND])
    }
}

#[cfg(test)]
mod tests;
