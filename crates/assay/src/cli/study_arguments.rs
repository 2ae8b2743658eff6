//! A study with its changes from the command line, shared by `run` and `plan`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::commands::CommandArguments;
use super::gate::{self, GateArguments};
use super::{build, like, output, race, replayed, revisions, studies};
use assay_core::failure::Outcome;
use assay_core::quantity::Time;
use assay_machine::factors::{self, Role};
use assay_machine::probes::energy::meter;
use assay_machine::system::System;
use assay_runner::run::Consented;
use assay_study::file::text::{self, KeyValue, TypedWords};
use assay_study::file::{Stop, StopRule, Study, fields::SMALLEST_BUDGET, is_taken, levels_in};
use assay_study::plan::allocation::Quick;
use assay_study::plan::arms::TARGET;
use assay_workloads::command;

/// Unlisted settings that may be written: only the command line allows them, never a study file or result.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct Allowed {
    /// Let `tunable:PATH` write this unlisted kernel file (repeatable)
    #[arg(long = "allow-tunable", value_name = "PATH")]
    paths: Vec<String>,
}

impl Allowed {
    /// Returns the paths. Fails if a path cannot be a setting.
    pub fn paths(&self) -> Outcome<Vec<PathBuf>> {
        let path = |text: &String| {
            factors::setting_path(text).ok_or_else(|| {
                mistake!("--allow-tunable {text}: use a path below /sys or /proc/sys, without ..")
            })
        };
        self.paths.iter().map(path).collect()
    }
}

/// Permissions that only the command line gives, never a study file or result.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct Permitted {
    #[command(flatten)]
    settings: Allowed,
    /// Run commands as root under sudo [default: as the calling user]
    #[arg(long)]
    as_root: bool,
}

impl Permitted {
    /// Returns these permissions and the devices that may be overwritten. Fails if a path cannot be a setting.
    pub fn consented(&self, destroy: &[String]) -> Outcome<Consented> {
        let (destroy, allowed) = (destroy.to_vec(), self.settings.paths()?);
        Ok(Consented { destroy, allowed, as_root: self.as_root, ..Consented::default() })
    }
}

/// A study as the command line describes it.
#[derive(Debug, Default, PartialEq, Args)]
pub struct StudyArguments {
    /// Study file or preset; none with --command
    #[arg(value_name = "STUDY", required_unless_present = "lines")]
    study: Option<String>,
    /// Directories, files or block devices to compare
    ///
    /// Overrides the target of the study. If the study has the key members, several targets form one array.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Set a key; vary a factor, e.g. queue_depth=1,4,16
    ///
    /// One value sets a key of the study (margin=3%), of a table (gate.must_detect=15%), of all workloads
    /// (runtime=10s) or of one workload (random-read.runtime=10s). Several values are levels of a factor (current: the
    /// value at the start of the study). See assay list factors and assay list workloads. Repeat for more.
    #[arg(long, value_name = "NAME=VALUE,VALUE")]
    pub set: Vec<String>,
    /// Run N complete passes
    #[arg(long, value_name = "N")]
    replicates: Option<u32>,
    /// Set the seed of order, offsets and data [default: random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Limit the time per target, e.g. 10m
    ///
    /// Assay stops after the nearest replicate.
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    /// Shorten trials; keep every configuration
    ///
    /// Takes two minutes for most studies; assay plan STUDY --quick shows the time.
    #[arg(long, conflicts_with = "budget")]
    quick: bool,
    /// Stop when verdicts, gate or winner are decided
    ///
    /// decided: after the first replicate that decides every comparison (95% confidence). gate: when every
    /// configuration passes or fails the gate. best: a race for one workload with many configurations. After the third
    /// replicate, Assay eliminates those significantly behind the leader (5% error rate for the whole race); the
    /// baseline stays. A race gives no verdicts; confirm the winner or add --set stop.confirm=true.
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Set the baseline level, e.g. queue_depth=1
    ///
    /// Repeat for more factors.
    #[arg(long, value_name = "NAME=LEVEL")]
    baseline: Vec<String>,
    /// Overwrite this device (`plan` prints the ID)
    ///
    /// ID of the device, and +NAME for each signature on the device.
    #[arg(long, value_name = "ID")]
    pub destroy: Vec<String>,
    #[command(flatten)]
    pub permitted: Permitted,
    #[command(flatten)]
    commands: CommandArguments,
    #[command(flatten)]
    pub gate: GateArguments,
    /// Use a temporary loop device (root)
    #[arg(long = "scratch", conflicts_with_all = ["targets", "destroy"])]
    lab: bool,
}

