//! Rules between the keys of a study. The reader has already checked each key.

use std::collections::BTreeMap;

use assay_core::exhibit::parts::distinct;
use assay_core::quantity::metric::CLASS_METRICS;
use assay_core::quantity::{Bytes, Loss, Scale, units::show};
use assay_machine::factors::layers;
use assay_machine::factors::{self};
use assay_workloads::{Complaints, InStudy, metrics};

use super::fields::TARGET_FACTOR;
use super::levels::{self, check_filled, check_level, same};
use super::text::mistakes::{Mistakes, ValuePlaces};
use super::text::reader;
use super::{DEFAULT_REPLICATES, GateKeys, Order, Stop, StopRule, Study, without, words};

const BLOCK_LATENCY: &str = "block-latency";

/// Maximum number of arms of a study; more would take too long.
const MOST_ARMS: usize = 1000;

/// Checks a study, and replaces the levels of baseline and configurations by the spelling of their factors.
pub fn check(study: &mut Study, places: &ValuePlaces, mistakes: &mut Mistakes) {
    let mut checker = Checker { places, mistakes };
    checker.check_stop(&study.stop, study.replicates);
    checker.check_gate(study);
    checker.check_order(study);
    checker.check_workload_names(study);
    checker.check_factors(study);
    normalize_levels(study);
    let factors = study.factors.clone();
    checker.check_arm(&mut study.baseline, "baseline", &factors);
    for (index, arm) in study.configurations.iter_mut().enumerate().take(MOST_ARMS) {
        checker.check_arm(arm, &format!("configurations/{index}"), &factors);
    }
    checker.check_arms(study);
    checker.check_hard_to_change(study);
    without::check(study, places, checker.mistakes);
    checker.check_layers(study);
    checker.check_workloads(study);
    super::claims::check(study, places, mistakes);
    super::published::check(study, places, mistakes);
    super::race::check(study, places, mistakes);
}

struct Checker<'a> {
    places: &'a ValuePlaces,
    mistakes: &'a mut Mistakes,
}

