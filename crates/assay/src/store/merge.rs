//! The results of the hosts of a fleet as one: trial by trial, of each host one in memory at a time.

mod judged;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use self::judged::Words;
use assay_base::failure::{Failure, Outcome};
use assay_base::outside;
use assay_fleet::fleet::MOST_RANKS;
use assay_fleet::fleet::common::Proof;
use assay_fleet::fleet::together::{OneHost, Slot, merge as merged};
use assay_study::results::bundle::{self, Bundle, Stored};
use assay_study::results::environment::Environment;
use assay_study::results::fleet::{Fleet, Host, Lost, words};
use assay_study::results::log::{ENDED, Entry};
use assay_study::results::plan::{Plan, PlannedTrial};
use assay_study::results::record::{Status, TrialRecord};
use assay_study::results::trials::Cursor;
use assay_study::results::{id, series};
use assay_system::system::System;

/// The result of one host, as far as it is read.
struct Source<'a> {
    directory: &'a Path,
    rank: u32,
    name: String,
    cursor: Cursor,
    /// Its next trial.
    next: Option<TrialRecord>,
}

/// Makes one result of those in these directories; gives where it lies.
///
/// # Errors
/// What of them does not belong together, or cannot be read or written.
pub fn merge(system: &dyn System, directories: &[PathBuf], results: &Path) -> Outcome<PathBuf> {
    let mut hosts: BTreeMap<u32, Host> = BTreeMap::new();
    let mut sources = Vec::new();
    let mut first: Option<(u32, Stored, Fleet)> = None;
    for directory in directories {
        let (stored, fleet) = opened(system, directory)?;
        let rank = fleet.rank.unwrap_or_default();
        if let Some((_, other, known)) = &first {
            belongs(&stored, &fleet, (other, known))?;
        }
        let host = host(system, directory, &stored, &fleet)?;
        if hosts.contains_key(&rank) {
            return Err(Failure::mistake(format!(
                "{}: {} is named twice",
                stored.id,
                host.words()
            )));
        }
        let mut cursor = Cursor::new(&stored.plan);
        let next = cursor.next(system, directory)?;
        sources.push(Source { directory, rank, name: host.name.clone(), cursor, next });
        hosts.insert(rank, host);
        // That of rank 0, or of the first after it, says where it was measured.
        if first.as_ref().is_none_or(|(least, ..)| rank < *least) {
            first = Some((rank, stored, fleet));
        }
    }
    let Some((_, stored, fleet)) = first else {
        return Err(Failure::mistake("name the results of the hosts"));
    };
    sources.sort_by_key(|source| source.rank);
    for rank in (0..fleet.ranks).filter(|rank| !sources.iter().any(|own| own.rank == *rank)) {
        let why = "its result is not among these".to_owned();
        let lost = Some(Lost { order: 0, replicate: 0, why });
        let (name, targets, said) = (String::new(), Vec::new(), Vec::new());
        hosts.insert(rank, Host { rank, name, targets, lost, said });
    }
    let whole = Fleet { rank: None, name: None, hosts: Vec::new(), ..fleet };
    let directory = results.join(id::unused_id(system, results, &system.now()));
    let written = write(system, (&stored, whole), (sources.as_mut_slice(), hosts), &directory);
    if written.is_err() {
        // Half of it is no result; the failure is what is told.
        let _ = system.remove_directory(&directory);
    }
    written.map(|()| directory)
}

/// A result, and the fleet that it is of.
fn opened(system: &dyn System, directory: &Path) -> Outcome<(Stored, Fleet)> {
    let stored = bundle::frame(system, directory)?;
    let id = &stored.id;
    let refused = |how: &str| Err(Failure::mistake(format!("{id} {how}")));
    match stored.environment.fleet.clone() {
        None => refused("was not measured by a fleet: assay compare sets results side by side"),
        Some(fleet) if fleet.rank.is_none() => refused("is the result of a whole fleet already"),
        Some(fleet) if !(2..=MOST_RANKS).contains(&fleet.ranks) => {
            refused("is of a fleet of so many hosts as there is none of")
        }
        Some(fleet) if fleet.rank >= Some(fleet.ranks) => refused("has a rank that there is not"),
        Some(fleet) if Proof::of(&stored.plan).sha256() != fleet.order_sha256 => {
            refused("has another order than it says: it was changed")
        }
        Some(fleet) => Ok((stored, fleet)),
    }
}

/// Refuses what is of another fleet, or of another plan.
fn belongs(stored: &Stored, fleet: &Fleet, (other, known): (&Stored, &Fleet)) -> Outcome<()> {
    let how = if fleet.id != known.id || fleet.ranks != known.ranks {
        "are not of one fleet"
    } else if fleet.order_sha256 != known.order_sha256 {
        "had another order and other settings"
    } else {
        return Ok(());
    };
    Err(Failure::mistake(format!("{} and {} {how}", other.id, stored.id)))
}

