//! What of a command line is about races (R15): many settings, one winner, a stated risk.

use clap::Args;

use super::gate::percent;
use super::output;
use assay_base::failure::{Failure, Outcome};
use assay_study::findings::Findings;
use assay_study::plan::race::MOST_REPLICATES;
use assay_study::study::file::Typed;
use assay_study::study::race::OTHERS_PRIMARY;
use assay_study::study::{Stop, StopRule, Study};

/// Whether a study is run as a race.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct RaceArguments {
    /// Run a race: eliminate losing configurations until one remains
    ///
    /// For many configurations and one workload. From the third replicate on, Assay eliminates those that are
    /// significantly behind the leader, at 5% over all of them and all replicates; the baseline stays. At most 20
    /// replicates, or --replicates. A race gives no verdicts: confirm its winner. For live workloads, the lowest
    /// read latency (or --primary) wins, and Assay rolls back and eliminates harmful configurations.
    #[arg(long, conflicts_with_all = ["until", "gate", "quick"])]
    race: bool,
    /// Set how close to the best the winner must be [default: the margin]
    #[arg(long, value_name = "SHARE")]
    closeness: Option<String>,
    /// Screen levels by main effects before a race of more than 40
    ///
    /// Assay first runs a balanced part of the configurations. It eliminates a level that is significantly behind
    /// another of its factor, with all its configurations, at 5% over all levels. It ignores interactions: a
    /// configuration that is good only with such a level is lost.
    #[arg(long)]
    screen: bool,
}

impl RaceArguments {
    /// Makes a race of a study, in so many replicates at most.
    ///
    /// # Errors
    /// The user's mistake.
    pub fn put(&self, study: &mut Study, replicates: Option<u32>) -> Outcome<()> {
        if self.race && study.finds_rate() {
            return Err(Failure::mistake(
                "--race: this study searches for the highest load and has no winner; leave it out",
            ));
        }
        if self.race {
            study.replicates = replicates.unwrap_or(MOST_REPLICATES);
            let Stop { indifference_zone: closeness, screen, .. } = study.stop;
            study.stop = Stop {
                rule: StopRule::Best,
                indifference_zone: closeness,
                screen,
                ..Stop::default()
            };
            // They are asked of verdicts, bounds too, and a second copy of the baseline would take part.
            study.question.clear();
            study.requirements = None;
            study.aa_control = Some(false);
            let watches = study.workload.iter().any(|own| own.work.is_others());
            if watches && study.primary_metric.is_none() {
                study.primary_metric = Some(OTHERS_PRIMARY.to_owned());
            }
        }
        if let Some(text) = &self.closeness {
            study.stop.indifference_zone = Some(percent("--closeness", text)?);
        }
        study.stop.screen |= self.screen;
        Ok(())
    }

    /// Its options, with the keys that they set.
    pub fn typed(&self) -> Vec<Typed> {
        let race = self.race.then(|| Typed::new("--race", "stop/rule"));
        let closeness = self.closeness.as_ref();
        let closeness = closeness
            .map(|text| Typed::new(format!("--closeness {text}"), "stop/indifference_zone"));
        let screen = self.screen.then(|| Typed::new("--screen", "stop/screen"));
        race.into_iter().chain(closeness).chain(screen).collect()
    }
}

/// What follows a race at once.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Confirming {
    /// Confirm the winner of a race with fresh trials
    ///
    /// Works like assay advise confirm, and its result is the answer. With --json, assay show shows the race
    /// itself.
    #[arg(long)]
    confirm: bool,
}

impl Confirming {
    /// Whether it is asked for.
    pub fn is_asked(self) -> bool {
        self.confirm
    }

    /// Refuses it where there is no race.
    ///
    /// # Errors
    /// The user's mistake.
    pub fn check(self, study: &Study, is_watched: bool) -> Outcome<()> {
        if self.confirm && is_watched {
            return Err(Failure::mistake(
                "--confirm runs two studies, and --watch shows one; leave one of the two out",
            ));
        }
        if self.confirm && study.stop.rule != StopRule::Best {
            return Err(Failure::mistake(
                "--confirm needs --race; add it, or confirm the result later with assay advise confirm",
            ));
        }
        Ok(())
    }

