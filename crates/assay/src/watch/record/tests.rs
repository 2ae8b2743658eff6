use super::*;
use crate::store;
use crate::watch::sampler::{Sampler, disks};
use crate::watch::testing::{article, machine, nothing, state_after, ten_seconds, tracing};
use assay_study::findings::Trust;
use assay_study::results::bundle;

#[test]
fn what_is_kept_is_read_like_any_result() {
    let fake = machine();
    let state = state_after(&fake, tracing(vec![Ok(nothing()), Ok(article())]));
    let mut rows = Rows::default();
    rows.add(&state);
    let directory = PathBuf::from("/results/one");
    let wish = RecordWish { directory: directory.clone(), title: "before \"3\"".to_owned() };
    write(&fake, &wish, &state, &rows, None).unwrap();
    let stored = bundle::read(&fake, &directory).unwrap();
    assert_eq!((stored.title(), stored.trials.len()), ("before \"3\"", 1));
    assert!(stored.ended.is_some());
    assert_eq!(stored.plan.sha256, plan::hash(&stored.plan));
    let record = &stored.trials[0];
    let block = record.evidence.block_latency.value().unwrap();
    assert_eq!(block.devices.keys().collect::<Vec<_>>(), ["loop3"]);
    let read = &block.devices["loop3"].value().unwrap()["read"];
    assert_eq!(read.requests, 8131);
    let series = series::read(&fake, &directory, record).unwrap();
    let reads = series.iter().find(|row| row.class == "read").unwrap();
    let buckets: u64 = reads.latency_buckets.iter().map(|[_, many]| u64::from(*many)).sum();
    assert_eq!((reads.operations, buckets), (8131, 8131));
    let evidence = store::evidence_at(&fake, &directory).unwrap();
    assert_eq!(evidence.findings.study.title, "before \"3\"");
    // In reading order: a page of two recordings starts with the first two.
    let classes: Vec<&str> = evidence.latencies.iter().map(|one| one.class.as_str()).collect();
    assert_eq!(classes, ["read", "write", "flush", "discard"]);
}

/// Records ten seconds in which tasks waited the given time for a CPU, under a title.
fn kept(title: &str, waited_us: u64) -> assay_study::findings::Findings {
    let fake = machine();
    let disks = disks::choose(&fake, None).unwrap();
    let mut sampler = Sampler::new(&fake, disks, tracing(vec![Ok(nothing()), Ok(article())]));
    let mut state = State::begin(&mut sampler);
    ten_seconds(&fake);
    fake.put(
        "/proc/pressure/cpu",
        format!("some avg10=0.00 total={waited_us}\nfull avg10=0.00 total=0\n"),
    );
    state.update(&mut sampler);
    let directory = PathBuf::from("/results").join(title);
    let wish = RecordWish { directory: directory.clone(), title: title.to_owned() };
    write(&fake, &wish, &state, &Rows::default(), None).unwrap();
    store::findings_at(&fake, &directory).unwrap()
}

#[test]
fn two_windows_are_compared_with_who_waited_for_processors() {
    let before = kept("before", 200_000);
    let compared = |waited_us| {
        let both = [before.clone(), kept("after", waited_us)];
        store::compare(&both, assay_analysis::inference::days::Days::default()).unwrap()
    };
    let [alike, apart] = [300_000, 4_500_000].map(compared);
    for (found, unequal) in [(&alike, false), (&apart, true)] {
        let notes = found.exhibits[0].notes.join(" ");
        assert!(notes.contains("10 s starting at"), "{notes}");
        assert_eq!(notes.contains("2% of the time before and 3% of the time after"), !unequal);
        let suspect = found.measurements.iter().all(|cell| cell.trust == Some(Trust::Suspect));
        assert_eq!(suspect, unequal, "{notes}");
    }
    assert_eq!(apart.summary_texts(), ["n = 1 each: no interval, differences cannot be judged."]);
    assert!(apart.study.title.ends_with(": after against before"), "{}", apart.study.title);
}

#[test]
fn nothing_takes_the_place_of_what_is_there() {
    let fake = machine();
    assert!(check_unused(&fake, Path::new("/new")).is_ok());
    assert!(check_unused(&fake, Path::new("/sys")).unwrap_err().message.contains("already exists"));
}

#[test]
fn rows_stand_at_the_second_of_the_clock() {
    let fake = machine();
    let counted = |requests| {
        let mut totals = nothing();
        totals.devices[0][0].requests = requests;
        totals.devices[0][0].queued.sum_ns = 1000 * requests;
        totals.devices[0][0].queued.buckets[9] = requests;
        Ok(totals)
    };
    let readings = [0, 1, 3, 7, 15].map(counted).into();
    let disks = disks::choose(&fake, None).unwrap();
    let mut sampler = Sampler::new(&fake, disks, tracing(readings));
    let mut state = State::begin(&mut sampler);
    let mut rows = Rows::default();
    // The third reading is two seconds late, the fourth is the rest of its second.
    for ms in [1100, 900, 3000, 100] {
        fake.sleep(std::time::Duration::from_millis(ms));
        state.update(&mut sampler);
        rows.add(&state);
    }
    let found: Vec<_> = rows.rows().iter().map(|row| (row.second, row.operations)).collect();
    assert_eq!(found, [(0, 1), (1, 2), (3, 4), (5, 8)]);
    rows.add(&state);
    let last = rows.rows().last().unwrap();
    assert_eq!((rows.rows().len(), last.operations, last.latency_sum_ns), (4, 16, 16_000));
    assert_eq!(last.latency_buckets.iter().map(|[_, many]| many).sum::<u32>(), 16);
}
