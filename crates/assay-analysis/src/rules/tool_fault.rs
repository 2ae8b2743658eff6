//! `tool-fault`: the version of the tool has a known fault.

use assay_core::catalogue::About;
use assay_workloads::Judged;
use assay_workloads::command::ImportEvidence;

use super::imported::first_objection;
use super::{MOVED, Remark, Rule};

pub static RULE: Rule = Rule {
    about: About {
        name: "tool-fault",
        summary: "the tool version that printed the number has a known bug",
        text: "The number is suspect. Applies to imported numbers. KDiskMark before 3.3.0 can print half the rate of a \
               multi-threaded test.",
    },
    looks_at: Judged::Bytes,
    changes: MOVED,
    judge_import,
    ..Rule::NONE
};

fn judge_import(runs: &[Vec<ImportEvidence>]) -> Option<Remark> {
    let (text, share) = first_objection(runs, |own| match own {
        ImportEvidence::Fault(text) => Some(text.clone().into_owned()),
        _ => None,
    })?;
    Some(Remark::suspect(format!("{text}{share}")))
}
