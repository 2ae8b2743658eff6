//! SHA-256, and how a file shows it.

use sha2::{Digest as _, Sha256};

/// A SHA-256 hash, or an HMAC made with it.
pub type Digest = [u8; 32];

/// SHA-256 of a text or of bytes.
pub fn sha256(bytes: impl AsRef<[u8]>) -> Digest {
    Sha256::digest(bytes).into()
}

/// A hash in small hexadecimal digits.
pub fn hexadecimal(digest: &Digest) -> String {
    digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
