//! Failures of commands: an exit code and a message with the next step.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a command ends early; each has its exit code, which `assay --help` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The user's mistake: exit code 2.
    Mistake,
    /// The machine refused (not permitted, absent, busy): exit code 3.
    Refused,
    /// A program under test does not build or fails at once: exit code 3, or that of an inconclusive gate.
    Broken,
    /// Assay could not restore something: exit code 4.
    NotRestored,
    /// A gate failed: exit code 1.
    Gate,
    /// Some trials were lost: exit code 5.
    Partial,
    /// The same, by the exit code that the caller has for it.
    Blind(u8),
    /// There is nothing to measure, so the question is answered: exit code 0.
    Needless,
    /// A signal; finished trials are stored: exit code 130.
    Interrupted,
}

impl Kind {
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Mistake => 2,
            Self::Refused | Self::Broken => 3,
            Self::Gate => 1,
            Self::NotRestored => 4,
            Self::Partial => 5,
            Self::Blind(code) => code,
            Self::Needless => 0,
            Self::Interrupted => 130,
        }
    }
}

/// A failure that reaches the user: one line, or one mistake of a file below the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: Kind,
    pub message: String,
}

pub type Outcome<T> = Result<T, Failure>;

macro_rules! constructors {
    ($($name:ident $kind:ident),+) => {$(
        pub fn $name(message: impl Into<String>) -> Self {
            Self { kind: Kind::$kind, message: message.into() }
        }
    )+};
}

impl Failure {
    constructors!(mistake Mistake, refused Refused, broken Broken, not_restored NotRestored);
    constructors!(gate Gate, partial Partial, needless Needless, interrupted Interrupted);

    /// Replaces exit code 5 by `code`; other exit codes do not change.
    #[must_use]
    pub fn blind_by(self, code: Option<u8>) -> Self {
        match (self.kind, code) {
            (Kind::Partial, Some(code)) => Self { kind: Kind::Blind(code), ..self },
            _ => self,
        }
    }
}

/// A mistake of the user, with a message as for [`format!`].
#[macro_export]
macro_rules! mistake {
    ($($message:tt)+) => { $crate::failure::Failure::mistake(format!($($message)+)) };
}

/// A refusal of the machine, with a message as for [`format!`].
#[macro_export]
macro_rules! refused {
    ($($message:tt)+) => { $crate::failure::Failure::refused(format!($($message)+)) };
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_code_stands_for_5_alone() {
        let code = |failure: Failure, asked| failure.blind_by(asked).kind.exit_code();
        assert_eq!(code(Failure::partial("lost"), Some(125)), 125);
        assert_eq!(code(Failure::partial("lost"), None), 5);
        for other in [Failure::gate("worse"), Failure::mistake("no"), Failure::interrupted("^C")] {
            let own = other.kind.exit_code();
            assert_eq!(code(other, Some(125)), own);
        }
    }
}
