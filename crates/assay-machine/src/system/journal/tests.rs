use std::io::ErrorKind;
use std::path::Path;

use assay_testkit::recordings::Recording;

use super::*;
use crate::system::signatures;
use crate::system::{Act, Caching, DeviceNumber, Fake, Faulty};

const HOME: &str = "/var/lib/assay/journal";
const ID: &str = "20261120-1200-ab12";
const READ_AHEAD: &str = "/sys/block/sda/queue/read_ahead_kb";
const DISK: &str = "\
file /proc/sys/kernel/random/boot_id first
file /sys/block/sda/dev 8:0
file /sys/block/sda/size 1000
link /sys/class/block/sda /sys/block/sda
link /sys/class/block/loop3 /sys/block/loop3
file /sys/block/sda/queue/read_ahead_kb 128
file /sys/dev/block/8:0/diskseq 7
";

fn machine() -> Fake {
    let fake = Fake::new();
    fake.add(DISK).unwrap();
    fake
}

fn begin(fake: &Fake) -> Journal {
    Journal::begin(fake, Path::new(HOME), ID).unwrap()
}

fn file(path: &str) -> Undo {
    Undo::File { path: path.into() }
}

fn path() -> PathBuf {
    Path::new(HOME).join(format!("{ID}{ENDING}"))
}

fn left(system: &dyn System) -> Vec<Unfinished> {
    unfinished(system, Path::new(HOME)).unwrap()
}

/// Leaves a journal that restores the changed read-ahead.
fn change_read_ahead(fake: &Fake) {
    let device = Some(Mark::now(fake, "sda"));
    let undo = Undo::Setting { path: READ_AHEAD.into(), original: "128".to_owned(), device };
    begin(fake).record(fake, undo).unwrap();
    fake.put(READ_AHEAD, "4096\n");
}

fn read_ahead(fake: &Fake) -> String {
    fake.read_text(Path::new(READ_AHEAD)).unwrap().trim().to_owned()
}

#[test]
fn a_directory_that_others_may_write_to_is_refused() {
    let facts = [
        (format!("owner {HOME} 1000"), "it belongs to user 1000"),
        (format!("mode {HOME} 0770"), "other users can write to it"),
        (format!("mode {HOME} 0702"), "other users can write to it"),
        ("dir /elsewhere\nlink /var/lib/assay/journal /elsewhere".to_owned(), "symbolic link"),
    ];
    for (fact, why) in facts {
        let fake = machine();
        if !fact.contains("link") {
            change_read_ahead(&fake);
        }
        fake.add(&fact).unwrap();
        let failure = unfinished(&fake, Path::new(HOME)).unwrap_err();
        assert!(failure.message.contains(why), "{}", failure.message);
        let failure = Journal::begin(&fake, Path::new(HOME), "other").unwrap_err();
        assert!(failure.message.contains(why), "{}", failure.message);
        assert!(!fake.files().contains_key(&Path::new(HOME).join("other.jsonl")));
    }
}

#[test]
fn roots_directory_is_none_of_an_ordinary_users() {
    let fake = machine();
    fake.add(&format!("closed {HOME}")).unwrap();
    assert!(unfinished(&fake, Path::new(HOME)).is_err(), "root can look everywhere");
    fake.set_user(1000);
    assert_eq!(left(&fake), []);
}

#[test]
fn only_a_locked_journal_is_that_of_a_run_that_goes_on() {
    let fake = machine();
    change_read_ahead(&fake);
    fake.set_holder(&format!("journal-{ID}"), 4711, 1000);
    assert_eq!(left(&fake).len(), 1, "a name that anybody can take says nothing");
    let mut call = 1;
    loop {
        let faulty = Faulty::new(&fake, call, ErrorKind::Other);
        let found = unfinished(&faulty, Path::new(HOME));
        if !faulty.has_failed() {
            break;
        }
        assert!(found.is_err() || found.is_ok_and(|left| left.len() == 1), "call {call}");
        call += 1;
    }
    assert!(call > 4, "{call}");
    let one = left(&fake).remove(0);
    fake.set_holder(&path().to_string_lossy(), 4711, 0);
    assert_eq!(left(&fake), []);
    assert!(restore(&fake, &one).is_err());
    assert!(Journal::begin(&fake, Path::new(HOME), ID).is_err());
}

