//! A fleet: rank 0 and all other ranks, which connect to it.

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

/// Limit on ranks, which bounds the resources of a fleet.
pub const MOST_RANKS: u32 = 4096;

#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    Said(Box<Message>),
    /// It left or violated the protocol, with the reason.
    Gone(String),
}

/// Connections to the other ranks: rank 0 is connected to all of them, each other rank to rank 0.
pub trait RankLine {
    fn say(&mut self, to: u32, message: &Message) -> Result<(), String>;

    /// The next message from any rank; `None` on timeout, or if the user wants to stop.
    fn hear(&mut self, wait: Duration, stop: &AtomicBool) -> Option<(u32, Heard)>;

    fn let_go(&mut self, rank: u32);

    fn turned_away(&self) -> u64 {
        0
    }
}
