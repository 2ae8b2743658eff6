//! What a trial across a power cut needs: a message to the user, a persistent file, and a peer that remembers.

use std::io;
use std::path::Path;

use super::AreaFile;
use super::network::Token;
use super::network::ledger::Ledger;

/// The kernel's random ID of each boot.
pub const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// How names of files begin that outlive a cut of power; sixteen digits follow.
pub const PREFIX: &str = ".assay-plug-";

pub fn is_kept_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == 16 && rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

pub trait Mains {
    fn call(&self, text: &str);

    /// Creates a marked file with this name in a directory, durable across a power cut.
    /// [`System::remove_area`](super::System::remove_area) removes it.
    fn create_kept(&self, directory: &Path, name: &str) -> io::Result<AreaFile>;

    /// Opens a file of another process, to read and then remove it.
    fn open_kept(&self, directory: &Path, name: &str) -> io::Result<AreaFile>;

    /// Syncs everything written to a directory, including its name and its parents.
    fn settle(&self, directory: &Path) -> io::Result<()>;

    /// Connects to a peer that stores acknowledgments and knows the same token.
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
