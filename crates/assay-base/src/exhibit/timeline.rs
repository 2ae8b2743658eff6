//! What is drawn of trials over their seconds, as a kind of work says it. Whoever draws it chooses which
//! trials, and adds the names of their settings.

/// Lines over the seconds of trials that go through phases: a line for each setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    pub along: &'static str,
    pub reading: &'static str,
    /// The figures, in the order of reading.
    pub figures: &'static [TimelineFigure],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineFigure {
    /// What it is called among the others.
    pub name: &'static str,
    pub title: &'static str,
    pub values: &'static str,
    pub metric: &'static str,
    pub amount: DrawnAmount,
    /// The phases that it shows, in the order in which trials go through them.
    pub phases: &'static [TimelinePhase],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawnAmount {
    /// Nanoseconds of its operations in the mean: by factors.
    MeanLatency,
    /// Bits that were moved in it: from zero on.
    Bits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelinePhase {
    /// Its name, by which the seconds of a trial are marked.
    pub name: &'static str,
    /// Whole seconds at its beginning that are not counted.
    pub ramp_s: u64,
}
