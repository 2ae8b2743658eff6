//! What is written in a virtual machine, as this side knows it: what the machine is told, what it is asked when its power has
//! gone, and how its answer is judged.

use crate::durability::below::On;
use crate::durability::command::{self, Lines, Refused};
use crate::durability::cut::Cut;
use crate::durability::files;
use crate::durability::guest::{Answer, Order, Script, Writer, image};
use crate::durability::image::{Seen, look};
use crate::durability::judge::{Found, Judgement, Unpromised, Written};
use crate::durability::log::{Known, SECTOR_BYTES};
use crate::durability::outage::{AREA_BYTES, describe};
use crate::durability::pages::Pages;
use crate::durability::pattern::{Act, Pattern};
use crate::durability::sync::Sync;
use crate::durability::tally::{Tally, Told};
use crate::durability::trial::Course;

/// What a machine said of what is there; or why nothing there can be reached.
pub type Back = Result<Answer, String>;

#[derive(Clone, Copy, Debug)]
pub struct Made<'a> {
    pub cut: Cut,
    /// How often the program had told that something is done.
    pub heard: u32,
    pub lines: &'a [String],
}

pub trait Program {
    fn writer(&self) -> Writer;

    /// How often it tells that something is done; none where nobody knows before.
    fn tells(&self) -> Option<u32>;

    /// Whether what it tells of promises something, by how often it had told something before.
    fn promises(&self, before: u32) -> bool;

    /// Whether it waits for an answer to each message; else promises may be heard of late.
    fn waits(&self) -> bool {
        true
    }

    /// Whether it is asked what is there where nothing was cut, and where nothing can be: so that it is known to tell these apart.
    fn is_proved(&self) -> bool {
        false
    }

    /// What the machine is asked; of a command, with the lines that it had printed.
    fn asks(&self, on: On, mounted: &str, lines: &[String]) -> Order;

    /// What the machine would say, where it needs none for that.
    fn seen(&self, _pages: &Pages) -> Option<Answer> {
        None
    }

    fn count(&self, made: &Made<'_>, back: &Back, tally: &mut Tally) -> Result<(), String>;
}

/// The program of a trial; `own` is that of a user.
pub fn of<'a>(course: &'a Course, own: Option<&'a Lines>) -> Result<Box<dyn Program + 'a>, String> {
    let Course { pattern, sync, record_bytes, promises, seed, run, .. } = *course;
    match (pattern, own) {
        (Pattern::Files, _) => {
            let shape = files::Shape { sync, rounds: promises, most_bytes: record_bytes, seed };
            let script = files::Script::of(&shape);
            Ok(Box::new(OfFiles { told: script.tells().collect(), script, shape, run }))
        }
        (Pattern::Command, Some(own)) => Ok(Box::new(OfCommand { own })),
        (Pattern::Command, None) => Err("no command given".to_owned()),
        (Pattern::Log | Pattern::InPlace | Pattern::Transaction, _) => {
            let area_bytes = AREA_BYTES;
            let script =
                Script { pattern, sync, record_bytes, rounds: promises, area_bytes, seed, run };
            Ok(Box::new(Programmed::of(course, script)?))
        }
    }
}

/// All that a pattern of writes does, were it not cut.
struct Programmed<'a> {
    course: &'a Course,
    script: Script,
    written: Written,
    rounds: Vec<Round>,
}

struct Round {
    /// Writes below that were promised by it.
    promised: u32,
    /// Writes below that had been begun at its end.
    begun: u32,
    steps: usize,
}

