//! The copy of the tree in which all drawn changes stand at once, each behind a switch.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::areas::Mutant;
use crate::build::root;
use crate::lab::Done;

/// The environment variable that names the one change that is on, and the one that names the file to
/// which the numbers of what is reached are appended.
pub const ON: &str = "ASSAY_MUTANT";
pub const REACHED: &str = "ASSAY_MUTANT_REACHED";

/// What each crate gets. The environment goes on to children, so their changes are on as well.
const SWITCH: &str = r#"
use std::env::{var, var_os};
use std::ffi::OsString;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: OnceLock<(Option<usize>, Option<OsString>)> = OnceLock::new();
static SEEN: [AtomicBool; 8192] = [const { AtomicBool::new(false) }; 8192];

pub fn on(number: usize) -> bool {
    let (on, list) = ASKED.get_or_init(|| {
        let on = var("ASSAY_MUTANT").ok().and_then(|text| text.parse().ok());
        (on, var_os("ASSAY_MUTANT_REACHED"))
    });
    if let Some(list) = list
        && !SEEN[number].swap(true, Ordering::Relaxed)
    {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(list);
        let _ = file.and_then(|mut file| file.write_all(format!("{number}\n").as_bytes()));
    }
    *on == Some(number)
}
"#;
const MOST: usize = 8192;

/// The copy, and where each change stands in it.
pub struct Tree {
    pub folder: PathBuf,
    /// File -> number of the change -> what was put before its piece and what after it.
    pub put: BTreeMap<String, Vec<Put>>,
}

/// Where a change stands in the copy of its file, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    pub number: usize,
    pub whole: Range<usize>,
}

/// A file as it was when the chore began: who goes on working meanwhile changes nothing.
pub struct Source {
    pub name: String,
    bytes: Vec<u8>,
    mode: fs::Permissions,
    /// Where it leads, where it is no file but a link to a folder of the tree.
    link: Option<PathBuf>,
}

/// Reads the work tree.
pub fn read(files: &[String]) -> Done<Vec<Source>> {
    let read = |name: &String| {
        let path = root().join(name);
        let fail = |error: std::io::Error| format!("{name}: {error}");
        let mode = fs::metadata(&path).map_err(fail)?.permissions();
        let link = if path.is_dir() { Some(fs::read_link(&path).map_err(fail)?) } else { None };
        let bytes = if link.is_some() { Vec::new() } else { fs::read(&path).map_err(fail)? };
        Ok(Source { name: name.clone(), bytes, mode, link })
    };
    files.iter().map(read).collect()
}

/// Copies the tree with the changes in it, but for those that are dropped. What is as it should be is
/// not written again: cargo goes by the time of a file.
pub fn write(folder: &Path, files: &[Source], mutants: &[Mutant], dropped: &[bool]) -> Done<Tree> {
    if mutants.len() > MOST {
        return Err(format!("at most {MOST} at a time"));
    }
    let mut tree = Tree { folder: folder.to_owned(), put: BTreeMap::new() };
    let mut kept = std::collections::BTreeSet::new();
    for Source { name: file, bytes, mode, link } in files {
        kept.insert(file.clone());
        if let Some(link) = link {
            lead(&tree.folder.join(file), link)?;
            continue;
        }
        let own = |(_, mutant): &(usize, &Mutant)| mutant.file == *file;
        let own: Vec<(usize, &Mutant)> = mutants
            .iter()
            .enumerate()
            .filter(own)
            .filter(|(number, _)| !dropped[*number])
            .collect();
        let mut bytes = bytes.clone();
        if !own.is_empty() {
            let text = String::from_utf8(bytes).map_err(|error| format!("{file}: {error}"))?;
            let (text, put) = spliced(&text, &own);
            tree.put.insert(file.clone(), put);
            bytes = text.into_bytes();
        }
        if let Some(folder) = root_of_crate(file) {
            bytes.extend_from_slice(b"\n#[allow(warnings)]\npub mod mutant;\n");
            let switch = format!("{folder}/mutant.rs");
            keep(&tree.folder.join(&switch), SWITCH.as_bytes(), None)?;
            kept.insert(switch);
        }
        keep(&tree.folder.join(file), &bytes, Some(mode))?;
    }
    remove_others(&tree.folder, &tree.folder, &kept)?;
    Ok(tree)
}

/// The folder of a file where a crate begins.
fn root_of_crate(file: &str) -> Option<&str> {
    let (folder, name) = file.rsplit_once('/')?;
    let is_root = folder.ends_with("/src") && ["lib.rs", "main.rs"].contains(&name);
    (is_root && folder.starts_with("crates/")).then_some(folder)
}

fn keep(path: &Path, bytes: &[u8], mode: Option<&fs::Permissions>) -> Done<()> {
    let fail = |error: std::io::Error| format!("{}: {error}", path.display());
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(fail)?;
    fs::write(path, bytes).map_err(fail)?;
    mode.map_or(Ok(()), |mode| fs::set_permissions(path, mode.clone()).map_err(fail))
}

/// A link, where it is not there already.
fn lead(path: &Path, to: &Path) -> Done<()> {
    if fs::read_link(path).is_ok_and(|old| old == to) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    let made = fs::create_dir_all(folder).and_then(|()| std::os::unix::fs::symlink(to, path));
    made.map_err(|error| format!("{}: {error}", path.display()))
}

