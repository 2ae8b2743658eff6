//! What must hold between the keys of a study. Every key has been read by itself before.

use std::collections::BTreeMap;

use super::fields::{IO, Kind, LARGEST_OPERATION, MOST_SAMPLES, TARGET_FACTOR};
use super::file::mistakes::{Mistakes, Places};
use super::file::reader;
use super::file::scalar::quoted;
use super::{
    Content, DEFAULT_REPLICATES, Engine, Io, Mix, Order, Pattern, Stop, StopRule, Study, WriteSync,
    parameters, simulated, words,
};
use crate::factors::{self, Role};
use crate::quantity::{Bytes, units::show};

/// Arms of a study at most: more cannot be run in any useful time.
const MOST_ARMS: usize = 1000;

/// Judges a study; levels of baseline and arms become the factors' own words for them.
pub fn check(study: &mut Study, places: &Places, mistakes: &mut Mistakes) {
    let mut checker = Checker { places, mistakes };
    checker.stop(&study.stop, study.replicates);
    checker.order(study);
    checker.ramps(study);
    checker.counts(study);
    checker.workloads(study);
    checker.factors(study);
    let factors = study.factors.clone();
    checker.arm(&mut study.baseline, "baseline", &factors);
    for (index, arm) in study.arms.iter_mut().enumerate().take(MOST_ARMS) {
        checker.arm(arm, &format!("arms/{index}"), &factors);
    }
    checker.arms(study);
    checker.costly(study);
    checker.grounds(study);
    checker.sizes(study);
    super::claims::check(study, places, mistakes);
}

/// Some parameters, to try levels on.
pub fn any_io() -> Io {
    Io {
        pattern: Pattern::Random,
        mix: Mix::READS,
        size: Bytes(4096),
        depth: 1,
        threads: 1,
        direct: true,
        content: Content::Random,
        sync: WriteSync::None,
        engine: Engine::Auto,
        time: None,
        ramp: None,
        operations: None,
    }
}

struct Checker<'a> {
    places: &'a Places,
    mistakes: &'a mut Mistakes,
}

