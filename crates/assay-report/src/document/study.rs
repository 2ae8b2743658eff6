//! The page of a study: the question, the answer, the numbers behind it, and caveats.

use super::facts::{self, Facts};
use super::remarks::{self, NameKind};
use super::study_tables::WorkloadRows;
use super::{
    Block, Detail, Document, Remark, Section, SectionRole, answers, commands, energy, exhibits,
    files, hosts, memory, no_verdict, probes, race, study_more, study_tables, windows,
};
use assay_core::exhibit::parts::{distinct, parted};
use assay_core::quantity::units::show::share;
use assay_study::findings::{Advice, Comparison, Findings, Kind, Verdict, as_sentence};
use assay_study::results::design::Factor;
use assay_workloads::production::metrics::ARRIVALS;

/// Checks that other parts of the page describe.
const SHOWN_ELSEWHERE: [&str; 7] =
    ["order", "stopping", "time", "sequential", "unordered", "noise-floor", "environment"];

/// The check that all trials share an area, for the details.
const AREA: &str = "level";

/// Whether findings compare arms; a check of several targets only prints their numbers side by side.
pub(super) fn is_study(findings: &Findings) -> bool {
    let has_verdicts = findings.comparisons.iter().any(|it| it.margin.is_some());
    let varies = findings.study.factors.iter().any(Factor::varies);
    let compares_arms = varies && (has_verdicts || findings.study.kind != "check");
    compares_arms || is_across(findings) || findings.recorded().is_some()
}

fn is_across(findings: &Findings) -> bool {
    findings.study.kind == "compare"
}

/// The varied factors of the plan; without a plan, those of the cells, where the factor `result` is the last one.
fn factors(findings: &Findings) -> Vec<Factor> {
    if !findings.study.factors.is_empty() {
        let varied = findings.study.factors.iter().filter(|factor| factor.varies());
        return varied.cloned().collect();
    }
    let settings = findings.measurements.iter().flat_map(|cell| &cell.configuration);
    let mut factors: Vec<Factor> = Vec::new();
    for (name, settings) in parted(settings, |(name, _)| name) {
        let levels = distinct(settings.into_iter().map(|(_, level)| level.clone()));
        factors.push(Factor { name: name.clone(), levels });
    }
    factors.sort_by_key(|factor| factor.name == "result");
    factors
}

pub const COMPARISONS: &str = "comparisons.csv";

pub(super) struct StudyPage<'a> {
    pub findings: &'a Findings,
    pub detail: Detail,
    pub factors: Vec<Factor>,
    pub workloads: Vec<WorkloadRows<'a>>,
    pub without_verdicts: bool,
}

impl<'a> StudyPage<'a> {
    pub fn new(findings: &'a Findings, detail: Detail) -> Self {
        Self {
            findings,
            detail,
            factors: factors(findings),
            workloads: study_tables::workloads(findings),
            without_verdicts: no_verdict(findings).is_some(),
        }
    }

    /// Where all comparisons are: in the data of the page, or the output of a command.
    pub fn more(&self) -> String {
        if self.detail == Detail::Page {
            return format!("{COMPARISONS} below");
        }
        if is_across(self.findings) {
            return "the same command with --json".to_owned();
        }
        format!("assay show --full {}", self.findings.study.id).trim_end().to_owned()
    }

    pub fn full(&self) -> bool {
        self.detail != Detail::Usual
    }

    pub fn primary(&self) -> impl Iterator<Item = &Comparison> {
        self.findings.comparisons.iter().filter(|it| it.primary)
    }

    /// Fewest and most comparisons whose 95% CIs hold together (a family), over the workloads; `None` without any.
    pub fn family_sizes(&self) -> Option<(usize, usize)> {
        if self.is_one_family() {
            let count = self.primary().count();
            return (count > 0).then_some((count, count));
        }
        let mut counts = Vec::new();
        for workload in &self.workloads {
            let compared = || self.primary().filter(|it| it.workload == workload.name);
            let class_of = compared().find_map(|it| it.class_of.as_ref());
            // All classes of requests of a production workload are one family.
            counts.push(match class_of {
                Some(_) => self.primary().filter(|it| it.class_of.as_ref() == class_of).count(),
                None => compared().count(),
            });
        }
        counts.retain(|count| *count > 0);
        Some((*counts.iter().min()?, *counts.iter().max()?))
    }

    /// Whether all comparisons share one error, rather than those of each workload.
    fn is_one_family(&self) -> bool {
        is_across(self.findings) || self.compares_production()
    }

    /// Whether all comparisons are of classes of production work, whose arrivals were counted.
    fn compares_production(&self) -> bool {
        let workloads: Vec<_> = self.primary().filter_map(|it| it.class_of.as_ref()).collect();
        let has_arrivals = |workload: &&String| {
            let mut cells = self.findings.measurements.iter();
            cells.any(|cell| cell.metric == ARRIVALS && cell.workload == **workload)
        };
        !workloads.is_empty() && workloads.iter().all(has_arrivals)
    }

