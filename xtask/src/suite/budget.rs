//! What docs/testing.md lets each step take. The clock fails nothing: other work on the machine moves it. What
//! the processors did is the step's own, and a step that takes half as much again fails.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::thread;

use super::cost::{Cost, Ended};
use crate::build::root;
use crate::lab::Done;

const PAPER: &str = "docs/testing.md";
/// The heading of the table.
const HEADING: &str = "## What each step may take";
/// How much more than its row a step may take of the processors.
const ROOM: f64 = 1.5;
/// Shorter steps vary by more than that.
const LEAST_S: f64 = 60.0;

/// What is expected of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Wall time with nothing beside, seconds.
    pub wall_s: u64,
    /// User and system time of all that it starts, seconds.
    pub processors_s: u64,
    /// The note that says why it may take as much.
    pub decided: String,
}

/// Step -> what is expected of it in a tier.
pub type Rows = BTreeMap<String, Row>;

/// The rows of a tier: those with numbers in its column.
pub fn rows(tier: &str) -> Done<Rows> {
    rows_of(PAPER, tier)
}

fn rows_of(paper: &str, tier: &str) -> Done<Rows> {
    let text = fs::read_to_string(root().join(paper)).map_err(|e| format!("{paper}: {e}"))?;
    read(&text, tier).ok_or_else(|| format!("{paper}: no table of steps with a column {tier}"))
}

fn read(text: &str, tier: &str) -> Option<Rows> {
    let (_, table) = text.split_once(HEADING)?;
    let mut lines = table.lines().skip_while(|line| !line.starts_with('|'));
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let head = cells(lines.next()?);
    let column = head.iter().position(|name| name == tier)?;
    let rows = lines.skip(1).take_while(|line| line.starts_with('|')).map(cells);
    let row = |cells: Vec<String>| {
        let (wall, processors) = cells.get(column)?.split_once(" / ")?;
        let seconds = |text: &str| text.strip_suffix(" s")?.parse().ok();
        let (wall_s, processors_s) = (seconds(wall)?, seconds(processors)?);
        let decided = cells.get(head.len() - 1)?.clone();
        Some((cells.first()?.clone(), Row { wall_s, processors_s, decided }))
    };
    Some(rows.filter_map(row).collect())
}

/// What a step cost, beside its row.
pub fn told(ended: &Ended, row: Option<&Row>) -> String {
    let row = row.map(|row| format!("; {} s / {} s expected", row.wall_s, row.processors_s));
    format!("{}{}", ended.told(), row.unwrap_or_default())
}

/// Why a step took too much work, on a machine that is slower than that of the rows by a factor.
pub fn over(ended: &Ended, row: &Row, slower: f64) -> Option<String> {
    let most = row.processors_s as f64 * ROOM * slower.max(1.0);
    (ended.processors_s > most && ended.processors_s > LEAST_S).then(|| {
        format!(
            "{:.0} s of processors, more than {most:.0} s: make it cheaper, or raise its row in {PAPER} with a note in docs/decisions",
            ended.processors_s
        )
    })
}

/// How much slower this machine is than the one that the rows were taken on: the work of the yardstick
/// against what it took there. All processors do it at once, as in a run: two that share a core take half as
/// much again of a second each for the same work, and one alone does not show it.
pub fn yardstick() -> f64 {
    /// Processor seconds on the machine of the rows, without optimisation.
    const THERE_S: f64 = 0.32;
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let cost = Cost::begin();
    thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(measured_work);
        }
    });
    cost.end().processors_s / processors as f64 / THERE_S
}

/// What each processor does for the yardstick.
fn measured_work() {
    const ENTRIES: u64 = 300_000;
    let mut tree = BTreeMap::new();
    for number in 0..ENTRIES {
        let key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_string();
        *tree.entry(key).or_insert(0_u64) += number;
    }
    std::hint::black_box(&tree);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_by_its_column() {
        let text = format!(
            "x\n{HEADING}\n\n| step | fast | all | decided |\n|---|---|---|---|\n| a | - | 5 s / 3 s | x |\n| b c | 7 s / 8 s | 9 s / 1 s | y |\n\n| d | 1 s | 1 s |\n"
        );
        let all = read(&text, "all").unwrap();
        assert_eq!(all.len(), 2);
        let row = Row { wall_s: 9, processors_s: 1, decided: "y".to_owned() };
        assert_eq!(all["b c"], row);
        assert_eq!(read(&text, "fast").unwrap().keys().collect::<Vec<_>>(), ["b c"]);
        assert_eq!(read(&text, "long"), None);
        assert_eq!(read("", "fast"), None);
    }

    #[test]
    fn too_much_work_fails_and_a_slow_clock_does_not() {
        let row = |processors_s| Row { wall_s: 10, processors_s, decided: String::new() };
        let took = |processors_s| Ended { wall_s: 1e6, processors_s };
        assert_eq!(over(&took(149.0), &row(100), 1.0), None);
        assert!(over(&took(151.0), &row(100), 1.0).unwrap().contains("more than 150 s"));
        assert_eq!(over(&took(151.0), &row(100), 1.2), None, "a slower machine");
        assert!(over(&took(151.0), &row(100), 0.5).is_some(), "a faster one gives no less room");
        assert_eq!(over(&took(59.0), &row(10), 1.0), None, "a short step");
    }

    /// The note of a row has a table of the same form that allows it as much, or more.
    #[test]
    fn no_row_is_above_what_its_note_decided() {
        for tier in ["fast", "all", "long"] {
            for (step, row) in rows(tier).unwrap() {
                let paper = format!("docs/decisions/{}.md", row.decided);
                let decided = rows_of(&paper, tier).unwrap();
                let most = decided.get(&step).map_or(0, |decided| decided.processors_s);
                assert!(row.processors_s <= most, "{step}, {tier}: {paper} allows {most} s");
            }
        }
    }
}
