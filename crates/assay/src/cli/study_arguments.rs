//! A study and what the command line changes of it: shared by `run` and `plan`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::build::BuildArguments;
use super::commands::CommandArguments;
use super::gate::{self, GateArguments};
use super::kept::KeptArguments;
use super::like::LikeArguments;
use super::race::RaceArguments;
use super::{output, replayed, revisions, studies};
use assay_base::failure::{Failure, Outcome};
use assay_base::quantity::{Bytes, Percent, Time};
use assay_kinds::work::{command, observe, recorded};
use assay_machine::factors::{self, Role};
use assay_machine::probes::energy::meter;
use assay_runner::runner::Consented;
use assay_study::plan::allocation::Quick;
use assay_study::plan::arms::TARGET;
use assay_study::study::file::{self, Typed};
use assay_study::study::{
    Card, SMALLEST_AREA_BYTES, Stop, StopRule, Study, fields::SMALLEST_BUDGET, levels_in,
};
use assay_system::system::System;

/// Settings that may be written though studies usually have no business there: said here, and never
/// taken from a study file or a result.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct Allowed {
    /// Let `tunable:PATH` write this unlisted kernel file (repeatable)
    #[arg(long = "allow-tunable", value_name = "PATH")]
    paths: Vec<String>,
}

impl Allowed {
    /// The paths.
    ///
    /// # Errors
    /// The user's mistake where no setting can lie there.
    pub fn paths(&self) -> Outcome<Vec<PathBuf>> {
        let path = |text: &String| {
            factors::setting_path(text).ok_or_else(|| {
                Failure::mistake(format!(
                    "--allow-tunable {text}: use a file below /sys or /proc/sys, without .."
                ))
            })
        };
        self.paths.iter().map(path).collect()
    }
}

/// What a study may do that is said here, and never taken from a study file or a result.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct Permitted {
    #[command(flatten)]
    settings: Allowed,
    /// Run commands as root under sudo [default: as the calling user]
    #[arg(long)]
    as_root: bool,
}

impl Permitted {
    /// These, and the devices that may be overwritten.
    ///
    /// # Errors
    /// The user's mistake where no setting can lie at a path.
    pub fn consented(&self, destroy: &[String]) -> Outcome<Consented> {
        let (destroy, allowed) = (destroy.to_vec(), self.settings.paths()?);
        Ok(Consented { destroy, allowed, as_root: self.as_root, ..Consented::default() })
    }
}

/// What `--until` asks.
const UNTIL: &str = "Stop when the verdicts (decided) or the gate are decided";

/// The same, with what it means for trials that are recorded.
fn until_help() -> String {
    let recorded = recorded::kind().map_or("", |(_, recording)| recording.until);
    let text = "Assay stops after the first replicate that decides every comparison, or that shows every \
                configuration beyond the gate or within it (95% confidence).";
    format!("{UNTIL}\n\n{text} {recorded}").trim_end().to_owned()
}

