//! Repeated readings: drawn, as lines, or silent; also during a study of this process.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::screen::{Key, Screen};
use super::studies::Studies;
use crate::cli::output;
use crate::store::progress::StudyProgress;
use crate::watch::page::{Page, PageView};
use crate::watch::record::Rows;
use crate::watch::requests::Recording;
use crate::watch::sampler::{Sampler, Tracing, disks};
use crate::watch::{State, words};
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_runner::real::signals;

/// Maximum time between two checks of the flags.
const PATIENCE: Duration = Duration::from_millis(100);
/// Lines between repeated headings.
const LINES_PER_HEADING: usize = 24;
/// Time between two pages during a study.
const STUDY_INTERVAL: Duration = Duration::from_secs(1);
/// Why the page of a study shows no classes.
const NOT_TRACED: &str = "this page does not show request classes (the result contains the recorded classes); to see \
                          classes, run `assay watch` in another terminal";

pub struct WatchSession<'a, 'b> {
    pub system: &'a dyn System,
    pub sampler: &'b mut Sampler<'a>,
    pub state: &'b mut State,
    pub every: Duration,
    /// End time in nanoseconds of the monotonic clock.
    pub until_ns: Option<u64>,
    /// Returns whether to end, for example after a signal.
    pub stop: &'b dyn Fn() -> bool,
    pub rows: Option<&'b mut Rows>,
    pub requests: Option<&'b mut Recording<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionEnd {
    /// The time is over, a signal came, or the terminal is gone.
    Over,
    Quit,
    Interrupted,
}

impl WatchSession<'_, '_> {
    /// Draws until a key, a signal or the time ends it.
    pub fn on_page(&mut self, screen: &mut Screen) {
        let mut studies = Studies::new(self.system);
        self.draw_until_end(screen, &mut |system| studies.update(system));
        self.read();
    }

    fn draw_until_end(
        &mut self,
        screen: &mut Screen,
        read_progress: &mut dyn FnMut(&dyn System) -> Option<StudyProgress>,
    ) -> SessionEnd {
        let (mut view, mut paused_state) = (PageView::default(), None);
        let mut progress = read_progress(self.system);
        let mut next_ns = self.next_ns(self.system.monotonic_ns());
        let mut needs_draw = true;
        loop {
            if self.is_over() {
                return SessionEnd::Over;
            }
            if self.system.monotonic_ns() >= next_ns {
                next_ns = self.next_ns(next_ns);
                if self.read_for(&view) {
                    progress = read_progress(self.system);
                    needs_draw = true;
                }
            }
            if needs_draw
                && self.draw(screen, &view, paused_state.as_ref(), progress.as_ref()).is_err()
            {
                return SessionEnd::Over;
            }
            let key = self.wait_for_key(screen, next_ns);
            needs_draw = key.is_some();
            match key {
                Some(Key::Quit) if !view.help => return SessionEnd::Quit,
                Some(Key::Interrupt) => return SessionEnd::Interrupted,
                Some(key) => self.apply_key(key, &mut view, &mut paused_state),
                None => {}
            }
        }
    }

    /// Reads, also while the page is paused, because a recording continues. Returns whether to draw.
    fn read_for(&mut self, view: &PageView) -> bool {
        self.read();
        !view.paused
    }

    fn draw(
        &self,
        screen: &mut Screen,
        view: &PageView,
        paused_state: Option<&State>,
        progress: Option<&StudyProgress>,
    ) -> std::io::Result<()> {
        let style = screen.style;
        let state = paused_state.unwrap_or(self.state);
        screen.draw(&Page { state, progress, view, style, length_s: self.length_s() })
    }

    /// Returns the total duration in seconds, if limited.
    fn length_s(&self) -> Option<u64> {
        let left_ns = self.until_ns?.saturating_sub(self.system.monotonic_ns());
        Some((self.state.whole.span_ns.saturating_add(left_ns) + 500_000_000) / 1_000_000_000)
    }

