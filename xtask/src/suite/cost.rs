//! What a step costs, beside what docs/testing.md expects of it. No step fails for it: other work on
//! the machine moves the times.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use crate::build::root;
use crate::lab::Done;

const PAPER: &str = "docs/testing.md";
/// The heading of the table.
const HEADING: &str = "## What each step may take";

/// What is expected of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Wall time with nothing beside, seconds.
    pub seconds: u64,
}

/// Step -> what is expected of it in a tier.
pub type Rows = BTreeMap<String, Row>;

/// The rows of a tier: those with a number in its column.
pub fn rows(tier: &str) -> Done<Rows> {
    let text = fs::read_to_string(root().join(PAPER)).map_err(|e| format!("{PAPER}: {e}"))?;
    read(&text, tier).ok_or_else(|| format!("{PAPER}: no table of steps with a column {tier}"))
}

fn read(text: &str, tier: &str) -> Option<Rows> {
    let (_, table) = text.split_once(HEADING)?;
    let mut lines = table.lines().skip_while(|line| !line.starts_with('|'));
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let column = cells(lines.next()?).iter().position(|name| name == tier)?;
    let rows = lines.skip(1).take_while(|line| line.starts_with('|')).map(cells);
    let row = |cells: Vec<String>| {
        let seconds = cells.get(column)?.strip_suffix(" s")?.parse().ok()?;
        Some((cells.first()?.clone(), Row { seconds }))
    };
    Some(rows.filter_map(row).collect())
}

/// Time since its beginning: by the clock, and of the processors by ended children and ourselves.
pub struct Cost {
    start: Instant,
    processors: f64,
}

impl Cost {
    /// From now on.
    pub fn begin() -> Self {
        Self { start: Instant::now(), processors: processor_seconds() }
    }

    /// Both, and whether more was expected.
    pub fn told(&self, row: Option<&Row>) -> String {
        let wall = self.start.elapsed().as_secs_f64();
        let processors = processor_seconds() - self.processors;
        let times = format!("{wall:.1} s, {processors:.1} s of processors");
        match row {
            Some(row) if wall > row.seconds as f64 => {
                format!("{times}; more than the {} s expected", row.seconds)
            }
            Some(row) => format!("{times}; {} s expected", row.seconds),
            None => times,
        }
    }
}

/// User and system time of this process and of its children that ended (proc_pid_stat(5), 14 to 17).
fn processor_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(4);
    let sum: f64 = ticks.filter_map(|word| word.parse::<f64>().ok()).sum();
    sum / rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod own_tests {
    use super::*;

    #[test]
    fn a_table_is_read_by_its_column() {
        let text = format!(
            "x\n{HEADING}\n\n| step | fast | all |\n|---|---|---|\n| a | - | 5 s |\n| b c | 7 s | 9 s |\n\n| d | 1 s | 1 s |\n"
        );
        let all = read(&text, "all").unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!(all["b c"].seconds, 9);
        assert_eq!(read(&text, "fast").unwrap().keys().collect::<Vec<_>>(), ["b c"]);
        assert_eq!(read(&text, "long"), None);
        assert_eq!(read("", "fast"), None);
    }

    #[test]
    fn processors_are_counted() {
        let before = processor_seconds();
        let mut sum = 0_u64;
        while processor_seconds() <= before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
    }
}
