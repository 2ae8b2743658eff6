//! `foreign-io`: another program used the device.

use std::collections::BTreeSet;

use assay_core::{catalogue::About, quantity::units::show};
use assay_machine::probes::is_not_recorded;
use assay_study::results::record::Trial;
use assay_workloads::{Basis, Measured};

use super::evidence::{MIB, compression, counted_devices, in_trials, is_simulated, seconds};
use super::{Case, MOVED, Rule, RuleCheck, RuleRemark};

/// Share of the trial's own bytes that other traffic may reach.
const MOST_SHARE: f64 = 0.01;
/// Share of the trial's reads that other reads may reach: requests are rounded, and filesystems read metadata.
const MOST_SHARE_SAME_WAY: f64 = 0.25;
/// Bytes in the gap below which it counts as idle.
const IDLE_GAP: u64 = 256 << 10;

pub static RULE: Rule = Rule {
    about: About {
        name: "foreign-io",
        summary: "other programs used the device right before or during the trial",
        text: "Assay checks traffic that it does not cause: on every shared device in the idle gap before each trial, \
               and during the trial in the direction that the workload does not use. Traffic above both 1 MiB/s and 1% \
               of the trial's own traffic marks the trial as disturbed. Assay also checks the workload's reads: if the \
               device read more than Assay's processes fetched (including read-ahead) and exceeded the claimed bytes \
               by over 25%, other programs used it. Assay does not check writes (filesystems amplify them), compressed \
               targets or resync traffic that the study observes. The limit is 1% because such traffic changes a rate \
               by about 1%, a fifth of the usual margin. Journals and logs of an idle machine write up to 1 MiB/s.",
    },
    looks_at: Basis::Bytes,
    changes: MOVED,
    minds_others: true,
    check: RuleCheck::Custom(judge),
    disturbance: Some(disturbance),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let texts: Vec<_> = case.trials.iter().filter_map(|trial| disturbance(case, trial)).collect();
    let example = texts.first()?;
    let which = if texts.len() > 1 { "for example: " } else { "" };
    Some(RuleRemark::suspect(format!(
        "other programs used the device{} ({which}{example})",
        in_trials(texts.len(), case)
    )))
}

fn disturbance(case: &Case<'_>, trial: &Trial) -> Option<String> {
    if is_simulated(case) {
        return None;
    }
    in_gap(case, trial, trial.measured.as_ref()?)
        .or_else(|| other_direction(case, trial))
        .or_else(|| same_direction(case, trial))
}

/// The busiest device in the gap before the trial, if any was busy.
fn in_gap(case: &Case<'_>, trial: &Trial, measured: &Measured) -> Option<String> {
    let own_bytes = trial.claims().bytes();
    let own_rate = if measured.elapsed_ns == 0 {
        0.0
    } else {
        own_bytes as f64 / seconds(measured.elapsed_ns)
    };
    let allowed_rate = (MIB as f64).max(MOST_SHARE * own_rate);
    let resyncing = resyncing_devices(case, trial);
    let devices = trial.evidence.disk.value()?.iter();
    let devices = devices.filter(|(name, _)| !resyncing.contains(name.as_str()));
    let busy = devices.filter_map(|(name, device)| {
        let moved = device.gap.read_bytes + device.gap.write_bytes;
        let allowed = allowed_rate * seconds(device.gap.span_ns);
        (moved >= IDLE_GAP && moved as f64 > allowed).then_some((name, moved, device.gap.span_ns))
    });
    let (name, moved, span_ns) = busy.max_by_key(|(_, moved, _)| *moved)?;
    Some(format!(
        "{name} moved {} in the {} before the trial",
        show::bytes(moved),
        show::duration(span_ns as f64)
    ))
}

/// Devices below arrays, if the study observes their resync, which uses them all the time.
fn resyncing_devices<'c>(case: &'c Case<'_>, trial: &Trial) -> BTreeSet<&'c str> {
    let is_observed = !is_not_recorded(&trial.evidence.array_sync);
    if is_observed { case.site.below_arrays() } else { BTreeSet::new() }
}

/// Traffic in the direction that the workload does not use, beyond this process's own.
fn other_direction(case: &Case<'_>, trial: &Trial) -> Option<String> {
    let (reads, writes) = (case.workload.reads(), case.workload.writes());
    // A file system on several devices reads them to compute parity: these reads have no known origin.
    let several = case.site.counted.len() > 1;
    if writes && (reads || several) {
        return None;
    }
    let run = counted_devices(case, trial)?.run;
    let own = trial.evidence.own_traffic.value()?;
    let (verb, moved, ours) = if reads {
        ("written", run.write_bytes, own.write_bytes)
    } else {
        ("read", run.read_bytes, own.read_bytes)
    };
    let foreign = moved.saturating_sub(ours);
    let claimed = trial.claims().bytes();
    let allowed = (MIB as f64 * seconds(run.span_ns)).max(MOST_SHARE * claimed as f64);
    (foreign >= MIB && foreign as f64 > allowed)
        .then(|| format!("{} {verb} by other programs during the trial", show::bytes(foreign)))
}

