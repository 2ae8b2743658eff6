//! `cargo xtask site`: what is written of the program as a folder of pages, for a server of files or to be opened as it
//! is. Every page of the tree is there, at its own place, with results that were measured. It runs no script and loads
//! nothing from elsewhere; a link that leads nowhere fails.

mod page;
mod results;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use assay_report::html;

use self::page::Page;
use crate::build::root;
use crate::lab::Done;
use crate::options::Options;

pub const WORDS: &[&str] = &["--out"];
const USUAL: &str = "target/site";
const DOCUMENTS: &str = "docs";
const STYLE: &str = "style.css";
/// What lies beside pages and is taken along.
const BESIDE: [&str; 5] = ["json", "png", "sh", "svg", "toml"];
const EVERY: &str = "pages.html";

/// A page that is named on all of them, and how.
const LED_TO: [(&str, &str); 9] = [
    ("Assay", "index.html"),
    ("Guide", "docs/guide.html"),
    ("Commands", "docs/reference/commands.html"),
    ("Study files", "docs/reference/study-file.html"),
    ("Trust", "docs/reference/rules.html"),
    ("Results", results::INDEX),
    ("What is stable", "docs/stability.html"),
    ("Changes", "CHANGELOG.html"),
    ("All pages", EVERY),
];

/// Makes the folder.
pub fn run(options: &Options) -> Done<bool> {
    let usual = root().join(USUAL);
    let folder = options.text("--out").map_or(usual.clone(), PathBuf::from);
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder == usual && folder.exists() {
        fs::remove_dir_all(&folder).map_err(fail)?;
    }
    fs::create_dir_all(&folder).map_err(fail)?;
    if fs::read_dir(&folder).map_err(fail)?.next().is_some() {
        return Err(format!("{} is not empty", folder.display()));
    }
    let site = Site::of_tree()?;
    let faults = site.faults();
    for fault in &faults {
        println!("xtask: {fault}");
    }
    for (name, bytes) in site.files() {
        let path = folder.join(&name);
        let below = path.parent().unwrap_or(&folder);
        let written = fs::create_dir_all(below).and_then(|()| fs::write(&path, bytes));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    println!("{}: {} pages", folder.join("index.html").display(), site.pages.len());
    Ok(faults.is_empty())
}

/// Pages by their names, and what else there is.
pub struct Site {
    pages: BTreeMap<String, Page>,
    others: BTreeMap<String, Vec<u8>>,
}

impl Site {
    fn of_tree() -> Done<Self> {
        let mut names = Vec::new();
        listed(&root(), "", false, &mut names)?;
        listed(&root(), DOCUMENTS, true, &mut names)?;
        let mut texts = BTreeMap::new();
        let mut others = BTreeMap::new();
        for name in names {
            let bytes = fs::read(root().join(&name)).map_err(|error| format!("{name}: {error}"))?;
            if !page::is_page(&name) {
                others.insert(name, bytes);
                continue;
            }
            let text = String::from_utf8(bytes).map_err(|error| format!("{name}: {error}"))?;
            texts.insert(name, text);
        }
        let (told, pages) = results::made()?;
        texts.insert(results::SOURCE.to_owned(), told);
        others.extend(pages.into_iter().map(|(name, text)| (name, text.into_bytes())));
        Self::of(&texts, others)
    }

    /// Of pages by their names in the tree, and of what lies beside them.
    fn of(texts: &BTreeMap<String, String>, others: BTreeMap<String, Vec<u8>>) -> Done<Self> {
        let there: BTreeSet<&str> = others.keys().map(String::as_str).collect();
        let mut pages = BTreeMap::new();
        for (name, text) in texts {
            let page = Page::read(name, text, &there).map_err(|why| format!("{name}: {why}"))?;
            pages.insert(page::placed(name), page);
        }
        pages.insert(EVERY.to_owned(), Page::of_list("All pages", &pages));
        let mut site = Self { pages, others };
        site.others.insert(STYLE.to_owned(), style().into_bytes());
        Ok(site)
    }

    /// Every file of the folder.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let pages = self.pages.iter();
        let pages = pages.map(|(name, page)| (name.clone(), page.whole(name).into_bytes()));
        pages.chain(self.others.clone()).collect()
    }

    /// Links that lead nowhere.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, page) in &self.pages {
            for link in &page.links {
                if let Err(why) = self.follow(name, link) {
                    faults.push(format!("{name}: the link to {link}: {why}"));
                }
            }
        }
        let led_to = LED_TO.iter().map(|(_, to)| to).filter(|to| !self.has(to));
        faults.extend(led_to.map(|to| format!("every page: there is no {to}")));
        faults
    }

    fn has(&self, name: &str) -> bool {
        self.pages.contains_key(name) || self.others.contains_key(name)
    }

    fn follow(&self, name: &str, link: &str) -> Done<()> {
        let (path, place) = link.split_once('#').unwrap_or((link, ""));
        let path = if path.is_empty() { name.to_owned() } else { page::beside(name, path) };
        if !self.has(&path) {
            return Err(format!("there is no {path}"));
        }
        match self.pages.get(&path) {
            Some(own) if !place.is_empty() && !own.places.contains(place) => {
                Err(format!("{path} has no heading #{place}"))
            }
            _ => Ok(()),
        }
    }
}

