//! Threads that read bundles, because files make their reader wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::failure::{Failure, Outcome};
use crate::system::System;

/// Few, because a study may be measuring beside them.
const THREADS: usize = 2;
/// How long an answer may take.
const LONGEST: Duration = Duration::from_secs(60);

type Work = Box<dyn FnOnce(&dyn System) + Send>;

/// Asks the threads. They end when the last copy is dropped.
#[derive(Clone, Debug)]
pub(super) struct Readers {
    work: Sender<Work>,
}

impl Readers {
    /// Starts the threads.
    pub fn start<'scope>(scope: &'scope Scope<'scope, '_>, system: &'scope dyn System) -> Self {
        let (work, wanted) = mpsc::channel();
        let wanted = Arc::new(Mutex::new(wanted));
        for _ in 0..THREADS {
            let wanted = Arc::clone(&wanted);
            scope.spawn(move || {
                while let Some(work) = next(&wanted) {
                    // Whoever asked hears of a panic by the missing answer.
                    let _ = catch_unwind(AssertUnwindSafe(|| work(system)));
                }
            });
        }
        Self { work }
    }

    /// What a reader makes of it.
    ///
    /// # Errors
    /// Refused where it takes too long or cannot be made.
    pub async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn System) -> T + Send + 'static,
    ) -> Outcome<T> {
        let (answer, found) = oneshot::channel();
        let work = move |system: &dyn System| {
            // Whoever asked may have gone away.
            let _ = answer.send(work(system));
        };
        let sent = self.work.send(Box::new(work));
        sent.map_err(|_| Failure::refused("the server is ending"))?;
        match tokio::time::timeout(LONGEST, found).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(_)) => Err(Failure::refused(
                "this result cannot be shown: it is damaged in a way that is not known here",
            )),
            Err(_) => Err(Failure::refused("reading this takes too long")),
        }
    }
}

fn next(wanted: &Mutex<Receiver<Work>>) -> Option<Work> {
    wanted.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    #[test]
    fn a_panic_is_an_answer_and_ends_no_thread() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let fake = Fake::new();
        std::thread::scope(|scope| {
            let readers = Readers::start(scope, &fake);
            runtime.block_on(async move {
                for _ in 0..2 * THREADS {
                    let found: Outcome<()> = readers.ask(|_| panic!("a test")).await;
                    assert!(found.unwrap_err().message.contains("damaged"));
                }
                assert_eq!(readers.ask(|_| 7).await, Ok(7));
            });
        });
    }
}
