//! What a kind of work tells of its own, beside its metrics: facts that findings keep, and how they are
//! shown. A kind that does has a type for its facts, which its line in `kinds!` names.

use assay_base::exhibit::{Exhibit, Subject};
use assay_base::presence::Presence;

use super::{Facts, Measured};

/// Work of a kind that tells something of its own.
pub trait Tells {
    /// What the trials of a row say; none where they say nothing.
    fn facts(&self, seen: &Seen<'_>) -> Option<Facts>;

    /// A metric of its own that what the rules of trust say may change; none of all others.
    fn as_judged(
        &self,
        metric: &str,
        measured: &Measured,
        spoken: &[Spoken<'_>],
    ) -> Option<Result<f64, String>>;
}

/// A row of a study, as far as a kind of work hears of it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The row.
    pub subject: &'a Subject,
    /// What each of its trials that count measured, in the order of the plan.
    pub trials: &'a [Option<&'a Measured>],
    /// What the rules of trust say of the row.
    pub spoken: &'a [Spoken<'a>],
    /// Of each of them: the part that came nearest to the temperature from which on it slows down, where
    /// anybody looked.
    pub near_limits: &'a [Option<Presence<NearLimit>>],
}

/// What a rule of trust says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spoken<'a> {
    /// The rule.
    pub rule: &'a str,
    /// Whether by it the numbers are not what they say they are.
    pub invalid: bool,
    /// Its words.
    pub text: &'a str,
}

/// A part of the machine and the temperature from which on it slows down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearLimit {
    /// The part.
    pub name: String,
    /// The most that it had, thousandths of a degree Celsius.
    pub most_mc: i64,
    /// From where on it slows down.
    pub limit_mc: i64,
}

/// Facts of one row, as they are shown.
pub trait Shows {
    /// The row.
    fn subject(&self) -> Subject;

    /// What is shown of it.
    fn exhibit(&self) -> Exhibit;

    /// Takes the numbers of the row by their metrics, so that there is one wherever it is told.
    fn settle(&mut self, number: &dyn Fn(&str) -> Option<f64>);

    /// What of it rests on the numbers of the row.
    fn resting(&mut self) -> Resting<'_>;
}

/// A sentence that rests on numbers: what speaks against them is said behind it.
#[derive(Debug)]
pub struct Resting<'a> {
    /// The sentence.
    pub text: &'a mut String,
    /// What stands in its place where they are invalid; none where it is said all the same.
    pub unsaid: Option<&'static str>,
}
