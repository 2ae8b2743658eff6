//! What a study leaves behind: records of its trials, the findings drawn from them, and the
//! directory that keeps them.

pub mod answers;
pub mod around;
pub mod block;
mod buckets;
pub mod bundle;
pub mod cut;
pub mod design;
pub mod environment;
pub mod findings;
pub mod headline;
pub mod histogram;
pub mod id;
pub mod imported;
pub mod log;
pub mod measurements;
pub mod plan;
pub mod record;
pub mod seal;
pub mod series;
pub mod tally;
pub mod trials;
pub mod vouch;
pub mod watched;

pub use design::Design;
pub use environment::Environment;
pub use findings::Findings;
pub use measurements::Measurements;
pub use plan::{Plan, Survey};
pub use record::{Evidence, Trial, TrialRecord};