    /// Whether all comparisons are within one result.
    pub fn is_within_result(&self) -> bool {
        let mut comparisons = self.findings.comparisons.iter();
        comparisons.all(|it| matches!(it.kind, Kind::Paired | Kind::Unpaired))
    }
}

/// The page of a study or of compared results: summary, numbers, then effects, remarks and advice.
pub(super) fn document(findings: &Findings, detail: Detail) -> Document {
    let page = StudyPage::new(findings, detail);
    let mut sentences: Vec<String> = warning(findings).into_iter().collect();
    sentences.extend(findings.summary_texts());
    let mut sections =
        vec![Section::new(Block::Facts(fact_rows(&page))), super::summary(sentences)];
    // Results with one value per row have a table of changes instead of a table per workload.
    let changes = windows::sections(&page);
    let has_changes = changes.is_some();
    if findings.race.is_some() {
        sections.extend(race::section(&page));
        sections.extend(race::screen(&page));
    } else {
        sections.extend(changes.unwrap_or_else(|| tables(&page)));
    }
    sections.extend(hosts::section(findings));
    sections.extend(commands::section(findings));
    sections.extend(files::section(findings));
    sections.extend(memory::section(findings));
    sections.extend(exhibits::of_numbers(findings));
    sections.extend(exhibits::of_topics(findings));
    sections.extend(exhibits::sections(findings));
    if !has_changes {
        sections.extend(study_more::sections(&page));
    }
    sections.extend(energy::section(findings));
    sections.extend(probes::sections(findings, detail));
    sections.push(Section::new(Block::Remarks(all_remarks(&page))));
    sections.extend(study_more::absent(&page));
    sections.extend(answers::questions(findings));
    sections.extend(advice(&page));
    Document { title: facts::title(findings), sections }
}

fn tables(page: &StudyPage<'_>) -> Vec<Section> {
    let tables = page.workloads.iter().map(|workload| study_tables::section(page, workload));
    let mut sections: Vec<Section> = tables.map(Section::into_main).collect();
    let legend = Section::new(Block::Text(study_tables::legend(page)));
    sections.push(legend.with_role(SectionRole::Closer));
    sections
}

/// The advice; a study with verdicts also says that there is none.
fn advice(page: &StudyPage<'_>) -> Option<Section> {
    let mut texts = advice_texts(&page.findings.advice);
    if texts.is_empty()
        && page.primary().any(|it| it.verdict.is_some())
        && !is_across(page.findings)
    {
        texts.push(format!("No advice: {}.", no_advice(page.findings)));
    }
    (!texts.is_empty()).then(|| Section::titled("advice", vec![Block::List(texts)]))
}

/// Texts of the advice. If several have the same caveats, only the last one states them.
fn advice_texts(advice: &[Advice]) -> Vec<String> {
    let mut texts = Vec::new();
    for (index, it) in advice.iter().enumerate() {
        let mut later = advice[index + 1..].iter();
        let has_shorter = !it.sentence.is_empty();
        let is_repeated = has_shorter && later.any(|other| caveats(other) == caveats(it));
        texts.push(if is_repeated { it.sentence.clone() } else { it.text.clone() });
    }
    texts
}

/// The text after the sentence.
fn caveats(advice: &Advice) -> &str {
    advice.text.strip_prefix(advice.sentence.as_str()).unwrap_or_default()
}

/// Why a study gives no advice: a configuration must be better by more than the margin and the A/A control.
pub fn no_advice(findings: &Findings) -> String {
    if findings.race.is_some() {
        return "a race gives no verdicts".to_owned();
    }
    let primary = || findings.comparisons.iter().filter(|it| it.primary);
    if primary().all(|it| it.verdict.is_none()) {
        return "the study has no verdicts".to_owned();
    }
    let margin = primary().find_map(|it| it.margin).map(share).unwrap_or_default();
    let has = |verdict: Verdict| primary().any(|it| it.verdict == Some(verdict) && !it.withheld);
    if has(Verdict::Worse) && !has(Verdict::Better) {
        "no configuration is better than its baseline".to_owned()
    } else if has(Verdict::Better) {
        format!(
            "no configuration differs from its baseline by more than both {margin} (95% confidence) and the A/A control"
        )
    } else if has(Verdict::Equivalent) {
        format!("no configuration is {margin} better or worse (95% confidence)")
    } else {
        "every comparison is inconclusive".to_owned()
    }
}

