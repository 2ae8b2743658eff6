//! A result on a page, from the answer to the raw data.

use maud::{Markup, PreEscaped, html};

use super::{PagePlace, blocks, data, first};
use crate::document::{self, Block, Detail, Document, QUESTIONS, Section, SectionRole};
use crate::evidence::{Commands, Evidence};
use crate::figures::{Drawn, Ordered};
use crate::{figures, svg};
use assay_core::exhibit::figure::Figure;
use assay_study::findings::answers::Answer;
use assay_study::findings::{Findings, SentenceRole};
use assay_study::results::plan::{Arm, pilot_key};

pub(super) struct HtmlPart {
    /// Anchor and name of the whole part.
    whole: (String, String),
    anchors: Vec<(String, String)>,
    pub body: Markup,
}

impl HtmlPart {
    pub fn contents(&self) -> impl Iterator<Item = (&str, &str)> {
        self.anchors.iter().map(|(id, name)| (id.as_str(), name.as_str()))
    }

    pub fn whole(&self) -> (&str, &str) {
        (&self.whole.0, &self.whole.1)
    }
}

/// The result with its number on the page, which makes IDs unique.
pub(super) fn part(index: usize, evidence: &Evidence, place: PagePlace<'_>) -> HtmlPart {
    let number = |mut figure: Figure| {
        figure.id = format!("r{index}-{}", figure.id);
        figure
    };
    let Ordered { lead, lead_kinds, others } = figures::ordered(evidence);
    let numbered = |figures: Vec<Figure>| figures.into_iter().map(number).collect::<Vec<_>>();
    let lead = numbered(lead);
    let others = others.into_iter().map(|kind| Drawn { figures: numbered(kind.figures), ..kind });
    let others: Vec<Drawn> = others.collect();
    let findings = &evidence.findings;
    let document = document::build(findings, Detail::Page);
    let (leading, others_of) = leading(findings, &document, &lead_kinds);
    let is_check = !document::large(findings).is_empty();
    let mut page = Sections { index, anchors: Vec::new(), markup: Vec::new() };
    let found_title = if !is_check {
        "Findings"
    } else if findings.answers.all.is_empty() {
        "Warnings"
    } else {
        "Answers"
    };
    page.add("found", found_title, false, &details(findings, &document, is_check));
    if !others.is_empty() {
        page.add("figures", "Figures", false, &drawn(&others));
    }
    let numbers = numbers(findings, others_of);
    if !numbers.0.is_empty() {
        page.add("numbers", "Numbers", document::matrix(findings).is_some(), &numbers);
    }
    // Few read the following sections.
    page.add("done", "Procedure", true, &done(evidence, &document));
    page.add("data", "Raw data", true, &data::section(evidence, place));
    page.add("text", "As text", true, &forum(evidence));
    let id = format!("r{index}");
    let subject = document::subject(findings);
    let body = html! {
        article id=(id) aria-label=(subject) {
            (first::screen(findings, &lead, &leading))
            @for section in &page.markup { (section) }
        }
    };
    let day = findings.study.started.replace('T', " ").chars().take(19).collect::<String>();
    let whole = (id, format!("{subject}, {day}"));
    HtmlPart { whole, anchors: page.anchors, body }
}

/// Returns the sections of the first screen and all others. The first screen has the tables of platforms, of leading
/// figures, and of workloads with a figure.
fn leading<'a>(
    findings: &Findings,
    document: &'a Document,
    lead_kinds: &[&str],
) -> (Vec<&'a Section>, Vec<&'a Section>) {
    let (mut first, others) = document.leading(findings);
    let with_figure = document::with_figure(findings);
    let is_first = |section: &&Section| match section.role {
        SectionRole::Main => findings.platforms.is_some(),
        _ if with_figure.contains(section) => true,
        SectionRole::Of(kind) => lead_kinds.contains(&kind),
        _ => false,
    };
    let (more, others) = others.into_iter().partition(is_first);
    first.extend::<Vec<_>>(more);
    (first, others)
}

struct Sections {
    index: usize,
    anchors: Vec<(String, String)>,
    markup: Vec<Markup>,
}

