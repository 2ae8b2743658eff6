//! The key of this machine's seals: root's own, made when root first measures something. It lies
//! where `ASSAY_HOME` has no say, because that may be an ordinary user's.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::digest::hexadecimal;
use crate::system::identity::ROOTS_OWN;
use crate::system::journal::{make_own_directory, trusted_directory};
use crate::system::{HoldError, Locking, OwnFile, System};

/// Its file.
const NAME: &str = "seal.key";
/// Another process may be making it at this moment.
const ATTEMPTS: usize = 100;

/// 32 bytes that nobody but root knows.
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

/// Where it lies.
pub fn path() -> PathBuf {
    Path::new(ROOTS_OWN).join(NAME)
}

/// The key, made where there is none yet.
///
/// # Errors
/// The kernel's, or why the file that is there is not to be trusted, and what to do.
pub fn make(system: &dyn System) -> io::Result<Key> {
    make_own_directory(system, Path::new(ROOTS_OWN))?;
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
    trusted_directory(system, Path::new(ROOTS_OWN))?;
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
    for _ in 0..ATTEMPTS {
        match system.lock_file(&path(), locking) {
            Ok(file) => return Ok(file),
            Err(HoldError::Failed(error)) => return Err(error),
            Err(HoldError::Held { .. }) => system.sleep(Duration::from_millis(10)),
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "another process holds it"))
}
