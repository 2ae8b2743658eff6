//! `output-mismatch`: runs with the same expected output differed, so one may be faster because it does less.

use std::collections::BTreeSet;

use assay_core::{catalogue::About, quantity::units::show};
use assay_study::results::record::Trial;
use assay_workloads::command;

use super::{ALL, Case, Rule, RuleCheck, RuleRemark};

/// Fewest bytes per run for a remark.
const LEAST_BYTES: f64 = (1_u64 << 20) as f64;
/// Factor from which on amounts differ.
const FACTOR: f64 = 1.1;
const HASH_DIGITS: usize = 12;
/// Suffix if the compared output includes the command's number.
const NUMBER_PRINTED: &str = "; the output includes the number that Assay parses, which may be the only difference; \
                              set same_output = \"PATH\" to compare a file or directory that the command writes";

pub const NAME: &str = "output-mismatch";

pub static RULE: Rule = Rule {
    about: About {
        name: NAME,
        summary: "commands that must produce the same output did not",
        text: "With the key `same_output`, Assay hashes the output of each run of a command. If the hashes differ \
               between runs or between compared commands, a run or command may be faster because it did less work: the \
               numbers are invalid, and Assay gives no verdict. Without `same_output`, Assay notes different exit \
               codes, and bytes read or written that differ by more than 10% (from 1 MiB).",
    },
    changes: ALL,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let sums = Worked::new("", case.trials)?.sums;
    (sums.len() > 1).then(|| {
        let count = show::count(sums.len() as u64);
        let why = if prints_its_number(case) { NUMBER_PRINTED } else { "" };
        RuleRemark::invalid(format!(
            "all runs must produce the same output, but produced {count} different outputs{why}"
        ))
    })
}

/// Whether the compared output includes the number that Assay parses.
fn prints_its_number(case: &Case<'_>) -> bool {
    command::CommandPlan::of(&case.workload.work).is_some_and(|own| {
        own.same_output == Some(command::Produced::Printed(true))
            && own.parse.iter().any(|reading| reading.file.is_none())
    })
}

/// The comparable results of the runs on one side of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Worked {
    name: String,
    sums: BTreeSet<String>,
    endings: BTreeSet<String>,
    /// Bytes per run, mean over its trials.
    read_bytes: Option<f64>,
    written_bytes: Option<f64>,
}