impl<'a> Programmed<'a> {
    fn of(course: &'a Course, script: Script) -> Result<Self, String> {
        let (layout, all) = script.acts()?;
        let mut written = Written::with_room(layout, all.iter().map(Vec::len).sum());
        let mut rounds = Vec::new();
        for acts in all {
            let (mut promised, mut steps) = (0, 0);
            for act in acts {
                match act {
                    Act::Write { what, at } => written.write(at, what),
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
            return Err("the runtime is too short for one round".to_owned());
        }
        Ok(Self { course, script, written, rounds })
    }

    fn bytes(&self) -> u64 {
        self.written.log.sectors() * SECTOR_BYTES
    }

    /// What is known where so many rounds were heard of; the next one may be under way.
    fn known(&self, rounds: u32) -> Known {
        let heard = (rounds as usize).min(self.rounds.len());
        let last = self.rounds[..heard].last().filter(|_| self.promises(0));
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

impl Program for Programmed<'_> {
    fn writer(&self) -> Writer {
        Writer::Pattern(self.script)
    }

    fn tells(&self) -> Option<u32> {
        Some(self.rounds.len() as u32)
    }

    fn promises(&self, _: u32) -> bool {
        self.script.sync != Sync::None
    }

    fn asks(&self, on: On, mounted: &str, _: &[String]) -> Order {
        let bytes = AREA_BYTES.min(self.bytes());
        Order::Read { on, mounted: mounted.to_owned(), run: self.script.run, bytes }
    }

    fn seen(&self, pages: &Pages) -> Option<Answer> {
        let mut sector = [0; SECTOR_BYTES as usize];
        let at = |number: u64| {
            pages.read(number * SECTOR_BYTES, &mut sector);
            look(&sector, self.script.run, number)
        };
        let image: Vec<Seen> = (0..self.bytes() / SECTOR_BYTES).map(at).collect();
        Some(Answer::there(&image))
    }

    fn count(&self, made: &Made<'_>, back: &Back, tally: &mut Tally) -> Result<(), String> {
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
        // The story is told in steps of the program: what the drive was asked in between is its kernel's.
        let cut = Cut { steps: self.steps(made.heard), ..made.cut };
        self.course.count(&self.written, &cut, &judgement, tally);
        Ok(())
    }
}

struct OfFiles {
    script: files::Script,
    /// How many calls have returned each time that it tells it.
    told: Vec<usize>,
    shape: files::Shape,
    run: u64,
}

impl Program for OfFiles {
    fn writer(&self) -> Writer {
        Writer::Files { shape: self.shape, run: self.run }
    }

    fn tells(&self) -> Option<u32> {
        Some(self.told.len() as u32)
    }

    fn promises(&self, before: u32) -> bool {
        self.told.get(before as usize).is_some_and(|calls| self.script.promises(calls - 1))
    }

    fn asks(&self, on: On, mounted: &str, _: &[String]) -> Order {
        Order::List { on, mounted: mounted.to_owned(), shape: self.shape, run: self.run }
    }

    fn count(&self, made: &Made<'_>, back: &Back, tally: &mut Tally) -> Result<(), String> {
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
        let story = |lost: &files::Lost| files::Story::of(&self.script, lost, Some(moment));
        tally.count(&judgement, |lost| Some(Told::File(Box::new(story(lost)))));
        Ok(())
    }
}

struct OfCommand<'a> {
    own: &'a Lines,
}

impl Program for OfCommand<'_> {
    fn writer(&self) -> Writer {
        Writer::Command(self.own.clone())
    }

    fn tells(&self) -> Option<u32> {
        None
    }

    fn promises(&self, _: u32) -> bool {
        true
    }

    /// A program of the user's knows nothing of answers.
    fn waits(&self) -> bool {
        false
    }

    fn is_proved(&self) -> bool {
        true
    }

    fn asks(&self, on: On, mounted: &str, lines: &[String]) -> Order {
        Order::Check {
            on,
            mounted: mounted.to_owned(),
            own: self.own.clone(),
            lines: lines.to_vec(),
        }
    }

    fn count(&self, made: &Made<'_>, back: &Back, tally: &mut Tally) -> Result<(), String> {
        let (judgement, check) = match back {
            Ok(Answer::Checked(ended)) => (ended.judged()?, Some(ended)),
            Ok(other) => return Err(describe(other)),
            Err(why) => {
                tally.reached.not(why);
                let lost = vec![Refused(Found::Unreachable)];
                (Judgement { lost, unpromised: Unpromised::default() }, None)
            }
        };
        let heard = (made.heard as usize).min(made.lines.len());
        let story = || command::Story::of(&made.lines[..heard], made.cut.steps, check);
        tally.count(&judgement, |_| Some(Told::Command(Box::new(story()))));
        Ok(())
    }
}
