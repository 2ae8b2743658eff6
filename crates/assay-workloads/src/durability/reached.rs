//! State of the file system after power losses: whether it mounts, and the result of its check.

use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use crate::durability::below::On;
use crate::durability::command::last_words;

/// State of the file system over all crash points. It is not a lost acknowledged write in itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reached {
    /// Crash points after which the file system did not mount, or the file was missing.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub unreachable: u64,
    /// The reason for the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable_reason: Option<String>,
    /// Crash points after which its check ran, after mounting and unmounting.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub inspected: u64,
    /// Crash points after which the check found an error.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub faulty: u64,
    /// The output of the first such check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl Reached {
    pub fn count_unreachable(&mut self, why: &str) {
        self.unreachable += 1;
        if self.unreachable_reason.is_none() {
            self.unreachable_reason = last_words(why);
        }
    }

    /// Counts a check of the file system, with its complaint, if any.
    pub fn count_check(&mut self, fault: Option<&str>) {
        self.inspected += 1;
        self.faulty += u64::from(fault.is_some());
        if self.fault.is_none() {
            self.fault = fault.and_then(last_words);
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.unreachable += other.unreachable;
        self.inspected += other.inspected;
        self.faulty += other.faulty;
        let keep_first = |first: &mut Option<String>, more: &Option<String>| {
            if first.is_none() {
                first.clone_from(more);
            }
        };
        keep_first(&mut self.unreachable_reason, &other.unreachable_reason);
        keep_first(&mut self.fault, &other.fault);
    }

    /// Describes the state in sentences; `None` if there is nothing to report.
    pub fn words(&self, on: On) -> Option<String> {
        let quoted = |message: &Option<String>| {
            message.as_ref().map_or_else(String::new, |message| format!(": \"{message}\""))
        };
        let mut sentences = Vec::new();
        if self.unreachable > 0 {
            let because = quoted(&self.unreachable_reason);
            sentences.push(format!(
                "The filesystem was unreachable after {}{because}.",
                cuts(self.unreachable)
            ));
        }
        if let Some(check) = on.fsck_command(None).filter(|_| self.inspected > 0) {
            let (check, crashes) = (check.join(" "), cuts(self.inspected));
            sentences.push(match self.faulty {
                0 => format!("The filesystem check ({check}) found no error after {crashes}."),
                faulty => format!(
                    "The filesystem check ({check}) found an error after {} of {crashes}{}.",
                    show::count(faulty),
                    quoted(&self.fault)
                ),
            });
        }
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }
}

fn cuts(count: u64) -> String {
    format!("{} {}", show::count(count), if count == 1 { "crash" } else { "crashes" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_first_is_kept_and_all_is_counted() {
        let (mut own, mut other) = (Reached::default(), Reached::default());
        assert_eq!(own.words(On::Ext4), None, "nothing was looked at");
        own.count_check(None);
        own.count_check(Some("  Inode 12 has\n a fault "));
        other.count_check(Some("later"));
        other.count_unreachable("mount: wrong fs type");
        other.count_unreachable("mount: another");
        own.add(&other);
        let (because, fault) = (own.unreachable_reason.as_deref(), own.fault.as_deref());
        assert_eq!((own.unreachable, because), (2, Some("mount: wrong fs type")));
        assert_eq!((own.inspected, own.faulty, fault), (3, 2, Some("Inode 12 has a fault")));
        assert_eq!(
            own.words(On::Ext4).as_deref(),
            Some(
                "The filesystem was unreachable after 2 crashes: \"mount: wrong fs type\". The filesystem \
                 check (e2fsck -f -n) found an error after 2 of 3 crashes: \"Inode 12 has a fault\"."
            )
        );
        assert_eq!(own.words(On::Drive).map(|own| own.contains("check")), Some(false));
    }

    #[test]
    fn where_no_fault_was_found_that_is_said() {
        let mut own = Reached::default();
        own.count_check(None);
        let told = "The filesystem check (xfs_repair -n) found no error after 1 crash.";
        assert_eq!(own.words(On::Xfs).as_deref(), Some(told));
    }
}