impl Worked {
    /// Output hashes, exit statuses and mean bytes of a side's counted trials; `None` if they are not commands.
    pub fn new(name: &str, trials: &[&Trial]) -> Option<Self> {
        let mut worked = Self { name: name.to_owned(), ..Self::default() };
        let measured = || trials.iter().filter_map(|trial| trial.measured.as_ref());
        for detail in measured().map(command::CommandDetail::of) {
            let detail = detail?;
            worked.sums.extend(detail.produced.keys().cloned());
            worked.endings.extend(detail.endings.keys().cloned());
        }
        let mean = |metric: &str| {
            let values = measured().map(|measured| measured.values.get(metric).copied());
            let values = values.collect::<Option<Vec<f64>>>()?;
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        (worked.read_bytes, worked.written_bytes) = (mean("read_bytes"), mean("write_bytes"));
        (!worked.endings.is_empty()).then_some(worked)
    }
}

/// Remarks on compared sides. Differences within one side are reported for that side alone.
pub fn between(sides: &[&Worked]) -> Vec<RuleRemark> {
    if sides.len() < 2 {
        return Vec::new();
    }
    let mut remarks = Vec::from_iter(different_outputs(sides));
    remarks.extend(different_endings(sides));
    remarks.extend(different_amounts(sides, "read", |side| side.read_bytes));
    remarks.extend(different_amounts(sides, "wrote", |side| side.written_bytes));
    remarks
}

fn different_outputs(sides: &[&Worked]) -> Option<RuleRemark> {
    let produced: Vec<&&Worked> = sides.iter().filter(|side| side.sums.len() == 1).collect();
    let outputs: BTreeSet<&BTreeSet<String>> = produced.iter().map(|side| &side.sums).collect();
    let each = produced.iter().map(|side| {
        let sum = side.sums.first().map_or("", String::as_str);
        let end = sum.char_indices().nth(HASH_DIGITS).map_or(sum.len(), |(end, _)| end);
        format!("{} of {}", &sum[..end], side.name)
    });
    let text = "the compared commands produced different outputs";
    (outputs.len() > 1)
        .then(|| RuleRemark::invalid(format!("{text} (hashes: {})", list_first(each))))
}

fn different_endings(sides: &[&Worked]) -> Option<RuleRemark> {
    let endings: BTreeSet<&BTreeSet<String>> = sides.iter().map(|side| &side.endings).collect();
    let each = sides.iter().map(|side| {
        let endings: Vec<&str> = side.endings.iter().map(String::as_str).collect();
        format!("{} of {}", endings.join(" and "), side.name)
    });
    let text = "the commands' exit statuses differ";
    (endings.len() > 1).then(|| RuleRemark::note(format!("{text}: {}", list_first(each))))
}

fn different_amounts(
    sides: &[&Worked],
    verb: &str,
    bytes: fn(&Worked) -> Option<f64>,
) -> Option<RuleRemark> {
    let mut amounts: Vec<(f64, &str)> =
        sides.iter().filter_map(|side| Some((bytes(side)?, side.name.as_str()))).collect();
    // The sort is stable: of equal amounts, the first side counts as the smallest or largest.
    amounts.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let ((least, least_name), (most, _)) = (*amounts.first()?, *amounts.last()?);
    let (_, most_name) = amounts.iter().find(|(size, _)| *size == most)?;
    if most < LEAST_BYTES || most <= FACTOR * least {
        return None;
    }
    let (least, most) = (show::bytes(least as u64), show::bytes(most as u64));
    Some(RuleRemark::note(format!(
        "the compared commands {verb} different amounts per run: {least} for {least_name}, {most} for {most_name}"
    )))
}

/// The first of many, and how many more there are.
fn list_first(each: impl ExactSizeIterator<Item = String>) -> String {
    const NAMED: usize = 4;
    let more = each.len().saturating_sub(NAMED);
    let named: Vec<String> = each.take(NAMED).collect();
    let end = if more > 0 { format!(" and {more} more") } else { String::new() };
    named.join(", ") + &end
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Trust;

    use super::super::testing::Bench;
    use super::*;

    const MIB: u64 = 1 << 20;

    fn change(trial: &mut Trial, how: impl Fn(&mut command::CommandDetail)) {
        how(command::CommandDetail::of_mut(trial.measured.as_mut().unwrap()).unwrap());
    }

    /// Three trials with these outputs, each with two successful runs.
    fn producing(sums: [&str; 3]) -> Bench {
        let mut bench = Bench::command();
        for (trial, sum) in bench.trials.iter_mut().zip(sums) {
            change(trial, |detail| {
                detail.endings = [("exit code 0".to_owned(), 2)].into();
                detail.produced = [(sum.to_owned(), 2)].into();
            });
        }
        bench
    }

    fn worked(name: &str, sum: &str, ending: &str, bytes: u64) -> Worked {
        Worked {
            name: name.to_owned(),
            sums: Some(sum.to_owned()).filter(|sum| !sum.is_empty()).into_iter().collect(),
            endings: [ending.to_owned()].into(),
            read_bytes: Some(0.0),
            written_bytes: Some(bytes as f64),
        }
    }

    #[test]
    fn runs_of_one_side_that_differ_are_invalid() {
        let said = producing(["aa", "aa", "bb"]).judge(&RULE).unwrap();
        assert_eq!(said.trust, Trust::Invalid);
        assert!(said.text.ends_with("2 different outputs"), "{}", said.text);
        assert_eq!(producing(["aa"; 3]).judge(&RULE), None);
        assert_eq!(Bench::command().judge(&RULE), None);
        assert_eq!(Bench::read().judge(&RULE), None);
    }

    #[test]
    fn a_number_within_what_is_compared_is_named_and_one_in_a_file_is_not() {
        let said = |product: command::Produced, from: Option<&str>| {
            let bench = producing(["aa", "aa", "bb"]).workload(|workload| {
                let own = command::CommandPlan::of_mut(&mut workload.work).unwrap();
                own.same_output = Some(product);
                own.parse = vec![command::ParseSpec {
                    file: from.map(str::to_owned),
                    ..command::ParseSpec::default()
                }];
            });
            bench.judge(&RULE).unwrap().text
        };
        let printed = || command::Produced::Printed(true);
        assert!(said(printed(), None).contains("2 different outputs; the output includes"));
        for own in
            [said(printed(), Some("out")), said(command::Produced::At("out".to_owned()), None)]
        {
            assert!(own.ends_with("2 different outputs"), "{own}");
        }
    }

    #[test]
    fn sides_that_produced_something_else_are_invalid_and_the_same_is_no_news() {
        let (long, other) = ("0123456789abcdef", "fedcba9876543210");
        let [one, two] =
            [("a", long), ("b", other)].map(|(name, sum)| worked(name, sum, "exit code 0", 0));
        let said = between(&[&one, &two]);
        assert_eq!(said.len(), 1);
        assert_eq!(said[0].trust, Trust::Invalid);
        assert_eq!(
            said[0].text,
            "the compared commands produced different outputs (hashes: 0123456789ab of a, fedcba987654 of b)"
        );
        assert!(between(&[&one, &worked("b", long, "exit code 0", 0)]).is_empty());
        assert!(between(&[&one]).is_empty());
        let untold = worked("c", "", "exit code 0", 0);
        assert!(between(&[&untold, &untold.clone()]).is_empty());
    }

    #[test]
    fn a_side_whose_own_runs_differ_takes_nothing_from_the_others() {
        let own = |name, sum| worked(name, sum, "exit code 0", 0);
        let mut unsteady = own("a", "aa");
        unsteady.sums.insert("bb".to_owned());
        assert!(between(&[&unsteady, &own("b", "aa"), &own("c", "aa")]).is_empty());
        let said = between(&[&unsteady, &own("b", "aa"), &own("c", "cc")]);
        assert!(said[0].text.ends_with("(hashes: aa of b, cc of c)"), "{}", said[0].text);
    }

    #[test]
    fn other_endings_and_amounts_are_notes() {
        let own = |name, ending, bytes| worked(name, "", ending, bytes);
        let said =
            between(&[&own("a", "exit code 0", 10 * MIB), &own("b", "exit code 1", 12 * MIB)]);
        assert!(said.iter().all(|one| one.trust == Trust::Trusted));
        let texts: Vec<&str> = said.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "the commands' exit statuses differ: exit code 0 of a, exit code 1 of b",
                "the compared commands wrote different amounts per run: 10 MiB for a, 12 MiB for b"
            ]
        );
        for bytes in [[10 * MIB, 11 * MIB], [1, MIB - 1]] {
            let [one, two] = bytes.map(|bytes| own("a", "exit code 0", bytes));
            assert!(between(&[&one, &two]).is_empty());
        }
    }
}