impl Checker<'_> {
    /// Adds a mistake at the value of a key.
    fn value(&mut self, path: &str, message: impl Into<String>, hint: Option<String>) {
        self.mistakes.add(path, self.places.find(path).value, message, hint);
    }

    /// Adds a mistake at the key itself.
    fn key(&mut self, path: &str, message: impl Into<String>, hint: Option<String>) {
        self.mistakes.add(path, self.places.find(path).key, message, hint);
    }

    /// Checks that stop rule, interim analyses and replicates fit together.
    fn check_stop(&mut self, stop: &Stop, replicates: u32) {
        if self.mistakes.is_wrong("stop/rule") {
            return;
        }
        let is_interim = stop.rule == StopRule::Interim;
        if is_interim && stop.interim_at.is_empty() {
            let hint = "example: interim_at = [6, 12, 24]".to_owned();
            self.key("stop", "rule interim requires interim_at", Some(hint));
        }
        let conflicts = stop.interim_at.last().is_some_and(|last| *last != replicates);
        if is_interim && replicates != DEFAULT_REPLICATES && conflicts {
            let hint = "remove replicates; the last interim analysis sets the number".to_owned();
            self.key("replicates", "replicates and interim_at conflict", Some(hint));
        }
        if !is_interim && !stop.interim_at.is_empty() {
            let hint = "add rule = \"interim\", or remove interim_at".to_owned();
            self.key("stop/interim_at", "interim_at requires rule interim", Some(hint));
        }
        let by_gate = stop.rule == StopRule::Gate;
        if (by_gate || stop.rule == StopRule::Fixed) && stop.ci_half_width.is_some() {
            let rule = if by_gate { "gate" } else { "fixed" };
            let message = format!("rule {rule} does not use ci_half_width");
            let hint = "add rule = \"decided\" or \"interim\", or remove ci_half_width".to_owned();
            self.key("stop/ci_half_width", message, Some(hint));
        }
        for (index, pair) in stop.interim_at.windows(2).enumerate() {
            let is_wrong = self.mistakes.is_wrong(&format!("stop/interim_at/{index}"));
            if pair[1] <= pair[0] && !is_wrong {
                let message =
                    format!("interim_at must increase, but {} follows {}", pair[1], pair[0]);
                self.value(&format!("stop/interim_at/{}", index + 1), message, None);
            }
        }
    }

    /// The study must have the metric of its gate, and stopping by the gate needs a gate.
    fn check_gate(&mut self, study: &Study) {
        let Some(gate) = &study.gate else {
            if study.stop.rule == StopRule::Gate && !self.mistakes.is_wrong("gate") {
                let hint = "add gate = { max_regression = \"5%\" }, or remove rule".to_owned();
                self.value("stop/rule", "rule gate requires a gate", Some(hint));
            }
            return;
        };
        if !study.order.tells_arms_from_time() && !self.mistakes.is_wrong("order") {
            let message = format!(
                "a gate is inconclusive in {} order, which confounds configurations with time",
                study.order.name()
            );
            let hint = "use order = \"chained\" or \"random\", or remove the gate".to_owned();
            self.value("order", message, Some(hint));
        }
        if study.stop.rule == StopRule::Gate && gate.must_detect.is_some() {
            let message =
                "with rule gate, a row passes only if it is within the limit (95% confidence)";
            let hint = "remove must_detect or rule = \"gate\"".to_owned();
            self.value("gate/must_detect", message, Some(hint));
        }
        let known = metrics_of(study);
        let is_unknown = |name: &&str| !known.contains(name) && !is_reported(study, name);
        if let Some(name) = gate.metric.as_deref().filter(is_unknown) {
            let message = format!("no workload of this study has the metric \"{name}\"");
            self.value("gate/metric", message, Some(metrics::instead(name, &known)));
            return;
        }
        self.check_limit_kind(study, gate);
    }

    /// Metrics that may be zero need an absolute limit; metrics compared by ratios need a share.
    fn check_limit_kind(&mut self, study: &Study, gate: &GateKeys) {
        if ["gate/max_regression", "gate/metric"].iter().any(|path| self.mistakes.is_wrong(path)) {
            return;
        }
        let named = gate.metric.as_deref().or(study.primary_metric.as_deref());
        let may_be_zero =
            named.and_then(metrics::find).is_some_and(|metric| metric.scale == Scale::Difference);
        let what = named.unwrap_or("the primary metric");
        match (gate.max_regression, may_be_zero) {
            (Loss::Share(_), true) => {
                let message = format!("{what} may be zero, so the limit cannot be a percentage");
                let hint = "use an absolute increase, such as +10".to_owned();
                self.value("gate/max_regression", message, Some(hint));
            }
            (Loss::Amount(_), false) => {
                let message = format!("Assay compares {what} by ratio, not by difference");
                let hint = "use a percentage, such as 5%".to_owned();
                self.value("gate/max_regression", message, Some(hint));
            }
            (Loss::Amount(_), true) if gate.must_detect.is_some() => {
                let message = "with an absolute gate, a row passes only if it is within the limit (95% confidence)";
                let hint = "remove must_detect".to_owned();
                self.value("gate/must_detect", message, Some(hint));
            }
            _ => {}
        }
    }

    /// Early stopping needs an order in which one replicate ends before the next begins.
    fn check_order(&mut self, study: &Study) {
        let overlaps = matches!(study.order, Order::Crd | Order::Sequential);
        if overlaps && study.stop.rule != StopRule::Fixed && !self.mistakes.is_wrong("order") {
            let message = format!(
                "a study in {} order cannot end early, because its replicates overlap",
                study.order.name()
            );
            let hint = "use order = \"random\" or \"chained\", or remove stop".to_owned();
            self.value("order", message, Some(hint));
        }
    }

    fn check_workload_names(&mut self, study: &Study) {
        if study.workload.is_empty() {
            let hint = "add a table [[workload]] with name and io".to_owned();
            self.key("workload", "the study has no workload", Some(hint));
        }
        let mut seen = BTreeMap::new();
        for (index, workload) in study.workload.iter().enumerate() {
            let path = format!("workload/{index}/name");
            if self.mistakes.is_wrong(&path) {
                continue;
            }
            if let Some(first) = seen.insert(workload.name.as_str(), index + 1) {
                let message =
                    format!("workload {first} already has the name \"{}\"", workload.name);
                self.value(&path, message, Some("give each workload a unique name".to_owned()));
            }
        }
    }

    fn check_factors(&mut self, study: &Study) {
        for (name, levels) in &study.factors {
            let path = format!("factors/{name}");
            let is_placeholder = is_taken(study, name);
            if let Some(hint) = reader::unknown_factor(name).filter(|_| !is_placeholder) {
                let hint = if runs_programs(study) { placeholder_hint(name) } else { hint };
                self.key(&path, format!("unknown factor \"{name}\""), Some(hint));
            } else if is_placeholder && assay_workloads::is_work(name) {
                let message = format!(
                    "{name} is a reserved key and cannot be the factor for the placeholder {{{name}}}"
                );
                self.key(&path, message, Some(format!("use my-{name}")));
            } else if levels.is_empty() {
                let hint = format!("example: {name} = {}", reader::example(name));
                self.value(&path, format!("{name} has no levels"), Some(hint));
            } else if levels.len() > MOST_ARMS {
                let (count, most) =
                    (show::count(levels.len() as u64), show::count(MOST_ARMS as u64));
                self.key(&path, format!("{name} has {count} levels; the maximum is {most}"), None);
            } else {
                self.check_levels(&path, name, levels, is_placeholder);
            }
        }
        if study.target.is_some() && study.factors.contains_key(TARGET_FACTOR) {
            let hint = "remove one of the two".to_owned();
            let message = "target is both a study key and a factor";
            self.key(&format!("factors/{TARGET_FACTOR}"), message, Some(hint));
        }
    }

    /// Checks the levels of a factor; a factor that is only a placeholder in a workload may have any words.
    fn check_levels(&mut self, path: &str, name: &str, levels: &[String], is_placeholder: bool) {
        let is_plain = is_placeholder && factors::find(name).is_none();
        let is_same =
            |level: &str, other: &str| level == other || !is_plain && same(name, level, other);
        for (index, level) in levels.iter().enumerate() {
            let path = format!("{path}/{index}");
            let checked =
                if is_plain { check_filled(name, level) } else { check_level(name, level) };
            if let Err((message, hint)) = checked {
                self.value(&path, message, hint);
            } else if let Some(first) = levels[..index].iter().find(|other| is_same(other, level)) {
                let message = if first == level {
                    format!("{name} has the level \"{level}\" twice")
                } else {
                    format!("{name}: \"{level}\" is the same as \"{first}\"")
                };
                self.value(&path, message, None);
            }
        }
    }

    /// Checks the levels of a configuration and gives them the spelling of the factors.
    fn check_arm(
        &mut self,
        arm: &mut BTreeMap<String, String>,
        path: &str,
        factors: &BTreeMap<String, Vec<String>>,
    ) {
        if self.mistakes.is_wrong("factors") {
            return;
        }
        for (name, level) in arm.iter_mut() {
            let path = format!("{path}/{name}");
            let Some(levels) = factors.get(name) else {
                let message = format!("{name} is not a factor of this study");
                self.key(&path, message, Some(unknown_factor_hint(name, factors)));
                continue;
            };
            let exact = levels.iter().find(|exact| same(name, exact, level));
            if let Some(exact) = exact {
                exact.clone_into(level);
            } else if !self.any_wrong_level(name, levels) {
                let known: Vec<&str> = levels.iter().map(String::as_str).collect();
                let message = format!("{name} has no level \"{level}\"");
                self.value(&path, message, Some(format!("the levels are {}", known.join(", "))));
            }
        }
    }

    /// Returns whether a factor or one of its levels already has an error; references to it may be correct.
    fn any_wrong_level(&self, name: &str, levels: &[String]) -> bool {
        let path = format!("factors/{name}");
        let wrong = |index| self.mistakes.is_wrong(&format!("{path}/{index}"));
        self.mistakes.is_wrong(&path) || (0..levels.len()).any(wrong)
    }

    /// Checks the listed configurations, or the grid of all levels if there are none.
    fn check_arms(&mut self, study: &Study) {
        if study.configurations.is_empty() {
            return self.check_grid(study);
        }
        if study.configurations.len() > MOST_ARMS {
            let message = format!(
                "the study has {} configurations; the maximum is {}",
                show::count(study.configurations.len() as u64),
                show::count(MOST_ARMS as u64)
            );
            return self.key("configurations", message, None);
        }
        if self.mistakes.is_wrong("factors") {
            return;
        }
        for (index, arm) in study.configurations.iter().enumerate() {
            let path = format!("configurations/{index}");
            let is_missing = |name: &&String| {
                let is_wrong = self.mistakes.is_wrong(&format!("{path}/{name}"));
                !arm.contains_key(*name) && !is_wrong
            };
            let lacking: Vec<&str> =
                study.factors.keys().filter(is_missing).map(String::as_str).collect();
            if !lacking.is_empty() {
                let hint = "give each [[configurations]] table all factors".to_owned();
                let message = format!("this configuration lacks {}", lacking.join(" and "));
                self.key(&path, message, Some(hint));
            } else if let Some(earlier) =
                study.configurations[..index].iter().position(|other| other == arm)
            {
                let number = earlier + 1;
                let message = format!("this configuration is identical to configuration {number}");
                self.key(&path, message, None);
            }
        }
    }

    /// Checks that the combinations of all levels, without excluded ones, are not too many.
    fn check_grid(&mut self, study: &Study) {
        let lengths: Vec<usize> = study.factors.values().map(Vec::len).collect();
        let product = lengths.iter().fold(1_usize, |product, count| product.saturating_mul(*count));
        let arms = count_allowed(study, product);
        if arms > MOST_ARMS {
            let factors: Vec<String> = lengths.iter().map(ToString::to_string).collect();
            let note = if arms < product { ", some excluded" } else { "" };
            let message = format!(
                "the levels give {} configurations ({}{note}); the maximum is {}",
                show::count(arms as u64),
                factors.join(" x "),
                show::count(MOST_ARMS as u64)
            );
            let hint = "remove levels, or list only the relevant [[configurations]]".to_owned();
            self.key("factors", message, Some(hint));
        }
    }

    fn check_hard_to_change(&mut self, study: &Study) {
        if self.mistakes.is_wrong("factors") {
            return;
        }
        for (index, name) in study.hard_to_change.iter().enumerate() {
            let path = format!("hard_to_change/{index}");
            if !study.factors.contains_key(name) {
                let message = format!("\"{name}\" is not a factor of this study");
                self.value(&path, message, Some(unknown_factor_hint(name, &study.factors)));
            } else if study.hard_to_change[..index].contains(name) {
                self.value(&path, format!("hard_to_change lists \"{name}\" twice"), None);
            }
        }
    }

    /// A factor of a layer, such as mount options, needs the factor that creates the layer.
    fn check_layers(&mut self, study: &Study) {
        for name in study.factors.keys() {
            let Some((layer, creator)) = layers::of_factor(name).zip(layers::goes_with(name))
            else {
                continue;
            };
            let path = format!("factors/{name}");
            if !study.factors.contains_key(creator) && !self.mistakes.is_wrong(&path) {
                let what = layers::with_article(layer.noun());
                let message = format!("{name} requires {what} created by the study");
                let levels = reader::example(creator);
                let level = levels.split_once(',').map_or(levels, |(first, _)| first);
                let level = level.trim_matches(['[', ']']);
                let hint = format!("add {creator} = [{level}] below [factors]");
                self.key(&path, message, Some(hint));
            }
        }
        let mut varied = study.factors.iter().filter(|(_, levels)| levels.len() > 1);
        if let Some(layer) = varied.find_map(|(name, _)| layers::of_factor(name))
            && study.recreate_per == super::Fresh::Study
            && !self.mistakes.is_wrong("recreate_per")
        {
            let noun = layer.noun();
            let message = format!(
                "a device has one {noun} at a time, so Assay cannot create several once per study"
            );
            let hint = "remove recreate_per; the default is once per replicate".to_owned();
            self.value("recreate_per", message, Some(hint));
        }
    }

    fn check_workloads(&mut self, study: &Study) {
        let area = study.area.size.filter(|_| !self.mistakes.is_wrong("area/size"));
        let has_budget = study.budget.is_some();
        let finds_rate = study.finds_rate();
        let around = InStudy { area, has_budget, finds_rate, ..InStudy::new(&study.factors) };
        self.check_primary_metric(study);
        for (index, workload) in study.workload.iter().enumerate() {
            let path = format!("workload/{index}/{}", workload.work.kind().about.name);
            workload.work.complain(&path, &around, self);
            self.check_others(study, index);
            let (Some(io), Some(area)) = (&workload.background, area) else { continue };
            let needed = io.block_size.largest().0 * u64::from(io.threads);
            if needed > area.0 / 2 {
                let message = format!(
                    "the background load needs {}, more than half of the area of {area}",
                    Bytes(needed)
                );
                self.value(&format!("workload/{index}/background/size"), message, None);
            }
        }
    }
}

