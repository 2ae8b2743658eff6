//! `equivalence`.

use crate::stats::equivalence::{inside, margin_on_log_scale};
use crate::stats::{Sample, log_ratios};

use super::common::{both_close, cases, number, numbers, reference};

#[test]
fn equivalence_gives_the_known_answers() {
    let file = reference(include_str!("reference/equivalence.json"));
    let tolerance = number(&file["tolerance"]);
    for case in cases(&file["cases"]) {
        let logs = log_ratios(&numbers(&case["baseline"]), &numbers(&case["arm"])).unwrap();
        let (margin, alpha) = (number(&case["margin"]), number(&case["alpha"]));
        let interval = Sample::of(&logs).unwrap().interval(2.0 * alpha).unwrap();
        both_close(interval, [number(&case["low"]), number(&case["high"])], tolerance);
        let holds = inside(interval, margin_on_log_scale(margin).unwrap());
        assert_eq!(holds, case["holds"].as_bool().unwrap());
    }
    for case in cases(&file["r6"]) {
        let logs = log_ratios(&numbers(&file["baseline"]), &numbers(&case["arm"])).unwrap();
        let interval = Sample::of(&logs).unwrap().interval(0.1).unwrap();
        let holds = inside(interval, margin_on_log_scale(number(&case["margin"])).unwrap());
        assert_eq!(holds, number(&case["p"]) < 0.05);
    }
}
