//! Questions of a study, and the claimed properties of a storage card.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::printed::Claimed;

use assay_core::exhibit::Unit;
use assay_core::quantity::{Bytes, Time};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    pub kind: AskKind,
    pub ask: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    pub workloads: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versus: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub between: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Amount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Amount>,
    /// Limit of the response time, as written: see [`Limit`](super::limit::Limit).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskKind {
    /// The metric is best at a level between two.
    Peak,
    Linear,
    Flat,
    Best,
    Worst,
    Better,
    /// Two levels are equivalent within the margin.
    Equivalent,
    /// The metric is at least, or at most, a value.
    Bound,
    /// The ratio of two levels is at least, or at most, a value.
    Ratio,
    /// The knee: the highest level at which the metric is at most a value.
    Knee,
    /// One level has as much as the best of all, within the margin.
    Enough,
    /// The highest rate at which the response stays below a limit (R16).
    MaxRate,
}

impl AskKind {
    #[rustfmt::skip]
    pub const WORDS: [&'static str; 12] = [
        "peak", "linear", "flat", "best", "worst", "better", "equivalent", "bound", "ratio", "knee", "enough",
        "max-rate",
    ];

    /// Returns the keys that this kind of question requires, except limits.
    pub const fn needs(self) -> &'static [&'static str] {
        match self {
            Self::Peak => &["factor", "between"],
            Self::Linear | Self::Flat => &["factor"],
            Self::Best | Self::Worst | Self::Knee | Self::Enough => &["factor", "level"],
            Self::Better | Self::Equivalent => &["factor", "level", "versus"],
            Self::MaxRate => &["slo"],
            Self::Bound | Self::Ratio => &[],
        }
    }

    pub const fn is_of_two(self) -> bool {
        matches!(self, Self::Better | Self::Equivalent | Self::Ratio)
    }
}

impl Ask {
    /// Returns all levels of a factor that the question names: the fixed one, and those of its own factor.
    pub fn levels_of(&mut self, factor: &str) -> impl Iterator<Item = &mut String> {
        let is_own_factor = self.factor.as_deref() == Some(factor);
        let compared =
            [&mut self.level, &mut self.versus].into_iter().flatten().chain(&mut self.between);
        self.at.get_mut(factor).into_iter().chain(compared.filter(move |_| is_own_factor))
    }

    /// Returns whether no level is named: the second level of the varied factor is then compared with the first.
    pub fn is_of_any_two(&self) -> bool {
        let names_level = self.level.is_some() || self.versus.is_some();
        let may_omit_levels = self.kind == AskKind::Ratio || self.factor.is_none();
        self.kind.is_of_two() && may_omit_levels && !names_level
    }

    /// Returns the first key that this kind of question needs and that is missing.
    pub fn lacks(&self) -> Option<&'static str> {
        let is_given = |key: &str| match key {
            "factor" => self.factor.is_some(),
            "level" => self.level.is_some(),
            "versus" => self.versus.is_some(),
            "slo" => self.slo.is_some(),
            _ => self.between.len() == 2,
        };
        let needs = if self.is_of_any_two() {
            &[][..]
        } else if self.kind.is_of_two() {
            &["factor", "level", "versus"]
        } else {
            self.kind.needs()
        };
        if let Some(key) = needs.iter().copied().find(|key| !is_given(key)) {
            return Some(key);
        }
        match self.kind {
            AskKind::Knee if self.max.is_none() => Some("max"),
            AskKind::Bound | AskKind::Ratio if self.min.is_none() && self.max.is_none() => {
                Some("min")
            }
            _ => None,
        }
    }
}

impl Amount {
    pub fn is_decimal_rate(&self) -> bool {
        self.text.ends_with("B/s") && !self.text.ends_with("iB/s")
    }

    pub fn is_ratio(&self) -> bool {
        parse_ratio(&self.text).is_some()
    }

    /// Returns the amount in the unit of a metric; seconds if the metric is in seconds.
    pub fn in_unit_of(&self, metric: &str) -> f64 {
        let is_time = self.text.parse::<Time>().is_ok();
        if Unit::of_metric(metric) == Unit::Seconds && is_time {
            self.value / 1e9
        } else {
            self.value
        }
    }
}

