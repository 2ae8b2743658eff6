//! A search space (`[search]`): its ranges become levels of factors when the study is read.

use assay_core::quantity::units::show;
use assay_core::quantity::{Bytes, Percent, Time};
use serde_json::{Map, Value, json};

use super::levels::check_level;
use super::race;
use super::text::scalar::Complaint;

const MOST_LEVELS: usize = 1000;

const HINT: &str = "use the form \"16 KiB .. 4 MiB in doublings\" or \"32 .. 256 in steps of 32\"";

pub fn is_range(text: &str) -> bool {
    text.contains("..") && (text.contains(" in ") || parse_ends(text).is_some())
}

/// Returns the levels of a range; the error names the first problem.
pub fn levels(name: &str, text: &str) -> Result<Vec<String>, Complaint> {
    let complaint = |what: &str| Complaint::new(format!("{name}: \"{text}\" {what}"), HINT);
    let Some((range, steps)) = text.split_once(" in ") else {
        if parse_ends(text).is_none() {
            return Err(complaint("is not a range"));
        }
        let hint = format!("example: {name} = \"{} in doublings\"", text.trim());
        return Err(Complaint::new(format!("{name}: \"{text}\" has no step size"), hint));
    };
    let (unit, first, last) =
        parse_ends(range).ok_or_else(|| complaint("is not a range between two amounts"))?;
    if first >= last {
        return Err(complaint("starts with the larger amount"));
    }
    let amounts = match steps.trim() {
        "doublings" if first <= 0.0 => {
            let hint =
                format!("list zero separately: {name} = [\"0\", \"16 KiB .. 4 MiB in doublings\"]");
            return Err(Complaint::new(format!("{name}: cannot double zero"), hint));
        }
        "doublings" => amounts_between(first, last, |amount| amount * 2.0),
        other => {
            let step = other.strip_prefix("steps of ").and_then(|step| unit.read(step.trim()));
            let step = step.filter(|step| *step > 0.0);
            let step =
                step.ok_or_else(|| complaint("requires `in doublings` or `in steps of AMOUNT`"))?;
            amounts_between(first, last, |amount| unit.rounded(amount + step))
        }
    };
    let amounts = amounts.ok_or_else(|| {
        complaint(&format!("has more than {} levels", show::count(MOST_LEVELS as u64)))
    })?;
    let levels: Vec<String> = amounts.into_iter().map(|amount| unit.written(amount)).collect();
    // Reports only the first invalid level.
    match levels.iter().find_map(|level| check_level(name, level).err()) {
        Some((message, hint)) => Err(Complaint { message, hint }),
        None => Ok(levels),
    }
}

/// Amounts from `first` to `last`, inclusive; `None` if there are too many.
fn amounts_between(first: f64, last: f64, next: impl Fn(f64) -> f64) -> Option<Vec<f64>> {
    let mut found = vec![first];
    let mut amount = next(first);
    while amount < last && found.len() < MOST_LEVELS {
        found.push(amount);
        amount = next(amount);
    }
    found.push(last);
    (found.len() <= MOST_LEVELS).then_some(found)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueUnit {
    Number,
    /// Operations or bytes a second: `8000/s`.
    PerSecond,
    Bytes,
    Time,
    Share,
}

const UNITS: [ValueUnit; 5] =
    [ValueUnit::Number, ValueUnit::PerSecond, ValueUnit::Bytes, ValueUnit::Time, ValueUnit::Share];

impl ValueUnit {
    fn read(self, text: &str) -> Option<f64> {
        match self {
            Self::Number => text.parse::<u64>().ok().map(|number| number as f64),
            Self::PerSecond => Self::Number.read(text.strip_suffix("/s")?.trim()),
            Self::Bytes => text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64),
            Self::Time => text.parse::<Time>().ok().map(|time| time.0 as f64),
            Self::Share => text.parse::<Percent>().ok().map(|share| share.0),
        }
    }

    /// Rounds a sum of shares, so 1.2% and 0.2% are exactly 1.4%.
    fn rounded(self, amount: f64) -> f64 {
        if self == Self::Share { (amount * 1e6).round() / 1e6 } else { amount }
    }

    fn written(self, amount: f64) -> String {
        match self {
            Self::Number => (amount as u64).to_string(),
            Self::PerSecond => format!("{}/s", amount as u64),
            Self::Bytes => Bytes(amount as u64).to_string(),
            Self::Time => Time(amount as u64).to_string(),
            Self::Share => Percent(amount).to_string(),
        }
    }
}

