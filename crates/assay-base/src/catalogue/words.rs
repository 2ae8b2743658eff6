//! The words of reports, each with its meaning: pages link a word's first use to it.

use super::About;

/// A word of reports.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The word and what it means.
    pub about: About,
    /// Other forms of it that stand in reports.
    pub forms: &'static [&'static str],
}

impl Word {
    /// Every form of it.
    pub fn all(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.about.name).chain(self.forms.iter().copied())
    }

    /// Its name as part of an address: letters and digits, joined by `-`.
    pub fn anchor(&self) -> String {
        let kept = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let joined: String = self.about.name.to_lowercase().chars().map(kept).collect();
        joined.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
    }
}

const fn word(
    name: &'static str,
    forms: &'static [&'static str],
    summary: &'static str,
    text: &'static str,
) -> Word {
    Word { about: About { name, summary, text }, forms }
}

/// All of them, by name.
pub static WORDS: &[Word] = &[
    word(
        "95% CI",
        &["interval", "intervals"],
        "the range that contains the true value in 95 of 100 such measurements (95% CI)",
        "It comes from the variation between replicates (Student's t on logarithms). A single number shows no random \
         variation; a CI that includes 1 means that a ratio may go either way.",
    ),
    word(
        "area",
        &[],
        "the bytes of the target that trials read and write (test area)",
        "In a directory, Assay creates a file, fills it before the first measurement and deletes it afterwards.",
    ),
    word(
        "baseline",
        &[],
        "the configuration that Assay compares all others with",
        "The default is the first level of each factor; `--baseline` sets another.",
    ),
    word(
        "carry-over",
        &[],
        "the effect of one trial on the next: full caches, work that a drive defers",
        "Random order and a warm-up prevent it from favoring a configuration; a test checks for it.",
    ),
    word(
        "control",
        &[],
        "a copy of the baseline, treated like another configuration (A/A control)",
        "Both are identical, so an apparent difference is noise: see noise floor.",
    ),
    word(
        "depth",
        &["queue depth"],
        "the number of operations in flight (queue depth)",
        "At depth 1 each operation waits for the previous one. Drives reach their highest rates with many in flight; \
         programs often have one.",
    ),
    word(
        "direct I/O",
        &["direct"],
        "I/O that bypasses the page cache, so the storage answers and not memory",
        "Uses `O_DIRECT`. If a filesystem refuses it, the report warns that the numbers may be those of memory.",
    ),
    word(
        "disturbed",
        &[],
        "a trial during which a predefined disturbance happened",
        "Examples: other programs' I/O on the drive, throttling, steal time, device errors. Assay stores and shows \
         the trial, excludes it from verdicts, and repeats it if time allows.",
    ),
    word(
        "drift",
        &[],
        "a slow change over the whole study, from heat or a filling drive",
        "Assay compares within each replicate, which cancels drift, and reports it.",
    ),
    word(
        "equivalent",
        &[],
        "a difference smaller than the margin (TOST, 90% CI)",
        "The 90% CI of the ratio is inside the margin (two one-sided tests). A missing difference alone does not show \
         that.",
    ),
    word(
        "geometric mean",
        &["geometric means"],
        "the mean of ratios: the nth root of the product",
        "Twice as fast and half as fast cancel out in it, but not in the arithmetic mean.",
    ),
    word(
        "inconclusive",
        &[],
        "the trials show neither a difference nor equivalence",
        "More or longer replicates may show one; the report states the number if it is known.",
    ),
    word(
        "invalid",
        &[],
        "a number that does not measure the drive",
        "A trust rule has proof: memory served the reads, or the drive counted less than claimed.",
    ),
    word(
        "IOPS",
        &[],
        "operations per second",
        "For small random operations, IOPS are more useful than bytes per second.",
    ),
    word(
        "margin",
        &[],
        "the largest difference that does not matter to you, set before the study",
        "The default is 5%; the study or `--margin` changes it.",
    ),
    word(
        "most load",
        &[],
        "the highest rate of operations at which a response time percentile stays below a limit (95% confidence)",
        "The report also shows the lowest rate that fails (95% confidence); between the two, the outcome is unknown. \
         `max-rate` searches for both.",
    ),
    word(
        "noise floor",
        &[],
        "the difference between two identical configurations here",
        "Differences of that size mean nothing on this machine.",
    ),
    word(
        "page cache",
        &[],
        "memory in which the kernel caches data that was read or waits to be written",
        "Requests that it serves do not measure the drive.",
    ),
    word(
        "percentile",
        &["p50", "p90", "p99", "p99.9", "p999"],
        "the value that a share of operations stays below: 99 of 100 for p99",
        "Assay computes it per trial; a row shows that of a typical trial.",
    ),
    word(
        "replicate",
        &["replicates"],
        "one complete pass over all configurations, in a random order",
        "Assay compares configurations within a replicate; replicates show how far to trust a result.",
    ),
    word(
        "response time",
        &[],
        "the time from the intended start of an operation to its completion",
        "In an open loop (`rate`) it is a user's waiting time, including the wait for a free slot. In a closed loop \
         (without a rate), operations start when others end, and there is no response time.",
    ),
    word(
        "rolled back",
        &[],
        "a level that harmed a live workload, and that Assay reverted early",
        "For three seconds in a row it exceeded a multiple of the baseline's worst value: latency of a class, age of \
         a request, or pressure. It has no ratio, and Assay does not retry it; `--harm` sets the multiple.",
    ),
    word(
        "service time",
        &[],
        "the time from submission to the kernel to completion",
        "It excludes waits inside the submitting program.",
    ),
    word(
        "spread",
        &[],
        "half of the distance between the largest and the smallest trial, as a share",
        "It shows how much trials of one configuration vary.",
    ),
    word(
        "suspect",
        &[],
        "a number that a trust rule flags without proof",
        "The report shows the rule and its reason; `assay list rules` lists all rules.",
    ),
    word(
        "throughput",
        &["bandwidth"],
        "bytes per second",
        "1 MB/s is a million bytes per second, 1 MiB/s is 1,048,576: reports show both if both are common.",
    ),
    word(
        "trusted",
        &[],
        "a number that no trust rule flags",
        "The rules check counters of drives, CPUs, memory and other programs' I/O in each trial.",
    ),
    word(
        "unequal-load",
        &["unequal load"],
        "the load of two levels differed and may explain the difference",
        "Assay does not set the load of a live workload. If fewer requests completed sooner, or more completed later, \
         it gives no verdict.",
    ),
    word(
        "warm-up",
        &["warm-ups"],
        "a trial that Assay runs and excludes, so the next one follows a similar workload",
        "Without it, the first trial of a replicate would start on an idle drive. Files and the key `lead_in` call it \
         lead-in.",
    ),
    word(
        "winner",
        &[],
        "the configuration with the best result",
        "The best of many looks better than it is: `assay advise confirm` runs fresh trials of the winner.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_in_order_and_have_anchors_of_their_own() {
        let names: Vec<String> = WORDS.iter().map(|word| word.about.name.to_lowercase()).collect();
        assert!(names.is_sorted(), "{names:?}");
        let mut anchors: Vec<String> = WORDS.iter().map(Word::anchor).collect();
        anchors.dedup();
        assert_eq!(anchors.len(), WORDS.len());
        assert_eq!(WORDS[0].anchor(), "95-ci");
    }
}