/// A study as the command line asks for it.
#[derive(Debug, Default, PartialEq, Args)]
pub struct StudyArguments {
    /// Study file or preset; none with --command
    #[arg(value_name = "STUDY", required_unless_present = "lines")]
    study: Option<String>,
    /// Directories, files or block devices to compare
    ///
    /// Overrides the study's target. If the study has the key members, several targets form one array.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Set a key; vary a factor, e.g. queue_depth=1,4,16
    ///
    /// Repeat for more factors (assay list factors). For settings, the level now is the value at the start of the
    /// study.
    #[arg(long, value_name = "NAME=LEVEL,LEVEL")]
    set: Vec<String>,
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
    /// Run the supported part of a fio job file
    ///
    /// Assay skips unsupported keys and jobs, and names each.
    #[arg(long, conflicts_with = "lines")]
    partly: bool,
    /// Shorten trials; keep every configuration
    ///
    /// Two minutes for most studies; assay plan STUDY --quick shows the time.
    #[arg(long, conflicts_with = "budget")]
    quick: bool,
    /// Set the measured time per trial, e.g. 10s or 2min
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Roll back a level that harms live workloads (2x, or off)
    ///
    /// The limit is this multiple of the worst of the baseline.
    #[arg(long, value_name = "FACTOR")]
    harm: Option<String>,
    #[arg(long, value_name = "WHEN", help = UNTIL, long_help = until_help())]
    until: Option<String>,
    /// Set the baseline level, e.g. queue_depth=1
    ///
    /// Repeat for more factors.
    #[arg(long, value_name = "NAME=LEVEL")]
    baseline: Vec<String>,
    /// Limit memory (384MiB) or latency ('p99 < 2ms')
    ///
    /// The memory that the workload may use; for load-limit, the bound of a percentile of the response time (p50,
    /// p90, p99, p99.9), which includes the wait since the intended start.
    #[arg(long, value_name = "LIMIT")]
    limit: Option<String>,
    /// Set the equivalence margin, e.g. 5%
    #[arg(long, value_name = "SHARE")]
    margin: Option<String>,
    /// Choose the metric of the verdicts
    ///
    /// assay list metrics shows the names.
    #[arg(long, value_name = "METRIC")]
    primary: Option<String>,
    /// Overwrite this device (`plan` prints the ID)
    ///
    /// Its ID and +NAME for all that it contains.
    #[arg(long, value_name = "ID")]
    pub destroy: Vec<String>,
    /// Set the test area size, e.g. 256MiB
    #[arg(long, value_name = "SIZE")]
    area: Option<String>,
    #[command(flatten)]
    pub permitted: Permitted,
    #[command(flatten)]
    commands: CommandArguments,
    #[command(flatten)]
    kept: KeptArguments,
    #[command(flatten)]
    build: BuildArguments,
    #[command(flatten)]
    like: LikeArguments,
    #[command(flatten)]
    pub gate: GateArguments,
    #[command(flatten)]
    race: RaceArguments,
    /// Use a temporary loop device (root)
    #[arg(long = "scratch", conflicts_with_all = ["targets", "destroy"])]
    lab: bool,
    /// Read energy from this power meter's file
    ///
    /// Each line contains a time and watts.
    #[arg(long, value_name = "FILE")]
    meter: Option<String>,
    /// Ratings printed on the card, e.g. "95 MB/s, V30, A1"
    ///
    /// The flash table compares the card with them.
    #[arg(long, value_name = "CLAIMS")]
    claimed: Option<String>,
    /// Set the price of the card, e.g. "12.50 GBP"
    #[arg(long, value_name = "PRICE")]
    price: Option<String>,
}

/// Presets about one setting, whichever it is.
const EXAMPLES: &[&str] = &["starvation", "tunable", "production"];

/// Replicates at most of a study that ends when it is decided, where none are named: without a budget, and with one,
/// which then ends it. A plan has every trial of them.
const MOST_UNTIL_DECIDED: u32 = 100;
const MOST_WITHIN_BUDGET: u32 = 1000;

impl StudyArguments {
    /// The study to run, and where.
    pub fn study(&self, system: &dyn System) -> Outcome<(Study, Vec<String>)> {
        let study = self.changed(self.placed(self.asked(system)?)?)?;
        let study = self.like.liked(system, self.build.built(system, study)?)?;
        let study = self.metered(system, self.sold_as(self.at_speed(study))?)?;
        let study = if self.lab { study.in_lab() } else { study };
        let study = revisions::resolved(system, study)?;
        // What the command line made of it is read like a file, so that both know the same rules.
        let name = self.study.as_deref().unwrap_or("the commands");
        let study = file::changed(name, &study.settled(), &self.typed())?;
        let study = replayed::resolved(system, study)?;
        let targets = if revisions::are_in(&study) {
            vec![revisions::seen_from(system)?]
        } else {
            self.targets_of(&study)
        };
        gate::check(&study, &targets)?;
        self.build.check(system, &targets)?;
        Ok((study, targets))
    }

