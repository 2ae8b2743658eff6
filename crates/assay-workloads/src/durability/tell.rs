//! Sentences on a row: the verdict with its bound, the method, and the shortest counterexample.

use assay_core::catalogue::About;
use assay_core::exhibit::figure::{Axis, AxisScale, Figure, NamedValues, grouped_bars};
use assay_core::exhibit::{
    Cell, Column, Exhibit, Levels, Row, Sentence, Subject, Table, Tone, Unit,
};
use assay_core::{quantity::Bytes, quantity::units::show};
use serde::{Deserialize, Serialize};

use crate::durability::asked::DurabilityPlan;
use crate::durability::below::On;
use crate::durability::bound::{loss_share_bound, percent_rounded_up};
use crate::durability::cut::Survivors;
use crate::durability::drive::Drive;
use crate::durability::grade::Method;
use crate::durability::judge::{CutOutcome, Found};
use crate::durability::pattern::Pattern;
use crate::durability::sync::Sync;
use crate::durability::tally::{Counterexample, CutTally};
use crate::durability::trial::{DurabilityDetail, WriteLoss};
use crate::tell::OfRow;

use super::counted;

/// Totals over the trials of a row, with all crash points as one sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DurabilityFacts {
    pub workload: String,
    pub configuration: Levels,
    pub method: Method,
    /// The storage written to.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub write_to: On,
    /// Mount options of the file system in the machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mount_options: String,
    #[serde(rename = "writer")]
    pub pattern: Pattern,
    pub sync: Sync,
    pub record_bytes: u64,
    pub assumed_drive: Drive,
    pub atomic_write_unit_bytes: u64,
    pub trials: u64,
    /// Totals over all crash points.
    #[serde(flatten)]
    pub tally: CutTally,
    /// Upper bound on the share of crash points with a loss, one-sided 95%; `None` without acknowledged writes or crash
    /// points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_share_bound95: Option<f64>,
    /// The verdict.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterexample_text: Option<String>,
    /// What the method proves, and what it does not.
    pub method_text: String,
}

impl DurabilityFacts {
    /// Judges the trials of a row, including losses without a power loss.
    pub fn judge(
        subject: &Subject,
        planned: &DurabilityPlan,
        trials: &[&DurabilityDetail],
        left_out: &[&DurabilityDetail],
    ) -> Option<Self> {
        let mut tally = CutTally::sum(trials.iter().map(|trial| &trial.tally));
        let missing = left_out.iter().find_map(|trial| trial.tally.lost_without_crash.clone());
        tally.lost_without_crash = tally.lost_without_crash.or(missing);
        if trials.is_empty() && tally.lost_without_crash.is_none() {
            return None;
        }
        let mut facts = Self {
            workload: subject.workload.clone(),
            configuration: subject.arm.clone(),
            method: planned.method,
            write_to: planned.write_to,
            mount_options: planned.mounted.clone(),
            pattern: planned.pattern,
            sync: planned.sync,
            record_bytes: planned.record_bytes,
            assumed_drive: planned.assumed_drive,
            atomic_write_unit_bytes: planned.assumed_atomic_bytes,
            trials: trials.len() as u64,
            lost_share_bound95: loss_share_bound(tally.lost, tally.crash_points)
                .filter(|_| tally.acknowledged_writes > 0),
            text: String::new(),
            counterexample_text: None,
            method_text: method_words(planned, tally.read_again[0], tally.read_again[1]),
            tally,
        };
        facts.text = facts.verdict();
        let loss = facts.tally.lost_without_crash.as_ref().or(facts.tally.counterexample.as_ref());
        facts.counterexample_text = loss.map(loss_words);
        Some(facts)
    }

    /// Rank among the sentences: losses first, then rows with acknowledged writes.
    fn rank(&self) -> u8 {
        if self.tally.has_lost() {
            return 0;
        }
        if self.lost_share_bound95.is_some() { 1 } else { 2 }
    }

