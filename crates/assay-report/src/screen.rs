//! A result on a terminal, where users read the last lines first: details, answer with caveats, numbers.

use super::document::check_tables::EXTREME;
use super::document::{self, Block, Detail, Document, NONE, Remark, Section, SectionRole};
use super::layout::{clean, wrap};
use super::table::cut;
use super::text::{NARROW, TextPage, joined};
use assay_study::findings::{Findings, Trust};

/// Lines for a result on a terminal of 24 lines.
const LINES: usize = 21;
/// Facts that only `--full` prints.
const CONDITIONS: [&str; 4] = ["kernel", "machine", "platform", "margin"];

type Lines = Vec<String>;

/// Parts of a result, by their position on the screen.
#[derive(Default)]
struct Parts {
    heading: Vec<Lines>,
    details: Vec<Lines>,
    summary: Vec<Lines>,
    tables: Vec<Lines>,
}

/// A result as text of at most `width` columns, so that the answer is on the last screen; `colour` colors verdicts.
pub fn screen(findings: &Findings, detail: Detail, width: usize, colour: bool) -> String {
    let page = TextPage::new(width, colour);
    let [leading, others] = document::leading_sentences(findings);
    let answer = leading.first().map_or("", String::as_str);
    let mut document = document::build(findings, detail);
    let mut doubts = Vec::new();
    if detail == Detail::Usual {
        shorten(&mut document, answer, &mut doubts, &page);
        doubts.extend(dash_remark(&document));
    }
    let doubts: Lines = doubts.iter().flat_map(|doubt| remark_lines(doubt, page.width)).collect();
    let Parts { heading, details, summary, tables } = Parts::new(&document, findings, &page);
    let list = |sentences: Vec<String>| page.section(&Section::new(Block::List(sentences)));
    let summary_has_answer = findings.summary.iter().any(|sentence| sentence.text == answer);
    let full_answer = [summary, vec![doubts.clone()]].concat();
    let short_answer = [list(leading), vec![doubts]].concat();
    let mut parts = vec![page.title(&document.title)];
    parts.extend(heading);
    if summary_has_answer && fits_screen(&full_answer, &tables) {
        // The whole summary and its numbers are the last screen.
        parts.extend(details);
        parts.extend(full_answer);
        parts.extend(tables);
    } else {
        // Only the sentences that nobody may miss are near the end.
        parts.extend(list(others));
        parts.extend(details);
        if fits_screen(&short_answer, &tables) {
            parts.extend(short_answer);
            parts.extend(tables);
        } else {
            // The tables scroll: the answer comes last, to remain visible.
            parts.extend(tables);
            parts.extend(short_answer);
        }
    }
    joined(&parts)
}

/// Whether the answer and its tables fit on one screen, each part with an empty line.
fn fits_screen(answer: &[Lines], tables: &[Lines]) -> bool {
    answer.iter().chain(tables).map(|part| part.len() + 1).sum::<usize>() <= LINES
}

impl Parts {
    fn new(document: &Document, findings: &Findings, page: &TextPage) -> Self {
        let mut parts = Self::default();
        let main = main_role(document, findings);
        for section in &document.sections {
            let lines = page.section(section);
            if section.role == SectionRole::Summary {
                parts.summary = lines;
            } else if Some(section.role) == main {
                parts.tables.extend(lines);
            } else if matches!(section.blocks.first(), Some(Block::Facts(_))) {
                parts.heading.extend(lines);
            } else {
                parts.details.extend(lines);
            }
        }
        parts
    }
}

/// Role of the sections with the numbers of the answer: of the leading figure, the main tables, or another figure.
fn main_role(document: &Document, findings: &Findings) -> Option<SectionRole> {
    let (leading, others) = document.leading(findings);
    let main = others.iter().find(|section| section.role == SectionRole::Main);
    let figure = others.iter().find(|section| matches!(section.role, SectionRole::Of(_)));
    leading.first().or(main).or(figure).map(|section| section.role)
}

/// Removes conditions, legends, repetitions of the answer and columns without room; moves remarks on trust to `doubts`.
fn shorten(document: &mut Document, answer: &str, doubts: &mut Vec<Remark>, page: &TextPage) {
    let is_legend = |it: &Section| it.role == SectionRole::Closer && it.caption.is_none();
    document.sections.retain(|section| !is_legend(section));
    let others = document.sections.iter_mut().filter(|it| it.role != SectionRole::Summary);
    for block in others.flat_map(|section| &mut section.blocks) {
        match block {
            Block::Facts(facts) => facts.retain(|(name, _)| !CONDITIONS.contains(&name.as_str())),
            Block::List(texts) => {
                let without_answer = |text: &String| {
                    text.strip_prefix(answer).unwrap_or(text).trim_start().to_owned()
                };
                *texts = texts.iter().map(without_answer).collect();
                texts.retain(|text| !text.is_empty());
            }
            Block::Remarks(remarks) => {
                let is_doubt = |remark: &mut Remark| {
                    matches!(remark.trust, Some(Trust::Suspect | Trust::Invalid))
                };
                doubts.extend(remarks.extract_if(.., is_doubt));
            }
            Block::Table(table) if !page.has_room(table) => {
                table.retain(|_, column| column.title != EXTREME);
            }
            Block::Text(_) | Block::Table(_) => {}
        }
    }
    let is_empty = |block: &Block| matches!(block, Block::List(texts) if texts.is_empty());
    document.sections.retain(|section| !section.blocks.iter().all(is_empty));
}

/// Explains a dash in the table of a check; `None` without one.
fn dash_remark(document: &Document) -> Option<Remark> {
    let tables = document.sections.iter().filter(|section| section.role == SectionRole::Main);
    let has_dash = |block: &Block| match block {
        Block::Table(table) => {
            table.columns.iter().any(|column| column.title == RATE) && table.has_missing()
        }
        _ => false,
    };
    tables.flat_map(|section| &section.blocks).any(has_dash).then(|| Remark {
        rule: format!("\"{NONE}\""),
        trust: None,
        text: "too few operations or trials".to_owned(),
        rows: Vec::new(),
    })
}

const RATE: &str = "MB/s";

/// A remark in one line that is cut at the end: `steal [sync-write]: the hypervisor...`; on a narrow screen, wrapped.
fn remark_lines(remark: &Remark, width: usize) -> Lines {
    let rows = match remark.rows.as_slice() {
        [] => String::new(),
        rows => format!(" [{}]", rows.join(", ")),
    };
    let line = clean(&format!("{}{rows}: {}", remark.rule, remark.text));
    if width < NARROW { wrap(&line, "", 2, width) } else { vec![cut(&line, width)] }
}
