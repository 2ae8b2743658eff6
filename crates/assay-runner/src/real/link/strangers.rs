//! Unauthenticated connections. At the limit, the idlest of the busiest address is dropped.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::crowd;

const MOST: usize = 64;
/// Limit on dropped connections that have not ended yet; newcomers wait.
const MOST_LEAVING: usize = 16;

#[derive(Default)]
pub struct Strangers {
    table: Mutex<StrangerTable>,
}

#[derive(Default)]
struct StrangerTable {
    next: u64,
    there: BTreeMap<u64, Stranger>,
}

struct Stranger {
    address: IpAddr,
    stream: TcpStream,
    is_dropped: bool,
}

impl Strangers {
    /// Registers a connection that has not shown the token yet, and returns its ID. At the limit, it drops another one.
    pub fn join(&self, stream: &TcpStream, address: IpAddr) -> io::Result<u64> {
        let stream = stream.try_clone()?;
        let mut table = self.table();
        let id = table.next;
        table.next += 1;
        let waiting: Vec<(u64, IpAddr, u64)> = (table.there.iter())
            .filter(|(_, other)| !other.is_dropped)
            // All of them are silent: the idlest one is the oldest.
            .map(|(id, other)| (*id, other.address, *id))
            .collect();
        if waiting.len() >= MOST
            && let Some(to_drop) = crowd::select_to_drop(&waiting)
            && let Some(other) = table.there.get_mut(&to_drop)
        {
            other.is_dropped = true;
            // Wakes up its reader; a closed connection has already ended.
            let _ = other.stream.shutdown(Shutdown::Both);
        }
        table.there.insert(id, Stranger { address, stream, is_dropped: false });
        Ok(id)
    }

    pub fn leave(&self, id: u64) {
        self.table().there.remove(&id);
    }

    pub fn is_crowded(&self) -> bool {
        self.table().there.len() >= MOST + MOST_LEAVING
    }

    fn table(&self) -> MutexGuard<'_, StrangerTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
