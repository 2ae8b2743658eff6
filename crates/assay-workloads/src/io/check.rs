//! Constraints between the keys of `io`, and with the study.

use assay_core::{quantity::Bytes, quantity::units::show};

use super::fits::{self, Unfit};
use super::parameters::MOST_SAMPLES;
use super::{Arrivals, IoSpec, Mix, Pattern, Size, operations, poll, verify, wait};
use crate::workload::{Complaints, DeclaredKeys as _, InStudy};

pub(super) fn complain(io: &IoSpec, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    check_ramp(io, path, study, to);
    check_count(io, path, study, to);
    check_size(io, path, study, to);
    check_pacing(io, path, study, to);
    wait::complain(io, path, study, to);
    poll::complain(io, path, study, to);
    fits::complain(io, path, study, to);
    operations::complain(io, path, study, to);
    check_verify(io, path, study, to);
}

/// Verified work needs whole sectors of random data, each block in one place.
fn check_verify(io: &IoSpec, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let path = format!("{path}/verify");
    if !io.verify || to.is_wrong(&path) {
        return;
    }
    let unvaried = vec![String::from(io.mix)];
    let mixes = study.factors.get("mix").unwrap_or(&unvaried);
    if !mixes.iter().any(|level| level.parse::<Mix>().is_ok_and(Mix::carries)) {
        let hint = "remove verify, or use mix = \"write\"".to_owned();
        to.value(&path, "verify: the workload writes nothing".to_owned(), Some(hint));
        return;
    }
    let is_varied = |name: &str| study.factors.contains_key(name);
    let unfit = verify::obstacle(io).filter(|unfit| !is_varied(unfit.key));
    // Planning checks align and stride if the block size varies.
    let is_checked_here =
        |unfit: &Unfit| !matches!(unfit.key, "align" | "stride") || !is_varied("block_size");
    if let Some(unfit) = unfit.or_else(|| unfit_level(io, study)).filter(is_checked_here) {
        to.value(&path, format!("verify: {}", unfit.message), unfit.hint.map(str::to_owned));
    }
}

/// The first level of any factor with which the work cannot be verified.
fn unfit_level(io: &IoSpec, study: &InStudy<'_>) -> Option<Unfit> {
    for factor in IoSpec::FACTORS {
        let name = factor.about.about.name;
        for level in study.factors.get(name).into_iter().flatten() {
            let mut at_level = io.clone();
            // Invalid levels are reported elsewhere.
            if (factor.set)(&mut at_level, level).is_ok()
                && let Some(unfit) = verify::obstacle(&at_level)
                && unfit.key == name
            {
                return Some(unfit);
            }
        }
    }
    None
}

/// A ramp needs a runtime if the study has a time budget.
fn check_ramp(io: &IoSpec, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let is_wrong = ["runtime", "ramp_time"].iter().any(|key| to.is_wrong(&format!("{path}/{key}")));
    if io.ramp_time.is_some() && io.runtime.is_none() && study.has_budget && !is_wrong {
        let message =
            "ramp_time requires runtime; without runtime, the time budget sets both".to_owned();
        let hint = "add runtime = \"10 s\", or remove ramp_time".to_owned();
        to.key(&format!("{path}/ramp_time"), message, Some(hint));
    }
}

/// A number of operations excludes a ramp; pattern spaced needs it.
fn check_count(io: &IoSpec, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let is_wrong = |key: &str| to.is_wrong(&format!("{path}/{key}"));
    let is_reported = is_wrong("operations") || is_wrong("pattern");
    if io.ramp_time.is_some() && io.operations.is_some() && !is_wrong("ramp_time") {
        let message = "ramp_time does not work with operations".to_owned();
        to.key(&format!("{path}/ramp_time"), message, Some("remove ramp_time".to_owned()));
    }
    if !is_reported && uses_spaced(io, study) {
        check_spaced(io, path, to);
    }
}

