//! How long it took to encrypt a device with what lay on it, in one sentence.

use assay_base::quantity::units::show;
use assay_machine::factors::layers::CONVERSION;
use assay_study::findings::said::{Said, Sentence};
use assay_system::system::site::Site;

use super::rows::Row;

/// Kind of the device that dm-crypt gives.
const CRYPT: &str = "crypt";

/// A device that was encrypted with what lay on it.
pub(super) struct Conversion {
    bytes: u64,
    took_ns: u64,
}

/// Those that were made for the trials of a row.
pub(super) fn of_row(row: &Row<'_>) -> Vec<Conversion> {
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
            format!("median of {count} times, {first} to {last}")
        }
    };
    let text = format!(
        "Encrypting {} in place took {} ({times}, with the layers above it): {} of the device while nothing else used \
         it.",
        show::bytes(bytes),
        show::duration(middle as f64),
        show::rate(bytes as f64 / (middle as f64 / 1e9)),
    );
    Some(Sentence::new(Said::Converted, text))
}

/// Bytes of the device that was encrypted.
fn encrypted(site: &Site) -> Option<u64> {
    let named = |name: &String| site.layers.iter().find(|layer| layer.name == *name);
    let volume = site.layers.iter().find(|layer| layer.kind == CRYPT)?;
    Some(volume.below.first().and_then(named)?.size_bytes)
}

#[cfg(test)]
mod tests {
    use assay_study::results::plan::Arm;
    use assay_study::results::record::Spent;
    use assay_system::system::DeviceNumber;
    use assay_system::system::site::Layer;

    use super::super::tests::Bench;
    use super::*;

    fn told(made: &[Option<u64>]) -> Vec<String> {
        let mut bench = Bench::new(&["."]).row(0, "read", 4096, &vec![1000; made.len()]);
        let layer = |name: &str, kind: &str, below: &[&str]| Layer {
            name: name.to_owned(),
            number: DeviceNumber { major: 7, minor: 0 },
            kind: kind.to_owned(),
            below: below.iter().map(|name| (*name).to_owned()).collect(),
            size_bytes: 320 << 20,
        };
        let layers = [layer("dm-0", CRYPT, &["loop0"]), layer("loop0", "loop", &[])];
        bench.environment.sites[0].layers = layers.into();
        bench.plan.workloads[0].arm =
            Arm::from([(CONVERSION.0.to_owned(), CONVERSION.1.to_owned())]);
        for (trial, made_ns) in bench.trials.iter_mut().zip(made) {
            trial.record.spent = Some(Spent { made_ns: *made_ns, ..Spent::default() });
        }
        bench.plan.design.margin = Some(0.05);
        let found = bench.findings();
        let own = found.sentences().filter(|(said, _)| **said == Said::Converted);
        own.map(|(_, text)| text.clone()).collect()
    }

    #[test]
    fn time_and_rate_stand_in_one_sentence() {
        let seconds = |n: u64| Some(n * 1_000_000_000);
        assert_eq!(
            told(&[seconds(4), None, seconds(2), seconds(3)]),
            [
                "Encrypting 320 MiB in place took 3 s (median of 3 times, 2 s to 4 s, with the layers above it): 107 \
              MiB/s of the device while nothing else used it."
            ]
        );
        assert!(told(&[seconds(2)])[0].contains("took 2 s (once; making"));
        assert!(told(&[None]).is_empty());
    }
}