    /// Describes in sentences how many crash points lost acknowledged writes, with an upper bound.
    fn verdict(&self) -> String {
        let cuts = show::count(self.tally.crash_points);
        if self.tally.lost_without_crash.is_some() {
            return "The target lacks an acknowledged write although no crash occurred.".to_owned();
        }
        if self.tally.crash_points == 0 {
            return "The study has no crash points and therefore no result.".to_owned();
        }
        let Some(bound) = self.lost_share_bound95 else {
            return format!(
                "No write was acknowledged, so no acknowledged write could be lost; the data was intact \
                 after {} of {cuts} {}.",
                show::count(self.intact_cuts()),
                match self.method {
                    Method::Replay => "replayed crash points",
                    Method::Kill | Method::Plug => "power cuts",
                }
            );
        };
        let bound = percent_rounded_up(bound);
        let how = self.describe_method();
        let scope = if self.method == Method::Plug { THIS_MACHINE } else { NOT_YOURS };
        if self.tally.lost == 0 {
            return format!(
                "{how}, 0 of {cuts} crash points lost an acknowledged write (95% upper bound: \
                 {bound}). {scope}"
            );
        }
        let lost = show::count(self.tally.lost);
        format!(
            "{how}, {lost} of {cuts} crash points lost an acknowledged write (95% upper bound: \
             {bound}){}. {scope}",
            self.found_words()
        )
    }

    fn describe_method(&self) -> String {
        let drive = self.assumed_drive.assumed(self.atomic_write_unit_bytes);
        let on = self.write_to.words(&self.mount_options, self.pattern.has_directory());
        match (self.method, self.write_to) {
            (Method::Replay, On::Target) => format!("Replayed on {drive}"),
            (Method::Replay, _) => format!("Written to {on} and replayed on {drive}"),
            (Method::Kill, _) => format!("Written to {on} with a power cut on {drive}"),
            (Method::Plug, _) => "Written to the target of a machine that lost power".to_owned(),
        }
    }

    /// Number of crash points after which all writes existed, even those in progress.
    fn intact_cuts(&self) -> u64 {
        let count = |outcome| self.tally.outcomes.get(&outcome).copied().unwrap_or_default();
        count(CutOutcome::Quiet) + count(CutOutcome::AllThere)
    }

    /// Continues the verdict with what the drive had instead of the lost writes.
    fn found_words(&self) -> String {
        if self.pattern == Pattern::Command {
            return String::new();
        }
        let mut parts = Vec::new();
        for (found, count) in &self.tally.found {
            let writes = counted(*count, "acknowledged write");
            parts.push(format!("{} instead of {writes}", Found::words(*found)));
        }
        format!("; data found per crash point: {}", parts.join(", "))
    }

    fn row(&self, setting: Option<String>) -> Row {
        let (words, tone) = if self.tally.has_lost() {
            ("loses", Tone::Bad)
        } else if self.lost_share_bound95.is_some() {
            ("none lost", Tone::Good)
        } else if self.tally.acknowledged_writes > 0 {
            ("no crash points", Tone::Plain)
        } else {
            ("none acknowledged", Tone::Plain)
        };
        let cells = [
            Cell::toned(words, tone),
            self.tally.crash_points.into(),
            self.tally.lost.into(),
            // Text, because a bound is rounded up.
            self.lost_share_bound95.map(percent_rounded_up).into(),
            self.tally.acknowledged_writes.into(),
            self.method_and_drive().into(),
        ];
        Row::about(self.subject(), setting.map(Cell::from).into_iter().chain(cells))
    }

    fn method_and_drive(&self) -> String {
        let (method, drive) = (self.method.name(), self.assumed_drive.name());
        if self.method == Method::Plug {
            return format!("{method}, the real drive");
        }
        match self.write_to {
            On::Target => format!("{method}, {drive}"),
            on => format!("{method} below {}, {drive}", on.name()),
        }
    }

