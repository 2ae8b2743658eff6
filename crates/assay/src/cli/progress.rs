//! Progress on standard error: a bar with the time left on a terminal, a few plain lines
//! otherwise. Drawn between trials only, so that nothing runs beside a measurement.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output;
use assay_base::outside;
use assay_base::quantity::Bytes;
use assay_base::quantity::units::show;
use assay_runner::runner::Event;
use assay_study::results::plan::Turn;

/// Shows events.
pub struct Progress {
    quiet: bool,
    bar: Option<ProgressBar>,
    filling: Option<String>,
}

impl Progress {
    /// Progress on a terminal, plain lines elsewhere, nothing when quiet.
    pub fn new(quiet: bool) -> Self {
        let terminal = !quiet && std::io::stderr().is_terminal();
        Self { quiet, bar: terminal.then(bar), filling: None }
    }

    pub fn show(&mut self, event: &Event) {
        match event {
            Event::Warning(text) => self.warn(text),
            _ if self.quiet => {}
            Event::Filling { target, done_bytes, of_bytes } => {
                self.filling(target, *done_bytes, *of_bytes);
            }
            Event::Making { what } => self.note(&format!("preparing {what}")),
            Event::Waiting { text } => self.waits(&format!("waiting: {text}")),
            Event::Pilot { target } => self.note(&format!("{target}: pilot trial")),
            Event::Planned { trials, warm_ups, done: 0, expected_ns } => {
                self.planned(&of_them(*warm_ups), *trials, *expected_ns);
            }
            Event::Planned { trials, done, expected_ns, .. } => {
                self.planned(&format!(" of {trials} left"), *trials - *done, *expected_ns);
            }
            Event::Foreseen { text } => self.warn(text),
            Event::Repeating { trials, warm_ups, expected_ns } => {
                self.planned(&again(*warm_ups), *trials, *expected_ns);
            }
            Event::Racing { text, trials, done, expected_ns, most_ns } => {
                self.racing(text, [*trials, *done], [*expected_ns, *most_ns]);
            }
            Event::TrialStarted { index, workload, target, turn, remaining_ns } => {
                self.started(*index, workload, target, *turn, *remaining_ns);
            }
            Event::TrialEnded { index, result } => self.ended(*index, result),
        }
    }

    /// Takes the bar away.
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

    /// It may take long: also who has no bar hears of it.
    fn waits(&self, text: &str) {
        match &self.bar {
            Some(_) => self.note(text),
            None => output::message(text),
        }
    }

    fn note(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(outside::page(text).into_owned());
            bar.tick();
        }
    }

    fn filling(&mut self, target: &str, done: u64, of: u64) {
        match &self.bar {
            Some(bar) => {
                bar.set_length(of);
                bar.set_position(done);
                self.note(&format!(
                    "{target}: writing the test area, {} of {}",
                    Bytes(done >> 20 << 20),
                    Bytes(of)
                ));
            }
            None if self.filling.as_deref() != Some(target) => {
                output::message(&format!("{target}: writing a test area of {}", Bytes(of)));
                self.filling = Some(target.to_owned());
            }
            None => {}
        }
    }

    fn planned(&self, why: &str, trials: usize, expected_ns: u64) {
        let Some(bar) = &self.bar else {
            let several = if trials == 1 { "" } else { "s" };
            let expected = time(expected_ns);
            output::message(&format!("{trials} trial{several}{why}, about {expected}"));
            return;
        };
        bar.set_length(trials as u64);
        bar.set_position(0);
    }

    fn racing(&self, text: &str, [trials, done]: [usize; 2], [expected_ns, most_ns]: [u64; 2]) {
        let [expected, most] = [expected_ns, most_ns].map(time);
        let several = if trials == 1 { "" } else { "s" };
        self.warn(&format!(
            "{text}: {trials} trial{several}, about {expected}, at most {most} in total"
        ));
        if let Some(bar) = &self.bar {
            bar.set_length((done + trials) as u64);
            bar.set_position(done as u64);
        }
    }

    fn started(&self, index: usize, workload: &str, target: &str, turn: Turn, remaining_ns: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(index as u64);
            self.note(&format!("{target}: {workload}, {turn}, {} left", time(remaining_ns)));
        }
    }

    fn ended(&self, index: usize, result: &Result<u64, String>) {
        if let Err(reason) = result {
            self.warn(&format!("trial {index} failed: {reason}"));
        }
    }
}

/// How many of the trials do not count, which results leave out of their number.
fn of_them(warm_ups: usize) -> String {
    match warm_ups {
        0 => String::new(),
        1 => ", 1 of them a warm-up".to_owned(),
        _ => format!(", {warm_ups} of them warm-ups"),
    }
}

/// Why trials run that no plan had, with those of them that do not count.
fn again(warm_ups: usize) -> String {
    let comma = if warm_ups == 0 { "" } else { "," };
    format!("{}{comma} repeated because of disturbances", of_them(warm_ups))
}

/// Whole seconds below two minutes, larger units above.
fn time(ns: u64) -> String {
    let seconds = ns.div_ceil(1_000_000_000);
    if seconds < 120 { format!("{seconds} s") } else { show::duration(ns as f64) }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_ups_are_told_where_there_are_any() {
        let told = [0, 1, 30].map(of_them);
        assert_eq!(told, ["", ", 1 of them a warm-up", ", 30 of them warm-ups"]);
    }

    #[test]
    fn what_runs_again_tells_its_warm_ups_apart_from_what_a_result_counts() {
        assert_eq!(again(4), ", 4 of them warm-ups, repeated because of disturbances");
        assert_eq!(again(0), " repeated because of disturbances");
    }
}
