//! Excluded combinations of levels (`without`).

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::str::FromStr;

use assay_core::quantity::units::level_number;
use assay_core::quantity::{Percent, Time};

use super::Study;
use super::fields::TARGET_FACTOR;
use super::levels::same;
use super::text::mistakes::{Mistakes, ValuePlaces};

type Levels = BTreeMap<String, String>;

pub const MOST_TRIED: usize = 20_000;

const HINT: &str =
    "use the form \"scheduler = none and nr_requests > 256\" or \"queue_depth > nr_requests\"";

/// One line of `without`: excludes combinations that match all of its conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    text: String,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    factor: String,
    sign: Relation,
    /// A level, or another factor.
    than: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Is,
    IsNot,
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// Two-character operators first, because they contain one-character operators.
const SIGNS: [(&str, Relation); 6] = [
    ("!=", Relation::IsNot),
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("=", Relation::Is),
    ("<", Relation::Below),
    (">", Relation::Above),
];

impl FromStr for Constraint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let conditions = text.split(" and ").map(parse_condition).collect::<Option<Vec<_>>>();
        let conditions = conditions.ok_or_else(|| format!("\"{text}\" is not a constraint"))?;
        Ok(Self { text: text.trim().to_owned(), conditions })
    }
}

/// Parses `nr_requests > 256`; `None` without a sign or a side, and for a second sign.
fn parse_condition(text: &str) -> Option<Condition> {
    let (word, sign) = SIGNS.iter().find(|(word, _)| text.contains(word))?;
    let (factor, than) = text.split_once(word)?;
    let (factor, than) = (factor.trim(), than.trim());
    if factor.is_empty() || than.is_empty() || than.starts_with(['=', '<', '>']) {
        return None;
    }
    Some(Condition { factor: factor.to_owned(), sign: *sign, than: than.to_owned() })
}

impl Constraint {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn names(&self, factor: &str) -> bool {
        self.conditions
            .iter()
            .any(|condition| condition.factor == factor || condition.than == factor)
    }

    /// Returns the constraint with a level of a factor replaced by another; `None` if it does not name the level.
    pub(super) fn replaced(&self, factor: &str, level: &str, by: &str) -> Option<String> {
        let names_level =
            |condition: &Condition| condition.factor == factor && condition.than == level;
        if !self.conditions.iter().any(names_level) {
            return None;
        }
        let replace = |condition: &Condition| {
            let than: &str = if names_level(condition) { by } else { &condition.than };
            format!("{} {} {than}", condition.factor, condition.sign.word())
        };
        Some(self.conditions.iter().map(replace).collect::<Vec<_>>().join(" and "))
    }

    fn holds(&self, arm: &Levels) -> bool {
        self.conditions.iter().all(|condition| condition.holds(arm))
    }
}

impl Relation {
    fn word(self) -> &'static str {
        SIGNS.iter().find(|(_, sign)| *sign == self).map_or("=", |(word, _)| *word)
    }
}

impl Condition {
    /// Returns whether a configuration meets the condition; false if it lacks the factor.
    fn holds(&self, arm: &Levels) -> bool {
        let Some(level) = arm.get(&self.factor) else { return false };
        // The level of another factor, or the text itself.
        let than = arm.get(&self.than).unwrap_or(&self.than);
        let is_same = || same(&self.factor, level, than);
        let amounts = number(level).zip(number(than));
        let order = amounts.and_then(|(level, than)| level.partial_cmp(&than));
        match self.sign {
            Relation::Is => is_same(),
            Relation::IsNot => !is_same(),
            Relation::Below => order.is_some_and(Ordering::is_lt),
            Relation::AtMost => order.is_some_and(Ordering::is_le),
            Relation::Above => order.is_some_and(Ordering::is_gt),
            Relation::AtLeast => order.is_some_and(Ordering::is_ge),
        }
    }

