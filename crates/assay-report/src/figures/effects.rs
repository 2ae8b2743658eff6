//! Configurations against their baseline, or levels of a factor against the baseline level, as ratios with intervals.

use super::Drawing;
use super::words::margin_guide;
use crate::document::{no_verdict, numbers};
use crate::evidence::Evidence;
use assay_core::exhibit::figure::{
    Axis, AxisScale, Colour, Figure, Guide, Look, Mark, Point, id_of, joined, short,
};
use assay_core::exhibit::parts::{FigureRows, Sort, at_most, by_sort, clipped, left_out, parted};
use assay_core::quantity::Better;
use assay_core::{catalogue::About, exhibit::Unit};
use assay_study::findings::shown::{Names, mark_trust, metric_title};
use assay_study::findings::{Comparison, Effect, Findings, Trust, Verdict};
use assay_study::results::plan::{Arm, level_words};

pub static EFFECTS: Drawing = Drawing {
    about: About {
        name: "effects",
        summary: "ratios of configurations to their baseline, with the CIs that the verdicts use",
        text: "Each point is the ratio of a configuration to its baseline, with a line for the 95% CI that the \
               verdict uses. The figure states whether the CI is simultaneous over all comparisons of a workload. A \
               hollow point has no CI. A configuration is better or worse if its whole CI is on one side of 1; the \
               band is the equivalence margin. With many configurations, the figure shows main effects instead.",
    },
    draw,
};

const MOST_ROWS: usize = 24;
/// Limit on rows per figure; beyond it, one figure per workload.
const MOST_TOGETHER: usize = 24;
const MOST_OF_ONE: usize = 40;
const MOST_FIGURES: usize = 6;
const SORTS: [Sort<Option<Verdict>>; 5] = [
    (Some(Verdict::Better), "better", Colour::Series(0), 2),
    (Some(Verdict::Worse), "worse", Colour::Series(1), 4),
    (Some(Verdict::Equivalent), "equivalent", Colour::Series(2), 1),
    (Some(Verdict::Inconclusive), "inconclusive", Colour::Series(7), 0),
    (None, "no verdict", Colour::Series(7), 3),
];

struct EffectRow {
    workload: String,
    /// Unshortened name of the workload, as in the findings.
    full: String,
    /// Its baseline as `against ...`, if the workload has several; else empty.
    against: String,
    name: String,
    metric: String,
    better: Better,
    ratio: f64,
    interval: Option<[f64; 2]>,
    /// Whether the interval is simultaneous over all comparisons of the workload.
    family: bool,
    verdict: Option<Verdict>,
    word: String,
    trust: Option<Trust>,
    margin: Option<f64>,
}

/// Draws the ratios of all configurations, or if they are too many, the main effects of the factors' levels.
fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    let compared: Vec<_> = findings.comparisons.iter().filter(|it| it.primary).collect();
    let shows_effects = compared.len() > MOST_ROWS && !findings.effects.main.is_empty();
    let rows: Vec<EffectRow> = if shows_effects {
        findings.effects.main.iter().map(|it| row_of_effect(findings, it)).collect()
    } else {
        let names = Names::from_findings(findings);
        let shared = SharedLevels::new(&compared);
        compared.iter().filter_map(|it| row_of_comparison(findings, &names, &shared, it)).collect()
    };
    let subject = title_start(findings, &compared, shows_effects);
    // Group by title: each class of requests has its own metrics, but classes share a figure.
    let by_metric = parted(&rows, |it| (metric_title(&it.metric), it.better == Better::Higher));
    let mut figures = Vec::new();
    for (_, rows) in by_metric {
        if rows.len() <= MOST_TOGETHER {
            figures.extend(figure(&rows, &subject));
        } else {
            let by_workload = parted(rows, |row| &row.workload).into_iter();
            figures.extend(by_workload.filter_map(|(_, rows)| figure(&rows, &subject)));
        }
    }
    if let Some(estimated) = findings.study.race_ratio {
        for figure in &mut figures {
            figure.guides.push(Guide::line(estimated, "estimated by the race".to_owned()));
        }
    }
    at_most(figures, MOST_FIGURES, "figure")
}

