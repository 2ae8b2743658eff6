//! Progress of md resyncs during a trial.

use std::collections::BTreeMap;
use std::path::Path;

use crate::system::System;
use crate::system::site::Layer;
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Moment, Presentation, Probe, Scene, Unit, field, not_recorded};

pub static PROBE: Entry = Entry {
    about: About {
        name: "raid-resync",
        summary: "the resync rate of an array",
        text: "If the study names the probe, Assay reads the state of the target's arrays from /proc/mdstat \
               immediately before and after the run. The metrics are absent if the resync ended during the run. Assay \
               does not count resync traffic as foreign I/O (rule `foreign-io`) or as amplification. Cost: one small \
               file read before and after the run. Needs no privileges. Works only with md arrays.",
    },
    fields: &[
        field("*.action", Unit::Word, "sync action, such as `resync`, `recovery` or `check`"),
        field("*.before_bytes", Unit::Bytes, "synced bytes of each member before the run"),
        field("*.after_bytes", Unit::Bytes, "synced bytes of each member after the run"),
        field("*.of_bytes", Unit::Bytes, "total bytes of each member (raid10: of the array)"),
        field("*.span_ns", Unit::Nanoseconds, "time between the two readings"),
    ],
    rules: &["foreign-io"],
    presentation: Presentation::Tailored,
    here: None,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub action: String,
    pub before_bytes: u64,
    pub after_bytes: u64,
    pub of_bytes: u64,
    pub span_ns: u64,
}

impl Progress {
    pub fn bytes_per_s(&self) -> f64 {
        self.after_bytes.saturating_sub(self.before_bytes) as f64 / (self.span_ns as f64 / 1e9)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ArrayReading {
    action: String,
    done: u64,
    of: u64,
    at_ns: u64,
}

#[derive(Default)]
pub struct Arrays {
    before: Option<BTreeMap<String, Option<ArrayReading>>>,
    after: BTreeMap<String, Option<ArrayReading>>,
}

impl Probe for Arrays {
    type Observed = BTreeMap<String, Progress>;
    const MOMENTS: &'static [Moment] = &[Moment::BeforeRun, Moment::AfterRun];

    fn look(&mut self, moment: Moment, scene: &Scene<'_>) {
        if !scene.asked.names(&PROBE) {
            return;
        }
        let read = |array: &Layer| (array.name.clone(), read_progress(scene.system, &array.name));
        let readings = scene.site.arrays().map(read).collect();
        if moment.is_before() { self.before = Some(readings) } else { self.after = readings }
    }

    fn observed(&mut self, _scene: &Scene<'_>) -> Presence<Self::Observed> {
        let after = std::mem::take(&mut self.after);
        let before = self.before.take().unwrap_or_default();
        // Idle arrays have no reading, and are not observed.
        let syncing: Vec<(String, ArrayReading)> =
            before.into_iter().filter_map(|(name, reading)| Some((name, reading?))).collect();
        if syncing.is_empty() {
            return not_recorded();
        }
        let ended = || Presence::absent("the resync ended during the trial");
        let mut found = BTreeMap::new();
        for (name, first) in syncing {
            let Some(last) = after.get(&name).cloned().flatten() else { return ended() };
            if last.action != first.action || last.done < first.done {
                return ended();
            }
            let progress = Progress {
                action: first.action,
                before_bytes: first.done,
                after_bytes: last.done,
                of_bytes: last.of,
                span_ns: last.at_ns.saturating_sub(first.at_ns),
            };
            found.insert(name, progress);
        }
        Presence::Present(found)
    }
}

const MDSTAT: &str = "/proc/mdstat";

/// Progress of an array, `None` at rest. Not md/sync_completed, which moves in steps of a sixteenth.
fn read_progress(system: &dyn System, name: &str) -> Option<ArrayReading> {
    let text = system.read_text(Path::new(MDSTAT)).ok()?;
    let at_ns = system.monotonic_ns();
    let (action, done, of) = parse_mdstat(&text, name)?;
    Some(ArrayReading { action: action.to_owned(), done: done << 10, of: of << 10, at_ns })
}

/// Parses action, finished and total KiB: `[=>...]  resync = 12.6% (37664/292945) finish=1.0min`, below the line of the
/// array. A waiting array (`resync=DELAYED`) has no numbers.
fn parse_mdstat<'t>(text: &'t str, name: &str) -> Option<(&'t str, u64, u64)> {
    let is_own = |line: &&str| line.split_whitespace().next() == Some(name);
    let mut lines = text.lines().skip_while(|line| !is_own(line)).skip(1);
    let line = lines
        .by_ref()
        .take_while(|line| line.starts_with(' '))
        .find(|line| line.contains(" = "))?;
    let (before, after) = line.split_once(" = ")?;
    let action = before.split_whitespace().last()?;
    let (done, of) = after.split_once('(')?.1.split_once(')')?.0.split_once('/')?;
    let (done, of) = (done.parse::<u64>().ok()?, of.parse::<u64>().ok()?);
    // A device cannot have more KiB (2^63 bytes).
    (of > 0 && done <= of && of < 1 << 53).then_some((action, done, of))
}

#[cfg(test)]
mod tests {
    use crate::system::site::{MD_MAJOR, Site};
    use crate::system::{DeviceNumber, Fake};

