//! Progress on standard error: a bar with the remaining time on a terminal, otherwise a few plain lines. Draws only
//! between trials, to avoid disturbing a measurement.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output;
use crate::store::progress::StudyProgress;
use assay_core::outside;
use assay_core::quantity::Bytes;
use assay_core::quantity::units::show;
use assay_runner::run::Event;
use assay_study::results::record::OUT_OF_TIME;

const STEPS: u64 = 1000;
const MINUTE_NS: u64 = 60_000_000_000;

pub struct ProgressLine {
    quiet: bool,
    bar: Option<ProgressBar>,
    state: ProgressBarState,
    filling: Option<String>,
    /// Minutes of waiting in the last plain line.
    waited_min: Option<u64>,
    /// Whether the user was told that trials are skipped.
    out_of_time: bool,
}

#[derive(Default)]
struct ProgressBarState {
    progress: StudyProgress,
    /// Time from the first fill to the end, in nanoseconds.
    total_ns: u64,
    /// Step that the bar shows; it never decreases.
    step: u64,
}

impl ProgressBarState {
    /// Processes an event at a time since the first fill; returns the current activity and the remaining time.
    fn apply(&mut self, event: &Event, elapsed_ns: u64) -> String {
        self.progress.apply(event);
        if let Some(left_s) = self.progress.left_s.take() {
            self.total_ns = elapsed_ns.saturating_add(left_s.saturating_mul(1_000_000_000));
        }
        let step = u128::from(elapsed_ns) * u128::from(STEPS);
        let step = step.checked_div(u128::from(self.total_ns)).unwrap_or(0);
        // The bar never moves back, and reserves the last step for the end.
        self.step = u64::try_from(step).unwrap_or(STEPS).clamp(self.step, STEPS - 1);
        let now = &self.progress.now;
        match self.total_ns.saturating_sub(elapsed_ns) {
            0 => now.clone(),
            left_ns => format!("{} left, {now}", show::clock(left_ns)),
        }
    }
}

impl ProgressLine {
    pub fn new(quiet: bool) -> Self {
        let terminal = !quiet && std::io::stderr().is_terminal();
        let bar = terminal.then(bar);
        let state = ProgressBarState {
            progress: StudyProgress::of_this_process(""),
            ..ProgressBarState::default()
        };
        Self { quiet, bar, state, filling: None, waited_min: None, out_of_time: false }
    }

    pub fn show(&mut self, event: &Event) {
        if let Event::Warning(text) = event {
            self.warn(text);
        } else if !self.quiet {
            self.print_unless_quiet(event);
        }
        self.draw(event);
    }

    /// Prints an event other than a warning, which `--quiet` omits.
    fn print_unless_quiet(&mut self, event: &Event) {
        match event {
            Event::Foreseen { text } => self.warn(text),
            Event::TrialEnded { result: Err(reason), .. } if reason == OUT_OF_TIME => {
                // One message for all of these trials.
                if !self.out_of_time {
                    self.warn("the time budget ended; the remaining trials do not run");
                }
                self.out_of_time = true;
            }
            Event::TrialEnded { index, result: Err(reason) } => {
                self.warn(&format!("trial {index} failed: {reason}"));
            }
            Event::Racing { text, trials, expected_ns, most_ns, .. } => {
                let [expected, most] = [*expected_ns, *most_ns].map(show::clock);
                self.warn(&format!(
                    "{text}; trials: {trials}, about {expected}, at most {most} in total"
                ));
            }
            // The bar shows the others.
            _ if self.bar.is_none() => self.print(event),
            _ => {}
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn warn(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::message(text)),
            None => output::message(text),
        }
    }

    fn draw(&mut self, event: &Event) {
        let Some(bar) = &self.bar else { return };
        if matches!(event, Event::Estimated { .. }) {
            // Excludes waiting and building.
            bar.reset_elapsed();
        }
        let elapsed_ns = u64::try_from(bar.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let line = self.state.apply(event, elapsed_ns);
        bar.set_position(self.state.step);
        bar.set_message(outside::page(&line).into_owned());
        bar.tick();
    }

    /// Prints an event as a message, without a bar: each test area once, and waiting once per minute.
    fn print(&mut self, event: &Event) {
        match event {
            Event::Filling { target, of_bytes, .. } if self.filling.as_ref() != Some(target) => {
                self.filling = Some(target.clone());
                output::message(&format!("{target}: writing a test area of {}", Bytes(*of_bytes)));
            }
            Event::Waiting { text, waited_ns } => {
                let minute = Some(waited_ns / MINUTE_NS);
                if *waited_ns == 0 || self.waited_min != minute {
                    output::message(&format!("waiting: {text}"));
                }
                self.waited_min = minute;
            }
            Event::Planned { trials, warm_ups, done, expected_ns } => {
                let done = if *done > 0 { format!(", done: {done}") } else { String::new() };
                let left = show::clock(*expected_ns);
                let text = format!("trials: {trials} (warm-ups: {warm_ups}){done}, about {left}");
                output::message(&text);
            }
            Event::Repeating { trials, warm_ups, expected_ns } => {
                let left = show::clock(*expected_ns);
                let text = format!("disturbed trials to repeat: {trials} (warm-ups: {warm_ups})");
                output::message(&format!("{text}, about {left}"));
            }
            _ => {}
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:8} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use assay_study::results::plan::PlanTurn;

    fn started(index: usize, remaining_ns: u64) -> Event {
        let (workload, target) = ("read".to_owned(), ".".to_owned());
        let turn = PlanTurn { replicate: 1, lead_in: false };
        Event::TrialStarted { index, workload, target, turn, remaining_ns }
    }

    proptest! {
        #[test]
        fn bar_never_goes_back_and_ends_at_the_end(
            moments in proptest::collection::vec((0_u8..5, 0..1_u64 << 40, 0..1_u64 << 40), 1..40),
        ) {
            let (mut state, mut elapsed_ns, mut before) = (ProgressBarState::default(), 0_u64, 0);
            for (index, (kind, later_ns, ns)) in moments.into_iter().enumerate() {
                elapsed_ns += later_ns;
                let event = match kind {
                    0 => Event::Estimated { expected_ns: ns },
                    1 => Event::Filling {
                        target: ".".to_owned(), done_bytes: 0, of_bytes: 1, remaining_ns: ns,
                    },
                    2 => Event::Planned { trials: 9, warm_ups: 1, done: 0, expected_ns: ns },
                    3 => Event::Repeating { trials: 2, warm_ups: 1, expected_ns: ns },
                    _ => started(index, ns),
                };
                let _ = state.apply(&event, elapsed_ns);
                let step = state.step;
                prop_assert!(step >= before && step < STEPS, "{before} to {step}");
                before = step;
            }
        }
    }

    #[test]
    fn line_names_the_time_left_and_the_trial() {
        let mut state = ProgressBarState::default();
        let planned = Event::Planned { trials: 40, warm_ups: 1, done: 0, expected_ns: 9 };
        let _ = state.apply(&planned, 0);
        let line = state.apply(&started(11, 80_000_000_000), 20_000_000_000);
        assert_eq!(line, "1 min 20 s left, read, trial 12 of 40");
        assert_eq!(state.step, STEPS / 5);
        let _ = state.apply(&Event::TrialEnded { index: 11, result: Ok(1) }, 0);
        let _ = state.apply(&Event::Repeating { trials: 2, warm_ups: 0, expected_ns: 1 }, 0);
        assert!(state.apply(&started(12, 1), 0).ends_with("read, trial 13 of 14"));
    }
}
