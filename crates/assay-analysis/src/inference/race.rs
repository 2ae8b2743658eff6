//! The answer of a race (R15): the rule of `plan::race` on the measured trials, and its text.

use assay_core::quantity::{Better, metric::class, units::show};
use assay_study::findings::race::{
    Behind, Departure, DroppedLevel, RaceAnswer, RaceEnd, Runner, ScreenAnswer, ScreenedLevel,
};
use assay_study::findings::{Findings, MetricRef, Sentence, SentenceRole, Trust};
use assay_study::plan::race::screen::ScreenLevel;
use assay_study::plan::race::{self, Left, Over, Race, Run, Why};
use assay_study::results::plan::{Arm, Plan, level_words};
use assay_study::results::record::{Status, Trial};
use assay_study::results::{design::Stopping, environment::Environment};
use assay_workloads::metrics::{self, change, is_of_speed};

use super::primary;
use super::verdicts::words::{counted, load};

/// Logarithm of a trial's value in a race, higher is better; `None` without such a value.
pub fn race_log(plan: &Plan, environment: &Environment, trial: &Trial) -> Option<f64> {
    measure(plan, environment, trial).map(|(_, _, log)| log)
}

/// The metric of a race, its direction, and the logarithm of a trial's value, negated if lower values are better.
fn measure(plan: &Plan, environment: &Environment, trial: &Trial) -> Option<(String, Better, f64)> {
    if !trial.status.counts() {
        return None;
    }
    let (metric, value) = primary(plan, environment, trial);
    let value = value.ok().filter(|value| value.is_finite() && *value > 0.0)?;
    // A race needs a metric with a known direction.
    let better = Some(direction(&metric, trial)).filter(|better| better.is_known())?;
    let log = better.sign() * value.ln();
    Some((metric, better, log))
}

/// The better direction of a metric: the one that the trial's own program reported, else Assay's.
fn direction(metric: &str, trial: &Trial) -> Better {
    let mut own_metrics = trial.measured.iter().flat_map(|measured| measured.detail.own_metrics());
    let own_metric = own_metrics.find(|own_metric| own_metric.name == metric);
    own_metric.map_or_else(|| metrics::better(metric), |own_metric| own_metric.better)
}

#[derive(Default)]
pub(super) struct RaceRuns {
    runs: Vec<Run>,
    metric: Option<(String, Better)>,
}

impl RaceRuns {
    /// Adds a trial; does nothing if the study is not a race.
    pub fn add(&mut self, plan: &Plan, environment: &Environment, trial: &Trial) {
        if !race::is_one(plan) {
            return;
        }
        let value = measure(plan, environment, trial);
        self.runs.push(Run::new(trial, value.as_ref().map(|(.., log)| *log)));
        if self.metric.is_none() {
            self.metric = value.map(|(metric, better, _)| (metric, better));
        }
    }

    /// The outcome of the race; `None` if the study is not a race or nothing was measured.
    pub fn answer(&self, plan: &Plan, found: &Findings) -> Option<RaceAnswer> {
        let Stopping::Race { closeness, .. } = plan.design.stopping else { return None };
        let (metric, better) = self.metric.clone()?;
        let race = race::race(plan, &self.runs)?;
        let rules = race::rules(plan)?;
        let texts = RaceTexts { plan, race: &race, better };
        let arm = |index: usize| plan.workloads[index].arm.clone();
        // An emulator's times do not describe hardware or settings.
        let is_valid = !(found.environment.is_emulated() && is_of_speed(&metric));
        let leader = race.standing.leader.filter(|_| is_valid);
        let workload = plan.workloads.first().map(|planned| planned.name.clone());
        let mut answer = RaceAnswer {
            workload: workload.unwrap_or_default(),
            baseline: arm(rules.baseline),
            replicates: race.standing.replicates,
            trials: self.runs.iter().filter(|run| run.status != Status::Warmup).count(),
            screen: screen_answer(plan, &race, better).filter(|_| is_valid),
            end: race_end(&race, found),
            winner: leader.map(arm),
            trust: leader.and_then(|leader| row_trust(found, &plan.workloads[leader].arm, &metric)),
            winner_ratio: leader.and_then(|leader| texts.ratio(leader, rules.baseline)),
            baseline_eliminated: leader.is_some() && race.standing.baseline_behind.is_some(),
            entries: (0..rules.arms).map(|index| texts.runner(index, leader)).collect(),
            text: String::new(),
            indifference_zone: closeness,
            metric,
            better,
        };
        answer.text = match race.pass(plan) {
            Some((pass, passes)) if is_valid => screening_words(&answer, pass, passes),
            _ => answer_words(&answer, found, is_valid),
        };
        if !is_valid {
            answer.entries.clear();
        }
        Some(answer)
    }
}

