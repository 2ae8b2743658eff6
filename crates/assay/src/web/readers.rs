//! Threads that read bundles, because files make their reader wait: one for what is quickly told,
//! one for whole results. So the making of a large page keeps nobody from the list, and never are
//! two large results in memory at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Sender};
use std::thread::Scope;
use std::time::Duration;

use tokio::sync::oneshot;

use assay_base::failure::{Failure, Outcome};
use assay_system::system::System;

/// How long an answer may take.
const LONGEST: Duration = Duration::from_secs(60);

type Work = Box<dyn FnOnce(&dyn System) + Send>;

/// Asks the threads; few, because a study may be measuring beside them. They end when the last copy
/// is dropped.
#[derive(Clone, Debug)]
pub(super) struct Readers {
    quick: Sender<Work>,
    slow: Sender<Work>,
}

impl Readers {
    /// Starts the threads.
    pub fn start<'scope>(scope: &'scope Scope<'scope, '_>, system: &'scope dyn System) -> Self {
        let thread = || {
            let (work, wanted) = mpsc::channel::<Work>();
            scope.spawn(move || {
                for work in wanted {
                    // Whoever asked hears of a panic by the missing answer.
                    let _ = catch_unwind(AssertUnwindSafe(|| work(system)));
                }
            });
            work
        };
        Self { quick: thread(), slow: thread() }
    }

    /// What a reader quickly makes of it.
    ///
    /// # Errors
    /// Refused where it takes too long or cannot be made.
    pub async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn System) -> T + Send + 'static,
    ) -> Outcome<T> {
        asked(&self.quick, work).await
    }

    /// The same of what takes long: one after the other.
    ///
    /// # Errors
    /// Refused where it takes too long or cannot be made.
    pub async fn ask_at_length<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn System) -> T + Send + 'static,
    ) -> Outcome<T> {
        asked(&self.slow, work).await
    }
}

async fn asked<T: Send + 'static>(
    thread: &Sender<Work>,
    work: impl FnOnce(&dyn System) -> T + Send + 'static,
) -> Outcome<T> {
    let (answer, found) = oneshot::channel();
    let work = move |system: &dyn System| {
        // Whoever asked may have gone away: before it was begun, or meanwhile.
        if !answer.is_closed() {
            let _ = answer.send(work(system));
        }
    };
    let sent = thread.send(Box::new(work));
    sent.map_err(|_| Failure::refused("the server is ending"))?;
    match tokio::time::timeout(LONGEST, found).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(_)) => Err(Failure::refused(
            "this result cannot be shown: it is damaged in a way that is not known here",
        )),
        Err(_) => Err(Failure::refused("reading this takes too long")),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::{Either, select};

    use super::*;
    use assay_system::system::Fake;

    #[test]
    fn a_panic_is_an_answer_and_ends_no_thread() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let fake = Fake::new();
        std::thread::scope(|scope| {
            let readers = Readers::start(scope, &fake);
            runtime.block_on(async move {
                for _ in 0..2 {
                    let found: Outcome<()> = readers.ask(|_| panic!("a test")).await;
                    assert!(found.unwrap_err().message.contains("damaged"));
                    let found: Outcome<()> = readers.ask_at_length(|_| panic!("a test")).await;
                    assert!(found.unwrap_err().message.contains("damaged"));
                }
                assert_eq!(readers.ask(|_| 7).await, Ok(7));
                assert_eq!(readers.ask_at_length(|_| 8).await, Ok(8));
            });
        });
    }

    #[test]
    fn what_takes_long_keeps_nobody_waiting_and_is_not_begun_for_who_has_gone() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let fake = Fake::new();
        let (begun, begins) = mpsc::channel::<&str>();
        let (go, gone) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let readers = Readers::start(scope, &fake);
            runtime.block_on(async move {
                let (first, second) = (begun.clone(), begun);
                let mut long = Box::pin(readers.ask_at_length(move |_| {
                    let _ = first.send("first");
                    gone.recv()
                }));
                let mut left = Box::pin(readers.ask_at_length(move |_| second.send("second")));
                let both = select(&mut long, &mut left);
                // All three are asked for; only the quick one can have ended.
                let quick = match select(both, Box::pin(readers.ask(|_| 7))).await {
                    Either::Right((quick, _)) => quick,
                    Either::Left(_) => panic!("nothing else can have ended"),
                };
                assert_eq!(quick, Ok(7));
                drop(left);
                go.send(()).unwrap();
                assert_eq!(long.await.unwrap(), Ok(()));
                assert_eq!(readers.ask_at_length(|_| 8).await, Ok(8));
            });
        });
        assert_eq!(begins.iter().collect::<Vec<_>>(), ["first"]);
    }
}
