//! `cargo xtask release`: whether what lies in `target/dist` is a release of this commit, and the notes of
//! it. It changes nothing but the notes: no tag is set and nothing is sent anywhere.

use std::fs;
use std::path::Path;

use assay_base::digest::{hexadecimal, sha256};

use super::machines::MACHINES;
use super::{Release, about, git, read};
use crate::build::root;
use crate::lab::Done;
use crate::options::Options;
use crate::signing;

const SUMS: &str = "SHA256SUMS";
const CHANGES: &str = "CHANGELOG.md";
const NOTES: &str = "NOTES.md";
/// What the manifest has as long as nobody has said where the sources are and whom to write to.
const PLACEHOLDER: &str = "example.org";

/// Says everything that is missing; without a fault the notes are written.
pub fn run(_: &Options) -> Done<bool> {
    let release = Release::of_head()?;
    let changes = fs::read_to_string(root().join(CHANGES));
    let changes = changes.map_err(|error| format!("{CHANGES}: {error}"))?;
    let sums = fs::read_to_string(release.folder.join(SUMS)).unwrap_or_default();
    let mut wrong = of_tree(&release)?;
    wrong.extend(unnamed(&[("authors", about::AUTHORS), ("repository", about::PLACE)]));
    wrong.extend(files(&release, &sums));
    if !signing::is_signed(&release.folder.join(SUMS)) {
        wrong.push(format!("{SUMS} is not signed: cargo xtask dist --sign KEY"));
    }
    let told = told_of(&changes, &release.version);
    wrong.extend(told.as_ref().err().cloned());
    for line in &wrong {
        println!("xtask: {line}");
    }
    if let (Ok(told), true) = (told, wrong.is_empty()) {
        let path = release.folder.join(NOTES);
        let notes = notes(&release, &told, &sums);
        fs::write(&path, notes).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(wrong.is_empty())
}

/// What speaks against the checkout: changes that no commit has, and a tag of this version elsewhere.
fn of_tree(release: &Release) -> Done<Vec<String>> {
    let mut wrong = Vec::new();
    if release.commit.ends_with("-changed") {
        wrong.push("there are changes that no commit has".to_owned());
    }
    let tag = format!("v{}", release.version);
    let tagged = git(&["for-each-ref", "--format=%(refname:short)", &format!("refs/tags/{tag}")])?;
    let here = git(&["tag", "--points-at", "HEAD"])?;
    if !tagged.is_empty() && !here.lines().any(|name| name == tag) {
        wrong.push(format!("{tag} is another commit: this one needs another version"));
    }
    Ok(wrong)
}

/// Lines of the manifest that still are placeholders.
fn unnamed(lines: &[(&str, &str)]) -> Vec<String> {
    let open = lines.iter().filter(|(_, value)| value.contains(PLACEHOLDER));
    open.map(|(name, value)| format!("{name} of Cargo.toml is a placeholder: {value}")).collect()
}

/// What the list of changes says of a version, which must be its first section and have a date.
fn told_of(changes: &str, version: &str) -> Done<String> {
    let (_, rest) = changes.split_once("\n## ").ok_or(format!("{CHANGES} has no section"))?;
    let (heading, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    let date = heading.strip_prefix(version).and_then(|rest| rest.strip_prefix(", "));
    if !date.is_some_and(is_date) {
        return Err(format!(
            "{CHANGES} begins with `## {heading}`, not with `## {version}, YYYY-MM-DD`"
        ));
    }
    let told = rest.split("\n## ").next().unwrap_or_default().trim();
    if told.is_empty() { Err(format!("{CHANGES} says nothing of it")) } else { Ok(told.to_owned()) }
}

fn is_date(text: &str) -> bool {
    let is_digit = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    text.len() == 10 && text.bytes().enumerate().all(is_digit)
}

/// What is wrong with the files that the sums name: each has its sum, machines that every toolchain has are
/// there, each with its list of what is inside, and such lists are of this commit.
fn files(release: &Release, sums: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap_or((line, ""));
        wrong.extend(fault(release, sum, name));
    }
    for machine in MACHINES.iter().filter(|machine| !machine.is_rare) {
        for kind in ["tar.gz", "cdx.json"] {
            let name = format!("{}.{kind}", release.name(machine));
            if !sums.lines().any(|line| line.ends_with(&format!("  {name}"))) {
                wrong.push(format!("{SUMS} has no {name}: cargo xtask dist"));
            }
        }
    }
    wrong
}

fn fault(release: &Release, sum: &str, name: &str) -> Option<String> {
    // A name of the list is one of this folder.
    if name.is_empty() || Path::new(name).file_name().is_none_or(|own| own != name) {
        return Some(format!("{SUMS} names {name:?}"));
    }
    let bytes = match read(&release.folder.join(name)) {
        Err(reason) => return Some(reason),
        Ok(bytes) => bytes,
    };
    if hexadecimal(&sha256(&bytes)) != sum {
        return Some(format!("{name} is not what {SUMS} says"));
    }
    let commit = format!("\"value\": \"{}\"", release.commit);
    let is_other =
        name.ends_with(".cdx.json") && !String::from_utf8_lossy(&bytes).contains(&commit);
    is_other.then(|| format!("{name} is of another commit: cargo xtask dist"))
}

fn notes(release: &Release, told: &str, sums: &str) -> String {
    let (version, commit) = (&release.version, &release.commit);
    format!(
        "# {} {version}\n\nCommit {commit}.\n\n{told}\n\n## Sums\n\n```text\n{sums}```\n",
        about::NAME
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::lab::Scratch;

    #[test]
    fn notes_are_the_first_section_where_that_is_of_the_version_and_has_a_date() {
        let text = "# Changelog\n\n## 1.0.0-rc.1, 2026-12-01\n\n- New.\n\n## 0.1.0, 2026-01-01\n\n- Old.\n";
        assert_eq!(told_of(text, "1.0.0-rc.1").unwrap(), "- New.");
        for version in ["0.1.0", "1.0.0"] {
            assert!(told_of(text, version).unwrap_err().contains("begins with `## 1.0.0-rc.1"));
        }
        let text = "# Changelog\n\n## Unreleased\n\n- New.\n";
        assert!(told_of(text, "0.1.0").unwrap_err().contains("`## Unreleased`"));
        assert!(told_of("# Changelog\n\n## 0.1.0, soon\n\n- New.\n", "0.1.0").is_err());
        assert!(told_of("# Changelog\n\n## 0.1.0, 2026-01-01\n", "0.1.0").is_err());
        assert!(told_of("# Changelog\n", "0.1.0").is_err());
    }

    #[test]
    fn a_placeholder_is_named_and_a_name_is_not() {
        let told = unnamed(&[("authors", "A <a@example.org>"), ("repository", "https://b.net/a")]);
        assert_eq!(told, ["authors of Cargo.toml is a placeholder: A <a@example.org>"]);
    }

    #[test]
    fn a_file_that_is_missing_changed_or_of_another_commit_is_named() {
        let scratch = Scratch::new("release").unwrap();
        let folder = scratch.path().to_owned();
        let release = Release { commit: "0123456789ab".to_owned(), folder, ..Release::of_none() };
        let mut lines = Vec::new();
        let mut put = |name: &str, text: &str| {
            fs::write(scratch.path().join(name), text).unwrap();
            lines.push(format!("{}  {name}\n", hexadecimal(&sha256(text.as_bytes()))));
        };
        for machine in MACHINES.iter().filter(|machine| !machine.is_rare) {
            let name = release.name(machine);
            put(&format!("{name}.tar.gz"), machine.name);
            put(&format!("{name}.cdx.json"), "{ \"value\": \"0123456789ab\" }");
        }
        put("a.cdx.json", "{ \"value\": \"0123456789ab\" }");
        let sums = lines.concat();
        assert_eq!(files(&release, &sums), Vec::<String>::new());
        assert_eq!(files(&release, "").len(), 6);
        let other = Release {
            commit: "ab".to_owned(),
            folder: release.folder.clone(),
            ..Release::of_none()
        };
        let told = files(&other, &sums);
        assert_eq!(told.len(), 4, "{told:?}");
        assert_eq!(told[3], "a.cdx.json is of another commit: cargo xtask dist");
        fs::write(scratch.path().join("a.cdx.json"), "{}").unwrap();
        assert_eq!(files(&release, &sums), ["a.cdx.json is not what SHA256SUMS says"]);
        fs::remove_file(scratch.path().join("a.cdx.json")).unwrap();
        assert!(files(&release, &sums)[0].contains("a.cdx.json: "));
        assert!(files(&release, &format!("{sums}00  ../x\n"))[1].contains("names \"../x\""));
    }
}
