//! Trials in virtual machines: a program in one writes, the log is taken by the drive below it, and what is there after a
//! cut is read by a kernel and its file system.
//!
//! Two grades. *Kill*: the drive stops answering at a moment that is drawn, the machine loses its power, and the
//! next one finds what the drive kept. *Replay*: one machine writes to the end, and its log is cut as often as that is
//! asked; of file systems another look of the same machine reads each cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_base::draws::Draws;
use assay_system::system::powered::{FarSide, Heard, MOMENT_MS, Powered, Starts};

use crate::below::On;
use crate::cut::{Cut, moment};
use crate::guest::{Answer, Order, Script, Writer, image};
use crate::image::{Seen, look};
use crate::judge::{Judgement, Written};
use crate::log::{Known, SECTOR_BYTES, Step, Write};
use crate::pages::Pages;
use crate::pattern::Act;
use crate::served::{End, Logged, Served};
use crate::sync::Sync;
use crate::trial::{Course, Detail};

/// Bytes that a program has in a machine.
pub const AREA_BYTES: u64 = 64 << 20;
/// A machine that says nothing for so long says nothing any more: five minutes.
const PATIENCE: u64 = 300_000 / MOMENT_MS;
/// Moments without a word after which nothing is on its way any more.
const DRAINED: u32 = 3;
/// Requests after a promise before the power goes, at most.
const MOST_REQUESTS: u64 = 12;

/// A trial in virtual machines.
#[derive(Clone, Copy, Debug)]
pub struct Outage<'a> {
    /// What is done; its area is not that of the target.
    pub course: &'a Course,
    pub on: On,
    /// Options that the file system is mounted with.
    pub mounted: &'a str,
}

/// What came of a look at a drive.
type Look = Result<Vec<Seen>, String>;

