//! Restrictions of a page: only its embedded style and script.

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

/// The Content-Security-Policy of a single-file page: it loads nothing, whatever a result contains.
pub(super) fn content_security_policy() -> &'static str {
    &POLICY
}

/// Allows a text by its hash (CSP level 3, `hash-source`).
pub(super) fn source(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}
