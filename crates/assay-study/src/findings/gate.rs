//! The result of a gate: a study against its baseline, or a later side against an earlier one.

use std::fmt::Write as _;

use assay_core::json::is_default;
use assay_core::quantity::units::show;
use assay_workloads::metrics::noun;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", content = "reason", rename_all = "kebab-case")]
pub enum Ended {
    /// A loss above the limit is not significant and would have been detected.
    Pass,
    /// The loss exceeds the limit (95% confidence).
    Fail,
    Inconclusive(String),
}

/// One workload under one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gated {
    /// Workload, with its arm if there are several.
    pub name: String,
    #[serde(flatten)]
    pub outcome: Ended,
    /// The judged metric; absent if the workload has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Whether more replicates would remain inconclusive.
    #[serde(default, skip_serializing_if = "is_default")]
    #[serde(rename = "final")]
    pub is_final: bool,
    /// Relative loss; negative if it is better.
    pub loss: Option<f64>,
    /// 95% bound of the loss: lower bound if the row failed, else upper bound; for pairs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound95: Option<f64>,
    /// The loss that would have been found with 80% power, as a share.
    pub min_detectable: Option<f64>,
    /// The loss in the unit of the metric, for metrics that may be zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<LossAmount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossAmount {
    pub loss: f64,
    /// 95% bound of the amount: lower bound if the row failed, else upper bound.
    pub bound95: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GateEnd {
    /// No row failed, and each made a statement that has to.
    Pass,
    Fail,
    /// None failed, and one made no statement.
    Inconclusive,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateAnswer {
    /// A loss up to this share is allowed.
    pub max_regression: f64,
    /// Absolute limit in the unit of a metric that may be zero, instead of a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_increase: Option<f64>,
    /// A row that cannot detect a loss of this share is inconclusive.
    pub must_detect: f64,
    /// The judged metric, if it is not the primary one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// For a study that runs until its gate is decided: the number of replicates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicates: Option<u32>,
    /// Whether inconclusive rows pass.
    #[serde(default, skip_serializing_if = "is_default")]
    pub allow_inconclusive: bool,
    pub outcome: GateEnd,
    /// The result in words, with its rows.
    pub text: String,
    pub rows: Vec<Gated>,
}

/// Maximum number of rows in the sentence; the list contains all.
const NAMED: usize = 3;

/// Minimum number of replicates before a gate may end a study: the sequence of R8 is infinite for fewer pairs.
pub const FEWEST_TO_END: u32 = 4;

impl Gated {
    pub fn bare(name: String, ended: Ended) -> Self {
        Self {
            name,
            outcome: ended,
            metric: None,
            is_final: false,
            loss: None,
            bound95: None,
            min_detectable: None,
            amount: None,
            suspect: None,
            comparison: None,
        }
    }

    pub fn silent(name: String, reason: String) -> Self {
        Self::bare(name, Ended::Inconclusive(reason))
    }

    pub fn is_silent(&self) -> bool {
        matches!(self.outcome, Ended::Inconclusive(_))
    }

    pub fn is_open(&self) -> bool {
        self.is_silent() && !self.is_final
    }

    /// Describes the row: outcome, loss with its 95% bound, and the smallest detectable regression.
    pub fn text(&self) -> String {
        let word = match &self.outcome {
            Ended::Pass => "passes",
            Ended::Fail => "fails",
            Ended::Inconclusive(reason) => {
                return format!("{}: inconclusive ({reason})", self.name);
            }
        };
        let mut text = format!("{} {word}", self.name);
        let share = self.loss.map(|loss| (loss, percent(loss.abs())));
        let amount = self.amount.map(|amount| (amount.loss, show::three_digits(amount.loss.abs())));
        if let Some((loss, words)) = share.or(amount) {
            let direction = if loss >= 0.0 { "worse" } else { "better" };
            let bound = self.bound().map(|(_, words)| format!(", 95% bound {words}"));
            let _ = write!(text, " ({words} {direction}{})", bound.unwrap_or_default());
        }
        if let Some(least) = self.min_detectable {
            let least = percent(least);
            let _ = write!(text, "; smallest detectable regression {least} (one-sided)");
        }
        if let Some(why) = &self.suspect {
            let _ = write!(text, "; {why}");
        }
        text
    }

    /// The loss on the safe side of its interval, also in words.
    fn bound(&self) -> Option<(f64, String)> {
        let share = self.bound95.map(|most| (most, percent(most)));
        share.or(self.amount.map(|amount| (amount.bound95, show::three_digits(amount.bound95))))
    }
}

impl GateEnd {
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "passed",
            Self::Fail => "failed",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl GateAnswer {
    pub fn new(
        max_regression: f64,
        must_detect: f64,
        allow_inconclusive: bool,
        rows: Vec<Gated>,
    ) -> Self {
        let ended = if rows.iter().any(|row| row.outcome == Ended::Fail) {
            GateEnd::Fail
        } else if rows.is_empty() || !allow_inconclusive && rows.iter().any(Gated::is_silent) {
            GateEnd::Inconclusive
        } else {
            GateEnd::Pass
        };
        Self {
            max_regression,
            max_increase: None,
            must_detect,
            metric: None,
            replicates: None,
            allow_inconclusive,
            outcome: ended,
            text: String::new(),
            rows,
        }
        .with_text()
    }

    /// Adds the metric, the allowed increase, and the replicates of a gate-driven study.
    #[must_use]
    pub fn of_study(self, metric: Option<String>, more: Option<f64>, count: Option<u32>) -> Self {
        Self { metric, max_increase: more, replicates: count, ..self }.with_text()
    }

    /// Formats the limit: `5%`, or `10` in the unit of the metric.
    pub fn allowance(&self) -> String {
        allowance(self.max_regression, self.max_increase)
    }

    /// Returns whether a row passed and is below the limit (95% confidence).
    pub fn is_within(&self, row: &Gated) -> bool {
        let is_less = match (self.max_increase, row.amount) {
            // With a limit of zero, a bound of zero is enough.
            (Some(more), Some(amount)) => amount.bound95 <= more,
            _ => row.bound95.is_some_and(|most| most < self.max_regression),
        };
        row.outcome == Ended::Pass && is_less
    }

    fn with_text(mut self) -> Self {
        self.text = format!("{}: {}", self.head(), self.row_words());
        self
    }

    /// Describes how the gate ended, without its rows: `gate passed (limit 5%)`.
    pub fn head(&self) -> String {
        let metric = self.metric.as_deref().map(|name| format!(" on {}", noun(name)));
        let metric = metric.unwrap_or_default();
        let after = self.replicates.map(|count| format!(" after {count} replicates"));
        let possible = self.possible().map(|text| format!("; {text}")).unwrap_or_default();
        let (outcome, limit) = (self.outcome.word(), self.allowance());
        format!("gate {outcome}{metric}{} (limit {limit}){possible}", after.unwrap_or_default())
    }

    /// Describes the largest loss above the limit that a passed gate does not exclude; `None` for other gates.
    pub fn possible(&self) -> Option<String> {
        let is_open = |row: &&Gated| row.outcome == Ended::Pass && !self.is_within(row);
        let bounds = self.rows.iter().filter(is_open).filter_map(Gated::bound);
        let (_, words) = bounds.max_by(|one, other| one.0.total_cmp(&other.0))?;
        // Rounded, both may print alike.
        let most = if words == self.allowance() { "slightly above" } else { "up to" };
        let has_passed = self.outcome == GateEnd::Pass;
        has_passed.then(|| format!("a loss {most} {words} is possible (95% bound)"))
    }

    /// All rows, each in a sentence, but those that make no statement in one.
    pub fn lines(&self) -> Vec<String> {
        let decided = self.rows.iter().filter(|row| !row.is_silent()).map(Gated::text);
        decided.chain(self.inconclusive()).collect()
    }

    /// Lists the inconclusive rows by reason; `None` if there are none.
    fn inconclusive(&self) -> Option<String> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for row in &self.rows {
            let Ended::Inconclusive(reason) = &row.outcome else { continue };
            match reasons.iter_mut().find(|(known, _)| *known == reason.as_str()) {
                Some((_, names)) => names.push(&row.name),
                None => reasons.push((reason.as_str(), vec![row.name.as_str()])),
            }
        }
        let line = |(reason, names): &(&str, Vec<&str>)| format!("{}: {reason}", names.join(", "));
        let silent = self.rows.iter().filter(|row| row.is_silent()).count();
        match reasons.as_slice() {
            [] => None,
            [one] => Some(format!("inconclusive ({})", line(one))),
            several => Some(format!(
                "inconclusive: {silent} of {} rows ({})",
                self.rows.len(),
                several.iter().map(line).collect::<Vec<_>>().join("; ")
            )),
        }
    }

    /// Describes the first few rows that explain the result.
    fn row_words(&self) -> String {
        let explains = |row: &&Gated| match self.outcome {
            GateEnd::Fail => row.outcome == Ended::Fail,
            GateEnd::Inconclusive => row.is_silent(),
            GateEnd::Pass => true,
        };
        // An inconclusive gate does not repeat that per row; a passed gate names its inconclusive rows.
        let describe = |row: &Gated| match (&row.outcome, self.outcome) {
            (Ended::Inconclusive(reason), GateEnd::Inconclusive) => {
                format!("{}: {reason}", row.name)
            }
            (Ended::Pass, _) if row.loss.is_some_and(|loss| loss > self.max_regression) => {
                format!("{}; the excess over the limit is not significant", row.text())
            }
            _ => row.text(),
        };
        let rows: Vec<String> = self.rows.iter().filter(explains).map(describe).collect();
        let named = rows.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
        match rows.len().saturating_sub(NAMED) {
            _ if rows.is_empty() => "nothing to compare".to_owned(),
            0 => named,
            more => format!("{named}; and {more} more"),
        }
    }
}

/// Formats the limit of a gate: a share, or an amount in the unit of the metric.
pub fn allowance(share: f64, more: Option<f64>) -> String {
    more.map_or_else(|| percent(share), show::three_digits)
}

/// Formats a share in percent, with tenths below ten: a gate of 2.5% must not print as 3%.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if !(1.0..9.95).contains(&percent) {
        return show::percent(percent);
    }
    let tenths = (10.0 * percent).round();
    let digits = usize::from(tenths % 10.0 != 0.0);
    format!("{:.digits$}%", tenths / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ended: Ended, loss: f64, surely: Option<f64>) -> Gated {
        let seen = Some(0.09);
        Gated {
            loss: Some(loss),
            bound95: surely,
            min_detectable: seen,
            ..Gated::bare("it".to_owned(), ended)
        }
    }

    fn blind() -> Gated {
        Gated::silent("b".to_owned(), "too few".to_owned())
    }

    #[test]
    fn one_row_decides_unless_it_is_silent_and_may_be() {
        let [pass, fail] = [row(Ended::Pass, 0.0, None), row(Ended::Fail, 0.2, None)];
        let ended = |allow, rows: &[&Gated]| {
            let rows = rows.iter().map(|row| (*row).clone()).collect();
            GateAnswer::new(0.05, 0.3, allow, rows).outcome
        };
        assert_eq!(ended(false, &[&pass]), GateEnd::Pass);
        assert_eq!(ended(false, &[&pass, &blind()]), GateEnd::Inconclusive);
        assert_eq!(ended(true, &[&pass, &blind()]), GateEnd::Pass);
        assert_eq!(ended(true, &[&fail, &blind(), &pass]), GateEnd::Fail);
        assert_eq!(ended(true, &[]), GateEnd::Inconclusive);
    }

    #[test]
    fn rows_say_what_is_sure_and_what_would_have_been_found() {
        let seen = "; smallest detectable regression 9% (one-sided)";
        for (one, told) in [
            (row(Ended::Pass, 0.012, None), "passes (1.2% worse)"),
            (row(Ended::Pass, 0.012, Some(0.034)), "passes (1.2% worse, 95% bound 3.4%)"),
            (row(Ended::Pass, -0.2, Some(-0.1)), "passes (20% better, 95% bound -10%)"),
            (row(Ended::Fail, 0.2, Some(0.18)), "fails (20% worse, 95% bound 18%)"),
        ] {
            assert_eq!(one.text(), format!("it {told}{seen}"));
        }
        let suspect = Gated {
            suspect: Some("the number of x is suspect (foreign)".to_owned()),
            ..row(Ended::Pass, 0.0, None)
        };
        assert!(suspect.text().ends_with("9% (one-sided); the number of x is suspect (foreign)"));
        assert_eq!(blind().text(), "b: inconclusive (too few)");
    }

    #[test]
    fn a_few_rows_stand_for_all_and_the_replicates_are_told() {
        let rows = vec![row(Ended::Fail, 0.2, None); 5];
        let told = GateAnswer::new(0.025, 0.3, false, rows).of_study(None, None, Some(12));
        assert!(told.text.starts_with("gate failed after 12 replicates (limit 2.5%): it fails"));
        assert!(told.text.ends_with("; and 2 more"), "{}", told.text);
        let named = Some("peak_memory_bytes".to_owned());
        let told = GateAnswer::new(0.05, 0.3, false, Vec::new()).of_study(named, None, None);
        assert!(told.text.starts_with("gate inconclusive on "), "{}", told.text);
        assert!(told.text.ends_with(" (limit 5%): nothing to compare"), "{}", told.text);
    }

    #[test]
    fn of_what_may_be_zero_an_amount_is_told() {
        let of = |ended: Ended, loss: f64, surely: f64| Gated {
            amount: Some(LossAmount { loss, bound95: surely }),
            ..Gated::bare("it".to_owned(), ended)
        };
        let gate = |row: Gated| {
            let named = Some("major_faults".to_owned());
            let answer = GateAnswer::new(0.0, 0.3, false, vec![row]);
            answer.of_study(named, Some(10.0), None)
        };
        let failed = gate(of(Ended::Fail, 40.0, 35.0));
        assert_eq!(
            failed.text,
            "gate failed on major page faults (limit 10): it fails (40 worse, 95% bound 35)"
        );
        let passed = gate(of(Ended::Pass, 1.0, 2.5));
        assert!(passed.text.ends_with("it passes (1 worse, 95% bound 2.5)"), "{}", passed.text);
        assert!(passed.is_within(&passed.rows[0]) && !failed.is_within(&failed.rows[0]));
        let equal = gate(of(Ended::Pass, 0.0, 0.0));
        assert!(equal.text.ends_with("(0 worse, 95% bound 0)"), "{}", equal.text);
        let none = GateAnswer { max_increase: Some(0.0), ..equal };
        assert!(none.is_within(&none.rows[0]));
        let above = of(Ended::Pass, 0.0, 0.5);
        assert!(!none.is_within(&above));
        let json = serde_json::to_value(&failed).unwrap();
        assert_eq!(
            (json["max_increase"].as_f64(), json["rows"][0]["amount"]["loss"].as_f64()),
            (Some(10.0), Some(40.0))
        );
        assert_eq!(serde_json::from_value::<GateAnswer>(json).unwrap(), failed);
        // A gate with a share has no amount.
        let share = GateAnswer::new(0.05, 0.3, false, vec![row(Ended::Pass, 0.0, Some(0.01))]);
        assert!(
            share.is_within(&share.rows[0]) && share.text.starts_with("gate passed (limit 5%)")
        );
        let json = serde_json::to_value(&share).unwrap();
        assert!(json.get("max_increase").is_none() && json["rows"][0].get("amount").is_none());
    }

    #[test]
    fn that_there_is_no_statement_is_said_once() {
        let silent = |name: &str, why: &str| Gated::silent(name.to_owned(), why.to_owned());
        let of = |rows: Vec<Gated>| GateAnswer::new(0.05, 0.3, false, rows);
        let told = of(vec![
            silent("a", "too few"),
            row(Ended::Pass, 0.0, None),
            silent("b", "too few"),
            silent("c", "invalid"),
        ]);
        assert_eq!(told.text, "gate inconclusive (limit 5%): a: too few; b: too few; c: invalid");
        assert_eq!(
            told.lines(),
            [
                row(Ended::Pass, 0.0, None).text(),
                "inconclusive: 3 of 4 rows (a, b: too few; c: invalid)".to_owned(),
            ]
        );
        assert_eq!(of(vec![blind()]).lines(), ["inconclusive (b: too few)"]);
        // A passed gate names its inconclusive rows.
        let rows = vec![row(Ended::Pass, 0.0, None), blind()];
        let passed = GateAnswer::new(0.05, 0.3, true, rows);
        assert!(passed.text.ends_with("; b: inconclusive (too few)"), "{}", passed.text);
        // If all rows are decided, no line mentions inconclusive ones.
        let decided = of(vec![row(Ended::Pass, 0.0, None), row(Ended::Fail, 0.2, None)]);
        assert!(decided.lines().iter().all(|line| !line.contains("inconclusive")));
        assert_eq!(decided.lines().len(), 2);
        assert!(of(Vec::new()).lines().is_empty());
    }

    #[test]
    fn it_comes_back_from_json() {
        let mut pass = row(Ended::Pass, 0.01, Some(0.03));
        pass.comparison = Some("work:iops:setting=b".to_owned());
        pass.metric = Some("iops".to_owned());
        let rows = vec![pass, blind(), row(Ended::Fail, 0.4, None)];
        let told = GateAnswer::new(0.05, 0.3, false, rows).of_study(None, None, Some(7));
        let json = serde_json::to_value(&told).unwrap();
        assert_eq!(
            (json["outcome"].as_str(), json["rows"][0]["outcome"].as_str()),
            (Some("fail"), Some("pass"))
        );
        assert_eq!(json["rows"][1]["outcome"], "inconclusive");
        assert_eq!(json["rows"][1]["reason"], "too few");
        assert!(json["rows"][1].get("final").is_none());
        assert_eq!(json["rows"][0]["metric"], "iops");
        assert!(json["rows"][1].get("metric").is_none());
        assert_eq!(serde_json::from_value::<GateAnswer>(json).unwrap(), told);
    }

    #[test]
    fn a_silence_that_lasts_is_told_and_is_not_open() {
        let lasting = Gated { is_final: true, ..blind() };
        let json = serde_json::to_value(&lasting).unwrap();
        assert_eq!(json["final"], true);
        assert_eq!(serde_json::from_value::<Gated>(json).unwrap(), lasting);
        assert!(!lasting.is_open() && blind().is_open());
        assert!(!row(Ended::Pass, 0.0, None).is_open());
    }

    #[test]
    fn small_shares_keep_a_tenth() {
        for (share, told) in
            [(0.05, "5%"), (0.025, "2.5%"), (0.0996, "10%"), (0.15, "15%"), (0.0, "0%")]
        {
            assert_eq!(percent(share), told);
        }
    }
}
