//! Studies that somebody watches: one task a study, however many watch it, and none when nobody
//! does. Everything that a page shows is in each event, rows that the page has left out: an event
//! says from which row on, so nothing is lost or doubled when the connection or the server begins
//! anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::response::sse;
use futures_util::stream::{self, Stream};
use serde::Serialize;
use tokio::sync::watch::{Receiver, Sender, channel};

use super::find;
use super::readers::Readers;
use crate::store::progress::{LATEST, Phase, Progress, Ran, Watched};
use assay_base::failure::{Failure, Outcome};
use assay_system::system::System;

/// How often files are looked at.
const PAUSE: Duration = Duration::from_secs(1);
/// Looks that are taken after the last watcher has gone: a page comes back for its events.
const LOOKS_ALONE: u32 = 5;
/// Rows that a page shows, the latest.
pub(super) const ROWS: usize = LATEST;

/// A study at one look.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    /// How far it is.
    pub progress: Progress,
    /// The latest trials that have run.
    pub rows: Arc<Vec<Ran>>,
    /// How many ran before them.
    pub earlier: usize,
}

impl State {
    /// Trials that have run.
    pub fn count(&self) -> usize {
        self.earlier + self.rows.len()
    }

    /// The first of the rows that are shown.
    pub fn first_shown(&self) -> usize {
        self.earlier + self.rows.len().saturating_sub(ROWS)
    }

    /// Rows from a number on, with their numbers.
    pub fn rows_from(&self, first: usize) -> impl DoubleEndedIterator<Item = (usize, &Ran)> {
        let rows = self.rows.get(first.saturating_sub(self.earlier)..).unwrap_or_default();
        let first = self.count() - rows.len();
        rows.iter().enumerate().map(move |(index, row)| (first + index, row))
    }
}

/// What is known of a watched study: nothing at first, then its state or why there is none.
type Known = Option<Result<Arc<State>, String>>;

/// All studies that somebody watches.
#[derive(Debug)]
pub(super) struct Lives {
    results: PathBuf,
    readers: Readers,
    watched: Mutex<BTreeMap<String, Sender<Known>>>,
}

impl Lives {
    /// Nothing is watched yet.
    pub fn new(results: &Path, readers: Readers) -> Arc<Self> {
        Arc::new(Self { results: results.to_owned(), readers, watched: Mutex::default() })
    }

    /// Begins to watch a study, or joins those who do.
    pub async fn watch(self: &Arc<Self>, id: &str) -> Outcome<Watching> {
        let mut news = self.join(id);
        let first = news.wait_for(Option::is_some).await.map(|known| known.clone());
        match first.ok().flatten() {
            Some(Ok(_)) => Ok(Watching { news }),
            Some(Err(reason)) => Err(Failure::mistake(reason)),
            None => Err(Failure::refused("the server is ending")),
        }
    }

    fn join(self: &Arc<Self>, id: &str) -> Receiver<Known> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = watched.get(id) {
            return sender.subscribe();
        }
        let (sender, receiver) = channel(None);
        watched.insert(id.to_owned(), sender.clone());
        tokio::spawn(Arc::clone(self).follow(id.to_owned(), sender));
        receiver
    }

    /// Looks at a study as long as somebody watches.
    async fn follow(self: Arc<Self>, id: String, sender: Sender<Known>) {
        let (results, name) = (self.results.clone(), id.clone());
        let begin = move |system: &dyn System| {
            let directory = find::result(system, &results, &name)?;
            Watched::new(system, &directory).map(|watched| (state(system, &watched), watched))
        };
        let mut study = match self.readers.ask_at_length(begin).await.and_then(|found| found) {
            Ok((first, watched)) => {
                let goes_on = first.progress.phase != Phase::Ended;
                sender.send_replace(Some(Ok(Arc::new(first))));
                goes_on.then_some(watched)
            }
            Err(failure) => {
                self.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                sender.send_replace(Some(Err(failure.message)));
                return;
            }
        };
        let mut alone = 0;
        while alone < LOOKS_ALONE || !self.is_left(&id, &sender) {
            tokio::time::sleep(PAUSE).await;
            alone = if sender.receiver_count() == 0 { alone + 1 } else { 0 };
            // Of one that has ended there is nothing more to be seen.
            let Some(mut watched) = study.take() else { continue };
            let look = move |system: &dyn System| {
                watched.look(system);
                (state(system, &watched), watched)
            };
            let Ok((now, watched)) = self.readers.ask(look).await else { break };
            study = (now.progress.phase != Phase::Ended).then_some(watched);
            sender.send_if_modified(|known| {
                let differs = !matches!(known, Some(Ok(before)) if is_same(before, &now));
                if differs {
                    *known = Some(Ok(Arc::new(now)));
                }
                differs
            });
        }
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Whether the last watcher has gone; nobody can join between the look and the end.
    fn is_left(&self, id: &str, sender: &Sender<Known>) -> bool {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let left = sender.receiver_count() == 0;
        if left {
            watched.remove(id);
        }
        left
    }
}

fn state(system: &dyn System, watched: &Watched) -> State {
    let (rows, earlier) = watched.rows();
    State { progress: watched.progress(system), rows, earlier }
}

/// Whether a page would show the same; it counts the seconds by itself.
fn is_same(before: &State, now: &State) -> bool {
    let timeless = |state: &State| Progress { elapsed_s: None, ..state.progress.clone() };
    Arc::ptr_eq(&before.rows, &now.rows) && timeless(before) == timeless(now)
}

/// One who watches a study.
pub(super) struct Watching {
    news: Receiver<Known>,
}

