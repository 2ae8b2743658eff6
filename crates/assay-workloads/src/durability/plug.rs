//! Plug test: a program writes on the real machine and reports each completed round to a peer, the user cuts the power
//! when prompted, and after the next boot the content is judged by the peer's reports.
//!
//! Each trial is one power loss. Its start and the written file are on the medium before the first acknowledgment.

use std::fs::File;
use std::io;
use std::iter;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_core::digest::{Digest, hexadecimal, sha256};
use assay_core::draws::Draws;
use assay_core::quantity::units::show;
use assay_load::{OneByOne, Target};
use assay_machine::system::mains::{BOOT, Mains, PREFIX};
use assay_machine::system::network::handshake::digest;
use assay_machine::system::network::ledger::Ledger;
use assay_machine::system::network::token;
use assay_machine::system::{AreaFile, FileKind, System};
use serde::{Deserialize, Serialize};

use crate::durability::image::{Seen, identify};
use crate::durability::judge::{LostWrite, WrittenRecords};
use crate::durability::log::{KnownWrites, SECTOR_BYTES};
use crate::durability::outage::AREA_BYTES;
use crate::durability::pattern::{Action, RecordLayout};
use crate::durability::sync::Sync as SyncBy;
use crate::durability::tally::Counterexample;
use crate::durability::trial::{ActWriter, DurabilityDetail, DurabilityTrial};

/// Earliest and latest prompt for the power cut, nanoseconds after the first write.
const PROMPT_NS: [u64; 2] = [1_000_000_000, 5_000_000_000];
/// Limit on rounds per trial: the judgment has them in memory.
const MOST_ROUNDS: u64 = 200_000;
/// Each round takes longer than this, because it contacts a peer.
const SHORTEST_ROUND_NS: u64 = 1_000_000;
/// Attempts to reach the peer after a boot: networks may start late.
const PEER_TRIES: u32 = 30;
const PEER_PAUSE: Duration = Duration::from_secs(2);
const PIECE: usize = 64 << 10;
const NAME_DIGITS: usize = 16;

/// Notes on a trial that survive this process.
pub trait NoteStore: Sync {
    /// The result's ID, as used by the command that resumes it.
    fn result(&self) -> &str;

    fn trial(&self) -> u32;

    fn last(&self) -> Option<String>;

    /// Adds a note, which is on the medium when this returns.
    fn add(&self, text: &str) -> io::Result<()>;
}

#[derive(Clone, Copy)]
pub struct PlugTarget<'a> {
    pub system: &'a dyn System,
    /// The target: a directory, or a device to overwrite.
    pub path: &'a Path,
    /// The open device; unused for a directory.
    pub device: Option<&'a File>,
    /// Start of the area on the device, and its length, bytes.
    pub area: [u64; 2],
    pub notes: Option<&'a dyn NoteStore>,
    /// Set when the user stops, or the machine shuts down.
    pub stop: &'a AtomicBool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TrialNote {
    Begun(BegunTrial),
    /// The power was lost, with this result.
    Judged(Box<DurabilityDetail>),
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BegunTrial {
    boot: String,
    /// The peer's key for its reports; also the name of the file.
    key: String,
    run: u64,
}

impl BegunTrial {
    fn file(&self) -> String {
        format!("{PREFIX}{}", &self.key[..NAME_DIGITS.min(self.key.len())])
    }

    fn trial(&self) -> Result<Digest, String> {
        digest(&self.key).ok_or_else(|| "the start record of the trial is damaged".to_owned())
    }
}

enum PeerReply {
    Rounds(u64),
    /// The peer rejected the token, for this reason; a later attempt may succeed.
    Refused(String),
    Stopped,
}

pub struct Plug<'a> {
    pub course: &'a DurabilityTrial,
    pub peer: &'a str,
    pub ground: PlugTarget<'a>,
}

