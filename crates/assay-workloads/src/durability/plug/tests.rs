//! Trials on a fake machine that loses its power after a chosen acknowledgment.

use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use assay_machine::system::Fake;
use assay_machine::system::fake::POWER;
use assay_machine::system::network::Token;
use assay_machine::system::network::protocol::TOKEN_VARIABLE;

use super::*;
use crate::durability::drive::Drive;
use crate::durability::image::fill;
use crate::durability::judge::{CutOutcome, Found};
use crate::durability::pattern::Pattern;

const TARGET: &str = "/srv";
const DEVICE: &str = "/dev/given-up";

#[derive(Default)]
struct Noted(Mutex<Vec<String>>);

impl NoteStore for Noted {
    fn result(&self) -> &'static str {
        "20261126-1000-plug"
    }

    fn trial(&self) -> u32 {
        3
    }

    fn last(&self) -> Option<String> {
        self.0.lock().unwrap().last().cloned()
    }

    fn add(&self, text: &str) -> io::Result<()> {
        self.0.lock().unwrap().push(text.to_owned());
        Ok(())
    }
}

impl Noted {
    fn is_over(&self) -> bool {
        self.last().is_some_and(|note| is_over(&note))
    }
}

fn machine() -> Fake {
    let fake = Fake::new();
    fake.add("dir /srv").unwrap();
    fake.put(BOOT, "first\n").put(DEVICE, "");
    fake.set_variable(TOKEN_VARIABLE, "what both ends of this test know");
    fake
}

fn course(pattern: Pattern, sync: SyncBy) -> DurabilityTrial {
    DurabilityTrial {
        pattern,
        sync,
        record_bytes: 512,
        promises: 1,
        time_ns: 3_600_000_000_000,
        cuts: 1,
        drive: Drive::HonorsFlushes,
        atomic_bytes: 4096,
        area: [0, 0],
        seed: 5,
        run: 0,
    }
}

fn ran(fake: &Fake, notes: &Noted, course: &DurabilityTrial) -> Result<DurabilityDetail, String> {
    ran_until(fake, notes, course, &AtomicBool::new(false))
}

fn ran_until(
    fake: &Fake,
    notes: &Noted,
    course: &DurabilityTrial,
    stop: &AtomicBool,
) -> Result<DurabilityDetail, String> {
    let path = Path::new(TARGET);
    let ground =
        PlugTarget { system: fake, path, device: None, area: [0, 0], notes: Some(notes), stop };
    Plug { course, peer: "192.168.1.2:7710", ground }.run()
}

/// Cuts the power after the peer received this many rounds, and restarts the machine.
fn cut(fake: &Fake, course: &DurabilityTrial, at: u64) -> Noted {
    let notes = Noted::default();
    fake.cut_power_at(at);
    let ended = catch_unwind(AssertUnwindSafe(|| ran(fake, &notes, course)));
    let why = ended.expect_err("it was to be cut");
    assert_eq!(why.downcast_ref::<&str>(), Some(&POWER));
    assert!(!notes.is_over() && fake.kept().len() == 1);
    fake.start_again("second\n");
    notes
}

#[test]
fn what_was_promised_is_there_after_an_honest_cut() {
    for pattern in Pattern::OF_PLACES {
        for (at, sync) in [(1, SyncBy::Fdatasync), (7, SyncBy::Dsync), (40, SyncBy::Fsync)] {
            let (fake, course) = (machine(), course(pattern, sync));
            let notes = cut(&fake, &course, at);
            let own = ran(&fake, &notes, &course).unwrap();
            let tally = &own.tally;
            assert_eq!(
                (tally.lost, tally.crash_points, tally.acknowledged_writes, own.rounds),
                (0, 1, at, at),
                "{pattern:?}: {:?}",
                tally.counterexample
            );
            assert!(fake.kept().is_empty(), "its file is gone");
            // A repeated question, as after another power loss, gets the same answer without a peer or a file.
            fake.lose_peer("no way there");
            assert_eq!(ran(&fake, &notes, &course).unwrap(), own);
        }
    }
}

