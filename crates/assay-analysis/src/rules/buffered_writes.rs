//! `buffered-writes`: direct writes went through the page cache all the same.

use assay_core::{catalogue::About, quantity::units::show};
use assay_study::results::record::Trial;
use assay_workloads::Basis;

use super::{Case, Rule, RuleCheck, RuleRemark, evidence::MIB};

/// Bytes of a page where the bundle does not say: the most common size.
const PAGE_BYTES: u64 = 4096;

pub static RULE: Rule = Rule {
    about: About {
        name: "buffered-writes",
        summary: "direct writes went through the page cache",
        text: "From Linux 6.15 to 7.2, btrfs accepts direct I/O on files with checksums but copies the data through \
               the page cache. The kernel counts pages that become dirty (nr_dirtied). If dirtied pages make up at \
               least 90% of the written bytes, both during the fill and in every trial, write rows are suspect: they \
               measure copying and write-back. Assay subtracts pages that underlying loop devices dirty. The threshold \
               is 90% because true direct writes dirty only metadata pages. Assay does not judge other filesystems, \
               because other programs also dirty pages.",
    },
    looks_at: Basis::Bytes,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

/// Suspect if direct writes dirtied pages, both when Assay filled the area and in every trial.
fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let is_direct_write = case.workload.writes() && case.workload.work.touches().direct;
    let survey = case.survey.dirtied.filter(|_| is_direct_write)?;
    // Others may have dirtied pages while a trial ran: filling the area is a second witness.
    if survey.written_bytes >= MIB && !survey.is_through_cache() {
        return None;
    }
    let (mut written, mut dirtied) = (0_u64, 0_u64);
    for trial in case.trials.iter().filter(|trial| trial.claims().write.bytes > 0) {
        let written_bytes = trial.claims().write.bytes;
        // Without a true count in every trial, the rule does not judge.
        dirtied = dirtied.saturating_add(survey.own_bytes(written_bytes, dirtied_bytes(trial)?)?);
        written = written.saturating_add(written_bytes);
    }
    (written >= MIB).then(|| {
        RuleRemark::suspect(format!(
            "direct writes went through the page cache: {} became dirty for {} written; btrfs does this for files \
             with checksums; use chattr +C on the directory or mount with nodatasum",
            show::bytes(dirtied),
            show::bytes(written)
        ))
    })
}

fn dirtied_bytes(trial: &Trial) -> Option<u64> {
    let memory = trial.evidence.memory.value()?.machine.value()?;
    memory.dirtied_pages?.checked_mul(memory.page_bytes.unwrap_or(PAGE_BYTES))
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_machine::probes::memory::Memory;
    use assay_study::findings::Trust;
    use assay_study::results::plan::Dirtied;

    use super::super::testing::{Bench, MOVED};
    use super::*;

    const PAGES: u64 = MOVED / PAGE_BYTES;

    /// Percent of the written bytes that became dirty: while the area was filled, and in each trial.
    fn dirtied(bench: Bench, filling: u64, trials: [u64; 3], caches_below: u32) -> Bench {
        let bench = bench.survey(|survey| {
            let dirtied_bytes = MOVED * filling / 100;
            survey.dirtied = Some(Dirtied { written_bytes: MOVED, dirtied_bytes, caches_below });
        });
        bench.each(|trial| {
            let share = trials[trial.replicate as usize - 1];
            let dirtied_pages = Some((PAGES * share).div_ceil(100));
            let memory = Memory { dirtied_pages, ..Memory::default() };
            trial.evidence.memory = Presence::Present(memory.into());
        })
    }

    fn is_flagged(bench: &Bench) -> bool {
        bench.judge(&RULE).is_some()
    }

    #[test]
    fn dirty_pages_of_direct_writes_are_suspect() {
        let bench = dirtied(Bench::write(), 101, [101, 100, 90], 0);
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(
            remark.text,
            "direct writes went through the page cache: 186 MiB became dirty for 192 MiB written; btrfs does this for \
             files with checksums; use chattr +C on the directory or mount with nodatasum"
        );
        assert!(is_flagged(&dirtied(Bench::mixed(), 100, [100; 3], 0)));
    }

    #[test]
    fn metadata_and_disturbed_trials_are_not_accused() {
        assert!(!is_flagged(&dirtied(Bench::write(), 2, [2; 3], 0)));
        // Others wrote much while the area was filled, or in one trial.
        assert!(!is_flagged(&dirtied(Bench::write(), 300, [2; 3], 0)));
        assert!(!is_flagged(&dirtied(Bench::write(), 2, [300; 3], 0)));
        assert!(!is_flagged(&dirtied(Bench::write(), 100, [100, 89, 100], 0)));
        assert!(!is_flagged(&dirtied(Bench::write(), 89, [100; 3], 0)));
    }

    #[test]
    fn a_loop_devices_own_cache_is_subtracted() {
        assert!(!is_flagged(&dirtied(Bench::write(), 104, [102; 3], 1)));
        assert!(is_flagged(&dirtied(Bench::write(), 207, [206; 3], 1)));
        assert!(!is_flagged(&dirtied(Bench::write(), 207, [206; 3], 2)));
    }

    #[test]
    fn reads_and_buffered_writes_are_not_judged() {
        assert!(!is_flagged(&dirtied(Bench::read(), 100, [100; 3], 0)));
        let buffered = dirtied(Bench::write(), 100, [100; 3], 0).io(|io| io.direct = false);
        assert!(!is_flagged(&buffered));
        assert!(!is_flagged(&Bench::write()));
    }

    #[test]
    fn unfilled_areas_are_judged_by_their_trials() {
        let unfilled = |share| {
            let bench = dirtied(Bench::write(), 0, [share; 3], 0);
            bench.survey(|survey| survey.dirtied.as_mut().unwrap().written_bytes = 0)
        };
        assert!(is_flagged(&unfilled(90)) && !is_flagged(&unfilled(89)));
    }
}
