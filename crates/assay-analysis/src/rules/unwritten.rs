//! `unwritten`: reads of never written blocks do not reach the medium.

use assay_core::{catalogue::About, quantity::units::show};
use assay_workloads::Basis;

use super::{Case, MOVED, Rule, RuleCheck, RuleRemark};

/// From this percentage of the area on, reads do not show the drive's speed.
const MOST_PERCENT: f64 = 5.0;

pub static RULE: Rule = Rule {
    about: About {
        name: "unwritten",
        summary: "the area contains blocks that were never written or contain only zeros",
        text: "Filesystems answer reads of holes and unwritten extents with zeros, without accessing the drive. Many \
               drives do the same for zeroed blocks. If more than 5% of the area is affected, the read speed is \
               invalid: such reads are much faster, and a share of 5% changes the speed by the usual margin.",
    },
    looks_at: Basis::Bytes,
    changes: MOVED,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    if !case.workload.reads() {
        return None;
    }
    never_written(case).or_else(|| zero_blocks(case))
}

fn never_written(case: &Case<'_>) -> Option<RuleRemark> {
    let coverage = case.survey.coverage.value()?;
    let area = case.survey.area.length;
    let missing = coverage.hole_bytes + coverage.unwritten_bytes;
    if missing == 0 || area == 0 {
        return None;
    }
    let percent = 100.0 * missing as f64 / area as f64;
    let part = show::percent(percent);
    Some(if percent > MOST_PERCENT {
        RuleRemark::invalid(format!(
            "{part} of the area was never written ({} of {}): reads of unwritten blocks do not reach the drive",
            show::bytes(missing),
            show::bytes(area)
        ))
    } else if let Some(zeros) = zero_blocks(case) {
        zeros
    } else {
        RuleRemark::note(format!("{part} of the area was never written ({})", show::bytes(missing)))
    })
}

fn zero_blocks(case: &Case<'_>) -> Option<RuleRemark> {
    let coverage = case.survey.coverage.value()?;
    let (zeros, all) = (coverage.zero_blocks, coverage.sampled_blocks);
    (100.0 * f64::from(zeros) > MOST_PERCENT * f64::from(all)).then(|| {
        RuleRemark::invalid(format!(
            "{zeros} of {all} sampled blocks contain only zeros: drives can answer such reads without using the medium"
        ))
    })
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_study::findings::Trust;
    use assay_study::results::plan::Coverage;

    use super::super::testing::Bench;
    use super::*;

    fn coverage(unwritten_bytes: u64, zero_blocks: u32) -> Presence<Coverage> {
        Presence::Present(Coverage {
            hole_bytes: 0,
            unwritten_bytes,
            encoded_bytes: 0,
            sampled_blocks: 64,
            zero_blocks,
        })
    }

    fn judge(bench: Bench, unwritten: u64, zeros: u32) -> Option<RuleRemark> {
        bench.survey(|survey| survey.coverage = coverage(unwritten, zeros)).judge(&RULE)
    }

    #[test]
    fn speaks_of_allocated_space_that_was_never_written() {
        let remark = judge(Bench::read(), 512 << 20, 0).unwrap();
        assert_eq!(remark.trust, Trust::Invalid);
        assert_eq!(
            remark.text,
            "50% of the area was never written (512 MiB of 1 GiB): reads of unwritten blocks do not reach the drive"
        );
    }

    #[test]
    fn speaks_of_zeros() {
        let remark = judge(Bench::read(), 0, 31).unwrap();
        assert_eq!(remark.trust, Trust::Invalid);
        assert!(remark.text.starts_with("31 of 64 sampled blocks contain only zeros"));
        assert_eq!(judge(Bench::read(), 10 << 20, 31).unwrap().trust, Trust::Invalid);
    }

    #[test]
    fn a_little_is_a_note() {
        let remark = judge(Bench::read(), 10 << 20, 0).unwrap();
        assert_eq!(remark.trust, Trust::Trusted);
        assert_eq!(remark.text, "1% of the area was never written (10 MiB)");
    }

    #[test]
    fn silent_on_a_written_area_and_for_writes() {
        assert_eq!(judge(Bench::read(), 0, 3), None);
        assert_eq!(judge(Bench::write(), 1 << 30, 64), None);
        let unknown =
            Bench::read().survey(|survey| survey.coverage = Presence::absent("no FIEMAP"));
        assert_eq!(unknown.judge(&RULE), None);
    }
}