impl Checker<'_> {
    /// A primary metric that is not built in must be reported by a command.
    fn check_primary_metric(&mut self, study: &Study) {
        let Some(primary) = study.primary_metric.as_deref().filter(|name| metrics::is_told(name))
        else {
            return;
        };
        if !is_reported(study, primary) && !self.mistakes.is_wrong("primary_metric") {
            let hint = "add parse = ... to the command".to_owned();
            let message = format!("no command of this study reports {primary}");
            self.value("primary_metric", message, Some(hint));
        }
    }

    /// A workload that only observes other processes must be the only workload.
    fn check_others(&mut self, study: &Study, index: usize) {
        let workload = &study.workload[index];
        if !workload.work.is_others() {
            return;
        }
        let name = workload.work.kind().about.name;
        let hint = format!("remove the other workloads; {name} must run alone");
        if study.workload.len() > 1 {
            let message = format!("{name} cannot run with other workloads");
            self.key(&format!("workload/{index}/{name}"), message, Some(hint));
        } else if workload.background.is_some() {
            let message = format!(
                "{name} observes the production workload, which a background load would change"
            );
            let hint = "remove background".to_owned();
            self.key(&format!("workload/{index}/background"), message, Some(hint));
        }
    }
}

impl Complaints for Checker<'_> {
    fn value(&mut self, path: &str, message: String, hint: Option<String>) {
        Checker::value(self, path, message, hint);
    }

    fn key(&mut self, path: &str, message: String, hint: Option<String>) {
        Checker::key(self, path, message, hint);
    }

    fn is_wrong(&self, path: &str) -> bool {
        self.mistakes.is_wrong(path)
    }
}

