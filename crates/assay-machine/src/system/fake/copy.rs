//! The machine once more: what a walk over deaths tries things on, and goes on with its own.

use std::io;
use std::sync::{Arc, Mutex};

use assay_sys::memory_copy;

use super::Fake;

impl Fake {
    /// An independent copy of this machine as it stands.
    pub fn copy(&self) -> io::Result<Self> {
        let mut state = self.lock().clone();
        for content in state.contents.values_mut() {
            *content = Arc::new(memory_copy(content)?);
        }
        Ok(Self { state: Mutex::new(state) })
    }
}
