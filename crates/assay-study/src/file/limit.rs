//! Limits of the response time (`p99 < 2 ms`), and the rates that meet them.

pub mod bracket;

use std::fmt;
use std::str::FromStr;

use assay_core::quantity::Time;

use super::{AskKind, Study};

/// Percentiles: name, share, and the metric of the time from the intended start of an operation.
const PERCENTILES: [(&str, f64, &str); 5] = [
    ("p50", 0.5, "response_p50_ns"),
    ("p90", 0.9, "response_p90_ns"),
    ("p99", 0.99, "response_p99_ns"),
    ("p99.9", 0.999, "response_p999_ns"),
    ("p99.99", 0.9999, "response_p9999_ns"),
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    percentile: (&'static str, f64, &'static str),
    below: Time,
}

impl Limit {
    pub const fn percentile(self) -> &'static str {
        self.percentile.0
    }

    pub const fn share(self) -> f64 {
        self.percentile.1
    }

    pub const fn metric(self) -> &'static str {
        self.percentile.2
    }

    pub const fn below_ns(self) -> u64 {
        self.below.0
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} < {}", self.percentile.0, self.below)
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let names = PERCENTILES.map(|(name, ..)| name).join(", ");
            format!("`{}` is not a response-time limit; example: p99 < 2 ms ({names})", text.trim())
        };
        let (name, below) = text.split_once('<').ok_or_else(wrong)?;
        let known = PERCENTILES.into_iter().find(|(known, ..)| *known == name.trim());
        let percentile = known.ok_or_else(wrong)?;
        let below: Time = below.trim().parse().map_err(|_| wrong())?;
        if below.0 == 0 {
            return Err(wrong());
        }
        Ok(Self { percentile, below })
    }
}

impl Study {
    /// Returns whether the study searches for the highest rate below a limit, and so sets the rate itself.
    pub fn finds_rate(&self) -> bool {
        self.question.iter().any(|ask| ask.kind == AskKind::MaxRate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_percentile_and_a_time() {
        for (text, metric, below_ns, words) in [
            ("p99 < 2 ms", "response_p99_ns", 2_000_000, "p99 < 2 ms"),
            ("p99<2ms", "response_p99_ns", 2_000_000, "p99 < 2 ms"),
            (" p50 <  500 us ", "response_p50_ns", 500_000, "p50 < 500 us"),
            ("p99.9 < 1 s", "response_p999_ns", 1_000_000_000, "p99.9 < 1 s"),
        ] {
            let limit: Limit = text.parse().unwrap();
            assert_eq!((limit.metric(), limit.below_ns()), (metric, below_ns), "{text}");
            assert_eq!(limit.to_string(), words);
            assert_eq!(limit.to_string().parse::<Limit>(), Ok(limit));
        }
    }

    /// A study that searches for the highest rate, with extra lines at the top, in its workload and in its question.
    fn asking([top, work, ask]: [&str; 3]) -> Result<crate::file::Study, String> {
        let text = format!(
            "format = \"assay-study/1\"\ntitle = \"t\"\n{top}\n[[workload]]\nname = \"w\"\n{work}\n\
             [[question]]\nkind = \"max-rate\"\nask = \"how much?\"\nworkloads = [\"w\"]\n{ask}\n"
        );
        crate::file::text::parse("test", &text).map_err(|failure| failure.message)
    }

    const IO: &str =
        "io = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"4 s\" }";
    const BELOW: &str = "slo = \"p99 < 2 ms\"";

    fn with(key: &str) -> String {
        IO.replace(" }", &format!(", {key} }}"))
    }

    /// Outside of a search, random arrivals need a rate.
    #[test]
    fn starts_are_spread_as_the_study_says_at_the_rates_that_it_finds() {
        let work = with("arrival_process = \"poisson\"");
        let study = asking(["", &work, BELOW]).unwrap();
        assert!(study.finds_rate());
        let text = format!(
            "format = \"assay-study/1\"\ntitle = \"t\"\n[[workload]]\nname = \"w\"\n{work}\n"
        );
        let message = crate::file::text::parse("test", &text).unwrap_err().message;
        assert!(message.contains("arrival_process requires arrival_rate"), "{message}");
    }

    #[test]
    fn a_study_that_asks_for_the_most_load_asks_and_varies_nothing_else() {
        let good = asking(["", IO, BELOW]).unwrap();
        assert_eq!(good.question[0].slo.as_deref(), Some("p99 < 2 ms"));
        let second = format!("{IO}\n[[workload]]\nname = \"v\"\n{IO}");
        let other = format!(
            "{BELOW}\n[[question]]\nkind = \"flat\"\nask = \"?\"\nworkloads = [\"w\"]\n\
             factor = \"target\""
        );
        for (lines, told) in [
            (["", IO, ""], "needs slo"),
            (["", IO, "slo = \"64 MiB\""], "is not a response-time limit"),
            (["", &second, BELOW], "a study with one workload"),
            (["", "command = { run = \"true\" }", BELOW], "workload of kind io"),
            (["", &with("arrival_rate = \"500/s\""), BELOW], "remove arrival_rate"),
            (["", &with("operations = 100"), BELOW], "remove operations"),
            (["", &with("think_time = \"1 ms\""), BELOW], "does not work with arrival_rate"),
            (["", IO, &other], "cannot have other questions"),
            (["replicates = 2", IO, BELOW], "at least 3 replicates"),
            (["stop = { rule = \"decided\" }", IO, BELOW], "ends by itself"),
            (["order = \"sequential\"", IO, BELOW], "consecutive replicates"),
            (["factors = { queue_depth = [1, 2] }", IO, BELOW], "varies only the rate"),
        ] {
            let message = asking(lines).unwrap_err();
            assert!(message.contains(told), "{lines:?}: {message}");
        }
    }

    #[test]
    fn what_is_none_says_how_one_is_written() {
        for text in
            ["", "p99", "< 2 ms", "p98 < 2 ms", "p99 < 2", "p99 < 0 ms", "p99 > 2 ms", "384MiB"]
        {
            let message = text.parse::<Limit>().unwrap_err();
            assert!(message.contains("p99 < 2 ms") && !message.contains('\n'), "{message}");
        }
    }
}
