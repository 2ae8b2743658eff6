//! The source articles for readers: all claims with their verdicts, or one article in full.

use serde::Serialize;

use super::document::{Block, Cell, Column, Document, Row, Section, Table, Tone, counted};
use assay_analysis::articles::{Article, ArticleClaim, ArticleTable, ArticleText, FORMAT};
use assay_core::exhibit::Role;
use assay_study::findings::answers::Claim as Verdict;

#[derive(Serialize)]
struct Json<'a> {
    format: &'static str,
    articles: &'a [&'a Article],
}

pub fn json(articles: &[&Article]) -> String {
    serde_json::to_string_pretty(&Json { format: FORMAT, articles }).unwrap_or_default()
}

pub fn overview(articles: &[&Article]) -> Document {
    let hints = vec![
        "Assay computes each verdict from the published numbers. For reasons, numbers and commands to repeat a \
         measurement, run assay articles 004. Instead of the number, you can use a word from the data or title, such \
         as zfs."
            .to_owned(),
    ];
    let sections = vec![
        Section::new(Block::Text(vec![verdict_counts(articles)])),
        Section::new(Block::Table(verdict_table(articles))),
        Section::titled(
            "articles",
            vec![Block::Facts(articles.iter().flat_map(|article| title_rows(article)).collect())],
        ),
        Section::new(Block::Text(hints)),
    ];
    Document { title: "assay articles: claims checked against the numbers".to_owned(), sections }
}

/// `7 claims: 2 supported, 3 contradicted, 1 not shown, 1 no data`.
pub(super) fn verdict_counts(articles: &[&Article]) -> String {
    let claims: Vec<&ArticleClaim> = articles.iter().flat_map(|article| &article.claims).collect();
    let count_of = |verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let counts = counted(Verdict::ALL.map(|verdict| (count_of(verdict), verdict.word())));
    format!("{} claims: {counts}.", claims.len())
}

fn title_rows(article: &Article) -> Vec<(String, String)> {
    if let Some(other) = &article.repeats {
        let text = format!("same texts and claims as article {other}");
        return vec![(article.article.clone(), text)];
    }
    article.texts.iter().map(|text| (article.article.clone(), text.title.clone())).collect()
}

fn verdict_table(articles: &[&Article]) -> Table {
    let mut claims: Vec<(&Article, &ArticleClaim)> = Vec::new();
    for article in articles {
        claims.extend(article.claims.iter().map(|claim| (*article, claim)));
    }
    let mut table = Table::default();
    table.add(Column::left("article"), &claims, |(article, _)| &article.article);
    table.add(Column::key("data"), &claims, |(_, claim)| claim.data.trim_end_matches(".csv"));
    table.add(Column::verdict("verdict"), &claims, |(_, claim)| verdict_cell(claim.verdict));
    table.add(Column::sentences("claim"), &claims, |(_, claim)| &claim.claim);
    table
}

fn verdict_cell(verdict: Verdict) -> Cell {
    let tone = match verdict {
        Verdict::Supported => Tone::Good,
        Verdict::Contradicted => Tone::Bad,
        Verdict::NotShown => Tone::Doubtful,
        Verdict::NoData => Tone::Plain,
    };
    Cell::toned(verdict.word(), tone)
}

/// One article in full: its measurements, how to repeat them, each claim with its verdict, and its tables.
pub fn full(article: &Article) -> Document {
    let mut sections = Vec::new();
    if let Some(other) = &article.repeats {
        let text = format!(
            "Article {other} has the same texts; run assay articles {other} to see its claims and numbers."
        );
        sections.push(Section::new(Block::Text(vec![text])));
    }
    for text in &article.texts {
        sections.extend(text_sections(article, text));
    }
    sections.extend(article.tables.iter().map(published_numbers));
    Document { title: format!("assay articles {}", article.article), sections }
}

fn text_sections(article: &Article, text: &ArticleText) -> Vec<Section> {
    let mut facts = vec![("measured".to_owned(), text.measured.clone())];
    for again in &text.again {
        let command = again.command.as_ref();
        facts.extend(command.map(|command| ("run it".to_owned(), command.clone())));
        let name = if command.is_some() { "purpose" } else { "run it" };
        facts.push((name.to_owned(), again.text.clone()));
    }
    let mut sections = vec![Section::titled(&text.title, vec![Block::Facts(facts)])];
    let claims = article.claims.iter().filter(|claim| claim.title == text.title);
    sections.extend(claims.map(|claim| Section::new(Block::Facts(claim_rows(claim)))));
    sections
}

fn claim_rows(judged: &ArticleClaim) -> Vec<(String, String)> {
    vec![
        ("published".to_owned(), judged.claim.clone()),
        (judged.verdict.word().to_owned(), judged.because.clone()),
    ]
}

fn published_numbers(table: &ArticleTable) -> Section {
    let mut columns: Vec<Column> =
        table.columns.iter().map(|name| Column::left(name.replace('_', " "))).collect();
    if let Some(last) = columns.last_mut() {
        // The last column has remarks, which are wrapped.
        last.role = Role::Text;
    }
    let numbers =
        Table { columns, rows: table.rows.iter().map(Row::new).collect(), ..Table::default() };
    let blocks = vec![Block::Text(vec![table.remark.clone()]), Block::Table(numbers)];
    Section::titled("published numbers", blocks)
}
