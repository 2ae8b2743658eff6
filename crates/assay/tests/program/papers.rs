//! Every command of the program that a page shows parses.

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

#[allow(dead_code, reason = "the tidy tests use the rest")]
#[path = "../tidy/markdown.rs"]
mod markdown;

/// Pages that people write, with their names. The changelog names retired commands.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["", "docs", "docs/howto", "docs/explanation", "docs/dev", "docs/dev/decisions"] {
        let Ok(entries) = fs::read_dir(root.join(folder)) else { continue };
        let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        for path in paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "md"))
        {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name != "CHANGELOG.md" {
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// The words of a call of the program; nothing where a text is none.
fn call(text: &str) -> Option<Vec<String>> {
    let text = text.strip_prefix("sudo ").unwrap_or(text);
    let text = text.strip_prefix("./").unwrap_or(text);
    let rest = text.strip_prefix("assay ")?;
    rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '-').then_some(())?;
    shell_words::split(text.split(" | ").next().unwrap_or(text)).ok()
}

/// Why a call would be refused. One that only names a command may lack the rest.
fn refusal(words: &[String]) -> Option<String> {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    let error = assay::cli::definition().try_get_matches_from(words).err()?;
    let named = [
        DisplayHelp,
        DisplayVersion,
        DisplayHelpOnMissingArgumentOrSubcommand,
        ErrorKind::MissingRequiredArgument,
        ErrorKind::MissingSubcommand,
    ];
    (!named.contains(&error.kind())).then(|| error.to_string())
}

#[test]
fn every_command_of_the_pages_is_one() {
    let mut seen = 0;
    let mut wrong = Vec::new();
    for (page, content) in pages() {
        for (line, shown) in markdown::commands(&content) {
            let Some(words) = call(&shown) else { continue };
            seen += 1;
            if let Some(why) = refusal(&words) {
                wrong.push(format!("{page}:{line}: {shown}: {}", why.lines().next().unwrap_or("")));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(seen > 80, "{seen}");
}

#[test]
fn a_command_that_is_none_is_found() {
    let refused = |text: &str| call(text).and_then(|words| refusal(&words));
    for right in [
        "assay check --quick /mnt",
        "sudo assay run production --set scheduler=none",
        "assay collection add",
    ] {
        assert_eq!(refused(right), None);
    }
    // The last is a name of an older day.
    for wrong in ["assay chek", "assay check --quik", "./assay list drives --jason", "assay add"] {
        assert!(refused(wrong).is_some(), "{wrong}");
    }
    assert_eq!(call("cargo test"), None);
}
