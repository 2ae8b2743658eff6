//! Numbers in a program's output: their location, names and parsing.

mod found;
mod named;
mod plain;

use std::borrow::Cow;
use std::str::FromStr;

use assay_core::quantity::Better;
use regex_lite::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

pub(super) use found::last_bytes;
pub use found::{OutputReader, OutputText};
pub use named::slug;
pub use plain::plain;

/// Prefix of metrics from programs' output: Assay's metrics do not have it.
pub const TOLD: &str = "reported_";

/// Other tools' formats of the whole output of a run, as in `assay list importers`; not tables of several trials.
pub const FORMATS: [&str; 16] = [
    "fio-json",
    "fio-log",
    "hyperfine-json",
    "bonnie-csv",
    "iozone",
    "tiobench",
    "elbencho-csv",
    "criterion",
    "go-bench",
    "pytest-benchmark",
    "phoronix-xml",
    "dd",
    "kdiskmark",
    "crystaldiskmark",
    "flent",
    "sysstat-json",
];

pub const MOST_NUMBERS: usize = 64;
/// Bytes at the end of the output that are searched for numbers.
pub const READ_BYTES: u64 = 8 << 20;
pub const MOST_READINGS: usize = 32;
/// Size limit of a compiled pattern: about a thousand states, each checked per byte.
const PATTERN_BYTES: usize = 32 << 10;