/// Removes what an older copy had.
fn remove_others(top: &Path, folder: &Path, kept: &std::collections::BTreeSet<String>) -> Done<()> {
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() && !path.is_symlink() {
            remove_others(top, &path, kept)?;
            continue;
        }
        let name = path.strip_prefix(top).unwrap_or(&path).display().to_string();
        if !kept.contains(&name) {
            fs::remove_file(&path).map_err(fail)?;
        }
    }
    Ok(())
}

/// A text with changes put into it, and where they stand then. What lies within another one's piece
/// comes to lie within it.
fn spliced(text: &str, mutants: &[(usize, &Mutant)]) -> (String, Vec<Put>) {
    // At one place: what ends there, then what has no piece, then what begins there, the outer first.
    let mut order: Vec<&(usize, &Mutant)> = mutants.iter().collect();
    order.sort_by_key(|(number, mutant)| {
        let is_within = mutant.start != mutant.end;
        (mutant.start, is_within, std::cmp::Reverse(mutant.end), *number)
    });
    let (mut out, mut at) = (String::new(), 0);
    let mut open: Vec<(usize, &Mutant, usize)> = Vec::new();
    let mut put = Vec::new();
    let close = |out: &mut String,
                 at: &mut usize,
                 open: &mut Vec<(usize, &Mutant, usize)>,
                 put: &mut Vec<Put>,
                 until: usize| {
        while let Some(&(number, mutant, start)) = open.last()
            && mutant.end <= until
        {
            out.push_str(&text[*at..mutant.end]);
            *at = mutant.end;
            out.push_str(&mutant.after);
            put.push(Put { number, whole: start..out.len() });
            open.pop();
        }
    };
    for &&(number, mutant) in &order {
        close(&mut out, &mut at, &mut open, &mut put, mutant.start);
        out.push_str(&text[at..mutant.start]);
        at = mutant.start;
        let start = out.len();
        out.push_str(&mutant.before.replace("{ON}", &format!("crate::mutant::on({number})")));
        if mutant.start == mutant.end {
            put.push(Put { number, whole: start..out.len() });
        } else {
            open.push((number, mutant, start));
        }
    }
    close(&mut out, &mut at, &mut open, &mut put, text.len());
    out.push_str(&text[at..]);
    (out, put)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod own_tests {
    use super::*;
    use crate::lab::Scratch;

    fn mutant(start: usize, end: usize, before: &str, after: &str) -> Mutant {
        let (area, file, what) = ("a".to_owned(), "crates/c/src/a.rs".to_owned(), String::new());
        let (before, after) = (before.to_owned(), after.to_owned());
        Mutant { area, file, line: 1, what, start, end, before, after }
    }

    fn told(text: &str, mutants: &[Mutant]) -> (String, Vec<Put>) {
        let mutants: Vec<(usize, &Mutant)> = mutants.iter().enumerate().collect();
        let (text, mut put) = spliced(text, &mutants);
        put.sort_by_key(|put| put.number);
        (text, put)
    }

    #[test]
    fn changes_are_put_around_their_pieces() {
        let (text, put) = told("fg(a)h", &[mutant(2, 5, "<{ON}", ">")]);
        assert_eq!(text, "fg<crate::mutant::on(0)(a)>h");
        assert_eq!(&text[put[0].whole.clone()], "<crate::mutant::on(0)(a)>");
        assert_eq!(told("as it is", &[]).0, "as it is");
    }

    #[test]
    fn a_change_within_another_one_stays_within_it() {
        let outer = mutant(0, 9, "<", ">");
        let inner = mutant(2, 4, "[", "]");
        let same = mutant(2, 4, "(", ")");
        let at = mutant(2, 2, "!", "");
        let beside = mutant(4, 5, "{", "}");
        let (text, put) = told("012345678", &[inner, outer, same, at, beside]);
        assert_eq!(text, "<01![(23)]{4}5678>");
        let pieces: Vec<&str> = put.iter().map(|put| &text[put.whole.clone()]).collect();
        assert_eq!(pieces, ["[(23)]", "<01![(23)]{4}5678>", "(23)", "!", "{4}"]);
    }

    #[test]
    fn the_switch_stands_where_a_crate_of_the_product_begins() {
        assert_eq!(root_of_crate("crates/a/src/lib.rs"), Some("crates/a/src"));
        assert_eq!(root_of_crate("crates/a/src/main.rs"), Some("crates/a/src"));
        assert_eq!(root_of_crate("crates/a/src/b/lib.rs"), None);
        assert_eq!(root_of_crate("crates/a/tests/main.rs"), None);
        assert_eq!(root_of_crate("xtask/src/main.rs"), None);
        assert!(SWITCH.contains(&format!("{ON:?}")) && SWITCH.contains(&format!("{REACHED:?}")));
        assert!(SWITCH.contains(&format!("[AtomicBool; {MOST}]")));
    }

    #[test]
    fn a_file_that_did_not_change_is_not_written_and_what_went_is_removed() {
        let scratch = Scratch::new("mutants").unwrap();
        let file = scratch.path().join("a/b");
        let time = || fs::metadata(&file).unwrap().modified().unwrap();
        keep(&file, b"1", None).unwrap();
        let first = time();
        keep(&file, b"1", None).unwrap();
        assert_eq!(time(), first);
        keep(&file, b"2", None).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"2");
        let all = ["a/b".to_owned()].into();
        remove_others(scratch.path(), scratch.path(), &all).unwrap();
        assert!(file.exists());
        remove_others(scratch.path(), scratch.path(), &std::collections::BTreeSet::new()).unwrap();
        assert!(!file.exists());
    }
}
