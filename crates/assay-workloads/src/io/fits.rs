//! Checks that offsets and sizes fit: before a study per arm, and when a target is planned.

use assay_core::quantity::Bytes;

use super::{Apart, IoSpec, Mix, Pattern};
use crate::workload::{Complaints, DeclaredKeys as _, InStudy};

const CHECKED_KEYS: [&str; 7] =
    ["pattern", "mix", "block_size", "distribution", "align", "stride", "rw_split"];
/// Limit on checked arms, to bound the time of the check.
const MOST_ARMS: usize = 4096;

pub(super) struct Unfit {
    pub(super) key: &'static str,
    pub(super) message: String,
    pub(super) hint: Option<&'static str>,
}

pub(super) fn unfit(
    key: &'static str,
    message: impl Into<String>,
    hint: Option<&'static str>,
) -> Unfit {
    Unfit { key, message: message.into(), hint }
}

/// Returns the first key that does not fit the others, if any.
pub(super) fn obstacle(io: &IoSpec) -> Option<Unfit> {
    if io.pattern != Pattern::Random && !io.distribution.is_uniform() {
        let message = format!("distribution requires pattern random, not {}", io.pattern.name());
        let hint = "remove distribution, or use pattern = \"random\"";
        return Some(unfit("distribution", message, Some(hint)));
    }
    if io.pattern == Pattern::Spaced && io.block_size.one().is_none() {
        let message = "block_size: pattern spaced requires a single size";
        return Some(unfit("block_size", message, None));
    }
    if io.pattern == Pattern::Spaced && io.rw_split != Apart::None {
        let message = "rw_split does not work with pattern spaced";
        return Some(unfit("rw_split", message, Some("remove rw_split")));
    }
    if io.mix == Mix::Rewrite && io.block_size.is_by_direction() {
        let message = "block_size: a rewrite requires the same size for reads and writes";
        return Some(unfit("block_size", message, None));
    }
    if io.mix == Mix::Rewrite && io.rw_split != Apart::None {
        let message = "rw_split does not work with mix rewrite";
        return Some(unfit("rw_split", message, Some("remove rw_split")));
    }
    stride_obstacle(io)
}

fn stride_obstacle(io: &IoSpec) -> Option<Unfit> {
    if io.pattern != Pattern::Stride {
        return None;
    }
    let Some(stride) = io.stride else {
        let message = "pattern stride requires stride";
        return Some(unfit("pattern", message, Some("add stride = \"1 MiB\"")));
    };
    if stride >= io.block_size.largest() {
        return None;
    }
    let message = format!("stride {stride} is smaller than block_size {}", io.block_size);
    Some(unfit("stride", message, None))
}

/// Why a stride exceeds the range of a thread, or the alignment leaves one offset.
pub(super) fn oversized_step(io: &IoSpec, area_bytes: u64) -> Option<String> {
    if let Some(align) = io.aligned().filter(|align| align.0 > area_bytes) {
        let area = Bytes(area_bytes);
        return Some(format!("align {align} leaves only one offset in an area of {area}"));
    }
    let stride = io.strides()?;
    let part_bytes = area_bytes / u64::from(io.threads).max(1);
    (stride.0 > part_bytes)
        .then(|| format!("stride {stride} exceeds the area of {} per thread", Bytes(part_bytes)))
}

/// An arm, and the indices of its levels by factor.
type Arm<'a> = (IoSpec, Vec<(&'a str, usize)>);

/// The work under each combination of levels of the checked keys. Invalid levels are reported elsewhere.
fn arms_to_check<'a>(io: &IoSpec, study: &'a InStudy<'_>) -> Vec<Arm<'a>> {
    let mut arms: Vec<Arm<'a>> = vec![(io.clone(), Vec::new())];
    let is_checked = |name: &&str| CHECKED_KEYS.contains(name);
    for name in study.factors.keys().map(String::as_str).filter(is_checked) {
        let factor = IoSpec::FACTORS.iter().find(|factor| factor.about.about.name == name);
        let (Some(factor), Some(levels)) = (factor, study.factors.get(name)) else { continue };
        let mut next = Vec::new();
        for (arm, indices) in &arms {
            for (index, level) in levels.iter().enumerate() {
                let mut arm = arm.clone();
                if (factor.set)(&mut arm, level).is_ok() {
                    let indices = indices.iter().copied().chain([(name, index)]).collect();
                    next.push((arm, indices));
                }
            }
        }
        next.truncate(MOST_ARMS);
        arms = next;
    }
    arms
}