#[test]
fn a_journal_that_vanishes_is_no_error_and_restoring_reads_it_again() {
    let fake = machine();
    change_read_ahead(&fake);
    let before = left(&fake).remove(0);
    fake.put("/made", "x");
    let entry = UndoEntry { lifetime: Lifetime::Persistent, undo: file("/made"), struck: false };
    fake.append(&path(), &to_line(&entry).unwrap()).unwrap();
    let report = restore(&fake, &before).unwrap();
    assert_eq!((report.done.len(), report.failed.len()), (2, 0));
    assert!(!fake.files().contains_key(Path::new("/made")));
    assert_eq!(restore(&fake, &before).unwrap(), Report::default());
    change_read_ahead(&fake);
    let gone = Faulty::new(&fake, 4, ErrorKind::NotFound);
    assert_eq!(left(&gone), []);
    assert!(gone.has_failed());
}

/// The recorded change did not happen: a later change is another program's.
#[test]
fn struck_lines_are_not_undone() {
    let fake = machine();
    fake.put("/made", "x").put("/kept", "x");
    let mut journal = Journal::begin(&fake, Path::new(HOME), ID).unwrap();
    journal.note(&fake, vec![file("/made"), file("/kept")], false).unwrap();
    journal.note(&fake, vec![file("/kept")], true).unwrap();
    assert_eq!(journal.undos(), [file("/made")]);
    drop(journal);
    let left = left(&fake).remove(0);
    assert_eq!((left.undos(), left.faults.len()), (&[file("/made")][..], 0));
    restore(&fake, &left).unwrap();
    let files = fake.files();
    assert_eq!(["/made", "/kept"].map(|path| files.contains_key(Path::new(path))), [false, true]);
}

#[test]
fn a_journal_that_was_not_put_back_is_not_written_on() {
    let fake = machine();
    change_read_ahead(&fake);
    let failure = Journal::begin(&fake, Path::new(HOME), ID).unwrap_err();
    assert!(failure.message.contains("run assay restore first"), "{}", failure.message);
}

#[test]
fn after_a_half_line_the_next_begins_afresh() {
    let fake = machine();
    let mut journal = begin(&fake);
    journal.record(&fake, file("/one")).unwrap();
    let full = Faulty::dying(&fake, 1);
    assert!(journal.record(&full, file("/half")).is_err());
    journal.record(&fake, file("/two")).unwrap();
    drop(journal);
    let [one] = &left(&fake)[..] else { panic!("one journal") };
    assert_eq!((one.undos(), &one.faults[..]), (&[file("/one"), file("/two")][..], &[][..]));
}

/// Undo entries of a run, which must equal those read by a recovery and by a continued run.
fn noted(fake: &Fake, journal: Journal) -> Vec<Undo> {
    let noted = journal.undos().to_vec();
    drop(journal);
    assert_eq!(left(fake)[0].undos(), noted, "what a recovery reads");
    let again = Journal::resume(fake, Path::new(HOME), ID).unwrap().unwrap();
    assert_eq!(again.undos(), noted, "what a run reads that goes on");
    noted
}

fn lines(fake: &Fake) -> usize {
    fake.files()[&path()].lines().count()
}

/// The kernel gives the number of a zram device again, and so the name of its file.
#[test]
fn what_is_made_again_under_its_name_is_undone_before_what_it_stands_on() {
    let fake = machine();
    let mut journal = begin(&fake);
    let zram = |sequence| Undo::Zram { number: 0, sequence };
    let on_it = Undo::Loop { file: "/dev/zram0".into(), device: None };
    let swap = Undo::Swap { path: "/dev/loop0".into() };
    let round = |at| [zram(None), zram(Some(at)), on_it.clone(), swap.clone()];
    for undo in (1..=3).flat_map(round) {
        journal.record(&fake, undo).unwrap();
    }
    let earlier = [zram(Some(1)), zram(Some(2))];
    let expected = [earlier.as_slice(), &round(3)].concat();
    assert_eq!(noted(&fake, journal), expected);
}