impl Sections {
    /// The anchor is inside the folded part: a link to it opens the part.
    fn add(&mut self, id: &str, name: &str, is_folded: bool, body: &Markup) {
        let id = format!("r{}-{id}", self.index);
        let heading = html! { h2 id={ (id) "-h" } { (name) } };
        self.markup.push(html! {
            @if is_folded {
                section aria-labelledby={ (id) "-h" } {
                    details.section { summary { (heading) } div id=(id) { (body) } }
                }
            } @else {
                section id=(id) aria-labelledby={ (id) "-h" } { (heading) (body) }
            }
        });
        self.anchors.push((id, name.to_owned()));
    }
}

/// All figures except the leading ones, folded by kind.
fn drawn(kinds: &[Drawn]) -> Markup {
    html! {
        @for kind in kinds {
            details.paper {
                summary {
                    (kind.figures.len()) @if kind.figures.len() == 1 { " figure: " } @else { " figures: " }
                    (kind.about.summary)
                }
                @for one in &kind.figures { (figure(one)) }
            }
        }
    }
}

/// Up to this number of notes of a figure, all are unfolded.
const MOST_NOTES: usize = 2;

fn notes(notes: &[String]) -> Markup {
    html! { @for note in notes { p.note { (note) } } }
}

pub(super) fn figure(figure: &Figure) -> Markup {
    html! {
        figure {
            figcaption { (figure.title) }
            div.chart { (PreEscaped(svg::inline(figure))) }
            @if figure.notes.len() > MOST_NOTES {
                details.paper { summary { "Notes" } (notes(&figure.notes)) }
            } @else { (notes(&figure.notes)) }
            details.paper {
                summary { "Show this figure as a table" }
                (blocks::table(&crate::figures::table::table(figure), &figure.title))
            }
        }
    }
}

/// Captions of sections with conclusions rather than numbers.
const FOUND: [&str; 2] = [QUESTIONS, "advice"];

fn is_found(section: &Section) -> bool {
    section.caption.as_deref().is_some_and(|caption| FOUND.contains(&caption))
}

fn is_bench(block: &Block) -> bool {
    matches!(block, Block::Facts(_))
}

fn is_warning(block: &Block) -> bool {
    matches!(block, Block::Remarks(remarks) if !remarks.is_empty())
}

fn blocks_like(document: &Document, wanted: fn(&Block) -> bool) -> Vec<&Block> {
    let blocks = document.sections.iter().flat_map(|section| &section.blocks);
    blocks.filter(|block| wanted(block)).collect()
}

/// Content missing from the first screen, which already has the sentences of a check.
fn details(findings: &Findings, document: &Document, is_check: bool) -> Markup {
    let brief = document::usual(findings);
    let warnings = blocks_like(&brief, is_warning);
    let with_lines = findings.advice.iter().filter(|advice| !advice.lines.is_empty());
    let answered = is_check && !findings.answers.all.is_empty();
    let is_advice = |section: &&Section| section.caption.as_deref() == Some("advice");
    let advice = document.sections.iter().filter(is_advice);
    let sentences = other_sentences(findings);
    html! {
        @if !is_check && !sentences.is_empty() { ul { @for sentence in sentences { li { (sentence) } } } }
        @if !findings.answers.all.is_empty() {
            // The heading of the section already names the table of a check.
            @if !answered { h3 { "Questions" } }
            (questions(findings))
        }
        @for section in advice { (blocks::section(section)) }
        @for advice in with_lines { pre { (advice.lines.join("\n")) } }
        @if !is_check || answered { h3 { "Warnings" } }
        @if warnings.is_empty() { p { "None." } }
        @for block in warnings { (blocks::block(block, "warnings")) }
    }
}

fn questions(findings: &Findings) -> Markup {
    // A gate, which is answered first, has no bound.
    let bounds: Vec<_> = findings.answers.requirements.iter().flat_map(|it| &it.bounds).collect();
    let unbounded = findings.answers.all.len().saturating_sub(bounds.len());
    let mark = |index: usize, answer: &Answer| match &findings.answers.gate {
        Some(gate) if index == 0 => gate.outcome.word(),
        _ if index >= unbounded => bounds[index - unbounded].outcome.words(),
        // A question for a rate has no verdict.
        _ if answer.max_rate.is_some() => "",
        _ => answer.verdict.word(),
    };
    html! {
        div.scroll role="region" tabindex="0" aria-label="Table: questions" {
            table.questions {
                caption.unseen { "questions" }
                thead { tr { @for title in ["question", "answer", "measured", "published"] { th scope="col" { (title) } } } }
                tbody { @for (index, answer) in findings.answers.all.iter().enumerate() {
                    @let mark = mark(index, answer);
                    tr {
                        th scope="row" { (answer.ask) }
                        td class=(tone(mark)) { (mark) }
                        td.w { (answer.answer) (reasons(&answer.reasons)) }
                        td.w { (answer.published.as_deref().unwrap_or_default()) }
                    }
                } }
            }
        }
    }
}