    fn sentence(&self, text: &str) -> Sentence {
        Sentence { about: self.subject(), text: text.to_owned() }
    }
}

impl OfRow for DurabilityFacts {
    /// Why the command fails: an acknowledged item was missing.
    fn failure(&self) -> Option<String> {
        if !self.tally.has_lost() {
            return None;
        }
        let levels: Vec<String> =
            self.configuration.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
        let row_name = name_row(&self.workload, &levels.join(", "));
        let is_real = self.tally.lost_without_crash.is_some() || self.method == Method::Plug;
        let on = if is_real { "the target" } else { "an assumed drive" };
        Some(format!("an acknowledged write was lost on {on}, in {row_name}: {}", self.text))
    }
}

fn name_row(workload: &str, setting: &str) -> String {
    if setting.is_empty() || setting == workload {
        return workload.to_owned();
    }
    format!("{workload} ({setting})")
}

const THIS_MACHINE: &str =
    "This result applies only to this machine, its drive and power cuts of this kind.";
const NOT_YOURS: &str = "The real drive was not tested.";

/// Sentences on each row, losses first, then on the methods. Rows of one target share identical sentences.
fn sentences(all: &[&DurabilityFacts], name: &dyn Fn(&Subject) -> String) -> Vec<Sentence> {
    let mut rows = all.to_vec();
    rows.sort_by_key(|facts| facts.rank());
    // Each sentence with the names of its rows.
    let mut shared: Vec<(Vec<String>, Sentence)> = Vec::new();
    for facts in rows {
        let row = name_row(&facts.workload, &name(&facts.subject()));
        let reached = facts.tally.reached.words(facts.write_to);
        let texts = [Some(facts.text.clone()), facts.counterexample_text.clone(), reached];
        for text in texts.into_iter().flatten() {
            let target = facts.configuration.get("target");
            let is_same =
                |known: &Sentence| known.text == text && known.about.arm.get("target") == target;
            match shared.iter_mut().find(|(_, known)| is_same(known)) {
                Some((names, _)) => names.push(row.clone()),
                None => shared.push((vec![row.clone()], facts.sentence(&text))),
            }
        }
    }
    let mut sentences = Vec::new();
    for (names, mut sentence) in shared {
        match names.as_slice() {
            _ if all.len() == 1 => {}
            [name] => sentence.text = format!("{name}: {}", sentence.text),
            names => sentence.text = format!("{}, each: {}", names.join(", "), sentence.text),
        }
        sentences.push(sentence);
    }
    let mut methods: Vec<&str> = Vec::new();
    for facts in all {
        if !methods.contains(&facts.method_text.as_str()) {
            methods.push(&facts.method_text);
            sentences.push(facts.sentence(&facts.method_text));
        }
    }
    sentences
}

/// What the method proves; `read` and `wrong` are the sectors of the target that were read again and that differ.
fn method_words(planned: &DurabilityPlan, read: u64, wrong: u64) -> String {
    if planned.is_plug() {
        return PLUG.to_owned();
    }
    if planned.is_in_machine() {
        return in_machine_words(planned);
    }
    let target = match wrong {
        0 => String::new(),
        wrong => format!(
            " Without a crash, {} of {} sectors of the target differ from the log.",
            show::count(wrong),
            show::count(read)
        ),
    };
    format!(
        "Method replay: Assay logs the program's writes and syncs and replays crash points of the \
         log on {}. This tests the order of writes and syncs, not the real drive.{target}",
        planned.assumed_drive.assumed(planned.assumed_atomic_bytes)
    )
}

/// What a plug test proves. A reset without a power loss looks the same.
const PLUG: &str = "Method plug: a second machine recorded the acknowledged writes until this machine \
                    lost power. Assay cannot verify that the power was cut and the machine was not \
                    merely reset. This tests the kernel, the filesystem and the drive together.";

