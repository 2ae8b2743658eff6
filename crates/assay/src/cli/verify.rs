//! `assay verify`: whether what was written is still there.

use std::path::Path;

use clap::Args;

use super::{output, running};
use crate::store;
use crate::store::acting;
use assay_core::failure::Outcome;
use assay_core::quantity::units::show;
use assay_machine::system::{FileKind, System};
use assay_runner::run::verify::{self, FoundStamps, VerifyReport};
use assay_study::results::bundle;
use assay_workloads::io::verify as words;

/// Check data that a study wrote with verify = true
///
/// Reads the data that the last trial of a result wrote to a device, and compares the data with the plan, even if the
/// study was killed during that trial. For a file or device, Assay checks the stamps in the blocks. Writes nothing.
/// Studies in a directory verify the writes in each trial, and delete the data at the end. Exit code 1: a block is
/// torn, stale, misplaced, zeroed, foreign or corrupt, or has a read error; 3: cannot open the data; 5: inconclusive.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay verify                  check the device of the latest result
  assay verify 20261126-0301    check the device of this result
  assay verify /dev/DEVICE      check the stamps on a device, from any study
  assay verify drive.img --json
  assay verify --markdown")]
pub struct VerifyArguments {
    /// Result ID or path, or a file or device [default: the latest result]
    #[arg(value_name = "RESULT|AREA")]
    what: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

pub fn run(system: &dyn System, arguments: &VerifyArguments) -> Outcome<()> {
    let stop = running::stop_on_signals(&running::LOOKS)?;
    let area = arguments.what.as_deref().map(Path::new).filter(|path| is_area(system, path));
    let report = match area {
        Some(path) => verify::verify_area(system, path, &stop)?,
        None => of_result(system, arguments.what.as_deref(), &stop)?,
    };
    if arguments.json {
        output::json(&report);
    } else {
        output::text(&report_text(&report, arguments.markdown));
    }
    report.ended()
}

/// Whether a word names bytes, and no result.
fn is_area(system: &dyn System, path: &Path) -> bool {
    let kind = system.status(path).ok().map(|status| status.kind);
    matches!(kind, Some(FileKind::File | FileKind::BlockDevice))
}

fn of_result(
    system: &dyn System,
    wanted: Option<&str>,
    stop: &std::sync::atomic::AtomicBool,
) -> Outcome<VerifyReport> {
    let directory = store::find(system, wanted)?;
    if bundle::is_running(system, &directory) {
        return Err(refused!(
            "{} is running; verify the data when the run has ended",
            directory.display()
        ));
    }
    let stored = bundle::frame(system, &directory)?;
    acting::on_the_same_drives(system, &stored, &[])?;
    verify::verify_result(system, &directory, &stored, stop)
}

fn report_text(report: &VerifyReport, is_markdown: bool) -> String {
    let verified = &report.verified;
    let unit = if report.trial.is_some() { "blocks" } else { "sectors" };
    let is_wrong = verified.corrupt.all() > 0;
    let (target, read) = (&report.target, show::count(verified.read));
    let head = if is_wrong {
        format!(
            "WRONG DATA on {target}: {} of {read} {unit} differ from the written data ({})",
            show::count(verified.corrupt.all()),
            words::faults(verified)
        )
    } else {
        format!(
            "{target}: {} of {read} {unit} contain the written data, and no block is wrong",
            show::count(verified.intact)
        )
    };
    let mut lines = Vec::new();
    if let Some(trial) = &report.trial {
        let how = if trial.ended { "" } else { ", during which the study was interrupted" };
        lines.push(format!(
            "written by trial {} of {} ({}, replicate {}){how}",
            trial.trial, trial.result, trial.workload, trial.replicate
        ));
    } else {
        // Without a plan, the stamps in the blocks name the runs.
        lines.extend(report.runs.iter().map(|run| {
            let bytes = show::count(run.bytes);
            let FoundStamps { run, seed, .. } = run;
            format!(
                "{bytes} bytes by the run that began {run} ns after the Unix epoch, seed {seed}"
            )
        }));
    }
    lines.extend(verified.first.iter().map(words::example));
    lines.extend(report.unverified.iter().map(|reason| format!("unknown: {reason}")));
    let mut text = if is_markdown { format!("**{head}**\n\n") } else { format!("{head}\n") };
    let mark = if is_markdown { "- " } else { "  " };
    text.extend(lines.iter().map(|line| format!("{mark}{line}\n")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_load::{Fault, FaultCounts, Verified, WrongData};
    use assay_runner::run::verify::{FORMAT, FoundStamps, OfTrial};

    fn report() -> VerifyReport {
        let of = OfTrial {
            result: "20261126-0301".to_owned(),
            workload: "write".to_owned(),
            replicate: 2,
            trial: 5,
            ended: false,
        };
        VerifyReport {
            format: FORMAT,
            target: "/dev/sdb".to_owned(),
            trial: Some(of),
            verified: Verified { read: 2000, intact: 1500, ..Verified::default() },
            runs: vec![FoundStamps { run: 7, seed: 9, bytes: 512 }],
            unverified: vec!["a clause".to_owned()],
        }
    }

    #[test]
    fn what_is_sound_is_told_with_what_is_not_known() {
        assert_eq!(
            report_text(&report(), false),
            "/dev/sdb: 1,500 of 2,000 blocks contain the written data, and no block is wrong\n  written by trial 5 of \
             20261126-0301 (write, replicate 2), during which the study was interrupted\n  unknown: a clause\n"
        );
        let bare = report_text(&VerifyReport { trial: None, ..report() }, true);
        assert!(bare.starts_with("**/dev/sdb: 1,500 of 2,000 sectors"), "{bare}");
        assert!(bare.contains("\n- 512 bytes by the run that began 7 ns"), "{bare}");
    }

    #[test]
    fn what_is_wrong_is_told_first() {
        let mut found = report();
        found.verified.corrupt = FaultCounts { zeroed: 3, ..FaultCounts::default() };
        let fault = Fault::Zeroed;
        let first = WrongData { at_bytes: 4096, fault, expected: None, found: None, bits: None };
        found.verified.first = vec![first];
        let text = report_text(&found, false);
        assert!(text.starts_with("WRONG DATA on /dev/sdb: 3 of 2,000 blocks"), "{text}");
        assert!(text.contains("\n  at byte 4,096, the block contains zeros\n"), "{text}");
    }
}
