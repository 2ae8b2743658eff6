//! What is drawn of what kinds of work tell, whatever kinds these are: figures from the specifications that
//! stand in their exhibits.

use super::Draws;
use super::parts::with_marks;
use super::words::{Names, joined, point, short};
use crate::evidence::Evidence;
use crate::figure::{
    Axis, Figure, Guide, Marks, Point, Scale, Series, Span, SpanKind, Tile, Unit, id_of,
};
use assay_base::catalogue::About;
use assay_base::exhibit::{self, Chart, Stack};
use assay_kinds::work::tell::FactsFigure;

/// Steps of one line that are drawn.
const MOST_STEPS: usize = 120;

impl Draws for FactsFigure {
    fn about(&self) -> About {
        self.about
    }

    fn draw(&self, evidence: &Evidence) -> Vec<Figure> {
        let findings = &evidence.findings;
        // Trials of several results have no order in common.
        if findings.study.kind == "compare" {
            return Vec::new();
        }
        let names = Names::of(findings);
        let charts = findings.exhibits().flat_map(|(_, exhibit)| exhibit.charts);
        let own = charts.filter(|chart| chart.figure == self.about.name);
        own.filter_map(|chart| figure(&names, &chart)).collect()
    }
}

fn figure(names: &Names, chart: &Chart) -> Option<Figure> {
    let drawn = match &chart.marks {
        exhibit::Marks::Stacks { one, what, parts, stacks } => {
            let titles: Vec<String> = stacks.iter().map(|stack| title(names, one, stack)).collect();
            let unit = Unit::metric(&chart.metric);
            let tiles = Series::each(tiles(&unit, &titles, parts, stacks), Marks::Tiles);
            let value = Axis::new(&*chart.axis, Scale::Linear, unit).from_zero();
            Figure {
                interval: what.clone(),
                notes: chart.notes.clone(),
                ..Figure::lying(Axis::names("", titles), value, with_marks(tiles)?)
            }
        }
        exhibit::Marks::Lines { one, lines, stretch, guides } => {
            let figure = of_lines(chart, one, lines)?;
            let guide = |own: &exhibit::Guide| Guide::line(own.value, own.name.clone());
            Figure {
                spans: stretch.iter().map(span).collect(),
                guides: guides.iter().map(guide).collect(),
                ..figure
            }
        }
        exhibit::Marks::OverTime { step_s, lines } => over_time(chart, *step_s, lines)?,
        exhibit::Marks::Bars { what, names, groups } => bars(chart, what, names, groups)?,
    };
    Some(Figure {
        id: id_of(&[&chart.figure, &chart.workload]),
        title: format!("{}: {}", short(&chart.workload), chart.title),
        description: chart.description.clone(),
        workload: Some(chart.workload.clone()),
        ..drawn
    })
}

/// Lines over steps; of many steps each so many are drawn.
fn of_lines(chart: &Chart, one: &str, lines: &[exhibit::Line]) -> Option<Figure> {
    let unit = Unit::metric(&chart.metric);
    let longest = lines.iter().map(|line| line.values.len()).max()?;
    let step = longest.div_ceil(MOST_STEPS).max(1);
    let points = |line: &exhibit::Line| {
        let own = line.values.iter().enumerate().step_by(step);
        let told = own.map(|(at, value)| {
            let number = at + 1;
            let name = joined(&[&line.name, &format!("{one} {number}")]);
            Point { joined: at > 0, ..point(number as f64, &unit, &name, *value, None) }
        });
        (line.name.clone(), told.collect::<Vec<Point>>())
    };
    let series = with_marks(Series::each(lines.iter().map(points), Marks::Line))?;
    let along = Axis::new(one, Scale::Linear, Unit::Number);
    let value = Axis::new(&*chart.axis, Scale::Linear, unit).from_zero();
    let notes = (step > 1).then(|| format!("Showing 1 of every {step} {one}s."));
    let notes = notes.into_iter().chain(chart.notes.iter().cloned()).collect();
    Some(Figure { notes, ..Figure::upright(along, value, series) })
}

