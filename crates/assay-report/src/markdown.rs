//! A result as Markdown with its figures as SVG files: for wikis and repositories.

use super::document::{self, Block, Detail, Remark, Row, Section, Table};
use super::evidence::Evidence;
use super::figures::{self, Ordered};
use super::html::site::encoded;
use super::layout::clean;
use super::svg::{self, Theme};
use assay_core::exhibit::figure::Figure;
use assay_study::findings::Findings;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkdownReport {
    pub text: String,
    pub figures: Vec<(String, String)>,
}

/// The report of results; `stem` is the prefix of the figures' file names.
pub fn report(results: &[Evidence], stem: &str) -> MarkdownReport {
    let mut report = MarkdownReport { text: String::new(), figures: Vec::new() };
    for (index, evidence) in results.iter().enumerate() {
        let prefix = if results.len() == 1 { stem.to_owned() } else { format!("{stem}-{index}") };
        report.add(evidence, &prefix);
    }
    report
}

/// A result as one comment: the answer, the tables, caveats; the machine is folded.
pub fn comment(findings: &Findings) -> String {
    let mut report = MarkdownReport { text: String::new(), figures: Vec::new() };
    report.line(&format!("### {}", escaped(&findings.study.title)));
    let mut facts = Vec::new();
    for Section { caption, blocks, .. } in document::build(findings, Detail::Usual).sections {
        if let Some(caption) = caption {
            report.line(&format!("#### {}", escaped(&caption)));
        }
        for block in blocks {
            if matches!(block, Block::Facts(_)) { facts.push(block) } else { report.block(&block) }
        }
    }
    report.line("<details><summary>Test conditions</summary>");
    for block in &facts {
        report.block(block);
    }
    report.line("</details>");
    report.text
}

impl MarkdownReport {
    fn add(&mut self, evidence: &Evidence, prefix: &str) {
        let findings = &evidence.findings;
        self.line(&format!("# {}", escaped(&findings.study.title)));
        let answer = document::answer(findings).text;
        self.line(&format!("**{}**", escaped(&answer)));
        let Ordered { lead, others, .. } = figures::ordered(evidence);
        self.figures(lead.iter(), prefix);
        let mut document = document::build(findings, Detail::Usual);
        for block in document.sections.iter_mut().flat_map(|section| &mut section.blocks) {
            if let Block::List(texts) = block {
                texts.retain(|text| *text != answer);
            }
        }
        let (leading, details) = document.leading(findings);
        self.sections(leading);
        self.sections(details);
        if !others.is_empty() {
            self.line("## Figures");
            self.figures(others.iter().flat_map(|kind| &kind.figures), prefix);
        }
        if !evidence.commands.is_empty() {
            self.line("## Equivalent commands");
            let lines = evidence.commands.iter().flat_map(|command| {
                let heading = format!("# {}: {}", command.workload, command.words);
                std::iter::once(heading).chain(command.lines.clone())
            });
            let lines: Vec<String> = lines.map(|line| clean(&line)).collect();
            self.line(&format!("```sh\n{}\n```", lines.join("\n").replace("```", "'''")));
        }
    }

    fn line(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn figures<'a>(&mut self, figures: impl Iterator<Item = &'a Figure>, prefix: &str) {
        for figure in figures {
            let name = format!("{prefix}-{}.svg", figure.id);
            self.line(&format!("![{}]({})", escaped(&figure.title), encoded(&name)));
            for note in &figure.notes {
                self.line(&escaped(note));
            }
            self.figures.push((name, svg::file(figure, Theme::Light)));
        }
    }

    fn sections(&mut self, sections: Vec<&Section>) {
        for Section { caption, blocks, .. } in sections {
            if let Some(caption) = caption {
                self.line(&format!("## {}", escaped(caption)));
            }
            for block in blocks {
                self.block(block);
            }
        }
    }

    fn block(&mut self, block: &Block) {
        let lines = match block {
            Block::Facts(facts) => {
                let fact = |(name, value): &(String, String)| {
                    format!("- {}: {}", escaped(name), escaped(value))
                };
                facts.iter().map(fact).collect()
            }
            Block::Text(texts) => vec![escaped(&texts.join(" "))],
            Block::List(texts) => texts.iter().map(|text| format!("- {}", escaped(text))).collect(),
            Block::Remarks(remarks) => remarks.iter().map(remark).collect(),
            Block::Table(rows) => table(rows),
        };
        if !lines.is_empty() {
            self.line(&lines.join("\n"));
        }
    }
}

