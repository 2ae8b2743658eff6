//! Who is connected, how long each has let others wait, and who gives way.
//!
//! Nothing of this asks for a token: who only connects, says a byte a second or never hears what he
//! asked for takes a place like everybody else. So each place has its time limits, and where all
//! are taken the one that has got nothing done for longest makes room: never the newest.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Instant;

use assay_runner::real::crowd;

/// Connections at one time; each watched page has one.
pub(super) const PLACES: usize = 256;
/// How long a browser may take to say what it wants first.
pub(super) const ASKING: Duration = Duration::from_secs(10);
/// How long it may take for each [`STEP_BYTES`] of an answer.
const HEARING: Duration = Duration::from_secs(10);
/// How long nothing may be said to it; watched pages hear something more often.
const RESTING: Duration = Duration::from_secs(30);
/// Bytes of an answer that count as having heard something, where more waits to be heard.
const STEP_BYTES: usize = 16 << 10;

/// What a connection is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It has not said yet what it wants first.
    Asking,
    /// Its answer is being made.
    Served,
    /// It hears an answer, or has heard it.
    Hearing,
}

/// One connection.
#[derive(Debug)]
struct Line {
    address: IpAddr,
    doing: Doing,
    /// When it got something done last.
    moved: Instant,
    /// Since when it lets an answer wait; none where it has heard all that there is.
    owed: Option<Instant>,
    /// Bytes that it has heard since then.
    heard: usize,
    /// Tells the connection that it has to go.
    end: Arc<Notify>,
    /// Whether it was told so.
    told: bool,
}

impl Line {
    /// Whether its time is over.
    fn is_over(&self, now: Instant) -> bool {
        let since = |then: Instant| now.saturating_duration_since(then);
        match (self.doing, self.owed) {
            (Doing::Asking, _) => since(self.moved) > ASKING,
            (Doing::Served, _) => false,
            (Doing::Hearing, Some(owed)) => since(owed) > HEARING,
            (Doing::Hearing, None) => since(self.moved) > RESTING,
        }
    }

    /// What of an answer the kernel took.
    fn took(&mut self, offered: usize, taken: usize, now: Instant) {
        self.heard += taken;
        if taken == offered || self.owed.is_none() || self.heard >= STEP_BYTES {
            self.moved = now;
            self.heard = 0;
            self.owed = self.owed.filter(|_| taken < offered).map(|_| now);
        }
    }

    fn tell_to_go(&mut self) {
        self.told = true;
        self.end.notify_one();
    }
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Lines {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    lines: BTreeMap<u64, Line>,
}

impl Lines {
    /// A place for a new connection. Where all are taken, another one gives way.
    pub fn join(self: &Arc<Self>, address: IpAddr, now: Instant) -> Hold {
        let mut table = self.table();
        let id = table.next;
        table.next += 1;
        let end = Arc::new(Notify::new());
        let line = Line {
            address,
            doing: Doing::Asking,
            moved: now,
            owed: None,
            heard: 0,
            end: Arc::clone(&end),
            told: false,
        };
        table.lines.insert(id, line);
        let there = table.lines.values().filter(|line| !line.told).count();
        if there > PLACES {
            table.make_room(Some(id));
        }
        Hold { id, lines: Arc::clone(self), end }
    }

    /// Makes room where the machine has no more of it, say of open files.
    pub fn make_room(&self) {
        self.table().make_room(None);
    }

    /// Ends what has used up its time.
    pub fn sweep(&self, now: Instant) {
        let mut table = self.table();
        let over = table.lines.values_mut().filter(|line| !line.told && line.is_over(now));
        over.for_each(Line::tell_to_go);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Of the address with the most connections the one goes that has got nothing done for longest;
    /// those whose answer is being made come last, and the newest never goes.
    fn make_room(&mut self, newest: Option<u64>) {
        let there: Vec<_> = (self.lines.iter())
            .filter(|(id, line)| !line.told && Some(**id) != newest)
            .map(|(id, line)| (*id, line.address, (line.doing == Doing::Served, line.moved)))
            .collect();
        if let Some(line) = crowd::gives_way(&there).and_then(|id| self.lines.get_mut(&id)) {
            line.tell_to_go();
        }
    }
}

/// A place among the connections, until it is dropped.
#[derive(Debug)]
pub(super) struct Hold {
    id: u64,
    lines: Arc<Lines>,
    end: Arc<Notify>,
}

impl Hold {
    /// Says what the connection is at.
    pub fn set(&self, doing: Doing) {
        self.with(|line| {
            line.doing = doing;
            line.moved = Instant::now();
        });
    }

    /// Ends when the connection has to.
    pub fn told_to_go(&self) -> impl Future<Output = ()> + use<> {
        let end = Arc::clone(&self.end);
        async move { end.notified().await }
    }

    /// What the kernel made of bytes for the other end.
    fn wrote(&self, offered: usize, found: &Poll<io::Result<usize>>) {
        let now = Instant::now();
        match found {
            Poll::Ready(Ok(taken)) => self.with(|line| line.took(offered, *taken, now)),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.with(|line| {
                if line.owed.is_none() {
                    line.owed = Some(now);
                    line.heard = 0;
                }
            }),
        }
    }

