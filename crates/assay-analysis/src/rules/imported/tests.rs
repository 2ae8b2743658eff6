use assay_core::quantity::Better;
use assay_study::findings::Trust;
use assay_study::results::plan::Arm;
use assay_workloads::command;

use super::super::remarks;
use super::super::testing::{Bench, measured};
use super::*;

/// Trust, rules and texts of a row whose runs have this evidence.
fn said(metric: &str, runs: &[&[ImportEvidence]]) -> (Option<Trust>, Vec<String>) {
    let mut series = Series::bare("read", Arm::new(), metric, Better::Higher);
    series.evidence = runs.iter().map(|run| run.to_vec()).collect();
    apply_import_rules(&mut series);
    let texts = series.because.iter().map(|own| format!("{}: {}", own.rule, own.text)).collect();
    (series.trust, texts)
}

fn trust(own: ImportEvidence) -> Option<Trust> {
    said("iops", &[&[own]]).0
}

#[test]
fn shallow_queues_are_suspect() {
    let depth = |requested, reached| ImportEvidence::Depth { requested, reached };
    let (trust_of, texts) = said("iops", &[&[depth(32.0, 1.0)]]);
    assert_eq!(trust_of, Some(Trust::Suspect));
    assert_eq!(texts, ["low-queue-depth: queue depth was 1, 32 requested"]);
    assert_eq!(trust(depth(2.0, 1.0)), Some(Trust::Suspect));
    assert_eq!(trust(depth(32.0, 15.9)), Some(Trust::Suspect));
    for sound in [depth(32.0, 16.0), depth(32.0, 63.0), depth(1.0, 1.0), depth(2.0, 1.5)] {
        assert_eq!(trust(sound.clone()), None, "{sound:?}");
    }
}

#[test]
fn idle_disks_make_numbers_invalid() {
    let disk = |counted, needed| ImportEvidence::Disk { counted, needed, what: "reads".into() };
    let (trust_of, texts) = said("bandwidth_bytes_per_s", &[&[disk(12.0, 17.5e6)], &[]]);
    assert_eq!(trust_of, Some(Trust::Invalid));
    assert!(texts[0].starts_with("cached: the disks counted 12 reads"), "{texts:?}");
    assert!(texts[0].ends_with("memory served the rest, in 1 of 2 runs"), "{texts:?}");
    assert_eq!(trust(disk(499.0, 1_000.0)), Some(Trust::Invalid));
    assert_eq!([trust(disk(500.0, 1_000.0)), trust(disk(2_000.0, 1_000.0))], [None; 2]);
}

#[test]
fn reads_far_faster_than_writes_are_suspect() {
    let directions = |read, written| ImportEvidence::Directions { read, written };
    let (trust_of, texts) = said("iops", &[&[directions(5_684e6, 11e6)]]);
    assert_eq!(trust_of, Some(Trust::Suspect));
    assert!(
        texts[0].contains("516 times as fast") && texts[0].contains("came from memory"),
        "{texts:?}"
    );
    assert_eq!(trust(directions(1_000e6, 10e6)), Some(Trust::Suspect));
    assert_eq!(trust(directions(999e6, 10e6)), None, "a stick may read so much faster");
    assert_eq!(trust(directions(9e6, 0.01e6)), None, "random writes of cheap sticks");
}

#[test]
fn copies_faster_than_sata_are_suspect() {
    let buffered = |bytes, bytes_per_s| ImportEvidence::Buffered { bytes, bytes_per_s };
    let gib = f64::from(1 << 30);
    let (trust_of, texts) = said("duration_s", &[&[buffered(gib, 1.4e9)]]);
    assert_eq!(trust_of, Some(Trust::Suspect));
    assert!(texts[0].contains("may have absorbed the bytes"), "{texts:?}");
    assert_eq!([trust(buffered(gib, 600e6)), trust(buffered(gib, 195e6))], [None; 2]);
    assert_eq!(trust(buffered(gib, 601e6)), Some(Trust::Suspect));
    assert_eq!(trust(buffered(64.0 * gib, 1.4e9)), None, "more than memory");
}

#[test]
fn faults_of_tools_are_suspect_and_nothing_is_silent() {
    let (trust_of, texts) = said("iops", &[&[ImportEvidence::Fault("may be half".into())]]);
    assert_eq!(
        (trust_of, texts),
        (Some(Trust::Suspect), vec!["tool-fault: may be half".to_owned()])
    );
    assert_eq!(said("iops", &[&[], &[]]), (None, Vec::new()));
    assert_eq!(said("iops", &[]), (None, Vec::new()));
}

/// A command that runs a tool is judged by the tool's output, like an imported file.
#[test]
fn tools_that_a_command_runs_are_judged_by_what_they_say() {
    let said = |reached| {
        let bench = Bench::command().each(move |trial| {
            let depth = ImportEvidence::Depth { requested: 32.0, reached };
            command::CommandDetail::of_mut(measured(trial)).unwrap().evidence = vec![depth];
        });
        bench.with_case(|case| remarks(case).into_iter().map(|(rule, _)| rule).collect::<Vec<_>>())
    };
    assert_eq!([said(15.9), said(16.0)], [vec!["low-queue-depth"], Vec::new()]);
}
