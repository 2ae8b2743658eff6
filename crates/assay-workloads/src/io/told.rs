//! Collects the complaints of a study, for tests of constraints.

use crate::workload::Complaints;

#[derive(Default)]
pub(super) struct Told(pub(super) Vec<(String, String)>);

impl Complaints for Told {
    fn value(&mut self, path: &str, message: String, _: Option<String>) {
        self.0.push((path.to_owned(), message));
    }

    fn key(&mut self, path: &str, message: String, hint: Option<String>) {
        self.value(path, message, hint);
    }

    fn is_wrong(&self, path: &str) -> bool {
        self.0.iter().any(|(own, _)| own == path)
    }
}
