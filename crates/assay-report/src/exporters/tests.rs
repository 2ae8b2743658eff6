use super::*;

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = EXPORTERS.iter().map(|exporter| exporter.about.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}
