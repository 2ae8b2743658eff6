//! Machine-wide locks: bound abstract socket names, which vanish with the process that has them. They
//! hold within one network name space; a locked file in a directory of root's holds for all who see
//! that directory.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{self, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};

use super::files;
use assay_core::system::trust::{self, OTHERS_WRITE};
use assay_core::system::{Hold, HoldError, System};

/// Where the files lie. Containers that share drives are given it, too.
const RUN: &str = "/run/assay";
/// Everybody may lock a file that root made, and nobody else may make one.
const RUN_MODE: u32 = 0o755;
const LOCK_MODE: Mode = Mode::from_raw_mode(0o644);

/// Connections that those who were refused leave behind; nobody accepts them.
const BACKLOG: i32 = 1024;
/// A holder may let go between our asking for the name and our asking for its holder.
const ATTEMPTS: usize = 3;

/// Takes the lock: for all users of this network name space, and for all who share the directory.
pub fn hold(system: &dyn System, name: &str) -> Result<Hold, HoldError> {
    let socket = in_name_space(name)?;
    let file = beyond(system, Path::new(RUN), name)?;
    Ok(Hold::new(Some(socket), file))
}

/// Locks the file of a name; none where there is no directory for it that root can trust, or an
/// ordinary user finds no file there: then the name space alone counts.
pub(super) fn beyond(
    system: &dyn System,
    directory: &Path,
    name: &str,
) -> Result<Option<File>, HoldError> {
    let Ok(file) = open(system, directory, name) else { return Ok(None) };
    match fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Err(files::holder(system, &file)),
        Err(_) => Ok(None),
    }
}

fn open(system: &dyn System, directory: &Path, name: &str) -> io::Result<File> {
    let path = directory.join(format!("lock-{name}"));
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if system.user().id != 0 {
        return Ok(fs::open(path, flags, Mode::empty())?.into());
    }
    match std::fs::DirBuilder::new().mode(RUN_MODE).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if let Some(fault) = trust::fault(system, directory, &[], OTHERS_WRITE)? {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, fault));
    }
    Ok(fs::open(path, flags | OFlags::CREATE, LOCK_MODE)?.into())
}

fn in_name_space(name: &str) -> Result<OwnedFd, HoldError> {
    let address = SocketAddrUnix::new_abstract_name(format!("assay-lock-{name}").as_bytes())
        .map_err(failed)?;
    for _ in 1..ATTEMPTS {
        match attempt(&address)? {
            Attempt::Mine(socket) => return Ok(socket),
            Attempt::Theirs { process: None, .. } => {}
            Attempt::Theirs { process, user } => return Err(HoldError::Held { process, user }),
        }
    }
    match attempt(&address)? {
        Attempt::Mine(socket) => Ok(socket),
        Attempt::Theirs { process, user } => Err(HoldError::Held { process, user }),
    }
}

enum Attempt {
    Mine(OwnedFd),
    Theirs { process: Option<u32>, user: Option<u32> },
}

fn attempt(address: &SocketAddrUnix) -> Result<Attempt, HoldError> {
    let socket = socket(SocketFlags::CLOEXEC)?;
    match bind(&socket, address) {
        Ok(()) => {
            // Only who listens can be asked for credentials.
            listen(&socket, BACKLOG).map_err(failed)?;
            Ok(Attempt::Mine(socket))
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