impl Outage<'_> {
    /// Takes the power of a machine for each cut.
    ///
    /// # Errors
    /// There is no machine, or it does not what it is told.
    pub fn kill(&self, starts: &mut dyn Starts, stop: &AtomicBool) -> Result<Detail, String> {
        let program = Programmed::of(&self.script())?;
        let drive = Arc::new(Served::new(self.on.drive_bytes()));
        let mut draws = Draws::new(self.course.seed, "durability power cuts");
        let mut detail = Detail::default();
        let mut talk = Talk::begin(starts, &drive, stop)?;
        let fresh = self.made(&mut talk, &drive)?;
        for _ in 0..self.course.cuts {
            let ends = End {
                rounds: 1 + draws.below(program.rounds.len() as u64) as u32,
                requests: draws.below(MOST_REQUESTS + 1) as u32,
                answers: draws.below(2) == 1,
            };
            drive.begin(&fresh, Some(ends));
            if !self.write_until_cut(&mut talk, &drive)? {
                break;
            }
            // Its power goes with it.
            drop(talk);
            let logged = drive.logged();
            let steps = logged.log.steps.len();
            let (pages, cut) = logged.after(self.kept(), steps, &mut draws);
            drive.begin(&pages, None);
            talk = Talk::begin(starts, &drive, stop)?;
            let Some(look) = self.look(&mut talk)? else { break };
            self.count_logged(&logged, &mut detail);
            self.count(&program, (logged.rounds(steps), cut), look, &mut detail);
        }
        detail.stopped = stop.load(Ordering::Relaxed);
        Ok(detail)
    }

    /// Has one machine write to the end, and cuts the log of its drive.
    ///
    /// # Errors
    /// As of [`Outage::kill`].
    pub fn replay(&self, starts: &mut dyn Starts, stop: &AtomicBool) -> Result<Detail, String> {
        let program = Programmed::of(&self.script())?;
        let drive = Arc::new(Served::new(self.on.drive_bytes()));
        let mut detail = Detail::default();
        let mut talk = Talk::begin(starts, &drive, stop)?;
        let fresh = self.made(&mut talk, &drive)?;
        drive.begin(&fresh, None);
        if self.write_until_cut(&mut talk, &drive)? {
            let logged = drive.logged();
            self.count_logged(&logged, &mut detail);
            self.cuts(&program, &logged, (&mut talk, &drive), &mut detail)?;
        }
        detail.stopped = stop.load(Ordering::Relaxed);
        Ok(detail)
    }

    fn cuts(
        &self,
        program: &Programmed,
        logged: &Logged,
        (talk, drive): (&mut Talk<'_>, &Served),
        detail: &mut Detail,
    ) -> Result<(), String> {
        let mut draws = Draws::new(self.course.seed, "durability cuts");
        for _ in 0..self.course.cuts {
            if talk.is_stopped() {
                break;
            }
            let steps = moment(&logged.log, &mut draws);
            let (pages, cut) = logged.after(self.kept(), steps, &mut draws);
            let look = if self.on.has_files() {
                drive.begin(&pages, None);
                let Some(look) = self.look(talk)? else { break };
                look
            } else {
                Ok(self.seen(&pages, program.bytes()))
            };
            self.count(program, (logged.rounds(steps), cut), look, detail);
        }
        Ok(())
    }

    fn script(&self) -> Script {
        let Course { pattern, sync, record_bytes, promises, seed, run, .. } = *self.course;
        Script { pattern, sync, record_bytes, rounds: promises, area_bytes: AREA_BYTES, seed, run }
    }

    /// What keeps what was written, and how much of it in one.
    fn kept(&self) -> (crate::drive::Drive, u32) {
        (self.course.drive, (self.course.atomic_bytes / SECTOR_BYTES).max(1) as u32)
    }

    /// What lies on a drive on which a program can begin.
    fn made(&self, talk: &mut Talk<'_>, drive: &Served) -> Result<Pages, String> {
        drive.begin(&Pages::default(), None);
        if self.on.has_files() {
            talk.say(&Order::Make { on: self.on })?;
            match talk.answer()? {
                None | Some(Answer::Done) => {}
                Some(other) => return Err(told(&other)),
            }
        }
        Ok(drive.content())
    }

    /// Has the program write until the power goes, or all is done and let go; whether nobody stopped it.
    fn write_until_cut(&self, talk: &mut Talk<'_>, drive: &Served) -> Result<bool, String> {
        let writer = Writer::Pattern(self.script());
        talk.say(&Order::Write { on: self.on, mounted: self.mounted.to_owned(), writer })?;
        let is_promised = self.course.sync != Sync::None;
        let mut silent = 0;
        loop {
            let Some(heard) = talk.heard()? else { return Ok(false) };
            silent = if heard.is_none() { silent + 1 } else { 0 };
            match heard {
                None if drive.is_off() && silent >= DRAINED => return Ok(true),
                None => talk.is_patient(u64::from(silent))?,
                Some(Answer::Round(_)) => drive.heard(is_promised),
                Some(Answer::Written) => drive.end(),
                Some(Answer::Done) => return Ok(true),
                // Without power its drive fails, sooner or later.
                Some(_) if drive.is_off() => {}
                Some(other) => return Err(told(&other)),
            }
        }
    }

    /// What is there now; none where somebody stopped it.
    fn look(&self, talk: &mut Talk<'_>) -> Result<Option<Look>, String> {
        let bytes = AREA_BYTES.min(Programmed::of(&self.script())?.bytes());
        let (on, mounted, run) = (self.on, self.mounted.to_owned(), self.course.run);
        talk.say(&Order::Read { on, mounted, run, bytes })?;
        match talk.answer()? {
            None => Ok(None),
            Some(Answer::There(runs)) => {
                Ok(Some(Ok(image(&runs, (bytes / SECTOR_BYTES) as usize))))
            }
            Some(Answer::Unreachable(text)) => Ok(Some(Err(text))),
            Some(other) => Err(told(&other)),
        }
    }

    /// The same without a machine.
    fn seen(&self, pages: &Pages, bytes: u64) -> Vec<Seen> {
        let mut sector = [0; SECTOR_BYTES as usize];
        let at = |number: u64| {
            pages.read(number * SECTOR_BYTES, &mut sector);
            look(&sector, self.course.run, number)
        };
        (0..bytes / SECTOR_BYTES).map(at).collect()
    }

    fn count_logged(&self, logged: &Logged, detail: &mut Detail) {
        let rounds = logged.rounds(logged.log.steps.len());
        detail.rounds += u64::from(rounds);
        detail.tally.promises += logged.log.promises();
        detail.writes += logged.log.writes.len() as u64;
        let bytes = |own: &Write| u64::from(own.sectors) * SECTOR_BYTES;
        detail.written_bytes += logged.log.writes.iter().map(bytes).sum::<u64>();
        let is_flush = |step: &&Step| **step == Step::Flush;
        detail.syncs += logged.log.steps.iter().filter(is_flush).count() as u64;
    }

    fn count(
        &self,
        program: &Programmed,
        (rounds, cut): (u32, Cut),
        look: Look,
        detail: &mut Detail,
    ) {
        let is_promised = self.course.sync != Sync::None;
        let known = program.known(rounds, is_promised);
        let judgement: Judgement = match look {
            Ok(image) => program.written.judged_as(&image, known),
            Err(_) => {
                detail.tally.unreachable += 1;
                program.written.without_any(known)
            }
        };
        // The story is told in steps of the program: what the drive was asked in between is its kernel's.
        let cut = Cut { steps: program.steps(rounds), ..cut };
        self.course.count(&program.written, &cut, &judgement, &mut detail.tally);
    }
}