fn in_machine_words(planned: &DurabilityPlan) -> String {
    let drive = planned.assumed_drive.assumed(planned.assumed_atomic_bytes);
    let below = if planned.write_to.has_files() {
        format!("a kernel and its {}", planned.write_to.name())
    } else {
        "a kernel".to_owned()
    };
    match planned.method {
        Method::Replay | Method::Plug => format!(
            "Method replay in a virtual machine: Assay logs the requests to the drive below {below} and \
             replays crash points on {drive}. This tests the requests that the guest issues, not a real drive."
        ),
        Method::Kill => format!(
            "Method kill: the virtual machine lost power while {below} wrote to {drive}, and the next \
             virtual machine read the data. This tests the guest with an assumed drive, not a real drive."
        ),
    }
}

fn loss_words(loss: &Counterexample) -> String {
    match loss {
        Counterexample::Place(loss) => write_loss_words(loss),
        Counterexample::File(loss) => loss.words(),
        Counterexample::Command(loss) => loss.words(),
    }
}

fn write_loss_words(loss: &WriteLoss) -> String {
    let begin = format!(
        "Shortest counterexample: write {} ({} at byte {}) is step {} and was acknowledged in step {}",
        show::count(loss.write),
        Bytes(loss.bytes),
        show::count(loss.at_bytes),
        show::count(loss.written_step),
        show::count(loss.acknowledged_step)
    );
    let cut = match (loss.crash_step.map(show::count), loss.survivors) {
        (None, _) => "no crash occurred".to_owned(),
        (Some(step), Some((kind, survived, cached))) => {
            format!("the crash follows step {step}, {}", survivors_words(kind, survived, cached))
        }
        // A plug test does not know which writes survived.
        (Some(step), None) => {
            format!("the crash follows step {step}, the last recorded acknowledgment")
        }
    };
    let older = loss.older.map_or_else(String::new, |older| format!(" ({})", show::count(older)));
    format!("{begin}; {cut}; the drive has {}{older}.", loss.found.words())
}

fn survivors_words(kind: Survivors, survived: u32, cached: u32) -> String {
    if cached == 0 {
        return "with an empty cache".to_owned();
    }
    let kind = match kind {
        Survivors::Nothing => "none",
        Survivors::Everything => "all",
        Survivors::Prefix => "the first",
        Survivors::Random => "some",
        Survivors::AllButOne => "all but one",
        Survivors::Newest => "the newest",
    };
    format!(
        "with {} in the cache, of which {} survived ({kind})",
        counted(u64::from(cached), "write"),
        show::count(u64::from(survived))
    )
}

const LEGEND: &str = "Lost: crash points after which a write was missing although its sync had returned. \
                      At most: exact one-sided 95% upper bound of the share of such crash points, rounded \
                      up, with all trials of a row as one sample.";
const DRIVE_LEGEND: &str = "The bound applies only to the row, these logs and this assumed drive, not to another run, \
                            a real drive or real power cuts.";
const PLUG_LEGEND: &str = "The bound applies only to the row and this machine. A person cuts the power, so the timing \
                           is not random.";
const MOMENTS: [(Method, &str); 3] = [
    (
        Method::Replay,
        "Each step of the log after the first acknowledgment is equally likely to be a crash point",
    ),
    (
        Method::Kill,
        "Each power cut follows a random round and zero to twelve further requests, of which the \
         last may be unanswered",
    ),
    (Method::Plug, "With method plug, a person cuts the power"),
];
const SURVIVES: &str = "with equal probability, the surviving cache content is none, all, the first \
                        writes, a random subset, all but one write, or only the newest write.";
const UNPROMISED: &str = "Unacknowledged writes may be in any state.";

/// Explains the columns of the table, for the methods in its rows.
fn legend(all: &[&DurabilityFacts]) -> String {
    let is_used = |method: Method| all.iter().any(|row| row.method == method);
    let moments = MOMENTS.into_iter().filter(|(method, _)| is_used(*method));
    let moments = moments.map(|(_, moment)| moment).collect::<Vec<_>>().join(". ");
    if all.iter().all(|row| row.method == Method::Plug) {
        return format!("{LEGEND} {PLUG_LEGEND} {moments}. {UNPROMISED}");
    }
    format!("{LEGEND} {DRIVE_LEGEND} {moments}; {SURVIVES} {UNPROMISED}")
}

