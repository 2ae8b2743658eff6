//! Rates over the area: evenly spaced operations show the rate of each tenth.

mod exhibit;

use assay_core::{quantity::units::show, stats::geometric_mean};
use assay_study::findings::{Trust, measurements::Series};
use assay_study::results::plan::{Area, Arm, Plan};
use assay_workloads::io::{self, random_offsets, sample_offset};

use super::cells::{counted_values, row_value};
use super::rows::{MeasuredTrial, RowTrials};
use super::series::cell_trial;

pub use exhibit::{SURFACE, exhibit};

const BANDS: u64 = 10;
/// Up to this number of positions, each one is reported.
const MOST_PLACES: u64 = 400;

/// The rate of a workload over its area, from its first byte to its last.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    pub workload: String,
    pub configuration: Arm,
    /// Trust in the workload and all of its bands; `None` if nothing was measured.
    pub trust: Option<Trust>,
    /// Ten equal parts of the area.
    pub bands: Vec<Band>,
    /// Each position with a trial, if the positions are few enough to be drawn.
    pub positions: Vec<Spot>,
    pub whole: Option<Extremes>,
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    /// Position in percent of the area.
    pub percent: f64,
    pub n: usize,
    /// Bytes per second of service time: geometric mean over trials.
    pub bandwidth_bytes_per_s: f64,
    /// The lowest and the highest trial.
    pub ends: [f64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremes {
    pub lowest: f64,
    /// Arithmetic mean of times; for rates, the rate over all positions in sequence.
    pub mean: f64,
    pub highest: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Accesses {
    pub workload: String,
    pub configuration: Arm,
    pub trust: Option<Trust>,
    /// Number of trials behind the three numbers.
    pub n: usize,
    pub whole: Extremes,
    /// Operations of the first trial: percent of the area, and nanoseconds.
    pub dots: Vec<(f64, u64)>,
}

/// One part of an area. A part without samples has no numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    pub from_percent: u32,
    pub to_percent: u32,
    pub n: usize,
    /// Bytes per second of service time: geometric mean over trials.
    pub bandwidth_bytes_per_s: Option<f64>,
    pub ends: Option<[f64; 2]>,
}

/// The rate of a row over its area, if its operations are evenly spaced; `None` for the A/A control.
pub(super) fn surface_of_row(
    plan: &Plan,
    row: &RowTrials<'_>,
    series: &[Series],
) -> Option<Surface> {
    if row.workload.control || row.trials.is_empty() {
        return None;
    }
    let area = row.workload.own_part(&plan.surveys.get(row.workload.target)?.area);
    let io = io::IoPlan::of(&row.workload.work)?;
    // Work without evenly spaced samples has no offset even for the first one.
    sample_offset(io, &area, 0)?;
    let positions = positions_with_rates(io, &area, row);
    let rates = positions.iter().map(|position| position.bandwidth_bytes_per_s);
    Some(Surface {
        workload: row.workload.name.clone(),
        configuration: row.arm.clone(),
        trust: row.trust,
        bands: (0..BANDS).map(|index| band(io, &area, row, index)).collect(),
        whole: extremes(rates, series, "bandwidth_bytes_per_s"),
        positions,
        note: incomplete_note(row),
    })
}

/// Each position of a row with its rate; empty if there are too many to draw.
fn positions_with_rates(io: &io::IoPlan, area: &Area, row: &RowTrials<'_>) -> Vec<Spot> {
    let count = io.operations.filter(|count| *count <= MOST_PLACES).unwrap_or(0);
    let bytes = f64::from(io.size_bytes());
    let trials = row.summed(|trial| io_detail(trial).is_some());
    let spot = |index: u64| {
        let offset = sample_offset(io, area, index)?;
        let details = trials.iter().filter_map(|trial| io_detail(trial));
        let ns = details.filter_map(|io| io.sample_latencies_ns.get(usize::try_from(index).ok()?));
        let rates: Vec<_> = ns.filter(|ns| **ns > 0).map(|ns| bytes / (*ns as f64 / 1e9)).collect();
        Some(Spot {
            percent: percent(area, offset),
            n: rates.len(),
            bandwidth_bytes_per_s: geometric_mean(&rates)?.mean,
            ends: ends(rates.iter().copied())?,
        })
    };
    (0..count).filter_map(spot).collect()
}

fn percent(area: &Area, offset: u64) -> f64 {
    100.0 * offset.saturating_sub(area.start) as f64 / area.length.max(1) as f64
}

/// Returns the lowest and highest of several values with the number that the row has for them.
fn extremes(
    values: impl Iterator<Item = f64> + Clone,
    series: &[Series],
    metric: &str,
) -> Option<Extremes> {
    let own = series.iter().find(|series| series.metric == metric)?;
    let [lowest, highest] = ends(values)?;
    Some(Extremes { lowest, mean: row_value(&own.trials, None)?, highest })
}

fn ends(values: impl Iterator<Item = f64> + Clone) -> Option<[f64; 2]> {
    Some([values.clone().reduce(f64::min)?, values.reduce(f64::max)?])
}

/// The times of single operations at random offsets, which follow from the seed of a trial.
pub(super) fn accesses(plan: &Plan, row: &RowTrials<'_>, series: &[Series]) -> Option<Accesses> {
    let area = row.workload.own_part(&plan.surveys.get(row.workload.target)?.area);
    let io = io::IoPlan::of(&row.workload.work).filter(|_| !row.workload.control)?;
    // Work without random samples has no offsets, whatever the seed.
    drop(random_offsets(io, &area, 0)?);
    let trials = row.summed(|trial| io_detail(trial).is_some());
    let details = || trials.iter().filter_map(|trial| io_detail(trial));
    let times_ns = details().flat_map(|io| &io.sample_latencies_ns).map(|ns| *ns as f64);
    let whole = extremes(times_ns, series, "latency_mean_ns")?;
    // A repeated trial has new random offsets.
    let planned_seed = |trial: &&MeasuredTrial<'_>| {
        let planned = plan.trials.iter().find(|planned| planned.order == trial.record.order)?;
        let is_first = trial.record.repeats.is_none() && !planned.is_lead_in();
        (is_first && planned.workload == trial.record.workload).then_some(planned.seed)
    };
    let first = trials.iter().find_map(|trial| Some((planned_seed(trial)?, io_detail(trial)?)));
    let dots = first.map(|(seed, detail)| {
        let offsets = random_offsets(io, &area, seed).into_iter().flatten();
        let percents = offsets.map(|offset| percent(&area, offset));
        percents.zip(detail.sample_latencies_ns.iter().copied()).collect()
    });
    Some(Accesses {
        workload: row.workload.name.clone(),
        configuration: row.arm.clone(),
        trust: row.trust,
        n: details().count(),
        whole,
        dots: dots.unwrap_or_default(),
    })
}

