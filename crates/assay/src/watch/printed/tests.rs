use std::time::Duration;

use assay_machine::system::System as _;

use super::*;
use crate::watch::sampler::{Sampler, disks};
use crate::watch::testing::{expect, machine, nothing, state, state_untraced, tracing};

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or_default()
}

#[test]
fn the_printed_form_is_that_of_the_article() {
    let text = printed(&state());
    assert!(widest(&text) <= 80, "{text}");
    expect("printed", &text);
}

#[test]
fn without_a_tracing_it_has_means_and_the_reason() {
    let text = printed(&state_untraced());
    assert!(widest(&text) <= 80, "{text}");
    expect("printed-untraced", &text);
}

#[test]
fn programs_are_said_to_be_those_of_the_looks_where_there_are_any() {
    const SAID: &str = "started and ended between two samples are missing";
    let text = printed(&state()).split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, after) = text.split_once("programs: the ").unwrap();
    assert!(before.contains(" rsync ") && after.contains(SAID), "{text}");
    // Nobody moved anything: nothing is said of a list that is not there.
    let fake = machine();
    let disks = disks::choose(&fake, None).unwrap();
    let mut sampler = Sampler::new(&fake, disks, tracing(vec![Ok(nothing())]));
    let mut state = State::begin(&mut sampler);
    fake.sleep(Duration::from_secs(10));
    state.look(&mut sampler);
    let text = printed(&state);
    assert!(!text.contains(SAID) && !text.contains("files open on"), "{text}");
}