/// A host, with what rules of trust say of its own evidence.
fn host(system: &dyn System, directory: &Path, stored: &Stored, fleet: &Fleet) -> Outcome<Host> {
    let mut said = Words::new(&stored.plan, &stored.environment);
    let mut cursor = Cursor::new(&stored.plan);
    while let Some(record) = cursor.next(system, directory)? {
        said.take(record);
    }
    let text = |text: &String| outside::spelled(text).to_string();
    Ok(Host {
        rank: fleet.rank.unwrap_or_default(),
        name: fleet.name.as_ref().map(text).unwrap_or_default(),
        targets: stored.environment.sites.iter().map(|site| text(&site.target)).collect(),
        lost: None,
        said: said.said(),
    })
}

/// Writes the result of all.
fn write(
    system: &dyn System,
    (stored, whole): (&Stored, Fleet),
    (sources, mut hosts): (&mut [Source<'_>], BTreeMap<u32, Host>),
    directory: &Path,
) -> Outcome<()> {
    let unkept = |error: std::io::Error| {
        Failure::refused(format!("{} cannot be written: {error}", directory.display()))
    };
    let environment = |hosts: &BTreeMap<u32, Host>| Environment {
        fleet: Some(Fleet { hosts: hosts.values().cloned().collect(), ..whole.clone() }),
        ..stored.environment.clone()
    };
    let plan = &stored.plan;
    let made = Bundle::create(system, directory, &stored.study, plan, &environment(&hosts));
    let bundle = made.map_err(unkept)?;
    while let Some(order) = sources.iter().filter_map(|own| Some(own.next.as_ref()?.order)).min() {
        let (slot, parts, failed) =
            gathered(system, plan, whole.ranks, order, (&mut *sources, &mut hosts))?;
        let mut one = merged(&slot, "", &parts, failed);
        bundle.append(&mut one.trial.record, &one.histograms, &one.series).map_err(unkept)?;
    }
    bundle.keep_environment(&environment(&hosts)).map_err(unkept)?;
    if let Some(why) = &stored.ended {
        bundle.log(&Entry::new(system, ENDED, why)).map_err(unkept)?;
    }
    Ok(())
}

/// What the hosts have of one trial; why it has no number, where one of them has ended before it.
fn gathered(
    system: &dyn System,
    plan: &Plan,
    ranks: u32,
    order: u32,
    (sources, hosts): (&mut [Source<'_>], &mut BTreeMap<u32, Host>),
) -> Outcome<(Slot, Vec<OneHost>, Option<String>)> {
    // Rank 0 alone keeps what nobody ran any more: no host was lost by that.
    let unrun = sources.iter().find_map(|own| {
        let record = own.next.as_ref().filter(|record| record.order == order)?;
        (record.measured.is_none() && record.spent.is_none()).then(|| record.reason.clone())
    });
    let is_unrun = unrun.is_some();
    let (mut slot, mut parts, mut failed) = (None, Vec::new(), unrun.flatten());
    for source in sources.iter_mut() {
        let is_there = source.next.as_ref().is_some_and(|record| record.order == order);
        if !is_there {
            if is_unrun {
                continue;
            }
            let lacks = words(source.rank, &source.name);
            let host = hosts.get_mut(&source.rank).filter(|host| host.lost.is_none());
            if let Some(host) = host {
                // The trial in which it was lost has no number, as where rank 0 gathers.
                failed = Some(format!("{lacks} does not have this trial"));
                if source.next.is_none() {
                    let replicate = plan.trials.get(order as usize).map_or(0, |own| own.replicate);
                    let why = "its result ends before it".to_owned();
                    host.lost = Some(Lost { order, replicate, why });
                }
            }
            continue;
        }
        let Some(record) = source.next.take() else { continue };
        source.next = source.cursor.next(system, source.directory)?;
        let own = slot_of(plan, &record, ranks);
        let is_later = source.next.as_ref().is_none_or(|next| next.order > order);
        if !is_later || slot.as_ref().is_some_and(|known: &Slot| !is_one(known, &own)) {
            return Err(Failure::refused(format!(
                "{}: its trials are not those of its plan, in their order: it was changed",
                source.directory.display()
            )));
        }
        slot.get_or_insert(own);
        let rows = series::read(system, source.directory, &record)?;
        let trial = bundle::trial(system, source.directory, record)?;
        if let Some(host) = OneHost::of_trial(source.rank, &source.name, trial, rows) {
            parts.push(host);
        } else {
            let name = words(source.rank, &source.name);
            failed = Some(format!("{name} does not tell when its window began"));
        }
    }
    let slot = slot.ok_or_else(|| Failure::mistake("no host has the next trial"))?;
    Ok((slot, parts, failed))
}

/// Whether two hosts speak of one trial, however it ended there.
fn is_one(one: &Slot, other: &Slot) -> bool {
    let of = |own: &Slot| (own.replicate, own.workload, own.repeats);
    of(one) == of(other) && one.arm == other.arm
}

/// Which trial a record is of.
fn slot_of(plan: &Plan, record: &TrialRecord, of: u32) -> Slot {
    let lead_in = record.status == Status::LeadIn;
    let TrialRecord { order, replicate, workload, repeats, .. } = *record;
    let planned = PlannedTrial {
        order,
        host: 0,
        replicate,
        lead_in,
        workload,
        arm: record.arm.clone(),
        seed: 0,
    };
    let ramp_ns = plan.work_of(&planned).ramp_ns;
    Slot { order, replicate, workload, arm: planned.arm, lead_in, repeats, ramp_ns, of }
}
