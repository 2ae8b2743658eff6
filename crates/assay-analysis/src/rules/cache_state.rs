//! `cache-state`: memory served some runs of a command, but not others.

use assay_core::{catalogue::About, quantity::units::show};
use assay_study::results::record::Trial;
use assay_workloads::{command, files};

use super::{Case, MOVED, Rule, RuleCheck, RuleRemark, evidence::in_trials};

/// Fewest bytes from storage for a remark.
const LEAST_BYTES: u64 = 1 << 20;
/// Runs differ if one reads this many times the bytes of another.
const FACTOR: u64 = 2;
/// Bytes of files that may remain in the page cache after emptying it: those of running programs.
const LEFT_BYTES: u64 = 128 << 20;
/// Divisor: this fraction of the cache may remain.
const LEFT_SHARE: u64 = 4;

pub static RULE: Rule = Rule {
    about: About {
        name: "cache-state",
        summary: "the page cache served some runs of a command, and storage served the other runs",
        text: "The number is suspect. The kernel counts the bytes that each run of a command reads from storage. If \
               one run reads at least 1 MiB and twice as much as another, the page cache state differed, and the mean \
               mixes cached and uncached runs. With cold = true, Assay empties the page cache before each run. If more \
               than 128 MiB and more than a quarter of the earlier amount remains cached, the runs were not cold.",
    },
    changes: MOVED,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let details: Vec<_> = case.trials.iter().copied().filter_map(detail).collect();
    cache_not_emptied(case).or_else(|| reads_differ(&details)).map(RuleRemark::suspect)
}

fn detail(trial: &Trial) -> Option<&command::CommandDetail> {
    command::CommandDetail::of(trial.measured.as_ref()?)
}

/// Page cache size in bytes before and after emptying it for a trial.
fn emptied_bytes(trial: &Trial) -> Option<[u64; 2]> {
    let files = || files::FilesDetail::of(trial.measured.as_ref()?)?.emptied_bytes;
    detail(trial).and_then(|own| own.emptied_bytes).or_else(files)
}

fn cache_not_emptied(case: &Case<'_>) -> Option<String> {
    let is_too_much = |[before, left]: &[u64; 2]| *left > LEFT_BYTES && *left > before / LEFT_SHARE;
    let left: Vec<[u64; 2]> =
        case.trials.iter().copied().filter_map(emptied_bytes).filter(is_too_much).collect();
    let [before, after] = left.iter().copied().max_by_key(|[_, left]| *left)?;
    Some(format!(
        "the page cache still contained {} of {} after Assay dropped the cache{}: runs were not cold",
        show::bytes(after),
        show::bytes(before),
        in_trials(left.len(), case)
    ))
}

fn reads_differ(details: &[&command::CommandDetail]) -> Option<String> {
    let spans = || details.iter().filter_map(|detail| detail.read_span_bytes);
    let least = spans().map(|[least, _]| least).min()?;
    let most = spans().map(|[_, most]| most).max()?;
    (most >= LEAST_BYTES && most / FACTOR >= least).then(|| {
        format!(
            "runs read {} to {} from storage: the page cache served some runs",
            show::bytes(least),
            show::bytes(most)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;

    const MIB: u64 = 1 << 20;

    fn reading(spans: [[u64; 2]; 3]) -> Bench {
        let mut bench = Bench::command();
        for (trial, span) in bench.trials.iter_mut().zip(spans) {
            change(trial, |detail| detail.read_span_bytes = Some(span));
        }
        bench
    }

    fn emptied(before: u64, left: u64) -> Bench {
        Bench::command().first(1, move |trial| {
            change(trial, |detail| detail.emptied_bytes = Some([before, left]));
        })
    }

    fn change(trial: &mut Trial, how: impl Fn(&mut command::CommandDetail)) {
        how(command::CommandDetail::of_mut(trial.measured.as_mut().unwrap()).unwrap());
    }

    #[test]
    fn runs_that_read_different_amounts_are_suspect() {
        let said = reading([[0, 0], [0, 40 * MIB], [0, 0]]).judge(&RULE).unwrap();
        assert_eq!(
            said.text,
            "runs read 0 B to 40 MiB from storage: the page cache served some runs"
        );
        for spans in [[[0, 0]; 3], [[0, MIB - 1]; 3], [[40 * MIB, 60 * MIB]; 3]] {
            assert_eq!(reading(spans).judge(&RULE), None, "{spans:?}");
        }
        assert_eq!(Bench::command().judge(&RULE), None);
    }

    #[test]
    fn a_cache_that_was_not_emptied_is_told() {
        let said = emptied(1000 * MIB, 500 * MIB).judge(&RULE).unwrap();
        assert_eq!(
            said.text,
            "the page cache still contained 500 MiB of 1000 MiB after Assay dropped the cache, in 1 of 3 trials: runs \
             were not cold"
        );
        assert_eq!(emptied(1000 * MIB, 200 * MIB).judge(&RULE), None);
        assert_eq!(emptied(100 * MIB, 90 * MIB).judge(&RULE), None);
    }

    #[test]
    fn silent_on_other_work() {
        assert_eq!(Bench::read().judge(&RULE), None);
    }
}
