//! Submodules of a commit in its tree: from the user's repositories of them if present, otherwise from their origins.

use std::path::{Path, PathBuf};

use super::Error;
use super::git::{Hands, LONG, SHORT, complaint, ended};
use super::repository::MODULES;

const LISTED: &str = ".gitmodules";
/// Separates answers that may contain newlines.
const NUL: char = '\0';

/// A submodule: its name and its path in the tree.
struct Submodule {
    name: String,
    path: String,
}

/// Fetches the submodules of a tree recursively; `modules` are directories with the user's repositories of them.
pub(super) fn fetch(hands: &Hands<'_>, tree: &Path, modules: &[PathBuf]) -> Result<(), Error> {
    if hands.system.status(&tree.join(LISTED)).is_err() {
        return Ok(());
    }
    for submodule in submodules_of(hands, tree)? {
        let known = modules.iter().map(|directory| directory.join(&submodule.name));
        let known: Vec<PathBuf> =
            known.filter(|path| hands.system.status(&path.join("HEAD")).is_ok()).collect();
        let mut words = Vec::new();
        if let Some(known) = known.first() {
            let key = format!("submodule.{}.url", submodule.name);
            hands.output(tree, &["config", &key, &address(known)], SHORT)?;
            // The path is the user's own, not from the commit.
            words.extend(["-c", "protocol.file.allow=always"]);
        }
        words.extend(["submodule", "--quiet", "update", "--init", "--", submodule.path.as_str()]);
        let executed = hands.git(tree, &words, SHORT)?;
        if ended(&executed).is_some() {
            return Err(Error::Refused(format!(
                "cannot fetch submodule {}: {}; run git submodule update --init --recursive in the repository",
                submodule.path,
                complaint(&executed)
            )));
        }
        let theirs: Vec<PathBuf> = known.iter().map(|path| path.join(MODULES)).collect();
        fetch(hands, &tree.join(&submodule.path), &theirs)?;
    }
    Ok(())
}

/// Returns an address of a local repository from which git copies files instead of hard-linking them.
fn address(path: &Path) -> String {
    format!("file://{}", path.display().to_string().replace('%', "%25"))
}

fn submodules_of(hands: &Hands<'_>, tree: &Path) -> Result<Vec<Submodule>, Error> {
    let pattern = r"^submodule\..*\.path$";
    let ask = ["config", "--file", LISTED, "--null", "--get-regexp", pattern];
    let executed = hands.git(tree, &ask, LONG)?;
    // Fails if no submodule has a path.
    if ended(&executed).is_some() {
        return Ok(Vec::new());
    }
    let text = executed.heard.text().into_owned();
    let submodules = text.split(NUL).filter_map(|pair| {
        let (key, path) = pair.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        Some(Submodule { name: name.to_owned(), path: path.to_owned() })
    });
    let stages = hands.output(tree, &["ls-files", "--stage", "-z"], LONG)?;
    let is_link = |submodule: &Submodule| {
        stages.split(NUL).any(|entry| {
            let parts = entry.split_once('\t');
            parts.is_some_and(|(mode, path)| mode.starts_with("160000 ") && path == submodule.path)
        })
    };
    Ok(submodules.filter(is_link).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_the_path_that_it_is_of() {
        assert_eq!(address(Path::new("/a b/50%")), "file:///a b/50%25");
    }
}