/// How many trials the time limit ended before the last position; `None` if all were complete.
fn incomplete_note(row: &RowTrials<'_>) -> Option<String> {
    let places = row.workload.work.operations()?;
    let details = row.counting().filter_map(|trial| io_detail(trial));
    let reached: Vec<u64> = details.map(|io| io.sample_latencies_ns.len() as u64).collect();
    let fewest = reached.iter().min().filter(|fewest| **fewest < places)?;
    Some(format!(
        "the time limit of {} ended {} of {} trials early (at least {} of {} positions completed); use a longer time \
         limit",
        show::duration(row.workload.time_ns as f64),
        reached.iter().filter(|count| **count < places).count(),
        reached.len(),
        show::count(*fewest),
        show::count(places)
    ))
}

/// The rates of a row in one of the `BANDS` parts of the area, over the trials that count.
fn band(io: &io::IoPlan, area: &Area, row: &RowTrials<'_>, index: u64) -> Band {
    let rate = |trial: &MeasuredTrial<'_>| rate_in_band(io, area, trial, index);
    let trials: Vec<_> = row.trials.iter().map(|trial| cell_trial(trial, rate(trial))).collect();
    let values = counted_values(&trials);
    let percent_before = |band: u64| (band * 100 / BANDS) as u32;
    Band {
        from_percent: percent_before(index),
        to_percent: percent_before(index + 1),
        n: values.len(),
        bandwidth_bytes_per_s: geometric_mean(&values).map(|centre| centre.mean),
        ends: ends(values.iter().copied()),
    }
}