#[test]
fn what_is_the_last_already_is_not_written_again() {
    let fake = machine();
    let mut journal = begin(&fake);
    for undo in [file("/one"), file("/two"), file("/two")] {
        journal.record(&fake, undo).unwrap();
    }
    assert_eq!((lines(&fake), noted(&fake, journal).len()), (3, 2), "a line about the run, too");
}

#[test]
fn of_what_has_an_original_the_first_counts_and_keeps_its_place() {
    let fake = machine();
    let with = |original: &str| {
        let (device, path) = (Some(Mark::now(&fake, "sda")), PathBuf::from(READ_AHEAD));
        let (namespace, interface) = (None, "eth0".to_owned());
        let original = original.to_owned();
        let text = Some(original.clone());
        [
            Undo::Setting { path, original: original.clone(), device },
            Undo::Text { path: "/etc/one.conf".into(), original: text, written: None },
            Undo::Discipline { namespace, interface, original },
        ]
    };
    let mut journal = begin(&fake);
    for undo in with("first").into_iter().chain([file("/made")]).chain(with("second")) {
        journal.record(&fake, undo).unwrap();
    }
    let expected = [with("first").as_slice(), &[file("/made")]].concat();
    assert_eq!((lines(&fake), noted(&fake, journal)), (5, expected));
}

#[test]
fn a_further_step_on_what_stands_moves_nothing_and_needs_a_line_of_its_own() {
    let fake = machine();
    let mut journal = begin(&fake);
    for undo in [file("/below"), file("/above")] {
        journal.record(&fake, undo).unwrap();
    }
    assert!(journal.warrant_for(&file("/below")).is_ok());
    let failure = journal.warrant_for(&file("/nobody")).unwrap_err();
    assert_eq!(failure.message, "the journal does not contain: remove /nobody");
    assert_eq!(noted(&fake, journal), [file("/below"), file("/above")]);
}

#[test]
fn a_line_that_could_not_be_written_changes_no_order() {
    let fake = machine();
    let mut journal = begin(&fake);
    for undo in [file("/one"), file("/two")] {
        journal.record(&fake, undo).unwrap();
    }
    assert!(journal.record(&Faulty::dying(&fake, 1), file("/one")).is_err());
    assert_eq!(journal.undos(), [file("/one"), file("/two")]);
    journal.record(&fake, file("/one")).unwrap();
    assert_eq!(noted(&fake, journal), [file("/two"), file("/one")]);
}

#[test]
fn a_journal_that_cannot_be_read_hides_no_other() {
    let fake = machine();
    change_read_ahead(&fake);
    let text = fake.files()[&path()].replace(FORMAT, "assay-journal/9");
    fake.put(Path::new(HOME).join("20261120-1100-aaaa.jsonl"), text);
    let found = left(&fake);
    assert_eq!(found.len(), 2);
    assert!(found[0].faults[0].contains("format is assay-journal/9"), "{:?}", found[0].faults);
    for undo in [restore, undo_lasting] {
        let report = undo(&fake, &found[0]).unwrap();
        assert_eq!((report.done.len(), report.failed.len()), (0, 1), "{report:?}");
    }
    assert_eq!(restore(&fake, &found[1]).unwrap().done.len(), 1);
    assert_eq!(read_ahead(&fake), "128");
}