impl Plug<'_> {
    /// Writes until the power loss, or judges the content after one.
    pub fn run(&self) -> Result<DurabilityDetail, String> {
        let notes = self.notes()?;
        match notes.last().and_then(|text| serde_json::from_str(&text).ok()) {
            Some(TrialNote::Begun(begun)) => self.judge_unfinished(&begun),
            // The trial was judged before another power loss.
            Some(TrialNote::Judged(detail)) => Ok(*detail),
            Some(TrialNote::Over) | None => self.start_trial(notes),
        }
    }

    fn notes(&self) -> Result<&dyn NoteStore, String> {
        let none = "method plug needs a stored result, because `assay resume` reads the trial";
        self.ground.notes.ok_or_else(|| none.to_owned())
    }

    fn note(&self, note: &TrialNote) -> Result<(), String> {
        let added = self.notes()?.add(&serde_json::to_string(note).unwrap_or_default());
        added.map_err(|error| format!("cannot store the state of the trial: {error}"))
    }

    fn mains(&self) -> Result<&dyn Mains, String> {
        self.ground.system.mains().map_err(|error| error.to_string())
    }

    fn boot_id(&self) -> Result<String, String> {
        let text = self.ground.system.read_text(Path::new(BOOT));
        Ok(text.map_err(|error| format!("cannot read {BOOT}: {error}"))?.trim().to_owned())
    }

    /// Connects to the peer; a missing or different token is rejected.
    fn connect(&self) -> io::Result<Box<dyn Ledger + '_>> {
        let token = token::of_environment(self.ground.system);
        let token = token.map_err(|why| io::Error::new(io::ErrorKind::PermissionDenied, why))?;
        self.ground.system.mains()?.ledger(self.peer, &token)
    }

    /// Writes until the power loss; returns only if the user stops, or does not cut the power.
    fn start_trial(&self, notes: &dyn NoteStore) -> Result<DurabilityDetail, String> {
        let random = self.ground.system.random().map_err(|error| error.to_string())?;
        let name = format!("{} {} ", notes.result(), notes.trial());
        let key = sha256([name.as_bytes(), &random[..]].concat());
        // The last 8 bytes identify the data of this run.
        let run = key[24..].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let begun = BegunTrial { boot: self.boot_id()?, key: hexadecimal(&key), run };
        let connected = self.connect().or_else(|_| {
            // A busy peer may have rejected the connection.
            self.ground.system.sleep(PEER_PAUSE);
            self.connect()
        });
        let mut ledger = connected.map_err(|error| error.to_string())?;
        ledger.open(&key).map_err(|error| {
            format!("peer {} does not record acknowledged writes of this trial: {error}", self.peer)
        })?;
        let ended = self.note(&TrialNote::Begun(begun.clone())).and_then(|()| {
            let area = self.create_file(&begun)?;
            let detail = self.write_until_cut(&begun, area.as_ref(), &mut *ledger)?;
            self.remove(area.as_ref())?;
            Ok(detail)
        });
        if ended.is_err() {
            self.remove_leftover(&begun);
        }
        // Without a power loss, nobody needs the record; a lost peer has forgotten it.
        let _ = ledger.forget(&key);
        let noted = self.note(&TrialNote::Over);
        let detail = ended?;
        noted?;
        Ok(detail)
    }

    /// Creates the test file; `None` for a device.
    fn create_file(&self, begun: &BegunTrial) -> Result<Option<AreaFile>, String> {
        if !self.is_directory()? {
            return Ok(None);
        }
        let (mains, path) = (self.mains()?, self.ground.path);
        let made = mains.create_kept(path, &begun.file());
        let made = made.and_then(|area| mains.settle(path).map(|()| area));
        made.map(Some)
            .map_err(|error| format!("cannot create a file in {}: {error}", path.display()))
    }

    fn is_directory(&self) -> Result<bool, String> {
        let path = self.ground.path;
        let found = self.ground.system.status(path);
        let found = found.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(found.kind == FileKind::Directory)
    }

    fn remove(&self, area: Option<&AreaFile>) -> Result<(), String> {
        let removed = area.map_or(Ok(()), |area| self.ground.system.remove_area(area));
        removed.map_err(|error| format!("cannot remove the test file: {error}"))
    }

    /// Removes the test file, if it exists. An error here does not replace the error or result of the trial.
    fn remove_leftover(&self, begun: &BegunTrial) {
        if !self.is_directory().unwrap_or_default() {
            return;
        }
        let opened = self.mains().map(|mains| mains.open_kept(self.ground.path, &begun.file()));
        if let Ok(Ok(area)) = opened {
            let _ = self.remove(Some(&area));
        }
    }

    /// The file or device to write, and the start of the area in it, bytes.
    fn file_and_start<'f>(&'f self, area: Option<&'f AreaFile>) -> Result<(&'f File, u64), String> {
        match (area, self.ground.device) {
            (Some(area), _) => Ok((&area.file, area.first_byte)),
            (None, Some(device)) => Ok((device, self.ground.area[0])),
            (None, None) => Err("no device to write to".to_owned()),
        }
    }

    fn layout(&self) -> Result<RecordLayout, String> {
        let course = self.course;
        let bytes = if self.is_directory()? { AREA_BYTES } else { self.ground.area[1] };
        RecordLayout::new(course.pattern, course.record_bytes, bytes.min(AREA_BYTES))
    }

    /// Writes and reports each round, until the user stops it or fails to cut the power.
    fn write_until_cut(
        &self,
        begun: &BegunTrial,
        area: Option<&AreaFile>,
        ledger: &mut dyn Ledger,
    ) -> Result<DurabilityDetail, String> {
        let (system, course) = (self.ground.system, self.course);
        let (file, first) = self.file_and_start(area)?;
        let target = Target { file: Some(file.as_fd()), memory_alignment: SECTOR_BYTES as usize };
        let mut medium = OneByOne::open(&target, course.record_bytes as u32)?;
        let mut draws = Draws::new(course.seed, "durability plug");
        let [earliest_ns, latest_ns] = PROMPT_NS;
        let prompt_ns = earliest_ns + draws.below(latest_ns - earliest_ns);
        let end_ns = prompt_ns.saturating_add(course.time_ns);
        // At this pace, the time ends before the rounds exceed their limit.
        let pace_ns = (end_ns / MOST_ROUNDS).max(SHORTEST_ROUND_NS);
        let began_ns = system.monotonic_ns();
        let now_ns = || system.monotonic_ns().saturating_sub(began_ns);
        let mut writer = ActWriter::new(course.sync, course.record_bytes, begun.run, first);
        let mut is_prompted = false;
        for (acts, round) in endless_rounds(self.layout()?, course.seed).zip(1..) {
            let round_ns = now_ns();
            if self.ground.stop.load(Ordering::Relaxed) {
                return Ok(DurabilityDetail { stopped: true, ..DurabilityDetail::default() });
            }
            if round_ns >= end_ns {
                break;
            }
            if round_ns >= prompt_ns && !is_prompted {
                is_prompted = true;
                self.mains()?.call(&self.prompt()?);
            }
            for act in acts {
                writer.act(act, &mut medium)?;
                if act == Action::Promise {
                    ledger.tell(round).map_err(|error| self.lost_peer_words(&error))?;
                }
            }
            let left_ns = pace_ns.saturating_sub(now_ns().saturating_sub(round_ns));
            system.sleep(Duration::from_nanos(left_ns));
        }
        Err(format!(
            "the power was not cut within {} of the request, so there is no verdict",
            show::duration(course.time_ns as f64)
        ))
    }

    fn prompt(&self) -> Result<String, String> {
        let result = self.notes()?.result();
        Ok(format!(
            "pull the plug now, or cut the power at the wall; do not shut down or reset the machine. \
             Assay writes until then, for at most {}. After the restart, run: assay resume {result}",
            show::duration(self.course.time_ns as f64)
        ))
    }

    fn lost_peer_words(&self, error: &io::Error) -> String {
        format!(
            "lost peer {} during the test ({error}); the acknowledged writes are unknown, so there is no verdict",
            self.peer
        )
    }

    /// Judges a trial that started and did not end.
    fn judge_unfinished(&self, begun: &BegunTrial) -> Result<DurabilityDetail, String> {
        let judged = self.judge_trial(begun);
        let note = match &judged {
            // Stopped by the user: judge it on resume.
            Ok(detail) if detail.stopped => return judged,
            // The judgment must be durable before the data is removed.
            Ok(detail) => TrialNote::Judged(Box::new(detail.clone())),
            Err(_) => TrialNote::Over,
        };
        self.note(&note)?;
        self.remove_leftover(begun);
        if let (Ok(mut ledger), Ok(trial)) = (self.connect(), begun.trial()) {
            let _ = ledger.forget(&trial);
        }
        judged
    }

    /// Judges the data after the restart against the rounds that the peer recorded.
    fn judge_trial(&self, begun: &BegunTrial) -> Result<DurabilityDetail, String> {
        if self.boot_id()? == begun.boot {
            return Err(
                "the machine has not rebooted since the test began (same boot ID), so there was no power cut and \
                 there is no verdict"
                    .to_owned(),
            );
        }
        let stopped = DurabilityDetail { stopped: true, ..DurabilityDetail::default() };
        let rounds = match self.ask_peer(begun)? {
            // Nothing could be lost: counting this crash would make the bound too small.
            PeerReply::Rounds(0) => {
                return Err("the power was cut before the first write: no verdict".to_owned());
            }
            PeerReply::Rounds(rounds) => rounds,
            PeerReply::Refused(why) => {
                let result = self.notes()?.result();
                self.mains()?.call(&format!(
                    "cannot evaluate the power cut yet: {why}; then run: assay resume {result}"
                ));
                return Ok(stopped);
            }
            PeerReply::Stopped => return Ok(stopped),
        };
        let (written, known, steps) = self.derive_writes(rounds)?;
        let mut detail = DurabilityDetail { rounds, ..DurabilityDetail::default() };
        detail.writes = u64::from(known.begun);
        detail.written_bytes = detail.writes * self.course.record_bytes;
        if self.course.sync != SyncBy::None {
            detail.tally.acknowledged_writes = rounds;
        }
        let judgement = if let Some(image) = self.read_image(begun, written.log.sectors())? {
            written.judge_known(&image, known)
        } else {
            // The file was durable before the first acknowledgment, and now it is missing.
            written.lose_all(known)
        };
        detail.tally.count(&judgement, |lost: &LostWrite| {
            // Nobody knows which writes survived; the crash follows the last acknowledgment.
            let mut loss = self.course.write_loss(&written, lost, None)?;
            loss.crash_step = Some(steps as u64);
            Some(Counterexample::Place(loss))
        });
        Ok(detail)
    }

    /// Asks the peer for the number of rounds that it recorded.
    fn ask_peer(&self, begun: &BegunTrial) -> Result<PeerReply, String> {
        let trial = begun.trial()?;
        let mut why = String::new();
        for at in 0..PEER_TRIES {
            if at > 0 {
                self.ground.system.sleep(PEER_PAUSE);
            }
            if self.ground.stop.load(Ordering::Relaxed) {
                return Ok(PeerReply::Stopped);
            }
            match self.connect().and_then(|mut peer| peer.last_number(&trial)) {
                Ok(Some(rounds)) => return Ok(PeerReply::Rounds(rounds)),
                Ok(None) => {
                    return Err(format!(
                        "peer {} no longer has a record of this trial (it restarted, or the record is \
                         over a day old); the acknowledged writes are unknown, so there is no verdict",
                        self.peer
                    ));
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Ok(PeerReply::Refused(error.to_string()));
                }
                Err(error) => why = error.to_string(),
            }
        }
        Err(format!(
            "cannot reach peer {} for the acknowledged writes, so there is no verdict ({why})",
            self.peer
        ))
    }

    /// Derives the writes from the seed if the peer heard of these rounds, and the steps to the last acknowledgment.
    fn derive_writes(&self, rounds: u64) -> Result<(WrittenRecords, KnownWrites, usize), String> {
        let layout = self.layout()?;
        let mut records = WrittenRecords::with_room(layout, 0);
        let mut known = KnownWrites { begun: 0, promised: 0 };
        let mut steps = 0;
        // No trial has more rounds: a larger number is an error of the peer.
        let heard = rounds.min(MOST_ROUNDS);
        // The round after the last reported one may have been in progress.
        for (acts, round) in endless_rounds(layout, self.course.seed).zip(1..=heard + 1) {
            for act in acts {
                match act {
                    Action::Write { what, at } => records.write(at, what),
                    Action::Sync => records.log.flush(),
                    Action::Promise if round <= heard && self.course.sync != SyncBy::None => {
                        records.log.promise();
                        known.promised = records.log.writes.len() as u32;
                        steps = records.log.steps.len();
                    }
                    Action::Promise => {}
                }
            }
        }
        known.begun = records.log.writes.len() as u32;
        Ok((records, known, steps))
    }

    /// The content by sector; `None` if the file is missing.
    fn read_image(&self, begun: &BegunTrial, sectors: u64) -> Result<Option<Vec<Seen>>, String> {
        let area = if self.is_directory()? {
            match self.mains()?.open_kept(self.ground.path, &begun.file()) {
                Ok(area) => Some(area),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(format!("cannot open the test file: {error}")),
            }
        } else {
            None
        };
        let (file, first) = self.file_and_start(area.as_ref())?;
        let mut image = Vec::with_capacity(sectors as usize);
        let mut piece = vec![0; PIECE];
        for at in (0..sectors).step_by(PIECE / SECTOR_BYTES as usize) {
            let bytes = ((sectors - at) * SECTOR_BYTES).min(PIECE as u64) as usize;
            let read = self.read(file, first + at * SECTOR_BYTES, &mut piece[..bytes]);
            for (sector, place) in piece[..bytes].chunks_exact(SECTOR_BYTES as usize).zip(at..) {
                let sector_end = (place - at + 1) * SECTOR_BYTES;
                image.push(match &read {
                    Ok(length) if sector_end <= *length as u64 => {
                        identify(sector, begun.run, place)
                    }
                    // After the end of a truncated file.
                    Ok(_) => Seen::Before,
                    Err(_) => Seen::Unreadable,
                });
            }
        }
        Ok(Some(image))
    }

    /// Reads until `into` is full or the file ends; returns the number of bytes read.
    fn read(&self, file: &File, from: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < into.len() {
            match self.ground.system.read_at(file, from + done as u64, &mut into[done..])? {
                0 => break,
                read => done += read,
            }
        }
        Ok(done)
    }
}

/// The rounds of a program without end: a full log starts over.
fn endless_rounds(layout: RecordLayout, seed: u64) -> impl Iterator<Item = Vec<Action>> {
    iter::repeat_with(move || layout.rounds(seed)).flatten()
}

/// Whether a trial needs no further judgment, by its last note.
pub fn is_over(note: &str) -> bool {
    matches!(serde_json::from_str(note), Ok(TrialNote::Over))
}

#[cfg(test)]
mod tests;