pub const FIGURE: About = About {
    name: "crash-points",
    summary: "outcomes of the crash points per configuration",
    text: "Number of crash points by state of the data afterwards: all pending writes present, some, \
           none, torn, or an acknowledged write lost. Only a lost acknowledged write is a failure.",
};

/// Exhibit of all rows; `name` is the name of a row in sentences.
pub fn exhibit(all: &[&DurabilityFacts], name: &dyn Fn(&Subject) -> String) -> Exhibit {
    let has_settings = all.iter().any(|facts| name(&facts.subject()) != facts.workload);
    let columns = [
        Column::verdict("verdict"),
        Column::new("crash points", Unit::Count),
        Column::new("lost", Unit::Count),
        Column::new("at most", Unit::Share),
        Column::new("acknowledged", Unit::Count),
        Column::left("method, assumed drive"),
    ];
    let setting = has_settings.then(|| Column::left("setting"));
    let row = |facts: &&DurabilityFacts| facts.row(has_settings.then(|| name(&facts.subject())));
    let table = Table {
        title: title(all).to_owned(),
        columns: setting.into_iter().chain(columns).collect(),
        rows: all.iter().map(row).collect(),
        notes: vec![legend(all)],
    };
    Exhibit {
        tables: vec![table],
        figures: figures(all, name),
        sentences: sentences(all, name),
        leads: true,
        ..Exhibit::default()
    }
}

const CUTS: &str = "crash points";

fn title(all: &[&DurabilityFacts]) -> &'static str {
    let has = |method| all.iter().any(|row| row.method == method);
    if has(Method::Plug) {
        return "power cuts of this machine";
    }
    if !has(Method::Kill) {
        return "power cuts replayed on an assumed drive";
    }
    if has(Method::Replay) {
        return "power cuts on an assumed drive";
    }
    "power cuts of virtual machines with an assumed drive"
}

/// Crash points by outcome, one figure per workload. Workloads with a loss come first, as in the sentences.
fn figures(all: &[&DurabilityFacts], name: &dyn Fn(&Subject) -> String) -> Vec<Figure> {
    let mut by_rank = all.to_vec();
    by_rank.sort_by_key(|row| row.rank());
    let mut workloads: Vec<&str> = Vec::new();
    for row in by_rank {
        if !workloads.contains(&row.workload.as_str()) {
            workloads.push(&row.workload);
        }
    }
    let mut figures = Vec::new();
    for workload in workloads {
        let rows: Vec<&DurabilityFacts> =
            all.iter().copied().filter(|row| row.workload == workload).collect();
        figures.extend(figure(workload, &rows, name));
    }
    figures
}

