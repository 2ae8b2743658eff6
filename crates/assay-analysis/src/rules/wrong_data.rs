//! `data-mismatch`: what was written is not what was read again.

use assay_core::{catalogue::About, quantity::units::show};
use assay_workloads::Basis;
use assay_workloads::io::{IoDetail, verify};

use super::{ALL, Case, Rule, RuleCheck, RuleRemark, evidence::in_trials};

pub const NAME: &str = "data-mismatch";

pub static RULE: Rule = Rule {
    about: About {
        name: NAME,
        summary: "blocks that Assay read back differ from the written data",
        text: "Applies to workloads with verify = true: Assay reads their blocks again after each trial. One block \
               that is torn, stale, misplaced, zeroed, bit-flipped, unreadable or foreign makes the number invalid, \
               and the command exits with code 1. If Assay cannot read back an area at all, the number is suspect. \
               Assay adds a note about blocks that it could not judge. Intact blocks do not trigger the rule.",
    },
    looks_at: Basis::Bytes,
    changes: ALL,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let io = case.io()?;
    let details: Vec<&IoDetail> = case.measured().filter_map(IoDetail::of).collect();
    corrupt_blocks(case, &details)
        .or_else(|| unread_blocks(case, &details))
        .or_else(|| unjudged_blocks(case, &details, io.direct))
}

fn corrupt_blocks(case: &Case<'_>, details: &[&IoDetail]) -> Option<RuleRemark> {
    let verified = details.iter().filter_map(|detail| detail.verified.as_ref());
    let corrupt: Vec<_> = verified.filter(|trial| trial.corrupt.all() > 0).collect();
    let first = corrupt.first()?;
    let sum = |count: fn(&verify::Verified) -> u64| {
        show::count(corrupt.iter().fold(0_u64, |sum, trial| sum.saturating_add(count(trial))))
    };
    let example = first.first.first().map(|block| format!(": {}", verify::example(block)));
    Some(RuleRemark::invalid(format!(
        "{} of {} blocks that Assay read back differ from the written data{}; the first such trial has {}{}",
        sum(|trial| trial.corrupt.all()),
        sum(|trial| trial.read),
        in_trials(corrupt.len(), case),
        verify::faults(first),
        example.unwrap_or_default()
    )))
}

fn unread_blocks(case: &Case<'_>, details: &[&IoDetail]) -> Option<RuleRemark> {
    let reasons: Vec<&String> = details.iter().filter_map(|own| own.unverified.as_ref()).collect();
    let first = reasons.first()?;
    let trials = in_trials(reasons.len(), case);
    Some(RuleRemark::suspect(format!(
        "Assay could not read back the written blocks{trials}: {first}"
    )))
}

fn unjudged_blocks(case: &Case<'_>, details: &[&IoDetail], is_direct: bool) -> Option<RuleRemark> {
    let verified = details.iter().filter_map(|detail| detail.verified.as_ref());
    let mut texts: Vec<_> = verified.map(|trial| verify::limitations(trial, is_direct)).collect();
    texts.retain(|texts| !texts.is_empty());
    let first = texts.first()?;
    Some(RuleRemark::note(format!(
        "all blocks that Assay can judge are correct{}: {}",
        in_trials(texts.len(), case),
        first.join("; ")
    )))
}

#[cfg(test)]
mod tests {
    use assay_load::{Fault, FaultCounts, Stood, Verified};
    use assay_study::findings::Trust;

    use super::super::testing::{Bench, counted};
    use super::*;

    fn verified() -> Bench {
        let sound = Verified { read: 1000, intact: 1000, block_bytes: 4096, ..Verified::default() };
        Bench::write()
            .io(|io| io.verify = true)
            .each(move |trial| counted(trial).verified = Some(sound.clone()))
    }

    fn stale() -> Verified {
        let stood = |operation| Some(Stood { thread: 0, operation, of_bytes: 4096 });
        let first = assay_load::WrongData {
            at_bytes: 4096,
            fault: Fault::Stale,
            expected: stood(7),
            found: stood(1),
            bits: None,
        };
        let wrong = FaultCounts { stale: 2, ..FaultCounts::default() };
        Verified {
            read: 1000,
            intact: 998,
            corrupt: wrong,
            first: vec![first],
            ..Verified::default()
        }
    }

    #[test]
    fn speaks_of_every_wrong_block_and_names_the_first() {
        let bench = verified().first(2, |trial| counted(trial).verified = Some(stale()));
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Invalid);
        assert_eq!(
            remark.text,
            "4 of 2,000 blocks that Assay read back differ from the written data, in 2 of 3 trials; the first such \
             trial has 2 stale: at byte 4,096, the block contains an older write, and the last write is lost; \
             expected operation 8 of thread 1; found operation 2 of thread 1"
        );
    }

    #[test]
    fn what_could_not_be_read_again_is_no_proof() {
        let bench = verified().each(|trial| {
            (counted(trial).verified, counted(trial).unverified) =
                (None, Some("no memory".to_owned()));
        });
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(remark.text, "Assay could not read back the written blocks: no memory");
    }

    #[test]
    fn what_could_not_be_told_is_a_note() {
        let open = verified().first(1, |trial| {
            counted(trial).verified = Some(Verified { ambiguous: 3, ..stale_free() });
        });
        let remark = open.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Trusted);
        assert!(remark.text.contains("for 3 blocks with overlapping writes"), "{}", remark.text);
        let cached = verified().io(|io| io.direct = false);
        assert!(cached.judge(&RULE).unwrap().text.contains("page cache"));
    }

    fn stale_free() -> Verified {
        Verified { read: 1000, intact: 1000, ..Verified::default() }
    }

    #[test]
    fn silent_where_all_is_sound_and_where_nothing_is_verified() {
        assert_eq!(verified().judge(&RULE), None);
        assert_eq!(Bench::write().judge(&RULE), None);
        assert_eq!(Bench::command().judge(&RULE), None);
    }
}