/// Key of a fio job file that skips unsupported parts.
const IGNORE_UNSUPPORTED: &str = "ignore_unsupported";
/// Key of a command whose acknowledged writes are checked.
const CHECK_COMMAND: &str = "check_command=";
/// Key whose level may name a directory of files to imitate.
const COMPRESSIBILITY: &str = "compressibility";
const EXAMPLES: &[&str] = &["starvation", "tunable", "production"];
/// Maximum number of replicates of a study that ends when decided, without `--replicates`, whether or not a budget also
/// ends it. The plan contains the trials of all of them.
const MOST_UNTIL_DECIDED: u32 = 100;
const MOST_WITHIN_BUDGET: u32 = 1000;

impl StudyArguments {
    pub fn study(&self, system: &dyn System) -> Outcome<(Study, Vec<String>)> {
        self.study_from(system, self.named_study(system)?)
    }

    /// Does the same for a study that other options name.
    pub fn study_from(&self, system: &dyn System, asked: Study) -> Outcome<(Study, Vec<String>)> {
        let (study, keys) = self.changed(system, self.with_targets(asked)?)?;
        let typed = self.typed(&study, &keys);
        let name = self.study.as_deref().unwrap_or("the commands");
        let mut study = text::changed(name, &study, &keys, &typed)?;
        if keys.iter().any(|key| key.key.starts_with("area.")) && !study.needs_area() {
            return Err(mistake!(
                "--set area.size: no workload of this study uses a test area; remove area.size"
            ));
        }
        build::set_jobs(system, &mut study);
        let study = with_absolute_meter(system, study)?;
        let study = if self.lab { study.in_lab() } else { study };
        let study = revisions::resolved(system, study)?;
        // Checks again, because loop devices and revisions have rules, too.
        let study = text::changed(name, &study.settled(), &[], &typed)?;
        let study = replayed::resolved(system, study)?;
        let targets = if revisions::are_in(&study) {
            vec![revisions::seen_from(system)?]
        } else {
            self.targets_of(&study)
        };
        gate::check(&study, &targets)?;
        build::check_sources(system, &study, &targets)?;
        Ok((study, targets))
    }

    /// Returns the options that may make a study invalid, with the keys that they set.
    fn typed(&self, study: &Study, keys: &[KeyValue]) -> Vec<TypedWords> {
        let mut typed: Vec<TypedWords> = keys.iter().flat_map(|key| key.typed(study)).collect();
        let targets = self.targets();
        if !targets.is_empty() {
            let path = if targets.len() > 1 { "factors/target" } else { "target" };
            typed.push(TypedWords::new(targets.join(" "), path));
        }
        for (option, texts, key) in
            [("--set", &self.set, "factors"), ("--baseline", &self.baseline, "baseline")]
        {
            for text in texts {
                let name = match self.commands.baseline(text) {
                    Some((factor, _)) => factor,
                    None => text.split('=').next().unwrap_or_default().trim().to_owned(),
                };
                typed.push(TypedWords::new(format!("{option} {text}"), format!("{key}/{name}")));
            }
        }
        let options = [
            ("--replicates", self.replicates.map(|count| count.to_string()), "replicates"),
            ("--seed", self.seed.map(|seed| seed.to_string()), "seed"),
            ("--budget", self.budget.clone(), "budget"),
            ("--until", self.until.clone(), "stop"),
        ];
        typed.extend(options.into_iter().filter_map(|(option, text, path)| {
            Some(TypedWords::new(format!("{option} {}", text?), path))
        }));
        typed.extend(self.commands.typed());
        typed.extend(self.gate.typed());
        for (flag, is_given) in [("--quick", self.quick), ("--scratch", self.lab)] {
            typed.extend(is_given.then(|| TypedWords::new(flag, "")));
        }
        typed
    }

