//! JSON that is already in memory.

use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Error, Value};

/// Reads a value through its text: `serde_json::from_value` would compile a second reader of each type (1.4 MB in
/// assay-study). An error names no position, since nobody sees the text.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    serde_json::from_str(&value.to_string()).map_err(|error| {
        let text = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        Error::custom(text.strip_suffix(&position).unwrap_or(&text))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_error_names_no_position() {
        let error = super::from_value::<u32>(&true.into()).unwrap_err().to_string();
        assert_eq!(error, "invalid type: boolean `true`, expected u32");
    }
}