    /// Returns why the condition is invalid for these factors; `None` if it is valid.
    fn mistake(&self, factors: &BTreeMap<String, Vec<String>>) -> Option<String> {
        if !factors.contains_key(&self.factor) {
            return Some(format!("{} is not a factor of this study", self.factor));
        }
        let needs_amount = !matches!(self.sign, Relation::Is | Relation::IsNot);
        let is_amount = factors.contains_key(&self.than) || number(&self.than).is_some();
        (needs_amount && !is_amount)
            .then(|| format!("\"{}\" is neither an amount nor a factor of this study", self.than))
    }
}

fn number(level: &str) -> Option<f64> {
    let time = || level.parse::<Time>().ok().map(|time| time.0 as f64);
    let share = || level.parse::<Percent>().ok().map(|share| share.0);
    level_number(level).or_else(time).or_else(share)
}

/// Constraints of a study; the reader already reported invalid ones.
pub fn constraints(study: &Study) -> Vec<Constraint> {
    study.exclude.iter().filter_map(|text| text.parse().ok()).collect()
}

/// Every combination of levels, the first factor changing slowest.
pub fn grid<'f>(factors: impl IntoIterator<Item = (&'f String, &'f Vec<String>)>) -> Vec<Levels> {
    let mut arms = vec![Levels::new()];
    for (name, levels) in factors {
        let mut extended = Vec::new();
        for arm in &arms {
            for level in levels {
                let mut arm = arm.clone();
                arm.insert(name.clone(), level.clone());
                extended.push(arm);
            }
        }
        arms = extended;
    }
    arms
}

/// Applies constraints; returns the rest, and how many each excluded. Never excludes the baseline, on any target.
pub fn exclude(
    all: Vec<Levels>,
    constraints: &[Constraint],
    baseline: &Levels,
) -> (Vec<Levels>, Vec<usize>) {
    let has_levels =
        |arm: &Levels| baseline.iter().all(|(name, level)| arm.get(name) == Some(level));
    let base = all.iter().find(|arm| has_levels(arm)).cloned().unwrap_or_default();
    let mut counts = vec![0; constraints.len()];
    let mut rest = Vec::with_capacity(all.len());
    for arm in all {
        let is_baseline = without_target(&arm).eq(without_target(&base));
        match constraints.iter().position(|constraint| constraint.holds(&arm)) {
            Some(index) if !is_baseline => counts[index] += 1,
            _ => rest.push(arm),
        }
    }
    (rest, counts)
}

fn without_target(arm: &Levels) -> impl Iterator<Item = (&String, &String)> {
    arm.iter().filter(|(name, _)| *name != TARGET_FACTOR)
}

