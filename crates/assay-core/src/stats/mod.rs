//! Statistics: pure functions, no I/O, no clock, no global random numbers. docs/explanation/method.md defines the rules
//! R1 to R16; every public function names its source and is tested against vectors in `tests/reference`.
//!
//! `assay-analysis` interprets the results (units, directions, sentences).
//!
//! Main types: [`Sample`], [`PairedRatio`], [`Welch`], [`Verdict`].

pub mod bucket;
pub mod drift;
pub mod effects;
pub mod equivalence;
pub mod exact;
pub mod interval;
pub mod multiple;
pub mod order_statistics;
pub mod outlier;
pub mod power;
pub mod race;
pub mod ratio;
pub mod sample;
pub mod session;
pub mod steady_state;
pub mod stopping;
pub mod verdict;
pub mod welch;

#[cfg(test)]
mod tests;

pub use drift::{FTest, Slope, by_group, carry_over, carry_through, slope};
pub use effects::{FittedEffects, fit_effects};
pub use exact::{binomial_at_least, binomial_interval, fisher_exact, sign_flip};
pub use interval::{GeometricMean, PairedRatio, geometric_mean, paired_ratio};
pub use multiple::{bonferroni, holm};
pub use order_statistics::{median, observations_needed, percentile_is_supported};
pub use outlier::{MODIFIED_Z_LIMIT, leave_one_out, modified_z};
pub use power::{
    replicates_for, replicates_to_resolve, smallest_detectable_shift, t_test_power, upper_sd_factor,
};
pub use race::{moderated_variance, normal_mixture_half_width};
pub use ratio::{RatioOfSums, batch_sums, ratio_of_sums};
pub use sample::{FEWEST_FOR_INTERVAL, Sample, log_ratios, t_quantile};
pub use session::{BetweenSessions, between_sessions, normal_quantile};
pub use steady_state::{
    ChangePoint, SNIA_ROUNDS, SniaWindow, change_criterion, correlated_change_interval,
    correlated_change_point, correlated_changes,
};
pub use stopping::{MIXTURE_G, confidence_sequence_half_width, look_alpha};
pub use verdict::{Judgement, StatVerdict, judge};
pub use welch::{Welch, welch};