    fn apply_key(&mut self, key: Key, view: &mut PageView, paused_state: &mut Option<State>) {
        if view.help {
            // Any key closes the help.
            view.help = false;
            return;
        }
        match key {
            Key::Pause => {
                view.paused = !view.paused;
                *paused_state = view.paused.then(|| self.state.clone());
            }
            // A recording cannot be restarted.
            Key::Reset if self.requests.is_some() => {}
            Key::Reset => {
                self.state.reset(self.sampler);
                if let Some(rows) = &mut self.rows {
                    rows.clear();
                }
                *paused_state = view.paused.then(|| self.state.clone());
            }
            Key::Class => view.next_class(),
            Key::Device => view.next_disk(self.state),
            Key::Help => view.help = true,
            Key::Quit | Key::Interrupt | Key::Other => {}
        }
    }

    /// Waits for a key until the next reading, at most until the next check of the flags.
    fn wait_for_key(&self, screen: &mut Screen, next_ns: u64) -> Option<Key> {
        let wait = self.wait_until(next_ns);
        if !screen.has_keys() {
            self.system.sleep(wait);
            return None;
        }
        screen.key(wait)
    }

    /// Returns how long to wait for the next reading or the end, at most until the next check of the flags.
    fn wait_until(&self, next_ns: u64) -> Duration {
        let until_ns = self.until_ns.unwrap_or(u64::MAX).min(next_ns);
        Duration::from_nanos(until_ns.saturating_sub(self.system.monotonic_ns())).min(PATIENCE)
    }

    /// Prints a line per device and reading, until the reader is gone or a signal ends it.
    pub fn in_lines(&mut self) {
        let mut lines = 0;
        let mut next_ns = self.system.monotonic_ns();
        while self.sleep_until_next(&mut next_ns) {
            self.read();
            let last = &self.state.last;
            for disk in self.state.shown() {
                if lines % LINES_PER_HEADING == 0 && !output::line(words::LINE_HEADING) {
                    return;
                }
                lines += 1;
                if !output::line(&words::device_line(last, &last.disks[disk])) {
                    return;
                }
            }
        }
        self.read();
        output::line("");
    }

    /// Reads until the time or a signal ends it.
    pub fn silently(&mut self) {
        let mut next_ns = self.system.monotonic_ns();
        while self.sleep_until_next(&mut next_ns) {
            self.read();
        }
        self.read();
    }

    /// Waits for the next reading; returns false if the end comes first.
    fn sleep_until_next(&self, next_ns: &mut u64) -> bool {
        *next_ns = self.next_ns(*next_ns);
        loop {
            if self.is_over() {
                return false;
            }
            if self.system.monotonic_ns() >= *next_ns {
                return true;
            }
            self.system.sleep(self.wait_until(*next_ns));
        }
    }

    /// Returns the time of the next reading, and skips missed ones.
    fn next_ns(&self, due_ns: u64) -> u64 {
        let every_ns = (self.every.as_nanos() as u64).max(1);
        let missed = self.system.monotonic_ns().saturating_sub(due_ns) / every_ns;
        due_ns.saturating_add(every_ns.saturating_mul(missed + 1))
    }

    fn is_over(&self) -> bool {
        (self.stop)() || self.until_ns.is_some_and(|end| self.system.monotonic_ns() >= end)
    }

    fn read(&mut self) {
        self.state.update(self.sampler);
        if let Some(rows) = &mut self.rows {
            rows.add(self.state);
        }
        if let Some(requests) = &mut self.requests {
            requests.write_completed(self.sampler);
        }
    }
}

pub struct StudyView<'a> {
    pub progress: &'a Mutex<StudyProgress>,
    pub targets: &'a [String],
    /// Set by a signal, and by Ctrl-C on the page.
    pub stop: &'a AtomicBool,
    pub done: &'a AtomicBool,
    pub left: &'a AtomicBool,
}

