//! Why a run gave no outcome.

use std::{error, fmt, io};

use crate::{Class, FileAct, Room};

/// Why a run has no outcome: a lower-case fragment, as in "trial 3 failed: {error}".
#[derive(Debug)]
pub enum LoadError {
    /// The job, law or target is inconsistent; the text says what to change.
    Invalid(String),
    Unavailable {
        engine: &'static str,
        reason: String,
    },
    /// Something that the run needs could not be made: buffers, threads, a ring.
    Setup {
        what: &'static str,
        source: io::Error,
    },
    /// The engine itself broke down, not one operation.
    Engine {
        what: &'static str,
        source: io::Error,
    },
    Operation {
        /// Operation class; for a rewrite its failed half.
        class: Class,
        /// Its offset in bytes from the start of the target.
        offset: u64,
        source: io::Error,
    },
    /// A short transfer; zero bytes at the end of a file.
    Short {
        class: Class,
        offset: u64,
        asked: u32,
        got: u32,
    },
    /// The file system refused something of a small file.
    File {
        act: FileAct,
        file: u64,
        of: u64,
        source: io::Error,
        /// Free space, if the target was full.
        room: Option<Room>,
    },
    /// A measuring thread panicked: a mistake in this program.
    Panicked {
        thread: u32,
        message: String,
    },
}

impl LoadError {
    /// Returns whether the target does not support the operation (trim or zeroing).
    pub fn is_lacking(&self) -> bool {
        let Self::Operation { class: Class::Trim | Class::Zero, source, .. } = self else {
            return false;
        };
        source.raw_os_error() == Some(libc::EOPNOTSUPP)
    }
}

impl From<LoadError> for String {
    fn from(error: LoadError) -> Self {
        error.to_string()
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Zero => "zeroing",
            class => class.name(),
        })
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(what) => f.write_str(what),
            Self::Unavailable { engine, reason } => {
                write!(f, "engine {engine} is not available: {reason}")
            }
            Self::Setup { what, source } => write!(f, "cannot set up {what}: {source}"),
            Self::Engine { what, source } => write!(f, "cannot {what}: {source}"),
            Self::Operation { class, offset, source } => {
                write!(f, "{class} at offset {offset} failed: {source}")?;
                if !self.is_lacking() {
                    return Ok(());
                }
                let lacking = if *class == Class::Trim { "trims" } else { "zeroing" };
                write!(f, "; this target does not support {lacking}")
            }
            Self::Short { class, offset, asked, got } => {
                write!(f, "{class} at offset {offset} moved {got} of {asked} requested bytes")
            }
            Self::File { act, file, of, source, .. } => {
                write!(f, "{} of file {file} of {of} failed: {source}", act.name())
            }
            Self::Panicked { thread, message } => {
                write!(f, "measuring thread {thread} panicked: {message}")
            }
        }
    }
}

impl error::Error for LoadError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Setup { source, .. }
            | Self::Engine { source, .. }
            | Self::Operation { source, .. }
            | Self::File { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_compose() {
        let short = LoadError::Short { class: Class::Read, offset: 4096, asked: 4096, got: 100 };
        assert_eq!(short.to_string(), "read at offset 4096 moved 100 of 4096 requested bytes");
        let refused = LoadError::Operation {
            class: Class::Write,
            offset: 0,
            source: io::Error::from_raw_os_error(libc::EBADF),
        };
        assert_eq!(
            refused.to_string(),
            "write at offset 0 failed: Bad file descriptor (os error 9)"
        );
        let lacking = |class, code| {
            let source = io::Error::from_raw_os_error(code);
            LoadError::Operation { class, offset: 512, source }.to_string()
        };
        let told = "; this target does not support trims";
        assert!(lacking(Class::Trim, libc::EOPNOTSUPP).ends_with(told));
        assert!(!lacking(Class::Trim, libc::EIO).contains(told));
        assert!(lacking(Class::Zero, libc::EOPNOTSUPP).ends_with("does not support zeroing"));
        assert!(!lacking(Class::Write, libc::EOPNOTSUPP).contains("does not support"));
        let is_lacking = |class, code| {
            let source = io::Error::from_raw_os_error(code);
            LoadError::Operation { class, offset: 512, source }.is_lacking()
        };
        assert!(is_lacking(Class::Trim, libc::EOPNOTSUPP));
        assert!(is_lacking(Class::Zero, libc::EOPNOTSUPP));
        assert!(!is_lacking(Class::Trim, libc::EIO) && !is_lacking(Class::Read, libc::EOPNOTSUPP));
    }
}
