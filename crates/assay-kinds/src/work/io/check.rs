//! What must hold between the keys of `io`, and between them and the study.

use assay_base::quantity::Bytes;
use assay_base::quantity::units::show;

use super::parameters::MOST_SAMPLES;
use super::verify::SECTOR_BYTES;
use super::{Asked, Content, Mix, Pattern};
use crate::work::kind::{Complaints, InStudy};

/// Tells what does not hold.
pub(super) fn complain(io: &Asked, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    ramp(io, path, study, to);
    count(io, path, study, to);
    size(io, path, study, to);
    verify(io, path, study, to);
}

/// What is verified is written, in whole sectors of random bytes; what a factor brings about is looked at
/// level by level.
fn verify(io: &Asked, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let path = format!("{path}/verify");
    if !io.verify || to.is_wrong(&path) {
        return;
    }
    let levels =
        |name: &str, own: String| study.factors.get(name).cloned().unwrap_or_else(|| vec![own]);
    let writes = |level: &String| level.parse::<Mix>().is_ok_and(Mix::writes);
    if !levels("mix", io.mix.into()).iter().any(writes) {
        let hint = "leave verify out, or say mix = \"write\"".to_owned();
        to.value(&path, "verify: nothing is written".to_owned(), Some(hint));
        return;
    }
    let random = Content::Random.to_string();
    if let Some(other) =
        levels("content", io.content.to_string()).iter().find(|own| **own != random)
    {
        let message = format!("verify: what is verified has random content, and this is {other}");
        to.value(&path, message, Some("leave content out".to_owned()));
        return;
    }
    let is_cut = |level: &&String| {
        level.parse::<Bytes>().is_ok_and(|size| !size.0.is_multiple_of(SECTOR_BYTES))
    };
    if let Some(size) = levels("size", io.size.to_string()).iter().find(is_cut) {
        let message = format!(
            "verify: what is verified is written in whole sectors of {}, and an operation has {size}",
            Bytes(SECTOR_BYTES)
        );
        to.value(&path, message, None);
    }
}

/// A ramp belongs to a time of its own.
fn ramp(io: &Asked, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let told = ["time", "ramp"].iter().any(|key| to.is_wrong(&format!("{path}/{key}")));
    if io.ramp.is_some() && io.time.is_none() && study.has_budget && !told {
        let message = "a ramp without a time: the budget sets both".to_owned();
        let hint = "add time = \"10 s\", or leave ramp out".to_owned();
        to.key(&format!("{path}/ramp"), message, Some(hint));
    }
}

/// What goes with a number of operations, and what needs one.
fn count(io: &Asked, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let wrong = |key: &str| to.is_wrong(&format!("{path}/{key}"));
    let (told, unread) = (wrong("operations"), wrong("pattern"));
    if io.ramp.is_some() && io.operations.is_some() && !wrong("ramp") {
        let message = "a ramp with a number of operations: each of them counts".to_owned();
        to.key(&format!("{path}/ramp"), message, Some("leave ramp out".to_owned()));
    }
    if !told && !unread && goes_spread(io, study) {
        spread(io, path, to);
    }
}

/// Whether it has the pattern spread under some arm.
fn goes_spread(io: &Asked, study: &InStudy<'_>) -> bool {
    match study.factors.get("pattern") {
        Some(levels) => levels.iter().any(|level| level == Pattern::Spread.name()),
        None => io.pattern == Pattern::Spread,
    }
}

/// The pattern spread goes from one place to the next, and their number is known beforehand.
fn spread(io: &Asked, path: &str, to: &mut dyn Complaints) {
    let most = show::count(MOST_SAMPLES);
    match io.operations {
        None => {
            let message =
                "the pattern spread needs the number of places that it goes to".to_owned();
            let hint = format!("add operations = 100 (at most {most})");
            to.value(&format!("{path}/pattern"), message, Some(hint));
        }
        Some(count) if count > MOST_SAMPLES => {
            let message =
                format!("operations: the pattern spread takes at most {most}, each is kept");
            to.value(&format!("{path}/operations"), message, None);
        }
        Some(_) => {}
    }
    for (key, number) in [("depth", io.depth), ("threads", io.threads)] {
        let path = format!("{path}/{key}");
        if number != 1 && !to.is_wrong(&path) {
            let message =
                format!("{key}: the pattern spread goes from one place to the next, with 1");
            to.value(&path, message, Some(format!("leave {key} out")));
        }
    }
}

/// Operations that do not fit into the area.
fn size(io: &Asked, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let Some(area) = study.area else { return };
    let message =
        |size: Bytes| format!("an operation of {size} does not fit into an area of {area}");
    let levels = study.factors.get("size");
    for (index, level) in levels.into_iter().flatten().enumerate() {
        if let Some(size) = level.parse::<Bytes>().ok().filter(|size| *size > area) {
            to.value(&format!("factors/size/{index}"), message(size), None);
        }
    }
    if levels.is_none() && io.size > area {
        to.value(&format!("{path}/size"), message(io.size), None);
    }
}
