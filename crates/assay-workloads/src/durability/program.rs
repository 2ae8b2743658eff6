//! The program in a virtual machine, from the host's view: its orders, the reading after a power loss, and the judgment
//! of the answer.

use crate::durability::below::On;
use crate::durability::command::{self, CommandLines, Refused};
use crate::durability::cut::Cut;
use crate::durability::files;
use crate::durability::guest::{Answer, GuestOrder, WriterScript, WriterSpec, image};
use crate::durability::image::{Seen, look};
use crate::durability::judge::{CutJudgement, Found, Unpromised, WrittenRecords};
use crate::durability::log::{KnownWrites, SECTOR_BYTES};
use crate::durability::outage::{AREA_BYTES, describe};
use crate::durability::pages::DrivePages;
use crate::durability::pattern::{Action, Pattern};
use crate::durability::sync::Sync;
use crate::durability::tally::{Counterexample, CutTally};
use crate::durability::trial::DurabilityTrial;

/// The machine's answer on its content, or why the content is unreachable.
pub type Back = Result<Answer, String>;

#[derive(Clone, Copy, Debug)]
pub struct CutRun<'a> {
    pub cut: Cut,
    /// Number of reports from the program.
    pub heard: u32,
    pub lines: &'a [String],
}

pub trait Program {
    fn writer(&self) -> WriterSpec;

    /// Total number of reports; `None` if unknown in advance.
    fn tells(&self) -> Option<u32>;

    /// Whether a report acknowledges something, given the number of earlier ones.
    fn promises(&self, before: u32) -> bool;

    /// Whether it waits for a reply to each report; otherwise reports may arrive late.
    fn waits(&self) -> bool {
        true
    }

    /// Whether its reading is tested first, with intact and with missing data, to prove that it can distinguish them.
    fn is_proved(&self) -> bool {
        false
    }

    /// The order for reading; for a command, with its printed lines.
    fn asks(&self, on: On, mounted: &str, lines: &[String]) -> GuestOrder;

    /// The answer without a machine, if that is possible.
    fn seen(&self, _pages: &DrivePages) -> Option<Answer> {
        None
    }

    fn count(&self, made: &CutRun<'_>, back: &Back, tally: &mut CutTally) -> Result<(), String>;
}

/// The program of a trial; `own` is the user's command.
pub fn program_for<'a>(
    course: &'a DurabilityTrial,
    command: Option<&'a CommandLines>,
) -> Result<Box<dyn Program + 'a>, String> {
    let DurabilityTrial { pattern, sync, record_bytes, promises, seed, run, .. } = *course;
    match (pattern, command) {
        (Pattern::Files, _) => {
            let shape = files::FileShape { sync, rounds: promises, most_bytes: record_bytes, seed };
            let script = files::FileScript::from_shape(&shape);
            Ok(Box::new(OfFiles { told: script.tells().collect(), script, shape, run }))
        }
        (Pattern::Command, Some(command)) => Ok(Box::new(OfCommand { own: command })),
        (Pattern::Command, None) => Err("no command given".to_owned()),
        (Pattern::Log | Pattern::InPlace | Pattern::Transaction, _) => {
            let area_bytes = AREA_BYTES;
            let script = WriterScript {
                pattern,
                sync,
                record_bytes,
                rounds: promises,
                area_bytes,
                seed,
                run,
            };
            Ok(Box::new(Programmed::new(course, script)?))
        }
    }
}

/// All acts of a pattern of writes without a power loss.
struct Programmed<'a> {
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
    steps: usize,
}

impl<'a> Programmed<'a> {
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
        let heard = (rounds as usize).min(self.rounds.len());
        let last = self.rounds[..heard].last().filter(|_| self.promises(0));
        let under_way = self.rounds.get(heard).or(self.rounds.last());
        let [promised, begun] =
            [last.map(|round| round.promised), under_way.map(|round| round.begun)];
        KnownWrites { begun: begun.unwrap_or_default(), promised: promised.unwrap_or_default() }
    }

    /// Steps known to be done by then.
    fn steps(&self, rounds: u32) -> usize {
        let heard = (rounds as usize).min(self.rounds.len());
        self.rounds[..heard].last().map_or(0, |round| round.steps)
    }
}

