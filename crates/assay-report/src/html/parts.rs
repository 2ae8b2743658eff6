//! A result on a page, from the answer to the raw data.

use maud::{Markup, PreEscaped, html};

use super::{PagePlace, blocks, data, first};
use crate::document::{self, Block, Detail, Document, QUESTIONS, Section, SectionRole};
use crate::evidence::{Commands, Evidence};
use crate::figures::{Drawn, Ordered};
use crate::{figures, svg};
use assay_core::exhibit::figure::Figure;
use assay_study::findings::{Findings, SentenceRole, answers::Answer};
use assay_study::results::plan::pilot_key;

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

/// A result as a part of a page; its number on the page makes the IDs of its elements unique.
pub(super) fn part(index: usize, evidence: &Evidence, place: PagePlace<'_>) -> HtmlPart {
    let Ordered { mut lead, lead_kinds, mut others } = figures::ordered(evidence);
    for figure in lead.iter_mut().chain(others.iter_mut().flat_map(|kind| &mut kind.figures)) {
        figure.id = format!("r{index}-{}", figure.id);
    }
    let findings = &evidence.findings;
    let document = document::build(findings, Detail::Page);
    let (leading, other_sections) = leading(findings, &document, &lead_kinds);
    let is_check = !document::large(findings).is_empty();
    let mut page = Sections { index, anchors: Vec::new(), markup: Vec::new() };
    let conclusions_title = match findings.answers.all.as_slice() {
        _ if !is_check => "Findings",
        [] => "Warnings",
        _ => "Answers",
    };
    page.add("found", conclusions_title, false, &conclusions(findings, &document, is_check));
    if !others.is_empty() {
        page.add("figures", "Figures", false, &folded_figures(&others));
    }
    let numbers = numbers(findings, other_sections);
    if !numbers.0.is_empty() {
        page.add("numbers", "Numbers", document::matrix(findings).is_some(), &numbers);
    }
    // Few read the following sections.
    page.add("done", "Procedure", true, &procedure(evidence, &document));
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

/// Splits the sections: those of the first screen, next to the figures or of platforms, and all others.
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
            } @else { section id=(id) aria-labelledby={ (id) "-h" } { (heading) (body) } }
        });
        self.anchors.push((id, name.to_owned()));
    }
}

/// All figures except the leading ones, folded by kind.
fn folded_figures(kinds: &[Drawn]) -> Markup {
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
            @let numbers = figures::table::table(figure);
            details.paper { summary { "Show this figure as a table" } (blocks::table(&numbers, &figure.title)) }
        }
    }
}

/// Captions of sections with conclusions rather than numbers.
const CONCLUSIONS: [&str; 2] = [QUESTIONS, "advice"];

fn is_conclusion(section: &Section) -> bool {
    section.caption.as_deref().is_some_and(|caption| CONCLUSIONS.contains(&caption))
}

fn is_facts(block: &Block) -> bool {
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
fn conclusions(findings: &Findings, document: &Document, is_check: bool) -> Markup {
    let brief = document::usual(findings);
    let warnings = blocks_like(&brief, is_warning);
    let has_answers = is_check && !findings.answers.all.is_empty();
    let is_advice = |section: &&Section| section.caption.as_deref() == Some("advice");
    let advice = document.sections.iter().filter(is_advice);
    let sentences = other_sentences(findings);
    html! {
        @if !is_check && !sentences.is_empty() { ul { @for sentence in sentences { li { (sentence) } } } }
        @if !findings.answers.all.is_empty() {
            // The heading of the section already names the table of a check.
            @if !has_answers { h3 { "Questions" } }
            (questions(findings))
        }
        @for section in advice { (blocks::section(section)) }
        @for advice in findings.advice.iter().filter(|advice| !advice.lines.is_empty()) { pre { (advice.lines.join("\n")) } }
        @if !is_check || has_answers { h3 { "Warnings" } }
        @if warnings.is_empty() { p { "None." } }
        @for block in warnings { (blocks::block(block, "warnings")) }
    }
}

fn questions(findings: &Findings) -> Markup {
    // The first answer is that of a gate (pass/fail rule) if the study has one; the last answers are those to bounds.
    let bounds: Vec<_> = findings.answers.requirements.iter().flat_map(|it| &it.bounds).collect();
    let first_bound = findings.answers.all.len().saturating_sub(bounds.len());
    let word = |index: usize, answer: &Answer| match &findings.answers.gate {
        Some(gate) if index == 0 => gate.outcome.word(),
        _ if index >= first_bound => bounds[index - first_bound].outcome.words(),
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
                    @let word = word(index, answer);
                    tr {
                        th scope="row" { (answer.ask) }
                        td class=(tone(word)) { (word) }
                        td.w { (answer.answer) (reasons(&answer.reasons)) }
                        td.w { (answer.published.as_deref().unwrap_or_default()) }
                    }
                } }
            }
        }
    }
}