#[test]
fn a_file_that_lacks_what_was_promised_is_found_with_its_story() {
    for pattern in Pattern::OF_PLACES {
        let (fake, course) = (machine(), course(pattern, SyncBy::Fdatasync));
        let notes = cut(&fake, &course, 20);
        let (_, file) = fake.kept().remove(0);
        // Like a drive that lost its cache: the file has its length, but none of its bytes.
        let length = file.metadata().unwrap().len();
        file.write_all_at(&vec![0; length as usize], 0).unwrap();
        let own = ran(&fake, &notes, &course).unwrap();
        assert_eq!((own.tally.lost, own.tally.crash_points), (1, 1), "{pattern:?}");
        assert!(own.tally.found.contains_key(&Found::Nothing), "{:?}", own.tally.found);
        let Some(Counterexample::Place(story)) = own.tally.counterexample else {
            panic!("{pattern:?}")
        };
        assert!(story.written_step < story.acknowledged_step, "{story:?}");
        assert!(Some(story.acknowledged_step) <= story.crash_step && story.survivors.is_none());
    }
}

#[test]
fn a_file_that_is_shorter_or_gone_has_lost_what_was_promised() {
    let course = course(Pattern::Log, SyncBy::Fdatasync);
    let fake = machine();
    let notes = cut(&fake, &course, 20);
    let (_, file) = fake.kept().remove(0);
    file.set_len(file.metadata().unwrap().len() - 512).unwrap();
    let own = ran(&fake, &notes, &course).unwrap();
    assert_eq!((own.tally.lost, own.tally.found[&Found::Nothing]), (1, 1), "{:?}", own.tally);
    let fake = machine();
    let notes = cut(&fake, &course, 20);
    fake.lose_kept();
    let own = ran(&fake, &notes, &course).unwrap();
    assert_eq!((own.tally.lost, own.tally.crash_points), (1, 1));
    assert!(own.tally.found.keys().eq([&Found::Unreachable]), "{:?}", own.tally.found);
}

#[test]
fn without_a_sync_nothing_is_promised_whatever_is_there() {
    let course = course(Pattern::Log, SyncBy::None);
    for is_gone in [false, true] {
        let fake = machine();
        let notes = cut(&fake, &course, 20);
        if is_gone {
            fake.lose_kept();
        }
        let own = ran(&fake, &notes, &course).unwrap();
        assert_eq!(
            (own.tally.acknowledged_writes, own.tally.lost, own.tally.crash_points),
            (0, 0, 1)
        );
        assert_eq!(own.tally.outcomes.contains_key(&CutOutcome::AllGone), is_gone);
        assert_eq!(own.rounds, 20);
    }
}

#[test]
fn what_was_under_way_is_nobody_s_loss() {
    let course = course(Pattern::InPlace, SyncBy::Fdatasync);
    let fake = machine();
    let notes = cut(&fake, &course, 20);
    let plug = |fake: &Fake| {
        let stop = AtomicBool::new(false);
        let path = Path::new(TARGET);
        let ground = PlugTarget {
            system: fake,
            path,
            device: None,
            area: [0, 0],
            notes: Some(&notes),
            stop: &stop,
        };
        Plug { course: &course, peer: "", ground }.derive_writes(20).unwrap()
    };
    // The round after the last reported one is already complete.
    let (written, known, _) = plug(&fake);
    let Some(TrialNote::Begun(begun)) =
        notes.last().and_then(|text| serde_json::from_str::<TrialNote>(&text).ok())
    else {
        panic!("{:?}", notes.last())
    };
    let (_, file) = fake.kept().remove(0);
    let mut bytes = [0; 512];
    for number in known.promised..known.begun {
        let at = written.log.writes[number as usize].at;
        fill(&mut bytes, begun.run, at, number);
        file.write_all_at(&bytes, 4096 + at * SECTOR_BYTES).unwrap();
    }
    assert!(known.begun > known.promised);
    let own = ran(&fake, &notes, &course).unwrap();
    assert_eq!(own.tally.lost, 0);
    assert!(own.tally.outcomes.contains_key(&CutOutcome::AllThere), "{:?}", own.tally.outcomes);
}