impl Program for Programmed<'_> {
    fn writer(&self) -> WriterSpec {
        WriterSpec::Pattern(self.script)
    }

    fn tells(&self) -> Option<u32> {
        Some(self.rounds.len() as u32)
    }

    fn promises(&self, _: u32) -> bool {
        self.script.sync != Sync::None
    }

    fn asks(&self, on: On, mounted: &str, _: &[String]) -> GuestOrder {
        let bytes = AREA_BYTES.min(self.bytes());
        GuestOrder::Read { on, mounted: mounted.to_owned(), run: self.script.run, bytes }
    }

    fn seen(&self, pages: &DrivePages) -> Option<Answer> {
        let mut sector = [0; SECTOR_BYTES as usize];
        let at = |number: u64| {
            pages.read(number * SECTOR_BYTES, &mut sector);
            look(&sector, self.script.run, number)
        };
        let image: Vec<Seen> = (0..self.bytes() / SECTOR_BYTES).map(at).collect();
        Some(Answer::there(&image))
    }

    fn count(&self, made: &CutRun<'_>, back: &Back, tally: &mut CutTally) -> Result<(), String> {
        let known = self.known(made.heard);
        let judgement = match back {
            Ok(Answer::There(runs)) => {
                let image = image(runs, (self.bytes() / SECTOR_BYTES) as usize);
                self.written.judged_as(&image, known)
            }
            Ok(other) => return Err(describe(other)),
            Err(why) => {
                tally.reached.not(why);
                self.written.without_any(known)
            }
        };
        // A counterexample counts the program's steps: requests in between are from its kernel.
        let cut = Cut { steps: self.steps(made.heard), ..made.cut };
        self.course.count(&self.written, &cut, &judgement, tally);
        Ok(())
    }
}

struct OfFiles {
    script: files::FileScript,
    /// Number of returned calls at each report.
    told: Vec<usize>,
    shape: files::FileShape,
    run: u64,
}

impl Program for OfFiles {
    fn writer(&self) -> WriterSpec {
        WriterSpec::Files { shape: self.shape, run: self.run }
    }

    fn tells(&self) -> Option<u32> {
        Some(self.told.len() as u32)
    }

    fn promises(&self, before: u32) -> bool {
        self.told.get(before as usize).is_some_and(|calls| self.script.promises(calls - 1))
    }

    fn asks(&self, on: On, mounted: &str, _: &[String]) -> GuestOrder {
        GuestOrder::List { on, mounted: mounted.to_owned(), shape: self.shape, run: self.run }
    }

    fn count(&self, made: &CutRun<'_>, back: &Back, tally: &mut CutTally) -> Result<(), String> {
        let heard = self.told[..(made.heard as usize).min(self.told.len())].last();
        let returned = heard.copied().unwrap_or_default();
        let moment = self.script.cut(returned);
        let judgement = match back {
            Ok(Answer::Listed(listing)) => self.script.judged(listing, moment),
            Ok(other) => return Err(describe(other)),
            Err(why) => {
                tally.reached.not(why);
                self.script.without_any(moment)
            }
        };
        let story = |lost: &files::LostFile| files::FileLoss::new(&self.script, lost, Some(moment));
        tally.count(&judgement, |lost| Some(Counterexample::File(Box::new(story(lost)))));
        Ok(())
    }
}

struct OfCommand<'a> {
    own: &'a CommandLines,
}

impl Program for OfCommand<'_> {
    fn writer(&self) -> WriterSpec {
        WriterSpec::Command(self.own.clone())
    }

    fn tells(&self) -> Option<u32> {
        None
    }

    fn promises(&self, _: u32) -> bool {
        true
    }

    /// A user's program does not read replies.
    fn waits(&self) -> bool {
        false
    }

    fn is_proved(&self) -> bool {
        true
    }

    fn asks(&self, on: On, mounted: &str, lines: &[String]) -> GuestOrder {
        GuestOrder::Check {
            on,
            mounted: mounted.to_owned(),
            own: self.own.clone(),
            lines: lines.to_vec(),
        }
    }

    fn count(&self, made: &CutRun<'_>, back: &Back, tally: &mut CutTally) -> Result<(), String> {
        let (judgement, check) = match back {
            Ok(Answer::Checked(ended)) => (ended.judged()?, Some(ended)),
            Ok(other) => return Err(describe(other)),
            Err(why) => {
                tally.reached.not(why);
                let lost = vec![Refused(Found::Unreachable)];
                (CutJudgement { lost, unpromised: Unpromised::default() }, None)
            }
        };
        let heard = (made.heard as usize).min(made.lines.len());
        let story = || command::CommandLoss::new(&made.lines[..heard], made.cut.steps, check);
        tally.count(&judgement, |_| Some(Counterexample::Command(Box::new(story()))));
        Ok(())
    }
}
