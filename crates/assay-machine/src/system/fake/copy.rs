//! A copy of the machine, on which a walk tries deaths while the original continues.

use std::io;
use std::sync::{Arc, Mutex};

use assay_sys::memory_copy;

use super::Fake;

impl Fake {
    pub fn copy(&self) -> io::Result<Self> {
        let mut state = self.lock().clone();
        for content in state.contents.values_mut() {
            *content = Arc::new(memory_copy(content)?);
        }
        Ok(Self { state: Mutex::new(state) })
    }
}
