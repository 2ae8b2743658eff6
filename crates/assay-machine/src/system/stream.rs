//! An open file as a stream, read through the system.

use std::fs::File;
use std::io::{self, Read};

use super::System;

/// Reads from the first byte on, independent of the file's position.
pub struct Stream<'s> {
    system: &'s dyn System,
    file: File,
    at: u64,
}

impl<'s> Stream<'s> {
    pub fn new(system: &'s dyn System, file: File) -> Self {
        Self { system, file, at: 0 }
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.system.read_at(&self.file, self.at, into)?;
        self.at += count as u64;
        Ok(count)
    }
}
