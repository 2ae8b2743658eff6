//! Machine-wide locks: abstract socket names, which disappear with their process. They apply to one network namespace;
//! root's lock file applies to all who see its directory.
//!
//! Anybody can bind a name. Therefore a user can only block other users; only root, through a file that nobody else may
//! open, can block root. Others find its owner in the kernel's list of locks.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::files;
use assay_machine::system::beside::{SHOWN, STUDY};
use assay_machine::system::trust::{self, OTHERS_WRITE};
use assay_machine::system::{Hold, HoldError, Holder, Locked, System};
use rustix::fs::{self, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};

/// Directory of the files. Containers with the same drives also mount it.
pub(super) const RUN: &str = "/run/assay";
/// Everybody may list the files, only root may create them.
const RUN_MODE: u32 = 0o755;
/// Permission to open is permission to lock.
const LOCK_MODE: Mode = Mode::from_raw_mode(0o600);

/// Connections of refused clients; nobody accepts them.
const BACKLOG: i32 = 1024;
/// The lock may be released between the attempt and the query for its owner.
const ATTEMPTS: usize = 3;

/// Locks a name in this network namespace and, for root, in the lock directory. Other users cannot lock out root.
pub fn hold(system: &dyn System, name: &str) -> Result<Hold, HoldError> {
    let is_root = system.user().id == 0;
    let (socket, beside) = match bind_name(name) {
        Ok(socket) => (Some(socket), None),
        Err(HoldError::Held { process, user }) if is_root && user != Some(0) => {
            (None, user.map(|user| Holder { process, user }))
        }
        Err(error) => return Err(error),
    };
    // An announcement needs no file.
    let file =
        if name.starts_with(STUDY) { None } else { lock_root_file(system, Path::new(RUN), name)? };
    Ok(Hold::new(socket, file).beside_another(beside))
}

/// Locks root's file of a name; `None` without a directory that root can trust. Other users only check it.
pub(super) fn lock_root_file(
    system: &dyn System,
    directory: &Path,
    name: &str,
) -> Result<Option<Locked>, HoldError> {
    let path = directory.join(format!("lock-{name}"));
    if system.user().id != 0 {
        return files::lock_of_other(system, &path).map_or(Ok(None), Err);
    }
    let Ok(file) = open_lock_file(system, directory, &path) else { return Ok(None) };
    match fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Locked::new(file))),
        Err(Errno::WOULDBLOCK) => match files::lock_holder(system, &file) {
            // From a version that let others open it.
            HoldError::Held { user: Some(user), .. } if user != 0 => Ok(None),
            held => Err(held),
        },
        Err(_) => Ok(None),
    }
}

/// Creates the directory and the file if they do not exist; fails if other users could modify the directory.
fn open_lock_file(system: &dyn System, directory: &Path, path: &Path) -> io::Result<File> {
    match std::fs::DirBuilder::new().mode(RUN_MODE).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if let Some(fault) = trust::fault(system, directory, &[], OTHERS_WRITE)? {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, fault));
    }
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::CREATE;
    let file = fs::open(path, flags, LOCK_MODE)?;
    fs::fchmod(&file, LOCK_MODE)?;
    Ok(file.into())
}

/// Binds a name; a holder without credentials may have just ended, so it tries again.
fn bind_name(name: &str) -> Result<OwnedFd, HoldError> {
    let address =
        SocketAddrUnix::new_abstract_name(format!("{SHOWN}{name}").as_bytes()).map_err(failed)?;
    let mut attempts = 1;
    loop {
        match attempt(&address)? {
            Attempt::Mine(socket) => return Ok(socket),
            Attempt::Theirs { process: None, .. } if attempts < ATTEMPTS => attempts += 1,
            Attempt::Theirs { process, user } => return Err(HoldError::Held { process, user }),
        }
    }
}

enum Attempt {
    Mine(OwnedFd),
    Theirs { process: Option<u32>, user: Option<u32> },
}

/// Tries to bind the name once; returns its holder if it is taken.
fn attempt(address: &SocketAddrUnix) -> Result<Attempt, HoldError> {
    let socket = socket(SocketFlags::CLOEXEC)?;
    match bind(&socket, address) {
        Ok(()) => {
            // Only a listening socket returns credentials.
            listen(&socket, BACKLOG).map_err(failed)?;
            Ok(Attempt::Mine(socket))
        }
        Err(Errno::ADDRINUSE) => holder(address),
        Err(error) => Err(failed(error)),
    }
}

/// Asks the kernel who listens on the name; unknown if the holder has just ended.
fn holder(address: &SocketAddrUnix) -> Result<Attempt, HoldError> {
    // A blocking socket would wait forever once the backlog is full.
    let socket = socket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    let credentials = connect(&socket, address).and_then(|()| socket_peercred(&socket));
    Ok(match credentials {
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