/// Why the race ended: by its rule, or because the study ended early.
fn race_end(race: &Race, found: &Findings) -> Option<RaceEnd> {
    let by_rule = race.standing.over.map(|over| match over {
        Over::One => RaceEnd::OneLeft,
        Over::Close => RaceEnd::WithinZone,
        Over::Replicates => RaceEnd::Replicates,
    });
    by_rule.or_else(|| found.study.stopped_by.as_ref().map(|_| RaceEnd::Budget))
}

fn row_trust(found: &Findings, arm: &Arm, metric: &str) -> Option<Trust> {
    let cell =
        found.measurements.iter().find(|cell| cell.metric == metric && cell.configuration == *arm);
    cell.and_then(|cell| cell.trust)
}

struct RaceTexts<'a> {
    plan: &'a Plan,
    race: &'a Race,
    better: Better,
}

/// Converts a difference of logarithms (higher is better) to the ratio of the metric.
fn ratio_of(better: Better, difference: f64) -> f64 {
    (better.sign() * difference).exp()
}

/// Ends of a ratio's interval, the lower one first, from its center and half-width as logarithms (higher is better).
fn ends_of(better: Better, center: f64, half_width: f64) -> [f64; 2] {
    let mut ends = [center - half_width, center + half_width].map(|end| ratio_of(better, end));
    ends.sort_by(f64::total_cmp);
    ends
}

impl RaceTexts<'_> {
    fn ratio(&self, arm: usize, other: usize) -> Option<f64> {
        let difference = self.race.logs.beside(arm, other, self.race.standing.replicates)?;
        Some(ratio_of(self.better, difference))
    }

    /// The result of an arm in the race, compared with the leader if there is one.
    fn runner(&self, index: usize, leader: Option<usize>) -> Runner {
        let (n, mean) = self.race.logs.mean(index);
        Runner {
            configuration: self.plan.workloads[index].arm.clone(),
            n,
            mean: mean.map(|mean| ratio_of(self.better, mean)),
            ratio_to_winner: leader.and_then(|leader| self.ratio(index, leader)),
            eliminated: self.race.standing.left[index].map(|left| self.departure(left)),
        }
    }

    /// Why a configuration left the race: its ratio to the leader of that time, or the factor level that was dropped.
    fn departure(&self, left: Left) -> Departure {
        let (behind, dropped) = match left.why {
            Why::Silent | Why::Harmed => (None, None),
            Why::Level { factor, level } => (None, dropped_level(self.plan, factor, level)),
            Why::Behind { leader, by, width } => {
                let ends = ends_of(self.better, by, width);
                let leader = self.plan.workloads[leader].arm.clone();
                (Some(Behind { leader, ratio: ratio_of(self.better, by), ends }), None)
            }
        };
        let harmed = left.why == Why::Harmed;
        Departure { after: left.after, ratio_to_leader: behind, rolled_back: harmed, dropped }
    }
}

/// The sentence on the race, and one on the screen that dropped factor levels before the race.
pub(super) fn sentences(answer: &RaceAnswer) -> Vec<Sentence> {
    let mut sentences = vec![Sentence {
        about: vec![MetricRef::new(&answer.workload, &answer.metric)],
        ..Sentence::new(SentenceRole::Answer, "race", answer.text.clone())
    }];
    let on_screen = answer.screen.as_ref();
    sentences.extend(on_screen.map(|screen| Sentence::finding("screen", screen.text.clone())));
    sentences
}