/// Counts the combinations that the constraints of a study allow; all if there are too many to check.
fn count_allowed(study: &Study, all: usize) -> usize {
    let constraints = without::constraints(study);
    if all <= MOST_ARMS || all > without::MOST_TRIED || constraints.is_empty() {
        return all;
    }
    without::exclude(without::grid(&study.factors), &constraints, &study.baseline).0.len()
}

/// Lists the metrics of all workloads, each once, including those of request classes if Assay records them.
fn metrics_of(study: &Study) -> Vec<&'static str> {
    let of_work = study.workload.iter().flat_map(|workload| metrics::of_kind(workload.work.kind()));
    let has_classes = study.workload.iter().any(|workload| workload.work.is_others())
        || study.probes.iter().any(|probe| probe == BLOCK_LATENCY);
    let of_classes = CLASS_METRICS.iter().filter(|_| has_classes);
    distinct(of_work.chain(of_classes).map(|metric| metric.name))
}

fn is_reported(study: &Study, metric: &str) -> bool {
    metrics::is_told(metric)
        && study.workload.iter().any(|workload| workload.work.may_report(metric))
}

fn runs_programs(study: &Study) -> bool {
    study.workload.iter().any(|workload| workload.work.kind().runs_programs)
}

fn placeholder_hint(factor: &str) -> String {
    if factor.starts_with("env:") {
        return "use the name of an environment variable, such as env:THREADS".to_owned();
    }
    format!("to insert the level, write {{{factor}}} in a command line")
}

