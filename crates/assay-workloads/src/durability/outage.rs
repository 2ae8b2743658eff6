//! Trials in virtual machines: a program writes, the drive below it logs, and after a power loss a kernel and its file
//! system read the data.
//!
//! Two methods. *Kill*: the drive stops responding at a random moment, the machine loses its power, and the next one
//! reads what the drive stored. *Replay*: one machine writes to the end, and its log is cut as often as requested; with
//! a file system, a second job in the same machine reads each cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_core::draws::Draws;
use assay_machine::system::powered::{FarSide, HeardLine, MOMENT_MS, Powered, VmStarter};

use crate::durability::below::On;
use crate::durability::command::{CommandLines, EndedLine};
use crate::durability::cut::draw_moment;
use crate::durability::guest::{Answer, GuestOrder};
use crate::durability::log::{DriveStep, SECTOR_BYTES, Write};
use crate::durability::pages::DrivePages;
use crate::durability::program::{self, CutRun, Program, ReadBack};
use crate::durability::served::{Logged, PlannedPowerCut, ServedDrive};
use crate::durability::trial::{DurabilityDetail, DurabilityTrial};

pub const AREA_BYTES: u64 = 64 << 20;
/// Silent moments after which a machine counts as dead: five minutes.
const PATIENCE: u64 = 300_000 / MOMENT_MS;
/// Silent moments after which no message is in transit.
const DRAINED: u64 = 3;
/// The file system's check runs for one in this many replayed cuts: it takes longer than a cut.
const INSPECTED_OF: u64 = 20;
/// Maximum number of requests after an acknowledgment before the power loss.
const MOST_REQUESTS: u32 = 12;

#[derive(Clone, Copy, Debug)]
pub struct Outage<'a> {
    /// The work; its area is not that of the target.
    pub course: &'a DurabilityTrial,
    pub on: On,
    pub mounted: &'a str,
    /// The user's command, if that is the work.
    pub command: Option<&'a CommandLines>,
}

