//! What is drawn of what kinds of work tell, whatever kinds these are: figures from the specifications that
//! stand in their exhibits.

use super::Draws;
use super::parts::with_marks;
use super::words::{Names, short};
use crate::evidence::Evidence;
use crate::figure::{Axis, Figure, Marks, Scale, Series, Tile, Unit, id_of};
use assay_base::catalogue::About;
use assay_base::exhibit::{self, Chart, Stack};
use assay_kinds::work::tell::FactsFigure;

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
    let exhibit::Marks::Stacks { one, what, parts, stacks } = &chart.marks;
    let titles: Vec<String> = stacks.iter().map(|stack| title(names, one, stack)).collect();
    let unit = Unit::metric(&chart.metric);
    let series = with_marks(Series::each(tiles(&unit, &titles, parts, stacks), Marks::Tiles))?;
    let value = Axis::new(&*chart.axis, Scale::Linear, unit).from_zero();
    Some(Figure {
        id: id_of(&[&chart.figure, &chart.workload]),
        title: format!("{}: {}", short(&chart.workload), chart.title),
        description: chart.description.clone(),
        interval: what.clone(),
        notes: chart.notes.clone(),
        workload: Some(chart.workload.clone()),
        ..Figure::lying(Axis::names("", titles), value, series)
    })
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

    #[test]
    fn nothing_is_drawn_without_an_exhibit_without_numbers_and_across_results() {
        assert!(drawn(|found| found.of_kinds = OfKinds::default()).is_empty());
        assert!(drawn(|found| found.cells.clear()).is_empty());
        assert!(drawn(|found| found.study.kind = "compare".to_owned()).is_empty());
    }
}