/// Reports each conflict once, at the level or key that causes it, and keys without effect in all arms.
pub(super) fn complain(io: &IoSpec, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let is_wrong = |key: &&str| to.is_wrong(&format!("{path}/{key}"));
    if CHECKED_KEYS.iter().any(is_wrong) {
        return;
    }
    let arms = arms_to_check(io, study);
    for (arm, indices) in &arms {
        let Some(Unfit { key, message, hint }) = obstacle(arm) else { continue };
        let path = match indices.iter().find(|(name, _)| *name == key) {
            Some((name, index)) => format!("factors/{name}/{index}"),
            None => format!("{path}/{key}"),
        };
        if !to.is_wrong(&path) {
            to.value(&path, message, hint.map(str::to_owned));
        }
    }
    let mut report_unused = |key: &str, message: &str| {
        to.key(&format!("{path}/{key}"), message.to_owned(), Some(format!("remove {key}")));
    };
    if io.stride.is_some() && arms.iter().all(|(arm, _)| arm.pattern != Pattern::Stride) {
        report_unused("stride", "stride requires pattern stride");
    }
    if io.align.is_some() && arms.iter().all(|(arm, _)| arm.pattern != Pattern::Random) {
        report_unused("align", "align requires random offsets");
    }
    let is_mixed = |(arm, _): &Arm<'_>| arm.mix.reads() && arm.mix.writes();
    if io.rw_split != Apart::None && !arms.iter().any(is_mixed) {
        report_unused("rw_split", "rw_split requires a mix of reads and writes");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::io::told::Told;

    fn told(
        change: impl FnOnce(&mut IoSpec),
        factors: &[(&str, &[&str])],
    ) -> Vec<(String, String)> {
        let mut io = IoSpec::default();
        change(&mut io);
        let level = |text: &&str| (*text).to_owned();
        let factors: BTreeMap<String, Vec<String>> = factors
            .iter()
            .map(|(name, levels)| ((*name).to_owned(), levels.iter().map(level).collect()))
            .collect();
        let mut told = Told::default();
        complain(&io, "io", &InStudy::new(&factors), &mut told);
        told.0
    }

    fn zipf(io: &mut IoSpec) {
        io.distribution = "zipf:1.2".parse().unwrap();
    }

    #[test]
    fn what_fits_is_not_told() {
        assert!(told(|_| {}, &[]).is_empty());
        assert!(told(zipf, &[("queue_depth", &["1", "8"])]).is_empty());
        let stride = |io: &mut IoSpec| {
            (io.pattern, io.stride) = (Pattern::Stride, Some(Bytes(65_536)));
            io.block_size = "4KiB/50:64KiB/50".parse().unwrap();
        };
        assert!(told(stride, &[]).is_empty());
        assert!(told(stride, &[("pattern", &["sequential", "stride"])]).is_empty());
        let apart = |io: &mut IoSpec| io.rw_split = Apart::Halves;
        assert!(told(apart, &[("mix", &["read", "70/30"])]).is_empty());
        let rewrites = |io: &mut IoSpec| {
            (io.mix, io.block_size) = (Mix::Rewrite, "4KiB/50:64KiB/50".parse().unwrap());
        };
        assert!(told(rewrites, &[]).is_empty());
        assert!(told(|_| {}, &[("distribution", &["uniform", "zipf:1"])]).is_empty());
    }

    #[test]
    fn what_does_not_fit_is_told_where_it_stands() {
        let one = |change: fn(&mut IoSpec), factors: &[(&str, &[&str])], path: &str, text: &str| {
            let told = told(change, factors);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].0 == path && told[0].1.contains(text), "{told:?}");
        };
        one(zipf, &[("pattern", &["random", "sequential"])], "io/distribution", "not sequential");
        let sequential: fn(&mut IoSpec) = |io| io.pattern = Pattern::Sequential;
        one(
            sequential,
            &[("distribution", &["uniform", "pareto:0.2"])],
            "factors/distribution/1",
            "requires pattern random",
        );
        one(|io| io.pattern = Pattern::Stride, &[], "io/pattern", "requires stride");
        one(
            |io| io.stride = Some(Bytes(1 << 20)),
            &[],
            "io/stride",
            "stride requires pattern stride",
        );
        one(|io| io.rw_split = Apart::Halves, &[], "io/rw_split", "requires a mix");
        let aligned: fn(&mut IoSpec) = |io| {
            (io.pattern, io.align) = (Pattern::Sequential, Some(Bytes(8192)));
        };
        one(aligned, &[], "io/align", "requires random offsets");
        let rewrite: fn(&mut IoSpec) = |io| (io.mix, io.rw_split) = (Mix::Rewrite, Apart::Halves);
        one(rewrite, &[], "io/rw_split", "mix rewrite");
        let stride: fn(&mut IoSpec) = |io| {
            (io.pattern, io.stride) = (Pattern::Stride, Some(Bytes(512)));
        };
        one(stride, &[], "io/stride", "512 B is smaller");
        let spread: fn(&mut IoSpec) = |io| {
            (io.pattern, io.operations) = (Pattern::Spaced, Some(10));
        };
        one(
            spread,
            &[("block_size", &["4 KiB", "4KiB/50:8KiB/50"])],
            "factors/block_size/1",
            "single size",
        );
        let halves: fn(&mut IoSpec) = |io| {
            (io.pattern, io.operations) = (Pattern::Spaced, Some(10));
            (io.mix, io.rw_split) = (Mix::Shares { read_percent: 50 }, Apart::Halves);
        };
        one(halves, &[], "io/rw_split", "pattern spaced");
        let directions: fn(&mut IoSpec) = |io| {
            (io.mix, io.block_size) = (Mix::Rewrite, "read 4 KiB; write 8 KiB".parse().unwrap());
        };
        one(directions, &[], "io/block_size", "same size");
    }

    #[test]
    fn a_stride_fits_into_the_area_of_a_thread() {
        let io = IoSpec {
            pattern: Pattern::Stride,
            stride: Some(Bytes(1 << 20)),
            threads: 4,
            ..IoSpec::default()
        };
        assert!(oversized_step(&io, 4 << 20).is_none());
        let told = oversized_step(&io, 3 << 20).unwrap();
        assert!(told.contains("exceeds the area of 768 KiB"), "{told}");
        assert!(oversized_step(&IoSpec { pattern: Pattern::Sequential, ..io }, 1).is_none());
        let aligned = IoSpec { align: Some(Bytes(1 << 20)), ..IoSpec::default() };
        assert!(oversized_step(&aligned, 1 << 20).is_none());
        assert!(oversized_step(&aligned, 1 << 19).unwrap().contains("in an area of 512 KiB"));
    }
}
