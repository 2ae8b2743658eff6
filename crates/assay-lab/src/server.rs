//! A server that runs for a test, and what it costs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader};
use std::time::Duration;

use crate::browser::{Answer, Browser};
use crate::certain;
use crate::home::Home;
use crate::process::Running;

/// No server takes longer to end.
const LIMIT: Duration = Duration::from_secs(60);

/// A running server.
pub struct Server {
    running: Running,
    /// Who asks it.
    pub browser: Browser,
    /// What it printed: its address.
    pub address: String,
}

impl Server {
    /// Starts one for the results of a home.
    pub fn start(home: &Home, listen: &str) -> Self {
        let mut command = home.assay.command(&["serve", "--listen", listen]);
        let (running, output) = Running::start_reading(&mut command).unwrap();
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).unwrap();
        let address = line.trim().to_owned();
        let port = address.rsplit(':').next().unwrap().split('/').next().unwrap();
        Self { running, browser: Browser::new(port.parse().unwrap()), address }
    }

    /// Gets a path. Whatever it answers is no more certain than it can be.
    pub fn get(&self, path: &str) -> Answer {
        let answer = self.browser.get(path);
        let told = certain::all_of(&answer.body);
        assert!(told.is_ok(), "{path}: {told:?}");
        answer
    }

    /// The most memory that it had so far, bytes.
    pub fn most_memory(&self) -> u64 {
        self.running.most_memory().unwrap()
    }

    /// Ends it.
    pub fn stop(self) {
        self.running.signal("INT").unwrap();
        assert_eq!(self.running.end(LIMIT).unwrap().code, 0);
    }
}
