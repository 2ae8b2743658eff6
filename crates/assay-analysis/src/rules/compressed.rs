//! `compressed`: compression reduces the transferred bytes.

use assay_core::{catalogue::About, quantity::units::show};
use assay_workloads::{Basis, io::Content};

use super::evidence::{CountedTrial, MovedShare, compression, counted_trials, in_trials};
use super::{Case, MOVED, Rule, RuleCheck, RuleRemark};

/// Share of the claim below which compression explains part of the speed.
const LEAST_SHARE: f64 = 0.9;

pub static RULE: Rule = Rule {
    about: About {
        name: "compressed",
        summary: "compression reduced the bytes that the device moved",
        text: "If the filesystem or device compresses the content, or the device moved less than 90% of the bytes, the \
               number describes this content and not the drive: it is suspect. If the content is incompressible or the \
               study states its compressibility, Assay only adds a note. Metadata can explain up to 10%.",
    },
    looks_at: Basis::Bytes,
    changes: MOVED,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let compression = compression(case)?;
    if case.trials.is_empty() {
        return None;
    }
    let content = case.io().map(|io| io.compressibility);
    if content == Some(Content::Zero) {
        return Some(RuleRemark::suspect(format!("{compression} is on and the content is zeros")));
    }
    let moved_less = share_if_moved_less(&counted_trials(case));
    // With a stated compressibility, compression is the question, and the savings are the answer.
    if let Some(content @ Content::Partly(_)) = content {
        let moved = match moved_less {
            Some(share) => format!("only {} of the bytes", show::percent(share.percent())),
            None => "all of the requested bytes".to_owned(),
        };
        return Some(RuleRemark::note(format!(
            "{compression} is on and the device moved {moved}; the study states that {content} of the content \
             compresses"
        )));
    }
    Some(match moved_less {
        Some(share) => RuleRemark::suspect(format!(
            "{compression} is on and the device moved only {} of the bytes{}",
            show::percent(share.percent()),
            in_trials(share.trials, case)
        )),
        None => RuleRemark::note(format!("{compression} is on; the content is random")),
    })
}

/// The direction in which the device moved less; writes include data that arrived after the run.
fn share_if_moved_less(trials: &[CountedTrial]) -> Option<MovedShare> {
    let reads = trials.iter().map(|t| (t.device.run.read_bytes, t.claims.read.bytes));
    let writes = trials.iter().map(|t| {
        let written = t.device.run.write_bytes + t.device.settle.write_bytes;
        (written, t.claims.write.bytes)
    });
    MovedShare::below(LEAST_SHARE, reads).or_else(|| MovedShare::below(LEAST_SHARE, writes))
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_study::findings::Trust;

    use super::super::testing::{Bench, MOVED, device};
    use super::*;

    fn zstd(bench: Bench) -> Bench {
        bench.site(|site| site.compression = Presence::Present("zstd".to_owned()))
    }

    #[test]
    fn speaks_of_content_that_compresses() {
        let bench = zstd(Bench::write()).io(|io| io.compressibility = Content::Zero);
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(remark.text, "compression (zstd) is on and the content is zeros");
    }

    #[test]
    fn speaks_when_the_device_moved_less() {
        let write =
            zstd(Bench::write()).first(2, |trial| device(trial).run.write_bytes = MOVED * 3 / 100);
        assert_eq!(
            write.judge(&RULE).unwrap().text,
            "compression (zstd) is on and the device moved only 3% of the bytes, in 2 of 3 trials"
        );
        let read = zstd(Bench::read()).each(|trial| device(trial).run.read_bytes = MOVED / 2);
        assert_eq!(read.judge(&RULE).unwrap().trust, Trust::Suspect);
    }

    #[test]
    fn what_a_stated_content_saves_is_told_and_no_fault() {
        let half = |share: u64| {
            zstd(Bench::write())
                .io(|io| io.compressibility = "50%".parse().unwrap())
                .each(move |trial| device(trial).run.write_bytes = MOVED * share / 100)
                .judge(&RULE)
                .unwrap()
        };
        let remark = half(55);
        assert_eq!(remark.trust, Trust::Trusted);
        assert_eq!(
            remark.text,
            "compression (zstd) is on and the device moved only 55% of the bytes; the study states that 50% of the \
             content compresses"
        );
        assert!(half(100).text.contains("all of the requested bytes"));
    }

    #[test]
    fn a_note_where_nothing_was_saved() {
        let remark = zstd(Bench::write()).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Trusted);
        assert_eq!(remark.text, "compression (zstd) is on; the content is random");
    }

    #[test]
    fn the_extents_tell_it_as_well() {
        let bench = Bench::write().survey(|survey| {
            survey.coverage = survey.coverage.clone().map(|mut coverage| {
                coverage.encoded_bytes = 4096;
                coverage
            });
        });
        assert!(bench.judge(&RULE).unwrap().text.contains("per the file's extents"));
    }

    #[test]
    fn silent_without_compression() {
        let zeros = Bench::write().io(|io| io.compressibility = Content::Zero);
        assert_eq!(zeros.judge(&RULE), None);
    }
}
