//! JSON in memory, always through its text. The same functions of serde_json compile a second reader or writer of each
//! type; `from_value` alone would add 1.4 MB to the program.

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Error, Value};

/// Reads a value from bytes. Bytes that are not UTF-8 are an error.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_str(std::str::from_utf8(bytes).map_err(Error::custom)?)
}

pub fn to_value<T: Serialize>(from: &T) -> Result<Value, Error> {
    serde_json::from_str(&serde_json::to_string(from)?)
}

/// Reads a value. Errors contain no position, because the user does not see the text.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    serde_json::from_str(&value.to_string()).map_err(|error| {
        let text = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        Error::custom(text.strip_suffix(&position).unwrap_or(&text))
    })
}

/// Returns whether a value is the default; stored files omit these.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_error_names_no_position() {
        let error = super::from_value::<u32>(&true.into()).unwrap_err().to_string();
        assert_eq!(error, "invalid type: boolean `true`, expected u32");
    }
}
