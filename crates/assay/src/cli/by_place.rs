//! `--by platform`: results of several machines in one table, as percentages of one of them.

use clap::{Args, ValueEnum};

use crate::store;
use assay_analysis::beside::beside;
use assay_analysis::inference::days::Days;
use assay_analysis::inference::places::{self, LabeledResult, PlatformQuery};
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_study::findings::Findings;

/// Grouping of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The platform where they were measured: bare metal, a VM, a container
    Platform,
}

/// Options that compare several platforms.
#[derive(Clone, Debug, Default, Args)]
pub struct ByPlace {
    /// Print one table of all platforms, as percentages of the baseline
    #[arg(long, value_enum, value_name = "WHAT")]
    by: Option<By>,
    /// Name the platform of a result [default: the detected one]
    #[arg(long, value_name = "ID=NAME", requires = "by")]
    platform: Vec<String>,
    /// Choose the baseline platform or result [default: bare metal or first]
    #[arg(long, value_name = "ID", requires = "by")]
    baseline: Option<String>,
    /// Add a published table, e.g. article-000
    #[arg(long, value_name = "TABLE", requires = "by")]
    published: Option<String>,
}

impl ByPlace {
    pub fn is_asked(&self) -> bool {
        self.by.is_some()
    }

    /// Returns results by platform; `margin` is a share; day-to-day variation comes from the user or stored results.
    /// Fails for labels without a result, for a single platform, and if nothing is common to all.
    pub fn findings(
        &self,
        system: &dyn System,
        words: &[String],
        margin: Option<f64>,
        days: Option<Days>,
    ) -> Outcome<Findings> {
        let results = words.iter().map(|word| store::find_labeled(system, word));
        let mut results = results.collect::<Outcome<Vec<_>>>()?;
        for label in &self.platform {
            set_label(words, &mut results, label)?;
        }
        let published = self.published.as_deref().map(beside);
        let found: Vec<Findings> = results.iter().map(|it| it.findings.clone()).collect();
        let query = PlatformQuery {
            days: days.unwrap_or_else(|| store::days::variation(system, &found)),
            baseline: self.baseline.clone(),
            margin,
            beside: published.transpose()?.into_iter().collect(),
        };
        places::by_place(&results, query)
    }
}

/// Names the platform of one result by `ID=NAME`; `words` are the results as typed.
fn set_label(words: &[String], results: &mut [LabeledResult], label: &str) -> Outcome<()> {
    let mistake = |reason: &str| mistake!("--platform {label}: {reason}");
    // IDs contain no `=`; names may.
    let (id, name) = label.split_once('=').unwrap_or_default();
    let (id, name) = (id.trim(), name.trim());
    if id.is_empty() || name.is_empty() {
        return Err(mistake("use ID=NAME, such as 20261120-1031=\"KVM guest\""));
    }
    let mut matching: Vec<&mut LabeledResult> = Vec::new();
    for (word, result) in words.iter().zip(results) {
        if word == id || store::is_short_for(id, &result.findings.study.id) {
            matching.push(result);
        }
    }
    match matching.as_mut_slice() {
        [result] => result.label = Some(name.to_owned()),
        [] => return Err(mistake("no compared result has this ID")),
        _ => return Err(mistake("several results match this ID; use more of the ID")),
    }
    Ok(())
}