/// CSS class of an answer, for its sign.
fn tone(mark: &str) -> &'static str {
    match mark {
        "supported" | "pass" | "passed" => "good",
        "contradicted" | "fail" | "failed" => "bad",
        _ => "",
    }
}

fn reasons(reasons: &[String]) -> Markup {
    html! {
        @match reasons {
            [] => {},
            [one] => { br; small { (one) } },
            several => details.paper {
                summary { (several.len()) " reasons" }
                ul { @for reason in several { li { (reason) } } }
            },
        }
    }
}

/// Sentences that the first screen of a study omitted: neither the answer nor its caveats.
fn other_sentences(findings: &Findings) -> Vec<&String> {
    let answer = document::answer(findings).text;
    let others = findings.summary.iter().filter(|sentence| sentence.text != answer);
    let shown = others.filter(|sentence| sentence.role != SentenceRole::Disturbance);
    shown.map(|sentence| &sentence.text).collect()
}

fn numbers(findings: &Findings, sections: Vec<&Section>) -> Markup {
    let summary = findings.summary_texts();
    let is_number = |block: &&Block| match block {
        Block::List(texts) => *texts != summary,
        block => !is_bench(block) && !matches!(block, Block::Remarks(_)),
    };
    let sections = sections.into_iter().filter(|section| !is_found(section));
    let sections = sections.map(|section| Section {
        blocks: section.blocks.iter().filter(is_number).cloned().collect(),
        ..section.clone()
    });
    html! {
        @for section in sections.filter(|section| !section.blocks.is_empty()) {
            (blocks::section(&section))
        }
    }
}

const MOST_COMMANDS: usize = 24;

/// The command lines to show: all, or if many, those with at most one difference from the baseline.
fn commands_to_show(evidence: &Evidence) -> Vec<&Commands> {
    let all: Vec<&Commands> = evidence.commands.iter().collect();
    if all.len() <= MOST_COMMANDS {
        return all;
    }
    let comparisons = &evidence.findings.comparisons;
    let bases: Vec<&Arm> = comparisons.iter().map(|it| &it.baseline).collect();
    let is_near = |commands: &&Commands| {
        bases.first().is_some_and(|base| {
            let same = |(name, level): &(&String, &String)| commands.arm.get(*name) == Some(*level);
            base.len() - base.iter().filter(same).count() <= 1
        })
    };
    all.into_iter().filter(is_near).collect()
}

fn done(evidence: &Evidence, document: &Document) -> Markup {
    let shown = commands_to_show(evidence);
    let remarks = blocks_like(document, is_warning);
    html! {
        @for block in blocks_like(document, is_bench) { (blocks::block(block, "bench")) }
        @if !remarks.is_empty() { h3 { "All remarks" } }
        @for block in remarks { (blocks::block(block, "remarks")) }
        @if !evidence.commands.is_empty() {
            h3 { "Equivalent commands" }
            p { "Command lines for the same measurements with other tools." }
            details {
                summary { (shown.len()) " of " (evidence.commands.len()) " workloads and configurations" }
                @for one in &shown { (commands(one)) }
            }
            @if shown.len() < evidence.commands.len() {
                p { "All commands: " code { "assay plan " (evidence.findings.study.id) " --commands" } }
            }
        }
        @for (name, text) in &evidence.files {
            details { summary { (name) } pre data-name=(name) { (text) } }
        }
    }
}

fn commands(commands: &Commands) -> Markup {
    html! {
        h4 { (pilot_key(&commands.workload, &commands.arm)) }
        p { (commands.words) }
        pre { (commands.lines.join("\n")) }
        @if !commands.remarks.is_empty() {
            ul { @for remark in &commands.remarks { li { (remark) } } }
        }
    }
}

fn forum(evidence: &Evidence) -> Markup {
    html! {
        p { "Plain text for forums, email and phones." }
        pre.forum data-name={ (evidence.findings.study.id) ".txt" } data-copy="" {
            (crate::text::forum(&evidence.findings))
        }
    }
}