impl Outage<'_> {
    /// Cuts the power of a machine for each crash point.
    pub fn kill(
        &self,
        starts: &mut dyn VmStarter,
        stop: &AtomicBool,
    ) -> Result<DurabilityDetail, String> {
        let program = program::program_for(self.course, self.command)?;
        let drive = Arc::new(ServedDrive::new(self.on.drive_bytes()));
        let mut draws = Draws::new(self.course.seed, "durability power cuts");
        let mut detail = DurabilityDetail::default();
        let mut guest = Guest::start(starts, &drive, stop)?;
        let formatted = self.format(&mut guest, &drive)?;
        let Some(range) = self.find_cut_range(&*program, &mut guest, &drive, &formatted)? else {
            detail.stopped = true;
            return Ok(detail);
        };
        for _ in 0..self.course.cuts {
            drive.power_on(&formatted, Some(range.draw_cut(&mut draws)));
            let mut lines = Vec::new();
            if !self.write_until_cut(&*program, &mut guest, &drive, &mut lines)? {
                break;
            }
            // The machine loses its power with the drive.
            drop(guest);
            let logged = drive.take_log();
            let steps = logged.log.steps.len();
            let (pages, cut) =
                logged.cut(self.course.drive, self.course.atomic_sectors(), steps, &mut draws);
            drive.power_on(&pages, None);
            guest = Guest::start(starts, &drive, stop)?;
            let run = CutRun { cut, heard: logged.rounds_by(steps), lines: &lines };
            let Some(content) = self.read_content(&*program, &mut guest, &run)? else { break };
            count_logged(&*program, &logged, &mut detail);
            program.judge(&run, &content, &mut detail.tally)?;
            self.inspect(&mut guest, &mut detail)?;
        }
        detail.stopped = stop.load(Ordering::Relaxed);
        Ok(detail)
    }

    /// Runs one machine to the end, and cuts the log of its drive.
    pub fn replay(
        &self,
        starts: &mut dyn VmStarter,
        stop: &AtomicBool,
    ) -> Result<DurabilityDetail, String> {
        let program = program::program_for(self.course, self.command)?;
        let drive = Arc::new(ServedDrive::new(self.on.drive_bytes()));
        let mut detail = DurabilityDetail::default();
        let mut guest = Guest::start(starts, &drive, stop)?;
        let formatted = self.format(&mut guest, &drive)?;
        if let Some((logged, lines)) = self.run_uncut(&*program, &mut guest, &drive, &formatted)? {
            count_logged(&*program, &logged, &mut detail);
            self.replay_cuts(&*program, &logged, &lines, &mut guest, &drive, &mut detail)?;
        }
        detail.stopped = stop.load(Ordering::Relaxed);
        Ok(detail)
    }

    /// Judges the content of the drive after random power losses in its log; stops if the user stops.
    fn replay_cuts(
        &self,
        program: &dyn Program,
        logged: &Logged,
        lines: &[String],
        guest: &mut Guest<'_>,
        drive: &ServedDrive,
        detail: &mut DurabilityDetail,
    ) -> Result<(), String> {
        if logged.log.steps.is_empty() {
            return Ok(());
        }
        let mut draws = Draws::new(self.course.seed, "durability cuts");
        for at in 0..self.course.cuts {
            if guest.stop.load(Ordering::Relaxed) {
                break;
            }
            let steps = draw_moment(&logged.log, &mut draws);
            let (pages, cut) =
                logged.cut(self.course.drive, self.course.atomic_sectors(), steps, &mut draws);
            let run = CutRun { cut, heard: logged.rounds_by(steps), lines };
            // Without a filesystem, no machine is needed to read the drive.
            let direct = if self.on.has_files() { None } else { program.read_directly(&pages) };
            let content = if let Some(answer) = direct {
                Ok(answer)
            } else {
                drive.power_on(&pages, None);
                let Some(content) = self.read_content(program, guest, &run)? else { break };
                content
            };
            program.judge(&run, &content, &mut detail.tally)?;
            if at % INSPECTED_OF == 0 {
                self.inspect(guest, detail)?;
            }
        }
        Ok(())
    }

    /// Runs the file system's own check in the machine, and counts its result.
    fn inspect(&self, guest: &mut Guest<'_>, detail: &mut DurabilityDetail) -> Result<(), String> {
        if !self.on.has_files() {
            return Ok(());
        }
        match guest.ask(&GuestOrder::Inspect { on: self.on })? {
            None => {}
            Some(Answer::Inspected(fault)) => detail.tally.reached.count_check(fault.as_deref()),
            Some(other) => return Err(answer_error(&other)),
        }
        Ok(())
    }

    /// Creates the filesystem, if any, on an empty drive; returns the content.
    fn format(&self, guest: &mut Guest<'_>, drive: &ServedDrive) -> Result<DrivePages, String> {
        drive.power_on(&DrivePages::default(), None);
        if self.on.has_files() {
            match guest.ask(&GuestOrder::Make { on: self.on })? {
                None | Some(Answer::Done) => {}
                Some(other) => return Err(answer_error(&other)),
            }
        }
        Ok(drive.content())
    }

    /// Finds the possible moments of a power loss, if necessary by a run without one; `None` if stopped.
    fn find_cut_range(
        &self,
        program: &dyn Program,
        guest: &mut Guest<'_>,
        drive: &ServedDrive,
        formatted: &DrivePages,
    ) -> Result<Option<CutRange>, String> {
        if let Some(reports) = program.report_count() {
            return Ok(Some(CutRange::Reports(reports)));
        }
        let uncut = self.run_uncut(program, guest, drive, formatted)?;
        Ok(uncut.map(|(logged, lines)| match lines.len() {
            0 => CutRange::Requests(logged.log.steps.len() as u32),
            reports => CutRange::Reports(reports as u32),
        }))
    }

    /// Runs the program to the end, and verifies that the judgment can detect a loss; `None` if stopped.
    fn run_uncut(
        &self,
        program: &dyn Program,
        guest: &mut Guest<'_>,
        drive: &ServedDrive,
        formatted: &DrivePages,
    ) -> Result<Option<(Logged, Vec<String>)>, String> {
        drive.power_on(formatted, None);
        let mut lines = Vec::new();
        if !self.write_until_cut(program, guest, drive, &mut lines)? {
            return Ok(None);
        }
        let (content, logged) = (drive.content(), drive.take_log());
        if program.must_be_tested() {
            // The check must accept the written content, and reject the empty filesystem.
            let order = program.read_order(self.on, self.mounted, &lines);
            drive.power_on(&content, None);
            let Some(ended) = guest.run_check(&order)? else { return Ok(None) };
            ended.require_pass()?;
            drive.power_on(formatted, None);
            let Some(ended) = guest.run_check(&order)? else { return Ok(None) };
            ended.require_loss(lines.len() as u64)?;
        }
        Ok(Some((logged, lines)))
    }

    /// Runs the program until the power loss, or until its files are closed; returns false if stopped.
    fn write_until_cut(
        &self,
        program: &dyn Program,
        guest: &mut Guest<'_>,
        drive: &ServedDrive,
        lines: &mut Vec<String>,
    ) -> Result<bool, String> {
        let (on, mounted) = (self.on, self.mounted.to_owned());
        guest.say(&GuestOrder::Write { on, mounted, writer: program.writer() })?;
        let mut silent_moments = 0;
        let mut reports = 0;
        loop {
            let answer = match guest.hear()? {
                Heard::Stop => return Ok(false),
                Heard::Nothing => {
                    silent_moments += 1;
                    if drive.is_off() && silent_moments >= DRAINED {
                        return Ok(true);
                    }
                    check_patience(silent_moments)?;
                    continue;
                }
                Heard::Answer(answer) => answer,
            };
            silent_moments = 0;
            match answer {
                Answer::Round(_) | Answer::Line(_) => {
                    drive.add_round(program.promises(reports));
                    reports += 1;
                    if let Answer::Line(line) = answer {
                        lines.push(line);
                    }
                    // The program does not continue without a reply.
                    if program.waits_for_reply() && !drive.is_off() {
                        guest.say(&GuestOrder::GoOn)?;
                    }
                }
                Answer::Written => drive.cut_at_end(),
                Answer::Done => return Ok(true),
                // Without power, the drive eventually fails.
                _ if drive.is_off() => {}
                other => return Err(answer_error(&other)),
            }
        }
    }

    /// Reads the current content; `None` if stopped.
    fn read_content(
        &self,
        program: &dyn Program,
        guest: &mut Guest<'_>,
        run: &CutRun<'_>,
    ) -> Result<Option<ReadBack>, String> {
        Ok(match guest.ask(&program.read_order(self.on, self.mounted, run.heard_lines()))? {
            None => None,
            Some(Answer::Unreachable(text)) => Some(Err(text)),
            Some(answer) => Some(Ok(answer)),
        })
    }
}

