//! The number of replicates that inconclusive comparisons need.

use assay_core::quantity::units::show;

use super::notes::Note;
use super::{Comparison, Verdict};

/// Replicates in all, of one comparison or of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needed {
    least: u32,
    most: u32,
    /// The difference that they would resolve, as a share.
    margin: f64,
}

impl Comparison {
    /// Returns whether the comparison is inconclusive and the order of its trials allows a verdict.
    pub fn is_open(&self) -> bool {
        self.primary
            && self.verdict == Some(Verdict::Inconclusive)
            && !self.withheld
            && !self.note_facts.iter().any(|note| matches!(note, Note::NoOrder { .. }))
    }
}

impl Needed {
    /// Range of all counts; `None` if there are none.
    pub fn from_counts(counts: impl IntoIterator<Item = u32>, margin: f64) -> Option<Self> {
        let counts: Vec<u32> = counts.into_iter().collect();
        let (least, most) = (*counts.iter().min()?, *counts.iter().max()?);
        Some(Self { least, most, margin })
    }

    /// Replicates for undecided comparisons; `None` if the order prevents verdicts.
    pub fn of_comparisons<'a>(all: impl IntoIterator<Item = &'a Comparison>) -> Option<Self> {
        let mut margin = 0.0;
        let mut counts = Vec::new();
        for comparison in all.into_iter().filter(|comparison| comparison.is_open()) {
            if let Some(count) = comparison.replicates_needed {
                // All comparisons of a study have one margin.
                margin = comparison.margin.unwrap_or(margin);
                counts.push(count);
            }
        }
        Self::from_counts(counts, margin)
    }

    /// `about 14 to 20 replicates would detect 5%`.
    pub fn words(self) -> String {
        format!(
            "{} replicates would detect {}",
            show::about_between(u64::from(self.least), u64::from(self.most)),
            show::share(self.margin)
        )
    }

    /// Number of replicates that decides all comparisons; `None` above the largest number that reports print.
    pub fn for_all(self) -> Option<u32> {
        (u64::from(self.most) <= show::MANY).then_some(self.most)
    }
}

#[cfg(test)]
mod tests {
    use assay_core::quantity::Better;

    use super::super::Kind;
    use super::*;
    use crate::results::design::Order;
    use crate::results::plan::Arm;

    #[test]
    fn one_number_is_told_and_typed_and_none_that_is_out_of_reach() {
        let needed = |counts: &[u32]| Needed::from_counts(counts.iter().copied(), 0.05);
        let near = needed(&[20, 14, 16]).unwrap();
        let told = "about 14 to 20 replicates would detect 5%";
        assert_eq!((near.words().as_str(), near.for_all()), (told, Some(20)));
        let far = needed(&[110, 4000]).unwrap();
        assert!(far.words().starts_with("about 110 to more than 1,000 replicates"));
        assert_eq!((far.for_all(), needed(&[])), (None, None));
    }

    #[test]
    fn where_no_replicate_would_decide_none_is_needed() {
        let arms = [Arm::new(), Arm::new()];
        let mut open = Comparison::bare(Kind::Paired, "work", "iops", Better::Higher, arms);
        (open.primary, open.verdict) = (true, Some(Verdict::Inconclusive));
        (open.margin, open.replicates_needed) = (Some(0.05), Some(20));
        assert_eq!(Needed::of_comparisons([&open]), Needed::from_counts([20], 0.05));
        let changes: [fn(&mut Comparison); 4] = [
            |one| one.note_facts.push(Note::NoOrder { order: Order::Sequential }),
            |one| one.withheld = true,
            |one| one.primary = false,
            |one| one.verdict = Some(Verdict::Better),
        ];
        for change in changes {
            let mut other = open.clone();
            change(&mut other);
            assert_eq!(Needed::of_comparisons([&other]), None);
        }
    }
}
