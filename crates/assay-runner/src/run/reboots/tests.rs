use std::sync::atomic::AtomicBool;

use super::*;
use assay_machine::system::Fake;
use assay_machine::system::journal;
use assay_study::file::presets;
use assay_study::results::vouch::{Purpose, vouch};
use assay_testkit::kinds::kept;
use assay_workloads::recorded::kind;
use serde_json::Value;

fn machine() -> Fake {
    let fake = Fake::new();
    fake.put("/run/systemd/system/x", "")
        .put("/etc/systemd/system/x", "")
        .put("/usr/bin/assay", "elf");
    fake.put("/var/lib/assay/x", "").put("/var/log/journal/x", "");
    fake.put("/proc/sys/kernel/random/boot_id", "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa\n");
    fake.install("systemctl").install("journalctl");
    fake
}

fn refusal(fake: &Fake) -> String {
    let study = presets::check().unwrap();
    propose(fake, study, 5, "/var/lib/assay/results".into()).unwrap_err().message
}

#[test]
fn what_cannot_be_restarted_is_refused_with_the_reason() {
    let fake = machine();
    fake.put("/.dockerenv", "").put("/proc/cpuinfo", "processor\t: 0\n");
    assert!(refusal(&fake).contains("container"), "{}", refusal(&fake));
    let fake = Fake::new();
    assert!(refusal(&fake).contains("needs systemd as the init process"), "{}", refusal(&fake));
}

const RESULTS: &str = "/var/lib/assay/results";

/// Journal entries of boots: `a` finished, `A` was interrupted. The kind of work defines their format.
fn journal(fake: &Fake, boots: &str) {
    let kept = kept("journal.json").unwrap();
    let lines: [Value; 2] = serde_json::from_str(kept.values().next().unwrap()).unwrap();
    let mut text = String::new();
    for (number, boot) in boots.chars().enumerate() {
        let id = boot.to_ascii_lowercase().to_string().repeat(32);
        let told = if boot.is_ascii_lowercase() { 2 } else { 1 };
        for (at, line) in lines[..told].iter().enumerate() {
            let count = format!("{:x}", number * 10 + at + 1);
            text += &line.to_string().replace("{boot}", &id).replace("{count}", &count);
            text += "\n";
        }
    }
    fake.put_told("journalctl", 0, &text, "");
    let last = boots.chars().last().unwrap_or('a').to_ascii_lowercase();
    fake.put("/proc/sys/kernel/random/boot_id", last.to_string().repeat(32));
}

/// A machine with a started study of this many boots; `None` if no kind of work is recorded.
fn begun(boots: u32) -> Option<(Fake, String)> {
    let name = kind()?.0.about.name;
    let fake = machine();
    journal(&fake, "a");
    let (stop, mut tell) = (AtomicBool::new(false), |_| {});
    let unit = unit_text(
        &fake,
        name,
        "20261123-0000",
        Path::new("/usr/bin/assay"),
        Path::new(RESULTS),
        Path::new("/j"),
    );
    let proposal = RebootProposal {
        study: presets::find(name).unwrap().unwrap(),
        id: id::new_id("2026-11-23T00:00:00+00:00", 7),
        boots,
        results: RESULTS.into(),
        unit: unit.unwrap(),
        cautions: Vec::new(),
    };
    let id = proposal.id.clone();
    let mut context = Context { system: &fake, runs_as: None, stop: &stop, tell: &mut tell };
    start(&fake, proposal, &mut context).unwrap();
    Some((fake, id))
}

fn is_there(fake: &Fake) -> bool {
    let [file, _] = unit_files(UNIT, WANTED_BY);
    fake.files().contains_key(&file)
}

fn one_boot(fake: &Fake, id: &str) -> Outcome<RebootStep> {
    let directory = Path::new(RESULTS).join(id);
    let (stop, mut tell) = (AtomicBool::new(false), |_| {});
    fake.put_output("systemctl is-system-running", "running\n");
    let mut context = Context { system: fake, runs_as: None, stop: &stop, tell: &mut tell };
    begin_boot(fake, id, &directory, &context)?;
    let (stored, voucher) = vouch(fake, &directory, Purpose::GoOn)?;
    let acting = Acting { stored, voucher, directory };
    after_boot(fake, acting, &mut context)
}

#[test]
fn boots_are_recorded_one_by_one_and_the_unit_is_gone_after_the_last() {
    let Some((fake, id)) = begun(3) else { return };
    assert!(is_there(&fake));
    journal(&fake, "ab");
    assert!(matches!(one_boot(&fake, &id).unwrap(), RebootStep::Restarts { recorded: 1, of: 3 }));
    // The next boot loses power after it was logged, and leaves nothing in the journal.
    let directory = Path::new(RESULTS).join(&id);
    fake.put("/proc/sys/kernel/random/boot_id", "c".repeat(32));
    log_boot_begin(&fake, &directory).unwrap();
    assert!(is_there(&fake));
    journal(&fake, "abd");
    let RebootStep::Done(finished) = one_boot(&fake, &id).unwrap() else {
        panic!("three boots were")
    };
    let told: Vec<bool> = finished.trials.iter().map(|trial| trial.measured.is_some()).collect();
    assert_eq!(told, [true, false, true]);
    assert!(finished.trials[1].reason.as_ref().unwrap().contains("power loss"));
    assert!(!is_there(&fake), "the unit stays");
    let journals =
        fake.files().keys().filter(|path| path.to_string_lossy().contains("/journal/2")).count();
    assert_eq!(journals, 0, "the journal of changes stays");
}

#[test]
fn what_goes_wrong_takes_the_unit_away_and_restarts_nothing() {
    let Some((fake, id)) = begun(3) else { return };
    fake.put_told("journalctl", 1, "", "no such file");
    fake.put("/proc/sys/kernel/random/boot_id", "b".repeat(32));
    assert!(one_boot(&fake, &id).is_err());
    assert!(!is_there(&fake));
}

#[test]
fn restore_ends_a_series_of_boots() {
    let Some((fake, id)) = begun(3) else { return };
    let home = identity::state_directory(&fake).unwrap();
    let left = journal::unfinished(&fake, &journals(&home)).unwrap();
    let report = journal::restore(&fake, &left[0]).unwrap();
    assert_eq!(report.failed, [""; 0]);
    assert_eq!(report.done, [format!("disable and remove {UNIT}")]);
    assert!(!is_there(&fake));
    journal(&fake, "ab");
    // An already running study restarts nothing; its records stay.
    let RebootStep::Ended(finished) = one_boot(&fake, &id).unwrap() else { panic!("it goes on") };
    assert_eq!(finished.trials.len(), 1);
}

#[test]
fn a_unit_that_somebody_else_changed_is_not_removed() {
    let Some((fake, _)) = begun(3) else { return };
    let [file, _] = unit_files(UNIT, WANTED_BY);
    fake.put(&file, "[Unit]\nDescription=mine\n");
    let home = identity::state_directory(&fake).unwrap();
    let left = journal::unfinished(&fake, &journals(&home)).unwrap();
    let report = journal::restore(&fake, &left[0]).unwrap();
    assert!(report.failed[0].contains("another program changed the file"), "{:?}", report.failed);
    assert!(is_there(&fake));
}

#[test]
fn a_path_that_a_unit_cannot_hold_is_refused() {
    let fake = machine();
    let odd = Path::new("/home/a%b/results");
    let refused = unit_text(&fake, "any", "1", Path::new("/usr/bin/assay"), odd, Path::new("/j"))
        .unwrap_err();
    assert!(refused.message.contains("a unit cannot contain"), "{}", refused.message);
}
