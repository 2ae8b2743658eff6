use super::*;
use crate::results::bundle;
use crate::shelf;
use crate::watch::testing::{article, machine, nothing, state_after, tracing};

#[test]
fn what_is_kept_is_read_like_any_result() {
    let fake = machine();
    let state = state_after(&fake, tracing(vec![Ok(nothing()), Ok(article())]));
    let mut rows = Rows::default();
    rows.add(&state);
    let directory = PathBuf::from("/results/one");
    let wish = Wish { directory: directory.clone(), title: "before \"3\"".to_owned() };
    write(&fake, &wish, &fake.now(), &state, &rows).unwrap();
    let stored = bundle::read(&fake, &directory).unwrap();
    assert_eq!((stored.title(), stored.trials.len()), ("before \"3\"", 1));
    assert!(stored.plan.sees_classes() && stored.ended.is_some());
    assert_eq!(stored.plan.sha256, plan::hash(&stored.plan));
    let record = &stored.trials[0].record;
    let block = record.evidence.block.value().unwrap();
    assert_eq!(block.devices.keys().collect::<Vec<_>>(), ["loop3"]);
    let read = &block.devices["loop3"].value().unwrap()["read"];
    assert_eq!(read.requests, 8131);
    let series = series::read(&fake, &directory, record).unwrap();
    let reads = series.iter().find(|row| row.class == "read").unwrap();
    let buckets: u64 = reads.latency_buckets.iter().map(|[_, many]| u64::from(*many)).sum();
    assert_eq!((reads.operations, buckets), (8131, 8131));
    let findings = shelf::findings_at(&fake, &directory).unwrap();
    assert_eq!(findings.study.title, "before \"3\"");
}

#[test]
fn nothing_takes_the_place_of_what_is_there() {
    let fake = machine();
    assert!(may_be_made(&fake, Path::new("/new")).is_ok());
    assert!(may_be_made(&fake, Path::new("/sys")).unwrap_err().message.contains("there already"));
}