/// The race's estimate next to that of fresh trials of the same metric; `None` if no race is confirmed.
pub(super) fn confirmation(found: &Findings, metric: Option<&str>) -> Option<Sentence> {
    let race_ratio = found.study.race_ratio?;
    // Classes of requests are compared separately; the estimate is for one of them.
    let mut fresh = found.comparisons.iter().filter(|one| one.ratio.is_some());
    let fresh = fresh.find(|one| metric.map_or(one.primary, |metric| one.metric == metric))?;
    let ends = fresh.ci95_simultaneous.or(fresh.ci95)?;
    let [ratio, low, high] = show::ratios(fresh.ratio?, ends);
    let what = match fresh.note_facts.iter().find_map(load) {
        Some(load) => format!("no verdict because the load differed ({load})"),
        None => "use the fresh value".to_owned(),
    };
    let text = format!(
        "The race showed {} compared with the baseline; fresh trials show \
         {} (ratio {ratio}, 95% CI {low}-{high}): {what}.",
        change_of(&show::ratio(race_ratio), &fresh.metric),
        change_of(&ratio, &fresh.metric)
    );
    Some(Sentence { interval: true, ..Sentence::finding("confirmation", text) })
}

/// Returns a change of a metric with the class of its requests.
fn change_of(ratio: &str, metric: &str) -> String {
    let of = class(metric).map_or_else(String::new, |(class, _)| format!(" for {class} requests"));
    format!("{}{of}", change(ratio, metric))
}

/// What won or leads, after how many trials, why the race ended, and what to do next.
fn answer_words(answer: &RaceAnswer, found: &Findings, is_valid: bool) -> String {
    let race = format!("the race among {} configurations", answer.entries.len());
    let before = if answer.screen.is_some() { "a screen, " } else { "" };
    let effort = format!(
        "after {before}{} and {} trials",
        counted(answer.replicates as usize, "replicate"),
        answer.trials
    );
    if !is_valid {
        return format!("No winner in {race}: the times describe an emulator.");
    }
    let remaining = answer.left_in().count();
    let who_remains = match remaining {
        1 => "no other configuration remains".to_owned(),
        _ => format!("{remaining} remain, including the winner"),
    };
    let apart = if remaining > 1 { " without a significant difference" } else { "" };
    let Some(winner) = &answer.winner else {
        let why = "no configuration has values from three replicates";
        return format!("No leader in {race} {effort}: {why}.");
    };
    let name = found.arm_words(winner);
    let closeness = show::share(answer.indifference_zone);
    let head = match answer.end {
        None => {
            let rest = format!("the race is unfinished: {remaining} configurations remain");
            return format!("{name} leads {race} {effort}; {rest}.");
        }
        Some(RaceEnd::OneLeft) => {
            format!("{name} won {race} {effort}: {}.", last_remaining_words(answer, remaining))
        }
        Some(RaceEnd::WithinZone) => format!(
            "{name} won {race} {effort}: {who_remains}, and no other can be more than {closeness} better than {name}."
        ),
        Some(RaceEnd::Replicates) => format!(
            "{name} won {race} {effort} (the maximum): {who_remains}, without a significant difference."
        ),
        Some(RaceEnd::Budget) => {
            format!("{name} won {race} {effort}, when the race ended early: {who_remains}{apart}.")
        }
    };
    let trust = match answer.trust {
        Some(Trust::Suspect) => " The winner's numbers are suspect.",
        Some(Trust::Invalid) => " The winner's numbers are invalid: do not confirm it.",
        _ => "",
    };
    format!("{head}{trust} {}", winner_advice(answer, found)).trim_end().to_owned()
}

/// Text on the last remaining arm; the baseline always remains.
fn last_remaining_words(answer: &RaceAnswer, remaining: usize) -> String {
    let is_baseline = answer.winner.as_ref() == Some(&answer.baseline);
    let is_screened = answer.screen.as_ref().is_some_and(|screen| screen.settings > 0);
    let raced = if is_screened { " in the race" } else { "" };
    let mut departures = answer.entries.iter().filter_map(|runner| runner.eliminated.as_ref());
    let harm = if departures.any(|left| left.rolled_back) { " or harmed production" } else { "" };
    if remaining > 1 && !is_baseline {
        format!("all others{raced} except the baseline were worse (95% confidence){harm}")
    } else {
        format!("all others{raced} were worse (95% confidence){harm}")
    }
}

