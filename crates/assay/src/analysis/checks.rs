//! What the study as a whole should be read with.

use crate::results::design::{Order, Stopping};
use crate::results::findings::Check;
use crate::results::plan::Plan;
use crate::results::record::{Status, Trial};

/// Order, missing trials, disturbed trials, failed trials.
pub(super) fn checks(plan: &Plan, trials: &[Trial], ended: Option<&str>) -> Vec<Check> {
    let mut found = vec![check("order", order(plan))];
    let planned = plan.trials.iter().filter(|trial| !trial.is_lead_in()).count();
    let repeats = trials.iter().filter(|trial| trial.record.repeats.is_some()).count();
    let run = trials.iter().filter(|trial| trial.record.replicate > 0).count();
    match ended {
        Some(why) if !why.is_empty() => found.push(check("stopping", why.to_owned())),
        _ if run - repeats < planned => {
            let run = run - repeats;
            found.push(check("incomplete", format!("{run} of {planned} planned trials were run")));
        }
        _ => {}
    }
    found.extend(stopping(plan));
    if repeats > 0 {
        let verb = if repeats == 1 { "trial was" } else { "trials were" };
        let text = format!("{repeats} {verb} run again at the end, because others were disturbed");
        found.push(check("repeats", text));
    }
    let with = |status| trials.iter().filter(|trial| trial.record.status == status).count();
    let disturbed = with(Status::Disturbed);
    if disturbed > 0 {
        let verbs = match (disturbed, plan.design.margin) {
            (1, None) => "was disturbed and still counts",
            (_, None) => "were disturbed and still count",
            (1, Some(_)) => "was disturbed; verdicts leave it out",
            (_, Some(_)) => "were disturbed; verdicts leave them out",
        };
        found.push(check("disturbed", format!("{disturbed} of {run} trials {verbs}")));
    }
    let failed = with(Status::Failed);
    if failed > 0 {
        let verbs =
            if failed == 1 { "failed and does not count" } else { "failed and do not count" };
        found.push(check("failed", format!("{failed} of {run} trials {verbs}")));
    }
    found
}

/// The rule by which the study could end early; nothing where it could not.
fn stopping(plan: &Plan) -> Option<Check> {
    let text = match &plan.design.stopping {
        Stopping::Fixed => return None,
        Stopping::Looks { at, .. } => {
            let at: Vec<String> = at.iter().map(ToString::to_string).collect();
            format!(
                "looked at after {} replicates, each look with an equal share of the 5 % error",
                at.join(", ")
            )
        }
        Stopping::Open { .. } => {
            "looked at after every replicate, by a confidence sequence that holds at all of them"
                .to_owned()
        }
    };
    Some(check("stopping", text))
}

fn check(name: &str, text: String) -> Check {
    Check { name: name.to_owned(), text }
}

fn order(plan: &Plan) -> String {
    let replicates = match plan.replicates {
        1 => "1 replicate".to_owned(),
        count => format!("{count} replicates"),
    };
    let order = match plan.design.order {
        Order::Chained => "in chained random order",
        Order::Rcbd => "each in a random order of its own",
        Order::Crd => "all trials in one random order",
        Order::Sequential => "one arm after the other",
        Order::Unknown => "in an order that was not recorded",
    };
    let comma = if plan.design.order == Order::Chained { "" } else { "," };
    format!("{replicates}{comma} {order}, seed {}", plan.seed)
}
