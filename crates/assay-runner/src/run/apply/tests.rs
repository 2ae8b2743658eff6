//! Permanent changes revert exactly, even if applying or reverting is interrupted.

use std::sync::OnceLock;
use std::time::Duration;

use super::*;
use assay_machine::system::fake::Manner;
use assay_machine::system::{Fake, Faulty};
use assay_study::results::vouch::{Purpose, vouch};

const HOME: &str = "/var/lib/assay";
const MORE: &str = "
file /proc/sys/kernel/random/boot_id 1111
file /proc/sys/vm/dirty_ratio 20
file /proc/sys/vm/dirty_bytes 0
file /sys/module/zfs/parameters/x 3
dir /etc/udev/rules.d
dir /etc/sysctl.d
dir /etc/tmpfiles.d
dir /var/lib
";

fn machine() -> Fake {
    let fake = Fake::sata_ssd().unwrap();
    fake.add(MORE).unwrap().set_user(0).set_variable("ASSAY_HOME", HOME);
    fake
}

fn arm() -> Arm {
    let levels = [
        ("scheduler", "none"),
        ("dirty_ratio", "5%"),
        ("tunable:/sys/module/zfs/parameters/x", "9"),
        ("queue_depth", "4"),
        ("mount_options", "noatime"),
        ("filesystem", "ext4"),
    ];
    levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect()
}

fn site(system: &dyn System) -> Site {
    resolve(system, "/home/me").unwrap()
}

fn wanted(system: &dyn System) -> Proposal {
    propose(system, of_first().id(), &arm(), &site(system))
}

/// A voucher as for the command: from a study that ran this many days after the first.
fn voucher(days: u64) -> Voucher {
    let fake = machine();
    fake.sleep(Duration::from_secs(days * 24 * 60 * 60));
    let finished = crate::run::tests::run_on(&fake, "/home/me").unwrap();
    vouch(&fake, &Path::new("/var/lib/assay/results").join(finished.id), Purpose::Apply).unwrap().1
}

/// For the study that ran on the first day.
fn of_first() -> &'static Voucher {
    static FIRST: OnceLock<Voucher> = OnceLock::new();
    FIRST.get_or_init(|| voucher(0))
}

fn rules() -> String {
    format!("/etc/udev/rules.d/61-assay-{}.rules", of_first().id())
}

/// Applies like the command: the proposal is based on the current state.
fn go(system: &dyn System) -> Outcome<Applied> {
    apply(system, of_first(), &wanted(system))
}

fn take_back(system: &dyn System) -> Outcome<Vec<Report>> {
    standing(system)?.iter().map(|one| undo(system, one)).collect()
}

fn condition(fake: &Fake) -> String {
    fake.condition(Path::new(HOME))
}

#[test]
fn everything_is_shown_before_anything_is_written() {
    let fake = machine();
    let before = condition(&fake);
    let proposal = wanted(&fake);
    assert_eq!(condition(&fake), before);
    let texts: Vec<String> =
        proposal.files.iter().map(|(path, text)| format!("{}\n{text}", path.display())).collect();
    let serial = "ATTR{queue/scheduler}=\"none\"\n";
    assert!(texts[0].starts_with(&rules()) && texts[0].ends_with(serial), "{texts:?}");
    assert!(texts[0].contains("ENV{ID_SERIAL_SHORT}==\""), "{texts:?}");
    assert!(texts[1].ends_with("\nvm.dirty_ratio = 5\n"), "{texts:?}");
    assert!(texts[2].ends_with("\nw /sys/module/zfs/parameters/x - - - - 9\n"), "{texts:?}");
    assert_eq!(proposal.settings.len(), 3);
    let by_hand: Vec<&str> = proposal.by_hand.iter().map(|(line, _)| line.as_str()).collect();
    assert_eq!(
        by_hand,
        [
            "# all data on DEVICE are lost",
            "mkfs.ext4 DEVICE",
            "mount -t ext4 -o noatime DEVICE DIRECTORY",
            "DEVICE DIRECTORY ext4 noatime 0 2",
            "queue_depth=4"
        ]
    );
}

#[test]
fn what_is_applied_holds_and_is_taken_back_exactly() {
    let fake = machine();
    let before = condition(&fake);
    assert_eq!(go(&fake).unwrap(), Applied::Now);
    assert_eq!(fake.read_text(Path::new("/proc/sys/vm/dirty_ratio")).unwrap(), "5\n");
    assert!(fake.files().contains_key(Path::new(&rules())));
    // Repeat: nothing changes, and no run treats it as unfinished.
    let applied = condition(&fake);
    assert_eq!(go(&fake).unwrap(), Applied::Before);
    refuse_unfinished(&fake).unwrap();
    assert_eq!(condition(&fake), applied);
    assert!(take_back(&fake).unwrap()[0].done.len() >= 6);
    assert_eq!(condition(&fake), before);
    assert!(standing(&fake).unwrap().is_empty());
}

/// An older version wrote other commands into the first line.
#[test]
fn what_an_older_version_applied_is_in_place() {
    let fake = machine();
    assert_eq!(go(&fake).unwrap(), Applied::Now);
    let text = fake.read_text(Path::new(&rules())).unwrap();
    let (_, body) = text.split_once('\n').unwrap();
    let id = of_first().id();
    let head = format!("# Written by assay apply {id}; assay undo {id} takes it away.");
    fake.put(rules(), format!("{head}\n{body}"));
    assert_eq!(go(&fake).unwrap(), Applied::Before);
    fake.put(rules(), format!("{head}\n# {body}"));
    assert!(go(&fake).unwrap_err().message.contains("missing or incomplete"));
}

