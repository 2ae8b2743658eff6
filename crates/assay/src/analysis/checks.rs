//! What the study as a whole should be read with.

use crate::results::findings::Check;
use crate::results::plan::Plan;
use crate::results::record::{Status, Trial};

/// Order, missing trials, disturbed trials, failed trials.
pub(super) fn checks(plan: &Plan, trials: &[Trial]) -> Vec<Check> {
    let mut found = vec![check("order", order(plan))];
    let planned = plan.trials.iter().filter(|trial| !trial.is_lead_in()).count();
    let run = trials.iter().filter(|trial| trial.record.replicate > 0).count();
    if run < planned {
        found.push(check("incomplete", format!("{run} of {planned} planned trials were run")));
    }
    let with = |status| trials.iter().filter(|trial| trial.record.status == status).count();
    let disturbed = with(Status::Disturbed);
    if disturbed > 0 {
        let verbs = if disturbed == 1 {
            "was disturbed and still counts"
        } else {
            "were disturbed and still count"
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

fn check(name: &str, text: String) -> Check {
    Check { name: name.to_owned(), text }
}

fn order(plan: &Plan) -> String {
    let replicates = match plan.replicates {
        1 => "1 replicate".to_owned(),
        count => format!("{count} replicates"),
    };
    let order = if plan.order == "chained" { "chained random" } else { &plan.order };
    format!("{replicates} in {order} order, seed {}", plan.seed)
}
