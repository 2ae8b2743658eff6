//! What everything else is made with: values, units and metrics, arithmetic, statistics, published numbers, and the
//! words that entries of registries say of themselves.
//!
//! Here belongs what needs neither a machine nor a study: it is the same on every machine and in every
//! study. What asks a machine does not (`assay-machine`), nor a number that only one kind of work, factor or
//! rule needs: it stays with it.
//!
//! The types to know: [`failure::Failure`] (how a command ends early), [`presence::Presence`] (absent, and
//! why), [`quantity::Metric`] (name, unit, direction), [`catalogue::About`] (what an entry says of itself),
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