/// All that a program does, were it not cut.
struct Programmed {
    written: Written,
    rounds: Vec<Round>,
}

/// What is known once a round is done.
struct Round {
    /// Writes below that were promised by it.
    promised: u32,
    /// Writes below that had been begun at its end.
    begun: u32,
    /// Steps up to its promise.
    steps: usize,
}

impl Programmed {
    fn of(script: &Script) -> Result<Self, String> {
        let (layout, all) = script.acts()?;
        let mut written = Written::with_room(layout, all.iter().map(Vec::len).sum());
        let mut rounds = Vec::new();
        for acts in all {
            let (mut promised, mut steps) = (0, 0);
            for act in acts {
                match act {
                    Act::Write { what, at } => {
                        written.log.write(Write { at, sectors: layout.sectors, through: false });
                        written.whats.push(what);
                    }
                    Act::Sync => written.log.flush(),
                    Act::Promise => {
                        written.log.promise();
                        promised = written.log.writes.len() as u32;
                        steps = written.log.steps.len();
                    }
                }
            }
            rounds.push(Round { promised, begun: written.log.writes.len() as u32, steps });
        }
        if rounds.is_empty() {
            Err("there is nothing to write".to_owned())
        } else {
            Ok(Self { written, rounds })
        }
    }

    /// Bytes up to the end of what it writes.
    fn bytes(&self) -> u64 {
        self.written.log.sectors() * SECTOR_BYTES
    }

    /// What is known where so many rounds were heard of; the next one may be under way.
    fn known(&self, rounds: u32, is_promised: bool) -> Known {
        let heard = (rounds as usize).min(self.rounds.len());
        let last = self.rounds[..heard].last().filter(|_| is_promised);
        let under_way = self.rounds.get(heard).or(self.rounds.last());
        let [promised, begun] = [last.map(|own| own.promised), under_way.map(|own| own.begun)];
        Known { begun: begun.unwrap_or_default(), promised: promised.unwrap_or_default() }
    }

    /// Steps that are known to have been done then.
    fn steps(&self, rounds: u32) -> usize {
        let heard = (rounds as usize).min(self.rounds.len());
        self.rounds[..heard].last().map_or(0, |own| own.steps)
    }
}

/// What went wrong, by an answer that should not have come.
fn told(answer: &Answer) -> String {
    match answer {
        Answer::Failed(text) | Answer::Unreachable(text) => {
            format!("in the virtual machine: {text}")
        }
        other => format!("the virtual machine says {other:?} out of turn"),
    }
}

/// A machine that is spoken to.
struct Talk<'a> {
    powered: Box<dyn Powered + 'a>,
    stop: &'a AtomicBool,
}

