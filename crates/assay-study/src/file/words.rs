//! The right word for a wrong one.

use assay_core::catalogue;

/// What other tools call a key of ours.
#[rustfmt::skip]
const ELSEWHERE: &[(&str, &str)] = &[
    ("blocksize", "block_size"), ("bs", "block_size"), ("depth", "queue_depth"), ("dev", "device"),
    ("dir", "directory"), ("disk", "device"), ("duration", "runtime"), ("fdatasync", "sync"),
    ("filename", "target"), ("fsync", "sync"), ("iodepth", "queue_depth"), ("ioengine", "engine"),
    ("jobs", "threads"), ("numjobs", "threads"), ("path", "directory"), ("path", "target"),
    ("qd", "queue_depth"), ("ramp", "ramp_time"), ("random_distribution", "distribution"),
    ("rate", "arrival_rate"), ("rate_iops", "arrival_rate"), ("repeats", "replicates"),
    ("runs", "replicates"), ("rwmixread", "mix"), ("size", "block_size"), ("thinktime", "think_time"),
    ("time", "runtime"), ("warmup", "ramp_time"),
];

/// The most similar word of `known`, if any is similar enough.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let word = word.trim().to_lowercase();
    let plain = word.replace('-', "_");
    let mut elsewhere = ELSEWHERE.iter().filter(|(other, _)| *other == plain);
    if let Some(found) = elsewhere.find_map(|(_, ours)| known.iter().find(|name| *name == ours)) {
        return Some(found);
    }
    catalogue::nearest(&word, known.iter().copied())
}

/// `did you mean "size"?`, if anything is near.
pub fn did_you_mean(word: &str, known: &[&str]) -> Option<String> {
    nearest(word, known).map(|name| format!("did you mean \"{name}\"?"))
}

/// `a, b or c`.
pub fn choice(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_word_is_offered_and_a_far_one_is_not() {
        let known = ["block_size", "queue_depth", "threads", "runtime"];
        for (wrong, right) in [
            ("threds", Some("threads")),
            ("Threads", Some("threads")),
            ("queue_dpeth", Some("queue_depth")),
            ("iodepth", Some("queue_depth")),
            ("queue-depth", Some("queue_depth")),
            ("bs", Some("block_size")),
            ("", None),
            ("x", None),
            ("content", None),
        ] {
            assert_eq!(nearest(wrong, &known), right, "{wrong}");
        }
        assert_eq!(nearest("anything", &[]), None);
    }

    #[test]
    fn a_choice_reads_as_a_sentence() {
        assert_eq!(choice(&["a", "b", "c"]), "a, b or c");
        assert_eq!(choice(&["a"]), "a");
    }
}
