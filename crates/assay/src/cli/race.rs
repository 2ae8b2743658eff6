//! Races (R15): many configurations, one winner, a stated error probability.

use super::output;
use assay_core::failure::Outcome;
use assay_study::file::race::OTHERS_PRIMARY;
use assay_study::file::{Stop, StopRule, Study};
use assay_study::findings::Findings;
use assay_study::plan::race::MOST_REPLICATES;

/// Changes a study to a race, for `--until best`.
pub fn make(study: &mut Study, replicates: Option<u32>) -> Outcome<()> {
    if study.finds_rate() {
        return Err(mistake!(
            "--until best: this study searches for the highest load and has no winner; remove --until"
        ));
    }
    study.replicates = replicates.unwrap_or(MOST_REPLICATES);
    let Stop { indifference_zone, screen, confirm, .. } = study.stop;
    study.stop =
        Stop { rule: StopRule::Best, indifference_zone, screen, confirm, ..Stop::default() };
    // Removes questions and requirements, which need verdicts, and the A/A control, which would compete.
    study.question.clear();
    study.requirements = None;
    study.aa_control = Some(false);
    if study.workload.iter().any(|it| it.work.is_others()) && study.primary_metric.is_none() {
        study.primary_metric = Some(OTHERS_PRIMARY.to_owned());
    }
    Ok(())
}

/// Returns the race whose winner `stop.confirm` now confirms: it must have a winner and be stored.
pub fn to_confirm(findings: &Findings, is_stored: bool) -> Option<String> {
    let race = findings.race.as_ref()?;
    if !is_stored || !race.can_be_confirmed() {
        output::message(&format!("nothing to confirm: {}", race.text));
        return None;
    }
    Some(findings.study.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::file::{presets, text};

    fn raced(preset: &str, replicates: Option<u32>) -> Study {
        let mut study = presets::find(preset).unwrap().unwrap();
        make(&mut study, replicates).unwrap();
        study
    }

    #[test]
    fn a_study_becomes_a_race_that_a_file_could_have_asked_for() {
        let study = raced("queue-depth", None);
        assert_eq!((study.stop.rule, study.replicates), (StopRule::Best, MOST_REPLICATES));
        let text = text::write(&study).unwrap();
        assert_eq!(text::parse("written", &text).unwrap().stop, study.stop);
        assert_eq!(raced("queue-depth", Some(5)).replicates, 5);
    }

    #[test]
    fn a_race_keeps_the_keys_of_races() {
        let mut study = presets::find("queue-depth").unwrap().unwrap();
        study.stop = Stop { screen: true, confirm: true, ..Stop::default() };
        study.requirements = Some("it".to_owned());
        make(&mut study, None).unwrap();
        assert!(study.stop.screen && study.stop.confirm && study.requirements.is_none());
    }

    #[test]
    fn in_production_configurations_win_by_read_latency() {
        let study = raced("production", None);
        assert_eq!(study.primary_metric.as_deref(), Some(OTHERS_PRIMARY));
        assert!(text::parse("written", &text::write(&study).unwrap()).is_ok());
        let mut named = presets::find("production").unwrap().unwrap();
        named.primary_metric = Some("block_flush_mean_ns".to_owned());
        make(&mut named, None).unwrap();
        assert_eq!(named.primary_metric.as_deref(), Some("block_flush_mean_ns"));
    }

    #[test]
    fn a_search_for_the_highest_load_is_not_a_race() {
        let mut study = presets::find("max-rate").unwrap().unwrap();
        let failure = make(&mut study, None).unwrap_err();
        assert!(failure.message.contains("highest load"), "{failure}");
    }
}