impl<'a> Talk<'a> {
    /// Starts a machine, and waits until its job listens.
    fn begin(
        starts: &'a mut dyn Starts,
        drive: &Arc<Served>,
        stop: &'a AtomicBool,
    ) -> Result<Self, String> {
        let far: Arc<dyn FarSide> = Arc::clone(drive) as Arc<dyn FarSide>;
        let mut own = Self { powered: starts.start(far)?, stop };
        match own.answer()? {
            None | Some(Answer::Ready) => Ok(own),
            Some(other) => Err(told(&other)),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn say(&mut self, order: &Order) -> Result<(), String> {
        self.powered.say(&serde_json::to_string(order).unwrap_or_default())
    }

    /// What was heard in a moment, if anything; none where somebody stopped it.
    #[allow(clippy::option_option, reason = "nothing was heard, or nobody listens any more")]
    fn heard(&mut self) -> Result<Option<Option<Answer>>, String> {
        if self.is_stopped() {
            return Ok(None);
        }
        match self.powered.hear() {
            Heard::Nothing => Ok(Some(None)),
            Heard::Over(last) => Err(format!("the virtual machine ended:\n{last}")),
            // Of this very program: only a machine that dies says half a line.
            Heard::Line(line) => Ok(Some(serde_json::from_str(&line).ok())),
        }
    }

    /// Waits for an answer; none where somebody stopped it.
    fn answer(&mut self) -> Result<Option<Answer>, String> {
        for silent in 0.. {
            match self.heard()? {
                None => return Ok(None),
                Some(None) => self.is_patient(silent)?,
                Some(answer) => return Ok(answer),
            }
        }
        Ok(None)
    }

    #[allow(clippy::unused_self, reason = "it is of this talk")]
    fn is_patient(&self, silent: u64) -> Result<(), String> {
        if silent < PATIENCE {
            return Ok(());
        }
        let minutes = PATIENCE * MOMENT_MS / 60_000;
        Err(format!("the virtual machine has said nothing for {minutes} minutes"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::drive::Drive;
    use crate::guest::{PIECE_BYTES, Pieces, Place, Trouble, work};
    use crate::pattern::Pattern;
    use crate::tally::Told;
    use crate::trial::Medium;

    /// A machine without a kernel: its job works on the drive itself, in a thread.
    struct Threads;

    struct InThread {
        says: Sender<String>,
        hears: Receiver<String>,
    }

    /// The drive, as the job has it: without power it does not come back from a call.
    struct Direct(Arc<dyn FarSide>);

    const GONE: &str = "without power";

    impl Medium for Direct {
        fn write(&mut self, at: u64, bytes: &[u8], through: bool) -> Result<(), String> {
            let is_done = self.0.write(at, bytes, false) && (!through || self.0.flush());
            is_done.then_some(()).ok_or_else(|| GONE.to_owned())
        }

        fn sync(&mut self, _: bool) -> Result<(), String> {
            self.0.flush().then_some(()).ok_or_else(|| GONE.to_owned())
        }

        fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), String> {
            self.0.read(at, into).then_some(()).ok_or_else(|| GONE.to_owned())
        }

        fn now_ns(&self) -> u64 {
            0
        }
    }

    impl Place for Direct {
        fn make(&mut self, _: On) -> Result<(), String> {
            Ok(())
        }

        fn written(
            &mut self,
            _: On,
            _: &str,
            write: &mut dyn FnMut(&mut dyn Medium) -> Result<(), String>,
        ) -> Result<(), Trouble> {
            write(self).map_err(Trouble::Otherwise)
        }

        fn read(&mut self, _: On, mounted: &str, bytes: u64) -> Result<Pieces, Trouble> {
            if mounted == "never" {
                return Err(Trouble::Unreachable("it does not mount".to_owned()));
            }
            let piece = |at: u64| {
                let mut bytes = vec![0; PIECE_BYTES as usize];
                Medium::read(self, at * PIECE_BYTES, &mut bytes).ok().map(|()| bytes)
            };
            Ok((0..bytes.div_ceil(PIECE_BYTES)).map(piece).collect())
        }
    }

    impl Starts for Threads {
        fn start(&mut self, drive: Arc<dyn FarSide>) -> Result<Box<dyn Powered + '_>, String> {
            let ((says, orders), (answers, hears)) = (channel::<String>(), channel::<String>());
            thread::spawn(move || {
                let mut hear = || orders.recv().ok();
                let mut say = |line: &str| answers.send(line.to_owned()).map_err(|e| e.to_string());
                // It ends with those who hear it.
                let _ = work(&mut Direct(drive), &mut hear, &mut say);
            });
            Ok(Box::new(InThread { says, hears }))
        }
    }

    impl Powered for InThread {
        fn say(&mut self, line: &str) -> Result<(), String> {
            self.says.send(line.to_owned()).map_err(|error| error.to_string())
        }

        fn hear(&mut self) -> Heard {
            match self.hears.recv_timeout(Duration::from_millis(1)) {
                Ok(line) => Heard::Line(line),
                Err(RecvTimeoutError::Timeout) => Heard::Nothing,
                Err(RecvTimeoutError::Disconnected) => Heard::Over("gone".to_owned()),
            }
        }
    }

    fn course(pattern: Pattern, drive: Drive) -> Course {
        Course {
            pattern,
            sync: Sync::Fdatasync,
            record_bytes: 4096,
            promises: 40,
            time_ns: u64::MAX,
            cuts: 60,
            drive,
            atomic_bytes: 4096,
            area: [0, 0],
            seed: 3,
            run: 11,
        }
    }

    const LIARS: [(Drive, &[Pattern]); 6] = {
        use Pattern::{InPlace, Log, Transaction};
        [
            (Drive::DropsFlushes, &[Log, InPlace, Transaction]),
            (Drive::AcknowledgesEarly, &[Log, InPlace, Transaction]),
            (Drive::Tears, &[InPlace]),
            (Drive::Reorders, &[Log, InPlace, Transaction]),
            (Drive::LosesLast, &[Log, InPlace, Transaction]),
            (Drive::ShowsOlder, &[InPlace, Transaction]),
        ]
    };

    fn ran(course: &Course, is_kill: bool) -> Detail {
        let (on, stop) = (On::Drive, AtomicBool::new(false));
        let own = Outage { course, on, mounted: "" };
        let ended =
            if is_kill { own.kill(&mut Threads, &stop) } else { own.replay(&mut Threads, &stop) };
        ended.unwrap()
    }

    #[test]
    fn each_liar_is_found_within_sixty_cuts_of_either_grade() {
        for is_kill in [true, false] {
            for (drive, patterns) in LIARS {
                for pattern in patterns {
                    let own = ran(&course(*pattern, drive), is_kill);
                    assert!(own.tally.lost > 0, "{} by {pattern:?}, kill {is_kill}", drive.name());
                    let Some(Told::Place(story)) = own.tally.story else { panic!("{own:?}") };
                    let [written, promised] = [story.written_step, story.promised_step];
                    assert!(written < promised && promised <= story.cut_step.unwrap());
                }
            }
        }
    }

    #[test]
    fn an_honest_drive_is_not_accused_and_what_is_under_way_is_told_apart() {
        for is_kill in [true, false] {
            for pattern in Pattern::ALL {
                let own = ran(&Course { cuts: 100, ..course(pattern, Drive::Honest) }, is_kill);
                assert_eq!(
                    (own.tally.lost, own.tally.cuts),
                    (0, 100),
                    "{pattern:?}: {:?}",
                    own.tally.story
                );
                assert!(
                    own.tally.promises > 0 && own.tally.outcomes.len() > 1,
                    "{:?}",
                    own.tally.outcomes
                );
            }
        }
    }

    #[test]
    fn without_a_sync_nothing_is_promised() {
        for is_kill in [true, false] {
            let own = Course { sync: Sync::None, ..course(Pattern::Log, Drive::DropsFlushes) };
            let own = ran(&own, is_kill);
            assert_eq!((own.tally.promises, own.tally.lost, own.tally.cuts), (0, 0, 60));
            assert!(own.rounds > 0 && own.tally.unpromised.gone > 0);
        }
    }

    #[test]
    fn what_cannot_be_reached_is_lost_as_far_as_it_was_promised() {
        let (course, stop) =
            (Course { cuts: 3, ..course(Pattern::Log, Drive::Honest) }, AtomicBool::new(false));
        let own = Outage { course: &course, on: On::Ext4, mounted: "never" };
        for own in [own.kill(&mut Threads, &stop), own.replay(&mut Threads, &stop)] {
            let own = own.unwrap();
            assert_eq!((own.tally.cuts, own.tally.lost, own.tally.unreachable), (3, 3, 3));
        }
    }

    #[test]
    fn who_stops_it_has_what_was_cut_until_then() {
        let stop = AtomicBool::new(true);
        let course = course(Pattern::Log, Drive::Honest);
        let own = Outage { course: &course, on: On::Drive, mounted: "" };
        let ended = own.kill(&mut Threads, &stop).unwrap();
        assert!(ended.stopped && ended.tally.cuts == 0);
    }
}
