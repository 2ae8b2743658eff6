//! An empty page cache: how work that is to begin with one gets it.

use std::io::ErrorKind;

use assay_machine::system::{System, machine};

/// Empties the kernel's caches of files; returns the cached bytes before and after, where known.
pub(super) fn empty(system: &dyn System) -> Result<Option<[u64; 2]>, String> {
    let before = cached_bytes(system);
    system.forget_cache().map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => {
            "only root can drop the page cache; use sudo, or remove drop_caches".to_owned()
        }
        _ => format!("cannot drop the page cache: {error}"),
    })?;
    Ok(before.zip(cached_bytes(system)).map(|(before, after)| [before, after]))
}

/// Bytes of files in the page cache, without mapped ones: the kernel does not drop those.
fn cached_bytes(system: &dyn System) -> Option<u64> {
    let bytes = |name| machine::memory(system, name).value().copied();
    let all = bytes("Active(file)")?.saturating_add(bytes("Inactive(file)")?);
    Some(all.saturating_sub(bytes("Mapped")?))
}