    /// Returns the study's name and target if the line changes nothing else.
    pub fn unchanged(&self) -> Option<(&str, Option<&str>)> {
        let (study, targets) = (self.study.clone(), self.targets.clone());
        let bare = Self { study, targets, ..Self::default() };
        let word = self.study.as_deref().filter(|_| *self == bare && self.targets.len() < 2)?;
        Some((word, self.targets.first().map(String::as_str)))
    }

    /// Returns the named study, or one of the line's commands.
    fn named_study(&self, system: &dyn System) -> Outcome<Study> {
        let ignores = self.set.iter().any(|text| *text == format!("{IGNORE_UNSUPPORTED}=true"));
        match &self.study {
            Some(study) if ignores => studies::load_partly(system, study),
            Some(study) if !self.commands.are_there() => studies::load(system, study),
            None if ignores => Err(mistake!(
                "{IGNORE_UNSUPPORTED}: this key applies only to fio job files; remove this key"
            )),
            _ => {
                let has_check = self.set.iter().any(|text| text.starts_with(CHECK_COMMAND));
                self.in_repository(self.commands.study(has_check)?)
            }
        }
    }

    /// Adds the repository whose revisions are compared, if the line names it.
    fn in_repository(&self, mut study: Study) -> Outcome<Study> {
        if !self.commands.have_revisions() {
            return Ok(study);
        }
        let repository = match self.places().as_slice() {
            [] => return Ok(study),
            [repository] => repository.clone(),
            _ => {
                return Err(mistake!(
                    "--rev: TARGET is the repository of the revisions; give at most one repository"
                ));
            }
        };
        for workload in &mut study.workload {
            if let Some(work) = command::CommandSpec::of_mut(&mut workload.work) {
                work.repository = Some(repository.clone());
            }
        }
        Ok(study)
    }

    pub fn targets(&self) -> Vec<String> {
        if self.commands.have_revisions() { Vec::new() } else { self.places() }
    }

    /// Returns the targets on the line; with commands, the first word is a target, too.
    fn places(&self) -> Vec<String> {
        let first = self.study.iter().filter(|_| self.commands.are_there());
        first.chain(&self.targets).cloned().collect()
    }

    pub fn names_places(&self) -> bool {
        self.has_targets() || self.lab || !self.destroy.is_empty()
    }

    pub fn is_of(&self, name: &str) -> bool {
        self.study.as_deref() == Some(name)
    }

    pub fn has_targets(&self) -> bool {
        !self.targets().is_empty()
    }

    /// Returns how `--quick` shortens the study, if given; `--replicates` still applies.
    pub fn quick(&self) -> Option<Quick> {
        self.quick.then_some(Quick { replicates: self.replicates })
    }

