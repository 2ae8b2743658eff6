//! What a page may do: apply its own style, run its own script, and nothing else.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::{SCRIPT, style};

static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        source(&style()),
        source(SCRIPT)
    )
});

/// The policy of a page that is one file, as its head states it: nothing is loaded, whatever a
/// result may contain.
pub(super) fn content_security_policy() -> &'static str {
    &POLICY
}

/// A text that may be used, by its hash (CSP level 3, `hash-source`).
pub(super) fn source(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}