/// Parses `16 KiB .. 4 MiB` into unit and ends.
fn parse_ends(text: &str) -> Option<(ValueUnit, f64, f64)> {
    let (first, last) = text.split_once("..")?;
    let (first, last) = (first.trim(), last.trim());
    UNITS.iter().find_map(|unit| Some((*unit, unit.read(first)?, unit.read(last)?)))
}

/// Turns the search space of a study into factors, and the study into a race unless it sets another rule.
pub fn dissolve(study: &mut Value) {
    let Some(study) = study.as_object_mut() else { return };
    let Some(Value::Object(space)) = study.remove("search") else { return };
    if let Some(factors) = table(study, "factors") {
        factors.extend(space);
    }
    let is_race = table(study, "stop").is_some_and(|stop| {
        let rule = stop.entry("rule").or_insert_with(|| json!("best"));
        rule.as_str() == Some("best")
    });
    if is_race {
        study.entry("replicates").or_insert_with(|| json!(race::REPLICATES));
    }
}

fn table<'s>(study: &'s mut Map<String, Value>, name: &str) -> Option<&'s mut Map<String, Value>> {
    study.entry(name).or_insert_with(|| json!({})).as_object_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{StopRule, Study, text};
    use assay_core::failure::Outcome;

    fn read(head: &str, space: &str) -> Outcome<Study> {
        let text = format!(
            "format = \"assay-study/1\"\ntitle = \"t\"\nmargin = \"2%\"\n{head}\n[search]\n{space}\n\
             [[workload]]\nname = \"one\"\nio = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }}\n"
        );
        text::parse("mine.toml", &text)
    }

    #[test]
    fn ranges_become_levels_and_the_study_a_race() {
        let study = read(
            "",
            "read_ahead = \"16 KiB .. 128 KiB in doublings\"\nqueue_depth = \"1 .. 48 in doublings\"\n\
             nr_requests = [\"64\", \"96 .. 256 in steps of 80\"]\nscheduler = [\"none\", \"bfq\"]",
        )
        .unwrap();
        let levels = |name: &str| study.factors[name].join(" ");
        assert_eq!(levels("read_ahead"), "16 KiB 32 KiB 64 KiB 128 KiB");
        assert_eq!(levels("queue_depth"), "1 2 4 8 16 32 48", "the end is one of them");
        assert_eq!(levels("nr_requests"), "64 96 176 256");
        assert_eq!(levels("scheduler"), "none bfq");
        assert_eq!((study.stop.rule, study.replicates), (StopRule::Best, race::REPLICATES));
        let text = text::write(&study).unwrap();
        assert!(!text.contains("[search]"), "{text}");
        assert_eq!(text::parse("again", &text).unwrap(), study);
    }

    #[test]
    fn what_a_study_says_itself_stands() {
        let own = read(
            "replicates = 5\nstop = { indifference_zone = \"3%\" }",
            "queue_depth = \"1 .. 8 in doublings\"",
        );
        let own = own.unwrap();
        assert_eq!((own.stop.rule, own.replicates), (StopRule::Best, 5));
        assert_eq!(own.stop.indifference_zone, Some(Percent(3.0)));
        let grid =
            read("stop = { rule = \"fixed\" }", "queue_depth = \"1 .. 8 in doublings\"").unwrap();
        assert_eq!((grid.stop.rule, grid.replicates), (StopRule::Fixed, 6));
    }

    #[test]
    fn a_range_supplies_a_key_that_the_work_must_have() {
        let text = "format = \"assay-study/1\"\ntitle = \"t\"\n[search]\n\
            block_size = \"8 KiB .. 64 KiB in doublings\"\n[[workload]]\nname = \"one\"\n\
            io = { pattern = \"random\", mix = \"read\" }\n";
        let study = text::parse("mine.toml", text).unwrap();
        let io = assay_workloads::io::IoSpec::of(&study.workload[0].work).unwrap();
        assert_eq!(io.block_size.one(), Some(Bytes(8 << 10)));
    }

    #[test]
    fn wrong_ranges_are_told_with_their_line_and_what_to_write() {
        for (space, told, hint) in [
            ("queue_depth = \"1 .. 64\"", "has no step size", "in doublings\""),
            ("queue_depth = \"64 .. 1 in doublings\"", "starts with the larger", "use the form"),
            ("queue_depth = \"1 .. 64 in leaps\"", "requires `in doublings` or", "use the form"),
            (
                "queue_depth = \"1 .. 64 in steps of 0\"",
                "requires `in doublings` or",
                "use the form",
            ),
            ("queue_depth = \"1 .. many in doublings\"", "not a range between", "use the form"),
            ("queue_depth = \"1 .. 4 KiB in doublings\"", "not a range between", "use the form"),
            ("read_ahead = \"0 KiB .. 4 MiB in doublings\"", "cannot double zero", "list zero"),
            (
                "queue_depth = \"1 .. 64000 in steps of 1\"",
                "more than 1,000 levels",
                "use the form",
            ),
            ("queue_depth = \"4 KiB .. 8 KiB in doublings\"", "queue_depth", ""),
            ("queue_depth = \"64\"", "expected a list of levels or a range", "in doublings"),
            ("queue_depht = [1, 2]", "unknown factor \"queue_depht\"", "queue_depth"),
        ] {
            let message = read("", space).unwrap_err().message;
            assert!(message.starts_with("mine.toml:6:"), "{space}: {message}");
            assert!(message.contains(told) && message.contains(hint), "{space}: {message}");
            assert!(!message.contains("mistakes"), "told once: {message}");
        }
    }

    #[test]
    fn a_factor_stands_in_one_table() {
        let text = "format = \"assay-study/1\"\ntitle = \"t\"\n[factors]\nqueue_depth = [1, 2]\n[search]\n\
            queue_depth = \"1 .. 8 in doublings\"\n[[workload]]\nname = \"one\"\n\
            io = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }\n";
        let message = text::parse("mine.toml", text).unwrap_err().message;
        assert!(message.starts_with("mine.toml:6:") && message.contains("[factors]"), "{message}");
    }

    #[test]
    fn a_time_a_share_and_a_rate_are_ranges_and_a_path_is_none() {
        assert_eq!(
            levels("dirty_expire", "5 s .. 20 s in doublings").unwrap(),
            ["5 s", "10 s", "20 s"]
        );
        assert_eq!(
            levels("dirty_ratio", "5% .. 15% in steps of 5%").unwrap(),
            ["5%", "10%", "15%"]
        );
        let shares = amounts_between(1.0, 2.0, |sum| ValueUnit::Share.rounded(sum + 0.2)).unwrap();
        let shares = shares.into_iter().map(|amount| ValueUnit::Share.written(amount));
        assert_eq!(shares.collect::<Vec<_>>(), ["1%", "1.2%", "1.4%", "1.6%", "1.8%", "2%"]);
        assert_eq!(levels("arrival_rate", "1000/s .. 4000/s in doublings").unwrap().len(), 3);
        assert!(!is_range("/mnt/a/../b") && !is_range("none") && is_range("1 .. 8"));
    }
}
