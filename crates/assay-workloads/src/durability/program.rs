//! The program in a virtual machine as the host sees it: its orders, and the judgment after a power loss.

use crate::durability::below::On;
use crate::durability::command::{self, CommandLines, Refused};
use crate::durability::cut::Cut;
use crate::durability::files;
use crate::durability::guest::{Answer, GuestOrder, WriterScript, WriterSpec, expand_runs};
use crate::durability::image::{Seen, identify};
use crate::durability::judge::{CutJudgement, Found, Unpromised, WrittenRecords};
use crate::durability::log::{KnownWrites, SECTOR_BYTES};
use crate::durability::outage::{AREA_BYTES, answer_error};
use crate::durability::pages::DrivePages;
use crate::durability::pattern::{Action, Pattern};
use crate::durability::sync::Sync;
use crate::durability::tally::{Counterexample, CutTally};
use crate::durability::trial::DurabilityTrial;

/// The machine's answer on its content, or why the content is unreachable.
pub type ReadBack = Result<Answer, String>;

#[derive(Clone, Copy, Debug)]
pub struct CutRun<'a> {
    pub cut: Cut,
    /// Number of reports from the program.
    pub heard: u32,
    pub lines: &'a [String],
}

impl CutRun<'_> {
    /// The printed lines that were reported before the power loss.
    pub fn heard_lines(&self) -> &[String] {
        &self.lines[..(self.heard as usize).min(self.lines.len())]
    }
}

pub trait Program {
    fn writer(&self) -> WriterSpec;

    /// Total number of reports; `None` if unknown in advance.
    fn report_count(&self) -> Option<u32>;

    /// Whether a report acknowledges something, given the number of earlier ones.
    fn promises(&self, before: u32) -> bool;

    /// Whether it waits for a reply to each report; otherwise reports may arrive late.
    fn waits_for_reply(&self) -> bool {
        true
    }

    /// Whether its check must first prove that it distinguishes intact from missing data.
    fn must_be_tested(&self) -> bool {
        false
    }

    /// The order that reads the content; for a command, with its reported lines.
    fn read_order(&self, on: On, mounted: &str, lines: &[String]) -> GuestOrder;

    /// Reads the content without a machine; `None` if impossible.
    fn read_directly(&self, _pages: &DrivePages) -> Option<Answer> {
        None
    }

    /// Judges the content after a power loss, and adds the judgment to the tally.
    fn judge(&self, run: &CutRun<'_>, read: &ReadBack, tally: &mut CutTally) -> Result<(), String>;
}

/// The program of a trial; `command` is the user's, if any.
pub fn program_for<'a>(
    course: &'a DurabilityTrial,
    command: Option<&'a CommandLines>,
) -> Result<Box<dyn Program + 'a>, String> {
    let DurabilityTrial { pattern, sync, record_bytes, promises, seed, run, .. } = *course;
    match (pattern, command) {
        (Pattern::Files, _) => {
            let shape = files::FileShape { sync, rounds: promises, most_bytes: record_bytes, seed };
            let script = files::FileScript::from_shape(&shape);
            Ok(Box::new(FilesProgram { reports: script.reports().collect(), script, shape, run }))
        }
        (Pattern::Command, Some(command)) => Ok(Box::new(CommandProgram { command })),
        (Pattern::Command, None) => Err("no command given".to_owned()),
        (Pattern::Log | Pattern::InPlace | Pattern::Transaction, _) => {
            let (rounds, area_bytes) = (promises, AREA_BYTES);
            let script =
                WriterScript { pattern, sync, record_bytes, rounds, area_bytes, seed, run };
            Ok(Box::new(PatternProgram::new(course, script)?))
        }
    }
}

/// All acts of a pattern of writes without a power loss.
struct PatternProgram<'a> {
    course: &'a DurabilityTrial,
    script: WriterScript,
    written: WrittenRecords,
    rounds: Vec<ProgramRound>,
}

struct ProgramRound {
    /// Writes with a lower number were acknowledged by it.
    promised: u32,
    /// Writes with a lower number had started at its end.
    begun: u32,
    /// Steps up to its acknowledgment.
    steps: usize,
}

impl<'a> PatternProgram<'a> {
    /// Derives all writes of the program from its script, and what is acknowledged after each round.
    fn new(course: &'a DurabilityTrial, script: WriterScript) -> Result<Self, String> {
        let (layout, all) = script.acts()?;
        let mut written = WrittenRecords::with_room(layout, all.iter().map(Vec::len).sum());
        let mut rounds = Vec::new();
        for acts in all {
            let (mut promised, mut steps) = (0, 0);
            for act in acts {
                match act {
                    Action::Write { what, at } => written.write(at, what),
                    Action::Sync => written.log.flush(),
                    Action::Promise => {
                        written.log.promise();
                        promised = written.log.writes.len() as u32;
                        steps = written.log.steps.len();
                    }
                }
            }
            rounds.push(ProgramRound { promised, begun: written.log.writes.len() as u32, steps });
        }
        if rounds.is_empty() {
            return Err("the runtime is too short for one round".to_owned());
        }
        Ok(Self { course, script, written, rounds })
    }

    fn bytes(&self) -> u64 {
        self.written.log.sectors() * SECTOR_BYTES
    }

