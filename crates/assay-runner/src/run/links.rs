//! Links: what must be named before one is loaded, and what is changed for it.

use assay_core::failure::{Failure, Outcome};
use assay_machine::factors;
use assay_machine::system::System;
use assay_machine::system::network::lab;
use assay_study::plan::design::Network;

/// Refuses to guess at a link to nobody.
pub fn named(asked: &Network) -> Outcome<()> {
    asked.to_nobody.clone().map_or(Ok(()), |how| Err(Failure::mistake(how)))
}

/// Refuses interfaces that are not there, or have a discipline that somebody gave them.
pub fn may_be_shaped(system: &dyn System, asked: &Network) -> Outcome<()> {
    if asked.makes_link {
        return Ok(());
    }
    asked.shaped.iter().try_for_each(|own| factors::network::may_be_shaped(system, own))
}

/// What would be changed of the network, one sentence each.
pub fn changes(asked: &Network) -> Vec<String> {
    let mut told = Vec::new();
    if asked.makes_link {
        told.push(format!("creates and later removes {}", lab::words()));
    }
    told.extend(asked.shaped.iter().map(|interface| factors::network::shaping(interface)));
    told
}
