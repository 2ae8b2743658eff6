//! Pages of `assay report` of what was measured, as it lies in the tree: findings of real runs, which README quotes, and
//! published numbers, judged again.

use std::fmt::Write as _;
use std::fs;

use assay_base::reference::Library;
use assay_claims::articles::{self, Article};
use assay_report::evidence::Evidence;
use assay_report::html::{self, Place};
use assay_study::findings::Findings;

use crate::build::root;
use crate::lab::Done;

pub const FOLDER: &str = "results/";
/// The page that names them, as if it lay in the tree.
pub const SOURCE: &str = "results/README.md";
pub const INDEX: &str = "results/index.html";
const FINDINGS: &str = "crates/assay-report/tests/fixtures/findings";
/// Findings that were measured, and what their pages are called.
const MEASURED: [(&str, &str); 2] =
    [("measured-check.json", "check.html"), ("measured-depth.json", "depth.html")];
const ARTICLES: &str = "articles.html";
#[cfg(test)]
pub const NAMES: [&str; 3] = [MEASURED[0].1, MEASURED[1].1, ARTICLES];

/// The text of the page that names them, and each page by its name.
pub fn made() -> Done<(String, Vec<(String, String)>)> {
    let mut told = "# Results\n\nPages as `assay report` writes them, of real runs. Each is one file that needs no other; \
                    their numbers say nothing of any machine but the one that they name.\n\n"
        .to_owned();
    let mut pages = Vec::new();
    for (file, name) in MEASURED {
        let path = root().join(FINDINGS).join(file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
        let findings: Findings =
            serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
        let day = findings.study.started.chars().take(10).collect::<String>();
        let (title, version) = (&findings.study.title, &findings.environment.assay);
        let _ = writeln!(told, "- [{title}]({name}), {day}, by assay {version}");
        let page = html::page(&Evidence::bare(findings), Place::Alone);
        pages.push((format!("{FOLDER}{name}"), page));
    }
    let _ = writeln!(told, "- [Published numbers, judged again]({ARTICLES})");
    let judged = articles::judge(&Library::shipped()).map_err(|failure| failure.message)?;
    let judged: Vec<&Article> = judged.iter().collect();
    pages.push((format!("{FOLDER}{ARTICLES}"), html::articles(&judged, Place::Alone)));
    Ok((told, pages))
}