    /// Known state after this many reported rounds; the next one may be in progress.
    fn known(&self, rounds: u32) -> KnownWrites {
        let in_progress = self.rounds.get(rounds as usize).or(self.rounds.last());
        let last = self.last_reported(rounds).filter(|_| self.promises(0));
        KnownWrites {
            begun: in_progress.map_or(0, |round| round.begun),
            promised: last.map_or(0, |round| round.promised),
        }
    }

    fn last_reported(&self, rounds: u32) -> Option<&ProgramRound> {
        self.rounds[..(rounds as usize).min(self.rounds.len())].last()
    }
}

impl Program for PatternProgram<'_> {
    fn writer(&self) -> WriterSpec {
        WriterSpec::Pattern(self.script)
    }

    fn report_count(&self) -> Option<u32> {
        Some(self.rounds.len() as u32)
    }

    fn promises(&self, _: u32) -> bool {
        self.script.sync != Sync::None
    }

    fn read_order(&self, on: On, mounted: &str, _: &[String]) -> GuestOrder {
        let bytes = AREA_BYTES.min(self.bytes());
        GuestOrder::Read { on, mounted: mounted.to_owned(), run: self.script.run, bytes }
    }

    fn read_directly(&self, pages: &DrivePages) -> Option<Answer> {
        let mut sector = [0; SECTOR_BYTES as usize];
        let read_sector = |number: u64| {
            pages.read(number * SECTOR_BYTES, &mut sector);
            identify(&sector, self.script.run, number)
        };
        let image: Vec<Seen> = (0..self.bytes() / SECTOR_BYTES).map(read_sector).collect();
        Some(Answer::from_image(&image))
    }

    fn judge(&self, run: &CutRun<'_>, read: &ReadBack, tally: &mut CutTally) -> Result<(), String> {
        let known = self.known(run.heard);
        let judgement = match read {
            Ok(Answer::There(runs)) => {
                let image = expand_runs(runs, (self.bytes() / SECTOR_BYTES) as usize);
                self.written.judge_known(&image, known)
            }
            Ok(other) => return Err(answer_error(other)),
            Err(why) => {
                tally.reached.count_unreachable(why);
                self.written.lose_all(known)
            }
        };
        // A counterexample counts the program's steps: requests in between are from its kernel.
        let steps = self.last_reported(run.heard).map_or(0, |round| round.steps);
        let cut = Cut { steps, ..run.cut };
        tally.count(&judgement, |lost| {
            self.course.write_loss(&self.written, lost, Some(&cut)).map(Counterexample::Place)
        });
        Ok(())
    }
}

struct FilesProgram {
    script: files::FileScript,
    /// Number of returned calls at each report.
    reports: Vec<usize>,
    shape: files::FileShape,
    run: u64,
}

impl Program for FilesProgram {
    fn writer(&self) -> WriterSpec {
        WriterSpec::Files { shape: self.shape, run: self.run }
    }

    fn report_count(&self) -> Option<u32> {
        Some(self.reports.len() as u32)
    }

    fn promises(&self, before: u32) -> bool {
        self.reports.get(before as usize).is_some_and(|calls| self.script.promises(calls - 1))
    }

    fn read_order(&self, on: On, mounted: &str, _: &[String]) -> GuestOrder {
        GuestOrder::List { on, mounted: mounted.to_owned(), shape: self.shape, run: self.run }
    }

    fn judge(&self, run: &CutRun<'_>, read: &ReadBack, tally: &mut CutTally) -> Result<(), String> {
        let heard = (run.heard as usize).min(self.reports.len());
        let moment = self.script.cut_at(self.reports[..heard].last().copied().unwrap_or_default());
        let judgement = match read {
            Ok(Answer::Listed(listing)) => self.script.judge(listing, moment),
            Ok(other) => return Err(answer_error(other)),
            Err(why) => {
                tally.reached.count_unreachable(why);
                self.script.lose_all(moment)
            }
        };
        let story = |lost: &files::LostFile| files::FileLoss::new(&self.script, lost, Some(moment));
        tally.count(&judgement, |lost| Some(Counterexample::File(Box::new(story(lost)))));
        Ok(())
    }
}

struct CommandProgram<'a> {
    command: &'a CommandLines,
}

impl Program for CommandProgram<'_> {
    fn writer(&self) -> WriterSpec {
        WriterSpec::Command(self.command.clone())
    }

    fn report_count(&self) -> Option<u32> {
        None
    }

    fn promises(&self, _: u32) -> bool {
        true
    }

    /// The user's command does not read replies.
    fn waits_for_reply(&self) -> bool {
        false
    }

    fn must_be_tested(&self) -> bool {
        true
    }

    fn read_order(&self, on: On, mounted: &str, lines: &[String]) -> GuestOrder {
        GuestOrder::Check {
            on,
            mounted: mounted.to_owned(),
            own: self.command.clone(),
            lines: lines.to_vec(),
        }
    }

    fn judge(&self, run: &CutRun<'_>, read: &ReadBack, tally: &mut CutTally) -> Result<(), String> {
        let (judgement, check) = match read {
            Ok(Answer::Checked(ended)) => (ended.judge()?, Some(ended)),
            Ok(other) => return Err(answer_error(other)),
            Err(why) => {
                tally.reached.count_unreachable(why);
                let lost = vec![Refused(Found::Unreachable)];
                (CutJudgement { lost, unpromised: Unpromised::default() }, None)
            }
        };
        let story = || command::CommandLoss::new(run.heard_lines(), run.cut.steps, check);
        tally.count(&judgement, |_| Some(Counterexample::Command(Box::new(story()))));
        Ok(())
    }
}
