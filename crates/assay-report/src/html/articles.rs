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
    let contents: Vec<(String, &str)> = [("#verdicts".to_owned(), "Verdicts")]
        .into_iter()
        .chain(names.iter().map(|(address, name)| (address.clone(), name.as_str())))
        .collect();
    let overview = articles::overview(judged);
    let body = html! {
        h1 { "Do the published numbers support the claims?" }
        p.answer { (articles::verdict_counts(judged)) }
        p { "Assay computes each verdict from the published numbers. The commands repeat the measurements "
            "on your own machine." }
        section id="verdicts" aria-labelledby="verdicts-h" {
            h2 id="verdicts-h" { "Verdicts" }
            @for section in overview.sections.iter().filter(|section| !is_text_only(section)) {
                (blocks::section(section))
            }
        }
        @for article in judged { (article_section(article)) }
    };
    shell("Do the published numbers support the claims?", &contents, &body)
}

fn is_text_only(section: &Section) -> bool {
    section.blocks.iter().all(|block| matches!(block, Block::Text(_)))
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
