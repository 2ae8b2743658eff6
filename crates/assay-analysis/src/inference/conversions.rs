//! How long it took to encrypt a device with what lay on it, in one sentence.

use assay_core::quantity::units::show;
use assay_machine::factors::layers::CONVERSION;
use assay_machine::system::site::Site;
use assay_study::findings::Sentence;

use super::rows::WorkloadTrials;

const CRYPT: &str = "crypt";

/// A device that was encrypted with what lay on it.
pub(super) struct Conversion {
    bytes: u64,
    took_ns: u64,
}

pub(super) fn of_row(row: &WorkloadTrials<'_>) -> Vec<Conversion> {
    let (factor, level) = CONVERSION;
    let in_place = row.arm.get(factor).is_some_and(|own| own == level);
    let Some(bytes) = row.site.filter(|_| in_place).and_then(encrypted) else { return Vec::new() };
    let made = row.trials.iter().filter_map(|trial| trial.record.spent?.made_ns);
    made.map(|took_ns| Conversion { bytes, took_ns }).collect()
}

/// A sentence where devices of one size were.
pub(super) fn sentence(all: &[Conversion]) -> Option<Sentence> {
    let bytes = all.first()?.bytes;
    if all.iter().any(|one| one.bytes != bytes) {
        return None;
    }
    let mut took_ns: Vec<u64> = all.iter().map(|one| one.took_ns).collect();
    took_ns.sort_unstable();
    let (first, last) = (*took_ns.first()?, *took_ns.last()?);
    let middle = took_ns[took_ns.len() / 2];
    let times = match took_ns.len() {
        1 => "once".to_owned(),
        count => {
            let [first, last] = [first, last].map(|ns| show::duration(ns as f64));
            format!("median of {count} runs, {first} to {last}")
        }
    };
    let text = format!(
        "Encrypting {} in place took {} ({times}, including the layers above): {} on the otherwise idle device.",
        show::bytes(bytes),
        show::duration(middle as f64),
        show::rate(bytes as f64 / (middle as f64 / 1e9)),
    );
    Some(Sentence::finding("encryption", text))
}

fn encrypted(site: &Site) -> Option<u64> {
    let named = |name: &String| site.layers.iter().find(|layer| layer.name == *name);
    let volume = site.layers.iter().find(|layer| layer.kind == CRYPT)?;
    Some(volume.below.first().and_then(named)?.size_bytes)
}
