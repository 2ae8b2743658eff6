//! The job in a virtual machine: creates, writes and reads files line by line as ordered, on a drive that may disappear
//! at any moment. Its messages go through a port outside the drive: a sync that returned is acknowledged.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::durability::below::On;
use crate::durability::command::{CommandLines, EndedLine};
use crate::durability::files::{self, Directory, FileShape, Listing, read_back};
use crate::durability::image::{Seen, identify};
use crate::durability::log::SECTOR_BYTES;
use crate::durability::pattern::{Action, Pattern, RecordLayout};
use crate::durability::sync::Sync;
use crate::durability::trial::{ActWriter, Medium};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriterScript {
    pub pattern: Pattern,
    pub sync: Sync,
    pub record_bytes: u64,
    pub rounds: u32,
    pub area_bytes: u64,
    pub seed: u64,
    pub run: u64,
}

impl WriterScript {
    /// The acts of each round, as far as there is space.
    pub fn acts(&self) -> Result<(RecordLayout, Vec<Vec<Action>>), String> {
        let layout = RecordLayout::new(self.pattern, self.record_bytes, self.area_bytes)?;
        Ok((layout, layout.rounds(self.seed).take(self.rounds as usize).collect()))
    }

    /// Writes all rounds; `report` receives the number of each acknowledged round, from 1.
    fn perform(
        &self,
        medium: &mut dyn Medium,
        report: &mut dyn FnMut(u32) -> Result<(), String>,
    ) -> Result<(), String> {
        let (_, rounds) = self.acts()?;
        let mut writer = ActWriter::new(self.sync, self.record_bytes, self.run, 0);
        for (acts, round) in rounds.into_iter().zip(1..) {
            for act in acts {
                writer.act(act, medium)?;
                if act == Action::Promise {
                    report(round)?;
                }
            }
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriterSpec {
    Pattern(WriterScript),
    Files { shape: FileShape, run: u64 },
    Command(CommandLines),
}

/// `List` asks for the content of each file, `Inspect` runs the file system's check, `Check` that of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestOrder {
    Make { on: On },
    Write { on: On, mounted: String, writer: WriterSpec },
    Read { on: On, mounted: String, run: u64, bytes: u64 },
    List { on: On, mounted: String, shape: FileShape, run: u64 },
    Inspect { on: On },
    Check { on: On, mounted: String, own: CommandLines, lines: Vec<String> },
    GoOn,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    Ready,
    /// This round, or this many calls, are done.
    Round(u32),
    Line(String),
    /// All are done, and the files are still open.
    Written,
    Done,
    /// Content as runs of sectors: their number, and their content.
    There(Vec<(u32, Seen)>),
    Listed(Listing),
    Checked(EndedLine),
    /// Error output of the file system's check, if any.
    Inspected(Option<String>),
    /// The content is unreachable: the file system does not mount, or the file is missing.
    Unreachable(String),
    Failed(String),
}

impl Answer {
    pub fn from_image(image: &[Seen]) -> Self {
        Self::There(collect_runs(image))
    }
}

/// Run-length encoding of an image: each content with the number of consecutive sectors.
fn collect_runs(image: &[Seen]) -> Vec<(u32, Seen)> {
    let mut runs: Vec<(u32, Seen)> = Vec::new();
    for seen in image {
        match runs.last_mut() {
            Some((count, last)) if last == seen => *count += 1,
            _ => runs.push((1, *seen)),
        }
    }
    runs
}

/// Expands the runs to this many sectors; missing ones count as not written.
pub fn expand_runs(runs: &[(u32, Seen)], sectors: usize) -> Vec<Seen> {
    let all = runs.iter().flat_map(|(count, sector)| (0..*count).map(|_| *sector));
    let mut image: Vec<Seen> = all.take(sectors).collect();
    image.resize(sectors, Seen::Before);
    image
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    Unreachable(String),
    Otherwise(String),
}

/// The pieces of a file in order; `None` for an unreadable one.
pub type Pieces = Vec<Option<Vec<u8>>>;

pub trait GuestStorage {
    fn make(&mut self, on: On) -> Result<(), String>;

    /// Reopens the place without caches, performs the writes, and closes it.
    fn written(
        &mut self,
        on: On,
        mounted: &str,
        write: &mut dyn FnMut(&mut dyn Medium) -> Result<(), String>,
    ) -> Result<(), Trouble>;

    /// Reads up to this many bytes in pieces of [`PIECE_BYTES`].
    fn read(&mut self, on: On, mounted: &str, bytes: u64) -> Result<Pieces, Trouble>;

    /// Runs the file system's check after unmounting: returns its complaint, if any. Changes nothing.
    fn inspect(&mut self, on: On) -> Result<Option<String>, String>;

    /// Opens the program's directory on the drive, whose name is on the medium: the existing one, or a new one.
    fn room(
        &mut self,
        on: On,
        mounted: &str,
        work: &mut dyn FnMut(&mut dyn MountedStorage) -> Result<(), String>,
    ) -> Result<(), Trouble>;
}

pub trait MountedStorage {
    fn files(&mut self) -> Box<dyn Directory + '_>;

    /// Runs a command there; `promised` receives each line that it prints.
    fn command(
        &mut self,
        own: &CommandLines,
        promised: &mut dyn FnMut(String) -> Result<(), String>,
    ) -> Result<EndedLine, String>;

    fn check(&mut self, own: &CommandLines, lines: &[String]) -> Result<EndedLine, String>;
}

pub const PIECE_BYTES: u64 = 4096;

/// Obeys the orders that `hear` returns, until the host closes the connection; `say` sends the answers.
pub fn work(
    place: &mut dyn GuestStorage,
    hear: &mut dyn FnMut() -> Option<String>,
    say: &mut dyn FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    let mut say = |answer: &Answer| say(&serde_json::to_string(answer).unwrap_or_default());
    say(&Answer::Ready)?;
    while let Some(line) = hear() {
        let answer = match serde_json::from_str(&line) {
            Err(error) => Answer::Failed(format!("invalid request: {error}")),
            Ok(GuestOrder::Make { on }) => {
                place.make(on).map_or_else(Answer::Failed, |()| Answer::Done)
            }
            Ok(GuestOrder::Write { on, mounted, writer }) => {
                write_to_drive(place, on, &mounted, &writer, hear, &mut say)
            }
            Ok(GuestOrder::Read { on, mounted, run, bytes }) => {
                let pieces = place.read(on, &mounted, bytes);
                pieces.map_or_else(failure, |pieces| {
                    Answer::from_image(&identify_sectors(&pieces, run))
                })
            }
            Ok(GuestOrder::List { on, mounted, shape, run }) => {
                let script = files::FileScript::from_shape(&shape);
                answer_in_room(place, on, &mounted, &mut |room| {
                    let listing = read_back(&script, run, &mut *room.files());
                    // A directory with unreadable names counts as missing.
                    Ok(listing.map_or_else(Answer::Unreachable, Answer::Listed))
                })
            }
            Ok(GuestOrder::Check { on, mounted, own, lines }) => {
                answer_in_room(place, on, &mounted, &mut |room| {
                    room.check(&own, &lines).map(Answer::Checked)
                })
            }
            Ok(GuestOrder::Inspect { on }) => {
                place.inspect(on).map_or_else(Answer::Failed, Answer::Inspected)
            }
            // Reply to a report before the end of the last order.
            Ok(GuestOrder::GoOn) => continue,
        };
        say(&answer)?;
    }
    Ok(())
}

fn failure(trouble: Trouble) -> Answer {
    match trouble {
        Trouble::Unreachable(text) => Answer::Unreachable(text),
        Trouble::Otherwise(text) => Answer::Failed(text),
    }
}

/// Opens the program's directory on the drive, and returns what `ask` answers there.
fn answer_in_room(
    place: &mut dyn GuestStorage,
    on: On,
    mounted: &str,
    ask: &mut dyn FnMut(&mut dyn MountedStorage) -> Result<Answer, String>,
) -> Answer {
    let mut answer = Answer::Failed("no request was made".to_owned());
    let ended = place.room(on, mounted, &mut |room| {
        answer = ask(room)?;
        Ok(())
    });
    ended.map_or_else(failure, |()| answer)
}

/// Runs a writer and reports its rounds or lines; after each round, waits for a reply of the host.
fn write_to_drive(
    place: &mut dyn GuestStorage,
    on: On,
    mounted: &str,
    writer: &WriterSpec,
    hear: &mut dyn FnMut() -> Option<String>,
    say: &mut dyn FnMut(&Answer) -> Result<(), String>,
) -> Answer {
    let ended = match writer {
        WriterSpec::Pattern(script) => place.written(on, mounted, &mut |medium| {
            script.perform(medium, &mut |round| {
                say(&Answer::Round(round))?;
                hear().map(|_| ()).ok_or_else(|| "the host closed the connection".to_owned())
            })?;
            say(&Answer::Written)
        }),
        WriterSpec::Files { shape, run } => {
            let script = files::FileScript::from_shape(shape);
            place.room(on, mounted, &mut |room| {
                let mut report = |calls: usize| {
                    say(&Answer::Round(calls as u32))?;
                    // The host closed the connection.
                    let is_over = hear().is_none();
                    Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                };
                script.run(*run, &mut *room.files(), &mut report)?;
                say(&Answer::Written)
            })
        }
        WriterSpec::Command(own) => place.room(on, mounted, &mut |room| {
            room.command(own, &mut |line| say(&Answer::Line(line)))?.require_normal_end()?;
            say(&Answer::Written)
        }),
    };
    ended.map_or_else(failure, |()| Answer::Done)
}

/// Identifies the write in each sector; a piece that could not be read has unreadable sectors.
fn identify_sectors(pieces: &Pieces, run: u64) -> Vec<Seen> {
    let sectors_per_piece = (PIECE_BYTES / SECTOR_BYTES) as usize;
    let mut image = Vec::new();
    for (piece, first) in pieces.iter().zip((0..).step_by(sectors_per_piece)) {
        let Some(bytes) = piece else {
            image.extend([Seen::Unreadable].repeat(sectors_per_piece));
            continue;
        };
        let sectors = bytes.chunks(SECTOR_BYTES as usize).zip(first..);
        image.extend(sectors.map(|(sector, at)| identify(sector, run, at)));
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::image::fill;

    #[test]
    fn what_was_read_is_told_in_runs_and_taken_back() {
        let all = [Seen::Before, Seen::Before, Seen::Write(3), Seen::Strange, Seen::Unreadable];
        let told = collect_runs(&all);
        assert_eq!(told[0], (2, Seen::Before));
        assert_eq!(expand_runs(&told, 5), all);
        assert_eq!(expand_runs(&told, 7)[5..], [Seen::Before; 2]);
        assert_eq!(expand_runs(&[(u32::MAX, Seen::Strange)], 3), [Seen::Strange; 3]);
    }

    #[test]
    fn pieces_that_are_missing_cut_off_or_unreadable_are_no_writes() {
        let mut piece = vec![0; PIECE_BYTES as usize];
        fill(&mut piece, 7, 8, 1);
        let image = identify_sectors(&vec![None, Some(piece[..1000].to_vec())], 7);
        assert_eq!(image[..8], [Seen::Unreadable; 8]);
        assert_eq!(image[8..], [Seen::Write(1), Seen::Strange], "a sector that is cut off is none");
    }

    struct Nothing;

    impl GuestStorage for Nothing {
        fn make(&mut self, _: On) -> Result<(), String> {
            Err("no".to_owned())
        }

        fn written(
            &mut self,
            _: On,
            _: &str,
            _: &mut dyn FnMut(&mut dyn Medium) -> Result<(), String>,
        ) -> Result<(), Trouble> {
            Err(Trouble::Otherwise("no".to_owned()))
        }

        fn read(&mut self, _: On, _: &str, _: u64) -> Result<Pieces, Trouble> {
            Err(Trouble::Unreachable("no".to_owned()))
        }

        fn inspect(&mut self, _: On) -> Result<Option<String>, String> {
            Ok(Some("a fault".to_owned()))
        }

        fn room(
            &mut self,
            _: On,
            _: &str,
            _: &mut dyn FnMut(&mut dyn MountedStorage) -> Result<(), String>,
        ) -> Result<(), Trouble> {
            Err(Trouble::Unreachable("no".to_owned()))
        }
    }

    #[test]
    fn what_cannot_be_done_is_told_and_the_next_order_is_heard() {
        let on = On::Ext4;
        let read = GuestOrder::Read { on, mounted: String::new(), run: 1, bytes: 4096 };
        let orders = [
            "nonsense".to_owned(),
            serde_json::to_string(&GuestOrder::Make { on }).unwrap(),
            serde_json::to_string(&read).unwrap(),
            serde_json::to_string(&GuestOrder::Inspect { on }).unwrap(),
        ];
        let (mut orders, mut said) = (orders.into_iter(), Vec::new());
        work(&mut Nothing, &mut || orders.next(), &mut |line| {
            said.push(serde_json::from_str::<Answer>(line).unwrap());
            Ok(())
        })
        .unwrap();
        let [
            Answer::Ready,
            Answer::Failed(_),
            Answer::Failed(made),
            Answer::Unreachable(_),
            Answer::Inspected(Some(_)),
        ] = &said[..]
        else {
            panic!("{said:?}")
        };
        assert_eq!(made, "no");
    }
}