    /// The options that may make a study invalid, with the keys that they set.
    fn typed(&self) -> Vec<Typed> {
        let mut typed: Vec<Typed> = Vec::new();
        let targets = self.targets();
        if !targets.is_empty() {
            let path = if targets.len() > 1 { "factors/target" } else { "target" };
            typed.push(Typed::new(targets.join(" "), path));
        }
        for (option, texts, key) in
            [("--set", &self.set, "factors"), ("--baseline", &self.baseline, "baseline")]
        {
            typed.extend(texts.iter().map(|text| {
                let named = || text.split_once('=').map_or(text.as_str(), |(name, _)| name.trim());
                let of_command = self.commands.baseline(text).map(|(name, _)| name);
                let name = of_command.unwrap_or_else(|| named().to_owned());
                Typed::new(format!("{option} {text}"), format!("{key}/{name}"))
            }));
        }
        let options = [
            ("--replicates", self.replicates.map(|count| count.to_string()), "replicates"),
            ("--seed", self.seed.map(|seed| seed.to_string()), "seed"),
            ("--primary", self.primary.clone(), "primary_metric"),
            ("--margin", self.margin.clone(), "margin"),
            ("--budget", self.budget.clone(), "budget"),
            ("--area", self.area.clone(), "area/size"),
            ("--time", self.time.clone(), "workload/*/*/runtime"),
            ("--limit", self.limit.clone(), super::limit::key(self.limit.as_deref())),
            ("--harm", self.harm.clone(), "workload/*/*/rollback_threshold"),
            ("--until", self.until.clone(), "stop"),
            ("--claimed", self.claimed.clone(), "card/rated"),
            ("--price", self.price.clone(), "card/price"),
            ("--meter", self.meter.clone(), "power_meter"),
        ];
        typed.extend(options.into_iter().filter_map(|(option, text, path)| {
            Some(Typed::new(format!("{option} {}", text?), path))
        }));
        typed.extend(self.kept.typed(&self.commands).unwrap_or_else(|| self.commands.typed()));
        typed.extend(self.build.typed());
        typed.extend(self.like.typed());
        typed.extend(self.gate.typed());
        typed.extend(self.race.typed());
        let flags = [("--quick", self.quick), ("--scratch", self.lab), ("--partly", self.partly)];
        let flags = flags.into_iter().filter(|(_, is_there)| *is_there);
        typed.extend(flags.map(|(flag, _)| Typed::new(flag, "")));
        typed
    }

    /// The study's word and its target, where the line says nothing else of it.
    pub fn unchanged(&self) -> Option<(&str, Option<&str>)> {
        let (study, targets) = (self.study.clone(), self.targets.clone());
        let bare = Self { study, targets, ..Self::default() };
        let word = self.study.as_deref().filter(|_| *self == bare && self.targets.len() < 2)?;
        Some((word, self.targets.first().map(String::as_str)))
    }

    /// What the line names: a study, or commands.
    fn asked(&self, system: &dyn System) -> Outcome<Study> {
        match &self.study {
            Some(study) if self.partly => studies::load_partly(system, study),
            Some(study) if !self.commands.are_there() => studies::load(system, study),
            _ => match self.kept.study(&self.commands) {
                Some(study) => study,
                None => self.in_repository(self.commands.study()?),
            },
        }
    }

    /// With the repository whose revisions are compared, where the line names it.
    fn in_repository(&self, mut study: Study) -> Outcome<Study> {
        if !self.commands.have_revisions() {
            return Ok(study);
        }
        let named = match self.places().as_slice() {
            [] => return Ok(study),
            [one] => one.clone(),
            _ => {
                return Err(Failure::mistake(
                    "--rev: TARGET is the repository of the revisions; give one, or none to use this directory's",
                ));
            }
        };
        for own in &mut study.workload {
            if let Some(work) = command::Asked::of_mut(&mut own.work) {
                work.repository = Some(named.clone());
            }
        }
        Ok(study)
    }

    /// The targets that the line names.
    fn targets(&self) -> Vec<String> {
        if self.commands.have_revisions() { Vec::new() } else { self.places() }
    }

    /// The places that the line names: with commands there is no study before them.
    fn places(&self) -> Vec<String> {
        let first = self.study.iter().filter(|_| self.commands.are_there());
        first.chain(&self.targets).cloned().collect()
    }

    /// A quick look, where one is wished for.
    fn at_speed(&self, study: Study) -> Study {
        if self.quick { study.quick() } else { study }
    }

    /// Whether the line names a place of this machine to write to.
    pub fn names_places(&self) -> bool {
        self.has_targets() || self.lab || !self.destroy.is_empty()
    }

    /// Whether the line names targets.
    pub fn has_targets(&self) -> bool {
        !self.targets().is_empty()
    }

    /// How a quick look is divided, where one is wished for; replicates that were named stay.
    pub fn quick(&self) -> Option<Quick> {
        self.quick.then_some(Quick { replicates: self.replicates })
    }

    /// What the card is sold as, where that was told.
    fn sold_as(&self, mut study: Study) -> Outcome<Study> {
        if let Some(text) = &self.claimed {
            let claimed = Some(read("--claimed", text)?);
            study.card = Some(Card { rated: claimed, ..study.card.unwrap_or_default() });
        }
        if let Some(text) = &self.price {
            let price = Some(read("--price", text)?);
            study.card = Some(Card { price, ..study.card.unwrap_or_default() });
        }
        Ok(study)
    }

