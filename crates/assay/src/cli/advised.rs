//! JSON documents of `assay advise` and `assay advise apply`.

use std::path::Path;

use serde::Serialize;

use assay_runner::run::apply::Proposal;
use assay_study::findings::{AdviceKind, AdviceStatus, Comparison, Effect, Trust};

#[derive(Serialize)]
pub struct AdviceDocument<'a> {
    pub format: &'static str,
    pub id: &'a str,
    /// ID of the result whose winner this result was to confirm.
    pub confirms: Option<&'a str>,
    pub advice: Vec<Advised<'a>>,
}

#[derive(Serialize)]
pub struct Advised<'a> {
    pub kind: AdviceKind,
    pub status: AdviceStatus,
    pub text: &'a str,
    /// Command lines that set the arm, if it consists of settings.
    pub lines: &'a [String],
    pub comparisons: Vec<Compared<'a>>,
    pub effects: &'a [&'a Effect],
    /// Permanent form, or why there is none; null if the arm is not recommended.
    pub permanent: Option<PermanentAdvice<'a>>,
}

#[derive(Serialize)]
pub struct Compared<'a> {
    pub trust: Trust,
    /// Whether the drive is virtual: the trust then covers only this virtual device.
    pub virtual_device: bool,
    pub reasons: &'a [String],
    pub comparison: &'a Comparison,
}

#[derive(Serialize)]
#[serde(untagged)]
pub enum PermanentAdvice<'a> {
    Possible(Proposed<'a>),
    Impossible { reason: &'a str },
}

#[derive(Serialize)]
pub struct Proposed<'a> {
    files: Vec<File<'a>>,
    settings: Vec<AdvisedSetting<'a>>,
    manual: Vec<AdvisedManual<'a>>,
    /// Current values that the study did not measure as levels.
    unmeasured: &'a [String],
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

#[derive(Serialize)]
struct AdvisedSetting<'a> {
    path: &'a Path,
    value: &'a str,
    now: &'a str,
}

#[derive(Serialize)]
struct AdvisedManual<'a> {
    line: &'a str,
    why: &'a str,
}

pub fn proposed(proposal: &Proposal) -> Proposed<'_> {
    let mut settings = Vec::new();
    for (setting, now) in &proposal.settings {
        settings.push(AdvisedSetting { path: &setting.path, value: &setting.value, now });
    }
    let files = proposal.files.iter().map(|(path, text)| File { path, text });
    let manual = proposal.by_hand.iter().map(|(line, why)| AdvisedManual { line, why });
    let unmeasured = &proposal.unmeasured;
    Proposed { files: files.collect(), settings, manual: manual.collect(), unmeasured }
}
