//! `device-bytes`: the device moved fewer bytes than claimed.

use assay_core::{catalogue::About, quantity::units::show};
use assay_machine::system::site::{Backing, TargetKind};
use assay_study::findings::Trust;
use assay_study::results::record::Traffic;
use assay_workloads::Basis;

use super::evidence::{
    CountedTrial, MovedShare, Mover, compression, counted_trials, in_trials, is_simulated, mover,
};
use super::{Case, MOVED, Rule, RuleCheck, RuleRemark, cached, emptied};

const LEAST_SHARE: f64 = 0.9;
const AMPLIFIED: f64 = 1.5;

pub static RULE: Rule = Rule {
    about: About {
        name: "device-bytes",
        summary: "the device moved fewer bytes than the tool claims, or has no byte counter",
        text: "Assay compares the counters of the topmost block devices, and of the drives below a loop device's file, \
               with the bytes of the operations. If the device moved less than 90% of the bytes, the number is invalid \
               unless compression explains the gap (rule `compressed`); declared duplicates in the content lower the \
               expected amount. The same limit applies to discards on trimmed devices. Writes must reach the device \
               before the measured time ends. If the device writes more bytes than requested, Assay notes the write \
               amplification and still trusts the number. On NFS and SMB, Assay compares the bytes that crossed the \
               network; the server's cache is invisible. Without a counter (other network and some FUSE filesystems), \
               the number is suspect. The limit is 90% because a drive's queue or the end of a trial can hide a few \
               percent.",
    },
    looks_at: Basis::Medium,
    changes: MOVED,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    if case.trials.is_empty() || is_simulated(case) || case.site.backing == Backing::Memory {
        return None;
    }
    let trials = counted_trials(case);
    if trials.is_empty() {
        let reason = case.site.backing_reason.as_ref();
        let why = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let text = format!("no device counts the bytes, so Assay cannot check the number{why}");
        return Some(RuleRemark::suspect(text));
    }
    let remarks = [
        short_reads(case, &trials),
        short_writes(case, &trials),
        short_trims(case, &trials),
        write_amplification(&trials),
        network_note(case, &trials),
    ];
    // A rule gives one remark: all texts, with the worst trust.
    remarks.into_iter().flatten().reduce(|one, other| RuleRemark {
        trust: one.trust.max(other.trust),
        text: format!("{}; {}", one.text, other.text),
        ..one
    })
}

/// The devices delivered fewer bytes than were read, and no other rule explains this.
fn short_reads(case: &Case<'_>, trials: &[CountedTrial]) -> Option<RuleRemark> {
    // For data from memory, `cached` is more precise; for trimmed blocks, `trimmed-area`.
    if compression(case).is_some()
        || emptied::clears(case)
        || cached::RULE.judge(case).is_some_and(|remark| remark.trust == Trust::Invalid)
    {
        return None;
    }
    let reads = trials.iter().map(|t| (t.device.run.read_bytes, t.claims.read.bytes));
    MovedShare::below(LEAST_SHARE, reads)
        .map(|short| RuleRemark::invalid(short.words(case, trials, "delivered", "bytes read")))
}

/// Fewer bytes reached the device than were written: after the measured time, or never.
fn short_writes(case: &Case<'_>, trials: &[CountedTrial]) -> Option<RuleRemark> {
    let in_time = |t: &CountedTrial| t.device.run.write_bytes;
    let in_total = |t: &CountedTrial| in_time(t) + t.device.settle.write_bytes;
    let claimed = |t: &CountedTrial| t.claims.write.bytes;
    // A device may save blocks that the study states to be duplicates.
    let duplicates = case.io().map_or(0.0, |io| f64::from(io.duplicates.percent()) / 100.0);
    let limit = LEAST_SHARE * (1.0 - duplicates);
    // First, trials whose bytes arrived, but late. What the device saved never arrives and is not due.
    let has_arrived = |t: &&CountedTrial| in_total(t) as f64 >= limit * claimed(t) as f64;
    let due =
        |t: &CountedTrial| if duplicates > 0.0 { claimed(t).min(in_total(t)) } else { claimed(t) };
    let late = trials.iter().filter(has_arrived).map(|t| (in_time(t), due(t)));
    if let Some(late) = MovedShare::below(LEAST_SHARE, late) {
        return Some(RuleRemark::invalid(format!(
            "{} of the bytes were still in memory when the clock stopped{}",
            show::percent(100.0 - late.percent()),
            in_trials(late.trials, case)
        )));
    }
    // Then, trials whose bytes never arrived.
    if compression(case).is_some() {
        return None;
    }
    let lost = MovedShare::below(limit, trials.iter().map(|t| (in_total(t), claimed(t))))?;
    let subject = "bytes written, even after a sync";
    Some(RuleRemark::invalid(lost.words(case, trials, "received", subject)))
}

