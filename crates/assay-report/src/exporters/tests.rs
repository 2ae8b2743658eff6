use assay_core::importers::{Options, trials_csv as importer};
use assay_core::results::plan::Arm;

use super::*;

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = EXPORTERS.iter().map(|exporter| exporter.about.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// What a table says of two arms, one of which has this level of a factor with this name.
fn table(factor: &str, level: &str) -> String {
    let mut findings = crate::tests::fixture("study-grid");
    let mut cell = findings.cells[0].clone();
    // Both have the same trials: nothing is said of their order in time.
    cell.trials.iter_mut().for_each(|trial| trial.order = None);
    let mut other = cell.clone();
    cell.arm = Arm::from([(factor.to_owned(), level.to_owned())]);
    other.arm = Arm::from([(factor.to_owned(), "plain".to_owned())]);
    findings.cells = vec![cell, other];
    let Writes::Text(write) = trials_csv::EXPORTER.write else { panic!("a text") };
    write(&findings).unwrap()
}

/// The levels of a factor that the importer finds in a table.
fn levels(factor: &str, text: &str) -> Vec<String> {
    let read = importer::read("again.csv", text, &Options::default()).unwrap();
    let series = read.measurements.series.iter();
    let mut levels: Vec<String> = series.map(|one| one.arm[factor].clone()).collect();
    levels.sort_unstable();
    levels.dedup();
    levels
}

#[test]
fn levels_come_in_again_as_they_went_out_whatever_signs_they_have() {
    for level in
        ["a,b", "say \"x\"", "\"", "# 1", "x#1", "=1+1", "=cmd|' /C calc'!A0", "a;b", "-1", "@x"]
    {
        let text = table("mount-options", level);
        let found = levels("mount-options", &text);
        let mut expected = [level, "plain"].map(str::to_owned);
        expected.sort_unstable();
        assert_eq!(found, expected, "{text}");
        let text = table(level, "x");
        let mut expected = ["plain", "x"].map(str::to_owned);
        expected.sort_unstable();
        assert_eq!(levels(level, &text), expected, "{text}");
    }
}

#[test]
fn a_field_is_quoted_where_it_would_be_taken_for_several_and_else_not() {
    for (level, field) in [
        ("a,b", "\"a,b\""),
        ("say \"x\"", "\"say \"\"x\"\"\""),
        ("x#1", "\"x#1\""),
        ("two\nlines", "two lines"),
        ("two\r\nlines", "two  lines"),
        ("a tab\t", "a tab "),
        ("plainest", "plainest"),
        ("=1+1", "=1+1"),
    ] {
        let text = table("f", level);
        let end = format!(",{field}");
        let own = text.lines().filter(|line| line.ends_with(&end)).count();
        let plain = text.lines().filter(|line| line.ends_with(",plain")).count();
        assert!(own > 0 && own == plain && own + plain + 1 == text.lines().count(), "{text}");
    }
}
