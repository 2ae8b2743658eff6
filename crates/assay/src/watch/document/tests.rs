use super::*;
use crate::watch::testing::{state, state_untraced};
use assay_core::draws::Draws;
use assay_testkit::{certain, schema};

#[test]
fn the_document_has_the_fields_that_scripts_read() {
    let found = document(&state());
    assert_eq!((&found["format"], &found["seconds"]), (&json!("assay-watch/1"), &json!(10.0)));
    let device = &found["devices"][0];
    assert_eq!(device["device"], "loop3");
    let read = &device["classes"]["read"];
    assert_eq!((&read["count"], &read["bytes"]), (&json!(8131), &json!(8131 * 8192)));
    assert!(read["mean_ns"].as_f64().unwrap() > 7e6 && read["stddev_ns"].is_number());
    let histogram = read["histogram"].as_array().unwrap();
    let sum: u64 = histogram.iter().map(|bucket| bucket["count"].as_u64().unwrap()).sum();
    assert_eq!(sum, 8131);
    for bucket in histogram {
        assert!(bucket["from_ns"].as_u64() < bucket["to_ns"].as_u64(), "{bucket}");
    }
    assert_eq!(device["absent"], json!({}));
    assert_eq!(found["probes"]["processes"][0]["name"], "fio");
    assert!(found["probes"]["absent"]["throttle_events"].is_string());
    assert!(found["probes"]["throttle_events"].is_null());
}

#[test]
fn documents_are_valid_by_the_schema() {
    let schema = schema::of_format(FORMAT).unwrap();
    for state in [state(), state_untraced()] {
        assert_eq!(schema::complaint(&schema, &document(&state)), None);
    }
}

#[test]
fn a_class_of_which_nothing_ended_is_not_absent() {
    let found = document(&state());
    let idle = &found["devices"][1];
    assert_eq!(idle["device"], "nvme0n1");
    let read = &idle["classes"]["read"];
    assert_eq!((&read["count"], &read["mean_ns"]), (&json!(0), &Value::Null));
    assert_eq!(read["histogram"], json!([]));
}

#[test]
fn a_class_that_is_not_seen_is_null_with_its_reason() {
    let device = &document(&state_untraced())["devices"][0];
    for class in ["read", "write", "flush", "discard"] {
        assert!(device["classes"][class].is_null(), "{class}");
        assert!(device["absent"][class].as_str().unwrap().contains("not permitted"), "{class}");
    }
    assert_eq!(device["counters"]["reads"], 6123);
}

/// Draws random latencies; tests check mean and percentiles against their buckets and order.
fn latencies(draws: &mut Draws) -> Latencies {
    let mut found = Latencies::default();
    let mut index = 0;
    for _ in 0..draws.below(20) {
        index += 1 + draws.below(30);
        let [from, to] = [bucket_from_ns(index), bucket_to_ns(index)];
        let (count, each) = (1 + draws.below(500), from + draws.below(to - from));
        found.buckets.push([index, count]);
        found.sum_ns += count * each;
    }
    found
}

#[test]
fn a_document_of_whatever_happened_is_no_more_certain_than_it_can_be() {
    for made in [document(&state()), document(&state_untraced())] {
        certain::document_of(&made).unwrap();
    }
    let mut seen = 0;
    for seed in 0..500 {
        let mut draws = Draws::new(seed, "watched");
        let [queued, issued] = [(); 2].map(|()| latencies(&mut draws));
        let span = ClassSpan { requests: queued.len(), failed: 0, bytes: 0, queued, issued };
        let made = json!({ "classes": { "read": class_document(&span) } });
        seen += certain::document_of(&made).unwrap_or_else(|error| panic!("{seed}: {error}"));
    }
    assert!(seen > 1000, "{seen}");
}