#[derive(Clone, Debug, PartialEq)]
pub struct ParsedNumber {
    /// Its metric, without the common prefix.
    pub name: String,
    pub better: Better,
    pub value: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportEvidence {
    /// Operations in flight: the requested number, and an upper bound of their mean.
    Depth { requested: f64, reached: f64 },
    /// Requests or bytes counted by the disks, and required by the run.
    Disk { counted: f64, needed: f64, what: Cow<'static, str> },
    /// Bytes per second of reads, and of equal writes.
    Directions { read: f64, written: f64 },
    /// Bytes that the page cache may have absorbed, and bytes per second.
    Buffered { bytes: f64, bytes_per_s: f64 },
    /// A known bug of this version of the tool, and its effect.
    Fault(Cow<'static, str>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    pub numbers: Vec<ParsedNumber>,
    pub evidence: Vec<ImportEvidence>,
}

pub type ReadFormat = fn(format: &str, text: &str) -> Result<ToolOutput, String>;

/// Location of a program's numbers in a study: exactly one of format, pattern and JSON pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParseSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_pointer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The better direction; for a format, that of numbers whose names do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// Its file; `None` for standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl FromStr for ParseSpec {
    type Err = String;

    /// Parses `fio-json`, `go-bench::higher`, `PATTERN:UNIT:higher` or `/POINTER:UNIT:lower`.
    fn from_str(text: &str) -> Result<Self, String> {
        if FORMATS.contains(&text) {
            return Ok(Self { format: Some(text.to_owned()), ..Self::default() });
        }
        // From the right: patterns may contain colons.
        let mut parts = text.rsplitn(3, ':');
        let better = match parts.next() {
            Some("higher") => Some(Better::Higher),
            Some("lower") => Some(Better::Lower),
            _ => None,
        };
        let unit = parts.next();
        let source = parts.next().filter(|source| !source.is_empty());
        let (Some(unit), Some(source), Some(better)) = (unit, source, better) else {
            return Err(format!(
                "`{text}` is not a format and does not end in :UNIT:higher or :UNIT:lower; example: 'tps = \
                 ([0-9.]+):tps:higher', /result/p99:ms:lower or fio-json"
            ));
        };
        let unit = Some(unit.trim().to_owned()).filter(|unit| !unit.is_empty());
        let source = Some(source.to_owned());
        if FORMATS.iter().any(|format| source.as_deref() == Some(*format)) {
            return match unit {
                None => Ok(Self { format: source, better: Some(better), ..Self::default() }),
                Some(_) => {
                    Err(format!("`{text}`: a format defines its own units; remove the unit"))
                }
            };
        }
        let spec = Self { unit, better: Some(better), ..Self::default() };
        Ok(if text.starts_with('/') {
            Self { json_pointer: source, ..spec }
        } else {
            Self { regex: source, ..spec }
        })
    }
}

impl ParseSpec {
    pub fn words(&self) -> String {
        let what = match (&self.format, &self.regex, &self.json_pointer) {
            (Some(format), ..) => format.clone(),
            (_, Some(pattern), _) => format!("`{pattern}`"),
            (_, _, Some(json)) => json.clone(),
            _ => "nothing".to_owned(),
        };
        what + &self.file.as_ref().map(|from| format!(" of {from}")).unwrap_or_default()
    }

    /// Names of its metrics; empty if they depend on the output, or the pattern is invalid.
    pub fn metrics(&self) -> Vec<String> {
        // The study may set the name; otherwise it comes from the pointer or the group.
        let metric = |found: &str| {
            let name = self.name.as_deref().unwrap_or(found);
            format!("{TOLD}{}", named::metric_name(name, self.unit.as_deref()))
        };
        if let Some(json) = &self.json_pointer {
            return vec![metric(named::last_token(json))];
        }
        let regex = self.regex.as_deref().and_then(|pattern| compile(pattern).ok());
        let groups = regex.as_ref().map(named::group_names).unwrap_or_default();
        groups.iter().map(|group| metric(group.as_deref().unwrap_or_default())).collect()
    }
}

/// Compiles a pattern, with matching in linear time.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    let regex = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build();
    let regex = regex.map_err(|error| format!("invalid regular expression: {error}"))?;
    // `captures_len` counts the whole match, too.
    let groups = regex.captures_len() - 1;
    if groups > MOST_NUMBERS {
        return Err(format!("the pattern has {groups} groups; the limit is {MOST_NUMBERS}"));
    }
    Ok(regex)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ParseSpec {
        text.parse().unwrap()
    }

    #[test]
    fn a_short_form_is_a_format_a_pattern_or_a_pointer() {
        assert_eq!(read("fio-json").format.as_deref(), Some("fio-json"));
        let stated = read("go-bench::higher");
        assert_eq!(
            (stated.format.as_deref(), stated.better),
            (Some("go-bench"), Some(Better::Higher))
        );
        assert!(
            "go-bench:ops:higher".parse::<ParseSpec>().unwrap_err().contains("remove the unit")
        );
        let pattern = read("latency: ([0-9.]+) ms:ms:lower");
        assert_eq!(pattern.regex.as_deref(), Some("latency: ([0-9.]+) ms"));
        assert_eq!((pattern.unit.as_deref(), pattern.better), (Some("ms"), Some(Better::Lower)));
        let pointer = read("/end/sum_received/bits_per_second::higher");
        assert_eq!(pointer.json_pointer.as_deref(), Some("/end/sum_received/bits_per_second"));
        assert_eq!((pointer.unit.as_deref(), pointer.better), (None, Some(Better::Higher)));
        for wrong in
            ["", "fio-jsn", "tps = ([0-9.]+)", "x:higher", "::higher", "a:b:c", "a:b:Higher"]
        {
            let told = wrong.parse::<ParseSpec>().unwrap_err();
            assert!(told.contains("PATTERN") || told.contains("example: "), "{told}");
        }
    }

    #[test]
    fn what_a_pattern_costs_is_bounded_by_its_size_and_its_groups() {
        let groups = |count| "(a)".repeat(count);
        assert!(compile(&groups(MOST_NUMBERS)).is_ok());
        let told = compile(&groups(MOST_NUMBERS + 1)).unwrap_err();
        assert!(told.contains("65 groups; the limit is 64"), "{told}");
        assert!(compile("[0-9.]{1,100} ops/s").is_ok());
        let told = compile("(a{100}){100}").unwrap_err();
        assert!(told.contains("size limit"), "{told}");
    }

    #[test]
    fn metrics_carry_their_unit() {
        for (text, names) in [
            ("(?<ops>[0-9.]+) ops/s:ops/s:higher", &["reported_ops_per_s"][..]),
            ("tps = ([0-9.]+):tps:higher", &["reported_tps"]),
            ("/result/p99:ms:lower", &["reported_p99_ms"]),
            ("iops=([0-9]+)::higher", &["reported_number"]),
            ("(?<iops>[0-9]+)::higher", &["reported_iops"]),
            ("(?<min>[0-9]+)/(?<max>[0-9]+) ms:ms:lower", &["reported_min_ms", "reported_max_ms"]),
            ("/end/sum_received/bits_per_second:bits/s:higher", &["reported_bits_per_s"]),
            ("TOTAL[. ]+([0-9.]+)s:s:lower", &["reported_s"]),
            ("fio-json", &[]),
        ] {
            let found = read(text).metrics();
            assert_eq!(found, names, "{text}");
        }
        let named =
            ParseSpec { name: Some("Total Time".to_owned()), ..read("TOTAL ([0-9.]+)s:s:lower") };
        assert_eq!(named.metrics(), ["reported_total_time_s"]);
    }
}
