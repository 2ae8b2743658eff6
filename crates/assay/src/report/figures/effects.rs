//! Arms against their baseline, or levels of a factor against the baseline's: ratios with the
//! intervals that verdicts are read from.

use super::words::{Names, cell, level_words, margin, marked, metric_title, point, short, trusted};
use super::{Drawing, at_most, left_out};
use crate::catalogue::About;
use crate::quantity::Better;
use crate::quantity::metric::noun;
use crate::report::document::{check_text, numbers};
use crate::report::evidence::Evidence;
use crate::report::figure::{
    Axis, Colour, Figure, Guide, Layout, Look, Marks, Point, Scale, Series, Slot, Unit, id_of,
};
use crate::results::findings::{Comparison, Effect, Findings, Kind, Trust, Verdict};

/// The registry's entry.
pub static EFFECTS: Drawing = Drawing {
    about: About {
        name: "effects",
        summary: "arms against their baseline: ratios with the intervals of the verdicts",
        text: "A point is the ratio of an arm to its baseline, its line the 95 % interval that holds \
               for all comparisons of a workload at once. What lies to one side of 1 with all of its \
               interval is better or worse; the band is the margin that counts as equivalent. Of \
               many arms the main effects of the factors are drawn.",
    },
    draw,
};

/// Comparisons up to which each is drawn.
const MOST_ROWS: usize = 24;
/// Rows of one figure; more are one figure a workload.
const MOST_TOGETHER: usize = 24;
/// Rows of one workload.
const MOST_OF_ONE: usize = 40;
const MOST_FIGURES: usize = 6;

/// One line of the figure.
struct Line {
    workload: String,
    /// What its levels are compared with, where that differs within a workload.
    against: String,
    name: String,
    metric: String,
    better: Better,
    ratio: f64,
    interval: Option<[f64; 2]>,
    verdict: Option<Verdict>,
    word: String,
    trust: Option<Trust>,
    margin: Option<f64>,
}

impl Line {
    /// What it stands under.
    fn under(&self) -> [&str; 2] {
        [&self.workload, &self.against]
    }
}

/// Words that there are, with commas.
fn told(words: &[&str]) -> String {
    let told: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    told.join(", ")
}

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    let drawn = |found: &&Comparison| found.primary || found.kind == Kind::Published;
    let compared: Vec<&Comparison> = findings.comparisons.iter().filter(drawn).collect();
    let effects = compared.len() > MOST_ROWS && !findings.effects.is_empty();
    let lines: Vec<Line> = if effects {
        findings.effects.iter().map(|found| effect(findings, found)).collect()
    } else {
        let names = Names::of(findings);
        compared.iter().filter_map(|found| comparison(findings, &names, found)).collect()
    };
    let against = against(findings, &compared, effects);
    let mut figures = Vec::new();
    for better in [Better::Higher, Better::Lower] {
        let own: Vec<&Line> = lines.iter().filter(|line| line.better == better).collect();
        if own.len() <= MOST_TOGETHER {
            figures.extend(figure(&own, &against, better));
        } else {
            let mut left = own.as_slice();
            while let Some(first) = left.first() {
                let count = left.iter().take_while(|line| line.workload == first.workload).count();
                figures.extend(figure(&left[..count], &against, better));
                left = &left[count..];
            }
        }
    }
    at_most(figures, MOST_FIGURES, "figure")
}

/// What arms are compared with.
fn against(findings: &Findings, compared: &[&Comparison], effects: bool) -> String {
    if effects {
        return "Levels against the baseline's, averaged over the other factors".to_owned();
    }
    let first = compared.first().map(|found| &found.baseline);
    match first {
        Some(base) if compared.iter().all(|found| found.baseline == *base) && !base.is_empty() => {
            format!("Arms against {}", Names::of(findings).arm(base))
        }
        _ => "Arms against their baseline".to_owned(),
    }
}

fn comparison(findings: &Findings, names: &Names, found: &Comparison) -> Option<Line> {
    let sequential = check_text(findings, "sequential").is_some();
    let trust =
        |arm| cell(findings, &found.workload, arm, &found.metric).and_then(|cell| cell.trust);
    Some(Line {
        workload: short(&found.workload),
        against: String::new(),
        name: names.arm(&found.arm),
        metric: found.metric.clone(),
        better: found.better,
        ratio: found.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0)?,
        interval: found.ci95_family.or(found.ci95),
        verdict: found.verdict.filter(|_| !sequential),
        word: numbers::judged(found, sequential).text,
        trust: trust(&found.arm).max(trust(&found.baseline)),
        margin: found.margin,
    })
}

