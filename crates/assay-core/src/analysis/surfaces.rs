//! Rates over the area: what evenly spaced operations say of each tenth of it.

use assay_stats::geometric_mean;

use super::cells::summarised;
use super::rows::{Measured, Row};
use super::series::cell_trial;
use crate::findings::{Band, CellTrial, Surface};
use crate::quantity::units::show;
use crate::results::plan::{Area, Plan};
use crate::work::io::{self, sample_offset};

/// Parts of an area.
const BANDS: u64 = 10;

/// The surface of a row that has one; the second copy of the baseline is left to the noise floor.
pub(super) fn of_row(plan: &Plan, row: &Row<'_>) -> Option<Surface> {
    if row.workload.control || row.trials.is_empty() {
        return None;
    }
    let area = plan.surveys.get(row.workload.target)?.area;
    surface(&row.workload.own_part(&area), row)
}

/// None for another pattern, whose offsets the plan does not tell.
fn surface(area: &Area, row: &Row<'_>) -> Option<Surface> {
    let io = io::Planned::of(&row.workload.work)?;
    sample_offset(io, area, 0)?;
    Some(Surface {
        workload: row.workload.name.clone(),
        arm: row.arm.clone(),
        trust: row.trust,
        bands: (0..BANDS).map(|band| one(io, area, row, band)).collect(),
        note: cut_short(row),
    })
}

/// Trials whose time was over before their last place.
fn cut_short(row: &Row<'_>) -> Option<String> {
    let places = row.workload.work.operations()?;
    let reached = |trial: &Measured<'_>| {
        counted(trial).map(|counted| counted.sample_latencies_ns.len() as u64)
    };
    let reached: Vec<u64> = row.counting().filter_map(reached).collect();
    let (cut, fewest) = (reached.iter().filter(|one| **one < places).count(), reached.iter().min());
    fewest.filter(|_| cut > 0).map(|fewest| {
        format!(
            "the time of {} ended {cut} of {} trials early, after {} of {} places at the \
             earliest: a longer time shows the rest",
            show::duration(row.workload.time_ns as f64),
            reached.len(),
            show::count(*fewest),
            show::count(places)
        )
    })
}

fn one(io: &io::Planned, area: &Area, row: &Row<'_>, band: u64) -> Band {
    let rate = |trial: &Measured<'_>| rate(io, area, trial, band);
    let trials: Vec<CellTrial> =
        row.trials.iter().map(|trial| cell_trial(trial, rate(trial))).collect();
    let values = summarised(&trials);
    let share = |band: u64| (band * 100 / BANDS) as u32;
    Band {
        from_percent: share(band),
        to_percent: share(band + 1),
        n: values.len(),
        bandwidth_bytes_per_s: geometric_mean(&values).map(|centre| centre.mean),
        min: values.iter().copied().reduce(f64::min),
        max: values.iter().copied().reduce(f64::max),
    }
}

/// Bytes per second of service time of one trial in one band; none where it has no sample there.
fn rate(io: &io::Planned, area: &Area, trial: &Measured<'_>, band: u64) -> Option<f64> {
    let counted = counted(trial)?;
    let own = (0..).zip(&counted.sample_latencies_ns).filter(|(index, _)| {
        sample_offset(io, area, *index).is_some_and(|at| band_of(area, at) == band)
    });
    let (samples, ns) = own.fold((0, 0_u64), |(count, sum), (_, ns)| (count + 1, sum + ns));
    let bytes = samples * u64::from(io.size_bytes);
    (ns > 0).then(|| bytes as f64 / (ns as f64 / 1e9))
}

fn counted<'a>(trial: &'a Measured<'_>) -> Option<&'a io::Detail> {
    io::Detail::of(trial.record.measured.as_ref()?)
}

/// The band that an offset begins in.
fn band_of(area: &Area, offset: u64) -> u64 {
    let within = u128::from(offset - area.start) * u128::from(BANDS);
    (within / u128::from(area.length.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::super::tests::Bench;
    use crate::findings::{Surface, Trust};
    use crate::truth::testing;
    use crate::work::io::Pattern;

    const PLACES: u64 = 100;

    /// Three trials of 100 reads of 1 MiB; the last tenth of the area is half as fast.
    fn bench() -> Bench {
        let mut bench = Bench::new(&["/mnt/card"])
            .row(0, "surface-read-q1", 1 << 20, &[100, 100, 100])
            .each(|trial| {
                let slow = |place| if place < 90 { 10_000_000 } else { 20_000_000 };
                let factor = u64::from(trial.replicate);
                testing::counted(trial).sample_latencies_ns =
                    (0..PLACES).map(|place| factor * slow(place)).collect();
            });
        bench.plan.surveys[0].area.length = 1000 << 20;
        let workload = bench.plan.workloads.last_mut().unwrap();
        let io = testing::io_of(workload);
        (io.pattern, io.operations) = (Pattern::Spread, Some(PLACES));
        bench
    }

    fn surface(bench: &Bench) -> Surface {
        let mut found = bench.findings().surfaces;
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    #[test]
    fn bands_are_the_rates_of_their_samples_over_the_trials() {
        let found = surface(&bench());
        assert_eq!((found.trust, found.note), (Some(Trust::Trusted), None));
        let bands: Vec<_> = found.bands.iter().map(|b| (b.from_percent, b.to_percent)).collect();
        assert_eq!((bands.len(), bands[0], bands[9]), (10, (0, 10), (90, 100)));
        let mib = f64::from(1 << 20);
        for (index, band) in found.bands.iter().enumerate() {
            let fast = if index < 9 { 100.0 * mib } else { 50.0 * mib };
            let near =
                |value: Option<f64>, expected: f64| (value.unwrap() / expected - 1.0).abs() < 1e-9;
            assert_eq!(band.n, 3);
            assert!(near(band.max, fast) && near(band.min, fast / 3.0), "{band:?}");
            // Trials at 1, 1/2 and 1/3 of it.
            assert!(near(band.bandwidth_bytes_per_s, fast / 6.0_f64.cbrt()), "{band:?}");
        }
    }

    #[test]
    fn what_time_cut_off_has_no_number_and_is_told() {
        let cut = bench().each(|trial| {
            if trial.replicate > 1 {
                testing::counted(trial).sample_latencies_ns.truncate(45);
            }
        });
        let found = surface(&cut);
        let counts: Vec<usize> = found.bands.iter().map(|band| band.n).collect();
        assert_eq!(counts, [3, 3, 3, 3, 3, 1, 1, 1, 1, 1]);
        assert_eq!(
            found.note.as_deref(),
            Some(
                "the time of 800 ms ended 2 of 3 trials early, after 45 of 100 places at the \
                 earliest: a longer time shows the rest"
            )
        );
        let none = bench().each(|trial| testing::counted(trial).sample_latencies_ns.truncate(20));
        let found = surface(&none);
        let last = &found.bands[9];
        assert_eq!((last.n, last.bandwidth_bytes_per_s, last.min, last.max), (0, None, None, None));
    }

    #[test]
    fn trust_is_that_of_the_workload_and_other_patterns_have_no_surface() {
        let invalid = bench().each(|trial| testing::device(trial).run.read_bytes = 0);
        assert_eq!(surface(&invalid).trust, Some(Trust::Invalid));
        let plain = Bench::new(&["."]).row(0, "random-read", 4096, &[9, 9]).findings();
        assert!(plain.surfaces.is_empty());
        assert!(!serde_json::to_string(&plain).unwrap().contains("surfaces"));
    }
}