/// The next step; empty if the winner's gain cannot be confirmed.
fn winner_advice(answer: &RaceAnswer, found: &Findings) -> String {
    if answer.winner.as_ref() == Some(&answer.baseline) {
        return "The winner is the baseline; change nothing.".to_owned();
    }
    let Some(promised) = answer.winner_ratio.filter(|_| answer.can_be_confirmed()) else {
        return String::new();
    };
    let baseline = if answer.baseline_eliminated { "" } else { " (not significant)" };
    let id = match found.study.id.as_str() {
        "" => String::new(),
        id => format!(" {id}"),
    };
    format!(
        "It has {} compared with the baseline{baseline}. This gain is biased upward; run assay advise confirm{id}.",
        change_of(&show::ratio(promised), &answer.metric)
    )
}

/// Up to this number of levels, a sentence lists their names; otherwise it gives their count.
const MOST_NAMED: usize = 6;

/// The outcome of the screening; `None` if there was none, or it is not finished.
fn screen_answer(plan: &Plan, race: &Race, better: Better) -> Option<ScreenAnswer> {
    let screen = race.screen.as_ref()?;
    let is_planned = |dropped: &DroppedLevel| {
        let mut arms = plan.workloads.iter().map(|planned| &planned.arm);
        arms.any(|arm| arm.get(&dropped.factor) == Some(&dropped.level))
    };
    let level_answer = |screened: &ScreenLevel| {
        // The plan reports levels that are unavailable here.
        let DroppedLevel { factor, level } =
            dropped_level(plan, screened.factor, screened.level).filter(is_planned)?;
        // The best level has no interval relative to itself.
        let from_best = screened.beside.filter(|best| best.by < 0.0 || best.width > 0.0);
        Some(ScreenedLevel {
            factor,
            level,
            n: screened.n,
            ratio_to_best: screened.beside.map(|best| ratio_of(better, best.by)),
            ends: from_best.map(|best| ends_of(better, best.by, best.width)),
            eliminated: screened.left,
        })
    };
    let is_of_level = |left: &&Left| matches!(left.why, Why::Level { .. });
    let mut answer = ScreenAnswer {
        passes: plan.design.stopping.passes(),
        trials: screen.trials,
        settings: race.standing.left.iter().flatten().filter(is_of_level).count(),
        levels: screen.levels.iter().filter_map(level_answer).collect(),
        text: String::new(),
    };
    answer.text = screen_words(&answer);
    Some(answer)
}

fn dropped_level(plan: &Plan, factor: usize, level: usize) -> Option<DroppedLevel> {
    let factor = plan.design.factors.get(factor)?;
    let level = factor.levels.get(level)?.clone();
    Some(DroppedLevel { factor: factor.name.clone(), level })
}

fn screening_words(answer: &RaceAnswer, pass: u32, passes: u32) -> String {
    let settings = answer.entries.len();
    let complete = pass.saturating_sub(1);
    let verb = if answer.end.is_some() { "ended during the screen" } else { "has not begun" };
    format!(
        "The race among {settings} configurations {verb}: {complete} of {passes} passes are complete."
    )
}

/// What the screen eliminated, and what it could not see.
fn screen_words(answer: &ScreenAnswer) -> String {
    let before = format!(
        "A screen of {} first estimated the main effects of {} levels",
        counted(answer.trials, "trial"),
        answer.levels.len()
    );
    let has_ratios = answer.levels.iter().any(|level| level.ratio_to_best.is_some());
    let eliminated: Vec<_> = answer.levels.iter().filter(|level| level.eliminated).collect();
    if eliminated.is_empty() && has_ratios {
        return format!("{before}: none was worse (95% confidence), so all entered the race.");
    }
    if eliminated.is_empty() {
        return format!(
            "A screen of {} first found no significant difference between factor levels, so all configurations entered \
             the race.",
            counted(answer.trials, "trial")
        );
    }
    let named = eliminated.iter().take(MOST_NAMED);
    let mut names: Vec<String> = named.map(|one| level_words(&one.factor, &one.level)).collect();
    let more = eliminated.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let settings = counted(answer.settings, "configuration");
    format!(
        "{before} (simultaneous 95% confidence) and eliminated {} with {settings}: {}. The screen ignores \
         interactions, so the race omits any configuration that is good only with one of these levels.",
        counted(eliminated.len(), "level"),
        names.join(", ")
    )
}