/// A device's trims arrive as discards, or as zeros beyond the written bytes; file systems may delay trims.
fn short_trims(case: &Case<'_>, trials: &[CountedTrial]) -> Option<RuleRemark> {
    if case.site.kind != TargetKind::Device {
        return None;
    }
    let received = |t: &CountedTrial| {
        let sum = |bytes: fn(&Traffic) -> u64| bytes(&t.device.run) + bytes(&t.device.settle);
        let claimed_writes = t.claims.write.bytes.saturating_add(t.claims.zero.bytes);
        sum(|one| one.discard_bytes) + sum(|one| one.write_bytes).saturating_sub(claimed_writes)
    };
    let trims = trials.iter().map(|t| (received(t), t.claims.trim.bytes));
    MovedShare::below(LEAST_SHARE, trims)
        .map(|short| RuleRemark::invalid(short.words(case, trials, "received", "trims")))
}

fn network_note(case: &Case<'_>, trials: &[CountedTrial]) -> Option<RuleRemark> {
    let by_server = trials.iter().any(|trial| trial.mover == Mover::Server);
    let filesystem = case.site.filesystem();
    let text =
        format!("the bytes crossed the network ({filesystem}); the server's cache is invisible");
    by_server.then(|| RuleRemark::note(text))
}

/// The devices wrote more bytes than were requested.
fn write_amplification(trials: &[CountedTrial]) -> Option<RuleRemark> {
    let written: u64 =
        trials.iter().map(|t| t.device.run.write_bytes + t.device.settle.write_bytes).sum();
    // Devices count zeroing as writes; file systems may only record it, so it only raises the limit.
    let claimed: u64 =
        trials.iter().map(|t| t.claims.write.bytes.saturating_add(t.claims.zero.bytes)).sum();
    let factor = written as f64 / claimed as f64;
    (claimed > 0 && factor > AMPLIFIED).then(|| {
        let (who, times) = (mover(trials), show::times(factor));
        RuleRemark::note(format!("{who} wrote {times} times the requested bytes"))
    })
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_workloads::Count;

    use super::super::testing::{Bench, MOVED, device, measured};
    use super::*;

    fn writes(in_time: u64, settling: u64) -> Bench {
        Bench::write().each(move |trial| {
            device(trial).run.write_bytes = in_time;
            device(trial).settle.write_bytes = settling;
        })
    }

    fn reads(delivered: u64) -> Bench {
        Bench::read().each(move |trial| device(trial).run.read_bytes = delivered)
    }

    #[test]
    fn speaks_of_writes_that_came_late() {
        let remark = writes(MOVED / 4, MOVED).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Invalid);
        assert_eq!(remark.text, "75% of the bytes were still in memory when the clock stopped");
    }

    #[test]
    fn speaks_of_writes_that_never_came() {
        let remark = writes(MOVED / 4, 0).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Invalid);
        assert_eq!(
            remark.text,
            "the device received only 25% of the bytes written, even after a sync"
        );
    }

    #[test]
    fn speaks_of_reads_that_the_device_did_not_deliver_unless_cached_does() {
        let remark = reads(MOVED * 7 / 10).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Invalid);
        assert_eq!(remark.text, "the device delivered only 70% of the bytes read");
        assert_eq!(reads(MOVED / 10).judge(&RULE), None);
    }

    #[test]
    fn speaks_of_trims_that_a_device_was_not_told_of_and_of_a_file_not() {
        let trimmed = |kind, discarded: u64| {
            let bench = Bench::write().site(move |site| site.kind = kind).io(|io| {
                io.mix = "write/50:trim/50".parse().unwrap();
            });
            let bench = bench.each(move |trial| {
                measured(trial).claims.trim = Count { operations: 1000, bytes: 2 * MOVED };
                device(trial).run.discard_bytes = discarded;
            });
            bench.judge(&RULE)
        };
        let told = trimmed(TargetKind::Device, MOVED).unwrap();
        assert_eq!(told.trust, Trust::Invalid);
        assert_eq!(told.text, "the device received only 50% of the trims");
        // The device only wrote the data of the writes.
        assert_eq!(trimmed(TargetKind::Device, 0).unwrap().trust, Trust::Invalid);
        assert_eq!(trimmed(TargetKind::Device, 2 * MOVED), None);
        assert_eq!(trimmed(TargetKind::Directory, 0), None);
    }

    #[test]
    fn stated_copies_may_be_spared_and_no_more() {
        let took = |share: u64| {
            let bench = writes(MOVED * share / 100, 0);
            bench.io(|io| io.duplicates = "30%".parse().unwrap()).judge(&RULE)
        };
        assert_eq!(took(70), None);
        assert!(took(50).unwrap().text.starts_with("the device received only 50%"));
        let late = writes(MOVED / 2, MOVED / 2).io(|io| io.duplicates = "60%".parse().unwrap());
        let told = late.judge(&RULE).unwrap().text;
        assert!(told.starts_with("50% of the bytes were still in memory"), "{told}");
    }

    #[test]
    fn what_is_zeroed_is_no_amplification() {
        let zeroed = |bytes| {
            let bench = writes(3 * MOVED, 0).each(move |trial| {
                measured(trial).claims.zero = Count { operations: 1, bytes };
            });
            bench.judge(&RULE)
        };
        assert!(zeroed(0).unwrap().text.contains("3 times the requested bytes"));
        assert_eq!(zeroed(2 * MOVED), None);
    }

    #[test]
    fn both_directions_of_a_mix_are_judged() {
        let bench = Bench::mixed().first(1, |trial| {
            device(trial).run.read_bytes = MOVED * 6 / 10;
            device(trial).run.write_bytes = MOVED / 2;
        });
        assert_eq!(
            bench.judge(&RULE).unwrap().text,
            "the device delivered only 60% of the bytes read, in 1 of 3 trials; the device received only 50% of the \
             bytes written, even after a sync, in 1 of 3 trials"
        );
    }

    #[test]
    fn more_is_amplification_and_no_fault() {
        let remark = writes(MOVED, 32 * MOVED).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Trusted);
        assert_eq!(remark.text, "the device wrote 33 times the requested bytes");
    }

    #[test]
    fn what_cannot_be_checked_is_suspect() {
        let blind = Bench::read().each(|trial| trial.evidence.disk = Presence::absent("NFS"));
        let remark = blind.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(remark.text, "no device counts the bytes, so Assay cannot check the number");
        let remote = Bench::write().site(|site| {
            site.backing = Backing::Remote;
            site.counted.clear();
        });
        let remote = remote.site(|site| site.backing_reason = Some("a 9p server".to_owned()));
        assert_eq!(
            remote.judge(&RULE).unwrap().text,
            "no device counts the bytes, so Assay cannot check the number (a 9p server)"
        );
    }

    #[test]
    fn bytes_that_crossed_the_network_stand_in_for_a_device() {
        use assay_machine::probes::mount_traffic::{MountBytes, MountTraffic};
        use assay_machine::system::site::Mount;
        let served = |read_bytes: u64| {
            let moved = MountBytes { read_bytes, write_bytes: 0 };
            let told = MountTraffic { run: moved, settle: MountBytes::default() };
            let bench = Bench::read().site(|site| {
                site.backing = Backing::Remote;
                site.counted.clear();
                site.mount = Presence::Present(Mount {
                    point: "/mnt".into(),
                    source: "server:/srv".to_owned(),
                    filesystem: "nfs4".to_owned(),
                    options: Vec::new(),
                });
            });
            bench.each(move |trial| trial.evidence.mount_traffic = Presence::Present(told))
        };
        let whole = served(MOVED).judge(&RULE).unwrap();
        assert_eq!(whole.trust, Trust::Trusted);
        assert_eq!(
            whole.text,
            "the bytes crossed the network (nfs4); the server's cache is invisible"
        );
        let short = served(MOVED * 7 / 10).judge(&RULE).unwrap();
        assert_eq!(short.trust, Trust::Invalid);
        assert!(short.text.starts_with("the server delivered only 70% of the bytes"), "{short:?}");
        // Without the counters there is nothing to check, as before.
        let blind = served(MOVED).each(|trial| {
            trial.evidence.mount_traffic = Presence::absent("no such file");
        });
        assert_eq!(blind.judge(&RULE).unwrap().trust, Trust::Suspect);
    }

    #[test]
    fn silent_where_the_bytes_agree_or_compression_explains_them() {
        assert_eq!(reads(MOVED).judge(&RULE), None);
        assert_eq!(writes(MOVED * 95 / 100, 0).judge(&RULE), None);
        let packed =
            |bench: Bench| bench.site(|s| s.compression = Presence::Present("zstd".to_owned()));
        assert_eq!(packed(writes(MOVED / 20, 0)).judge(&RULE), None);
        assert_eq!(packed(reads(MOVED / 20)).judge(&RULE), None);
        let late = packed(writes(MOVED / 20, MOVED)).judge(&RULE).unwrap();
        assert_eq!(late.trust, Trust::Invalid);
    }

    #[test]
    fn silent_on_claims_too_small_to_tell_and_in_memory() {
        let tiny = writes(0, 0).each(|trial| {
            measured(trial).claims.write.bytes = 128 << 10;
        });
        assert_eq!(tiny.judge(&RULE), None);
        let memory = writes(0, 0).site(|site| site.backing = Backing::Memory);
        assert_eq!(memory.judge(&RULE), None);
    }
}