#[derive(Clone, Copy, Debug)]
enum CutRange {
    /// After one of this many reports, and a few requests.
    Reports(u32),
    Requests(u32),
}

impl CutRange {
    /// Draws a moment; without reports, the drive counts requests from power-on.
    fn draw_cut(self, draws: &mut Draws) -> PlannedPowerCut {
        let mut one_to = |count: u32| 1 + draws.below(u64::from(count.max(1))) as u32;
        let (rounds, requests) = match self {
            // From 0 to MOST_REQUESTS after the report.
            Self::Reports(count) => (one_to(count), one_to(MOST_REQUESTS + 1) - 1),
            Self::Requests(count) => (0, one_to(count)),
        };
        PlannedPowerCut { rounds, requests, answers: draws.below(2) == 1 }
    }
}

/// Adds the rounds, acknowledgments, writes and syncs in the log of the drive.
fn count_logged(program: &dyn Program, logged: &Logged, detail: &mut DurabilityDetail) {
    detail.rounds += u64::from(logged.rounds_by(logged.log.steps.len()));
    // A command may print nothing; then its passing check counts as one acknowledged write.
    let least = u64::from(program.must_be_tested());
    detail.tally.acknowledged_writes += logged.log.promises().max(least);
    detail.writes += logged.log.writes.len() as u64;
    let bytes = |write: &Write| u64::from(write.sectors) * SECTOR_BYTES;
    detail.written_bytes += logged.log.writes.iter().map(bytes).sum::<u64>();
    let is_flush = |step: &&DriveStep| **step == DriveStep::Flush;
    detail.syncs += logged.log.steps.iter().filter(is_flush).count() as u64;
}

/// The error message for an answer that reports a failure or does not fit the order.
pub(crate) fn answer_error(answer: &Answer) -> String {
    match answer {
        Answer::Failed(text) | Answer::Unreachable(text) => {
            format!("in the virtual machine: {text}")
        }
        other => format!("unexpected answer from the virtual machine: {other:?}"),
    }
}

