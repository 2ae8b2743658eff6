//! Compares rows of writes with and without syncs on one drive: a single row cannot show the difference.

use assay_study::findings::{Because, Trust, measurements::Series};
use assay_study::results::{plan::Arm, record::Trial};
use assay_workloads::io::Pattern;

use super::rows::RowTrials;
use crate::rules::{self, WriteTimes};

const SYNC: &str = "sync";

/// The common properties of a synced row and its counterpart without syncs.
#[derive(PartialEq)]
struct SyncPairKey {
    target: usize,
    arm: Arm,
    control: bool,
    pattern: Pattern,
    size_bytes: u32,
    direct: bool,
}

/// A row of single writes, one after the other, on a drive that announces a cache.
pub(super) struct Writes {
    row: usize,
    key: SyncPairKey,
    is_synced: bool,
    times: WriteTimes,
    drive: String,
}

/// Adds a note to each synced row whose syncs cost no time compared with its counterpart.
pub(super) fn add_remarks(all: &[Writes], rows: &mut [RowTrials<'_>], series: &mut [Series]) {
    for synced in all.iter().filter(|writes| writes.is_synced) {
        let bare = all.iter().find(|writes| !writes.is_synced && writes.key == synced.key);
        let remark = bare.and_then(|one| rules::costless(&synced.drive, &synced.times, &one.times));
        // A note does not lower the trust.
        if let Some(remark) = remark {
            rows[synced.row].add_remark(rules::ACKNOWLEDGED, &remark, series);
        }
    }
}

/// The write times of a row of single writes, synced or not; `None` for other work, and without a known drive cache.
pub(super) fn writes_of_row(index: usize, row: &RowTrials<'_>) -> Option<Writes> {
    let drive = row.site.filter(|_| row.trust.is_some()).and_then(rules::cached_flash)?;
    let io = rules::one_by_one(row.workload)?;
    let is_synced = match io.sync.every() {
        None => false,
        Some(1) => true,
        // Only some of these writes wait for a sync, so their times are mixed.
        Some(_) => return None,
    };
    let counting: Vec<&Trial> = row.counting().map(|trial| trial.record).collect();
    Some(Writes {
        row: index,
        key: SyncPairKey {
            target: row.workload.target,
            arm: super::without_factor(&row.arm, SYNC),
            control: row.workload.control,
            pattern: io.pattern,
            size_bytes: io.size_bytes(),
            direct: io.direct,
        },
        is_synced,
        times: WriteTimes::new(row.workload, &counting)?,
        drive: drive.name.clone(),
    })
}

/// The remark on a row's syncs, unless the row is invalid.
pub(super) fn sync_remark<'r>(row: &'r RowTrials<'_>) -> Option<&'r str> {
    let remark = row.remarks.iter().find(|(rule, _)| *rule == rules::ACKNOWLEDGED);
    remark.filter(|_| row.trust != Some(Trust::Invalid)).map(|(_, remark)| remark.text.as_str())
}

pub(super) fn sync_reason(because: &[Because]) -> Option<&str> {
    let because = because.iter().find(|because| because.rule == rules::ACKNOWLEDGED);
    because.map(|because| because.text.as_str())
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_machine::system::site::Drive;
    use assay_study::findings::Findings;

    use super::super::tests::{Bench, cell};
    use super::*;

    /// Random writes of 4 KiB at these rates, without syncs and with them.
    fn bench(bare: [u64; 3], synced: [u64; 3]) -> Bench {
        Bench::new(&["."])
            .row(0, "sequential-read", 1 << 20, &[100; 3])
            .row(0, "random-write-q1", 4096, &bare)
            .row(0, "sync-write", 4096, &synced)
    }

    fn on(mut bench: Bench, change: impl Fn(&mut Drive)) -> Findings {
        bench.environment.sites.iter_mut().flat_map(|site| &mut site.drives).for_each(change);
        bench.findings()
    }

    fn told(found: &Findings, row: &str) -> Option<String> {
        sync_reason(&cell(found, row, "iops").reasons).map(str::to_owned)
    }

    fn sentences(found: &Findings) -> usize {
        let own = found.summary.iter().filter(|own| own.text.contains("cache acknowledges syncs"));
        own.count()
    }

    fn costless() -> Bench {
        bench([50_000, 50_200, 50_400], [49_800, 50_100, 50_200])
    }

    #[test]
    fn a_sync_that_costs_nothing_is_told_beside_its_numbers_and_changes_no_trust() {
        let found = costless().findings();
        let text = told(&found, "sync-write").unwrap();
        assert!(text.starts_with("a cache acknowledges syncs: "), "{text}");
        assert_eq!(told(&found, "random-write-q1"), None);
        assert_eq!(told(&found, "sequential-read"), None);
        assert_eq!(cell(&found, "sync-write", "iops").trust, Some(Trust::Trusted));
        // Metrics of time have the remark; amounts do not.
        let of = |metric: &str| sync_reason(&cell(&found, "sync-write", metric).reasons).is_some();
        assert!(of("latency_p50_ns") && !of("write_amplification"));
        assert_eq!(sentences(&found), 1, "{:?}", found.summary_texts());
        let as_sentence = format!("A{}.", &text[1..]);
        assert!(found.summary_texts().contains(&as_sentence), "{:?}", found.summary_texts());
        assert!(found.summary_texts().iter().any(|own| own.starts_with("All 3 rows are trusted")));
    }

    #[test]
    fn silent_where_a_flush_takes_its_time_and_where_no_cache_is_announced() {
        let quiet = |found: &Findings| {
            assert_eq!(told(found, "sync-write"), None);
            assert_eq!(sentences(found), 0, "{:?}", found.summary_texts());
        };
        quiet(&bench([50_000, 50_200, 50_400], [1_000, 1_010, 1_020]).findings());
        quiet(&bench([90, 91, 92], [89, 90, 91]).findings());
        quiet(&on(costless(), |drive| {
            drive.write_cache = Presence::Present("write through".to_owned());
        }));
        quiet(&costless().emulated().findings());
        // The same writes without syncs are missing.
        let alone = Bench::new(&["."])
            .row(0, "random-write-q1", 512, &[50_000, 50_200, 50_400])
            .row(0, "sync-write", 4096, &[49_800, 50_100, 50_200]);
        quiet(&alone.findings());
    }

    #[test]
    fn a_lent_drive_says_it_in_one_row_and_each_target_for_itself() {
        let lend = |drive: &mut Drive| {
            drive.bus = Presence::Present("virtio".to_owned());
            drive.link = Presence::absent("a virtual disk has no link");
            drive.write_cache = Presence::Present("write through".to_owned());
        };
        let found = on(costless(), lend);
        assert!(told(&found, "sync-write").unwrap().contains("the host of sda"));
        assert_eq!(sentences(&found), 1, "{:?}", found.summary_texts());
        let two = Bench::new(&["/mnt/a", "/mnt/b"])
            .row(0, "sync-write", 4096, &[49_800, 50_100, 50_200])
            .row(1, "sync-write", 4096, &[1_000, 1_010, 1_020]);
        let found = on(two, lend);
        let first = "sync-write on /mnt/a: a cache acknowledges syncs: ";
        let own = found.summary.iter().filter(|own| own.text.starts_with(first));
        assert_eq!((own.count(), sentences(&found)), (1, 1), "{:?}", found.summary_texts());
    }
}