/// Lines over time: a point stands in the middle of its step.
fn over_time(chart: &Chart, step_s: f64, lines: &[exhibit::Line]) -> Option<Figure> {
    let unit = Unit::metric(&chart.metric);
    let points = |line: &exhibit::Line| {
        let own = line.values.iter().take(MOST_STEPS).enumerate();
        let told = own.map(|(at, value)| {
            let middle = (at as f64 + 0.5) * step_s;
            let name = joined(&[&short(&line.name), &Unit::Seconds.text(middle)]);
            Point { joined: at > 0, ..point(middle, &unit, &name, *value, None) }
        });
        (short(&line.name), told.collect::<Vec<Point>>())
    };
    let series = with_marks(Series::each(lines.iter().map(points), Marks::Line))?;
    // From zero on: a recording may be of parts of a second.
    let along = Axis::new("time", Scale::Linear, Unit::Seconds).from_zero();
    let value = Axis::new(&*chart.axis, Scale::Linear, unit).from_zero();
    Some(Figure { notes: chart.notes.clone(), ..Figure::upright(along, value, series) })
}

/// Bars of each group beside those of the others; of nothing there is none.
fn bars(chart: &Chart, what: &str, names: &[String], groups: &[exhibit::Line]) -> Option<Figure> {
    let unit = Unit::metric(&chart.metric);
    let points = |group: &exhibit::Line| {
        let own = names.iter().zip(&group.values).enumerate();
        let told = own.filter(|(_, (_, value))| **value > 0.0).map(|(at, (name, value))| {
            let name = joined(&[&short(&group.name), &short(name)]);
            point(at as f64, &unit, &name, *value, None)
        });
        (short(&group.name), told.collect::<Vec<Point>>())
    };
    let series = with_marks(Series::each(groups.iter().map(points), Marks::Bars))?;
    let along = Axis::names(what, names.iter().map(|name| short(name)));
    let value = Axis::new(&*chart.axis, Scale::Linear, unit).from_zero();
    Some(Figure { notes: chart.notes.clone(), ..Figure::lying(along, value, series) })
}

fn span(own: &exhibit::Stretch) -> Span {
    Span {
        from: own.first as f64,
        to: own.last as f64,
        kind: SpanKind::Alternate,
        text: own.text.clone(),
        label: own.text.clone(),
    }
}

/// What a bar is called: its number, and its arm where that differs.
fn title(names: &Names, one: &str, stack: &Stack) -> String {
    let (arm, number) = (names.arm(&stack.arm), stack.number);
    let name = if arm.is_empty() {
        format!("{one} {number}")
    } else {
        format!("{number}: {}", short(&arm))
    };
    match &stack.remark {
        Some(remark) => format!("{name}, {remark}"),
        None => name,
    }
}

/// The tiles of each part by its name: every part begins where the ones before it end.
fn tiles<'a>(
    unit: &Unit,
    titles: &[String],
    parts: &'a [String],
    stacks: &[Stack],
) -> Vec<(&'a str, Vec<Tile>)> {
    let mut ends = vec![0.0; stacks.len()];
    let of_part = |(index, name): (usize, &'a String)| {
        let mut tiles = Vec::new();
        for (place, stack) in stacks.iter().enumerate() {
            let Some(value) = stack.parts.get(index).copied().flatten() else { continue };
            let from: f64 = ends[place];
            ends[place] = from + value;
            let at = place as f64;
            let label = unit.alone(value);
            tiles.push(Tile {
                at: [at - 0.4, at + 0.4],
                value: [from, from + value],
                text: format!("{}, {name}: {label}", titles[place]),
                label,
                printed: false,
            });
        }
        (name.as_str(), tiles)
    };
    parts.iter().enumerate().map(of_part).collect()
}

#[cfg(test)]
mod tests {
    use super::super::FIGURES;
    use super::super::tests::evidences;
    use super::*;
    use assay_study::findings::{Findings, OfKinds};

    fn drawn(change: impl Fn(&mut Findings)) -> Vec<Figure> {
        let (_, known) = evidences().iter().find(|(name, _)| name == "study-boots").unwrap();
        let mut evidence = known.clone();
        change(&mut evidence.findings);
        let boots = FIGURES.iter().find(|kind| kind.about().name == "boots").unwrap();
        boots.draw(&evidence)
    }

