//! Machine-wide locks: bound abstract socket names, which vanish with the process that has them.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};

use crate::system::{Hold, HoldError};

/// Connections that those who were refused leave behind; nobody accepts them.
const BACKLOG: i32 = 1024;
/// A holder may let go between our asking for the name and our asking for its holder.
const ATTEMPTS: usize = 3;

/// Takes the lock. Names hold for all users of this network name space.
pub fn hold(name: &str) -> Result<Hold, HoldError> {
    let address = SocketAddrUnix::new_abstract_name(format!("assay-lock-{name}").as_bytes())
        .map_err(failed)?;
    for _ in 1..ATTEMPTS {
        match attempt(&address)? {
            Attempt::Mine(hold) => return Ok(hold),
            Attempt::Theirs { process: None, .. } => {}
            Attempt::Theirs { process, user } => return Err(HoldError::Held { process, user }),
        }
    }
    match attempt(&address)? {
        Attempt::Mine(hold) => Ok(hold),
        Attempt::Theirs { process, user } => Err(HoldError::Held { process, user }),
    }
}

enum Attempt {
    Mine(Hold),
    Theirs { process: Option<u32>, user: Option<u32> },
}

fn attempt(address: &SocketAddrUnix) -> Result<Attempt, HoldError> {
    let socket = socket(SocketFlags::CLOEXEC)?;
    match bind(&socket, address) {
        Ok(()) => {
            // Only who listens can be asked for credentials.
            listen(&socket, BACKLOG).map_err(failed)?;
            Ok(Attempt::Mine(Hold { _socket: Some(socket) }))
        }
        Err(Errno::ADDRINUSE) => holder(address),
        Err(error) => Err(failed(error)),
    }
}

fn holder(address: &SocketAddrUnix) -> Result<Attempt, HoldError> {
    // Blocking, this would wait for ever once the backlog is full.
    let socket = socket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    let told = connect(&socket, address).and_then(|()| socket_peercred(&socket));
    Ok(match told {
        Ok(peer) => Attempt::Theirs {
            process: Some(peer.pid.as_raw_nonzero().get().unsigned_abs()),
            user: Some(peer.uid.as_raw()),
        },
        Err(_) => Attempt::Theirs { process: None, user: None },
    })
}

fn socket(flags: SocketFlags) -> Result<OwnedFd, HoldError> {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(failed)
}

fn failed(error: Errno) -> HoldError {
    HoldError::Failed(error.into())
}