/// Draws how many crash points of each row had which outcome, without outcomes that no row has.
fn figure(
    workload: &str,
    rows: &[&DurabilityFacts],
    name: &dyn Fn(&Subject) -> String,
) -> Option<Figure> {
    let count = |row: &DurabilityFacts, outcome: &CutOutcome| {
        row.tally.outcomes.get(outcome).copied().unwrap_or_default()
    };
    let is_seen = |outcome: &CutOutcome| rows.iter().any(|row| count(row, outcome) > 0);
    let outcomes: Vec<CutOutcome> = CutOutcome::ALL.into_iter().filter(is_seen).collect();
    let names: Vec<String> = outcomes.iter().map(|outcome| outcome.words().to_owned()).collect();
    let group = |row: &&DurabilityFacts| NamedValues {
        name: name(&row.subject()),
        values: outcomes.iter().map(|outcome| count(row, outcome) as f64).collect(),
    };
    let groups: Vec<NamedValues> = rows.iter().map(group).collect();
    let value = Axis::new(CUTS, AxisScale::Linear, Unit::Number).from_zero();
    Some(grouped_bars("outcome", &names, value, &groups)?.of_workload(
        FIGURE.name,
        workload,
        &format!("outcomes of {CUTS}"),
        "Outcomes of crash points; a lost acknowledged write fails.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::asked::DurabilitySpec;

    fn detail(cuts: u64, lost: u64, promises: u64) -> DurabilityDetail {
        let kept = cuts - lost;
        let outcomes = [(CutOutcome::Quiet, kept), (CutOutcome::Lost, lost)];
        let tally = CutTally {
            crash_points: cuts,
            lost,
            acknowledged_writes: promises,
            outcomes: outcomes.into_iter().filter(|(_, count)| *count > 0).collect(),
            read_again: [80, 0],
            ..CutTally::default()
        };
        DurabilityDetail { tally, ..DurabilityDetail::default() }
    }

    fn facts(trials: &[DurabilityDetail]) -> Option<DurabilityFacts> {
        let subject = Subject { workload: "log".to_owned(), arm: Levels::new() };
        let planned = DurabilitySpec::default().planned(1 << 30).unwrap();
        DurabilityFacts::judge(&subject, &planned, &trials.iter().collect::<Vec<_>>(), &[])
    }

    #[test]
    fn cuts_of_all_trials_are_one_sample_with_one_bound() {
        let own = facts(&[detail(30, 0, 5), detail(30, 0, 7)]).unwrap();
        assert_eq!(
            own.text,
            "Replayed on an assumed drive that keeps flushed data and writes 4 KiB atomically, 0 \
             of 60 crash points lost an acknowledged write (95% upper bound: 4.88%). The real \
             drive was not tested."
        );
        assert_eq!(
            (own.failure(), own.tally.acknowledged_writes, own.counterexample_text.clone()),
            (None, 12, None)
        );
        assert!(own.method_text.contains("not the real drive"));
        assert!(facts(&[]).is_none());
    }

    #[test]
    fn one_loss_is_a_failure_with_its_story() {
        let story = WriteLoss {
            write: 17,
            at_bytes: 65_536,
            bytes: 4096,
            written_step: 40,
            acknowledged_step: 42,
            crash_step: Some(43),
            survivors: Some((Survivors::AllButOne, 1, 2)),
            found: Found::Older,
            older: Some(12),
        };
        let mut own = detail(60, 1, 20);
        (own.tally.counterexample, own.tally.found) =
            (Some(Counterexample::Place(Box::new(story))), [(Found::Older, 1)].into());
        let own = facts(&[own, detail(0, 0, 0)]).unwrap();
        assert_eq!(
            own.text,
            "Replayed on an assumed drive that keeps flushed data and writes 4 KiB atomically, 1 of 60 \
             crash points lost an acknowledged write (95% upper bound: 7.67%); data found per crash \
             point: an older write instead of 1 acknowledged write. The real drive was not tested."
        );
        assert_eq!(
            own.counterexample_text.as_deref(),
            Some(
                "Shortest counterexample: write 17 (4 KiB at byte 65,536) is step 40 and was \
                 acknowledged in step 42; the crash follows step 43, with 2 writes in the cache, \
                 of which 1 survived (all but one); the drive has an older write (12)."
            )
        );
        let failed = own.failure().unwrap();
        let begin =
            "an acknowledged write was lost on an assumed drive, in log: Replayed on an assumed";
        assert!(failed.starts_with(begin), "{failed}");
    }

    /// A warm-up counts in no number, but its losses without a power loss count.
    #[test]
    fn what_is_missing_without_a_cut_is_told_of_trials_that_are_left_out_too() {
        let subject = Subject { workload: "log".to_owned(), arm: Levels::new() };
        let planned = DurabilitySpec::default().planned(1 << 30).unwrap();
        let mut warm_up = detail(30, 2, 5);
        let of = |counted: &[&DurabilityDetail], left_out: &DurabilityDetail| {
            DurabilityFacts::judge(&subject, &planned, counted, &[left_out])
        };
        let counted = detail(60, 0, 5);
        let own = of(&[&counted], &warm_up).unwrap();
        assert_eq!(
            (own.failure(), own.tally.crash_points, own.tally.lost),
            (None, 60, 0),
            "no number of it"
        );
        assert!(of(&[], &warm_up).is_none());
        let missing = WriteLoss {
            write: 3,
            at_bytes: 8192,
            bytes: 4096,
            written_step: 4,
            acknowledged_step: 6,
            crash_step: None,
            survivors: None,
            found: Found::Nothing,
            older: None,
        };
        warm_up.tally.lost_without_crash = Some(Counterexample::Place(Box::new(missing)));
        for counted in [&[&counted][..], &[]] {
            let own = of(counted, &warm_up).unwrap();
            let failed = own.failure().unwrap();
            assert!(failed.starts_with("an acknowledged write was lost on the target, in log"));
            assert!(own.counterexample_text.unwrap().contains("no crash occurred"), "{failed}");
        }
    }

    #[test]
    fn where_nothing_was_promised_there_is_neither_a_bound_nor_an_accusation() {
        let own = facts(&[detail(60, 0, 0)]).unwrap();
        assert!(own.text.starts_with("No write was acknowledged"), "{}", own.text);
        assert_eq!((own.lost_share_bound95, own.failure()), (None, None));
        let uncut = facts(&[detail(0, 0, 3)]).unwrap();
        assert!(uncut.text.starts_with("The study has no crash point"), "{}", uncut.text);
        let words = |own: &DurabilityFacts| own.row(None).cells[0].text(Unit::Words);
        assert_eq!([words(&own), words(&uncut)], ["none acknowledged", "no crash points"]);
    }

    #[test]
    fn rows_that_lost_are_told_first_and_those_that_promised_nothing_last() {
        let of = |own: DurabilityDetail, setting: &str| DurabilityFacts {
            configuration: [("sync".to_owned(), setting.to_owned())].into(),
            ..facts(&[own]).unwrap()
        };
        let all = [
            of(detail(60, 0, 0), "none"),
            of(detail(60, 0, 5), "fdatasync"),
            of(detail(60, 1, 5), "o_dsync"),
            of(detail(60, 0, 5), "fsync"),
        ];
        let shown = exhibit(&all.iter().collect::<Vec<_>>(), &|of| of.arm["sync"].clone());
        let told: Vec<&str> = shown.sentences.iter().map(|own| own.text.as_str()).collect();
        let first = ["log (o_dsync): ", "log (fdatasync), log (fsync), each: ", "log (none): "];
        for (text, rows) in told.iter().zip(first) {
            assert!(text.starts_with(rows), "{told:?}");
        }
        assert!(told.len() == 4 && told[3].starts_with("Method replay"), "{told:?}");
    }

    #[test]
    fn what_is_shown_has_the_bound_and_how_cuts_ended() {
        let (one, other) =
            (facts(&[detail(60, 0, 5)]).unwrap(), facts(&[detail(60, 2, 5)]).unwrap());
        let shown = exhibit(&[&one, &other], &|of| of.workload.clone());
        let [table] = &shown.tables[..] else { panic!("{shown:?}") };
        assert_eq!(table.rows.len(), 2);
        let text = |row: usize, at: usize| table.rows[row].cells[at].text(table.columns[at].unit);
        assert_eq!(text(0, 3), "4.88%", "a bound is rounded up");
        assert_eq!([text(0, 0), text(1, 0)], ["none lost", "loses"]);
        let said: Vec<&str> = shown.sentences.iter().map(|own| own.text.as_str()).collect();
        let [first, last] = [&one, &other].map(|own| format!("log: {}", own.text));
        assert_eq!(
            said,
            [&last, &first, &one.method_text],
            "a loss first, and what it proves once"
        );
        let apart = DurabilityFacts { workload: "other".to_owned(), ..one.clone() };
        let shown = exhibit(&[&one, &apart, &other], &|of| of.workload.clone());
        let drawn: Vec<&str> = shown.figures.iter().map(|own| own.id.as_str()).collect();
        assert_eq!(
            drawn,
            ["crash-points-log", "crash-points-other"],
            "a figure a workload, in whatever order rows come"
        );
        let alone = exhibit(&[&one], &|_| "sync none".to_owned());
        assert_eq!(alone.sentences[0].text, one.text, "of one row nobody asks which it is");
        assert_eq!(alone.tables[0].columns[0].title, "setting");
        assert_eq!(alone.tables[0].rows[0].cells.len(), alone.tables[0].columns.len());
        let several = exhibit(&[&one, &other], &|_| "sync none".to_owned());
        assert!(several.sentences[1].text.starts_with("log (sync none): Replayed"));
        let [figure, _] = &shown.figures[..] else { panic!("{:?}", shown.figures) };
        let AxisScale::Category(names) = &figure.along.scale else { panic!("{figure:?}") };
        let names: Vec<&str> = names.iter().map(|slot| slot.name.as_str()).collect();
        assert_eq!(names, ["no pending write", "acknowledged write lost"]);
        let bars = |series: usize| -> Vec<[f64; 2]> {
            let points = &figure.series[series].points;
            points.iter().map(|point| [point.at, point.value]).collect()
        };
        assert_eq!([bars(0), bars(1)], [vec![[0.0, 60.0]], vec![[0.0, 58.0], [1.0, 2.0]]]);
    }

    #[test]
    fn a_plug_says_something_of_the_drive_that_is_there_and_no_more_than_is_known() {
        let asked = DurabilitySpec {
            method: Method::Plug,
            peer: Some("192.168.1.2:7710".to_owned()),
            ..DurabilitySpec::default()
        };
        let subject = Subject { workload: "log".to_owned(), arm: Levels::new() };
        let planned = asked.planned(1 << 30).unwrap();
        let of = |own: &DurabilityDetail| {
            DurabilityFacts::judge(&subject, &planned, &[own], &[]).unwrap()
        };
        let own = of(&detail(3, 0, 900));
        assert_eq!(
            own.text,
            "Written to the target of a machine that lost power, 0 of 3 crash points lost an acknowledged write (95% \
             upper bound: 63.2%). This result applies only to this machine, its drive and power cuts of this kind."
        );
        assert!(own.method_text.contains("Assay cannot verify") && own.failure().is_none());
        let story = WriteLoss {
            write: 7,
            at_bytes: 4096,
            bytes: 4096,
            written_step: 12,
            acknowledged_step: 14,
            crash_step: Some(20),
            survivors: None,
            found: Found::Nothing,
            older: None,
        };
        let mut lost = detail(3, 1, 900);
        lost.tally.counterexample = Some(Counterexample::Place(Box::new(story)));
        let lost = of(&lost);
        let told = lost.counterexample_text.clone().unwrap();
        assert!(told.contains("the crash follows step 20, the last recorded"), "{told}");
        assert!(
            lost.failure().unwrap().starts_with("an acknowledged write was lost on the target")
        );
        let shown = exhibit(&[&own, &lost], &|of| of.workload.clone());
        assert_eq!(shown.tables[0].title, "power cuts of this machine");
        assert!(!shown.tables[0].notes[0].contains("assumed") && !lost.text.contains("real drive"));
        let none = of(&detail(3, 0, 0));
        assert!(none.text.starts_with("No write was acknowledged") && none.failure().is_none());
    }

    #[test]
    fn facts_are_read_as_they_are_written() {
        let own = facts(&[detail(60, 2, 5)]).unwrap();
        let text = serde_json::to_string(&own).unwrap();
        assert_eq!(serde_json::from_str::<DurabilityFacts>(&text).unwrap(), own);
    }
}
