//! JUnit XML of a gate: one test case per row, for CI pages.

use std::fmt::Write as _;

use assay_core::catalogue::About;
use assay_study::findings::gate::{Ended, GateAnswer, Gated};
use assay_study::findings::{Comparison, Findings};

use super::{Exporter, brief, nothing};
use crate::xml::escaped;

pub const EXPORTER: Exporter = Exporter {
    about: About {
        name: "junit",
        summary: "JUnit XML of a gate, for CI systems",
        text: "One test case per gated row, named by workload, configuration and metric. A failed row has the gate's \
               message; an inconclusive row is skipped with the reason. Properties contain the loss and the detectable \
               loss; for paired trials, also the ratio with its 95% CI and the number of replicates. Only a result \
               with a gate has test cases; an inconclusive gate has its own exit code.",
    },
    write,
    left_out: nothing,
};

/// The rows of a gate (pass/fail rule) as test cases; `None` for a result without a gate.
fn write(findings: &Findings) -> Option<String> {
    let gate = findings.answers.gate.as_ref()?;
    let suite = findings.study.title.as_str();
    let cases: Vec<String> = if gate.rows.is_empty() {
        // Without a case, the report would look as if there was no gate.
        vec![case(suite, "gate", "", &skipped(&gate.text))]
    } else {
        gate.rows.iter().map(|row| row_case(suite, row, findings)).collect()
    };
    let count = |is_counted: fn(&&Gated) -> bool| gate.rows.iter().filter(is_counted).count();
    let tests = cases.len().to_string();
    let failures = count(|row| row.outcome == Ended::Fail).to_string();
    // A gate without rows has one case, which is skipped.
    let skipped = if gate.rows.is_empty() { 1 } else { count(|row| row.is_silent()) }.to_string();
    let counts = [
        ("tests", tests.as_str()),
        ("failures", failures.as_str()),
        ("errors", "0"),
        ("skipped", skipped.as_str()),
    ];
    let with_name = |name: &'static str, value| [&[(name, value)][..], &counts[..]].concat();
    let content = properties(&gate_properties(gate, findings)) + &cases.concat();
    let suites = element("testsuite", &with_name("name", suite), &content);
    let document = element("testsuites", &with_name("name", "assay"), &suites);
    Some(format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{document}"))
}

fn gate_properties(gate: &GateAnswer, findings: &Findings) -> Vec<(&'static str, String)> {
    let mut properties = vec![
        ("study", findings.study.id.clone()),
        ("started", findings.study.started.clone()),
        ("gate", gate.head()),
    ];
    match gate.max_increase {
        Some(increase) => properties.push(("allowed_loss", brief(increase))),
        None => properties.extend([
            ("allowed_loss_percent", percent(gate.max_regression)),
            ("wanted_detectable_loss_percent", percent(gate.must_detect)),
        ]),
    }
    properties.extend(gate.replicates.map(|count| ("replicates", count.to_string())));
    properties
}

fn row_case(suite: &str, row: &Gated, findings: &Findings) -> String {
    let name = match &row.metric {
        Some(metric) => format!("{}: {metric}", row.name),
        None => row.name.clone(),
    };
    let outcome = match &row.outcome {
        Ended::Pass => String::new(),
        Ended::Fail => {
            let text = row.text();
            // Some viewers show the attribute, others the content.
            element("failure", &[("type", "gate"), ("message", &text)], &(escaped(&text) + "\n"))
        }
        Ended::Inconclusive(reason) => skipped(reason),
    };
    case(suite, &name, &properties(&row_properties(row, findings)), &outcome)
}

/// The numbers behind the outcome of a row; losses are changes for the worse.
fn row_properties(row: &Gated, findings: &Findings) -> Vec<(&'static str, String)> {
    let bound =
        if row.outcome == Ended::Fail { "loss_at_least_percent" } else { "loss_at_most_percent" };
    let losses = [
        ("loss_percent", row.loss),
        (bound, row.bound95),
        ("detectable_loss_percent", row.min_detectable),
    ];
    let mut properties: Vec<(&'static str, String)> =
        losses.into_iter().filter_map(|(name, share)| Some((name, percent(share?)))).collect();
    if let Some(amount) = row.amount {
        let bound = if row.outcome == Ended::Fail { "loss_at_least" } else { "loss_at_most" };
        properties.extend([("loss", brief(amount.loss)), (bound, brief(amount.bound95))]);
    }
    let is_of_row = |it: &&Comparison| Some(&it.id) == row.comparison.as_ref();
    if let Some(one) = findings.comparisons.iter().find(is_of_row) {
        properties.extend(one.ratio.map(|ratio| ("ratio", brief(ratio))));
        if let Some([low, high]) = one.ci95_simultaneous.or(one.ci95) {
            properties.push(("ratio_ci95_low", brief(low)));
            properties.push(("ratio_ci95_high", brief(high)));
        }
        properties.push(("replicates", one.n.to_string()));
    }
    properties.extend(row.suspect.clone().map(|why| ("suspect", why)));
    properties
}

fn percent(share: f64) -> String {
    brief(100.0 * share)
}

fn skipped(reason: &str) -> String {
    element("skipped", &[("message", reason)], "")
}

fn case(suite: &str, name: &str, properties: &str, outcome: &str) -> String {
    let inside = format!("{properties}{outcome}");
    element("testcase", &[("classname", suite), ("name", name)], &inside)
}

fn properties(values: &[(&str, String)]) -> String {
    let each = values.iter().map(|(name, value)| {
        element("property", &[("name", *name), ("value", value.as_str())], "")
    });
    let inside: String = each.collect();
    if inside.is_empty() { inside } else { element("properties", &[], &inside) }
}

fn element(name: &str, attributes: &[(&str, &str)], inside: &str) -> String {
    let mut text = format!("<{name}");
    for (key, value) in attributes {
        let _ = write!(text, " {key}=\"{}\"", escaped(value));
    }
    text.push_str(if inside.is_empty() { "/>\n" } else { ">\n" });
    if !inside.is_empty() {
        let _ = writeln!(text, "{inside}</{name}>");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    const HOSTILE: &str = "read (a=\"<b>\" & 'c' ]]> \u{0}\u{1b}[31m\u{fffe}\u{202e}\n)";

    fn gated(rows: Vec<Gated>) -> Findings {
        let mut findings = fixture("study-commands");
        findings.answers.gate = Some(GateAnswer::new(0.05, 0.3, false, rows));
        findings
    }

    fn primary(findings: &Findings) -> &Comparison {
        findings.comparisons.iter().find(|one| one.primary).unwrap()
    }

    fn failed(findings: &Findings) -> Gated {
        Gated {
            metric: Some("duration_s".to_owned()),
            loss: Some(0.5),
            bound95: Some(0.4),
            min_detectable: Some(0.123_6),
            comparison: Some(primary(findings).id.clone()),
            ..Gated::bare("command (xz)".to_owned(), Ended::Fail)
        }
    }

    fn written(findings: &Findings) -> String {
        write(findings).unwrap()
    }

    #[test]
    fn a_row_is_a_case_with_the_sentence_of_the_gate_and_its_numbers() {
        let row = failed(&gated(Vec::new()));
        let sentence = row.text();
        let pass = Gated { loss: Some(-0.01), ..Gated::bare("quiet".to_owned(), Ended::Pass) };
        let silent = Gated::silent("blind".to_owned(), "it has 2 pairs".to_owned());
        let findings = gated(vec![row, pass, silent]);
        let found = written(&findings);
        let counts = "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">";
        assert_eq!(found.matches(counts).count(), 2, "{found}");
        assert!(found.contains(" name=\"command (xz): duration_s\">"), "{found}");
        assert!(
            found.contains(&format!("message=\"{sentence}\">\n{sentence}\n</failure>")),
            "{found}"
        );
        assert!(found.contains("<skipped message=\"it has 2 pairs\"/>"), "{found}");
        let one = primary(&findings);
        let [low, high] = one.ci95_simultaneous.or(one.ci95).unwrap();
        for (name, value) in [
            ("allowed_loss_percent", "5".to_owned()),
            ("loss_percent", "50".to_owned()),
            ("loss_at_least_percent", "40".to_owned()),
            ("detectable_loss_percent", "12.36".to_owned()),
            ("ratio", brief(one.ratio.unwrap())),
            ("ratio_ci95_low", brief(low)),
            ("ratio_ci95_high", brief(high)),
            ("replicates", one.n.to_string()),
            ("loss_percent", "-1".to_owned()),
        ] {
            let property = format!("<property name=\"{name}\" value=\"{value}\"/>");
            assert!(found.contains(&property), "{property}: {found}");
        }
        assert_eq!(found.matches("ratio_ci95_low").count(), 1, "of a row that has one alone");
    }

    #[test]
    fn without_a_gate_there_is_nothing_and_a_gate_of_nothing_is_told() {
        assert_eq!(write(&fixture("study-commands")), None);
        let found = written(&gated(Vec::new()));
        assert!(found.contains("tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\""), "{found}");
        assert!(found.contains("nothing to compare\"/>"), "{found}");
    }

    #[test]
    fn no_name_gets_out_of_its_place() {
        let row = |ended| Gated {
            metric: Some(HOSTILE.to_owned()),
            suspect: Some(HOSTILE.to_owned()),
            ..Gated::bare(HOSTILE.to_owned(), ended)
        };
        let ends = [Ended::Pass, Ended::Fail, Ended::Inconclusive(HOSTILE.to_owned())];
        let mut findings = gated(ends.map(row).into());
        findings.study.title = HOSTILE.to_owned();
        let found = written(&findings);
        assert!(found.chars().all(|sign| sign == '\n' || !sign.is_control()), "{found:?}");
        assert!(!found.contains(['\u{fffe}', '\u{202e}', '\'']), "{found:?}");
        balanced(&found);
        assert_eq!(found.matches("<testcase ").count(), 3);
    }

    /// Checks that elements close in order, and that text has no bare angle bracket or ampersand.
    fn balanced(text: &str) {
        let (head, body) = text.split_once('\n').unwrap();
        assert_eq!(head, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
        let mut open: Vec<&str> = Vec::new();
        for part in body.split('<').skip(1) {
            let (tag, between) = part.split_once('>').unwrap();
            assert!(!between.contains('>'), "{between}");
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.ends_with('/') {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
        for after in body.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
            assert!(known.iter().any(|word| after.starts_with(word)), "{after}");
        }
    }
}