/// Draws the page during a study in another thread, until the study ends or the user leaves the page. Does not trace
/// requests, because that would slow down the measured ones.
pub fn show_study(system: &dyn System, view: &StudyView<'_>, mut screen: Screen) {
    loop {
        let is_planned = || lock(view.progress).planned > 0;
        let was_planned = is_planned();
        let Ok(disks) = disks_of(system, view.targets) else { break };
        let mut sampler = Sampler::during_study(system, disks, Tracing::Off(NOT_TRACED.to_owned()));
        let mut state = State::begin(&mut sampler);
        // Begins again once the study is planned: then the devices that it creates exist.
        let stop = || is_over(view) || is_planned() != was_planned;
        let mut session = WatchSession {
            system,
            sampler: &mut sampler,
            state: &mut state,
            every: STUDY_INTERVAL,
            until_ns: None,
            stop: &stop,
            rows: None,
            requests: None,
        };
        let mut read_progress = |_: &dyn System| Some(lock(view.progress).clone());
        match session.draw_until_end(&mut screen, &mut read_progress) {
            SessionEnd::Over if is_planned() != was_planned && !is_over(view) => {}
            SessionEnd::Over | SessionEnd::Quit => break,
            SessionEnd::Interrupted => {
                // Counted as a signal, like Ctrl-C outside the page.
                signals::ask();
                break;
            }
        }
    }
    drop(screen);
    view.left.store(true, Ordering::SeqCst);
}

fn lock(progress: &Mutex<StudyProgress>) -> MutexGuard<'_, StudyProgress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_over(view: &StudyView<'_>) -> bool {
    view.done.load(Ordering::Relaxed) || view.stop.load(Ordering::Relaxed)
}

/// Returns the disks of the targets; all disks if a target does not exist yet.
fn disks_of(system: &dyn System, targets: &[String]) -> Outcome<Vec<disks::Disk>> {
    let mut found: Vec<disks::Disk> = Vec::new();
    for target in targets {
        match disks::choose(system, Some(target)) {
            Ok(some) => found.extend(some),
            Err(_) => return disks::choose(system, None),
        }
    }
    let mut known = BTreeSet::new();
    found.retain(|disk| known.insert(disk.name.clone()));
    if found.is_empty() { disks::choose(system, None) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::testing::{article, machine, nothing, ten_seconds, tracing};

    #[test]
    fn a_pause_leaves_no_gap_and_a_reset_begins_anew() {
        let fake = machine();
        let disks = disks::choose(&fake, None).unwrap();
        let mut sampler = Sampler::new(&fake, disks, tracing(vec![Ok(nothing()), Ok(article())]));
        let (mut state, mut rows) = (State::begin(&mut sampler), Rows::default());
        let began = state.started().to_owned();
        let mut session = WatchSession {
            system: &fake,
            sampler: &mut sampler,
            state: &mut state,
            every: Duration::from_secs(1),
            until_ns: None,
            stop: &|| false,
            rows: Some(&mut rows),
            requests: None,
        };
        let (mut view, mut still) = (PageView::default(), None);
        session.apply_key(Key::Pause, &mut view, &mut still);
        ten_seconds(&fake);
        assert!(!session.read_for(&view), "a page that stands still is not drawn");
        assert_eq!(still.as_ref().map(|state| state.whole.span_ns), Some(0));
        assert_eq!(session.state.whole.span_ns, 10_000_000_000);
        assert!(session.rows.as_ref().is_some_and(|rows| !rows.rows().is_empty()));
        session.apply_key(Key::Reset, &mut view, &mut still);
        assert!(session.rows.as_ref().is_some_and(|rows| rows.rows().is_empty()));
        session.apply_key(Key::Pause, &mut view, &mut still);
        assert!(still.is_none() && session.read_for(&view));
        assert_ne!(state.started(), began);
    }
}