fn remark(remark: &Remark) -> String {
    let rows = escaped(&remark.rows.join("; "));
    let rows = if rows.is_empty() { rows } else { format!(" ({rows})") };
    format!("- **{}**: {}{rows}", escaped(&remark.rule), escaped(&remark.text))
}

pub(super) fn table(table: &Table) -> Vec<String> {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let titles = table.columns.iter().map(|column| escaped(&column.title)).collect();
    let marks = table.columns.iter().map(|column| if column.is_right() { "---:" } else { "---" });
    let mut lines = vec![line(titles), line(marks.map(str::to_owned).collect())];
    lines.extend(table.rows.iter().map(|row| line(cells(table, row))));
    lines
}

/// The cells of a row, with its notes in the first one; an absent row only has its name and reason.
fn cells(table: &Table, row: &Row) -> Vec<String> {
    let notes = row.notes.iter().map(|note| escaped(note)).collect::<Vec<_>>().join("; ");
    let mut cells: Vec<String> = table.texts(row).iter().map(|text| escaped(text)).collect();
    if cells.is_empty() {
        cells = vec![escaped(&row.name), notes];
    } else if let Some(first_cell) = cells.first_mut().filter(|_| !notes.is_empty()) {
        *first_cell = format!("{first_cell} ({notes})");
    }
    cells.resize(table.columns.len(), String::new());
    cells
}

/// Escapes a text, which may be from a stranger: no Markdown, HTML, links or mentions remain.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in clean(text).chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                safe.extend(['\\', letter]);
            }
            '>' => safe.push_str("&gt;"),
            // Neither a mention nor an address becomes a link.
            '@' => safe.push_str("&#64;"),
            _ => safe.push(letter),
        }
    }
    let mut safe = safe.replace("://", "&#58;//").replace("www.", "www&#46;");
    // A list begins with a dash, a plus, or a number and its period or parenthesis.
    let digits = safe.bytes().take_while(u8::is_ascii_digit).count();
    let is_bullet = safe.starts_with(['-', '+']);
    let is_number = digits > 0 && safe[digits..].starts_with(['.', ')']);
    if is_bullet || is_number {
        safe.insert(digits, '\\');
    }
    safe
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Sentence;

    use super::*;

    #[test]
    fn nothing_in_a_text_is_a_mark() {
        assert_eq!(escaped("<b>*a*|b"), "&lt;b&gt;\\*a\\*\\|b");
        assert_eq!(escaped("1. see https://a @b"), "1\\. see https&#58;//a &#64;b");
        assert_eq!(escaped("- x"), "\\- x");
        assert_eq!(escaped("1.5 times"), "1\\.5 times");
        assert_eq!(encoded("r#1)-a b.svg"), "r%231%29-a%20b.svg");
        assert_eq!(escaped("![x](y)\n# z"), "\\!\\[x\\](y)?\\# z");
    }

    #[test]
    fn the_answer_is_not_said_again_in_the_list_below_it() {
        let mut findings = crate::tests::fixture("study-inconclusive");
        let told = |findings: &Findings| report(&[Evidence::bare(findings.clone())], "r").text;
        let answer = document::answer(&findings).text;
        assert!(findings.summary_texts().contains(&answer), "{:?}", findings.summary);
        assert_eq!(told(&findings).matches(&escaped(&answer)).count(), 1);
        let other = "Another sentence of the summary.".to_owned();
        findings.summary.push(Sentence::finding("", other.as_str()));
        assert_eq!(told(&findings).matches(&escaped(&other)).count(), 1);
    }

    #[test]
    fn tables_keep_their_columns() {
        let columns = super::super::table::columns(&["name", ">n"]);
        let rows = vec![Row::absent("a", "gone")];
        let lines = table(&Table { columns, rows, ..Table::default() });
        assert_eq!(lines, ["| name | n |", "| --- | ---: |", "| a | gone |"]);
    }
}
