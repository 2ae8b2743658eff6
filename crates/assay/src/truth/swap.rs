//! `swap`: memory went to swap and back meanwhile.

use super::evidence::in_trials;
use super::{Case, Remark, TruthRule};
use crate::catalogue::About;
use crate::quantity::units::show;
use crate::results::record::TrialRecord;

/// Pages in and out that are no more than another program's stirring: a quarter of a MiB, mostly.
const FEW_PAGES: u64 = 64;

/// The rule.
pub struct Swap;

static ABOUT: About = About {
    name: "swap",
    summary: "memory went to swap, or came back, during the trial",
    text: "The kernel counts the pages that go to swap and come back. More than 64 in a trial, of \
           whatever program, mark it disturbed: the machine was short of memory, and swap on the \
           same drive is traffic of its own.",
};

impl TruthRule for Swap {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn judge(&self, case: &Case<'_>) -> Option<Remark> {
        let hit: Vec<(u64, u64)> = case.trials.iter().filter_map(|trial| pages(trial)).collect();
        let sum = hit.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (!hit.is_empty())
            .then(|| Remark::suspect(format!("{}{}", words(sum), in_trials(hit.len(), case))))
    }

    fn disturbance(&self, _case: &Case<'_>, trial: &TrialRecord) -> Option<String> {
        pages(trial).map(words)
    }
}

/// Pages out and in, where they are too many.
fn pages(trial: &TrialRecord) -> Option<(u64, u64)> {
    let memory = trial.evidence.watched.memory.value()?;
    let (out, back) = (memory.swapped_out_pages, memory.swapped_in_pages);
    (out.saturating_add(back) > FEW_PAGES).then_some((out, back))
}

fn words((out, back): (u64, u64)) -> String {
    format!("{} pages went to swap and {} came back", show::count(out), show::count(back))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;
    use crate::results::findings::Trust;
    use crate::results::watched::Memory;
    use crate::seen::Seen;

    fn swapped(out: u64, back: u64) -> Bench {
        Bench::read().first(2, move |trial| {
            let memory =
                Memory { swapped_out_pages: out, swapped_in_pages: back, ..Memory::default() };
            trial.evidence.watched.memory = Seen::Present(memory);
        })
    }

    #[test]
    fn speaks_of_more_than_a_few_pages() {
        let bench = swapped(4_000, 70);
        let remark = bench.judge(&Swap).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        let said = "8,000 pages went to swap and 140 came back, in 2 of 3 trials";
        assert_eq!(remark.text, said);
        let told = bench.disturbances(&Swap);
        assert_eq!(told[0].as_deref(), Some("4,000 pages went to swap and 70 came back"));
        assert_eq!(told[2], None);
    }

    #[test]
    fn silent_on_few_pages_and_where_nothing_is_told() {
        assert_eq!(swapped(30, 34).judge(&Swap), None);
        assert_eq!(Bench::read().judge(&Swap), None);
    }
}