    /// Sets the factors of `--set`; returns the keys of `--set`, which are still to be set.
    fn set_factors(&self, system: &dyn System, study: &mut Study) -> Outcome<Vec<KeyValue>> {
        let mut keys = Vec::new();
        for text in &self.set {
            let (name, value) = assignment("--set", text, "queue_depth=1,4,16")?;
            if name == IGNORE_UNSUPPORTED {
                if !["true", "false"].contains(&value.as_str()) {
                    return Err(mistake!("--set {text}: use true or false"));
                }
                continue;
            }
            // Also for one workload: `WORKLOAD.compressibility`.
            let is_content = name.rsplit('.').next() == Some(COMPRESSIBILITY);
            let levels = if is_content {
                let levels = value.split(',').map(str::trim);
                levels.map(|level| like::compressibility(system, level)).collect::<Outcome<_>>()?
            } else {
                levels_in(&name, &value)
            };
            let varies = study.factors.contains_key(&name)
                || name == TARGET
                || levels.len() > 1 && (is_factor(&name) || is_taken(study, &name));
            // A name that is no key becomes a factor: the check of the study then reports an unknown name.
            if !varies && text::is_key(study, &name) {
                let value = if is_content { levels.join(",") } else { value };
                keys.push(KeyValue { key: name, value });
            } else {
                self.vary(study, name, levels);
            }
        }
        Ok(keys)
    }

    /// Returns the study with the factors of `--set` and the other options, and the keys of `--set` still to be set.
    fn changed(&self, system: &dyn System, mut study: Study) -> Outcome<(Study, Vec<KeyValue>)> {
        let keys = self.set_factors(system, &mut study)?;
        if !self.baseline.is_empty() {
            let baseline = self.baseline.iter().map(|text| match self.commands.baseline(text) {
                Some(command) => Ok(command),
                None => assignment("--baseline", text, "queue_depth=1"),
            });
            study.baseline = baseline.collect::<Outcome<BTreeMap<String, String>>>()?;
        }
        if let (Some(count), StopRule::Interim) = (self.replicates, study.stop.rule) {
            return Err(mistake!(
                "--replicates {count}: interim_at sets the number of replicates of this study; remove --replicates"
            ));
        }
        study.replicates = self.replicates.unwrap_or(study.replicates);
        study.seed = self.seed.or(study.seed);
        self.gate.apply_to(&mut study)?;
        if let Some(key) = keys.iter().find(|key| key.key.starts_with("gate."))
            && study.gate.is_none()
            && key.key != "gate.max_regression"
        {
            return Err(mistake!("--set {}: this study has no gate; add --gate 5%", key.key));
        }
        if let Some(text) = &self.budget {
            study.budget = Some(budget(text)?);
        }
        self.set_stop_rule(&mut study)?;
        let study = if self.quick { study.quick() } else { study };
        Ok((study, keys))
    }

    /// Makes a name a factor with these levels, and drops what no longer applies to the study.
    fn vary(&self, study: &mut Study, name: String, levels: Vec<String>) {
        if name == TARGET {
            study.target = None;
        }
        let is_setting = |name: &String| factors::has_role(name, Role::Setting);
        if is_setting(&name) && EXAMPLES.contains(&study.preset.as_deref().unwrap_or_default()) {
            // Named settings replace the preset's example setting.
            let is_named = |factor: &String| self.set.iter().any(|set| set.starts_with(factor));
            study.factors.retain(|factor, _| !is_setting(factor) || is_named(factor));
            // The articles measured the preset's setting.
            study.published.clear();
            study.question.iter_mut().for_each(|question| question.published = None);
        }
        // The first level on the line is the baseline, unless the levels include the study's baseline.
        let normalized = |level: &String| level.replace(' ', "").to_lowercase();
        if let Some(baseline) = study.baseline.get(&name).map(normalized)
            && !levels.iter().map(normalized).any(|level| level == baseline)
        {
            study.baseline.remove(&name);
        }
        study.factors.insert(name, levels);
        study.configurations.clear();
    }

