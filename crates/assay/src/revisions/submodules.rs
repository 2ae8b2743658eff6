//! Submodules of a commit in its tree: from the user's repositories of them if present, otherwise from their origins.

use std::path::{Path, PathBuf};

use super::Error;
use super::git::{LONG, ProgramRunner, SHORT, error_lines, has_failed};
use super::repository::MODULES;

const GITMODULES: &str = ".gitmodules";
/// Separates answers that may contain newlines.
const NUL: char = '\0';

/// A submodule: its name and its path in the tree.
struct Submodule {
    name: String,
    path: String,
}

/// Fetches the submodules of a tree recursively; `modules` are directories with the user's repositories of them.
pub(super) fn fetch(
    runner: &ProgramRunner<'_>,
    tree: &Path,
    modules: &[PathBuf],
) -> Result<(), Error> {
    if runner.system.status(&tree.join(GITMODULES)).is_err() {
        return Ok(());
    }
    for submodule in submodules_of(runner, tree)? {
        let mut repositories: Vec<PathBuf> =
            modules.iter().map(|directory| directory.join(&submodule.name)).collect();
        repositories.retain(|path| runner.system.status(&path.join("HEAD")).is_ok());
        let mut words = Vec::new();
        if let Some(repository) = repositories.first() {
            let key = format!("submodule.{}.url", submodule.name);
            runner.git_output(tree, &["config", &key, &address(repository)], SHORT)?;
            // Safe, because this path is not from the commit.
            words.extend(["-c", "protocol.file.allow=always"]);
        }
        words.extend(["submodule", "--quiet", "update", "--init", "--", submodule.path.as_str()]);
        let executed = runner.git(tree, &words, SHORT)?;
        if has_failed(&executed) {
            return Err(Error::Refused(format!(
                "cannot fetch submodule {}: {}; run git submodule update --init --recursive in the repository",
                submodule.path,
                error_lines(&executed)
            )));
        }
        let nested: Vec<PathBuf> = repositories.iter().map(|path| path.join(MODULES)).collect();
        fetch(runner, &tree.join(&submodule.path), &nested)?;
    }
    Ok(())
}

/// Returns an address of a local repository from which git copies files instead of hard-linking them.
fn address(path: &Path) -> String {
    format!("file://{}", path.display().to_string().replace('%', "%25"))
}

/// Returns the submodules that `.gitmodules` lists and the commit contains.
fn submodules_of(runner: &ProgramRunner<'_>, tree: &Path) -> Result<Vec<Submodule>, Error> {
    let pattern = r"^submodule\..*\.path$";
    let query = ["config", "--file", GITMODULES, "--null", "--get-regexp", pattern];
    let executed = runner.git(tree, &query, LONG)?;
    // Git fails if no submodule has a path.
    if has_failed(&executed) {
        return Ok(Vec::new());
    }
    let text = executed.heard.text().into_owned();
    let listed = text.split(NUL).filter_map(|pair| {
        let (key, path) = pair.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        Some(Submodule { name: name.to_owned(), path: path.to_owned() })
    });
    let stages = runner.git_output(tree, &["ls-files", "--stage", "-z"], LONG)?;
    // Git stores a submodule as an entry of mode 160000.
    let entries = stages.split(NUL).filter_map(|entry| entry.split_once('\t'));
    let paths: Vec<&str> =
        entries.filter(|(mode, _)| mode.starts_with("160000 ")).map(|(_, path)| path).collect();
    Ok(listed.filter(|submodule| paths.contains(&submodule.path.as_str())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_the_path_that_it_is_of() {
        assert_eq!(address(Path::new("/a b/50%")), "file:///a b/50%25");
    }
}