/// Every interruption of applying, followed by every interruption of reverting.
#[test]
fn whenever_it_dies_it_is_taken_back_exactly() {
    let before = condition(&machine());
    let (mut deaths, mut recoveries) = (0, 0);
    for n in 1.. {
        let fake = machine();
        let dying = Faulty::dying(&fake, n);
        let _ = go(&dying);
        if !dying.has_failed() {
            break;
        }
        deaths += 1;
        for j in 1.. {
            let dying = Faulty::dying(&fake, j);
            let _ = take_back(&dying);
            recoveries += 1;
            for report in take_back(&fake).unwrap() {
                assert_eq!(report.failed, Vec::<String>::new());
            }
            assert_eq!(condition(&fake), before, "died at {n}, then at {j}");
            assert!(standing(&fake).unwrap().is_empty());
            if !dying.has_failed() {
                break;
            }
            let _ = go(&Faulty::dying(&fake, n));
        }
    }
    assert!(deaths > 10 && recoveries > 60, "{deaths} {recoveries}");
}

#[test]
fn an_application_that_was_cut_off_is_taken_back_first() {
    let fake = machine();
    let _ = go(&Faulty::dying(&fake, 7));
    let refusal = go(&fake).unwrap_err();
    assert!(
        refusal.message.contains(&format!("assay advise undo {} first", of_first().id())),
        "{refusal}"
    );
}

/// After a reboot the files have restored the settings; both are removed.
#[test]
fn it_is_taken_back_after_a_restart_too() {
    let fake = machine();
    let before = condition(&fake).replace("1111", "2222");
    go(&fake).unwrap();
    fake.put("/proc/sys/kernel/random/boot_id", "2222\n");
    take_back(&fake).unwrap();
    assert_eq!(condition(&fake), before);
}

#[test]
fn a_file_that_somebody_changed_is_left_alone_and_shown() {
    let fake = machine();
    go(&fake).unwrap();
    fake.put(rules(), "mine\n");
    let changed = condition(&fake);
    let refusal = take_back(&fake).unwrap_err();
    assert!(refusal.message.ends_with("now contains:\nmine"), "{refusal}");
    assert_eq!(condition(&fake), changed);
    // A file removed by hand does not block the revert.
    fake.remove(rules());
    take_back(&fake).unwrap();
    assert_eq!(condition(&fake), condition(&machine()));
}

#[test]
fn what_cannot_be_done_leaves_everything_as_it_was() {
    type Change = fn(&Fake);
    let rows: [(&str, Change); 7] = [
        ("only root may change settings", |fake| {
            fake.set_user(1000);
        }),
        ("Assay did not write it", |fake| {
            fake.put(rules(), "x");
        }),
        ("no program on this machine reads", |fake| {
            fake.remove("/etc/tmpfiles.d");
        }),
        ("the kernel uses 20", |fake| {
            fake.set_manner("/proc/sys/vm/dirty_ratio", Manner::Ignores);
        }),
        ("cannot restore the original value: the kernel refused 3: not permitted", |fake| {
            fake.set_manner("/sys/module/zfs/parameters/x", Manner::ReadOnly);
        }),
        ("another assay process is measuring", |fake| {
            fake.set_holder(SETTINGS, 4, 0);
        }),
        ("run assay restore first", |fake| {
            Guard::begin(fake, Path::new(HOME), "x").unwrap().keep();
        }),
    ];
    for (reason, change) in rows {
        let fake = machine();
        change(&fake);
        let before = condition(&fake);
        let refusal = go(&fake).unwrap_err();
        assert!(refusal.message.contains(reason), "{reason}: {refusal}");
        assert_eq!(refusal.kind, assay_core::failure::Kind::Refused);
        assert_eq!(condition(&fake), before, "{reason}");
    }
}

#[test]
fn two_results_do_not_set_the_same_for_keeps() {
    let fake = machine();
    go(&fake).unwrap();
    let other = Arm::from([("dirty_ratio".to_owned(), "7".to_owned())]);
    let another = voucher(1);
    let proposal = propose(&fake, another.id(), &other, &site(&fake));
    let refusal = apply(&fake, &another, &proposal).unwrap_err();
    assert!(refusal.message.contains("already set this permanently"), "{refusal}");
}

#[test]
fn another_drive_in_the_place_of_the_measured_one_is_refused() {
    let fake = machine();
    let before = site(&fake);
    assert_eq!(site_now(&fake, None, &before, false).unwrap(), before);
    let mut other = before;
    other.drives[0].id = "another".to_owned();
    let refusal = site_now(&fake, None, &other, false).unwrap_err();
    assert!(refusal.message.contains("the result does not apply"), "{refusal}");
}

#[test]
fn a_loop_device_of_the_studys_own_has_nothing_to_be_set_for_keeps() {
    let fake = machine();
    let proposal = propose(&fake, of_first().id(), &arm(), &Site::loop_to_be(1 << 30));
    assert_eq!(proposal.settings.len(), 2);
    assert!(proposal.by_hand[0].1.contains("request queue"), "{:?}", proposal.by_hand);
}