fn uses_spaced(io: &IoSpec, study: &InStudy<'_>) -> bool {
    match study.factors.get("pattern") {
        Some(levels) => levels.iter().any(|level| level == Pattern::Spaced.name()),
        None => io.pattern == Pattern::Spaced,
    }
}

/// Evenly spaced operations need a limited number, and run one at a time.
fn check_spaced(io: &IoSpec, path: &str, to: &mut dyn Complaints) {
    let most = show::count(MOST_SAMPLES);
    match io.operations {
        None => {
            let message = "pattern spaced requires operations".to_owned();
            let hint = format!("add operations = 100 (at most {most})");
            to.value(&format!("{path}/pattern"), message, Some(hint));
        }
        Some(count) if count > MOST_SAMPLES => {
            let message = format!(
                "operations: pattern spaced allows at most {most} operations, because Assay stores each operation"
            );
            to.value(&format!("{path}/operations"), message, None);
        }
        Some(_) => {}
    }
    for (key, number) in [("queue_depth", io.queue_depth), ("threads", io.threads)] {
        let path = format!("{path}/{key}");
        if number != 1 && !to.is_wrong(&path) {
            let message =
                format!("{key}: pattern spaced runs one operation at a time, so {key} must be 1");
            to.value(&path, message, Some(format!("remove {key}")));
        }
    }
}

/// An arrival rate determines the starts, so no other key may.
fn check_pacing(io: &IoSpec, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let is_varied = |key: &str| study.factors.contains_key(key);
    // Whether the study uses the key, and no mistake was reported for it yet.
    let has = |key: &str, is_set: bool| {
        (is_set || is_varied(key)) && !to.is_wrong(&format!("{path}/{key}"))
    };
    let has_rate_key = has("arrival_rate", io.arrival_rate.is_some());
    let has_rate = has_rate_key || study.finds_rate;
    let has_think_time = has("think_time", io.think_time.is_some());
    let has_process = has("arrival_process", io.arrival_process != Arrivals::Fixed);
    let mut refuse = |key: &str, message: &str, hint: &str| {
        let at = if is_varied(key) { format!("factors/{key}/0") } else { format!("{path}/{key}") };
        to.value(&at, message.to_owned(), Some(hint.to_owned()));
    };
    if has_rate && has_think_time {
        let message = "think_time does not work with arrival_rate, which sets the start times";
        refuse("think_time", message, "remove think_time or arrival_rate");
    }
    if has_rate && uses_spaced(io, study) {
        let message =
            "arrival_rate does not work with pattern spaced, which runs one operation at a time";
        let key = if has_rate_key { "arrival_rate" } else { "pattern" };
        refuse(key, message, "use pattern = \"random\"");
    }
    if has_process && !has_rate {
        let message = "arrival_process requires arrival_rate";
        refuse("arrival_process", message, "add arrival_rate = \"5000/s\"");
    }
    if let (Some(think), Some(time)) = (io.think_time, io.runtime)
        && think >= time
        && !to.is_wrong(&format!("{path}/think_time"))
    {
        let message = format!("think_time {think} must be shorter than runtime {time}");
        to.value(&format!("{path}/think_time"), message, None);
    }
}

/// Rejects blocks that are larger than the area.
fn check_size(io: &IoSpec, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let Some(area) = study.area else { return };
    let message = |size: Bytes| format!("block_size {size} is larger than the area of {area}");
    let levels = study.factors.get("block_size");
    for (index, level) in levels.into_iter().flatten().enumerate() {
        let largest = level.parse::<Size>().ok().map(|size| size.largest());
        if let Some(size) = largest.filter(|size| *size > area) {
            to.value(&format!("factors/block_size/{index}"), message(size), None);
        }
    }
    let largest = io.block_size.largest();
    if levels.is_none() && largest > area {
        to.value(&format!("{path}/block_size"), message(largest), None);
    }
}