pub(super) fn check(study: &Study, places: &ValuePlaces, mistakes: &mut Mistakes) {
    if mistakes.is_wrong("factors") {
        return;
    }
    for (index, text) in study.exclude.iter().enumerate() {
        let path = format!("exclude/{index}");
        let wrong = match text.parse::<Constraint>() {
            Ok(constraint) => {
                constraint.conditions.iter().find_map(|condition| condition.mistake(&study.factors))
            }
            Err(message) => Some(message),
        };
        if let Some(message) = wrong {
            mistakes.add(&path, places.find(&path).value, message, Some(HINT.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::text;

    fn arm(levels: &[(&str, &str)]) -> Levels {
        levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect()
    }

    fn holds(text: &str, levels: &[(&str, &str)]) -> bool {
        text.parse::<Constraint>().unwrap().holds(&arm(levels))
    }

    #[test]
    fn a_constraint_holds_where_all_of_it_is_so() {
        let own = [("scheduler", "none"), ("nr_requests", "1024"), ("queue_depth", "64")];
        for text in [
            "scheduler = none",
            "scheduler != bfq",
            "scheduler = none and nr_requests > 256",
            "nr_requests >= 1024",
            "queue_depth < nr_requests",
            "queue_depth <= 64",
        ] {
            assert!(holds(text, &own), "{text}");
        }
        for text in [
            "scheduler = bfq",
            "scheduler != none",
            "scheduler = none and nr_requests > 1024",
            "queue_depth > nr_requests",
            "queue_depth < 64",
            "scheduler > 3",
            "block_size = 4 KiB",
        ] {
            assert!(!holds(text, &own), "{text}");
        }
    }

    #[test]
    fn amounts_are_compared_as_what_they_are() {
        assert!(holds("read_ahead > 512 KiB", &[("read_ahead", "4 MiB")]));
        assert!(!holds("read_ahead > 512 KiB", &[("read_ahead", "64 KiB")]));
        assert!(holds("wbt_latency <= 2 ms", &[("wbt_latency", "500 us")]));
        assert!(!holds("wbt_latency <= 2 ms", &[("wbt_latency", "off")]));
        assert!(holds(
            "dirty_background_ratio >= dirty_ratio",
            &[("dirty_background_ratio", "20%"), ("dirty_ratio", "10%"),]
        ));
        assert!(holds("block_size = 4096", &[("block_size", "4 KiB")]), "however it is written");
    }

    #[test]
    fn what_is_compared_with_stays_and_what_is_left_out_is_counted() {
        let levels = |levels: &[&str]| levels.iter().map(|one| (*one).to_owned()).collect();
        let factors: BTreeMap<String, Vec<String>> = [
            ("queue_depth".to_owned(), levels(&["64", "1"])),
            ("nr_requests".to_owned(), levels(&["8", "32"])),
        ]
        .into();
        let rules = ["queue_depth > nr_requests".parse().unwrap()];
        let all = grid(&factors);
        assert_eq!(all[0], arm(&[("queue_depth", "64"), ("nr_requests", "8")]));
        let (kept, counts) = exclude(all.clone(), &rules, &Levels::new());
        assert_eq!((kept.len(), counts), (3, vec![1]), "the first is the baseline");
        assert_eq!(kept[0], all[0]);
        let (kept, counts) = exclude(all.clone(), &rules, &arm(&[("queue_depth", "1")]));
        assert_eq!((kept.len(), counts), (2, vec![2]));
        let (kept, counts) = exclude(all.clone(), &[], &Levels::new());
        assert_eq!((kept, counts), (all, Vec::new()));
        // Each of two targets has it.
        let placed = factors.into_iter().chain([("target".to_owned(), levels(&["/a", "/b"]))]);
        let all = grid(&placed.collect::<BTreeMap<_, _>>());
        let (kept, counts) = exclude(all, &rules, &Levels::new());
        assert_eq!((kept.len(), counts), (6, vec![2]));
        for target in ["/a", "/b"] {
            let own = arm(&[("queue_depth", "64"), ("nr_requests", "8"), ("target", target)]);
            assert!(kept.contains(&own), "{target}: {kept:?}");
        }
    }

    #[test]
    fn what_is_no_constraint_is_told_with_its_line() {
        let text = |rule: &str| {
            format!(
                "format = \"assay-study/1\"\ntitle = \"t\"\nexclude = [\"{rule}\"]\n[factors]\n\
                 queue_depth = [1, 2]\n[[workload]]\nname = \"one\"\n\
                 io = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }}\n"
            )
        };
        for (rule, told) in [
            ("depth", "\"depth\" is not a constraint"),
            ("queue_depth > ", "is not a constraint"),
            ("queue_depht > 1", "queue_depht is not a factor of this study"),
            ("queue_depth > many", "\"many\" is neither an amount nor a factor"),
        ] {
            let message = text::parse("mine.toml", &text(rule)).unwrap_err().message;
            assert!(message.starts_with("mine.toml:3:") && message.contains(told), "{message}");
            assert!(message.contains("use the form"), "{message}");
        }
        let fine = text::parse("mine.toml", &text("queue_depth > 1")).unwrap();
        assert_eq!(constraints(&fine).len(), 1);
        assert_eq!(text::parse("again", &text::write(&fine).unwrap()).unwrap(), fine);
    }
}