fn effect(findings: &Findings, found: &Effect) -> Line {
    let margin = findings.comparisons.iter().find_map(|one| one.margin);
    Line {
        workload: short(&found.workload),
        against: format!("against {}", short(&level_words(&found.factor, &found.baseline))),
        name: short(&level_words(&found.factor, &found.level)),
        metric: found.metric.clone(),
        better: found.better,
        ratio: found.ratio,
        interval: found.ci95_family.or(found.ci95),
        verdict: found.verdict,
        word: numbers::verdict(found.verdict).text,
        trust: None,
        margin,
    }
}

fn figure(lines: &[&Line], against: &str, better: Better) -> Option<Figure> {
    let first = lines.first()?;
    let mut headings: Vec<[&str; 2]> = lines.iter().map(|line| line.under()).collect();
    headings.dedup();
    let one = lines.iter().all(|line| line.workload == first.workload);
    let (mut slots, mut kept, mut dropped) = (Vec::new(), Vec::new(), 0);
    for heading in &headings {
        let mut own: Vec<&Line> =
            lines.iter().filter(|line| line.under() == *heading).copied().collect();
        own.sort_by(|left, right| distance(right).total_cmp(&distance(left)));
        dropped += own.len().saturating_sub(MOST_OF_ONE);
        own.truncate(MOST_OF_ONE);
        own.sort_by(|left, right| right.ratio.total_cmp(&left.ratio));
        if headings.len() > 1 {
            let [workload, against] = *heading;
            let name = if one { against.to_owned() } else { told(&[workload, against]) };
            slots.push(Slot { name, heading: true });
        }
        for line in own {
            kept.push((slots.len() as f64, line));
            slots.push(Slot { name: line.name.clone(), heading: false });
        }
    }
    let metrics: Vec<&str> = lines.iter().map(|line| noun(&line.metric)).collect();
    let what = if metrics.iter().all(|one| *one == metrics[0]) {
        metric_title(&first.metric)
    } else {
        "rate".to_owned()
    };
    let way = if better == Better::Higher { "more is better" } else { "less is better" };
    let mut value =
        Axis::new(format!("times the baseline's {what}; {way}"), Scale::Log10, Unit::Ratio);
    value.limits = Some(limits(lines));
    let mut guides: Vec<Guide> = first
        .margin
        .into_iter()
        .map(margin)
        .map(|([from, to], name)| Guide { from, to, name })
        .collect();
    guides.push(Guide { from: 1.0, to: 1.0, name: "no difference".to_owned() });
    let notes = left_out(dropped, "arm near its baseline").into_iter().collect();
    Some(Figure {
        id: id_of(&["effects", &what, if one { &first.workload } else { "" }]),
        title: if one {
            format!("{}: {}, ratio of {what}", first.workload, lower(against))
        } else {
            format!("{against}: ratio of {what}")
        },
        description: "Each point is a ratio to the baseline, each line its 95 % interval, which holds for \
                      all comparisons of a workload at once; the band is the margin that counts as equivalent."
            .to_owned(),
        layout: Layout::Lying,
        along: Axis::new("", Scale::Category(slots), Unit::Number),
        value,
        series: series(&kept),
        spans: Vec::new(),
        guides,
        interval: "95 % interval".to_owned(),
        notes,
    })
}

/// A sentence's beginning inside of one.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}

fn distance(line: &Line) -> f64 {
    line.ratio.ln().abs()
}

/// A factor of three beyond the ratios at most: intervals of few trials may be endless.
fn limits(lines: &[&Line]) -> [f64; 2] {
    let ratios = || lines.iter().map(|line| line.ratio);
    [ratios().fold(1.0, f64::min) / 3.0, ratios().fold(1.0, f64::max) * 3.0]
}

/// A series for each verdict, by colour and by shape.
fn series(lines: &[(f64, &Line)]) -> Vec<Series> {
    let kinds = [
        (Some(Verdict::Better), "better", 0, 2),
        (Some(Verdict::Worse), "worse", 1, 4),
        (Some(Verdict::Equivalent), "equivalent", 2, 1),
        (Some(Verdict::Inconclusive), "inconclusive", 7, 0),
        (None, "no verdict", 7, 3),
    ];
    let made = kinds.into_iter().map(|(verdict, name, colour, shape)| {
        let own = lines.iter().filter(|(_, line)| line.verdict == verdict);
        let marks = Marks::Points(own.map(|(at, line)| row(*at, line)).collect());
        Series { name: name.to_owned(), colour: Colour::Series(colour), shape, marks }
    });
    made.filter(|series| !series.marks.is_empty()).collect()
}

fn row(at: f64, line: &Line) -> Point {
    let told = point(
        at,
        &Unit::Ratio,
        &told(&[&line.workload, &line.against, &line.name]),
        line.ratio,
        line.interval,
    );
    let told = marked(told, Look::Solid, &line.word);
    let told =
        if line.interval.is_some() { told } else { marked(told, Look::Solid, "no interval") };
    trusted(told, line.trust)
}
