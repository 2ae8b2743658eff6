//! Compares reads and writes of a borrowed drive: a single row cannot show a host cache.

use std::collections::BTreeMap;

use assay_study::findings::{Trust, measurements::Series};
use assay_study::results::record::Trial;
use assay_workloads::metrics;

use super::rows::RowTrials;
use crate::rules::{HOST_CACHE, IdleFlush, RuleRemark};

const RATE: &str = "bandwidth_bytes_per_s";

#[derive(Default)]
pub(super) struct Rates {
    /// Target -> bytes per second of its fastest read-only row.
    fastest_reads: BTreeMap<usize, f64>,
    rows_with_writes: Vec<RowWithWrites>,
}

struct RowWithWrites {
    index: usize,
    target: usize,
    /// The flush after the writes if it did nothing, with the row's bytes per second.
    idle_flush: Option<(IdleFlush, f64)>,
}

impl Rates {
    /// Collects the rate of a row on a drive that the host of this guest provides; skips other rows.
    pub fn add(&mut self, index: usize, row: &RowTrials<'_>, series: &[Series]) {
        let Some(site) = row.site.filter(|_| row.is_borrowed() && row.trust.is_some()) else {
            return;
        };
        let target = row.workload.target;
        // The remark quotes the rate next to the row's number, so both must be equal.
        let rate = series.iter().find(|one| one.metric == RATE);
        let rate = rate.and_then(|one| super::cells::row_value(&one.trials, None));
        if row.workload.writes() {
            let counting: Vec<&Trial> = row.counting().map(|trial| trial.record).collect();
            let idle_flush = IdleFlush::new(site, row.workload, &counting).zip(rate);
            self.rows_with_writes.push(RowWithWrites { index, target, idle_flush });
        } else if let Some(rate) = rate {
            let fastest = self.fastest_reads.entry(target).or_default();
            *fastest = fastest.max(rate);
        }
    }

