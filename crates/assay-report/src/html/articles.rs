//! The source articles on a page: all verdicts first, then each article with its numbers.

use maud::{Markup, html};

use super::parts::figure;
use super::{blocks, shell};
use crate::articles;
use crate::document::{Block, Section};
use crate::evidence::Evidence;
use crate::figure::Figure;
use crate::figures::{self, classes};
use assay_claims::articles::{Article, Histogram};

/// A page about articles.
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
        h1 { "What the articles' own numbers support" }
        p.answer { (articles::counted(judged)) }
        p { "Each verdict is computed from the numbers that the articles print, by rules that "
            "are written down beside them. The commands run the same on a machine of one's own." }
        section id="verdicts" aria-labelledby="verdicts-h" {
            h2 id="verdicts-h" { "Verdicts" }
            @for section in overview.sections.iter().filter(|section| !is_text_only(section)) {
                (blocks::section(section))
            }
        }
        @for article in judged { (one(article)) }
    };
    shell("What the articles' own numbers support", &contents, &body)
}

/// Whether a section says what this page says in its own words.
fn is_text_only(section: &Section) -> bool {
    section.blocks.iter().all(|block| matches!(block, Block::Text(_)))
}

fn anchor(article: &Article) -> String {
    format!("article-{}", article.article)
}

fn one(article: &Article) -> Markup {
    let id = anchor(article);
    html! {
        section id=(id) aria-labelledby={ (id) "-h" } {
            h2 id={ (id) "-h" } { "Article " (article.article) }
            @for section in &articles::full(article).sections { (blocks::section(section)) }
            @for drawn in drawn(article) { (figure(&drawn)) }
        }
    }
}

/// Figures of the published numbers, and of the published histograms before and after.
fn drawn(article: &Article) -> Vec<Figure> {
    let evidence = Evidence::bare(article.findings.clone());
    let mut drawn = figures::all(&evidence);
    drawn.extend(mirrored(&article.histograms));
    for figure in &mut drawn {
        figure.id = format!("{}-{}", anchor(article), figure.id);
    }
    drawn
}

/// Pairs of histograms of the same class.
fn mirrored(histograms: &[Histogram]) -> Vec<Figure> {
    let pairs = histograms.iter().enumerate().filter_map(|(index, before)| {
        let after = histograms[index + 1..].iter().find(|after| after.class == before.class)?;
        Some((before, after))
    });
    let drawn = pairs.filter_map(|(before, after)| {
        let sides = [before, after].map(|one| format!("{}={}", one.factor, one.level));
        let title = format!("latencies of {} operations", before.class);
        classes::named(&title, sides, &buckets(before), &buckets(after))
    });
    drawn.collect()
}

fn buckets(histogram: &Histogram) -> Vec<classes::Bucket> {
    let buckets = histogram.buckets.iter();
    buckets.map(|bucket| (bucket.from_ns, bucket.to_ns, bucket.count)).collect()
}
