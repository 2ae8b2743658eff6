//! The source articles for readers: all claims with their verdicts, or one article in full.

use serde::Serialize;

use super::document::numbers;
use super::document::{Block, Cell, Document, Row, Section, Table, Tone};
use super::table::Column;
use assay_base::quantity::units::show;
use assay_claims::articles::rules::verdict_word;
use assay_claims::articles::{Article, FORMAT, Histogram, Judged, Measured, PRINTED};
use assay_kinds::work::metrics::noun;
use assay_study::findings::answers::Claim as Verdict;
use assay_study::findings::{Cell as Number, Comparison, Findings, Trust};
use assay_study::results::plan::Arm;

/// Verdicts in the order in which they are counted.
const VERDICTS: [Verdict; 4] =
    [Verdict::Supported, Verdict::Contradicted, Verdict::NotShown, Verdict::NoData];
/// Percentiles of histograms, where operations enough lie above them.
const PERCENTILES: [(f64, &str); 3] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")];
/// What stands for a number that is not there.
const NONE: &str = "-";

#[derive(Serialize)]
struct Json<'a> {
    format: &'static str,
    articles: &'a [&'a Article],
}

/// Articles as one JSON document, `assay-articles/1`.
pub fn json(articles: &[&Article]) -> String {
    serde_json::to_string_pretty(&Json { format: FORMAT, articles }).unwrap_or_default()
}

/// All claims with their verdicts, by article.
pub fn overview(articles: &[&Article]) -> Document {
    let hints = vec![
        "Each verdict is computed from the numbers that the articles print. assay articles 004 (or \
         a word of its data or title, such as zfs) tells why, with the numbers and how to run it \
         oneself."
            .to_owned(),
    ];
    let sections = vec![
        plain(Block::Text(vec![counted(articles)])),
        plain(Block::Table(verdicts(articles))),
        titled(
            "the articles",
            vec![Block::Facts(articles.iter().flat_map(|article| titles(article)).collect())],
        ),
        plain(Block::Text(hints)),
    ];
    Document { title: "assay articles: what the published numbers support".to_owned(), sections }
}

/// `7 claims: 2 supported, 3 contradicted, 1 not shown, 1 no data`.
pub(super) fn counted(articles: &[&Article]) -> String {
    let claims: Vec<&Judged> = articles.iter().flat_map(|article| &article.claims).collect();
    let count = |verdict: Verdict| {
        let own = claims.iter().filter(|judged| judged.verdict == verdict).count();
        (own > 0).then(|| format!("{own} {}", verdict_word(verdict)))
    };
    let counts: Vec<String> = VERDICTS.into_iter().filter_map(count).collect();
    format!("{} claims: {}.", claims.len(), counts.join(", "))
}

/// Titles of an article, each a fact.
fn titles(article: &Article) -> Vec<(String, String)> {
    if let Some(other) = &article.repeats {
        let text = format!("texts that stand in {other}, too, with their claims");
        return vec![(article.article.clone(), text)];
    }
    article.texts.iter().map(|text| (article.article.clone(), text.title.clone())).collect()
}

fn verdicts(articles: &[&Article]) -> Table {
    let columns = vec![
        Column::left("article"),
        Column::left("data").key(),
        Column::left("verdict").judged(),
        Column::left("claim").words(),
    ];
    let one = |article: &Article, judged: &Judged| {
        let data = judged.data.trim_end_matches(".csv").to_owned();
        let name = [cell(article.article.clone()), cell(data)];
        row([&name[..], &[verdict(judged.verdict), cell(judged.claim.clone())]].concat())
    };
    let rows = articles
        .iter()
        .flat_map(|article| article.claims.iter().map(move |judged| one(article, judged)));
    Table { columns, rows: rows.collect() }
}

fn verdict(verdict: Verdict) -> Cell {
    let tone = match verdict {
        Verdict::Supported => Tone::Good,
        Verdict::Contradicted => Tone::Bad,
        Verdict::NotShown => Tone::Doubtful,
        Verdict::NoData => Tone::Plain,
    };
    Cell { text: verdict_word(verdict).to_owned(), tone }
}

/// One article in full: what it measured, each conclusion with what the numbers support, the
/// numbers, and how to run it oneself.
pub fn full(article: &Article) -> Document {
    let mut sections = Vec::new();
    if let Some(other) = &article.repeats {
        let text = format!(
            "Every text of it stands in {other}, too: its claims and numbers are told there \
             (assay articles {other})."
        );
        sections.push(plain(Block::Text(vec![text])));
    }
    for text in &article.texts {
        sections.extend(of_text(article, text));
    }
    sections.extend(tables(&article.findings));
    sections.extend(shapes(&article.histograms));
    sections.extend(checks(&article.findings));
    Document { title: format!("assay articles {}", article.article), sections }
}

fn of_text(article: &Article, text: &Measured) -> Vec<Section> {
    let mut facts = vec![("measured".to_owned(), text.measured.clone())];
    for again in &text.again {
        let command = again.command.as_ref();
        facts.extend(command.map(|command| ("run it".to_owned(), command.clone())));
        let name = if command.is_some() { "does" } else { "run it" };
        facts.push((name.to_owned(), again.text.clone()));
    }
    let mut sections = vec![titled(&text.title, vec![Block::Facts(facts)])];
    let own = article.claims.iter().filter(|judged| judged.title == text.title);
    sections.extend(own.map(|judged| plain(Block::Facts(claim_rows(judged)))));
    sections
}

/// A claim as published, and what becomes of it.
fn claim_rows(judged: &Judged) -> Vec<(String, String)> {
    vec![
        ("published".to_owned(), judged.claim.clone()),
        (verdict_word(judged.verdict).to_owned(), judged.because.clone()),
    ]
}