    /// Marks all rows with writes to a drive whose host caches them, and their series.
    pub fn add_remarks(&self, rows: &mut [RowTrials<'_>], series: &mut [Series]) {
        for (target, read_rate) in &self.fastest_reads {
            let of_target = || self.rows_with_writes.iter().filter(|row| row.target == *target);
            let remark = of_target().find_map(|row| {
                let (flush, write_rate) = row.idle_flush.as_ref()?;
                flush.remark_for(*write_rate, *read_rate)
            });
            let Some(remark) = remark else { continue };
            for row in of_target() {
                replace_remark(&mut rows[row.index], series, &remark);
            }
        }
    }
}

/// Replaces the remark of `HOST_CACHE` on a row and its series, unless that remark already lowers the trust.
fn replace_remark(row: &mut RowTrials<'_>, series: &mut [Series], remark: &RuleRemark) {
    let rule = HOST_CACHE.about.name;
    let Some((_, known)) = row.remarks.iter_mut().find(|(name, _)| *name == rule) else { return };
    if known.trust != Trust::Trusted {
        return;
    }
    known.clone_from(remark);
    row.trust = row.trust.max(Some(remark.trust));
    for one in row.own_series(series) {
        if !remark.is_about(rule, metrics::nature(&one.metric)) {
            continue;
        }
        one.trust = one.trust.max(Some(remark.because_of(rule, metrics::side(&one.metric)).trust));
        for because in one.because.iter_mut().filter(|because| because.rule == rule) {
            *because = remark.because_of(rule, metrics::side(&one.metric));
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_study::findings::Findings;
    use assay_study::results::plan::ReadTwice;

    use super::super::tests::{Bench, cell};
    use super::*;

    /// Reads at 100 MiB/s, and 64 MiB of writes per one-second trial, each with a flush of `flush_us`.
    fn found(reads: u64, flush_us: u64) -> Findings {
        let flush = |trial: &mut Trial| trial.flush_ns = Some(flush_us * 1000);
        let mut bench = Bench::new(&["."])
            .row(0, "sequential-read", 1 << 20, &[reads; 3])
            .row(0, "sequential-write", 1 << 20, &[200; 3])
            .each(flush)
            .row(0, "sync-write", 4096, &[1000; 3])
            .each(flush);
        for drive in bench.environment.sites.iter_mut().flat_map(|site| &mut site.drives) {
            drive.bus = Presence::Present("virtio".to_owned());
            drive.link = Presence::absent("a virtual disk has no link");
            drive.write_cache = Presence::Present("write back".to_owned());
        }
        bench.findings()
    }

    /// A second read three times as fast, on a host that announces this cache.
    fn kept_by_a_host(kind: &str) -> Findings {
        let mut bench = Bench::new(&["."])
            .row(0, "sequential-read", 1 << 20, &[100; 3])
            .row(0, "sequential-write", 1 << 20, &[100; 3])
            .row(0, "sync-write", 4096, &[1000; 3]);
        let drives = bench.environment.sites.iter_mut().flat_map(|site| &mut site.drives);
        let mut drive = String::new();
        for own in drives {
            own.bus = Presence::Present("virtio".to_owned());
            own.link = Presence::absent("a virtual disk has no link");
            own.write_cache = Presence::Present(kind.to_owned());
            drive.clone_from(&own.name);
        }
        let piece_ns = vec![[30_000_000, 10_000_000]; 3];
        let read = ReadTwice { drive, piece_bytes: 8 << 20, piece_ns };
        bench.plan.surveys[0].read_twice = Presence::Present(read);
        bench.findings()
    }

    #[test]
    fn what_a_host_that_writes_through_keeps_speaks_against_rows_that_read_alone() {
        let trust = |found: &Findings| {
            ["sequential-read", "sequential-write", "sync-write"]
                .map(|name| cell(found, name, "iops").trust)
        };
        let [trusted, suspect] = [Trust::Trusted, Trust::Suspect].map(Some);
        let through = kept_by_a_host("write through");
        assert_eq!(trust(&through), [suspect, trusted, trusted]);
        let of_rule = |found: &Findings, row: &str, rule: &str| {
            let mut because = cell(found, row, "iops").reasons.iter();
            because.find(|own| own.rule == rule).map(|own| own.trust)
        };
        assert_eq!(of_rule(&through, "sequential-read", "cached"), suspect);
        assert_eq!(of_rule(&through, "sequential-write", "cached"), None);
        // Reads and writes are both on a borrowed drive.
        for row in ["sequential-read", "sequential-write"] {
            assert_eq!(of_rule(&through, row, "host-cache"), trusted);
        }
        let back = kept_by_a_host("write back");
        assert_eq!(trust(&back), [suspect; 3]);
        assert_eq!(of_rule(&back, "sequential-read", "host-cache"), suspect);
        assert_eq!(of_rule(&back, "sequential-read", "cached"), None);
    }

    #[test]
    fn all_rows_that_write_are_suspect_where_a_flush_does_nothing_and_reading_is_slower() {
        let trust = |found: &Findings| {
            ["sequential-read", "sequential-write", "sync-write"]
                .map(|name| cell(found, name, "iops").trust)
        };
        let [trusted, suspect] = [Trust::Trusted, Trust::Suspect].map(Some);
        let loud = found(100, 100);
        assert_eq!(trust(&loud), [trusted, suspect, suspect]);
        assert!(
            loud.summary_texts()
                .iter()
                .any(|text| text == "Of 3 rows: 1 trusted for this virtual device, 2 suspect."),
            "{:?}",
            loud.summary_texts()
        );
        assert!(
            !loud.summary_texts().iter().any(|text| text.contains("database")),
            "{:?}",
            loud.summary_texts()
        );
        // The traffic of this machine's device is exact, whatever the host caches.
        assert_eq!(cell(&loud, "sequential-write", "write_amplification").trust, trusted);
        assert_eq!(trust(&found(190, 100)), [trusted; 3], "reading is as fast");
        assert_eq!(trust(&found(100, 50_000)), [trusted; 3], "the flush did something");
        let quiet = found(190, 100).summary_texts().join(" ");
        assert!(quiet.contains("trusted for this virtual device"), "{quiet}");
    }

    #[test]
    fn only_rows_of_the_lent_drive_are_as_given() {
        let mut bench = Bench::new(&["/mnt/a", "/mnt/b"])
            .row(0, "sequential-read", 1 << 20, &[100; 3])
            .row(1, "sequential-read", 1 << 20, &[100; 3]);
        for drive in &mut bench.environment.sites[0].drives {
            drive.bus = Presence::Present("virtio".to_owned());
            drive.link = Presence::absent("a virtual disk has no link");
        }
        let told = bench.findings().summary_texts().join(" ");
        assert!(
            told.contains("Of 2 rows: 1 trusted, 1 trusted for this virtual device."),
            "{told}"
        );
    }

    #[test]
    fn an_amount_on_a_lent_drive_is_as_given_and_traffic_is_what_it_is() {
        use assay_core::quantity::metric::Nature;
        use assay_study::findings::LENT;
        let bench = Bench::new(&["."]).row(0, "sequential-read", 1 << 20, &[100; 3]);
        let mut row =
            super::super::rows::bare_row(&bench.plan.workloads[0], &bench.plan, &bench.environment);
        assert!(row.as_given(Nature::Amount).is_none(), "no rule saw a lent drive");
        row.remarks = vec![(LENT, RuleRemark::new(Trust::Suspect, "the host caches data"))];
        let note = row.as_given(Nature::Amount).unwrap();
        assert_eq!((note.rule.as_str(), note.trust), (LENT, Trust::Trusted));
        // The remark on its cache already covers these metrics.
        for nature in [Nature::Speed, Nature::Traffic] {
            assert!(row.as_given(nature).is_none());
        }
    }
}