enum Heard {
    Stop,
    Nothing,
    Answer(Answer),
}

struct Guest<'a> {
    powered: Box<dyn Powered + 'a>,
    stop: &'a AtomicBool,
}

impl<'a> Guest<'a> {
    /// Starts a machine with this drive and waits until the machine is ready.
    fn start(
        starts: &'a mut dyn VmStarter,
        drive: &Arc<ServedDrive>,
        stop: &'a AtomicBool,
    ) -> Result<Self, String> {
        let far: Arc<dyn FarSide> = Arc::clone(drive) as Arc<dyn FarSide>;
        let mut guest = Self { powered: starts.start(far)?, stop };
        match guest.wait_for_answer()? {
            None | Some(Answer::Ready) => Ok(guest),
            Some(other) => Err(answer_error(&other)),
        }
    }

    fn say(&mut self, order: &GuestOrder) -> Result<(), String> {
        self.powered.say(&serde_json::to_string(order).unwrap_or_default())
    }

    /// Waits a moment for an answer of the machine.
    fn hear(&mut self) -> Result<Heard, String> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(Heard::Stop);
        }
        match self.powered.hear() {
            HeardLine::Nothing => Ok(Heard::Nothing),
            HeardLine::Over(last) => Err(format!("the virtual machine ended:\n{last}")),
            // Only a machine that loses its power sends a partial line, which is ignored.
            HeardLine::Line(line) => {
                Ok(serde_json::from_str(&line).map_or(Heard::Nothing, Heard::Answer))
            }
        }
    }

    /// Orders the check of a command; `None` if stopped.
    fn run_check(&mut self, order: &GuestOrder) -> Result<Option<EndedLine>, String> {
        match self.ask(order)? {
            None => Ok(None),
            Some(Answer::Checked(ended)) => Ok(Some(ended)),
            Some(other) => Err(answer_error(&other)),
        }
    }

    /// Sends an order and waits for the answer; `None` if stopped.
    fn ask(&mut self, order: &GuestOrder) -> Result<Option<Answer>, String> {
        self.say(order)?;
        self.wait_for_answer()
    }

    /// Waits for an answer; `None` if stopped.
    fn wait_for_answer(&mut self) -> Result<Option<Answer>, String> {
        let mut silent_moments = 0;
        loop {
            match self.hear()? {
                Heard::Stop => return Ok(None),
                Heard::Nothing => check_patience(silent_moments)?,
                Heard::Answer(answer) => return Ok(Some(answer)),
            }
            silent_moments += 1;
        }
    }
}

