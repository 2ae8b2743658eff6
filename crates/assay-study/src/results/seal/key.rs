//! The key of this machine's seals: root's own, made when root first measures something. It lies
//! where `ASSAY_HOME` has no say, because that may be an ordinary user's. An ordinary user has one of
//! his own, for results that say what to run.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use assay_base::digest::hexadecimal;
use assay_system::system::identity::{self, ROOTS_OWN};
use assay_system::system::journal::{make_own_directory, trusted_directory};
use assay_system::system::{HoldError, Locking, OwnFile, System};

/// Its file.
const NAME: &str = "seal.key";
/// Another process may be making it at this moment.
const ATTEMPTS: usize = 100;

/// 32 bytes that nobody else knows.
#[derive(Clone)]
pub struct Key([u8; 32]);

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key")
    }
}

impl Key {
    /// The bytes.
    pub(super) const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    #[cfg(test)]
    pub(super) const fn of(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

/// The directory that it lies in.
fn directory(system: &dyn System) -> io::Result<PathBuf> {
    if system.user().id == 0 {
        return Ok(ROOTS_OWN.into());
    }
    identity::state_directory(system).map_err(|failure| io::Error::other(failure.message))
}

/// Where it lies.
///
/// # Errors
/// No home of this user is known.
pub fn path(system: &dyn System) -> io::Result<PathBuf> {
    Ok(directory(system)?.join(NAME))
}

/// The key, made where there is none yet.
///
/// # Errors
/// The kernel's, or why the file that is there is not to be trusted, and what to do.
pub fn make(system: &dyn System) -> io::Result<Key> {
    make_own_directory(system, &directory(system)?)?;
    let file = locked(system, Locking::New)?;
    if system.read_own(&file)?.is_empty() {
        let text = format!("{}\n", hexadecimal(&system.random()?));
        system.append_own(&file, text.as_bytes())?;
    }
    // Not to be held while it is opened anew, with a look at who may read it.
    drop(file);
    read(system)
}

/// The key that is there.
///
/// # Errors
/// `NotFound` where there is none, or why it is not to be trusted, and what to do.
pub fn read(system: &dyn System) -> io::Result<Key> {
    trusted_directory(system, &directory(system)?)?;
    let file = locked(system, Locking::Secret)?;
    let text = system.read_own(&file)?;
    let digits = text.strip_suffix('\n').unwrap_or(&text);
    super::binary(digits).map(Key).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "it is no key: remove it, and measure anew what is to be applied",
        )
    })
}

fn locked(system: &dyn System, locking: Locking) -> io::Result<OwnFile> {
    let path = path(system)?;
    for _ in 0..ATTEMPTS {
        match system.lock_file(&path, locking) {
            Ok(file) => return Ok(file),
            Err(HoldError::Failed(error)) => return Err(error),
            Err(HoldError::Held { .. }) => system.sleep(Duration::from_millis(10)),
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "another process holds it"))
}
