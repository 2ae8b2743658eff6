//! A drive that is pulled while a study runs, and another that gets its name.

use super::*;
use assay_machine::system::Act;

const DISK: &str = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
const STRANGERS: [(&str, &str); 3] =
    [("scheduler", "[none] mq-deadline"), ("nr_requests", "33"), ("read_ahead_kb", "77")];

fn numbered() -> Fake {
    let fake = machine();
    fake.put(format!("{DISK}/diskseq"), "7\n");
    fake
}

/// Another drive with the same name and different settings.
fn exchange(fake: &Fake) {
    fake.put(format!("{DISK}/diskseq"), "8\n");
    for (name, value) in STRANGERS {
        fake.put(format!("{DISK}/queue/{name}"), format!("{value}\n"));
    }
}

fn as_it_came(fake: &Fake) -> bool {
    let now = |name: &str| fake.read_text(Path::new(&format!("{DISK}/queue/{name}"))).unwrap();
    STRANGERS.iter().all(|(name, value)| now(name).trim() == *value)
}

fn settings_written(fake: &Fake) -> usize {
    fake.acted().iter().filter(|act| matches!(act, Act::Set { .. })).count()
}

/// Runs a study of schedulers; at the first event of a kind, changes the machine.
fn run_until(fake: &Fake, has_come: HasCome, happens: fn(&Fake)) -> (Outcome<Finished>, usize) {
    let (mut written, mut over) = (0, false);
    let request = schedulers(&["mq-deadline", "none"]);
    let outcome = run(fake, request, &AtomicBool::new(false), &mut |event| {
        if !over && has_come(&event) {
            happens(fake);
            (written, over) = (settings_written(fake), true);
        }
    });
    assert!(over, "it never came");
    (outcome, settings_written(fake) - written)
}

#[test]
fn no_level_is_set_on_a_stranger_and_nothing_is_put_back_on_it() {
    let moments: [(HasCome, usize); 2] = [
        (|event| matches!(event, Event::TrialStarted { index: 2, .. }), 2),
        (|event| matches!(event, Event::TrialEnded { index: 2, .. }), 3),
    ];
    for (has_come, trials) in moments {
        let fake = numbered();
        let (outcome, written) = run_until(&fake, has_come, exchange);
        let finished = outcome.unwrap();
        let told = "sda was replaced by another device";
        assert_eq!(finished.gone.as_deref(), Some(told));
        assert_eq!((finished.trials.len(), written, finished.left), (trials, 0, None));
        assert!(as_it_came(&fake));
        assert!(fake.list(Path::new("/var/lib/assay/journal")).unwrap().is_empty());
        // With the first drive back, the study can be resumed.
        let directory = finished.directory.unwrap();
        fake.put(format!("{DISK}/diskseq"), "9\n");
        let (stored, voucher) = vouch(&fake, &directory, Purpose::GoOn).unwrap();
        let acting = Acting { stored, voucher, directory };
        let (nothing, going) = (Consented::default(), AtomicBool::new(false));
        let resumed =
            resume(&fake, acting, &nothing, Looks::default(), &going, &mut |_| {}).unwrap();
        assert_eq!((resumed.gone, resumed.interrupted), (None, false));
    }
}

#[test]
fn a_stranger_that_comes_before_the_plan_is_not_touched_either() {
    let fake = numbered();
    let has_come: HasCome = |event| matches!(event, Event::Filling { .. });
    let (outcome, written) = run_until(&fake, has_come, exchange);
    let failure = outcome.err().expect("refused");
    assert!(failure.message.contains("was replaced by another device"), "{failure}");
    assert_eq!((failure.kind.exit_code(), written), (3, 0));
    assert!(as_it_came(&fake));
}

#[test]
fn silent_while_another_drive_comes_and_goes_and_where_disks_have_no_numbers() {
    let has_come: HasCome = |event| matches!(event, Event::TrialStarted { index: 2, .. });
    let other: fn(&Fake) = |fake| {
        fake.put("/sys/class/block/sdz/diskseq", "8\n");
    };
    let unreadable: fn(&Fake) = |fake| {
        fake.remove(format!("{DISK}/diskseq"));
    };
    for happens in [other, unreadable] {
        let fake = numbered();
        let finished = run_until(&fake, has_come, happens).0.unwrap();
        assert_eq!((finished.gone, finished.interrupted), (None, false));
        assert!(is_put_back(&fake));
    }
}