fn fact_rows(page: &StudyPage<'_>) -> Facts {
    let (findings, study) = (page.findings, &page.findings.study);
    let fact = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let check_texts = |name: &'static str| {
        let checks = findings.checks.iter().filter(move |check| check.name == name);
        checks.map(|check| check.text.as_str())
    };
    let mut rows = facts::study(findings);
    if is_across(findings) {
        rows.push(fact("results", &study.id));
        rows.extend(check_texts("environment").map(|text| fact("differs", text)));
        rows.extend(margin(page).map(|text| fact("margin", &text)));
        return rows;
    }
    rows.push(fact("result", &study.id));
    rows.extend(study.confirms.iter().map(|id| fact("confirms", id)));
    match findings.environment.targets.as_slice() {
        [target] => {
            rows.push(fact("target", &target.name));
            rows.extend(facts::target(target));
        }
        targets => {
            let lines = targets.iter().map(|target| fact("target", &facts::target_line(target)));
            // Targets that only differ in layers next to a directory have the same line.
            rows.extend(distinct(lines));
        }
    }
    rows.extend(facts::machine(&findings.environment));
    for name in ["order", "stopping", "time"].into_iter().filter(|_| page.full()) {
        rows.extend(check_texts(name).map(|text| fact(name, text)));
    }
    rows.extend(margin(page).map(|text| fact("margin", &text)));
    rows.retain(|(_, value)| !value.is_empty());
    rows
}

/// The equivalence margin, and over how many comparisons the 95% CIs are simultaneous; `None` without a margin.
fn margin(page: &StudyPage<'_>) -> Option<String> {
    let margin = page.primary().find_map(|it| it.margin)?;
    let family = match page.family_sizes() {
        Some((1, 1)) | None => String::new(),
        Some((_, most)) if page.is_one_family() => {
            format!("; simultaneous 95% CIs over {most} comparisons")
        }
        Some((least, most)) if least == most => {
            format!("; simultaneous 95% CIs over {most} comparisons per workload")
        }
        Some((least, most)) => {
            format!("; simultaneous 95% CIs over {least} to {most} comparisons per workload")
        }
    };
    Some(format!("{}; \"equivalent\": within the margin (TOST, 90% CI){family}", share(margin)))
}

pub(super) fn warning(findings: &Findings) -> Option<String> {
    no_verdict(findings).map(|text| as_sentence(&text))
}

fn all_remarks(page: &StudyPage<'_>) -> Vec<Remark> {
    let findings = page.findings;
    let plain = |rule: &str, text: &str| Remark {
        rule: rule.to_owned(),
        trust: None,
        text: text.to_owned(),
        rows: Vec::new(),
    };
    let is_in_summary = |text: &str| findings.summary.iter().any(|sentence| sentence.text == text);
    let floor = findings.effects.noise_floor.iter().filter(|floor| !is_in_summary(&floor.text));
    let mut remarks: Vec<Remark> = floor.map(|floor| plain("noise floor", &floor.text)).collect();
    remarks.extend(remarks::rules(findings, NameKind::Arm, page.detail));
    remarks.extend(study_more::notes(page));
    remarks.extend(remarks::warnings(findings, |_| false));
    let is_omitted = |name: &str| SHOWN_ELSEWHERE.contains(&name) || (!page.full() && name == AREA);
    let checks = findings.checks.iter().filter(|check| !is_omitted(&check.name));
    remarks.extend(checks.map(|check| plain(&check.name, &check.text)));
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    #[test]
    fn what_several_advices_say_alike_stands_with_the_last_of_them() {
        let found = fixture("study-two-arms");
        let one = found.advice[0].clone();
        let tail = caveats(&one).to_owned();
        assert!(tail.starts_with(" The winner's gain"), "{tail}");
        let sentence = "other: it is the candidate.".to_owned();
        let with = |tail: &str| {
            let text = format!("{sentence}{tail}");
            advice_texts(&[one.clone(), Advice { text, sentence: sentence.clone(), ..one.clone() }])
        };
        assert_eq!(with(&tail), [one.sentence.clone(), format!("{sentence}{tail}")]);
        // Differing parts remain with each.
        let other = " Not measured: a.";
        assert_eq!(with(other), [one.text.clone(), format!("{sentence}{other}")]);
    }

    #[test]
    fn advising_nothing_does_not_deny_a_verdict() {
        let mut found = fixture("study-one-pair");
        assert_eq!(no_advice(&found), "every comparison is inconclusive");
        found.comparisons[0].primary = true;
        found.comparisons[0].verdict = Some(Verdict::Equivalent);
        assert_eq!(no_advice(&found), "no configuration is 5% better or worse (95% confidence)");
        found.comparisons[0].verdict = Some(Verdict::Worse);
        assert_eq!(no_advice(&found), "no configuration is better than its baseline");
        found.comparisons[0].verdict = Some(Verdict::Better);
        let told = no_advice(&found);
        assert!(told.contains("both 5%") && told.contains("A/A control"), "{told}");
        found.comparisons.clear();
        assert_eq!(no_advice(&found), "the study has no verdicts");
    }
}
