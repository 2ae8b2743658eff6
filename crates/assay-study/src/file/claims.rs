//! Checks the questions of a study. Levels are checked later: the command line may change them.

use assay_core::quantity::played;
use assay_workloads::{io, metrics};

use super::fields::TARGET_FACTOR;
use super::limit::Limit;
use super::text::mistakes::{Mistakes, ValuePlaces};
use super::{Ask, AskKind, Order, StopRule, Study, words};

pub fn check(study: &Study, places: &ValuePlaces, mistakes: &mut Mistakes) {
    for (index, ask) in study.question.iter().enumerate() {
        let path = format!("question/{index}");
        if ["kind", "workloads", "min", "max", "slo"]
            .iter()
            .any(|key| mistakes.is_wrong(&format!("{path}/{key}")))
        {
            continue;
        }
        if let Some((key, message, hint)) = find_mistake(study, ask) {
            if key.is_empty() {
                mistakes.add(&path, places.find(&path).key, message, hint);
            } else {
                let path = format!("{path}/{key}");
                mistakes.add(&path, places.find(&path).value, message, hint);
            }
        }
    }
    if study.requirements.is_some() {
        check_bounds(study, places, mistakes);
    }
}

/// Requirements need questions of kind bound, and no other kind.
fn check_bounds(study: &Study, places: &ValuePlaces, mistakes: &mut Mistakes) {
    if study.question.is_empty() && !mistakes.is_wrong("question") {
        let hint = "add a [[question]] with kind = \"bound\", or remove requirements".to_owned();
        let message = "requirements: the study has no question of kind bound".to_owned();
        mistakes.add("requirements", places.find("requirements").key, message, Some(hint));
    }
    for (index, ask) in study.question.iter().enumerate() {
        let path = format!("question/{index}/kind");
        if ask.kind != AskKind::Bound && !mistakes.is_wrong(&path) {
            let message = "requirements need kind = \"bound\" in each question".to_owned();
            let hint = "write kind = \"bound\", or remove requirements".to_owned();
            mistakes.add(&path, places.find(&path).value, message, Some(hint));
        }
    }
}

/// Returns key (empty for the question itself), message and hint of the first mistake.
fn find_mistake(study: &Study, ask: &Ask) -> Option<(&'static str, String, Option<String>)> {
    // A source of requirements may give a scale instead of a limit.
    let has_limit_elsewhere = study.requirements.is_some() && ask.published.is_some();
    let needs_no_limit = has_limit_elsewhere && ask.kind == AskKind::Bound;
    if let Some(key) = ask.lacks().filter(|_| !needs_no_limit) {
        let hint = example(key).map(|example| format!("add {example}"));
        return Some(("", format!("this kind of question needs {key}"), hint));
    }
    let names: Vec<&str> = study.workload.iter().map(|work| work.name.as_str()).collect();
    if ask.workloads.is_empty() {
        let hint = format!("the workloads are {}", names.join(", "));
        return Some(("workloads", "a question needs a workload".to_owned(), Some(hint)));
    }
    // Classes of requests are called by the workload that they are of: `backup, reads`.
    let is_known = |name: &str| name.split(", ").next().is_some_and(|name| names.contains(&name));
    if let Some(unknown) = ask.workloads.iter().find(|name| !is_known(name)) {
        let hint = words::did_you_mean(unknown, &names);
        let hint = hint.unwrap_or_else(|| format!("the workloads are {}", names.join(", ")));
        return Some(("workloads", format!("unknown workload \"{unknown}\""), Some(hint)));
    }
    if let Some(mistake) = class_mistake(study, ask) {
        return Some(mistake);
    }
    let is_factor = |name: &&String| study.factors.contains_key(*name) || *name == TARGET_FACTOR;
    if let Some(name) = ask.factor.iter().chain(ask.at.keys()).find(|name| !is_factor(name)) {
        let key = if ask.at.contains_key(name) { "at" } else { "factor" };
        return Some((key, format!("{name} is not a factor of this study"), None));
    }
    if ask.kind == AskKind::MaxRate {
        return max_rate_mistake(study, ask);
    }
    let amount = ask.min.as_ref().or(ask.max.as_ref())?;
    let key = if ask.min.is_some() { "min" } else { "max" };
    if amount.is_ratio() != (ask.kind == AskKind::Ratio) {
        let hint = "use a ratio such as 1/3 or \"4.5 times\" only with kind = \"ratio\"";
        return Some((
            key,
            format!("{} does not match the kind of question", amount.text),
            Some(hint.to_owned()),
        ));
    }
    if amount.is_ratio() {
        return None;
    }
    let metric = ask.metric.as_deref()?;
    let unit = unit_of(metric)?;
    // A time may have any unit, but it is neither a rate per second nor IOPS.
    let fits = amount.text.to_lowercase().ends_with(unit)
        || (unit == "s" && !amount.text.contains('/') && !amount.text.contains("IOPS"));
    (!fits).then(|| (key, format!("{} is not an amount of {metric}", amount.text), None))
}

