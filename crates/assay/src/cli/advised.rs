//! What `assay advise` and `assay advise apply` tell programs.

use std::path::Path;

use serde::Serialize;

use assay_runner::run::apply::Proposal;
use assay_study::findings::{AdviceKind, AdviceStatus, Comparison, Effect, Trust};

#[derive(Serialize)]
pub struct AdviceDocument<'a> {
    pub format: &'static str,
    pub id: &'a str,
    /// Id of the result whose winner it was to confirm.
    pub confirms: Option<&'a str>,
    pub advice: Vec<Advised<'a>>,
}

#[derive(Serialize)]
pub struct Advised<'a> {
    pub kind: AdviceKind,
    pub status: AdviceStatus,
    pub text: &'a str,
    /// What one would type to bring the machine there, where the arm stands for settings.
    pub lines: &'a [String],
    pub comparisons: Vec<Compared<'a>>,
    pub effects: &'a [&'a Effect],
    /// What would make it permanent, or why that cannot be told; null for what is no arm to use.
    pub permanent: Option<Permanent<'a>>,
}

#[derive(Serialize)]
pub struct Compared<'a> {
    pub trust: Trust,
    /// Whether a drive is lent, so that what is trusted is trusted for this virtual device.
    pub virtual_device: bool,
    pub reasons: &'a [String],
    pub comparison: &'a Comparison,
}

#[derive(Serialize)]
#[serde(untagged)]
pub enum Permanent<'a> {
    Possible(Proposed<'a>),
    Impossible { reason: &'a str },
}

#[derive(Serialize)]
pub struct Proposed<'a> {
    files: Vec<File<'a>>,
    settings: Vec<Setting<'a>>,
    manual: Vec<ByHand<'a>>,
    /// What the study says nothing of: present values that were no level of it.
    unmeasured: &'a [String],
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

#[derive(Serialize)]
struct Setting<'a> {
    path: &'a Path,
    value: &'a str,
    now: &'a str,
}

#[derive(Serialize)]
struct ByHand<'a> {
    line: &'a str,
    why: &'a str,
}

pub fn proposed(proposal: &Proposal) -> Proposed<'_> {
    let files = proposal.files.iter().map(|(path, text)| File { path, text });
    let settings = proposal.settings.iter();
    let settings =
        settings.map(|(setting, now)| Setting { path: &setting.path, value: &setting.value, now });
    let by_hand = proposal.by_hand.iter().map(|(line, why)| ByHand { line, why });
    Proposed {
        files: files.collect(),
        settings: settings.collect(),
        manual: by_hand.collect(),
        unmeasured: &proposal.unmeasured,
    }
}
