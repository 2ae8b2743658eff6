//! Numbers of the study as bars, with published ones next to them.

use assay_core::exhibit::figure::{Figure, Look, Mark, Point, Series, id_of, short};
use assay_core::exhibit::parts::{BEYOND, FigureRows, at_most, of_bars};
use assay_core::{catalogue::About, exhibit::Unit};
use assay_study::findings::shown::{mark_trust, metric_title, unit_of};
use assay_workloads::tell::FactsFigure;

use super::{TOPIC, table::PublishedGroup};

pub static PUBLISHED: FactsFigure = FactsFigure {
    key: TOPIC,
    about: About {
        name: TOPIC,
        summary: "your results next to published results of similar workloads",
        text: "Your bars are geometric means of the trials with 95% CIs. Published bars are hatched and keep the \
               author's rounding. Flagged values are hollow and dashed, with the flag in the notes. Published values \
               come from another machine, so Assay gives no verdict on the difference.",
    },
    leads: false,
};

const MOST_FIGURES: usize = 12;
const MOST_BARS: usize = 40;

pub(super) fn figures(groups: &[PublishedGroup<'_>]) -> Vec<Figure> {
    at_most(groups.iter().filter_map(figure).collect(), MOST_FIGURES, "metric")
}

/// The bars of a group; `None` if there is nothing measured here or nothing published.
fn figure(group: &PublishedGroup<'_>) -> Option<Figure> {
    let unit = if group.ratio.is_some() { Unit::Ratio } else { unit_of(group.metric) };
    let (mut rows, mut measured, mut published) = (FigureRows::default(), Vec::new(), Vec::new());
    for line in group.lines.iter().take(MOST_BARS) {
        if let Some(number) = line.own {
            let name = format!("here: {}", short(&line.own_name));
            let point = Point::new(rows.add(&name), unit, &name, number.value, number.interval);
            let point = mark_trust(point, number.rating.map(|rating| rating.trust));
            measured.push(Point { label: Some(group.format(number.value)), ..point });
        }
        let Some(one) = line.published else { continue };
        let Some(value) = one.value.filter(|value| value.is_finite()) else { continue };
        let name = short(&one.of);
        let point = Point::new(rows.add(&name), unit, &name, value, None);
        let text = format!("{name}: published as {}; {}", one.text, one.statistic);
        let point = Point { label: Some(one.text.clone()), text, look: Look::Hatched, ..point };
        published.push(match one.flags.as_slice() {
            [] => point,
            flags => point.marked(Look::Crossed, &flags.join("; ")),
        });
    }
    if measured.is_empty() || published.is_empty() {
        return None;
    }
    let title = metric_title(group.metric);
    let title = if group.ratio.is_some() { format!("ratio of {title}") } else { title };
    let series = Series::each([("here", measured), ("published", published)], Mark::Bars);
    let bars = of_bars(rows.axis(), title, unit, BEYOND, series)?;
    let article = group.lines.iter().find_map(|line| Some(&line.published?.article));
    let article = article.map(|title| format!("Published: \"{}\".", short(title)));
    let flagged = group.lines.iter().filter_map(|line| {
        let one = line.published.filter(|one| !one.flags.is_empty())?;
        Some(format!("{}, {}: {}.", short(&one.of), one.text, one.flags.join("; ")))
    });
    Some(Figure {
        id: id_of(&["published", group.workload, group.metric, group.ratio.unwrap_or_default()]),
        title: format!("{}, measured here and published", short(&group.title())),
        description:
            "Your bars are geometric means of the trials, with the 95% CI as a line; published bars keep the author's \
             rounding and come from another machine."
                .to_owned(),
        notes: article.into_iter().chain(flagged).chain(bars.notes).collect(),
        workload: Some(group.workload.to_owned()),
        ..bars
    })
}
