//! Stored evidence of a study: plan, records, bundle; conclusions: [`findings`](crate::findings).

mod buckets;
pub mod bundle;
pub mod cache;
pub mod course;
pub mod cut;
pub mod design;
pub mod environment;
pub mod fleet;
pub mod foreign;
pub mod headline;
pub mod histogram;
pub mod id;
pub mod imported;
pub mod log;
pub mod plan;
pub mod record;
pub mod requests;
pub mod series;
pub mod surroundings;
pub mod tally;
pub mod trials;
pub mod vouch;

pub use design::Design;
pub use environment::Environment;
pub use plan::{Plan, Survey};
pub use record::{Evidence, Trial};
