//! The parameters of pages of memory: a unit each.

use assay_core::catalogue::keys::{Form, Need};
use assay_core::quantity::{Bytes, Time};
use serde::{Deserialize, Serialize};

use super::{Content, LEAST, SetSize, Skew};
use crate::keys::{keys, work};

const MOST: Bytes = Bytes(1 << 40);

keys! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "snake_case")]
    pub struct MemorySpec {
        /// Memory that the process may have; as much as there is where none is set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory_limit: Option<Bytes> = Some(Bytes(384 << 20)) => {
            words: "memory limit of the process (control group); the rest is swapped out",
            form: Form::Size { least: LEAST, most: MOST },
            example: "memory_limit = \"384 MiB\"",
            factor: work(
                "An amount with its unit: `384 MiB`, at least 16 MiB.",
                "[\"384 MiB\", \"512 MiB\"]",
                set_memory_limit,
            ),
        }
        working_set: SetSize = SetSize::Percent(150) => {
            words: "working set: bytes of the accessed pages, or a share of memory_limit",
            form: Form::Text,
            need: Need::UnlessFactor,
            example: "working_set = \"150%\"",
            factor: work(
                "An amount with its unit, such as `512 MiB`, or a percentage of memory_limit, such as `150%`.",
                "[\"75%\", \"150%\", \"250%\"]",
                |own, text| Ok(own.working_set = text.parse()?),
            ),
        }
        #[serde(default)]
        compressibility: Content = Content::Random => {
            words: "compressible share of each page",
            form: Form::Content,
            example: "compressibility = \"50%\"",
            factor: work(
                "`0%` is random data, `100%` is zeros.",
                "[\"0%\", \"50%\"]",
                |own, text| Ok(own.compressibility = text.parse()?),
            ),
        }
        #[serde(default)]
        distribution: Skew = Skew::Uniform => {
            words: "distribution of the accesses",
            form: Form::Text,
            example: "distribution = \"zipf:0.9\"",
            factor: work(
                "`uniform`, or Zipf's law with its exponent, such as `zipf:0.9`; Assay scatters the ranks at random.",
                "[\"uniform\", \"zipf:0.9\"]",
                |own, text| Ok(own.distribution = text.parse()?),
            ),
        }
        #[serde(default = "usual_writes")]
        write_share: u8 = usual_writes() => {
            words: "share of write accesses, in percent",
            form: Form::Whole { least: 0, most: 100 },
            example: "write_share = 30",
            factor: work(
                "A whole number from 0 to 100; 30 by default.",
                "[0, 30]",
                set_writes,
            ),
        }
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runtime: Option<Time> = None => {
            words: "measurement window of a trial",
            form: Form::Time { least: Time(1) },
            example: "runtime = \"3 s\"",
        }
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ramp_time: Option<Time> = None => {
            words: "warm-up time before the measurement window; by default, a fifth of the window",
            form: Form::Time { least: Time(0) },
            example: "ramp_time = \"1 s\"",
        }
    }
    beside {
        /// Whether the arm has no swap: then the process gets none either, whatever the machine has.
        #[serde(skip)]
        without_swap: bool = false,
    }
}

const fn usual_writes() -> u8 {
    30
}

fn set_memory_limit(spec: &mut MemorySpec, text: &str) -> Result<(), String> {
    let limit: Bytes = text.parse()?;
    if limit < LEAST {
        return Err(format!("`{text}` is too small; use at least {LEAST}"));
    }
    spec.memory_limit = Some(limit);
    Ok(())
}

fn set_writes(spec: &mut MemorySpec, text: &str) -> Result<(), String> {
    let percent = text.parse().ok().filter(|percent| *percent <= 100);
    let wrong = || format!("`{text}` is not a whole number from 0 to 100");
    spec.write_share = percent.ok_or_else(wrong)?;
    Ok(())
}
