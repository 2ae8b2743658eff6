//! What boots say, a sentence a group: how long they took, and how many there were.

use assay_base::quantity::units::show;
use assay_kinds::work::boot::{USERSPACE, WHOLE};
use assay_study::findings::boots::BootGroup;
use assay_study::findings::said::{Said, Sentence};
use assay_study::findings::{Cell, Findings};
use assay_study::results::plan::arm_in_words;

/// Groups that have a sentence.
const MOST: usize = 6;

pub(super) fn of_groups(found: &Findings) -> impl Iterator<Item = Sentence> + '_ {
    let told = found.boots.iter().take(MOST).map(|group| of_group(found, group));
    told.map(|text| Sentence::new(Said::Boots, text))
}

fn of_group(found: &Findings, group: &BootGroup) -> String {
    let name = arm_in_words(group.arm.iter());
    let own = |metric: &str| {
        found.cells.iter().find(|cell| {
            cell.workload == group.workload
                && cell.arm == group.arm
                && cell.metric == metric
                && cell.n > 0
        })
    };
    let whole = own(WHOLE.name).map(|cell| (cell, "from the kernel's start"));
    let told = whole.or_else(|| own(USERSPACE.name).map(|cell| (cell, "of userspace")));
    let unfinished = match group.unfinished.len() {
        0 => String::new(),
        1 => "; 1 more did not finish".to_owned(),
        more => format!("; {more} more did not finish"),
    };
    let Some((cell, of)) = told else { return format!("{name}: no boot finished{unfinished}.") };
    let boots = if cell.n == 1 { "1 boot".to_owned() } else { format!("{} boots", cell.n) };
    format!("{name}: {} {of} ({boots}{}){unfinished}.", mean(cell), interval(cell))
}

fn mean(cell: &Cell) -> String {
    seconds(cell.value().unwrap_or(0.0))
}

fn interval(cell: &Cell) -> String {
    let ends = cell.ci95.map(|ends| ends.map(seconds));
    ends.map_or_else(String::new, |[low, high]| format!(", 95 % interval {low} to {high}"))
}

fn seconds(value: f64) -> String {
    show::duration(value * 1e9)
}
