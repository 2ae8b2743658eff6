use std::time::Duration;

use assay_machine::system::System as _;

use super::*;
use crate::watch::sampler::{Sampler, disks};
use crate::watch::testing::{expect, machine, nothing, state, state_untraced, tracing};

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or_default()
}

#[test]
fn traced_summary_looks_like_the_article() {
    let text = render(&state());
    assert!(widest(&text) <= 80, "{text}");
    expect("printed", &text);
}

#[test]
fn untraced_summary_shows_means_and_the_reason() {
    let text = render(&state_untraced());
    assert!(widest(&text) <= 80, "{text}");
    expect("printed-untraced", &text);
}

#[test]
fn note_on_programs_appears_only_with_programs() {
    const SAID: &str = "started and ended between two samples are missing";
    let text = render(&state()).split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, after) = text.split_once("programs: the ").unwrap();
    assert!(before.contains(" rsync ") && after.contains(SAID), "{text}");
    // Nobody moved anything: nothing is said of a list that is not there.
    let fake = machine();
    let disks = disks::choose(&fake, None).unwrap();
    let mut sampler = Sampler::new(&fake, disks, tracing(vec![Ok(nothing())]));
    let mut state = State::begin(&mut sampler);
    fake.sleep(Duration::from_secs(10));
    state.update(&mut sampler);
    let text = render(&state);
    assert!(!text.contains(SAID) && !text.contains("files open on"), "{text}");
}