/// What a page is told.
#[derive(Serialize)]
struct Event<'a> {
    #[serde(flatten)]
    progress: &'a Progress,
    /// What the page says of the phase.
    sentence: String,
    /// Rows from this one on; earlier ones stay as they are.
    from: usize,
    rows: Vec<[&'a str; 6]>,
}

impl Watching {
    /// The state now.
    pub fn state(&self) -> Outcome<Arc<State>> {
        match &*self.news.borrow() {
            Some(Ok(state)) => Ok(Arc::clone(state)),
            Some(Err(reason)) => Err(Failure::mistake(reason.clone())),
            None => Err(Failure::refused("nothing is known yet")),
        }
    }

    /// Events for a page that has this many rows, until the study has ended.
    pub fn events(self, rows: usize) -> impl Stream<Item = serde_json::Result<sse::Event>> {
        let begin = Some((self.news, rows, true));
        stream::unfold(begin, |going| async move {
            let (mut news, rows, first) = going?;
            if !first && news.changed().await.is_err() {
                return None;
            }
            let state = news.borrow_and_update().clone()?.ok()?;
            let event = event(&state, rows);
            let goes_on = state.progress.phase != Phase::Ended;
            let shown = state.count();
            Some((event, goes_on.then_some((news, shown, false))))
        })
    }
}

fn event(state: &State, known: usize) -> serde_json::Result<sse::Event> {
    // A page that has more rows than there are has those of another file.
    let known = if known > state.count() { 0 } else { known };
    let from = known.max(state.first_shown());
    let told = Event {
        progress: &state.progress,
        sentence: sentence(&state.progress),
        from,
        rows: state.rows_from(from).map(|(_, row)| cells(row)).collect(),
    };
    let event = sse::Event::default().id(state.count().to_string()).retry(PAUSE);
    Ok(event.data(serde_json::to_string(&told)?))
}

/// The cells of a row, as the page has them.
pub(super) fn cells(row: &Ran) -> [&str; 6] {
    let reason = row.reason.as_deref().unwrap_or_default();
    [&row.replicate, &row.workload, &row.arm, &row.value, status(row), reason]
}

fn status(row: &Ran) -> &'static str {
    use assay_study::results::record::Status;
    match row.status {
        Status::Ok => "ok",
        Status::Failed => "failed",
        Status::Disturbed => "disturbed",
        Status::LeadIn => "lead-in",
    }
}

/// Where a study stands, for people.
pub(super) fn sentence(progress: &Progress) -> String {
    match (progress.phase, &progress.ended) {
        (Phase::Running, _) => "It is running.".to_owned(),
        (Phase::Ended, Some(why)) => format!("It has {why}."),
        (Phase::Ended, None) => "It has ended with its last trial.".to_owned(),
        (Phase::Interrupted, _) if !progress.may_go_on => {
            "It was interrupted: nobody works on it any more.".to_owned()
        }
        (Phase::Interrupted, _) => format!(
            "It was interrupted: nobody works on it any more. Go on with: assay restore resume {}",
            progress.id
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(rows: usize) -> State {
        let row = Ran {
            order: 0,
            replicate: "1".to_owned(),
            workload: "read".to_owned(),
            arm: "depth=4".to_owned(),
            value: "9,100 IOPS".to_owned(),
            status: assay_study::results::record::Status::Ok,
            reason: None,
        };
        State {
            progress: Progress {
                id: "a".to_owned(),
                title: "t".to_owned(),
                phase: Phase::Running,
                may_go_on: true,
                ended: None,
                done: rows,
                planned: 700,
                began: String::new(),
                elapsed_s: Some(3),
                left_s: Some(9),
                now: None,
                warnings: Vec::new(),
            },
            rows: Arc::new(vec![row; rows]),
            earlier: 0,
        }
    }

    #[test]
    fn only_what_can_be_gone_on_with_is_asked_to_be() {
        let told = |may_go_on| {
            let progress = Progress { phase: Phase::Interrupted, may_go_on, ..state(0).progress };
            sentence(&progress).contains("restore resume")
        };
        assert!(told(true) && !told(false));
    }

    /// Rows that an event carries, and from where.
    fn carried(rows: usize, known: usize) -> (usize, usize) {
        let state = state(rows);
        let text = format!("{:?}", event(&state, known).unwrap());
        let from = text.split("from\\\":").nth(1).unwrap().split(',').next().unwrap();
        (from.parse().unwrap(), text.matches("9,100 IOPS").count())
    }

    #[test]
    fn an_event_carries_the_rows_that_a_page_lacks() {
        assert_eq!(carried(7, 0), (0, 7));
        assert_eq!(carried(7, 5), (5, 2));
        assert_eq!(carried(7, 7), (7, 0));
        assert_eq!(carried(3, 7), (0, 3), "another file");
        assert_eq!(carried(700, 0), (200, 500), "the latest ones");
    }

    #[test]
    fn rows_that_are_not_kept_still_count() {
        let state = State { earlier: 1000, ..state(600) };
        assert_eq!((state.count(), state.first_shown()), (1600, 1100));
        assert_eq!(
            state.rows_from(1598).map(|(number, _)| number).collect::<Vec<_>>(),
            [1598, 1599]
        );
        assert_eq!(state.rows_from(3).count(), 600);
        assert_eq!(state.rows_from(1600).count(), 0);
    }

    #[test]
    fn seconds_alone_are_no_news() {
        let before = state(2);
        let mut now = before.clone();
        now.progress.elapsed_s = Some(4);
        assert!(is_same(&before, &now));
        now.progress.warnings.push("disturbed".to_owned());
        assert!(!is_same(&before, &now));
    }
}