/// Bytes per second of service time of one trial in one band; `None` without samples.
fn rate_in_band(io: &io::IoPlan, area: &Area, trial: &MeasuredTrial<'_>, band: u64) -> Option<f64> {
    let (mut samples, mut sum_ns) = (0, 0_u64);
    for (index, ns) in (0..).zip(&io_detail(trial)?.sample_latencies_ns) {
        let offset = sample_offset(io, area, index);
        if offset.is_some_and(|offset| band_of(area, offset) == band) {
            samples += 1;
            sum_ns += ns;
        }
    }
    let bytes = samples * io.block_size.largest().0;
    (sum_ns > 0).then(|| bytes as f64 / (sum_ns as f64 / 1e9))
}

fn io_detail<'a>(trial: &'a MeasuredTrial<'_>) -> Option<&'a io::IoDetail> {
    io::IoDetail::of(trial.record.measured.as_ref()?)
}

fn band_of(area: &Area, offset: u64) -> u64 {
    let within = u128::from(offset - area.start) * u128::from(BANDS);
    (within / u128::from(area.length.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use assay_study::findings::{Because, LENT, Trust};
    use assay_study::results::record::{Repeats, Status, Trial};
    use assay_workloads::io::Pattern;

    use super::super::tests::Bench;
    use super::super::{design, rows, series};
    use super::{Accesses, Surface, accesses, exhibit, surface_of_row};
    use crate::rules::testing;

    const PLACES: u64 = 100;

    fn in_table(bench: &Bench, metric: &str) -> Option<f64> {
        let cells = bench.findings().measurements;
        cells.iter().find(|cell| cell.metric == metric)?.value()
    }

    #[test]
    fn each_place_has_its_rate_and_all_have_a_lowest_mean_and_highest() {
        let found = surface(&bench());
        let rate = in_table(&bench(), "bandwidth_bytes_per_s");
        assert_eq!((found.positions.len(), found.positions[95].n), (100, 3));
        let mib = f64::from(1 << 20);
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-9;
        let (last, whole) = (&found.positions[95], found.whole.unwrap());
        assert!((last.percent - 95.0).abs() < 1e-9, "{last:?}");
        assert!(near(last.ends[1], 50.0 * mib) && near(last.ends[0], 50.0 * mib / 3.0), "{last:?}");
        let most = 100.0 * mib / 6.0_f64.cbrt();
        assert!(near(whole.highest, most) && near(whole.lowest, most / 2.0), "{whole:?}");
        assert_eq!(Some(whole.mean), rate);
    }

    #[test]
    fn random_accesses_have_the_places_that_their_seed_drew() {
        let mut bench = Bench::new(&["/mnt/card"])
            .row(0, "access", 4096, &[4, 4])
            .each(|trial| testing::counted(trial).sample_latencies_ns = vec![100, 300, 200, 400]);
        let workload = bench.plan.workloads.last_mut().unwrap();
        let io = testing::io_of(workload);
        (io.pattern, io.operations, io.threads, io.queue_depth) = (Pattern::Random, Some(4), 1, 1);
        let found = positions_with_rates(&bench).1.unwrap();
        let whole = found.whole;
        assert_eq!((whole.lowest, whole.highest), (100.0, 400.0));
        assert_eq!(Some(whole.mean), in_table(&bench, "latency_mean_ns"));
        assert_eq!(found.n, 2);
        let ns: Vec<u64> = found.dots.iter().map(|(_, ns)| *ns).collect();
        assert!(ns.is_empty() || ns == [100, 300, 200, 400], "{ns:?}");
        assert!(found.dots.iter().all(|(percent, _)| (0.0..100.0).contains(percent)));
        let workload = bench.plan.workloads.last_mut().unwrap();
        testing::io_of(workload).queue_depth = 8;
        assert!(positions_with_rates(&bench).1.is_none() && bench.findings().exhibits.is_empty());
    }

    /// Two of three trials were disturbed: the row summarizes all three, and so does each position.
    #[test]
    fn places_are_of_the_trials_that_their_row_sums_up() {
        let n = |bench: &Bench| {
            let found = bench.findings();
            let cell = found.measurements.iter().find(|cell| cell.primary).unwrap();
            {
                let own = surface(bench);
                (cell.n, own.positions[0].n, own.bands[0].n)
            }
        };
        let two = |trial: &mut Trial| {
            if trial.replicate > 1 {
                trial.status = Status::Disturbed;
            }
        };
        assert_eq!(n(&bench().each(two)), (3, 3, 3));
        // If one of four trials was disturbed, the other three are enough.
        let one = |trial: &mut Trial| {
            if trial.replicate == 2 {
                trial.status = Status::Disturbed;
            }
        };
        let four = bench_of(&[100; 4]).each(one);
        assert_eq!(n(&four), (3, 3, 3));
        // A trial repeated because of the baseline counts once.
        let again = |trial: &mut Trial| {
            if trial.replicate == 4 {
                trial.repeats = Some(Repeats { replicate: 3, order: 3 });
            }
        };
        assert_eq!(n(&bench_of(&[100; 4]).each(again)), (3, 3, 3));
    }

    /// Three trials of 100 reads of 1 MiB; the last tenth of the area is half as fast.
    fn bench() -> Bench {
        bench_of(&[100; 3])
    }

    /// The same with one trial per number of reads.
    fn bench_of(reads: &[u64]) -> Bench {
        let mut bench =
            Bench::new(&["/mnt/card"]).row(0, "surface-read-q1", 1 << 20, reads).each(|trial| {
                let slow = |place| if place < 90 { 10_000_000 } else { 20_000_000 };
                let factor = u64::from(trial.replicate);
                testing::counted(trial).sample_latencies_ns =
                    (0..PLACES).map(|place| factor * slow(place)).collect();
            });
        bench.plan.surveys[0].area.length = 1000 << 20;
        let workload = bench.plan.workloads.last_mut().unwrap();
        let io = testing::io_of(workload);
        (io.pattern, io.operations) = (Pattern::Spaced, Some(PLACES));
        bench
    }

    /// Surface and accesses of the last workload.
    fn positions_with_rates(bench: &Bench) -> (Option<Surface>, Option<Accesses>) {
        let Bench { plan, environment, trials, .. } = bench;
        let last = plan.workloads.len() - 1;
        let own: Vec<&Trial> = trials.iter().filter(|trial| trial.workload == last).collect();
        let row = rows::row_of(&plan.workloads[last], plan, environment, &own);
        let (series, _) = series::row_series(&design(plan), &row);
        (surface_of_row(plan, &row, &series), accesses(plan, &row, &series))
    }

    fn surface(bench: &Bench) -> Surface {
        let exhibits = bench.findings().exhibits;
        let topics: Vec<&str> = exhibits.iter().map(|one| one.topic.as_str()).collect();
        assert_eq!(topics, ["surface"]);
        assert_eq!((exhibits[0].tables.len(), exhibits[0].figures.len()), (1, 1));
        positions_with_rates(bench).0.unwrap()
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
            let [low, high] = band.ends.unwrap();
            assert!(near(Some(high), fast) && near(Some(low), fast / 3.0), "{band:?}");
            // Trials at 1, 1/2 and 1/3 of the rate.
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
                "the time limit of 800 ms ended 2 of 3 trials early (at least 45 of 100 positions completed); use a longer time limit"
            )
        );
        let none = bench().each(|trial| testing::counted(trial).sample_latencies_ns.truncate(20));
        let found = surface(&none);
        let last = &found.bands[9];
        assert_eq!((last.n, last.bandwidth_bytes_per_s, last.ends), (0, None, None));
    }

    #[test]
    fn a_surface_of_a_lent_drive_is_rated_as_virtual() {
        let (mut found, surface) = (bench().findings(), surface(&bench()));
        let because = |text: &str| Because {
            rule: LENT.to_owned(),
            trust: Trust::Trusted,
            text: text.to_owned(),
        };
        found.measurements.iter_mut().for_each(|cell| cell.reasons.push(because("lent")));
        let table = exhibit(&found, &[], &[surface], &[]).unwrap().tables.remove(0);
        assert_eq!(table.texts(&table.rows[0]).last().map(String::as_str), Some("virtual"));
    }

    #[test]
    fn trust_is_that_of_the_workload_and_other_patterns_have_no_surface() {
        let invalid = bench().each(|trial| testing::device(trial).run.read_bytes = 0);
        assert_eq!(surface(&invalid).trust, Some(Trust::Invalid));
        let plain = Bench::new(&["."]).row(0, "random-read", 4096, &[9, 9]).findings();
        assert!(!serde_json::to_string(&plain).unwrap().contains("exhibits"));
    }
}