#[test]
fn one_unreadable_line_holds_back_no_readable_one() {
    let fake = machine();
    change_read_ahead(&fake);
    let text = fake.files()[&path()].clone();
    let (head, setting) = text.split_once('\n').unwrap();
    fake.put("/made", "x");
    let made = String::from_utf8(
        to_line(&UndoEntry { lifetime: Lifetime::Persistent, undo: file("/made"), struck: false })
            .unwrap(),
    );
    fake.put(path(), format!("{head}\n{}{{\"undo\":1}}\n{setting}", made.unwrap()));
    let found = left(&fake).remove(0);
    assert!(found.faults[0].contains("line 3 of the journal "), "{:?}", found.faults);
    let report = restore(&fake, &found).unwrap();
    assert_eq!((report.done.len(), report.failed.len()), (2, 1), "{report:?}");
    assert!(report.failed[0].contains("manually"), "{report:?}");
    assert_eq!(
        (read_ahead(&fake).as_str(), fake.files().contains_key(Path::new("/made"))),
        ("128", false)
    );
    // It stays until somebody has looked at it.
    assert_eq!(left(&fake).len(), 1);
}

#[test]
fn a_damaged_head_holds_back_nothing_either() {
    let fake = machine();
    change_read_ahead(&fake);
    let text = fake.files()[&path()].clone();
    let (_, setting) = text.split_once('\n').unwrap();
    fake.put(path(), format!("\0\0\0\n{setting}"));
    let report = restore(&fake, &left(&fake)[0]).unwrap();
    assert_eq!((report.done.len(), report.failed.len()), (1, 1), "{report:?}");
    assert_eq!(read_ahead(&fake), "128");
}

#[test]
fn zeros_in_a_journal_are_damage_and_not_nothing_to_do() {
    let whole = {
        let fake = machine();
        change_read_ahead(&fake);
        fake.files()[&path()].clone()
    };
    for (text, done) in [("\0".repeat(4096), 0), (whole + &"\0".repeat(4096), 1)] {
        let fake = machine();
        change_read_ahead(&fake);
        fake.put(path(), text);
        let report = restore(&fake, &left(&fake)[0]).unwrap();
        assert_eq!((report.done.len(), report.failed.len()), (done, 1), "{report:?}");
        assert!(fake.files().contains_key(&path()), "the damage is kept to be looked at");
    }
}

#[test]
fn a_journal_that_cannot_be_begun_leaves_nothing_behind() {
    let mut call = 1;
    loop {
        let fake = machine();
        let full = Faulty::new(&fake, call, ErrorKind::StorageFull);
        let begun = Journal::begin(&full, Path::new(HOME), ID);
        if !full.has_failed() {
            break;
        }
        if let Err(failure) = begun {
            assert!(failure.message.contains("made to fail"), "{}", failure.message);
            assert_eq!(left(&fake), [], "call {call}");
            assert!(!fake.files().contains_key(&path()), "call {call}");
        }
        call += 1;
    }
    assert!(call > 5, "{call}");
}

#[test]
fn a_disk_is_the_same_by_its_running_number_whatever_it_is_called() {
    let fake = machine();
    change_read_ahead(&fake);
    fake.put("/sys/block/sda/size", "2000\n");
    assert_eq!(restore(&fake, &left(&fake)[0]).unwrap().done.len(), 1);
    assert_eq!(read_ahead(&fake), "128");
    change_read_ahead(&fake);
    fake.put("/sys/dev/block/8:0/diskseq", "8\n");
    assert_eq!(restore(&fake, &left(&fake)[0]).unwrap().nothing.len(), 1);
    assert_eq!(read_ahead(&fake), "4096", "another disk has the name");
}

#[test]
fn after_a_restart_running_numbers_mean_nothing() {
    let fake = machine();
    change_read_ahead(&fake);
    fake.put("/proc/sys/kernel/random/boot_id", "second\n");
    fake.put("/sys/block/sda/size", "2000\n");
    assert_eq!(undo_lasting(&fake, &left(&fake)[0]).unwrap().nothing.len(), 1);
    assert_eq!(read_ahead(&fake), "4096", "another disk with the same number");
    fake.put("/sys/block/sda/size", "1000\n").put("/proc/sys/kernel/random/boot_id", "first\n");
    change_read_ahead(&fake);
    fake.put("/proc/sys/kernel/random/boot_id", "third\n").put("/sys/dev/block/8:0/diskseq", "9\n");
    assert_eq!(undo_lasting(&fake, &left(&fake)[0]).unwrap().done.len(), 1);
    assert_eq!(read_ahead(&fake), "128");
}