    fn set_stop_rule(&self, study: &mut Study) -> Outcome<()> {
        let rule = match self.until.as_deref() {
            None => return Ok(()),
            Some("best") if self.quick => {
                return Err(mistake!(
                    "--until best: a race chooses the number of trials; remove --quick"
                ));
            }
            Some("best") => return race::make(study, self.replicates),
            Some("decided") => StopRule::Decided,
            Some("gate") if study.gate.is_some() => StopRule::Gate,
            Some("gate") => {
                return Err(mistake!(
                    "--until gate: this study has no gate; add --gate 5%, without --against"
                ));
            }
            Some(when) => {
                return Err(mistake!("--until {when}: use decided, gate (with --gate) or best"));
            }
        };
        let limit = if study.budget.is_some() { MOST_WITHIN_BUDGET } else { MOST_UNTIL_DECIDED };
        study.replicates = self.replicates.unwrap_or(limit);
        study.stop = Stop { rule, ..Stop::default() };
        Ok(())
    }

    /// Sets the targets: several form a factor, a single one replaces the study's target.
    fn with_targets(&self, mut study: Study) -> Outcome<Study> {
        if self.lab {
            return check_scratch(study);
        }
        let targets = self.targets();
        if targets.is_empty() {
            return Ok(study);
        }
        if revisions::are_in(&study) {
            return Err(mistake!("this study runs in checked-out commits; remove TARGET"));
        }
        if study.factors.contains_key(TARGET) {
            return Err(mistake!(
                "this study names the targets; remove TARGET, or use --set target=A,B"
            ));
        }
        study.target = None;
        if study.members.is_some() && targets.len() > 1 {
            study.members = Some(targets.len() as u32);
            study.target = Some(assay_study::file::Target::Devices(targets));
        } else if targets.len() > 1 {
            study.factors.insert(TARGET.to_owned(), targets);
        }
        Ok(study)
    }

    /// Returns the targets: of the factor, the command line or the study, or this directory.
    fn targets_of(&self, study: &Study) -> Vec<String> {
        let study_target = study.target.as_ref().map(assay_study::file::Target::word);
        if let Some(targets) = study.factors.get(TARGET) {
            return targets.clone();
        }
        // The devices of one array are one target.
        let is_array = matches!(study.target, Some(assay_study::file::Target::Devices(_)));
        let line_target = self.targets().into_iter().next().filter(|_| !is_array);
        vec![line_target.or(study_target).unwrap_or_else(|| ".".to_owned())]
    }
}

/// Makes the power meter's path absolute, because a resumed study may run in another directory.
fn with_absolute_meter(system: &dyn System, mut study: Study) -> Outcome<Study> {
    let Some(file) = &study.power_meter else { return Ok(study) };
    // The meter's program may create the file later.
    let path = system.canonical(Path::new(file)).unwrap_or_else(|error| {
        output::message(&format!(
            "power_meter {file}: {error}; trials before the first line have no energy values"
        ));
        PathBuf::from(file)
    });
    if let Some(reason) = meter::mistaken(system, &path) {
        return Err(mistake!("power_meter {file}: {reason}"));
    }
    study.power_meter = Some(path.display().to_string());
    Ok(study)
}

fn is_factor(name: &str) -> bool {
    assay_workloads::parameter(name).is_some() || factors::find(name).is_some()
}

fn check_scratch(study: Study) -> Outcome<Study> {
    if revisions::are_in(&study) {
        return Err(mistake!(
            "--scratch: Assay builds revisions on a drive of this machine; remove --scratch"
        ));
    }
    if study.factors.contains_key(TARGET) {
        return Err(mistake!("--scratch: this study names the targets; remove --scratch"));
    }
    Ok(study)
}