/// A number with a unit (`90 IOPS`, `95 MB/s`, `100 us`), or a ratio (`1/3`, `4.5 times`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Amount {
    pub text: String,
    /// Value in the unit of its metric: operations or bytes per second, or nanoseconds; a ratio is plain.
    pub value: f64,
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let value = if let Some(ratio) = parse_ratio(text) {
            ratio
        } else if let Some(iops) = text.strip_suffix("IOPS").or_else(|| text.strip_suffix("iops")) {
            iops.trim().parse().map_err(|_| wrong(text))?
        } else if let Some(bytes) = text.strip_suffix("/s") {
            let bytes = bytes.parse::<Bytes>();
            bytes.map_err(|error| format!("{error}/s, as in 95 MB/s"))?.0 as f64
        } else {
            text.parse::<Time>().map_err(|_| wrong(text))?.0 as f64
        };
        if !value.is_finite() || value <= 0.0 {
            return Err(wrong(text));
        }
        Ok(Self { text: text.to_owned(), value })
    }
}

/// Parses `4.5 times` or `1/3`; `None` for other texts, such as `95 MB/s`.
fn parse_ratio(text: &str) -> Option<f64> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let value = if let Some(times) = text.strip_suffix("times") {
        number(times)?
    } else {
        let (above, below) = text.split_once('/')?;
        number(above)? / number(below)?
    };
    (value.is_finite() && value > 0.0).then_some(value)
}

/// The error for a text that is not an amount.
fn wrong(text: &str) -> String {
    format!(
        "`{text}` is not an amount; use a number with a unit, such as 90 IOPS, 95 MB/s or 100 us"
    )
}

assay_core::as_text!(Amount);

impl fmt::Display for Amount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// Claimed properties of a card or drive; the card table compares them with the measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Card {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub rated: Option<Claimed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub capacity: Option<Bytes>,
}

/// An amount of money: `12.50 GBP`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Price {
    pub amount: f64,
    /// Three letters, as ISO 4217 has them.
    pub currency: String,
    pub text: String,
}

impl FromStr for Price {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a price; example: 12.50 GBP");
        let (amount, currency) = text.trim().split_once(' ').ok_or_else(wrong)?;
        let amount: f64 = amount.parse().map_err(|_| wrong())?;
        let currency = currency.trim();
        let is_code = currency.len() == 3 && currency.chars().all(|c| c.is_ascii_uppercase());
        if !is_code || !amount.is_finite() || amount <= 0.0 {
            return Err(wrong());
        }
        Ok(Self { amount, currency: currency.to_owned(), text: text.trim().to_owned() })
    }
}

assay_core::as_text!(Price);

impl fmt::Display for Price {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_unit_of_what_they_count() {
        for (text, value) in [
            ("90 IOPS", 90.0),
            ("0.5 iops", 0.5),
            ("95 MB/s", 95e6),
            ("535.8 MB/s", 535.8e6),
            ("2 GiB/s", 2_147_483_648.0),
            ("100 us", 100e3),
            ("1/4", 0.25),
            ("4.5 times", 4.5),
        ] {
            let amount: Amount = text.parse().unwrap();
            assert_eq!(amount.value, value, "{text}");
            assert_eq!(amount.is_decimal_rate(), text.ends_with("MB/s"), "{text}");
            assert_eq!(String::from(amount), text);
        }
        for text in ["90", "0 IOPS", "-3 IOPS", "95 MB", "fast", "95 /s", "", "0/3", "1/0", "times"]
        {
            let message = text.parse::<Amount>().unwrap_err();
            assert!(!message.contains('\n') && message.contains("95 MB/s"), "{message}");
        }
    }

    #[test]
    fn a_price_names_its_currency() {
        let price: Price = "12.50 GBP".parse().unwrap();
        assert_eq!((price.amount, price.currency.as_str()), (12.5, "GBP"));
        for text in ["12.50", "GBP 12", "12 gbp", "0 EUR", "12 POUND", "-1 EUR"] {
            assert!(text.parse::<Price>().unwrap_err().contains("12.50 GBP"), "{text}");
        }
    }

    #[test]
    fn every_word_is_a_kind() {
        for word in AskKind::WORDS {
            let kind: AskKind = serde_json::from_value(serde_json::json!(word)).unwrap();
            let known = ["factor", "level", "versus", "between", "slo"];
            assert!(kind.needs().iter().all(|key| known.contains(key)));
        }
    }
}
