//! Open loop: operations at a fixed rate, regardless of the drive.

use std::fmt;
use std::str::FromStr;

use assay_core::{catalogue::keys::OwnForm, quantity::units::show};
use assay_load::{Arrivals, Job, LATE_NS, MOST_PER_S, Schedule};
use serde::{Deserialize, Serialize};

use super::IoSpec;

/// Operations per second over all threads, written as `5000/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArrivalRate(u64);

impl ArrivalRate {
    pub const fn per_s(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ArrivalRate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/s", self.0)
    }
}

impl FromStr for ArrivalRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bare = text.trim();
        let bare = bare.strip_suffix("/s").unwrap_or(bare).trim_end();
        let plain: String = bare.chars().filter(|sign| *sign != ',').collect();
        let number = plain.parse::<u64>().ok().filter(|rate| (1..=MOST_PER_S).contains(rate));
        number.map(Self).ok_or_else(|| {
            format!(
                "`{text}` is not a rate; use operations per second from 1 to {}, such as 5000/s",
                show::count(MOST_PER_S)
            )
        })
    }
}

assay_core::as_text!(ArrivalRate);

pub(super) static FORM: OwnForm = OwnForm {
    read: |text| text.parse::<ArrivalRate>().map(String::from),
    pattern: "^[0-9][0-9,]*( ?/s)?$",
    example: "5000/s",
    number: Some([1, MOST_PER_S]),
};

pub(super) fn written(text: &str) -> Option<String> {
    text.parse::<ArrivalRate>().ok().map(String::from)
}

pub(super) fn set(io: &mut IoSpec, text: &str) -> Result<(), String> {
    io.arrival_rate = Some(text.parse()?);
    Ok(())
}

pub(super) fn configure_job(io: &IoSpec, job: &mut Job) {
    job.schedule =
        io.arrival_rate.map(|rate| Schedule { rate_per_s: rate.0, arrivals: io.arrival_process });
}

pub(super) fn describe(io: &IoSpec) -> Option<String> {
    let words = match io.arrival_process {
        Arrivals::Fixed => "at equal intervals",
        Arrivals::Poisson => "at random intervals (Poisson)",
    };
    io.arrival_rate.map(|rate| format!("{} starts per second {words}", show::count(rate.0)))
}

pub fn tolerance() -> String {
    show::duration(LATE_NS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_reads_as_it_is_written() {
        for text in ["5000/s", "5000", " 5,000 /s", "5,000/s"] {
            let rate: ArrivalRate = text.parse().unwrap();
            assert_eq!((rate.per_s(), rate.to_string()), (5_000, "5000/s".to_owned()), "{text}");
            assert_eq!(written(text).as_deref(), Some("5000/s"));
            assert_eq!((FORM.read)(text).as_deref(), Ok("5000/s"));
        }
        let json = serde_json::to_string(&ArrivalRate(70)).unwrap();
        assert_eq!(
            (json.as_str(), serde_json::from_str(&json).unwrap()),
            ("\"70/s\"", ArrivalRate(70))
        );
    }

    #[test]
    fn what_is_no_rate_says_what_to_write() {
        for text in ["", "0", "0/s", "-5/s", "5/min", "many", "1.5/s", "10000001/s"] {
            let told = text.parse::<ArrivalRate>().unwrap_err();
            assert!(told.contains("such as 5000/s"), "{told}");
            assert_eq!(written(text), None);
        }
    }
}
