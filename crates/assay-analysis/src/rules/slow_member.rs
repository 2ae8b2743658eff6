//! `slow-member`: one device of an array takes much longer than the others.

use assay_core::{catalogue::About, quantity::units::show};
use assay_machine::probes::block_latency::counts::ClassSpan;
use assay_machine::probes::service::{Slowest, Work, slowest};
use assay_machine::system::devices::{self, Array};
use assay_study::results::record::Trial;

use super::{Case, Rule, RuleCheck, RuleRemark, evidence::is_simulated};

/// Fewest trials in which the same member must be the slow one.
const FEWEST_TRIALS: usize = 3;
/// The member must be the slow one in this fraction of the judged trials.
const CLEAR_MAJORITY: (usize, usize) = (2, 3);
/// Largest probability of naming one of identical members if one of them is delayed in half of the trials.
const MOST_CHANCE: f64 = 0.05;
/// Share of the trials in which one of identical members is delayed.
const DELAYED_SHARE: f64 = 0.5;

pub static RULE: Rule = Rule {
    about: About {
        name: "slow-member",
        summary: "one member of an array takes much longer per request than the other members",
        text: "The number stays trusted. A mirror waits for its slowest member, and a stripe is as fast as its slowest \
               member. Assay compares the mean request time of each member with the median of the other members, \
               separately for reads and writes. It judges the members of md, btrfs and bcachefs, and similarly sized \
               parts of a mapped device. Assay uses the kernel's counters, or the driver's time per request with probe \
               block-latency. A slow member takes at least twice as long as the others, per request and per byte, over \
               at least 32 requests each: drives of one model differ by less than a factor of two, and a mean of 32 \
               requests detects that factor. Assay does not name a member with over 25% more work than the others, \
               because its queue is longer. A mirror may send all reads to one half, so the busy time per request must \
               also be twice as long. The same member must be slow in at least 3 trials and in two thirds of the \
               judged trials. The false-positive rate is below 5% for identical members, one of which is delayed in \
               half of all trials. The rule only adds a note, because the number describes the array correctly. ZFS \
               does not report its members.",
    },
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    if is_simulated(case) {
        return None;
    }
    devices::arrays_of(case.site).iter().find_map(|array| slow_member_note(case, array))
}

/// Names the member of an array that is clearly the slowest in most trials.
fn slow_member_note(case: &Case<'_>, array: &Array) -> Option<RuleRemark> {
    let judged: Vec<Slowest> =
        case.trials.iter().filter_map(|trial| slowest(&members(trial, array)?)).collect();
    let slow = clearly_slow(&judged, array.members.len())?;
    let median_of = |pick: fn(&Slowest) -> f64| {
        let mut values: Vec<f64> = slow.iter().map(|one| pick(one)).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let first = slow.first()?;
    Some(RuleRemark::note(format!(
        "{} is the slow member of {}: {} per request, {} times the median of the others ({}), in {} of {} trials",
        describe_member(case, &first.device),
        array.words(),
        show::duration(median_of(|one| one.mean_ns)),
        show::three_digits(median_of(|one| one.ratio)),
        show::duration(median_of(|one| one.others_ns)),
        slow.len(),
        judged.len(),
    )))
}

/// The work of each member around a trial; `None` if a member is missing, because it may be the slow one.
fn members(trial: &Trial, array: &Array) -> Option<Vec<Work>> {
    trial.measured.as_ref()?;
    let counted = array.members.iter().map(|name| {
        let evidence = &trial.evidence;
        let own = [&evidence.disk, &evidence.members]
            .into_iter()
            .find_map(|devices| devices.value()?.get(name))?;
        Work::of_evidence(name, own)
    });
    let counted: Vec<Work> = counted.collect::<Option<_>>()?;
    Some(traced(trial, &counted).unwrap_or(counted))
}

/// The work of the members with latencies from traces; `None` unless all members have a trace with issue times.
fn traced(trial: &Trial, counted: &[Work]) -> Option<Vec<Work>> {
    let latency = trial.evidence.block_latency.value()?;
    let has_issue_times =
        |class: Option<&ClassSpan>| class.is_none_or(|class| !class.issued.is_empty());
    let mut members = Vec::new();
    for work in counted {
        let classes = latency.devices.get(&work.device)?.value()?;
        let (read, write) = (classes.get("read"), classes.get("write"));
        if !has_issue_times(read) || !has_issue_times(write) {
            return None;
        }
        members.push(work.clone().with_traced(read, write));
    }
    Some(members)
}

/// The trials in which the most often slow member was slow; `None` without a clear majority, or if it may be chance.
fn clearly_slow(judged: &[Slowest], members: usize) -> Option<Vec<&Slowest>> {
    let slow = || judged.iter().filter(|one| one.is_slow);
    let trials_of =
        |device: &str| -> Vec<&Slowest> { slow().filter(|one| one.device == device).collect() };
    let most = slow().map(|one| trials_of(&one.device)).max_by_key(Vec::len)?;
    let (part, of) = CLEAR_MAJORITY;
    let is_clear = most.len() >= FEWEST_TRIALS && most.len() * of >= judged.len() * part;
    let chance = chance_of_naming(most.len(), judged.len(), members)?;
    (is_clear && chance <= MOST_CHANCE).then_some(most)
}

/// Probability that any of several identical members is delayed in this many trials.
fn chance_of_naming(hits: usize, trials: usize, members: usize) -> Option<f64> {
    let each = DELAYED_SHARE / members as f64;
    let one = assay_core::stats::binomial_at_least(hits as u64, trials as u64, each)?;
    Some((one * members as f64).min(1.0))
}

/// A member with its drive's model, if one drive is below it.
fn describe_member(case: &Case<'_>, name: &str) -> String {
    let mut at = name;
    while let Some(layer) = case.site.layers.iter().find(|layer| layer.name == at) {
        let [below] = layer.below.as_slice() else { break };
        at = below;
    }
    let drive = case.site.drives.iter().find(|drive| drive.name == at);
    match drive.and_then(|drive| drive.model.value()) {
        Some(model) if at == name => format!("{name} ({model})"),
        Some(model) => format!("{name} on {at} ({model})"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
