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
        "the range that holds the true value in 95 of 100 such measurements",
        "It comes from how much the replicates differ (Student's t on logarithms). A number alone \
         says nothing about chance; an interval that holds 1 means that a ratio may go either way.",
    ),
    word(
        "area",
        &[],
        "the bytes of the target that trials read and write",
        "In a directory it is a file of the tool's own, which is written in full before anything is \
         measured and is gone afterwards.",
    ),
    word(
        "baseline",
        &[],
        "the setting that all others are compared with",
        "By default the first level of each factor; `--baseline` names another.",
    ),
    word(
        "carry-over",
        &[],
        "what one trial leaves to the next: full caches, work that a drive puts off",
        "Replicates in random order and a warm-up keep it from favouring a setting; a test looks \
         whether it was seen all the same.",
    ),
    word(
        "control",
        &[],
        "the baseline once more, as if it were another setting",
        "The two are the same, so what seems to lie between them is noise: see noise floor.",
    ),
    word(
        "depth",
        &["queue depth"],
        "operations in flight at the same time",
        "At depth 1 each operation waits for the one before; drives reach their highest rates with \
         many in flight, programs often have one.",
    ),
    word(
        "direct I/O",
        &["direct"],
        "past the page cache, so that the storage answers and not memory",
        "`O_DIRECT`. Where a file system refuses it the report says so, and numbers may be those of \
         memory.",
    ),
    word(
        "disturbed",
        &[],
        "a trial during which something happened that was declared beforehand",
        "Others' traffic on the drive, throttling, time stolen by the host, errors of a device. It \
         is kept and shown; verdicts leave it out, and where there is time it runs again.",
    ),
    word(
        "drift",
        &[],
        "a slow change over the whole study, of heat or of a filling drive",
        "Comparisons are made inside each replicate, so that it cancels out; it is reported all the same.",
    ),
    word(
        "equivalent",
        &[],
        "surely less apart than the margin",
        "The 90 % interval of the ratio lies inside the margin (two one-sided tests). That is more \
         than having seen no difference.",
    ),
    word(
        "geometric mean",
        &["geometric means"],
        "the mean of ratios: the root of the product",
        "Twice as fast and half as fast balance out in it, which they do not in the usual mean.",
    ),
    word(
        "inconclusive",
        &[],
        "neither a difference nor equivalence could be shown",
        "More replicates, or longer ones, may show it; the report says how many where that is \
         known.",
    ),
    word(
        "invalid",
        &[],
        "a number that does not say what it seems to say",
        "A rule has proof: the reads came from memory, or the drive counted less than was claimed.",
    ),
    word(
        "IOPS",
        &[],
        "operations per second",
        "Of small random operations it tells more than bytes per second.",
    ),
    word(
        "margin",
        &[],
        "the difference that does not matter to whoever asks, fixed beforehand",
        "5 % unless the study or `--margin` says otherwise.",
    ),
    word(
        "most load",
        &[],
        "the highest rate of operations at which a percentile of the response surely stays below a limit",
        "Beside it stands the lowest rate at which it surely does not; of what lies between the two nothing \
         is known. `max-rate` looks for both.",
    ),
    word(
        "noise floor",
        &[],
        "how far apart two identical settings came out here",
        "Differences of that size mean nothing on this machine.",
    ),
    word(
        "page cache",
        &[],
        "memory in which the kernel keeps what was read or is yet to be written",
        "What it answers says nothing about the drive.",
    ),
    word(
        "percentile",
        &["p50", "p90", "p99", "p99.9", "p999"],
        "p99: the time that 99 of 100 operations stay below",
        "Computed for each trial; a row shows that of a typical trial.",
    ),
    word(
        "replicate",
        &["replicates"],
        "one complete pass over all settings, in a random order of its own",
        "Settings are compared inside a replicate, and replicates tell how far to trust the result.",
    ),
    word(
        "response time",
        &[],
        "from the moment at which an operation was meant to start until it is complete",
        "Of work by the clock (`rate`): what a user waits for, the time included in which it found no \
         place to be handed over. Without a rate operations start when others have ended, and there is none.",
    ),
    word(
        "rolled back",
        &[],
        "a level that harmed the work that went on, and was undone early",
        "Three seconds in a row it passed a multiple of the worst that the baseline showed: in the \
         latency of a class, in the age of a request, or in waiting. It has no ratio and is not tried \
         again; `--harm` sets the multiple.",
    ),
    word(
        "service time",
        &[],
        "from handing an operation to the kernel until it is complete",
        "Waiting inside the program that asks is not in it.",
    ),
    word(
        "spread",
        &[],
        "half of the distance between the largest and the smallest trial, as a share",
        "How different trials of one setting were.",
    ),
    word(
        "suspect",
        &[],
        "a number against which a rule speaks, without proof",
        "The rule and its reason stand beside it; `assay list rules` has all of them.",
    ),
    word(
        "throughput",
        &["bandwidth"],
        "bytes per second",
        "1 MB/s is a million bytes per second, 1 MiB/s is 1,048,576: reports show both where both \
         are in use.",
    ),
    word(
        "trusted",
        &[],
        "no rule speaks against the number",
        "The rules look at counters of drives, processors, memory and others' traffic in each trial.",
    ),
    word(
        "unequal-load",
        &["unequal load"],
        "the load differed between two levels, and may be what looks like their difference",
        "Of others' work nobody sets the load. Where fewer requests were served, and sooner, or more \
         and later, there is no verdict.",
    ),
    word(
        "warm-up",
        &["warm-ups"],
        "a trial that is run and left out, so that the next one follows work like its own",
        "Without it the first trial of a replicate would start on a rested drive. Files and the key \
         `lead_in` call it lead-in.",
    ),
    word(
        "winner",
        &[],
        "the setting that came out best",
        "What comes out best of many tends to look better than it is: `assay advise confirm` runs fresh \
         trials of it alone.",
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
        assert_eq!(WORDS[0].anchor(), "95-interval");
    }
}
