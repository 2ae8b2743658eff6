//! Base of all other crates: units and metrics, arithmetic, statistics, published numbers, and the descriptions of
//! registry entries.
//!
//! This crate contains code that needs neither a machine (see `assay-machine`) nor a study. Numbers that only one
//! workload, factor or rule needs are in its module instead.
//!
//! Main types: [`failure::Failure`] (early end of a command), [`presence::Presence`] (a value, or the reason why it is
//! absent), [`quantity::Metric`] (name, unit, direction), [`catalogue::About`] (description of an entry),
//! [`reference::Library`] (the published tables).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

/// Reads a type from a string and writes it as one, as its parser and its display do.
#[macro_export]
macro_rules! as_text {
    ($($name:ident),+) => {$(
        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(own: $name) -> Self {
                own.to_string()
            }
        }
    )+};
}

pub mod calc;
pub mod catalogue;
pub mod digest;
pub mod draws;
pub mod exhibit;
pub mod failure;
pub mod json;
pub mod lines;
pub mod outside;
pub mod presence;
pub mod quantity;
pub mod reference;
pub mod stats;