/// A question on a metric of one class of requests names a whole workload, whose rows are per class.
fn class_mistake(study: &Study, ask: &Ask) -> Option<(&'static str, String, Option<String>)> {
    let metric = ask.metric.as_deref().or(study.primary_metric.as_deref())?;
    let (class, _) = played::find(metric)?;
    let has_metric = |name: &str| {
        let workload = study.workload.iter().find(|workload| workload.name == name);
        let kind = workload.map(|workload| workload.work.kind());
        kind.is_some_and(|kind| kind.metrics.iter().copied().flatten().any(|m| m.name == metric))
    };
    let name = ask.workloads.iter().find(|name| has_metric(name))?;
    let row = format!("{name}, {}", class.played);
    let message = format!("{metric} belongs to \"{row}\", not to all of {name}");
    Some(("workloads", message, Some(format!("write workloads = [\"{row}\"]"))))
}

/// Returns the first reason why a study cannot search for the maximum rate, as [`find_mistake`] does.
fn max_rate_mistake(study: &Study, ask: &Ask) -> Option<(&'static str, String, Option<String>)> {
    if let Some(Err(message)) = ask.slo.as_ref().map(|limit| limit.parse::<Limit>()) {
        return Some(("slo", message, None));
    }
    let [workload] = study.workload.as_slice() else {
        let message = "max-rate needs a study with one workload".to_owned();
        return Some(("kind", message, Some("use one study per workload".to_owned())));
    };
    let io = io::IoSpec::of(&workload.work);
    let obstacles = [
        (io.is_none(), "max-rate needs a workload of kind io"),
        (
            io.is_some_and(|io| io.arrival_rate.is_some()),
            "remove arrival_rate; a max-rate study searches for the rate",
        ),
        (
            io.is_some_and(|io| io.operations.is_some()),
            "remove operations; max-rate trials end by time",
        ),
        (study.question.len() > 1, "a max-rate study cannot have other questions"),
        (
            !study.factors.is_empty() || !study.configurations.is_empty(),
            "a max-rate study varies only the rate; remove factors",
        ),
        (
            matches!(study.order, Order::Crd | Order::Sequential),
            "max-rate needs consecutive replicates; remove order",
        ),
        (
            study.stop.rule != StopRule::Fixed || study.gate.is_some(),
            "a max-rate study ends by itself; remove stop and gate",
        ),
        (study.replicates < FEWEST_REPLICATES, "max-rate needs at least 3 replicates"),
    ];
    let (_, message) = obstacles.into_iter().find(|(is_there, _)| *is_there)?;
    Some(("kind", message.to_owned(), None))
}

/// Replicates below which a rate has no bounds.
const FEWEST_REPLICATES: u32 = 3;

fn example(key: &str) -> Option<&'static str> {
    super::fields::QUESTION.find(key).map(|field| field.example)
}

/// Ending of an amount of a metric, in lower case; `None` for metrics whose amounts are not checked.
fn unit_of(metric: &str) -> Option<&'static str> {
    let known = metrics::find(metric)?;
    match known.name {
        "iops" => Some("iops"),
        name if name.ends_with("_bytes_per_s") => Some("b/s"),
        name if name.ends_with("_ns") => Some("s"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::file::text;

    fn asked(workload: &str, metric: &str) -> Result<(), String> {
        let text = format!(
            "format = \"assay-study/1\"\ntitle = \"t\"\n[[workload]]\nname = \"evening\"\n\
             replay = {{ trace = \"evening\" }}\n[[question]]\nkind = \"bound\"\nask = \"a\"\n\
             workloads = [\"{workload}\"]\nmetric = \"{metric}\"\nmax = \"10 ms\"\n"
        );
        text::parse("test", &text).map(|_| ()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_question_about_one_class_names_its_rows() {
        let told = asked("evening", "write_response_p99_ns").unwrap_err();
        assert!(told.contains("belongs to \"evening, replayed writes\""), "{told}");
        assert_eq!(asked("evening, replayed writes", "write_response_p99_ns"), Ok(()));
        assert_eq!(asked("evening", "response_p99_ns"), Ok(()));
    }
}