/// The numbers, a table a metric.
fn tables(findings: &Findings) -> Vec<Section> {
    let mut metrics: Vec<&str> = Vec::new();
    let cells = findings.cells.iter().map(|cell| cell.metric.as_str());
    for metric in cells.chain(findings.comparisons.iter().map(|found| found.metric.as_str())) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    let section = |metric: &&str| {
        let caption = format!("the numbers: {}", noun(metric).replace('_', " "));
        titled(&caption, vec![Block::Table(numbers_of(findings, metric))])
    };
    metrics.iter().map(section).collect()
}

fn numbers_of(findings: &Findings, metric: &str) -> Table {
    let of_cell = |cell: &&Number| cell.metric == metric;
    let mut rows: Vec<Row> =
        findings.cells.iter().filter(of_cell).map(|cell| number(findings, cell)).collect();
    let is_bare =
        |found: &&Comparison| found.metric == metric && cell_of(findings, found).is_none();
    rows.extend(findings.comparisons.iter().filter(is_bare).map(ratio_alone));
    let missing = findings.absent.iter().filter(|one| one.metric.as_deref() == Some(metric));
    rows.extend(missing.map(|one| {
        let name = [one.workload.clone(), levels(&one.arm)].join(" ");
        Row { name, cells: Vec::new(), notes: vec![format!("absent: {}", one.reason)] }
    }));
    let columns = vec![
        Column::left("work"),
        Column::left("levels").key(),
        Column::right("published"),
        Column::right("ratio"),
        Column::left("remark"),
    ];
    Table { columns, rows }
}

fn number(findings: &Findings, own: &Number) -> Row {
    let value = published(own);
    let compared = findings.comparisons.iter().find(|found| {
        found.workload == own.workload && found.metric == own.metric && found.arm == own.arm
    });
    let ratio = compared.and_then(|found| found.ratio).map_or_else(String::new, show::ratio);
    let doubt = own.because.iter().find(|because| because.trust != Trust::Trusted);
    let remark = Cell {
        text: doubt.map_or_else(String::new, |because| because.rule.clone()),
        tone: match own.trust {
            Some(Trust::Invalid) => Tone::Bad,
            Some(Trust::Suspect) => Tone::Doubtful,
            _ => Tone::Plain,
        },
    };
    let arm = levels(&own.arm);
    row(vec![cell(own.workload.clone()), cell(arm), cell(value), cell(ratio), remark])
}

/// The author's digits and unit, and behind them the number as it is told elsewhere.
fn published(own: &Number) -> String {
    let Some(value) = own.median else { return NONE.to_owned() };
    let told = numbers::under_heading(&own.metric, value);
    match own.because.iter().find(|because| because.rule == PRINTED) {
        Some(printed) if printed.text == told => told,
        Some(printed) => format!("{} ({told})", printed.text),
        None => told,
    }
}

/// A ratio that was published without the numbers that it is of.
fn ratio_alone(found: &Comparison) -> Row {
    let ratio = found.ratio.map_or_else(String::new, show::ratio);
    let words = [found.workload.clone(), levels(&found.arm), NONE.to_owned(), ratio];
    let mut cells: Vec<Cell> = words.into_iter().map(cell).collect();
    cells.push(cell("ratio as printed".to_owned()));
    row(cells)
}

fn cell_of<'a>(findings: &'a Findings, found: &Comparison) -> Option<&'a Number> {
    findings.cells.iter().find(|cell| {
        cell.workload == found.workload && cell.metric == found.metric && cell.arm == found.arm
    })
}

/// Levels without the names of their factors.
fn levels(arm: &Arm) -> String {
    arm.values().cloned().collect::<Vec<_>>().join(", ")
}

/// Where the percentiles of histograms lie.
fn shapes(histograms: &[Histogram]) -> Option<Section> {
    if histograms.is_empty() {
        return None;
    }
    let mut columns = vec![Column::left("class"), Column::right("level").key()];
    columns.push(Column::right("operations"));
    columns.extend(PERCENTILES.map(|(_, name)| Column::right(format!("{name} below"))));
    let shape = |shape: &Histogram| {
        let mut cells = vec![cell(shape.class.clone()), cell(shape.level.clone())];
        cells.push(cell(show::count(shape.total())));
        cells.extend(PERCENTILES.map(|(share, _)| {
            let bucket = shape.percentile(share);
            cell(bucket.map_or(NONE.to_owned(), |bucket| show::duration(bucket.to_ns as f64)))
        }));
        row(cells)
    };
    let table = Table { columns, rows: histograms.iter().map(shape).collect() };
    Some(titled("the histograms: buckets that hold each percentile", vec![Block::Table(table)]))
}

fn checks(findings: &Findings) -> Option<Section> {
    let told = findings.checks.iter().map(|check| format!("{}: {}.", check.name, check.text));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| titled("checked", vec![Block::List(told)]))
}

fn cell(text: String) -> Cell {
    Cell { text, tone: Tone::Plain }
}

/// A row is called by its first two cells where it does not stand in a table.
fn row(cells: Vec<Cell>) -> Row {
    let name: Vec<&str> = cells.iter().take(2).map(|cell| cell.text.as_str()).collect();
    Row { name: name.join(" ").trim().to_owned(), cells, notes: Vec::new() }
}

fn plain(block: Block) -> Section {
    Section { blocks: vec![block], ..Section::default() }
}

fn titled(caption: &str, blocks: Vec<Block>) -> Section {
    Section { caption: Some(caption.to_owned()), blocks, ..Section::default() }
}
