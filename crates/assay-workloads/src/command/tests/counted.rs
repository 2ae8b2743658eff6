//! Counters of runs besides their times.

use assay_machine::system::execute::{Counting, CpuCounts, Happened};

use super::*;

#[test]
fn faults_and_what_processors_count_are_told_without_the_shells() {
    let fake = fake();
    let how = Some(Counting { in_kernel: false, share: 1.0 });
    let counts = |instructions, minor_faults, wall_ns| Executed {
        happened: Happened { minor_faults, ..Happened::default() },
        counted: CpuCounts {
            instructions: Presence::Present(instructions),
            how,
            ..CpuCounts::absent("no such counter")
        },
        ..took(wall_ns)
    };
    fake.put_executions("sh -c ", [counts(100, 50, MS)]);
    fake.put_executions("sh -c work", [counts(1000, 150, 11 * MS), counts(1200, 350, 11 * MS)]);
    // Runs of the setup do not count.
    fake.put_executions("sh -c before", [counts(7000, 7000, MS)]);
    let asked = CommandSpec {
        runs_per_trial: Some(2),
        prepare: Some("before".to_owned()),
        ..CommandSpec::new("work")
    };
    let ran = trial(&fake, &asked, 1000 * MS).unwrap();
    assert_eq!((value(&ran, "instructions"), value(&ran, "minor_faults")), (1000.0, 200.0));
    assert_eq!(ran.measured.absent["cycles"], "no such counter");
    assert_eq!(CommandDetail::of(&ran.measured).unwrap().counting, how);
    assert!(ran.measured.notes.iter().any(|note| note.contains("exclude the kernel")));
    // Without CPU counters there are still page faults, and no notes on counters.
    let ran = trial(&super::fake(), &asked, 1000 * MS).unwrap();
    assert_eq!(value(&ran, "minor_faults"), 0.0);
    assert_eq!(ran.measured.absent["instructions"], "no counters");
    assert_eq!(CommandDetail::of(&ran.measured).unwrap().counting, None);
    assert!(!ran.measured.notes.iter().any(|note| note.contains("instructions")));
}

#[test]
fn results_of_older_versions_say_why_they_have_no_counts() {
    let asked = CommandSpec { runs_per_trial: Some(1), ..CommandSpec::new("work") };
    let mut ran = trial(&fake(), &asked, 1000 * MS).unwrap();
    let planned = asked.make_plan().unwrap();
    assert_eq!(planned.value("minor_faults", &ran.measured), Some(Ok(0.0)));
    ran.measured.values.remove("minor_faults");
    let told = planned.value("minor_faults", &ran.measured).unwrap().unwrap_err();
    assert!(told.contains("not counted by the Assay version"), "{told}");
    assert_eq!(planned.value("iops", &ran.measured), None);
    // Their detail does not have it either.
    let mut detail = serde_json::to_value(CommandDetail::of(&ran.measured).unwrap()).unwrap();
    assert!(detail.as_object_mut().unwrap().remove("counting").is_none());
    let detail: CommandDetail = serde_json::from_value(detail).unwrap();
    assert_eq!(detail.counting, None);
}