/// Reads beyond those of this process and of the workload.
fn same_direction(case: &Case<'_>, trial: &Trial) -> Option<String> {
    if !case.workload.reads() || compression(case).is_some() {
        return None;
    }
    let run = counted_devices(case, trial)?.run;
    let claimed = trial.claims().read.bytes;
    let own = trial.evidence.own_traffic.value()?.read_bytes.max(claimed);
    let foreign = run.read_bytes.saturating_sub(own);
    let allowed = (MIB as f64 * seconds(run.span_ns)).max(MOST_SHARE_SAME_WAY * claimed as f64);
    (foreign >= MIB && foreign as f64 > allowed).then(|| {
        format!(
            "the device read {} during the trial, but the workload claims {}",
            show::bytes(run.read_bytes),
            show::bytes(claimed)
        )
    })
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_machine::system::site::TargetKind;
    use assay_study::findings::Trust;
    use assay_study::results::record::{DeviceEvidence, OwnTraffic};

    use super::super::testing::{Bench, MOVED, device};
    use super::*;

    fn gap(bytes: u64) -> Bench {
        Bench::read().first(2, move |trial| device(trial).gap.write_bytes = bytes)
    }

    #[test]
    fn speaks_of_traffic_in_the_gap() {
        let bench = gap(8 << 20);
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(
            remark.text,
            "other programs used the device, in 2 of 3 trials (for example: sda moved 8 MiB in the \
             250 ms before the trial)"
        );
        assert_eq!(
            bench.disturbances(&RULE)[0].as_deref(),
            Some("sda moved 8 MiB in the 250 ms before the trial")
        );
        assert_eq!(bench.disturbances(&RULE)[2], None);
    }

    #[test]
    fn a_shared_device_that_is_not_counted_disturbs_as_well() {
        let bench = Bench::read().first(1, |trial| {
            let mut other = DeviceEvidence::default();
            other.gap.span_ns = 250_000_000;
            other.gap.read_bytes = 4 << 20;
            let devices = trial.evidence.disk.clone().map(|mut devices| {
                devices.insert("sdb".to_owned(), other);
                devices
            });
            trial.evidence.disk = devices;
        });
        assert!(bench.judge(&RULE).unwrap().text.contains("sdb moved 4 MiB"));
    }

    #[test]
    fn speaks_of_the_direction_that_is_not_used() {
        let read = Bench::read().each(|trial| device(trial).run.write_bytes = 95 << 20);
        assert_eq!(
            read.judge(&RULE).unwrap().text,
            "other programs used the device (for example: 95 MiB written by other programs during the trial)"
        );
        let write = Bench::write().first(1, |trial| device(trial).run.read_bytes = 95 << 20);
        assert!(write.judge(&RULE).unwrap().text.contains("95 MiB read by other programs"));
    }

    #[test]
    fn speaks_of_reads_beside_its_own() {
        let twice = |own: u64| {
            Bench::read().first(1, move |trial| {
                device(trial).run.read_bytes = 2 * MOVED;
                trial.evidence.own_traffic =
                    Presence::Present(OwnTraffic { read_bytes: own, write_bytes: 0 });
            })
        };
        assert_eq!(
            twice(MOVED).disturbances(&RULE)[0].as_deref(),
            Some("the device read 128 MiB during the trial, but the workload claims 64 MiB")
        );
        // Read-ahead of the workload.
        assert_eq!(twice(2 * MOVED).judge(&RULE), None);
        let compressed =
            twice(MOVED).site(|site| site.compression = Presence::Present("zstd".into()));
        assert_eq!(compressed.judge(&RULE), None);
        let little = Bench::read().each(|trial| device(trial).run.read_bytes = MOVED * 5 / 4);
        assert_eq!(little.judge(&RULE), None);
    }

    #[test]
    fn silent_on_little_traffic_on_its_own_and_in_a_mix() {
        assert_eq!(gap(200 << 10).judge(&RULE), None);
        // At 64 MiB/s, 1 MiB/s is allowed, a quarter of it in the gap.
        assert_eq!(gap(256 << 10).judge(&RULE), None);
        let little = Bench::read().each(|trial| device(trial).run.write_bytes = MIB - 1);
        assert_eq!(little.judge(&RULE), None);
        let own = Bench::write().each(|trial| {
            device(trial).run.read_bytes = 95 << 20;
            trial.evidence.own_traffic = trial.evidence.own_traffic.clone().map(|mut own| {
                own.read_bytes = 95 << 20;
                own
            });
        });
        assert_eq!(own.judge(&RULE), None);
        assert_eq!(Bench::mixed().judge(&RULE), None);
        let unknown = Bench::read().each(|trial| {
            device(trial).run.write_bytes = 95 << 20;
            trial.evidence.own_traffic = Presence::absent("not readable");
        });
        assert_eq!(unknown.judge(&RULE), None);
        let simulated = gap(8 << 20).site(|site| site.kind = TargetKind::Simulated);
        assert_eq!(simulated.judge(&RULE), None);
    }
}