    /// With the meter's file, which a resumed study finds from anywhere. It may begin later.
    fn metered(&self, system: &dyn System, mut study: Study) -> Outcome<Study> {
        let Some(file) = &self.meter else { return Ok(study) };
        let path = match system.canonical(Path::new(file)) {
            Ok(path) => path,
            Err(error) => {
                output::message(&format!(
                    "--meter {file}: {error}; trials before its first line have no energy"
                ));
                Path::new(file).to_owned()
            }
        };
        if let Some(reason) = meter::mistaken(system, &path) {
            return Err(Failure::mistake(format!("--meter {file}: {reason}")));
        }
        study.power_meter = Some(path.display().to_string());
        Ok(study)
    }

    fn changed(&self, mut study: Study) -> Outcome<Study> {
        for text in &self.set {
            let (name, levels) = assignment("--set", text, "queue_depth=1,4,16")?;
            let levels = levels_in(&name, &levels);
            if name == TARGET {
                study.target = None;
            }
            let setting = |name: &String| factors::has_role(name, Role::Setting);
            if setting(&name) && EXAMPLES.contains(&study.preset.as_deref().unwrap_or_default()) {
                // The preset's own setting is an example: those that are named stand for it.
                let named = |own: &String| self.set.iter().any(|set| set.starts_with(own));
                study.factors.retain(|own, _| !setting(own) || named(own));
            }
            // Of levels that the line names the first is the baseline, unless the study's own is among them.
            let bare = |level: &String| level.replace(' ', "").to_lowercase();
            if let Some(own) = study.baseline.get(&name).map(bare)
                && !levels.iter().map(bare).any(|level| level == own)
            {
                study.baseline.remove(&name);
            }
            study.factors.insert(name, levels);
            study.configurations.clear();
        }
        if let Some(text) = &self.limit {
            super::limit::put(&mut study, text)?;
        }
        if !self.baseline.is_empty() {
            let named = self.baseline.iter().map(|text| match self.commands.baseline(text) {
                Some(command) => Ok(command),
                None => assignment("--baseline", text, "queue_depth=1"),
            });
            study.baseline = named.collect::<Outcome<BTreeMap<String, String>>>()?;
        }
        if let (Some(count), StopRule::Interim) = (self.replicates, study.stop.rule) {
            return Err(Failure::mistake(format!(
                "--replicates {count}: the interim analyses of this study set the number; leave it out"
            )));
        }
        study.replicates = self.replicates.unwrap_or(study.replicates);
        study.seed = self.seed.or(study.seed);
        study.primary_metric = self.primary.clone().or(study.primary_metric);
        if let Some(text) = &self.margin {
            let margin: Percent = read("--margin", text)?;
            study.margin = Some(margin);
        }
        self.gate.put(&mut study)?;
        if let Some(text) = &self.budget {
            study.budget = Some(budget(text)?);
        }
        let records = study.workload.iter_mut().find_map(|own| own.work.records_mut());
        if let (Some(what), Some(records)) = (&self.until, records) {
            records.time_until(what);
        } else if let Some(when) = &self.until {
            let rule = rule(when, study.gate.is_some())?;
            let most = if study.budget.is_some() { MOST_WITHIN_BUDGET } else { MOST_UNTIL_DECIDED };
            study.replicates = self.replicates.unwrap_or(most);
            study.stop = Stop { rule, ..Stop::default() };
        }
        self.race.put(&mut study, self.replicates)?;
        self.spanned(study)
    }

    /// With the area, the time of a trial, and the limit of harm.
    fn spanned(&self, mut study: Study) -> Outcome<Study> {
        if let Some(text) = &self.area {
            if !study.needs_area() {
                return Err(Failure::mistake(
                    "--area: no workload of this study uses a test area; leave it out",
                ));
            }
            study.area.size = Some(area(text)?);
        }
        if let Some(text) = &self.time {
            let time: Time = read("--time", text)?;
            for workload in &mut study.workload {
                let ramp = workload.work.ramp();
                workload.work.set_span(Some(time), ramp);
            }
        }
        if let Some(text) = &self.harm {
            let harm = read("--harm", text)?;
            let mut others =
                study.workload.iter_mut().filter_map(|own| observe::Asked::of_mut(&mut own.work));
            let Some(first) = others.next() else {
                return Err(Failure::mistake(
                    "--harm protects a production workload, which this study does not observe; leave it out",
                ));
            };
            first.rollback_threshold = harm;
        }
        Ok(study)
    }

