//! `assay report --all`: every stored result as a static site, with any contents of a result.

use std::fs;
use std::path::{Path, PathBuf};

use assay_testkit::home::Home;
use assay_testkit::hostile::{self, ALIVE, SCRIPT};
use assay_testkit::samples::words_of_page;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::{DEPTH, DRIVE, home};

/// A result name that contains a tag, and ends or changes a URL.
const NAME: &str = "20260101-000000-<img src=x onerror=alert(1)>\"'#?%&amp;";

fn results(home: &Home) -> PathBuf {
    home.assay.home().join("results")
}

/// Writes the site of a home and returns its folder.
fn site(home: &Home) -> PathBuf {
    let folder = home.scratch.path().join("site");
    let printed = home.text(&["report", "--all", "-o", folder.to_str().unwrap()]);
    assert_eq!(Path::new(printed.trim()), folder.join("index.html"));
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        names.push(entry.unwrap().file_name().into_string().unwrap());
    }
    names.sort();
    names
}

fn linked(page: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(page).unwrap();
    let mut files = Vec::new();
    for part in text.split("href=\"").skip(1) {
        let link = part.split('"').next().unwrap();
        if !link.starts_with('#') {
            assert!(!link.starts_with('/') && !link.contains(':'), "{link} is not relative");
            files.push(page.parent().unwrap().join(decoded(link)));
        }
    }
    files
}

/// Decodes `%41`.
fn decoded(link: &str) -> String {
    let mut parts = link.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}

/// Checks that a page runs only scripts that its policy names by hash.
fn assert_harmless(page: &Path) {
    let text = fs::read_to_string(page).unwrap();
    for alive in ALIVE {
        assert!(!text.contains(alive), "{}: {alive}", page.display());
    }
    let policy = text.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
    let policy = policy.split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    for tag in ["style", "script"] {
        for part in text.split(&format!("<{tag}>")).skip(1) {
            let inside = part.split(&format!("</{tag}>")).next().unwrap();
            let hash = STANDARD.encode(Sha256::digest(inside.as_bytes()));
            assert!(policy.contains(&format!("'sha256-{hash}'")), "{tag}: {policy}");
        }
    }
}

#[test]
fn site_links_every_result_and_escapes_all_texts() {
    let home = home("site");
    let study = home.file("depth.toml", DEPTH);
    let found = home.json(&["run", &study, DRIVE, "--json"]);
    let id = found["study"]["id"].as_str().unwrap();
    let good = results(&home).join(id);
    let parcel = home.scratch.path().join("depth.assay").display().to_string();
    home.text(&["export", id, "--format", "bundle", "-o", &parcel]);
    let foreign = home.text(&["import", &parcel]).trim().to_owned();
    hostile::copy(&good, &results(&home).join(NAME));
    let titled = results(&home).join("20260101-000000-title");
    hostile::copy(&good, &titled);
    let label = serde_json::json!({ "title": SCRIPT, "notes": [SCRIPT] });
    fs::write(titled.join("label.json"), label.to_string()).unwrap();
    let broken = results(&home).join("20260101-000000-broken");
    hostile::copy(&good, &broken);
    fs::write(broken.join("plan.json"), SCRIPT).unwrap();

    let folder = site(&home);
    let index = folder.join("index.html");
    let text = fs::read_to_string(&index).unwrap();
    assert_harmless(&index);
    assert!(text.contains("5 in total, newest first. 1 cannot be read."));
    assert!(text.contains("cannot be read: 20260101-000000-broken/plan.json: "), "{text}");
    assert!(!text.contains(results(&home).to_str().unwrap()), "a path of this machine");
    let marked = format!("{foreign}</a></th><td class=\"w\">Which depth?</td><td>study; foreign<");
    assert!(text.contains(&marked), "{text}");
    let pages = linked(&index);
    assert_eq!(pages.len(), 4);
    for page in &pages {
        assert_harmless(page);
        assert_eq!(linked(page), [page.parent().unwrap().join("../index.html")]);
    }
    assert!(pages.contains(&folder.join(format!("results/{NAME}.html"))), "{pages:?}");
    assert!(fs::read_to_string(&pages[0]).unwrap().contains("better"));
    // No other files exist, even after writing the site again.
    site(&home);
    assert_eq!(names(&folder), ["index.html", "results"]);
    assert_eq!(names(&folder.join("results")).len(), 4);
}

#[test]
fn site_needs_a_folder_and_results() {
    let home = home("site-refused");
    let file = home.file("file", "");
    let folder = home.scratch.path().join("site").display().to_string();
    assert!(home.refused(2, &["report", "--all", "-o", &folder]).contains("no result"));
    assert!(home.refused(2, &["report", "--all", "-o", &file]).contains("is not a directory"));
    assert!(home.refused(2, &["report", "--all", "-o", "-"]).contains("-o DIR"));
    assert!(home.told(2, &["report", "--all"]).contains("--output"));
    assert!(home.told(2, &["report", "one", "--all", "-o", &folder]).contains("--all"));
    assert!(!Path::new(&folder).exists());
}

/// The README's picture matches the current report.
#[test]
fn the_picture_of_the_readme_is_current() {
    let home = home("picture");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let result = results(&home).join("check");
    fs::create_dir_all(&result).unwrap();
    let archive = root.join("docs/data/check.assay");
    let folder = result.to_str().unwrap();
    assay_testkit::call("tar", &["-xzf", archive.to_str().unwrap(), "-C", folder]).unwrap();
    let page = home.scratch.path().join("page.html");
    home.text(&["report", "check", "-o", page.to_str().unwrap()]);
    let words = words_of_page(&fs::read_to_string(&page).unwrap());
    let drawn = fs::read_to_string(root.join("docs/figures/page.txt")).unwrap();
    assert_eq!(words, drawn, "run cargo xtask pages");
}