#[test]
fn a_peer_that_was_lost_is_told_and_is_no_cut_without_a_loss() {
    let course = course(Pattern::Log, SyncBy::Fdatasync);
    let fake = machine();
    let notes = cut(&fake, &course, 5);
    fake.restart_peer();
    let told = ran(&fake, &notes, &course).unwrap_err();
    assert!(told.contains("192.168.1.2:7710 no longer has a record of this trial"), "{told}");
    assert!(notes.is_over() && fake.kept().is_empty());

    let fake = machine();
    let notes = cut(&fake, &course, 5);
    fake.lose_peer("no way there");
    let told = ran(&fake, &notes, &course).unwrap_err();
    assert!(told.contains("cannot reach peer") && told.contains("no way there"), "{told}");
    assert!(fake.monotonic_ns() > 50_000_000_000, "it was waited for");
    assert!(notes.is_over() && fake.kept().is_empty());

    let (fake, notes) = (machine(), Noted::default());
    fake.lose_peer("no way there");
    assert!(ran(&fake, &notes, &course).unwrap_err().contains("no way there"));
    assert!(fake.kept().is_empty() && notes.last().is_none(), "nothing was started");
}

#[test]
fn a_peer_that_is_lost_while_it_writes_ends_the_trial() {
    let course = course(Pattern::Log, SyncBy::Fdatasync);
    let (fake, notes) = (machine(), Noted::default());
    let told = thread::scope(|scope| {
        let writes = scope.spawn(|| ran(&fake, &notes, &course));
        while fake.called().is_empty() && !writes.is_finished() {
            thread::yield_now();
        }
        fake.restart_peer();
        writes.join().unwrap().unwrap_err()
    });
    assert!(told.contains("during the test"), "{told}");
    assert!(notes.is_over() && fake.kept().is_empty());
}

#[test]
fn another_token_is_none_of_its_own() {
    let course = course(Pattern::Log, SyncBy::Fdatasync);
    let fake = machine();
    let notes = cut(&fake, &course, 5);
    for (token, why) in [("what only this end knows, sadly", "a different token"), ("", "no token")]
    {
        fake.set_variable(TOKEN_VARIABLE, token);
        assert!(ran(&fake, &notes, &course).unwrap().stopped);
        let told = fake.called().pop().unwrap();
        assert!(
            told.contains("cannot evaluate the power cut yet")
                && (told.contains(why) || told.contains("another token")),
            "{told}"
        );
        assert!(!notes.is_over() && fake.kept().len() == 1, "a mistake here costs no cut");
    }
    fake.set_variable(TOKEN_VARIABLE, "what both ends of this test know");
    assert_eq!(ran(&fake, &notes, &course).unwrap().tally.lost, 0);
}

#[test]
fn nobody_who_cuts_is_no_cut() {
    let course = DurabilityTrial { time_ns: 50_000_000, ..course(Pattern::Log, SyncBy::Fdatasync) };
    let (fake, notes) = (machine(), Noted::default());
    let told = ran(&fake, &notes, &course).unwrap_err();
    assert!(told.contains("the power was not cut"), "{told}");
    let [call] = &fake.called()[..] else { panic!("{:?}", fake.called()) };
    assert!(call.contains("pull the plug now"), "{call}");
    assert!(call.contains("assay resume 20261126-1000-plug"), "{call}");
    assert!(notes.is_over() && fake.kept().is_empty());
}

#[test]
fn a_cut_before_the_first_promise_is_not_counted() {
    let course = course(Pattern::Log, SyncBy::Fdatasync);
    let (fake, notes) = (machine(), Noted::default());
    let mut ledger = fake.ledger("", &Token::new("what both ends of this test know").unwrap());
    let begun = BegunTrial { boot: "first".to_owned(), key: "01".repeat(32), run: 1 };
    ledger.as_mut().unwrap().open(&[1; 32]).unwrap();
    notes.add(&serde_json::to_string(&TrialNote::Begun(begun)).unwrap()).unwrap();
    fake.start_again("second\n");
    let told = ran(&fake, &notes, &course).unwrap_err();
    assert!(told.contains("before the first write") && notes.is_over(), "{told}");
}