#[test]
fn a_partitions_mark_has_the_number_of_its_disk() {
    let fake = Fake::new();
    fake.add(
        "\
file /sys/devices/sda/sda1/dev 8:1
file /sys/devices/sda/sda1/partition 1
file /sys/devices/sda/diskseq 7
link /sys/class/block/sda1 ../../devices/sda/sda1
link /sys/dev/block/8:1 ../../devices/sda/sda1
",
    )
    .unwrap();
    assert_eq!(Mark::now(&fake, "sda1").sequence, Some(7));
}

#[test]
fn a_file_stays_while_a_loop_device_has_it() {
    let fake = machine();
    fake.put("/room/disk", "x").put("/sys/block/loop3/loop/backing_file", "/room/disk\n");
    begin(&fake).record(&fake, file("/room/disk")).unwrap();
    let report = restore(&fake, &left(&fake)[0]).unwrap();
    assert!(report.failed[0].contains("loop3 still uses the file"), "{report:?}");
    assert!(fake.files().contains_key(Path::new("/room/disk")));
    fake.put("/sys/block/loop3/loop/backing_file", "/room/disk (deleted)\n");
    let found = crate::system::devices::loops_of(&fake, Path::new("/room/disk")).unwrap();
    assert_eq!(found, ["loop3"]);
    fake.remove("/sys/block/loop3");
    assert_eq!(restore(&fake, &left(&fake)[0]).unwrap().done.len(), 1);
}

/// A disk of 160 MiB with marks at its start.
fn with(marks: &str) -> (Fake, Undo) {
    let fake = machine();
    fake.add("file /sys/block/sda/size 327680\nlink /sys/dev/block/8:0 /sys/block/sda\nblock /dev/sda 8:0\nfile /sys/block/sda/diskseq 7\n")
        .unwrap();
    fake.put_marks(NUMBER, 0, marks).unwrap();
    let disk = Mark::now(&fake, "sda");
    (fake, Undo::FileSystem { disk, start: 0, label: "fourth".to_owned() })
}

const NUMBER: DeviceNumber = DeviceNumber { major: 8, minor: 0 };
const FOURTH: &str = "ext4 filesystem c69a5d19-a36d-4ed8-b834-091e39e13365 fourth";

fn put_copy(fake: &Fake) {
    for (offset, bytes) in Recording::load("ext4-copy").unwrap().rows {
        fake.put_content(NUMBER, offset, &bytes).unwrap();
    }
}

fn carried(fake: &Fake) -> Vec<String> {
    let device = fake.open_for_reading(Path::new("/dev/sda"), Caching::Buffered).unwrap();
    let found = signatures::in_range(fake, &device, &(0..160 << 20), Some(&device)).unwrap();
    found.into_iter().map(|found| found.name).collect()
}

#[test]
fn a_file_system_goes_with_the_copies_of_its_superblock() {
    let (fake, undo) = with(FOURTH);
    put_copy(&fake);
    assert_eq!(wiped(&fake, &undo).0.done.len(), 1);
    assert_eq!(carried(&fake), [""; 0]);
    // Marks of others do not hide it, and a copy with another UUID belongs to something else.
    let (fake, undo) = with("zfs_member filesystem - tank\next4 filesystem - fourth");
    put_copy(&fake);
    assert_eq!(wiped(&fake, &undo).0.done.len(), 1);
    assert_eq!(carried(&fake), ["ext4"]);
}