/// The beginning of the title: what the figure compares.
fn title_start(findings: &Findings, compared: &[&Comparison], shows_effects: bool) -> String {
    if shows_effects {
        return "Levels against the baseline level, averaged over the other factors".to_owned();
    }
    match compared.first().map(|it| &it.baseline) {
        // A baseline that all comparisons share is named.
        Some(base) if compared.iter().all(|it| it.baseline == *base) && !base.is_empty() => {
            format!("Configurations against {}", Names::from_findings(findings).arm(base))
        }
        _ => "Configurations against their baseline".to_owned(),
    }
}

/// By workload and baseline: the levels that it shares with all its arms. Empty for a single baseline.
struct SharedLevels<'a>(Vec<(&'a str, &'a Arm, Arm)>);

impl<'a> SharedLevels<'a> {
    /// Finds the levels that all arms (configurations) of a baseline share with it; the title names a single baseline.
    fn new(compared: &[&'a Comparison]) -> Self {
        if compared.windows(2).all(|pair| pair[0].baseline == pair[1].baseline) {
            return Self(Vec::new());
        }
        let key = |it: &'a Comparison| (it.workload.as_str(), &it.baseline);
        let mut all = Vec::new();
        for ((workload, base), comparisons) in parted(compared.iter().copied(), key) {
            let mut shared = base.clone();
            shared.retain(|name, level| {
                comparisons.iter().all(|it| it.configuration.get(name) == Some(level))
            });
            all.push((workload, base, shared));
        }
        Self(all)
    }

    /// The heading of a comparison, and the name of its arm below it: the heading names the shared levels.
    fn names(&self, names: &Names, found: &Comparison) -> [String; 2] {
        let entry = self
            .0
            .iter()
            .find(|(workload, base, _)| *workload == found.workload && **base == found.baseline);
        let Some((.., shared)) = entry else {
            return [String::new(), names.arm(&found.configuration)];
        };
        let without_shared = |arm: &Arm| {
            let mut varied = arm.clone();
            varied.retain(|name, _| !shared.contains_key(name));
            names.arm(&varied)
        };
        let base = format!("against {}", without_shared(&found.baseline));
        [joined(&[&names.arm(shared), &base]), without_shared(&found.configuration)]
    }
}

/// The row of a comparison; `None` if it has no ratio.
fn row_of_comparison(
    findings: &Findings,
    names: &Names,
    shared: &SharedLevels<'_>,
    found: &Comparison,
) -> Option<EffectRow> {
    let [against, name] = shared.names(names, found);
    let is_withheld = no_verdict(findings).is_some();
    let trust_of = |arm| findings.cell(&found.workload, arm, &found.metric).and_then(|it| it.trust);
    Some(EffectRow {
        workload: short(&found.workload),
        full: found.workload.clone(),
        against,
        name,
        metric: found.metric.clone(),
        better: found.better,
        ratio: found.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0)?,
        interval: found.ci95_simultaneous.or(found.ci95),
        family: found.ci95_simultaneous.is_some(),
        verdict: found.verdict.filter(|_| !is_withheld),
        word: numbers::verdict_cell(found, is_withheld).text(Unit::Words),
        trust: trust_of(&found.configuration).max(trust_of(&found.baseline)),
        margin: found.margin,
    })
}

fn row_of_effect(findings: &Findings, found: &Effect) -> EffectRow {
    let margin = findings.comparisons.iter().find_map(|it| it.margin);
    EffectRow {
        workload: short(&found.workload),
        full: found.workload.clone(),
        against: format!("against {}", short(&level_words(&found.factor, &found.baseline))),
        name: short(&level_words(&found.factor, &found.level)),
        metric: found.metric.clone(),
        better: found.better,
        ratio: found.ratio,
        interval: found.ci95_simultaneous.or(found.ci95),
        family: found.ci95_simultaneous.is_some(),
        verdict: found.verdict,
        word: numbers::verdict_word(found.verdict).0.to_owned(),
        trust: None,
        margin,
    }
}