#[test]
fn a_start_that_is_the_same_is_no_cut() {
    let course = course(Pattern::Log, SyncBy::Fdatasync);
    let fake = machine();
    let notes = cut(&fake, &course, 5);
    fake.start_again("first\n");
    let told = ran(&fake, &notes, &course).unwrap_err();
    assert!(told.contains("same boot ID"), "{told}");
    assert!(notes.is_over() && fake.kept().is_empty());
}

#[test]
fn who_stops_it_has_nothing_left_behind_and_loses_no_cut() {
    let course = course(Pattern::Log, SyncBy::Fdatasync);
    let (fake, notes, stop) = (machine(), Noted::default(), AtomicBool::new(true));
    assert!(ran_until(&fake, &notes, &course, &stop).unwrap().stopped);
    assert!(notes.is_over() && fake.kept().is_empty());
    let notes = cut(&fake, &course, 5);
    assert!(ran_until(&fake, &notes, &course, &stop).unwrap().stopped);
    assert!(!notes.is_over() && fake.kept().len() == 1, "it is judged when it is gone on with");
    assert_eq!(ran(&fake, &notes, &course).unwrap().tally.crash_points, 1);
}

#[test]
fn a_device_is_written_in_its_area_and_read_again() {
    let (fake, course) = (machine(), course(Pattern::Transaction, SyncBy::Fdatasync));
    let file = memory(&fake);
    let notes = Noted::default();
    let stop = AtomicBool::new(false);
    let run = || {
        let ground = PlugTarget {
            system: &fake,
            path: Path::new(DEVICE),
            device: Some(&file),
            area: [1 << 20, 1 << 20],
            notes: Some(&notes),
            stop: &stop,
        };
        Plug { course: &course, peer: "", ground }.run()
    };
    fake.cut_power_at(12);
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    fake.start_again("second\n");
    let mut before = vec![0; 1 << 20];
    file.read_exact_at(&mut before, 0).unwrap();
    assert!(before.iter().all(|byte| *byte == 0), "what lies before its area is not its own");
    assert_eq!((run().unwrap().tally.lost, fake.kept().len()), (0, 0));
}

fn memory(fake: &Fake) -> File {
    let made = fake.create_kept(Path::new(TARGET), ".assay-plug-0123456789abcdef").unwrap();
    fake.lose_kept();
    made.file
}

#[test]
fn a_log_that_is_full_begins_anew() {
    let layout = RecordLayout::new(Pattern::Log, 4096, 10 * 4096).unwrap();
    let acts = endless_rounds(layout, 1).take(40).flatten();
    let places: Vec<u64> = acts
        .filter_map(|act| match act {
            Action::Write { at, .. } => Some(at / 8),
            _ => None,
        })
        .collect();
    assert!(places.len() > 40, "{places:?}");
    for (at, place) in places.iter().enumerate() {
        assert_eq!(*place, at as u64 % 10);
    }
}

#[test]
fn what_lasts_is_read_as_it_is_written() {
    let begun = BegunTrial { boot: "a".to_owned(), key: "01".repeat(32), run: u64::MAX };
    for note in
        [TrialNote::Begun(begun.clone()), TrialNote::Judged(Box::default()), TrialNote::Over]
    {
        let text = serde_json::to_string(&note).unwrap();
        assert_eq!(serde_json::from_str::<TrialNote>(&text).unwrap(), note);
        assert_eq!(is_over(&text), note == TrialNote::Over);
    }
    assert_eq!(begun.file(), ".assay-plug-0101010101010101");
    assert!(!is_over("") && BegunTrial { key: "zz".to_owned(), ..begun }.trial().is_err());
}