/// Returns whether a workload of the study uses the factor in its text.
pub fn is_taken(study: &Study, factor: &str) -> bool {
    let around = InStudy::new(&study.factors);
    study.workload.iter().any(|workload| workload.work.names_factor(factor, &around))
}

/// Gives each level its canonical spelling, in the questions too.
fn normalize_levels(study: &mut Study) {
    let is_plain = |name: &str| is_taken(study, name) && factors::find(name).is_none();
    let names: Vec<String> = study.factors.keys().filter(|name| !is_plain(name)).cloned().collect();
    for name in names {
        let of_factor = study.factors.get_mut(&name).into_iter().flatten();
        let asked = study.question.iter_mut().flat_map(|ask| ask.levels_of(&name));
        let published = study.published.iter_mut().filter_map(|row| row.at.get_mut(&name));
        for level in of_factor.chain(asked).chain(published) {
            *level = levels::spelled(&name, level);
        }
    }
}

/// Suggests a factor of the study instead of `name`, or how to add `name` to its factors.
fn unknown_factor_hint(name: &str, factors: &BTreeMap<String, Vec<String>>) -> String {
    let in_study: Vec<&str> = factors.keys().map(String::as_str).collect();
    let is_known = reader::unknown_factor(name).is_none();
    words::did_you_mean(name, &in_study).unwrap_or_else(|| {
        if is_known {
            format!("add the factor below [factors]: {name} = {}", reader::example(name))
        } else if in_study.is_empty() {
            "this study has no factors; add some below [factors]".to_owned()
        } else {
            format!("the factors are {}", in_study.join(", "))
        }
    })
}