/// Draws rows of one metric; `subject` is the beginning of the title. `None` without rows.
fn figure(lines: &[&EffectRow], subject: &str) -> Option<Figure> {
    let first = lines.first()?;
    let is_single = lines.iter().all(|line| line.workload == first.workload);
    let (rows, points, dropped) = sorted_points(lines, is_single);
    let metric = metric_title(&first.metric);
    let direction = first.better.words();
    let title = format!("{metric} relative to the baseline; {direction}");
    let value = Axis::new(title, AxisScale::Log10, Unit::Ratio).within(limits(lines));
    let margin = first.margin.map(|share| {
        let ([from, to], name) = margin_guide(share);
        Guide { from, to, name }
    });
    let series = by_sort(SORTS, points, Mark::Points);
    let mut notes: Vec<String> = clipped(&series, &value).into_iter().collect();
    notes.extend(left_out(dropped, "near-baseline configuration"));
    Some(Figure {
        id: id_of(&["effects", &metric, if is_single { &first.workload } else { "" }]),
        title: if is_single {
            format!("{}: {}, ratio of {metric}", first.workload, uncapitalized(subject))
        } else {
            format!("{subject}: ratio of {metric}")
        },
        description: description(lines),
        guides: margin.into_iter().chain([Guide::line(1.0, "no difference".to_owned())]).collect(),
        notes,
        workload: is_single.then(|| first.full.clone()),
        metric: lines.iter().all(|line| line.metric == first.metric).then(|| first.metric.clone()),
        ..Figure::lying(rows.axis(), value, series)
    })
}

type VerdictPoint = (Option<Verdict>, Point);

/// The rows of the figure, their points, and how many small differences were omitted; a single workload is unnamed.
fn sorted_points(lines: &[&EffectRow], is_single: bool) -> (FigureRows, Vec<VerdictPoint>, usize) {
    let groups = parted(lines.iter().copied(), |it| (it.workload.as_str(), it.against.as_str()));
    let has_headings = groups.len() > 1 || lines.iter().any(|line| !line.against.is_empty());
    let (mut rows, mut points, mut dropped) = (FigureRows::default(), Vec::new(), 0);
    for ((workload, against), mut group) in groups {
        let distance = |line: &EffectRow| line.ratio.ln().abs();
        group.sort_by(|left, right| distance(right).total_cmp(&distance(left)));
        dropped += group.len().saturating_sub(MOST_OF_ONE);
        group.truncate(MOST_OF_ONE);
        // The largest differences remain; show them by ratio.
        group.sort_by(|left, right| right.ratio.total_cmp(&left.ratio));
        if has_headings {
            rows.heading(&joined(&[if is_single { "" } else { workload }, against]));
        }
        for line in group {
            points.push((line.verdict, point_of(rows.add(&line.name), line)));
        }
    }
    (rows, points, dropped)
}

fn description(lines: &[&EffectRow]) -> String {
    let mut text = "Each point is a ratio to the baseline".to_owned();
    let intervals = lines.iter().filter(|line| line.interval.is_some()).count();
    let simultaneous = lines.iter().filter(|line| line.interval.is_some() && line.family).count();
    text += if intervals == 0 {
        ""
    } else if simultaneous == intervals {
        ", with a line for its 95% CI (simultaneous over all comparisons of a workload)"
    } else if simultaneous == 0 {
        ", with a line for its individual 95% CI"
    } else {
        ", with a line for its 95% CI (individual, or simultaneous over all comparisons of a workload)"
    };
    if intervals < lines.len() {
        text += "; hollow points have no CI";
    }
    if lines.iter().any(|line| line.margin.is_some()) {
        text += "; the band is the equivalence margin";
    }
    text + "."
}

fn uncapitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}

/// Ends of the axis: at most a factor of three beyond the ratios, as intervals of few trials may be infinite.
fn limits(lines: &[&EffectRow]) -> [f64; 2] {
    let ratios = || lines.iter().map(|line| line.ratio);
    [ratios().fold(1.0, f64::min) / 3.0, ratios().fold(1.0, f64::max) * 3.0]
}

fn point_of(at: f64, line: &EffectRow) -> Point {
    let metric = metric_title(&line.metric);
    let point = Point::new(
        at,
        Unit::Ratio,
        &joined(&[&line.workload, &line.against, &line.name, &metric]),
        line.ratio,
        line.interval,
    );
    // `Point::new` drops an interval with infinite ends.
    let has_no_interval = point.interval.is_none();
    let point = point.marked(Look::Solid, &line.word);
    let point = if has_no_interval { point.marked(Look::Hollow, "no CI") } else { point };
    mark_trust(point, line.trust)
}
