//! `trimmed-area`: reads found blocks that earlier trims or zeroing had removed.

use assay_core::{catalogue::About, quantity::units::show};
use assay_study::results::record::Trial;
use assay_workloads::Basis;
use assay_workloads::io::{Apart, Class};

use super::evidence::{MovedShare, counted_trials, in_trials, is_simulated, mover};
use super::{Case, MOVED, Rule, RuleCheck, RuleRemark};

/// Share of the read bytes that the device must have delivered.
const LEAST_SHARE: f64 = 0.9;

pub static RULE: Rule = Rule {
    about: About {
        name: "trimmed-area",
        summary: "the workload's own trims or write-zeroes removed the data that later operations accessed",
        text: "Assay rewrites the area before each trial that trims or zeroes. A trial without writes can trim more \
               bytes than the area (or its most accessed part) contains. Later trims then hit trimmed blocks and cost \
               less. Reads of trimmed blocks do not reach the device; the rule triggers if the device delivers less \
               than 90% of the bytes read. In both cases the number is suspect. Use a larger area or fewer operations.",
    },
    looks_at: Basis::Bytes,
    changes: MOVED,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    if !clears(case) || is_simulated(case) {
        return None;
    }
    trimmed_repeatedly(case).or_else(|| trimmed_blocks_read(case))
}

pub(super) fn clears(case: &Case<'_>) -> bool {
    case.io().is_some_and(|io| io.mix.clears())
}

/// Trims that covered their whole range, or its hottest part, more than once.
fn trimmed_repeatedly(case: &Case<'_>) -> Option<RuleRemark> {
    let area = case.survey.area.measured(case.workload.background.is_some()).length;
    let io = case.io().filter(|io| io.mix.percent(Class::Write) == 0 && area > 0)?;
    // Without writes, trims stay in their half.
    let parts: u64 = if io.rw_split == Apart::Halves { 2 } else { 1 };
    let blocks = area / parts / io.block_size.smallest().0.max(1);
    let share = io.distribution.densest(blocks) / parts as f64;
    let rounds = |trial: &&Trial| {
        let claims = trial.measured.as_ref()?.claims;
        let emptied_bytes = claims.trim.bytes.saturating_add(claims.zero.bytes) as f64;
        // So many bytes of trims cover the most accessed part once.
        let covered_bytes = area as f64 * share;
        (emptied_bytes > covered_bytes).then_some(emptied_bytes / covered_bytes)
    };
    let rounds_above_one: Vec<f64> = case.trials.iter().filter_map(rounds).collect();
    let most = rounds_above_one.iter().copied().reduce(f64::max)?;
    let place = if share < 1.0 { "the most accessed part contains" } else { "the area contains" };
    Some(RuleRemark::suspect(format!(
        "trims and write-zeroes covered up to {} times the bytes that {place}{}: later trims hit trimmed blocks",
        show::times(most),
        in_trials(rounds_above_one.len(), case)
    )))
}

/// A remark if the device delivered fewer bytes than were read: trimmed and zeroed blocks need no device.
fn trimmed_blocks_read(case: &Case<'_>) -> Option<RuleRemark> {
    let trials = counted_trials(case);
    let reads = trials.iter().map(|t| (t.device.run.read_bytes, t.claims.read.bytes));
    let short = MovedShare::below(LEAST_SHARE, reads)?;
    Some(RuleRemark::suspect(format!(
        "{} delivered {} of the bytes read{}: reads of trimmed or zeroed blocks do not reach the drive",
        mover(&trials),
        show::percent(short.percent()),
        in_trials(short.trials, case)
    )))
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Trust;
    use assay_workloads::Count;

    use super::super::testing::{Bench, MOVED, device, measured};
    use super::super::{cached, device_bytes};
    use super::*;

    fn of(mix: &str) -> Bench {
        let mix = mix.parse().unwrap();
        Bench::read().io(|io| io.mix = mix)
    }

    /// The area has 1 GiB.
    fn taken(mix: &str, bytes: u64) -> Bench {
        of(mix).first(2, move |trial| {
            measured(trial).claims.trim = Count { operations: bytes / 4096, bytes };
        })
    }

    #[test]
    fn speaks_of_trims_that_found_nothing() {
        let remark = taken("read/50:trim/50", 3 << 30).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(
            remark.text,
            "trims and write-zeroes covered up to 3 times the bytes that the area contains, in 2 of 3 trials: later \
             trims hit trimmed blocks"
        );
    }

    #[test]
    fn speaks_of_reads_of_what_is_gone_and_leaves_it_to_no_other_rule() {
        let read = |mix: &str| of(mix).each(|trial| device(trial).run.read_bytes = MOVED / 4);
        let remark = read("read/50:trim/50").judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert!(
            remark.text.starts_with("the device delivered 25% of the bytes read:"),
            "{}",
            remark.text
        );
        for rule in [&cached::RULE, &device_bytes::RULE] {
            assert_eq!(read("read/50:trim/50").judge(rule), None);
        }
        assert!(read("read").judge(&cached::RULE).is_some());
    }

    /// The half for writes, or a hot spot, is empty sooner than the area.
    #[test]
    fn speaks_of_the_part_that_trims_go_to_most() {
        let trims = |apart, access: &str| {
            let access = access.parse().unwrap();
            let own = taken("read/50:trim/50", 900 << 20);
            own.io(|io| (io.rw_split, io.distribution) = (apart, access)).judge(&RULE)
        };
        assert_eq!(trims(Apart::None, "uniform"), None);
        for (apart, access, told) in [
            (Apart::Halves, "uniform", "up to 1.76 times the bytes that the most"),
            (Apart::None, "zoned:80/20:20/80", "up to 3.52 times the bytes that the most"),
            (Apart::None, "zipf:1.2", "the most accessed part contains, in 2 of 3"),
        ] {
            let remark = trims(apart, access).unwrap();
            assert!(remark.text.contains(told), "{}", remark.text);
        }
    }

    #[test]
    fn silent_where_the_area_has_room_or_is_written_again_or_nothing_is_taken_away() {
        assert_eq!(taken("read/50:trim/50", 1 << 30).judge(&RULE), None);
        assert_eq!(taken("write/80:trim/20", 3 << 30).judge(&RULE), None);
        assert_eq!(taken("read", 3 << 30).judge(&RULE), None);
        assert_eq!(of("read/50:zero/50").judge(&RULE), None);
    }
}