/// CSS class of an answer, for its sign.
fn tone(word: &str) -> &'static str {
    match word {
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
                summary { (several.len()) " reasons" } ul { @for reason in several { li { (reason) } } }
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

/// The sections without facts, remarks, conclusions and the summary, which are elsewhere on the page.
fn numbers(findings: &Findings, sections: Vec<&Section>) -> Markup {
    let summary = findings.summary_texts();
    let is_shown = |block: &Block| match block {
        Block::List(texts) => *texts != summary,
        block => !is_facts(block) && !matches!(block, Block::Remarks(_)),
    };
    let mut shown: Vec<Section> = sections.into_iter().cloned().collect();
    for section in &mut shown {
        section.blocks.retain(is_shown);
    }
    shown.retain(|section| !is_conclusion(section) && !section.blocks.is_empty());
    html! { @for section in &shown { (blocks::section(section)) } }
}

const MOST_COMMANDS: usize = 24;

/// The command lines to show: all, or if many, those with at most one difference from the baseline.
fn commands_to_show(evidence: &Evidence) -> Vec<&Commands> {
    let all: Vec<&Commands> = evidence.commands.iter().collect();
    if all.len() <= MOST_COMMANDS {
        return all;
    }
    let Some(first) = evidence.findings.comparisons.first() else { return Vec::new() };
    let base = &first.baseline;
    let is_near = |commands: &&Commands| {
        let differs = |(name, level): &(&String, &String)| commands.arm.get(*name) != Some(*level);
        base.iter().filter(differs).count() <= 1
    };
    all.into_iter().filter(is_near).collect()
}

fn procedure(evidence: &Evidence, document: &Document) -> Markup {
    let shown = commands_to_show(evidence);
    let remarks = blocks_like(document, is_warning);
    html! {
        @for block in blocks_like(document, is_facts) { (blocks::block(block, "bench")) }
        @if !remarks.is_empty() { h3 { "All remarks" } }
        @for block in remarks { (blocks::block(block, "remarks")) }
        @if !evidence.commands.is_empty() {
            h3 { "Equivalent commands" }
            p { "Command lines for the same measurements with other tools." }
            details {
                summary { (shown.len()) " of " (evidence.commands.len()) " workloads and configurations" }
                @for one in &shown { (commands(one)) }
            }
            @let id = &evidence.findings.study.id;
            @if shown.len() < evidence.commands.len() { p { "All commands: " code { "assay plan " (id) " --commands" } } }
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
        @if !commands.remarks.is_empty() { ul { @for remark in &commands.remarks { li { (remark) } } } }
    }
}

fn forum(evidence: &Evidence) -> Markup {
    html! {
        p { "Plain text for forums, email and phones." }
        @let text = crate::text::forum(&evidence.findings);
        pre.forum data-name={ (evidence.findings.study.id) ".txt" } data-copy="" { (text) }
    }
}