    /// Targets of the command line: several are a factor of the study, one stands for its own.
    fn placed(&self, mut study: Study) -> Outcome<Study> {
        if self.lab {
            return in_lab(study);
        }
        let targets = self.targets();
        if targets.is_empty() {
            return Ok(study);
        }
        if revisions::are_in(&study) {
            return Err(Failure::mistake("this study runs in trees of commits; leave TARGET out"));
        }
        if study.factors.contains_key(TARGET) {
            return Err(Failure::mistake(
                "this study names its own targets; leave TARGET out, or use --set target=A,B",
            ));
        }
        study.target = None;
        if study.members.is_some() && targets.len() > 1 {
            study.members = Some(targets.len() as u32);
            study.target = Some(assay_study::study::Target::Devices(targets));
        } else if targets.len() > 1 {
            study.factors.insert(TARGET.to_owned(), targets);
        }
        Ok(study)
    }

    /// The targets: the factor's, the command line's, the study's own, or this directory.
    fn targets_of(&self, study: &Study) -> Vec<String> {
        let own = study.target.as_ref().map(assay_study::study::Target::word);
        match (study.factors.get(TARGET), self.targets().into_iter().next()) {
            (Some(targets), _) => targets.clone(),
            _ if matches!(study.target, Some(assay_study::study::Target::Devices(_))) => {
                own.into_iter().collect()
            }
            (None, Some(target)) => vec![target],
            (None, None) => vec![own.unwrap_or_else(|| ".".to_owned())],
        }
    }
}

/// The rule by which a study ends as soon as something is decided.
fn rule(when: &str, has_gate: bool) -> Outcome<StopRule> {
    match when {
        "decided" => Ok(StopRule::Decided),
        "gate" if has_gate => Ok(StopRule::Gate),
        "gate" => Err(Failure::mistake(
            "--until gate: this study has no gate; add --gate 5%, without --against",
        )),
        _ => Err(Failure::mistake(format!(
            "--until {when}: use --until decided, or --until gate with --gate"
        ))),
    }
}

/// Refuses a study that cannot be taken to a loop device.
fn in_lab(study: Study) -> Outcome<Study> {
    if revisions::are_in(&study) {
        return Err(Failure::mistake(
            "--scratch: revisions are built on a drive of this machine; leave it out",
        ));
    }
    if study.factors.contains_key(TARGET) {
        return Err(Failure::mistake("--scratch: this study names its own targets; leave it out"));
    }
    Ok(study)
}

/// `NAME=REST`.
fn assignment(option: &str, text: &str, example: &str) -> Outcome<(String, String)> {
    let parts = text.split_once('=').filter(|(name, rest)| !name.is_empty() && !rest.is_empty());
    let (name, rest) = parts.ok_or_else(|| {
        Failure::mistake(format!("{option} {text}: use the form {option} {example}"))
    })?;
    Ok((name.trim().to_owned(), rest.trim().to_owned()))
}

fn read<T: std::str::FromStr<Err: std::fmt::Display>>(option: &str, text: &str) -> Outcome<T> {
    text.parse().map_err(|error| Failure::mistake(format!("{option}: {error}")))
}

/// An area in which something can be measured.
pub fn area(text: &str) -> Outcome<Bytes> {
    let size: Bytes = read("--area", text)?;
    if size.0 < SMALLEST_AREA_BYTES {
        return Err(Failure::mistake(format!(
            "--area {text}: the smallest area is {}",
            Bytes(SMALLEST_AREA_BYTES)
        )));
    }
    Ok(size)
}