fn check_patience(silent_moments: u64) -> Result<(), String> {
    if silent_moments < PATIENCE {
        return Ok(());
    }
    let minutes = PATIENCE * MOMENT_MS / 60_000;
    Err(format!("the virtual machine has not responded for {minutes} minutes"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::durability::drive::Drive;
    use crate::durability::guest::{
        GuestStorage, MountedStorage, PIECE_BYTES, Pieces, Trouble, work,
    };
    use crate::durability::judge::Found;
    use crate::durability::known_tests::FOUND_BY;
    use crate::durability::log_files::LogFiles;
    use crate::durability::pattern::Pattern;
    use crate::durability::reached::Reached;
    use crate::durability::sync::Sync;
    use crate::durability::tally::Counterexample;
    use crate::durability::trial::Medium;

    /// A machine without a kernel: its job works directly on the drive, in a thread.
    struct Threads;

    struct InThread {
        says: Sender<String>,
        hears: Receiver<String>,
    }

    /// The drive as the job sees it: without power, a call never returns.
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

    impl GuestStorage for Direct {
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

        fn inspect(&mut self, _: On) -> Result<Option<String>, String> {
            Ok(Some("a fault".to_owned()))
        }

        fn room(
            &mut self,
            _: On,
            _: &str,
            work: &mut dyn FnMut(&mut dyn MountedStorage) -> Result<(), String>,
        ) -> Result<(), Trouble> {
            let mut files = LogFiles::open(self);
            work(&mut files).map_err(Trouble::Otherwise)
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

    impl VmStarter for Threads {
        fn start(&mut self, drive: Arc<dyn FarSide>) -> Result<Box<dyn Powered + '_>, String> {
            // Its reports are received before it continues: otherwise all could arrive at the end.
            let ((says, orders), (answers, hears)) =
                (channel::<String>(), sync_channel::<String>(0));
            thread::spawn(move || {
                let mut hear = || orders.recv().ok();
                let mut say = |line: &str| answers.send(line.to_owned()).map_err(|e| e.to_string());
                // It ends with its receivers.
                let _ = work(&mut Direct(drive), &mut hear, &mut say);
            });
            Ok(Box::new(InThread { says, hears }))
        }
    }

    impl Powered for InThread {
        fn say(&mut self, line: &str) -> Result<(), String> {
            self.says.send(line.to_owned()).map_err(|error| error.to_string())
        }

        fn hear(&mut self) -> HeardLine {
            match self.hears.recv_timeout(Duration::from_millis(1)) {
                Ok(line) => HeardLine::Line(line),
                Err(RecvTimeoutError::Timeout) => HeardLine::Nothing,
                Err(RecvTimeoutError::Disconnected) => HeardLine::Over("gone".to_owned()),
            }
        }
    }

    fn course(pattern: Pattern, drive: Drive) -> DurabilityTrial {
        DurabilityTrial {
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

    fn ran(course: &DurabilityTrial, is_kill: bool) -> DurabilityDetail {
        let (on, stop) = (On::Drive, AtomicBool::new(false));
        let own = Outage { course, on, mounted: "", command: None };
        let ended =
            if is_kill { own.kill(&mut Threads, &stop) } else { own.replay(&mut Threads, &stop) };
        ended.unwrap()
    }

    #[test]
    #[ignore = "nightly: 2 s"]
    fn each_liar_is_found_within_sixty_cuts_of_either_grade() {
        for is_kill in [true, false] {
            for (drive, patterns) in FOUND_BY {
                for pattern in patterns {
                    let own = ran(&course(*pattern, drive), is_kill);
                    assert!(own.tally.lost > 0, "{} by {pattern:?}, kill {is_kill}", drive.name());
                    let Some(Counterexample::Place(story)) = own.tally.counterexample else {
                        panic!("{own:?}")
                    };
                    let [written, promised] = [story.written_step, story.acknowledged_step];
                    assert!(written < promised && promised <= story.crash_step.unwrap());
                }
            }
        }
    }

    #[test]
    #[ignore = "nightly: 1 s"]
    fn an_honest_drive_is_not_accused_and_what_is_under_way_is_told_apart() {
        for is_kill in [true, false] {
            for pattern in Pattern::OF_PLACES {
                let own = ran(
                    &DurabilityTrial { cuts: 100, ..course(pattern, Drive::HonorsFlushes) },
                    is_kill,
                );
                assert_eq!(
                    (own.tally.lost, own.tally.crash_points),
                    (0, 100),
                    "{pattern:?}: {:?}",
                    own.tally.counterexample
                );
                assert!(
                    own.tally.acknowledged_writes > 0 && own.tally.outcomes.len() > 1,
                    "{:?}",
                    own.tally.outcomes
                );
            }
        }
    }

    #[test]
    fn without_a_sync_nothing_is_promised() {
        for is_kill in [true, false] {
            let own =
                DurabilityTrial { sync: Sync::None, ..course(Pattern::Log, Drive::DropsFlushes) };
            let own = ran(&own, is_kill);
            assert_eq!(
                (own.tally.acknowledged_writes, own.tally.lost, own.tally.crash_points),
                (0, 0, 60)
            );
            assert!(own.rounds > 0 && own.tally.unacknowledged_writes.missing > 0);
        }
    }

    #[test]
    fn what_cannot_be_reached_is_lost_as_far_as_it_was_promised() {
        let (course, stop) = (
            DurabilityTrial { cuts: 3, ..course(Pattern::Log, Drive::HonorsFlushes) },
            AtomicBool::new(false),
        );
        let own = Outage { course: &course, on: On::Ext4, mounted: "never", command: None };
        for own in [own.kill(&mut Threads, &stop), own.replay(&mut Threads, &stop)] {
            let own = own.unwrap();
            assert_eq!(
                (own.tally.crash_points, own.tally.lost, own.tally.reached.unreachable),
                (3, 3, 3)
            );
            let Reached { inspected, faulty, .. } = own.tally.reached;
            assert!(faulty == inspected && [1, 3].contains(&inspected), "{inspected}");
        }
    }

    #[test]
    fn who_stops_it_has_what_was_cut_until_then() {
        let stop = AtomicBool::new(true);
        let course = course(Pattern::Log, Drive::HonorsFlushes);
        let own = Outage { course: &course, on: On::Drive, mounted: "", command: None };
        let ended = own.kill(&mut Threads, &stop).unwrap();
        assert!(ended.stopped && ended.tally.crash_points == 0);
    }

    fn ran_files(drive: Drive, sync: Sync, is_kill: bool) -> DurabilityDetail {
        let course = DurabilityTrial { sync, record_bytes: 1024, ..course(Pattern::Files, drive) };
        let (on, stop) = (On::Ext4, AtomicBool::new(false));
        let own = Outage { course: &course, on, mounted: "", command: None };
        let ended =
            if is_kill { own.kill(&mut Threads, &stop) } else { own.replay(&mut Threads, &stop) };
        ended.unwrap()
    }

    #[test]
    #[ignore = "nightly: 2 s"]
    fn files_over_a_liar_are_lost_and_over_an_honest_drive_they_are_not() {
        for is_kill in [true, false] {
            for drive in [Drive::DropsFlushes, Drive::AcknowledgesEarly, Drive::LosesLast] {
                let own = ran_files(drive, Sync::Fsync, is_kill);
                assert!(own.tally.lost > 0, "{}, kill {is_kill}", drive.name());
                assert!(matches!(own.tally.counterexample, Some(Counterexample::File(_))));
            }
            for sync in [Sync::Fsync, Sync::Dsync] {
                let own = ran_files(Drive::HonorsFlushes, sync, is_kill);
                assert_eq!(
                    (own.tally.lost, own.tally.crash_points),
                    (0, 60),
                    "{:?}",
                    own.tally.counterexample
                );
                assert!(
                    own.tally.acknowledged_writes > 0 && own.tally.outcomes.len() > 1,
                    "{own:?}"
                );
            }
            let none = ran_files(Drive::DropsFlushes, Sync::None, is_kill);
            assert_eq!((none.tally.acknowledged_writes, none.tally.lost), (0, 0));
        }
    }

    fn ran_command(
        lines: [&str; 2],
        drive: Drive,
        is_kill: bool,
    ) -> Result<DurabilityDetail, String> {
        let [command, check] = lines.map(str::to_owned);
        let lines = CommandLines { command, check, command_ms: 1, check_ms: 1 };
        let (course, stop) = (course(Pattern::Command, drive), AtomicBool::new(false));
        let own = Outage { course: &course, on: On::Ext4, mounted: "", command: Some(&lines) };
        if is_kill { own.kill(&mut Threads, &stop) } else { own.replay(&mut Threads, &stop) }
    }

    #[test]
    fn a_command_is_judged_by_its_check() {
        for is_kill in [true, false] {
            let own = ran_command(["tell 20", "lines"], Drive::DropsFlushes, is_kill).unwrap();
            assert!(own.tally.lost > 0 && own.tally.found.keys().eq([&Found::Refused]), "{own:?}");
            let Some(Counterexample::Command(story)) = own.tally.counterexample else {
                panic!("{own:?}")
            };
            assert!(story.lines > 0 && story.last_line.is_some() && story.check.is_some());
            for lines in [["tell 20", "lines"], ["silent 20", "order"]] {
                let own = ran_command(lines, Drive::HonorsFlushes, is_kill).unwrap();
                assert_eq!(
                    (own.tally.lost, own.tally.crash_points),
                    (0, 60),
                    "{:?}",
                    own.tally.counterexample
                );
                assert!(
                    own.tally.acknowledged_writes > 0,
                    "that its check passes is promised at least"
                );
            }
        }
    }

    #[test]
    fn a_check_that_is_none_ends_it_before_anything_is_cut() {
        for is_kill in [true, false] {
            for (lines, told) in [
                (["tell 5", "blind"], "it cannot detect a loss"),
                (["tell 5", "wrong"], "reports a loss without a crash"),
                (["tell 5", "no-such"], "cannot run the check"),
                (["no-such", "lines"], "the command ended with exit code 127"),
            ] {
                let error = ran_command(lines, Drive::HonorsFlushes, is_kill).unwrap_err();
                assert!(error.contains(told), "{error}");
            }
        }
    }
}
