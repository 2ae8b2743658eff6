//! Numbers of a page are consistent: a ratio and its two means, over generated studies with missing, disturbed,
//! repeated and failed trials.

use proptest::prelude::*;

use super::studies::generated;
use crate::document::{self, Block, Detail, numbers};
use assay_study::findings::Findings;
use assay_study::results::record::Status;

struct Shown {
    depth: String,
    result: String,
    ratio: String,
    n: String,
    /// The baseline's mean in the same pairs, or that of its row.
    baseline: String,
}

/// The rows of the table of arms in full: the default page leaves out differences below 2% between the two means of the
/// baseline.
fn shown(found: &Findings) -> Vec<Shown> {
    let page = document::build(found, Detail::Full);
    let blocks = page.sections.iter().flat_map(|section| &section.blocks);
    let mut rows = Vec::new();
    for block in blocks {
        let Block::Table(table) = block else { continue };
        let column = |title: &str| table.columns.iter().position(|one| one.title == title);
        let places = ["queue_depth", "IOPS", "ratio", "n"].map(column);
        let [Some(depth), Some(result), Some(ratio), Some(n)] = places else { continue };
        for row in &table.rows {
            let said = |note: &String| Some(note.split_once("baseline mean is ")?.1.to_owned());
            let texts = table.texts(row);
            rows.push(Shown {
                depth: texts[depth].clone(),
                result: texts[result].clone(),
                ratio: texts[ratio].clone(),
                n: texts[n].clone(),
                baseline: row.notes.iter().find_map(said).unwrap_or_default(),
            });
        }
    }
    let own = rows.iter().find(|row| row.depth == "1").map(|row| row.result.clone());
    for row in rows.iter_mut().filter(|row| row.baseline.is_empty()) {
        row.baseline = own.clone().unwrap_or_default();
    }
    rows
}

/// The outcome of a trial, mostly normal.
fn fate() -> impl Strategy<Value = Option<Status>> {
    prop_oneof![
        6 => Just(Some(Status::Ok)),
        2 => Just(Some(Status::Disturbed)),
        1 => Just(Some(Status::Failed)),
        1 => Just(None),
    ]
}

proptest! {
    #[test]
    #[ignore = "nightly: 1 s"]
    fn a_ratio_and_its_means_as_shown_lie_on_one_side(
        seed in 0_u64..1000,
        noise in 0.001_f64..0.6,
        arms in 2_usize..6,
        replicates in 1_usize..9,
        fates in proptest::collection::vec(fate(), 60),
        again in proptest::collection::vec(any::<bool>(), 60),
    ) {
        let found = generated(seed, noise, (arms, replicates), &fates, &again);
        for one in found.comparisons.iter().filter(|one| one.n < 3) {
            prop_assert!(one.ratio.is_none() && one.own_means().is_none(), "{one:?}");
        }
        for one in &found.comparisons {
            let (Some(ratio), Some([arm, baseline])) = (one.ratio, one.own_means()) else { continue };
            prop_assert!((arm / baseline / ratio - 1.0).abs() < 1e-9, "{one:?}");
        }
        let rows = shown(&found);
        prop_assert!(rows.len() >= 2, "the table of arms is not found");
        for row in rows {
            let own = |arm: &assay_study::results::plan::Arm| arm.get("queue_depth") == Some(&row.depth);
            let compared = found.comparisons.iter().find(|one| one.primary && own(&one.configuration));
            let Some(one) = compared else { continue };
            let words = |value| numbers::under_heading("iops", value);
            let Some([arm, baseline]) = one.own_means() else {
                prop_assert_eq!(row.ratio.as_str(), "-", "{}", row.result);
                continue;
            };
            // The printed number is the ratio's mean, on both sides and by its count.
            prop_assert_eq!(&row.result, &words(arm));
            prop_assert_eq!(&row.baseline, &words(baseline));
            prop_assert!(row.n.starts_with(&one.n.to_string()), "{} {}", row.n, one.n);
        }
    }
}

/// Rows without a number, because all their trials ended early (for example, killed), count as well.
#[test]
fn trust_counts_every_row_once() {
    let mut found = generated(1, 0.01, (4, 3), &[], &[]);
    let counted = |found: &Findings| -> usize {
        document::standing(found).rows.iter().map(|(_, count)| count).sum()
    };
    let rows = counted(&found);
    assert!(rows > 1);
    let mut other = found.measurements.iter().find(|cell| cell.primary).unwrap().clone();
    let row = (other.workload.clone(), other.configuration.clone(), other.control);
    found
        .measurements
        .retain(|cell| (cell.workload.clone(), cell.configuration.clone(), cell.control) != row);
    assert_eq!(counted(&found), rows - 1);
    (other.primary, other.metric) = (false, "reached_bytes".to_owned());
    found.measurements.push(other.clone());
    found.measurements.push(other);
    assert_eq!(counted(&found), rows);
}
