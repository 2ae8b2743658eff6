//! Links: what must be named before one is loaded, and what is changed for it.

use assay_core::factors;
use assay_core::failure::{Failure, Outcome};
use assay_core::study::Study;
use assay_core::system::System;
use assay_core::system::network::lab;
use assay_core::work::network;

/// Refuses to guess at a link to nobody.
///
/// # Errors
/// The user's mistake, with what to say.
pub fn named(study: &Study) -> Outcome<()> {
    let nobody = study.links().any(|own| own.peer.is_none());
    if nobody && !study.factors.contains_key("peer") {
        return Err(Failure::mistake(network::no_peer()));
    }
    Ok(())
}

/// Refuses interfaces that are not there, or have a discipline that somebody gave them.
///
/// # Errors
/// What is in the way.
pub fn may_be_shaped(system: &dyn System, study: &Study) -> Outcome<()> {
    if !shapes(study) || study.makes_link() {
        return Ok(());
    }
    interfaces(study).iter().try_for_each(|own| factors::network::may_be_shaped(system, own))
}

fn shapes(study: &Study) -> bool {
    study.factors.contains_key("shaper") || study.links().any(|own| !own.shaper.is_none())
}

/// Those that the levels of a factor name, or else the study itself.
fn interfaces(study: &Study) -> Vec<String> {
    if study.links().next().is_none() {
        return Vec::new();
    }
    let own = || study.links().filter_map(|own| own.interface.clone()).collect();
    let mut interfaces = study.factors.get("interface").cloned().unwrap_or_else(own);
    interfaces.sort_unstable();
    interfaces.dedup();
    interfaces
}

/// What would be changed of the network, one sentence each.
pub fn changes(study: &Study) -> Vec<String> {
    let mut told = Vec::new();
    if study.makes_link() {
        told.push(format!("{} are made; they are removed afterwards", lab::words()));
    }
    told.extend(interfaces(study).into_iter().filter(|_| shapes(study)).map(|interface| {
        format!(
            "shaper: the outgoing rate of {interface} is limited to each level (tc qdisc); removed again, and tc \
             qdisc show is as before"
        )
    }));
    told
}