impl Checker<'_> {
    /// A mistake in a value.
    fn value(&mut self, path: &str, message: impl Into<String>, hint: Option<String>) {
        self.mistakes.add(path, self.places.of(path).value, message, hint);
    }

    /// A mistake that a key stands for.
    fn key(&mut self, path: &str, message: impl Into<String>, hint: Option<String>) {
        self.mistakes.add(path, self.places.of(path).key, message, hint);
    }

    fn stop(&mut self, stop: &Stop, replicates: u32) {
        let looks = stop.rule == StopRule::Looks;
        if self.mistakes.is_wrong("stop/rule") {
            return;
        }
        if looks && stop.looks.is_empty() {
            let hint = "add for example: looks = [6, 12, 24]".to_owned();
            self.key("stop", "the rule looks needs the replicates to look after", Some(hint));
        }
        let last = stop.looks.last().copied();
        if looks && replicates != DEFAULT_REPLICATES && last.is_some_and(|last| last != replicates)
        {
            let hint = "leave replicates out: the last look says how many there are".to_owned();
            self.key("replicates", "replicates and looks disagree", Some(hint));
        }
        if !looks && !stop.looks.is_empty() {
            let hint = "add rule = \"looks\", or leave looks out".to_owned();
            self.key("stop/looks", "looks are for the rule looks only", Some(hint));
        }
        if stop.rule == StopRule::Fixed && stop.half_width.is_some() {
            let message = "a study of fixed length does not end by a half-width";
            let hint = "add rule = \"open\" or \"looks\", or leave half_width out".to_owned();
            self.key("stop/half_width", message, Some(hint));
        }
        for (index, pair) in stop.looks.windows(2).enumerate() {
            let (before, after) =
                (format!("stop/looks/{index}"), format!("stop/looks/{}", index + 1));
            if pair[1] <= pair[0] && !self.mistakes.is_wrong(&before) {
                let message = format!("looks go up: {} does not come after {}", pair[1], pair[0]);
                self.value(&after, message, None);
            }
        }
    }

    /// A study can end early only where one replicate ends before the next begins.
    fn order(&mut self, study: &Study) {
        let mixed = matches!(study.order, Order::Crd | Order::Sequential);
        if mixed && study.stop.rule != StopRule::Fixed && !self.mistakes.is_wrong("order") {
            let message = format!(
                "a study in {} order cannot end early: its replicates overlap",
                study.order.name()
            );
            let hint = "write order = \"random\" or \"chained\", or leave stop out".to_owned();
            self.value("order", message, Some(hint));
        }
    }

    /// A ramp belongs to a time of its own.
    fn ramps(&mut self, study: &Study) {
        for (index, workload) in study.workload.iter().enumerate() {
            let io = &workload.io;
            let path = format!("workload/{index}/io");
            let told =
                ["time", "ramp"].iter().any(|key| self.mistakes.is_wrong(&format!("{path}/{key}")));
            if io.ramp.is_some() && io.time.is_none() && study.budget.is_some() && !told {
                let message = "a ramp without a time: the budget sets both";
                let hint = "add time = \"10 s\", or leave ramp out".to_owned();
                self.key(&format!("{path}/ramp"), message, Some(hint));
            }
        }
    }

    /// What goes with a number of operations, and what needs one.
    fn counts(&mut self, study: &Study) {
        for (index, workload) in study.workload.iter().enumerate() {
            let path = format!("workload/{index}/io");
            let wrong = |key: &str| self.mistakes.is_wrong(&format!("{path}/{key}"));
            let (told, unread) = (wrong("operations"), wrong("pattern"));
            if workload.io.ramp.is_some() && workload.io.operations.is_some() && !wrong("ramp") {
                let message = "a ramp with a number of operations: each of them counts";
                self.key(&format!("{path}/ramp"), message, Some("leave ramp out".to_owned()));
            }
            if !told && !unread && goes_spread(study, &workload.io) {
                self.spread(&workload.io, &path);
            }
        }
    }

    /// The pattern spread goes from one place to the next, and their number is known beforehand.
    fn spread(&mut self, io: &Io, path: &str) {
        let most = show::count(MOST_SAMPLES);
        match io.operations {
            None => {
                let message = "the pattern spread needs the number of places that it goes to";
                let hint = format!("add operations = 100 (at most {most})");
                self.value(&format!("{path}/pattern"), message, Some(hint));
            }
            Some(count) if count > MOST_SAMPLES => {
                let message =
                    format!("operations: the pattern spread takes at most {most}, each is kept");
                self.value(&format!("{path}/operations"), message, None);
            }
            Some(_) => {}
        }
        for (key, number) in [("depth", io.depth), ("threads", io.threads)] {
            let path = format!("{path}/{key}");
            if number != 1 && !self.mistakes.is_wrong(&path) {
                let message =
                    format!("{key}: the pattern spread goes from one place to the next, with 1");
                self.value(&path, message, Some(format!("leave {key} out")));
            }
        }
    }

    fn workloads(&mut self, study: &Study) {
        if study.workload.is_empty() {
            let hint = "add a table [[workload]] with name and io".to_owned();
            self.key("workload", "there is no workload", Some(hint));
        }
        let mut seen = BTreeMap::new();
        for (index, workload) in study.workload.iter().enumerate() {
            let path = format!("workload/{index}/name");
            if self.mistakes.is_wrong(&path) {
                continue;
            }
            if let Some(first) = seen.insert(workload.name.as_str(), index + 1) {
                let message = format!("workload {first} is called \"{}\" already", workload.name);
                self.value(&path, message, Some("give each workload a name of its own".to_owned()));
            }
        }
    }

    fn factors(&mut self, study: &Study) {
        for (name, levels) in &study.factors {
            let path = format!("factors/{name}");
            if let Some(hint) = reader::unknown_factor(name) {
                self.key(&path, format!("there is no factor \"{name}\""), Some(hint));
            } else if levels.is_empty() {
                let hint = format!("write for example: {name} = {}", reader::example(name));
                self.value(&path, format!("{name} has no level"), Some(hint));
            } else if levels.len() > MOST_ARMS {
                let (count, most) =
                    (show::count(levels.len() as u64), show::count(MOST_ARMS as u64));
                self.key(&path, format!("{name} has {count} levels: the most is {most}"), None);
            } else {
                self.levels(&path, name, levels);
            }
        }
        if study.target.is_some() && study.factors.contains_key(TARGET_FACTOR) {
            let hint = "leave one of the two out".to_owned();
            let message = "target is set for the whole study and is a factor too";
            self.key(&format!("factors/{TARGET_FACTOR}"), message, Some(hint));
        }
    }

    fn levels(&mut self, path: &str, name: &str, levels: &[String]) {
        for (index, level) in levels.iter().enumerate() {
            let path = format!("{path}/{index}");
            if let Err((message, hint)) = judged(name, level) {
                self.value(&path, message, hint);
            } else if let Some(first) = levels[..index].iter().find(|one| same(name, one, level)) {
                let message = if first == level {
                    format!("{name} has the level \"{level}\" twice")
                } else {
                    format!("{name}: \"{level}\" is the same as \"{first}\"")
                };
                self.value(&path, message, None);
            }
        }
    }

    /// The levels of one arm, or of the baseline.
    fn arm(
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
                self.key(
                    &path,
                    format!("{name} is no factor of this study"),
                    Some(no_factor(name, factors)),
                );
                continue;
            };
            let own = levels.iter().find(|own| same(name, own, level));
            if let Some(own) = own {
                own.clone_into(level);
            } else if !self.any_wrong_level(name, levels) {
                let known: Vec<&str> = levels.iter().map(String::as_str).collect();
                let message = format!("{name} has no level \"{level}\"");
                self.value(&path, message, Some(format!("its levels are {}", known.join(", "))));
            }
        }
    }

    /// Whether a factor or a level of it is told to be wrong: what is compared with it may be right.
    fn any_wrong_level(&self, name: &str, levels: &[String]) -> bool {
        let path = format!("factors/{name}");
        let wrong = |index| self.mistakes.is_wrong(&format!("{path}/{index}"));
        self.mistakes.is_wrong(&path) || (0..levels.len()).any(wrong)
    }

    fn arms(&mut self, study: &Study) {
        if study.arms.is_empty() {
            return self.grid(study);
        }
        if study.arms.len() > MOST_ARMS {
            let message = format!(
                "there are {} arms: the most is {}",
                show::count(study.arms.len() as u64),
                show::count(MOST_ARMS as u64)
            );
            return self.key("arms", message, None);
        }
        if self.mistakes.is_wrong("factors") {
            return;
        }
        for (index, arm) in study.arms.iter().enumerate() {
            let path = format!("arms/{index}");
            let lacks = |name: &&String| {
                let told = self.mistakes.is_wrong(&format!("{path}/{name}"));
                !arm.contains_key(*name) && !told
            };
            let lacking: Vec<&str> =
                study.factors.keys().filter(lacks).map(String::as_str).collect();
            if !lacking.is_empty() {
                let hint = "an arm names one level of every factor".to_owned();
                self.key(&path, format!("this arm lacks {}", lacking.join(" and ")), Some(hint));
            } else if let Some(first) = study.arms[..index].iter().position(|one| one == arm) {
                self.key(&path, format!("this arm is the same as arm {}", first + 1), None);
            }
        }
    }

    fn grid(&mut self, study: &Study) {
        let lengths: Vec<usize> = study.factors.values().map(Vec::len).collect();
        let arms = lengths.iter().fold(1_usize, |all, levels| all.saturating_mul(*levels));
        if arms > MOST_ARMS {
            let product: Vec<String> = lengths.iter().map(ToString::to_string).collect();
            let message = format!(
                "the levels make {} arms ({}): the most is {}",
                show::count(arms as u64),
                product.join(" x "),
                show::count(MOST_ARMS as u64)
            );
            let hint = "leave levels out, or list the arms that matter: [[arms]]".to_owned();
            self.key("factors", message, Some(hint));
        }
    }

    fn costly(&mut self, study: &Study) {
        if self.mistakes.is_wrong("factors") {
            return;
        }
        for (index, name) in study.costly.iter().enumerate() {
            let path = format!("costly/{index}");
            if !study.factors.contains_key(name) {
                let message = format!("\"{name}\" is no factor of this study");
                self.value(&path, message, Some(no_factor(name, &study.factors)));
            } else if study.costly[..index].contains(name) {
                self.value(&path, format!("costly names \"{name}\" twice"), None);
            }
        }
    }

    /// What belongs to a file system of the tool's own.
    fn grounds(&mut self, study: &Study) {
        let kinds = study.factors.get(FILE_SYSTEM).map(Vec::len);
        let others = study.factors.keys().filter(|name| *name != FILE_SYSTEM);
        for name in others.filter(|name| is_ground(name)) {
            if kinds.is_none() && !self.mistakes.is_wrong(&format!("factors/{name}")) {
                let message = format!("{name} is for a file system that the study makes");
                let hint = format!("add {FILE_SYSTEM} = [\"ext4\"] below [factors]");
                self.key(&format!("factors/{name}"), message, Some(hint));
            }
        }
        let several =
            study.factors.iter().any(|(name, levels)| is_ground(name) && levels.len() > 1);
        if study.fresh == super::Fresh::Study && several && !self.mistakes.is_wrong("fresh") {
            let message =
                "one device holds one file system at a time: several cannot each be made once";
            let hint = "leave fresh out: each is then made anew in every replicate".to_owned();
            self.value("fresh", message, Some(hint));
        }
    }

    /// Operations that do not fit into the area.
    fn sizes(&mut self, study: &Study) {
        let Some(area) = study.area.size.filter(|_| !self.mistakes.is_wrong("area/size")) else {
            return;
        };
        let message =
            |size: Bytes| format!("an operation of {size} does not fit into an area of {area}");
        for (index, level) in study.factors.get("size").into_iter().flatten().enumerate() {
            if let Some(size) = level.parse::<Bytes>().ok().filter(|size| *size > area) {
                self.value(&format!("factors/size/{index}"), message(size), None);
            }
        }
        for (index, workload) in study.workload.iter().enumerate() {
            let beside = workload.beside.as_ref().map(|io| io.size.0 * u64::from(io.threads));
            if let Some(needed) = beside.filter(|needed| *needed > area.0 / 2) {
                let path = format!("workload/{index}/beside/size");
                let message = format!(
                    "operations of {} do not fit into half of an area of {area}",
                    Bytes(needed)
                );
                self.value(&path, message, None);
            }
            if workload.io.size > area && !study.factors.contains_key("size") {
                let path = format!("workload/{index}/io/size");
                self.value(&path, message(workload.io.size), None);
            }
        }
    }
}