/// Pages, and what lies beside them, of a folder and of those below it.
fn listed(root: &Path, folder: &str, is_deep: bool, names: &mut Vec<String>) -> Done<()> {
    let entries = fs::read_dir(root.join(folder)).map_err(|error| format!("{folder}: {error}"))?;
    for entry in entries {
        let entry = entry.map_err(|error| format!("{folder}: {error}"))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().map_err(|error| format!("{path}: {error}"))?;
        let ending = name.rsplit('.').next().unwrap_or_default();
        if kind.is_dir() && is_deep {
            listed(root, &path, true, names)?;
        } else if kind.is_file() && (ending == "md" || (is_deep && BESIDE.contains(&ending))) {
            names.push(path);
        }
    }
    Ok(())
}

/// That of the program's own pages, and what only these have.
fn style() -> String {
    format!("{}\n{}", html::style(), include_str!("site/site.css"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_the_tree_is_there_and_each_link_lands() {
        let site = Site::of_tree().unwrap();
        assert_eq!(site.faults(), Vec::<String>::new());
        let mut names = Vec::new();
        listed(&root(), DOCUMENTS, true, &mut names).unwrap();
        let pages = names.iter().filter(|name| page::is_page(name));
        for name in pages.clone() {
            assert!(site.pages.contains_key(&page::placed(name)), "{name}");
        }
        assert!(pages.count() > 100);
        let every = &site.pages[EVERY];
        assert_eq!(every.links.len(), site.pages.len() - 1);
        for (name, bytes) in site.files() {
            if site.pages.contains_key(&name) {
                let text = String::from_utf8(bytes).unwrap();
                assert!(!text.contains("<script") && !text.contains("src=\"http"), "{name}");
                assert!(text.contains("name=\"viewport\""), "{name}");
            }
        }
        for name in results::NAMES {
            assert!(site.others.contains_key(&format!("{}{name}", results::FOLDER)), "{name}");
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_is_a_fault_and_one_beside_it_is_none() {
        let pages = |link: &str| {
            let texts = [
                ("README.md", format!("# A\n\n[x]({link})\n\n## Two words\n")),
                ("docs/guide.md", "# Guide\n\n## Part\n".to_owned()),
            ];
            texts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
        };
        let faults = |link: &str| {
            let others = BTreeMap::from([("docs/a.png".to_owned(), Vec::new())]);
            let site = Site::of(&pages(link), others).unwrap();
            let own = site.faults().into_iter().filter(|fault| fault.starts_with("index.html"));
            own.collect::<Vec<_>>()
        };
        for right in
            ["docs/guide.md", "docs/guide.md#part", "#two-words", "docs/a.png", "https://x.org/a"]
        {
            assert_eq!(faults(right), Vec::<String>::new(), "{right}");
        }
        for (wrong, why) in [
            ("docs/guides.md", "there is no docs/guides.html"),
            ("docs/guide.md#parts", "docs/guide.html has no heading #parts"),
            ("#three-words", "no heading"),
            ("docs/b.png", "there is no docs/b.png"),
            ("../README.md", "there is no"),
            ("docs", "there is no docs"),
        ] {
            let told = faults(wrong);
            assert!(told.len() == 1 && told[0].contains(why), "{wrong}: {told:?}");
        }
    }
}
