//! Bytes that the trials of a plan read and write.

use assay_core::quantity::units::show;
use assay_machine::system::site::{Drive, Site};
use assay_study::results::bundle::Stored;
use assay_study::results::plan::{Plan, PlannedWorkload};
use assay_study::results::record::Trial;
use assay_workloads::{Claims, Count, io};

use super::time_ns;

/// Bytes in one direction: a range from an earlier result, or an upper limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlannedTraffic {
    /// Seconds of trials with traffic.
    pub seconds: f64,
    pub least: f64,
    pub most: f64,
    pub source: RateSource,
}

/// Source of an estimate's rates, the weakest last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RateSource {
    #[default]
    Study,
    /// The last result on the same drives, of any study.
    Drives,
    /// The number or rate of operations, or the link.
    Limit,
    /// Without a result or a link: typical rates of this kind of drive.
    Kind,
}

/// Bytes per second of drives with unknown link, by kind.
const HARD_DISK: (f64, f64) = (50e6, 300e6);
const MEMORY_CARD: (f64, f64) = (10e6, 300e6);
const OTHER_DRIVE: (f64, f64) = (100e6, 2e9);

/// The lowest and highest rate to assume for drives of this kind, in bytes per second.
fn assumed_rates(site: Option<&Site>) -> (f64, f64) {
    let drives = site.map_or(&[][..], |site| &site.drives);
    let is_bus = |drive: &Drive| drive.bus.value().is_some_and(|bus| bus == "mmc");
    match drives {
        // Virtual drives and USB sticks often claim to be rotational, but report no rotation speed.
        [drive] if drive.rpm.value().is_some() => HARD_DISK,
        [drive] if is_bus(drive) => MEMORY_CARD,
        _ => OTHER_DRIVE,
    }
}

/// Estimates the bytes that the trials read and write, from the best of: an earlier result, a limit, assumed rates.
pub fn traffic(plan: &Plan, sites: &[Site], earlier: Option<&Stored>) -> [PlannedTraffic; 2] {
    type Direction = (fn(&PlannedWorkload) -> bool, fn(Claims) -> Count);
    let directions: [Direction; 2] = [
        (PlannedWorkload::reads, |claims| claims.read),
        (PlannedWorkload::writes, |claims| claims.write),
    ];
    let ran = earlier.map_or(&[][..], |stored| &stored.trials);
    directions.map(|(has_traffic, count)| {
        let rate = |trial: &Trial| {
            let measured = trial.measured.as_ref()?;
            let rate = count(trial.claims()).bytes as f64 * 1e9 / measured.elapsed_ns as f64;
            let workload = earlier?.plan.workloads.get(trial.workload)?;
            Some((workload, rate)).filter(|_| rate > 0.0 && rate.is_finite())
        };
        // The measured rates of the earlier trials in bytes per second.
        let rates: Vec<(&PlannedWorkload, f64)> = ran.iter().filter_map(rate).collect();
        let mut total = PlannedTraffic::default();
        for trial in &plan.trials {
            let (workload, seconds) = (plan.work_of(trial), time_ns(plan, trial) as f64 / 1e9);
            if !has_traffic(&workload) {
                continue;
            }
            let site = sites.get(workload.target);
            let limit = most_bytes(&workload, site, seconds);
            // Least and most bytes of this trial at the rates of earlier workloads that are like it.
            let range = |is_like: &dyn Fn(&PlannedWorkload) -> bool| {
                let rates = || rates.iter().filter(|(workload, _)| is_like(workload));
                let bytes = || rates().map(|(_, rate)| rate * seconds);
                Some((bytes().reduce(f64::min)?, bytes().reduce(f64::max)?))
            };
            let (source, least, most) =
                if let Some((least, most)) = range(&|ran| ran.name == workload.name) {
                    (RateSource::Study, least, most)
                } else if let Some((least, most)) = range(&|ran| is_alike(ran, &workload)) {
                    (RateSource::Drives, least.min(limit), most.min(limit))
                } else if limit.is_finite() {
                    (RateSource::Limit, 0.0, limit)
                } else {
                    let (least, most) = assumed_rates(site);
                    (RateSource::Kind, least * seconds, most * seconds)
                };
            total.source = total.source.max(source);
            total.seconds += seconds;
            total.least += least;
            total.most += most;
        }
        total
    })
}

/// Whether two workloads transfer data in the same way: then one predicts the rate of the other.
fn is_alike(ran: &PlannedWorkload, planned: &PlannedWorkload) -> bool {
    let [ran, planned] = [ran, planned].map(|it| io::IoPlan::of(&it.work));
    let (Some(ran), Some(planned)) = (ran, planned) else { return false };
    ran.pattern == planned.pattern
        && ran.mix == planned.mix
        && ran.block_size == planned.block_size
        && ran.sync == planned.sync
        && ran.queue_depth * ran.threads == planned.queue_depth * planned.threads
}

/// The most bytes that a trial can transfer: by its operations, its rate, and the links of its drives; or infinity.
fn most_bytes(workload: &PlannedWorkload, site: Option<&Site>, seconds: f64) -> f64 {
    let drives = site.map_or(&[][..], |site| &site.drives);
    let ceiling = |drive: &Drive| drive.link.value().map(|link| link.ceiling_bytes_per_s * seconds);
    // A drive with an unknown link makes the limit unknown.
    let by_link: Option<f64> = drives.iter().map(ceiling).sum();
    let by_link = by_link.filter(|bytes| *bytes > 0.0).unwrap_or(f64::INFINITY);
    // Background work may transfer more than the trial itself.
    if workload.background.is_some() {
        by_link
    } else {
        by_link.min(workload.work.most_bytes(seconds))
    }
}

/// The traffic of trials in one direction, with the source of the estimate.
pub(super) fn traffic_text(
    PlannedTraffic { seconds, least, most, source }: PlannedTraffic,
) -> String {
    let bytes = |bytes: f64| show::bytes(bytes as u64);
    let (from, to, time) = (bytes(least), bytes(most), show::duration(seconds * 1e9));
    if seconds <= 0.0 {
        return "none".to_owned();
    }
    let [slow, fast] = [least, most].map(|bytes| show::mb_per_s(bytes / seconds));
    let range = format!("about {from} to {to}");
    match source {
        RateSource::Study => format!("{range}, as in the last result"),
        RateSource::Drives => {
            format!("at most {time}: {range}, at the rates of the last result on this drive")
        }
        RateSource::Limit => format!("at most {to}"),
        RateSource::Kind => format!("at most {time}: {range} (assumed {slow} to {fast} MB/s)"),
    }
}
