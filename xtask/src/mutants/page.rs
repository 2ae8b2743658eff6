//! What became of the changes, for the reader.

use std::fmt::Write;

use super::areas::Mutant;
use super::tests::Fate;

/// What is true of 95 % of a normal distribution.
const Z: f64 = 1.959_964;

/// The line of a change.
pub fn line(mutant: &Mutant, fate: &Fate) -> String {
    let Mutant { file, line, what, .. } = mutant;
    let fate = match fate {
        Fate::Noticed(test) => format!("noticed by {test}"),
        Fate::Survived => "SURVIVED".to_owned(),
        Fate::ReachedByNone => "REACHED BY NONE".to_owned(),
    };
    format!("{}:{line}: {what}: {fate}", place(file))
}

/// `assay-base: calc/raid.rs` of a file of a crate.
fn place(file: &str) -> String {
    file.trim_start_matches("crates/").replacen("/src/", ": ", 1)
}

/// The share that is noticed with its interval (Wilson 1927, without correction for continuity).
pub fn share(noticed: usize, of: usize) -> String {
    if of == 0 {
        return "-".to_owned();
    }
    let (n, p) = (of as f64, noticed as f64 / of as f64);
    let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let [low, high] = [middle - half, middle + half].map(|end| end.clamp(0.0, 1.0) * 100.0);
    format!("{:.0} % (95 % interval {low:.0} to {high:.0} %)", p * 100.0)
}

/// The whole page.
pub fn page(head: &[String], call: &str, told: &[(Mutant, Fate)], dropped: usize) -> String {
    let mut page = format!(
        "# Small changes that tests must notice\n\n\
         `cargo xtask mutants {call}`: places of the source, drawn by the seed, as many of each area, each\n\
         changed a little (an operator, a condition, a number, a call left out, a function that returns at\n\
         once), all in one build and one switched on at a time. A change is noticed when a test of the tier\n\
         `fast` fails that passes without it; each runs the tests that come to its place.\n\n{}\n\
         - {dropped} more changes were drawn and did not compile\n\n",
        head.join("\n")
    );
    page.push_str("| area | changes | noticed | survived | reached by no test | share |\n");
    page.push_str("|---|---|---|---|---|---|\n");
    let mut areas: Vec<&str> = told.iter().map(|(mutant, _)| mutant.area.as_str()).collect();
    areas.sort_unstable();
    areas.dedup();
    let mut row = |name: &str, is_of: &dyn Fn(&Mutant) -> bool| {
        let own = || told.iter().filter(|(mutant, _)| is_of(mutant)).map(|(_, fate)| fate);
        let count = |is_it: &dyn Fn(&Fate) -> bool| own().filter(|fate| is_it(fate)).count();
        let all = own().count();
        let survived = count(&|fate| *fate == Fate::Survived);
        let none = count(&|fate| *fate == Fate::ReachedByNone);
        let noticed = all - survived - none;
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| {name} | {all} | {noticed} | {survived} | {none} | {} |",
            share(noticed, all)
        );
    };
    for area in areas {
        row(area, &|mutant| mutant.area == area);
    }
    row("together", &|_| true);
    let lines: Vec<String> = told.iter().map(|(mutant, fate)| line(mutant, fate)).collect();
    let _ = write!(page, "\n```text\n{}\n```\n", lines.join("\n"));
    page
}

#[cfg(test)]
mod own_tests {
    use super::*;

    fn mutant(area: &str, line: usize) -> Mutant {
        let [file, what, before, after] = ["f.rs", "`<` to `<=`", "", ""].map(str::to_owned);
        Mutant { area: area.to_owned(), file, line, what, start: 0, end: 0, before, after }
    }

    #[test]
    fn the_interval_is_that_of_wilson() {
        // Newcombe 1998, table I: 81 of 263 (0.2553 to 0.3662), 15 of 148 (0.0624 to 0.1605), 0 of 20
        // (0 to 0.1611), 1 of 29 (0.0061 to 0.1718).
        assert_eq!(share(81, 263), "31 % (95 % interval 26 to 37 %)");
        assert_eq!(share(15, 148), "10 % (95 % interval 6 to 16 %)");
        assert_eq!(share(0, 20), "0 % (95 % interval 0 to 16 %)");
        assert_eq!(share(1, 29), "3 % (95 % interval 1 to 17 %)");
        assert_eq!(share(20, 20), "100 % (95 % interval 84 to 100 %)");
        assert_eq!(share(0, 0), "-");
    }

    #[test]
    fn a_file_is_told_by_its_crate() {
        assert_eq!(place("crates/assay-base/src/calc/raid.rs"), "assay-base: calc/raid.rs");
        assert_eq!(place("f.rs"), "f.rs");
    }

    #[test]
    fn each_area_has_a_row_and_each_change_a_line() {
        let told = [
            (mutant("a", 1), Fate::Noticed("t::x".to_owned())),
            (mutant("a", 2), Fate::Survived),
            (mutant("b", 3), Fate::ReachedByNone),
        ];
        let page = page(&["- head".to_owned()], "--count 3", &told, 4);
        for line in [
            "`cargo xtask mutants --count 3`: places of the source, drawn by the seed, as many of each area, each",
            "- head",
            "- 4 more changes were drawn and did not compile",
            "| a | 2 | 1 | 1 | 0 | 50 % (95 % interval 9 to 91 %) |",
            "| b | 1 | 0 | 0 | 1 | 0 % (95 % interval 0 to 79 %) |",
            "| together | 3 | 1 | 1 | 1 | 33 % (95 % interval 6 to 79 %) |",
            "f.rs:1: `<` to `<=`: noticed by t::x",
            "f.rs:2: `<` to `<=`: SURVIVED",
            "f.rs:3: `<` to `<=`: REACHED BY NONE",
        ] {
            assert!(page.lines().any(|own| own == line), "{line}\n{page}");
        }
    }
}
