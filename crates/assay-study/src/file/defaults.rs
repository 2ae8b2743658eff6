//! Fills in the defaults of a study before planning; the stored study is complete.

use assay_core::quantity::{Bytes, Time};
use assay_machine::factors::layers;
use assay_machine::probes::{ProbeRequest, energy};

use super::{DEFAULT_MARGIN, Study, Target};

const LONGEST_QUICK: Time = Time(1_000_000_000);
const QUICK_AREA: Bytes = Bytes(256 << 20);
/// Default area with many cells, because each file system of each replicate fills it.
const SMALL_AREA: Bytes = Bytes(64 << 20);
const MANY_CELLS: usize = 40;
const LAB: Bytes = Bytes(1 << 30);

const IDLE: Time = Time(30_000_000_000);
/// The same before a quick look.
const QUICK_IDLE: Time = Time(10_000_000_000);

impl Study {
    /// The study with everything set that `assay run` needs to give verdicts.
    #[must_use]
    pub fn settled(mut self) -> Self {
        self.margin = self.margin.or(Some(DEFAULT_MARGIN));
        if self.budget.is_none() {
            for workload in &mut self.workload {
                workload.work.settle();
            }
        }
        self
    }

    /// A quick check: all levels, short trials, small areas; `plan::allocation` divides it.
    #[must_use]
    pub fn quick(mut self) -> Self {
        let has_many_cells = self.cells() > MANY_CELLS;
        let most_area = if has_many_cells { SMALL_AREA } else { QUICK_AREA };
        let area = self.area.size.map(|size| size.min(most_area));
        self.area.size = area;
        for workload in &mut self.workload {
            workload.work.make_quick(area);
        }
        if let Some(prime) = &mut self.precondition {
            prime.passes = 1;
        }
        self.repeat_disturbed &= !has_many_cells;
        self
    }

    /// Time to rest before the first trial if the study measures energy; shorter with short trials.
    pub fn idle_ns(&self) -> Option<u64> {
        let request = ProbeRequest { probes: &self.probes, meter: self.power_meter.as_deref() };
        if !energy::is_asked(request) {
            return None;
        }
        let is_short = |time: Option<Time>| time.is_some_and(|time| time <= LONGEST_QUICK);
        let is_quick = self.workload.iter().all(|workload| is_short(workload.work.time()));
        Some(if is_quick { QUICK_IDLE.0 } else { IDLE.0 })
    }

    pub fn cells(&self) -> usize {
        let grid = self.factors.values().map(Vec::len).product::<usize>();
        let arms = if self.configurations.is_empty() { grid } else { self.configurations.len() };
        arms * self.workload.len()
    }

    /// Returns the study with a new loop device as target, large enough for a file system with the area.
    #[must_use]
    pub fn in_lab(mut self) -> Self {
        let mut has_own_lab = false;
        for workload in &mut self.workload {
            has_own_lab |= workload.work.move_to_lab();
        }
        // Workloads with network namespaces need no loop device.
        if !has_own_lab && !matches!(self.target, Some(Target::Loop(_))) {
            self.target = Some(Target::Loop(Bytes(LAB.0.max(self.bytes_for_layers()))));
        }
        self
    }

    /// Bytes of device that the layers of the study need to contain the area; 0 without layers.
    fn bytes_for_layers(&self) -> u64 {
        let mut layers = layers::chosen(self.factors.keys()).rev().peekable();
        let Some(area) = self.area.size else { return 0 };
        if layers.peek().is_none() {
            return 0;
        }
        // From the uppermost layer down.
        let bytes = layers.fold(area.0, |bytes, layer| layer.ample(bytes));
        let share_behind_offset = match self.area.offset {
            Some(super::Start::Share(share)) => 1.0 - share.fraction(),
            _ => 1.0,
        };
        ((bytes as f64 / share_behind_offset) as u64).next_multiple_of(1 << 20)
    }
}

#[cfg(test)]
mod tests {
    use assay_workloads::io;

    use super::*;
    use crate::file::presets;

    fn preset(name: &str) -> Study {
        presets::find(name).unwrap().unwrap()
    }

    #[test]
    fn a_quick_look_keeps_every_level() {
        for (name, study) in presets::all() {
            let study = study.unwrap();
            let (factors, cells) = (study.factors.clone(), study.cells());
            let quick = study.quick();
            assert_eq!(quick.factors, factors, "{name}");
            assert!(!quick.repeat_disturbed || cells <= MANY_CELLS, "{name}");
        }
    }

    #[test]
    fn a_pass_over_the_area_stays_one_pass() {
        let quick = preset("read-ahead").quick();
        let stream = io::IoSpec::of(&quick.workload[1].work).unwrap();
        let bytes = stream.block_size.largest().0 * stream.operations.unwrap();
        assert!(bytes <= quick.area.size.unwrap().0, "{bytes}");
    }

    #[test]
    fn a_laboratory_has_room_for_file_system_and_area() {
        let room = |study: Study| match study.in_lab().target {
            Some(Target::Loop(size)) => size.0,
            other => panic!("{other:?}"),
        };
        assert!(room(preset("flash")) >= 2 * (600 << 20));
        for name in ["filesystems", "schedulers", "large-files", "surface", "read-ahead", "check"] {
            assert_eq!(room(preset(name)), LAB.0, "{name}");
        }
    }
}