/// A budget that leaves something to measure in.
pub fn budget(text: &str) -> Outcome<Time> {
    let budget: Time = read("--budget", text)?;
    if budget < SMALLEST_BUDGET {
        return Err(Failure::mistake(format!(
            "--budget {text}: too short to measure; use at least 2 s"
        )));
    }
    Ok(budget)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use assay_base::quantity::Loss;
    use assay_system::system::Fake;

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
        let words = ["flash", "--scratch", "--claimed", "95MB/s", "--price", "12.50 GBP"];
        let card = study(&words).unwrap().card.unwrap();
        assert_eq!(card.rated.unwrap().rate(), Some(95e6));
        assert_eq!(card.price.unwrap().currency, "GBP");
        for words in [["flash", "--claimed", "fast"], ["flash", "--price", "12.50"]] {
            assert!(study(&words).unwrap_err().message.starts_with(words[1]));
        }
    }

    #[test]
    fn an_area_is_as_large_as_the_line_says() {
        let sized = study(&["queue-depth", "--area", "64MiB"]).unwrap();
        assert_eq!(sized.area.size, Some(Bytes(64 << 20)));
        assert_ne!(study(&["queue-depth"]).unwrap().area.size, sized.area.size);
        let told = study(&["queue-depth", "--area", "1KiB"]).unwrap_err().message;
        assert!(told.contains("the smallest area is"), "{told}");
        let told = study(&["--command", "true", "--area", "64MiB"]).unwrap_err().message;
        assert!(told.starts_with("--area: no workload of this study"), "{told}");
    }

    /// The user never sees the study that options made: the option is named as it was typed.
    #[test]
    fn an_option_that_makes_a_study_invalid_is_named_as_it_was_typed() {
        for (words, told) in [
            (vec!["queue-depth", "--set", "queue_depth=1,x"], "--set queue_depth=1,x: "),
            (vec!["queue-depth", "--set", "depht=1,2"], "--set depht=1,2: unknown factor"),
            (vec!["queue-depth", "--replicates", "0"], "--replicates 0: "),
            (vec!["queue-depth", "--primary", "speed"], "--primary speed: "),
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
        let words = ["assay", "run", "--partly", "--command", "true"].map(std::ffi::OsString::from);
        assert!(super::super::read(&words, 80).unwrap_err().to_string().contains("--partly"));
        assert!(study(&["queue-depth", "--partly"]).unwrap_err().message.contains("leave it out"));
    }

    #[test]
    fn a_gate_of_the_line_is_one_of_the_study_and_may_end_it() {
        let gated = study(&["queue-depth", "--gate", "5%"]).unwrap();
        let allowed = Loss::Share(Percent(5.0));
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
            (&["queue-depth", "--until", "now"], "--until now: use --until decided"),
            (&["--command", "true", "--gate", "5%"], "a gate compares configurations"),
            (&["queue-depth", "--gate", "5%", "--must-detect", "x"], "--must-detect: "),
            (
                &["queue-depth", "--gate", "5%", "--must-detect", "9%", "--until", "gate"],
                "--must-detect 9%: a study that ends by its gate",
            ),
        ] {
            let message = study(words).unwrap_err().message;
            assert!(message.starts_with(told), "{words:?}: {message}");
        }
    }

    #[test]
    fn a_metric_that_the_study_does_not_have_is_refused_with_those_it_has() {
        let of = |words: &[&str], metric: &str| {
            study(&[words, &["--gate", "5%", "--gate-metric", metric]].concat())
        };
        let two = ["--command", "true", "--command", "false"];
        let own = of(&two, "peak_memory_bytes").unwrap().gate.unwrap();
        assert_eq!(own.metric.as_deref(), Some("peak_memory_bytes"));
        assert!(of(&two, "energy_j").is_ok() && of(&["queue-depth"], "latency_p99_ns").is_ok());
        for (words, metric) in
            [(&two[..], "iops"), (&["queue-depth"], "peak_memory_bytes"), (&two, "x")]
        {
            let message = of(words, metric).unwrap_err().message;
            let told = format!("--gate-metric {metric}: no workload of this study has the metric");
            assert!(message.starts_with(&told) && message.contains("it has "), "{message}");
        }
        assert!(of(&two, "iops").unwrap_err().message.contains("peak_memory_bytes, "));
        // What programs tell of themselves is a metric, too; a format may tell anything by that name.
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
            let two = ["--command", "true", "--command", "false", "--gate-metric", metric];
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
            let gate = ["--gate", gate, "--gate-metric", metric];
            study(&[&two[..], &gate, more].concat())
        };
        let own = of("+10", "major_faults", &["--until", "gate"]).unwrap().gate.unwrap();
        assert_eq!(own.max_regression, Loss::Amount(10.0));
        assert!(of("5%", "minor_faults", &[]).is_ok());
        let sees = ["--must-detect", "9%"];
        for (gate, metric, more, told) in [
            ("+10", "major_faults", &sees[..], "--must-detect 9%: an absolute gate"),
            ("5%", "major_faults", &[], "--gate 5%: major_faults may be zero"),
            ("+10", "minor_faults", &[], "--gate +10: minor_faults is compared by ratios"),
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
