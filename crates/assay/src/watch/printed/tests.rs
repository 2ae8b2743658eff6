use super::*;
use crate::watch::testing::{expect, state, state_untraced};

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