    /// Whether it has to go and lets an answer wait.
    fn is_sent_away(&self) -> bool {
        let table = self.lines.table();
        table.lines.get(&self.id).is_some_and(|line| line.told && line.owed.is_some())
    }

    fn with(&self, change: impl FnOnce(&mut Line)) {
        if let Some(line) = self.lines.table().lines.get_mut(&self.id) {
            change(line);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.lines.table().lines.remove(&self.id);
    }
}

/// A connection whose bytes are counted.
#[derive(Debug)]
pub(super) struct Counted {
    stream: TcpStream,
    hold: Arc<Hold>,
}

impl Counted {
    /// Counts what goes through a connection.
    pub fn new(stream: TcpStream, hold: Arc<Hold>) -> Self {
        Self { stream, hold }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.hold.is_sent_away() {
            // The kernel would go on keeping for it what it never fetched.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let found = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.hold.wrote(bytes.len(), &found);
        found
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let found = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.hold.wrote(parts.iter().map(|part| part.len()).sum(), &found);
        found
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn one(last: u8) -> IpAddr {
        [127, 0, 0, last].into()
    }

    /// Ids of the connections that were told to go.
    fn gone(lines: &Lines) -> Vec<u64> {
        let table = lines.table();
        table.lines.iter().filter(|(_, line)| line.told).map(|(id, _)| *id).collect()
    }

    /// As many as there are places from one address, a millisecond after each other.
    fn full(lines: &Arc<Lines>, began: Instant) -> Vec<Hold> {
        let at = |index: usize| began + Duration::from_millis(index as u64);
        (0..PLACES).map(|index| lines.join(one(1), at(index))).collect()
    }

    #[test]
    fn the_idlest_gives_way_and_never_the_newest() {
        let (lines, began) = (Arc::new(Lines::default()), Instant::now());
        let held = full(&lines, began);
        assert!(gone(&lines).is_empty());
        // The oldest has just heard something.
        held[0].with(|line| line.moved = began + SECOND);
        let newest = lines.join(one(1), began + SECOND);
        assert_eq!(gone(&lines), [1]);
        let newer = lines.join(one(1), began + SECOND);
        assert_eq!(gone(&lines), [1, 2]);
        assert!(newest.id > 255 && newer.id > newest.id);
    }

    #[test]
    fn whose_answer_is_being_made_gives_way_last() {
        let (lines, began) = (Arc::new(Lines::default()), Instant::now());
        let held = full(&lines, began);
        for hold in &held {
            hold.with(|line| line.doing = Doing::Served);
        }
        held[7].with(|line| line.doing = Doing::Hearing);
        let _one = lines.join(one(1), began + SECOND);
        assert_eq!(gone(&lines), [7]);
        // The one that has just come asks, too, but it is the newest.
        let _other = lines.join(one(2), began + SECOND);
        assert_eq!(gone(&lines).len(), 2);
    }

    #[test]
    fn of_the_largest_crowd_one_gives_way() {
        let (lines, began) = (Arc::new(Lines::default()), Instant::now());
        let _alone = lines.join(one(2), began);
        let _held = full(&lines, began + SECOND);
        assert_eq!(gone(&lines), [1], "not the only one of its address, which is older");
    }

    #[test]
    fn each_state_has_its_time() {
        let (lines, began) = (Arc::new(Lines::default()), Instant::now());
        let [asks, waits, owes, rests] = [(); 4].map(|()| lines.join(one(1), began));
        waits.with(|line| line.doing = Doing::Served);
        owes.with(|line| (line.doing, line.owed) = (Doing::Hearing, Some(began)));
        rests.with(|line| line.doing = Doing::Hearing);
        lines.sweep(began + 10 * SECOND);
        assert!(gone(&lines).is_empty());
        lines.sweep(began + 11 * SECOND);
        assert_eq!(gone(&lines), [asks.id, owes.id]);
        lines.sweep(began + 31 * SECOND);
        assert_eq!(gone(&lines), [asks.id, owes.id, rests.id]);
        drop(asks);
        assert_eq!(gone(&lines), [owes.id, rests.id]);
    }

    #[test]
    fn a_byte_now_and_then_is_no_progress() {
        let (lines, began) = (Arc::new(Lines::default()), Instant::now());
        let [slow, steady] = [(); 2].map(|()| lines.join(one(1), began));
        for hold in [&slow, &steady] {
            hold.with(|line| (line.doing, line.owed) = (Doing::Hearing, Some(began)));
        }
        for second in 1..=11 {
            let now = began + second * SECOND;
            slow.with(|line| line.took(1_000_000, 1, now));
            steady.with(|line| line.took(1_000_000, STEP_BYTES / 5, now));
        }
        lines.sweep(began + 11 * SECOND);
        assert_eq!(gone(&lines), [slow.id]);
        // All of it is heard: nothing is owed any more.
        steady.with(|line| line.took(5, 5, began + 12 * SECOND));
        lines.sweep(began + 40 * SECOND);
        assert_eq!(gone(&lines), [slow.id]);
    }

    #[test]
    fn who_is_told_to_go_hears_of_it() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let lines = Arc::new(Lines::default());
            let hold = lines.join(one(1), Instant::now());
            lines.make_room();
            hold.told_to_go().await;
            assert_eq!(gone(&lines), [hold.id]);
        });
    }
}
