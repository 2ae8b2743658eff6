//! How fast arrays of md bring their members in line while a trial goes on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::look::{Entry, Moment, Presentation, Probe, Scene, Unit, field, not_recorded};
use crate::catalogue::About;
use crate::presence::Presence;
use crate::system::site::Layer;
use crate::system::{System, sysfs};

/// What it says of itself.
pub static PROBE: Entry = Entry {
    about: About {
        name: "array-sync",
        summary: "how fast an array brings its members in line meanwhile",
        text: "Where the study names it: reads md/sync_action and md/sync_completed of the target's \
               arrays right before and right after the run. A metric is there where the \
               synchronisation went on all the time; one that ended in between has no rate. What the \
               members move for it is then not others' traffic (rule `foreign`), and no \
               amplification of the workload's. Costs two small files before and after. Needs no \
               rights, and an array of the md driver.",
    },
    fields: &[
        field("*.action", Unit::Word, "`resync`, `recover`, `check` or the like"),
        field("*.before_bytes", Unit::Bytes, "of each member that were in line before"),
        field("*.after_bytes", Unit::Bytes, "of each member that were in line after"),
        field("*.of_bytes", Unit::Bytes, "of each member in all (of raid10: of the array)"),
        field("*.span_ns", Unit::Nanoseconds, "between the two readings"),
    ],
    metrics: &["sync_bytes_per_s", "sync_whole_s"],
    rules: &["foreign"],
    presentation: Presentation::Tailored,
    here: None,
};

/// How far an array came during a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// What md does: `resync`, `recover`, `check`, `repair`, `reshape`.
    pub action: String,
    /// Bytes that were in line before the trial.
    pub before_bytes: u64,
    /// Bytes that were in line after it.
    pub after_bytes: u64,
    /// Bytes in all.
    pub of_bytes: u64,
    /// Nanoseconds in between.
    pub span_ns: u64,
}

impl Progress {
    /// Bytes of each member per second.
    pub fn bytes_per_s(&self) -> f64 {
        let done = self.after_bytes.saturating_sub(self.before_bytes);
        done as f64 / (self.span_ns as f64 / 1e9)
    }
}

/// What an array tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    action: String,
    done: u64,
    of: u64,
    at_ns: u64,
}

/// The target's arrays.
#[derive(Default)]
pub struct Arrays {
    before: Option<BTreeMap<String, Option<Reading>>>,
    after: BTreeMap<String, Option<Reading>>,
}

impl Probe for Arrays {
    type Observed = BTreeMap<String, Progress>;
    const MOMENTS: &'static [Moment] = &[Moment::BeforeRun, Moment::AfterRun];

    fn look(&mut self, moment: Moment, scene: &Scene<'_>) {
        if !scene.asked.names(&PROBE) {
            return;
        }
        let read = |array: &Layer| (array.name.clone(), read(scene.system, &array.name));
        let read = scene.site.arrays().map(read).collect();
        if moment.is_before() { self.before = Some(read) } else { self.after = read }
    }

    fn observed(&mut self, _scene: &Scene<'_>) -> Presence<Self::Observed> {
        let after = std::mem::take(&mut self.after);
        let before = self.before.take().unwrap_or_default();
        // An array that stood still is no observation: nobody asked it to move.
        let moving: Vec<(String, Reading)> =
            before.into_iter().filter_map(|(name, found)| Some((name, found?))).collect();
        if moving.is_empty() {
            return not_recorded();
        }
        let ended = || Presence::absent("the synchronisation ended within the trial");
        let mut found = BTreeMap::new();
        for (name, first) in moving {
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

/// How far an array is; nothing where it stands still or is none that has anything to bring in line.
fn read(system: &dyn System, name: &str) -> Option<Reading> {
    let place = sysfs::block(name).join("md");
    let action = system.read_text(&place.join("sync_action")).ok()?;
    let completed = system.read_text(&place.join("sync_completed")).ok()?;
    let at_ns = system.monotonic_ns();
    let (done, of) = sectors(&completed)?;
    Some(Reading { action: action.trim().to_owned(), done: done * 512, of: of * 512, at_ns })
}

/// `1024 / 4096`; `none` and `delayed` are nothing.
fn sectors(text: &str) -> Option<(u64, u64)> {
    let (done, of) = text.trim().split_once(" / ")?;
    let (done, of) = (done.parse::<u64>().ok()?, of.parse::<u64>().ok()?);
    // More than there can be is no number of sectors.
    (of > 0 && done <= of && of < 1 << 54).then_some((done, of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::Asked;
    use crate::system::site::{MD_MAJOR, Site};
    use crate::system::{DeviceNumber, Fake};

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

    fn observed(asked: &[&str], states: [(&str, &str); 2]) -> Presence<BTreeMap<String, Progress>> {
        let (fake, site) = (Fake::new(), site());
        let probes: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
        let asked = Asked { probes: &probes, meter: None };
        let scene = Scene { system: &fake, site: &site, file: None, asked };
        let mut probe = Arrays::default();
        for (moment, (action, completed)) in
            [Moment::BeforeRun, Moment::AfterRun].into_iter().zip(states)
        {
            fake.put("/sys/class/block/md127/md/sync_action", format!("{action}\n"));
            fake.put("/sys/class/block/md127/md/sync_completed", format!("{completed}\n"));
            probe.look(moment, &scene);
        }
        probe.observed(&scene)
    }

    #[test]
    fn what_was_done_in_between_is_told_where_it_went_on_all_the_time() {
        let going = [("resync", "1000 / 8000"), ("resync", "3000 / 8000")];
        let found = observed(&["array-sync"], going);
        let own = &found.value().unwrap()["md127"];
        let told = (own.action.as_str(), own.before_bytes, own.after_bytes, own.of_bytes);
        assert_eq!(told, ("resync", 512_000, 1_536_000, 4_096_000));
        let rated = Progress { span_ns: 500_000_000, ..own.clone() };
        assert_eq!(rated.bytes_per_s(), 2_048_000.0);
        assert_eq!(observed(&[], going), not_recorded(), "nobody asked");
        for still in [("idle", "none"), ("resync", "delayed"), ("resync", "9 / 8")] {
            assert_eq!(observed(&["array-sync"], [still, going[1]]), not_recorded(), "{still:?}");
        }
        for over in [("idle", "none"), ("check", "9 / 8000"), ("resync", "9 / 8000")] {
            let found = observed(&["array-sync"], [going[0], over]);
            let why = "the synchronisation ended within the trial";
            assert_eq!(found.reason(), Some(why), "{over:?}");
        }
    }
}
