//! A fleet: rank 0, whom all others dial, and they.

pub mod barrier;
pub mod common;
pub mod fellows;
pub mod frame;
pub mod hello;
pub mod message;
pub mod ranks;
pub mod together;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use self::message::Message;

/// Ranks at most: more than anybody has asked for, and an end to what a fleet may hold.
pub const MOST_RANKS: u32 = 4096;

#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    Said(Box<Message>),
    /// It is not there any more, or talks nonsense, and why that is known.
    Gone(String),
}

/// The way to the other ranks: rank 0 has all of them, each other one has rank 0.
pub trait Line {
    fn say(&mut self, to: u32, message: &Message) -> Result<(), String>;

    /// What is heard next, of whomever; none where nothing came in time, or the user wants to stop.
    fn hear(&mut self, wait: Duration, stop: &AtomicBool) -> Option<(u32, Heard)>;

    fn let_go(&mut self, rank: u32);

    fn turned_away(&self) -> u64 {
        0
    }
}
