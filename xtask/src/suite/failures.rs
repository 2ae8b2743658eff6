//! What is told once more, at the very end, of steps that failed: whoever reads a log from its end, as that of CI,
//! should not have to look for the reason among what other steps said.

/// Lines of one step at most.
const MOST: usize = 100;
/// Lines of a step that has no tests: the last ones say why.
const LAST: usize = 40;

/// Of what a step said, that which tells why it failed: what the harness says of failed tests, in order; where no
/// test failed, the last lines.
pub fn told(said: &str) -> Vec<&str> {
    let mut told = Vec::new();
    let mut is_within = false;
    for line in said.lines() {
        // Panics come first, then the names below the same word; the result of one program ends both.
        is_within |= line == "failures:";
        if line.starts_with("test result: ") {
            is_within = false;
        }
        if is_within && !line.trim().is_empty() {
            told.push(line);
        }
    }
    if told.is_empty() {
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        return lines[lines.len().saturating_sub(LAST)..].to_vec();
    }
    told.truncate(MOST);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_tests_their_panics_and_names_are_told_and_of_others_the_last_lines() {
        let said = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\npanicked at b\n\n\
                    failures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed\n   Running other\ntest c ... ok\n\
                    test result: ok. 1 passed";
        let panics = ["failures:", "---- b stdout ----", "panicked at b", "failures:", "    b"];
        assert_eq!(told(said), panics);
        let many: Vec<String> = (0..60).map(|at| format!("lab: {at}")).collect();
        let many = many.join("\n");
        let last = told(&many);
        assert_eq!((last.len(), last[0], last[39]), (40, "lab: 20", "lab: 59"));
        assert_eq!(told(""), Vec::<&str>::new());
    }
}
