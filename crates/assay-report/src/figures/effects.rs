//! Arms against their baseline, or levels of a factor against the baseline's: ratios with the
//! intervals that verdicts are read from.

use super::words::{Names, cell, margin, marked, metric_title, point, short, trusted};
use super::{Drawing, at_most, clipped, left_out};
use crate::document::{no_verdict, numbers};
use crate::evidence::Evidence;
use crate::figure::{
    Axis, Colour, Figure, Guide, Layout, Look, Marks, Point, Scale, Series, Slot, Unit, id_of,
};
use assay_core::catalogue::About;
use assay_core::findings::{Comparison, Effect, Findings, Kind, Trust, Verdict};
use assay_core::quantity::Better;
use assay_core::results::plan::{Arm, level_words};

/// The registry's entry.
pub static EFFECTS: Drawing = Drawing {
    about: About {
        name: "effects",
        summary: "settings against their baseline: ratios with the intervals of the verdicts",
        text: "A point is the ratio of a setting to its baseline, its line a 95 % interval: the one that \
               holds for all comparisons of a workload at once, where verdicts are read from it; the \
               figure says which. A hollow point has none. What lies to one side of 1 with all of its \
               interval is better or worse; the band is the margin that counts as equivalent. Of \
               many settings the main effects of the factors are drawn.",
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
    /// The same as findings have it.
    full: String,
    /// What its levels are compared with, where that differs within a workload.
    against: String,
    name: String,
    metric: String,
    better: Better,
    ratio: f64,
    interval: Option<[f64; 2]>,
    /// Whether the interval holds for all comparisons of the workload at once.
    family: bool,
    published: bool,
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
fn joined(words: &[&str]) -> String {
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
        let shared = Shared::of(&compared);
        compared.iter().filter_map(|found| comparison(findings, &names, &shared, found)).collect()
    };
    let against = against(findings, &compared, effects);
    // By what it is called: the classes of requests stand side by side, though each has metrics of its own.
    let figures =
        parted(lines.iter(), |line| (metric_title(&line.metric), line.better == Better::Higher));
    let figures = figures.into_iter().flat_map(|own| {
        let parts =
            if own.len() <= MOST_TOGETHER { vec![own] } else { parted(own, |line| &line.workload) };
        parts.into_iter().filter_map(|own| figure(&own, &against))
    });
    at_most(figures.collect(), MOST_FIGURES, "figure")
}

/// The lines by what they have in common, in the order in which that comes first.
fn parted<'a, K: PartialEq + 'a>(
    lines: impl IntoIterator<Item = &'a Line>,
    key: impl Fn(&'a Line) -> K,
) -> Vec<Vec<&'a Line>> {
    let mut parts: Vec<(K, Vec<&Line>)> = Vec::new();
    for line in lines {
        let own = key(line);
        match parts.iter_mut().find(|(known, _)| *known == own) {
            Some((_, lines)) => lines.push(line),
            None => parts.push((own, vec![line])),
        }
    }
    parts.into_iter().map(|(_, lines)| lines).collect()
}

/// What arms are compared with.
fn against(findings: &Findings, compared: &[&Comparison], effects: bool) -> String {
    if effects {
        return "Levels against the baseline's, averaged over the other factors".to_owned();
    }
    let first = compared.first().map(|found| &found.baseline);
    match first {
        Some(base) if compared.iter().all(|found| found.baseline == *base) && !base.is_empty() => {
            format!("Settings against {}", Names::of(findings).arm(base))
        }
        _ => "Settings against their baseline".to_owned(),
    }
}

/// Levels that a baseline shares with all that is compared with it; empty where there is one
/// baseline, which the title names.
struct Shared<'a>(Vec<(&'a str, &'a Arm, Arm)>);

impl<'a> Shared<'a> {
    fn of(compared: &[&'a Comparison]) -> Self {
        let mut found: Vec<(&str, &Arm, Arm)> = Vec::new();
        for one in compared {
            let key = (one.workload.as_str(), &one.baseline);
            let place = found.iter().position(|(workload, base, _)| (*workload, *base) == key);
            let place = place.unwrap_or_else(|| {
                found.push((key.0, key.1, one.baseline.clone()));
                found.len() - 1
            });
            found[place].2.retain(|name, level| one.arm.get(name) == Some(level));
        }
        let bases = found.iter().any(|(_, base, _)| Some(*base) != found.first().map(|one| one.1));
        Self(if bases { found } else { Vec::new() })
    }

    /// What the baseline is called, and the arm below it.
    fn names(&self, names: &Names, found: &Comparison) -> [String; 2] {
        let own = |(workload, base, _): &&(&str, &Arm, Arm)| {
            *workload == found.workload && **base == found.baseline
        };
        let Some((.., shared)) = self.0.iter().find(own) else {
            return [String::new(), names.arm(&found.arm)];
        };
        let without = |arm: &Arm| -> Arm {
            let own = arm.iter().filter(|(name, _)| !shared.contains_key(*name));
            own.map(|(name, level)| (name.clone(), level.clone())).collect()
        };
        let base = format!("against {}", names.arm(&without(&found.baseline)));
        [joined(&[&names.arm(shared), &base]), names.arm(&without(&found.arm))]
    }
}

fn comparison(
    findings: &Findings,
    names: &Names,
    shared: &Shared<'_>,
    found: &Comparison,
) -> Option<Line> {
    let [against, name] = shared.names(names, found);
    let without = no_verdict(findings).is_some();
    let trust =
        |arm| cell(findings, &found.workload, arm, &found.metric).and_then(|cell| cell.trust);
    Some(Line {
        workload: short(&found.workload),
        full: found.workload.clone(),
        against,
        name,
        metric: found.metric.clone(),
        better: found.better,
        ratio: found.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0)?,
        interval: found.ci95_family.or(found.ci95),
        family: found.ci95_family.is_some(),
        published: found.kind == Kind::Published,
        verdict: found.verdict.filter(|_| !without),
        word: numbers::judged(found, without).text,
        trust: trust(&found.arm).max(trust(&found.baseline)),
        margin: found.margin,
    })
}

fn effect(findings: &Findings, found: &Effect) -> Line {
    let margin = findings.comparisons.iter().find_map(|one| one.margin);
    Line {
        workload: short(&found.workload),
        full: found.workload.clone(),
        against: format!("against {}", short(&level_words(&found.factor, &found.baseline))),
        name: short(&level_words(&found.factor, &found.level)),
        metric: found.metric.clone(),
        better: found.better,
        ratio: found.ratio,
        interval: found.ci95_family.or(found.ci95),
        family: found.ci95_family.is_some(),
        published: false,
        verdict: found.verdict,
        word: numbers::verdict(found.verdict).text,
        trust: None,
        margin,
    }
}

fn figure(lines: &[&Line], against: &str) -> Option<Figure> {
    let first = lines.first()?;
    let one = lines.iter().all(|line| line.workload == first.workload);
    let (slots, kept, dropped) = rows(lines, one);
    let what = metric_title(&first.metric);
    let way = if first.better == Better::Higher { "more is better" } else { "less is better" };
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
    let series = series(&kept);
    let mut notes: Vec<String> = clipped(&series, &value).into_iter().collect();
    notes.extend(left_out(dropped, "setting near its baseline"));
    Some(Figure {
        id: id_of(&["effects", &what, if one { &first.workload } else { "" }]),
        title: if one {
            format!("{}: {}, ratio of {what}", first.workload, lower(against))
        } else {
            format!("{against}: ratio of {what}")
        },
        description: described(lines),
        layout: Layout::Lying,
        along: Axis::new("", Scale::Category(slots), Unit::Number),
        value,
        series,
        spans: Vec::new(),
        guides,
        interval: "95 % interval".to_owned(),
        notes,
        workload: one.then(|| first.full.clone()),
        metric: lines.iter().all(|line| line.metric == first.metric).then(|| first.metric.clone()),
    })
}

/// Names with their headings, the lines with their places, and how many are not drawn. `one` says
/// whether there is a single workload, which the title names.
fn rows<'a>(lines: &[&'a Line], one: bool) -> (Vec<Slot>, Vec<(f64, &'a Line)>, usize) {
    let parts = parted(lines.iter().copied(), Line::under);
    let several = parts.len() > 1 || lines.iter().any(|line| !line.against.is_empty());
    let (mut slots, mut kept, mut dropped) = (Vec::new(), Vec::new(), 0);
    for mut own in parts {
        own.sort_by(|left, right| distance(right).total_cmp(&distance(left)));
        dropped += own.len().saturating_sub(MOST_OF_ONE);
        own.truncate(MOST_OF_ONE);
        own.sort_by(|left, right| right.ratio.total_cmp(&left.ratio));
        if let Some([workload, against]) = own.first().map(|line| line.under()).filter(|_| several)
        {
            let name = if one { against.to_owned() } else { joined(&[workload, against]) };
            slots.push(Slot { name, heading: true });
        }
        for line in own {
            kept.push((slots.len() as f64, line));
            slots.push(Slot { name: line.name.clone(), heading: false });
        }
    }
    (slots, kept, dropped)
}

/// What the lines of the figure are.
fn described(lines: &[&Line]) -> String {
    let mut text = "Each point is a ratio to the baseline".to_owned();
    if lines.iter().all(|line| line.published) {
        text += ", from the published numbers";
    }
    let with = || lines.iter().filter(|line| line.interval.is_some());
    let family = with().filter(|line| line.family).count();
    text += match (with().count(), family) {
        (0, _) => "",
        (all, family) if all == family => {
            ", each line its 95 % interval, which holds for all comparisons of a workload at once"
        }
        (_, 0) => ", each line the 95 % interval of each comparison alone",
        _ => {
            ", each line its 95 % interval, of some for all comparisons of a workload at once, of \
             others of each comparison alone"
        }
    };
    if with().count() < lines.len() {
        text += "; a hollow one has no interval";
    }
    if lines.iter().any(|line| line.margin.is_some()) {
        text += "; the band is the margin that counts as equivalent";
    }
    text + "."
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
    let what = metric_title(&line.metric);
    let told = point(
        at,
        &Unit::Ratio,
        &joined(&[&line.workload, &line.against, &line.name, &what]),
        line.ratio,
        line.interval,
    );
    // As the point has it: ends that are no numbers are none.
    let bare = told.interval.is_none();
    let told = marked(told, Look::Solid, &line.word);
    let told = if bare { marked(told, Look::Hollow, "no interval") } else { told };
    trusted(told, line.trust)
}
