//! What a trial needs that goes on after the power of its machine was cut: who tells the user when, a file that is there
//! again, and a peer that remembers.

use std::io;
use std::path::Path;

use super::AreaFile;
use super::network::Token;
use super::network::ledger::Ledger;

/// Where the kernel has the id that each of its starts draws anew.
pub const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// How names of files begin that outlive a cut of power; sixteen digits follow.
pub const PREFIX: &str = ".assay-plug-";

pub fn is_kept_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == 16 && rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// The machine, as far as its power is concerned.
pub trait Mains {
    /// Says something to whoever sits there, at once.
    fn call(&self, text: &str);

    /// Makes a file with such a name in a directory, marked, and sees that it is found again after a cut. It is removed by
    /// [`System::remove_area`](super::System::remove_area).
    fn create_kept(&self, directory: &Path, name: &str) -> io::Result<AreaFile>;

    /// Opens one that another process has made, to be read and then removed.
    fn open_kept(&self, directory: &Path, name: &str) -> io::Result<AreaFile>;

    /// Sees that all that was written where a directory lies is on the medium, its names and those above it among it.
    fn settle(&self, directory: &Path) -> io::Result<()>;

    /// Reaches a peer that keeps promises and knows the same token.
    fn ledger(&self, peer: &str, token: &Token) -> io::Result<Box<dyn Ledger + '_>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_file_is_known_by_its_name() {
        assert!(is_kept_name(".assay-plug-0123456789abcdef"));
        for name in [
            ".assay-plug-",
            ".assay-plug-0123456789ABCDEF",
            ".assay-plug-0123456789abcdef0",
            ".assay-area-0123456789abcdef",
            "../.assay-plug-0123456789abcdef",
        ] {
            assert!(!is_kept_name(name), "{name}");
        }
    }
}
