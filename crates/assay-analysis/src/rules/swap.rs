//! `swap`: pages went to swap and back during the trial.

use assay_core::{catalogue::About, quantity::units::show};
use assay_study::results::record::Trial;

use super::evidence::{MIB, in_trials, seconds};
use super::{ALL, Case, Rule, RuleCheck, RuleRemark};

/// The most common page size, if the bundle has none.
const PAGE_BYTES: u64 = 4096;
/// Share of the trial's own bytes that swap may reach.
const MOST_SHARE: f64 = 0.01;

pub static RULE: Rule = Rule {
    about: About {
        name: "swap",
        summary: "the machine swapped during the trial",
        text: "The kernel counts the pages swapped in and out. Assay marks a trial as disturbed if the swap traffic of \
               all programs exceeds both 1 MiB/s and 1% of the trial's own traffic: the machine was short of memory, \
               and swapping to the same drive adds traffic. The limits are the same as for rule foreign-io.",
    },
    changes: ALL,
    minds_others: true,
    check: RuleCheck::Custom(judge),
    disturbance: Some(|case, trial| excess_pages(case, trial).map(|(out, back)| words(out, back))),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let (mut swapped_out, mut swapped_in, mut count) = (0_u64, 0_u64, 0);
    for (trial_out, trial_in) in case.trials.iter().filter_map(|trial| excess_pages(case, trial)) {
        swapped_out = swapped_out.saturating_add(trial_out);
        swapped_in = swapped_in.saturating_add(trial_in);
        count += 1;
    }
    let text = format!("{}{}", words(swapped_out, swapped_in), in_trials(count, case));
    (count > 0).then(|| RuleRemark::suspect(text))
}

/// Pages swapped out and in, if there are too many and the workload does not need the memory.
fn excess_pages(case: &Case<'_>, trial: &Trial) -> Option<(u64, u64)> {
    if case.workload.work.wants_memory() {
        return None;
    }
    let memory = trial.evidence.memory.value()?.machine.value()?;
    let (swapped_out, swapped_in) = (memory.swapped_out_pages, memory.swapped_in_pages);
    let page_bytes = memory.page_bytes.unwrap_or(PAGE_BYTES);
    let moved = swapped_out.saturating_add(swapped_in).saturating_mul(page_bytes) as f64;
    (moved > allowed_bytes(trial)?).then_some((swapped_out, swapped_in))
}

/// Allowed swap traffic of other programs: 1 MiB/s, or a share of the trial's bytes.
fn allowed_bytes(trial: &Trial) -> Option<f64> {
    let measured = trial.measured.as_ref()?;
    // The swap count ends when all data is on the device, after the run.
    let pressure = trial.evidence.pressure.value().and_then(|pressure| pressure.machine.value());
    let span_ns = measured.elapsed_ns.max(pressure.map_or(0, |machine| machine.span_ns));
    Some((MIB as f64 * seconds(span_ns)).max(MOST_SHARE * trial.claims().bytes() as f64))
}

fn words(out: u64, back: u64) -> String {
    format!("{} pages swapped out and {} swapped in", show::count(out), show::count(back))
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_machine::probes::memory::Memory;
    use assay_study::findings::Trust;

    use super::super::testing::Bench;
    use super::*;

    fn swapped(out: u64, back: u64) -> Bench {
        Bench::read().first(2, move |trial| {
            let memory =
                Memory { swapped_out_pages: out, swapped_in_pages: back, ..Memory::default() };
            trial.evidence.memory = Presence::Present(memory.into());
        })
    }

    #[test]
    fn speaks_of_more_than_others_may_stir() {
        let bench = swapped(4_000, 70);
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        let said = "8,000 pages swapped out and 140 swapped in, in 2 of 3 trials";
        assert_eq!(remark.text, said);
        let told = bench.disturbances(&RULE);
        assert_eq!(told[0].as_deref(), Some("4,000 pages swapped out and 70 swapped in"));
        assert_eq!(told[2], None);
    }

    #[test]
    fn pages_have_the_size_of_the_machine_and_sums_an_end() {
        let large = swapped(20, 20).each(|trial| {
            let memory = trial.evidence.memory.value().and_then(|told| told.machine.value());
            let large =
                memory.map(|memory| Memory { page_bytes: Some(64 << 10), ..memory.clone() });
            trial.evidence.memory = Presence::from_option(large.map(Into::into), "not told");
        });
        assert!(large.judge(&RULE).is_some());
        assert!(swapped(u64::MAX, u64::MAX).judge(&RULE).is_some());
    }

    #[test]
    fn silent_on_few_pages_and_where_nothing_is_told() {
        assert_eq!(swapped(30, 34).judge(&RULE), None);
        // 1 MiB in the bench's one-second trials.
        assert_eq!(swapped(200, 56).judge(&RULE), None);
        assert!(swapped(200, 57).judge(&RULE).is_some());
        let longer = swapped(2_000, 500).each(|trial| {
            trial.measured.as_mut().unwrap().elapsed_ns = 10_000_000_000;
        });
        assert_eq!(longer.judge(&RULE), None);
        assert_eq!(Bench::read().judge(&RULE), None);
    }
}
