//! Machines with busy CPUs: permitted outcomes of a gate.

use assay_testkit::needs::is_crowded;

/// Returns whether a gate was inconclusive because of busy CPUs or the host.
pub fn says_so(code: i32, told: &str) -> bool {
    let says = |words: &str| told.contains(words);
    code == 5 && (says("cpu-starved") || says("is suspect (steal)") || says("undisturbed pairs"))
}

/// The same for runs too short for the rule: their variation makes the gate inconclusive.
pub fn is_kept_from_them(code: i32, told: &str) -> bool {
    says_so(code, told) || code == 5 && is_crowded()
}

#[test]
fn only_a_gate_that_is_silent_for_others_is_excused() {
    let starved = "inconclusive: rule cpu-starved flags the baseline: programs waited";
    assert!(says_so(5, starved));
    assert!(says_so(5, "undecided (the number of the baseline is suspect (steal))"));
    assert!(says_so(5, "new: only 2 undisturbed pairs with the baseline; the gate needs 3"));
    // Other outcomes are judged by what they report.
    assert!(!says_so(0, starved) && !says_so(1, starved));
    assert!(!says_so(5, "the number of the baseline is invalid"));
    assert!(!says_so(5, "the number of the baseline is suspect (unstable)"));
    assert!(!is_kept_from_them(1, starved));
}