/// Name of the factor that all others of its kind go with.
const FILE_SYSTEM: &str = "filesystem";

fn is_ground(name: &str) -> bool {
    factors::has_role(name, Role::Ground)
}

/// Whether a workload has the pattern spread under some arm.
fn goes_spread(study: &Study, io: &Io) -> bool {
    match study.factors.get("pattern") {
        Some(levels) => levels.iter().any(|level| level == Pattern::Spread.name()),
        None => io.pattern == Pattern::Spread,
    }
}

/// What to write instead of a name that is no factor of the study.
fn no_factor(name: &str, factors: &BTreeMap<String, Vec<String>>) -> String {
    let known: Vec<&str> = factors.keys().map(String::as_str).collect();
    words::did_you_mean(name, &known).unwrap_or_else(|| {
        if reader::unknown_factor(name).is_none() {
            format!("add it below [factors]: {name} = {}", reader::example(name))
        } else if known.is_empty() {
            "this study has no factors: add them below [factors]".to_owned()
        } else {
            format!("its factors are {}", known.join(", "))
        }
    })
}

/// Whether a factor takes a level; else what is wrong and what to write.
fn judged(name: &str, level: &str) -> Result<(), (String, Option<String>)> {
    if level.trim().is_empty() {
        return Err((format!("{name}: this level is empty"), None));
    }
    if let Some(levels) = reader::range(level).filter(|_| is_number(name)) {
        let hint = format!("list the levels: {name} = [{levels}]");
        return Err((format!("{name}: \"{level}\" is a range, not a level"), Some(hint)));
    }
    if let Some(law) = level.strip_prefix(simulated::PREFIX).filter(|_| name == TARGET_FACTOR) {
        return reader::law_mistake(law).map_or(Ok(()), |message| Err((message, None)));
    }
    let Some(parameter) = parameters::find(name) else {
        let other = factors::find(name).map_or(Ok(()), |factor| factor.judge(level));
        return other.map_err(|message| (format!("{name}: {}", quoted(&message)), None));
    };
    let mut io = any_io();
    if let Err(message) = (parameter.set)(&mut io, level) {
        let bytes = level.parse::<u64>().ok().filter(|bytes| name == "size" && *bytes >= 512);
        return Err(match bytes {
            Some(bytes) => (
                format!("size: \"{level}\" has no unit"),
                Some(format!("if bytes are meant, write \"{}\"", Bytes(bytes))),
            ),
            None => (format!("{name}: {}", quoted(&message)), near(name, level)),
        });
    }
    if io.size.0 == 0 || io.size > LARGEST_OPERATION {
        let message = format!("size is 1 B to {LARGEST_OPERATION}, not {level}");
        return Err((message, None));
    }
    Ok(())
}

/// The word that was meant, where levels are words.
fn near(name: &str, level: &str) -> Option<String> {
    match IO.find(name)?.kind {
        Kind::Word(choices) => words::did_you_mean(level, &choices()),
        _ => None,
    }
}

fn is_number(name: &str) -> bool {
    matches!(name, "depth" | "threads" | "size")
}

/// Whether two texts are one level of a factor.
fn same(name: &str, one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let bytes = |text: &str| {
        let bare = || format!("{text} B").parse::<Bytes>();
        text.parse().or_else(|_| bare()).ok()
    };
    match parameters::find(name) {
        // The levels of `copy` are words that mean nothing.
        Some(parameter) if name != "copy" => {
            let set = |text: &str| {
                let mut io = any_io();
                (parameter.set)(&mut io, text).ok().map(|()| io)
            };
            let sizes = (name == "size").then(|| bytes(one).zip(bytes(other))).flatten();
            sizes.is_some_and(|(one, other)| one == other)
                || set(one).is_some_and(|io| set(other) == Some(io))
        }
        _ => factors::find(name).is_some_and(|factor| factor.same(one, other)),
    }
}
