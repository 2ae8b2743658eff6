//! Output that must be equal in every run of a command: compared by a hash.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Produced {
    Printed(bool),
    /// A file that it writes, or everything in a directory.
    At(String),
}

impl Produced {
    pub(super) fn words(&self) -> Option<String> {
        match self {
            Self::Printed(false) => None,
            Self::Printed(true) => Some("output".to_owned()),
            Self::At(path) => Some(path.clone()),
        }
    }
}

/// The line that prints the content at a path: a file as it is, a directory as its names and the hash of each file. It
/// fails if a file is unreadable: a failure within a pipe is invisible, so only `sort` is in one.
pub(super) fn print_command(path: &str) -> String {
    let path = shell_words::quote(path);
    format!(
        "if test -d {path}; then cd {path} && names=$(find .) && sums=$(find . -type f -exec sha256sum {{}} +) && \
         printf '%s\\n' \"$names\" \"$sums\" | LC_ALL=C sort; elif test -e {path} && test ! -f {path}; then printf '%s \
         is not a file\\n' {path} >&2; false; else cat -- {path}; fi"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_a_flag_or_as_a_path() {
        for (written, own) in
            [("true", Produced::Printed(true)), ("\"out dir\"", Produced::At("out dir".to_owned()))]
        {
            assert_eq!(serde_json::from_str::<Produced>(written).unwrap(), own);
            assert_eq!(serde_json::to_string(&own).unwrap(), written);
        }
    }

    #[test]
    fn a_path_is_one_word_of_the_line() {
        let line = print_command("a'; rm -rf b");
        assert!(line.contains("test -d 'a'\\''; rm -rf b'"), "{line}");
        assert!(
            line.contains("sha256sum {} +)") && line.contains("printf '%s\\n' \"$names\""),
            "{line}"
        );
    }
}
