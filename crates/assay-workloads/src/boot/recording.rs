//! Boots as recorded work: how the command line asks for them, and what the journal's boots are to the plan.

use std::path::Path;

use assay_core::{failure::Outcome, quantity::Metric};
use assay_machine::system::System;

use super::labels::{self, Labels};
use super::source;
use super::{Boot, BootGrouping, BootSpec, USERSPACE, WHOLE, measured};
use crate::WorkPlan;
use crate::check_option::OptionExample;
use crate::recorded::{Record, RecordLabels, RecordList, RecordSource, RecordingNames};

pub(super) static BOOTS: RecordingNames = RecordingNames {
    one: "boot",
    many: "boots",
    told_by: "the systemd journal",
    cut_off: "the boot ended (crash, power loss or reset) before startup finished; the journal has no record of its \
              phases",
    example: OptionExample { line: "assay run boot", does: "analyze boots in the systemd journal" },
    labels: RecordLabels {
        give: labels::label_boots,
        about: "labels for boots",
        text: "Boots can have labels, too, for assay run boot --set group_by=label: boot is the current boot, boot:-1 the \
               previous one, boot:-9..-4 several boots. An empty label removes the label.",
        ids: "or boot, boot:-1, boot:-9..-4, boot:ID",
        examples: &["assay note boot:-9..-4 \"old disk\"", "assay note boot \"new disk\""],
    },
};

impl BootSpec {
    pub fn recording(&self) -> &'static RecordingNames {
        &BOOTS
    }

    /// Returns the factor whose levels are the groups of boots.
    pub fn factor(&self) -> &'static str {
        self.group_by.name()
    }

    /// Returns how many of the latest boots a study reads.
    pub fn newest(&self) -> usize {
        usize::try_from(self.boots).unwrap_or(usize::MAX)
    }

    pub fn source(&self) -> RecordSource {
        self.journal.as_ref().map_or(RecordSource::Own, |path| RecordSource::At(path.into()))
    }

    /// Reads the latest `most` boots, with the labels stored next to results.
    pub fn read(
        &self,
        system: &dyn System,
        most: usize,
        results: Option<&Path>,
    ) -> Outcome<RecordList> {
        let mut found = source::read(system, &self.source(), most, self.until_unit.as_deref())?;
        if let Some(results) = results {
            Labels::read(system, results)?.apply(&mut found.boots);
        }
        let records = found.boots.into_iter().map(|boot| record(self.group_by, boot)).collect();
        Ok(RecordList { records, older: found.older, faults: found.faults, is_own: found.is_own })
    }

    pub fn running(&self, system: &dyn System, results: &Path) -> Outcome<Record> {
        let mut boot = source::current_boot(system, self.until_unit.as_deref())?;
        Labels::read(system, results)?.apply(std::slice::from_mut(&mut boot));
        Ok(record(self.group_by, boot))
    }

    /// Returns the metric to compare by default: from the kernel on if any boot has it; containers have only userspace.
    pub fn primary(&self, records: &[Record]) -> &'static str {
        let finished = || records.iter().filter_map(|record| record.measured.as_ref().ok());
        let any = |metric: Metric| finished().any(|record| record.values.contains_key(metric.name));
        if !any(WHOLE) && any(USERSPACE) { USERSPACE.name } else { WHOLE.name }
    }

    pub fn planned(&self) -> WorkPlan {
        super::BootPlan { until: self.until_unit.clone() }.into()
    }
}

fn record(by: BootGrouping, boot: Boot) -> Record {
    Record {
        id: boot.id.clone(),
        group: by.group(&boot),
        began_wall_us: boot.began_wall_us,
        measured: measured(boot),
    }
}

#[cfg(test)]
mod tests {
    use assay_machine::system::Fake;

    use super::*;

    const KERNELS: &str = include_str!("../../tests/fixtures/boots/clock-jump.json");
    const CONTAINER: &str = include_str!("../../tests/fixtures/boots/container.json");
    const RESULTS: &str = "/home/a/assay/results";

    fn read(asked: &BootSpec, text: &str, results: Option<&Path>) -> (RecordList, Fake) {
        let fake = Fake::new();
        fake.put("/boots.json", text);
        let asked = BootSpec { journal: Some("/boots.json".to_owned()), ..asked.clone() };
        (asked.read(&fake, asked.newest(), results).unwrap(), fake)
    }

    #[test]
    fn boots_are_records_with_their_group_and_what_they_measured() {
        let asked = BootSpec { group_by: BootGrouping::RootDevice, ..BootSpec::default() };
        let (found, _) = read(&asked, KERNELS, None);
        let groups: Vec<&str> = found.records.iter().map(|own| own.group.as_str()).collect();
        assert_eq!(groups, ["/dev/nvme0n1"; 3]);
        assert!(found.records.iter().all(|own| own.measured.is_ok() && own.id.len() == 32));
        assert_eq!((found.older, found.faults, found.is_own), (0, 0, false));
        let (container, _) = read(&asked, CONTAINER, None);
        let failed: Vec<bool> = container.records.iter().map(|own| own.measured.is_err()).collect();
        assert_eq!(failed, [false, true, false]);
        let asked = BootSpec { boots: 1, ..asked };
        let (newest, _) = read(&asked, KERNELS, None);
        assert_eq!((&newest.records[..], newest.older), (&found.records[2..], 2));
    }

    #[test]
    fn they_are_compared_by_userspace_where_nothing_else_is_told() {
        let asked = BootSpec::default();
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
        let asked = BootSpec {
            group_by: BootGrouping::Label,
            journal: Some("/boots.json".to_owned()),
            ..BootSpec::default()
        };
        let (found, fake) = read(&asked, KERNELS, None);
        let results = Path::new(RESULTS);
        let ids = [found.records[1].id.clone()];
        Labels::default().set(&fake, results, &ids, "new disk").unwrap();
        let labelled = asked.read(&fake, 9, Some(results)).unwrap();
        let groups: Vec<&str> = labelled.records.iter().map(|own| own.group.as_str()).collect();
        assert_eq!(groups, ["no label", "new disk", "no label"]);
        assert!(found.records.iter().all(|own| own.group == "no label"));
    }
}
