//! Small readers of sysfs and procfs attributes.

use std::io;
use std::path::{Path, PathBuf};

use assay_core::presence::Presence;

use super::{Errno, System};

/// Text of an attribute without the space around it; empty counts as absent.
pub fn text(system: &dyn System, path: &Path) -> Presence<String> {
    match system.read_text(path) {
        Ok(text) => non_empty(&text, path),
        Err(error) => Presence::absent(format!("{}: {}", path.display(), reason(&error))),
    }
}

fn non_empty(text: &str, path: &Path) -> Presence<String> {
    // Fixed-width fields are filled with spaces or zero bytes.
    let text = text.trim_matches(|sign: char| sign.is_whitespace() || sign == '\0');
    let content = (!text.is_empty()).then(|| text.to_owned());
    Presence::from_option(content, format!("{} is empty", path.display()))
}

pub fn number(system: &dyn System, path: &Path) -> Presence<u64> {
    parsed(text(system, path), |text| text.parse().ok())
}

/// Parses integers separated by spaces; `None` if there is anything else.
pub fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split_whitespace().map(|word| word.parse().ok()).collect()
}

pub fn flag(system: &dyn System, path: &Path) -> Presence<bool> {
    number(system, path).map(|number| number != 0)
}

/// Parses a text; absent if that fails.
pub fn parsed<T>(text: Presence<String>, parse: impl FnOnce(&str) -> Option<T>) -> Presence<T> {
    match text {
        Presence::Present(text) => {
            Presence::from_option(parse(&text), format!("cannot parse: {}", text.escape_debug()))
        }
        Presence::Absent(reason) => Presence::Absent(reason),
    }
}

/// The choice in brackets, `[mq-deadline] none`; a lone word stands for itself.
pub fn chosen(text: &str) -> Option<String> {
    match text.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some((choice, _)) => Some(choice.to_owned()),
        None => (text.split_whitespace().count() == 1).then(|| text.trim().to_owned()),
    }
}

/// Returns the value; `None` if the file does not exist. Other errors do not mean that it is gone.
pub fn if_exists<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    const GONE: [Errno; 4] = [Errno::NOENT, Errno::NOTDIR, Errno::NODEV, Errno::NXIO];
    let is_gone = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            || Errno::find(error).is_some_and(|error| GONE.contains(&error))
    };
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Names in a directory; none when it cannot be listed.
pub fn names(system: &dyn System, directory: &Path) -> Vec<String> {
    system.list(directory).unwrap_or_default()
}

/// The first present value; absent with the reason if there is none.
pub fn first<T>(sources: impl IntoIterator<Item = Presence<T>>, reason: &str) -> Presence<T> {
    let present = sources.into_iter().find(|source| source.value().is_some());
    present.unwrap_or_else(|| Presence::absent(reason))
}

/// Message of an error, without its number.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "not found".to_owned(),
        io::ErrorKind::PermissionDenied => "not permitted".to_owned(),
        _ => error.to_string(),
    }
}

pub fn block(name: &str) -> PathBuf {
    Path::new("/sys/class/block").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_in_brackets_or_alone() {
        assert_eq!(chosen("none [mq-deadline] kyber").as_deref(), Some("mq-deadline"));
        assert_eq!(chosen("none\n").as_deref(), Some("none"));
        assert_eq!(chosen("lzo lz4"), None);
        assert_eq!(chosen(""), None);
    }

    #[test]
    fn the_first_way_that_leads_somewhere_is_taken() {
        let ways = [Presence::absent("a"), Presence::Present(2), Presence::Present(3)];
        assert_eq!(first(ways, "x"), Presence::Present(2));
        assert_eq!(first([Presence::<u8>::absent("a")], "x"), Presence::absent("x"));
    }
}
