//! Several hosts that run one study together: what can be said of that without a socket and without a clock.
//!
//! Here belongs which rank a process is ([`fleet::ranks`]), how ranks show each other that they know the
//! token ([`fleet::hello`]) and what they say then ([`fleet::message`], in [`fleet::frame`]s), when all have
//! come together ([`fleet::barrier`]), which of them share a machine ([`fleet::fellows`]), what their surveys
//! have in common ([`fleet::common`]), and how one trial is made of those of all hosts ([`fleet::together`]).
//! What opens a connection or waits does not belong here: that is `assay`'s, as is what is concluded, which
//! is `assay-verdict`'s.
//!
//! The types to know: [`fleet::ranks::Place`], [`fleet::Line`] (the way to the others), [`fleet::message::Message`],
//! [`fleet::barrier::Barrier`], [`fleet::common::Common`], [`fleet::together::OneHost`] and [`fleet::together::Whole`].

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod fleet;
