//! The source articles on a page: all verdicts first, then each article with its numbers.

use maud::{Markup, html};

use super::{blocks, shell};
use crate::articles;
use crate::document::{Block, Section};
use assay_analysis::articles::Article;

pub fn page(judged: &[&Article]) -> String {
    let names: Vec<(String, String)> = judged
        .iter()
        .map(|article| (format!("#{}", anchor(article)), format!("Article {}", article.article)))
        .collect();
    let mut contents = vec![("#verdicts".to_owned(), "Verdicts")];
    contents.extend(names.iter().map(|(address, name)| (address.clone(), name.as_str())));
    let overview = articles::overview(judged);
    let is_text = |block: &Block| matches!(block, Block::Text(_));
    let has_more = |section: &&Section| !section.blocks.iter().all(is_text);
    let body = html! {
        h1 { "Do the published numbers support the claims?" }
        p.answer { (articles::verdict_counts(judged)) }
        p { "Assay computes each verdict from the published numbers. The commands repeat the measurements "
            "on your own machine." }
        section id="verdicts" aria-labelledby="verdicts-h" {
            h2 id="verdicts-h" { "Verdicts" }
            @for section in overview.sections.iter().filter(has_more) { (blocks::section(section)) }
        }
        @for article in judged { (article_section(article)) }
    };
    shell("Do the published numbers support the claims?", &contents, &body)
}

fn anchor(article: &Article) -> String {
    format!("article-{}", article.article)
}

fn article_section(article: &Article) -> Markup {
    let id = anchor(article);
    html! {
        section id=(id) aria-labelledby={ (id) "-h" } {
            h2 id={ (id) "-h" } { "Article " (article.article) }
            @for section in &articles::full(article).sections { (blocks::section(section)) }
        }
    }
}