    #[test]
    fn parts_of_a_bar_follow_each_other_and_what_has_none_says_why() {
        let figure = drawn(|_| ()).remove(0);
        let names: Vec<&str> = figure.series.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["kernel", "userspace"]);
        let [kernel, userspace] = [0, 1].map(|index| figure.series[index].marks.tiles());
        assert_eq!((kernel.len(), userspace.len()), (2, 2));
        for (first, then) in kernel.iter().zip(userspace) {
            assert_eq!((first.value[0], first.value[1]), (0.0, then.value[0]));
            assert_eq!(first.at, then.at);
        }
        let Scale::Category(slots) = &figure.along.scale else { panic!("{:?}", figure.along) };
        let slots: Vec<&str> = slots.iter().map(|slot| slot.name.as_str()).collect();
        assert_eq!(slots, ["boot 1", "boot 2, did not finish", "boot 3"]);
        assert_eq!(kernel[1].text, "boot 3, kernel: 13.3 s");
    }

    fn of_rounds(change: impl Fn(&mut Chart)) -> Option<Figure> {
        let (_, known) = evidences().iter().find(|(name, _)| name == "convergence").unwrap();
        let (_, exhibit) = known.findings.exhibits().find(|(_, own)| !own.charts.is_empty())?;
        let mut chart = exhibit.charts[0].clone();
        change(&mut chart);
        figure(&Names::of(&known.findings), &chart)
    }

    #[test]
    fn a_line_has_a_point_a_step_and_the_stretch_and_the_guides_that_it_is_held_against() {
        let found = of_rounds(|_| ()).unwrap();
        let points = found.series[0].marks.points();
        assert_eq!((found.series.len(), points.len()), (1, 8));
        assert_eq!((points[0].at, points[0].joined, points[7].joined), (1.0, false, true));
        assert!(points[0].text.contains("round 1"), "{:?}", points[0]);
        let [span] = &found.spans[..] else { panic!("{:?}", found.spans) };
        assert_eq!((span.from, span.to, span.label.as_str()), (4.0, 8.0, "steady"));
        assert_eq!(found.guides.len(), 2);
    }

    #[test]
    fn of_many_steps_some_are_drawn_and_that_is_told_and_of_none_nothing_is() {
        let long = |count: usize| {
            move |chart: &mut Chart| {
                let exhibit::Marks::Lines { lines, .. } = &mut chart.marks else { panic!() };
                lines[0].values = vec![1.0; count];
            }
        };
        let found = of_rounds(long(1440)).unwrap();
        assert_eq!(found.series[0].marks.len(), 120);
        assert_eq!(found.notes, ["Showing 1 of every 12 rounds."]);
        assert_eq!(of_rounds(long(0)), None);
        let few = of_rounds(long(3)).unwrap();
        assert_eq!((few.series[0].marks.len(), few.notes.len()), (3, 0));
    }

    /// The figures of a kind from evidence with a name.
    fn of_evidence(name: &str) -> Vec<Figure> {
        let (_, known) = evidences().iter().find(|(own, _)| own == name).unwrap();
        let kind = FIGURES.iter().find(|kind| kind.about().name == name).unwrap();
        kind.draw(known)
    }

    #[test]
    fn lines_over_time_stand_in_the_middle_of_their_steps_and_bars_have_one_of_each_group() {
        let found = of_evidence("replay");
        let (starts, sizes) = (&found[0], &found[3]);
        assert_eq!(starts.id, "replay-evening");
        let names = |of: &Figure| of.series.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(starts), ["recorded", "replayed"]);
        assert_eq!(names(sizes), names(starts));
        let points = starts.series[0].marks.points();
        assert!(points.len() > 2 && points[0].at > 0.0, "{points:?}");
        assert!((points[1].at - 3.0 * points[0].at).abs() < 1e-9, "{points:?}");
        let Scale::Category(rows) = &sizes.along.scale else { panic!("{:?}", sizes.along) };
        let [recorded, played] = [0, 1].map(|index| sizes.series[index].marks.points());
        assert!(recorded.len() <= rows.len() && !played.is_empty());
        assert!(recorded.iter().all(|bar| bar.value > 0.0));
    }

    #[test]
    fn nothing_is_drawn_without_an_exhibit_without_numbers_and_across_results() {
        assert!(drawn(|found| found.of_kinds = OfKinds::default()).is_empty());
        assert!(drawn(|found| found.measurements.clear()).is_empty());
        assert!(drawn(|found| found.study.kind = "compare".to_owned()).is_empty());
    }
}
