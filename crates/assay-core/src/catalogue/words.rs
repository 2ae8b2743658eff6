//! The words of reports, each with its meaning: pages link a word's first use to it.

use super::About;

#[derive(Clone, Copy, Debug)]
pub struct Word {
    pub about: About,
    /// Other forms of the term in reports.
    pub forms: &'static [&'static str],
}

impl Word {
    pub fn all(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.about.name).chain(self.forms.iter().copied())
    }

    /// Its name as part of an address: letters and digits, joined by `-`.
    pub fn anchor(&self) -> String {
        let name = self.about.name.to_lowercase();
        let parts = name.split(|letter: char| !letter.is_ascii_alphanumeric());
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
    }
}

/// Rows of words: name, other forms, summary, and a longer text.
macro_rules! words {
    ($($name:literal [$($form:literal),*]: $summary:literal $text:literal;)*) => {
        &[$(Word {
            about: About { name: $name, summary: $summary, text: $text },
            forms: &[$($form),*],
        }),*]
    };
}

pub static WORDS: &[Word] = words! {
    "95% CI" ["interval", "intervals"]: "a range that contains the true value in 95 of 100 such measurements (95% CI)"
        "Assay computes the CI from the variation between replicates (Student's t on log values). If the CI of a \
         ratio includes 1, the direction of the difference is unknown.";
    "area" []: "the bytes of the target that trials read and write (test area)"
        "In a directory, Assay creates a file, fills it before the first measurement and deletes it afterwards.";
    "baseline" []: "the configuration that Assay compares all others with"
        "The default is the first level of each factor; `--baseline` sets another.";
    "carry-over" []: "the effect of one trial on the next, such as full caches or deferred work of the drive"
        "Random order and a warm-up distribute this effect evenly over the configurations; a test detects the rest.";
    "control" []: "a copy of the baseline, treated like another configuration (A/A control)"
        "Both are identical, so an apparent difference is noise (see noise floor).";
    "depth" ["queue depth", "QD", "QD1", "QD32"]: "the number of operations in flight (queue depth)"
        "At depth 1, each operation waits for the previous one. Drives reach their highest rates at high queue \
         depth, but many programs use depth 1.";
    "direct I/O" ["direct"]: "I/O that bypasses the page cache, so it measures the storage and not memory"
        "Uses `O_DIRECT`. If a filesystem rejects `O_DIRECT`, the report warns that the numbers may measure memory.";
    "disturbed" []: "a trial during which a predefined disturbance occurred"
        "Examples: other programs' I/O on the drive, throttling, steal time, device errors. Assay stores and shows \
         the trial, excludes it from verdicts, and repeats it if time allows.";
    "drift" []: "a slow change over the whole study, caused for example by heat or a filling drive"
        "Assay compares configurations within each replicate, which cancels drift, and reports the drift.";
    "equivalent" []: "a difference smaller than the margin (TOST, 90% CI)"
        "The 90% CI of the ratio is inside the margin (two one-sided tests). A non-significant difference does not \
         show equivalence.";
    "geometric mean" ["geometric means"]: "a mean for ratios (the nth root of the product)"
        "Twice as fast and half as fast cancel out in a geometric mean, but not in an arithmetic mean.";
    "inconclusive" []: "the trials show neither a difference nor equivalence"
        "More or longer replicates may show a difference; the report states how many, if known.";
    "invalid" []: "a number that does not measure the drive"
        "A trust rule has proved this, for example because memory served the reads.";
    "IOPS" []: "operations per second"
        "For small random operations, IOPS are more useful than bytes per second.";
    "margin" []: "the largest difference that does not matter, set before the study"
        "The default is 5%; the key `margin` sets another value.";
    "most load" []:
        "the highest rate of operations at which a response time percentile stays below a limit (95% confidence)"
        "The report also shows the lowest rate that fails (95% confidence); between these two rates, the outcome is \
         unknown. The preset `max-rate` finds both rates.";
    "noise floor" []: "the measured difference between two identical configurations"
        "A difference of this size is not meaningful on this machine.";
    "page cache" []: "memory in which the kernel caches data that was read or is not yet written"
        "Requests served by the page cache do not measure the drive.";
    "percentile" ["p50", "p90", "p99", "p99.9", "p999", "p99.99"]:
        "the value below which a given share of operations falls, such as 99 of 100 for p99"
        "Assay computes percentiles per trial; a row shows the percentile of a typical trial.";
    "replicate" ["replicates"]: "one complete pass over all configurations, in a random order"
        "Assay compares configurations within a replicate; the spread between replicates gives the CI.";
    "response time" ["coordinated omission"]: "the time from the intended start of an operation to its completion"
        "In an open loop (`arrival_rate`), the response time is what a user waits, including queueing. In a closed loop \
         (without a rate), each operation starts when another ends, so its latencies hide the waiting of users \
         (coordinated omission) and there is no response time.";
    "rolled back" []: "a level that Assay reverted early because it harmed a production workload"
        "For three seconds in a row, a class latency, the age of a request, or the pressure exceeded a multiple of \
         the baseline's worst value (key `rollback_threshold`). The level has no ratio, and Assay does not retry it.";
    "service time" []: "the time from when a request is submitted to the kernel until the request completes"
        "The service time excludes waits inside the submitting program.";
    "SLC cache" []: "fast flash of a drive that takes new writes until it is full"
        "Then the write rate drops: `assay check --sustained` shows after how many bytes, and to which rate.";
    "spread" []: "half the difference between the largest and the smallest trial, as a percentage of the mean"
        "The spread shows how much trials of one configuration vary.";
    "suspect" []: "a number that a trust rule flags without proof"
        "The report shows the rule and the reason; `assay list rules` lists all rules.";
    "throughput" ["bandwidth"]: "bytes per second"
        "1 MB/s is 1,000,000 bytes per second, 1 MiB/s is 1,048,576. Reports show both units if both are common.";
    "trusted" []: "a number that no trust rule flags"
        "In each trial, the rules check counters of drives, CPUs and memory, and the I/O of other programs.";
    "unequal-load" ["unequal load"]: "the load of two levels differed and could explain the difference in the result"
        "Assay does not control the load of a production workload. If fewer requests completed with lower latency, \
         or more requests with higher latency, Assay gives no verdict.";
    "warm-up" ["warm-ups"]:
        "a trial that Assay runs and excludes, so that the first counted trial follows a similar workload"
        "Without a warm-up, the first trial of a replicate would start on an idle drive.";
    "winner" []: "the configuration with the best result"
        "The best of many configurations looks better than it is: confirm the winner with `assay advise confirm`.";
};

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
