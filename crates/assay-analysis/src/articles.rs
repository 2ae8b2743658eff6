//! Source articles: their claims, and the verdict on each from the article's own numbers. `reference/claims.csv`
//! contains the verdicts; the test `recomputed.rs` recomputes them from the published tables.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use assay_core::failure::{Failure, Outcome};
use assay_core::{reference::Library, reference::sheet::SheetRow};
use assay_study::file::{Study, presets};
use assay_study::findings::answers::Claim as Verdict;
use assay_study::plan::arms::makes_layers;
use serde::Serialize;

pub const FORMAT: &str = "assay-articles/1";
const CLAIMS: &str = "claims.csv";
/// Texts of the articles: the measurement, a command that repeats it, and the printed tables.
const TEXTS: &str = "texts.csv";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Article {
    pub article: String,
    pub title: String,
    /// Texts with a statement on performance.
    pub texts: Vec<ArticleText>,
    /// Number of the article that repeats all of its texts and claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    pub claims: Vec<ArticleClaim>,
    pub tables: Vec<ArticleTable>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArticleText {
    pub title: String,
    pub measured: String,
    pub again: Vec<RunIt>,
}

/// A command that repeats the work, or the reason why none exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunIt {
    pub command: Option<String>,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArticleClaim {
    pub claim: String,
    pub verdict: Verdict,
    pub because: String,
    pub title: String,
    pub data: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArticleTable {
    pub name: String,
    pub remark: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// Reads all articles. An article has one or more adjacent rows of texts; the first one creates it.
pub fn all() -> Outcome<Vec<Article>> {
    let library = Library::shipped();
    // The tests of presets check that each preset can be read.
    let studies: Vec<_> =
        presets::all().filter_map(|(name, study)| Some((name, study.ok()?))).collect();
    let mut articles: Vec<Article> = Vec::new();
    for row in library.sheet(TEXTS)?.rows() {
        let number = row.text("article")?;
        if articles.last().is_none_or(|last| last.article != number) {
            articles.push(Article { article: number.to_owned(), ..Article::default() });
        }
        let Some(article) = articles.last_mut() else { continue };
        let text = article_text(row, &studies)?;
        if !article.title.is_empty() {
            article.title.push_str("; ");
        }
        article.title.push_str(&text.title);
        article.texts.push(text);
        article.repeats = Some(row.text("repeats")?.to_owned()).filter(|other| !other.is_empty());
        for name in row.text("tables")?.split_whitespace() {
            article.tables.push(article_table(&library, name)?);
        }
    }
    for row in library.sheet(CLAIMS)?.rows() {
        let number = row.text("article")?;
        let article = articles.iter_mut().find(|article| article.article == number);
        article.ok_or_else(|| row.broken("no such article"))?.claims.push(parse_claim(row)?);
    }
    Ok(articles)
}

fn parse_claim(row: SheetRow<'_>) -> Outcome<ArticleClaim> {
    let word = |column: &str| -> Outcome<String> { Ok(row.text(column)?.to_owned()) };
    let name = word("verdict")?;
    let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.word() == name);
    Ok(ArticleClaim {
        claim: word("claim")?,
        verdict: verdict.ok_or_else(|| row.broken("no such verdict"))?,
        because: word("reason")?,
        title: word("title")?,
        data: word("data")?,
    })
}

/// The text of a row with every way to repeat its measurement: presets, then the row's command, else a remark.
fn article_text(row: SheetRow<'_>, studies: &[(&str, Study)]) -> Outcome<ArticleText> {
    let title = row.text("title")?;
    let mut again = Vec::new();
    for (preset, study) in studies {
        if study.articles.iter().any(|article| article == title) {
            again.push(how_to_run(preset, study));
        }
    }
    let command = row.text("command")?;
    if !command.is_empty() {
        again.push(RunIt { command: Some(command.to_owned()), text: row.text("does")?.to_owned() });
    }
    if again.is_empty() {
        again.push(RunIt { command: None, text: "no preset or calculator".to_owned() });
    }
    Ok(ArticleText { title: title.to_owned(), measured: row.text("measured")?.to_owned(), again })
}

fn article_table(library: &Library, name: &str) -> Outcome<ArticleTable> {
    let sheet = library.sheet(name)?;
    Ok(ArticleTable {
        name: name.to_owned(),
        remark: sheet.remark().to_owned(),
        columns: sheet.columns().to_vec(),
        rows: sheet.rows().map(|row| row.cells().to_vec()).collect(),
    })
}

/// How to run a preset: on scratch devices if it creates filesystems or links. One for cards only shows its plan.
fn how_to_run(name: &str, study: &Study) -> RunIt {
    if study.card.is_some() {
        let text = format!("{}; the plan shows the command and which data is lost", study.title);
        return RunIt { command: Some(format!("assay plan {name} /dev/sdX")), text };
    }
    let place = if study.loads_links() || makes_layers(study) {
        " --scratch"
    } else if study.works_in_directory() {
        " ."
    } else {
        ""
    };
    RunIt { command: Some(format!("assay run {name}{place}")), text: study.title.clone() }
}

/// The article with this number, else all with this word in a title or table name; fails for an unknown name.
pub fn named<'a>(articles: &'a [Article], name: &str) -> Outcome<Vec<&'a Article>> {
    let wanted = name.to_lowercase();
    let mut found = Vec::new();
    for article in articles {
        if article.article == wanted {
            return Ok(vec![article]);
        }
        if article.repeats.is_none() && search_words(article).contains(&wanted) {
            found.push(article);
        }
    }
    if found.is_empty() {
        let numbers: Vec<&str> = articles.iter().map(|one| one.article.as_str()).collect();
        let tables: BTreeSet<&str> = articles.iter().flat_map(table_names).collect();
        let tables: Vec<&str> = tables.into_iter().collect();
        return Err(Failure::mistake(format!(
            "no article `{name}`; use {}, or a word from a title or table name, such as {}",
            numbers.join(", "),
            tables.join(", ")
        )));
    }
    Ok(found)
}

/// Lowercase words of titles and table names that find an article; words of one or two letters do not.
fn search_words(article: &Article) -> Vec<String> {
    let mut words: Vec<&str> = article.title.split(|c: char| !c.is_alphanumeric()).collect();
    for stem in table_names(article) {
        words.push(stem);
        words.extend(stem.split('_'));
    }
    words.iter().filter(|word| word.len() > 2).map(|word| word.to_lowercase()).collect()
}

fn table_names(article: &Article) -> Vec<&str> {
    let claims = article.claims.iter().map(|claim| &claim.data);
    let tables = article.tables.iter().map(|table| &table.name);
    claims.chain(tables).map(|name| name.trim_end_matches(".csv")).collect()
}
