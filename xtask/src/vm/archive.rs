//! What a guest hands back: files and directories in an archive of `tar` (the format of POSIX, with the
//! long names of GNU), read here. What it says is taken from nobody: a path that leads elsewhere, a link or
//! a device is refused.

use crate::lab::Done;

/// Bytes of a head, and what contents are filled up to.
const BLOCK: usize = 512;
const LONGEST: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its path: relative, without `..`.
    pub path: String,
    /// What is in it; none of a directory.
    pub bytes: Option<&'a [u8]>,
}

/// Reads an archive, the directories before what is in them.
pub fn entries(archive: &[u8]) -> Done<Vec<Entry<'_>>> {
    let cut = || "the results archive is truncated".to_owned();
    let (mut entries, mut rest, mut long) = (Vec::new(), archive, None);
    loop {
        let head = rest.get(..BLOCK).ok_or_else(cut)?;
        if head.iter().all(|byte| *byte == 0) {
            return Ok(entries);
        }
        let length = octal(&head[124..136]).ok_or("the results archive is damaged")?;
        let all = rest.get(BLOCK..).ok_or_else(cut)?;
        let bytes = all.get(..length).ok_or_else(cut)?;
        rest = all.get(length.next_multiple_of(BLOCK)..).ok_or_else(cut)?;
        let kind = head[156];
        if kind == b'L' && length <= LONGEST {
            long = Some(text(bytes));
            continue;
        }
        let path = long.take().unwrap_or_else(|| named(head));
        let path = path.trim_end_matches('/').to_owned();
        if !is_plain(&path) {
            return Err(format!("the results archive contains the invalid path {path:?}"));
        }
        let bytes = match kind {
            b'0' | 0 => Some(bytes),
            b'5' => None,
            other => {
                let kind = char::from(other).escape_default();
                return Err(format!("the results archive contains {path} of invalid type {kind}"));
            }
        };
        entries.push(Entry { path, bytes });
    }
}

/// The name in a head, below the directory that may stand behind it.
fn named(head: &[u8]) -> String {
    let name = text(&head[..100]);
    // Only the format of POSIX has it: that of GNU has other things there.
    let above = if &head[257..263] == b"ustar\0" { text(&head[345..500]) } else { String::new() };
    if above.is_empty() { name } else { format!("{above}/{name}") }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn octal(bytes: &[u8]) -> Option<usize> {
    let text = text(bytes);
    usize::from_str_radix(text.trim(), 8).ok()
}

/// Whether a path leads nowhere but down.
fn is_plain(path: &str) -> bool {
    let whole = |part: &str| !part.is_empty() && part != "." && part != "..";
    !path.chars().any(char::is_control) && path.split('/').all(whole)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::process::Command;

    use super::*;

    /// An entry as the format says (tar.h), by hand.
    fn entry(path: &str, kind: u8, bytes: &[u8]) -> Vec<u8> {
        let mut head = vec![0; BLOCK];
        head[..path.len()].copy_from_slice(path.as_bytes());
        head[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
        head[156] = kind;
        head[257..263].copy_from_slice(b"ustar\0");
        head.extend(bytes);
        head.resize(head.len().next_multiple_of(BLOCK), 0);
        head
    }

    fn whole(entries: &[Vec<u8>]) -> Vec<u8> {
        [entries.concat(), vec![0; 2 * BLOCK]].concat()
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for (path, kind) in
            [("../up", b'0'), ("/etc/x", b'0'), ("a/../b", b'5'), ("a\nb", b'0'), ("", b'0')]
        {
            let error = entries(&whole(&[entry(path, kind, b"")])).unwrap_err();
            assert!(error.contains("invalid path"), "{path}: {error}");
        }
        for (kind, word) in [(b'2', "2"), (b'1', "1"), (b'3', "3"), (b'6', "6"), (b'x', "x")] {
            let error = entries(&whole(&[entry("a", kind, b"")])).unwrap_err();
            assert!(error.ends_with(&format!("of invalid type {word}")), "{error}");
        }
    }

    #[test]
    fn what_is_cut_off_is_told() {
        let all = whole(&[entry("results/", b'5', b""), entry("results/plan.json", b'0', b"{}")]);
        let read = entries(&all).unwrap();
        assert_eq!(read[0], Entry { path: "results".to_owned(), bytes: None });
        assert_eq!(read[1].bytes, Some(b"{}".as_slice()));
        for end in [0, 100, BLOCK, BLOCK + 1, 2 * BLOCK + 1, 3 * BLOCK] {
            assert!(entries(&all[..end]).is_err(), "{end}");
        }
    }

    /// Another program packs it, with a name that is too long for a head.
    #[test]
    fn an_archive_of_tar_is_read_whole() {
        let long = "x".repeat(150);
        let line = format!(
            "set -e; d=$(mktemp -d); mkdir -p \"$d/results/{long}\"; cd \"$d\"; \
             printf 12345 >results/{long}/five; : >results/none; tar -c results; cd /; rm -r \"$d\""
        );
        let packed = Command::new("sh").args(["-c", &line]).output().unwrap().stdout;
        let read = entries(&packed).unwrap();
        let of = |path: &str| read.iter().find(|entry| entry.path == path).unwrap().bytes;
        assert_eq!(of(&format!("results/{long}/five")), Some(b"12345".as_slice()));
        assert_eq!((of("results/none"), of("results")), (Some(b"".as_slice()), None));
    }
}