/// Parses `NAME=REST`.
fn assignment(option: &str, text: &str, example: &str) -> Outcome<(String, String)> {
    let parts = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let (name, value) =
        parts.ok_or_else(|| mistake!("{option} {text}: use the form {option} {example}"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Parses a budget, and refuses one without time to measure.
pub fn budget(text: &str) -> Outcome<Time> {
    let budget: Time = text.parse().map_err(|error| mistake!("--budget: {error}"))?;
    if budget < SMALLEST_BUDGET {
        return Err(mistake!("--budget {text}: too short to measure; use at least 2 s"));
    }
    Ok(budget)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use assay_core::quantity::Loss;
    use assay_machine::system::Fake;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        of_study: StudyArguments,
    }

    fn study(words: &[&str]) -> Outcome<Study> {
        let line = Line::try_parse_from(["assay"].iter().chain(words)).unwrap();
        line.of_study.study(&Fake::new()).map(|(study, _)| study)
    }

    #[test]
    fn a_named_tunable_stands_for_the_example() {
        const NAMED: &str = "tunable:/proc/sys/vm/dirty_expire_centisecs";
        let own = study(&["tunable", "--scratch"]).unwrap();
        assert_eq!(own.factors.len(), 1);
        let other =
            study(&["tunable", "--scratch", "--set", &format!("{NAMED}=100,3000")]).unwrap();
        assert_eq!(other.factors.keys().collect::<Vec<_>>(), [NAMED]);
        let same = "tunable:/proc/sys/vm/dirty_background_ratio";
        let levels = study(&["tunable", "--set", &format!("{same}=1,10,20")]).unwrap();
        assert_eq!(levels.factors[same], ["1", "10", "20"]);
        let both = ["tunable", "--set", &format!("{NAMED}=1,2"), "--set", &format!("{same}=1,2")];
        assert_eq!(study(&both).unwrap().factors.len(), 2);
    }

    #[test]
    fn a_card_is_sold_as_the_line_says() {
        let words =
            ["flash", "--scratch", "--set", "card.rated=95MB/s", "--set", "card.price=12.50 GBP"];
        let card = study(&words).unwrap().card.unwrap();
        assert_eq!(card.rated.unwrap().rate(), Some(95e6));
        assert_eq!(card.price.unwrap().currency, "GBP");
        for words in [["flash", "--set", "card.rated=fast"], ["flash", "--set", "card.price=12.50"]]
        {
            assert!(study(&words).unwrap_err().message.starts_with(&words[1..].join(" ")));
        }
    }

    #[test]
    fn an_area_is_as_large_as_the_line_says() {
        let sized = study(&["queue-depth", "--set", "area.size=64MiB"]).unwrap();
        assert_eq!(sized.area.size, Some(assay_core::quantity::Bytes(64 << 20)));
        assert_ne!(study(&["queue-depth"]).unwrap().area.size, sized.area.size);
        let told = study(&["queue-depth", "--set", "area.size=1KiB"]).unwrap_err().message;
        assert!(told.starts_with("--set area.size=1KiB: "), "{told}");
        let told = study(&["--command", "true", "--set", "area.size=64MiB"]).unwrap_err().message;
        assert!(told.starts_with("--set area.size: no workload of this study"), "{told}");
    }

    /// Users never see the study made from options: errors name the option as typed.
    #[test]
    fn an_option_that_makes_a_study_invalid_is_named_as_it_was_typed() {
        for (words, told) in [
            (vec!["queue-depth", "--set", "queue_depth=1,x"], "--set queue_depth=1,x: "),
            (vec!["queue-depth", "--set", "depht=1,2"], "--set depht=1,2: unknown factor"),
            (vec!["queue-depth", "--replicates", "0"], "--replicates 0: "),
            (vec!["queue-depth", "--set", "primary_metric=speed"], "--set primary_metric=speed: "),
            (vec!["queue-depth", "--baseline", "queue_depth=7"], "--baseline queue_depth=7: "),
            (vec!["queue-depth", "--set", "queue_depth=1..8"], "--set queue_depth=1..8: "),
        ] {
            let message = study(&words).unwrap_err().message;
            assert!(message.starts_with(told), "{words:?}: {message}");
            assert!(!message.contains("as changed") && !message.contains("depth:"), "{message}");
        }
        let message = study(&["queue-depth", "--set", "queue_depth=1..8"]).unwrap_err().message;
        assert!(message.ends_with("--set queue_depth=1,2,4,8"), "{message}");
        let both = study(&["queue-depth", "--set", "queue_depth=x", "--set", "threads=y"])
            .unwrap_err()
            .message;
        assert!(
            both.contains("--set queue_depth=x: ") && both.contains("--set threads=y: "),
            "{both}"
        );
    }

    /// The plan depends only on study, survey and seed: equal studies have equal plans.
    #[test]
    fn option_and_key_give_the_same_study() {
        let pairs = [
            (["--replicates", "7"], "replicates=7"),
            (["--seed", "7"], "seed=7"),
            (["--budget", "40 s"], "budget=40 s"),
            (["--gate", "5%"], "gate.max_regression=5%"),
        ];
        let mut same = 0;
        for name in assay_study::file::presets::names() {
            for (option, key) in pairs {
                let by_option = study(&[&[name], &option[..]].concat()).ok();
                let by_key = study(&[name, "--set", key]).ok();
                assert_eq!(by_option, by_key, "{name} {option:?}");
                same += usize::from(by_key.is_some());
            }
        }
        assert!(same > 100, "{same}");
    }

    #[test]
    fn options_that_fit_say_nothing() {
        let words = [
            "queue-depth",
            "--set",
            "queue_depth=1,2",
            "--replicates",
            "4",
            "--baseline",
            "queue_depth=2",
        ];
        let fits = study(&words).unwrap();
        assert_eq!((fits.replicates, &*fits.baseline["queue_depth"]), (4, "2"));
    }

    #[test]
    fn a_part_of_a_job_file_is_no_part_of_commands_or_presets() {
        const PARTLY: &str = "ignore_unsupported=true";
        for words in
            [&["queue-depth", "--set", PARTLY][..], &["--command", "true", "--set", PARTLY]]
        {
            let told = study(words).unwrap_err().message;
            assert!(told.starts_with("ignore_unsupported: "), "{told}");
        }
    }

    #[test]
    fn a_gate_of_the_line_is_one_of_the_study_and_may_end_it() {
        let gated = study(&["queue-depth", "--gate", "5%"]).unwrap();
        let allowed = Loss::Share(assay_core::quantity::Percent(5.0));
        assert_eq!(
            (gated.gate.unwrap().max_regression, gated.stop.rule),
            (allowed, StopRule::Fixed)
        );
        let ended = study(&["queue-depth", "--gate", "5%", "--until", "gate"]).unwrap();
        assert_eq!((ended.stop.rule, ended.replicates), (StopRule::Gate, MOST_UNTIL_DECIDED));
        let until = ["queue-depth", "--gate", "5%", "--until", "gate", "--budget", "40s"];
        assert_eq!(study(&until).unwrap().replicates, MOST_WITHIN_BUDGET);
        let named = study(&[&until[..], &["--replicates", "7"]].concat()).unwrap();
        assert_eq!(named.replicates, 7);
        assert_eq!(study(&["queue-depth"]).unwrap().gate, None);
        for (words, told) in [
            (&["queue-depth", "--until", "gate"][..], "--until gate: this study has no gate"),
            (&["queue-depth", "--until", "now"], "--until now: use decided"),
            (&["--command", "true", "--gate", "5%"], "a gate compares configurations"),
            (
                &["queue-depth", "--gate", "5%", "--set", "gate.must_detect=x"],
                "--set gate.must_detect=x: ",
            ),
            (
                &["queue-depth", "--gate", "5%", "--set", "gate.must_detect=9%", "--until", "gate"],
                "--set gate.must_detect=9%: with rule gate",
            ),
        ] {
            let message = study(words).unwrap_err().message;
            assert!(message.starts_with(told), "{words:?}: {message}");
        }
    }

    #[test]
    fn a_metric_that_the_study_does_not_have_is_refused_with_those_it_has() {
        let of = |words: &[&str], metric: &str| {
            study(&[words, &["--gate", "5%", "--set", &format!("gate.metric={metric}")]].concat())
        };
        let two = ["--command", "true", "--command", "false"];
        let own = of(&two, "peak_memory_bytes").unwrap().gate.unwrap();
        assert_eq!(own.metric.as_deref(), Some("peak_memory_bytes"));
        assert!(of(&two, "energy_j").is_ok() && of(&["queue-depth"], "latency_p99_ns").is_ok());
        assert!(of(&two, "x").unwrap_err().message.contains("unknown metric \"x\""));
        for (words, metric) in [(&two[..], "iops"), (&["queue-depth"], "peak_memory_bytes")] {
            let message = of(words, metric).unwrap_err().message;
            let told =
                format!("--set gate.metric={metric}: no workload of this study has the metric");
            assert!(message.starts_with(&told) && message.contains("use one of "), "{message}");
        }
        // Metrics from program output count, too; a format may define any name.
        let own = [&two[..], &["--parse", "tps = ([0-9.]+):tps:higher"]].concat();
        assert!(of(&own, "reported_tps").is_ok() && of(&own, "peak_memory_bytes").is_ok());
        assert!(of(&own, "reported_ops").is_err() && of(&two, "reported_tps").is_err());
        let format = [&two[..], &["--parse", "fio-json"]].concat();
        assert!(of(&format, "reported_iops").is_ok() && of(&format, "iops").is_err());
    }

    #[test]
    fn a_gate_may_be_about_a_number_that_commands_tell() {
        let of = |metric: &str| {
            let reads = ["--parse", "([0-9]+) ops/s:ops/s:higher", "--gate", "5%"];
            let set = format!("gate.metric={metric}");
            let two = ["--command", "true", "--command", "false", "--set", &set];
            study(&[&two[..], &reads].concat())
        };
        let own = of("reported_ops_per_s").unwrap().gate.unwrap();
        assert_eq!(own.metric.as_deref(), Some("reported_ops_per_s"));
        let message = of("reported_tps").unwrap_err().message;
        assert!(message.contains("no workload of this study has the metric"), "{message}");
    }

    #[test]
    fn a_count_that_may_be_zero_has_a_gate_of_an_amount_and_nothing_else_has() {
        let of = |gate: &str, metric: &str, more: &[&str]| {
            let two = ["--command", "true", "--command", "false"];
            let set = format!("gate.metric={metric}");
            let gate = ["--gate", gate, "--set", &set];
            study(&[&two[..], &gate, more].concat())
        };
        let own = of("+10", "major_faults", &["--until", "gate"]).unwrap().gate.unwrap();
        assert_eq!(own.max_regression, Loss::Amount(10.0));
        assert!(of("5%", "minor_faults", &[]).is_ok());
        let sees = ["--set", "gate.must_detect=9%"];
        for (gate, metric, more, told) in [
            ("+10", "major_faults", &sees[..], "--set gate.must_detect=9%: with an absolute gate"),
            ("5%", "major_faults", &[], "--gate 5%: major_faults may be zero"),
            ("+10", "minor_faults", &[], "--gate +10: Assay compares minor_faults by ratio"),
        ] {
            let message = of(gate, metric, more).unwrap_err().message;
            assert!(message.starts_with(told), "{message}");
        }
    }

    #[test]
    fn quick_shortens_trials_and_keeps_replicates() {
        let long = study(&["filesystems", "--scratch"]).unwrap();
        let quick = study(&["filesystems", "--scratch", "--quick"]).unwrap();
        assert_eq!((quick.replicates, quick.repeat_disturbed), (long.replicates, false));
        assert!(quick.workload.iter().all(|work| work.work.time() < long.workload[0].work.time()));
        let named = study(&["filesystems", "--scratch", "--quick", "--replicates", "12"]).unwrap();
        assert_eq!(named.replicates, 12);
    }
}
