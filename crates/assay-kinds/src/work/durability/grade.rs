//! How cuts are made, and so what they prove.

use serde::{Deserialize, Serialize};

/// How a cut was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// A log of what was written and flushed is cut.
    #[default]
    Replay,
    /// A virtual machine loses its power.
    Kill,
    /// The machine that is there loses its power, by the hand of whoever is called.
    Plug,
}

impl Grade {
    pub const ALL: [Self; 3] = [Self::Replay, Self::Kill, Self::Plug];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Kill => "kill",
            Self::Plug => "plug",
        }
    }

    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_that_finds_it() {
        for grade in Grade::ALL {
            assert_eq!(Grade::find(grade.name()), Some(grade));
            assert_eq!(serde_json::to_value(grade).unwrap(), grade.name());
        }
        assert_eq!(Grade::find("socket"), None);
    }
}
