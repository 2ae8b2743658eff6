//! Boots as recorded work: how the command line asks for them, and what the journal's boots are to the plan.

use std::path::Path;

use assay_base::failure::Outcome;
use assay_base::quantity::Metric;
use assay_system::system::System;

use super::labels::{self, Labels};
use super::source;
use super::{Asked, Boot, By, MOST_BOOTS, USERSPACE, WHOLE, measured};
use crate::work::Planned;
use crate::work::check_option::Example;
use crate::work::recorded::{
    Record, RecordLabels, RecordOption, RecordOptions, Recorded, Recording, Records, Source,
};

/// What a boot is called.
pub(super) static BOOTS: Recording = Recording {
    one: "boot",
    many: "boots",
    told_by: "the systemd journal",
    cut_off: "it was cut off (crash, power or reset) before its start-up had finished: the journal \
              kept nothing of it",
    until: "For boots: a unit, whose start is timed as well.",
    example: Example { line: "assay run boot", does: "the boots in systemd's journal" },
    options: RecordOptions {
        heading: "Boots",
        by: RecordOption { name: "by", help: "Group boots by kernel, root_device or label" },
        factors: By::words,
        count: RecordOption { name: "boots", help: "Read the latest N boots" },
        most: MOST_BOOTS as u32,
        source: RecordOption {
            name: "journal",
            help: "Read this journal instead of the machine's: a file of journalctl -o export or -o json, or a \
                   directory with a journal",
        },
        restarts: RecordOption {
            name: "reboots",
            help: "Reboot N times and record each boot (root); shows the plan without --yes",
        },
        sure: RecordOption { name: "yes", help: "Confirm --reboots" },
    },
    labels: RecordLabels {
        give: labels::give,
        about: "labels for boots",
        text: "Boots are not results but can have labels, for assay run boot --by label: boot is the running one, \
               boot:-1 the one before it, boot:-9..-4 several. An empty label removes the label.",
        ids: "or boot, boot:-1, boot:-9..-4, boot:ID",
        examples: &["assay note boot:-9..-4 \"old disk\"", "assay note boot \"new disk\""],
    },
};

impl Records for Asked {
    fn recording(&self) -> &'static Recording {
        &BOOTS
    }

    fn factor(&self) -> &'static str {
        self.group_by.name()
    }

    fn group_by(&mut self, factor: &str) {
        self.group_by = By::find(factor).unwrap_or(self.group_by);
    }

    fn newest(&self) -> usize {
        usize::try_from(self.boots).unwrap_or(usize::MAX)
    }

    fn take_newest(&mut self, count: u32) {
        self.boots = count;
    }

    fn time_until(&mut self, what: &str) {
        self.until_unit = Some(what.to_owned());
    }

    fn read(
        &self,
        system: &dyn System,
        source: &Source,
        most: usize,
        results: Option<&Path>,
    ) -> Outcome<Recorded> {
        let mut told = source::read(system, source, most, self.until_unit.as_deref())?;
        if let Some(results) = results {
            Labels::read(system, results)?.apply(&mut told.boots);
        }
        let records = told.boots.into_iter().map(|boot| record(self.group_by, boot)).collect();
        Ok(Recorded { records, older: told.older, faults: told.faults, is_own: told.is_own })
    }

    fn running(&self, system: &dyn System, results: &Path) -> Outcome<Record> {
        let mut boot = source::this(system, self.until_unit.as_deref())?;
        Labels::read(system, results)?.apply(std::slice::from_mut(&mut boot));
        Ok(record(self.group_by, boot))
    }

    /// From the kernel on where any of them tells it; containers have userspace alone.
    fn primary(&self, records: &[Record]) -> &'static str {
        let finished = || records.iter().filter_map(|own| own.measured.as_ref().ok());
        let any = |metric: Metric| finished().any(|own| own.values.contains_key(metric.name));
        if !any(WHOLE) && any(USERSPACE) { USERSPACE.name } else { WHOLE.name }
    }

    fn planned(&self) -> Planned {
        super::Planned { until: self.until_unit.clone() }.into()
    }
}

fn record(by: By, boot: Boot) -> Record {
    Record {
        id: boot.id.clone(),
        group: by.group(&boot),
        began_wall_us: boot.began_wall_us,
        measured: measured(boot),
    }
}

#[cfg(test)]
mod tests {
    use assay_system::system::Fake;

    use super::*;
    use crate::work::Kind as _;

    const KERNELS: &str = include_str!("../../../tests/fixtures/boots/clock-jump.json");
    const CONTAINER: &str = include_str!("../../../tests/fixtures/boots/container.json");
    const RESULTS: &str = "/home/a/assay/results";

    fn read(asked: &Asked, text: &str, results: Option<&Path>) -> (Recorded, Fake) {
        let fake = Fake::new();
        fake.put("/boots.json", text);
        let source = Source::At("/boots.json".into());
        (asked.read(&fake, &source, asked.newest(), results).unwrap(), fake)
    }

    #[test]
    fn boots_are_records_with_their_group_and_what_they_measured() {
        let mut asked = Asked::sample();
        asked.group_by("root_device");
        let (found, _) = read(&asked, KERNELS, None);
        let groups: Vec<&str> = found.records.iter().map(|own| own.group.as_str()).collect();
        assert_eq!(groups, ["/dev/nvme0n1"; 3]);
        assert!(found.records.iter().all(|own| own.measured.is_ok() && own.id.len() == 32));
        assert_eq!((found.older, found.faults, found.is_own), (0, 0, false));
        let (container, _) = read(&asked, CONTAINER, None);
        let failed: Vec<bool> = container.records.iter().map(|own| own.measured.is_err()).collect();
        assert_eq!(failed, [false, true, false]);
        asked.take_newest(1);
        let (newest, _) = read(&asked, KERNELS, None);
        assert_eq!((&newest.records[..], newest.older), (&found.records[2..], 2));
    }

    #[test]
    fn they_are_compared_by_userspace_where_nothing_else_is_told() {
        let asked = Asked::sample();
        let (kernels, containers) =
            (read(&asked, KERNELS, None).0, read(&asked, CONTAINER, None).0);
        assert_eq!(asked.primary(&kernels.records), WHOLE.name);
        assert_eq!(asked.primary(&containers.records), USERSPACE.name);
        assert_eq!(asked.primary(&containers.records[1..2]), WHOLE.name, "none of them finished");
        let both = [containers.records, kernels.records].concat();
        assert_eq!(asked.primary(&both), WHOLE.name);
    }

    #[test]
    fn labels_that_are_kept_beside_results_are_groups() {
        let mut asked = Asked::sample();
        asked.group_by("label");
        let (found, fake) = read(&asked, KERNELS, None);
        let results = Path::new(RESULTS);
        let ids = [found.records[1].id.clone()];
        Labels::default().set(&fake, results, &ids, "new disk").unwrap();
        let source = Source::At("/boots.json".into());
        let labelled = asked.read(&fake, &source, 9, Some(results)).unwrap();
        let groups: Vec<&str> = labelled.records.iter().map(|own| own.group.as_str()).collect();
        assert_eq!(groups, ["no label", "new disk", "no label"]);
        assert!(found.records.iter().all(|own| own.group == "no label"));
    }
}