    use super::*;
    use crate::probes::ProbeRequest;

    fn site() -> Site {
        let layer = |name: &str, major| Layer {
            name: name.to_owned(),
            number: DeviceNumber { major, minor: 127 },
            kind: "raid5".to_owned(),
            below: vec!["sda".to_owned()],
            size_bytes: 0,
        };
        Site { layers: vec![layer("md127", MD_MAJOR), layer("sda", 8)], ..Site::simulated("array") }
    }

    /// The line of an array that does something, as the kernel writes it.
    fn mdstat(does: &str) -> String {
        format!(
            "Personalities : [raid1] [raid6] [raid5] [raid4] \nmd1 : active raid1 vdg[1] vdf[0]\n      98304 \
             blocks super 1.2 [2/2] [UU]\n      [>....................]  check =  4.1% (4096/98304) finish=9.9min \
             speed=100K/sec\n      \nmd127 : active raid5 vde[4] vdd[2] vdc[1] vdb[0]\n      387072 blocks super \
             1.2 level 5, 512k chunk, algorithm 2 [4/3] [UUU_]\n      {does}\n      \nunused devices: <none>\n"
        )
    }

    fn observed(asked: &[&str], states: [&str; 2]) -> Presence<BTreeMap<String, Progress>> {
        let (fake, site) = (Fake::new(), site());
        let probes: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
        let asked = ProbeRequest { probes: &probes, meter: None };
        let scene = Scene { system: &fake, site: &site, file: None, asked };
        let mut probe = Arrays::default();
        for (moment, does) in [Moment::BeforeRun, Moment::AfterRun].into_iter().zip(states) {
            fake.put(MDSTAT, mdstat(does));
            probe.look(moment, &scene);
        }
        probe.observed(&scene)
    }

    #[test]
    fn what_was_done_in_between_is_told_where_it_went_on_all_the_time() {
        let going = [
            "[==>..................]  recovery = 13.2% (1000/8000) finish=0.4min speed=4288K/sec",
            "[====>................]  recovery = 37.5% (3000/8000) finish=0.2min speed=4288K/sec",
        ];
        let found = observed(&["raid-resync"], going);
        let own = &found.value().unwrap()["md127"];
        let told = (own.action.as_str(), own.before_bytes, own.after_bytes, own.of_bytes);
        assert_eq!(told, ("recovery", 1000 << 10, 3000 << 10, 8000 << 10));
        let rated = Progress { span_ns: 500_000_000, ..own.clone() };
        assert_eq!(rated.bytes_per_s(), 4_096_000.0);
        assert_eq!(observed(&[], going), not_recorded(), "nobody asked");
        for still in ["", "\tresync=DELAYED", "[>...]  resync = 99.9% (9/8)"] {
            assert_eq!(observed(&["raid-resync"], [still, going[1]]), not_recorded(), "{still:?}");
        }
        for over in ["", "[>...]  check =  2.0% (3500/8000)", "[>...]  recovery =  0.1% (9/8000)"] {
            let found = observed(&["raid-resync"], [going[0], over]);
            let why = "the resync ended during the trial";
            assert_eq!(found.reason(), Some(why), "{over:?}");
        }
    }
}