#[test]
fn copies_without_an_original_go_if_they_have_the_label() {
    let (fake, undo) = with("");
    put_copy(&fake);
    let Undo::FileSystem { disk, start, .. } = undo.clone() else { panic!("{undo:?}") };
    let other = Undo::FileSystem { disk, start, label: "fifth".to_owned() };
    assert_eq!((wiped(&fake, &other).0.nothing.len(), carried(&fake).len()), (1, 1));
    let (report, wipes) = wiped(&fake, &undo);
    assert_eq!((report.done.len(), wipes), (1, 1), "{report:?}");
    assert_eq!(carried(&fake), [""; 0]);
}

#[test]
fn what_was_made_since_where_a_file_system_was_stays() {
    let (fake, undo) = with("xfs filesystem - fifth");
    put_copy(&fake);
    assert_eq!(wiped(&fake, &undo).0.nothing.len(), 1);
    assert_eq!(carried(&fake), ["xfs", "ext4"]);
}

#[test]
fn without_blkid_nothing_is_wiped() {
    let (fake, undo) = with(FOURTH);
    fake.put_told("blkid -V", 1, "", "BusyBox v1.36.1\n");
    let (report, wipes) = wiped(&fake, &undo);
    assert!(report.failed[0].contains("install util-linux") && wipes == 0, "{report:?}");
    assert_eq!(left(&fake).len(), 1, "it is tried again");
}

/// A disk with a serial number, under another name since its file system was created.
fn renamed(id: &str, was: &str) -> (Fake, Undo) {
    let (fake, _) = with(FOURTH);
    fake.add("file /sys/block/sda/device/serial SERIAL-A\n").unwrap();
    let disk = Mark { name: was.to_owned(), id: id.to_owned(), sequence: Some(99) };
    (fake, Undo::FileSystem { disk, start: 0, label: "fourth".to_owned() })
}

fn wiped(fake: &Fake, undo: &Undo) -> (Report, usize) {
    let mut journal = begin(fake);
    journal.record(fake, undo.clone()).unwrap();
    let report = journal.finish(fake);
    let is_wipe = |act: &&Act| matches!(act, Act::Wipe { .. });
    (report, fake.acted().iter().filter(is_wipe).count())
}

#[test]
fn a_disk_that_came_back_under_another_name_is_found_by_its_serial_number() {
    let (fake, undo) = renamed("SERIAL-A", "sdq");
    let (report, wipes) = wiped(&fake, &undo);
    assert_eq!((report.done.len(), wipes), (1, 1), "{report:?}");
    assert_eq!(carried(&fake), [""; 0]);
}

#[test]
fn another_disk_is_not_wiped_for_one_that_is_gone() {
    for (id, was) in [("SERIAL-B", "sdq"), ("sdq:160MiB", "sdq"), ("SERIAL-B", "sda")] {
        let (fake, undo) = renamed(id, was);
        let (report, wipes) = wiped(&fake, &undo);
        assert_eq!((report.nothing.len(), wipes), (1, 0), "{id}: {report:?}");
        assert!(report.nothing[0].contains(&format!("{id} is not connected")), "{report:?}");
        assert_eq!(carried(&fake), ["ext4"], "{id}");
    }
}

#[test]
fn a_file_system_with_another_label_is_somebody_elses() {
    let (fake, undo) = with(FOURTH);
    let Undo::FileSystem { disk, start, .. } = undo else { panic!("{undo:?}") };
    for label in ["fifth", "fourt", "fourth ", ""] {
        let undo = Undo::FileSystem { disk: disk.clone(), start, label: label.to_owned() };
        let (report, wipes) = wiped(&fake, &undo);
        assert_eq!((report.nothing.len(), wipes), (1, 0), "{label:?}: {report:?}");
    }
    assert_eq!(carried(&fake), ["ext4"]);
}