    /// The result whose winner is confirmed now: that of a race which has one, and is kept.
    pub fn wanted(self, findings: &Findings, is_kept: bool) -> Option<String> {
        let race = findings.race.as_ref().filter(|_| self.confirm)?;
        if !is_kept || !race.can_be_confirmed() {
            output::message(&format!("nothing to confirm: {}", race.text));
            return None;
        }
        Some(findings.study.id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::failure::Kind;
    use assay_study::study::{file, presets};

    fn depth() -> Study {
        presets::find("queue-depth").unwrap().unwrap()
    }

    fn asked(race: bool, closeness: Option<&str>) -> RaceArguments {
        RaceArguments { race, closeness: closeness.map(str::to_owned), screen: false }
    }

    #[test]
    fn a_study_becomes_a_race_that_a_file_could_have_asked_for() {
        // One that asks whether a place is good enough asks for a winner now.
        let mut study = Study { requirements: Some("it".to_owned()), ..depth() };
        asked(true, Some("2%")).put(&mut study, None).unwrap();
        assert_eq!((study.stop.rule, study.replicates), (StopRule::Best, MOST_REPLICATES));
        assert_eq!(study.stop.indifference_zone.map(|share| share.0), Some(2.0));
        let text = file::write(&study).unwrap();
        assert_eq!(file::parse("written", &text).unwrap().stop, study.stop);
        let mut few = depth();
        asked(true, None).put(&mut few, Some(5)).unwrap();
        assert_eq!((few.replicates, few.stop.indifference_zone), (5, None));
    }

    #[test]
    fn a_screen_is_asked_for_with_a_race_or_of_a_study_that_is_one() {
        let screen = RaceArguments { screen: true, ..asked(true, None) };
        let mut study = depth();
        screen.put(&mut study, None).unwrap();
        assert!(study.stop.screen && file::write(&study).unwrap().contains("screen"));
        assert!(screen.typed().iter().any(|own| own.words == "--screen"));
        // A study that asks for it keeps it.
        asked(true, None).put(&mut study, None).unwrap();
        assert!(study.stop.screen);
        let mut plain = depth();
        asked(true, None).put(&mut plain, None).unwrap();
        assert!(!plain.stop.screen);
        assert_eq!(asked(true, None).typed().len(), 1);
    }

    #[test]
    fn without_the_options_a_study_stays_what_it_is() {
        let mut study = depth();
        asked(false, None).put(&mut study, Some(5)).unwrap();
        assert_eq!(study, depth());
        let failure = asked(true, Some("near")).put(&mut study, None).unwrap_err();
        assert!(failure.kind == Kind::Mistake && failure.message.contains("--closeness"));
    }

    #[test]
    fn under_others_work_settings_win_by_what_readers_wait() {
        let live = || presets::find("production").unwrap().unwrap();
        let mut study = live();
        asked(true, None).put(&mut study, None).unwrap();
        assert_eq!(study.primary_metric.as_deref(), Some(OTHERS_PRIMARY));
        assert!(file::parse("written", &file::write(&study).unwrap()).is_ok());
        let mut named = Study { primary_metric: Some("block_flush_mean_ns".to_owned()), ..live() };
        asked(true, None).put(&mut named, None).unwrap();
        assert_eq!(named.primary_metric.as_deref(), Some("block_flush_mean_ns"));
        assert_eq!(live().primary_metric, None, "each class has its verdict");
    }

    #[test]
    fn the_most_load_is_no_race() {
        let mut study = presets::find("max-rate").unwrap().unwrap();
        let failure = asked(true, None).put(&mut study, None).unwrap_err();
        assert!(failure.message.contains("highest load"), "{failure}");
        assert!(asked(false, None).put(&mut study, None).is_ok());
    }

    #[test]
    fn fresh_trials_at_once_are_of_a_race_and_have_no_page() {
        let mut race = depth();
        asked(true, None).put(&mut race, None).unwrap();
        let confirming = Confirming { confirm: true };
        assert!(confirming.check(&race, false).is_ok());
        assert!(confirming.check(&race, true).is_err());
        assert!(confirming.check(&depth(), false).is_err());
        assert!(Confirming::default().check(&depth(), true).is_ok());
    }
}
