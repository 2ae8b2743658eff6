//! Pages that are served, while a study runs.

use super::driver::Browser;
use super::pages::Bench;

/// All tests of the served pages.
pub async fn all(_: &Browser, _: &Bench) -> bool {
    true
}