/// Another scheduler begins with its own queue depth, and is restored last.
#[test]
fn a_setting_that_another_one_changes_is_right_in_the_end() {
    const QUEUE: &str = "/sys/block/sda/queue";
    let fake = machine();
    let paths = ["scheduler", "nr_requests"].map(|name| PathBuf::from(format!("{QUEUE}/{name}")));
    fake.put(&paths[0], "none [mq-deadline]\n").put(&paths[1], "96\n");
    let mut journal = begin(&fake);
    for (path, original) in paths.iter().zip(["mq-deadline", "96"]) {
        let (path, original) = (path.clone(), original.to_owned());
        journal.record(&fake, Undo::Setting { path, original, device: None }).unwrap();
    }
    fake.put(&paths[0], "[none] mq-deadline\n").put(&paths[1], "32\n");
    let report = journal.finish(&fake);
    assert_eq!(report.failed, Vec::<String>::new());
    let now = paths.map(|path| fake.read_text(&path).unwrap());
    assert_eq!(now, ["none [mq-deadline]\n", "96\n"]);
}

/// Names with a size are given again: the next disk of that name is another one.
#[test]
fn the_next_disk_without_a_serial_number_is_not_the_one_that_was_there() {
    let (fake, undo) = with(FOURTH);
    let Undo::FileSystem { disk, start, label } = undo else { panic!("{undo:?}") };
    assert_eq!(disk.id, "sda:160MiB");
    let undo = Undo::FileSystem { disk: Mark { sequence: Some(99), ..disk }, start, label };
    let (report, wipes) = wiped(&fake, &undo);
    assert_eq!((report.nothing.len(), wipes), (1, 0), "{report:?}");
    assert_eq!(carried(&fake), ["ext4"]);
}

#[test]
fn a_file_that_is_gone_is_removed_and_any_other_trouble_is_told() {
    let fake = machine();
    let nowhere = Path::new("/nowhere");
    assert!(restore::remove_file(&fake, Warrant(()), nowhere).is_ok());
    let faulty = Faulty::new(&fake, 1, ErrorKind::PermissionDenied);
    assert!(restore::remove_file(&faulty, Warrant(()), nowhere).is_err());
}

fn hurting(kind: ErrorKind) -> Vec<u64> {
    let mut hurting = Vec::new();
    for call in 1.. {
        let (fake, undo) = with(FOURTH);
        begin(&fake).record(&fake, undo).unwrap();
        let left = left(&fake).remove(0);
        let faulty = Faulty::new(&fake, call, kind);
        let report = restore(&faulty, &left);
        if !faulty.has_failed() {
            break;
        }
        if report.is_ok_and(|report| !report.failed.is_empty()) {
            hurting.push(call);
        }
    }
    hurting
}

/// Unreadable does not mean gone: the journal stays until everything was checked.
#[test]
fn whatever_cannot_be_read_keeps_the_journal_until_all_is_undone() {
    let begun = || {
        let fake = machine();
        fake.add("block /dev/sda 8:0\ndir /dev\ndir /room\ndir /sys/devices/virtual/block")
            .unwrap();
        let mut journal = begin(&fake);
        let mut act = |undo: Undo, act: Act| {
            let warrant = journal.record(&fake, undo).unwrap();
            fake.act(warrant, &act).unwrap();
        };
        let range = 0..4096;
        let undo = Undo::Partition { disk: Mark::now(&fake, "sda"), number: 1, start: 0 };
        act(undo, Act::AddPartition { disk: "/dev/sda".into(), number: 1, range });
        act(
            Undo::Loop { file: "/dev/sda".into(), device: None },
            Act::AttachLoop { device: "/dev/loop0".into(), file: "/dev/sda".into() },
        );
        drop(journal);
        fake
    };
    let there = |fake: &Fake| {
        let is = |name| fake.status(&Path::new("/sys/class/block").join(name)).is_ok();
        [is("sda1"), is("loop0")]
    };
    let mut failing = 0;
    for call in 1.. {
        let fake = begun();
        assert_eq!(there(&fake), [true; 2]);
        let left = left(&fake).remove(0);
        let faulty = Faulty::new(&fake, call, ErrorKind::Other);
        let _ = restore(&faulty, &left);
        if !faulty.has_failed() {
            assert_eq!(there(&fake), [false; 2]);
            break;
        }
        let now = there(&fake);
        assert!(now == [false; 2] || fake.status(&path()).is_ok(), "call {call}: {now:?}");
        failing = call;
    }
    assert!(failing > 10, "{failing}");
}

