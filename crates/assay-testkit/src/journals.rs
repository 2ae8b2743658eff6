//! Recorded journals in their other form.

use std::collections::BTreeMap;

/// Turns the output of `journalctl -o json` into that of `journalctl -o export` (one-line values).
pub fn exported(json: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let mut export = Vec::new();
    for line in json.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let fields: BTreeMap<String, String> = serde_json::from_slice(line)?;
        // The journal's fields come first.
        for (name, value) in fields.iter().rev() {
            export.extend(format!("{name}={value}\n").into_bytes());
        }
        export.push(b'\n');
    }
    Ok(export)
}
