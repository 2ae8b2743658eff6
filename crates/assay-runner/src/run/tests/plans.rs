//! Plans of studies that cannot run here, and the alternatives.

use super::*;
use assay_study::file::{Precondition, presets};
use assay_workloads::io::Content;

fn in_lab(preset: &str) -> Study {
    presets::find(preset).unwrap().unwrap().in_lab()
}

fn planned(study: Study) -> Outcome<StudyPreview> {
    let fake = machine();
    preview(&fake, study, &[], &Consented::default(), None)
}

#[test]
fn plan_without_trials_is_shown_and_its_run_refused() {
    let mut plan = planned(in_lab("raid-chunk")).unwrap();
    assert!(plan.lacks[0].starts_with("this study cannot run here: "), "{:?}", plan.lacks);
    for (absent, reason) in plan.plan.absent.iter_mut().zip(["once", "twice", "twice"]) {
        reason.clone_into(&mut absent.reason);
    }
    plan.plan.absent.truncate(3);
    assert!(start::reason_to_refuse(&plan.plan).unwrap().ends_with(": twice"));
    let ran = Request { study: in_lab("raid-chunk"), targets: Vec::new(), ..request(".") };
    let failure = run(&machine(), ran, &AtomicBool::new(false), &mut |_| {}).err().unwrap();
    assert!(failure.kind.exit_code() == 3, "{failure}");
}

/// With only the baseline left there is nothing to compare; a single requested level is allowed.
#[test]
fn a_study_of_which_the_baseline_alone_is_left_is_refused_and_one_level_runs() {
    let stop = AtomicBool::new(false);
    let fake = machine();
    let failure = run(&fake, schedulers(&["mq-deadline", "bfq"]), &stop, &mut |_| {}).err();
    let failure = failure.expect("nothing is compared");
    assert_eq!(failure.kind.exit_code(), 3, "{failure}");
    let told = &failure.message;
    assert!(told.starts_with("no level to compare: "), "{told}");
    assert!(told.contains("the kernel refused bfq"), "{told}");
    assert!(
        told.ends_with("to measure only the baseline, use --set scheduler=mq-deadline"),
        "{told}"
    );
    assert!(is_put_back(&fake));
    let told = |levels: &[&str]| {
        let Request { study, targets, .. } = schedulers(levels);
        preview(&machine(), study, &targets, &Consented::default(), None).unwrap().lacks
    };
    for levels in [&["mq-deadline"][..], &["mq-deadline", "none"]] {
        assert!(run(&machine(), schedulers(levels), &stop, &mut |_| {}).is_ok(), "{levels:?}");
        assert!(
            !told(levels).iter().any(|lack| lack.starts_with("no level to compare")),
            "{levels:?}"
        );
    }
}

/// A machine with a second, blank drive, `/dev/sdd`.
fn with_a_blank_drive(is_read_only: bool) -> Fake {
    let (fake, home) = (machine(), "/sys/devices/virtual/block/sdd");
    let drive = format!(
        "link /sys/class/block/sdd {home}\nlink /sys/block/sdd {home}\nlink /sys/dev/block/8:48 {home}\n\
         file {home}/dev 8:48\nfile {home}/size 4194304\nfile {home}/ro {}\nfile {home}/diskseq 7\n\
         file {home}/serial SERIAL-D\nfile {home}/uevent DEVNAME=sdd\ndir {home}/holders\n\
         dir {home}/slaves\nblock /dev/sdd 8:48\n",
        u8::from(is_read_only)
    );
    fake.add(&drive).unwrap();
    fake.with_file_systems();
    fake
}

/// The error of a study on that drive, with preconditioning or with created file systems.
fn refused_on(fake: &Fake, is_primed: bool) -> String {
    let mut request = request("/dev/sdd");
    if is_primed {
        request.study.precondition =
            Some(Precondition { passes: 1, compressibility: Content::Zero });
    } else {
        let levels = ["ext4", "xfs"].map(str::to_owned).to_vec();
        request.study.factors.insert("filesystem".to_owned(), levels);
    }
    let failure = run(fake, request, &AtomicBool::new(false), &mut |_| {}).err();
    failure.expect("without consent").message
}

#[test]
fn a_device_that_is_not_given_up_is_named_with_what_tells_the_way_on() {
    for (is_primed, what) in
        [(true, "cannot precondition /dev/sdd"), (false, "cannot create a file system")]
    {
        let told = refused_on(&with_a_blank_drive(false), is_primed);
        let way_on = "run assay plan STUDY /dev/sdd to see the contents";
        assert!(told.starts_with(what) && told.contains(way_on), "{told}");
    }
}

#[test]
fn silent_on_a_way_on_where_a_device_is_not_overwritten_at_all() {
    for is_primed in [true, false] {
        let told = refused_on(&with_a_blank_drive(true), is_primed);
        assert!(told.contains("read-only") && !told.contains("assay plan"), "{told}");
    }
}
