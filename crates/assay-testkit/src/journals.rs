//! Recorded journals in their other form.

use std::collections::BTreeMap;

/// What `journalctl -o export` writes of the entries of a text of `journalctl -o json`: recordings whose values are all
/// of one line stand in files once.
pub fn exported(json: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let mut export = Vec::new();
    for line in json.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let fields: BTreeMap<String, String> = serde_json::from_slice(line)?;
        // The journal's own fields stand first.
        for (name, value) in fields.iter().rev() {
            export.extend(format!("{name}={value}\n").into_bytes());
        }
        export.push(b'\n');
    }
    Ok(export)
}
