//! Sentences on each factor of a grid as a whole: the level to use, or that it is inconclusive.

use assay_study::findings::{Effect, Effects};
use assay_study::results::design::{Design, Factor};
use assay_workloads::is_work;

use super::{arms::Question, is_suspect, words};

/// A sentence per factor with main effects, compared factors first. Factors that change the work are not a choice.
pub(super) fn factor_sentences(
    design: &Design,
    grid: &[&Question<'_>],
    found: &Effects,
) -> Vec<(String, String)> {
    let mut choices: Vec<_> = design.varied().filter(|factor| !is_work(&factor.name)).collect();
    choices.sort_by_key(|factor| !design.baseline.contains_key(&factor.name));
    let sentence = |factor: &Factor| {
        let mut effects: Vec<&Effect> = found.main.iter().collect();
        effects.retain(|effect| effect.factor == factor.name);
        let text = words::factor(design, &factor.name, &effects, &found.interactions)?;
        let is_any_suspect = effects.iter().any(|effect| is_suspect(grid, &effect.workload));
        let text = if is_any_suspect { words::from_suspect_numbers(&text) } else { text };
        Some((factor.name.clone(), text))
    };
    choices.into_iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use assay_study::findings::{Findings, Trust};

    use super::super::tests::{Study, arm, grid};
    use super::*;

    const SYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];

    fn rename_second(study: &mut Study, name: &str) {
        let before = std::mem::replace(&mut study.measured.design.factors[1].name, name.to_owned());
        let arms = study.measured.series.iter_mut().map(|series| &mut series.arm);
        for arm in arms.chain([&mut study.measured.design.baseline]) {
            let level = arm.remove(&before).unwrap();
            arm.insert(name.to_owned(), level);
        }
    }

    /// File systems by schedulers, each file system with this rate and this random variation per trial.
    fn found(fast: [f64; 3], luck: f64, trust: Option<Trust>) -> Findings {
        let mut study = grid(&SYSTEMS, &["none", "bfq"], 6, |first, _| fast[first]);
        // Factors of the context and of the comparison, as in the bundled study.
        rename_second(&mut study, "scheduler");
        study.measured.design.baseline = arm(&[("scheduler", "none")]);
        for (place, series) in study.measured.series.iter_mut().enumerate() {
            series.trust = trust;
            for (at, trial) in series.trials.iter_mut().enumerate() {
                let by = 1.0 + luck * f64::from(((at * 5 + place * 3) % 7) as u32);
                trial.value = trial.value.map(|value| value * by);
            }
        }
        study.findings()
    }

    fn sentences(found: &Findings) -> Vec<&str> {
        let own = found.summary.iter().filter(|sentence| sentence.topic == "factor");
        own.map(|sentence| sentence.text.as_str()).collect()
    }

    #[test]
    fn what_a_grid_was_run_for_is_answered_first_with_its_trust() {
        let found = found([500.0, 500.0, 100.0], 0.1, Some(Trust::Suspect));
        let told = sentences(&found);
        let [scheduler, system] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(found.summary_texts()[..2], told);
        assert!(
            scheduler.starts_with(
                "scheduler: best level inconclusive; averaged over filesystem, no significant difference between bfq \
                 and scheduler none; "
            ),
            "{scheduler}"
        );
        assert!(
            system.starts_with(
                "filesystem, averaged over scheduler: no other level is significantly better than ext4; btrfs \
                 is worse than ext4; no significant difference between xfs and ext4; "
            ),
            "{system}"
        );
        for text in told {
            assert!(text.contains(" replicates would detect 5%"), "{text}");
            assert!(text.ends_with(" (from suspect numbers)."), "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_told_without_what_would_tell_it() {
        let found = found([500.0, 900.0, 100.0], 0.0, Some(Trust::Trusted));
        let told = sentences(&found);
        let system = told.iter().find(|text| text.starts_with("filesystem, ")).unwrap();
        assert_eq!(
            *system,
            "filesystem, averaged over scheduler: xfs is better than ext4; btrfs is worse than ext4."
        );
        assert!(told.iter().all(|text| !text.contains("suspect")), "{told:?}");
    }

    #[test]
    fn where_it_depends_on_another_factor_that_is_told() {
        let fast = |first: usize, second: usize| [[500.0, 500.0], [900.0, 700.0]][first][second];
        let mut study = grid(&["ext4", "xfs"], &["none", "bfq"], 6, fast);
        rename_second(&mut study, "scheduler");
        let found = study.findings();
        let told = sentences(&found);
        let system = told.iter().find(|text| text.starts_with("filesystem, ")).unwrap();
        assert_eq!(
            *system,
            "filesystem, averaged over scheduler: xfs is better than ext4; the effect of filesystem \
             depends on scheduler."
        );
        assert_eq!(found.effects.interactions.len(), 1);
    }

    #[test]
    fn one_factor_has_no_such_sentence_and_neither_has_different_work() {
        let one = Study::of(&[("a", &[1.0, 1.1, 1.2]), ("b", &[1.0, 1.1, 1.3])]);
        assert!(sentences(&one.findings()).is_empty());
        let mut study = grid(&["ext4", "xfs"], &["sequential", "random"], 6, |_, _| 500.0);
        assert!(is_work("pattern"), "the case is there");
        rename_second(&mut study, "pattern");
        let found = study.findings();
        let told = sentences(&found);
        assert!(told.len() == 1 && told[0].starts_with("filesystem, "), "{told:?}");
    }
}
