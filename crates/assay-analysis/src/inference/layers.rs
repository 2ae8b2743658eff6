//! Layers that a study creates: the time to encrypt a device in place, and the resync rates of arrays.

use assay_core::quantity::units::show;
use assay_machine::factors::layers::{self, CONVERSION};
use assay_machine::system::site::Site;
use assay_study::findings::{Findings, Measurement, Sentence, Trust};
use assay_study::results::plan::arm_in_words;

use super::metrics::{SYNC_RATE, SYNC_WHOLE};
use super::{distinct, rows::RowTrials};

const CRYPT: &str = "crypt";

pub(super) struct Conversion {
    bytes: u64,
    took_ns: u64,
}

/// Size and duration of each in-place encryption of a row; empty for rows without one.
pub(super) fn conversions(row: &RowTrials<'_>) -> Vec<Conversion> {
    let (factor, in_place) = CONVERSION;
    let site = row.site.filter(|_| row.arm.get(factor).is_some_and(|level| level == in_place));
    let Some(bytes) = site.and_then(encrypted_bytes) else { return Vec::new() };
    let times_ns = row.trials.iter().filter_map(|trial| trial.record.spent?.made_ns);
    times_ns.map(|took_ns| Conversion { bytes, took_ns }).collect()
}

/// How long in-place encryption took; `None` if nothing was encrypted, or devices of different sizes.
pub(super) fn encryption_sentence(all: &[Conversion]) -> Option<Sentence> {
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

fn encrypted_bytes(site: &Site) -> Option<u64> {
    let volume = site.layers.iter().find(|layer| layer.kind == CRYPT)?;
    let below = volume.below.first()?;
    Some(site.layers.iter().find(|layer| layer.name == *below)?.size_bytes)
}

const ARRAY: &str = "raid";

pub(super) fn resync_sentences(found: &Findings) -> Vec<Sentence> {
    let cells = || found.measurements.iter().filter(|one| one.metric == SYNC_RATE && is_sound(one));
    let mut sentences = Vec::new();
    for arm in distinct(cells().map(|cell| &cell.configuration)) {
        let of_arm = cells().filter(|cell| cell.configuration == *arm);
        let rates: Vec<String> = of_arm.filter_map(|cell| rate_words(cell, found)).collect();
        if rates.is_empty() {
            continue;
        }
        let is_of_array = |name: &String| name == ARRAY || layers::goes_with(name) == Some(ARRAY);
        let subject = match arm_in_words(arm.iter().filter(|(name, _)| is_of_array(name))) {
            levels if levels.is_empty() => "Each member".to_owned(),
            levels => format!("{levels}: each member"),
        };
        let text = format!("{subject} resyncs at {}.", rates.join(", "));
        sentences.push(Sentence::finding("resync", text));
    }
    sentences
}

fn is_sound(cell: &Measurement) -> bool {
    cell.trust.is_some_and(|trust| trust != Trust::Invalid)
}

/// `9.8 MB/s while "write" runs (total 2.1 min)`.
fn rate_words(cell: &Measurement, found: &Findings) -> Option<String> {
    let rate = show::mb_per_s(cell.value()?);
    let total_s =
        found.cell(&cell.workload, &cell.configuration, SYNC_WHOLE).and_then(Measurement::value);
    let total = total_s.map(|s| format!(" (total {})", show::duration(s * 1e9)));
    let (total, doubt) = (total.unwrap_or_default(), cell.trust.map_or("", Trust::doubt));
    Some(format!("{rate} MB/s while {:?} runs{total}{doubt}", cell.workload))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_core::presence::Presence;
    use assay_machine::probes::array_sync::Progress;

    use super::super::tests::Bench;
    #[test]
    fn rates_and_times_stand_beside_what_went_on() {
        let mut bench = Bench::new(&["."]);
        for (name, rate) in [("idle", 10), ("write", 2)] {
            bench = bench.row(0, name, 4096, &[1000; 3]).each(|trial| {
                let progress = Progress {
                    action: "resync".to_owned(),
                    before_bytes: 0,
                    after_bytes: rate * 1_000_000,
                    of_bytes: 200_000_000,
                    span_ns: 1_000_000_000,
                };
                let own = BTreeMap::from([("md127".to_owned(), progress)]);
                trial.evidence.array_sync = Presence::Present(own);
            });
        }
        bench.plan.design.margin = Some(0.05);
        let found = bench.findings();
        let own = found.summary.iter().filter(|sentence| sentence.topic == "resync");
        let told: Vec<&String> = own.map(|sentence| &sentence.text).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        let rest = "Each member resyncs at 10 MB/s while \"idle\" runs (total 20 s), 2 MB/s while \"write\" runs \
            (total 100 s).";
        assert!(told[0] == rest, "{told:?}");
    }
}