#[test]
fn what_is_busy_is_tried_again() {
    let [busy, other] = [ErrorKind::ResourceBusy, ErrorKind::Other].map(hurting);
    assert!(busy.len() < other.len(), "{busy:?} {other:?}");
}

/// A loop device with Assay's own backing file, and the kernel's later view of it.
fn loop_shown_as(shown: &str) -> (Fake, Mark) {
    let fake = machine();
    fake.add("dir /dev\ndir /room\ndir /sys/devices/virtual/block").unwrap();
    let mut journal = begin(&fake);
    let mut act = |undo: Undo, act: Act| {
        let warrant = journal.record(&fake, undo).unwrap();
        fake.act(warrant, &act).unwrap();
    };
    let made = PathBuf::from("/room/20261120-ab12-disk-1");
    act(file("/room/20261120-ab12-disk-1"), Act::CreateFile { path: made.clone(), bytes: 4096 });
    let undo = Undo::Loop { file: made.clone(), device: None };
    act(undo, Act::AttachLoop { device: "/dev/loop0".into(), file: made });
    let mark = Mark::now(&fake, "loop0");
    fake.put("/sys/devices/virtual/block/loop0/loop/backing_file", format!("{shown}\n"));
    (fake, mark)
}

#[test]
fn a_loop_device_is_told_by_the_end_of_its_files_path_or_by_itself() {
    let path = "/room/20261120-ab12-disk-1";
    let stands = |fake: &Fake| fake.status(Path::new("/sys/class/block/loop0")).is_ok();
    for shown in [path, "/20261120-ab12-disk-1", "/20261120-ab12-disk-1 (deleted)"] {
        let (fake, _) = loop_shown_as(shown);
        assert_eq!(restore(&fake, &left(&fake)[0]).unwrap().failed, [""; 0], "{shown}");
        assert!(!stands(&fake), "{shown}");
    }
    // Somebody else's: another file, or one whose name only ends so.
    for shown in ["/elsewhere/disk-1", "/26-ab12-disk-1", "", "/"] {
        let (fake, mark) = loop_shown_as(shown);
        assert_eq!(restore(&fake, &left(&fake)[0]).unwrap().failed, [""; 0], "{shown}");
        assert!(stands(&fake), "{shown}");
        let undo = Undo::Loop { file: path.into(), device: Some(mark) };
        begin(&fake).record(&fake, undo.clone()).unwrap();
        fake.replug(Path::new("/dev/loop0"));
        assert_eq!(restore(&fake, &left(&fake)[0]).unwrap().failed, [""; 0], "{shown}");
        assert!(stands(&fake), "another device is left alone: {shown}");
    }
    let (fake, mark) = loop_shown_as("/nowhere");
    let undo = Undo::Loop { file: path.into(), device: Some(mark) };
    let mut journal = Journal::resume(&fake, Path::new(HOME), ID).unwrap().unwrap();
    journal.record(&fake, undo).unwrap();
    drop(journal);
    assert_eq!(restore(&fake, &left(&fake)[0]).unwrap().failed, [""; 0]);
    assert!(!stands(&fake), "told by itself");
}

#[test]
fn what_older_versions_noted_of_loop_devices_is_read() {
    let line = r#"{"lifetime":"volatile","undo":{"loop":{"file":"/room/disk"}}}"#;
    let undo = Undo::Loop { file: "/room/disk".into(), device: None };
    let entry = UndoEntry { lifetime: undo.lifetime(), undo, struck: false };
    assert_eq!(serde_json::from_str::<UndoEntry>(line).unwrap(), entry);
    assert_eq!(serde_json::to_string(&entry).unwrap(), line);
}
